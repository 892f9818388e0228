use super::*;
use crate::bonded::finite_difference::five_point;
use crate::topology::{Atom, Constraint, PositionRestraint, Residue};

const PARENTS: [[f64; 3]; 4] = [[1.10, 2.03, -0.52], [1.17, 2.10, -0.49], [1.05, 2.09, -0.58], [1.02, 1.95, -0.47]];

/// One site of each kind, and of each special case, that follows the first atoms of four; the site is atom 4.
fn kinds() -> Vec<(&'static str, VirtualSite)> {
    let frame = |parents: &[u32], origin: &[f64], x: &[f64], y: &[f64], position| VirtualSite {
        site: 4,
        parents: parents.into(),
        kind: VirtualSiteKind::LocalCoordinates { origin: origin.into(), x: x.into(), y: y.into(), position },
    };
    let four = VirtualSiteKind::Average { weights: vec![0.4, 0.3, 0.2, 0.1] };
    vec![
        ("average of two", VirtualSite::average2(4, [0, 1], [0.7, 0.3])),
        ("average of three", VirtualSite::average3(4, [0, 1, 2], [0.7, 0.18, 0.12])),
        ("average of four", VirtualSite { site: 4, parents: vec![3, 0, 2, 1], kind: four }),
        ("out of plane", VirtualSite::out_of_plane(4, [0, 1, 2], [-0.35, -0.34, -6.4])),
        (
            "local coordinates of three",
            frame(&[0, 1, 2], &[1.0, 0.0, 0.0], &[-1.0, 1.0, 0.0], &[-1.0, 0.0, 1.0], [0.03, -0.02, 0.05]),
        ),
        (
            "local coordinates of four with mixed weights",
            frame(
                &[2, 1, 0, 3],
                &[0.5, 0.2, 0.2, 0.1],
                &[-0.6, 0.5, 0.3, -0.2],
                &[0.2, 0.3, -0.9, 0.4],
                [-0.04, 0.03, 0.02],
            ),
        ),
        ("on the first axis of two", frame(&[0, 1], &[1.0, 0.0], &[-1.0, 1.0], &[0.0, 0.0], [0.015, 0.0, 0.0])),
    ]
}

fn start() -> Vec<Vector3<f64>> {
    PARENTS.into_iter().chain([[0.0; 3]]).map(Vector3::from).collect()
}

#[test]
fn positions_are_those_of_the_formulas() {
    let x = start();
    let [r0, r1, r2] = [x[0], x[1], x[2]];
    let place = |name: &str| kinds().into_iter().find(|kind| kind.0 == name).unwrap().1.position(&x);
    assert!((place("average of two") - (0.7 * r0 + 0.3 * r1)).norm() < 1e-15);
    assert!((place("average of three") - (0.7 * r0 + 0.18 * r1 + 0.12 * r2)).norm() < 1e-15);
    assert!((place("average of four") - (0.4 * x[3] + 0.3 * r0 + 0.2 * r2 + 0.1 * r1)).norm() < 1e-15);
    let beside = r0 - 0.35 * (r1 - r0) - 0.34 * (r2 - r0) - 6.4 * (r1 - r0).cross(&(r2 - r0));
    assert!((place("out of plane") - beside).norm() < 1e-15);
    // Gram-Schmidt makes the same axes in another way.
    let ex = (r1 - r0).normalize();
    let ey = ((r2 - r0) - ex * ex.dot(&(r2 - r0))).normalize();
    let local = r0 + 0.03 * ex - 0.02 * ey + 0.05 * ex.cross(&ey);
    assert!((place("local coordinates of three") - local).norm() < 1e-15);
    assert!((place("on the first axis of two") - (r0 + 0.015 * ex)).norm() < 1e-15);
}

/// The energy of a site in a field that is curved in all directions, and its force.
fn field(s: &Vector3<f64>) -> (f64, Vector3<f64>) {
    let (a, b) = (Vector3::new(1.3, -0.7, 0.4), Vector3::new(0.2, 0.9, -1.1));
    let (u, v) = (a.dot(s), b.dot(s));
    (50.0 * u.sin() + 20.0 * u * v * v, -(50.0 * u.cos() + 20.0 * v * v) * a - 40.0 * u * v * b)
}

/// Forces on the parents are the derivatives of the energy by their positions, and so is the virial by the scale of all lengths.
#[test]
fn spread_forces_and_the_virial_are_derivatives() {
    for (name, site) in kinds() {
        let mut x = start();
        place(std::slice::from_ref(&site), &mut x);
        let (_, force) = field(&x[4]);
        let mut forces = vec![Vector3::zeros(); 5];
        forces[4] = force;
        forces[3] = Vector3::new(1.0, 2.0, 3.0);
        let change = site.spread(&x, &mut forces);
        assert_eq!(forces[4], Vector3::zeros(), "{name}");
        forces[3] -= Vector3::new(1.0, 2.0, 3.0);
        let energy = |x: &[Vector3<f64>]| field(&site.position(x)).0;
        // Five-point differences of 1e-4 nm: truncation and rounding are below 1e-9 of forces of 100 kJ/mol/nm.
        for (i, force) in forces[..4].iter().enumerate() {
            for d in 0..3 {
                let slope = five_point(1e-4, |h| {
                    let mut moved = x.clone();
                    moved[i][d] += h;
                    energy(&moved)
                });
                assert!((force[d] + slope).abs() < 1e-7, "{name}: force {d} of atom {i}: {} but {}", force[d], -slope);
            }
        }
        let slope = five_point(1e-4, |h| energy(&x.iter().map(|r| r * (1.0 + h)).collect::<Vec<_>>()));
        let virial = x[4].dot(&force) + change;
        assert!((virial + slope).abs() < 1e-7, "{name}: virial {virial} but {}", -slope);
        // Neither the total force nor the torque changes.
        assert!((forces.iter().sum::<Vector3<f64>>() - force).norm() < 1e-12, "{name}");
        let torque: Vector3<f64> = x.iter().zip(&forces).map(|(x, f)| x.cross(f)).sum();
        assert!((torque - x[4].cross(&force)).norm() < 1e-11, "{name}");
    }
}

/// A water far from the origin, where positions have few digits left, has the same shape: the site does not jitter.
#[test]
fn sites_do_not_depend_on_the_origin() {
    let far = Vector3::new(512.0, -1024.0, 256.0);
    for (name, site) in kinds() {
        let x = start();
        let moved: Vec<_> = x.iter().map(|r| r + far).collect();
        // Positions of 1000 nm have a spacing of 1e-13.
        assert!((site.position(&moved) - far - site.position(&x)).norm() < 2e-11, "{name}");
    }
}

fn topology(sites: Vec<VirtualSite>) -> Topology {
    let atom = |mass| Atom { name: "X".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass };
    let residue = Residue { name: "MOL".into(), number: 1, insertion: None, molecule: 0, atoms: 0..5 };
    Topology {
        atoms: [16.0, 1.0, 1.0, 1.0, 0.0].map(atom).into(),
        residues: vec![residue],
        virtual_sites: sites,
        ..Topology::default()
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let good = VirtualSite::average2(4, [0, 1], [0.5, 0.5]);
    assert_eq!(check(&topology(vec![good.clone()])), Ok(()));
    let refused = |sites: Vec<VirtualSite>| check(&topology(sites)).unwrap_err().to_string();
    let average = |parents: &[u32], weights: &[f64]| VirtualSite {
        site: 4,
        parents: parents.into(),
        kind: VirtualSiteKind::Average { weights: weights.into() },
    };
    for (sites, message) in [
        (vec![], "MOL 1 X (atom 5) has no mass and is no virtual site"),
        (vec![good.clone(), good.clone()], "MOL 1 X (atom 5) is constructed as a virtual site twice"),
        (vec![average(&[0, 5], &[0.5, 0.5])], "virtual site 5 follows atom 6; there are 5 atoms"),
        (vec![average(&[0, 4], &[0.5, 0.5])], "MOL 1 X (atom 5) follows MOL 1 X (atom 5), which is a virtual site"),
        (vec![average(&[0, 0], &[0.5, 0.5])], "follows MOL 1 X (atom 1) twice"),
        (vec![average(&[0, 1], &[0.5, 0.6])], "for its average add up to 1.1; expected 1"),
        (vec![average(&[0, 1], &[1.0])], "has 1 weights; expected 2, one for each parent"),
        (vec![average(&[], &[])], "has 0 parents; expected 1 or more"),
        (vec![average(&[0, 1], &[f64::NAN, 1.0])], "not a finite number"),
        (vec![good.clone(), VirtualSite { site: 3, ..good.clone() }], "with a mass of 1 u"),
    ] {
        let found = refused(sites);
        assert!(found.contains(message), "{found}: {message}");
    }
    let mut plane = VirtualSite::out_of_plane(4, [0, 1, 2], [0.1, 0.1, 1.0]);
    plane.parents.pop();
    assert!(refused(vec![plane]).contains("has 2 parents; expected 3"));
    let local = |position, n: usize| VirtualSite {
        site: 4,
        parents: (0..n as u32).collect(),
        kind: VirtualSiteKind::LocalCoordinates {
            origin: [vec![1.0], vec![0.0; n - 1]].concat(),
            x: [vec![-1.0, 1.0], vec![0.0; n - 2]].concat(),
            y: vec![0.0; n],
            position,
        },
    };
    assert_eq!(check(&topology(vec![local([0.1, 0.0, 0.0], 2)])), Ok(()));
    assert!(refused(vec![local([0.1, 0.1, 0.0], 2)]).contains("has 2 parents; expected 3 or more"));
    let mut held = topology(vec![good.clone()]);
    held.position_restraints.push(PositionRestraint { atom: 4, k: Vector3::repeat(1.0), fades: false });
    assert!(check(&held).unwrap_err().to_string().contains("has a position restraint"));
    let mut fixed = topology(vec![good]);
    fixed.constraints.push(Constraint { atoms: [0, 4], length: 0.1 });
    assert!(check(&fixed).unwrap_err().to_string().contains("is held fixed, but MOL 1 X (atom 5) is a virtual site"));
}
