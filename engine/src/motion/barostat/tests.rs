//! Volume distributions with exact answers, conserved energy, exact continuation.

use super::*;
use crate::motion::leapfrog::{LeapFrog, kinetic_energy, pressure, scale, start_velocities};
use crate::motion::thermostat::VRescale;
use crate::state::BathState;
use crate::toy::{Droplet, mean_and_variance, slope, soft_sphere_forces};

const TEMPERATURE: f64 = 300.0;
const RT: f64 = GAS_CONSTANT * TEMPERATURE;

/// `n` bodies without forces and without motion of their centre of mass: p(V) ∝ V^{n−1} e^{−PV/RT}, so that V P/RT follows
/// the Gamma distribution of shape n. `samples`: number of independent volumes, by the relaxation time.
fn assert_volumes_of_ideal_gas(volumes: &[f64], n: f64, unit: f64, samples: f64) {
    let (mean, variance) = mean_and_variance(volumes);
    println!("ideal gas of {n}: mean {:.4}, variance {:.4} of exact", mean / (n * unit), variance / (n * unit * unit));
    // Five standard errors.
    assert!((mean / (n * unit) - 1.0).abs() < 5.0 / (n * samples).sqrt(), "mean {mean}, exact {}", n * unit);
    let width = 5.0 * (2.0 / samples).sqrt();
    assert!((variance / (n * unit * unit) - 1.0).abs() < width, "variance {variance}, exact {}", n * unit * unit);
}

#[test]
fn ideal_gas_has_the_exact_distribution_of_volumes() {
    let (n, wanted, dt, tau) = (64.0, 0.5, 0.02, 1.0);
    let settings = BarostatSettings { pressure: wanted, temperature: TEMPERATURE, tau, compressibility: 1.0 / wanted };
    let barostat = CRescale::new(settings).unwrap();
    let dof = 3 * 63;
    let mut bath = BathState::default();
    let thermostat = VRescale::new(TEMPERATURE, 0.1, dof).unwrap();
    let mut kinetic = 0.5 * dof as f64 * RT;
    let mut volume = n * RT / wanted;
    let steps = 1_000_000;
    let volumes: Vec<f64> = (0..steps)
        .map(|step| {
            kinetic *= thermostat.rescale(&mut bath.thermostat_work, kinetic, dt, 2, step).unwrap().powi(2);
            let factor =
                barostat.couple(&mut bath.barostat, pressure(kinetic, 0.0, volume), volume, dt, 2, step).unwrap();
            volume *= factor.powi(3);
            kinetic /= factor * factor;
            volume
        })
        .collect();
    // With β_T of the ideal gas the volume relaxes with τ: one independent sample in 2τ.
    assert_volumes_of_ideal_gas(&volumes, n, RT / wanted, steps as f64 * dt / (2.0 * tau));
}

/// Rotating rigid waters without forces: the constraint virial must cancel the kinetic energy of rotation.
/// Nothing but new velocities from time to time exchanges energy between molecules, or rotation and translation.
#[test]
fn gas_of_rigid_waters_has_the_distribution_of_its_centres() {
    let Droplet { masses, constraints, mut x } = Droplet::new(3);
    let (wanted, dt, tau, steps) = (0.5, 0.002, 0.4, 100_000);
    let settings = BarostatSettings { pressure: wanted, temperature: TEMPERATURE, tau, compressibility: 1.0 / wanted };
    let barostat = CRescale::new(settings).unwrap();
    let mut state = BarostatState::default();
    let mut cell = Cell::rectangular(Vector3::repeat((27.0 * RT / wanted).cbrt())).unwrap();
    let mut v = Vec::new();
    let f = vec![Vector3::zeros(); x.len()];
    let mut previous = Vec::new();
    let integrator = LeapFrog { masses: &masses, constraints: &constraints, dt };
    let volumes: Vec<f64> = (0..steps)
        .map(|step| {
            if step % 50 == 0 {
                v = start_velocities(&x, &masses, &constraints, TEMPERATURE, true, step).unwrap();
                integrator.half_step_back(&x, &mut v, &f).unwrap();
            }
            let energies = integrator.step(&mut x, &mut v, &f, &mut previous).unwrap();
            let p = pressure(energies.kinetic(), energies.constraint_virial, cell.volume().unwrap());
            let factor = barostat.couple(&mut state, p, cell.volume().unwrap(), dt, 5, step).unwrap();
            stretch(Vector3::repeat(factor), &mut cell, &mut x, &mut v, &masses, &constraints).unwrap();
            assert!(constraints.largest_deviation(&x).unwrap().0 < 1e-10);
            cell.volume().unwrap()
        })
        .collect();
    assert_volumes_of_ideal_gas(&volumes, 27.0, RT / wanted, steps as f64 * dt / (2.0 * tau));
}

/// 64 soft spheres at constant pressure and temperature.
struct SoftSpheres {
    x: Vec<Vector3<f64>>,
    v: Vec<Vector3<f64>>,
    cell: Cell,
    thermostat: VRescale,
    barostat: CRescale,
    bath: BathState,
    step: u64,
}

const MASS: f64 = 40.0;
const DT: f64 = 0.002;
const WANTED: f64 = 40.0;

impl SoftSpheres {
    fn new() -> Self {
        let x: Vec<_> = (0..64).map(|k| 0.36 * Vector3::new(k % 4, k / 4 % 4, k / 16).map(f64::from)).collect();
        let masses = vec![MASS; 64];
        let none = Constraints::from_parts(&masses, &[], &[], 1e-10).unwrap();
        let v = start_velocities(&x, &masses, &none, TEMPERATURE, true, 8).unwrap();
        let settings =
            BarostatSettings { pressure: WANTED, temperature: TEMPERATURE, tau: 0.5, compressibility: 0.015 };
        Self {
            x,
            v,
            cell: Cell::rectangular(Vector3::repeat(1.44)).unwrap(),
            thermostat: VRescale::new(TEMPERATURE, 0.1, 189).unwrap(),
            barostat: CRescale::new(settings).unwrap(),
            bath: BathState::default(),
            step: 0,
        }
    }

    /// Runs; returns (total energy, conserved energy, pressure) of each step.
    fn run(&mut self, steps: u64) -> Vec<[f64; 3]> {
        let masses = vec![MASS; 64];
        let constraints = Constraints::from_parts(&masses, &[], &[], 1e-10).unwrap();
        let integrator = LeapFrog { masses: &masses, constraints: &constraints, dt: DT };
        let mut f = vec![Vector3::zeros(); 64];
        let mut previous = Vec::new();
        let mut one = |s: &mut Self| {
            let (potential, virial) = soft_sphere_forces(&s.cell, &s.x, &mut f);
            let kinetic = kinetic_energy(&s.v, &masses);
            scale(&mut s.v, s.thermostat.rescale(&mut s.bath.thermostat_work, kinetic, DT, 6, s.step).unwrap());
            let energies = integrator.step(&mut s.x, &mut s.v, &f, &mut previous).unwrap();
            let p = pressure(energies.kinetic(), virial.sum(), s.cell.volume().unwrap());
            CRescale::observe(&mut s.bath.barostat, p);
            let total = potential + energies.kinetic();
            let conserved = total - s.bath.thermostat_work - s.bath.barostat.work;
            if s.step.is_multiple_of(5) {
                let volume = s.cell.volume().unwrap();
                let factor = s.barostat.couple(&mut s.bath.barostat, p, volume, 5.0 * DT, 6, s.step).unwrap();
                stretch(Vector3::repeat(factor), &mut s.cell, &mut s.x, &mut s.v, &masses, &constraints).unwrap();
            }
            s.step += 1;
            [total, conserved, p]
        };
        (0..steps).map(|_| one(self)).collect()
    }
}

#[test]
fn energy_with_work_is_conserved_and_the_mean_pressure_is_the_one_wanted() {
    let mut system = SoftSpheres::new();
    system.run(2_000);
    let rows = system.run(50_000);
    let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<_>>();
    let (_, spread) = mean_and_variance(&column(0));
    let conserved = column(1);
    let (_, left) = mean_and_variance(&conserved);
    let drift = slope(&conserved) / DT;
    println!("σ(E) {:.2}, σ(conserved) {:.3} kJ/mol, drift {drift:.2e} kJ/mol/ps", spread.sqrt(), left.sqrt());
    // The errors of single scalings add up to a random walk, of slope 0.05 in 100 ps. The simple sum of −P dV would
    // drift by up to RT/τ = 5 kJ/mol/ps.
    assert!(drift.abs() < 0.2, "{drift} kJ/mol/ps");
    assert!(left < 0.01 * spread, "{left} {spread}");
    let (mean, _) = mean_and_variance(&column(2));
    println!("mean pressure {mean:.3}, wanted {WANTED}");
    assert!((mean / WANTED - 1.0).abs() < 0.02, "{mean}");
}

/// State as bits, a new program, and on: the trajectory is the same to the last bit.
#[test]
fn continuation_is_exact() {
    let mut whole = SoftSpheres::new();
    whole.run(157);
    let bits = |a: &[Vector3<f64>]| a.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
    let back = |bits: &[u64]| bits.chunks(3).map(|b| Vector3::from_fn(|k, _| f64::from_bits(b[k]))).collect::<Vec<_>>();
    let saved = (bits(&whole.x), bits(&whole.v), whole.cell, whole.bath);
    let mut second = SoftSpheres {
        x: back(&saved.0),
        v: back(&saved.1),
        cell: saved.2,
        bath: saved.3,
        step: 157,
        ..SoftSpheres::new()
    };
    let (a, b) = (whole.run(200), second.run(200));
    assert!(a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert_eq!((bits(&whole.x), bits(&whole.v)), (bits(&second.x), bits(&second.v)));
}

#[test]
fn impossible_settings_and_explosions_are_refused() {
    let good = BarostatSettings { pressure: 0.06, temperature: 300.0, tau: 2.0, compressibility: 7.5e-4 };
    let refused = [
        BarostatSettings { pressure: f64::NAN, ..good },
        BarostatSettings { temperature: 0.0, ..good },
        BarostatSettings { tau: -1.0, ..good },
        BarostatSettings { compressibility: f64::INFINITY, ..good },
    ];
    for settings in refused {
        assert!(matches!(CRescale::new(settings), Err(BarostatError::Setting { .. })), "{settings:?}");
    }
    let barostat = CRescale::new(good).unwrap();
    for pressure in [1e6, -1e9, f64::NAN] {
        let error = barostat.couple(&mut BarostatState::default(), pressure, 30.0, 0.02, 1, 1).unwrap_err();
        assert!(matches!(error, BarostatError::TooFast { .. }), "{error}");
    }
}
