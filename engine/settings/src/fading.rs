//! How the restraints of `[position_restraints]` end: whole for a while, then in equal parts every hundred steps, then none.
//!
//! ```text
//! part(step) = 1                          step < held
//!              (n − j)/(n + 1)            held + 100 j ≤ step < held + 100 (j + 1),   j = 0 … n − 1
//!              0                          held + 100 n ≤ step
//! ```
//!
//! The part follows from the number of the step alone, so that a run that is continued, and a device that makes steps again, have the same forces.
//! The work of a change is that of `simulation` in the engine, and the energy less that work is conserved.

/// Steps between two changes.
pub const FADING_INTERVAL: u64 = 100;

/// When restraints fade, in steps. The default has no restraints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fading {
    held: u64,
    changes: u64,
}

impl Fading {
    /// Whole for `held` steps, then fading within `fade` steps; both are rounded up to multiples of [`FADING_INTERVAL`].
    pub fn new(held: u64, fade: u64) -> Self {
        Self { held: held.next_multiple_of(FADING_INTERVAL), changes: fade.div_ceil(FADING_INTERVAL) }
    }

    /// First step without restraints.
    pub fn end(&self) -> u64 {
        self.held + self.changes * FADING_INTERVAL
    }

    /// First step in which they are not whole.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The part of the force constants in `step`, from 1 to 0.
    pub fn part(&self, step: u64) -> f64 {
        if step < self.held {
            return 1.0;
        }
        let done = ((step - self.held) / FADING_INTERVAL).min(self.changes);
        if done == self.changes { 0.0 } else { (self.changes - done) as f64 / (self.changes + 1) as f64 }
    }

    /// By how much the part of `step` differs from that of the step before.
    pub fn change(&self, step: u64) -> f64 {
        step.checked_sub(1).map_or(0.0, |before| self.part(step) - self.part(before))
    }

    /// The next step after `step` that has another part.
    pub fn next_change(&self, step: u64) -> Option<u64> {
        let next = if step < self.held { self.held } else { (step / FADING_INTERVAL + 1) * FADING_INTERVAL };
        (next <= self.end()).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fall_evenly_and_end_at_zero() {
        let fading = Fading::new(150, 250);
        assert_eq!((fading.held(), fading.end()), (200, 500));
        let parts = [0, 199, 200, 299, 300, 400, 499, 500, 10_000].map(|step| fading.part(step));
        assert_eq!(parts, [1.0, 1.0, 0.75, 0.75, 0.5, 0.25, 0.25, 0.0, 0.0]);
        let mut changes = Vec::new();
        let mut step = 0;
        while let Some(next) = fading.next_change(step) {
            assert!((step + 1..next).all(|between| fading.change(between) == 0.0));
            changes.push((next, fading.change(next)));
            step = next;
        }
        assert_eq!(changes, [(200, -0.25), (300, -0.25), (400, -0.25), (500, -0.25)]);
    }

    #[test]
    fn restraints_end_at_once_or_fade_from_the_start_or_are_not_there() {
        let at_once = Fading::new(100, 0);
        assert_eq!([99, 100].map(|step| at_once.part(step)), [1.0, 0.0]);
        assert_eq!((at_once.next_change(0), at_once.next_change(100)), (Some(100), None));
        // What begins in parts does no work at step 0.
        let from_start = Fading::new(0, 100);
        assert_eq!([0, 99, 100].map(|step| from_start.part(step)), [0.5, 0.5, 0.0]);
        assert_eq!((from_start.change(0), from_start.change(100)), (0.0, -0.5));
        let none = Fading::default();
        assert_eq!((none.part(0), none.change(100), none.next_change(0)), (0.0, 0.0, None));
    }
}
