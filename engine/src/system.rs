//! Everything of a simulation that does not change: what there is, what acts on it, and how it is started.
//!
//! A [`System`] comes from a job together with the first [`State`]; both backends share it. Units: nm, ps, u, kJ/mol, K.

mod masses;
mod plan;
mod read;
pub(crate) mod restraints;
mod sanity;
pub mod vibration;

pub use plan::Plan;
pub use read::{Input, cell, cell_of, read};

use crate::checkpoint::Identity;
use crate::config::barostat::Coupling;
use crate::config::{self, Config, Velocities};
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use crate::motion::barostat::axes::{AxesRescale, AxesSettings};
use crate::motion::barostat::{Barostat, BarostatSettings, CRescale};
use crate::motion::constraints::{Constraints, DEFAULT_TOLERANCE};
use crate::motion::leapfrog;
use crate::motion::thermostat::Thermostat;
use crate::selection::{Atoms, Expression, IndexGroups, SelectionError};
use crate::state::{ListState, SitesState, State};
use crate::system::vibration::Vibration;
use crate::titration::{self, Sites};
use forcefield::Structure;
use forcefield::topology::BondConstraints;
use forcefield::units::BAR;
use forcefield::{Cell, Topology, virtual_sites};
use lambda::{Site, SiteLayout, SiteValues};
use nalgebra::Vector3;
use std::sync::Arc;

/// What does not change in a run.
#[derive(Debug)]
pub struct System {
    /// The job.
    pub config: Config,
    /// Atoms and interactions, restraints of a charge buffer included.
    pub topology: Arc<Topology>,
    /// Masses, u.
    pub masses: Vec<f64>,
    /// Fixed bonds and rigid waters.
    pub constraints: Constraints,
    /// What stays whole.
    pub fragments: Fragments,
    /// Degrees of freedom of the atoms.
    pub degrees_of_freedom: usize,
    /// When, counted from step 0, what happens.
    pub plan: Plan,
    /// Constant temperature.
    pub thermostat: Option<Thermostat>,
    /// Constant pressure.
    pub barostat: Option<Barostat>,
    /// What titrates.
    pub sites: Option<Sites>,
    /// Velocities that the structure gives for the start (nm/ps), half a step before it; else they are drawn.
    pub start_velocities: Option<Vec<Vector3<f64>>>,
    /// What a person should know of the files of the job before trusting the results, one sentence each.
    pub warnings: Vec<String>,
    /// What the topology says and the job decides otherwise, for the log, one sentence each.
    pub notes: Vec<String>,
    /// The fastest vibration, if the job moves anything that vibrates.
    pub vibration: Option<Vibration>,
    /// The atoms (0-based, rising) that `trajectory.xtc` holds; `None`: all.
    pub trajectory_atoms: Option<Vec<u32>>,
    /// What checkpoints of this system say of it.
    pub identity: Identity,
}

impl System {
    /// Reads the files of a job: the system, and its state before minimisation and without velocities.
    ///
    /// # Errors
    /// [`Error::Input`] with file and line, or the key of the job.
    pub fn new(config: &Config) -> Result<(Self, State)> {
        let Input { mut topology, structure, mut warnings, notes, unknown_factors } = read(config)?;
        warnings.extend(sanity::files(config, &topology, &structure)?);
        topology.constrain_bonds(match config.dynamics.constraints {
            config::Constraints::None => BondConstraints::None,
            config::Constraints::HBonds => BondConstraints::HBonds,
            config::Constraints::AllBonds => BondConstraints::AllBonds,
        });
        virtual_sites::check(&topology).map_err(|e| config.error_at("system.topology", e.to_string(), ""))?;
        warnings.extend(sanity::time_step(config, &topology)?);
        let cell = cell(config, &structure)?;
        let fragments = Fragments::new(&topology);
        let mut positions = structure.positions.clone();
        if let Cell::Periodic(periodic) = &cell {
            fragments.make_whole(periodic, &mut positions).map_err(|e| Error::input(e.to_string(), ""))?;
            warnings.extend(sanity::images(config, &topology, &fragments, &positions, periodic));
        }
        virtual_sites::place(&topology.virtual_sites, &mut positions);
        let moves = config.steps() > 0;
        let vibration = moves.then(|| vibration::fastest(&topology, &positions)).flatten();
        if let Some(vibration) = &vibration {
            warnings.extend(vibration.check(config)?);
        }
        let sites = Sites::new(config, &mut topology, &positions, cell)?;
        let titratable = sites.as_ref().map_or(&[][..], |sites| &sites.sites);
        titration::check_factors(config, &topology, &unknown_factors, titratable)?;
        restraints::hold(config, &mut topology, titratable)?;
        let state = State {
            step: 0,
            cell,
            velocities: vec![Vector3::zeros(); positions.len()],
            restraint_references: restraints::references(&topology, &positions),
            positions,
            sites: sites.as_ref().map_or(Ok(SitesState::default()), Sites::initial_state)?,
            lists: ListState { positions: Vec::new(), cell },
            ..State::default()
        };
        let system = Self::of(config, topology, &structure, fragments, sites, cell)?;
        Ok((Self { warnings, notes, vibration, ..system }, state))
    }

    fn of(
        config: &Config,
        topology: Topology,
        structure: &Structure,
        fragments: Fragments,
        sites: Option<Sites>,
        cell: Cell,
    ) -> Result<Self> {
        let constraints =
            Constraints::new(&topology, DEFAULT_TOLERANCE).map_err(|e| Error::input(e.to_string(), ""))?;
        let com_is_removed = config.dynamics.remove_com_interval() > 0;
        let degrees_of_freedom = leapfrog::degrees_of_freedom(topology.n_moving(), constraints.count(), com_is_removed)
            .ok_or_else(|| Error::input("no degree of freedom is left: nothing can move", ""))?;
        let thermostat = config.thermostat.as_ref().map(|settings| {
            Thermostat::new(settings, degrees_of_freedom).map_err(|e| config.error_at("thermostat", e.to_string(), ""))
        });
        Ok(Self {
            identity: Identity::new(
                config.trajectory_settings()?,
                &topology,
                structure,
                sites.as_ref().map_or(&[], |sites| &sites.sites),
                sites.as_ref().map_or(&[], |sites| &sites.variants),
            ),
            start_velocities: start_velocities(config, &topology, structure)?,
            trajectory_atoms: trajectory_atoms(config, &topology, sites.as_ref())?,
            masses: topology.masses(),
            constraints,
            fragments,
            degrees_of_freedom,
            plan: Plan::new(config),
            warnings: Vec::new(),
            notes: Vec::new(),
            vibration: None,
            thermostat: thermostat.transpose()?,
            barostat: config.barostat.as_ref().map(|settings| barostat(config, settings, cell)).transpose()?,
            sites,
            topology: Arc::new(topology),
            config: config.clone(),
        })
    }

    /// The titratable sites; empty without titration.
    pub fn titratable(&self) -> &[lambda::Site] {
        self.sites.as_ref().map_or(&[], |sites| &sites.sites)
    }

    /// Weights of all sites in `state`.
    pub fn weights(&self, state: &State) -> SiteValues {
        self.sites.as_ref().map_or(SiteValues::default(), |sites| sites.weights(&state.sites.lambda))
    }

    /// Where the values of each site lie among those of all sites.
    pub fn layout(&self) -> SiteLayout {
        self.sites.as_ref().map_or(SiteLayout::new([]), |sites| sites.layout().clone())
    }
}

/// The atoms that `output.trajectory_atoms` selects; `None` if they are all.
fn trajectory_atoms(config: &Config, topology: &Topology, sites: Option<&Sites>) -> Result<Option<Vec<u32>>> {
    let sites = sites.map_or(&[][..], |sites| &sites.sites);
    let atoms = select(config, ("output.trajectory_atoms", &config.output.trajectory_atoms), topology, sites)?;
    Ok((atoms.len() < topology.n_atoms()).then_some(atoms))
}

/// The atoms that the text of a key selects.
fn select(config: &Config, (key, text): (&str, &str), topology: &Topology, sites: &[Site]) -> Result<Vec<u32>> {
    let index = config.output.index.as_ref();
    let groups = index.map_or(Ok(IndexGroups::default()), |path| IndexGroups::read(path, topology.n_atoms()))?;
    let refused = |e: SelectionError| config.error_at(key, e.to_string(), e.valid());
    let expression = Expression::parse(text).map_err(refused)?;
    Atoms { topology, sites, groups: &groups }.select(&expression).map_err(refused)
}

/// Temperature that velocities are drawn at (K): the key of the job, else the thermostat's.
pub fn start_temperature(config: &Config) -> Option<f64> {
    let own = config.dynamics.velocity_temperature;
    own.or(config.thermostat.as_ref().map(|t| t.temperature)).map(|t| t.get())
}

fn start_velocities(config: &Config, topology: &Topology, structure: &Structure) -> Result<Option<Vec<Vector3<f64>>>> {
    match config.dynamics.velocities {
        Velocities::Generate => Ok(None),
        Velocities::Structure if structure.velocities.is_none() => {
            let file = config.system.frame.as_ref().unwrap_or(&config.system.structure);
            let message = format!("{} has no velocities", file.display());
            Err(config.error_at("dynamics.velocities", message, "use \"generate\" or \"auto\""))
        }
        Velocities::Auto | Velocities::Structure => Ok(structure.velocities.clone().map(|mut velocities| {
            topology.virtual_sites.iter().for_each(|one| velocities[one.site as usize] = Vector3::zeros());
            velocities
        })),
    }
}

fn barostat(config: &Config, settings: &config::Barostat, cell: Cell) -> Result<Barostat> {
    let Some(temperature) = start_temperature(config).filter(|_| cell.is_periodic()) else {
        return Err(config.error_at("barostat", "needs a periodic box and a thermostat", ""));
    };
    let tau = settings.coupling_time.get();
    let (pressure, compressibility) =
        (settings.pressure_of_axes().map(|p| p * BAR), settings.compressibility_of_axes().map(|b| b / BAR));
    let plane = settings.coupling == Coupling::SemiIsotropic;
    let made = if settings.coupling == Coupling::Isotropic {
        let ([pressure, ..], [compressibility, ..]) = (pressure, compressibility);
        CRescale::new(BarostatSettings { pressure, temperature, tau, compressibility }).map(Barostat::Isotropic)
    } else if cell.is_triclinic() {
        let message = "scaling axes apart would change the angles of this box, whose edges are not at right angles";
        let help = "use coupling = \"isotropic\", which keeps the angles, or a rectangular box";
        return Err(config.error_at("barostat.coupling", message, help));
    } else {
        let surface_tension = settings.surface_tension.map_or(0.0, |tension| tension.get() * BAR);
        let axes = AxesSettings { temperature, tau, plane, pressure, compressibility, surface_tension };
        AxesRescale::new(axes).map(Barostat::Axes)
    };
    made.map_err(|e| config.error_at("barostat", e.to_string(), ""))
}
