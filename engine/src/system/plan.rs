//! What happens in which step, counted from step 0, so that it depends neither on who looks nor on where a run was stopped.
//!
//! One step takes the atoms from t to t + dt and their velocities from t − ½dt to t + ½dt. Both backends follow this order:
//!
//! ```text
//! lists made anew                if an atom has moved too far (CPU), at fixed steps (GPU)
//! F(x, λ), ∂V/∂λ_α               every step
//! v ← α v                        every [`Plan::thermostat`] steps, v-rescale
//! v ← v − v_com                  every [`Plan::remove_com`] steps
//! v ← v + dt F/m, x ← x + dt v   every step, with constraints; Langevin dynamics in its middle ([`crate::motion::langevin`])
//! λ, v_λ likewise                every step, with their own thermostat
//! x ← μ x, v ← v/μ               every [`Plan::barostat`] steps, from [`Plan::barostat_start`] on
//! ```
//!
//! Barriers that adapt look at λ before that, every 100 steps ([`crate::titration::Sites::observe`]). Restraints that hold the solute at the start
//! have the force constants of the step ([`crate::fading`]).

use crate::config::Config;
use crate::fading::Fading;

/// Steps between two actions of the thermostat: short beside its coupling time.
const THERMOSTAT_INTERVAL: u64 = 10;

/// Time step, seed and intervals of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Time step, ps.
    pub dt: f64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Steps between two actions of v-rescale.
    pub thermostat: u64,
    /// Steps between removals of the motion of the centre of mass; 0: never.
    pub remove_com: u64,
    /// Steps between two actions of the barostat.
    pub barostat: u64,
    /// Steps from the start in which the volume is constant.
    pub barostat_start: u64,
    /// When restraints that hold the solute at the start end.
    pub fading: Fading,
}

impl Plan {
    /// The plan of a job.
    pub fn new(config: &Config) -> Self {
        Self {
            dt: config.dynamics.time_step.get(),
            seed: config.dynamics.seed,
            thermostat: THERMOSTAT_INTERVAL,
            remove_com: config.dynamics.remove_com_interval(),
            barostat: config.barostat.as_ref().map_or(1, |barostat| barostat.interval),
            barostat_start: config
                .barostat
                .as_ref()
                .map_or(0, |barostat| barostat.start_steps(config.dynamics.time_step)),
            fading: config
                .position_restraints
                .as_ref()
                .map_or(Fading::default(), |restraints| restraints.fading(config.dynamics.time_step)),
        }
    }

    /// Whether v-rescale acts at the start of `step`.
    pub fn thermostat_acts(&self, step: u64) -> bool {
        step.is_multiple_of(self.thermostat)
    }

    /// Whether the motion of the centre of mass is removed at the start of `step`.
    pub fn removes_com(&self, step: u64) -> bool {
        self.remove_com > 0 && step.is_multiple_of(self.remove_com)
    }

    /// Whether the barostat acts at the end of `step`.
    pub fn barostat_acts(&self, step: u64) -> bool {
        step >= self.barostat_start && (step + 1).is_multiple_of(self.barostat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_act_has_its_steps() {
        let plan = Plan {
            dt: 0.002,
            seed: 1,
            thermostat: 10,
            remove_com: 100,
            barostat: 5,
            barostat_start: 0,
            fading: Fading::default(),
        };
        let steps = |acts: &dyn Fn(u64) -> bool| (0..=100).filter(|&step| acts(step)).collect::<Vec<_>>();
        assert_eq!(steps(&|step| plan.removes_com(step)), [0, 100]);
        assert_eq!(steps(&|step| plan.thermostat_acts(step))[..3], [0, 10, 20]);
        assert_eq!(steps(&|step| plan.barostat_acts(step))[..3], [4, 9, 14]);
        // Its first act is at the end of the first step after the start that is due.
        for (start, first) in [(4, 4), (5, 9), (10, 14)] {
            let later = Plan { barostat_start: start, ..plan };
            assert_eq!(steps(&|step| later.barostat_acts(step))[0], first);
        }
        let never = Plan { remove_com: 0, ..plan };
        assert!(steps(&|step| never.removes_com(step)).is_empty());
    }
}
