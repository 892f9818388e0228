//! A value that holds for all axes, `"1 bar"`, or a list of values for some and others, `["1 bar", "2 bar"]`.

use super::quantity::{Dimension, Quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// One value or several.
pub struct PerAxis<D>(Vec<Quantity<D>>);

impl<D> PerAxis<D> {
    /// One value for all axes, in the internal unit.
    pub fn all(value: f64) -> Self {
        Self(vec![Quantity::new(value)])
    }

    /// The values that were given.
    pub fn given(&self) -> &[Quantity<D>] {
        &self.0
    }

    /// Number `k` of several, or the only one; zero if there is none.
    pub fn get(&self, k: usize) -> f64 {
        let found = if self.0.len() == 1 { self.0.first() } else { self.0.get(k) };
        found.map_or(0.0, Quantity::get)
    }
}

impl<D> Clone for PerAxis<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D> PartialEq for PerAxis<D> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<D: Dimension> fmt::Debug for PerAxis<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<D: Dimension> Serialize for PerAxis<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de, D: Dimension> Deserialize<'de> for PerAxis<D> {
    fn deserialize<T: Deserializer<'de>>(deserializer: T) -> Result<Self, T::Error> {
        deserializer.deserialize_any(PerAxisVisitor(PhantomData))
    }
}

struct PerAxisVisitor<D>(PhantomData<D>);

impl<'de, D: Dimension> Visitor<'de> for PerAxisVisitor<D> {
    type Value = PerAxis<D>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let example = D::EXAMPLE;
        write!(f, "{} with its unit, such as \"{example}\", or a list, [\"{example}\", \"{example}\"]", D::NAME)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Quantity::parse(text).map(|one| PerAxis(vec![one])).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Err(E::custom(format!("found the number {number} without a unit, such as \"{}\"", D::EXAMPLE)))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Err(E::custom(format!("found the number {number} without a unit, such as \"{}\"", D::EXAMPLE)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(PerAxis)
    }
}

impl<D: Dimension> JsonSchema for PerAxis<D> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{} for each axis", D::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = Quantity::<D>::json_schema(generator);
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}
