//! Operations of one evaluation, counted from the boxes, so that the time of each stage can be compared with the peak of the machine.
//!
//! Floating-point operations, additions and multiplications alike, K = (p+1)² coefficients:
//!
//! - P2P: 20 for each ordered pair: 3 for r, 5 for r², 1 for 1/r, 2 for q/r and 2 for q/r³, 7 for the sums. The convention of
//!   R. Yokota, L. A. Barba, Int. J. High Perform. Comput. Appl. 26, 337 (2012), doi:10.1177/1094342011429952;
//! - P2M: 5 for each particle and coefficient (recurrences and sum), L2P: 12 (recurrences; φ and three components of E);
//! - M2M, L2L: 2K² for each child and its parent; M2L: for each pair of boxes 2K², or some 4p³ along rotated axes (`operators/m2l/translation.rs`);
//! - root grid: 2K² for the real and for the imaginary part of each wave vector, and the transforms there and back: a line of n boxes takes
//!   8 (⌊n/2⌋ + 1) ⌊(n−1)/2⌋ per coefficient, half of that for real boxes (`operators/m2l/fourier.rs`).
//!
//! Padding, gathering of sources and loops over empty rows are not counted, so that rates are those of useful work.

use kernels::Real;
use rayon::prelude::*;

use crate::geometry::assignment::Assignment;
use crate::geometry::grid::BoxGrid;
use crate::geometry::tree::cousins;
use crate::operators::harmonics::count;
use crate::operators::m2l::translation::Translation;
use crate::solver::timings::StageTimings;

/// Counts of the present assignment.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Work {
    /// Number of particles.
    pub particles: usize,
    /// Coefficients per expansion.
    pub coefficients: usize,
    /// Boxes of each level, root grid first; on refined levels those with particles.
    pub boxes: Vec<usize>,
    /// Leaf boxes with particles.
    pub occupied_leaves: usize,
    /// Offsets of near boxes in the lattice, the box itself included.
    pub near_offsets: usize,
    /// Pairs of near leaf boxes, both with particles, each with itself included.
    pub near_pairs: usize,
    /// Ordered pairs of particles in near boxes, images apart, particles with themselves left out.
    pub particle_pairs: u64,
    /// Pairs of boxes translated on refined levels.
    pub m2l_pairs: u64,
    /// Wave vectors of the root grid (half of all: the fields are real).
    pub waves: usize,
    /// Floating-point operations of each stage; 0 where they cannot be counted (sort, gather).
    pub flops: StageFlops,
}

/// Floating-point operations of each stage, named as in [`StageTimings`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct StageFlops {
    /// Charges to multipoles.
    pub p2m: f64,
    /// Multipoles to parents.
    pub m2m: f64,
    /// M2L on refined levels.
    pub m2l: f64,
    /// Root grid.
    pub lattice: f64,
    /// Local expansions to children.
    pub l2l: f64,
    /// Local expansions to potentials and fields.
    pub l2p: f64,
    /// Near field.
    pub p2p: f64,
}

impl StageFlops {
    /// Sum of all stages.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.p2m + self.m2m + self.m2l + self.lattice + self.l2l + self.l2p + self.p2p
    }

    /// Name, seconds and operations of each stage, in the order they run.
    #[must_use]
    pub fn beside(&self, seconds: &StageTimings) -> [(&'static str, f64, f64); 9] {
        [
            ("sort", seconds.sort, 0.0),
            ("p2m", seconds.p2m, self.p2m),
            ("m2m", seconds.m2m, self.m2m),
            ("lattice", seconds.lattice, self.lattice),
            ("l2l", seconds.l2l, self.l2l),
            ("m2l", seconds.m2l, self.m2l),
            ("l2p", seconds.l2p, self.l2p),
            ("p2p", seconds.p2p, self.p2p),
            ("gather", seconds.gather, 0.0),
        ]
    }
}

impl Work {
    pub(crate) fn new<T: Real>(order: usize, grid: &BoxGrid, to: &Assignment) -> Self {
        let (particles, coefficients, leaves) = (to.order.len(), count(order), to.leaves());
        let near = |i: usize| {
            let targets = leaves.particles(i).len() as u64;
            let sources: usize = leaves.near(i).iter().map(|n| to.sources(n.source as usize).len()).sum();
            (leaves.near(i).len(), targets * sources as u64)
        };
        let join = |a: (usize, u64), b: (usize, u64)| (a.0 + b.0, a.1 + b.1);
        let (near_pairs, pairs) = (0..leaves.len()).into_par_iter().map(near).reduce(|| (0, 0), join);
        let refined = to.levels.windows(2).map(|two| {
            let far = |i: usize| {
                let mut pairs = 0;
                cousins(&two[0], &two[1], &grid.near, i, |_, u| pairs += u64::from(!grid.near.contains(u)));
                pairs
            };
            (0..two[1].len()).into_par_iter().map(far).sum::<u64>()
        });
        let m2l_pairs = refined.sum();
        let boxes: Vec<usize> = to.levels.iter().map(|level| level.len()).collect();
        let (k, n) = (coefficients as f64, particles as f64);
        let product = 2.0 * k * k;
        let children = boxes[1..].iter().sum::<usize>() as f64;
        let [nx, ny, nz] = grid.cycle();
        let waves = nx * ny * (nz / 2 + 1);
        let particle_pairs = pairs - to.n_sources as u64;
        let flops = StageFlops {
            p2m: 5.0 * k * n,
            m2m: product * children,
            m2l: Translation::<T>::flops(order) * m2l_pairs as f64,
            lattice: 2.0 * product * waves as f64 + transforms(grid) * k,
            l2l: product * children,
            l2p: 12.0 * k * n,
            p2p: 20.0 * particle_pairs as f64,
        };
        Self {
            particles,
            coefficients,
            occupied_leaves: (0..leaves.len()).filter(|i| !leaves.is_vacant(*i)).count(),
            boxes,
            near_offsets: grid.near.offsets().len(),
            near_pairs,
            particle_pairs,
            m2l_pairs,
            waves,
            flops,
        }
    }
}

/// Operations of the Fourier transforms of one coefficient, there and back.
fn transforms(grid: &BoxGrid) -> f64 {
    let ([mx, my, _], [nx, ny, nz]) = (grid.topology.shape, grid.cycle());
    let line = |n: usize| 8.0 * (n / 2 + 1) as f64 * ((n - 1) / 2) as f64;
    let half = nz / 2 + 1;
    2.0 * ((mx * my) as f64 * 0.5 * line(nz) + (mx * half) as f64 * line(ny) + (ny * half) as f64 * line(nx))
}

#[cfg(test)]
mod tests {
    use crate::{Boundary, Exclusions, Fmm, Settings, TreeShape};

    /// One particle in the middle of each leaf box of a cube of edge 1.
    fn one_each(n: usize) -> Vec<[f64; 3]> {
        let at = |i: usize| (i as f64 + 0.5) / n as f64;
        (0..n * n * n).map(|i| [at(i / (n * n)), at(i / n % n), at(i % n)]).collect()
    }

    #[test]
    fn counts_of_full_periodic_grids_are_those_on_paper() {
        let x = one_each(8);
        let boundary = Boundary::rectangular([1.0; 3]);
        for (root, depth) in [(8, 0), (4, 1)] {
            let settings = Settings::new(3, TreeShape { root: [root; 3], depth });
            let mut fmm = Fmm::<f64>::new(boundary, settings).unwrap();
            assert!(fmm.work().is_none());
            fmm.assign(&x, &Exclusions::none(512)).unwrap();
            let work = fmm.work().unwrap();
            assert_eq!((work.particles, work.coefficients, work.occupied_leaves), (512, 16, 512));
            assert_eq!((work.near_offsets, work.near_pairs, work.particle_pairs), (27, 512 * 27, 512 * 26));
            // 6³ children of near parents, 27 of them near.
            assert_eq!(work.m2l_pairs, if depth == 1 { 512 * 189 } else { 0 });
            assert_eq!(work.waves, root * root * (root / 2 + 1));
            let flops = work.flops;
            assert_eq!(flops.p2p, 20.0 * 512.0 * 26.0);
            assert_eq!(flops.m2l, 2.0 * 256.0 * work.m2l_pairs as f64);
            assert_eq!(flops.m2m, if depth == 1 { 2.0 * 256.0 * 512.0 } else { 0.0 });
            let listed = flops.beside(fmm.timings()).iter().map(|stage| stage.2).sum::<f64>();
            assert!((flops.total() - listed).abs() < 1e-9 * listed);
        }
    }

    #[test]
    fn open_grids_have_fewer_pairs_at_their_faces() {
        let x = one_each(4);
        let settings = Settings::new(2, TreeShape { root: [4; 3], depth: 0 });
        let mut fmm = Fmm::<f32>::new(Boundary::Open, settings).unwrap();
        fmm.assign(&x, &Exclusions::none(64)).unwrap();
        let work = fmm.work().unwrap();
        // Along one axis 2 + 3 + 3 + 2 = 10 near pairs.
        assert_eq!((work.near_pairs, work.particle_pairs), (1000, 1000 - 64));
        assert_eq!(work.waves, 7 * 7 * 4);
    }
}
