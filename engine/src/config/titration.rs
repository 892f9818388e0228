//! Section `[titration]`: λ-dynamics of titratable residues. Sites, barriers and the charge buffer have files of their own.

pub mod barrier;
pub mod buffer;
pub mod site;

pub use lambda::coordinate::Variant as Coordinate;

use super::check::{Check, make_absolute, ph, positive, temperature, wrong};
use super::electrostatics::Boundary;
use super::quantity::{Energy, LambdaMass, Temperature, Time};
use barrier::Barrier;
use buffer::ChargeBuffer;
use serde::{Deserialize, Serialize};
use site::SiteSettings;
use std::path::{Path, PathBuf};

/// `[titration]`: λ-dynamics of titratable residues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Titration {
    /// pH of this run. `titrate` sets it for each of its runs; it is not needed where every site is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ph: Option<f64>,
    /// What moves: the weights themselves, points on a sphere, or the exponents of normalised exponentials.
    pub coordinate: Coordinate,
    /// Whether a site has one coordinate between two forms, or one for each form.
    pub coupling: CoordinateCount,
    /// How the energies of two forms mix.
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
    /// Files with more entries of titratable residues; they rank before the built-in ones. Relative to the job file.
    pub library: Vec<PathBuf>,
    /// Whether entries whose correction V_MM is preliminary may be used.
    pub allow_uncalibrated: bool,
    /// Whether a group that the library knows and that cannot titrate as it is built is an error, where every group is wanted.
    pub strict: bool,
    /// The sites, `[[titration.site]]`; every residue of the library that occurs if none is given.
    #[serde(rename = "site", skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<SiteSettings>,
    /// Molecules that take up the charge; without them a uniform background does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<ChargeBuffer>,
}

/// Number of coordinates of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CoordinateCount {
    /// One for two forms, else one for each form.
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
    /// There is no pH: all forms of the model compound are equally likely.
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
            strict: false,
            sites: Vec::new(),
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
        if let Some(buffer) = &self.buffer {
            buffer.check(surroundings.boundary)?;
        }
        self.check_ph(surroundings.ph_is_set_by_a_workflow)
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
