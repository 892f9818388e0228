//! Atoms, residues and molecules of a system whose file has no names: names and numbers of the structure, molecules of bonds and constraints.
//!
//! A molecule is the shortest run of atoms that no bond leaves. A residue is a run of atoms of one molecule with one number and one name; where
//! the name of its first atom comes again another one begins (27 and 27A of the same kind, which a `.gro` file does not tell apart).

use std::collections::HashMap;

use crate::structure::Structure;
use crate::topology::{Atom, Molecule, Residue, Topology};

/// Fills atoms (without charge and type), residues and molecules of `top`.
pub(super) fn name_atoms(top: &mut Topology, structure: &Structure, masses: &[f64], links: &[[u32; 2]]) {
    // The last atom that each atom is bonded to.
    let mut reach: Vec<u32> = (0..masses.len() as u32).collect();
    for [i, j] in links {
        let first = (*i).min(*j) as usize;
        reach[first] = reach[first].max((*i).max(*j));
    }
    let mut end = 0;
    for (index, mass) in (0..).zip(masses) {
        let starts = index >= end;
        if starts {
            top.molecules.push(Molecule { name: String::new(), atoms: index..index });
        }
        end = end.max(reach[index as usize] + 1);
        let molecule = top.molecules.len() as u32 - 1;
        top.molecules[molecule as usize].atoms.end = index + 1;
        let ((residue, name), number) = (&structure.names[index as usize], structure.residue_numbers[index as usize]);
        let continues = |last: &Residue| {
            let first = &structure.names[last.atoms.start as usize].1;
            (last.number, &last.name) == (number, residue) && last.molecule == molecule && first != name
        };
        match top.residues.last_mut().filter(|last| continues(last)) {
            Some(last) => last.atoms.end = index + 1,
            None => {
                let (name, atoms) = (residue.clone(), index..index + 1);
                top.residues.push(Residue { name, number, insertion: None, molecule, atoms });
            }
        }
        let residue = top.residues.len() as u32 - 1;
        top.atoms.push(Atom { name: name.clone(), type_index: 0, residue, molecule, charge: 0.0, mass: *mass });
    }
    name_molecules(top);
}

/// Molecules of one residue have its name; others are chain_1, chain_2, … in their order, those of equal residues and atoms alike.
fn name_molecules(top: &mut Topology) {
    let mut chains: HashMap<Vec<&str>, usize> = HashMap::new();
    let mut names = Vec::with_capacity(top.molecules.len());
    for molecule in &top.molecules {
        let atoms = &top.atoms[molecule.atoms.start as usize..molecule.atoms.end as usize];
        let residue = |atom: &Atom| top.residues[atom.residue as usize].name.as_str();
        let (Some(first), Some(last)) = (atoms.first(), atoms.last()) else { continue };
        if first.residue == last.residue {
            names.push(residue(first).to_string());
            continue;
        }
        let key = atoms.iter().flat_map(|atom| [residue(atom), atom.name.as_str()]).collect();
        let next = chains.len() + 1;
        names.push(format!("chain_{}", chains.entry(key).or_insert(next)));
    }
    top.molecules.iter_mut().zip(names).for_each(|(molecule, name)| molecule.name = name);
}
