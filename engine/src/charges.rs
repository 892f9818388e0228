//! A set of charges outside of molecular dynamics: evaluated and timed by the fast multipole method, and compared with exact sums.
//!
//! Units are those of [`fmm`]: φ = Σ q/r and E = −∇φ with k_e = 1, lengths and charges as they are given.

pub mod file;
pub mod systems;

use crate::error::{Error, Result};
use clap::ValueEnum;
use fmm::accuracy::TuneError;
use fmm::device::DeviceCoulomb;
use fmm::ewald::{self, EwaldError};
use fmm::{Boundary, Coulomb, Exclusions, Fmm, FmmError, Potentials, Settings, StageTimings, Work};
use kernels::Real;
use kernels::device::{Device, DeviceError};
use std::time::Instant;

/// Particles whose potentials and fields are compared with exact sums.
const SAMPLES: usize = 100;

/// Arithmetic of the pair work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Single.
    F32,
    /// Double.
    F64,
}

/// Charges, and what surrounds them.
pub struct System {
    /// Where images of the charges are.
    pub boundary: Boundary,
    /// Positions of the charges.
    pub positions: Vec<[f64; 3]>,
    /// Charges, one for each position.
    pub charges: Vec<f64>,
    /// Pairs that do not interact.
    pub exclusions: Exclusions,
    /// Smallest edge of a leaf box for which excluded pairs lie in near boxes.
    pub minimum_leaf: f64,
}

/// Results, and times in seconds.
pub struct Solved {
    /// Energy, ½ Σ q φ.
    pub energy: f64,
    /// Potential and field of each charge.
    pub potentials: Potentials,
    /// Pairs and operations of an evaluation.
    pub work: Work,
    /// Time that the operators took.
    pub setup: f64,
    /// Time of the assignment to boxes in each repetition.
    pub assign: Vec<f64>,
    /// Time of the evaluation in each repetition.
    pub evaluate: Vec<f64>,
    /// Times of its stages in each repetition.
    pub stages: Vec<StageTimings>,
}

/// Relative errors at some of the particles.
pub struct Sampled {
    /// Number of these particles.
    pub particles: usize,
    /// L2 error of the potentials.
    pub potentials: f64,
    /// L2 error of the forces.
    pub forces: f64,
}

impl System {
    /// Number of charges.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are no charges.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Assigns and evaluates `repeats` times, after `warm` times that are not timed.
    ///
    /// # Errors
    /// If the FMM refuses the settings or the charges.
    pub fn solve(&self, settings: Settings, precision: Precision, warm: usize, repeats: usize) -> Result<Solved> {
        let solved = match precision {
            Precision::F32 => self.solve_in::<f32>(settings, warm, repeats),
            Precision::F64 => self.solve_in::<f64>(settings, warm, repeats),
        };
        solved.map_err(refused)
    }

    /// Energy and potentials, computed by a device.
    ///
    /// # Errors
    /// If the FMM refuses the settings or the charges, or the device fails.
    pub fn solve_on(&self, device: &Device, settings: Settings, precision: Precision) -> Result<(f64, Potentials)> {
        let solver: std::result::Result<Box<dyn Coulomb>, FmmError> = match precision {
            Precision::F32 => DeviceCoulomb::<f32>::new(device, self.boundary, settings).map(|s| Box::new(s) as _),
            Precision::F64 => DeviceCoulomb::<f64>::new(device, self.boundary, settings).map(|s| Box::new(s) as _),
        };
        let mut solver = solver.map_err(refused)?;
        solver.assign(&self.positions, &self.exclusions).map_err(refused)?;
        let mut out = Potentials::default();
        let energy = solver.evaluate(&self.positions, &self.charges, &mut out).map_err(refused)?;
        Ok((energy, out))
    }

    fn solve_in<T: Real>(
        &self,
        settings: Settings,
        warm: usize,
        repeats: usize,
    ) -> std::result::Result<Solved, FmmError> {
        let started = Instant::now();
        let mut solver = Fmm::<T>::new(self.boundary, settings)?;
        let setup = started.elapsed().as_secs_f64();
        let (mut assign, mut evaluate, mut stages) = (Vec::new(), Vec::new(), Vec::new());
        let (mut energy, mut potentials) = (0.0, Potentials::default());
        for repeat in 0..warm + repeats {
            let started = Instant::now();
            solver.assign(&self.positions, &self.exclusions)?;
            let assigned = started.elapsed().as_secs_f64();
            let started = Instant::now();
            energy = solver.evaluate(&self.positions, &self.charges, &mut potentials)?;
            if repeat >= warm {
                assign.push(assigned);
                evaluate.push(started.elapsed().as_secs_f64());
                stages.push(*solver.timings());
            }
        }
        let work = solver.work().ok_or(FmmError::NotAssigned)?;
        Ok(Solved { energy, potentials, work, setup, assign, evaluate, stages })
    }

    /// Errors of `found` at 100 particles, or all if there are fewer, against the direct or the Ewald sum.
    ///
    /// # Errors
    /// If the exact sum refuses the charges, such as a charged slab.
    pub fn sampled_errors(&self, found: &Potentials) -> Result<Sampled> {
        let step = self.len().div_ceil(SAMPLES).max(1);
        let targets: Vec<u32> = (0..self.len() as u32).step_by(step).collect();
        let exact = ewald::at(&self.boundary, &self.positions, &self.charges, &self.exclusions, &targets, 1e-15)
            .map_err(|e| not_tuned(e.into()))?;
        let of = |i: &u32| *i as usize;
        let potential = targets.iter().map(|i| found.potential[of(i)]);
        let charges: Vec<f64> = targets.iter().map(|i| self.charges[of(i)]).collect();
        let fields: Vec<[f64; 3]> = targets.iter().map(|i| found.field[of(i)]).collect();
        Ok(Sampled {
            particles: targets.len(),
            potentials: relative(potential, exact.potential.iter().copied()),
            forces: relative(forces(&charges, &fields), forces(&charges, &exact.field)),
        })
    }
}

/// q E, component by component.
pub fn forces<'a>(charges: &'a [f64], field: &'a [[f64; 3]]) -> impl Iterator<Item = f64> + 'a {
    charges.iter().zip(field).flat_map(|(q, field)| field.map(|e| q * e))
}

/// ‖a − b‖ / ‖b‖; ‖a − b‖ if b is zero.
pub fn relative(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    let (difference, norm) = a.zip(b).fold((0.0, 0.0), |(d, n), (a, b)| (d + (a - b) * (a - b), n + b * b));
    if norm > 0.0 { f64::sqrt(difference / norm) } else { difference.sqrt() }
}

/// Median and smallest value; zeros if there are no values.
pub fn median_and_least(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = |i: usize| values.get(i).copied().unwrap_or_default();
    [0.5 * (middle(values.len() / 2) + middle(values.len().saturating_sub(1) / 2)), middle(0)]
}

/// What the FMM refused, with the remedy.
pub fn refused(error: FmmError) -> Error {
    let help = match &error {
        FmmError::Order { .. } => "take a lower --order",
        FmmError::Tree { .. } => "take fewer boxes: a smaller --root or --depth",
        FmmError::Separation { .. } => "take a --separation from 1 to 4",
        FmmError::Periods { .. } => "give a cell with three vectors that span a volume",
        FmmError::Charged { .. } => {
            "add the charges that are missing; only a cell that repeats in three directions gets a neutralising background"
        }
        FmmError::ExclusionTooFar { .. } => "take fewer, larger boxes: a smaller --root or --depth",
        FmmError::ClosePair { single: true, .. } | FmmError::Rounding { single: true, .. } => {
            "take --precision f64, or a larger --tolerance"
        }
        FmmError::ClosePair { .. } | FmmError::Rounding { .. } => "take a larger --tolerance",
        FmmError::Coincident { .. } => "move one of the two, or make one charge of both",
        FmmError::NotFinite { .. } | FmmError::TooFar { .. } => "correct the positions and charges",
        FmmError::DeviceBoxes { .. } => "take fewer boxes: a smaller --root or --depth, or --device cpu",
        FmmError::DeviceParticles { .. } => "take fewer charges, or --device cpu",
        FmmError::Device(error) => return device_refused(error),
        _ => "",
    };
    Error::input(error.to_string(), help)
}

/// What the device refused, with the remedy.
pub fn device_refused(error: &DeviceError) -> Error {
    let help = match error {
        DeviceError::OutOfMemory { .. } => "take fewer charges or boxes, a larger GPU, or --device cpu",
        DeviceError::SharedMemory { .. } => {
            "take a smaller --root, refined by --depth, a lower --order, or --device cpu"
        }
        _ => "--device cpu runs without a GPU",
    };
    Error::input(error.to_string(), help)
}

/// Why there are no settings for a tolerance, with the remedy.
pub fn not_tuned(error: TuneError) -> Error {
    let help = match error {
        TuneError::Fmm(error) | TuneError::Exact(EwaldError::Fmm(error)) => return refused(error),
        TuneError::Tolerance { .. } => "valid is a number above zero, such as 1e-5",
        TuneError::OutOfReach { single: true, .. } => "take --precision f64, or a larger --tolerance",
        TuneError::OutOfReach { .. } => "take a larger --tolerance",
        TuneError::Exact(EwaldError::Tolerance { .. }) => "take another --tolerance",
    };
    Error::input(error.to_string(), help)
}
