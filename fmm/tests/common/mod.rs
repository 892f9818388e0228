//! Small systems for the tests.
#![allow(dead_code)] // each test file uses some of them

pub mod lattices;
pub mod systems;

use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};

/// Uniform numbers in [0, 1), the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `n` particles in a cell with `edges`, charges in ±1 with sum `charge`.
pub fn cloud(n: usize, edges: [f64; 3], charge: f64, seed: u64) -> (Vec<[f64; 3]>, Vec<f64>) {
    let mut r = Random(seed);
    let positions = (0..n).map(|_| edges.map(|e| e * r.uniform())).collect();
    let mut charges: Vec<f64> = (0..n).map(|_| 2.0 * r.uniform() - 1.0).collect();
    let excess = (charges.iter().sum::<f64>() - charge) / n as f64;
    charges.iter_mut().for_each(|q| *q -= excess);
    (positions, charges)
}

pub fn solver(boundary: Boundary, order: usize, root: [usize; 3], depth: usize) -> Fmm<f64> {
    Fmm::new(boundary, Settings::new(order, TreeShape { root, depth })).unwrap()
}

/// Assign and evaluate.
pub fn run(fmm: &mut Fmm<f64>, x: &[[f64; 3]], q: &[f64], exclusions: &Exclusions) -> (f64, Potentials) {
    let mut out = Potentials::default();
    fmm.assign(x, exclusions).unwrap();
    let energy = fmm.evaluate(x, q, &mut out).unwrap();
    (energy, out)
}

pub fn relative_l2<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    let (mut difference, mut norm) = (0.0, 0.0);
    for (a, b) in a.into_iter().zip(b) {
        difference += (a - b) * (a - b);
        norm += b * b;
    }
    (difference / norm).sqrt()
}

/// Larger of the relative L2 errors of potentials and fields.
pub fn difference(a: &Potentials, b: &Potentials) -> f64 {
    relative_l2(&a.potential, &b.potential).max(relative_l2(a.field.iter().flatten(), b.field.iter().flatten()))
}
