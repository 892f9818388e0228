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
         [barostat]\n\n[output]\nenergy = \"0.1 ps\"\ntrajectory = \"0.1 ps\"\nlog = \"0.1 ps\"\n",
        files.display()
    );
    let path = folder.join("job.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn start(job: &Path, out: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
    command.args(["run", "--threads", "1"]).arg(job).arg("--output").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
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

const RESULTS: [&str; 4] = ["energy.csv", "trajectory.xtc", "final.gro", "checkpoint"];

#[test]
fn a_run_in_pieces_leaves_the_bytes_of_a_run_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), 3);
    let (whole, pieces) = (folder.path().join("whole"), folder.path().join("pieces"));
    let (status, said) = end(start(&job, &whole));
    assert_eq!(status, Some(0), "{said}");

    let mut stops = 0;
    for (name, wanted) in [("TERM", 143), ("INT", 130)] {
        let child = start(&job, &pieces);
        wait_for(&pieces.join("checkpoint"));
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
    let (status, said) = end(start(&job, &pieces));
    assert!(status == Some(0) && said.contains("finished before"), "{status:?} {said}");
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_a_foreign_one_refused() {
    let folder = tempfile::tempdir().unwrap();
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
