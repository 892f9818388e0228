//! Steepest descent under constraints, for any source of forces.
//!
//! A trial moves every atom along its force by h F/max|F| and restores constraints; if the energy falls, it is kept and
//! h grows by 1.2, else it is dropped and h halves. F is the force without its parts along fixed bonds (projection in the
//! metric of plain coordinates), so that its largest component is a true measure of distance from the minimum. Trials
//! that break constraints or have no finite energy count as failed.
//!
//! Units: nm, kJ/mol, kJ/mol/nm.

use std::ops::ControlFlow;

use nalgebra::Vector3;

use crate::motion::constraints::{ConstraintError, Constraints};

/// Steps shorter than this (nm) no longer change coordinates of ordinary size.
const SHORTEST_STEP: f64 = 1e-13;

/// Settings of [`steepest_descent`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimiseSettings {
    /// Stop when no force is larger, kJ/mol/nm.
    pub force_tolerance: f64,
    /// First displacement of the atom with the largest force, nm.
    pub first_step: f64,
    /// Largest displacement, nm.
    pub largest_step: f64,
    /// Stop after this many trials.
    pub max_steps: u64,
}

impl Default for MinimiseSettings {
    fn default() -> Self {
        Self { force_tolerance: 1000.0, first_step: 0.01, largest_step: 0.05, max_steps: 1000 }
    }
}

/// State of a minimisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimiseProgress {
    /// Trials done.
    pub step: u64,
    /// Lowest energy so far, kJ/mol.
    pub energy: f64,
    /// Largest force there, kJ/mol/nm.
    pub largest_force: f64,
    /// The atom it acts on (0-based).
    pub atom: usize,
    /// Displacement of the next trial, nm.
    pub displacement: f64,
}

/// Why a minimisation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinimiseEnd {
    /// No force is larger than the tolerance.
    Converged,
    /// The energy cannot be lowered any more within the precision of the numbers.
    Precision,
    /// The number of steps is used up.
    Steps,
    /// The observer asked for it.
    Interrupted,
}

/// Errors of a minimisation; `E` is that of the forces.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MinimiseError<E> {
    /// The forces cannot be calculated.
    #[error(transparent)]
    Forces(E),
    /// The start cannot be brought to satisfy the constraints.
    #[error(transparent)]
    Constraints(#[from] ConstraintError),
    /// Energy or force of the start are not finite.
    #[error("the start of the minimisation has energy {energy} kJ/mol and force {force} kJ/mol/nm on atom {}", atom + 1)]
    NotFinite {
        /// Energy, kJ/mol.
        energy: f64,
        /// Size of the force, kJ/mol/nm.
        force: f64,
        /// The atom (0-based) whose force is not finite, or largest.
        atom: usize,
    },
}

/// Lower the energy of `x` (nm).
///
/// `constraints`: those of the system made with equal masses ([`Constraints::with_equal_masses`]).
/// `forces(x, f)` returns the energy and writes the forces. `observe` sees the state before each trial and may stop.
/// After an error of the forces `x` holds the lowest state so far.
///
/// # Errors
/// Constraints that do not hold at the start; what `forces` says.
pub fn steepest_descent<E>(
    x: &mut [Vector3<f64>],
    constraints: &Constraints,
    settings: &MinimiseSettings,
    mut forces: impl FnMut(&[Vector3<f64>], &mut [Vector3<f64>]) -> Result<f64, E>,
    mut observe: impl FnMut(&MinimiseProgress) -> ControlFlow<()>,
) -> Result<(MinimiseProgress, MinimiseEnd), MinimiseError<E>> {
    let reference = x.to_vec();
    constraints.apply(&reference, x)?;
    let mut f = vec![Vector3::zeros(); x.len()];
    let energy = forces(x, &mut f).map_err(MinimiseError::Forces)?;
    let (atom, largest_force) = largest(&f);
    if !(energy.is_finite() && largest_force.is_finite()) {
        return Err(MinimiseError::NotFinite { energy, force: largest_force, atom });
    }
    constraints.project(x, &mut f)?;
    let (atom, largest_force) = largest(&f);
    let mut now = MinimiseProgress { step: 0, energy, largest_force, atom, displacement: settings.first_step };
    let mut trial = x.to_vec();
    let mut trial_f = f.clone();
    loop {
        let interrupted = observe(&now).is_break();
        if now.largest_force <= settings.force_tolerance {
            return Ok((now, MinimiseEnd::Converged));
        } else if interrupted {
            return Ok((now, MinimiseEnd::Interrupted));
        } else if now.step >= settings.max_steps {
            return Ok((now, MinimiseEnd::Steps));
        } else if now.displacement < SHORTEST_STEP {
            return Ok((now, MinimiseEnd::Precision));
        }
        now.step += 1;
        let length = now.displacement / now.largest_force;
        for ((trial, x), f) in trial.iter_mut().zip(x.iter()).zip(&f) {
            *trial = x + length * f;
        }
        let lower = match constraints.apply(x, &mut trial) {
            Ok(_) => Some(forces(&trial, &mut trial_f).map_err(MinimiseError::Forces)?),
            Err(_) => None,
        };
        let lower = lower.filter(|&energy| energy < now.energy && largest(&trial_f).1.is_finite());
        if let Some(energy) = lower {
            constraints.project(&trial, &mut trial_f)?;
            x.copy_from_slice(&trial);
            std::mem::swap(&mut f, &mut trial_f);
            now.energy = energy;
            (now.atom, now.largest_force) = largest(&f);
            now.displacement = (1.2 * now.displacement).min(settings.largest_step);
        } else {
            now.displacement *= 0.5;
        }
    }
}

/// The largest vector and its size; one that is not finite wins.
fn largest(f: &[Vector3<f64>]) -> (usize, f64) {
    let mut most = (0, 0.0);
    for (i, f) in f.iter().enumerate() {
        let size = f.norm();
        if !size.is_finite() {
            return (i, size);
        }
        if size > most.1 {
            most = (i, size);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{Droplet, spc_forces};
    use forcefield::topology::Constraint;
    use std::convert::Infallible;

    fn go_on(_: &MinimiseProgress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A rod between two springs: lies between their centres, at rest with ½k(0.4² + 0.4²).
    #[test]
    fn rod_between_springs_reaches_the_exact_minimum() {
        let rod = Constraint { atoms: [0, 1], length: 0.2 };
        let constraints = Constraints::from_parts(&[1.0, 1.0], &[rod], &[], 1e-12).unwrap();
        let centres = [Vector3::new(-0.5, 0.0, 0.0), Vector3::new(0.5, 0.0, 0.0)];
        let springs = |x: &[Vector3<f64>], f: &mut [Vector3<f64>]| {
            let mut energy = 0.0;
            for i in 0..2 {
                let d = x[i] - centres[i];
                energy += 500.0 * d.norm_squared();
                f[i] = -1000.0 * d;
            }
            Ok::<_, Infallible>(energy)
        };
        // The start does not satisfy the constraint.
        let mut x = vec![Vector3::new(0.3, 0.05, 0.2), Vector3::new(0.4, 0.21, 0.1)];
        let settings = MinimiseSettings { force_tolerance: 1e-3, max_steps: 2000, ..Default::default() };
        let (end, why) = steepest_descent(&mut x, &constraints, &settings, springs, go_on).unwrap();
        assert_eq!(why, MinimiseEnd::Converged);
        assert!((end.energy - 160.0).abs() < 1e-8, "{}", end.energy);
        assert!((x[0] - Vector3::new(-0.1, 0.0, 0.0)).norm() < 1e-5);
        assert!((x[1] - Vector3::new(0.1, 0.0, 0.0)).norm() < 1e-5);
    }

    /// 27 waters: the energy only falls, waters stay rigid, and the residual force is that without constraint parts.
    #[test]
    fn droplet_relaxes() {
        let droplet = Droplet::new(3);
        let constraints = droplet.constraints_with_equal_masses();
        let mut x = droplet.x.clone();
        let mut energies = Vec::new();
        let settings = MinimiseSettings { force_tolerance: 50.0, max_steps: 3000, ..Default::default() };
        let forces = |x: &[Vector3<f64>], f: &mut [Vector3<f64>]| Ok::<_, Infallible>(spc_forces(x, f));
        let observe = |progress: &MinimiseProgress| {
            energies.push(progress.energy);
            ControlFlow::Continue(())
        };
        let (end, why) = steepest_descent(&mut x, &constraints, &settings, forces, observe).unwrap();
        assert_eq!(why, MinimiseEnd::Converged, "{end:?}");
        assert!(energies.windows(2).all(|w| w[1] <= w[0]));
        // Relaxed SPC droplets of this size have about −30 kJ/mol per molecule or less.
        assert!(end.energy / 27.0 < -30.0, "{} kJ/mol per molecule", end.energy / 27.0);
        assert!(constraints.largest_deviation(&x).unwrap().0 < 1e-12);
    }

    #[test]
    fn observer_errors_and_impossible_starts_end_it() {
        let droplet = Droplet::new(2);
        let constraints = droplet.constraints_with_equal_masses();
        let settings = MinimiseSettings { force_tolerance: 0.0, ..Default::default() };
        let spc = |x: &[Vector3<f64>], f: &mut [Vector3<f64>]| Ok::<_, &str>(spc_forces(x, f));
        let stop_at_5 =
            |p: &MinimiseProgress| if p.step < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let mut x = droplet.x.clone();
        let (end, why) = steepest_descent(&mut x, &constraints, &settings, spc, stop_at_5).unwrap();
        assert_eq!((end.step, why), (5, MinimiseEnd::Interrupted));

        let broken = |_: &[Vector3<f64>], _: &mut [Vector3<f64>]| Err::<f64, _>("list too small");
        let error = steepest_descent(&mut x, &constraints, &settings, broken, go_on).unwrap_err();
        assert_eq!(error, MinimiseError::Forces("list too small"));

        let mut x = droplet.x.clone();
        let shift = x[3] - x[0];
        (3..6).for_each(|i| x[i] -= shift);
        let error = steepest_descent(&mut x, &constraints, &settings, spc, go_on).unwrap_err();
        assert!(matches!(error, MinimiseError::NotFinite { atom: 0 | 3, .. }), "{error}");
    }
}
