//! The error of a pKa from units that are independent of each other: walkers of a replica exchange, or runs.
//!
//! A protein may keep a conformation for as long as the whole run. In a replica exchange it is a walker that keeps it, and takes it from pH to pH: the frames of
//! one pH, which come from one walker after the other, look as if all were forgotten soon, and blocks of them give an error that is too small. Walkers
//! as wholes tell. Unit u has n_uj frames at pH_j, of which d_uj are deprotonated; with p_j of the titration curve of all frames,
//!
//!   U_u = Σ_j (d_uj − p_j n_uj)      I_u = ln 10 · n Σ_j n_uj p_j (1 − p_j)      error² = N/(N − 1) · Σ U_u² / (Σ I_u)²
//!
//! n is the Hill coefficient, Σ U_u / Σ I_u what the pKa would change by, and N = (Σ I_u)² / Σ I_u² the number of units that tell anything of it: the variance of an estimate
//! from clusters of data (Liang & Zeger 1986, doi:10.1093/biomet/73.1.13). It has ν = N − 1 degrees of freedom.

use super::hill::deprotonated_fraction;

/// Frames of one unit at one pH.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FramesAtPh {
    /// pH.
    pub ph: f64,
    /// Frames that are protonated or deprotonated.
    pub frames: f64,
    /// Of these, frames that are deprotonated.
    pub lost: f64,
}

/// An error from units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitError {
    /// Error of the pKa.
    pub error: f64,
    /// Degrees of freedom ν > 0; below [`FEWEST`] the error itself is hardly known.
    pub free: f64,
}

/// Fewest degrees of freedom of an error that is known.
pub const FEWEST: f64 = 2.0;

/// The number of units that tell anything of a pKa, N; 0 if none does.
pub fn effective_number(units: &[Vec<FramesAtPh>], pka: f64, slope: f64) -> f64 {
    let [total, squares] = sums(units, pka, slope);
    if squares > 0.0 { total * total / squares } else { 0.0 }
}

/// What units tell of a pKa, Σ I_u, in frames times pK units⁻¹.
pub fn information(units: &[Vec<FramesAtPh>], pka: f64, slope: f64) -> f64 {
    sums(units, pka, slope)[0]
}

/// Σ I_u and Σ I_u².
fn sums(units: &[Vec<FramesAtPh>], pka: f64, slope: f64) -> [f64; 2] {
    let of = |at: &FramesAtPh| {
        let p = deprotonated_fraction(at.ph, pka, slope);
        std::f64::consts::LN_10 * slope * at.frames * p * (1.0 - p)
    };
    let each = units.iter().map(|unit| unit.iter().map(of).sum::<f64>());
    each.fold([0.0; 2], |[sum, squares], i| [sum + i, squares + i * i])
}

impl UnitError {
    /// From the frames of each unit, with pKa and Hill coefficient of all of them; `None` if no more than one unit tells anything.
    pub fn new(units: &[Vec<FramesAtPh>], pka: f64, slope: f64) -> Option<Self> {
        let score = |unit: &Vec<FramesAtPh>| -> f64 {
            unit.iter().map(|at| at.lost - deprotonated_fraction(at.ph, pka, slope) * at.frames).sum()
        };
        let scores: f64 = units.iter().map(|unit| score(unit).powi(2)).sum();
        let [total, squares] = sums(units, pka, slope);
        let number = total * total / squares;
        let free = number - 1.0;
        (free > 0.0 && total > 0.0).then(|| Self { error: (number / free * scores).sqrt() / total, free })
    }

    /// Whether three units or more tell of the pKa. Rounding must not take away the third of three equal ones.
    pub fn is_known(&self) -> bool {
        self.free > FEWEST - 1e-9
    }

    /// The error, as much larger as it takes to cover the truth as often as one that is known: a mean over its own error is distributed as Student's t, of which the variance is
    /// ν/(ν − 2). Below three degrees of freedom it has none; there it is that of three.
    pub fn covering(&self) -> f64 {
        let free = self.free.max(3.0);
        self.error * (free / (free - 2.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::random;
    use rand_distr::{Distribution, StandardNormal};

    /// Frames as they would be counted without noise, of a unit whose own pKa is `pka`.
    fn unit(pka: f64, frames: f64) -> Vec<FramesAtPh> {
        let frames_at = |ph: f64| FramesAtPh { ph, frames, lost: frames / (1.0 + 10f64.powf(pka - ph)) };
        [3.0, 3.5, 4.0, 4.5, 5.0].map(frames_at).to_vec()
    }

    /// Units whose pKa scatters by 0.1: the error of their mean is 0.1/√N.
    #[test]
    fn the_scatter_of_units_is_found_again() {
        let mut rng = random(31);
        let (sets, number) = (200, 8);
        let mut squares = 0.0;
        for _ in 0..sets {
            let own = |rng: &mut _| -> f64 { StandardNormal.sample(rng) };
            let units: Vec<Vec<FramesAtPh>> = (0..number).map(|_| unit(4.0 + 0.1 * own(&mut rng), 100.0)).collect();
            let found = UnitError::new(&units, 4.0, 1.0).unwrap();
            assert!((found.free - 7.0).abs() < 1e-9);
            squares += found.error.powi(2) / f64::from(sets);
        }
        // Expected about the true mean instead of their own, scores are larger by N/(N − 1); 0.1² is small enough to be linear. Noise of 200 sets: 4 %.
        let exact = 0.01 / f64::from(number) * 8.0 / 7.0;
        assert!((squares / exact - 1.0).abs() < 0.15, "{} {exact}", squares);
    }

    /// A unit that was always far from the pKa tells nothing and counts for nothing.
    #[test]
    fn units_that_tell_nothing_do_not_count() {
        let mut units = vec![unit(3.9, 100.0), unit(4.1, 100.0), unit(4.0, 100.0)];
        let three = UnitError::new(&units, 4.0, 1.0).unwrap();
        units.extend((0..5).map(|_| vec![FramesAtPh { ph: 9.0, frames: 1000.0, lost: 1000.0 }]));
        let eight = UnitError::new(&units, 4.0, 1.0).unwrap();
        assert!((effective_number(&units, 4.0, 1.0) - 3.0).abs() < 0.1 && effective_number(&[], 4.0, 1.0) == 0.0);
        assert!((eight.error / three.error - 1.0).abs() < 0.02 && (eight.free - 2.0).abs() < 0.1, "{eight:?}");
        assert!(three.is_known() && eight.is_known() && !UnitError::new(&units[..2], 4.0, 1.0).unwrap().is_known());
        assert_eq!(UnitError::new(&units[..1], 4.0, 1.0), None);
        assert_eq!(UnitError::new(&[], 4.0, 1.0), None);
        let covering = |free| UnitError { error: 0.1, free }.covering();
        assert!((covering(4.0) - 0.1 * 2f64.sqrt()).abs() < 1e-12 && covering(2.0) == covering(3.0));
    }
}
