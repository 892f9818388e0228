//! What computes: forces and motion on the CPU or on a GPU, behind one interface.
//!
//! A [`crate::simulation::Simulation`] owns the [`State`] and asks a [`Backend`] to move it. The CPU works on the state itself. A GPU has its
//! own copy in its memory: [`Backend::load`] puts the state there, [`Backend::store`] brings it back. Which of the two it is, and what
//! happens if a GPU cannot be used, is decided in [`choice`] alone.

pub mod choice;
pub mod cpu;
pub mod fmm_settings;
pub mod gpu;
pub mod terms;

use crate::energies::Energies;
use crate::error::Result;
use crate::motion::leapfrog::StepEnergies;
use crate::state::{BathState, State};
use crate::titration::Biases;
use forcefield::Cell;
use lambda::SiteValues;
use lambda::device::KeptStep;
use lambda::motion::LambdaState;
use nalgebra::Vector3;

/// Energies and their derivatives at the present state.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// Every term of the force field; without bias.
    pub energies: Energies,
    /// Forces, kJ/mol/nm; one per atom.
    pub forces: Vec<Vector3<f64>>,
    /// ∂V/∂λ_α of the force field (kJ/mol) of every form of every site.
    pub by_weight: SiteValues,
}

/// All that a line of energies says of one moment, without bias.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The step.
    pub step: u64,
    /// Energies of the force field.
    pub energies: Energies,
    /// What the step that begins here would tell, without thermostat; none if velocities are not known.
    pub motion: Option<StepEnergies>,
    /// Open space or the box.
    pub cell: Cell,
    /// Work of thermostat and barostat so far.
    pub bath: BathState,
    /// λ.
    pub lambda: LambdaState,
    /// ∂V/∂λ_α of the force field, kJ/mol.
    pub by_weight: SiteValues,
}

/// Where the lists of a state that is loaded come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrigin {
    /// Something has changed the state: lists follow from its positions.
    Positions,
    /// The state is that of a checkpoint: the lists it names are made again, so that the run goes on to the last bit.
    Checkpoint,
}

/// Moves a state and tells energies, forces and ∂V/∂λ.
pub trait Backend: Send {
    /// Order and boxes of the FMM in words.
    fn describe_coulomb(&self) -> &str;

    /// Steps that are best done at once: between two looks at signals and the clock.
    fn pace(&self) -> u64;

    /// Steps between two rebuilds of lists, where that is fixed.
    fn list_interval(&self) -> Option<u64>;

    /// When lists are made anew and what they hold, in words, where that is fixed.
    fn describe_lists(&self) -> Option<&str> {
        None
    }

    /// What has happened since the last call that a person should know, a line each.
    fn notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Takes over a state that something else has changed. What had been computed is void.
    ///
    /// # Errors
    /// Positions that are not finite, a box too small, a device that is lost.
    fn load(&mut self, state: &mut State, lists: ListOrigin) -> Result<()>;

    /// Takes other biases: another pH, other barriers. What they have in common with those before is not moved again.
    ///
    /// # Errors
    /// A device that is lost.
    fn set_biases(&mut self, biases: &Biases, step: u64) -> Result<()>;

    /// Moves the state by so many steps. Its step is up to date afterwards, all else after [`Self::store`].
    ///
    /// # Errors
    /// [`crate::error::PhysicsError`] if the result is not finite or constraints do not converge; a device that is lost.
    fn advance(&mut self, state: &mut State, steps: u64) -> Result<()>;

    /// Computes energies, forces and ∂V/∂λ at the present state, unless they are at hand.
    ///
    /// # Errors
    /// [`crate::error::PhysicsError`] with the term and the atom that are not finite.
    fn evaluate(&mut self, state: &mut State) -> Result<Energies>;

    /// Computes ∂V/∂λ at the present state, and no more than that takes.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    fn evaluate_derivatives(&mut self, state: &mut State) -> Result<()>;

    /// What was computed last; ∂V/∂λ may be newer than the rest.
    fn evaluation(&self) -> &Evaluation;

    /// From now on keeps ξ and ∂V/∂λ of every step from `first` on whose number is a multiple of `every` when it is made, for [`Self::kept`]; false if it does
    /// not: an evaluation at the step costs nothing then, because the step would make it all the same.
    ///
    /// # Errors
    /// A device that is lost.
    fn keep(&mut self, _every: u64, _first: u64) -> Result<bool> {
        Ok(false)
    }

    /// What has been kept of steps before the present one since the last call; without `wait` only what is there already.
    ///
    /// # Errors
    /// A device that is lost.
    fn kept(&mut self, _state: &State, _wait: bool) -> Result<Vec<KeptStep>> {
        Ok(Vec::new())
    }

    /// Whether moments can be noted.
    fn notes(&self) -> bool {
        false
    }

    /// Notes the present moment, and waits for a device no longer than until it has come there.
    ///
    /// # Errors
    /// A device that is lost.
    fn note(&mut self, _state: &State) -> Result<()> {
        Ok(())
    }

    /// The moments that have been noted since the last call, in their order; without `wait` only those that are there already.
    ///
    /// # Errors
    /// [`crate::error::PhysicsError`] for energies that are not finite; a device that is lost.
    fn noted(&mut self, _state: &State, _wait: bool) -> Result<Vec<Moment>> {
        Ok(Vec::new())
    }

    /// Whether lists are made anew at the present step, whoever looks. A checkpoint of such a step has nothing to say of them but that.
    fn makes_lists(&self, state: &State) -> bool;

    /// Brings the whole state up to date.
    ///
    /// # Errors
    /// A device that is lost, or what was wrong with the steps before.
    fn store(&mut self, state: &mut State) -> Result<()>;

    /// The same for a checkpoint: lists that the present step makes anew are those of the state, so that it does not tell whether somebody has looked.
    ///
    /// # Errors
    /// As [`Self::store`]; positions of which no lists can be made.
    fn store_with_lists(&mut self, state: &mut State) -> Result<()> {
        self.store(state)
    }

    /// Brings λ up to date.
    ///
    /// # Errors
    /// As [`Self::store`].
    fn store_lambda(&mut self, state: &mut State) -> Result<()>;

    /// Seconds of a whole step and of each of its parts, if this backend can tell them apart. The state stays what it is.
    ///
    /// # Errors
    /// Whatever stops the motion.
    fn profile(&mut self, state: &State) -> Result<Vec<(&'static str, f64)>>;
}
