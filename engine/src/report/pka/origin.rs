//! Where the numbers come from: versions, devices and commands of the runs, the corrections, and how to do it again.

use super::method::Method;
use crate::evaluation::background::{Background, CorrectionRecord, Difference};
use crate::evaluation::pka::Evaluation;
use crate::evaluation::runs::{Run, find};
use crate::invocation::quoted;
use crate::report::page::{Page, escape, words};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The paragraph about the method, with its references.
pub(super) fn method_section(page: &mut Page, method: &Method) {
    page.anchor("method", "Method");
    let links = |work: &super::method::Work| {
        let (work, doi) = (escape(work.words), escape(work.doi));
        format!("<li>{work}, doi:<a href=\"https://doi.org/{doi}\">{doi}</a></li>")
    };
    let works: String = method.works.iter().map(links).collect();
    let html = format!(
        "<p id=\"paragraph\" class=\"prose\">{}</p><p class=\"tools script\"><button type=\"button\" id=\"copy\">Copy the paragraph and its references</button> \
         <span id=\"copied\" role=\"status\"></span></p><ol id=\"works\" class=\"works\">{works}</ol>",
        escape(&method.text)
    );
    page.section("", "Method, as a paragraph for a paper", &html);
}

/// In what titrations differ that are evaluated together; nothing of one alone.
pub(super) fn differences(page: &mut Page, background: &Background) {
    const HEADING: &str = "What differs between the titrations";
    let names = background.names();
    if names.len() < 2 {
        return;
    }
    if background.differences.is_empty() {
        let titrations = names.join(", ");
        return page.missing(
            HEADING,
            &format!("Nothing: settings, systems, preparation and corrections of {titrations} are the same, but for seeds and what is written."),
        );
    }
    let columns: Vec<&str> = std::iter::once("what").chain(names).collect();
    let row = |difference: &Difference| [std::slice::from_ref(&difference.what), &difference.values[..]].concat();
    let rows: Vec<Vec<String>> = background.differences.iter().map(row).collect();
    page.words(HEADING, &columns, &rows);
}

/// Versions, devices, facts, corrections, commands.
pub(super) fn section(page: &mut Page, evaluation: &Evaluation, background: &Background) {
    page.anchor("origin", "Origin");
    let mut rows = vec![vec!["evaluated by".to_string(), format!("octitrate {}", env!("CARGO_PKG_VERSION"))]];
    let log = &background.log;
    for (name, list) in [("runs made by", &log.programs), ("started on", &log.days), ("computed on", &log.devices)] {
        if !list.is_empty() {
            rows.push(vec![name.into(), list.join("; ")]);
        }
    }
    // What is not the same in all titrations stands in the table of their differences.
    let is_one = |name: &str| background.differences.iter().all(|difference| difference.what != name);
    let facts = log.facts.iter().filter(|(name, _)| is_one(name));
    rows.extend(facts.map(|(name, value)| vec![name.clone(), value.clone()]));
    if let Some(preparation) = &background.preparation {
        for (key, name) in
            [("input", "prepared from"), ("sha256", "SHA-256 of that"), ("openmm", "OpenMM"), ("python", "Python")]
        {
            let value = preparation.setting(key).filter(|_| is_one(&format!("preparation: {key}")));
            rows.extend(value.map(|value| vec![name.to_string(), value.to_string()]));
        }
    }
    let folders: Vec<String> = evaluated(&evaluation.runs).iter().map(|folder| folder.display().to_string()).collect();
    rows.push(vec![if folders.len() == 1 { "folder" } else { "folders" }.into(), folders.join(", ")]);
    let facts = words("Origin", &["what", "as the files say"], &rows);
    let commands = commands(evaluation, background);
    let html = format!(
        "{facts}<h3>Commands</h3><p>What was called, and what gives the same again:</p><pre tabindex=\"0\">{}</pre>",
        escape(&commands)
    );
    page.section("", "Where the numbers come from", &html);
    let columns = ["entry", "correction", "pKa of the model compound", "error (pK units)", "made by"];
    let rows: Vec<Vec<String>> = background.corrections.iter().map(correction).collect();
    if rows.is_empty() {
        return page.missing(
            "Corrections of the model compounds",
            "The library of the job is not there any more, or has other corrections than the runs.",
        );
    }
    let html = words("Corrections", &columns, &rows);
    let about = "<p class=\"lead\">The error is that of the largest free energy of a form, statistical and, where it is known, systematic. It shifts all sites of an entry alike and is not in the errors of \
                 the pKa values.</p>";
    page.section("", "Corrections of the model compounds", &format!("{about}{html}"));
}

fn correction(record: &CorrectionRecord) -> Vec<String> {
    let status = match &record.reason {
        Some(reason) => format!("{}: {reason}", record.status),
        None => record.status.to_string(),
    };
    let pka = record.pka.as_ref().map_or("–".into(), |(pka, source)| format!("{pka:.2}, {source}"));
    let errors = match record.errors {
        None => "–".into(),
        Some((statistical, None)) => format!("{statistical:.2}, systematic not known"),
        Some((statistical, Some(systematic))) => format!("{statistical:.2}, systematic {systematic:.2}"),
    };
    let made = record.made.clone().unwrap_or_else(|| "–".into());
    vec![format!("{} ({})", record.entry, record.force_field), status, pka, errors, made]
}

/// The commands in the log, then those that give runs and evaluation again.
fn commands(evaluation: &Evaluation, background: &Background) -> String {
    let mut text = String::new();
    for command in &background.log.commands {
        let _ = writeln!(text, "{command}");
    }
    if background.job.has("titrate") {
        let of_one = [background.folder.as_path()];
        let titrations: BTreeSet<&Path> = evaluation.runs.iter().map(Run::titration).collect();
        let all: Vec<&Path> = titrations.into_iter().collect();
        let all = if background.titrations.len() > 1 && all.len() == background.titrations.len() {
            &all[..]
        } else {
            &of_one
        };
        let _ = writeln!(text, "# the runs again, from the job with its defaults:");
        for (number, folder) in (1..).zip(all) {
            let again = if all.len() == 1 { "again".to_string() } else { format!("again_{number}") };
            let _ = writeln!(
                text,
                "octitrate titrate {}/resolved.toml --output {again}",
                quoted(&folder.display().to_string())
            );
        }
    }
    let options = evaluation.options;
    let named = |path: &Path| quoted(&path.display().to_string());
    let folders: Vec<String> = evaluated(&evaluation.runs).iter().map(|folder| named(folder)).collect();
    let _ = write!(
        text,
        "# the evaluation again:\noctitrate pka {} --equilibration {} --threshold {} --draws {} --seed {}",
        folders.join(" "),
        quoted(&format!("{} ps", options.equilibration)),
        options.threshold,
        options.resampling.draws,
        options.resampling.seed
    );
    if let Some(solution) = &evaluation.solution {
        let _ = write!(text, " --finite-box {}", named(&solution.file));
    }
    if let Some(comparison) = &evaluation.comparison {
        let _ = write!(text, " --compare {}", named(&comparison.file));
        let entry = comparison.entry.as_ref().map_or(String::new(), |entry| format!(" --entry {}", quoted(entry)));
        text.push_str(&entry);
    }
    text.trim_end().to_string()
}

/// The folders of the titrations whose runs were evaluated, or of the runs where they are not all of a titration.
fn evaluated(runs: &[Run]) -> Vec<PathBuf> {
    let titrations: BTreeSet<&Path> = runs.iter().map(Run::titration).collect();
    let of = |titration: &&Path| -> Vec<PathBuf> {
        let mine = runs.iter().filter(|run| run.titration() == *titration);
        let mine: Vec<PathBuf> = mine.map(|run| run.folder.clone()).collect();
        let all = find(&[titration.to_path_buf()]).map_or(0, |all| all.len());
        if mine.len() == all { vec![titration.to_path_buf()] } else { mine }
    };
    titrations.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::files;

    /// Whole titrations by their folders, each once, whatever the order of their runs; the others run by run.
    #[test]
    fn the_evaluation_is_told_in_the_fewest_folders() {
        let place = temp_dir::TempDir::new().unwrap();
        let run = |name: &str| {
            let folder = place.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let table = "time (ps),lambda GLU 2,dV/dlambda GLU 2 (kJ/mol)\n0,0.1,2\n";
            std::fs::write(folder.join(files::LAMBDA), table).unwrap();
            Run { folder, ph: 4.0, ..Run::default() }
        };
        let [a, b, c] = ["one/pH_4.00/replica_1", "two/pH_4.00/replica_1", "one/pH_4.00/replica_2"].map(run);
        let told = |runs: &[&Run]| -> Vec<String> {
            let runs: Vec<Run> = runs.iter().map(|run| (*run).clone()).collect();
            let own = |folder: &PathBuf| folder.strip_prefix(place.path()).unwrap().display().to_string();
            evaluated(&runs).iter().map(own).collect()
        };
        assert_eq!(told(&[&a, &b, &c]), ["one", "two"]);
        assert_eq!(told(&[&b, &c]), ["one/pH_4.00/replica_2", "two"]);
    }
}
