//! Sections of the job file about the system and its dynamics, key by key, with the defaults.
//!
//! Field names are the keys. Every key that is left out has the value given here; `resolved.toml` shows them all.

use super::quantity::{Compressibility, Force, Length, Pressure, Temperature, Time, WallTime};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `[system]`: what is simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Structure, GROMACS `.gro`. Relative to the job file.
    pub structure: PathBuf,
    /// Topology, GROMACS `.top`. Relative to the job file.
    pub topology: PathBuf,
    /// Folders searched for `#include`. Relative to the job file.
    #[serde(default)]
    pub include: Vec<PathBuf>,
    /// Preprocessor names, `"POSRES"` or `"NAME=value"`.
    #[serde(default)]
    pub define: Vec<String>,
}

/// `[electrostatics]`: the fast multipole method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Electrostatics {
    /// Boundary conditions of everything: `periodic` (tin-foil) or `open`.
    pub boundary: Boundary,
    /// Relative error of the forces (root mean square) that order, separation and tree are chosen for, by the estimate for water; in place of
    /// these keys. 1e-6 to 0.1 in single, 1e-12 to 0.1 in double precision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Multipole order p, 0 to 60; 10 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
    /// Boxes whose centres are less than this many box diameters apart interact directly, 1 to 4; 1.2 unless given: 33 near boxes if they are cubes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separation: Option<f64>,
    /// Levels below the root grid: a whole number, or `"auto"` for the fastest by the cost model.
    pub depth: Depth,
    /// Arithmetic of the pair work: `single` or `double`. Energies are summed in double either way.
    pub precision: Precision,
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
    /// Order unless a tolerance or an order is given. With [`Self::DEFAULT_SEPARATION`] the drift of the energy is within its error of zero
    /// (BENCHMARKS.md); order 8 with touching boxes near is 10 to 15 % faster and drifts 60 times as much.
    pub const DEFAULT_ORDER: u32 = 10;

    /// Separation unless a tolerance or a separation is given.
    pub const DEFAULT_SEPARATION: f64 = 1.2;

    /// What decides the accuracy, in words.
    pub fn accuracy(&self) -> String {
        match self.tolerance {
            Some(tolerance) => format!("tolerance {tolerance:e}"),
            None => format!("order {}", self.order.unwrap_or(Self::DEFAULT_ORDER)),
        }
    }
}

/// Boundary conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// Three periodic axes, tin-foil.
    Periodic,
    /// No images.
    Open,
}

/// Arithmetic of the pair work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

/// Depth of the tree: a number or `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The fastest by the cost model of `fmm`.
    Auto,
    /// This many levels below the root grid.
    Levels(u32),
}

/// `[van_der_waals]`: Lennard-Jones with a cut-off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VanDerWaals {
    /// Cut-off (nm).
    pub cutoff: Length,
    /// What happens at the cut-off.
    pub modifier: Modifier,
    /// Where the force switch starts (nm); only with `modifier = "force-switch"`, there 0.2 nm before the cut-off unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_start: Option<Length>,
    /// Mean-field correction of energy and pressure for the dispersion beyond the cut-off.
    pub dispersion_correction: bool,
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

/// Form of the Lennard-Jones potential near the cut-off, as GROMACS defines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modifier {
    /// Plain truncation.
    None,
    /// The potential is shifted to zero at the cut-off.
    PotentialShift,
    /// The force goes smoothly to zero between `switch_start` and the cut-off.
    ForceSwitch,
}

/// `[neighbour_list]`: lists are rebuilt, and atoms assigned to the boxes of the tree, when an atom has moved by half the buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NeighbourList {
    /// Added to the cut-off (nm).
    pub buffer: Length,
}

impl Default for NeighbourList {
    fn default() -> Self {
        NeighbourList { buffer: Length::new(0.1) }
    }
}

/// `[dynamics]`: leap-frog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dynamics {
    /// Length of the run (ps); instead of `steps`. After reading, [`Dynamics::steps`] holds the number of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// Number of steps; instead of `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Time step (ps).
    pub time_step: Time,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Which bonds are rigid. Water with `[ settles ]` always is.
    pub constraints: Constraints,
    /// Steps between removals of the motion of the centre of mass; 0: never.
    pub remove_com_interval: u64,
    /// Where the first velocities come from.
    pub velocities: Velocities,
    /// Temperature of generated velocities (K); the thermostat's unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity_temperature: Option<Temperature>,
}

impl Default for Dynamics {
    fn default() -> Self {
        Dynamics {
            duration: None,
            steps: None,
            time_step: Time::new(0.002),
            seed: 1,
            constraints: Constraints::HBonds,
            remove_com_interval: 100,
            velocities: Velocities::Auto,
            velocity_temperature: None,
        }
    }
}

/// Which bonds become constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constraints {
    /// Only those of the topology.
    None,
    /// Bonds to hydrogen.
    HBonds,
    /// All bonds.
    AllBonds,
}

/// Where the first velocities come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Velocities {
    /// From the structure if it has them, else generated.
    Auto,
    /// From the structure; an error if it has none.
    Structure,
    /// Drawn from the Maxwell distribution.
    Generate,
}

/// `[thermostat]`: v-rescale (Bussi 2007). Without the section the energy is conserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thermostat {
    /// Temperature (K).
    pub temperature: Temperature,
    /// Coupling time (ps).
    pub coupling_time: Time,
}

impl Default for Thermostat {
    fn default() -> Self {
        Thermostat { temperature: Temperature::new(300.0), coupling_time: Time::new(0.1) }
    }
}

/// `[barostat]`: isotropic C-rescale (Bernetti & Bussi 2020). Without the section the volume is constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Barostat {
    /// Pressure (bar).
    pub pressure: Pressure,
    /// Coupling time (ps).
    pub coupling_time: Time,
    /// Isothermal compressibility of the system (1/bar).
    pub compressibility: Compressibility,
    /// Steps between two scalings.
    pub interval: u64,
}

impl Default for Barostat {
    fn default() -> Self {
        Barostat {
            pressure: Pressure::new(1.0),
            coupling_time: Time::new(2.0),
            compressibility: Compressibility::new(4.5e-5),
            interval: 10,
        }
    }
}

/// `[minimise]`: steepest descent before the first step. Without the section nothing is minimised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Minimise {
    /// Largest number of steps.
    pub steps: u64,
    /// Stop when the largest force is below this (kJ/mol/nm).
    pub force_tolerance: Force,
    /// First displacement (nm).
    pub initial_step: Length,
}

impl Default for Minimise {
    fn default() -> Self {
        Minimise { steps: 500, force_tolerance: Force::new(1000.0), initial_step: Length::new(0.01) }
    }
}

/// `[output]`: where results go and how often. Intervals of simulated time must be whole numbers of steps; `"0 ps"`: never.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Folder of the results, relative to the job file; its name without `.toml` unless given.
    pub folder: PathBuf,
    /// Between lines of `energy.csv` (ps).
    pub energy: Time,
    /// Between lines of `lambda.csv` (ps).
    pub lambda: Time,
    /// Between frames of `trajectory.xtc` (ps).
    pub trajectory: Time,
    /// Between lines of the log (ps).
    pub log: Time,
    /// Between checkpoints, on the clock (s).
    pub checkpoint: WallTime,
}

impl Default for Output {
    fn default() -> Self {
        Output {
            folder: PathBuf::new(),
            energy: Time::new(1.0),
            lambda: Time::new(0.1),
            trajectory: Time::new(10.0),
            log: Time::new(1.0),
            checkpoint: WallTime::new(300.0),
        }
    }
}

impl Serialize for Depth {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Depth::Auto => serializer.serialize_str("auto"),
            Depth::Levels(levels) => serializer.serialize_u32(*levels),
        }
    }
}

impl<'de> Deserialize<'de> for Depth {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DepthVisitor)
    }
}

struct DepthVisitor;

impl serde::de::Visitor<'_> for DepthVisitor {
    type Value = Depth;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a whole number from 0 to 8, or \"auto\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Depth, E> {
        let other = || E::custom(format!("found \"{text}\"; valid is a whole number from 0 to 8, or \"auto\""));
        (text == "auto").then_some(Depth::Auto).ok_or_else(other)
    }

    fn visit_i64<E: serde::de::Error>(self, levels: i64) -> Result<Depth, E> {
        let levels = u32::try_from(levels).ok().filter(|levels| *levels <= 8).map(Depth::Levels);
        levels.ok_or_else(|| E::custom("found a depth out of range; valid is a whole number from 0 to 8, or \"auto\""))
    }
}
