//! Section `[thermostat]`: constant temperature by v-rescale (Bussi 2007, 10.1063/1.2408420) or by Langevin dynamics (Zhang 2019,
//! 10.1021/acs.jpca.9b02771).

use super::check::{Check, positive, temperature, wrong};
use super::quantity::{Friction, Temperature, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[thermostat]`. Without the section the energy is conserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Thermostat {
    /// Temperature (K), above zero. The corrections of the library were calibrated at 300 K.
    pub temperature: Temperature,
    /// What keeps the temperature: `"v-rescale"` scales the velocities of all atoms together, `"langevin"` gives each atom friction and noise of its
    /// own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "v-rescale"))]
    pub kind: Option<ThermostatKind>,
    /// Time within which the kinetic energy returns to its mean (ps), above zero; of v-rescale. Longer ones disturb the dynamics less.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "0.1 ps with v-rescale"))]
    pub coupling_time: Option<Time>,
    /// Friction of each atom (1/ps), above zero; of Langevin dynamics. 1/ps takes up what a fast vibration gains in a long step and slows diffusion
    /// a little.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "1 /ps with langevin"))]
    pub friction: Option<Friction>,
}

/// What keeps the temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThermostatKind {
    /// Stochastic velocity rescaling.
    VRescale,
    /// Langevin dynamics, friction and noise in the middle of the step.
    Langevin,
}

impl Default for Thermostat {
    fn default() -> Self {
        Thermostat { temperature: Temperature::new(300.0), kind: None, coupling_time: None, friction: None }
    }
}

impl Thermostat {
    /// Whether each atom has friction and noise of its own.
    pub fn is_langevin(&self) -> bool {
        self.kind == Some(ThermostatKind::Langevin)
    }

    /// Coupling time of v-rescale (ps).
    pub fn coupling_time(&self) -> Time {
        self.coupling_time.unwrap_or(Time::new(0.1))
    }

    /// Friction of Langevin dynamics (1/ps).
    pub fn friction(&self) -> Friction {
        self.friction.unwrap_or(Friction::new(1.0))
    }

    /// Checks all keys; afterwards `kind` is set and the key that belongs to it.
    pub(super) fn resolve(&mut self) -> Check {
        const COUPLING_TIME: &str = "thermostat.coupling_time";
        const FRICTION: &str = "thermostat.friction";
        temperature("thermostat.temperature", self.temperature)?;
        self.coupling_time.map_or(Ok(()), |time| positive(COUPLING_TIME, time))?;
        self.friction.map_or(Ok(()), |friction| positive(FRICTION, friction))?;
        if self.is_langevin() {
            if self.coupling_time.is_some() {
                let message = "kind = \"langevin\" has no coupling time";
                return Err(wrong(COUPLING_TIME, message, "give friction = \"1 /ps\", the inverse of a time, instead"));
            }
            self.friction = Some(self.friction());
            return Ok(());
        }
        if self.friction.is_some() {
            let message = "v-rescale, the thermostat of this job, has no friction";
            return Err(wrong(FRICTION, message, "add kind = \"langevin\", or give coupling_time instead"));
        }
        (self.kind, self.coupling_time) = (Some(ThermostatKind::VRescale), Some(self.coupling_time()));
        Ok(())
    }
}
