//! Groups that the library knows and that do not titrate, with the reason: what a person would otherwise take for a titrating group.
//!
//! Looked at are side chains whose residue name an entry has, as one that titrates or as one built without its proton (HID, LYN, CYX), and
//! the ends of chains of amino acids. An end with a cap is no group.

use std::collections::HashMap;
use std::fmt;

use forcefield::Topology;

use super::links::Links;
use super::matching::{match_entry, no_correction, no_correction_for_a_proton};
use super::search::{side_chain, side_chains, site_name};
use super::{ResidueNames, Site, SiteError};
use crate::library::{Entry, SiteLibrary, Terminus};

/// A group that the library knows and that does not titrate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untitrated {
    /// Name, as that of a site.
    pub name: String,
    /// Why it does not titrate; none if it could, and is not among the sites.
    pub reason: Option<String>,
    /// Whether its side chain is bonded to another residue: it has no proton to lose, and nothing is to be mended.
    pub is_bonded: bool,
}

impl fmt::Display for Untitrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason.as_deref().unwrap_or("it is not among the sites that are asked for"))
    }
}

/// The groups of `topology` that `library` knows and that are not among `sites`, in the order of the topology.
pub fn untitrated(topology: &Topology, library: &SiteLibrary, sites: &[Site]) -> Vec<Untitrated> {
    let names = ResidueNames::new(topology);
    let links = Links::new(topology);
    let mut by_name: HashMap<&str, Named<'_>> = HashMap::new();
    for entry in side_chains(library) {
        let named = |description| Named { entry, description };
        entry.unprotonated.iter().for_each(|(name, text)| {
            by_name.entry(name).or_insert_with(|| named(Some(text.as_str())));
        });
    }
    for entry in side_chains(library) {
        entry.residues.iter().for_each(|name| {
            by_name.insert(name, Named { entry, description: None });
        });
    }
    let titrates = |residue: u32, terminus: Option<Terminus>| {
        let is_end = |site: &Site| site.entry_in(library).and_then(|entry| entry.terminus);
        sites.iter().any(|site| site.residues == [residue] && is_end(site) == terminus)
    };
    let mut list = Vec::new();
    for residue in 0..topology.residues.len() as u32 {
        let side = by_name.get(topology.residues[residue as usize].name.as_str());
        if let Some(named) = side.filter(|_| !titrates(residue, None)) {
            let reason = named.reason(&names, library, &links, residue);
            let is_bonded = links.bridge(residue).is_some();
            list.push(Untitrated { name: site_name(&names, residue, None), reason, is_bonded });
        }
        for end in [Terminus::N, Terminus::C] {
            let entry = library.entries.iter().find(|entry| entry.terminus == Some(end));
            let Some(entry) = entry.filter(|_| links.is_end(residue, end) && !titrates(residue, Some(end))) else {
                continue;
            };
            let reason = match match_entry(&names, entry, residue).err() {
                // Nobody is told to build a proton that would stay at every pH.
                Some(error @ SiteError::MissingAtom { .. }) => {
                    no_correction_for_a_proton(topology, entry, residue).or_else(|| Some(error.reason()))
                }
                Some(error) => Some(error.reason()),
                None => no_correction(topology, entry, residue),
            };
            list.push(Untitrated { name: site_name(&names, residue, Some(entry)), reason, is_bonded: false });
        }
    }
    list
}

/// What an entry says of a residue name.
struct Named<'a> {
    entry: &'a Entry,
    /// What a residue of this name is, if it lacks a proton.
    description: Option<&'a str>,
}

impl Named<'_> {
    /// Why the side chain of a residue does not titrate; `None` if it could.
    fn reason(
        &self,
        names: &ResidueNames<'_>,
        library: &SiteLibrary,
        links: &Links<'_>,
        residue: u32,
    ) -> Option<String> {
        let topology = names.topology();
        if let Some([own, other]) = links.bridge(residue) {
            let [own, other] = [own, other].map(|atom| &topology.atoms[atom as usize]);
            return Some(format!("its {} is bonded to {} of {}", own.name, other.name, names.of(other.residue)));
        }
        if let Some(description) = self.description {
            let build = self.entry.build.as_ref().map(|build| format!(": {build}")).unwrap_or_default();
            return Some(format!("it is {description}{build}"));
        }
        match side_chain(names, library, residue) {
            Ok(site) => site.entry_in(library).and_then(|entry| no_correction(topology, entry, residue)),
            Err(error) => Some(error.reason()),
        }
    }
}
