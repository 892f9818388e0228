//! The bias on the weights of one site: V_bias = V_barrier + walls + V_pH + V_MM + correction of the measure.
//!
//! Each part gives its energy and ∂V/∂λ_α for every form as if the weights were independent; as they sum to one, only differences of the
//! derivatives count. Only V_pH knows the pH, only V_MM knows the force field.
//!
//! Units: kJ/mol.

pub mod barrier;
pub mod correction;
pub mod entropy;
pub mod ph;
pub mod simplex;
pub mod tuner;

pub use barrier::Barrier;
pub use correction::ModelCorrection;
pub use entropy::Entropy;
pub use ph::{Acidity, PhPotential};
pub use simplex::{LARGEST_INTERIOR, SimplexBasis};
pub use tuner::BarrierTuner;

/// An energy (kJ/mol) and its derivative with respect to one weight (kJ/mol).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Term {
    /// Energy, kJ/mol.
    pub energy: f64,
    /// dV/dλ, kJ/mol.
    pub derivative: f64,
}

impl std::ops::Add for Term {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { energy: self.energy + other.energy, derivative: self.derivative + other.derivative }
    }
}

/// What separates the forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Separation {
    /// Double wells and walls, for linear weights.
    Wells(Barrier),
    /// A parabola of this height (kJ/mol) on each edge, for weights that stay in [0, 1].
    Parabola(f64),
}

/// All bias terms of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteBias {
    /// Barrier, and walls where weights may leave [0, 1].
    pub separation: Separation,
    /// V_pH; absent in a calibration, and for buffers.
    pub ph: Option<PhPotential>,
    /// V_MM; absent in a calibration.
    pub correction: Option<ModelCorrection>,
    /// Correction of the measure.
    pub entropy: Option<Entropy>,
}

/// The bias energies of one site, or of all, kJ/mol.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BiasEnergies {
    /// Wells or parabola.
    pub barrier: f64,
    /// Walls.
    pub walls: f64,
    /// V_pH.
    pub ph: f64,
    /// V_MM.
    pub correction: f64,
    /// Correction of the measure.
    pub entropy: f64,
}

impl BiasEnergies {
    /// Their sum.
    pub fn total(&self) -> f64 {
        self.barrier + self.walls + self.ph + self.correction + self.entropy
    }
}

impl std::ops::AddAssign for BiasEnergies {
    fn add_assign(&mut self, other: Self) {
        self.barrier += other.barrier;
        self.walls += other.walls;
        self.ph += other.ph;
        self.correction += other.correction;
        self.entropy += other.entropy;
    }
}

impl SiteBias {
    /// Every term at `weights`; ∂V/∂λ_α of their sum is added to `by_weight`.
    pub fn evaluate(&self, weights: &[f64], by_weight: &mut [f64]) -> BiasEnergies {
        let mut energies = BiasEnergies::default();
        match self.separation {
            Separation::Wells(barrier) => {
                for (&weight, slope) in weights.iter().zip(by_weight.iter_mut()) {
                    let (wells, walls) = (barrier.wells(weight), barrier::walls(weight));
                    energies.barrier += 0.5 * wells.energy;
                    energies.walls += 0.5 * walls.energy;
                    *slope += 0.5 * (wells.derivative + walls.derivative);
                }
            }
            Separation::Parabola(height) => energies.barrier = barrier::parabola(height, weights, by_weight),
        }
        energies.ph = self.ph.as_ref().map_or(0.0, |ph| ph.evaluate(weights, by_weight));
        energies.correction = self.correction.as_ref().map_or(0.0, |c| c.evaluate(weights, by_weight));
        energies.entropy = self.entropy.map_or(0.0, |e| e.evaluate(weights, by_weight));
        energies
    }
}

#[cfg(test)]
pub(crate) fn assert_derivative(evaluate: impl Fn(f64) -> Term, range: [f64; 2], tolerance: f64) {
    let h = 1e-5;
    for k in 0..=400 {
        let lambda = range[0] + (range[1] - range[0]) * f64::from(k) / 400.0;
        let numerical = (evaluate(lambda + h).energy - evaluate(lambda - h).energy) / (2.0 * h);
        let ours = evaluate(lambda).derivative;
        assert!((ours - numerical).abs() <= tolerance, "λ = {lambda}: {ours} and {numerical}");
    }
}

/// Derivatives by each of `n` weights against finite differences, at points in and beside the simplex.
#[cfg(test)]
pub(crate) fn assert_derivatives(n: usize, evaluate: impl Fn(&[f64], &mut [f64]) -> f64, tolerance: f64) {
    let h = 1e-5;
    for point in 0..40 {
        let weights: Vec<f64> =
            (0..n).map(|k| -0.05 + 1.1 * f64::from((7 * point + 13 * k as u32) % 40) / 40.0).collect();
        let mut ours = vec![0.0; n];
        evaluate(&weights, &mut ours);
        for (k, ours) in ours.iter().enumerate() {
            let at = |shift: f64| {
                let mut w = weights.clone();
                w[k] += shift;
                evaluate(&w, &mut vec![0.0; n])
            };
            let numerical = (at(h) - at(-h)) / (2.0 * h);
            assert!((ours - numerical).abs() <= tolerance, "{weights:?} {k}: {ours} and {numerical}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinate::Coordinate;

    fn forms(n: u32) -> Vec<Acidity> {
        (0..n).map(|k| Acidity { pk: f64::from(k) * 4.25, protons_lost: u32::from(k > 0) }).collect()
    }

    #[test]
    fn terms_add_up_and_the_total_derivative_is_right() {
        for (n, separation, coordinate) in [
            (2, Separation::Wells(Barrier::solve(5.0).unwrap()), Coordinate::Linear),
            (3, Separation::Wells(Barrier::solve(5.0).unwrap()), Coordinate::LinearWeights),
            (3, Separation::Parabola(5.0), Coordinate::Sphere),
        ] {
            let basis = SimplexBasis::new(n, 3).with_interior(1);
            let coefficients: Vec<f64> = (0..basis.len()).map(|k| 20.0 - 5.0 * k as f64).collect();
            let bias = SiteBias {
                separation,
                ph: Some(PhPotential::new(forms(n as u32), 3.0, 300.0, None).unwrap()),
                correction: Some(ModelCorrection::new(basis, &coefficients).unwrap()),
                entropy: Entropy::new(coordinate, 300.0),
            };
            // Truncation h²/6 V''' with V''' up to 5e5 near the walls: 1e-5.
            assert_derivatives(n, |w, d| bias.evaluate(w, d).total(), 2e-3);
            let mut slopes = vec![0.0; n];
            let weights = [0.3, 0.6, 0.1];
            let bare = SiteBias { ph: None, correction: None, entropy: None, ..bias.clone() };
            let (all, less) = (bias.evaluate(&weights[..n], &mut slopes), bare.evaluate(&weights[..n], &mut slopes));
            let rest = all.ph + all.correction + all.entropy;
            assert!((all.total() - less.total() - rest).abs() < 1e-12);
        }
    }

    #[test]
    fn an_edge_of_three_forms_is_a_site_of_two_forms() {
        let bias = |separation| SiteBias { separation, ph: None, correction: None, entropy: None };
        for bias in [bias(Separation::Wells(Barrier::solve(7.5).unwrap())), bias(Separation::Parabola(7.5))] {
            let shift = bias.evaluate(&[1.0, 0.0, 0.0], &mut [0.0; 3]).total()
                - bias.evaluate(&[1.0, 0.0], &mut [0.0; 2]).total();
            for t in [-0.05, 0.0, 0.2, 0.5, 0.9, 1.02] {
                let mut two = [0.0; 2];
                let mut three = [0.0; 3];
                let alone = bias.evaluate(&[1.0 - t, t], &mut two).total();
                let edge = bias.evaluate(&[1.0 - t, 0.0, t], &mut three).total();
                assert!((edge - alone - shift).abs() < 1e-12, "{t}");
                assert!((three[2] - three[0] - (two[1] - two[0])).abs() < 1e-10);
            }
            // With two forms it is the well of λ itself.
            if let Separation::Wells(barrier) = bias.separation {
                let mut slopes = [0.0; 2];
                let energy = bias.evaluate(&[0.7, 0.3], &mut slopes).total();
                let well = barrier.evaluate(0.3);
                assert!(
                    (energy - well.energy).abs() < 1e-12 && (slopes[1] - slopes[0] - well.derivative).abs() < 1e-12
                );
            }
        }
    }
}
