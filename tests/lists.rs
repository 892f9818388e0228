//! What lists and boxes are worth when they are as old as they get on a GPU, on a trajectory of the CPU.

use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};
use forcefield::lennard_jones::{LennardJones, Modifier};
use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::backend::fmm_settings::workload;
use octitrate::backend::gpu::schedule::Schedule;
use octitrate::charges::{forces, relative};
use octitrate::config::Config;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::system::System;
use std::path::{Path, PathBuf};

/// A peptide in water, 3 500 atoms: its lists lose less energy than their tolerance says, though a list without a buffer loses a hundred times
/// as much, and the forces of boxes at the end of their time have less than twice the error of new ones.
#[test]
fn lists_and_boxes_keep_their_promise_until_they_are_made_anew() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/glu");
    let text = format!(
        "[system]\nstructure = \"{0}.gro\"\ntopology = \"{0}.top\"\n[dynamics]\nconstraints = \"h-bonds\"\n\
         [thermostat]\ntemperature = \"300 K\"\n",
        path.display()
    );
    let config = Config::parse(&text, Path::new("lists.toml")).unwrap();
    let (system, state) = System::new(&config).unwrap();
    let (topology, cell) = (system.topology.clone(), state.cell);
    let schedule = Schedule::new(&system, cell);
    assert_eq!((schedule.lists, schedule.boxes), (20, 20));
    let n = topology.n_atoms() as f64;
    let time = schedule.lists as f64 * system.plan.dt;

    let workload = workload(&state.positions, cell);
    let device = Device::emulator().unwrap();
    let boundary = Boundary::Periodic { cell: cell.periodic().unwrap().rows() };
    let fmm = |order, separation| {
        let tree = TreeShape::finest_root_on::<f32>(&device, order, separation, &workload);
        Fmm::<f64>::new(boundary, Settings { order, tree, separation }).unwrap()
    };
    let (mut old, mut new, mut exact) = (fmm(10, 1.2), fmm(10, 1.2), fmm(18, 1.7));
    let exclusions = Exclusions::from_pairs(topology.n_atoms(), topology.exclusions.pairs()).unwrap();
    let charges = topology.charges();
    let evaluate = |fmm: &mut Fmm<f64>, x: &[Vector3<f64>]| {
        let mut out = Potentials::default();
        fmm.evaluate(bytemuck::cast_slice(x), &charges, &mut out).unwrap();
        forces(&charges, &out.field).collect::<Vec<f64>>()
    };

    let list = |buffer| LennardJones::new(&topology, 1.0, Modifier::PotentialShift, buffer).unwrap();
    let (mut with_buffer, mut without, mut fresh) = (list(schedule.buffer), list(0.0), list(0.0));
    let mut simulation = Simulation::new(&config).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation.advance(100).unwrap();
    let (mut drift, mut of_none, rounds) = (0.0, 0.0, 4);
    for round in 0..rounds {
        let x = simulation.state().unwrap().positions;
        with_buffer.rebuild(&x, cell).unwrap();
        without.rebuild(&x, cell).unwrap();
        old.assign(bytemuck::cast_slice(&x), &exclusions).unwrap();
        simulation.advance(schedule.boxes).unwrap();
        if round == 0 {
            let x = simulation.state().unwrap().positions;
            for fmm in [&mut new, &mut exact] {
                fmm.assign(bytemuck::cast_slice(&x), &exclusions).unwrap();
            }
            let exact = evaluate(&mut exact, &x);
            let error = |fmm: &mut Fmm<f64>| relative(evaluate(fmm, &x).into_iter(), exact.iter().copied());
            let (old, new) = (error(&mut old), error(&mut new));
            println!("error of the forces: {new:.2e} with new boxes, {old:.2e} with old ones");
            assert!(old < 2.0 * new && new < 1e-4, "{old:e} {new:e}");
        }
        simulation.advance(schedule.lists - schedule.boxes).unwrap();
        let x = simulation.state().unwrap().positions;
        let mut unused = vec![Vector3::zeros(); x.len()];
        fresh.rebuild(&x, cell).unwrap();
        let mut energy = |list: &mut LennardJones| list.evaluate(&x, cell, &mut unused).energy;
        let whole = energy(&mut fresh);
        drift += (whole - energy(&mut with_buffer)).abs() / (n * time * f64::from(rounds));
        of_none += (whole - energy(&mut without)).abs() / (n * time * f64::from(rounds));
    }
    println!("drift {drift:.1e} with a buffer of {} nm, {of_none:.1e} without", schedule.buffer);
    assert!(drift < 1e-6 && of_none > 1e-4, "{drift:e} {of_none:e}");
}

/// Where lists are made anew a checkpoint has the present positions once, and that somebody has asked for it changes nothing.
#[test]
fn states_of_steps_that_make_lists_have_the_lists_of_their_positions() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/03-water/water");
    let text = format!(
        "[system]\nstructure = \"{0}.gro\"\ntopology = \"{0}.top\"\n[electrostatics]\norder = 3\n\
         [thermostat]\ntemperature = \"300 K\"\n",
        path.display()
    );
    // On the CPU a short buffer, so that lists do not serve for long.
    let device = Device::emulator().unwrap();
    for (device, buffer) in [(None, "[neighbour_list]\nbuffer = \"0.05 nm\"\n"), (Some(&device), "")] {
        let config = Config::parse(&format!("{text}{buffer}"), Path::new("lists.toml")).unwrap();
        let begin = || {
            let mut simulation = Simulation::on(&config, device).unwrap();
            simulation.prepare(&mut |_| Ok(())).unwrap();
            simulation.advance(1).unwrap();
            simulation
        };
        let (mut seen, mut unseen) = (begin(), begin());
        let every = seen.list_interval();
        let mut made = Vec::new();
        while seen.step() < 41 {
            let here = seen.makes_lists();
            assert!(every.is_none_or(|every| here == seen.step().is_multiple_of(every)));
            if here {
                made.push(seen.step());
                let state = seen.state().unwrap();
                assert_eq!(state.lists.positions, state.positions);
                assert!(state.gpu.is_none_or(|gpu| gpu.boxes == state.lists));
            } else if seen.step() % 5 == 0 {
                let state = seen.state().unwrap();
                assert_ne!(state.lists.positions, state.positions);
            }
            seen.advance(1).unwrap();
        }
        println!("lists made at steps {made:?}");
        assert!(made.len() >= 2);
        unseen.advance(40).unwrap();
        assert_eq!(seen.state().unwrap(), unseen.state().unwrap());
    }
}
