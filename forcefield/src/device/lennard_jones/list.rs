//! The Verlet list on a device: launches of `list.cu`, memory for its rows, and when they are too short.
//!
//! Every pair within cut-off + buffer stands in the rows of both its atoms. A row has a fixed capacity, found from the density with a
//! reserve; the kernels count larger numbers of neighbours in [`ListWords`], and [`DeviceLennardJones::rebuild`] makes room for them.

use kernels::device::{Buffer, DeviceError, In, Launch, Out, Stream, arguments, structure};

use super::{DeviceLennardJones, THREADS};

use crate::cell::Cell;
use crate::topology::{Settle, Topology};

structure! {
    /// What the kernels have seen since the status was reset; all only grow.
    pub struct ListWords {
        /// Largest number of neighbours of a site.
        pub neighbours: u32,
        /// 1 if positions were not finite or the cell was too small.
        pub unfit: u32,
        /// 1 if a force was beyond the range of fixed-point numbers.
        pub saturated: u32,
    }

    /// The frame around all atoms of an open system, nm.
    pub struct Frame {
        /// Lengths.
        pub edges: [f64; 3],
        /// Lowest corner.
        pub origin: [f64; 3],
    }

    /// Cells of the list. Those along c are columns, prisms in a box without right angles: from a site, u and v cells away along a and b, w along
    /// c; lengths are split into what is along c and what is across.
    pub struct Columns {
        /// Distances of opposite faces of a cell, nm.
        pub wx: f32,
        /// See `wx`.
        pub wy: f32,
        /// See `wx`.
        pub wz: f32,
        /// Squared length across c: uu u² + 2 uv u v + vv v², nm².
        pub uu: f32,
        /// See `uu`.
        pub uv: f32,
        /// See `uu`.
        pub vv: f32,
        /// Length along c of a step in u, nm.
        pub along_u: f32,
        /// The same of a step in v.
        pub along_v: f32,
        /// Edge of a cell along c, nm.
        pub along_w: f32,
    }
}

arguments! {
    /// Arguments of `frame_of_atoms`.
    pub(super) struct FrameArgs<'a> {
        x: In<'a, f64>,
        active: In<'a, u32>,
        frame: Out<'a, Frame>,
        /// Distance of the outermost atoms from the faces, nm.
        margin: f64,
        n: i32,
    }

    /// Arguments of `cell_keys`.
    pub(super) struct KeyArgs<'a> {
        x: In<'a, f64>,
        active: In<'a, u32>,
        kinds: In<'a, u32>,
        edges: In<'a, f64>,
        origin: In<'a, f64>,
        keys: Out<'a, u32>,
        status: Out<'a, ListWords>,
        reach: f64,
        cells: [i32; 3],
        n: i32,
    }

    /// Arguments of `place_sites`.
    pub(super) struct PlaceArgs<'a> {
        x: In<'a, f64>,
        active: In<'a, u32>,
        kinds: In<'a, u32>,
        order: In<'a, u32>,
        edges: In<'a, f64>,
        origin: In<'a, f64>,
        sites: Out<'a, u64> as Site,
        atoms: Out<'a, u32>,
        columns: Out<'a, Columns>,
        cells: [i32; 3],
        n: i32,
    }

    /// Arguments of `build_list`.
    pub(super) struct BuildArgs<'a> {
        sites: In<'a, u64> as Site,
        /// First place of each cell, and the end.
        starts: In<'a, u32>,
        edges: In<'a, f64>,
        columns: In<'a, Columns>,
        order: In<'a, u32>,
        excluded_starts: In<'a, u32>,
        excluded: In<'a, u32>,
        list: Out<'a, u32>,
        entries: Out<'a, u32>,
        status: Out<'a, ListWords>,
        /// Reach of pairs of which neither is faint, nm.
        reach: f64,
        cells: [i32; 3],
        capacity: i32,
        n: i32,
    }
}

impl DeviceLennardJones {
    /// Makes the list for positions `x` (3N, nm, anywhere in space) and the edges `cell` (nm, [`Cell::packed`]; not read in
    /// open systems).
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is shorter than that; what the driver says against a launch.
    pub fn enqueue_rebuild(&self, stream: &Stream, x: &Buffer<f64>, cell: &Buffer<f64>) -> Result<(), DeviceError> {
        self.check_lengths(x, cell)?;
        if self.n == 0 {
            return Ok(());
        }
        let (k, n, cells, reach) = (&self.kernels, self.n as i32, self.grid, self.reach);
        let sites = Launch::for_each(self.n, THREADS);
        let (edges, origin) = (self.edges(cell), self.origin());
        let (active, order) = (self.active.arg(), self.sort.order().arg());
        if !self.periodic {
            let frame = FrameArgs { x: x.arg(), active, frame: self.frame.arg(), margin: 2.0 * reach, n };
            stream.launch(&k.frame, Launch::new(1, 1024), frame)?;
        }
        let keys = KeyArgs {
            x: x.arg(),
            active,
            kinds: self.kinds.arg(),
            edges,
            origin,
            keys: self.keys.arg(),
            status: self.status.arg(),
            reach,
            cells,
            n,
        };
        stream.launch(&k.keys, sites, keys)?;
        self.sort.enqueue(stream, &self.keys)?;
        let place = PlaceArgs {
            x: x.arg(),
            active,
            kinds: self.kinds.arg(),
            order,
            edges,
            origin,
            sites: self.sites.arg(),
            atoms: self.atoms.arg(),
            columns: self.columns.arg(),
            cells,
            n,
        };
        stream.launch(&k.place, sites, place)?;
        let build = BuildArgs {
            sites: self.sites.arg(),
            starts: self.sort.starts().arg(),
            edges,
            columns: self.columns.arg(),
            order,
            excluded_starts: self.excluded_starts.arg(),
            excluded: self.excluded.arg(),
            list: self.list.arg(),
            entries: self.entries.arg(),
            status: self.status.arg(),
            reach,
            cells,
            capacity: self.capacity as i32,
            n,
        };
        // A warp for each group, and one more: faint sites and others may both leave a group that is not full.
        stream.launch(&k.build, Launch::for_each(32 * (self.n.div_ceil(self.sharing.group) + 1), THREADS), build)
    }

    /// [`DeviceLennardJones::enqueue_rebuild`], then waits and makes room until every neighbour has its place. Graphs that
    /// hold this term must be captured anew if the answer is true: the list has moved to other memory.
    ///
    /// # Errors
    /// Out of memory; a lost device.
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
    pub(super) fn set_capacity(&mut self, neighbours: usize) -> Result<(), DeviceError> {
        self.capacity = neighbours.max(1).next_multiple_of(self.sharing.chunk());
        self.list = self.device.zeros(self.n * self.capacity)?;
        Ok(())
    }
}

/// Excluded partners of each active atom, as numbers of active atoms.
pub(super) fn exclusions(top: &Topology, active: &[u32]) -> (Vec<u32>, Vec<u32>) {
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

/// Numbers among the active atoms of the oxygen and the hydrogens of each rigid molecule of water that is active as a whole.
pub(super) fn waters(top: &Topology, active: &[u32]) -> Vec<[usize; 3]> {
    let number = |atom: u32| active.binary_search(&atom).ok();
    let of_molecule = |settle: &Settle| {
        let [first, second] = settle.hydrogens;
        Some([number(settle.oxygen)?, number(first)?, number(second)?])
    };
    top.settles.iter().filter_map(of_molecule).collect()
}

/// Cells that are columns of two to a cube, which holds the sites of a group or has half the reach for its edge, but not many more than atoms; in open
/// systems about two atoms to a cell.
pub(super) fn grid(n: usize, group: usize, reach: f64, cell: Cell) -> [i32; 3] {
    let most = (8 * n).max(64) as f64;
    match cell.periodic() {
        Some(periodic) => {
            let of_group = (group as f64 * periodic.volume() / n.max(1) as f64).cbrt();
            let wanted = periodic.heights() / of_group.min(0.5 * reach);
            let coarser = (most / (2.0 * wanted.product())).cbrt().min(1.0);
            let halves = [1.0, 1.0, 2.0];
            std::array::from_fn(|d| (halves[d] * wanted[d] * coarser).floor().clamp(1.0, 1024.0) as i32)
        }
        None => {
            let cubes = (n as f64 / 4.0).cbrt().ceil().clamp(1.0, 64.0) as i32;
            [cubes, cubes, 2 * cubes]
        }
    }
}

/// Neighbours of a site at the mean density, the longer of the rows of faint sites and others; in open systems at the density of heavy atoms in a liquid.
/// `numbers` of sites that are faint and that are not, `reaches` (nm) of two faint ones, of a faint and another one, and of two others.
pub(super) fn neighbours(numbers: [usize; 2], reaches: [f64; 3], cell: Cell) -> f64 {
    let [faint, others] = numbers.map(|n| n as f64);
    let volume = cell.volume().unwrap_or((faint + others) / 40.0);
    let [two_faint, mixed, two_others] = reaches.map(|reach| 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3) / volume);
    let row_of_faint = if faint > 0.0 { faint * two_faint + others * mixed } else { 0.0 };
    row_of_faint.max(faint * mixed + others * two_others)
}

/// Room for so many neighbours and a quarter more.
pub(super) fn capacity(n: usize, neighbours: f64) -> usize {
    ((1.25 * neighbours + 32.0) as usize).min(n).max(1)
}
