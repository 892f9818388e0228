//! Replica exchange in pH on a device: what an attempt costs, and runs in pieces.
//!
//! The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::{Counts, Device};
use octitrate::backend::choice::Chosen;
use octitrate::config::Config;
use octitrate::evaluation::runs::Run;
use octitrate::propagate::Propagate;
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::trajectory::Frames;
use octitrate::workflow::children::Child;
use octitrate::workflow::exchange::titrate;
use octitrate::workflow::many::{Host, Many};
use octitrate::workflow::titrate::TitrationPlan;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Glutamic acid in water that titrates.
fn glu(sections: &str) -> Config {
    glu_with("temperature = \"300 K\"", sections)
}

/// The same with these keys of the thermostat.
fn glu_with(thermostat: &str, sections: &str) -> Config {
    Config::parse(&text(thermostat, sections), Path::new("exchange.toml")).unwrap()
}

fn text(thermostat: &str, sections: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/glu");
    format!(
        "[system]\nstructure = \"{0}/glu.gro\"\ntopology = \"{0}/glu.top\"\n[electrostatics]\norder = 4\n\
         [thermostat]\n{thermostat}\n[titration]\nallow_uncalibrated = true\n{sections}",
        folder.display()
    )
}

/// Swapping once cost 20 ms for each site and each pH that was compared, because double wells were solved anew: three seconds for eight walkers
/// with nine sites, against a quarter of a second for the picosecond between two attempts.
#[test]
fn an_attempt_reads_lambda_and_writes_a_ph_and_does_nothing_else() {
    let device = Device::of_tests().unwrap();
    let mut simulation = Simulation::on(&glu("ph = 4.0\n[dynamics]\nsteps = 100\n"), Some(&device)).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation.advance(5).unwrap();
    let counted = |work: &mut dyn FnMut()| -> Counts {
        let before = device.counts();
        work();
        device.counts() - before
    };
    // Lists are due once in 20 steps.
    let plain = counted(&mut || simulation.advance(20).unwrap());
    let started = Instant::now();
    let attempts = 100;
    let asked = counted(&mut || {
        for _ in 0..attempts {
            assert!(simulation.ph_energy(5.0).unwrap() != simulation.ph_energy(4.0).unwrap());
            simulation.set_ph(5.0).unwrap();
            simulation.set_ph(4.0).unwrap();
        }
        simulation.set_ph(5.0).unwrap();
    });
    // A tenth of a second for each of them would still be three times less than what it was.
    assert!(started.elapsed() < Duration::from_secs(1), "{attempts} attempts in {:?}", started.elapsed());
    // Whether the motion has come there: its status and its clock, 64 bytes. λ: ξ, its velocity, the heat, the steps it is held for. Each once, whatever
    // is asked of it.
    assert_eq!(asked, Counts { reads: 6, bytes_read: 96, ..Counts::default() });
    let after = counted(&mut || simulation.advance(20).unwrap());
    // Two numbers of V_pH, one for each form.
    let expected = Counts { writes: plain.writes + 1, bytes_written: plain.bytes_written + 16, ..plain };
    assert_eq!(after, expected);
    assert_eq!(after.recorded, 0);
}

/// Three walkers that swap every other step; `more` is for `[output]`.
fn titration(folder: &Path, more: &str) -> TitrationPlan {
    titration_with(folder, "", more)
}

/// The same with `keys` in `[titrate]`.
fn titration_with(folder: &Path, keys: &str, more: &str) -> TitrationPlan {
    let sections = format!(
        "[dynamics]\nsteps = 24\nseed = 5\n[titrate]\nph = [3.5, 4.0, 4.5]\nexchange = \"4 fs\"\n{keys}\n\
         [output]\nfolder = \"{}\"\nenergy = \"12 fs\"\nlambda = \"2 fs\"\ntrajectory = \"16 fs\"\n{more}",
        folder.display()
    );
    TitrationPlan::new(glu(&sections), None).unwrap()
}

fn go(plan: &TitrationPlan, device: Option<&Device>, stop: &Stop) -> bool {
    go_on(plan, &Chosen::from(device.cloned()), stop)
}

fn go_on(plan: &TitrationPlan, place: &Chosen, stop: &Stop) -> bool {
    let first = Simulation::on(plan.batch().first(), place.device.as_ref()).unwrap();
    let (identity, description) = (first.identity(), first.describe());
    // No program: a process could not be started.
    let executable = Path::new("/nonexistent");
    let host = Host { executable, place, identity: &identity, description: &description, quiet: true };
    titrate(plan, &host, stop).unwrap()
}

/// The tables, trajectories and ends of all runs, and who had which pH.
fn results(plan: &TitrationPlan) -> Vec<Vec<u8>> {
    let of_run = |child: &Child| {
        ["energy.csv", "lambda.csv", "trajectory.xtc", "final.gro"].map(|name| child.config.result(name))
    };
    let mut paths: Vec<_> = plan.batch().children.iter().flat_map(of_run).collect();
    paths.push(plan.batch().config.result("exchange.csv"));
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn an_exchange_on_a_device_leaves_the_same_bytes_in_pieces() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let whole = titration(&folder.path().join("whole"), "");
    assert!(go(&whole, Some(&device), &Stop::default()));
    let expected = results(&whole);
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let journal = text(&expected[12]);
    assert_eq!(journal.lines().count(), 14, "{journal}");
    assert!(journal.lines().skip(2).any(|line| !line.ends_with(",1,2,3")), "nobody swaps: {journal}");
    // The line at the step of a swap is of the walker that had the pH up to it, the next one of who has it then.
    let rows: Vec<Vec<&str>> = journal.lines().skip(1).map(|line| line.split(',').collect()).collect();
    for slot in 0..3 {
        let table = text(&expected[4 * slot + 1]);
        assert_eq!(table.lines().count(), 26, "{table}");
        for (step, line) in table.lines().skip(1).enumerate() {
            let walker = line.split(',').nth(1).unwrap();
            assert_eq!(walker, rows[step.saturating_sub(1) / 2][1 + slot], "step {step} of slot {slot}:\n{table}");
        }
        assert_eq!(text(&expected[4 * slot]).lines().count(), 6);
    }

    // A checkpoint after every exchange, and two stops on the way.
    let pieces = titration(&folder.path().join("pieces"), "checkpoint = \"0.001 s\"\n");
    let checkpoint = pieces.batch().config.result("checkpoint");
    let seen = || std::fs::metadata(&checkpoint).and_then(|file| file.modified()).ok();
    for _ in 0..2 {
        let (stop, before) = (Stop::default(), seen());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let started = Instant::now();
                while seen() == before && started.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                stop.request();
            });
            go(&pieces, Some(&device), &stop);
        });
    }
    assert!(go(&pieces, Some(&device), &Stop::default()));
    assert!(results(&pieces) == expected);
}

/// With friction and noise of each atom: walkers swap, and go on from a checkpoint as if nothing had been.
#[test]
fn an_exchange_with_friction_leaves_the_same_bytes_in_pieces() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let titration = |name: &str, more: &str| {
        let sections = format!(
            "[dynamics]\nsteps = 12\nseed = 5\n[titrate]\nph = [3.5, 4.5]\nexchange = \"4 fs\"\n\
             [output]\nfolder = \"{}\"\nenergy = \"4 fs\"\nlambda = \"2 fs\"\ntrajectory = \"8 fs\"\n{more}",
            folder.path().join(name).display()
        );
        TitrationPlan::new(glu_with("kind = \"langevin\"\nfriction = \"20 /ps\"", &sections), None).unwrap()
    };
    let whole = titration("whole", "");
    assert!(go(&whole, Some(&device), &Stop::default()));
    let expected = results(&whole);
    let pieces = titration("pieces", "checkpoint = \"0.001 s\"\n");
    let checkpoint = pieces.batch().config.result("checkpoint");
    let stop = Stop::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            while !checkpoint.exists() && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.request();
        });
        go(&pieces, Some(&device), &stop);
    });
    assert!(go(&pieces, Some(&device), &Stop::default()));
    assert!(results(&pieces) == expected);
}

/// Each replica begins at its own structure, the third one again at the first: here the same box of water, 0.05 nm further along x.
#[test]
fn replicas_begin_at_structures_in_turn() {
    let folder = temp_dir::TempDir::new().unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/glu/glu.gro");
    let text = std::fs::read_to_string(&own).unwrap();
    let moved = folder.path().join("moved.gro");
    let atoms = text.lines().count() - 3;
    let edge: f64 = text.lines().last().unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let shifted = text.lines().enumerate().map(|(number, line)| match (2..2 + atoms).contains(&number) {
        true => format!("{}{:8.3}{}\n", &line[..20], line[20..28].trim().parse::<f64>().unwrap() + 0.05, &line[28..]),
        false => format!("{line}\n"),
    });
    std::fs::write(&moved, shifted.collect::<String>()).unwrap();
    let keys = format!("replicas = 3\nstructures = [\"{}\", \"{}\"]", own.display(), moved.display());
    let plan = titration_with(&folder.path().join("exchange"), &keys, "");
    assert!(plan.batch().config.inputs().contains(&moved.as_path()));
    assert!(go(&plan, None, &Stop::default()));
    let x_of_first = |child: &Child| {
        let mut frames = Frames::open(&child.config.result("trajectory.xtc")).unwrap();
        frames.read(0).unwrap().positions.iter().map(|r| r.x).collect::<Vec<_>>()
    };
    let starts: Vec<Vec<f64>> = plan.batch().children.iter().map(x_of_first).collect();
    assert_eq!(starts.len(), 9);
    for replicas in starts.chunks(3) {
        assert_eq!(replicas[2], replicas[0]);
        // Molecules near a face may be written on its other side; positions have three digits in either file.
        let off = |(moved, x): (&f64, &f64)| {
            let beyond = moved - x - 0.05;
            (beyond - (beyond / edge).round() * edge).abs()
        };
        assert!(replicas[1].iter().zip(&replicas[0]).map(off).all(|off| off < 0.0011));
    }
}

/// Walkers that are dealt out to two devices swap across them, and leave what they leave on one. On a machine with several GPUs the second is another card if
/// OCTITRATE_TEST_DEVICE names the first (`cuda:0`).
#[test]
fn walkers_on_two_devices_leave_the_bytes_of_one() {
    let one = Device::of_tests().unwrap();
    let other = match one.gpu() {
        Some(gpu) => Device::cuda(gpu.ordinal + 1).unwrap_or_else(|_| one.clone()),
        None => Device::emulator().unwrap(),
    };
    let folder = temp_dir::TempDir::new().unwrap();
    let [on_one, on_two] = ["one", "two"].map(|name| titration(&folder.path().join(name), ""));
    assert!(go(&on_one, Some(&one), &Stop::default()));
    let before = [one.counts().graphs, other.counts().graphs];
    let place = Chosen::from(vec![one.clone(), other.clone()]);
    assert!(go_on(&on_two, &place, &Stop::default()));
    // Both have worked: two walkers here, one there.
    assert!(one.counts().graphs > before[0] && other.counts().graphs > before[1]);
    let (found, expected) = (results(&on_two), results(&on_one));
    let journal = String::from_utf8(found[12].clone()).unwrap();
    assert!(journal.lines().skip(2).any(|line| !line.ends_with(",1,2,3")), "nobody swaps: {journal}");
    assert!(found == expected);
}

/// Walkers are minimised at once, and each of them as it would be alone.
#[test]
fn walkers_are_minimised_as_they_are_alone() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let sections = format!(
        "[dynamics]\nsteps = 2\nseed = 5\n[titrate]\nph = [3.5, 4.5]\nexchange = \"4 fs\"\n[minimise]\nsteps = 3\n\
         [output]\nfolder = \"{}\"\nenergy = \"0 ps\"\nlambda = \"4 fs\"\ntrajectory = \"0 ps\"\n",
        folder.path().display()
    );
    let plan = TitrationPlan::new(glu(&sections), None).unwrap();
    assert!(go(&plan, Some(&device), &Stop::default()));
    let log = std::fs::read_to_string(plan.batch().config.result("log.txt")).unwrap();
    assert!(log.contains("walkers waited for their partners for "), "{log}");
    for child in &plan.batch().children {
        let (mut alone, mut said) = (Simulation::among_many(&child.config, Some(&device)).unwrap(), String::new());
        let mut say = |text: &str| {
            said = format!("{}: {text}", child.name);
            Ok(())
        };
        alone.prepare(&mut say).unwrap();
        assert!(said.contains("after 3 steps") && log.contains(&said), "{said}\n{log}");
    }
}

/// Walkers have files of their own, more than the limit of open files that a shell begins with.
#[test]
fn many_walkers_may_open_their_files() {
    let folder = temp_dir::TempDir::new().unwrap();
    let ph: Vec<String> = (0..12).map(|k| format!("{:.1}", 3.0 + 0.2 * f64::from(k))).collect();
    let sections = format!(
        "[dynamics]\nsteps = 2\n[titrate]\nph = [{}]\nexchange = \"4 fs\"\n[output]\nlambda = \"2 fs\"\n",
        ph.join(", ")
    );
    let job = folder.path().join("titrate.toml");
    std::fs::write(&job, text("temperature = \"300 K\"", &sections)).unwrap();
    let script = "ulimit -Sn 24; exec \"$0\" titrate \"$1\" --device cpu";
    let mut shell = Command::new("sh");
    let ended = shell.args(["-c", script, env!("CARGO_BIN_EXE_octitrate")]).arg(&job).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// Looks at the runs change nothing of them, and a titration that was stopped between two looks makes the same looks as one in one piece. Here nothing is
/// ever known well enough, and the length of the job ends it.
#[test]
fn looks_leave_no_trace_and_are_the_same_in_pieces() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let equilibration = "equilibration = \"4 fs\"";
    let until = format!("{equilibration}\nuntil = 0.01\nuntil_from = \"12 fs\"\nuntil_max_ph = 0");
    let plain = titration_with(&folder.path().join("plain"), equilibration, "");
    assert!(go(&plain, Some(&device), &Stop::default()));
    let expected = results(&plain);
    let whole = titration_with(&folder.path().join("whole"), &until, "");
    assert!(go(&whole, Some(&device), &Stop::default()));
    // The last step before a look is written to all tables and trajectories whatever their interval; λ is written at every step here.
    let of_every_step = |all: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        all.into_iter()
            .enumerate()
            .filter(|(k, _)| *k == 12 || k % 4 == 1 || k % 4 == 3)
            .map(|(_, file)| file)
            .collect()
    };
    let found = results(&whole);
    assert!(of_every_step(found.clone()) == of_every_step(expected));
    let expected = found;
    let looks = |plan: &TitrationPlan| std::fs::read_to_string(plan.batch().config.result("until.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&looks(&whole)).unwrap();
    let times: Vec<f64> = found["checks"].as_array().unwrap().iter().map(|c| c["time"].as_f64().unwrap()).collect();
    // Whole numbers of exchanges, each a quarter more than the one before at least.
    let exact = [0.012, 0.016, 0.02, 0.028, 0.036, 0.048];
    assert!(times.len() == 6 && times.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-9), "{times:?}");
    let log = std::fs::read_to_string(whole.batch().config.result("log.txt")).unwrap();
    assert!(log.contains("until 0.01: not reached within 0.048 ps of each run"), "{log}");
    assert!(log.contains("Glu 2 (") && log.contains("round trips and should make 10"), "{log}");

    let pieces = titration_with(&folder.path().join("pieces"), &until, "checkpoint = \"0.001 s\"\n");
    let seen = || looks_at(&pieces);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            while seen() < 2 && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.request();
        });
        go(&pieces, Some(&device), &stop);
    });
    // A look that was lost is made again from the frames up to its time.
    std::fs::remove_file(pieces.batch().config.result("until.json")).unwrap();
    assert!(go(&pieces, Some(&device), &Stop::default()));
    assert!(results(&pieces) == expected && looks(&pieces) == looks(&whole));
    // Called again it is finished, and says the same.
    assert!(go(&pieces, Some(&device), &Stop::default()));
    assert!(results(&pieces) == expected && looks(&pieces) == looks(&whole));
}

/// A site that is deprotonated at all pH values gets a lower one; in pieces the same one with the same bytes.
#[test]
fn ph_values_are_added_where_the_pka_lies_and_pieces_add_the_same() {
    // Charges are interpolated, so that forms are parts of λ: a dozen frames that are taken to the form with a correction that is not theirs bound a pKa too loosely.
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let titration = |name: &str, more: &str| {
        let sections = format!(
            "interpolation = \"charge\"\nallow_mismatch = [\"interpolation\"]\n[dynamics]\nsteps = 24\nseed = 5\n[titrate]\nph = [5.0, 6.0, 7.0, 8.0]\nexchange = \"4 fs\"\nequilibration = \"4 fs\"\n\
             until = 0.01\nuntil_from = \"16 fs\"\nuntil_add_from = \"0 ps\"\n[output]\nfolder = \"{}\"\nenergy = \"12 fs\"\nlambda = \"2 fs\"\ntrajectory = \"0 ps\"\n{more}",
            folder.path().join(name).display()
        );
        TitrationPlan::new(glu(&sections), None).unwrap()
    };
    let files = |plan: &TitrationPlan| -> Vec<(String, Vec<u8>)> {
        let root = plan.batch().config.folder().to_path_buf();
        let runs =
            plan.folders().into_iter().flat_map(|run| ["lambda.csv", "energy.csv", "final.gro"].map(|f| run.join(f)));
        let all = runs.chain(["exchange.csv", "until.json"].map(|file| root.join(file)));
        let name = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
        all.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
    };
    let whole = titration("whole", "");
    assert!(go(&whole, Some(&device), &Stop::default()));
    let expected = files(&whole);
    let kept: serde_json::Value = serde_json::from_slice(&expected.last().unwrap().1).unwrap();
    let added: Vec<[f64; 3]> = kept["added"]
        .as_array()
        .unwrap()
        .iter()
        .map(|added| ["ph", "from", "time"].map(|key| added[key].as_f64().unwrap()))
        .collect();
    assert_eq!(added.iter().map(|[ph, from, _]| [*ph, *from]).collect::<Vec<_>>(), [[3.5, 5.0]], "{kept}");
    let log = std::fs::read_to_string(whole.batch().config.result("log.txt")).unwrap();
    assert!(log.contains("walker 5 begins at pH 3.5 with the state of walker "), "{log}");
    assert!(
        log.contains("pH 3.5 is added: the pKa of Glu 2 is at most ") && log.contains("pH 3.5 was added at "),
        "{log}"
    );
    for (run, [_, _, time]) in ["pH_3.50"].iter().zip(&added) {
        let run = whole.batch().config.folder().join(run).join("replica_1");
        let table = std::fs::read_to_string(run.join("lambda.csv")).unwrap();
        let first: f64 = table.lines().nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        assert!((first - time - 0.002).abs() < 1e-9, "{time}: {table}");
        assert!(std::fs::read_to_string(run.join("begun.toml")).unwrap().contains("from_walker = "));
    }
    let journal = String::from_utf8(expected[expected.len() - 2].1.clone()).unwrap();
    assert!(journal.lines().nth(1).unwrap().starts_with("0,,1,2,3,4"), "{journal}");
    assert!(journal.lines().last().unwrap().split(',').all(|cell| !cell.is_empty()), "{journal}");

    let pieces = titration("pieces", "checkpoint = \"0.001 s\"\n");
    for looks in [1, 3] {
        let stop = Stop::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let started = Instant::now();
                while looks_at(&pieces) < looks && started.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                stop.request();
            });
            go(&pieces, Some(&device), &stop);
        });
        if looks == 1 {
            // Stopped before a step of the next length is made: the runs were finished, are to become longer, and can be evaluated.
            let stop = Stop::default();
            stop.request();
            assert!(!go(&pieces, Some(&device), &stop));
            pieces.folders().iter().for_each(|run| assert!(Run::read(run).is_ok(), "{:?}", Run::read(run)));
        }
    }
    assert!(go(&pieces, Some(&device), &Stop::default()));
    assert!(files(&pieces) == expected);
    // Called again it is finished, and says the same.
    assert!(go(&pieces, Some(&device), &Stop::default()));
    assert!(files(&pieces) == expected);

    // A second ladder has the pH that was added from its first step on.
    let mut two = whole.batch().config.clone();
    two.titrate.as_mut().unwrap().replicas = 2;
    let two = TitrationPlan::new(two, None).unwrap();
    assert!(go(&two, Some(&device), &Stop::default()));
    let [first, second] = [1, 2].map(|replica| {
        let run = two.batch().config.folder().join(format!("pH_3.50/replica_{replica}"));
        assert_eq!(run.join("begun.toml").exists(), replica == 1);
        std::fs::read_to_string(run.join("lambda.csv")).unwrap()
    });
    let times = |table: &str| table.lines().skip(1).map(|line| line.split(',').next().unwrap().to_string()).collect();
    let [first, second]: [Vec<String>; 2] = [times(&first), times(&second)];
    assert!(second[0].parse::<f64>().unwrap() == 0.0 && second.ends_with(&first), "{first:?} {second:?}");
}

/// Looks that a titration has kept so far.
fn looks_at(plan: &TitrationPlan) -> usize {
    let text = std::fs::read_to_string(plan.batch().config.result("until.json")).unwrap_or_default();
    text.matches("\"time\"").count()
}
