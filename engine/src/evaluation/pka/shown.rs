//! What the trajectories of the runs show of the sites: [torsions](super::rotamers), and [what stands beside a group](super::neighbours). Each frame is read once.
//!
//! Runs without a trajectory say nothing; of trajectories that cannot be read the user is told, once for all that have one reason. Of long trajectories [`MOST`] frames are read, evenly spread.

use super::atoms::naming;
use super::neighbours::{self, Counts, Neighbours, Partners};
use super::rotamers::{self, Series, Torsions};
use crate::error::Result;
use crate::evaluation::runs::Run;
use crate::output::files;
use crate::record::SiteRecord;
use crate::trajectory::Frames;
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
    /// Whether its trajectory ends with the beginning of a frame.
    cut: bool,
}

impl OfRun {
    /// Of a run that shows none of `count` sites.
    fn nothing(count: usize) -> Self {
        Self {
            torsions: (0..count).map(|_| Series::default()).collect(),
            neighbours: (0..count).map(|_| Counts::default()).collect(),
            cut: false,
        }
    }
}

/// A site, and how many protons it has lost at each line of λ of a run, as a class of equal protonation; none if the run has no such site.
type Protonations<'a> = (&'a SiteRecord, Option<Vec<State>>);

/// Why a run shows nothing: a reason that runs may have in common, what is so in this run alone, and what can be done; empty where there is nothing more to say.
#[derive(Debug)]
pub(super) struct Unusable {
    pub what: String,
    pub detail: String,
    pub help: &'static str,
}

impl Unusable {
    /// Of a file in the folder of a run, whose path the name of the run says.
    pub fn new(what: String, detail: &str, run: &Run) -> Self {
        let folder = format!("{}{}", run.folder.display(), std::path::MAIN_SEPARATOR);
        Self { what, detail: detail.replace(&folder, ""), help: "" }
    }
}

/// Warns of what cannot be used: runs with one reason get one sentence, by which [`super::doubts`] tells it once with their names, and of which the details are those of the first.
fn warn(runs: &mut [Run], unusable: &[(usize, Unusable)]) {
    for (index, found) in unusable {
        let mut alike = unusable.iter().filter(|(_, other)| other.what == found.what).map(|(_, other)| &other.detail);
        let first = alike.next().unwrap_or(&found.detail);
        let detail = match first.as_str() {
            "" => String::new(),
            detail if alike.any(|other| other != first) => format!(" (in the first of them {detail})"),
            detail => format!(" ({detail})"),
        };
        let help = if found.help.is_empty() { String::new() } else { format!("; {}", found.help) };
        let run = &mut runs[*index];
        run.warnings.push(format!(
            "{}: {}{detail}, so that turns of side chains and neighbours of groups in it do not count{help}",
            run.short_name(),
            found.what
        ));
    }
}

/// Reads the trajectories of the runs. One that cannot be read is a warning of its run, without the path of the file, so that what is said of many runs is said once. A group counts as in one form where its weight is above `threshold`.
///
/// # Errors
/// [`crate::error::Error::Input`] for weights that are no numbers.
pub(super) fn read(runs: &mut [Run], records: &[SiteRecord], threshold: f64) -> Result<Shown> {
    let of_run = |run: &Run| -> Result<std::result::Result<OfRun, Unusable>> {
        let states = |record| protonations(run, record, threshold).map(|states| (record, states));
        let sites: Vec<Protonations> = records.iter().map(states).collect::<Result<_>>()?;
        Ok(frames(run, &sites))
    };
    let read: Vec<std::result::Result<OfRun, Unusable>> = runs.par_iter().map(of_run).collect::<Result<_>>()?;
    let (mut all, mut unusable) = (Vec::new(), Vec::new());
    for (index, one) in read.into_iter().enumerate() {
        all.push(one.unwrap_or_else(|why| {
            unusable.push((index, why));
            OfRun::nothing(records.len())
        }));
    }
    warn(runs, &unusable);
    // At a look that is made again the frame may be a later one.
    for (run, _) in runs.iter_mut().zip(&all).filter(|(run, shown)| shown.cut && run.upto.is_none()) {
        let name = run.short_name();
        run.warnings.push(format!("{name}: an incomplete frame at the end of {} is left out", files::TRAJECTORY));
    }
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
fn frames(run: &Run, sites: &[Protonations]) -> std::result::Result<OfRun, Unusable> {
    let trajectory = run.folder.join(files::TRAJECTORY);
    // Without frames yet, or put away while the run goes on.
    if std::fs::metadata(&trajectory).map_or(true, |file| file.len() == 0) {
        return Ok(OfRun::nothing(sites.len()));
    }
    // Runs of several systems may be evaluated together.
    let own = sites.iter().filter(|(_, states)| states.is_some());
    let (names_of, structure) = naming(run, own.map(|(record, _)| record.name.as_str()))?;
    let frames_of = files::TRAJECTORY;
    let unreadable =
        |why: &dyn std::fmt::Display| Unusable::new(format!("{frames_of} cannot be read"), &why.to_string(), run);
    let partners = Partners::of(&structure);
    let mut found = OfRun {
        torsions: sites.iter().map(|(record, _)| Series::new(&structure, &record.name)).collect(),
        neighbours: sites.iter().map(|(record, _)| Counts::new(&structure, record)).collect(),
        cut: false,
    };
    let mut frames = Frames::open_growing(&trajectory).map_err(|e| unreadable(&e))?;
    found.cut = frames.is_cut();
    // The start that the evaluation leaves out does not count here either.
    let from = run.series.time.first().copied().unwrap_or(0.0);
    let counts = |time: f64| time >= from && run.knows(time);
    let used: Vec<usize> = (0..frames.entries().len()).filter(|&k| counts(frames.entries()[k].time)).collect();
    for &index in used.iter().step_by(used.len().div_ceil(MOST).max(1)) {
        let time = frames.entries()[index].time;
        let frame = frames.read(index).map_err(|e| unreadable(&e))?;
        let [shown, named] = [frame.positions.len(), structure.positions.len()];
        if shown != named {
            let what = format!("{frames_of} has not as many atoms as {names_of}, which should name them");
            return Err(Unusable::new(what, &format!("{shown} and {named}"), run));
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
    use crate::output::trajectory::{Contents, Xtc};

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
        let start = "pH_4.00/replica_1: none of trajectory.gro, final.gro and resolved.toml is there to name the atoms of trajectory.xtc";
        assert!(said().starts_with(start), "{}", said());
        let structure = "one atom\n    1\n   15GL3      N    1   0.000   0.000   0.000\n   2.0   2.0   2.0\n";
        std::fs::write(place.join(files::FINAL), structure).unwrap();
        // The name of the run says where the file is.
        let start = "pH_4.00/replica_1: trajectory.xtc cannot be read (trajectory.xtc: ";
        assert!(said().starts_with(start), "{}", said());
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// A run that is not finished and whose trajectory has all atoms shows what it shows when it is finished.
    #[test]
    fn a_run_that_is_not_finished_shows_its_rotamers() {
        let folder = temp_dir::TempDir::new().unwrap();
        let place = folder.path().join("pH_4.00/replica_1");
        std::fs::create_dir_all(&place).unwrap();
        // χ1 of 60°, 180° and 60°: two changes.
        let at = |turn: f64| {
            let end = nalgebra::Vector3::new(turn.to_radians().cos(), turn.to_radians().sin(), 1.0);
            [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
                .map(nalgebra::Vector3::from)
                .into_iter()
                .chain([end])
                .collect()
        };
        let path = place.join(files::TRAJECTORY);
        let mut trajectory = Xtc::open(&path, Contents { atoms: None, precision: 0.001 }, None, None).unwrap();
        for (step, turn) in (1..).zip([60.0, 180.0, 60.0]) {
            let positions: Vec<nalgebra::Vector3<f64>> = at(turn);
            trajectory.write(&frame(step, &positions)).unwrap();
        }
        trajectory.sync().unwrap();
        let atoms: String = (1..)
            .zip(["N", "CA", "CB", "CG"])
            .map(|(number, name)| format!("   15GL3  {name:>5}{number:>5}   0.000   0.000   0.000\n"))
            .collect();
        let structure = format!("four atoms\n    4\n{atoms}   3.0   3.0   3.0\n");
        let started = folder.path().join("system.gro");
        std::fs::write(&started, &structure).unwrap();
        let job = format!("[system]\nstructure = {started:?}\n[output]\ntrajectory_atoms = \"all\"\n");
        std::fs::write(place.join(crate::config::RESOLVED), job).unwrap();
        let sites = [SiteRecord { name: "GL3 15".into(), ..SiteRecord::default() }];
        let said_at = |upto| {
            let mut runs = [Run { folder: place.clone(), ph: 4.0, upto, ..Run::default() }];
            let shown = read(&mut runs, &sites, 0.8).unwrap();
            (shown.torsions[0].first, runs[0].warnings.join(""))
        };
        let said = || said_at(None);
        assert_eq!(said(), (Some(2), String::new()));
        // A look that is made again sees the frames up to its time: at 1 ps none has turned.
        assert_eq!([3.0, 2.0, 1.0].map(|time| said_at(Some(time)).0), [Some(2), Some(1), Some(0)]);
        std::fs::write(place.join(files::FINAL), &structure).unwrap();
        assert_eq!(said(), (Some(2), String::new()));
        // A run that is writing a frame, or was killed while it did: half of the frame after the third, at any byte.
        let whole = std::fs::read(&path).unwrap();
        let one = whole.len() / 3;
        for half in [1, 4, 30, one - 1] {
            std::fs::write(&path, [&whole[..], &whole[..half]].concat()).unwrap();
            let left_out = "pH_4.00/replica_1: an incomplete frame at the end of trajectory.xtc is left out";
            assert_eq!(said(), (Some(2), left_out.to_string()), "{half} of {one} bytes");
        }
        // Damage is something else.
        std::fs::write(&path, [&whole[..], &[7; 60]].concat()).unwrap();
        assert!(said().0.is_none() && said().1.contains("the file is damaged"), "{}", said().1);
        std::fs::write(&path, &whole).unwrap();
        std::fs::remove_file(place.join(files::FINAL)).unwrap();
        std::fs::remove_file(&started).unwrap();
        let (first, warning) = said();
        assert!(first.is_none() && warning.contains("system.gro, the structure of the job, is missing"), "{warning}");
        assert!(
            warning.ends_with("do not count; put it back, or evaluate again when the run is finished"),
            "{warning}"
        );
    }

    fn frame(step: u64, positions: &[nalgebra::Vector3<f64>]) -> crate::frame::Frame<'_> {
        crate::frame::Frame {
            step,
            time: step as f64,
            energies: Vec::new(),
            lambda: Vec::new(),
            dvdl: Vec::new(),
            walker: None,
            positions,
            velocities: &[],
            forces: &[],
            cell: forcefield::Cell::rectangular(nalgebra::Vector3::repeat(3.0)).unwrap(),
        }
    }

    /// Of many runs whose last frames are damaged, at another byte each, the user is told once.
    #[test]
    fn runs_with_one_reason_are_told_of_once() {
        let said = |details: [&str; 3]| {
            let mut runs =
                ["1", "2", "3"].map(|ph| Run { folder: format!("t/pH_{ph}/replica_1").into(), ..Run::default() });
            let unusable = |(index, detail): (usize, &str)| {
                let detail = format!("{}/trajectory.xtc: {detail}", runs[index].folder.display());
                (index, Unusable::new("trajectory.xtc cannot be read".into(), &detail, &runs[index]))
            };
            let unusable: Vec<(usize, Unusable)> = details.into_iter().enumerate().map(unusable).collect();
            warn(&mut runs, &unusable);
            crate::evaluation::pka::doubts::of_runs(&runs)
        };
        let lost = "so that turns of side chains and neighbours of groups in it do not count";
        let one = |what: &str| [format!("every run: trajectory.xtc cannot be read ({what}), {lost}")];
        assert_eq!(said(["byte 7", "byte 8", "byte 9"]), one("in the first of them trajectory.xtc: byte 7"));
        assert_eq!(said(["byte 7"; 3]), one("trajectory.xtc: byte 7"));
    }
}
