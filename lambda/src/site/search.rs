//! Finding sites in a topology: which residues and ends of chains fit which entry of the library.

use std::collections::BTreeMap;

use forcefield::Topology;

use super::{Form, ResidueNames, Selection, Site, SiteError, SiteKind, SiteRequest};
use crate::library::{Entry, EntryKind, FormEntry, SiteLibrary, Terminus};

/// Largest deviation (e) of a topology's charge from the library's: files carry four or more decimals.
const EXACT: f64 = 5e-5;
/// The same for the side chain of a terminal residue: AMBER94's differ by up to 0.09 e from those inside a chain.
const TERMINAL_RESIDUE: f64 = 0.1;
/// The same for a terminus, whose entry stands for every residue: that of N goes from 0.0 to 0.3 e with the residue.
const TERMINUS: f64 = 0.35;
/// Atoms that only terminal residues have.
const END_ATOMS: [&str; 10] = ["H1", "H2", "H3", "OC1", "OC2", "HOC", "OXT", "HXT", "OT1", "OT2"];

/// Finds the sites of `topology` in the order of the topology ([`Selection::All`]) or of the requests.
///
/// # Errors
/// [`SiteError`], naming residue and atom, with what to do about it.
pub fn find_sites(
    topology: &Topology,
    library: &SiteLibrary,
    selection: Selection<'_>,
) -> Result<Vec<Site>, SiteError> {
    let names = ResidueNames::new(topology);
    let mut sites: Vec<Site> = match selection {
        Selection::All => {
            let groups = groups(topology, library);
            groups.iter().map(|group| group.site(&names, library)).collect::<Result<_, _>>()?
        }
        Selection::Residues(requests) => {
            requests.iter().map(|request| requested(&names, library, request)).collect::<Result<_, _>>()?
        }
    };
    if sites.is_empty() {
        return Err(SiteError::None(known_names(library)));
    }
    let mut owner: BTreeMap<u32, &Site> = BTreeMap::new();
    for site in &sites {
        for &atom in &site.atoms {
            let Some(other) = owner.insert(atom, site) else { continue };
            if (&other.residues, &other.entry) == (&site.residues, &site.entry) {
                return Err(SiteError::Repeated(site.name.clone()));
            }
            let atom = topology.atoms[atom as usize].name.clone();
            return Err(SiteError::Overlap { first: other.name.clone(), second: site.name.clone(), atom });
        }
    }
    name_apart(&names, &mut sites);
    Ok(sites)
}

/// Puts the entry in front of the names of side chains that are sites of one residue: a ligand may have several groups.
fn name_apart(names: &ResidueNames<'_>, sites: &mut [Site]) {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    sites.iter().for_each(|site| *count.entry(site.name.clone()).or_default() += 1);
    for site in sites.iter_mut().filter(|site| count[&site.name] > 1) {
        site.name = SiteRequest { entry: Some(site.entry.clone()), ..names.of(site.residues[0]) }.to_string();
    }
}

/// The buffer made of `residues` (indices into the topology) with the library's buffer for residues named `name`. Form 0
/// has the higher charge; with equal weights the molecules are those of the topology.
///
/// # Errors
/// [`SiteError`]: no such buffer in the library, or molecules that are not those of the entry.
pub fn buffer_site(
    topology: &Topology,
    library: &SiteLibrary,
    name: &str,
    residues: &[u32],
) -> Result<Site, SiteError> {
    let mut buffers = library.entries.iter().filter(|entry| entry.kind == EntryKind::Buffer);
    let Some(entry) = buffers.clone().find(|entry| entry.residues.iter().any(|r| r == name)) else {
        let known: Vec<&str> = buffers.by_ref().flat_map(|entry| &entry.residues).map(String::as_str).collect();
        return Err(SiteError::NoBuffer { residue: name.to_string(), known: known.join(", ") });
    };
    let mut residues = residues.to_vec();
    residues.sort_unstable();
    let names = ResidueNames::new(topology);
    let mut pieces = residues.iter().map(|&residue| match_entry(&names, entry, residue));
    let Some(mut site) = pieces.next().transpose()? else { return Err(SiteError::None(known_names(library))) };
    for piece in pieces {
        let piece = piece?;
        site.residues.extend(piece.residues);
        site.atoms.extend(piece.atoms);
        for (form, other) in site.forms.iter_mut().zip(piece.forms) {
            form.charges.extend(other.charges);
            form.nominal_charge += other.nominal_charge;
        }
    }
    if let Some(pair) = residues.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(SiteError::Repeated(names.of(pair[0]).to_string()));
    }
    site.name = "buffer".into();
    site.kind = SiteKind::Buffer { molecules: residues.len() as u32 };
    Ok(site)
}

/// Something that may titrate: the side chain of a residue, or an end of a chain with the index of its entry.
struct Group {
    residue: u32,
    terminus: Option<usize>,
}

impl Group {
    fn site(&self, names: &ResidueNames<'_>, library: &SiteLibrary) -> Result<Site, SiteError> {
        match self.terminus {
            Some(entry) => match_entry(names, &library.entries[entry], self.residue),
            None => side_chain(names, library, self.residue),
        }
    }

    fn label(&self, names: &ResidueNames<'_>, library: &SiteLibrary) -> String {
        site_name(names, self.residue, self.terminus.map(|entry| &library.entries[entry]))
    }
}

/// "GLU 2", "nterm ALA 1", "2:nterm ALA 1"
fn site_name(names: &ResidueNames<'_>, residue: u32, terminus: Option<&Entry>) -> String {
    SiteRequest { entry: terminus.map(|entry| entry.name.clone()), ..names.of(residue) }.to_string()
}

/// Everything that titrates, in the order of the topology. A side chain bonded to another residue is left out: cystine has
/// no proton to lose.
fn groups(topology: &Topology, library: &SiteLibrary) -> Vec<Group> {
    let side = |name: &str| side_chains(library).any(|entry| entry.residues.iter().any(|r| r == name));
    let mut groups = Vec::new();
    let residue_of = |atom: u32| topology.atoms[atom as usize].residue;
    let is_linked = |residue: u32| {
        let fixed = topology.constraints.iter().map(|constraint| constraint.atoms);
        topology.bonds.iter().map(|bond| bond.atoms).chain(fixed).any(|[i, j]| {
            let inside = if residue_of(i) == residue { i } else { j };
            let backbone = ["N", "C"].contains(&topology.atoms[inside as usize].name.as_str());
            residue_of(i) != residue_of(j) && residue_of(inside) == residue && !backbone
        })
    };
    for residue in 0..topology.residues.len() as u32 {
        let atoms = &topology.residues[residue as usize];
        if side(&atoms.name) && !is_linked(residue) {
            groups.push(Group { residue, terminus: None });
        }
        let has = |name: &String| atoms.atoms.clone().any(|atom| topology.atoms[atom as usize].name == *name);
        for end in [Terminus::N, Terminus::C] {
            let fits = |entry: &Entry| entry.terminus == Some(end) && entry.charges.keys().all(has);
            let terminus = library.entries.iter().position(fits);
            groups.extend(terminus.map(|_| Group { residue, terminus }));
        }
    }
    groups
}

fn side_chains(library: &SiteLibrary) -> impl Iterator<Item = &Entry> {
    library.entries.iter().filter(|entry| entry.kind == EntryKind::Titratable && entry.terminus.is_none())
}

fn known_names(library: &SiteLibrary) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in side_chains(library).flat_map(|entry| &entry.residues) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.join(", ")
}

fn requested(names: &ResidueNames<'_>, library: &SiteLibrary, request: &SiteRequest) -> Result<Site, SiteError> {
    let Some(residue) = names.only(request)? else {
        let groups = groups(names.topology(), library);
        let labels: Vec<String> = groups.iter().map(|group| group.label(names, library)).collect();
        let titratable = if labels.is_empty() { "none".to_string() } else { labels.join(", ") };
        return Err(SiteError::NotFound { request: request.to_string(), titratable });
    };
    let Some(name) = &request.entry else { return side_chain(names, library, residue) };
    let mut titratable = library.entries.iter().filter(|entry| entry.kind == EntryKind::Titratable);
    match titratable.clone().find(|entry| entry.name == *name) {
        Some(entry) => match_entry(names, entry, residue),
        None => {
            let known: Vec<&str> = titratable.by_ref().map(|entry| entry.name.as_str()).collect();
            let (request, entry) = (request.to_string(), name.clone());
            Err(SiteError::UnknownEntry { request, entry, known: known.join(", ") })
        }
    }
}

/// The side chain of one residue: the first entry that fits, or the reason why the first that has its name does not.
fn side_chain(names: &ResidueNames<'_>, library: &SiteLibrary, residue: u32) -> Result<Site, SiteError> {
    let name = &names.topology().residues[residue as usize].name;
    let mut reason = None;
    for entry in side_chains(library).filter(|entry| entry.residues.contains(name)) {
        match match_entry(names, entry, residue) {
            Ok(site) => return Ok(site),
            Err(error) => reason = reason.or(Some(error)),
        }
    }
    let unknown = || SiteError::NotTitratable { residue: names.of(residue).to_string(), known: known_names(library) };
    Err(reason.unwrap_or_else(unknown))
}

fn match_entry(names: &ResidueNames<'_>, entry: &Entry, residue: u32) -> Result<Site, SiteError> {
    let (topology, name) = (names.topology(), names.of(residue).to_string());
    let mut by_name: BTreeMap<&str, u32> = BTreeMap::new();
    for atom in topology.residues[residue as usize].atoms.clone() {
        let atom_name = topology.atoms[atom as usize].name.as_str();
        if by_name.insert(atom_name, atom).is_some() {
            return Err(SiteError::RepeatedAtom { residue: name, atom: atom_name.to_string() });
        }
    }
    let is_end = END_ATOMS.iter().any(|atom| by_name.contains_key(atom));
    let is_backbone = |atom: &String| entry.backbone.contains(atom);
    let missing = |atom: &&String| !(by_name.contains_key(atom.as_str()) || is_end && is_backbone(atom));
    if let Some(atom) = entry.charges.keys().find(missing) {
        let build = entry.build.clone().unwrap_or_else(|| "see its entry in the library".into());
        return Err(SiteError::MissingAtom { residue: name, atom: atom.clone(), entry: entry.name.clone(), build });
    }
    let foreign = |atom: &&&str| !entry.charges.contains_key(**atom) && !END_ATOMS.contains(*atom);
    if let (None, Some(atom)) = (entry.terminus, by_name.keys().find(foreign)) {
        return Err(SiteError::UnknownAtom { residue: name, atom: atom.to_string(), entry: entry.name.clone() });
    }
    let mut atoms: Vec<(u32, &String)> =
        entry.charges.keys().filter_map(|atom| by_name.get(atom.as_str()).map(|&index| (index, atom))).collect();
    atoms.sort_unstable();
    let mut charges: Vec<Vec<f64>> = Vec::new();
    for &(index, atom) in &atoms {
        let (found, of_entry) = (topology.atoms[index as usize].charge, &entry.charges[atom]);
        let expected = match entry.kind {
            EntryKind::Titratable => of_entry[0],
            EntryKind::Buffer => 0.5 * (of_entry[0] + of_entry[1]),
        };
        let tolerance = match entry.terminus {
            Some(_) => TERMINUS,
            None if is_end && is_backbone(atom) => f64::INFINITY,
            None if is_end => TERMINAL_RESIDUE,
            None => EXACT,
        };
        // A new proton's place must be empty wherever it is.
        let tolerance = if expected == 0.0 { EXACT } else { tolerance };
        if (found - expected).abs() > tolerance {
            return Err(SiteError::ChargeMismatch {
                residue: name,
                atom: atom.clone(),
                found,
                expected,
                entry: entry.name.clone(),
                force_field: entry.force_field.clone(),
            });
        }
        charges.push(of_entry.iter().map(|&q| applied(q, expected, found)).collect());
    }
    balance(topology, entry, &atoms, &mut charges);
    let changes = |k: &usize| {
        let lj = entry.lj_types.get(atoms[*k].1).is_some_and(|types| types.iter().any(|t| *t != types[0]));
        lj || charges[*k].iter().any(|&q| q != charges[*k][0])
    };
    let kept: Vec<usize> = (0..atoms.len()).filter(changes).collect();
    let form = |(alpha, form): (usize, &FormEntry)| Form {
        name: form.name.clone(),
        charges: kept.iter().map(|&k| charges[k][alpha]).collect(),
        protons_lost: form.protons_lost,
        pk: form.pk,
        nominal_charge: form.net_charge,
    };
    Ok(Site {
        name: site_name(names, residue, entry.terminus.map(|_| entry)),
        entry: entry.name.clone(),
        residues: vec![residue],
        atoms: kept.iter().map(|&k| atoms[k].0).collect(),
        forms: entry.forms.iter().enumerate().map(form).collect(),
        pka: entry.pka,
        correction: entry.correction.clone(),
        kind: SiteKind::Titratable,
    })
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
        let rest = -f64::from(entry.forms[alpha].protons_lost) - change;
        // Less is rounding of the sum.
        if rest.abs() > 1e-12 {
            charges[target][alpha] += rest;
        }
    }
}
