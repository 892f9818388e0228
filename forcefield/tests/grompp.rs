//! Counts and parameter sums of every interaction against GROMACS 2022.5 (`gmx_d dump` of `gmx_d grompp`'s run input;
//! how the topologies were made: `data/README.md`).
//!
//! The index sum Σ_interactions Σ_k k (a_k + 1), k = 1, 2, … tells which atoms interact, and in which order.

use std::path::{Path, PathBuf};

use forcefield::Topology;
use forcefield::gromacs::read_topology;
use forcefield::topology::BondConstraints;

/// `gmx dump` prints bond parameters with 6 digits and the others with 9; a sum of terms of one sign is as good.
const PRINTED_BONDS: f64 = 5e-6;
const PRINTED: f64 = 1e-8;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Number of interactions, parameter sums, index sum.
#[derive(Debug)]
struct Sum(usize, Vec<f64>, u64);

fn sum<const A: usize, const P: usize>(terms: impl Iterator<Item = ([u32; A], [f64; P])>) -> Sum {
    let mut total = Sum(0, vec![0.0; P], 0);
    for (atoms, parameters) in terms {
        total.0 += 1;
        total.1.iter_mut().zip(parameters).for_each(|(s, p)| *s += p);
        total.2 += atoms.iter().zip(1..).map(|(a, k)| k * (u64::from(*a) + 1)).sum::<u64>();
    }
    total
}

fn sums(top: &Topology, kind: &str) -> Sum {
    let dihedrals = |improper| {
        let of_kind = top.propers.iter().filter(move |d| d.improper == improper);
        sum(of_kind.map(|d| (d.atoms, [d.phi0.to_degrees(), d.k, f64::from(d.multiplicity)])))
    };
    match kind {
        "atoms" => sum(top.atoms.iter().zip(0..).map(|(a, i)| ([i], [a.mass, a.charge]))),
        "bonds" => sum(top.bonds.iter().map(|b| (b.atoms, [b.r0, b.k]))),
        "angles" => sum(top.angles.iter().map(|a| (a.atoms, [a.theta0.to_degrees(), a.k]))),
        "urey-bradley" => sum(top.urey_bradley.iter().map(|u| (u.atoms, [u.theta0.to_degrees(), u.k, u.r13, u.k13]))),
        "propers" => dihedrals(false),
        "periodic impropers" => dihedrals(true),
        "harmonic impropers" => sum(top.harmonic_impropers.iter().map(|d| (d.atoms, [d.xi0.to_degrees(), d.k]))),
        "ryckaert-bellemans" => sum(top.ryckaert_bellemans.iter().map(|d| (d.atoms, d.c))),
        "cmaps" => sum(top.cmaps.iter().map(|c| (c.atoms, []))),
        "pairs" => sum(top.pairs.iter().map(|p| (p.atoms, [p.c6, p.c12]))),
        "constraints" => sum(top.constraints.iter().map(|c| (c.atoms, [c.length]))),
        "settles" => sum(top.settles.iter().map(|s| ([s.oxygen, s.hydrogens[0], s.hydrogens[1]], [s.d_oh, s.d_hh]))),
        "position restraints" => sum(top.position_restraints.iter().map(|r| ([r.atom], [r.k.x, r.k.y, r.k.z]))),
        // Index sum Σ (i + 1)(j + 1) over pairs.
        "exclusions" => {
            let pairs: Vec<_> = top.exclusions.pairs().collect();
            let weight = pairs.iter().map(|p| p.iter().map(|i| u64::from(*i) + 1).product::<u64>()).sum();
            Sum(pairs.len(), vec![], weight)
        }
        _ => panic!("no interaction {kind}"),
    }
}

fn check(top: &Topology, expected: &[(&str, usize, &[f64], u64)]) {
    for &(kind, count, parameters, indices) in expected {
        let found = sums(top, kind);
        let tolerance = if kind == "bonds" { PRINTED_BONDS } else { PRINTED };
        assert_eq!((found.0, found.2), (count, indices), "{kind}: number and atoms");
        assert_eq!(found.1.len(), parameters.len(), "{kind}");
        for (a, b) in found.1.iter().zip(parameters) {
            assert!((a - b).abs() <= tolerance * b.abs().max(1e-3), "{kind}: {a} instead of {b}");
        }
    }
}

#[test]
fn amber99sb_ildn() {
    let top = read_topology(&data("amber.top"), &[], &[]).unwrap();
    check(
        &top,
        &[
            ("atoms", 40, &[296.29, 0.0], 820),
            ("bonds", 33, &[4.0581, 11312701.0], 1711),
            ("angles", 57, &[6469.68, 26610.24], 5882),
            ("urey-bradley", 0, &[0.0; 4], 0),
            ("propers", 76, &[3240.0, 237.590184, 194.0], 13126),
            ("periodic impropers", 7, &[1260.0, 189.1168, 14.0], 1352),
            ("pairs", 75, &[0.03631080991, 3.998228894e-05], 4119),
            ("settles", 2, &[0.19144, 0.30278], 454),
            ("exclusions", 171, &[], 68669),
            ("position restraints", 18, &[18000.0; 3], 335),
        ],
    );
    assert!(top.pairs.iter().all(|p| p.coulomb_scale == 0.8333));
    assert_eq!(top.molecules.len(), 3);
    assert_eq!(top.label(16), "ASN 2 CG (atom 17)");
    assert_eq!(top.title, "GLY-ASN-ALA and two waters");
    assert_eq!(top.degrees_of_freedom(3), 120 - 6 - 3);
}

#[test]
fn charmm27() {
    let top = read_topology(&data("charmm.top"), &[], &[]).unwrap();
    check(
        &top,
        &[
            ("atoms", 40, &[296.2816, 0.0], 820),
            ("bonds", 33, &[4.0689, 10249126.0], 1711),
            ("angles", 0, &[0.0; 2], 0),
            ("urey-bradley", 57, &[6461.7, 22617.4488, 4.2912, 480532.4], 5882),
            ("propers", 56, &[3960.0, 167.7784, 162.0], 10170),
            ("harmonic impropers", 9, &[0.0, 3966.432], 1700),
            ("cmaps", 1, &[], 272),
            ("pairs", 75, &[0.03809010803, 4.059851626e-05], 4119),
            ("settles", 2, &[0.19144, 0.30278], 454),
            ("exclusions", 171, &[], 68669),
        ],
    );
    assert!(top.pairs.iter().all(|p| p.coulomb_scale == 1.0));
    let grid = &top.cmap_grids[top.cmaps[0].grid as usize];
    assert_eq!((grid.size, grid.values.len()), (24, 576));
    // First two and last value of the map for C NH1 CT1 C NH1.
    assert_eq!((grid.values[0], grid.values[1]), (0.53048936, 3.2162408));
}

#[test]
fn opls_aa() {
    let top = read_topology(&data("opls.top"), &[], &[]).unwrap();
    check(
        &top,
        &[
            ("atoms", 40, &[296.2776, 0.0], 820),
            ("bonds", 33, &[4.0587, 11242409.0], 1711),
            ("angles", 57, &[6469.5, 23459.688], 5882),
            ("propers", 7, &[1260.0, 188.28, 14.0], 1352),
            ("ryckaert-bellemans", 52, &[321.08644, 22.36967, -297.11424, -46.34201, 0.0, 0.0], 9225),
            ("pairs", 75, &[0.04119126014, 6.012392743e-05], 4119),
            ("settles", 2, &[0.19144, 0.30278], 454),
            ("exclusions", 171, &[], 68669),
        ],
    );
    assert!(top.pairs.iter().all(|p| p.coulomb_scale == 0.5));
}

#[test]
fn every_section_at_once() {
    let defines = [("FC2".to_string(), Some("55".to_string()))];
    let mut top = read_topology(&data("synthetic.top"), &[], &defines).unwrap();
    top.constrain_bonds(BondConstraints::HBonds);
    check(
        &top,
        &[
            ("atoms", 33, &[303.096, 4.2], 561),
            ("bonds", 15, &[2.16, 8901.0], 660),
            ("constraints", 6, &[0.6495], 309),
            ("angles", 6, &[336.0, 672.0], 534),
            ("urey-bradley", 3, &[300.0, 600.0, 0.6, 900.0], 240),
            ("propers", 45, &[2520.0, 90.0, 90.0], 6444),
            ("periodic impropers", 6, &[540.0, 30.0, 12.0], 837),
            ("harmonic impropers", 6, &[108.0, 237.0], 846),
            ("ryckaert-bellemans", 3, &[3.0, 6.0, 9.0, 12.0, 15.0, 18.0], 480),
            ("pairs", 15, &[0.001447150404, 2.334925062e-06], 654),
            ("settles", 3, &[0.3, 0.48], 384),
            ("position restraints", 3, &[3.0, 6.0, 165.0], 42),
            ("exclusions", 54, &[], 18267),
        ],
    );
    let names: Vec<_> = top.atom_types.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["A", "C", "B", "D"]);
    // The same table as `gmx_d dump` prints, for types A C B D.
    let c6 =
        [[2.22451836e-03, 0.0, 7.10002945e-04, 0.0], [0.0; 4], [7.10002945e-04, 0.0, 5.85937500e-05, 0.0], [0.0; 4]];
    let c12 = [
        [3.43644578e-06, 1.95657267e-06, 6.30130227e-07, 0.0],
        [1.95657267e-06, 1.06288200e-06, 1.29602370e-07, 0.0],
        [6.30130227e-07, 1.29602370e-07, 1.43051147e-08, 0.0],
        [0.0; 4],
    ];
    for i in 0..4 {
        for j in 0..4 {
            let (a, b) = top.lj.get(i, j);
            let (c, d): (f64, f64) = (c6[i as usize][j as usize], c12[i as usize][j as usize]);
            assert!((a - c).abs() <= PRINTED * c && (b - d).abs() <= PRINTED * d, "types {i} {j}");
        }
    }
    assert!(top.lj.is_inert(3) && !top.lj.is_inert(0));
}

/// Reading again what is constrained keeps the sum of bonds and constraints.
#[test]
fn constraining_moves_bonds() {
    let free = read_topology(&data("amber.top"), &[], &[]).unwrap();
    let (mut hydrogens, mut all) = (free.clone(), free.clone());
    hydrogens.constrain_bonds(BondConstraints::HBonds);
    all.constrain_bonds(BondConstraints::AllBonds);
    assert_eq!((hydrogens.bonds.len(), hydrogens.constraints.len()), (17, 16));
    assert_eq!((all.bonds.len(), all.constraints.len()), (0, 33));
    assert_eq!(all.exclusions, free.exclusions);
    assert!(hydrogens.constraints.iter().all(|c| c.atoms.iter().any(|&a| free.is_hydrogen(a))));
}
