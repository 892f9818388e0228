//! Where charge buffers are: molecules of one residue far from the solute and from each other.
//!
//! Molecules are taken one after the other, each time the one whose distance from the solute and from all molecules taken so far
//! is largest (farthest-point order, at least half as good as the best choice). Where that does not reach the wanted distance D,
//! dense packings are tried: with D' ≤ D always the molecule that is nearest, but not nearer than D', and D' as large as it goes.
//! Nothing is random, so that a structure always gives the same molecules.
//!
//! Distances are those of nearest images, nm, of a molecule's first atom to every atom of the solute: whatever is neither a candidate,
//! nor a rigid water, nor a single atom.

use crate::record::counted;
use forcefield::cell::PeriodicBox;
use forcefield::{Cell, Topology};
use nalgebra::Vector3;
use rayon::prelude::*;

/// Least distance between faces of the bins that places are looked up in, nm.
const BIN: f64 = 0.5;

/// Bisections of the distance of a dense packing.
const BISECTIONS: usize = 12;

/// Molecules that were chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Their residues, ascending.
    pub residues: Vec<u32>,
    /// Smallest distance of one from the solute or from another, nm; infinite for one molecule without a solute.
    pub distance: f64,
}

/// Why there is no choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No molecule consists of this residue.
    #[error("no molecule consists of one residue {0}")]
    None(String),
    /// Fewer molecules than are needed.
    #[error("{} {residue} for {}", counted(found, "molecule"), counted(wanted, "charge buffer"))]
    Few {
        /// Residue.
        residue: String,
        /// Molecules there are.
        found: usize,
        /// Molecules wanted.
        wanted: usize,
    },
}

/// `count` molecules `residue` of `topology` at `x` (nm) in `cell`, as far apart as `wanted` (nm) if possible.
///
/// # Errors
/// Too few molecules.
pub fn place(
    topology: &Topology,
    x: &[Vector3<f64>],
    cell: Cell,
    residue: &str,
    count: usize,
    wanted: f64,
) -> Result<Placement, PlaceError> {
    let candidates: Vec<u32> = molecules(topology, residue).collect();
    if candidates.is_empty() {
        return Err(PlaceError::None(residue.into()));
    }
    if candidates.len() < count {
        return Err(PlaceError::Few { residue: residue.into(), found: candidates.len(), wanted: count });
    }
    let solute = solute(topology, &candidates);
    let at = |r: &u32| x[topology.residues[*r as usize].atoms.start as usize];
    let places: Vec<Vector3<f64>> = candidates.iter().map(at).collect();
    let field = Field { places: &places, cell, bins: cell.periodic().map(|cell| Bins::new(&places, cell)) };
    let obstacles: Vec<Vector3<f64>> = solute.iter().map(|&a| x[a as usize]).collect();
    let start = nearest(&places, &obstacles, cell);
    let (mut chosen, mut reached) = field.farthest(&start, count);
    if reached < wanted {
        let (mut low, mut high) = (reached, wanted);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            match field.dense(&start, count, middle) {
                Some(packed) => (chosen, reached, low) = (packed, middle, middle),
                None => high = middle,
            }
        }
    }
    let mut residues: Vec<u32> = chosen.into_iter().map(|k| candidates[k]).collect();
    residues.sort_unstable();
    Ok(Placement { residues, distance: reached })
}

/// Residues called `name` that are a molecule each.
pub fn molecules<'a>(topology: &'a Topology, name: &'a str) -> impl Iterator<Item = u32> + 'a {
    let fits = move |residue: &forcefield::topology::Residue| {
        residue.name == name && topology.molecules[residue.molecule as usize].atoms == residue.atoms
    };
    (0..).zip(&topology.residues).filter(move |(_, residue)| fits(residue)).map(|(index, _)| index)
}

/// Atoms of the solute.
fn solute(topology: &Topology, candidates: &[u32]) -> Vec<u32> {
    let mut counts = vec![true; topology.n_atoms()];
    let mut leave = |atoms: std::ops::Range<u32>| atoms.for_each(|a| counts[a as usize] = false);
    candidates.iter().for_each(|&r| leave(topology.residues[r as usize].atoms.clone()));
    topology.molecules.iter().filter(|m| m.atoms.len() == 1).for_each(|m| leave(m.atoms.clone()));
    for water in &topology.settles {
        let molecule = topology.atoms[water.oxygen as usize].molecule;
        leave(topology.molecules[molecule as usize].atoms.clone());
    }
    (0..topology.n_atoms() as u32).filter(|&a| counts[a as usize]).collect()
}

/// Squared distance (nm²) of each of `places` from the nearest of `obstacles`; infinite without any.
fn nearest(places: &[Vector3<f64>], obstacles: &[Vector3<f64>], cell: Cell) -> Vec<f64> {
    let bins = cell.periodic().filter(|_| !obstacles.is_empty()).map(|cell| Bins::new(obstacles, cell));
    let squared = |p: &Vector3<f64>, at: &Vector3<f64>| cell.minimum_image(p - at).norm_squared();
    let of = |p: &Vector3<f64>| match &bins {
        Some(bins) => bins.nearest(*p, |k| squared(p, &obstacles[k])),
        None => obstacles.iter().map(|at| squared(p, at)).fold(f64::INFINITY, f64::min),
    };
    places.par_iter().map(of).collect()
}

struct Field<'a> {
    places: &'a [Vector3<f64>],
    cell: Cell,
    bins: Option<Bins>,
}

/// Places of a periodic cell in bins of its fractions.
struct Bins {
    n: [usize; 3],
    /// Distance between faces of a bin, nm.
    thickness: [f64; 3],
    cell: PeriodicBox,
    /// Places of each bin.
    places: Vec<Vec<usize>>,
}

impl Bins {
    fn new(places: &[Vector3<f64>], cell: &PeriodicBox) -> Self {
        let heights: [f64; 3] = cell.heights().into();
        // No more bins than places, however empty the box is.
        let least = (cell.volume() / places.len() as f64).cbrt().max(BIN);
        let n = heights.map(|height| (height / least).floor().max(1.0) as usize);
        let thickness = [0, 1, 2].map(|a| heights[a] / n[a] as f64);
        let mut bins = Self { n, thickness, cell: *cell, places: vec![Vec::new(); n.iter().product()] };
        for (k, x) in places.iter().enumerate() {
            let index = bins.index(bins.of(*x));
            bins.places[index].push(k);
        }
        bins
    }

    /// Bin of a position along each edge.
    fn of(&self, x: Vector3<f64>) -> [usize; 3] {
        let turns = self.cell.coordinates(x);
        [0, 1, 2].map(|a| (((turns[a] - turns[a].floor()) * self.n[a] as f64) as usize).min(self.n[a] - 1))
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (x * self.n[1] + y) * self.n[2] + z
    }

    /// The smallest value of `squared`, a squared distance from `x` (nm), over all places: shell by shell of bins, until the next one lies farther away.
    fn nearest(&self, x: Vector3<f64>, squared: impl Fn(usize) -> f64) -> f64 {
        let of = self.of(x);
        // Every bin once, however the box wraps: offsets from −(n − 1)/2 to n/2.
        let offsets = |a: usize, shell: i64| {
            let n = self.n[a] as i64;
            (-shell).max(-(n - 1) / 2)..=shell.min(n / 2)
        };
        let index = |a: usize, offset: i64| (of[a] as i64 + offset).rem_euclid(self.n[a] as i64) as usize;
        let thinnest = self.thickness.into_iter().fold(f64::INFINITY, f64::min);
        let last = self.n.into_iter().max().unwrap_or(1) as i64 / 2;
        let mut best = f64::INFINITY;
        for shell in 0..=last {
            // Bins beyond the shells so far begin a whole bin for each of them away.
            if shell > 0 && best <= (((shell - 1) as f64) * thinnest).powi(2) {
                break;
            }
            for i in offsets(0, shell) {
                for j in offsets(1, shell) {
                    for k in offsets(2, shell).filter(|k| i.abs().max(j.abs()).max(k.abs()) == shell) {
                        let bin = self.index([index(0, i), index(1, j), index(2, k)]);
                        best = self.places[bin].iter().map(|&place| squared(place)).fold(best, f64::min);
                    }
                }
            }
        }
        best
    }

    /// All places that may be within `reach` (nm) of `x` (nm), and others.
    fn near(&self, x: Vector3<f64>, reach: f64) -> Vec<usize> {
        let of = self.of(x);
        let [x, y, z] = [0, 1, 2].map(|a| {
            let (n, at) = (self.n[a], of[a]);
            let away = reach / self.thickness[a] + 1.0;
            if 2.0 * away + 1.0 >= n as f64 {
                return (0..n).collect::<Vec<_>>();
            }
            let away = away as usize;
            (n + at - away..=n + at + away).map(|bin| bin % n).collect()
        });
        let mut near = Vec::new();
        for &x in &x {
            for &y in &y {
                z.iter().for_each(|&z| near.extend(&self.places[self.index([x, y, z])]));
            }
        }
        near
    }
}

impl Field<'_> {
    fn squared(&self, a: Vector3<f64>, b: Vector3<f64>) -> f64 {
        self.cell.minimum_image(a - b).norm_squared()
    }

    /// Distances (squared), none beyond `largest`, once there is an obstacle at `x`.
    fn approach(&self, free: &mut [f64], x: Vector3<f64>, largest: f64) {
        let nearer = |free: f64, p: &Vector3<f64>| free.min(self.squared(x, *p));
        match &self.bins {
            Some(bins) => {
                bins.near(x, largest.sqrt()).into_iter().for_each(|k| free[k] = nearer(free[k], &self.places[k]));
            }
            None => free.iter_mut().zip(self.places).for_each(|(free, p)| *free = nearer(*free, p)),
        }
    }

    /// The same once molecule `taken` is one of the obstacles; its own is negative.
    fn take(&self, free: &mut [f64], taken: usize, largest: f64) {
        self.approach(free, self.places[taken], largest);
        free[taken] = -1.0;
    }

    fn farthest(&self, start: &[f64], count: usize) -> (Vec<usize>, f64) {
        let (mut free, mut chosen, mut least) = (start.to_vec(), Vec::new(), f64::INFINITY);
        for _ in 0..count {
            let best = first_of(&free, |_| true, |a, b| a > b).unwrap_or_default();
            least = least.min(free[best]);
            chosen.push(best);
            let largest = free[best];
            self.take(&mut free, best, largest);
        }
        (chosen, least.max(0.0).sqrt())
    }

    fn dense(&self, start: &[f64], count: usize, distance: f64) -> Option<Vec<usize>> {
        let (mut free, mut chosen) = (start.to_vec(), Vec::new());
        let largest = free.iter().copied().fold(0.0, f64::max);
        for _ in 0..count {
            let nearest = first_of(&free, |free| free >= distance * distance, |a, b| a < b)?;
            chosen.push(nearest);
            self.take(&mut free, nearest, largest);
        }
        Some(chosen)
    }
}

/// Index of the first of those values that may be taken and that none of the others is before.
fn first_of(
    values: &[f64],
    may_be: impl Fn(f64) -> bool + Sync,
    is_before: impl Fn(f64, f64) -> bool + Sync,
) -> Option<usize> {
    let allowed = (0..values.len()).into_par_iter().filter(|&k| may_be(values[k]));
    allowed.reduce_with(|a, b| {
        let (first, second) = (a.min(b), a.max(b));
        if is_before(values[second], values[first]) { second } else { first }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forcefield::topology::{Atom, Molecule, Residue};

    /// Single atoms "SOL" on a grid, and one molecule of two atoms at the origin.
    fn grid(side: usize) -> (Topology, Vec<Vector3<f64>>, Cell) {
        let mut topology = Topology::default();
        let mut x = Vec::new();
        let mut add = |name: &str, positions: &[Vector3<f64>]| {
            let (first, index) = (x.len() as u32, topology.residues.len() as u32);
            let atoms = first..first + positions.len() as u32;
            topology.residues.push(Residue {
                name: name.into(),
                number: 1,
                insertion: None,
                molecule: index,
                atoms: atoms.clone(),
            });
            topology.molecules.push(Molecule { name: name.into(), atoms });
            for p in positions {
                let (residue, molecule) = (index, index);
                topology.atoms.push(Atom {
                    name: "X".into(),
                    type_index: 0,
                    residue,
                    molecule,
                    charge: 0.0,
                    mass: 1.0,
                });
                x.push(*p);
            }
        };
        add("ALA", &[Vector3::zeros(), Vector3::new(0.1, 0.0, 0.0)]);
        add("NA", &[Vector3::new(0.3, 0.3, 0.2)]);
        for k in 0..side.pow(3) {
            add("SOL", &[Vector3::from([k % side, k / side % side, k / side / side].map(|i| 0.3 * i as f64 + 0.15))]);
        }
        (topology, x, Cell::rectangular(Vector3::repeat(0.3 * side as f64)).unwrap())
    }

    fn least(topology: &Topology, x: &[Vector3<f64>], cell: Cell, residues: &[u32]) -> f64 {
        let at = |r: u32| x[topology.residues[r as usize].atoms.start as usize];
        let edges = cell.edges().unwrap();
        let image = |d: Vector3<f64>| (d - edges.component_mul(&d.component_div(&edges).map(f64::round))).norm();
        let others =
            residues.iter().flat_map(|&a| residues.iter().filter(move |&&b| b != a).map(move |&b| at(a) - at(b)));
        let solute = residues.iter().flat_map(|&a| [at(a) - x[0], at(a) - x[1]]);
        others.chain(solute).map(image).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn molecules_keep_their_distance() {
        let (topology, x, cell) = grid(10);
        for (count, wanted) in [(1, 1.0), (3, 1.5), (5, 1.2), (11, 1.5)] {
            let placed = place(&topology, &x, cell, "SOL", count, wanted).unwrap();
            assert_eq!(placed.residues.len(), count);
            assert!(placed.residues.windows(2).all(|w| w[0] < w[1]));
            let exact = least(&topology, &x, cell, &placed.residues);
            // Of a dense packing the distance asked for is said, which the grid may exceed.
            assert!(exact >= placed.distance - 1e-12, "{count}: {exact} {}", placed.distance);
            let room = cell.volume().unwrap() / (count as f64 + 1.0);
            assert!(placed.distance >= wanted || placed.distance > 0.75 * room.cbrt(), "{count}: {placed:?}");
            assert_eq!(placed, place(&topology, &x, cell, "SOL", count, wanted).unwrap());
        }
    }

    /// Whoever looks at all places takes the same ones, in boxes of any angles.
    #[test]
    fn bins_leave_no_place_out() {
        let rectangular = Cell::rectangular(Vector3::new(4.0, 6.0, 9.0)).unwrap();
        let sheared = Cell::from_packed([6.0, 5.5, 5.0, 2.5, -2.0, 2.4]).unwrap();
        for cell in [rectangular, sheared] {
            let mut state = 1_u64;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1_u64 << 53) as f64
            };
            let places: Vec<_> =
                (0..3000).map(|_| Vector3::from([next(), next(), next()].map(|x| 20.0 * x - 10.0))).collect();
            let start: Vec<f64> = (0..3000).map(|_| 4.0 * next()).collect();
            let bins = cell.periodic().map(|cell| Bins::new(&places, cell));
            let near = bins.as_ref().unwrap().near(places[7], 1.0);
            assert!(near.len() < 1500 && near.contains(&7));
            // The nearest obstacle, of many, of few, and of one.
            for few in [1, 40, 1000] {
                let exact = |p: &Vector3<f64>| {
                    places[..few]
                        .iter()
                        .map(|at| cell.minimum_image(p - at).norm_squared())
                        .fold(f64::INFINITY, f64::min)
                };
                let exact: Vec<f64> = places.iter().map(exact).collect();
                assert_eq!(nearest(&places, &places[..few], cell), exact, "{few} obstacles");
            }
            assert!(nearest(&places, &[], cell).iter().all(|d| d.is_infinite()));
            let [all, binned] = [None, bins].map(|bins| Field { places: &places, cell, bins });
            assert_eq!(all.farthest(&start, 60), binned.farthest(&start, 60));
            let dense = binned.dense(&start, 60, 0.7);
            assert!(dense.is_some() && dense == all.dense(&start, 60, 0.7));
        }
    }

    #[test]
    fn too_few_molecules_are_refused() {
        let (topology, x, cell) = grid(2);
        let refused = |residue, count| place(&topology, &x, cell, residue, count, 1.0).unwrap_err();
        assert_eq!(refused("HOH", 1), PlaceError::None("HOH".into()));
        assert_eq!(refused("SOL", 9), PlaceError::Few { residue: "SOL".into(), found: 8, wanted: 9 });
    }
}
