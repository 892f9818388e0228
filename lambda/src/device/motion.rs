//! One step of λ on the device: launches of `motion.cu`, its settings, what it tells about energies and about what went wrong.

use forcefield::units::GAS_CONSTANT;
use kernels::device::{DeviceError, In, Launch, Out, Source, Stream, arguments, structure};

use super::biases::{BiasRow, BiasTerms};
use super::tables::SiteRow;
use super::{DeviceEnergies, DeviceSites, KEPT_ROWS, SitesError};
use crate::bias::{BiasEnergies, barrier, entropy};
use crate::coordinate::NEXP_STEEPNESS;
use crate::motion::constraints::{ACCEPTED, MAX_ITERATIONS, TOLERANCE};
use crate::motion::{DynamicsError, ESCAPE, LambdaDynamics, LambdaEnergies};

/// Threads of the one block that moves λ.
const THREADS: u32 = 256;

structure! {
    /// What does not change from step to step. Units: ps, u nm², e, kJ/mol.
    pub struct LambdaSettings {
        /// Δt.
        pub time_step: f64,
        /// κ = exp(−Δt/τ), 1 without a thermostat.
        pub kept: f64,
        /// (1 − κ) RT.
        pub added: f64,
        /// R.
        pub gas_constant: f64,
        /// Charge that all sites must have together.
        pub charge: f64,
        /// Largest deviation from it at which the iteration ends.
        pub tolerance: f64,
        /// Largest deviation that is no failure.
        pub accepted: f64,
        /// 1 with a thermostat, else 0.
        pub coupled: f64,
        /// 1 if the charge is held, else 0.
        pub charged: f64,
        /// Degrees of freedom.
        pub freedom: f64,
        /// Most iterations.
        pub iterations: f64,
        /// RT if ½ RT ln Z acts, else 0.
        pub metric: f64,
    }

    /// Energies at the beginning of a step, kJ/mol; temperature in K.
    pub struct StepEnergies {
        /// Kinetic energy.
        pub kinetic: f64,
        /// Its temperature.
        pub temperature: f64,
        /// Heat of the thermostat so far.
        pub heat: f64,
        /// Wells or parabolas between forms.
        pub barrier: f64,
        /// Walls.
        pub walls: f64,
        /// V_pH.
        pub ph: f64,
        /// V_MM.
        pub correction: f64,
        /// Correction of the measure.
        pub entropy: f64,
        /// ½ RT ln Z.
        pub metric: f64,
    }

    /// Why the motion stopped.
    pub struct Failure {
        /// 0: it has not; 1: a force that is not finite; 2: the charge; 3: an escaped λ; 4: no random numbers.
        pub kind: i64,
        /// The site, from 0.
        pub site: i64,
        /// The step.
        pub step: i64,
        /// The number at fault.
        pub value: f64,
    }
}

arguments! {
    /// Arguments of `set_weights`.
    pub(super) struct WeightArgs<'a> {
        sites: In<'a, SiteRow>,
        masses: In<'a, f64>,
        xi: In<'a, f64>,
        weights: Out<'a, f64>,
        n_sites: i32,
    }

    /// Arguments of `advance_sites`.
    pub(super) struct AdvanceArgs<'a> {
        settings: LambdaSettings,
        sites: In<'a, SiteRow>,
        masses: In<'a, f64>,
        /// Net charge of each form.
        charges: In<'a, f64>,
        biases: In<'a, BiasRow>,
        bias_terms: In<'a, BiasTerms>,
        coefficients: In<'a, f64>,
        acidity: In<'a, f64>,
        derivatives: In<'a, f64>,
        noise: In<'a, f64>,
        /// Step of the first row of `noise`.
        noise_first: In<'a, i64>,
        step: In<'a, i64>,
        /// Steps in which ξ is held.
        held: In<'a, i64>,
        xi: Out<'a, f64>,
        velocity: Out<'a, f64>,
        weights: Out<'a, f64>,
        heat: Out<'a, f64>,
        total: Out<'a, f64>,
        work: Out<'a, f64>,
        energies: Out<'a, StepEnergies>,
        failure: Out<'a, Failure>,
        /// Rows of step, ξ and ∂V/∂λ_α at steps that are kept, the newest in the place of the oldest.
        kept: Out<'a, f64>,
        /// Steps between two that are kept; 0: none.
        keep_every: In<'a, i64>,
        /// Rows of `kept`.
        n_kept: i32,
        n_weights: i32,
        /// Rows of `noise`.
        n_noise: i32,
        /// Numbers of a row.
        width: i32,
        n_sites: i32,
        n_xi: i32,
    }
}

impl DeviceSites {
    /// Weights at the coordinates that are on the device.
    pub(super) fn enqueue_weights(&self, stream: &Stream) -> Result<(), DeviceError> {
        let arguments = WeightArgs {
            sites: self.tables.motion.arg(),
            masses: self.tables.masses.arg(),
            xi: self.coordinates.arg(),
            weights: self.weights.arg(),
            n_sites: self.len() as i32,
        };
        stream.launch(&self.weights_kernel, Launch::new(1, THREADS), arguments)
    }

    /// One step of λ with the forces of the force field and the bias; `step`: number of the step, one integer that the caller counts on;
    /// while it is negative nothing moves.
    ///
    /// # Errors
    /// What the driver says against the launch. What goes wrong on the device is told by [`check`](Self::check).
    pub fn enqueue_advance<'a>(&'a self, stream: &Stream, step: impl Into<In<'a, i64>>) -> Result<(), DeviceError> {
        let (t, b) = (&self.tables, &self.biases);
        let arguments = AdvanceArgs {
            settings: self.settings,
            sites: t.motion.arg(),
            masses: t.masses.arg(),
            charges: t.form_charges.arg(),
            biases: b.rows.arg(),
            bias_terms: b.terms.arg(),
            coefficients: b.coefficients.arg(),
            acidity: b.acidity.arg(),
            derivatives: self.derivatives.arg(),
            noise: self.noise.arg(),
            noise_first: self.noise_first.arg(),
            step: step.into(),
            held: self.held.arg(),
            xi: self.coordinates.arg(),
            velocity: self.velocities.arg(),
            weights: self.weights.arg(),
            heat: self.heat.arg(),
            total: self.total.arg(),
            work: self.work.arg(),
            energies: self.energies.arg(),
            failure: self.failure.arg(),
            kept: self.kept.arg(),
            keep_every: self.keep_every.arg(),
            n_kept: KEPT_ROWS as i32,
            n_weights: self.weights.len() as i32,
            n_noise: self.supplied_steps as i32,
            width: t.width as i32,
            n_sites: self.len() as i32,
            n_xi: self.coordinates.len() as i32,
        };
        stream.launch(&self.advance_kernel, Launch::new(1, THREADS), arguments)
    }

    /// Energies of the last [`enqueue_advance`](Self::enqueue_advance), at the beginning of its step.
    ///
    /// # Errors
    /// A lost device.
    pub fn energies(&self, stream: &Stream) -> Result<DeviceEnergies, SitesError> {
        let e = self.energies.read(stream)?[0];
        let motion = LambdaEnergies { kinetic: e.kinetic, temperature: e.temperature, heat: e.heat, metric: e.metric };
        let (barrier, walls, ph, correction, entropy) = (e.barrier, e.walls, e.ph, e.correction, e.entropy);
        Ok(DeviceEnergies { motion, bias: BiasEnergies { barrier, walls, ph, correction, entropy } })
    }

    /// Whether λ has moved without a failure since the last [`upload`](Self::upload).
    ///
    /// # Errors
    /// The failure, with site and step.
    pub fn check(&self, stream: &Stream) -> Result<(), SitesError> {
        let Failure { kind, site, step, value } = self.failure.read(stream)?[0];
        let (site, step) = (site as usize + 1, step as u64);
        Err(match kind {
            0 => return Ok(()),
            1 => DynamicsError::NotFinite { site, step, value }.into(),
            2 => DynamicsError::Charge { step, found: value }.into(),
            3 => DynamicsError::Escaped { site, step, lambda: value }.into(),
            _ => SitesError::Noise { step },
        })
    }
}

/// Settings of the kernels for a motion.
pub(super) fn settings(dynamics: &LambdaDynamics) -> LambdaSettings {
    let settings = dynamics.settings();
    let kept = settings.coupling_time.map_or(1.0, |time| (-settings.time_step / time).exp());
    let flag = |set: bool| f64::from(u8::from(set));
    LambdaSettings {
        time_step: settings.time_step,
        kept,
        added: (1.0 - kept) * GAS_CONSTANT * settings.temperature,
        gas_constant: GAS_CONSTANT,
        charge: dynamics.total_charge().unwrap_or(0.0),
        tolerance: TOLERANCE * dynamics.charge_scale(),
        accepted: ACCEPTED * dynamics.charge_scale(),
        coupled: flag(settings.coupling_time.is_some()),
        charged: flag(dynamics.total_charge().is_some()),
        freedom: dynamics.degrees_of_freedom() as f64,
        iterations: MAX_ITERATIONS as f64,
        metric: if dynamics.has_metric() { GAS_CONSTANT * settings.temperature } else { 0.0 },
    }
}

/// Kernels of the motion of sites with at most `forms` forms.
pub(super) fn source(forms: usize) -> Source {
    let text = |v: f64| format!("{v:?}");
    Source::new("motion", include_str!("motion.cu"))
        .define("REAL", "double")
        .define("THREADS", THREADS)
        .define("FORMS", forms)
        .define("NEXP_STEEPNESS", text(NEXP_STEEPNESS))
        .define("TIE", text(entropy::TIE))
        .define("REDUNDANT_POINTS", entropy::POINTS)
        .define("CENTRE_WIDTH", text(barrier::CENTRE_WIDTH))
        .define("WALL_HEIGHT", text(barrier::WALL_HEIGHT))
        .define("WALL_STEEPNESS", text(barrier::WALL_STEEPNESS))
        .define("WALL_OFFSET", text(barrier::WALL_OFFSET))
        .define("ESCAPE", text(ESCAPE))
        .kernel::<WeightArgs<'static>>("set_weights")
        .kernel::<AdvanceArgs<'static>>("advance_sites")
}
