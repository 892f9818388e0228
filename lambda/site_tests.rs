//! Tests of matching residues to the library.

use forcefield::topology::{Atom, Molecule, Residue};

use super::*;

/// Residues of one molecule each holds: (residue name, atoms (name, charge)).
fn topology(residues: &[(&str, Vec<(String, f64)>)]) -> Topology {
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
        topology.residues.push(Residue { name: name.to_string(), number: k as i32 + 1, molecule: 0, atoms });
    }
    topology.molecules.push(Molecule { name: "protein".into(), atoms: 0..topology.atoms.len() as u32 });
    topology
}

fn cap() -> Vec<(String, f64)> {
    vec![("C".into(), 0.5972), ("O".into(), -0.5679)]
}

fn library() -> SiteLibrary {
    SiteLibrary::builtin().unwrap()
}

fn protonated(entry: usize) -> Vec<(String, f64)> {
    library().entries[entry].charges.iter().map(|(name, q)| (name.clone(), q[0])).collect()
}

fn all(residues: &[(&str, Vec<(String, f64)>)]) -> Result<Vec<Site>, SiteError> {
    find_sites(&topology(residues), &library(), Selection::All)
}

#[test]
fn sites_are_found_by_name_and_carry_charges_in_topology_order() {
    let sites =
        all(&[("ACE", cap()), ("GLUH", protonated(0)), ("ASPH", protonated(1)), ("GLH", protonated(0))]).unwrap();
    assert_eq!(sites.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["GLUH 2", "ASPH 3", "GLH 4"]);
    assert_eq!(sites[0].atoms, (2..18).collect::<Vec<u32>>());
    for site in &sites {
        for (form, net) in site.forms.iter().zip([0.0, -1.0]) {
            assert!((form.charges.iter().sum::<f64>() - net).abs() < 1e-12);
        }
        // No charge that is the same in both forms may differ: the backbone.
        assert_eq!(site.forms[1].protons_lost, 1);
    }
    assert_eq!(sites[1].pka, 3.67);
}

#[test]
fn requests_choose_residues() {
    let top = topology(&[("GLUH", protonated(0)), ("GLUH", protonated(0))]);
    let request: SiteRequest = "1:GLUH 2".parse().unwrap();
    let sites = find_sites(&top, &library(), Selection::Residues(std::slice::from_ref(&request))).unwrap();
    assert_eq!(sites[0].residue, 1);
    let twice = [request.clone(), "GLUH 2".parse().unwrap()];
    assert_eq!(find_sites(&top, &library(), Selection::Residues(&twice)), Err(SiteError::Repeated("GLUH 2".into())));
    let missing = ["GLU 7".parse().unwrap()];
    let error = find_sites(&top, &library(), Selection::Residues(&missing)).unwrap_err();
    assert_eq!(error.to_string(), "no residue GLU 7 in the topology; titratable residues are: GLUH 1, GLUH 2");
    let mut two = top.clone();
    two.residues[1].number = 1;
    let error = find_sites(&two, &library(), Selection::Residues(&["GLUH 1".parse().unwrap()])).unwrap_err();
    assert_eq!(error, SiteError::Ambiguous { request: "GLUH 1".into(), count: 2 });
}

#[test]
fn requests_are_parsed_or_refused() {
    let request: SiteRequest = " 3:GLU  35 ".parse().unwrap();
    assert_eq!(request, SiteRequest { molecule: Some(3), name: "GLU".into(), number: 35 });
    assert_eq!(request.to_string(), "3:GLU 35");
    for bad in ["", "GLU", "35", "GLU x", "0:GLU 3", "a:GLU 3", "GLU 3 4"] {
        assert_eq!(bad.parse::<SiteRequest>(), Err(SiteError::BadRequest(bad.into())), "{bad}");
    }
}

#[test]
fn a_deprotonated_residue_is_refused_with_advice() {
    let mut atoms = protonated(0);
    atoms.retain(|(name, _)| name != "HE2");
    let message = all(&[("GLU", atoms)]).unwrap_err().to_string();
    assert_eq!(
        message,
        "residue GLU 1 has no atom HE2, which the titratable glu needs: build it protonated \
         (gmx pdb2gmx -glu, or name it GLH in the input)"
    );
}

#[test]
fn foreign_atoms_charges_and_residues_are_refused() {
    let mut terminal = protonated(0);
    terminal.push(("OXT".into(), -0.8));
    assert!(matches!(all(&[("GLH", terminal)]), Err(SiteError::UnknownAtom { atom, .. }) if atom == "OXT"));
    let mut repeated = protonated(0);
    repeated[1].0 = repeated[0].0.clone();
    assert!(matches!(all(&[("GLH", repeated)]), Err(SiteError::RepeatedAtom { .. })));
    let mut other_force_field = protonated(0);
    other_force_field[3].1 += 1e-3;
    assert!(matches!(all(&[("GLH", other_force_field)]), Err(SiteError::ChargeMismatch { .. })));
    assert_eq!(all(&[("ACE", cap())]), Err(SiteError::None("GLU, GLH, GLUH, ASP, ASH, ASPH".into())));
    let top = topology(&[("ACE", cap())]);
    let error = find_sites(&top, &library(), Selection::Residues(&["ACE 1".parse().unwrap()])).unwrap_err();
    assert!(matches!(error, SiteError::NotTitratable { .. }));
}
