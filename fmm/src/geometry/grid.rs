//! A grid of boxes as a lattice: edge vectors of a box, how the grid closes on itself, which boxes are near.
//!
//! The boxes of a periodic cell with vectors a, b, c are made as rectangular as the cell allows, whatever its angles:
//!
//!   c = n₂ e₂,   b = n₁ e₁ + s₁₂ e₂,   a = n₀ e₀ + s₀₁ e₁ + s₀₂ e₂
//!
//! with the integer shears s chosen to make e₀, e₁, e₂ nearly orthogonal. A particle that leaves the grid along axis 0 enters it again on the
//! other side, shifted by s boxes along axes 1 and 2. A rhombic dodecahedron then costs as much as a cube of its volume. Boxes tile space; the
//! cell is the group of boxes modulo its lattice.

use crate::FmmError;
use crate::geometry::boundary::{Boundary, cross, dot, norm};

/// How a grid of boxes closes on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Boxes per axis.
    pub shape: [usize; 3],
    /// Whether each axis repeats.
    pub periodic: [bool; 3],
    /// s₀₁, s₀₂, s₁₂ in boxes; 0 for axes that do not repeat.
    pub shear: [i32; 3],
}

impl Topology {
    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The grid with every box cut into 2^d along each axis.
    pub fn refined(&self, d: usize) -> Self {
        Self { shape: self.shape.map(|n| n << d), periodic: self.periodic, shear: self.shear.map(|s| s << d) }
    }

    /// The lattice vectors of the cell in boxes; rows of axes that do not repeat are meaningless.
    pub fn lattice(&self) -> [[i32; 3]; 3] {
        let [n0, n1, n2] = self.shape.map(|n| n as i32);
        let [s01, s02, s12] = self.shear;
        [[n0, s01, s02], [0, n1, s12], [0, 0, n2]]
    }

    /// Index of the box at `c`, z (axis 2) fastest.
    pub fn index(&self, c: [usize; 3]) -> usize {
        (c[0] * self.shape[1] + c[1]) * self.shape[2] + c[2]
    }

    /// Coordinates of box `i`.
    pub fn coordinates(&self, i: usize) -> [usize; 3] {
        let [_, b, c] = self.shape;
        [i / (b * c), i / c % b, i % c]
    }

    /// `c` moved by lattice vectors into the grid, along the axes that repeat.
    pub fn reduced(&self, c: [i32; 3]) -> [i32; 3] {
        let mut c = c;
        for (axis, row) in self.lattice().into_iter().enumerate().filter(|(axis, _)| self.periodic[*axis]) {
            let images = c[axis].div_euclid(self.shape[axis] as i32);
            if images != 0 {
                (0..3).for_each(|a| c[a] -= images * row[a]);
            }
        }
        c
    }

    /// The box in the grid that box `c` of the endless lattice is an image of; none outside an axis that does not repeat.
    pub fn wrap(&self, c: [i32; 3]) -> Option<[usize; 3]> {
        let c = self.reduced(c);
        (0..3).all(|a| c[a] >= 0 && c[a] < self.shape[a] as i32).then(|| c.map(|c| c as usize))
    }

    /// The box `u` boxes from the one at `c`; none outside the grid.
    pub fn displaced(&self, c: [usize; 3], u: [i32; 3]) -> Option<[usize; 3]> {
        self.wrap([0, 1, 2].map(|a| c[a] as i32 + u[a]))
    }
}

/// Edge vectors of the boxes that cut `boundary` into `shape`, and the shears (see the module's documentation). Axes that do not repeat are
/// orthogonal to the periods and have edges of `open_edge`.
pub fn box_vectors(boundary: &Boundary, shape: [usize; 3], open_edge: f64) -> ([[f64; 3]; 3], [i32; 3]) {
    sheared_box_vectors(boundary, shape, open_edge, None)
}

/// [`box_vectors`] with the shears given: the same boxes in a cell that has been deformed.
pub fn sheared_box_vectors(
    boundary: &Boundary,
    shape: [usize; 3],
    open_edge: f64,
    shear: Option<[i32; 3]>,
) -> ([[f64; 3]; 3], [i32; 3]) {
    let n = shape.map(|n| n as f64);
    let over = |v: [f64; 3], n: f64| v.map(|x| x / n);
    let less = |v: [f64; 3], times: f64, e: [f64; 3]| [0, 1, 2].map(|a| v[a] - times * e[a]);
    let along = |v: [f64; 3], e: [f64; 3]| dot(v, e) / dot(e, e);
    let unit = |v: [f64; 3]| over(v, norm(v) / open_edge);
    // Shears of one half, as in a rhombic dodecahedron, must always be rounded the same way, whatever the rounding of the cell vectors.
    let whole = |pair: usize, x: f64| shear.map_or((x - 1e-9).round(), |s| f64::from(s[pair]));
    match *boundary {
        Boundary::Open => ([[open_edge, 0.0, 0.0], [0.0, open_edge, 0.0], [0.0, 0.0, open_edge]], [0; 3]),
        Boundary::Wire { period } => {
            let longest = (0..3).fold(0, |best, a| if period[a].abs() > period[best].abs() { a } else { best });
            let mut helper = [0.0; 3];
            helper[(longest + 1) % 3] = 1.0;
            let e1 = unit(less(helper, along(helper, period), period));
            ([over(period, n[0]), e1, unit(cross(period, e1))], [0; 3])
        }
        Boundary::Slab { periods: [a, b] } => {
            let e1 = over(b, n[1]);
            let s01 = whole(0, along(a, e1));
            ([over(less(a, s01, e1), n[0]), e1, unit(cross(a, b))], [s01 as i32, 0, 0])
        }
        Boundary::Periodic { cell: [a, b, c] } => {
            let e2 = over(c, n[2]);
            let s12 = whole(2, along(b, e2));
            let e1 = over(less(b, s12, e2), n[1]);
            let upright = less(e1, along(e1, e2), e2);
            let s01 = whole(0, along(a, upright));
            let a = less(a, s01, e1);
            let s02 = whole(1, along(a, e2));
            ([over(less(a, s02, e2), n[0]), e1, e2], [s01 as i32, s02 as i32, s12 as i32])
        }
    }
}

/// Most offsets to search for near ones: places in the set are 16-bit numbers. Boxes 20 times longer than wide need 14 000 (separation 1.7).
pub const MAX_NEAR: f64 = 65_000.0;

/// A set of displacements in boxes, each with its place in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetSet {
    offsets: Vec<[i32; 3]>,
    reach: [i32; 3],
    /// Place in `offsets` of every offset within `reach`; u16::MAX: not in the set.
    slots: Vec<u16>,
}

impl OffsetSet {
    /// The set of these offsets.
    pub fn new(mut offsets: Vec<[i32; 3]>) -> Self {
        offsets.sort_unstable();
        offsets.dedup();
        let reach = [0, 1, 2].map(|a| offsets.iter().map(|u| u[a].abs()).max().unwrap_or(0));
        let mut out =
            Self { slots: vec![u16::MAX; reach.map(|r| 2 * r as usize + 1).iter().product()], reach, offsets };
        for (slot, u) in out.offsets.iter().enumerate() {
            if let Some(at) = at(out.reach, *u) {
                out.slots[at] = slot as u16;
            }
        }
        out
    }

    /// All offsets, in ascending order.
    pub fn offsets(&self) -> &[[i32; 3]] {
        &self.offsets
    }

    /// Place of `u` in [`offsets`](Self::offsets).
    #[inline]
    pub fn slot(&self, u: [i32; 3]) -> Option<usize> {
        let slot = self.slots[at(self.reach, u)?];
        (slot != u16::MAX).then_some(slot as usize)
    }
}

/// Index of `u` in a dense table of all offsets within `reach`.
#[inline]
fn at(reach: [i32; 3], u: [i32; 3]) -> Option<usize> {
    let [a, b, c] = reach;
    if u[0].abs() > a || u[1].abs() > b || u[2].abs() > c {
        return None;
    }
    Some((((u[0] + a) * (2 * b + 1) + u[1] + b) * (2 * c + 1) + u[2] + c) as usize)
}

/// Largest [`opening`](NearSet::opening) of boxes that have changed their shape since their near set was chosen, with which it was below 1. Cubes that are stretched by
/// a half have 1.03, and fields by order 8 four times the error there (`tests/moving.rs`).
pub const MAX_OPENING: f64 = 1.1;

/// Offsets of the boxes that interact directly; all others are far enough for expansions.
///
/// Boxes are near if they touch, and if their centres are less than `separation` box diameters apart (diameter: the longest diagonal). Beyond
/// one diameter expansions converge everywhere, whatever the shape of the box.
#[derive(Clone, Debug, PartialEq)]
pub struct NearSet(OffsetSet);

impl NearSet {
    /// The near set of boxes with edge vectors `basis`.
    pub fn new(basis: &[[f64; 3]; 3], separation: f64) -> Self {
        let (radius, reach) = Self::reach(basis, separation);
        let [a, b, c] = reach.map(|r| r as i32);
        let all = (-a..=a).flat_map(|x| (-b..=b).flat_map(move |y| (-c..=c).map(move |z| [x, y, z])));
        let near = |u: &[i32; 3]| u.iter().all(|u| u.abs() <= 1) || length(basis, u.map(f64::from)) < radius;
        Self(OffsetSet::new(all.filter(near).collect()))
    }

    /// Diameter of a box over the distance of the nearest box that is not near: below 1, and √3/2 for cubes of which those that touch are near.
    pub fn opening(&self, basis: &[[f64; 3]; 3]) -> f64 {
        diameter(basis) / self.nearest_far(|u| length(basis, u.map(f64::from)))
    }

    /// Whether expansions still converge in practice with boxes of this shape.
    ///
    /// # Errors
    /// [`FmmError::Strained`] if the opening exceeds [`MAX_OPENING`].
    pub fn check_strain(&self, basis: &[[f64; 3]; 3]) -> Result<(), FmmError> {
        let opening = self.opening(basis);
        if opening <= MAX_OPENING { Ok(()) } else { Err(FmmError::Strained { opening }) }
    }

    /// Shortest way from a rectangular box to one that is not near.
    pub fn clearance(&self, basis: &[[f64; 3]; 3]) -> f64 {
        self.nearest_far(|u| length(basis, u.map(|u| f64::from((u.abs() - 1).max(0)))))
    }

    /// Smallest distance, as `measure` says, of the boxes that are not near.
    fn nearest_far(&self, measure: impl Fn([i32; 3]) -> f64) -> f64 {
        let [a, b, c] = self.0.reach.map(|r| r + 1);
        let all = (-a..=a).flat_map(|x| (-b..=b).flat_map(move |y| (-c..=c).map(move |z| [x, y, z])));
        all.filter(|u| !self.contains(*u)).map(measure).fold(f64::INFINITY, f64::min)
    }

    /// Radius of the near set, and how many boxes away along each axis some may be near: |u_a| ≤ |dual vector a| · radius.
    fn reach(basis: &[[f64; 3]; 3], separation: f64) -> (f64, [f64; 3]) {
        let [e0, e1, e2] = *basis;
        let radius = separation * diameter(basis);
        let volume = dot(e0, cross(e1, e2)).abs();
        let reach =
            [cross(e1, e2), cross(e2, e0), cross(e0, e1)].map(|dual| (norm(dual) / volume * radius).floor().max(1.0));
        (radius, reach)
    }

    /// Number of offsets to search for near ones. It grows with the square of the ratio of the edges of a box.
    pub fn candidates(basis: &[[f64; 3]; 3], separation: f64) -> f64 {
        let (radius, reach) = Self::reach(basis, separation);
        // max() would hide the NaN of a basis that is not finite.
        reach.map(|r| 2.0 * r + 1.0).iter().product::<f64>() + 0.0 * radius
    }

    /// [`new`](Self::new) for boxes of any shape.
    ///
    /// # Errors
    /// Boxes so thin, or so large or small, that a list of their neighbours makes no sense.
    pub fn checked(basis: &[[f64; 3]; 3], separation: f64) -> Result<Self, FmmError> {
        let near = Self::candidates(basis, separation);
        if near <= MAX_NEAR {
            return Ok(Self::new(basis, separation));
        }
        let [e0, e1, e2] = *basis;
        let volume = dot(e0, cross(e1, e2)).abs();
        let area = [cross(e1, e2), cross(e2, e0), cross(e0, e1)].map(norm).into_iter().fold(0.0, f64::max);
        let ratio = basis.map(norm).into_iter().fold(0.0, f64::max) * area / volume;
        Err(FmmError::Boxes { near, ratio })
    }

    /// All near offsets, in ascending order, the box itself included.
    pub fn offsets(&self) -> &[[i32; 3]] {
        self.0.offsets()
    }

    /// Place of `u` in [`offsets`](Self::offsets).
    #[inline]
    pub fn slot(&self, u: [i32; 3]) -> Option<usize> {
        self.0.slot(u)
    }

    /// Whether boxes `u` apart interact directly.
    pub fn contains(&self, u: [i32; 3]) -> bool {
        self.slot(u).is_some()
    }
}

/// Length of `u` boxes.
fn length([e0, e1, e2]: &[[f64; 3]; 3], u: [f64; 3]) -> f64 {
    norm([0, 1, 2].map(|a| u[0] * e0[a] + u[1] * e1[a] + u[2] * e2[a]))
}

/// Longest diagonal of a box.
fn diameter(basis: &[[f64; 3]; 3]) -> f64 {
    let diagonals = [[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]];
    diagonals.into_iter().map(|u| length(basis, u)).fold(0.0, f64::max)
}

/// The root grid: topology, shape of a box, near boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxGrid {
    /// How the grid closes on itself.
    pub topology: Topology,
    /// Edge vectors of a box, in units of the scale of the expansions (the cube root of the volume of a box).
    pub basis: [[f64; 3]; 3],
    /// Which boxes interact directly.
    pub near: NearSet,
}

impl BoxGrid {
    /// Vector over `u` boxes.
    pub fn vector(&self, u: [f64; 3]) -> [f64; 3] {
        let [e0, e1, e2] = self.basis;
        [0, 1, 2].map(|a| u[0] * e0[a] + u[1] * e1[a] + u[2] * e2[a])
    }

    /// Whether boxes with edge vectors `basis`, in units of their scale, have the same shape. A relative change of 1e-12 changes results by less than the rounding of
    /// f64 sums of this length.
    pub fn has_shape(&self, basis: &[[f64; 3]; 3]) -> bool {
        let mut pairs = self.basis.as_flattened().iter().zip(basis.as_flattened());
        pairs.all(|(own, other)| (own - other).abs() <= 1e-12)
    }

    /// Length of the cyclic convolution per axis: the grid itself where it repeats, else padded so that nothing wraps.
    pub fn cycle(&self) -> [usize; 3] {
        [0, 1, 2].map(|a| {
            let m = self.topology.shape[a];
            if self.topology.periodic[a] { m } else { 2 * m - 1 }
        })
    }

    /// Whether reflection of any axis maps the grid, images included, to itself, with axis a along Cartesian axis a.
    pub fn is_mirror_symmetric(&self) -> bool {
        let off_axis = (0..3).any(|a| (0..3).any(|b| a != b && self.basis[a][b] != 0.0));
        !off_axis && self.topology.shear == [0; 3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DODECAHEDRON: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, std::f64::consts::FRAC_1_SQRT_2]];

    #[test]
    fn a_cube_touches_27_boxes_and_larger_separations_take_spheres() {
        let cube = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        // Diameters √3: 2 boxes apart is 1.155 of them, √5 1.29, √6 1.41, √8 1.63, 3 1.73.
        let near = [1.12, 1.2, 1.35, 1.5, 1.7].map(|s| NearSet::new(&cube, s).offsets().len());
        assert_eq!(near, [27, 33, 57, 81, 93]);
        let set = NearSet::new(&cube, 1.2);
        for (slot, u) in set.offsets().iter().enumerate() {
            assert_eq!(set.slot(*u), Some(slot));
        }
        assert!(!set.contains([2, 1, 0]) && set.contains([0, -2, 0]) && !set.contains([9, 9, 9]));
        // The nearest far boxes of 27, 33, 81: (2, 0, 0), (2, 1, 0), (2, 2, 0).
        let far = |s: f64| [NearSet::new(&cube, s).opening(&cube), NearSet::new(&cube, s).clearance(&cube)];
        let exact = [(1.12, 4.0f64, 1.0), (1.2, 5.0, 1.0), (1.5, 8.0, 2.0f64.sqrt())];
        for (s, distance2, clearance) in exact {
            let [opening, way] = far(s);
            assert!((opening - (3.0 / distance2).sqrt()).abs() < 1e-15 && (way - clearance).abs() < 1e-15, "{s}");
        }
    }

    #[test]
    fn boxes_of_a_dodecahedron_are_nearly_cubic() {
        let boundary = Boundary::Periodic { cell: DODECAHEDRON };
        let (basis, shear) = box_vectors(&boundary, [5, 5, 6], 0.0);
        let near = NearSet::new(&basis, 1.12).offsets().len();
        assert!(near <= 33, "{near} {basis:?} {shear:?}");
        let topology = Topology { shape: [5, 5, 6], periodic: [true; 3], shear };
        // The lattice in boxes is the cell.
        for (row, vector) in topology.lattice().iter().zip(DODECAHEDRON) {
            for a in 0..3 {
                let x: f64 = (0..3).map(|b| f64::from(row[b]) * basis[b][a]).sum();
                assert!((x - vector[a]).abs() < 1e-15);
            }
        }
        // Any lattice vector leads back to the same box.
        for row in topology.lattice() {
            assert_eq!(topology.displaced([1, 4, 2], row), Some([1, 4, 2]));
            assert_eq!(topology.displaced([1, 4, 2], row.map(|x| -x)), Some([1, 4, 2]));
        }
    }

    #[test]
    fn open_axes_end() {
        let (basis, shear) =
            box_vectors(&Boundary::Slab { periods: [[2.0, 0.0, 0.0], [0.3, 2.0, 0.0]] }, [2, 2, 3], 0.5);
        assert_eq!((basis[2], shear), ([0.0, 0.0, 0.5], [0; 3]));
        let topology = Topology { shape: [2, 2, 3], periodic: [true, true, false], shear };
        assert_eq!(topology.displaced([0, 0, 2], [0, 0, 1]), None);
        assert_eq!(topology.displaced([1, 0, 2], [1, -1, 0]), Some([0, 1, 2]));
    }
}
