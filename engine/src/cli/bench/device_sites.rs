//! `bench sites` on a GPU: what sites do to themselves, alone and beside one evaluation of all charges as in a step.

use super::site_charges::{Forms, Sites, Times};
use fmm::device::{DeviceFmm, DeviceGroups, GroupCharges, GroupsError};
use fmm::{Fmm, FmmError, GroupPotentials, Settings};
use kernels::device::{Device, DeviceError};
use octitrate::backend::gpu::replay::{Replays, replayed};
use octitrate::charges::{System, median_and_least};

/// Most charges of a system whose sites the CPU computes too.
const CHECKED: usize = 100_000;

/// Times in seconds (median, least).
pub struct OnDevice {
    /// The times that are measured on the CPU, too.
    pub times: Times,
    /// Time of all charges with the sites beside them.
    pub both: [f64; 2],
    /// Largest difference of potentials of the sites from the CPU in double precision, relative to the largest potential, in small systems.
    pub deviation: Option<f64>,
}

/// Times sites of `groups` with charges `forms`.
///
/// # Errors
/// Sites or settings that the method refuses; an error of the device.
pub fn measure(
    system: &System,
    device: &Device,
    settings: Settings,
    (groups, forms): (&Sites, &Forms),
    repeats: usize,
) -> Result<OnDevice, GroupsError> {
    let group = |(members, charges): (&Vec<u32>, &Vec<Vec<f64>>)| GroupCharges {
        members: members.clone(),
        charges: charges.clone(),
    };
    let own: Vec<GroupCharges> = groups.iter().zip(forms).map(group).collect();
    let fmm = DeviceFmm::<f32>::new(device, system.boundary, settings, &system.positions, &system.exclusions)?;
    let own = DeviceGroups::of(&fmm, &own, &system.exclusions, None)?;
    let (x, q) = (device.upload(system.positions.as_flattened())?, device.upload(&system.charges)?);
    let [main, far, beside] = &[device.stream()?, device.stream()?, device.stream()?];
    let alone = || own.enqueue(main, fmm.geometry(), fmm.sorted());
    let assign = || fmm.enqueue_assign(main, &x);
    let assign_both = || assign().and_then(|()| own.enqueue_assign(main, fmm.place(), fmm.leaf_of()));
    let evaluate = || fmm.enqueue_evaluate(main, far, &x, &q);
    let both = || {
        fmm.enqueue_gather(main, &x, &q)?;
        far.wait_for(main)?;
        fmm.enqueue_far(far)?;
        beside.wait_for(main)?;
        own.enqueue(beside, fmm.geometry(), fmm.sorted())?;
        fmm.enqueue_near(main)?;
        main.wait_for(far)?;
        fmm.enqueue_finish(main)?;
        main.wait_for(beside)
    };
    assign_both()?;
    fmm.check(main)?;
    evaluate()?;
    alone()?;
    let deviation = match system.len() <= CHECKED {
        true => Some(difference(system, settings, (groups, forms), &own.potential().read(main)?)?),
        false => None,
    };
    let time = |enqueue: &dyn Fn() -> Result<(), DeviceError>| {
        Ok::<_, DeviceError>(median_and_least(replayed(main, Replays { launches: repeats, most: 100 }, enqueue)?))
    };
    Ok(OnDevice {
        times: Times {
            assign: time(&assign)?,
            assign_with_sites: time(&assign_both)?,
            evaluate: time(&evaluate)?,
            sites: time(&alone)?,
        },
        both: time(&both)?,
        deviation,
    })
}

/// Computes [`OnDevice::deviation`].
fn difference(
    system: &System,
    settings: Settings,
    (groups, forms): (&Sites, &Forms),
    found: &[f64],
) -> Result<f64, FmmError> {
    let mut solver = Fmm::<f64>::new(system.boundary, settings)?;
    solver.assign(&system.positions, &system.exclusions, groups)?;
    let mut exact = Vec::<GroupPotentials>::new();
    solver.evaluate_groups(&system.positions, forms, &mut exact)?;
    let exact = || exact.iter().flat_map(|group| group.potential.iter().flatten());
    let largest = exact().fold(0.0_f64, |most, v| most.max(v.abs()));
    Ok(found.iter().zip(exact()).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::super::site_charges::system_of;
    use super::*;
    use crate::cli::arguments::BenchSites;
    use fmm::TreeShape;

    #[test]
    fn sites_are_those_of_the_cpu() {
        let device = Device::of_tests().unwrap();
        let arguments = BenchSites { sites: 5, forms: 3, atoms: 7, particles: 600, order: 5, repeats: 1, json: false };
        let (system, groups, forms) = system_of(&arguments).unwrap();
        let settings = Settings::new(5, TreeShape { root: [4; 3], depth: 0 });
        let found = measure(&system, &device, settings, (&groups, &forms), 1).unwrap();
        // Multipoles in single precision.
        assert!(found.deviation.is_some_and(|d| d > 0.0 && d < 1e-5), "{:?}", found.deviation);
        let [alone, both] = [found.times.sites, found.both];
        assert!(alone[1] > 0.0 && both[1] > 0.0 && alone[1] <= alone[0]);
    }
}
