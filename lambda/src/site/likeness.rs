//! Whether parameters of another fingerprint are the same numbers in another rounding, and which of them differs most if they are not.
//!
//! A fingerprint tells that two groups differ, not by how much. The lines behind the fingerprints of the built-in corrections are kept in
//! `library/parameters.txt`, found by their hash, so that what is compared is what the correction was made with. Files of one force field round
//! it differently:
//!
//! | file | written with | relative difference that follows |
//! |---|---|---|
//! | prmtop | charges times 18.2223, A, B and amplitudes with 9 digits | 1e-8 |
//! | `.itp` of GROMACS | σ and ε with 6 digits | 6e-5 in c12 |
//! | `.itp` of GROMACS | amplitudes with 5 decimals of kJ/mol | 5e-6 kJ/mol |
//! | `.itp` of GROMACS | 1-4 factor 0.8333 in place of 1/1.2 | 4e-5 |
//! | parameter files of AMBER | half a distance (Å) and depth (kcal/mol) with 4 decimals: 1.7683 and 0.1520 of TIP3P | up to 1e-3 in c6 and c12 |
//! | parameter files of AMBER | lengths with 4 decimals of Å, H-H of TIP3P three of them off | 2e-4 |
//!
//! Numbers that differ by no more than [`SAME`] are therefore roundings. A thousandth of the largest of these energies, tens of kJ/mol of Lennard-Jones
//! repulsion and a barrier of 45 kJ/mol, is less than a tenth of the error of a calibration (0.4 to 0.6 kJ/mol). Two force fields that mean different
//! things differ by more: the least change of CUFIX is 0.4 % of σ, which is 2.6 % of c6.

use std::collections::{BTreeMap, BTreeSet};

use super::parameters::{Terms, hash};

/// Largest relative difference of two numbers that is rounding.
pub const SAME: f64 = 1e-3;

/// Amplitudes (kJ/mol) with five decimals are off by half of the last one; twice that is let pass.
const AMPLITUDE: f64 = 1e-5;

/// The lines behind the fingerprints of built-in corrections: "[hash] what it is", then a line for each.
const KNOWN: &str = include_str!("../../library/parameters.txt");

/// How parameters compare to those of another fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub enum Likeness {
    /// The fingerprint is the same.
    Same,
    /// Another fingerprint, and nothing else is known of the other.
    Unknown,
    /// The same numbers but for rounding: the largest relative difference, and where it is, "dihedral CA CB CG CD".
    Rounded {
        /// Largest relative difference.
        largest: f64,
        /// The term that has it.
        term: String,
    },
    /// Other numbers.
    Different(Box<Difference>),
}

/// The number of terms that differ, and the one that differs most.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Terms that differ, or that are in one alone.
    pub count: usize,
    /// Terms there are.
    pub of: usize,
    /// Kind and atoms of the one that differs most.
    pub term: String,
    /// Its numbers here; none if it is not there.
    pub ours: Option<String>,
    /// Its numbers in what was compared with; none if it is not there.
    pub theirs: Option<String>,
}

/// The lines of a fingerprint; none where they are not kept.
pub fn known_terms(fingerprint: &str) -> Option<Vec<String>> {
    let start = KNOWN.find(&format!("[{fingerprint}]"))?;
    let lines: Vec<String> =
        KNOWN[start..].lines().skip(1).take_while(|line| !line.is_empty()).map(str::to_string).collect();
    (hash(lines.clone()) == fingerprint).then_some(lines)
}

/// How `ours` of another fingerprint compares to the parameters of the fingerprints `own` and `attached`; the latter does not count where one of both has none.
pub fn likeness(ours: &Terms, own: &str, attached: Option<&str>) -> Likeness {
    let Some(mut theirs) = known_terms(own) else { return Likeness::Unknown };
    let mut lines = ours.own.clone();
    if let (Some(here), Some(there)) = (&ours.attached, attached) {
        let Some(there) = known_terms(there) else { return Likeness::Unknown };
        lines.extend(here.iter().cloned());
        theirs.extend(there);
    }
    compare(&lines, &theirs)
}

/// Kind and atoms of a line, and its numbers: those have a point, which names have not.
fn parts(line: &str) -> (String, Vec<f64>) {
    let number = |word: &str| word.trim_end_matches(',').parse::<f64>().ok().filter(|_| word.contains('.'));
    let (numbers, words): (Vec<&str>, Vec<&str>) = line.split(' ').partition(|word| number(word).is_some());
    (words.join(" "), numbers.into_iter().filter_map(number).collect())
}

/// Numbers of terms by kind and atoms, and of dihedrals also by multiplicity and phase, whose number is the amplitude.
fn by_term(lines: &[String]) -> BTreeMap<String, Vec<Vec<f64>>> {
    let mut terms: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    for line in lines {
        let (term, numbers) = parts(line);
        let (term, numbers) = match numbers[..] {
            [phase, amplitude, multiplicity] if term.starts_with("dihedral") => {
                // A phase of 359.9999 degrees is one of 0.
                let phase = (phase * 10.0).round().rem_euclid(3600.0) / 10.0;
                (format!("{term}, {multiplicity}-fold at {phase}°"), vec![amplitude])
            }
            _ => (term, numbers),
        };
        terms.entry(term).or_default().push(numbers);
    }
    terms.values_mut().for_each(|all| all.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)));
    terms
}

/// Relative difference of the numbers of two terms of one kind.
fn apart(kind: &str, ours: &[f64], theirs: &[f64]) -> f64 {
    if ours.len() != theirs.len() {
        return f64::INFINITY;
    }
    let is_torsion = kind.starts_with("dihedral") || kind.starts_with("ryckaert-bellemans");
    let one = |(a, b): (&f64, &f64)| {
        let difference = ((a - b).abs() - if is_torsion { AMPLITUDE } else { 0.0 }).max(0.0);
        if difference == 0.0 { 0.0 } else { difference / a.abs().max(b.abs()) }
    };
    ours.iter().zip(theirs).map(one).fold(0.0, f64::max)
}

/// A term on both sides, with its numbers where it is there.
struct Pair<'a> {
    term: &'a str,
    ours: Option<&'a Vec<f64>>,
    theirs: Option<&'a Vec<f64>>,
    /// Relative difference; infinite where one side lacks it.
    difference: f64,
}

impl<'a> Pair<'a> {
    fn new(term: &'a str, ours: Option<&'a Vec<f64>>, theirs: Option<&'a Vec<f64>>) -> Self {
        let difference = match (ours, theirs) {
            (Some(ours), Some(theirs)) => apart(term, ours, theirs),
            _ => f64::INFINITY,
        };
        Self { term, ours, theirs, difference }
    }
}

fn compare(ours: &[String], theirs: &[String]) -> Likeness {
    let (ours, theirs) = (by_term(ours), by_term(theirs));
    let none = Vec::new();
    let terms: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for term in terms {
        let [here, there] = [&ours, &theirs].map(|side| side.get(term).unwrap_or(&none));
        pairs.extend((0..here.len().max(there.len())).map(|k| Pair::new(term, here.get(k), there.get(k))));
    }
    let count = pairs.iter().filter(|pair| pair.difference > SAME).count();
    // The first of equals.
    let most = pairs.iter().reduce(|most, pair| if pair.difference > most.difference { pair } else { most });
    let Some(Pair { term, ours, theirs, difference }) = most else {
        return Likeness::Rounded { largest: 0.0, term: String::new() };
    };
    let term = term.to_string();
    if count == 0 {
        return Likeness::Rounded { largest: *difference, term };
    }
    let words = |numbers: &Option<&Vec<f64>>| {
        let unit = if term.starts_with("dihedral") { " kJ/mol" } else { "" };
        numbers.map(|all| all.iter().map(|number| rounded(*number)).collect::<Vec<_>>().join(" ") + unit)
    };
    let (ours, theirs) = (words(ours), words(theirs));
    Likeness::Different(Box::new(Difference { count, of: pairs.len(), term, ours, theirs }))
}

/// A number with the digits that lines have, for people: 4.6024 and not 4.60240e0.
fn rounded(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e5).contains(&size) { number.to_string() } else { format!("{number:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| line.to_string()).collect()
    }

    const GROUP: [&str; 5] = [
        "Lennard-Jones OE1 2.36393e-3 1.58865e-6",
        "bond CD OE1 1.25000e-1",
        "dihedral CA CB CG CD 0.00000e0 3.47270e-1 2.00000e0",
        "dihedral CA CB CG CD 1.80000e2 8.20060e-1 1.00000e0",
        "pair CB OE1 1.18000e-3 7.94000e-7 8.33300e-1",
    ];

    fn with(place: usize, line: &str) -> Vec<String> {
        let mut changed = lines(&GROUP);
        changed[place] = line.to_string();
        changed
    }

    #[test]
    fn a_thousandth_is_rounding_and_more_is_not() {
        for (place, near, far) in [
            (0, "Lennard-Jones OE1 2.36393e-3 1.58710e-6", "Lennard-Jones OE1 2.36393e-3 1.58600e-6"),
            (1, "bond CD OE1 1.25100e-1", "bond CD OE1 1.25200e-1"),
            (
                2,
                "dihedral CA CB CG CD 3.59999e2 3.47272e-1 2.00000e0",
                "dihedral CA CB CG CD 0.00000e0 3.48000e-1 2.00000e0",
            ),
            (
                3,
                "dihedral CA CB CG CD 1.80000e2 8.20064e-1 1.00000e0",
                "dihedral CA CB CG CD 0.00000e0 8.20064e-1 1.00000e0",
            ),
            (4, "pair CB OE1 1.18000e-3 7.94000e-7 8.33333e-1", "pair CB OE1 1.18000e-3 7.94000e-7 1.00000e0"),
        ] {
            let theirs = lines(&GROUP);
            assert!(matches!(compare(&with(place, near), &theirs), Likeness::Rounded { .. }), "{near}");
            let Likeness::Different(found) = compare(&with(place, far), &theirs) else { panic!("{far}") };
            // With another phase one term is missing on each side.
            let expected = if place == 3 { (2, 6) } else { (1, 5) };
            assert_eq!((found.count, found.of), expected, "{far}");
            let kind: Vec<&str> = far.split(' ').take(3).collect();
            assert!(found.term.starts_with(&kind.join(" ").replace(" 2.36393e-3", "")), "{far}: {found:?}");
        }
    }

    /// Amplitudes with five decimals: 0.00042 for 0.000418 kJ/mol is rounding, although it is half a percent.
    #[test]
    fn the_last_decimal_of_an_amplitude_is_rounding() {
        let torsion = |amplitude: &str| lines(&[&format!("dihedral A B C D 0.00000e0 {amplitude} 3.00000e0")]);
        assert!(matches!(compare(&torsion("4.20000e-4"), &torsion("4.18000e-4")), Likeness::Rounded { .. }));
        assert!(matches!(compare(&torsion("5.20000e-4"), &torsion("4.18000e-4")), Likeness::Different(_)));
    }

    #[test]
    fn a_term_of_one_alone_is_a_difference_and_is_named() {
        let more = [&lines(&GROUP)[..], &lines(&["angle CB CG CD 1.11000e2 5.27184e2"])].concat();
        let Likeness::Different(found) = compare(&lines(&GROUP), &more) else { panic!() };
        assert_eq!(
            (found.term.as_str(), found.ours, found.theirs.as_deref()),
            ("angle CB CG CD", None, Some("111 527.184"))
        );
        // Dihedrals are compared by multiplicity and phase.
        let Likeness::Different(found) =
            compare(&with(3, "dihedral CA CB CG CD 1.80000e2 5.71953e0 1.00000e0"), &lines(&GROUP))
        else {
            panic!()
        };
        assert_eq!(found.term, "dihedral CA CB CG CD, 1-fold at 180°");
        assert_eq!((found.ours.as_deref(), found.theirs.as_deref()), (Some("5.71953 kJ/mol"), Some("0.82006 kJ/mol")));
    }

    /// Every section of the file has the hash that it is found by, so that a correction is compared with what it was made with.
    #[test]
    fn known_lines_have_their_fingerprint() {
        let hashes: Vec<&str> = KNOWN.lines().filter_map(|line| line.strip_prefix('[')?.split(']').next()).collect();
        assert!(!hashes.is_empty());
        for fingerprint in hashes {
            assert!(known_terms(fingerprint).is_some_and(|lines| !lines.is_empty()), "{fingerprint}");
        }
        assert_eq!(known_terms("0000000000000000"), None);
    }
}
