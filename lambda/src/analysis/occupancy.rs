//! The form a site is in, frame by frame: populations, mixed frames, transitions, and how many independent samples they are.
//!
//!   form α is occupied where λ_α > 0.8 (the threshold), a frame without such a form is mixed;   p_α = N_α / Σ_β N_β
//!
//! Mixed frames are counted and reported, and belong to no form. A transition is a change from one form to another, whatever
//! lies between. Independent samples: pure frames divided by the inefficiency g of the deviations x_n − p of the pure frames (x_n: 1 in form α, 0 in
//! another one), which are 0 in mixed ones; that is the g of the error of ln p/(1−p). The slowest form counts, and never more samples than (M+1)/(4p(1−p))
//! with M changes, what a two-state process with this M and p can have. The same is done for classes of forms, for example all that have lost one proton.

use thiserror::Error;

use super::blocks::statistical_inefficiency;

/// Weight above which a form is occupied, unless told otherwise.
pub const OCCUPIED: f64 = 0.8;

/// The occupied form of a frame; `None`: mixed.
pub type State = Option<u8>;

/// Why the states of a series cannot be told.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum OccupancyError {
    /// Two forms could lie above the threshold, or none ever does.
    #[error("a form cannot count as occupied above a weight of {0}; valid is from 0.5 to below 1")]
    Threshold(f64),
    /// There are no frames.
    #[error("no frames of λ")]
    Empty,
    /// There are more forms than can be counted, or series of different length.
    #[error("{forms} series of weights of which the shortest has {frames} frames; expected 2 to 255 of one length")]
    Forms {
        /// Series found.
        forms: usize,
        /// Frames of the shortest.
        frames: usize,
    },
    /// λ of a frame is not a finite number.
    #[error("λ of frame {index} (counted from 0) is {value}")]
    NotFinite {
        /// Frame.
        index: usize,
        /// Its value.
        value: f64,
    },
}

/// The state of every frame from the weights of the forms, `weights[form][frame]`.
///
/// # Errors
/// [`OccupancyError`] for a threshold out of range, no frames, or weights that are not finite.
pub fn states(weights: &[&[f64]], threshold: f64) -> Result<Vec<State>, OccupancyError> {
    if !(0.5..1.0).contains(&threshold) {
        return Err(OccupancyError::Threshold(threshold));
    }
    let frames = weights.iter().map(|w| w.len()).min().unwrap_or(0);
    if weights.len() < 2 || weights.len() > 255 || weights.iter().any(|w| w.len() != frames) {
        return Err(OccupancyError::Forms { forms: weights.len(), frames });
    }
    if frames == 0 {
        return Err(OccupancyError::Empty);
    }
    let state = |index: usize| {
        let mut state = None;
        for (form, weights) in weights.iter().enumerate() {
            let value = weights[index];
            if !value.is_finite() {
                return Err(OccupancyError::NotFinite { index, value });
            }
            if value > threshold {
                state = u8::try_from(form).ok();
            }
        }
        Ok(state)
    };
    (0..frames).map(state).collect()
}

/// The class of every frame: `class[form]`.
pub fn classes(states: &[State], class: &[u8]) -> Vec<State> {
    states.iter().map(|state| state.and_then(|form| class.get(usize::from(form)).copied())).collect()
}

/// Joint state of two sites at the same times, `count · first + second`, with `count` states of the second; mixed where one is.
///
/// # Panics
/// If the series differ in length, a state of the second is none of `count`, or a joint state is beyond 255.
pub fn joint(first: &[State], second: &[State], count: u8) -> Vec<State> {
    let lengths = [first.len(), second.len()];
    assert!(
        lengths[0] == lengths[1],
        "joint states of series of {} and {} frames: they must be as long",
        lengths[0],
        lengths[1]
    );
    let both = |a: u8, b: u8| {
        assert!(b < count, "state {b} of a site with {count} states, counted from 0");
        let state = a.checked_mul(count).and_then(|row| row.checked_add(b));
        state.unwrap_or_else(|| panic!("the joint state of {a} and {b} of {count} is beyond 255"))
    };
    first.iter().zip(second).map(|(a, b)| Some(both((*a)?, (*b)?))).collect()
}

/// Counts of one series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Frames in each form.
    pub forms: Vec<u64>,
    /// Frames in no form.
    pub mixed: u64,
    /// Changes from one form to another.
    pub transitions: u64,
}

impl Occupancy {
    /// Frames that are in some form.
    pub fn pure(&self) -> u64 {
        self.forms.iter().sum()
    }

    /// Number of all frames.
    pub fn frames(&self) -> u64 {
        self.pure() + self.mixed
    }

    /// Share of a form among the pure frames; `None` if all are mixed.
    pub fn population(&self, form: usize) -> Option<f64> {
        let pure = self.pure();
        (pure > 0).then(|| self.forms.get(form).copied().unwrap_or(0) as f64 / pure as f64)
    }

    /// Share of mixed frames; `None` without frames.
    pub fn mixed_fraction(&self) -> Option<f64> {
        (self.frames() > 0).then(|| self.mixed as f64 / self.frames() as f64)
    }

    /// Adds the counts of another series.
    pub fn add(&mut self, other: &Occupancy) {
        self.forms.resize(self.forms.len().max(other.forms.len()), 0);
        self.forms.iter_mut().zip(&other.forms).for_each(|(a, b)| *a += b);
        self.mixed += other.mixed;
        self.transitions += other.transitions;
    }
}

/// Counts of a series of states of `forms` forms.
pub fn count(states: &[State], forms: usize) -> Occupancy {
    let mut counts = Occupancy { forms: vec![0; forms], ..Occupancy::default() };
    let mut last = None;
    for &state in states {
        match state.and_then(|form| counts.forms.get_mut(usize::from(form))) {
            Some(count) => {
                *count += 1;
                counts.transitions += u64::from(last.is_some() && last != state);
                last = state;
            }
            None => counts.mixed += 1,
        }
    }
    counts
}

/// Changes from one form to another of the same class (`class[form]`), whatever lies between: how often the hydrogen of a carboxyl goes to the other
/// oxygen, or tautomers exchange. No form has another one beside it in its class: `None`.
pub fn exchanges(states: &[State], class: &[u8]) -> Option<u64> {
    let alike = |k: usize| class.iter().filter(|c| **c == class[k]).count() > 1;
    (0..class.len()).any(alike).then(|| {
        let mut last = vec![None; class.len()];
        let mut exchanges = 0;
        for form in states.iter().flatten().map(|form| usize::from(*form)).filter(|form| *form < class.len()) {
            let before = last[usize::from(class[form])].replace(form);
            exchanges += u64::from(before.is_some_and(|before| before != form));
        }
        exchanges
    })
}

/// Pure frames per independent sample of the state; `None` where it never changes, because nothing is known then.
pub fn inefficiency(states: &[State], forms: usize) -> Option<f64> {
    let counts = count(states, forms);
    // If there are two forms, one says everything.
    let each = if forms == 2 { 1..2 } else { 0..forms };
    let of_form = |form: usize| {
        let p = counts.population(form).filter(|p| *p > 0.0 && *p < 1.0)?;
        let changes = changes(states, form) as f64;
        let most = (changes + 1.0) / (4.0 * p * (1.0 - p));
        let deviations: Vec<f64> = states.iter().map(|state| deviation(*state, form, p)).collect();
        Some(correlated(&deviations, changes).max(counts.pure() as f64 / most))
    };
    each.filter_map(of_form).reduce(f64::max)
}

/// What a frame adds to the error of ln p/(1 − p), but for a factor: mixed frames nothing.
fn deviation(state: State, form: usize, p: f64) -> f64 {
    state.map_or(0.0, |state| f64::from(u8::from(usize::from(state) == form)) - p)
}

/// The correlation of slow processes is taken from means of blocks that are this much shorter than the mean stay in a form.
const BLOCKS_PER_STAY: f64 = 32.0;

/// Statistical inefficiency of the deviations of a form that is left or reached `changes` times, from means of short blocks if it is slow;
/// a series too short for a correlation is bounded by its changes alone.
fn correlated(deviations: &[f64], changes: f64) -> f64 {
    let length = (deviations.len() as f64 / (changes + 1.0) / BLOCKS_PER_STAY).max(1.0) as usize;
    if length == 1 {
        return statistical_inefficiency(deviations).unwrap_or(1.0);
    }
    let blocks: Vec<f64> = deviations.chunks_exact(length).map(|b| b.iter().sum::<f64>() / length as f64).collect();
    let variance = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64
    };
    // error² = g σ²/N = g_b σ_b²/N_b.
    let scale = length as f64 * variance(&blocks) / variance(deviations);
    statistical_inefficiency(&blocks).map_or(1.0, |g| (g * scale).max(1.0))
}

/// How often a form is left or reached, whatever lies between.
pub(super) fn changes(states: &[State], form: usize) -> usize {
    let held: Vec<bool> = states.iter().flatten().map(|state| usize::from(*state) == form).collect();
    held.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::{self, states_of_two};

    #[test]
    fn states_and_transitions_are_counted() {
        let counts = count(&states_of_two(&[0.5, 0.1, 0.3, 0.1, 0.5, 0.9, 1.05, 0.79, 0.81, -0.04, 0.21, 0.8]), 2);
        assert_eq!(counts, Occupancy { forms: vec![3, 3], mixed: 6, transitions: 2 });
        assert_eq!((counts.frames(), counts.population(1), counts.mixed_fraction()), (12, Some(0.5), Some(0.5)));
        assert_eq!(count(&states_of_two(&[0.5; 3]), 2).population(1), None);
        assert_eq!(Occupancy::default().mixed_fraction(), None);
    }

    #[test]
    fn three_forms_have_classes_and_joint_states() {
        let weights: [&[f64]; 3] =
            [&[0.9, 0.05, 0.0, 0.4, 1.0], &[0.1, 0.9, 0.0, 0.3, 0.0], &[0.0, 0.05, 1.0, 0.3, 0.0]];
        let of_weights = states(&weights, OCCUPIED).unwrap();
        assert_eq!(of_weights, [Some(0), Some(1), Some(2), None, Some(0)]);
        let deprotonated = classes(&of_weights, &[0, 1, 1]);
        assert_eq!(deprotonated, [Some(0), Some(1), Some(1), None, Some(0)]);
        assert_eq!((count(&of_weights, 3).transitions, count(&deprotonated, 2).transitions), (3, 2));
        assert_eq!(joint(&deprotonated, &of_weights, 3), [Some(0), Some(4), Some(5), None, Some(0)]);
    }

    #[test]
    #[should_panic(expected = "the joint state of 100 and 2 of 3 is beyond 255")]
    fn joint_states_do_not_wrap() {
        joint(&[Some(100)], &[Some(2)], 3);
    }

    #[test]
    #[should_panic(expected = "series of 1 and 2 frames")]
    fn joint_states_are_those_of_the_same_times() {
        joint(&[Some(0)], &[Some(0), Some(1)], 2);
    }

    #[test]
    #[should_panic(expected = "state 2 of a site with 2 states")]
    fn joint_states_are_not_taken_for_others() {
        joint(&[Some(0)], &[Some(2)], 2);
    }

    #[test]
    fn exchange_is_that_of_forms_of_one_class() {
        let states: Vec<State> =
            [Some(0), Some(2), Some(0), None, Some(2), Some(1), Some(1), Some(0)].into_iter().collect();
        // 0 → (2) → 0 is none, 0 → (2) → 1 and 1 → 0 are.
        assert_eq!(exchanges(&states, &[0, 0, 1]), Some(2));
        assert_eq!(exchanges(&states, &[0, 1, 2]), None);
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(states(&[&[], &[]], OCCUPIED), Err(OccupancyError::Empty));
        let refused = states(&[&[0.1, 0.0], &[0.9, f64::NAN]], OCCUPIED);
        assert!(matches!(refused, Err(OccupancyError::NotFinite { index: 1, .. })));
        assert_eq!(states(&[&[0.1], &[0.9]], 0.4), Err(OccupancyError::Threshold(0.4)));
        assert_eq!(states(&[&[0.1], &[]], 0.8), Err(OccupancyError::Forms { forms: 2, frames: 0 }));
    }

    #[test]
    fn inefficiency_of_a_two_state_process_is_known() {
        // C(t) = (1 − rate)^t: g = (2 − rate)/rate; the slow one goes through means of blocks.
        for (s, rate, frames) in [(0.5, 0.05, 400_000), (0.1, 0.05, 400_000), (0.5, 0.001, 2_000_000)] {
            let lambda = synthetic::two_state(frames, s, rate, &mut synthetic::random(4));
            let g = inefficiency(&states_of_two(&lambda), 2).unwrap() * rate / (2.0 - rate);
            // 10 000 independent samples, 1000 of the slow one: up to 15 % too much ([`crate::analysis::blocks`]), and 8 % noise.
            assert!((0.9..1.25).contains(&g), "S = {s}, rate {rate}: {g}");
        }
    }

    /// Mixed frames between: if they come anew with every state, pure frames are as correlated as without them; if they flicker in and out of a
    /// state that lasts, they cost no sample.
    #[test]
    fn mixed_frames_neither_make_samples_nor_take_them() {
        let frames = 400_000;
        let weights = synthetic::forms(frames, &[0.3, 0.3, 0.4], 0.1, &mut synthetic::random(8));
        let anew: Vec<State> = (0..frames).map(|n| (0..2).find(|&k| weights[usize::from(k)][n] > 0.5)).collect();
        // Three fifths of the frames in spells of g = 19.
        let g = inefficiency(&anew, 2).unwrap();
        assert!((0.9..1.2).contains(&(g / 19.0)), "{g}");
        let lambda = synthetic::two_state(frames, 0.4, 0.02, &mut synthetic::random(9));
        let blink = synthetic::two_state(frames, 0.5, 1.0, &mut synthetic::random(10));
        let flicker: Vec<State> =
            states_of_two(&lambda).into_iter().zip(&blink).map(|(state, b)| state.filter(|_| *b > 0.5)).collect();
        let samples = count(&flicker, 2).pure() as f64 / inefficiency(&flicker, 2).unwrap();
        // g = 99: 4000 samples, up to 15 % fewer, with a noise of 4 %.
        assert!((0.8..1.12).contains(&(samples * 99.0 / frames as f64)), "{samples}");
    }

    #[test]
    fn rare_transitions_are_few_samples_and_none_are_unknown() {
        let lambda: Vec<f64> = (0..1000).map(|i| if i < 500 { 0.0 } else { 1.0 }).collect();
        let g = inefficiency(&states_of_two(&lambda), 2).unwrap();
        assert!(1000.0 / g <= 2.0, "one transition is at most two samples, found {}", 1000.0 / g);
        assert_eq!(inefficiency(&[Some(1); 50], 2), None);
        assert_eq!(inefficiency(&[None; 50], 3), None);
    }
}
