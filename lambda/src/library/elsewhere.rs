//! Corrections at residues whose charges are not those of the model compound.
//!
//! At the ends of chains a force field has other charges, and others for every residue. Most of what they do to a group that titrates is no
//! chemistry: pairs one and two bonds apart do not interact, and pairs three bonds apart only in part, so that the free energy of the force field holds what
//! these charges would have done. With AMBER99SB-ILDN it is −202 kJ/mol for the carboxyl end of glycine, −172 for that of alanine, and −159 for that of leucine:
//! 7 pK units for groups that have the same pKa within a few tenths. So a correction belongs to the residue where it was calibrated.

use super::{Correction, Entry};
use serde::{Deserialize, Serialize};

/// A correction at some residues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Names of these residues in topologies; of an end of a chain without the letter of the end: `GLY` for `NGLY`, `CGLY` and `ZGLY`.
    pub residues: Vec<String>,
    /// Correction V_MM there.
    pub correction: Correction,
}

impl Entry {
    /// The correction at a residue of this name; `is_end`: at the end of a chain. `None` if it has not been calibrated there.
    pub fn correction_at(&self, residue: &str, is_end: bool) -> Option<&Correction> {
        let residue = self.name_of(residue);
        if let Some(found) = self.own_correction(Some(residue)) {
            return Some(found);
        }
        let is_of_model = match (&self.terminus, &self.model_compound) {
            (Some(_), Some(model)) => model.split('-').any(|part| part == residue),
            (Some(_), None) => true,
            (None, _) => !is_end || self.backbone.is_empty(),
        };
        is_of_model.then_some(&self.correction)
    }

    /// The name that [`Elsewhere`] has for a residue: ends of chains have a letter before the name of their residue in AMBER's topologies (ZALA, NALA).
    pub(super) fn name_of<'a>(&self, residue: &'a str) -> &'a str {
        let bare = residue.strip_prefix(['N', 'C', 'Z']).filter(|name| name.len() == 3 && self.terminus.is_some());
        bare.unwrap_or(residue)
    }

    /// Where its correction is known, in words: "ALA, GLY, LEU" of an end, "inside of chains, ZGL3" of a side chain.
    pub fn known_at(&self) -> String {
        let model = match (&self.terminus, &self.model_compound) {
            (Some(_), Some(model)) => model.split('-').nth(1).unwrap_or(model).to_string(),
            (Some(_), None) => "every residue".into(),
            (None, _) => "inside of chains".into(),
        };
        let elsewhere = self.elsewhere.iter().flat_map(|one| one.residues.iter().cloned());
        std::iter::once(model).chain(elsewhere).collect::<Vec<_>>().join(", ")
    }

    /// Its own correction, or that of `residue`, which is `None` if there is none yet: what [`super::entry_with_calibration`] writes with the same `residue`.
    pub fn own_correction(&self, residue: Option<&str>) -> Option<&Correction> {
        let Some(residue) = residue else { return Some(&self.correction) };
        let residue = self.name_of(residue);
        let found = self.elsewhere.iter().find(|one| one.residues.iter().any(|name| name == residue));
        found.map(|one| &one.correction)
    }

    /// Replaces its correction, or that at `residue`.
    pub(super) fn put(&mut self, residue: Option<&str>, correction: &Correction) {
        let Some(residue) = residue else {
            self.correction = correction.clone();
            return;
        };
        let residue = self.name_of(residue);
        match self.elsewhere.iter_mut().find(|one| one.residues.iter().any(|name| name == residue)) {
            Some(one) => one.correction = correction.clone(),
            None => {
                let residues = vec![residue.to_string()];
                self.elsewhere.push(Elsewhere { residues, correction: correction.clone() });
            }
        }
    }
}
