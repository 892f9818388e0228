//! The library against topologies of GROMACS: the shipped model compounds and the shipped protein, in which every site is found,
//! with the charges of the topology in form 0 and one elementary charge less for each proton.

use std::path::PathBuf;

use forcefield::Topology;
use forcefield::gromacs::read_topology;
use lambda::SiteLibrary;
use lambda::site::{Selection, Site, SiteKind, buffer_site, find_sites};

fn topology(name: &str) -> Topology {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../inputs").join(name).with_extension("top");
    read_topology(&path, &[], &[]).unwrap()
}

fn all(topology: &Topology) -> Vec<Site> {
    find_sites(topology, &SiteLibrary::builtin().unwrap(), Selection::All).unwrap()
}

fn names(sites: &[Site]) -> Vec<&str> {
    sites.iter().map(|site| site.name.as_str()).collect()
}

#[test]
fn model_compounds_have_the_sites_of_their_entries() {
    // Folder and file, site, its atoms: those that differ between forms.
    let compounds = [
        ("01-glu/glu", "GLH 2", "glu", 10),
        ("02-asp/asp", "ASH 2", "asp", 7),
        ("04-his/his", "HIP 2", "his", 12),
        ("05-lys/lys", "LYS 2", "lys", 16),
        ("06-arg/arg", "ARG 2", "arg", 11),
        ("07-tyr/tyr", "TYR 2", "tyr", 15),
        ("08-cys/cys", "CYS 2", "cys", 5),
        ("09-glu3/glu3", "GL3 2", "glu3", 11),
        ("10-asp3/asp3", "AS3 2", "asp3", 8),
        ("11-nterm/nterm", "nterm ALA 2", "nterm", 5),
        ("12-cterm/cterm", "cterm ZALA 2", "cterm", 5),
    ];
    for (file, name, entry, atoms) in compounds {
        let top = topology(file);
        let sites = all(&top);
        let found: Vec<(&str, &str, usize)> =
            sites.iter().map(|site| (site.name.as_str(), site.entry.as_str(), site.atoms.len())).collect();
        assert_eq!(found, [(name, entry, atoms)], "{file}");
        let site = &sites[0];
        for (k, &atom) in site.atoms.iter().enumerate() {
            assert_eq!(site.forms[0].charges[k], top.atoms[atom as usize].charge, "{file}");
        }
        // The net charge of the system: that of the most protonated form.
        assert!((top.net_charge() - site.forms[0].nominal_charge).abs() < 1e-6, "{file}: {}", top.net_charge());
        for (alpha, form) in site.forms.iter().enumerate() {
            let lost = site.net_charge(0) - site.net_charge(alpha);
            assert!((lost - f64::from(form.protons_lost)).abs() < 1e-12, "{file} {}", form.name);
        }
    }
}

#[test]
fn the_protein_has_all_its_sites_and_its_bridges_have_none() {
    let top = topology("13-hirustasin/hirustasin");
    let sites = all(&top);
    let expected = [
        "nterm THR 5",
        "GLH 9",
        "LYS 19",
        "LYS 21",
        "GLH 26",
        "HIP 28",
        "ARG 30",
        "ARG 32",
        "LYS 34",
        "TYR 35",
        "LYS 38",
        "LYS 39",
        "ASH 40",
        "GLH 41",
        "GLH 45",
        "TYR 46",
        "LYS 52",
        "cterm ZALA 53",
    ];
    assert_eq!(names(&sites), expected);
    for site in &sites {
        for (alpha, form) in site.forms.iter().enumerate() {
            let lost = site.net_charge(0) - site.net_charge(alpha);
            assert!((lost - f64::from(form.protons_lost)).abs() < 1e-12, "{} {}", site.name, form.name);
        }
    }
    // Ions make the start neutral: every site fully protonated.
    assert!(top.net_charge().abs() < 1e-6, "{}", top.net_charge());
    let waters: Vec<u32> = (0..top.residues.len() as u32).filter(|&r| top.residues[r as usize].name == "SOL").collect();
    let molecules = 2 * sites.len() + 1;
    let buffer = buffer_site(&top, &SiteLibrary::builtin().unwrap(), "SOL", &waters[..molecules]).unwrap();
    assert_eq!(buffer.kind, SiteKind::Buffer { molecules: molecules as u32 });
    assert!((buffer.net_charge(0) - 0.5 * molecules as f64).abs() < 1e-10);
}
