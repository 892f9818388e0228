//! Kernels that may start before those ahead of them have ended.

use super::*;

arguments! {
    struct PassArgs<'a> {
        from: In<'a, u32>,
        to: Out<'a, u32>,
        n: i32,
    }
}

/// Each kernel reads what many blocks of the one ahead wrote, and writes where that one reads. The first blocks take longest.
const TEXT: &str = "
DEVICE void pass_on(const PassArgs &a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    unsigned x = a.from[(i + 7919) % a.n];
    for (int k = 0; k < 2000 / (int)(blockIdx.x + 1); k++) x = x * 1664525u + 1013904223u;
    a.to[i] = x;
}
KERNEL void early(const __grid_constant__ PassArgs a) { await_predecessor(); pass_on(a); }
KERNEL void usual(const __grid_constant__ PassArgs a) { pass_on(a); }
KERNEL void some_threads(const __grid_constant__ PassArgs a) { if (threadIdx.x != 31) await_predecessor(); pass_on(a); }
KERNEL void some_blocks(const __grid_constant__ PassArgs a) { if (blockIdx.x != 1) await_predecessor(); pass_on(a); }
";

type Pass = PassArgs<'static>;

/// Early ones one after the other and between others, on one stream and on two, at once and from a graph: the same numbers as of kernels that wait for
/// each other. (On a GPU: OCTITRATE_TEST_DEVICE=cuda:0.)
#[test]
fn kernels_that_start_early_see_what_those_ahead_of_them_have_written() {
    const N: usize = 40_000;
    let device = Device::of_tests().unwrap();
    let source = Source::new("early", TEXT).early_kernel::<Pass>("early").kernel::<Pass>("usual");
    let module = device.compile(&source).unwrap();
    let [early, usual] = ["early", "usual"].map(|name| module.kernel::<Pass>(name).unwrap());
    let (stream, beside) = (device.stream().unwrap(), device.urgent_stream().unwrap());
    let start: Vec<u32> = (0..N as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let run = |order: &[&Kernel<Pass>], graph: bool, fork: bool| {
        let buffers = [device.upload(&start).unwrap(), device.zeros::<u32>(N).unwrap()];
        let pass = |stream: &Stream, kernel: &Kernel<Pass>, step: usize| {
            let [from, to] = [step % 2, (step + 1) % 2].map(|k| &buffers[k]);
            stream.launch(kernel, Launch::for_each(N, 128), PassArgs { from: from.arg(), to: to.arg(), n: N as i32 })
        };
        let all = || {
            order.iter().enumerate().try_for_each(|(step, kernel)| {
                if !fork || step % 4 < 2 {
                    return pass(&stream, kernel, step);
                }
                beside.wait_for(&stream)?;
                pass(&beside, kernel, step)?;
                stream.wait_for(&beside)
            })
        };
        if graph {
            stream.capture(all).unwrap().launch(&stream).unwrap()
        } else {
            all().unwrap()
        }
        buffers[order.len() % 2].read(&stream).unwrap()
    };
    let expected = run(&[&usual; 12], false, false);
    for order in [[&early; 12], std::array::from_fn(|k| if k % 3 == 1 { &usual } else { &early })] {
        for (graph, fork) in [(false, false), (true, false), (false, true), (true, true)] {
            assert!(run(&order, graph, fork) == expected, "graph {graph}, two streams {fork}");
        }
    }
}

#[test]
fn an_early_kernel_of_which_a_thread_does_not_wait_is_an_error() {
    let device = Device::emulator().unwrap();
    let stream = device.stream().unwrap();
    let x = device.zeros::<u32>(128).unwrap();
    let launch = |source: Source, name: &str| {
        let kernel = device.compile(&source).unwrap().kernel::<Pass>(name).unwrap();
        stream.launch(&kernel, Launch::new(2, 64), PassArgs { from: x.arg(), to: x.arg(), n: 128 })
    };
    let source = || Source::new("hasty", TEXT);
    launch(source().early_kernel::<Pass>("early"), "early").unwrap();
    for name in ["some_threads", "some_blocks", "usual"] {
        launch(source().kernel::<Pass>(name), name).unwrap();
        let error = launch(source().early_kernel::<Pass>(name), name).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("wait"), "{error}");
    }
}

#[test]
fn waiting_compiles_for_gpus_with_and_without_it() {
    let source = Source::new("early", TEXT).early_kernel::<Pass>("early");
    ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&source, architecture).unwrap());
}
