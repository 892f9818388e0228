//! The schema as a chapter of the manual: a heading for each section and each key.

use serde_json::{Map, Value};
use std::fmt::Write;

const HEAD: &str = "\
# Every key of a job file

<!-- Written by `octitrate schema --markdown`: change the comments in engine/settings/src/config and run `make keys`. -->

This chapter is made from the types that read the job file, by `octitrate schema --markdown`. `octitrate schema` prints the same as a
JSON schema for editors ([how to use it](first-titration.md#an-editor-that-knows-the-keys)).

A value with a unit is text: `\"2 fs\"`, `\"1.0 nm\"`. A number without its unit is refused, and so is a key that does not exist. Paths are
relative to the job file. A section without a remark may be left out; its keys then have their defaults.
`resolved.toml`, which every run writes beside its results, is the job with every default written out.
";

/// The chapter for a schema as [`super::schema`] makes it.
pub fn markdown(schema: &Value) -> String {
    let mut text = HEAD.to_string();
    section(&mut text, "", schema);
    text
}

/// Keys of a table that are no tables first, as in a job file, then the tables in it.
fn section(text: &mut String, path: &str, schema: &Value) {
    let (tables, keys): (Vec<_>, Vec<_>) = properties(schema).partition(|(_, key)| table_of(key).is_some());
    for (name, key) in keys {
        let need = need(schema, name, key);
        let _ = write!(text, "\n### `{path}{name}`\n\n{}; {need}.\n\n", capital(&kind(key)));
        let _ = writeln!(text, "{}", words(key));
        alternatives(text, key);
    }
    for (name, key) in tables {
        let Some(table) = table_of(key) else { continue };
        let (is_list, path) = (key.get("items").is_some(), format!("{path}{name}"));
        let heading = if is_list { format!("[[{path}]]") } else { format!("[{path}]") };
        let _ = write!(text, "\n## `{heading}`\n\n{}", words(key));
        let need = need(schema, name, key);
        let _ =
            writeln!(text, "{}", if need.is_empty() { String::new() } else { format!(" *This section is {need}.*") });
        section(text, &format!("{path}."), table);
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// The table that a key is, or of which it is a list.
fn table_of(key: &Value) -> Option<&Value> {
    let one = key.get("items").unwrap_or(key);
    one.get("properties").map(|_| one)
}

fn words(key: &Value) -> &str {
    key.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// `required`, `default 1`, or `optional: without it the volume is constant`; nothing for a section whose keys have defaults.
fn need(schema: &Value, name: &str, key: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    if required.is_some_and(|names| names.iter().any(|one| one == name)) {
        return "**required**".into();
    }
    match (key.get("default"), key.get("x-absent").and_then(Value::as_str)) {
        (_, Some(absent)) => format!("optional (without it: {absent})"),
        (Some(default), None) => format!("default `{}`", toml(default)),
        (None, None) => String::new(),
    }
}

/// A value as it stands in a job file.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let pairs: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

/// Type, unit and range in words.
fn kind(key: &Value) -> String {
    if let Some(options) = options(key) {
        let all: Vec<String> = options.iter().map(kind).collect();
        let is_choice = options.iter().all(|one| one.get("const").is_some());
        return if is_choice { format!("one of {}", all.join(", ")) } else { all.join(", or ") };
    }
    if let Some(value) = key.get("const") {
        return format!("`{}`", toml(value));
    }
    let list = |name: &str| -> Vec<String> {
        let values = key.get(name).and_then(Value::as_array).into_iter().flatten();
        values.filter_map(Value::as_str).map(|text| format!("`{text}`")).collect()
    };
    if let Some(quantity) = key.get("x-quantity").and_then(Value::as_str) {
        return format!("{quantity} in {}", list("x-units").join(", "));
    }
    let words = match key.get("type").and_then(Value::as_str) {
        Some("string") => "text".into(),
        Some("boolean") => "`true` or `false`".into(),
        Some("integer") => "a whole number".into(),
        Some("number") => "a number".into(),
        Some("array") => format!("a list: {}", key.get("items").map(kind).unwrap_or_default()),
        _ => {
            let names: Vec<&str> = properties(key).map(|(name, _)| name.as_str()).collect();
            format!("a table with `{}`", names.join("`, `"))
        }
    };
    let bound = |name: &str| key.get(name).map(Value::to_string);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!("{words} from {least} to {most}"),
        (Some(least), None) => format!("{words}, {least} or more"),
        (None, Some(most)) => format!("{words} up to {most}"),
        (None, None) => words,
    }
}

fn options(key: &Value) -> Option<&Vec<Value>> {
    ["oneOf", "anyOf"].into_iter().find_map(|name| key.get(name)?.as_array())
}

/// The names that a key may have with what they mean, and the keys of a table that may stand for a value.
fn alternatives(text: &mut String, key: &Value) {
    let options = options(key).map_or(&[][..], Vec::as_slice);
    let mut items = String::new();
    for option in options {
        if let (Some(value), Some(_)) = (option.get("const"), option.get("description")) {
            let _ = writeln!(items, "- `{}`: {}", toml(value), words(option));
        }
        for (name, inner) in properties(option) {
            let (kind, need) = (kind(inner), need(option, name, inner));
            let _ = writeln!(items, "- `{name}` ({kind}; {need}): {}", words(inner));
        }
    }
    if !items.is_empty() {
        let _ = write!(text, "\n{items}");
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
