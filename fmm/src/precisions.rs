//! Both precisions of what other crates call, compiled once.
//!
//! Generic functions are compiled anew in every crate that calls them, unless they are `inline(never)` and their own crate has compiled them
//! already (Rust 1.83 and newer). The solvers make megabytes of code, and program, library and each test binary would spend more
//! time on them than on themselves. So their public functions are `inline(never)`, and [`single`] and [`double`] name them here.

use bytemuck::Pod;
use kernels::Real;

use crate::Fmm;
use crate::coulomb::Coulomb;
use crate::device::{DeviceCoulomb, DeviceFmm};
use crate::members::FmmOfMembers;
use crate::tuning::accuracy;

/// The addresses of the functions in one precision.
fn functions<T: Real + Pod>() -> impl Iterator<Item = *const ()> {
    [
        Fmm::<T>::new as *const (),
        Fmm::<T>::set_boundary as *const (),
        Fmm::<T>::assign as *const (),
        Fmm::<T>::evaluate as *const (),
        Fmm::<T>::virial as *const (),
        Fmm::<T>::work as *const (),
        FmmOfMembers::<T>::assign as *const (),
        FmmOfMembers::<T>::evaluate as *const (),
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
        accuracy::estimate::<T> as *const (),
        accuracy::tune::<T> as *const (),
        accuracy::tune_on::<T> as *const (),
    ]
    .into_iter()
}

/// How many functions are compiled in `f32`.
#[doc(hidden)]
#[inline(never)]
pub fn single() -> usize {
    functions::<f32>().map(std::hint::black_box).count()
}

/// How many functions are compiled in `f64`.
#[doc(hidden)]
#[inline(never)]
pub fn double() -> usize {
    functions::<f64>().map(std::hint::black_box).count()
}
