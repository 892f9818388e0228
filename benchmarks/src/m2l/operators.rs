//! M2L operators as padded matrices, and their symmetries: 316 offsets are 34 operators times signs and an exchange of x and y.

use fmm::device::products::padded;
use fmm::harmonics::{count, index, irregular, parities};
use fmm::operators::m2l::matrix::{Domain, m2l};
use kernels::Real;

/// Offsets source − target in boxes between children of touching parents that do not touch themselves, ascending.
pub fn offsets() -> Vec<[i32; 3]> {
    let all = (0..343).map(|i| [i / 49 - 3, i / 7 % 7 - 3, i % 7 - 3]);
    all.filter(|u| u.iter().any(|u| i32::abs(*u) > 1)).collect()
}

/// Place of an offset in a table of all within three boxes.
pub fn place(u: [i32; 3]) -> usize {
    (49 * (u[0] + 3) + 7 * (u[1] + 3) + u[2] + 3) as usize
}

/// M2L operators of order `p` for `vectors` (source to target centre, in units of the scale), coefficients in the order of their index.
pub fn matrices<T: Real>(p: usize, vectors: &[[f64; 3]]) -> Vec<T> {
    let places: Vec<usize> = (0..count(p)).collect();
    padded(vectors.len(), &places, &|i| m2l(p, &irregular(2 * p, vectors[i]), Domain::Space))
}

/// Which operator an offset has, up to reflections and the exchange of x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symmetry {
    /// 0 ≤ x ≤ y, 0 ≤ z.
    pub class: [i32; 3],
    /// Whether x and y are exchanged, before the reflections.
    pub exchanged: bool,
    /// Bit a: reflection of axis a.
    pub reflections: u32,
}

impl Symmetry {
    /// That of `u`.
    pub fn of(u: [i32; 3]) -> Self {
        let [x, y, z] = u.map(i32::abs);
        let reflections = (0..3).filter(|a| u[*a as usize] < 0).map(|a: u32| 1 << a).sum();
        Self { class: [x.min(y), x.max(y), z], exchanged: x > y, reflections }
    }
}

/// The 34 classes, ascending.
pub fn classes() -> Vec<[i32; 3]> {
    let mut out: Vec<_> = offsets().into_iter().map(|u| Symmetry::of(u).class).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// For each of the eight sets of reflections, a bit for each coefficient: whether it changes sign.
pub fn sign_bits(p: usize) -> Vec<u32> {
    let parities = parities(p);
    let words = parities.len().div_ceil(32);
    let mut out = vec![0; 8 * words];
    for reflections in 0..8_usize {
        for (i, parity) in parities.iter().enumerate() {
            let sign: f64 = (0..3).filter(|a| reflections >> a & 1 == 1).map(|a| parity[a]).product();
            if sign < 0.0 {
                out[reflections * words + i / 32] |= 1 << (i % 32);
            }
        }
    }
    out
}

/// R̂_i(y, x, z) = ε_i R̂_π(x, y, z): π_i, and bit 16 where ε_i = −1.
pub fn exchange(p: usize) -> Vec<u32> {
    let of = |l: usize, m: isize| {
        let k = m.unsigned_abs();
        // Azimuth φ → π/2 − φ.
        let (to, negative) = match (k.is_multiple_of(2), m >= 0) {
            (true, true) => (m, k / 2 % 2 == 1),
            (true, false) => (m, (k / 2).is_multiple_of(2)),
            (false, _) => (-m, k / 2 % 2 == 1),
        };
        index(l, to) as u32 | u32::from(negative) << 16
    };
    (0..=p).flat_map(|l| (-(l as isize)..=l as isize).map(move |m| of(l, m))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmm::harmonics::regular;

    #[test]
    fn there_are_316_offsets_and_34_classes() {
        assert_eq!((offsets().len(), classes().len()), (316, 34));
    }

    #[test]
    fn reflections_and_exchange_act_on_harmonics_as_the_tables_say() {
        let (p, r) = (9, [0.3, -0.7, 0.4]);
        let plain = regular(p, r);
        let table = exchange(p);
        for (i, v) in regular(p, [r[1], r[0], r[2]]).iter().enumerate() {
            let sign = if table[i] >> 16 == 1 { -1.0 } else { 1.0 };
            let expected = sign * plain[(table[i] & 0xffff) as usize];
            assert!((v - expected).abs() < 1e-14, "{i}: {v} {expected}");
        }
        let (bits, words) = (sign_bits(p), count(p).div_ceil(32));
        for reflections in 0..8 {
            let mirrored = [0, 1, 2].map(|a| if reflections >> a & 1 == 1 { -r[a] } else { r[a] });
            for (i, v) in regular(p, mirrored).iter().enumerate() {
                let sign = if bits[reflections * words + i / 32] >> (i % 32) & 1 == 1 { -1.0 } else { 1.0 };
                assert!((v - sign * plain[i]).abs() < 1e-14, "{reflections} {i}");
            }
        }
    }
}
