//! Tests of matching residues to the library.

mod naming;

use forcefield::topology::{Atom, Bond, Molecule, Residue};

use super::*;
use crate::library::{Entry, SiteLibrary};
use forcefield::Topology;

type Residues<'a> = &'a [(&'a str, Vec<(String, f64)>)];

/// Residues of one molecule: (residue name, atoms (name, charge)).
fn topology(residues: Residues<'_>) -> Topology {
    let mut topology = Topology::default();
    for (k, (name, atoms)) in residues.iter().enumerate() {
        let start = topology.atoms.len() as u32;
        for (atom, charge) in atoms {
            topology.atoms.push(Atom {
                name: atom.clone(),
                type_index: 0,
                residue: k as u32,
                molecule: 0,
                charge: *charge,
                mass: 1.0,
            });
        }
        let atoms = start..topology.atoms.len() as u32;
        let (name, number) = (name.to_string(), k as i32 + 1);
        topology.residues.push(Residue { name, number, insertion: None, molecule: 0, atoms });
    }
    topology.molecules.push(Molecule { name: "protein".into(), atoms: 0..topology.atoms.len() as u32 });
    topology
}

fn atom(name: &str, charge: f64) -> (String, f64) {
    (name.to_string(), charge)
}

fn cap() -> Vec<(String, f64)> {
    vec![atom("C", 0.5972), atom("O", -0.5679)]
}

fn library() -> SiteLibrary {
    SiteLibrary::builtin().unwrap()
}

fn entry(name: &str) -> Entry {
    library().entries.into_iter().find(|entry| entry.name == name).unwrap()
}

fn protonated(name: &str) -> Vec<(String, f64)> {
    entry(name).charges.iter().map(|(name, q)| (name.clone(), q[0])).collect()
}

fn all(residues: Residues<'_>) -> Result<Vec<Site>, SiteError> {
    find_sites(&topology(residues), &library(), Selection::All)
}

/// The side chain of the first residue, asked for by its name.
fn first(residues: Residues<'_>) -> Result<Vec<Site>, SiteError> {
    requested(&topology(residues), &[&format!("{} 1", residues[0].0)])
}

fn requested(topology: &Topology, requests: &[&str]) -> Result<Vec<Site>, SiteError> {
    let requests: Vec<SiteRequest> = requests.iter().map(|request| request.parse().unwrap()).collect();
    find_sites(topology, &library(), Selection::Residues(&requests))
}

#[test]
fn sites_hold_what_differs_between_forms() {
    let residues =
        [("ACE", cap()), ("GLUH", protonated("glu")), ("ASPH", protonated("asp")), ("GLH", protonated("glu"))];
    let top = topology(&residues);
    let sites = all(&residues).unwrap();
    assert_eq!(sites.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["GLUH 2", "ASPH 3", "GLH 4"]);
    for site in &sites {
        let entry = entry(&site.entry);
        for (k, &index) in site.atoms.iter().enumerate() {
            let name = &top.atoms[index as usize].name;
            let charges: Vec<f64> = site.forms.iter().map(|form| form.charges[k]).collect();
            assert_eq!(charges, entry.charges[name], "{name}");
            assert!(charges[0] != charges[1], "{name}");
        }
        assert_eq!(site.atoms.len(), entry.charges.len() - entry.backbone.len());
        assert!((site.net_charge(1) - site.net_charge(0) + 1.0).abs() < 1e-12);
        assert_eq!((site.forms[1].protons_lost, site.forms[1].pk), (1, entry.pka.unwrap()));
        assert_eq!((site.forms[0].nominal_charge, site.forms[1].nominal_charge), (0.0, -1.0));
    }
    assert_eq!(sites[1].pka, Some(3.9));
}

#[test]
fn requests_choose_residues() {
    let top = topology(&[("GLUH", protonated("glu")), ("GLUH", protonated("glu"))]);
    let sites = requested(&top, &["1:GLUH 2"]).unwrap();
    assert_eq!(sites[0].residues, [1]);
    assert_eq!(requested(&top, &["glu GLUH 2"]).unwrap(), sites);
    assert_eq!(requested(&top, &["1:GLUH 2", "GLUH 2"]), Err(SiteError::Repeated("GLUH 2".into())));
    let error = requested(&top, &["GLU 7"]).unwrap_err();
    assert_eq!(error.to_string(), "no residue GLU 7 in the topology; titratable residues are: GLUH 1, GLUH 2");
    let error = requested(&top, &["gla GLUH 1"]).unwrap_err().to_string();
    assert!(error.starts_with("gla GLUH 1: the library has no titratable entry gla, it has: glu"), "{error}");
    let mut two = top.clone();
    two.residues[1].number = 1;
    let error = requested(&two, &["GLUH 1"]).unwrap_err().to_string();
    assert_eq!(error, "GLUH 1 fits 2 residues; name one of them: \"GLUH 1#1\" (in protein), \"GLUH 1#2\" (in protein)");
}

#[test]
fn requests_are_parsed_or_refused() {
    let request: SiteRequest = " 3:GLU  35 ".parse().unwrap();
    let expected = SiteRequest { molecule: Some(3), name: "GLU".into(), number: 35, ..SiteRequest::default() };
    assert_eq!(request, expected);
    assert_eq!(request.to_string(), "3:GLU 35");
    let end: SiteRequest = "2:nterm ALA -1".parse().unwrap();
    assert_eq!((end.entry.as_deref(), end.number), (Some("nterm"), -1));
    assert_eq!(end.to_string(), "2:nterm ALA -1");
    let full: SiteRequest = "2:cterm GLU  27A # 3".parse().unwrap();
    assert_eq!((full.number, full.insertion, full.which), (27, Some('A'), Some(3)));
    assert_eq!(full.to_string(), "2:cterm GLU 27A#3");
    for bad in [
        "", "GLU", "35", "GLU x", "0:GLU 3", "a:GLU 3", "GLU 3 4", "a b c 4", "GLU 3#0", "GLU 3#", "GLU #2", "GLU A",
        "3 GLU 3",
    ] {
        assert_eq!(bad.parse::<SiteRequest>(), Err(SiteError::BadRequest(bad.into())), "{bad}");
    }
}

#[test]
fn a_deprotonated_residue_is_refused_with_advice() {
    let mut atoms = protonated("glu");
    atoms.retain(|(name, _)| name != "HE2");
    let message = first(&[("GLU", atoms.clone())]).unwrap_err().to_string();
    let reason = "has no atom HE2, which the titratable glu needs: build it protonated \
                  (gmx pdb2gmx -glu, or name it GLH in the input)";
    assert_eq!(message, format!("residue GLU 1 {reason}"));
    // Where every group is wanted, it is one of those that do not titrate.
    let residues = [("GLU", atoms.clone()), ("ASH", protonated("asp"))];
    let sites = all(&residues).unwrap();
    let rest = untitrated(&topology(&residues), &library(), &sites);
    assert_eq!(sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["ASH 2"]);
    assert_eq!(rest.iter().map(Untitrated::to_string).collect::<Vec<_>>(), [format!("GLU 1: it {reason}")]);
    // And if nothing else is there, the reason is given.
    let message = all(&[("GLU", atoms)]).unwrap_err().to_string();
    assert_eq!(message, format!("nothing in the topology titrates: GLU 1: it {reason}"));
}

/// One reason and some names: what lacks a proton before an end, although that comes first, and six of eight.
#[test]
fn a_topology_without_sites_is_told_in_one_reason() {
    let mut atoms = protonated("glu");
    atoms.retain(|(name, _)| name != "HE2");
    let residues: Vec<(&str, Vec<(String, f64)>)> = (0..8).map(|_| ("GLU", atoms.clone())).collect();
    let message = all(&residues).unwrap_err().to_string();
    assert_eq!(message.matches("has no atom").count(), 1, "{message}");
    assert!(message.starts_with("nothing in the topology titrates: GLU 1: it has no atom HE2"), "{message}");
    assert!(message.ends_with(". Nor do GLU 2, GLU 3, GLU 4, GLU 5, GLU 6 and 2 more"), "{message}");
}

#[test]
fn foreign_atoms_charges_and_residues_are_refused() {
    let mut foreign = protonated("glu");
    foreign.push(atom("P", 1.0));
    assert!(matches!(first(&[("GLH", foreign)]), Err(SiteError::UnknownAtom { atom, .. }) if atom == "P"));
    let mut repeated = protonated("glu");
    repeated[1].0 = repeated[0].0.clone();
    assert!(matches!(first(&[("GLH", repeated)]), Err(SiteError::RepeatedAtom { .. })));
    let mut other_force_field = protonated("glu");
    other_force_field[3].1 += 1e-3;
    assert!(matches!(first(&[("GLH", other_force_field)]), Err(SiteError::ChargeMismatch { .. })));
    let none = all(&[("ACE", cap())]);
    let said = none.unwrap_err().to_string();
    assert_eq!(said, "nothing in the topology titrates: the library knows none of its residues, ACE");
    let error = requested(&topology(&[("ACE", cap())]), &["ACE 1"]).unwrap_err();
    assert!(matches!(error, SiteError::NotTitratable { .. }));
}

#[test]
fn a_terminal_residue_takes_differences() {
    // GLH as a C-terminus: other backbone atoms, charges a little off, still exactly one proton to lose.
    let mut atoms = protonated("glu");
    atoms.retain(|(name, _)| name != "O");
    atoms.iter_mut().for_each(|(name, q)| *q += if name == "HE2" { -0.0123 } else { 0.01 });
    let mut far = atoms.clone();
    atoms.extend([atom("OC1", -0.8), atom("OC2", -0.8)]);
    let top = topology(&[("GLH", atoms)]);
    let site = &requested(&top, &["GLH 1"]).unwrap()[0];
    assert!((site.net_charge(1) - site.net_charge(0) + 1.0).abs() < 1e-12);
    for (k, &index) in site.atoms.iter().enumerate() {
        let atom = &top.atoms[index as usize];
        let of_entry = &entry("glu").charges[&atom.name];
        let expected = match atom.name.as_str() {
            "HE2" => -atom.charge,
            // The proton takes 0.0123 e less with it.
            "CB" => of_entry[1] - of_entry[0] - 0.0123,
            _ => of_entry[1] - of_entry[0],
        };
        assert_eq!(site.forms[0].charges[k], atom.charge);
        assert!((site.forms[1].charges[k] - atom.charge - expected).abs() < 1e-12, "{}", atom.name);
    }
    // The same without atoms of an end is another force field.
    far.push(atom("O", -0.5679));
    assert!(matches!(first(&[("GLH", far)]), Err(SiteError::ChargeMismatch { .. })));
}

/// NPRO of AMBER, the numbers of GROMACS 2022.5, amber99sb-ildn.ff/aminoacids.rtp; hydrogens at N by these names.
fn first_proline(hydrogens: [&str; 2]) -> Vec<(String, f64)> {
    let mut all = vec![atom("N", -0.202), atom(hydrogens[0], 0.312), atom(hydrogens[1], 0.312)];
    for (carbon, q, h) in [("CD", -0.012, "HD"), ("CG", -0.121, "HG"), ("CB", -0.115, "HB")] {
        all.extend([atom(carbon, q), atom(&format!("{h}2"), 0.1), atom(&format!("{h}3"), 0.1)]);
    }
    all.extend([atom("CA", 0.1), atom("HA", 0.1), atom("C", 0.526), atom("O", -0.5)]);
    all
}

#[test]
fn the_end_at_proline_has_two_hydrogens_and_a_second_carbon() {
    // Names of the PDB, of GROMACS and of CHARMM; the second is the one that leaves.
    for (residue, hydrogens) in [("PRO", ["H2", "H3"]), ("NPRO", ["H1", "H2"]), ("PRO", ["HN1", "HN2"])] {
        let residues = [(residue, first_proline(hydrogens)), ("GLH", protonated("glu"))];
        let top = topology(&residues);
        let site = requested(&top, &[&format!("nterm {residue} 1")]).unwrap().remove(0);
        let of = |form: usize| -> Vec<(&str, f64)> {
            let name = |&atom: &u32| top.atoms[atom as usize].name.as_str();
            site.atoms.iter().map(name).zip(site.forms[form].charges.iter().copied()).collect()
        };
        let [stays, leaves] = hydrogens;
        assert_eq!(of(0), [("N", -0.202), (stays, 0.312), (leaves, 0.312), ("CD", -0.012), ("CA", 0.1)]);
        let expected = [("N", -0.86), (stays, 0.36), (leaves, 0.0), ("CD", -0.051), ("CA", 0.061)];
        for ((name, charge), (other, of_entry)) in of(1).into_iter().zip(expected) {
            assert!(name == other && (charge - of_entry).abs() < 1e-12, "{name} {charge}");
        }
        assert_eq!(site.correction, Correction::Uncalibrated);
        // Its correction is not known: unasked it does not titrate, and that is said.
        let library = SiteLibrary::builtin().unwrap();
        let sites = all(&residues).unwrap();
        assert_eq!(sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["GLH 2"]);
        let known = no_correction(&top, library.entries.iter().find(|entry| entry.name == "nterm").unwrap(), 0);
        assert!(
            known.unwrap().starts_with("V_MM of nterm is known for ALA, GLY, MET and not for the end of a chain at")
        );
    }
    // The residue decides, not the names: Arg with two hydrogens has lost one.
    let arginine = topology(&[("ARG", first_proline(["H2", "H3"]))]);
    let error = requested(&arginine, &["nterm ARG 1"]).unwrap_err().to_string();
    assert!(error.starts_with("residue ARG 1 has no atom H1, which the titratable nterm needs"), "{error}");
    let inside = topology(&[("PRO", first_proline(["HX", "HY"]))]);
    let error = requested(&inside, &["nterm PRO 1"]).unwrap_err().to_string();
    assert!(error.starts_with("residue PRO 1 has no atom H2, which the titratable nterm needs"), "{error}");
}

/// Alanine as in NALA ... CALA: an amino end, or a carboxyl end with its hydrogen.
fn ends() -> [Vec<(String, f64)>; 2] {
    let methyl = |q: f64| (1..=3).map(move |k| atom(&format!("HB{k}"), q));
    let mut first = protonated("nterm");
    first.extend([atom("HA", 0.0889), atom("CB", -0.0597), atom("C", 0.6163), atom("O", -0.5722)]);
    first.extend(methyl(0.03));
    let mut last = protonated("cterm");
    last.extend([atom("N", -0.3821), atom("H", 0.2681), atom("HA", 0.1067), atom("CB", -0.2093)]);
    last.extend(methyl(0.0764));
    [first, last]
}

#[test]
fn ends_of_a_chain_are_found_by_their_atoms() {
    let [first, last] = ends();
    let mut lysine = protonated("lys");
    lysine.retain(|(name, _)| name != "H");
    // NLYS of the force field: other charges of the amino group and nearby.
    lysine.iter_mut().for_each(|(name, q)| *q += if name == "NZ" { 0.009 } else { 0.0 });
    lysine.extend((1..=3).map(|k| atom(&format!("H{k}"), 0.2165)));
    lysine.iter_mut().filter(|(name, _)| name == "N").for_each(|(_, q)| *q = 0.0966);
    let residues = [("ALA", first.clone()), ("LYS", lysine.clone()), ("ZALA", last.clone())];
    let top = topology(&residues);
    let sites = requested(&top, &["nterm ALA 1", "LYS 2", "nterm LYS 2", "cterm ZALA 3"]).unwrap();
    // Of all, those titrate whose correction is known there.
    let known: Vec<String> = all(&residues).unwrap().into_iter().map(|site| site.name).collect();
    assert_eq!(known, ["nterm ALA 1", "cterm ZALA 3"]);
    let corrections = sites.iter().map(|site| site.correction == Correction::Uncalibrated);
    assert_eq!(corrections.collect::<Vec<_>>(), [false, true, true, false]);
    let names_of = |site: &Site| -> Vec<String> {
        let mut names: Vec<String> = site.atoms.iter().map(|&a| top.atoms[a as usize].name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names_of(&sites[0]), ["CA", "H1", "H2", "H3", "N"]);
    assert_eq!(names_of(&sites[3]), ["C", "CA", "HO1", "HO2", "OC1", "OC2"]);
    for site in &sites {
        let bare = site.forms.len() - 1;
        assert!((site.net_charge(bare) - site.net_charge(0) + 1.0).abs() < 1e-12, "{}", site.name);
        for (k, &index) in site.atoms.iter().enumerate() {
            let atom = &top.atoms[index as usize];
            assert_eq!(site.forms[0].charges[k], atom.charge);
            let leaves = ["H3", "HZ3", "HO1", "HO2"].contains(&atom.name.as_str());
            assert!(!leaves || site.forms[bare].charges[k] == 0.0);
        }
    }
    // The two sites of lysine share no atom; asking by name gives the same.
    assert!(sites[1].atoms.iter().all(|atom| !sites[2].atoms.contains(atom)));
    assert_eq!(requested(&top, &["LYS 2", "nterm LYS 2"]).unwrap(), sites[1..3]);
    let error = requested(&top, &["nterm ZALA 3"]).unwrap_err().to_string();
    assert!(error.starts_with("residue ZALA 3 has no atom H1, which the titratable nterm needs"), "{error}");
    let error = requested(&top, &["ALA 1"]).unwrap_err().to_string();
    assert!(error.contains("ALA 1 is not in the library") && error.contains("\"nterm ALA 1\""), "{error}");
}

#[test]
fn sites_that_share_atoms_are_refused() {
    // A single amino acid: CA belongs to both ends.
    let [first, last] = ends();
    let mut both = first;
    both.retain(|(name, _)| !["C", "O"].contains(&name.as_str()));
    both.extend(last.into_iter().filter(|(name, _)| ["C", "OC1", "OC2", "HO1", "HO2"].contains(&name.as_str())));
    let error = all(&[("ALA", both)]).unwrap_err();
    let (first, second) = ("nterm ALA 1".to_string(), "cterm ALA 1".to_string());
    assert_eq!(error, SiteError::Overlap { first, second, atom: "CA".into() });
}

#[test]
fn a_hydrogen_on_each_oxygen_makes_three_forms() {
    let sites = all(&[("GL3", protonated("glu3")), ("GLH", protonated("glu3")), ("GLH", protonated("glu"))]).unwrap();
    assert_eq!(sites.iter().map(|site| site.entry.as_str()).collect::<Vec<_>>(), ["glu3", "glu3", "glu"]);
    let site = &sites[0];
    assert_eq!(site.forms.iter().map(|form| form.protons_lost).collect::<Vec<_>>(), [0, 0, 1]);
    assert!((site.net_charge(1) - site.net_charge(0)).abs() < 1e-12);
    // CB is the same in both protonated forms and still belongs to the site.
    assert_eq!(site.atoms.len(), 11);
}

#[test]
fn a_site_of_scaled_charges_has_scaled_net_charges() {
    let mut library = library();
    let glu = library.entries.iter_mut().find(|entry| entry.name == "glu").unwrap();
    glu.charge_scale = 0.75;
    glu.charges.get_mut("CB").unwrap()[1] += 0.25;
    let top = topology(&[("GLH", protonated("glu"))]);
    let found = find_sites(&top, &library, Selection::All).unwrap();
    let charges = |form: usize| (found[0].net_charge(form), found[0].forms[form].nominal_charge);
    let difference = charges(1).0 - charges(0).0;
    assert!((difference + 0.75).abs() < 1e-12, "{difference}");
    assert_eq!((charges(0).1, charges(1).1), (0.0, -0.75));
}

#[test]
fn a_buffer_is_one_site_of_many_molecules() {
    let water = || vec![atom("OW", -0.834), atom("HW1", 0.417), atom("HW2", 0.417)];
    let top = topology(&[("SOL", water()), ("SOL", water()), ("SOL", water()), ("GLH", protonated("glu"))]);
    let buffer = buffer_site(&top, &library(), "SOL", &[2, 0]).unwrap();
    assert_eq!((buffer.name.as_str(), buffer.kind), ("buffer", SiteKind::Buffer { molecules: 2 }));
    assert_eq!((&buffer.residues[..], &buffer.atoms[..]), (&[0, 2][..], &[0, 1, 2, 6, 7, 8][..]));
    assert!((buffer.net_charge(0) - 1.0).abs() < 1e-12 && (buffer.net_charge(1) + 1.0).abs() < 1e-12);
    assert_eq!((buffer.forms[0].nominal_charge, buffer.forms[1].nominal_charge, buffer.pka), (1.0, -1.0, None));
    for (k, &atom) in buffer.atoms.iter().enumerate() {
        let mean = 0.5 * (buffer.forms[0].charges[k] + buffer.forms[1].charges[k]);
        assert!((mean - top.atoms[atom as usize].charge).abs() < 1e-15);
    }
    // Never a titratable site.
    assert_eq!(find_sites(&top, &library(), Selection::All).unwrap().len(), 1);
    let error = buffer_site(&top, &library(), "CL", &[0]).unwrap_err().to_string();
    assert_eq!(error, "residue CL is no buffer of the library, which has: SOL, HOH, WAT, TIP3, BUF");
    assert!(matches!(buffer_site(&top, &library(), "SOL", &[0, 0]), Err(SiteError::Repeated(_))));
    let mut other = top.clone();
    other.atoms[0].charge = -0.82;
    let error = buffer_site(&other, &library(), "SOL", &[0]).unwrap_err().to_string();
    let start = "residue SOL 1 is not water (TIP3P), which the library has a charge buffer for: ";
    assert_eq!(error, format!("{start}its atom OW has a charge of -0.8200 e and not of -0.8340 e"));
    // Water of four sites.
    let four = [("WAT", vec![atom("O", 0.0), atom("H1", 0.6791), atom("H2", 0.6791), atom("EPW", -1.3583)])];
    let error = buffer_site(&topology(&four), &library(), "WAT", &[0]).unwrap_err().to_string();
    assert_eq!(error, format!("{}it has an atom EPW", start.replace("SOL", "WAT")));
}

#[test]
fn coefficients_of_a_buffer_are_those_of_all_molecules() {
    let mut site = all(&[("GLH", protonated("glu"))]).unwrap().remove(0);
    let one = site.coefficients().unwrap();
    site.kind = SiteKind::Buffer { molecules: 3 };
    assert!(site.coefficients().unwrap().iter().zip(one).all(|(all, one)| (all - 3.0 * one).abs() < 1e-12));
}

#[test]
fn a_bridge_to_another_residue_does_not_titrate() {
    let residues = [("GLH", protonated("glu")), ("GLH", protonated("glu"))];
    let mut top = topology(&residues);
    let of = |name: &str, residue: usize| {
        top.residues[residue].atoms.clone().find(|&atom| top.atoms[atom as usize].name == name).unwrap()
    };
    let peptide = Bond { atoms: [of("C", 0), of("N", 1)], r0: 0.1, k: 1.0 };
    let bridge = Bond { atoms: [of("HE2", 0), of("C", 1)], r0: 0.1, k: 1.0 };
    top.bonds = vec![peptide];
    assert_eq!(find_sites(&top, &library(), Selection::All).unwrap().len(), 2);
    top.bonds.push(bridge);
    let sites = find_sites(&top, &library(), Selection::All).unwrap();
    assert_eq!(sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["GLH 2"]);
}
