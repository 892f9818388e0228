//! A simulation on a GPU: the same state, moved there and fetched back when someone looks at it.

use super::{Simulation, THERMOSTAT_INTERVAL};
use crate::checkpoint::State;
use crate::config::{self, Config};
use crate::device::{Coupling, Lists, MotionError, MotionState, Resident, ResidentError, ResidentState, Setup};
use crate::error::{Error, InputError, PhysicsError, Result};
use crate::hamiltonian::{self, Energies};
use crate::titration::OBSERVE;
use fmm::FmmError;
use fmm::device::GroupsError;
use forcefield::Topology;
use forcefield::device::{DeviceTermError, EnergyTerm, Precision};
use kernels::device::{Device, DeviceError};
use lambda::device::SitesError;

/// Steps between two looks at signals and the clock; outputs and lists are due at multiples of their own.
pub(super) const PACE: u64 = 100;

/// Most steps given to the device at once, for which random numbers are there.
const PART: u64 = 1000;

/// Where the newest state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newest {
    /// Changed here.
    Host,
    /// Moved on there.
    Device,
    /// The same.
    Both,
}

/// A resident system, and where its state is.
pub(super) struct OnDevice {
    resident: Resident,
    /// Order and boxes in words.
    pub(super) coulomb: String,
    newest: Newest,
    /// The lists of a checkpoint: to be made when the state is moved to the device.
    restored: bool,
    /// What continues a run to the last bit: scaled lengths of the boxes, and what the next step does to the velocities.
    geometry: Vec<f64>,
    prepared: Option<[f64; 5]>,
    /// Whether lists have not served, which the interval is yet to follow.
    stale: bool,
}

impl OnDevice {
    /// The system of `simulation` on `device`.
    pub(super) fn new(config: &Config, device: &Device, alone: bool, simulation: &Simulation) -> Result<Self> {
        let (model, now) = (&simulation.model, &simulation.now);
        if now.edges.is_none() {
            // Boxes on a device lie where they were laid at the start; molecules that leave them would lose accuracy unseen.
            let message = "open boundaries: molecular dynamics on a GPU is for periodic boxes";
            return Err(config.error_at("electrostatics.boundary", message, "--device cpu has no such limit"));
        }
        let list = simulation.sites.iter().flat_map(|sites| &sites.sites).enumerate();
        if let Some((_, site)) = list.into_iter().find(|(index, _)| simulation.hamiltonian.varies(*index)) {
            let message = format!("forms of {} differ in Lennard-Jones types or bonded terms: not on a GPU", site.name);
            return Err(config.error_at("titration", message, "--device cpu has no such limit"));
        }
        let van_der_waals = &config.van_der_waals;
        let (fmm, coulomb) =
            crate::electrostatics::settings_on_device(device, &config.electrostatics, &now.x, now.edges);
        let setup = Setup {
            topology: simulation.hamiltonian.topology(),
            masses: &model.masses,
            constraints: &model.constraints,
            dt: model.dt,
            coupling: Coupling {
                seed: model.dynamics.seed,
                remove_com_interval: model.dynamics.remove_com_interval,
                thermostat: simulation.thermostat.map(|t| (t, THERMOSTAT_INTERVAL)),
                barostat: simulation.barostat.map(|b| (b, model.barostat_interval)),
                lists: None,
            },
            lennard_jones: forcefield::device::Settings {
                cutoff: van_der_waals.cutoff.get(),
                modifier: hamiltonian::modifier(van_der_waals),
                buffer: config.neighbour_list.buffer.get(),
                dispersion_correction: van_der_waals.dispersion_correction,
                precision: match config.electrostatics.precision {
                    config::Precision::Single => Precision::Single,
                    config::Precision::Double => Precision::Double,
                },
            },
            fmm,
            start: &now.x,
            edges: now.edges,
            reference: simulation.hamiltonian.reference(),
            sites: simulation.sites.as_ref().filter(|sites| !sites.sites.is_empty()),
            alone,
            interpolation: config.titration.as_ref().map_or(config::Interpolation::Hamiltonian, |t| t.interpolation),
        };
        let resident = Resident::new(device, &setup).map_err(|e| setup_error(config, e))?;
        Ok(Self {
            resident,
            coulomb,
            newest: Newest::Host,
            restored: false,
            geometry: Vec::new(),
            prepared: None,
            stale: false,
        })
    }
}

impl Simulation {
    /// Steps between two rebuilds of lists on a device, where that is fixed.
    pub fn list_interval(&self) -> Option<u64> {
        self.on_device.as_ref().map(|on| on.resident.interval())
    }

    /// The state has been changed from outside: what was computed is void, a device must be told.
    pub(super) fn touch(&mut self) {
        self.energies = None;
        if let Some(on) = &mut self.on_device {
            on.newest = Newest::Host;
            on.restored = false;
        }
    }

    /// The state is that of a checkpoint, lists included.
    pub(super) fn restored(&mut self, state: &State) {
        self.touch();
        let Some(on) = &mut self.on_device else { return };
        let array = |name: &str| state.extra.get(name).map_or(&[][..], Vec::as_slice);
        on.geometry = array("device_geometry").to_vec();
        on.prepared = array("device_prepared").try_into().ok();
        on.stale = array("device_list_stale").first() == Some(&1.0);
        if let Some(&interval) = array("device_list_interval").first() {
            on.resident.set_interval(interval as u64);
        }
        // A checkpoint of the CPU has no boxes of a device: lists are made from the state.
        let periodic = self.now.edges.is_some();
        on.restored = !self.lists.0.is_empty() && periodic != on.geometry.is_empty();
    }

    /// Moves the state to the device unless it is there.
    fn push(&mut self) -> Result<()> {
        let Some(on) = self.on_device.as_mut().filter(|on| on.newest == Newest::Host) else { return Ok(()) };
        let now = &self.now;
        let atoms = MotionState {
            step: now.step,
            x: now.x.clone(),
            v: now.v.clone(),
            edges: now.edges,
            thermostat_work: self.thermostat.map_or(0.0, |t| t.work()),
            barostat: self.barostat.map_or([0.0; 2], |b| b.state()),
            prepared: on.prepared.filter(|_| on.restored),
        };
        let state = ResidentState { atoms, lambda: now.lambda.clone() };
        let lists = on.restored.then(|| Lists {
            x: self.lists.0.clone(),
            edges: self.lists.1,
            geometry: on.geometry.clone(),
            stale: on.stale,
        });
        let uploaded = on.resident.upload(&state, lists.as_ref());
        if !on.restored {
            self.lists.0.clone_from(&now.x);
            self.lists.1 = now.edges;
        }
        (on.newest, on.restored) = (Newest::Both, false);
        uploaded.map_err(|e| step_error(e, self.hamiltonian.topology(), self.now.step))
    }

    /// Fetches the state from the device if it has moved on there.
    pub(super) fn pull(&mut self) -> Result<()> {
        let Some(on) = self.on_device.as_mut().filter(|on| on.newest == Newest::Device) else { return Ok(()) };
        let fetched = on.resident.download();
        let failed = |e| step_error(e, self.hamiltonian.topology(), self.now.step);
        let (state, lists) = fetched.map_err(failed)?;
        let references = on.resident.references().map_err(failed)?;
        self.hamiltonian.move_references(&references);
        self.lists = (lists.x, lists.edges);
        on.geometry = lists.geometry;
        on.prepared = state.atoms.prepared;
        on.stale = lists.stale;
        self.now.x = state.atoms.x;
        self.now.v = state.atoms.v;
        self.now.edges = state.atoms.edges;
        if !state.lambda.coordinates.is_empty() {
            self.now.lambda = state.lambda;
        }
        if let Some(thermostat) = &mut self.thermostat {
            thermostat.restore_work(state.atoms.thermostat_work);
        }
        if let Some(barostat) = &mut self.barostat {
            barostat.restore(state.atoms.barostat);
        }
        on.newest = Newest::Both;
        Ok(())
    }

    /// What a checkpoint keeps besides, for a device to continue to the last bit.
    pub(super) fn device_extras(&self) -> Vec<(&'static str, Vec<f64>)> {
        let Some(on) = &self.on_device else { return Vec::new() };
        let mut out = vec![("device_geometry", on.geometry.clone())];
        out.extend(on.prepared.map(|prepared| ("device_prepared", prepared.to_vec())));
        out.push(("device_list_interval", vec![on.resident.interval() as f64]));
        out.push(("device_list_stale", vec![f64::from(u8::from(on.stale))]));
        out
    }

    /// Hands the biases of the sites to the device, if there is one.
    pub(super) fn put_biases(&mut self) -> Result<()> {
        let (Some(on), Some(sites)) = (&mut self.on_device, &self.sites) else { return Ok(()) };
        let put = on.resident.set_biases(sites.biases());
        put.map_err(|e| step_error(e, self.hamiltonian.topology(), self.now.step))
    }

    /// λ from the device if it has moved on there.
    pub(super) fn pull_lambda(&mut self) -> Result<()> {
        let Some(on) = self.on_device.as_mut().filter(|on| on.newest == Newest::Device) else { return Ok(()) };
        let lambda = on.resident.lambda();
        let lambda = lambda.map_err(|e| step_error(e, self.hamiltonian.topology(), self.now.step))?;
        if let Some(lambda) = lambda {
            self.now.lambda = lambda;
        }
        Ok(())
    }

    /// Energies, forces and ∂V/∂λ at the present state by the device.
    pub(super) fn refresh_on_device(&mut self) -> Result<Energies> {
        self.push()?;
        let Some(on) = &mut self.on_device else { return Ok(Energies::default()) };
        let resident = &mut on.resident;
        let topology = self.hamiltonian.topology();
        let failed = |e| step_error(e, topology, self.now.step);
        let energies = energies(&resident.evaluate().map_err(failed)?);
        self.forces = resident.forces().map_err(failed)?;
        self.by_weight = resident.by_weight().map_err(failed)?;
        self.hamiltonian.check(&energies, &self.forces)?;
        self.energies = Some(energies);
        Ok(energies)
    }

    /// ∂V/∂λ at the present state by the device, without the rest.
    pub(super) fn derivatives_on_device(&mut self) -> Result<()> {
        self.push()?;
        let Some(on) = &mut self.on_device else { return Ok(()) };
        let by_weight = on.resident.derivatives();
        self.by_weight = by_weight.map_err(|e| step_error(e, self.hamiltonian.topology(), self.now.step))?;
        Ok(())
    }

    /// Seconds of a whole step and of each of its parts on a GPU ([`Resident::profile`]); nothing without one.
    ///
    /// # Errors
    /// As [`Simulation::on`]; whatever stops the motion.
    pub fn profile(&mut self) -> Result<Vec<(&'static str, f64)>> {
        self.push()?;
        let Some(on) = &mut self.on_device else { return Ok(Vec::new()) };
        on.resident.profile().map_err(|e| step_error(e, self.hamiltonian.topology(), self.now.step))
    }

    /// So many steps on the device; false without one.
    pub(super) fn advance_on_device(&mut self, steps: u64) -> Result<bool> {
        if self.on_device.is_none() {
            return Ok(false);
        }
        self.push()?;
        self.energies = None;
        let end = self.now.step + steps;
        while self.now.step < end {
            self.adapt()?;
            let step = self.now.step;
            let adapts = self.sites.as_ref().is_some_and(|sites| step <= sites.adapts_until());
            let look = if adapts { (step / OBSERVE + 1) * OBSERVE } else { u64::MAX };
            let part = PART.min(end - step).min(look - step);
            if let Some(on) = &mut self.on_device {
                on.newest = Newest::Device;
                on.resident.run(part).map_err(|e| step_error(e, self.hamiltonian.topology(), step))?;
                self.now.step += part;
            }
        }
        Ok(true)
    }
}

fn energies(slots: &[i64]) -> Energies {
    let of = |term: EnergyTerm| term.of(slots);
    let mut out = Energies {
        lennard_jones: of(EnergyTerm::LennardJones),
        lennard_jones_14: of(EnergyTerm::LennardJones14),
        dispersion: of(EnergyTerm::Dispersion),
        coulomb: of(EnergyTerm::Coulomb),
        coulomb_14: of(EnergyTerm::Coulomb14),
        interpolation: of(EnergyTerm::Interpolation),
        restraints: of(EnergyTerm::Restraints),
        virial: of(EnergyTerm::Virial),
        ..Energies::default()
    };
    let b = &mut out.bonded;
    b.bonds.energy = of(EnergyTerm::Bonds);
    b.angles.energy = of(EnergyTerm::Angles);
    b.urey_bradley.energy = of(EnergyTerm::UreyBradley);
    b.proper_dihedrals.energy = of(EnergyTerm::ProperDihedrals);
    b.improper_dihedrals.energy = of(EnergyTerm::ImproperDihedrals);
    b.ryckaert_bellemans.energy = of(EnergyTerm::RyckaertBellemans);
    b.cmap.energy = of(EnergyTerm::Cmap);
    out
}

/// What the device itself says, if it is the cause.
fn cause(error: &ResidentError) -> Option<&DeviceError> {
    match error {
        ResidentError::Device(e)
        | ResidentError::Fmm(FmmError::Device(e))
        | ResidentError::Term(DeviceTermError::Device(e))
        | ResidentError::Groups(GroupsError::Device(e) | GroupsError::Fmm(FmmError::Device(e)))
        | ResidentError::Sites(SitesError::Device(e))
        | ResidentError::Motion(MotionError::Device(e)) => Some(e),
        _ => None,
    }
}

fn setup_error(config: &Config, error: ResidentError) -> Error {
    if let Some(e) = cause(&error) {
        return device_error(e);
    }
    match error {
        ResidentError::Fmm(e) => config.error_at("electrostatics", e.to_string(), "--device cpu has other limits"),
        other => Error::input(other.to_string(), "--device cpu has other limits"),
    }
}

fn device_error(error: &DeviceError) -> Error {
    let full = match error {
        DeviceError::OutOfMemory { .. } => true,
        DeviceError::Driver { code, .. } => code == "CUDA_ERROR_OUT_OF_MEMORY",
        _ => false,
    };
    if full {
        let help = "take a smaller system or a larger GPU, or --device cpu";
        return Error::Memory(Box::new(InputError::new(error.to_string(), help)));
    }
    let help = match error {
        DeviceError::Lost { .. } => "the last checkpoint is kept: the same command continues",
        _ => "--device cpu runs without a GPU",
    };
    Error::input(error.to_string(), help)
}

fn step_error(error: ResidentError, topology: &Topology, step: u64) -> Error {
    let physics = |term: &str, message: String, atom: Option<u32>, step: u64| {
        PhysicsError {
            message,
            term: term.into(),
            atom: atom.map(|atom| topology.label(atom)),
            step: Some(step),
            help: "atoms that overlap: minimise first, or use a shorter time step".into(),
            ..PhysicsError::default()
        }
        .into()
    };
    if let Some(e) = cause(&error) {
        return device_error(e);
    }
    match error {
        ResidentError::Sites(e) => physics("λ", e.to_string(), None, step),
        ResidentError::Fmm(e) => hamiltonian::coulomb(&e, topology),
        ResidentError::Motion(e) => {
            let (atom, at) = match &e {
                MotionError::NotFinite { step, atom } | MotionError::Settle { step, atom } => (Some(*atom), *step),
                MotionError::Shake { step, atoms } => (Some(atoms[0]), *step),
                _ => (None, step),
            };
            physics("motion", e.to_string(), atom, at)
        }
        other => physics("motion", other.to_string(), None, step),
    }
}
