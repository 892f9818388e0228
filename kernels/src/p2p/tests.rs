//! Every instruction set against a plain f64 double loop over the same numbers.

use super::*;
use crate::test_numbers::Numbers;
use crate::{ExceptionTable, Run};

/// Particles in boxes, the runs that one leaf sees, and what it skips.
struct Case<T> {
    xyz: [Vec<T>; 3],
    charges: Vec<Vec<T>>,
    runs: Vec<Run<T>>,
    leaf: std::ops::Range<usize>,
    skipped: Vec<(u32, u32)>,
}

impl<T: Real> Case<T> {
    /// One box of `n_targets`, then boxes of `lengths`; the leaf sees them all, itself in the middle, and skips
    /// itself and one random source out of `one_in`.
    fn new(random: &mut Numbers, n_targets: usize, lengths: &[usize], n_vec: usize, one_in: usize) -> Self {
        let n = n_targets + lengths.iter().sum::<usize>();
        let mut column = |scale: f64| (0..n).map(|_| T::of(scale * random.signed())).collect::<Vec<_>>();
        let xyz = [column(0.5), column(0.5), column(0.5)];
        let charges = (0..n_vec).map(|_| column(1.0)).collect();
        let mut runs = Vec::new();
        let mut start = n_targets;
        for (i, &len) in lengths.iter().enumerate() {
            // Neighbouring boxes of edge 1.25: distances stay above 0.25.
            let shift = [(i % 3) as f64 - 1.0, (i / 3 % 3) as f64 - 1.0, 1.0].map(|s| T::of(1.25 * s));
            runs.push(Run { start: start as u32, len: len as u32, shift });
            start += len;
        }
        let own = runs.len() / 2;
        let first_own: usize = lengths[..own].iter().sum();
        runs.insert(own, Run { start: 0, len: n_targets as u32, shift: [T::zero(); 3] });
        let mut skipped: Vec<_> = (0..n_targets).map(|i| (i as u32, (first_own + i) as u32)).collect();
        for i in 0..n_targets {
            skipped.extend((0..n).filter(|_| random.below(one_in) == 0).map(|j| (i as u32, j as u32)));
        }
        Self { xyz, charges, runs, leaf: 0..n_targets, skipped }
    }

    fn points(&self) -> Points<'_, T> {
        Points { x: &self.xyz[0], y: &self.xyz[1], z: &self.xyz[2] }
    }

    /// [vector][φ, E_x, E_y, E_z][target] of one path, added to `before`.
    fn evaluate(&self, isa: Isa, before: T) -> Vec<[Vec<T>; 4]> {
        let charges: Vec<&[T]> = self.charges.iter().map(Vec::as_slice).collect();
        let mut block = SourceBlock::new();
        block.gather_on(isa, self.points(), &charges, &self.runs);
        let mut table = ExceptionTable::new();
        table.push_leaf(self.leaf.len(), block.len(), &mut self.skipped.clone());
        let [x, y, z] = self.xyz.each_ref().map(|c| &c[self.leaf.clone()]);
        let n = x.len();
        let mut results = [(); 4].map(|()| vec![before; n * charges.len()]);
        let [phi, ex, ey, ez] = &mut results;
        p2p_on(isa, Points { x, y, z }, &block, table.leaf(0), FieldMut { phi, ex, ey, ez });
        (0..charges.len()).map(|v| results.each_ref().map(|r| r[v * n..][..n].to_vec())).collect()
    }

    /// The same in f64, and for each target the sums of the absolute terms, [Σ|q|/r, Σ|q|/r²].
    fn truth(&self) -> (Vec<[Vec<f64>; 4]>, Vec<[f64; 2]>) {
        let n = self.leaf.len();
        let mut sums = vec![[(); 4].map(|()| vec![0.0; n]); self.charges.len()];
        let mut scales = vec![[0.0; 2]; n];
        for i in 0..n {
            let mut place = 0;
            for run in &self.runs {
                for j in (run.start..run.start + run.len).map(|j| j as usize) {
                    place += 1;
                    if self.skipped.contains(&(i as u32, place - 1)) {
                        continue;
                    }
                    let d = [0, 1, 2].map(|a| self.xyz[a][i].widen() - (self.xyz[a][j] + run.shift[a]).widen());
                    let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                    let largest = self.charges.iter().map(|q| q[j].widen().abs()).fold(0.0, f64::max);
                    scales[i][0] += largest / r;
                    scales[i][1] += largest / (r * r);
                    for (v, q) in self.charges.iter().enumerate() {
                        let q = q[j].widen();
                        sums[v][0][i] += q / r;
                        for a in 0..3 {
                            sums[v][a + 1][i] += q * d[a] / (r * r * r);
                        }
                    }
                }
            }
        }
        (sums, scales)
    }

    fn check(&self, tolerance: f64) {
        let (truth, scales) = self.truth();
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let results = self.evaluate(isa, T::zero());
            for (v, (result, truth)) in results.iter().zip(&truth).enumerate() {
                for (c, (result, truth)) in result.iter().zip(truth).enumerate() {
                    for (i, (r, t)) in result.iter().zip(truth).enumerate() {
                        let error = (r.widen() - t).abs() / (scales[i][usize::from(c > 0)] + 1e-30);
                        assert!(error < tolerance, "{isa:?} vector {v} component {c} target {i}: {r} for {t}");
                    }
                }
            }
        }
    }
}

/// Units in the last place of the sum of absolute terms: each term carries about 5 roundings, and each of the at least
/// 4 partial sums adds up at most 50 terms.
const ROUNDINGS: f64 = 20.0;

fn all_tails<T: Real>(one_in: usize) {
    let mut random = Numbers::new(1);
    for n_targets in 1..=10 {
        for n_sources in 0..=35 {
            let case = Case::<T>::new(&mut random, n_targets, &[n_sources], 1, one_in);
            case.check(ROUNDINGS * T::epsilon().widen());
        }
    }
}

#[test]
fn f32_all_tail_lengths_and_masks() {
    all_tails::<f32>(3);
    all_tails::<f32>(40);
}

#[test]
fn f64_all_tail_lengths_and_masks() {
    all_tails::<f64>(3);
    all_tails::<f64>(40);
}

fn runs_and_vectors<T: Real>() {
    let mut random = Numbers::new(2);
    for n_vec in 0..=7 {
        for _ in 0..20 {
            let lengths: Vec<_> = (0..9).map(|_| random.below(20)).collect();
            let n_targets = 1 + random.below(13);
            Case::<T>::new(&mut random, n_targets, &lengths, n_vec, 25).check(ROUNDINGS * T::epsilon().widen());
        }
    }
}

#[test]
fn short_runs_and_many_charge_vectors() {
    runs_and_vectors::<f32>();
    runs_and_vectors::<f64>();
}

/// One source, one target, distances over 16 decades: the error of 1/r itself.
fn pair_error<T: Real>(isa: Isa) -> f64 {
    let mut random = Numbers::new(3);
    let mut worst = 0.0_f64;
    for i in 0..20_000 {
        let scale = 10.0_f64.powi(i % 17 - 8);
        let x = [(); 3].map(|()| vec![T::zero(), T::of(scale * random.signed())]);
        let r2: f64 = x.iter().map(|c| c[1].widen().powi(2)).sum();
        let case = Case {
            xyz: x,
            charges: vec![vec![T::zero(), T::one()]],
            runs: vec![Run { start: 1, len: 1, shift: [T::zero(); 3] }],
            leaf: 0..1,
            skipped: Vec::new(),
        };
        let phi = case.evaluate(isa, T::zero())[0][0][0].widen();
        worst = worst.max((phi * r2.sqrt() - 1.0).abs());
    }
    worst
}

#[test]
fn one_over_r_is_exact_to_two_units_in_the_last_place() {
    // r² itself carries up to 1.5 roundings, which 1/√ halves; 1/√ and the product with q add at most 1.5 more.
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let (single, double) = (pair_error::<f32>(isa), pair_error::<f64>(isa));
        assert!(single < 2.0 * f64::from(f32::EPSILON), "{isa:?} f32 {single:e}");
        assert!(double < 2.0 * f64::EPSILON, "{isa:?} f64 {double:e}");
    }
}

#[test]
fn adds_to_what_is_there() {
    let case = Case::<f64>::new(&mut Numbers::new(4), 5, &[11], 2, 10);
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let (from_zero, from_three) = (case.evaluate(isa, 0.0), case.evaluate(isa, 3.0));
        for (a, b) in from_zero.iter().flatten().flatten().zip(from_three.iter().flatten().flatten()) {
            assert!((a + 3.0 - b).abs() < 1e-14 * (3.0 + a.abs()));
        }
    }
}

/// As the documentation of `p2p` says. Vectors go by fours, twos and ones.
#[test]
fn sums_of_a_charge_vector_do_not_depend_on_the_others() {
    fn check<T: Real>() {
        let mut case = Case::<T>::new(&mut Numbers::new(6), 7, &[11, 30, 5], 7, 10);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let together = case.evaluate(isa, T::zero());
            let vectors = case.charges.clone();
            for (charges, together) in vectors.iter().zip(together) {
                case.charges = vec![charges.clone()];
                assert!(case.evaluate(isa, T::zero()) == [together], "{isa:?}");
            }
            case.charges = vectors;
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn coincident_particles_are_not_hidden() {
    let mut case = Case::<f32>::new(&mut Numbers::new(5), 3, &[20], 1, 1000);
    case.skipped.retain(|&(i, _)| i != 1);
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let phi = &case.evaluate(isa, 0.0)[0][0];
        assert!(phi[0].is_finite() && !phi[1].is_finite() && phi[2].is_finite(), "{isa:?} {phi:?}");
    }
}

#[test]
#[should_panic(expected = "outside the leaf")]
fn exceptions_outside_the_leaf_are_refused() {
    ExceptionTable::new().push_leaf(4, 10, &mut [(1, 2), (3, 10)]);
}

#[test]
#[should_panic(expected = "a run leaves the particles")]
fn runs_outside_the_particles_are_refused() {
    let x = [0.0_f64; 5];
    let points = Points { x: &x, y: &x, z: &x };
    SourceBlock::new().gather(points, &[&x], &[Run { start: 3, len: 3, shift: [0.0; 3] }]);
}

#[test]
#[should_panic(expected = "exceptions and sources differ in number")]
fn exceptions_for_other_sources_are_refused() {
    let x = [0.0_f64, 1.0];
    let points = Points { x: &x, y: &x, z: &x };
    let mut block = SourceBlock::new();
    block.gather(points, &[&x], &[Run { start: 0, len: 2, shift: [9.0; 3] }]);
    let mut table = ExceptionTable::new();
    table.push_leaf(2, 40, &mut [(0, 33)]);
    let [mut phi, mut ex, mut ey, mut ez] = [[0.0; 2]; 4];
    let out = FieldMut { phi: &mut phi, ex: &mut ex, ey: &mut ey, ez: &mut ez };
    p2p(points, &block, table.leaf(0), out);
}
