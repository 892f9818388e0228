//! CHARMM36m with scaled charges, the default: the pages against the tables.

use super::*;

/// Groups with scaled charges, and the same groups with whole ones.
#[test]
fn scaled_charges_have_the_errors_of_the_files() {
    let pages = pages();
    let section = section(&pages[1].1, "All four with scaled charges");
    let (mut scaled, mut whole) = (Vec::new(), Vec::new());
    let of = |sites: &[(String, [f64; 2])], k: usize| averages(&sites.iter().map(|(_, d)| d[k]).collect::<Vec<_>>());
    for (name, entry, before, count) in [
        ("1PGB", "1pgb", "1pgb-charmm36m-forms", 10),
        ("4PTI", "4pti", "4pti-charmm36m-forms", 6),
        ("2LZT", "2lzt", "2lzt-charmm36m-forms", 12),
        ("1STN", "1stn", "1stn-charmm36m-forms-2", 17),
    ] {
        let own = in_box_and_solution(&format!("{entry}-charmm36m-ecc"));
        let same = in_box_and_solution(before).into_iter().filter(|(site, _)| own.iter().any(|(one, _)| one == site));
        let same = same.collect::<Vec<_>>();
        assert_eq!((own.len(), same.len()), (count, count), "{name}");
        let numbers = [of(&own, 0), of(&own, 1), of(&same, 1)];
        let row = |line: &str| line.starts_with(&format!("| {name}")) && numbers.iter().all(|n| line.contains(n));
        assert!(section.lines().any(row), "{name} has {numbers:?}");
        // Every group has its line: pKa in solution and both differences.
        for (site, differences) in &own {
            let [_, before] = same.iter().find(|(one, _)| one == site).unwrap().1;
            let parts: Vec<&str> = site.split(' ').collect();
            let kinds = [
                ("GL3", "Glu"),
                ("ZGL3", "Glu"),
                ("AS3", "Asp"),
                ("HIP", "His"),
                ("nterm ARG", "amino end, Arg"),
                ("nterm LYS", "amino end, Lys"),
                ("cterm ZALA", "carboxyl end, Ala"),
                ("cterm ZLEU", "carboxyl end, Leu"),
            ];
            let (number, kind) = parts.split_last().unwrap();
            let kind = kinds.iter().find(|(one, _)| *one == kind.join(" ")).unwrap().1;
            let both = [differences[1], before].map(|difference| {
                let bold = if difference.abs() > 1.0 { "**" } else { "" };
                format!("{bold}{difference:+.2}{bold}").replace('-', "−")
            });
            let cells = format!(" | {} | {} |", both[0], both[1]);
            let named = |line: &str| line.contains(&format!("| {kind}{number} | ")) && line.contains(&cells);
            assert!(section.lines().any(named), "{name}: {kind}{number}{cells}");
        }
        scaled.push(own);
        whole.push(same);
    }
    for (name, own) in ["protein G", "BPTI", "lysozyme", "nuclease"].into_iter().zip(&scaled) {
        let row = |line: &str| line.starts_with(&format!("| {name} (")) && line.contains(&of(own, 1));
        assert!(pages[0].1.lines().any(row), "the manual: {name} {}", of(own, 1));
    }
    // Between whole and scaled charges, by a line in the square of the factor.
    for factor in [0.75, 0.80, 0.85, 0.90, 1.0_f64] {
        let part = (factor * factor - 0.5625) / (1.0 - 0.5625);
        let between = scaled.iter().zip(&whole).map(|(scaled, whole)| {
            let of = |(site, scaled): &(String, [f64; 2])| {
                let (_, whole) = whole.iter().find(|(one, _)| one == site).unwrap();
                (1.0 - part) * scaled[1] + part * whole[1]
            };
            scaled.iter().map(of).collect::<Vec<_>>()
        });
        let proteins = between.collect::<Vec<_>>();
        let line =
            format!("| {factor:.2} | {} | {} |", averages(&proteins[..3].concat()), averages(&proteins.concat()));
        assert!(section.contains(&line), "{line}");
    }
    let (small, whole_of_small) = (scaled[..3].concat(), whole[..3].concat());
    let (scaled, whole) = (scaled.concat(), whole.concat());
    for (page, text) in &pages {
        for (name, numbers) in [
            ("all four, 45", vec![of(&scaled, 0), of(&scaled, 1)]),
            ("scaled charges", vec![of(&small, 1)]),
            ("whole charges", vec![of(&whole_of_small, 1)]),
        ] {
            let row = |line: &str| line.contains(name) && numbers.iter().all(|number| line.contains(number));
            assert!(text.lines().any(row), "{page}: {name} {numbers:?}");
        }
    }
    let with_whole = |line: &str| line.starts_with("| all four, 45 |") && line.contains(&of(&whole, 1));
    assert!(section.lines().any(with_whole), "whole charges have {}", of(&whole, 1));
    // What the program calls converged; there are five replicas and more of each protein, from several structures.
    let with_verdict = |yes: &str| {
        let of_protein = |entry: &str| {
            let table = comparison(&format!("{entry}-charmm36m-ecc"));
            let rows = column(&table, "computed − measured").into_iter().zip(column(&table, "verdict"));
            let rows = rows.zip(column(&table, "converged"));
            let rows = rows.filter(|((_, verdict), converged)| verdict == "difference" && converged == yes);
            rows.map(|((difference, _), _)| difference.parse().unwrap()).collect::<Vec<f64>>()
        };
        ["1pgb", "4pti", "2lzt", "1stn"].map(of_protein).concat()
    };
    let (converged, others) = (with_verdict("yes"), with_verdict("no"));
    assert_eq!((converged.len(), others.len()), (36, 9));
    // Stated errors beside the differences from experiment.
    let [mut near, mut nearly] = [0, 0];
    for table in ["1pgb", "4pti", "2lzt", "1stn"].map(|entry| comparison(&format!("{entry}-charmm36m-ecc"))) {
        let rows = column(&table, "computed − measured").into_iter().zip(column(&table, "its error"));
        let rows = rows.zip(column(&table, "verdict")).filter(|(_, verdict)| verdict == "difference");
        for ((difference, error), _) in rows {
            let errors = difference.parse::<f64>().unwrap().abs() / error.parse::<f64>().unwrap();
            near += usize::from(errors < 1.0);
            nearly += usize::from(errors < 2.0);
        }
    }
    pages_say(&[
        (
            "docs/src/is-it-right.md",
            format!(
                "Of the 45 groups with scaled charges {near} are within one stated error of experiment and {nearly} within two"
            ),
        ),
        (
            "validation/README.md",
            format!("Of the 45 groups {near} are within one stated error of experiment and {nearly} within two"),
        ),
    ]);
    let said = averages(&converged);
    for (page, text) in &pages {
        for numbers in [&said, &averages(&others)] {
            assert!(text.contains(numbers), "{page}: {said} for converged groups, {} for others", averages(&others));
        }
    }
    pages_say(&[
        ("README.md", format!("of which {} were measured", converged.len())),
        (
            "README.md",
            format!("the {} of these that have converged by the program's own criteria | {said} |", converged.len()),
        ),
        ("README.md", format!("| 45 groups of protein G, BPTI, lysozyme and nuclease | {} |", of(&scaled, 1))),
        ("docs/src/validation.svg", format!(">{}<", of(&scaled, 1))),
    ]);
    let [mean, square] = [0, 1].map(|part| said.split(" / ").nth(part).unwrap());
    pages_say(&[(
        "docs/src/is-it-right.md",
        format!("The {} that have converged by the program's own criteria have {mean} and {square}.", converged.len()),
    )]);
    let said = of(&scaled, 1);
    let [mean, square] = [0, 1].map(|part| said.split(" / ").nth(part).unwrap());
    pages_say(&[
        ("docs/src/is-it-right.md", format!("a mean error of {mean} and a root mean square of {square}")),
        ("docs/src/introduction.md", format!("a mean error of {mean} pK units with the default force field")),
        ("docs/src/force-fields.md", format!("({mean} / {square} in place of")),
        ("CHANGELOG.md", format!("a mean error of {mean} and a root mean square of {square} where whole")),
    ]);
}

/// The titration of protein G that `until` ended: what it found at each look, and its errors by itself.
#[test]
fn the_titration_that_until_ended_is_that_of_the_files() {
    let table = read("validation/results/1pgb-charmm36m-ecc/until.csv");
    let differences: Vec<f64> = column(&table, "computed − measured").iter().map(|one| one.parse().unwrap()).collect();
    assert_eq!(differences.len(), 10);
    let errors = averages(&differences);
    let looks: serde_json::Value =
        serde_json::from_str(&read("validation/results/1pgb-charmm36m-ecc/until.json")).unwrap();
    let looks = looks["checks"].as_array().unwrap();
    let good = |look: &serde_json::Value| {
        let sites = look["sites"].as_array().unwrap();
        sites.iter().filter(|site| site["reasons"].as_array().unwrap().is_empty()).count().to_string()
    };
    let (good, last): (Vec<String>, _) = (looks.iter().map(good).collect(), looks.last().unwrap());
    let (before, at_last) = (good[..good.len() - 1].join(", "), good.last().unwrap());
    let said =
        format!("They had {before} and {at_last} of {} sites within 0.2", last["sites"].as_array().unwrap().len());
    let time = format!("{} ns", last["time"].as_f64().unwrap() / 1e3);
    pages_say(&[
        ("README.md", format!("every pKa was known to 0.2: half an hour of two H100 | {errors} |")),
        ("docs/src/is-it-right.md", format!("Its ten groups have {errors}")),
        (
            "docs/src/is-it-right.md",
            format!("five ladders of protein G from five structures, after {time} of each walker"),
        ),
        ("validation/README.md", said),
        ("validation/README.md", format!("By themselves these ladders have {errors}")),
    ]);
}

/// Proteins that came later, with scaled charges: every group has its line on both pages, and those with a number have their averages, for each section and all together.
#[test]
fn other_proteins_with_scaled_charges_have_the_errors_of_the_files() {
    let every_run = every_run();
    let manual = read("docs/src/is-it-right.md");
    let (mut all, mut all_of_null) = (Vec::new(), Vec::new());
    let says = |page: &str, differences: &[f64], null: &[f64]| {
        let row = |line: &str| line.contains(&averages(differences)) && line.contains(&averages(null));
        assert!(page.lines().any(row), "{} {}", averages(differences), averages(null));
    };
    for (title, entries, groups) in [
        ("Three other proteins with scaled charges", &["2ovo", "1a2p", "1xnb"][..], 6),
        ("HP36 and BBL, beside published dynamics", &["1vii", "1w4h"], 12),
    ] {
        let section = section(&every_run, title);
        let (mut differences, mut null) = (Vec::new(), Vec::new());
        for entry in entries {
            let table = read(&format!("validation/results/{entry}-charmm36m-ecc/comparison.csv"));
            let [sites, computed, reference] =
                ["site", "computed", "model compound − measured"].map(|name| column(&table, name));
            // The first of the columns of this name is that of the computed value.
            let (errors, less) = (column(&table, "its error"), column(&table, "computed − measured"));
            for (row, site) in sites.iter().enumerate() {
                let number = |text: &str| text.parse::<f64>().unwrap();
                let words = site.replace("GL3 ", "Glu").replace("AS3 ", "Asp").replace("HIP ", "His");
                let value = format!("{:.2} ± {:.2}", number(&computed[row]), number(&errors[row]));
                let said = |line: &str| line.contains(&words) && line.contains(&value);
                assert!(section.lines().any(said), "{entry}: {words} {value}");
                assert!(manual.lines().any(said), "{entry}: {words} {value}");
                if !less[row].is_empty() {
                    differences.push(number(&less[row]));
                    null.push(number(&reference[row]));
                }
            }
        }
        assert_eq!(differences.len(), groups);
        says(section, &differences, &null);
        says(&manual, &differences, &null);
        all.extend(differences);
        all_of_null.extend(null);
    }
    says(&every_run, &all, &all_of_null);
    says(&manual, &all, &all_of_null);
    says(&read("README.md"), &all, &all_of_null);
}

/// Lys and Tyr have tables of their own, by residue and protein: each value in the sources, and the averages on all pages.
#[test]
fn lys_and_tyr_have_the_values_of_the_files() {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let signed = |less: f64| format!("{}{:.2}", if less < 0.0 { "−" } else { "+" }, less.abs());
    let (all, manual, readme) = (read("validation/README.md"), read("docs/src/is-it-right.md"), read("README.md"));
    let in_sources = section(&all, "Lys and Tyr of three proteins");
    let in_manual = section(&manual, "Lys and Tyr");
    // computed − measured and model compound − measured of one residue, and its lines of the table
    let of = |folder: &str, residue: &str| {
        let table = read(&format!("validation/results/{folder}/comparison.csv"));
        let names =
            ["site", "computed", "measured", "measured above", "computed − measured", "model compound − measured"];
        let columns = names.map(|name| column(&table, name));
        let (mut less, mut null, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        for row in (0..columns[0].len()).map(|row| columns.each_ref().map(|column| column[row].trim_matches('"'))) {
            let [site, computed, measured, above, difference, of_null] = row;
            let Some(place) = site.trim_start_matches('N').strip_prefix(residue) else { continue };
            let name = format!("{}{}", if residue == "LYS" { "Lys" } else { "Tyr" }, place.trim());
            let computed = number(computed);
            if measured.is_empty() {
                let verdict = match number(above) - computed {
                    short if short > 0.0 => format!("too low by {short:.2} or more"),
                    _ => "agrees".to_owned(),
                };
                lines
                    .push((format!("| {name} | {computed:.2} ± "), format!(" | > {:.0} | {verdict} |", number(above))));
            } else {
                less.push(number(difference));
                null.push(number(of_null));
                lines.push((
                    format!("| {name} | {computed:.2} ± "),
                    format!(" | {:.1} | {} |", number(measured), signed(number(difference))),
                ));
            }
        }
        (less, null, lines)
    };
    let averaged = |text: &str, less: &[f64], null: &[f64]| {
        let (less, null) = (averages(less), averages(null));
        assert!(text.lines().any(|line| line.contains(&less) && line.contains(&null)), "{less}, {null}");
    };
    for (residue, in_all) in [("LYS", 12), ("TYR", 8)] {
        let (mut every, mut every_null) = (Vec::new(), Vec::new());
        for folder in ["4pti-charmm36m-ecc-alkaline", "2lzt-charmm36m-ecc-alkaline", "1pgb-charmm36m-ecc-alkaline"] {
            let (less, null, lines) = of(folder, residue);
            for (begin, end) in lines {
                assert!(
                    in_sources.lines().any(|line| line.starts_with(&begin) && line.contains(&end)),
                    "{begin}…{end}"
                );
            }
            averaged(in_sources, &less, &null);
            every.extend(less);
            every_null.extend(null);
        }
        assert_eq!(every.len(), in_all);
        averaged(in_sources, &every, &every_null);
        averaged(in_manual, &every, &every_null);
        let mean = signed(every.iter().sum::<f64>() / every.len() as f64);
        assert!(
            in_sources.lines().any(|line| line.contains(&averages(&every)) && line.ends_with(&format!("| {mean} |"))),
            "{mean}"
        );
        assert!(readme.contains(&averages(&every)));
        // With whole charges, in the last column of the table of BPTI.
        let (less, null, lines) = of("4pti-charmm36m-alkaline", residue);
        for (begin, end) in lines {
            let (name, computed) = begin.trim_start_matches("| ").split_once(" | ").unwrap();
            let difference = end.trim_end_matches(" |").rsplit(" | ").next().unwrap();
            let said = |line: &str| {
                line.starts_with(&format!("| {name} |"))
                    && line.contains(computed)
                    && line.ends_with(&format!(", {difference} |"))
            };
            assert!(in_sources.lines().any(said), "{name} {computed}{difference}");
        }
        averaged(in_sources, &less, &null);
    }
}
