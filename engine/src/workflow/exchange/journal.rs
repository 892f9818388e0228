//! `exchange.csv` when slots have been added: the lines of before get empty cells for them.

use crate::error::{Error, InputError, Result};
use std::path::Path;

/// The first `length` bytes of the journal at `path` with columns for all `slots`.
///
/// # Errors
/// [`Error::File`] if it cannot be read, [`Error::Input`] if a column is not among the slots.
pub fn widened(path: &Path, length: u64, slots: &[String]) -> Result<String> {
    let mut bytes = std::fs::read(path).map_err(|e| Error::file(path, "read", e))?;
    bytes.truncate(length as usize);
    if bytes.is_empty() {
        // It was emptied, and its next line has the head before it.
        return Ok(String::new());
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |slot: &String| header.iter().position(|name| name == slot);
    let columns: Vec<Option<usize>> = slots.iter().map(column).collect();
    if columns.iter().flatten().count() + 1 != header.len() {
        return Err(InputError::new("it has columns that are none of the runs of the job", "").in_file(path).into());
    }
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let of = |column: &Option<usize>| column.and_then(|column| cells.get(column).copied()).unwrap_or_default();
        let all: Vec<&str> = std::iter::once(cells[0]).chain(columns.iter().map(of)).collect();
        all.join(",") + "\n"
    };
    let head = format!("{},{}\n", header[0], slots.join(","));
    Ok(head + &lines.map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_before_have_empty_cells() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("exchange.csv");
        let text = "time (ps),a,c\n0,1,2\n1,2,1\n";
        std::fs::write(&path, format!("{text}2,1,")).unwrap();
        let slots = ["0", "a", "b", "c"].map(str::to_string);
        let wide = widened(&path, text.len() as u64, &slots).unwrap();
        assert_eq!(wide, "time (ps),0,a,b,c\n0,,1,,2\n1,,2,,1\n");
        assert!(widened(&path, text.len() as u64, &slots[..2]).is_err());
        assert_eq!(widened(&path, 0, &slots).unwrap(), "");
    }
}
