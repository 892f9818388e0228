//! Reduced energies of the frames of a titration at every pH: u_k = Σ_s V_pH,s(λ; pH_k) / RT over the sites that move.
//!
//! All runs of a titration have one force field, one barrier and one V_MM; they differ in V_pH alone. What is the same in all states drops out of
//! MBAR (Shirts & Chodera 2008, doi:10.1063/1.2978177), so that u_k need no more than the weights in `lambda.csv`. With barriers that adapt, every run
//! ends with another one, and the states differ in it too: then there are no such energies. V_pH: [`lambda::bias::PhPotential`].

use super::runs::Run;
use crate::error::{InputError, Result};
use crate::output::files;
use crate::record::{Kind, Labels, SiteRecord};
use forcefield::units::GAS_CONSTANT;
use lambda::bias::{Acidity, Barrier, PhPotential};

/// V_pH/RT of all frames at every pH.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduced {
    /// The pH values, rising.
    pub ph: Vec<f64>,
    /// Energies `[run][pH][frame]`.
    pub energies: Vec<Vec<Vec<f64>>>,
}

impl Reduced {
    /// The energies of all runs, or a sentence that says why their states differ in more than the pH.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if a site has numbers that no potential can be made of.
    pub fn new(runs: &[Run]) -> Result<std::result::Result<Self, String>> {
        let mut ph: Vec<f64> = runs.iter().map(|run| run.ph).collect();
        ph.sort_by(f64::total_cmp);
        ph.dedup();
        if !runs.iter().any(|run| run.sites.sites.iter().any(acts)) {
            return Ok(Err("no site titrates".into()));
        }
        if let Some(reason) = runs.iter().find_map(|run| difference(&runs[0], run)) {
            return Ok(Err(reason));
        }
        let energies = runs.iter().map(|run| ph.iter().map(|&ph| energies(run, ph)).collect());
        Ok(Ok(Self { energies: energies.collect::<Result<_>>()?, ph }))
    }
}

/// Whether V_pH acts on a site.
pub(super) fn acts(site: &SiteRecord) -> bool {
    let moves = site.kind == Kind::Titratable && site.coordinate != "fixed";
    moves && site.forms.iter().any(|form| form.protons_lost != 0 || form.pk != 0.0)
}

/// What two runs differ in besides the pH.
pub(super) fn difference(first: &Run, run: &Run) -> Option<String> {
    let between =
        |what: &str| Some(format!("{what} differs between {} and {}", first.folder.display(), run.folder.display()));
    let (a, b) = (&first.sites, &run.sites);
    if a.temperature != b.temperature {
        return between("the temperature");
    }
    if a.smoothed != b.smoothed {
        return between("titration.ph_term");
    }
    if a.sites.len() != b.sites.len() {
        return between("the number of sites");
    }
    for (one, other) in a.sites.iter().zip(&b.sites) {
        if (&one.name, &one.entry, &one.coordinate, &one.forms)
            != (&other.name, &other.entry, &other.coordinate, &other.forms)
        {
            return between(&format!("site {}", Labels::of_sites([one]).of(&one.name)));
        }
        if one.barrier != other.barrier {
            return between(&format!("the barrier of {}", Labels::of_sites([one]).of(&one.name)));
        }
    }
    None
}

/// V_pH/RT of every frame of a run if the pH were `ph`.
fn energies(run: &Run, ph: f64) -> Result<Vec<f64>> {
    let rt = GAS_CONSTANT * run.sites.temperature;
    let mut sum = vec![0.0; run.series.time.len()];
    for site in run.sites.sites.iter().filter(|site| acts(site)) {
        let weights = run.weights(&site.name).unwrap_or_default();
        let potential = potential(run, site, ph)?;
        let mut own = vec![0.0; weights.len()];
        let mut slopes = own.clone();
        for (frame, sum) in sum.iter_mut().enumerate() {
            own.iter_mut().zip(&weights).for_each(|(own, weights)| *own = weights[frame]);
            *sum += potential.evaluate(&own, &mut slopes) / rt;
        }
    }
    Ok(sum)
}

/// V_pH of a site.
pub(super) fn potential(run: &Run, site: &SiteRecord, ph: f64) -> Result<PhPotential> {
    let path = run.folder.join(files::SITES);
    let wrong = |e: &dyn std::fmt::Display| InputError::new(format!("{}: {e}", site.name), "").in_file(&path);
    // Wells are solved for only where their width counts, since it takes a while.
    let smoothed = match run.sites.smoothed {
        true => Some(Barrier::solve(site.barrier.unwrap_or(0.0)).map_err(|e| wrong(&e))?.a),
        false => None,
    };
    let forms = site.forms.iter().map(|form| Acidity { pk: form.pk, protons_lost: form.protons_lost }).collect();
    Ok(PhPotential::new(forms, ph, run.sites.temperature, smoothed).map_err(|e| wrong(&e))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;
    use crate::output::sites::SitesFile;
    use crate::record::FormRecord;
    use std::path::PathBuf;

    fn run(ph: f64) -> Run {
        let form = |protons_lost, pk| FormRecord { protons_lost, pk, ..FormRecord::default() };
        let site = |name: &str, coordinate: &str, forms| SiteRecord {
            name: name.into(),
            coordinate: coordinate.into(),
            barrier: Some(5.0),
            forms,
            ..SiteRecord::default()
        };
        let two = |pk| vec![form(0, 0.0), form(1, pk)];
        let buffer =
            SiteRecord { kind: Kind::Buffer, forms: vec![form(0, 0.0); 2], ..site("buffer", "linear", vec![]) };
        let sites = vec![
            site("HIS 5", "nexp", vec![form(0, 0.0), form(1, 6.92), form(1, 6.53)]),
            site("ASP 9", "fixed", two(3.67)),
            site("GLU 4", "linear", two(4.25)),
            buffer,
        ];
        let lambda = [vec![0.7, 0.0], vec![0.2, 0.5], vec![0.1, 0.5], vec![1.0; 2], vec![-0.02, 0.9], vec![0.4; 2]];
        Run {
            folder: PathBuf::from(format!("pH_{ph}")),
            ph,
            sites: SitesFile { ph: Some(ph), temperature: 300.0, sites, ..SitesFile::default() },
            series: LambdaSeries { time: vec![0.0, 1.0], lambda: lambda.to_vec(), ..LambdaSeries::default() },
            ..Run::default()
        }
    }

    /// u = ln10 Σ λ_α (pK_α − d_α pH) of the sites that move, worked out by hand; a fixed site and the buffer do not count.
    #[test]
    fn energies_are_those_of_the_weights() {
        let reduced = Reduced::new(&[run(7.0), run(4.0), run(7.0)]).unwrap().unwrap();
        assert_eq!((reduced.ph.clone(), reduced.energies.len()), (vec![4.0, 7.0], 3));
        for (state, ph) in reduced.ph.iter().enumerate() {
            let histidine = [0.2 * (6.92 - ph) + 0.1 * (6.53 - ph), 0.5 * (6.92 - ph) + 0.5 * (6.53 - ph)];
            let glutamate = [-0.02 * (4.25 - ph), 0.9 * (4.25 - ph)];
            for frame in 0..2 {
                let exact = std::f64::consts::LN_10 * (histidine[frame] + glutamate[frame]);
                assert!((reduced.energies[1][state][frame] - exact).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn states_that_differ_in_more_than_the_ph_have_none() {
        let refused = |change: &dyn Fn(&mut Run)| {
            let mut other = run(5.0);
            change(&mut other);
            Reduced::new(&[run(4.0), other]).unwrap().unwrap_err()
        };
        assert!(refused(&|run| run.sites.sites[2].barrier = Some(6.0)).contains("the barrier of Glu 4 differs"));
        assert!(
            refused(&|run| run.sites.temperature = 310.0).contains("the temperature differs between pH_4 and pH_5")
        );
        assert!(refused(&|run| run.sites.sites[0].name = "HIS 6".into()).contains("site His 5 differs"));
        assert!(refused(&|run| run.sites.smoothed = true).contains("ph_term"));
        assert!(refused(&|run| run.sites.sites.truncate(3)).contains("number of sites"));
    }
}
