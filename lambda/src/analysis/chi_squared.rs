//! How often χ² of a number of degrees of freedom exceeds a value: whether differences are larger than their errors explain.
//!
//!   P(χ²_k > x) = Q(k/2, x/2),     Q(a, z) = Γ(a, z)/Γ(a)
//!
//! by the series of the lower incomplete Γ function for z < a + 1 (DLMF 8.7.1), by Lentz' continued fraction of the upper one elsewhere
//! (DLMF 8.9.2).

/// Terms, at most; √a times ten are needed.
const TERMS: usize = 10_000;
/// Relative error of a sum that has converged.
const PRECISION: f64 = 1e-14;

/// Probability that χ² of `degrees` degrees of freedom exceeds `value`; 1 without any.
pub fn exceeded(value: f64, degrees: usize) -> f64 {
    let (a, z) = (0.5 * degrees as f64, 0.5 * value);
    if degrees == 0 || z <= 0.0 {
        return 1.0;
    }
    if !z.is_finite() {
        return 0.0;
    }
    let scale = (a * z.ln() - z - libm::lgamma(a)).exp();
    if z < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for n in 1..TERMS {
            term *= z / (a + n as f64);
            sum += term;
            if term < PRECISION * sum {
                break;
            }
        }
        return 1.0 - scale * sum;
    }
    let mut b = z + 1.0 - a;
    let (mut c, mut d) = (1.0 / f64::MIN_POSITIVE, 1.0 / b);
    let mut fraction = d;
    for n in 1..TERMS {
        let n = n as f64;
        let a_n = -n * (n - a);
        b += 2.0;
        d = 1.0 / (a_n * d + b);
        c = b + a_n / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < PRECISION {
            break;
        }
    }
    scale * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One and two degrees of freedom have closed forms; the others are tabulated (Abramowitz & Stegun 1964, table 26.8).
    #[test]
    fn known_values() {
        for x in [0.01_f64, 0.5, 1.0, 3.0, 20.0, 100.0] {
            let (one, two) = (libm::erfc((0.5 * x).sqrt()), (-0.5 * x).exp());
            assert!((exceeded(x, 1) / one - 1.0).abs() < 1e-10, "{x}: {} {one}", exceeded(x, 1));
            assert!((exceeded(x, 2) / two - 1.0).abs() < 1e-10, "{x}: {} {two}", exceeded(x, 2));
        }
        // Five digits of the table.
        for (x, degrees, p) in [(23.2093, 10, 0.01), (15.9872, 10, 0.1), (3.94030, 10, 0.95), (135.807, 100, 0.01)] {
            assert!((exceeded(x, degrees) / p - 1.0).abs() < 1e-4, "{x} {degrees}: {}", exceeded(x, degrees));
        }
        assert_eq!([exceeded(3.0, 0), exceeded(0.0, 4), exceeded(f64::INFINITY, 4)], [1.0, 1.0, 0.0]);
    }
}
