//! Times of M2L on a level, as fractions of the most that the device was measured to do.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, Source, Stream, args};

use super::level::{M2lLevel, sources_of};
use super::{M2lError, Scheme};
use crate::harmonics::{Domain, count, irregular, m2l};

/// Number type of the expansions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// f32.
    Single,
    /// f64.
    Double,
}

/// Measured floating-point operations per second, a multiply-add as two.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ceilings {
    /// f32.
    pub single: f64,
    /// f64.
    pub double: f64,
    /// Tensor cores on TF32; three of their products are one in single precision.
    pub tensor: f64,
}

/// One scheme on one level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measurement {
    /// The scheme.
    pub scheme: Scheme,
    /// Order of the expansions.
    pub order: usize,
    /// 2^depth boxes per axis.
    pub depth: usize,
    /// Number type.
    pub precision: Precision,
    /// Time of one M2L of the level: the median of the repetitions.
    pub seconds: f64,
    /// Translations.
    pub pairs: usize,
    /// Operations of as many products of a matrix and a vector, whatever the scheme saves.
    pub flops: f64,
    /// 10⁹ of them per second.
    pub gflops: f64,
    /// Largest error of a coefficient in a sample of boxes, relative to their largest coefficient.
    pub error: f64,
}

impl Measurement {
    /// Rate as a fraction of what the units that the scheme uses can do; for tensor cores a third of their ceiling.
    pub fn fraction(&self, ceilings: &Ceilings) -> f64 {
        let ceiling = match (self.scheme, self.precision) {
            (Scheme::Tensor, _) => ceilings.tensor / 3.0,
            (_, Precision::Single) => ceilings.single,
            (_, Precision::Double) => ceilings.double,
        };
        if ceiling > 0.0 { 1e9 * self.gflops / ceiling } else { 0.0 }
    }
}

/// Measures one scheme on a periodic level of 2^depth boxes per axis with multipoles of random charges.
///
/// # Errors
/// [`M2lError`].
pub fn bench(
    device: &Device,
    scheme: Scheme,
    (order, depth): (usize, usize),
    precision: Precision,
    repetitions: usize,
) -> Result<Measurement, M2lError> {
    let (seconds, pairs, flops, error) = match precision {
        Precision::Single => measure::<f32>(device, scheme, order, depth, repetitions)?,
        Precision::Double => measure::<f64>(device, scheme, order, depth, repetitions)?,
    };
    Ok(Measurement { scheme, order, depth, precision, seconds, pairs, flops, gflops: 1e-9 * flops / seconds, error })
}

fn measure<T: Real + Pod>(
    device: &Device,
    scheme: Scheme,
    order: usize,
    depth: usize,
    repetitions: usize,
) -> Result<(f64, usize, f64, f64), M2lError> {
    let n = 1_usize.checked_shl(depth as u32).filter(|n| *n <= 128).unwrap_or(0);
    let level = M2lLevel::<T>::new(device, scheme, order, (n, true), None)?;
    let stream = device.stream()?;
    let multipoles = random_multipoles::<T>(order, level.row_length(), n * n * n);
    level.multipoles().write(&stream, &multipoles)?;
    let graph = stream.capture(|| level.enqueue(&stream))?;
    graph.launch(&stream)?;
    let mut times = Vec::new();
    for _ in 0..repetitions.max(1) {
        times.push(stream.time(|| graph.launch(&stream))?);
    }
    times.sort_unstable_by(f64::total_cmp);
    let locals = level.locals().read(&stream)?;
    let error = largest_error(order, (n, true), &multipoles, &locals, &mut |i| i % (n * n * n / 8 + 1) == n);
    Ok((times[times.len() / 2], level.pairs(), level.flops(), error))
}

/// Numbers in (−½, ½) that fall off with the degree as multipoles do.
pub(super) fn random_multipoles<T: Real>(order: usize, row: usize, boxes: usize) -> Vec<T> {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64 - 0.5
    };
    let mut out = vec![T::zero(); boxes * row];
    for row in out.chunks_mut(row) {
        for l in 0..=order {
            let scale = 0.75_f64.powi(l as i32);
            row[l * l..(l + 1) * (l + 1)].iter_mut().for_each(|v| *v = T::of(scale * random()));
        }
    }
    out
}

/// Largest error of the local expansions of some boxes against plain loops in f64, relative to their largest coefficient.
pub(super) fn largest_error<T: Real>(
    order: usize,
    (n, periodic): (usize, bool),
    multipoles: &[T],
    locals: &[T],
    some: &mut dyn FnMut(usize) -> bool,
) -> f64 {
    let (k, row) = (count(order), multipoles.len() / (n * n * n));
    let mut operators: std::collections::HashMap<[i32; 3], Vec<f64>> = std::collections::HashMap::new();
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    for i in (0..n * n * n).filter(|i| some(*i)) {
        let mut exact = vec![0.0; k];
        sources_of(n, periodic, i, |u, source| {
            let vector = u.map(|u| -f64::from(u));
            let make = || m2l(order, &irregular(2 * order, vector), Domain::Space);
            let operator = operators.entry(u).or_insert_with(make);
            for (j, line) in operator.chunks(k).enumerate() {
                let v = multipoles[source * row + j].widen();
                exact.iter_mut().zip(line).for_each(|(sum, m)| *sum += v * m);
            }
        });
        for (t, v) in exact.iter().enumerate() {
            let difference = (locals[i * row + t].widen() - v).abs();
            // Not-a-number counts as wrong.
            worst = if difference <= worst { worst } else { difference };
            largest = largest.max(v.abs());
        }
    }
    worst / largest
}

/// Sums in flight in each thread of the kernels that measure ceilings.
const CHAINS: f64 = 16.0;

/// Measures what the device can do. Zero on tensor cores where there are none (emulator).
///
/// # Errors
/// The device.
pub fn ceilings(device: &Device) -> Result<Ceilings, DeviceError> {
    let stream = device.stream()?;
    let blocks = 16 * device.multiprocessors();
    let steps = if device.gpu().is_some() { 4096 } else { 16 };
    let work = |per_thread: f64| per_thread * CHAINS * f64::from(steps) * 256.0 * f64::from(blocks);
    let single = Source::new("ceiling", include_str!("ceiling.cu")).define("REAL", "float");
    let double = Source::new("ceiling", include_str!("ceiling.cu")).define("REAL", "double");
    let (single, double) = (device.compile(&single)?, device.compile(&double)?);
    let out: Buffer<f64> = device.zeros(256 * blocks as usize)?;
    let best = |call: &dyn Fn(&Stream) -> Result<(), DeviceError>| -> Result<f64, DeviceError> {
        call(&stream)?;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            best = best.min(stream.time(|| call(&stream))?);
        }
        Ok(best)
    };
    let plain = single.kernel("multiply_adds")?;
    let seconds = best(&|s| s.launch(&plain, blocks, 256, 0, args![&out, 0.5_f32, 0.75_f32, steps]))?;
    let wide = double.kernel("multiply_adds")?;
    let wide_seconds = best(&|s| s.launch(&wide, blocks, 256, 0, args![&out, 0.5_f64, 0.75_f64, steps]))?;
    let tensor = single.kernel("matrix_products")?;
    let tensor_seconds = best(&|s| s.launch(&tensor, blocks, 256, 0, args![&out, 0.5_f32, steps]))?;
    // 16 × 8 × 8 multiply-adds of the 32 threads of a warp.
    let products = if device.gpu().is_some() { work(2.0 * 1024.0 / 32.0) } else { 0.0 };
    Ok(Ceilings { single: work(2.0) / seconds, double: work(2.0) / wide_seconds, tensor: products / tensor_seconds })
}
