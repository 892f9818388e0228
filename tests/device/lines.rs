//! Lines of tables that a device keeps on its way.

use super::{buffered, glu};
use kernels::device::Device;
use octitrate::frame::{Frame, LineIntervals, Upto, Wanted};
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::State;

/// What frames say at the steps that have lines, asked for one by one.
fn asked(simulation: &mut Simulation, every: LineIntervals, steps: u64) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let step = simulation.step();
        let wanted = Wanted {
            energies: every.energies_from(step) == Some(step),
            derivatives: every.lambda_from(step) == Some(step),
            ..Wanted::default()
        };
        if wanted != Wanted::default() {
            let frame = simulation.frame(wanted).unwrap();
            lines.extend([
                in_words(&Frame { dvdl: Vec::new(), ..frame.clone() }),
                in_words(&Frame { energies: Vec::new(), ..frame }),
            ]);
        }
        if step == steps {
            lines.retain(|line| !line.is_empty());
            return lines;
        }
        simulation.advance(1).unwrap();
    }
}

/// Every bit of a line; empty if it says nothing.
fn in_words(line: &Frame) -> String {
    match (line.energies.is_empty(), line.dvdl.is_empty()) {
        (true, true) => String::new(),
        _ => format!("{} {:?} {:?} {:?}", line.step, line.energies, line.lambda, line.dvdl),
    }
}

/// Lines that are kept on a device are those of frames, to the last bit, whoever looks and whenever.
#[test]
fn those_that_are_kept_are_those_of_frames() {
    let device = Device::of_tests().unwrap();
    let sections = "[electrostatics]\norder = 3\n[dynamics]\nsteps = 26\n[thermostat]\n[barostat]\n";
    let config = buffered("linear", sections, "");
    let mut by_hand = Simulation::on(&config, Some(&device)).unwrap();
    by_hand.prepare(&mut |_| Ok(())).unwrap();
    let start = by_hand.state().unwrap();
    let again = |state: &State| {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(state).unwrap();
        simulation
    };
    let every = LineIntervals { energies: Some(10), lambda: Some(3), last: 26 };
    let mut expected = asked(&mut by_hand, every, 26);
    assert_eq!(expected.len(), 4 + 9);
    expected.sort_unstable();
    let found = |simulation: &mut Simulation, looks: &[(u64, Upto)]| {
        let mut lines = Vec::new();
        for &(to, upto) in looks {
            simulation.advance(to - simulation.step()).unwrap();
            lines.extend(simulation.lines(upto).unwrap());
        }
        let steps: Vec<u64> = lines.iter().filter(|line| !line.dvdl.is_empty()).map(|line| line.step).collect();
        assert!(steps.is_sorted(), "{steps:?}");
        lines.iter().map(in_words).collect::<Vec<String>>()
    };
    let mut kept = again(&start);
    assert_eq!(kept.keep(every, false).unwrap(), every);
    let mut lines = found(&mut kept, &[(26, Upto::Passed)]);
    // Another pH changes neither what has been noted before, nor the forces on λ at the present step.
    kept.set_ph(9.0).unwrap();
    lines.extend(found(&mut kept, &[(26, Upto::Present)]));
    kept.set_ph(4.5).unwrap();
    lines.sort_unstable();
    assert_eq!(lines, expected);
    assert!(kept.state().unwrap() == by_hand.state().unwrap(), "lines change the trajectory");

    // One that has run before leaves no trace in what it does next.
    kept.restore(&start).unwrap();
    kept.keep(every, false).unwrap();
    let mut lines = found(&mut kept, &[(26, Upto::Passed), (26, Upto::Present)]);
    lines.sort_unstable();
    assert_eq!(lines, expected);
    assert!(kept.state().unwrap() == by_hand.state().unwrap(), "the run before has left a trace");

    let mut looked = again(&start);
    looked.keep(every, false).unwrap();
    let looks = [(0, Upto::Present), (3, Upto::Passed), (10, Upto::Present), (11, Upto::AtHand), (12, Upto::Present)];
    let mut lines = found(&mut looked, &looks);
    let state = looked.state().unwrap();
    drop(looked);
    let mut continued = again(&state);
    continued.keep(every, true).unwrap();
    lines.extend(found(&mut continued, &[(14, Upto::AtHand), (15, Upto::Passed), (26, Upto::Present)]));
    lines.sort_unstable();
    assert_eq!(lines, expected);
}

/// A motion that has waited for lists makes steps again that had been launched: their lines are told once, and are those of the steps that were made.
#[test]
fn those_of_a_motion_that_has_waited_are_those_of_frames() {
    let device = Device::of_tests().unwrap();
    let config = glu("[electrostatics]\norder = 3\n[dynamics]\nsteps = 40\n[thermostat]\n");
    let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    let mut state = simulation.state().unwrap();
    // The last molecule is water.
    let n = state.velocities.len();
    state.velocities[n - 3..].iter_mut().for_each(|velocity| velocity.x += 9.0);
    let start = || {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(&state).unwrap();
        simulation
    };
    let every = LineIntervals { energies: Some(10), lambda: Some(1), last: 40 };
    let mut by_hand = start();
    let mut expected = asked(&mut by_hand, every, 40);
    assert!(!by_hand.notices().is_empty(), "the motion has not waited");
    let mut kept = start();
    kept.keep(every, false).unwrap();
    kept.advance(40).unwrap();
    let mut lines: Vec<String> = kept.lines(Upto::Present).unwrap().iter().map(in_words).collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

/// While a run moves, lines of λ cost neither an evaluation nor a look; one of energies is an evaluation and three launches, and two reads, by which the
/// host knows that the motion has come there and does not wait for lists. Lists are due once in the 20 steps that are compared.
/// More lines than there is room for on the device are fetched before newer ones take their place.
#[test]
fn they_cost_what_they_must_and_none_is_lost() {
    let device = Device::of_tests().unwrap();
    let config = glu("[electrostatics]\norder = 3\n[dynamics]\nsteps = 160\n[thermostat]\n");
    let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation.advance(1).unwrap();
    let none = LineIntervals::default();
    let mut counts = |every: LineIntervals| {
        simulation.keep(every, true).unwrap();
        let before = device.counts();
        simulation.advance(20).unwrap();
        device.counts() - before
    };
    let plain = counts(none);
    assert_eq!(counts(LineIntervals { lambda: Some(1), ..none }), plain);
    let energies = counts(LineIntervals { energies: Some(25), ..none });
    let expected = (plain.reads + 2, plain.writes, plain.launches + 3);
    assert_eq!((energies.reads, energies.writes, energies.launches), expected);
    // From step 61 on.
    simulation.keep(LineIntervals { energies: Some(1), lambda: Some(1), last: 160 }, false).unwrap();
    simulation.advance(99).unwrap();
    let early = simulation.lines(Upto::AtHand).unwrap();
    assert!(early.iter().any(|line| line.dvdl.is_empty()) && early.iter().any(|line| line.energies.is_empty()));
    let all: Vec<Frame> = early.into_iter().chain(simulation.lines(Upto::Present).unwrap()).collect();
    for kind in [|line: &Frame| !line.dvdl.is_empty(), |line: &Frame| !line.energies.is_empty()] {
        assert!(all.iter().filter(|line| kind(line)).map(|line| line.step).eq(61..=160));
    }
}
