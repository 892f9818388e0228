//! Everything of a simulation that changes, and nothing else.
//!
//! There is one [`State`]. A checkpoint is the state in a file, frames are read from it, minimisation and replica exchange change it,
//! and a backend moves it on. What does not change is the [`crate::system::System`]. Random numbers are keyed by seed and step, so that
//! the step is all there is of them.
//!
//! The names of fields in files are fixed by `#[serde(rename)]` where the program calls them otherwise, so that a field may be renamed
//! without making checkpoints unreadable. Units: nm, ps, kJ/mol.

use forcefield::Cell;
use lambda::motion::LambdaState;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// A simulation between two steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Open space or the periodic box.
    pub cell: Cell,
    /// Positions, nm.
    #[serde(with = "crate::packed")]
    pub positions: Vec<Vector3<f64>>,
    /// Velocities half a step before the positions, nm/ps.
    #[serde(with = "crate::packed")]
    pub velocities: Vec<Vector3<f64>>,
    /// Positions that position restraints hold, nm; they follow the box. Zero for atoms that are not held, empty without restraints.
    #[serde(with = "crate::packed")]
    pub restraint_references: Vec<Vector3<f64>>,
    /// Energy that restraints have been given so far when their force constants changed, kJ/mol.
    #[serde(default)]
    pub restraint_work: f64,
    /// What thermostat and barostat have done so far.
    pub bath: BathState,
    /// λ of all sites, pH, barriers.
    pub sites: SitesState,
    /// From where the neighbour lists of now were made: a continued run makes the same ones.
    pub lists: ListState,
    /// What a GPU needs to go on to the last bit; none if no GPU has moved this state.
    pub gpu: Option<GpuState>,
}

/// Work of thermostat and barostat: the energy of the system less this work is conserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BathState {
    /// Energy that the thermostat has given to the atoms, kJ/mol.
    pub thermostat_work: f64,
    /// The barostat.
    pub barostat: BarostatState,
}

/// State of the barostat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarostatState {
    /// Energy that the barostat has given to the system, kJ/mol.
    pub work: f64,
    /// Change of the volume (nm³) of which only the first half of the work has been counted: the second half waits for the pressure
    /// after the change.
    pub pending_volume: f64,
    /// The same of each edge (nm), where a barostat scales axes apart.
    #[serde(default)]
    pub pending_edges: [f64; 3],
}

/// Everything of the titratable sites that changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SitesState {
    /// Coordinates ξ, their velocities, and the heat that their thermostats have given.
    pub lambda: LambdaState,
    /// The pH that acts on the sites; none if every site is fixed.
    pub ph: Option<f64>,
    /// The barrier of each site that moves, in the order of the sites.
    pub barriers: Vec<BarrierState>,
    /// Energy that changes of barriers have added so far, kJ/mol.
    pub barrier_work: f64,
}

/// A barrier, which may still be looking for its height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarrierState {
    /// Height, kJ/mol.
    pub height: f64,
    /// The form that was occupied last.
    pub form: Option<usize>,
    /// Transitions between forms since the height was changed last.
    pub transitions: u64,
}

/// Positions and cell at the last rebuild of the neighbour lists; empty before the first one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListState {
    /// Positions, nm.
    #[serde(with = "crate::packed")]
    pub positions: Vec<Vector3<f64>>,
    /// The cell.
    pub cell: Cell,
}

/// What a GPU keeps between two steps beside the rest of the state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuState {
    /// Lengths of the boxes of the FMM, which a barostat has scaled since the lists were made; empty in open systems.
    pub geometry: Vec<f64>,
    /// What the next step will do to the velocities. It follows from them but for the order of sums.
    pub prepared: Option<[f64; 5]>,
    /// From where atoms were assigned to the boxes of now.
    #[serde(default)]
    pub boxes: ListState,
    /// The box that lists, boxes and their buffers were planned for; none: that of the job.
    #[serde(default)]
    pub planned: Option<Cell>,
    /// The box whose shape is that about which the operators of the FMM are known, where a barostat scales axes apart.
    #[serde(default)]
    pub shape: Option<Cell>,
}

impl State {
    /// Makes the positions from which lists were made their difference from the present ones, by bits, and is its own inverse: a file has less to hold then, and next to
    /// nothing of lists that are made of the present positions.
    pub fn toggle_differences(&mut self) {
        let lists = [Some(&mut self.lists), self.gpu.as_mut().map(|gpu| &mut gpu.boxes)];
        for list in lists.into_iter().flatten().filter(|list| list.positions.len() == self.positions.len()) {
            for (made, now) in list.positions.iter_mut().zip(&self.positions) {
                *made = made.zip_map(now, |made, now| f64::from_bits(made.to_bits() ^ now.to_bits()));
            }
        }
    }

    /// Whether the parts of this state have the sizes of those of `other`, which belongs to the same system.
    pub fn fits(&self, other: &Self) -> bool {
        let n = other.positions.len();
        let lists = &self.lists;
        let lists_fit = lists.positions.is_empty()
            || (lists.positions.len() == n && lists.cell.is_periodic() == other.cell.is_periodic());
        let boxes_fit = self.gpu.as_ref().is_none_or(|gpu| [0, n].contains(&gpu.boxes.positions.len()));
        let coordinates = other.sites.lambda.coordinates.len();
        self.positions.len() == n
            && self.velocities.len() == n
            && self.cell.is_periodic() == other.cell.is_periodic()
            && lists_fit
            && boxes_fit
            && self.restraint_references.len() == other.restraint_references.len()
            && self.sites.lambda.coordinates.len() == coordinates
            && self.sites.lambda.velocities.len() == coordinates
            && self.sites.barriers.len() == other.sites.barriers.len()
    }
}
