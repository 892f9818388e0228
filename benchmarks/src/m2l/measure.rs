//! Times of M2L on a level, as fractions of the most that the device was measured to do.

use bytemuck::Pod;
use fmm::device::peak::{Load, Peak, THREADS, least_seconds, peak};
use fmm::harmonics::{count, irregular};
use fmm::operators::m2l::matrix::{Domain, m2l};
use kernels::Real;
use kernels::device::{Device, DeviceError, Kernel, Launch, Out, Source, arguments};
use octitrate::charges::Precision;

use super::level::{Boxes, M2lLevel, sources_of};
use super::{M2lError, Scheme};

/// Measured floating-point operations per second, a multiply-add as two.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Ceilings {
    /// f32.
    pub single: f64,
    /// f64.
    pub double: f64,
    /// Tensor cores on TF32; three of their products are one in single precision.
    pub tensor: f64,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The scheme.
    pub scheme: Scheme,
    /// Order of the expansions.
    pub order: usize,
    /// The level has 2^depth boxes per axis.
    pub depth: usize,
}

/// Result for one scheme on one level.
#[derive(Clone, Copy, Debug, PartialEq)]
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
            (_, Precision::F32) => ceilings.single,
            (_, Precision::F64) => ceilings.double,
        };
        if ceiling > 0.0 { 1e9 * self.gflops / ceiling } else { 0.0 }
    }
}

/// Measures one scheme on a periodic level of 2^depth boxes per axis with multipoles of random charges.
///
/// # Errors
/// [`M2lError`].
pub fn measure(device: &Device, case: Case, precision: Precision, repetitions: usize) -> Result<Measurement, M2lError> {
    match precision {
        Precision::F32 => measure_in::<f32>(device, case, precision, repetitions),
        Precision::F64 => measure_in::<f64>(device, case, precision, repetitions),
    }
}

fn measure_in<T: Real + Pod>(
    device: &Device,
    Case { scheme, order, depth }: Case,
    precision: Precision,
    repetitions: usize,
) -> Result<Measurement, M2lError> {
    let n = 1_usize.checked_shl(depth as u32).filter(|n| *n <= 128).unwrap_or(0);
    let boxes = Boxes { n, periodic: true };
    let level = M2lLevel::<T>::new(device, scheme, order, boxes, None)?;
    let stream = device.stream()?;
    let multipoles = random_multipoles::<T>(order, level.row_length(), boxes.count());
    level.multipoles().write(&stream, &multipoles)?;
    let graph = stream.capture(|| level.enqueue(&stream))?;
    graph.launch(&stream)?;
    let mut times = Vec::new();
    for _ in 0..repetitions.max(1) {
        times.push(stream.time(|| graph.launch(&stream))?);
    }
    times.sort_unstable_by(f64::total_cmp);
    let locals = level.locals().read(&stream)?;
    let error = largest_error(order, boxes, &multipoles, &locals, &mut |i| i % (boxes.count() / 8 + 1) == n);
    let (seconds, pairs, flops) = (times[times.len() / 2], level.pairs(), level.flops());
    Ok(Measurement { scheme, order, depth, precision, seconds, pairs, flops, gflops: 1e-9 * flops / seconds, error })
}

/// Numbers in (−½, ½) that fall off with the degree as multipoles do.
pub fn random_multipoles<T: Real>(order: usize, row: usize, boxes: usize) -> Vec<T> {
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
pub fn largest_error<T: Real>(
    order: usize,
    boxes: Boxes,
    multipoles: &[T],
    locals: &[T],
    some: &mut dyn FnMut(usize) -> bool,
) -> f64 {
    let (k, row) = (count(order), multipoles.len() / boxes.count());
    let mut operators: std::collections::HashMap<[i32; 3], Vec<f64>> = std::collections::HashMap::new();
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    for i in (0..boxes.count()).filter(|i| some(*i)) {
        let mut exact = vec![0.0; k];
        sources_of(boxes, i, |u, source| {
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

arguments! {
    /// Arguments of `matrix_products`.
    struct CeilingArgs<'a> {
        /// A number for each thread, so that nothing is left out.
        out: Out<'a, f32>,
        a: f32,
        /// Steps of the loop.
        steps: i32,
    }
}

/// Kernel that measures tensor cores.
fn ceiling() -> Source {
    let source = Source::new("ceiling", include_str!("ceiling.cu")).define("REAL", "float");
    source.kernel::<CeilingArgs<'static>>("matrix_products")
}

/// Measures what the device can do. The rate of tensor cores is zero where there are none (the emulator).
///
/// # Errors
/// If the device cannot compile or run the kernels.
pub fn ceilings(device: &Device) -> Result<Ceilings, DeviceError> {
    let Peak { single, double } = peak(device)?;
    let load = Load::of(device);
    let stream = device.stream()?;
    let out = device.zeros::<f32>((THREADS * load.blocks) as usize)?;
    let kernel: Kernel<CeilingArgs<'static>> = device.compile(&ceiling())?.kernel("matrix_products")?;
    let arguments = CeilingArgs { out: out.arg(), a: 0.5, steps: load.steps };
    let launch = Launch::new(load.blocks, THREADS);
    let seconds = least_seconds(&stream, |s| s.launch(&kernel, launch, arguments))?;
    // 16 × 8 × 8 multiply-adds of the 32 threads of a warp.
    let products = if device.gpu().is_some() { load.operations(2.0 * 1024.0 / 32.0) } else { 0.0 };
    Ok(Ceilings { single, double, tensor: products / seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::device::compiles;

    /// Needs libnvrtc, no GPU.
    #[test]
    fn kernels_compile_for_gpus() {
        for architecture in ["sm_75", "sm_90"] {
            compiles(&ceiling(), architecture).unwrap();
        }
    }
}
