//! Titration and calibration as a person starts them: child runs, restarts, evaluation, files.

use lambda::SiteLibrary;
use lambda::analysis::hill::deprotonated_fraction;
use lambda::library::{Calibration, Conditions, Correction, Provenance, entry_with_calibration};
use octitrate::config::Config;
use octitrate::output::sites::SitesFile;
use octitrate::record::{FormRecord, SiteRecord};
use octitrate::workflow::{pka, titrate};
use rand::{RngExt, SeedableRng};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn octitrate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octitrate")).args(arguments).output().unwrap()
}

/// The built-in entry of Glu with made-up coefficients, so that a titration can be started.
pub fn library(folder: &Path) -> PathBuf {
    library_with(folder, None)
}

/// The same with the conditions under which it was calibrated.
pub fn library_with(folder: &Path, conditions: Option<Conditions>) -> PathBuf {
    let entry = SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == "glu").unwrap();
    let provenance = Provenance {
        program: "test".into(),
        date: "2000-01-01".into(),
        temperature: 300.0,
        box_edges: [3.0; 3],
        atoms: 1,
        water_model: "TIP3P".into(),
        electrostatics: "none".into(),
        lennard_jones: "none".into(),
        windows: 2,
        time_per_window: 0.0,
        equilibration_per_window: 0.0,
        seed: 1,
        reduced_chi_squared: 1.0,
        conditions,
        buffers: 0,
    };
    let calibration = Calibration {
        reason: None,
        degree: 2,
        interior_degree: 0,
        coefficients: vec![0.0, 0.0],
        errors: vec![0.0, 0.0],
        free_energy_errors: vec![0.0, 0.0],
        systematic_errors: None,
        error_covers: None,
        flatness: None,
        transfer: None,
        range: [0.0, 1.0],
        provenance,
    };
    let correction = Correction::Calibrated(Box::new(calibration));
    let text = entry_with_calibration(&toml::to_string(&entry).unwrap(), "glu.toml", None, &correction).unwrap();
    let path = folder.join("glu.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// A job in `folder` with the given sections after those of the system.
fn job(folder: &Path, steps: u64, rest: &str) -> PathBuf {
    let glu = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/glu");
    let text = format!(
        "[system]\nstructure = \"{0}/glu.gro\"\ntopology = \"{0}/glu.top\"\n\n[electrostatics]\norder = 4\n\n\
         [dynamics]\nsteps = {steps}\n\n[thermostat]\ntemperature = \"300 K\"\n\n[output]\nfolder = \"out\"\n\
         energy = \"0 ps\"\nlambda = \"2 fs\"\ntrajectory = \"0 ps\"\n\n{rest}",
        glu.display()
    );
    let path = folder.join("job.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// What the force field is said to ask for a proton, the correction gives: with 200 kJ/mol the group of a model compound loses it, with −200 it keeps it. From
/// the middle, at pH = pKa, nothing else would within 0.14 ps: λ goes half of 40 nm/ps² times the square of that, 0.4, and 0.1 by its thermal velocity.
#[test]
fn an_offset_is_taken_away_with_the_correction() {
    let run = |offset: &str, expected: &str| {
        let folder = temp_dir::TempDir::new().unwrap();
        let rest = format!(
            "[titration]\nph = 4.25\nbarrier = \"0 kJ/mol\"\n\n[[titration.site]]\nresidue = \"GLH 2\"\ninitial = 0.5\noffset = \"{offset}\"\n\n[titration.buffer]\ndistance = \"0.6 nm\"\n"
        );
        let job = job(folder.path(), 70, &rest);
        let job = job.to_str().unwrap();
        let checked = octitrate(&["check", job]);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(said.contains(expected), "{said}{}", String::from_utf8_lossy(&checked.stderr));
        let ran = octitrate(&["run", job, "--device", "cpu"]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        // The run says which polynomial was taken away, so that it can be evaluated without its library.
        let sites = octitrate::output::sites::read(&folder.path().join("out/sites.toml")).unwrap().sites;
        let taken = sites[0].correction.clone().unwrap();
        assert_eq!(sites[0].free_energies.as_deref(), Some(&[0.0, taken.coefficients[0]][..]));
        let entry = lambda::library::SiteLibrary::builtin().unwrap().entries.into_iter().find(|one| one.name == "glu");
        let own = entry.unwrap().correction.calibration().unwrap().clone();
        assert_eq!((taken.degree, taken.interior_degree), (own.degree, own.interior_degree));
        assert_eq!(taken.coefficients[1..], own.coefficients[1..]);
        let table = std::fs::read_to_string(folder.path().join("out/lambda.csv")).unwrap();
        let last = table.lines().last().unwrap().split(',').nth(1).unwrap().parse::<f64>().unwrap();
        (last, taken.coefficients[0] - own.coefficients[0])
    };
    let (lost, more) = run("200 kJ/mol", "Glu 2: 200 kJ/mol more for each proton lost");
    let (kept, less) = run("-200 kJ/mol", "Glu 2: -200 kJ/mol more for each proton lost");
    assert!(kept < 0.3 && lost > kept + 0.4, "{kept} {lost}");
    assert_eq!((more.round(), less.round()), (200.0, -200.0));
}

/// pH values more than three units from the pKa of every model compound are named, however they lie about it, but not those at which the job expects a site to titrate.
#[test]
fn ph_values_at_which_nothing_titrates_are_named() {
    let said = |ph: &str, site: &str| {
        let folder = temp_dir::TempDir::new().unwrap();
        let rest = format!(
            "[titration]\n{site}\n[titration.buffer]\ndistance = \"0.6 nm\"\n\n[titrate]\nph = {ph}\nequilibration = \"0.02 ps\"\n"
        );
        let job = job(folder.path(), 70, &rest);
        let checked = octitrate(&["check", job.to_str().unwrap()]);
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        String::from_utf8_lossy(&checked.stdout).into_owned()
    };
    let far = said("[1.0, 3.0, 4.25, 7.5, 8.0]", "");
    let expected = "nothing is expected to titrate at 3 of 5 pH values (1, 7.5, 8): model compounds of the sites have a pKa of 4.25";
    assert!(far.contains(expected), "{far}");
    let near = said("{ min = 1.25, max = 7.25, step = 1.0 }", "");
    assert!(!near.contains("nothing is expected to titrate"), "{near}");
    let shifted = said("[1.0, 3.0, 4.25, 7.5, 8.0]", "[[titration.site]]\nresidue = \"GLH 2\"\nstart_pka = 7.5\n");
    let expected = "at 1 of 5 pH values (1): model compounds and start_pka of the sites have pKa values of 4.25 to 7.5";
    assert!(shifted.contains(expected), "{shifted}");
    for (name, value) in [
        ("thermostat", "v-rescale, 300 K, coupling time 0.1 ps"),
        ("barostat", "none, the volume is constant"),
        (
            "Lennard-Jones",
            "cut-off 1 nm, the potential is shifted to zero there, with a correction for the dispersion beyond it",
        ),
    ] {
        assert!(near.contains(&format!("{name:<20} {value}\n")), "{near}");
    }
}

/// χ1 and χ2 of Glu have terms of their own, of −B/4 where staggered to −5B/4 where eclipsed each; ∂V/∂λ and whether the correction fits the force field do
/// not change.
#[test]
fn barriers_between_rotamers_are_lowered_in_all_forms_alike() {
    let run = |eased: &str| {
        let folder = temp_dir::TempDir::new().unwrap();
        let rest = format!("[titration]\nph = 4.25\n{eased}\n[titration.buffer]\ndistance = \"0.6 nm\"\n");
        let job = job(folder.path(), 70, &rest);
        let job = job.to_str().unwrap();
        let checked = String::from_utf8_lossy(&octitrate(&["check", job]).stdout).into_owned();
        let computed = octitrate(&["energy", job, "--json", "--device", "cpu"]);
        assert!(computed.status.success(), "{}", String::from_utf8_lossy(&computed.stderr));
        (checked, serde_json::from_slice::<serde_json::Value>(&computed.stdout).unwrap())
    };
    let ((_, plain), (said, eased)) = (run(""), run("ease_rotamers = \"8 kJ/mol\"\n"));
    assert!(said.contains("barriers about 2 bonds are 8 kJ/mol lower"), "{said}");
    let energy = |of: &serde_json::Value, term: &str| of["energies"][term]["value"].as_f64().unwrap();
    let added = energy(&eased, "proper dihedrals") - energy(&plain, "proper dihedrals");
    assert!((-20.0..=-4.0).contains(&added), "{added}");
    assert!((energy(&eased, "potential") - energy(&plain, "potential") - added).abs() < 1e-6);
    assert_eq!(eased["dvdl (kJ/mol)"], plain["dvdl (kJ/mol)"]);
    // At which λ they are computed stands beside them.
    let columns = |key: &str| plain[key].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((columns("lambda"), &plain["lambda"]), (columns("dvdl (kJ/mol)"), &eased["lambda"]));
    assert!(plain["lambda"].as_object().unwrap().values().all(|lambda| lambda.as_f64().is_some_and(|x| x.abs() < 1.5)));
}

/// λ of a two-state site with pKa 4.25 in the folders of a titration: what the runs would have written.
#[test]
fn a_synthetic_titration_returns_its_pka() {
    let folder = temp_dir::TempDir::new().unwrap();
    let rest = "[titration]\n\n[titrate]\nph = { min = 2.75, max = 5.75, step = 0.5 }\nreplicas = 2\nequilibration = \"1 ps\"\n";
    let config = Config::load(job(folder.path(), 20_500, rest)).unwrap();
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(11);
    for ph in [2.75, 3.25, 3.75, 4.25, 4.75, 5.25, 5.75] {
        for replica in 1..=2 {
            let run = config.folder().join(format!("pH_{ph:.2}/replica_{replica}"));
            std::fs::create_dir_all(&run).unwrap();
            let s = deprotonated_fraction(ph, 4.25, 1.0);
            let mut text = String::from("time (ps),lambda GLH 2,dV/dlambda GLH 2 (kJ/mol)\n");
            let mut state = 0.5;
            for frame in 0..=20_500 {
                if frame == 0 || random.random::<f64>() < 0.05 {
                    state = f64::from(u8::from(random.random::<f64>() < s));
                }
                // The equilibration is all protonated: it must not be counted.
                let lambda = if frame <= 500 { 0.0 } else { state };
                writeln!(text, "{:.3},{lambda:.6},0.0000", 0.002 * f64::from(frame)).unwrap();
            }
            std::fs::write(run.join("lambda.csv"), text).unwrap();
            let form = |name: &str, protons_lost, pk| FormRecord { name: name.into(), protons_lost, charge: 0.0, pk };
            let site = SiteRecord {
                name: "GLH 2".into(),
                coordinate: "linear".into(),
                pka: Some(4.25),
                forms: vec![form("protonated", 0, 0.0), form("deprotonated", 1, 4.25)],
                ..SiteRecord::default()
            };
            let sites = SitesFile { ph: Some(ph), temperature: 300.0, sites: vec![site], ..SitesFile::default() };
            std::fs::write(run.join("sites.toml"), toml::to_string(&sites).unwrap()).unwrap();
            std::fs::write(run.join("log.txt"), "warning: the same for every run\nother\n").unwrap();
        }
    }
    let evaluation = titrate::TitrationPlan::new(config.clone(), None).unwrap().evaluate().unwrap();
    let site = &evaluation.sites[0];
    let step = site.titration.macroscopic[0];
    let (pka, error) = (step.pka.value().unwrap(), step.pka.error().unwrap());
    // 40 000 frames with 39 to a sample, at seven pH: about 0.02.
    assert!((0.01..0.05).contains(&error) && (pka - 4.25).abs() < 3.5 * error, "{pka} ± {error}");
    let slope = step.slope.unwrap();
    assert!((slope.value().unwrap() - 1.0).abs() < 3.5 * slope.error().unwrap(), "{slope}");
    assert_eq!(
        (site.record.pka, evaluation.warnings.clone()),
        (Some(4.25), vec!["the same for every run".to_string()])
    );
    for point in &site.titration.points {
        let (s, [low, high]) = (point.deprotonated.unwrap(), point.interval.unwrap());
        assert_eq!((point.occupancy.frames(), point.occupancy.mixed), (40_000, 0));
        let (exact, error) = (deprotonated_fraction(point.ph, 4.25, 1.0), 0.5 * (high - low));
        assert!((s - exact).abs() < 4.0 * error, "pH {}: {s} ± {error}", point.ph);
        // A switch is drawn with 0.05 and changes the state with 2s(1−s).
        let expected = 40_000.0 * 0.05 * 2.0 * s * (1.0 - s);
        let found = point.occupancy.transitions as f64;
        assert!((found - expected).abs() < 5.0 * expected.sqrt() + 4.0, "pH {}: {found}", point.ph);
    }

    let said = pka::write(&evaluation, config.folder(), pka::Beside::default()).unwrap();
    assert!(said.contains("Glu 2") && said.contains("report.html"), "{said}");
    let read = |name: &str| std::fs::read_to_string(config.result(name)).unwrap();
    assert_eq!(read("titration.csv").lines().count(), 8);
    assert!(read("pka.csv").lines().nth(1).unwrap().starts_with("GLH 2,1,4."));
    // Seven points, weighted and counted, and the mark in the legend.
    assert_eq!(read("titration.svg").matches("<circle").count(), 2 * 7 + 1);
    let report = read("report.html");
    // The curve, convergence, overlap, distribution and λ(t).
    assert!(report.matches("<figure>").count() == 5 && report.contains("the same for every run"));
    // It stands alone: nothing is fetched.
    assert!(!report.contains("src=") && !report.contains("<link") && !report.contains("@import"));
}

#[test]
fn a_titration_runs_skips_what_is_finished_and_names_damage() {
    let folder = temp_dir::TempDir::new().unwrap();
    let rest = format!(
        "[titration]\nlibrary = [\"{}\"]\n\n[titrate]\nph = [3.0, 5.0]\njobs = 2\nfinite_box = \"finite_box.csv\"\n",
        library(folder.path()).display()
    );
    let table = |lost: u32| {
        let rows = format!("protons lost,charge of the protein,too high\n0,5,0.2\n{lost},2,0.1\n");
        std::fs::write(folder.path().join("finite_box.csv"), rows).unwrap();
    };
    table(1);
    let job = job(folder.path(), 10, &rest);
    let out = folder.path().join("out");
    let first = octitrate(&["titrate", job.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    assert!(first.status.success(), "{said}");
    assert!(said.contains("pH") && said.contains("report.html") && said.contains("pKa  in solution"), "{said}");
    let lambda = out.join("pH_3.00/replica_1/lambda.csv");
    assert_eq!(std::fs::read_to_string(&lambda).unwrap().lines().count(), 12);
    let written = |path: &Path| path.metadata().unwrap().modified().unwrap();
    let (before, finished) = (written(&lambda), out.join("pH_5.00/replica_1"));

    // One run is lost: it alone is repeated, with the same result. Of the table of another system the runs are not lost.
    table(3);
    let lost = std::fs::read(finished.join("lambda.csv")).unwrap();
    std::fs::remove_dir_all(&finished).unwrap();
    let second = octitrate(&["titrate", job.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.success() && said.contains("1 of 2 runs was finished before"), "{said}");
    assert!(said.contains("those of the runs lose 1") && said.contains("pKa values are those of the box"), "{said}");
    assert_eq!(written(&lambda), before);
    assert!(std::fs::read(finished.join("lambda.csv")).unwrap() == lost);

    // Another seed is told in the words of the job: that of a run is made from it.
    let text = std::fs::read_to_string(&job).unwrap();
    let reseeded = folder.path().join("reseeded.toml");
    std::fs::write(&reseeded, text.replace("[dynamics]\n", "[dynamics]\nseed = 8\n")).unwrap();
    for command in ["check", "titrate"] {
        let refused = octitrate(&[command, reseeded.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&refused.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(refused.status.code(), Some(2));
        assert!(said.contains("have seed 1, the job has 8") && said.contains("seed = 1 goes on with them"), "{said}");
    }

    std::fs::write(&lambda, "time (ps),lambda GLH 2,dV/dlambda GLH 2 (kJ/mol)\n0,zero,1\n").unwrap();
    let third = octitrate(&["titrate", job.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&third.stderr).into_owned();
    assert_eq!(third.status.code(), Some(2));
    assert!(said.contains("lambda.csv") && said.contains("line 2: found text"), "{said}");
}

/// A structure that another job makes is named by the run that makes it, as `octitrate prepare --starts` leaves it.
#[test]
fn a_structure_to_begin_with_that_is_not_there_yet_names_its_run() {
    let folder = temp_dir::TempDir::new().unwrap();
    let rest = format!(
        "[titration]\nlibrary = [\"{}\"]\n\n[titrate]\nph = [3.0, 5.0]\nreplicas = 2\nstructures = [\"start_2/final.gro\"]\n",
        library(folder.path()).display()
    );
    let job = job(folder.path(), 10, &rest);
    // A script for a queue does not wait for it.
    let said = || {
        let written = octitrate(&["titrate", job.to_str().unwrap(), "--slurm"]);
        assert_eq!(written.status.code(), Some(2));
        String::from_utf8_lossy(&written.stderr).into_owned()
    };
    assert!(said().contains("valid is a GROMACS structure, .gro"), "{}", said());
    std::fs::write(folder.path().join("start_2.toml"), "").unwrap();
    assert!(
        said().contains("valid is what `octitrate run start_2.toml` writes, which octitrate titrate runs by itself"),
        "{}",
        said()
    );
}

/// Structures that jobs beside the titration make, as `octitrate prepare --starts` writes them, are made first, and once; not for a titration that is wrong itself.
#[test]
fn structures_to_begin_with_are_made_first() {
    let folder = temp_dir::TempDir::new().unwrap();
    let titration = format!("[titration]\nlibrary = [\"{}\"]\n", library(folder.path()).display());
    let start = std::fs::read_to_string(job(folder.path(), 6, &format!("{titration}ph = 4.0\n"))).unwrap();
    for name in ["start_2", "start_3"] {
        let text = start.replace("folder = \"out\"", &format!("folder = \"{name}\""));
        std::fs::write(folder.path().join(name).with_extension("toml"), text).unwrap();
    }
    let write = |section: &str| {
        let named = "structures = [\"start_2/final.gro\", \"start_3/final.gro\"]";
        job(folder.path(), 10, &format!("{titration}\n[titrate]\n{section}\nreplicas = 2\n{named}\n"))
    };
    let titrate = |section: &str| {
        let job = write(section);
        let output = octitrate(&["titrate", job.to_str().unwrap(), "--device", "cpu"]);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let made = || ["start_2", "start_3"].map(|name| folder.path().join(name).join("final.gro").exists());
    let check = || {
        let checked = octitrate(&["check", folder.path().join("job.toml").to_str().unwrap(), "--device", "cpu"]);
        String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()).into_owned()
    };
    let (status, said) = titrate("ph = [3.0, 4.0]\nexchnage = \"1 ps\"");
    assert!(status == Some(2) && said.contains("exchnage") && made() == [false; 2], "{said}");
    assert!(check().contains("exchnage") && !check().contains("the job can be run"), "{}", check());
    write("ph = [3.0, 4.0]");
    let said = check();
    assert!(said.contains("start_3.toml, by octitrate titrate") && said.contains("the job can be run"), "{said}");
    let (status, said) = titrate("ph = [3.0, 4.0]");
    assert!(status == Some(0) && made() == [true; 2], "{said}");
    assert!(!check().contains("runs first"), "{}", check());
    let first = "structures to begin with are made first, by runs: start_2, start_3";
    assert!(said.contains(first) && said.contains("report.html"), "{said}");
    // The runs began with what they made.
    let resolved = std::fs::read_to_string(folder.path().join("out/pH_4.00/replica_2/run.toml")).unwrap();
    assert!(resolved.contains("start_3/final.gro"), "{resolved}");
    let (status, said) = titrate("ph = [3.0, 4.0]");
    assert!(status == Some(0) && !said.contains(first) && !said.contains("any more"), "{said}");
    // A pH that is taken away is left out, and not without a word: its runs are there.
    let (status, said) = titrate("ph = [3.0]");
    let left_out = "pH_4.00/replica_1, pH_4.00/replica_2 are in ";
    assert!(status == Some(0) && said.contains(left_out) && said.contains("counts them"), "{said}");
}

#[test]
fn a_slurm_script_names_every_run() {
    let folder = temp_dir::TempDir::new().unwrap();
    let rest = format!(
        "[titration]\nlibrary = [\"{}\"]\n\n[titrate]\nph = [3.0, 4.0, 5.0]\nreplicas = 2\n",
        library(folder.path()).display()
    );
    let job = job(folder.path(), 10, &rest);
    let output = octitrate(&["titrate", job.to_str().unwrap(), "--slurm"]);
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && script.starts_with("#!/bin/bash\n#SBATCH"), "{script}");
    assert!(script.contains("--array=1-6"), "{script}");
    let jobs = std::fs::read_to_string(folder.path().join("out/jobs.txt")).unwrap();
    assert_eq!(jobs.lines().count(), 6);
    let loaded: Vec<Config> = jobs.lines().map(|path| Config::load(Path::new(path)).unwrap()).collect();
    assert!(loaded.iter().all(|config| config.titrate.is_none() && config.steps() == 10));
    let mut seeds: Vec<u64> = loaded.iter().map(|config| config.dynamics.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 6);
    let checked = Command::new("bash").arg("-n").arg("/dev/stdin").stdin(std::process::Stdio::piped()).spawn();
    let mut checked = checked.unwrap();
    std::io::Write::write_all(&mut checked.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert!(checked.wait().unwrap().success());
}

/// They go on in one process. A structure that the job makes first need not be there yet.
#[test]
fn a_slurm_script_of_runs_that_swap_their_ph_is_one_job() {
    let folder = temp_dir::TempDir::new().unwrap();
    let titration = format!("[titration]\nlibrary = [\"{}\"]\n", library(folder.path()).display());
    let start = std::fs::read_to_string(job(folder.path(), 6, &format!("{titration}ph = 4.0\n"))).unwrap();
    let start = start.replace("folder = \"out\"", "folder = \"start_2\"");
    let glu = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/glu/glu.gro");
    let write = |second: &str| {
        let structures = format!("structures = [\"{}\", \"{second}/final.gro\"]\nreplicas = 2", glu.display());
        job(folder.path(), 10, &format!("{titration}\n[titrate]\nph = [4.0, 4.2]\nexchange = \"4 fs\"\n{structures}\n"))
    };
    let print = |job: &Path, option: &str| {
        octitrate(&["titrate", job.to_str().unwrap(), option, "--device", "cpu", "--threads", "1"])
    };
    let elsewhere = print(&write("start_2"), "--slurm");
    assert!(!elsewhere.status.success() && elsewhere.stdout.is_empty(), "nothing makes start_2/final.gro");
    std::fs::write(folder.path().join("start_2.toml"), start).unwrap();
    let job = write("start_2");
    let output = print(&job, "--slurm");
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && !folder.path().join("out").exists(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        script.contains("#SBATCH --cpus-per-task=1\n") && !script.contains("array") && script.ends_with("}\"\n"),
        "{script}"
    );
    let path = folder.path().join("script.sh");
    std::fs::write(&path, script).unwrap();
    let ran = Command::new("bash").arg(&path).output().unwrap();
    assert!(
        ran.status.success() && folder.path().join("out/report.html").exists(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    // HyperQueue deals out tasks.
    let refused = print(&job, "--hyperqueue");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--slurm prints a script of one job"));
}

/// What its runs would refuse is said before anything is written.
#[test]
fn a_script_for_a_queue_is_not_written_for_sites_that_are_not_there() {
    let folder = temp_dir::TempDir::new().unwrap();
    let rest = format!(
        "[titration]\nlibrary = [\"{}\"]\n\n[titrate]\nph = [3.0, 4.0]\nuntil = 0.2\nuntil_sites = [\"GLH 9\"]\n",
        library(folder.path()).display()
    );
    let job = job(folder.path(), 1000, &rest);
    let output = octitrate(&["titrate", job.to_str().unwrap(), "--slurm"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no site that titrates is called \"GLH 9\""), "{said}");
    assert!(output.stdout.is_empty() && !folder.path().join("out").exists(), "{said}");
}

#[test]
fn a_calibration_writes_an_entry_that_the_library_reads() {
    let folder = temp_dir::TempDir::new().unwrap();
    let rest = "[titration.buffer]\n\n[calibrate]\nsite = \"GLH 2\"\nwindows = [0.0, 0.5, 1.0]\ndegree = 2\njobs = 2\n\
                max_rounds = 1\nround = \"60 fs\"\nwater_model = \"TIP3P\"\n";
    let job = job(folder.path(), 12, rest);
    let output = octitrate(&["calibrate", job.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let out = folder.path().join("out");
    let library = SiteLibrary::from_path(&out.join("glu.toml")).unwrap();
    assert_eq!(library.entries[0].correction.status(), "preliminary");
    let Some(calibration) = library.entries[0].correction.calibration() else { panic!("the entry is not calibrated") };
    assert_eq!((calibration.coefficients.len(), calibration.range), (2, [0.0, 1.0]));
    assert_eq!((calibration.provenance.windows, calibration.provenance.atoms), (3, 1_171));
    // What a job must have in common with it; the water is recognised by its parameters.
    let conditions = calibration.provenance.conditions.clone().unwrap();
    let found = [&conditions.interpolation, &conditions.modifier, &conditions.water, &conditions.compensation];
    assert_eq!(found, ["hamiltonian", "potential-shift", "TIP3P", "buffers"]);
    assert_eq!((conditions.temperature, conditions.cutoff, conditions.images), (300.0, 1.0, false));
    assert_eq!([conditions.parameters.len(), conditions.attached.map_or(0, |one| one.len())], [16, 16]);
    assert!(calibration.reason.as_ref().is_some_and(|reason| reason.contains("transitions")), "{calibration:?}");
    let table = std::fs::read_to_string(out.join("calibration.csv")).unwrap();
    assert_eq!(table.lines().count(), 4);
    // ∂V/∂λ of losing the proton of a carboxyl group: far from zero at both ends, and not the same.
    let means: Vec<f64> = table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!(means.iter().all(|mean| mean.abs() > 1.0) && (means[0] - means[2]).abs() > 10.0, "{means:?}");
    assert!(out.join("calibration.svg").exists() && out.join("report.html").exists());
    // The round started from what the windows gave, on both sides of the middle.
    let round = out.join("round_1");
    assert!(SiteLibrary::from_path(&round.join("glu.toml")).is_ok());
    let first = |run: &str| {
        let text = std::fs::read_to_string(round.join(run).join("lambda.csv")).unwrap();
        assert_eq!(text.lines().count(), 32);
        text.lines().nth(1).unwrap().split(',').nth(1).unwrap().to_string()
    };
    assert_eq!([first("run_1"), first("run_2")], ["0.250000", "0.750000"]);
    // The second start began where other windows ended, with other water molecules as buffers; the same command goes on from it.
    let second = out.join("start_2/lambda_0.00");
    let begins = |run: &Path, end: &Path| std::fs::read(run.join("start.gro")).unwrap() == std::fs::read(end).unwrap();
    assert!(begins(&second, &out.join("lambda_1.00/final.gro")));
    std::fs::remove_file(second.join("final.gro")).unwrap();
    let entry = std::fs::read_to_string(out.join("glu.toml")).unwrap();
    let output = octitrate(&["calibrate", job.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_to_string(out.join("glu.toml")).unwrap(), entry);
    // Longer windows are those of before and more of them, although the windows where the second start began end elsewhere now.
    let before = std::fs::read_to_string(second.join("lambda.csv")).unwrap();
    let longer = std::fs::read_to_string(&job).unwrap().replace("steps = 12\n", "steps = 16\n");
    std::fs::write(&job, longer).unwrap();
    let output = octitrate(&["calibrate", job.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!begins(&second, &out.join("lambda_1.00/final.gro")));
    let after = std::fs::read_to_string(second.join("lambda.csv")).unwrap();
    assert!(after.starts_with(&before) && after.lines().count() > before.lines().count());
}

/// Conformations are looked for before the windows, which begin at them; the same command goes on among them.
#[test]
fn windows_begin_at_conformations() {
    let folder = temp_dir::TempDir::new().unwrap();
    let rest = "[titration]\nease_rotamers = \"8 kJ/mol\"\n\n[titration.buffer]\n\n[calibrate]\nsite = \"GLH 2\"\nwindows = [0.0, 1.0]\ndegree = 1\n\
                max_rounds = 0\nconformers = 3\nconformer_time = \"8 fs\"\n";
    let job = job(folder.path(), 12, rest);
    let calibrate = || {
        let output = octitrate(&["calibrate", job.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = calibrate();
    assert!(said.contains("calibration: 3 runs of 0.008 ps that look for conformations, then 2 windows"), "{said}");
    let out = folder.path().join("out");
    let read = |file: String| std::fs::read(out.join(file)).unwrap();
    for (run, number) in
        [("lambda_0.00", 1), ("start_2/lambda_0.00", 2), ("lambda_1.00", 3), ("start_2/lambda_1.00", 1)]
    {
        assert!(read(format!("{run}/start.gro")) == read(format!("conformer_{number}/final.gro")), "{run}");
    }
    let entry = std::fs::read_to_string(out.join("glu.toml")).unwrap();
    std::fs::remove_file(out.join("start_2/lambda_0.00/final.gro")).unwrap();
    calibrate();
    assert_eq!(std::fs::read_to_string(out.join("glu.toml")).unwrap(), entry);
}

#[test]
fn walkers_that_swap_their_ph_continue_where_they_were() {
    let folder = temp_dir::TempDir::new().unwrap();
    let library = library(folder.path());
    let rest = format!(
        "[titration]\nlibrary = [\"{}\"]\n\n[[titration.site]]\nresidue = \"GLH 2\"\n\n\
         [titrate]\nph = [4.0, 4.2, 4.4]\nexchange = \"4 fs\"\n",
        library.display()
    );
    let start = |steps: u64, out: &str| {
        let job = job(folder.path(), steps, &rest);
        let out = folder.path().join(out);
        let output =
            octitrate(&["titrate", job.to_str().unwrap(), "--output", out.to_str().unwrap(), "--device", "cpu"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let runs = ["pH_4.00", "pH_4.20", "pH_4.40"].map(|run| out.join(run).join("replica_1/lambda.csv"));
        let [a, b, c] = runs.map(|path| std::fs::read_to_string(path).unwrap());
        [a, b, c, std::fs::read_to_string(out.join("exchange.csv")).unwrap()]
    };
    let whole = start(16, "whole");
    start(6, "pieces");
    assert!(start(16, "pieces") == whole);
    // A longer one goes on from them, one that swaps more often does not.
    let check = |rest: &str| {
        let (job, out) = (job(folder.path(), 20, rest), folder.path().join("pieces"));
        let output = octitrate(&["check", job.to_str().unwrap(), "--output", out.to_str().unwrap()]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(check(&rest).0, Some(0));
    let (status, said) = check(&rest.replace("4 fs", "2 fs"));
    assert!(status == Some(2) && said.contains("titrate.exchange was") && said.contains("another run"), "{said}");
    assert!(whole[0].starts_with("time (ps),walker,lambda GLH 2,"), "{}", whole[0]);
    // Neighbours with nearly the same λ swap nearly always.
    let swapped = whole[3].lines().skip(1).any(|line| !line.ends_with(",1,2,3"));
    assert!(whole[3].lines().count() == 10 && swapped, "{}", whole[3]);
    assert!(folder.path().join("whole/exchange.html").exists() && folder.path().join("whole/report.html").exists());
}

/// Independent runs that are looked at on the way leave the same bytes as runs of the same length.
#[test]
fn runs_that_are_looked_at_are_the_same_runs() {
    let folder = temp_dir::TempDir::new().unwrap();
    let library = library(folder.path());
    let start = |keys: &str, out: &str| {
        let rest = format!(
            "[titration]\nlibrary = [\"{}\"]\n\n[[titration.site]]\nresidue = \"GLH 2\"\n\n\
             [titrate]\nph = [4.0, 4.4]\nequilibration = \"4 fs\"\n{keys}\n",
            library.display()
        );
        let job = job(folder.path(), 20, &rest);
        let out = folder.path().join(out);
        let output =
            octitrate(&["titrate", job.to_str().unwrap(), "--output", out.to_str().unwrap(), "--device", "cpu"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tables = ["pH_4.00", "pH_4.40"].map(|run| out.join(run).join("replica_1/lambda.csv"));
        tables.map(|path| std::fs::read_to_string(path).unwrap())
    };
    let plain = start("", "plain");
    assert!(start("until = \"0.05\"\nuntil_from = \"24 fs\"\nuntil_max_ph = 0", "looked") == plain);
    let log = std::fs::read_to_string(folder.path().join("looked/log.txt")).unwrap();
    assert!(log.contains("until 0.05: 0 of 1 site is within 0.05 at 0.024 ps"), "{log}");
    assert!(log.contains("runs go on to 0.03 ps, at most") && log.contains("not reached within 0.04 ps"), "{log}");
}

/// A site that is deprotonated at all pH values gets lower ones (charges are interpolated, so that forms are parts of λ: a dozen frames that are taken to the
/// form with a correction that is not theirs bound a pKa too loosely); by Slurm arrays, one for each look, the same with the same bytes. The report tells of them, also after `pka`.
#[test]
fn ph_values_are_added_to_independent_runs() {
    let folder = temp_dir::TempDir::new().unwrap();
    let library = library(folder.path());
    let rest = format!(
        "[titration]\nlibrary = [\"{}\"]\ninterpolation = \"charge\"\nallow_mismatch = [\"interpolation\"]\n\n[[titration.site]]\nresidue = \"GLH 2\"\n\n\
         [titrate]\nph = [5.0, 6.0, 7.0, 8.0]\nequilibration = \"4 fs\"\nuntil = 0.05\nuntil_from = \"24 fs\"\nuntil_max_ph = 5\nuntil_add_from = \"0 ps\"\n",
        library.display()
    );
    let job = job(folder.path(), 20, &rest);
    let call = |out: &Path, more: &[&str]| {
        let words = ["titrate", job.to_str().unwrap(), "--output", out.to_str().unwrap(), "--device", "cpu"];
        let output = octitrate(&[&words[..], more].concat());
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let tables = |out: &Path| {
        let runs = ["3.50", "5.00", "6.00", "7.00", "8.00"].map(|ph| out.join(format!("pH_{ph}/replica_1/lambda.csv")));
        let mut all = runs
            .map(|path| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
            .to_vec();
        all.push(std::fs::read_to_string(out.join("until.json")).unwrap());
        all
    };
    let whole = folder.path().join("whole");
    let (good, said) = call(&whole, &[]);
    assert!(good && said.contains("pH 3.5 was added at 0.024 ps"), "{said}");
    // Its runs have their checkpoints below its folder.
    let words = ["check", job.to_str().unwrap(), "--output", whole.to_str().unwrap(), "--device", "cpu"];
    let checked = String::from_utf8(octitrate(&words).stdout).unwrap();
    assert!(checked.contains("which holds results of this job: it goes on from them"), "{checked}");
    let expected = tables(&whole);
    // 0.026 ps is the first frame after the look.
    assert!(expected[0].lines().nth(1).unwrap().starts_with("0.026,"), "{}", expected[0]);

    let queue = folder.path().join("queue");
    for round in 0.. {
        let (good, said) = call(&queue, &["--slurm"]);
        if !good {
            assert!(said.contains("nothing is left to be submitted"), "{said}");
            break;
        }
        let jobs = std::fs::read_to_string(queue.join("jobs.txt")).unwrap();
        assert_eq!(jobs.contains("pH_3.50"), round > 0, "{jobs}");
        for job in jobs.lines() {
            let output = octitrate(&["run", "--quiet", "--device", "cpu", job]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let (good, said) = call(&queue, &[]);
    assert!(good, "{said}");
    assert!(tables(&queue) == expected);
    let report = std::fs::read_to_string(queue.join("report.html")).unwrap();
    assert!(report.contains("pH values that were added") && report.contains("pH_5.00/replica_1"));
    let again = folder.path().join("again");
    let output = octitrate(&["pka", queue.to_str().unwrap(), "--output", again.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pka = |folder: &Path| std::fs::read_to_string(folder.join("pka.csv")).unwrap();
    assert_eq!(pka(&again), pka(&queue));
}

/// λ of the site in `lambda.csv` at each time (ps).
fn lambdas(run: &Path) -> Vec<(f64, f64)> {
    let text = std::fs::read_to_string(run.join("lambda.csv")).unwrap();
    let column = text.lines().next().unwrap().split(',').position(|name| name == "lambda GLH 2").unwrap();
    let row = |line: &str| {
        let numbers: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
        (numbers[0], numbers[column])
    };
    text.lines().skip(1).map(row).collect()
}

/// Buffers, whole forms at the start and an equilibration in two parts are what a titration has unless it says otherwise. One that is made longer
/// goes on with what it began with.
#[test]
fn a_titration_holds_the_form_of_its_ph_first_and_has_buffers() {
    for exchange in ["", "exchange = \"40 fs\"\n"] {
        let place = temp_dir::TempDir::new().unwrap();
        let library = library(place.path());
        let titrate = |steps: u64| {
            let rest =
                format!("[titration]\nlibrary = [\"{}\"]\n\n[titrate]\nph = [3.0, 6.0]\n{exchange}", library.display());
            let job = job(place.path(), steps, &rest);
            let output = octitrate(&["titrate", job.to_str().unwrap(), "--device", "cpu"]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        titrate(80);
        let out = place.path().join("out");
        let runs = [("pH_3.00", 0.0), ("pH_6.00", 1.0)].map(|(run, form)| (out.join(run).join("replica_1"), form));
        // A tenth of 160 fs are left out, and in the first half of them λ is held: 8 fs, to the frame of step 4.
        for (run, form) in &runs {
            let found = lambdas(run);
            assert!(found[..=4].iter().all(|(_, lambda)| lambda == form), "{found:?}");
            assert!(found[5..8].iter().all(|(_, lambda)| lambda != form), "{found:?}");
            let sites = octitrate::output::sites::read(&run.join("sites.toml")).unwrap();
            assert!((sites.held - 0.008).abs() < 1e-12, "{}", sites.held);
            assert_eq!(sites.sites[1].name, "buffer");
            assert_eq!(sites.sites[0].conditions.as_ref().unwrap().compensation, "buffers");
        }
        let before = runs.each_ref().map(|(run, _)| lambdas(run));
        titrate(160);
        for ((run, _), before) in runs.iter().zip(before) {
            assert_eq!(lambdas(run)[..before.len()], before);
            assert_eq!(lambdas(run).len(), 161);
            let sites = octitrate::output::sites::read(&run.join("sites.toml")).unwrap();
            assert!((sites.held - 0.008).abs() < 1e-12, "{}", sites.held);
        }
    }
}

#[test]
fn what_a_titration_leaves_out_has_defaults_and_limits() {
    let folder = temp_dir::TempDir::new().unwrap();
    let config = |titration: &str, titrate: &str| {
        let path =
            job(folder.path(), 5000, &format!("[titration]\n{titration}\n[titrate]\nph = [3.0, 5.0]\n{titrate}\n"));
        Config::load(path)
    };
    let times = |titration: &str, titrate: &str| {
        let config = config(titration, titrate).unwrap();
        let [relax, equilibration] =
            [config.titration.as_ref().unwrap().relax.unwrap().get(), config.titrate.as_ref().unwrap().equilibration()];
        // Again what it resolves to.
        let again = Config::parse(&config.to_toml().unwrap(), &folder.path().join("again.toml")).unwrap();
        assert_eq!(again.titration, config.titration);
        assert_eq!(again.titrate, config.titrate);
        [relax, equilibration]
    };
    assert_eq!(times("", ""), [0.5, 1.0]);
    assert_eq!(times("", "equilibration = \"3 ps\""), [1.5, 3.0]);
    assert_eq!(times("", "equilibration = \"0 ps\""), [0.0, 0.0]);
    assert_eq!(times("relax = \"2 ps\"", ""), [2.0, 4.0]);
    assert_eq!(times("relax = \"0 ps\"", ""), [0.0, 1.0]);
    assert_eq!(times("relax = \"2 ps\"", "equilibration = \"2 ps\""), [2.0, 2.0]);
    let buffer = |titration: &str| config(titration, "").unwrap().titration.unwrap().buffer;
    assert!(buffer("").is_some() && buffer("compensation = \"buffers\"").is_some());
    assert!(buffer("compensation = \"background\"").is_none());
    // A titration of before, without buffers and without a held λ, may go on.
    let settings = |more: &str| {
        let path = job(folder.path(), 5000, &format!("[titration]\nph_term = \"none\"\n{more}"));
        Config::load(path).unwrap().trajectory_settings().unwrap()
    };
    assert_eq!(settings("compensation = \"background\"\nrelax = \"2 ps\"\n"), settings(""));
    assert_ne!(settings("compensation = \"buffers\"\n"), settings(""));
}
