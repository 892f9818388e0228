//! Sparse trees: what a small group of particles does to itself, with several charge vectors at once.
//!
//! The group's tree is made of the boxes of the global tree that hold its particles, and their ancestors. Which pairs are near and which are
//! far, the operators, the lattice sums and the trace term are those of the whole evaluation, so the potentials are equal to rounding to
//! those of a whole evaluation in which all other charges are zero. Box pairs are few here: each is translated by itself, without the
//! convolution.

use std::collections::HashMap;

use kernels::{Operator, Points, Real, RowPair, rows_times_matrix};

use crate::FmmError;
use crate::assignment::Assignment;
use crate::exclusions::Exclusions;
use crate::expansion::{L2p, P2m};
use crate::harmonics::{Domain, count, m2l, parities};
use crate::lattice::is_near;
use crate::levels::parents_touch;
use crate::passes::{Operators, Trace};
use crate::scratch::ScratchPool;

/// Potentials and fields of a group: one list per charge vector, in the order of the group's particles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupPotentials {
    /// φ^v_k.
    pub potential: Vec<Vec<f64>>,
    /// E^v_k = −∇φ^v_k.
    pub field: Vec<Vec<[f64; 3]>>,
}

/// M2L between two boxes of one level: target and source count the group's boxes on that level.
struct BoxPair {
    target: u32,
    source: u32,
    operator: Key,
}

/// Root grid or refined level, and the vector between the boxes (target − source on the root grid, source − target on refined levels).
type Key = (bool, [i32; 3]);

/// A group's boxes on one level.
#[derive(Default)]
struct GroupLevel {
    boxes: Vec<u32>,
    pairs: Vec<BoxPair>,
}

/// A group of particles in the present assignment.
pub struct Group {
    /// Particles by ascending sorted place, and where each stands in the caller's list.
    places: Vec<u32>,
    slots: Vec<u32>,
    /// First member of each leaf box, and the end.
    starts: Vec<u32>,
    levels: Vec<GroupLevel>,
    /// Target, source (as members) and displacement in boxes of each near pair.
    near: Vec<(u32, u32, [i32; 3])>,
}

impl Group {
    /// Boxes and pairs of the group `particles`.
    pub fn new(particles: &[u32], to: &Assignment, positions: &[[f64; 3]], exclusions: &Exclusions) -> Self {
        let mut slots: Vec<u32> = (0..particles.len() as u32).collect();
        slots.sort_by_key(|s| to.place[particles[*s as usize] as usize]);
        let places: Vec<u32> = slots.iter().map(|s| to.place[particles[*s as usize] as usize]).collect();
        let leaf = |n: usize| to.leaf_of[places[n] as usize];
        let firsts = (0..places.len()).filter(|n| *n == 0 || leaf(*n) != leaf(n - 1));
        let mut starts: Vec<u32> = firsts.map(|n| n as u32).collect();
        let mut boxes: Vec<u32> = starts.iter().map(|n| leaf(*n as usize)).collect();
        starts.push(places.len() as u32);
        let depth = to.geometry.tree.depth;
        let mut levels = vec![];
        for d in (0..=depth).rev() {
            let pairs = if d == 0 { root_pairs(to, &boxes) } else { refined_pairs(to, d, &boxes) };
            levels.push(GroupLevel { boxes: boxes.clone(), pairs });
            if d > 0 {
                let (fine, coarse) = (to.geometry.level(d), to.geometry.level(d - 1));
                boxes =
                    boxes.iter().map(|b| coarse.index(fine.coordinates(*b as usize).map(|x| x / 2)) as u32).collect();
                boxes.sort_unstable();
                boxes.dedup();
            }
        }
        levels.reverse();
        let mut out = Self { places, slots, starts, levels, near: Vec::new() };
        out.find_near(to, positions, exclusions);
        out
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    fn find_near(&mut self, to: &Assignment, positions: &[[f64; 3]], exclusions: &Exclusions) {
        let grid = to.geometry.leaves();
        let leaves = &self.levels[to.geometry.tree.depth].boxes;
        for (slot, leaf) in leaves.iter().enumerate() {
            for (source, u) in grid.near(grid.coordinates(*leaf as usize)) {
                let Ok(other) = leaves.binary_search(&(source as u32)) else { continue };
                for i in self.starts[slot]..self.starts[slot + 1] {
                    let a = to.order[self.places[i as usize] as usize] as usize;
                    for j in self.starts[other]..self.starts[other + 1] {
                        let b = to.order[self.places[j as usize] as usize] as usize;
                        let itself = i == j && u == [0; 3];
                        let excluded = || exclusions.contains(a, b) && to.displacement(a, b, positions) == u;
                        if !itself && !excluded() {
                            self.near.push((i, j, u));
                        }
                    }
                }
            }
        }
    }

    /// Potentials and fields for `charges[v][k]`.
    pub fn evaluate<T: Real>(
        &self,
        to: &Assignment,
        operators: &Operators<T>,
        sparse: &SparseOperators<T>,
        positions: &[[f64; 3]],
        charges: &[Vec<f64>],
        out: &mut GroupPotentials,
    ) -> Result<(), FmmError> {
        let (n, n_vec, depth) = (self.len(), charges.len(), to.geometry.tree.depth);
        out.potential.resize_with(n_vec, Vec::new);
        out.field.resize_with(n_vec, Vec::new);
        out.potential.iter_mut().for_each(|v| v.resize(n, 0.0));
        out.field.iter_mut().for_each(|v| v.resize(n, [0.0; 3]));
        let members = Members::new(self, to, positions, charges);
        let leaf_locals = self.translate(to, operators, sparse, members.multipoles(self, operators), n_vec);
        let far = members.potentials(self, operators, &leaf_locals, n_vec);
        debug_assert_eq!(self.levels.len(), depth + 1);
        let inverse = 1.0 / to.geometry.scale();
        for v in 0..n_vec {
            for (k, &slot) in self.slots.iter().enumerate() {
                let (phi, field) = members.traces[v].at(members.in_root[k]);
                let value = |q: usize| far[q][v * n + k].widen();
                out.potential[v][slot as usize] = phi + inverse * value(0);
                out.field[v][slot as usize] = [0, 1, 2].map(|a| field[a] + inverse * inverse * value(a + 1));
            }
        }
        self.add_near(to, &members, charges, out);
        let finite = out.potential.iter().flatten().chain(out.field.iter().flatten().flatten()).all(|v| v.is_finite());
        if finite { Ok(()) } else { Err(self.blame(to, positions, out)) }
    }

    fn blame(&self, to: &Assignment, positions: &[[f64; 3]], out: &GroupPotentials) -> FmmError {
        let particle = |k: usize| to.order[self.places[k] as usize] as usize;
        let members = 0..self.len();
        if let Some(k) = members.clone().find(|k| positions[particle(*k)].iter().any(|x| !x.is_finite())) {
            return FmmError::NotFinite { particle: particle(k), what: "position" };
        }
        let infinite = |k: &usize| out.potential.iter().any(|p| p[self.slots[*k] as usize].is_infinite());
        match members.clone().find(infinite) {
            Some(k) => FmmError::Coincident { particle: particle(k) },
            None => FmmError::NotFinite { particle: particle(0), what: "charge" },
        }
    }

    /// Near pairs, in f64.
    fn add_near<T: Real>(
        &self,
        to: &Assignment,
        members: &Members<T>,
        charges: &[Vec<f64>],
        out: &mut GroupPotentials,
    ) {
        for &(i, j, u) in &self.near {
            let (target, source) = (self.slots[i as usize] as usize, self.slots[j as usize] as usize);
            let (a, b) = (members.in_leaf[i as usize], members.in_leaf[j as usize]);
            let d = [0, 1, 2].map(|x| a[x] - (b[x] + f64::from(u[x]) * to.geometry.leaf[x]));
            let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            for (v, q) in charges.iter().enumerate() {
                let phi = q[source] * inverse;
                out.potential[v][target] += phi;
                for (e, d) in out.field[v][target].iter_mut().zip(d) {
                    *e += phi * inverse * inverse * d;
                }
            }
        }
    }

    /// Local expansions of the leaf boxes from their multipoles; rows box · n_vec + v.
    fn translate<T: Real>(
        &self,
        to: &Assignment,
        operators: &Operators<T>,
        sparse: &SparseOperators<T>,
        leaf_multipoles: Vec<T>,
        n_vec: usize,
    ) -> Vec<T> {
        let (stride, depth) = (operators.stride, to.geometry.tree.depth);
        let mut multipoles = vec![leaf_multipoles];
        for d in (1..=depth).rev() {
            let mut coarse = vec![T::zero(); self.levels[d - 1].boxes.len() * n_vec * stride];
            for (octant, pairs) in self.families(to, d, n_vec).iter().enumerate() {
                rows_times_matrix(
                    operators.levels.shift_operators(octant).0,
                    pairs,
                    &multipoles[depth - d],
                    stride,
                    &mut coarse,
                    stride,
                );
            }
            multipoles.push(coarse);
        }
        let mut locals = Vec::new();
        for d in 0..=depth {
            let level = &self.levels[d];
            let mut fine = vec![T::zero(); level.boxes.len() * n_vec * stride];
            if d > 0 {
                for (octant, pairs) in self.families(to, d, n_vec).iter().enumerate() {
                    let down: Vec<RowPair> =
                        pairs.iter().map(|p| RowPair { target: p.source, source: p.target }).collect();
                    rows_times_matrix(
                        operators.levels.shift_operators(octant).1,
                        &down,
                        &locals,
                        stride,
                        &mut fine,
                        stride,
                    );
                }
            }
            let mut rows = Vec::new();
            for same in level.pairs.chunk_by(|a, b| a.operator == b.operator) {
                let Some(operator) = sparse.operators.get(&same[0].operator) else { continue };
                rows.clear();
                rows.extend(same.iter().flat_map(|p| {
                    (0..n_vec as u32)
                        .map(|v| RowPair { target: p.target * n_vec as u32 + v, source: p.source * n_vec as u32 + v })
                }));
                rows_times_matrix(operator, &rows, &multipoles[depth - d], stride, &mut fine, stride);
            }
            locals = fine;
        }
        locals
    }

    /// For each octant, the rows of level d − 1 (target) and of their children on level d (source).
    fn families(&self, to: &Assignment, d: usize, n_vec: usize) -> [Vec<RowPair>; 8] {
        let (fine, coarse) = (to.geometry.level(d), to.geometry.level(d - 1));
        let mut out: [Vec<RowPair>; 8] = Default::default();
        for (source, b) in self.levels[d].boxes.iter().enumerate() {
            let c = fine.coordinates(*b as usize);
            let parent = coarse.index(c.map(|x| x / 2)) as u32;
            let Ok(target) = self.levels[d - 1].boxes.binary_search(&parent) else { continue };
            let octant = (c[0] % 2) << 2 | (c[1] % 2) << 1 | (c[2] % 2);
            out[octant].extend(
                (0..n_vec)
                    .map(|v| RowPair { target: (target * n_vec + v) as u32, source: (source * n_vec + v) as u32 }),
            );
        }
        out
    }
}

/// Pairs of root boxes: each one once, all images together.
fn root_pairs(to: &Assignment, boxes: &[u32]) -> Vec<BoxPair> {
    let level = to.geometry.level(0);
    let mut out = Vec::new();
    for (target, a) in boxes.iter().enumerate() {
        for (source, b) in boxes.iter().enumerate() {
            let (a, b) = (level.coordinates(*a as usize), level.coordinates(*b as usize));
            let t = [0, 1, 2].map(|x| {
                let t = a[x] as i32 - b[x] as i32;
                if level.periodic { t.rem_euclid(level.shape[x] as i32) } else { t }
            });
            if level.periodic || !is_near(t) {
                out.push(BoxPair { target: target as u32, source: source as u32, operator: (true, t) });
            }
        }
    }
    out.sort_by_key(|p| p.operator);
    out
}

/// Pairs of boxes on refined level d whose parents touch but which do not.
fn refined_pairs(to: &Assignment, d: usize, boxes: &[u32]) -> Vec<BoxPair> {
    let level = to.geometry.level(d);
    let mut out = Vec::new();
    let axis = -3..=3;
    for u in axis.clone().flat_map(|x| axis.clone().flat_map(move |y| (-3..=3).map(move |z| [x, y, z]))) {
        if is_near(u) {
            continue;
        }
        for (target, b) in boxes.iter().enumerate() {
            let c = level.coordinates(*b as usize);
            let source = level
                .displaced(c, u)
                .filter(|_| parents_touch(c, u))
                .and_then(|s| boxes.binary_search(&(s as u32)).ok());
            if let Some(source) = source {
                out.push(BoxPair { target: target as u32, source: source as u32, operator: (false, u) });
            }
        }
    }
    out
}

/// Operators between single boxes, made when a group first needs them.
#[derive(Default)]
pub struct SparseOperators<T> {
    coefficients: HashMap<[i32; 3], Vec<f64>>,
    operators: HashMap<Key, Operator<T>>,
}

impl<T: Real> SparseOperators<T> {
    /// Make what `groups` need.
    pub fn prepare(&mut self, groups: &[Group], to: &Assignment, operators: &Operators<T>, order: usize) {
        let keys = groups.iter().flat_map(|g| &g.levels).flat_map(|l| &l.pairs).map(|p| p.operator);
        for key in keys {
            if self.operators.contains_key(&key) {
                continue;
            }
            let operator = match key {
                (true, t) => self.root_operator(t, to, operators, order),
                (false, u) => operators.levels.m2l_operator(u),
            };
            self.operators.insert(key, operator);
        }
    }

    /// Operator of one offset of the root grid, by reflection from the octant of positive offsets.
    fn root_operator(&mut self, t: [i32; 3], to: &Assignment, operators: &Operators<T>, order: usize) -> Operator<T> {
        let grid = &operators.grid;
        let shape = to.geometry.tree.root;
        let mut octant = t;
        let mut reflected = [false; 3];
        for a in 0..3 {
            let n = shape[a] as i32;
            if grid.periodic && 2 * t[a] > n {
                (octant[a], reflected[a]) = (n - t[a], true);
            } else if t[a] < 0 {
                (octant[a], reflected[a]) = (-t[a], true);
            }
        }
        let values = self.coefficients.entry(octant).or_insert_with(|| grid.coefficients(2 * order, octant));
        let sign = |p: &[f64; 3]| (0..3).map(|a| if reflected[a] { p[a] } else { 1.0 }).product::<f64>();
        let signed: Vec<f64> = values.iter().zip(parities(2 * order)).map(|(v, p)| v * sign(&p)).collect();
        Operator::new(count(order), count(order), &m2l(order, &signed, Domain::Space))
    }
}

/// Coordinates and charges of a group's members, by ascending place.
struct Members<T> {
    x: [Vec<T>; 3],
    q: Vec<Vec<T>>,
    in_leaf: Vec<[f64; 3]>,
    in_root: Vec<[f64; 3]>,
    traces: Vec<Trace>,
}

impl<T: Real> Members<T> {
    fn new(group: &Group, to: &Assignment, positions: &[[f64; 3]], charges: &[Vec<f64>]) -> Self {
        let geometry = &to.geometry;
        let grid = geometry.leaves();
        let scale = 1.0 / geometry.scale();
        let volume = geometry.periodic.then(|| geometry.edges().iter().product());
        let mut out = Self {
            x: std::array::from_fn(|_| Vec::new()),
            q: charges.iter().map(|q| group.slots.iter().map(|s| T::of(q[*s as usize])).collect()).collect(),
            in_leaf: Vec::new(),
            in_root: Vec::new(),
            traces: vec![Trace::new(volume); charges.len()],
        };
        for (k, &place) in group.places.iter().enumerate() {
            let r = to.wrapped(place as usize, positions);
            let (centre, root) = geometry.centres(grid.coordinates(to.leaf_of[place as usize] as usize));
            out.in_leaf.push([0, 1, 2].map(|a| r[a] - centre[a]));
            out.in_root.push([0, 1, 2].map(|a| r[a] - root[a]));
            for a in 0..3 {
                out.x[a].push(T::of((r[a] - centre[a]) * scale));
            }
            for (trace, q) in out.traces.iter_mut().zip(charges) {
                trace.add(q[group.slots[k] as usize], out.in_root[k]);
            }
        }
        out
    }

    fn points(&self, range: std::ops::Range<usize>) -> Points<'_, T> {
        Points { x: &self.x[0][range.clone()], y: &self.x[1][range.clone()], z: &self.x[2][range] }
    }

    fn multipoles(&self, group: &Group, operators: &Operators<T>) -> Vec<T> {
        let Operators { stride, table, .. } = operators;
        let n_vec = self.q.len();
        let mut rows = vec![T::zero(); (group.starts.len() - 1) * n_vec * stride];
        let pool = ScratchPool::new();
        for (row, out) in rows.chunks_exact_mut(*stride).enumerate() {
            let range = group.starts[row / n_vec] as usize..group.starts[row / n_vec + 1] as usize;
            let (points, charges) = (self.points(range.clone()), &self.q[row % n_vec][range]);
            kernels::dispatch(P2m { table, points, charges, out, scratch: &mut pool.get() });
        }
        rows
    }

    /// φ, E_x, E_y, E_z of the leaf expansions, at v · n + member.
    fn potentials(&self, group: &Group, operators: &Operators<T>, locals: &[T], n_vec: usize) -> [Vec<T>; 4] {
        let Operators { stride, table, .. } = operators;
        let n = group.len();
        let mut out: [Vec<T>; 4] = std::array::from_fn(|_| vec![T::zero(); n * n_vec]);
        let pool = ScratchPool::new();
        for (row, local) in locals.chunks_exact(*stride).enumerate() {
            let (leaf, v) = (row / n_vec, row % n_vec);
            let range = group.starts[leaf] as usize..group.starts[leaf + 1] as usize;
            let part = out.each_mut().map(|o| &mut o[v * n + range.start..v * n + range.end]);
            kernels::dispatch(L2p { table, points: self.points(range), local, out: part, scratch: &mut pool.get() });
        }
        out
    }
}
