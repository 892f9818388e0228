//! Lennard-Jones on a device: twin of [`crate::lennard_jones::LennardJones`].
//!
//! Atoms with Lennard-Jones are sorted into cells; each has a row of all neighbours within cut-off + buffer (every pair
//! stands in both rows, so that a force is summed in one place and in one order). Between two rebuilds a step is two
//! kernels: positions → fixed-point sites in cell order (`sites.cuh`), then pairs. Rows have a fixed capacity, found from the
//! density with a reserve; more neighbours than that are counted in the status, and [`DeviceLennardJones::rebuild`] makes room.
//! Hydrogens that hardly feel each other are not in each other's rows, and the oxygen of a water molecule takes over what its hydrogens do far away
//! ([`kinds`](crate::lennard_jones::kinds)).
//! The correction for dispersion beyond the cut-off is added on the device, so that it follows the volume. `list.cu` makes the list,
//! `lennard_jones.cu` the forces.

mod list;
pub(super) mod source;
#[cfg(test)]
mod tests;

use kernels::device::{Buffer, CountingSort, Device, DeviceError, In, Launch, Out, Stream, arguments, structure};
use std::mem::offset_of;

use super::{DeviceTermError, Precision, Sums};
use crate::cell::Cell;
use crate::lennard_jones::kinds::Kinds;
use crate::lennard_jones::{
    Classes, DispersionCorrection, LennardJonesError, Modifier, check_cell_on_device, check_settings,
};
use crate::topology::Topology;
use crate::variants::Variants;
use list::{Columns, Frame, ListWords, capacity, exclusions, grid, neighbours, waters};
use source::{Kernels, compile, reaches, table};

/// Threads of a block.
const THREADS: u32 = 128;

/// How the work on lists and pairs is shared out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharing {
    /// Sites whose rows a warp makes together. The larger the group, the less a warp does for each; with short rows a single system has too few
    /// warps to fill a GPU, and groups of four would take a sixth longer than groups of one.
    group: usize,
    /// Threads that share the neighbours of one site in the sums of forces.
    lanes: usize,
}

impl Sharing {
    /// For sites with about so many `neighbours`. Rows of some hundred leave a warp to four sites; longer ones, which differ in length where some pairs are
    /// left out, take one each.
    fn new(neighbours: f64) -> Self {
        if neighbours > 800.0 { Self { group: 4, lanes: 32 } } else { Self { group: 2, lanes: 8 } }
    }

    /// Entries that the threads of one site read at once; rows are multiples of it.
    fn chunk(self) -> usize {
        4 * self.lanes
    }
}

structure! {
    /// The correction for dispersion beyond the cut-off, of one volume V.
    pub struct Dispersion {
        /// Energy times V, kJ/mol nm³; without a correction 0.
        pub energy: f64,
        /// Energy that does not depend on V, kJ/mol.
        pub constant: f64,
        /// Trace of the virial times V, kJ/mol nm³.
        pub virial: f64,
    }
}

arguments! {
    /// Arguments of `gather_sites`.
    struct GatherArgs<'a> {
        x: In<'a, f64>,
        atoms: In<'a, u32>,
        edges: In<'a, f64>,
        origin: In<'a, f64>,
        sites: Out<'a, u64> as Site,
        n: i32,
    }

    /// Arguments of `lennard_jones` and `lennard_jones_energy`.
    struct PairArgs<'a> {
        sites: In<'a, u64> as Site,
        x: In<'a, f64>,
        atoms: In<'a, u32>,
        list: In<'a, u32>,
        /// Entries of each row.
        entries: In<'a, u32>,
        /// Of each pair of kinds.
        table: In<'a, u8> as Coefficients,
        edges: In<'a, f64>,
        forces: Out<'a, i64>,
        energies: Out<'a, i64>,
        status: Out<'a, ListWords>,
        dispersion: Dispersion,
        capacity: i32,
        n: i32,
    }
}

/// How Lennard-Jones is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Cut-off, nm.
    pub cutoff: f64,
    /// What is done at the cut-off.
    pub modifier: Modifier,
    /// Buffer of the list, nm.
    pub buffer: f64,
    /// Whether dispersion beyond the cut-off is corrected (periodic systems only).
    pub dispersion_correction: bool,
    /// Arithmetic of the pairs.
    pub precision: Precision,
    /// Whether evaluations with energies tell what Σ x_a F_a misses of the virial along each axis, too ([`EnergyTerm::ImagesX`](crate::device::EnergyTerm::ImagesX)): pairs that meet
    /// across a face of the box, and dispersion beyond the cut-off.
    pub axes: bool,
}

/// What the device reports about the list, the worst since the status was reset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListStatus {
    /// Largest number of neighbours of a site.
    pub neighbours: usize,
    /// Room for neighbours in a row.
    pub capacity: usize,
    /// Whether a list could not be made: positions were not finite, or the cell was too small.
    pub unfit: bool,
    /// Whether a force was beyond the range of fixed-point numbers.
    pub saturated: bool,
}

/// Lennard-Jones interaction of a system on a device, with its Verlet list.
pub struct DeviceLennardJones {
    device: Device,
    kernels: Kernels,
    /// Atoms of the system.
    pub(super) n_atoms: usize,
    /// Number of atoms with Lennard-Jones.
    pub(super) n: usize,
    reach: f64,
    pub(super) capacity: usize,
    sharing: Sharing,
    grid: [i32; 3],
    periodic: bool,
    /// Whether the kernels are made for boxes without right angles; they serve one with right angles, too.
    triclinic: bool,
    dispersion: Dispersion,
    active: Buffer<u32>,
    kinds: Buffer<u32>,
    table: Buffer<u8>,
    excluded_starts: Buffer<u32>,
    excluded: Buffer<u32>,
    keys: Buffer<u32>,
    sort: CountingSort,
    pub(super) sites: Buffer<u64>,
    pub(super) atoms: Buffer<u32>,
    pub(super) list: Buffer<u32>,
    /// Entries of each row.
    pub(super) entries: Buffer<u32>,
    /// Edges and origin of the frame; zeros for periodic systems, whose edges are those of the cell.
    frame: Buffer<Frame>,
    /// Cells of the list.
    columns: Buffer<Columns>,
    status: Buffer<ListWords>,
}

impl DeviceLennardJones {
    /// The Lennard-Jones term of `top` in about this `cell`, whose angles stay. Atoms without Lennard-Jones are left out.
    ///
    /// # Errors
    /// Settings that make no sense, a cell that is too small, too many atoms; those of the device.
    pub fn new(device: &Device, top: &Topology, settings: Settings, cell: Cell) -> Result<Self, DeviceTermError> {
        Self::with_changing(device, top, None, settings, cell)
    }

    /// The same of what is left of a topology after `variants` have taken out the atoms that change their type: these stand in the list with
    /// their neighbours, but have no interaction here. Dispersion beyond the cut-off is that of `whole`, the topology as it was.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_variants(
        device: &Device,
        top: &Topology,
        (variants, whole): (&Variants, &Topology),
        settings: Settings,
        cell: Cell,
    ) -> Result<Self, DeviceTermError> {
        Self::with_changing(device, top, Some((variants, whole)), settings, cell)
    }

    fn with_changing(
        device: &Device,
        top: &Topology,
        changing: Option<(&Variants, &Topology)>,
        settings: Settings,
        cell: Cell,
    ) -> Result<Self, DeviceTermError> {
        let Settings { cutoff, modifier, buffer, .. } = settings;
        check_settings(top, cutoff, modifier, buffer)?;
        let reach = cutoff + buffer;
        check_cell_on_device(cell, reach)?;
        let changes = |atom: u32| changing.is_some_and(|(variants, _)| variants.changes_type(atom));
        let acts = |atom: &u32| changes(*atom) || !top.lj.is_inert(top.atoms[*atom as usize].type_index);
        let active: Vec<u32> = (0..top.atoms.len() as u32).filter(acts).collect();
        let types: Vec<u32> = active.iter().map(|&a| top.atoms[a as usize].type_index).collect();
        // An atom that changes its type meets hydrogens of water in its row, as far as the cut-off.
        let waters = if active.iter().any(|&atom| changes(atom)) { Vec::new() } else { waters(top, &active) };
        let kinds = Kinds::new(&Classes::new(&types, &top.lj), &waters, &modifier.at_cutoff(cutoff));
        let (excluded_starts, excluded) = exclusions(top, &active);
        let n = active.len();
        let n_faint = kinds.of_atoms.iter().filter(|&&kind| (kind as usize) < kinds.n_faint).count();
        let neighbours = neighbours([n_faint, n - n_faint], reaches(&kinds, settings), cell);
        let sharing = Sharing::new(neighbours);
        // Faint sites have cells of their own.
        let grids = if n_faint > 0 { 2 } else { 1 };
        let grid = grid(n.div_ceil(grids), sharing.group, reach, cell);
        let capacity = capacity(n, neighbours).next_multiple_of(sharing.chunk());
        let words = match settings.precision {
            Precision::Single => 2,
            Precision::Double => 4,
        };
        let [energy, constant, virial] = if cell.is_periodic() && settings.dispersion_correction {
            let whole = changing.map_or(top, |(_, whole)| whole);
            DispersionCorrection::new(whole, cutoff, modifier).coefficients()
        } else {
            [0.0; 3]
        };
        let n_cells = grids * grid.iter().map(|&c| c as usize).product::<usize>();
        Ok(Self {
            device: device.clone(),
            kernels: compile(device, settings, &kinds, sharing, cell.is_triclinic())?,
            n_atoms: top.n_atoms(),
            n,
            reach,
            capacity,
            sharing,
            grid,
            periodic: cell.is_periodic(),
            triclinic: cell.is_triclinic(),
            dispersion: Dispersion { energy, constant, virial },
            active: device.upload(&active)?,
            kinds: device.upload(&kinds.of_atoms)?,
            table: device.upload(&table(&kinds, settings.precision))?,
            excluded_starts: device.upload(&excluded_starts)?,
            excluded: device.upload(&excluded)?,
            keys: device.zeros(n)?,
            sort: CountingSort::new(device, n, n_cells)?,
            sites: device.zeros(words * n)?,
            atoms: device.zeros(n)?,
            list: device.zeros(n * capacity)?,
            entries: device.zeros(n)?,
            frame: device.zeros(1)?,
            columns: device.zeros(1)?,
            status: device.zeros(1)?,
        })
    }

    /// Whether lists can be made in `cell`, which may be another one than that of [`Self::new`].
    ///
    /// # Errors
    /// A cell that is too small; one without right angles where the first one had them.
    pub fn check_cell(&self, cell: Cell) -> Result<(), DeviceTermError> {
        if cell.is_triclinic() && !self.triclinic {
            return Err(LennardJonesError::Angles.into());
        }
        Ok(check_cell_on_device(cell, self.reach)?)
    }

    /// What positions and the edges of a cell must hold for the kernels.
    pub(super) fn check_lengths(&self, x: &Buffer<f64>, cell: &Buffer<f64>) -> Result<(), DeviceError> {
        x.holds(3 * self.n_atoms)?;
        cell.holds(if self.periodic { 6 } else { 0 })
    }

    /// Adds forces at `x` and, if they are wanted, energy, correction for dispersion and virial to `sums`.
    /// The list must have been made, and how long it serves is for the caller to know ([`ListDrift`](crate::lennard_jones::ListDrift)); `cell`
    /// ([`Cell::packed`]) may differ from that of the list by the scaling of a barostat.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is shorter than that; what the driver says against a launch.
    pub fn enqueue_forces(
        &self,
        stream: &Stream,
        x: &Buffer<f64>,
        cell: &Buffer<f64>,
        sums: Sums<'_>,
    ) -> Result<(), DeviceError> {
        self.check_lengths(x, cell)?;
        sums.hold(self.n_atoms)?;
        let Sums { forces, energies, with_energy } = sums;
        if self.n == 0 {
            return Ok(());
        }
        let (k, n, edges) = (&self.kernels, self.n as i32, self.edges(cell));
        let gather = GatherArgs {
            x: x.arg(),
            atoms: self.atoms.arg(),
            edges,
            origin: self.origin(),
            sites: self.sites.arg(),
            n,
        };
        stream.launch(&k.gather, Launch::for_each(self.n, THREADS), gather)?;
        let pairs = PairArgs {
            sites: self.sites.arg(),
            x: x.arg(),
            atoms: self.atoms.arg(),
            list: self.list.arg(),
            entries: self.entries.arg(),
            table: self.table.arg(),
            edges,
            forces: forces.arg(),
            energies: energies.arg(),
            status: self.status.arg(),
            dispersion: self.dispersion,
            capacity: self.capacity as i32,
            n,
        };
        let kernel = if with_energy { &k.energy } else { &k.forces };
        stream.launch(kernel, Launch::for_each(self.sharing.lanes * self.n, THREADS), pairs)
    }

    /// The status once the stream has done its work so far; waits for it.
    ///
    /// # Errors
    /// A lost device.
    pub fn status(&self, stream: &Stream) -> Result<ListStatus, DeviceError> {
        let words = self.status.read(stream)?[0];
        Ok(ListStatus {
            neighbours: words.neighbours as usize,
            capacity: self.capacity,
            unfit: words.unfit != 0,
            saturated: words.saturated != 0,
        })
    }

    /// The largest number of neighbours since the status was reset, on the device, and the room that there is for them.
    pub fn neighbours_and_capacity(&self) -> (In<'_, u32>, usize) {
        (In::within(&self.status, offset_of!(ListWords, neighbours)), self.capacity)
    }

    /// Forgets what the status has seen so far, in the order of the stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn reset_status(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.zero(&self.status)
    }

    /// Number of atoms with Lennard-Jones interaction.
    pub fn n_active(&self) -> usize {
        self.n
    }

    /// Lengths of the frame of the coordinates: the cell, or what holds all atoms.
    pub(super) fn edges<'a>(&'a self, cell: &'a Buffer<f64>) -> In<'a, f64> {
        if self.periodic { cell.arg() } else { In::within(&self.frame, offset_of!(Frame, edges)) }
    }

    /// Its corner.
    fn origin(&self) -> In<'_, f64> {
        In::within(&self.frame, offset_of!(Frame, origin))
    }
}
