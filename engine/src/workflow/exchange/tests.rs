//! Exchange of two coupled sites whose populations are known: populations, acceptance, restarts.

mod threads;

use super::*;
use crate::checkpoint::Identity;
use crate::config::quantity::{Energy, Time};
use crate::config::{Barrier, Values};
use crate::evaluation::mixing::Mixing;
use crate::output::files::{self, EXCHANGE};
use crate::output::progress::Log;
use crate::output::series::LambdaSeries;
use crate::toy::Coupled;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const PH: [f64; 4] = [3.5, 4.0, 4.5, 5.5];
/// Steps between exchanges.
const EVERY: u64 = 5;

/// A titration with replicas of so many exchanges in `folder`.
fn plan(folder: &Path, exchanges: u64, replicas: u32) -> TitrationPlan {
    plan_with_lines(folder, exchanges, replicas, "10 fs")
}

/// The same with lines of λ at this interval.
fn plan_with_lines(folder: &Path, exchanges: u64, replicas: u32, lines: &str) -> TitrationPlan {
    let text = format!(
        "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"\n[dynamics]\nsteps = {}\nseed = 11\n[thermostat]\n\
         temperature = \"300 K\"\n[titration]\n[titrate]\nph = [5.5, 3.5, 4.5, 4.0]\nexchange = \"10 fs\"\nreplicas = {replicas}\n\
         [output]\nlambda = \"{lines}\"\nenergy = \"30 fs\"\ntrajectory = \"0 ps\"\n",
        exchanges * EVERY
    );
    let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files/job.toml");
    let mut config = Config::parse(&text, &job).unwrap();
    config.output.folder = folder.to_path_buf();
    TitrationPlan::new(config, None).unwrap()
}

/// The exchange of a plan.
fn setup(plan: &TitrationPlan) -> Setup<'_> {
    let batch = plan.batch();
    let ladders = Ladders { ph: &PH, replicas: batch.children.len() / PH.len() };
    Setup { config: &batch.config, slots: &batch.children, ladders, every: EVERY, added: &[] }
}

fn go(plan: &TitrationPlan, side_by_side: bool, stop_at: Option<u64>) -> bool {
    go_keeping(plan, side_by_side, stop_at, false)
}

/// The same with walkers that keep their lines of λ, as devices do.
fn go_keeping(plan: &TitrationPlan, side_by_side: bool, stop_at: Option<u64>, keeps: bool) -> bool {
    let stop = Stop::default();
    let build = |number: usize, config: &Config| {
        let mut toy = Coupled::new(config.titration.as_ref().unwrap().ph.unwrap(), config.dynamics.seed);
        toy.keeps = keeps;
        // The last one asks in the middle of a leg, when the others are somewhere else.
        toy.stop_at = stop_at.filter(|_| number == 3).map(|step| (step, stop.clone()));
        Ok(toy)
    };
    try_to_go(plan, &build, side_by_side, &stop).unwrap()
}

fn try_to_go(
    plan: &TitrationPlan,
    build: &(dyn Fn(usize, &Config) -> Result<Coupled> + Sync),
    side_by_side: bool,
    stop: &Stop,
) -> Result<bool> {
    let config = &plan.batch().config;
    let start = Start::find(config, &Identity::default(), &setup(plan).labels())?;
    let mut log = Log::open(&config.result(files::LOG), true)?;
    run(&setup(plan), build, &mut Vec::new(), start, side_by_side, &mut log, stop)
}

/// States of the two sites at a pH, as 0 to 3.
fn states(plan: &TitrationPlan, slot: usize) -> Vec<usize> {
    let series = LambdaSeries::read(&plan.batch().children[slot].config.result(files::LAMBDA)).unwrap();
    series.lambda[0].iter().zip(&series.lambda[1]).map(|(a, b)| *a as usize + 2 * *b as usize).collect()
}

/// What happens on the way of a walker stands in the log of the exchange, once.
#[test]
fn notices_of_walkers_are_logged() {
    let folder = temp_dir::TempDir::new().unwrap();
    let plan = plan(folder.path(), 4, 1);
    let build = |number: usize, config: &Config| {
        let mut toy = Coupled::new(config.titration.as_ref().unwrap().ph.unwrap(), config.dynamics.seed);
        toy.notices.extend((number == 2).then(|| "step 3: new lists were made there".into()));
        Ok(toy)
    };
    assert!(try_to_go(&plan, &build, true, &Stop::default()).unwrap());
    let log = std::fs::read_to_string(folder.path().join(files::LOG)).unwrap();
    assert_eq!(log.matches("walker 3: step 3: new lists were made there").count(), 1, "{log}");
}

#[test]
fn populations_and_acceptance_are_the_exact_ones() {
    let folder = temp_dir::TempDir::new().unwrap();
    let n = 40_000;
    let plan = plan(folder.path(), n, 1);
    assert!(go(&plan, false, None));
    let toy = Coupled::new(0.0, 0);
    let all: Vec<Vec<usize>> = (0..4).map(|slot| states(&plan, slot)).collect();
    for (states, ph) in all.iter().zip(PH) {
        assert_eq!(states.len() as u64, n + 1);
        for (state, exact) in toy.probabilities(ph).into_iter().enumerate() {
            let found = states.iter().filter(|s| **s == state).count() as f64 / states.len() as f64;
            // A site is drawn anew in 41 % of the frames, so that one frame in four is independent: five standard errors. With the
            // wrong sign of Δ populations are off by twenty times that.
            let tolerance = 10.0 * (exact * (1.0 - exact) / n as f64).sqrt();
            assert!((found - exact).abs() < tolerance, "pH {ph}, state {state}: {found}, exact {exact}");
        }
    }
    let mixing = Mixing::read(&folder.path().join(EXCHANGE), &setup(&plan).ladders).unwrap();
    assert_eq!(mixing.exchanges as u64, n);
    let lost = |state: usize| [0.0, 1.0, 1.0, 2.0][state];
    for (pair, (low, high)) in mixing.pairs.iter().zip([(3.5, 4.0), (4.0, 4.5), (4.5, 5.5)]) {
        let (p, q) = (toy.probabilities(low), toy.probabilities(high));
        let mut exact = 0.0;
        for (i, p) in p.into_iter().enumerate() {
            for (j, q) in q.into_iter().enumerate() {
                exact += p * q * 10f64.powf(-(low - high) * (lost(i) - lost(j))).min(1.0);
            }
        }
        let (found, tried) = (pair.acceptance().unwrap(), pair.tried as f64);
        assert_eq!((pair.ph, pair.tried as u64), ([low, high], n / 2));
        assert!((found - exact).abs() < 10.0 * (exact * (1.0 - exact) / tried).sqrt(), "{pair:?}, exact {exact}");
    }
    assert!(mixing.round_trips.iter().all(|&trips| trips > 100) && mixing.doubts().is_empty(), "{mixing:?}");
    let page = std::fs::read_to_string(folder.path().join("exchange.html")).unwrap();
    assert!(page.contains("3.50 – 4.00") && page.contains("<a href=\"report.html\">"));
    // The joint distribution is the product: neighbours that have just been compared know nothing of each other.
    let mean = |f: &dyn Fn(usize) -> f64| (0..all[0].len()).map(f).sum::<f64>() / all[0].len() as f64;
    let covariance =
        mean(&|k| lost(all[1][k]) * lost(all[2][k])) - mean(&|k| lost(all[1][k])) * mean(&|k| lost(all[2][k]));
    assert!(covariance.abs() < 10.0 * 0.5 / (n as f64).sqrt(), "{covariance}");
}

/// Every result file below a folder but those that tell of time and pieces.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for item in std::fs::read_dir(next).unwrap() {
            let path = item.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                open.push(path);
            } else if !["log.txt", "checkpoint.previous", "resolved.toml", ".lock"]
                .iter()
                .any(|skip| name.ends_with(skip))
            {
                all.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn a_run_in_pieces_leaves_the_same_bytes() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |name: &str| plan(&folder.path().join(name), 60, 2);
    let whole = at("whole");
    assert!(go(&whole, false, None));
    let expected = results(&folder.path().join("whole"));
    // Four files of each run, and four of the set: table, page, checkpoint, and whose folder it is.
    assert_eq!(expected.len(), 8 * 4 + 4, "{:?}", expected.keys());

    let pieces = at("pieces");
    for stop_at in [2, 33, 35, 150] {
        assert!(!go(&pieces, false, Some(stop_at)));
    }
    // Killed after its last checkpoint: lines and swaps too many.
    let more = pieces.batch().children[3].config.result(files::LAMBDA);
    for path in [more, folder.path().join("pieces").join(EXCHANGE)] {
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"0.9,1,1\n7");
        std::fs::write(&path, text).unwrap();
    }
    // A table that lost its end: the checkpoint before it is taken, with the walkers where they were then.
    let table = pieces.batch().children[0].config.result(files::LAMBDA);
    let text = std::fs::read_to_string(&table).unwrap();
    assert!(!go(&pieces, false, Some(190)));
    let short = text.len() as u64 + 1;
    std::fs::File::options().write(true).open(&table).unwrap().set_len(short).unwrap();
    assert!(go(&pieces, true, None));
    assert!(
        std::fs::read_to_string(pieces.batch().config.result(files::LOG))
            .unwrap()
            .contains("continuing from the one before")
    );
    assert!(results(&folder.path().join("pieces")) == expected);

    let threads = at("threads");
    assert!(!go(&threads, true, Some(81)) && go(&threads, true, None));
    assert!(results(&folder.path().join("threads")) == expected);
    // What a walker has kept belongs to the pH that it had then, also at the step of a swap, and whenever somebody looks.
    let kept = at("kept");
    for stop_at in [2, 33, 35, 150, 190] {
        assert!(!go_keeping(&kept, stop_at % 2 == 0, Some(stop_at), true));
    }
    assert!(go_keeping(&kept, true, None, true));
    assert!(results(&folder.path().join("kept")) == expected);
    // Finished, it is known as such without its files: somebody may have moved a trajectory away.
    std::fs::remove_file(threads.batch().children[0].config.result(files::ENERGY)).unwrap();
    assert!(go(&threads, true, None), "finished before");
}

/// A table that is lost or cut is named, with what can be done, and nothing is touched. With an empty file in its place the walkers go on as if nothing had been: every other
/// file has the bytes of a run in one piece, and this one the lines from there on.
#[test]
fn an_exchange_goes_on_without_lines_that_are_lost() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |name: &str| plan(&folder.path().join(name), 60, 2);
    let whole = at("whole");
    assert!(go(&whole, false, None));
    let pieces = at("pieces");
    for stop_at in [100, 150] {
        assert!(!go(&pieces, false, Some(stop_at)));
    }
    let table = pieces.batch().children[0].config.result(files::LAMBDA);
    let name = "pH_3.50/replica_1/lambda.csv";
    let text = std::fs::read_to_string(&table).unwrap();
    let refused = |plan: &TitrationPlan| {
        let before = results(&folder.path().join("pieces"));
        let build = |_: usize, _: &Config| Ok(Coupled::new(4.0, 1));
        let error = try_to_go(plan, &build, false, &Stop::default()).unwrap_err();
        assert!(results(&folder.path().join("pieces")) == before);
        let Error::Input(error) = error else { panic!("{error}") };
        assert!(error.help.contains("leave an empty file in its place"), "{}", error.help);
        assert!(error.help.contains("evaluate the lines that are there (octitrate pka "), "{}", error.help);
        error.message
    };
    let line = text[..text.len() / 2].rfind('\n').unwrap() + 1;
    for length in [line, line + 3] {
        std::fs::write(&table, &text[..length]).unwrap();
        let message = refused(&pieces);
        let cut = format!("{name} has {length} bytes, and had {} when the checkpoint was made", text.len());
        assert!(message.contains(&cut), "{message}");
    }
    std::fs::remove_file(&table).unwrap();
    let message = refused(&pieces);
    assert!(message.ends_with(&format!("neither checkpoint nor checkpoint.previous was used: {name} is missing")));

    std::fs::write(&table, "").unwrap();
    assert!(go(&pieces, true, None));
    let log = std::fs::read_to_string(pieces.batch().config.result(files::LOG)).unwrap();
    assert!(log.contains(&format!("{name}: emptied since the checkpoint, with lines from here on")), "{log}");
    let (mut found, mut expected) = ["pieces", "whole"].map(|name| results(&folder.path().join(name))).into();
    let [rest, all] = [&mut found, &mut expected].map(|files| String::from_utf8(files.remove(name).unwrap()).unwrap());
    // The checkpoint knows how long the files are.
    [&mut found, &mut expected].into_iter().for_each(|files| drop(files.remove("checkpoint").unwrap()));
    assert!(found == expected);
    let (head, later) = (text.lines().next().unwrap(), &all[text.len()..]);
    assert!(!later.is_empty() && rest == format!("{head}\n{later}"));
}

/// An exchange that is finished but for the folder of one run, which is gone, does not write into the others.
#[test]
fn a_finished_exchange_without_one_of_its_folders_is_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    let plan = plan(folder.path(), 6, 1);
    assert!(go(&plan, false, None));
    std::fs::remove_dir_all(plan.batch().children[1].config.folder()).unwrap();
    let before = results(folder.path());
    let build = |_: usize, _: &Config| Ok(Coupled::new(4.0, 1));
    let message = try_to_go(&plan, &build, false, &Stop::default()).unwrap_err().to_string();
    assert!(
        message.contains("pH_4.00/replica_1/energy.csv is missing, pH_4.00/replica_1/lambda.csv is missing"),
        "{message}"
    );
    assert!(results(folder.path()) == before);
}

/// Walkers that have come to a checkpoint in this process go on without being built again, with the bytes of those that are.
#[test]
fn walkers_of_a_stage_before_are_gone_on_with() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |name: &str, exchanges| plan(&folder.path().join(name), exchanges, 2);
    assert!(go(&at("whole", 60), true, None));
    let built = AtomicUsize::new(0);
    let build = |_: usize, config: &Config| {
        built.fetch_add(1, Ordering::SeqCst);
        Ok(Coupled::new(config.titration.as_ref().unwrap().ph.unwrap(), config.dynamics.seed))
    };
    let mut walkers = Vec::new();
    for exchanges in [20, 35, 60] {
        let stage = at("stages", exchanges);
        let config = &stage.batch().config;
        let start = Start::find(config, &Identity::default(), &setup(&stage).labels()).unwrap();
        let mut log = Log::open(&config.result(files::LOG), true).unwrap();
        let stop = Stop::default();
        assert!(run(&setup(&stage), &build, &mut walkers, start, true, &mut log, &stop).unwrap());
    }
    assert_eq!((built.load(Ordering::SeqCst), walkers.len()), (8, 8));
    let lines = |name: &str| {
        let all = results(&folder.path().join(name)).into_iter();
        all.filter(|(name, _)| name.ends_with(files::LAMBDA) || name.ends_with(EXCHANGE)).collect::<Vec<_>>()
    };
    assert!(lines("stages").len() == 9 && lines("stages") == lines("whole"));
}

/// Where walkers are stopped, one may wait at the step of a swap, the line of that step not yet told, and the one that took its place be some lines ahead.
#[test]
fn the_line_of_a_swap_comes_before_those_of_who_takes_over() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |name: &str| plan_with_lines(&folder.path().join(name), 60, 2, "2 fs");
    assert!(go(&at("whole"), false, None));
    let pieces = at("pieces");
    for stop_at in (7..240).step_by(10) {
        assert!(!go_keeping(&pieces, false, Some(stop_at), true));
    }
    assert!(go_keeping(&pieces, false, None, true));
    assert!(results(&folder.path().join("pieces")) == results(&folder.path().join("whole")));
}

/// Another barrier is another exchange; a run that is taken away has no place for its walker.
#[test]
fn another_exchange_is_refused_and_nothing_is_touched() {
    let folder = temp_dir::TempDir::new().unwrap();
    assert!(!go(&plan(folder.path(), 60, 2), false, Some(40)));
    let before = results(folder.path());
    let refused = |other: TitrationPlan| {
        let build = |_: usize, _: &Config| Ok(Coupled::new(4.0, 1));
        let message = try_to_go(&other, &build, false, &Stop::default()).unwrap_err().to_string();
        assert!(results(folder.path()) == before);
        message
    };
    let message = refused(plan(folder.path(), 60, 1));
    assert!(message.contains("pH_3.50/replica_2 is not among the runs"), "{message}");
    let changed = |change: &dyn Fn(&mut Config)| {
        let mut config = plan(folder.path(), 60, 2).batch().config.clone();
        change(&mut config);
        refused(TitrationPlan::new(config, None).unwrap())
    };
    let message = changed(&|config| config.titrate.as_mut().unwrap().exchange = Some(Time::new(0.02)));
    assert!(message.contains("titrate.exchange was \"10 fs\" and is now \"20 fs\""), "{message}");
    let message = changed(&|config| config.titration.as_mut().unwrap().barrier = Barrier::Height(Energy::new(9.0)));
    assert!(message.contains("titration.barrier was"), "{message}");
}

/// New walkers go alone as far as the others; then all swap. Runs have equal lengths, and what had been written stays.
#[test]
fn ph_values_and_replicas_may_be_added() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |exchanges, replicas| plan(folder.path(), exchanges, replicas);
    assert!(go(&at(40, 1), false, None));
    let before = results(folder.path());
    let mut wide = at(60, 2).batch().config.clone();
    wide.titrate.as_mut().unwrap().ph = Values::List(vec![3.5, 4.0, 4.25, 4.5, 5.5]);
    let wide = TitrationPlan::new(wide, None).unwrap();
    let ladders = Ladders { ph: wide.ph(), replicas: 2 };
    let setup =
        Setup { config: &wide.batch().config, slots: &wide.batch().children, ladders, every: EVERY, added: &[] };
    let go = |stop_at: Option<(usize, u64)>| {
        let stop = Stop::default();
        let build = |number: usize, config: &Config| {
            let mut toy = Coupled::new(config.titration.as_ref().unwrap().ph.unwrap(), config.dynamics.seed);
            toy.stop_at = stop_at.filter(|(who, _)| *who == number).map(|(_, step)| (step, stop.clone()));
            Ok(toy)
        };
        let start = Start::find(setup.config, &Identity::default(), &setup.labels()).unwrap();
        let mut log = Log::open(&folder.path().join(files::LOG), true).unwrap();
        run(&setup, &build, &mut Vec::new(), start, false, &mut log, &stop).unwrap()
    };
    // Stopped while the new ones catch up, and again when all go together.
    assert!(!go(Some((5, 77))) && !go(Some((0, 231))) && go(None));
    for slot in setup.slots {
        let series = LambdaSeries::read(&slot.config.result(files::LAMBDA)).unwrap();
        assert_eq!(series.time.len(), 61, "{}", slot.name);
    }
    let after = results(folder.path());
    for (name, bytes) in before.iter().filter(|(name, _)| name.ends_with("lambda.csv")) {
        assert!(after[name].starts_with(bytes), "{name}");
    }
    let journal = std::fs::read_to_string(folder.path().join(EXCHANGE)).unwrap();
    assert_eq!(journal.lines().count(), 62);
    let mixing = Mixing::read(&folder.path().join(EXCHANGE), &ladders).unwrap();
    assert_eq!(mixing.exchanges, 19);
    assert!(mixing.pairs.iter().all(|pair| pair.tried > 0) && mixing.pairs.iter().any(|pair| pair.accepted > 0));
}
