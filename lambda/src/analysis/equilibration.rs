//! Where a series has forgotten its start, and whether it goes on moving.
//!
//! The start t₀ that leaves the largest number of independent samples, (N − t₀)/g(t₀), is taken for the end of equilibration (Chodera 2016,
//! doi:10.1021/acs.jctc.5b00784): frames that are still on their way make g large. g: [`super::blocks`].
//!
//! The slope is that of least squares, y = a + b t. Its error takes the correlation of the residuals r into account:
//!
//!   error² = g_r σ_r² / Σ (t − t̄)²
//!
//! Units: those of the series, and of its times.

use super::blocks::{SeriesError, check, statistical_inefficiency};
use super::occupancy::OCCUPIED;

/// Starts that are tried, at most.
const STARTS: usize = 40;

/// First frame after the equilibration of a series; it lies in the first half. A series that drifts all the way has no such frame, which its [`slope`]
/// tells.
///
/// # Errors
/// [`SeriesError`] for fewer than 16 frames, values that are not finite, or a constant series.
pub fn start(series: &[f64]) -> Result<usize, SeriesError> {
    const FEWEST: usize = 16;
    let n = series.len();
    if n < FEWEST {
        return Err(SeriesError::TooShort { found: n, needed: FEWEST });
    }
    check(series)?;
    let last = n / 2;
    let (mut best, mut most) = (0, 0.0);
    for index in (0..=last).step_by(last.div_ceil(STARTS).max(1)) {
        let samples = (n - index) as f64 / statistical_inefficiency(&series[index..])?;
        if samples > most {
            (best, most) = (index, samples);
        }
    }
    Ok(best)
}

/// Means of neighbouring frames that a series is made of before its start is looked for.
const MEANS: usize = 1000;
/// Errors by which the beginning differs from the rest where it is cut.
const DIFFERENT: f64 = 4.0;

/// Frames to be cut from the beginning of a series: those before [`start`], if their mean differs from that of the rest by more than four errors, else
/// none. Without this condition a series of few transitions, or the latest start of many series, would lose much for nothing. The mean of n frames has
/// the error √(g σ²/n), with g and σ of the rest. Long series are taken as 1000 means. The weight of a form of a site has [`cut_of_form`].
pub fn cut(series: &[f64]) -> usize {
    let length = series.len().div_ceil(MEANS).max(1);
    let means: Vec<f64> = series.chunks_exact(length).map(|chunk| chunk.iter().sum::<f64>() / length as f64).collect();
    let Ok(start) = start(&means) else { return 0 };
    let (before, after) = means.split_at(start);
    let (Ok(g), false) = (statistical_inefficiency(after), before.is_empty()) else { return 0 };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let variance = after.iter().map(|x| (x - mean(after)).powi(2)).sum::<f64>() / after.len() as f64;
    // Shorter than its correlation, the beginning is one sample.
    let [early, late] = [before, after].map(|part| variance * (g / part.len() as f64).min(1.0));
    let differs = (mean(before) - mean(after)).abs() > DIFFERENT * (early + late).sqrt();
    if differs { start * length } else { 0 }
}

/// Changes of a form in the rest of a series from which on g and σ of that rest can be believed.
const CHANGES: usize = 20;

/// Frames to be cut from the beginning of a series of weights of one form of a site: as [`cut`], if the form was left or reached at least twenty times in the
/// rest, and none else.
///
/// A rest with few changes may have few by chance, because it is chosen for its many samples; g and σ of it are too small then, and a start that was
/// nothing but one visit of a rare form would be cut off. Without this condition a fifth of stationary series with 10 to 25 independent samples are cut and
/// 8 % of those with 100, and Hill slopes come out 18, 9 and 2 % larger than those of whole series; with it at most 2 % of series of any length are, and
/// slopes 0.4 % larger. A start that took a tenth of the run in a form of a tenth is cut in 14, 90 and 100 % of series with 50, 100 and 250 samples: with
/// fewer nobody can tell it from a visit.
pub fn cut_of_form(weights: &[f64]) -> usize {
    let found = cut(weights);
    let held = |weight: &f64| (*weight > OCCUPIED || *weight < 1.0 - OCCUPIED).then_some(*weight > OCCUPIED);
    let held: Vec<bool> = weights[found..].iter().filter_map(held).collect();
    let changes = held.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if changes < CHANGES { 0 } else { found }
}

/// A slope with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Change per unit of time.
    pub value: f64,
    /// Standard error.
    pub error: f64,
}

/// Slope of a series against its times.
///
/// # Errors
/// As [`statistical_inefficiency`]; [`SeriesError::Constant`] also if nothing is left beside the slope.
pub fn slope(times: &[f64], series: &[f64]) -> Result<Slope, SeriesError> {
    check(series)?;
    let n = series.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (t, y) = (mean(times), mean(series));
    let spread = times.iter().map(|time| (time - t).powi(2)).sum::<f64>();
    let value = times.iter().zip(series).map(|(time, x)| (time - t) * (x - y)).sum::<f64>() / spread;
    let residuals: Vec<f64> = times.iter().zip(series).map(|(time, x)| x - y - value * (time - t)).collect();
    let inefficiency = statistical_inefficiency(&residuals)?;
    // Two parameters are fitted.
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / (n - 2.0);
    Ok(Slope { value, error: (inefficiency * variance / spread).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::{autoregressive, random, two_state};

    /// A start far away that decays in 200 frames is cut off, and little more than that.
    #[test]
    fn a_start_far_away_is_cut_off() {
        let mut rng = random(4);
        let starts: Vec<usize> = (0..20)
            .map(|_| {
                let noise = autoregressive(8000, 0.8, &mut rng);
                let series: Vec<f64> =
                    (0..).zip(&noise).map(|(k, x)| x + 30.0 * (-f64::from(k) / 200.0).exp()).collect();
                start(&series).unwrap()
            })
            .collect();
        // 30 e^{−k/200} is below the noise of unit size from k = 680 on; starts are tried every 100 frames.
        assert!(starts.iter().all(|start| (400..=2000).contains(start)), "{starts:?}");
    }

    /// A stationary series of two states, one of them rare, keeps its visits, of whatever length it is; [`cut`] would take them.
    #[test]
    fn rare_visits_are_not_cut_off() {
        let mut rng = random(8);
        for samples in [10.0, 25.0, 100.0, 400.0] {
            let (mut cuts, mut of_form) = (0, 0);
            for _ in 0..200 {
                // States that are drawn anew with probability r have the inefficiency 2/r − 1.
                let series = two_state(10_000, 0.1, 2.0 * samples / 10_000.0, &mut rng);
                cuts += usize::from(cut(&series) > 0);
                of_form += usize::from(cut_of_form(&series) > 0);
            }
            assert!(of_form <= 8, "{samples} samples: {of_form} of 200");
            assert!(samples > 100.0 || cuts > 10, "{samples} samples: {cuts} of 200 without the condition");
        }
    }

    /// A start in the rare form that lasts a tenth of the run is cut where the rest has a hundred samples.
    #[test]
    fn a_start_in_a_rare_form_is_cut_off() {
        let mut rng = random(9);
        let cuts = (0..100)
            .filter(|_| {
                let start = (0..1000).map(|_| 1.0);
                let series: Vec<f64> = start.chain(two_state(9000, 0.1, 0.025, &mut rng)).collect();
                // The rest is flat: a start anywhere behind the thousand is as good, up to half of the series.
                (900..=5000).contains(&cut_of_form(&series))
            })
            .count();
        assert!(cuts >= 85, "{cuts} of 100");
    }

    #[test]
    fn a_settled_series_is_kept() {
        let mut rng = random(5);
        let kept: Vec<usize> = (0..20).map(|_| start(&autoregressive(4000, 0.5, &mut rng)).unwrap()).collect();
        let mean = kept.iter().sum::<usize>() as f64 / 20.0;
        assert!(mean < 800.0, "{kept:?}");
        assert!(start(&[1.0; 10]).is_err() && start(&[1.0; 100]).is_err());
    }

    #[test]
    fn only_a_beginning_that_differs_is_cut() {
        let mut rng = random(14);
        // Of 200 settled series, some of few transitions, next to none is cut: four errors, at the best of 40 starts.
        let settled = |k: u32, rng: &mut _| autoregressive(4000, if k.is_multiple_of(2) { 0.5 } else { 0.99 }, rng);
        let wrong = (0..200).filter(|&k| cut(&settled(k, &mut rng)) > 0).count();
        assert!(wrong <= 4, "{wrong}");
        for _ in 0..20 {
            let noise = autoregressive(8000, 0.8, &mut rng);
            let series: Vec<f64> = (0..).zip(&noise).map(|(k, x)| x + 30.0 * (-f64::from(k) / 200.0).exp()).collect();
            // The beginning is far off for 680 frames; behind it the number of samples is flat within its noise, up to half of the series.
            assert!((400..=4000).contains(&cut(&series)), "{}", cut(&series));
        }
        assert_eq!((cut(&[1.0; 50]), cut(&[0.0, 1.0])), (0, 0));
    }

    /// The true slope lies within the error as often as it should.
    #[test]
    fn errors_of_slopes_cover_the_truth() {
        let mut rng = random(6);
        let (runs, exact) = (300, 0.0125);
        let times: Vec<f64> = (0..2000).map(|k| 0.5 * f64::from(k)).collect();
        let inside = (0..runs)
            .filter(|_| {
                let noise = autoregressive(2000, 0.9, &mut rng);
                let series: Vec<f64> = times.iter().zip(noise).map(|(t, x)| 7.0 + exact * t + x).collect();
                let slope = slope(&times, &series).unwrap();
                // It is told from no slope at all: noise of unit size and 20 frames in 1000 ps leaves an error of 0.0003.
                assert!(slope.value > 5.0 * slope.error);
                (slope.value - exact).abs() < slope.error
            })
            .count();
        // 68.3 % of 300 are 205, with a standard deviation of 8; g is up to 15 % too large, which makes 71 %.
        assert!((173..=245).contains(&inside), "{inside} of {runs}");
    }
}
