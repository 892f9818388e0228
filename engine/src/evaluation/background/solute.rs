//! The solute of a titration as one frame of its runs shows it, and where its sites are: for pictures, nothing is computed from it.
//!
//! Shown are heavy atoms, and of the sites the hydrogens that come and go. Chains are told by their bonds: the carbon C of a residue and the nitrogen N of the
//! next one are nearer than 0.2 nm. The molecule is made whole by nearest images along the chain; further chains lie by the first one.

use crate::evaluation::job::Job;
use crate::evaluation::pka::Evaluation;
use crate::evaluation::runs::{Run, names_of_runs};
use crate::output::files;
use crate::record::usual_name;
use crate::selection::WATER;
use crate::trajectory::Frames;
use forcefield::Cell;
use forcefield::Structure;
use forcefield::gromacs::read_gro;
use lambda::library::SiteLibrary;
use lambda::site::SiteRequest;
use nalgebra::Vector3;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

/// Longest bond between two residues (nm).
const BOND: f64 = 0.2;
/// Heavy atoms of a larger solute are those of the backbone and of the sites alone.
const LARGE: usize = 20_000;
/// A solute with more heavy atoms than this is not shown.
const LARGEST: usize = 200_000;
/// Charge (e) of a hydrogen that is there.
const THERE: f64 = 0.05;
/// Letters of chains.
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// What is shown of a solute.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Solute {
    /// Atoms in the PDB format.
    pub pdb: String,
    /// Number of atoms.
    pub atoms: usize,
    /// Which frame it is, in words.
    pub source: String,
    /// Where each site of the evaluation is; none for one that is not found.
    pub sites: Vec<Option<SitePlace>>,
}

/// Where a site is in a structure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SitePlace {
    /// Numbers of its atoms in the PDB, from 0.
    pub atoms: Range<usize>,
    /// Of each form the hydrogens of the site that are there, of those that are not there in all forms.
    pub hydrogens: Vec<Vec<usize>>,
}

/// A residue of the solute.
struct Residue {
    atoms: Range<usize>,
    chain: usize,
}

/// The solute of the run in the middle of the pH values that shows it; else that of the structure of the job.
pub(super) fn find(evaluation: &Evaluation, job: &Job, library: &SiteLibrary) -> Result<Solute, String> {
    let mut runs: Vec<(&Run, String)> = evaluation.runs.iter().zip(names_of_runs(evaluation.runs.iter())).collect();
    let middle = 0.5 * (evaluation.ph.first().unwrap_or(&7.0) + evaluation.ph.last().unwrap_or(&7.0));
    runs.sort_by(|(a, _), (b, _)| (a.ph - middle).abs().total_cmp(&(b.ph - middle).abs()));
    let of_run =
        runs.into_iter().find_map(|(run, name)| Some((frame(&run.folder)?, format!("the last frame of {name}"))));
    let of_job =
        || Some((read_gro(&job.path("system", "structure")?).ok()?, "the structure that the runs started from".into()));
    let (structure, source) =
        of_run.or_else(of_job).ok_or("neither a frame of the runs nor the structure of the job is there any more")?;
    let names: Vec<(&str, &str)> = evaluation.sites.iter().map(|s| (&s.record.name[..], &s.record.entry[..])).collect();
    shown(&structure, &names, library, source)
}

/// The last frame of a run: `final.gro`, or the last one of its trajectory with the names beside it.
fn frame(folder: &Path) -> Option<Structure> {
    if let Ok(whole) = read_gro(&folder.join(files::FINAL)) {
        return Some(whole);
    }
    let mut named = read_gro(&folder.join(files::TRAJECTORY_STRUCTURE)).ok()?;
    if let Ok(mut frames) = Frames::open_growing(&folder.join(files::TRAJECTORY)) {
        let last = frames.read(frames.entries().len().checked_sub(1)?).ok()?;
        if last.positions.len() == named.positions.len() {
            named.positions = last.positions;
            named.cell = last.cell;
        }
    }
    Some(named)
}

/// What is shown of a structure; sites by their names and entries.
fn shown(
    structure: &Structure,
    sites: &[(&str, &str)],
    library: &SiteLibrary,
    source: String,
) -> Result<Solute, String> {
    let residues = residues(structure);
    let name = |atom: usize| structure.names[atom].1.as_str();
    let heavy =
        residues.iter().flat_map(|residue| residue.atoms.clone()).filter(|&atom| !is_hydrogen(name(atom))).count();
    if heavy == 0 {
        return Err("there is nothing but water and ions in it".into());
    }
    if heavy > LARGEST {
        return Err(format!("its {heavy} heavy atoms are too many for a page"));
    }
    let places = whole(structure, &residues);
    let found: Vec<Option<(usize, &str)>> =
        sites.iter().map(|(name, entry)| Some((residue_of(structure, &residues, name)?, *entry))).collect();
    let mut solute = Solute { source, ..Solute::default() };
    solute.sites = vec![None; sites.len()];
    for (index, residue) in residues.iter().enumerate() {
        let here: Vec<usize> = (0..sites.len()).filter(|&k| found[k].is_some_and(|(r, _)| r == index)).collect();
        // Hydrogens that come and go, of each site: those of each form.
        let forms: Vec<Vec<Vec<&str>>> = here.iter().map(|&k| hydrogens(library, sites[k].1)).collect();
        let moves = |atom: &str| forms.iter().flatten().flatten().any(|name| *name == atom);
        let first = solute.atoms;
        let mut kept = Vec::new();
        for atom in residue.atoms.clone() {
            let backbone = ["N", "CA", "C", "O"].contains(&name(atom));
            let wanted = if is_hydrogen(name(atom)) {
                moves(name(atom))
            } else {
                heavy <= LARGE || backbone || !here.is_empty()
            };
            if wanted {
                write_atom(&mut solute, structure, atom, residue.chain, places[atom]);
                kept.push(name(atom));
            }
        }
        for (&site, forms) in here.iter().zip(&forms) {
            let number = |name: &&str| kept.iter().position(|kept| kept == name).map(|k| first + k);
            solute.sites[site] = Some(SitePlace {
                atoms: first..solute.atoms,
                hydrogens: forms.iter().map(|form| form.iter().filter_map(number).collect()).collect(),
            });
        }
    }
    Ok(solute)
}

fn is_hydrogen(name: &str) -> bool {
    name.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('H')
}

fn letter(chain: usize) -> char {
    char::from(LETTERS[chain % LETTERS.len()])
}

/// The residues that are neither water nor ions. A residue has no two atoms of one name: where the first name comes again, the next molecule begins, because
/// frames that a run writes count the residues of every molecule from 1.
fn residues(structure: &Structure) -> Vec<Residue> {
    let key = |atom: usize| (structure.residue_numbers[atom], structure.names[atom].0.as_str());
    let count = structure.names.len().min(structure.residue_numbers.len()).min(structure.positions.len());
    let (mut found, mut start): (Vec<Residue>, usize) = (Vec::new(), 0);
    for atom in 1..=count {
        if atom < count && key(atom) == key(start) && structure.names[atom].1 != structure.names[start].1 {
            continue;
        }
        let atoms = start..atom;
        start = atom;
        if atoms.len() < 2 || WATER.contains(&key(atoms.start).1) {
            continue;
        }
        let chain = match found.last() {
            None => 0,
            Some(last) => last.chain + usize::from(!are_bonded(structure, last, &atoms)),
        };
        found.push(Residue { atoms, chain });
    }
    found
}

/// The atom of this name.
fn named(structure: &Structure, atoms: &Range<usize>, name: &str) -> Option<usize> {
    atoms.clone().find(|&atom| structure.names[atom].1 == name)
}

/// Whether a residue is followed by these atoms in its chain.
fn are_bonded(structure: &Structure, before: &Residue, atoms: &Range<usize>) -> bool {
    let ends = named(structure, &before.atoms, "C").zip(named(structure, atoms, "N"));
    ends.is_some_and(|(c, n)| nearest(&structure.cell, structure.positions[n] - structure.positions[c]).norm() < BOND)
}

fn nearest(cell: &Cell, difference: Vector3<f64>) -> Vector3<f64> {
    if cell.is_periodic() { cell.minimum_image(difference) } else { difference }
}

/// Positions of all atoms, those of the solute whole.
fn whole(structure: &Structure, residues: &[Residue]) -> Vec<Vector3<f64>> {
    let mut places = structure.positions.clone();
    let near = |x: Vector3<f64>, anchor: Vector3<f64>| anchor + nearest(&structure.cell, x - anchor);
    let mut centre: Option<Vector3<f64>> = None;
    let mut sum = (Vector3::zeros(), 0.0);
    for (index, residue) in residues.iter().enumerate() {
        let joined = index.checked_sub(1).map(|k| &residues[k]).filter(|before| before.chain == residue.chain);
        let anchor = match joined.and_then(|before| named(structure, &before.atoms, "C")) {
            Some(c) => Some(places[c]),
            None => centre,
        };
        let first = residue.atoms.start;
        places[first] = anchor.map_or(places[first], |anchor| near(places[first], anchor));
        for atom in residue.atoms.clone().skip(1) {
            places[atom] = near(places[atom], places[first]);
        }
        for atom in residue.atoms.clone() {
            sum = (sum.0 + places[atom], sum.1 + 1.0);
        }
        centre = Some(sum.0 / sum.1);
    }
    places
}

/// The residue that a site is called by: of several with its name and number that of the molecule, which is a chain where no bond joins two.
fn residue_of(structure: &Structure, residues: &[Residue], name: &str) -> Option<usize> {
    let request: SiteRequest = name.parse().ok()?;
    let fits = |index: &usize| {
        let atom = residues[*index].atoms.start;
        structure.names[atom].0 == request.name && structure.residue_numbers[atom] == request.number
    };
    let all: Vec<usize> = (0..residues.len()).filter(fits).collect();
    let molecule = request.molecule.map(|number| number as usize - 1);
    match (&all[..], molecule) {
        ([one], _) => Some(*one),
        (several, Some(chain)) if request.which.is_none() => {
            several.iter().copied().find(|&k| residues[k].chain == chain)
        }
        (several, None) => several.get(request.which? as usize - 1).copied(),
        _ => None,
    }
}

/// Hydrogens of each form of an entry, of those that are not there in all forms.
fn hydrogens<'a>(library: &'a SiteLibrary, entry: &str) -> Vec<Vec<&'a str>> {
    let Some(entry) = library.entries.iter().find(|known| known.name == entry) else { return Vec::new() };
    let there = |charge: &f64| charge.abs() > THERE;
    let moving = entry
        .charges
        .iter()
        .filter(|(name, charges)| is_hydrogen(name) && charges.iter().any(there) && !charges.iter().all(there));
    let moving: Vec<(&String, &Vec<f64>)> = moving.collect();
    let of_form = |form: usize| moving.iter().filter(|(_, q)| there(&q[form])).map(|(name, _)| name.as_str()).collect();
    (0..entry.forms.len()).map(of_form).collect()
}

/// Adds an atom to the PDB; ångströms, without columns behind the coordinates.
fn write_atom(solute: &mut Solute, structure: &Structure, atom: usize, chain: usize, place: Vector3<f64>) {
    let (residue, name) = &structure.names[atom];
    let number = structure.residue_numbers[atom].rem_euclid(10_000);
    let serial = (solute.atoms + 1) % 100_000;
    let residue: String = usual_name(residue).chars().take(3).collect();
    let name: String = name.chars().take(4).collect();
    let name = if name.len() < 4 { format!(" {name:<3}") } else { name };
    let [x, y, z] = [place.x, place.y, place.z].map(|x| 10.0 * x);
    let _ = writeln!(
        solute.pdb,
        "ATOM  {serial:>5} {name} {residue:>3} {}{number:>4}    {x:8.3}{y:8.3}{z:8.3}",
        letter(chain)
    );
    solute.atoms += 1;
}

#[cfg(test)]
mod tests;
