//! What small groups of particles do to themselves, all groups at once on a device: the twin of [`Fmm::evaluate_groups`](crate::Fmm) on the
//! root grid.
//!
//! Boxes, lattice sums, near pairs and the trace term are those of the whole evaluation, so that the error of the expansions is the same to
//! rounding and what is left of the whole after a group's own part is taken away holds nothing of the group. Box pairs are few: each is
//! translated by itself, with the lattice sums of its offset ([`OffsetTable`]). One launch makes the multipoles, one potentials and fields.
//! Near pairs and sums are in double precision.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, Kernel, Launch, Stream};
use thiserror::Error;

use super::group_tables::{GroupCells, GroupCharges, Tables, cells, irregular_sums, sums};
use super::{BoxGeometry, DeviceFmm};
use crate::error::FmmError;
use crate::geometry::assignment::Geometry;
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::{BoxGrid, NearSet};
use crate::operators::lattice::offsets::OffsetTable;
use crate::solver::settings::Settings;
use shape::{GroupBoxArgs, GroupFieldArgs, GroupMultipoleArgs, Sizes, half, precision};

pub use shape::GroupShape;
#[cfg(test)]
pub(super) use shape::source;

mod shape;

/// Why groups cannot be set up.
#[derive(Debug, Error)]
pub enum GroupsError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Settings or cell that the method refuses.
    #[error(transparent)]
    Fmm(#[from] FmmError),
    /// A particle that does not exist, or one named twice.
    #[error("group {group}: particle {particle} occurs twice, or there are only {n} particles")]
    Particle {
        /// Group, from 0.
        group: usize,
        /// Particle, from 0.
        particle: u32,
        /// Number of particles.
        n: usize,
    },
    /// A charge vector of another length.
    #[error("group {group}: a charge vector of {found} charges for {expected} particles")]
    Charges {
        /// Group, from 0.
        group: usize,
        /// Particles of the group.
        expected: usize,
        /// Charges given.
        found: usize,
    },
    /// Lattice sums beyond the range of the number type.
    #[error("order {order} is too high for {precision}")]
    Order {
        /// Order of the expansions.
        order: usize,
        /// Name of the number type.
        precision: &'static str,
    },
    /// Refined trees.
    #[error("groups on a device need a tree without refinement, not of depth {depth}")]
    Depth {
        /// Refinements.
        depth: usize,
    },
}

/// Groups of one system on a device, in precision `T` of the expansions.
pub struct DeviceGroups<T: Real> {
    sizes: Sizes,
    n_groups: usize,
    n_members: usize,
    /// Blocks for each group.
    rounds: u32,
    cells: GroupCells,
    boxes_kernel: Kernel<GroupBoxArgs<'static>>,
    multipoles_kernel: Kernel<GroupMultipoleArgs<'static, T>>,
    fields_kernel: Kernel<GroupFieldArgs<'static, T>>,
    value_starts: Vec<usize>,
    tables: Tables<T>,
    frozen: Frozen,
    multipoles: Buffer<T>,
    potential: Buffer<f64>,
    field: Buffer<f64>,
}

/// What an assignment gives: members by ascending place, and their boxes.
struct Frozen {
    scratch: Buffer<u32>,
    slots: Buffer<u32>,
    places: Buffer<u32>,
    box_of: Buffer<u32>,
    boxes: Buffer<u32>,
    box_starts: Buffer<u32>,
    n_boxes: Buffer<u32>,
}

impl<T: Real + Pod> DeviceGroups<T> {
    /// For the cell and settings of a solver; makes the lattice sums of all offsets of the grid. `shape`: none for the usual one.
    ///
    /// # Errors
    /// [`GroupsError`].
    #[inline(never)]
    pub fn new(
        device: &Device,
        boundary: &Boundary,
        settings: &Settings,
        groups: &[GroupCharges],
        exclusions: &Exclusions,
        shape: Option<GroupShape>,
    ) -> Result<Self, GroupsError> {
        if settings.tree.depth > 0 {
            return Err(GroupsError::Depth { depth: settings.tree.depth });
        }
        boundary.check()?;
        let geometry = Geometry::new(boundary, settings.tree, &[]);
        let basis = geometry.unit_basis();
        let near = NearSet::checked(&basis, settings.separation)?;
        let grid = BoxGrid { topology: geometry.root(), basis, near };
        Self::on_grid(device, (&grid, settings.order), groups, exclusions, shape)
    }

    /// For the boxes of a solver on a device. After each of its assignments comes [`enqueue_assign`](Self::enqueue_assign) with its `place`
    /// and `leaf_of`, in each step [`enqueue`](Self::enqueue) with its `geometry` and `sorted`, once these have been gathered.
    ///
    /// # Errors
    /// [`GroupsError`].
    #[inline(never)]
    pub fn of(
        fmm: &DeviceFmm<T>,
        groups: &[GroupCharges],
        exclusions: &Exclusions,
        shape: Option<GroupShape>,
    ) -> Result<Self, GroupsError> {
        Self::on_grid(&fmm.device, (&fmm.grid, fmm.settings.order), groups, exclusions, shape)
    }

    /// For a grid of boxes and an order.
    ///
    /// # Errors
    /// [`GroupsError`].
    #[inline(never)]
    pub(crate) fn on_grid(
        device: &Device,
        (grid, order): (&BoxGrid, usize),
        groups: &[GroupCharges],
        exclusions: &Exclusions,
        shape: Option<GroupShape>,
    ) -> Result<Self, GroupsError> {
        check(groups, exclusions.n_particles())?;
        let vectors = groups.iter().map(|g| g.charges.len()).max().unwrap_or(0).max(1);
        let shape = shape.unwrap_or(GroupShape::new::<T>(order, groups.len(), device.multiprocessors() as usize));
        let sizes = Sizes::new::<T>(order, vectors, shape);
        let module = device.compile(&sizes.source::<T>())?;
        let table = OffsetTable::new(grid, 2 * order);
        let operators: Vec<T> = irregular_sums(&table);
        if operators.iter().any(|v| !v.is_finite()) {
            return Err(GroupsError::Order { order, precision: precision::<T>() });
        }
        let starts = sums(groups.iter().map(|g| g.members.len()));
        let value_starts = sums(groups.iter().map(|g| g.members.len() * g.charges.len()));
        let firsts = [&starts[..], &value_starts];
        let tables = Tables::new(device, grid, firsts, groups, exclusions, (2 * order, &operators))?;
        let (n_groups, n_members) = (groups.len(), tables.members.len());
        let largest = groups.iter().map(|g| g.members.len()).max().unwrap_or(0);
        let total = value_starts.last().copied().unwrap_or(0);
        let members = || device.zeros::<u32>(n_members);
        Ok(Self {
            sizes,
            n_groups,
            n_members,
            rounds: largest.div_ceil(2 * sizes.shape.targets).max(1) as u32,
            cells: cells(grid, &table),
            boxes_kernel: module.kernel("group_boxes")?,
            multipoles_kernel: module.kernel("group_multipoles")?,
            fields_kernel: module.kernel("group_fields")?,
            value_starts,
            tables,
            frozen: Frozen {
                scratch: members()?,
                slots: members()?,
                places: members()?,
                box_of: members()?,
                boxes: members()?,
                box_starts: device.zeros(n_members + n_groups)?,
                n_boxes: device.zeros(n_groups)?,
            },
            multipoles: device.zeros(n_members * half(order) * sizes.row)?,
            potential: device.zeros(total)?,
            field: device.zeros(3 * total)?,
        })
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.n_groups
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n_groups == 0
    }

    /// First value of each group, and the end: vector v of member k of group g is at `value_starts()[g]` + v · members + k, of fields three
    /// times that.
    pub fn value_starts(&self) -> &[usize] {
        &self.value_starts
    }

    /// Potentials of the last evaluation.
    pub fn potential(&self) -> &Buffer<f64> {
        &self.potential
    }

    /// Fields of the last evaluation.
    pub fn field(&self) -> &Buffer<f64> {
        &self.field
    }

    /// Finds the boxes of the groups after particles have been assigned: sorted place of each particle, leaf of each place.
    #[inline(never)]
    pub fn enqueue_assign(
        &self,
        stream: &Stream,
        place: &Buffer<u32>,
        leaf_of: &Buffer<u32>,
    ) -> Result<(), DeviceError> {
        let (t, f) = (&self.tables, &self.frozen);
        let arguments = GroupBoxArgs {
            cells: self.cells,
            starts: t.starts.arg(),
            members: t.members.arg(),
            place: place.arg(),
            leaf_of: leaf_of.arg(),
            scratch: f.scratch.arg(),
            slots: f.slots.arg(),
            places: f.places.arg(),
            box_of: f.box_of.arg(),
            boxes: f.boxes.arg(),
            box_starts: f.box_starts.arg(),
            n_boxes: f.n_boxes.arg(),
        };
        stream.launch(&self.boxes_kernel, Launch::new(self.n_groups as u32, 128), arguments)
    }

    /// Potentials and fields of all groups and vectors. `geometry`: where the boxes lie;
    /// `sorted`: x, y, z relative to the centre of the own box over the scale, and one more number, by sorted place.
    #[inline(never)]
    pub fn enqueue(
        &self,
        stream: &Stream,
        geometry: &Buffer<BoxGeometry>,
        sorted: &Buffer<T>,
    ) -> Result<(), DeviceError> {
        let (t, f) = (&self.tables, &self.frozen);
        let items = self.n_members * (self.sizes.order + 1);
        let multipoles = GroupMultipoleArgs {
            starts: t.starts.arg(),
            group_of: t.group_of.arg(),
            slots: f.slots.arg(),
            places: f.places.arg(),
            box_starts: f.box_starts.arg(),
            n_boxes: f.n_boxes.arg(),
            vectors: t.vectors.arg(),
            values: t.values.arg(),
            charges: t.charges.arg(),
            sorted: sorted.arg(),
            multipoles: self.multipoles.arg(),
            n_members: self.n_members as i32,
        };
        stream.launch(&self.multipoles_kernel, Launch::for_each(items, 128), multipoles)?;
        let fields = GroupFieldArgs {
            cells: self.cells,
            geometry: geometry.arg(),
            starts: t.starts.arg(),
            slots: f.slots.arg(),
            places: f.places.arg(),
            box_of: f.box_of.arg(),
            boxes: f.boxes.arg(),
            box_starts: f.box_starts.arg(),
            n_boxes: f.n_boxes.arg(),
            vectors: t.vectors.arg(),
            values: t.values.arg(),
            charges: t.charges.arg(),
            mask_starts: t.mask_starts.arg(),
            masks: t.masks.arg(),
            near: t.near.arg(),
            offsets: t.offsets.arg(),
            orders: t.orders.arg(),
            operators: t.operators.arg(),
            sorted: sorted.arg(),
            multipoles: self.multipoles.arg(),
            potential: self.potential.arg(),
            field: self.field.arg(),
        };
        let blocks = [self.n_groups as u32, self.rounds, 1];
        let launch = Launch::new(blocks, self.sizes.threads as u32).with_shared(self.sizes.shared as u32);
        stream.launch(&self.fields_kernel, launch, fields)
    }
}

fn check(groups: &[GroupCharges], n: usize) -> Result<(), GroupsError> {
    for (group, g) in groups.iter().enumerate() {
        let mut members = g.members.clone();
        members.sort_unstable();
        let twice = members.windows(2).find(|w| w[0] == w[1]).map(|w| w[0]);
        if let Some(particle) = twice.or(members.last().copied().filter(|p| *p as usize >= n)) {
            return Err(GroupsError::Particle { group, particle, n });
        }
        let expected = g.members.len();
        if let Some(q) = g.charges.iter().find(|q| q.len() != expected) {
            return Err(GroupsError::Charges { group, expected, found: q.len() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
