//! Section `[thermostat]`: constant temperature by v-rescale (Bussi 2007, 10.1063/1.2408420).

use super::check::{Check, positive, temperature};
use super::quantity::{Temperature, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[thermostat]`: v-rescale. Without the section the energy is conserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Thermostat {
    /// Temperature (K), above zero. The corrections of the library were calibrated at 300 K.
    pub temperature: Temperature,
    /// Time within which the kinetic energy returns to its mean (ps), above zero. Longer ones disturb the dynamics less.
    pub coupling_time: Time,
}

impl Default for Thermostat {
    fn default() -> Self {
        Thermostat { temperature: Temperature::new(300.0), coupling_time: Time::new(0.1) }
    }
}

impl Thermostat {
    pub(super) fn check(&self) -> Check {
        temperature("thermostat.temperature", self.temperature)?;
        positive("thermostat.coupling_time", self.coupling_time)
    }
}
