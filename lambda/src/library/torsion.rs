//! Torsions that an entry puts in place of those of the topology.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A periodic torsion V = k (1 + cos(n φ − φ0)), the same in every form. It replaces all terms of the topology that turn its last
/// atom about its middle bond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorsionEntry {
    /// Names of its atoms; the last is the hydrogen.
    pub atoms: [String; 4],
    /// Phase φ0, degrees.
    pub phase: f64,
    /// Amplitude k, kJ/mol.
    pub force_constant: f64,
    /// Multiplicity n.
    pub multiplicity: u32,
}

impl TorsionEntry {
    /// Its atoms in a topology, from the indices of the atoms of a residue by name; none if one is missing.
    pub fn indices(&self, by_name: &BTreeMap<&str, u32>) -> Option<[u32; 4]> {
        let [i, j, k, l] = self.atoms.each_ref().map(|name| by_name.get(name.as_str()).copied());
        Some([i?, j?, k?, l?])
    }

    pub(super) fn check(&self, knows: impl Fn(&String) -> bool) -> Result<(), String> {
        let atoms = self.atoms.join(" ");
        if let Some(atom) = self.atoms.iter().find(|atom| !knows(atom)) {
            return Err(format!("torsion {atoms}: atom {atom} has no charges"));
        }
        let finite = self.phase.is_finite() && self.force_constant.is_finite();
        if !finite || self.force_constant <= 0.0 || !(1..=6).contains(&self.multiplicity) {
            return Err(format!(
                "torsion {atoms}: phase {}, force_constant {}, multiplicity {}; expected finite numbers, a force_constant above 0, a \
                 multiplicity from 1 to 6",
                self.phase, self.force_constant, self.multiplicity
            ));
        }
        Ok(())
    }
}
