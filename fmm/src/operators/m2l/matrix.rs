//! M2L as a dense matrix between real solid harmonics.
//!
//!   L_lm = Σ_jk M_jk T_jk,lm(t),   t from the centre of the source box to that of the target box
//!
//! The matrix is linear in the irregular harmonics at t, so that it serves a single pair of boxes, a lattice sum over all images, and a wave
//! vector of a whole grid alike.
//! C. A. White, M. Head-Gordon, J. Chem. Phys. 101, 6593 (1994), doi:10.1063/1.468354, in the normalisation of `harmonics.rs`.

use crate::operators::harmonics::{count, sqrt_factorials};

/// Which form of the M2L operator [`m2l`] builds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Between two boxes: `irregular` at the vector from source to target centre.
    Space,
    /// For one wave vector of a periodic grid of boxes: `irregular` holds the Fourier coefficients without their phase (−i)^l, and the
    /// expansions are multiplied by (−i)^(l mod 2): sign −1 where both orders are odd.
    Fourier,
}

/// M2L operator of order `p`, row-major [source (j,k)][target (l,m)], from irregular harmonics up to order 2p.
///
/// Any table of coefficients will do: one point, a lattice sum, a Fourier coefficient; the operator is linear in it. With the complex
/// values V_LM = N_LM I_L^M / √2^(M≠0), V_{L,−M} = (−1)^M V*_LM, and n = 1/N, times 1/√2 where m = 0, the elements are n_lm n_jk times
/// the real and imaginary parts of ± V_{l+j,m+k} ± V_{l+j,m−k}.
pub fn m2l(p: usize, irregular: &[f64], domain: Domain) -> Vec<f64> {
    let n = count(p);
    let root = sqrt_factorials(4 * p);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // Real and imaginary parts of V at index(L, M).
    let (mut re, mut im) = (vec![0.0; count(2 * p)], vec![0.0; count(2 * p)]);
    for l in 0..=2 * p {
        let middle = l * l + l;
        re[middle] = irregular[middle] * root[l] * root[l];
        for m in 1..=l {
            let norm = half * root[l - m] * root[l + m];
            let (a, b) = (irregular[middle + m] * norm, irregular[middle - m] * norm);
            (re[middle + m], im[middle + m]) = (a, b);
            (re[middle - m], im[middle - m]) = if m % 2 == 0 { (a, -b) } else { (-a, b) };
        }
    }
    // n_lm at l(l+1)/2 + m, with the sign (−1)^l.
    let norms: Vec<f64> = (0..=p)
        .flat_map(|l| (0..=l).map(move |m| (l, m)))
        .map(|(l, m)| {
            let sign = if l % 2 == 0 { 1.0 } else { -1.0 };
            sign * if m == 0 { half } else { 1.0 } / (root[l - m] * root[l + m])
        })
        .collect();
    let mut out = vec![0.0; n * n];
    let mut unused = vec![0.0; n];
    for j in 0..=p {
        for k in 0..=j {
            let source = norms[j * (j + 1) / 2 + k].abs();
            let odd = if k % 2 == 0 { 1.0 } else { -1.0 };
            let (below, above) = out.split_at_mut((j * j + j + k) * n);
            let cosine = &mut above[..n];
            let sine = if k > 0 { &mut below[(j * j + j - k) * n..][..n] } else { &mut unused[..] };
            for l in 0..=p {
                let flip = domain == Domain::Fourier && l % 2 == 1 && j % 2 == 1;
                let source = if flip { -source } else { source };
                let norms = &norms[l * (l + 1) / 2..][..=l];
                let middle = (l + j) * (l + j + 1);
                let [re_plus, im_plus] = [&re, &im].map(|v| &v[middle + k..][..=l]);
                let [re_minus, im_minus] = [&re, &im].map(|v| &v[middle - k..][..=l]);
                let (cs, cc) = cosine[l * l..].split_at_mut(l);
                let (ss, sc) = sine[l * l..].split_at_mut(l);
                let (cc, sc) = (&mut cc[..=l], &mut sc[..=l]);
                for m in 0..=l {
                    let norm = source * norms[m];
                    let other = norm * odd;
                    cc[m] = norm * re_plus[m] + other * re_minus[m];
                    sc[m] = norm * im_plus[m] - other * im_minus[m];
                    if m > 0 {
                        cs[l - m] = norm * im_plus[m] + other * im_minus[m];
                        ss[l - m] = other * re_minus[m] - norm * re_plus[m];
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::harmonics::{irregular, regular};

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn apply(matrix: &[f64], row: &[f64]) -> Vec<f64> {
        let n = row.len();
        (0..n).map(|c| (0..n).map(|r| row[r] * matrix[r * n + c]).sum()).collect()
    }

    #[test]
    fn m2l_of_two_boxes_matches_inverse_distance() {
        let (source, target, t) = ([0.11, -0.07, 0.05], [0.02, 0.09, -0.12], [-1.9, 2.1, 0.4]);
        let p = 22;
        let operator = m2l(p, &irregular(2 * p, t), Domain::Space);
        let local = apply(&operator, &regular(p, source));
        let exact = 1.0 / ((0..3).map(|i| (t[i] + target[i] - source[i]).powi(2)).sum::<f64>()).sqrt();
        assert!((dot(&local, &regular(p, target)) / exact - 1.0).abs() < 1e-14);
    }

    #[test]
    fn m2l_is_finite_in_f32_range_at_order_sixty() {
        let largest =
            m2l(60, &irregular(120, [2.0, 0.0, 0.0]), Domain::Space).iter().fold(0.0f64, |a, v| a.max(v.abs()));
        // Entries are bounded by 2^(l+j) / 2^(l+j+1), times 2 for the real basis.
        assert!(largest <= 1.0 && largest > 0.1, "{largest}");
    }
}
