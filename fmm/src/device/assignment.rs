//! Particles sorted into leaf boxes on the device. The assignment holds until the next one; launches of `assignment.cu`.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{
    Buffer, CountingSort, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments, structure,
};

use super::boxes::{BoxGeometry, Boxes, LeafGrid};
use super::{BOXES, THREADS};
use crate::FmmError;
use crate::geometry::assignment::FARTHEST_IMAGE;
use crate::geometry::exclusions::Exclusions;
use crate::members::Members;

structure! {
    /// What is wrong with the particles: in each field the smallest number at fault, or `u32::MAX`.
    pub struct ParticleFaults {
        /// Particle whose position is not finite.
        pub not_finite: u32,
        /// Particle that is too many periods away.
        pub too_far: u32,
        /// Entry of the excluded pairs that does not lie in near boxes.
        pub not_near: u32,
        /// Particle that sits on another one without being excluded from it.
        pub coincident: u32,
    }
}

impl ParticleFaults {
    /// Nothing is wrong.
    const NONE: Self = Self { not_finite: u32::MAX, too_far: u32::MAX, not_near: u32::MAX, coincident: u32::MAX };
}

arguments! {
    /// Arguments of `home_boxes`.
    struct HomeArgs<'a> {
        geometry: In<'a, BoxGeometry>,
        grid: In<'a, LeafGrid>,
        x: In<'a, f64>,
        /// Particles that lie in boxes, then all others; null if all do.
        members: In<'a, u32>,
        keys: Out<'a, u32>,
        images: Out<'a, i32>,
        faults: Out<'a, ParticleFaults>,
        /// Particles that lie in boxes, and all of them.
        n: i32,
        n_particles: i32,
    }

    /// Arguments of `arrange`.
    struct ArrangeArgs<'a> {
        geometry: In<'a, BoxGeometry>,
        x: In<'a, f64>,
        /// Member at each sorted place.
        sorted: In<'a, u32>,
        /// As in `HomeArgs`.
        members: In<'a, u32>,
        keys: In<'a, u32>,
        homes: In<'a, i32>,
        /// Particle at each sorted place, written where members are not all particles.
        order: Out<'a, u32>,
        place: Out<'a, u32>,
        leaf_of: Out<'a, u32>,
        images: Out<'a, i32>,
        /// Positions less their images, by sorted place.
        local: Out<'a, f64>,
        n: i32,
    }

    /// Arguments of `make_runs`.
    struct RunArgs<'a> {
        near_starts: In<'a, u32>,
        near_entries: In<'a, [u32; 2]>,
        starts: In<'a, u32>,
        runs: Out<'a, [u32; 4]>,
        n_leaves: i32,
    }

    /// Arguments of `find_excluded`.
    struct ExcludedArgs<'a> {
        geometry: In<'a, BoxGeometry>,
        grid: In<'a, LeafGrid>,
        local: In<'a, f64>,
        starts: In<'a, u32>,
        order: In<'a, u32>,
        place: In<'a, u32>,
        leaf_of: In<'a, u32>,
        rows: In<'a, u32>,
        /// The particle of each excluded partner.
        owners: In<'a, u32>,
        partners: In<'a, u32>,
        slots: In<'a, i32>,
        excluded: Out<'a, [u32; 2]>,
        faults: Out<'a, ParticleFaults>,
        /// Lower bound of the length of lattice vectors, over the scale.
        shortest: f64,
        n: i32,
        n_excluded: i32,
    }
}

/// Which box each particle lies in, and the pairs to skip.
pub struct DeviceAssignment {
    n: u32,
    n_particles: u32,
    n_leaves: u32,
    sort: CountingSort,
    /// Particles that lie in boxes, then all others; and the particle at each sorted place. None if all particles lie in boxes.
    members: Option<(Buffer<u32>, Buffer<u32>)>,
    keys: Buffer<u32>,
    homes: Buffer<i32>,
    local: Buffer<f64>,
    /// Sorted place of each particle; `u32::MAX` if it lies in no box.
    pub place: Buffer<u32>,
    /// Leaf of each sorted place.
    pub leaf_of: Buffer<u32>,
    /// Image subtracted from each position, in periods; by sorted place.
    pub images: Buffer<i32>,
    /// For each near box of each leaf: first place, particles, particles in the near boxes before it, slot.
    pub runs: Buffer<u32>,
    /// First excluded partner of each particle, and the end.
    pub rows: Buffer<u32>,
    owners: Buffer<u32>,
    partners: Buffer<u32>,
    /// Excluded partners: sorted place, slot.
    pub excluded: Buffer<u32>,
    /// What the kernels found wrong with the particles.
    pub faults: Buffer<ParticleFaults>,
    host_rows: Vec<u32>,
    host_partners: Vec<u32>,
    /// Lower bound of the length of lattice vectors, over the scale.
    shortest: f64,
    home_boxes: Kernel<HomeArgs<'static>>,
    arrange: Kernel<ArrangeArgs<'static>>,
    make_runs: Kernel<RunArgs<'static>>,
    find_excluded: Kernel<ExcludedArgs<'static>>,
}

/// Excluded pairs of two members, in the numbers of the particles.
pub(super) fn among(members: &Members, exclusions: &Exclusions) -> Exclusions {
    let Some(rank) = members.ranks() else { return exclusions.clone() };
    exclusions.kept(exclusions.n_particles(), |i| rank[i as usize].map(|_| i))
}

impl DeviceAssignment {
    pub fn new<T: Real + Pod>(
        device: &Device,
        boxes: &Boxes<T>,
        exclusions: &Exclusions,
        members: &Members,
        shortest: f64,
    ) -> Result<Self, DeviceError> {
        let module = device.compile(&source())?;
        let (n, n_particles) = (members.len(), members.n_particles());
        let exclusions = among(members, exclusions);
        let mut host_rows = vec![0];
        let mut host_partners = Vec::with_capacity(2 * exclusions.n_pairs());
        for i in 0..n_particles {
            host_partners.extend_from_slice(exclusions.partners(i));
            host_rows.push(host_partners.len() as u32);
        }
        let owners: Vec<u32> =
            (0..n_particles).flat_map(|i| std::iter::repeat_n(i as u32, exclusions.partners(i).len())).collect();
        let list = |list: &[u32]| if list.is_empty() { device.zeros(1) } else { device.upload(list) };
        let room = n.max(1);
        let listed =
            members.listed.as_ref().map(|listed| Ok::<_, DeviceError>((device.upload(listed)?, device.zeros(room)?)));
        Ok(Self {
            n: n as u32,
            n_particles: n_particles as u32,
            members: listed.transpose()?,
            n_leaves: boxes.n_leaves as u32,
            sort: CountingSort::new(device, n, boxes.n_leaves)?,
            keys: device.zeros(room)?,
            homes: device.zeros(3 * room)?,
            local: device.zeros(3 * room)?,
            place: device.upload(&vec![u32::MAX; n_particles.max(1)])?,
            leaf_of: device.zeros(room)?,
            images: device.zeros(3 * room)?,
            runs: device.zeros(2 * boxes.near_entries.len())?,
            rows: device.upload(&host_rows)?,
            owners: list(&owners)?,
            partners: list(&host_partners)?,
            excluded: device.zeros(2 * host_partners.len().max(1))?,
            faults: device.upload(&[ParticleFaults::NONE])?,
            host_rows,
            host_partners,
            shortest,
            home_boxes: module.kernel("home_boxes")?,
            arrange: module.kernel("arrange")?,
            make_runs: module.kernel("make_runs")?,
            find_excluded: module.kernel("find_excluded")?,
        })
    }

    /// Sorts `x` into the boxes.
    pub fn enqueue<T: Real + Pod>(
        &self,
        stream: &Stream,
        boxes: &Boxes<T>,
        x: &Buffer<f64>,
    ) -> Result<(), DeviceError> {
        let (n, particles) = (self.n as i32, Launch::for_each(self.n as usize, THREADS));
        let (geometry, grid, faults) = (boxes.geometry.arg(), boxes.grid.arg(), self.faults.arg());
        let members = self.members();
        let homes = HomeArgs {
            geometry,
            grid,
            x: x.arg(),
            members: members.into(),
            keys: self.keys.arg(),
            images: self.homes.arg(),
            faults,
            n,
            n_particles: self.n_particles as i32,
        };
        stream.launch(&self.home_boxes, Launch::for_each(self.n_particles as usize, THREADS), homes)?;
        self.sort.enqueue(stream, &self.keys)?;
        let arrange = ArrangeArgs {
            geometry,
            x: x.arg(),
            sorted: self.sort.order().arg(),
            members: members.into(),
            order: self.order().arg(),
            keys: self.keys.arg(),
            homes: self.homes.arg(),
            place: self.place.arg(),
            leaf_of: self.leaf_of.arg(),
            images: self.images.arg(),
            local: self.local.arg(),
            n,
        };
        stream.launch(&self.arrange, particles, arrange)?;
        let runs = RunArgs {
            near_starts: boxes.near_starts.arg(),
            near_entries: boxes.near_entries.arg(),
            starts: self.starts().arg(),
            runs: self.runs.arg(),
            n_leaves: self.n_leaves as i32,
        };
        // A warp for each leaf.
        stream.launch(&self.make_runs, Launch::for_each(32 * self.n_leaves as usize, THREADS), runs)?;
        let excluded = ExcludedArgs {
            geometry,
            grid,
            local: self.local.arg(),
            starts: self.starts().arg(),
            order: self.order().arg(),
            place: self.place.arg(),
            leaf_of: self.leaf_of.arg(),
            rows: self.rows.arg(),
            owners: self.owners.arg(),
            partners: self.partners.arg(),
            slots: boxes.slots.arg(),
            excluded: self.excluded.arg(),
            faults,
            shortest: self.shortest,
            n,
            n_excluded: self.host_partners.len() as i32,
        };
        let threads = self.n as usize + self.host_partners.len();
        stream.launch(&self.find_excluded, Launch::for_each(threads, THREADS), excluded)
    }

    /// Sets the lower bound of the length of lattice vectors over the scale, after a change of the shape of the cell.
    pub fn set_shortest(&mut self, shortest: f64) {
        self.shortest = shortest;
    }

    /// Particle at each sorted place.
    pub fn order(&self) -> &Buffer<u32> {
        self.members.as_ref().map_or(self.sort.order(), |(_, order)| order)
    }

    /// Particles that lie in boxes, then all others; none if all particles do.
    pub fn members(&self) -> Option<&Buffer<u32>> {
        self.members.as_ref().map(|(members, _)| members)
    }

    /// First sorted place of each leaf, and the end.
    pub fn starts(&self) -> &Buffer<u32> {
        self.sort.starts()
    }

    /// Tells what the kernels found wrong since the last call. It waits for the stream.
    pub fn check(&self, stream: &Stream) -> Result<(), FmmError> {
        let faults = self.faults.read(stream)?[0];
        if faults == ParticleFaults::NONE {
            return Ok(());
        }
        self.faults.write(stream, &[ParticleFaults::NONE])?;
        let ParticleFaults { not_finite, too_far, not_near, coincident } = faults;
        if not_finite != u32::MAX {
            return Err(FmmError::NotFinite { particle: not_finite as usize, what: "position" });
        }
        if too_far != u32::MAX {
            return Err(FmmError::TooFar { particle: too_far as usize });
        }
        if not_near != u32::MAX {
            let i = self.host_rows.partition_point(|start| *start <= not_near) - 1;
            let j = self.host_partners[not_near as usize] as usize;
            return Err(FmmError::ExclusionTooFar { i: i.min(j), j: i.max(j) });
        }
        Err(FmmError::Coincident { particle: coincident as usize, other: None })
    }
}

/// Its kernels, besides those of the sort.
pub fn source() -> Source {
    Source::new("assignment", include_str!("assignment.cu"))
        .header(BOXES)
        .define("FARTHEST_IMAGE", format!("{FARTHEST_IMAGE:e}"))
        .kernel::<HomeArgs<'static>>("home_boxes")
        .kernel::<ArrangeArgs<'static>>("arrange")
        .kernel::<RunArgs<'static>>("make_runs")
        .kernel::<ExcludedArgs<'static>>("find_excluded")
}
