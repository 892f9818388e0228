//! Titratable sites of a run: found in the topology, with their bias, and the dynamics of their λ.
//!
//! Per site the whole potential of λ is V_forcefield(λ) + V_bias(λ). V_forcefield comes from
//! [`crate::hamiltonian::Hamiltonian`], V_bias (barrier, walls, V_pH, V_MM) is here. A site held at a fixed λ (windows of a
//! calibration) has no bias: its ∂V/∂λ is that of the force field.

use crate::config::{self, Config, PhTerm};
use crate::error::{Error, PhysicsError, Result};
use forcefield::Topology;
use forcefield::topology::Pair14;
use kernels::device::Device;
use lambda::bias::{Barrier, BiasTerms, ModelCorrection, PhPotential, SiteBias};
use lambda::device::{DeviceSites, SitesError};
use lambda::dynamics::{LambdaDynamics, LambdaEnergies, LambdaSettings, LambdaState};
use lambda::library::{Correction, SiteLibrary};
use lambda::site::{Selection, Site, SiteRequest};

/// The sites of a run.
#[derive(Debug)]
pub struct Sites {
    /// What titrates.
    pub sites: Vec<Site>,
    biases: Vec<Option<SiteBias>>,
    start: Vec<f64>,
    dynamics: LambdaDynamics,
    /// The same without a thermostat, to look half a step ahead.
    free: LambdaDynamics,
}

impl Sites {
    /// Finds the sites that the job asks for; `None` if it has no `[titration]`.
    ///
    /// # Errors
    /// [`crate::error::InputError`] that names the key: unknown residue, atoms missing, no calibration, library not readable.
    pub fn new(config: &Config, topology: &Topology) -> Result<Option<Self>> {
        let Some(settings) = &config.titration else {
            return Ok(None);
        };
        let library = library(config)?;
        let (sites, requests) = find(config, settings, topology, &library)?;
        let temperature = temperature(config, settings);
        let barrier = Barrier::solve(settings.barrier.get())
            .map_err(|e| config.error_at("titration.barrier", e.to_string(), ""))?;
        let mut biases = Vec::with_capacity(sites.len());
        for (site, request) in sites.iter().zip(&requests) {
            let free = request.is_none_or(|r| r.fixed.is_none());
            biases.push(if free { Some(bias(config, settings, site, &barrier, temperature)?) } else { None });
        }
        let start = requests
            .iter()
            .map(|request| request.and_then(|r| r.fixed.or(r.initial)).unwrap_or(config::titration::INITIAL_LAMBDA))
            .collect();
        let coupling_time = config.thermostat.as_ref().map(|_| settings.coupling_time.get());
        let motion = LambdaSettings {
            time_step: config.dynamics.time_step.get(),
            mass: settings.mass.get(),
            temperature,
            coupling_time,
            seed: config.dynamics.seed,
        };
        let dynamics =
            |motion| LambdaDynamics::new(motion).map_err(|e| config.error_at("titration", e.to_string(), ""));
        Ok(Some(Self {
            sites,
            biases,
            start,
            dynamics: dynamics(motion)?,
            free: dynamics(LambdaSettings { coupling_time: None, ..motion })?,
        }))
    }

    /// The same on a device, for a system of `n_atoms` atoms with these 1-4 pairs; random numbers for `steps` steps at a time.
    ///
    /// # Errors
    /// Out of memory.
    pub fn on_device(
        &self,
        device: &Device,
        pairs: &[Pair14],
        n_atoms: usize,
        steps: usize,
    ) -> std::result::Result<DeviceSites, SitesError> {
        DeviceSites::new(device, &self.sites, &self.biases, pairs, &self.dynamics, (n_atoms, steps))
    }

    /// Names of the sites, and what to know before trusting them.
    pub fn describe(&self, topology: &Topology) -> (Vec<String>, Vec<String>) {
        let names = self.sites.iter().map(|site| site.name.clone()).collect();
        let of_form = |site: &Site, form: usize| site.forms[form].charges.iter().sum::<f64>();
        let charge = topology.net_charge();
        let change: f64 = self.sites.iter().map(|site| of_form(site, 1) - of_form(site, 0)).sum();
        let warning = format!(
            "the net charge moves between {charge:+.2} and {:+.2} e with λ and is compensated by a uniform background: \
             free energies depend on the size of the box",
            charge + change
        );
        (names, vec![warning])
    }

    /// λ at the start, with Maxwell velocities where it is free.
    ///
    /// # Errors
    /// A start value out of range.
    pub fn initial_state(&self) -> Result<LambdaState> {
        let mut state = self.dynamics.initial_state(&self.start).map_err(|e| Error::input(e.to_string(), ""))?;
        for (site, _) in self.biases.iter().enumerate().filter(|(_, bias)| bias.is_none()) {
            state.hold(site);
        }
        Ok(state)
    }

    /// Bias of every site at `lambda`; nothing for sites held fixed.
    pub fn bias(&self, lambda: &[f64]) -> Vec<BiasTerms> {
        let one = |(bias, &lambda): (&Option<SiteBias>, &f64)| {
            bias.as_ref().map_or_else(BiasTerms::default, |bias| bias.evaluate(lambda))
        };
        self.biases.iter().zip(lambda).map(one).collect()
    }

    /// One step of λ with forces −`dvdl` (kJ/mol, of the force field) and those of the bias.
    ///
    /// # Errors
    /// [`PhysicsError`]: dV/dλ not finite, λ through the walls.
    pub fn advance(&self, state: &mut LambdaState, dvdl: &[f64], step: u64) -> Result<LambdaEnergies> {
        self.step(&self.dynamics, state, dvdl, step)
    }

    /// As [`Self::advance`], without the thermostat.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub fn look_ahead(&self, state: &mut LambdaState, dvdl: &[f64], step: u64) -> Result<LambdaEnergies> {
        self.step(&self.free, state, dvdl, step)
    }

    fn step(
        &self,
        dynamics: &LambdaDynamics,
        state: &mut LambdaState,
        dvdl: &[f64],
        step: u64,
    ) -> Result<LambdaEnergies> {
        let bias = self.bias(&state.lambda);
        let derivatives: Vec<f64> = dvdl.iter().zip(&bias).map(|(dvdl, bias)| dvdl + bias.total().derivative).collect();
        dynamics.step(state, &derivatives, step).map_err(|e| {
            PhysicsError { message: e.to_string(), term: "λ".into(), step: Some(step), ..PhysicsError::default() }
                .into()
        })
    }
}

/// The library of a job: entries of the files it names first, then the built-in ones.
///
/// # Errors
/// [`Error::Input`] that names the key and the file.
pub fn library(config: &Config) -> Result<SiteLibrary> {
    let mut library = SiteLibrary::default();
    for (index, path) in config.titration.iter().flat_map(|titration| &titration.library).enumerate() {
        let key = format!("titration.library.{index}");
        library.extend(SiteLibrary::from_path(path).map_err(|e| config.error_at(&key, e.to_string(), ""))?);
    }
    let builtin = SiteLibrary::builtin();
    library.extend(builtin.map_err(|e| Error::input(format!("library of titratable residues: {e}"), ""))?);
    Ok(library)
}

type Requests<'a> = Vec<Option<&'a config::SiteRequest>>;

/// The sites, each with the request that asked for it (`None`: all residues of the library are wanted).
fn find<'a>(
    config: &Config,
    settings: &'a config::Titration,
    topology: &Topology,
    library: &SiteLibrary,
) -> Result<(Vec<Site>, Requests<'a>)> {
    let refused = |e: lambda::site::SiteError| config.error_at("titration.site", e.to_string(), "");
    if settings.sites.is_empty() {
        let sites = lambda::find_sites(topology, library, Selection::All).map_err(refused)?;
        let requests = vec![None; sites.len()];
        return Ok((sites, requests));
    }
    let mut residues = Vec::new();
    let mut requests = Vec::new();
    for request in &settings.sites {
        let named = residues_named(topology, request.residue.trim());
        let found = if named.is_empty() { vec![request.residue.parse().map_err(refused)?] } else { named };
        requests.extend(std::iter::repeat_n(Some(request), found.len()));
        residues.extend(found);
    }
    let sites = lambda::find_sites(topology, library, Selection::Residues(&residues)).map_err(refused)?;
    Ok((sites, requests))
}

/// Every residue called `name`.
fn residues_named(topology: &Topology, name: &str) -> Vec<SiteRequest> {
    let residues = topology.residues.iter().filter(|residue| residue.name == name);
    residues
        .map(|residue| SiteRequest {
            molecule: Some(residue.molecule + 1),
            name: residue.name.clone(),
            number: residue.number,
        })
        .collect()
}

/// Temperature of λ and of V_pH (K): the job's, the thermostat's, or 300 K.
fn temperature(config: &Config, settings: &config::Titration) -> f64 {
    let own = settings.temperature.or_else(|| config.thermostat.as_ref().map(|t| t.temperature));
    own.unwrap_or_else(|| config::Thermostat::default().temperature).get()
}

/// The bias of a site that is free to move.
fn bias(
    config: &Config,
    settings: &config::Titration,
    site: &Site,
    barrier: &Barrier,
    temperature: f64,
) -> Result<SiteBias> {
    let Some(ph) = settings.ph else {
        return Err(config.error_at(
            "titration",
            "no pH: the key `ph` is missing",
            "a site that is not `fixed` needs it",
        ));
    };
    let Correction::Calibrated(calibration) = &site.correction else {
        let message = format!("{} of {} has no calibrated correction V_MM", site.entry, site.name);
        let help = "run `octitrate calibrate` and name the file it writes in titration.library";
        return Err(config.error_at("titration.site", message, help));
    };
    let correction = ModelCorrection::from_calibration(calibration)
        .map_err(|e| config.error_at("titration.library", e.to_string(), ""))?;
    let term = match settings.ph_term {
        PhTerm::Linear => PhPotential::linear(site.pka, ph, temperature),
        PhTerm::Smoothed => PhPotential::smoothed(site.pka, ph, temperature, barrier),
    };
    let term = term.map_err(|e| config.error_at("titration.ph", e.to_string(), ""))?;
    Ok(SiteBias { barrier: *barrier, ph: Some(term), correction: Some(correction) })
}
