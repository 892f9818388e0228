//! Philox4x32-10: four 32-bit numbers that are a function of a 128-bit counter and a 64-bit key, cheap enough for every atom in every step.
//!
//! A round multiplies two of the words by constants and mixes the halves of the products with the other words and the key; the key grows by Weyl
//! constants between rounds. Kernels on a device compute the same integers.
//!
//! Normal numbers by Box and Muller: √(−2 ln u) cos 2πw and √(−2 ln u) sin 2πw with u, w = (n + ½) 2⁻³², so that none is beyond 6.8 standard
//! deviations, where one of 10¹¹ would be. References: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, SC11 (2011), DOI 10.1145/2063384.2063405;
//! G. E. P. Box, M. E. Muller, Ann. Math. Stat. 29, 610 (1958), DOI 10.1214/aoms/1177706645.

use super::RandomStream;
use std::f64::consts::TAU;

/// Rounds.
const ROUNDS: usize = 10;
/// Factors of the first and of the third word.
const FACTORS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// What the words of the key grow by: parts of the golden ratio and of √3 − 1.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The four numbers of a counter under a key.
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for _ in 0..ROUNDS {
        let first = u64::from(FACTORS[0]) * u64::from(a);
        let second = u64::from(FACTORS[1]) * u64::from(c);
        (a, c) = ((second >> 32) as u32 ^ b ^ k, (first >> 32) as u32 ^ d ^ l);
        (b, d) = (second as u32, first as u32);
        (k, l) = (k.wrapping_add(WEYL[0]), l.wrapping_add(WEYL[1]));
    }
    [a, b, c, d]
}

/// Three normal numbers of one stream at one step for one item, such as an atom.
pub fn three_normals(seed: u64, stream: RandomStream, step: u64, index: u32) -> [f64; 3] {
    let words = philox([index, stream as u32, step as u32, (step >> 32) as u32], [seed as u32, (seed >> 32) as u32]);
    let [u, v, w, z] = words.map(|n| (f64::from(n) + 0.5) * (1.0 / 4_294_967_296.0));
    let [near, far] = [u, w].map(|u| (-2.0 * u.ln()).sqrt());
    let (sine, cosine) = (TAU * v).sin_cos();
    [near * cosine, near * sine, far * (TAU * z).cos()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the authors: `tests/kat_vectors` of Random123.
    #[test]
    fn numbers_are_those_of_random123() {
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(philox(pi, [0xa409_3822, 0x299f_31d0]), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn numbers_differ_in_every_part_of_the_key() {
        let of = |seed, step, index| three_normals(seed, RandomStream::Langevin, step, index);
        let reference = of(1, 5, 7);
        assert_eq!(reference, of(1, 5, 7));
        for other in [of(2, 5, 7), of(1 | 1 << 40, 5, 7), of(1, 6, 7), of(1, 5 | 1 << 40, 7), of(1, 5, 8)] {
            assert!(reference.iter().zip(&other).all(|(a, b)| a != b));
        }
        assert_ne!(reference, three_normals(1, RandomStream::Thermostat, 5, 7));
    }

    /// Moments of each of the three numbers, and products of different ones, of other atoms and of other steps.
    #[test]
    fn numbers_are_normal_and_independent() {
        let n = 200_000_u32;
        let of = |step| (0..n).map(|atom| three_normals(3, RandomStream::Langevin, step, atom)).collect::<Vec<_>>();
        let (now, next) = (of(10), of(11));
        let width = f64::from(n).sqrt();
        let mean = |value: &dyn Fn(usize) -> f64| (0..n as usize).map(value).sum::<f64>() / f64::from(n);
        for k in 0..3 {
            // Five standard errors: variances of x, x², x³ and x⁴ are 1, 2, 15 and 96.
            for (power, moment, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0_f64)] {
                let found = mean(&|i| now[i][k].powi(power));
                assert!((found - moment).abs() < 5.0 * variance.sqrt() / width, "{k}: moment {power} is {found}");
            }
            for l in 0..3 {
                // The numbers of the same step are other ones, unless k = l and the atom is the same.
                let pairs = [mean(&|i| now[i][k] * next[i][l]), mean(&|i| now[i][k] * now[(i + 1) % n as usize][l])];
                assert!(pairs.iter().all(|pair| pair.abs() < 5.0 / width), "{k}, {l}: {pairs:?}");
                if k != l {
                    let squares = mean(&|i| (now[i][k].powi(2) - 1.0) * (now[i][l].powi(2) - 1.0));
                    assert!(mean(&|i| now[i][k] * now[i][l]).abs() < 5.0 / width && squares.abs() < 10.0 / width);
                }
            }
        }
    }
}
