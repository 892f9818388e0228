//! Synthetic titrations: connected and separate runs, replicas, verdicts, the start of runs, round trips.

use super::*;
use crate::evaluation::finite_box::{FiniteBox, Solution};
use crate::output::begun::Begun;
use crate::output::series::LambdaSeries;
use crate::output::sites::SitesFile;
use crate::record::{FormRecord, UntitratedRecord};
use lambda::analysis::counted::Resampling;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

const FRAMES: usize = 4000;
const PH: [f64; 5] = [2.5, 3.5, 4.0, 4.5, 5.5];

/// A carboxyl with two equal oxygens and this pKa, drawn anew in every tenth frame; λ is at the ends.
fn run(ph: f64, pka: f64, replica: usize, random: &mut ChaCha8Rng) -> Run {
    let form = |name: &str, lost, pk| FormRecord { name: name.into(), protons_lost: lost, charge: 0.0, pk };
    // Cumulative: both protonated forms together have the pKa.
    let lost = pka - 2f64.log10();
    let forms = vec![form("O1", 0, 0.0), form("O2", 0, 0.0), form("deprotonated", 1, lost)];
    let site = SiteRecord { name: "GLU 2".into(), coordinate: "linear".into(), forms, ..SiteRecord::default() };
    let weights = [1.0, 1.0, 10f64.powf(ph - lost)];
    let mut lambda = vec![Vec::new(); 3];
    let mut state = 0;
    for frame in 0..FRAMES {
        if frame == 0 || random.random::<f64>() < 0.1 {
            let drawn = random.random::<f64>() * weights.iter().sum::<f64>();
            state = if drawn < 1.0 { 0 } else { 1 + usize::from(drawn >= 2.0) };
        }
        lambda.iter_mut().enumerate().for_each(|(form, list)| list.push(f64::from(u8::from(form == state))));
    }
    let time = (0..FRAMES).map(|k| k as f64).collect();
    let series = LambdaSeries {
        time,
        lambda,
        dvdl: vec![vec![0.0; FRAMES]; 3],
        sites: site.columns(),
        ..LambdaSeries::default()
    };
    let sites = SitesFile { ph: Some(ph), temperature: 300.0, sites: vec![site], ..SitesFile::default() };
    Run { folder: format!("pH_{ph:.2}/replica_{replica}").into(), ph, sites, series, ..Run::default() }
}

fn experiment(pka: f64, seed: u64) -> Vec<Run> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    PH.iter().flat_map(|&ph| [1, 2].map(|replica| (ph, replica))).map(|(ph, r)| run(ph, pka, r, &mut random)).collect()
}

fn evaluated(runs: Vec<Run>) -> Evaluation {
    let resampling = Resampling { draws: 50, seed: 1 };
    evaluate(runs, &Options { resampling, parquet: false, ..Options::default() }).unwrap()
}

/// Frames that count twice make errors too small by √2.
#[test]
fn a_run_and_its_copy_are_refused() {
    let mut runs = experiment(4.1, 1);
    let refused = |mut copy: Run, runs: &[Run]| {
        copy.folder = "prolonged/pH_3.50/replica_1".into();
        let all = [runs, &[copy]].concat();
        evaluate(all, &Options { resampling: Resampling { draws: 5, seed: 1 }, parquet: false, ..Options::default() })
            .err()
    };
    let whole = runs[2].clone();
    let said = refused(whole.clone(), &runs).unwrap().to_string();
    assert!(said.starts_with("pH_3.50/replica_1 and prolonged/pH_3.50/replica_1 have the same frames"), "{said}");
    // An old copy of a run that was made longer.
    runs[2].series = whole.series.until(1000.0);
    assert!(refused(whole.clone(), &runs).is_some());
    // One frame that differs is another run.
    let mut other = whole;
    other.series.dvdl[0][700] = 1e-6;
    assert!(refused(other, &runs).is_none());
}

#[test]
fn a_good_titration_has_converged_with_one_curve_for_all_ph_values() {
    let found = evaluated(experiment(4.1, 1));
    let (site, step) = (&found.sites[0], found.sites[0].titration.macroscopic[0]);
    let (pka, error) = (step.pka.value().unwrap(), step.pka.error().unwrap());
    assert!((pka - 4.1).abs() < 3.5 * error && error < 0.06, "{:?}", step.pka);
    assert_eq!(site.diagnostics.verdict(), "converged");
    assert!(site.diagnostics.exchanges.unwrap() > 100 && site.diagnostics.replicas[0].len() == 2);
    assert_eq!((found.overlap.len(), site.curve.len(), found.grid.len()), (4, 61, 61));
    // A site alone is a curve of slope one.
    for (ph, populations) in found.grid.iter().zip(&site.curve) {
        assert!((populations[2] - 1.0 / (1.0 + 10f64.powf(pka - ph))).abs() < 1e-3, "{ph}: {populations:?}");
    }
}

/// Beyond the pH values a pKa is that of a Hill coefficient of one, whatever the group has.
#[test]
fn a_pka_far_outside_of_the_ph_values_has_not_converged() {
    for (pka, low, high, told) in [
        (3.7, 4.0, 5.5, None),
        (3.2, 4.0, 5.5, Some("the pKa lies 0.9 below the pH values and is that of a coefficient of 1")),
        (4.3, 2.5, 4.0, None),
        (4.8, 2.5, 4.0, Some("the pKa lies 0.8 above the pH values and is that of a coefficient of 1")),
    ] {
        let mut runs = experiment(pka, 1);
        runs.retain(|run| (low..=high).contains(&run.ph));
        let found = evaluated(runs);
        let reasons: Vec<&str> = found.sites[0].diagnostics.reasons.iter().map(String::as_str).collect();
        assert_eq!(reasons, Vec::from_iter(told), "{}", found.sites[0].fit(0).pka);
    }
}

/// One pH has no range.
#[test]
fn a_pka_away_from_the_only_ph_is_said_to_be_so() {
    let mut runs = experiment(4.3, 1);
    runs.retain(|run| run.ph == 4.0);
    let warnings = evaluated(runs).warnings.join("\n");
    assert!(warnings.contains(" lies away from the only pH, 4, and is that of a Hill coefficient of 1"), "{warnings}");
}

#[test]
fn runs_that_differ_in_more_than_the_ph_count_at_their_own() {
    let mut runs = experiment(4.1, 2);
    runs[3].sites.temperature = 310.0;
    let found = evaluated(runs);
    assert!(found.overlap.is_empty() && found.sites[0].curve.is_empty());
    let told = |warning: &String| warning.contains("without MBAR: the temperature differs between");
    assert!(found.warnings.iter().any(told), "{:?}", found.warnings);
    let step = found.sites[0].titration.macroscopic[0];
    assert!((step.pka.value().unwrap() - 4.1).abs() < 3.5 * step.pka.error().unwrap());
}

/// Two replicas of an experiment in which a second site of this name has the same frames as the first.
fn experiment_of_two(name: &str) -> Vec<Run> {
    let mut runs = experiment(4.1, 2);
    for run in &mut runs {
        let other = SiteRecord { name: name.into(), ..run.sites.sites[0].clone() };
        run.series.sites.extend(other.columns());
        run.series.lambda.extend_from_within(..);
        run.sites.sites.push(other);
    }
    runs
}

/// Frames of two offsets belong to two free energies: no pKa of a mixture is given, and the other sites keep theirs.
#[test]
fn a_site_whose_offset_differs_is_left_out_and_told_of() {
    let mut runs = experiment_of_two("cterm ALA 9");
    for run in &mut runs {
        run.offsets = vec![("cterm ALA 9".into(), 4.4)];
    }
    assert_eq!(evaluated(runs.clone()).sites.len(), 2);
    for (name, expected) in [("cterm ALA", 4.4), ("cterm", 4.4), ("cterm ALA 99", 0.0), ("ALA", 0.0)] {
        let named = Run { offsets: vec![(name.into(), 4.4)], ..runs[0].clone() };
        assert_eq!((named.offset("cterm ALA 9"), named.offset("2:cterm ALA 9")), (expected, expected), "{name}");
    }
    runs[3].offsets.clear();
    let found = evaluated(runs.clone());
    assert_eq!((found.sites.len(), found.sites[0].record.name.as_str()), (1, "GLU 2"));
    let told = "C-term Ala 9 is left out: its offset is 4.4 and 0 kJ/mol in pH_2.50/replica_1 and in pH_3.50/replica_2; evaluate these runs apart";
    assert!(found.warnings.iter().any(|warning| warning.starts_with(told)), "{:?}", found.warnings);
    // It is a charge of the protein all the same: what the size of the box does is that of both.
    let folder = temp_dir::TempDir::new().unwrap();
    let table = folder.path().join("finite_box.csv");
    std::fs::write(&table, "protons lost,too high\n0,0.4\n2,0\n").unwrap();
    let table = FiniteBox::read(&table).unwrap();
    let too_high = |found: &Evaluation| {
        let pka = found.sites[0].titration.macroscopic[0].pka;
        pka.value().unwrap() - Solution::new(&table, found).unwrap().of(pka).value().unwrap()
    };
    let both = evaluated(runs.iter().map(|run| Run { offsets: Vec::new(), ..run.clone() }).collect());
    let found = [too_high(&both), too_high(&found)];
    // Without the protons of the one that is left out it would be 0.3. Numbers of protons are known to 0.035 from 800 independent frames.
    assert!(found.iter().all(|found| (found - 0.2).abs() < 0.02), "{found:?}");
    runs.iter_mut().for_each(|run| run.sites.sites[0].coordinate = "fixed".into());
    let resampling = Resampling { draws: 50, seed: 1 };
    let refused = evaluate(runs, &Options { resampling, parquet: false, ..Options::default() }).unwrap_err();
    assert!(refused.to_string().contains("another pK, correction or offset in some of the runs"), "{refused}");
}

/// A model compound that was measured again shifts V_pH, and the pKa of the site with it.
#[test]
fn a_site_whose_reference_differs_is_left_out_and_told_of() {
    let mut runs = experiment_of_two("ASP 9");
    let own = runs[0].sites.sites[1].forms[2].pk;
    runs[3].sites.sites[1].forms[2].pk = own + 0.23;
    let found = evaluated(runs.clone());
    assert_eq!((found.sites.len(), found.sites[0].record.name.as_str()), (1, "GLU 2"));
    let told = format!(
        "Asp 9 is left out: its pK as a model compound is {own:.2} and {:.2} in pH_2.50/replica_1 and",
        own + 0.23
    );
    assert!(found.warnings.iter().any(|warning| warning.starts_with(&told)), "{:?}", found.warnings);
    let apart = "frames count at their own pH only, without MBAR: site Asp 9 differs";
    assert!(found.warnings.iter().any(|warning| warning.starts_with(apart)), "{:?}", found.warnings);
    // Both sites in one sentence.
    let mut third = runs.clone();
    for (index, run) in third.iter_mut().enumerate() {
        let other = SiteRecord { name: "ASP 11".into(), ..run.sites.sites[1].clone() };
        run.series.sites.extend(other.columns());
        let weights = run.series.lambda[..3].to_vec();
        run.series.lambda.extend(weights);
        run.sites.sites.push(other);
        assert_eq!(run.sites.sites[2].forms[2].pk > own, index == 3);
    }
    let told = "Asp 9, Asp 11 are left out: their pK as a model compound is";
    let found = evaluated(third);
    assert!(found.warnings.iter().any(|warning| warning.starts_with(told)), "{:?}", found.warnings);
    runs[3].sites.sites[1].forms[2].name = "other".into();
    let resampling = Resampling { draws: 50, seed: 1 };
    let refused = evaluate(runs, &Options { resampling, parquet: false, ..Options::default() }).unwrap_err();
    assert!(refused.to_string().contains("Asp 9 has other forms in pH_3.50/replica_2 than before"), "{refused}");
}

/// A correction that was made again shifts the pKa: runs with both are no runs of one titration.
#[test]
fn a_site_whose_correction_differs_is_left_out_and_told_of() {
    let mut runs = experiment_of_two("HIS 9");
    for run in &mut runs {
        run.sites.sites[0].free_energies = Some(vec![0.0, -80.3]);
        run.sites.sites[1].free_energies = Some(vec![0.0, -68.54]);
    }
    let all = evaluated(runs.clone());
    assert_eq!((all.sites.len(), all.warnings.iter().any(|warning| warning.contains("V_MM"))), (2, false));
    // Two calibrations of one correction that agree: their runs count together, and the sentence says by how much they do not.
    runs[3].sites.sites[1].free_energies = Some(vec![0.0, -68.50]);
    let all = evaluated(runs.clone());
    let told = "His 9: free energies of corrections V_MM differ by 0.04 kJ/mol at most between runs, which count as runs with one";
    assert!(all.sites.len() == 2 && all.warnings.iter().any(|warning| warning == told), "{:?}", all.warnings);
    runs[3].sites.sites[1].free_energies = Some(vec![0.0, -69.49]);
    let found = evaluated(runs.clone());
    assert_eq!((found.sites.len(), found.sites[0].record.name.as_str()), (1, "GLU 2"));
    let told = "His 9 is left out: its correction V_MM has free energies of -68.54 and -69.49 kJ/mol in pH_2.50/replica_1 and in pH_3.50/replica_2;";
    assert!(found.warnings.iter().any(|warning| warning.starts_with(told)), "{:?}", found.warnings);
    // Runs of a version that did not record them, the first one too.
    runs[0].sites.sites.iter_mut().for_each(|site| site.free_energies = None);
    assert_eq!(evaluated(runs.clone()).sites.len(), 1);
    runs[3].sites.sites.iter_mut().for_each(|site| site.free_energies = None);
    let found = evaluated(runs);
    assert_eq!(found.sites.len(), 2);
    let told = |warning: &String| warning.starts_with("pH_2.50/replica_1 does not say which corrections V_MM it had");
    assert!(found.warnings.iter().any(told), "{:?}", found.warnings);
}

/// Replicas that disagree are no result, whatever their errors.
#[test]
fn replicas_that_disagree_have_not_converged() {
    let mut runs = experiment(4.1, 3);
    let others = experiment(4.6, 4);
    for (run, other) in runs.iter_mut().zip(others).skip(1).step_by(2) {
        run.series.lambda = other.series.lambda;
    }
    let site = &evaluated(runs).sites[0];
    let verdict = site.diagnostics.verdict();
    assert!(verdict.starts_with("not converged") && verdict.contains("the replicas give"), "{verdict}");
    // 4.1 and 4.6: the error of their mean is a quarter, whatever each of them says; those that agree have theirs.
    let error = site.fit(0).pka.error().unwrap();
    assert!((0.2..0.3).contains(&error), "{error}");
    // What replicas say holds for the forms, too.
    let of_forms = site.titration.microscopic[0].pk.error().unwrap();
    assert!((0.2..0.3).contains(&of_forms), "{of_forms}");
    let alike = evaluated(experiment(4.1, 3)).sites[0].fit(0).pka.error().unwrap();
    assert!(alike < 0.1, "{alike}");
}

/// Titrations that are evaluated together are replicas of each other, whatever their pH values; runs by themselves are if every pH has as many.
#[test]
fn titrations_and_runs_by_themselves_are_replicas() {
    let replicas = |runs: &[Run]| evaluated(runs.to_vec()).sites[0].diagnostics.replicas[0].len();
    let mut runs = experiment(4.1, 3);
    for (index, run) in runs.iter_mut().enumerate() {
        let titration = if index % 2 == 0 { "a" } else { "b" };
        run.folder = Path::new(titration).join(format!("pH_{:.2}/replica_1", run.ph));
    }
    assert_eq!(replicas(&runs), 2);
    // The lowest pH of one, the highest of the other.
    assert_eq!(replicas(&runs[1..9]), 2);
    assert_eq!(replicas(&runs.iter().step_by(2).cloned().collect::<Vec<_>>()), 0);
    runs.iter_mut().enumerate().for_each(|(index, run)| run.folder = format!("run_{index}").into());
    assert_eq!((replicas(&runs), replicas(&runs[1..])), (2, 0));
}

#[test]
fn a_beginning_that_differs_is_left_out_and_told_of() {
    let mut runs = experiment(4.1, 5);
    // Protonated for 600 ps at pH 4.5, where 70 % are deprotonated.
    let stuck = runs.iter().position(|run| run.ph == 4.5).unwrap();
    for (form, list) in runs[stuck].series.lambda.iter_mut().enumerate() {
        list[..600].fill(f64::from(u8::from(form == 0)));
    }
    let found = evaluated(runs);
    // Starts are tried every fortieth of the first half, 50 ps.
    assert!((500.0..2000.0).contains(&found.left_out[stuck]), "{:?}", found.left_out);
    assert!(found.left_out.iter().filter(|time| **time > 0.0).count() <= 2, "{:?}", found.left_out);
    assert_eq!(found.runs[stuck].series.time[0], found.left_out[stuck] + 1.0);
}

/// One run has a frame in ten of the others, so that one in ten is taken of all. Walkers that come and go in between have come and gone.
#[test]
fn round_trips_are_counted_in_frames_that_are_not_taken_too() {
    let mut runs: Vec<Run> = experiment(4.1, 7).into_iter().step_by(2).collect();
    let swapped =
        |here: u32, there: u32| (0..FRAMES).map(move |k| if (3..6).contains(&(k % 10)) { there } else { here });
    runs.iter_mut().for_each(|run| run.series.walker = vec![3; FRAMES]);
    runs[0].series.walker = swapped(1, 2).collect();
    runs[4].series.walker = swapped(2, 1).collect();
    runs[2].series = runs[2].series.evenly(10.0).0;
    let found = evaluated(runs);
    assert!(found.runs.iter().all(|run| run.series.time.len() <= FRAMES / 10));
    assert!(found.round_trips.unwrap() > FRAMES / 10, "{:?}", found.round_trips);
}

#[test]
fn round_trips_are_those_of_walkers_between_the_ends() {
    let mut runs: Vec<Run> = experiment(4.1, 6).into_iter().step_by(2).collect();
    let count = Walks::of(&runs).map(|walks| walks.round_trips());
    assert_eq!(count, None);
    // Walker 1 is low, high, low; walker 2 high, low, high; each a third of the time.
    let of = |order: &[u32]| (0..FRAMES).map(|k| order[order.len() * k / FRAMES]).collect::<Vec<u32>>();
    runs.iter_mut().for_each(|run| run.series.walker = of(&[3]));
    runs[0].series.walker = of(&[1, 2, 1]);
    runs[4].series.walker = of(&[2, 1, 2]);
    assert_eq!(Walks::of(&runs).map(|walks| walks.round_trips()), Some(2));
    // A second titration whose walkers stay: those of the first have the same numbers, and went nowhere by it.
    let mut both = runs.clone();
    both.iter_mut().for_each(|run| run.folder = Path::new("first").join(&run.folder));
    for run in &runs {
        let mut other = run.clone();
        other.folder = Path::new("second").join(&other.folder);
        other.series.walker = of(&[if run.ph == PH[0] { 2 } else { 1 }]);
        both.push(other);
    }
    assert_eq!(Walks::of(&both).map(|walks| walks.round_trips()), Some(2));
    let stuck = |runs: &[Run]| diagnostics::stuck(runs, Walks::of(runs).as_ref());
    assert!(stuck(&both).unwrap().contains("and should make 5"));
    // Two of three walkers.
    let said = stuck(&runs).unwrap();
    let told = "the walkers made 2 round trips in pH (4 passages between its ends) and should make 3";
    assert!(said.starts_with(told) && !said.contains(','), "{said}");
    assert_eq!(diagnostics::stuck(&runs, None), None);
    // Twice to and fro are four round trips of three walkers.
    let mut enough = runs.clone();
    enough[0].series.walker = of(&[1, 2, 1, 2, 1]);
    enough[4].series.walker = of(&[2, 1, 2, 1, 2]);
    assert_eq!((Walks::of(&enough).map(|walks| walks.round_trips()), stuck(&enough)), (Some(4), None));
    let found = evaluated(runs);
    assert!(found.sites.iter().all(|site| site.diagnostics.reasons.contains(&said)));
}

/// All runs but one began with the state of that one: what is known of the pKa has one past, however many frames there are.
#[test]
fn a_pka_of_fewer_than_three_pasts_has_not_converged() {
    let runs: Vec<Run> = experiment(4.1, 6).into_iter().step_by(2).collect();
    let said = |runs: Vec<Run>| {
        let found = evaluated(runs);
        let site = &found.sites[0].diagnostics;
        (site.independent, site.reasons.iter().any(|reason| reason.starts_with(diagnostics::PASTS)))
    };
    assert_eq!(said(runs.clone()), (None, false));
    let from = |parent: usize, all: &[Run]| Begun {
        time: 0.0,
        from: all[parent].folder.display().to_string(),
        why: String::new(),
        walker: None,
        from_walker: None,
    };
    let mut kin = runs.clone();
    (1..kin.len()).for_each(|index| kin[index].begun = Some(from(0, &runs)));
    let (number, refused) = said(kin);
    assert!((number.unwrap().number - 1.0).abs() < 1e-9 && refused, "{number:?}");
    // The one in the middle alone, which tells less than half of what is known: the others are those of the job.
    let mut one = runs.clone();
    one[2].begun = Some(from(4, &runs));
    assert_eq!(said(one), (None, false));
    // Those of the three middle pH values, two of each, begin with the four outermost: the four families tell about as much each.
    let runs = experiment(4.1, 6);
    let mut many = runs.clone();
    for (index, parent) in [(2, 0), (3, 1), (4, 8), (5, 9), (6, 1), (7, 8)] {
        many[index].begun = Some(from(parent, &runs));
    }
    let (number, refused) = said(many);
    assert!((3.4..4.0).contains(&number.unwrap().number) && !refused, "{number:?}");
}

/// Frames of one pH look independent of each other where a walker goes to and fro between few of them: one walker does not make a pKa.
#[test]
fn a_pka_of_one_walker_has_not_converged() {
    let runs: Vec<Run> = experiment(4.1, 6).into_iter().step_by(2).collect();
    let of = |walker: fn(usize, usize) -> u32| {
        let mut runs = runs.clone();
        for (index, run) in runs.iter_mut().enumerate() {
            run.series.walker = (0..run.series.time.len()).map(|frame| walker(index, frame)).collect();
        }
        let found = evaluated(runs);
        let site = &found.sites[0];
        let refused = site.diagnostics.reasons.iter().any(|reason| reason.starts_with(diagnostics::PASTS));
        (site.diagnostics.independent.unwrap().number, refused, site.titration.macroscopic[0].pka.error().unwrap())
    };
    let (number, refused, many) = of(|index, frame| ((index + frame) % 5) as u32);
    assert!((number - 5.0).abs() < 0.2 && !refused, "{number}");
    let (number, refused, one) = of(|_, _| 1);
    assert!((number - 1.0).abs() < 1e-9 && refused && (one - many).abs() < 0.05, "{number} {one} {many}");
    // Three that come to each pH, one of them more often.
    let (number, refused, _) = of(|_, frame| [1, 1, 2, 3][frame % 4]);
    assert!((2.4..2.9).contains(&number) && !refused, "{number}");
    // Two, each in its half of the pH values, which tell of different pKa values: the error has it.
    let (number, refused, two) = of(|index, _| u32::from(index > 1));
    assert!((1.0..2.0).contains(&number) && refused && two > many, "{number} {two} {many}");
}

/// Walkers that never change their form and visit each pH in turn: the files are full of changes that none of them has made.
#[test]
fn transitions_are_those_of_walkers() {
    let mut runs: Vec<Run> = experiment(4.1, 8).into_iter().step_by(2).collect();
    for (index, run) in runs.iter_mut().enumerate() {
        let walker = |frame: usize| (index + frame / 10) % PH.len();
        // Two keep the proton, each on an oxygen of its own, and three are without.
        let form = |frame: usize| walker(frame).min(2);
        run.series.lambda =
            (0..3).map(|k| (0..FRAMES).map(|frame| f64::from(u8::from(form(frame) == k))).collect()).collect();
        run.series.walker = (0..FRAMES).map(|frame| walker(frame) as u32 + 1).collect();
    }
    let found = evaluated(runs.clone());
    let site = &found.sites[0];
    assert_eq!((site.transitions(), site.diagnostics.exchanges), (0, Some(0)));
    assert!(site.diagnostics.reasons.iter().any(|reason| reason == diagnostics::NEVER), "{:?}", site.diagnostics);
    runs.iter_mut().for_each(|run| run.series.walker.clear());
    let site = &evaluated(runs).sites[0];
    assert!(site.transitions() > 500 && site.diagnostics.exchanges > Some(500), "{}", site.transitions());
}

/// A group with pKa 4 at pH 2.5 and 5.5 alone has 0.03 and 0.97 of its protons lost. Some changes in each run tell little of it.
#[test]
fn the_ph_values_on_both_sides_of_a_pka_count_where_none_is_near() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let runs = [2.5, 5.5].map(|ph| run(ph, 4.0, 1, &mut random));
    let reasons = |runs: &[Run]| evaluated(runs.to_vec()).sites[0].diagnostics.reasons.join("; ");
    assert!(!reasons(&runs).contains("transitions"), "{}", reasons(&runs));
    // As short as the pKa can just be determined.
    let short =
        |frames: usize| runs.clone().map(|run| Run { series: run.series.until(run.series.time[frames]), ..run });
    let found =
        (500..FRAMES).step_by(100).map(|frames| reasons(&short(frames))).find(|all| !all.contains("not determined"));
    assert!(found.as_ref().is_some_and(|all| all.contains("fewer than 10 transitions at pH ")), "{found:?}");
}

/// Two proteins have sites of one name now and then, which are not one site.
#[test]
fn titrations_with_hardly_a_common_group_are_warned_of() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let of = |titration: &str, numbers: &[u32], random: &mut ChaCha8Rng| -> Run {
        let mut one = run(4.0, 4.0, 1, random);
        one.folder = format!("{titration}/pH_4.00/replica_1").into();
        let group = |number: &u32| UntitratedRecord { name: format!("LYS {number}"), reason: "not asked for".into() };
        one.sites.untitrated = numbers.iter().map(group).collect();
        one
    };
    let first = of("one", &[5, 7, 9, 11], &mut random);
    let again = of("again", &[5, 7, 9], &mut random);
    let other = of("other", &[5, 17, 19, 21], &mut random);
    assert!(of_one_system(&[first.clone(), again]).is_empty());
    let said = of_one_system(&[first, other]);
    assert!(
        said.len() == 1 && said[0].starts_with("one and other have 2 of 5 groups in common: if they are"),
        "{said:?}"
    );
}
