//! Block bootstrap: the spread of a result when the blocks of its series are drawn anew.
//!
//! Blocks of consecutive frames, longer than the correlation, are drawn with replacement from the series closed to a ring
//! (Politis & Romano 1992), as many as the series holds. What is counted of the frames is summed beforehand over chunks of them, some of which make
//! a block, so that a draw costs the number of blocks and not the number of frames.
//!
//! Random numbers: ChaCha8 keyed by (seed, number of the draw), so that results do not depend on the order of the draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Sums of some quantities over any run of chunks of a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct RingSums {
    chunks: usize,
    width: usize,
    /// cumulative\[t · width + k\]: sum of quantity k over the first t chunks.
    cumulative: Vec<f64>,
}

impl RingSums {
    /// Sums `width` quantities over chunks of `length` frames of `frames`, the last one shorter if need be; `add` adds those of a frame.
    pub fn new(frames: usize, length: usize, width: usize, mut add: impl FnMut(usize, &mut [f64])) -> Self {
        let length = length.max(1);
        let (chunks, mut sum) = (frames.div_ceil(length), vec![0.0; width]);
        let mut cumulative = Vec::with_capacity((chunks + 1) * width);
        cumulative.extend_from_slice(&sum);
        for chunk in 0..chunks {
            (chunk * length..frames.min((chunk + 1) * length)).for_each(|frame| add(frame, &mut sum));
            cumulative.extend_from_slice(&sum);
        }
        Self { chunks, width, cumulative }
    }

    /// Number of chunks.
    pub fn len(&self) -> usize {
        self.chunks
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chunks == 0
    }

    /// Sums over all frames.
    pub fn total(&self) -> &[f64] {
        &self.cumulative[self.chunks * self.width..]
    }

    /// Adds the sums of `length` chunks from `start`, around the ring; `length` at most the number of chunks.
    fn add_run(&self, start: usize, length: usize, sums: &mut [f64]) {
        let end = start + length;
        let mut between = |a: usize, b: usize| {
            let row = |t: usize| &self.cumulative[t * self.width..(t + 1) * self.width];
            sums.iter_mut().zip(row(a).iter().zip(row(b))).for_each(|(sum, (from, to))| *sum += to - from);
        };
        if end <= self.chunks {
            between(start, end);
        } else {
            between(start, self.chunks);
            between(0, end - self.chunks);
        }
    }

    /// Sums of one draw of blocks: as many chunks as the series, the last block cut. Zero for an empty series.
    pub fn draw(&self, block_length: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let block_length = block_length.clamp(1, self.chunks.max(1));
        let mut sums = vec![0.0; self.width];
        let mut left = self.chunks;
        while left > 0 {
            let length = block_length.min(left);
            self.add_run(below(self.chunks, rng), length, &mut sums);
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
pub(super) fn below(n: usize, rng: &mut ChaCha8Rng) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

/// Results of the draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Draws {
    sorted: Vec<f64>,
    /// Share of the draws that gave a number.
    share: f64,
    /// What the spread is multiplied by.
    factor: f64,
}

impl Draws {
    /// Takes the results of all draws; those that are not finite are left out.
    pub fn new(results: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = results.into_iter().collect();
        let asked = sorted.len().max(1) as f64;
        sorted.retain(|x| x.is_finite());
        sorted.sort_by(f64::total_cmp);
        Self { share: sorted.len() as f64 / asked, sorted, factor: 1.0 }
    }

    /// The same with errors `factor` times as large: what the way of drawing loses of them on average.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    /// Share of the draws that gave a number.
    pub fn share(&self) -> f64 {
        self.share
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
        Some(0.5 * self.factor * (self.quantile(0.841_345)? - self.quantile(0.158_655)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::occupancy::State;
    use crate::analysis::synthetic;

    /// Frames in each state below `count`.
    fn counts(states: &[State], length: usize, count: usize) -> RingSums {
        RingSums::new(states.len(), length, count, |frame, sums| {
            if let Some(k) = states[frame] {
                sums[usize::from(k)] += 1.0;
            }
        })
    }

    #[test]
    fn sums_around_the_ring_are_right() {
        let states: Vec<State> = [0, 1, 1, 9, 0, 2, 2, 2, 0, 1].map(|k| (k < 3).then_some(k)).to_vec();
        let run = |chunk, start, length| {
            let mut sums = vec![0.0; 3];
            counts(&states, chunk, 3).add_run(start, length, &mut sums);
            sums
        };
        assert_eq!(run(1, 0, 10), [3.0, 3.0, 3.0]);
        assert_eq!(run(1, 2, 4), [1.0, 1.0, 1.0]);
        assert_eq!(run(1, 8, 4), [2.0, 2.0, 0.0]);
        assert_eq!(run(1, 9, 10), [3.0, 3.0, 3.0]);
        // Chunks of four frames: the third has two.
        assert_eq!(run(4, 1, 1), [1.0, 0.0, 3.0]);
        assert_eq!(run(4, 2, 2), [2.0, 3.0, 0.0]);
        assert_eq!(counts(&states, 4, 3).total(), [3.0, 3.0, 3.0]);
    }

    #[test]
    fn every_frame_is_drawn_equally_often() {
        let draws = 20_000;
        let mut found = [0.0; 7];
        for (frame, count) in found.iter_mut().enumerate() {
            let states: Vec<State> = (0..7).map(|i| Some(u8::from(i == frame))).collect();
            let ring = counts(&states, 1, 2);
            for number in 0..draws {
                let drawn = ring.draw(3, &mut random(5, number));
                assert_eq!(drawn[0] + drawn[1], 7.0);
                *count += drawn[1] / draws as f64;
            }
        }
        // Each frame is drawn once per draw on average, with a standard deviation of about 1/√20000 = 0.007.
        assert!(found.iter().all(|c| (c - 1.0_f64).abs() < 0.035), "{found:?}");
    }

    #[test]
    fn error_of_a_fraction_of_correlated_frames_is_known() {
        // Redrawn with rate 0.05: C(t) = 0.95^t, g = 1.95/0.05 = 39.
        let (n, s) = (200_000, 0.3);
        let series = synthetic::two_state(n, s, 0.05, &mut synthetic::random(6));
        let states: Vec<State> = series.iter().map(|&l| (l > 0.5).then_some(0)).collect();
        let draws = |chunk: usize, length: usize| {
            let ring = counts(&states, chunk, 1);
            let draw = |k| ring.draw(length, &mut random(1, k))[0] / n as f64;
            Draws::new((0..400).map(draw)).error().unwrap()
        };
        let exact = (s * (1.0 - s) * 39.0 / n as f64).sqrt();
        // The noise of 250 blocks is 4.5 %, that of 400 draws 3.5 %, and blocks of 20 g lose 5 %.
        for (chunk, length) in [(1, 800), (100, 8)] {
            assert!((draws(chunk, length) / exact - 1.0).abs() < 0.2, "{chunk}: {exact}");
        }
        assert!(draws(1, 1) < 0.3 * exact);
    }

    #[test]
    fn quantiles_interpolate_and_degenerate_input_is_no_panic() {
        let draws = Draws::new([3.0, 1.0, f64::NAN, 2.0]);
        assert_eq!((draws.len(), draws.quantile(0.5), draws.quantile(0.25)), (3, Some(2.0), Some(1.5)));
        assert_eq!(draws.share(), 0.75);
        assert_eq!((Draws::new([]).error(), Draws::new([]).quantile(0.5)), (None, None));
        assert!(Draws::new([]).is_empty());
        assert_eq!(counts(&[], 1, 1).draw(10, &mut random(0, 0)), [0.0]);
    }
}
