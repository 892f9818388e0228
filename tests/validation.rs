//! The pages that say how right the program is, against the tables of `validation/results`: numbers that users rely on come from files.

use std::path::Path;

/// Mean absolute, root mean square and largest of these differences, as the pages write them.
fn averages(differences: &[f64]) -> String {
    let mean = |of: &dyn Fn(f64) -> f64| differences.iter().map(|&d| of(d)).sum::<f64>() / differences.len() as f64;
    let largest = differences.iter().fold(0.0, |largest: f64, d| largest.max(d.abs()));
    format!("{:.2} / {:.2} / {largest:.2}", mean(&f64::abs), mean(&|d| d * d).sqrt())
}

/// Column of a table; cells have no commas inside.
fn column(table: &str, name: &str) -> Vec<String> {
    let index = table.lines().next().unwrap().split(',').position(|head| head == name).unwrap();
    table.lines().skip(1).map(|line| line.split(',').nth(index).unwrap().to_string()).collect()
}

#[test]
fn pages_have_the_numbers_of_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let pages = ["docs/src/is-it-right.md", "validation/README.md"].map(|path| (path, read(path)));
    let mut errors = Vec::new();
    for (folder, name) in [("1pgb-ff14SB", "1PGB"), ("4pti-ff14SB", "4PTI")] {
        let comparison = read(&format!("validation/results/{folder}/comparison.csv"));
        let numbers = |name: &str| column(&comparison, name).iter().map(|n| n.parse().unwrap()).collect::<Vec<f64>>();
        let computed = averages(&numbers("computed − measured"));
        let null = averages(&numbers("model compound − measured"));
        for (page, text) in &pages {
            let row = |of: &str| text.lines().any(|line| line.contains(name) && line.contains(of));
            assert!(row(&computed), "{page}: the errors of {name} are {computed}");
            assert!(row(&null), "{page}: the errors of the null model for {name} are {null}");
        }
        let converged = column(&read(&format!("validation/results/{folder}/diagnostics.csv")), "converged");
        let share = (converged.iter().filter(|verdict| *verdict == "yes").count(), converged.len());
        let expected = if name == "1PGB" { (0, 11) } else { (3, 6) };
        assert_eq!(share, expected, "{name}: the pages say how many sites converged");
        let stated = comparison.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().parse::<f64>().unwrap());
        errors.extend(numbers("computed − measured").iter().map(|d| d.abs()).zip(stated));
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
