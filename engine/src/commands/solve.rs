//! A set of charges, evaluated and timed by the fast multipole method in either precision.

use crate::cli::{Accuracy, PrecisionArgument, ToleranceOf};
use bytemuck::Pod;
use fmm::accuracy::{self, Tolerance, TuneError, Tuned};
use fmm::device::DeviceCoulomb;
use fmm::ewald::{self, EwaldError};
use fmm::{
    Boundary, Coulomb, Exclusions, Fmm, FmmError, Potentials, Settings, StageTimings, TreeShape, Work, Workload,
};
use kernels::Real;
use kernels::device::{Device, DeviceError};
use octitrate::config::Depth;
use octitrate::error::{Error, Result};
use std::time::Instant;

/// Particles whose exact potentials and fields are computed.
const SAMPLES: usize = 100;

/// Charges, and what surrounds them.
pub struct System {
    pub boundary: Boundary,
    pub positions: Vec<[f64; 3]>,
    pub charges: Vec<f64>,
    pub exclusions: Exclusions,
    /// Smallest leaf edge for which excluded pairs lie in near boxes.
    pub minimum_leaf: f64,
}

/// Settings, and how they were found.
pub struct Choice {
    pub settings: Settings,
    pub near_boxes: usize,
    /// Trials for a tolerance.
    pub tuned: Option<Tuned>,
}

/// Results, and seconds.
pub struct Solved {
    pub energy: f64,
    pub potentials: Potentials,
    pub work: Work,
    pub setup: f64,
    /// One entry for each repetition.
    pub assign: Vec<f64>,
    /// See `assign`.
    pub evaluate: Vec<f64>,
    /// See `assign`.
    pub stages: Vec<StageTimings>,
}

/// Relative errors at some of the particles.
pub struct Sampled {
    pub particles: usize,
    pub potentials: f64,
    pub forces: f64,
}

impl System {
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// What the command line asks for: settings for a tolerance, checked, or an order with the fastest tree, of the CPU or of `device`, unless one
    /// is named.
    ///
    /// # Errors
    /// A tolerance out of reach, and what the FMM refuses.
    pub fn choose(
        &self,
        wanted: &Accuracy,
        of: ToleranceOf,
        precision: PrecisionArgument,
        default_order: u32,
        device: Option<&Device>,
    ) -> Result<Choice> {
        match precision {
            PrecisionArgument::F32 => self.choose_in::<f32>(wanted, of, default_order, device),
            PrecisionArgument::F64 => self.choose_in::<f64>(wanted, of, default_order, device),
        }
    }

    fn choose_in<T: Real + Pod>(
        &self,
        wanted: &Accuracy,
        of: ToleranceOf,
        default_order: u32,
        device: Option<&Device>,
    ) -> Result<Choice> {
        let workload = Workload::new(&self.boundary, &self.positions, self.minimum_leaf);
        if let Some(tolerance) = wanted.tolerance {
            let tolerance = match of {
                ToleranceOf::Force => Tolerance::Force(tolerance),
                ToleranceOf::Energy => Tolerance::Energy(tolerance),
                ToleranceOf::AbsoluteEnergy => Tolerance::AbsoluteEnergy(tolerance),
            };
            let (boundary, x, q, skipped) = (&self.boundary, &self.positions, &self.charges, &self.exclusions);
            let tuned = match device {
                None => accuracy::tune::<T>(boundary, x, q, skipped, self.minimum_leaf, tolerance),
                Some(device) => accuracy::tune_on::<T>(device, boundary, x, q, skipped, self.minimum_leaf, tolerance),
            };
            let tuned = tuned.map_err(not_tuned)?;
            let settings = tuned.settings;
            return Ok(Choice { settings, near_boxes: workload.near_boxes(&settings), tuned: Some(tuned) });
        }
        let order = wanted.order.unwrap_or(default_order) as usize;
        let separation = wanted.separation.unwrap_or(Settings::TOUCHING);
        let tree = match (wanted.root, wanted.depth) {
            (Some(root), Some(Depth::Levels(depth))) => TreeShape { root: root.0, depth: depth as usize },
            (Some(root), _) => TreeShape { root: root.0, depth: 0 },
            (None, Some(Depth::Levels(depth))) => TreeShape::near_cubic(workload.edges, depth as usize),
            (None, _) => match device {
                None => TreeShape::auto::<T>(order, separation, &workload),
                Some(device) => TreeShape::auto_on::<T>(device, order, separation, &workload),
            },
        };
        let settings = Settings { order, tree, separation };
        Ok(Choice { settings, near_boxes: workload.near_boxes(&settings), tuned: None })
    }

    /// Assigns and evaluates `repeats` times, after `warm` times that are not counted.
    ///
    /// # Errors
    /// What the FMM refuses.
    pub fn solve(
        &self,
        settings: Settings,
        precision: PrecisionArgument,
        warm: usize,
        repeats: usize,
    ) -> Result<Solved> {
        let solved = match precision {
            PrecisionArgument::F32 => self.solve_in::<f32>(settings, warm, repeats),
            PrecisionArgument::F64 => self.solve_in::<f64>(settings, warm, repeats),
        };
        solved.map_err(refused)
    }

    /// Energy and potentials by a device.
    ///
    /// # Errors
    /// What the FMM refuses; the device.
    pub fn solve_on(
        &self,
        device: &Device,
        settings: Settings,
        precision: PrecisionArgument,
    ) -> Result<(f64, Potentials)> {
        let solver: std::result::Result<Box<dyn Coulomb>, FmmError> = match precision {
            PrecisionArgument::F32 => {
                DeviceCoulomb::<f32>::new(device, self.boundary, settings).map(|s| Box::new(s) as _)
            }
            PrecisionArgument::F64 => {
                DeviceCoulomb::<f64>::new(device, self.boundary, settings).map(|s| Box::new(s) as _)
            }
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
            solver.assign(&self.positions, &self.exclusions, &[])?;
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
    /// What the sum refuses.
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

/// Median and smallest value; zeros of nothing.
pub fn median_and_least(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = |i: usize| values.get(i).copied().unwrap_or_default();
    [0.5 * (middle(values.len() / 2) + middle(values.len().saturating_sub(1) / 2)), middle(0)]
}

/// What the FMM refused, with what helps.
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
        FmmError::Coincident { .. } => "move one of the two, or make one charge of both",
        FmmError::NotFinite { .. } | FmmError::TooFar { .. } => "correct the positions and charges",
        FmmError::DeviceBoxes { .. } => "take fewer boxes: a smaller --root or --depth, or --device cpu",
        FmmError::DeviceParticles { .. } => "take fewer charges, or --device cpu",
        FmmError::Device(error) => return device_refused(error),
        _ => "",
    };
    Error::input(error.to_string(), help)
}

/// What the device refused, with what helps.
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

/// Why there are no settings for a tolerance, with what helps.
fn not_tuned(error: TuneError) -> Error {
    let help = match error {
        TuneError::Fmm(error) | TuneError::Exact(EwaldError::Boundary(error)) => return refused(error),
        TuneError::Tolerance { .. } => "valid is a number above zero, such as 1e-5",
        TuneError::OutOfReach { single: true, .. } => "take --precision f64, or a larger --tolerance",
        TuneError::OutOfReach { .. } => "take a larger --tolerance",
        TuneError::Exact(EwaldError::Charge { .. }) => {
            "add the charges that are missing; only a cell that repeats in three directions gets a neutralising background"
        }
        TuneError::Exact(_) => "correct the positions and charges",
    };
    Error::input(error.to_string(), help)
}
