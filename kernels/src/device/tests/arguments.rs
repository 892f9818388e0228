//! What keeps arguments and kernels together: types, layouts, limits of launches.

use super::*;

/// Arguments of another type than the kernel takes never reach it.
#[test]
fn kernels_take_the_arguments_that_they_are_declared_with() {
    let (device, module, _) = device();
    let wrong = module.kernel::<AddArgs<'static>>("totals").err().unwrap().to_string();
    assert_eq!(wrong, "no kernel totals(AddArgs) in layer");
    assert!(matches!(module.kernel::<AddArgs<'static>>("none"), Err(DeviceError::NoKernel { .. })));
    let text = "KERNEL void f(const __grid_constant__ ReverseArgs a) {}";
    for kernel in ["f", "g"] {
        let source =
            Source::new("other", text).kernel::<ReverseArgs<'static>>("f").kernel::<BallotsArgs<'static>>(kernel);
        let Err(DeviceError::Compile { log, .. }) = device.compile(&source) else { panic!("{kernel} compiles") };
        assert!(log.contains(kernel), "{log}");
    }
}

/// Every argument arrives, whatever its size and whatever lies before it.
#[test]
fn arguments_arrive_whole() {
    let (device, module, stream) = device();
    let mixture = Mixture {
        bytes: [1, 2, 3, 4, 5, 6, 7, 255],
        range: Range { low: -0.5, high: 1e300 },
        rows: [[1, -2, 3], [-4, 5, i32::MIN]],
        count: u32::MAX,
        step: -1,
        wide: -(1 << 40),
        bits: 1 << 50,
    };
    let other = Mixture { range: Range { low: 0.0, high: 0.25 }, wide: 77, ..mixture };
    let more = device.upload(&[mixture, other]).unwrap();
    let (pairs, opaque) = (device.upload(&[1_u32, 2, 3, 4]).unwrap(), device.upload(&[0_u64, (9 << 32) + 8]).unwrap());
    let out = device.zeros::<f64>(28).unwrap();
    let arguments = UnpackArgs {
        byte: 200,
        mixture,
        pairs: pairs.arg(),
        single: -1.5,
        more: more.arg(),
        place: In::within(&more, size_of::<Mixture>() + offset_of!(Mixture, wide)),
        other: opaque.arg(),
        nothing: In::none(),
        out: out.arg(),
    };
    let unpack = module.kernel::<UnpackArgs<'static>>("unpack").unwrap();
    stream.launch(&unpack, Launch::new(1, 1), arguments).unwrap();
    let bytes = mixture.bytes.map(f64::from);
    let numbers = [-0.5, 1e300, 1.0, -2.0, 3.0, -4.0, 5.0, -2_147_483_648.0, 4_294_967_295.0, -1.0];
    let rest = [-1_099_511_627_776.0, 1_125_899_906_842_624.0, 200.0, -1.5, 3.0, 4.0, 0.25, 77.0, 8.0, 1.0];
    assert_eq!(out.read(&stream).unwrap(), [&bytes[..], &numbers, &rest].concat());
}

#[test]
fn layouts_are_those_of_the_device() {
    let device = Device::of_tests().unwrap();
    for source in [source("float"), source("double"), sort::source()] {
        check_layouts(&device, &source).unwrap();
    }
}

/// Arguments that say of themselves what is not so: of a field of four bytes that it is eight long, or of two fields that they stand in the other
/// order. Nothing is launched with them.
macro_rules! wrong_arguments {
    ($name:ident, $places:expr, $declaration:literal) => {
        #[derive(Clone, Copy)]
        #[repr(C)]
        struct $name<'a> {
            first: i32,
            out: Out<'a, i64>,
        }
        // SAFETY: wrong on purpose; nothing is launched with it.
        unsafe impl Shared for $name<'_> {
            fn declaration(name: &str) -> String {
                format!("{} {name}", Self::NAME)
            }
            fn element(_lanes: usize) -> String {
                Self::NAME.into()
            }
        }
        // SAFETY: as above.
        unsafe impl Arguments for $name<'_> {
            const NAME: &'static str = stringify!($name);
            type With<'b> = $name<'b>;
            fn add_layouts(all: &mut Layouts) {
                let [first, second]: [usize; 2] = $places;
                let field = |name, offset, size, declaration: &str| Field {
                    name,
                    offset,
                    size,
                    alignment: size,
                    pointee: 0,
                    declaration: declaration.into(),
                };
                let fields = vec![field("first", first, 4, $declaration), field("out", second, 8, "long long *out")];
                all.define(Layout { name: Self::NAME, size: size_of::<Self>(), fields });
            }
        }
    };
}

wrong_arguments!(LongArgs, [offset_of!(Self, first), offset_of!(Self, out)], "long long first");
wrong_arguments!(SwappedArgs, [offset_of!(Self, out), offset_of!(Self, first)], "int first");

/// Kernels that take a structure whose declaration in C++ is not that of Rust do not compile.
#[test]
fn fields_of_another_size_do_not_compile() {
    let text = "KERNEL void f(const __grid_constant__ LongArgs a) {}";
    let source = Source::new("wrong", text).kernel::<LongArgs<'static>>("f");
    let Err(DeviceError::Compile { log, .. }) = Device::emulator().unwrap().compile(&source) else {
        panic!("a wrong layout compiles");
    };
    assert!(log.contains("LongArgs::first"), "{log}");
}

#[test]
fn fields_in_other_places_are_found_by_the_device() {
    let text = "KERNEL void f(const __grid_constant__ SwappedArgs a) {}";
    let source = Source::new("wrong", text).kernel::<SwappedArgs<'static>>("f");
    let found = check_layouts(&Device::emulator().unwrap(), &source);
    let Err(DeviceError::Layout { what, host: 8, device: 0 }) = found else { panic!("{found:?}") };
    assert!(what.contains("SwappedArgs") && what.contains("first"), "{what}");
}

#[test]
fn launches_that_no_gpu_can_do_are_refused() {
    let (device, module, stream) = device();
    let reverse = module.kernel::<ReverseArgs<'static>>("reverse").unwrap();
    let x = device.zeros::<i32>(1).unwrap();
    let launch = |blocks: [u32; 3], threads: [u32; 3]| {
        stream.launch(&reverse, Launch::new(blocks, threads).with_shared(4), ReverseArgs { x: x.arg() })
    };
    for (blocks, threads) in [
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [32, 33, 1]),
        ([1, 1, 1], [1, 1, 65]),
        ([1, 65_536, 1], [1; 3]),
        ([1 << 31, 1, 1], [1; 3]),
    ] {
        let kernel = "reverse".to_string();
        assert_eq!(launch(blocks, threads), Err(DeviceError::Launch { kernel, blocks, threads }));
    }
    launch([0, 1, 1], [1; 3]).unwrap();
    launch([1; 3], [1; 3]).unwrap();
    assert_eq!(
        Launch::for_each(257, 128),
        Launch { blocks: Extent([3, 1, 1]), threads: Extent([128, 1, 1]), shared_bytes: 0 }
    );
}
