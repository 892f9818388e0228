//! Titratable sites on a device: charges, ∂V/∂λ and the motion of λ without the host; the twins of [`crate::interpolation`], [`crate::bias`]
//! and [`crate::motion`] in double precision.
//!
//! In a step: [`DeviceSites::enqueue_charges`] puts the effective charges where the electrostatics reads them,
//! [`DeviceSites::enqueue_interpolation`] corrects energy and forces beside it, and [`DeviceSites::enqueue_prepare`] computes the bias and what else follows
//! from λ alone; [`DeviceSites::enqueue_derivatives`] makes ∂V/∂λ of the force field from its potentials, [`DeviceSites::enqueue_advance`] moves λ by
//! both. Random numbers are those of the host's generator, handed over in tables of many steps ([`DeviceSites::supply`]):
//! host and device draw the same ones. Sums run in a fixed order. A λ that escapes stops the motion, not the device: [`DeviceSites::check`]
//! tells which one and when. Weights and ∂V/∂λ_α are flat lists over the forms of all sites ([`LambdaDynamics::weight_starts`]). Biases may be
//! written anew between steps ([`DeviceSites::set_biases`]): a barrier that adapts, another pH.
//!
//! Units: nm, ps, u, e, kJ/mol.

mod biases;
mod motion;
mod prepare;
mod sites;
mod tables;

use bytemuck::Zeroable;
use forcefield::Topology;
use kernels::device::{Buffer, Device, DeviceError, Kernel, Stream};
use std::thread::JoinHandle;
use thiserror::Error;

use crate::bias::{BiasEnergies, SiteBias};
use crate::motion::{DynamicsError, LambdaDynamics, LambdaEnergies, LambdaState};
use crate::site::Site;
use biases::Biases;
use motion::{AdvanceArgs, Failure, LambdaSettings, StepEnergies, settings};
use prepare::{BiasSums, PrepareArgs, PreparedRow, WeightArgs};
use sites::{BracketArgs, ChargeArgs, DifferentiateArgs};
use tables::Tables;

pub use sites::{Corrected, Whole};

/// Steps whose ξ and ∂V/∂λ_α are kept at most, before newer ones take their place ([`DeviceSites::kept`]).
pub const KEPT_ROWS: u64 = 64;

/// Most random numbers that are handed over at a time: 64 MB.
const MOST_NUMBERS: usize = 8_000_000;

/// Why sites do not work on a device.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SitesError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// λ cannot move.
    #[error(transparent)]
    Dynamics(#[from] DynamicsError),
    /// A site with other forms than its motion has weights.
    #[error("site {site} has {found} forms, its motion is for {expected} (2 at least)")]
    Forms {
        /// Name of the site.
        site: String,
        /// Its forms.
        found: usize,
        /// Forms of its motion.
        expected: usize,
    },
    /// A form with another number of charges than the site has atoms, or an atom that does not exist.
    #[error("site {site}: the charges of a form or its atoms do not fit a system of {n_atoms} atoms")]
    Atoms {
        /// Name of the site.
        site: String,
        /// Atoms of the system.
        n_atoms: usize,
    },
    /// A list of another length.
    #[error("{found} {what}, expected {expected}")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Length needed.
        expected: usize,
    },
    /// The random numbers ran out.
    #[error("step {step}: no random numbers for the thermostat of λ on the device")]
    Noise {
        /// The step.
        step: u64,
    },
}

/// Energies of the last step on the device, at its beginning, kJ/mol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceEnergies {
    /// Kinetic energy, temperature and heat.
    pub motion: LambdaEnergies,
    /// Bias of all sites.
    pub bias: BiasEnergies,
}

/// ξ and ∂V/∂λ_α at one step.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptStep {
    /// The step.
    pub step: u64,
    /// Coordinates of all sites.
    pub coordinates: Vec<f64>,
    /// ∂V/∂λ_α of the force field (kJ/mol), as the weights.
    pub derivatives: Vec<f64>,
}

/// Titratable sites with their state on a device.
pub struct DeviceSites {
    n_sites: usize,
    tables: Tables,
    biases: Biases,
    dynamics: LambdaDynamics,
    charges_kernel: Kernel<ChargeArgs<'static>>,
    bracket_kernel: Kernel<BracketArgs<'static>>,
    derivatives_kernel: Kernel<DifferentiateArgs<'static>>,
    weights_kernel: Kernel<WeightArgs<'static>>,
    prepare_kernel: Kernel<PrepareArgs<'static>>,
    advance_kernel: Kernel<AdvanceArgs<'static>>,
    settings: LambdaSettings,
    coordinates: Buffer<f64>,
    velocities: Buffer<f64>,
    weights: Buffer<f64>,
    heat: Buffer<f64>,
    held: Buffer<i64>,
    bracket: Buffer<f64>,
    derivatives: Buffer<f64>,
    bias: Buffer<f64>,
    bias_sums: Buffer<BiasSums>,
    metric: Buffer<f64>,
    prepared: Buffer<PreparedRow>,
    energies: Buffer<StepEnergies>,
    failure: Buffer<Failure>,
    kept: Buffer<f64>,
    keep_every: Buffer<i64>,
    noise: Buffer<f64>,
    noise_first: Buffer<i64>,
    supplied_steps: usize,
    ahead: Option<Ahead>,
}

/// Random numbers that a thread draws while the device uses those of the steps before.
struct Ahead {
    /// The first of their steps.
    first: u64,
    numbers: JoinHandle<Vec<f64>>,
}

impl DeviceSites {
    /// Sites of a system of `n_atoms` with the exclusions and 1-4 pairs of `topology`, their bias and their motion; random numbers are handed over for `steps` steps
    /// at a time, or fewer ([`supplied_steps`](Self::supplied_steps)).
    ///
    /// # Errors
    /// [`SitesError`].
    pub fn new(
        device: &Device,
        sites: &[Site],
        biases: &[Option<SiteBias>],
        topology: &Topology,
        dynamics: &LambdaDynamics,
        (n_atoms, steps): (usize, usize),
    ) -> Result<Self, SitesError> {
        length("biases", biases.len(), sites.len())?;
        let tables = Tables::new(device, sites, topology, dynamics, n_atoms)?;
        let module = device.compile(&sites::source(tables.shape.forms))?;
        let prepare = device.compile(&prepare::source(tables.shape))?;
        let motion = device.compile(&motion::source(sites.len(), tables.shape))?;
        let supplied_steps = steps.min(MOST_NUMBERS / tables.width.max(1)).max(1);
        let (n_xi, n_weights) = (dynamics.coordinate_starts()[sites.len()], dynamics.n_weights());
        let values = |n: usize| device.zeros::<f64>(n);
        Ok(Self {
            n_sites: sites.len(),
            biases: Biases::new(device, biases, dynamics.weight_starts())?,
            charges_kernel: module.kernel("set_charges")?,
            bracket_kernel: module.kernel("bracket_sites")?,
            derivatives_kernel: module.kernel("differentiate_sites")?,
            weights_kernel: prepare.kernel("set_weights")?,
            prepare_kernel: prepare.kernel("prepare_sites")?,
            advance_kernel: motion.kernel("advance_sites")?,
            settings: settings(dynamics),
            dynamics: dynamics.clone(),
            coordinates: values(n_xi)?,
            velocities: values(n_xi)?,
            weights: values(n_weights)?,
            heat: values(1)?,
            held: device.zeros(1)?,
            bracket: values(n_weights)?,
            derivatives: values(n_weights)?,
            bias: values(n_weights)?,
            bias_sums: device.zeros(sites.len())?,
            metric: values(sites.len())?,
            prepared: device.zeros(n_xi)?,
            energies: device.zeros(1)?,
            failure: device.zeros(1)?,
            kept: values(KEPT_ROWS as usize * (1 + n_xi + n_weights))?,
            keep_every: device.zeros(1)?,
            noise: values(tables.width * supplied_steps)?,
            noise_first: device.upload(&[i64::MIN / 2])?,
            supplied_steps,
            ahead: None,
            tables,
        })
    }

    /// Number of sites.
    pub fn len(&self) -> usize {
        self.n_sites
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n_sites == 0
    }

    /// First weight of each site, and the end.
    pub fn weight_starts(&self) -> &[usize] {
        self.dynamics.weight_starts()
    }

    /// Weights λ_α of all sites, one site after the other.
    pub fn weights(&self) -> &Buffer<f64> {
        &self.weights
    }

    /// ∂V/∂λ_α of the force field, without bias, of the last [`enqueue_derivatives`](Self::enqueue_derivatives); as the weights.
    pub fn derivatives(&self) -> &Buffer<f64> {
        &self.derivatives
    }

    /// Sets the state at step `step` and forgets an earlier failure; random numbers are supplied from this step on.
    ///
    /// # Errors
    /// A state of another size; of the device.
    pub fn upload(&mut self, stream: &Stream, state: &LambdaState, step: u64) -> Result<(), SitesError> {
        length("coordinates", state.coordinates.len(), self.coordinates.len())?;
        length("velocities", state.velocities.len(), self.velocities.len())?;
        self.coordinates.write(stream, &state.coordinates)?;
        self.velocities.write(stream, &state.velocities)?;
        self.enqueue_weights(stream)?;
        self.heat.write(stream, &[state.heat])?;
        self.held.write(stream, &[state.held as i64])?;
        self.failure.write(stream, &[Failure::zeroed()])?;
        self.supply(stream, step)
    }

    /// The state on the device.
    ///
    /// # Errors
    /// A lost device.
    pub fn download(&self, stream: &Stream) -> Result<LambdaState, SitesError> {
        Ok(LambdaState {
            coordinates: self.coordinates.read(stream)?,
            velocities: self.velocities.read(stream)?,
            heat: self.heat.read(stream)?[0],
            held: self.held.read(stream)?[0] as u64,
        })
    }

    /// Coordinates ξ of all sites.
    pub fn coordinates(&self) -> &Buffer<f64> {
        &self.coordinates
    }

    /// Their velocities, 1/ps.
    pub fn velocities(&self) -> &Buffer<f64> {
        &self.velocities
    }

    /// Heat of the thermostat so far, kJ/mol; one number.
    pub fn heat(&self) -> &Buffer<f64> {
        &self.heat
    }

    /// From now on each step whose number is a multiple of `every` leaves its ξ and ∂V/∂λ_α for [`kept`](Self::kept) when it is made, the last
    /// [`KEPT_ROWS`] of them; 0: none does.
    ///
    /// # Errors
    /// A lost device.
    pub fn keep(&self, stream: &Stream, every: u64) -> Result<(), SitesError> {
        Ok(self.keep_every.write(stream, &[every as i64])?)
    }

    /// What the steps first, first + every, … before `end` have left, for the `every` of [`keep`](Self::keep); a step that was not made, because the
    /// motion has stopped, is left out.
    ///
    /// # Errors
    /// A lost device.
    pub fn kept(&self, stream: &Stream, first: u64, end: u64, every: u64) -> Result<Vec<KeptStep>, SitesError> {
        let (n_xi, width) = (self.coordinates.len(), 1 + self.coordinates.len() + self.weights.len());
        if every == 0 {
            return Ok(Vec::new());
        }
        let steps: Vec<u64> = (first..end).step_by(every as usize).collect();
        let mut all = Vec::with_capacity(steps.len());
        // Rows that follow each other in memory are read together: all to the end of the list, then those from its beginning.
        for part in steps.chunk_by(|before, _| !(before / every + 1).is_multiple_of(KEPT_ROWS)) {
            let mut rows = vec![0.0; part.len() * width];
            self.kept.read_part(stream, (part[0] / every % KEPT_ROWS) as usize * width, &mut rows)?;
            for (row, &step) in rows.chunks_exact(width).zip(part).filter(|(row, step)| row[0] == **step as f64) {
                let (coordinates, derivatives) = (row[1..1 + n_xi].to_vec(), row[1 + n_xi..].to_vec());
                all.push(KeptStep { step, coordinates, derivatives });
            }
        }
        Ok(all)
    }

    /// Other biases of the same sites from the next step on; V_MM may not have more coefficients than at the beginning.
    ///
    /// # Errors
    /// Biases that do not fit; of the device.
    pub fn set_biases(&mut self, stream: &Stream, biases: &[Option<SiteBias>]) -> Result<(), SitesError> {
        self.biases.write(stream, biases)
    }

    /// Number of steps that random numbers are handed over for at a time: [`supply`](Self::supply) is due after as many.
    pub fn supplied_steps(&self) -> usize {
        self.supplied_steps
    }

    /// Hands over the random numbers of the steps from `first` on, those of [`draw_ahead`](Self::draw_ahead) if they are of these steps.
    ///
    /// # Errors
    /// Of the device.
    pub fn supply(&mut self, stream: &Stream, first: u64) -> Result<(), SitesError> {
        let numbers = match self.ahead.take().filter(|ahead| ahead.first == first) {
            Some(ahead) => ahead.numbers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => numbers(&self.dynamics, first, self.supplied_steps, self.tables.width),
        };
        self.noise.write(stream, &numbers)?;
        Ok(self.noise_first.write(stream, &[first as i64])?)
    }

    /// Begins to draw the random numbers of the steps from `first` on beside what the caller and the device do, for a [`supply`](Self::supply) that
    /// comes later. They are the same whether or not that has been done.
    pub fn draw_ahead(&mut self, first: u64) {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.first == first) {
            return;
        }
        let (dynamics, steps, width) = (self.dynamics.clone(), self.supplied_steps, self.tables.width);
        let numbers = std::thread::spawn(move || numbers(&dynamics, first, steps, width));
        self.ahead = Some(Ahead { first, numbers });
    }
}

/// Random numbers of `steps` steps from `first` on, `width` for each.
fn numbers(dynamics: &LambdaDynamics, first: u64, steps: usize, width: usize) -> Vec<f64> {
    (0..steps as u64).flat_map(|k| dynamics.normals(first + k).take(width)).collect()
}

fn length(what: &'static str, found: usize, expected: usize) -> Result<(), SitesError> {
    if found == expected { Ok(()) } else { Err(SitesError::Length { what, found, expected }) }
}

#[cfg(test)]
mod tests;
