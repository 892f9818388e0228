//! Polynomials on the simplex of weights, Σ λ_α = 1: the free energy of a model compound with n forms.
//!
//!   F(λ) = Σ_{α≥1} a_α λ_α + Σ_{α<β} λ_α λ_β Σ_{k=0}^{D−2} c_αβk (λ_β − λ_α)^k
//!          + Σ_{α<β<γ} λ_α λ_β λ_γ [c₀ + c₁λ_β + c₂λ_γ + c₃λ_βλ_γ + c₄λ_αλ_β + c₅λ_αλ_γ]_αβγ                (D ≥ 3)
//!
//! F is zero at form 0 and a_α at form α. Along an edge, where two weights alone differ from zero, it is a polynomial of degree D in one of them,
//! and any such polynomial can be had; for two forms this is all. In the triangle of three forms the factor of λ_αλ_βλ_γ is a constant, any
//! linear or any quadratic polynomial: one, three or six terms, by the interior degree 0, 1, 2. Derivatives are by each weight as if all were independent; only their
//! differences count.
//!
//! Units: those of the coefficients, kJ/mol.

/// The terms of F for a number of forms and a degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimplexBasis {
    n_forms: usize,
    degree: usize,
    interior: usize,
}

/// Largest interior degree.
pub const LARGEST_INTERIOR: usize = 2;

/// Powers of λ_α, λ_β, λ_γ in the terms of three forms.
const TRIPLES: [[usize; 3]; 6] = [[1, 1, 1], [1, 2, 1], [1, 1, 2], [1, 2, 2], [2, 2, 1], [2, 1, 2]];

impl SimplexBasis {
    /// Polynomials of `degree` (1 at least) along each edge between `n_forms` forms (2 at least).
    pub fn new(n_forms: usize, degree: usize) -> Self {
        Self { n_forms: n_forms.max(2), degree: degree.max(1), interior: 0 }
    }

    /// The same basis with factors of this degree, 2 at most, in the terms of three forms.
    #[must_use]
    pub fn with_interior(self, degree: usize) -> Self {
        Self { interior: degree.min(LARGEST_INTERIOR), ..self }
    }

    /// Degree of the factor in the terms of three forms.
    pub fn interior(&self) -> usize {
        self.interior
    }

    /// Terms of each three forms.
    pub fn triple_terms(&self) -> usize {
        if self.degree >= 3 { [1, 3, 6][self.interior] } else { 0 }
    }

    /// Number of forms.
    pub fn n_forms(&self) -> usize {
        self.n_forms
    }

    /// Degree along an edge.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        let n = self.n_forms;
        n - 1 + n * (n - 1) / 2 * (self.degree - 1) + n * (n - 1) * (n - 2) / 6 * self.triple_terms()
    }

    /// Always false, because there is at least one term.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The coefficients of the same free energy with `more` terms: a basis of as many forms whose degrees are not lower.
    ///
    /// # Panics
    /// If `more` has other forms or fewer terms, or the coefficients are not as many as the terms.
    pub fn raised(&self, coefficients: &[f64], more: &Self) -> Vec<f64> {
        let has_more = more.degree >= self.degree && more.triple_terms() >= self.triple_terms();
        assert!(more.n_forms == self.n_forms && has_more, "{more:?} does not have all terms of {self:?}");
        assert!(
            coefficients.len() == self.len(),
            "{} coefficients of the {} terms of {self:?}",
            coefficients.len(),
            self.len()
        );
        let (n, mut given) = (self.n_forms, coefficients.iter().copied());
        let mut raised: Vec<f64> = given.by_ref().take(n - 1).collect();
        let blocks = [
            (n * (n - 1) / 2, self.degree - 1, more.degree - 1),
            (n * (n - 1) * (n - 2) / 6, self.triple_terms(), more.triple_terms()),
        ];
        for (count, few, many) in blocks {
            for _ in 0..count {
                raised.extend(given.by_ref().take(few));
                raised.extend(std::iter::repeat_n(0.0, many - few));
            }
        }
        raised
    }

    /// Calls `with` for each term with its number, its value, and the derivatives that are not zero, as (form, derivative).
    fn each(&self, weights: &[f64], mut with: impl FnMut(usize, f64, &[(usize, f64)])) {
        let n = self.n_forms;
        for (form, &weight) in weights.iter().enumerate().skip(1) {
            with(form - 1, weight, &[(form, 1.0)]);
        }
        let mut term = n - 1;
        for a in 0..n {
            for b in a + 1..n {
                let (x, y) = (weights[a], weights[b]);
                let (difference, mut power, mut slope) = (y - x, 1.0, 0.0);
                for k in 0..self.degree - 1 {
                    // power = (y − x)^k, slope = its derivative by y.
                    with(term, x * y * power, &[(a, y * power - x * y * slope), (b, x * power + x * y * slope)]);
                    slope = (k + 1) as f64 * power;
                    power *= difference;
                    term += 1;
                }
            }
        }
        for a in 0..n {
            for b in a + 1..n {
                for c in b + 1..n {
                    for powers in &TRIPLES[..self.triple_terms()] {
                        // Powers are 1 or 2: w^p and its derivative.
                        let at = |k: usize, form: usize| {
                            let w = weights[form];
                            if powers[k] == 1 { (w, 1.0) } else { (w * w, 2.0 * w) }
                        };
                        let ((x, dx), (y, dy), (z, dz)) = (at(0, a), at(1, b), at(2, c));
                        with(term, x * y * z, &[(a, dx * y * z), (b, x * dy * z), (c, x * y * dz)]);
                        term += 1;
                    }
                }
            }
        }
    }

    /// The terms at `weights`.
    pub fn values(&self, weights: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        self.each(weights, |term, value, _| out[term] = value);
        out
    }

    /// Their derivatives: that of term t by the weight of form α at t n + α.
    pub fn gradients(&self, weights: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.len() * self.n_forms];
        self.each(weights, |term, _, slopes| {
            slopes.iter().for_each(|&(form, slope)| out[term * self.n_forms + form] = slope);
        });
        out
    }

    /// Σ c b(λ); `by_weight` gains `scale` times its derivatives.
    pub fn evaluate(&self, coefficients: &[f64], weights: &[f64], scale: f64, by_weight: &mut [f64]) -> f64 {
        let mut energy = 0.0;
        self.each(weights, |term, value, slopes| {
            let c = coefficients[term];
            energy += c * value;
            slopes.iter().for_each(|&(form, slope)| by_weight[form] += scale * c * slope);
        });
        energy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_terms() {
        for (n, degree, interior) in [(2, 1, 0), (2, 6, 2), (3, 2, 1), (3, 5, 1), (3, 4, 2), (4, 4, 2)] {
            let basis = SimplexBasis::new(n, degree).with_interior(interior);
            let weights: Vec<f64> = (0..n).map(|k| [0.55, -0.08, 0.33, 0.2][k]).collect();
            let gradients = basis.gradients(&weights);
            assert_eq!(basis.values(&weights).len(), basis.len());
            for form in 0..n {
                let at = |h: f64| {
                    let mut w = weights.clone();
                    w[form] += h;
                    basis.values(&w)
                };
                let (up, down) = (at(1e-5), at(-1e-5));
                for term in 0..basis.len() {
                    let numerical = (up[term] - down[term]) / 2e-5;
                    assert!((gradients[term * n + form] - numerical).abs() < 1e-8, "{n} {degree} {term} {form}");
                }
            }
            let coefficients: Vec<f64> = (0..basis.len()).map(|k| 1.0 + k as f64).collect();
            let mut slopes = vec![1.0; n];
            let energy = basis.evaluate(&coefficients, &weights, -2.0, &mut slopes);
            let expected: f64 = basis.values(&weights).iter().zip(&coefficients).map(|(v, c)| v * c).sum();
            assert!((energy - expected).abs() < 1e-12);
            for (form, slope) in slopes.iter().enumerate() {
                let sum: f64 = coefficients.iter().enumerate().map(|(t, c)| c * gradients[t * n + form]).sum();
                assert!((slope - (1.0 - 2.0 * sum)).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn any_polynomial_along_an_edge_can_be_had() {
        // F(t) = t² − t = −λ_0 λ_1 and t³: = t − λ_0λ_1 (3/2 + (λ_1−λ_0)/2).
        let basis = SimplexBasis::new(2, 3);
        for t in [-0.1, 0.0, 0.3, 1.0, 1.1] {
            let mut ignored = [0.0; 2];
            let square = basis.evaluate(&[0.0, -1.0, 0.0], &[1.0 - t, t], 0.0, &mut ignored);
            assert!((square - (t * t - t)).abs() < 1e-15);
            let cube = basis.evaluate(&[1.0, -1.5, -0.5], &[1.0 - t, t], 0.0, &mut ignored);
            assert!((cube - t * t * t).abs() < 1e-14, "{t} {cube}");
        }
    }

    #[test]
    fn any_quadratic_factor_of_three_weights_can_be_had() {
        // λ_0² = (1 − λ_1 − λ_2)² = 1 − λ_1 − λ_2 − λ_0 λ_1 − λ_0 λ_2 where the weights add up to 1.
        let basis = SimplexBasis::new(3, 3).with_interior(2);
        let mut coefficients = vec![0.0; basis.len()];
        let triples = basis.len() - 6;
        coefficients[triples..].copy_from_slice(&[1.0, -1.0, -1.0, 0.0, -1.0, -1.0]);
        for [y, z] in [[0.2, 0.3], [-0.1, 0.5], [0.7, 0.4]] {
            let x = 1.0 - y - z;
            let found = basis.evaluate(&coefficients, &[x, y, z], 0.0, &mut [0.0; 3]);
            assert!((found - x * y * z * x * x).abs() < 1e-15, "{found}");
        }
        assert_eq!([0, 1, 2].map(|d| SimplexBasis::new(4, 3).with_interior(d).len()), [3 + 12 + 4, 15 + 12, 15 + 24]);
    }

    #[test]
    fn more_terms_leave_the_free_energy_as_it_is() {
        for (n, few, many) in [(2, (1, 0), (4, 0)), (3, (2, 0), (3, 1)), (3, (5, 1), (6, 2)), (4, (3, 0), (4, 2))] {
            let [few, many] =
                [few, many].map(|(degree, interior)| SimplexBasis::new(n, degree).with_interior(interior));
            let coefficients: Vec<f64> = (0..few.len()).map(|k| 1.0 + k as f64).collect();
            let raised = few.raised(&coefficients, &many);
            assert_eq!(raised.len(), many.len());
            let weights: Vec<f64> = (0..n).map(|k| [0.5, -0.1, 0.4, 0.2][k]).collect();
            let at = |basis: SimplexBasis, c: &[f64]| basis.evaluate(c, &weights, 0.0, &mut vec![0.0; n]);
            assert!((at(few, &coefficients) - at(many, &raised)).abs() < 1e-12);
        }
    }

    #[test]
    #[should_panic(expected = "does not have all terms of")]
    fn fewer_terms_are_not_taken_for_more() {
        let basis = SimplexBasis::new(3, 3).with_interior(1);
        basis.raised(&vec![1.0; basis.len()], &SimplexBasis::new(3, 4));
    }

    #[test]
    #[should_panic(expected = "3 coefficients of the 4 terms")]
    fn every_term_has_its_coefficient() {
        SimplexBasis::new(2, 4).raised(&[1.0; 3], &SimplexBasis::new(2, 5));
    }

    #[test]
    fn vertices_have_the_linear_coefficients() {
        let basis = SimplexBasis::new(3, 6);
        assert_eq!(basis.len(), 2 + 3 * 5 + 1);
        assert_eq!(
            [(2, 6), (3, 1), (3, 2), (4, 3)].map(|(n, d)| SimplexBasis::new(n, d).len()),
            [6, 2, 5, 3 + 6 * 2 + 4]
        );
        let coefficients: Vec<f64> = (0..basis.len()).map(|k| 10.0 + k as f64).collect();
        let at = |w: [f64; 3]| basis.evaluate(&coefficients, &w, 0.0, &mut [0.0; 3]);
        assert_eq!([at([1.0, 0.0, 0.0]), at([0.0, 1.0, 0.0]), at([0.0, 0.0, 1.0])], [0.0, 10.0, 11.0]);
    }
}
