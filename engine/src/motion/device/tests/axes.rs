//! A barostat along single axes on the emulated device against that of the CPU, with the same forces: every kind of group, a thermostat, restrained positions.

use super::*;
use crate::motion::barostat::axes::{AxesRescale, AxesSettings, inner_virial, translation};
use crate::motion::barostat::stretch;
use crate::motion::device::twins::back;
use crate::state::BarostatState;
use forcefield::Cell;

const EVERY: u64 = 3;

fn coupling(system: &System) -> Coupling {
    let settings = AxesSettings {
        temperature: 300.0,
        tau: 0.5,
        plane: false,
        pressure: [40.0, -20.0, 5.0],
        compressibility: [1e-3, 1e-3, 0.0],
        surface_tension: 0.0,
    };
    Coupling { axes: Some((AxesRescale::new(settings).unwrap(), EVERY)), ..all_couplings(&system.masses) }
}

#[test]
fn groups_of_every_kind_follow_an_edge_as_on_the_cpu() {
    let system = System::mixed();
    let coupling = coupling(&system);
    let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, coupling);
    cpu.state.cell = Cell::rectangular(Vector3::new(6.0, 5.5, 5.0)).unwrap();
    let mut gpu = Gpu::new(&cpu);
    let (masses, constraints, barostat) = (&system.masses, system.constraints(), coupling.axes.unwrap().0);
    let mut done = BarostatState::default();
    for step in 0..40 {
        let mut normal = normals(100 + step);
        let fixed = fixed_point(&system.x.iter().map(|_| 600.0 * normal()).collect::<Vec<_>>());
        let (forces, images) = (back(&fixed), 300.0 * normal());
        gpu.put(&fixed, -5000.0, cpu.state.cell.volume().unwrap());
        gpu.motion.enqueue_groups(&gpu.stream, &gpu.forces, true).unwrap();
        gpu.motion.enqueue_advance(&gpu.stream, &gpu.forces, true).unwrap();
        gpu.motion.enqueue_groups(&gpu.stream, &gpu.forces, false).unwrap();
        gpu.motion.enqueue_finish(&gpu.stream, &gpu.energies, None).unwrap();
        let found = gpu.motion.pressure_times_volume(&gpu.stream, images).unwrap();

        let virial = |x: &[Vector3<f64>]| -> Vector3<f64> {
            let of_atoms: Vector3<f64> = x.iter().zip(&forces).map(|(x, f)| x.component_mul(f)).sum();
            of_atoms - inner_virial(x, &forces, masses, &constraints)
        };
        let along = virial(&cpu.state.x) + images;
        let mut begun = Cpu::new(masses, system.constraints(), &system.x, coupling);
        begun.state = cpu.state.clone();
        begun.begin_step();
        let before = begun.state.v;
        cpu.step(&forces, -5000.0);
        let kinetic =
            0.5 * (translation(&before, masses, &constraints) + translation(&cpu.state.v, masses, &constraints));
        let expected = along + kinetic;
        // Sums of 600 products of some 1e3 kJ/mol.
        assert!((found - expected).norm() < 1e-7, "step {step}: {found} and {expected}");

        let edges = cpu.state.cell.edges().unwrap();
        let pressure = expected / edges.product();
        AxesRescale::observe(&mut done, pressure, edges);
        let reference = Some(&gpu.reference);
        let changed = gpu.motion.couple_axes(&gpu.stream, found, step, reference).unwrap();
        assert_eq!(changed.is_some(), coupling.box_changes(step));
        if changed.is_some() {
            let seed = (SEED, step);
            let factors = barostat.couple(&mut done, pressure, edges, EVERY as f64 * DT, seed).unwrap();
            let state = &mut cpu.state;
            stretch(factors, &mut state.cell, &mut state.x, &mut state.v, masses, &constraints).unwrap();
            assert!(factors.z == 1.0 && factors.x != 1.0 && factors.x != factors.y);
        }
        let state = gpu.state();
        let apart = [difference(&state.x, &cpu.state.x), difference(&state.v, &cpu.state.v)];
        assert!(apart[0] < 1e-11 && apart[1] < 1e-8, "step {step}: {apart:?}");
        let edges = [state.cell, cpu.state.cell].map(|cell| cell.edges().unwrap());
        assert!((edges[0] - edges[1]).norm() < 1e-11 && edges[0].z == 5.0);
        let now = state.bath.barostat;
        assert!((now.work - done.work).abs() < 1e-8 * (1.0 + done.work.abs()), "{} {}", now.work, done.work);
        assert!((Vector3::from(now.pending_edges) - Vector3::from(done.pending_edges)).norm() < 1e-11);
    }
    // References follow as atoms do.
    let stretched = gpu.reference.read(&gpu.stream).unwrap();
    let factors = cpu.state.cell.edges().unwrap().component_div(&Vector3::new(6.0, 5.5, 5.0));
    for (k, reference) in stretched.iter().enumerate() {
        assert!((reference - 2.0 * factors[k % 3]).abs() < 1e-12, "{k}");
    }
    assert!((factors - Vector3::repeat(1.0)).abs().xy().min() > 1e-4);
}
