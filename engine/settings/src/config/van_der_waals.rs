//! Section `[van_der_waals]`: Lennard-Jones interactions with a cut-off.

use super::check::{Check, positive, require, wrong};
use super::quantity::Length;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[van_der_waals]`: Lennard-Jones with a cut-off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VanDerWaals {
    /// Distance beyond which Lennard-Jones interactions are left out (nm). Take what the force field was made with; with the buffer of the
    /// lists it must fit twice between the nearest images: into the shortest edge of a rectangular box.
    pub cutoff: Length,
    /// What happens to the potential at the cut-off.
    pub modifier: Modifier,
    /// Distance at which the force switch starts (nm), below the cut-off; only with `modifier = "force-switch"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "0.2 nm before the cut-off"))]
    pub switch_start: Option<Length>,
    /// Whether energy and pressure are corrected for the dispersion beyond the cut-off, as if the density were uniform there. Force fields of AMBER
    /// are used with it. CHARMM36 and its relatives are used without, and `octitrate prepare` writes `false` for them.
    pub dispersion_correction: bool,
}

/// Form of the Lennard-Jones potential near the cut-off, as GROMACS defines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Modifier {
    /// The potential is simply truncated.
    None,
    /// The potential is shifted to zero at the cut-off.
    PotentialShift,
    /// The force goes smoothly to zero between `switch_start` and the cut-off.
    ForceSwitch,
}

impl Default for VanDerWaals {
    fn default() -> Self {
        VanDerWaals {
            cutoff: Length::new(1.0),
            modifier: Modifier::PotentialShift,
            switch_start: None,
            dispersion_correction: true,
        }
    }
}

impl VanDerWaals {
    /// Where a force switch starts: as the job says, or 0.2 nm before the cut-off.
    pub fn start_of_switch(&self) -> Length {
        self.switch_start.unwrap_or(Length::new((self.cutoff.get() - 0.2).max(0.0)))
    }

    /// Checks the cut-off, and fills in where the force switch starts.
    pub(super) fn resolve(&mut self) -> Check {
        const KEY: &str = "van_der_waals.switch_start";
        positive("van_der_waals.cutoff", self.cutoff)?;
        match (self.modifier, self.switch_start) {
            (Modifier::ForceSwitch, _) => {
                let start = self.start_of_switch();
                self.switch_start = Some(start);
                let inside = start.get() > 0.0 && start.get() < self.cutoff.get();
                require(inside, KEY, start, &format!("a length above zero and below the cut-off of {}", self.cutoff))
            }
            (_, Some(_)) => {
                let help = "remove it, or set modifier = \"force-switch\"";
                Err(wrong(KEY, "`switch_start` has no meaning without the force switch", help))
            }
            _ => Ok(()),
        }
    }
}
