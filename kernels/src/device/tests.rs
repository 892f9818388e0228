use super::*;
use crate::{arguments, structure};
use std::mem::offset_of;

mod arguments;
mod early;

structure! {
    /// A structure within another.
    struct Range {
        low: f64,
        high: f64,
    }

    /// Fields of different sizes.
    struct Mixture {
        bytes: [u8; 8],
        range: Range,
        rows: [[i32; 3]; 2],
        count: u32,
        step: i32,
        wide: i64,
        bits: u64,
    }
}

arguments! {
    struct AddArgs<'a> {
        x: In<'a, f64>,
        y: Out<'a, f64>,
        n: i32,
        a: f64,
    }

    struct TotalsArgs<'a> {
        x: In<'a, f64>,
        sums: Out<'a, f64>,
        fixed: Out<'a, i64>,
        n: i32,
    }

    struct ReverseArgs<'a> {
        x: Out<'a, i32>,
    }

    struct ExtremesArgs<'a> {
        x: In<'a, f64>,
        fixed: Out<'a, i64>,
        times: i32,
    }

    struct SumsArgs<'a> {
        x: In<'a, f32>,
        sums: Out<'a, f64>,
        fixed: Out<'a, i64>,
    }

    struct SlowArgs<'a> {
        x: Out<'a, f64>,
        times: i32,
    }

    struct BallotsArgs<'a> {
        out: Out<'a, u32>,
    }

    struct UnpackArgs<'a> {
        byte: u8,
        mixture: Mixture,
        pairs: In<'a, [u32; 2]>,
        single: f32,
        more: In<'a, Mixture>,
        place: In<'a, i64>,
        other: In<'a, u64> as Opaque,
        nothing: In<'a, f64>,
        out: Out<'a, f64>,
    }
}

const KERNELS: &str = "
KERNEL void add(const __grid_constant__ AddArgs args) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < args.n) args.y[i] += args.a * args.x[i];
}

KERNEL __launch_bounds__(128) void totals(const __grid_constant__ TotalsArgs a) {
    SHARED(double, scratch);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double v = i < a.n ? a.x[i] : 0.0;
    add_fixed(a.fixed, v);
    const double sum = block_sum(v, scratch);
    if (threadIdx.x == 0) a.sums[blockIdx.x] = sum;
}

KERNEL void reverse(const __grid_constant__ ReverseArgs a) {
    SHARED(int, copy);
    copy[threadIdx.x] = a.x[threadIdx.x];
    __syncthreads();
    a.x[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

KERNEL void stuck(const __grid_constant__ ReverseArgs a) {
    if (threadIdx.x < 3) __syncthreads();
    else __syncwarp();
    a.x[0] = 1;
}

KERNEL void extremes(const __grid_constant__ ExtremesArgs a) {
    for (int k = 0; k < a.times; k++) add_fixed(&a.fixed[threadIdx.x], a.x[threadIdx.x]);
    add_energy(&a.fixed[32 + threadIdx.x], a.x[threadIdx.x]);
}

KERNEL void sums_of_eight(const __grid_constant__ SumsArgs a) {
    double v[8];
    for (int q = 0; q < 8; q++) v[q] = (q + 1) * (double)threadIdx.x + q;
    a.sums[threadIdx.x] = warp_sums(v);
    add_fixed(&a.fixed[threadIdx.x], (float)a.x[threadIdx.x]);
    add_fixed(&a.fixed[32 + threadIdx.x], (double)a.x[threadIdx.x]);
}

KERNEL void slow(const __grid_constant__ SlowArgs a) {
    double v = 1.0;
    for (int k = 0; k < a.times; k++) v = v * 0.5 + 1.0;
    a.x[0] = v;
}

KERNEL void ballots(const __grid_constant__ BallotsArgs a) {
    a.out[threadIdx.x] = __ballot_sync(ALL_LANES, threadIdx.x % 3 == 0);
}

struct Opaque {
    unsigned low, high;
};

KERNEL void unpack(const __grid_constant__ UnpackArgs a) {
    const Mixture &m = a.mixture, &other = a.more[1];
    double *out = a.out;
    for (int i = 0; i < 8; i++) *out++ = m.bytes[i];
    *out++ = m.range.low, *out++ = m.range.high;
    for (int i = 0; i < 6; i++) *out++ = m.rows[i / 3][i % 3];
    *out++ = m.count, *out++ = m.step, *out++ = m.wide, *out++ = m.bits;
    *out++ = a.byte, *out++ = a.single;
    *out++ = a.pairs[1].x, *out++ = a.pairs[1].y;
    *out++ = other.range.high, *out++ = *a.place, *out++ = a.other[1].low;
    *out++ = a.nothing == nullptr;
}
";

/// The kernels above in a number type.
fn source(real: &str) -> Source {
    Source::new("layer", KERNELS)
        .define("REAL", real)
        .kernel::<AddArgs<'static>>("add")
        .kernel::<TotalsArgs<'static>>("totals")
        .kernel::<ReverseArgs<'static>>("reverse")
        .kernel::<ReverseArgs<'static>>("stuck")
        .kernel::<ExtremesArgs<'static>>("extremes")
        .kernel::<SumsArgs<'static>>("sums_of_eight")
        .kernel::<SlowArgs<'static>>("slow")
        .kernel::<BallotsArgs<'static>>("ballots")
        .kernel::<UnpackArgs<'static>>("unpack")
}

fn device() -> (Device, Module, Stream) {
    let device = Device::of_tests().unwrap();
    let module = device.compile(&source("double")).unwrap();
    let stream = device.stream().unwrap();
    (device, module, stream)
}

#[test]
fn sums_and_shuffles_are_those_of_plain_loops() {
    let (device, module, stream) = device();
    let x: Vec<f64> = (0..300).map(|i| f64::from(i) * 0.25 - 7.0).collect();
    let (buffer, sums) = (device.upload(&x).unwrap(), device.zeros::<f64>(3).unwrap());
    let fixed = device.zeros::<i64>(1).unwrap();
    let kernel = module.kernel::<TotalsArgs<'static>>("totals").unwrap();
    let arguments = TotalsArgs { x: buffer.arg(), sums: sums.arg(), fixed: fixed.arg(), n: 300 };
    stream.launch(&kernel, Launch::for_each(300, 128).with_shared(32 * 8), arguments).unwrap();
    let expected: Vec<f64> = x.chunks(128).map(|c| c.iter().sum()).collect();
    assert_eq!(sums.read(&stream).unwrap(), expected);
    assert_eq!(fixed.read(&stream).unwrap()[0] as f64 / 4_294_967_296.0, expected.iter().sum::<f64>());
}

#[test]
fn graphs_repeat_what_was_recorded_and_do_nothing_before() {
    let (device, module, stream) = device();
    let (x, y) = (device.upload(&[1.0, 2.0, 3.0]).unwrap(), device.zeros::<f64>(3).unwrap());
    let z = device.zeros::<f64>(3).unwrap();
    let add = module.kernel::<AddArgs<'static>>("add").unwrap();
    let graph = stream
        .capture(|| {
            stream.launch(&add, Launch::new(1, 32), AddArgs { x: x.arg(), y: y.arg(), n: 3, a: 2.0 })?;
            stream.copy(&y, &z)
        })
        .unwrap();
    assert_eq!(y.read(&stream).unwrap(), [0.0; 3]);
    for _ in 0..3 {
        graph.launch(&stream).unwrap();
    }
    assert_eq!(z.read(&stream).unwrap(), [6.0, 12.0, 18.0]);
    stream.zero(&z).unwrap();
    assert_eq!(z.read(&stream).unwrap(), [0.0; 3]);
}

/// Buffers may be dropped and replaced after a sequence has been recorded: it works with those that it was recorded with, and gives them back at
/// its end. Arguments may be made before the recording begins, and lead to the middle of a buffer.
#[test]
fn graphs_keep_the_memory_and_the_kernels_that_they_work_with() {
    let (device, module, stream) = device();
    let (x, y) = (device.upload(&[7.0, 1.0, 2.0, 3.0]).unwrap(), device.zeros::<f64>(3).unwrap());
    let z = device.zeros::<f64>(3).unwrap();
    let (filled, unused) = (device.upload(&[5.0; 3]).unwrap(), device.zeros::<f64>(3).unwrap());
    let add = module.kernel::<AddArgs<'static>>("add").unwrap();
    let arguments = AddArgs { x: In::from_element(&x, 1), y: y.arg(), n: 3, a: 2.0 };
    let work = || {
        stream.zero(&filled)?;
        stream.launch(&add, Launch::new(1, 32), arguments)?;
        stream.copy(&y, &z)
    };
    let graph = stream.capture(work).unwrap();
    let memory = [&x, &y, &filled, &unused].map(|buffer| Arc::downgrade(buffer.memory()));
    drop((x, y, filled, unused, add, module));
    assert_eq!(memory.each_ref().map(|memory| memory.strong_count()), [1, 1, 1, 0]);
    // On the emulator these would get the memory of those that were dropped.
    let others: Vec<_> = (0..16).map(|n| device.upload(&[100.0; 4][..3 + n % 2]).unwrap()).collect();
    let clone = graph.clone();
    drop(graph);
    for _ in 0..3 {
        clone.launch(&stream).unwrap();
    }
    assert_eq!(z.read(&stream).unwrap(), [6.0, 12.0, 18.0]);
    assert!(others.iter().all(|buffer| buffer.read(&stream).unwrap().iter().all(|x| *x == 100.0)));
    drop(clone);
    assert!(memory.iter().all(|memory| memory.strong_count() == 0));
}

/// A recording that fails or panics leaves nothing behind, and none is made within another.
#[test]
fn recordings_end_with_errors_and_panics_and_do_not_nest() {
    let device = Device::emulator().unwrap();
    let stream = device.stream().unwrap();
    let ones = || device.upload(&[1.0; 3]).unwrap();
    let (x, y) = (ones(), ones());
    let nested = stream.capture(|| {
        stream.zero(&x)?;
        stream.capture(|| stream.zero(&x)).map(drop)
    });
    assert!(matches!(nested, Err(DeviceError::Recording(_))));
    let graph = stream.capture(|| stream.zero(&y)).unwrap();
    let launched = stream.capture(|| graph.launch(&stream));
    assert!(matches!(launched, Err(DeviceError::Recording(_))));
    let fails = std::panic::AssertUnwindSafe(|| stream.capture::<DeviceError>(|| panic!("a fault of the caller")));
    assert!(std::panic::catch_unwind(fails).is_err());
    assert_eq!((x.read(&stream).unwrap(), y.read(&stream).unwrap()), (vec![1.0; 3], vec![1.0; 3]));
    // What comes next is done at once.
    stream.zero(&x).unwrap();
    assert_eq!(x.read(&stream).unwrap(), [0.0; 3]);
}

#[test]
fn dropped_memory_is_not_given_to_others_while_work_uses_it() {
    let (device, module, stream) = device();
    // On a GPU 0.4 s of work, on more memory than is kept once it has been dropped; the emulator has done it when it returns.
    let (times, len) = if device.gpu().is_some() { (1 << 26, (1 << 27) + 1) } else { (1000, 64) };
    let used = device.zeros::<f64>(len).unwrap();
    let slow = module.kernel::<SlowArgs<'static>>("slow").unwrap();
    stream.launch(&slow, Launch::new(1, 1), SlowArgs { x: used.arg(), times }).unwrap();
    drop(used);
    let next = device.zeros::<f64>(len).unwrap();
    stream.synchronize().unwrap();
    let mut first = [1.0; 8];
    next.read_into(&stream, &mut first).unwrap();
    assert_eq!(first, [0.0; 8]);
}

#[test]
fn barriers_order_shared_memory() {
    let (device, module, stream) = device();
    let content: Vec<i32> = (0..256).collect();
    let x = device.upload(&content).unwrap();
    let reverse = module.kernel::<ReverseArgs<'static>>("reverse").unwrap();
    stream.launch(&reverse, Launch::new(1, 256).with_shared(1024), ReverseArgs { x: x.arg() }).unwrap();
    assert!(x.read(&stream).unwrap().iter().rev().eq(&content));
    let out = device.zeros::<u32>(64).unwrap();
    let ballots = module.kernel::<BallotsArgs<'static>>("ballots").unwrap();
    stream.launch(&ballots, Launch::new(1, 64), BallotsArgs { out: out.arg() }).unwrap();
    let bits = |first: u32| (0..32).filter(|l| (first + l).is_multiple_of(3)).fold(0_u32, |b, l| b | 1 << l);
    let expected: Vec<u32> = (0..64).map(|i| bits(i / 32 * 32)).collect();
    assert_eq!(out.read(&stream).unwrap(), expected);
}

#[test]
fn mistakes_of_kernels_are_errors() {
    let device = Device::emulator().unwrap();
    let module = device.compile(&source("double")).unwrap();
    let stream = device.stream().unwrap();
    let x = device.zeros::<i32>(1).unwrap();
    let stuck = module.kernel::<ReverseArgs<'static>>("stuck").unwrap();
    let stuck = stream.launch(&stuck, Launch::new(1, 32), ReverseArgs { x: x.arg() }).unwrap_err().to_string();
    assert!(stuck.contains("stuck") && stuck.contains("barriers"), "{stuck}");
    let bad = Source::new("bad", "KERNEL void f(const __grid_constant__ ReverseArgs a) { x = 1; }");
    let Err(DeviceError::Compile { log, .. }) = device.compile(&bad.kernel::<ReverseArgs<'static>>("f")) else {
        panic!("nonsense compiles");
    };
    assert!(log.contains('x'), "{log}");
    assert_eq!(x.write(&stream, &[1, 2]), Err(DeviceError::Length { expected: 1, found: 2 }));
}

/// One element too far is not in the buffer.
#[test]
fn pointers_lead_to_elements_that_there_are() {
    let x = Device::emulator().unwrap().zeros::<i32>(3).unwrap();
    for first in 0..5 {
        let pointer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Out::from_element(&x, first)));
        assert_eq!(pointer.is_ok(), first < 3, "{first}");
    }
    assert_eq!((x.holds(3), x.holds(4)), (Ok(()), Err(DeviceError::Length { expected: 4, found: 3 })));
}

/// Beyond the range, and not a number: never a sum that could pass for a force (see `prelude.cuh`).
#[test]
fn sums_beyond_the_range_of_fixed_point_are_seen() {
    let (device, module, stream) = device();
    let mut x = [1e8; 32];
    x[..6].copy_from_slice(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1.5e9, -1e8]);
    let values = device.upload(&x).unwrap();
    let extremes = module.kernel::<ExtremesArgs<'static>>("extremes").unwrap();
    for times in 1..=8 {
        let fixed = device.zeros::<i64>(64).unwrap();
        let arguments = ExtremesArgs { x: values.arg(), fixed: fixed.arg(), times };
        stream.launch(&extremes, Launch::new(1, 32), arguments).unwrap();
        let (forces, energies) = fixed.read(&stream).map(|v| (v[..32].to_vec(), v[32..].to_vec())).unwrap();
        assert!(forces[..5].iter().all(|f| f.unsigned_abs() > 1 << 60), "{forces:?}");
        assert_eq!(forces[5..7], [-1, 1].map(|sign| sign * i64::from(times) * 100_000_000 * (1 << 32)));
        assert_eq!(
            energies[1..6],
            [5.5e18 as i64, -5.5e18 as i64, 5.5e18 as i64, -1_500_000_000 << 24, -100_000_000 << 24]
        );
    }
}

#[test]
fn eight_sums_at_once_are_those_of_plain_loops_and_floats_become_the_numbers_that_doubles_do() {
    let device = Device::of_tests().unwrap();
    let module = device.compile(&source("float")).unwrap();
    let stream = device.stream().unwrap();
    let mut x: Vec<f32> = (0..32).map(|i| (i as f32 - 15.7) * 10_f32.powi(i - 25)).collect();
    // Halves of the last place, ends and what is beyond them.
    x[..9].copy_from_slice(&[
        0.5 / 4_294_967_296.0,
        -1.5 / 4_294_967_296.0,
        -0.0,
        1e9,
        -1e9,
        f32::NAN,
        3e38,
        f32::NEG_INFINITY,
        1.0,
    ]);
    let (sums, fixed) = (device.zeros::<f64>(32).unwrap(), device.zeros::<i64>(64).unwrap());
    let x = device.upload(&x).unwrap();
    let arguments = SumsArgs { x: x.arg(), sums: sums.arg(), fixed: fixed.arg() };
    let kernel = module.kernel::<SumsArgs<'static>>("sums_of_eight").unwrap();
    stream.launch(&kernel, Launch::new(1, 32), arguments).unwrap();
    // Σ_lane (q + 1) lane + q, in whole numbers.
    let expected: Vec<f64> = (0..32).map(|lane| f64::from((lane / 4 + 1) * 496 + 32 * (lane / 4))).collect();
    assert_eq!(sums.read(&stream).unwrap(), expected);
    let fixed = fixed.read(&stream).unwrap();
    let (of_floats, of_doubles) = fixed.split_at(32);
    for (lane, (float, double)) in of_floats.iter().zip(of_doubles).enumerate() {
        // The ends of floats are not quite those of doubles.
        let end = (5..8).contains(&lane);
        assert!(float == double || (end && float.abs_diff(*double) < 1 << 40), "{lane}: {float} and {double}");
    }
    assert_eq!(of_floats[..3], [0, -2, 0]);
}

#[test]
fn memory_that_is_not_there_is_an_error_and_leaves_the_device_whole() {
    let device = Device::emulator().unwrap();
    for len in [usize::MAX / 16, usize::MAX] {
        assert!(matches!(device.zeros::<f64>(len).err(), Some(DeviceError::OutOfMemory { .. })), "{len}");
    }
    let (stream, module) = (device.stream().unwrap(), device.compile(&source("float")).unwrap());
    let x = device.upload(&[1, 2]).unwrap();
    let reverse = module.kernel::<ReverseArgs<'static>>("reverse").unwrap();
    let launch = |shared| stream.launch(&reverse, Launch::new(1, 2).with_shared(shared), ReverseArgs { x: x.arg() });
    let error = launch(300 * 1024).unwrap_err().to_string();
    assert_eq!(error, "kernel reverse needs 307200 bytes of shared memory; this GPU has 232448 for one block");
    launch(8).unwrap();
    assert_eq!(x.read(&stream).unwrap(), [2, 1]);
}

/// Handles of one kernel with different needs, as the products of the levels of a tree have: a driver forgets the higher limit when it is asked for a
/// lower one. (On a GPU: OCTITRATE_TEST_DEVICE=cuda:0.)
#[test]
fn a_kernel_that_needs_less_shared_memory_takes_none_from_one_that_needs_more() {
    let (device, module, stream) = device();
    let content: Vec<i32> = (0..32).collect();
    let x = device.upload(&content).unwrap();
    let [first, second] = [0; 2].map(|_| module.kernel::<ReverseArgs<'static>>("reverse").unwrap());
    let again = device.compile(&source("double")).unwrap().kernel::<ReverseArgs<'static>>("reverse").unwrap();
    let kib = [(&first, 60), (&second, 50), (&first, 60), (&again, 55), (&first, 60), (&second, 8), (&again, 62)];
    for (kernel, kib) in kib {
        stream.launch(kernel, Launch::new(1, 32).with_shared(kib << 10), ReverseArgs { x: x.arg() }).unwrap();
    }
    // Turned an odd number of times.
    assert!(x.read(&stream).unwrap().iter().rev().eq(&content));
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    let (major, minor) = MINIMUM_CAPABILITY;
    for architecture in [format!("sm_{major}{minor}"), "sm_80".into(), "sm_90".into()] {
        for real in ["float", "double"] {
            compiles(&source(real), &architecture).unwrap();
        }
        compiles(&sort::source(), &architecture).unwrap();
    }
    let Ok(code) = compile::code(&source("float"), 90, false) else { return };
    assert!(code.bytes.starts_with(b"\x7fELF"));
    // A GPU that the compiler does not know yet, and never will: PTX, which its driver compiles.
    let ptx = compile::code(&source("float"), 9990, false).unwrap().bytes;
    let text = String::from_utf8_lossy(&ptx);
    assert!(text.contains(".target sm_") && text.contains(".entry add") && ptx.last() == Some(&0), "{text}");
    let Err(DeviceError::Compile { log, .. }) = compiles(&Source::new("bad", "KERNEL void f() { x = 1; }"), "sm_90")
    else {
        panic!("nonsense compiles");
    };
    assert!(log.contains("\"x\" is undefined"), "{log}");
    let old = compiles(&source("float"), "sm_20").unwrap_err();
    assert!(matches!(&old, DeviceError::Architecture { known, .. } if known.contains(&90)), "{old}");
    assert!(old.to_string().contains("does not serve sm_20, only sm_"), "{old}");
}

#[test]
fn messages_say_what_is_there() {
    let none = |found| DeviceError::NoDevice { ordinal: 4, found }.to_string();
    assert_eq!(none(0), "no GPU 4: the driver sees none");
    assert_eq!(none(1), "no GPU 4: the only one is cuda:0");
    assert_eq!(none(2), "no GPU 4: they are cuda:0 to cuda:1");
    let memory = DeviceError::OutOfMemory { asked: 3 << 30, free: 1 << 19 };
    assert_eq!(memory.to_string(), "the GPU is out of memory: 3072.0 MiB more were asked for, 0.5 MiB are free");
    let old = DeviceError::Capability { name: "Tesla P100".into(), capability: (6, 0), needed: MINIMUM_CAPABILITY };
    assert_eq!(old.to_string(), "Tesla P100 has compute capability 6.0; 7.5 or newer is needed");
    let code = "CUDA_ERROR_ECC_UNCORRECTABLE".to_string();
    let lost = DeviceError::Lost { call: "cuStreamSynchronize", code, text: "uncorrectable ECC error".into() };
    assert_eq!(
        lost.to_string(),
        "the GPU failed in cuStreamSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE (uncorrectable ECC error); what it held is lost"
    );
    if let Err(e) = probe() {
        assert_eq!(e, DeviceError::NoDriver);
    }
}
