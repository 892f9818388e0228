//! Numbers of things as a sentence has them.

use std::fmt::Display;

/// `1 run`, `3 runs`: a number of things that take an s.
pub fn counted(count: impl Display, thing: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// `is` of one thing, `are` of any other number.
pub fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        let of = |count: usize| format!("{} {}", counted(count, "site"), are(count));
        assert_eq!([0, 1, 2].map(of), ["0 sites are", "1 site is", "2 sites are"]);
    }
}
