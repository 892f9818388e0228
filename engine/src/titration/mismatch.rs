//! Whether the corrections V_MM that a job uses were made under its own conditions.
//!
//! V_MM is minus the free energy F of the model compound, as the force field of the calibration has it. A job of other conditions has another F, and
//! its pKa values are wrong by (F_job − F)/(RT ln 10). What differs is refused unless `titration.allow_mismatch` names it:
//!
//! | name | what differs | effect on F |
//! |---|---|---|
//! | `interpolation` | energies or charges linear in the weights | 93 kJ/mol λ(1−λ) for Glu: other curvature, same ends |
//! | `images` | the site's own images in the bracket | −½ k_e 2.8373 ΔQ² λ(1−λ)/L: 60 kJ/mol λ(1−λ) at 3.3 nm |
//! | `temperature` | temperature of λ by more than [`TEMPERATURE`] | its entropy, see there |
//! | `cutoff`, `modifier` | Lennard-Jones interactions; compared exactly, any change is another force field | |
//! | `water` | solvent | several kJ/mol between models |
//! | `boundary` | periodic or open | k_e ΔQ²/L |
//! | `parameters` | Lennard-Jones, angles, torsions of the group | up to the size of the torsions |
//! | `pairs` | Lennard-Jones pairs beside the combination rule (CUFIX) in its model compound | 3 kJ/mol for a contact of amine and carboxyl |
//!
//! A name alone allows a difference from all corrections, `parameters of glu` from those of one entry. Parameters that differ only by the rounding of files
//! ([`lambda::site::likeness`]) are the same: a fact tells of them.
//!
//! Coordinates of λ, masses, barriers and thermostats do not enter, since F is an average at fixed weights. Neither does the size of the box: with the
//! images left to the whole system, whose solvent screens them, F does not depend on it. A buffer always has interpolated charges and is always calibrated alone.
//!
//! What takes up the charge of the sites is warned of only, because a correction of the other kind would not help. In a box of water both give the same F within its error: they differ by a
//! charge and its images behind the water, ½ k_e 2.8373 ΔQ²/(εL), 0.6 kJ/mol at 3.3 nm and ε = 97 (TIP3P). In a box that holds a protein the
//! potential has its mean over water *and* protein at zero, which moves the energy of every charge by ΔQ (2π/3) k_e T/V, T = Σ q r² of what is in the box. A buffer has the opposite change in the same
//! box, so that both cancel. With a background nothing cancels it, and no calibration in water has it: refusing would send people to a calibration that changes nothing.
//!
//! Entries of versions that recorded no [`Conditions`] tell some of it in words, which are compared where they can be read.

use crate::config::{Allowed, Config, Mismatch};
use crate::error::Result;
use forcefield::Topology;
use forcefield::solvent::known_waters;
use lambda::library::{Calibration, Conditions, Provenance};
use lambda::site::{Likeness, ResidueNames, Site};
use std::collections::BTreeMap;

/// Difference of temperatures (K) that is let pass. dF/dT is minus the entropy of losing the proton's charge in water, of the order of
/// 0.1 kJ/mol/K (acetic acid: −92 J/mol/K), so that 2 K are 0.2 kJ/mol or 0.035 pK units: below the error of a calibration (0.4 to 0.6 kJ/mol),
/// and enough for a job at 298.15 K with corrections of 300 K.
const TEMPERATURE: f64 = 2.0;

/// What a person can do about another compensation of the charge.
const COMPENSATION: &str = "in a box with more than water in it a background moves pKa values by what its mean potential differs from that of water, and another calibration does not \
                            mend it: use buffers";

/// Lengths that were written and read back are the same to this (nm).
const LENGTH: f64 = 1e-9;

/// One thing that differs between a job and a calibration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    what: What,
    job: String,
    calibration: String,
    /// More about it, behind the names of the entries.
    more: String,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Something that is refused unless it is allowed by this name.
    Refused(Mismatch),
    /// Something to know.
    Warned(&'static str),
}

/// What the corrections of a job say of themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Checked {
    /// Differences that are allowed or only warned of, one sentence each.
    pub warnings: Vec<String>,
    /// For each entry where its correction comes from.
    pub facts: Vec<String>,
}

/// A site that uses its correction, with the conditions of the job and how its parameters compare to those that the correction was made with.
pub(super) struct Used<'a> {
    pub site: &'a Site,
    pub job: &'a Conditions,
    pub likeness: Likeness,
}

/// Checks the corrections of `sites` in `topology`, each with the conditions of the job.
///
/// # Errors
/// Everything that differs and is not allowed, in one message, with the sites that could titrate without the others.
pub(super) fn check(config: &Config, allowed: &[Allowed], topology: &Topology, sites: &[Used<'_>]) -> Result<Checked> {
    let mut found: BTreeMap<Difference, Vec<&str>> = BTreeMap::new();
    let mut facts = BTreeMap::new();
    let mut lacking: Vec<&Site> = Vec::new();
    let is_refused = |what: What, entry: &str| match what {
        What::Refused(name) => !allowed.iter().any(|one| one.covers(name, entry)),
        What::Warned(_) => false,
    };
    for Used { site, job, likeness } in sites {
        let Some(calibration) = site.correction.calibration() else { continue };
        facts.entry(site.entry.as_str()).or_insert_with(|| {
            format!("{}: {}{}", site.entry, origin(calibration), roundings(likeness).unwrap_or_default())
        });
        for difference in differences(job, &calibration.provenance, likeness, site) {
            if is_refused(difference.what, &site.entry) && lacking.last() != Some(site) {
                lacking.push(site);
            }
            let entries = found.entry(difference).or_default();
            if !entries.contains(&site.entry.as_str()) {
                entries.push(&site.entry);
            }
        }
    }
    let words = |difference: &Difference, entries: &[&str]| {
        let Difference { what, job, calibration, more } = difference;
        let name = match what {
            What::Refused(name) => name.name(),
            What::Warned(name) => name,
        };
        let words =
            format!("{name}: {job} in this job, {calibration} in the calibration of {}{more}", entries.join(", "));
        if *what == What::Warned("compensation") { format!("{words} ({COMPENSATION})") } else { words }
    };
    let (mut refused, mut names, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for (difference, entries) in &found {
        let (not_allowed, told): (Vec<&str>, Vec<&str>) =
            entries.iter().partition(|entry| is_refused(difference.what, entry));
        if !told.is_empty() {
            warnings.push(format!("corrections V_MM of other conditions: {}", words(difference, &told)));
        }
        let What::Refused(name) = difference.what else { continue };
        if !not_allowed.is_empty() {
            refused.push(words(difference, &not_allowed));
        }
        for entry in not_allowed {
            let of = is_of_group(name).then(|| entry.to_string());
            let name = format!("\"{}\"", Allowed { what: name, of });
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if refused.is_empty() {
        return Ok(Checked { warnings, facts: facts.into_values().collect() });
    }
    let message = format!("the corrections V_MM were made under other conditions: {}", refused.join("; "));
    let all: Vec<&Site> = sites.iter().map(|one| one.site).collect();
    let help = format!(
        "run `octitrate calibrate` under the conditions of this job and name the files it writes in titration.library, or set \
         titration.allow_mismatch = [{}]{}",
        names.join(", "),
        without(topology, &all, &lacking).unwrap_or_default()
    );
    Err(config.error_at("titration", message, help))
}

/// Whether something differs for some groups and not for others of a job.
fn is_of_group(what: Mismatch) -> bool {
    matches!(what, Mismatch::Parameters | Mismatch::Pairs)
}

/// What to write so that the sites titrate that lack nothing; `None` if there are none, or if the buffer lacks something.
fn without(topology: &Topology, all: &[&Site], lacking: &[&Site]) -> Option<String> {
    if lacking.iter().any(|site| site.is_buffer()) {
        return None;
    }
    let rest: Vec<&Site> = all.iter().filter(|site| !site.is_buffer() && !lacking.contains(*site)).copied().collect();
    let names = ResidueNames::new(topology);
    let mut requests: Vec<String> = Vec::new();
    for site in &rest {
        let residue = &topology.residues[site.residues[0] as usize].name;
        // The name alone asks for every side chain of it.
        let of_name = |site: &&&Site| topology.residues[site.residues[0] as usize].name == *residue;
        let is_side_chain = |site: &&Site| site.name == names.of(site.residues[0]).to_string();
        let there = topology.residues.iter().filter(|one| one.name == *residue).count();
        let is_whole = rest.iter().filter(of_name).filter(|site| is_side_chain(site)).count() == there;
        let request = if is_side_chain(site) && is_whole { residue } else { &site.name };
        if !requests.contains(request) {
            requests.push(request.clone());
        }
    }
    if requests.is_empty() {
        return None;
    }
    let requests: Vec<String> = requests.iter().map(|name| format!("{{ residue = \"{name}\" }}")).collect();
    let lacking: Vec<&str> = lacking.iter().map(|site| site.name.as_str()).collect();
    Some(format!(
        "; or let the others titrate alone: site = [{}] in [titration] leaves {} as built, with all protons at every pH",
        requests.join(", "),
        lacking.join(", ")
    ))
}

/// What is said of parameters that differ by rounding alone.
fn roundings(likeness: &Likeness) -> Option<String> {
    let Likeness::Rounded { largest, term } = likeness else { return None };
    Some(format!(", the parameters of this job but for rounding: {largest:.0e} of {term} at most"))
}

/// Where a correction comes from, in a line.
fn origin(calibration: &Calibration) -> String {
    let Provenance { program, date, temperature, water_model, conditions, .. } = &calibration.provenance;
    let water = conditions.as_ref().map_or(water_model, |conditions| &conditions.water);
    let interpolation = match conditions {
        Some(conditions) => format!("{} interpolation", conditions.interpolation),
        None => "conditions not recorded".into(),
    };
    let transferred =
        calibration.transfer.as_ref().map_or(String::new(), |one| format!(", transferred from {}", one.from));
    format!("{program}, {date}, {temperature} K, {water}, {interpolation}{transferred}")
}

/// Everything that differs between the conditions of a site and those of its correction.
fn differences(job: &Conditions, provenance: &Provenance, likeness: &Likeness, site: &Site) -> Vec<Difference> {
    let is_buffer = site.is_buffer();
    let mut found = Vec::new();
    let mut unless = |same: bool, what: What, job: &str, calibration: &str| {
        if !same {
            found.push(Difference { what, job: job.into(), calibration: calibration.into(), more: String::new() });
        }
    };
    let refused = What::Refused;
    let kelvin = |temperature: f64| format!("{temperature} K");
    let nm = |length: f64| format!("{length} nm");
    let images = |images: bool| if images { "with the site's own images" } else { "without the site's own images" };
    let recorded = provenance.conditions.as_ref();
    let temperature = recorded.map_or(provenance.temperature, |conditions| conditions.temperature);
    let close = (job.temperature - temperature).abs() <= TEMPERATURE;
    unless(close, refused(Mismatch::Temperature), &kelvin(job.temperature), &kelvin(temperature));
    let Some(calibration) = recorded else {
        let told = Told::of(provenance);
        let hamiltonian = job.interpolation == "hamiltonian";
        // The library of the versions that recorded nothing was made with Hamiltonian interpolation.
        let same = is_buffer || hamiltonian;
        unless(
            same,
            refused(Mismatch::Interpolation),
            &job.interpolation,
            "not recorded (hamiltonian, in the library)",
        );
        let made = "not recorded (made before they were left out: calibrate it again)";
        // It changes what lies between the forms, not the forms: transitions are rarer, populations are right.
        unless(is_buffer || !hamiltonian || job.images, What::Warned("images"), images(job.images), made);
        if let Some(cutoff) = told.cutoff {
            unless((job.cutoff - cutoff).abs() < LENGTH, refused(Mismatch::Cutoff), &nm(job.cutoff), &nm(cutoff));
        }
        if let Some(modifier) = told.modifier {
            unless(job.modifier == modifier, refused(Mismatch::Modifier), &job.modifier, modifier);
        }
        if let Some(water) = told.water {
            unless(job.water == water, refused(Mismatch::Water), &job.water, water);
        }
        if let Some(boundary) = told.boundary {
            unless(job.boundary == boundary, refused(Mismatch::Boundary), &job.boundary, boundary);
        }
        return found;
    };
    let same = job.interpolation == calibration.interpolation;
    unless(same, refused(Mismatch::Interpolation), &job.interpolation, &calibration.interpolation);
    let alike = !same || job.images == calibration.images;
    unless(alike, refused(Mismatch::Images), images(job.images), images(calibration.images));
    let same = (job.cutoff - calibration.cutoff).abs() < LENGTH;
    unless(same, refused(Mismatch::Cutoff), &nm(job.cutoff), &nm(calibration.cutoff));
    let switch = |one: &Conditions| match one.switch_start {
        Some(start) => format!("{} from {start} nm", one.modifier),
        None => one.modifier.clone(),
    };
    let [ours, theirs] = [job, calibration].map(switch);
    unless(ours == theirs, refused(Mismatch::Modifier), &ours, &theirs);
    unless(job.water == calibration.water, refused(Mismatch::Water), &job.water, &calibration.water);
    let same = job.boundary == calibration.boundary;
    unless(same, refused(Mismatch::Boundary), &job.boundary, &calibration.boundary);
    let alike = is_buffer || !same || job.compensation == calibration.compensation;
    unless(alike, What::Warned("compensation"), &job.compensation, &calibration.compensation);
    if let Likeness::Unknown = likeness {
        let same = job.parameters == calibration.parameters;
        let ours = format!("another force field (fingerprint {})", job.parameters);
        let theirs = format!("{} (fingerprint {})", site.force_field, calibration.parameters);
        unless(same, refused(Mismatch::Parameters), &ours, &theirs);
        if let (Some(ours), Some(theirs)) = (&job.attached, &calibration.attached) {
            let words = |hash: &String| format!("joint to the backbone {hash}");
            unless(ours == theirs, refused(Mismatch::Parameters), &words(ours), &words(theirs));
        }
    }
    let [ours, theirs] = [job, calibration].map(|one| match &one.pairs {
        Some(hash) => format!("pairs of their own {hash}"),
        None => "the combination rule for all pairs".into(),
    });
    unless(job.pairs == calibration.pairs, refused(Mismatch::Pairs), &ours, &theirs);
    if let Likeness::Different(other) = likeness {
        let numbers = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".into());
        let ours = format!("{} {}", other.term, numbers(&other.ours));
        let also = match other.count - 1 {
            0 => String::new(),
            more => format!(", and {more} more of {} terms", other.of),
        };
        found.push(Difference {
            what: refused(Mismatch::Parameters),
            job: ours,
            calibration: numbers(&other.theirs),
            more: format!("{} ({} is for {})", also, site.entry, site.force_field),
        });
    }
    found
}

/// What the words of an entry tell that has no recorded conditions.
struct Told {
    cutoff: Option<f64>,
    modifier: Option<&'static str>,
    water: Option<&'static str>,
    boundary: Option<&'static str>,
}

impl Told {
    fn of(provenance: &Provenance) -> Self {
        // "cut-off 1 nm, potential shift"
        let (length, modifier) = provenance.lennard_jones.split_once(", ").unwrap_or_default();
        let length = length.strip_prefix("cut-off ").and_then(|text| text.strip_suffix(" nm"));
        let modifiers = [("plain", "none"), ("potential shift", "potential-shift"), ("force switch", "force-switch")];
        let words: Vec<&str> = provenance.electrostatics.split([',', ';']).map(str::trim).collect();
        Self {
            cutoff: length.and_then(|text| text.parse().ok()),
            modifier: modifiers.into_iter().find(|(words, _)| *words == modifier).map(|(_, name)| name),
            water: known_waters().find(|name| name.eq_ignore_ascii_case(provenance.water_model.trim())),
            boundary: ["periodic", "open"].into_iter().find(|name| words.contains(name)),
        }
    }
}

#[cfg(test)]
mod tests;
