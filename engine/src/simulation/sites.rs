//! What workflows ask of the sites of a simulation between steps: weights, pH, protons, charge; and barriers that adapt.

use super::Simulation;
use crate::error::{PhysicsError, Result};
use lambda::SiteValues;

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

    /// Puts another pH: V_pH changes, nothing else.
    ///
    /// # Errors
    /// A pH that is not finite; if a device is lost.
    pub fn set_ph(&mut self, ph: f64) -> Result<()> {
        self.state.sites.ph = Some(ph);
        self.update_biases()
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
        self.store_lambda()?;
        self.system.sites.as_ref().map_or(Ok(0.0), |sites| sites.ph_energy(&self.state.sites, ph))
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

    /// Makes the biases anew and hands them to the backend.
    pub(super) fn update_biases(&mut self) -> Result<()> {
        let Some(sites) = &self.system.sites else { return Ok(()) };
        self.biases = sites.biases(&self.state.sites)?;
        self.backend.set_biases(&self.biases, self.state.step)
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
            self.biases = biases;
            self.backend.set_biases(&self.biases, step)?;
        }
        Ok(())
    }
}
