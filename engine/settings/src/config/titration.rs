//! Section `[titration]`: λ-dynamics of titratable residues. Sites, barriers and the charge buffer have files of their own.

pub mod barrier;
pub mod buffer;
pub mod mismatch;
pub mod site;

pub use lambda::coordinate::Variant as Coordinate;

use super::check::{Check, make_absolute, not_negative, ph, positive, require, temperature, whole_steps, wrong};
use super::electrostatics::Boundary;
use super::quantity::{Energy, LambdaMass, Temperature, Time};
use super::schema;
use barrier::Barrier;
use buffer::ChargeBuffer;
use mismatch::Allowed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use site::SiteSettings;
use std::path::{Path, PathBuf};

/// `[titration]`: λ-dynamics of titratable residues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Titration {
    /// pH of this run. It is needed where a site moves; `[titrate]` and `[calibrate]` set it for each of their runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "no pH, which is an error where a site moves in a single run"))]
    pub ph: Option<f64>,
    /// What moves. Populations are the same with each; rates of transitions differ little.
    #[schemars(schema_with = "schema::coordinate")]
    pub coordinate: Coordinate,
    /// Whether a site has one coordinate between two forms, or one for each form. Populations do not depend on it.
    pub coupling: CoordinateCount,
    /// What is linear in the weights between two forms. A correction belongs to one kind of interpolation, and one of the other kind is
    /// refused: those of the library are for `"hamiltonian"`.
    pub interpolation: Interpolation,
    /// How the energy that a proton costs at this pH depends on λ. Populations of the pure forms are exact with both; the weights of
    /// frames scatter more with the smoothed one.
    pub ph_term: PhTerm,
    /// Height of the barrier between two forms (kJ/mol), from 0 to 70, such as `"5 kJ/mol"`; or the rate of transitions that it adapts to, such
    /// as `{ rate = "20 /ns", during = "100 ps" }`. A higher barrier makes fewer mixed frames and fewer transitions.
    pub barrier: Barrier,
    /// Mass of a coordinate (u nm²), above zero. It changes how fast λ moves, not where it is found.
    pub mass: LambdaMass,
    /// Temperature of λ (K), above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the temperature of the thermostat"))]
    pub temperature: Option<Temperature>,
    /// Coupling time of the Langevin thermostat of λ (ps), above zero.
    pub coupling_time: Time,
    /// Files with entries of titratable residues of your own, or newly calibrated ones. They rank before the built-in entries. The paths are
    /// relative to the job file.
    pub library: Vec<PathBuf>,
    /// Whether entries may be used whose correction V_MM is preliminary, and a charge buffer that has none. `octitrate info` lists them. Populations are
    /// wrong by what the correction is wrong. A site that moves and has no correction is refused in any case.
    pub allow_uncalibrated: bool,
    /// What may differ between this job and the calibrations of the corrections V_MM that it uses; each difference that is not named here is an
    /// error, each that is named a warning. `"parameters of glu"` allows a difference from the calibration of one entry alone. Parameters that
    /// differ by the rounding of files need no permission. `octitrate info NAME` shows the conditions of an entry. Populations are wrong by what
    /// the correction is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-absent" = "nothing may differ"))]
    pub allow_mismatch: Vec<Allowed>,
    /// Whether a group that the library knows and that cannot titrate as it is built is an error, where every group is wanted (no
    /// `[[titration.site]]`). Otherwise it is listed with the reason.
    pub strict: bool,
    /// The titratable sites, one table `[[titration.site]]` for each residue, or for all residues of a name.
    #[serde(rename = "site", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-absent" = "every residue that the library knows, and the ends of chains that have all their protons"))]
    pub sites: Vec<SiteSettings>,
    /// What takes up the charge that the sites release in a periodic box. With `"buffers"` the section `[titration.buffer]` may be left out, and has its
    /// defaults then. With `"background"` a uniform charge fills the box: free energies then depend on the size of the box and on what is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "buffers with `[titration.buffer]` or `[titrate]`; else the background, with a warning"))]
    pub compensation: Option<Compensation>,
    /// Start of the run in which λ is held where it starts, so that the surroundings relax around whole forms (ps), a whole number of time steps. A
    /// run that has begun keeps what it began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "half of `titrate.equilibration` in a titration; else zero; no shorter than `[position_restraints]` and `barostat.start` last"))]
    pub relax: Option<Time>,
    /// By how much the barriers between rotamers of side chains are lowered (kJ/mol, from 0 to 12), such as `"8 kJ/mol"`, in the molecules that have sites. What
    /// is added to every χ between two saturated carbons is −B((1 + cos 3χ)/2)², which leaves staggered rotamers where and as high as they are. A side chain
    /// then turns up to e^(B/RT) times as often (His of a model compound 16 times with 8 kJ/mol, where that is 25); in a protein that is what a pKa waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "barriers are those of the force field"))]
    pub ease_rotamers: Option<Energy>,
    /// Molecules far from the sites that take up the charge which the sites release, so that the box stays neutral.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "with `[titrate]` in a periodic box its defaults, unless `compensation = \"background\"`; else there are none"))]
    pub buffer: Option<ChargeBuffer>,
}

/// What takes up the charge of the sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compensation {
    /// Molecules that share one λ, `[titration.buffer]`.
    Buffers,
    /// A uniform background.
    Background,
}

/// Number of coordinates of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CoordinateCount {
    /// One between two forms; one for each form where there are more.
    #[serde(rename = "auto")]
    Auto,
    /// One between two forms.
    #[serde(rename = "transition")]
    One,
    /// One for each form.
    #[serde(rename = "weight")]
    PerForm,
}

/// How the energies of two forms mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The potential energy is linear in the weights of each site.
    Hamiltonian,
    /// The charges are linear in the weights, and the energy is quadratic.
    Charge,
}

/// Form of the pH term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhTerm {
    /// It is linear in the weights.
    Linear,
    /// It is a smoothed step between the forms that leaves the wells of the barrier alone (Aho 2022).
    Smoothed,
    /// There is none: all forms of the model compound are equally likely.
    None,
}

impl Default for Titration {
    fn default() -> Self {
        Titration {
            ph: None,
            coordinate: Coordinate::Linear,
            coupling: CoordinateCount::Auto,
            interpolation: Interpolation::Hamiltonian,
            ph_term: PhTerm::Linear,
            barrier: Barrier::Height(Energy::new(5.0)),
            mass: LambdaMass::new(5.0),
            temperature: None,
            coupling_time: Time::new(2.0),
            library: Vec::new(),
            allow_uncalibrated: false,
            allow_mismatch: Vec::new(),
            strict: false,
            sites: Vec::new(),
            compensation: None,
            relax: None,
            ease_rotamers: None,
            buffer: None,
        }
    }
}

impl CoordinateCount {
    /// What `lambda` is asked for; `None` leaves the choice to it.
    pub fn lambda(self) -> Option<lambda::coordinate::CoordinateCount> {
        match self {
            Self::Auto => None,
            Self::One => Some(lambda::coordinate::CoordinateCount::Transition),
            Self::PerForm => Some(lambda::coordinate::CoordinateCount::Weight),
        }
    }
}

/// What other sections say that `[titration]` must fit to.
pub(super) struct Surroundings {
    /// Time step of the dynamics.
    pub step: Time,
    /// Boundary conditions.
    pub boundary: Boundary,
    /// Whether a workflow sets the pH of each run.
    pub ph_is_set_by_a_workflow: bool,
}

impl Titration {
    /// Fills in the temperature from that of the thermostat, `bath`; one of the two must be given.
    pub(super) fn resolve_temperature(&mut self, bath: Option<Temperature>) -> Check {
        self.temperature = self.temperature.or(bath);
        if self.temperature.is_none() {
            let help = "add [thermostat], or titration.temperature = \"300 K\"";
            return Err(wrong("titration", "λ-dynamics needs a temperature", help));
        }
        Ok(())
    }

    /// Checks all keys, and writes names of residues with single blanks.
    pub(super) fn resolve(&mut self, surroundings: &Surroundings) -> Check {
        positive("titration.mass", self.mass)?;
        positive("titration.coupling_time", self.coupling_time)?;
        if let Some(own) = self.temperature {
            temperature("titration.temperature", own)?;
        }
        if let Some(value) = self.ph {
            ph("titration.ph", value)?;
        }
        self.barrier.check("titration.barrier", surroundings.step)?;
        for (index, site) in self.sites.iter_mut().enumerate() {
            site.resolve(index, surroundings.step)?;
        }
        if let Some(relax) = self.relax {
            not_negative("titration.relax", relax)?;
            whole_steps("titration.relax", relax, surroundings.step)?;
        }
        if let Some(lowered) = self.ease_rotamers {
            let valid = "an energy from 0 to 12 kJ/mol";
            require((0.0..=12.0).contains(&lowered.get()), "titration.ease_rotamers", lowered, valid)?;
        }
        self.resolve_buffer(surroundings.boundary)?;
        self.check_ph(surroundings.ph_is_set_by_a_workflow)
    }

    /// Time for which λ moves until no barrier adapts any more (ps); zero if none does.
    pub(super) fn adapting(&self, step: Time) -> f64 {
        let moving = self.sites.iter().filter(|site| site.fixed.is_none());
        let mut barriers: Vec<Barrier> = moving.map(|site| site.barrier.unwrap_or(self.barrier)).collect();
        if self.sites.is_empty() {
            barriers.push(self.barrier);
        }
        barriers.iter().map(|barrier| barrier.frozen_after(step)).max().unwrap_or(0) as f64 * step.get()
    }

    /// Checks that λ is held until the restraints `end`.
    pub(super) fn check_relax(&self, end: Option<Time>) -> Check {
        let (Some(relax), Some(end)) = (self.relax, end) else { return Ok(()) };
        if relax.get() >= end.get() {
            return Ok(());
        }
        let message = format!("λ is held for {relax}, and the restraints of [position_restraints] last {end}");
        Err(wrong("titration.relax", message, format!("hold λ for {end} or longer, or remove titration.relax")))
    }

    /// Adds the buffer that `compensation` asks for, and checks that the two agree.
    fn resolve_buffer(&mut self, boundary: Boundary) -> Check {
        match (self.compensation, &self.buffer) {
            (Some(Compensation::Background), Some(_)) => {
                let help = "remove [titration.buffer], or titration.compensation = \"background\"";
                return Err(wrong(
                    "titration.compensation",
                    "there is a charge buffer, and the background is asked for",
                    help,
                ));
            }
            (Some(Compensation::Buffers), None) => self.buffer = Some(ChargeBuffer::default()),
            _ => (),
        }
        self.buffer.as_ref().map_or(Ok(()), |buffer| buffer.check(boundary))
    }

    /// Checks that there is a pH if anything moves on which it acts.
    fn check_ph(&self, is_set_by_a_workflow: bool) -> Check {
        let buffer_alone = self.buffer.as_ref().is_some_and(|buffer| !buffer.neutral || buffer.fixed.is_some());
        let moving =
            if self.sites.is_empty() { !buffer_alone } else { self.sites.iter().any(|site| site.fixed.is_none()) };
        if moving && self.ph_term != PhTerm::None && self.ph.is_none() && !is_set_by_a_workflow {
            let help = "set titration.ph, or add [titrate] for many pH values";
            return Err(wrong("titration.ph", "sites move, but there is no pH", help));
        }
        Ok(())
    }

    /// Makes the paths of the library absolute; they are relative to `folder`.
    pub(super) fn make_absolute(&mut self, folder: &Path) {
        self.library.iter_mut().for_each(|path| make_absolute(folder, path));
    }
}
