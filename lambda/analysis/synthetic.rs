//! Correlated random series with known averages, for tests.

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
