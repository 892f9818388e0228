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

/// Makes the compiler compile the functions in `f32`. Nobody needs to call it.
#[inline(never)]
pub fn compile_single() {
    functions::<f32>().for_each(|function| {
        std::hint::black_box(function);
    });
}

/// Makes the compiler compile the functions in `f64`. Nobody needs to call it.
#[inline(never)]
pub fn compile_double() {
    functions::<f64>().for_each(|function| {
        std::hint::black_box(function);
    });
}
