//! Motion of the emulated device against that of the CPU with the same forces.

use super::constraints::Units;
use super::coupling::{ListLimits, TABLE_STEPS};
use super::kernels::sources;
use super::twins::{
    Cpu, DT, Gpu, SEED, System, all_couplings, barostat, compare, difference, fixed_point, normals, thermostat,
};
use super::{Coupling, Crowd, MotionError, MotionState, Standing};
use crate::motion::constraints::ConstraintError;
use crate::motion::leapfrog::LeapFrog;
use crate::toy::{Droplet, spc_forces};
use kernels::device::{Device, DeviceError, check_layouts, compiles};
use nalgebra::Vector3;

mod axes;
mod langevin;
mod stars;

#[test]
fn units_are_what_the_groups_are() {
    let system = System::mixed();
    let units = Units::new(&system.masses, &system.constraints());
    assert_eq!((units.waters.len(), units.n_stars, units.groups.len(), units.free.len()), (153, 7, 2, 5 + 3));
    let rows: Vec<_> = units.blocks.iter().filter(|b| b[0] == 0).map(|b| (b[2], b[3] != u32::MAX)).collect();
    assert_eq!(rows, [(64, true), (64, true), (22, true), (3, false)]);
    // Stars of as many bonds, most first.
    let of_stars: Vec<_> = units.blocks.iter().filter(|b| b[0] == 1).collect();
    assert_eq!(of_stars.iter().map(|b| (b[3], b[2])).collect::<Vec<_>>(), [(4, 1), (3, 2), (2, 1), (1, 3)]);
    for block in of_stars {
        let stars = block[1] as usize..(block[1] + block[2]) as usize;
        let bonds = &units.stars[units.n_stars..2 * units.n_stars][stars];
        assert!(bonds.iter().all(|&n| n == block[3]), "a block of {} has {bonds:?}", block[3]);
    }
    // The chain: bonds follow each other, hydrogens at its start share an atom with the first.
    assert_eq!((units.groups[0][1], units.groups[0][3]), (48, 44));
    let mut seen: Vec<u32> = units.waters.iter().flat_map(|w| w[..3].to_vec()).collect();
    seen.extend(units.group_atoms.iter().chain(&units.free));
    for star in 0..units.n_stars {
        let n = units.stars[units.n_stars + star] as usize;
        seen.push(units.stars[star]);
        seen.extend((0..n).map(|k| units.stars[(2 + k) * units.n_stars + star]));
    }
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..system.x.len() as u32), "every atom once");
}

#[test]
fn rigid_waters_move_as_on_the_cpu() {
    let mut system = System::default();
    system.add_waters(200, Vector3::new(-1.0, 2.0, 0.5), false);
    compare(&system, Coupling::default(), 20);
}

#[test]
fn stars_and_chains_move_as_on_the_cpu() {
    let mut system = System::default();
    for k in 0..150 {
        let at = Vector3::new(k % 12, k / 12, 0).map(|i| 0.4 * f64::from(i));
        system.add_star(1 + k as usize % 4, k as usize % 2, at);
    }
    for k in 0..6 {
        system.add_chain(2 + 9 * k, Vector3::new(0.0, 0.4 * k as f64, 2.0));
    }
    compare(&system, Coupling::default(), 20);
}

#[test]
fn a_hundred_steps_of_everything_with_thermostat_and_removed_drift() {
    let system = System::mixed();
    compare(&system, all_couplings(&system.masses), 100);
}

#[test]
fn a_hundred_steps_at_constant_pressure() {
    let system = System::mixed();
    let coupling = Coupling { barostat: Some((barostat(), 3)), ..all_couplings(&system.masses) };
    compare(&system, coupling, 100);
    compare(&system, Coupling { barostat_start: 41, ..coupling }, 100);
}

/// Waters that interact; forces of the positions of the device.
#[test]
fn energies_of_a_droplet_and_a_look_ahead_are_those_of_the_cpu() {
    let Droplet { masses, constraints, x } = Droplet::new(2);
    let mut cpu = Cpu::new(&masses, constraints, &x, Coupling::default());
    let gpu = Gpu::new(&cpu);
    let mut forces = vec![Vector3::zeros(); x.len()];
    for step in 0..100 {
        let state = gpu.state();
        let potential = spc_forces(&state.x, &mut forces);
        let fixed = fixed_point(&forces);
        gpu.put(&fixed, potential, 1.0);
        gpu.motion.enqueue_look_ahead(&gpu.stream, &gpu.forces, &gpu.energies).unwrap();
        let looked = gpu.motion.looked(&gpu.stream).unwrap();
        assert!(gpu.state() == state);
        gpu.step();
        let observed = gpu.motion.observed(&gpu.stream).unwrap();
        assert_eq!(looked, observed);
        let of_cpu = cpu.state.x.clone();
        spc_forces(&of_cpu, &mut forces);
        let (energies, _) = cpu.step(&forces, 0.0);
        // Forces are rounded to 2e-10 kJ/mol/nm.
        assert!((observed.kinetic() - energies.kinetic()).abs() < 1e-8, "step {step}");
    }
    assert!(difference(&gpu.state().x, &cpu.state.x) < 1e-10);
}

#[test]
fn runs_repeat_bit_for_bit_also_from_a_graph_and_from_a_saved_state() {
    let system = System::mixed();
    repeat(&system, Coupling { barostat: Some((barostat(), 2)), ..all_couplings(&system.masses) });
}

/// A run that is enqueued step by step, one of graphs, and one that goes on from a saved state.
fn repeat(system: &System, coupling: Coupling) {
    let cpu = Cpu::new(&system.masses, system.constraints(), &system.x, coupling);
    let mut normal = normals(3);
    let forces = fixed_point(&system.x.iter().map(|_| 300.0 * normal()).collect::<Vec<_>>());
    // Forces that stay: nothing is cleared.
    let enqueue = |gpu: &Gpu| gpu.motion.enqueue_step(&gpu.stream, &gpu.forces, &gpu.energies, None, None, false);
    let start = |state: &MotionState| {
        let mut gpu = Gpu::new(&cpu);
        gpu.motion.upload(&gpu.stream, state).unwrap();
        gpu.motion.cover(&gpu.stream, state.step, 100).unwrap();
        gpu.put(&forces, -3000.0, 160.0);
        gpu
    };
    let one = start(&cpu.state);
    (0..24).for_each(|_| enqueue(&one).unwrap());
    let two = start(&cpu.state);
    let graph = two.stream.capture(|| (0..8).try_for_each(|_| enqueue(&two))).unwrap();
    (0..3).for_each(|_| graph.launch(&two.stream).unwrap());
    assert!(one.state() == two.state());
    let half = start(&cpu.state);
    (0..10).for_each(|_| enqueue(&half).unwrap());
    let saved = half.state();
    assert_eq!(saved.step, 10);
    let rest = start(&saved);
    (0..14).for_each(|_| enqueue(&rest).unwrap());
    assert!(one.state() == rest.state(), "a continued run is the same to the last bit");
    // Without what was prepared it is the same but for the order of a sum.
    let other = start(&MotionState { prepared: None, ..saved });
    (0..14).for_each(|_| enqueue(&other).unwrap());
    let (a, b) = (one.state(), other.state());
    assert!(difference(&a.x, &b.x) < 1e-13 && difference(&a.v, &b.v) < 1e-12);
    assert!((a.bath.thermostat_work - b.bath.thermostat_work).abs() < 1e-9);
}

#[test]
fn the_motion_waits_where_lists_cease_to_serve() {
    let mut system = System::default();
    for k in 0..300 {
        system.add(10.0, Vector3::new(k % 7, k / 7 % 7, k / 49).map(|i| 0.4 * f64::from(i)));
    }
    let coupling = Coupling { barostat: Some((barostat(), 1000)), ..Coupling::default() };
    let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, coupling);
    cpu.state.v.fill(Vector3::zeros());
    cpu.state.v[151] = Vector3::new(0.0, 6.0, 0.0);
    cpu.state.v[17] = Vector3::new(7.0, 0.0, 0.0);
    let mut gpu = Gpu::new(&cpu);
    // Atom 17 may go as far as it likes, atom 151 by 0.05 nm.
    let mut limits = ListLimits { farthest: vec![0.05; 300], least_scale: 0.99 };
    limits.farthest[17] = 1.0;
    gpu.motion.watch_lists(&Device::of_tests().unwrap(), &gpu.stream, &limits).unwrap();
    gpu.motion.upload(&gpu.stream, &cpu.state).unwrap();
    gpu.motion.cover(&gpu.stream, 0, 100).unwrap();
    let free = Gpu::new(&cpu);
    let check = |gpu: &Gpu| {
        let Standing { step, waits, .. } = gpu.motion.check(&gpu.stream).unwrap();
        (step, waits)
    };
    let due = |gpu: &Gpu| gpu.motion.clock.read(&gpu.stream).unwrap()[0].due;
    for step in 1..=8_u64 {
        gpu.step();
        // 0.012 nm a step.
        assert_eq!(check(&gpu), (step.min(5), step >= 5));
        assert_eq!(due(&gpu), if step < 5 { step as i64 } else { -1 });
        let part = (0.012 * step.min(5) as f64 / 0.05_f64).powi(2);
        assert!((gpu.motion.observed(&gpu.stream).unwrap().largest_move - part.sqrt()).abs() < 1e-6);
    }
    let (atom, part) = gpu.motion.check(&gpu.stream).unwrap().astray.unwrap();
    assert!(atom == 151 && (part - 1.2).abs() < 1e-6, "{atom} {part}");
    (0..5).for_each(|_| free.step());
    assert!(gpu.state() == free.state(), "the steps after the one that waits leave no trace");
    let (then, one) = gpu.motion.lists(&gpu.stream).unwrap();
    assert!(then == system.x && one == Vector3::repeat(1.0));
    // Even where new random numbers are written in the meantime, it waits.
    gpu.motion.cover(&gpu.stream, TABLE_STEPS, 10).unwrap();
    gpu.step();
    assert_eq!((check(&gpu), due(&gpu)), ((5, true), -1));
    gpu.motion.cover(&gpu.stream, 5, 10).unwrap();
    gpu.motion.enqueue_mark_lists(&gpu.stream, None).unwrap();
    gpu.step();
    assert_eq!(check(&gpu), (5, true), "it waits until it is let go");
    gpu.motion.release(&gpu.stream).unwrap();
    assert_eq!((check(&gpu), due(&gpu)), ((5, false), 5));
    for _ in 0..4 {
        gpu.step();
        free.step();
    }
    assert_eq!(check(&gpu), (9, false));
    assert!(gpu.state() == free.state(), "a motion that has waited goes on as one that has not");
    // A list with room for all that it found serves, one without does not.
    let found = Device::of_tests().unwrap().upload(&[65_u32]).unwrap();
    let mark =
        |room| gpu.motion.enqueue_mark_lists(&gpu.stream, Some(Crowd { neighbours: found.arg(), room })).unwrap();
    mark(65);
    assert_eq!((check(&gpu), due(&gpu)), ((9, false), 9));
    mark(64);
    assert_eq!((check(&gpu), due(&gpu)), ((9, true), -1));
    gpu.step();
    assert!(check(&gpu) == (9, true) && gpu.state() == free.state(), "a step with a list that lacks pairs");
    gpu.motion.release(&gpu.stream).unwrap();
    // A box that has shrunk leaves less of the buffer.
    let larger: Vec<_> = gpu.state().x.iter().map(|x| x / 0.98).collect();
    gpu.motion.restore_lists(&gpu.stream, &larger, Vector3::repeat(0.98)).unwrap();
    gpu.step();
    assert_eq!(gpu.motion.check(&gpu.stream).unwrap(), Standing { step: 10, waits: true, astray: None });
    // Limits of another system are refused.
    limits.farthest.pop();
    assert!(gpu.motion.watch_lists(&Device::of_tests().unwrap(), &gpu.stream, &limits).is_err());
}

/// A position that is not a number is far away.
#[test]
fn lists_do_not_serve_an_atom_that_is_nowhere() {
    let mut system = System::default();
    system.add_waters(5, Vector3::zeros(), false);
    let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, Coupling::default());
    let mut gpu = Gpu::new(&cpu);
    let limits = ListLimits { farthest: vec![0.1; system.x.len()], least_scale: 0.99 };
    gpu.motion.watch_lists(&Device::of_tests().unwrap(), &gpu.stream, &limits).unwrap();
    gpu.motion.upload(&gpu.stream, &cpu.state).unwrap();
    gpu.motion.cover(&gpu.stream, 0, 10).unwrap();
    cpu.state.x[4].y = f64::NAN;
    gpu.motion.restore_lists(&gpu.stream, &cpu.state.x, Vector3::repeat(1.0)).unwrap();
    gpu.step();
    let standing = gpu.motion.check(&gpu.stream).unwrap();
    assert!(standing.waits && standing.astray.is_some_and(|(atom, part)| atom == 4 && part > 1e9), "{standing:?}");
}

/// Kernels would read and write what does not belong to them.
#[test]
fn short_buffers_are_refused() {
    let system = System::mixed();
    let cpu = Cpu::new(&system.masses, system.constraints(), &system.x, Coupling::default());
    let Gpu { motion, stream, forces, energies, .. } = Gpu::new(&cpu);
    let few = |n| Device::of_tests().unwrap().zeros::<i64>(n).unwrap();
    let short = |n: usize| Err(DeviceError::Length { expected: n, found: n - 1 });
    let n = 3 * system.masses.len();
    assert_eq!(motion.enqueue_step(&stream, &few(n - 1), &energies, None, None, false), short(n));
    assert_eq!(motion.enqueue_finish(&stream, &few(2), None), short(3));
    assert_eq!(motion.enqueue_look_ahead(&stream, &forces, &few(2)), short(3));
}

#[test]
fn failures_are_told_and_stop_the_motion() {
    let system = System::mixed();
    let fail = |coupling: Coupling, change: &dyn Fn(&mut MotionState), force: Option<(usize, i64)>, virial: f64| {
        let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, coupling);
        let mut gpu = Gpu::new(&cpu);
        change(&mut cpu.state);
        gpu.motion.upload(&gpu.stream, &cpu.state).unwrap();
        if let Err(e) = gpu.motion.cover(&gpu.stream, 0, 100) {
            return e;
        }
        let mut forces = vec![0; 3 * system.x.len()];
        gpu.put(&forces, virial, 165.0);
        gpu.step();
        if let Some((place, force)) = force {
            forces[place] = force;
        }
        gpu.put(&forces, virial, 165.0);
        gpu.step();
        let stopped = gpu.state();
        gpu.step();
        // As text, because a number that is not one is not equal to itself.
        assert!(format!("{:?}", gpu.state()) == format!("{stopped:?}"), "nothing moves any more");
        gpu.motion.check(&gpu.stream).unwrap_err()
    };
    let none = Coupling::default();
    let big = 1_i64 << 56;
    let oxygen = system.settles[40].oxygen;
    let settle = fail(none, &|_| (), Some((3 * oxygen as usize + 3, big)), 0.0);
    assert_eq!(settle, MotionError::Settle { step: 1, atom: oxygen });
    // An atom of a star, of a chain, of a pair: the bond is that of the CPU.
    for atom in [19, 40, system.x.len() - 1] {
        let place = 3 * atom + 1;
        let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, none);
        let mut forces = vec![Vector3::zeros(); system.x.len()];
        cpu.step(&forces, 0.0);
        forces[atom].y = big as f64 / 4_294_967_296.0;
        let Cpu { masses, constraints, state, .. } = &mut cpu;
        let leap = LeapFrog { masses, constraints, dt: DT };
        let error = leap.step(&mut state.x, &mut state.v, &forces, &mut Vec::new()).unwrap_err();
        let ConstraintError::Shake { mut atoms, .. } = error else { panic!("{error}") };
        atoms.sort_unstable();
        assert_eq!(fail(none, &|_| (), Some((place, big)), 0.0), MotionError::Shake { step: 1, atoms });
    }
    assert_eq!(fail(none, &|_| (), Some((3 * 2, i64::MAX)), 0.0), MotionError::NotFinite { step: 1, atom: 2 });
    let nan = |state: &mut MotionState| state.x[3].y = f64::NAN;
    assert_eq!(fail(none, &nan, None, 0.0), MotionError::NotFinite { step: 0, atom: 3 });
    let hot = Coupling { thermostat: Some((thermostat(&system.masses), 10)), seed: SEED, ..none };
    let cold = |state: &mut MotionState| state.v.fill(Vector3::zeros());
    assert_eq!(fail(hot, &cold, None, 0.0), MotionError::Thermostat { step: 0 });
    let pressed = Coupling { barostat: Some((barostat(), 2)), ..none };
    assert_eq!(fail(pressed, &|_| (), None, 1e9), MotionError::Barostat { step: 1 });
}

#[test]
fn random_numbers_are_there_for_any_step() {
    let mut system = System::default();
    system.add_waters(2, Vector3::zeros(), false);
    let coupling = Coupling { seed: SEED, thermostat: Some((thermostat(&system.masses), 1)), ..Coupling::default() };
    let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, coupling);
    let first = 5000;
    cpu.state.step = first;
    let mut gpu = Gpu::new(&cpu);
    gpu.stream.zero(&gpu.forces).unwrap();
    // A table that began long ago and ends after three steps, then the next one.
    gpu.motion.cover(&gpu.stream, first + 3 - TABLE_STEPS, 1).unwrap();
    let mut go_on = |gpu: &mut Gpu, steps| {
        for _ in 0..steps {
            gpu.step();
            cpu.step(&[Vector3::zeros(); 6], 0.0);
        }
        let (state, of_cpu) = (gpu.state(), &cpu.state);
        assert_eq!(state.step, of_cpu.step);
        assert!(difference(&state.v, &of_cpu.v) < 1e-11);
        assert!((state.bath.thermostat_work - of_cpu.bath.thermostat_work).abs() < 1e-9);
    };
    go_on(&mut gpu, 2);
    gpu.motion.cover(&gpu.stream, first + 2, 10).unwrap();
    go_on(&mut gpu, 10);
    // Without new numbers the motion stops.
    let end = first + 12 + 3;
    gpu.motion.cover(&gpu.stream, end - TABLE_STEPS, 1).unwrap();
    for _ in 0..10 {
        gpu.step();
    }
    assert_eq!(gpu.motion.check(&gpu.stream), Err(MotionError::Random { step: end }));
}

#[test]
fn layouts_are_those_of_the_device() {
    let device = Device::of_tests().unwrap();
    for source in [false, true].into_iter().flat_map(sources) {
        check_layouts(&device, &source).unwrap();
    }
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    for source in [false, true].into_iter().flat_map(sources) {
        ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&source, architecture).unwrap());
    }
}
