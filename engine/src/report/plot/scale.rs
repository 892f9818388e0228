//! Scales: a quantity with its range, and the ticks that divide it.
//!
//! A logarithmic scale holds exponents: its values are logarithms to base ten, its ticks are labelled as powers.

/// A quantity along an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Quantity and unit.
    pub name: String,
    /// Lowest value.
    pub low: f64,
    /// Highest value.
    pub high: f64,
    /// Whether values are logarithms to base ten.
    pub logarithmic: bool,
}

impl Scale {
    /// A linear scale from `low` to `high`.
    pub fn new(name: &str, [low, high]: [f64; 2]) -> Self {
        Self { name: name.into(), low, high, logarithmic: false }
    }

    /// A logarithmic scale between two exponents.
    pub fn logarithmic(name: &str, [low, high]: [f64; 2]) -> Self {
        Self { logarithmic: true, ..Self::new(name, [low, high]) }
    }

    /// A linear scale that holds the finite ones of these values, with a margin of `margin` of their spread at both ends; `None` without
    /// such a value.
    pub fn around(name: &str, values: impl IntoIterator<Item = f64>, margin: f64) -> Option<Self> {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let wide = margin * (high - low).max(1e-6 * low.abs().max(1e-3));
        (low <= high).then(|| Self::new(name, [low - wide, high + wide]))
    }

    /// Whether there is anything between its ends.
    pub fn is_valid(&self) -> bool {
        self.low.is_finite() && self.high.is_finite() && self.low < self.high
    }

    /// Place of a value between the ends: 0 at the lowest, 1 at the highest.
    pub(super) fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Values at which the axis has ticks, at round numbers: at most about `most`, and two at least where round numbers allow it.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let step = self.step(most);
        let first = (self.low / step - 1e-9).ceil() as i64;
        (first..).map(|i| i as f64 * step).take_while(|tick| *tick <= self.high + 1e-9 * step).collect()
    }

    /// Distance between two ticks, small enough for two of them.
    fn step(&self, most: usize) -> f64 {
        let holds_two = |step: &f64| (self.high / step + 1e-9).floor() - (self.low / step - 1e-9).ceil() >= 1.0;
        let steps = (most..most + 8).map(|most| self.step_of(most));
        steps.clone().find(holds_two).unwrap_or_else(|| self.step_of(most))
    }

    /// Distance between `most` ticks: 1, 2 or 5 times a power of ten, or a whole number of powers.
    fn step_of(&self, most: usize) -> f64 {
        let rough = (self.high - self.low) / most.max(1) as f64;
        if self.logarithmic {
            return rough.ceil().max(1.0);
        }
        let power = 10f64.powf(rough.log10().floor());
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * power).find(|s| *s >= 0.999 * rough).unwrap_or(rough)
    }

    /// What stands at the ticks, all with as many decimals as their distance needs.
    pub(super) fn labels(&self, most: usize) -> Vec<(f64, String)> {
        let decimals = (-self.step(most).log10().floor()).clamp(0.0, 9.0) as usize;
        let label = |tick: f64| if self.logarithmic { power(tick) } else { format!("{:.decimals$}", tick + 0.0) };
        self.ticks(most).into_iter().map(|tick| (tick, label(tick).replace('-', "−"))).collect()
    }
}

/// `10⁻³`
fn power(exponent: f64) -> String {
    let superscript = |c: char| match c {
        '-' => '⁻',
        digit => "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize - '0' as usize).unwrap_or(' '),
    };
    format!("10{}", format!("{:.0}", exponent + 0.0).chars().map(superscript).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let exponents = Scale::logarithmic("N", [-16.0, 0.0]);
        assert_eq!(exponents.ticks(9), [-16.0, -14.0, -12.0, -10.0, -8.0, -6.0, -4.0, -2.0, 0.0]);
        assert_eq!(Scale::logarithmic("N", [3.0, 6.0]).ticks(9), [3.0, 4.0, 5.0, 6.0]);
        assert_eq!(Scale::new("t", [0.0, 31.5]).ticks(8), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
        assert_eq!(exponents.labels(2)[0].1, "10⁻¹⁶");
    }

    #[test]
    fn labels_have_the_decimals_of_their_distance() {
        let labels =
            |low, high| Scale::new("x", [low, high]).labels(4).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels(-0.04, 1.04), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(-1.0, 1.0), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(2.1, 8.9), ["4", "6", "8"]);
        // Two ticks would be at 4 alone.
        assert_eq!(Scale::new("x", [2.8, 5.2]).ticks(2), [3.0, 4.0, 5.0]);
    }

    #[test]
    fn values_that_are_no_numbers_leave_no_scale() {
        assert!(Scale::around("x", [f64::NAN, f64::INFINITY], 0.1).is_none());
        let one = Scale::around("x", [3.0, f64::NAN], 0.1).unwrap();
        assert!(one.is_valid() && one.low < 3.0 && one.high > 3.0);
        assert!(!Scale::new("x", [1.0, 1.0]).is_valid() && !Scale::new("x", [0.0, f64::NAN]).is_valid());
    }
}
