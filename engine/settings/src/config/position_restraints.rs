//! Section `[position_restraints]`: the solute is held while a run begins.

use super::check::{Check, not_negative, positive, wrong};
use super::quantity::{Stiffness, Time};
use crate::fading::Fading;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[position_restraints]`: harmonic restraints of atoms to where they are in the structure. They act in the minimisation and from the first step on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PositionRestraints {
    /// Atoms that are held: heavy atoms of everything but water, ions and the charge buffer unless given. The language is in
    /// [Output](output.md#selections). Virtual sites follow their atoms, and an atom that the topology restrains already stays as it is.
    pub atoms: String,
    /// Force constant along each axis (kJ/mol/nm²), above zero.
    pub force_constant: Stiffness,
    /// Time from the start in which the force constant is whole (ps), a whole number of time steps; it ends at the next multiple of a hundred steps.
    pub duration: Time,
    /// Time after that in which it falls to zero (ps), in equal parts every hundred steps; `"0 ps"` ends the restraints at once.
    pub fade: Time,
}

impl Default for PositionRestraints {
    fn default() -> Self {
        Self {
            atoms: "solute and not hydrogen and not buffer".into(),
            force_constant: Stiffness::new(1000.0),
            duration: Time::new(20.0),
            fade: Time::new(20.0),
        }
    }
}

impl PositionRestraints {
    /// Checks all keys.
    pub(super) fn check(&self, step: Time) -> Check {
        positive("position_restraints.force_constant", self.force_constant)?;
        for (key, time) in [("duration", self.duration), ("fade", self.fade)] {
            let key = format!("position_restraints.{key}");
            not_negative(&key, time)?;
            super::check::whole_steps(&key, time, step)?;
        }
        if self.fading(step).end() == 0 {
            let help = "give one of them a time, or remove [position_restraints]";
            return Err(wrong("position_restraints.duration", "`duration` and `fade` are both zero", help));
        }
        Ok(())
    }

    /// When restraints fade with time steps of `step`.
    pub fn fading(&self, step: Time) -> Fading {
        let steps = |time: Time| (time.get() / step.get()).round() as u64;
        Fading::new(steps(self.duration), steps(self.fade))
    }

    /// Time at which nothing is held any more (ps), with time steps of `step`.
    pub fn end(&self, step: Time) -> Time {
        Time::new((self.fading(step).end() as f64 * step.get() * 1e9).round() / 1e9)
    }
}
