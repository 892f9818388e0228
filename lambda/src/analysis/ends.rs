//! What frames near a form say about the form itself.
//!
//! A frame counts for form α where λ_α exceeds a threshold, and the mean weights of such frames, m_αγ = ⟨λ_γ⟩_α, are not those of the pure
//! form. With the free energy linear in the weights, as V_pH is and what V_MM leaves of the force field nearly, populations of the pure
//! forms P follow from the frames N to second order by
//!
//!   ln N_α = Σ_γ m_αγ ln P_γ + const          two forms: ln(P₁/P₀) = ln(N₁/N₀) / (m₁₁ − m₀₁)
//!
//! since the frames near a form feel only the part of the free energy that lies between their means: counted as they are, λ flat above a
//! threshold of 0.8 makes a titration curve with a Hill coefficient of 0.8. The midpoint, where the forms are equal, does not change. Errors
//! grow by the same factor, s⁻¹ with s = |det m|^{1/(n−1)}: N independent samples are worth s² N. Nothing changes where barriers hold λ at
//! the forms (m = 1).

use nalgebra::{DMatrix, DVector};

use super::equilibrium::Populations;
use super::occupancy::State;

/// The weights of all frames, summed over the frames of each state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeanWeights {
    /// Frames in each state.
    frames: Vec<f64>,
    /// sums\[state · n + other\]: weight of `other`.
    sums: Vec<f64>,
}

impl MeanWeights {
    /// Sums over the frames of a series with these `states` and `weights[state][frame]`.
    pub fn new(states: &[State], weights: &[Vec<f64>]) -> Self {
        let n = weights.len();
        let mut means = Self { frames: vec![0.0; n], sums: vec![0.0; n * n] };
        for (frame, state) in states.iter().enumerate() {
            let Some(state) = state.map(usize::from).filter(|state| *state < n) else { continue };
            means.frames[state] += 1.0;
            means.sums[state * n..][..n].iter_mut().zip(weights).for_each(|(sum, w)| *sum += w[frame]);
        }
        means
    }

    /// The same sums for classes of states, `class[state]` below `count`.
    pub fn classes(&self, class: &[u8], count: usize) -> Self {
        let n = self.frames.len();
        let mut means = Self { frames: vec![0.0; count], sums: vec![0.0; count * count] };
        for (state, own) in class.iter().enumerate() {
            means.frames[usize::from(*own)] += self.frames[state];
            for (other, theirs) in class.iter().enumerate() {
                means.sums[usize::from(*own) * count + usize::from(*theirs)] += self.sums[state * n + other];
            }
        }
        means
    }

    /// Mean weights of the joint states of two sites, `count · first + second` ([`super::occupancy::joint`]), if the weights of both scatter
    /// independently of each other near each state.
    pub fn joint(&self, second: &Self) -> Self {
        let (a, b) = (self.frames.len(), second.frames.len());
        let n = a * b;
        let mut means = Self { frames: vec![0.0; n], sums: vec![0.0; n * n] };
        for state in 0..n {
            let seen = self.frames[state / b] > 0.0 && second.frames[state % b] > 0.0;
            means.frames[state] = f64::from(u8::from(seen));
            for other in (0..n).filter(|_| seen) {
                means.sums[state * n + other] = self.mean(state / b, other / b) * second.mean(state % b, other % b);
            }
        }
        means
    }

    fn mean(&self, state: usize, other: usize) -> f64 {
        self.sums[state * self.frames.len() + other] / self.frames[state]
    }

    fn add(&mut self, other: &Self) {
        let sum = |a: &mut Vec<f64>, b: &[f64]| {
            a.resize(b.len().max(a.len()), 0.0);
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        };
        sum(&mut self.frames, &other.frames);
        sum(&mut self.sums, &other.sums);
    }
}

/// Mean weights by pH, all series together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends(Vec<(f64, MeanWeights)>);

impl Ends {
    /// Sums over the series of each pH; where one of them has no means, all of that pH are taken as they are.
    pub fn new<'a>(series: impl IntoIterator<Item = (f64, Option<&'a MeanWeights>)>) -> Self {
        let mut all: Vec<(f64, MeanWeights)> = Vec::new();
        let mut plain = Vec::new();
        for (ph, means) in series {
            let Some(means) = means else {
                plain.push(ph);
                continue;
            };
            match all.iter_mut().find(|(known, _)| *known == ph) {
                Some((_, sum)) => sum.add(means),
                None => all.push((ph, means.clone())),
            }
        }
        all.retain(|(ph, _)| !plain.contains(ph));
        Self(all)
    }

    /// The same by classes.
    pub fn classes(&self, class: &[u8], count: usize) -> Self {
        Self(self.0.iter().map(|(ph, means)| (*ph, means.classes(class, count))).collect())
    }

    /// The joint states of two sites, at the pH values that both have.
    pub fn joint(&self, second: &Self) -> Self {
        let both = |(ph, means): &(f64, MeanWeights)| {
            second.0.iter().find(|(other, _)| other == ph).map(|(_, other)| (*ph, means.joint(other)))
        };
        Self(self.0.iter().filter_map(both).collect())
    }

    /// Turns samples of frames into samples of the pure states, with the same factors for all points of a pH.
    pub fn apply(&self, points: &mut [Populations]) {
        for (ph, means) in &self.0 {
            let n = means.frames.len();
            let here = || points.iter().filter(|p| p.ph == *ph);
            let counted: Vec<f64> =
                (0..n).map(|state| here().filter_map(|p| p.samples.get(state)).sum::<f64>()).collect();
            let Some(factors) = factors(means, &counted) else { continue };
            let scale = |p: &mut Populations| p.samples.iter_mut().zip(&factors).for_each(|(n, f)| *n *= f);
            points.iter_mut().filter(|p| p.ph == *ph).for_each(scale);
        }
    }
}

/// Factors by which the samples of every state are multiplied; `None` where fewer than two states have samples.
fn factors(means: &MeanWeights, counted: &[f64]) -> Option<Vec<f64>> {
    let seen: Vec<usize> = (0..counted.len()).filter(|&k| counted[k] > 0.0 && means.frames[k] > 0.0).collect();
    if seen.len() < 2 {
        return None;
    }
    // Only weights of states that were seen count, and their sum is taken as 1.
    let row = |k: usize| seen.iter().map(|&other| means.mean(k, other)).sum::<f64>();
    let m = DMatrix::from_fn(seen.len(), seen.len(), |a, b| means.mean(seen[a], seen[b]) / row(seen[a]));
    let shrink = m.determinant().abs().powf(1.0 / (seen.len() as f64 - 1.0));
    let logarithms = DVector::from_iterator(seen.len(), seen.iter().map(|&k| counted[k].ln()));
    let pure = m.lu().solve(&logarithms)?;
    let most = pure.max();
    let weights: Vec<f64> = pure.iter().map(|l| (l - most).exp()).collect();
    let (sum, total): (f64, f64) = (weights.iter().sum(), seen.iter().map(|&k| counted[k]).sum());
    let mut factors = vec![0.0; counted.len()];
    for (&k, weight) in seen.iter().zip(weights) {
        factors[k] = shrink * shrink * total * weight / sum / counted[k];
    }
    factors.iter().all(|f| f.is_finite()).then_some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::occupancy::{OCCUPIED, count, states};
    use crate::analysis::synthetic::random;
    use rand_distr::{Distribution, StandardUniform};

    /// Weights uniform on the simplex of `n` forms, accepted with e^{Σ L_γ λ_γ}: a free energy that is linear in them.
    fn tilted(n: usize, logarithms: &[f64], frames: usize) -> Vec<Vec<f64>> {
        let mut rng = random(17);
        let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights = vec![Vec::new(); n];
        while weights[0].len() < frames {
            let mut cuts: Vec<f64> = (1..n).map(|_| StandardUniform.sample(&mut rng)).collect();
            cuts.push(1.0);
            cuts.sort_by(f64::total_cmp);
            let mut last = 0.0;
            let point: Vec<f64> = cuts.iter().map(|&cut| cut - std::mem::replace(&mut last, cut)).collect();
            let exponent: f64 = point.iter().zip(logarithms).map(|(w, l)| w * (l - most)).sum();
            let drawn: f64 = StandardUniform.sample(&mut rng);
            if drawn < exponent.exp() {
                weights.iter_mut().zip(point).for_each(|(list, w)| list.push(w));
            }
        }
        weights
    }

    fn populations(weights: &[Vec<f64>], corrected: bool) -> Vec<f64> {
        let slices: Vec<&[f64]> = weights.iter().map(Vec::as_slice).collect();
        let states = states(&slices, OCCUPIED).unwrap();
        let samples = count(&states, weights.len()).forms.iter().map(|&n| n as f64).collect();
        let mut points = [Populations { ph: 4.0, samples }];
        if corrected {
            let means = MeanWeights::new(&states, weights);
            Ends::new([(4.0, Some(&means))]).apply(&mut points);
        }
        points[0].samples.clone()
    }

    #[test]
    fn a_flat_histogram_gives_the_populations_of_the_ends() {
        for difference in [0.0, 1.15, -2.3, 4.6] {
            let weights = tilted(2, &[0.0, difference], 400_000);
            let ratio = |corrected| {
                let n = populations(&weights, corrected);
                (n[1] / n[0]).ln()
            };
            // Frames counted as they are give 0.8 of it; 400 000 frames have an error of up to 0.03.
            assert!((ratio(false) - 0.8 * difference).abs() < 0.05, "{difference}: {}", ratio(false));
            assert!((ratio(true) - difference).abs() < 0.08, "{difference}: {}", ratio(true));
            let [raw, pure] = [false, true].map(|corrected| populations(&weights, corrected).iter().sum::<f64>());
            assert!((pure / raw - 0.64).abs() < 0.02, "{}", pure / raw);
        }
    }

    #[test]
    fn three_forms_and_their_classes_are_those_of_the_corners() {
        let logarithms = [0.0, 1.5, 0.7];
        let weights = tilted(3, &logarithms, 600_000);
        let n = populations(&weights, true);
        for k in 1..3 {
            // A corner has 2 to 6 % of the frames, an error of 0.015; the square of the tilt within a corner is not corrected.
            let found = (n[k] / n[0]).ln();
            assert!((found - logarithms[k]).abs() < 0.08, "{k}: {found}");
        }
        let slices: Vec<&[f64]> = weights.iter().map(Vec::as_slice).collect();
        let states = states(&slices, OCCUPIED).unwrap();
        let means = MeanWeights::new(&states, &weights);
        let classes = means.classes(&[0, 1, 1], 2);
        assert!((classes.mean(1, 0) + classes.mean(1, 1) - 1.0).abs() < 1e-12);
        assert_eq!(classes.frames[1], means.frames[1] + means.frames[2]);
    }

    #[test]
    fn joint_states_of_independent_sites_are_products() {
        let weights = [tilted(2, &[0.0, 1.0], 100_000), tilted(2, &[0.0, -0.5], 100_000)];
        let of = |weights: &Vec<Vec<f64>>| {
            let states = states(&[&weights[0], &weights[1]], OCCUPIED).unwrap();
            Ends::new([(5.0, Some(&MeanWeights::new(&states, weights)))])
        };
        let samples: Vec<Vec<f64>> = weights.iter().map(|w| populations(w, false)).collect();
        let product = |k: usize| samples[0][k / 2] * samples[1][k % 2];
        let mut points = [Populations { ph: 5.0, samples: (0..4).map(product).collect() }];
        of(&weights[0]).joint(&of(&weights[1])).apply(&mut points);
        let n = &points[0].samples;
        let singles: Vec<Vec<f64>> = weights.iter().map(|w| populations(w, true)).collect();
        let expected = |site: usize| (singles[site][1] / singles[site][0]).ln();
        assert!(((n[2] / n[0]).ln() - expected(0)).abs() < 1e-9 && ((n[3] / n[2]).ln() - expected(1)).abs() < 1e-9);
    }

    #[test]
    fn forms_never_seen_and_pure_frames_change_nothing() {
        let pure = vec![vec![1.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
        assert_eq!(populations(&pure, true), [2.0, 1.0]);
        let one = vec![vec![0.9, 0.85], vec![0.1, 0.15]];
        assert_eq!(populations(&one, true), [2.0, 0.0]);
        let mut points = [Populations { ph: 4.0, samples: vec![2.0, 1.0] }];
        // Of two runs at one pH, one has smoothed steps, and so neither is corrected.
        let means = MeanWeights::new(&[Some(0), Some(1)], &[vec![0.9, 0.1], vec![0.1, 0.9]]);
        Ends::new([(4.0, Some(&means)), (4.0, None)]).apply(&mut points);
        assert_eq!(points[0].samples, [2.0, 1.0]);
    }
}
