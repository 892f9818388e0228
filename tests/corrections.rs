//! The entries of the library that come with octitrate, and the tables of the manual that repeat their numbers: entries are the truth.

use lambda::library::{Correction, Entry};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the entries that are built in, and those of the Python package.
const BUILTIN: &str = "lambda/library";
const FF14SB: &str = "python/octitrate/corrections/ff14SB-tip3p";
const FF19SB: &str = "python/octitrate/corrections/ff19SB-opc";
const CHARMM: &str = "python/octitrate/corrections/charmm36m-tip3p";
const SCALED: &str = "python/octitrate/corrections/charmm36m-ecc-tip3p";

fn entry(path: &Path) -> Entry {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Entry::from_toml(&text, &path.display().to_string()).unwrap()
}

/// Every entry that comes with octitrate, with its file.
fn entries() -> Vec<(PathBuf, Entry)> {
    let mut found = Vec::new();
    for folder in [BUILTIN, FF14SB, FF19SB, CHARMM, SCALED] {
        let files = std::fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
        found.extend(files.map(|path| (path.clone(), entry(&path))));
    }
    assert!(std::fs::read_dir(root().join("python/octitrate/corrections")).unwrap().count() == 4, "another folder");
    found
}

/// Corrections of an entry, each with the place that it is for.
fn corrections(entry: &Entry) -> Vec<(String, &Correction)> {
    let elsewhere = entry.elsewhere.iter().map(|one| (one.residues.join(", "), &one.correction));
    std::iter::once((String::new(), &entry.correction)).chain(elsewhere).collect()
}

/// Nobody has to guess what an error is made of: the statistical part, the systematic one if it was estimated, and what neither sees.
#[test]
fn every_entry_says_what_its_error_covers() {
    let mut count = 0;
    for (path, entry) in entries() {
        for (place, correction) in corrections(&entry) {
            let Some(calibration) = correction.calibration() else { continue };
            let name = format!("{} {place}", path.display());
            let covers = calibration.error_covers.as_deref().unwrap_or_else(|| panic!("{name}: no error_covers"));
            let systematic = calibration.systematic_errors.is_some();
            assert!(covers.contains("free_energy_errors: statistics of windows"), "{name}: {covers}");
            assert!(covers.contains("slower than all runs"), "{name}: {covers}");
            assert_eq!(covers.contains("systematic_errors: "), systematic, "{name}: {covers}");
            assert_eq!(covers.contains("systematic errors were not estimated"), !systematic, "{name}: {covers}");
            count += 1;
        }
    }
    assert!(count >= 210, "{count} corrections");
}

/// A proton on either oxygen of a carboxyl group is the same, with the bonded terms of each form as well; so both edges get one correction.
#[test]
fn both_oxygens_of_carboxyls_are_the_same_with_the_bonded_terms_of_each_form() {
    let mut with_terms = 0;
    for (path, entry) in entries() {
        let three = entry.forms.len() == 3 && entry.name != "his";
        let expected = if three { vec![[0, 1]] } else { Vec::new() };
        assert_eq!(entry.equivalent_forms(), expected, "{}", path.display());
        if entry.bonded.is_empty() {
            continue;
        }
        with_terms += 1;
        // A number of one form alone.
        let mut changed = entry.clone();
        let form = changed.bonded.iter_mut().find_map(|term| term.parameters[0].get_mut(1)).unwrap();
        *form *= 1.01;
        assert!(changed.equivalent_forms().is_empty(), "{}", path.display());
        let inside = &entry.residues[0];
        assert!(entry.bonded.iter().all(|term| term.residues == [inside.clone()]), "{}", path.display());
    }
    assert_eq!(
        with_terms, 10,
        "Glu and Asp with ff14SB, ff19SB and CHARMM36m, whole charges or scaled, His with the first two"
    );
}

/// What a line of a table is about: file, residue of an end of a chain (empty: that of the model compound), form.
fn about(line: &str) -> Option<(&'static str, String, usize)> {
    let ends = ["amino end, ", "carboxyl end, "];
    let known = [
        ("His, HSP → HSD", ("his", "", 1)),
        ("His, HSP → HSE", ("his", "", 2)),
        ("Glu, one hydrogen", ("glu", "", 1)),
        ("Asp, one hydrogen", ("asp", "", 1)),
        ("side chain of Glu at a carboxyl end", ("glu3", "ZGL3", 2)),
        ("side chain of Asp at a carboxyl end", ("asp3", "ZAS3", 2)),
        ("side chain of Glu at an amino end", ("glu3", "NGL3", 2)),
        ("side chain of Asp at an amino end", ("asp3", "NAS3", 2)),
        ("side chain of Lys at an amino end", ("lys", "NLYS", 1)),
        ("side chain of Lys at a carboxyl end", ("lys", "ZLYS", 1)),
        ("side chain of Tyr at an amino end", ("tyr", "NTYR", 1)),
        ("side chain of Tyr at a carboxyl end", ("tyr", "ZTYR", 1)),
        ("side chain of Cys at an amino end", ("cys", "NCYS", 1)),
        ("side chain of Cys at a carboxyl end", ("cys", "ZCYS", 1)),
        ("side chain of Arg at an amino end", ("arg", "NARG", 1)),
        ("side chain of Arg at a carboxyl end", ("arg", "ZARG", 1)),
        ("side chain of His at an amino end, HSP → HSD", ("his", "NHIP", 1)),
        ("side chain of His at an amino end, HSP → HSE", ("his", "NHIP", 2)),
        ("side chain of His at a carboxyl end, HSP → HSD", ("his", "ZHIP", 1)),
        ("side chain of His at a carboxyl end, HSP → HSE", ("his", "ZHIP", 2)),
        ("Glu", ("glu3", "", 2)),
        ("Asp", ("asp3", "", 2)),
        ("Lys", ("lys", "", 1)),
        ("Arg", ("arg", "", 1)),
        ("Tyr", ("tyr", "", 1)),
        ("Cys", ("cys", "", 1)),
        ("water as buffer", ("water", "", 1)),
        ("charge buffer", ("water", "", 1)),
    ];
    for (end, (file, form)) in ends.iter().zip([("nterm", 1), ("cterm", 2)]) {
        if let Some(residue) = line.strip_prefix(end).and_then(|rest| rest.get(..3)) {
            // The entry is that of alanine, with both oxygens, and acids have both of their own protons.
            let name = match residue {
                "Ala" | "bot" => String::new(),
                "Glu" => "GL3".into(),
                "Asp" => "AS3".into(),
                "His" => "HIP".into(),
                _ => residue.to_uppercase(),
            };
            return Some((file, name, form));
        }
        if line.starts_with(end.trim_end_matches(", ")) {
            return Some((file, String::new(), form));
        }
    }
    let (file, place, form) = known.into_iter().find(|(name, _)| line.starts_with(name))?.1;
    Some((file, place.to_string(), form))
}

/// Reasons of a preliminary status, as entries have them, and the words of the tables.
const REASONS: [(&str, &[&str]); 7] = [
    ("windows only", &["windows only"]),
    ("halves of windows", &["halves of windows", "their halves", "whose halves"]),
    (
        "halves of the free runs",
        &["halves of free runs", "halves of the free runs", "and of the free runs", "and of free runs"],
    ),
    ("starts of windows", &["starts"]),
    ("the polynomial does not follow", &["polynomial"]),
    ("free runs deviate", &["free runs deviate"]),
    ("the free energy between forms is known", &["is known to"]),
];

/// A number as the tables write it.
fn number(value: f64) -> String {
    format!("{value:.2}").replace('-', "−")
}

/// What is wrong with a line of a table of these columns about an entry.
fn complaints(columns: &[&str], cells: &[&str], folder: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let (file, place, form) = about(cells[0]).unwrap_or_else(|| panic!("no entry is known for \"{}\"", cells[0]));
    let correction = |folder: &str| {
        let entry = entry(&root().join(folder).join(format!("{file}.toml")));
        entry.own_correction((!place.is_empty()).then_some(place.as_str())).unwrap().clone()
    };
    let free_energy = |correction: &Correction| {
        let calibration = correction.calibration().unwrap();
        let (value, error) = (calibration.coefficients[form - 1], calibration.free_energy_errors[form]);
        format!("{} ± {}", number(value), number(error))
    };
    let own = correction(folder);
    let calibration = own.calibration().unwrap();
    for (column, cell) in columns.iter().zip(cells) {
        let is_preliminary = cell.replace("**", "").starts_with("preliminary");
        let expected = match *column {
            "free energy (kJ/mol)" => free_energy(&own),
            "systematic" | "± systematic" => {
                calibration.systematic_errors.as_ref().map_or(String::new(), |errors| number(errors[form]))
            }
            "free runs off flat (kJ/mol)" => number(calibration.flatness.unwrap()),
            "with AMBER99SB-ILDN" if cell.is_empty() => continue,
            "with AMBER99SB-ILDN" => free_energy(&correction(BUILTIN)),
            // The second line of His has its status in the first.
            "status" if cell.is_empty() && file == "his" && form == 2 => continue,
            "status" if is_preliminary && own.status() == "preliminary" => {
                let reason = calibration.reason.clone().unwrap_or_default();
                for (ours, theirs) in REASONS {
                    let named = theirs.iter().any(|words| cell.contains(words));
                    if reason.contains(ours) != named {
                        wrong.push(format!("status \"{cell}\", where the entry has \"{reason}\""));
                    }
                }
                continue;
            }
            "status" => own.status().to_string(),
            _ => continue,
        };
        if *cell != expected {
            wrong.push(format!("{column} \"{cell}\", where the entry has \"{expected}\""));
        }
    }
    wrong
}

/// Every table of free energies has the values, errors and status of the entries, and all corrections of a folder are in its table.
#[test]
fn tables_of_corrections_are_the_entries() {
    let mut wrong = Vec::new();
    for (page, ends, folders) in [
        ("docs/src/accuracy.md", 2, vec![BUILTIN]),
        ("docs/src/corrections.md", 5, vec![FF14SB, FF19SB, CHARMM, SCALED]),
        ("benchmarks/calibration.md", 2, vec![BUILTIN]),
    ] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let (mut columns, mut tables, mut lines): (Vec<&str>, usize, usize) = (Vec::new(), 0, 0);
        let mut seen: Vec<BTreeSet<_>> = folders.iter().map(|_| BTreeSet::new()).collect();
        for line in text.lines() {
            let cells: Vec<&str> = match line.strip_prefix("| ").and_then(|rest| rest.strip_suffix(" |")) {
                Some(row) => row.split(" | ").map(str::trim).collect(),
                None if line.starts_with("|--") => continue,
                None => {
                    columns.clear();
                    continue;
                }
            };
            if cells.contains(&"free energy (kJ/mol)") || line.contains("| free energy (kJ/mol) |") {
                columns = line.trim_matches('|').split('|').map(str::trim).collect();
                tables += 1;
            } else if !columns.is_empty() {
                let row: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
                // The last folder has a table of its ends, too.
                let which = (tables - 1).min(folders.len() - 1);
                assert_eq!(row.len(), columns.len(), "{page}: {line}");
                let named = complaints(&columns, &row, folders[which]).into_iter();
                wrong.extend(named.map(|complaint| format!("{page}: {}: {complaint}", row[0])));
                seen[which].insert(about(row[0]).unwrap());
                lines += 1;
            }
        }
        assert_eq!(tables, ends, "{page}: tables of free energies");
        for (folder, seen) in folders.iter().zip(seen) {
            let inside = |path: &PathBuf| path.starts_with(root().join(folder));
            let all = entries().into_iter().filter(|(path, _)| inside(path));
            // HSD and HSE are two lines of one correction.
            let number: usize = all
                .map(|(_, entry)| {
                    let known = corrections(&entry).iter().filter(|(_, one)| one.calibration().is_some()).count();
                    if entry.name == "his" { 2 * known } else { known }
                })
                .sum();
            if seen.len() != number {
                wrong
                    .push(format!("{page}: {} lines about the {number} corrections of {folder}: {seen:?}", seen.len()));
            }
        }
        assert!(lines > 10, "{page}: {lines} lines");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Free energies of ends that the chapter of the library names in a sentence, to whole kJ/mol.
#[test]
fn the_chapter_of_the_library_has_the_ends_of_the_entries() {
    let chapter = std::fs::read_to_string(root().join("docs/src/library.md")).unwrap();
    let value = |file: &str, residue: Option<&str>, form: usize| {
        let entry = entry(&root().join(BUILTIN).join(format!("{file}.toml")));
        let correction = entry.own_correction(residue).unwrap().clone();
        format!("{:.0}", correction.calibration().unwrap().coefficients[form - 1]).replace('-', "−")
    };
    let carboxyl = [Some("GLY"), None, Some("LEU")].map(|residue| value("cterm", residue, 2));
    let amino = [None, Some("GLY"), Some("MET")].map(|residue| value("nterm", residue, 1));
    let plain = chapter.split_whitespace().collect::<Vec<_>>().join(" ");
    let [gly, ala, leu] = carboxyl;
    let sentence = format!("{gly} kJ/mol for the carboxyl end of Gly, {ala} for Ala and {leu} for Leu");
    assert!(plain.contains(&sentence), "{sentence}");
    let [ala, gly, met] = amino;
    let sentence = format!("{ala} kJ/mol for the amino end of Ala, {gly} for Gly and {met} for Met");
    assert!(plain.contains(&sentence), "{sentence}");
}

/// Ends of chains that an entry has corrections for, and side chains beside them, by the three letters of their residues: amino ends, carboxyl ends, side chains.
fn known_ends(folder: &str) -> [BTreeSet<String>; 3] {
    let mut known = [(); 3].map(|()| BTreeSet::new());
    let inside = entries().into_iter().filter(|(path, _)| path.starts_with(root().join(folder)));
    for (_, entry) in inside {
        for (place, correction) in corrections(&entry) {
            if correction.calibration().is_none() {
                continue;
            }
            let kind = match entry.name.as_str() {
                "nterm" => 0,
                "cterm" => 1,
                _ if place.is_empty() => continue,
                _ => 2,
            };
            // The first correction of an end is that of Ala. Names of residues at ends have a letter before the three: Z the last ones, N the first.
            let name = if place.is_empty() { "ALA" } else { &place[place.len() - 3..] };
            let name = match name {
                "GL3" => "Glu".into(),
                "AS3" => "Asp".into(),
                "HIP" => "His".into(),
                other => format!("{}{}", &other[..1], other[1..].to_lowercase()),
            };
            known[kind].insert(name);
        }
    }
    known
}

/// The residues that a cell of a table names.
fn named(cell: &str) -> BTreeSet<String> {
    let words = cell.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.len() == 3 && word.starts_with(char::is_uppercase)).map(str::to_string).collect()
}

/// The one table of the ends of chains that have corrections, that of the built-in ones in the chapter of the library, and the numbers of ends that pages say.
#[test]
fn tables_of_ends_are_the_entries() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).unwrap();
    let page = read("docs/src/force-fields.md");
    let row = |page: &str, name: &str| -> Vec<String> {
        let line = page.lines().find(|line| line.starts_with(&format!("| {name}")));
        let line = line.unwrap_or_else(|| panic!("no line of {name}"));
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect()
    };
    let mut counts = Vec::new();
    for (name, folder) in [("CHARMM36m in CHARMM's TIP3P", CHARMM), ("AMBER99SB-ILDN in TIP3P", BUILTIN)] {
        let (known, cells) = (known_ends(folder), row(&page, name));
        for (known, cell) in known.iter().zip(&cells[1..]) {
            assert_eq!(&named(cell), known, "{name}: {cell}");
        }
        counts.push(known[0].len() + known[1].len());
    }
    let of = |name: &str, folder: &str, side_chains: usize| {
        let known = known_ends(folder);
        assert_eq!(known.each_ref().map(BTreeSet::len), [20, 20, side_chains], "{name}: {known:?}");
        row(&page, name)
    };
    let scaled = of("CHARMM36m with scaled charges, the default", SCALED, 7);
    assert_eq!(scaled[1..4], ["all", "all, [40 ends](corrections.md#ends-ecc) together", "all"]);
    let ff14sb = of("ff14SB in TIP3P", FF14SB, 1);
    assert_eq!(ff14sb[1..4], ["all", "all, 40 ends together", "a last Glu"]);
    let ff19sb = of("ff19SB in OPC", FF19SB, 1);
    let inside = entries().into_iter().filter(|(path, _)| path.starts_with(root().join(FF19SB)));
    let transferred = inside.map(|(_, entry)| {
        corrections(&entry).iter().filter(|(_, one)| matches!(one, Correction::Transferred(_))).count()
    });
    let transferred = format!(
        "all, 40 ends together, {} of them [transferred](corrections.md#transferred)",
        transferred.sum::<usize>()
    );
    assert_eq!(ff19sb[1..4], ["all".to_string(), transferred, "a last Glu".into()]);
    let library = read("docs/src/library.md");
    let known = known_ends(BUILTIN);
    for (name, known) in ["amino end |", "carboxyl end |", "side chains of terminal residues"].iter().zip(&known) {
        let cell = row(&library, name).swap_remove(1);
        assert_eq!(&named(&cell), known, "docs/src/library.md: {name} {cell}");
    }
    let said = "ff14SB and ff19SB it is known for all 40 ends, with CHARMM36m of whole charges for 29 and with AMBER99SB-ILDN for seven (";
    assert!(read("README.md").contains(said), "README.md: {said}");
    assert_eq!(counts, [29, 7], "{said}");
}

/// A unit of pKa at 300 K (kJ/mol).
const PK_UNIT: f64 = 8.314462618e-3 * 300.0 * std::f64::consts::LN_10;

/// How well the pages say that corrections are known: the statistical and the systematic part together, of all that are calibrated or transferred, in pK units at 300 K.
#[test]
fn pages_say_how_well_corrections_are_known() {
    let mut errors = Vec::new();
    for (_, entry) in entries() {
        // The pages speak of groups that titrate.
        if entry.name == "water" {
            continue;
        }
        let known = |correction: &Correction| ["calibrated", "transferred"].contains(&correction.status());
        for (_, correction) in corrections(&entry).into_iter().filter(|(_, one)| known(one)) {
            let calibration = correction.calibration().unwrap();
            let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
            let systematic = calibration.systematic_errors.as_deref().map_or(0.0, largest);
            errors.push(largest(&calibration.free_energy_errors).hypot(systematic) / PK_UNIT);
        }
    }
    errors.sort_by(f64::total_cmp);
    let said = format!("{:.2} to {:.2}", errors[0], errors[errors.len() - 1]);
    for page in ["accuracy", "is-it-right", "theory-pka", "your-protein"] {
        let text = std::fs::read_to_string(root().join(format!("docs/src/{page}.md"))).unwrap();
        assert!(text.contains(&format!("{said} pK units")), "{page}: {said} pK units");
    }
}

/// By how much a titration of a model compound, the last one that a cell has, is off the pKa that it was given.
fn deviation(cell: &str) -> Option<f64> {
    let (found, given) = cell.split_once(" of ")?;
    let found: f64 = found.rsplit_once(" ± ")?.0.rsplit(' ').next()?.parse().ok()?;
    Some((found - given.split(' ').next()?.parse::<f64>().ok()?).abs())
}

/// How far model compounds are off is the table of `is-it-right.md`, made of the titrations in the tables of corrections. None is off by more than 0.1, but for
/// one end of a chain with ff14SB, of which both pages say how many of its errors, those of titration and correction together, it is off by.
#[test]
fn model_compounds_come_back_as_the_pages_say() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).unwrap();
    let (tables, summary) = (read("docs/src/corrections.md"), read("docs/src/is-it-right.md"));
    for (heading, name) in [
        ("CHARMM36m with scaled charges", "CHARMM36m with scaled charges, the default"),
        ("CHARMM36m with CHARMM's TIP3P", "CHARMM36m"),
        ("ff19SB with OPC", "ff19SB, OPC"),
        ("ff14SB with TIP3P", "ff14SB, TIP3P"),
    ] {
        let section = tables.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
        let titrated: Vec<(&str, f64)> =
            rows.filter_map(|row| Some((row.split(" | ").next()?, deviation(row.split(" | ").last()?)?))).collect();
        let of = |residue: &str| titrated.iter().find(|(row, _)| row.starts_with(residue)).unwrap().1;
        let mut cells =
            ["Glu", "Asp", "His", "Lys", "Tyr", "Cys", "Arg"].map(|residue| format!("{:.2}", of(residue))).to_vec();
        let ends = titrated.iter().filter(|(row, _)| row.contains(" end"));
        let most = ends.map(|one| one.1).fold(0.0, f64::max);
        cells.push(format!("{most:.2} at most"));
        let line = format!("| {name} | {} |", cells.join(" | "));
        assert!(summary.contains(&line), "docs/src/is-it-right.md: {line}");
        // to the two decimals of the tables
        let off: Vec<&str> = titrated.iter().filter(|one| one.1 > 0.105).map(|one| one.0).collect();
        if heading.starts_with("ff14SB") {
            assert_eq!(off, ["amino end, Tyr"], "{heading}");
            for row in section.lines().filter(|line| off.iter().any(|name| line.starts_with(&format!("| {name} |")))) {
                let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
                let numbers =
                    |cell: &str| -> Vec<f64> { cell.split(' ').filter_map(|word| word.parse().ok()).collect() };
                let (statistical, systematic) = (*numbers(cells[1]).last().unwrap(), numbers(cells[2])[0]);
                let error = numbers(cells[5])[1].hypot(statistical.hypot(systematic) / PK_UNIT);
                let said = format!(
                    "{:.1} times the errors of titration and correction together",
                    deviation(cells[5]).unwrap() / error
                );
                assert!(section.contains(&said) && summary.contains(&said), "{row}: {said}");
            }
        } else {
            assert!(off.is_empty(), "{heading}: {off:?}");
        }
    }
}

/// What model compounds gave back with AMBER99SB-ILDN is on both pages with the same errors.
#[test]
fn titrations_of_model_compounds_are_those_that_were_measured() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).unwrap();
    let (chapter, measured) = (read("docs/src/accuracy.md"), read("benchmarks/calibration.md"));
    let section = chapter.split("\n## ").find(|section| section.starts_with("pKa values of model compounds")).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains(" ± "));
    let numbers: Vec<&str> = rows.flat_map(|line| line.split(" | ")).filter(|cell| cell.contains(" ± ")).collect();
    assert!(numbers.len() > 35, "{}", numbers.len());
    for number in numbers {
        let number = number.trim_end_matches(" |");
        assert!(measured.contains(number), "docs/src/accuracy.md: {number}");
    }
}
