//! The pages that say how right the program is, against the tables of `validation/results`: numbers that users rely on come from files.

mod charmm36m;
mod ff19sb;
mod scaled;

use std::path::Path;

/// Mean absolute, root mean square and largest of these differences, as the pages write them.
fn averages(differences: &[f64]) -> String {
    let mean = |of: &dyn Fn(f64) -> f64| differences.iter().map(|&d| of(d)).sum::<f64>() / differences.len() as f64;
    let largest = differences.iter().fold(0.0, |largest: f64, d| largest.max(d.abs()));
    format!("{:.2} / {:.2} / {largest:.2}", mean(&f64::abs), mean(&|d| d * d).sqrt())
}

/// Cells of a line; those in quotation marks may have commas inside.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

/// Column of a table.
fn column(table: &str, name: &str) -> Vec<String> {
    let index = cells(table.lines().next().unwrap()).iter().position(|head| head == name).unwrap();
    table.lines().skip(1).map(|line| cells(line).swap_remove(index)).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Sentences that readers take away, each with its page.
fn pages_say(sentences: &[(&str, String)]) {
    for (page, words) in sentences {
        assert!(read(page).contains(words), "{page}: {words}");
    }
}

/// The pages of every run, one after the other.
fn every_run() -> String {
    ["README", "methods", "charmm36m", "ff19SB", "ff14SB"].map(|page| read(&format!("validation/{page}.md"))).join("\n")
}

/// The pages, by their names: what is true now, and every run.
fn pages() -> [(&'static str, String); 2] {
    [("docs/src/is-it-right.md", read("docs/src/is-it-right.md")), ("validation/*.md", every_run())]
}

/// What a page has under this heading, with what has headings below it.
fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let heading = |level: usize| format!("\n{} {title}\n", "#".repeat(level));
    let (level, start) = (2..5)
        .find_map(|level| Some((level, page.find(&heading(level))?)))
        .unwrap_or_else(|| panic!("no section {title}"));
    let rest = &page[start + heading(level).len()..];
    let ends = (1..=level).filter_map(|level| rest.find(&format!("\n{} ", "#".repeat(level))));
    &rest[..ends.min().unwrap_or(rest.len())]
}

/// Computed and measured values of a folder of results. Groups whose offset or correction is another in some of the runs have their pKa from the others (`apart.csv`).
fn comparison(folder: &str) -> String {
    let mut table = read(&format!("validation/results/{folder}/comparison.csv"));
    let apart = format!("validation/results/{folder}/apart.csv");
    if Path::new(env!("CARGO_MANIFEST_DIR")).join(&apart).exists() {
        read(&apart).lines().skip(1).for_each(|line| table.extend([line, "\n"]));
    }
    table
}

#[test]
fn pages_have_the_numbers_of_the_tables() {
    let text = every_run();
    let (mut all, mut newer) = (Vec::new(), Vec::new());
    for (folder, name, expected) in [
        ("1pgb-ff14SB", "1PGB", (0, 11)),
        ("4pti-ff14SB", "4PTI", (3, 6)),
        ("1pgb-ff14SB-cufix", "1PGB", (0, 10)),
        ("4pti-ff14SB-cufix", "4PTI", (0, 4)),
        ("2lzt-ff14SB-cufix", "2LZT", (0, 11)),
        ("1stn-ff14SB-cufix", "1STN", (0, 21)),
        ("1pgb-ff19SB-opc", "1PGB", (0, 9)),
        ("4pti-ff19SB-opc", "4PTI", (0, 4)),
        ("2lzt-ff19SB-opc", "2LZT", (0, 12)),
        ("1stn-ff19SB-opc", "1STN", (0, 21)),
        ("1pgb-charmm36m", "1PGB", (0, 11)),
        ("4pti-charmm36m", "4PTI", (0, 6)),
        ("2lzt-charmm36m", "2LZT", (0, 12)),
        ("1stn-charmm36m", "1STN", (0, 21)),
        ("1stn-charmm36m-forms", "1STN", (0, 21)),
        ("1pgb-charmm36m-forms", "1PGB", (0, 11)),
        ("4pti-charmm36m-forms", "4PTI", (0, 5)),
        ("2lzt-charmm36m-forms", "2LZT", (0, 11)),
        ("1stn-charmm36m-forms-2", "1STN", (0, 21)),
        ("dphs-charmm36m-forms", "Δ+PHS", (0, 19)),
        ("1pgb-charmm36m-ecc", "1PGB", (10, 11)),
        ("4pti-charmm36m-ecc", "4PTI", (4, 5)),
        ("2lzt-charmm36m-ecc", "2LZT", (10, 12)),
        ("1stn-charmm36m-ecc", "1STN", (14, 21)),
    ] {
        let comparison = comparison(folder);
        // Bounds have no difference, steps of coupled groups no model compound: neither is in the averages.
        let known: Vec<bool> = ["computed − measured", "model compound − measured"]
            .map(|name| column(&comparison, name))
            .into_iter()
            .reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| if a.is_empty() { a } else { b }).collect())
            .unwrap()
            .iter()
            .map(|cell| !cell.is_empty())
            .collect();
        let numbers = |name: &str| {
            let cells = column(&comparison, name);
            let cells = cells.iter().zip(&known).filter(|(_, known)| **known);
            cells.map(|(n, _)| n.parse().unwrap()).collect::<Vec<f64>>()
        };
        let computed = averages(&numbers("computed − measured"));
        let null = averages(&numbers("model compound − measured"));
        let row = |of: &str| text.lines().any(|line| line.contains(name) && line.contains(of));
        assert!(row(&computed), "the errors of {name} are {computed}");
        assert!(row(&null), "the errors of the null model for {name} are {null}");
        let converged = column(&read(&format!("validation/results/{folder}/diagnostics.csv")), "converged");
        let share = (converged.iter().filter(|verdict| *verdict == "yes").count(), converged.len());
        assert_eq!(share, expected, "{name}: the pages say how many sites converged");
        if folder.ends_with("opc") {
            newer.extend(numbers("computed − measured"));
        }
        if folder.ends_with("cufix") {
            all.extend(numbers("computed − measured"));
        }
    }
    assert!(text.contains(&averages(&all)), "the errors of all groups are {}", averages(&all));
    assert_eq!(newer.len(), 45);
    assert!(has_row(&text, "all four, 45 groups", &newer), "the errors with ff19SB are {}", averages(&newer));
}

/// Computed less measured values of a folder by site: in the box, in solution.
fn in_box_and_solution(folder: &str) -> Vec<(String, [f64; 2])> {
    let (mut pka, comparison) = (read(&format!("validation/results/{folder}/pka.csv")), comparison(folder));
    let apart = format!("validation/results/{folder}/apart_pka.csv");
    if Path::new(env!("CARGO_MANIFEST_DIR")).join(&apart).exists() {
        read(&apart).lines().skip(1).for_each(|line| pka.extend([line, "\n"]));
    }
    let computed: Vec<[String; 3]> = column(&pka, "site")
        .into_iter()
        .zip(column(&pka, "pKa"))
        .zip(column(&pka, "pKa in solution"))
        .map(|((site, pka), in_solution)| [site, pka, in_solution])
        .collect();
    let measured = column(&comparison, "measured").into_iter().zip(column(&comparison, "verdict"));
    let compared = column(&comparison, "site").into_iter().zip(measured);
    compared
        .filter(|(_, (_, verdict))| verdict == "difference")
        .map(|(site, (measured, _))| {
            let [_, in_box, in_solution] = computed.iter().find(|row| row[0] == site).unwrap();
            let less = |computed: &str| computed.parse::<f64>().unwrap() - measured.parse::<f64>().unwrap();
            (site, [less(in_box), less(in_solution)])
        })
        .collect()
}

/// Rows of a comparison that count in averages: site, computed less measured value.
fn counted(folder: &str) -> Vec<(String, f64)> {
    let table = read(&format!("validation/results/{folder}/comparison.csv"));
    let rows = column(&table, "site").into_iter().zip(column(&table, "computed − measured"));
    let rows = rows.zip(column(&table, "model compound − measured"));
    rows.filter(|(_, null)| !null.is_empty())
        .map(|((site, difference), _)| (site, difference.parse().unwrap()))
        .collect()
}

/// Whether a page has a line of a table with this name and the averages of these differences.
fn has_row(page: &str, name: &str, differences: &[f64]) -> bool {
    let errors = averages(differences);
    page.lines().any(|line| line.starts_with('|') && line.contains(name) && line.contains(&errors))
}

/// What `prepare` and the runs wrote down where they were made means the same anywhere.
#[test]
fn results_name_no_folder_of_a_machine() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("validation/results");
    let (mut read, mut wrong) = (0, Vec::new());
    for folder in std::fs::read_dir(results).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            read += 1;
            let absolute = |word: &str| word.starts_with('/') && word.matches('/').count() > 1;
            let words = text.split(|c: char| c.is_whitespace() || "`\"'()=,".contains(c));
            wrong.extend(words.filter(|word| absolute(word)).map(|word| format!("{}: {word}", path.display())));
        }
    }
    assert!(read > 300 && wrong.is_empty(), "{read} files; {wrong:#?}");
}
