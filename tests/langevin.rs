//! Jobs with `[thermostat] kind = "langevin"`: continued exactly, on any number of threads, and told from other thermostats. On a GPU: `device/langevin.rs`.

use octitrate::config::Config;
use std::path::Path;
use std::process::Command;

/// Four molecules of water at constant pressure.
fn job(folder: &Path, thermostat: &str, steps: u64) -> String {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
    let text = format!(
        "[system]\nstructure = \"{0}/water.gro\"\ntopology = \"{0}/water.top\"\n[electrostatics]\norder = 4\n\
         [neighbour_list]\nbuffer = \"0.1 nm\"\n[dynamics]\nsteps = {steps}\ntime_step = \"4 fs\"\n[thermostat]\n{thermostat}\n[barostat]\n\
         [output]\nfolder = \"out\"\nenergy = \"40 fs\"\ntrajectory = \"0 ps\"\nlog = \"0.4 ps\"\n",
        files.display()
    );
    let path = folder.join("job.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn run(job: &str, threads: &str) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
    let output = command.args(["run", job, "--threads", threads, "--device", "cpu"]).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

const LANGEVIN: &str = "kind = \"langevin\"\nfriction = \"2 /ps\"";

#[test]
fn a_continued_run_is_the_same_run_and_another_thermostat_is_refused() {
    let place = temp_dir::TempDir::new().unwrap();
    let folders = ["whole", "pieces"].map(|name| place.path().join(name));
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let [whole, pieces] = &folders;
    assert!(run(&job(whole, LANGEVIN, 400), "1").0);
    for steps in [130, 400] {
        let (done, said) = run(&job(pieces, LANGEVIN, steps), "2");
        assert!(done, "{said}");
    }
    for name in ["energy.csv", "final.gro", "checkpoint"] {
        let [one, other] = folders.each_ref().map(|folder| std::fs::read(folder.join("out").join(name)).unwrap());
        assert!(one == other, "{name} of a run in two pieces, on two threads, differs");
    }
    for (thermostat, expected) in [
        ("kind = \"langevin\"", "thermostat.friction was \"2 /ps\" and is now \"1 /ps\""),
        ("", "thermostat.kind was \"langevin\" and is now absent"),
    ] {
        let (done, said) = run(&job(pieces, thermostat, 500), "1");
        assert!(!done && said.contains(expected), "{said}");
    }
}

/// What the log says, how many degrees of freedom there are, and that the energy less the work is conserved.
#[test]
fn a_job_says_its_thermostat_and_counts_its_work() {
    let place = temp_dir::TempDir::new().unwrap();
    let path = job(place.path(), LANGEVIN, 5000);
    let (done, said) = run(&path, "2");
    assert!(done, "{said}");
    let log = std::fs::read_to_string(place.path().join("out/log.txt")).unwrap();
    assert!(log.contains("thermostat: Langevin, 300 K, friction 2 /ps; the centre of mass moves, too"), "{log}");
    assert!(log.contains("24 (12 constraints)"), "{log}");
    let resolved = std::fs::read_to_string(place.path().join("out/resolved.toml")).unwrap();
    for line in ["kind = \"langevin\"", "friction = \"2 /ps\"", "remove_com_interval = 0"] {
        assert!(resolved.contains(line), "{resolved}");
    }
    let energies = std::fs::read_to_string(place.path().join("out/energy.csv")).unwrap();
    let mut lines = energies.lines();
    let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| {
        let index = heading.iter().position(|title| title.starts_with(name)).unwrap();
        energies.lines().skip(1).map(|line| line.split(',').nth(index).unwrap().parse().unwrap()).collect::<Vec<f64>>()
    };
    let spread = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    let [total, conserved, kelvin] = ["total", "conserved", "temperature"].map(column);
    println!("total ± {:.3}, conserved ± {:.3} kJ/mol", spread(&total), spread(&conserved));
    assert!(spread(&conserved) < 0.3 * spread(&total), "{} {}", spread(&conserved), spread(&total));
    let mean = kelvin.iter().sum::<f64>() / kelvin.len() as f64;
    // 20 ps at 2/ps: 40 independent kinetic energies of 24 degrees of freedom at least, five standard errors.
    assert!((mean / 300.0 - 1.0).abs() < 5.0 * (2.0_f64 / 24.0 / 40.0).sqrt(), "{mean} K");
}

/// What checkpoints say of the settings of jobs that name no kind is what it was before there were two.
#[test]
fn checkpoints_of_v_rescale_have_the_settings_they_had() {
    let place = temp_dir::TempDir::new().unwrap();
    for thermostat in ["", "kind = \"v-rescale\"", "coupling_time = \"0.1 ps\""] {
        let settings = Config::load(job(place.path(), thermostat, 10)).unwrap().trajectory_settings().unwrap();
        let section = "[thermostat]\ntemperature = \"300 K\"\ncoupling_time = \"0.1 ps\"\n\n[barostat]";
        assert!(settings.contains(section) && settings.contains("remove_com_interval = 100\n"), "{settings}");
    }
}
