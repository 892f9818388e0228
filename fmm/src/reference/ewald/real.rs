//! Screened charges within the cut-off, and the correction of excluded pairs.

use nalgebra::Vector3;

use super::system::{PotentialAndField, System, TWO_OVER_SQRT_PI};

/// All sums of periods by which a charge may lie within the cut-off of another, and by which it may be nearest.
pub fn images(system: &System) -> Vec<Vector3<f64>> {
    // The nearest image of a reduced vector d is d + n with |d + n| ≤ |d|, hence |n| ≤ 2|d|.
    let reach = system.cell.reach();
    system.cell.vectors_within(reach + system.cutoff.max(reach))
}

/// Σ'_{j,n} at particle `i`.
pub fn at(system: &System, images: &[Vector3<f64>], i: usize) -> PotentialAndField {
    let &System { ref cell, alpha, cutoff, ref positions, charges, exclusions, .. } = system;
    let (mut phi, mut field) = (0.0, Vector3::zeros());
    let mut add = |q: f64, d: Vector3<f64>, (value, slope): (f64, f64)| {
        phi += q * value;
        field += q * slope * d;
    };
    let lengths: Vec<f64> = images.iter().map(|n| n.norm()).collect();
    for (j, (&y, &q)) in positions.iter().zip(charges).enumerate() {
        let d = cell.reduce(positions[i] - y);
        let excluded = exclusions.contains(i, j);
        let skipped = match (excluded, i == j) {
            (true, _) => nearest(d, images),
            (_, true) => Some(0),
            _ => None,
        };
        // |d + n| ≤ cut-off needs |n| ≤ cut-off + |d|.
        let end = cutoff + d.norm();
        for (at, image) in images.iter().enumerate().take_while(|&(at, _)| lengths[at] <= end) {
            let x = d + image;
            let r2 = x.norm_squared();
            if r2 <= cutoff * cutoff && Some(at) != skipped {
                add(q, x, screened(alpha, r2.sqrt()));
            }
        }
        if let (true, Some(at)) = (excluded, skipped) {
            let x = d + images[at];
            add(-q, x, complement(alpha, x.norm()));
        }
    }
    (phi, field)
}

/// erfc(αr)/r and −(1/r) d/dr of it.
fn screened(alpha: f64, r: f64) -> (f64, f64) {
    let value = libm::erfc(alpha * r) / r;
    (value, (value + gaussian(alpha, r)) / (r * r))
}

/// 2α/√π e^{−α²r²}.
fn gaussian(alpha: f64, r: f64) -> f64 {
    TWO_OVER_SQRT_PI * alpha * (-(alpha * r).powi(2)).exp()
}

/// erf(αr)/r and −(1/r) d/dr of it, by their series where the closed form of the second cancels.
fn complement(alpha: f64, r: f64) -> (f64, f64) {
    let x = alpha * r;
    if x > 1.0 {
        let value = libm::erf(x) / r;
        return (value, (value - gaussian(alpha, r)) / (r * r));
    }
    // erf(x)/x = (2/√π) Σ (−x²)^m / (m! (2m+1)); 20 terms leave less than 1/20! < 1e-18.
    let (mut value, mut slope, mut term) = (0.0, 0.0, 1.0);
    for m in 0..20 {
        let order = f64::from(m);
        value += term / (2.0 * order + 1.0);
        // −(1/x) d/dx of the term with x^{2m+2}.
        slope += 2.0 * term / (2.0 * order + 3.0);
        term *= -x * x / (order + 1.0);
    }
    (TWO_OVER_SQRT_PI * alpha * value, TWO_OVER_SQRT_PI * alpha.powi(3) * slope)
}

/// The one of `images` that makes |d + image| smallest.
fn nearest(d: Vector3<f64>, images: &[Vector3<f64>]) -> Option<usize> {
    (0..images.len()).min_by(|&a, &b| (d + images[a]).norm_squared().total_cmp(&(d + images[b]).norm_squared()))
}
