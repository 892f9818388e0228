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
    ["README", "charmm36m", "ff19SB", "ff14SB"].map(|page| read(&format!("validation/{page}.md"))).join("\n")
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
    let pages = pages();
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
        ("1stn-charmm36m-forms", "1STN", (0, 21)),
        ("1pgb-charmm36m-forms", "1PGB", (0, 11)),
        ("4pti-charmm36m-forms", "4PTI", (0, 5)),
        ("2lzt-charmm36m-forms", "2LZT", (0, 11)),
        ("1stn-charmm36m-forms-2", "1STN", (0, 21)),
        ("dphs-charmm36m-forms", "Δ+PHS", (0, 19)),
        ("1pgb-charmm36m-ecc", "1PGB", (9, 11)),
        ("4pti-charmm36m-ecc", "4PTI", (4, 5)),
        ("2lzt-charmm36m-ecc", "2LZT", (5, 12)),
        ("1stn-charmm36m-ecc", "1STN", (12, 21)),
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
        // The manual has the proteins of the runs that are the best so far.
        let best = ["1pgb-charmm36m-forms", "4pti-charmm36m-forms", "2lzt-charmm36m-forms", "1stn-charmm36m-forms-2"];
        let in_both = best.contains(&folder) || folder == "dphs-charmm36m-forms";
        for (page, text) in &pages[usize::from(!in_both)..] {
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
        }
        if best.contains(&folder) {
            errors.extend(numbers("computed − measured").iter().map(|d| d.abs()).zip(numbers("its error")));
        }
    }
    for (page, text) in &pages {
        assert!(text.contains(&averages(&all)), "{page}: the errors of all groups are {}", averages(&all));
    }
    assert_eq!((newer.len(), errors.len()), (45, 45));
    for ((page, text), name) in pages.iter().zip(["ff19SB with OPC, forms alike", "all four, 45 groups"]) {
        let together = |line: &str| line.contains(name) && line.contains(&averages(&newer));
        assert!(text.lines().any(together), "{page}: the errors with ff19SB are {}", averages(&newer));
    }
    let within = |factor: f64| errors.iter().filter(|(difference, error)| *difference < factor * error).count();
    let sentence = format!(
        "Of the {} groups with CHARMM36m {} are within one stated error of experiment and {} within two",
        errors.len(),
        within(1.0),
        within(2.0)
    );
    assert!(pages[0].1.contains(&sentence), "{sentence}");
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
    for (page, text) in pages() {
        for (name, differences) in &rows {
            let numbers = of(differences);
            let row = |line: &str| line.contains(name.as_str()) && numbers.iter().all(|number| line.contains(number));
            assert!(text.lines().any(row), "{page}: {name} has {numbers:?}");
        }
    }
    // What readers take away: the averages of README and manual are those of all 45 groups.
    let said = of(&rows[1].1)[1].clone();
    let [mean, square] = [0, 1].map(|part| said.split(" / ").nth(part).unwrap());
    pages_say(&[
        ("README.md", format!("a mean error of {mean} pK units")),
        ("README.md", format!("a root mean square of {square} ")),
        ("docs/src/is-it-right.md", format!("a mean error of {mean} and a root mean square of {square}")),
        ("docs/src/introduction.md", format!("and {mean} with CHARMM36m")),
    ]);
}

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
    let (small, whole_of_small) = (scaled[..3].concat(), whole[..3].concat());
    let (scaled, whole) = (scaled.concat(), whole.concat());
    for (page, text) in &pages {
        for (name, numbers) in [
            ("all four, 45", vec![of(&scaled, 0), of(&scaled, 1), of(&whole, 1)]),
            ("scaled charges", vec![of(&small, 1)]),
            ("whole charges", vec![of(&whole_of_small, 1)]),
        ] {
            let row = |line: &str| line.contains(name) && numbers.iter().all(|number| line.contains(number));
            assert!(text.lines().any(row), "{page}: {name} {numbers:?}");
        }
    }
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
    assert_eq!((converged.len(), others.len()), (27, 18));
    let said = averages(&converged);
    for (page, text) in &pages {
        for numbers in [&said, &averages(&others)] {
            assert!(text.contains(numbers), "{page}: {said} for converged groups, {} for others", averages(&others));
        }
    }
    let [mean, square] = [0, 1].map(|part| said.split(" / ").nth(part).unwrap());
    pages_say(&[
        ("README.md", format!("of which 27 were measured ({mean} and {square}, PROPKA")),
        ("README.md", format!("the 27 of these that have converged by the program's own criteria | {said} |")),
        ("README.md", format!("| 45 groups of protein G, BPTI, lysozyme and nuclease | {} |", of(&scaled, 1))),
        ("docs/src/validation.svg", format!(">{}<", of(&scaled, 1))),
    ]);
    let said = of(&scaled, 1);
    let [mean, square] = [0, 1].map(|part| said.split(" / ").nth(part).unwrap());
    pages_say(&[
        ("README.md", format!("a mean error of {mean} and a root mean square of {square}")),
        ("docs/src/is-it-right.md", format!("a mean error of {mean} and a root mean square of {square}")),
        ("docs/src/introduction.md", format!("{mean} pK units with CHARMM36m and scaled charges")),
        ("docs/src/force-fields.md", format!("({mean} / {square} in place of")),
        ("docs/src/prepare.md", format!("{mean} pK units where")),
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

/// Proteins that came later, with scaled charges: every group has its line on both pages, and the six with a number their averages.
#[test]
fn other_proteins_with_scaled_charges_have_the_errors_of_the_files() {
    let page = every_run();
    let section = section(&page, "Three other proteins with scaled charges");
    let (mut differences, mut null) = (Vec::new(), Vec::new());
    for entry in ["2ovo", "1a2p", "1xnb"] {
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
            assert!(pages()[0].1.contains(&value), "{entry}: {words} {value}");
            if !less[row].is_empty() {
                differences.push(number(&less[row]));
                null.push(number(&reference[row]));
            }
        }
    }
    assert_eq!(differences.len(), 6);
    for text in [section, &pages()[0].1] {
        let row = |line: &str| line.contains(&averages(&differences)) && line.contains(&averages(&null));
        assert!(text.lines().any(row), "{} {}", averages(&differences), averages(&null));
    }
}

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
    let pages = pages();
    for folder in ["2lzt-ff19SB-opc-barrier5", "1stn-ff19SB-opc-barrier5"] {
        let table = comparison(folder);
        let pairs = column(&table, "computed − measured").into_iter().zip(column(&table, "verdict"));
        let numbers: Vec<f64> =
            pairs.filter(|(_, verdict)| verdict == "difference").map(|(n, _)| n.parse().unwrap()).collect();
        for (page, text) in &pages {
            assert!(text.contains(&averages(&numbers)), "{page}: the errors of {folder} are {}", averages(&numbers));
        }
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
            assert!(pages[1].1.contains(&said), "{}: the errors with {kind} are {said}", pages[1].0);
            // The other page leaves the largest out.
            let [mean, square] = [0, 1].map(|part| said.split(" / ").nth(part).unwrap());
            assert!(pages[0].1.contains(&format!("{mean} / {square}")), "{}: {kind}, {said}", pages[0].0);
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
        for (page, text) in pages() {
            assert!(text.lines().any(|line| line.contains(name) && line.contains(&said)), "{page}: {name} {said}");
        }
    }
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
    let manual = &pages()[0].1;
    for (name, differences) in [("bonded terms", &all), ("small proteins", &three), ("variant", &variant)] {
        assert!(has_row(manual, name, differences), "the manual: {name} has {}", averages(differences));
    }
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
