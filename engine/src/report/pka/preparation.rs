//! The record of a preparation, `prepare.md`, as a part of a page: headings, lists, tables and paragraphs, all that such a record holds.

use crate::report::page::escape;
use std::fmt::Write;

/// The record as HTML: its first heading is left to the page, others are one level deeper.
pub(super) fn html(record: &str) -> String {
    let mut html = String::new();
    let mut lines = record.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            let _ = write!(html, "<h3>{}</h3>", inline(heading));
        } else if line.starts_with("# ") || line.trim().is_empty() {
        } else if let Some(item) = line.strip_prefix("- ") {
            let mut items = format!("<li>{}</li>", inline(item));
            while let Some(item) = lines.peek().and_then(|line| line.strip_prefix("- ")) {
                let _ = write!(items, "<li>{}</li>", inline(item));
                lines.next();
            }
            let _ = write!(html, "<ul>{items}</ul>");
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(line) = lines.peek().filter(|line| line.starts_with('|')) {
                rows.push(cells(line));
                lines.next();
            }
            html += &table(&rows);
        } else {
            let _ = write!(html, "<p>{}</p>", inline(line));
        }
    }
    html
}

/// Cells of a row of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// A table; its second row separates the head.
fn table(rows: &[Vec<&str>]) -> String {
    let row = |tag: &str, row: &Vec<&str>| -> String {
        let cells: String = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", inline(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let body: String = rows.iter().skip(2).map(|cells| row("td", cells)).collect();
    let head = rows
        .first()
        .map_or(String::new(), |cells| row("th scope=\"col\"", cells).replace("</th scope=\"col\">", "</th>"));
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Table of the preparation\" tabindex=\"0\"><table class=\"words\"><thead>{head}</thead><tbody>{body}</tbody></table></div>"
    )
}

/// A line with `code` between backquotes.
fn inline(text: &str) -> String {
    let part =
        |(k, part): (usize, &str)| if k % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) };
    text.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_headings_lists_tables_and_paragraphs() {
        let record = "# Preparation of a.pdb\n\n`a<b>.pdb` with ff14sb <1>\n\n## Sites\n\n- one\n- two\n\n| group | pKa |\n|---|---|\n| GLU 2 | 4.25 |\n";
        let html = html(record);
        assert!(
            html.starts_with(
                "<p><code>a&lt;b&gt;.pdb</code> with ff14sb &lt;1&gt;</p><h3>Sites</h3><ul><li>one</li><li>two</li></ul>"
            ),
            "{html}"
        );
        assert!(
            html.contains("<th scope=\"col\">group</th>") && html.contains("<td>4.25</td>") && !html.contains("---")
        );
        assert!(!html.contains("Preparation of"));
    }
}
