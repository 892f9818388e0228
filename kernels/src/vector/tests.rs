//! Every instruction set against plain loops.

use super::*;
use crate::test_numbers::Numbers;
use crate::{Isa, VectorKernel, dispatch_vectors, dispatch_vectors_on};

/// Each operation on two lines, and the four sums.
struct Operations<T: Real>(T::Line, T::Line);

impl<T: Real> VectorKernel<T> for Operations<T> {
    type Output = ([T::Line; 10], [T; 4]);
    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) -> Self::Output {
        let (a, b) = (zero.load(&self.0), zero.load(&self.1));
        let c = zero.splat(T::of(0.375));
        let mut out = [T::Line::ZERO; 10];
        let positive = a.mul(a).add(c);
        let (sum, product) = (a.mul_add(b, c), a.negative_mul_add(b, c));
        let everywhere = zero.less(positive, u16::MAX);
        let (root, newton) = (positive.inverse_root(), positive.inverse_root_where(everywhere));
        let inverse = positive.reciprocal_where(everywhere);
        let results = [a.add(b), a.sub(b), a.mul(b), sum, product, a.max(b), inverse, root, newton, c];
        for (to, v) in out.iter_mut().zip(results) {
            v.store(to);
        }
        (out, V::sum_each([a, b, c, zero]))
    }
}

fn operations<T: Real>() {
    let mut random = Numbers::new(9);
    let mut line = || {
        let mut line = T::Line::ZERO;
        line.get_mut().iter_mut().for_each(|x| *x = T::of(random.signed()));
        line
    };
    let (a, b) = (line(), line());
    let lanes = a.get().len();
    let epsilon = T::epsilon().widen();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let (out, sums) = dispatch_vectors_on(isa, Operations::<T>(a, b));
        for i in 0..lanes {
            let (x, y) = (a.get()[i].widen(), b.get()[i].widen());
            let positive = x * x + 0.375;
            let (product, root) = (x * y, positive.sqrt().recip());
            let [sum, difference] = [x + y, x - y];
            let (fused, negative) = (product + 0.375, 0.375 - product);
            let (larger, inverse) = (x.max(y), positive.recip());
            let exact = [sum, difference, product, fused, negative, larger, inverse, root, root, 0.375];
            for (line, exact) in out.iter().zip(exact) {
                // Two roundings and the last place of root or reciprocal, of numbers below 3.
                assert!((line.get()[i].widen() - exact).abs() <= 4.0 * epsilon, "{isa:?} {i}: {exact}");
            }
        }
        let total = |line: &T::Line| line.get().iter().map(|x| x.widen()).sum::<f64>();
        for (sum, exact) in sums.iter().zip([total(&a), total(&b), 0.375 * lanes as f64, 0.0]) {
            assert!((sum.widen() - exact).abs() <= lanes as f64 * epsilon, "{isa:?}: {sum} for {exact}");
        }
    }
}

#[test]
fn operations_of_every_instruction_set() {
    operations::<f32>();
    operations::<f64>();
}

/// a, 1/a and 1/√a where a is less than b and a bit of the last field is set, and whether that is anywhere.
struct Masked<T: Real>(T::Line, T::Line, u16);

impl<T: Real> VectorKernel<T> for Masked<T> {
    type Output = ([T::Line; 3], bool);
    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) -> Self::Output {
        let (a, b) = (zero.load(&self.0), zero.load(&self.1));
        let mask = a.less(b, self.2);
        let mut out = [T::Line::ZERO; 3];
        for (to, v) in out.iter_mut().zip([a.keep(mask), a.reciprocal_where(mask), a.inverse_root_where(mask)]) {
            v.store(to);
        }
        (out, zero.any(mask))
    }
}

fn masks<T: Real>() {
    let mut random = Numbers::new(11);
    let lanes = T::Line::LANES;
    for case in 0..200 {
        let (mut a, mut b) = (T::Line::ZERO, T::Line::ZERO);
        a.get_mut().iter_mut().for_each(|x| *x = T::of(random.signed()));
        b.get_mut().iter_mut().for_each(|x| *x = T::of(random.signed()));
        // Equal numbers are not less than each other, and neither is NaN than anything.
        b.get_mut()[case % lanes] = a.get()[case % lanes];
        a.get_mut()[case / 7 % lanes] = T::nan();
        a.get_mut()[case / 3 % lanes] = T::zero();
        b.get_mut()[case / 3 % lanes] = T::zero();
        // Few bits as well as many; none at all in the first cases.
        let bits =
            if case < 5 { 0 } else { (random.bits() & random.bits() & (random.bits() | (case as u64 % 2))) as u16 };
        let exact: Vec<T> = (0..lanes)
            .map(|i| if a.get()[i] < b.get()[i] && bits >> i & 1 == 1 { a.get()[i] } else { T::zero() })
            .collect();
        let anywhere = (0..lanes).any(|i| a.get()[i] < b.get()[i] && bits >> i & 1 == 1);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let ([kept, inverse, root], any) = dispatch_vectors_on(isa, Masked::<T>(a, b, bits));
            assert_eq!((kept.get(), any), (&exact[..], anywhere), "{isa:?} {bits:b}");
            for (i, kept) in kept.get().iter().enumerate() {
                let (inverse, root) = (inverse.get()[i], root.get()[i]);
                if *kept == T::zero() {
                    // Exactly zero, although 1/0 and the root of a negative number are not.
                    assert_eq!((inverse, root), (T::zero(), T::zero()), "{isa:?} {bits:b}");
                } else {
                    let four = T::of(4.0) * T::epsilon();
                    assert!((inverse * *kept - T::one()).abs() <= four, "{isa:?} {kept} {inverse}");
                    assert!(
                        *kept < T::zero() || (root * root * *kept - T::one()).abs() <= four,
                        "{isa:?} {kept} {root}"
                    );
                }
            }
        }
    }
}

#[test]
fn masks_of_every_instruction_set() {
    masks::<f32>();
    masks::<f64>();
}

struct Transpose<'a, T> {
    rows: &'a [&'a [T]],
    n: usize,
    all: &'a mut [T],
    starts: &'a [usize],
}

impl<T: Real> VectorKernel<T> for Transpose<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) {
        let mut lines = vec![T::Line::ZERO; self.n];
        zero.gather(self.rows, &mut lines);
        for (c, line) in lines.iter().enumerate() {
            assert!(line.get().iter().zip(self.rows).all(|(x, row)| *x == row[c]), "line {c}");
        }
        zero.scatter_add(&lines, self.all, self.starts);
    }
}

fn transpose_all_lengths<T: Real>() {
    let mut random = Numbers::new(10);
    let lanes = T::Line::LANES;
    for n in 0..=50 {
        for used in [0, 1, lanes / 2 + 1, lanes] {
            let rows: Vec<Vec<T>> = (0..lanes).map(|_| (0..n).map(|_| T::of(random.signed())).collect()).collect();
            let slices: Vec<&[T]> = rows.iter().map(Vec::as_slice).collect();
            // Three rows of the sum, some hit several times, with gaps that stay.
            let starts: Vec<usize> = (0..used).map(|_| random.below(3) * (n + 2)).collect();
            let mut exact = vec![T::one(); 3 * (n + 2) - 2];
            for (row, start) in rows.iter().zip(&starts) {
                exact[*start..][..n].iter_mut().zip(row).for_each(|(e, x)| *e += *x);
            }
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                let mut all = vec![T::one(); exact.len()];
                dispatch_vectors_on(isa, Transpose { rows: &slices, n, all: &mut all, starts: &starts });
                assert_eq!(all, exact, "{isa:?}, {used} rows of {n}");
            }
        }
    }
}

#[test]
fn rows_to_lanes_and_back() {
    transpose_all_lengths::<f32>();
    transpose_all_lengths::<f64>();
}

#[test]
#[should_panic(expected = "rows leave the array")]
fn rows_outside_are_refused() {
    let rows = [[1.0f64; 3].as_slice(); 8];
    dispatch_vectors(Transpose { rows: &rows, n: 3, all: &mut [0.0; 5], starts: &[3] });
}
