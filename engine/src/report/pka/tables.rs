//! Results of an evaluation as CSV, and the short table at the end of the command.
//!
//! `pka.csv`: macroscopic pKa values. `micro.csv`: pK of every pair of forms, and tautomers. `titration.csv` and
//! `populations.csv`: by site, pH and form. `diagnostics.csv`: whether sites have converged. `neighbours.csv`: what stands beside them. `pairs.csv`: correlations and interactions. `convergence.csv`: pKa against the time used.

use crate::atomic::write_atomic;
use crate::error::Result;
use crate::evaluation::pka::{Diagnostics, Evaluation, Neighbour, PairResult, SIGNIFICANT, SiteResult, grouped};
use crate::output::tables::cell;
use crate::record::Labels;
use crate::report::text::aligned;
use lambda::analysis::hill::Determined;
use lambda::analysis::titration::protonation;
use std::fmt::Write;
use std::path::Path;

/// Macroscopic pKa values by site.
pub const PKA: &str = "pka.csv";
/// Microscopic pK values by pair of forms.
pub const MICRO: &str = "micro.csv";
/// Deprotonated fractions by site and pH.
pub const TITRATION: &str = "titration.csv";
/// Populations by site, pH and form.
pub const POPULATIONS: &str = "populations.csv";
/// Correlations and interactions by pair of sites.
pub const PAIRS: &str = "pairs.csv";
/// pKa against the time used.
pub const CONVERGENCE: &str = "convergence.csv";

/// Whether sites have converged, and why not.
pub const DIAGNOSTICS: &str = "diagnostics.csv";
/// What stands beside the sites.
pub const NEIGHBOURS: &str = "neighbours.csv";

/// Writes all tables.
///
/// # Errors
/// [`crate::error::Error::File`] if a table cannot be written.
pub fn write(evaluation: &Evaluation, folder: &Path) -> Result<()> {
    let tables = [
        (PKA, pka(evaluation)),
        (MICRO, micro(evaluation)),
        (TITRATION, titration(evaluation)),
        (POPULATIONS, populations(evaluation)),
        (PAIRS, pairs(evaluation)),
        (CONVERGENCE, convergence(evaluation)),
        (DIAGNOSTICS, diagnostics(evaluation)),
        (NEIGHBOURS, neighbours(evaluation)),
    ];
    tables.iter().try_for_each(|(name, text)| write_atomic(&folder.join(name), "write", text.as_bytes()))
}

/// A number with `digits` decimals, or an empty text.
pub(super) fn optional(value: Option<f64>, digits: usize) -> String {
    value.filter(|value| value.is_finite()).map(|value| format!("{value:.digits$}")).unwrap_or_default()
}

/// `value,error`, both empty if there is none.
fn both(number: Determined) -> String {
    [number.value(), number.error()].map(|value| optional(value, 4)).join(",")
}

pub(super) fn pka(evaluation: &Evaluation) -> String {
    let mut text = String::from(
        "site,protons lost,pKa,pKa error,Hill coefficient,Hill error,pKa of slope 1,its error,from microscopic,its error,model compound,transitions,mixed,pKa of the count,its error,Hill of the count,its error,pKa in solution,its error,forms,converged,reasons,label\n",
    );
    let labels = evaluation.labels();
    for site in &evaluation.sites {
        let label = labels.of(&site.record.name);
        let label = cell(&label);
        let (transitions, mixed) = (site.transitions(), optional(site.mixed(), 5));
        for (index, step) in site.titration.macroscopic.iter().enumerate() {
            let fit = site.fit(index);
            let in_solution = both(evaluation.in_solution(fit.pka).unwrap_or(Determined::Unknown));
            let numbers = [fit.pka, fit.slope, step.pka_slope_one, step.from_microscopic];
            let numbers = numbers.map(both).join(",");
            let (name, reference) = (cell(&site.record.name), optional(site.reference(step.from, step.to), 2));
            let (counted, verdict) = (step.counted.map(both).join(","), verdict(&site.diagnostics));
            let _ = writeln!(
                text,
                "{name},{},{numbers},{reference},{transitions},{mixed},{counted},{in_solution},{},{verdict},{label}",
                step.to,
                if site.pure { "pure" } else { "parts of λ" }
            );
        }
    }
    text
}

/// `yes,` or `no,` and the reasons.
fn verdict(diagnostics: &Diagnostics) -> String {
    let yes = if diagnostics.reasons.is_empty() { "yes" } else { "no" };
    format!("{yes},{}", cell(&diagnostics.reasons.join("; ")))
}

fn diagnostics(evaluation: &Evaluation) -> String {
    let mut text = String::from(
        "site,protons lost,pKa,pKa error,transitions,exchanges,rotamer changes,χ2 changes,end torsion changes,farthest from syn (°),syn changes,round trips,its round trips,first half,its error,last half,its error,spread of replicas,least overlap,converged,reasons\n",
    );
    let whole = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
    let overlap = optional(evaluation.overlap.iter().copied().reduce(f64::min), 3);
    let trips = whole(evaluation.round_trips.map(|trips| trips as u64));
    for site in &evaluation.sites {
        let found = &site.diagnostics;
        for (index, step) in site.titration.macroscopic.iter().enumerate() {
            let halves = site.halves(index).unwrap_or([Determined::Unknown; 2]).map(both).join(",");
            let (pka, transitions, exchanges) = (both(site.fit(index).pka), site.transitions(), whole(found.exchanges));
            let turned = [found.torsions.first, found.torsions.second, found.torsions.end].map(whole).join(",");
            let held = found.torsions.held;
            let held =
                format!("{},{}", optional(held.map(|held| held.farthest), 0), whole(held.map(|held| held.changes)));
            let own_trips = whole(found.round_trips.map(|trips| trips as u64));
            let (spread, verdict) = (optional(found.spread(index), 3), verdict(found));
            let _ = writeln!(
                text,
                "{},{},{pka},{transitions},{exchanges},{turned},{held},{trips},{own_trips},{halves},{spread},{overlap},{verdict}",
                cell(&site.record.name),
                step.to
            );
        }
    }
    text
}

pub(super) fn neighbours(evaluation: &Evaluation) -> String {
    let mut text = String::from("site,protons lost,frames,residue,atom,share\n");
    for site in &evaluation.sites {
        let protons: Vec<u32> = site.record.forms.iter().map(|form| form.protons_lost).collect();
        for ((class, lost), frames) in protonation(&protons).0.iter().enumerate().zip(&site.neighbours.frames) {
            for neighbour in &site.neighbours.atoms {
                let Neighbour { residue, atom, shares } = neighbour;
                let share = optional(shares[class], 3);
                let [name, residue, atom] = [&site.record.name, residue, atom].map(|text| cell(text));
                let _ = writeln!(text, "{name},{lost},{frames},{residue},{atom},{share}");
            }
        }
    }
    text
}

fn micro(evaluation: &Evaluation) -> String {
    let mut text =
        String::from("site,from,to,pK,pK error,model compound,share of from,its error,share of to,its error\n");
    for site in &evaluation.sites {
        for link in &site.titration.microscopic {
            let [from, to] = [link.from, link.to].map(|form| &site.record.forms[form]);
            let reference = site.microscopic_reference(link.from, link.to);
            let shares = [link.from, link.to].map(|form| both(site.titration.shares[form])).join(",");
            let [site, from, to] = [&site.record.name, &from.name, &to.name].map(|text| cell(text));
            let (pk, reference) = (both(link.pk), optional(Some(reference), 2));
            let _ = writeln!(text, "{site},{from},{to},{pk},{reference},{shares}");
        }
    }
    text
}

fn titration(evaluation: &Evaluation) -> String {
    let mut text =
        String::from("pH,site,deprotonated,low,high,weighted,counted,mixed,transitions,frames,independent samples\n");
    for site in &evaluation.sites {
        for point in &site.titration.points {
            let ends = point.interval.map_or([None; 2], |ends| ends.map(Some)).map(|end| optional(end, 5)).join(",");
            let (s, mixed) = (optional(point.deprotonated, 5), optional(point.occupancy.mixed_fraction(), 5));
            let (transitions, frames) = (point.occupancy.transitions, point.occupancy.frames());
            let (ph, name, samples) = (point.ph, cell(&site.record.name), point.samples);
            let others = [point.deprotonated_weighted, point.deprotonated_counted].map(|s| optional(s, 5)).join(",");
            let _ = writeln!(text, "{ph},{name},{s},{ends},{others},{mixed},{transitions},{frames},{samples:.1}");
        }
    }
    text
}

fn populations(evaluation: &Evaluation) -> String {
    let mut text = String::from("pH,site,form,protons lost,population,low,high,weighted,of the frames,mean weight\n");
    for site in &evaluation.sites {
        for (point, means) in site.titration.points.iter().zip(&site.means) {
            for (k, form) in site.record.forms.iter().enumerate() {
                let ends = point.intervals.as_ref().map_or([None; 2], |ends| ends[k].map(Some));
                let ends = ends.map(|end| optional(end, 5)).join(",");
                let population = optional(point.populations.as_ref().map(|p| p[k]), 5);
                let counted = optional(point.occupancy.population(k), 5);
                let weighted = optional(point.weighted.as_ref().map(|p| p[k]), 5);
                let (ph, lost, mean) = (point.ph, form.protons_lost, means[k]);
                let [name, form] = [&site.record.name, &form.name].map(|text| cell(text));
                let numbers = format!("{population},{ends},{weighted},{counted},{mean:.5}");
                let _ = writeln!(text, "{ph},{name},{form},{lost},{numbers}");
            }
        }
    }
    text
}

fn pairs(evaluation: &Evaluation) -> String {
    let mut text = String::from(
        "first,second,correlation,its error,significant,pKa of first,its error,pKa of second,its error,interaction (pK),its error,first pKa of both,its error,second pKa of both,its error\n",
    );
    for PairResult { sites, pair } in &evaluation.pairs {
        let [first, second] = sites.map(|site| cell(&evaluation.sites[site].record.name));
        let significant = if pair.significant(SIGNIFICANT) { "yes" } else { "no" };
        let [pk1, pk2] = pair.pka;
        let [upper, lower] = pair.macroscopic;
        let numbers = [pk1, pk2, pair.interaction, upper, lower].map(both).join(",");
        let _ = writeln!(text, "{first},{second},{},{significant},{numbers}", both(pair.correlation));
    }
    text
}

fn convergence(evaluation: &Evaluation) -> String {
    let mut text = String::from("site,protons lost,share,from the beginning,its error,from the end,its error\n");
    for site in &evaluation.sites {
        let found = &site.convergence;
        for (index, step) in site.titration.macroscopic.iter().enumerate() {
            for (k, share) in found.shares.iter().enumerate() {
                let numbers = [found.forward[index][k], found.reverse[index][k]].map(both).join(",");
                let _ = writeln!(text, "{},{},{share:.2},{numbers}", cell(&site.record.name), step.to);
            }
        }
    }
    text
}

/// `+0.12`, the shift from the model compound.
pub(super) fn shift(pka: Determined, reference: Option<f64>) -> String {
    let shift = pka.value().zip(reference).map(|(pka, reference)| format!("{:+.2}", pka - reference));
    shift.unwrap_or_default().replace('-', "−")
}

/// Fields of the summary, by step of each site: name, pKa, the same in solution if that was asked for, Hill coefficient, model compound, shift, transitions, mixed, whether it has
/// converged.
pub(super) fn rows(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let (mut rows, labels) = (Vec::new(), evaluation.labels());
    for site in &evaluation.sites {
        for (index, step) in site.titration.macroscopic.iter().enumerate() {
            let reference = site.reference(step.from, step.to);
            let pka = site.fit(index).pka;
            let mut row = vec![labels.of(&site.step_name(index)), pka.to_string()];
            row.extend(evaluation.in_solution(pka).map(|pka| pka.to_string()));
            row.extend([
                step.slope.map_or("–".into(), |_| hill(site.fit(index).slope)),
                optional(reference, 2),
                shift(pka, reference),
                site.transitions().to_string(),
                format!("{:.1} %", 100.0 * site.mixed().unwrap_or(0.0)),
                if site.diagnostics.reasons.is_empty() { "yes".into() } else { "no".into() },
            ]);
            rows.push(row);
        }
    }
    rows
}

/// A Hill coefficient as people read it. MBAR makes that of a site alone 1 exactly, whatever was sampled: no error stands behind it.
pub(super) fn hill(slope: Determined) -> String {
    match slope {
        Determined::Value { value, error } if error < 5e-4 && (value - 1.0).abs() < 5e-4 => "1 (alone)".into(),
        other => other.to_string(),
    }
}

/// Heads of the columns of [`rows`].
const COLUMNS: [&str; 8] = ["site", "pKa", "Hill", "model", "shift", "transitions", "mixed", "converged"];
/// The same with pKa values in solution.
const WITH_SOLUTION: [&str; 9] =
    ["site", "pKa", "in solution", "Hill", "model", "shift", "transitions", "mixed", "converged"];

/// Sentences about tautomers and about sites that interact.
pub(super) fn remarks(evaluation: &Evaluation) -> Vec<String> {
    let (mut remarks, labels) = (Vec::new(), evaluation.labels());
    for site in evaluation.sites.iter().filter(|site| site.record.forms.len() > 2) {
        let links = site.titration.microscopic.iter().map(|l| format!("{} {}", site.link_name(l.from, l.to), l.pk));
        let links: Vec<String> = links.collect();
        remarks.push(format!("{}: {}", labels.of(&site.record.name), links.join(", ")));
    }
    for PairResult { sites, pair } in &evaluation.pairs {
        if pair.significant(SIGNIFICANT) {
            let [first, second] = sites.map(|site| labels.of(&evaluation.sites[site].record.name));
            let (phi, w, [upper, lower]) = (pair.correlation, pair.interaction, pair.macroscopic);
            remarks.push(format!(
                "{first} and {second}: correlation {phi}, interaction {w} pK, pKa of both {upper} and {lower}"
            ));
        }
    }
    remarks
}

/// Which sites have not converged, and why, a line for each reason; what several have in common comes first and is said once.
pub(super) fn not_converged(sites: &[SiteResult], labels: &Labels) -> String {
    let doubtful: Vec<&SiteResult> = sites.iter().filter(|site| !site.diagnostics.reasons.is_empty()).collect();
    let mut text = String::new();
    match doubtful[..] {
        [] => {}
        [site] => {
            let name = labels.of(&site.record.name);
            if let [reason] = &site.diagnostics.reasons[..] {
                let _ = writeln!(text, "{name} has not converged: {reason}");
            } else {
                let _ = writeln!(text, "{name} has not converged:");
                site.diagnostics.reasons.iter().for_each(|reason| text += &format!("  {reason}\n"));
            }
        }
        _ => {
            let _ = writeln!(text, "{} of {} sites have not converged:", doubtful.len(), sites.len());
            let of = |site: &SiteResult| {
                let name = labels.of(&site.record.name);
                site.diagnostics.reasons.clone().into_iter().map(move |reason| (name.clone(), reason))
            };
            let mut reasons = grouped(doubtful.iter().flat_map(|site| of(site)));
            reasons.sort_by_key(|(names, _)| std::cmp::Reverse(names.len()));
            for (names, reason) in reasons {
                let whose = if names.len() == sites.len() { "every site".into() } else { names.join(", ") };
                let _ = writeln!(text, "  {whose}: {reason}");
            }
        }
    }
    text
}

/// The short table at the end of the command, with remarks and warnings, and what was measured.
pub fn summary(evaluation: &Evaluation) -> String {
    let columns: &[&str] = if evaluation.solution.is_some() { &WITH_SOLUTION } else { &COLUMNS };
    let labels = evaluation.labels();
    let mut text = aligned(columns, rows(evaluation));
    text.push('\n');
    if let Some(solution) = &evaluation.solution {
        let (range, file) = (solution.range(), solution.file.display());
        let _ = writeln!(
            text,
            "in solution: the size of the box makes pKa values too high by {range} by {file}, which is taken off"
        );
    }
    text += &not_converged(&evaluation.sites, &labels);
    for remark in remarks(evaluation) {
        let _ = writeln!(text, "{remark}");
    }
    for warning in &evaluation.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    if let Some(found) = &evaluation.comparison {
        let _ = writeln!(text, "\n{}", super::comparison::summary(found, &labels));
    }
    text
}
