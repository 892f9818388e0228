//! Real solid harmonics and the matrices that shift expansions.
//!
//! With the complex solid harmonics R_l^m = r^l P_l^m(cos θ) e^{imφ} / (l+m)! and
//! I_l^m = (l−m)! P_l^m(cos θ) e^{imφ} / r^{l+1} (no Condon–Shortley phase), the real ones are
//! √2 Re for m > 0, the zonal one for m = 0 and √2 Im for m < 0, so that 1/|r−r'| = Σ_lm R_lm(r') I_lm(r).
//! Everything stored is normalised by N_lm = √((l−|m|)! (l+|m|)!): R̂ = N R, Î = I / N. Then |R̂_lm| ≤ √2 r^l, and with lengths
//! in units of the box size all operators have entries of order one: no overflow at any order, in f32 as in f64.
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
fn complex(values: &[f64], l: usize, m: isize) -> Complex64 {
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

/// Real 2×2 block (target cos/sin × source cos/sin) of one pair of magnetic numbers.
struct Block {
    cc: f64,
    cs: f64,
    sc: f64,
    ss: f64,
}

fn store(out: &mut [f64], n: usize, (l, m): (usize, usize), (j, k): (usize, usize), b: &Block) {
    let (m, k) = (m as isize, k as isize);
    out[index(j, k) * n + index(l, m)] = b.cc;
    if m > 0 {
        out[index(j, k) * n + index(l, -m)] = b.sc;
    }
    if k > 0 {
        out[index(j, -k) * n + index(l, m)] = b.cs;
    }
    if m > 0 && k > 0 {
        out[index(j, -k) * n + index(l, -m)] = b.ss;
    }
}

/// M2M operator of order `p`, row-major [child (j,k)][parent (l,m)]: the child's centre lies at `shift` (in units of the parent's scale)
/// from the parent's, and the child's scale is half the parent's. Its transpose times ½ is L2L.
pub fn m2m(p: usize, shift: [f64; 3]) -> Vec<f64> {
    let n = count(p);
    let root = sqrt_factorials(2 * p);
    let at = regular(p, shift);
    let value = |l: usize, m: isize| {
        let k = m.unsigned_abs();
        if k > l { Complex64::new(0.0, 0.0) } else { complex(&at, l, m) / (root[l - k] * root[l + k]) }
    };
    let root2 = std::f64::consts::SQRT_2;
    let mut out = vec![0.0; n * n];
    for l in 0..=p {
        for m in 0..=l {
            for j in 0..=l {
                for k in 0..=j {
                    let norm = root[l - m] * root[l + m] / (root[j - k] * root[j + k]) * 0.5f64.powi(j as i32);
                    let (ms, ks) = (m as isize, k as isize);
                    let a = value(l - j, ms - ks) * norm;
                    let b = value(l - j, ms + ks) * if k % 2 == 0 { norm } else { -norm };
                    let block = match (m, k) {
                        (0, 0) => Block { cc: a.re, cs: 0.0, sc: 0.0, ss: 0.0 },
                        (_, 0) => Block { cc: root2 * a.re, cs: 0.0, sc: root2 * a.im, ss: 0.0 },
                        (0, _) => Block { cc: root2 * a.re, cs: -root2 * a.im, sc: 0.0, ss: 0.0 },
                        _ => Block { cc: a.re + b.re, cs: b.im - a.im, sc: a.im + b.im, ss: a.re - b.re },
                    };
                    store(&mut out, n, (l, m), (j, k), &block);
                }
            }
        }
    }
    out
}

/// Sparse form of ∇: for each coefficient (j, k) of order p − 1, where the x, y and z derivatives of an expansion of order p come from.
///
/// ∂_x Σ L R̂ = Σ_jk R̂_jk Σ_e w_e L_s(e), s = sources and w = weights, with entries 0–1 for x, 2–3 for y and 4 for z (weight 0 where there is none).
pub fn gradient(p: usize) -> Vec<([u32; 5], [f64; 5])> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn apply(matrix: &[f64], row: &[f64]) -> Vec<f64> {
        let n = row.len();
        (0..n).map(|c| (0..n).map(|r| row[r] * matrix[r * n + c]).sum()).collect()
    }

    #[test]
    fn addition_theorem_gives_inverse_distance() {
        let (a, b) = ([0.2, -0.1, 0.15], [-1.1, 1.7, 0.9]);
        let exact = 1.0 / ((0..3).map(|i| (a[i] - b[i]) * (a[i] - b[i])).sum::<f64>()).sqrt();
        // |a|/|b| = 0.12: order 20 leaves 0.12^21 = 1e-19.
        assert!((dot(&regular(20, a), &irregular(20, b)) - exact).abs() < 1e-15);
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

    #[test]
    fn m2m_shifts_regular_harmonics_exactly() {
        let (p, shift, child) = (12, [0.25, -0.25, 0.2], [0.31, -0.44, 0.17]);
        let moved = apply(&m2m(p, shift), &regular(p, child));
        let direct = regular(p, [0, 1, 2].map(|i| shift[i] + 0.5 * child[i]));
        for (a, b) in moved.iter().zip(&direct) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
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
