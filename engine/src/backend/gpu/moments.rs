//! What lines of energies say, kept on a GPU until somebody looks or the list is full: launches of `moments.cu`.
//!
//! A line needs an evaluation with all energies and half a step ahead of it; both are enqueued once the motion is known to have come there. Units: nm, ps,
//! kJ/mol.

use crate::motion::device::shared::{CouplingState, Observed};
use forcefield::device::ENERGY_SLOTS;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};
use lambda::device::DeviceSites;

/// Moments that are kept at most.
const ROWS: u64 = 64;

/// Threads of the only block.
const THREADS: u32 = 128;

/// Numbers of a row that are neither energies nor of sites.
const OTHERS: usize = 13;

arguments! {
    /// Arguments of `note_moment`.
    struct MomentArgs<'a> {
        energies: In<'a, i64>,
        looked: In<'a, Observed>,
        coupling: In<'a, CouplingState>,
        edges: In<'a, f64>,
        /// Number of the present step.
        step: In<'a, i64>,
        /// Heat of λ, or null.
        heat: In<'a, f64>,
        xi: In<'a, f64>,
        velocity: In<'a, f64>,
        derivatives: In<'a, f64>,
        rows: Out<'a, f64>,
        /// Moments so far.
        count: Out<'a, i64>,
        n_rows: i32,
        width: i32,
        n_xi: i32,
        n_weights: i32,
    }
}

/// What a row says.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// The step where the device stood; less than that of the host if the motion had stopped.
    pub step: u64,
    /// Energies by slot, fixed point.
    pub energies: Vec<i64>,
    /// Kinetic energy at t − ½dt, at t + ½dt, and the virial of the constraint forces, kJ/mol.
    pub motion: [f64; 3],
    /// The box, nm, as [`forcefield::Cell::packed`].
    pub edges: [f64; 6],
    /// Work of thermostat and barostat, and heat of λ, kJ/mol.
    pub works: [f64; 3],
    /// ξ of all sites.
    pub coordinates: Vec<f64>,
    /// Their velocities.
    pub velocities: Vec<f64>,
    /// ∂V/∂λ_α, kJ/mol.
    pub derivatives: Vec<f64>,
}

/// The list on the device.
pub struct Moments {
    kernel: Kernel<MomentArgs<'static>>,
    rows: Buffer<f64>,
    count: Buffer<i64>,
    width: usize,
    sizes: [usize; 2],
    /// Moments noted so far.
    noted: u64,
    /// Moments that have been read.
    read: u64,
}

/// What a moment is made of.
pub struct Parts<'a> {
    /// Energies by slot.
    pub energies: &'a Buffer<i64>,
    /// What the look ahead saw.
    pub looked: &'a Buffer<Observed>,
    /// Work of the baths.
    pub coupling: &'a Buffer<CouplingState>,
    /// The box, six numbers.
    pub edges: &'a Buffer<f64>,
    /// Number of the present step.
    pub step: In<'a, i64>,
    /// λ.
    pub sites: Option<&'a DeviceSites>,
}

impl Moments {
    /// An empty list for these sites.
    ///
    /// # Errors
    /// Out of memory; a kernel that does not compile.
    pub fn new(device: &Device, sites: Option<&DeviceSites>) -> Result<Self, DeviceError> {
        let sizes = sites.map_or([0; 2], |sites| [sites.coordinates().len(), sites.derivatives().len()]);
        let width = ENERGY_SLOTS + OTHERS + 2 * sizes[0] + sizes[1];
        Ok(Self {
            kernel: device.compile(&source())?.kernel("note_moment")?,
            rows: device.zeros(ROWS as usize * width)?,
            count: device.zeros(1)?,
            width,
            sizes,
            noted: 0,
            read: 0,
        })
    }

    /// Whether the next moment would take the place of one that has not been read.
    pub fn is_full(&self) -> bool {
        self.noted - self.read == ROWS
    }

    /// Copies what there is now into the list.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue(&mut self, stream: &Stream, parts: &Parts<'_>) -> Result<(), DeviceError> {
        let sites = parts.sites;
        let arguments = MomentArgs {
            energies: parts.energies.arg(),
            looked: parts.looked.arg(),
            coupling: parts.coupling.arg(),
            edges: parts.edges.arg(),
            step: parts.step,
            heat: sites.map(DeviceSites::heat).into(),
            xi: sites.map(DeviceSites::coordinates).into(),
            velocity: sites.map(DeviceSites::velocities).into(),
            derivatives: sites.map(DeviceSites::derivatives).into(),
            rows: self.rows.arg(),
            count: self.count.arg(),
            n_rows: ROWS as i32,
            width: self.width as i32,
            n_xi: self.sizes[0] as i32,
            n_weights: self.sizes[1] as i32,
        };
        stream.launch(&self.kernel, Launch::new(1, THREADS), arguments)?;
        self.noted += 1;
        Ok(())
    }

    /// Reads the moments that have been noted since the last call, in their order.
    ///
    /// # Errors
    /// A lost device.
    pub fn take(&mut self, stream: &Stream) -> Result<Vec<Noted>, DeviceError> {
        let mut all = Vec::new();
        while self.read < self.noted {
            let first = self.read % ROWS;
            let n = (self.noted - self.read).min(ROWS - first);
            let mut rows = vec![0.0; n as usize * self.width];
            self.rows.read_part(stream, first as usize * self.width, &mut rows)?;
            all.extend(rows.chunks_exact(self.width).map(|row| self.row(row)));
            self.read += n;
        }
        Ok(all)
    }

    fn row(&self, row: &[f64]) -> Noted {
        let (energies, rest) = row.split_at(ENERGY_SLOTS);
        let (others, sites) = rest.split_at(OTHERS);
        let (coordinates, sites) = sites.split_at(self.sizes[0]);
        let (velocities, derivatives) = sites.split_at(self.sizes[0]);
        let three = |first: usize| [others[first], others[first + 1], others[first + 2]];
        Noted {
            step: others[12] as u64,
            energies: energies.iter().map(|&energy| energy as i64).collect(),
            motion: three(0),
            edges: std::array::from_fn(|k| others[3 + k]),
            works: three(9),
            coordinates: coordinates.to_vec(),
            velocities: velocities.to_vec(),
            derivatives: derivatives.to_vec(),
        }
    }
}

/// The source of the kernel.
pub(super) fn source() -> Source {
    Source::new("moments", include_str!("moments.cu"))
        .define("REAL", "double")
        .define("THREADS", THREADS)
        .define("SLOTS", ENERGY_SLOTS)
        .define("OTHERS", OTHERS)
        .kernel::<MomentArgs<'static>>("note_moment")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;
    use kernels::device::{check_layouts, compiles};

    /// The part for GPUs needs libnvrtc, but no GPU.
    #[test]
    fn the_kernel_compiles_and_its_layouts_are_those_of_the_device() {
        check_layouts(&Device::of_tests().unwrap(), &super::source()).unwrap();
        ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&super::source(), architecture).unwrap());
    }

    #[test]
    fn moments_come_back_in_their_order_however_often_somebody_looks() {
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let mut moments = Moments::new(&device, None).unwrap();
        let energies = device.zeros::<i64>(ENERGY_SLOTS).unwrap();
        let looked = device.upload(&[Observed { kinetic_after: 2.5, ..Observed::default() }]).unwrap();
        let coupling = device.upload(&[CouplingState { barostat_work: -3.0, ..CouplingState::zeroed() }]).unwrap();
        let edges = device.upload(&[3.0, 4.0, 5.0, 0.1, 0.2, 0.3]).unwrap();
        let step = device.upload(&[17_i64]).unwrap();
        let mut next = 0_i64;
        for looks in [1, 3, ROWS as i64, 40, 40, 1] {
            for number in next..next + looks {
                assert!(!moments.is_full());
                // Beyond 2⁵³ a double has not every integer, but sums of that size have not every bit either.
                energies.write(&stream, &[number; ENERGY_SLOTS]).unwrap();
                let parts = Parts {
                    energies: &energies,
                    looked: &looked,
                    coupling: &coupling,
                    edges: &edges,
                    step: step.arg(),
                    sites: None,
                };
                moments.enqueue(&stream, &parts).unwrap();
            }
            assert_eq!(moments.is_full(), looks == ROWS as i64);
            let found = moments.take(&stream).unwrap();
            let numbers: Vec<i64> = found.iter().map(|row| row.energies[ENERGY_SLOTS - 1]).collect();
            assert_eq!(numbers, (next..next + looks).collect::<Vec<_>>());
            let row = &found[0];
            assert_eq!(row.step, 17);
            assert_eq!(
                (row.motion, row.edges, row.works),
                ([0.0, 2.5, 0.0], [3.0, 4.0, 5.0, 0.1, 0.2, 0.3], [0.0, -3.0, 0.0])
            );
            next += looks;
        }
    }
}
