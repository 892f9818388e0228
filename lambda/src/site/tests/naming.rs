//! Tests of names: of sites in equal chains, of atoms and residues in other programs; and of what is named because it does not titrate.

use super::*;

/// Two copies of a chain that has one residue twice: merged chains within a molecule, equal numbers in both molecules.
fn two_merged_chains() -> Topology {
    let glu = || ("GLH", protonated("glu"));
    let mut top =
        topology(&[glu(), ("ASH", protonated("asp")), glu(), glu(), ("ASH", protonated("asp")), glu(), glu()]);
    // 1, 2, 1 | 1, 2, 1 | 9, with atoms of three molecules.
    let half = top.residues[2].atoms.end;
    let last = top.residues[5].atoms.end;
    let end = top.n_atoms() as u32;
    top.molecules = [0..half, half..last, last..end].map(|atoms| Molecule { name: "chain".into(), atoms }).to_vec();
    for (residue, (number, molecule)) in
        top.residues.iter_mut().zip([(1, 0), (2, 0), (1, 0), (1, 1), (2, 1), (1, 1), (9, 2)])
    {
        (residue.number, residue.molecule) = (number, molecule);
    }
    top
}

/// Equal names would make one site of several in every table: names are unique and find their site again.
#[test]
fn names_are_unique_and_find_their_site() {
    let top = two_merged_chains();
    let sites = find_sites(&top, &library(), Selection::All).unwrap();
    let names: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
    let expected = ["1:GLH 1#1", "1:ASH 2", "1:GLH 1#2", "2:GLH 1#1", "2:ASH 2", "2:GLH 1#2", "GLH 9"];
    assert_eq!(names, expected);
    for site in &sites {
        assert_eq!(requested(&top, &[&site.name]).unwrap(), std::slice::from_ref(site), "{}", site.name);
    }
    let error = requested(&top, &["1:GLH 1"]).unwrap_err().to_string();
    assert!(error.contains("fits 2 residues") && error.contains("\"1:GLH 1#2\" (in chain)"), "{error}");
    assert!(matches!(requested(&top, &["1:GLH 1#3"]), Err(SiteError::NotFound { .. })));
    // An insertion code is part of the number.
    let mut inserted = top;
    inserted.residues[2].insertion = Some('A');
    let sites = find_sites(&inserted, &library(), Selection::All).unwrap();
    assert_eq!((sites[0].name.as_str(), sites[2].name.as_str()), ("1:GLH 1", "GLH 1A"));
    assert_eq!(requested(&inserted, &["GLH 1A"]).unwrap()[0].residues, [2]);
}

/// A bond that is fixed, as by `constraints = "all-bonds"`, is a bridge as well.
#[test]
fn a_rigid_bridge_to_another_residue_does_not_titrate() {
    let mut top = topology(&[("GLH", protonated("glu")), ("ASH", protonated("asp"))]);
    let of = |name: &str, residue: usize| {
        top.residues[residue].atoms.clone().find(|&atom| top.atoms[atom as usize].name == name).unwrap()
    };
    let atoms = [of("HE2", 0), of("C", 1)];
    top.constraints = vec![forcefield::topology::Constraint { atoms, length: 0.2 }];
    let sites = find_sites(&top, &library(), Selection::All).unwrap();
    assert_eq!(sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["ASH 2"]);
}

fn find_atom(top: &Topology, name: &str, residue: usize) -> u32 {
    top.residues[residue].atoms.clone().find(|&atom| top.atoms[atom as usize].name == name).unwrap()
}

fn bind(top: &mut Topology, atoms: [(&str, usize); 2]) {
    let atoms = atoms.map(|(name, residue)| find_atom(top, name, residue));
    top.bonds.push(Bond { atoms, r0: 0.15, k: 1.0 });
}

/// What pdb2gmx builds unless told otherwise has ends and side chains that cannot titrate; a person would take them for sites.
#[test]
fn what_does_not_titrate_is_listed_with_its_reason() {
    let [first, mut last] = ends();
    last.retain(|(name, _)| !["HO1", "HO2"].contains(&name.as_str()));
    let half = || protonated("cys").into_iter().filter(|(name, _)| name != "HG").collect::<Vec<_>>();
    let neutral = protonated("his").into_iter().filter(|(name, _)| name != "HE2").collect::<Vec<_>>();
    let hid = neutral.clone();
    let residues = [
        ("ALA", first),
        ("CYS", half()),
        ("CYX", half()),
        ("HIS", neutral),
        ("HID", hid),
        ("ASH", protonated("asp")),
        ("ALA", last),
    ];
    let mut top = topology(&residues);
    for residue in 0..6 {
        bind(&mut top, [("C", residue), ("N", residue + 1)]);
    }
    for residue in 0..7 {
        bind(&mut top, [("N", residue), ("CA", residue)]);
        bind(&mut top, [("CA", residue), ("C", residue)]);
    }
    for hydrogen in ["H1", "H2", "H3"] {
        bind(&mut top, [("N", 0), (hydrogen, 0)]);
    }
    for oxygen in ["OC1", "OC2"] {
        bind(&mut top, [("C", 6), (oxygen, 6)]);
    }
    bind(&mut top, [("SG", 1), ("SG", 2)]);
    let sites = find_sites(&top, &library(), Selection::All).unwrap();
    assert_eq!(sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["nterm ALA 1", "ASH 6"]);
    let rest: Vec<String> = untitrated(&top, &library(), &sites).iter().map(Untitrated::to_string).collect();
    let expected = [
        "CYS 2: its SG is bonded to SG of CYX 3",
        "CYX 3: its SG is bonded to SG of CYS 2",
        "HIS 4: it has no atom HE2, which the titratable his needs: build it protonated (gmx pdb2gmx -his",
        "HID 5: it is the neutral tautomer with its proton on ND1: gmx pdb2gmx -his",
        "cterm ALA 7: it has no atom HO1, which the titratable cterm needs: build it protonated (name the residue ZALA",
    ];
    assert_eq!(rest.len(), expected.len(), "{rest:?}");
    for (found, expected) in rest.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
    let bonded = untitrated(&top, &library(), &sites).iter().map(|one| one.is_bonded).collect::<Vec<_>>();
    assert_eq!(bonded, [true, true, false, false, false]);
    // Of an end whose correction is not known nobody is told to build the proton, which would stay at every pH.
    let mut other = top.clone();
    other.residues[6].name = "VAL".into();
    let rest = untitrated(&other, &library(), &sites);
    let reason = rest[4].reason.as_deref().unwrap();
    assert!(reason.starts_with("V_MM of cterm is known for ALA, ") && reason.contains("at VAL"), "{reason}");
    assert!(reason.ends_with("it stays as it is built, without its proton"), "{reason}");
    // With one site asked for, the others could titrate and are told without a reason.
    let one = requested(&top, &["ASH 6"]).unwrap();
    let rest = untitrated(&top, &library(), &one);
    assert_eq!((rest[0].name.as_str(), &rest[0].reason), ("nterm ALA 1", &None));
    assert_eq!(rest.len(), 6);
    // A cap is no end: NH2 behind the last residue, as one of its own.
    let mut capped = topology(&[residues[0].clone(), ("NH2", vec![atom("N", -0.4), atom("H1", 0.2), atom("H2", 0.2)])]);
    for (a, b) in [("N", "CA"), ("CA", "C"), ("N", "H1"), ("N", "H2"), ("N", "H3"), ("C", "O")] {
        bind(&mut capped, [(a, 0), (b, 0)]);
    }
    bind(&mut capped, [("C", 0), ("N", 1)]);
    let sites = find_sites(&capped, &library(), Selection::All).unwrap();
    assert_eq!(untitrated(&capped, &library(), &sites), []);
}

/// AMBER's own programs and the Protein Data Bank count the hydrogens of CH2 from 2, GROMACS from 1.
#[test]
fn atoms_may_have_the_names_of_amber() {
    let renamed = |name: &str| match name {
        "HB1" => "HB2".to_string(),
        "HB2" => "HB3".to_string(),
        "HG1" => "HG2".to_string(),
        "HG2" => "HG3".to_string(),
        other => other.to_string(),
    };
    let atoms: Vec<(String, f64)> = protonated("glu").iter().map(|(name, q)| (renamed(name), *q)).collect();
    let top = topology(&[("GLH", atoms)]);
    let plain = topology(&[("GLH", protonated("glu"))]);
    let [amber, gromacs] = [&top, &plain].map(|top| requested(top, &["GLH 1"]).unwrap().remove(0));
    assert_eq!(amber.forms, gromacs.forms);
    let names = atom_names(&top, &entry("glu"), 0);
    assert_eq!((names["HB1"].as_str(), names["HB2"].as_str(), names["CB"].as_str()), ("HB2", "HB3", "CB"));
    // Three hydrogens are no CH2: nothing is renamed, and the third is unknown.
    let mut methyl = protonated("glu");
    methyl.push(atom("HB3", 0.0));
    assert!(matches!(first(&[("GLH", methyl)]), Err(SiteError::UnknownAtom { atom, .. }) if atom == "HB3"));
    // A carboxyl end as AMBER and the Protein Data Bank name it.
    let [_, last] = ends();
    let pdb = |name: &str| match name {
        "OC1" => "O".to_string(),
        "OC2" => "OXT".to_string(),
        other => other.to_string(),
    };
    let last: Vec<(String, f64)> = last.iter().map(|(name, q)| (pdb(name), *q)).collect();
    assert_eq!(all(&[("ALA", last)]).unwrap()[0].name, "cterm ALA 1");
}

/// Advice to build a residue protonated would be wrong where it is of another force field.
#[test]
fn other_force_fields_are_called_by_their_name() {
    let charmm: Vec<(String, f64)> =
        protonated("his").iter().map(|(name, q)| (if name == "H" { "HN".into() } else { name.clone() }, *q)).collect();
    let message = first(&[("HSP", charmm.clone())]).unwrap_err().to_string();
    assert_eq!(
        message,
        "residue HSP 1 is of CHARMM, as its residue name HSP shows, and the library has his for amber99sb-ildn alone (it has no atom H, \
         which the titratable his needs: build it protonated (gmx pdb2gmx -his with choice 2, or name it HIP in the input)): build the \
         topology with amber99sb-ildn, or write an entry of your own"
    );
    let message = first(&[("HIS", charmm)]).unwrap_err().to_string();
    assert!(message.starts_with("residue HIS 1 is of CHARMM, as its atom HN shows"), "{message}");
    let mut opls = protonated("glu");
    opls[3].1 += 0.1;
    let mut top = topology(&[("GLUH", opls)]);
    top.atom_types = vec![forcefield::topology::AtomType { name: "opls_238".into(), atomic_number: None }];
    let message = requested(&top, &["GLUH 1"]).unwrap_err().to_string();
    assert!(message.contains("is of OPLS-AA, as its atom type opls_238 shows"), "{message}");
    assert!(message.contains("e in the topology, glu (amber99sb-ildn) expects"), "{message}");
}

/// A library may have entries of one name for several force fields; what a site takes besides charges must be of its own.
#[test]
fn entries_of_one_name_are_told_apart_by_their_force_field() {
    let mut other = entry("glu");
    other.force_field = "mine".into();
    other.charges.iter_mut().filter(|(atom, _)| *atom == "CG").for_each(|(_, q)| q.iter_mut().for_each(|q| *q += 0.1));
    let mut both = SiteLibrary { entries: vec![other] };
    both.extend(library());
    let top = topology(&[("GLH", protonated("glu"))]);
    for request in ["GLH 1", "glu GLH 1"] {
        let sites = find_sites(&top, &both, Selection::Residues(&[request.parse().unwrap()])).unwrap();
        assert_eq!(sites[0].force_field, "amber99sb-ildn");
        assert_eq!(sites[0].entry_in(&both), Some(&entry("glu")));
    }
}
