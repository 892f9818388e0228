//! Errors of pKa values from walkers or runs as wholes, see [`lambda::analysis::independent_units`].
//!
//! A walker or a run that began with the state of another one keeps what that one was slow to change, and is part of the same unit.

use crate::evaluation::runs::{Run, Walker};
use lambda::analysis::determined::Determined;
use lambda::analysis::independent_units::{FramesAtPh, UnitError, effective_number, information};
use lambda::analysis::occupancy::State;
use lambda::analysis::titration::{Macroscopic, Titration};
use std::collections::BTreeMap;
use std::path::Path;

/// How many walkers or runs that are independent of each other tell of a pKa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Independent {
    /// Their number N.
    pub number: f64,
    /// How many there should be, at least.
    pub needed: f64,
}

/// Walkers that should tell of a pKa: three that share the frames unevenly are more than two.
const WALKERS: f64 = 2.0;
/// Runs that should, where most began with the states of others: as many as an error from whole runs needs.
const RUNS: f64 = 3.0;

/// Makes the errors of all steps those of walkers or runs where they are larger. `runs` are those of the site, `classes` its protonation in each of their frames.
///
/// The answer is the number of walkers that tell of a step, of the step of which the fewest do; without walkers that of runs, where most of what is
/// known comes from those that began with the states of others. The frames of one that has many descendants look like those of many, and so do those of a
/// walker that goes to and fro between two pH values: of fewer than three the error is hardly known, and at least what they say of it.
pub(super) fn widen(titration: &mut Titration, runs: &[&Run], classes: &[Vec<State>]) -> Option<Independent> {
    let family = Families::of(runs);
    let have_walkers = have_walkers(runs);
    let mut fewest: Option<Independent> = None;
    for (index, step) in titration.macroscopic.iter_mut().enumerate() {
        let [Some(pka), Some(slope)] = step.counted.map(|number| number.value()) else { continue };
        let units = |of: Of| units(runs, classes, index, &family, of);
        let added = information(&units(Of::Added), pka, slope);
        let units = units(Of::All);
        let are_kin = added > 0.5 * information(&units, pka, slope);
        let may_be_few = have_walkers || are_kin;
        if may_be_few {
            let mine = Independent {
                number: effective_number(&units, pka, slope),
                needed: if are_kin { RUNS } else { WALKERS },
            };
            fewest = Some(fewest.filter(|fewest| fewest.number <= mine.number).unwrap_or(mine));
        }
        let Some(found) = UnitError::new(&units, pka, slope).filter(|found| may_be_few || found.is_known()) else {
            continue;
        };
        at_least(step, found.covering());
    }
    fewest
}

/// Adds to the errors of the microscopic constants what walkers, runs and replicas have added to those of their steps, whose errors by draws were `of_draws`: what is
/// slower than blocks of frames shifts all forms. `class`: the class of protonation of each form.
pub(super) fn widen_forms(titration: &mut Titration, of_draws: &[Determined], class: &[u8]) {
    let added: Vec<f64> = titration
        .macroscopic
        .iter()
        .zip(of_draws)
        .map(|(step, before)| match (step.pka_slope_one.error(), before.error()) {
            (Some(after), Some(before)) => (after * after - before * before).max(0.0),
            _ => 0.0,
        })
        .collect();
    let widen = |number: &mut Determined, added: f64| {
        if let Determined::Value { error, .. } = number {
            *error = (*error * *error + added).sqrt();
        }
    };
    titration.macroscopic.iter_mut().zip(&added).for_each(|(step, added)| widen(&mut step.from_microscopic, *added));
    for one in &mut titration.microscopic {
        widen(&mut one.pk, added[usize::from(class[one.from])]);
    }
}

/// Makes the errors of a step no smaller than this.
pub(super) fn at_least(step: &mut Macroscopic, smallest: f64) {
    for number in [&mut step.pka, &mut step.pka_slope_one] {
        if let Determined::Value { error, .. } = number {
            *error = error.max(smallest);
        }
    }
}

/// Whether it is known which walker each frame is of.
fn have_walkers(runs: &[&Run]) -> bool {
    runs.iter().all(|run| !run.series.walker.is_empty() && run.series.walker.len() == run.series.time.len())
}

/// Which walkers and runs began with the state of which.
struct Families<'a> {
    walkers: BTreeMap<Walker<'a>, Walker<'a>>,
    runs: BTreeMap<usize, usize>,
}

/// What has a past of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit<'a> {
    Walker(Walker<'a>),
    Run(usize),
}

impl<'a> Families<'a> {
    fn of(runs: &[&'a Run]) -> Self {
        let begun = || runs.iter().enumerate().filter_map(|(index, run)| Some((index, *run, run.begun.as_ref()?)));
        let walkers = begun().filter_map(|(_, run, begun)| {
            let titration = run.titration();
            Some(((titration, begun.walker?), (titration, begun.from_walker?)))
        });
        let is = |run: &Run, titration: &Path, from: &str| run.titration() == titration && run.folder.ends_with(from);
        let from = begun().filter_map(|(index, run, begun)| {
            let from = runs.iter().position(|other| is(other, run.titration(), &begun.from));
            Some((index, from.filter(|from| *from != index)?))
        });
        Self { walkers: walkers.collect(), runs: from.collect() }
    }

    /// Whether this began with the state of another one.
    fn has_begun(&self, unit: Unit) -> bool {
        match unit {
            Unit::Walker(walker) => self.walkers.contains_key(&walker),
            Unit::Run(index) => self.runs.contains_key(&index),
        }
    }

    /// The one with whose first step it all began.
    fn first(&self, unit: Unit<'a>) -> Unit<'a> {
        match unit {
            Unit::Walker(walker) => Unit::Walker(first(&self.walkers, walker)),
            Unit::Run(index) => Unit::Run(first(&self.runs, index)),
        }
    }
}

/// Goes from one to the next as often as there are steps at most: files of others may go in circles.
fn first<T: Copy + Ord>(before: &BTreeMap<T, T>, of: T) -> T {
    (0..before.len()).fold(of, |of, _| before.get(&of).copied().unwrap_or(of))
}

/// Whose frames count.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    All,
    /// Those that began with the states of others.
    Added,
}

/// Frames of every walker, or of every run if not all of them have walkers, of the two classes of a step.
fn units<'a>(
    runs: &[&'a Run],
    classes: &[Vec<State>],
    step: usize,
    family: &Families<'a>,
    of: Of,
) -> Vec<Vec<FramesAtPh>> {
    let have_walkers = have_walkers(runs);
    let mut found: BTreeMap<Unit, BTreeMap<u64, FramesAtPh>> = BTreeMap::new();
    for (index, (run, classes)) in runs.iter().zip(classes).enumerate() {
        let titration = run.titration();
        for (frame, class) in classes.iter().enumerate() {
            let Some(lost) = class.map(usize::from).and_then(|class| class.checked_sub(step)).filter(|lost| *lost < 2)
            else {
                continue;
            };
            let unit =
                if have_walkers { Unit::Walker((titration, run.series.walker[frame])) } else { Unit::Run(index) };
            if of == Of::Added && !family.has_begun(unit) {
                continue;
            }
            let of_unit = found.entry(family.first(unit)).or_default();
            let new = FramesAtPh { ph: run.ph, ..FramesAtPh::default() };
            let at = of_unit.entry(run.ph.to_bits()).or_insert(new);
            at.frames += 1.0;
            at.lost += lost as f64;
        }
    }
    found.into_values().map(|of_unit| of_unit.into_values().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::begun::Begun;
    use crate::output::series::LambdaSeries;

    fn run(folder: &str, walker: &[u32], begun: Option<(&str, [u32; 2])>) -> Run {
        let begun = begun.map(|(from, [walker, from_walker])| Begun {
            time: 1.0,
            from: from.into(),
            why: String::new(),
            walker: Some(walker),
            from_walker: Some(from_walker),
        });
        let series = LambdaSeries { time: vec![1.0; walker.len()], walker: walker.to_vec(), ..LambdaSeries::default() };
        Run { folder: folder.into(), ph: 4.0, series, begun, ..Run::default() }
    }

    #[test]
    fn who_began_with_a_state_belongs_to_its_owner() {
        // 3 began with the state of 2, and 4 with that of 3.
        let runs = [
            run("a/pH_4.00/replica_1", &[1, 2, 3, 4], None),
            run("a/pH_5.00/replica_1", &[4, 3, 2, 1], Some(("pH_4.00/replica_1", [3, 2]))),
            run("a/pH_6.00/replica_1", &[2, 2, 2, 2], Some(("pH_5.00/replica_1", [4, 3]))),
        ];
        let runs: Vec<&Run> = runs.iter().collect();
        let classes = vec![vec![Some(0); 4]; 3];
        let frames = |runs: &[&Run], of: Of| -> Vec<f64> {
            let units = units(runs, &classes, 0, &Families::of(runs), of);
            units.iter().map(|unit| unit.iter().map(|at| at.frames).sum()).collect()
        };
        assert_eq!(frames(&runs, Of::All), [2.0, 10.0]);
        assert_eq!(frames(&runs, Of::Added), [4.0]);
        // Walkers of another titration are others, whatever their numbers, and so are runs of the same name.
        let others = ["b/pH_4.00/replica_1", "b/pH_5.00/replica_1"].map(|folder| run(folder, &[2, 3, 3, 2], None));
        let both: Vec<&Run> = runs.iter().copied().chain(&others).collect();
        let classes = vec![vec![Some(0); 4]; 5];
        let frames_of_both: Vec<f64> = {
            let units = units(&both, &classes, 0, &Families::of(&both), Of::All);
            units.iter().map(|unit| unit.iter().map(|at| at.frames).sum()).collect()
        };
        assert_eq!(frames_of_both, [2.0, 10.0, 4.0, 4.0]);
        let alone: Vec<Run> = runs
            .iter()
            .map(|run| Run { series: LambdaSeries { walker: Vec::new(), ..run.series.clone() }, ..(*run).clone() })
            .collect();
        let alone: Vec<&Run> = alone.iter().collect();
        assert_eq!(frames(&alone, Of::All), [12.0]);
        assert_eq!(frames(&alone, Of::Added), [8.0]);
    }
}
