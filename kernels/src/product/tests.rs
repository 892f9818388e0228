//! Every instruction set against a plain f64 triple loop.

use super::*;
use crate::test_numbers::Numbers;

fn check<T: Real>(random: &mut Numbers, n_in: usize, n_out: usize, n_pairs: usize, spare: usize) {
    let (n_b, n_c) = (7, 5);
    let (b_stride, c_stride) = (n_in + spare, n_out + 2 * spare);
    let column = |random: &mut Numbers, n: usize| (0..n).map(|_| T::of(random.signed())).collect::<Vec<_>>();
    let matrix: Vec<f64> = column(random, n_in * n_out).into_iter().map(T::widen).collect();
    let b = column(random, n_b * b_stride - spare);
    let before = column(random, n_c * c_stride - 2 * spare);
    let pairs: Vec<_> =
        (0..n_pairs).map(|_| RowPair { target: random.below(n_c) as u32, source: random.below(n_b) as u32 }).collect();
    let mut truth: Vec<f64> = before.iter().map(|x| x.widen()).collect();
    for p in &pairs {
        for n in 0..n_out {
            for k in 0..n_in {
                truth[p.target as usize * c_stride + n] +=
                    b[p.source as usize * b_stride + k].widen() * matrix[k * n_out + n];
            }
        }
    }
    // A random walk of as many terms below 1, each addition rounded relative to where the walk is: √terms roundings
    // add up, each of about √terms units. A term left out would show as 0.3.
    let tolerance = T::epsilon().widen() * (n_pairs * n_in).max(1) as f64;
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let operator = Operator::<T>::for_isa(isa, n_in, n_out, &matrix);
        let mut c = before.clone();
        rows_times_matrix(&operator, &pairs, &b, b_stride, &mut c, c_stride);
        for (i, (c, t)) in c.iter().zip(&truth).enumerate() {
            let error = (c.widen() - t).abs();
            assert!(error <= tolerance, "{isa:?} {n_in}×{n_out}, {n_pairs} pairs, element {i}: {c} for {t}");
            if i % c_stride >= n_out {
                assert_eq!(*c, before[i], "{isa:?} wrote between the rows");
            }
        }
        // Overwriting zeros or anything else is adding to zeros, and leaves the other rows alone.
        let once: Vec<_> = pairs.iter().take(n_c).zip(0..).map(|(p, target)| RowPair { target, ..*p }).collect();
        let mut added = before.clone();
        for row in 0..once.len() {
            added[row * c_stride..][..n_out].fill(T::zero());
        }
        rows_times_matrix(&operator, &once, &b, b_stride, &mut added, c_stride);
        let mut set = before.clone();
        set_rows_times_matrix(&operator, &once, &b, b_stride, &mut set, c_stride);
        assert_eq!(set, added, "{isa:?} {n_in}×{n_out}");
    }
}

#[test]
fn all_widths() {
    let mut random = Numbers::new(6);
    for k in 1..=130 {
        check::<f32>(&mut random, k, k, 9, k % 3);
        check::<f64>(&mut random, k, k, 9, k % 3);
    }
}

#[test]
fn all_numbers_of_rows() {
    let mut random = Numbers::new(7);
    for n_pairs in 0..=33 {
        check::<f32>(&mut random, 49, 49, n_pairs, 1);
        check::<f64>(&mut random, 36, 36, n_pairs, 0);
    }
}

#[test]
fn rectangular() {
    let mut random = Numbers::new(8);
    for (n_in, n_out) in [(1, 40), (40, 1), (16, 49), (49, 16), (0, 5), (5, 0)] {
        check::<f32>(&mut random, n_in, n_out, 11, 2);
        check::<f64>(&mut random, n_in, n_out, 11, 2);
    }
}

#[test]
#[should_panic(expected = "lies outside the 2 rows of b")]
fn rows_outside_are_refused() {
    let operator = Operator::<f64>::new(3, 3, &[0.0; 9]);
    let mut c = [0.0; 9];
    let pairs = [RowPair { target: 2, source: 2 }];
    rows_times_matrix(&operator, &pairs, &[0.0; 8], 3, &mut c, 3);
}
