//! Checks used by the tests of every potential: forces and virial against central differences of the energy.

use nalgebra::Vector3;

use crate::energy::TermEnergy;

/// Forces of `term` at `x` equal −dV/dx, sum to zero and the virial equals −dV/ds at s = 1 of V(s x).
///
/// Five-point differences with step 1e-5 nm: truncation h⁴ V⁽⁵⁾/30 and rounding ε V/h are both about 1e-9 of the largest force.
pub(crate) fn check_forces_and_virial(
    x: &[Vector3<f64>],
    term: impl Fn(&[Vector3<f64>], &mut [Vector3<f64>]) -> TermEnergy,
) {
    let mut f = vec![Vector3::zeros(); x.len()];
    let at = term(x, &mut f);
    let energy = |x: &[Vector3<f64>]| term(x, &mut vec![Vector3::zeros(); x.len()]).energy;
    let largest = f.iter().map(Vector3::norm).fold(1.0, f64::max);
    for (i, force) in f.iter().enumerate() {
        for d in 0..3 {
            let expected = -five_point(1e-5, |h| {
                let mut moved = x.to_vec();
                moved[i][d] += h;
                energy(&moved)
            });
            assert!(
                (force[d] - expected).abs() < 1e-6 * largest,
                "force {d} of atom {i}: {} but −dV/dx = {expected}",
                force[d]
            );
        }
    }
    assert!(f.iter().sum::<Vector3<f64>>().norm() < 1e-10 * largest, "forces do not sum to zero");
    let expected = -five_point(1e-5, |h| energy(&x.iter().map(|r| r * (1.0 + h)).collect::<Vec<_>>()));
    assert!((at.virial - expected).abs() < 1e-6 * largest, "virial {} but −dV/ds = {expected}", at.virial);
}

/// Derivative at 0 of `g` by the five-point rule with step `h`.
pub(crate) fn five_point(h: f64, g: impl Fn(f64) -> f64) -> f64 {
    (8.0 * (g(h) - g(-h)) - (g(2.0 * h) - g(-2.0 * h))) / (12.0 * h)
}
