//! What couples all atoms between two steps on a GPU: thermostat, barostat, centre of mass, with their settings and random numbers, which
//! are those of [`VRescale`] and [`CRescale`].
//!
//! Units: nm, ps, u, kJ/mol, K; pressure kJ/mol/nm³.

use super::shared::{Bath, CouplingSettings, StepNumbers};
use crate::motion::barostat::CRescale;
use crate::motion::barostat::axes::AxesRescale;
use crate::motion::langevin::Langevin;
use crate::motion::thermostat::VRescale;
use bytemuck::Zeroable;
use forcefield::units::GAS_CONSTANT;

/// Number of steps whose random numbers the table holds.
pub const TABLE_STEPS: u64 = 4096;

/// Most terms of which a virial is made.
pub const MAX_TERMS: usize = 64;

/// What acts on all velocities and on the box, and how often (steps; 0: never).
#[derive(Clone, Copy, Debug, Default)]
pub struct Coupling {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Steps between removals of the motion of the centre of mass.
    pub remove_com_interval: u64,
    /// Thermostat and steps between its actions.
    pub thermostat: Option<(VRescale, u64)>,
    /// The bath of each atom, in the middle of every step.
    pub langevin: Option<Langevin>,
    /// Barostat and steps between its actions.
    pub barostat: Option<(CRescale, u64)>,
    /// Barostat along single axes and steps between its actions, in the place of the other one: the host acts ([`super::DeviceMotion::couple_axes`]).
    pub axes: Option<(AxesRescale, u64)>,
    /// Steps from the start in which the volume is constant.
    pub barostat_start: u64,
}

/// While neighbour lists serve: beyond that the motion stops until new ones are made.
#[derive(Clone, Debug)]
pub struct ListLimits {
    /// How far each atom may be from where it was when they were made, scaled with the box, nm.
    pub farthest: Vec<f64>,
    /// By how much the box may have been scaled since.
    pub least_scale: f64,
}

/// The virial of all forces but those of constraints: Σ factor · energy of a slot (i64, 2⁻²⁴ kJ/mol) + tail/volume.
#[derive(Clone, Debug, Default)]
pub struct VirialTerms {
    /// Slots of the array of energies, each with a factor; at most `MAX_TERMS`.
    pub slots: Vec<(u32, f64)>,
    /// Virial times volume of the dispersion beyond the cut-off, kJ/mol nm³.
    pub tail: f64,
}

impl Coupling {
    /// The settings as the kernels read them; `mass`: of all atoms, u; `least_scale`: that of [`ListLimits`], 0 without lists.
    pub(super) fn settings(&self, dt: f64, mass: f64, tail: f64, least_scale: f64) -> CouplingSettings {
        let [keep, mix] = self.thermostat.map_or([0.0; 2], |(t, every)| t.coefficients(every as f64 * dt));
        let mut out = CouplingSettings {
            dt,
            mass,
            com_every: self.remove_com_interval as f64,
            thermostat_every: self.thermostat.map_or(0, |(_, every)| every) as f64,
            keep,
            mix,
            tail,
            least_scale,
            ..CouplingSettings::zeroed()
        };
        if let Some((barostat, every)) = &self.barostat {
            let s = barostat.settings();
            out.barostat_every = *every as f64;
            out.barostat_start = self.barostat_start as f64;
            out.pressure = s.pressure;
            out.rt = GAS_CONSTANT * s.temperature;
            out.rate = s.compressibility * (*every as f64 * dt) / (2.0 * s.tau);
        }
        out
    }

    /// What Langevin dynamics does in a step of `dt` (ps); nothing without it.
    pub(super) fn bath(&self, dt: f64) -> Bath {
        let [lost, square] = self.langevin.map_or([0.0; 2], |langevin| langevin.coefficients(dt));
        Bath { lost, square, seed: self.seed }
    }

    /// Whether the box changes at all.
    pub fn has_barostat(&self) -> bool {
        self.barostat.is_some() || self.axes.is_some()
    }

    /// Whether the barostat changes the box at the end of `step`.
    pub fn box_changes(&self, step: u64) -> bool {
        let every = self.barostat.map(|(_, every)| every).or(self.axes.map(|(_, every)| every));
        let is_due = every.is_some_and(|every| every > 0 && (step + 1).is_multiple_of(every));
        is_due && step >= self.barostat_start
    }

    /// Whether the barostat wants the pressure of `step`: where the box changes at its end, and of the step after, for the other half of the work of
    /// that change.
    pub fn needs_pressure(&self, step: u64) -> bool {
        self.box_changes(step) || step.checked_sub(1).is_some_and(|before| self.box_changes(before))
    }

    /// Random numbers of [`TABLE_STEPS`] steps from `first` on.
    pub(super) fn random_numbers(&self, first: u64) -> Vec<StepNumbers> {
        let row = |step: u64| {
            let acts = |every: u64| every > 0 && step.is_multiple_of(every);
            let thermostat = self.thermostat.filter(|(_, every)| acts(*every));
            let [one, others] = thermostat.map_or([0.0; 2], |(thermostat, _)| thermostat.numbers(self.seed, step));
            let barostat =
                if self.barostat.is_some() && self.box_changes(step) { CRescale::number(self.seed, step) } else { 0.0 };
            StepNumbers { first: one, others, barostat }
        };
        (first..first + TABLE_STEPS).map(row).collect()
    }
}
