//! The library against topologies of GROMACS: the shipped model compounds and the shipped protein, in which every site is found,
//! with the charges of the topology in form 0 and one elementary charge less for each proton.

use std::path::PathBuf;

use forcefield::Topology;
use forcefield::gromacs::read_topology;
use forcefield::topology::{PeriodicDihedral, RyckaertBellemans};
use lambda::SiteLibrary;
use lambda::site::{Selection, Site, SiteKind, buffer_site, find_sites, hold_torsions};

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
        ("12-cterm/cterm", "cterm ZALA 2", "cterm", 6),
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
        "GL3 9",
        "LYS 19",
        "LYS 21",
        "GL3 26",
        "HIP 28",
        "ARG 30",
        "ARG 32",
        "LYS 34",
        "TYR 35",
        "LYS 38",
        "LYS 39",
        "AS3 40",
        "GL3 41",
        "GL3 45",
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

/// Hydrogens of carboxyl groups are held on the side of the other oxygen: their terms are replaced, and no others.
#[test]
fn torsions_of_carboxyl_hydrogens_are_replaced_and_no_others() {
    // Folder and file, torsions of the hydrogens: the other oxygen, carbon, oxygen, hydrogen.
    let compounds: [(&str, &[[&str; 4]]); 4] = [
        ("01-glu/glu", &[["OE1", "CD", "OE2", "HE2"]]),
        ("02-asp/asp", &[["OD1", "CG", "OD2", "HD2"]]),
        ("09-glu3/glu3", &[["OE1", "CD", "OE2", "HE2"], ["OE2", "CD", "OE1", "HE1"]]),
        ("12-cterm/cterm", &[["OC1", "C", "OC2", "HO2"], ["OC2", "C", "OC1", "HO1"]]),
    ];
    let library = SiteLibrary::builtin().unwrap();
    for (file, torsions) in compounds {
        let mut top = topology(file);
        let at = |name: &str| top.atoms.iter().position(|atom| atom.name == name).unwrap() as u32;
        let held: Vec<[u32; 4]> = torsions.iter().map(|names| names.map(at)).collect();
        let turns = |term: &&PeriodicDihedral| {
            !term.improper && held.iter().any(|[.., hydrogen]| [term.atoms[0], term.atoms[3]].contains(hydrogen))
        };
        let before = top.propers.iter().filter(turns).count();
        // Of GLH and ASH a term over the carbon before, and two with the other oxygen; octitrate's residues are held as they are built.
        assert!(before >= if held.len() == 1 { 3 } else { held.len() }, "{file}: {before}");
        let (others, [first, carbon, oxygen, hydrogen]) = (top.propers.len() - before, held[0]);
        top.ryckaert_bellemans.push(RyckaertBellemans { atoms: [hydrogen, oxygen, carbon, first], c: [1.0; 6] });
        top.ryckaert_bellemans.push(RyckaertBellemans { atoms: [oxygen, carbon, first, hydrogen], c: [1.0; 6] });
        let sites = all(&top);
        assert_eq!(hold_torsions(&mut top, &library, &sites), held.len(), "{file}");
        let after: Vec<&PeriodicDihedral> = top.propers.iter().filter(turns).collect();
        assert_eq!(after.iter().map(|term| term.atoms).collect::<Vec<_>>(), held, "{file}");
        assert_eq!((top.propers.len() - after.len(), top.ryckaert_bellemans.len()), (others, 1), "{file}");
        for term in after {
            // Syn is the minimum. Anti lies 64 RT higher, without another minimum on the way: it is never reached.
            let energy = |phi: f64| term.k * (1.0 + (f64::from(term.multiplicity) * phi - term.phi0).cos());
            assert!(energy(0.0).abs() < 1e-12 && energy(std::f64::consts::PI) > 150.0 && term.multiplicity == 1);
        }
    }
}
