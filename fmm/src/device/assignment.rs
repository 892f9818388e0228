//! Particles sorted into leaf boxes on the device; frozen until the next assignment.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, CountingSort, Device, DeviceError, Kernel, Source, Stream, args};

use super::boxes::Boxes;
use super::{GEOMETRY, THREADS};
use crate::FmmError;
use crate::geometry::assignment::FARTHEST_IMAGE;
use crate::geometry::exclusions::Exclusions;

/// Words of the status: what is wrong with the particles, each the smallest index at fault or `u32::MAX`.
const NOT_FINITE: usize = 0;
const TOO_FAR: usize = 1;
const NOT_NEAR: usize = 2;
const COINCIDENT: usize = 3;
const STATUS: usize = 4;

/// Which box each particle lies in, and the pairs to skip.
pub struct DeviceAssignment {
    n: u32,
    n_leaves: u32,
    sort: CountingSort,
    keys: Buffer<u32>,
    homes: Buffer<i32>,
    /// Sorted place of each particle.
    pub place: Buffer<u32>,
    /// Leaf of each sorted place.
    pub leaf_of: Buffer<u32>,
    /// Image subtracted from each position, in periods; by sorted place.
    pub images: Buffer<i32>,
    /// For each near box of each leaf: first place, particles, particles in the near boxes before it, slot.
    pub runs: Buffer<u32>,
    /// First excluded partner of each particle, and the end.
    pub rows: Buffer<u32>,
    partners: Buffer<u32>,
    /// Excluded partners: sorted place, slot.
    pub excluded: Buffer<u32>,
    /// What is wrong with the particles.
    pub status: Buffer<u32>,
    host_rows: Vec<u32>,
    host_partners: Vec<u32>,
    /// Lower bound of the length of lattice vectors, over the scale.
    shortest: f64,
    home_boxes: Kernel,
    arrange: Kernel,
    make_runs: Kernel,
    find_excluded: Kernel,
}

impl DeviceAssignment {
    pub fn new<T: Real + Pod>(
        device: &Device,
        boxes: &Boxes<T>,
        exclusions: &Exclusions,
        shortest: f64,
    ) -> Result<Self, DeviceError> {
        let module = device.compile(&source())?;
        let n = exclusions.n_particles();
        let mut host_rows = vec![0];
        let mut host_partners = Vec::with_capacity(2 * exclusions.n_pairs());
        for i in 0..n {
            host_partners.extend_from_slice(exclusions.partners(i));
            host_rows.push(host_partners.len() as u32);
        }
        let room = n.max(1);
        Ok(Self {
            n: n as u32,
            n_leaves: boxes.n_leaves as u32,
            sort: CountingSort::new(device, n, boxes.n_leaves)?,
            keys: device.zeros(room)?,
            homes: device.zeros(3 * room)?,
            place: device.zeros(room)?,
            leaf_of: device.zeros(room)?,
            images: device.zeros(3 * room)?,
            runs: device.zeros(2 * boxes.near_entries.len())?,
            rows: device.upload(&host_rows)?,
            partners: if host_partners.is_empty() { device.zeros(1) } else { device.upload(&host_partners) }?,
            excluded: device.zeros(2 * host_partners.len().max(1))?,
            status: device.upload(&[u32::MAX; STATUS])?,
            host_rows,
            host_partners,
            shortest,
            home_boxes: module.kernel("home_boxes")?,
            arrange: module.kernel("arrange")?,
            make_runs: module.kernel("make_runs")?,
            find_excluded: module.kernel("find_excluded")?,
        })
    }

    /// Sort `x` into the boxes.
    pub fn enqueue<T: Real + Pod>(
        &self,
        stream: &Stream,
        boxes: &Boxes<T>,
        x: &Buffer<f64>,
    ) -> Result<(), DeviceError> {
        let (n, blocks) = (self.n as i32, self.n.div_ceil(THREADS));
        let (geometry, grid) = (&boxes.geometry, &boxes.grid);
        let homes = args![geometry, grid, x, &self.keys, &self.homes, &self.status, n];
        stream.launch(&self.home_boxes, blocks, THREADS, 0, homes)?;
        self.sort.enqueue(stream, &self.keys)?;
        let sorted = args![self.order(), &self.keys, &self.homes, &self.place, &self.leaf_of, &self.images, n];
        stream.launch(&self.arrange, blocks, THREADS, 0, sorted)?;
        let runs = args![&boxes.near_starts, &boxes.near_entries, self.starts(), &self.runs, self.n_leaves as i32];
        stream.launch(&self.make_runs, (32 * self.n_leaves).div_ceil(THREADS), THREADS, 0, runs)?;
        let excluded = args![
            geometry,
            grid,
            x,
            self.starts(),
            self.order(),
            &self.place,
            &self.leaf_of,
            &self.images,
            &self.rows,
            &self.partners,
            &boxes.slots,
            &self.excluded,
            &self.status,
            self.shortest,
            n
        ];
        stream.launch(&self.find_excluded, blocks, THREADS, 0, excluded)
    }

    /// After a change of the shape of the cell.
    pub fn set_shortest(&mut self, shortest: f64) {
        self.shortest = shortest;
    }

    /// Particle at each sorted place.
    pub fn order(&self) -> &Buffer<u32> {
        self.sort.order()
    }

    /// First sorted place of each leaf, and the end.
    pub fn starts(&self) -> &Buffer<u32> {
        self.sort.starts()
    }

    /// What the kernels found wrong since the last call. Waits for the stream.
    pub fn check(&self, stream: &Stream) -> Result<(), FmmError> {
        let status = self.status.read(stream)?;
        if status.iter().all(|s| *s == u32::MAX) {
            return Ok(());
        }
        self.status.write(stream, &[u32::MAX; STATUS])?;
        let [finite, far, entry, coincident] = [NOT_FINITE, TOO_FAR, NOT_NEAR, COINCIDENT].map(|s| status[s]);
        if finite != u32::MAX {
            return Err(FmmError::NotFinite { particle: finite as usize, what: "position" });
        }
        if far != u32::MAX {
            return Err(FmmError::TooFar { particle: far as usize });
        }
        if entry != u32::MAX {
            let i = self.host_rows.partition_point(|start| *start <= entry) - 1;
            let j = self.host_partners[entry as usize] as usize;
            return Err(FmmError::ExclusionTooFar { i: i.min(j), j: i.max(j) });
        }
        Err(FmmError::Coincident { particle: coincident as usize })
    }
}

/// Its kernels, besides those of the sort.
pub fn source() -> Source {
    Source::new("assign", include_str!("assign.cu"))
        .header(GEOMETRY)
        .define("FARTHEST_IMAGE", format!("{FARTHEST_IMAGE:e}"))
}
