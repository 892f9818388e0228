//! What the free energy of each site of a job depends on ([`Conditions`]), as its settings and its topology tell it.

use crate::config::{Boundary, Config, Interpolation, Modifier};
use forcefield::Topology;
use forcefield::solvent::solvent;
use lambda::SiteLibrary;
use lambda::library::Conditions;
use lambda::site::{Site, SiteKind, parameters};

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
    let titratable = sites.iter().filter(|site| site.kind == SiteKind::Titratable);
    let solutes: Vec<u32> = titratable
        .flat_map(|site| &site.residues)
        .map(|&residue| topology.residues[residue as usize].molecule)
        .collect();
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
    }
}

/// Those of one site, from what all have in common.
pub(super) fn of_site(common: &Conditions, topology: &Topology, library: &SiteLibrary, site: &Site) -> Conditions {
    let found = library.entry_of(site).map(|entry| parameters(topology, entry, site.residues[0]));
    let (own, attached) = found.map_or((String::new(), None), |found| (found.own, found.attached));
    let mut conditions = Conditions { parameters: own, attached, ..common.clone() };
    if site.is_buffer() {
        // Its charges are interpolated in either case.
        (conditions.interpolation, conditions.images) = ("charge".into(), false);
    }
    conditions
}

/// The word that a job file has for it.
fn modifier(modifier: Modifier) -> &'static str {
    match modifier {
        Modifier::None => "none",
        Modifier::PotentialShift => "potential-shift",
        Modifier::ForceSwitch => "force-switch",
    }
}
