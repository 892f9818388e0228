//! What the runs of a window say: the average, and whether starts and halves agree.
//!
//! Of each run so much is left out at its beginning as leaves the largest number of independent samples of the slope that settles last
//! ([`lambda::analysis::equilibration`]), half at most. Units: kJ/mol, ps.

use lambda::analysis::agreement::Difference;
use lambda::analysis::blocks::SeriesError;
use lambda::analysis::equilibration;
use lambda::analysis::simplex_fit::Window;

/// One run of a window.
#[derive(Debug, Clone)]
pub struct Run {
    /// Average after equilibration.
    pub average: Window,
    /// Averages of the first and the second half of that; `None` if they are too short for one.
    pub halves: Option<[Window; 2]>,
    /// Left out beyond `calibrate.equilibration` (ps).
    pub settling: f64,
    /// Time that was averaged (ps).
    pub time: f64,
}

/// All runs of a window.
#[derive(Debug, Clone)]
pub struct Measured {
    /// All of them together.
    pub average: Window,
    /// Each, one at least.
    pub runs: Vec<Run>,
}

impl Run {
    /// Of the slopes ∂V/∂λ_α − ∂V/∂λ_0 with `interval` (ps) between frames.
    ///
    /// # Errors
    /// [`SeriesError`] for fewer than 8 frames, values that are not finite, or a constant series.
    pub fn new(weights: &[f64], slopes: &[Vec<f64>], interval: f64) -> Result<Self, SeriesError> {
        let mut start = 0;
        for series in slopes {
            start = start.max(match equilibration::start(series) {
                Err(SeriesError::TooShort { .. }) => 0,
                found => found?,
            });
        }
        let of = |range: std::ops::Range<usize>| {
            let part: Vec<Vec<f64>> = slopes.iter().map(|series| series[range.clone()].to_vec()).collect();
            Window::from_series(weights, &part)
        };
        let frames = slopes.iter().map(Vec::len).min().unwrap_or(0);
        let middle = start + (frames - start) / 2;
        let halves = of(start..middle).and_then(|first| Ok([first, of(middle..frames)?]));
        let (settling, time) = (start as f64 * interval, (frames - start) as f64 * interval);
        Ok(Self { average: of(start..frames)?, halves: halves.ok(), settling, time })
    }
}

impl Measured {
    /// Of runs at the same weights; `None` for none.
    pub fn new(runs: Vec<Run>) -> Option<Self> {
        let averages: Vec<Window> = runs.iter().map(|run| run.average.clone()).collect();
        Some(Self { average: Window::pool(&averages)?, runs })
    }

    /// How far the runs are apart; `None` for a single one.
    pub fn starts(&self) -> Option<Difference> {
        Difference::of(&self.runs.iter().map(|run| run.average.clone()).collect::<Vec<_>>())
    }

    /// How far the halves of each run are apart; `None` where they are too short.
    pub fn halves(&self) -> Vec<Option<Difference>> {
        self.runs.iter().map(|run| Difference::of(run.halves.as_ref()?)).collect()
    }

    /// The average of run number `start`.
    pub fn of_start(&self, start: usize) -> Option<Window> {
        Some(self.runs.get(start)?.average.clone())
    }

    /// The average of the first (0) or the second (1) halves of all runs.
    pub fn of_half(&self, half: usize) -> Option<Window> {
        let halves: Option<Vec<Window>> =
            self.runs.iter().map(|run| Some(run.halves.as_ref()?[half].clone())).collect();
        Window::pool(&halves?)
    }
}
