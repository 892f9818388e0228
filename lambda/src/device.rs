//! Titratable sites on a device: charges, ∂V/∂λ and the motion of λ without the host; the twins of [`crate::hamiltonian`], [`crate::bias`]
//! and [`crate::dynamics`] in double precision.
//!
//! In a step: [`DeviceSites::enqueue_charges`] puts the effective charges where the electrostatics reads them,
//! [`DeviceSites::enqueue_interpolate`] makes ∂V/∂λ of the force field and corrects energy and forces, [`DeviceSites::enqueue_advance`] adds
//! the bias and moves λ. Random numbers are those of the host's generator, handed over in tables of many steps ([`DeviceSites::supply`]):
//! host and device draw the same ones. Sums run in a fixed order. A λ that escapes stops the motion, not the device: [`DeviceSites::check`]
//! tells which one and when. Weights and ∂V/∂λ_α are flat lists over the forms of all sites ([`LambdaDynamics::weight_starts`]). Biases may be
//! written anew between steps ([`DeviceSites::set_biases`]): a barrier that adapts, another pH.
//!
//! Units: nm, ps, u, e, kJ/mol.

mod biases;
mod tables;

use bytemuck::Pod;
use forcefield::topology::Pair14;
use forcefield::units::COULOMB;
use kernels::device::{Arg, Buffer, Device, DeviceError, Kernel, Source, Stream, args};
use thiserror::Error;

use crate::bias::{BiasEnergies, SiteBias, barrier};
use crate::coordinate::NEXP_STEEPNESS;
use crate::dynamics::{DynamicsError, ESCAPE, LambdaDynamics, LambdaEnergies, LambdaState};
use crate::site::Site;
use biases::Biases;
use tables::{Tables, settings};

/// Threads of the one block that moves λ.
const THREADS: u32 = 256;

/// Most random numbers that are handed over at a time: 64 MB.
const MOST_NUMBERS: usize = 8_000_000;

/// Why sites do not work on a device.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SitesError {
    /// Of the device.
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

/// The electrostatics of the whole system, by atom.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    /// Positions (nm), 3 N.
    pub positions: &'a Buffer<f64>,
    /// φ of all effective charges, 1-4 pairs left out, e/nm.
    pub potential: &'a Buffer<f64>,
    /// φ of the 1-4 pairs, fixed point, kJ/mol/e.
    pub potential_14: &'a Buffer<i64>,
}

/// What Hamiltonian interpolation takes and corrects. Values of form α of atom k of site s are at [`DeviceSites::value_starts`]\[s\] + α n + k.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    /// What the charges of each form make on the site's own atoms, e/nm.
    pub potential: &'a Buffer<f64>,
    /// The field of the same, e/nm², three numbers for each value.
    pub field: &'a Buffer<f64>,
    /// Forces, fixed point, kJ/mol/nm, 3 N.
    pub forces: &'a Buffer<i64>,
    /// Energies, fixed point, kJ/mol.
    pub energies: &'a Buffer<i64>,
    /// Which of them takes the energy, and which the trace of the virial (the same number).
    pub slots: [usize; 2],
}

/// Energies of the last step on the device, at its beginning, kJ/mol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceEnergies {
    /// Kinetic energy, temperature and heat.
    pub motion: LambdaEnergies,
    /// Bias of all sites.
    pub bias: BiasEnergies,
}

/// Titratable sites with their state on a device.
pub struct DeviceSites {
    n_sites: usize,
    tables: Tables,
    biases: Biases,
    dynamics: LambdaDynamics,
    charges_kernel: Kernel,
    interpolate_kernel: Kernel,
    weights_kernel: Kernel,
    advance_kernel: Kernel,
    /// `Settings` of motion.cu.
    settings: [f64; 12],
    coordinates: Buffer<f64>,
    velocities: Buffer<f64>,
    weights: Buffer<f64>,
    heat: Buffer<f64>,
    derivatives: Buffer<f64>,
    total: Buffer<f64>,
    work: Buffer<f64>,
    energies: Buffer<f64>,
    status: Buffer<i64>,
    culprit: Buffer<f64>,
    noise: Buffer<f64>,
    noise_first: Buffer<i64>,
    supplied_steps: usize,
}

impl DeviceSites {
    /// Sites of a system of `n_atoms` with 1-4 pairs `pairs`, their bias and their motion; random numbers are handed over for `steps` steps
    /// at a time, or fewer ([`supplied_steps`](Self::supplied_steps)).
    ///
    /// # Errors
    /// [`SitesError`].
    pub fn new(
        device: &Device,
        sites: &[Site],
        biases: &[Option<SiteBias>],
        pairs: &[Pair14],
        dynamics: &LambdaDynamics,
        (n_atoms, steps): (usize, usize),
    ) -> Result<Self, SitesError> {
        length("biases", biases.len(), sites.len())?;
        let tables = Tables::new(device, sites, pairs, dynamics, n_atoms)?;
        let module = device.compile(&sites_source(tables.most_forms))?;
        let motion = device.compile(&motion_source())?;
        let supplied_steps = steps.min(MOST_NUMBERS / tables.width.max(1)).max(1);
        let (n_xi, n_weights) = (dynamics.coordinate_starts()[sites.len()], dynamics.n_weights());
        let values = |n: usize| device.zeros::<f64>(n);
        Ok(Self {
            n_sites: sites.len(),
            biases: Biases::new(device, biases, dynamics.weight_starts())?,
            charges_kernel: module.kernel("set_charges")?,
            interpolate_kernel: module.kernel("interpolate_sites")?,
            weights_kernel: motion.kernel("set_weights")?,
            advance_kernel: motion.kernel("advance_sites")?,
            settings: settings(dynamics),
            dynamics: dynamics.clone(),
            coordinates: values(n_xi)?,
            velocities: values(n_xi)?,
            weights: values(n_weights)?,
            heat: values(1)?,
            derivatives: values(n_weights)?,
            total: values(n_weights)?,
            work: values(4 * n_xi + n_weights)?,
            energies: values(9)?,
            status: device.zeros(3)?,
            culprit: values(1)?,
            noise: values(tables.width * supplied_steps)?,
            noise_first: device.upload(&[i64::MIN / 2])?,
            supplied_steps,
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

    /// First value of each site, and the end, in lists of one value for each form and atom.
    pub fn value_starts(&self) -> &[usize] {
        &self.tables.value_starts
    }

    /// First weight of each site, and the end.
    pub fn weight_starts(&self) -> &[usize] {
        self.dynamics.weight_starts()
    }

    /// Weights λ_α of all sites, one site after the other.
    pub fn weights(&self) -> &Buffer<f64> {
        &self.weights
    }

    /// ∂V/∂λ_α of the force field, without bias, of the last [`enqueue_interpolate`](Self::enqueue_interpolate); as the weights.
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
        let t = &self.tables;
        let arguments = args![&t.motion, &t.masses, &self.coordinates, &self.weights, self.len() as i32];
        stream.launch(&self.weights_kernel, 1, THREADS, 0, arguments)?;
        self.heat.write(stream, &[state.heat])?;
        self.status.write(stream, &[0; 3])?;
        self.supply(stream, step)
    }

    /// The state on the device.
    ///
    /// # Errors
    /// Of the device.
    pub fn download(&self, stream: &Stream) -> Result<LambdaState, SitesError> {
        Ok(LambdaState {
            coordinates: self.coordinates.read(stream)?,
            velocities: self.velocities.read(stream)?,
            heat: self.heat.read(stream)?[0],
        })
    }

    /// Other biases of the same sites from the next step on; V_MM may not have more coefficients than at the beginning.
    ///
    /// # Errors
    /// Biases that do not fit; of the device.
    pub fn set_biases(&self, stream: &Stream, biases: &[Option<SiteBias>]) -> Result<(), SitesError> {
        self.biases.write(stream, biases)
    }

    /// Number of steps that random numbers are handed over for at a time: [`supply`](Self::supply) is due after as many.
    pub fn supplied_steps(&self) -> usize {
        self.supplied_steps
    }

    /// Hands over the random numbers of the steps from `first` on.
    ///
    /// # Errors
    /// Of the device.
    pub fn supply(&self, stream: &Stream, first: u64) -> Result<(), SitesError> {
        let steps = 0..self.supplied_steps as u64;
        let noise: Vec<f64> = steps.flat_map(|k| self.dynamics.normals(first + k).take(self.tables.width)).collect();
        self.noise.write(stream, &noise)?;
        Ok(self.noise_first.write(stream, &[first as i64])?)
    }

    /// Effective charges of the sites' atoms, e; those of other atoms stay.
    ///
    /// # Errors
    /// Of the device.
    pub fn enqueue_charges(&self, stream: &Stream, charges: &Buffer<f64>) -> Result<(), DeviceError> {
        let (t, n) = (&self.tables, self.tables.atoms.len());
        let arguments = args![
            &t.starts,
            &t.values,
            &t.first_weights,
            &t.site_of,
            &t.atoms,
            &t.charges,
            &self.weights,
            charges,
            n as i32
        ];
        stream.launch(&self.charges_kernel, n.div_ceil(128) as u32, 128, 0, arguments)
    }

    /// ∂V/∂λ of the force field. With `own` Hamiltonian interpolation, which also corrects forces and energies, of all sites before the first
    /// buffer; without it, and for the others, charge interpolation.
    ///
    /// # Errors
    /// Of the device.
    pub fn enqueue_interpolate(
        &self,
        stream: &Stream,
        whole: &Whole<'_>,
        own: Option<&Own<'_>>,
    ) -> Result<(), DeviceError> {
        let t = &self.tables;
        let nothing = || Arg::value(&0_u64);
        let [potential, field] = own.map_or([nothing(), nothing()], |o| [o.potential.into(), o.field.into()]);
        let [forces, energy, virial] = own.map_or([nothing(), nothing(), nothing()], |o| {
            [o.forces.into(), o.energies.at(o.slots[0]), o.energies.at(o.slots[1])]
        });
        let arguments = &[
            Arg::from(&t.starts),
            Arg::from(&t.values),
            Arg::from(&t.first_weights),
            Arg::from(&t.atoms),
            Arg::from(&t.charges),
            Arg::from(&t.pair_starts),
            Arg::from(&t.partners),
            Arg::from(&t.scales),
            Arg::from(&self.weights),
            Arg::from(whole.positions),
            Arg::from(whole.potential),
            Arg::from(whole.potential_14),
            potential,
            field,
            Arg::from(own.map_or(0, |_| self.tables.interpolated as i32)),
            Arg::from(COULOMB),
            forces,
            energy,
            virial,
            Arg::from(&self.derivatives),
        ];
        stream.launch(&self.interpolate_kernel, self.len() as u32, 32, 0, arguments)
    }

    /// One step of λ with the forces of the force field and the bias; `step`: number of the step, one integer that the caller counts on.
    ///
    /// # Errors
    /// Of the device.
    pub fn enqueue_advance(&self, stream: &Stream, step: &Buffer<i64>) -> Result<(), DeviceError> {
        let (t, b) = (&self.tables, &self.biases);
        let arguments = args![
            Arg::value(&self.settings),
            &t.motion,
            &t.masses,
            &t.form_charges,
            &b.rows,
            &b.terms,
            &b.coefficients,
            &b.acidity,
            &self.derivatives,
            &self.noise,
            &self.noise_first,
            self.supplied_steps as i32,
            t.width as i32,
            step,
            &self.coordinates,
            &self.velocities,
            &self.weights,
            &self.heat,
            &self.total,
            &self.work,
            &self.energies,
            &self.status,
            &self.culprit,
            self.len() as i32,
            self.coordinates.len() as i32
        ];
        stream.launch(&self.advance_kernel, 1, THREADS, 0, arguments)
    }

    /// Energies of the last [`enqueue_advance`](Self::enqueue_advance), at the beginning of its step.
    ///
    /// # Errors
    /// Of the device.
    pub fn energies(&self, stream: &Stream) -> Result<DeviceEnergies, SitesError> {
        let [kinetic, temperature, heat, barrier, walls, ph, correction, entropy, metric] =
            read(&self.energies, stream)?;
        let motion = LambdaEnergies { kinetic, temperature, heat, metric };
        Ok(DeviceEnergies { motion, bias: BiasEnergies { barrier, walls, ph, correction, entropy } })
    }

    /// Whether λ has moved without a failure since the last [`upload`](Self::upload).
    ///
    /// # Errors
    /// The failure, with site and step.
    pub fn check(&self, stream: &Stream) -> Result<(), SitesError> {
        let [kind, site, step] = read::<i64, 3>(&self.status, stream)?;
        if kind == 0 {
            return Ok(());
        }
        let [value] = read::<f64, 1>(&self.culprit, stream)?;
        let (site, step) = (site as usize + 1, step as u64);
        Err(match kind {
            1 => DynamicsError::NotFinite { site, step, value }.into(),
            2 => DynamicsError::Charge { step, found: value }.into(),
            3 => DynamicsError::Escaped { site, step, lambda: value }.into(),
            _ => SitesError::Noise { step },
        })
    }
}

fn sites_source(forms: usize) -> Source {
    Source::new("sites", include_str!("device/sites.cu")).define("REAL", "double").define("FORMS", forms)
}

fn motion_source() -> Source {
    let text = |v: f64| format!("{v:?}");
    Source::new("motion", include_str!("device/motion.cu"))
        .define("REAL", "double")
        .define("THREADS", THREADS)
        .define("NEXP_STEEPNESS", text(NEXP_STEEPNESS))
        .define("CENTRE_WIDTH", text(barrier::CENTRE_WIDTH))
        .define("WALL_HEIGHT", text(barrier::WALL_HEIGHT))
        .define("WALL_STEEPNESS", text(barrier::WALL_STEEPNESS))
        .define("WALL_OFFSET", text(barrier::WALL_OFFSET))
        .define("ESCAPE", text(ESCAPE))
}

fn read<T: Pod, const N: usize>(buffer: &Buffer<T>, stream: &Stream) -> Result<[T; N], DeviceError> {
    let mut out = [T::zeroed(); N];
    buffer.read_into(stream, &mut out)?;
    Ok(out)
}

fn length(what: &'static str, found: usize, expected: usize) -> Result<(), SitesError> {
    if found == expected { Ok(()) } else { Err(SitesError::Length { what, found, expected }) }
}

#[cfg(test)]
mod tests;
