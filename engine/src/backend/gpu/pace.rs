//! Which steps need the virial: those at whose end the barostat scales the box, and those after them, whose pressure is half of the work that the
//! scaling has done. All others compute forces alone, and what follows from their sums is done beside the forces of the next step.

/// What a step computes and does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Forces.
    Forces,
    /// Forces and the virial.
    Virial,
    /// Both; the box may change at its end.
    Scaling,
}

impl StepKind {
    /// Whether it computes the virial, and energies with it.
    pub fn virial(self) -> bool {
        self != Self::Forces
    }
}

/// The kind of each step, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirialPace {
    /// There is no barostat.
    Never,
    /// The barostat acts every so many steps.
    Every(u64),
    /// It acts at steps that differ from batch to batch: every step may be one of them.
    Always,
}

impl VirialPace {
    /// For a barostat that acts after every `barostat` steps, counted from step 0, if there is one, and steps of which `batch` are recorded
    /// together, from a multiple of that number on.
    pub fn new(barostat: Option<u64>, batch: u64) -> Self {
        match barostat {
            None => Self::Never,
            Some(every) if batch.is_multiple_of(every) => Self::Every(every),
            Some(_) => Self::Always,
        }
    }

    /// The kind of a step.
    pub fn of(self, step: u64) -> StepKind {
        match self {
            Self::Never => StepKind::Forces,
            Self::Always => StepKind::Scaling,
            Self::Every(every) if (step + 1).is_multiple_of(every) => StepKind::Scaling,
            Self::Every(every) if step.is_multiple_of(every) => StepKind::Virial,
            Self::Every(_) => StepKind::Forces,
        }
    }

    /// All kinds that there are.
    pub fn kinds(self) -> &'static [StepKind] {
        match self {
            Self::Never => &[StepKind::Forces],
            Self::Every(_) => &[StepKind::Forces, StepKind::Virial, StepKind::Scaling],
            Self::Always => &[StepKind::Scaling],
        }
    }

    /// Which of [`Self::kinds`] a step is.
    pub fn number(self, step: u64) -> usize {
        self.kinds().iter().position(|kind| *kind == self.of(step)).unwrap_or_default()
    }

    /// Whether any step needs the virial.
    pub fn has_virial(self) -> bool {
        self != Self::Never
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_barostat_and_the_work_it_has_done_need_the_virial() {
        use StepKind::{Forces, Scaling, Virial};
        let kinds =
            |barostat, batch, steps| (0..steps).map(|s| VirialPace::new(barostat, batch).of(s)).collect::<Vec<_>>();
        assert_eq!(
            kinds(Some(5), 20, 11),
            [Virial, Forces, Forces, Forces, Scaling, Virial, Forces, Forces, Forces, Scaling, Virial]
        );
        assert_eq!(kinds(Some(2), 20, 4), [Virial, Scaling, Virial, Scaling]);
        assert_eq!(kinds(Some(1), 20, 3), [Scaling; 3]);
        assert_eq!(kinds(Some(7), 20, 3), [Scaling; 3]);
        assert_eq!(kinds(None, 20, 3), [Forces; 3]);
        for pace in [VirialPace::new(Some(5), 20), VirialPace::new(Some(7), 20), VirialPace::new(None, 20)] {
            assert!((0..40).all(|step| pace.kinds()[pace.number(step)] == pace.of(step)));
            assert_eq!(pace.has_virial(), pace != VirialPace::Never);
        }
    }
}
