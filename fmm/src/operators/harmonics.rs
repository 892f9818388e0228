//! Real solid harmonics: what expansions are made of.
//!
//! With the complex solid harmonics R_l^m = r^l P_l^m(cos θ) e^{imφ} / (l+m)! and
//! I_l^m = (l−m)! P_l^m(cos θ) e^{imφ} / r^{l+1} (no Condon–Shortley phase), the real ones are
//! √2 Re for m > 0, the zonal one for m = 0 and √2 Im for m < 0, so that 1/|r−r'| = Σ_lm R_lm(r') I_lm(r).
//! Everything stored is normalised by N_lm = √((l−|m|)! (l+|m|)!): R̂ = N R, Î = I / N. Then |R̂_lm| ≤ √2 r^l, and with lengths
//! in units of the box size all operators have entries of order one, so that nothing overflows at any order, in f32 as in f64.
//! Coefficient (l, m) sits at index l² + l + m; an expansion of order p has (p+1)² coefficients.
//!
//! Reference: C. A. White, M. Head-Gordon, J. Chem. Phys. 101, 6593 (1994), doi:10.1063/1.468354 (complex form of the operators).

use num_complex::Complex64;

/// Number of coefficients of an expansion of order `p`.
pub const fn count(p: usize) -> usize {
    (p + 1) * (p + 1)
}

/// Index of coefficient (l, m), −l ≤ m ≤ l.
pub const fn index(l: usize, m: isize) -> usize {
    ((l * l + l) as isize + m) as usize
}

/// √(n!) for n = 0..=n_max.
pub fn sqrt_factorials(n_max: usize) -> Vec<f64> {
    let mut table = vec![1.0; n_max + 1];
    for n in 1..=n_max {
        table[n] = table[n - 1] * (n as f64).sqrt();
    }
    table
}

/// Normalised real regular harmonics R̂_lm(r) up to order `p`.
pub fn regular(p: usize, r: [f64; 3]) -> Vec<f64> {
    let mut out = vec![0.0; count(p)];
    Recursion::new(p).regular(p, r, &mut out);
    out
}

/// Factors of the recursions of the harmonics, for many points.
pub struct Recursion {
    /// [`sectoral_factor`] of m = 0..=p.
    sectoral: Vec<f64>,
    /// [`recurrence`] of (l, m) at l² + m.
    factors: Vec<(f64, f64)>,
}

impl Recursion {
    /// Factors up to order `p`.
    pub fn new(p: usize) -> Self {
        let sectoral = (0..=p).map(|m| if m == 0 { 1.0 } else { sectoral_factor(m) }).collect();
        let factors = (0..=p).flat_map(|l| (0..=2 * l).map(move |m| recurrence(l, m.min(l)))).collect();
        Self { sectoral, factors }
    }

    /// R̂_lm(r) up to order `p`, not above that of the table, to the first (p+1)² elements of `out`.
    pub fn regular(&self, p: usize, r: [f64; 3], out: &mut [f64]) {
        let [x, y, z] = r;
        let r2 = x * x + y * y + z * z;
        let (mut c, mut s) = (1.0, 0.0);
        for m in 0..=p {
            if m > 0 {
                let f = self.sectoral[m];
                (c, s) = (f * (x * c - y * s), f * (x * s + y * c));
            }
            let (mut c0, mut s0, mut c1, mut s1) = (0.0, 0.0, c, s);
            for l in m..=p {
                let at = l * l + l;
                out[at - m] = s1;
                out[at + m] = c1;
                let (a, b) = self.factors[l * l + m];
                let (az, b) = (a * z, b * r2);
                (c0, c1) = (c1, az * c1 - b * c0);
                (s0, s1) = (s1, az * s1 - b * s0);
            }
        }
    }

    /// Î_lm(r), r ≠ 0, as [`regular`](Self::regular).
    pub fn irregular(&self, p: usize, r: [f64; 3], out: &mut [f64]) {
        let r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
        // Î is R̂ inverted in the unit sphere: R̂_lm(r) / r^{2l+1}.
        self.regular(p, r.map(|x| x / r2), out);
        let inv = 1.0 / r2.sqrt();
        out[..count(p)].iter_mut().for_each(|v| *v *= inv);
    }
}

/// Factor f_m of the sectoral step R̂_mm = f_m (x + iy) R̂_{m−1,m−1}, the √2 of m > 0 included.
pub fn sectoral_factor(m: usize) -> f64 {
    if m == 1 { 1.0 } else { ((2 * m - 1) as f64 / (2 * m) as f64).sqrt() }
}

/// Coefficients of R̂_{l+1,m} = a z R̂_lm − b r² R̂_{l−1,m}.
pub fn recurrence(l: usize, m: usize) -> (f64, f64) {
    let norm = (((l + 1) * (l + 1) - m * m) as f64).sqrt();
    ((2 * l + 1) as f64 / norm, ((l * l - m * m) as f64).sqrt() / norm)
}

/// Normalised real irregular harmonics Î_lm(r) up to order `p`, r ≠ 0.
pub fn irregular(p: usize, r: [f64; 3]) -> Vec<f64> {
    let mut out = vec![0.0; count(p)];
    Recursion::new(p).irregular(p, r, &mut out);
    out
}

/// Sign (±1) of harmonic (l, m) under reflection of each axis in turn.
pub fn parity(l: usize, m: isize) -> [f64; 3] {
    let sign = |odd: bool| if odd { -1.0 } else { 1.0 };
    let k = m.unsigned_abs();
    [sign((k % 2 == 1) != (m < 0)), sign(m < 0), sign((l + k) % 2 == 1)]
}

/// Table of [`parity`] for all coefficients up to order `p`.
pub fn parities(p: usize) -> Vec<[f64; 3]> {
    (0..=p).flat_map(|l| (-(l as isize)..=l as isize).map(move |m| parity(l, m))).collect()
}

/// Complex value of harmonic (l, m), any sign of m, from real ones (`values`, either kind, normalised).
pub(crate) fn complex(values: &[f64], l: usize, m: isize) -> Complex64 {
    let k = m.abs();
    if k as usize > l {
        return Complex64::new(0.0, 0.0);
    }
    if k == 0 {
        return Complex64::new(values[index(l, 0)], 0.0);
    }
    let v = Complex64::new(values[index(l, k)], values[index(l, -k)]) * std::f64::consts::FRAC_1_SQRT_2;
    match (m > 0, k % 2 == 0) {
        (true, _) => v,
        (false, true) => v.conj(),
        (false, false) => -v.conj(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn addition_theorem_gives_inverse_distance() {
        let (a, b) = ([0.2, -0.1, 0.15], [-1.1, 1.7, 0.9]);
        let exact = 1.0 / ((0..3).map(|i| (a[i] - b[i]) * (a[i] - b[i])).sum::<f64>()).sqrt();
        // |a|/|b| = 0.12: order 20 leaves 0.12^21 = 1e-19.
        assert!((dot(&regular(20, a), &irregular(20, b)) - exact).abs() < 1e-15);
    }

    #[test]
    fn parities_are_those_of_reflected_harmonics() {
        let at = [0.3, 0.5, -0.7];
        for axis in 0..3 {
            let mut mirrored = at;
            mirrored[axis] = -mirrored[axis];
            for ((a, b), s) in regular(7, at).iter().zip(regular(7, mirrored)).zip(parities(7)) {
                assert!((a * s[axis] - b).abs() < 1e-15);
            }
        }
    }
}
