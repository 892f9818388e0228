//! Lennard-Jones on a device: twin of [`crate::lennard_jones::LennardJones`].
//!
//! Atoms with Lennard-Jones are sorted into cells; each has a row of all neighbours within cut-off + buffer (every pair
//! stands in both rows, so that a force is summed in one place and in one order). Between two rebuilds a step is two
//! kernels: positions → fixed-point sites in cell order (`sites.cuh`), then pairs. Rows have a fixed capacity, found from the
//! density with a reserve; more neighbours than that are counted in the status, and [`DeviceLennardJones::rebuild`] makes room.
//! The correction for dispersion beyond the cut-off is added on the device, so that it follows the volume.

mod source;
#[cfg(test)]
mod tests;

use kernels::device::{Arg, Buffer, CountingSort, Device, DeviceError, Stream, args};

use super::{DeviceTermError, Precision};
use crate::cell::Cell;
use crate::lennard_jones::{Classes, DispersionCorrection, Modifier, check_cell, check_settings};
use crate::topology::Topology;
use source::{Kernels, compile, table};

/// Threads of a block.
const THREADS: u32 = 128;

/// Threads that share the neighbours of one site.
const LANES: u32 = 8;

/// Entries that the threads of one site read at once; rows are multiples of it.
const CHUNK: usize = 4 * LANES as usize;

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
}

/// What the device reports about the list, the worst since the status was reset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListStatus {
    /// Largest number of neighbours of a site.
    pub neighbours: usize,
    /// Room for neighbours in a row.
    pub capacity: usize,
    /// Largest displacement since the list was made, divided by what the buffer allows: above 1 pairs may have been missed.
    /// Infinite where positions are not finite or the cell is too small.
    pub staleness: f64,
    /// Whether a force was beyond the range of fixed-point numbers.
    pub saturated: bool,
}

/// Lennard-Jones interaction of a system on a device, with its Verlet list.
pub struct DeviceLennardJones {
    device: Device,
    kernels: Kernels,
    /// Number of atoms with Lennard-Jones.
    n: usize,
    reach: f64,
    capacity: usize,
    grid: [i32; 3],
    periodic: bool,
    dispersion: [f64; 3],
    active: Buffer<u32>,
    kinds: Buffer<u32>,
    table: Buffer<u8>,
    excluded_starts: Buffer<u32>,
    excluded: Buffer<u32>,
    keys: Buffer<u32>,
    sort: CountingSort,
    sites: Buffer<u64>,
    listed: Buffer<u64>,
    atoms: Buffer<u32>,
    list: Buffer<u32>,
    chunks: Buffer<u32>,
    /// Edges and origin of the frame; zeros for periodic systems, whose edges are those of the cell.
    frame: Buffer<f64>,
    listed_inverse: Buffer<f64>,
    status: Buffer<u32>,
}

impl DeviceLennardJones {
    /// The Lennard-Jones term of `top` in about this `cell`. Atoms without Lennard-Jones are left out.
    ///
    /// # Errors
    /// Settings that make no sense, a cell that is too small, too many atoms; those of the device.
    pub fn new(device: &Device, top: &Topology, settings: Settings, cell: Cell) -> Result<Self, DeviceTermError> {
        let Settings { cutoff, modifier, buffer, .. } = settings;
        check_settings(top, cutoff, modifier, buffer)?;
        let reach = cutoff + buffer;
        check_cell(cell, reach)?;
        let active: Vec<u32> =
            (0..top.atoms.len() as u32).filter(|&a| !top.lj.is_inert(top.atoms[a as usize].type_index)).collect();
        let types: Vec<u32> = active.iter().map(|&a| top.atoms[a as usize].type_index).collect();
        let Classes { of_atoms: kinds, table: classes } = Classes::new(&types, &top.lj);
        let (excluded_starts, excluded) = exclusions(top, &active);
        let n = active.len();
        let grid = grid(n, reach, cell);
        let capacity = capacity(n, reach, cell);
        let words = match settings.precision {
            Precision::Single => 2,
            Precision::Double => 4,
        };
        let dispersion = if cell.is_periodic() && settings.dispersion_correction {
            DispersionCorrection::new(top, cutoff, modifier).coefficients()
        } else {
            [0.0; 3]
        };
        let n_cells = grid.iter().map(|&c| c as usize).product();
        Ok(Self {
            device: device.clone(),
            kernels: compile(device, settings, classes.n_types)?,
            n,
            reach,
            capacity,
            grid,
            periodic: cell.is_periodic(),
            dispersion,
            active: device.upload(&active)?,
            kinds: device.upload(&kinds)?,
            table: device.upload(&table(&classes, settings.precision))?,
            excluded_starts: device.upload(&excluded_starts)?,
            excluded: device.upload(&excluded)?,
            keys: device.zeros(n)?,
            sort: CountingSort::new(device, n, n_cells)?,
            sites: device.zeros(words * n)?,
            listed: device.zeros(words * n)?,
            atoms: device.zeros(n)?,
            list: device.zeros(n * capacity)?,
            chunks: device.zeros(n)?,
            frame: device.zeros(6)?,
            listed_inverse: device.zeros(3)?,
            status: device.zeros(3)?,
        })
    }

    /// Makes the list for positions `x` (3N, nm, anywhere in space) and the edges `cell` (3, nm; not read in open systems).
    ///
    /// # Errors
    /// Those of the device.
    pub fn enqueue_rebuild(&self, stream: &Stream, x: &Buffer<f64>, cell: &Buffer<f64>) -> Result<(), DeviceError> {
        if self.n == 0 {
            return Ok(());
        }
        let (k, n, [nx, ny, nz]) = (&self.kernels, self.n as i32, self.grid);
        let blocks = (self.n as u32).div_ceil(THREADS);
        let (edges, origin) = (self.edges(cell), self.frame.at(3));
        if !self.periodic {
            let margin = 2.0 * self.reach;
            stream.launch(&k.frame, 1, 1024, 0, args![x, &self.active, &self.frame, margin, n])?;
        }
        let keys = args![
            x,
            &self.active,
            edges,
            origin,
            &self.keys,
            &self.listed_inverse,
            &self.status,
            nx,
            ny,
            nz,
            self.reach,
            n
        ];
        stream.launch(&k.keys, blocks, THREADS, 0, keys)?;
        self.sort.enqueue(stream, &self.keys)?;
        let place = args![
            x,
            &self.active,
            &self.kinds,
            self.sort.order(),
            edges,
            origin,
            &self.sites,
            &self.listed,
            &self.atoms,
            n
        ];
        stream.launch(&k.place, blocks, THREADS, 0, place)?;
        let build = args![
            &self.sites,
            self.sort.starts(),
            edges,
            self.sort.order(),
            &self.excluded_starts,
            &self.excluded,
            &self.list,
            &self.chunks,
            &self.status,
            nx,
            ny,
            nz,
            self.reach,
            self.capacity as i32,
            n
        ];
        stream.launch(&k.build, (self.n as u32).div_ceil(THREADS / 32), THREADS, 0, build)
    }

    /// Adds forces (3N) at `x` and, if `with_energy`, energy, correction for dispersion and virial to the slots of `energies`.
    /// The list must have been made; `cell` may differ from that of the list by the scaling of a barostat.
    ///
    /// # Errors
    /// Those of the device.
    pub fn enqueue_forces(
        &self,
        stream: &Stream,
        x: &Buffer<f64>,
        cell: &Buffer<f64>,
        forces: &Buffer<i64>,
        energies: &Buffer<i64>,
        with_energy: bool,
    ) -> Result<(), DeviceError> {
        if self.n == 0 {
            return Ok(());
        }
        let (k, n, capacity) = (&self.kernels, self.n as i32, self.capacity as i32);
        let (edges, origin) = (self.edges(cell), self.frame.at(3));
        let gather =
            args![x, &self.atoms, edges, origin, &self.listed_inverse, &self.listed, &self.sites, &self.status, n];
        stream.launch(&k.gather, (self.n as u32).div_ceil(THREADS), THREADS, 0, gather)?;
        let blocks = (self.n as u32).div_ceil(THREADS / LANES);
        let (sites, atoms, list, chunks) = (&self.sites, &self.atoms, &self.list, &self.chunks);
        if with_energy {
            let [energy, constant, virial] = self.dispersion;
            let args = args![
                sites,
                atoms,
                list,
                chunks,
                &self.table,
                edges,
                forces,
                energies,
                &self.status,
                energy,
                constant,
                virial,
                capacity,
                n
            ];
            stream.launch(&k.energy, blocks, THREADS, 0, args)
        } else {
            let args = args![sites, atoms, list, chunks, &self.table, edges, forces, &self.status, capacity, n];
            stream.launch(&k.forces, blocks, THREADS, 0, args)
        }
    }

    /// [`DeviceLennardJones::enqueue_rebuild`], then waits and makes room until every neighbour has its place. Graphs that
    /// hold this term must be captured anew if the answer is true: the list has moved to other memory.
    ///
    /// # Errors
    /// Those of the device.
    pub fn rebuild(&mut self, stream: &Stream, x: &Buffer<f64>, cell: &Buffer<f64>) -> Result<bool, DeviceError> {
        self.reset_status(stream)?;
        self.enqueue_rebuild(stream, x, cell)?;
        let found = self.status(stream)?;
        let grows = found.neighbours > found.capacity;
        if grows {
            self.set_capacity(found.neighbours + found.neighbours / 8)?;
            self.enqueue_rebuild(stream, x, cell)?;
        }
        Ok(grows)
    }

    /// Makes room for `neighbours` of each site; the list must be made anew, and graphs that hold this term be captured anew.
    ///
    /// # Errors
    /// Out of memory.
    fn set_capacity(&mut self, neighbours: usize) -> Result<(), DeviceError> {
        self.capacity = neighbours.max(1).next_multiple_of(CHUNK);
        self.list = self.device.zeros(self.n * self.capacity)?;
        Ok(())
    }

    /// The status once the stream has done its work so far; waits for it.
    ///
    /// # Errors
    /// Those of the device.
    pub fn status(&self, stream: &Stream) -> Result<ListStatus, DeviceError> {
        let status = self.status.read(stream)?;
        Ok(ListStatus {
            neighbours: status[0] as usize,
            capacity: self.capacity,
            staleness: f64::from(f32::from_bits(status[1])).sqrt(),
            saturated: status[2] != 0,
        })
    }

    /// Forgets what the status has seen so far, in the order of the stream.
    ///
    /// # Errors
    /// Those of the device.
    pub fn reset_status(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.zero(&self.status)
    }

    /// Number of atoms with Lennard-Jones interaction.
    pub fn n_active(&self) -> usize {
        self.n
    }

    fn edges(&self, cell: &Buffer<f64>) -> Arg {
        if self.periodic { cell.at(0) } else { self.frame.at(0) }
    }
}

/// Excluded partners of each active atom, as numbers of active atoms.
fn exclusions(top: &Topology, active: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut number = vec![None; top.atoms.len()];
    for (k, &atom) in (0..).zip(active) {
        number[atom as usize] = Some(k);
    }
    let (mut starts, mut partners) = (vec![0], Vec::new());
    for &atom in active {
        partners.extend(top.exclusions.of(atom).iter().filter_map(|&j| number[j as usize]));
        starts.push(partners.len() as u32);
    }
    (starts, partners)
}

/// Cells of half the reach, but not many more than atoms; in open systems about four atoms to a cell.
fn grid(n: usize, reach: f64, cell: Cell) -> [i32; 3] {
    let most = (8 * n).max(64) as f64;
    match cell.edges() {
        Some(edges) => {
            let wanted = edges.map(|e| 2.0 * e / reach);
            let coarser = (most / wanted.product()).cbrt().min(1.0);
            std::array::from_fn(|d| (wanted[d] * coarser).floor().clamp(1.0, 1024.0) as i32)
        }
        None => [(n as f64 / 4.0).cbrt().ceil().clamp(1.0, 64.0) as i32; 3],
    }
}

/// Room for the neighbours at the mean density and a quarter more; in open systems at the density of heavy atoms in a liquid.
fn capacity(n: usize, reach: f64, cell: Cell) -> usize {
    let density = cell.volume().map_or(40.0, |volume| n as f64 / volume);
    let expected = 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3) * density;
    ((1.25 * expected + 32.0) as usize).min(n).max(1).next_multiple_of(CHUNK)
}
