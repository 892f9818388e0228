//! SETTLE against SHAKE, invariants of both, threads, errors.

use nalgebra::Rotation3;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::random::{RandomStream, generator};

const D_OH: f64 = 0.09572;
const D_HH: f64 = 0.15139;
const MASSES: [f64; 3] = [15.9994, 1.008, 1.008];

fn normal(rng: &mut ChaCha8Rng) -> Vector3<f64> {
    Vector3::from_fn(|_, _| StandardNormal.sample(rng))
}

fn rigid_water(rng: &mut ChaCha8Rng) -> [Vector3<f64>; 3] {
    let turn = Rotation3::new(normal(rng) * 2.0);
    let centre = normal(rng) * 3.0;
    let height = (D_OH * D_OH - 0.25 * D_HH * D_HH).sqrt();
    [[0.0, 0.0], [0.5 * D_HH, -height], [-0.5 * D_HH, -height]].map(|[x, y]| centre + turn * Vector3::new(x, y, 0.0))
}

fn settle(first: u32) -> Settle {
    Settle { oxygen: first, hydrogens: [first + 1, first + 2], d_oh: D_OH, d_hh: D_HH }
}

fn triangle_of_bonds(first: u32) -> [Constraint; 3] {
    [([0, 1], D_OH), ([0, 2], D_OH), ([1, 2], D_HH)]
        .map(|(atoms, length)| Constraint { atoms: atoms.map(|a| a + first), length })
}

/// The same `n` waters as rigid triangles and as three fixed bonds each, with positions and displaced positions.
fn waters(n: u32, shift: f64) -> (Constraints, Constraints, Vec<Vector3<f64>>, Vec<Vector3<f64>>) {
    let mut rng = generator(11, RandomStream::Velocities, 0);
    let x: Vec<_> = (0..n).flat_map(|_| rigid_water(&mut rng)).collect();
    let moved = x.iter().map(|x| x + shift * normal(&mut rng)).collect();
    let masses = MASSES.repeat(n as usize);
    let settles: Vec<_> = (0..n).map(|k| settle(3 * k)).collect();
    let bonds: Vec<_> = (0..n).flat_map(|k| triangle_of_bonds(3 * k)).collect();
    let analytic = Constraints::from_parts(&masses, &[], &settles, DEFAULT_TOLERANCE).unwrap();
    let iterated = Constraints::from_parts(&masses, &bonds, &[], 1e-14).unwrap();
    (analytic, iterated, x, moved)
}

fn largest_difference(a: &[Vector3<f64>], b: &[Vector3<f64>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max)
}

#[test]
fn settle_agrees_with_shake() {
    // Displacements of 5 pm: those of hydrogens in a step of 2 fs at 300 K.
    let (analytic, iterated, x, moved) = waters(2000, 0.005);
    let dt = 0.002;
    let (mut xa, mut xi) = (moved.clone(), moved.clone());
    let mut va = vec![Vector3::zeros(); x.len()];
    let mut vi = va.clone();
    let wa = analytic.apply_with_velocities(&x, &mut xa, &mut va, dt).unwrap();
    let wi = iterated.apply_with_velocities(&x, &mut xi, &mut vi, dt).unwrap();
    assert!(largest_difference(&xa, &xi) < 1e-13, "{:e}", largest_difference(&xa, &xi));
    assert!(largest_difference(&va, &vi) < 1e-10, "{:e}", largest_difference(&va, &vi));
    assert!((wa / wi - 1.0).abs() < 1e-11, "{wa} {wi}");
    // Rounding of coordinates of 10 nm, beside bonds of 0.1 nm.
    assert!(analytic.largest_deviation(&xa).unwrap().0 < 1e-13);
}

#[test]
fn velocity_projections_agree_and_are_orthogonal_in_the_metric_of_masses() {
    let (analytic, iterated, x, _) = waters(500, 0.0);
    let masses = MASSES.repeat(500);
    let start = crate::random::maxwell_velocities(&masses, 300.0, 5);
    let (mut va, mut vi) = (start.clone(), start.clone());
    let wa = analytic.project(&x, &mut va).unwrap();
    let wi = iterated.project(&x, &mut vi).unwrap();
    assert!(largest_difference(&va, &vi) < 1e-11);
    assert!((wa / wi - 1.0).abs() < 1e-11);
    let removed: Vec<_> = start.iter().zip(&va).map(|(s, v)| s - v).collect();
    let overlap: f64 = removed.iter().zip(&va).zip(&masses).map(|((r, v), m)| m * r.dot(v)).sum();
    let size: f64 = removed.iter().zip(&masses).map(|(r, m)| m * r.norm_squared()).sum();
    assert!(overlap.abs() < 1e-12 * size);
    let once = va.clone();
    analytic.project(&x, &mut va).unwrap();
    assert!(largest_difference(&va, &once) < 1e-12);
}

/// A zigzag chain of 30 carbons with all bonds fixed, three hydrogens at its start, waters before and after it, and two
/// bonds between atoms that lie far apart in the file.
fn mixed() -> (Vec<f64>, Vec<Constraint>, Vec<Settle>, Vec<Vector3<f64>>) {
    let mut rng = generator(12, RandomStream::Velocities, 0);
    let mut x = Vec::new();
    let mut masses = Vec::new();
    let mut settles = Vec::new();
    let mut constraints = Vec::new();
    let add_water = |x: &mut Vec<_>, masses: &mut Vec<f64>, settles: &mut Vec<_>, rng: &mut _| {
        settles.push(settle(x.len() as u32));
        x.extend(rigid_water(rng));
        masses.extend(MASSES);
    };
    add_water(&mut x, &mut masses, &mut settles, &mut rng);
    let first = x.len() as u32;
    for k in 0..30 {
        x.push(Vector3::new(0.125 * k as f64, 0.087 * (k % 2) as f64, 0.01 * k as f64));
        masses.push(12.011);
        if k > 0 {
            constraints.push([first + k - 1, first + k]);
        }
    }
    for turn in [0.3, 2.4, 4.5_f64] {
        constraints.push([first, x.len() as u32]);
        x.push(x[first as usize] + Vector3::new(-0.036, 0.103 * turn.cos(), 0.103 * turn.sin()));
        masses.push(1.008);
    }
    for _ in 0..600 {
        add_water(&mut x, &mut masses, &mut settles, &mut rng);
    }
    // Ends of interleaved pairs: (a, c) and (b, d).
    let at = x.len() as u32;
    for k in 0..4 {
        x.push(Vector3::new(5.0 + 0.1 * (k / 2) as f64, (k % 2) as f64, 0.0));
        masses.push(14.0);
    }
    constraints.extend([[at, at + 2], [at + 1, at + 3]]);
    let constraints = constraints
        .into_iter()
        .map(|atoms: [u32; 2]| {
            let length = (x[atoms[0] as usize] - x[atoms[1] as usize]).norm();
            Constraint { atoms, length }
        })
        .collect();
    (masses, constraints, settles, x)
}

#[test]
fn lengths_momentum_and_virial_of_a_mixed_system() {
    let (masses, constraints, settles, x) = mixed();
    let system = Constraints::from_parts(&masses, &constraints, &settles, DEFAULT_TOLERANCE).unwrap();
    assert_eq!(system.count(), 29 + 3 + 2 + 3 * 601);
    let mut rng = generator(13, RandomStream::Velocities, 0);
    let free: Vec<_> = x.iter().map(|x| x + 0.003 * normal(&mut rng)).collect();
    let mut new = free.clone();
    let sum = system.apply(&x, &mut new).unwrap();
    assert!(system.largest_deviation(&free).unwrap().0 > 1e-2);
    assert!(system.largest_deviation(&new).unwrap().0 <= DEFAULT_TOLERANCE);
    let push: Vec<_> = (0..x.len()).map(|i| masses[i] * (new[i] - free[i])).collect();
    let momentum: Vector3<f64> = push.iter().sum();
    let size: f64 = push.iter().map(|p| p.norm()).sum();
    assert!(momentum.norm() < 1e-12 * size);
    let virial: f64 = push.iter().zip(&x).map(|(p, x)| p.dot(x)).sum();
    assert!((sum / virial - 1.0).abs() < 1e-10, "{sum} {virial}");

    let mut v = crate::random::maxwell_velocities(&masses, 300.0, 1);
    system.project(&x, &mut v).unwrap();
    for c in &constraints {
        let [i, j] = c.atoms.map(|a| a as usize);
        let along = (v[i] - v[j]).dot(&(x[i] - x[j])) / c.length;
        assert!(along.abs() < 1e-10, "{along:e} nm/ps along bond {i}-{j}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (masses, constraints, settles, x) = mixed();
    let system = Constraints::from_parts(&masses, &constraints, &settles, DEFAULT_TOLERANCE).unwrap();
    assert!(system.tasks.len() > 1);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut rng = generator(14, RandomStream::Velocities, 0);
            let mut new: Vec<_> = x.iter().map(|x| x + 0.003 * normal(&mut rng)).collect();
            let mut v = vec![Vector3::zeros(); x.len()];
            let virial = system.apply_with_velocities(&x, &mut new, &mut v, 0.002).unwrap();
            (new, v, virial.to_bits())
        })
    };
    assert!(run(1) == run(4));
}

#[test]
fn failure_names_the_atoms() {
    let (analytic, iterated, x, mut moved) = waters(3, 0.001);
    moved[4] += Vector3::new(0.5, 0.5, 0.0);
    let error = analytic.apply(&x, &mut moved.clone()).unwrap_err();
    assert_eq!(error, ConstraintError::Settle { atoms: [3, 4, 5] });
    assert_eq!((error.atom(), error.term()), (3, "SETTLE"));
    let error = iterated.apply(&x, &mut moved.clone()).unwrap_err();
    assert!(
        matches!(error, ConstraintError::Shake { atoms, .. } if atoms.iter().all(|a| (3..6).contains(a))),
        "{error}"
    );
    moved[8].y = f64::NAN;
    moved[4] = x[4];
    assert!(matches!(analytic.apply(&x, &mut moved.clone()), Err(ConstraintError::Settle { atoms: [6, 7, 8] })));
    assert!(matches!(iterated.apply(&x, &mut moved.clone()), Err(ConstraintError::Shake { .. })));
    let mut velocities = vec![Vector3::zeros(); 9];
    let line = vec![Vector3::zeros(); 9];
    velocities[0].x = 1.0;
    assert!(analytic.project(&line, &mut velocities.clone()).is_err());
    velocities[0].x = f64::NAN;
    assert!(iterated.project(&x, &mut velocities).is_err());
}

#[test]
fn nonsense_is_refused() {
    let bond = |i, j, length| Constraint { atoms: [i, j], length };
    let try_parts = |masses: &[f64], constraints: &[Constraint], settles: &[Settle]| {
        Constraints::from_parts(masses, constraints, settles, 1e-8).map(|c| c.count())
    };
    let masses = [15.9994, 1.008, 1.008, 12.0];
    assert_eq!(try_parts(&masses, &[], &[settle(0)]), Ok(3));
    let refuse = |masses: &[f64], constraints: &[Constraint], settles: &[Settle], reason: &str| {
        let error = try_parts(masses, constraints, settles).unwrap_err();
        assert!(error.to_string().contains(reason), "{error} / {reason}");
    };
    refuse(&masses, &[bond(3, 4, 0.1)], &[], "no such atom");
    refuse(&masses, &[bond(3, 3, 0.1)], &[], "itself");
    refuse(&masses, &[bond(2, 3, -0.1)], &[], "positive and finite");
    refuse(&masses, &[bond(2, 3, 0.1), bond(0, 3, 0.1), bond(3, 2, 0.1)], &[], "by another constraint");
    refuse(&[1.0, 0.0], &[bond(0, 1, 0.1)], &[], "positive mass");
    refuse(&masses, &[bond(2, 3, 0.1)], &[settle(0)], "rigid water cannot");
    refuse(&masses, &[], &[settle(0), settle(1)], "two rigid waters");
    refuse(&[16.0, 1.0, 2.0], &[], &[settle(0)], "same mass");
    refuse(&masses, &[], &[Settle { d_hh: 0.3, ..settle(0) }], "no triangle");
}

/// The peptide of the example in water, hydrogens or all bonds fixed: from coordinates of three digits, and after a step.
#[test]
fn real_peptide_in_water() {
    use crate::fragments::Fragments;
    use forcefield::topology::BondConstraints;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu");
    let mut rng = generator(15, RandomStream::Velocities, 0);
    for which in [BondConstraints::HBonds, BondConstraints::AllBonds] {
        let mut topology = forcefield::gromacs::read_topology(&folder.join("glu.top"), &[], &[]).unwrap();
        let structure = forcefield::gromacs::read_gro(&folder.join("glu.gro")).unwrap();
        let fragments = Fragments::new(&topology);
        topology.constrain_bonds(which);
        assert_eq!(fragments.len(), Fragments::new(&topology).len(), "constrained bonds connect as bonds do");
        let cell = *structure.cell.periodic().unwrap();
        let mut x: Vec<_> = structure.positions.iter().map(|x| cell.wrap(*x)).collect();
        fragments.make_whole(&cell, &mut x).unwrap();
        let system = Constraints::new(&topology, DEFAULT_TOLERANCE).unwrap();
        assert_eq!(system.count(), topology.n_constrained());
        // Coordinates rounded to 1 pm, and bonds that vibrated.
        let (rounded, _) = system.largest_deviation(&x).unwrap();
        assert!((1e-3..0.1).contains(&rounded), "{rounded}");
        let reference = x.clone();
        system.apply(&reference, &mut x).unwrap();
        assert!(system.largest_deviation(&x).unwrap().0 <= DEFAULT_TOLERANCE);
        // A step of 2 fs at 300 K without constraints.
        let masses = topology.masses();
        let free: Vec<_> = x.iter().zip(&masses).map(|(x, m)| x + 0.0032 / m.sqrt() * normal(&mut rng)).collect();
        let mut new = free.clone();
        system.apply(&x, &mut new).unwrap();
        assert!(system.largest_deviation(&new).unwrap().0 <= DEFAULT_TOLERANCE);
        for molecule in topology.molecules.iter().take(5) {
            let push = |i: usize| masses[i] * (new[i] - free[i]);
            let range = molecule.atoms.start as usize..molecule.atoms.end as usize;
            assert!(range.map(push).sum::<Vector3<f64>>().norm() < 1e-14, "momentum of a molecule");
        }
    }
}
