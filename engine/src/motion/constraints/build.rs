//! From lists of fixed distances and waters to independent groups and parallel tasks.
//!
//! Groups are the connected components of the graph of fixed distances. Tasks are runs of groups, in the order of their
//! first atoms, cut where the atoms before and after do not overlap: each task owns a range of atoms.

use forcefield::topology::{Constraint, Settle};
use std::collections::HashSet;

use super::settle::Triangle;
use super::shake::{BondGroup, FixedBond};
use super::{ConstraintError, GROUPS_PER_TASK, Group, Task};

/// Refuse constraints that make no sense.
pub(super) fn check(masses: &[f64], constraints: &[Constraint], settles: &[Settle]) -> Result<(), ConstraintError> {
    let error = |atoms, reason| Err(ConstraintError::Input { atoms, reason });
    let bonds = constraints.iter().map(|c| (c.atoms, c.length));
    let waters = settles.iter().flat_map(|s| {
        let [h1, h2] = s.hydrogens;
        [([s.oxygen, h1], s.d_oh), ([s.oxygen, h2], s.d_oh), ([h1, h2], s.d_hh)]
    });
    for (atoms, length) in bonds.chain(waters) {
        if atoms.iter().any(|&atom| atom as usize >= masses.len()) {
            return error(atoms, "no such atom in the system");
        }
        if atoms[0] == atoms[1] {
            return error(atoms, "an atom cannot be constrained to itself");
        }
        if !(length.is_finite() && length > 0.0) {
            return error(atoms, "the length must be positive and finite");
        }
        if atoms.iter().any(|&a| !(masses[a as usize].is_finite() && masses[a as usize] > 0.0)) {
            return error(atoms, "constrained atoms need a positive mass");
        }
    }
    // Held twice, a pair would take two degrees of freedom.
    let mut held = HashSet::with_capacity(constraints.len());
    for constraint in constraints {
        let [a, b] = constraint.atoms;
        if !held.insert([a.min(b), a.max(b)]) {
            return error(
                constraint.atoms,
                "these atoms are held by another constraint already; leave one of them out",
            );
        }
    }
    let mut in_water = vec![false; masses.len()];
    for settle in settles {
        let [h1, h2] = settle.hydrogens;
        for atom in [settle.oxygen, h1, h2] {
            if std::mem::replace(&mut in_water[atom as usize], true) {
                return error([settle.oxygen, atom], "the atom belongs to two rigid waters");
            }
        }
    }
    for constraint in constraints {
        if constraint.atoms.iter().any(|&atom| in_water[atom as usize]) {
            return error(constraint.atoms, "an atom of a rigid water cannot have other constraints");
        }
    }
    Ok(())
}

/// The group of one rigid water; its shape is looked up in, or added to, `kinds`.
pub(super) fn water(masses: &[f64], settle: &Settle, kinds: &mut Vec<Triangle>) -> Result<Group, ConstraintError> {
    let [h1, h2] = settle.hydrogens;
    let mass = |atom: u32| masses[atom as usize];
    if mass(h1) != mass(h2) {
        let reason = "SETTLE needs two hydrogens of the same mass";
        return Err(ConstraintError::Input { atoms: [h1, h2], reason });
    }
    let triangle = Triangle::new(settle.d_oh, settle.d_hh, mass(settle.oxygen), mass(h1))
        .ok_or(ConstraintError::Input { atoms: [settle.oxygen, h1], reason: "the distances make no triangle" })?;
    let kind = kinds.iter().position(|k| *k == triangle).unwrap_or_else(|| {
        kinds.push(triangle);
        kinds.len() - 1
    });
    Ok(Group::Water { atoms: [settle.oxygen, h1, h2], kind: kind as u32 })
}

/// Connected components of the graph of fixed distances.
pub(super) fn bond_groups(masses: &[f64], constraints: &[Constraint]) -> Vec<BondGroup> {
    let mut root: Vec<u32> = (0..masses.len() as u32).collect();
    for constraint in constraints {
        let [i, j] = constraint.atoms.map(|atom| find(&mut root, atom));
        // The smallest atom represents its group.
        root[i.max(j) as usize] = i.min(j);
    }
    let mut group_of_root = std::collections::BTreeMap::new();
    for constraint in constraints {
        group_of_root.entry(find(&mut root, constraint.atoms[0])).or_insert_with(Vec::new).push(*constraint);
    }
    group_of_root.into_values().map(|bonds| bond_group(masses, &bonds)).collect()
}

fn find(root: &mut [u32], atom: u32) -> u32 {
    let mut at = atom;
    while root[at as usize] != at {
        root[at as usize] = root[root[at as usize] as usize];
        at = root[at as usize];
    }
    at
}

fn bond_group(masses: &[f64], constraints: &[Constraint]) -> BondGroup {
    let mut atoms: Vec<u32> = constraints.iter().flat_map(|c| c.atoms).collect();
    atoms.sort_unstable();
    atoms.dedup();
    let local = |atom: u32| atoms.partition_point(|&other| other < atom) as u32;
    let bonds = constraints.iter().map(|c| FixedBond { ends: c.atoms.map(local), length: c.length }).collect();
    let inverse_masses = atoms.iter().map(|&atom| 1.0 / masses[atom as usize]).collect();
    BondGroup { atoms, inverse_masses, bonds }
}

/// Cut groups (ordered by first atom) into tasks with ranges of atoms that do not overlap.
pub(super) fn split_into_tasks(groups: &[Group]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let first = group.atoms().iter().copied().min().unwrap_or(0) as usize;
        let end = group.atoms().iter().copied().max().map_or(0, |atom| atom as usize + 1);
        match tasks.last_mut() {
            Some(task) if task.groups.len() < GROUPS_PER_TASK || first < task.atoms.end => {
                task.groups.end = index + 1;
                task.atoms.end = task.atoms.end.max(end);
            }
            _ => tasks.push(Task { groups: index..index + 1, atoms: first..end }),
        }
    }
    tasks
}
