//! Tables as text, for the terminal and the log.

use std::fmt::Write;

/// A table for people: the first column to the left, the others to the right.
pub(super) fn aligned(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = vec![columns.iter().map(|head| head.to_string()).collect()];
    table.extend(rows);
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for row in &table {
        let _ = write!(text, "{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}
