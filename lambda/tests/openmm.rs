//! One force field in a topology of GROMACS and in a system of OpenMM: the same sites, and the same fingerprints of their parameters.
//! How the files were made: `openmm/make.py`.

use std::path::PathBuf;

use forcefield::Topology;
use forcefield::gromacs::{read_gro, read_topology};
use forcefield::openmm::{parse_system, read_system};
use forcefield::topology::UreyBradley;
use lambda::SiteLibrary;
use lambda::site::{Parameters, Selection, Site, find_sites, parameters};

fn file(name: &str, extension: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/openmm").join(format!("{name}.{extension}"))
}

fn of_gromacs(name: &str) -> Topology {
    read_topology(&file(name, "top"), &[], &[]).unwrap()
}

fn of_openmm(name: &str) -> Topology {
    let structure = read_gro(&file(name, "gro")).unwrap();
    let system = read_system(&file(name, "xml"), &structure, &[]).unwrap();
    assert!(system.unknown_factors.is_empty());
    system.topology
}

/// Sites with their charges by form and the fingerprints of their parameters.
fn sites(topology: &Topology) -> Vec<(Site, Parameters)> {
    let library = SiteLibrary::builtin().unwrap();
    let found = find_sites(topology, &library, Selection::All).unwrap();
    let with = |site: Site| {
        let parameters = parameters(topology, site.entry_in(&library).unwrap(), site.residues[0]);
        (site, parameters)
    };
    found.into_iter().map(with).collect()
}

#[test]
fn sites_and_fingerprints_do_not_depend_on_the_format() {
    for (name, entry) in [("glu3", "glu3"), ("nterm", "nterm"), ("cterm", "cterm")] {
        let (gromacs, openmm) = (of_gromacs(name), of_openmm(name));
        let (ours, theirs) = (sites(&openmm), sites(&gromacs));
        assert_eq!(theirs.len(), 1, "{name}");
        for ((site, parameters), (other, others)) in ours.iter().zip(&theirs) {
            assert_eq!((&site.entry, &site.atoms), (&other.entry, &other.atoms), "{name}");
            assert_eq!(site.entry, entry);
            assert_eq!(parameters, others, "{name}");
            for (form, same) in site.forms.iter().zip(&other.forms) {
                let apart = form.charges.iter().zip(&same.charges).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(apart < 1e-12, "{name}: charges differ by {apart}");
            }
        }
        // A hydrogen without charge has 1-4 pairs in both: it gets a charge in another form.
        assert_eq!(openmm.pairs.len(), gromacs.pairs.len(), "{name}");
        assert_eq!(openmm.exclusions, gromacs.exclusions, "{name}");
    }
}

/// The hydrogen H, H2, H3 of an amino end, and the oxygens O and OXT of a carboxyl end, are names that OpenMM writes.
#[test]
fn ends_of_chains_have_the_names_of_openmm() {
    for (name, gromacs, openmm) in
        [("nterm", ["H1", "H2", "H3"], ["H", "H2", "H3"]), ("cterm", ["OC1", "OC2", "CA"], ["O", "OXT", "CA"])]
    {
        let mut structure = read_gro(&file(name, "gro")).unwrap();
        let before = of_openmm(name);
        let site = &sites(&before)[0].0;
        let residue = before.residues[site.residues[0] as usize].atoms.clone();
        for (_, atom) in &mut structure.names[residue.start as usize..residue.end as usize] {
            if let Some(k) = gromacs.iter().chain(&openmm).position(|one| one == atom) {
                *atom = openmm[k % 3].into();
            }
        }
        let text = std::fs::read_to_string(file(name, "xml")).unwrap();
        let renamed = parse_system(&text, &file(name, "xml"), &structure, &[]).unwrap().topology;
        let names: Vec<&str> =
            renamed.atoms[residue.start as usize..residue.end as usize].iter().map(|atom| atom.name.as_str()).collect();
        assert!(openmm.iter().all(|one| names.contains(one)), "{name}: {names:?}");
        assert_eq!(sites(&renamed)[0].0.atoms, site.atoms, "{name}");
    }
}

/// CHARMM in GROMACS has every angle with a distance, of no strength mostly; OpenMM has angles and distances.
#[test]
fn angles_with_and_without_a_distance_of_no_strength_are_the_same() {
    let plain = of_gromacs("glu3");
    let mut joined = plain.clone();
    let with = |angle: &forcefield::topology::Angle| UreyBradley {
        atoms: angle.atoms,
        theta0: angle.theta0,
        k: angle.k,
        r13: 0.2,
        k13: 0.0,
    };
    joined.urey_bradley = joined.angles.iter().map(with).collect();
    joined.angles.clear();
    let entry = SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == "glu3").unwrap();
    let residue = plain.residues.iter().position(|residue| residue.name == "GL3").unwrap() as u32;
    let of = |topology: &Topology| parameters(topology, &entry, residue);
    assert_eq!(of(&joined), of(&plain));
    joined.urey_bradley.iter_mut().for_each(|one| one.k13 = 1000.0);
    assert_ne!(of(&joined).own, of(&plain).own);
}

/// Corrections of pairs, which `octitrate prepare --pair-corrections` adds as a force of their own, leave the fingerprint by which a correction V_MM knows its force field: it
/// holds each atom with its own kind.
#[test]
fn a_correction_of_pairs_leaves_fingerprints_as_they_are() {
    let plain = of_openmm("glu3");
    let text = std::fs::read_to_string(file("glu3", "xml")).unwrap();
    let kind = |name: &str| match name {
        "OE1" | "OE2" => 1,
        "CB" => 2,
        _ => 0,
    };
    let particles: String =
        plain.atoms.iter().map(|atom| format!("<Particle param1=\"{}\"/>", kind(&atom.name))).collect();
    let exclusions: String = text
        .lines()
        .filter(|line| line.starts_with("<Exception "))
        .map(|line| {
            let of =
                |key: &str| line.split(&format!(" {key}=\"")).nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            format!("<Exclusion p1=\"{}\" p2=\"{}\"/>", of("p1"), of("p2"))
        })
        .collect();
    let table = |name: &str, value: &str| {
        let values: String = ["0", "0", "0", "0", "0", value, "0", value, "0"]
            .iter()
            .map(|value| format!("<Value v=\"{value}\"/>"))
            .collect();
        format!(
            "<Function name=\"{name}\" type=\"Discrete2DFunction\" xsize=\"3\" ysize=\"3\"><Values>{values}</Values></Function>"
        )
    };
    let (a, b) = (table("a", "1e-6"), table("b", "5e-4"));
    let force = format!(
        "<Forces>\n<Force energy=\"a(kind1,kind2)/r^12-b(kind1,kind2)/r^6\" name=\"pairs\" type=\"CustomNonbondedForce\" method=\"0\"><PerParticleParameters>\
         <Parameter name=\"kind\"/></PerParticleParameters><GlobalParameters/><Particles>{particles}</Particles><Exclusions>{exclusions}</Exclusions><Functions>{a}{b}\
         </Functions></Force>"
    );
    let structure = read_gro(&file("glu3", "gro")).unwrap();
    let system = parse_system(&text.replacen("<Forces>", &force, 1), &file("glu3", "xml"), &structure, &[]).unwrap();
    let corrected = system.topology;
    let of = |top: &Topology| {
        let atom = |name: &str| top.atoms.iter().find(|atom| atom.name == name).unwrap().type_index;
        top.lj.get(atom("OE1"), atom("CB"))
    };
    assert!(of(&corrected).1 > 1.1 * of(&plain).1);
    assert_eq!(sites(&corrected)[0].1, sites(&plain)[0].1);
}
