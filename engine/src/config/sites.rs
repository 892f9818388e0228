//! Section `[titration]` of the job file: λ-dynamics of titratable residues, their start, barriers and charge buffers.
//!
//! Field names are the keys. What can be written in several ways has a type of its own: a barrier is a height or a rate that it
//! shall lead to, a start is λ, a list of weights, or the name of a form.

pub use lambda::coordinate::Variant as Coordinate;

use super::quantity::{Energy, LambdaMass, Length, Rate, Stiffness, Temperature, Time};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `[titration]`: λ-dynamics of titratable residues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Titration {
    /// pH of this run. Given by the workflow in `titrate`; not needed where every site is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ph: Option<f64>,
    /// What moves: weights themselves, points on a sphere, or angles in an exponential.
    pub coordinate: Coordinate,
    /// One coordinate between two forms, or one for each form.
    pub coupling: Coupling,
    /// How charges of two forms mix.
    pub interpolation: Interpolation,
    /// Form of the pH term along λ.
    pub ph_term: PhTerm,
    /// Height h of the barrier between the forms (kJ/mol), or the rate of transitions that it adapts to.
    pub barrier: Barrier,
    /// Mass of λ (u nm²).
    pub mass: LambdaMass,
    /// Temperature of λ (K); the thermostat's unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Temperature>,
    /// Coupling time of the thermostat of λ (ps).
    pub coupling_time: Time,
    /// More entries of titratable residues, read after the built-in ones and before them in rank. Relative to the job file.
    pub library: Vec<PathBuf>,
    /// Whether entries whose correction V_MM is preliminary may be used.
    pub allow_uncalibrated: bool,
    /// The sites, `[[titration.site]]`; every residue of the library that occurs if none is given.
    #[serde(rename = "site", skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<SiteRequest>,
    /// Molecules that take up the charge; without them a uniform background does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
}

impl Default for Titration {
    fn default() -> Self {
        Titration {
            ph: None,
            coordinate: Coordinate::Linear,
            coupling: Coupling::Auto,
            interpolation: Interpolation::Hamiltonian,
            ph_term: PhTerm::Linear,
            barrier: Barrier::Height(Energy::new(5.0)),
            mass: LambdaMass::new(5.0),
            temperature: None,
            coupling_time: Time::new(2.0),
            library: Vec::new(),
            allow_uncalibrated: false,
            sites: Vec::new(),
            buffer: None,
        }
    }
}

/// Number of coordinates of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// One for two forms, else one for each form.
    Auto,
    /// One between two forms.
    Transition,
    /// One for each form.
    Weight,
}

impl Coupling {
    /// The same for `lambda`; nothing is asked for with `auto`.
    pub fn lambda(self) -> Option<lambda::coordinate::Coupling> {
        match self {
            Self::Auto => None,
            Self::Transition => Some(lambda::coordinate::Coupling::Transition),
            Self::Weight => Some(lambda::coordinate::Coupling::Weight),
        }
    }
}

/// How the energies of two forms mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// V is linear in the weights of each site.
    Hamiltonian,
    /// Only the charges are linear in the weights.
    Charge,
}

/// Form of the pH term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhTerm {
    /// Linear in λ.
    Linear,
    /// The smoothed step of Aho 2022.
    Smoothed,
    /// No pH: all forms of the model compound are equally likely.
    None,
}

/// Barrier between the forms: `"5 kJ/mol"`, or `{ rate = "20 /ns" }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Barrier {
    /// This high (kJ/mol).
    Height(Energy),
    /// As high as the wanted rate of transitions needs.
    Adapting(AdaptingBarrier),
}

impl Barrier {
    /// Height at the start (kJ/mol).
    pub fn start(&self) -> f64 {
        match self {
            Self::Height(height) => height.get(),
            Self::Adapting(adapting) => adapting.start.get(),
        }
    }
}

/// A barrier that adapts at the beginning of a run and is frozen then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptingBarrier {
    /// Transitions wanted (1/ns).
    pub rate: Rate,
    /// Height at the start (kJ/mol).
    #[serde(default = "start")]
    pub start: Energy,
    /// Time after which it is frozen (ps), to multiples of a thousand steps. Leave it out of the analysis.
    #[serde(default = "during")]
    pub during: Time,
}

fn start() -> Energy {
    Energy::new(5.0)
}

fn during() -> Time {
    Time::new(100.0)
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

/// One `[[titration.site]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteRequest {
    /// `"GLU 2"`: this residue; `"GLU"`: every one of the name.
    pub residue: String,
    /// Entry of the library, where several fit the residue (its side chain and a terminus).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Where the site starts: λ of two forms, −0.1 to 1.1; the weights of all forms; or the name of a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Start>,
    /// The site is held there (λ −0.2 to 1.2) and ∂V/∂λ written; instead of `initial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Start>,
    /// What moves, instead of that of `[titration]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinate: Option<Coordinate>,
    /// Barrier, instead of that of `[titration]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<Barrier>,
}

/// Weights of the forms of a site: `0.3`, `[0.2, 0.5, 0.3]` or `"HSP"`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Start {
    /// λ, the weight of the second of two forms.
    Lambda(f64),
    /// The weight of each form; their sum is one.
    Weights(Vec<f64>),
    /// One form alone.
    Form(String),
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StartVisitor)
    }
}

struct StartVisitor;

impl<'de> serde::de::Visitor<'de> for StartVisitor {
    type Value = Start;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("λ such as 0.5, the weights of all forms such as [0.2, 0.5, 0.3], or the name of a form")
    }

    fn visit_f64<E: serde::de::Error>(self, lambda: f64) -> Result<Start, E> {
        Ok(Start::Lambda(lambda))
    }

    fn visit_i64<E: serde::de::Error>(self, lambda: i64) -> Result<Start, E> {
        Ok(Start::Lambda(lambda as f64))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Start, E> {
        Ok(Start::Form(name.to_string()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Start, A::Error> {
        let mut weights = Vec::new();
        while let Some(weight) = list.next_element()? {
            weights.push(weight);
        }
        Ok(Start::Weights(weights))
    }
}

/// `[titration.buffer]`: molecules that share one λ and keep the box neutral.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Buffer {
    /// Number of molecules, or `"auto"`: 2N+1 for N sites whose charge changes, or more if their charge needs it.
    pub molecules: super::Jobs,
    /// Name of the residue whose molecules serve.
    pub residue: String,
    /// Distance wanted from everything but water and ions, and between the molecules (nm); the largest possible where there is no room.
    pub distance: Length,
    /// Position restraint on the first atom of each (kJ/mol/nm²); 0: none.
    pub restrain: Stiffness,
    /// λ is held at this value (−0.2 to 1.2), and the box is not kept neutral: windows of the buffer's own calibration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<f64>,
    /// Whether λ of the buffer follows the sites so that the box is neutral; if not it moves freely.
    pub neutral: bool,
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer {
            molecules: super::Jobs::Auto,
            residue: "SOL".into(),
            distance: Length::new(1.5),
            restrain: Stiffness::new(1000.0),
            fixed: None,
            neutral: true,
        }
    }
}
