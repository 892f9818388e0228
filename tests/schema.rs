//! The JSON schema of the job file against the jobs of this project and against what reads them.
//!
//! [`complaint`] knows the keywords that the schema uses, and refuses any other, so that nothing in it goes unchecked.

use octitrate::config::{Config, schema};
use regex_lite::Regex;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The jobs in a folder of the project and in its folders, down to `depth`.
fn jobs(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && depth > 0 {
            found.extend(jobs(&path, depth - 1));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Keywords that say nothing about what is valid.
const WORDS: [&str; 10] = [
    "$schema",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "required",
    "x-absent",
    "x-quantity",
    "x-units",
];

/// What is wrong with a value, after the schema.
pub(crate) fn complaint(schema: &Value, value: &Value) -> Option<String> {
    let rules = schema.as_object().unwrap();
    rules.iter().find_map(|(rule, wanted)| broken(rules, rule, wanted, value))
}

fn broken(rules: &Map<String, Value>, rule: &str, wanted: &Value, value: &Value) -> Option<String> {
    let no = |holds: bool| (!holds).then(|| format!("{value} against {rule} {wanted}"));
    let fitting = || wanted.as_array().unwrap().iter().filter(|one| complaint(one, value).is_none()).count();
    match rule {
        "type" => no(match wanted.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            other => panic!("the schema has the type {other}"),
        }),
        "const" => no(value == wanted),
        "pattern" => no(value.as_str().is_none_or(|text| Regex::new(wanted.as_str().unwrap()).unwrap().is_match(text))),
        "minimum" => no(value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap())),
        "maximum" => no(value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap())),
        "oneOf" => no(fitting() == 1),
        "anyOf" => no(fitting() > 0),
        "items" => value.as_array()?.iter().find_map(|item| complaint(wanted, item)),
        "properties" => properties(rules, wanted.as_object().unwrap(), value.as_object()?),
        // Unknown keys are found among the properties.
        "additionalProperties" if wanted == false => None,
        other if WORDS.contains(&other) => None,
        other => panic!("the schema has the keyword {other}, which this test does not know"),
    }
}

/// Missing and unknown keys, then what is wrong with the others.
fn properties(rules: &Map<String, Value>, known: &Map<String, Value>, table: &Map<String, Value>) -> Option<String> {
    assert!(rules.contains_key("additionalProperties"), "a table of the schema takes any key");
    let required = rules.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).find(|key| !table.contains_key(*key));
    if let Some(key) = missing {
        return Some(format!("{key} is missing"));
    }
    table.iter().find_map(|(key, value)| match known.get(key) {
        None => Some(format!("{key} is unknown")),
        Some(schema) => complaint(schema, value).map(|what| format!("{key}: {what}")),
    })
}

#[test]
fn every_job_and_its_resolved_form_fit_the_schema() {
    let schema = schema::schema();
    let jobs = [jobs(&root().join("inputs"), 1), jobs(&root().join("tests/good"), 0)].concat();
    assert!(jobs.len() > 25, "{jobs:?}");
    for path in jobs {
        let text = std::fs::read_to_string(&path).unwrap();
        let resolved = Config::load(&path).unwrap().to_toml().unwrap();
        for text in [text, resolved] {
            let complaint = complaint(&schema, &toml::from_str(&text).unwrap());
            assert_eq!(complaint, None, "{}", path.display());
        }
    }
}

/// Mistakes that lie in one key are seen by an editor before the program is started.
#[test]
fn wrong_keys_types_units_and_ranges_do_not_fit_the_schema() {
    let schema = schema::schema();
    let names = [
        "barrier_rate_missing",
        "barrier_without_unit",
        "buffer_fixed_out_of_range",
        "buffer_without_molecules",
        "coordinate_unknown",
        "coupling_unknown",
        "degree_too_high",
        "depth_not_a_number",
        "missing_system",
        "missing_topology_key",
        "negative_steps",
        "no_unit",
        "not_a_quantity",
        "order_too_high",
        "replicas_zero",
        "separation_too_small",
        "tolerance_zero",
        "unknown_key",
        "unknown_section",
        "wrong_type",
        "wrong_unit",
        "wrong_variant",
    ];
    for name in names {
        let text = std::fs::read_to_string(root().join(format!("tests/bad/{name}.toml"))).unwrap();
        assert!(complaint(&schema, &toml::from_str(&text).unwrap()).is_some(), "{name} fits the schema");
    }
}

/// Every key with its schema, lists of tables as their table.
fn keys(path: &str, schema: &Value, all: &mut Vec<(String, bool, Value)>) {
    let table = schema.get("items").unwrap_or(schema);
    let required = table.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, key) in table.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}{name}");
        all.push((path.clone(), required.contains(&json!(name)), key.clone()));
        for option in ["anyOf", "oneOf"].iter().filter_map(|name| key.get(*name)?.as_array()).flatten() {
            keys(&format!("{path}."), option, all);
        }
        keys(&format!("{path}."), key, all);
    }
}

fn all_keys() -> Vec<(String, bool, Value)> {
    let mut all = Vec::new();
    keys("", &schema::schema(), &mut all);
    assert!(all.len() > 80, "{}", all.len());
    all
}

/// A key added without a comment, or an `Option` of which nobody says what its absence means, is named here: write
/// `#[schemars(extend("x-absent" = "…"))]` above it.
#[test]
fn every_key_says_what_it_is_and_what_its_absence_means() {
    for (path, required, key) in all_keys() {
        let words = key.get("description").and_then(Value::as_str).unwrap_or_default();
        assert!(words.ends_with('.'), "{path} has no description in whole sentences: {words:?}");
        assert!(!words.contains("[`"), "the description of {path} has a link of rustdoc: {words}");
        let is_section = key.get("properties").is_some();
        let known = required || is_section || key.get("default").is_some() || key.get("x-absent").is_some();
        assert!(known, "{path} is neither required nor has it a default or x-absent");
    }
}

/// A job in which the key of a path can stand, with its value.
fn job_with(path: &str, value: &Value) -> String {
    let mut job = json!({
        "system": { "structure": "water.gro", "topology": "water.top" },
        "electrostatics": { "precision": "double" },
        "thermostat": {},
        "titration": { "ph": 4.0, "buffer": {} },
    });
    if path != "dynamics.steps" {
        job["dynamics"] = json!({ "duration": "10 ps" });
    }
    match path.split('.').next() {
        Some("titrate") => job["titrate"] = json!({ "ph": [4.0] }),
        Some("calibrate") => job["calibrate"] = json!({}),
        _ => {}
    }
    if path.starts_with("titrate") || path.starts_with("calibrate") {
        job["titration"].as_object_mut().unwrap().remove("ph");
    }
    let mut place = &mut job;
    for name in path.split('.') {
        place = place.as_object_mut().unwrap().entry(name).or_insert(json!({}));
    }
    *place = value.clone();
    toml::to_string(&job).unwrap()
}

/// Ranges stand in the schema for editors and in the checks for messages: both ends of each are accepted, and nothing beyond.
#[test]
fn ranges_are_those_that_the_checks_enforce() {
    let job = root().join("inputs/03-water/job.toml");
    let mut count = 0;
    for (path, _, key) in all_keys() {
        let one = key.get("anyOf").and_then(|all| all.as_array()?.last().cloned()).unwrap_or(key);
        let is_whole = one.get("type") == Some(&json!("integer"));
        for (name, sign) in [("minimum", -1.0), ("maximum", 1.0)] {
            let Some(end) = one.get(name).and_then(Value::as_f64) else { continue };
            let beyond = end + sign * if is_whole { 1.0 } else { 0.01 };
            let number = |x: f64| if is_whole { json!(x as i64) } else { json!(x) };
            let [end, beyond] = [end, beyond].map(|x| Config::parse(&job_with(&path, &number(x)), &job));
            assert!(end.is_ok(), "{name} of {path} is refused: {}", end.unwrap_err());
            let error = beyond.expect_err(&format!("beyond the {name} of {path}")).to_string();
            assert!(error.contains(&format!(" {path}: ")), "beyond the {name} of {path}: {error}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_manual_has_the_keys_of_this_program() {
    let path = root().join("docs/src/keys.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let same = text == schema::markdown(&schema::schema());
    assert!(same, "docs/src/keys.md is not what `octitrate schema --markdown` prints: run `make keys`");
}
