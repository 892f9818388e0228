//! Runs in pieces: stopped by a signal, continued by the same command, the same bytes as a run in one piece.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Four molecules of water, long enough to be stopped on the way.
fn job(folder: &Path, seed: u64) -> PathBuf {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
    let text = format!(
        "[system]\nstructure = \"{0}/water.gro\"\ntopology = \"{0}/water.top\"\n\n[electrostatics]\norder = 4\n\n\
         [neighbour_list]\nbuffer = \"0.1 nm\"\n\n[dynamics]\nsteps = 30000\nseed = {seed}\n\n[thermostat]\ntemperature = \"300 K\"\n\n\
         [barostat]\n\n[output]\nenergy = \"0.1 ps\"\ntrajectory = \"0.1 ps\"\nlog = \"0.1 ps\"\n\
         trajectory_atoms = \"name OW or molecule 1\"\npositions = \"0.2 ps\"\nvelocities = \"0.3 ps\"\nforces = \"0.5 ps\"\n",
        files.display()
    );
    let path = folder.join("job.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn command(job: &Path, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
    command.args(["run", "--threads", "1", "--device", "cpu"]).arg(job).arg("--output").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn start(job: &Path, out: &Path) -> Child {
    command(job, out).spawn().unwrap()
}

/// Exit status and messages.
fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn wait_for(path: &Path) {
    let started = Instant::now();
    while !path.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

const RESULTS: [&str; 6] =
    ["energy.csv", "trajectory.xtc", "trajectory.gro", "trajectory.trr", "final.gro", "checkpoint"];

#[test]
fn a_run_in_pieces_leaves_the_bytes_of_a_run_in_one() {
    let folder = temp_dir::TempDir::new().unwrap();
    let job = job(folder.path(), 3);
    let (whole, pieces) = (folder.path().join("whole"), folder.path().join("pieces"));
    let (status, said) = end(start(&job, &whole));
    assert_eq!(status, Some(0), "{said}");

    let mut stops = 0;
    for (name, wanted) in [("TERM", 143), ("INT", 130), ("HUP", 129), ("USR1", 138), ("USR2", 140), ("XCPU", 152)] {
        let log = || std::fs::metadata(pieces.join("log.txt")).map_or(0, |file| file.len());
        let before = log();
        let child = start(&job, &pieces);
        wait_for(&pieces.join("checkpoint"));
        // What is in the log is said by a program that listens to signals.
        let deadline = Instant::now() + Duration::from_secs(60);
        while log() == before && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Some steps further than the checkpoint of the start, so that there is something to continue.
        std::thread::sleep(Duration::from_millis(40));
        signal(&child, name);
        let (status, said) = end(child);
        if status == Some(wanted) {
            assert!(said.contains("the same command continues"), "{said}");
            assert!(!pieces.join("final.gro").exists());
            stops += 1;
        } else {
            assert_eq!(status, Some(0), "{said}");
        }
    }
    assert!(stops > 0, "the run was over before the first signal");
    // Killed without warning: what was written after the checkpoint is cut away.
    let mut child = start(&job, &pieces);
    std::thread::sleep(Duration::from_millis(60));
    child.kill().unwrap();
    child.wait().unwrap();
    let (status, said) = end(start(&job, &pieces));
    assert_eq!(status, Some(0), "{said}");
    for name in RESULTS {
        let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
        assert!(read(&pieces) == read(&whole), "{name} differs");
    }
    let last = std::fs::read_to_string(whole.join("final.gro")).unwrap();
    assert!(last.lines().next().unwrap().ends_with(", t= 60.00000"), "{last}");
    let (status, said) = end(start(&job, &pieces));
    assert!(status == Some(0) && said.contains("finished before"), "{status:?} {said}");
}

/// A run is made longer, and its end cannot be written: it is not finished, whatever its earlier end has left.
#[test]
fn the_last_structure_of_a_shorter_run_finishes_no_longer_one() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (job, out) = (job(folder.path(), 3), folder.path().join("out"));
    let text = std::fs::read_to_string(&job).unwrap();
    let run = |steps: u32| {
        std::fs::write(&job, text.replace("steps = 30000", &format!("steps = {steps}"))).unwrap();
        let (status, said) = end(start(&job, &out));
        assert_eq!(status, Some(0), "{said}");
        (said, std::fs::read_to_string(out.join("final.gro")).unwrap())
    };
    let (_, short) = run(20);
    let (_, long) = run(40);
    assert!(short.contains("t= 0.04000\n") && long.contains("t= 0.08000\n"), "{long}");
    std::fs::write(out.join("final.gro"), &short).unwrap();
    let (said, again) = run(40);
    assert!(again == long && !said.contains("finished before"), "{said}");
    assert!(run(40).0.contains("finished before: 40 steps are done"));
    // A job that is shorter than what there is has nothing left to do.
    assert!(run(30).0.contains("finished before: 40 steps are done"));
    std::fs::remove_file(out.join("final.gro")).unwrap();
    let (said, again) = run(30);
    assert!(again == long && !said.contains("ns/day"), "{said}");
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_a_foreign_one_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (first, out) = (job(folder.path(), 3), folder.path().join("out"));
    assert_eq!(end(start(&first, &out)).0, Some(0));
    let whole = std::fs::read(out.join("energy.csv")).unwrap();

    let checkpoint = std::fs::read(out.join("checkpoint")).unwrap();
    std::fs::write(out.join("checkpoint"), &checkpoint[..checkpoint.len() - 100]).unwrap();
    let (status, said) = end(start(&first, &out));
    assert!(status == Some(0) && said.contains("damaged") && said.contains("continuing from step 0"), "{said}");
    assert!(std::fs::read(out.join("energy.csv")).unwrap() == whole);

    let second = job(folder.path(), 4);
    let (status, said) = end(start(&second, &out));
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("dynamics.seed was 3 and is now 4"), "{said}");
}

/// Queues give a time, and a checkpoint must be there before it is over.
#[test]
fn a_limit_of_time_stops_the_run_with_a_checkpoint() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (job, out) = (job(folder.path(), 3), folder.path().join("out"));
    let text = std::fs::read_to_string(&job).unwrap().replace("steps = 30000", "steps = 300000000");
    std::fs::write(&job, text).unwrap();
    let (status, said) = end(command(&job, &out).args(["--max-hours", "0.0003"]).spawn().unwrap());
    assert!(status == Some(4) && said.contains("the limit of time is near at step"), "{status:?} {said}");
    // The end of a Slurm job, here a second from now, is known to the run.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let (status, said) = end(command(&job, &out).env("SLURM_JOB_END_TIME", format!("{}", now + 2)).spawn().unwrap());
    assert!(status == Some(4) && said.contains("continuing from step"), "{status:?} {said}");
    // On a leash, the end of the job is left to the parent; a time beyond all clocks is no end.
    for (end_time, leash) in [("1", &["--leash"][..]), ("18446744073709551615", &[])] {
        let out = folder.path().join(format!("out{}", leash.len()));
        let job = self::job(folder.path(), 3);
        let mut run =
            command(&job, &out).args(leash).env("SLURM_JOB_END_TIME", end_time).stdin(Stdio::piped()).spawn().unwrap();
        let held = run.stdin.take();
        let (status, said) = end(run);
        assert!(status == Some(0), "{end_time}: {status:?} {said}");
        drop(held);
    }
}

/// `nohup` and a closed terminal: HUP is left alone where it was ignored, and nobody reading the messages ends nothing.
#[test]
fn a_run_goes_on_when_nobody_reads_its_messages() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (job, out) = (job(folder.path(), 3), folder.path().join("out"));
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(env!("CARGO_BIN_EXE_octitrate"));
    shell.args(["run", "--threads", "1", "--device", "cpu"]).arg(&job).arg("--output").arg(&out);
    let mut child = shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    wait_for(&out.join("checkpoint"));
    signal(&child, "HUP");
    assert!(child.wait().unwrap().success());
    let log = std::fs::read_to_string(out.join("log.txt")).unwrap();
    assert!(log.contains("finished: 30000 steps"), "{log}");
}

#[test]
fn printing_ends_quietly_when_nobody_reads_and_with_an_error_on_a_full_disk() {
    let octitrate = |arguments: &str, stdout: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
        command.args(arguments.split(' ')).current_dir(env!("CARGO_MANIFEST_DIR"));
        command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
    };
    let commands =
        ["info", "check inputs/03-water/run.toml", "--help", "fmm fmm/tests/reference/dev_cubic_3d.json --order 4"];
    for arguments in commands {
        let mut child = octitrate(arguments, Stdio::piped());
        drop(child.stdout.take());
        let (status, said) = end(child);
        assert!(status == Some(0) && said.is_empty(), "{arguments}: {status:?} {said}");
        if arguments != "--help" {
            let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
            let (status, said) = end(octitrate(arguments, full.into()));
            assert!(status == Some(2) && said.contains("the disk is full"), "{arguments}: {status:?} {said}");
        }
    }
}

/// A limit of the shell stands for a full disk: each write beyond it fails, and the program must say so and not be ended by a signal. With room again the run goes on.
#[test]
fn a_trajectory_without_room_is_an_error_and_loses_nothing() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (job, out) = (job(folder.path(), 3), folder.path().join("out"));
    let text = std::fs::read_to_string(&job).unwrap();
    let line = text.lines().find(|line| line.starts_with("trajectory =")).unwrap();
    std::fs::write(&job, text.replace(line, "trajectory = \"0.02 ps\"").replace("steps = 30000", "steps = 300"))
        .unwrap();
    let limited = |blocks: &str| {
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_octitrate"));
        shell.args(["run", "--threads", "1", "--device", "cpu"]).arg(&job).arg("--output").arg(&out);
        end(shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let whole = folder.path().join("whole");
    assert_eq!(end(start(&job, &whole)).0, Some(0));
    let read = |folder: &Path| std::fs::read(folder.join("trajectory.xtc")).unwrap();
    let blocks = read(&whole).len() / 1024 * 3 / 4;
    let (status, said) = limited(&blocks.to_string());
    assert!(status == Some(2) && said.contains("trajectory.xtc: cannot write the trajectory: "), "{status:?} {said}");
    assert_eq!(limited("unlimited").0, Some(0));
    assert_eq!(read(&out), read(&whole));
}

/// A trajectory that is kept elsewhere, or a table that is lost: an empty file in its place is filled from the checkpoint on, a file that is gone is asked for. The names of the
/// atoms of the trajectory are written again where they are gone.
#[test]
fn a_trajectory_may_be_put_away() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (job, out) = (job(folder.path(), 3), folder.path().join("out"));
    let text = std::fs::read_to_string(&job).unwrap();
    let with = |steps: u32| std::fs::write(&job, text.replace("steps = 30000", &format!("steps = {steps}"))).unwrap();
    with(300);
    assert_eq!(end(start(&job, &out)).0, Some(0));
    let trajectory = out.join("trajectory.xtc");
    let first = std::fs::read(&trajectory).unwrap();
    std::fs::remove_file(&trajectory).unwrap();
    with(600);
    let (status, said) = end(start(&job, &out));
    assert!(
        status == Some(2) && said.contains("trajectory.xtc is missing") && said.contains("an empty file"),
        "{said}"
    );
    std::fs::write(&trajectory, "").unwrap();
    let names = std::fs::read_to_string(out.join("trajectory.gro")).unwrap();
    std::fs::remove_file(out.join("trajectory.gro")).unwrap();
    let table = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    std::fs::write(out.join("energy.csv"), "").unwrap();
    assert_eq!(end(start(&job, &out)).0, Some(0));
    // Residues and atoms, without places and the box.
    let named =
        |text: &str| text.lines().filter_map(|line| line.get(..20)).skip(1).take(5).collect::<Vec<_>>().join("\n");
    let again = std::fs::read_to_string(out.join("trajectory.gro")).unwrap();
    assert!(names.lines().count() > 6 && named(&again) == named(&names), "{again}");
    let log = std::fs::read_to_string(out.join("log.txt")).unwrap();
    assert!(log.contains("energy.csv: emptied since the checkpoint, with lines from here on"), "{log}");
    assert!(log.contains("trajectory.xtc: emptied since the checkpoint, with frames from here on"), "{log}");
    let whole = folder.path().join("whole");
    assert_eq!(end(start(&job, &whole)).0, Some(0));
    let both = [first, std::fs::read(&trajectory).unwrap()].concat();
    assert_eq!(both, std::fs::read(whole.join("trajectory.xtc")).unwrap());
    let lines = std::fs::read_to_string(whole.join("energy.csv")).unwrap();
    let later = format!("{}\n{}", table.lines().next().unwrap(), lines.strip_prefix(&table).unwrap());
    assert_eq!(std::fs::read_to_string(out.join("energy.csv")).unwrap(), later);
}

/// What is written of a run may change when it continues, but one file never holds frames of different atoms.
#[test]
fn another_selection_is_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    let (job, out) = (job(folder.path(), 3), folder.path().join("out"));
    let change = |steps: &str, atoms: &str| {
        let text = std::fs::read_to_string(&job).unwrap();
        let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap().to_string();
        let text = text.replace(&line("steps"), steps).replace(&line("trajectory_atoms"), atoms);
        std::fs::write(&job, text).unwrap();
    };
    change("steps = 100", "trajectory_atoms = \"name OW\"");
    assert_eq!(end(start(&job, &out)).0, Some(0));
    for atoms in ["all", "name HW1"] {
        change("steps = 200", &format!("trajectory_atoms = \"{atoms}\""));
        let (status, said) = end(start(&job, &out));
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("its frames hold 4 atoms, and output.trajectory_atoms now selects others"), "{said}");
    }
    change("steps = 200", "trajectory_atoms = \"molecule * and name OW\"\ntrajectory_precision = \"0.0001 nm\"");
    let (status, said) = end(start(&job, &out));
    assert_eq!(status, Some(0), "{said}");
}

/// Jobs of one's own go one after the other, each in its folder; what is finished is passed over, and the first that is not valid is named before any begins.
#[test]
fn several_jobs_go_one_after_the_other() {
    let folder = temp_dir::TempDir::new().unwrap();
    let place = |seed: u64| {
        let own = folder.path().join(format!("{seed}"));
        std::fs::create_dir(&own).unwrap();
        let path = job(&own, seed);
        let short = std::fs::read_to_string(&path).unwrap().replace("steps = 30000", "steps = 200");
        std::fs::write(&path, short).unwrap();
        path
    };
    let jobs = [place(3), place(4)];
    let run = |jobs: &[&Path]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
        let output = command.args(["run", "--device", "cpu"]).args(jobs).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let ends = |seed: u64| folder.path().join(format!("{seed}/job/final.gro"));
    let missing = folder.path().join("missing.toml");
    let (status, said) = run(&[&jobs[0], &missing]);
    assert!(status == Some(2) && said.contains("missing.toml") && !ends(3).exists(), "{said}");
    let (status, said) = run(&[&jobs[0], &jobs[1]]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("(2 of 2)") && ends(3).exists() && ends(4).exists(), "{said}");
    let (status, said) = run(&[&jobs[0], &jobs[1]]);
    assert!(status == Some(0) && said.matches("finished before").count() == 2, "{said}");
}
