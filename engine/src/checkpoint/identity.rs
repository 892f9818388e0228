//! What a checkpoint belongs to: the values that shape a trajectory.
//!
//! Settings, charges, masses and sites are kept as they are, so that a difference can be named; of the structure at the start and of each kind
//! of interaction ([`forcefield::Topology::fingerprint`]) the number and a hash of their values. Neither the number of steps nor the output
//! intervals are part of it, so that a finished run can be made longer; nor are paths, so that a folder may be moved with its inputs; nor are
//! names of the program, so that a renamed field invalidates nothing.
//!
//! Units: e, u.

use forcefield::Structure;
use forcefield::Topology;
use forcefield::variants::SiteVariants;
use lambda::Site;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What is said of another structure at the start.
const OTHER_START: &str = "the structure at the start has other positions, other velocities or another box now";

/// Two runs with equal identities may share a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The settings that shape the trajectory, as TOML.
    pub settings: String,
    /// Hash of positions, velocities and box of the structure at the start.
    pub structure: u64,
    /// Charge of each atom (e) in the topology.
    #[serde(with = "crate::packed")]
    pub charges: Vec<f64>,
    /// Mass of each atom, u.
    #[serde(with = "crate::packed")]
    pub masses: Vec<f64>,
    /// The titratable sites.
    pub sites: Vec<SiteIdentity>,
    /// Number and hash of the interactions of each kind, such as "bonds".
    pub interactions: BTreeMap<String, (u64, u64)>,
}

/// One titratable site, or the charge buffer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteIdentity {
    /// Name, such as "GLU 2".
    pub name: String,
    /// Its atoms.
    pub atoms: Vec<u32>,
    /// Charges of the atoms in each form, e.
    pub charges: Vec<Vec<f64>>,
    /// Cumulative pK of each form.
    pub pk: Vec<f64>,
    /// Coefficients of the correction V_MM, kJ/mol; empty without one.
    pub correction: Vec<f64>,
    /// Hash of what else differs between its forms.
    pub variants: u64,
}

impl SiteIdentity {
    fn new(site: &Site, variants: &SiteVariants) -> Self {
        let calibration = site.correction.calibration();
        Self {
            name: site.name.clone(),
            atoms: site.atoms.clone(),
            charges: site.forms.iter().map(|form| form.charges.clone()).collect(),
            pk: site.forms.iter().map(|form| form.pk).collect(),
            correction: calibration.map_or(Vec::new(), |calibration| calibration.coefficients.clone()),
            variants: variants.fingerprint(),
        }
    }

    /// What differs, in words; none if nothing does.
    fn difference(&self, ours: &Self) -> Option<String> {
        let name = &self.name;
        if self.name != ours.name {
            return Some(format!("its titratable site {name} is {} now", ours.name));
        }
        let parts = [
            (self.atoms != ours.atoms, "the atoms"),
            (self.charges != ours.charges, "the charges of the forms"),
            (self.pk != ours.pk, "the pK values"),
            (self.correction != ours.correction, "the correction V_MM"),
            (self.variants != ours.variants, "Lennard-Jones types or bonded terms of the forms"),
        ];
        parts.iter().find(|(differs, _)| *differs).map(|(_, what)| format!("{what} of {name} are others now"))
    }
}

impl Identity {
    /// Of a run with `settings` (TOML) on `topology` that starts from `structure`, with `sites` and what differs between their forms besides
    /// charges.
    pub fn new(
        settings: String,
        topology: &Topology,
        structure: &Structure,
        sites: &[Site],
        variants: &[SiteVariants],
    ) -> Self {
        let section =
            |section: forcefield::topology::Section| (section.name.to_string(), (section.count as u64, section.hash));
        Self {
            settings,
            structure: structure.fingerprint(),
            charges: topology.charges(),
            masses: topology.masses(),
            sites: sites.iter().zip(variants).map(|(site, variants)| SiteIdentity::new(site, variants)).collect(),
            interactions: topology.fingerprint().into_iter().map(section).collect(),
        }
    }

    /// The first thing in which this identity, that of a checkpoint, differs from `ours`, in words; none if they are the same.
    pub fn difference(&self, ours: &Self) -> Option<String> {
        if self == ours {
            return None;
        }
        let (theirs, atoms) = (self, ours.charges.len());
        if theirs.charges.len() != atoms {
            return Some(format!("it has {} atoms, the job has {atoms}", theirs.charges.len()));
        }
        if theirs.sites.len() != ours.sites.len() {
            let (theirs, ours) = (theirs.sites.len(), ours.sites.len());
            return Some(format!("it has {theirs} titratable sites, the job has {ours}"));
        }
        let settings = (theirs.settings != ours.settings).then(|| differing_lines(&theirs.settings, &ours.settings));
        settings
            .or_else(|| of_atom("charge", "e", &theirs.charges, &ours.charges))
            .or_else(|| of_atom("mass", "u", &theirs.masses, &ours.masses))
            .or_else(|| (theirs.structure != ours.structure).then(|| OTHER_START.into()))
            .or_else(|| theirs.sites.iter().zip(&ours.sites).find_map(|(theirs, ours)| theirs.difference(ours)))
            .or_else(|| theirs.differing_interactions(ours))
    }

    /// The same identity whose sites have no correction: that of a calibration, which finds it.
    #[must_use]
    pub fn without_corrections(mut self) -> Self {
        self.sites.iter_mut().for_each(|site| site.correction.clear());
        self
    }

    /// The same identity with the start of `other`: its atoms of the sites, which are chosen there for a charge buffer, and as many position
    /// restraints on those.
    #[must_use]
    pub fn started_as(mut self, other: &Self) -> Self {
        const RESTRAINTS: &str = "position restraints";
        self.structure = other.structure;
        self.sites.iter_mut().zip(&other.sites).for_each(|(ours, theirs)| ours.atoms.clone_from(&theirs.atoms));
        if let (Some(ours), Some(theirs)) = (self.interactions.get_mut(RESTRAINTS), other.interactions.get(RESTRAINTS))
            && ours.0 == theirs.0
        {
            *ours = *theirs;
        }
        self
    }

    fn differing_interactions(&self, ours: &Self) -> Option<String> {
        let names = self.interactions.keys().chain(ours.interactions.keys());
        let of = |identity: &Self, name: &String| identity.interactions.get(name).copied().unwrap_or_default();
        let name = names.into_iter().find(|name| of(self, name) != of(ours, name))?;
        let ((theirs, _), (now, _)) = (of(self, name), of(ours, name));
        Some(if theirs == now {
            format!("among the {now} {name} are others than in the checkpoint")
        } else {
            format!("the topology has {now} {name}, the checkpoint has {theirs}")
        })
    }
}

/// The first atom whose value differs.
fn of_atom(what: &str, unit: &str, theirs: &[f64], ours: &[f64]) -> Option<String> {
    let atom = theirs.iter().zip(ours).position(|(theirs, ours)| theirs != ours)?;
    let (number, now, then) = (atom + 1, ours[atom], theirs[atom]);
    Some(format!("the {what} of atom {number} is {now} {unit}, the checkpoint has {then} {unit}"))
}

/// Most settings that are named.
const NAMED: usize = 4;

/// The lines of two TOML texts that are not in both, with their sections.
fn differing_lines(theirs: &str, ours: &str) -> String {
    let keyed = |text: &str| {
        let (mut section, mut tables) = (String::new(), BTreeMap::<String, usize>::new());
        let mut lines = BTreeMap::new();
        for line in text.lines() {
            if let Some(header) = line.strip_prefix("[[") {
                // Tables of the same name are told apart by their number, from 1.
                let name = header.trim_end_matches(']').to_string();
                let number = tables.entry(name.clone()).or_default();
                *number += 1;
                section = format!("{name}[{number}].");
            } else if let Some(header) = line.strip_prefix('[') {
                section = format!("{}.", header.trim_end_matches(']'));
            } else if let Some((key, value)) = line.split_once(" = ") {
                lines.insert(format!("{section}{key}"), value.to_string());
            }
        }
        lines
    };
    let (theirs, ours) = (keyed(theirs), keyed(ours));
    let absent = "absent".to_string();
    let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    let difference = |key: &String| {
        let (before, now) = (theirs.get(key).unwrap_or(&absent), ours.get(key).unwrap_or(&absent));
        (before != now).then(|| format!("{key} was {before} and is now {now}"))
    };
    let mut named: Vec<String> = keys.into_iter().filter_map(difference).collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    match (named.is_empty(), more) {
        (true, _) => "its settings differ".into(),
        (false, 0) => named.join("; "),
        (false, more) => format!("{}; and {more} more", named.join("; ")),
    }
}
