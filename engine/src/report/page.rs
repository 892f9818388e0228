//! One HTML page that stands alone, with its plots inside: `report.html`, `exchange.html`.

use std::fmt::Write;

/// The text with the characters of HTML markup made harmless.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page that grows from top to bottom.
#[derive(Debug, Default)]
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// A page with a title and a line below it.
    pub fn new(title: &str, subtitle: &str) -> Page {
        let body = format!("<header><h1>{}</h1><p>{}</p></header>\n", escape(title), escape(subtitle));
        Page { title: title.to_string(), body }
    }

    /// Shows results in large type: name, value, and a remark below.
    pub fn headline(&mut self, results: &[[String; 3]]) {
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

    /// Shows a plot with a heading and a caption.
    pub fn figure(&mut self, heading: &str, svg: &str, caption: &str) {
        let (heading, caption) = (escape(heading), escape(caption));
        let _ = writeln!(
            self.body,
            "<section><h2>{heading}</h2><figure>{svg}<figcaption>{caption}</figcaption></figure></section>"
        );
    }

    /// Shows a table; the first column is aligned as text, the others as numbers.
    pub fn table(&mut self, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
        let cells = |tag: &str, cells: Vec<String>| -> String {
            cells.iter().map(|cell| format!("<{tag}>{cell}</{tag}>")).collect()
        };
        let head = cells("th", columns.iter().map(|column| escape(column)).collect());
        let _ = write!(
            self.body,
            "<section><h2>{}</h2><div class=\"scroll\"><table><thead><tr>{head}</tr></thead><tbody>",
            escape(heading)
        );
        for row in rows {
            let _ = write!(self.body, "<tr>{}</tr>", cells("td", row.iter().map(|cell| escape(cell)).collect()));
        }
        self.body.push_str("</tbody></table></div></section>\n");
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
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{STYLE}</style>\n</head>\n\
             <body>\n<main>\n{}<footer>octitrate {version}</footer>\n</main>\n</body>\n</html>\n",
            escape(&self.title),
            self.body
        )
    }
}

const STYLE: &str = "
:root { --ink: #2d343c; --faint: #667280; --line: #dfe4e9; --blue: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: var(--ink); font: 16px/1.55 system-ui, Helvetica, Arial, sans-serif; }
main { max-width: 820px; margin: 0 auto; padding: 40px 20px 60px; }
header h1 { margin: 0 0 4px; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; }
header p { margin: 0 0 24px; color: var(--faint); }
section { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px; margin: 0 0 18px; }
h2 { font-size: 17px; margin: 0 0 12px; }
.headline { display: flex; flex-wrap: wrap; gap: 12px 48px; }
.headline h2 { margin: 0; color: var(--faint); font-weight: 500; font-size: 15px; }
.headline strong { display: block; font-size: 32px; line-height: 1.25; color: var(--blue); font-variant-numeric: tabular-nums; }
.headline span { color: var(--faint); font-size: 14px; }
.warnings { background: #fff8e8; border-color: #ecd28f; }
.warnings ul { margin: 0; padding-left: 20px; }
.warnings li + li { margin-top: 6px; }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { color: var(--faint); font-size: 14px; margin-top: 8px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--faint); border-bottom: 1px solid var(--line); padding: 4px 10px; }
td { text-align: right; padding: 4px 10px; border-bottom: 1px solid #eef1f4; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tbody tr:last-child td { border-bottom: 0; }
summary { cursor: pointer; font-weight: 600; }
pre { overflow-x: auto; font-size: 13px; line-height: 1.45; margin: 12px 0 0; }
footer { color: var(--faint); font-size: 13px; text-align: center; margin-top: 28px; }
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
        let html = page.html();
        assert!(html.contains("&lt;b&gt;") && html.contains("x &lt; y") && !html.contains("<i>"));
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    }
}
