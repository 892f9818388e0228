//! Which measured value belongs to which site.

use crate::error::InputError;
use crate::evaluation::measured::{Group, Measured, Place};
use crate::evaluation::pka::Evaluation;
use lambda::site::{ResiduePlace, SiteRequest};

/// The measured value of every site, if it has one.
///
/// # Errors
/// Two values that belong to one site.
pub(super) fn of_sites<'a>(
    evaluation: &Evaluation,
    measured: &'a [Measured],
) -> Result<Vec<Option<&'a Measured>>, Box<InputError>> {
    evaluation.sites.iter().map(|site| of_site(&site.record.name, site.record.place.as_ref(), measured)).collect()
}

fn of_site<'a>(
    name: &str,
    place: Option<&ResiduePlace>,
    measured: &'a [Measured],
) -> Result<Option<&'a Measured>, Box<InputError>> {
    // A name that is none of a residue belongs to no measured value.
    let Ok(site) = name.parse::<SiteRequest>() else { return Ok(None) };
    let fits = |one: &&Measured| {
        let is_there = place.map_or_else(|| is_in_molecule(&site, &one.place), |place| is_at(place, &one.place));
        is_there && Group::of(&site) == one.place.group
    };
    let fitting: Vec<&Measured> = measured.iter().filter(fits).collect();
    match fitting[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        [first, second, ..] => {
            let (first, second) = (first.line, second.line);
            let message = format!("two measured values belong to {name}, those of lines {first} and {second}");
            Err(InputError::new(
                message,
                "leave one of them out; chains are told apart by `place` of a site in the job, or by the number of the molecule in its name, A being 1",
            )
            .into())
        }
    }
}

/// Whether a measured value is that of the place which the job gives a site; a place without a chain, and a value without one, fit any.
fn is_at(site: &ResiduePlace, measured: &Place) -> bool {
    let chain = site.chain.as_ref().zip(measured.chain.as_ref()).is_none_or(|(a, b)| a == b);
    chain && (site.number, site.insertion) == (measured.number, measured.insertion)
}

/// Whether a measured value is that of the number in the name of a site, the first molecule being chain A; a name without a molecule, and a value without a
/// chain, fit any.
fn is_in_molecule(site: &SiteRequest, measured: &Place) -> bool {
    let chain = match (site.molecule, measured.chain.as_deref().and_then(ordinal)) {
        (Some(molecule), Some(chain)) => molecule == chain,
        _ => true,
    };
    chain && (site.number, site.insertion) == (measured.number, measured.insertion)
}

/// Number of a chain: A is 1, B is 2, and numbers are themselves; nothing for names of more letters.
fn ordinal(chain: &str) -> Option<u32> {
    let mut letters = chain.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => {
            Some(u32::from(letter.to_ascii_uppercase()) - u32::from('A') + 1)
        }
        _ => chain.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::measured::Constant;

    fn measured(rows: &[(&str, Option<&str>, i32)]) -> Vec<Measured> {
        let one = |(k, (name, chain, number)): (usize, &(&str, Option<&str>, i32))| Measured {
            line: k as u64 + 2,
            place: Place {
                group: Group::named(name).unwrap(),
                chain: chain.map(str::to_string),
                number: *number,
                insertion: None,
            },
            constant: Constant::Value { value: 4.0, error: None },
        };
        rows.iter().enumerate().map(one).collect()
    }

    #[test]
    fn residue_number_and_chain_decide() {
        let values = measured(&[
            ("GLU", Some("A"), 5),
            ("GLU", Some("B"), 5),
            ("ASP", None, 5),
            ("C-term", Some("A"), 56),
            ("GLU", Some("A"), 56),
        ]);
        let line = |name: &str| of_site(name, None, &values).unwrap().map(|one| one.line);
        assert_eq!((line("1:GL3 5"), line("2:GLH 5"), line("3:GLU 5")), (Some(2), Some(3), None));
        assert_eq!((line("1:AS3 5"), line("AS3 5"), line("AS3 5A"), line("AS3 6")), (Some(4), Some(4), None, None));
        assert_eq!(
            (line("cterm ZGL3 56"), line("glu3 ZGL3 56"), line("ZGL3 56"), line("nterm ZGL3 56")),
            (Some(5), Some(6), Some(6), None)
        );
        let error = of_site("GL3 5", None, &values).unwrap_err();
        assert!(error.message.contains("belong to GL3 5, those of lines 2 and 3"), "{}", error.message);
        assert_eq!(line("something"), None);
    }

    /// A chain in two pieces is two molecules, chains need not be called A and B, and residues may be numbered anew.
    #[test]
    fn the_place_of_a_site_decides_where_there_is_one() {
        let values = measured(&[("GLU", Some("A"), 5), ("GLU", Some("B"), 5), ("GLU", Some("C"), 9)]);
        let line = |name: &str, place: &str| {
            of_site(name, Some(&place.parse().unwrap()), &values).unwrap().map(|one| one.line)
        };
        assert_eq!((line("2:GL3 5", "A 5"), line("3:GL3 5", "B 5")), (Some(2), Some(3)));
        assert_eq!(
            (line("GL3 5", "C 9"), line("GL3 5", "9"), line("GL3 5", "c 9"), line("AS3 5", "C 9")),
            (Some(4), Some(4), None, None)
        );
    }
}
