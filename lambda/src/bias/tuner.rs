//! A barrier that adapts to a wanted rate of transitions during equilibration.
//!
//!   h ← h + RT ln[(n + ½) / (ν t + ½)],   at most 2.5 kJ/mol at a time, 0 ≤ h ≤ 70 kJ/mol
//!
//! n: transitions between forms in the time t since the last change, ν: wanted rate; the ½ keeps a period without a transition finite. Rates
//! follow e^{−h/RT} while other barriers are lower, so that this is Newton's method for ln rate. Where even h = 0 gives too few transitions, it stays 0.
//!
//! Units: kJ/mol, ps, 1/ps, K.

use forcefield::units::GAS_CONSTANT;
use serde::{Deserialize, Serialize};

use super::barrier::LARGEST;
use crate::analysis::occupancy::OCCUPIED;

/// Most that the height changes at a time, kJ/mol.
const LARGEST_CHANGE: f64 = 2.5;

/// The barrier of one site in search of its height.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarrierTuner {
    /// Wanted rate, 1/ps.
    rate: f64,
    temperature: f64,
    /// Height now, kJ/mol.
    height: f64,
    /// Last form that was occupied.
    form: Option<usize>,
    /// Transitions since the last change.
    transitions: u64,
}

impl BarrierTuner {
    /// Starts at a height (kJ/mol) and aims at `rate` transitions per ps at `temperature` (K).
    ///
    /// # Panics
    /// If the height is not finite, or the rate or the temperature not positive and finite: the height would become no number, and the barrier with it.
    pub fn new(height: f64, rate: f64, temperature: f64) -> Self {
        let are_good = height.is_finite() && [rate, temperature].iter().all(|x| *x > 0.0 && x.is_finite());
        assert!(are_good, "a barrier of {height} kJ/mol for {rate} transitions per ps at {temperature} K");
        Self { rate, temperature, height, form: None, transitions: 0 }
    }

    /// Height now, kJ/mol.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// Looks at the weights of the site and counts a transition if the form has changed.
    pub fn observe(&mut self, weights: &[f64]) {
        if let Some(now) = weights.iter().position(|&w| w > OCCUPIED) {
            self.transitions += u64::from(self.form.is_some_and(|form| form != now));
            self.form = Some(now);
        }
    }

    /// Changes the height after `time` (ps) at the last one, and returns it (kJ/mol).
    pub fn adapt(&mut self, time: f64) -> f64 {
        let surplus = (self.transitions as f64 + 0.5) / (self.rate * time + 0.5);
        let change = GAS_CONSTANT * self.temperature * surplus.ln();
        self.height = (self.height + change.clamp(-LARGEST_CHANGE, LARGEST_CHANGE)).clamp(0.0, LARGEST);
        self.transitions = 0;
        self.height
    }

    /// Height, last form (−1: none) and transitions, for a checkpoint.
    pub fn state(&self) -> [f64; 3] {
        [self.height, self.form.map_or(-1.0, |form| form as f64), self.transitions as f64]
    }

    /// Goes back to a [`state`](Self::state).
    pub fn restore(&mut self, [height, form, transitions]: [f64; 3]) {
        *self = Self {
            height,
            form: (form >= 0.0).then_some(form as usize),
            transitions: transitions as u64,
            ..self.clone()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// Jumps between two forms with rate k₀ e^{−h/RT}.
    #[test]
    fn the_wanted_rate_is_found() {
        let (rt, base, wanted) = (GAS_CONSTANT * 300.0, 1.5, 0.1);
        let mut tuner = BarrierTuner::new(30.0, wanted, 300.0);
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let (mut form, mut mean) = (0, 0.0);
        for round in 0..200 {
            let k = base * (-tuner.height() / rt).exp();
            for _ in 0..1000 {
                let chance = f64::from(rng.next_u32()) / f64::from(u32::MAX);
                form = if chance < 0.1 * k { 1 - form } else { form };
                tuner.observe(&[1.0 - form as f64, form as f64]);
            }
            tuner.adapt(100.0);
            if round >= 50 {
                mean += tuner.height() / 150.0;
            }
        }
        // ln(15) RT = 6.75; ten transitions in a round scatter a height by RT/√10 = 0.8.
        assert!((mean - rt * 15.0_f64.ln()).abs() < 0.5, "{mean}");
    }

    /// A rate of no number would make every height one.
    #[test]
    fn wrong_wishes_are_refused() {
        for (height, rate, temperature) in
            [(5.0, f64::NAN, 300.0), (5.0, 0.0, 300.0), (f64::NAN, 0.1, 300.0), (5.0, 0.1, -1.0)]
        {
            let made = std::panic::catch_unwind(|| BarrierTuner::new(height, rate, temperature));
            let said = *made.unwrap_err().downcast::<String>().unwrap();
            assert!(said.contains("transitions per ps at"), "{said}");
        }
    }

    #[test]
    fn heights_stay_in_range_and_states_come_back() {
        let mut tuner = BarrierTuner::new(1.0, 0.05, 300.0);
        tuner.observe(&[0.9, 0.1]);
        tuner.observe(&[0.5, 0.5]);
        tuner.observe(&[0.1, 0.9]);
        let mut other = BarrierTuner::new(9.0, 0.05, 300.0);
        other.restore(tuner.state());
        assert_eq!((other.clone(), tuner.state()), (tuner.clone(), [1.0, 1.0, 1.0]));
        assert_eq!(tuner.adapt(1e6), 0.0);
        assert!((BarrierTuner::new(69.0, 1e-9, 300.0).adapt(1.0) - 69.0).abs() < 1e-6);
    }
}
