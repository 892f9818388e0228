//! Finding sites in a topology: which residues and ends of chains fit which entry of the library.

use std::collections::{BTreeMap, HashSet};

use forcefield::Topology;

use super::links::Links;
use super::matching::{has_all, match_entry, no_correction};
use super::{ResidueNames, Selection, Site, SiteError, SiteKind, SiteRequest, untitrated};
use crate::library::{Entry, EntryKind, SiteLibrary, Terminus};

/// Names that a message lists at most.
const LISTED: usize = 5;

/// Finds the sites of `topology` in the order of the topology ([`Selection::All`]) or of the requests. [`untitrated()`] tells which groups of
/// the library are not among them.
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
            // What cannot titrate as it is built is told by `untitrated`.
            let built = groups(topology, library).into_iter().filter_map(|group| group.site(&names, library).ok());
            let is_known = |site: &Site| {
                site.entry_in(library).is_none_or(|entry| no_correction(topology, entry, site.residues[0]).is_none())
            };
            built.filter(is_known).collect()
        }
        Selection::Residues(requests) => {
            requests.iter().map(|request| requested(&names, library, request)).collect::<Result<_, _>>()?
        }
    };
    if sites.is_empty() {
        return Err(SiteError::None { why: why_none(topology, library) });
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

/// Why there are no sites: the group that is nearest to one, a side chain that lacks something before an end or a disulfide, and the names of the others; or the names
/// of the residues, where the library knows none of them.
fn why_none(topology: &Topology, library: &SiteLibrary) -> String {
    let mut left = untitrated(topology, library, &[]);
    // An end has its entry before the name of the residue.
    let is_end = |one: &super::Untitrated| library.entries.iter().any(|e| one.name.contains(&format!("{} ", e.name)));
    left.sort_by_key(|one| (one.is_bonded, is_end(one)));
    let listed = |names: &[&str]| match names.len() {
        0..=LISTED => names.join(", "),
        all => format!("{} and {} more", names[..LISTED].join(", "), all - LISTED),
    };
    let Some((nearest, others)) = left.split_first() else {
        let mut names: Vec<&str> = Vec::new();
        for residue in &topology.residues {
            if !names.contains(&residue.name.as_str()) {
                names.push(&residue.name);
            }
        }
        return format!("the library knows none of its residues, {}", listed(&names));
    };
    let names: Vec<&str> = others.iter().map(|one| one.name.as_str()).collect();
    match &names[..] {
        [] => nearest.to_string(),
        _ => format!("{nearest}. Nor do {}", listed(&names)),
    }
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
    let mut pieces =
        residues.iter().map(|&residue| match_entry(&names, entry, residue).map_err(|e| other_solvent(entry, e)));
    let Some(mut site) = pieces.next().transpose()? else {
        return Err(SiteError::None { why: "no molecules are asked for".into() });
    };
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

/// What does not fit the entry of a buffer, whose molecules neither titrate nor are built with a proton: they are of another model.
fn other_solvent(entry: &Entry, error: SiteError) -> SiteError {
    let (residue, reason) = match error {
        SiteError::MissingAtom { residue, atom, .. } => (residue, format!("it has no atom {atom}")),
        SiteError::UnknownAtom { residue, atom, .. } => (residue, format!("it has an atom {atom}")),
        SiteError::ChargeMismatch { residue, atom, found, expected, .. } => {
            (residue, format!("its atom {atom} has a charge of {found:.4} e and not of {expected:.4} e"))
        }
        other => return other,
    };
    SiteError::OtherSolvent { residue, entry: entry.name.clone(), force_field: entry.force_field.clone(), reason }
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
pub(super) fn site_name(names: &ResidueNames<'_>, residue: u32, terminus: Option<&Entry>) -> String {
    SiteRequest { entry: terminus.map(|entry| entry.name.clone()), ..names.of(residue) }.to_string()
}

/// Everything that titrates if it is built so, in the order of the topology. A side chain bonded to another residue is left out: cystine
/// has no proton to lose.
fn groups(topology: &Topology, library: &SiteLibrary) -> Vec<Group> {
    let known: HashSet<&str> = side_chains(library).flat_map(|entry| &entry.residues).map(String::as_str).collect();
    let links = Links::new(topology);
    let mut groups = Vec::new();
    for residue in 0..topology.residues.len() as u32 {
        let name = topology.residues[residue as usize].name.as_str();
        if known.contains(name) && links.bridge(residue).is_none() {
            groups.push(Group { residue, terminus: None });
        }
        for end in [Terminus::N, Terminus::C] {
            let fits = |entry: &Entry| entry.terminus == Some(end) && has_all(topology, entry, residue);
            let terminus = library.entries.iter().position(fits);
            groups.extend(terminus.map(|_| Group { residue, terminus }));
        }
    }
    groups
}

pub(super) fn side_chains(library: &SiteLibrary) -> impl Iterator<Item = &Entry> {
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
    let titratable = || library.entries.iter().filter(|entry| entry.kind == EntryKind::Titratable);
    let entries = titratable().filter(|entry| entry.name == *name);
    first_fitting(names, entries, residue).unwrap_or_else(|| {
        let known: Vec<&str> = titratable().map(|entry| entry.name.as_str()).collect();
        let (request, entry) = (request.to_string(), name.clone());
        Err(SiteError::UnknownEntry { request, entry, known: known.join(", ") })
    })
}

/// The site of the first of these entries that fits a residue, or why the first of all does not; `None` without entries.
fn first_fitting<'a>(
    names: &ResidueNames<'_>,
    entries: impl Iterator<Item = &'a Entry>,
    residue: u32,
) -> Option<Result<Site, SiteError>> {
    let mut reason = None;
    for entry in entries {
        match match_entry(names, entry, residue) {
            Ok(site) => return Some(Ok(site)),
            Err(error) => reason = reason.or(Some(Err(error))),
        }
    }
    reason
}

/// The side chain of one residue: the first entry that fits, or the reason why the first that has its name does not.
pub(super) fn side_chain(names: &ResidueNames<'_>, library: &SiteLibrary, residue: u32) -> Result<Site, SiteError> {
    let name = &names.topology().residues[residue as usize].name;
    let entries = side_chains(library).filter(|entry| entry.residues.contains(name));
    first_fitting(names, entries, residue).unwrap_or_else(|| {
        Err(SiteError::NotTitratable { residue: names.of(residue).to_string(), known: known_names(library) })
    })
}
