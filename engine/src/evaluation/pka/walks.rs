//! How often the walkers of a replica exchange went to and fro between acidic and basic pH values.
//!
//! A round trip is a passage from one side to the other and back. For all sites together the sides are the lowest and the highest pH. What a
//! site has to learn from a walker is what the walker is like where the site has its proton and where it has not: its own sides are the pH values at least
//! [`BESIDE`] below its lowest and above its highest pKa, or the last ones that there are. Titrations that are evaluated together may have other pH values:
//! a walker goes between those of its own.

use crate::evaluation::runs::Run;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// pH units from a pKa at which ten of eleven groups have one form.
const BESIDE: f64 = 1.0;

/// Which walker was at which pH when.
#[derive(Debug, Clone, Default)]
pub(super) struct Walks {
    /// Time (ps), number of the titration, walker, pH; in the order of time.
    visits: Vec<(f64, usize, u32, f64)>,
    /// The pH values of each titration, rising.
    ladders: Vec<Vec<f64>>,
}

impl Walks {
    /// Of all lines of λ; none where no run has walkers, or all have one pH.
    pub fn of(runs: &[Run]) -> Option<Self> {
        let mut titrations: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let (mut visits, mut ladders) = (Vec::new(), Vec::<Vec<f64>>::new());
        for run in runs {
            let next = titrations.len();
            let titration = *titrations.entry(run.titration().to_path_buf()).or_insert(next);
            ladders.resize_with(titrations.len(), Vec::new);
            ladders[titration].push(run.ph);
            let lines = run.series.time.iter().zip(&run.series.walker);
            visits.extend(lines.map(|(time, walker)| (*time, titration, *walker, run.ph)));
        }
        for ladder in &mut ladders {
            ladder.sort_by(f64::total_cmp);
            ladder.dedup();
        }
        if visits.is_empty() || ladders.iter().all(|ladder| ladder.len() < 2) {
            return None;
        }
        visits.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(Self { visits, ladders })
    }

    /// Round trips of all walkers between the lowest and the highest pH.
    pub fn round_trips(&self) -> usize {
        self.round_trips_about(std::iter::empty())
    }

    /// Passages of all walkers from one end to the other.
    pub fn passages(&self) -> usize {
        self.passages_about(std::iter::empty()).into_iter().sum()
    }

    /// Those between the sides of a site with these pKa values; between the ends if none is known.
    pub fn round_trips_about(&self, pka: impl Iterator<Item = f64> + Clone) -> usize {
        self.passages_about(pka).into_iter().map(|passages| passages / 2).sum()
    }

    /// Passages of each walker from one of the sides of a site with these pKa values to the other.
    fn passages_about(&self, pka: impl Iterator<Item = f64> + Clone) -> Vec<usize> {
        let (lowest, highest) = (pka.clone().reduce(f64::min), pka.reduce(f64::max));
        let sides = |ladder: &Vec<f64>| {
            let low = lowest.and_then(|pka| ladder.iter().rfind(|ph| **ph <= pka - BESIDE)).copied();
            let high = highest.and_then(|pka| ladder.iter().find(|ph| **ph >= pka + BESIDE)).copied();
            [low.unwrap_or(ladder[0]), high.unwrap_or(ladder[ladder.len() - 1])]
        };
        let sides: Vec<[f64; 2]> = self.ladders.iter().map(sides).collect();
        let mut seen: BTreeMap<(usize, u32), (bool, usize)> = BTreeMap::new();
        for &(_, titration, walker, ph) in &self.visits {
            let [low, high] = sides[titration];
            if ph > low && ph < high {
                continue;
            }
            let end = ph >= high;
            let (last, passages) = seen.entry((titration, walker)).or_insert((end, 0));
            *passages += usize::from(*last != end);
            *last = end;
        }
        seen.into_values().map(|(_, passages)| passages).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;

    /// pH values 2, 3, 5 and 7 with a walker in each; `order[frame][run]`.
    fn runs(order: &[[u32; 4]]) -> Vec<Run> {
        let run = |(index, ph): (usize, f64)| Run {
            folder: format!("a/pH_{ph:.2}/replica_1").into(),
            ph,
            series: LambdaSeries {
                time: (0..order.len()).map(|k| k as f64).collect(),
                walker: order.iter().map(|walkers| walkers[index]).collect(),
                ..LambdaSeries::default()
            },
            ..Run::default()
        };
        [2.0, 3.0, 5.0, 7.0].into_iter().enumerate().map(run).collect()
    }

    /// Walkers 2 and 3 swap between pH 3 and 5, back, and once more: one round trip each about a pKa of 4, and half of one more; nobody went from end to end.
    #[test]
    fn a_site_has_round_trips_of_its_own_about_its_pka() {
        let (there, back) = ([1, 3, 2, 4], [1, 2, 3, 4]);
        let walks = Walks::of(&runs(&[back, there, back, there])).unwrap();
        assert_eq!((walks.round_trips(), walks.passages()), (0, 0));
        let about = |pka: &[f64]| walks.round_trips_about(pka.iter().copied());
        assert_eq!(about(&[4.0]), 2);
        // pH 3 and 5 are nearer than one unit.
        assert_eq!((about(&[3.9]), about(&[4.1])), (0, 0));
        // Two protons; below all pH values; none known.
        assert_eq!((about(&[4.0, 4.5]), about(&[1.0]), about(&[])), (0, 0, 0));
        let ends = Walks::of(&runs(&[back, [4, 2, 3, 1], back])).unwrap();
        assert_eq!((ends.round_trips(), ends.round_trips_about([4.0].into_iter())), (2, 2));
        // Walkers 1 and 4 went to the other end once and stayed.
        let halfway = Walks::of(&runs(&[back, [4, 2, 3, 1]])).unwrap();
        assert_eq!((ends.passages(), halfway.passages(), halfway.round_trips()), (4, 2, 0));
        assert!(Walks::of(&runs(&[back])[..1]).is_none());
        // Beside a titration that goes farther, whose walkers stay, those of this one have their ends all the same.
        let mut farther = runs(&[back, back, back]);
        for run in &mut farther {
            run.ph += 1.0;
            run.folder = format!("b/pH_{:.2}/replica_1", run.ph).into();
        }
        farther.extend(runs(&[back, [4, 2, 3, 1], back]));
        let both = Walks::of(&farther).unwrap();
        assert_eq!((both.round_trips(), both.passages(), both.round_trips_about([4.0].into_iter())), (2, 4, 2));
    }
}
