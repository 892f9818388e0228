//! Which pH values tell nothing of the sites that are asked for, and which one would.
//!
//! A frame at a pH tells of a pKa as p (1 − p), p the share of the deprotonated: a quarter at the pKa, less than a tenth of that from 1.6 pH units on.

use super::SiteCheck;
use crate::evaluation::pka::{HillFit, SiteResult};

/// Share of the most that a frame can tell, below which it tells nothing.
const NOTHING: f64 = 0.1;
/// pH values farther apart than this want one between them (pH units), where a pKa is.
const WIDE: f64 = 1.0;
/// Distance of a pKa from the next pH from which on one nearer to it is worth a run (pH units).
const FAR: f64 = 0.4;
/// Steps of the pH values that are recommended.
const GRID: f64 = 0.25;

/// Sentences about pH values; `checks` are those of `sites`.
pub(super) fn of(sites: &[&SiteResult], checks: &[SiteCheck], ph: &[f64]) -> Vec<String> {
    let told = |place: usize| {
        let of = |site: &&SiteResult| site.titration.points.iter().find(|point| point.ph == ph[place])?.deprotonated;
        sites.iter().filter_map(of).map(|p| 4.0 * p * (1.0 - p)).fold(0.0, f64::max)
    };
    // The ends of a ladder say that a site is there at all: those between are worth a word.
    let mut sentences: Vec<String> = (0..ph.len())
        .filter(|&place| !sites.is_empty() && told(place) < NOTHING)
        .map(|place| format!("pH {} tells next to nothing of the sites asked for", ph[place]))
        .collect();
    let mut added: Vec<f64> = Vec::new();
    for (site, check) in sites.iter().zip(checks).filter(|(_, check)| !check.reasons.is_empty()) {
        for pka in site.titration.macroscopic.iter().filter_map(|step| HillFit::of(step).pka.value()) {
            let Some((new, words)) = between(pka, ph).filter(|(new, _)| !added.contains(new)) else { continue };
            added.push(new);
            sentences.push(format!("add pH {new}: the pKa {pka:.1} of {} lies {words}", check.site));
        }
    }
    sentences
}

/// A pH near a pKa that has none, with the words where it lies.
fn between(pka: f64, ph: &[f64]) -> Option<(f64, String)> {
    let new = (pka / GRID).round() * GRID;
    let nearest = ph.iter().map(|ph| (ph - pka).abs()).fold(f64::INFINITY, f64::min);
    if nearest < FAR || ph.iter().any(|ph| (ph - new).abs() < 0.5 * GRID) {
        return None;
    }
    let (low, high) = (*ph.first()?, *ph.last()?);
    if pka < low {
        return Some((new, format!("below {low}, the lowest")));
    }
    if pka > high {
        return Some((new, format!("above {high}, the highest")));
    }
    let [below, above] = ph.windows(2).find(|pair| pka < pair[1]).map(|pair| [pair[0], pair[1]])?;
    (above - below > WIDE).then(|| (new, format!("between {below} and {above}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ph_is_wanted_where_a_pka_has_none() {
        let ph = [3.0, 4.0, 6.0, 7.0];
        assert_eq!(between(4.6, &ph), Some((4.5, "between 4 and 6".into())));
        assert_eq!(between(2.1, &ph), Some((2.0, "below 3, the lowest".into())));
        assert_eq!(between(7.6, &ph), Some((7.5, "above 7, the highest".into())));
        // Near to one, or between two that are near to each other.
        assert_eq!((between(4.3, &ph), between(3.5, &ph), between(5.9, &ph)), (None, None, None));
    }
}
