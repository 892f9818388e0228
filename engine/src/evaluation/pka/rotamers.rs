//! What the torsions of the sites do, from the trajectories of the runs.
//!
//! A pKa is that of what was visited. A side chain that sits in one rotamer all the time, held by a salt bridge or a hydrogen bond, gives a pKa
//! with a small error that knows nothing of the others. A torsion is in a well within [`Wells::core`] degrees of its centre, and stays in it until it comes as
//! near to another one, so that swings across a border do not count:
//!
//! | torsion | atoms | wells |
//! |---|---|---|
//! | χ1 | N CA CB γ | 60°, 180°, 300° |
//! | χ2 of Glu, Lys, Arg | CA CB CG CD | 60°, 180°, 300° |
//! | χ2 of His | CA CB CG ND1 | ±90°: which side of the ring is where |
//! | end of a chain, carboxyl | φ of the last residue: C of the one before, N CA C | ±90° |
//! | end of a chain, amino | ψ of the first residue: N CA C, N of the one behind | −45°, 135°: helix and sheet |
//! | hydrogens of a carboxyl group that are held syn | O C O H | 0° (syn), 180° (anti) |
//!
//! χ2 of Asp and Tyr exchanges atoms that are equal, as does ψ beside a carboxyl end: nothing of that has to be waited for. In a replica exchange of pH a run has the frames
//! of many walkers: a torsion is followed along its walker, through whatever runs that came. A frame between two lines of λ is left out in a replica exchange: nobody knows
//! which walker it shows.
//!
//! Runs without a trajectory, or whose trajectory lacks the group, say nothing. Of long trajectories [some frames](super::shown) are read: changes that are
//! undone in between are missed, which is the safe side.

use super::shown::line_at;
use crate::evaluation::runs::{Run, Walker};
use forcefield::Structure;
use forcefield::bonded::dihedral::DihedralAngle;
use nalgebra::Vector3;
use std::collections::BTreeMap;

/// Names that the γ atom may have.
const GAMMA: [&str; 5] = ["CG", "SG", "OG", "CG1", "OG1"];
/// Entries whose hydrogens are held syn.
pub(super) const HELD: [&str; 5] = ["glu", "asp", "glu3", "asp3", "cterm"];
/// Carbon, both oxygens and their hydrogens of a carboxyl group; the last ones those of an end.
const CARBOXYLS: [[&str; 5]; 4] = [
    ["CD", "OE1", "OE2", "HE1", "HE2"],
    ["CG", "OD1", "OD2", "HD1", "HD2"],
    ["C", "O", "OXT", "HO1", "HO2"],
    ["C", "OC1", "OC2", "HO1", "HO2"],
];

/// What the torsions of a site did in all runs; none of what no trajectory shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Torsions {
    /// Changes of χ1.
    pub first: Option<u64>,
    /// Changes of χ2.
    pub second: Option<u64>,
    /// Changes of the torsion beside the end of a chain.
    pub end: Option<u64>,
    /// Hydrogens of a carboxyl group that are held syn.
    pub held: Option<Held>,
}

/// What held hydrogens did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Largest angle from syn in any frame, degrees.
    pub farthest: f64,
    /// Changes between syn and anti.
    pub changes: u64,
}

/// Which torsion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    First,
    Second,
    End,
    Held,
}

/// Where a torsion stays: `number` wells around a turn, the first one at `start`, each `core` degrees to both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wells {
    number: u8,
    start: f64,
    core: f64,
}

/// Staggered.
const THREE: Wells = Wells { number: 3, start: 60.0, core: 40.0 };
/// Two halves of a turn.
const SIDES: Wells = Wells { number: 2, start: 90.0, core: 60.0 };
const HELIX_AND_SHEET: Wells = Wells { number: 2, start: -45.0, core: 60.0 };
const SYN_AND_ANTI: Wells = Wells { number: 2, start: 0.0, core: 60.0 };

/// A torsion of a site.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Watched {
    which: Which,
    atoms: [u32; 4],
    wells: Wells,
}

/// The torsions of a site as the frames of a run show them.
#[derive(Clone, Debug, Default)]
pub(super) struct Series(Vec<(Watched, Vec<Seen>)>);

impl Series {
    /// Of a site by its name, in a structure that has the atoms of the trajectory; nothing of it has been seen yet.
    pub fn new(structure: &Structure, name: &str) -> Self {
        Self(watched(structure, name).into_iter().map(|one| (one, Vec::new())).collect())
    }

    /// Takes a frame with positions (nm) at a time (ps).
    pub fn see(&mut self, time: f64, positions: &[Vector3<f64>]) {
        for (one, seen) in &mut self.0 {
            seen.push(Seen { time, angle: DihedralAngle::new(one.atoms, positions).phi.to_degrees() });
        }
    }
}

/// Torsions of each of `count` sites, all runs together, as each run shows them: `all[run][site]`.
pub(super) fn torsions(runs: &[Run], all: &[&[Series]], count: usize) -> Vec<Torsions> {
    let of_site = |site: usize| {
        let count = |which: Which| {
            // A group has one of each kind, or two hydrogens.
            let most = all.iter().map(|run| run[site].0.iter().filter(|(one, _)| one.which == which).count()).max();
            let nth = |nth: usize| {
                let shown = all.iter().map(|run| run[site].0.iter().filter(|(one, _)| one.which == which).nth(nth));
                let shown: Vec<Option<&(Watched, Vec<Seen>)>> = shown.collect();
                let wells = shown.iter().flatten().next()?.0.wells;
                turned(runs, shown.into_iter().map(|one| one.map(|(_, seen)| &seen[..])), wells)
            };
            (0..most.unwrap_or(0)).filter_map(nth).reduce(|a, b| a + b)
        };
        let hydrogens = all.iter().flat_map(|run| &run[site].0).filter(|(one, _)| one.which == Which::Held);
        let away = hydrogens.flat_map(|(_, seen)| seen).map(|one| one.angle.abs()).reduce(f64::max);
        let held = away.map(|farthest| Held { farthest, changes: count(Which::Held).unwrap_or(0) });
        Torsions { first: count(Which::First), second: count(Which::Second), end: count(Which::End), held }
    };
    (0..count).map(of_site).collect()
}

/// Changes of one torsion that was `seen` so in each of the runs, each walker or run without walkers by itself; none if no run shows it.
fn turned<'a>(runs: &[Run], seen: impl Iterator<Item = Option<&'a [Seen]>>, wells: Wells) -> Option<u64> {
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
    is_shown.then(|| pasts.into_values().map(|seen| along(seen, wells)).sum())
}

/// A dihedral at a time.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// ps.
    time: f64,
    /// Degrees, from −180 to 180.
    angle: f64,
}

/// The walker that a run had at a time (ps), if it has a line of λ of that time: frame and line are both written before the swap of their step.
fn walker_at(run: &Run, time: f64) -> Option<Walker<'_>> {
    let index = line_at(run, time)?;
    run.series.walker.get(index).map(|&walker| (run.titration(), walker))
}

/// Changes along frames in any order.
fn along(mut seen: Vec<Seen>, wells: Wells) -> u64 {
    seen.sort_by(|a, b| a.time.total_cmp(&b.time));
    count(&seen.iter().map(|one| one.angle).collect::<Vec<_>>(), wells)
}

/// The torsions of a site that is called "GL3 15", "nterm MET 1" or "cterm GL3 56"; none for names with the number of a molecule, and where the
/// structure has the residue twice.
fn watched(structure: &Structure, name: &str) -> Vec<Watched> {
    let (end, residue) = match name.split_once(' ') {
        Some((end @ ("nterm" | "cterm"), residue)) => (Some(end), residue),
        _ => (None, name),
    };
    let Some((residue, number)) = residue.split_once(' ') else { return Vec::new() };
    let Ok(number) = number.parse::<i32>() else { return Vec::new() };
    let mine = |atom: &usize| structure.names[*atom].0 == residue && structure.residue_numbers[*atom] == number;
    let atoms: Vec<usize> = (0..structure.names.len()).filter(mine).collect();
    let among = |atoms: &[usize], wanted: &str| {
        let mut found = atoms.iter().filter(|&&atom| structure.names[atom].1 == wanted);
        found.next().filter(|_| found.next().is_none()).map(|&atom| atom as u32)
    };
    let only = |wanted: &str| among(&atoms, wanted);
    // Atoms of the residue that holds this one.
    let residue_of = |atom: usize| -> Vec<usize> {
        let same = |other: &usize| {
            structure.names[*other].0 == structure.names[atom].0
                && structure.residue_numbers[*other] == structure.residue_numbers[atom]
        };
        (0..structure.names.len()).filter(same).collect()
    };
    let before = || atoms.first()?.checked_sub(1).and_then(|atom| among(&residue_of(atom), "C"));
    let behind = || {
        let atom = atoms.last()? + 1;
        (atom < structure.names.len()).then(|| among(&residue_of(atom), "N")).flatten()
    };
    let torsion = |which, atoms: [Option<u32>; 4], wells| {
        let [Some(i), Some(j), Some(k), Some(l)] = atoms else { return None };
        Some(Watched { which, atoms: [i, j, k, l], wells })
    };
    let gamma = || GAMMA.iter().find_map(|gamma| only(gamma));
    let mut found = Vec::new();
    match end {
        None => {
            found.extend(torsion(Which::First, [only("N"), only("CA"), only("CB"), gamma()], THREE));
            let (delta, wells) = if only("ND1").is_some() { (only("ND1"), SIDES) } else { (only("CD"), THREE) };
            found.extend(torsion(Which::Second, [only("CA"), only("CB"), only("CG"), delta], wells));
        }
        Some("nterm") => {
            found.extend(torsion(Which::End, [only("N"), only("CA"), only("C"), behind()], HELIX_AND_SHEET));
        }
        Some(_) => found.extend(torsion(Which::End, [before(), only("N"), only("CA"), only("C")], SIDES)),
    }
    let groups = if end.is_some() { &CARBOXYLS[2..] } else { &CARBOXYLS[..2] };
    for [carbon, first, second, at_first, at_second] in groups.iter().filter(|_| end != Some("nterm")) {
        for four in [[second, carbon, first, at_first], [first, carbon, second, at_second]] {
            found.extend(torsion(Which::Held, four.map(|name| only(name)), SYN_AND_ANTI));
        }
    }
    found
}

/// Changes between wells in a series of angles (degrees).
fn count(angles: &[f64], wells: Wells) -> u64 {
    let width = 360.0 / f64::from(wells.number);
    let (mut now, mut changes) = (None, 0);
    for angle in angles {
        let place = (angle - wells.start + 0.5 * width).rem_euclid(360.0) / width;
        let well = place as u8 % wells.number;
        if (place - place.floor() - 0.5).abs() * width <= wells.core {
            changes += u64::from(now.is_some_and(|before| before != well));
            now = Some(well);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;
    use forcefield::Cell;
    use nalgebra::Vector3;

    #[test]
    fn swings_across_a_border_are_no_changes() {
        // 110° and 130° are on both sides of a border, and in no rotamer.
        assert_eq!(count(&[60.0, 110.0, 130.0, 70.0, 125.0, 60.0], THREE), 0);
        assert_eq!(count(&[60.0, 125.0, 180.0, -170.0, -60.0, 300.0, 62.0], THREE), 3);
        assert_eq!(count(&[], THREE), 0);
        // A ring on its edge, a hydrogen at 61° and 100°: nowhere.
        assert_eq!(count(&[80.0, 10.0, -20.0, 120.0, -100.0, -150.0, -35.0, 45.0], SIDES), 2);
        assert_eq!(count(&[0.0, 61.0, 100.0, -40.0, 59.0], SYN_AND_ANTI), 0);
        assert_eq!(count(&[0.0, 121.0, -179.0, 59.0], SYN_AND_ANTI), 2);
        assert_eq!(count(&[-60.0, 160.0, -170.0, -60.0, 20.0, 80.0], HELIX_AND_SHEET), 3);
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
            // Two lines of λ to a frame.
            series: LambdaSeries {
                time: (1..=8).map(|k| 0.5 * f64::from(k)).collect(),
                walker: walker.iter().flat_map(|&walker| [walker; 2]).collect(),
                ..LambdaSeries::default()
            },
            ..Run::default()
        };
        let of = |runs: [Run; 2]| turned(&runs, shown.iter().map(|seen| Some(&seen[..])), THREE);
        let two = |first: &str, second: &str| [run(first, &[1, 2, 1, 2]), run(second, &[2, 1, 2, 1])];
        assert_eq!(of(two("a/pH_4.00/replica_1", "a/pH_5.00/replica_1")), Some(0));
        assert_eq!(of([run("a/pH_4.00/replica_1", &[]), run("a/pH_5.00/replica_1", &[])]), Some(6));
        // Walker 1 of each titration is seen in one rotamer, too; taken for one it would turn.
        assert_eq!(of([run("a/pH_4.00/replica_1", &[1, 2, 1, 2]), run("b/pH_4.00/replica_1", &[1, 2, 1, 2])]), Some(0));
        assert_eq!(turned(&two("a", "b"), [None, None].into_iter(), THREE), None);
        // Frames between two lines: whose they are is not known.
        let mut between = two("a/pH_4.00/replica_1", "a/pH_5.00/replica_1");
        between.iter_mut().for_each(|run| run.series.time.iter_mut().for_each(|time| *time += 0.25));
        assert_eq!(of(between), None);
    }

    fn structure(atoms: &[(&str, i32, &str)]) -> Structure {
        Structure {
            title: String::new(),
            positions: vec![Vector3::zeros(); atoms.len()],
            velocities: None,
            cell: Cell::Open,
            names: atoms.iter().map(|(residue, _, atom)| (residue.to_string(), atom.to_string())).collect(),
            residue_numbers: atoms.iter().map(|(_, number, _)| *number).collect(),
        }
    }

    /// Which torsions, and the atoms of each.
    fn of(structure: &Structure, name: &str) -> Vec<(Which, [u32; 4])> {
        watched(structure, name).into_iter().map(|one| (one.which, one.atoms)).collect()
    }

    #[test]
    fn the_torsions_of_a_site_are_found_by_its_name() {
        let side = ["N", "CA", "CB", "CG", "CD", "OE1", "OE2", "HE1", "HE2", "C"];
        let mut atoms = vec![("ALA", 14, "CA"), ("ALA", 14, "C")];
        atoms.extend(side.map(|name| ("GL3", 15, name)));
        atoms.extend(["N", "CA", "CB", "CG", "ND1", "C"].map(|name| ("HIP", 16, name)));
        atoms.extend(
            ["N", "CA", "CB", "CG", "OD1", "OD2", "HD2", "C", "O", "OXT", "HO1", "HO2"].map(|name| ("ASH", 17, name)),
        );
        atoms.push(("GL3", 19, "N"));
        let structure = structure(&atoms);
        let hydrogens = [(Which::Held, [8, 6, 7, 9]), (Which::Held, [7, 6, 8, 10])];
        let chi = [(Which::First, [2, 3, 4, 5]), (Which::Second, [3, 4, 5, 6])];
        assert_eq!(of(&structure, "GL3 15"), [chi, hydrogens].concat());
        assert_eq!(watched(&structure, "GL3 15")[1].wells, THREE);
        assert_eq!(of(&structure, "HIP 16"), [(Which::First, [12, 13, 14, 15]), (Which::Second, [13, 14, 15, 16])]);
        assert_eq!(watched(&structure, "HIP 16")[1].wells, SIDES);
        // No χ2, whose halves are equal; one hydrogen.
        assert_eq!(of(&structure, "ASH 17"), [(Which::First, [18, 19, 20, 21]), (Which::Held, [22, 21, 23, 24])]);
        // φ after the C of the residue before, and the hydrogens of the end.
        let end = [(Which::End, [17, 18, 19, 25]), (Which::Held, [27, 25, 26, 28]), (Which::Held, [26, 25, 27, 29])];
        assert_eq!(of(&structure, "cterm ASH 17"), end);
        assert_eq!(of(&structure, "nterm GL3 15"), [(Which::End, [2, 3, 11, 12])]);
        for none in ["GL3 19", "GL3 16", "2:GL3 15", "GL3 15#2", "GL3", "cterm GL3 19", "nterm GL3 19"] {
            assert!(of(&structure, none).is_empty(), "{none}");
        }
    }
}
