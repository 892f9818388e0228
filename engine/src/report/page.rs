//! One HTML page that stands alone, with its plots inside: `report.html`, `exchange.html`.
//!
//! It fits a phone as well as a wide screen, on light and on dark ground: the page itself never scrolls sideways, tables do, in boxes of their
//! own with a shadow at the side where they go on.

use super::plot::{Figure, sheet};
use std::fmt::Write;

/// The text with the characters of HTML markup made harmless.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Rows of a table of details that is shown; a longer one is folded until it is clicked.
const ROWS: usize = 40;

/// A page that grows from top to bottom.
#[derive(Debug, Default)]
pub struct Page {
    title: String,
    body: String,
    figures: usize,
}

impl Page {
    /// A page with a title and a line below it.
    pub fn new(title: &str, subtitle: &str) -> Page {
        let body = format!("<header><h1>{}</h1><p>{}</p></header>\n", escape(title), escape(subtitle));
        Page { title: title.to_string(), body, figures: 0 }
    }

    /// Links to a file in the same folder.
    pub fn link(&mut self, file: &str, words: &str) {
        let _ = writeln!(self.body, "<nav><a href=\"{}\">{}</a></nav>", escape(file), escape(words));
    }

    /// Shows results in large type: name, value, and a remark below.
    pub fn headline(&mut self, results: &[[String; 3]]) {
        if results.is_empty() {
            return;
        }
        self.body.push_str("<section class=\"headline\">");
        for [name, value, remark] in results {
            let (name, value, remark) = (escape(name), escape(value), escape(remark));
            let _ = write!(self.body, "<div><h2>{name}</h2><strong>{value}</strong><span>{remark}</span></div>");
        }
        self.body.push_str("</section>\n");
    }

    /// Lists what the reader should know before trusting the numbers; nothing if the list is empty.
    pub fn warnings(&mut self, warnings: &[String]) {
        if warnings.is_empty() {
            return;
        }
        self.body.push_str("<section class=\"warnings\"><h2>Before you trust this</h2><ul>");
        for warning in warnings {
            let _ = write!(self.body, "<li>{}</li>", escape(warning));
        }
        self.body.push_str("</ul></section>\n");
    }

    /// Shows a figure with a heading and a caption.
    pub fn figure(&mut self, heading: &str, figure: &Figure, caption: &str) {
        let (heading, figure) = (escape(heading), self.captioned(figure, caption));
        let _ = writeln!(self.body, "<section><h2>{heading}</h2>{figure}</section>");
    }

    /// Adds a figure with a caption that is folded until it is clicked.
    pub fn folded_figure(&mut self, heading: &str, figure: &Figure, caption: &str) {
        let (heading, figure) = (escape(heading), self.captioned(figure, caption));
        let _ = writeln!(self.body, "<section><details><summary>{heading}</summary>{figure}</details></section>");
    }

    fn captioned(&mut self, figure: &Figure, caption: &str) -> String {
        self.figures += 1;
        let drawn = figure.html(&format!("figure-{}", self.figures));
        format!("<figure>{drawn}<figcaption>{}</figcaption></figure>", escape(caption))
    }

    /// Says under a heading why there is nothing to show.
    pub fn missing(&mut self, heading: &str, why: &str) {
        let _ = writeln!(
            self.body,
            "<section><h2>{}</h2><p class=\"missing\">{}</p></section>",
            escape(heading),
            escape(why)
        );
    }

    /// Shows a table; the first column is aligned as text and stays in sight, the others are aligned as numbers.
    pub fn table(&mut self, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
        let table = table(heading, columns, rows);
        let _ = writeln!(self.body, "<section><h2>{}</h2>{table}</section>", escape(heading));
    }

    /// Adds a table of details, which is folded until it is clicked if it has many rows.
    pub fn long_table(&mut self, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
        if rows.len() <= ROWS {
            return self.table(heading, columns, rows);
        }
        let (table, heading) = (table(heading, columns, rows), escape(heading));
        let summary = format!("<summary>{heading}: {} rows</summary>", rows.len());
        let _ = writeln!(self.body, "<section><details>{summary}{table}</details></section>");
    }

    /// Adds a long text that is folded until it is clicked.
    pub fn details(&mut self, heading: &str, text: &str) {
        let (heading, text) = (escape(heading), escape(text));
        let _ =
            writeln!(self.body, "<section><details><summary>{heading}</summary><pre>{text}</pre></details></section>");
    }

    /// The page as HTML.
    pub fn html(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<style>{STYLE}{}</style>\n</head>\n\
             <body>\n<main>\n{}<footer>octitrate {version}</footer>\n</main>\n</body>\n</html>\n",
            escape(&self.title),
            sheet(),
            self.body
        )
    }
}

/// A table in a box that scrolls.
fn table(heading: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        let cells: String = cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let head = cells("th", &mut columns.iter().copied());
    let rows: String = rows.iter().map(|row| cells("td", &mut row.iter().map(String::as_str))).collect();
    let heading = escape(heading);
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{heading}\" tabindex=\"0\"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The style sheet. The shadows at the sides of a table are two fixed gradients under two that move with its content (the first column covers
/// the left ones while it stays).
const STYLE: &str = "
:root { --paper: #f4f6f8; --card: #fff; --ink: #2d343c; --faint: #5b6670; --line: #dfe4e9; --strong: #0072b2;
  --warning: #fff8e8; --warning-line: #ecd28f; --shadow: rgba(20, 30, 40, .28); --none: rgba(255, 255, 255, 0); color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #11151a; --card: #1a1f25; --ink: #dce1e6; --faint: #9aa5b0; --line: #343b43; --strong: #56b4e9;
    --warning: #2b2616; --warning-line: #6a5a26; --shadow: rgba(160, 190, 220, .38); --none: rgba(26, 31, 37, 0); }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, \"Segoe UI\", Helvetica, Arial, sans-serif; }
main { max-width: 1122px; margin: 0 auto; padding: 40px 20px 60px; overflow-wrap: anywhere; }
header h1 { margin: 0 0 4px; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; }
header p { margin: 0 0 16px; color: var(--faint); max-width: 75ch; }
nav { margin: 0 0 16px; }
a { color: var(--strong); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px; margin: 0 0 18px; }
h2 { font-size: 17px; margin: 0 0 12px; }
.headline { display: flex; flex-wrap: wrap; gap: 12px 48px; }
.headline h2 { margin: 0; color: var(--faint); font-weight: 500; font-size: 15px; }
.headline strong { display: block; font-size: 32px; line-height: 1.25; color: var(--strong); font-variant-numeric: tabular-nums; }
.headline span { color: var(--faint); font-size: 14px; }
.warnings { background: var(--warning); border-color: var(--warning-line); }
.warnings ul { margin: 0; padding-left: 20px; }
.warnings li + li { margin-top: 6px; }
figure { margin: 0; }
figure svg { display: block; max-width: 100%; height: auto; }
figcaption, .missing { color: var(--faint); font-size: 14px; margin: 10px 0 0; max-width: 90ch; }
details figure { margin-top: 14px; }
.alone { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(0, 336px)); gap: 12px; }
.panels.small { grid-template-columns: repeat(auto-fill, minmax(0, 162px)); }
.wide { margin-bottom: 8px; }
.narrow { display: none; margin-bottom: 8px; }
.scroll { overflow-x: auto; background:
  linear-gradient(to right, var(--card) 40%, var(--none)) left / 40px 100% no-repeat local,
  linear-gradient(to left, var(--card) 40%, var(--none)) right / 40px 100% no-repeat local,
  linear-gradient(to right, var(--shadow), transparent) left / 14px 100% no-repeat scroll,
  linear-gradient(to left, var(--shadow), transparent) right / 14px 100% no-repeat scroll; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th { text-align: right; vertical-align: bottom; font-weight: 600; color: var(--faint); border-bottom: 1px solid var(--line); padding: 4px 10px; }
td { text-align: right; padding: 4px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; position: sticky; left: 0; background: var(--card); }
tbody tr:last-child td { border-bottom: 0; }
summary { cursor: pointer; font-weight: 600; }
details .scroll { margin-top: 12px; }
pre { overflow-x: auto; font-size: 13px; line-height: 1.45; margin: 12px 0 0; overflow-wrap: normal; }
footer { color: var(--faint); font-size: 13px; text-align: center; margin-top: 28px; }
@media (max-width: 780px) { .wide { display: none; } .narrow { display: block; } }
@media (max-width: 480px) {
  main { padding: 24px 10px 40px; }
  section { padding: 14px 14px 16px; }
  header h1 { font-size: 25px; }
  .panels.small { grid-template-columns: repeat(2, minmax(0, 162px)); }
  td:first-child { white-space: normal; min-width: 84px; }
}
@media print { body { background: #fff; } section { break-inside: avoid; } }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_is_harmless() {
        let mut page = Page::new("<b>", "a & b");
        page.warnings(&["x < y".into()]);
        page.table("t", &["a"], &[vec!["<i>".into()]]);
        page.link("a\"b.html", "c > d");
        let html = page.html();
        assert!(html.contains("&lt;b&gt;") && html.contains("x &lt; y") && !html.contains("<i>"));
        assert!(html.contains("href=\"a&quot;b.html\"") && html.contains("c &gt; d"));
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    }

    /// Protects phones: a table scrolls in its own box, and one of hundreds of rows does not bury what follows.
    #[test]
    fn tables_scroll_and_long_ones_are_folded() {
        let table = |rows: usize| {
            let mut page = Page::new("t", "");
            page.long_table("Fractions", &["site", "pH"], &vec![vec!["GLU 2".into(), "4.0".into()]; rows]);
            page.html()
        };
        assert!(table(3).contains("class=\"scroll\"") && !table(3).contains("<details>"));
        assert!(table(300).contains("<summary>Fractions: 300 rows</summary>"));
    }
}
