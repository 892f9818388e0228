//! Which measured value belongs to which site.

use crate::error::InputError;
use crate::evaluation::measured::{Group, Measured, Place};
use crate::evaluation::pka::Evaluation;
use lambda::site::SiteRequest;

/// The measured value of every site, if it has one.
///
/// # Errors
/// Two values that belong to one site.
pub(super) fn of_sites<'a>(
    evaluation: &Evaluation,
    measured: &'a [Measured],
) -> Result<Vec<Option<&'a Measured>>, Box<InputError>> {
    let names = evaluation.sites.iter().map(|site| site.record.name.as_str());
    names.map(|name| of_site(name, measured)).collect()
}

fn of_site<'a>(name: &str, measured: &'a [Measured]) -> Result<Option<&'a Measured>, Box<InputError>> {
    // A name that is none of a residue belongs to no measured value.
    let Ok(site) = name.parse::<SiteRequest>() else { return Ok(None) };
    let fitting: Vec<&Measured> = measured.iter().filter(|one| fits(&site, &one.place)).collect();
    match fitting[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        [first, second, ..] => {
            let (first, second) = (first.line, second.line);
            let message = format!("two measured values belong to {name}, those of lines {first} and {second}");
            Err(InputError::new(
                message,
                "leave one of them out; chains are told apart by the number of the molecule in the name of a site, A being 1",
            )
            .into())
        }
    }
}

fn fits(site: &SiteRequest, place: &Place) -> bool {
    let chain = match (site.molecule, place.chain.as_deref().and_then(ordinal)) {
        (Some(molecule), Some(chain)) => molecule == chain,
        _ => true,
    };
    chain && (site.number, site.insertion) == (place.number, place.insertion) && Group::of(site) == place.group
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
        let line = |name: &str| of_site(name, &values).unwrap().map(|one| one.line);
        assert_eq!((line("1:GL3 5"), line("2:GLH 5"), line("3:GLU 5")), (Some(2), Some(3), None));
        assert_eq!((line("1:AS3 5"), line("AS3 5"), line("AS3 5A"), line("AS3 6")), (Some(4), Some(4), None, None));
        assert_eq!(
            (line("cterm ZGL3 56"), line("glu3 ZGL3 56"), line("ZGL3 56"), line("nterm ZGL3 56")),
            (Some(5), Some(6), Some(6), None)
        );
        let error = of_site("GL3 5", &values).unwrap_err();
        assert!(error.message.contains("belong to GL3 5, those of lines 2 and 3"), "{}", error.message);
        assert_eq!(line("something"), None);
    }
}
