//! Section `[barostat]`: constant pressure by isotropic C-rescale (Bernetti & Bussi 2020, 10.1063/5.0020514).

use super::check::{Check, not_negative, positive, require, whole_steps, wrong};
use super::electrostatics::Boundary;
use super::quantity::{Compressibility, Pressure, Temperature, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[barostat]`: isotropic C-rescale. Without the section the volume is constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Barostat {
    /// Pressure (bar).
    pub pressure: Pressure,
    /// Time within which the volume returns to its mean (ps), above zero.
    pub coupling_time: Time,
    /// Isothermal compressibility of the system (1/bar), above zero; the default is that of water. It sets how fast the volume answers, not
    /// which volume is reached.
    pub compressibility: Compressibility,
    /// Number of steps between two scalings of the box.
    #[schemars(range(min = 1))]
    pub interval: u64,
    /// Time from the start in which the volume stays as it is (ps), a whole number of time steps: velocities become those of the temperature and
    /// the surroundings settle before the pressure means anything. In a titration it is left out of the evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the box changes from the first step on"))]
    pub start: Option<Time>,
}

impl Default for Barostat {
    fn default() -> Self {
        Barostat {
            pressure: Pressure::new(1.0),
            coupling_time: Time::new(2.0),
            compressibility: Compressibility::new(4.5e-5),
            interval: 10,
            start: None,
        }
    }
}

impl Barostat {
    /// Number of steps, of `step` each, in which the volume stays as it is.
    pub fn start_steps(&self, step: Time) -> u64 {
        self.start.map_or(0, |start| (start.get() / step.get()).round() as u64)
    }

    /// Checks the time in which the volume stays as it is, in runs of this many steps of `step`; zero is the same as none.
    pub(super) fn resolve_start(&mut self, step: Time, steps: u64) -> Check {
        const KEY: &str = "barostat.start";
        let Some(start) = self.start else { return Ok(()) };
        not_negative(KEY, start)?;
        let first = whole_steps(KEY, start, step)?;
        if steps > 0 && first >= steps {
            let message = format!("the volume is constant for {start}, which is the whole run");
            return Err(wrong(KEY, message, "make the run longer, start sooner, or remove [barostat]"));
        }
        self.start = self.start.filter(|_| first > 0);
        Ok(())
    }

    /// Checks the numbers, that the thermostat sets a temperature (`bath`), and that there is a box to scale.
    pub(super) fn check(&self, bath: Option<Temperature>, boundary: Boundary) -> Check {
        positive("barostat.coupling_time", self.coupling_time)?;
        positive("barostat.compressibility", self.compressibility)?;
        require(self.interval > 0, "barostat.interval", self.interval, "a whole number of steps, 1 or more")?;
        if bath.is_none() {
            let message = "a barostat needs a thermostat, and the section [thermostat] is missing";
            return Err(wrong("barostat", message, "add [thermostat] temperature = \"300 K\""));
        }
        if boundary == Boundary::Open {
            let help = "remove [barostat], or set electrostatics.boundary = \"periodic\"";
            return Err(wrong("barostat", "an open system has no volume to scale", help));
        }
        Ok(())
    }
}
