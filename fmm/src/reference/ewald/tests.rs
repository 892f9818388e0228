//! Madelung constants, tabulated sums of another implementation, independence of the splitting, finite differences.

use nalgebra::Vector3;

use super::*;

/// Energy and potentials with α = `splitting` times the fastest.
pub fn evaluate_with(
    splitting: f64,
    boundary: &Boundary,
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
) -> (f64, Potentials) {
    let targets: Vec<usize> = (0..positions.len()).collect();
    let p = sum(splitting, boundary, positions, charges, exclusions, &targets, 1e-16);
    (direct::energy(charges, &p), p)
}

/// A cubic crystal of nearest neighbours at distance 1.
struct Crystal {
    name: &'static str,
    edge: f64,
    charges: Vec<f64>,
    /// In units of the edge.
    fractions: Vec<[f64; 3]>,
    /// Y. Sakamoto, J. Chem. Phys. 28 (1958) 164, with later digits.
    madelung: f64,
}

fn crystals() -> [Crystal; 3] {
    let fcc = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    let with_anions = |offset: [f64; 3]| {
        let anions = fcc.map(|x| [0, 1, 2].map(|a| x[a] + offset[a]));
        [fcc, anions].concat()
    };
    let charges = [[1.0; 4], [-1.0; 4]].concat();
    let root3 = 3.0_f64.sqrt();
    let crystal =
        |name, edge, fractions, madelung| Crystal { name, edge, charges: charges.clone(), fractions, madelung };
    [
        crystal("NaCl", 2.0, with_anions([0.5, 0.0, 0.0]), 1.747_564_594_633_182_2),
        Crystal {
            name: "CsCl",
            edge: 2.0 / root3,
            charges: vec![1.0, -1.0],
            fractions: vec![[0.0; 3], [0.5; 3]],
            madelung: 1.762_674_773_070_988_4,
        },
        crystal("zinc blende", 4.0 / root3, with_anions([0.25; 3]), 1.638_055_053_388_789_4),
    ]
}

pub fn relative(a: f64, b: f64) -> f64 {
    (a - b).abs() / b.abs()
}

/// Rounding of a few hundred terms of size 1.
const ROUNDING: f64 = 1e-14;

#[test]
fn madelung_constants() {
    for Crystal { name, edge, charges, fractions, madelung } in crystals() {
        let positions: Vec<_> = fractions.iter().map(|x| x.map(|s| s * edge)).collect();
        let none = Exclusions::none(charges.len());
        let (energy, p) = evaluate(&Boundary::rectangular([edge; 3]), &positions, &charges, &none, 1e-16).unwrap();
        let per_ion_pair = -energy * 2.0 / charges.len() as f64;
        assert!(relative(per_ion_pair, madelung) < ROUNDING, "{name}: {per_ion_pair}, should be {madelung}");
        for (phi, q) in p.potential.iter().zip(&charges) {
            assert!(relative(-phi * q, madelung) < ROUNDING, "{name}: φ = {phi}");
        }
        for e in p.field.iter().flatten() {
            assert!(e.abs() < ROUNDING, "{name}: field {e} where symmetry forbids one");
        }
    }
}

/// A point charge and its neutralising background in a cube: φ = −2.837297479480620 / edge (Wigner lattice).
#[test]
fn wigner_lattice() {
    let (energy, p) =
        evaluate(&Boundary::rectangular([3.0; 3]), &[[1.0, 7.0, -5.0]], &[2.0], &Exclusions::none(1), 1e-16).unwrap();
    assert!(relative(p.potential[0], -2.0 * 2.837_297_479_480_62 / 3.0) < ROUNDING);
    assert!(relative(energy, p.potential[0]) < ROUNDING);
}

pub struct Reference {
    pub boundary: Boundary,
    pub positions: Vec<[f64; 3]>,
    pub charges: Vec<f64>,
    pub energy: f64,
    pub potentials: Vec<f64>,
    pub forces: Vec<[f64; 3]>,
}

pub fn reference(name: &str) -> Reference {
    let path = format!("{}/tests/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let file: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let numbers =
        |v: &serde_json::Value| -> Vec<f64> { v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect() };
    let vectors = |v: &serde_json::Value| -> Vec<[f64; 3]> {
        v.as_array().unwrap().iter().map(|x| numbers(x).try_into().unwrap()).collect()
    };
    let cell: [[f64; 3]; 3] = vectors(&file["cell"]).try_into().unwrap();
    let boundary = match file["periodic"].as_str() {
        Some("xy") => Boundary::Slab { periods: [cell[0], cell[1]] },
        Some("x") => Boundary::Wire { period: cell[0] },
        _ => Boundary::Periodic { cell },
    };
    Reference {
        boundary,
        positions: vectors(&file["positions"]),
        charges: numbers(&file["charges"]),
        energy: file["energy"].as_f64().unwrap(),
        potentials: numbers(&file["potentials"]),
        forces: vectors(&file["forces"]),
    }
}

pub const NAMES: [&str; 6] =
    ["dev_cubic_3d", "dev_cubic_3d_charged", "dev_rectangular_3d", "dev_triclinic_3d", "dev_slab_2d", "dev_wire_1d"];

/// Relative error in the root-mean-square sense.
pub fn relative_l2(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let (error, size) = a.into_iter().zip(b).fold((0.0, 0.0), |(e, s), (a, b)| (e + (a - b).powi(2), s + b * b));
    (error / size).sqrt()
}

/// Relative errors of energy, potentials and fields.
pub fn errors(a: &(f64, Potentials), b: &(f64, Potentials)) -> [f64; 3] {
    let potentials = |p: &Potentials| p.potential.clone();
    let fields = |p: &Potentials| p.field.concat();
    let error = |part: &dyn Fn(&Potentials) -> Vec<f64>| relative_l2(part(&a.1), part(&b.1));
    [relative(a.0, b.0), error(&potentials), error(&fields)]
}

/// Both implementations round: about 60 charges, a few hundred waves and images each. The energy of the slab is a 50th of
/// the sum of its absolute terms.
#[test]
fn tabulated_sums() {
    for name in NAMES {
        let r = reference(name);
        let none = Exclusions::none(r.charges.len());
        let (energy, p) = evaluate(&r.boundary, &r.positions, &r.charges, &none, 1e-16).unwrap();
        let forces = p.field.iter().zip(&r.charges).flat_map(|(e, q)| e.map(|e| q * e));
        let errors = [
            relative(energy, r.energy),
            relative_l2(p.potential.iter().copied(), r.potentials),
            relative_l2(forces, r.forces.into_iter().flatten()),
        ];
        println!("{name}: relative errors of energy, potentials, forces {errors:?}");
        assert!(errors[0] < 1e-12 && errors[1].max(errors[2]) < 1e-13, "{name}: energy, potentials, forces {errors:?}");
    }
}

/// Excluded pairs of neighbours in the arrays, some of them far apart, some across the boundary.
pub fn chain(n: usize) -> Exclusions {
    Exclusions::from_pairs(n, (1..n as u32).filter(|i| i % 4 != 0).map(|i| [i - 1, i])).unwrap()
}

#[test]
fn independent_of_the_splitting() {
    for name in NAMES {
        let r = reference(name);
        let some = chain(r.charges.len());
        let at = |splitting| evaluate_with(splitting, &r.boundary, &r.positions, &r.charges, &some);
        let one = at(1.0);
        for splitting in [0.6, 0.8, 1.5] {
            let errors = errors(&at(splitting), &one);
            assert!(errors.iter().all(|&e| e < 1e-13), "{name}, splitting {splitting}: {errors:?}");
        }
    }
}

#[test]
fn exclusions_take_out_the_nearest_image_only() {
    for name in NAMES {
        let r = reference(name);
        let n = r.charges.len();
        let some = chain(n);
        let (all, p_all) = evaluate(&r.boundary, &r.positions, &r.charges, &Exclusions::none(n), 1e-16).unwrap();
        let (energy, p) = evaluate(&r.boundary, &r.positions, &r.charges, &some, 1e-16).unwrap();
        let periods = r.boundary.periods();
        // All of the periods, with images −3 … 3 along each.
        let along = |i: usize| if i < periods.len() { -3..=3 } else { 0..=0 };
        let period = |i: usize| periods.get(i).map_or_else(Vector3::zeros, |&p| Vector3::from(p));
        let mut pairs = 0.0;
        for i in 0..n {
            let (mut phi, mut field) = (0.0, Vector3::zeros());
            for j in some.partners(i).iter().map(|&j| j as usize) {
                let d = Vector3::from(r.positions[i]) - Vector3::from(r.positions[j]);
                // Nearest of 7 images along each period of the pair as it stands: another way than the one in the module.
                let shifts = along(0).flat_map(|a| along(1).flat_map(move |b| along(2).map(move |c| [a, b, c])));
                let x = shifts
                    .map(|n: [i32; 3]| d + (0..3).map(|i| period(i) * f64::from(n[i])).sum::<Vector3<f64>>())
                    .min_by(|a, b| a.norm().total_cmp(&b.norm()))
                    .unwrap();
                phi += r.charges[j] / x.norm();
                field += r.charges[j] / x.norm().powi(3) * x;
            }
            pairs += 0.5 * r.charges[i] * phi;
            // The pair terms taken out again can be larger than what remains: hence the scales.
            assert!((p_all.potential[i] - phi - p.potential[i]).abs() < 1e-13 * (1.0 + phi.abs()) * 10.0);
            let error = Vector3::from(p_all.field[i]) - field - Vector3::from(p.field[i]);
            assert!(error.norm() < 1e-13 * (1.0 + field.norm()) * 10.0);
        }
        assert!((all - pairs - energy).abs() < 1e-13 * (all.abs() + pairs.abs()));
        assert!((all - energy).abs() > 1e-3 * all.abs(), "the exclusions must matter");
    }
}

#[test]
fn an_excluded_pair_at_one_point_is_finite() {
    let positions = [[0.3, 0.2, 0.9]; 2];
    let pair = Exclusions::from_pairs(2, [[0, 1]]).unwrap();
    let (energy, p) = evaluate(&Boundary::rectangular([2.0; 3]), &positions, &[0.7, 1.3], &pair, 1e-16).unwrap();
    // Each sees the images of both: a Wigner lattice of charge 2 in an edge of 2.
    let wigner = -2.837_297_479_480_62;
    assert!(relative(p.potential[0], wigner) < ROUNDING && relative(p.potential[1], wigner) < ROUNDING);
    assert!(relative(energy, wigner) < ROUNDING);
    assert!(p.field.iter().flatten().all(|e| e.abs() < ROUNDING));
}

#[test]
fn field_is_minus_the_gradient() {
    let mut r = reference("dev_triclinic_3d");
    let some = chain(r.charges.len());
    let step = 1e-4;
    for (i, axis) in [(0, 0), (7, 1), (30, 2)] {
        let base = evaluate(&r.boundary, &r.positions, &r.charges, &some, 1e-16).unwrap().1;
        let mut energy = |h: f64| {
            let x = r.positions[i][axis];
            r.positions[i][axis] = x + h;
            let energy = evaluate(&r.boundary, &r.positions, &r.charges, &some, 1e-16).unwrap().0;
            r.positions[i][axis] = x;
            energy
        };
        let slope = (8.0 * (energy(step) - energy(-step)) - energy(2.0 * step) + energy(-2.0 * step)) / (12.0 * step);
        let force = r.charges[i] * base.field[i][axis];
        // Rounding 1e-14 · 80 / 1e-4, and h⁴ of the fifth derivative.
        assert!((force + slope).abs() < 1e-8 * (1.0 + force.abs()), "atom {i} axis {axis}: {force} for {}", -slope);
    }
}

#[test]
fn wrong_input_is_refused() {
    let cube = Boundary::rectangular([1.0; 3]);
    let message = |boundary: &Boundary, x: f64, q: &[f64], tolerance| {
        evaluate(boundary, &[[x; 3]], q, &Exclusions::none(1), tolerance).unwrap_err().to_string()
    };
    let flat = Boundary::Periodic { cell: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]] };
    for boundary in [flat, Boundary::rectangular([1.0, f64::NAN, 1.0])] {
        assert!(message(&boundary, 0.0, &[1.0], 1e-16).contains("must be finite, not zero"));
    }
    assert_eq!(message(&cube, 0.0, &[1.0], 0.5), "the tolerance is 5e-1; it must lie between 1e-16 and 1e-1");
    assert_eq!(message(&cube, 0.0, &[1.0, 2.0], 1e-10), "charges: expected 1 entries, found 2");
    assert_eq!(message(&cube, f64::INFINITY, &[1.0], 1e-10), "particle 0: position is not finite");
    assert_eq!(message(&cube, 0.0, &[f64::NAN], 1e-10), "particle 0: charge is not finite");
    // The same point of the cell, three cells apart.
    let pair = evaluate(&cube, &[[0.2, 0.1, 0.7], [3.2, 0.1, -0.3]], &[1.0, -1.0], &Exclusions::none(2), 1e-10);
    let point = "particles 0 and 1 sit at the same position: the potential there is infinite";
    assert_eq!(pair.unwrap_err().to_string(), point);
    let (wire, slab) =
        (Boundary::Wire { period: [1.0, 0.0, 0.0] }, Boundary::Slab { periods: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] });
    for boundary in [wire, slab] {
        let charged = "net charge 5e-1: a cell that repeats in one or two directions must be neutral";
        assert_eq!(message(&boundary, 0.0, &[0.5], 1e-10), charged);
    }
    assert_eq!(
        at(&cube, &[[0.0; 3]], &[1.0], &Exclusions::none(1), &[1], 1e-10).unwrap_err().to_string(),
        "target 1 does not exist: there are 1 particles"
    );
}
