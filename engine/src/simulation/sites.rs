//! What workflows ask of the sites of a simulation between steps: weights, pH, protons, charge; and barriers that adapt.

use super::Simulation;
use crate::error::{PhysicsError, Result};
use lambda::SiteValues;
use std::sync::Arc;

impl Simulation {
    /// Weight of every form of every site.
    ///
    /// # Errors
    /// If a device that holds the state is lost.
    pub fn weights(&mut self) -> Result<SiteValues> {
        self.store_lambda()?;
        Ok(self.system.weights(&self.state))
    }

    /// Puts the sites at these weights, with new velocities.
    ///
    /// # Errors
    /// Weights out of range; of another charge than the one that is kept.
    pub fn set_weights(&mut self, weights: &[f64]) -> Result<()> {
        self.store()?;
        if let Some(sites) = &self.system.sites {
            self.state.sites.lambda = sites.lambda_at(weights)?;
        }
        self.touch();
        Ok(())
    }

    /// Puts another pH: V_pH changes, nothing else. A device learns of it when it goes on.
    ///
    /// # Errors
    /// A pH that is not finite.
    pub fn set_ph(&mut self, ph: f64) -> Result<()> {
        Arc::make_mut(&mut self.biases)
            .set_ph(ph)
            .map_err(|e| self.system.config.error_at("titration.ph", e.to_string(), ""))?;
        self.state.sites.ph = Some(ph);
        self.unsent = true;
        Ok(())
    }

    /// Protons that the sites on which the pH acts have lost, Σ_s Σ_α λ_sα d_α.
    ///
    /// # Errors
    /// If a device that holds the state is lost.
    pub fn protons(&mut self) -> Result<f64> {
        let weights = self.weights()?;
        Ok(self.system.sites.as_ref().map_or(0.0, |sites| sites.protons(&weights)))
    }

    /// V_pH (kJ/mol) that the present weights would have at another pH.
    ///
    /// # Errors
    /// As [`Self::set_ph`].
    pub fn ph_energy(&mut self, ph: f64) -> Result<f64> {
        let weights = self.weights()?;
        let energy = self.biases.ph_energy(&weights, ph);
        energy.map_err(|e| self.system.config.error_at("titration.ph", e.to_string(), ""))
    }

    /// Charge of all atoms at the present weights, e.
    ///
    /// # Errors
    /// If a device that holds the state is lost.
    pub fn net_charge(&mut self) -> Result<f64> {
        let weights = self.weights()?;
        let mut charges = self.system.topology.charges();
        let Some(sites) = &self.system.sites else { return Ok(charges.iter().sum()) };
        for (site, own) in sites.sites.iter().zip(weights.sites()) {
            lambda::interpolation::set_effective_charges(site, own, &mut charges)
                .map_err(|e| PhysicsError::of("λ", &e))?;
        }
        Ok(charges.iter().sum())
    }

    /// Makes the biases anew, for the backend to take when it goes on.
    pub(super) fn update_biases(&mut self) -> Result<()> {
        let Some(sites) = &self.system.sites else { return Ok(()) };
        self.biases = Arc::new(sites.biases(&self.state.sites)?);
        self.unsent = true;
        Ok(())
    }

    /// Lets barriers that adapt see the present weights where that is due.
    pub(super) fn adapt(&mut self) -> Result<()> {
        let step = self.state.step;
        let system = self.system.clone();
        let Some(sites) = system.sites.as_ref().filter(|sites| sites.observes(&self.state.sites, step)) else {
            return Ok(());
        };
        self.store_lambda()?;
        if let Some(biases) = sites.observe(&mut self.state.sites, &self.biases, step)? {
            self.biases = Arc::new(biases);
            self.unsent = true;
        }
        Ok(())
    }
}
