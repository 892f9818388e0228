//! Charges in cells of every kind, and what they should feel.

use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape, ewald};

use super::{Random, relative_l2};

/// No vector along an axis, no right angle.
pub const TRICLINIC: [[f64; 3]; 3] = [[2.0, 0.1, -0.2], [0.7, 1.9, 0.1], [-0.6, 0.8, 2.1]];

/// As dense as balls of diameter 2 can be packed: its shears are halves of a box, exactly.
pub const DODECAHEDRON: [[f64; 3]; 3] = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, std::f64::consts::SQRT_2]];

pub const PERIODIC: Boundary = Boundary::Periodic { cell: TRICLINIC };
pub const SLAB: Boundary = Boundary::Slab { periods: [TRICLINIC[0], TRICLINIC[1]] };
pub const WIRE: Boundary = Boundary::Wire { period: TRICLINIC[1] };

/// One of each kind.
pub const BOUNDARIES: [Boundary; 4] = [Boundary::Open, WIRE, SLAB, PERIODIC];

pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// Σ f_a v_a.
pub fn combine(f: [f64; 3], vectors: &[[f64; 3]; 3]) -> [f64; 3] {
    [0, 1, 2].map(|x| (0..3).map(|a| f[a] * vectors[a][x]).sum())
}

/// a + times · b.
pub fn plus(a: [f64; 3], times: f64, b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|x| a[x] + times * b[x])
}

/// The periods, and vectors of length `open` orthogonal to them and each other.
pub fn frame(boundary: &Boundary, open: f64) -> [[f64; 3]; 3] {
    let unit = |v: [f64; 3]| v.map(|x| x * open / norm(v));
    match *boundary {
        Boundary::Open => [[open, 0.0, 0.0], [0.0, open, 0.0], [0.0, 0.0, open]],
        Boundary::Wire { period } => {
            let helper = if period[0].abs() > 0.5 * norm(period) { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
            let side = unit(cross(period, helper));
            [period, side, unit(cross(period, side))]
        }
        Boundary::Slab { periods: [a, b] } => [a, b, unit(cross(a, b))],
        Boundary::Periodic { cell } => cell,
    }
}

/// `n` particles anywhere in a cell with extent 2 along open directions, charges in ±1 with sum `charge`.
pub fn filled(boundary: &Boundary, n: usize, charge: f64, seed: u64) -> (Vec<[f64; 3]>, Vec<f64>) {
    let (fractions, charges) = super::cloud(n, [1.0; 3], charge, seed);
    let vectors = frame(boundary, 2.0);
    (fractions.into_iter().map(|f| combine(f, &vectors)).collect(), charges)
}

/// Distance to the nearest image, of all within two periods.
pub fn distance(boundary: &Boundary, a: [f64; 3], b: [f64; 3]) -> f64 {
    let reach = [0, 1, 2].map(|axis| if boundary.periodic()[axis] { 2 } else { 0 });
    let vectors = frame(boundary, 1.0);
    let d = plus(a, -1.0, b);
    let mut least = f64::INFINITY;
    for x in -reach[0]..=reach[0] {
        for y in -reach[1]..=reach[1] {
            for z in -reach[2]..=reach[2] {
                least = least.min(norm(plus(d, 1.0, combine([x, y, z].map(f64::from), &vectors))));
            }
        }
    }
    least
}

/// All pairs less than `radius` apart.
pub fn close_pairs(boundary: &Boundary, x: &[[f64; 3]], radius: f64) -> Exclusions {
    let pairs = (0..x.len() as u32).flat_map(|i| (0..i).map(move |j| [i, j]));
    let close = |p: &[u32; 2]| distance(boundary, x[p[0] as usize], x[p[1] as usize]) < radius;
    Exclusions::from_pairs(x.len(), pairs.filter(close)).unwrap()
}

/// The sum the fast methods approximate.
pub fn exact(boundary: &Boundary, x: &[[f64; 3]], q: &[f64], exclusions: &Exclusions) -> (f64, Potentials) {
    ewald::evaluate(boundary, x, q, exclusions, 1e-16).unwrap()
}

pub fn separated(boundary: Boundary, order: usize, (root, depth): ([usize; 3], usize), separation: f64) -> Fmm<f64> {
    Fmm::new(boundary, Settings { order, tree: TreeShape { root, depth }, separation }).unwrap()
}

/// Random images of each particle, up to `reach` periods away.
pub fn scattered(boundary: &Boundary, x: &[[f64; 3]], reach: f64, random: &mut Random) -> Vec<[f64; 3]> {
    let mut whole = || (reach * (2.0 * random.uniform() - 1.0)).round();
    x.iter().map(|r| boundary.periods().iter().fold(*r, |r, p| plus(r, whole(), *p))).collect()
}

/// Relative L2 error of the forces, which unlike fields are not dominated by places without charge.
pub fn force_error(q: &[f64], a: &Potentials, b: &Potentials) -> f64 {
    let forces = |p: &Potentials| -> Vec<f64> { p.field.iter().zip(q).flat_map(|(e, q)| e.map(|e| q * e)).collect() };
    relative_l2(&forces(a), &forces(b))
}
