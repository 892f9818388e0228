//! Where a key stands in the job file, and what the parser complains about, in the words of the manual.

use crate::error::InputError;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Text of a job file.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    text: Arc<str>,
    path: PathBuf,
}

/// Two jobs are equal whatever they were read from.
impl PartialEq for Source {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A key with the bytes of its name and its value.
struct Entry {
    key: String,
    name: Range<usize>,
    value: Range<usize>,
}

impl Source {
    pub(super) fn new(text: &str, path: &Path) -> Self {
        Source { text: text.into(), path: path.to_path_buf() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the place of the error's key; the nearest enclosing table if the key itself is not written.
    pub(super) fn locate(&self, mut error: InputError) -> InputError {
        if error.file.is_some() {
            return error;
        }
        error.file = Some(self.path.clone());
        let entries = self.entries();
        let mut key = error.key.clone();
        while let Some(wanted) = key {
            if let Some(entry) = entries.iter().find(|entry| entry.key == wanted) {
                // A table is pointed at by its header, a value by itself.
                let span = if error.key.as_ref() == Some(&wanted) { &entry.value } else { &entry.name };
                error.place = Some((self.text.clone(), span.clone()));
                break;
            }
            key = wanted.rsplit_once('.').map(|(table, _)| table.to_string());
        }
        error
    }

    /// The parser's error with key, place and a list of what is valid.
    pub(super) fn explain(&self, error: &toml::de::Error) -> InputError {
        let span = error.span().unwrap_or(0..0);
        let entries = self.entries();
        let around = |range: &Range<usize>| range.start <= span.start && span.end <= range.end;
        let by_value = entries.iter().filter(|entry| around(&entry.value)).min_by_key(|entry| entry.value.len());
        let by_name = entries.iter().find(|entry| entry.name == span);
        let key = by_name.or(by_value).map(|entry| entry.key.clone());
        let is_double = self.text.get(span.start..).is_some_and(|rest| rest.starts_with("[["));
        let (message, help) = brackets(error.message(), key.as_deref(), is_double)
            .unwrap_or_else(|| translate(error.message(), key.as_deref()));
        let mut result = InputError::new(message, help).in_file(&self.path);
        result.key = key;
        result.place = Some((self.text.clone(), span));
        result
    }

    /// All keys of the document, arrays of tables as `titration.site.0`.
    fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let (table, _) = DeTable::parse_recoverable(&self.text);
        collect(table.get_ref(), "", &mut entries);
        entries
    }
}

fn collect(table: &DeTable, prefix: &str, entries: &mut Vec<Entry>) {
    for (name, value) in table.iter() {
        let key = format!("{prefix}{}", name.get_ref());
        entries.push(Entry { key: key.clone(), name: name.span(), value: value.span() });
        match value.get_ref() {
            DeValue::Table(inner) => collect(inner, &format!("{key}."), entries),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let key = format!("{key}.{index}");
                    entries.push(Entry { key: key.clone(), name: item.span(), value: item.span() });
                    if let DeValue::Table(inner) = item.get_ref() {
                        collect(inner, &format!("{key}."), entries);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A section with the wrong number of brackets, if that is what the parser complains about; `is_double`: it stands in double ones.
fn brackets(message: &str, key: Option<&str>, is_double: bool) -> Option<(String, String)> {
    let key = key.map(|key| key.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit()))?;
    if message.starts_with("invalid type: map, expected a sequence") {
        let found = format!("[{key}] has single brackets, and there may be several of it");
        return Some((found, format!("double the brackets: [[{key}]]")));
    }
    (is_double && message.starts_with("invalid type: map"))
        .then(|| (format!("[[{key}]] has double brackets, and there is one of it"), format!("write [{key}]")))
}

/// serde's sentences, such as "unknown field `x`, expected one of `a`, `b`", in the words of the manual.
fn translate(message: &str, key: Option<&str>) -> (String, String) {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let listed = |names: &[&str]| match names {
        [] => String::new(),
        [only] => format!("valid is {only}"),
        _ => format!("valid are {}", names.join(", ")),
    };
    let list = |names: &[&str]| {
        let nearest = quoted.first().and_then(|found| nearest(found, names));
        let hint = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        format!("{}{hint}", listed(names))
    };
    if message.starts_with("unknown field") {
        return (format!("unknown key `{}`", quoted[0]), list(&quoted[1..]));
    }
    if message.starts_with("unknown variant") {
        let names: Vec<String> = quoted[1..].iter().map(|name| format!("\"{name}\"")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return (format!("found \"{}\"", quoted[0]), list(&names));
    }
    if message.starts_with("missing field") {
        let message = match key {
            Some(table) => format!("the key `{}` is missing in [{table}]", quoted[0]),
            None => format!("the section [{}] is missing", quoted[0]),
        };
        return (message, String::new());
    }
    if message.starts_with("duplicate") {
        return ("the key is given twice".into(), "give it once".into());
    }
    if let Some(rest) = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: ")) {
        let (found, expected) = rest.split_once(", expected ").unwrap_or((rest, ""));
        let found = found.replace('`', "");
        let found = match found.split_once(' ') {
            Some(("string", text)) => format!("text {text}"),
            _ => found.strip_prefix("floating point ").map(|number| format!("number {number}")).unwrap_or(found),
        };
        return (format!("found the {found}"), format!("valid is {}", plain_type(expected)));
    }
    match message.split_once("; valid is ") {
        Some((found, valid)) => (found.to_string(), format!("valid is {valid}")),
        None => (message.to_string(), String::new()),
    }
}

/// A Rust type as a person says it.
fn plain_type(expected: &str) -> String {
    match expected {
        "u64" | "u32" | "usize" => "a whole number, 0 or more".into(),
        "i64" | "i32" => "a whole number".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "path string" | "a string" => "text in quotes".into(),
        "a sequence" => "a list in [ ]".into(),
        other if other.starts_with("struct ") => "a section".into(),
        other => other.to_string(),
    }
}

/// The candidate that differs from `found` by the fewest edits, if few enough to be a slip.
fn nearest<'a>(found: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let distance = |candidate: &&&str| edits(found, candidate.trim_matches('"'));
    candidates.iter().min_by_key(distance).filter(|best| distance(best) <= 2).copied()
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance() {
        assert_eq!(edits("cutof", "cutoff"), 1);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(nearest("time_stepp", &["time_step", "seed"]), Some("time_step"));
        assert_eq!(nearest("quantum", &["time_step", "seed"]), None);
    }
}
