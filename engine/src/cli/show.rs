//! Errors as a person sees them: what was found, the place in the file, and what is valid.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use octitrate::error::{Error, InputError};
use octitrate::output::screen;
use std::ffi::OsString;
use std::fmt;
use std::io::IsTerminal;

/// An error with the text it points at.
#[derive(Debug)]
struct Shown {
    message: String,
    help: String,
    source: Option<NamedSource<String>>,
    span: std::ops::Range<usize>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl Diagnostic for Shown {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.source.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::underline(self.span.clone()))))
    }
}

impl Shown {
    fn input(error: &InputError) -> Shown {
        let key = error.key.as_ref().map(|key| format!("{}: ", spoken_key(key))).unwrap_or_default();
        let file = error.file.as_ref().map(|file| file.display().to_string());
        match (&error.place, file) {
            (Some((text, span)), Some(file)) => {
                // A label must lie inside the text and mark at least one character; a table is marked by its first line.
                let start = span.start.min(text.len());
                let line = text[start..].find('\n').map_or(text.len(), |end| start + end);
                let span = start..span.end.clamp(start, line).max((start + 1).min(text.len()));
                let source = Some(NamedSource::new(file, text.to_string()));
                Shown { message: format!("{key}{}", error.message), help: error.help.clone(), source, span }
            }
            (_, file) => {
                let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
                let message = format!("{file}{key}{}", error.message);
                Shown { message, help: error.help.clone(), source: None, span: 0..0 }
            }
        }
    }

    fn of(error: &Error) -> Shown {
        match error {
            Error::Input(error) | Error::Memory(error) => Shown::input(error),
            Error::Physics(error) => {
                let mut plain = (**error).clone();
                let help = std::mem::take(&mut plain.help);
                Shown { message: plain.to_string(), help, source: None, span: 0..0 }
            }
            Error::File { .. } => Shown { message: error.to_string(), help: String::new(), source: None, span: 0..0 },
        }
    }
}

/// `titration.site.1.fixed` as a person counts: `titration.site[2].fixed`.
fn spoken_key(key: &str) -> String {
    let parts = key.split('.').map(|part| match part.parse::<usize>() {
        Ok(index) => format!("[{}]", index + 1),
        Err(_) => format!(".{part}"),
    });
    parts.collect::<String>().trim_start_matches('.').to_string()
}

/// Whether a terminal shows colours that nobody asked to leave out (no-color.org), by the `value` of each variable of the environment.
fn has_colours(value: impl Fn(&str) -> Option<OsString>) -> bool {
    value("NO_COLOR").is_none_or(|value| value.is_empty()) && value("TERM").is_none_or(|term| term != "dumb")
}

/// Prints an error to standard error.
pub fn error(error: &Error) {
    let coloured = std::io::stderr().is_terminal() && has_colours(|name| std::env::var_os(name));
    let theme = if coloured { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false).with_context_lines(1);
    let mut text = String::new();
    if handler.render_report(&mut text, &Shown::of(error)).is_err() {
        text = error.to_string();
    }
    screen::show(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As no-color.org asks: whatever the variable says, but not if it is empty.
    #[test]
    fn colours_are_left_out_where_somebody_asked_for_it() {
        let colours = |variables: &[(&str, &str)]| {
            has_colours(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        assert!(colours(&[]) && colours(&[("NO_COLOR", ""), ("TERM", "xterm-256color")]));
        assert!(!colours(&[("NO_COLOR", "1")]) && !colours(&[("NO_COLOR", "0"), ("TERM", "xterm")]));
        assert!(!colours(&[("TERM", "dumb")]));
    }
}
