//! A symmetric matrix of numbers from −1 to 1 as coloured squares below its diagonal.

use super::drawing::{Anchor, Drawing, text, text_width};
use super::figure::Figure;
use super::key::Entry;
use super::path::number;
use super::style::{Colour, Style};
use crate::record::counted;
use svg::node::element::{Group, Rectangle};

/// Widths on a wide and on a narrow page (pixels).
const WIDTHS: [f64; 2] = [684.0, 336.0];
/// A square narrower than this (pixels) shows the sign of its number only.
const ROOM: f64 = 30.0;

/// Draws the squares; `values[row][column]`, `None` where a number is not known. Blue is negative, orange positive. `None` if no number is known.
pub fn matrix(title: &str, names: &[String], values: &[Vec<Option<f64>>]) -> Option<Figure> {
    values.iter().flatten().flatten().next()?;
    let [wide, narrow] = WIDTHS.map(|width| drawn(title, names, values, width));
    let sign = |number: usize| Style { mark: 1, ..Style::marked(number) };
    let key = vec![
        Entry::mark("−: one keeps the other protonated", sign(0)),
        Entry::mark("+: both lose their protons together", sign(1)),
    ];
    Some(Figure::alone(wide, narrow, key))
}

fn drawn(title: &str, names: &[String], values: &[Vec<Option<f64>>], width: f64) -> Drawing {
    let longest = names.iter().map(|name| text_width(name, 12.0)).fold(0.0, f64::max) + 30.0;
    let left = longest.min(0.5 * width);
    let count = names.len();
    let cell = ((width - left - 4.0) / (count - 1).max(1) as f64).min(64.0);
    let high = cell.max(16.0);
    let known = values.iter().flatten().flatten().count();
    let description = format!("{} of {}.", counted(known, "pair"), names.join(", "));
    let mut drawing = Drawing::new([width, 24.0 + high * (count as f64 - 1.0)], title, &description);
    let mut words = Group::new().set("class", "tick").set("text-anchor", "middle");
    let (mut rows, mut squares) = (Group::new(), Vec::new());
    for (row, name) in names.iter().enumerate() {
        let top = 20.0 + high * (row as f64 - 1.0);
        let middle = top + 0.5 * high + 4.0;
        // The first site has no square in its row: it stands above its column.
        let label = format!("{}  {name}", row + 1);
        let place = if row == 0 { [2.0, 13.0] } else { [2.0, middle] };
        rows = rows.add(text(&label, place, Anchor::Start, 12.0, left - 8.0));
        if row + 1 < count {
            let centre = [left + cell * (row as f64 + 0.5), 13.0];
            words = words.add(text(&(row + 1).to_string(), centre, Anchor::Start, 11.0, cell));
        }
        for column in 0..row {
            let corner = [left + cell * column as f64, top];
            let value = values.get(row).and_then(|row| row.get(column)).copied().flatten();
            squares.push(square(corner, [cell, high], value));
            let centre = [corner[0] + 0.5 * cell, middle];
            words = words.add(text(&label_of(value, cell), centre, Anchor::Start, 11.0, cell));
        }
    }
    squares.into_iter().for_each(|square| drawing.add(square));
    drawing.add(rows);
    drawing.add(words);
    drawing
}

/// A square whose strength of colour is the size of its number.
fn square([x, y]: [f64; 2], [wide, high]: [f64; 2], value: Option<f64>) -> Group {
    let place = |class: &str| {
        let square = Rectangle::new().set("class", class).set("x", number(x)).set("y", number(y));
        square.set("width", number(wide)).set("height", number(high))
    };
    let rim = Group::new().set("class", "mesh").add(place("thin"));
    match value {
        None => rim,
        Some(value) => {
            let strength = format!("{:.2}", 0.8 * value.abs().clamp(0.0, 1.0));
            let colour = Colour::Number(usize::from(value >= 0.0)).class();
            let inside = Group::new().set("class", colour).add(place("full").set("fill-opacity", strength));
            Group::new().add(inside).add(rim)
        }
    }
}

/// The number, or its sign where there is no room for more; nothing below a tenth.
fn label_of(value: Option<f64>, room: f64) -> String {
    match value {
        None => "–".into(),
        // Rounded first: no minus before a zero.
        Some(value) if room >= ROOM => format!("{:.2}", (100.0 * value).round() / 100.0 + 0.0).replace('-', "−"),
        Some(value) if value.abs() < 0.1 => String::new(),
        Some(value) => (if value < 0.0 { "−" } else { "+" }).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_square() {
        let names = ["GLU 2", "HIS 5", "LYS 7"].map(str::to_string);
        let values = vec![vec![], vec![Some(-0.35)], vec![Some(0.5), None]];
        let html = matrix("Correlations", &names, &values).unwrap().html("f");
        assert!(html.contains("−0.35") && html.contains("0.50") && html.contains('–') && html.contains("3  LYS 7"));
        // Three rims and two fillings, on wide and on narrow pages.
        assert_eq!(html.matches("<rect").count(), 10);
        assert!(matrix("Correlations", &names, &[vec![], vec![None]]).is_none());
    }

    #[test]
    fn a_small_square_shows_the_sign() {
        assert_eq!([-0.5, 0.05, 0.5].map(|value| label_of(Some(value), 20.0)), ["−", "", "+"]);
        assert_eq!(label_of(Some(-0.004), 50.0), "0.00");
    }
}
