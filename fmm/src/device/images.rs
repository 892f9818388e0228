//! The virial along each axis on a device: what the sums over particles miss of it; launches of `images.cu`.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

use super::boxes::BoxGeometry;
use super::{DeviceFmm, Far, PAIR, real_name};

/// Threads of a block.
const THREADS: u32 = 128;

arguments! {
    /// Arguments of `near_images`.
    struct NearImageArgs<'a, T: Real> {
        geometry: In<'a, BoxGeometry>,
        /// x', y', z', q by sorted place.
        sorted: In<'a, [T; 4]>,
        /// First place of each leaf, and the end.
        starts: In<'a, u32>,
        /// First near box of each leaf, and the end.
        near_starts: In<'a, u32>,
        /// Near boxes, as `near_field` has them.
        runs: In<'a, [u32; 4]>,
        /// Displacement of each near offset.
        shifts: In<'a, [T; 4]>,
        sums: Out<'a, i64>,
        strength: f64,
    }

    /// Arguments of `particle_images`.
    struct ParticleImageArgs<'a, T: Real> {
        geometry: In<'a, BoxGeometry>,
        x: In<'a, f64>,
        q: In<'a, f64>,
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
        sums: Out<'a, i64>,
        strength: f64,
        n: i32,
        /// So that the size is a multiple of eight.
        unused: i32,
    }
}

/// The kernels.
pub(super) struct Images<T: Real> {
    near: Kernel<NearImageArgs<'static, T>>,
    particles: Kernel<ParticleImageArgs<'static, T>>,
}

impl<T: Real + Pod> Images<T> {
    /// Compiles them.
    ///
    /// # Errors
    /// A kernel that does not compile.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let module = device.compile(&source::<T>())?;
        Ok(Self { near: module.kernel("near_images")?, particles: module.kernel("particle_images")? })
    }
}

impl<T: Real + Pod> DeviceFmm<T> {
    /// Adds `strength` (W_a − Σ x_ia F_ia), W the virial along each axis as [`Fmm::virial`](crate::Fmm::virial) tells it, to three fixed-point numbers (2⁻²⁴)
    /// of `sums` from `first` on. It follows an evaluation at the same positions `x` (`[3N]`) and charges `q` (`[N]`), whose potentials and fields stay as they are.
    /// Nothing is added unless the boxes [follow shapes](Self::follow_shapes).
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `x`, `q` or `sums` is shorter; what the driver says against a launch.
    #[inline(never)]
    pub fn enqueue_images(
        &self,
        stream: &Stream,
        (x, q): (&Buffer<f64>, &Buffer<f64>),
        strength: f64,
        (sums, first): (&Buffer<i64>, usize),
    ) -> Result<(), DeviceError> {
        x.holds(3 * self.n_particles)?;
        q.holds(self.n_particles)?;
        sums.holds(first.saturating_add(3))?;
        let (Some(shapes), Some(Far::Root(far))) = (&self.shapes, &self.far) else { return Ok(()) };
        let (boxes, to, geometry) = (&self.boxes, &self.assignment, self.boxes.geometry.arg());
        let near = NearImageArgs {
            geometry,
            sorted: self.sorted.arg(),
            starts: to.starts().arg(),
            near_starts: boxes.near_starts.arg(),
            runs: to.runs.arg(),
            shifts: boxes.shifts.arg(),
            sums: Out::from_element(sums, first),
            strength,
        };
        stream.launch(&shapes.images.near, Launch::new(boxes.n_leaves as u32, THREADS), near)?;
        let particles = ParticleImageArgs {
            geometry,
            x: x.arg(),
            q: q.arg(),
            sorted: self.sorted.arg(),
            near: self.near_out.arg(),
            far: self.far_out.arg(),
            place: to.place.arg(),
            members: to.members().into(),
            rows: to.rows.arg(),
            excluded: to.excluded.arg(),
            shifts: boxes.shifts.arg(),
            moments: self.ends.moments().arg(),
            sums: Out::from_element(sums, first),
            strength,
            n: self.n as i32,
            unused: 0,
        };
        stream.launch(&shapes.images.particles, Launch::for_each(self.n, THREADS), particles)?;
        shapes.root.enqueue_slopes(stream, far, (&self.sorted, to.starts()), (geometry, strength), (sums, first))
    }
}

/// The kernels.
pub(super) fn source<T: Real>() -> Source {
    Source::new("images", include_str!("images.cu"))
        .header(PAIR)
        .define("REAL", real_name::<T>())
        .define("IMAGE_THREADS", THREADS)
        .kernel::<NearImageArgs<'static, T>>("near_images")
        .kernel::<ParticleImageArgs<'static, T>>("particle_images")
}
