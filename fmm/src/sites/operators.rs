//! M2L operators between single boxes, for groups of particles. Pairs of boxes are few here, so that each is translated by itself, on the root
//! grid too, where the whole evaluation has one convolution.

use std::collections::HashMap;

use kernels::{Operator, Real};
use rayon::prelude::*;

use super::boxes::{BoxOffset, Group};
use crate::operators::harmonics::{count, parities};
use crate::operators::lattice;
use crate::operators::m2l::matrix::{Domain, m2l};
use crate::operators::m2l::translation::Translation;
use crate::solver::operators::Operators;

/// Operators between single boxes, made when a group first needs them.
#[derive(Default)]
pub struct SparseOperators<T> {
    /// Coefficients of the lattice sums of offsets of the root grid.
    coefficients: HashMap<[i32; 3], Vec<f64>>,
    operators: HashMap<BoxOffset, Translation<T>>,
}

impl<T: Real> SparseOperators<T> {
    /// Make what `groups` need.
    pub fn prepare(&mut self, groups: &[Group], operators: &Operators<T>, order: usize) {
        let pairs = groups.iter().flat_map(|g| &g.levels).flat_map(|l| &l.pairs);
        let missing = |offset: &BoxOffset| {
            let kept = matches!(*offset, BoxOffset::Refined(u) if operators.m2l.kept(u).is_some());
            !kept && !self.operators.contains_key(offset)
        };
        let mut offsets: Vec<BoxOffset> = pairs.map(|p| p.offset).filter(missing).collect();
        offsets.sort_unstable();
        offsets.dedup();
        self.sum_lattices(&offsets, operators, order);
        let make = |offset: &BoxOffset| match *offset {
            BoxOffset::Root(u) => Translation::Product(self.root_operator(u, operators, order)),
            BoxOffset::Refined(u) => operators.m2l.translation(&operators.grid, u),
        };
        let made: Vec<Translation<T>> = offsets.par_iter().map(make).collect();
        self.operators.extend(offsets.into_iter().zip(made));
    }

    /// The operator of an offset, if [`prepare`](Self::prepare) made it.
    pub fn get(&self, offset: BoxOffset) -> Option<&Translation<T>> {
        self.operators.get(&offset)
    }

    /// Lattice sums of the offsets of the root grid that are not there yet.
    fn sum_lattices(&mut self, offsets: &[BoxOffset], operators: &Operators<T>, order: usize) {
        let on_root = |offset: &BoxOffset| match *offset {
            BoxOffset::Root(u) => Some(octant(operators, u).0),
            BoxOffset::Refined(_) => None,
        };
        let mut missing: Vec<[i32; 3]> = offsets.iter().filter_map(on_root).collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|u| !self.coefficients.contains_key(u));
        let sum = |u: &[i32; 3]| lattice::coefficients(&operators.grid, 2 * order, *u);
        let values: Vec<Vec<f64>> = missing.par_iter().map(sum).collect();
        self.coefficients.extend(missing.into_iter().zip(values));
    }

    /// Operator of one offset of the root grid, from the coefficients of its mirror image.
    fn root_operator(&self, u: [i32; 3], operators: &Operators<T>, order: usize) -> Operator<T> {
        let (octant, reflected) = octant(operators, u);
        let values = self.coefficients.get(&octant).map_or(&[][..], Vec::as_slice);
        let sign = |p: &[f64; 3]| (0..3).map(|a| if reflected[a] { p[a] } else { 1.0 }).product::<f64>();
        let signed: Vec<f64> = values.iter().zip(parities(2 * order)).map(|(v, p)| v * sign(&p)).collect();
        Operator::new(count(order), count(order), &m2l(order, &signed, Domain::Space))
    }
}

/// The mirror image of an offset in the octant of positive ones, and the axes that were reflected; the offset itself where the grid has no
/// mirror symmetry.
fn octant<T: Real>(operators: &Operators<T>, u: [i32; 3]) -> ([i32; 3], [bool; 3]) {
    let grid = &operators.grid;
    let (mut out, mut reflected) = (u, [false; 3]);
    if grid.is_mirror_symmetric() {
        for a in 0..3 {
            let n = grid.topology.shape[a] as i32;
            if grid.topology.periodic[a] && 2 * u[a] > n {
                (out[a], reflected[a]) = (n - u[a], true);
            } else if u[a] < 0 {
                (out[a], reflected[a]) = (-u[a], true);
            }
        }
    }
    (out, reflected)
}
