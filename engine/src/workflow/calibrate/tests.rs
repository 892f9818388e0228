//! A calibration whose runs are drawn from a known free energy: windows with an error that they do not show, rounds until flat.

mod truth;

use super::runs::start;
use super::target::What;
use super::*;
use crate::config::{PhTerm, Start};
use crate::output::files;
use lambda::bias::SimplexBasis;
use lambda::library::{Correction, Entry};
use std::path::Path;
use truth::{Fault, Truth};

const ENTRY: &str = "name = \"his\"\nresidues = [\"HIS\"]\nforce_field = \"toy\"\nsource = \"none\"\npka = 6.38\nbalanced_at = \"A\"\n\
    [[forms]]\nname = \"HSP\"\nprotons_lost = 0\nnet_charge = 1\n[[forms]]\nname = \"HSD\"\nprotons_lost = 1\nnet_charge = 0\npk = 6.92\n\
    [[forms]]\nname = \"HSE\"\nprotons_lost = 1\nnet_charge = 0\npk = 6.53\n[charges]\nA = [1.0, 0.0, 0.0]\n\
    [correction]\nstatus = \"uncalibrated\"\n";

/// The proton on either of two oxygens, or on none.
const CARBOXYL: &str = "name = \"carb\"\nresidues = [\"CAR\"]\nforce_field = \"toy\"\nsource = \"none\"\npka = 4.0\nbalanced_at = \"CD\"\n\
    [[forms]]\nname = \"A\"\nprotons_lost = 0\nnet_charge = 0\n[[forms]]\nname = \"B\"\nprotons_lost = 0\nnet_charge = 0\n\
    [[forms]]\nname = \"C\"\nprotons_lost = 1\nnet_charge = -1\npk = 3.699\n\
    [charges]\nCD = [0.6, 0.6, 0.8]\nOE1 = [-0.4, -0.6, -0.9]\nOE2 = [-0.6, -0.4, -0.9]\nHE1 = [0.4, 0.0, 0.0]\nHE2 = [0.0, 0.4, 0.0]\n\
    [correction]\nstatus = \"uncalibrated\"\n";

const BUFFER: &str = "name = \"water\"\nkind = \"buffer\"\nresidues = [\"SOL\"]\nforce_field = \"toy\"\nsource = \"none\"\n\
    [[forms]]\nname = \"plus\"\nprotons_lost = 0\nnet_charge = 0.5\n[[forms]]\nname = \"minus\"\nprotons_lost = 1\nnet_charge = -0.5\n\
    [charges]\nOW = [0.5, -0.5]\n[correction]\nstatus = \"uncalibrated\"\n";

fn plan(folder: &Path, entry: &str, calibrate: &str, what: What) -> CalibrationPlan {
    plan_at(None, folder, entry, calibrate, what)
}

/// The plan of a calibration at the residue `elsewhere`, if any.
fn plan_at(elsewhere: Option<&str>, folder: &Path, entry: &str, calibrate: &str, what: What) -> CalibrationPlan {
    let text = format!(
        "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"\n[dynamics]\nsteps = 100\n[thermostat]\ntemperature = \"300 K\"\n\
         [titration]\n[titration.buffer]\n[calibrate]\nsite = \"HIS 5\"\n{calibrate}"
    );
    let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files/job.toml");
    let mut config = Config::parse(&text, &job).unwrap();
    config.output.folder = folder.to_path_buf();
    let entry = Entry::from_toml(entry, "entry.toml").unwrap();
    CalibrationPlan::of(config, Target { what, entry, elsewhere: elsewhere.map(String::from) }, Jobs::Auto)
}

fn site() -> What {
    let settings = "residue = \"HIS 5\"\nentry = \"his\"\nbarrier = \"7 kJ/mol\"";
    What::Site { settings: Box::new(toml::from_str(settings).unwrap()), name: "HIS 5".into() }
}

fn histidine(wrong: f64) -> Truth {
    let basis = SimplexBasis::new(3, 4);
    let coefficients = vec![-180.0, 95.0, -260.0, 14.0, 6.0, -240.0, -11.0, 4.0, -300.0, 3.0, -5.0, 40.0];
    Truth { basis, coefficients, molecules: 1.0, wrong, fault: Fault::None }
}

/// [`ENTRY`] without its last form.
fn entry_of_two() -> String {
    let entry = ENTRY.replace("[[forms]]\nname = \"HSE\"\nprotons_lost = 1\nnet_charge = 0\npk = 6.53\n", "");
    entry.replace("pka = 6.38", "pka = 6.92").replace("[1.0, 0.0, 0.0]", "[1.0, 0.0]")
}

/// The correction after all runs of two forms of five kJ/mol of noise, with the titles of the stages.
fn two_forms(fault: Fault, calibrate: &str) -> (Correction, Vec<String>) {
    let folder = temp_dir::TempDir::new().unwrap();
    let plan = plan(folder.path(), &entry_of_two(), &format!("degree = 4\nruns = 4\n{calibrate}"), site());
    let coefficients = vec![-120.0, 200.0, 15.0, -8.0];
    let truth = Truth { basis: SimplexBasis::new(2, 4), coefficients, molecules: 1.0, wrong: 0.0, fault };
    let titles = truth.go(&plan);
    let table = plan.conclude().unwrap();
    let text = std::fs::read_to_string(folder.path().join("his.toml")).unwrap();
    let correction = Entry::from_toml(&text, "his.toml").unwrap().correction;
    // What the command prints is what the library gets.
    let found = correction.calibration().unwrap();
    let printed = format!("{:.2} ± {:.2} kJ/mol (statistical)", found.coefficients[0], found.free_energy_errors[1]);
    assert!(table.contains(&printed), "{printed}: {table}");
    (correction, titles)
}

const CALIBRATE: &str = "degree = 4\nruns = 2\nround = \"2 ps\"\n";

#[test]
fn rounds_correct_what_the_windows_do_not_show() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (truth, plan) = (histidine(2.5), plan(folder.path(), ENTRY, CALIBRATE, site()));
    let titles = truth.go(&plan);
    // Start 2 of the windows, and rounds.
    assert!((3..=5).contains(&titles.len()) && titles[1].starts_with("round 1: 2 free runs of 2 ps"), "{titles:?}");
    assert!(titles[0].starts_with("start 2 of 45 windows"), "{titles:?}");
    let table = plan.conclude().unwrap();
    assert!(table.contains("library entry (calibrated)"), "{table}");
    let text = std::fs::read_to_string(folder.path().join("his.toml")).unwrap();
    let correction = Entry::from_toml(&text, "his.toml").unwrap().correction;
    assert_eq!(correction.status(), "calibrated");
    let found = correction.calibration().unwrap();
    for (form, exact) in [-180.0, 95.0].into_iter().enumerate() {
        let (found, error) = (found.coefficients[form], found.free_energy_errors[form + 1]);
        // Windows alone are off by 2.5 kJ/mol.
        assert!((found - exact).abs() < 4.0 * error && error < 0.6, "{found} ± {error}, exact {exact}");
    }
    assert_eq!((found.range, found.provenance.windows), ([-0.06, 1.06], 45));
    let report = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    // Slopes, free energy, and free runs with a panel for each edge.
    assert!(report.contains("HSP → HSE") && report.contains("round 2") && report.matches("<figure>").count() == 3);
    assert_eq!(report.matches("Free runs: ").count(), 3);
    let rounds = std::fs::read_to_string(folder.path().join("rounds.csv")).unwrap();
    assert_eq!(rounds.lines().count(), titles.len());
    // For alchemlyb: each window, and all of them together.
    assert!(folder.path().join("dhdl.parquet").exists());
    assert!(plan.batch.children.iter().all(|window| window.config.result("dhdl.parquet").exists()));
    let windows = std::fs::read_to_string(folder.path().join("calibration.csv")).unwrap();
    assert!(windows.starts_with("weight HSP,weight HSD,weight HSE,dV/dlambda HSD - HSP (kJ/mol),error"), "{windows}");

    // The same command again plans nothing and says the same; a round that is taken away is run again from the same start.
    let before = std::fs::read(folder.path().join("round_2/his.toml")).unwrap();
    assert!(plan.stage(titles.len() + 1).unwrap().is_none());
    assert_eq!(plan.conclude().unwrap(), table);
    std::fs::remove_dir_all(folder.path().join("round_2")).unwrap();
    let again = plan.stage(3).unwrap().unwrap();
    assert_eq!((again.children.len(), again.title.as_str()), (2, titles[2].as_str()));
    assert_eq!(std::fs::read(folder.path().join("round_2/his.toml")).unwrap(), before);
}

/// At a residue that is not that of the model compound the rounds are judged by its own correction, whether the model compound has one or not.
#[test]
fn rounds_at_another_residue_have_its_correction() {
    let calibrate = "degree = 4\nruns = 4\n";
    let basis = SimplexBasis::new(2, 4);
    let truth = |coefficients| Truth { basis, coefficients, molecules: 1.0, wrong: 0.0, fault: Fault::None };
    let model = temp_dir::TempDir::new().unwrap();
    let inside = plan(model.path(), &entry_of_two(), calibrate, site());
    truth(vec![20.0, 40.0, 5.0, 1.0]).go(&inside);
    inside.conclude().unwrap();
    let calibrated = std::fs::read_to_string(model.path().join("his.toml")).unwrap();
    for entry in [entry_of_two(), calibrated] {
        let folder = temp_dir::TempDir::new().unwrap();
        let plan = plan_at(Some("HIS"), folder.path(), &entry, calibrate, site());
        let before = plan.target.entry.correction.clone();
        truth(vec![-120.0, 200.0, 15.0, -8.0]).go(&plan);
        let table = plan.conclude().unwrap();
        let text = std::fs::read_to_string(folder.path().join("his.toml")).unwrap();
        let read = Entry::from_toml(&text, "his.toml").unwrap();
        let found = read.own_correction(Some("HIS")).unwrap();
        assert_eq!((&read.correction, found.status()), (&before, "calibrated"), "{table}");
        let found = found.calibration().unwrap();
        let (value, error) = (found.coefficients[0], found.free_energy_errors[1]);
        assert!((value + 120.0).abs() < 4.0 * error && error < 0.6, "{table}");
    }
}

#[test]
fn windows_alone_are_preliminary() {
    let folder = temp_dir::TempDir::new().unwrap();
    let plan = plan(folder.path(), ENTRY, "max_rounds = 0\nequilibration = \"0.1 ps\"\n", site());
    let titles = histidine(0.0).go(&plan);
    assert_eq!(titles.len(), 1);
    let table = plan.conclude().unwrap();
    assert!(
        table.contains("library entry (preliminary)") && table.contains("warning: preliminary: windows only"),
        "{table}"
    );
    let text = std::fs::read_to_string(folder.path().join("his.toml")).unwrap();
    let entry = Entry::from_toml(&text, "his.toml").unwrap();
    assert_eq!(entry.correction.status(), "preliminary");
    assert!((entry.correction.calibration().unwrap().coefficients[0] + 180.0).abs() < 2.0);
    assert!(!folder.path().join("rounds.csv").exists());
}

#[test]
fn a_buffer_is_stored_per_molecule() {
    let folder = temp_dir::TempDir::new().unwrap();
    let truth = Truth {
        basis: SimplexBasis::new(2, 3),
        coefficients: vec![4.0, -55.0, 3.0],
        molecules: 5.0,
        wrong: 0.0,
        fault: Fault::None,
    };
    let plan = plan(folder.path(), BUFFER, "degree = 3\nruns = 3\n", What::Buffer);
    let first = plan.batch.children[0].config.titration.as_ref().unwrap();
    assert_eq!(first.buffer.as_ref().unwrap().fixed, Some(-0.06));
    let titles = truth.go(&plan);
    assert!(titles.len() > 1 && titles[1].contains("3 free runs of 2 ps"), "{titles:?}");
    let free = plan.round(1).children().remove(0).config.titration.unwrap().buffer.unwrap();
    assert!(free.fixed.is_none() && !free.neutral);
    let table = plan.conclude().unwrap();
    let text = std::fs::read_to_string(folder.path().join("water.toml")).unwrap();
    let entry = Entry::from_toml(&text, "water.toml").unwrap();
    let found = entry.correction.calibration().unwrap();
    assert!((found.coefficients[0] - 4.0).abs() < 4.0 * found.errors[0], "{table}");
    assert!((found.coefficients[1] + 55.0).abs() < 4.0 * found.errors[1], "{table}");
    assert_eq!(found.provenance.buffers, 5);
}

#[test]
fn free_runs_have_neither_barrier_nor_ph() {
    let folder = temp_dir::TempDir::new().unwrap();
    let plan = plan(folder.path(), ENTRY, CALIBRATE, site());
    let runs = plan.round(3).children();
    let settings = |run: &Child| run.config.titration.clone().unwrap();
    assert_eq!(settings(&runs[0]).sites[0].initial, Some(start(3, 0)));
    assert_eq!(settings(&runs[1]).sites[0].initial, Some(Start::Weights(vec![0.5 / 3.0, 0.5 / 3.0 + 0.5, 0.5 / 3.0])));
    for run in &runs {
        let titration = settings(run);
        assert_eq!((titration.ph, titration.ph_term, titration.barrier.start()), (None, PhTerm::None, 0.0));
        assert!(titration.sites[0].barrier.is_none() && titration.sites[0].entry.as_deref() == Some("his"));
        assert_eq!((run.config.steps(), run.config.calibrate.is_none()), (1000, true));
    }
    assert_ne!(runs[0].config.dynamics.seed, runs[1].config.dynamics.seed);
    assert!(plan.batch.children.iter().any(|child| child.config.folder().ends_with("lambda_0.25_0.50_0.25")));
}

/// Runs in which nothing is wrong are called calibrated, with an error of each kind.
#[test]
fn a_good_set_is_calibrated() {
    let (correction, _) = two_forms(Fault::None, "");
    let found = correction.calibration().unwrap();
    assert_eq!((correction.status(), &found.reason), ("calibrated", &None));
    assert!((found.coefficients[0] + 120.0).abs() < 4.0 * found.free_energy_errors[1], "{found:?}");
    let systematic = found.systematic_errors.clone().unwrap();
    assert!(systematic.len() == 2 && systematic[1] < 0.7, "{systematic:?}");
    assert!(found.error_covers.as_ref().is_some_and(|words| words.contains("halves")));
    // 2 × 400 frames of 1 ps in each of 15 windows, less what was left out.
    assert!((0.6..=0.8).contains(&found.provenance.time_per_window), "{}", found.provenance.time_per_window);
}

/// Each fault alone makes a result preliminary, and the reason is that fault.
#[test]
fn every_fault_is_seen_and_named() {
    for (fault, reason, other) in [
        // Averages of 200 frames of 5 kJ/mol: ± 0.35, and halves 2.5 apart. A single window shows in the fit.
        (Fault::Drift(5.0), "first and second halves of windows differ", "starts of windows"),
        (Fault::OneDrifts(5.0), "the polynomial does not follow the windows", "starts of windows"),
        // ± 0.25 each.
        (Fault::Starts(1.0), "starts of windows differ", "halves of windows"),
        (Fault::Wave(2.0), "the polynomial does not follow the windows", "halves of windows"),
        (Fault::Moving(9, 2.0), "first and second halves of the free runs differ", "halves of windows"),
    ] {
        let (correction, _) = two_forms(fault, "tolerance = \"2 kJ/mol\"\n");
        let found = correction.calibration().unwrap().reason.clone().unwrap_or_default();
        assert_eq!(correction.status(), "preliminary", "{reason}");
        assert!(found.contains(reason) && !found.contains(other), "{reason}: {found}");
    }
    // Halves of each window 1 kJ/mol apart, which are two of its errors; of the free energy they are many. Free runs would have put it right.
    let (correction, _) = two_forms(Fault::Drift(2.0), "max_rounds = 0\n");
    let reason = correction.calibration().unwrap().reason.clone().unwrap();
    assert!(reason.contains("first and second halves of all runs differ in the free energy of"), "{reason}");
    assert!(!reason.contains("halves of windows"), "{reason}");
    let (correction, titles) = two_forms(Fault::None, "starts = 1\n");
    assert!(titles[0].starts_with("round 1"), "{titles:?}");
    let reason = correction.calibration().unwrap().reason.clone().unwrap();
    assert_eq!(reason, "every window was run once, so that starts cannot be compared");
}

/// Free runs that are flat and differ from each other go on in another round: one alone leaves the free energy known too badly.
#[test]
fn rounds_go_on_until_the_free_energy_is_known() {
    let kept = Fault::Kept(1, 4.0);
    let (correction, _) = two_forms(kept, "starts = 4\nmax_rounds = 1\n");
    let reason = correction.calibration().unwrap().reason.clone().unwrap();
    let known = "the free energy between forms is known to ";
    assert!(reason.starts_with(known) && reason.ends_with(" kJ/mol (systematic) only"), "{reason}");
    let (correction, titles) = two_forms(kept, "starts = 4\n");
    assert_eq!(correction.status(), "calibrated");
    assert_eq!(titles.last(), Some(&format!("{reason}; round 2: 4 free runs of 2 ps")));
    let found = correction.calibration().unwrap();
    let error = found.free_energy_errors[1].hypot(found.systematic_errors.as_ref().unwrap()[1]);
    assert!((found.coefficients[0] + 120.0).abs() < 3.0 * error, "{} ± {error}", found.coefficients[0]);
}

/// Free runs that are flat and not over go on in another round, from where they ended.
#[test]
fn rounds_go_on_while_their_runs_move() {
    let (correction, titles) = two_forms(Fault::Moving(1, 1.0), "tolerance = \"2 kJ/mol\"\n");
    assert_eq!(
        (correction.status(), titles.len()),
        ("calibrated", 3),
        "{:?} {titles:?}",
        correction.calibration().unwrap().reason
    );
    assert!(titles[2].starts_with("first and second halves of the free runs differ"), "{titles:?}");
    let folder = temp_dir::TempDir::new().unwrap();
    let plan = plan(folder.path(), &entry_of_two(), CALIBRATE, site());
    let [first, second] = [1, 2].map(|number| plan.round(number).children().swap_remove(1));
    assert_eq!(second.begins_at, Some(first.config.result(files::FINAL)));
}

/// A free energy of degree 9 is followed where the job names no degree; with polynomials of degree 8 at most it was preliminary.
#[test]
fn a_degree_is_chosen_that_follows_the_windows() {
    let folder = temp_dir::TempDir::new().unwrap();
    let plan = plan(folder.path(), &entry_of_two(), "runs = 4\nmax_rounds = 0\n", site());
    let coefficients = vec![-120.0, 200.0, 15.0, -8.0, 0.0, 0.0, 0.0, 0.0, 60.0];
    let truth = Truth { basis: SimplexBasis::new(2, 9), coefficients, molecules: 1.0, wrong: 0.0, fault: Fault::None };
    truth.go(&plan);
    let table = plan.conclude().unwrap();
    assert!(!table.contains("does not follow the windows"), "{table}");
    let text = std::fs::read_to_string(folder.path().join("his.toml")).unwrap();
    let correction = Entry::from_toml(&text, "his.toml").unwrap().correction;
    let found = correction.calibration().unwrap();
    assert_eq!(found.degree, 9, "{table}");
    let (value, error) = (found.coefficients[0], found.free_energy_errors[1]);
    assert!((value + 120.0).abs() < 4.0 * error && error < 0.5, "{table}");
}

/// Rounds of before count with a polynomial of a higher degree, which holds theirs, and not with one of a lower degree, which does not.
#[test]
fn rounds_count_when_the_degree_rises() {
    let folder = temp_dir::TempDir::new().unwrap();
    let of_degree = |degree: u32| {
        plan(
            folder.path(),
            &entry_of_two(),
            &format!("degree = {degree}\nruns = 4\ntolerance = \"2 kJ/mol\"\n"),
            site(),
        )
    };
    let coefficients = vec![-120.0, 200.0, 15.0, -8.0];
    let truth = Truth { basis: SimplexBasis::new(2, 4), coefficients, molecules: 1.0, wrong: 0.0, fault: Fault::None };
    truth.go(&of_degree(4));
    let written = || {
        let text = std::fs::read_to_string(folder.path().join("his.toml")).unwrap();
        Entry::from_toml(&text, "his.toml").unwrap().correction.calibration().unwrap().clone()
    };
    of_degree(4).conclude().unwrap();
    let before = written();
    of_degree(6).conclude().unwrap();
    let after = written();
    assert_eq!((before.degree, after.degree, &after.reason), (4, 6, &None));
    assert!((after.coefficients[0] - before.coefficients[0]).abs() < before.free_energy_errors[1]);
    let refused = of_degree(3).conclude().unwrap_err().to_string();
    assert!(refused.contains("the round had a polynomial of degree 4, now it is 3"), "{refused}");
}

/// Starts that disagree are a systematic error of half the difference, which the statistical one does not have.
#[test]
fn starts_that_disagree_are_a_systematic_error() {
    let (correction, _) = two_forms(Fault::Starts(3.0), "max_rounds = 0\n");
    let found = correction.calibration().unwrap();
    let systematic = found.systematic_errors.as_ref().unwrap()[1];
    // The free energies of the two starts are 3 ± 0.1 apart: ± 1.5 of their mean.
    // The statistical error, 0.1, is widened by the root of χ², which is 33 here.
    assert!((systematic - 1.5).abs() < 0.2 && (0.35..0.7).contains(&found.free_energy_errors[1]), "{found:?}");
}

/// Conformations that outlast the runs of a window are an error that four starts measure: the result is a calibrated one, whose error holds the truth. Two
/// starts do not know enough of it.
#[test]
fn four_starts_measure_what_conformations_do() {
    let fault = Fault::Conformations(2.5);
    let (correction, _) = two_forms(fault, "tolerance = \"2 kJ/mol\"\n");
    let reason = correction.calibration().unwrap().reason.clone().unwrap_or_default();
    assert!(reason.contains("starts of windows differ"), "{reason}");
    let (correction, titles) = two_forms(fault, "starts = 4\nconformers = 6\n");
    assert!(titles[0] == "15 windows of 0.2 ps, 60 runs" && titles[1].starts_with("round 1"), "{titles:?}");
    let found = correction.calibration().unwrap();
    assert_eq!((correction.status(), &found.reason), ("calibrated", &None));
    let folder = temp_dir::TempDir::new().unwrap();
    let calibrate = "degree = 4\nruns = 4\nstarts = 4\nconformers = 6\nmax_rounds = 0\n";
    let one = plan(folder.path(), &entry_of_two(), calibrate, site());
    let coefficients = vec![-120.0, 200.0, 15.0, -8.0];
    Truth { basis: SimplexBasis::new(2, 4), coefficients, molecules: 1.0, wrong: 0.0, fault }.go(&one);
    let table = one.conclude().unwrap();
    assert!(table.contains("times those of single runs, because starts differ"), "{table}");
    let report = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(report.contains("which begin in 6 conformations") && report.contains("widened for starts"));
    let (plain, _) = two_forms(Fault::None, "starts = 4\nmax_rounds = 0\n");
    let (scattered, _) = two_forms(fault, "starts = 4\nmax_rounds = 0\n");
    let error = |correction: &Correction| correction.calibration().unwrap().free_energy_errors[1];
    // A run has an error of √2 · 5/√400 = 0.35 by its statistics and of 2.5 by its conformation: 7 times as much. The plain fit is widened by its own χ², 1.6 here.
    assert!((5.0..9.0).contains(&(error(&scattered) / error(&plain))), "{} {}", error(&scattered), error(&plain));
    for one in [&correction, &scattered] {
        let value = one.calibration().unwrap().coefficients[0];
        assert!((value + 120.0).abs() < 4.0 * error(one), "{value} ± {}", error(one));
    }
}

/// Two forms that are the same: mirror images are not run, and the free energy is symmetric.
#[test]
fn forms_that_are_the_same_are_calibrated_as_one() {
    let folder = temp_dir::TempDir::new().unwrap();
    let one = plan(folder.path(), CARBOXYL, CALIBRATE, site());
    // Of 45 windows: 8 between A and B, 15 between A and C, A once, two of three inside.
    assert_eq!(one.windows.len(), 8 + 15 - 1 + 2);
    let asymmetric = plan(folder.path(), CARBOXYL, &format!("symmetric = false\n{CALIBRATE}"), site());
    assert_eq!(asymmetric.windows.len(), 45);
    let coefficients = vec![0.0, -80.0, 250.0, 0.0, -6.0, 220.0, 9.0, 4.0, 220.0, 9.0, 4.0, 30.0];
    let basis = SimplexBasis::new(3, 4);
    let at = |c: &[f64], w: [f64; 3]| basis.values(&w).iter().zip(c).map(|(b, c)| b * c).sum::<f64>();
    assert!((at(&coefficients, [0.5, 0.2, 0.3]) - at(&coefficients, [0.2, 0.5, 0.3])).abs() < 1e-12);
    let truth = Truth { basis, coefficients, molecules: 1.0, wrong: 0.0, fault: Fault::None };
    let titles = truth.go(&one);
    let table = one.conclude().unwrap();
    assert!(table.contains("library entry (calibrated)"), "{table}");
    let text = std::fs::read_to_string(folder.path().join("carb.toml")).unwrap();
    let correction = Entry::from_toml(&text, "carb.toml").unwrap().correction;
    let found = correction.calibration().unwrap();
    assert_eq!((found.coefficients[0], found.free_energy_errors[1]), (0.0, 0.0));
    assert!((found.coefficients[1] + 80.0).abs() < 4.0 * found.free_energy_errors[2], "{table}");
    assert!((at(&found.coefficients, [0.5, 0.2, 0.3]) - at(&found.coefficients, [0.2, 0.5, 0.3])).abs() < 1e-9);
    assert_eq!((found.range, found.provenance.windows, titles.len() > 1), ([-0.06, 1.06], 24, true));
}

/// Later starts begin where others ended, each elsewhere, or at structures that the job names.
#[test]
fn starts_come_from_elsewhere() {
    let folder = temp_dir::TempDir::new().unwrap();
    let three = plan(folder.path(), ENTRY, "starts = 3\nwindows = [0.0, 0.25, 0.5, 0.75, 1.0]\ninterior = 0\n", site());
    assert_eq!((three.windows.len(), three.batch.children.len(), three.later.len()), (12, 12, 2));
    let run = |start: usize, window: usize| three.runs(window).nth(start).unwrap();
    let end = |start: usize, window: usize| Some(run(start, window).config.result(files::FINAL));
    for window in 0..12 {
        assert!(run(0, window).config.system.structure.ends_with("water.gro"));
        assert_eq!(run(0, window).begins_at, None);
        assert_eq!(run(1, window).begins_at, end(0, (window + 6) % 12));
        assert_eq!(run(2, window).begins_at, end(1, (window + 4) % 12));
        assert_eq!(run(2, window).config.system.structure, run(2, window).config.result(files::START));
    }
    let mut seeds: Vec<u64> = (0..12).flat_map(|k| three.runs(k).map(|run| run.config.dynamics.seed)).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 36);
    let named =
        plan(folder.path(), ENTRY, "structures = [\"angstrom.gro\", \"close.gro\"]\nwindows = [0.0, 1.0]\n", site());
    assert_eq!((named.batch.children.len(), named.later.len()), (2 * named.windows.len(), 0));
    let begins =
        |run: &Child, name: &str| run.begins_at.as_ref().unwrap_or(&run.config.system.structure).ends_with(name);
    let looked_for = "starts = 3\nwindows = [0.0, 0.25, 0.5, 0.75, 1.0]\ninterior = 0\nconformers = 5\nconformer_time = \"0.3 ps\"\n";
    let looks = plan(folder.path(), ENTRY, looked_for, site());
    assert_eq!((looks.batch.children.len(), &looks.later[..]), (5, std::slice::from_ref(&(0..3))));
    let said = "5 runs of 0.3 ps that look for conformations, then 12 windows of 0.2 ps, 36 runs";
    assert_eq!(
        (looks.title(), looks.said(), looks.steps()),
        (format!("calibration: {said}"), said.into(), vec![(5, 150), (36, 100)])
    );
    for (number, child) in looks.batch.children.iter().enumerate() {
        let titration = child.config.titration.as_ref().unwrap();
        let form: Vec<f64> = (0..3).map(|form| f64::from(u8::from(form == number % 3))).collect();
        assert_eq!(titration.sites[0].fixed, Some(Start::Weights(form)));
        assert!(begins(child, "water.gro"));
    }
    for (window, start) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (11, 2)] {
        let run = looks.runs(window).nth(start).unwrap();
        let end = format!("conformer_{}/final.gro", (3 * window + start) % 5 + 1);
        assert!(begins(run, &end), "{window} {start}: {:?}", run.begins_at);
    }
    let seeds: std::collections::BTreeSet<u64> =
        looks.batch.children.iter().chain(looks.runs.iter().flatten()).map(|run| run.config.dynamics.seed).collect();
    assert_eq!(seeds.len(), 5 + 36);
    assert!(begins(&looks.round(1).children()[1], "conformer_2/final.gro"));
    assert!(named.runs(1).zip(["angstrom.gro", "close.gro"]).all(|(run, name)| begins(run, name)));
    assert!(named.round(1).children().iter().zip(["angstrom.gro", "close.gro"]).all(|(run, name)| begins(run, name)));
}
