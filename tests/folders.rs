//! Nothing that exists is lost, and no old number is shown under new settings: folders of results, and whose they are.

use super::titration::library;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Exit status and messages of a command.
fn octitrate(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
    let output = command.args(["--device", "cpu"]).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn done(arguments: &[&str]) -> String {
    let (status, said) = octitrate(arguments);
    assert_eq!(status, Some(0), "{arguments:?}: {said}");
    said
}

/// The message of a command that must be refused, and must leave everything in `folder` as it is.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let before = contents(folder);
    let (status, said) = octitrate(arguments);
    assert_eq!(status, Some(2), "{arguments:?}: {said}");
    let after = contents(folder);
    let changed: Vec<_> = after.iter().filter(|(path, bytes)| before.get(*path) != Some(*bytes)).map(|f| f.0).collect();
    assert!(after.len() == before.len() && changed.is_empty(), "{arguments:?} changed {changed:?}");
    said
}

/// Every file below a folder but locks.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if !path.ends_with(".lock") {
                all.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

/// A titration of glutamic acid with its own copy of the inputs.
struct Titration {
    folder: PathBuf,
    steps: u64,
    temperature: &'static str,
    barrier: &'static str,
    initial: f64,
    ph: &'static str,
    more: &'static str,
}

impl Titration {
    fn new(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu");
        for name in ["glu.gro", "glu.top"] {
            std::fs::copy(inputs.join(name), folder.join(name)).unwrap();
        }
        library(folder);
        let (temperature, barrier) = ("300 K", "5 kJ/mol");
        Self { folder: folder.into(), steps: 6, temperature, barrier, initial: 0.5, ph: "[4.0, 4.4]", more: "" }
    }

    /// Writes the job; its path.
    fn job(&self) -> String {
        let Self { steps, temperature, barrier, initial, ph, more, .. } = self;
        let text = format!(
            "[system]\nstructure = \"glu.gro\"\ntopology = \"glu.top\"\n[electrostatics]\norder = 4\n[dynamics]\nsteps = {steps}\n\
             [thermostat]\ntemperature = \"{temperature}\"\n[output]\nfolder = \"out\"\nenergy = \"0 ps\"\nlambda = \"2 fs\"\n\
             trajectory = \"0 ps\"\n[titration]\nallow_mismatch = [\"temperature\"]\nbarrier = \"{barrier}\"\nlibrary = [\"glu.toml\"]\n[[titration.site]]\n\
             residue = \"GLH 2\"\ninitial = {initial}\n[titrate]\nph = {ph}\n{more}\n"
        );
        let path = self.folder.join("job.toml");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn frames(&self, run: &str) -> usize {
        std::fs::read_to_string(self.folder.join("out").join(run).join("lambda.csv")).unwrap().lines().count() - 1
    }
}

/// A titration that was started again with other settings printed the old numbers under the new settings.
#[test]
fn a_titration_of_other_settings_is_refused_and_named_and_more_of_it_is_not() {
    let place = temp_dir::TempDir::new().unwrap();
    let titration = || Titration::new(&place.path().join("a"));
    let folder = place.path().join("a");
    let first = titration();
    done(&["titrate", &first.job()]);
    // Half of it is lost: the other half still says what it is.
    std::fs::remove_dir_all(folder.join("out/pH_4.40")).unwrap();
    let out = folder.join("out");
    let cases: [(Titration, &str); 4] = [
        (
            Titration { temperature: "310 K", ..titration() },
            "thermostat.temperature was \"300 K\" and is now \"310 K\"",
        ),
        (
            Titration { barrier: "7 kJ/mol", ..titration() },
            "titration.barrier was \"5 kJ/mol\" and is now \"7 kJ/mol\"",
        ),
        (Titration { initial: 0.25, ..titration() }, "titration.site[1].initial was 0.5 and is now 0.25"),
        (
            Titration { more: "exchange = \"4 fs\"", ..titration() },
            "the folder holds a titration without replica exchange",
        ),
    ];
    for (other, expected) in cases {
        let said = refused(&out, &["titrate", &other.job()]);
        assert!(said.contains(expected), "{said}");
    }
    let topology = std::fs::read_to_string(folder.join("glu.top")).unwrap();
    std::fs::write(folder.join("glu.top"), topology.replace("CT CT 1 0.15260 259408.0", "CT CT 1 0.15260 259000.0"))
        .unwrap();
    let said = refused(&out, &["titrate", &first.job()]);
    assert!(said.contains("bonds are others than in the checkpoint"), "{said}");
    std::fs::write(folder.join("glu.top"), topology).unwrap();
    let structure = std::fs::read_to_string(folder.join("glu.gro")).unwrap();
    std::fs::write(folder.join("glu.gro"), structure.replacen("0.", "1.", 1)).unwrap();
    let said = refused(&out, &["titrate", &first.job()]);
    assert!(said.contains("the structure at the start has other positions"), "{said}");
    std::fs::write(folder.join("glu.gro"), structure).unwrap();

    // Moved with its inputs, made longer, with more pH values and replicas.
    let moved = place.path().join("b");
    std::fs::rename(&folder, &moved).unwrap();
    let more = Titration { folder: moved, steps: 9, ph: "[4.0, 4.2, 4.4]", more: "replicas = 2", ..first };
    done(&["titrate", &more.job()]);
    for run in ["pH_4.00/replica_1", "pH_4.20/replica_2", "pH_4.40/replica_1"] {
        assert_eq!(more.frames(run), 10, "{run}");
    }
    let log = std::fs::read_to_string(more.folder.join("out/pH_4.00/replica_1/log.txt")).unwrap();
    assert!(log.contains("continuing from step 6"), "{log}");
}

#[test]
fn a_replica_exchange_compares_and_grows_as_well() {
    let place = temp_dir::TempDir::new().unwrap();
    let titration = || Titration { more: "exchange = \"4 fs\"", ..Titration::new(place.path()) };
    let out = place.path().join("out");
    done(&["titrate", &titration().job()]);
    for (other, expected) in [
        (
            Titration { more: "", ..titration() },
            "the folder holds a titration with replica exchange, the job is a titration without",
        ),
        (Titration { more: "exchange = \"6 fs\"", ..titration() }, "titrate.exchange was \"4 fs\" and is now \"6 fs\""),
        (Titration { temperature: "310 K", ..titration() }, "thermostat.temperature was"),
        (Titration { ph: "[4.0, 4.2]", ..titration() }, "pH_4.40/replica_1 is not among the runs"),
    ] {
        let said = refused(&out, &["titrate", &other.job()]);
        assert!(said.contains(expected), "{said}");
    }
    let more = Titration { steps: 12, ph: "[4.0, 4.2, 4.4]", ..titration() };
    let said = done(&["titrate", &more.job()]);
    assert!(said.contains("a run is new: it first goes alone as far as the others"), "{said}");
    for run in ["pH_4.00/replica_1", "pH_4.20/replica_1", "pH_4.40/replica_1"] {
        assert_eq!(more.frames(run), 13, "{run}");
    }
    let journal = std::fs::read_to_string(out.join("exchange.csv")).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    assert!(lines.len() == 8 && lines[1] == "0,1,,2" && !lines[7].contains(",,"), "{journal}");
}

/// Four molecules of water, for as many steps.
fn water(folder: &Path, steps: u64) -> String {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
    for name in ["water.gro", "water.top"] {
        std::fs::copy(files.join(name), folder.join(name)).unwrap();
    }
    let text = format!(
        "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"\n[electrostatics]\norder = 4\n[neighbour_list]\nbuffer = \"0.1 nm\"\n\
         [dynamics]\nsteps = {steps}\n[thermostat]\ntemperature = \"300 K\"\n[output]\nenergy = \"10 fs\"\n"
    );
    let path = folder.join("job.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn nothing_of_others_is_written_over() {
    let place = temp_dir::TempDir::new().unwrap();
    let job = water(place.path(), 20);
    let here = place.path().display().to_string();
    // The folder of the inputs, a file, a folder of others.
    let said = refused(place.path(), &["run", &job, "-o", &here]);
    assert!(said.contains("files that are not of this job: job.toml, water.gro, water.top"), "{said}");
    let said = refused(place.path(), &["run", &job, "-o", &here, "--force"]);
    assert!(said.contains("the results would take the place of an input of the job"), "{said}");
    // A frame to start from, in the folder of the run that wrote it, is an input as well.
    let from = |name: &str| {
        let text = std::fs::read_to_string(&job).unwrap();
        let text = text.replace("[electrostatics]", "frame = \"earlier/trajectory.trr\"\n[electrostatics]");
        std::fs::write(place.path().join(name), text).unwrap();
        place.path().join(name).display().to_string()
    };
    let (plain, earlier) = (std::fs::read_to_string(&job).unwrap(), format!("{here}/earlier"));
    std::fs::write(&job, plain.clone() + "positions = \"10 fs\"\n").unwrap();
    done(&["run", &job, "-o", &earlier]);
    std::fs::write(&job, plain).unwrap();
    let said = refused(place.path(), &["run", &from("again.toml"), "-o", &earlier, "--force"]);
    assert!(said.contains("an input of the job") && said.contains("trajectory.trr"), "{said}");
    let said = refused(place.path(), &["run", &job, "-o", &format!("{here}/water.gro")]);
    assert!(said.contains("this is a file"), "{said}");
    std::fs::create_dir(place.path().join("job")).unwrap();
    std::fs::write(place.path().join("job/energy.csv"), "mine").unwrap();
    let said = refused(place.path(), &["run", &job]);
    assert!(said.contains("not of this job: energy.csv"), "{said}");
    let said = done(&["run", &job, "--force"]);
    assert!(said.contains("job.1 now"), "{said}");
    assert_eq!(std::fs::read_to_string(place.path().join("job.1/energy.csv")).unwrap(), "mine");

    // A checkpoint that is gone, and one that comes back.
    let (checkpoint, away) = (place.path().join("job/checkpoint"), place.path().join("away"));
    std::fs::rename(&checkpoint, &away).unwrap();
    std::fs::remove_file(place.path().join("job/checkpoint.previous")).unwrap();
    let said = refused(place.path(), &["run", &job]);
    assert!(said.contains("their checkpoint is gone"), "{said}");
    std::fs::rename(&away, &checkpoint).unwrap();
    assert!(done(&["run", &job]).contains("finished before"));
    // A table that is switched off for a while goes on where it was.
    let text = std::fs::read_to_string(&job).unwrap();
    let write = |steps: u64, energy: &str| {
        let text =
            text.replace("steps = 20", &format!("steps = {steps}")).replace("\"10 fs\"", &format!("\"{energy}\""));
        std::fs::write(&job, text).unwrap();
        done(&["run", &job]);
    };
    write(30, "0 ps");
    write(40, "10 fs");
    let table = std::fs::read_to_string(place.path().join("job/energy.csv")).unwrap();
    let times: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(times, ["0", "0.01", "0.02", "0.03", "0.04", "0.07", "0.08"]);
    // Line ends of another system.
    std::fs::write(place.path().join("job/energy.csv"), table.replace('\n', "\r\n")).unwrap();
    std::fs::write(&job, text.replace("steps = 20", "steps = 50")).unwrap();
    let said = refused(&place.path().join("job"), &["run", &job]);
    assert!(said.contains("energy.csv has other line ends (CRLF)"), "{said}");
    std::fs::write(place.path().join("job/energy.csv"), &table).unwrap();
    done(&["run", &job]);

    let said = refused(place.path(), &["energy", &job, "--forces", &format!("{here}/water.gro")]);
    assert!(said.contains("another file of this name"), "{said}");
    let table = format!("{here}/forces.csv");
    for _ in 0..2 {
        done(&["energy", &job, "--forces", &table]);
    }
}

/// People paste the log into questions: it says what was computed, where, when, by what command and how fast.
#[test]
fn the_log_says_what_a_helper_would_ask() {
    let place = temp_dir::TempDir::new().unwrap();
    let job = water(place.path(), 20);
    let (status, said) = octitrate(&["run", &job, "--quiet"]);
    assert!(status == Some(0) && said.is_empty(), "{said}");
    let log = std::fs::read_to_string(place.path().join("job/log.txt")).unwrap();
    let head = log.lines().next().unwrap();
    let version = format!("octitrate {}, 20", env!("CARGO_PKG_VERSION"));
    assert!(head.starts_with(&version) && head.contains("Z, host "), "{head}");
    for line in [
        "command: ",
        "threads: ",
        "device: CPU",
        "molecules: 4 SOL",
        "net charge: +0.0000 e",
        "density: ",
        "finished: 20 steps in ",
    ] {
        assert!(log.lines().any(|found| found.starts_with(line)), "no {line:?} in {log}");
    }
    assert!(
        log.lines().any(|line| line.starts_with("command: ") && line.ends_with(&format!("run {job} --quiet"))),
        "{log}"
    );
    assert!(log.contains(" ns/day, ") && log.contains(" ms each"), "{log}");
}

/// The script of an array as the queue would start it: `exec` puts the program in the place of the shell, which gets the signal.
#[test]
fn tasks_of_a_queue_get_the_signal_and_the_advice_repeats_all_options() {
    let place = temp_dir::TempDir::new().unwrap();
    let titration = Titration { steps: 100_000, ph: "[4.0]", ..Titration::new(place.path()) };
    let (job, out) = (titration.job(), place.path().join("results of mine"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
    command
        .args(["titrate", &job, "--slurm", "--device", "cpu", "--threads", "2", "--max-hours", "5", "--output"])
        .arg(&out);
    let output = command.output().unwrap();
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let again = format!("--output '{}' --threads 2 --device cpu --max-hours 5\n", out.display());
    assert!(script.contains(&again) && script.contains("#SBATCH --signal=B:TERM@120\n"), "{script}");
    assert!(script.contains("#SBATCH --time=05:00:00\n"), "{script}");
    let path = place.path().join("script.sh");
    std::fs::write(&path, script).unwrap();
    let task = |steps: &mut dyn FnMut(&mut std::process::Child)| {
        let mut bash = Command::new("bash");
        bash.arg(&path).env("SLURM_ARRAY_TASK_ID", "1").env("SLURM_CPUS_PER_TASK", "1");
        let mut task = bash.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        steps(&mut task);
        task.wait().unwrap().code()
    };
    let run = out.join("pH_4.00/replica_1");
    let status = task(&mut |task| {
        let started = Instant::now();
        while !run.join("checkpoint").exists() {
            assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint");
            std::thread::sleep(Duration::from_millis(10));
        }
        let killed = Command::new("kill").args(["-TERM", &task.id().to_string()]).status().unwrap();
        assert!(killed.success());
    });
    assert_eq!(status, Some(143));
    let log = std::fs::read_to_string(run.join("log.txt")).unwrap();
    assert!(log.contains("terminated (SIGTERM) at step"), "{log}");

    // Finished, there is nothing to submit.
    let finished = Titration { ph: "[4.0]", ..Titration::new(&place.path().join("short")) };
    let job = finished.job();
    done(&["titrate", &job]);
    let said = refused(&place.path().join("short/out"), &["titrate", &job, "--slurm"]);
    assert!(said.contains("nothing is left to be submitted") && said.contains("evaluate them with: "), "{said}");
}
