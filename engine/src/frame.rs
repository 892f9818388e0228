//! What a step offers to outputs: numbers with names and units, λ, ∂V/∂λ, positions.

use forcefield::Cell;
use nalgebra::Vector3;

/// One number of a step, with its name and unit as they appear in files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Name, for example `Lennard-Jones` or `temperature`.
    pub name: &'static str,
    /// Unit, for example `kJ/mol`.
    pub unit: &'static str,
    /// Value in that unit.
    pub value: f64,
}

impl Quantity {
    /// Head of its column: name and unit.
    pub fn title(&self) -> String {
        if self.unit.is_empty() { self.name.to_string() } else { format!("{} ({})", self.name, self.unit) }
    }
}

/// Parts of a [`Frame`] that cost something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Energies.
    pub energies: bool,
    /// ∂V/∂λ.
    pub derivatives: bool,
    /// Positions and velocities.
    pub positions: bool,
    /// Forces.
    pub forces: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Self = Self { energies: true, derivatives: true, positions: true, forces: true };
}

/// Steps at which the tables get lines; none: there is no such table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineIntervals {
    /// Steps between two lines of energies; there is one at the last step as well.
    pub energies: Option<u64>,
    /// Steps between two lines of λ and ∂V/∂λ.
    pub lambda: Option<u64>,
    /// The last step.
    pub last: u64,
}

impl LineIntervals {
    /// The first step from `from` on that has a line of energies.
    pub fn energies_from(&self, from: u64) -> Option<u64> {
        let every = self.energies?;
        let next = from.next_multiple_of(every);
        Some(if from <= self.last { next.min(self.last) } else { next })
    }

    /// The first step from `from` on that has a line of λ.
    pub fn lambda_from(&self, from: u64) -> Option<u64> {
        Some(from.next_multiple_of(self.lambda?))
    }
}

/// Which of the lines that are kept are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upto {
    /// Those that are there without waiting for a device.
    AtHand,
    /// All but what is only known when the present step is made.
    Passed,
    /// All, that of the present step included, for which a device may have to compute something.
    Present,
}

/// State of one step as the outputs see it. What was not [`Wanted`] is empty. Names, units and their order are the same in every frame of a run.
#[derive(Debug, Clone)]
pub struct Frame<'a> {
    /// Number of the step; 0 is the start.
    pub step: u64,
    /// Time (ps).
    pub time: f64,
    /// Energies and other numbers of this step, in the order of the columns of `energy.csv`.
    pub energies: Vec<Quantity>,
    /// λ in the columns of `lambda.csv`: one for a site of two forms, one for each form of others.
    pub lambda: Vec<f64>,
    /// ∂V/∂λ in the same order, without bias (kJ/mol).
    pub dvdl: Vec<f64>,
    /// Whose coordinates these are, in a replica exchange.
    pub walker: Option<u32>,
    /// Positions (nm), one per atom.
    pub positions: &'a [Vector3<f64>],
    /// Velocities (nm/ps) half a step before the positions, one per atom.
    pub velocities: &'a [Vector3<f64>],
    /// Forces of the force field at the positions (kJ/mol/nm), without those of constraints, one per atom.
    pub forces: &'a [Vector3<f64>],
    /// Open space or the box.
    pub cell: Cell,
}
