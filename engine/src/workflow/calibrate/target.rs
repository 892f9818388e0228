//! What a job calibrates: one of its sites, or its buffer; and the entry of the library that gets the result.

use crate::config::{Config, SiteSettings};
use crate::error::Result;
use forcefield::Topology;
use lambda::library::{Entry, EntryKind};
use lambda::site::{ResidueNames, Selection, SiteError, SiteRequest};

/// What is calibrated.
#[derive(Debug, Clone)]
pub struct Target {
    /// A site, or the buffer.
    pub what: What,
    /// Its entry of the library.
    pub entry: Entry,
    /// Name of the residue of the site, where the correction is not that of the model compound of the entry.
    pub elsewhere: Option<String>,
}

/// A site, or the buffer.
#[derive(Debug, Clone)]
pub enum What {
    /// A titratable site.
    Site {
        /// Its section of the job.
        settings: Box<SiteSettings>,
        /// Its name, `GLU 2`.
        name: String,
    },
    /// The buffer, all its molecules together.
    Buffer,
}

impl Target {
    /// What the job calibrates: `calibrate.site`, or the only `[[titration.site]]`.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if the job names no single site, or the library does not know it.
    pub fn find(config: &Config) -> Result<Self> {
        let asked = config.calibrate.as_ref().and_then(|calibrate| calibrate.site.clone());
        let sites = config.titration.as_ref().map(|titration| titration.sites.as_slice()).unwrap_or_default();
        match (asked, sites) {
            (Some(asked), _) if asked == "buffer" => Self::buffer(config),
            (Some(asked), sites) => {
                let topology = crate::system::read(config)?.topology;
                let written = section(&topology, &asked, sites).unwrap_or_default();
                Self::site(config, SiteSettings { residue: asked, ..written })
            }
            (None, [only]) => Self::site(config, only.clone()),
            (None, _) => {
                let message = format!("the file has {} sites, and none is named for the calibration", sites.len());
                Err(config.error_at("calibrate", message, "set calibrate.site = \"GLU 2\""))
            }
        }
    }

    /// The site with this section.
    fn site(config: &Config, settings: SiteSettings) -> Result<Self> {
        let refused = |e: SiteError| config.error_at("calibrate.site", e.to_string(), "");
        let mut residue: SiteRequest = settings.residue.parse().map_err(refused)?;
        residue.entry = settings.entry.clone().or(residue.entry);
        let library = crate::titration::library(config)?;
        let topology = crate::system::read(config)?.topology;
        let found = lambda::find_sites(&topology, &library, Selection::Residues(&[residue])).map_err(refused)?;
        let site = &found[0];
        let entry = site.entry_in(&library).cloned();
        let missing = || config.error_at("calibrate.site", format!("the library has no {}", site.entry), "");
        let what = What::Site { settings: Box::new(settings), name: site.name.clone() };
        let entry = entry.ok_or_else(missing)?;
        let (index, name) = (site.residues[0], &topology.residues[site.residues[0] as usize].name);
        let is_end = lambda::site::is_chain_end(&topology, index);
        let is_of_model = entry.correction_at(name, is_end).is_some_and(|found| std::ptr::eq(found, &entry.correction));
        let elsewhere = (!is_of_model).then(|| name.clone());
        Ok(Self { what, entry, elsewhere })
    }

    /// The buffer of the job, alone.
    fn buffer(config: &Config) -> Result<Self> {
        let titration = config.titration.as_ref();
        let Some(buffer) = titration.and_then(|titration| titration.buffer.as_ref()) else {
            let help = "add a section [titration.buffer]";
            return Err(config.error_at("calibrate.site", "the job has no buffer", help));
        };
        if titration.is_some_and(|titration| !titration.sites.is_empty()) {
            let message = "the buffer is calibrated alone, and the job has sites";
            return Err(config.error_at("calibrate.site", message, "remove [[titration.site]]"));
        }
        let library = crate::titration::library(config)?;
        let residue = match &buffer.residue {
            Some(residue) => residue.clone(),
            None => {
                let topology = crate::system::read(config)?.topology;
                crate::titration::buffer_residue(config, buffer, &library, &topology)?
            }
        };
        let fits = |entry: &Entry| entry.kind == EntryKind::Buffer && entry.residues.contains(&residue);
        let found = library.entries.into_iter().find(fits);
        let missing = || {
            let message = format!("the library has no buffer made of {residue}");
            config.error_at("titration.buffer.residue", message, "name another residue")
        };
        found.map(|entry| Self { what: What::Buffer, entry, elsewhere: None }).ok_or_else(missing)
    }

    /// Name of the site; `None`: the buffer.
    pub fn site_name(&self) -> Option<&str> {
        match &self.what {
            What::Site { name, .. } => Some(name),
            What::Buffer => None,
        }
    }
}

/// The section of the job for the residue that `asked` names, however either of them is written: "GLU 2" and "1:GLU 2" may be the same.
fn section(topology: &Topology, asked: &str, sites: &[SiteSettings]) -> Option<SiteSettings> {
    let names = ResidueNames::new(topology);
    let meant = |text: &str, entry: Option<&String>| {
        let request: SiteRequest = text.parse().ok()?;
        Some((names.only(&request).ok()??, entry.cloned().or(request.entry)))
    };
    let wanted = meant(asked, None)?;
    let fits = |site: &&SiteSettings| {
        let found = meant(&site.residue, site.entry.as_ref());
        found.is_some_and(|(residue, entry)| residue == wanted.0 && (wanted.1.is_none() || entry == wanted.1))
    };
    sites.iter().find(fits).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forcefield::topology::{Molecule, Residue};

    /// The section of a site counts, however the site is written.
    #[test]
    fn a_section_is_found_by_any_name_of_its_residue() {
        let residue = |molecule| Residue { name: "GLU".into(), number: 2, insertion: None, molecule, atoms: 0..0 };
        let molecule = || Molecule { name: "chain".into(), atoms: 0..0 };
        let one = Topology { residues: vec![residue(0)], molecules: vec![molecule()], ..Topology::default() };
        let two = Topology {
            residues: vec![residue(0), residue(1)],
            molecules: vec![molecule(), molecule()],
            ..Topology::default()
        };
        let site = |name: &str, entry: &str| SiteSettings {
            residue: name.into(),
            entry: Some(entry.into()),
            ..SiteSettings::default()
        };
        let sites = [site("GLU 2", "nterm"), site("1:GLU 2", "glu")];
        let entry = |top: &Topology, asked: &str, sites: &[SiteSettings]| section(top, asked, sites)?.entry;
        assert_eq!(entry(&one, "1:GLU  2", &sites).as_deref(), Some("nterm"));
        assert_eq!(entry(&one, "glu GLU 2", &sites).as_deref(), Some("glu"));
        assert_eq!(entry(&two, "1:GLU 2", &sites).as_deref(), Some("glu"));
        assert_eq!(entry(&two, "2:GLU 2", &sites), None);
    }
}
