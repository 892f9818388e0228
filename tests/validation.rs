//! The pages that say how right the program is, against the tables of `validation/results`: numbers that users rely on come from files.

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

#[test]
fn pages_have_the_numbers_of_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let pages = ["docs/src/is-it-right.md", "validation/README.md"].map(|path| (path, read(path)));
    let mut errors = Vec::new();
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
    ] {
        let mut comparison = read(&format!("validation/results/{folder}/comparison.csv"));
        // Ends of chains have an offset in the second runs alone, and their pKa from these.
        if let Ok(ends) = std::fs::read_to_string(root.join(format!("validation/results/{folder}/ends.csv"))) {
            ends.lines().skip(1).for_each(|line| comparison.extend([line, "\n"]));
        }
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
        for (page, text) in &pages {
            let row = |of: &str| text.lines().any(|line| line.contains(name) && line.contains(of));
            assert!(row(&computed), "{page}: the errors of {name} are {computed}");
            assert!(row(&null), "{page}: the errors of the null model for {name} are {null}");
        }
        let converged = column(&read(&format!("validation/results/{folder}/diagnostics.csv")), "converged");
        let share = (converged.iter().filter(|verdict| *verdict == "yes").count(), converged.len());
        assert_eq!(share, expected, "{name}: the pages say how many sites converged");
        if folder.ends_with("opc") {
            newer.extend(numbers("computed − measured"));
        }
        if folder.ends_with("cufix") {
            all.extend(numbers("computed − measured"));
            errors.extend(numbers("computed − measured").iter().map(|d| d.abs()).zip(numbers("its error")));
        }
    }
    for (page, text) in &pages {
        assert!(text.contains(&averages(&all)), "{page}: the errors of all groups are {}", averages(&all));
    }
    for (page, text) in &pages {
        let together = |line: &str| line.contains("all four, 45 groups") && line.contains(&averages(&newer));
        assert_eq!(newer.len(), 45);
        assert!(text.lines().any(together), "{page}: the errors with ff19SB are {}", averages(&newer));
    }
    let within = |factor: f64| errors.iter().filter(|(difference, error)| *difference < factor * error).count();
    let sentence = format!(
        "Of the {} groups above {} are within one stated error of experiment\nand {} within two",
        errors.len(),
        within(1.0),
        within(2.0)
    );
    assert!(pages[0].1.contains(&sentence), "{sentence}");
}

#[test]
fn model_compounds_in_one_box_have_the_means_that_the_pages_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let table = read("validation/results/compounds-ff19SB-opc/pka.csv");
    let (names, pka, given) = (column(&table, "site"), column(&table, "pKa"), column(&table, "model compound"));
    let pages = ["docs/src/is-it-right.md", "validation/README.md"].map(|path| (path, read(path)));
    for (kind, name, count) in [("GL3", "Glu", 5), ("AS3", "Asp", 4), ("HIP", "His", 3)] {
        let rows: Vec<usize> = (0..names.len()).filter(|&row| names[row].contains(kind)).collect();
        assert_eq!(rows.len(), count, "{name}");
        let mean = rows.iter().map(|&row| pka[row].parse::<f64>().unwrap()).sum::<f64>() / count as f64;
        let difference = mean - given[rows[0]].parse::<f64>().unwrap();
        for (page, text) in &pages {
            let said = |line: &str| line.contains(&format!("{mean:.2}")) && line.contains(&format!("{difference:+.2}"));
            assert!(
                text.lines().any(|line| line.contains(name) && said(line)),
                "{page}: {name} {mean:.2}, {difference:+.2}"
            );
        }
    }
}
