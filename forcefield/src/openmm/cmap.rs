//! Correction maps: OpenMM counts angles from 0 to 2π and the first angle fastest, GROMACS from −π and the second fastest.
//!
//! The energy at (φ, ψ) = (2π i/n, 2π j/n) is entry i + n j there; here entry i n + j lies at (−π + 2π i/n, −π + 2π j/n), which are the same
//! points if n is even. Both interpolate by the periodic bicubic spline.

use super::bonded::Terms;
use super::element::Element;
use super::error::SystemXmlError;
use crate::topology::{Cmap, CmapGrid};

const FIRST: [&str; 4] = ["a1", "a2", "a3", "a4"];
const SECOND: [&str; 4] = ["b1", "b2", "b3", "b4"];

pub(super) fn read(terms: &mut Terms, force: &Element<'_>) -> Result<(), SystemXmlError> {
    let before = terms.cmap_grids.len();
    for map in force.children("Maps") {
        let size = map.whole("size")? as usize;
        if !(4..=360).contains(&size) || !size.is_multiple_of(2) {
            return Err(map.invalid("size", "an even number from 4 to 360"));
        }
        let energies = map.elements().map(|one| one.real("e")).collect::<Result<Vec<_>, _>>()?;
        if energies.len() != size * size {
            let (found, wanted) = (energies.len(), size * size);
            return Err(force.unsupported(format!("a map of size {size} has {found} energies, where {wanted} belong")));
        }
        let turned = |k: usize| (k + size / 2) % size;
        let at = |k: usize| energies[turned(k / size) + size * turned(k % size)];
        terms.cmap_grids.push(CmapGrid { size, values: (0..size * size).map(at).collect() });
    }
    let maps = terms.cmap_grids.len() - before;
    for torsion in force.children("Torsions") {
        let [a1, a2, a3, a4] = torsion.atoms(FIRST, terms.n_atoms())?;
        let [b1, b2, b3, b4] = torsion.atoms(SECOND, terms.n_atoms())?;
        if [b1, b2, b3] != [a2, a3, a4] || b4 == a1 {
            let what = format!(
                "torsions {a1} {a2} {a3} {a4} and {b1} {b2} {b3} {b4} (counted from 0) of a correction map; valid are two that follow on each other in a chain of five atoms"
            );
            return Err(force.unsupported(what));
        }
        let map = torsion.whole("map")? as usize;
        if map >= maps {
            return Err(torsion.invalid("map", format!("a map from 0 to {}", maps.saturating_sub(1))));
        }
        terms.cmaps.push(Cmap { atoms: [a1, a2, a3, a4, b4], grid: (before + map) as u32 });
    }
    Ok(())
}
