//! The parts of a resident system, set up side by side.

use super::{NOISE_STEPS, ResidentError};
use crate::backend::gpu::long_range::{self, LongRange};
use crate::backend::gpu::setup::Setup;
use crate::motion::device::{DeviceMotion, VirialTerms};
use crate::titration::Sites;
use forcefield::device::{
    DeviceBonded, DeviceLennardJones, DeviceTermError, DeviceVariants, DeviceVirtualSites, EnergyTerm,
};
use kernels::device::Device;
use lambda::device::DeviceSites;
use std::thread::ScopedJoinHandle;

/// The parts of a step.
pub struct Parts {
    /// Electrostatics.
    pub long_range: Box<dyn LongRange>,
    /// Lennard-Jones.
    pub lennard_jones: DeviceLennardJones,
    /// Bonded terms.
    pub bonded: DeviceBonded,
    /// What differs between forms besides charges.
    pub variants: Option<DeviceVariants>,
    /// Motion.
    pub motion: DeviceMotion,
    /// Massless particles.
    pub virtual_sites: Option<DeviceVirtualSites>,
    /// Titratable sites.
    pub sites: Option<DeviceSites>,
}

impl Parts {
    /// All parts, each in a thread of its own: on a machine that has not compiled their kernels yet they are compiled side by side.
    ///
    /// # Errors
    /// As [`super::Resident::new`].
    pub fn new(device: &Device, setup: &Setup) -> Result<Self, ResidentError> {
        let virial = VirialTerms { slots: vec![(EnergyTerm::Virial as u32, 1.0)], tail: 0.0 };
        let (topology, cell) = (setup.topology, setup.cell);
        let on_device = |sites: &Sites| sites.on_device(setup.biases, device, topology, NOISE_STEPS);
        std::thread::scope(|scope| {
            let long_range = scope.spawn(|| long_range::new(device, setup));
            let lennard_jones = scope.spawn(|| lennard_jones(device, setup));
            let bonded = scope.spawn(|| DeviceBonded::new(device, topology, setup.reference, cell));
            let motion = scope.spawn(|| {
                DeviceMotion::new(device, setup.masses, setup.constraints, setup.dt, setup.coupling, &virial)
            });
            let virtual_sites = DeviceVirtualSites::new(device, topology);
            let variants = setup
                .variants
                .map(|(variants, _)| DeviceVariants::new(device, variants, setup.lennard_jones, cell))
                .transpose();
            let sites = setup.sites.map(on_device).transpose();
            Ok(Self {
                long_range: joined(long_range)?,
                lennard_jones: joined(lennard_jones)?,
                bonded: joined(bonded)?,
                variants: variants?,
                motion: joined(motion)?,
                virtual_sites: virtual_sites?,
                sites: sites?,
            })
        })
    }
}

fn lennard_jones(device: &Device, setup: &Setup) -> Result<DeviceLennardJones, DeviceTermError> {
    let (topology, settings, cell) = (setup.topology, setup.lennard_jones, setup.cell);
    match setup.variants {
        Some(variants) => DeviceLennardJones::with_variants(device, topology, variants, settings, cell),
        None => DeviceLennardJones::new(device, topology, settings, cell),
    }
}

/// What a thread gives; its panic is that of the caller.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
