//! Sections of the job file about the two workflows made of many runs.

use super::quantity::{Energy, Time};
use serde::{Deserialize, Serialize};

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
    /// Time between swaps of pH between neighbours (ps): replica exchange, all runs in one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Time>,
    /// Runs at once: a number, or `"auto"` for as many as there are cores, or 32 on a GPU.
    #[serde(default)]
    pub jobs: Jobs,
}

/// `[calibrate]`: the free energy of a model compound over the weights of its forms, first from windows of fixed weights, then refined by
/// free runs until these are flat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrate {
    /// The residue, such as `"GLU 2"`, or `"buffer"`; not needed if the file has one site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Windows along the edge between every two forms, 0 at the first and 1 at the second: a list, or a range
    /// `{ min = -0.1, max = 1.1, step = 0.05 }`.
    #[serde(default = "windows")]
    pub windows: Values,
    /// Windows between three forms or more: weights that are multiples of one over this number; 0: none.
    #[serde(default = "interior")]
    pub interior: u32,
    /// Start of each window that is left out (ps). The length of a window is `dynamics.duration`.
    #[serde(default = "no_time")]
    pub equilibration: Time,
    /// Degree of the free energy along each edge: a number, or `"auto"` for the one that the windows justify, 8 at most.
    #[serde(default)]
    pub degree: Jobs,
    /// How flat free runs must be (kJ/mol): deviation plus its standard error, from weight 0.05 to 0.95.
    #[serde(default = "tolerance")]
    pub tolerance: Energy,
    /// Rounds of free runs, at most; 0: none, and the result is preliminary.
    #[serde(default = "max_rounds")]
    pub max_rounds: u32,
    /// Length of each free run (ps); ten times that of a window unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Time>,
    /// Free runs in a round, from different forms.
    #[serde(default = "runs")]
    pub runs: u32,
    /// Name of the water model, for the provenance of the coefficients.
    #[serde(default = "unnamed")]
    pub water_model: String,
    /// Windows at once: a number, or `"auto"` for as many as there are cores, or 32 on a GPU.
    #[serde(default)]
    pub jobs: Jobs,
}

fn one() -> u32 {
    1
}

fn no_time() -> Time {
    Time::new(0.0)
}

fn interior() -> u32 {
    4
}

fn tolerance() -> Energy {
    Energy::new(1.0)
}

fn max_rounds() -> u32 {
    6
}

fn runs() -> u32 {
    2
}

fn unnamed() -> String {
    "not stated".into()
}

fn windows() -> Values {
    Values::Range(Range { min: -0.1, max: 1.1, step: 0.1 })
}

/// A list of numbers, or a range of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Values {
    /// Each value.
    List(Vec<f64>),
    /// From `min` to `max`.
    Range(Range),
}

/// Evenly spaced values, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// First value.
    pub min: f64,
    /// Last value, if a whole number of steps reaches it.
    pub max: f64,
    /// Distance.
    pub step: f64,
}

impl Values {
    /// The values in the order given; a range counts from `min`, and values are rounded to 1e-9 so that 2.0 + 3·0.1 is 2.3.
    pub fn to_vec(&self) -> Vec<f64> {
        match self {
            Values::List(list) => list.clone(),
            Values::Range(range) => {
                let count = ((range.max - range.min) / range.step + 1e-9).floor();
                (0..=count as u64).map(|k| ((range.min + k as f64 * range.step) * 1e9).round() / 1e9).collect()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> serde::de::Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a list such as [3.0, 4.0], or a range such as { min = 2.0, max = 7.0, step = 1.0 }")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Values::List(values))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Values, A::Error> {
        Range::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Values::Range)
    }
}

/// Child runs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Jobs {
    /// As many as there are cores.
    #[default]
    Auto,
    /// This many.
    Count(u32),
}

impl Serialize for Jobs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Jobs::Auto => serializer.serialize_str("auto"),
            Jobs::Count(count) => serializer.serialize_u32(*count),
        }
    }
}

impl<'de> Deserialize<'de> for Jobs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JobsVisitor)
    }
}

struct JobsVisitor;

impl serde::de::Visitor<'_> for JobsVisitor {
    type Value = Jobs;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a whole number from 1, or \"auto\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Jobs, E> {
        let other = || E::custom(format!("found \"{text}\"; valid is a whole number from 1, or \"auto\""));
        (text == "auto").then_some(Jobs::Auto).ok_or_else(other)
    }

    fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Jobs, E> {
        let count = u32::try_from(count).ok().filter(|count| *count > 0).map(Jobs::Count);
        count.ok_or_else(|| E::custom("found a number below 1; valid is a whole number from 1, or \"auto\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_both_ends_and_clean_values() {
        let values = |min, max, step| Values::Range(Range { min, max, step }).to_vec();
        assert_eq!(values(2.0, 2.5, 0.1), [2.0, 2.1, 2.2, 2.3, 2.4, 2.5]);
        assert_eq!(values(-0.1, 1.1, 0.1).len(), 13);
        assert_eq!(values(4.0, 4.9, 1.0), [4.0]);
    }
}
