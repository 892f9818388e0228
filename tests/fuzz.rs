//! Damaged inputs: whatever a byte, a line or a number of a file becomes, the answer is a result or a message, soon, and never a panic.
//!
//! The files of small jobs are mutated (bytes flipped, pieces cut out, lines doubled, numbers made huge or none) and read as `octitrate check`
//! and `octitrate fmm` read them, within this process. The same cases every time; the long run is
//!
//!     OCTITRATE_FUZZ_CASES=10000 cargo test --release --test integration fuzz -- --ignored --nocapture

use crate::chains::two_chains;
use octitrate::config::Config;
use octitrate::{Simulation, charges};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// Longer than any of these small inputs takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Numbers that files hold by mistake.
const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "-1",
    "1e300",
    "-1e300",
    "1e-300",
    "1e16",
    "1e6",
    "nan",
    "inf",
    "-inf",
    "99999999",
    "2147483648",
    "-2147483649",
    "4294967296",
    "18446744073709551616",
    "0x10",
    "",
];

/// One change of a text.
fn mutate(text: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let n = text.len();
    if n < 2 {
        return;
    }
    let at = random.random_range(0..n);
    let line = |text: &[u8], at: usize| {
        let start = text[..at].iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        let end = text[at..].iter().position(|&b| b == b'\n').map_or(text.len(), |end| at + end + 1);
        start..end
    };
    match random.random_range(0..9) {
        0 => text[at] = random.random(),
        1 => text[at] ^= 1 << random.random_range(0..8),
        2 => drop(text.drain(at..(at + random.random_range(1..40)).min(n))),
        3 => text.truncate(at),
        4 => {
            let copy = text[line(text, at)].to_vec();
            let place = line(text, random.random_range(0..n)).start;
            text.splice(place..place, copy);
        }
        5 => drop(text.drain(line(text, at))),
        // Whole numbers and words are more often understood than single bytes.
        6 | 7 => {
            let is_word = |b: &u8| b.is_ascii_digit() || b"+-.e".contains(b);
            let Some(first) = text[at..].iter().position(is_word).map(|k| at + k) else { return };
            let end = text[first..].iter().position(|b| !is_word(b)).map_or(n, |k| first + k);
            text.splice(first..end, NUMBERS.choose(random).unwrap_or(&"").bytes());
        }
        _ => {
            let bytes: &[u8] = [&b"\xff\xfe"[..], b"\0", b"\r", b"[", b"]", b"\"", b"#", b"\\\n", b"\xc3\xa5"]
                .choose(random)
                .unwrap_or(&&b""[..]);
            text.splice(at..at, bytes.iter().copied());
        }
    }
}

/// Copies `files` of `from` to `to`, with some changes in one of them.
fn damaged(from: &Path, to: &Path, files: &[&str], random: &mut ChaCha8Rng) {
    let chosen = random.random_range(0..files.len());
    for (index, name) in files.iter().enumerate() {
        let mut text = std::fs::read(from.join(name)).unwrap();
        if index == chosen {
            (0..random.random_range(1..4)).for_each(|_| mutate(&mut text, random));
        }
        std::fs::write(to.join(name), text).unwrap();
    }
}

/// Runs `work` in a thread of its own; says what is wrong if it panics or does not end.
fn guarded(work: impl FnOnce() + Send + 'static) -> Option<&'static str> {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    match ended.recv_timeout(PATIENCE) {
        Ok(()) => None,
        Err(mpsc::RecvTimeoutError::Disconnected) => Some("a panic"),
        Err(mpsc::RecvTimeoutError::Timeout) => Some("no end"),
    }
}

/// What `octitrate check` does.
fn check(job: &Path) {
    let Ok(mut config) = Config::load(job) else { return };
    // A mutated number of steps or order is legal and slow.
    if let Some(order) = &mut config.electrostatics.order {
        *order = (*order).min(6);
    }
    if let Ok(mut simulation) = Simulation::new(&config) {
        let _ = simulation.check_first_forces(false);
    }
}

/// What `octitrate fmm` does, with settings that are fast.
fn evaluate(file: &Path) {
    if let Ok((system, _)) = charges::file::read(file) {
        let workload = fmm::Workload::new(&system.boundary, &system.positions, system.minimum_leaf);
        let tree = fmm::TreeShape::auto::<f64>(2, 1.2, &workload);
        let settings = fmm::Settings { order: 2, tree, separation: 1.2 };
        let _ = system.solve(settings, charges::Precision::F64, 0, 1);
    }
}

/// `count` damaged copies of `files`, each read by `work` from the first of them; those that fail are kept and named.
fn all(from: &Path, files: &[&str], count: u64, work: fn(&Path)) -> Vec<String> {
    let mut complaints = Vec::new();
    for seed in 0..count {
        let folder = temp_dir::TempDir::new().unwrap();
        damaged(from, folder.path(), files, &mut ChaCha8Rng::seed_from_u64(seed));
        let first = folder.path().join(files[0]);
        if let Some(complaint) = guarded(move || work(&first)) {
            complaints.push(format!("{}: {complaint}", folder.path().display()));
            folder.leak();
        }
    }
    complaints
}

/// Waters in a box, and two titratable chains in the open.
fn sources() -> (temp_dir::TempDir, Vec<Vec<&'static str>>) {
    let folder = temp_dir::TempDir::new().unwrap();
    let project = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
    for name in ["water.gro", "water.top"] {
        std::fs::copy(project("tests/bad/files").join(name), folder.path().join(name)).unwrap();
    }
    two_chains(folder.path());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let system = |name: &str| {
        format!("[system]\nstructure = \"{name}.gro\"\ntopology = \"{name}.top\"\ndefine = [\"POSRES\"]\n\n")
    };
    write(
        "water.toml",
        &(system("water")
            + "[electrostatics]\norder = 2\ndepth = 0\n\n[neighbour_list]\nbuffer = \"0.05 nm\"\n\n[dynamics]\nsteps = 10\n\n\
               [thermostat]\ntemperature = \"300 K\"\n\n[barostat]\npressure = \"1 bar\"\n"),
    );
    write(
        "two.toml",
        &(system("two")
            + "[electrostatics]\nboundary = \"open\"\norder = 2\ndepth = 0\n\n[dynamics]\nsteps = 10\n\n[thermostat]\n\
               temperature = \"300 K\"\n\n[titration]\nph = 7.0\nlibrary = [\"glu.toml\"]\nallow_uncalibrated = true\n\
               allow_mismatch = [\"boundary\", \"water\"]\n\n\
               [[titration.site]]\nresidue = \"1:LYS 4\"\ninitial = 0.3\n\n[[titration.site]]\nresidue = \"CYS\"\n"),
    );
    std::fs::copy(project("lambda/library/lys.toml"), folder.path().join("glu.toml")).unwrap();
    std::fs::copy(project("fmm/tests/reference/dev_wire_1d.json"), folder.path().join("wire.json")).unwrap();
    let cell = [[3.0, 0.0, 0.0], [0.5, 2.0, 0.0], [0.0, 0.2, 2.5]];
    let charges = serde_json::json!({
        "cell": cell, "periodic": "xyz", "positions": [[0.1, 0.2, 0.3], [1.0, 1.5, 0.5], [2.0, 0.7, 2.2]], "charges": [1.0, -0.5, -0.5],
        "excluded": [[0, 1]], "energy": -1.0,
    });
    write("cell.json", &charges.to_string());
    let lists = [
        &["water.toml", "water.gro", "water.top"][..],
        &["two.toml", "two.gro", "two.top", "glu.toml"],
        &["wire.json"],
        &["cell.json"],
    ];
    (folder, lists.map(<[&str]>::to_vec).to_vec())
}

fn fuzz(count: u64) {
    let (folder, lists) = sources();
    // What is not damaged is read.
    for files in &lists[..2] {
        let config = Config::load(folder.path().join(files[0])).unwrap();
        Simulation::new(&config).unwrap();
    }
    let mut complaints = Vec::new();
    for files in &lists {
        let work = if files[0].ends_with("json") { evaluate } else { check };
        complaints.extend(all(folder.path(), files, count / lists.len() as u64, work));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn damaged_inputs_end_in_a_message() {
    fuzz(400);
}

#[test]
#[ignore = "minutes; see the head of this file for the command"]
fn many_damaged_inputs_end_in_a_message() {
    let cases = std::env::var("OCTITRATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    fuzz(cases.unwrap_or(10_000));
}
