//! What the trajectories of the runs show of the sites: [torsions](super::rotamers), and [what stands beside a group](super::neighbours). Each frame is read once.
//!
//! Runs without a trajectory say nothing; of a trajectory that cannot be read the user is told. Of long trajectories [`MOST`] frames are read, evenly spread.

use super::neighbours::{self, Counts, Neighbours, Partners};
use super::rotamers::{self, Series, Torsions};
use crate::error::{Error, Result};
use crate::evaluation::runs::Run;
use crate::output::files;
use crate::record::SiteRecord;
use crate::trajectory::Frames;
use forcefield::gromacs::read_gro;
use lambda::analysis::occupancy::{State, classes};
use lambda::analysis::titration::protonation;
use rayon::prelude::*;

/// Frames of a run that are read, at most.
const MOST: usize = 400;
/// Times that differ by less are one, ps: trajectories have them in single precision.
const SAME: f64 = 1e-2;

/// What all runs show together, each by site.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub torsions: Vec<Torsions>,
    pub neighbours: Vec<Neighbours>,
}

/// What one run shows, each by site.
struct OfRun {
    torsions: Vec<Series>,
    neighbours: Vec<Counts>,
}

impl OfRun {
    /// Of a run that shows none of `count` sites.
    fn nothing(count: usize) -> Self {
        Self {
            torsions: (0..count).map(|_| Series::default()).collect(),
            neighbours: (0..count).map(|_| Counts::default()).collect(),
        }
    }
}

/// A site, and how many protons it has lost at each line of λ of a run, as a class of equal protonation; none if the run has no such site.
type Protonations<'a> = (&'a SiteRecord, Option<Vec<State>>);

/// Reads the trajectories of the runs. One that cannot be read is a warning of its run. A group counts as in one form where its weight is above `threshold`.
///
/// # Errors
/// [`Error::Input`] for weights that are no numbers.
pub(super) fn read(runs: &mut [Run], records: &[SiteRecord], threshold: f64) -> Result<Shown> {
    let of_run = |run: &mut Run| -> Result<OfRun> {
        let states = |record| protonations(run, record, threshold).map(|states| (record, states));
        let sites: Vec<Protonations> = records.iter().map(states).collect::<Result<_>>()?;
        Ok(frames(run, &sites).unwrap_or_else(|why| {
            let lost = "so that turns of side chains and neighbours of groups in it do not count";
            run.warnings.push(format!("{}: {why}, {lost}", run.short_name()));
            OfRun::nothing(records.len())
        }))
    };
    let all: Vec<OfRun> = runs.par_iter_mut().map(of_run).collect::<Result<_>>()?;
    let torsions: Vec<&[Series]> = all.iter().map(|run| &run.torsions[..]).collect();
    let of_site = |site: usize| neighbours::together(all.iter().map(|run| &run.neighbours[site]));
    Ok(Shown {
        torsions: rotamers::torsions(runs, &torsions, records.len()),
        neighbours: (0..records.len()).map(of_site).collect(),
    })
}

fn protonations(run: &Run, record: &SiteRecord, threshold: f64) -> Result<Option<Vec<State>>> {
    let Some(weights) = run.weights(&record.name) else { return Ok(None) };
    let protons: Vec<u32> = record.forms.iter().map(|form| form.protons_lost).collect();
    Ok(Some(classes(&run.states(&weights, threshold)?, &protonation(&protons).1)))
}

/// The line of λ that a run has of a time (ps): frame and line are both written before the swap of their step.
pub(super) fn line_at(run: &Run, time: f64) -> Option<usize> {
    let index = run.series.time.partition_point(|&line| line < time - SAME);
    run.series.time.get(index).filter(|&&line| line <= time + SAME).map(|_| index)
}

/// The frames of one run; nothing without a trajectory, and why where there is one that cannot be read.
fn frames(run: &Run, sites: &[Protonations]) -> std::result::Result<OfRun, String> {
    let trajectory = run.folder.join(files::TRAJECTORY);
    let chosen = run.folder.join(files::TRAJECTORY_STRUCTURE);
    let named = if chosen.exists() { chosen } else { run.folder.join(files::FINAL) };
    // Without frames yet, or put away while the run goes on.
    if std::fs::metadata(&trajectory).map_or(true, |file| file.len() == 0) {
        return Ok(OfRun::nothing(sites.len()));
    }
    let (frames_of, names_of) = (files::TRAJECTORY, named.file_name().unwrap_or_default().to_string_lossy());
    if !named.exists() {
        let (chosen, last) = (files::TRAJECTORY_STRUCTURE, files::FINAL);
        return Err(format!("{frames_of} is there without {chosen} or {last}, which name its atoms"));
    }
    let structure = read_gro(&named).map_err(|e| format!("{names_of} cannot be read ({e})"))?;
    let partners = Partners::of(&structure);
    let mut found = OfRun {
        torsions: sites.iter().map(|(record, _)| Series::new(&structure, &record.name)).collect(),
        neighbours: sites.iter().map(|(record, _)| Counts::new(&structure, record)).collect(),
    };
    let unreadable = |e: Error| format!("{frames_of} cannot be read ({e})");
    let mut frames = Frames::open(&trajectory).map_err(unreadable)?;
    // The start that the evaluation leaves out does not count here either.
    let from = run.series.time.first().copied().unwrap_or(0.0);
    let used: Vec<usize> = (0..frames.entries().len()).filter(|&k| frames.entries()[k].time >= from).collect();
    for &index in used.iter().step_by(used.len().div_ceil(MOST).max(1)) {
        let time = frames.entries()[index].time;
        let frame = frames.read(index).map_err(unreadable)?;
        let [shown, named] = [frame.positions.len(), structure.positions.len()];
        if shown != named {
            return Err(format!("{frames_of} has {shown} atoms and {names_of}, which should name them, {named}"));
        }
        found.torsions.iter_mut().for_each(|series| series.see(time, &frame.positions));
        let Some(line) = line_at(run, time) else { continue };
        for ((_, states), counts) in sites.iter().zip(&mut found.neighbours) {
            if let Some(class) = states.as_ref().and_then(|states| states[line]) {
                counts.see(class, &partners, &frame.positions, &frame.cell);
            }
        }
    }
    found.neighbours.iter_mut().for_each(|counts| counts.name(&partners));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trajectory_that_cannot_be_read_is_a_warning() {
        let folder = std::env::temp_dir().join(format!("octitrate-shown-{}", std::process::id()));
        let place = folder.join("titrate/pH_4.00/replica_1");
        std::fs::create_dir_all(&place).unwrap();
        let said = || {
            let mut runs = [Run { folder: place.clone(), ph: 4.0, ..Run::default() }];
            let sites = [SiteRecord { name: "GL3 15".into(), ..SiteRecord::default() }];
            let shown = read(&mut runs, &sites, 0.8).unwrap();
            assert_eq!((shown.torsions, shown.neighbours), (vec![Torsions::default()], vec![Neighbours::default()]));
            runs[0].warnings.join("")
        };
        assert_eq!(said(), "");
        std::fs::write(place.join(files::TRAJECTORY), "").unwrap();
        assert_eq!(said(), "");
        std::fs::write(place.join(files::TRAJECTORY), "no frames").unwrap();
        let start =
            "pH_4.00/replica_1: trajectory.xtc is there without trajectory.gro or final.gro, which name its atoms";
        assert!(said().starts_with(start), "{}", said());
        let structure = "one atom\n    1\n   15GL3      N    1   0.000   0.000   0.000\n   2.0   2.0   2.0\n";
        std::fs::write(place.join(files::FINAL), structure).unwrap();
        assert!(said().starts_with("pH_4.00/replica_1: trajectory.xtc cannot be read ("), "{}", said());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
