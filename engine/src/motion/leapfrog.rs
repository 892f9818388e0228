//! Leap-frog: velocities live half a step before positions.
//!
//! v(t+½dt) = v(t−½dt) + dt F(t)/m  (kick),  x(t+dt) = x(t) + dt v(t+½dt)  (drift), then constraints correct x and v.
//! The kinetic energy at t is the average of those of the half steps around t (before the kick: after the thermostat's
//! scaling, so that E(t) is conserved up to its work). Pressure: P = (2K + W)/3V with the virial trace W = Σ r·F of all
//! forces including those of constraints.
//!
//! Units: nm, ps, u, kJ/mol, K; pressure kJ/mol/nm³ ([`forcefield::units::BAR`]). Reference: H. J. C. Berendsen,
//! W. F. van Gunsteren, in "Molecular-Dynamics Simulation of Statistical-Mechanical Systems" (1986), p. 43.

use forcefield::units::GAS_CONSTANT;
use nalgebra::Vector3;
use rayon::prelude::*;

use crate::motion::com;
use crate::motion::constraints::{ConstraintError, Constraints};
use crate::random::maxwell_velocities;

/// Atoms per parallel chunk; fixed, so that sums do not depend on the number of threads.
pub(super) const CHUNK: usize = 4096;

/// v += dt F/m for velocities (nm/ps), forces (kJ/mol/nm) and masses (u). What has no mass, a virtual site, keeps its velocity of zero.
pub fn kick(v: &mut [Vector3<f64>], forces: &[Vector3<f64>], masses: &[f64], dt: f64) {
    v.par_chunks_mut(CHUNK).zip(forces.par_chunks(CHUNK)).zip(masses.par_chunks(CHUNK)).for_each(
        |((v, forces), masses)| {
            for ((v, force), mass) in v.iter_mut().zip(forces).zip(masses) {
                if *mass > 0.0 {
                    *v += force * (dt / mass);
                }
            }
        },
    );
}

/// x += dt v.
pub fn drift(x: &mut [Vector3<f64>], v: &[Vector3<f64>], dt: f64) {
    x.par_chunks_mut(CHUNK).zip(v.par_chunks(CHUNK)).for_each(|(x, v)| {
        for (x, v) in x.iter_mut().zip(v) {
            *x += dt * v;
        }
    });
}

/// v *= factor (thermostat).
pub fn scale(v: &mut [Vector3<f64>], factor: f64) {
    v.par_chunks_mut(CHUNK).for_each(|v| v.iter_mut().for_each(|v| *v *= factor));
}

/// ½ Σ m v², kJ/mol.
pub fn kinetic_energy(v: &[Vector3<f64>], masses: &[f64]) -> f64 {
    let parts: Vec<f64> = v
        .par_chunks(CHUNK)
        .zip(masses.par_chunks(CHUNK))
        .map(|(v, masses)| v.iter().zip(masses).map(|(v, m)| m * v.norm_squared()).sum())
        .collect();
    0.5 * parts.iter().sum::<f64>()
}

/// Temperature (K) of a kinetic energy (kJ/mol): 2K/(N_f R).
pub fn temperature(kinetic: f64, degrees_of_freedom: usize) -> f64 {
    2.0 * kinetic / (degrees_of_freedom as f64 * GAS_CONSTANT)
}

/// Pressure (kJ/mol/nm³) from kinetic energy and virial trace Σ r·F (kJ/mol) in `volume` (nm³).
pub fn pressure(kinetic: f64, virial: f64, volume: f64) -> f64 {
    (2.0 * kinetic + virial) / (3.0 * volume)
}

/// 3N − constraints − 3 if the centre of mass does not move, N atoms that move by themselves; `None` if nothing is left that could move.
pub fn degrees_of_freedom(n_atoms: usize, n_constraints: usize, com_removed: bool) -> Option<usize> {
    let fixed = n_constraints + if com_removed { 3 } else { 0 };
    (3 * n_atoms).checked_sub(fixed).filter(|&left| left > 0)
}

/// What one step tells about energy and pressure at its start t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepEnergies {
    /// Kinetic energy at t − ½dt as it entered the step (after any thermostat), kJ/mol.
    pub kinetic_before: f64,
    /// Kinetic energy at t + ½dt, kJ/mol.
    pub kinetic_after: f64,
    /// Virial Σ r·F of the constraint forces at t, kJ/mol.
    pub constraint_virial: f64,
}

impl StepEnergies {
    /// Kinetic energy at t: the average of the half steps, kJ/mol.
    pub fn kinetic(&self) -> f64 {
        0.5 * (self.kinetic_before + self.kinetic_after)
    }
}

/// The leap-frog integrator of atoms with `masses` (u) under `constraints`, step `dt` (ps).
#[derive(Clone, Copy, Debug)]
pub struct LeapFrog<'a> {
    /// Masses, u.
    pub masses: &'a [f64],
    /// Constraints, made with the same masses.
    pub constraints: &'a Constraints,
    /// Time step, ps.
    pub dt: f64,
}

impl LeapFrog<'_> {
    /// One step: `x` (nm) from t to t + dt, `v` (nm/ps) from t − ½dt to t + ½dt, with `forces` (kJ/mol/nm) at t.
    ///
    /// `previous`: scratch for the positions at t, which it holds afterwards. After an error `x` and `v` are not usable;
    /// `previous` still holds the positions at t.
    ///
    /// # Errors
    /// As [`Constraints::apply`].
    pub fn step(
        &self,
        x: &mut [Vector3<f64>],
        v: &mut [Vector3<f64>],
        forces: &[Vector3<f64>],
        previous: &mut Vec<Vector3<f64>>,
    ) -> Result<StepEnergies, ConstraintError> {
        let kinetic_before = kinetic_energy(v, self.masses);
        kick(v, forces, self.masses, self.dt);
        previous.clear();
        previous.extend_from_slice(x);
        drift(x, v, self.dt);
        let constraint_virial = self.constraints.apply_with_velocities(previous, x, v, self.dt)?;
        let kinetic_after = kinetic_energy(v, self.masses);
        Ok(StepEnergies { kinetic_before, kinetic_after, constraint_virial })
    }

    /// Velocities at −½dt (nm/ps) from those at 0 (along no bond), with `forces` at 0.
    ///
    /// A step backwards in time with half a kick. Constraints act in it as in any step, so that already the first step
    /// forwards has the right constraint virial.
    ///
    /// # Errors
    /// As [`Constraints::apply`].
    pub fn half_step_back(
        &self,
        x: &[Vector3<f64>],
        v: &mut [Vector3<f64>],
        forces: &[Vector3<f64>],
    ) -> Result<(), ConstraintError> {
        scale(v, -1.0);
        kick(v, forces, self.masses, 0.5 * self.dt);
        let mut back = x.to_vec();
        drift(&mut back, v, self.dt);
        self.constraints.apply_with_velocities(x, &mut back, v, self.dt)?;
        scale(v, -1.0);
        Ok(())
    }
}

/// Velocities (nm/ps) of the canonical distribution at `temperature` (K): Maxwell, none along fixed bonds, and, if wanted,
/// none of the centre of mass. Both projections are orthogonal in the metric of the masses and commute.
///
/// # Errors
/// As [`Constraints::project`].
pub fn start_velocities(
    x: &[Vector3<f64>],
    masses: &[f64],
    constraints: &Constraints,
    temperature: f64,
    remove_com: bool,
    seed: u64,
) -> Result<Vec<Vector3<f64>>, ConstraintError> {
    let mut v = maxwell_velocities(masses, temperature, seed);
    constraints.project(x, &mut v)?;
    if remove_com {
        com::remove_motion(masses, &mut v);
    }
    Ok(v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::thermostat::VRescale;
    use crate::toy::{Droplet, mean_and_variance, slope, spc_forces};

    fn no_constraints(masses: &[f64]) -> Constraints {
        Constraints::from_parts(masses, &[], &[], 1e-10).unwrap()
    }

    /// Leap-frog of a harmonic oscillator turns by 2 asin(ω dt/2) per step, exactly.
    #[test]
    fn harmonic_oscillator_has_the_frequency_of_leap_frog() {
        let (masses, k, dt) = ([2.0_f64], 50.0, 0.1);
        let constraints = no_constraints(&masses);
        let integrator = LeapFrog { masses: &masses, constraints: &constraints, dt };
        let angle = 2.0 * (0.5 * dt * (k / masses[0]).sqrt()).asin();
        let mut x = vec![Vector3::new(0.3, 0.0, -0.1)];
        let start = x[0];
        // x(t) = x(0) cos(angle·n) has this velocity half a step before its start.
        let mut v = vec![start * (1.0 - angle.cos()) / dt];
        let mut previous = Vec::new();
        for n in 1..=1000 {
            let f = [-k * x[0]];
            integrator.step(&mut x, &mut v, &f, &mut previous).unwrap();
            assert!((x[0] - start * (angle * n as f64).cos()).amax() < 1e-12);
        }
    }

    #[test]
    fn steps_can_be_undone() {
        let masses = [3.0, 5.0];
        let constraints = no_constraints(&masses);
        let integrator = LeapFrog { masses: &masses, constraints: &constraints, dt: 0.02 };
        let spring = |x: &[Vector3<f64>]| {
            let d = x[0] - x[1];
            let pull = -40.0 * (d.norm() - 0.5) * d.normalize();
            [pull, -pull]
        };
        let start = vec![Vector3::new(0.0, 0.1, 0.2), Vector3::new(0.6, -0.1, 0.0)];
        let mut x = start.clone();
        let mut v = vec![Vector3::new(0.1, 0.3, -0.2), Vector3::new(-0.2, 0.1, 0.4)];
        let mut previous = Vec::new();
        let run = |x: &mut Vec<_>, v: &mut Vec<_>, previous: &mut Vec<_>| {
            for _ in 0..500 {
                let f = spring(x);
                integrator.step(x, v, &f, previous).unwrap();
            }
        };
        run(&mut x, &mut v, &mut previous);
        // Positions at n−1 and the velocity between n−1 and n, reversed, walk the same path back.
        x.clone_from(&previous);
        v.iter_mut().for_each(|v| *v = -*v);
        run(&mut x, &mut v, &mut previous);
        for (a, b) in previous.iter().zip(&start) {
            assert!((a - b).amax() < 1e-11);
        }
    }

    /// Droplet of 27 rigid waters after 2 ps at 250 K: total energies of `steps` steps of `dt` (ps).
    fn droplet_energies(dt: f64, steps: usize) -> Vec<f64> {
        let droplet = Droplet::new(3);
        let Droplet { masses, constraints, mut x } = droplet;
        let dof = degrees_of_freedom(masses.len(), constraints.count(), true).unwrap();
        let mut v = start_velocities(&x, &masses, &constraints, 250.0, true, 4).unwrap();
        let mut f = vec![Vector3::zeros(); x.len()];
        let mut previous = Vec::new();
        let thermostat = VRescale::new(250.0, 0.05, dof).unwrap();
        let equilibrate = LeapFrog { masses: &masses, constraints: &constraints, dt: 0.001 };
        for step in 0..2000 {
            spc_forces(&x, &mut f);
            let kinetic = kinetic_energy(&v, &masses);
            scale(&mut v, thermostat.rescale(&mut 0.0, kinetic, 0.001, 1, step).unwrap());
            equilibrate.step(&mut x, &mut v, &f, &mut previous).unwrap();
        }
        // Take these velocities for those at t: any canonical state will do.
        spc_forces(&x, &mut f);
        constraints.project(&x, &mut v).unwrap();
        let integrator = LeapFrog { dt, ..equilibrate };
        integrator.half_step_back(&x, &mut v, &f).unwrap();
        (0..steps)
            .map(|_| {
                let potential = spc_forces(&x, &mut f);
                let energies = integrator.step(&mut x, &mut v, &f, &mut previous).unwrap();
                assert!(constraints.largest_deviation(&x).unwrap().0 < 1e-13);
                potential + energies.kinetic()
            })
            .collect()
    }

    /// The energy error of a symplectic second-order integrator falls with dt²; there is no drift beside it.
    #[test]
    fn energy_of_rigid_waters_is_conserved_to_second_order() {
        let error = |dt: f64, steps| {
            let energies = droplet_energies(dt, steps);
            (mean_and_variance(&energies).1.sqrt(), slope(&energies) / dt / 81.0)
        };
        let (coarse, _) = error(0.002, 1000);
        let (middle, drift) = error(0.001, 4000);
        let (fine, _) = error(0.0005, 4000);
        println!("rms energy error {coarse:.2e} {middle:.2e} {fine:.2e} kJ/mol, drift {drift:.2e} kJ/mol/ps/atom");
        // The same 2 ps; fluctuations also differ by what happens to be sampled.
        assert!((3.0..5.5).contains(&(coarse / middle)), "{coarse} {middle}");
        assert!((3.0..5.5).contains(&(middle / fine)), "{middle} {fine}");
        assert!(drift.abs() < 2e-4, "{drift} kJ/mol/ps/atom");
    }

    #[test]
    fn momentum_and_angular_momentum_are_conserved() {
        let Droplet { masses, constraints, mut x } = Droplet::new(2);
        let mut v = start_velocities(&x, &masses, &constraints, 300.0, false, 2).unwrap();
        let mut f = vec![Vector3::zeros(); x.len()];
        let mut previous = Vec::new();
        let integrator = LeapFrog { masses: &masses, constraints: &constraints, dt: 0.001 };
        let sums = |x: &[Vector3<f64>], v: &[Vector3<f64>]| {
            let p: Vec<_> = v.iter().zip(&masses).map(|(v, m)| v * *m).collect();
            let spin: Vector3<f64> = x.iter().zip(&p).map(|(x, p)| x.cross(p)).sum();
            (p.iter().sum::<Vector3<f64>>(), spin)
        };
        // x(t) × p(t−½dt) = x(t−dt) × p(t−½dt) is the conserved angular momentum of leap-frog.
        let (momentum, spin) = sums(&x, &v);
        for _ in 0..2000 {
            spc_forces(&x, &mut f);
            integrator.step(&mut x, &mut v, &f, &mut previous).unwrap();
        }
        let (p, l) = sums(&x, &v);
        // Rounding of 2000 steps: Newton's third law holds to the last bits.
        println!(
            "change of momentum {:.1e} u nm/ps, angular momentum {:.1e} u nm²/ps",
            (p - momentum).norm(),
            (l - spin).norm()
        );
        assert!((p - momentum).norm() < 1e-10);
        assert!((l - spin).norm() < 1e-9, "{l} {spin}");
    }

    /// Start velocities of a constrained system: 2K/RT follows χ² with the remaining degrees of freedom.
    #[test]
    fn start_velocities_have_the_temperature_of_the_constrained_system() {
        let Droplet { masses, constraints, x } = Droplet::new(2);
        let dof = degrees_of_freedom(masses.len(), constraints.count(), true).unwrap();
        assert_eq!(dof, 8 * 6 - 3);
        let kinetic: Vec<f64> = (0..4000)
            .map(|seed| {
                let v = start_velocities(&x, &masses, &constraints, 300.0, true, seed).unwrap();
                assert!(com::mass_average(&masses, &v).norm() < 1e-14);
                kinetic_energy(&v, &masses)
            })
            .collect();
        let (mean, variance) = mean_and_variance(&kinetic);
        let (n, d) = (kinetic.len() as f64, dof as f64);
        // Five standard errors of mean and variance of a χ² distribution.
        assert!((temperature(mean, dof) / 300.0 - 1.0).abs() < 5.0 * (2.0 / d / n).sqrt());
        let expected = 0.5 * d * (GAS_CONSTANT * 300.0).powi(2);
        assert!((variance / expected - 1.0).abs() < 5.0 * ((2.0 + 12.0 / d) / n).sqrt());
    }

    /// Free rotors: 2K(rotation) + W(constraints) = 0 in every step, the first one included.
    #[test]
    fn constraint_virial_cancels_the_rotation_of_free_waters_from_the_first_step() {
        let Droplet { masses, constraints, mut x } = Droplet::new(2);
        let mut v = start_velocities(&x, &masses, &constraints, 300.0, false, 2).unwrap();
        let centres = |v: &[Vector3<f64>]| {
            v.chunks(3)
                .zip(masses.chunks(3))
                .map(|(v, m)| 9.00755 * com::mass_average(m, v).norm_squared())
                .sum::<f64>()
        };
        let integrator = LeapFrog { masses: &masses, constraints: &constraints, dt: 0.0005 };
        let none = vec![Vector3::zeros(); x.len()];
        integrator.half_step_back(&x, &mut v, &none).unwrap();
        let mut previous = Vec::new();
        for step in 0..20 {
            let energies = integrator.step(&mut x, &mut v, &none, &mut previous).unwrap();
            let rotation = energies.kinetic() - centres(&v);
            // Asymmetric rotors: second order in the angle of one step (about 0.02 rad).
            let rest = (2.0 * rotation + energies.constraint_virial) / rotation;
            assert!(rest.abs() < 2e-3, "step {step}: {rest}");
        }
    }

    #[test]
    fn pressure_of_an_ideal_gas_is_rt_n_over_v() {
        let kinetic = 1.5 * 100.0 * GAS_CONSTANT * 300.0;
        assert!((pressure(kinetic, 0.0, 50.0) - 2.0 * GAS_CONSTANT * 300.0).abs() < 1e-12);
    }

    #[test]
    fn degrees_of_freedom_are_counted() {
        assert_eq!(degrees_of_freedom(10, 4, true), Some(23));
        assert_eq!(degrees_of_freedom(10, 4, false), Some(26));
        assert_eq!(degrees_of_freedom(1, 0, true), None);
        assert_eq!(degrees_of_freedom(1, 4, false), None);
    }
}
