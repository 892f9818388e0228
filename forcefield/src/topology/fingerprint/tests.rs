use nalgebra::Vector3;

use super::*;
use crate::ExcludedPairs;
use crate::topology::{Atom, AtomType, LennardJonesTable, Molecule, Residue, Well};
use crate::virtual_sites::{VirtualSite, VirtualSiteKind};

/// One interaction of every kind.
fn one_of_each() -> Topology {
    let atom = Atom { name: "C".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.25, mass: 12.0 };
    Topology {
        title: "one of each".into(),
        atoms: vec![atom; 6],
        residues: vec![Residue { name: "RES".into(), number: 1, insertion: None, molecule: 0, atoms: 0..6 }],
        molecules: vec![Molecule { name: "MOL".into(), atoms: 0..6 }],
        atom_types: vec![AtomType { name: "CT".into(), atomic_number: Some(6) }],
        lj: LennardJonesTable { n_types: 1, c6: vec![2e-3], c12: vec![3e-6] },
        wells_14: [(0, Well { sigma: 0.25, epsilon: 0.5 })].into(),
        bonds: vec![Bond { atoms: [0, 1], r0: 0.1, k: 1e5 }],
        distances: vec![Bond { atoms: [0, 5], r0: 0.6, k: 500.0 }],
        angles: vec![Angle { atoms: [0, 1, 2], theta0: 1.9, k: 400.0 }],
        urey_bradley: vec![UreyBradley { atoms: [1, 2, 3], theta0: 1.8, k: 300.0, r13: 0.2, k13: 2e3 }],
        propers: vec![PeriodicDihedral { atoms: [0, 1, 2, 3], phi0: 0.5, k: 2.0, multiplicity: 3, improper: false }],
        harmonic_impropers: vec![HarmonicImproper { atoms: [1, 2, 3, 4], xi0: 0.1, k: 30.0 }],
        ryckaert_bellemans: vec![RyckaertBellemans { atoms: [2, 3, 4, 5], c: std::array::from_fn(|n| n as f64 - 2.5) }],
        cmaps: vec![Cmap { atoms: [0, 1, 2, 3, 4], grid: 0 }],
        cmap_grids: vec![CmapGrid { size: 2, values: vec![0.0, 1.0, 2.0, 3.0] }],
        pairs: vec![Pair14 { atoms: [0, 3], c6: 1e-3, c12: 1e-6, coulomb_scale: 0.5 }],
        exclusions: ExcludedPairs::from_pairs(6, [[0, 1], [1, 2]]),
        constraints: vec![Constraint { atoms: [4, 5], length: 0.11 }],
        settles: vec![Settle { oxygen: 3, hydrogens: [4, 5], d_oh: 0.0957, d_hh: 0.1514 }],
        virtual_sites: vec![
            VirtualSite::average2(1, [2, 3], [0.25, 0.75]),
            VirtualSite::out_of_plane(1, [2, 3, 4], [0.2, 0.3, 5.0]),
            VirtualSite {
                site: 1,
                parents: vec![2, 3],
                kind: VirtualSiteKind::LocalCoordinates {
                    origin: vec![1.0, 0.5],
                    x: vec![-1.0, 1.0],
                    y: vec![0.5, -0.5],
                    position: [0.1, 0.2, 0.3],
                },
            },
        ],
        position_restraints: vec![PositionRestraint { atom: 2, k: Vector3::new(1e3, 2e3, 3e3), fades: false }],
    }
}

/// Change of the last bit of one number.
type Change = Box<dyn Fn(&mut Topology)>;

fn number(of: impl Fn(&mut Topology) -> &mut f64 + 'static) -> Change {
    Box::new(move |topology| {
        let number = of(topology);
        *number = f64::from_bits(number.to_bits() ^ 1);
    })
}

fn index(of: impl Fn(&mut Topology) -> &mut u32 + 'static) -> Change {
    Box::new(move |topology| *of(topology) ^= 1)
}

fn indices<const N: usize>(of: fn(&mut Topology) -> &mut [u32; N]) -> Vec<Change> {
    (0..N).map(|i| index(move |topology| &mut of(topology)[i])).collect()
}

/// Every number that enters the fingerprint, by the name of its section.
fn changes() -> Vec<(&'static str, Vec<Change>)> {
    let exclusions: Vec<Change> = [[[0, 1], [1, 3]], [[0, 1], [0, 2]]]
        .into_iter()
        .map(|pairs| Box::new(move |t: &mut Topology| t.exclusions = ExcludedPairs::from_pairs(6, pairs)) as Change)
        .collect();
    let mut all = vec![
        ("Lennard-Jones types of atoms", vec![index(|t| &mut t.atoms[4].type_index)]),
        ("Lennard-Jones coefficients", vec![number(|t| &mut t.lj.c6[0]), number(|t| &mut t.lj.c12[0])]),
        (
            "Lennard-Jones wells in 1-4 pairs",
            vec![
                number(|t| &mut t.wells_14.get_mut(&0).unwrap().sigma),
                number(|t| &mut t.wells_14.get_mut(&0).unwrap().epsilon),
                Box::new(|t: &mut Topology| t.wells_14 = [(1, t.wells_14[&0])].into()) as Change,
            ],
        ),
        ("exclusions", exclusions),
        (
            "rigid waters",
            vec![
                index(|t| &mut t.settles[0].oxygen),
                number(|t| &mut t.settles[0].d_oh),
                number(|t| &mut t.settles[0].d_hh),
            ],
        ),
        ("rigid waters", indices(|t| &mut t.settles[0].hydrogens)),
        ("constraints", vec![number(|t| &mut t.constraints[0].length)]),
        ("constraints", indices(|t| &mut t.constraints[0].atoms)),
        ("position restraints", vec![index(|t| &mut t.position_restraints[0].atom)]),
        ("position restraints", (0..3).map(|d| number(move |t| &mut t.position_restraints[0].k[d])).collect()),
        ("position restraints", vec![Box::new(|t: &mut Topology| t.position_restraints[0].fades ^= true) as Change]),
        ("1-4 pairs", indices(|t| &mut t.pairs[0].atoms)),
        (
            "1-4 pairs",
            vec![
                number(|t| &mut t.pairs[0].c6),
                number(|t| &mut t.pairs[0].c12),
                number(|t| &mut t.pairs[0].coulomb_scale),
            ],
        ),
    ];
    all.extend(bonded_changes());
    all.push(("virtual sites", virtual_site_changes()));
    all
}

fn virtual_site_changes() -> Vec<Change> {
    fn out_of_plane(t: &mut Topology, which: usize) -> &mut f64 {
        let VirtualSiteKind::OutOfPlane { a, b, c } = &mut t.virtual_sites[1].kind else { unreachable!() };
        [a, b, c][which]
    }
    fn local(t: &mut Topology, which: usize) -> &mut f64 {
        let VirtualSiteKind::LocalCoordinates { origin, x, y, position } = &mut t.virtual_sites[2].kind else {
            unreachable!()
        };
        [&mut origin[0], &mut x[1], &mut y[0], &mut position[2]][which]
    }
    let average = number(|t| match &mut t.virtual_sites[0].kind {
        VirtualSiteKind::Average { weights } => &mut weights[1],
        _ => unreachable!(),
    });
    let same_numbers = |t: &mut Topology| {
        t.virtual_sites[0].kind = VirtualSiteKind::OutOfPlane { a: 0.25, b: 0.75, c: 0.0 };
    };
    let mut all = vec![average, Box::new(same_numbers) as Change];
    all.push(index(|t| &mut t.virtual_sites[0].site));
    all.push(index(|t| &mut t.virtual_sites[1].parents[2]));
    all.extend((0..3).map(|k| number(move |t| out_of_plane(t, k))));
    all.extend((0..4).map(|k| number(move |t| local(t, k))));
    all
}

fn bonded_changes() -> Vec<(&'static str, Vec<Change>)> {
    vec![
        ("bonds", indices(|t| &mut t.bonds[0].atoms)),
        ("bonds", vec![number(|t| &mut t.bonds[0].r0), number(|t| &mut t.bonds[0].k)]),
        ("harmonic distances", indices(|t| &mut t.distances[0].atoms)),
        ("harmonic distances", vec![number(|t| &mut t.distances[0].r0), number(|t| &mut t.distances[0].k)]),
        ("angles", indices(|t| &mut t.angles[0].atoms)),
        ("angles", vec![number(|t| &mut t.angles[0].theta0), number(|t| &mut t.angles[0].k)]),
        ("Urey-Bradley angles", indices(|t| &mut t.urey_bradley[0].atoms)),
        (
            "Urey-Bradley angles",
            vec![
                number(|t| &mut t.urey_bradley[0].theta0),
                number(|t| &mut t.urey_bradley[0].k),
                number(|t| &mut t.urey_bradley[0].r13),
                number(|t| &mut t.urey_bradley[0].k13),
            ],
        ),
        ("periodic dihedrals", indices(|t| &mut t.propers[0].atoms)),
        (
            "periodic dihedrals",
            vec![
                number(|t| &mut t.propers[0].phi0),
                number(|t| &mut t.propers[0].k),
                index(|t| &mut t.propers[0].multiplicity),
                Box::new(|t| t.propers[0].improper ^= true),
            ],
        ),
        ("harmonic impropers", indices(|t| &mut t.harmonic_impropers[0].atoms)),
        (
            "harmonic impropers",
            vec![number(|t| &mut t.harmonic_impropers[0].xi0), number(|t| &mut t.harmonic_impropers[0].k)],
        ),
        ("Ryckaert-Bellemans dihedrals", indices(|t| &mut t.ryckaert_bellemans[0].atoms)),
        ("Ryckaert-Bellemans dihedrals", (0..6).map(|n| number(move |t| &mut t.ryckaert_bellemans[0].c[n])).collect()),
        ("correction maps", indices(|t| &mut t.cmaps[0].atoms)),
        ("correction maps", vec![index(|t| &mut t.cmaps[0].grid)]),
        ("correction map grids", (0..4).map(|k| number(move |t| &mut t.cmap_grids[0].values[k])).collect()),
        ("correction map grids", vec![Box::new(|t| t.cmap_grids[0].size ^= 1)]),
    ]
}

#[test]
fn one_bit_changes_the_section_it_belongs_to_and_no_other() {
    let before = one_of_each().fingerprint();
    let mut seen = std::collections::BTreeSet::new();
    for (name, changes) in changes() {
        for (number, change) in changes.iter().enumerate() {
            let mut topology = one_of_each();
            change(&mut topology);
            let after = topology.fingerprint();
            let different: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).map(|(a, _)| a.name).collect();
            assert_eq!(different, [name], "number {number}");
        }
        seen.insert(name);
    }
    assert_eq!(seen, before.iter().map(|section| section.name).collect(), "every section was changed");
}

#[test]
fn names_charges_and_masses_do_not_enter() {
    let mut topology = one_of_each();
    topology.title = "another".into();
    topology.residues[0].name = "XYZ".into();
    topology.molecules[0].name = "ABC".into();
    topology.atom_types[0].name = "C3".into();
    for atom in &mut topology.atoms {
        (atom.name, atom.charge, atom.mass) = ("N".into(), -1.0, 14.0);
    }
    assert_eq!(topology.fingerprint(), one_of_each().fingerprint());
}

#[test]
fn hashes_are_fnv_1a_of_the_documented_bytes() {
    let mut bytes = vec![0, 0, 0, 0, 1, 0, 0, 0];
    bytes.extend(0.1f64.to_le_bytes());
    bytes.extend(1e5f64.to_le_bytes());
    let mut hash = Fnv1a::default();
    hash.bytes(&bytes);
    let bonds = one_of_each().fingerprint().into_iter().find(|section| section.name == "bonds");
    assert_eq!(bonds, Some(Section { name: "bonds", count: 1, hash: hash.value() }));
}
