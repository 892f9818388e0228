//! `sites.toml`: what the columns of `lambda.csv` are, so that they can be evaluated without the job.

use crate::atomic::write_atomic;
use crate::error::{Error, InputError, Result};
use crate::record::{Description, SiteRecord, UntitratedRecord};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;

/// The sites of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SitesFile {
    /// pH of the run; absent where every site is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ph: Option<f64>,
    /// Temperature (K).
    pub temperature: f64,
    /// Time from the start in which λ was held (ps), which no evaluation counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held: f64,
    /// Whether V_pH is smoothed; if not, it is linear in the weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoothed: bool,
    /// The sites in the order of the columns.
    #[serde(default, rename = "site")]
    pub sites: Vec<SiteRecord>,
    /// Groups that the library knows and that do not titrate, where every group is wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untitrated: Vec<UntitratedRecord>,
}

fn is_zero(time: &f64) -> bool {
    *time == 0.0
}

/// Writes the sites of a run; without sites there is no file.
///
/// # Errors
/// [`Error::File`] if the file cannot be written.
pub fn write(path: &Path, description: &Description) -> Result<()> {
    if description.sites.is_empty() {
        return Ok(());
    }
    let file = SitesFile {
        ph: description.ph,
        temperature: description.temperature,
        held: description.held,
        smoothed: description.smoothed,
        sites: description.sites.clone(),
        untitrated: description.untitrated.clone(),
    };
    let text = toml::to_string(&file).map_err(|e| Error::input(format!("the sites cannot be written: {e}"), ""))?;
    write_atomic(path, "write the sites", text.as_bytes())
}

/// Reads the sites of a run.
///
/// # Errors
/// [`Error::File`] if the file cannot be read, [`Error::Input`] with the reason if it is damaged.
pub fn read(path: &Path) -> Result<SitesFile> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read the sites", e))?;
    let damaged = |message: String, help: &str| Error::from(InputError::new(message, help).in_file(path));
    let file: SitesFile = toml::from_str(&text).map_err(|e| damaged(e.to_string(), ""))?;
    let mut names = HashSet::new();
    match file.sites.iter().find(|site| !names.insert(&site.name)) {
        None => Ok(file),
        Some(site) => {
            let message =
                format!("two sites are called {}, and what is counted for one may be of the other", site.name);
            Err(damaged(message, "repeat the run with this version, which puts the molecule in front of such names"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FormRecord, Kind, PolynomialRecord};

    #[test]
    fn sites_are_read_back() {
        let form = |name: &str, protons_lost, charge, pk| FormRecord { name: name.into(), protons_lost, charge, pk };
        let his = SiteRecord {
            name: "HIS 5".into(),
            place: Some("H 4A".parse().unwrap()),
            entry: "his".into(),
            coordinate: "nexp".into(),
            pka: Some(6.38),
            barrier: Some(7.25),
            free_energies: Some(vec![0.0, -69.49, -82.125]),
            follows: vec!["bonded terms".into()],
            correction: Some(PolynomialRecord {
                degree: 3,
                interior_degree: 1,
                coefficients: vec![-69.49, -82.125, 12.5],
            }),
            forms: vec![form("HSP", 0, 1.0, 0.0), form("HSD", 1, 0.0, 6.92), form("HSE", 1, 0.0, 6.53)],
            ..SiteRecord::default()
        };
        let buffer = SiteRecord {
            name: "buffer".into(),
            entry: "water".into(),
            kind: Kind::Buffer,
            coordinate: "linear".into(),
            molecules: vec![7, 90, 411],
            forms: vec![form("-½", 0, -1.5, 0.0), form("+½", 0, 1.5, 0.0)],
            ..SiteRecord::default()
        };
        let untitrated = vec![UntitratedRecord { name: "GLU 9".into(), reason: "it has no atom HE2".into() }];
        let (sites, ph, temperature) = (vec![his, buffer], Some(4.25), 300.0);
        let description = Description { sites, untitrated, ph, temperature, ..Description::default() };
        assert_eq!(description.lambdas(), ["HIS 5:HSP", "HIS 5:HSD", "HIS 5:HSE", "buffer"]);
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("sites.toml");
        write(&path, &description).unwrap();
        let back = read(&path).unwrap();
        assert_eq!((back.ph, back.temperature, back.sites), (Some(4.25), 300.0, description.sites));
        assert_eq!(back.untitrated, description.untitrated);
    }

    /// Such a file counts one site for two.
    #[test]
    fn equal_names_are_refused() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("sites.toml");
        let site = || SiteRecord { name: "GLU 2".into(), ..SiteRecord::default() };
        write(&path, &Description { sites: vec![site(), site()], ..Description::default() }).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("two sites are called GLU 2"), "{message}");
    }
}
