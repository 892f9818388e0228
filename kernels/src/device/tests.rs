use super::*;

const KERNELS: &str = "
KERNEL void add(const double *x, double *y, int n, double a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

KERNEL __launch_bounds__(128) void totals(const double *x, double *sums, long long *fixed, int n) {
    SHARED(double, scratch);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double v = i < n ? x[i] : 0.0;
    add_fixed(fixed, v);
    const double sum = block_sum(v, scratch);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

KERNEL void reverse(int *x) {
    SHARED(int, copy);
    copy[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

KERNEL void stuck(int *x) {
    if (threadIdx.x < 3) __syncthreads();
    else __syncwarp();
    x[0] = 1;
}

KERNEL void extremes(const double *x, long long *fixed, int times) {
    for (int k = 0; k < times; k++) add_fixed(&fixed[threadIdx.x], x[threadIdx.x]);
    add_energy(&fixed[32 + threadIdx.x], x[threadIdx.x]);
}

KERNEL void slow(double *x, int times) {
    double v = 1.0;
    for (int k = 0; k < times; k++) v = v * 0.5 + 1.0;
    x[0] = v;
}

KERNEL void ballots(unsigned *out) {
    out[threadIdx.x] = __ballot_sync(ALL_LANES, threadIdx.x % 3 == 0);
}
";

fn device() -> (Device, Module, Stream) {
    let device = Device::of_tests().unwrap();
    let module = device.compile(&Source::new("layer", KERNELS).define("REAL", "double")).unwrap();
    let stream = device.stream().unwrap();
    (device, module, stream)
}

#[test]
fn sums_and_shuffles_are_those_of_plain_loops() {
    let (device, module, stream) = device();
    let x: Vec<f64> = (0..300).map(|i| f64::from(i) * 0.25 - 7.0).collect();
    let (buffer, sums) = (device.upload(&x).unwrap(), device.zeros::<f64>(3).unwrap());
    let fixed = device.zeros::<i64>(1).unwrap();
    let kernel = module.kernel("totals").unwrap();
    stream.launch(&kernel, 3, 128, 32 * 8, args![&buffer, &sums, &fixed, 300_i32]).unwrap();
    let expected: Vec<f64> = x.chunks(128).map(|c| c.iter().sum()).collect();
    assert_eq!(sums.read(&stream).unwrap(), expected);
    assert_eq!(fixed.read(&stream).unwrap()[0] as f64 / 4_294_967_296.0, expected.iter().sum::<f64>());
}

#[test]
fn graphs_repeat_what_was_recorded_and_do_nothing_before() {
    let (device, module, stream) = device();
    let (x, y) = (device.upload(&[1.0, 2.0, 3.0]).unwrap(), device.zeros::<f64>(3).unwrap());
    let z = device.zeros::<f64>(3).unwrap();
    let add = module.kernel("add").unwrap();
    let graph = stream
        .capture(|| {
            stream.launch(&add, 1, 32, 0, args![&x, &y, 3_i32, 2.0_f64])?;
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

#[test]
fn dropped_memory_is_not_given_to_others_while_work_uses_it() {
    let (device, module, stream) = device();
    // On a GPU 0.4 s of work, on more memory than is kept once it has been dropped; the emulator has done it when it returns.
    let (times, len) = if device.gpu().is_some() { (1 << 26, (1 << 27) + 1) } else { (1000, 64) };
    let used = device.zeros::<f64>(len).unwrap();
    stream.launch(&module.kernel("slow").unwrap(), 1, 1, 0, args![&used, times]).unwrap();
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
    stream.launch(&module.kernel("reverse").unwrap(), 1, 256, 1024, args![&x]).unwrap();
    assert!(x.read(&stream).unwrap().iter().rev().eq(&content));
    let out = device.zeros::<u32>(64).unwrap();
    stream.launch(&module.kernel("ballots").unwrap(), 1, 64, 0, args![&out]).unwrap();
    let bits = |first: u32| (0..32).filter(|l| (first + l).is_multiple_of(3)).fold(0_u32, |b, l| b | 1 << l);
    let expected: Vec<u32> = (0..64).map(|i| bits(i / 32 * 32)).collect();
    assert_eq!(out.read(&stream).unwrap(), expected);
}

#[test]
fn mistakes_of_kernels_are_errors() {
    let device = Device::emulator().unwrap();
    let module = device.compile(&Source::new("layer", KERNELS).define("REAL", "double")).unwrap();
    let stream = device.stream().unwrap();
    let x = device.zeros::<i32>(1).unwrap();
    let launch = |name: &str, args: &[Arg]| stream.launch(&module.kernel(name).unwrap(), 1, 32, 0, args);
    let stuck = launch("stuck", args![&x]).unwrap_err().to_string();
    assert!(stuck.contains("stuck") && stuck.contains("barriers"), "{stuck}");
    let wrong = launch("stuck", args![&x, 3_i32]).unwrap_err().to_string();
    assert!(wrong.contains("arguments"), "{wrong}");
    assert!(matches!(module.kernel("none"), Err(DeviceError::NoKernel { .. })));
    let Err(DeviceError::Compile { log, .. }) = device.compile(&Source::new("bad", "KERNEL void f() { x = 1; }"))
    else {
        panic!("nonsense compiles");
    };
    assert!(log.contains('x'), "{log}");
    assert_eq!(x.write(&stream, &[1, 2]), Err(DeviceError::Length { expected: 1, found: 2 }));
}

/// Beyond the range, and not a number: never a sum that could pass for a force (see `prelude.cuh`).
#[test]
fn sums_beyond_the_range_of_fixed_point_are_seen() {
    let (device, module, stream) = device();
    let mut x = [1e8; 32];
    x[..6].copy_from_slice(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1.5e9, -1e8]);
    let values = device.upload(&x).unwrap();
    for times in 1..=8 {
        let fixed = device.zeros::<i64>(64).unwrap();
        stream.launch(&module.kernel("extremes").unwrap(), 1, 32, 0, args![&values, &fixed, times]).unwrap();
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
fn memory_that_is_not_there_is_an_error_and_leaves_the_device_whole() {
    let device = Device::emulator().unwrap();
    for len in [usize::MAX / 16, usize::MAX] {
        assert!(matches!(device.zeros::<f64>(len).err(), Some(DeviceError::OutOfMemory { .. })), "{len}");
    }
    let (stream, module) = (device.stream().unwrap(), device.compile(&Source::new("layer", KERNELS)).unwrap());
    let x = device.upload(&[1, 2]).unwrap();
    let launch = |shared| stream.launch(&module.kernel("reverse").unwrap(), 1, 2, shared, args![&x]);
    let error = launch(300 * 1024).unwrap_err().to_string();
    assert_eq!(error, "kernel reverse needs 307200 bytes of shared memory; this GPU has 232448 for one block");
    launch(8).unwrap();
    assert_eq!(x.read(&stream).unwrap(), [2, 1]);
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    let (major, minor) = MINIMUM_CAPABILITY;
    for architecture in [format!("sm_{major}{minor}"), "sm_80".into(), "sm_90".into()] {
        for real in ["float", "double"] {
            compiles(&Source::new("layer", KERNELS).define("REAL", real), &architecture).unwrap();
        }
        compiles(&sort::source(), &architecture).unwrap();
    }
    let Ok(code) = compile::cubin(&Source::new("layer", KERNELS), "sm_90") else { return };
    assert!(code.starts_with(b"\x7fELF"));
    let Err(DeviceError::Compile { log, .. }) = compiles(&Source::new("bad", "KERNEL void f() { x = 1; }"), "sm_90")
    else {
        panic!("nonsense compiles");
    };
    assert!(log.contains("\"x\" is undefined"), "{log}");
    let old = compiles(&Source::new("layer", KERNELS), "sm_20").unwrap_err();
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
