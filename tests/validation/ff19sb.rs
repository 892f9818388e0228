//! ff19SB with OPC, its forms and barriers, and what older references of model compounds change: the pages against the tables.

use super::*;

/// The section of the pages on what was tried against the errors of whole charges.
const TRIED: &str = "What was tried with whole charges";

/// Differences of a protein with ff19SB by pure forms, in solution; first runs of Asp and Glu shifted to the corrections of the others.
fn pure(folder: &str) -> Vec<(String, f64)> {
    let table = read(&format!("validation/results/{folder}/pure.csv"));
    let first = ["1pgb-ff19SB-opc-forms", "2lzt-ff19SB-opc-forms"].contains(&folder);
    let rows = column(&table, "site").into_iter().zip(column(&table, "computed − measured"));
    rows.zip(column(&table, "verdict"))
        .filter(|(_, verdict)| verdict == "difference")
        .map(|((site, difference), _)| {
            let shift = match &site[..3] {
                "AS3" if first => -0.20,
                "GL3" if first => -0.04,
                _ => 0.0,
            };
            (site, difference.parse::<f64>().unwrap() + shift)
        })
        .collect()
}

#[test]
fn averages_of_pure_forms_with_ff19sb_are_those_of_the_files() {
    let values = |rows: Vec<(String, f64)>| rows.into_iter().map(|one| one.1).collect::<Vec<_>>();
    // Means of runs that are not evaluated together, by their ns at each pH.
    let mean = |one: &str, weight: f64, other: &str, of_other: f64| -> Vec<f64> {
        let (one, other) = (pure(one), pure(other));
        let of = |(site, value): &(String, f64)| {
            let before = one.iter().find(|row| row.0 == *site);
            before.map_or(*value, |before| (weight * before.1 + of_other * value) / (weight + of_other))
        };
        other.iter().map(of).collect()
    };
    let lysozyme = mean("2lzt-ff19SB-opc-forms", 3.7, "2lzt-ff19SB-opc-forms-3", 12.3);
    let nuclease = mean("1stn-ff19SB-opc-forms", 3.8, "1stn-ff19SB-opc-forms-large", 8.4);
    let (protein_g, bpti) = (values(pure("1pgb-ff19SB-opc-forms")), values(pure("4pti-ff19SB-opc-forms")));
    let small = [&protein_g[..], &bpti, &lysozyme].concat();
    let all = [&small[..], &nuclease].concat();
    assert_eq!((small.len(), all.len()), (27, 44));
    let page = every_run();
    for (name, differences) in
        [("1PGB", &protein_g), ("4PTI", &bpti), ("2LZT", &lysozyme), ("1STN", &nuclease), ("all 44", &all)]
    {
        assert!(has_row(&page, name, differences), "{name} has {}", averages(differences));
    }
    for (page, text) in pages() {
        for differences in [&small, &all] {
            assert!(text.contains(&averages(differences)), "{page}: {}", averages(differences));
        }
    }
}

/// The first runs with bonded terms of each form had first corrections: the pages have their pKa values shifted to those of the runs that came after.
#[test]
fn pka_values_with_bonded_terms_of_each_form_are_those_of_the_files_shifted() {
    let page = every_run();
    let section = section(&page, "Bonded terms of each form");
    // What a kJ/mol is in units of pK at 300 K, and corrections of the first runs less those of the others, kJ/mol.
    let unit = 1.0 / (0.008_314_462_618 * 300.0 * std::f64::consts::LN_10);
    let (asp, glu) = ((-184.484 + 183.343) * unit, (-110.826 + 110.589) * unit);
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    assert_eq!((rounded(asp), rounded(glu)), (-0.20, -0.04));
    for (folder, label) in [("2lzt", "2LZT, 12 groups"), ("1pgb", "1PGB, 9 groups"), ("2ovo", "")] {
        let table = read(&format!("validation/results/{folder}-ff19SB-opc-forms/comparison.csv"));
        let mut differences = Vec::new();
        let (sites, computed) = (column(&table, "site"), column(&table, "computed"));
        for ((site, computed), measured) in sites.iter().zip(computed).zip(column(&table, "measured")) {
            let shift = match &site[..3] {
                "AS3" => -0.20,
                "GL3" => -0.04,
                _ => 0.0,
            };
            let computed = rounded(computed.parse::<f64>().unwrap()) + shift;
            let number = format!("{computed:.2}");
            assert!(section.contains(&number), "{folder}: {site} has {number}");
            differences.extend(measured.parse::<f64>().ok().map(|measured| computed - measured));
        }
        let now = averages(&differences);
        let row = |line: &str| line.starts_with(&format!("| {label}")) && line.contains(&format!("**{now}**"));
        assert!(label.is_empty() || section.lines().any(row), "{folder}: {now}");
    }
}

/// All four proteins with bonded terms of each form: averages of the pages from the tables of the runs.
#[test]
fn the_four_proteins_with_bonded_terms_of_each_form_have_the_errors_of_the_files() {
    let shifted = |folder: &str| -> Vec<f64> {
        let shift = |site: &str| match &site[..3] {
            "AS3" => -0.20,
            "GL3" => -0.04,
            _ => 0.0,
        };
        counted(folder).iter().map(|(site, difference)| difference + shift(site)).collect()
    };
    let plain = |folder: &str| -> Vec<f64> { counted(folder).iter().map(|one| one.1).collect() };
    let second = plain("2lzt-ff19SB-opc-forms-2");
    let lysozyme: Vec<f64> = shifted("2lzt-ff19SB-opc-forms").iter().zip(&second).map(|(a, b)| (a + b) / 2.0).collect();
    // Glu56 is of the runs before, 3.73 of 4.0.
    let protein_g: Vec<f64> = shifted("1pgb-ff19SB-opc-forms").into_iter().chain([-0.27]).collect();
    let (bpti, nuclease) = (plain("4pti-ff19SB-opc-forms"), plain("1stn-ff19SB-opc-forms"));
    let three = [&lysozyme[..], &bpti, &protein_g].concat();
    let all = [&three[..], &nuclease].concat();
    assert_eq!((three.len(), all.len()), (28, 45));
    let rows = [
        ("lysozyme", &lysozyme),
        ("BPTI", &bpti),
        ("protein G", &protein_g),
        ("these three, 28", &three),
        ("nuclease, 17", &nuclease),
        ("45", &all),
    ];
    let page = every_run();
    for (name, differences) in rows {
        assert!(has_row(&page, name, differences), "{name} has {}", averages(differences));
    }
    // Longer runs: lysozyme by the time of each of three, nuclease in a larger box.
    let third = plain("2lzt-ff19SB-opc-forms-3");
    let each = shifted("2lzt-ff19SB-opc-forms").into_iter().zip(&second).zip(&third);
    let lysozyme: Vec<f64> = each.map(|((a, b), c)| (3.7 * a + 3.1 * b + 9.2 * c) / 16.0).collect();
    let nuclease = plain("1stn-ff19SB-opc-forms-large");
    let three = [&lysozyme[..], &bpti, &protein_g].concat();
    let all = [&three[..], &nuclease].concat();
    assert_eq!((three.len(), all.len()), (28, 45));
    let rows = [("mean of three runs", &lysozyme), ("28", &three), ("nuclease", &nuclease), ("45", &all)];
    for (name, differences) in rows {
        assert!(has_row(&page, name, differences), "{name} has {}", averages(differences));
    }
    let variant = plain("dphs-ff19SB-opc-forms");
    for differences in [&second, &third, &variant] {
        assert!(page.contains(&averages(differences)), "{}", averages(differences));
    }
    let tried = section(&page, TRIED);
    for (name, differences) in [("small proteins", &three), ("variant", &variant)] {
        assert!(has_row(tried, name, differences), "{name} has {}", averages(differences));
    }
}

#[test]
fn model_compounds_in_one_box_have_the_means_that_the_pages_say() {
    let table = read("validation/results/compounds-ff19SB-opc/pka.csv");
    let (names, pka, given) = (column(&table, "site"), column(&table, "pKa"), column(&table, "model compound"));
    let pages = pages();
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

/// Runs with a lower barrier, and all groups with the pKa that the model compound of Asp has since.
#[test]
fn pages_say_what_the_barrier_and_the_reference_of_asp_change() {
    let page = every_run();
    for folder in ["2lzt-ff19SB-opc-barrier5", "1stn-ff19SB-opc-barrier5"] {
        let table = comparison(folder);
        let pairs = column(&table, "computed − measured").into_iter().zip(column(&table, "verdict"));
        let numbers: Vec<f64> =
            pairs.filter(|(_, verdict)| verdict == "difference").map(|(n, _)| n.parse().unwrap()).collect();
        let said = section(&page, TRIED).contains(&averages(&numbers));
        assert!(said, "the errors of {folder} are {}", averages(&numbers));
    }
    for kind in ["ff14SB-cufix", "ff19SB-opc", "charmm36m"] {
        let (mut computed, mut null) = (Vec::new(), Vec::new());
        for entry in ["1pgb", "4pti", "2lzt", "1stn"] {
            let table = comparison(&format!("{entry}-{kind}"));
            let cells =
                ["site", "verdict", "computed − measured", "model compound − measured"].map(|n| column(&table, n));
            for row in (0..cells[0].len()).filter(|&row| cells[1][row] == "difference") {
                let shift = if cells[0][row].starts_with("AS3") { 3.90 - 3.67 } else { 0.0 };
                computed.push(cells[2][row].parse::<f64>().unwrap() + shift);
                null.push(cells[3][row].parse::<f64>().unwrap() + shift);
            }
        }
        assert_eq!(computed.len(), 45, "{kind}");
        for numbers in [&computed, &null] {
            let said = averages(numbers);
            assert!(page.contains(&said), "the errors with {kind} are {said}");
        }
    }
}

#[test]
fn pentapeptides_differ_from_residues_between_caps_as_the_pages_say() {
    let number = |name: &str, head: &str| -> f64 {
        column(&read(&format!("validation/results/pentapeptides-ff19SB-opc/{name}.csv")), head)[0].parse().unwrap()
    };
    for (name, capped, peptide) in [("Glu", "glu", "aaeaa"), ("Asp", "asp", "aadaa"), ("His", "his", "aahaa")] {
        let difference = number(peptide, "pKa") - number(capped, "pKa");
        let error = number(peptide, "pKa error").hypot(number(capped, "pKa error"));
        let said = format!("{difference:+.2} ± {error:.2}").replace('-', "−");
        let page = every_run();
        let rows = |text: &str| text.lines().any(|line| line.contains(name) && line.contains(&said));
        assert!(rows(&page) && rows(section(&page, TRIED)), "{name} {said}");
    }
}
