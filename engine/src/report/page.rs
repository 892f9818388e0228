//! One HTML page that stands alone, with its plots inside: `report.html`, `exchange.html`.
//!
//! It fits a phone as well as a wide screen, on light and on dark ground: the page itself never scrolls sideways, tables do, in boxes of their
//! own with a shadow at the side where they go on. It stands alone: a content security policy in its head lets the browser fetch nothing.

use super::plot::{Figure, sheet};
use std::fmt::Write;

/// Name of the page of a titration, an evaluation or a calibration.
pub const REPORT: &str = "report.html";

/// The text with the characters of HTML markup made harmless.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Rows of a table of details that is shown; a longer one is folded until it is clicked.
const ROWS: usize = 40;

/// More warnings than this are folded until they are clicked.
const WARNINGS: usize = 4;

/// A page that grows from top to bottom.
#[derive(Debug, Default)]
pub struct Page {
    title: String,
    head: String,
    body: String,
    figures: usize,
    /// Identifier of the next section.
    anchor: Option<String>,
    /// Identifiers of sections with the words that lead to them.
    contents: Vec<(String, String)>,
    scripts: String,
}

/// Nothing is fetched, from nowhere; scripts and styles are those inside the page, pictures those that scripts make.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";

impl Page {
    /// A page with a title and a line below it.
    pub fn new(title: &str, subtitle: &str) -> Page {
        let head = format!("<header><h1>{}</h1><p>{}</p></header>\n", escape(title), escape(subtitle));
        Page { title: title.to_string(), head, ..Page::default() }
    }

    /// Links to a file in the same folder.
    pub fn link(&mut self, file: &str, words: &str) {
        let _ = writeln!(self.body, "<p class=\"link\"><a href=\"{}\">{}</a></p>", escape(file), escape(words));
    }

    /// Lets the contents at the top of the page lead to the next section.
    pub fn anchor(&mut self, id: &str, words: &str) {
        self.anchor = Some(id.to_string());
        self.contents.push((id.to_string(), words.to_string()));
    }

    /// The start of a section.
    fn open(&mut self, class: &str) -> String {
        let id = self.anchor.take().map_or(String::new(), |id| format!(" id=\"{}\" tabindex=\"-1\"", escape(&id)));
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        format!("<section{id}{class}>")
    }

    /// Adds a section with a heading; `html` is markup whose texts are escaped.
    pub fn section(&mut self, class: &str, heading: &str, html: &str) {
        let (open, heading) = (self.open(class), escape(heading));
        let _ = writeln!(self.body, "{open}<h2>{heading}</h2>{html}</section>");
    }

    /// Adds a section that is folded until it is clicked; `html` is markup whose texts are escaped.
    pub fn folded(&mut self, summary: &str, html: &str) {
        let (open, summary) = (self.open(""), escape(summary));
        let _ = writeln!(self.body, "{open}<details><summary>{summary}</summary>{html}</details></section>");
    }

    /// Adds a script at the end of the page.
    pub fn script(&mut self, text: &str) {
        let _ = writeln!(self.scripts, "<script>{}</script>", text.replace("</script", "<\\/script"));
    }

    /// Adds JSON that scripts find by this identifier, before them.
    pub fn data(&mut self, id: &str, json: &str) {
        // In JSON this sign stands in texts alone; there nothing can end the element.
        let json = json.replace('<', "\\u003c");
        let _ = writeln!(self.scripts, "<script type=\"application/json\" id=\"{}\">{json}</script>", escape(id));
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
        let list: String = warnings.iter().map(|warning| format!("<li>{}</li>", escape(warning))).collect();
        if warnings.len() <= WARNINGS {
            return self.section("warnings", "Before you trust this", &format!("<ul>{list}</ul>"));
        }
        let more =
            format!("<details><summary>{} remarks on these numbers</summary><ul>{list}</ul></details>", warnings.len());
        self.section("warnings", "Before you trust this", &more);
    }

    /// Shows a figure with a heading and a caption.
    pub fn figure(&mut self, heading: &str, figure: &Figure, caption: &str) {
        let figure = self.captioned(figure, caption);
        self.section("", heading, &figure);
    }

    /// Adds a figure with a caption that is folded until it is clicked.
    pub fn folded_figure(&mut self, heading: &str, figure: &Figure, caption: &str) {
        let figure = self.captioned(figure, caption);
        self.folded(heading, &figure);
    }

    /// A figure with its caption, for a section that holds more.
    pub fn captioned(&mut self, figure: &Figure, caption: &str) -> String {
        self.figures += 1;
        let drawn = figure.html(&format!("figure-{}", self.figures));
        format!("<figure>{drawn}<figcaption>{}</figcaption></figure>", escape(caption))
    }

    /// Says under a heading why there is nothing to show.
    pub fn missing(&mut self, heading: &str, why: &str) {
        self.section("", heading, &format!("<p class=\"missing\">{}</p>", escape(why)));
    }

    /// Shows a table; the first column is aligned as text and stays in sight, the others are aligned as numbers.
    pub fn table(&mut self, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
        self.section("", heading, &table(heading, columns, rows));
    }

    /// Shows a table of words: all columns are aligned as text, and its lines break.
    pub fn words(&mut self, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
        self.section("", heading, &words(heading, columns, rows));
    }

    /// Adds a table of details, which is folded until it is clicked if it has many rows.
    pub fn long_table(&mut self, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
        self.table_up_to(ROWS, heading, columns, rows);
    }

    /// The same with a text before it that says what its columns are; on paper the eleventh column breaks, where the diagnostics have the replicas.
    pub fn explained_table(&mut self, heading: &str, about: &str, columns: &[&str], rows: &[Vec<String>]) {
        let html = format!(
            "<p class=\"lead\">{}</p>{}",
            escape(about),
            of_class(" class=\"replicas\"", heading, columns, rows)
        );
        if rows.len() <= ROWS {
            return self.section("", heading, &html);
        }
        self.folded(&format!("{heading}: {} rows", rows.len()), &html);
    }

    /// The same for a table that is folded if it has more rows than `most`.
    pub fn table_up_to(&mut self, most: usize, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
        if rows.len() <= most {
            return self.table(heading, columns, rows);
        }
        self.folded(&format!("{heading}: {} rows", rows.len()), &table(heading, columns, rows));
    }

    /// Adds a long text that is folded until it is clicked.
    pub fn details(&mut self, heading: &str, text: &str) {
        self.folded(heading, &format!("<pre tabindex=\"0\">{}</pre>", escape(text)));
    }

    /// The page as HTML.
    pub fn html(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let link = |(id, words): &(String, String)| format!("<a href=\"#{}\">{}</a>", escape(id), escape(words));
        let links: String = self.contents.iter().map(link).collect();
        let contents = if links.is_empty() { links } else { format!("<nav aria-label=\"Contents\">{links}</nav>\n") };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<style>{STYLE}{}</style>\n</head>\n\
             <body>\n<main>\n{}{contents}{}<footer>octitrate {version}</footer>\n</main>\n{}</body>\n</html>\n",
            escape(&self.title),
            sheet(),
            self.head,
            self.body,
            self.scripts
        )
    }
}

/// A table of numbers in a box that scrolls; all texts are escaped.
pub fn table(heading: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    of_class("", heading, columns, rows)
}

/// A table of words, whose lines break.
pub fn words(heading: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    of_class(" class=\"words\"", heading, columns, rows)
}

fn of_class(class: &str, heading: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |row: &Vec<String>| -> String {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let head: String = columns.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    let head = format!("<tr>{head}</tr>");
    let rows: String = rows.iter().map(cells).collect();
    let heading = escape(heading);
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{heading}\" tabindex=\"0\"><table{class}><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The style sheet.
const STYLE: &str = include_str!("assets/page.css");

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

    /// Protects readers: what a page shows is in it, and texts cannot leave their place.
    #[test]
    fn nothing_is_fetched_and_data_cannot_end_its_script() {
        let mut page = Page::new("t", "");
        page.anchor("a", "First <part>");
        page.section("", "First", "<p>x</p>");
        page.data("data", "{\"name\": \"</script><b>\"}");
        let html = page.html();
        assert!(
            html.contains("default-src 'none'")
                && html.contains("<nav aria-label=\"Contents\"><a href=\"#a\">First &lt;part&gt;</a>")
        );
        assert!(html.contains("<section id=\"a\" tabindex=\"-1\"><h2>First</h2>"));
        assert_eq!(html.matches("</script>").count(), 1);
        assert!(html.contains("\\u003c/script>\\u003cb>"), "{html}");
    }

    #[test]
    fn many_warnings_are_folded() {
        let warned = |count: usize| {
            let mut page = Page::new("t", "");
            page.warnings(&vec!["run longer".to_string(); count]);
            page.html()
        };
        assert!(
            !warned(4).contains("<details>") && warned(5).contains("<summary>5 remarks on these numbers</summary>")
        );
    }

    /// Reasons and values of settings stood at the right side of one long line.
    #[test]
    fn tables_of_words_say_so() {
        let mut page = Page::new("t", "");
        page.words("Groups", &["group", "reason"], &[vec!["CYS 6".into(), "it holds a disulfide bond".into()]]);
        page.table("Numbers", &["n"], &[]);
        assert_eq!(page.html().matches("<table class=\"words\">").count(), 1);
    }

    /// A table whose columns do not explain themselves has a text before it, folded or not.
    #[test]
    fn a_table_may_be_explained() {
        let explained = |rows: usize| {
            let mut page = Page::new("t", "");
            page.explained_table("Diagnostics", "Mixed: <frames>", &["site"], &vec![vec!["GLU 2".into()]; rows]);
            page.html()
        };
        for rows in [1, 41] {
            let html = explained(rows);
            let (about, table) = (html.find("<p class=\"lead\">Mixed: &lt;frames&gt;</p>"), html.find("<table"));
            assert!(about.is_some() && about < table, "{html}");
        }
        assert!(
            !explained(40).contains("<details>") && explained(41).contains("<summary>Diagnostics: 41 rows</summary>")
        );
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
