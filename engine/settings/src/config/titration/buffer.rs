//! Section `[titration.buffer]`: molecules that take up the charge which the sites release.

use crate::config::auto_or::AutoOr;
use crate::config::check::{Check, not_negative, positive, require, wrong};
use crate::config::electrostatics::Boundary;
use crate::config::quantity::{Length, Stiffness};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of molecules of a charge buffer.
pub type Molecules = AutoOr<1, { u32::MAX }>;

/// `[titration.buffer]`: molecules that share one λ and keep the box neutral.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChargeBuffer {
    /// Number of molecules, or `"auto"` for 2N+1 for N sites whose charge changes, or more if their charge needs it. Each carries at most half a
    /// charge.
    pub molecules: Molecules,
    /// Name of the residue whose molecules serve. The library has a calibrated correction for water.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "of the names that buffers of the library have, `SOL`, `HOH` and `WAT` among them, the one that most molecules have"))]
    pub residue: Option<String>,
    /// Distance wanted from everything but water and ions, and between the molecules (nm), above zero; where there is no room, the largest
    /// possible is taken, with a warning if that is below nine tenths of it.
    pub distance: Length,
    /// Force constant that holds the first atom of each molecule where it started (kJ/mol/nm²); 0 means that it is not held.
    pub restrain: Stiffness,
    /// Value at which λ of the buffer is held; the box is not kept neutral then. The windows of the buffer's own calibration are such runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -0.2, max = 1.2), extend("x-absent" = "λ of the buffer moves"))]
    pub fixed: Option<f64>,
    /// Whether λ of the buffer follows the sites so that the box stays neutral. If not, it moves freely, as in the free runs of its own
    /// calibration.
    pub neutral: bool,
}

impl Default for ChargeBuffer {
    fn default() -> Self {
        ChargeBuffer {
            molecules: Molecules::Auto,
            residue: None,
            distance: Length::new(1.5),
            restrain: Stiffness::new(1000.0),
            fixed: None,
            neutral: true,
        }
    }
}

impl ChargeBuffer {
    /// Checks all keys, and that the box is periodic.
    pub(in crate::config) fn check(&self, boundary: Boundary) -> Check {
        if boundary == Boundary::Open {
            let help = "remove [titration.buffer], or set electrostatics.boundary = \"periodic\"";
            return Err(wrong("titration.buffer", "an open system needs no charge buffer", help));
        }
        positive("titration.buffer.distance", self.distance)?;
        not_negative("titration.buffer.restrain", self.restrain)?;
        if let Some(name) = &self.residue {
            let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
            let valid = "the name of a residue, such as \"SOL\"";
            require(is_name, "titration.buffer.residue", format!("\"{name}\""), valid)?;
        }
        match self.fixed {
            Some(lambda) => {
                require((-0.2..=1.2).contains(&lambda), "titration.buffer.fixed", lambda, "λ from -0.2 to 1.2")
            }
            None => Ok(()),
        }
    }
}
