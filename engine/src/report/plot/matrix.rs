//! A symmetric matrix of numbers from −1 to 1 as coloured squares.

use super::canvas::{FAINT, SCALE, line, scale, svg, text};
use crate::error::Error;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Space for the names (pixels).
const NAMES: u32 = 90;

/// Draws the squares below the diagonal; `values[row][column]`, `None` where a number is not known. Blue is negative, red positive.
///
/// # Errors
/// [`Error::Input`] if plotters refuses.
pub fn matrix(names: &[String], values: &[Vec<Option<f64>>]) -> Result<String, Error> {
    let cell = (620 / names.len().max(4) as u32).clamp(22, 90);
    let size = (720, 12 + cell * names.len() as u32 + if cell < 60 { NAMES } else { 40 });
    let pixel = |n: u32| (n * SCALE) as i32;
    svg(size, |area| {
        let small = text(if cell < 40 { 11 } else { 14 });
        for (row, name) in names.iter().enumerate() {
            let top = 12 + cell * row as u32;
            let right = small.pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(name.clone(), (pixel(NAMES - 8), pixel(top + cell / 2)), right))?;
            for column in 0..row {
                let left = NAMES + cell * column as u32;
                let corners = [(pixel(left), pixel(top)), (pixel(left + cell), pixel(top + cell))];
                let value = values.get(row).and_then(|row| row.get(column)).copied().flatten();
                if let Some(value) = value {
                    let strength = value.abs().clamp(0.0, 1.0);
                    let colour = scale(if value < 0.0 { 0.0 } else { 1.0 });
                    area.draw(&Rectangle::new(corners, colour.mix(0.85 * strength).filled()))?;
                }
                area.draw(&Rectangle::new(corners, line(FAINT, 1)))?;
                // Rounded first: no minus before a zero.
                let rounded = value.map(|value| (100.0 * value).round() / 100.0 + 0.0);
                let words = rounded.map_or("–".to_string(), |value| format!("{value:.2}").replace('-', "−"));
                let centre = small.pos(Pos::new(HPos::Center, VPos::Center));
                area.draw(&Text::new(words, (pixel(left + cell / 2), pixel(top + cell / 2)), centre))?;
            }
        }
        for (column, name) in names.iter().enumerate().take(names.len().saturating_sub(1)) {
            let left = NAMES + cell * column as u32;
            let below = pixel(12 + cell * names.len() as u32 + 8);
            // Names that would run into each other are turned.
            let turned = if cell < 60 { FontTransform::Rotate90 } else { FontTransform::None };
            let style = small.transform(turned);
            let style = if cell < 60 {
                style.pos(Pos::new(HPos::Left, VPos::Center))
            } else {
                style.pos(Pos::new(HPos::Center, VPos::Top))
            };
            area.draw(&Text::new(name.clone(), (pixel(left + cell / 2), below), style))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_square() {
        let names = ["GLU 2", "HIS 5", "LYS 7"].map(str::to_string);
        let values = vec![vec![], vec![Some(-0.35)], vec![Some(0.5), None]];
        let text = matrix(&names, &values).unwrap();
        assert!(text.contains("−0.35") && text.contains("0.50") && text.contains('–') && text.contains("LYS 7"));
        // The ground, three frames, two of them filled.
        assert_eq!(text.matches("<rect").count(), 6);
        assert!(matrix(&[], &[]).is_ok());
    }
}
