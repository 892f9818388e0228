//! What the free energy of each site of a job depends on ([`Conditions`]), as its settings and its topology tell it.

use crate::config::{Boundary, Config, Interpolation, Modifier};
use forcefield::Topology;
use forcefield::solvent::{solvent, solvent_molecule};
use lambda::SiteLibrary;
use lambda::library::Conditions;
use lambda::site::{Likeness, Site, SiteKind, pair_terms, parameters, terms};
use std::ops::Range;

/// Whether the bracket of Hamiltonian interpolation holds the site's own periodic images.
pub(super) const IMAGES: bool = false;

/// What all sites of a job have in common.
pub(super) fn common(
    config: &Config,
    topology: &Topology,
    sites: &[Site],
    temperature: f64,
    neutral: bool,
) -> Conditions {
    let solutes = solutes(topology, sites);
    let open = config.electrostatics.boundary == Boundary::Open;
    let interpolation = config.titration.as_ref().map(|titration| titration.interpolation);
    let hamiltonian = interpolation.is_none_or(|kind| kind == Interpolation::Hamiltonian);
    Conditions {
        interpolation: if hamiltonian { "hamiltonian" } else { "charge" }.into(),
        images: hamiltonian && IMAGES,
        temperature,
        cutoff: config.van_der_waals.cutoff.get(),
        modifier: modifier(config.van_der_waals.modifier).into(),
        switch_start: config.van_der_waals.switch_start.map(|start| start.get()),
        water: solvent(topology, |molecule| solutes.contains(&molecule)).unwrap_or_else(|| "none".into()),
        boundary: if open { "open" } else { "periodic" }.into(),
        compensation: if open {
            "none"
        } else if neutral {
            "buffers"
        } else {
            "background"
        }
        .into(),
        parameters: String::new(),
        attached: None,
        pairs: None,
    }
}

/// Molecules that have sites.
fn solutes(topology: &Topology, sites: &[Site]) -> Vec<u32> {
    let titratable = sites.iter().filter(|site| site.kind == SiteKind::Titratable);
    titratable.flat_map(|site| &site.residues).map(|&residue| topology.residues[residue as usize].molecule).collect()
}

/// Atoms of a molecule of the solvent.
pub(super) fn solvent_atoms(topology: &Topology, sites: &[Site]) -> Option<Range<u32>> {
    let solutes = solutes(topology, sites);
    let molecule = solvent_molecule(topology, |molecule| solutes.contains(&molecule))?;
    Some(topology.molecules[molecule as usize].atoms.clone())
}

/// Those of one site, from what all have in common.
pub(super) fn of_site(
    common: &Conditions,
    topology: &Topology,
    library: &SiteLibrary,
    site: &Site,
    solvent: Option<&Range<u32>>,
) -> Conditions {
    let (entry, residue) = (site.entry_in(library), site.residues[0]);
    let found = entry.map(|entry| parameters(topology, entry, residue));
    let (own, attached) = found.map_or((String::new(), None), |found| (found.own, found.attached));
    let pairs = entry.and_then(|entry| pair_terms(topology, entry, residue, solvent.cloned()));
    let mut conditions = Conditions { parameters: own, attached, pairs, ..common.clone() };
    if site.is_buffer() {
        // Its charges are interpolated in either case.
        (conditions.interpolation, conditions.images) = ("charge".into(), false);
    }
    conditions
}

/// How the parameters of a site, whose fingerprints are in `job`, compare to those that its correction was made with.
pub(super) fn likeness(topology: &Topology, library: &SiteLibrary, site: &Site, job: &Conditions) -> Likeness {
    let made_with = site.correction.calibration().and_then(|one| one.provenance.conditions.as_ref());
    let (Some(entry), Some(made_with)) = (site.entry_in(library), made_with) else { return Likeness::Unknown };
    let attached = made_with.attached.as_ref().filter(|_| job.attached.is_some());
    if job.parameters == made_with.parameters && (attached.is_none() || job.attached.as_ref() == attached) {
        return Likeness::Same;
    }
    let ours = terms(topology, entry, site.residues[0]);
    lambda::site::likeness(&ours, &made_with.parameters, made_with.attached.as_deref())
}

/// The word that a job file has for it.
fn modifier(modifier: Modifier) -> &'static str {
    match modifier {
        Modifier::None => "none",
        Modifier::PotentialShift => "potential-shift",
        Modifier::ForceSwitch => "force-switch",
    }
}
