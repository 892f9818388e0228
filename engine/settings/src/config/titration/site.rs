//! Section `[[titration.site]]`: one titratable residue, and where it starts.

use super::barrier::Barrier;
use crate::config::check::{Check, require, wrong};
use crate::config::quantity::{Energy, Time};
use crate::config::schema;
use lambda::coordinate::Variant as Coordinate;
use lambda::site::{ResiduePlace, SiteRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One `[[titration.site]]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteSettings {
    /// The residue: `"GLH 2"` by name and number as in the topology, `"nterm ALA 1"` with the entry of the library before, or `"GLH"` for every
    /// residue of the name.
    pub residue: String,
    /// Chain and number of the residue in the entry that the system was made of, `"A 35"`, or `"35"` without a chain. `octitrate pka --compare` finds measured
    /// values by it, since a topology has numbers of molecules in place of chains and may number residues anew. It acts on nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("x-absent" = "the number in `residue`, and chain A for the first molecule, B for the second"))]
    pub place: Option<ResiduePlace>,
    /// Entry of the library, where several fit the residue: its side chain and the end of a chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the first entry that fits"))]
    pub entry: Option<String>,
    /// Where the site starts: λ of two forms, such as `0.5`; the weights of all forms, such as `[0.2, 0.5, 0.3]`, each from -0.1 to 1.1 with the
    /// sum 1; or the name of a form, such as `"deprotonated"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the number of protons that is most likely at the pH of the run by `start_pka`, and of its forms that of lowest free energy; of equal ones one that the seed draws; without a pH the same weight for every form"))]
    pub initial: Option<Start>,
    /// pKa (from -10 to 30) by which the form that the site starts with is chosen, in place of that of the model compound: what PROPKA predicts, or a run
    /// before found. It shifts all pK of the forms alike, and acts on nothing but the start; not together with `initial` or `fixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the pKa of the model compound"))]
    pub start_pka: Option<f64>,
    /// Where the site is held while ∂V/∂λ is written, in the same words as `initial`, each weight from -0.2 to 1.2; instead of `initial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the site moves"))]
    pub fixed: Option<Start>,
    /// What moves, for this site alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::coordinate", extend("x-absent" = "`titration.coordinate`"))]
    pub coordinate: Option<Coordinate>,
    /// Free energy that the force field gives this group for every proton it has lost, beyond what it gives the model compound of its correction (kJ/mol,
    /// from -200 to 200), and that is no chemistry. At an end of a chain the neighbour has other charges than the cap of the model compound, and the
    /// nearest of them do not interact with the group as they would in vacuum. It is added to the free energy of the correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "none"))]
    pub offset: Option<Energy>,
    /// Barrier between the forms of this site alone; not together with `fixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "`titration.barrier`"))]
    pub barrier: Option<Barrier>,
}

/// Weights of the forms of a site: `0.3`, `[0.2, 0.5, 0.3]` or `"HSP"`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Start {
    /// λ, the weight of the second of two forms.
    Lambda(f64),
    /// The weight of each form; their sum is one.
    Weights(Vec<f64>),
    /// One form alone.
    Form(String),
}

impl SiteSettings {
    /// Checks all keys of site number `index`, from 0, and writes the name of the residue with single blanks.
    pub(in crate::config) fn resolve(&mut self, index: usize, step: Time) -> Check {
        let key = |name: &str| format!("titration.site.{index}.{name}");
        self.resolve_residue(&key("residue"), &key("place"))?;
        if self.fixed.is_some() && self.initial.is_some() {
            return Err(wrong(&key("fixed"), "both `initial` and `fixed` are given", "give one of the two"));
        }
        if let Some(pka) = self.start_pka {
            if self.initial.is_some() || self.fixed.is_some() {
                let other = if self.initial.is_some() { "initial" } else { "fixed" };
                return Err(wrong(
                    &key("start_pka"),
                    format!("both `start_pka` and `{other}` are given"),
                    "give one of the two",
                ));
            }
            require((-10.0..=30.0).contains(&pka), &key("start_pka"), pka, "a pKa from -10 to 30")?;
        }
        if let Some(offset) = self.offset {
            let valid = "an energy from -200 to 200 kJ/mol for each proton";
            require(offset.get().abs() <= 200.0, &key("offset"), offset, valid)?;
        }
        if let Some(initial) = &self.initial {
            initial.check(&key("initial"), 0.1)?;
        }
        if let Some(fixed) = &self.fixed {
            fixed.check(&key("fixed"), 0.2)?;
        }
        if let Some(barrier) = &self.barrier {
            if self.fixed.is_some() {
                return Err(wrong(&key("barrier"), "a site that is held fixed has no barrier", "remove it"));
            }
            barrier.check(&key("barrier"), step)?;
        }
        Ok(())
    }

    /// `"GLU 2"`, `"nterm ALA 1"` or `"GLU"`, blanks made single.
    fn resolve_residue(&mut self, key: &str, place_key: &str) -> Check {
        const VALID: &str = "a residue name with its number, \"GLU 2\", with the entry of the library before, \
                             \"nterm ALA 1\", the number of the molecule in front where chains are numbered alike, \
                             \"2:GLU 2\", or a name alone for all of them, \"GLU\"";
        let words: Vec<&str> = self.residue.split_whitespace().collect();
        let valid = match words[..] {
            [name] => name.parse::<i32>().is_err() && !name.contains([':', '#']),
            _ => self.residue.parse::<SiteRequest>().is_ok(),
        };
        require(valid, key, format!("\"{}\"", self.residue), VALID)?;
        if let (Some(place), [_]) = (&self.place, &words[..]) {
            let message = format!(
                "\"{place}\" is the place of one residue, and \"{}\" names all residues of the name",
                self.residue
            );
            return Err(wrong(place_key, message, "write a [[titration.site]] for each of them, or remove `place`"));
        }
        self.residue = words.join(" ");
        Ok(())
    }
}

impl Start {
    /// Checks that λ lies at most `beyond` outside of [0, 1]; weights likewise, with the sum one.
    fn check(&self, key: &str, beyond: f64) -> Check {
        let (low, high) = (-beyond, 1.0 + beyond);
        let range = low..=high;
        match self {
            Self::Lambda(lambda) => require(range.contains(lambda), key, lambda, &format!("λ from {low} to {high}")),
            Self::Weights(weights) => {
                let sum: f64 = weights.iter().sum();
                let valid = format!("two or more weights from {low} to {high} whose sum is 1");
                let inside = weights.len() >= 2 && weights.iter().all(|w| range.contains(w));
                let holds = inside && (sum - 1.0).abs() < 1e-6;
                require(holds, key, format!("{weights:?}, with the sum {sum}"), &valid)
            }
            Self::Form(_) => Ok(()),
        }
    }
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

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Start, A::Error> {
        Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(list)).map(Start::Weights)
    }
}
