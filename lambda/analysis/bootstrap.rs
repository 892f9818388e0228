//! Block bootstrap: the spread of a result when the blocks of its series are drawn anew.
//!
//! Blocks of consecutive frames, longer than the correlation, are drawn with replacement from the series closed to a ring
//! (Politis & Romano 1992), as many as the series holds. What is averaged is counted beforehand, so that a draw costs the
//! number of blocks and not the number of frames.
//!
//! Random numbers: ChaCha8 keyed by (seed, number of the draw), so that results do not depend on the order of the draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Sums over any run of frames of a ring, for several quantities counted per frame.
#[derive(Clone, Debug, PartialEq)]
pub struct RingSums<const K: usize> {
    /// cumulative\[t\]: sums over the first t frames.
    cumulative: Vec<[u64; K]>,
}

impl<const K: usize> RingSums<K> {
    /// Counts per frame.
    pub fn new(frames: impl IntoIterator<Item = [u64; K]>) -> Self {
        let mut sum = [0; K];
        let mut cumulative = vec![sum];
        for frame in frames {
            sum.iter_mut().zip(frame).for_each(|(s, x)| *s += x);
            cumulative.push(sum);
        }
        Self { cumulative }
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.cumulative.len() - 1
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sums over all frames.
    pub fn total(&self) -> [u64; K] {
        self.cumulative[self.len()]
    }

    /// Sums over `length` frames from `start`, around the ring; `length` at most the number of frames.
    fn run(&self, start: usize, length: usize) -> [u64; K] {
        let end = start + length;
        let between = |a: usize, b: usize, k: usize| self.cumulative[b][k] - self.cumulative[a][k];
        std::array::from_fn(|k| {
            if end <= self.len() {
                between(start, end, k)
            } else {
                between(start, self.len(), k) + between(0, end - self.len(), k)
            }
        })
    }

    /// Sums over one draw of blocks: as many frames as the series, the last block cut. Zero for an empty series.
    pub fn draw(&self, block_length: usize, rng: &mut ChaCha8Rng) -> [u64; K] {
        let block_length = block_length.clamp(1, self.len().max(1));
        let mut sums = [0; K];
        let mut left = self.len();
        while left > 0 {
            let length = block_length.min(left);
            let start = below(self.len(), rng);
            sums.iter_mut().zip(self.run(start, length)).for_each(|(s, x)| *s += x);
            left -= length;
        }
        sums
    }
}

/// Random numbers of draw `number`.
pub fn random(seed: u64, number: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&number.to_le_bytes());
    key[16..24].copy_from_slice(b"resample");
    ChaCha8Rng::from_seed(key)
}

/// A whole number below `n`, uniform to 2⁻⁶⁴ n.
fn below(n: usize, rng: &mut ChaCha8Rng) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

/// Results of the draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Draws {
    sorted: Vec<f64>,
}

impl Draws {
    /// From results; those that are not finite are left out.
    pub fn new(results: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = results.into_iter().filter(|x| x.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }

    /// Number of results.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Quantile `p` in 0…1, interpolated; `None` without results.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let last = self.sorted.len().checked_sub(1)?;
        let place = p.clamp(0.0, 1.0) * last as f64;
        let (low, share) = (place.floor() as usize, place.fract());
        Some(self.sorted[low] + share * (self.sorted[(low + 1).min(last)] - self.sorted[low]))
    }

    /// Standard error from the quantiles 16 % and 84 %, which single wild draws do not move; `None` without results.
    pub fn error(&self) -> Option<f64> {
        Some(0.5 * (self.quantile(0.841_345)? - self.quantile(0.158_655)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic;

    #[test]
    fn sums_around_the_ring_are_right() {
        let sums = RingSums::new((0..10).map(|i| [i, 1]));
        assert_eq!(sums.total(), [45, 10]);
        assert_eq!(sums.run(2, 3), [9, 3]);
        assert_eq!(sums.run(8, 4), [8 + 9 + 1, 4]);
        assert_eq!(sums.run(9, 10), [45, 10]);
    }

    #[test]
    fn every_frame_is_drawn_equally_often() {
        let draws = 20_000;
        let mut counts = [0.0; 7];
        for (frame, count) in counts.iter_mut().enumerate() {
            let sums = RingSums::new((0..7).map(|i| [u64::from(i == frame), 1]));
            for number in 0..draws {
                let [hits, frames] = sums.draw(3, &mut random(5, number));
                assert_eq!(frames, 7);
                *count += hits as f64 / draws as f64;
            }
        }
        // One per draw on average; its standard deviation is about 1/√20000 = 0.007.
        assert!(counts.iter().all(|c| (c - 1.0_f64).abs() < 0.035), "{counts:?}");
    }

    #[test]
    fn error_of_a_fraction_of_correlated_frames_is_known() {
        // Redrawn with rate 0.05: C(t) = 0.95^t, g = 1.95/0.05 = 39.
        let (n, s) = (200_000, 0.3);
        let series = synthetic::two_state(n, s, 0.05, &mut synthetic::random(6));
        let sums = RingSums::new(series.iter().map(|&l| [u64::from(l > 0.5)]));
        let draw = |k| sums.draw(800, &mut random(1, k))[0] as f64 / n as f64;
        let error = Draws::new((0..400).map(draw)).error().unwrap();
        let exact = (s * (1.0 - s) * 39.0 / n as f64).sqrt();
        // 250 blocks: 4.5 %; 400 draws: 3.5 %; blocks of 20 g lose 5 %.
        assert!((error / exact - 1.0).abs() < 0.2, "{error} {exact}");
        let blind = Draws::new((0..400).map(|k| sums.draw(1, &mut random(1, k))[0] as f64 / n as f64)).error().unwrap();
        assert!(blind < 0.3 * exact);
    }

    #[test]
    fn quantiles_interpolate_and_degenerate_input_is_no_panic() {
        let draws = Draws::new([3.0, 1.0, f64::NAN, 2.0]);
        assert_eq!((draws.len(), draws.quantile(0.5), draws.quantile(0.25)), (3, Some(2.0), Some(1.5)));
        assert_eq!((Draws::new([]).error(), Draws::new([]).quantile(0.5)), (None, None));
        assert!(Draws::new([]).is_empty());
        let empty = RingSums::<1>::new([]);
        assert!(empty.is_empty());
        assert_eq!(empty.draw(10, &mut random(0, 0)), [0]);
    }
}
