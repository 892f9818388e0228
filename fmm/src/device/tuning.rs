//! Settings for a device that keep a tolerance.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::Device;

use super::DeviceCoulomb;
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::tree::TreeShape;
use crate::solver::settings::Settings;
use crate::tuning::accuracy::{Method, System, Tolerance, TuneError, Tuned, tune_by};
use crate::tuning::cost::Workload;

/// [`accuracy::tune`](crate::accuracy::tune) on a device, by its cost model; energies are compared with the CPU, which looks for close pairs, too.
///
/// # Errors
/// As there; the device.
#[inline(never)]
pub fn tune_on<T: Real + Pod>(
    device: &Device,
    boundary: &Boundary,
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    minimum_leaf: f64,
    tolerance: Tolerance,
) -> Result<Tuned, TuneError> {
    boundary.check()?;
    let workload = Workload::in_own_unit(boundary, positions, minimum_leaf);
    let system = System { boundary, positions, charges, exclusions };
    let method = Method {
        single: size_of::<T>() == 4,
        trees: &|order, separation| TreeShape::with_cost_on::<T>(device, order, separation, &workload),
        evaluate: &|settings| system.evaluate(&mut DeviceCoulomb::<T>::new(device, *boundary, settings)?),
        reference: &|settings| {
            let tree = TreeShape::auto::<f64>(settings.order, settings.separation, &workload);
            system.reference(Settings { tree, ..settings })
        },
        // Coordinates are rounded as on the CPU.
        check: &|settings, out, tolerance| system.check_close_pairs::<T>(settings, out, tolerance),
    };
    tune_by(&method, &workload, &system, tolerance)
}
