//! `energy.csv` as it is read again.

use crate::error::{Error, InputError, Result};
use std::path::Path;

/// An `energy.csv` in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EnergySeries {
    /// Times (ps).
    pub time: Vec<f64>,
    /// Names of the other columns, with their units: `temperature (K)`.
    pub names: Vec<String>,
    /// Values: `[column][time]`.
    pub values: Vec<Vec<f64>>,
}

impl EnergySeries {
    /// Reads an `energy.csv`. What follows the last end of a line is left out: the run may go on. Of one that has just begun there is nothing yet.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, [`Error::Input`] with the line that is not as this program writes it.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read", e))?;
        let wrong = |line: usize, what: String| -> Error {
            let help = "valid is an energy.csv as octitrate writes it";
            InputError::new(format!("line {line}: {what}"), help).in_file(path).into()
        };
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        if whole.is_empty() {
            return Ok(Self::default());
        }
        let mut lines = whole.lines();
        let mut heads = lines.next().unwrap_or_default().split(',');
        if heads.next() != Some("time (ps)") {
            return Err(wrong(1, "the header has other columns".into()));
        }
        let names: Vec<String> = heads.map(str::to_string).collect();
        let mut series = Self { time: Vec::new(), values: vec![Vec::new(); names.len()], names };
        for (index, line) in lines.enumerate() {
            let mut cells = line.split(',');
            let mut count = 0;
            for column in std::iter::once(&mut series.time).chain(&mut series.values) {
                let Some(cell) = cells.next() else { break };
                column.push(
                    cell.parse().map_err(|_| wrong(index + 2, format!("found \"{cell}\" where a number belongs")))?,
                );
                count += 1;
            }
            if count < series.names.len() + 1 || cells.next().is_some() {
                return Err(wrong(index + 2, "the line has another number of columns".into()));
            }
        }
        Ok(series)
    }

    /// The column of this name, without its unit.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let is = |title: &String| title == name || title.strip_prefix(name).is_some_and(|rest| rest.starts_with(" ("));
        self.names.iter().position(is).map(|index| self.values[index].as_slice())
    }

    /// The unit of a column, empty if it has none.
    pub fn unit(&self, name: &str) -> &str {
        let unit = |title: &'_ String| -> Option<(usize, usize)> {
            let start = title.strip_prefix(name)?.strip_prefix(" (").map(|_| name.len() + 2)?;
            Some((start, title.len() - 1))
        };
        let found = self.names.iter().find_map(|title| unit(title).map(|(start, end)| &title[start..end]));
        found.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_a_line_in_the_making_is_left_out() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("energy.csv");
        std::fs::write(&path, "time (ps),temperature (K),λ temperature (K),x\n0,300.5,10,1\n1,301,20,2\n2,30").unwrap();
        let series = EnergySeries::read(&path).unwrap();
        assert_eq!((series.time.clone(), series.column("temperature")), (vec![0.0, 1.0], Some(&[300.5, 301.0][..])));
        assert_eq!((series.column("λ temperature"), series.column("pressure")), (Some(&[10.0, 20.0][..]), None));
        assert_eq!((series.unit("temperature"), series.unit("x"), series.unit("λ temperature")), ("K", "", "K"));
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            EnergySeries::read(&path).unwrap_err().to_string()
        };
        assert!(refused("time (ps),a\n0,1\n1\n").contains("line 3: the line has another number"));
        assert!(refused("time (ps),a\n0,1,2\n").contains("line 2: the line has another number"));
        assert!(refused("time (ps),a\n0,x\n").contains("line 2: found \"x\""));
        assert!(refused("a,b\n0,1\n").contains("line 1: the header"));
        for begun in ["", "time (ps),temp"] {
            std::fs::write(&path, begun).unwrap();
            assert_eq!(EnergySeries::read(&path).unwrap(), EnergySeries::default());
        }
    }
}
