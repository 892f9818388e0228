//! Several runs of one job side by side on one device: their files, stopping and continuing, errors.
//!
//! The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::Device;
use octitrate::backend::choice::Chosen;
use octitrate::config::Config;
use octitrate::error::Result;
use octitrate::output::progress::Log;
use octitrate::propagate::Propagate;
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::workflow::children::{Child, Threads, run_all};
use octitrate::workflow::many::{self, Host, Many};
use octitrate::workflow::run::{Outcome, run};
use octitrate::workflow::titrate;
use std::path::Path;
use std::time::{Duration, Instant};

/// Four molecules of water, or others; runs in `folder`.
fn child(folder: &Path, name: &str, structure: &str, seed: u64, steps: u64) -> Child {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
    let text = format!(
        "[system]\nstructure = \"{0}/{structure}.gro\"\ntopology = \"{0}/water.top\"\n[electrostatics]\norder = 4\n\
         [neighbour_list]\nbuffer = \"0.1 nm\"\n[dynamics]\nsteps = {steps}\nseed = {seed}\n[thermostat]\n\
         [output]\nfolder = \"{name}\"\nenergy = \"0.2 ps\"\ntrajectory = \"0.2 ps\"\nlog = \"0.2 ps\"\n",
        files.display()
    );
    let config = Config::parse(&text, &folder.join("job.toml")).unwrap();
    Child::new(name.into(), config)
}

fn all(children: &[Child], folder: &Path, device: &Device, stop: &Stop) -> Result<bool> {
    let mut log = Log::open(&folder.join("log.txt"), true).unwrap();
    // Two places of the same device: runs are dealt out.
    run_all(&Threads::new(&[device, device], 3), children, 3, &mut log, stop)
}

const RESULTS: [&str; 4] = ["energy.csv", "trajectory.xtc", "final.gro", "checkpoint"];

#[test]
fn runs_side_by_side_stop_and_continue_and_leave_the_bytes_of_single_ones() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    // Long enough to be stopped on the way: two looks at the clock on the emulator.
    let steps = if device.gpu().is_some() { 20_000 } else { 200 };
    let make = |folder: &Path| -> Vec<Child> {
        (1..=4).map(|seed| child(folder, &format!("replica_{seed}"), "water", seed, steps)).collect()
    };
    let single = folder.path().join("single");
    for child in make(&single) {
        let mut simulation = Simulation::on(&child.config, Some(&device)).unwrap();
        let outcome = run(&child.config, &mut simulation, &Stop::default(), true).unwrap();
        assert_eq!(outcome, Outcome::Finished);
    }

    let together = folder.path().join("together");
    let children = make(&together);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            while !children[2].config.result("checkpoint").exists() && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.request();
        });
        std::fs::create_dir_all(&together).unwrap();
        assert!(!all(&children, &together, &device, &stop).unwrap(), "over before it could be stopped");
    });
    assert!(!children[3].config.result("final.gro").exists() && !children[2].config.result("final.gro").exists());
    assert!(all(&children, &together, &device, &Stop::default()).unwrap());
    let continued = |child: &&Child| {
        std::fs::read_to_string(child.config.result("log.txt")).unwrap().contains("continuing from step")
    };
    assert!(children.iter().filter(continued).count() > 0);
    for child in &children {
        let name = child.config.folder().file_name().unwrap();
        for file in RESULTS {
            let read = |of: &Path| std::fs::read(of.join(name).join(file)).unwrap();
            assert!(read(&together) == read(&single), "{file} of {} differs", child.name);
        }
        let log = std::fs::read_to_string(child.config.result("log.txt")).unwrap();
        assert!(log.contains(&format!("device: {}\n", device.name())), "{log}");
        assert!(!child.config.result("errors.txt").exists());
    }
}

#[test]
fn a_run_that_fails_is_named_and_the_others_keep_their_checkpoints() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let names = [("first", "water"), ("second", "overlap"), ("third", "water")];
    let children = names.map(|(name, structure)| child(folder.path(), name, structure, 1, 10_000_000));
    let error = all(&children, folder.path(), &device, &Stop::default()).unwrap_err();
    let message = error.to_string();
    assert_eq!(error.exit_status(), 3, "{message}");
    assert!(message.contains("second: failed; the others keep their checkpoints"), "{message}");
    assert!(children[0].config.result("checkpoint").exists() && !children[0].config.result("final.gro").exists());
    let said = std::fs::read_to_string(children[1].config.result("errors.txt")).unwrap();
    assert!(!said.is_empty() && message.contains(&said), "{said}");
    // A mistake in the input is not one of the physics.
    let children = [child(folder.path(), "fourth", "nan", 1, 10)];
    let error = all(&children, folder.path(), &device, &Stop::default()).unwrap_err();
    assert!(error.exit_status() == 2 && error.to_string().contains("nan.gro"), "{error}");
}

#[test]
fn a_titration_runs_on_one_device() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let glu = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/glu");
    let text = format!(
        "[system]\nstructure = \"{0}/glu.gro\"\ntopology = \"{0}/glu.top\"\n[electrostatics]\norder = 4\n\
         [dynamics]\nsteps = 10\n[thermostat]\ntemperature = \"300 K\"\n[titration]\nallow_uncalibrated = true\n[titrate]\nph = [3.0, 5.0]\n\
         [output]\nfolder = \"out\"\nenergy = \"0 ps\"\nlambda = \"10 fs\"\ntrajectory = \"0 ps\"\n",
        glu.display()
    );
    let config = Config::parse(&text, &folder.path().join("job.toml")).unwrap();
    let plan = titrate::TitrationPlan::new(config.clone(), None).unwrap();
    let place = Chosen::from(Some(device));
    let first = Simulation::on(plan.batch().first(), place.device.as_ref()).unwrap();
    let (identity, description) = (first.identity(), first.describe());
    // No program: a process could not be started.
    let host = Host {
        executable: Path::new("/nonexistent"),
        place: &place,
        identity: &identity,
        description: &description,
        quiet: true,
    };
    assert!(many::run(&plan, &host, &Stop::default()).unwrap());
    for ph in ["3.00", "5.00"] {
        let table = config.folder().join(format!("pH_{ph}/replica_1/lambda.csv"));
        assert_eq!(std::fs::read_to_string(table).unwrap().lines().count(), 4);
    }
    assert!(config.result("report.html").exists());
    let log = std::fs::read_to_string(config.result("log.txt")).unwrap();
    assert!(log.contains("2 runs of 0.02 ps, 2 at once\n"), "{log}");
}
