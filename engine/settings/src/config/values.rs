//! A list of numbers in a job file: written out, `[3.0, 4.0]`, or as a range, `{ min = 2.0, max = 7.0, step = 1.0 }`.

use super::check::{Check, require, wrong};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A list of numbers, or a range of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Values {
    /// Each value is written out.
    List(Vec<f64>),
    /// Evenly spaced values.
    Range(Range),
}

/// Evenly spaced values, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// First value.
    pub min: f64,
    /// Last value, if a whole number of steps reaches it.
    pub max: f64,
    /// Distance between two values.
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

    /// Checks that there are at least `needed` finite and different numbers, which messages call by the name `what`.
    pub(super) fn check(&self, key: &str, what: &str, needed: usize) -> Check {
        if let Values::Range(range) = self {
            range.check(key)?;
        }
        let mut list = self.to_vec();
        if let Some(bad) = list.iter().find(|value| !value.is_finite()) {
            return require(false, key, bad, "finite numbers");
        }
        let count = list.len();
        if count < needed {
            let found = if count == 0 { "an empty list".to_string() } else { format!("{count} {what}s") };
            let reason = if needed > 1 { " for a polynomial of this degree" } else { "" };
            let words = if needed == 1 { " is" } else { "s are" };
            let help = format!("at least {needed} {what}{words} needed{reason}");
            return Err(wrong(key, format!("found {found}"), help));
        }
        list.sort_by(f64::total_cmp);
        match list.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(wrong(key, format!("found the {what} {} twice", pair[0]), "give each once")),
            None => Ok(()),
        }
    }
}

impl Range {
    fn check(&self, key: &str) -> Check {
        let Range { min, max, step } = *self;
        let finite = min.is_finite() && max.is_finite() && step.is_finite();
        let holds = finite && step > 0.0 && max >= min && (max - min) / step < 1e4;
        let found = format!("min = {min}, max = {max}, step = {step}");
        require(holds, key, found, "min not above max, and a step above zero that gives at most 10000 values")
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

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Values, A::Error> {
        Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(list)).map(Values::List)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Values, A::Error> {
        Range::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Values::Range)
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
