//! ∇ of expansions in real solid harmonics, as sparse tables.
//!
//! ∂ lowers the degree of regular harmonics and raises that of irregular ones by one; ∂_x and ∂_y lead from m ± 1 to m, and ∂_z from m to m.

use crate::operators::harmonics::{count, index, sqrt_factorials};

/// Sparse ∇: for each coefficient of the result, where its x (0–1), y (2–3) and z (4) derivatives come from, and the weights.
pub type Gradient = Vec<([u32; 5], [f64; 5])>;

/// Sparse form of ∇: for each coefficient (j, k) of order p − 1, where the x, y and z derivatives of an expansion of order p come from.
///
/// ∂_x Σ L R̂ = Σ_jk R̂_jk Σ_e w_e L_s(e), s = sources and w = weights, with entries 0–1 for x, 2–3 for y and 4 for z (weight 0 where there is none).
pub fn gradient(p: usize) -> Gradient {
    let root = sqrt_factorials(2 * p);
    let half = 0.5;
    let diagonal = std::f64::consts::FRAC_1_SQRT_2;
    let mut out = vec![([0u32; 5], [0.0; 5]); count(p.max(1) - 1)];
    for l in 1..=p {
        for m in -(l as isize)..=l as isize {
            let k = m.abs();
            let mut add = |axis: usize, to: isize, weight: f64| {
                if to.unsigned_abs() > l - 1 || weight == 0.0 {
                    return;
                }
                let (a, b) = (k as usize, to.unsigned_abs());
                let norm = root[l - a] * root[l + a] / (root[l - 1 - b] * root[l - 1 + b]);
                let (sources, weights) = &mut out[index(l - 1, to)];
                let slots = [0..2, 2..4, 4..5][axis].clone();
                for slot in slots {
                    if weights[slot] == 0.0 {
                        sources[slot] = index(l, m) as u32;
                        weights[slot] = weight * norm;
                        return;
                    }
                }
            };
            add(2, m, 1.0);
            match m {
                0 => {
                    add(0, 1, -diagonal);
                    add(1, -1, -diagonal);
                }
                1.. => {
                    add(0, k - 1, if k == 1 { diagonal } else { half });
                    add(0, k + 1, -half);
                    add(1, -(k - 1), if k == 1 { 0.0 } else { -half });
                    add(1, -(k + 1), -half);
                }
                _ => {
                    add(0, -(k - 1), if k == 1 { 0.0 } else { half });
                    add(0, -(k + 1), -half);
                    add(1, k - 1, if k == 1 { diagonal } else { half });
                    add(1, k + 1, half);
                }
            }
        }
    }
    out
}

/// ∇ of irregular harmonics, in the form of [`gradient`]: for each coefficient (j, k) of order p + 1, where the x,
/// y and z derivatives of Σ_lm M_lm Î_lm of order p come from.
///
/// With ∂_± = ∂_x ± i∂_y, the complex harmonics obey ∂_z I_l^m = −I_{l+1}^m, ∂_+ I_l^m = −I_{l+1}^{m+1}, ∂_− I_l^m = I_{l+1}^{m−1}
/// (White & Head-Gordon 1994, doi:10.1063/1.468354, with the signs of `harmonics.rs`); real and imaginary parts times N_{l+1,k}/N_lm follow.
pub fn gradient_irregular(p: usize) -> Gradient {
    let diagonal = std::f64::consts::FRAC_1_SQRT_2;
    // N_{l+1,b} / N_{l,a} for |a − b| ≤ 1.
    let ratio = |l: usize, a: usize, b: usize| {
        let product = match b {
            _ if b == a => (l + 1 - a) * (l + 1 + a),
            _ if b > a => (l + 1 + a) * (l + 2 + a),
            _ => (l + 1 - a) * (l + 2 - a),
        };
        (product as f64).sqrt()
    };
    let mut out = vec![([0u32; 5], [0.0; 5]); count(p + 1)];
    for l in 0..=p {
        for m in -(l as isize)..=l as isize {
            let k = m.unsigned_abs();
            let mut add = |first: usize, last: usize, to: isize, weight: f64| {
                let (sources, weights) = &mut out[index(l + 1, to)];
                if let Some(slot) = (first..=last).find(|s| weights[*s] == 0.0) {
                    sources[slot] = index(l, m) as u32;
                    weights[slot] = weight * ratio(l, k, to.unsigned_abs());
                }
            };
            let (up, down) = (m.abs() + 1, m.abs() - 1);
            add(4, 4, m, -1.0);
            match m {
                0 => {
                    add(0, 1, 1, -diagonal);
                    add(2, 3, -1, -diagonal);
                }
                1.. => {
                    add(0, 1, up, -0.5);
                    add(2, 3, -up, -0.5);
                    add(0, 1, down, if k == 1 { diagonal } else { 0.5 });
                    if k > 1 {
                        add(2, 3, -down, -0.5);
                    }
                }
                _ => {
                    add(0, 1, -up, -0.5);
                    add(2, 3, up, 0.5);
                    add(2, 3, down, if k == 1 { diagonal } else { 0.5 });
                    if k > 1 {
                        add(0, 1, -down, 0.5);
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
    use crate::operators::harmonics::regular;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn gradient_matches_finite_difference() {
        let (p, at, h) = (9, [0.3, -0.2, 0.4], 1e-5);
        let local: Vec<f64> = (0..count(p)).map(|i| ((i * 7919) % 101) as f64 / 50.0 - 1.0).collect();
        let table = gradient(p);
        let r = regular(p - 1, at);
        for axis in 0..3 {
            let slots = [0..2, 2..4, 4..5][axis].clone();
            let exact: f64 = table
                .iter()
                .zip(&r)
                .map(|((s, w), r)| r * slots.clone().map(|e| w[e] * local[s[e] as usize]).sum::<f64>())
                .sum();
            let (mut a, mut b) = (at, at);
            a[axis] += h;
            b[axis] -= h;
            let difference = (dot(&local, &regular(p, a)) - dot(&local, &regular(p, b))) / (2.0 * h);
            // Central differences: h² f''' ≈ 1e-9.
            assert!((exact - difference).abs() < 1e-7 * exact.abs().max(1.0), "{exact} {difference}");
        }
    }
}
