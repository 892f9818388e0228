//! Histogram of λ as a density: Σ density · width is the share of frames inside the range.

/// Range that holds λ with its usual overshoot.
pub const RANGE: [f64; 2] = [-0.1, 1.1];

/// Density of `values` in equal bins over `range`.
pub fn density(values: &[f64], range: [f64; 2], bins: usize) -> Vec<f64> {
    let width = (range[1] - range[0]) / bins as f64;
    let mut counts = vec![0.0; bins];
    for value in values {
        let place = ((value - range[0]) / width).floor();
        if place >= 0.0 && place < bins as f64 {
            counts[place as usize] += 1.0;
        }
    }
    let scale = 1.0 / (width * values.len().max(1) as f64);
    counts.iter().map(|n| n * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_integrate_to_the_share_inside() {
        let found = density(&[-0.5, 0.0, 0.05, 0.95, 1.0, f64::NAN, 2.0, 0.5], [0.0, 1.0], 10);
        assert_eq!(found.len(), 10);
        assert_eq!(found[0], 2.0 * 10.0 / 8.0);
        assert!((found.iter().sum::<f64>() * 0.1 - 0.5).abs() < 1e-12);
        assert_eq!(density(&[], RANGE, 2), [0.0, 0.0]);
    }
}
