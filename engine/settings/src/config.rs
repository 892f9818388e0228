//! The job file: one TOML, read into one typed tree with every default filled in.
//!
//! [`Config::load`] parses, refuses unknown keys, wrong units, values out of range and contradictions, makes paths
//! absolute and derives what follows from other keys (steps from the duration, temperatures from the thermostat).
//! [`Config::save`] writes the whole tree as `resolved.toml`, which is itself a valid job and gives the same run.
//! Each section has a file of its own, named after it, with its keys, their defaults and their checks.
//!
//! Any later stage that finds a mistake (a residue that is not there, a box too small) names the key and makes its
//! error with [`Config::error_at`], which adds the place in the file.

pub mod auto_or;
pub mod barostat;
pub mod calibrate;
mod check;
pub mod dynamics;
pub mod electrostatics;
pub mod minimise;
pub mod neighbour_list;
mod not_a_job;
pub mod output;
pub mod per_axis;
pub mod position_restraints;
pub mod quantity;
pub mod schema;
mod source;
mod stages;
pub mod system;
pub mod thermostat;
pub mod titrate;
pub mod titration;
pub mod values;
pub mod van_der_waals;

pub use auto_or::AutoOr;
pub use barostat::Barostat;
pub use calibrate::{Calibrate, Degree};
pub use dynamics::{Constraints, Dynamics, Velocities, time_of};
pub use electrostatics::{Boundary, Depth, Electrostatics, Precision};
pub use minimise::Minimise;
pub use neighbour_list::NeighbourList;
pub use output::{Output, job_that_writes};
pub use position_restraints::PositionRestraints;
pub use quantity::Quantity;
pub use system::System;
pub use thermostat::{Thermostat, ThermostatKind};
pub use titrate::{Jobs, Titrate};
pub use titration::barrier::{AdaptingBarrier, BARRIER_CHANGES, BARRIER_LOOK_INTERVAL, Barrier};
pub use titration::buffer::{ChargeBuffer, Molecules};
pub use titration::mismatch::{Allowed, Mismatch};
pub use titration::site::{SiteSettings, Start};
pub use titration::{Compensation, Coordinate, CoordinateCount, Interpolation, PhTerm, Titration};
pub use values::{Range, Values};
pub use van_der_waals::{Modifier, VanDerWaals};

use crate::atomic::write_atomic;
use crate::error::{Error, InputError, Result};
use check::{Check, wrong};
use forcefield::cell::PeriodicBox;
use quantity::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use source::Source;
use std::path::{Path, PathBuf};
use titration::Surroundings;

/// Name of the file with every default, written beside the results.
pub const RESOLVED: &str = "resolved.toml";

/// A whole job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What is simulated: a structure, and a topology of GROMACS or a system of OpenMM.
    pub system: System,
    /// Coulomb interactions: the boundary conditions, and the accuracy of the fast multipole method. The accuracy is either one number,
    /// `tolerance`, or the keys of an expert: `order`, `separation` and `depth`.
    #[serde(default)]
    pub electrostatics: Electrostatics,
    /// Lennard-Jones interactions with a cut-off. Combination rules and parameters are those of the topology. On a GPU pairs of atoms with σ of
    /// some 0.04 nm, hydrogens of CHARMM, are left out beyond 0.45 nm, where all of them together give an atom less than 1e-5 kJ/mol, and what
    /// hydrogens of CHARMM's rigid water do to other atoms beyond 0.75 to 0.85 nm their oxygen does in their place (forces right to 2e-5).
    #[serde(default)]
    pub van_der_waals: VanDerWaals,
    /// Lists of the pairs of atoms within the cut-off and a buffer, and with them the boxes that the atoms belong to. On the CPU they are made
    /// anew when an atom has moved by half of `buffer`. On a GPU they serve for a fixed time, boxes for 40 fs and lists for `interval`,
    /// and the buffer is as long as that needs: the pairs that are missed meanwhile change the energy by no more than `tolerance`.
    #[serde(default)]
    pub neighbour_list: NeighbourList,
    /// The leap-frog integrator: length of the run, time step, constraints and first velocities.
    #[serde(default)]
    pub dynamics: Dynamics,
    /// Constant temperature by stochastic velocity rescaling (v-rescale) or by Langevin dynamics. λ has a thermostat of its own, see `titration.temperature`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the energy is conserved"))]
    pub thermostat: Option<Thermostat>,
    /// Constant pressure by stochastic cell rescaling (C-rescale): isotropic, or with axes apart. It needs a thermostat and a periodic box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the volume is constant"))]
    pub barostat: Option<Barostat>,
    /// Steepest descent before the first step of the dynamics, for structures in which atoms overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "nothing is minimised"))]
    pub minimise: Option<Minimise>,
    /// Harmonic restraints that hold the solute where the structure has it while a run begins, so that water and ions settle around it: in the
    /// minimisation, then for `duration`, then ever weaker. λ is held for at least as long. References are scaled with the box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "nothing is held but what the topology restrains, and the charge buffer"))]
    pub position_restraints: Option<PositionRestraints>,
    /// λ-dynamics at constant pH: which groups titrate, what moves, and what keeps the box neutral.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "nothing titrates"))]
    pub titration: Option<Titration>,
    /// Runs of this job at many pH values, for `octitrate titrate`. A job has either this section or `[calibrate]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the job is one run"))]
    pub titrate: Option<Titrate>,
    /// The free energy of a model compound over the weights of its forms, for `octitrate calibrate`: runs at fixed weights first, then free
    /// runs until their histogram is flat and the free energy is known. The length of a run at fixed weights is `dynamics.duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the job is one run"))]
    pub calibrate: Option<Calibrate>,
    /// Where results go and how often they are written. Intervals of simulated time are whole numbers of steps; `"0 ps"` means never.
    #[serde(default)]
    pub output: Output,
    /// The text this was read from, for messages.
    #[serde(skip)]
    source: Source,
}

impl Config {
    /// Reads, checks and resolves a job file.
    ///
    /// # Errors
    /// [`Error::Input`] with the place in the file if the job is not valid, [`Error::File`] if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Config> {
        let path = path.as_ref();
        if let Some(error) = not_a_job::explain(path) {
            return Err(error.into());
        }
        let text = crate::text::read(path, "read the job file")?;
        Config::parse(&text, path)
    }

    /// Does what [`Config::load`] does with a text; `path` gives the folder of relative paths and the name in messages.
    ///
    /// # Errors
    /// [`Error::Input`] with the place in the text if the job is not valid.
    pub fn parse(text: &str, path: &Path) -> Result<Config> {
        let source = Source::new(text, path);
        let mut config: Config = toml::from_str(text).map_err(|e| source.explain(&e))?;
        config.source = source;
        config.resolve(path).map_err(|e| config.locate(*e))?;
        Ok(config)
    }

    /// Checks every value and fills in those that follow from others; `path` is that of the job file.
    fn resolve(&mut self, path: &Path) -> Check {
        let bath = self.thermostat.as_ref().map(|thermostat| thermostat.temperature);
        let is_workflow = self.titrate.is_some() || self.calibrate.is_some();
        self.system.resolve()?;
        self.electrostatics.resolve()?;
        self.van_der_waals.resolve()?;
        self.neighbour_list.check()?;
        self.thermostat.as_mut().map_or(Ok(()), Thermostat::resolve)?;
        if let Some(barostat) = &self.barostat {
            barostat.check(bath, self.electrostatics.boundary, self.electrostatics.depth)?;
        }
        self.minimise.as_ref().map_or(Ok(()), Minimise::check)?;
        self.dynamics.resolve(self.thermostat.as_ref())?;
        let (step, steps) = (self.dynamics.time_step, self.steps());
        self.barostat.as_mut().map_or(Ok(()), |barostat| barostat.resolve_start(step, steps))?;
        if let Some(titration) = &mut self.titration {
            titration.resolve_temperature(bath)?;
        }
        if let Some(restraints) = &self.position_restraints {
            restraints.check(self.dynamics.time_step)?;
        }
        self.check_workflows()?;
        self.resolve_titration()?;
        self.check_barostat_start()?;
        let step = self.dynamics.time_step;
        if let Some(titration) = &mut self.titration {
            let boundary = self.electrostatics.boundary;
            titration.resolve(&Surroundings { step, boundary, ph_is_set_by_a_workflow: is_workflow })?;
        }
        self.output.check(step, is_workflow)?;
        self.resolve_paths(path)
    }

    /// Checks that a job is one run, a titration or a calibration, and that the last two have sites and a length.
    fn check_workflows(&self) -> Check {
        let name = match (&self.titrate, &self.calibrate) {
            (Some(_), Some(_)) => {
                let help = "make two job files of it";
                return Err(wrong("calibrate", "a job is either [titrate] or [calibrate]", help));
            }
            (Some(_), None) => "titrate",
            (None, Some(_)) => "calibrate",
            (None, None) => return Ok(()),
        };
        let Some(titration) = &self.titration else {
            let message = format!("[{name}] needs titratable sites, and [titration] is missing");
            return Err(wrong(name, message, "add a section [titration]"));
        };
        if titration.ph.is_some() {
            let message = format!("the pH of each run is set by [{name}]");
            return Err(wrong("titration.ph", message, "remove titration.ph"));
        }
        if self.steps() == 0 {
            let message = format!("the runs that [{name}] makes have no length");
            return Err(wrong("dynamics", message, "set dynamics.duration, the length of one run"));
        }
        self.check_restraints(name)?;
        self.titrate.as_ref().map_or(Ok(()), |titrate| titrate.check(&self.dynamics))?;
        self.calibrate.as_ref().map_or(Ok(()), |calibrate| calibrate.check(&self.dynamics))
    }

    /// Checks that restraints leave a part of each run of a titration, and that there are none in a calibration.
    fn check_restraints(&self, workflow: &str) -> Check {
        let Some(end) = self.restraints_end() else { return Ok(()) };
        if workflow == "calibrate" {
            let help = "remove [position_restraints]; calibrate.equilibration leaves out the start of each run";
            return Err(wrong("position_restraints", "the runs of a calibration begin without restraints", help));
        }
        let length = Time::new((self.length() * 1e9).round() / 1e9);
        if end.get() < length.get() {
            return Ok(());
        }
        let message = format!("atoms are held for {end}, and a run lasts {length}");
        Err(wrong("position_restraints", message, "make the runs longer, or duration and fade shorter"))
    }

    /// Time at which the restraints of `[position_restraints]` have ended.
    fn restraints_end(&self) -> Option<Time> {
        self.position_restraints.as_ref().map(|restraints| restraints.end(self.dynamics.time_step))
    }

    /// Time at which the volume is no longer constant, where `barostat.start` asks for that.
    fn barostat_start(&self) -> Option<Time> {
        self.barostat.as_ref().and_then(|barostat| barostat.start)
    }

    /// Checks that nothing of a titration is evaluated that has a constant volume, and that a calibration has no such time.
    fn check_barostat_start(&self) -> Check {
        const KEY: &str = "barostat.start";
        let Some(start) = self.barostat_start() else { return Ok(()) };
        if self.calibrate.is_some() {
            let help = "remove barostat.start; calibrate.equilibration leaves out the start of each run";
            return Err(wrong(KEY, "the runs of a calibration have one pressure from the first step on", help));
        }
        match self
            .titrate
            .as_ref()
            .and_then(|titrate| titrate.equilibration)
            .filter(|left_out| left_out.get() < start.get())
        {
            Some(left_out) => {
                let message =
                    format!("the volume is constant for {start}, and {left_out} are left out of the evaluation");
                Err(wrong(KEY, message, format!("start sooner, or set titrate.equilibration = \"{start}\" or more")))
            }
            None => Ok(()),
        }
    }

    /// Fills in what a titration has unless it says otherwise: how long λ is held, its equilibration, and charge buffers in a periodic box.
    fn resolve_titration(&mut self) -> Check {
        let restrained = self.restraints_end();
        // λ is held at constant volume, too, unless the job says how long it is held.
        let later = |a: Time, b: Time| if a.get() < b.get() { b } else { a };
        let end = restrained.into_iter().chain(self.barostat_start()).reduce(later);
        let Some(titration) = &mut self.titration else { return Ok(()) };
        let Some(titrate) = &mut self.titrate else {
            titration.relax = titration.relax.or(end);
            return titration.check_relax(restrained);
        };
        let adapting = titration.adapting(self.dynamics.time_step);
        titrate.resolve_equilibration(&mut titration.relax, (end, adapting), &self.dynamics)?;
        titrate.check_lines(&self.dynamics, self.output.lambda)?;
        titration.check_relax(restrained)?;
        if self.electrostatics.boundary == Boundary::Periodic && titration.compensation.is_none() {
            titration.buffer.get_or_insert_default();
        }
        Ok(())
    }

    /// Makes paths absolute, so that the resolved job can stand anywhere, and checks that the input files exist.
    fn resolve_paths(&mut self, path: &Path) -> Check {
        let unusable = |e: std::io::Error| InputError::new(format!("the working folder is not usable: {e}"), "");
        let file = std::path::absolute(path).map_err(unusable)?;
        let folder = file.parent().unwrap_or(Path::new("/"));
        self.system.make_absolute(folder);
        if let Some(calibrate) = &mut self.calibrate {
            calibrate.resolve_paths(folder)?;
        }
        if let Some(titrate) = &mut self.titrate {
            titrate.resolve_paths(folder)?;
        }
        if let Some(titration) = &mut self.titration {
            titration.make_absolute(folder);
        }
        self.output.resolve_paths(&file, folder)?;
        self.system.check()
    }

    /// Adds file, line and column to an error that names a key of the job file and has no file of its own.
    pub fn locate(&self, error: InputError) -> Error {
        self.source.locate(error).into()
    }

    /// Error for a key, located.
    pub fn error_at(&self, key: &str, message: impl Into<String>, help: impl Into<String>) -> Error {
        self.locate(InputError::new(message, help).at_key(key))
    }

    /// Number of steps of a run.
    pub fn steps(&self) -> u64 {
        self.dynamics.steps.unwrap_or(0)
    }

    /// Length of a run (ps).
    pub fn length(&self) -> f64 {
        self.dynamics.length()
    }

    /// The interval in steps; `None` for `"0 ps"` (never).
    pub fn interval(&self, time: quantity::Time) -> Option<u64> {
        let steps = (time.get() / self.dynamics.time_step.get()).round() as u64;
        (steps > 0).then_some(steps)
    }

    /// The job file this was read from.
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// The files and folders that the job is read from: itself, structure, frame, topology and its includes, index groups, libraries.
    pub fn inputs(&self) -> Vec<&Path> {
        let System { structure, topology, include, frame, .. } = &self.system;
        let libraries = self.titration.iter().flat_map(|titration| &titration.library);
        let of_titration = self.titrate.iter().flat_map(|titrate| &titrate.structures);
        let starts = self.calibrate.iter().flat_map(|calibrate| &calibrate.structures).chain(of_titration);
        let more = frame.iter().chain(include).chain(&self.output.index).chain(libraries).chain(starts);
        [self.path(), structure, topology].into_iter().chain(more.map(PathBuf::as_path)).collect()
    }

    /// Folder of the results.
    pub fn folder(&self) -> &Path {
        &self.output.folder
    }

    /// Path of a result file.
    pub fn result(&self, name: &str) -> PathBuf {
        self.output.folder.join(name)
    }

    /// Checks that the cut-off fits into a periodic box: a particle must not meet two images of another.
    ///
    /// # Errors
    /// [`Error::Input`] at the cut-off if it does not, with the largest that would.
    pub fn check_box(&self, periodic: &PeriodicBox) -> Result<()> {
        let (cutoff, buffer) = (self.van_der_waals.cutoff, self.neighbour_list.buffer_on_cpu());
        let shortest = periodic.image_distance();
        if 2.0 * (cutoff.get() + buffer) <= shortest {
            return Ok(());
        }
        let what = if periodic.is_rectangular() {
            format!("has an edge of {shortest} nm")
        } else {
            format!("has images at a distance of {shortest:.4} nm")
        };
        let message =
            format!("the box {what}, shorter than twice the cut-off of {cutoff} and the buffer of {buffer} nm");
        let largest = 0.5 * shortest - buffer;
        let help = format!("take a larger box, or van_der_waals.cutoff at most {largest:.3} nm");
        Err(self.error_at("van_der_waals.cutoff", message, help))
    }

    /// The whole tree as TOML, every default written out.
    ///
    /// # Errors
    /// [`Error::Input`] if a path is not Unicode.
    pub fn to_toml(&self) -> Result<String> {
        let body =
            toml::to_string(self).map_err(|e| Error::input(format!("the job cannot be written as TOML: {e}"), ""))?;
        Ok(format!("# octitrate {}: every setting of this job, defaults included\n\n{body}", env!("CARGO_PKG_VERSION")))
    }

    /// The settings that shape a trajectory, as TOML: neither how long it is, nor what is written of it, nor which runs it is one of, nor
    /// where its files lie: `checkpoint::Identity` of the engine compares what is in them.
    ///
    /// # Errors
    /// As [`Self::to_toml`].
    pub fn trajectory_settings(&self) -> Result<String> {
        let mut config = self.clone();
        config.dynamics.steps = None;
        config.output = Default::default();
        config.titrate = None;
        config.calibrate = None;
        config.system = System::default();
        if let Some(thermostat) = config.thermostat.as_mut().filter(|thermostat| !thermostat.is_langevin()) {
            // Before there was a choice it was this one.
            thermostat.kind = None;
        }
        if let Some(titration) = &mut config.titration {
            titration.library.clear();
            titration.allow_mismatch.clear();
            // The state knows for how long λ is held: a run that becomes longer keeps what it began with. Whether there is a buffer tells the rest.
            (titration.relax, titration.compensation) = (None, None);
            (titration.allow_uncalibrated, titration.strict) = (false, false);
            // Which molecules serve is told by the atoms of the sites; before names were optional this was the default.
            if let Some(buffer) = &mut titration.buffer {
                buffer.residue.get_or_insert_with(|| "SOL".into());
            }
        }
        config.to_toml()
    }

    /// Writes the whole tree to `path`, all of it or nothing.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_atomic(path, "write the resolved job", self.to_toml()?.as_bytes())
    }
}
