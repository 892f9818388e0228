//! Whole numbers that may also be `"auto"`: the depth of the tree, the degree of a polynomial, molecules of a buffer, runs at once.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A whole number from `LEAST` to `MOST`, or `"auto"` where the program shall choose. Each range is a type of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoOr<const LEAST: u32, const MOST: u32> {
    /// The program chooses.
    #[default]
    Auto,
    /// This number.
    Number(u32),
}

impl<const LEAST: u32, const MOST: u32> AutoOr<LEAST, MOST> {
    /// The number; `None` where the program shall choose.
    pub fn number(self) -> Option<u32> {
        match self {
            Self::Auto => None,
            Self::Number(number) => Some(number),
        }
    }

    /// What is valid, in words.
    fn valid() -> String {
        let end = if MOST == u32::MAX { String::new() } else { format!(" to {MOST}") };
        format!("a whole number from {LEAST}{end}, or \"auto\"")
    }

    fn from_number(number: i64) -> Option<Self> {
        u32::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number)).map(Self::Number)
    }
}

/// As on the command line: a number, or the word `auto`.
impl<const LEAST: u32, const MOST: u32> FromStr for AutoOr<LEAST, MOST> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = if text == "auto" { Some(Self::Auto) } else { text.parse().ok().and_then(Self::from_number) };
        found.ok_or_else(|| format!("valid is {}", Self::valid()))
    }
}

impl<const LEAST: u32, const MOST: u32> Serialize for AutoOr<LEAST, MOST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Number(number) => serializer.serialize_u32(*number),
        }
    }
}

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for AutoOr<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor::<LEAST, MOST>)
    }
}

struct Visitor<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> serde::de::Visitor<'_> for Visitor<LEAST, MOST> {
    type Value = AutoOr<LEAST, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&Self::Value::valid())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let refused = || E::custom(format!("found \"{text}\"; valid is {}", Self::Value::valid()));
        (text == "auto").then_some(AutoOr::Auto).ok_or_else(refused)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
        let refused = || E::custom(format!("found {number}; valid is {}", Self::Value::valid()));
        AutoOr::from_number(number).ok_or_else(refused)
    }
}

impl<const LEAST: u32, const MOST: u32> JsonSchema for AutoOr<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("AutoOr{LEAST}To{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut number = json_schema!({ "type": "integer", "minimum": LEAST });
        if MOST < u32::MAX {
            number.insert("maximum".into(), MOST.into());
        }
        json_schema!({ "anyOf": [{ "type": "string", "const": "auto" }, number] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_range_and_auto_are_read() {
        type Few = AutoOr<1, 12>;
        assert_eq!("auto".parse(), Ok(Few::Auto));
        assert_eq!("12".parse(), Ok(Few::Number(12)));
        for text in ["13", "0", "-1", "all"] {
            assert_eq!(text.parse::<Few>().unwrap_err(), "valid is a whole number from 1 to 12, or \"auto\"");
        }
        let any = "0".parse::<AutoOr<1, { u32::MAX }>>().unwrap_err();
        assert_eq!(any, "valid is a whole number from 1, or \"auto\"");
        assert_eq!([Few::Number(3).number(), Few::Auto.number()], [Some(3), None]);
    }
}
