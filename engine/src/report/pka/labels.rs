//! What sites are called on a page: as in the entry that the protein was built from, `Glu 15`, and not as in the job, `GL3 15`.

use crate::evaluation::background::Background;
use crate::evaluation::background::solute::usual_name;
use crate::evaluation::pka::Evaluation;
use lambda::site::SiteRequest;
use std::collections::{BTreeSet, HashMap};

/// The labels of all sites and of the steps of their titration, by their names.
#[derive(Debug, Clone)]
pub(super) struct Labels(HashMap<String, String>);

impl Labels {
    pub(super) fn new(evaluation: &Evaluation, background: &Background) -> Self {
        let mut labels = HashMap::new();
        for (index, site) in evaluation.sites.iter().enumerate() {
            let (name, label) = (&site.record.name, label(evaluation, background, index));
            for step in (0..site.titration.macroscopic.len()).map(|step| site.step_name(step)) {
                // `, 2nd proton` of sites that lose several.
                let suffix = step.strip_prefix(name.as_str()).unwrap_or_default();
                labels.insert(step.clone(), label.clone() + suffix);
            }
            labels.insert(name.clone(), label);
        }
        Self(labels)
    }

    /// The label of a site or a step; what has none keeps its name.
    pub(super) fn of(&self, name: &str) -> String {
        self.0.get(name).map_or(name, String::as_str).into()
    }
}

/// A site as people call it: `Glu 15` for `GL3 15`, `N-term Met 1`, by the chain and number of the entry where the job says them, with the chain where there are several.
fn label(evaluation: &Evaluation, background: &Background, index: usize) -> String {
    let site = &evaluation.sites[index].record;
    let Ok(SiteRequest { entry, name, number, insertion, molecule, which }) = site.name.parse::<SiteRequest>() else {
        return site.name.clone();
    };
    // A name that takes more to be told from others keeps it.
    if which.is_some() && site.place.is_none() || !name.is_ascii() {
        return site.name.clone();
    }
    let usual = usual_name(&name);
    let usual = if usual.len() == 3 { usual[..1].to_string() + &usual[1..].to_lowercase() } else { usual.to_string() };
    let drawn = background.solute.as_ref().ok().and_then(|solute| solute.sites.get(index)?.as_ref()?.chain);
    let (number, insertion, chain) = match &site.place {
        Some(place) => (place.number, place.insertion, place.chain.clone().filter(|_| has_several_chains(evaluation))),
        None => (number, insertion, drawn.map(String::from).or_else(|| molecule.map(|molecule| molecule.to_string()))),
    };
    let insertion = insertion.map_or(String::new(), String::from);
    let chain = chain.map_or(String::new(), |chain| format!(" ({chain})"));
    let end = match entry.as_deref() {
        Some("nterm") => "N-term ",
        Some("cterm") => "C-term ",
        _ => "",
    };
    format!("{end}{usual} {number}{insertion}{chain}")
}

/// Whether the sites are in chains of different names, as far as the job says.
fn has_several_chains(evaluation: &Evaluation) -> bool {
    let chains = evaluation.sites.iter().filter_map(|site| site.record.place.as_ref()?.chain.as_deref());
    chains.collect::<BTreeSet<_>>().len() > 1
}
