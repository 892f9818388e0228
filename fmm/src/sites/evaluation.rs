//! Potentials and fields that the charges of one group make on its own particles.
//!
//! P2M, M2M, M2L, L2L and L2P over the boxes of the group, for all its charge vectors at once; near pairs one by one in f64. Rows of expansions
//! lie at box · n_vec + v for charge vector v.

use kernels::{Points, Real, RowPair, rows_times_matrix};

use super::boxes::{BoxOffset, Group};
use super::operators::SparseOperators;
use super::potentials::GroupPotentials;
use crate::FmmError;
use crate::geometry::assignment::Assignment;
use crate::operators::l2p::L2p;
use crate::operators::p2m::P2m;
use crate::solver::operators::Operators;
use crate::solver::trace::Trace;
use crate::workspace::Scratch;

/// Work space of one group's evaluation; rows of expansions are at box · n_vec + v.
pub struct GroupSpace<T: Real> {
    x: [Vec<T>; 3],
    /// At v · n + member.
    q: Vec<T>,
    in_leaf: Vec<[f64; 3]>,
    in_root: Vec<[f64; 3]>,
    traces: Vec<Trace>,
    multipoles: Vec<Vec<T>>,
    locals: Vec<Vec<T>>,
    /// φ, E_x, E_y, E_z at v · n + member.
    far: [Vec<T>; 4],
    rows: Vec<RowPair>,
    scratch: Scratch<T>,
}

impl<T: Real> Default for GroupSpace<T> {
    fn default() -> Self {
        Self {
            x: Default::default(),
            q: Vec::new(),
            in_leaf: Vec::new(),
            in_root: Vec::new(),
            traces: Vec::new(),
            multipoles: Vec::new(),
            locals: Vec::new(),
            far: Default::default(),
            rows: Vec::new(),
            scratch: Scratch::default(),
        }
    }
}

/// A group with what its evaluation needs.
pub struct GroupTask<'a, T: Real> {
    /// The group.
    pub group: &'a Group,
    /// The tree.
    pub to: &'a Assignment,
    /// Operators of the whole evaluation.
    pub operators: &'a Operators<T>,
    /// Operators between single boxes.
    pub sparse: &'a SparseOperators<T>,
}

impl<T: Real> GroupTask<'_, T> {
    /// Potentials and fields for `charges[v][k]`.
    pub fn evaluate(
        &self,
        positions: &[[f64; 3]],
        charges: &[Vec<f64>],
        space: &mut GroupSpace<T>,
        out: &mut GroupPotentials,
    ) -> Result<(), FmmError> {
        let (n, n_vec) = (self.group.len(), charges.len());
        out.potential.resize_with(n_vec, Vec::new);
        out.field.resize_with(n_vec, Vec::new);
        self.load(positions, charges, space);
        self.multipoles(n_vec, space);
        self.translate(n_vec, space);
        self.potentials(n_vec, space);
        let inverse = 1.0 / self.to.geometry.scale();
        for v in 0..n_vec {
            let (potential, fields) = (&mut out.potential[v], &mut out.field[v]);
            potential.resize(n, 0.0);
            fields.resize(n, [0.0; 3]);
            for (k, &slot) in self.group.slots.iter().enumerate() {
                let (phi, field) = space.traces[v].at(space.in_root[k]);
                let value = |q: usize| space.far[q][v * n + k].widen();
                potential[slot as usize] = phi + inverse * value(0);
                fields[slot as usize] = [0, 1, 2].map(|a| field[a] + inverse * inverse * value(a + 1));
            }
        }
        self.add_near(space, charges, out);
        let finite = out.potential.iter().flatten().chain(out.field.iter().flatten().flatten()).all(|v| v.is_finite());
        if finite { Ok(()) } else { Err(self.blame(positions, out)) }
    }

    fn blame(&self, positions: &[[f64; 3]], out: &GroupPotentials) -> FmmError {
        let particle = |k: usize| self.to.order[self.group.places[k] as usize] as usize;
        let members = 0..self.group.len();
        if let Some(k) = members.clone().find(|k| positions[particle(*k)].iter().any(|x| !x.is_finite())) {
            return FmmError::NotFinite { particle: particle(k), what: "position" };
        }
        let infinite = |k: &usize| out.potential.iter().any(|p| p[self.group.slots[*k] as usize].is_infinite());
        match members.clone().find(infinite) {
            Some(k) => FmmError::Coincident { particle: particle(k) },
            None => FmmError::NotFinite { particle: particle(0), what: "charge" },
        }
    }

    /// Coordinates and charges of the members, by ascending place.
    fn load(&self, positions: &[[f64; 3]], charges: &[Vec<f64>], space: &mut GroupSpace<T>) {
        let (geometry, group) = (&self.to.geometry, self.group);
        let scale = 1.0 / geometry.scale();
        space.x.iter_mut().for_each(Vec::clear);
        space.in_leaf.clear();
        space.in_root.clear();
        space.traces.clear();
        space.traces.resize(charges.len(), Trace::new(geometry.volume));
        for (leaf, at) in group.leaves().iter().enumerate() {
            let (centre, root) = geometry.centres(self.to.leaves().coordinates[*at as usize]);
            for k in group.members(leaf) {
                let r = self.to.wrapped(group.places[k] as usize, positions);
                let in_root = [0, 1, 2].map(|a| r[a] - root[a]);
                space.in_leaf.push([0, 1, 2].map(|a| r[a] - centre[a]));
                space.in_root.push(in_root);
                for a in 0..3 {
                    space.x[a].push(T::of((r[a] - centre[a]) * scale));
                }
                for (trace, q) in space.traces.iter_mut().zip(charges) {
                    trace.add(q[group.slots[k] as usize], in_root);
                }
            }
        }
        space.q.clear();
        for q in charges {
            space.q.extend(group.slots.iter().map(|s| T::of(q[*s as usize])));
        }
    }

    /// Multipoles of all boxes: those of the leaves are made from the charges, the others from their children.
    fn multipoles(&self, n_vec: usize, space: &mut GroupSpace<T>) {
        let Operators { stride, table, m2m, .. } = self.operators;
        let GroupSpace { x, q, multipoles, rows, scratch, .. } = space;
        let (levels, n) = (&self.group.levels, self.group.len());
        fit(multipoles, levels.iter().map(|l| l.boxes.len() * n_vec * stride));
        let Some(leaves) = multipoles.last_mut() else { return };
        for (row, out) in leaves.chunks_exact_mut(*stride).enumerate() {
            let (range, v) = (self.group.members(row / n_vec), row % n_vec);
            let charges = &q[v * n..][range.clone()];
            kernels::dispatch_vectors(P2m { table, points: points(x, range), charges, out, scratch });
        }
        for d in (1..levels.len()).rev() {
            let (coarse, fine) = multipoles.split_at_mut(d);
            for octant in 0..8 {
                self.family(d, octant, n_vec, rows);
                rows_times_matrix(m2m.operator(octant), rows, &fine[0], *stride, &mut coarse[d - 1], *stride);
            }
        }
    }

    /// Rows of level d − 1 (target) and of their children in one octant on level d (source).
    fn family(&self, d: usize, octant: usize, n_vec: usize, rows: &mut Vec<RowPair>) {
        let level = &self.group.levels[d];
        rows.clear();
        for (source, (parent, own)) in level.parents.iter().zip(&level.octants).enumerate() {
            if usize::from(*own) == octant {
                let row = |at: usize, v: usize| (at * n_vec + v) as u32;
                rows.extend((0..n_vec).map(|v| RowPair { target: row(*parent as usize, v), source: row(source, v) }));
            }
        }
    }

    /// Local expansions of all boxes.
    fn translate(&self, n_vec: usize, space: &mut GroupSpace<T>) {
        let Operators { stride, l2l, m2l, .. } = self.operators;
        let GroupSpace { multipoles, locals, rows, scratch, .. } = space;
        let levels = &self.group.levels;
        fit(locals, levels.iter().map(|l| l.boxes.len() * n_vec * stride));
        for (d, level) in levels.iter().enumerate() {
            let (coarse, fine) = locals.split_at_mut(d);
            for octant in 0..if d > 0 { 8 } else { 0 } {
                self.family(d, octant, n_vec, rows);
                rows.iter_mut().for_each(|r| *r = RowPair { target: r.source, source: r.target });
                rows_times_matrix(l2l.operator(octant), rows, &coarse[d - 1], *stride, &mut fine[0], *stride);
            }
            for same in level.pairs.chunk_by(|a, b| a.offset == b.offset) {
                let offset = same[0].offset;
                let kept = if let BoxOffset::Refined(u) = offset { m2l.kept(u) } else { None };
                let Some(operator) = kept.or_else(|| self.sparse.get(offset)) else { continue };
                rows.clear();
                for p in same {
                    let row = |at: u32, v: usize| at * n_vec as u32 + v as u32;
                    rows.extend((0..n_vec).map(|v| RowPair { target: row(p.target, v), source: row(p.source, v) }));
                }
                operator.apply(rows, &multipoles[d], &mut fine[0], *stride, &mut scratch.lines);
            }
        }
    }

    /// φ, E_x, E_y, E_z of the leaf expansions.
    fn potentials(&self, n_vec: usize, space: &mut GroupSpace<T>) {
        let Operators { stride, table, .. } = self.operators;
        let GroupSpace { x, locals, far, scratch, .. } = space;
        let n = self.group.len();
        far.iter_mut().for_each(|f| f.resize(n * n_vec, T::zero()));
        let Some(leaves) = locals.last() else { return };
        for (row, local) in leaves.chunks_exact(*stride).enumerate() {
            let (range, v) = (self.group.members(row / n_vec), row % n_vec);
            let out = far.each_mut().map(|f| &mut f[v * n..][range.clone()]);
            kernels::dispatch_vectors(L2p { table, points: points(x, range), local, out, scratch });
        }
    }

    /// Near pairs, in f64.
    fn add_near(&self, space: &GroupSpace<T>, charges: &[Vec<f64>], out: &mut GroupPotentials) {
        let basis = &self.to.geometry.basis;
        for pair in &self.group.near {
            let (i, j) = (pair.target as usize, pair.source as usize);
            let (target, source) = (self.group.slots[i] as usize, self.group.slots[j] as usize);
            let (a, b, u) = (space.in_leaf[i], space.in_leaf[j], pair.offset.map(f64::from));
            let d = [0, 1, 2].map(|x| a[x] - (b[x] + u[0] * basis[0][x] + u[1] * basis[1][x] + u[2] * basis[2][x]));
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
}

fn points<T>(x: &[Vec<T>; 3], range: std::ops::Range<usize>) -> Points<'_, T> {
    Points { x: &x[0][range.clone()], y: &x[1][range.clone()], z: &x[2][range] }
}

/// Zeros in lists of these lengths.
fn fit<T: Real>(lists: &mut Vec<Vec<T>>, lengths: impl ExactSizeIterator<Item = usize>) {
    lists.resize_with(lengths.len(), Vec::new);
    for (list, length) in lists.iter_mut().zip(lengths) {
        list.clear();
        list.resize(length, T::zero());
    }
}
