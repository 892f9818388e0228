//! One step of λ on the device: launches of `motion.cu`, its settings, what it tells about energies and about what went wrong.

use forcefield::units::GAS_CONSTANT;
use kernels::device::{DeviceError, In, Launch, Out, Source, Stream, arguments, structure};

use super::prepare::PreparedRow;
use super::tables::{Shape, SiteRow};
use super::{DeviceEnergies, DeviceSites, KEPT_ROWS, SitesError};
use crate::bias::BiasEnergies;
use crate::motion::constraints::{ACCEPTED, MAX_ITERATIONS, TOLERANCE};
use crate::motion::{DynamicsError, ESCAPE, LambdaDynamics, LambdaEnergies};

/// Most threads of the one block that moves λ: enough registers for what a thread keeps of a site.
const MOST_THREADS: usize = 256;

structure! {
    /// What does not change from step to step. Units: ps, u nm², e, kJ/mol.
    pub struct LambdaSettings {
        /// Δt.
        pub time_step: f64,
        /// 1/Δt.
        pub per_time_step: f64,
        /// √κ, κ = exp(−Δt/τ); 1 without a thermostat.
        pub damping: f64,
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
    /// Arguments of `advance_sites`.
    pub(super) struct AdvanceArgs<'a> {
        settings: LambdaSettings,
        sites: In<'a, SiteRow>,
        /// Net charge of each form.
        charges: In<'a, f64>,
        /// ∂V/∂λ of the force field.
        derivatives: In<'a, f64>,
        /// ∂V/∂λ of the bias.
        bias: In<'a, f64>,
        prepared: In<'a, PreparedRow>,
        /// Z of each site.
        metric: In<'a, f64>,
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
        energies: Out<'a, StepEnergies>,
        failure: Out<'a, Failure>,
        /// Rows of step, ξ and ∂V/∂λ_α at steps that are kept, the newest in the place of the oldest.
        kept: Out<'a, f64>,
        /// Steps between two that are kept; 0: none.
        keep_every: In<'a, i64>,
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
    /// One step of λ with the forces of the force field and the bias, after [`enqueue_prepare`](Self::enqueue_prepare) at the same λ; `step`: number of
    /// the step, one integer that the caller counts on; while it is negative nothing moves.
    ///
    /// # Errors
    /// What the driver says against the launch. What goes wrong on the device is told by [`check`](Self::check).
    pub fn enqueue_advance<'a>(&'a self, stream: &Stream, step: impl Into<In<'a, i64>>) -> Result<(), DeviceError> {
        let t = &self.tables;
        let arguments = AdvanceArgs {
            settings: self.settings,
            sites: t.motion.arg(),
            charges: t.form_charges.arg(),
            derivatives: self.derivatives.arg(),
            bias: self.bias.arg(),
            prepared: self.prepared.arg(),
            metric: self.metric.arg(),
            noise: self.noise.arg(),
            noise_first: self.noise_first.arg(),
            step: step.into(),
            held: self.held.arg(),
            xi: self.coordinates.arg(),
            velocity: self.velocities.arg(),
            weights: self.weights.arg(),
            heat: self.heat.arg(),
            energies: self.energies.arg(),
            failure: self.failure.arg(),
            kept: self.kept.arg(),
            keep_every: self.keep_every.arg(),
            n_weights: self.weights.len() as i32,
            n_noise: self.supplied_steps as i32,
            width: t.width as i32,
            n_sites: self.len() as i32,
            n_xi: self.coordinates.len() as i32,
        };
        stream.launch(&self.advance_kernel, Launch::new(1, block(self.len()).0), arguments)
    }

    /// Energies of the last [`enqueue_advance`](Self::enqueue_advance), at the beginning of its step.
    ///
    /// # Errors
    /// A lost device.
    pub fn energies(&self, stream: &Stream) -> Result<DeviceEnergies, SitesError> {
        let e = self.energies.read(stream)?[0];
        let motion = LambdaEnergies { kinetic: e.kinetic, temperature: e.temperature, heat: e.heat, metric: e.metric };
        let mut bias = BiasEnergies::default();
        for site in self.bias_sums.read(stream)? {
            let (barrier, walls, ph) = (site.barrier, site.walls, site.ph);
            bias += BiasEnergies { barrier, walls, ph, correction: site.correction, entropy: site.entropy };
        }
        Ok(DeviceEnergies { motion, bias })
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
    let flag = |set: bool| f64::from(u8::from(set));
    LambdaSettings {
        time_step: settings.time_step,
        per_time_step: 1.0 / settings.time_step,
        damping: kept(dynamics).sqrt(),
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

/// κ = exp(−Δt/τ), 1 without a thermostat.
fn kept(dynamics: &LambdaDynamics) -> f64 {
    let settings = dynamics.settings();
    settings.coupling_time.map_or(1.0, |time| (-settings.time_step / time).exp())
}

/// √((1 − κ) RT/m), the spread of what the thermostat adds to velocities at mass `mass` (u nm²), 1/ps.
pub(super) fn spread(dynamics: &LambdaDynamics, mass: f64) -> f64 {
    ((1.0 - kept(dynamics)) * GAS_CONSTANT * dynamics.settings().temperature / mass).sqrt()
}

/// Threads of the block that moves so many sites, whole warps, and how many sites each of them has.
fn block(sites: usize) -> (u32, usize) {
    let threads = sites.next_multiple_of(32).clamp(32, MOST_THREADS);
    (threads as u32, sites.div_ceil(threads).max(1))
}

/// Kernel of the motion of so many sites of some shape.
pub(super) fn source(sites: usize, shape: Shape) -> Source {
    let text = |v: f64| format!("{v:?}");
    let (threads, per_thread) = block(sites);
    shape
        .specialise(Source::new("motion", include_str!("motion.cu")))
        .define("THREADS", threads)
        .define("PER_THREAD", per_thread)
        .define("KEPT_ROWS", KEPT_ROWS)
        .define("ESCAPE", text(ESCAPE))
        .early_kernel::<AdvanceArgs<'static>>("advance_sites")
}
