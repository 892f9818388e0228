//! Energy of the effective charges on a GPU: launches of `coulomb.cu`.

use forcefield::device::EnergyTerm;
use forcefield::units::COULOMB;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

/// Threads of a block.
const THREADS: u32 = 128;

arguments! {
    /// Arguments of `coulomb_energy`.
    struct CoulombArgs<'a> {
        q: In<'a, f64>,
        potential: In<'a, f64>,
        energies: Out<'a, i64>,
        n: i32,
    }
}

/// The kernel of the energy.
pub(super) struct CoulombEnergy(Kernel<CoulombArgs<'static>>);

impl CoulombEnergy {
    /// Compiled for this device.
    ///
    /// # Errors
    /// A kernel that does not compile; a lost device.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self(device.compile(&source())?.kernel("coulomb_energy")?))
    }

    /// Adds ½ k_e Σ q φ to the slots of the Coulomb energy and of the virial. `charges` (e) and `potential` (e/nm): `[N]`.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue(
        &self,
        stream: &Stream,
        charges: &Buffer<f64>,
        potential: &Buffer<f64>,
        energies: &Buffer<i64>,
    ) -> Result<(), DeviceError> {
        let n = charges.len();
        let arguments =
            CoulombArgs { q: charges.arg(), potential: potential.arg(), energies: energies.arg(), n: n as i32 };
        stream.launch(&self.0, Launch::for_each(n, THREADS), arguments)
    }
}

/// The source of the kernel.
pub(super) fn source() -> Source {
    Source::new("coulomb", include_str!("coulomb.cu"))
        .define("REAL", "double")
        .define("COULOMB", format!("{COULOMB:e}"))
        .define("SLOT_COULOMB", EnergyTerm::Coulomb as usize)
        .define("SLOT_VIRIAL", EnergyTerm::Virial as usize)
        .kernel::<CoulombArgs<'static>>("coulomb_energy")
}

#[cfg(test)]
mod tests {
    use kernels::device::{Device, check_layouts, compiles};

    /// The part for GPUs needs libnvrtc, but no GPU.
    #[test]
    fn the_kernel_compiles_and_its_layouts_are_those_of_the_device() {
        check_layouts(&Device::of_tests().unwrap(), &super::source()).unwrap();
        ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&super::source(), architecture).unwrap());
    }
}
