//! The FMM of a resident system, in the precision of the job.

use super::setup::{ResidentError, Setup, Streams};
use crate::backend::fmm_settings::boundary;
use crate::config::Interpolation;
use fmm::Exclusions;
use fmm::device::{BoxGeometry, DeviceFmm, DeviceGroups, GroupCharges};
use forcefield::Cell;
use forcefield::units::COULOMB;
use kernels::device::{Buffer, Device, Stream};

/// Pieces of [`LongRange::enqueue_forces`], for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Coordinates in boxes.
    Gather,
    /// Near field.
    Near,
    /// Far field.
    Far,
    /// What sites do to themselves.
    Groups,
    /// Sums and forces.
    Forces,
}

impl Part {
    /// All of them with their names in tables.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Gather, "coordinates in boxes"),
        (Self::Near, "near field"),
        (Self::Far, "far field"),
        (Self::Groups, "sites among themselves"),
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

    /// Potentials of charges `q` `[N]` at `x` `[3N]`, and their `forces` `[3N]` (fixed point, kJ/mol/nm), which are added. Begins and ends on the
    /// main stream.
    ///
    /// # Errors
    /// Of the device.
    fn enqueue_forces(
        &self,
        streams: &Streams,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        forces: &Buffer<i64>,
    ) -> Result<(), ResidentError>;

    /// One piece of [`enqueue_forces`](Self::enqueue_forces).
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

    /// What the forms of every site make on its own atoms; none without sites or with charge interpolation; the buffer, which is the last site, has charge interpolation.
    fn own(&self) -> Option<[&Buffer<f64>; 2]>;

    /// φ `[N]`, e/nm.
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
    groups: Option<DeviceGroups<T>>,
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
        let fmm = DeviceFmm::new(device, boundary, setup.fmm, start, &exclusions)?;
        let group = |site: &lambda::Site| GroupCharges {
            members: site.atoms.clone(),
            charges: site.forms.iter().map(|form| form.charges.clone()).collect(),
        };
        let groups = match setup.sites {
            Some(sites) if setup.interpolation == Interpolation::Hamiltonian => {
                let groups: Vec<GroupCharges> =
                    sites.sites.iter().filter(|site| !site.is_buffer()).map(group).collect();
                let some = !groups.is_empty();
                some.then(|| DeviceGroups::new(device, &boundary, &setup.fmm, &groups, &exclusions, None))
                    .transpose()?
            }
            _ => None,
        };
        Ok(Self { fmm, groups, periodic: setup.cell.is_periodic() })
    }
}

impl<T: kernels::Real + bytemuck::Pod> LongRange for Solver<T> {
    fn enqueue_assign(&self, stream: &Stream, x: &Buffer<f64>) -> Result<(), ResidentError> {
        self.fmm.enqueue_assign(stream, x)?;
        if let Some(groups) = &self.groups {
            groups.enqueue_assign(stream, self.fmm.place(), self.fmm.leaf_of())?;
        }
        Ok(())
    }

    fn enqueue_forces(
        &self,
        streams: &Streams,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        forces: &Buffer<i64>,
    ) -> Result<(), ResidentError> {
        let Streams { main, far, sites, .. } = streams;
        self.fmm.enqueue_gather(main, x, q)?;
        far.wait_for(main)?;
        self.fmm.enqueue_far(far)?;
        if let Some(groups) = &self.groups {
            sites.wait_for(main)?;
            groups.enqueue(sites, self.fmm.geometry(), self.fmm.sorted())?;
        }
        self.fmm.enqueue_near(main)?;
        main.wait_for(far)?;
        self.fmm.enqueue_forces(main, q, COULOMB, forces)?;
        if self.groups.is_some() {
            main.wait_for(sites)?;
        }
        Ok(())
    }

    fn enqueue_part(
        &self,
        part: Part,
        stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        forces: &Buffer<i64>,
    ) -> Result<(), ResidentError> {
        match (part, &self.groups) {
            (Part::Gather, _) => self.fmm.enqueue_gather(stream, x, q)?,
            (Part::Near, _) => self.fmm.enqueue_near(stream)?,
            (Part::Far, _) => self.fmm.enqueue_far(stream)?,
            (Part::Groups, Some(groups)) => groups.enqueue(stream, self.fmm.geometry(), self.fmm.sorted())?,
            (Part::Groups, None) => (),
            (Part::Forces, _) => self.fmm.enqueue_forces(stream, q, COULOMB, forces)?,
        }
        Ok(())
    }

    fn own(&self) -> Option<[&Buffer<f64>; 2]> {
        self.groups.as_ref().map(|groups| [groups.potential(), groups.field()])
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
