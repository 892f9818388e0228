//! Small systems with forces written out in the plainest way, for the tests of the moving parts.

use forcefield::topology::Settle;
use forcefield::units::COULOMB;
use nalgebra::{Rotation3, Vector3};

use crate::cell::Cell;
use crate::constraints::{Constraints, DEFAULT_TOLERANCE};
use crate::random::{Stream, generator};
use rand_distr::{Distribution, StandardNormal};

const D_OH: f64 = 0.1;
const D_HH: f64 = 0.163_299;
const C6: f64 = 2.617_345_6e-3;
const C12: f64 = 2.634_129e-6;
const CHARGES: [f64; 3] = [-0.82, 0.41, 0.41];

/// A droplet of rigid SPC waters (DOI 10.1007/978-94-015-7658-1_21) in vacuum, without cut-off.
pub struct Droplet {
    /// Positions, nm.
    pub x: Vec<Vector3<f64>>,
    /// Masses, u.
    pub masses: Vec<f64>,
    /// Rigid waters.
    pub constraints: Constraints,
}

impl Droplet {
    /// `side`³ waters on a simple cubic lattice with random orientations.
    pub fn new(side: usize) -> Self {
        let mut rng = generator(1, Stream::Velocities, 1);
        let mut normal = || Vector3::from_fn(|_, _| StandardNormal.sample(&mut rng));
        let height = (D_OH * D_OH - 0.25 * D_HH * D_HH).sqrt();
        let mut x = Vec::new();
        for k in 0..side.pow(3) {
            let site = [k % side, k / side % side, k / side / side].map(|i| 0.31 * i as f64);
            let turn = Rotation3::new(2.0 * normal());
            for [a, b] in [[0.0, 0.0], [0.5 * D_HH, height], [-0.5 * D_HH, height]] {
                x.push(Vector3::from(site) + turn * Vector3::new(a, b, 0.0));
            }
        }
        let n = side.pow(3) as u32;
        let masses = [15.9994, 1.008, 1.008].repeat(n as usize);
        let settles: Vec<_> = (0..n).map(|k| water(3 * k)).collect();
        let constraints = Constraints::from_parts(&masses, &[], &settles, DEFAULT_TOLERANCE).unwrap();
        Self { x, masses, constraints }
    }

    /// The same waters with all masses equal, as the minimiser wants them.
    pub fn constraints_with_equal_masses(&self) -> Constraints {
        let n = self.masses.len();
        let settles: Vec<_> = (0..n as u32 / 3).map(|k| water(3 * k)).collect();
        Constraints::from_parts(&vec![1.0; n], &[], &settles, DEFAULT_TOLERANCE).unwrap()
    }
}

fn water(first: u32) -> Settle {
    Settle { oxygen: first, hydrogens: [first + 1, first + 2], d_oh: D_OH, d_hh: D_HH }
}

/// Energy (kJ/mol) of SPC waters at `x`; forces (kJ/mol/nm) replace `f`.
pub fn spc_forces(x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> f64 {
    f.fill(Vector3::zeros());
    let mut energy = 0.0;
    for i in 0..x.len() {
        for j in (i / 3 + 1) * 3..x.len() {
            let d = x[i] - x[j];
            let r2 = d.norm_squared();
            let coulomb = COULOMB * CHARGES[i % 3] * CHARGES[j % 3] / r2.sqrt();
            let mut pair = coulomb;
            let mut push = coulomb / r2;
            if i % 3 == 0 && j % 3 == 0 {
                let r6 = r2.powi(-3);
                pair += (C12 * r6 - C6) * r6;
                push += (12.0 * C12 * r6 - 6.0 * C6) * r6 / r2;
            }
            energy += pair;
            f[i] += push * d;
            f[j] -= push * d;
        }
    }
    energy
}

/// Soft spheres V = ε (1 − r²/c²)⁴ for r < c, nearest images: energy and virial Σ r·F (kJ/mol); forces replace `f`.
pub fn soft_sphere_forces(cell: &Cell, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> (f64, f64) {
    const EPSILON: f64 = 20.0;
    const RANGE2: f64 = 0.25;
    f.fill(Vector3::zeros());
    let (mut energy, mut virial) = (0.0, 0.0);
    for i in 0..x.len() {
        for j in i + 1..x.len() {
            let d = cell.minimum_image(x[i] - x[j]);
            let r2 = d.norm_squared();
            if r2 < RANGE2 {
                let s = 1.0 - r2 / RANGE2;
                let push = 8.0 * EPSILON * s.powi(3) / RANGE2;
                energy += EPSILON * s.powi(4);
                virial += push * r2;
                f[i] += push * d;
                f[j] -= push * d;
            }
        }
    }
    (energy, virial)
}

/// Mean and variance of a series.
pub fn mean_and_variance(series: &[f64]) -> (f64, f64) {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    (mean, series.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n)
}

/// Slope of a series against its index (least squares).
pub fn slope(series: &[f64]) -> f64 {
    let middle = 0.5 * (series.len() as f64 - 1.0);
    let (mut up, mut down) = (0.0, 0.0);
    for (k, s) in series.iter().enumerate() {
        let t = k as f64 - middle;
        up += t * s;
        down += t * t;
    }
    up / down
}
