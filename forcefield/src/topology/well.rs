//! σ and ε of Lennard-Jones interactions, and the rule that combines those of two types.

/// V = 4 ε ((σ/r)¹² − (σ/r)⁶).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Well {
    /// Distance at which V is zero, nm.
    pub sigma: f64,
    /// Depth, kJ/mol.
    pub epsilon: f64,
}

impl Well {
    /// Of c6 (kJ/mol nm⁶) and c12 (kJ/mol nm¹²); none unless both are positive.
    pub fn of((c6, c12): (f64, f64)) -> Option<Self> {
        (c6 > 0.0 && c12 > 0.0).then(|| Self { sigma: (c12 / c6).powf(1.0 / 6.0), epsilon: c6 * c6 / (4.0 * c12) })
    }

    /// c6 (kJ/mol nm⁶) and c12 (kJ/mol nm¹²).
    pub fn coefficients(self) -> (f64, f64) {
        let s6 = self.sigma.powi(6);
        (4.0 * self.epsilon * s6, 4.0 * self.epsilon * s6 * s6)
    }

    /// With another type by the rule of Lorentz and Berthelot: the mean σ, the geometric mean ε.
    pub fn with(self, other: Self) -> Self {
        Self { sigma: 0.5 * (self.sigma + other.sigma), epsilon: (self.epsilon * other.epsilon).sqrt() }
    }

    /// The type with which `own` gives this well by that rule; none if there is none.
    pub fn without(self, own: Self) -> Option<Self> {
        let sigma = 2.0 * self.sigma - own.sigma;
        (sigma > 0.0).then(|| Self { sigma, epsilon: self.epsilon * self.epsilon / own.epsilon })
    }

    /// Whether σ and ε of both are the same in the seven digits that files have.
    pub fn is_same(self, other: Self) -> bool {
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs();
        same(self.sigma, other.sigma) && same(self.epsilon, other.epsilon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_combined_is_found_again() {
        let (own, other) = (Well { sigma: 0.16, epsilon: 0.19 }, Well { sigma: 0.31, epsilon: 0.63 });
        let both = Well::of(own.with(other).coefficients()).unwrap();
        assert!(both.is_same(Well { sigma: 0.235, epsilon: (0.19f64 * 0.63).sqrt() }), "{both:?}");
        assert!(both.without(own).unwrap().is_same(other) && !both.is_same(other));
        assert_eq!(Well { sigma: 0.05, epsilon: 0.1 }.without(own), None);
        assert!(Well::of((0.0, 1e-9)).is_none() && Well::of((1e-9, 0.0)).is_none());
    }
}
