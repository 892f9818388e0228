//! Section `[titrate]`: runs of one job at many pH values.

use super::auto_or::AutoOr;
use super::check::{Check, ph, positive, require, whole_steps, wrong};
use super::dynamics::Dynamics;
use super::quantity::Time;
use super::values::Values;
use serde::{Deserialize, Serialize};

/// Runs that go on at the same time.
pub type Jobs = AutoOr<1, 4096>;

/// `[titrate]`: runs of this file at many pH values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Titrate {
    /// A list, `[3.0, 4.0]`, or a range, `{ min = 2.0, max = 7.0, step = 1.0 }`.
    pub ph: Values,
    /// Runs at each pH, with different seeds.
    #[serde(default = "one")]
    pub replicas: u32,
    /// Start of each run that is left out of the analysis (ps).
    #[serde(default = "no_time")]
    pub equilibration: Time,
    /// Time between swaps of pH between neighbours (ps). With it the titration is a replica exchange: all runs go on in one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Time>,
    /// Runs at once: a number, or `"auto"` for as many as there are cores, or 32 on a GPU.
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
