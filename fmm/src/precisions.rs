//! Both precisions of what other crates call, compiled once.
//!
//! Generic functions are compiled anew in every crate that calls them, unless they are `inline(never)` and their own crate has compiled them
//! already (Rust 1.83 and newer). The solvers make megabytes of code, and program, library and each test binary would spend more
//! time on them than on themselves. So their public functions are `inline(never)`, and [`compile_single`] and [`compile_double`] name them here.

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

/// Makes the compiler compile the functions in `f32`, those on devices apart. Nobody needs to call it.
#[doc(hidden)]
#[inline(never)]
pub fn compile_single() {
    functions::<f32>().for_each(|function| {
        std::hint::black_box(function);
    });
}

/// Makes the compiler compile the functions in `f64`, those on devices apart. Nobody needs to call it.
#[doc(hidden)]
#[inline(never)]
pub fn compile_double() {
    functions::<f64>().for_each(|function| {
        std::hint::black_box(function);
    });
}
