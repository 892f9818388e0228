//! Protonation states from λ(t): fractions, mixed frames, transitions, and how many independent samples they are.
//!
//!   protonated λ < 0.2, deprotonated λ > 0.8, mixed between;   S = N_deprotonated / (N_protonated + N_deprotonated)
//!
//! Mixed frames are counted and reported, and belong to neither state. A transition is a change between the pure states,
//! whatever lies between. Independent samples: from the correlation of the state (mixed frames keep the last pure one), and
//! never more than (M+1)/(4S(1−S)) with M transitions, what a two-state process with this M and S can have.

use thiserror::Error;

use super::blocks::statistical_inefficiency;

/// Thresholds of the states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Protonated below.
    pub protonated: f64,
    /// Deprotonated above.
    pub deprotonated: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { protonated: 0.2, deprotonated: 0.8 }
    }
}

/// Why states cannot be counted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FractionError {
    /// Thresholds that overlap or are not numbers.
    #[error("thresholds {} and {}: the first must lie below the second", .0.protonated, .0.deprotonated)]
    Thresholds(Thresholds),
    /// No frames.
    #[error("no frames of λ")]
    Empty,
    /// λ is not a number.
    #[error("λ of frame {index} (counted from 0) is {value}")]
    NotFinite {
        /// Frame.
        index: usize,
        /// Its value.
        value: f64,
    },
}

/// State of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// λ below the first threshold.
    Protonated,
    /// Between the thresholds.
    Mixed,
    /// λ above the second threshold.
    Deprotonated,
}

/// Counts of one series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fractions {
    /// Protonated frames.
    pub protonated: usize,
    /// Mixed frames.
    pub mixed: usize,
    /// Deprotonated frames.
    pub deprotonated: usize,
    /// Changes between the pure states.
    pub transitions: usize,
}

impl Fractions {
    /// All frames.
    pub fn frames(&self) -> usize {
        self.protonated + self.mixed + self.deprotonated
    }

    /// S = deprotonated / (protonated + deprotonated); `None` if all frames are mixed.
    pub fn deprotonated_fraction(&self) -> Option<f64> {
        let pure = self.protonated + self.deprotonated;
        (pure > 0).then(|| self.deprotonated as f64 / pure as f64)
    }

    /// Share of mixed frames; `None` without frames.
    pub fn mixed_fraction(&self) -> Option<f64> {
        (self.frames() > 0).then(|| self.mixed as f64 / self.frames() as f64)
    }
}

/// State of every frame.
///
/// # Errors
/// [`FractionError`] for bad thresholds, no frames, or λ that is not finite.
pub fn states(lambda: &[f64], thresholds: Thresholds) -> Result<Vec<State>, FractionError> {
    let ordered = thresholds.protonated < thresholds.deprotonated;
    if !ordered {
        return Err(FractionError::Thresholds(thresholds));
    }
    if lambda.is_empty() {
        return Err(FractionError::Empty);
    }
    let state = |(index, &value): (usize, &f64)| {
        if !value.is_finite() {
            Err(FractionError::NotFinite { index, value })
        } else if value < thresholds.protonated {
            Ok(State::Protonated)
        } else if value > thresholds.deprotonated {
            Ok(State::Deprotonated)
        } else {
            Ok(State::Mixed)
        }
    };
    lambda.iter().enumerate().map(state).collect()
}

/// Counts of a series of states.
pub fn count(states: &[State]) -> Fractions {
    let mut fractions = Fractions::default();
    let mut last = State::Mixed;
    for &state in states {
        match state {
            State::Protonated => fractions.protonated += 1,
            State::Mixed => fractions.mixed += 1,
            State::Deprotonated => fractions.deprotonated += 1,
        }
        if state != State::Mixed {
            fractions.transitions += usize::from(last != State::Mixed && last != state);
            last = state;
        }
    }
    fractions
}

/// Frames per independent sample of the state; `None` where the state never changes, because nothing is known then.
pub fn inefficiency(states: &[State]) -> Option<f64> {
    let fractions = count(states);
    let s = fractions.deprotonated_fraction()?;
    if fractions.transitions == 0 {
        return None;
    }
    // A series too short for a correlation is bounded by its transitions alone.
    let correlated = statistical_inefficiency(&held(states)).unwrap_or(1.0);
    let most = (fractions.transitions as f64 + 1.0) / (4.0 * s * (1.0 - s));
    Some(correlated.max(states.len() as f64 / most))
}

/// 0 or 1 per frame: mixed frames keep the last pure state, those at the beginning take the first.
fn held(states: &[State]) -> Vec<f64> {
    let mut last = states.iter().copied().find(|&s| s != State::Mixed).unwrap_or(State::Mixed);
    let hold = |&state: &State| {
        if state != State::Mixed {
            last = state;
        }
        f64::from(u8::from(last == State::Deprotonated))
    };
    states.iter().map(hold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic;

    fn counted(lambda: &[f64]) -> Fractions {
        count(&states(lambda, Thresholds::default()).unwrap())
    }

    #[test]
    fn states_and_transitions_are_counted() {
        let counts = counted(&[0.5, 0.1, 0.3, 0.1, 0.5, 0.9, 1.05, 0.79, 0.81, -0.04, 0.2, 0.8]);
        assert_eq!(counts, Fractions { protonated: 3, mixed: 6, deprotonated: 3, transitions: 2 });
        assert_eq!((counts.frames(), counts.deprotonated_fraction()), (12, Some(0.5)));
        assert_eq!(counts.mixed_fraction(), Some(0.5));
        assert_eq!(counted(&[0.5; 3]).deprotonated_fraction(), None);
        assert_eq!(Fractions::default().mixed_fraction(), None);
    }

    #[test]
    fn bad_input_is_refused() {
        let thresholds = Thresholds::default();
        assert_eq!(states(&[], thresholds), Err(FractionError::Empty));
        assert!(matches!(states(&[0.1, f64::NAN], thresholds), Err(FractionError::NotFinite { index: 1, .. })));
        let crossed = Thresholds { protonated: 0.8, deprotonated: 0.2 };
        assert_eq!(states(&[0.1], crossed), Err(FractionError::Thresholds(crossed)));
    }

    #[test]
    fn inefficiency_of_a_two_state_process_is_known() {
        for s in [0.5, 0.1] {
            let lambda = synthetic::two_state(400_000, s, 0.05, &mut synthetic::random(4));
            let g = inefficiency(&states(&lambda, Thresholds::default()).unwrap()).unwrap();
            // C(t) = 0.95^t: g = 39; 10 000 independent samples.
            assert!((g / 39.0 - 1.0).abs() < 0.1, "S = {s}: {g}");
        }
    }

    #[test]
    fn rare_transitions_are_few_samples_and_none_are_unknown() {
        let lambda: Vec<f64> = (0..1000).map(|i| if i < 500 { 0.0 } else { 1.0 }).collect();
        let g = inefficiency(&states(&lambda, Thresholds::default()).unwrap()).unwrap();
        assert!(1000.0 / g <= 2.0, "one transition is at most two samples, found {}", 1000.0 / g);
        assert_eq!(inefficiency(&[State::Deprotonated; 50]), None);
        assert_eq!(inefficiency(&[State::Mixed; 50]), None);
    }
}
