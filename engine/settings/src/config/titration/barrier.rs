//! The barrier between the forms of a site: a height, or the rate of transitions that the height adapts to.

use crate::config::check::{Check, positive, require, whole_steps};
use crate::config::quantity::{Energy, Rate, Time};
use lambda::bias::barrier::LARGEST;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Barrier between the forms: `"5 kJ/mol"`, or `{ rate = "20 /ns" }`.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Barrier {
    /// Height, which does not change (kJ/mol).
    Height(Energy),
    /// It becomes as high as the wanted rate of transitions needs, at the beginning of the run, and is frozen from then on.
    Adapting(AdaptingBarrier),
}

/// Steps between two looks of a barrier that adapts.
pub const BARRIER_LOOK_INTERVAL: u64 = 100;

/// Changes of a barrier that adapts until it is frozen.
pub const BARRIER_CHANGES: u64 = 10;

/// A barrier that adapts at the beginning of a run and is frozen from then on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptingBarrier {
    /// Rate of transitions that is wanted (1/ns), above zero.
    pub rate: Rate,
    /// Height at the start (kJ/mol), zero or more.
    #[serde(default = "start")]
    pub start: Energy,
    /// Time in which λ moves until the height is frozen (ps), to multiples of a thousand steps. `titrate.equilibration` leaves it out of the evaluation.
    #[serde(default = "during")]
    pub during: Time,
}

fn start() -> Energy {
    Energy::new(5.0)
}

fn during() -> Time {
    Time::new(100.0)
}

impl AdaptingBarrier {
    /// Steps between two changes in steps of `step`; the last of [`BARRIER_CHANGES`] freezes the height.
    pub fn every(&self, step: Time) -> u64 {
        let looks = self.during.get() / step.get() / (BARRIER_LOOK_INTERVAL * BARRIER_CHANGES) as f64;
        looks.round().max(1.0) as u64 * BARRIER_LOOK_INTERVAL
    }
}

/// Time (ps) at which barriers are frozen that adapt for `adapting` (ps) once λ has been held for `relax` (ps): they first look at a multiple of
/// [`BARRIER_LOOK_INTERVAL`] steps of `step`. Zero where none adapts.
pub(in crate::config) fn frozen(relax: f64, adapting: f64, step: Time) -> f64 {
    let look = BARRIER_LOOK_INTERVAL as f64 * step.get();
    let first = (relax / look - 1e-9).ceil() * look;
    // A short decimal number, as those that it is made of.
    if adapting > 0.0 { ((first + adapting) * 1e9).round() / 1e9 } else { 0.0 }
}

/// Whether double wells of this height are known.
fn in_range(key: &str, height: Energy) -> Check {
    let known = (0.0..=LARGEST).contains(&height.get());
    require(known, key, height, &format!("a height from 0 to {LARGEST} kJ/mol, such as \"5 kJ/mol\""))
}

impl Barrier {
    /// Height at the start (kJ/mol).
    pub fn start(&self) -> f64 {
        match self {
            Self::Height(height) => height.get(),
            Self::Adapting(adapting) => adapting.start.get(),
        }
    }

    /// Steps of λ that moves after which the height is frozen; 0 for one that does not adapt.
    pub(in crate::config) fn frozen_after(&self, step: Time) -> u64 {
        match self {
            Self::Height(_) => 0,
            Self::Adapting(adapting) => adapting.every(step) * BARRIER_CHANGES,
        }
    }

    /// Checks the numbers; `key` is that of the barrier, `step` the time step.
    pub(in crate::config) fn check(&self, key: &str, step: Time) -> Check {
        match self {
            Self::Height(height) => in_range(key, *height),
            Self::Adapting(adapting) => {
                positive(&format!("{key}.rate"), adapting.rate)?;
                in_range(&format!("{key}.start"), adapting.start)?;
                positive(&format!("{key}.during"), adapting.during)?;
                whole_steps(&format!("{key}.during"), adapting.during, step).map(|_| ())
            }
        }
    }
}

impl Serialize for Barrier {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Height(height) => height.serialize(serializer),
            Self::Adapting(adapting) => adapting.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Barrier {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BarrierVisitor)
    }
}

struct BarrierVisitor;

impl<'de> serde::de::Visitor<'de> for BarrierVisitor {
    type Value = Barrier;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a height such as \"5 kJ/mol\", or a rate such as { rate = \"20 /ns\" }")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Barrier, E> {
        Energy::parse(text).map(Barrier::Height).map_err(E::custom)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Barrier, A::Error> {
        AdaptingBarrier::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Barrier::Adapting)
    }
}
