//! How often the walkers of a replica exchange went to and fro between acidic and basic pH values.
//!
//! A round trip is a passage from one side to the other and back. For all sites together the sides are the lowest and the highest pH. What a
//! site has to learn from a walker is what the walker is like where the site has its proton and where it has not: its own sides are the pH values at least
//! [`BESIDE`] below its lowest and above its highest pKa, or the last ones that there are. Titrations that are evaluated together may have other pH values:
//! a walker goes between those of its own. The pH values are those that there were at the time: one that `titrate.until` adds beyond the others is an end from
//! then on, and what walkers did between the ends of before stays a passage.

use crate::evaluation::runs::Run;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// pH units from a pKa at which ten of eleven groups have one form.
const BESIDE: f64 = 1.0;

/// Which walker was at which pH when.
#[derive(Debug, Clone, Default)]
pub(super) struct Walks {
    /// Time (ps), number of the ladder, walker, pH; in the order of time.
    visits: Vec<(f64, usize, u32, f64)>,
    /// The pH values of each ladder, rising, each with the time (ps) from which it was there, however much of it the evaluation leaves out.
    ladders: Vec<Vec<(f64, f64)>>,
}

impl Walks {
    /// Of all lines of λ; none where no run has walkers, or all have one pH.
    pub fn of(runs: &[Run]) -> Option<Self> {
        // Replicas are ladders of their own, and one may have a pH earlier than another.
        let mut numbers: BTreeMap<(&Path, Option<&OsStr>), usize> = BTreeMap::new();
        let (mut visits, mut ladders) = (Vec::new(), Vec::<Vec<(f64, f64)>>::new());
        for run in runs {
            let next = numbers.len();
            let ladder = *numbers.entry((run.titration(), run.folder.file_name())).or_insert(next);
            ladders.resize_with(numbers.len(), Vec::new);
            ladders[ladder].push((run.ph, run.start()));
            let lines = run.series.time.iter().zip(&run.series.walker);
            visits.extend(lines.map(|(time, walker)| (*time, ladder, *walker, run.ph)));
        }
        for ladder in &mut ladders {
            ladder.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            ladder.dedup_by_key(|(ph, _)| *ph); // what is left is the first of its runs
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
        let sides = |ladder: &[(f64, f64)], now: f64| {
            let mut there = ladder.iter().filter(|(_, begin)| *begin <= now).map(|(ph, _)| *ph);
            let low = lowest.and_then(|pka| there.clone().rfind(|ph| *ph <= pka - BESIDE));
            let high = highest.and_then(|pka| there.clone().find(|ph| *ph >= pka + BESIDE));
            [low.or(there.clone().next()), high.or(there.next_back())]
        };
        let mut seen: BTreeMap<(usize, u32), (bool, usize)> = BTreeMap::new();
        for &(time, ladder, walker, ph) in &self.visits {
            let [Some(low), Some(high)] = sides(&self.ladders[ladder], time) else { continue };
            if low == high || ph > low && ph < high {
                continue;
            }
            let end = ph >= high;
            let (last, passages) = seen.entry((ladder, walker)).or_insert((end, 0));
            *passages += usize::from(*last != end);
            *last = end;
        }
        seen.into_values().map(|(_, passages)| passages).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::begun::Begun;
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

    /// Walkers 2 and 3 swap between pH 3 and 5. That the evaluation leaves out the first half of the run at pH 2, where walker 1 stays, makes pH 3 no end.
    #[test]
    fn a_ph_whose_start_is_left_out_was_there() {
        let (there, back) = ([1, 3, 2, 4], [1, 2, 3, 4]);
        let mut stayed = runs(&[back, there, back, there, back]);
        let counts = |runs: &[Run]| Walks::of(runs).unwrap().round_trips_about([2.5].into_iter());
        assert_eq!(counts(&stayed), 0);
        stayed[0].series = stayed[0].series.after(2.5);
        assert_eq!(stayed[0].series.time, [3.0, 4.0]);
        assert_eq!(counts(&stayed), 0);
    }

    /// Walkers 1 and 4 make a round trip between pH 2 and 7. Then pH 1 is added with walker 5, and walker 1 goes there.
    #[test]
    fn a_ph_that_is_added_beyond_the_others_takes_no_round_trip_away() {
        let (there, back) = ([4, 2, 3, 1], [1, 2, 3, 4]);
        let added = |time: [f64; 2], walker: [u32; 2]| Run {
            folder: "a/pH_1.00/replica_1".into(),
            ph: 1.0,
            begun: Some(Begun { time: time[0], ..Begun::default() }),
            series: LambdaSeries { time: time.into(), walker: walker.into(), ..LambdaSeries::default() },
            ..Run::default()
        };
        let mut went = runs(&[back, there, back, back, [5, 2, 3, 4]]);
        went.push(added([3.0, 4.0], [5, 1]));
        let walks = Walks::of(&went).unwrap();
        assert_eq!((walks.round_trips(), walks.passages()), (2, 4));
        // From then on pH 2 is no end: walker 5, which goes from pH 1 to 2 and to 7, has passed once, and walker 4, from pH 7 to 2, not at all.
        let mut went = runs(&[back, back, [5, 2, 3, 4], [4, 2, 3, 5]]);
        went.push(added([1.0, 2.0], [5, 1]));
        let walks = Walks::of(&went).unwrap();
        assert_eq!((walks.round_trips(), walks.passages()), (0, 1));
    }
}
