//! Correlated random series with known averages, for tests.

use super::occupancy::{OCCUPIED, State, states};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};

/// Random numbers of a test.
pub(crate) fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// x_{t+1} = c x_t + √(1−c²) R: mean 0, variance 1, statistical inefficiency (1+c)/(1−c).
pub(crate) fn autoregressive(n: usize, c: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut x: f64 = StandardNormal.sample(rng);
    let width = (1.0 - c * c).sqrt();
    (0..n)
        .map(|_| {
            let noise: f64 = StandardNormal.sample(rng);
            x = c * x + width * noise;
            x
        })
        .collect()
}

/// λ of a two-state process that is deprotonated with probability `s` and keeps its state otherwise: the state is drawn
/// anew with probability `rate` per frame; frames scatter by 0.03 about 0 and 1.
pub(crate) fn two_state(n: usize, s: f64, rate: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let uniform = |rng: &mut ChaCha8Rng| -> f64 { StandardUniform.sample(rng) };
    let mut deprotonated = uniform(rng) < s;
    (0..n)
        .map(|_| {
            if uniform(rng) < rate {
                deprotonated = uniform(rng) < s;
            }
            let noise: f64 = StandardNormal.sample(rng);
            f64::from(u8::from(deprotonated)) + 0.03 * noise
        })
        .collect()
}

/// The state of every frame of a site with two forms, from λ, the weight of the second.
pub(crate) fn states_of_two(lambda: &[f64]) -> Vec<State> {
    let first: Vec<f64> = lambda.iter().map(|l| 1.0 - l).collect();
    states(&[&first, lambda], OCCUPIED).unwrap()
}

/// A value with a small scatter, as λ has at its ends.
fn scattered(exact: f64, rng: &mut ChaCha8Rng) -> f64 {
    let noise: f64 = StandardNormal.sample(rng);
    exact + 0.03 * noise
}

/// Weights of a site with these populations, whose form is drawn anew with probability `rate` per frame: `[form][frame]`.
pub(crate) fn forms(n: usize, populations: &[f64], rate: f64, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut weights = vec![Vec::with_capacity(n); populations.len()];
    let mut form = 0;
    for frame in 0..n {
        let uniform: f64 = StandardUniform.sample(rng);
        if frame == 0 || uniform < rate {
            let mut left: f64 = StandardUniform.sample(rng);
            let taken = populations.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            form = taken.unwrap_or(populations.len() - 1);
        }
        for (k, list) in weights.iter_mut().enumerate() {
            list.push(scattered(f64::from(u8::from(k == form)), rng));
        }
    }
    weights
}

/// λ of two sites with pK₁, pK₂ and interaction w at a pH: with probability `rate` per frame each is drawn anew, given the other
/// (kinetic Monte Carlo whose stationary distribution is exact).
pub(crate) fn coupled(n: usize, ph: f64, [pk1, pk2, w]: [f64; 3], rate: f64, rng: &mut ChaCha8Rng) -> [Vec<f64>; 2] {
    let mut state = [false; 2];
    let mut lambda = [Vec::with_capacity(n), Vec::with_capacity(n)];
    // Frames before the first let the start be forgotten.
    let before = (20.0 / rate) as usize;
    for frame in 0..n + before {
        for site in 0..2 {
            let uniform: f64 = StandardUniform.sample(rng);
            if uniform < rate {
                let shift = if state[1 - site] { w } else { 0.0 };
                let pk = [pk1, pk2][site] + shift;
                let drawn: f64 = StandardUniform.sample(rng);
                state[site] = drawn < 1.0 / (1.0 + 10f64.powf(pk - ph));
            }
        }
        if frame >= before {
            for (list, state) in lambda.iter_mut().zip(state) {
                list.push(scattered(f64::from(u8::from(state)), rng));
            }
        }
    }
    lambda
}
