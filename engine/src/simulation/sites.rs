//! What workflows ask of the sites of a simulation between steps: weights, pH, protons, charge; and barriers that adapt.

use super::{Simulation, physics};
use crate::error::Result;
use crate::titration::{OBSERVE, Sites};

impl Simulation {
    /// Weight of every form of every site.
    ///
    /// # Errors
    /// If a device that holds the state is lost.
    pub fn weights(&mut self) -> Result<Vec<f64>> {
        self.pull_lambda()?;
        Ok(self.present_weights())
    }

    pub(super) fn present_weights(&self) -> Vec<f64> {
        self.sites.as_ref().map_or(Vec::new(), |sites| sites.weights(&self.now.lambda))
    }

    /// Puts the sites at these weights, with new velocities.
    ///
    /// # Errors
    /// Weights out of range; of another charge than the one that is kept.
    pub fn set_weights(&mut self, weights: &[f64]) -> Result<()> {
        self.pull()?;
        if let Some(sites) = &self.sites {
            self.now.lambda = sites.state_at(weights)?;
        }
        self.touch();
        Ok(())
    }

    /// Puts another pH: V_pH changes, nothing else.
    ///
    /// # Errors
    /// A pH that is not finite; if a device is lost.
    pub fn set_ph(&mut self, ph: f64) -> Result<()> {
        if let Some(sites) = &mut self.sites {
            sites.set_ph(ph)?;
        }
        self.put_biases()
    }

    /// Protons that the sites on which the pH acts have lost, Σ_s Σ_α λ_sα d_α.
    ///
    /// # Errors
    /// If a device that holds the state is lost.
    pub fn protons(&mut self) -> Result<f64> {
        let weights = self.weights()?;
        Ok(self.sites.as_ref().map_or(0.0, |sites| sites.protons(&weights)))
    }

    /// V_pH (kJ/mol) that the present weights would have at another pH.
    ///
    /// # Errors
    /// As [`Self::set_ph`].
    pub fn ph_energy(&mut self, ph: f64) -> Result<f64> {
        let weights = self.weights()?;
        self.sites.as_ref().map_or(Ok(0.0), |sites| sites.ph_energy(&weights, ph))
    }

    /// Charge of all atoms at the present weights, e.
    ///
    /// # Errors
    /// If a device that holds the state is lost.
    pub fn net_charge(&mut self) -> Result<f64> {
        let weights = self.weights()?;
        let mut charges = self.hamiltonian.topology().charges();
        let Some(sites) = &self.sites else { return Ok(charges.iter().sum()) };
        for (site, at) in sites.sites.iter().zip(sites.weight_starts().windows(2)) {
            lambda::hamiltonian::set_effective_charges(site, &weights[at[0]..at[1]], &mut charges)
                .map_err(|e| physics("λ", &e))?;
        }
        Ok(charges.iter().sum())
    }

    /// Lets barriers that adapt see the present weights where that is due.
    pub(super) fn adapt(&mut self) -> Result<()> {
        let step = self.now.step;
        let due = |sites: &Sites| step <= sites.adapts_until() && step.is_multiple_of(OBSERVE);
        if !self.sites.as_ref().is_some_and(due) {
            return Ok(());
        }
        let weights = self.weights()?;
        if let Some(sites) = &mut self.sites
            && sites.observe(&weights, step)?
        {
            self.put_biases()?;
        }
        Ok(())
    }
}
