//! What a log says of its run at the top: program, command, devices, and the facts about the system.

use std::path::Path;

/// Facts that a report quotes, by the names that they have in a log.
const FACTS: [&str; 7] = ["atoms", "molecules", "net charge", "box", "density", "Coulomb", "charge buffer"];

/// What the log of a titration says, each thing once, in the order in which it first stands there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogFacts {
    /// Programs with their versions: `octitrate 0.1.0`.
    pub programs: Vec<String>,
    /// Days on which a command was started, ISO 8601.
    pub days: Vec<String>,
    /// Commands.
    pub commands: Vec<String>,
    /// What computed: `CPU, 2 threads`.
    pub devices: Vec<String>,
    /// Names and values: `("atoms", "3512 in 1164 molecules")`.
    pub facts: Vec<(String, String)>,
}

impl LogFacts {
    /// Reads a log; nothing without one.
    pub(super) fn read(path: &Path) -> Self {
        Self::parse(&std::fs::read_to_string(path).unwrap_or_default())
    }

    /// What several logs say: each program, day, command and device once, and the facts of the first log that has any.
    pub(super) fn of_all(logs: impl Iterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for log in logs {
            let lists = [
                (&mut all.programs, log.programs),
                (&mut all.days, log.days),
                (&mut all.commands, log.commands),
                (&mut all.devices, log.devices),
            ];
            for (known, more) in lists {
                more.iter().for_each(|one| once(known, one));
            }
            if all.facts.is_empty() {
                all.facts = log.facts;
            }
        }
        all
    }

    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let (name, value) = line.split_once(": ").unwrap_or((line, ""));
            match name {
                // "octitrate 0.1.0, 2026-01-02T03:04:05Z, host name"
                _ if value.is_empty() && line.starts_with("octitrate ") => {
                    let mut parts = line.split(", ");
                    once(&mut found.programs, parts.next().unwrap_or_default());
                    if let Some(day) = parts.next().and_then(|time| time.split('T').next()) {
                        once(&mut found.days, day);
                    }
                }
                "command" => once(&mut found.commands, value),
                "device" => once(&mut found.devices, value),
                name if FACTS.contains(&name) && !found.facts.iter().any(|(known, _)| known == name) => {
                    found.facts.push((name.to_string(), value.to_string()));
                }
                _ => {}
            }
        }
        found
    }

    /// A fact by its name.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Adds a value to a list that does not have it yet.
fn once(list: &mut Vec<String>, value: &str) {
    if !list.iter().any(|known| known == value) {
        list.push(value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_two_calls_says_everything_once() {
        let call = "octitrate 0.1.0, 2026-01-02T03:04:05Z, host here\ncommand: octitrate titrate a.toml\nthreads: 2\n\
                    device: CPU, 2 threads\natoms: 10 in 2 molecules, 30 u\nwarning: atoms: none\npH 2.00, replica 1: done\n";
        let found = LogFacts::parse(&call.repeat(2));
        assert_eq!((found.programs, found.days), (vec!["octitrate 0.1.0".to_string()], vec!["2026-01-02".to_string()]));
        assert_eq!((found.commands.len(), found.devices.len(), found.facts.len()), (1, 1, 1));
        let again = LogFacts::parse(call);
        assert_eq!(again.fact("atoms"), Some("10 in 2 molecules, 30 u"));
        assert_eq!(LogFacts::parse(""), LogFacts::default());
        let other = call.replace("2 threads", "8 threads").replace("10 in 2", "12 in 3");
        let both = LogFacts::of_all([LogFacts::default(), again.clone(), LogFacts::parse(&other)].into_iter());
        assert_eq!(both.devices, ["CPU, 2 threads", "CPU, 8 threads"]);
        assert_eq!((both.commands, both.facts), (again.commands, again.facts));
    }
}
