//! How the sites of a job come together, step by step: what moves in those that were found, the molecules of the buffer, the recipes of the biases, the buffer as the
//! last site, and what corrections and rotamers need to know of all of them.

use super::bias::Recipe;
use super::buffer::{self, ChargeBuffer, Demand};
use super::conditions;
use super::find::Found;
use super::mismatch::{self, Checked, Used};
use super::warnings::background;
use super::{coordinate, reachable, site_motion};
use crate::config::{self, Config};
use crate::error::Result;
use crate::record::Labels;
use forcefield::variants::SiteVariants;
use forcefield::{Cell, Topology};
use lambda::coordinate::Coordinate;
use lambda::library::{Conditions, SiteLibrary};
use lambda::motion::SiteMotion;
use lambda::site::Site;
use nalgebra::Vector3;

/// What is known of the sites so far.
#[derive(Default)]
pub(super) struct Gathered {
    pub sites: Vec<Site>,
    pub motion: Vec<SiteMotion>,
    /// Weights of each at the start.
    pub weights: Vec<Vec<f64>>,
    pub recipes: Vec<Recipe>,
    /// Charge that the sites and the buffer keep together, e; none without a buffer that follows them.
    pub total_charge: Option<f64>,
    /// Whether the buffer keeps the system neutral.
    pub is_neutral: bool,
    /// What the job adds to corrections, in words.
    pub offsets: Vec<String>,
    /// The buffer in words.
    pub facts: Vec<(&'static str, String)>,
    pub warnings: Vec<String>,
}

impl Gathered {
    /// The sites that were found, their coordinates, and the weights at which they start.
    ///
    /// # Errors
    /// A coordinate that the forms of a site cannot have; weights that are none.
    pub fn new(config: &Config, settings: &config::Titration, found: &[Found<'_>]) -> Result<Self> {
        let mut all = Self::default();
        for (number, one) in found.iter().enumerate() {
            let coordinate = coordinate(config, settings, one)?;
            all.weights.push(reachable(coordinate, one.weights(config, settings, number)?));
            all.motion.push(site_motion(&one.site, coordinate, settings));
            all.sites.push(one.site.clone());
        }
        Ok(all)
    }

    /// The molecules of the buffer, chosen and restrained in `topology` at `x` (nm), and what the sites ask of them beside the charge `rest` (e) of all else. None if the
    /// job has no buffer or nothing repeats: the background takes up the charge of a periodic system then.
    ///
    /// # Errors
    /// A charge that the buffer cannot take up; no molecules for it.
    pub fn choose_buffer(
        &mut self,
        config: &Config,
        library: &SiteLibrary,
        topology: &mut Topology,
        (x, cell): (&[Vector3<f64>], Cell),
        (found, rest): (&[Found<'_>], f64),
    ) -> Result<Option<(ChargeBuffer, Demand)>> {
        if !cell.is_periodic() {
            return Ok(None);
        }
        let Some(settings) = config.titration.as_ref().and_then(|titration| titration.buffer.as_ref()) else {
            self.warnings.extend(background(found, topology.net_charge()));
            return Ok(None);
        };
        let moves: Vec<(&Site, bool)> = found.iter().map(|one| (&one.site, !one.is_fixed())).collect();
        let demand = Demand::new(&moves, &self.weights, rest);
        Ok(Some((buffer::choose(config, settings, library, topology, x, cell, demand)?, demand)))
    }

    /// What the bias of each site that moves is made of.
    ///
    /// # Errors
    /// As [`Recipe::new`].
    pub fn add_recipes(
        &mut self,
        config: &Config,
        settings: &config::Titration,
        found: &[Found<'_>],
        temperature: f64,
    ) -> Result<()> {
        let place = |one: &'_ Found<'_>| one.request.and_then(|(_, request)| request.place.clone());
        let places: Vec<_> = found.iter().map(place).collect();
        let named = found.iter().zip(&places).map(|(one, place)| (one.site.name.as_str(), place.as_ref()));
        let labels = Labels::new(named);
        for (index, one) in found.iter().enumerate().filter(|(_, one)| !one.is_fixed()) {
            let barrier = one.request.and_then(|(_, request)| request.barrier).unwrap_or(settings.barrier);
            let at = (index, &one.site);
            let offset = one.request.and_then(|(_, request)| request.offset);
            let name = labels.of(&one.site.name);
            self.offsets.extend(offset.map(|offset| format!("{name}: {offset} more for each proton lost")));
            let offset = offset.map_or(0.0, |offset| offset.get());
            let coordinate = self.motion[index].coordinate;
            self.recipes.push(Recipe::new(config, settings, at, coordinate, barrier, offset, temperature)?);
        }
        Ok(())
    }

    /// The buffer as the last site, with its bias if it moves.
    ///
    /// # Errors
    /// As [`buffer::recipe`].
    pub fn add_buffer(
        &mut self,
        config: &Config,
        settings: &config::Titration,
        (chosen, demand): (ChargeBuffer, Demand),
        rest: f64,
    ) -> Result<()> {
        let ChargeBuffer { site, lambda, neutral, facts, warnings } = chosen;
        self.is_neutral = neutral;
        // With nothing to follow there is nothing to move: the charge is kept by λ where it is.
        let moves = if neutral { demand.sites > 0 } else { is_free(settings) };
        let coordinate = if moves { Coordinate::Linear } else { Coordinate::Fixed };
        if moves {
            let (recipe, doubt) = buffer::recipe(config, settings, self.sites.len(), &site)?;
            self.recipes.push(recipe);
            self.warnings.extend(doubt);
            self.total_charge = neutral.then_some(-rest);
        }
        self.motion.push(site_motion(&site, coordinate, settings));
        self.weights.push(vec![1.0 - lambda, lambda]);
        self.sites.push(site);
        self.warnings.extend(warnings);
        self.facts = facts;
        Ok(())
    }

    /// What the free energy of each site depends on.
    pub fn conditions(
        &self,
        config: &Config,
        topology: &Topology,
        library: &SiteLibrary,
        temperature: f64,
    ) -> Vec<Conditions> {
        let common = conditions::common(config, topology, &self.sites, temperature, self.is_neutral);
        let solvent = conditions::solvent_atoms(topology, &self.sites);
        let of_site = |site| conditions::of_site(&common, topology, library, site, solvent.as_ref());
        self.sites.iter().map(of_site).collect()
    }

    /// For each entry in use where its correction comes from, and what the job adds to it.
    ///
    /// # Errors
    /// A correction that was made under other `conditions`, unless the job allows it.
    pub fn corrections(
        &mut self,
        config: &Config,
        settings: &config::Titration,
        (topology, library): (&Topology, &SiteLibrary),
        conditions: &[Conditions],
    ) -> Result<Vec<String>> {
        // The windows of a calibration hold its buffer, and the free runs after them need its correction.
        let is_used = |index: usize| {
            self.sites[index].is_buffer() && is_free(settings) || self.recipes.iter().any(|one| one.index == index)
        };
        let used: Vec<Used<'_>> = (0..self.sites.len())
            .filter(|&index| is_used(index))
            .map(|index| {
                let (site, job) = (&self.sites[index], &conditions[index]);
                Used { site, job, likeness: conditions::likeness(topology, library, site, job) }
            })
            .collect();
        let checked = mismatch::check(config, &settings.allow_mismatch, topology, &used)?;
        let Checked { warnings, facts: mut corrections } = checked;
        self.warnings.extend(warnings);
        corrections.append(&mut self.offsets);
        Ok(corrections)
    }

    /// Lowers the barriers between rotamers of the groups, if the job wants it, and says so.
    pub fn ease_rotamers(
        &self,
        settings: &config::Titration,
        topology: &mut Topology,
        variants: &mut [SiteVariants],
    ) -> Option<String> {
        let lowered = settings.ease_rotamers?;
        let groups = self.sites.iter().filter(|one| !one.is_buffer());
        let atoms: Vec<u32> = groups.flat_map(|one| one.atoms.iter().copied()).collect();
        let before = topology.propers.len();
        let bonds = lambda::site::ease_rotamers(topology, &atoms, lowered.get());
        variants.iter_mut().for_each(|one| one.share(&topology.propers[before..]));
        Some(match bonds {
            0 => "no side chain of a site has a bond whose barrier could be lower".into(),
            1 => format!("the barrier about one bond is {lowered} lower"),
            bonds => format!("barriers about {bonds} bonds are {lowered} lower"),
        })
    }
}

/// Whether the job has a buffer that it does not hold.
fn is_free(settings: &config::Titration) -> bool {
    settings.buffer.as_ref().is_some_and(|buffer| buffer.fixed.is_none())
}
