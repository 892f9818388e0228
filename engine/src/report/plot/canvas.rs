//! Colours, pens and texts that all plots share, and the SVG they are drawn into.

use crate::error::Error;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Colours of the sites, in order; readable side by side also without colour vision (Okabe & Ito).
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
pub(super) const INK: RGBColor = RGBColor(45, 52, 60);
pub(super) const FAINT: RGBColor = RGBColor(205, 211, 218);
const FONT: &str = "Helvetica, Arial, sans-serif";

/// plotters rounds to whole pixels: everything is drawn this many times larger, and shown at its own size.
pub(super) const SCALE: u32 = 8;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws into a new SVG of this size (pixels).
///
/// # Errors
/// [`Error::Input`] with the reason that plotters gives.
pub(super) fn svg(size: (u32, u32), draw: impl FnOnce(&Area) -> Drawn) -> Result<String, Error> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (size.0 * SCALE, size.1 * SCALE)).into_drawing_area();
        let drawn = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
        drawn
            .and_then(|()| area.present().map_err(Into::into))
            .map_err(|e| Error::input(format!("the plot cannot be drawn: {e}"), ""))?;
    }
    let (width, height) = size;
    let drawn = format!("width=\"{}\" height=\"{}\"", width * SCALE, height * SCALE);
    Ok(text.replacen(&drawn, &format!("width=\"{width}\" height=\"{height}\""), 1))
}

/// A line of `width` pixels.
pub(super) fn line(colour: impl Color, width: u32) -> ShapeStyle {
    colour.stroke_width(width * SCALE)
}

/// Text of `size` pixels.
pub(super) fn text<'a>(size: u32) -> TextStyle<'a> {
    (FONT, size * SCALE).into_font().color(&INK)
}

/// Blue, grey and red: ends and middle of the scale.
const ENDS: [(f64, f64, f64); 3] = [(33.0, 82.0, 172.0), (170.0, 170.0, 170.0), (178.0, 24.0, 43.0)];

/// The colour of a share 0…1 of the scale.
pub(super) fn scale(share: f64) -> RGBColor {
    let (from, to, part) =
        if share < 0.5 { (ENDS[0], ENDS[1], 2.0 * share) } else { (ENDS[1], ENDS[2], 2.0 * share - 1.0) };
    let mix = |a: f64, b: f64| (a + part.clamp(0.0, 1.0) * (b - a)).round() as u8;
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_goes_from_blue_to_red() {
        assert_eq!((scale(0.0), scale(1.0)), (RGBColor(33, 82, 172), RGBColor(178, 24, 43)));
        assert_eq!(scale(0.5), RGBColor(170, 170, 170));
    }
}
