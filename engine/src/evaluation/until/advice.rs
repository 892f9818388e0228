//! Which pH values tell nothing of the sites that are asked for.
//!
//! A frame at a pH tells of a pKa as p (1 − p), p the share of the deprotonated: a quarter at the pKa, less than a tenth of that from 1.6 pH units on.

use crate::evaluation::pka::SiteResult;

/// Share of the most that a frame can tell, below which it tells nothing.
const NOTHING: f64 = 0.1;

/// Sentences about pH values.
pub(super) fn of(sites: &[&SiteResult], ph: &[f64]) -> Vec<String> {
    let told = |place: usize| {
        let of = |site: &&SiteResult| site.titration.points.iter().find(|point| point.ph == ph[place])?.deprotonated;
        sites.iter().filter_map(of).map(|p| 4.0 * p * (1.0 - p)).fold(0.0, f64::max)
    };
    (0..ph.len())
        .filter(|&place| !sites.is_empty() && told(place) < NOTHING)
        .map(|place| format!("pH {} tells next to nothing of the sites asked for", ph[place]))
        .collect()
}
