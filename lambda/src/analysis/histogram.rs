//! Histogram of λ as a density: Σ density · width is the share of frames inside the range.

/// Range that holds λ with its usual overshoot.
pub const RANGE: [f64; 2] = [-0.1, 1.1];

/// Density of `values` in equal bins over `range`. Values outside, and those that are no numbers, count among all and lie in no bin.
///
/// # Panics
/// If there are no bins, or the range is empty or not finite.
pub fn density(values: &[f64], range: [f64; 2], bins: usize) -> Vec<f64> {
    let is_range = range.iter().all(|end| end.is_finite()) && range[0] < range[1];
    assert!(
        bins > 0 && is_range,
        "a histogram of {bins} bins over {range:?}: it takes a bin, and a range that ascends"
    );
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

    #[test]
    #[should_panic(expected = "a histogram of 0 bins")]
    fn no_bins_are_no_histogram() {
        density(&[0.5], RANGE, 0);
    }

    #[test]
    #[should_panic(expected = "a range that ascends")]
    fn an_empty_range_is_no_histogram() {
        density(&[0.5], [1.0, 1.0], 4);
    }
}
