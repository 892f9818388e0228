//! What a look at the runs led to, in words.

use super::Until;
use crate::evaluation::until::{Check, GROWTH, Settled, SiteCheck, reached};
use crate::record::{are, counted};

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
        let settled = Settled::all(&self.checks, &until.target).len();
        let mut lines = vec![format!("until {}: {}", until.target.error, check.summary(&until.target, settled))];
        if !self.is_last && check.holds() {
            let wanted = 100.0 * (GROWTH - 1.0);
            lines.push(format!(
                "  nothing speaks against any site; those that are not settled yet are with {wanted:.0} % more data"
            ));
        }
        if !self.is_last
            && let Some(time) = check.estimate(&until.target).filter(|time| *time > check.time)
        {
            lines.push(format!("  the site with the largest error needs about {time:.0} ps of each run"));
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
        let mut text = match reached(&self.checks, &until.target) {
            Some(first) => {
                let settled = match check.sites.len() {
                    1 => "the site is settled".to_string(),
                    count => format!("all {count} sites are settled, the last of them"),
                };
                let mut text = format!(
                    "until {error}: {settled} from {} ps on, and the runs ended at {} ps\n",
                    self.checks[first].time, check.time
                );
                for held in check.stopping() {
                    text += &format!("  settled before, while at the last look {held}\n");
                }
                text
            }
            None => {
                let settled = Settled::all(&self.checks, &until.target);
                let mut text = format!(
                    "until {error}: not reached within {} ps of each run, the length that the job gives; {} of {} {} settled\n",
                    check.time,
                    settled.len(),
                    counted(check.sites.len(), "site"),
                    are(check.sites.len())
                );
                check.stopping().iter().for_each(|held| text += &format!("  {held}\n"));
                let is_new = |site: &&SiteCheck| {
                    site.reasons.is_empty() && settled.iter().all(|settled| settled.site != site.site)
                };
                let new: Vec<&str> = check.sites.iter().filter(is_new).map(SiteCheck::label).collect();
                if !new.is_empty() {
                    let wanted = 100.0 * (GROWTH - 1.0);
                    text += &format!("  not yet for {wanted:.0} % more data: {}\n", new.join(", "));
                }
                text
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
