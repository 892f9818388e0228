//! Draws of the bootstrap, and the error that slow motion leaves.
//!
//! The states of a site may forget themselves in picoseconds while something else, to which its free energy is coupled, takes as long as the run.
//! Blocks of a few correlation times of the states then give an error that is too small, by a factor of two for model compounds of 600 ps. So
//! numbers are drawn in several ways:
//!
//! - blocks of [`super::BLOCK_FACTOR`] inefficiencies of each series;
//! - blocks of a 16th and of a quarter of every series, where that is longer: what is slow is the same for all pH values, while the
//!   inefficiency is small far from the pKa;
//! - whole series of each pH, where every pH has several of them (replicas).
//!
//! Each way is corrected for what it loses on average: blocks of length L in a ring of length T the shares g/2L (at their ends) and, where they are
//! long, L/T (the mean of the draws is that of the ring); n whole series the share 1/n. It gives an error with the relative uncertainty 1/√(2ν), ν blocks or series
//! less one for each pH. The larger error counts where it is larger by more than half of this uncertainty.

use super::{BLOCK_FACTOR, Counted, Resampling};
use crate::analysis::bootstrap::{Draws, below, random};
use crate::analysis::equilibrium::Populations;
use rand_chacha::ChaCha8Rng;

/// Blocks in a series where they are longer than the correlation asks for.
const FEW_BLOCKS: [usize; 2] = [16, 4];
/// Series beyond one of each pH, at least, for draws of whole series.
const FEWEST_FREE: usize = 8;

/// A way to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drawing {
    /// Blocks, as many in each series, or as long as the correlation of its states asks for.
    Blocks(Option<usize>),
    /// Whole series.
    Series,
}

impl Counted {
    /// Results of the draws, one entry for each number that `results` gives of the populations; what is not finite is left out. Of several ways
    /// to draw each number has the one that shows its whole error.
    pub fn draws(&self, resampling: Resampling, results: impl Fn(&[Populations]) -> Vec<f64>) -> Vec<Draws> {
        let mut best: Vec<Draws> = Vec::new();
        for drawing in self.drawings() {
            let uncertainty = self.uncertainty(drawing);
            // Errors of few long blocks are uncertain by more than the 6 % that 125 draws leave.
            let draws = if best.is_empty() { resampling.draws } else { resampling.draws.div_ceil(4) };
            let found = self.draws_of(drawing, Resampling { draws, ..resampling }, &results);
            for (k, draws) in found.into_iter().enumerate() {
                let is_larger = |known: &Draws| match (known.error(), draws.error()) {
                    (Some(error), Some(longer)) => {
                        draws.share() >= known.share() && longer * (1.0 - 0.5 * uncertainty) > error
                    }
                    _ => false,
                };
                match best.get(k) {
                    None => best.push(draws),
                    Some(known) if is_larger(known) => best[k] = draws,
                    Some(_) => {}
                }
            }
        }
        best
    }

    /// Results of the draws made in one way.
    fn draws_of(
        &self,
        drawing: Drawing,
        resampling: Resampling,
        results: impl Fn(&[Populations]) -> Vec<f64>,
    ) -> Vec<Draws> {
        let mut all: Vec<Vec<f64>> = Vec::new();
        for number in 0..resampling.draws {
            let mut rng = random(resampling.seed, u64::from(number));
            let found = results(&self.of_sums(self.drawn(drawing, &mut rng)));
            all.resize(found.len().max(all.len()), Vec::new());
            all.iter_mut().zip(found).for_each(|(list, value)| list.push(value));
        }
        let factor = self.correction(drawing);
        all.into_iter().map(|list| Draws::new(list).scaled(factor)).collect()
    }

    /// The ways there are, the first with blocks as the correlation of the states asks for.
    fn drawings(&self) -> Vec<Drawing> {
        let mut all = vec![Drawing::Blocks(None)];
        let longer = |count: &usize| (0..self.rings.len()).any(|k| self.block(k, Some(*count)) > self.block(k, None));
        all.extend(FEW_BLOCKS.into_iter().filter(longer).map(|count| Drawing::Blocks(Some(count))));
        let several =
            (0..self.weighted.len()).all(|place| self.places.iter().filter(|&&other| other == place).count() > 1);
        if several && self.places.len() >= self.weighted.len() + FEWEST_FREE {
            all.push(Drawing::Series);
        }
        all
    }

    /// Chunks in a block of a series.
    fn block(&self, series: usize, count: Option<usize>) -> usize {
        let ((_, block), chunks) = (self.blocks[series], self.rings[series].len());
        block.max(count.map_or(0, |count| chunks / count)).clamp(1, chunks.max(1))
    }

    /// Sums over one draw, for every series.
    fn drawn(&self, drawing: Drawing, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let all = 0..self.rings.len();
        match drawing {
            Drawing::Blocks(count) => all.map(|k| self.rings[k].draw(self.block(k, count), rng)).collect(),
            Drawing::Series => all
                .map(|k| {
                    let alike: Vec<usize> =
                        (0..self.places.len()).filter(|&j| self.places[j] == self.places[k]).collect();
                    self.rings[alike[below(alike.len(), rng)]].total().to_vec()
                })
                .collect(),
        }
    }

    /// What errors are multiplied by, so that they are right on average.
    fn correction(&self, drawing: Drawing) -> f64 {
        let kept = match drawing {
            Drawing::Blocks(None) => 1.0 - 0.5 / BLOCK_FACTOR,
            Drawing::Blocks(count) => {
                let all = 0..self.rings.len();
                let of =
                    |k: usize, count: Option<usize>| self.block(k, count) as f64 / self.rings[k].len().max(1) as f64;
                let ring = all.clone().map(|k| of(k, count).min(0.5)).sum::<f64>() / all.len().max(1) as f64;
                let ends: f64 = all.clone().map(|k| of(k, None) / of(k, count)).sum::<f64>() / all.len().max(1) as f64;
                (1.0 - 0.5 / BLOCK_FACTOR * ends) * (1.0 - ring)
            }
            Drawing::Series => 1.0 - self.weighted.len() as f64 / self.places.len() as f64,
        };
        kept.sqrt().recip()
    }

    /// Relative uncertainty of the error.
    fn uncertainty(&self, drawing: Drawing) -> f64 {
        let free = match drawing {
            Drawing::Blocks(count) => {
                let blocks = |k: usize| (self.rings[k].len() as f64 / self.block(k, count) as f64 - 1.0).max(0.0);
                (0..self.rings.len()).map(blocks).sum()
            }
            Drawing::Series => (self.places.len() - self.weighted.len()) as f64,
        };
        (0.5 / free.max(0.5)).sqrt()
    }
}

#[cfg(test)]
mod tests;
