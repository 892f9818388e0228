//! What a system on a device is made of, the state that goes there and back, and what can be wrong with it.

use super::schedule::Schedule;
use crate::config::Interpolation;
use crate::fading::Fading;
use crate::motion::constraints::Constraints;
use crate::motion::device::{Coupling, MotionError, MotionState};
use crate::state::ListState;
use crate::titration::{Biases, Sites};
use fmm::{FmmError, Members, Settings};
use forcefield::cell::CellError;
use forcefield::device::DeviceTermError;
use forcefield::variants::Variants;
use forcefield::{Cell, Topology};
use kernels::device::{DeviceError, Stream};
use lambda::device::SitesError;
use lambda::motion::LambdaState;
use nalgebra::Vector3;
use thiserror::Error;

/// Why a system cannot run on a device.
#[derive(Debug, Error)]
pub enum ResidentError {
    /// Electrostatics.
    #[error(transparent)]
    Fmm(#[from] FmmError),
    /// Other terms.
    #[error(transparent)]
    Term(#[from] DeviceTermError),
    /// λ.
    #[error(transparent)]
    Sites(#[from] SitesError),
    /// Motion.
    #[error(transparent)]
    Motion(#[from] MotionError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// What the device has for a box is none.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// More neighbours than there is room for.
    #[error(
        "an atom has {found} neighbours within the Lennard-Jones list, with room for {room}: the density has changed too fast"
    )]
    Neighbours {
        /// Most neighbours of an atom.
        found: usize,
        /// Room.
        room: usize,
    },
    /// Positions or a box of which no list can be made.
    #[error(
        "no neighbour list can be made: a position is not finite, or the box has become smaller than twice what the list holds"
    )]
    Unfit,
    /// A force out of range.
    #[error("a force of one term is larger than 1e8 kJ/mol/nm")]
    Saturated,
}

/// What a resident system is made of.
pub struct Setup<'a> {
    /// Topology, constraints included: what all forms of the sites share.
    pub topology: &'a Topology,
    /// What differs between forms besides charges, and the topology that it was taken out of; none if nothing does.
    pub variants: Option<(&'a Variants, &'a Topology)>,
    /// Masses, u.
    pub masses: &'a [f64],
    /// Constraints.
    pub constraints: &'a Constraints,
    /// Time step, ps.
    pub dt: f64,
    /// Thermostat, barostat, centre of mass.
    pub coupling: Coupling,
    /// Lennard-Jones.
    pub lennard_jones: forcefield::device::Settings,
    /// When lists and boxes are made anew.
    pub schedule: &'a Schedule,
    /// Order, boxes and separation of the FMM.
    pub fmm: Settings,
    /// The atoms that it computes.
    pub charged: &'a Members,
    /// Positions to lay open boxes around, nm.
    pub start: &'a [Vector3<f64>],
    /// Open space or the box.
    pub cell: Cell,
    /// Positions that restraints hold, nm; empty without restraints.
    pub reference: &'a [Vector3<f64>],
    /// When restraints that fade end.
    pub fading: Fading,
    /// Titratable sites.
    pub sites: Option<&'a Sites>,
    /// Their biases.
    pub biases: &'a Biases,
    /// How their forms are interpolated.
    pub interpolation: Interpolation,
    /// Whether the parts of a step run beside each other: faster for one system, slower for many that share a GPU.
    pub alone: bool,
}

/// What moves.
#[derive(Clone, Debug, PartialEq)]
pub struct ResidentState {
    /// Atoms, thermostat and barostat.
    pub atoms: MotionState,
    /// λ.
    pub lambda: LambdaState,
}

/// What lists and boxes were made from, to make them again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists {
    /// The list of pairs.
    pub pairs: ListState,
    /// The assignment to boxes.
    pub boxes: ListState,
    /// Lengths of the boxes now, which a barostat has scaled since the run came to the device; empty in open systems.
    pub geometry: Vec<f64>,
}

/// Streams of a step.
pub struct Streams {
    /// Begins and ends the step, with the far field between: the chain of short kernels that a step takes as long as.
    pub main: Stream,
    /// Near field.
    pub near: Stream,
    /// Lennard-Jones and bonded terms.
    pub short: Stream,
    /// Sites.
    pub sites: Stream,
    /// Bonded terms that differ between the forms of sites.
    pub forms: Stream,
    /// What a step leaves to be done before the next one ends.
    pub behind: Stream,
}
