//! Whether averages that should be the same are: those of several starts, those of the first and the second half of a run.
//!
//! Averages y_i of m quantities with covariances S_i and the weighted mean ȳ = (Σ S_i⁻¹)⁻¹ Σ S_i⁻¹ y_i give
//!
//!   χ² = Σ_i (y_i − ȳ)ᵀ S_i⁻¹ (y_i − ȳ)          (I − 1) m degrees of freedom for I averages
//!
//! The S_i are estimates with ν degrees of freedom together, so that χ² is Hotelling's T² and larger by ν/(ν − m − 1) on average. χ² is divided by that, and
//! its probability is that of
//!
//!   F = χ² (ν − m + 1)/(ν (I − 1) m)          (I − 1) m and ν − m + 1 degrees of freedom
//!
//! (exactly so for two averages of normally distributed samples). S of correlated samples is known less well than that of as many independent ones, because
//! their number is an estimate, too: ν is half of the samples less one of each average. A set of averages with too few of them, ν < m + 2, says nothing and
//! is left out.
//!
//! The verdict of many sets: their probabilities p together, −2 Σ ln p of K sets being χ² of 2 K degrees of freedom (Fisher's method), and the least of them
//! times their number, so that one window that is wrong is seen among many that are not.

use nalgebra::{DMatrix, DVector};

use super::simplex_fit::Window;
use super::tails;

/// Probability below which differences are no accident. Of calibrations in which nothing is wrong one of a hundred is called wrong by each of
/// the two sides of the verdict, which costs a repetition.
pub const SIGNIFICANT: f64 = 0.01;

/// Degrees of freedom of an error for each independent sample. From N frames and a window of W of them g has the relative variance 2 (2 W + 1)/N (Wolff
/// 2004, arXiv:hep-lat/0306017), 4 g/N where W is about g, as in an autoregressive series; the variance of N/g samples that are known to be independent has
/// 2 g/N.
const WORTH: f64 = 0.5;

/// How far averages of the same are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// χ², corrected for errors that are estimates.
    pub chi_squared: f64,
    /// Degrees of freedom.
    pub degrees: usize,
    /// Degrees of freedom of the errors, ν − m + 1.
    pub of_errors: f64,
    /// Last average minus first over its standard error, of the quantity where that is largest.
    pub z: f64,
}

impl Difference {
    /// Of averages of the same weights; `None` for fewer than two, too few samples, or covariances that are not positive definite.
    pub fn of(averages: &[Window]) -> Option<Self> {
        let (first, last) = (averages.first()?, averages.last()?);
        let m = first.slopes.len();
        let samples: f64 = averages.iter().map(|average| average.samples).sum();
        // Every average takes one sample from its own variance.
        let free = WORTH * (samples - averages.len() as f64);
        if averages.len() < 2 || m == 0 || free < m as f64 + 2.0 {
            return None;
        }
        let inverses: Option<Vec<DMatrix<f64>>> =
            averages.iter().map(|one| Some(one.covariance.clone().cholesky()?.inverse())).collect();
        let inverses = inverses?;
        let value = |one: &Window| DVector::from_column_slice(&one.slopes);
        let weight = inverses.iter().fold(DMatrix::zeros(m, m), |sum, inverse| sum + inverse);
        let pull =
            inverses.iter().zip(averages).fold(DVector::zeros(m), |sum, (inverse, one)| sum + inverse * value(one));
        let mean = weight.cholesky()?.solve(&pull);
        let square = |(inverse, one): (&DMatrix<f64>, &Window)| {
            let off = value(one) - &mean;
            (off.transpose() * inverse * &off)[(0, 0)]
        };
        let chi_squared: f64 = inverses.iter().zip(averages).map(square).sum();
        let z = |k: usize| {
            let error = (first.covariance[(k, k)] + last.covariance[(k, k)]).sqrt();
            (last.slopes[k] - first.slopes[k]) / error
        };
        let z = (0..m).map(z).fold(0.0, |most: f64, z| if z.abs() > most.abs() { z } else { most });
        let chi_squared = chi_squared * (free - m as f64 - 1.0) / free;
        Some(Self { chi_squared, degrees: (averages.len() - 1) * m, of_errors: free - m as f64 + 1.0, z })
    }

    /// Probability of a difference at least as large if there is none.
    pub fn probability(&self) -> f64 {
        // χ² is corrected for the mean of F, ν/(ν − 2).
        let mean = self.of_errors / (self.of_errors - 2.0);
        tails::f(self.chi_squared / self.degrees as f64 * mean, self.degrees, self.of_errors)
    }
}

/// The verdict of many sets of averages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Sum of χ².
    pub chi_squared: f64,
    /// Degrees of freedom.
    pub degrees: usize,
    /// Probability of such differences, of all sets together, if nothing is wrong.
    pub probability: f64,
    /// The set that is farthest off, with the probability that any of as many sets is.
    pub worst: Option<(usize, f64)>,
}

impl Agreement {
    /// Of differences, those that are known; `None` if none is.
    pub fn of(differences: &[Option<Difference>]) -> Option<Self> {
        let known: Vec<(usize, Difference)> =
            differences.iter().enumerate().filter_map(|(k, one)| Some((k, (*one)?))).collect();
        let chi_squared = known.iter().map(|(_, one)| one.chi_squared).sum();
        let degrees = known.iter().map(|(_, one)| one.degrees).sum();
        let probabilities: Vec<(usize, f64)> = known.iter().map(|(k, one)| (*k, one.probability())).collect();
        let least = probabilities.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let worst = least.map(|(k, p)| (k, (p * known.len() as f64).min(1.0)));
        let logarithms: f64 = probabilities.iter().map(|(_, p)| p.ln()).sum();
        let probability = tails::chi_squared(-2.0 * logarithms, 2 * known.len());
        (!known.is_empty()).then_some(Self { chi_squared, degrees, probability, worst })
    }

    /// χ² per degree of freedom.
    pub fn reduced(&self) -> f64 {
        self.chi_squared / self.degrees as f64
    }

    /// Whether neither all of them together nor the worst is significant.
    pub fn holds(&self) -> bool {
        self.probability >= SIGNIFICANT && self.worst.is_none_or(|(_, probability)| probability >= SIGNIFICANT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::{autoregressive, random};

    /// Averages of two quantities over `frames` correlated frames, the second quantity partly the first.
    fn average(frames: usize, shift: f64, rng: &mut rand_chacha::ChaCha8Rng) -> Window {
        let (a, b) = (autoregressive(frames, 0.7, rng), autoregressive(frames, 0.7, rng));
        let first: Vec<f64> = a.iter().map(|a| a + shift).collect();
        let second = a.iter().zip(&b).map(|(a, b)| 0.6 * a + 0.8 * b).collect();
        Window::from_series(&[0.2, 0.3, 0.5], &[first, second]).unwrap()
    }

    /// Without any difference few sets are called different, and probabilities are what they say, on the safe side: independent samples are
    /// undercounted by up to 15 %.
    #[test]
    fn equal_averages_agree_as_often_as_they_should() {
        let (mut rng, sets, windows) = (random(21), 400, 13);
        let (mut wrong, mut chi, mut degrees) = (0, 0.0, 0);
        for _ in 0..sets {
            let one = |_| Difference::of(&[average(300, 0.0, &mut rng), average(300, 0.0, &mut rng)]);
            let agreement = Agreement::of(&(0..windows).map(one).collect::<Vec<_>>()).unwrap();
            chi += agreement.chi_squared;
            degrees += agreement.degrees;
            wrong += usize::from(!agreement.holds());
        }
        // Of 400 sets each of two bounds calls 4 wrong; 8 ± 2.8.
        assert!(wrong <= 16, "{wrong} of {sets}");
        // 10 400 degrees of freedom: 1 ± 0.014, less what undercounting takes.
        assert!((0.8..1.05).contains(&(chi / degrees as f64)), "{}", chi / degrees as f64);
    }

    /// Errors of short averages are guesses: of 13 windows with halves of 5 and 11 independent samples 31 and 12 % would be called wrong if these errors
    /// were taken as known.
    #[test]
    fn short_averages_agree_nearly_as_often_as_they_should() {
        let mut rng = random(25);
        let sets = 400;
        let mut wrong = |frames: usize| {
            let one = |rng: &mut _| {
                let mut half = || Window::from_series(&[0.5, 0.5], &[autoregressive(frames, 0.8, rng)]).unwrap();
                Difference::of(&[half(), half()])
            };
            let holds = |rng: &mut _| Agreement::of(&[(); 13].map(|()| one(rng))).is_none_or(|found| found.holds());
            (0..sets).filter(|_| !holds(&mut rng)).count()
        };
        let [five, eleven] = [50, 100].map(&mut wrong);
        // Two of a hundred are asked for, and 7.5 and 3 are found.
        assert!(five <= 48 && eleven <= 24, "{five} and {eleven} of {sets}");
    }

    #[test]
    fn one_window_that_is_off_is_seen_among_many() {
        let mut rng = random(22);
        // 300 frames are 53 samples: errors of 0.14, differences of 0.19; 1.2 is six times that.
        let one = |k: usize| {
            let shift = if k == 7 { 1.2 } else { 0.0 };
            Difference::of(&[average(300, 0.0, &mut rng), average(300, shift, &mut rng)])
        };
        let differences: Vec<_> = (0..40).map(one).collect();
        let agreement = Agreement::of(&differences).unwrap();
        assert!(!agreement.holds() && agreement.worst.is_some_and(|(k, p)| k == 7 && p < SIGNIFICANT), "{agreement:?}");
        assert!(differences[7].unwrap().z > 3.0);
        assert_eq!(agreement.degrees, 80);
    }

    /// Three averages have twice the degrees of freedom; a common shift is none.
    #[test]
    fn several_averages_are_compared_with_their_mean() {
        let mut rng = random(23);
        let mut sum = 0.0;
        for _ in 0..300 {
            let three = [0; 3].map(|_| average(1000, 5.0, &mut rng));
            let difference = Difference::of(&three).unwrap();
            assert_eq!(difference.degrees, 4);
            sum += difference.chi_squared / 300.0;
        }
        // 4 ± 0.16 for 300 sets, less up to 15 %.
        assert!((3.2..4.3).contains(&sum), "{sum}");
    }

    #[test]
    fn what_cannot_be_compared_is_left_out() {
        let mut rng = random(24);
        let one = average(300, 0.0, &mut rng);
        assert_eq!(Difference::of(&[]), None);
        assert_eq!(Difference::of(std::slice::from_ref(&one)), None);
        let few = Window { samples: 2.0, ..one.clone() };
        assert_eq!(Difference::of(&[few.clone(), few]), None);
        let singular = Window { covariance: DMatrix::zeros(2, 2), ..one.clone() };
        assert_eq!(Difference::of(&[singular, one]), None);
        assert_eq!(Agreement::of(&[None, None]), None);
    }
}
