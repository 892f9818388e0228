//! The charge buffer: n_b molecules that share one λ and take up the charge that titratable sites give.
//!
//! Each molecule has a charge from +½ e (λ_b = 0) to −½ e (λ_b = 1), so that together they hold
//!
//! ```text
//! Q_b(λ_b) = n_b q(λ_b),   |Q_b| ≤ ½ n_b          Q_fixed + Σ_s Σ_α λ_sα Q_sα + Q_b = 0
//! ```
//!
//! The last line gives λ_b at the start and is a holonomic constraint from then on ([`lambda::motion`]). The N sites can only ask for
//! what the buffer has: max |Q_fixed + Σ Q_s| + ¼ ≤ ½ n_b. By default n_b = 2N + 1, or more if that needs it.
//! Donnini et al. 2016, doi:10.1021/acs.jctc.5b01160; Aho et al. 2022, doi:10.1021/acs.jctc.2c00516.
//!
//! Units: e, nm, kJ/mol/nm².

use super::bias::{Recipe, model};
use super::place::{PlaceError, Placement, molecules, place};
use crate::config::{self, Config, Molecules};
use crate::error::{Error, Result};
use crate::record::counted;
use forcefield::topology::{PositionRestraint, is_multiple};
use forcefield::{Cell, Topology};
use lambda::library::{Correction, EntryKind, SiteLibrary};
use lambda::site::{Site, SiteError, SiteKind, buffer_site};
use nalgebra::Vector3;

/// Name of the buffer among the sites.
pub const NAME: &str = "buffer";

/// Charge (e) that the buffer must be able to take beyond what the sites ask for: λ leaves [0, 1] a little.
const MARGIN: f64 = 0.25;

/// Share of the distance that is wanted from which on there is no warning.
const NEAR_ENOUGH: f64 = 0.9;

/// What a job can do that has no molecules for a buffer.
const WAYS_OUT: &str = "name the residue of a solvent that the library has a buffer for in titration.buffer.residue, or set \
                        titration.compensation = \"background\"";

/// What a job can do whose water is another model than the library has.
const OTHER_MODEL: &str = "name an entry for this model of water in titration.library: `octitrate prepare --force-field ff19SB --water opc` \
                           writes such a file, for OPC here, also beside --from; or set titration.compensation = \"background\"";

/// What the sites ask of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demand {
    /// Sites whose charge changes.
    pub sites: usize,
    /// Least and largest charge of everything but the buffer, e.
    pub range: [f64; 2],
    /// That charge at the start, e.
    pub start: f64,
}

/// What the log calls λ of the buffer at the start: by itself, because titrations with other pH values do not differ in the buffer.
const AT_THE_START: &str = "buffer at the start";

/// A buffer with what was decided about it.
#[derive(Debug)]
pub(super) struct ChargeBuffer {
    /// All its molecules as one site.
    pub site: Site,
    /// λ at the start.
    pub lambda: f64,
    /// Whether it follows the sites; it then moves if they do.
    pub neutral: bool,
    /// In words, for the log, each with its name there.
    pub facts: Vec<(&'static str, String)>,
    pub warnings: Vec<String>,
}

impl Demand {
    /// Of `sites` that move or not, beside atoms of the charge `rest` (e), with `start` the charge of the sites at the start.
    pub fn new(sites: &[(&Site, bool)], weights: &[Vec<f64>], rest: f64) -> Self {
        let mut demand = Self { sites: 0, range: [rest; 2], start: rest };
        for ((site, moves), weights) in sites.iter().zip(weights) {
            let charges: Vec<f64> = (0..site.forms.len()).map(|form| site.net_charge(form)).collect();
            let now: f64 = charges.iter().zip(weights).map(|(q, w)| q * w).sum();
            let [least, most] =
                charges.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], &q| [a.min(q), b.max(q)]);
            demand.start += now;
            demand.sites += usize::from(*moves && most - least > 1e-6);
            demand.range[0] += if *moves { least } else { now };
            demand.range[1] += if *moves { most } else { now };
        }
        demand
    }

    /// Largest charge that a buffer has to take up, e.
    fn largest(&self) -> f64 {
        self.range[0].abs().max(self.range[1].abs())
    }
}

/// Chooses the molecules of `[titration.buffer]`, restrains them, and finds the λ that makes the box neutral.
///
/// # Errors
/// [`Error::Input`]: no such residue, too few molecules, a charge that does not fit.
pub(super) fn choose(
    config: &Config,
    settings: &config::ChargeBuffer,
    library: &SiteLibrary,
    topology: &mut Topology,
    x: &[Vector3<f64>],
    cell: Cell,
    demand: Demand,
) -> Result<ChargeBuffer> {
    let neutral = settings.neutral && settings.fixed.is_none();
    let residue = &residue(config, settings, library, topology)?;
    // The charge that a molecule can have follows from any of them.
    let one = molecules(topology, residue).take(1).collect::<Vec<_>>();
    let ways_out = WAYS_OUT;
    let refused = |e: lambda::site::SiteError| {
        let help = if matches!(e, SiteError::OtherSolvent { .. }) { OTHER_MODEL } else { ways_out };
        config.error_at("titration.buffer.residue", format!("charge buffer: {e}"), help)
    };
    let most = match one[..] {
        [] => 0.5,
        _ => reach(&buffer_site(topology, library, residue, &one).map_err(refused)?),
    };
    let (count, needed) = count(settings, &demand, most);
    if neutral && count < needed {
        let [low, high] = demand.range;
        let message = format!(
            "{} of up to ±{most:.2} e cannot take up the charge of everything else, which goes from {low:+.2} to {high:+.2} e",
            counted(count, "molecule")
        );
        let help = format!("take {} or more", counted(needed, "molecule"));
        return Err(config.error_at("titration.buffer.molecules", message, help));
    }
    let placed = place(topology, x, cell, residue, count, settings.distance.get());
    let placed = placed.map_err(|e| {
        let none = matches!(e, PlaceError::None(_));
        let (key, help) = if none { ("residue", ways_out) } else { ("molecules", "") };
        config.error_at(&format!("titration.buffer.{key}"), e.to_string(), help)
    })?;
    let site = buffer_site(topology, library, residue, &placed.residues).map_err(refused)?;
    let lambda = match settings.fixed {
        Some(lambda) => lambda,
        None if neutral => neutral_lambda(&site, demand.start),
        None => 0.5,
    };
    restrain(topology, &placed.residues, settings.restrain.get());
    let (words, mut warnings) = describe(settings, residue, &demand, &placed, neutral);
    let mut facts = vec![("charge buffer", words)];
    if neutral {
        facts.push((AT_THE_START, at_the_start(lambda, config.titration.as_ref().and_then(|titration| titration.ph))));
    }
    let charge = topology.net_charge();
    if neutral && !is_multiple(charge, topology.whole_charge()) {
        warnings.push(format!(
            "the topology has a charge of {charge:+.4} e, not a whole number: the buffer takes up the rest"
        ));
    }
    Ok(ChargeBuffer { site, lambda, neutral, facts, warnings })
}

/// Name of the residue that the buffer is made of: that of the job, else of the names that buffers of the library have the one that most molecules
/// have, of equal ones the first.
///
/// # Errors
/// No molecule has one of them.
pub fn residue(
    config: &Config,
    settings: &config::ChargeBuffer,
    library: &SiteLibrary,
    topology: &Topology,
) -> Result<String> {
    if let Some(name) = &settings.residue {
        return Ok(name.clone());
    }
    let buffers = library.entries.iter().filter(|entry| entry.kind == EntryKind::Buffer);
    let mut names: Vec<&str> = Vec::new();
    for name in buffers.flat_map(|entry| &entry.residues) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let counted = names.iter().map(|name| (molecules(topology, name).count(), *name));
    let most = counted.reduce(|best, one| if one.0 > best.0 { one } else { best });
    most.filter(|(count, _)| *count > 0).map(|(_, name)| name.to_string()).ok_or_else(|| {
        let message =
            format!("no molecule is one of those that the library has charge buffers for: {}", names.join(", "));
        config.error_at("titration.buffer.residue", message, WAYS_OUT)
    })
}

/// Number of molecules, and the number needed.
fn count(settings: &config::ChargeBuffer, demand: &Demand, per_molecule: f64) -> (usize, usize) {
    let needed = ((demand.largest() + MARGIN) / per_molecule - 1e-6).ceil().max(1.0) as usize;
    match settings.molecules {
        Molecules::Number(count) => (count as usize, needed),
        Molecules::Auto => ((2 * demand.sites + 1).max(needed), needed),
    }
}

/// Charge (e) of either sign that the molecules can have.
fn reach(site: &Site) -> f64 {
    site.net_charge(0).abs().min(site.net_charge(1).abs())
}

/// λ at which the buffer holds −`charge` (e).
fn neutral_lambda(site: &Site, charge: f64) -> f64 {
    let (low, high) = (site.net_charge(0), site.net_charge(1));
    (-charge - low) / (high - low)
}

/// Holds the first atom of each molecule where it is.
fn restrain(topology: &mut Topology, residues: &[u32], stiffness: f64) {
    for &residue in residues {
        let atom = topology.residues[residue as usize].atoms.start;
        if stiffness > 0.0 && topology.position_restraints.iter().all(|held| held.atom != atom) {
            topology.position_restraints.push(PositionRestraint { atom, k: Vector3::repeat(stiffness), fades: false });
        }
    }
}

/// Which λ of the buffer makes the box neutral, in words. Sites begin as a run at its pH does: another run of a titration has another one.
fn at_the_start(lambda: f64, ph: Option<f64>) -> String {
    let of_run = ph.map_or(String::new(), |ph| format!(" in the run at pH {ph}"));
    format!("λ = {lambda:.4} makes the box neutral{of_run}")
}

fn describe(
    settings: &config::ChargeBuffer,
    residue: &str,
    demand: &Demand,
    placed: &Placement,
    neutral: bool,
) -> (String, Vec<String>) {
    let (count, wanted) = (placed.residues.len(), settings.distance.get());
    let number = match settings.molecules {
        Molecules::Number(_) => "as asked for".to_string(),
        Molecules::Auto if count == 2 * demand.sites + 1 => {
            format!("2N + 1 for N = {} whose charge changes", counted(demand.sites, "site"))
        }
        Molecules::Auto => "as many as the charge of the system needs".into(),
    };
    let [low, high] = demand.range;
    let mut facts = format!("{} {residue}, {number}", counted(count, "molecule"));
    if placed.distance.is_finite() {
        facts.push_str(&format!(", at least {:.2} nm from the solute and each other", placed.distance));
    }
    if neutral {
        facts.push_str(&format!("; the charge of everything else goes from {low:+.2} to {high:+.2} e"));
    }
    let mut warnings = Vec::new();
    if placed.distance < NEAR_ENOUGH * wanted {
        warnings.push(format!(
            "charge buffers are only {:.2} nm from the solute or each other, {wanted} nm are wanted: the box has no more room",
            placed.distance
        ));
    }
    (facts, warnings)
}

/// V_MM of the buffer: that of one molecule, times their number. Without one it moves by the force field alone.
///
/// # Errors
/// A preliminary correction that the job does not allow.
pub(super) fn recipe(
    config: &Config,
    settings: &config::Titration,
    index: usize,
    site: &Site,
) -> Result<(Recipe, Option<String>)> {
    let SiteKind::Buffer { molecules } = site.kind else { return Ok((Recipe::of_buffer(index, None), None)) };
    let refused = |what: &str| -> Error {
        let message = format!("the correction V_MM of the buffer {} is {what}", site.entry);
        let help = "run `octitrate calibrate` for the buffer, or set titration.allow_uncalibrated = true";
        config.error_at("titration.buffer", message, help)
    };
    match &site.correction {
        Correction::Calibrated(calibration) | Correction::Transferred(calibration) => {
            Ok((Recipe::of_buffer(index, Some(model(config, site, calibration, f64::from(molecules))?)), None))
        }
        other if !settings.allow_uncalibrated => Err(refused(other.status())),
        other => {
            let warning = format!("the correction V_MM of the buffer {} is {}", site.entry, other.status());
            let correction = other.calibration().map(|c| model(config, site, c, f64::from(molecules))).transpose()?;
            Ok((Recipe::of_buffer(index, correction), Some(warning)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda::site::Form;

    fn titratable(charges: &[f64]) -> Site {
        let form = |q: &f64| Form { name: "f".into(), charges: vec![*q], protons_lost: 0, pk: 0.0, nominal_charge: *q };
        Site {
            name: "A".into(),
            entry: "a".into(),
            force_field: "none".into(),
            residues: vec![0],
            atoms: vec![0],
            forms: charges.iter().map(form).collect(),
            pka: Some(4.0),
            correction: Correction::Uncalibrated,
            kind: SiteKind::Titratable,
        }
    }

    /// The box of a protein has seldom room for all that is wanted, and a little less is not worth a warning.
    #[test]
    fn buffers_that_are_much_too_near_are_warned_of() {
        let settings = config::ChargeBuffer::default();
        let demand = Demand { sites: 1, range: [-1.0, 0.0], start: 0.0 };
        let said = |distance: f64| {
            let placed = Placement { residues: vec![4, 7, 9], distance };
            describe(&settings, "SOL", &demand, &placed, false)
        };
        let (facts, warnings) = said(1.4);
        assert!(facts.contains("at least 1.40 nm from the solute and each other") && warnings.is_empty(), "{facts}");
        let words = "charge buffers are only 1.30 nm from the solute or each other, 1.5 nm are wanted: the box has no more room";
        assert_eq!(said(1.3).1, [words]);
    }

    #[test]
    fn the_number_follows_from_the_sites_and_their_charge() {
        let sites: Vec<Site> = [&[0.0, -1.0][..], &[1.0, 0.0, 0.0], &[0.0, -1.0]].map(titratable).to_vec();
        let refs = [(&sites[0], true), (&sites[1], true), (&sites[2], false)];
        let weights = [vec![0.5, 0.5], vec![0.2, 0.4, 0.4], vec![0.75, 0.25]];
        let demand = Demand::new(&refs, &weights, 2.0);
        assert_eq!(demand.sites, 2);
        assert!((demand.range[0] - 0.75).abs() < 1e-12 && (demand.range[1] - 2.75).abs() < 1e-12, "{demand:?}");
        assert!((demand.start - (2.0 - 0.5 + 0.2 - 0.25)).abs() < 1e-12);
        // 2.75 + 0.25 = 3.0 e in halves: six molecules, one more than 2N + 1.
        let auto = config::ChargeBuffer::default();
        assert_eq!(count(&auto, &demand, 0.5), (6, 6));
        assert_eq!(count(&auto, &Demand { range: [-1.0, 1.0], ..demand }, 0.5), (5, 3));
        let asked = config::ChargeBuffer { molecules: Molecules::Number(4), ..auto };
        assert_eq!(count(&asked, &demand, 0.5), (4, 6));
    }

    /// `octitrate check` of a titration shows that of its first pH, which is not that of the others.
    #[test]
    fn lambda_at_the_start_is_that_of_a_ph() {
        assert_eq!(at_the_start(0.75, Some(2.5)), "λ = 0.7500 makes the box neutral in the run at pH 2.5");
        assert_eq!(at_the_start(0.5, None), "λ = 0.5000 makes the box neutral");
    }

    /// Water is called by the name that it has in the system; the name in the job comes first.
    #[test]
    fn the_residue_is_the_water_of_the_system() {
        use forcefield::topology::{Molecule, Residue};
        let text = "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"\n[dynamics]\nsteps = 1\n[titration]\nph = 7.0\ntemperature = \"300 K\"";
        let job = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files/job.toml");
        let config = Config::parse(text, &job).unwrap();
        let library = SiteLibrary::builtin().unwrap();
        let of = |names: &[&str]| {
            let mut topology = Topology::default();
            for (index, name) in (0..).zip(names) {
                let (name, atoms) = (name.to_string(), index..index + 1);
                topology.molecules.push(Molecule { name: name.clone(), atoms: atoms.clone() });
                topology.residues.push(Residue { name, number: 1, insertion: None, molecule: index, atoms });
            }
            topology
        };
        let named = config::ChargeBuffer { residue: Some("NA".into()), ..config::ChargeBuffer::default() };
        let free = config::ChargeBuffer::default();
        let found = |settings, names: &[&str]| residue(&config, settings, &library, &of(names));
        assert_eq!(found(&free, &["ALA", "SOL", "HOH", "HOH", "NA", "NA", "NA"]).unwrap(), "HOH");
        assert_eq!(found(&free, &["TIP3", "TIP3", "SOL"]).unwrap(), "TIP3");
        assert_eq!(found(&named, &["HOH"]).unwrap(), "NA");
        let error = found(&free, &["ALA", "NA"]).unwrap_err().to_string();
        assert!(error.contains("charge buffers for: SOL, HOH, WAT"), "{error}");
    }

    #[test]
    fn lambda_makes_the_box_neutral() {
        let buffer = titratable(&[-1.5, 1.5]);
        assert_eq!(neutral_lambda(&buffer, 0.0), 0.5);
        let lambda = neutral_lambda(&buffer, -0.7);
        assert!((-1.5 * (1.0 - lambda) + 1.5 * lambda - 0.7).abs() < 1e-14);
    }
}
