//! Every scheme against plain loops in f64, on the emulated device.

use super::level::{Boxes, M2lLevel};
use super::measure::{Case, ceilings, largest_error, measure, random_multipoles};
use super::*;
use bytemuck::Pod;
use fmm::harmonics::count;
use kernels::Real;
use kernels::device::{Device, check_layouts, compiles};
use octitrate::charges::Precision;

fn periodic(n: usize) -> Boxes {
    Boxes { n, periodic: true }
}

fn open(n: usize) -> Boxes {
    Boxes { n, periodic: false }
}

/// Largest relative error of all boxes, after a first pass that leaves something to overwrite.
fn error<T: Real + Pod>(scheme: Scheme, order: usize, boxes: Boxes, parts: Option<usize>) -> f64 {
    let device = Device::of_tests().unwrap();
    let level = M2lLevel::<T>::new(&device, scheme, order, boxes, parts).unwrap();
    let stream = device.stream().unwrap();
    let multipoles = random_multipoles::<T>(order, level.row_length(), boxes.count());
    level.multipoles().write(&stream, &multipoles).unwrap();
    level.enqueue(&stream).unwrap();
    level.enqueue(&stream).unwrap();
    let locals = level.locals().read(&stream).unwrap();
    largest_error(order, boxes, &multipoles, &locals, &mut |_| true)
}

/// Sums of 189 K terms of both signs whose roundings add up at random.
fn limit<T: Real>(order: usize) -> f64 {
    0.5 * T::epsilon().widen() * (189.0 * count(order) as f64).sqrt()
}

fn check<T: Real + Pod>(scheme: Scheme, orders: &[usize]) {
    for order in orders {
        for level in [periodic(4), open(8)] {
            let found = error::<T>(scheme, *order, level, None);
            assert!(found < limit::<T>(*order), "{scheme:?} order {order} {level:?}: {found:e}");
        }
    }
}

macro_rules! schemes {
    ($($name:ident $scheme:ident)*) => {$(
        #[test]
        fn $name() {
            check::<f64>(Scheme::$scheme, &[1, 3]);
            check::<f32>(Scheme::$scheme, &[2]);
            let found = error::<f64>(Scheme::$scheme, 8, open(4), None);
            assert!(found < limit::<f64>(8), "{found:e}");
        }
    )*};
}

schemes! {
    naive_loops_are_plain_sums Naive
    grouped_children_are_plain_sums Dynamic
    symmetric_operators_are_plain_sums Symmetric
    blocks_of_boxes_are_plain_sums Basic
    siblings_are_plain_sums Siblings
    clusters_are_plain_sums Clusters
    slices_are_plain_sums Slices
    products_are_plain_sums Gemm
}

#[test]
fn tensor_cores_split_numbers_without_loss() {
    // What is left out, 2⁻²² of a product, is less than the roundings of the sum; unsplit TF32 would leave 2⁻¹².
    for (order, level) in [(1, periodic(4)), (2, open(8)), (4, periodic(4)), (8, open(4))] {
        let found = error::<f32>(Scheme::Tensor, order, level, None);
        assert!(found < limit::<f32>(order), "order {order} {level:?}: {found:e}");
    }
}

#[test]
fn jobs_of_a_tile_add_up() {
    for (scheme, parts) in [(Scheme::Gemm, 1), (Scheme::Gemm, 7), (Scheme::Tensor, 3), (Scheme::Gemm, 500)] {
        let found = error::<f32>(scheme, 2, periodic(4), Some(parts));
        assert!(found < limit::<f32>(2), "{scheme:?} {parts}: {found:e}");
    }
}

#[test]
fn number_of_translations_is_that_of_the_lists() {
    for boxes in [open(4), open(8), periodic(8), open(12)] {
        let mut counted = 0;
        (0..boxes.count()).for_each(|i| level::sources_of(boxes, i, |_, _| counted += 1));
        let device = Device::of_tests().unwrap();
        let level = M2lLevel::<f64>::new(&device, Scheme::Naive, 0, boxes, None).unwrap();
        assert_eq!(level.pairs(), counted);
    }
}

#[test]
fn wrong_levels_are_errors() {
    let device = Device::of_tests().unwrap();
    let new = |scheme, order, n| M2lLevel::<f64>::new(&device, scheme, order, periodic(n), None).err();
    assert_eq!(new(Scheme::Gemm, 21, 4), Some(M2lError::Order { order: 21 }));
    assert_eq!(new(Scheme::Gemm, 2, 6), Some(M2lError::Size { n: 6 }));
    assert_eq!(new(Scheme::Tensor, 2, 4), Some(M2lError::Precision));
    assert_eq!(Scheme::from_name("symmetric"), Some(Scheme::Symmetric));
    assert_eq!(Scheme::from_name("none"), None);
}

#[test]
fn measurements_are_complete() {
    let device = Device::of_tests().unwrap();
    let measured = measure(&device, Case { scheme: Scheme::Gemm, order: 2, depth: 2 }, Precision::F32, 1).unwrap();
    assert_eq!(measured.pairs, 189 * 64);
    assert!(measured.seconds > 0.0 && measured.error < 1e-6, "{measured:?}");
    let ceilings = ceilings(&device).unwrap();
    assert!(ceilings.single > 0.0 && ceilings.double > 0.0);
    assert!(measured.fraction(&ceilings) > 0.0);
}

#[test]
fn layouts_are_those_of_the_device() {
    let device = Device::of_tests().unwrap();
    for scheme in Scheme::ALL {
        check_layouts(&device, &level::source::<f32>(scheme, 3)).unwrap();
    }
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    for scheme in Scheme::ALL {
        for (order, element) in [(2, 4), (8, 4), (20, 4), (8, 8), (20, 8)] {
            if scheme == Scheme::Tensor && element == 8 {
                continue;
            }
            let source =
                if element == 4 { level::source::<f32>(scheme, order) } else { level::source::<f64>(scheme, order) };
            compiles(&source, "sm_90").unwrap();
        }
    }
    // Without copies behind the back of a thread and without tensor cores for single precision.
    for scheme in [Scheme::Gemm, Scheme::Tensor] {
        compiles(&level::source::<f32>(scheme, 8), "sm_75").unwrap();
    }
}
