//! Langevin dynamics in the middle of the step: each atom has friction and noise of its own.
//!
//! u = v(t−½dt) + dt F/m,  Δ = P[(a − 1) u + b ξ],  v(t+½dt) = u + Δ,  x(t+dt) = x(t) + ½dt u + ½dt (u + Δ), then constraints as in leap-frog;
//! a = e^{−γ dt}, b = √(RT (1 − a²)/m), ξ normal, three numbers for each atom and step. P takes off what is along fixed bonds at t: the bath acts
//! on what can move. So friction and noise balance in each degree of freedom that is left, velocities hold no noise along bonds, and Δ = 0 is
//! leap-frog itself. The work ½ Σ m Δ·(2u + Δ) is the energy that the bath gives; what constraints take off u is orthogonal to Δ.
//!
//! Positions of a harmonic oscillator have exactly ⟨x²⟩ = RT/k at any stable step, and velocities ⟨v²⟩ = RT/m: Δ acts in the middle of two drifts, where
//! leap-frog conserves m v² (1 − (ω dt/2)²) + k y² of velocity v and position y. Forces on atoms of fixed bonds make all that second order in dt.
//!
//! Units: nm, ps, u, kJ/mol, K. References: Z. Zhang, X. Liu, K. Yan, M. E. Tuckerman, J. Liu, J. Phys. Chem. A 123, 6056 (2019), DOI
//! 10.1021/acs.jpca.9b02771; noise under constraints: B. Leimkuhler, C. Matthews, Proc. R. Soc. A 472, 20160138 (2016), DOI 10.1098/rspa.2016.0138.

use super::constraints::ConstraintError;
use super::leapfrog::{CHUNK, LeapFrog, StepEnergies, kick, kinetic_energy};
use super::thermostat::ThermostatError;
use crate::random::RandomStream;
use crate::random::philox::three_normals;
use forcefield::units::GAS_CONSTANT;
use nalgebra::Vector3;
use rayon::prelude::*;

/// The Langevin thermostat. The energy it has given is its whole state, and is kept in [`crate::state::BathState`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Langevin {
    temperature: f64,
    friction: f64,
}

/// Vectors that a step needs room for.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Positions before the step, nm.
    pub previous: Vec<Vector3<f64>>,
    /// What the bath adds to the velocities, nm/ps.
    pub changes: Vec<Vector3<f64>>,
}

impl Langevin {
    /// Thermostat for `temperature` (K) with `friction` γ (1/ps).
    ///
    /// # Errors
    /// A temperature below zero, a friction that is not positive, or numbers that are not finite.
    pub fn new(temperature: f64, friction: f64) -> Result<Self, ThermostatError> {
        let valid = temperature.is_finite() && temperature >= 0.0 && friction.is_finite() && friction > 0.0;
        if valid {
            Ok(Self { temperature, friction })
        } else {
            Err(ThermostatError::Friction { temperature, friction })
        }
    }

    /// a − 1 = e^{−γ dt} − 1 and RT (1 − a²) (kJ/mol), with expm1 for steps that are short beside 1/γ.
    pub fn coefficients(&self, dt: f64) -> [f64; 2] {
        let turned = -self.friction * dt;
        [turned.exp_m1(), -(2.0 * turned).exp_m1() * GAS_CONSTANT * self.temperature]
    }

    /// What friction and noise of `step` change in velocities `v` (nm/ps) within `dt` (ps), into `changes`; fixed bonds are not heeded. What has no
    /// mass keeps its velocity. The random numbers depend on `seed`, `step` and the number of the atom only.
    pub fn changes(
        &self,
        v: &[Vector3<f64>],
        masses: &[f64],
        dt: f64,
        [seed, step]: [u64; 2],
        changes: &mut Vec<Vector3<f64>>,
    ) {
        let [lost, square] = self.coefficients(dt);
        changes.resize(v.len(), Vector3::zeros());
        let chunks = changes.par_chunks_mut(CHUNK).zip(v.par_chunks(CHUNK)).zip(masses.par_chunks(CHUNK));
        chunks.enumerate().for_each(|(chunk, ((changes, v), masses))| {
            for (k, ((change, v), mass)) in changes.iter_mut().zip(v).zip(masses).enumerate() {
                *change = Vector3::zeros();
                if *mass > 0.0 {
                    let noise = three_normals(seed, RandomStream::Langevin, step, (chunk * CHUNK + k) as u32);
                    *change = lost * v + (square / mass).sqrt() * Vector3::from(noise);
                }
            }
        });
    }

    /// As [`LeapFrog::step`], with the bath in its middle; random numbers are those of this `seed` and `step`. Also the energy that the bath gives,
    /// kJ/mol.
    ///
    /// # Errors
    /// As [`LeapFrog::step`]. After an error `x` and `v` are not usable; `scratch.previous` still holds the positions at t.
    pub fn step(
        &self,
        leap: &LeapFrog<'_>,
        x: &mut [Vector3<f64>],
        v: &mut [Vector3<f64>],
        forces: &[Vector3<f64>],
        [seed, step]: [u64; 2],
        scratch: &mut Scratch,
    ) -> Result<(StepEnergies, f64), ConstraintError> {
        let LeapFrog { masses, constraints, dt } = *leap;
        let Scratch { previous, changes } = scratch;
        previous.clear();
        previous.extend_from_slice(x);
        let kinetic_before = kinetic_energy(v, masses);
        kick(v, forces, masses, dt);
        self.changes(v, masses, dt, [seed, step], changes);
        constraints.project(x, changes)?;
        let work = work(v, changes, masses);
        drift(x, v, changes, dt);
        let constraint_virial = constraints.apply_with_velocities(previous, x, v, dt)?;
        let kinetic_after = kinetic_energy(v, masses);
        Ok((StepEnergies { kinetic_before, kinetic_after, constraint_virial }, work))
    }
}

/// ½ Σ m Δ·(2u + Δ), kJ/mol.
fn work(u: &[Vector3<f64>], changes: &[Vector3<f64>], masses: &[f64]) -> f64 {
    let parts: Vec<f64> = (u.par_chunks(CHUNK).zip(changes.par_chunks(CHUNK)).zip(masses.par_chunks(CHUNK)))
        .map(|((u, changes), masses)| {
            u.iter().zip(changes).zip(masses).map(|((u, change), m)| m * change.dot(&(2.0 * u + change))).sum()
        })
        .collect();
    0.5 * parts.iter().sum::<f64>()
}

/// x += dt (u + ½Δ), and u becomes u + Δ.
fn drift(x: &mut [Vector3<f64>], u: &mut [Vector3<f64>], changes: &[Vector3<f64>], dt: f64) {
    x.par_chunks_mut(CHUNK).zip(u.par_chunks_mut(CHUNK)).zip(changes.par_chunks(CHUNK)).for_each(
        |((x, u), changes)| {
            for ((x, u), change) in x.iter_mut().zip(u).zip(changes) {
                *x += dt * (*u + 0.5 * change);
                *u += change;
            }
        },
    );
}

#[cfg(test)]
mod tests;
