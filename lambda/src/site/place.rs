//! Chain and number of a residue, as a PDB entry and tables of measured values have them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::SiteError;

/// Where a residue stands in the entry that a system was made of: `A 35`, `H 100A`, or `35` where chains have no names.
///
/// A system numbers its molecules and may number its residues anew, so that neither leads back to the entry by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResiduePlace {
    /// Name of the chain, if it has one.
    pub chain: Option<String>,
    /// Number of the residue.
    pub number: i32,
    /// Letter behind the number, as the A of 27A.
    pub insertion: Option<char>,
}

/// `27`, `-3` or `27A`; `None` if it is no number of a residue.
pub fn residue_number(text: &str) -> Option<(i32, Option<char>)> {
    let insertion = text.chars().last().filter(char::is_ascii_alphabetic);
    let digits = insertion.map_or(text, |letter| &text[..text.len() - letter.len_utf8()]);
    Some((digits.trim().parse().ok()?, insertion))
}

impl FromStr for ResiduePlace {
    type Err = SiteError;

    fn from_str(text: &str) -> Result<Self, SiteError> {
        let (chain, number) = match text.split_whitespace().collect::<Vec<_>>()[..] {
            [number] => (None, number),
            [chain, number] => (Some(chain.to_string()), number),
            _ => return Err(SiteError::BadPlace(text.to_string())),
        };
        let (number, insertion) = residue_number(number).ok_or_else(|| SiteError::BadPlace(text.to_string()))?;
        Ok(Self { chain, number, insertion })
    }
}

impl TryFrom<String> for ResiduePlace {
    type Error = SiteError;

    fn try_from(text: String) -> Result<Self, SiteError> {
        text.parse()
    }
}

impl From<ResiduePlace> for String {
    fn from(place: ResiduePlace) -> Self {
        place.to_string()
    }
}

impl fmt::Display for ResiduePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chain.as_ref().map_or(Ok(()), |chain| write!(f, "{chain} "))?;
        write!(f, "{}", self.number)?;
        self.insertion.map_or(Ok(()), |letter| write!(f, "{letter}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        let read = |text: &str| text.parse::<ResiduePlace>();
        for text in ["A 35", "H 100A", "35", "AA -3", "2 7"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(
            read(" H  100A ").unwrap(),
            ResiduePlace { chain: Some("H".into()), number: 100, insertion: Some('A') }
        );
        for text in ["", "A", "A 35 B", "GLU A 35", "A B", "A 3.5"] {
            assert_eq!(read(text), Err(SiteError::BadPlace(text.into())), "{text:?}");
        }
    }
}
