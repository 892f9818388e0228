//! The resolved job of runs as a table of texts: what a report quotes, whatever version of the program wrote it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What `resolved.toml` says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// Its text.
    pub text: String,
    table: toml::Table,
}

impl Job {
    /// Reads it; empty if there is none, or it is no TOML.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        Self::parse(text)
    }

    /// Of a text.
    pub fn parse(text: String) -> Self {
        let table = text.parse().unwrap_or_default();
        Self { text, table }
    }

    /// Every setting as a text, by its key: `dynamics.time_step`, and those of a site by its residue, `titration.site GLU 2 offset`.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        self.table.iter().for_each(|(name, value)| add(name, value, &mut all));
        all
    }

    /// Whether there is a section.
    pub fn has(&self, section: &str) -> bool {
        self.table.contains_key(section)
    }

    /// A value as people read it: `4 fs`, `periodic`, `10`.
    pub fn value(&self, section: &str, key: &str) -> Option<String> {
        match self.table.get(section)?.get(key)? {
            toml::Value::String(text) => Some(text.clone()),
            toml::Value::Integer(number) => Some(number.to_string()),
            toml::Value::Float(number) => Some(number.to_string()),
            toml::Value::Boolean(truth) => Some(truth.to_string()),
            // One for each axis.
            toml::Value::Array(list) => {
                let texts = list.iter().map(|one| one.as_str().map(str::to_string)).collect::<Option<Vec<_>>>()?;
                Some(texts.join(", "))
            }
            _ => None,
        }
    }

    /// The sites that give a key, each by its residue as the job names it, with the text of the value.
    pub fn sites_with<'a>(&'a self, key: &str) -> Vec<[&'a str; 2]> {
        let sites = self.table.get("titration").and_then(|section| section.get("site")).and_then(toml::Value::as_array);
        let text = |site: &'a toml::Value, key: &str| site.get(key).and_then(toml::Value::as_str);
        sites.into_iter().flatten().filter_map(|site| Some([text(site, "residue")?, text(site, key)?])).collect()
    }

    /// A path.
    pub fn path(&self, section: &str, key: &str) -> Option<PathBuf> {
        self.value(section, key).map(PathBuf::from)
    }

    /// A list of paths; empty if there is none.
    pub fn paths(&self, section: &str, key: &str) -> Vec<PathBuf> {
        let list = self.table.get(section).and_then(|section| section.get(key)).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str).map(PathBuf::from).collect()
    }
}

/// Adds a value and all that is below it.
fn add(key: &str, value: &toml::Value, all: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(name, value)| add(&format!("{key}.{name}"), value, all)),
        toml::Value::Array(list) if list.iter().any(toml::Value::is_table) => {
            for (number, table) in list.iter().filter_map(toml::Value::as_table).enumerate() {
                let named = table.get("residue").and_then(toml::Value::as_str);
                let named = named.map_or_else(|| number.to_string(), String::from);
                let rest = table.iter().filter(|(name, _)| *name != "residue");
                rest.for_each(|(name, value)| add(&format!("{key} {named} {name}"), value, all));
            }
        }
        toml::Value::Array(list) => {
            all.insert(key.into(), list.iter().map(text).collect::<Vec<_>>().join(", "));
        }
        _ => {
            all.insert(key.into(), text(value));
        }
    }
}

fn text(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_texts_and_what_is_missing_is_none() {
        let job =
            Job::parse("[dynamics]\ntime_step = \"4 fs\"\nseed = 1\n[titration]\nlibrary = [\"a.toml\"]\n".into());
        assert_eq!(job.value("dynamics", "time_step").as_deref(), Some("4 fs"));
        assert_eq!((job.value("dynamics", "seed").as_deref(), job.value("barostat", "pressure")), (Some("1"), None));
        assert_eq!(job.paths("titration", "library"), [PathBuf::from("a.toml")]);
        assert!(job.has("titration") && !Job::parse("= no".into()).has("titration"));
        let sites = "[[titration.site]]\nresidue = \"GLU 2\"\n[[titration.site]]\nresidue = \"cterm LEU 9\"\noffset = \"11 kJ/mol\"\n";
        assert_eq!(Job::parse(sites.into()).sites_with("offset"), [["cterm LEU 9", "11 kJ/mol"]]);
        assert!(job.sites_with("offset").is_empty());
        let all = Job::parse("[titrate]\nph = [3.0, 4.0]\n[titration.buffer]\nneutral = true\n".to_string() + sites)
            .settings();
        let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let expected = [("titrate.ph", "3.0, 4.0"), ("titration.buffer.neutral", "true")];
        assert_eq!(all, [&expected[..], &[("titration.site cterm LEU 9 offset", "11 kJ/mol")]].concat());
    }
}
