//! CHARMM36m with whole charges: the pages against the tables.

use super::*;

/// All 45 groups with CHARMM36m, nuclease as the wild type and with its acids those of the variant in which they were measured.
#[test]
fn averages_in_the_box_and_in_solution_are_those_of_the_files() {
    let small = ["1pgb", "4pti", "2lzt"].map(|entry| in_box_and_solution(&format!("{entry}-charmm36m-forms")));
    let (histidines, acids): (Vec<_>, Vec<_>) =
        in_box_and_solution("1stn-charmm36m-forms-2").into_iter().partition(|(site, _)| site.starts_with("HIP"));
    let of_the_variant = in_box_and_solution("dphs-charmm36m-forms");
    assert_eq!((histidines.len(), acids.len(), of_the_variant.len()), (4, 13, 13));
    let values = |sites: &[&[(String, [f64; 2])]]| sites.concat().into_iter().map(|(_, both)| both).collect::<Vec<_>>();
    let (wild, variant) = (values(&[&histidines, &acids]), values(&[&histidines, &of_the_variant]));
    let of = |differences: &[[f64; 2]]| [0, 1].map(|k| averages(&differences.iter().map(|d| d[k]).collect::<Vec<_>>()));
    let three = values(&[&small[0], &small[1], &small[2]]);
    let [name, wild_type, in_the_variant] = [
        "all four, 45 groups, CHARMM36m with bonded terms of each form",
        "nuclease as the wild type",
        "acids of nuclease in Δ+PHS",
    ];
    let all = |nuclease: &[[f64; 2]]| [&three, nuclease].concat();
    let mut rows: Vec<(String, Vec<[f64; 2]>)> = vec![
        (format!("{name}, {wild_type}"), all(&wild)),
        (format!("{name}, {in_the_variant}"), all(&variant)),
        ("1STN".into(), wild),
        ("13 acids".into(), values(&[&of_the_variant])),
    ];
    assert!(rows[..2].iter().all(|(_, groups)| groups.len() == 45));
    for (name, protein) in ["1PGB", "4PTI", "2LZT"].into_iter().zip(&small) {
        rows.push((name.into(), values(&[protein])));
    }
    rows.push(("these three, 28".into(), three));
    let has = |text: &str, name: &str, numbers: &[String]| {
        text.lines().any(|line| line.contains(name) && numbers.iter().all(|number| line.contains(number)))
    };
    let [(_, manual), (_, every_run)] = pages();
    for (name, differences) in &rows {
        let numbers = of(differences);
        assert!(has(&every_run, name, &numbers), "{name} has {numbers:?}");
    }
    // The manual has the averages alone.
    for (name, (_, differences)) in
        ["| CHARMM36m with whole charges |", "in the variant Δ+PHS |"].into_iter().zip(&rows)
    {
        let numbers = of(differences);
        assert!(has(&manual, name, &numbers), "the manual: {name} {numbers:?}");
    }
    // What readers take away: the averages of README and manual are those of all 45 groups, nuclease as the wild type, as with scaled charges.
    let said = of(&rows[0].1)[1].clone();
    let [mean, square] = [0, 1].map(|part| said.split(" / ").nth(part).unwrap());
    pages_say(&[
        ("README.md", format!("a mean error of {mean} pK units")),
        ("README.md", format!("a root mean square of {square} ")),
        ("docs/src/is-it-right.md", format!("a mean error of {mean} and a root mean square of {square}")),
    ]);
}

#[test]
fn charmm36m_with_all_terms_of_each_form_has_the_errors_of_the_files() {
    let page = every_run();
    let section = section(&page, "CHARMM36m with all terms of each form");
    let of = |folder: &str| -> Vec<f64> {
        counted(&format!("{folder}-charmm36m-all-terms")).into_iter().map(|one| one.1).collect()
    };
    let wild: Vec<Vec<f64>> = ["1pgb", "4pti", "2lzt", "1stn"].map(of).into();
    for (name, differences) in ["1PGB", "4PTI", "2LZT", "1STN"].into_iter().zip(&wild) {
        assert!(has_row(section, name, differences), "{name} has {}", averages(differences));
    }
    assert!(has_row(section, "Δ+PHS", &of("dphs")), "Δ+PHS has {}", averages(&of("dphs")));
    let all = wild.concat();
    assert_eq!(all.len(), 45);
    assert!(has_row(section, "all 45", &all), "all have {}", averages(&all));
}

/// pKa values of His with bonded terms of each form, in solution.
#[test]
fn his_with_torsions_of_its_own_has_the_values_of_the_files() {
    let page = every_run();
    let table = section(&page, "His with torsions of its own");
    for (folder, rows) in [
        (
            "1stn-charmm36m-his",
            &[("HIP 8", "His8 of 1STN"), ("HIP 46", "His46"), ("HIP 121", "His121"), ("HIP 124", "His124")][..],
        ),
        ("2lzt-charmm36m-his", &[("HIP 15", "His15 of 2LZT")]),
    ] {
        let pka = read(&format!("validation/results/{folder}/pka.csv"));
        let columns = ["site", "pKa in solution", "pKa error"].map(|name| column(&pka, name));
        for (site, name) in rows {
            let row = columns[0].iter().position(|one| one == site).unwrap();
            let [value, error] = [1, 2].map(|k| columns[k][row].parse::<f64>().unwrap());
            let expected = format!("{value:.2} ± {error:.2}");
            let line = |line: &str| line.starts_with(&format!("| {name} |")) && line.contains(&expected);
            assert!(table.lines().any(line), "{name}: {expected}");
        }
    }
}
