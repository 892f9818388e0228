//! Sums of many numbers without rounding error.

use crate::potentials::Potentials;

/// ½ Σ q_i φ_i without rounding error in the sum.
pub fn energy(charges: &[f64], potentials: &Potentials) -> f64 {
    let terms = charges.iter().zip(&potentials.potential).map(|(q, phi)| 0.5 * q * phi);
    let (sum, error) = terms.fold((0.0, 0.0), add_exactly);
    sum + error
}

/// Sum and what its rounding leaves out.
#[inline(always)]
pub fn add_exactly((sum, error): (f64, f64), term: f64) -> (f64, f64) {
    let next = sum + term;
    let added = next - sum;
    (next, error + ((sum - (next - added)) + (term - added)))
}
