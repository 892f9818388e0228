//! Titratable sites on a device: charges, ∂V/∂λ and the motion of λ without the host; the twins of [`crate::hamiltonian`], [`crate::bias`]
//! and [`crate::dynamics`] in double precision.
//!
//! In a step: [`DeviceSites::enqueue_charges`] puts the effective charges where the electrostatics reads them,
//! [`DeviceSites::enqueue_interpolate`] makes ∂V/∂λ of the force field and corrects energy and forces, [`DeviceSites::enqueue_advance`] adds
//! the bias and moves λ. Random numbers are those of the host's generator, handed over in tables of many steps ([`DeviceSites::supply`]):
//! host and device draw the same ones. Sums run in a fixed order. A λ that escapes stops the motion, not the device: [`DeviceSites::check`]
//! tells which one and when.
//!
//! Units: nm, ps, u, e, kJ/mol.

mod tables;

use bytemuck::Pod;
use forcefield::topology::Pair14;
use forcefield::units::{COULOMB, GAS_CONSTANT};
use kernels::device::{Arg, Buffer, Device, DeviceError, Kernel, Source, Stream, args};
use thiserror::Error;

use crate::bias::{SiteBias, barrier};
use crate::dynamics::{DynamicsError, ESCAPE, LambdaDynamics, LambdaEnergies, LambdaState, Motion};
use crate::site::Site;
use tables::Tables;

/// Threads of the one block that moves λ.
const THREADS: u32 = 256;

/// Why sites do not work on a device.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SitesError {
    /// Of the device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// λ cannot move.
    #[error(transparent)]
    Dynamics(#[from] DynamicsError),
    /// A site without the two forms of the linear coordinate.
    #[error("site {site} has {found} forms; the coordinate λ is for two")]
    Forms {
        /// Name of the site.
        site: String,
        /// Its forms.
        found: usize,
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
    #[error("{found} values of {what} for {expected} sites")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Number of sites.
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
    /// Barrier, walls, V_pH and V_MM of all sites.
    pub bias: [f64; 4],
}

/// Titratable sites with their state on a device.
pub struct DeviceSites {
    n_sites: usize,
    tables: Tables,
    dynamics: LambdaDynamics,
    charges_kernel: Kernel,
    interpolate_kernel: Kernel,
    advance_kernel: Kernel,
    /// `Settings` of motion.cu.
    settings: [f64; 6],
    motion: Vec<Motion>,
    moves: Buffer<u32>,
    lambda: Buffer<f64>,
    velocity: Buffer<f64>,
    heat: Buffer<f64>,
    by_form: Buffer<f64>,
    dvdl: Buffer<f64>,
    total: Buffer<f64>,
    moved: Buffer<f64>,
    energies: Buffer<f64>,
    status: Buffer<i64>,
    culprit: Buffer<f64>,
    noise: Buffer<f64>,
    noise_first: Buffer<i64>,
    rest: Buffer<f64>,
}

impl DeviceSites {
    /// Sites of a system of `n_atoms` with 1-4 pairs `pairs`, their bias (none: held fixed), and the motion of λ; random numbers are handed
    /// over for `steps` steps at a time.
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
        let n = sites.len();
        length("biases", biases.len(), n)?;
        let tables = Tables::new(device, sites, biases, pairs, n_atoms)?;
        let module = device.compile(&sites_source(tables.most_forms))?;
        let settings = dynamics.settings();
        let coupled = settings.coupling_time.is_some();
        let kept = settings.coupling_time.map_or(1.0, |time| (-settings.time_step / time).exp());
        let quantum = 0.5 * GAS_CONSTANT * settings.temperature;
        let coupled = f64::from_bits(u64::from(coupled));
        let values = || device.zeros::<f64>(n);
        Ok(Self {
            n_sites: n,
            charges_kernel: module.kernel("set_charges")?,
            interpolate_kernel: module.kernel("interpolate_sites")?,
            advance_kernel: device.compile(&motion_source())?.kernel("advance_sites")?,
            settings: [settings.time_step, settings.mass, kept, quantum, GAS_CONSTANT, coupled],
            dynamics: dynamics.clone(),
            motion: vec![Motion::Fixed; n],
            moves: device.zeros(n)?,
            lambda: values()?,
            velocity: values()?,
            heat: device.zeros(1)?,
            by_form: device.zeros(n * tables.most_forms)?,
            dvdl: values()?,
            total: values()?,
            moved: device.zeros(2 * n)?,
            energies: device.zeros(7)?,
            status: device.zeros(3)?,
            culprit: device.zeros(2)?,
            noise: device.zeros(2 * steps.max(1))?,
            noise_first: device.upload(&[i64::MIN / 2])?,
            rest: values()?,
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

    /// λ of each site.
    pub fn lambda(&self) -> &Buffer<f64> {
        &self.lambda
    }

    /// dV/dλ of the force field, without bias, of the last [`enqueue_interpolate`](Self::enqueue_interpolate).
    pub fn dvdl(&self) -> &Buffer<f64> {
        &self.dvdl
    }

    /// ∂V/∂λ_α of the same, two for each site; their difference is dV/dλ.
    pub fn derivatives(&self) -> &Buffer<f64> {
        &self.by_form
    }

    /// Sets the state at step `step` and forgets an earlier failure; random numbers are supplied from this step on.
    ///
    /// # Errors
    /// A state of another number of sites; of the device.
    pub fn upload(&mut self, stream: &Stream, state: &LambdaState, step: u64) -> Result<(), SitesError> {
        let lengths = [("λ", state.lambda.len()), ("velocity", state.velocity.len()), ("motion", state.motion.len())];
        lengths.into_iter().try_for_each(|(what, found)| length(what, found, self.len()))?;
        self.motion.clone_from(&state.motion);
        let moves: Vec<u32> = state.motion.iter().map(|m| u32::from(*m == Motion::Free)).collect();
        let mut normals = self.dynamics.normals(step);
        let rest: Vec<f64> =
            moves.iter().map(|m| if *m == 1 { normals.next().unwrap_or_default() } else { 0.0 }).collect();
        self.moves.write(stream, &moves)?;
        self.rest.write(stream, &rest)?;
        self.lambda.write(stream, &state.lambda)?;
        self.velocity.write(stream, &state.velocity)?;
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
            lambda: self.lambda.read(stream)?,
            velocity: self.velocity.read(stream)?,
            heat: self.heat.read(stream)?[0],
            motion: self.motion.clone(),
        })
    }

    /// Number of steps that random numbers are handed over for at a time.
    fn supplied_steps(&self) -> usize {
        self.noise.len() / 2
    }

    /// Hands over the random numbers of the steps from `first` on.
    ///
    /// # Errors
    /// Of the device.
    pub fn supply(&self, stream: &Stream, first: u64) -> Result<(), SitesError> {
        let free = self.motion.iter().filter(|m| **m == Motion::Free).count();
        let steps = 0..self.supplied_steps() as u64;
        let noise: Vec<f64> = steps.flat_map(|k| self.dynamics.noise(first + k, free)).collect();
        self.noise.write(stream, &noise)?;
        Ok(self.noise_first.write(stream, &[first as i64])?)
    }

    /// Effective charges of the sites' atoms, e; those of other atoms stay.
    ///
    /// # Errors
    /// Of the device.
    pub fn enqueue_charges(&self, stream: &Stream, charges: &Buffer<f64>) -> Result<(), DeviceError> {
        let (t, n) = (&self.tables, self.tables.atoms.len());
        let arguments =
            args![&t.starts, &t.values, &t.forms, &t.site_of, &t.atoms, &t.charges, &self.lambda, charges, n as i32];
        stream.launch(&self.charges_kernel, n.div_ceil(128) as u32, 128, 0, arguments)
    }

    /// ∂V/∂λ of the force field. With `own` Hamiltonian interpolation, which also corrects forces and energies; without it charge
    /// interpolation.
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
            Arg::from(&t.forms),
            Arg::from(&t.atoms),
            Arg::from(&t.charges),
            Arg::from(&t.pair_starts),
            Arg::from(&t.partners),
            Arg::from(&t.scales),
            Arg::from(&self.lambda),
            Arg::from(whole.positions),
            Arg::from(whole.potential),
            Arg::from(whole.potential_14),
            potential,
            field,
            Arg::from(i32::from(own.is_some())),
            Arg::from(COULOMB),
            forces,
            energy,
            virial,
            Arg::from(&self.by_form),
            Arg::from(&self.dvdl),
        ];
        stream.launch(&self.interpolate_kernel, self.len() as u32, 32, 0, arguments)
    }

    /// One step of λ with the forces of the force field and the bias; `step`: number of the step, one integer that the caller counts on.
    ///
    /// # Errors
    /// Of the device.
    pub fn enqueue_advance(&self, stream: &Stream, step: &Buffer<i64>) -> Result<(), DeviceError> {
        let t = &self.tables;
        let arguments = args![
            Arg::value(&self.settings),
            &t.biases,
            &t.bias_terms,
            &t.coefficients,
            &self.dvdl,
            &self.moves,
            &self.noise,
            &self.noise_first,
            self.supplied_steps() as i32,
            &self.rest,
            step,
            &self.lambda,
            &self.velocity,
            &self.heat,
            &self.total,
            &self.moved,
            &self.energies,
            &self.status,
            &self.culprit,
            self.len() as i32
        ];
        stream.launch(&self.advance_kernel, 1, THREADS, 0, arguments)
    }

    /// Energies of the last [`enqueue_advance`](Self::enqueue_advance), at the beginning of its step.
    ///
    /// # Errors
    /// Of the device.
    pub fn energies(&self, stream: &Stream) -> Result<DeviceEnergies, SitesError> {
        let e = read::<f64, 7>(&self.energies, stream)?;
        let motion = LambdaEnergies { kinetic: e[0], temperature: e[1], heat: e[2] };
        Ok(DeviceEnergies { motion, bias: [e[3], e[4], e[5], e[6]] })
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
        let [lambda, value] = read::<f64, 2>(&self.culprit, stream)?;
        let (site, step) = (site as usize + 1, step as u64);
        Err(match kind {
            1 => DynamicsError::NotFinite { site, step, value, lambda }.into(),
            2 => DynamicsError::Escaped { site, step, lambda, derivative: value }.into(),
            _ => SitesError::Noise { step },
        })
    }
}

fn sites_source(forms: usize) -> Source {
    Source::new("sites", include_str!("sites.cu")).define("REAL", "double").define("FORMS", forms)
}

fn motion_source() -> Source {
    let text = |v: f64| format!("{v:?}");
    Source::new("motion", include_str!("motion.cu"))
        .define("REAL", "double")
        .define("THREADS", THREADS)
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
