//! Which residues titrate, what the library knows of them, and the weights that they start with.

use crate::config::{self, Config, Start};
use crate::error::{Error, Result};
use forcefield::Topology;
use forcefield::variants::{NamedTerm, NamedVariants, SiteVariants};
use lambda::library::{Entry, SiteLibrary};
use lambda::site::{ResidueNames, Selection, Site, SiteRequest, Untitrated};

/// A site with the request that asked for it, and the number of that (`None`: all residues of the library are wanted).
pub(super) struct Found<'a> {
    pub site: Site,
    pub request: Option<(usize, &'a config::SiteSettings)>,
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

/// The titratable sites that a job asks for; all that there are if it names none.
pub(super) fn find<'a>(
    config: &Config,
    settings: &'a config::Titration,
    topology: &Topology,
    library: &SiteLibrary,
) -> Result<Vec<Found<'a>>> {
    let refused = |e: lambda::site::SiteError| config.error_at("titration.site", e.to_string(), "");
    if settings.sites.is_empty() {
        // A buffer that keeps nothing neutral may be alone.
        let alone = settings.buffer.as_ref().is_some_and(|buffer| !buffer.neutral || buffer.fixed.is_some());
        return match lambda::find_sites(topology, library, Selection::All) {
            Ok(sites) => Ok(sites.into_iter().map(|site| Found { site, request: None }).collect()),
            Err(lambda::site::SiteError::None { .. }) if alone => Ok(Vec::new()),
            Err(e) => Err(refused(e)),
        };
    }
    let (mut residues, mut requests) = (Vec::new(), Vec::new());
    for (index, request) in settings.sites.iter().enumerate() {
        let named = residues_named(topology, request.residue.trim());
        let mut found = if named.is_empty() { vec![request.residue.parse().map_err(refused)?] } else { named };
        found.iter_mut().for_each(|one| one.entry = request.entry.clone().or(one.entry.take()));
        requests.extend(std::iter::repeat_n((index, request), found.len()));
        residues.extend(found);
    }
    let sites = lambda::find_sites(topology, library, Selection::Residues(&residues)).map_err(refused)?;
    Ok(sites.into_iter().zip(requests).map(|(site, request)| Found { site, request: Some(request) }).collect())
}

/// Groups that the library knows and that are not among the sites.
///
/// # Errors
/// If every group is wanted, `strict`, and one of them could titrate had it been built so.
pub(super) fn left_fixed(
    config: &Config,
    settings: &config::Titration,
    topology: &Topology,
    library: &SiteLibrary,
    found: &[Found<'_>],
) -> Result<Vec<Untitrated>> {
    let sites: Vec<Site> = found.iter().map(|one| one.site.clone()).collect();
    let list = lambda::site::untitrated(topology, library, &sites);
    let lacking: Vec<String> = list.iter().filter(|one| !one.is_bonded).map(Untitrated::to_string).collect();
    if settings.strict && settings.sites.is_empty() && !lacking.is_empty() {
        let message = format!("{} groups of the library do not titrate: {}", lacking.len(), lacking.join("; "));
        let help = "build them protonated, name the sites with [[titration.site]], or set strict = false";
        return Err(config.error_at("titration.strict", message, help));
    }
    Ok(list)
}

/// What an entry says of its forms besides charges, by the names of the atoms of a residue.
fn named(entry: &Entry, topology: &Topology, residue: u32) -> NamedVariants {
    let names = lambda::site::atom_names(topology, entry, residue);
    let name = |atom: &String| names.get(atom).unwrap_or(atom).clone();
    let term = |term: &lambda::library::BondedEntry| NamedTerm {
        atoms: term.atoms.iter().map(name).collect(),
        function: u8::try_from(term.function).unwrap_or(u8::MAX),
        parameters: term.parameters.clone(),
    };
    let lj_types = entry.lj_types.iter().map(|(atom, types)| (name(atom), types.clone())).collect();
    NamedVariants { lj_types, bonded: entry.bonded.iter().map(term).collect() }
}

/// What differs between the forms of `site` besides charges.
///
/// # Errors
/// Names of types or atoms that the topology does not have.
pub(super) fn variants(
    config: &Config,
    topology: &Topology,
    library: &SiteLibrary,
    site: &Site,
) -> Result<SiteVariants> {
    let mut all = SiteVariants::default();
    let Some(entry) = library.entry_of(site) else { return Ok(all) };
    if entry.lj_types.is_empty() && entry.bonded.is_empty() {
        return Ok(all);
    }
    for &residue in &site.residues {
        let one = named(entry, topology, residue).resolve(topology, residue, site.forms.len());
        all.extend(one.map_err(|e| config.error_at("titration.library", format!("{}: {e}", site.name), ""))?);
    }
    Ok(all)
}

/// Lennard-Jones types that the forms of titratable residues may have.
///
/// # Errors
/// As [`library`].
pub fn lj_types(config: &Config) -> Result<Vec<String>> {
    if config.titration.is_none() {
        return Ok(Vec::new());
    }
    let entries = library(config)?.entries;
    Ok(entries.iter().flat_map(|entry| entry.lj_types.values().flatten().cloned()).collect())
}

/// Every residue called `name`.
fn residues_named(topology: &Topology, name: &str) -> Vec<SiteRequest> {
    let names = ResidueNames::new(topology);
    let residues = (0..).zip(&topology.residues).filter(|(_, residue)| residue.name == name);
    residues.map(|(index, _)| names.of(index)).collect()
}

impl Found<'_> {
    /// Whether the site is held.
    pub fn is_fixed(&self) -> bool {
        self.request.is_some_and(|(_, request)| request.fixed.is_some())
    }

    /// Weights at the start: those of the request, else equal ones.
    pub fn weights(&self, config: &Config) -> Result<Vec<f64>> {
        let forms = &self.site.forms;
        let n = forms.len();
        let Some((index, start)) = self.request.and_then(|(i, r)| Some((i, r.fixed.as_ref().or(r.initial.as_ref())?)))
        else {
            return Ok(vec![1.0 / n as f64; n]);
        };
        let name = if self.is_fixed() { "fixed" } else { "initial" };
        let wrong = |message: String, help: String| {
            Err(config.error_at(&format!("titration.site.{index}.{name}"), message, help))
        };
        let site = &self.site.name;
        match start {
            Start::Lambda(lambda) if n == 2 => Ok(vec![1.0 - lambda, *lambda]),
            Start::Lambda(lambda) => wrong(
                format!("found λ = {lambda} for the {n} forms of {site}"),
                format!("valid are {n} weights, or the name of a form"),
            ),
            Start::Weights(weights) if weights.len() == n => {
                let sum: f64 = weights.iter().sum();
                Ok(weights.iter().map(|w| w / sum).collect())
            }
            Start::Weights(weights) => {
                let names: Vec<&str> = forms.iter().map(|form| form.name.as_str()).collect();
                wrong(
                    format!("found {} weights for the {n} forms of {site}", weights.len()),
                    format!("give one for each of {}", names.join(", ")),
                )
            }
            Start::Form(name) => match forms.iter().position(|form| form.name == *name) {
                Some(form) => Ok((0..n).map(|k| if k == form { 1.0 } else { 0.0 }).collect()),
                None => {
                    let names: Vec<String> = forms.iter().map(|form| format!("\"{}\"", form.name)).collect();
                    wrong(format!("\"{name}\" is not a form of {site}"), format!("valid are {}", names.join(", ")))
                }
            },
        }
    }
}
