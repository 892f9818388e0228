//! What the motion on a GPU keeps and tells: the structures that host and kernels share (the twin of `shared.cuh`), the state that is put
//! there and fetched, and why a motion stops.
//!
//! Units: nm, ps, u, kJ/mol; pressure kJ/mol/nm³; f64.

use crate::state::BathState;
use bytemuck::Zeroable;
use forcefield::Cell;
use forcefield::cell::CellError;
use kernels::device::{DeviceError, In, structure};
use nalgebra::Vector3;
use thiserror::Error;

structure! {
    /// What a step tells about its start t.
    #[derive(Default)]
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
        /// Largest distance of an atom after the step from where it was when lists were made, as a part of what it may be.
        pub largest_move: f64,
    }

    /// State of the coupling: first what the step now due does to velocities, v ← factor v − drift, then what is carried from step to step.
    pub struct CouplingState {
        /// Factor of all velocities.
        pub factor: f64,
        /// Velocity that is then taken off all atoms, nm/ps.
        pub drift: [f64; 3],
        /// Work of the thermostat that goes with it, kJ/mol.
        pub pending_work: f64,
        /// By how much the box has been scaled along each axis since the lists were made.
        pub list_scale: [f64; 3],
        /// Factors μ of the lengths along each axis at the end of the last step.
        pub mu: [f64; 3],
        /// Work of the thermostat so far, kJ/mol.
        pub thermostat_work: f64,
        /// Work of the barostat so far, kJ/mol.
        pub barostat_work: f64,
        /// The last change of the volume, of whose work one half is still to be counted, nm³.
        pub pending_volume: f64,
    }

    /// Settings of the coupling. Intervals are in steps, 0 for never.
    pub struct CouplingSettings {
        /// Time step, ps.
        pub dt: f64,
        /// Mass of all atoms, u.
        pub mass: f64,
        /// Steps between removals of the motion of the centre of mass.
        pub com_every: f64,
        /// Steps between actions of the thermostat.
        pub thermostat_every: f64,
        /// c = exp(−dt/τ) over the steps between its actions.
        pub keep: f64,
        /// (1 − c) RT/2, kJ/mol.
        pub mix: f64,
        /// Steps between actions of the barostat.
        pub barostat_every: f64,
        /// Steps from the start in which the volume is constant.
        pub barostat_start: f64,
        /// Reference pressure, kJ/mol/nm³.
        pub pressure: f64,
        /// RT of the barostat, kJ/mol.
        pub rt: f64,
        /// β_T dt/2τ over the steps between its actions, nm³ mol/kJ.
        pub rate: f64,
        /// Virial times volume of the dispersion beyond the cut-off, kJ/mol nm³.
        pub tail: f64,
        /// Smallest scale of the box, since lists were made, that they serve for; 0 without lists.
        pub least_scale: f64,
    }

    /// What Langevin dynamics does in a step; it does nothing where all but the seed are 0.
    pub struct Bath {
        /// a − 1 = e^{−γ dt} − 1.
        pub lost: f64,
        /// RT (1 − a²), kJ/mol.
        pub square: f64,
        /// Seed of the random numbers.
        pub seed: u64,
    }

    /// Random numbers of one step; 0 where none is used.
    pub struct StepNumbers {
        /// R₁ of the thermostat.
        pub first: f64,
        /// Σ R_i² of its other degrees of freedom.
        pub others: f64,
        /// The normal number of the barostat.
        pub barostat: f64,
    }

    /// Where the device stands, and for which steps it has random numbers.
    pub struct Clock {
        /// Number of the present step.
        pub step: i64,
        /// The same while it is to be made, −1 while nothing moves.
        pub due: i64,
        /// Step of the first row of the table of random numbers.
        pub table_start: i64,
        /// Rows of the table.
        pub table_steps: i64,
    }

    /// What went wrong; all are 0 at the beginning.
    pub struct MotionStatus {
        /// The failure, as [`MotionError::from_status`] reads it.
        pub failure: u64,
        /// Step + 1, from which on nothing moves: of the failure, or of [`stale`](Self::stale).
        pub stopped: u64,
        /// Step + 1 for which the lists do not serve: the motion waits for new ones.
        pub stale: u64,
        /// The atom that was farthest from where they were made, if it was too far: bits of an f32, the square of the distance as a part of what
        /// it may be, then the complement of its number.
        pub astray: u64,
    }
}

impl Observed {
    /// Kinetic energy at t: the average of the half steps, kJ/mol.
    pub fn kinetic(&self) -> f64 {
        0.5 * (self.kinetic_before + self.kinetic_after)
    }
}

impl CouplingState {
    /// The state of a coupling that does nothing.
    pub(super) fn still() -> Self {
        Self { factor: 1.0, list_scale: [1.0; 3], mu: [1.0; 3], ..Self::zeroed() }
    }

    /// What the next step will do to the velocities: [`MotionState::prepared`].
    pub(super) fn prepared(&self) -> [f64; 5] {
        let [x, y, z] = self.drift;
        [self.factor, x, y, z, self.pending_work]
    }

    /// Puts what [`prepared`](Self::prepared) told.
    pub(super) fn set_prepared(&mut self, [factor, x, y, z, work]: [f64; 5]) {
        (self.factor, self.drift, self.pending_work) = (factor, [x, y, z], work);
    }
}

/// The state of a motion, which a checkpoint keeps.
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
    /// What the step will do to the velocities: factor, velocity to subtract (three numbers), work of the thermostat. It follows from the
    /// velocities but for the order of sums, so that a run that continues to the last bit needs it.
    pub prepared: Option<[f64; 5]>,
}

/// Neighbours in the list of an atom.
#[derive(Clone, Copy)]
pub struct Crowd<'a> {
    /// The largest number of them; one number on the device.
    pub neighbours: In<'a, u32>,
    /// Room for them.
    pub room: usize,
}

/// Why a motion on a GPU stopped. Atoms are 0-based.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum MotionError {
    /// The device failed, or a list has a wrong length.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// What the device has for a box is none.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A force or a position is not a number, or beyond the range of fixed-point numbers.
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
    /// What the bath of Langevin dynamics changes cannot be freed of what is along fixed bonds.
    #[error(
        "step {step}: velocities along the fixed bonds of the group of the bond between atoms {} and {} cannot be removed",
        atoms[0] + 1,
        atoms[1] + 1
    )]
    Velocity {
        /// Step.
        step: u64,
        /// Atoms of the first bond of the group.
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

/// Where a motion stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The step.
    pub step: u64,
    /// Whether it waits there for new lists.
    pub waits: bool,
    /// The atom that has gone too far, and how far as a part of what it may; none if it was the box that has shrunk too much.
    pub astray: Option<(usize, f64)>,
}

impl Standing {
    pub(super) fn new(step: u64, status: &MotionStatus) -> Self {
        let part = f64::from(f32::from_bits((status.astray >> 32) as u32)).sqrt();
        let astray = (status.astray != 0).then_some((!(status.astray as u32) as usize, part));
        Self { step, waits: status.stale != 0, astray }
    }
}

impl MotionError {
    /// The failure that the device keeps, if there is one; `step`: where the clock stands.
    pub(super) fn from_status(status: &MotionStatus, step: u64) -> Option<Self> {
        if status.failure == 0 {
            return None;
        }
        let step = status.stopped.checked_sub(1).unwrap_or(step);
        let told = !status.failure;
        let [first, second] = [told >> 33, told >> 3].map(|atom| (atom & 0x3fff_ffff) as u32);
        Some(match told & 7 {
            0 => Self::NotFinite { step, atom: first },
            1 => Self::Settle { step, atom: first },
            2 => Self::Shake { step, atoms: [first, second] },
            3 => Self::Thermostat { step },
            4 => Self::Barostat { step },
            5 => Self::Random { step },
            _ => Self::Velocity { step, atoms: [first, second] },
        })
    }
}
