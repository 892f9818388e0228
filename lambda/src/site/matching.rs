//! Matching one residue to one entry of the library: names of atoms, charges, and the charges of every form in this topology.

use std::collections::BTreeMap;

use forcefield::Topology;

use super::naming::foreign;
use super::search::site_name;
use super::{Form, ResidueNames, Site, SiteError, SiteKind};
use crate::library::{Correction, Entry, EntryKind, FormEntry, TypesEntry};

/// Largest deviation (e) of a topology's charge from the library's: files carry four or more decimals.
const EXACT: f64 = 5e-5;
/// The same for the side chain of a terminal residue: AMBER94's differ by up to 0.09 e from those inside a chain.
const TERMINAL_RESIDUE: f64 = 0.1;
/// The same for the atom that takes the charge left over (`balanced_at`) of a terminal residue: that of Asp with AMBER's charges and both protons differs by up
/// to 0.155 e, because AMBER has no Asp and Glu with a proton at ends of chains.
const BALANCED: f64 = 0.2;
/// The same for a terminus, whose entry stands for every residue: that of N goes from 0.0 to 0.3 e with the residue.
const TERMINUS: f64 = 0.35;
/// Atoms that only terminal residues have.
pub(super) const END_ATOMS: [&str; 14] =
    ["H1", "H2", "H3", "HT1", "HT2", "HT3", "OC1", "OC2", "HO1", "HO2", "OXT", "HXT", "OT1", "OT2"];

/// The atoms of a residue by the names that `entry` has for them.
///
/// # Errors
/// The name of an atom that is there twice.
pub(super) fn atoms<'a>(
    topology: &'a Topology,
    entry: &'a Entry,
    residue: u32,
) -> Result<BTreeMap<&'a str, u32>, &'a str> {
    let mut by_name: BTreeMap<&str, u32> = BTreeMap::new();
    for atom in topology.residues[residue as usize].atoms.clone() {
        let name = topology.atoms[atom as usize].name.as_str();
        if by_name.insert(name, atom).is_some() {
            return Err(name);
        }
    }
    let residue = topology.residues[residue as usize].name.as_str();
    for aliases in entry.aliases_at(residue) {
        let there = aliases.keys().all(|alias| by_name.contains_key(alias.as_str()));
        let other = aliases.keys().any(|alias| !entry.charges_at(residue).contains_key(alias));
        let free = aliases.values().all(|name| aliases.contains_key(name) || !by_name.contains_key(name.as_str()));
        if there && other && free {
            let renamed: Vec<(&str, u32)> = aliases
                .iter()
                .filter_map(|(alias, name)| Some((name.as_str(), by_name.remove(alias.as_str())?)))
                .collect();
            by_name.extend(renamed);
        }
    }
    Ok(by_name)
}

/// Indices of the atoms of a residue by the names of the entry; none where a name is there twice.
pub(super) fn indices<'a>(topology: &'a Topology, entry: &'a Entry, residue: u32) -> BTreeMap<&'a str, u32> {
    atoms(topology, entry, residue).unwrap_or_default()
}

/// Whether a residue has every atom of an entry, whatever their charges.
pub(super) fn has_all(topology: &Topology, entry: &Entry, residue: u32) -> bool {
    let charges = entry.charges_at(&topology.residues[residue as usize].name);
    atoms(topology, entry, residue).is_ok_and(|atoms| charges.keys().all(|name| atoms.contains_key(name.as_str())))
}

/// Whether a residue has an end of a chain, by its atoms.
pub fn is_chain_end(topology: &Topology, residue: u32) -> bool {
    let atoms = topology.residues[residue as usize].atoms.clone();
    atoms.into_iter().any(|atom| END_ATOMS.contains(&topology.atoms[atom as usize].name.as_str()))
}

/// The correction of an entry at a residue; `None` if it has not been calibrated there.
pub(super) fn correction_at<'a>(topology: &Topology, entry: &'a Entry, residue: u32) -> Option<&'a Correction> {
    entry.correction_at(&topology.residues[residue as usize].name, is_chain_end(topology, residue))
}

/// Why a site of an entry at a residue cannot titrate although it is built so: its correction is not known there.
pub fn no_correction(topology: &Topology, entry: &Entry, residue: u32) -> Option<String> {
    let pka = entry.pka.map_or(String::new(), |pka| format!(" (the pKa of its model compound is {pka})"));
    not_known(topology, entry, residue).map(|reason| {
        format!("{reason}, with its proton at every pH{pka}, unless it is calibrated in a model compound that ends so")
    })
}

/// Why it would not help to build a residue with the proton of an entry that it lacks.
pub(super) fn no_correction_for_a_proton(topology: &Topology, entry: &Entry, residue: u32) -> Option<String> {
    not_known(topology, entry, residue).map(|reason| format!("{reason}, without its proton"))
}

fn not_known(topology: &Topology, entry: &Entry, residue: u32) -> Option<String> {
    correction_at(topology, entry, residue).is_none().then(|| {
        format!(
            "V_MM of {} is known for {} and not for the end of a chain at {}, where the force field has other charges; it stays as it is built",
            entry.name,
            entry.known_at(),
            topology.residues[residue as usize].name
        )
    })
}

/// The names that the atoms of a residue have in the topology, by those of the entry.
pub fn atom_names(topology: &Topology, entry: &Entry, residue: u32) -> BTreeMap<String, String> {
    let atoms = atoms(topology, entry, residue).unwrap_or_default();
    atoms.into_iter().map(|(name, atom)| (name.to_string(), topology.atoms[atom as usize].name.clone())).collect()
}

/// The site that `entry` makes of a residue.
///
/// # Errors
/// [`SiteError`]: an atom that is missing, unknown or there twice, a charge of another form; another force field, where that can be told.
pub(super) fn match_entry(names: &ResidueNames<'_>, entry: &Entry, residue: u32) -> Result<Site, SiteError> {
    matched(names, entry, residue).map_err(|error| foreign(names, entry, residue, error))
}

fn matched(names: &ResidueNames<'_>, entry: &Entry, residue: u32) -> Result<Site, SiteError> {
    let topology = names.topology();
    let by_name = atoms(topology, entry, residue)
        .map_err(|atom| SiteError::RepeatedAtom { residue: names.of(residue).to_string(), atom: atom.to_string() })?;
    let here = &topology.residues[residue as usize].name;
    let of_forms = entry.charges_at(here);
    let is_end = END_ATOMS.iter().any(|atom| by_name.contains_key(atom));
    check_names(names, entry, residue, &by_name, is_end)?;
    let mut atoms: Vec<(u32, &String)> =
        of_forms.keys().filter_map(|atom| by_name.get(atom.as_str()).map(|&index| (index, atom))).collect();
    atoms.sort_unstable();
    let mut charges = form_charges(names, entry, residue, &atoms, is_end)?;
    balance(topology, entry, &atoms, &mut charges);
    let kept = changing_atoms(entry, here, &atoms, &charges);
    let form = |(alpha, form): (usize, &FormEntry)| Form {
        name: form.name.clone(),
        charges: kept.iter().map(|&k| charges[k][alpha]).collect(),
        protons_lost: form.protons_lost,
        pk: form.pk,
        nominal_charge: entry.charge_scale * form.net_charge,
    };
    Ok(Site {
        name: site_name(names, residue, entry.terminus.map(|_| entry)),
        entry: entry.name.clone(),
        force_field: entry.force_field.clone(),
        residues: vec![residue],
        atoms: kept.iter().map(|&k| atoms[k].0).collect(),
        forms: entry.forms.iter().enumerate().map(form).collect(),
        pka: entry.pka,
        correction: correction_at(topology, entry, residue).cloned().unwrap_or(Correction::Uncalibrated),
        kind: SiteKind::Titratable,
    })
}

/// Checks that a residue with the atoms `by_name` has all atoms of the entry, those of the backbone excepted where it `is_end` of a chain, and
/// none that neither the entry nor such an end has.
///
/// # Errors
/// [`SiteError::MissingAtom`], [`SiteError::UnknownAtom`].
fn check_names(
    names: &ResidueNames<'_>,
    entry: &Entry,
    residue: u32,
    by_name: &BTreeMap<&str, u32>,
    is_end: bool,
) -> Result<(), SiteError> {
    let of_forms = entry.charges_at(&names.topology().residues[residue as usize].name);
    let missing_atom =
        |atom: &&String| !(by_name.contains_key(atom.as_str()) || is_end && entry.backbone.contains(*atom));
    let residue = || names.of(residue).to_string();
    if let Some(atom) = of_forms.keys().find(missing_atom) {
        let build = entry.build.clone().unwrap_or_else(|| "see its entry in the library".into());
        return Err(SiteError::MissingAtom {
            residue: residue(),
            atom: atom.clone(),
            entry: entry.name.clone(),
            build,
        });
    }
    let unknown_atom = |atom: &&&str| !of_forms.contains_key(**atom) && !END_ATOMS.contains(*atom);
    match by_name.keys().find(unknown_atom) {
        Some(atom) if entry.terminus.is_none() => {
            let (atom, entry) = (atom.to_string(), entry.name.clone());
            Err(SiteError::UnknownAtom { residue: residue(), atom, entry })
        }
        _ => Ok(()),
    }
}

/// The charges (e) in this topology of the `atoms` of a residue, `[atom][form]`: those of the entry, moved by what the topology has otherwise.
///
/// # Errors
/// [`SiteError::ChargeMismatch`] where it has a charge that is too far from that of the entry's first form, or of the half-way of a buffer.
fn form_charges(
    names: &ResidueNames<'_>,
    entry: &Entry,
    residue: u32,
    atoms: &[(u32, &String)],
    is_end: bool,
) -> Result<Vec<Vec<f64>>, SiteError> {
    let topology = names.topology();
    let of_forms = entry.charges_at(&topology.residues[residue as usize].name);
    let of_atom = |&(index, atom): &(u32, &String)| {
        let (found, of_entry) = (topology.atoms[index as usize].charge, &of_forms[atom]);
        let expected = match entry.kind {
            EntryKind::Titratable => of_entry[0],
            EntryKind::Buffer => 0.5 * (of_entry[0] + of_entry[1]),
        };
        if (found - expected).abs() > tolerance(entry, atom, is_end, expected) {
            return Err(SiteError::ChargeMismatch {
                residue: names.of(residue).to_string(),
                atom: atom.clone(),
                found,
                expected,
                entry: entry.name.clone(),
                force_field: entry.force_field.clone(),
            });
        }
        Ok(of_entry.iter().map(|&q| applied(q, expected, found)).collect())
    };
    atoms.iter().map(of_atom).collect()
}

/// By how much (e) the charge of an atom may differ from the `expected` one of the entry; `is_end`: at an end of a chain.
fn tolerance(entry: &Entry, atom: &String, is_end: bool, expected: f64) -> f64 {
    match entry.terminus {
        // A new proton's place must be empty wherever it is.
        _ if expected == 0.0 => EXACT,
        Some(_) => TERMINUS,
        None if is_end && entry.backbone.contains(atom) => f64::INFINITY,
        None if is_end && entry.balanced_at.as_ref() == Some(atom) => BALANCED,
        None if is_end => TERMINAL_RESIDUE,
        None => EXACT,
    }
}

/// Which of the `atoms` of a residue named `here` have another charge or another Lennard-Jones type in some form: their places.
fn changing_atoms(entry: &Entry, here: &str, atoms: &[(u32, &String)], charges: &[Vec<f64>]) -> Vec<usize> {
    let types: Vec<&TypesEntry> = entry.lj_types.iter().filter(|one| one.is_in(here)).collect();
    let changes_type = |atom: &String| {
        types.iter().any(|one| one.atom == *atom && one.types.iter().any(|other| *other != one.types[0]))
    };
    let changes_charge = |charges: &[f64]| charges.iter().any(|&q| q != charges[0]);
    (0..atoms.len()).filter(|&k| changes_type(atoms[k].1) || changes_charge(&charges[k])).collect()
}

/// Charge `q` of a form where the topology has `found` in place of the `expected` charge of the entry: the difference is
/// added; a vanished atom stays without charge.
fn applied(q: f64, expected: f64, found: f64) -> f64 {
    if found == expected || q == 0.0 { q } else { found + (q - expected) }
}

/// Adds to the atom named by the entry what a form lacks of its net charge relative to the topology.
fn balance(topology: &Topology, entry: &Entry, atoms: &[(u32, &String)], charges: &mut [Vec<f64>]) {
    let Some(target) = entry.balanced_at.as_ref().and_then(|name| atoms.iter().position(|(_, atom)| *atom == name))
    else {
        return;
    };
    let in_topology: f64 = atoms.iter().map(|&(index, _)| topology.atoms[index as usize].charge).sum();
    for alpha in 0..entry.forms.len() {
        let change: f64 = charges.iter().map(|q| q[alpha]).sum::<f64>() - in_topology;
        let rest = -entry.charge_scale * f64::from(entry.forms[alpha].protons_lost) - change;
        // Less is rounding of the sum.
        if rest.abs() > 1e-12 {
            charges[target][alpha] += rest;
        }
    }
}
