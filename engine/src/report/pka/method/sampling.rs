//! pH values, exchange, time, and how populations and errors follow, in sentences.

use super::super::evidence::trimmed;
use super::works::{EQUILIBRATION, EXCHANGE, EXCHANGE_PH, MBAR, PICTURES};
use super::{Method, listed};
use crate::evaluation::background::Background;
use crate::evaluation::pka::{Evaluation, LARGEST_ERROR};
use crate::evaluation::runs::Run;

/// pH values, exchange, time, and how populations and errors follow.
pub(super) fn sampling(method: &mut Method, evaluation: &Evaluation, background: &Background) {
    let time: f64 = evaluation.runs.iter().map(Run::length).sum();
    let time = trimmed(&if time < 1e4 { format!("{time:.1} ps") } else { format!("{:.1} ns", time / 1e3) });
    let ph: Vec<String> = evaluation.ph.iter().map(f64::to_string).collect();
    let runs = evaluation.runs.len();
    let value = |key: &str| background.value("titrate", key);
    let swaps = match value("exchange") {
        Some(every) => {
            format!(", which tried to swap between neighbours every {every}{}", method.cite(&[EXCHANGE, EXCHANGE_PH]))
        }
        None => String::new(),
    };
    let cited = method.cite(&[EQUILIBRATION]);
    let least = evaluation.left_out.iter().copied().fold(f64::INFINITY, f64::min);
    let start = if least > 0.0 && least.is_finite() { format!("first {least} ps") } else { "start".to_string() };
    let (runs, values) =
        (if runs == 1 { "one run".into() } else { format!("{runs} runs") }, if ph.len() == 1 { "" } else { "s" });
    method.add(&format!(
        "In all, {runs} at pH value{values} {}{swaps} gave {time}, without the {start} of each, of which more was left out where it differed from the rest{cited}.",
        listed(&ph)
    ));
    let mut added: Vec<String> =
        evaluation.runs.iter().filter(|run| run.begun.is_some()).map(|run| run.ph.to_string()).collect();
    added.dedup();
    if !added.is_empty() {
        method.add(&format!(
            "Of these pH values {} {} added during the runs, where they tell more of the sites whose pKa was not known well; runs there began with the states of \
             others.",
            listed(&added),
            if added.len() == 1 { "was" } else { "were" }
        ));
    }
    let (draws, threshold) = (evaluation.options.resampling.draws, evaluation.options.threshold);
    let how = if evaluation.overlap.is_empty() {
        "Populations of the forms were counted at each pH".to_string()
    } else {
        format!(
            "Populations of the pure forms at every pH follow from the frames of all pH values by MBAR{}",
            method.cite(&[MBAR])
        )
    };
    let walkers = match value("exchange") {
        Some(_) => {
            "; and if walkers made round trips in pH, or replicas from several structures have their scatter in the error"
        }
        None => "",
    };
    let pure = evaluation.sites.iter().filter(|site| site.pure).count();
    let taken = match (pure, evaluation.sites.len() - pure) {
        (0, _) => String::new(),
        (_, 0) => "; frames near a form were taken to it by ∂V/∂λ".to_string(),
        (pure, others) => {
            format!("; frames near a form were taken to it by ∂V/∂λ, of {pure} sites and not of the {others} others")
        }
    };
    method.add(&format!(
        "{how}{taken}; a form is occupied where its weight exceeds {threshold}. Standard errors are those of {draws} bootstrap draws over independent samples, or of the scatter of walkers, runs or \
         replicas as wholes where that is larger. A pKa is called \
         converged if its error is below {LARGEST_ERROR}, halves of the runs and replicas agree within their errors, neighbouring pH values overlap, and the site changed its protonation, its \
         tautomer and its rotamer at least ten times where that matters{walkers}."
    ));
    let from_replicas = evaluation.sites.iter().filter(|site| site.diagnostics.from_replicas).count();
    if from_replicas > 0 {
        let all =
            if from_replicas == evaluation.sites.len() { String::new() } else { format!(" of {from_replicas} sites") };
        method.add(&format!(
            "Replicas began at several structures, and standard errors{all} are at least those of the mean of the replicas, with the factor of Student's t, whether these agree or \
             not; by how much halves of the runs differ is the mean over the replicas, with an error of the same kind."
        ));
    }
    if let Some(solution) = &evaluation.solution {
        method.add(&format!(
            "The size of the box makes pKa values too high by {}, by the Poisson-Boltzmann equation for a charged sphere in a cell beside the same sphere in unbounded salt water; pKa \
             values in solution are without it.",
            solution.range()
        ));
    }
    if background.solute.is_ok() {
        let cited = method.cite(&[PICTURES]);
        method.add(&format!("(The picture of the structure is drawn by 3Dmol.js{cited}.)"));
    }
}
