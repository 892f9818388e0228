//! Section `[electrostatics]`: boundary conditions and the accuracy of the fast multipole method.

use super::auto_or::AutoOr;
use super::check::{Check, require, wrong};
use fmm::accuracy::tolerances;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[electrostatics]`: the fast multipole method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Electrostatics {
    /// Boundary conditions of the whole system.
    pub boundary: Boundary,
    /// Relative error of the Coulomb forces (root mean square) for which the program chooses order, separation and tree; it stands in place of
    /// these keys. The error is estimated, for water, and four tenths of the tolerance are aimed at, because the estimate is good within a factor
    /// of two. The least is 1e-5 in single precision, whose rounding makes up to 5e-6. `octitrate check` says what was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-12, max = 0.1), extend("x-absent" = "`order`, `separation` and `depth` decide"))]
    pub tolerance: Option<f64>,
    /// Order of the multipole expansions. A larger one is more accurate and slower; with order 8 the energy drifts some 60 times as much
    /// as with the default, for 10 to 18 % more speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 60), extend("x-absent" = "10, unless `tolerance` is given"))]
    pub order: Option<u32>,
    /// Boxes whose centres are less than this many box diagonals apart interact directly, all others by expansions. Of cubic boxes 1.12 means
    /// those that touch (27), 1.2 means 33, 1.5 means 81, and 1.7 those up to two boxes apart. A larger one is more accurate and slower.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4), extend("x-absent" = "1.2, unless `tolerance` is given"))]
    pub separation: Option<f64>,
    /// Levels of the tree below its root grid, or `"auto"` for the fastest by the cost model. On a GPU molecular
    /// dynamics takes a grid without refinement, whatever is given.
    pub depth: Depth,
    /// Arithmetic of the pair work and of the expansions. Energies are summed in double precision either way. Double precision is for
    /// reference values and for tolerances below 1e-5.
    pub precision: Precision,
}

/// Levels of the tree below its root grid.
pub type Depth = AutoOr<0, 8>;

/// Boundary conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// The box repeats along three axes, with a conductor (tin-foil) around all images.
    Periodic,
    /// There are no images: a droplet in vacuum.
    Open,
}

/// Arithmetic of the pair work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 32-bit numbers.
    Single,
    /// 64-bit numbers.
    Double,
}

impl Default for Electrostatics {
    fn default() -> Self {
        Electrostatics {
            boundary: Boundary::Periodic,
            tolerance: None,
            order: None,
            separation: None,
            depth: Depth::Auto,
            precision: Precision::Single,
        }
    }
}

impl Electrostatics {
    /// Order where neither a tolerance nor an order is given. With [`Self::DEFAULT_SEPARATION`] the drift of the energy is within its error of
    /// zero (benchmarks/README.md); order 8 with only those boxes near that touch is 10 to 18 % faster and drifts 60 times as much.
    pub const DEFAULT_ORDER: u32 = 10;

    /// Separation where neither a tolerance nor a separation is given.
    pub const DEFAULT_SEPARATION: f64 = 1.2;

    /// What decides the accuracy, in words.
    pub fn accuracy(&self) -> String {
        match self.tolerance {
            Some(tolerance) => format!("tolerance {tolerance:e}"),
            None => format!("order {}", self.order.unwrap_or(Self::DEFAULT_ORDER)),
        }
    }

    /// Checks `tolerance`, or `order` with its expert keys; afterwards either the tolerance or all of them are set.
    pub(super) fn resolve(&mut self) -> Check {
        let Some(tolerance) = self.tolerance else {
            let order = *self.order.get_or_insert(Self::DEFAULT_ORDER);
            let valid = format!("a whole number from 0 to {}", fmm::MAX_ORDER);
            require(order as usize <= fmm::MAX_ORDER, "electrostatics.order", order, &valid)?;
            let separation = *self.separation.get_or_insert(Self::DEFAULT_SEPARATION);
            let valid = "a number from 1 to 4 box diameters; 1.12: boxes that touch, 1.7: up to two boxes apart";
            return require((1.0..=4.0).contains(&separation), "electrostatics.separation", separation, valid);
        };
        let (depth, order, separation) = (self.depth.number(), self.order, self.separation);
        let given = [("order", order.is_some()), ("separation", separation.is_some()), ("depth", depth.is_some())];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
            let message = format!("both `tolerance` and `{key}` are given");
            let help = format!("remove `{key}`, which the tolerance chooses, or remove `tolerance`");
            return Err(wrong(&format!("electrostatics.{key}"), message, help));
        }
        let (allowed, precision, hint) = match self.precision {
            Precision::Single => (tolerances::<f32>(), "single", ", smaller ones with precision = \"double\""),
            Precision::Double => (tolerances::<f64>(), "double", ""),
        };
        let (least, most) = (allowed.start(), allowed.end());
        let valid = format!("a relative force error from {least:e} to {most} in {precision} precision{hint}");
        require(allowed.contains(&tolerance), "electrostatics.tolerance", format!("{tolerance:e}"), &valid)
    }
}
