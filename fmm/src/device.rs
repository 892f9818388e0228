//! The fast multipole method on a device: positions, charges, potentials and fields stay in its memory.
//!
//! The sums are those of [`Fmm`](crate::Fmm), over all boxes of a tree, empty ones too. A step is
//!
//!   box-local coordinates → near field beside far field → sum, less excluded pairs, plus the trace term (evaluate.cu, near.cu)
//!
//! and nothing in it waits for the host, so that it can be recorded into a graph. Positions and charges are f64 in the caller's order and
//! units, pairs and expansions run in `T` on coordinates relative to the own box. Excluded pairs are subtracted again from the near field,
//! with the same operations: in f32 they leave 1e-7 of the pair. Results repeat bit for bit.
//!
//! ```
//! use fmm::device::{Device, DeviceFmm};
//! use fmm::{Boundary, Exclusions, Settings, TreeShape};
//!
//! # fn main() -> Result<(), fmm::FmmError> {
//! let device = Device::emulator()?; // Device::cuda(0)? where there is a GPU
//! let boundary = Boundary::rectangular([2.0; 3]);
//! let settings = Settings::new(8, TreeShape { root: [4; 3], depth: 0 });
//! let (positions, charges) = ([[0.1, 0.2, 0.3], [1.6, 0.9, 1.4]], [1.0, -1.0]);
//! let fmm = DeviceFmm::<f64>::new(&device, boundary, settings, &positions, &Exclusions::none(2))?;
//! let (x, q) = (device.upload(positions.as_flattened())?, device.upload(&charges)?);
//! let (near, far) = (device.stream()?, device.stream()?);
//! fmm.enqueue_assign(&near, &x)?;
//! fmm.enqueue_evaluate(&near, &far, &x, &q)?;
//! fmm.check(&near)?;
//! let potential = fmm.potential().read(&near)?;
//! assert!((potential[0] + potential[1]).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```

mod assignment;
mod boxes;
mod coulomb;
mod evaluate;
pub mod far;
mod images;
mod levels;
mod measure;
mod near;
pub mod peak;
#[doc(hidden)]
pub mod precisions;
pub mod products;
#[cfg(test)]
mod tests;
mod trees;
mod tuning;

use bytemuck::Pod;
use kernels::Real;
pub use kernels::device::{Buffer, Device, DeviceError, Stream};

use crate::FmmError;
use crate::checks::check_length;
use crate::geometry::assignment::Geometry;
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::{BoxGrid, NearSet};
use crate::members::Members;
use crate::solver::settings::Settings;
use assignment::DeviceAssignment;
use boxes::Boxes;
use evaluate::Ends;
use far::{FarField, RootShapes};
use images::Images;
use levels::Levels;
use near::{NearField, NearShape};

pub use boxes::BoxGeometry;
pub use coulomb::DeviceCoulomb;
pub use tuning::tune_on;

/// Threads of a block of kernels with one particle for each thread.
const THREADS: u32 = 256;

/// Device functions: where boxes lie; one pair.
const BOXES: &str = include_str!("device/boxes.cuh");
const PAIR: &str = include_str!("device/pair.cuh");

/// Most root boxes per axis: operators are (2p+1)² numbers here, and not the K² of the CPU.
const MAX_DEVICE_ROOT: usize = 128;

/// Most leaf boxes: those near each are listed.
pub(crate) const MAX_BOXES: usize = 1 << 21;

/// Most particles: three coordinates of each are counted in 32 bits.
const MAX_PARTICLES: usize = 100_000_000;

/// The fast multipole method with its particles on a device.
pub struct DeviceFmm<T: Real + Pod> {
    device: Device,
    settings: Settings,
    boundary: Boundary,
    host: Geometry,
    grid: BoxGrid,
    n_particles: usize,
    /// Number of those that lie in boxes.
    n: usize,
    boxes: Boxes<T>,
    assignment: DeviceAssignment,
    near: NearField<T>,
    far: Option<Far<T>>,
    shapes: Option<Shapes<T>>,
    ends: Ends<T>,
    sorted: Buffer<T>,
    near_out: Buffer<T>,
    far_out: Buffer<T>,
    potential: Buffer<f64>,
    field: Buffer<f64>,
}

/// The far field, by the depth of the tree.
enum Far<T: Real + Pod> {
    /// The convolution over the root grid, for a tree without refinement.
    Root(Box<FarField<T>>),
    /// Levels below the root grid.
    Levels(Box<Levels<T>>),
}

/// What boxes need that change their shape, and the virial along each axis.
struct Shapes<T: Real + Pod> {
    root: RootShapes<T>,
    images: Images<T>,
    /// The boundary about which operators are known.
    reference: Boundary,
}

impl<T: Real + Pod> Far<T> {
    /// For boxes like those of `leaves` and `n` particles.
    fn new(
        device: &Device,
        settings: &Settings,
        host: &Geometry,
        leaves: &BoxGrid,
        n: usize,
    ) -> Result<Self, DeviceError> {
        let (order, tree) = (settings.order, settings.tree);
        if tree.depth == 0 {
            return Ok(Self::Root(Box::new(FarField::new(device, leaves, order, n)?)));
        }
        let grid = BoxGrid { topology: host.root(), ..leaves.clone() };
        Ok(Self::Levels(Box::new(Levels::dense(device, &grid, order, tree)?)))
    }
}

impl<T: Real + Pod> DeviceFmm<T> {
    /// Operators and memory for as many particles as `exclusions` counts. Along axes that do not repeat, boxes are laid around `positions`
    /// and stay there: particles that leave them count to the outermost ones, and results get worse.
    ///
    /// # Errors
    /// Those of [`Fmm::new`](crate::Fmm::new); [`FmmError::DeviceBoxes`], [`FmmError::DeviceParticles`]; a lack of memory.
    #[inline(never)]
    pub fn new(
        device: &Device,
        boundary: Boundary,
        settings: Settings,
        positions: &[[f64; 3]],
        exclusions: &Exclusions,
    ) -> Result<Self, FmmError> {
        let members = Members::all(exclusions.n_particles());
        Self::of_members(device, boundary, settings, positions, (exclusions, &members))
    }

    /// The same for particles of which the `members` only ever have a charge. Positions, charges and results are those of all particles; potential
    /// and field of the others are 0 always.
    ///
    /// # Errors
    /// As [`new`](Self::new); members of another number of particles.
    #[inline(never)]
    pub fn of_members(
        device: &Device,
        boundary: Boundary,
        settings: Settings,
        positions: &[[f64; 3]],
        particles: (&Exclusions, &Members),
    ) -> Result<Self, FmmError> {
        let mut out = Self::near_only(device, boundary, settings, positions, particles)?;
        out.far = Some(Far::new(device, &settings, &out.host, &out.grid, out.n)?);
        Ok(out)
    }

    /// The same without the field of far boxes.
    #[inline(never)]
    fn near_only(
        device: &Device,
        boundary: Boundary,
        settings: Settings,
        positions: &[[f64; 3]],
        (exclusions, members): (&Exclusions, &Members),
    ) -> Result<Self, FmmError> {
        check_settings(&boundary, &settings)?;
        let (n_particles, n) = (exclusions.n_particles(), members.len());
        check_length("exclusions", members.n_particles(), n_particles)?;
        if n_particles > MAX_PARTICLES {
            return Err(FmmError::DeviceParticles { particles: n_particles, max: MAX_PARTICLES });
        }
        // A set-up without positions is for settings alone.
        if !positions.is_empty() {
            check_length("positions", n_particles, positions.len())?;
        }
        let around = if positions.is_empty() { positions.into() } else { members.select(positions) };
        let host = Geometry::new(&boundary, settings.tree, &around);
        let near = NearSet::checked(&host.unit_basis(), settings.separation)?;
        let grid = BoxGrid { topology: host.topology, basis: host.unit_basis(), near };
        let boxes = Boxes::new(device, &host, &grid)?;
        let shortest = host.shortest / host.scale();
        let assignment = DeviceAssignment::new(device, &boxes, exclusions, members, shortest)?;
        let (room, all) = (n.max(1), n_particles.max(1));
        Ok(Self {
            device: device.clone(),
            settings,
            boundary,
            host,
            grid,
            n_particles,
            n,
            boxes,
            assignment,
            near: NearField::new(device, NearShape::default_for::<T>())?,
            far: None,
            shapes: None,
            ends: Ends::new(device, settings.tree.depth, n)?,
            sorted: device.zeros(4 * room)?,
            near_out: device.zeros(4 * room)?,
            far_out: device.zeros(4 * room)?,
            potential: device.zeros(all)?,
            field: device.zeros(3 * all)?,
        })
    }

    /// Sorts particles at `x` (`[3N]`) into boxes, chooses the image of each, and finds the pairs to skip. All this holds until the next call.
    /// What is wrong with the particles is found on the device, and told by [`check`](Self::check).
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `x` is shorter; the driver.
    #[inline(never)]
    pub fn enqueue_assign(&self, stream: &Stream, x: &Buffer<f64>) -> Result<(), DeviceError> {
        x.holds(3 * self.n_particles)?;
        self.assignment.enqueue(stream, &self.boxes, x)
    }

    /// Potential and field of charges `q` (`[N]`) at `x` (`[3N]`). Begins and ends on `near_stream`; the far field runs on `far_stream` beside
    /// the near field. Positions are those of the assignment or near them, as of [`Fmm::evaluate`](crate::Fmm::evaluate); the device does not look whether they are.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `x` or `q` is shorter; the driver.
    #[inline(never)]
    pub fn enqueue_evaluate(
        &self,
        near_stream: &Stream,
        far_stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
    ) -> Result<(), DeviceError> {
        self.enqueue_gather(near_stream, x, q)?;
        if self.far.is_some() {
            far_stream.wait_for(near_stream)?;
            self.enqueue_far(far_stream)?;
        }
        self.enqueue_near(near_stream)?;
        if self.far.is_some() {
            near_stream.wait_for(far_stream)?;
        }
        self.enqueue_finish(near_stream)
    }

    /// The part of an evaluation that makes the far field.
    ///
    /// # Errors
    /// What the driver says against a launch.
    #[inline(never)]
    pub fn enqueue_far(&self, stream: &Stream) -> Result<(), DeviceError> {
        match &self.far {
            Some(Far::Root(far)) => far.enqueue(stream, &self.sorted, self.starts(), &self.far_out),
            Some(Far::Levels(far)) => far.enqueue(stream, &self.sorted, self.starts(), &self.far_out),
            None => Ok(()),
        }
    }

    /// The part of an evaluation that makes the near field.
    ///
    /// # Errors
    /// What the driver says against the launch.
    #[inline(never)]
    pub fn enqueue_near(&self, stream: &Stream) -> Result<(), DeviceError> {
        let lists = [self.starts(), &self.boxes.near_starts, &self.assignment.runs];
        let particles = [&self.sorted, &self.boxes.shifts, &self.near_out];
        self.near.enqueue(stream, self.boxes.n_leaves, lists, particles)
    }

    /// Tells what the device found wrong with the particles since the last call. It waits for the stream, so it has no place in a step.
    ///
    /// # Errors
    /// A position that is not finite or too far away, an excluded pair that does not lie in near boxes, two particles on one point when they
    /// were assigned; the device.
    #[inline(never)]
    pub fn check(&self, stream: &Stream) -> Result<(), FmmError> {
        self.assignment.check(stream)
    }

    /// Changes the periods; positions are expected to scale with the cell. It waits for the stream. The answer is whether operators were made
    /// anew, as a change of shape needs: graphs recorded before are then of no use.
    ///
    /// # Errors
    /// Periods that are not finite or not independent; another kind of boundary; [`FmmError::Strained`], because near boxes are those of the first shape; the device.
    #[inline(never)]
    pub fn set_boundary(&mut self, stream: &Stream, boundary: Boundary) -> Result<bool, FmmError> {
        self.boundary.check_next(&boundary)?;
        let host = self.host.follow(&boundary);
        let now = host.unit_basis();
        self.grid.near.check_strain(&now)?;
        let mut anew = false;
        if let (Some(shapes), Some(Far::Root(far))) = (&mut self.shapes, &self.far) {
            self.grid.basis = now;
            if shapes.root.follow(stream, far, &self.grid)? {
                shapes.reference = boundary;
            }
        } else if !self.grid.has_shape(&now) {
            self.grid.basis = now;
            if self.far.is_some() {
                self.far = Some(Far::new(&self.device, &self.settings, &host, &self.grid, self.n)?);
            }
            anew = true;
        }
        self.boxes.follow(stream, &host, &self.grid)?;
        self.assignment.set_shortest(self.shortest_vector(&host));
        (self.host, self.boundary) = (host, boundary);
        Ok(anew)
    }

    /// Lets boxes with right angles, in a tree without refinement, change their shape with the cell, so that [`set_boundary`](Self::set_boundary) never makes operators
    /// anew that graphs know, and prepares [`enqueue_images`](Self::enqueue_images). The shape of now is the reference. It waits for the stream: evaluations may come on
    /// another one.
    ///
    /// # Errors
    /// A tree that is refined; the device.
    #[inline(never)]
    pub fn follow_shapes(&mut self, stream: &Stream) -> Result<(), FmmError> {
        let Some(Far::Root(far)) = &self.far else {
            return Err(FmmError::RefinedVirial { depth: self.settings.tree.depth });
        };
        let root = RootShapes::new(&self.device, stream, far, &self.grid)?;
        self.shapes = Some(Shapes { root, images: Images::new(&self.device)?, reference: self.boundary });
        self.assignment.set_shortest(self.shortest_vector(&self.host));
        Ok(stream.synchronize()?)
    }

    /// The boundary whose shape is the reference of those that follow, if they do. Results depend on it by what a polynomial leaves out, so that a run that goes on to
    /// the last bit needs it.
    pub fn reference(&self) -> Option<Boundary> {
        self.shapes.as_ref().map(|shapes| shapes.reference)
    }

    /// Makes another shape the reference, and `boundary` the periods.
    ///
    /// # Errors
    /// As [`set_boundary`](Self::set_boundary).
    #[inline(never)]
    pub fn set_reference(&mut self, stream: &Stream, boundary: Boundary) -> Result<(), FmmError> {
        self.set_boundary(stream, boundary)?;
        if let (Some(shapes), Some(Far::Root(far))) = (&mut self.shapes, &self.far) {
            shapes.root.set_reference(stream, far, &self.grid)?;
            shapes.reference = boundary;
        }
        Ok(())
    }

    /// A length over the scale that no vector of the lattice is shorter than; of boxes that follow shapes, not in any that they reach before they are planned anew.
    fn shortest_vector(&self, host: &Geometry) -> f64 {
        let room = if self.shapes.is_some() { 0.8 } else { 1.0 };
        room * host.shortest / host.scale()
    }

    /// Number of particles.
    pub fn n_particles(&self) -> usize {
        self.n_particles
    }

    /// Number of those that lie in boxes: the members.
    pub fn n_members(&self) -> usize {
        self.n
    }

    /// Number of leaf boxes.
    pub fn n_leaves(&self) -> usize {
        self.boxes.n_leaves
    }

    /// Where the boxes lie, one structure. A barostat scales it in place; the shape must stay.
    pub fn geometry(&self) -> &Buffer<BoxGeometry> {
        &self.boxes.geometry
    }

    /// φ of each particle, k_e = 1.
    pub fn potential(&self) -> &Buffer<f64> {
        &self.potential
    }

    /// E of each particle (`[3N]`).
    pub fn field(&self) -> &Buffer<f64> {
        &self.field
    }

    /// x', y', z', q by sorted place, relative to the centre of the own box over the scale (four for each member).
    pub fn sorted(&self) -> &Buffer<T> {
        &self.sorted
    }

    /// Sorted place of each particle; `u32::MAX` of one that is no member.
    pub fn place(&self) -> &Buffer<u32> {
        &self.assignment.place
    }

    /// Leaf of each sorted place.
    pub fn leaf_of(&self) -> &Buffer<u32> {
        &self.assignment.leaf_of
    }

    /// First sorted place of each leaf, and the end.
    fn starts(&self) -> &Buffer<u32> {
        self.assignment.starts()
    }
}

/// What can be told of a boundary and of settings without particles.
fn check_settings(boundary: &Boundary, settings: &Settings) -> Result<(), FmmError> {
    settings.check(MAX_DEVICE_ROOT)?;
    boundary.check()?;
    let boxes = settings.tree.leaves().iter().product();
    if boxes > MAX_BOXES { Err(FmmError::DeviceBoxes { boxes, max: MAX_BOXES }) } else { Ok(()) }
}

/// C++ name of the number type.
fn real_name<T>() -> &'static str {
    if size_of::<T>() == 4 { "float" } else { "double" }
}
