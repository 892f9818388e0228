//! Section `[titrate]`: runs of one job at many pH values.

use super::auto_or::AutoOr;
use super::check::{Check, ph, positive, require, whole_steps, wrong};
use super::dynamics::Dynamics;
use super::quantity::Time;
use super::values::Values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Runs that go on at the same time.
pub type Jobs = AutoOr<1, 4096>;

/// `[titrate]`: runs of this file at many pH values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Titrate {
    /// The pH values: a list, `[3.0, 4.0]`, or a range, `{ min = 2.0, max = 7.0, step = 1.0 }`. A pKa needs values on both sides of it where
    /// the site is partly deprotonated; the examples take five of them, 0.75 apart.
    pub ph: Values,
    /// Number of runs at each pH, with different seeds.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub replicas: u32,
    /// Start of each run that is left out of the evaluation at least (ps), shorter than a run. More is left out where the beginning of a run
    /// differs from the rest of it.
    #[serde(default = "no_time")]
    pub equilibration: Time,
    /// Time between two attempts of neighbours to swap their pH (ps), a whole number of time steps. With it the titration is a replica
    /// exchange: all runs go on in one process with one checkpoint, and transitions at one pH help the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the runs are independent of each other"))]
    pub exchange: Option<Time>,
    /// Number of runs that go on at once, or `"auto"` for as many as there are cores, or 32 on a GPU.
    #[serde(default)]
    pub jobs: Jobs,
}

fn one() -> u32 {
    1
}

fn no_time() -> Time {
    Time::new(0.0)
}

impl Titrate {
    /// Checks all keys; the runs are those of `dynamics`.
    pub(super) fn check(&self, dynamics: &Dynamics) -> Check {
        self.ph.check("titrate.ph", "pH value", 1)?;
        self.ph.to_vec().into_iter().try_for_each(|value| ph("titrate.ph", value))?;
        require(self.replicas > 0, "titrate.replicas", self.replicas, "a whole number, 1 or more")?;
        dynamics.check_equilibration("titrate.equilibration", self.equilibration)?;
        let Some(exchange) = self.exchange else {
            return Ok(());
        };
        positive("titrate.exchange", exchange)?;
        whole_steps("titrate.exchange", exchange, dynamics.time_step)?;
        let help = "give more values, or remove titrate.exchange";
        match self.ph.to_vec().len() {
            0 | 1 => Err(wrong("titrate.exchange", "one pH value alone has no neighbour to swap with", help)),
            _ => Ok(()),
        }
    }
}
