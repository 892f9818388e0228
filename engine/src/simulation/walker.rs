//! A simulation as a walker of a pH replica exchange.

use super::Simulation;
use crate::error::Result;
use crate::propagate::Walker;
use forcefield::units::GAS_CONSTANT;

impl Walker for Simulation {
    fn ph_energy(&mut self, ph: f64) -> Result<f64> {
        let rt = self.sites.as_ref().map_or(1.0, |sites| GAS_CONSTANT * sites.temperature());
        Ok(Simulation::ph_energy(self, ph)? / rt)
    }

    fn set_ph(&mut self, ph: f64) -> Result<()> {
        Simulation::set_ph(self, ph)
    }
}
