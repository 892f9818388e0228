//! The leaf boxes and which of them are near each other, as kernels read them (the twin of boxes.cuh).

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, Stream, structure};

use crate::geometry::assignment::Geometry;
use crate::geometry::grid::{BoxGrid, NearSet, Topology};

structure! {
    /// Where the leaf boxes lie, in the caller's lengths. A barostat scales it in place: lengths, inverse lengths and the volume.
    pub struct BoxGeometry {
        /// Edges of a box, one in each row.
        pub basis: [[f64; 3]; 3],
        /// u = inverse · (x − corner) are coordinates in boxes.
        pub inverse: [[f64; 3]; 3],
        /// Image vectors, one in each row; zero along open axes.
        pub periods: [[f64; 3]; 3],
        /// Lowest corner of the grid.
        pub corner: [f64; 3],
        /// Length that box-local coordinates are divided by.
        pub scale: f64,
        /// 1/scale.
        pub per_scale: f64,
        /// Volume of the cell; 0 unless it repeats in three directions.
        pub volume: f64,
    }

    /// The grid of the leaf boxes.
    pub struct LeafGrid {
        /// Boxes along each axis.
        pub shape: [i32; 3],
        /// 1 for each axis that repeats, else 0.
        pub periodic: [i32; 3],
        /// Vectors of the cell in boxes, one in each row.
        pub lattice: [[i32; 3]; 3],
        /// Extent of the table of near offsets.
        pub reach: [i32; 3],
    }
}

impl BoxGeometry {
    /// The geometry as the kernels read it.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let scale = geometry.scale();
        Self {
            basis: geometry.basis,
            inverse: geometry.inverse(),
            periods: geometry.periods,
            corner: geometry.corner,
            scale,
            per_scale: 1.0 / scale,
            volume: geometry.volume.unwrap_or(0.0),
        }
    }
}

/// Grid and near boxes on a device.
pub struct Boxes<T> {
    /// Where they lie.
    pub geometry: Buffer<BoxGeometry>,
    /// How they are numbered.
    pub grid: Buffer<LeafGrid>,
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
        let leaves = LeafGrid {
            shape: shape.map(|n| n as i32),
            periodic: periodic.map(i32::from),
            lattice: grid.topology.lattice(),
            reach,
        };
        Ok(Self {
            geometry: device.upload(&[BoxGeometry::new(geometry)])?,
            grid: device.upload(&[leaves])?,
            near_starts: device.upload(&starts)?,
            near_entries: device.upload(&entries)?,
            shifts: device.upload(&shifts(grid))?,
            slots: device.upload(&slots)?,
            n_leaves: grid.topology.len(),
        })
    }

    /// The same boxes in a cell that has been scaled or deformed.
    pub fn follow(&self, stream: &Stream, geometry: &Geometry, grid: &BoxGrid) -> Result<(), DeviceError> {
        self.geometry.write(stream, &[BoxGeometry::new(geometry)])?;
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
        let g = BoxGeometry::new(&geometry);
        for (a, edge) in g.basis.iter().enumerate() {
            for (b, row) in g.inverse.iter().enumerate() {
                // Coordinate b of edge a of a box.
                let u: f64 = (0..3).map(|x| row[x] * edge[x]).sum();
                assert!((u - f64::from(u8::from(a == b))).abs() < 1e-15);
            }
        }
        assert_eq!(g.periods, cell);
        assert!((g.scale.powi(3) * 12.0 - g.volume).abs() < 1e-14 && (g.scale * g.per_scale - 1.0).abs() < 1e-15);
    }
}
