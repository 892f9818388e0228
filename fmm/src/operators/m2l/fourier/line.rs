//! Discrete Fourier transform of one line of boxes, all coefficients of their expansions at once.
//!
//! X_k = Σ_j x_j e^{∓2πijk/n} = C_k ∓ i S_k with C_k = Σ_j (x_j + x_{n−j}) cos, S_k = Σ_j (x_j − x_{n−j}) sin over half of j, and
//! X_{n−k} = C_k ± i S_k: a quarter of the work of the plain sum, for every length n. Lines are short (n ≤ 50), so that this is as fast as
//! a factorised transform. Coefficients run along the vector lanes.

use kernels::{Kernel, Real, fma};

use crate::workspace::{LANES, Lane, Scratch};

/// Cosines and sines of one length.
pub struct Line<T> {
    n: usize,
    /// [k][j − 1] → (cos, sin) of 2πjk/n, for k = 0..=n/2 and the pairs j = 1..=(n−1)/2.
    table: Vec<(T, T)>,
}

impl<T: Real> Line<T> {
    /// Tables for lines of `n` boxes.
    pub fn new(n: usize) -> Self {
        let angle = |k: usize, j: usize| 2.0 * std::f64::consts::PI * ((j * k) % n) as f64 / n as f64;
        let table = (0..=n / 2)
            .flat_map(|k| (1..=(n - 1) / 2).map(move |j| (k, j)))
            .map(|(k, j)| (T::of(angle(k, j).cos()), T::of(angle(k, j).sin())))
            .collect();
        Self { n, table }
    }

    fn pairs(&self) -> usize {
        (self.n - 1) / 2
    }

    #[inline(always)]
    fn factors(&self, k: usize) -> &[(T, T)] {
        &self.table[k * self.pairs()..][..self.pairs()]
    }
}

#[inline(always)]
fn load<T: Real>(from: &[T], at: usize) -> Lane<T> {
    let from = &from[at..at + LANES];
    std::array::from_fn(|i| from[i])
}

#[inline(always)]
fn add<T: Real>(a: &Lane<T>, b: &Lane<T>) -> Lane<T> {
    std::array::from_fn(|i| a[i] + b[i])
}

#[inline(always)]
fn sub<T: Real>(a: &Lane<T>, b: &Lane<T>) -> Lane<T> {
    std::array::from_fn(|i| a[i] - b[i])
}

#[inline(always)]
fn accumulate<const FMA: bool, T: Real>(sum: &mut Lane<T>, factor: T, value: &Lane<T>) {
    for i in 0..LANES {
        sum[i] = fma::<FMA, T>(factor, value[i], sum[i]);
    }
}

#[inline(always)]
fn store<T: Real>(to: &mut [T], at: usize, value: &Lane<T>) {
    to[at..at + LANES].copy_from_slice(value);
}

/// x (cos + i sin); x as it is where there is no phase.
#[inline(always)]
fn turned<T: Real>(x: [Lane<T>; 2], phase: Option<(T, T)>) -> [Lane<T>; 2] {
    let Some((cos, sin)) = phase else { return x };
    let [re, im] = x;
    [std::array::from_fn(|i| cos * re[i] - sin * im[i]), std::array::from_fn(|i| cos * im[i] + sin * re[i])]
}

/// Complex boxes of a line, to be read: `n` are given, the others are zero. Methods, since closures might not be inlined (see `kernels::dispatch`).
struct Rows<'a, T, R> {
    values: &'a [T],
    stride: usize,
    place: R,
    n: usize,
    turn: &'a [(T, T)],
}

impl<T: Real, R: Fn(usize) -> usize> Rows<'_, T, R> {
    /// Lanes from `block` on of box `j`.
    #[inline(always)]
    fn get(&self, j: usize, block: usize) -> [Lane<T>; 2] {
        if j >= self.n {
            return [[T::zero(); LANES]; 2];
        }
        let at = (self.place)(j) + block;
        turned([load(self.values, at), load(self.values, at + self.stride)], self.turn.get(j).copied())
    }
}

/// Complex boxes of a line, to be written: `n` are wanted.
struct RowsMut<'a, T, W> {
    values: &'a mut [T],
    stride: usize,
    place: W,
    n: usize,
    turn: &'a [(T, T)],
}

impl<T: Real, W: Fn(usize) -> usize> RowsMut<'_, T, W> {
    /// Lanes from `block` on of box `k`, turned back.
    #[inline(always)]
    fn put(&mut self, k: usize, block: usize, x: [Lane<T>; 2]) {
        if k >= self.n {
            return;
        }
        let x = turned(x, self.turn.get(k).map(|(cos, sin)| (*cos, -*sin)));
        let at = (self.place)(k) + block;
        store(self.values, at, &x[0]);
        store(self.values, at + self.stride, &x[1]);
    }
}

/// Complex transform of one line; a row is `stride` real parts, then `stride` imaginary parts.
pub struct LineKernel<'a, T: Real, R, W> {
    /// Tables.
    pub line: &'a Line<T>,
    /// Coefficients per row, a multiple of [`LANES`].
    pub stride: usize,
    /// Boxes given; the others are zero.
    pub n_in: usize,
    /// Boxes wanted.
    pub n_out: usize,
    /// Sign −1 (true) or +1 of the exponent; neither is normalised.
    pub forward: bool,
    /// Phases (cos, sin) that the given boxes (forward) or their conjugates that the wanted ones (back) are multiplied by; none if empty.
    pub turn: &'a [(T, T)],
    /// Where the line is read: box j at element `read(j)`.
    pub input: &'a [T],
    /// See `input`.
    pub read: R,
    /// Where it is written: box k at element `write(k)`.
    pub output: &'a mut [T],
    /// See `output`.
    pub write: W,
    /// Work space.
    pub scratch: &'a mut Scratch<T>,
}

impl<T: Real, R: Fn(usize) -> usize, W: Fn(usize) -> usize> Kernel for LineKernel<'_, T, R, W> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { line, stride, n_in, n_out, forward, turn, input, read, output, write, scratch } = self;
        let (n, pairs) = (line.n, line.pairs());
        let zero = [T::zero(); LANES];
        let folded = &mut scratch.lanes;
        if folded.len() < 4 * pairs {
            folded.resize(4 * pairs, zero);
        }
        let (given, wanted) = if forward { (turn, [].as_slice()) } else { (&[][..], turn) };
        let from = Rows { values: input, stride, place: read, n: n_in, turn: given };
        let mut to = RowsMut { values: output, stride, place: write, n: n_out, turn: wanted };
        for block in (0..stride).step_by(LANES) {
            for j in 1..=pairs {
                let (a, b) = (from.get(j, block), from.get(n - j, block));
                for part in 0..2 {
                    folded[4 * (j - 1) + part] = add(&a[part], &b[part]);
                    folded[4 * (j - 1) + 2 + part] = sub(&a[part], &b[part]);
                }
            }
            let first = from.get(0, block);
            let middle = if n % 2 == 0 { from.get(n / 2, block) } else { [zero; 2] };
            for k in 0..=n / 2 {
                if k >= n_out && n - k >= n_out {
                    continue;
                }
                let sign = if k % 2 == 0 { T::one() } else { -T::one() };
                let [mut cr, mut ci] = first;
                accumulate::<FMA, T>(&mut cr, sign, &middle[0]);
                accumulate::<FMA, T>(&mut ci, sign, &middle[1]);
                let (mut sr, mut si) = (zero, zero);
                for (&(cos, sin), f) in line.factors(k).iter().zip(folded.chunks_exact(4)) {
                    accumulate::<FMA, T>(&mut cr, cos, &f[0]);
                    accumulate::<FMA, T>(&mut ci, cos, &f[1]);
                    accumulate::<FMA, T>(&mut sr, sin, &f[2]);
                    accumulate::<FMA, T>(&mut si, sin, &f[3]);
                }
                let minus = [add(&cr, &si), sub(&ci, &sr)];
                let plus = [sub(&cr, &si), add(&ci, &sr)];
                let (at_k, at_mirror) = if forward { (minus, plus) } else { (plus, minus) };
                to.put(k, block, at_k);
                if k > 0 && 2 * k != n {
                    to.put(n - k, block, at_mirror);
                }
            }
        }
    }
}

/// Transform of a real line of `n` boxes to the n/2+1 independent complex ones (`forward`) or back; both contiguous, not normalised.
pub struct RealLine<'a, T: Real> {
    /// Tables.
    pub line: &'a Line<T>,
    /// Coefficients per row, a multiple of [`LANES`].
    pub stride: usize,
    /// Real boxes; the others of the line are zero (forward) or not wanted (back).
    pub n: usize,
    /// Rows read.
    pub input: &'a [T],
    /// Rows written.
    pub output: &'a mut [T],
    /// Work space.
    pub scratch: &'a mut Scratch<T>,
    /// Direction.
    pub forward: bool,
}

impl<T: Real> Kernel for RealLine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if self.forward { self.forward::<FMA>() } else { self.back::<FMA>() }
    }
}

impl<T: Real> RealLine<'_, T> {
    #[inline(always)]
    fn forward<const FMA: bool>(self) {
        let Self { line, stride, n: n_in, input, output, scratch, .. } = self;
        let (n, pairs) = (line.n, line.pairs());
        let zero = [T::zero(); LANES];
        let folded = &mut scratch.lanes;
        if folded.len() < 2 * pairs {
            folded.resize(2 * pairs, zero);
        }
        for block in (0..stride).step_by(LANES) {
            let fetch = |j: usize| if j < n_in { load(input, j * stride + block) } else { zero };
            for j in 1..=pairs {
                let (a, b) = (fetch(j), fetch(n - j));
                folded[2 * (j - 1)] = add(&a, &b);
                folded[2 * (j - 1) + 1] = sub(&a, &b);
            }
            let middle = if n % 2 == 0 { fetch(n / 2) } else { zero };
            for k in 0..=n / 2 {
                let (mut c, mut s) = (fetch(0), zero);
                accumulate::<FMA, T>(&mut c, if k % 2 == 0 { T::one() } else { -T::one() }, &middle);
                for (&(cos, sin), f) in line.factors(k).iter().zip(folded.chunks_exact(2)) {
                    accumulate::<FMA, T>(&mut c, cos, &f[0]);
                    accumulate::<FMA, T>(&mut s, -sin, &f[1]);
                }
                store(output, 2 * k * stride + block, &c);
                store(output, (2 * k + 1) * stride + block, &s);
            }
        }
    }

    #[inline(always)]
    fn back<const FMA: bool>(self) {
        let Self { line, stride, n: n_out, input, output, scratch, .. } = self;
        let (n, pairs) = (line.n, line.pairs());
        let zero = [T::zero(); LANES];
        let folded = &mut scratch.lanes;
        if folded.len() < 2 * pairs {
            folded.resize(2 * pairs, zero);
        }
        for block in (0..stride).step_by(LANES) {
            for k in 1..=pairs {
                let (re, im) = (load(input, 2 * k * stride + block), load(input, (2 * k + 1) * stride + block));
                folded[2 * (k - 1)] = add(&re, &re);
                folded[2 * (k - 1) + 1] = add(&im, &im);
            }
            let first = load(input, block);
            let middle = if n % 2 == 0 { load(input, n * stride + block) } else { zero };
            for j in 0..=n / 2 {
                let (mut c, mut s) = (first, zero);
                accumulate::<FMA, T>(&mut c, if j % 2 == 0 { T::one() } else { -T::one() }, &middle);
                for (&(cos, sin), f) in line.factors(j).iter().zip(folded.chunks_exact(2)) {
                    accumulate::<FMA, T>(&mut c, cos, &f[0]);
                    accumulate::<FMA, T>(&mut s, sin, &f[1]);
                }
                if j < n_out {
                    store(output, j * stride + block, &sub(&c, &s));
                }
                if j > 0 && 2 * j != n && n - j < n_out {
                    store(output, (n - j) * stride + block, &add(&c, &s));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::ScratchPool;

    #[test]
    fn lines_match_the_plain_sum_and_back() {
        for (n, m) in [(1, 1), (2, 2), (3, 3), (4, 4), (5, 3), (7, 7), (8, 8), (9, 5)] {
            let (pool, line, stride) = (ScratchPool::<f64>::new(), Line::new(n), LANES);
            let x: Vec<f64> = (0..m * stride).map(|i| ((i * 37 + 11) % 29) as f64 - 14.0).collect();
            let mut half = vec![0.0; (n / 2 + 1) * 2 * stride];
            let scratch = &mut *pool.get();
            kernels::dispatch(RealLine {
                line: &line,
                stride,
                n: m,
                input: &x,
                output: &mut half,
                scratch,
                forward: true,
            });
            let complex: Vec<f64> = x.chunks(stride).flat_map(|c| c.iter().copied().chain(vec![0.0; stride])).collect();
            let mut full = vec![0.0; n * 2 * stride];
            let at = |i: usize| i * 2 * stride;
            kernels::dispatch(LineKernel {
                line: &line,
                stride,
                n_in: m,
                n_out: n,
                forward: true,
                turn: &[],
                input: &complex,
                read: at,
                output: &mut full,
                write: at,
                scratch,
            });
            for k in 0..n {
                for lane in 0..stride {
                    let angle = |j: usize| 2.0 * std::f64::consts::PI * (j * k) as f64 / n as f64;
                    let re: f64 = (0..m).map(|j| x[j * stride + lane] * angle(j).cos()).sum();
                    let im: f64 = (0..m).map(|j| -x[j * stride + lane] * angle(j).sin()).sum();
                    assert!(
                        (full[at(k) + lane] - re).abs() < 1e-12 && (full[at(k) + stride + lane] - im).abs() < 1e-12
                    );
                    if k <= n / 2 {
                        assert!(
                            (half[at(k) + lane] - re).abs() < 1e-12 && (half[at(k) + stride + lane] - im).abs() < 1e-12
                        );
                    }
                }
            }
            let (mut real, mut back) = (vec![0.0; m * stride], vec![0.0; m * 2 * stride]);
            kernels::dispatch(RealLine {
                line: &line,
                stride,
                n: m,
                input: &half,
                output: &mut real,
                scratch,
                forward: false,
            });
            kernels::dispatch(LineKernel {
                line: &line,
                stride,
                n_in: n,
                n_out: m,
                forward: false,
                turn: &[],
                input: &full,
                read: at,
                output: &mut back,
                write: at,
                scratch,
            });
            for i in 0..m * stride {
                assert!((real[i] - n as f64 * x[i]).abs() < 1e-11);
                assert!((back[at(i / stride) + i % stride] - n as f64 * x[i]).abs() < 1e-11);
            }
        }
    }
}
