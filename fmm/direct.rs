//! The direct sum in open space: what the fast methods are tested against.
//!
//! ```text
//! φ_i = Σ_{j≠i} q_j / r_ij        E_i = Σ_{j≠i} q_j (x_i − x_j) / r_ij³        E = ½ Σ q_i φ_i        k_e = 1
//! ```
//!
//! over all pairs but the excluded ones. Double precision, N² work, kept simple.

use rayon::prelude::*;

use crate::exclusions::Exclusions;
use crate::potentials::Potentials;

/// Energy, potentials and fields of `charges` at `positions` (any unit of length) without the pairs in `exclusions`.
/// Particles at the same place that are not excluded from each other make infinite or undefined results.
///
/// # Panics
/// If `positions`, `charges` and `exclusions` differ in number.
#[must_use]
pub fn evaluate(positions: &[[f64; 3]], charges: &[f64], exclusions: &Exclusions) -> (f64, Potentials) {
    let n = positions.len();
    assert_eq!(charges.len(), n, "charges and positions differ in number");
    assert_eq!(exclusions.n_particles(), n, "exclusions and positions differ in number");
    let at = |i: usize| {
        let mut sum = (0.0, [0.0; 3]);
        let mut start = 0;
        // The sources between one excluded particle and the next; i itself is left out by the loop.
        for end in exclusions.partners(i).iter().map(|&j| j as usize).chain([n]) {
            for j in (start..end).filter(|&j| j != i) {
                add_point_charge(&mut sum, positions[i], positions[j], charges[j]);
            }
            start = end + 1;
        }
        sum
    };
    let (potential, field) = (0..n).into_par_iter().map(at).unzip();
    let result = Potentials { potential, field };
    (result.energy(charges), result)
}

/// Add potential and field at `x` of the charge `q` at `y` to `sum`.
fn add_point_charge(sum: &mut (f64, [f64; 3]), x: [f64; 3], y: [f64; 3], q: f64) {
    let d = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
    let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    let phi = q / r2.sqrt();
    sum.0 += phi;
    for (sum, d) in sum.1.iter_mut().zip(d) {
        *sum += phi / r2 * d;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIONS: [[f64; 3]; 3] = [[0.0, 0.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, -2.0]];
    const CHARGES: [f64; 3] = [2.0, -10.0, 0.0];

    #[test]
    fn three_charges_by_hand() {
        let (energy, p) = evaluate(&POSITIONS, &CHARGES, &Exclusions::none(3));
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
        let (energy, p) = evaluate(&POSITIONS, &CHARGES, &exclusions);
        assert_eq!((energy, p.potential[0], p.field[0]), (0.0, 0.0, [0.0; 3]));
        assert!((p.potential[2] - (1.0 - 10.0 / 29.0_f64.sqrt())).abs() < 1e-15);
    }

    #[test]
    fn field_is_minus_the_gradient_of_the_potential() {
        let step = 1e-4;
        for axis in 0..3 {
            let phi = |h: f64| {
                let mut x = POSITIONS;
                x[2][axis] += h;
                evaluate(&x, &CHARGES, &Exclusions::none(3)).1.potential[2]
            };
            let slope = (phi(step) - phi(-step)) / (2.0 * step);
            let field = evaluate(&POSITIONS, &CHARGES, &Exclusions::none(3)).1.field[2][axis];
            assert!((field + slope).abs() < 1e-7); // h² φ''' / 6
        }
    }
}
