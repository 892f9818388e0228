//! Section `[barostat]`: constant pressure by C-rescale, isotropic (Bernetti & Bussi 2020, 10.1063/5.0020514) or with axes apart (Del Tatto et al. 2022,
//! 10.3390/app12031139).

use super::check::{Check, not_negative, positive, require, whole_steps, wrong};
use super::electrostatics::{Boundary, Depth};
use super::per_axis::PerAxis;
use super::quantity::{CompressibilityDimension, PressureDimension, SurfaceTension, Temperature, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which lengths of the box change together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// All edges alike, with the mean of the pressure along the axes.
    #[default]
    Isotropic,
    /// Those along x and y together, with the mean of the pressure along both, and that along z apart: for membranes in the x-y plane.
    SemiIsotropic,
    /// Each edge by itself, with the pressure along it. Angles stay right ones.
    Anisotropic,
}

impl Coupling {
    /// Its name in a job.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Isotropic => "isotropic",
            Self::SemiIsotropic => "semi-isotropic",
            Self::Anisotropic => "anisotropic",
        }
    }

    /// Whether all edges change alike.
    pub fn is_isotropic(&self) -> bool {
        *self == Self::Isotropic
    }
}

/// `[barostat]`: C-rescale. Without the section the volume is constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Barostat {
    /// Which lengths of the box change together. Other values than `"isotropic"` need a box with right angles and a tree without refinement (what `depth` chooses by itself
    /// is).
    #[serde(skip_serializing_if = "Coupling::is_isotropic")]
    #[schemars(extend("x-absent" = "`\"isotropic\"`"))]
    pub coupling: Coupling,
    /// Pressure (bar): one value, or with `coupling = "semi-isotropic"` two, along x and y and along z, and with `"anisotropic"` three.
    pub pressure: PerAxis<PressureDimension>,
    /// Time within which the volume returns to its mean (ps), above zero.
    pub coupling_time: Time,
    /// Isothermal compressibility of the system (1/bar), above zero; the default is that of water. It sets how fast the volume answers, not
    /// which volume is reached. Where axes change apart there may be as many values as for the pressure, and an axis whose value is zero keeps its length.
    pub compressibility: PerAxis<CompressibilityDimension>,
    /// Surface tension of a membrane or of a layer in the x-y plane (bar nm), with `coupling = "semi-isotropic"`: γ = L_z (P_zz − (P_xx + P_yy)/2) of all its
    /// interfaces together, so that two interfaces of 20 mN/m are 40 mN/m. `pressure` is then that along z.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "none: the pressure along x and y is that of `pressure`"))]
    pub surface_tension: Option<SurfaceTension>,
    /// Number of steps between two scalings of the box. Where axes change apart the pressure along each of them costs more than its mean, on a GPU one to two steps each time, so that 50
    /// is a better choice there.
    #[schemars(range(min = 1))]
    pub interval: u64,
    /// Time from the start in which the volume stays as it is (ps), a whole number of time steps: velocities become those of the temperature and
    /// the surroundings settle before the pressure means anything. In a titration it is left out of the evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the box changes from the first step on"))]
    pub start: Option<Time>,
}

impl Default for Barostat {
    fn default() -> Self {
        Barostat {
            coupling: Coupling::Isotropic,
            pressure: PerAxis::all(1.0),
            coupling_time: Time::new(2.0),
            compressibility: PerAxis::all(4.5e-5),
            surface_tension: None,
            interval: 10,
            start: None,
        }
    }
}

impl Barostat {
    /// Number of steps, of `step` each, in which the volume stays as it is.
    pub fn start_steps(&self, step: Time) -> u64 {
        self.start.map_or(0, |start| (start.get() / step.get()).round() as u64)
    }

    /// Checks the time in which the volume stays as it is, in runs of this many steps of `step`; zero is the same as none.
    pub(super) fn resolve_start(&mut self, step: Time, steps: u64) -> Check {
        const KEY: &str = "barostat.start";
        let Some(start) = self.start else { return Ok(()) };
        not_negative(KEY, start)?;
        let first = whole_steps(KEY, start, step)?;
        if steps > 0 && first >= steps {
            let message = format!("the volume is constant for {start}, which is the whole run");
            return Err(wrong(KEY, message, "make the run longer, start sooner, or remove [barostat]"));
        }
        self.start = self.start.filter(|_| first > 0);
        Ok(())
    }

    /// Pressure along x, y and z, bar.
    pub fn pressure_of_axes(&self) -> [f64; 3] {
        self.of_axes(&self.pressure)
    }

    /// Compressibility of x, y and z, 1/bar.
    pub fn compressibility_of_axes(&self) -> [f64; 3] {
        self.of_axes(&self.compressibility)
    }

    fn of_axes<D>(&self, values: &PerAxis<D>) -> [f64; 3] {
        let place = if self.coupling == Coupling::Anisotropic { [0, 1, 2] } else { [0, 0, 1] };
        place.map(|k| values.get(k))
    }

    /// Checks that there are as many values as lengths that change apart, and that the rest fits the coupling.
    fn check_axes(&self) -> Check {
        let (apart, words) = match self.coupling {
            Coupling::Isotropic => (1, "one value: all edges change alike"),
            Coupling::SemiIsotropic => (2, "one value, or two: along x and y, and along z"),
            Coupling::Anisotropic => (3, "one value, or three: along x, y and z"),
        };
        for (key, count) in [
            ("barostat.pressure", self.pressure.given().len()),
            ("barostat.compressibility", self.compressibility.given().len()),
        ] {
            let found = format!("a list of {count} with coupling = \"{}\"", self.coupling.name());
            require(count == 1 || count == apart, key, found, words)?;
        }
        let values = self.compressibility.given();
        if self.coupling.is_isotropic() || values.len() == 1 {
            values.iter().try_for_each(|&value| positive("barostat.compressibility", value))?;
        } else {
            values.iter().try_for_each(|&value| not_negative("barostat.compressibility", value))?;
            let any = values.iter().any(|value| value.get() > 0.0);
            require(any, "barostat.compressibility", "zero for every axis", "a value above zero for one of them")?;
        }
        if let Some(tension) = self.surface_tension.filter(|_| self.coupling != Coupling::SemiIsotropic) {
            let message = format!("found {tension} with coupling = \"{}\"", self.coupling.name());
            return Err(wrong("barostat.surface_tension", message, "it needs coupling = \"semi-isotropic\""));
        }
        Ok(())
    }

    /// Checks the numbers, that the thermostat sets a temperature (`bath`), and that there is a box to scale whose tree, of this `depth`, tells what the barostat
    /// needs.
    pub(super) fn check(&self, bath: Option<Temperature>, boundary: Boundary, depth: Depth) -> Check {
        positive("barostat.coupling_time", self.coupling_time)?;
        self.check_axes()?;
        if let Depth::Number(number @ 1..) = depth
            && !self.coupling.is_isotropic()
        {
            let message = format!("found {number}: the pressure along single axes needs a tree without refinement");
            return Err(wrong("electrostatics.depth", message, "use depth = 0 or \"auto\", or an isotropic barostat"));
        }
        require(self.interval > 0, "barostat.interval", self.interval, "a whole number of steps, 1 or more")?;
        if bath.is_none() {
            let message = "a barostat needs a thermostat, and the section [thermostat] is missing";
            return Err(wrong("barostat", message, "add [thermostat] temperature = \"300 K\""));
        }
        if boundary == Boundary::Open {
            let help = "remove [barostat], or set electrostatics.boundary = \"periodic\"";
            return Err(wrong("barostat", "an open system has no volume to scale", help));
        }
        Ok(())
    }
}
