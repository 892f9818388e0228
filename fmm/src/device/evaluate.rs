//! First and last kernel of an evaluation on a device: launches of `evaluate.cu`.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

use super::boxes::{BoxGeometry, LeafGrid};
use super::{BOXES, DeviceFmm, PAIR, THREADS, real_name};

/// Moments of the trace term in units of the scale of the boxes: Q, D (three) and T.
const MOMENTS: usize = 5;

arguments! {
    /// Arguments of `gather`.
    struct GatherArgs<'a, T: Real> {
        geometry: In<'a, BoxGeometry>,
        grid: In<'a, LeafGrid>,
        x: In<'a, f64>,
        q: In<'a, f64>,
        order: In<'a, u32>,
        leaf_of: In<'a, u32>,
        images: In<'a, i32>,
        sorted: Out<'a, [T; 4]>,
        moments: Out<'a, f64>,
        /// Blocks that have left their moments.
        done: Out<'a, u32>,
        n: i32,
        /// 0 leaves the moments out.
        has_trace: i32,
    }

    /// Arguments of `finish`.
    struct FinishArgs<'a, T: Real> {
        geometry: In<'a, BoxGeometry>,
        grid: In<'a, LeafGrid>,
        leaf_of: In<'a, u32>,
        sorted: In<'a, [T; 4]>,
        near: In<'a, [T; 4]>,
        far: In<'a, [T; 4]>,
        place: In<'a, u32>,
        /// Particles that lie in boxes, in the order of the threads; null if all do.
        members: In<'a, u32>,
        /// First excluded partner of each particle, and the end.
        rows: In<'a, u32>,
        /// Excluded partners: sorted place, slot of the near offset.
        excluded: In<'a, [u32; 2]>,
        shifts: In<'a, [T; 4]>,
        moments: In<'a, f64>,
        potential: Out<'a, f64>,
        field: Out<'a, f64>,
        /// Charges, or null without forces.
        q: In<'a, f64>,
        /// Fixed-point forces to which strength q E is added instead of writing `field`, or null.
        forces: Out<'a, i64>,
        strength: f64,
        /// (2π/3V) scale³; 0 without a volume.
        trace: f64,
        /// 0 leaves the far field out.
        has_far: i32,
        n: i32,
    }
}

/// The two kernels, and what the first one leaves for the last.
pub(super) struct Ends<T: Real> {
    gather: Kernel<GatherArgs<'static, T>>,
    finish: Kernel<FinishArgs<'static, T>>,
    /// Those of all particles, then of each block.
    moments: Buffer<f64>,
    done: Buffer<u32>,
}

impl<T: Real + Pod> Ends<T> {
    /// For `n` particles in a tree of this depth.
    ///
    /// # Errors
    /// Out of memory; a kernel that does not compile.
    pub fn new(device: &Device, depth: usize, n: usize) -> Result<Self, DeviceError> {
        let module = device.compile(&source::<T>(depth))?;
        Ok(Self {
            gather: module.kernel("gather")?,
            finish: module.kernel("finish")?,
            moments: device.zeros(MOMENTS * (n.max(1).div_ceil(THREADS as usize) + 1))?,
            done: device.zeros(1)?,
        })
    }
}

impl<T: Real> Ends<T> {
    /// Q, D (three) and T of the trace term, in units of the scale of the boxes.
    pub fn moments(&self) -> &Buffer<f64> {
        &self.moments
    }
}

/// Charges, strength and fixed-point sums of the forces that the last kernel adds.
struct Forces<'a> {
    q: &'a Buffer<f64>,
    strength: f64,
    sums: &'a Buffer<i64>,
}

impl<T: Real + Pod> DeviceFmm<T> {
    /// The first part of an evaluation makes coordinates relative to the boxes, and the moments of the trace term.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `x` or `q` is shorter than `[3N]` or `[N]`; what the driver says against the launch.
    #[inline(never)]
    pub fn enqueue_gather(&self, stream: &Stream, x: &Buffer<f64>, q: &Buffer<f64>) -> Result<(), DeviceError> {
        x.holds(3 * self.n_particles)?;
        q.holds(self.n_particles)?;
        let (boxes, to) = (&self.boxes, &self.assignment);
        let arguments = GatherArgs {
            geometry: boxes.geometry.arg(),
            grid: boxes.grid.arg(),
            x: x.arg(),
            q: q.arg(),
            order: to.order().arg(),
            leaf_of: to.leaf_of.arg(),
            images: to.images.arg(),
            sorted: self.sorted.arg(),
            moments: self.ends.moments.arg(),
            done: self.ends.done.arg(),
            n: self.n as i32,
            has_trace: i32::from(self.trace_factor() > 0.0),
        };
        stream.launch(&self.ends.gather, Launch::for_each(self.n, THREADS), arguments)
    }

    /// The last part of an evaluation adds near field, far field and trace term, and takes off the excluded pairs, in the caller's order and
    /// units.
    ///
    /// # Errors
    /// What the driver says against the launch.
    #[inline(never)]
    pub fn enqueue_finish(&self, stream: &Stream) -> Result<(), DeviceError> {
        self.launch_finish(stream, None)
    }

    /// The same, but instead of fields the forces `strength` q E are added to fixed-point numbers `forces` `[3N]` (`add_fixed` of the kernels).
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `q` or `forces` is shorter; what the driver says against the launch.
    #[inline(never)]
    pub fn enqueue_forces(
        &self,
        stream: &Stream,
        q: &Buffer<f64>,
        strength: f64,
        forces: &Buffer<i64>,
    ) -> Result<(), DeviceError> {
        q.holds(self.n_particles)?;
        forces.holds(3 * self.n_particles)?;
        self.launch_finish(stream, Some(Forces { q, strength, sums: forces }))
    }

    /// (2π/3V) c³ of the trace term, with the scale c of the boxes, whose volume is c³: whatever the lengths are. 0 unless the cell repeats in three directions.
    fn trace_factor(&self) -> f64 {
        let per_leaf = |_| 2.0 * std::f64::consts::PI / (3.0 * self.boxes.n_leaves as f64);
        self.host.volume.map_or(0.0, per_leaf)
    }

    fn launch_finish(&self, stream: &Stream, forces: Option<Forces<'_>>) -> Result<(), DeviceError> {
        let (boxes, to) = (&self.boxes, &self.assignment);
        let arguments = FinishArgs {
            geometry: boxes.geometry.arg(),
            grid: boxes.grid.arg(),
            leaf_of: to.leaf_of.arg(),
            sorted: self.sorted.arg(),
            near: self.near_out.arg(),
            far: self.far_out.arg(),
            place: to.place.arg(),
            members: to.members().into(),
            rows: to.rows.arg(),
            excluded: to.excluded.arg(),
            shifts: boxes.shifts.arg(),
            moments: self.ends.moments.arg(),
            potential: self.potential.arg(),
            field: self.field.arg(),
            q: forces.as_ref().map(|f| f.q).into(),
            forces: forces.as_ref().map(|f| f.sums).into(),
            strength: forces.as_ref().map_or(0.0, |f| f.strength),
            trace: self.trace_factor(),
            has_far: i32::from(self.far.is_some()),
            n: self.n as i32,
        };
        stream.launch(&self.ends.finish, Launch::for_each(self.n, THREADS), arguments)
    }
}

/// The kernels for trees of this depth.
pub(super) fn source<T: Real>(depth: usize) -> Source {
    Source::new("evaluate", include_str!("evaluate.cu"))
        .header(BOXES)
        .header(PAIR)
        .define("REAL", real_name::<T>())
        .define("GATHER_THREADS", THREADS)
        .define("DEPTH", depth)
        .early_kernel::<GatherArgs<'static, T>>("gather")
        .early_kernel::<FinishArgs<'static, T>>("finish")
}
