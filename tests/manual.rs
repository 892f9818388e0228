//! The manual against the program: commands with their arguments, jobs, messages, and the files and columns of the output.
//!
//! Keys are in `schema.rs`. The links of the pages that mdBook makes of it are checked where it is built (`scripts/docs.sh`).

use crate::schema::complaint;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The chapters and the README, with their names.
fn chapters() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(root().join("docs/src")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.push(root().join("README.md"));
    paths.sort();
    assert!(paths.len() > 10);
    paths.iter().map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Lines of a page outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2).flat_map(str::lines)
}

/// The anchors of a page: its headings as mdBook and GitHub name them, and those that are written out.
fn anchors(text: &str) -> BTreeSet<String> {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').strip_prefix(' ')?;
        // Of a link the words, of everything letters, digits and dashes.
        let words: String = title
            .split('[')
            .flat_map(|part| {
                part.split_once("](")
                    .map_or([part, ""], |(words, rest)| [words, rest.split_once(')').map_or("", |(_, rest)| rest)])
            })
            .collect();
        let keep = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        Some(words.trim().chars().filter(|c| keep(*c)).collect::<String>().to_lowercase().replace(' ', "-"))
    };
    let mut found = BTreeSet::new();
    for name in prose(text).filter(|line| line.starts_with('#')).filter_map(heading) {
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !found.contains(name));
        found.extend(free);
    }
    found.extend(text.split("<a id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_string())));
    found
}

/// Links of the Markdown files lead to files of this project and to anchors in them.
#[test]
fn links_lead_to_files_and_anchors() {
    let more = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "benchmarks/README.md",
        "benchmarks/gpu.md",
        "benchmarks/calibration.md",
        "benchmarks/RESULTS.md",
        "validation/README.md",
        "validation/methods.md",
        "validation/charmm36m.md",
        "validation/ff19SB.md",
        "validation/ff14SB.md",
        "inputs/make/README.md",
        "fmm/README.md",
        "kernels/README.md",
        "lambda/README.md",
        "lambda/library/pdb2gmx/README.md",
        "forcefield/README.md",
        "engine/settings/README.md",
        "python/README.md",
    ];
    let more = more
        .map(|name| root().join(name))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap()));
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, text) in chapters().into_iter().chain(more) {
        for link in prose(&text).flat_map(|line| line.split("](").skip(1)).map(|rest| rest.split(')').next().unwrap()) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let target =
                if path.is_empty() { PathBuf::from(&name) } else { Path::new(&name).parent().unwrap().join(path) };
            count += 1;
            if !target.exists() {
                wrong.push(format!("{name}: {link} leads nowhere"));
            } else if !anchor.is_empty() && !anchors(&std::fs::read_to_string(&target).unwrap()).contains(anchor) {
                wrong.push(format!("{name}: {link} has no anchor of that name"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "{count}");
    assert_eq!(
        anchors("# A `b` c\n## [Up](x.md): λ, 2\n# A b c\n```\n# no\n```\n<a id=\"own\"></a>\n"),
        ["a-b-c", "a-b-c-1", "own", "up-λ-2"].map(String::from).into()
    );
}

/// Every chapter is in the table of contents, and nothing else.
#[test]
fn the_table_of_contents_has_every_chapter() {
    let contents = std::fs::read_to_string(root().join("docs/src/SUMMARY.md")).unwrap();
    let listed: BTreeSet<&str> = contents.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    let there = chapters().into_iter().filter_map(|(path, _)| {
        let path = PathBuf::from(path);
        let inside = path.parent().is_some_and(|folder| folder.ends_with("docs/src"));
        let name = path.file_name()?.to_string_lossy().into_owned();
        (inside && name != "SUMMARY.md").then_some(name)
    });
    let there: BTreeSet<String> = there.collect();
    assert_eq!(there.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed);
}

/// The blocks of code in this language.
fn blocks<'a>(chapter: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("\n```{language}\n");
    chapter.split(start.as_str()).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

fn octitrate(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_octitrate")).args(arguments).output().unwrap()
}

/// Every command line is one that the program has: its command, and every `--argument` of it, are in the help.
#[test]
fn commands_and_arguments_exist() {
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut help = |command: &[&str]| -> String {
        let key = command.iter().map(|word| (*word).to_string()).collect();
        helps
            .entry(key)
            .or_insert_with(|| {
                // its help is that of a Python program, which need not be installed
                for (python, file) in [("prepare", "prepare/command.py"), ("site", "ligand.py")] {
                    if command == [python] {
                        return std::fs::read_to_string(root().join("python/octitrate").join(file)).unwrap();
                    }
                }
                let output = octitrate(&[command, &["--help"]].concat());
                assert!(output.status.success(), "octitrate {command:?} --help");
                String::from_utf8(output.stdout).unwrap()
            })
            .clone()
    };
    let listed = help(&[]);
    let is_command = |word: &str| listed.lines().any(|line| line.trim_start().starts_with(&format!("{word} ")));
    let mut seen = BTreeSet::new();
    for (name, chapter) in chapters() {
        let lines = blocks(&chapter, "sh").into_iter().flat_map(str::lines);
        let code = chapter.split('`').skip(1).step_by(2).filter(|code| !code.contains('\n'));
        for line in lines.chain(code) {
            let Some(line) = line.strip_prefix("octitrate ") else { continue };
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[0].chars().all(char::is_uppercase) {
                continue;
            }
            assert!(is_command(words[0]), "{name}: octitrate {line}: there is no such command");
            let depth = if words[0] == "bench" { 2 } else { 1 };
            let help = help(&words[..depth]);
            for argument in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(argument), "{name}: octitrate {line}: there is no {argument}");
            }
            seen.insert(words[..depth].join(" "));
        }
    }
    let commands = listed.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    for line in commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let command = line.split_whitespace().next().unwrap();
        let known = command == "help" || seen.iter().any(|one| one.split(' ').next() == Some(command));
        assert!(known, "the manual says nothing of octitrate {command}");
    }
}

/// Every job and every piece of one fits the schema.
#[test]
fn jobs_fit_the_schema() {
    let schema = octitrate::config::schema::schema();
    let mut count = 0;
    for (name, chapter) in chapters() {
        for text in blocks(&chapter, "toml") {
            let mut job: Value = toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e} in\n{text}"));
            let table = job.as_object_mut().unwrap();
            table.entry("system").or_insert(json!({ "structure": "a.gro", "topology": "a.top" }));
            assert_eq!(complaint(&schema, &job), None, "{name}:\n{text}");
            count += 1;
        }
    }
    assert!(count > 5, "{count}");
}

/// All Rust files below a folder as one text with single blanks, strings over several lines joined.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The headings of the chapter about trouble are messages of the program; `…` stands for what differs.
#[test]
fn messages_are_those_of_the_program() {
    let mut text = String::new();
    for folder in ["engine/src", "engine/settings/src", "lambda/src", "forcefield/src", "kernels/src"] {
        sources(&root().join(folder), &mut text);
    }
    let plain = |text: &str| {
        let text = text.replace("\\\n", " ").replace('`', "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = plain(&text);
    let chapter = std::fs::read_to_string(root().join("docs/src/trouble.md")).unwrap();
    let messages: Vec<&str> = chapter.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert!(messages.len() > 30);
    for message in messages {
        let message = plain(message);
        let parts: Vec<&str> = message.split('…').map(|part| part.trim_matches([' ', '"', '[', ']'])).collect();
        assert!(parts.iter().any(|part| part.len() > 6), "{message} is too short to be found");
        for part in parts {
            assert!(text.contains(part), "\"{part}\" of \"{message}\" is in no message of the program");
        }
    }
}

/// A small titration with exchange, a run with a site of three forms, and a calibration in `folder`.
fn results(folder: &Path) {
    let job = |name: &str, system: &str, residue: &str, rest: &str| {
        let inputs = root().join("inputs").join(system);
        let file = &system[3..];
        let text = format!(
            "[system]\nstructure = \"{0}/{file}.gro\"\ntopology = \"{0}/{file}.top\"\n[thermostat]\n[barostat]\n\
             [dynamics]\nsteps = 20\n[output]\nlambda = \"2 fs\"\nenergy = \"20 fs\"\ntrajectory = \"20 fs\"\n\
             [[titration.site]]\nresidue = \"{residue}\"\n[titration.buffer]\n{rest}",
            inputs.display()
        );
        let path = folder.join(format!("{name}.toml"));
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let jobs = [
        ("titrate", job("titrate", "01-glu", "GLH 2", "[titrate]\nph = [4.0, 5.0]\nexchange = \"20 fs\"")),
        (
            "calibrate",
            job(
                "calibrate",
                "01-glu",
                "GLH 2",
                "[calibrate]\nwindows = [0.0, 0.5, 1.0]\nmax_rounds = 1\nround = \"80 fs\"",
            ),
        ),
        ("titrate", job("forms", "09-glu3", "GL3 2", "[titrate]\nph = [4.0]")),
    ];
    for (command, job) in jobs {
        let output = octitrate(&[command, &job, "--device", "cpu", "--threads", "1"]);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A column as the manual writes it.
fn general(column: &str) -> String {
    let forms = ["protonated-OE2", "protonated-OE1", "protonated", "deprotonated"];
    if column.starts_with("pH_") {
        return "pH_…/replica_…".into();
    }
    let mut text = column.to_string();
    for site in ["GLH 2", "GL3 2", "buffer"] {
        text = text.replace(&format!("lambda {site}"), "lambda SITE");
    }
    for form in forms {
        text = text.replace(&format!("SITE:{form}"), "SITE:FORM");
        text = if text == format!("population {form}") { "population FORM".into() } else { text };
    }
    text
}

/// By the name of a table, its columns in the manual: what stands as code in the first cell of each line.
fn documented(chapter: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in chapter.lines() {
        if line.starts_with('#') {
            name = line.trim_start_matches(['#', ' ']).to_string();
        } else if let Some(cell) = line.strip_prefix("| `").and_then(|rest| rest.split(" | ").next()) {
            let columns = format!("`{cell}");
            let columns = columns.split('`').skip(1).step_by(2).map(str::to_string);
            tables.entry(name.clone()).or_default().extend(columns);
        }
    }
    tables
}

/// Every file of a run, a titration and a calibration is named in the manual, and every column of their tables; and every column that the
/// manual names is there.
#[test]
fn output_files_and_columns_are_documented() {
    let folder = temp_dir::TempDir::new().unwrap();
    results(folder.path());
    let chapter = std::fs::read_to_string(root().join("docs/src/output.md")).unwrap();
    let documented = documented(&chapter);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut folders = vec![folder.path().to_path_buf()];
    while let Some(inside) = folders.pop() {
        for entry in std::fs::read_dir(&inside).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if inside != folder.path() {
                assert!(chapter.contains(&format!("`{name}`")), "{name}: docs/src/output.md does not name this file");
                if name.ends_with(".csv") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let columns = text.lines().next().unwrap().split(',').map(general);
                    found.entry(name).or_default().extend(columns);
                }
            }
        }
    }
    assert!(found.len() > 9, "{:?}", found.keys());
    // Columns of calibrations of three forms, which take longer than a test may.
    let elsewhere = ["weight FORM", "dV/dlambda FORM - FORM (kJ/mol)"];
    for (name, columns) in &found {
        let known = documented.get(name).unwrap_or_else(|| panic!("docs/src/output.md has no table ### {name}"));
        for column in columns {
            assert!(known.contains(column), "the column \"{column}\" of {name} is not in docs/src/output.md");
        }
        for column in known.iter().filter(|column| !elsewhere.contains(&column.as_str())) {
            assert!(columns.contains(column), "{name} has no column \"{column}\", which docs/src/output.md names");
        }
    }
}

/// Who cites the program cites the version that it says it is.
#[test]
fn the_citation_names_the_version_of_the_program() {
    let citation = std::fs::read_to_string(root().join("CITATION.cff")).unwrap();
    let version = format!("version: {}", env!("CARGO_PKG_VERSION"));
    assert!(citation.lines().any(|line| line == version), "{version}");
}

/// The table of the library says of every built-in entry its residues, pKa, number of forms and how far its correction is.
#[test]
fn library_is_the_built_in_one() {
    let chapter = std::fs::read_to_string(root().join("docs/src/library.md")).unwrap();
    let rows: Vec<&str> = chapter.lines().filter(|line| line.starts_with("| `")).collect();
    let entries = lambda::SiteLibrary::builtin().unwrap().entries;
    assert_eq!(rows.len(), entries.len(), "docs/src/library.md has another number of entries");
    for entry in entries {
        let name = &entry.name;
        let row = rows.iter().find(|row| row.starts_with(&format!("| `{name}` ")));
        let row = row.unwrap_or_else(|| panic!("docs/src/library.md has no {name}"));
        let mut parts: Vec<String> = entry.residues.iter().map(|residue| format!("`{residue}`")).collect();
        parts.extend(entry.pka.map(|pka| format!("{pka:.2}")));
        parts.extend([format!("{} forms", entry.forms.len()), format!("| {} |", entry.correction.status())]);
        for part in parts {
            assert!(row.contains(&part), "docs/src/library.md: {part} is not in the line of {name}");
        }
    }
}

/// Speeds of single proteins in README and manual are those of one table of `benchmarks/gpu.md`, which has their command.
#[test]
fn speeds_are_those_of_the_measured_table() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).unwrap();
    let measured = read("benchmarks/gpu.md");
    let measured = measured.split("\n### ").find(|section| section.starts_with("The table on an H200\n")).unwrap();
    for (page, expected) in [("README.md", 4), ("docs/src/accuracy.md", 11)] {
        let text = read(page);
        let table = text.split("OpenMM 8.6.1, PME, ").nth(1).unwrap().split("\n\n").next().unwrap();
        let cells = table.lines().filter(|line| line.starts_with("| ")).flat_map(|line| line.split(" | ").skip(1));
        let speeds: Vec<&str> =
            cells.map(|cell| cell.trim_matches(['|', ' '])).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(speeds.len(), expected, "{page}: {speeds:?}");
        for speed in speeds {
            let whole = |cell: &str| cell.trim_matches('*').split(':').next() == Some(speed);
            assert!(measured.split('|').any(|cell| whole(cell.trim().trim_matches('*'))), "{page}: {speed} ns/day");
        }
    }
}

/// Modules of the engine, of the Python package and of crates whose README lists them are in these lists.
#[test]
fn lists_of_modules_have_every_module() {
    let mut missing = Vec::new();
    for (page, folder, others) in [
        ("ARCHITECTURE.md", "engine/src", &["lib", "main", "toy"][..]),
        ("ARCHITECTURE.md", "python/octitrate", &["__init__", "__main__"]),
        ("engine/settings/README.md", "engine/settings/src", &["lib"]),
        ("forcefield/README.md", "forcefield/src", &["lib"]),
        ("lambda/README.md", "lambda/src", &["lib"]),
    ] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let files = std::fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
        let modules =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "rs" || extension == "py"));
        let names: Vec<String> = modules.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        assert!(others.iter().all(|other| names.iter().any(|name| name == other)), "{folder}: {others:?}");
        let unnamed = names.into_iter().filter(|name| !others.contains(&name.as_str()));
        let unnamed = unnamed.filter(|name| !text.contains(&format!("`{name}`")));
        missing.extend(unnamed.map(|name| format!("{page}: {folder}/{name}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
