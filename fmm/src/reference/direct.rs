//! The direct sum in open space: what the fast methods are tested against.
//!
//! ```text
//! φ_i = Σ_{j≠i} q_j / r_ij        E_i = Σ_{j≠i} q_j (x_i − x_j) / r_ij³        E = ½ Σ q_i φ_i        k_e = 1
//! ```
//!
//! over all pairs but the excluded ones, N² work. [`Direct`] is the same sum as a fast method in either precision; the functions here
//! run in double precision. Blocks of sources are summed in vector lanes, and the
//! blocks without rounding error (D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B). What is left is the
//! rounding of each term and inside a block: 1.4e-15 of the potentials and fields in a droplet of 50 000 charges
//! (tests/lattices.rs), where it is √N ε of a term.

mod blocks;
mod summation;

use kernels::{Kernel, dispatch, fma};
use rayon::prelude::*;

use crate::FmmError;
use crate::checks::{check_sums, check_system, existing};
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::potentials::Potentials;
use summation::add_exactly;

pub use blocks::Direct;
pub(crate) use summation::energy;

/// Sources side by side.
const LANES: usize = 16;
/// Sources that are summed before the sum is added to the total. They take 16 kB and stay in the nearest cache.
const BLOCK: usize = 512;
/// Targets that share a block of sources.
const TARGETS: usize = 8;

/// Energy, potentials and fields of `charges` at `positions` (any unit of length) without the pairs in `exclusions`.
///
/// # Errors
/// Lists of different length, positions or charges that are not finite, two particles on one point that are not excluded from each other.
pub fn evaluate(
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
) -> Result<(f64, Potentials), FmmError> {
    check_system(positions, charges, exclusions)?;
    let targets: Vec<usize> = (0..positions.len()).collect();
    let result = sum(positions, charges, exclusions, &targets);
    check_sums(&Boundary::Open, positions, &targets, &result)?;
    Ok((energy(charges, &result), result))
}

/// Potential and field at the particles `targets` only, in this order; else as [`evaluate`].
///
/// # Errors
/// As [`evaluate`], and a target that does not exist.
pub fn at(
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    targets: &[u32],
) -> Result<Potentials, FmmError> {
    check_system(positions, charges, exclusions)?;
    let targets = existing(targets, positions.len())?;
    let result = sum(positions, charges, exclusions, &targets);
    check_sums(&Boundary::Open, positions, &targets, &result)?;
    Ok(result)
}

/// As [`at`], for particles that have been checked.
pub(crate) fn sum(positions: &[[f64; 3]], charges: &[f64], exclusions: &Exclusions, targets: &[usize]) -> Potentials {
    let axis = |a: usize| positions.iter().map(|x| x[a]).collect();
    let sources = Sources { x: [axis(0), axis(1), axis(2)], charges, exclusions };
    let sums = targets.par_chunks(TARGETS).flat_map_iter(|targets| dispatch(Sums { sources: &sources, targets }));
    let (potential, field) = sums.map(|[phi, x, y, z]| (phi, [x, y, z])).unzip();
    Potentials { potential, field }
}

struct Sources<'a> {
    /// Coordinates, axis by axis.
    x: [Vec<f64>; 3],
    charges: &'a [f64],
    exclusions: &'a Exclusions,
}

/// φ, E_x, E_y, E_z at a few targets.
struct Sums<'a> {
    sources: &'a Sources<'a>,
    targets: &'a [usize],
}

impl Kernel for Sums<'_> {
    type Output = Vec<[f64; 4]>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<[f64; 4]> {
        let Self { sources, targets } = self;
        let n = sources.charges.len();
        let mut totals = vec![[(0.0, 0.0); 4]; targets.len()];
        for block in (0..n).step_by(BLOCK) {
            let end = (block + BLOCK).min(n);
            for (&i, total) in targets.iter().zip(&mut totals) {
                let mut sums = [[0.0; LANES]; 4];
                let mut start = block;
                let partners = sources.exclusions.partners(i);
                let mut partners = partners[partners.partition_point(|&j| (j as usize) < block)..].iter().peekable();
                let mut own = (block..end).contains(&i);
                // The sums run from one particle that is skipped to the next: i itself and its partners, in order.
                while start < end {
                    let partner = partners.peek().map_or(end, |&&j| (j as usize).min(end));
                    let stop = if own { partner.min(i) } else { partner };
                    sources.add::<FMA>(i, start..stop, &mut sums);
                    if stop == i {
                        own = false;
                    } else {
                        partners.next();
                    }
                    start = stop + 1;
                }
                for (total, lanes) in total.iter_mut().zip(sums) {
                    *total = add_exactly(*total, lanes_total(lanes));
                }
            }
        }
        totals.into_iter().map(|total| total.map(|(sum, error)| sum + error)).collect()
    }
}

impl Sources<'_> {
    /// Add potential and field at particle `i` of the sources `range`.
    #[inline(always)]
    fn add<const FMA: bool>(&self, i: usize, range: std::ops::Range<usize>, sums: &mut [[f64; LANES]; 4]) {
        let [x, y, z] = &self.x;
        let target = [x[i], y[i], z[i]];
        let ([x, y, z], q) = ([x, y, z].map(|x| &x[range.clone()]), &self.charges[range]);
        let (x, y, z, q) = (x.as_chunks(), y.as_chunks(), z.as_chunks(), q.as_chunks());
        for (((x, y), z), q) in x.0.iter().zip(y.0).zip(z.0).zip(q.0) {
            add_lanes::<FMA>(target, [x, y, z], q, sums);
        }
        if !q.1.is_empty() {
            // Lanes beyond the last source hold uncharged ones at distance 1 along each axis.
            let fill = |rest: &[f64], other: f64| -> [f64; LANES] {
                std::array::from_fn(|k| rest.get(k).copied().unwrap_or(other))
            };
            let [a, b, c] = target.map(|x| x + x.abs().max(1.0));
            add_lanes::<FMA>(target, [&fill(x.1, a), &fill(y.1, b), &fill(z.1, c)], &fill(q.1, 0.0), sums);
        }
    }
}

#[inline(always)]
fn add_lanes<const FMA: bool>(
    target: [f64; 3],
    [x, y, z]: [&[f64; LANES]; 3],
    q: &[f64; LANES],
    [phi, ex, ey, ez]: &mut [[f64; LANES]; 4],
) {
    for k in 0..LANES {
        let d = [target[0] - x[k], target[1] - y[k], target[2] - z[k]];
        let r2 = fma::<FMA, f64>(d[0], d[0], fma::<FMA, f64>(d[1], d[1], d[2] * d[2]));
        let inverse = r2.sqrt().recip();
        let term = q[k] * inverse;
        let slope = term * (inverse * inverse);
        phi[k] += term;
        ex[k] = fma::<FMA, f64>(slope, d[0], ex[k]);
        ey[k] = fma::<FMA, f64>(slope, d[1], ey[k]);
        ez[k] = fma::<FMA, f64>(slope, d[2], ez[k]);
    }
}

#[inline(always)]
fn lanes_total(lanes: [f64; LANES]) -> f64 {
    let eight: [f64; 8] = std::array::from_fn(|k| lanes[k] + lanes[k + 8]);
    let four: [f64; 4] = std::array::from_fn(|k| eight[k] + eight[k + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIONS: [[f64; 3]; 3] = [[0.0, 0.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, -2.0]];
    const CHARGES: [f64; 3] = [2.0, -10.0, 0.0];

    #[test]
    fn three_charges_by_hand() {
        let (energy, p) = evaluate(&POSITIONS, &CHARGES, &Exclusions::none(3)).unwrap();
        assert!((energy + 4.0).abs() < 1e-15); // 2 · (−10) / 5
        assert!((p.potential[0] + 2.0).abs() < 1e-15);
        // At the uncharged particle: 2 / 2 − 10 / √29.
        assert!((p.potential[2] - (1.0 - 10.0 / 29.0_f64.sqrt())).abs() < 1e-15);
        let field = [3.0, 4.0, 0.0].map(|d| -10.0 * -d / 125.0);
        for (e, exact) in p.field[0].iter().zip(field) {
            assert!((e - exact).abs() < 1e-15);
        }
    }

    #[test]
    fn excluded_pairs_are_skipped() {
        let exclusions = Exclusions::from_pairs(3, [[0, 1]]).unwrap();
        let (energy, p) = evaluate(&POSITIONS, &CHARGES, &exclusions).unwrap();
        assert_eq!((energy, p.potential[0], p.field[0]), (0.0, 0.0, [0.0; 3]));
        assert!((p.potential[2] - (1.0 - 10.0 / 29.0_f64.sqrt())).abs() < 1e-15);
    }

    /// Every place of a skipped particle in blocks and lanes, also several in a row, first and last.
    #[test]
    fn any_excluded_partners_in_long_sums() {
        let n = 3 * BLOCK + 37;
        let mut state = 1.0_f64;
        let mut random = || {
            state = (state * 69_069.0 + 1.0) % 4_294_967_296.0;
            state / 4_294_967_296.0
        };
        let positions: Vec<[f64; 3]> = (0..n).map(|_| [random(), random(), random()]).collect();
        let charges: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -0.9 }).collect();
        let block = BLOCK as u32;
        let last = n as u32 - 1;
        let partners = [0, 1, 2, 17, block - 2, block, block + 1, 2 * block + 5, last - 1, last];
        let targets = [block - 1, 0, last, 700];
        let pairs = targets.iter().flat_map(|&i| partners.map(|j| [i, j])).filter(|[i, j]| i != j);
        let exclusions = Exclusions::from_pairs(n, pairs).unwrap();
        let p = at(&positions, &charges, &exclusions, &targets).unwrap();
        for (k, &i) in targets.iter().enumerate() {
            let i = i as usize;
            let mut expected = [0.0; 4];
            for j in (0..n).filter(|&j| j != i && !exclusions.contains(i, j)) {
                let d = [0, 1, 2].map(|a| positions[i][a] - positions[j][a]);
                let r = d.iter().map(|d| d * d).sum::<f64>().sqrt();
                expected[0] += charges[j] / r;
                (0..3).for_each(|a| expected[a + 1] += charges[j] * d[a] / r.powi(3));
            }
            // Rounding of sums of terms that add up to 3000, fields to some 1e4.
            assert!((p.potential[k] - expected[0]).abs() < 1e-11);
            assert!((0..3).all(|a| (p.field[k][a] - expected[a + 1]).abs() < 1e-10));
        }
        let (_, all) = evaluate(&positions, &charges, &exclusions).unwrap();
        assert!((0..4).all(|k| all.potential[targets[k] as usize] == p.potential[k]));
    }

    #[test]
    fn field_is_minus_the_gradient_of_the_potential() {
        let step = 1e-4;
        for axis in 0..3 {
            let phi = |h: f64| {
                let mut x = POSITIONS;
                x[2][axis] += h;
                evaluate(&x, &CHARGES, &Exclusions::none(3)).unwrap().1.potential[2]
            };
            let slope = (phi(step) - phi(-step)) / (2.0 * step);
            let field = evaluate(&POSITIONS, &CHARGES, &Exclusions::none(3)).unwrap().1.field[2][axis];
            assert!((field + slope).abs() < 1e-7); // h² φ''' / 6
        }
    }
}
