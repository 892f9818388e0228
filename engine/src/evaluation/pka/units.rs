//! Errors of pKa values from walkers or runs as wholes, see [`lambda::analysis::units`].

use crate::evaluation::runs::Run;
use lambda::analysis::determined::Determined;
use lambda::analysis::occupancy::State;
use lambda::analysis::titration::Titration;
use lambda::analysis::units::{Cell, OfUnits};
use std::collections::BTreeMap;

/// Makes the errors of all steps those of walkers or runs where they are larger. `runs` are those of the site, `classes` its protonation in each of their frames.
pub(super) fn widen(titration: &mut Titration, runs: &[&Run], classes: &[Vec<State>]) {
    for (index, step) in titration.macroscopic.iter_mut().enumerate() {
        let [Some(pka), Some(slope)] = step.counted.map(|number| number.value()) else { continue };
        let Some(found) = OfUnits::new(&units(runs, classes, index), pka, slope) else { continue };
        for number in [&mut step.pka, &mut step.pka_slope_one] {
            if let Determined::Value { error, .. } = number {
                *error = error.max(found.covering());
            }
        }
    }
}

/// Frames of every walker, or of every run if not all of them have walkers, of the two classes of a step.
fn units(runs: &[&Run], classes: &[Vec<State>], step: usize) -> Vec<Vec<Cell>> {
    let have_walkers = runs.iter().all(|run| run.series.walker.len() == run.series.time.len());
    let mut found: BTreeMap<usize, BTreeMap<u64, Cell>> = BTreeMap::new();
    for (index, (run, classes)) in runs.iter().zip(classes).enumerate() {
        for (frame, class) in classes.iter().enumerate() {
            let Some(lost) = class.map(usize::from).and_then(|class| class.checked_sub(step)).filter(|lost| *lost < 2)
            else {
                continue;
            };
            let unit = if have_walkers { run.series.walker[frame] as usize } else { index };
            let cells = found.entry(unit).or_default();
            let cell = cells.entry(run.ph.to_bits()).or_insert(Cell { ph: run.ph, ..Cell::default() });
            cell.frames += 1.0;
            cell.lost += lost as f64;
        }
    }
    found.into_values().map(|cells| cells.into_values().collect()).collect()
}
