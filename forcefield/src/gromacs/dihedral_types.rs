//! Dihedral parameters by type, with wildcards.
//!
//! The entry with the most types that are not wildcards wins, the earlier one among equals; each entry matches in both
//! directions. Consecutive lines of type 9 with the same types in the same order form one entry with several terms.
//! Functions 1 and 9 share their entries.

use std::collections::HashMap;

use super::error::{TopologyError, TopologyProblem};
use super::fields::{Fields, Parameters};
use super::source::Location;

/// The energy function of a dihedral.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum DihedralKind {
    /// Functions 1 and 9.
    Proper,
    /// Function 4.
    PeriodicImproper,
    /// Function 2.
    HarmonicImproper,
    /// Function 3.
    RyckaertBellemans,
}

impl DihedralKind {
    /// The kind of a GROMACS function type, which is 1, 2, 3, 4 or 9.
    pub fn of(function: u8) -> Self {
        match function {
            2 => Self::HarmonicImproper,
            3 => Self::RyckaertBellemans,
            4 => Self::PeriodicImproper,
            _ => Self::Proper,
        }
    }

    /// Error unless the multiplicity, where there is one, is an integer from 0 to 100.
    pub fn check(self, p: &Parameters, f: &Fields) -> Result<(), TopologyError> {
        if !matches!(self, Self::Proper | Self::PeriodicImproper) {
            return Ok(());
        }
        let [_, _, n] = p.get();
        if n.fract() == 0.0 && (0.0..=100.0).contains(&n) {
            return Ok(());
        }
        Err(f.out_of_range("multiplicity", n, "an integer from 0 to 100"))
    }

    pub fn n_parameters(self) -> usize {
        match self {
            Self::Proper | Self::PeriodicImproper => 3,
            Self::HarmonicImproper => 2,
            Self::RyckaertBellemans => 6,
        }
    }
}

type Pattern = [Option<u32>; 4];

#[derive(Debug)]
struct Entry {
    kind: DihedralKind,
    pattern: Pattern,
    terms: Vec<Parameters>,
    first: Location,
}

/// All `[ dihedraltypes ]`.
#[derive(Debug, Default)]
pub(super) struct DihedralTypes {
    entries: Vec<Entry>,
    index: HashMap<(DihedralKind, Pattern), usize>,
}

impl DihedralTypes {
    pub fn insert(
        &mut self,
        kind: DihedralKind,
        several: bool,
        pattern: Pattern,
        p: Parameters,
        names: &str,
        f: &Fields,
    ) -> Result<(), TopologyError> {
        let mut reversed = pattern;
        reversed.reverse();
        let key = (kind, pattern.min(reversed));
        if let Some(&i) = self.index.get(&key) {
            let is_last = self.entries[i + 1..].iter().all(|e| e.kind != kind);
            let entry = &mut self.entries[i];
            if entry.terms.contains(&p) {
                return Ok(());
            }
            if several && is_last && entry.pattern == pattern {
                entry.terms.push(p);
                return Ok(());
            }
            let first = entry.first.to_string();
            return Err(f.error(match several {
                true => TopologyProblem::SplitDihedral { types: names.into(), first },
                false => TopologyProblem::Redefined { what: format!("[ dihedraltypes ] {names}"), first },
            }));
        }
        self.index.insert(key, self.entries.len());
        self.entries.push(Entry { kind, pattern, terms: vec![p], first: f.at.clone() });
        Ok(())
    }

    /// Terms for a dihedral of these bonded types; empty if nothing matches.
    pub fn find(&self, kind: DihedralKind, types: [u32; 4]) -> &[Parameters] {
        let mut reversed = types;
        reversed.reverse();
        let mut best: (usize, &[Parameters]) = (0, &[]);
        for entry in self.entries.iter().filter(|e| e.kind == kind) {
            if matches(&entry.pattern, types) || matches(&entry.pattern, reversed) {
                let score = 1 + entry.pattern.iter().flatten().count();
                if score > best.0 {
                    best = (score, &entry.terms);
                }
            }
        }
        best.1
    }
}

fn matches(pattern: &Pattern, types: [u32; 4]) -> bool {
    pattern.iter().zip(types).all(|(p, t)| p.is_none_or(|p| p == t))
}
