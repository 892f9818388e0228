//! Both precisions of what other crates call on a device, compiled once, as `precisions.rs` beside this folder does for the CPU.

use bytemuck::Pod;
use kernels::Real;

use super::tuning;
use super::{DeviceCoulomb, DeviceFmm};
use crate::coulomb::Coulomb;

/// The addresses of the functions in one precision.
fn functions<T: Real + Pod>() -> impl Iterator<Item = *const ()> {
    [
        DeviceFmm::<T>::new as *const (),
        DeviceFmm::<T>::of_members as *const (),
        DeviceFmm::<T>::enqueue_assign as *const (),
        DeviceFmm::<T>::enqueue_evaluate as *const (),
        DeviceFmm::<T>::enqueue_far as *const (),
        DeviceFmm::<T>::enqueue_near as *const (),
        DeviceFmm::<T>::enqueue_gather as *const (),
        DeviceFmm::<T>::enqueue_finish as *const (),
        DeviceFmm::<T>::enqueue_forces as *const (),
        DeviceFmm::<T>::enqueue_images as *const (),
        DeviceFmm::<T>::follow_shapes as *const (),
        DeviceFmm::<T>::set_reference as *const (),
        DeviceFmm::<T>::check as *const (),
        DeviceFmm::<T>::set_boundary as *const (),
        DeviceCoulomb::<T>::new as *const (),
        DeviceCoulomb::<T>::set_boundary as *const (),
        <DeviceCoulomb<T> as Coulomb>::assign as *const (),
        <DeviceCoulomb<T> as Coulomb>::evaluate as *const (),
        tuning::tune_on::<T> as *const (),
    ]
    .into_iter()
}

/// How many functions are compiled in `f32`.
#[inline(never)]
pub fn single() -> usize {
    functions::<f32>().map(std::hint::black_box).count()
}

/// How many functions are compiled in `f64`.
#[inline(never)]
pub fn double() -> usize {
    functions::<f64>().map(std::hint::black_box).count()
}
