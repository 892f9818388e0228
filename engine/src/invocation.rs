//! When, where and by what command something is computed, for logs and for what results say of themselves.

use chrono::{SecondsFormat, Utc};

/// Today's date in UTC, ISO 8601.
pub fn today() -> String {
    Utc::now().date_naive().to_string()
}

/// Date and time in UTC, ISO 8601.
pub fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Name of this machine, if the system tells it.
pub fn host() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok())?;
    Some(name.trim().to_string()).filter(|name| !name.is_empty())
}

/// The command that started this program, as a shell takes it.
pub fn command() -> String {
    let words = std::env::args_os().map(|word| quoted(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// A text as one word of the shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("/a/b-1.toml"), "/a/b-1.toml");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn times_are_those_of_iso_8601() {
        let now = now();
        assert!(now.len() == 20 && now.starts_with(&today()) && now.ends_with('Z'), "{now}");
    }
}
