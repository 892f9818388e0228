//! Restraints that end in the course of a run: the work that each change of their force constants does.
//!
//! The kick of step n takes velocities from t − ½dt to t + ½dt with the force constants of n: those change at t − ½dt, half way between two positions. A
//! change by Δ does the work Δ ½(V(x_n) + V(x_n−1)), where V is the energy of whole restraints. With V(x_n) alone the energy less the work would
//! jump by ½Δ(V(x_n) − V(x_n−1)), of the order of dt.

use super::Simulation;
use crate::error::Result;
use forcefield::restraints;
use forcefield::topology::PositionRestraint;
use nalgebra::Vector3;

impl Simulation {
    /// Counts the work of the change that the present step begins with, if there is one: positions stay, and the energy changes with the force
    /// constants. To be called once for each step that is reached.
    pub(super) fn fade(&mut self) -> Result<()> {
        let change = self.system.plan.fading.change(self.state.step);
        if change == 0.0 {
            return Ok(());
        }
        self.store()?;
        let held = self.system.topology.position_restraints.iter().filter(|restraint| restraint.fades);
        let held: Vec<PositionRestraint> = held.copied().collect();
        let (state, dt) = (&mut self.state, self.system.plan.dt);
        let mut forces = vec![Vector3::zeros(); state.positions.len()];
        let mut whole = |x: &[Vector3<f64>]| {
            restraints::evaluate(&held, 1.0, x, &state.restraint_references, state.cell, &mut forces).energy
        };
        let before: Vec<_> = state.positions.iter().zip(&state.velocities).map(|(x, v)| x - dt * v).collect();
        let energy = 0.5 * (whole(&state.positions) + whole(&before));
        state.restraint_work += change * energy;
        Ok(())
    }

    /// Energy that barriers and restraints have been given by changes of their parameters, kJ/mol.
    pub(super) fn work_of_changes(&self) -> f64 {
        self.state.sites.barrier_work + self.state.restraint_work
    }
}
