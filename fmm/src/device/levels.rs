//! Far field of a refined tree on a device: P2M → M2M → (root grid: convolution; refined levels: M2L) → L2L → L2P.
//!
//! The twin of `solver/evaluation.rs` on the CPU. M2M, M2L and L2L are products of matrices over lists made on the host once for a tree
//! (products.cuh), so that dense trees and trees of occupied boxes alike are done by one kernel; the root grid is the convolution with all
//! images ([`RootField`]). Boxes that hold no particles at the time are skipped, though they are in the lists. Coefficients of
//! a box are a row in the order in which the recurrences make them. Lengths of each level are in units of its own scale. Sums have a fixed
//! order.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

use super::far::{HARMONICS, RootField, fields, places};
use super::products::{BOXES, Lists, Occupied, Products, padded, row_length};
use super::real_name;
use crate::geometry::grid::BoxGrid;
use crate::geometry::tree::{Level, TreeShape, cousins, levels};
use crate::operators::harmonics::{count, irregular};
use crate::operators::m2l::matrix::{Domain, m2l};
use crate::operators::m2l::refined::offsets;
use crate::operators::m2m::m2m;

/// Threads for each leaf, and for each box above them: a warp.
const WARP: u32 = 32;

arguments! {
    /// Arguments of `leaf_multipoles`.
    struct LeafMultipoleArgs<'a, T: Real> {
        particles: In<'a, [T; 4]>,
        starts: In<'a, u32>,
        leaf_rows: In<'a, u32>,
        rows: Out<'a, T>,
        flags: Out<'a, u8>,
    }

    /// Arguments of `box_flags`.
    struct FlagArgs<'a> {
        ranges: In<'a, [u32; 2]>,
        leaves: In<'a, u8>,
        flags: Out<'a, u8>,
        n: i32,
    }

    /// Arguments of `leaf_potentials`.
    struct LeafPotentialArgs<'a, T: Real> {
        rows: In<'a, T>,
        gradient: In<'a, i32>,
        weights: In<'a, T>,
        particles: In<'a, [T; 4]>,
        starts: In<'a, u32>,
        leaf_rows: In<'a, u32>,
        out: Out<'a, [T; 4]>,
    }
}

/// The far field of one tree.
pub struct Levels<T: Real + Pod> {
    /// Multipoles and local expansions of each level, root first.
    multipoles: Vec<Buffer<T>>,
    locals: Vec<Buffer<T>>,
    /// M2M to, L2L from and M2L on each refined level.
    steps: Vec<[Products<T>; 3]>,
    /// Their operators.
    operators: [Buffer<T>; 3],
    root: RootField<T>,
    /// Kernels of the leaves, and bytes of shared memory of a block.
    p2m: (Kernel<LeafMultipoleArgs<'static, T>>, u32),
    l2p: (Kernel<LeafPotentialArgs<'static, T>>, u32),
    gradient: (Buffer<i32>, Buffer<T>),
    leaf_rows: Buffer<u32>,
    /// Leaves of each box above them, level by level, the kernel that looks for particles there, and whether there are any: boxes above
    /// the leaves, then leaves.
    ranges: Buffer<[u32; 2]>,
    find: Kernel<FlagArgs<'static>>,
    flags: Buffer<u8>,
    /// First flag of each level.
    first_flags: Vec<usize>,
}

impl<T: Real + Pod> Levels<T> {
    /// For the boxes of `tree` (root first, at least one refined), refined from `grid`. `leaf_rows`: place in the last level of each leaf, as
    /// leaves are numbered by those who sort the particles.
    ///
    /// # Errors
    /// The device; a root grid too large for it.
    pub fn new(
        device: &Device,
        grid: &BoxGrid,
        order: usize,
        (tree, leaf_rows): (&[Level], &[u32]),
    ) -> Result<Self, DeviceError> {
        let (k, row, places) = (count(order), row_length(order), places(order));
        let set = offsets(grid);
        let across = |i: usize| {
            let vector = grid.vector(set.offsets()[i].map(|u| -f64::from(u)));
            m2l(order, &irregular(2 * order, vector), Domain::Space)
        };
        let up = |octant: usize| {
            let side = [octant >> 2 & 1, octant >> 1 & 1, octant & 1];
            m2m(order, grid.vector(side.map(|s| 0.5 * s as f64 - 0.25)))
        };
        let down = |octant: usize| -> Vec<f64> {
            let up = up(octant);
            (0..k * k).map(|i| 0.5 * up[i % k * k + i / k]).collect()
        };
        let products = |lists: Lists| Products::new(device, order, &lists);
        let mut steps = Vec::new();
        for pair in tree.windows(2) {
            let (parents, level) = (&pair[0], &pair[1]);
            let octants = by_octant(level);
            let all: Vec<u32> = (0..parents.len() as u32).collect();
            let children = Lists::new(BOXES, &[all], |parent, list| {
                list.extend(parents.children(parent as usize).map(|c| (level.octant(c) as u32, c as u32)));
            });
            let parent = Lists::new(BOXES, &octants, |child, list| {
                list.push((level.octant(child as usize) as u32, level.parents[child as usize]));
            });
            let far = Lists::new(BOXES, &octants, |target, list| {
                cousins(parents, level, &grid.near, target as usize, |source, u| {
                    list.extend(set.slot(u).map(|slot| (slot as u32, source)));
                });
            });
            steps.push([products(children)?, products(parent)?, products(far)?]);
        }
        let module = device.compile(&source::<T>(order))?;
        let (sources, weights) = fields::<T>(order);
        let rows = || tree.iter().map(|level| device.zeros(level.len() * row)).collect::<Result<Vec<_>, _>>();
        let element = size_of::<T>();
        let ranges = leaf_ranges(tree);
        let mut first_flags = vec![0];
        for level in tree {
            first_flags.push(first_flags[first_flags.len() - 1] + level.len());
        }
        Ok(Self {
            multipoles: rows()?,
            locals: rows()?,
            steps,
            operators: [
                device.upload(&padded(8, &places, &up))?,
                device.upload(&padded(8, &places, &down))?,
                device.upload(&padded(set.offsets().len(), &places, &across))?,
            ],
            root: RootField::new(device, grid, order)?,
            p2m: (module.kernel("leaf_multipoles")?, ((33 * k + row) * element) as u32),
            l2p: (module.kernel("leaf_potentials")?, (4 * k * element) as u32),
            gradient: (device.upload(&sources)?, device.upload(&weights)?),
            leaf_rows: device.upload(leaf_rows)?,
            find: module.kernel("box_flags")?,
            flags: device.zeros(ranges.len() + leaf_rows.len())?,
            ranges: device.upload(&ranges)?,
            first_flags,
        })
    }

    /// For all boxes of a tree, empty ones too, with leaves numbered as in the grid of leaves, z fastest.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn dense(device: &Device, grid: &BoxGrid, order: usize, shape: TreeShape) -> Result<Self, DeviceError> {
        let keys: Vec<u64> = (0..(grid.topology.len() as u64) << (3 * shape.depth)).collect();
        let tree = levels(grid.topology, shape, Some(&grid.near), &keys);
        let leaves = &tree[shape.depth];
        let mut leaf_rows = vec![0; leaves.len()];
        for (row, c) in (0..).zip(&leaves.coordinates) {
            leaf_rows[leaves.topology.index(c.map(|c| c as usize))] = row;
        }
        Self::new(device, grid, order, (&tree, &leaf_rows))
    }

    /// `out` (φ', E'x, E'y, E'z by place) made from `sorted` (x', y', z', q by place) and `starts`, the first place of each leaf and the end.
    pub fn enqueue(
        &self,
        stream: &Stream,
        sorted: &Buffer<T>,
        starts: &Buffer<u32>,
        out: &Buffer<T>,
    ) -> Result<(), DeviceError> {
        let Self { multipoles, locals, leaf_rows, .. } = self;
        let (depth, leaves) = (self.steps.len(), leaf_rows.len() as u32);
        let [up, down, across] = &self.operators;
        let flags = |d: usize| In::from_element(&self.flags, self.first_flags[d]);
        let boxes =
            |wanted: usize, filled: usize| Occupied { wanted: Some(flags(wanted)), filled: Some(flags(filled)) };
        let (kernel, shared) = &self.p2m;
        let leaf_multipoles = LeafMultipoleArgs {
            particles: sorted.arg(),
            starts: starts.arg(),
            leaf_rows: leaf_rows.arg(),
            rows: multipoles[depth].arg(),
            flags: Out::from_element(&self.flags, self.first_flags[depth]),
        };
        stream.launch(kernel, Launch::new(leaves, WARP).with_shared(*shared), leaf_multipoles)?;
        let above = self.ranges.len();
        let find =
            FlagArgs { ranges: self.ranges.arg(), leaves: flags(depth), flags: self.flags.arg(), n: above as i32 };
        stream.launch(&self.find, Launch::for_each(WARP as usize * above, 4 * WARP), find)?;
        for d in (1..=depth).rev() {
            // The convolution reads all boxes of the root grid.
            let occupied = Occupied { wanted: (d > 1).then(|| flags(d - 1)), filled: Some(flags(d)) };
            self.steps[d - 1][0].enqueue(stream, up, &multipoles[d], &multipoles[d - 1], (occupied, false))?;
        }
        self.root.enqueue(stream, &multipoles[0], &locals[0])?;
        for d in 1..=depth {
            self.steps[d - 1][1].enqueue(stream, down, &locals[d - 1], &locals[d], (boxes(d, d - 1), false))?;
            self.steps[d - 1][2].enqueue(stream, across, &multipoles[d], &locals[d], (boxes(d, d), true))?;
        }
        let (kernel, shared) = &self.l2p;
        let leaf_potentials = LeafPotentialArgs {
            rows: locals[depth].arg(),
            gradient: self.gradient.0.arg(),
            weights: self.gradient.1.arg(),
            particles: sorted.arg(),
            starts: starts.arg(),
            leaf_rows: leaf_rows.arg(),
            out: out.arg(),
        };
        stream.launch(kernel, Launch::new(leaves, WARP).with_shared(*shared), leaf_potentials)
    }
}

/// Leaves, by place in the last level, of each box above them, level by level.
fn leaf_ranges(tree: &[Level]) -> Vec<[u32; 2]> {
    let Some((leaves, above)) = tree.split_last() else { return Vec::new() };
    let mut below: Vec<[u32; 2]> = (0..leaves.len() as u32).map(|i| [i, i + 1]).collect();
    let mut out: Vec<Vec<[u32; 2]>> = Vec::new();
    for level in above.iter().rev() {
        let mut end = 0;
        let range = |i: usize| {
            let start = end;
            end = level.children(i).last().map_or(end, |child| below[child][1]);
            [start, end]
        };
        below = (0..level.len()).map(range).collect();
        out.push(below.clone());
    }
    out.into_iter().rev().flatten().collect()
}

/// Boxes of a level by octant.
fn by_octant(level: &Level) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); 8];
    (0..level.len()).for_each(|i| out[level.octant(i)].push(i as u32));
    out
}

/// P2M and L2P of the leaves.
pub(super) fn source<T: Real>(order: usize) -> Source {
    Source::new("levels", include_str!("levels.cu"))
        .header(HARMONICS)
        .define("REAL", real_name::<T>())
        .define("ORDER", order)
        .define("ROW", row_length(order))
        .kernel::<LeafMultipoleArgs<'static, T>>("leaf_multipoles")
        .kernel::<FlagArgs<'static>>("box_flags")
        .kernel::<LeafPotentialArgs<'static, T>>("leaf_potentials")
}

#[cfg(test)]
mod tests;
