//! Groups of a GROMACS index file: `[ name ]`, then numbers of atoms counted from 1.

use super::SelectionError;
use crate::error::{Error, InputError, Result};
use std::path::Path;

/// Named groups of atoms (0-based); those of one name that occurs twice are one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexGroups(Vec<(String, Vec<u32>)>);

impl IndexGroups {
    /// Reads an index file for a system of `n_atoms` atoms.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Input`] with the line that is no list of atoms of this system.
    pub fn read(path: &Path, n_atoms: usize) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read the index groups", e))?;
        let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
        let mut current = None;
        for (number, line) in text.lines().enumerate() {
            let wrong = |message: String, help: &str| -> Error {
                InputError::new(format!("line {}: {message}", number + 1), help).in_file(path).into()
            };
            let line = line.split(';').next().unwrap_or_default().trim();
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let name = name.trim().to_string();
                let known = groups.iter().position(|(known, _)| *known == name);
                current = Some(known.unwrap_or_else(|| {
                    groups.push((name, Vec::new()));
                    groups.len() - 1
                }));
                continue;
            }
            for word in line.split_whitespace() {
                let Some(group) = current else {
                    return Err(wrong(
                        format!("found \"{word}\" before the first group"),
                        "groups start with [ name ]",
                    ));
                };
                match word.parse::<usize>() {
                    Ok(atom) if (1..=n_atoms).contains(&atom) => groups[group].1.push((atom - 1) as u32),
                    _ => {
                        let help = format!("valid are numbers of atoms from 1 to {n_atoms}, those of this system");
                        return Err(wrong(format!("found \"{word}\""), &help));
                    }
                }
            }
        }
        Ok(Self(groups))
    }

    /// The atoms of a group.
    ///
    /// # Errors
    /// [`SelectionError::Group`] with the names that there are.
    pub fn get(&self, name: &str) -> std::result::Result<&[u32], SelectionError> {
        let found = self.0.iter().find(|(group, _)| group == name);
        found.map(|(_, atoms)| atoms.as_slice()).ok_or_else(|| {
            let names: Vec<String> = self.0.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            let valid = if names.is_empty() {
                "name a GROMACS index file with groups by output.index".into()
            } else {
                format!("the groups of output.index are {}", names.join(", "))
            };
            SelectionError::Group { group: name.into(), valid }
        })
    }
}
