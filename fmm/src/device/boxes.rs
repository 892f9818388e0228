//! The leaf boxes and which of them are near each other, as kernels read them (geometry.cuh).

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, Stream};

use crate::geometry::assignment::Geometry;
use crate::geometry::grid::{BoxGrid, NearSet, Topology};

/// Numbers of the geometry: basis, inverse, periods (nine each), corner, scale, 1/scale, volume.
pub const GEOMETRY: usize = 33;

/// The geometry as the kernels read it.
pub fn geometry_numbers(geometry: &Geometry) -> [f64; GEOMETRY] {
    let (scale, inverse) = (geometry.scale(), geometry.inverse());
    let mut out = [0.0; GEOMETRY];
    for a in 0..3 {
        for b in 0..3 {
            out[3 * a + b] = geometry.basis[a][b];
            out[9 + 3 * a + b] = inverse[a][b];
            out[18 + 3 * a + b] = geometry.periods()[a][b];
        }
        out[27 + a] = geometry.corner()[a];
    }
    out[30..].copy_from_slice(&[scale, 1.0 / scale, geometry.volume.unwrap_or(0.0)]);
    out
}

/// Grid and near boxes on a device.
pub struct Boxes<T> {
    /// Basis, inverse, periods, corner, scale, 1/scale, volume.
    pub geometry: Buffer<f64>,
    /// Shape, which axes repeat, lattice of the cell in boxes, reach of `slots`.
    pub grid: Buffer<i32>,
    /// First near box of each leaf, and the end.
    pub near_starts: Buffer<u32>,
    /// Near boxes: leaf, and slot of its offset.
    pub near_entries: Buffer<u32>,
    /// Displacement of each slot in units of the scale, and 0.
    pub shifts: Buffer<T>,
    /// Slot of each offset within reach, or −1.
    pub slots: Buffer<i32>,
    /// Number of leaves.
    pub n_leaves: usize,
}

impl<T: Real + Pod> Boxes<T> {
    /// All boxes of `grid`, empty ones too.
    pub fn new(device: &Device, geometry: &Geometry, grid: &BoxGrid) -> Result<Self, DeviceError> {
        let (starts, entries) = near_lists(&grid.topology, &grid.near);
        let (reach, slots) = slot_table(&grid.near);
        let Topology { shape, periodic, .. } = grid.topology;
        let mut numbers: Vec<i32> = shape.iter().map(|n| *n as i32).collect();
        numbers.extend(periodic.map(i32::from));
        numbers.extend(grid.topology.lattice().iter().flatten());
        numbers.extend(reach);
        Ok(Self {
            geometry: device.upload(&geometry_numbers(geometry))?,
            grid: device.upload(&numbers)?,
            near_starts: device.upload(&starts)?,
            near_entries: device.upload(&entries)?,
            shifts: device.upload(&shifts(grid))?,
            slots: device.upload(&slots)?,
            n_leaves: grid.topology.len(),
        })
    }

    /// The same boxes in a cell that has been scaled or deformed.
    pub fn follow(&self, stream: &Stream, geometry: &Geometry, grid: &BoxGrid) -> Result<(), DeviceError> {
        self.geometry.write(stream, &geometry_numbers(geometry))?;
        self.shifts.write(stream, &shifts(grid))
    }
}

fn shifts<T: Real>(grid: &BoxGrid) -> Vec<T> {
    let vector = |u: &[i32; 3]| grid.vector(u.map(f64::from)).map(T::of);
    grid.near.offsets().iter().map(vector).flat_map(|[x, y, z]| [x, y, z, T::zero()]).collect()
}

/// The near boxes of each leaf, itself included, as (leaf, slot), with their starts. In a small periodic grid a box occurs once for each of
/// its images.
fn near_lists(topology: &Topology, near: &NearSet) -> (Vec<u32>, Vec<u32>) {
    let (mut starts, mut entries) = (vec![0], Vec::new());
    for leaf in 0..topology.len() {
        let c = topology.coordinates(leaf);
        for (slot, u) in near.offsets().iter().enumerate() {
            if let Some(source) = topology.displaced(c, *u) {
                entries.extend([topology.index(source) as u32, slot as u32]);
            }
        }
        starts.push(entries.len() as u32 / 2);
    }
    (starts, entries)
}

/// Slots of all offsets within reach of zero, z fastest.
fn slot_table(near: &NearSet) -> ([i32; 3], Vec<i32>) {
    let reach = [0, 1, 2].map(|a| near.offsets().iter().map(|u| u[a].abs()).max().unwrap_or(0));
    let [a, b, c] = reach;
    let all = (-a..=a).flat_map(|x| (-b..=b).flat_map(move |y| (-c..=c).map(move |z| [x, y, z])));
    (reach, all.map(|u| near.slot(u).map_or(-1, |slot| slot as i32)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Boundary;
    use crate::geometry::tree::TreeShape;

    #[test]
    fn every_near_box_is_listed_with_its_slot() {
        let geometry =
            Geometry::new(&Boundary::rectangular([2.0, 3.0, 4.0]), TreeShape { root: [2, 3, 4], depth: 0 }, &[]);
        let near = NearSet::new(&geometry.unit_basis(), 1.2);
        let topology = geometry.root();
        let (starts, entries) = near_lists(&topology, &near);
        assert_eq!((starts.len(), starts[24], entries.len()), (25, 24 * 33, 2 * 24 * 33));
        for leaf in 0..24 {
            for e in starts[leaf] as usize..starts[leaf + 1] as usize {
                let u = near.offsets()[entries[2 * e + 1] as usize];
                let source = topology.displaced(topology.coordinates(leaf), u).unwrap();
                assert_eq!(topology.index(source), entries[2 * e] as usize);
            }
        }
        let (reach, slots) = slot_table(&near);
        assert_eq!((reach, slots.len()), ([2; 3], 125));
        assert_eq!(slots.iter().filter(|s| **s >= 0).count(), 33);
        let at = |u: [i32; 3]| slots[(((u[0] + 2) * 5 + u[1] + 2) * 5 + u[2] + 2) as usize];
        assert_eq!((at([0, 1, -1]) as usize, at([1, 1, 2])), (near.slot([0, 1, -1]).unwrap(), -1));
    }

    #[test]
    fn geometry_leads_there_and_back() {
        let cell = [[2.0, 0.1, -0.2], [0.7, 1.9, 0.1], [-0.6, 0.8, 2.1]];
        let geometry = Geometry::new(&Boundary::Periodic { cell }, TreeShape { root: [2, 2, 3], depth: 0 }, &[]);
        let g = geometry_numbers(&geometry);
        for a in 0..3 {
            for b in 0..3 {
                // Coordinates of edge a of a box.
                let u: f64 = (0..3).map(|x| g[9 + 3 * b + x] * g[3 * a + x]).sum();
                assert!((u - f64::from(u8::from(a == b))).abs() < 1e-15);
                assert_eq!(g[18 + 3 * a + b], cell[a][b]);
            }
        }
        assert!((g[30].powi(3) * 12.0 - g[32]).abs() < 1e-14 && (g[30] * g[31] - 1.0).abs() < 1e-15);
    }
}
