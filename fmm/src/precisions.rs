//! Both precisions of what other crates call, compiled once.
//!
//! Generic functions are compiled anew in every crate that calls them, unless they are `inline(never)` and their own crate has compiled them
//! already (Rust 1.83 and newer). The solvers make megabytes of code, and program, library and each test binary would spend more
//! time on them than on themselves. So their public functions are `inline(never)`, and [`single`] and [`double`] name them here.

use kernels::Real;

use crate::Fmm;
use crate::members::FmmOfMembers;
use crate::tuning::accuracy;

/// The addresses of the functions in one precision.
fn functions<T: Real>() -> impl Iterator<Item = *const ()> {
    [
        Fmm::<T>::new as *const (),
        Fmm::<T>::set_boundary as *const (),
        Fmm::<T>::assign_with_targets as *const (),
        Fmm::<T>::evaluate as *const (),
        Fmm::<T>::evaluate_vectors as *const (),
        Fmm::<T>::virial as *const (),
        Fmm::<T>::check_close_pairs as *const (),
        Fmm::<T>::work as *const (),
        FmmOfMembers::<T>::assign as *const (),
        FmmOfMembers::<T>::evaluate as *const (),
        accuracy::estimate::<T> as *const (),
        accuracy::tune::<T> as *const (),
    ]
    .into_iter()
}

/// How many functions are compiled in `f32`, those on devices apart.
#[doc(hidden)]
#[inline(never)]
pub fn single() -> usize {
    functions::<f32>().map(std::hint::black_box).count()
}

/// How many functions are compiled in `f64`, those on devices apart.
#[doc(hidden)]
#[inline(never)]
pub fn double() -> usize {
    functions::<f64>().map(std::hint::black_box).count()
}
