//! P2M and L2P: from charges to the multipole expansion of their leaf box, and from its local expansion to potential and field.
//!
//!   M_lm = Σ_i q_i R̂_lm(u_i),   φ(u) = Σ_lm L_lm R̂_lm(u),   E(u) = −Σ_jk R̂_jk(u) Σ_lm L_lm ∂_{lm,jk}
//!
//! with u relative to the box centre in units of the leaf scale. Sixteen particles at a time run along the vector lanes; the harmonics come
//! from their recurrences (see `harmonics.rs`) and are never stored.

use kernels::{Kernel, Points, Real, fma};

use crate::harmonics::{count, gradient, recurrence, sectoral_factor};
use crate::scratch::{LANES, Lane, Scratch};

/// Constants of the recurrences and of the gradient for one order.
pub struct ExpansionTable<T> {
    order: usize,
    /// f_m of the sectoral step to m = 1..=p.
    sectoral: Vec<T>,
    /// For m = 0..=p, l = m..p: coefficients of the step l → l + 1.
    steps: Vec<(T, T)>,
    /// For each coefficient of order p − 1: sources and weights of the derivatives.
    gradient: Vec<([u32; 5], [T; 5])>,
}

impl<T: Real> ExpansionTable<T> {
    /// Constants for order `order` ≥ 1.
    pub fn new(order: usize) -> Self {
        let step = |(l, m)| {
            let (a, b) = recurrence(l, m);
            (T::of(a), T::of(b))
        };
        Self {
            order,
            sectoral: (1..=order).map(|m| T::of(sectoral_factor(m))).collect(),
            steps: (0..=order).flat_map(|m| (m..order).map(move |l| (l, m))).map(step).collect(),
            gradient: gradient(order).into_iter().map(|(s, w)| (s, w.map(T::of))).collect(),
        }
    }

    /// Call `emit(index, values)` for all harmonics at the points, each times `start`.
    #[inline(always)]
    fn harmonics<const FMA: bool>(
        &self,
        [x, y, z]: &[Lane<T>; 3],
        start: &Lane<T>,
        mut emit: impl FnMut(usize, &Lane<T>),
    ) {
        let zero = [T::zero(); LANES];
        let r2: Lane<T> = std::array::from_fn(|i| x[i] * x[i] + y[i] * y[i] + z[i] * z[i]);
        let p = self.order;
        let (mut c, mut s) = (*start, zero);
        let mut step = self.steps.iter();
        for m in 0..=p {
            if m > 0 {
                let f = self.sectoral[m - 1];
                let (x, y): (Lane<T>, Lane<T>) = (std::array::from_fn(|i| f * x[i]), std::array::from_fn(|i| f * y[i]));
                let next = std::array::from_fn(|i| x[i] * c[i] - y[i] * s[i]);
                s = std::array::from_fn(|i| fma::<FMA, T>(x[i], s[i], y[i] * c[i]));
                c = next;
            }
            let (mut c0, mut s0, mut c1, mut s1) = (zero, zero, c, s);
            for l in m..=p {
                emit(l * l + l + m, &c1);
                if m > 0 {
                    emit(l * l + l - m, &s1);
                }
                if l == p {
                    break;
                }
                let Some(&(a, b)) = step.next() else { break };
                let (u, v): (Lane<T>, Lane<T>) =
                    (std::array::from_fn(|i| a * z[i]), std::array::from_fn(|i| -b * r2[i]));
                let next = std::array::from_fn(|i| fma::<FMA, T>(u[i], c1[i], v[i] * c0[i]));
                c0 = c1;
                c1 = next;
                if m > 0 {
                    let next = std::array::from_fn(|i| fma::<FMA, T>(u[i], s1[i], v[i] * s0[i]));
                    s0 = s1;
                    s1 = next;
                }
            }
        }
    }
}

#[inline(always)]
fn fetch<T: Real>(values: &[T], at: usize) -> Lane<T> {
    match values.get(at..at + LANES) {
        Some(v) => std::array::from_fn(|i| v[i]),
        None => std::array::from_fn(|i| values.get(at + i).copied().unwrap_or(T::zero())),
    }
}

/// Sum over the lanes. Not inlined: compilers turn the loop over coefficients into slow gathers.
#[inline(never)]
fn sum<T: Real>(lanes: &Lane<T>) -> T {
    let eight: [T; 8] = std::array::from_fn(|i| lanes[i] + lanes[i + 8]);
    let four: [T; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Multipole expansion of one box.
pub struct P2m<'a, T> {
    /// Constants.
    pub table: &'a ExpansionTable<T>,
    /// Particles of the box.
    pub points: Points<'a, T>,
    /// Their charges.
    pub charges: &'a [T],
    /// Coefficients, overwritten; padding set to zero.
    pub out: &'a mut [T],
    /// Work space.
    pub scratch: &'a mut Scratch<T>,
}

impl<T: Real> Kernel for P2m<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { table, points, charges, out, scratch } = self;
        let k = count(table.order);
        let sums = &mut scratch.lanes;
        sums.clear();
        sums.resize(k, [T::zero(); LANES]);
        for at in (0..charges.len()).step_by(LANES) {
            let r = [fetch(points.x, at), fetch(points.y, at), fetch(points.z, at)];
            table.harmonics::<FMA>(&r, &fetch(charges, at), |i, v| {
                let s = &mut sums[i];
                for n in 0..LANES {
                    s[n] += v[n];
                }
            });
        }
        for (o, s) in out[..k].iter_mut().zip(sums.iter()) {
            *o = sum(s);
        }
        out[k..].fill(T::zero());
    }
}

/// Potential and field of one box's local expansion at its particles.
pub struct L2p<'a, T> {
    /// Constants.
    pub table: &'a ExpansionTable<T>,
    /// Particles of the box.
    pub points: Points<'a, T>,
    /// Local expansion.
    pub local: &'a [T],
    /// φ, E_x, E_y, E_z, overwritten.
    pub out: [&'a mut [T]; 4],
    /// Work space.
    pub scratch: &'a mut Scratch<T>,
}

impl<T: Real> Kernel for L2p<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { table, points, local, out, scratch } = self;
        let coefficients = &mut scratch.coefficients;
        coefficients.clear();
        for (i, &l) in local[..count(table.order)].iter().enumerate() {
            let mut c = [l, T::zero(), T::zero(), T::zero()];
            if let Some((s, w)) = table.gradient.get(i) {
                let term = |e: usize| w[e] * local[s[e] as usize];
                c[1] = -(term(0) + term(1));
                c[2] = -(term(2) + term(3));
                c[3] = -term(4);
            }
            coefficients.push(c);
        }
        let n = out[0].len();
        for at in (0..n).step_by(LANES) {
            let r = [fetch(points.x, at), fetch(points.y, at), fetch(points.z, at)];
            let mut sums = [[T::zero(); LANES]; 4];
            table.harmonics::<FMA>(&r, &[T::one(); LANES], |i, v| {
                let c = &coefficients[i];
                for (s, c) in sums.iter_mut().zip(c) {
                    for n in 0..LANES {
                        s[n] = fma::<FMA, T>(*c, v[n], s[n]);
                    }
                }
            });
            let width = LANES.min(n - at);
            for q in 0..4 {
                out[q][at..at + width].copy_from_slice(&sums[q][..width]);
            }
        }
    }
}
