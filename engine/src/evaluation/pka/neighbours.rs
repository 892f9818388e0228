//! What stands beside a group with its proton and without it, from the trajectories of the runs.
//!
//! A pKa is shifted by what holds one form: a salt bridge or a hydrogen bond. The atoms of a group that count are those that may bind its proton, nitrogen, oxygen and
//! sulfur: of a side chain all but those of the backbone, of an end its nitrogen or its oxygens. Beside it stands an atom of nitrogen, oxygen or sulfur within
//! [`NEAR`] of one of them, or an ion where the trajectory has it. Water does not count: it is everywhere. Of its own residue the amide counts for a side chain, and the side
//! chain for an end; the backbone of the residue next to an end, whose distance hardly changes, does not.
//!
//! A frame counts if λ was written at its time and stood at a form: with its weight above the threshold.

use crate::record::SiteRecord;
use crate::selection::WATER;
use forcefield::Cell;
use forcefield::Structure;
use nalgebra::Vector3;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Distance between heavy atoms (nm) of a hydrogen bond or salt bridge.
pub const NEAR: f64 = 0.35;
/// Frames with fewer than so many of a form say nothing of shares: one frame more changes them by 5 %.
pub const FEW_FRAMES: u64 = 20;
/// Atoms that are seen in a smaller share of the frames of every form are left out.
pub const RARE: f64 = 0.05;
/// Nitrogen and oxygens of the backbone.
const BACKBONE: [&str; 7] = ["N", "O", "OXT", "OC1", "OC2", "OT1", "OT2"];

/// What stands beside a site, in all runs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbours {
    /// Frames that count of each class of equal protonation, fewest protons lost first; empty if no trajectory shows the group.
    pub frames: Vec<u64>,
    /// Atoms that stand beside it; those with the largest share first.
    pub atoms: Vec<Neighbour>,
}

/// An atom beside a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Its residue, as the structure names it: `ASP 66`.
    pub residue: String,
    /// Its name.
    pub atom: String,
    /// Share of the frames of each class of equal protonation; none where there are too few.
    pub shares: Vec<Option<f64>>,
}

impl Neighbour {
    /// The largest of the shares.
    fn largest(&self) -> f64 {
        self.shares.iter().flatten().copied().fold(0.0, f64::max)
    }
}

/// Residue and name of an atom; those of several chains that are called alike count as one.
type Named = (String, String);

/// The atoms of a structure that may stand beside a group.
pub(super) struct Partners {
    /// Atom and number of its name.
    atoms: Vec<(usize, usize)>,
    names: Vec<Named>,
}

impl Partners {
    /// Of a structure that has the atoms of the trajectory.
    pub fn of(structure: &Structure) -> Self {
        let (mut numbers, mut atoms) = (BTreeMap::new(), Vec::new());
        for residue in residues(structure) {
            let name = &structure.names[residue.start].0;
            if WATER.contains(&name.as_str()) {
                continue;
            }
            let is_ion = residue.len() == 1;
            for atom in residue.filter(|&atom| is_ion || is_polar(&structure.names[atom].1)) {
                let label = format!("{name} {}", structure.residue_numbers[atom]);
                // Ions of one kind are alike.
                let residue = if is_ion { name.clone() } else { label };
                let next = numbers.len();
                let number = *numbers.entry((residue, structure.names[atom].1.clone())).or_insert(next);
                atoms.push((atom, number));
            }
        }
        let mut names = vec![Named::default(); numbers.len()];
        numbers.into_iter().for_each(|(name, number)| names[number] = name);
        Self { atoms, names }
    }
}

fn is_polar(name: &str) -> bool {
    matches!(name.as_bytes().first(), Some(b'N' | b'O' | b'S'))
}

/// Atoms of each residue.
fn residues(structure: &Structure) -> Vec<Range<usize>> {
    let key = |&atom: &usize| (structure.residue_numbers[atom], &structure.names[atom].0);
    let atoms: Vec<usize> = (0..structure.names.len()).collect();
    atoms.chunk_by(|a, b| key(a) == key(b)).map(|residue| residue[0]..residue[residue.len() - 1] + 1).collect()
}

/// What a run shows of a site.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Atoms that may bind the proton.
    group: Vec<usize>,
    /// Atoms that are always near.
    apart: BTreeSet<usize>,
    /// Frames of each class of equal protonation.
    frames: Vec<u64>,
    /// Frames in which an atom was near, by the number of its name and class.
    near: BTreeMap<usize, Vec<u64>>,
    /// The same by name.
    named: BTreeMap<Named, Vec<u64>>,
}

impl Counts {
    /// Of a site in a structure that has the atoms of the trajectory. Names with the number of a molecule, and residues that the structure has twice, are not found.
    pub fn new(structure: &Structure, site: &SiteRecord) -> Self {
        let (end, residue) = match site.name.split_once(' ') {
            Some((end @ ("nterm" | "cterm"), residue)) => (Some(end), residue),
            _ => (None, site.name.as_str()),
        };
        let all = residues(structure);
        let called = |residue: &Range<usize>| {
            format!("{} {}", structure.names[residue.start].0, structure.residue_numbers[residue.start])
        };
        let mine: Vec<usize> = (0..all.len()).filter(|&k| called(&all[k]) == residue).collect();
        let &[own] = &mine[..] else { return Self::default() };
        let name = |atom: usize| structure.names[atom].1.as_str();
        let is_mine = |&atom: &usize| match end {
            None => is_polar(name(atom)) && !BACKBONE.contains(&name(atom)),
            Some("nterm") => name(atom) == "N",
            Some(_) => BACKBONE[1..].contains(&name(atom)),
        };
        let group: Vec<usize> = all[own].clone().filter(is_mine).collect();
        let mut apart: BTreeSet<usize> = group.iter().copied().collect();
        match end {
            None => apart.extend(all[own].clone().filter(|&atom| name(atom) != "N")),
            Some(_) => {
                let beside = own.saturating_sub(1)..(own + 2).min(all.len());
                let backbone = |atom: &usize| BACKBONE.contains(&name(*atom));
                apart.extend(all[beside].iter().flat_map(|residue| residue.clone().filter(backbone)));
            }
        }
        let protons: BTreeSet<u32> = site.forms.iter().map(|form| form.protons_lost).collect();
        Self { group, apart, frames: vec![0; protons.len()], ..Self::default() }
    }

    /// Takes a frame in which the group has a protonation of class `class`.
    pub fn see(&mut self, class: u8, partners: &Partners, positions: &[Vector3<f64>], cell: &Cell) {
        if self.group.is_empty() {
            return;
        }
        let (class, classes) = (usize::from(class), self.frames.len());
        self.frames[class] += 1;
        let is_near = |atom: usize| {
            let places = self.group.iter().map(|&mine| positions[atom] - positions[mine]);
            places.into_iter().any(|d| cell.minimum_image(d).norm_squared() < NEAR * NEAR)
        };
        let others = partners.atoms.iter().filter(|(atom, _)| !self.apart.contains(atom));
        let seen: BTreeSet<usize> = others.filter(|(atom, _)| is_near(*atom)).map(|&(_, number)| number).collect();
        for number in seen {
            self.near.entry(number).or_insert_with(|| vec![0; classes])[class] += 1;
        }
    }

    /// Names what was near after the last frame, so that runs with other atoms can be counted together.
    pub fn name(&mut self, partners: &Partners) {
        let near = std::mem::take(&mut self.near);
        self.named = near.into_iter().map(|(number, frames)| (partners.names[number].clone(), frames)).collect();
    }
}

/// What the runs that show a site say together.
pub(super) fn together<'a>(runs: impl Iterator<Item = &'a Counts>) -> Neighbours {
    let (mut frames, mut near) = (Vec::<u64>::new(), BTreeMap::<&Named, Vec<u64>>::new());
    let add = |sum: &mut Vec<u64>, more: &[u64]| {
        sum.resize(more.len(), 0);
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    };
    for run in runs.filter(|run| !run.group.is_empty()) {
        add(&mut frames, &run.frames);
        run.named.iter().for_each(|(name, counts)| add(near.entry(name).or_default(), counts));
    }
    let share = |(&count, &frames): (&u64, &u64)| (frames >= FEW_FRAMES).then(|| count as f64 / frames as f64);
    let neighbour = |((residue, atom), counts): (&Named, Vec<u64>)| Neighbour {
        residue: residue.clone(),
        atom: atom.clone(),
        shares: counts.iter().zip(&frames).map(share).collect(),
    };
    let all = near.into_iter().map(neighbour);
    let mut atoms: Vec<Neighbour> = all.filter(|neighbour| neighbour.largest() >= RARE).collect();
    atoms.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
    Neighbours { frames, atoms }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FormRecord;
    use forcefield::cell::PeriodicBox;

    /// Residue, number, atom and place on a line (nm).
    type Atom = (&'static str, i32, &'static str, f64);

    fn structure(atoms: &[Atom]) -> Structure {
        Structure {
            title: String::new(),
            positions: atoms.iter().map(|(.., x)| Vector3::new(*x, 0.0, 0.0)).collect(),
            velocities: None,
            cell: Cell::Open,
            names: atoms.iter().map(|(residue, _, atom, _)| (residue.to_string(), atom.to_string())).collect(),
            residue_numbers: atoms.iter().map(|(_, number, ..)| *number).collect(),
        }
    }

    fn site(name: &str, protons_lost: &[u32]) -> SiteRecord {
        let form = |&protons_lost| FormRecord { name: String::new(), protons_lost, charge: 0.0, pk: 0.0 };
        SiteRecord { name: name.into(), forms: protons_lost.iter().map(form).collect(), ..SiteRecord::default() }
    }

    /// What stands beside a site in frames of these classes, in all of which atoms are where the structure has them.
    fn beside(atoms: &[Atom], name: &str, frames: &[u8], cell: &Cell) -> Neighbours {
        let structure = structure(atoms);
        let (partners, mut counts) = (Partners::of(&structure), Counts::new(&structure, &site(name, &[0, 1, 1])));
        frames.iter().for_each(|&class| counts.see(class, &partners, &structure.positions, cell));
        counts.name(&partners);
        together([counts, Counts::default()].iter())
    }

    fn names(found: &Neighbours) -> Vec<String> {
        let mut names: Vec<String> = found.atoms.iter().map(|one| format!("{} {}", one.residue, one.atom)).collect();
        names.sort();
        names
    }

    /// A Glu at 0 with everything that may be near it.
    const GLU: [Atom; 17] = [
        ("ALA", 14, "N", -0.3),
        ("ALA", 14, "CB", 0.1),
        ("GL3", 15, "N", 0.34),
        ("GL3", 15, "CD", 0.1),
        ("GL3", 15, "OE1", 0.0),
        ("GL3", 15, "OE2", 0.02),
        ("GL3", 15, "HE2", 0.1),
        ("GL3", 15, "O", 0.3),
        ("LYS", 16, "CE", 0.3),
        ("LYS", 16, "NZ", 0.369),
        ("LYS", 17, "CE", 0.3),
        ("LYS", 17, "NZ", 0.371),
        ("CYS", 20, "CB", 9.8),
        ("CYS", 20, "SG", 9.7),
        ("HOH", 30, "O", 0.28),
        ("NA", 31, "NA", -0.2),
        ("NA", 32, "NA", -0.21),
    ];

    #[test]
    fn polar_atoms_within_reach_stand_beside_a_group() {
        let cell = Cell::Periodic(PeriodicBox::rectangular(Vector3::repeat(10.0)).unwrap());
        let frames: Vec<u8> = (0..40).map(|frame| u8::from(frame < 20)).collect();
        let found = beside(&GLU, "GL3 15", &frames, &cell);
        assert_eq!(found.frames, [20, 20]);
        // LYS 17 is 0.351 nm from the nearer oxygen, the sulfur is near by its image. Carbons, hydrogens, water and the own carbonyl do not count; ions are alike.
        assert_eq!(names(&found), ["ALA 14 N", "CYS 20 SG", "GL3 15 N", "LYS 16 NZ", "NA NA"]);
        assert!(found.atoms.iter().all(|one| one.shares == [Some(1.0), Some(1.0)]));
        assert!(!names(&beside(&GLU, "GL3 15", &frames, &Cell::Open)).contains(&"CYS 20 SG".to_owned()));
    }

    #[test]
    fn an_end_has_neither_its_own_backbone_nor_that_of_the_next_residue_beside_it() {
        let atoms = [
            ("MET", 1, "N", 0.0),
            ("MET", 1, "SD", 0.3),
            ("MET", 1, "O", 0.3),
            ("THR", 2, "N", 0.3),
            ("THR", 2, "OG1", 0.3),
            ("GLU", 3, "O", 0.3),
            ("GLU", 3, "OE1", 9.0),
            ("GLU", 3, "OXT", 5.0),
        ];
        let found = beside(&atoms, "nterm MET 1", &[1; 20], &Cell::Open);
        assert_eq!(names(&found), ["GLU 3 O", "MET 1 SD", "THR 2 OG1"]);
        assert_eq!(
            names(&beside(&atoms, "cterm GLU 3", &[1; 20], &Cell::Open)),
            ["MET 1 N", "MET 1 O", "MET 1 SD", "THR 2 OG1"]
        );
    }

    #[test]
    fn shares_are_those_of_frames_with_and_without_the_proton() {
        let structure = structure(&GLU);
        let (partners, mut counts) = (Partners::of(&structure), Counts::new(&structure, &site("GL3 15", &[0, 1])));
        let mut away = structure.positions.clone();
        away[9].y = 1.0;
        // With the proton the amine is beside it in 5 of 20 frames, without it in 15 of 25 and in 10 of 25.
        let mut see = |class, near: u32, far: u32| {
            (0..near).for_each(|_| counts.see(class, &partners, &structure.positions, &Cell::Open));
            (0..far).for_each(|_| counts.see(class, &partners, &away, &Cell::Open));
            counts.name(&partners);
            std::mem::replace(&mut counts, Counts::new(&structure, &site("GL3 15", &[0, 1])))
        };
        let runs = [see(0, 5, 15), see(1, 15, 10), see(1, 10, 15)];
        let shares = |runs: &[Counts]| {
            let found = together(runs.iter());
            found.atoms.into_iter().find(|one| one.residue == "LYS 16").map(|one| one.shares)
        };
        assert_eq!(shares(&runs), Some(vec![Some(0.25), Some(0.5)]));
        let few = [see(0, 5, 15), see(1, 15, 4)];
        assert_eq!(shares(&few), Some(vec![Some(0.25), None]));
        let seldom = [see(0, 1, 20)];
        assert_eq!(shares(&seldom), None);
        assert_eq!(together([].iter()), Neighbours::default());
    }

    #[test]
    fn groups_that_a_structure_does_not_have_once_have_nothing_beside_them() {
        let mut twice = GLU.to_vec();
        twice.extend(GLU.map(|(residue, number, atom, x)| (residue, number, atom, x + 3.0)));
        for (atoms, name) in [(&twice[..], "GL3 15"), (&GLU, "GL3 16"), (&GLU, "2:GL3 15"), (&GLU, "nterm GLU 15")] {
            assert_eq!(beside(atoms, name, &[0, 1], &Cell::Open), Neighbours::default(), "{name}");
        }
    }
}
