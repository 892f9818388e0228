//! What was measured of a group: a pKa, a bound of it, or the steps of groups that titrate together.

use std::fmt;

/// Nothing in water has a pKa outside of this; 41 is a 4.1 that has lost its point.
const PKA: std::ops::RangeInclusive<f64> = -10.0..=30.0;

/// A measured pKa.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// A value with its error, if one is given.
    Value {
        /// pKa.
        value: f64,
        /// Its error.
        error: Option<f64>,
    },
    /// It lies below this.
    Below(f64),
    /// It lies above this.
    Above(f64),
    /// Steps of the titration of this group with another one, each with its error.
    Steps(Vec<(f64, Option<f64>)>),
}

impl Constant {
    /// From the texts of a value and of its error; `None` if there is no value.
    ///
    /// # Errors
    /// A sentence about what is not understood.
    pub fn parse(text: &str, error: &str) -> Result<Option<Self>, String> {
        let wrong = || format!("the pKa is {text:?}");
        let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|value| PKA.contains(value));
        if is_empty(text) {
            return Ok(None);
        }
        let errors = errors(error).ok_or_else(|| format!("the error of the pKa is {error:?}"))?;
        if let Some(bound) = text.strip_prefix(['<', '≤']) {
            return Ok(Some(Self::Below(finite(bound.trim_start_matches('=')).ok_or_else(wrong)?)));
        }
        if let Some(bound) = text.strip_prefix(['>', '≥']) {
            return Ok(Some(Self::Above(finite(bound.trim_start_matches('=')).ok_or_else(wrong)?)));
        }
        let values: Vec<f64> = text.split([',', ';']).map(finite).collect::<Option<_>>().ok_or_else(wrong)?;
        // `4,1` may be the 4.1 of a program with a decimal comma, which would pass for steps at 1 and 4.
        if let Some(comma) = [text, error].into_iter().find(|text| text.contains(',') && !text.contains('.')) {
            return Err(format!("{comma:?} may be a number with a decimal comma, or steps of whole numbers"));
        }
        if let [value] = values[..] {
            return Ok(Some(Self::Value { value, error: errors.into_iter().reduce(f64::max) }));
        }
        // One error for all steps, or one for each.
        let step = |(k, value): (usize, &f64)| (*value, errors.get(k).or(errors.first()).copied());
        let mut steps: Vec<(f64, Option<f64>)> = values.iter().enumerate().map(step).collect();
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Some(Self::Steps(steps)))
    }
}

fn is_empty(text: &str) -> bool {
    ["", "n/a", "na", "nan", "-", "–", "nd", "n.d."].contains(&text.trim().to_ascii_lowercase().as_str())
}

/// `0.1`, `±0.1`, `0.06-0.07`, or nothing.
fn errors(text: &str) -> Option<Vec<f64>> {
    if is_empty(text) {
        return Some(Vec::new());
    }
    let text = text.trim().trim_start_matches(['±', '<']);
    let error = |text: &str| text.trim().parse::<f64>().ok().filter(|error| error.is_finite() && *error >= 0.0);
    text.split(['-', '–', ',', ';']).map(error).collect()
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(value, error): &(f64, Option<f64>)| match error {
            Some(error) => format!("{value:.2} ± {error:.2}"),
            None => format!("{value:.2}"),
        };
        match self {
            Self::Value { value, error } => f.write_str(&one(&(*value, *error))),
            Self::Below(bound) => write!(f, "< {bound:.2}"),
            Self::Above(bound) => write!(f, "> {bound:.2}"),
            Self::Steps(steps) => f.write_str(&steps.iter().map(one).collect::<Vec<_>>().join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_bounds_and_steps_are_told_apart() {
        let parse = |text: &str, error: &str| Constant::parse(text, error);
        let value = |value, error| Ok(Some(Constant::Value { value, error }));
        assert_eq!(parse("4.4", "0.1"), value(4.4, Some(0.1)));
        assert_eq!(parse("4.4", "0.1-0.3"), value(4.4, Some(0.3)));
        assert_eq!(parse("4.4", "±0.1"), value(4.4, Some(0.1)));
        assert_eq!(parse("11", "N/A"), value(11.0, None));
        assert_eq!(parse("<2.2", "N/A"), Ok(Some(Constant::Below(2.2))));
        assert_eq!(parse("≥ 12", ""), Ok(Some(Constant::Above(12.0))));
        assert_eq!(
            parse("6.54, 2.21", "0.06"),
            Ok(Some(Constant::Steps(vec![(2.21, Some(0.06)), (6.54, Some(0.06))])))
        );
        assert_eq!(parse("N/A", "x"), Ok(None));
        for (text, error) in [
            ("4..4", ""),
            ("inf", ""),
            ("41", ""),
            ("-44", ""),
            ("> 99", ""),
            ("<", ""),
            ("4.4", "small"),
            ("2.2,", ""),
            ("4.4", "-0.1"),
        ] {
            assert!(parse(text, error).is_err(), "{text} ± {error}");
        }
    }
}
