//! A number that the data determine, bound from one side, or say nothing about.
//!
//! Titrations far from the pKa bound it only, and a form that was never seen has no pK: such results are not errors, and no figure may hide
//! that they are not known.

use std::fmt;

/// A slope, a pKa or a pK, as far as the data determine it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Determined {
    /// A value with its standard error.
    Value {
        /// Value.
        value: f64,
        /// Standard error.
        error: f64,
    },
    /// It lies between these two pH values.
    Between(f64, f64),
    /// It is at least this.
    AtLeast(f64),
    /// It is at most this.
    AtMost(f64),
    /// The data say nothing about it.
    Unknown,
}

impl Determined {
    /// The value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match *self {
            Self::Value { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Its standard error, if there is a value.
    pub fn error(&self) -> Option<f64> {
        match *self {
            Self::Value { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Two decimals, with the sign of a negative number as it is printed, and not a hyphen.
fn signed(value: f64) -> String {
    format!("{value:.2}").replace('-', "−")
}

/// A bound to two decimals, without zeros at its end: pH values are short, and what the size of the box does to them is not.
fn bound(value: f64) -> String {
    signed(value).trim_end_matches('0').trim_end_matches('.').to_string()
}

impl fmt::Display for Determined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { value, error } => write!(f, "{} ± {error:.2}", signed(*value)),
            Self::Between(low, high) => write!(f, "between {} and {}", bound(*low), bound(*high)),
            Self::AtLeast(low) => write!(f, "at least {}", bound(*low)),
            Self::AtMost(high) => write!(f, "at most {}", bound(*high)),
            Self::Unknown => f.write_str("not determined"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Determined;

    #[test]
    fn bounds_are_as_short_as_ph_values() {
        assert_eq!(Determined::AtMost(2.0103924772084047).to_string(), "at most 2.01");
        assert_eq!(Determined::AtLeast(10.0).to_string(), "at least 10");
        assert_eq!(Determined::Between(4.0, 4.5).to_string(), "between 4 and 4.5");
    }

    /// A microscopic pK below zero had a hyphen, beside correlations with a minus sign.
    #[test]
    fn negative_numbers_have_a_minus_sign() {
        assert_eq!(Determined::Value { value: -0.164, error: 0.35 }.to_string(), "−0.16 ± 0.35");
        assert_eq!(Determined::Between(-0.5, 1.0).to_string(), "between −0.5 and 1");
    }
}
