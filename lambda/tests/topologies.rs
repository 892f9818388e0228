//! The library against topologies of GROMACS: the shipped model compounds and the shipped protein, in which every site is found,
//! with the charges of the topology in form 0 and one elementary charge less for each proton.

use std::path::PathBuf;

use forcefield::Topology;
use forcefield::gromacs::read_topology;
use forcefield::topology::{BondConstraints, PeriodicDihedral, RyckaertBellemans};
use lambda::SiteLibrary;
use lambda::library::Entry;
use lambda::site::{
    Likeness, Parameters, Selection, Site, SiteKind, buffer_site, find_sites, hold_torsions, likeness, pair_terms,
    parameters, terms, untitrated,
};

fn topology(name: &str) -> Topology {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../inputs").join(name).with_extension("top");
    read_topology(&path, &[], &[]).unwrap()
}

fn all(topology: &Topology) -> Vec<Site> {
    find_sites(topology, &SiteLibrary::builtin().unwrap(), Selection::All).unwrap()
}

fn requested(topology: &Topology, name: &str) -> Vec<Site> {
    find_sites(topology, &SiteLibrary::builtin().unwrap(), Selection::Residues(&[name.parse().unwrap()])).unwrap()
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
    let library = SiteLibrary::builtin().unwrap();
    // The correction of its amino end is not known: that does not titrate unasked, and is a site for those who ask.
    let left: Vec<String> = untitrated(&top, &library, &all(&top)).into_iter().map(|one| one.to_string()).collect();
    assert!(left.iter().any(|one| one.starts_with("nterm THR 5: V_MM of nterm is known for ALA")), "{left:?}");
    let sites = [requested(&top, "nterm THR 5"), all(&top)].concat();
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
        // The cap in front has a C, too.
        let at = |name: &str| top.atoms.iter().rposition(|atom| atom.name == name).unwrap() as u32;
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

fn builtin(name: &str) -> Entry {
    SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == name).unwrap()
}

/// Fingerprints of every site of an entry.
fn fingerprints(topology: &Topology, entry: &str) -> Vec<Parameters> {
    let of = |site: &Site| parameters(topology, &builtin(entry), site.residues[0]);
    // An amino end is found whether its correction is known there or not.
    let amino = topology
        .residues
        .iter()
        .find(|residue| residue.atoms.clone().any(|atom| topology.atoms[atom as usize].name == "H3"));
    let sites = match amino.filter(|_| entry == "nterm") {
        Some(residue) => requested(topology, &format!("nterm {} {}", residue.name, residue.number)),
        None => all(topology),
    };
    sites.iter().filter(|site| site.entry == entry).map(of).collect()
}

/// What a calibration recorded for a model compound holds for the residue wherever it stands in a protein, and for no other one.
#[test]
fn the_parameters_of_a_residue_do_not_depend_on_its_neighbours() {
    let protein = topology("13-hirustasin/hirustasin");
    let mut seen = Vec::new();
    for (name, file) in [
        ("glu3", "09-glu3/glu3"),
        ("asp3", "10-asp3/asp3"),
        ("his", "04-his/his"),
        ("lys", "05-lys/lys"),
        ("arg", "06-arg/arg"),
        ("tyr", "07-tyr/tyr"),
        ("nterm", "11-nterm/nterm"),
        ("cterm", "12-cterm/cterm"),
    ] {
        let model = fingerprints(&topology(file), name).remove(0);
        let found = fingerprints(&protein, name);
        assert!(!found.is_empty() && found.iter().all(|one| one.own == model.own), "{name}: {model:?}, {found:?}");
        let inside = found.iter().filter_map(|one| one.attached.as_ref());
        assert!(inside.clone().all(|one| Some(one) == model.attached.as_ref()), "{name}: {model:?}, {found:?}");
        assert_eq!(model.attached.is_some(), !name.ends_with("term"), "{name}");
        assert!(!seen.contains(&model.own), "{name} has the parameters of another residue");
        seen.push(model.own);
    }
}

/// Atoms in the reverse order within their residue, terms and the atoms of each term in the reverse order.
fn turned(topology: &Topology) -> Topology {
    let mut turned = topology.clone();
    let mut place: Vec<u32> = (0..topology.n_atoms() as u32).collect();
    for residue in &topology.residues {
        let range = residue.atoms.start as usize..residue.atoms.end as usize;
        place[range.clone()].reverse();
        turned.atoms[range].reverse();
    }
    fn reverse<const N: usize>(atoms: &mut [u32; N], place: &[u32]) {
        atoms.reverse();
        atoms.iter_mut().for_each(|atom| *atom = place[*atom as usize]);
    }
    turned.bonds.iter_mut().for_each(|term| reverse(&mut term.atoms, &place));
    turned.angles.iter_mut().for_each(|term| reverse(&mut term.atoms, &place));
    turned.propers.iter_mut().for_each(|term| reverse(&mut term.atoms, &place));
    turned.pairs.iter_mut().for_each(|term| reverse(&mut term.atoms, &place));
    turned.bonds.reverse();
    turned.angles.reverse();
    turned.propers.reverse();
    turned.pairs.reverse();
    turned
}

#[test]
fn the_parameters_of_a_residue_do_not_depend_on_order_or_on_bonds_held_fixed() {
    let topology = topology("02-asp/asp");
    let before = fingerprints(&topology, "asp");
    assert_eq!(before.len(), 1);
    assert_eq!(fingerprints(&turned(&topology), "asp"), before);
    let mut rigid = topology.clone();
    rigid.constrain_bonds(BondConstraints::HBonds);
    assert!(rigid.constraints.len() > topology.constraints.len());
    assert_eq!(fingerprints(&rigid, "asp"), before);
}

/// Force fields with the same charges: a torsion within the side chain, one about its bond to the backbone, an atom's size.
#[test]
fn equal_charges_and_other_parameters_have_other_fingerprints() {
    let topology = topology("02-asp/asp");
    let before = fingerprints(&topology, "asp").remove(0);
    let named = |atoms: &[u32], names: &[&str]| {
        let found: Vec<&str> = atoms.iter().map(|&atom| topology.atoms[atom as usize].name.as_str()).collect();
        let backward: Vec<&str> = found.iter().rev().copied().collect();
        found == names || backward == names
    };
    let with = |names: &[&str]| {
        let mut changed = topology.clone();
        let mut count = 0;
        for term in changed.propers.iter_mut().filter(|term| term.k != 0.0 && named(&term.atoms, names)) {
            term.k *= 1.01;
            count += 1;
        }
        assert!(count > 0, "no torsion {names:?}");
        fingerprints(&changed, "asp").remove(0)
    };
    let inner = with(&["OD1", "CG", "OD2", "HD2"]);
    assert!(inner.own != before.own && inner.attached == before.attached);
    let outer = with(&["N", "CA", "CB", "CG"]);
    assert!(outer.own == before.own && outer.attached != before.attached);

    let mut larger = topology.clone();
    let atom = topology.atoms.iter().find(|atom| atom.name == "OD2").unwrap();
    let k = atom.type_index as usize * (topology.lj.n_types + 1);
    larger.lj.c12[k] *= 1.01;
    assert_ne!(fingerprints(&larger, "asp").remove(0).own, before.own);
    // Another residue's torsions are not its own.
    let mut elsewhere = topology.clone();
    let asp = topology.residues.iter().find(|residue| residue.name == "ASH").unwrap().atoms.clone();
    let foreign = |atoms: &[u32; 4]| atoms.iter().all(|atom| !asp.contains(atom));
    assert!(elsewhere.propers.iter().any(|term| foreign(&term.atoms)));
    elsewhere.propers.iter_mut().filter(|term| foreign(&term.atoms)).for_each(|term| term.k += 1.0);
    assert_eq!(fingerprints(&elsewhere, "asp").remove(0), before);
}

/// A pair term of the group with an atom of its own residue, or with the solvent, is part of its model compound and is seen with its numbers; one with an ion is not.
#[test]
fn pair_terms_of_the_model_compound_count_and_those_of_the_protein_do_not() {
    let mut top = topology("13-hirustasin/hirustasin");
    let library = SiteLibrary::builtin().unwrap();
    let site = all(&top).into_iter().find(|site| site.entry == "glu3").unwrap();
    let (entry, residue) = (site.entry_in(&library).unwrap(), site.residues[0]);
    let atoms_of = |top: &Topology, name: &str| {
        top.residues.iter().find(|residue| residue.name.starts_with(name)).unwrap().atoms.clone()
    };
    let (water, ion) = (atoms_of(&top, "SOL"), atoms_of(&top, "CL"));
    let own = top.residues[residue as usize].atoms.clone();
    let type_of = |atom: u32| top.atoms[atom as usize].type_index;
    let named = |name: &str| type_of(own.clone().find(|&atom| top.atoms[atom as usize].name == name).unwrap());
    let (oxygen, nitrogen, solvent, chloride) = (named("OE1"), named("N"), type_of(water.start), type_of(ion.start));
    assert_eq!(pair_terms(&top, entry, residue, Some(water.clone())), None);
    let plain = top.lj.clone();
    let mut with = |other: u32, factor: f64| {
        top.lj = plain.clone();
        let n = plain.n_types as u32;
        for place in [oxygen * n + other, other * n + oxygen] {
            top.lj.c12[place as usize] *= factor;
        }
        pair_terms(&top, entry, residue, Some(water.clone()))
    };
    let [inside, stronger, outside] = [with(nitrogen, 1.3), with(nitrogen, 1.4), with(solvent, 1.3)];
    assert!(inside.is_some() && stronger.is_some() && outside.is_some());
    assert!(inside != stronger && inside != outside);
    assert_eq!(with(chloride, 1.3), None);
}

/// The numbers of the built-in corrections, which jobs with roundings of them are compared with: those of the model compounds that the corrections were made with, and
/// their fingerprints are the ones that the corrections recorded.
///
/// `OCTITRATE_WRITE_PARAMETERS=1 cargo test --release -p octitrate-lambda --test integration numbers_of_the_built_in` writes the file anew.
#[test]
fn the_numbers_of_the_built_in_corrections_are_kept() {
    let library = SiteLibrary::builtin().unwrap();
    let mut text = String::from(
        "What the force field says of the model compounds of the built-in corrections besides charges, by fingerprints (lambda/src/site/likeness.rs).\n\
         Written by lambda/tests/topologies.rs.\n",
    );
    let mut made = Vec::new();
    let mut add = |fingerprint: &str, what: String, lines: &[String]| {
        if !text.contains(&format!("[{fingerprint}]")) {
            text += &format!("\n[{fingerprint}] {what}\n{}\n", lines.join("\n"));
        }
    };
    for file in [
        "01-glu/glu",
        "02-asp/asp",
        "04-his/his",
        "05-lys/lys",
        "06-arg/arg",
        "07-tyr/tyr",
        "08-cys/cys",
        "09-glu3/glu3",
        "10-asp3/asp3",
        "11-nterm/nterm",
        "12-cterm/cterm",
    ] {
        let mut top = topology(file);
        let sites = all(&top);
        hold_torsions(&mut top, &library, &sites);
        let water = (0..).zip(&top.residues).find(|(_, residue)| residue.name == "SOL").unwrap().0;
        let buffer = buffer_site(&top, &library, "SOL", &[water]).unwrap();
        for site in [&sites[0], &buffer] {
            let found = terms(&top, site.entry_in(&library).unwrap(), site.residues[0]);
            let prints = found.fingerprints();
            let made_with = site.correction.calibration().unwrap().provenance.conditions.clone().unwrap();
            assert_eq!(
                (&prints.own, &prints.attached),
                (&made_with.parameters, &made_with.attached),
                "{file}: {}",
                site.entry
            );
            add(&prints.own, format!("{} for {}", site.entry, site.force_field), &found.own);
            if let (Some(fingerprint), Some(lines)) = (&prints.attached, &found.attached) {
                add(fingerprint, "joint to the backbone".into(), lines);
            }
            made.push((file, found, made_with));
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("library/parameters.txt");
    if std::env::var_os("OCTITRATE_WRITE_PARAMETERS").is_some() {
        return std::fs::write(&path, &text).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap() == text, "library/parameters.txt is not what the topologies say");
    for (file, found, made_with) in made {
        let same = likeness(&found, &made_with.parameters, made_with.attached.as_deref());
        assert!(matches!(same, Likeness::Rounded { largest: 0.0, .. }), "{file}: {same:?}");
    }
}
