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
    /// differs from the rest of it. λ is held during the first part of it, `titration.relax`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "a tenth of a run, or twice `titration.relax` or `[position_restraints]` if that is longer"))]
    pub equilibration: Option<Time>,
    /// Time between two attempts of neighbours to swap their pH (ps), a whole number of time steps. With it the titration is a replica
    /// exchange: all runs go on in one process with one checkpoint, and transitions at one pH help the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the runs are independent of each other"))]
    pub exchange: Option<Time>,
    /// Number of runs that go on at once, or `"auto"` for as many as there are cores, or 32 on each GPU.
    #[serde(default)]
    pub jobs: Jobs,
}

fn one() -> u32 {
    1
}

impl Titrate {
    /// Start of each run that is left out (ps).
    pub fn equilibration(&self) -> f64 {
        self.equilibration.map_or(0.0, |time| time.get())
    }

    /// Fills in the equilibration; the time in which λ is held, `relax`, is the first half of it unless given, and no shorter than until the
    /// restraints `end`.
    pub(super) fn resolve_equilibration(
        &mut self,
        relax: &mut Option<Time>,
        end: Option<Time>,
        dynamics: &Dynamics,
    ) -> Check {
        let step = dynamics.time_step.get();
        // To whole steps, as short decimal numbers.
        let whole = |time: f64| Time::new(((time / step * (1.0 + 1e-12)).floor() * step * 1e9).round() / 1e9);
        let end = end.map_or(0.0, |end| end.get());
        // Where a run is hardly longer than its restraints, all that is left is half for λ to settle, half to count.
        let after = (2.0 * end).min(0.5 * (end + dynamics.length()));
        let asked = relax.map_or(after, |relax| 2.0 * relax.get());
        let equilibration = *self.equilibration.get_or_insert(whole((0.1 * dynamics.length()).max(asked)));
        let relax = *relax.get_or_insert(Time::new(whole(0.5 * equilibration.get()).get().max(end)));
        if relax.get() <= equilibration.get() {
            return dynamics.check_equilibration("titrate.equilibration", equilibration);
        }
        let message = format!("λ is held for {relax}, and {equilibration} are left out of the evaluation");
        let help = format!("leave out more than {relax}, or hold λ for less (titration.relax)");
        Err(wrong("titrate.equilibration", message, help))
    }

    /// Checks all keys; the runs are those of `dynamics`.
    pub(super) fn check(&self, dynamics: &Dynamics) -> Check {
        self.ph.check("titrate.ph", "pH value", 1)?;
        self.ph.to_vec().into_iter().try_for_each(|value| ph("titrate.ph", value))?;
        require(self.replicas > 0, "titrate.replicas", self.replicas, "a whole number, 1 or more")?;
        self.equilibration.map_or(Ok(()), |time| dynamics.check_equilibration("titrate.equilibration", time))?;
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
