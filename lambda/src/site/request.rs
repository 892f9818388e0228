//! Names of residues, as requests for sites have them and as names of sites show them.
//!
//! `[molecule:][entry ]NAME number[#which]`: "GLU 2", "2:GLU 2", "nterm ALA 1", "GLU 27A", "1:GLU 2#2"
//!
//! A number alone does not name a residue where chains are numbered alike. What is given before and after it is only as much as it takes:
//! the number of the molecule, counted from 1 in the order of the topology, and, where one molecule has several residues of that name and
//! number (chains that were merged), which of those that fit, counted from 1. [`ResidueNames::of`] gives the shortest name that fits one
//! residue alone, and [`ResidueNames::find`] finds that residue by it.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use forcefield::Topology;
use forcefield::topology::Residue;

use super::SiteError;
use super::place::residue_number;

/// Spellings that a message lists at most.
const LISTED: usize = 12;

/// A residue that the user names, with the entry of the library that is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteRequest {
    /// Number of the molecule, counted from 1, where it matters.
    pub molecule: Option<u32>,
    /// Entry of the library; absent: the first side chain that fits.
    pub entry: Option<String>,
    /// Residue name.
    pub name: String,
    /// Residue number as in the topology.
    pub number: i32,
    /// Letter behind the number, as the A of 27A.
    pub insertion: Option<char>,
    /// Which of the residues that fit, counted from 1, where several do.
    pub which: Option<u32>,
}

impl FromStr for SiteRequest {
    type Err = SiteError;

    fn from_str(text: &str) -> Result<Self, SiteError> {
        let bad = || SiteError::BadRequest(text.to_string());
        let positive = |number: &str| number.trim().parse().ok().filter(|&n: &u32| n > 0).ok_or_else(bad);
        let (molecule, rest) = match text.split_once(':') {
            Some((molecule, rest)) => (Some(positive(molecule)?), rest),
            None => (None, text),
        };
        let (rest, which) = match rest.rsplit_once('#') {
            Some((rest, which)) => (rest, Some(positive(which)?)),
            None => (rest, None),
        };
        let (entry, name, number) = match rest.split_whitespace().collect::<Vec<_>>()[..] {
            [name, number] => (None, name, number),
            [entry, name, number] => (Some(entry.to_string()), name, number),
            _ => return Err(bad()),
        };
        let is_number = |word: &str| word.parse::<i32>().is_ok();
        if is_number(name) || entry.as_deref().is_some_and(is_number) {
            return Err(bad());
        }
        let (number, insertion) = residue_number(number).ok_or_else(bad)?;
        Ok(Self { molecule, entry, name: name.to_string(), number, insertion, which })
    }
}

impl fmt::Display for SiteRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.molecule.map_or(Ok(()), |molecule| write!(f, "{molecule}:"))?;
        self.entry.as_ref().map_or(Ok(()), |entry| write!(f, "{entry} "))?;
        write!(f, "{} {}", self.name, self.number)?;
        self.insertion.map_or(Ok(()), |letter| write!(f, "{letter}"))?;
        self.which.map_or(Ok(()), |which| write!(f, "#{which}"))
    }
}

/// The residues of a topology by name and number.
#[derive(Debug)]
pub struct ResidueNames<'a> {
    topology: &'a Topology,
    alike: HashMap<(&'a str, i32, Option<char>), Vec<u32>>,
}

impl<'a> ResidueNames<'a> {
    /// Of all residues of `topology`.
    pub fn new(topology: &'a Topology) -> Self {
        let mut alike: HashMap<_, Vec<u32>> = HashMap::new();
        for (index, residue) in (0..).zip(&topology.residues) {
            alike.entry(key(residue)).or_default().push(index);
        }
        Self { topology, alike }
    }

    /// The topology.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// The shortest name that fits this residue and no other.
    pub fn of(&self, residue: u32) -> SiteRequest {
        let one = &self.topology.residues[residue as usize];
        let (name, number, insertion) = key(one);
        let request = SiteRequest { name: name.to_string(), number, insertion, ..SiteRequest::default() };
        let alike = &self.alike[&key(one)];
        let mine = self.in_molecule(alike, one.molecule);
        let place = |among: &[u32]| among.binary_search(&residue).map_or(0, |place| place as u32 + 1);
        match (alike.len(), mine.len()) {
            (1, _) => request,
            (_, 1) => SiteRequest { molecule: Some(one.molecule + 1), ..request },
            (all, own) if all == own => SiteRequest { which: Some(place(alike)), ..request },
            _ => SiteRequest { molecule: Some(one.molecule + 1), which: Some(place(mine)), ..request },
        }
    }

    /// The residues that fit a request, whatever entry it names.
    pub fn find(&self, request: &SiteRequest) -> Vec<u32> {
        let key = (request.name.as_str(), request.number, request.insertion);
        let alike = self.alike.get(&key).map_or(&[][..], Vec::as_slice);
        let fits = request.molecule.map_or(alike, |molecule| self.in_molecule(alike, molecule.wrapping_sub(1)));
        match request.which {
            None => fits.to_vec(),
            Some(which) => fits.get((which as usize).wrapping_sub(1)).copied().into_iter().collect(),
        }
    }

    /// The one residue that fits a request; `None` if none does.
    ///
    /// # Errors
    /// [`SiteError::Ambiguous`] with the spellings that fit one residue each.
    pub fn only(&self, request: &SiteRequest) -> Result<Option<u32>, SiteError> {
        let found = self.find(request);
        if found.len() < 2 {
            return Ok(found.first().copied());
        }
        let spelling = |&residue: &u32| {
            let molecule = &self.topology.molecules[self.topology.residues[residue as usize].molecule as usize];
            let request = SiteRequest { entry: request.entry.clone(), ..self.of(residue) };
            format!("\"{request}\" (in {})", molecule.name)
        };
        let mut spellings: Vec<String> = found.iter().take(LISTED).map(spelling).collect();
        if found.len() > LISTED {
            spellings.push("…".into());
        }
        let (request, count) = (request.to_string(), found.len());
        Err(SiteError::Ambiguous { request, count, spellings: spellings.join(", ") })
    }

    /// Those of `residues`, which ascend, that are in this molecule.
    fn in_molecule<'b>(&self, residues: &'b [u32], molecule: u32) -> &'b [u32] {
        let of = |r: &u32| self.topology.residues[*r as usize].molecule;
        let first = residues.partition_point(|r| of(r) < molecule);
        let end = residues.partition_point(|r| of(r) <= molecule);
        &residues[first..end]
    }
}

fn key(residue: &Residue) -> (&str, i32, Option<char>) {
    (&residue.name, residue.number, residue.insertion)
}
