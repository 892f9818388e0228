//! How the work of groups is cut into blocks, and what their kernels take: the sizes, arguments and source of `groups.cu`.

use kernels::Real;
use kernels::device::{In, Out, Source, arguments};

use crate::device::BoxGeometry;
use crate::device::group_tables::GroupCells;
use crate::operators::harmonics::count;

arguments! {
    /// Arguments of `group_boxes`.
    pub(super) struct GroupBoxArgs<'a> {
        cells: GroupCells,
        starts: In<'a, u32>,
        members: In<'a, u32>,
        place: In<'a, u32>,
        leaf_of: In<'a, u32>,
        scratch: Out<'a, u32>,
        slots: Out<'a, u32>,
        places: Out<'a, u32>,
        box_of: Out<'a, u32>,
        boxes: Out<'a, u32>,
        box_starts: Out<'a, u32>,
        n_boxes: Out<'a, u32>,
    }

    /// Arguments of `group_multipoles`.
    pub(super) struct GroupMultipoleArgs<'a, T: Real> {
        starts: In<'a, u32>,
        group_of: In<'a, u32>,
        slots: In<'a, u32>,
        places: In<'a, u32>,
        box_starts: In<'a, u32>,
        n_boxes: In<'a, u32>,
        vectors: In<'a, u32>,
        values: In<'a, u32>,
        charges: In<'a, f64>,
        sorted: In<'a, [T; 4]>,
        multipoles: Out<'a, T> as Row,
        n_members: i32,
    }

    /// Arguments of `group_fields`.
    pub(super) struct GroupFieldArgs<'a, T: Real> {
        cells: GroupCells,
        geometry: In<'a, BoxGeometry>,
        starts: In<'a, u32>,
        slots: In<'a, u32>,
        places: In<'a, u32>,
        box_of: In<'a, u32>,
        boxes: In<'a, u32>,
        box_starts: In<'a, u32>,
        n_boxes: In<'a, u32>,
        vectors: In<'a, u32>,
        values: In<'a, u32>,
        charges: In<'a, f64>,
        mask_starts: In<'a, u32>,
        masks: In<'a, u32>,
        near: In<'a, u8>,
        offsets: In<'a, i32>,
        orders: In<'a, u32>,
        operators: In<'a, [T; 2]>,
        sorted: In<'a, [T; 4]>,
        multipoles: In<'a, T> as Row,
        potential: Out<'a, f64>,
        field: Out<'a, f64>,
    }
}

/// Threads of a block that serves several boxes.
const THREADS: usize = 256;

/// Shared memory of a block, bytes: what every GPU gives without being asked.
const SHARED_MEMORY: usize = 48 * 1024;

/// How the work of a group is dealt out to threads; results differ by rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupShape {
    /// Boxes that a block serves at once.
    pub targets: usize,
    /// Boxes that act on each of them at once.
    pub split: usize,
    /// Blocks that a multiprocessor should hold.
    pub blocks: usize,
}

impl GroupShape {
    /// Many groups: a block for each. Few: a block for each of their boxes, which takes the others side by side.
    #[must_use]
    pub fn new<T>(order: usize, n_groups: usize, multiprocessors: usize) -> Self {
        let slots = (THREADS / half(order)).max(1);
        let blocks = if size_of::<T>() == 4 { 3 } else { 1 };
        if n_groups < 2 * multiprocessors {
            return Self { targets: 1, split: slots, blocks };
        }
        Self { targets: slots, split: 1, blocks }
    }
}

/// Coefficients of an expansion with m ≥ 0.
pub(super) fn half(order: usize) -> usize {
    (order + 1) * (order + 2) / 2
}

/// Sizes that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub order: usize,
    pub vectors: usize,
    pub shape: GroupShape,
    pub threads: usize,
    /// Numbers of one multipole of all vectors, padded as in the kernel.
    pub row: usize,
    /// Bytes of shared memory.
    pub shared: usize,
}

impl Sizes {
    pub fn new<T>(order: usize, vectors: usize, mut shape: GroupShape) -> Self {
        let real2 = 2 * size_of::<T>();
        let row = (real2 * vectors).next_multiple_of(16.min(real2 * vectors.next_power_of_two()));
        let per_slot = (count(2 * order) + vectors * half(order)) * real2;
        let bytes = |s: &GroupShape| s.split * half(order) * row + s.targets * s.split * per_slot;
        while bytes(&shape) > SHARED_MEMORY && shape.targets * shape.split > 1 {
            if shape.targets > 1 { shape.targets -= 1 } else { shape.split -= 1 }
        }
        let threads = (shape.targets * shape.split * half(order)).next_multiple_of(32).max(64);
        Self { order, vectors, shape, threads, row: row / size_of::<T>(), shared: bytes(&shape) }
    }

    pub fn source<T: Real>(&self) -> Source {
        Source::new("groups", include_str!("../groups.cu"))
            .define("REAL", precision::<T>())
            .define("ORDER", self.order)
            .define("VECTORS", self.vectors)
            .define("TARGETS", self.shape.targets)
            .define("SPLIT", self.shape.split)
            .define("THREADS", self.threads)
            .define("BLOCKS", self.shape.blocks)
            .kernel::<GroupBoxArgs<'static>>("group_boxes")
            .kernel::<GroupMultipoleArgs<'static, T>>("group_multipoles")
            .kernel::<GroupFieldArgs<'static, T>>("group_fields")
    }
}

/// Name of the number type in kernels.
pub(super) fn precision<T>() -> &'static str {
    if size_of::<T>() == 4 { "float" } else { "double" }
}

/// Kernels for an order and a number of charge vectors, of few groups.
#[cfg(test)]
pub(in crate::device) fn source<T: Real>(order: usize, vectors: usize) -> Source {
    Sizes::new::<T>(order, vectors, GroupShape::new::<T>(order, 1, 1)).source::<T>()
}
