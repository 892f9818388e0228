//! Walkers with threads of their own: who waits for whom, and that nothing of it is seen in the results.

use super::super::prepare::at_once;
use super::*;
use crate::config::quantity::WallTime;
use crate::error::PhysicsError;
use crate::toy::Hook;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Walkers that keep their lines and do something after each step, side by side.
fn go_with(plan: &TitrationPlan, hook: &(dyn Fn(usize) -> Option<Hook> + Sync), stop: &Stop) -> Result<bool> {
    let build = |number: usize, config: &Config| {
        let mut toy = Coupled::new(config.titration.as_ref().unwrap().ph.unwrap(), config.dynamics.seed);
        (toy.keeps, toy.after_step) = (true, hook(number));
        Ok(toy)
    };
    try_to_go(plan, &build, true, stop)
}

/// Waits until it is so; an error if that takes a minute.
fn wait_until(is_so: impl Fn() -> bool) -> Result<()> {
    let started = Instant::now();
    while !is_so() {
        if started.elapsed() > Duration::from_secs(60) {
            return Err(PhysicsError::of("test", &"waited in vain"));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

/// While the first of four walkers stands still in the first leg the last one makes the third: its partner of the first attempt is there, it has none at
/// the second, and at the third it waits for one that waits for one that waits for the first. Nothing of it is seen in the results.
#[test]
fn a_walker_waits_for_its_partner_alone() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |name: &str| plan(&folder.path().join(name), 12, 1);
    assert!(go(&at("turns"), false, None));
    let farthest = Arc::new(AtomicU64::new(0));
    let hook = |number: usize| -> Option<Hook> {
        let farthest = Arc::clone(&farthest);
        Some(Box::new(move |step| {
            farthest.fetch_max(step, Ordering::SeqCst);
            if number == 0 && step == 4 {
                wait_until(|| farthest.load(Ordering::SeqCst) >= 3 * EVERY)?;
                // Time for the others to go on if they could.
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(farthest.load(Ordering::SeqCst), 3 * EVERY);
            }
            Ok(())
        }))
    };
    assert!(go_with(&at("threads"), &hook, &Stop::default()).unwrap());
    assert!(results(&folder.path().join("threads")) == results(&folder.path().join("turns")));
    let log = std::fs::read_to_string(folder.path().join("threads").join(files::LOG)).unwrap();
    let share = log.split_once("walkers waited for their partners for ").unwrap().1.split(' ').next().unwrap();
    assert!((1.0..100.0).contains(&share.parse::<f64>().unwrap()), "{log}");
    assert!(!std::fs::read_to_string(folder.path().join("turns").join(files::LOG)).unwrap().contains("waited"));
}

/// Whoever is fast, wherever all come to rest for checkpoints, and whenever they are stopped: all that is left is the same.
#[test]
fn the_speed_of_walkers_leaves_no_trace() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |name: &str| plan(&folder.path().join(name), 60, 2);
    assert!(go(&at("turns"), false, None));
    let expected = results(&folder.path().join("turns"));
    // Stops are farther apart than walkers.
    for (name, seconds, stops) in
        [("often", 0.001, &[][..]), ("seldom", 300.0, &[17, 80, 140]), ("both", 0.01, &[64, 130, 190])]
    {
        let mut config = at(name).batch().config.clone();
        config.output.checkpoint = WallTime::new(seconds);
        let plan = TitrationPlan::new(config, None).unwrap();
        for stop_at in stops.iter().copied().map(Some).chain([None]) {
            let stop = Stop::default();
            let hook = |number: usize| -> Option<Hook> {
                let stop = stop.clone();
                // Walker 6 is not the fastest, and asks to stop when others are elsewhere.
                let pause = Duration::from_micros([0, 400, 20, 900, 0, 100, 300, 10][number]);
                Some(Box::new(move |step| {
                    std::thread::sleep(pause);
                    if number == 6 && stop_at == Some(step) {
                        stop.request();
                    }
                    Ok(())
                }))
            };
            assert_eq!(go_with(&plan, &hook, &stop).unwrap(), stop_at.is_none(), "{name}");
        }
        assert!(results(&folder.path().join(name)) == expected, "{name}");
    }
}

/// The others do not wait for it, what came before stays, and the exchange goes on from its last checkpoint if the cause is gone.
#[test]
fn a_walker_that_fails_is_named() {
    let folder = temp_dir::TempDir::new().unwrap();
    let at = |name: &str| plan(&folder.path().join(name), 40, 1);
    assert!(go(&at("whole"), false, None));
    let broken = at("broken");
    assert!(
        !go_with(&broken, &|_| None, &{
            let stop = Stop::default();
            stop.request();
            stop
        })
        .unwrap()
    );
    let fails = |number: usize| -> Option<Hook> {
        let fail = |step: u64| if step == 103 { Err(PhysicsError::of("SETTLE", &"water 7 is torn")) } else { Ok(()) };
        (number == 2).then(|| Box::new(fail) as Hook)
    };
    let message = go_with(&broken, &fails, &Stop::default()).unwrap_err().to_string();
    let slot = broken.batch().children.iter().find(|child| child.config.result(files::FAILED).exists()).unwrap();
    assert!(message.contains(&slot.name) && message.contains("water 7 is torn"), "{message}");
    // The line of step 100 is known when the next step is made, and an attempt lies between.
    let lines = LambdaSeries::read(&slot.config.result(files::LAMBDA)).unwrap().time.len() as u64;
    assert!(lines >= 100 / EVERY, "{lines}");
    std::fs::remove_file(slot.config.result(files::FAILED)).unwrap();
    assert!(go_with(&broken, &|_| None, &Stop::default()).unwrap());
    assert!(results(&folder.path().join("broken")) == results(&folder.path().join("whole")));
}

/// Each waits for all others to begin, which one after the other would never end.
#[test]
fn walkers_with_threads_are_prepared_at_once() {
    let folder = temp_dir::TempDir::new().unwrap();
    let begun = Arc::new(AtomicU64::new(0));
    let build = |_: usize, config: &Config| {
        let mut toy = Coupled::new(config.titration.as_ref().unwrap().ph.unwrap(), config.dynamics.seed);
        let begun = Arc::clone(&begun);
        toy.at_start = Some(Box::new(move |_| {
            begun.fetch_add(1, Ordering::SeqCst);
            wait_until(|| begun.load(Ordering::SeqCst) == 4)
        }));
        Ok(toy)
    };
    assert!(try_to_go(&plan(folder.path(), 2, 1), &build, true, &Stop::default()).unwrap());
}

/// The first error in the order of the walkers is told, and none is begun once one has failed.
#[test]
fn walkers_are_built_at_once_and_in_their_order() {
    let whole = at_once(40, &|number| Ok(number)).unwrap();
    assert_eq!(whole, (0..40).collect::<Vec<_>>());
    let begun = AtomicU64::new(0);
    let failed = at_once(1000, &|number| {
        begun.fetch_add(1, Ordering::SeqCst);
        if number < 5 { Ok(()) } else { Err(PhysicsError::of("test", &format!("walker {number}"))) }
    });
    assert!(failed.unwrap_err().to_string().contains("walker 5"));
    assert!(begun.load(Ordering::SeqCst) < 5 + 2 * rayon::current_num_threads() as u64 + 1);
    assert!(at_once(0, &|_| Ok(())).unwrap().is_empty());
}
