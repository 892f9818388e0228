//! The bias of each site of a run: what it is made of, so that it can be made again with another pH or another barrier.
//!
//!   V_bias = V_barrier + walls + V_pH + V_MM + correction of the measure         (`lambda::bias`)
//!
//! A barrier that adapts sees the weights every 100 steps and changes ten times until it is frozen, both counted from step 0, so that
//! neither depends on who looks or where a run is stopped. The height of each barrier is part of the state ([`BarrierState`]); what a change
//! does to the energy is kept there too, so that the conserved quantity stays one.

use crate::config::{self, BARRIER_CHANGES, BARRIER_LOOK_INTERVAL, Config, PhTerm};
use crate::error::{Error, Result};
use crate::state::BarrierState;
use lambda::bias::{Acidity, Barrier, BarrierTuner, Entropy, ModelCorrection, PhPotential, Separation, SiteBias};
use lambda::coordinate::Coordinate;
use lambda::library::Correction;
use lambda::site::Site;

/// What the bias of a site that moves is made of.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    /// Place among the sites.
    pub index: usize,
    coordinate: Coordinate,
    /// Height of the barrier at the start, kJ/mol.
    height: f64,
    smoothed: bool,
    acidities: Vec<Acidity>,
    correction: Option<ModelCorrection>,
    tuning: Option<Tuning>,
}

#[derive(Clone, Debug)]
struct Tuning {
    tuner: BarrierTuner,
    /// Steps between two changes; the last is at [`BARRIER_CHANGES`] times that.
    every: u64,
}

impl Recipe {
    /// Of a titratable site; `offset` is added to the free energy of its correction for every proton lost (kJ/mol).
    ///
    /// # Errors
    /// No correction, or a preliminary one that the job does not allow.
    pub fn new(
        config: &Config,
        settings: &config::Titration,
        (index, site): (usize, &Site),
        coordinate: Coordinate,
        barrier: config::Barrier,
        offset: f64,
        temperature: f64,
    ) -> Result<Self> {
        let offsets: Vec<f64> = site.forms.iter().map(|form| offset * f64::from(form.protons_lost)).collect();
        let correction = correction(config, settings, site)?.map(|correction| correction.with_offsets(&offsets));
        let tuning = match barrier {
            config::Barrier::Height(_) => None,
            config::Barrier::Adapting(adapting) => {
                let tuner = BarrierTuner::new(adapting.start.get(), adapting.rate.get() * 1e-3, temperature);
                Some(Tuning { tuner, every: adapting.every(config.dynamics.time_step) })
            }
        };
        Ok(Self {
            index,
            coordinate,
            height: barrier.start(),
            smoothed: settings.ph_term == PhTerm::Smoothed,
            acidities: match settings.ph_term {
                PhTerm::None => Vec::new(),
                _ => site.forms.iter().map(|f| Acidity { pk: f.pk, protons_lost: f.protons_lost }).collect(),
            },
            correction,
            tuning,
        })
    }

    /// Of the buffer: walls and V_MM.
    pub fn of_buffer(index: usize, correction: Option<ModelCorrection>) -> Self {
        Self {
            index,
            coordinate: Coordinate::Linear,
            height: 0.0,
            smoothed: false,
            acidities: Vec::new(),
            correction,
            tuning: None,
        }
    }

    /// V_MM, with the `offset` of the site; none without.
    pub fn correction(&self) -> Option<&ModelCorrection> {
        self.correction.as_ref()
    }

    /// Whether V_pH has smoothed steps.
    pub fn is_smoothed(&self) -> bool {
        self.smoothed && self.has_ph()
    }

    /// Whether V_pH acts.
    pub fn has_ph(&self) -> bool {
        !self.acidities.is_empty()
    }

    /// The barrier at the start.
    pub fn start(&self) -> BarrierState {
        BarrierState { height: self.height, ..BarrierState::default() }
    }

    /// The bias at a pH with this barrier.
    ///
    /// # Errors
    /// A pH that is not finite, with the key it comes from.
    pub fn bias(&self, config: &Config, ph: Option<f64>, barrier: Barrier, temperature: f64) -> Result<SiteBias> {
        let ph = match ph.filter(|_| self.has_ph()) {
            Some(ph) => {
                let width = self.smoothed.then_some(barrier.a);
                let v = PhPotential::new(self.acidities.clone(), ph, temperature, width);
                Some(v.map_err(|e| config.error_at("titration.ph", e.to_string(), ""))?)
            }
            None => None,
        };
        let wells = self.coordinate.needs_walls();
        Ok(SiteBias {
            separation: if wells { Separation::Wells(barrier) } else { Separation::Parabola(barrier.height) },
            ph,
            correction: self.correction.clone(),
            entropy: Entropy::new(self.coordinate, temperature),
        })
    }

    /// Steps after which the barrier is frozen; 0 for one that does not adapt.
    pub fn frozen_after(&self) -> u64 {
        self.tuning.as_ref().map_or(0, |tuning| tuning.every * BARRIER_CHANGES)
    }

    /// Lets the barrier see the weights at `step`, with the time step `dt` (ps); whether its height changes.
    pub fn observe(&self, barrier: &mut BarrierState, weights: &[f64], step: u64, dt: f64) -> bool {
        let end = self.frozen_after();
        let Some(tuning) =
            self.tuning.as_ref().filter(|_| step > 0 && step <= end && step.is_multiple_of(BARRIER_LOOK_INTERVAL))
        else {
            return false;
        };
        let mut tuner = tuning.tuner.clone();
        let form = barrier.form.map_or(-1.0, |form| form as f64);
        tuner.restore([barrier.height, form, barrier.transitions as f64]);
        tuner.observe(weights);
        let due = step.is_multiple_of(tuning.every);
        if due {
            tuner.adapt(tuning.every as f64 * dt);
        }
        let [height, form, transitions] = tuner.state();
        *barrier =
            BarrierState { height, form: (form >= 0.0).then_some(form as usize), transitions: transitions as u64 };
        due
    }
}

/// What is said of an entry that moves a site and has no V_MM.
pub(super) const UNCALIBRATED: &str = "has no calibrated correction V_MM";

/// V_MM of a site, of good enough calibration.
fn correction(config: &Config, settings: &config::Titration, site: &Site) -> Result<Option<ModelCorrection>> {
    let refused = |message: String, help: &str| Err(config.error_at("titration.site", message, help));
    let (entry, name) = (&site.entry, &site.name);
    match &site.correction {
        Correction::Uncalibrated => refused(
            format!("{name}: {entry} {UNCALIBRATED}"),
            "run `octitrate calibrate` and name the file it writes in titration.library",
        ),
        Correction::Preliminary(calibration) if !settings.allow_uncalibrated => {
            let reason = calibration.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
            refused(
                format!("the correction V_MM of {entry} for {name} is preliminary{reason}"),
                "run `octitrate calibrate`, or set titration.allow_uncalibrated = true",
            )
        }
        Correction::Preliminary(calibration)
        | Correction::Calibrated(calibration)
        | Correction::Transferred(calibration) => model(config, site, calibration, 1.0).map(Some),
    }
}

/// V_MM of a calibration, `molecules` times.
pub(super) fn model(
    config: &Config,
    site: &Site,
    calibration: &lambda::library::Calibration,
    molecules: f64,
) -> Result<ModelCorrection> {
    let model = ModelCorrection::new(calibration.basis(site.forms.len()), &calibration.coefficients);
    Ok(model.map_err(|e| config.error_at("titration.library", e.to_string(), ""))?.times(molecules))
}

/// The error of a pH that cannot be set.
pub(super) fn no_ph(config: &Config) -> Error {
    config.error_at("titration", "no pH: the key `ph` is missing", "a site that is not `fixed` needs it")
}
