//! Numbers of charges of which times are measured.

/// Two sizes in each decade from 1000 on.
pub fn sizes(largest: usize) -> impl Iterator<Item = usize> {
    (6..).map(|i| 10f64.powf(0.5 * f64::from(i)).round() as usize).take_while(move |n| *n <= largest)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_end_at_the_largest() {
        assert_eq!(super::sizes(100_000).collect::<Vec<_>>(), [1000, 3162, 10_000, 31_623, 100_000]);
        assert_eq!(super::sizes(999).count(), 0);
    }
}
