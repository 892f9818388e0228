//! Sizes of boxes with exact distributions, conserved energy, forces inside of groups.

use super::*;
use crate::motion::barostat::stretch;
use crate::motion::leapfrog::{LeapFrog, kinetic_energy, scale, start_velocities};
use crate::motion::thermostat::VRescale;
use crate::state::BathState;
use crate::toy::{Droplet, mean_and_variance, slope, soft_sphere_forces};
use forcefield::Cell;
use rand_distr::ChiSquared;

const TEMPERATURE: f64 = 300.0;
const RT: f64 = GAS_CONSTANT * TEMPERATURE;
/// Bodies of the ideal gases.
const BODIES: f64 = 400.0;

/// χ² of samples in 20 bins of equal probability under the density e^{log(x)}, within five standard deviations.
fn assert_distribution(what: &str, samples: &[f64], range: (f64, f64), log: impl Fn(f64) -> f64) {
    const POINTS: usize = 20_000;
    const BINS: usize = 20;
    let at = |k: usize| range.0 + (range.1 - range.0) * (k as f64 + 0.5) / POINTS as f64;
    let largest = (0..POINTS).map(|k| log(at(k))).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = (0..POINTS).map(|k| (log(at(k)) - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let (mut sum, mut edges) = (0.0, Vec::new());
    for (k, weight) in weights.iter().enumerate() {
        sum += weight;
        if sum >= total * (edges.len() + 1) as f64 / BINS as f64 && edges.len() + 1 < BINS {
            edges.push(at(k));
        }
    }
    let mut counts = [0.0; BINS];
    samples.iter().for_each(|x| counts[edges.partition_point(|edge| edge < x)] += 1.0);
    let expected = samples.len() as f64 / BINS as f64;
    let chi2: f64 = counts.iter().map(|n| (n - expected) * (n - expected) / expected).sum();
    let freedom = (BINS - 1) as f64;
    let (mean, variance) = mean_and_variance(samples);
    println!("{what}: {} samples, mean {mean:.4}, σ {:.4}, χ² {chi2:.1} of {freedom}", samples.len(), variance.sqrt());
    assert!(chi2 < freedom + 5.0 * (2.0 * freedom).sqrt(), "{what}: χ² {chi2}");
}

/// Edges of boxes of an ideal gas, of samples that are independent but for e⁻³. `push`: −∂U/∂ln L_a of an energy U of the box.
fn boxes(
    barostat: &AxesRescale,
    start: Vector3<f64>,
    push: impl Fn(Vector3<f64>) -> Vector3<f64>,
) -> Vec<Vector3<f64>> {
    let (dt, mut edges, mut state) = (0.01, start, BarostatState::default());
    let chi2 = ChiSquared::new(BODIES).unwrap();
    let mut random = generator(9, RandomStream::Thermostat, 0);
    let mut one = |step: u64| {
        // Velocities of the canonical distribution, new in each step.
        let translation = Vector3::from_fn(|_, _| RT * chi2.sample(&mut random));
        let pressure = (translation + push(edges)) / edges.product();
        let factors = barostat.couple(&mut state, pressure, edges, dt, (3, step)).unwrap();
        edges.component_mul_assign(&factors);
        edges
    };
    (0..300_000).map(&mut one).step_by(300).collect()
}

fn settings(plane: bool, pressure: f64, volume: f64) -> AxesSettings {
    // With this β a gas of BODIES relaxes along an axis, whose part is a third, within τ.
    let compressibility = [3.0 * volume / (BODIES * RT); 3];
    let pressure = [pressure; 3];
    AxesSettings { temperature: TEMPERATURE, tau: 1.0, plane, pressure, compressibility, surface_tension: 0.0 }
}

/// U = Σ g_a L_a at no pressure: p ∝ Π L_a^N e^{−g_a L_a/RT}, each edge by itself.
#[test]
fn edges_that_change_one_by_one_have_the_exact_distribution() {
    let start = Vector3::new(2.0, 3.0, 4.0);
    let pull = start.map(|edge| (BODIES + 1.0) * RT / edge);
    let barostat = AxesRescale::new(settings(false, 0.0, start.product())).unwrap();
    let edges = boxes(&barostat, start, |edges| -pull.component_mul(&edges));
    for axis in 0..3 {
        let lengths: Vec<f64> = edges.iter().map(|edges| edges[axis]).collect();
        let range = (0.2 * start[axis], 2.5 * start[axis]);
        assert_distribution(["x", "y", "z"][axis], &lengths, range, |x| BODIES * x.ln() - pull[axis] * x / RT);
    }
    // Axes do not know of each other.
    let of = |axis: usize| edges.iter().map(|edges| edges[axis] / start[axis] - 1.0).collect::<Vec<_>>();
    let (x, z) = (of(0), of(2));
    let [(mx, vx), (mz, vz)] = [mean_and_variance(&x), mean_and_variance(&z)];
    let covariance = x.iter().zip(&z).map(|(x, z)| (x - mx) * (z - mz)).sum::<f64>() / x.len() as f64;
    assert!((covariance / (vx * vz).sqrt()).abs() < 5.0 / (x.len() as f64).sqrt(), "{covariance}");
}

/// The surface tension is the energy of the area: p ∝ A^N e^{γA/RT} with γ below zero, and U = g L_z.
#[test]
fn area_and_height_have_the_exact_distribution_under_surface_tension() {
    let start = Vector3::new(3.0, 3.0, 4.0);
    let (area, height) = (9.0, 4.0);
    let [tension, pull] = [area, height].map(|size| (BODIES + 1.0) * RT / size);
    let with_tension = AxesSettings { surface_tension: -tension, ..settings(true, 0.0, start.product()) };
    let barostat = AxesRescale::new(with_tension).unwrap();
    let edges = boxes(&barostat, start, |edges| Vector3::new(0.0, 0.0, -pull * edges.z));
    let areas: Vec<f64> = edges.iter().map(|edges| edges.x * edges.y).collect();
    let heights: Vec<f64> = edges.iter().map(|edges| edges.z).collect();
    assert!(edges.iter().all(|edges| edges.x == edges.y));
    assert_distribution("area", &areas, (0.2 * area, 2.5 * area), |a| BODIES * a.ln() - tension * a / RT);
    assert_distribution("height", &heights, (0.2 * height, 2.5 * height), |z| BODIES * z.ln() - pull * z / RT);
}

/// U = ½κs² of the shape s = ln L_z − ½ ln A: the volume has the distribution of the isotropic box, V^N e^{−P₀V/RT}, and s is normal.
#[test]
fn volume_and_shape_are_independent_and_exact() {
    let (wanted, kappa) = (15.0, 600.0 * RT);
    let volume = (BODIES + 1.0) * RT / wanted;
    let shape = |edges: Vector3<f64>| edges.z.ln() - 0.5 * (edges.x * edges.y).ln();
    for plane in [true, false] {
        let barostat = AxesRescale::new(settings(plane, wanted, volume)).unwrap();
        // Of single axes the other two shapes need an energy too.
        let stiff = if plane { 0.0 } else { 600.0 * RT };
        let edges = boxes(&barostat, Vector3::repeat(volume.cbrt()), |edges| {
            let (s, t) = (kappa * shape(edges), stiff * (edges.x / edges.y).ln());
            Vector3::new(0.5 * s - t, 0.5 * s + t, -s)
        });
        let volumes: Vec<f64> = edges.iter().map(|edges| edges.product()).collect();
        let shapes: Vec<f64> = edges.iter().map(|edges| shape(*edges)).collect();
        assert_distribution("volume", &volumes, (0.2 * volume, 2.5 * volume), |v| BODIES * v.ln() - wanted * v / RT);
        assert_distribution("shape", &shapes, (-1.0, 1.0), |s| -0.5 * kappa * s * s / RT);
    }
}

/// What the force on the atoms of a group does to its inside is no pressure: bodies of two atoms, pulled apart.
#[test]
fn forces_inside_of_a_group_have_no_virial() {
    let Droplet { masses, constraints, x } = Droplet::new(2);
    let mut f: Vec<Vector3<f64>> = (0..x.len()).map(|i| Vector3::new(i as f64, 1.0, -0.5 * i as f64)).collect();
    let of_atoms = |f: &[Vector3<f64>]| x.iter().zip(f).map(|(x, f)| x.component_mul(f)).sum::<Vector3<f64>>();
    let of_centres = |f: &[Vector3<f64>]| of_atoms(f) - inner_virial(&x, f, &masses, &constraints);
    let before = of_centres(&f);
    assert!((of_atoms(&f) - before).norm() > 1e-3);
    // Equal and opposite forces on two atoms of each water.
    for water in f.chunks_mut(3) {
        let push = Vector3::new(30.0, -20.0, 11.0);
        water[0] += push;
        water[2] -= push;
    }
    assert!((of_centres(&f) - before).norm() < 1e-10);
}

/// 64 soft spheres in a box of which the plane or the height changes.
fn soft_spheres(steps: u64, tension: f64, compressibility: [f64; 3]) -> Vec<[f64; 4]> {
    const MASS: f64 = 40.0;
    const DT: f64 = 0.002;
    let mut x: Vec<_> = (0..64).map(|k| 0.36 * Vector3::new(k % 4, k / 4 % 4, k / 16).map(f64::from)).collect();
    let masses = vec![MASS; 64];
    let none = Constraints::from_parts(&masses, &[], &[], 1e-10).unwrap();
    let mut v = start_velocities(&x, &masses, &none, TEMPERATURE, true, 8).unwrap();
    let mut cell = Cell::rectangular(Vector3::repeat(1.44)).unwrap();
    let thermostat = VRescale::new(TEMPERATURE, 0.1, 189).unwrap();
    let pressure = [40.0 + tension / 1.44, 40.0 + tension / 1.44, 40.0];
    let barostat = AxesRescale::new(AxesSettings {
        temperature: TEMPERATURE,
        tau: 0.5,
        plane: true,
        pressure,
        compressibility,
        surface_tension: tension,
    })
    .unwrap();
    let (mut bath, mut f, mut previous) = (BathState::default(), vec![Vector3::zeros(); 64], Vec::new());
    let integrator = LeapFrog { masses: &masses, constraints: &none, dt: DT };
    let mut one = |step: u64| {
        let (potential, virial) = soft_sphere_forces(&cell, &x, &mut f);
        let kinetic = kinetic_energy(&v, &masses);
        scale(&mut v, thermostat.rescale(&mut bath.thermostat_work, kinetic, DT, 6, step).unwrap());
        let before = translation(&v, &masses, &none);
        let energies = integrator.step(&mut x, &mut v, &f, &mut previous).unwrap();
        let edges = cell.edges().unwrap();
        let pressure = (0.5 * (before + translation(&v, &masses, &none)) + virial) / edges.product();
        AxesRescale::observe(&mut bath.barostat, pressure, edges);
        let total = potential + energies.kinetic();
        let conserved = total - bath.thermostat_work - bath.barostat.work;
        if step.is_multiple_of(5) {
            let factors = barostat.couple(&mut bath.barostat, pressure, edges, 5.0 * DT, (6, step)).unwrap();
            stretch(factors, &mut cell, &mut x, &mut v, &masses, &none).unwrap();
        }
        [total, conserved, 0.5 * (pressure.x + pressure.y), pressure.z]
    };
    (0..steps).map(&mut one).collect()
}

#[test]
fn energy_with_work_is_conserved_and_the_mean_pressures_are_those_wanted() {
    // The plane under surface tension at a height that stays, and the height on a plane that stays: a liquid keeps no shape of its own.
    for (free, tension, compressibility) in [(2, 14.4, [0.006, 0.006, 0.0]), (3, 0.0, [0.0, 0.0, 0.006])] {
        let rows = soft_spheres(32_000, tension, compressibility).split_off(2000);
        let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<_>>();
        let ((_, spread), (_, left)) = (mean_and_variance(&column(0)), mean_and_variance(&column(1)));
        let drift = slope(&column(1)) / 0.002;
        println!("σ(E) {:.2}, σ(conserved) {:.3} kJ/mol, drift {drift:.2e} kJ/mol/ps", spread.sqrt(), left.sqrt());
        // As of the isotropic barostat: the errors of single scalings are a random walk; the simple sum of the work would drift by RT/τ, 5 kJ/mol/ps.
        assert!(drift.abs() < 0.2, "{drift} kJ/mol/ps");
        assert!(left < 0.01 * spread, "{left} {spread}");
        let (mean, _) = mean_and_variance(&column(free));
        // The noise of the barostat over 60 ps, on one axis or two: five standard errors.
        let axes = if free == 2 { 2.0 } else { 1.0 };
        let error = (2.0 * RT * 3.0 * 0.5 / (axes * 0.006 * 3.0 * 60.0)).sqrt();
        println!("mean pressure {mean:.3}, wanted 40, error {error:.2}");
        assert!((mean - 40.0).abs() < 5.0 * error, "{mean}");
    }
}

#[test]
fn impossible_settings_and_explosions_are_refused() {
    let good = settings(true, 0.06, 30.0);
    let refused = [
        AxesSettings { pressure: [0.0, 0.0, f64::NAN], ..good },
        AxesSettings { temperature: 0.0, ..good },
        AxesSettings { tau: f64::INFINITY, ..good },
        AxesSettings { compressibility: [0.0; 3], ..good },
        AxesSettings { compressibility: [1.0, 1.0, -1.0], ..good },
        AxesSettings { surface_tension: f64::INFINITY, ..good },
    ];
    for settings in refused {
        assert!(matches!(AxesRescale::new(settings), Err(BarostatError::Setting { .. })), "{settings:?}");
    }
    let barostat = AxesRescale::new(good).unwrap();
    for pressure in [1e6, -1e9, f64::NAN] {
        let along = Vector3::new(0.06, 0.06, pressure);
        let error = barostat.couple(&mut BarostatState::default(), along, Vector3::repeat(3.0), 0.02, (1, 1));
        assert!(matches!(error, Err(BarostatError::TooFast { .. })), "{error:?}");
    }
}
