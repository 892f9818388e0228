//! All runs of a titration as one ensemble, if they differ in their pH alone.

use crate::error::Result;
use crate::evaluation::pure::perturbations;
use crate::evaluation::reduced::{acts, difference, potential};
use crate::evaluation::runs::Run;
use lambda::analysis::reweighting::{Ensemble, RunFrames, SiteFrames};

/// The frames of all runs with the names of the sites that V_pH acts on, and a sentence if they are not connected.
pub(super) struct Connected {
    pub ensemble: Ensemble,
    pub names: Vec<String>,
    /// Sites whose frames are taken to the pure forms.
    pub pure: Vec<String>,
    pub reason: Option<String>,
}

impl Connected {
    /// Of these runs.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if λ is not finite, the threshold is out of range, or a site has numbers that no potential can be made of.
    pub fn new(runs: &[Run], threshold: f64) -> Result<Self> {
        let mut names: Vec<String> = Vec::new();
        for site in runs.iter().flat_map(|run| &run.sites.sites).filter(|site| acts(site)) {
            if !names.contains(&site.name) {
                names.push(site.name.clone());
            }
        }
        // Frames of all runs of a site count in the same way.
        let tells = |name: &&String| {
            let mut records = runs.iter().flat_map(|run| run.sites.sites.iter().map(move |site| (run, site)));
            records.all(|(run, site)| site.name != **name || perturbations(run, site, &[], &[]).is_some())
        };
        let pure: Vec<String> = names.iter().filter(tells).cloned().collect();
        let frames = |run: &Run| -> Result<RunFrames> {
            let site = |name: &String| -> Result<Option<SiteFrames>> {
                let record = run.sites.sites.iter().find(|site| &site.name == name && acts(site));
                let Some((record, weights)) = record.zip(run.weights(name)) else { return Ok(None) };
                let states = run.states(&weights, threshold)?;
                let perturbations =
                    if pure.contains(name) { perturbations(run, record, &weights, &states) } else { None };
                let frames = SiteFrames::new(potential(run, record, run.ph)?, &weights, states);
                Ok(Some(match perturbations {
                    Some(perturbations) => frames.taken_to_forms(perturbations),
                    None => frames,
                }))
            };
            let sites = names.iter().map(site).collect::<Result<_>>()?;
            Ok(RunFrames { ph: run.ph, frames: run.series.time.len(), sites })
        };
        let all = || runs.iter().map(frames).collect::<Result<Vec<_>>>();
        let reason = match runs.iter().find_map(|run| difference(&runs[0], run)) {
            Some(reason) => reason,
            None => match Ensemble::connected(all()?) {
                Ok(ensemble) => return Ok(Self { ensemble, names, pure, reason: None }),
                Err(e) => e.to_string(),
            },
        };
        let reason = format!("frames count at their own pH only, without MBAR: {reason}");
        Ok(Self { ensemble: Ensemble::separate(all()?), names, pure, reason: Some(reason) })
    }

    /// Index of a site.
    pub fn site(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}
