//! The evidence behind the pKa values of a report: tautomers, sites that feel each other, exchange, diagnostics, what was left out, fractions.

use super::tables::optional;
use crate::evaluation::background::{Background, TitrationRecord};
use crate::evaluation::mixing::Mixing;
use crate::evaluation::pka::{Evaluation, FEW_FRAMES, NEAR, Neighbour, PairResult, SIGNIFICANT, SiteResult};
use crate::evaluation::runs::{Run, names_of_runs};
use crate::evaluation::until::{Check, Looks, Settled, reached};
use crate::record::{Labels, are, counted};
use crate::report::exchange;
use crate::report::page::{Page, escape, table};
use crate::report::plot::{Chart, Curve, Figure, Point, Scale, Style};
use lambda::analysis::hill::Determined;
use lambda::analysis::mbar::CONNECTED;
use std::collections::BTreeSet;

/// More rows of microscopic pK values than this are folded until they are clicked.
const MICROSCOPIC: usize = 12;

/// A number without trailing zeros, before its unit.
pub(super) fn trimmed(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_string(),
    }
}

/// The groups that the library knows and that do not titrate, with the reason.
pub(super) fn untitrated(page: &mut Page, evaluation: &Evaluation, labels: &Labels) {
    let all = evaluation.runs.iter().flat_map(|run| &run.sites.untitrated);
    let rows: BTreeSet<Vec<String>> = all.map(|group| vec![labels.of(&group.name), group.reason.clone()]).collect();
    if !rows.is_empty() {
        page.words("Groups that do not titrate", &["group", "reason"], &rows.into_iter().collect::<Vec<_>>());
    }
}

/// Microscopic pK values and tautomers of sites with more than two forms.
pub(super) fn microscopic(page: &mut Page, evaluation: &Evaluation, labels: &Labels) {
    let mut rows = Vec::new();
    for site in evaluation.sites.iter().filter(|site| site.record.forms.len() > 2) {
        for link in &site.titration.microscopic {
            let reference = site.microscopic_reference(link.from, link.to);
            let share = |form: usize| site.titration.shares[form].to_string();
            let (name, step) = (labels.of(&site.record.name), site.link_name(link.from, link.to));
            let model = optional(Some(reference), 2);
            rows.push(vec![name, step, link.pk.to_string(), model, share(link.from), share(link.to)]);
        }
        for step in &site.titration.macroscopic {
            let words = format!("macroscopic from these: {}", step.from_microscopic);
            rows.push(vec![
                labels.of(&site.record.name),
                words,
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
    }
    if !rows.is_empty() {
        let columns = ["site", "forms", "pK", "model", "share of first", "share of second"];
        page.table_up_to(MICROSCOPIC, "Microscopic pK values and tautomers", &columns, &rows);
    }
}

/// Pairs of sites that titrate together.
pub(super) fn pairs(page: &mut Page, evaluation: &Evaluation, labels: &Labels) {
    let signed = |number: Determined| number.to_string().replace('-', "−");
    let row = |PairResult { sites, pair }: &PairResult| {
        let [first, second] = sites.map(|site| labels.of(&evaluation.sites[site].record.name));
        let mut row = vec![format!("{first}, {second}"), signed(pair.correlation)];
        row.extend([pair.pka[0], pair.pka[1], pair.interaction, pair.macroscopic[0], pair.macroscopic[1]].map(signed));
        row
    };
    let rows: Vec<Vec<String>> =
        evaluation.pairs.iter().filter(|result| result.pair.significant(SIGNIFICANT)).map(row).collect();
    if !rows.is_empty() {
        let columns =
            ["sites", "correlation", "pKa of first", "of second", "interaction", "first pKa of both", "second"];
        page.table("Sites that feel each other", &columns, &rows);
    }
}

/// What the columns of the diagnostics count.
const DIAGNOSED: &str = "Transitions: how often the site changed its protonation. Exchanges of equal forms: how often it went from one tautomer to another. Rotamer changes: how \
    often χ1 and χ2 of the side chain, or φ and ψ at an end of a chain, went from one well to another. Hydrogens from syn: how far the hydrogen of a carboxyl group turned away from \
    the side of the other oxygen. Round trips: how often walkers went between pH values below and above the pKa. Mixed: frames in which no form is occupied. Halves and replicas: the \
    pKa from parts of the runs. All counts are those of all runs together.";

/// What speaks for and against the numbers of every site, in numbers.
pub(super) fn diagnostics(page: &mut Page, evaluation: &Evaluation, labels: &Labels) {
    let mut columns = vec![
        "site",
        "pKa",
        "transitions",
        "exchanges of equal forms",
        "rotamer changes: χ1, χ2, end",
        "hydrogens from syn",
        "round trips about its pKa",
        "mixed",
        "first half",
        "last half",
    ];
    if has_replicas(evaluation) {
        columns.extend(["replicas", "spread of replicas"]);
    }
    page.explained_table("Diagnostics", DIAGNOSED, &columns, &diagnosed(evaluation, labels));
}

/// Atoms with a smaller share are not shown beside a group.
const SELDOM: f64 = 0.1;
/// Most atoms that are shown beside a form of a group.
const BESIDE: usize = 4;

/// What stands beside each group with its proton and without it, where trajectories show it.
pub(super) fn neighbours(page: &mut Page, evaluation: &Evaluation, background: &Background, labels: &Labels) {
    let beside = |site: &SiteResult, class: usize| -> String {
        if site.neighbours.frames[class] < FEW_FRAMES {
            return "too few frames".into();
        }
        let share = |one: &Neighbour| one.shares[class].unwrap_or(0.0);
        let mut atoms: Vec<&Neighbour> = site.neighbours.atoms.iter().filter(|one| share(one) >= SELDOM).collect();
        atoms.sort_by(|a, b| share(b).total_cmp(&share(a)));
        // A name is not broken between lines.
        let said = |one: &&Neighbour| {
            format!("{} {} {:.0} %", labels.of(&one.residue), one.atom, 100.0 * share(one)).replace(' ', "\u{a0}")
        };
        match &atoms.iter().take(BESIDE).map(said).collect::<Vec<_>>()[..] {
            [] => "nothing".into(),
            all => all.join(", "),
        }
    };
    let mut rows = Vec::new();
    for site in &evaluation.sites {
        let frames = &site.neighbours.frames;
        for step in 0..frames.len().saturating_sub(1) {
            let [with, without] = [step, step + 1].map(|class| beside(site, class));
            let counts = format!("{}, {}", frames[step], frames[step + 1]);
            rows.push(vec![labels.of(&site.step_name(step)), with, without, counts]);
        }
    }
    if rows.is_empty() {
        return;
    }
    // What validation/README.md found in 19 acids ("Acids that amides hold").
    let of_scaled = match background.corrections.iter().any(|one| one.charge_scale < 1.0) {
        true => {
            " With scaled charges acids beside amides of the backbone (N) have come out too low, by 0.3 ± 0.1 for each amide."
        }
        false => "",
    };
    let heading = "What stands beside each group";
    let words = format!(
        "Nitrogen, oxygen and sulfur (and ions, where the trajectories have them) within {:.1} Å of the atoms that bind the proton, as shares of the frames with the proton and without it. What stands beside one form much more often than beside the other holds that form: a neighbour of the form without the proton lowers the pKa, and one of the form with it raises it. Water is not counted. Atoms below {:.0} % are in {} only.{of_scaled}",
        10.0 * NEAR,
        100.0 * SELDOM,
        super::tables::NEIGHBOURS
    );
    let columns = ["site", "with its proton", "without it", "frames with, without"];
    page.anchor("neighbours", "Neighbours");
    page.section("words", heading, &format!("<p>{}</p>{}", escape(&words), table(heading, &columns, &rows)));
}

fn has_replicas(evaluation: &Evaluation) -> bool {
    evaluation.sites.iter().any(|site| !site.diagnostics.replicas.iter().all(Vec::is_empty))
}

fn diagnosed(evaluation: &Evaluation, labels: &Labels) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for site in &evaluation.sites {
        let found = &site.diagnostics;
        for index in 0..site.titration.macroscopic.len() {
            let halves = site.halves(index).unwrap_or([Determined::Unknown; 2]).map(|half| half.to_string());
            let replicas = found.replicas.get(index).into_iter().flatten().map(Determined::to_string);
            let mut row = vec![
                labels.of(&site.step_name(index)),
                site.fit(index).pka.to_string(),
                site.transitions().to_string(),
            ];
            let whole = |count: Option<u64>| count.map_or("–".into(), |count| count.to_string());
            let torsions = &found.torsions;
            row.push(whole(found.exchanges));
            row.push([torsions.first, torsions.second, torsions.end].map(whole).join(", "));
            row.push(torsions.held.map_or("–".into(), |held| format!("{:.0}° at most", held.farthest)));
            row.push(whole(found.round_trips.map(|trips| trips as u64)));
            row.push(format!("{:.1} %", 100.0 * site.mixed().unwrap_or(0.0)));
            row.extend(halves);
            if has_replicas(evaluation) {
                row.push(replicas.collect::<Vec<_>>().join(", "));
                row.push(found.spread(index).map_or("–".into(), |spread| format!("{spread:.2}")));
            }
            rows.push(row);
        }
    }
    rows
}

/// Where `until` stands after the last look, in a sentence; none without looks.
pub(super) fn state(looks: &Looks) -> Option<String> {
    let last = looks.checks.last()?;
    let (count, time) = (last.sites.len(), time(last));
    Some(match reached(&looks.checks, &looks.target) {
        Some(_) if count == 1 => format!("The site is settled, and the runs ended after {time} each."),
        Some(_) => format!("All {count} sites are settled, and the runs ended after {time} each."),
        None => {
            let settled = Settled::all(&looks.checks, &looks.target).len();
            format!("After {time} of each run {settled} of {} {} settled.", counted(count, "site"), are(count))
        }
    })
}

fn time(check: &Check) -> String {
    trimmed(&format!("{:.3} ns", check.time / 1e3))
}

/// What `until` found on the way: the pKa of each site at each look, since when it is settled, and what held it up.
pub(super) fn looks(page: &mut Page, background: &Background, labels: &Labels) {
    const SHOWN: usize = 8;
    let Some(looks) = &background.looks else { return };
    let (error, checks) = (looks.target.error, &looks.checks);
    let (Some(last), Some(state)) = (checks.last(), state(looks)) else { return };
    let settled = Settled::all(checks, &looks.target);
    let shown = &checks[checks.len().saturating_sub(SHOWN)..];
    let cell = |check: &Check, name: &str| match check.sites.iter().find(|site| site.site == name) {
        Some(site) => format!("{} {}", site.pka, if site.reasons.is_empty() { "✓" } else { "✗" }),
        None => "–".into(),
    };
    let rows: Vec<Vec<String>> = last
        .sites
        .iter()
        .map(|site| {
            let since = settled.iter().find(|settled| settled.site == site.site);
            let since = since.map_or("not yet".into(), |settled| format!("from {} on", time(&checks[settled.first])));
            let all = shown.iter().map(|check| cell(check, &site.site));
            std::iter::once(labels.of(&site.site)).chain(all).chain([since]).collect()
        })
        .collect();
    let times: Vec<String> = shown.iter().map(time).collect();
    let columns: Vec<&str> = ["site"].into_iter().chain(times.iter().map(String::as_str)).chain(["settled"]).collect();
    let heading = format!("When each pKa was known to {error}");
    let words = format!(
        "The titration goes on until every pKa is known to {error} by everything that could tell that it is not (titrate.until). At each look ✓ says that nothing spoke against a site, ✗ that something did. A site is settled when nothing spoke against it until a quarter more data were there. {state}"
    );
    let against: String = checks
        .iter()
        .filter(|check| !check.stopping().is_empty())
        .map(|check| format!("<li>{}: {}</li>", escape(&time(check)), escape(&check.stopping().join("; "))))
        .collect();
    let against = match against.as_str() {
        "" => String::new(),
        list => format!("<details><summary>What spoke against them at each look</summary><ul>{list}</ul></details>"),
    };
    page.anchor("looks", "When known");
    page.section("", &heading, &format!("<p>{}</p>{}{against}", escape(&words), table(&heading, &columns, &rows)));
}

/// pH values that were added on the way, when and why.
pub(super) fn added(page: &mut Page, evaluation: &Evaluation) {
    let row = |(run, name): (&Run, String)| {
        let begun = run.begun.as_ref()?;
        let whose = begun.from_walker.map_or(String::new(), |walker| format!(", walker {walker}"));
        let from = format!("{}{whose}", begun.from);
        Some(vec![name, trimmed(&format!("{:.3} ps", begun.time)).replace(" ps", ""), from, begun.why.clone()])
    };
    let named = evaluation.runs.iter().zip(names_of_runs(evaluation.runs.iter()));
    let rows: Vec<Vec<String>> = named.filter_map(row).collect();
    if !rows.is_empty() {
        page.words("pH values that were added", &["run", "added at (ps)", "began with the state of", "why"], &rows);
    }
}

/// What was left out of each run.
pub(super) fn runs(page: &mut Page, evaluation: &Evaluation) {
    let row = |((run, left_out), name): ((&Run, &f64), String)| {
        let used = trimmed(&format!("{:.3} ps", run.length())).replace(" ps", "");
        vec![name, left_out.to_string(), used, run.series.time.len().to_string()]
    };
    let names = names_of_runs(evaluation.runs.iter());
    let rows: Vec<Vec<String>> = evaluation.runs.iter().zip(&evaluation.left_out).zip(names).map(row).collect();
    page.long_table("Runs", &["run", "left out (ps)", "used (ps)", "frames"], &rows);
}

/// Deprotonated fractions of every site at every pH.
pub(super) fn fractions(page: &mut Page, evaluation: &Evaluation, labels: &Labels) {
    let mut rows = Vec::new();
    for site in &evaluation.sites {
        for point in &site.titration.points {
            let error = point.interval.map(|[low, high]| 0.5 * (high - low));
            let [s, error] = [point.deprotonated, error].map(|x| optional(x, 3));
            let [s, error] = [s, error].map(|text| if text.is_empty() { "–".into() } else { text });
            rows.push(vec![
                labels.of(&site.record.name),
                format!("{:.2}", point.ph),
                s,
                error,
                optional(point.deprotonated_weighted, 3),
                optional(point.deprotonated_counted, 3),
                format!("{:.1} %", 100.0 * point.occupancy.mixed_fraction().unwrap_or(0.0)),
                point.occupancy.transitions.to_string(),
                format!("{:.0}", point.samples),
                point.occupancy.frames().to_string(),
            ]);
        }
    }
    // Without MBAR the best number is the weighted count.
    let best = if evaluation.overlap.is_empty() { "fraction" } else { "MBAR" };
    let columns =
        ["site", "pH", best, "±", "weighted count", "plain count", "mixed", "transitions", "samples", "frames"];
    page.long_table("Deprotonated fractions", &columns, &rows);
}

/// What the walkers of a titration did, with the start that the evaluation leaves out.
fn swapped(mixing: &Mixing) -> String {
    let (trips, walkers) = (mixing.round_trips.iter().sum::<usize>(), mixing.round_trips.len());
    let plural = if trips == 1 { "" } else { "s" };
    if mixing.is_whole {
        format!(
            "Swaps: {} exchanges between {walkers} walkers, which made {trips} round trip{plural} between the lowest and the highest pH from their first step on.",
            mixing.exchanges
        )
    } else {
        format!(
            "Its table has not every exchange, so that shares of swaps are not known; its {walkers} walkers made {trips} round trip{plural} or more from their first step on."
        )
    }
}

/// How neighbouring pH values are joined: the share of swaps that were accepted, and the overlap of their frames.
pub(super) fn exchange(page: &mut Page, evaluation: &Evaluation, background: &Background, has_page: bool) {
    const HEADING: &str = "Exchange between pH values";
    page.anchor("exchange", "Exchange");
    let middle = |pair: &[f64]| 0.5 * (pair[0] + pair[1]);
    let point = |x: f64, y: f64| Point { x, y, interval: [y; 2] };
    let mixed: Vec<(&TitrationRecord, &Mixing)> =
        background.titrations.iter().filter_map(|titration| Some((titration, titration.mixing.as_ref()?))).collect();
    let shares = |mixing: &Mixing| -> Vec<Point> {
        mixing.pairs.iter().filter_map(|pair| Some(point(middle(&pair.ph), pair.acceptance()?))).collect()
    };
    let swaps: Vec<(&TitrationRecord, Vec<Point>)> = mixed
        .iter()
        .map(|(titration, mixing)| (*titration, shares(mixing)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let overlap =
        evaluation.ph.windows(2).zip(&evaluation.overlap).map(|(pair, overlap)| point(middle(pair), *overlap));
    let overlap: Vec<Point> = overlap.collect();
    if overlap.is_empty() && swaps.is_empty() {
        let why = if mixed.is_empty() {
            "The pH values were not exchanged, and their frames are not joined by MBAR: every pH stands for itself."
                .into()
        } else {
            let parts = mixed.iter().map(|(titration, mixing)| format!("{}{}", titration.prefix(), swapped(mixing)));
            let parts = parts.collect::<Vec<_>>().join(" ");
            format!("The frames of the pH values are not joined by MBAR: every pH stands for itself. {parts}")
        };
        return page.missing(HEADING, &why);
    }
    let line = |points: &[Point]| points.iter().map(|point| (point.x, point.y)).collect();
    let curve = |name: &str, points: Vec<Point>, number: usize| {
        let style = Style { mark: number, ..Style::dashed(number) };
        Curve { name: name.into(), line: line(&points), points, mark: None, style }
    };
    let ends = evaluation.ph.first().zip(evaluation.ph.last()).map_or([0.0, 14.0], |(low, high)| [*low, *high]);
    let mut curves = vec![curve("overlap of the frames", overlap, 0)];
    curves.extend((1..).zip(swaps).map(|(number, (titration, points))| {
        let of = if titration.name.is_empty() { String::new() } else { format!(", {}", titration.name) };
        curve(&format!("swaps that were accepted{of}"), points, number)
    }));
    let chart = Chart {
        title: String::new(),
        note: String::new(),
        curves,
        x: Scale::new("pH (middle of two neighbours)", ends),
        y: Scale::new("share", [-0.04, 1.04]),
    };
    let floor = 100.0 * CONNECTED;
    let mut words = format!(
        "Overlap: how many of the frames of one pH could as well be of its neighbour; below {floor:.0} % two pH values hardly know of each other."
    );
    let mut doubts = String::new();
    for (titration, mixing) in &mixed {
        let of = titration.prefix();
        words += &format!(" {of}{}", swapped(mixing));
        let said = mixing
            .doubts()
            .into_iter()
            .map(|doubt| format!("<p class=\"doubt\">{}</p>", escape(&(of.clone() + &doubt))));
        doubts.extend(said);
    }
    if mixed.is_empty() {
        words += " The runs did not swap their pH.";
    }
    let figure = Figure::chart("Exchange between pH values", &chart).map(|figure| page.captioned(&figure, &words));
    let link = if has_page {
        format!("<p class=\"link\"><a href=\"{}\">Swaps in numbers, and where every walker was</a></p>", exchange::PAGE)
    } else {
        String::new()
    };
    page.section("", HEADING, &format!("{doubts}{}{link}", figure.unwrap_or_default()));
}
