//! Section `[calibrate]`: windows and free runs from which the free energy of a model compound is found.

use super::auto_or::AutoOr;
use super::check::{Check, exists, make_absolute, positive, require, whole_steps};
use super::dynamics::Dynamics;
use super::quantity::{Energy, Time};
use super::titrate::Jobs;
use super::values::Values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Degree of a polynomial.
pub type Degree = AutoOr<1, 12>;

/// `[calibrate]`: the free energy of a model compound over the weights of its forms, first from windows of fixed weights, then refined by
/// free runs until these are flat and the free energy is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibrate {
    /// What is calibrated: the residue, such as `"GLH 2"`, or `"buffer"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the only site of the job"))]
    pub site: Option<String>,
    /// Windows along the edge between every two forms, λ = 0 at the first and 1 at the second, from -0.2 to 1.2: a list, or a range
    /// `{ min = -0.05, max = 1.05, step = 0.05 }`.
    #[serde(default = "windows")]
    pub windows: Values,
    /// Windows between three forms or more: weights that are multiples of one over this number, none of them zero; 0 means none.
    #[serde(default = "interior")]
    #[schemars(range(max = 20))]
    pub interior: u32,
    /// Runs of each window, which begin at different structures and velocities: their averages must agree. Without `structures` the first begins
    /// at `system.structure`, and each further one at the end of the run before it at other weights, half the list of windows away, so
    /// that water and side chain come from elsewhere.
    #[serde(default = "starts")]
    #[schemars(range(min = 1, max = 16))]
    pub starts: u32,
    /// Structures, GROMACS `.gro` files, at which runs of the windows and free runs of the first round begin in turn instead, such as frames with other rotamers of the side chain; as many as
    /// `starts` at most. They have the atoms of `system.structure`. The paths are relative to the job file.
    #[serde(default)]
    pub structures: Vec<PathBuf>,
    /// Runs before all others that look for conformations: λ is held at each form in turn, and nothing is counted. Runs of the windows and free runs of the first round begin
    /// where these end, in turn, so that every window has other conformations in each of its `starts`; 0 means none. With `structures` there is
    /// nothing to look for. `titration.ease_rotamers` makes side chains turn sooner, in these as in all runs.
    #[serde(default)]
    #[schemars(range(max = 64))]
    pub conformers: u32,
    /// Length of each of these runs (ps), a whole number of time steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "twice the length of a window"))]
    pub conformer_time: Option<Time>,
    /// Whether forms that the entry of the library shows to be the same chemically, such as a proton on either oxygen of a carboxyl group, have the
    /// same free energy exactly; windows that are mirror images of others are then not run.
    #[serde(default = "yes")]
    pub symmetric: bool,
    /// Start of each window and of each free run that is left out (ps), shorter than a window. Of windows more is left out where ⟨∂V/∂λ⟩ still
    /// moves, half of the rest at most.
    #[serde(default = "no_time")]
    pub equilibration: Time,
    /// Degree of the polynomial for the free energy along each edge, or `"auto"` for the one that the windows justify, 10 at most.
    #[serde(default)]
    pub degree: Degree,
    /// How flat the free runs must be and how well the free energy must be known (kJ/mol), above zero: the largest deviation of -RT ln p from a flat profile plus its
    /// standard error, from weight 0.05 to 0.95, and the statistical and the systematic error of the free energy between forms together.
    #[serde(default = "tolerance")]
    pub tolerance: Energy,
    /// Largest number of rounds of free runs; 0 means none, and then the result is preliminary.
    #[serde(default = "max_rounds")]
    pub max_rounds: u32,
    /// Length of each free run (ps), a whole number of time steps and longer than `equilibration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "ten times the length of a window"))]
    pub round: Option<Time>,
    /// Number of free runs in a round; they start from different forms.
    #[serde(default = "runs")]
    #[schemars(range(min = 1, max = 64))]
    pub runs: u32,
    /// Name of the water model. It is written into the entry that the calibration makes, and changes nothing else.
    #[serde(default = "unnamed")]
    pub water_model: String,
    /// Number of runs that go on at once, or `"auto"` for as many as there are cores, or 32 on each GPU (up to 63, so that no few are left for the end).
    #[serde(default)]
    pub jobs: Jobs,
}

fn starts() -> u32 {
    2
}

fn yes() -> bool {
    true
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
    // Denser at the ends, where water reorganises as a proton begins to come or has all but gone, and F bends. Hardly beyond them: λ of a titration is outside of
    // −0.085 to 1.085 for a ten thousandth of the time, and further out a hydrogen that has left has a negative charge and no size, so that water binds to it for good.
    Values::List(vec![-0.06, -0.03, 0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 1.0, 1.03, 1.06])
}

impl Calibrate {
    /// Makes the paths absolute; they are relative to `folder`. Checks that the files exist.
    pub(super) fn resolve_paths(&mut self, folder: &Path) -> Check {
        self.structures.iter_mut().for_each(|path| make_absolute(folder, path));
        let exists = |(index, structure): (usize, &PathBuf)| {
            exists(&format!("calibrate.structures.{index}"), structure, "a GROMACS structure, .gro")
        };
        self.structures.iter().enumerate().try_for_each(exists)
    }

    /// Checks all keys; the windows are runs of `dynamics`.
    pub(super) fn check(&self, dynamics: &Dynamics) -> Check {
        positive("calibrate.tolerance", self.tolerance)?;
        require(self.interior <= 20, "calibrate.interior", self.interior, "a whole number from 0 to 20")?;
        require((1..=64).contains(&self.runs), "calibrate.runs", self.runs, "a whole number from 1 to 64")?;
        require((1..=16).contains(&self.starts), "calibrate.starts", self.starts, "a whole number from 1 to 16")?;
        let (count, valid) = (self.structures.len(), "as many structures as calibrate.starts at most; raise that");
        require(count <= self.starts as usize, "calibrate.structures", format!("{count} structures"), valid)?;
        require(self.conformers <= 64, "calibrate.conformers", self.conformers, "a whole number from 0 to 64")?;
        let valid = "0 where calibrate.structures says where runs begin";
        require(count == 0 || self.conformers == 0, "calibrate.conformers", self.conformers, valid)?;
        if let Some(time) = self.conformer_time {
            require(
                self.conformers > 0,
                "calibrate.conformer_time",
                time,
                "a time where calibrate.conformers is above 0",
            )?;
            positive("calibrate.conformer_time", time)?;
            whole_steps("calibrate.conformer_time", time, dynamics.time_step)?;
        }
        if let Some(round) = self.round {
            positive("calibrate.round", round)?;
            whole_steps("calibrate.round", round, dynamics.time_step)?;
            let valid = "a time above calibrate.equilibration";
            require(round.get() > self.equilibration.get(), "calibrate.round", round, valid)?;
        }
        // A polynomial needs as many windows as its degree, and a fit of any degree needs two.
        let needed = self.degree.number().map_or(2, |degree| (degree as usize).max(2));
        self.windows.check("calibrate.windows", "window", needed)?;
        if let Some(lambda) = self.windows.to_vec().into_iter().find(|lambda| !(-0.2..=1.2).contains(lambda)) {
            return require(false, "calibrate.windows", lambda, "λ from -0.2 to 1.2");
        }
        dynamics.check_equilibration("calibrate.equilibration", self.equilibration)
    }
}
