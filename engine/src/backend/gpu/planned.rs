//! The box that a system on a GPU is planned for: number of the boxes of the FMM, grid and buffer of the list, interval between two lists.
//!
//! All of it serves boxes that are not much larger or smaller. A barostat may change the density by more: everything is then planned anew, at a
//! step that follows from the trajectory alone, and a checkpoint says for which box, so that a continued run has the same plan.

use forcefield::Cell;
use forcefield::lennard_jones::fits_on_device;
use nalgebra::Vector3;

/// Volume over that of the plan, or the inverse, from which on the plan is too old: excluded pairs, 0.4 nm apart at most, still lie in
/// touching boxes of 0.5 nm that have shrunk by this much, and the drift that lists bring, which goes with the density, is a quarter above the tolerance.
const OTHER_VOLUME: f64 = 1.25;

/// Edge over that of the plan, or the inverse, likewise, where a barostat scales axes apart: expansions of boxes that are no cubes any more converge more slowly.
const OTHER_EDGE: f64 = 1.1;

/// Part of the reach of the list that opposite faces of the box keep between them, beyond twice the reach.
const ROOM: f64 = 1.005;

/// The same of a plan that can lose it.
const AMPLE: f64 = 1.01;

/// What a system is planned for.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// The box.
    pub cell: Cell,
    /// Cut-off and buffer, nm.
    pub reach: f64,
}

impl Planned {
    /// Whether `cell` asks for another plan.
    pub fn is_outgrown_by(&self, cell: Cell) -> bool {
        let (Some(then), Some(now)) = (self.cell.volume(), cell.volume()) else { return false };
        let ratio = now / then;
        let stretch = cell.stretch_since(&self.cell).unwrap_or(Vector3::repeat(ratio.cbrt()));
        let other = !(1.0 / OTHER_VOLUME..=OTHER_VOLUME).contains(&ratio)
            || stretch.iter().any(|along| !(1.0 / OTHER_EDGE..=OTHER_EDGE).contains(along));
        other || (!fits_on_device(cell, ROOM * self.reach) && fits_on_device(self.cell, AMPLE * self.reach))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_volume_and_a_box_that_becomes_too_small_ask_for_another_plan() {
        let cube = |edge: f64| Cell::rectangular(Vector3::repeat(edge)).unwrap();
        let roomy = Planned { cell: cube(4.0), reach: 1.0 };
        let outgrown = |edges: &[f64]| edges.iter().map(|e| roomy.is_outgrown_by(cube(*e))).collect::<Vec<_>>();
        // 1.25^(1/3) is 1.077.
        assert_eq!(outgrown(&[3.70, 3.72, 4.0, 4.30, 4.32]), [true, false, false, false, true]);
        // One edge by a tenth, at the same volume.
        let stretched = |along: f64| {
            Cell::rectangular(Vector3::new(4.0 * along, 4.0, 4.0 / along)).is_ok_and(|cell| roomy.is_outgrown_by(cell))
        };
        assert_eq!([1.09, 1.11, 0.905, 0.915].map(stretched), [false, true, true, false]);
        // Opposite faces of 2.009 nm leave less than a half percent; a plan that never had more is not made anew for it.
        let tight = Planned { cell: cube(2.1), reach: 1.0 };
        assert!(tight.is_outgrown_by(cube(2.009)) && !tight.is_outgrown_by(cube(2.011)));
        assert!(!Planned { cell: cube(2.015), reach: 1.0 }.is_outgrown_by(cube(2.005)));
        assert!(!Planned { cell: Cell::Open, reach: 1.0 }.is_outgrown_by(Cell::Open));
    }
}
