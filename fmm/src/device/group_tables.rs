//! What the kernels of the groups read and never changes.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, structure};
use rayon::prelude::*;

use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::{BoxGrid, NearSet};
use crate::operators::harmonics::{count, index, sqrt_factorials};
use crate::operators::lattice::offsets::OffsetTable;

/// A group and its charges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupCharges {
    /// Its particles, each once.
    pub members: Vec<u32>,
    /// Charges of the members, one list for each vector.
    pub charges: Vec<Vec<f64>>,
}

structure! {
    /// The boxes of the groups, and which offsets are kept.
    pub struct GroupCells {
        /// Boxes along each axis.
        pub shape: [i32; 3],
        /// 1 for each axis that repeats, else 0.
        pub periodic: [i32; 3],
        /// Vectors of the cell in boxes, one in each row.
        pub lattice: [[i32; 3]; 3],
        /// Offsets kept per axis.
        pub table: [i32; 3],
        /// Extent of the mask of near offsets.
        pub reach: [i32; 3],
        /// 1 if one octant of the offsets is kept, else 0.
        pub mirror: i32,
        /// 1 if a box may be near in more than one image, else 0.
        pub several: i32,
        /// Number of near offsets.
        pub n_near: i32,
    }
}

/// What never changes.
pub struct Tables<T> {
    /// First member of each group, and the end.
    pub starts: Buffer<u32>,
    /// The members, particle by particle.
    pub members: Buffer<u32>,
    /// Group of each member.
    pub group_of: Buffer<u32>,
    /// Charge vectors of each group.
    pub vectors: Buffer<u32>,
    /// First value of each group in lists of one value for each vector and member.
    pub values: Buffer<u32>,
    /// Charges, laid out as values.
    pub charges: Buffer<f64>,
    /// First word of each group in `masks`.
    pub mask_starts: Buffer<u32>,
    /// For each member a bit for each other one that it is excluded from, in words of 32.
    pub masks: Buffer<u32>,
    /// Whether each offset within reach is near, axis 2 fastest.
    pub near: Buffer<u8>,
    /// The near offsets.
    pub offsets: Buffer<i32>,
    /// L | M << 8 of each lattice sum of an offset.
    pub orders: Buffer<u32>,
    /// Lattice sums of all offsets.
    pub operators: Buffer<T>,
}

/// The sums of the plain complex harmonics I_LM, M ≥ 0, of all offsets: re, im at L(L+1)/2 + M.
pub fn irregular_sums<T: Real>(table: &OffsetTable) -> Vec<T> {
    let order = table.order;
    let root = sqrt_factorials(2 * order);
    let pairs: Vec<(usize, usize, f64)> = (0..=order)
        .flat_map(|l| (0..=l).map(move |m| (l, m)))
        .map(|(l, m)| {
            let norm = root[l - m] * root[l + m];
            (l, m, if m == 0 { norm } else { norm * std::f64::consts::FRAC_1_SQRT_2 })
        })
        .collect();
    let row = |values: &[f64]| -> Vec<T> {
        let complex = |&(l, m, norm): &(usize, usize, f64)| {
            let im = if m == 0 { 0.0 } else { values[index(l, -(m as isize))] * norm };
            [T::of(values[index(l, m as isize)] * norm), T::of(im)]
        };
        pairs.iter().flat_map(complex).collect()
    };
    table.values.par_chunks(count(order)).flat_map_iter(row).collect()
}

/// Boxes of a grid, for offsets of this table.
pub fn cells(grid: &BoxGrid, table: &OffsetTable) -> GroupCells {
    let topology = &grid.topology;
    let reach = reach(&grid.near);
    let several = (0..3).any(|a| topology.periodic[a] && 2 * reach[a] + 1 > topology.shape[a] as i32);
    GroupCells {
        shape: topology.shape.map(|n| n as i32),
        periodic: topology.periodic.map(i32::from),
        lattice: topology.lattice(),
        table: table.shape.map(|n| n as i32),
        reach,
        mirror: i32::from(grid.is_mirror_symmetric()),
        several: i32::from(several),
        n_near: grid.near.offsets().len() as i32,
    }
}

fn reach(near: &NearSet) -> [i32; 3] {
    [0, 1, 2].map(|a| near.offsets().iter().map(|u| u[a].abs()).max().unwrap_or(0))
}

impl<T: Real + Pod> Tables<T> {
    /// Uploads them; `starts`: first member and first value of each group, and the ends.
    pub fn new(
        device: &Device,
        grid: &BoxGrid,
        [starts, value_starts]: [&[usize]; 2],
        groups: &[GroupCharges],
        exclusions: &Exclusions,
        (order, operators): (usize, &[T]),
    ) -> Result<Self, DeviceError> {
        let narrow = |v: &[usize]| -> Vec<u32> { v.iter().map(|n| *n as u32).collect() };
        let mask_starts = sums(groups.iter().map(|g| g.members.len() * g.members.len().div_ceil(32)));
        let group_of: Vec<u32> = groups
            .iter()
            .enumerate()
            .flat_map(|(g, group)| std::iter::repeat_n(g as u32, group.members.len()))
            .collect();
        let masks: Vec<u32> = groups.par_iter().flat_map_iter(|g| excluded(&g.members, exclusions)).collect();
        let members: Vec<u32> = groups.iter().flat_map(|g| &g.members).copied().collect();
        let charges: Vec<f64> = groups.iter().flat_map(|g| g.charges.iter().flatten()).copied().collect();
        let [a, b, c] = reach(&grid.near);
        let all = (-a..=a).flat_map(|x| (-b..=b).flat_map(move |y| (-c..=c).map(move |z| [x, y, z])));
        let near: Vec<u8> = all.map(|u| u8::from(grid.near.contains(u))).collect();
        let orders: Vec<u32> = (0..=order as u32).flat_map(|l| (0..=l).map(move |m| l | m << 8)).collect();
        let vectors: Vec<u32> = groups.iter().map(|g| g.charges.len() as u32).collect();
        Ok(Self {
            starts: device.upload(&narrow(starts))?,
            members: device.upload(&members)?,
            group_of: device.upload(&group_of)?,
            vectors: device.upload(&vectors)?,
            values: device.upload(&narrow(value_starts))?,
            charges: device.upload(&charges)?,
            mask_starts: device.upload(&narrow(&mask_starts))?,
            masks: device.upload(&masks)?,
            near: device.upload(&near)?,
            offsets: device.upload(grid.near.offsets().as_flattened())?,
            orders: device.upload(&orders)?,
            operators: device.upload(operators)?,
        })
    }
}

/// 0 and the sums up to each length.
pub fn sums(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let sum = |total: &mut usize, length: usize| {
        *total += length;
        Some(*total)
    };
    std::iter::once(0).chain(lengths.scan(0, sum)).collect()
}

/// For each member a bit for each other one that it is excluded from, in words of 32.
fn excluded(members: &[u32], exclusions: &Exclusions) -> Vec<u32> {
    let words = members.len().div_ceil(32);
    let mut slots: Vec<(u32, usize)> = members.iter().enumerate().map(|(slot, p)| (*p, slot)).collect();
    slots.sort_unstable();
    let mut out = vec![0; members.len() * words];
    for (row, &p) in members.iter().enumerate() {
        for partner in exclusions.partners(p as usize) {
            if let Ok(at) = slots.binary_search_by_key(partner, |s| s.0) {
                let slot = slots[at].1;
                out[row * words + slot / 32] |= 1 << (slot % 32);
            }
        }
    }
    out
}
