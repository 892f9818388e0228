//! Differences between a job and the calibration of its corrections that a person allows by name.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::StrDeserializer;
use serde::de::{IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Something that may differ between a job and the calibration of a correction V_MM that it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mismatch {
    /// What is linear in the weights between two forms.
    Interpolation,
    /// Whether the site's own periodic images are in the bracket of Hamiltonian interpolation.
    Images,
    /// Temperature of λ, by more than 2 K.
    Temperature,
    /// Cut-off of Lennard-Jones interactions.
    Cutoff,
    /// What happens to Lennard-Jones interactions at the cut-off.
    Modifier,
    /// Water model, or another solvent.
    Water,
    /// Periodic or open boundaries.
    Boundary,
    /// Parameters of the force field for the group besides charges: Lennard-Jones, angles, torsions.
    Parameters,
    /// Lennard-Jones interactions of the group beside the combination rule (CUFIX, NBFIX), with atoms of its own residue and of the solvent.
    Pairs,
}

impl Mismatch {
    /// The word in a job file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interpolation => "interpolation",
            Self::Images => "images",
            Self::Temperature => "temperature",
            Self::Cutoff => "cutoff",
            Self::Modifier => "modifier",
            Self::Water => "water",
            Self::Boundary => "boundary",
            Self::Parameters => "parameters",
            Self::Pairs => "pairs",
        }
    }
}

/// A difference that a job allows: `"parameters"`, for all corrections, or `"parameters of water"`, for that of one entry of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// What may differ.
    pub what: Mismatch,
    /// The entry whose correction it may differ from; none for all.
    pub of: Option<String>,
}

impl Allowed {
    /// Whether this lets `what` differ from the calibration of `entry`.
    pub fn covers(&self, what: Mismatch, entry: &str) -> bool {
        self.what == what && self.of.as_ref().is_none_or(|of| of == entry)
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Some(entry) => write!(f, "{} of {entry}", self.what.name()),
            None => f.write_str(self.what.name()),
        }
    }
}

impl Serialize for Allowed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Allowed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(AllowedVisitor)
    }
}

/// Reads the text itself, so that an error has its place.
struct AllowedVisitor;

impl Visitor<'_> for AllowedVisitor {
    type Value = Allowed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name such as \"parameters\", or \"parameters of glu\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Allowed, E> {
        let (name, of) = match text.split_once(" of ") {
            Some((name, entry)) => (name, Some(entry.trim().to_string())),
            None => (text, None),
        };
        let name: StrDeserializer<'_, E> = name.trim().into_deserializer();
        Ok(Allowed { what: Mismatch::deserialize(name)?, of })
    }
}

impl JsonSchema for Allowed {
    fn schema_name() -> Cow<'static, str> {
        "Allowed".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = generator.subschema_for::<Mismatch>();
        json_schema!({ "anyOf": [names, { "type": "string", "pattern": "^[a-z]+ of .+$" }] })
    }
}
