//! Lennard-Jones of atoms whose type depends on the form: neighbour list, pairs within the cut-off, 1-4 pairs.
//!
//! A pair is c12 v₁₂(r) − c6 v₆(r) with powers modified at the cut-off as those of all other pairs
//! ([`Modifier`]), or plain and without cut-off for 1-4 pairs. What is linear in the weights of one site, and bilinear in those of two, are the roots
//! c6^(1/6) and c12^(1/12) of pairs within the cut-off, and c6 and c12 of 1-4 pairs ([`super`] says why). The list holds every pair once.

mod mixing;

use kernels::lennard_jones::Modified;
use nalgebra::Vector3;
use rayon::prelude::*;

pub(crate) use mixing::{Mixing, RootTable, Roots, Weights};

use self::mixing::Powers;
use super::bonded::labels;
use super::{SiteVariants, VariantError};
use crate::cell::Cell;
use crate::lennard_jones::{LennardJonesError, ListOrigin, Modifier, check_cell};
use crate::topology::{AtomType, LennardJonesTable, Pair14 as TopologyPair, Topology, Well};
use crate::{ExcludedPairs, TermEnergy};

/// Marks an atom that keeps its type.
pub(crate) const CONSTANT: u32 = u32::MAX;

/// How far the Lennard-Jones of these atoms reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// Cut-off, nm.
    pub cutoff: f64,
    /// What is done to the potential at the cut-off.
    pub modifier: Modifier,
    /// By how much the list reaches beyond, nm.
    pub buffer: f64,
}

/// An atom that changes type.
#[derive(Clone, Debug)]
pub(crate) struct Changing {
    pub atom: u32,
    site: usize,
    /// Weights of its site.
    pub weights: Weights,
    /// Type in each form.
    pub types: Vec<u32>,
}

/// A 1-4 pair with (c6, c12) of every form, or of every two forms (those of the second site innermost).
#[derive(Clone, Debug)]
pub(crate) struct Pair14 {
    pub atoms: [u32; 2],
    pub mixing: Mixing,
    pub coefficients: Vec<(f64, f64)>,
}

/// All pairs with an atom that changes type.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    modified: Modified,
    buffer: f64,
    pub table: RootTable,
    /// Type of every atom in the topology.
    pub types: Vec<u32>,
    exclusions: ExcludedPairs,
    pub changing: Vec<Changing>,
    /// Number among `changing` of every atom, [`CONSTANT`] of those that keep their type.
    pub numbers: Vec<u32>,
    pub pairs: Vec<Pair14>,
    /// Neighbours of each changing atom.
    neighbours: Vec<Vec<u32>>,
    /// From where the changing atoms were listed.
    origin: ListOrigin,
}

impl Pairs {
    pub fn new(
        top: &Topology,
        sites: &[SiteVariants],
        weight_starts: &[usize],
        range: Range,
    ) -> Result<Self, VariantError> {
        let mut numbers = vec![CONSTANT; top.n_atoms()];
        let mut changing = Vec::new();
        for (site, variants) in sites.iter().enumerate() {
            let first = weight_starts[site];
            let weights = Weights { first, forms: weight_starts[site + 1] - first };
            for variant in &variants.types {
                check(top, site, variant.atom, &variant.types, weights.forms)?;
                let number = &mut numbers[variant.atom as usize];
                if *number != CONSTANT {
                    return Err(VariantError::Repeated(top.label(variant.atom)));
                }
                *number = changing.len() as u32;
                changing.push(Changing { atom: variant.atom, site, weights, types: variant.types.clone() });
            }
        }
        let mut all = Self {
            modified: range.modifier.at_cutoff(range.cutoff),
            buffer: range.buffer,
            table: if changing.is_empty() { RootTable::default() } else { RootTable::of(&top.lj) },
            types: top.atoms.iter().map(|a| a.type_index).collect(),
            exclusions: if changing.is_empty() { ExcludedPairs::default() } else { top.exclusions.clone() },
            neighbours: vec![Vec::new(); changing.len()],
            changing,
            numbers,
            pairs: Vec::new(),
            origin: ListOrigin::default(),
        };
        all.pairs = all.pairs_14(top, sites)?;
        Ok(all)
    }

    /// Makes changing atoms inert in `top` and their 1-4 pairs free of Lennard-Jones.
    pub fn take_out(&self, top: &mut Topology) {
        if self.changing.is_empty() {
            return;
        }
        let n = top.lj.n_types;
        let extended = |c: &[f64]| -> Vec<f64> {
            let rows = c.chunks_exact(n).flat_map(|row| row.iter().copied().chain([0.0]));
            rows.chain(std::iter::repeat_n(0.0, n + 1)).collect()
        };
        top.lj = LennardJonesTable { n_types: n + 1, c6: extended(&top.lj.c6), c12: extended(&top.lj.c12) };
        top.atom_types.push(AtomType { name: "(changing)".into(), atomic_number: None });
        self.changing.iter().for_each(|c| top.atoms[c.atom as usize].type_index = n as u32);
        for pair in &mut top.pairs {
            if pair.atoms.iter().any(|&a| self.numbers[a as usize] != CONSTANT) {
                (pair.c6, pair.c12) = (0.0, 0.0);
            }
        }
    }

    fn changing(&self, atom: u32) -> Option<&Changing> {
        self.changing.get(self.numbers[atom as usize] as usize)
    }

    /// Which weights a pair depends on, of which at least the first atom changes or the second does.
    fn mixing(&self, a: Option<&Changing>, b: Option<&Changing>) -> Option<Mixing> {
        Some(match (a, b) {
            (Some(a), Some(b)) if a.site != b.site => Mixing::Two([a.weights, b.weights]),
            (Some(one), _) | (None, Some(one)) => Mixing::One(one.weights),
            (None, None) => return None,
        })
    }

    fn type_of(&self, atom: u32, changing: Option<&Changing>, form: usize) -> u32 {
        changing.map_or(self.types[atom as usize], |c| c.types[form])
    }

    /// 1-4 pairs of changing atoms: own parameters for the types of the topology, else the Lennard-Jones of the types times one factor, or what the other
    /// atom's own parameters give with the new type ([`exchanged`]).
    fn pairs_14(&self, top: &Topology, sites: &[SiteVariants]) -> Result<Vec<Pair14>, VariantError> {
        let mut found = Vec::new();
        let scale = if self.changing.is_empty() { None } else { pair_scale(top) };
        for pair in &top.pairs {
            let [i, j] = pair.atoms;
            let (a, b) = (self.changing(i), self.changing(j));
            let Some(mixing) = self.mixing(a, b) else { continue };
            let forms: Vec<[usize; 2]> = match mixing {
                Mixing::One(one) => (0..one.forms).map(|form| [form; 2]).collect(),
                Mixing::Two([a, b]) => (0..a.forms).flat_map(|k| (0..b.forms).map(move |l| [k, l])).collect(),
            };
            let given = [a, b].into_iter().flatten().find_map(|c| sites[c.site].pair_scale);
            let coefficients = forms.into_iter().map(|[k, l]| {
                let types = [self.type_of(i, a, k), self.type_of(j, b, l)];
                if types == [self.types[i as usize], self.types[j as usize]] {
                    return Ok((pair.c6, pair.c12));
                }
                let (c6, c12) = top.lj.get(types[0], types[1]);
                if (c6, c12) == (0.0, 0.0) {
                    return Ok((0.0, 0.0));
                }
                let own = types.iter().any(|kind| top.wells_14.contains_key(kind));
                match given.or(scale).filter(|_| !own) {
                    Some(scale) => Ok((scale * c6, scale * c12)),
                    None => exchanged(top, pair, types)
                        .ok_or_else(|| VariantError::PairScale { atoms: labels(top, &[i, j]) }),
                }
            });
            found.push(Pair14 {
                atoms: [i, j],
                mixing,
                coefficients: coefficients.collect::<Result<_, VariantError>>()?,
            });
        }
        Ok(found)
    }

    pub fn rebuild(&mut self, x: &[Vector3<f64>], cell: Cell) -> Result<(), LennardJonesError> {
        if self.changing.is_empty() {
            return Ok(());
        }
        let reach = self.modified.cutoff + self.buffer;
        check_cell(cell, reach)?;
        let atoms = self.changing.iter().map(|c| c.atom as usize);
        if let Some(atom) = atoms.clone().find(|&a| !x[a].iter().all(|c| c.is_finite())) {
            return Err(LennardJonesError::NotFinite { atom });
        }
        self.origin.note(atoms.map(|a| x[a]), cell);
        let lists = (0..self.changing.len()).into_par_iter().map(|k| self.near_atom(k, x, cell, reach)).collect();
        self.neighbours = lists;
        Ok(())
    }

    /// Neighbours of changing atom `k`: other changing atoms only if they come later, so that every pair is met once.
    fn near_atom(&self, k: usize, x: &[Vector3<f64>], cell: Cell, reach: f64) -> Vec<u32> {
        let this = &self.changing[k];
        let excluded = self.exclusions.of(this.atom);
        let from = x[this.atom as usize];
        let active: Vec<bool> = (0..self.table.n_types as u32)
            .map(|t| this.types.iter().any(|&own| self.table.get(own, t) != Roots::default()))
            .collect();
        let wanted = |j: u32| match self.changing(j) {
            None => active[self.types[j as usize] as usize],
            Some(_) => self.numbers[j as usize] as usize > k,
        };
        (0..x.len() as u32)
            .filter(|&j| {
                wanted(j)
                    && cell.minimum_image(from - x[j as usize]).norm_squared() < reach * reach
                    && excluded.binary_search(&j).is_err()
            })
            .collect()
    }

    pub fn is_stale(&self, x: &[Vector3<f64>], cell: Cell) -> bool {
        if self.changing.is_empty() {
            return false;
        }
        let now = self.changing.iter().map(|changing| x[changing.atom as usize]);
        self.origin.is_stale(now, cell, (self.modified.cutoff, self.buffer))
    }

    /// Pairs of the list within the cut-off.
    pub fn near(
        &self,
        x: &[Vector3<f64>],
        cell: Cell,
        weights: &[f64],
        f: &mut [Vector3<f64>],
        dv: &mut [f64],
    ) -> TermEnergy {
        let mut sum = TermEnergy::default();
        self.each_near(x, cell, weights, dv, |atoms, _, force, energy| {
            add_pair(atoms, force, f);
            sum += energy;
        });
        sum
    }

    /// The virial of [`Self::near`] along each axis less Σ x_a F_a over the atoms: what that sum misses where pairs meet across a face of the box.
    pub fn virial_of_images(&self, x: &[Vector3<f64>], cell: Cell, weights: &[f64]) -> Vector3<f64> {
        let mut sum = Vector3::zeros();
        self.each_near(x, cell, weights, &mut vec![0.0; weights.len()], |[i, j], d, force, _| {
            sum += (d - (x[i as usize] - x[j as usize])).component_mul(&force);
        });
        sum
    }

    /// Hands every pair of the list within the cut-off to `take`: atoms, their difference, the force on the first one, energy.
    fn each_near(
        &self,
        x: &[Vector3<f64>],
        cell: Cell,
        weights: &[f64],
        dv: &mut [f64],
        mut take: impl FnMut([u32; 2], Vector3<f64>, Vector3<f64>, TermEnergy),
    ) {
        let limit = self.modified.cutoff * self.modified.cutoff;
        for (this, neighbours) in self.changing.iter().zip(&self.neighbours) {
            for &j in neighbours {
                let d = cell.minimum_image(x[this.atom as usize] - x[j as usize]);
                let r2 = d.norm_squared();
                if r2 >= limit {
                    continue;
                }
                let other = self.changing(j);
                let Some(mixing) = self.mixing(Some(this), other) else { continue };
                let roots = |k: usize, l: usize| self.table.get(this.types[k], self.type_of(j, other, l));
                let [energy, virial] = Powers::modified(&self.modified, r2).mixed_roots(mixing, roots, weights, dv);
                take([this.atom, j], d, d * (virial / r2), TermEnergy { energy, virial });
            }
        }
    }

    /// 1-4 pairs: plain, whole molecules.
    pub fn bonded_14(&self, x: &[Vector3<f64>], weights: &[f64], f: &mut [Vector3<f64>], dv: &mut [f64]) -> TermEnergy {
        let mut sum = TermEnergy::default();
        for pair in &self.pairs {
            let d = x[pair.atoms[0] as usize] - x[pair.atoms[1] as usize];
            let r2 = d.norm_squared();
            let columns = match pair.mixing {
                Mixing::One(..) => 0,
                Mixing::Two([_, second]) => second.forms,
            };
            let coefficients = |k: usize, l: usize| pair.coefficients[if columns == 0 { k } else { columns * k + l }];
            let [energy, virial] = Powers::plain(r2).mixed(pair.mixing, coefficients, weights, dv);
            add_pair(pair.atoms, d * (virial / r2), f);
            sum += TermEnergy { energy, virial };
        }
        sum
    }
}

fn add_pair([i, j]: [u32; 2], force: Vector3<f64>, f: &mut [Vector3<f64>]) {
    f[i as usize] += force;
    f[j as usize] -= force;
}

fn check(top: &Topology, site: usize, atom: u32, types: &[u32], n_forms: usize) -> Result<(), VariantError> {
    if atom as usize >= top.n_atoms() {
        return Err(VariantError::Atoms { site: site + 1, atoms: vec![atom] });
    }
    if types.len() != n_forms {
        let what = format!("Lennard-Jones types of {}", top.label(atom));
        return Err(VariantError::Forms { what, found: types.len(), expected: n_forms });
    }
    if let Some(&found) = types.iter().find(|&&t| t as usize >= top.lj.n_types) {
        return Err(VariantError::Type { site: site + 1, found, types: top.lj.n_types });
    }
    let attracts_or_repels =
        |t: u32| (0..top.lj.n_types as u32).all(|u| top.lj.get(t, u).0 >= 0.0 && top.lj.get(t, u).1 >= 0.0);
    match types.iter().find(|&&t| !attracts_or_repels(t)) {
        Some(&found) => {
            Err(VariantError::Negative { atom: top.label(atom), name: top.atom_types[found as usize].name.clone() })
        }
        None => Ok(()),
    }
}

/// The coefficients of a 1-4 pair of which one atom has another type, where atoms may have parameters of their own for 1-4 pairs, as with CHARMM: by the rule of
/// Lorentz and Berthelot the pair tells those of the other atom. None if both have another type, or if the atom that changes has such parameters, too: then no 1-4
/// pair of it is what its type has elsewhere.
fn exchanged(top: &Topology, pair: &TopologyPair, types: [u32; 2]) -> Option<(f64, f64)> {
    let of = |atom: u32| top.atoms[atom as usize].type_index;
    let (atom, new) = match (types[0] == of(pair.atoms[0]), types[1] == of(pair.atoms[1])) {
        (false, true) => (pair.atoms[0], types[0]),
        (true, false) => (pair.atoms[1], types[1]),
        _ => return None,
    };
    let plain = |one: &TopologyPair| {
        let elsewhere = Well::of(top.lj.get(of(one.atoms[0]), of(one.atoms[1])));
        Well::of((one.c6, one.c12)).zip(elsewhere).is_some_and(|(here, elsewhere)| here.is_same(elsewhere))
    };
    if !top.pairs.iter().any(|one| one.atoms.contains(&atom) && plain(one)) {
        return None;
    }
    let other = Well::of((pair.c6, pair.c12))?.without(top.lj.well(of(atom))?)?;
    let new = top.wells_14.get(&new).copied().or_else(|| top.lj.well(new))?;
    Some(new.with(other).coefficients())
}

/// Lennard-Jones of 1-4 pairs over that of the same types elsewhere, if it is one number.
fn pair_scale(top: &Topology) -> Option<f64> {
    let mut scale = None;
    for pair in &top.pairs {
        let [i, j] = pair.atoms.map(|a| top.atoms[a as usize].type_index);
        let (c6, c12) = top.lj.get(i, j);
        if c12 == 0.0 {
            continue;
        }
        let ratio = pair.c12 / c12;
        let first = *scale.get_or_insert(ratio);
        // Products of the same factor, rounded.
        if (ratio - first).abs() > 1e-12 * first.abs() || (pair.c6 - first * c6).abs() > 1e-12 * (first * c6).abs() {
            return None;
        }
    }
    scale
}
