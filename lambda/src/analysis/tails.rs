//! How often a sum of squares exceeds a value by chance: whether differences are larger than their errors explain.
//!
//!   P(χ²_k > x) = Q(k/2, x/2)          P(F_{k,ν} > x) = I_{ν/(ν + k x)}(ν/2, k/2)
//!
//! Q: regularised upper incomplete Γ function (DLMF 8.2.4); I: regularised incomplete B function (DLMF 8.17.2). F is χ²_k/k where errors are estimates
//! themselves, with ν degrees of freedom.

use statrs::function::{beta::beta_reg, gamma::gamma_ur};

/// Probability that χ² of `degrees` degrees of freedom exceeds `value`; 1 without any.
pub fn chi_squared(value: f64, degrees: usize) -> f64 {
    if degrees == 0 || value <= 0.0 {
        return 1.0;
    }
    if value.is_finite() { gamma_ur(0.5 * degrees as f64, 0.5 * value) } else { 0.0 }
}

/// Probability that F exceeds `value` with `degrees` degrees of freedom of the numerator and `of_errors` (more than 0) of the denominator; 1 without any.
pub fn f(value: f64, degrees: usize, of_errors: f64) -> f64 {
    if degrees == 0 || value <= 0.0 {
        return 1.0;
    }
    let share = of_errors / (of_errors + degrees as f64 * value);
    beta_reg(0.5 * of_errors, 0.5 * degrees as f64, share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One and two degrees of freedom have closed forms; the others are tabulated (Abramowitz & Stegun 1964, table 26.8).
    #[test]
    fn known_values_of_chi_squared() {
        for x in [0.01_f64, 0.5, 1.0, 3.0, 20.0, 100.0] {
            let (one, two) = (libm::erfc((0.5 * x).sqrt()), (-0.5 * x).exp());
            assert!((chi_squared(x, 1) / one - 1.0).abs() < 1e-10, "{x}: {} {one}", chi_squared(x, 1));
            assert!((chi_squared(x, 2) / two - 1.0).abs() < 1e-10, "{x}: {} {two}", chi_squared(x, 2));
        }
        // Five digits of the table.
        for (x, degrees, p) in [(23.2093, 10, 0.01), (15.9872, 10, 0.1), (3.94030, 10, 0.95), (135.807, 100, 0.01)] {
            assert!((chi_squared(x, degrees) / p - 1.0).abs() < 1e-4, "{x} {degrees}: {}", chi_squared(x, degrees));
        }
        // Thousands of degrees of freedom are usual: z = (x/k)^⅓ is normal with the variance 2/9k (Wilson & Hilferty 1931).
        let z = ((1.05_f64).cbrt() - 1.0 + 2.0 / 90_000.0) / (2.0_f64 / 90_000.0).sqrt();
        assert!((chi_squared(10_500.0, 10_000) / (0.5 * libm::erfc(z / 2.0_f64.sqrt())) - 1.0).abs() < 0.01);
        assert_eq!([chi_squared(3.0, 0), chi_squared(0.0, 4), chi_squared(f64::INFINITY, 4)], [1.0, 1.0, 0.0]);
    }

    /// (1 + 2x/ν)^(−ν/2) for two degrees of freedom of the numerator; χ² for exact errors; the others are tabulated (Abramowitz & Stegun 1964, table 26.9).
    #[test]
    fn known_values_of_f() {
        for (x, of_errors) in [(0.1_f64, 3.0_f64), (2.0, 7.5), (30.0, 4.0)] {
            let exact = (1.0 + 2.0 * x / of_errors).powf(-0.5 * of_errors);
            assert!((f(x, 2, of_errors) / exact - 1.0).abs() < 1e-10, "{x} {of_errors}: {}", f(x, 2, of_errors));
        }
        assert!((f(1.8, 10, 1e8) / chi_squared(18.0, 10) - 1.0).abs() < 1e-5);
        for (x, degrees, of_errors, p) in
            [(6.61, 1, 5.0, 0.05), (11.39, 4, 5.0, 0.01), (2.51, 6, 24.0, 0.05), (3.37, 10, 20.0, 0.01)]
        {
            assert!((f(x, degrees, of_errors) / p - 1.0).abs() < 0.01, "{x}: {}", f(x, degrees, of_errors));
        }
        assert_eq!([f(3.0, 0, 4.0), f(0.0, 4, 4.0), f(f64::INFINITY, 4, 4.0)], [1.0, 1.0, 0.0]);
    }
}
