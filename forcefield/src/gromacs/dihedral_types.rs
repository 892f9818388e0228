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
    /// Function 5, which has Ryckaert–Bellemans coefficients of its own: [`fourier`].
    Fourier,
}

impl DihedralKind {
    /// The kind of a GROMACS function type, which is 1, 2, 3, 4, 5 or 9.
    pub fn of(function: u8) -> Self {
        match function {
            2 => Self::HarmonicImproper,
            3 => Self::RyckaertBellemans,
            4 => Self::PeriodicImproper,
            5 => Self::Fourier,
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
            Self::Fourier => 4,
        }
    }
}

/// Ryckaert–Bellemans coefficients of V = ½ (f1 (1 + cos φ) + f2 (1 − cos 2φ) + f3 (1 + cos 3φ) + f4 (1 − cos 4φ)), the form of OPLS-AA:
/// powers of cos ψ = −cos φ.
pub(super) fn fourier([f1, f2, f3, f4]: [f64; 4]) -> [f64; 6] {
    [f2 + 0.5 * (f1 + f3), 0.5 * (3.0 * f3 - f1), 4.0 * f4 - f2, -2.0 * f3, -4.0 * f4, 0.0]
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

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::fourier;
    use crate::bonded::{dihedral::tests::twisted, ryckaert_bellemans};
    use crate::gromacs::read_topology;
    use crate::topology::{RyckaertBellemans, Topology};

    #[test]
    fn a_fourier_dihedral_is_its_series_of_cosines() {
        let [f1, f2, f3, f4] = [1.3, 2.1, -0.7, 0.9];
        let term = RyckaertBellemans { atoms: [0, 1, 2, 3], c: fourier([f1, f2, f3, f4]) };
        for degrees in [-170.0, -60.0, 0.0, 45.0, 120.0, 180.0f64] {
            let cos = |n: f64| (n * degrees.to_radians()).cos();
            let series = f1 * (1.0 + cos(1.0)) + f2 * (1.0 - cos(2.0)) + f3 * (1.0 + cos(3.0)) + f4 * (1.0 - cos(4.0));
            let found = ryckaert_bellemans::evaluate(&term, &twisted(degrees), &mut [Vector3::zeros(); 4]).energy;
            assert!((found - 0.5 * series).abs() < 1e-12, "{degrees}: {found}");
        }
    }

    /// By their line and by type; `gmx_d` 2022.5 gives a line of type 5 and one of type 3 with these coefficients the same energy.
    #[test]
    fn fourier_dihedrals_are_read() {
        let read = |types: &str, parameters: &str| -> Topology {
            let folder = temp_dir::TempDir::new().unwrap();
            let path = folder.path().join("four.top");
            let text = format!(
                "[ defaults ]\n1 2\n[ atomtypes ]\nC 6 12 0 A 0.3 0.4\n{types}[ moleculetype ]\nFOUR 3\n[ atoms ]\n1 C 1 F C1 1\n2 C 1 F C2 1\n\
                 3 C 1 F C3 1\n4 C 1 F C4 1\n[ dihedrals ]\n1 2 3 4 5 {parameters}\n[ system ]\nfour\n[ molecules ]\nFOUR 1\n"
            );
            std::fs::write(&path, text).unwrap();
            read_topology(&path, &[], &[]).unwrap()
        };
        let on_line = read("", "1.3 2.1 -0.7 0.9");
        let by_type = read("[ dihedraltypes ]\nX C C X 5 1.3 2.1 -0.7 0.9\nX C C X 3 1 2 3 4 5 6\n", "");
        assert_eq!(on_line.ryckaert_bellemans, by_type.ryckaert_bellemans);
        let expected = RyckaertBellemans { atoms: [0, 1, 2, 3], c: fourier([1.3, 2.1, -0.7, 0.9]) };
        assert_eq!(on_line.ryckaert_bellemans, [expected]);
    }
}
