//! The file of `octitrate fmm`: charges, what surrounds them, and results to compare with.

use super::System;
use crate::error::{Error, InputError, Result};
use fmm::{Boundary, Exclusions};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::path::Path;

/// The file as it is written; all numbers are dimensionless, k_e = 1. A key that is not here is refused: a slip in `periodic` or `cell` would
/// give another system.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    #[serde(default, rename = "units")]
    _units: IgnoredAny,
    cell: Option<[[f64; 3]; 3]>,
    periodic: Option<String>,
    positions: Vec<[f64; 3]>,
    charges: Vec<f64>,
    #[serde(default)]
    excluded: Vec<[u32; 2]>,
    energy: Option<f64>,
    potentials: Option<Vec<f64>>,
    forces: Option<Vec<[f64; 3]>>,
}

/// Results in a file to compare with.
#[derive(Debug)]
pub struct Reference {
    /// Energy, ½ Σ q φ.
    pub energy: Option<f64>,
    /// Potential at each charge.
    pub potentials: Option<Vec<f64>>,
    /// Force on each charge.
    pub forces: Option<Vec<[f64; 3]>>,
}

impl Reference {
    /// Whether there is nothing to compare with.
    pub fn is_empty(&self) -> bool {
        self.energy.is_none() && self.potentials.is_none() && self.forces.is_none()
    }
}

/// Reads charges, and results to compare with.
///
/// # Errors
/// A file that cannot be read, or is not as it should be.
pub fn read(path: &Path) -> Result<(System, Reference)> {
    let text = crate::text::read(path, "read the charges")?;
    let help = "valid is a JSON object with positions and charges; cell and periodic if it repeats; excluded, a list of \
                pairs counted from 0; energy, potentials and forces to compare with; description and units, which are not read";
    let wrong = |message: String, help: &str| -> Error { InputError::new(message, help).in_file(path).into() };
    let file: File = serde_json::from_str(&text).map_err(|e| wrong(e.to_string(), help))?;
    let n = file.positions.len();
    if n == 0 {
        return Err(wrong("there are no particles".into(), "give at least one position and charge"));
    }
    let counts = [
        ("charges", Some(file.charges.len())),
        ("potentials", file.potentials.as_ref().map(Vec::len)),
        ("forces", file.forces.as_ref().map(Vec::len)),
    ];
    if let Some((name, Some(count))) = counts.into_iter().find(|(_, count)| count.is_some_and(|count| count != n)) {
        return Err(wrong(format!("{n} positions but {count} {name}"), "give one entry for each particle"));
    }
    let exclusions = Exclusions::from_pairs(n, file.excluded.iter().copied())
        .map_err(|e| wrong(e.to_string(), "correct `excluded`"))?;
    let boundary = boundary(&file).map_err(|(message, help)| wrong(message, help))?;
    boundary.check().map_err(|e| wrong(e.to_string(), "give a cell with three vectors that span a volume"))?;
    let minimum_leaf = longest(&file.positions, &file.excluded, &boundary);
    let system = System { boundary, positions: file.positions, charges: file.charges, exclusions, minimum_leaf };
    Ok((system, Reference { energy: file.energy, potentials: file.potentials, forces: file.forces }))
}

/// What surrounds the charges. Without `cell` and `periodic` they are alone in open space; one without the other says nothing certain.
fn boundary(file: &File) -> std::result::Result<Boundary, (String, &'static str)> {
    let cell = || file.cell.ok_or(("the cell is missing".to_string(), "give cell: its three vectors, one in each row"));
    Ok(match file.periodic.as_deref() {
        None if file.cell.is_some() => {
            let help =
                "give periodic: \"xyz\", \"xy\" (a slab), \"x\" (a wire), or \"none\" to leave the cell out of account";
            return Err(("there is a cell, but not in which directions it repeats".into(), help));
        }
        None | Some("none") => Boundary::Open,
        Some("x") => Boundary::Wire { period: cell()?[0] },
        Some("xy") => Boundary::Slab { periods: [cell()?[0], cell()?[1]] },
        Some("xyz") => Boundary::Periodic { cell: cell()? },
        Some(other) => {
            return Err((
                format!("periodic is \"{other}\""),
                "valid are \"xyz\", \"xy\" (a slab), \"x\" (a wire) and \"none\"",
            ));
        }
    })
}

/// The boundary in words, with its vectors.
pub fn boundary_in_words(boundary: &Boundary) -> String {
    let vector = |v: &[f64; 3]| format!("({} {} {})", v[0], v[1], v[2]);
    let vectors: Vec<String> = boundary.periods().iter().map(vector).collect();
    match boundary {
        Boundary::Open => "open, no images".into(),
        Boundary::Wire { .. } => format!("a wire, images along {}", vectors.join(", ")),
        Boundary::Slab { .. } => format!("a slab, images along {}", vectors.join(", ")),
        Boundary::Periodic { .. } => format!("periodic, cell {}", vectors.join(", ")),
    }
}

/// The boundary as the file has it.
pub fn boundary_as_json(boundary: &Boundary) -> Value {
    let name = ["none", "x", "xy", "xyz"][boundary.periods().len()];
    json!({ "periodic": name, "vectors": boundary.periods() })
}

/// Longest distance of an excluded pair, but no more than half of the shortest period, where another image is nearer.
fn longest(positions: &[[f64; 3]], pairs: &[[u32; 2]], boundary: &Boundary) -> f64 {
    let distance = |[i, j]: &[u32; 2]| {
        let (a, b) = (positions[*i as usize], positions[*j as usize]);
        (0..3).map(|x| (a[x] - b[x]).powi(2)).sum::<f64>().sqrt()
    };
    let half = boundary.heights().iter().fold(f64::INFINITY, |least, height| least.min(0.5 * height));
    pairs.iter().map(distance).fold(0.0, f64::max).min(half)
}
