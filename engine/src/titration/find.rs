//! Which residues titrate, what the library knows of them, and the weights that they start with.

use super::bias::UNCALIBRATED;
use crate::config::{self, Config, PhTerm, Start};
use crate::error::{Error, Result};
use forcefield::Topology;
use forcefield::fnv::Fnv1a;
use forcefield::variants::{NamedTerm, NamedVariants, SiteVariants};
use lambda::library::{Correction, Entry, LibraryError, SiteLibrary};
use lambda::site::{Form, ResidueNames, Selection, Site, SiteRequest, Untitrated};

/// A site with the request that asked for it, and the number of that (`None`: all residues of the library are wanted).
pub(super) struct Found<'a> {
    pub site: Site,
    pub request: Option<(usize, &'a config::SiteSettings)>,
}

/// What a job can do in which nothing titrates.
const PROTONS: &str = "build what shall titrate with every proton that it can have, Glu as GLH, Asp as ASH, His as HIP, and Lys, Arg, Tyr and Cys as they are; \
                       `octitrate prepare` of a PDB file does so, and `octitrate info` lists all names";

/// What a library is.
const FILES: &str =
    "name the file of an entry, or a folder with such files; a relative path counts from the folder of the job";

/// The library of a job: entries of the files it names first, then the built-in ones.
///
/// # Errors
/// [`Error::Input`] that names the key and the file.
pub fn library(config: &Config) -> Result<SiteLibrary> {
    let mut library = SiteLibrary::default();
    for (index, path) in config.titration.iter().flat_map(|titration| &titration.library).enumerate() {
        let key = format!("titration.library.{index}");
        let refused = |error| match error {
            LibraryError::Io { path, source } => {
                config.error_at(&key, Error::file(&path, "read the library", source).to_string(), FILES)
            }
            other => config.error_at(&key, other.to_string(), ""),
        };
        library.extend(SiteLibrary::from_path(path).map_err(refused)?);
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
            Err(e @ lambda::site::SiteError::None { .. }) => Err(config.error_at("titration", e.to_string(), PROTONS)),
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

/// Refuses sites without a correction, and those at the end of a chain where it is not known; names all of them.
pub(super) fn are_known<'a>(
    config: &Config,
    topology: &Topology,
    library: &SiteLibrary,
    found: impl Iterator<Item = &'a Found<'a>>,
) -> Result<()> {
    // Reasons in the order of the sites, with the names of all that have one.
    let mut lacking: Vec<(String, Vec<&str>)> = Vec::new();
    for one in found {
        let entry = one.site.entry_in(library);
        let at_an_end = entry.and_then(|entry| lambda::site::no_correction(topology, entry, one.site.residues[0]));
        let without = matches!(one.site.correction, Correction::Uncalibrated);
        let reason = at_an_end.or_else(|| without.then(|| format!("{} {UNCALIBRATED}", one.site.entry)));
        let Some(reason) = reason else { continue };
        match lacking.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&one.site.name),
            None => lacking.push((reason, vec![&one.site.name])),
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = lacking.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect();
    let help = "run `octitrate calibrate` and name the file it writes in titration.library, or leave the sites out";
    Err(config.error_at("titration.site", lines.join("; "), help))
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
        let message = match &lacking[..] {
            [one] => format!("a group of the library does not titrate: {one}"),
            all => format!("{} groups of the library do not titrate: {}", all.len(), all.join("; ")),
        };
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
    let here = &topology.residues[residue as usize].name;
    let types = entry.lj_types.iter().filter(|one| one.is_in(here));
    let lj_types = types.map(|one| (name(&one.atom), one.types.clone())).collect();
    NamedVariants { lj_types, bonded: entry.bonded.iter().filter(|one| one.is_in(here)).map(term).collect() }
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
    let Some(entry) = site.entry_in(library) else { return Ok(all) };
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
    Ok(entries.iter().flat_map(|entry| entry.lj_types.iter().flat_map(|one| one.types.clone())).collect())
}

/// Every residue called `name`.
fn residues_named(topology: &Topology, name: &str) -> Vec<SiteRequest> {
    let names = ResidueNames::new(topology);
    let residues = (0..).zip(&topology.residues).filter(|(_, residue)| residue.name == name);
    residues.map(|(index, _)| names.of(index)).collect()
}

/// pK units within which two forms are taken for equally likely: pK values have two decimals.
const EQUAL: f64 = 1e-6;

/// Weights of `form` alone.
fn whole(n: usize, form: usize) -> Vec<f64> {
    (0..n).map(|k| if k == form { 1.0 } else { 0.0 }).collect()
}

/// The form that a site starts with at this pH: by G_α/(RT ln 10) = pK_α − d_α (pH − `shift`) the number of lost protons d that is most likely, all forms that
/// have it together, and of these forms that of lowest G. Of equal ones, such as the two places of a proton on a carboxyl group, site `number` of the
/// run with this seed draws one, so that all of them are the start of some run.
fn most_likely(forms: &[Form], ph: f64, shift: f64, seed: u64, number: usize) -> usize {
    let level = |form: &Form| form.pk - f64::from(form.protons_lost) * (ph - shift);
    let lowest = |among: &mut dyn Iterator<Item = &Form>| among.map(level).fold(f64::INFINITY, f64::min);
    let all = lowest(&mut forms.iter());
    let weight = |lost: u32| -> f64 {
        forms.iter().filter(|form| form.protons_lost == lost).map(|form| 10f64.powf(all - level(form))).sum()
    };
    // the first of equals
    let likelier = |best: u32, form: &Form| {
        if weight(form.protons_lost) > weight(best) * (1.0 + EQUAL) { form.protons_lost } else { best }
    };
    let lost = forms.iter().fold(forms[0].protons_lost, likelier);
    let least = lowest(&mut forms.iter().filter(|form| form.protons_lost == lost));
    let is_one = |form: &Form| form.protons_lost == lost && level(form) < least + EQUAL;
    let equal: Vec<usize> = (0..forms.len()).filter(|&k| is_one(&forms[k])).collect();
    let mut hash = Fnv1a::default();
    hash.bytes(&seed.to_le_bytes());
    hash.index(number as u32);
    // The low bits of this hash are those that depend least on the first bytes.
    equal[((hash.value() >> 32) % equal.len() as u64) as usize]
}

impl Found<'_> {
    /// Whether the site is held.
    pub fn is_fixed(&self) -> bool {
        self.request.is_some_and(|(_, request)| request.fixed.is_some())
    }

    /// `start_pka` of the request less the pKa of the model compound; zero without one.
    fn shift(&self, config: &Config) -> Result<f64> {
        let Some((index, asked)) = self.request.and_then(|(i, r)| Some((i, r.start_pka?))) else { return Ok(0.0) };
        self.site.pka.map(|pka| asked - pka).ok_or_else(|| {
            let message = format!("the entry {} of {} has no pKa to start from", self.site.entry, self.site.name);
            let key = format!("titration.site.{index}.start_pka");
            config.error_at(&key, message, "say the form in `initial`, or add `pka` to the entry")
        })
    }

    /// Weights at the start: those of the request, else those of the form that is most likely at the pH of the run; `number` is that of the site.
    pub fn weights(&self, config: &Config, settings: &config::Titration, number: usize) -> Result<Vec<f64>> {
        let forms = &self.site.forms;
        let n = forms.len();
        let Some((index, start)) = self.request.and_then(|(i, r)| Some((i, r.fixed.as_ref().or(r.initial.as_ref())?)))
        else {
            let ph = settings.ph.filter(|_| settings.ph_term != PhTerm::None);
            let shift = self.shift(config)?;
            return Ok(match ph {
                Some(ph) => whole(n, most_likely(forms, ph, shift, config.dynamics.seed, number)),
                None => vec![1.0 / n as f64; n],
            });
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
                Some(form) => Ok(whole(n, form)),
                None => {
                    let names: Vec<String> = forms.iter().map(|form| format!("\"{}\"", form.name)).collect();
                    wrong(format!("\"{name}\" is not a form of {site}"), format!("valid are {}", names.join(", ")))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(pk: f64, protons_lost: u32) -> Form {
        Form { name: "f".into(), charges: vec![0.0], protons_lost, pk, nominal_charge: 0.0 }
    }

    #[test]
    fn sites_start_in_the_form_of_their_model_pka() {
        let glu = [form(0.0, 0), form(4.25, 1)];
        assert_eq!([2.0, 4.2, 4.3, 9.0].map(|ph| most_likely(&glu, ph, 0.0, 1, 0)), [0, 0, 1, 1]);
        let his = [form(0.0, 0), form(6.92, 1), form(6.53, 1)];
        assert_eq!([5.0, 7.0].map(|ph| most_likely(&his, ph, 0.0, 1, 0)), [0, 2]);
        // Two protons lost at high pH.
        let two = [form(0.0, 0), form(3.0, 1), form(9.0, 2)];
        assert_eq!([2.0, 4.0, 7.0].map(|ph| most_likely(&two, ph, 0.0, 1, 0)), [0, 1, 2]);
    }

    /// Forms of one number of protons count together: the pKa of this carboxyl group is 3.949 + log10 2 = 4.25, that of this His
    /// 7.08 - log10(1 + 10^0.39) = 6.54.
    #[test]
    fn the_macroscopic_pka_decides() {
        let glu3 = [form(0.0, 0), form(0.0, 0), form(3.949, 1)];
        let lost = |ph: f64, shift: f64| glu3[most_likely(&glu3, ph, shift, 1, 0)].protons_lost;
        assert_eq!([4.24, 4.26].map(|ph| lost(ph, 0.0)), [0, 1]);
        assert_eq!([6.14, 6.16].map(|ph| lost(ph, 1.9)), [0, 1]);
        let his = [form(0.0, 0), form(7.08, 1), form(6.69, 1)];
        assert_eq!([6.53, 6.55].map(|ph| most_likely(&his, ph, 0.0, 1, 0)), [0, 2]);
        assert_eq!([3.03, 3.05].map(|ph| most_likely(&his, ph, -3.5, 1, 0)), [0, 2]);
        // Two steps move together.
        let two = [form(0.0, 0), form(3.0, 1), form(9.0, 2)];
        assert_eq!([3.9, 4.1, 6.9, 7.1].map(|ph| most_likely(&two, ph, 1.0, 1, 0)), [0, 1, 1, 2]);
    }

    /// The two places of a carboxyl proton are drawn about equally often over runs and over sites, and always alike for the same run.
    #[test]
    fn equal_forms_are_all_used() {
        let glu3 = [form(0.0, 0), form(0.0, 0), form(4.25, 1)];
        assert_eq!(most_likely(&glu3, 2.0, 0.0, 3, 5), most_likely(&glu3, 2.0, 0.0, 3, 5));
        let seconds = |draws: &mut dyn Iterator<Item = usize>| draws.filter(|&form| form == 1).count();
        // 200 draws of one half each: 100 ± 7; five times that are allowed.
        let over_runs = seconds(&mut (0..200).map(|seed| most_likely(&glu3, 2.0, 0.0, seed, 0)));
        let over_sites = seconds(&mut (0..200).map(|site| most_likely(&glu3, 2.0, 0.0, 1, site)));
        assert!((65..=135).contains(&over_runs) && (65..=135).contains(&over_sites), "{over_runs} {over_sites}");
        assert!((0..200).all(|seed| most_likely(&glu3, 7.0, 0.0, seed, 0) == 2));
    }
}
