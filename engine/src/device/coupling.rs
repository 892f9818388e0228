//! What couples all atoms between two steps on a GPU: thermostat, barostat, centre of mass; their settings, random numbers,
//! observations and failures. The numbers are those of [`VRescale`] and [`CRescale`]; the kernels are in `coupling.cu`.
//!
//! Units: nm, ps, u, kJ/mol, K; pressure kJ/mol/nm³.

use super::constraints::LEAVES;
use crate::motion::barostat::{CRescale, LARGEST_CHANGE};
use crate::motion::constraints::shake::MAX_SWEEPS;
use crate::motion::thermostat::VRescale;
use crate::state::BathState;
use forcefield::Cell;
use forcefield::units::GAS_CONSTANT;
use kernels::device::{Device, DeviceError, Kernel, Source};
use nalgebra::Vector3;
use thiserror::Error;

/// Steps whose random numbers the table holds.
pub const TABLE_STEPS: u64 = 4096;

/// Terms of which a virial is made, at most.
pub const MAX_TERMS: usize = 64;

/// What acts on all velocities and on the box, and how often (steps; 0: never).
#[derive(Clone, Copy, Debug, Default)]
pub struct Coupling {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Steps between removals of the motion of the centre of mass.
    pub remove_com_interval: u64,
    /// Thermostat and steps between its actions.
    pub thermostat: Option<(VRescale, u64)>,
    /// Barostat and steps between its actions.
    pub barostat: Option<(CRescale, u64)>,
    /// When neighbour lists and boxes cease to serve.
    pub lists: Option<ListLimits>,
}

/// Lists serve while no atom is farther than ½ (s reach − cut-off) and than `slack` from where it was, scaled by s with the box.
#[derive(Clone, Copy, Debug)]
pub struct ListLimits {
    /// Cut-off, nm.
    pub cutoff: f64,
    /// Distance up to which pairs are listed: cut-off + buffer, nm.
    pub reach: f64,
    /// Largest move that the boxes of the FMM allow, nm.
    pub slack: f64,
}

/// The virial of all forces but those of constraints: Σ factor · energy of a slot (i64, 2⁻²⁴ kJ/mol) + tail/volume.
#[derive(Clone, Debug, Default)]
pub struct VirialTerms {
    /// Slots of the array of energies, each with a factor; at most [`MAX_TERMS`].
    pub slots: Vec<(u32, f64)>,
    /// Virial times volume of the dispersion beyond the cut-off, kJ/mol nm³.
    pub tail: f64,
}

/// What moves, and what a checkpoint must keep of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MotionState {
    /// Step.
    pub step: u64,
    /// Positions, nm.
    pub x: Vec<Vector3<f64>>,
    /// Velocities half a step before, nm/ps.
    pub v: Vec<Vector3<f64>>,
    /// Open space or the box.
    pub cell: Cell,
    /// What thermostat and barostat have done so far.
    pub bath: BathState,
    /// What the step will do to the velocities: factor, velocity to subtract, work of the thermostat. It follows from the
    /// velocities but for the order of sums; a run that goes on from here to the last bit needs it.
    pub prepared: Option<[f64; 5]>,
}

/// What a step tells about its start t.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// Kinetic energy at t − ½dt as it entered the step (after the thermostat), kJ/mol.
    pub kinetic_before: f64,
    /// Kinetic energy at t + ½dt, kJ/mol.
    pub kinetic_after: f64,
    /// Virial of the constraint forces, kJ/mol.
    pub constraint_virial: f64,
    /// Virial of all other forces, kJ/mol.
    pub virial: f64,
    /// Volume, nm³; 0 without a box.
    pub volume: f64,
    /// Pressure, kJ/mol/nm³; 0 without a box.
    pub pressure: f64,
    /// Largest distance of an atom after the step from where it was when lists were made, nm.
    pub largest_move: f64,
}

impl Observed {
    pub(super) fn from_numbers(n: &[f64]) -> Self {
        Self {
            kinetic_before: n[0],
            kinetic_after: n[1],
            constraint_virial: n[2],
            virial: n[3],
            volume: n[4],
            pressure: n[5],
            largest_move: n[6],
        }
    }

    /// Kinetic energy at t: the average of the half steps, kJ/mol.
    pub fn kinetic(&self) -> f64 {
        0.5 * (self.kinetic_before + self.kinetic_after)
    }
}

/// Numbers of [`Observed`].
pub(super) const OBSERVED: usize = 7;

/// Numbers of the state of the coupling, and where they are; the same as in `motion.cuh`.
pub(super) const STATE: usize = 10;
pub(super) const FACTOR: usize = 0;
pub(super) const PREPARED: usize = 5;
pub(super) const LIST_SCALE: usize = 5;
pub(super) const MU: usize = 6;
pub(super) const THERMOSTAT_WORK: usize = 7;
pub(super) const BAROSTAT_WORK: usize = 8;
pub(super) const PENDING_VOLUME: usize = 9;

/// Why a motion on a GPU stopped. Atoms are 0-based.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum MotionError {
    /// The device failed, or a list has a wrong length.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A force or a position is not a number, or beyond all reason.
    #[error("step {step}: the force on atom {} or its position is not a finite number", atom + 1)]
    NotFinite {
        /// Step.
        step: u64,
        /// Atom.
        atom: u32,
    },
    /// A rigid water cannot be put back into its shape.
    #[error("step {step}: SETTLE found no solution for the water of atom {}: it moved too far in one step", atom + 1)]
    Settle {
        /// Step.
        step: u64,
        /// Its oxygen.
        atom: u32,
    },
    /// A fixed bond cannot be restored.
    #[error("step {step}: SHAKE did not converge: bond between atoms {} and {}", atoms[0] + 1, atoms[1] + 1)]
    Shake {
        /// Step.
        step: u64,
        /// Bonded atoms.
        atoms: [u32; 2],
    },
    /// Velocities that are all zero, or not finite, cannot be scaled to a temperature.
    #[error("step {step}: thermostat: the kinetic energy cannot be scaled; it must be positive and finite")]
    Thermostat {
        /// Step.
        step: u64,
    },
    /// The cell would change too much at once.
    #[error(
        "step {step}: barostat: lengths would change too much at once: minimise or equilibrate at constant volume first, \
         or couple more weakly"
    )]
    Barostat {
        /// Step.
        step: u64,
    },
    /// The table of random numbers does not hold the step: a fault of the calling code.
    #[error("step {step}: the table of random numbers does not hold this step")]
    Random {
        /// Step.
        step: u64,
    },
}

impl MotionError {
    /// From what the device keeps: failure, step + 1, stale step + 1; `step`: where the clock stands.
    pub(super) fn from_status(status: &[u64], step: u64) -> Option<Self> {
        if status[0] == 0 {
            return None;
        }
        let step = status[1].checked_sub(1).unwrap_or(step);
        let told = !status[0];
        let [first, second] = [told >> 33, told >> 3].map(|atom| (atom & 0x3fff_ffff) as u32);
        Some(match told & 7 {
            0 => Self::NotFinite { step, atom: first },
            1 => Self::Settle { step, atom: first },
            2 => Self::Shake { step, atoms: [first, second] },
            3 => Self::Thermostat { step },
            4 => Self::Barostat { step },
            _ => Self::Random { step },
        })
    }
}

impl Coupling {
    /// The settings as the kernels read them; `mass`: of all atoms, u.
    pub(super) fn numbers(&self, dt: f64, mass: f64, tail: f64) -> Vec<f64> {
        let [keep, mix] = self.thermostat.map_or([0.0; 2], |(t, every)| t.coefficients(every as f64 * dt));
        let mut out = vec![dt, mass, self.remove_com_interval as f64];
        out.extend([self.thermostat.map_or(0, |(_, every)| every) as f64, keep, mix]);
        match &self.barostat {
            Some((barostat, every)) => {
                let s = barostat.settings();
                let rate = s.compressibility * (*every as f64 * dt) / (2.0 * s.tau);
                out.extend([*every as f64, s.pressure, GAS_CONSTANT * s.temperature, rate]);
            }
            None => out.extend([0.0; 4]),
        }
        let lists = self.lists.map_or([0.0; 3], |l| [l.cutoff, l.reach, l.slack]);
        out.push(tail);
        out.extend(lists);
        out
    }

    /// Whether the barostat changes the box at the end of `step`.
    pub fn box_changes(&self, step: u64) -> bool {
        self.barostat.is_some_and(|(_, every)| every > 0 && (step + 1).is_multiple_of(every))
    }

    /// Random numbers of [`TABLE_STEPS`] steps from `first` on, three each; zero where none is used.
    pub(super) fn random_numbers(&self, first: u64) -> Vec<f64> {
        let row = |step: u64| {
            let acts = |every: u64| every > 0 && step.is_multiple_of(every);
            let thermostat = self.thermostat.filter(|(_, every)| acts(*every));
            let [one, others] = thermostat.map_or([0.0; 2], |(thermostat, _)| thermostat.numbers(self.seed, step));
            let normal = if self.box_changes(step) { CRescale::number(self.seed, step) } else { 0.0 };
            [one, others, normal]
        };
        (first..first + TABLE_STEPS).flat_map(row).collect()
    }
}

/// All kernels of the motion.
pub(super) struct Kernels {
    pub leap: Kernel,
    pub rescale: Kernel,
    pub finish: Kernel,
    pub begin: Kernel,
    pub mark: Kernel,
}

/// Sources of the kernels: `integrate.cu` and `coupling.cu`.
pub(super) fn sources() -> [Source; 2] {
    let source = |name, text| {
        Source::new(name, text)
            .define("REAL", "double")
            .define("LEAVES", LEAVES)
            .define("MAX_SWEEPS", MAX_SWEEPS)
            .define("MAX_TERMS", MAX_TERMS)
            .define("LARGEST_CHANGE", LARGEST_CHANGE)
            .header(include_str!("motion.cuh"))
    };
    let integrate = source("integrate", include_str!("integrate.cu")).header(include_str!("constraints.cuh"));
    [integrate, source("coupling", include_str!("coupling.cu"))]
}

impl Kernels {
    /// Compiled for this device.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let [integrate, coupling] = sources();
        let (integrate, coupling) = (device.compile(&integrate)?, device.compile(&coupling)?);
        Ok(Self {
            leap: integrate.kernel("leap")?,
            rescale: integrate.kernel("rescale")?,
            finish: coupling.kernel("finish")?,
            begin: coupling.kernel("begin")?,
            mark: coupling.kernel("mark")?,
        })
    }
}
