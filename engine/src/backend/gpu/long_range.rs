//! The FMM of a resident system, in the precision of the job.

use super::setup::{ResidentError, Setup, Streams};
use crate::backend::fmm_settings::boundary;
use fmm::Exclusions;
use fmm::device::far::Step;
use fmm::device::{BoxGeometry, DeviceFmm};
use forcefield::Cell;
use forcefield::device::EnergyTerm;
use forcefield::units::COULOMB;
use kernels::device::{Buffer, Device, Launch, Stream};
use nalgebra::Vector3;

/// Pieces of [`LongRange::enqueue_fields`] and [`LongRange::enqueue_forces`], for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Coordinates in boxes.
    Gather,
    /// Near field.
    Near,
    /// Far field.
    Far,
    /// A kernel of it, in a tree without refinement.
    Step(Step),
    /// Sums and forces.
    Forces,
}

impl Part {
    /// All of them with their names in tables; kernels of a part stand below it, further to the right.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Gather, "coordinates in boxes"),
        (Self::Near, "near field"),
        (Self::Far, "far field"),
        (Self::Step(Step::Multipoles), "  P2M, along z"),
        (Self::Step(Step::Forward), "  along y, x"),
        (Self::Step(Step::Operators), "  operators"),
        (Self::Step(Step::Back), "  along x, y"),
        (Self::Step(Step::Potentials), "  along z, L2P"),
        (Self::Forces, "sum of the fields, forces"),
    ];
}

/// What a resident system asks of its electrostatics.
pub trait LongRange: Send {
    /// Sorts the atoms at `x` `[3N]` into boxes.
    ///
    /// # Errors
    /// Of the device.
    fn enqueue_assign(&self, stream: &Stream, x: &Buffer<f64>) -> Result<(), ResidentError>;

    /// Fields of charges `q` `[N]` at `x` `[3N]`. Begins on the main stream, where the far field is made; the near field is left on its own.
    ///
    /// # Errors
    /// Of the device.
    fn enqueue_fields(&self, streams: &Streams, x: &Buffer<f64>, q: &Buffer<f64>) -> Result<(), ResidentError>;

    /// Potentials from both fields, and their `forces` `[3N]` (fixed point, kJ/mol/nm), which are added.
    ///
    /// # Errors
    /// Of the device.
    fn enqueue_forces(&self, stream: &Stream, q: &Buffer<f64>, forces: &Buffer<i64>) -> Result<(), ResidentError>;

    /// One piece of these two.
    ///
    /// # Errors
    /// Of the device.
    fn enqueue_part(
        &self,
        part: Part,
        stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        forces: &Buffer<i64>,
    ) -> Result<(), ResidentError>;

    /// Whether there is such a part.
    fn has(&self, part: Part) -> bool;

    /// How many threads run each kernel that waits for the one before it ([`DeviceFmm::chain`]).
    fn chain(&self) -> Vec<Launch>;

    /// Adds to the slots of `energies` what Σ x_a F_a misses of the virial along each axis, after [`Self::enqueue_forces`] at the same `x` `[3N]` and `q` `[N]`.
    ///
    /// # Errors
    /// Of the device.
    fn enqueue_images(
        &self,
        stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        energies: &Buffer<i64>,
    ) -> Result<(), ResidentError>;

    /// The box whose shape is that about which operators are known, if they follow shapes.
    fn shape(&self) -> Option<Cell>;

    /// Makes the shape of another box that one.
    ///
    /// # Errors
    /// Edges that make no sense.
    fn set_shape(&mut self, stream: &Stream, cell: Cell) -> Result<(), ResidentError>;

    /// φ `[N]`, e/nm; 0 at atoms that never have a charge.
    fn potential(&self) -> &Buffer<f64>;

    /// Lengths of the boxes, which follow a barostat; none in open systems.
    fn geometry(&self) -> Option<&Buffer<BoxGeometry>>;

    /// Waits, and says what is wrong with the atoms.
    ///
    /// # Errors
    /// Positions that are not finite, excluded pairs too far apart.
    fn check(&self, stream: &Stream) -> Result<(), ResidentError>;

    /// Puts a periodic box.
    ///
    /// # Errors
    /// Edges that make no sense.
    fn set_cell(&mut self, stream: &Stream, cell: Cell) -> Result<(), ResidentError>;
}

struct Solver<T: kernels::Real + bytemuck::Pod> {
    fmm: DeviceFmm<T>,
    periodic: bool,
}

/// In the precision of `setup`.
///
/// # Errors
/// What the FMM refuses; out of memory.
pub fn new(device: &Device, setup: &Setup) -> Result<Box<dyn LongRange>, ResidentError> {
    Ok(match setup.lennard_jones.precision {
        forcefield::device::Precision::Single => Box::new(Solver::<f32>::new(device, setup)?),
        forcefield::device::Precision::Double => Box::new(Solver::<f64>::new(device, setup)?),
    })
}

impl<T: kernels::Real + bytemuck::Pod> Solver<T> {
    fn new(device: &Device, setup: &Setup) -> Result<Self, ResidentError> {
        let boundary = boundary(setup.cell);
        let exclusions = Exclusions::from_pairs(setup.masses.len(), setup.topology.exclusions.pairs())
            .expect("invariant: a topology's exclusions name two different atoms of the system");
        let start = bytemuck::cast_slice(setup.start);
        let mut fmm = DeviceFmm::of_members(device, boundary, setup.fmm, start, (&exclusions, setup.charged))?;
        if setup.coupling.axes.is_some() {
            fmm.follow_shapes(&device.stream()?)?;
        }
        Ok(Self { fmm, periodic: setup.cell.is_periodic() })
    }
}

impl<T: kernels::Real + bytemuck::Pod> LongRange for Solver<T> {
    fn enqueue_assign(&self, stream: &Stream, x: &Buffer<f64>) -> Result<(), ResidentError> {
        Ok(self.fmm.enqueue_assign(stream, x)?)
    }

    fn enqueue_fields(&self, streams: &Streams, x: &Buffer<f64>, q: &Buffer<f64>) -> Result<(), ResidentError> {
        let Streams { main, near, .. } = streams;
        self.fmm.enqueue_gather(main, x, q)?;
        near.wait_for(main)?;
        self.fmm.enqueue_far(main)?;
        Ok(self.fmm.enqueue_near(near)?)
    }

    fn enqueue_forces(&self, stream: &Stream, q: &Buffer<f64>, forces: &Buffer<i64>) -> Result<(), ResidentError> {
        Ok(self.fmm.enqueue_forces(stream, q, COULOMB, forces)?)
    }

    fn enqueue_part(
        &self,
        part: Part,
        stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        forces: &Buffer<i64>,
    ) -> Result<(), ResidentError> {
        match part {
            Part::Gather => self.fmm.enqueue_gather(stream, x, q)?,
            Part::Near => self.fmm.enqueue_near(stream)?,
            Part::Far => self.fmm.enqueue_far(stream)?,
            Part::Step(step) => self.fmm.enqueue_far_step(stream, step)?,
            Part::Forces => self.enqueue_forces(stream, q, forces)?,
        }
        Ok(())
    }

    fn has(&self, part: Part) -> bool {
        !matches!(part, Part::Step(_)) || self.fmm.root_field().is_some()
    }

    fn chain(&self) -> Vec<Launch> {
        self.fmm.chain()
    }

    fn enqueue_images(
        &self,
        stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        energies: &Buffer<i64>,
    ) -> Result<(), ResidentError> {
        Ok(self.fmm.enqueue_images(stream, (x, q), COULOMB, (energies, EnergyTerm::ImagesX as usize))?)
    }

    fn shape(&self) -> Option<Cell> {
        let reference = self.fmm.reference()?;
        let periods = reference.periods();
        Cell::rectangular(Vector3::from_fn(|axis, _| periods[axis][axis])).ok()
    }

    fn set_shape(&mut self, stream: &Stream, cell: Cell) -> Result<(), ResidentError> {
        Ok(self.fmm.set_reference(stream, boundary(cell))?)
    }

    fn potential(&self) -> &Buffer<f64> {
        self.fmm.potential()
    }

    fn geometry(&self) -> Option<&Buffer<BoxGeometry>> {
        self.periodic.then(|| self.fmm.geometry())
    }

    fn check(&self, stream: &Stream) -> Result<(), ResidentError> {
        Ok(self.fmm.check(stream)?)
    }

    fn set_cell(&mut self, stream: &Stream, cell: Cell) -> Result<(), ResidentError> {
        self.fmm.set_boundary(stream, boundary(cell))?;
        Ok(())
    }
}
