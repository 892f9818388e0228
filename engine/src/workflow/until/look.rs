//! What a look at the runs led to, in words.

use super::Until;
use crate::evaluation::until::{Check, GROWTH, reached};

/// What a look led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Everything so far, in the order of time.
    pub checks: Vec<Check>,
    /// Whether the runs have reached what was asked for, or have their full length.
    pub is_last: bool,
}

impl Look {
    /// What the log says of it: the newest check, what holds it up, and which pH values to change.
    pub fn lines(&self, until: &Until) -> Vec<String> {
        let Some(check) = self.checks.last() else { return Vec::new() };
        let mut lines = vec![format!("until {}: {}", until.target.error, check.summary(&until.target))];
        if !self.is_last && check.holds() {
            lines.push(format!("  all agree; they must still do so with {:.0} % more data", 100.0 * (GROWTH - 1.0)));
        }
        if !self.is_last
            && let Some(time) = check.estimate(&until.target).filter(|time| *time > check.time)
        {
            lines.push(format!("  by the largest error about {time:.0} ps of each run are needed"));
        }
        lines.extend(check.remarks().iter().map(|remark| format!("  {remark}")));
        lines
    }

    /// How it ended, for the end of the log: reached, or what each site that was not within the error lacks.
    pub fn conclusion(&self, until: &Until) -> String {
        let Some(check) = self.checks.last() else { return String::new() };
        let error = until.target.error;
        let outside = if check.outside.is_empty() {
            String::new()
        } else {
            format!("not asked for, with pKa values outside the pH values: {}\n", check.outside.join(", "))
        };
        let mut text = match reached(&self.checks) {
            Some(first) => format!(
                "until {error}: all {} sites are within it from {} ps on, and the runs ended at {} ps\n",
                check.sites.len(),
                self.checks[first].time,
                check.time
            ),
            None => {
                let why: Vec<String> = check.stopping();
                let list = if why.is_empty() {
                    vec![format!("it held at the last look only; {:.0} % more data are wanted", 100.0 * (GROWTH - 1.0))]
                } else {
                    why
                };
                let lines: String = list.iter().map(|line| format!("  {line}\n")).collect();
                format!(
                    "until {error}: not reached within {} ps of each run, the length that the job gives\n{lines}",
                    check.time
                )
            }
        };
        text += &outside;
        for check in &self.checks {
            let lines =
                check.added().map(|place| format!("pH {} was added at {} ps: {}\n", place.ph, check.time, place.why));
            text.extend(lines);
        }
        check.remarks().iter().for_each(|remark| text += &format!("{remark}\n"));
        text
    }
}
