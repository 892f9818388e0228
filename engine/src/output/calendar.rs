//! The steps at which the files of a run get entries.
//!
//! A calendar can be copied: walkers of an exchange have it with them, while one thread holds the files.

use super::trr::DueParts;
use crate::config::Config;
use crate::frame::{LineIntervals, Wanted};

/// Which files get an entry at a step.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    pub(super) energy: bool,
    pub(super) lambda: bool,
    pub(super) trajectory: bool,
    pub(super) full: DueParts,
}

impl Due {
    /// The parts of a frame that these entries need.
    pub fn wanted(self) -> Wanted {
        let positions = self.trajectory || self.full.positions || self.full.velocities;
        Wanted { energies: self.energy, derivatives: self.lambda, positions, forces: self.full.forces }
    }

    /// Whether anything is due.
    pub fn any(self) -> bool {
        self.energy || self.lambda || self.trajectory || self.full.any()
    }
}

/// Steps between two entries of each file; none: there is no such file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calendar {
    pub(super) lines: LineIntervals,
    pub(super) trajectory: Option<u64>,
    /// Positions, velocities, forces.
    full: [Option<u64>; 3],
    /// Lines that come by themselves and are not due.
    kept: LineIntervals,
}

impl Calendar {
    /// Of a job, which has a table of λ if it has `sites`.
    pub fn new(config: &Config, sites: bool) -> Self {
        let output = &config.output;
        let lambda = config.interval(output.lambda).filter(|_| sites);
        Self {
            lines: LineIntervals { energies: config.interval(output.energy), lambda, last: config.steps() },
            trajectory: config.interval(output.trajectory),
            full: [output.positions, output.velocities, output.forces].map(|time| config.interval(time)),
            kept: LineIntervals::default(),
        }
    }

    /// The steps at which the tables get lines.
    pub fn lines(&self) -> LineIntervals {
        self.lines
    }

    /// Those of the lines that come by themselves.
    pub fn kept(&self) -> LineIntervals {
        self.kept
    }

    /// These lines come by themselves from now on: they are not due any more.
    pub fn expect(&mut self, kept: LineIntervals) {
        self.kept = kept;
    }

    /// What is due at this step; energies and positions of the last step always are.
    pub fn due(&self, step: u64) -> Due {
        let at = |every: Option<u64>| every.is_some_and(|every| step.is_multiple_of(every));
        let last = step == self.lines.last;
        let with_last = |every: Option<u64>| at(every) || (last && every.is_some());
        let [positions, velocities, forces] = self.full.map(with_last);
        Due {
            energy: self.kept.energies.is_none() && with_last(self.lines.energies),
            lambda: self.kept.lambda.is_none() && at(self.lines.lambda),
            trajectory: with_last(self.trajectory),
            full: DueParts { positions, velocities, forces },
        }
    }

    /// The first step after `step` at which something is due.
    pub fn next(&self, step: u64) -> u64 {
        let energy = self.lines.energies.filter(|_| self.kept.energies.is_none());
        let lambda = self.lines.lambda.filter(|_| self.kept.lambda.is_none());
        let all = [energy, lambda, self.trajectory].into_iter().chain(self.full).flatten();
        all.map(|every| (step / every + 1) * every).fold(self.lines.last.max(step + 1), u64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_is_written_and_what_comes_by_itself_is_not_due() {
        let lines = LineIntervals { energies: Some(6), lambda: Some(4), last: 20 };
        let mut calendar = Calendar { lines, full: [None, Some(10), None], ..Calendar::default() };
        let steps = |calendar: &Calendar| -> Vec<u64> {
            std::iter::successors(Some(0), |&step| Some(calendar.next(step))).take_while(|&step| step <= 20).collect()
        };
        assert_eq!(steps(&calendar), [0, 4, 6, 8, 10, 12, 16, 18, 20]);
        let due = calendar.due(20);
        assert!(due.energy && due.lambda && due.full.velocities && !due.full.positions && !due.trajectory);
        calendar.expect(LineIntervals { lambda: Some(4), ..LineIntervals::default() });
        assert_eq!(steps(&calendar), [0, 6, 10, 12, 18, 20]);
        assert!(!calendar.due(20).lambda && !calendar.due(8).any());
    }
}
