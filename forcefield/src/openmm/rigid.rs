//! Rigid water: three constraints that make a triangle of an oxygen and two hydrogens, and nothing else.

use std::collections::HashMap;

use crate::topology::{Constraint, Settle, Topology};

/// Lengths of two bonds that are written alike differ by less (relative).
const SAME: f64 = 1e-9;

/// Turns the constraints of molecules of three atoms that are an isosceles triangle with the heaviest atom at the top into [`Settle`]s.
pub(super) fn recognise_waters(top: &mut Topology) {
    let mut of_molecule: HashMap<u32, Vec<Constraint>> = HashMap::new();
    let is_small = |molecule: u32| top.molecules[molecule as usize].atoms.len() == 3;
    let molecule = |one: &Constraint| top.atoms[one.atoms[0] as usize].molecule;
    for one in &top.constraints {
        if is_small(molecule(one)) {
            of_molecule.entry(molecule(one)).or_default().push(*one);
        }
    }
    let waters: HashMap<u32, Settle> =
        of_molecule.iter().filter_map(|(&molecule, sides)| Some((molecule, triangle(top, sides)?))).collect();
    let rest = top.constraints.iter().filter(|one| !waters.contains_key(&molecule(one))).copied().collect();
    top.settles = waters.into_values().collect();
    top.settles.sort_unstable_by_key(|water| water.oxygen);
    top.constraints = rest;
}

/// The water that three constraints make.
fn triangle(top: &Topology, sides: &[Constraint]) -> Option<Settle> {
    let start = top.molecules[top.atoms[sides[0].atoms[0] as usize].molecule as usize].atoms.start;
    let mass = |atom: u32| top.atoms[atom as usize].mass;
    let oxygen = (start..start + 3).rev().max_by(|&a, &b| mass(a).total_cmp(&mass(b)))?;
    let mut hydrogens = (start..start + 3).filter(|&atom| atom != oxygen);
    let [first, second] = [hydrogens.next()?, hydrogens.next()?];
    let length = |a: u32, b: u32| {
        let of = |one: &&Constraint| one.atoms == [a, b] || one.atoms == [b, a];
        sides.iter().find(of).map(|one| one.length)
    };
    let (d_oh, other, d_hh) = (length(oxygen, first)?, length(oxygen, second)?, length(first, second)?);
    let is_water = sides.len() == 3
        && (d_oh - other).abs() <= SAME * d_oh
        && d_hh < 2.0 * d_oh
        && mass(first) == mass(second)
        && mass(oxygen) > mass(first);
    is_water.then_some(Settle { oxygen, hydrogens: [first, second], d_oh, d_hh })
}
