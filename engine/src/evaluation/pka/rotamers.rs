//! How often side chains of the sites change their rotamer, from the trajectories of the runs.
//!
//! A pKa is that of what was visited. A side chain that sits in one rotamer all the time, held by a salt bridge or a hydrogen bond, gives a pKa
//! with a small error that knows nothing of the others. χ1 (N–CA–CB–γ) is in a rotamer within 40° of 60°, 180° or 300°, and stays in it until it comes as
//! near to another one, so that swings across a border do not count. In a replica exchange of pH a run has the frames of many walkers: a side chain is followed
//! along its walker, through whatever runs that came.
//!
//! A frame between two lines of λ is left out in a replica exchange: nobody knows which walker it shows.
//!
//! Runs without a trajectory, or whose trajectory lacks the side chain, say nothing. Of long trajectories [`MOST`] frames are read, evenly spread: changes
//! that are undone in between are missed, which is the safe side.

use crate::evaluation::runs::{Run, Walker};
use crate::output::files;
use crate::trajectory::Frames;
use forcefield::bonded::dihedral::DihedralAngle;
use forcefield::gromacs::{Structure, read_gro};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Frames of a run that are read, at most.
const MOST: usize = 400;
/// A dihedral is in a rotamer within so many degrees of its centre.
const CORE: f64 = 40.0;
/// Times that differ by less are one, ps: trajectories have them in single precision.
const SAME: f64 = 1e-2;
/// Names that the γ atom may have.
const GAMMA: [&str; 5] = ["CG", "SG", "OG", "CG1", "OG1"];

/// Changes of the rotamer of each of the sites `names`, all runs together; none for a site that no trajectory shows.
pub(super) fn changes(runs: &[Run], names: &[&str]) -> Vec<Option<u64>> {
    let all: Vec<Vec<Option<Vec<Seen>>>> = runs.par_iter().map(|run| of_run(run, names)).collect();
    (0..names.len()).map(|site| turned(runs, all.iter().map(|run| run[site].as_deref()))).collect()
}

/// Changes of one side chain that was `seen` so in each of the runs, each walker or run without walkers by itself; none if no run shows it.
fn turned<'a>(runs: &[Run], seen: impl Iterator<Item = Option<&'a [Seen]>>) -> Option<u64> {
    let mut pasts: BTreeMap<(usize, Option<Walker>), Vec<Seen>> = BTreeMap::new();
    let mut is_shown = false;
    for (index, (run, seen)) in runs.iter().zip(seen).enumerate() {
        for &one in seen.into_iter().flatten() {
            let walker = walker_at(run, one.time);
            if walker.is_none() && !run.series.walker.is_empty() {
                continue;
            }
            is_shown = true;
            pasts.entry((if walker.is_some() { 0 } else { index }, walker)).or_default().push(one);
        }
    }
    is_shown.then(|| pasts.into_values().map(along).sum())
}

/// A dihedral at a time.
#[derive(Clone, Copy)]
struct Seen {
    /// ps.
    time: f64,
    /// Degrees.
    angle: f64,
}

/// The walker that a run had at a time (ps), if it has a line of λ of that time: frame and line are both written before the swap of their step.
fn walker_at(run: &Run, time: f64) -> Option<Walker<'_>> {
    let index = run.series.time.partition_point(|&line| line < time - SAME);
    let line = run.series.time.get(index).filter(|&&line| line <= time + SAME);
    line.and_then(|_| run.series.walker.get(index)).map(|&walker| (run.titration(), walker))
}

/// Changes along frames in any order.
fn along(mut seen: Vec<Seen>) -> u64 {
    seen.sort_by(|a, b| a.time.total_cmp(&b.time));
    count(&seen.iter().map(|one| one.angle).collect::<Vec<_>>())
}

/// The side chains of one run; a trajectory that cannot be read is none.
fn of_run(run: &Run, names: &[&str]) -> Vec<Option<Vec<Seen>>> {
    series(run, names).unwrap_or_else(|| vec![None; names.len()])
}

fn series(run: &Run, names: &[&str]) -> Option<Vec<Option<Vec<Seen>>>> {
    let trajectory = run.folder.join(files::TRAJECTORY);
    let chosen = run.folder.join(files::TRAJECTORY_STRUCTURE);
    let named = if chosen.exists() { chosen } else { run.folder.join(files::FINAL) };
    if !(trajectory.exists() && named.exists()) {
        return None;
    }
    let structure = read_gro(&named).ok()?;
    let atoms: Vec<Option<[u32; 4]>> = names.iter().map(|name| chi1(&structure, name)).collect();
    let mut frames = Frames::open(&trajectory).ok()?;
    // The start that the evaluation leaves out does not count here either.
    let from = run.series.time.first().copied().unwrap_or(0.0);
    let used: Vec<usize> = (0..frames.entries().len()).filter(|&k| frames.entries()[k].time >= from).collect();
    let mut found = atoms.iter().map(|atoms| atoms.map(|_| Vec::new())).collect::<Vec<_>>();
    for &index in used.iter().step_by(used.len().div_ceil(MOST).max(1)) {
        let time = frames.entries()[index].time;
        let frame = frames.read(index).ok()?;
        if frame.positions.len() != structure.positions.len() {
            return None;
        }
        for (list, atoms) in found.iter_mut().zip(&atoms) {
            let Some((list, atoms)) = list.as_mut().zip(*atoms) else { continue };
            list.push(Seen { time, angle: DihedralAngle::new(atoms, &frame.positions).phi.to_degrees() });
        }
    }
    Some(found)
}

/// N, CA, CB and the γ atom of the residue that a site such as "GL3 15" is called by; none for the ends of chains, for names with the number of a
/// molecule, and where the structure has the residue twice.
fn chi1(structure: &Structure, name: &str) -> Option<[u32; 4]> {
    let (residue, number) = name.split_once(' ')?;
    let number: i32 = number.parse().ok()?;
    let mine = |atom: &usize| structure.names[*atom].0 == residue && structure.residue_numbers[*atom] == number;
    let atoms: Vec<usize> = (0..structure.names.len()).filter(mine).collect();
    let only = |wanted: &str| {
        let mut found = atoms.iter().filter(|&&atom| structure.names[atom].1 == wanted);
        found.next().filter(|_| found.next().is_none()).map(|&atom| atom as u32)
    };
    Some([only("N")?, only("CA")?, only("CB")?, GAMMA.iter().find_map(|gamma| only(gamma))?])
}

/// Changes of the rotamer in a series of angles.
fn count(angles: &[f64]) -> u64 {
    let (mut now, mut changes) = (None, 0);
    for angle in angles {
        let rotamer = (angle.rem_euclid(360.0) / 120.0) as u8 % 3;
        let centre = 60.0 + 120.0 * f64::from(rotamer);
        if (angle.rem_euclid(360.0) - centre).abs() <= CORE {
            changes += u64::from(now.is_some_and(|before| before != rotamer));
            now = Some(rotamer);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;
    use crate::output::sites::SitesFile;
    use forcefield::Cell;
    use nalgebra::Vector3;

    #[test]
    fn swings_across_a_border_are_no_changes() {
        // 110° and 130° are on both sides of a border, and in no rotamer.
        assert_eq!(count(&[60.0, 110.0, 130.0, 70.0, 125.0, 60.0]), 0);
        assert_eq!(count(&[60.0, 125.0, 180.0, -170.0, -60.0, 300.0, 62.0]), 3);
        assert_eq!(count(&[]), 0);
    }

    /// Two walkers that sit in a rotamer each, and swap between two runs at each frame: nothing turns, whatever the runs show. Without walkers it would, and
    /// walkers of two titrations are four.
    #[test]
    fn a_side_chain_is_followed_along_its_walker() {
        let seen = |angles: [f64; 4]| (1..).zip(angles).map(|(k, angle)| Seen { time: f64::from(k), angle }).collect();
        let shown: [Vec<Seen>; 2] = [[60.0, 180.0, 60.0, 180.0], [180.0, 60.0, 180.0, 60.0]].map(seen);
        let run = |folder: &str, walker: &[u32]| Run {
            folder: folder.into(),
            ph: 4.0,
            sites: SitesFile::default(),
            // Two lines of λ to a frame.
            series: LambdaSeries {
                time: (1..=8).map(|k| 0.5 * f64::from(k)).collect(),
                walker: walker.iter().flat_map(|&walker| [walker; 2]).collect(),
                ..LambdaSeries::default()
            },
            warnings: Vec::new(),
            begun: None,
            offsets: Vec::new(),
        };
        let of = |runs: [Run; 2]| turned(&runs, shown.iter().map(|seen| Some(&seen[..])));
        let two = |first: &str, second: &str| [run(first, &[1, 2, 1, 2]), run(second, &[2, 1, 2, 1])];
        assert_eq!(of(two("a/pH_4.00/replica_1", "a/pH_5.00/replica_1")), Some(0));
        assert_eq!(of([run("a/pH_4.00/replica_1", &[]), run("a/pH_5.00/replica_1", &[])]), Some(6));
        // Walker 1 of each titration is seen in one rotamer, too; taken for one it would turn.
        assert_eq!(of([run("a/pH_4.00/replica_1", &[1, 2, 1, 2]), run("b/pH_4.00/replica_1", &[1, 2, 1, 2])]), Some(0));
        assert_eq!(turned(&two("a", "b"), [None, None].into_iter()), None);
        // Frames between two lines: whose they are is not known.
        let mut between = two("a/pH_4.00/replica_1", "a/pH_5.00/replica_1");
        between.iter_mut().for_each(|run| run.series.time.iter_mut().for_each(|time| *time += 0.25));
        assert_eq!(of(between), None);
    }

    #[test]
    fn the_side_chain_of_a_site_is_found_by_its_name() {
        let atoms = [
            ("ALA", 14, "CA"),
            ("GL3", 15, "N"),
            ("GL3", 15, "CA"),
            ("GL3", 15, "CB"),
            ("GL3", 15, "CG"),
            ("GL3", 19, "N"),
        ];
        let structure = Structure {
            title: String::new(),
            positions: vec![Vector3::zeros(); atoms.len()],
            velocities: None,
            cell: Cell::Open,
            names: atoms.iter().map(|(residue, _, atom)| (residue.to_string(), atom.to_string())).collect(),
            residue_numbers: atoms.iter().map(|(_, number, _)| *number).collect(),
        };
        assert_eq!(chi1(&structure, "GL3 15"), Some([1, 2, 3, 4]));
        for none in ["GL3 19", "GL3 16", "cterm GL3 15", "2:GL3 15", "GL3 15#2", "GL3"] {
            assert_eq!(chi1(&structure, none), None, "{none}");
        }
    }
}
