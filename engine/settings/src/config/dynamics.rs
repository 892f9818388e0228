//! Section `[dynamics]`: the leap-frog integrator, the length of the run, constraints and first velocities.

use super::check::{Check, not_negative, positive, require, temperature, whole_steps, wrong};
use super::quantity::{Mass, Temperature, Time};
use super::thermostat::Thermostat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[dynamics]`: leap-frog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dynamics {
    /// Length of the run (ps), a whole number of time steps; instead of `steps`. In a titration or a calibration it is the length of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "`steps` decides"))]
    pub duration: Option<Time>,
    /// Number of steps; instead of `duration`. A resolved job has this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "0, unless `duration` is given"))]
    pub steps: Option<u64>,
    /// Time step (ps). 2 fs need rigid bonds to hydrogen, see `constraints`; without them 0.5 to 1 fs. With heavy hydrogens, see
    /// `hydrogen_mass`, 4 fs.
    pub time_step: Time,
    /// Mass of every hydrogen outside of rigid water (u), 1 to 4; `"3 u"` allows steps of 4 fs. It is taken from the atom that the hydrogen is
    /// bonded to. Averages and free energies do not depend on masses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "masses are those of the topology"))]
    pub hydrogen_mass: Option<Mass>,
    /// Seed of all random numbers: first velocities, thermostat, barostat, λ. Two jobs that differ in it alone are independent runs; two that do not differ are the same run, and a second titration that is to be evaluated together with a first one needs another seed.
    pub seed: u64,
    /// Which bonds are rigid. Water with `[ settles ]` in its topology always is, and so is what a system of OpenMM has as constraints.
    pub constraints: Constraints,
    /// Number of steps between two removals of the motion of the centre of mass; 0 means never, as it must be with a Langevin thermostat, which
    /// keeps that motion at the temperature, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "100; 0 with a Langevin thermostat"))]
    pub remove_com_interval: Option<u64>,
    /// Where the first velocities come from.
    pub velocities: Velocities,
    /// Temperature of velocities that are generated (K), zero or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the temperature of the thermostat"))]
    pub velocity_temperature: Option<Temperature>,
}

/// Which bonds become constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Constraints {
    /// Only those that the topology lists as constraints.
    None,
    /// Bonds to hydrogen.
    HBonds,
    /// All bonds.
    AllBonds,
}

/// Where the first velocities come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Velocities {
    /// From the structure if it has them; if not, they are generated.
    Auto,
    /// From the structure; an error if it has none.
    Structure,
    /// Drawn from the Maxwell distribution of `velocity_temperature`.
    Generate,
}

impl Default for Dynamics {
    fn default() -> Self {
        Dynamics {
            duration: None,
            steps: None,
            time_step: Time::new(0.002),
            hydrogen_mass: None,
            seed: 1,
            constraints: Constraints::HBonds,
            remove_com_interval: None,
            velocities: Velocities::Auto,
            velocity_temperature: None,
        }
    }
}

impl Dynamics {
    /// Length of the run (ps).
    pub fn length(&self) -> f64 {
        time_of(self.steps.unwrap_or(0), self.time_step.get())
    }

    /// Number of steps between two removals of the motion of the centre of mass; 0: never.
    pub fn remove_com_interval(&self) -> u64 {
        self.remove_com_interval.unwrap_or(100)
    }

    /// Checks all keys; afterwards `steps` is set, and so is the temperature of the velocities if there is a `bath` or a value of its own.
    pub(super) fn resolve(&mut self, bath: Option<&Thermostat>) -> Check {
        positive("dynamics.time_step", self.time_step)?;
        if let Some(mass) = self.hydrogen_mass {
            require((1.0..=4.0).contains(&mass.get()), "dynamics.hydrogen_mass", mass, "a mass from 1 u to 4 u")?;
        }
        // Zero is a start at rest.
        if let Some(start) = self.velocity_temperature.filter(|start| start.get() != 0.0) {
            temperature("dynamics.velocity_temperature", start)?;
        }
        self.resolve_steps()?;
        let is_langevin = bath.is_some_and(Thermostat::is_langevin);
        let interval = *self.remove_com_interval.get_or_insert(if is_langevin { 0 } else { 100 });
        if is_langevin && interval > 0 {
            let message =
                "a Langevin thermostat moves the centre of mass, too, and its motion is one of the degrees of freedom";
            return Err(wrong("dynamics.remove_com_interval", message, "set it to 0, or remove it"));
        }
        self.velocity_temperature = self.velocity_temperature.or(bath.map(|bath| bath.temperature));
        if self.velocities == Velocities::Generate && self.velocity_temperature.is_none() {
            let help = "add [thermostat], or dynamics.velocity_temperature = \"300 K\"";
            let message = "velocities are to be generated, but no temperature is given";
            return Err(wrong("dynamics.velocities", message, help));
        }
        Ok(())
    }

    /// `duration` or `steps`, not both; afterwards `steps` is set.
    fn resolve_steps(&mut self) -> Check {
        let Some(duration) = self.duration else {
            self.steps.get_or_insert(0);
            return Ok(());
        };
        not_negative("dynamics.duration", duration)?;
        if self.steps.is_some() {
            return Err(wrong("dynamics.steps", "both `duration` and `steps` are given", "give one of the two"));
        }
        self.steps = Some(whole_steps("dynamics.duration", duration, self.time_step)?);
        self.duration = None;
        Ok(())
    }

    /// Checks that the start that a workflow leaves out of each run is shorter than the run.
    pub(super) fn check_equilibration(&self, key: &str, time: Time) -> Check {
        not_negative(key, time)?;
        let length = Time::new((self.length() * 1e9).round() / 1e9);
        require(time.get() < length.get(), key, time, &format!("a time below the length of a run, {length}"))
    }
}

/// Time of so many steps (ps) of `time_step` (ps), without the noise of binary fractions: 0.7 and not 0.7000000000000001, which logs would show.
pub fn time_of(steps: u64, time_step: f64) -> f64 {
    (steps as f64 * time_step * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_people_write_them() {
        assert_eq!(350.0 * 0.002, 0.7000000000000001);
        assert_eq!([350, 950, 35, 500_000_000].map(|steps| time_of(steps, 0.002)), [0.7, 1.9, 0.07, 1e6]);
        assert_eq!(time_of(3, 0.0001), 0.0003);
    }
}
