//! One force field in a topology of GROMACS and in a system of OpenMM: the same sites, and the same fingerprints of their parameters.

use std::path::PathBuf;

use forcefield::Topology;
use forcefield::gromacs::{read_gro, read_topology};
use forcefield::openmm::read_system;
use lambda::SiteLibrary;
use lambda::site::{Selection, Site, find_sites, parameters};

fn scratch() {
    for path in std::fs::read_dir("/tmp/gen/hash").unwrap().map(|e| e.unwrap().path()) {
        if path.extension().unwrap() != "top" { continue; }
        let top = read_topology(&path, &[], &[]).unwrap();
        let structure = read_gro(&path.with_extension("gro")).unwrap();
        let library = SiteLibrary::builtin().unwrap();
        let of = |t: &Topology| -> Vec<(String, _)> {
            match find_sites(t, &library, Selection::All) {
                Ok(sites) => sites.iter().map(|s: &Site| (s.name.clone(), parameters(t, library.entry_of(s).unwrap(), s.residues[0]))).collect(),
                Err(e) => vec![(e.to_string(), lambda::site::Parameters { own: String::new(), attached: None })],
            }
        };
        for hb in ["", "-hb"] {
            let xml = path.with_file_name(format!("{}{hb}.xml", path.file_stem().unwrap().to_str().unwrap()));
            let system = read_system(&xml, &structure, &[]).unwrap();
            let (a, b) = (of(&top), of(&system.topology));
            println!("{} {}: {}", path.display(), hb, if a == b { "equal".to_string() } else { format!("{a:?} {b:?}") });
            println!("   {:?} {:?} {:?}", (top.bonds.len(), top.angles.len(), top.propers.len(), top.pairs.len(), top.exclusions.n_pairs(), top.settles.len(), top.molecules.len()), (system.topology.bonds.len(), system.topology.angles.len(), system.topology.propers.len(), system.topology.pairs.len(), system.topology.exclusions.n_pairs(), system.topology.settles.len(), system.topology.molecules.len()), system.unknown_factors);
        }
    }
}

#[test]
fn scratch_test() { scratch(); }
