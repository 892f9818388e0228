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

/// A barrier that adapts at the beginning of a run and is frozen from then on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptingBarrier {
    /// Rate of transitions that is wanted (1/ns), above zero.
    pub rate: Rate,
    /// Height at the start (kJ/mol), zero or more.
    #[serde(default = "start")]
    pub start: Energy,
    /// Time after which the height is frozen (ps), to multiples of a thousand steps. Leave this time out of the evaluation.
    #[serde(default = "during")]
    pub during: Time,
}

fn start() -> Energy {
    Energy::new(5.0)
}

fn during() -> Time {
    Time::new(100.0)
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
