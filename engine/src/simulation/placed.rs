//! Atoms put where a frame of a trajectory has them, for energies of frames.

use super::Simulation;
use super::observe::Known;
use crate::error::{InputError, Result};
use crate::frame::Quantity;
use crate::system;
use crate::titration::Sites;
use crate::trajectory::StoredFrame;
use forcefield::virtual_sites;
use nalgebra::Vector3;
use std::path::Path;

impl Simulation {
    /// Puts atoms and box where `frame`, of the file `path`, has them, and virtual sites where their parents then have them; velocities are zero if it has none. Steps and λ stay as they are. References of
    /// position restraints scale with the box.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] for another number of atoms, or a box that the system cannot have.
    pub fn place(&mut self, frame: &StoredFrame, path: &Path) -> Result<()> {
        self.store()?;
        let atoms = self.state.positions.len();
        if frame.positions.len() != atoms {
            let message = format!("the frames have {} atoms, the system has {atoms}", frame.positions.len());
            let help = "energies are those of all atoms: take trajectory.trr, or a trajectory of output.trajectory_atoms = \"all\"";
            return Err(InputError::new(message, help).in_file(path).into());
        }
        let cell = system::cell_of(&self.system.config, frame.cell, path)?;
        self.state.positions.clone_from(&frame.positions);
        if let Some(periodic) = cell.periodic() {
            let whole = self.system.fragments.make_whole(periodic, &mut self.state.positions);
            whole.map_err(|e| InputError::new(e.to_string(), "").in_file(path))?;
        }
        virtual_sites::place(&self.system.topology.virtual_sites, &mut self.state.positions);
        let references = &mut self.state.restraint_references;
        match (cell.stretch_since(&self.state.cell), self.state.cell.periodic(), cell.periodic()) {
            (Some(factor), ..) => references.iter_mut().for_each(|x| x.component_mul_assign(&factor)),
            (None, Some(old), Some(new)) => references.iter_mut().for_each(|x| *x = new.vector(old.coordinates(*x))),
            (None, ..) => (),
        }
        self.state.cell = cell;
        self.state.velocities.clone_from(&frame.velocities);
        self.state.velocities.resize(atoms, Vector3::zeros());
        self.touch();
        Ok(())
    }

    /// Energies at the present positions and λ, λ, and ∂V/∂λ in the columns of `lambda.csv`; with kinetic energy and pressure if the velocities are those of
    /// these positions.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`].
    pub fn observe_placed(&mut self, moving: bool) -> Result<(Vec<Quantity>, Vec<f64>, Vec<f64>)> {
        let known = if moving { Known::Atoms } else { Known::Positions };
        let energies = self.energy_columns(known)?;
        let lambda = Sites::columns(&self.system.weights(&self.state), false);
        Ok((energies, lambda, Sites::columns(self.derivatives(), true)))
    }
}
