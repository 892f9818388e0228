//! Which polynomial windows ask for.
//!
//! The corrected Akaike criterion chooses, which takes the errors of the windows for estimates and is slow to give fifteen of them one more coefficient. Where they are known so well that
//! the polynomial does not follow them, which would make the correction preliminary, the lowest degree that does follow is taken instead.

use super::verdict;
use lambda::analysis::simplex_fit::{FitError, SimplexFit, Window, fit_best};
use lambda::analysis::symmetry::Symmetry;

/// Highest degree that is chosen unless the job names one. The slope of Lys with scaled charges along λ needs 9: polynomials of degree 7 and 8 leave
/// a χ² of 4.3 and 4.8 for each degree of freedom, one of degree 9 leaves 1.0.
const MAX_DEGREE: usize = 10;

/// The fit to these windows, of the degree that the job names or of one that is chosen.
///
/// # Errors
/// [`FitError`] if the windows do not determine it.
pub(super) fn fitted(windows: &[Window], degree: Option<u32>, symmetry: &Symmetry) -> Result<SimplexFit, FitError> {
    if let Some(degree) = degree {
        return fit_best(windows, degree as usize..=degree as usize, symmetry);
    }
    let best = fit_best(windows, 1..=MAX_DEGREE, symmetry)?;
    if verdict::follows(&best) {
        return Ok(best);
    }
    let higher = best.surface.basis.degree() + 1..=MAX_DEGREE;
    let mut higher = higher.filter_map(|degree| fit_best(windows, degree..=degree, symmetry).ok());
    Ok(higher.find(verdict::follows).unwrap_or(best))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    /// λ, ⟨∂V/∂λ⟩ and its error (kJ/mol) of the amino end of Gly with scaled charges, 28 November 2026.
    const GLY: [[f64; 3]; 15] = [
        [-0.06, 532.562, 0.542],
        [-0.03, 518.938, 0.560],
        [0.0, 507.627, 0.529],
        [0.05, 486.988, 0.579],
        [0.1, 465.472, 0.555],
        [0.2, 425.998, 0.553],
        [0.35, 366.448, 0.524],
        [0.5, 309.913, 0.484],
        [0.65, 252.666, 0.514],
        [0.8, 186.095, 0.664],
        [0.9, 121.205, 0.784],
        [0.95, 87.099, 0.740],
        [1.0, 53.522, 0.709],
        [1.03, 34.762, 0.714],
        [1.06, 14.695, 0.719],
    ];

    /// By the criterion alone the degree is 7, with χ² = 4.85 for each degree of freedom. The free energy does not depend on it.
    #[test]
    fn a_higher_degree_is_taken_where_the_chosen_one_does_not_follow() {
        let window = |[at, slope, error]: [f64; 3]| Window {
            weights: vec![1.0 - at, at],
            slopes: vec![slope],
            covariance: DMatrix::from_element(1, 1, error * error),
            frames: 3600,
            samples: 3000.0,
        };
        let (windows, symmetry) = (GLY.map(window), Symmetry::none(2));
        let alone = fit_best(&windows, 1..=MAX_DEGREE, &symmetry).unwrap();
        let found = fitted(&windows, None, &symmetry).unwrap();
        let degree = |fit: &SimplexFit| fit.surface.basis.degree();
        assert_eq!((degree(&alone), degree(&found)), (7, 10));
        assert!(!verdict::follows(&alone) && verdict::follows(&found));
        let free_energy = |fit: &SimplexFit| fit.surface.forms()[1];
        assert!((free_energy(&alone).value - free_energy(&found).value).abs() < 0.1);
        assert_eq!(degree(&fitted(&windows, Some(5), &symmetry).unwrap()), 5);
    }
}
