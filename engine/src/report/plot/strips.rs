//! λ against time: strips above each other that share the axis of time, one for each pH.
//!
//! Of a series with more points than a strip can show only the extremes remain: no excursion of λ is lost.

use super::drawing::{Anchor, Drawing, line, text};
use super::figure::Figure;
use super::key::Entry;
use super::path::{data, number, parts};
use super::scale::Scale;
use super::style::Style;
use svg::node::element::{Group, Path};

/// Height of a strip, and of what lies between two (pixels).
const STRIP: [f64; 2] = [40.0, 8.0];
/// Room above and below the strips (pixels).
const ENDS: [f64; 2] = [26.0, 38.0];
/// Room for names and ticks at the left, and at the right (pixels).
const SIDES: [f64; 2] = [68.0, 18.0];
/// Widths of a site on a wide page, if it has the page for itself, and else (pixels).
const WIDTHS: [f64; 2] = [1032.0, 336.0];
/// Points in one drawing (some 100 kB), and in all of a page (some 700 kB).
const POINTS: [usize; 2] = [11_000, 80_000];
/// Ends of the strips: λ with its overshoot.
const RANGE: [f64; 2] = [-0.15, 1.15];

/// λ of one site at one pH.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strip {
    /// Name, `pH 4.00`.
    pub name: String,
    /// Times (ps) and λ with the number of the colour: one for each run or form.
    pub series: Vec<(Vec<f64>, Vec<f64>, usize)>,
}

/// λ of one site.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strips {
    /// Name of the site.
    pub title: String,
    /// One for each pH.
    pub strips: Vec<Strip>,
}

impl Strips {
    /// Number of series with points.
    fn series(&self) -> usize {
        let full = self.strips.iter().flat_map(|strip| &strip.series).filter(|(time, ..)| time.len() > 1);
        full.count()
    }

    /// Strips with a series of at least two frames.
    fn full(&self) -> Vec<&Strip> {
        self.strips.iter().filter(|strip| strip.series.iter().any(|(time, ..)| time.len() > 1)).collect()
    }
}

/// Strips of several sites with the same legend; strips and sites without frames are left out, `None` if all are. `all` is the number of
/// series of the whole page, which bounds its size.
pub fn strips(sites: &[Strips], key: Vec<Entry>, all: usize) -> Option<Figure> {
    let full: Vec<&Strips> = sites.iter().filter(|site| !site.full().is_empty()).collect();
    let times = full.iter().flat_map(|site| &site.strips).flat_map(|strip| &strip.series).flat_map(|(time, ..)| time);
    let (start, end) = times.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &t| (low.min(t), high.max(t)));
    let (unit, name) = if end < 1e4 { (1.0, "time (ps)") } else { (1e-3, "time (ns)") };
    let time = Scale::new(name, [unit * start.min(0.0), unit * end]);
    if !time.is_valid() {
        return None;
    }
    let draw = |site: &Strips, width: f64| {
        let most = (POINTS[0] / site.series()).min(POINTS[1] / all.max(1)).max(40);
        drawn(site, width, &time, unit, most)
    };
    match full[..] {
        [one] => Some(Figure::alone(draw(one, WIDTHS[0]), draw(one, WIDTHS[1]), key)),
        _ => Some(Figure::panels(full.iter().map(|site| draw(site, WIDTHS[1])).collect(), key)),
    }
}

/// The strips of one site; of each series at most about `most` points, or two for a pixel.
fn drawn(site: &Strips, width: f64, time: &Scale, unit: f64, most: usize) -> Drawing {
    let strips = site.full();
    let height = ENDS[0] + (STRIP[0] + STRIP[1]) * strips.len() as f64 + ENDS[1];
    let names: Vec<&str> = strips.iter().map(|strip| strip.name.as_str()).collect();
    let description = format!("λ from 0 to 1 against {}, a strip for each of {}.", time.name, names.join(", "));
    let mut drawing = Drawing::new([width, height], &format!("λ against time: {}", site.title), &description);
    drawing.add(text(&site.title, [2.0, 16.0], Anchor::Start, 13.0, width - 6.0).set("class", "title"));
    let (left, right) = (SIDES[0], width - SIDES[1]);
    let across = |t: f64| left + time.share(unit * t) * (right - left);
    let wanted = most.min(2 * (right - left) as usize);
    let (mut mesh, mut labels) = (String::new(), Group::new().set("class", "tick").set("text-anchor", "end"));
    let mut lines = Vec::new();
    for (index, strip) in strips.iter().enumerate() {
        let top = ENDS[0] + (STRIP[0] + STRIP[1]) * index as f64;
        let up = |y: f64| top + STRIP[0] * (RANGE[1] - y) / (RANGE[1] - RANGE[0]);
        for end in [0.0, 1.0] {
            mesh += &format!("M{} {}H{}", number(left), number(up(end)), number(right));
            labels =
                labels.add(text(&format!("{end}"), [left - 5.0, up(end) + 4.0], Anchor::Start, 11.0, f64::INFINITY));
        }
        labels = labels.add(text(&strip.name, [left - 16.0, up(0.5) + 4.0], Anchor::Start, 11.0, left - 18.0));
        for (times, values, colour) in &strip.series {
            let points = parts(&thin(times, values, wanted), RANGE);
            let pixels: Vec<Vec<_>> =
                points.into_iter().map(|p| p.into_iter().map(|(t, y)| (across(t), up(y))).collect()).collect();
            let style = Style::marked(*colour);
            let path = line(style, data(&pixels)).set("style", "stroke-width:1");
            lines.push(Group::new().set("class", style.colour.class()).add(path));
        }
    }
    let bottom = height - ENDS[1];
    let mut below = Group::new().set("class", "tick").set("text-anchor", "middle");
    for (tick, label) in time.labels(((right - left) / 80.0) as usize) {
        let x = across(tick / unit);
        mesh += &format!("M{} {}V{}", number(x), number(ENDS[0]), number(bottom));
        below = below.add(text(&label, [x, bottom + 14.0], Anchor::Start, 11.0, f64::INFINITY));
    }
    drawing.add(Group::new().set("class", "mesh").add(Path::new().set("class", "thin").set("d", mesh)));
    lines.into_iter().for_each(|line| drawing.add(line));
    drawing.add(labels);
    drawing.add(below);
    drawing.add(text(&time.name, [0.5 * (left + right), height - 6.0], Anchor::Middle, 12.0, right - left));
    drawing
}

/// At most about `count` points that keep every extreme: the smallest and the largest of each interval in turn.
fn thin(time: &[f64], values: &[f64], count: usize) -> Vec<(f64, f64)> {
    let pairs: Vec<(f64, f64)> = time.iter().copied().zip(values.iter().copied()).collect();
    if pairs.len() <= count {
        return pairs;
    }
    let size = pairs.len().div_ceil(count / 2);
    let extremes = |chunk: &[(f64, f64)]| {
        let low = chunk.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let high = chunk.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let mut both: Vec<(f64, f64)> = low.into_iter().chain(high).collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        both
    };
    pairs.chunks(size).flat_map(extremes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str, strips: usize, frames: usize) -> Strips {
        let time: Vec<f64> = (0..frames).map(|k| k as f64).collect();
        let lambda = (0..frames).map(|k| f64::from(u8::from(k % 7 < 3))).collect::<Vec<_>>();
        let strip = |k: usize| Strip { name: format!("pH {k}"), series: vec![(time.clone(), lambda.clone(), 0)] };
        Strips { title: name.into(), strips: (0..strips).map(strip).collect() }
    }

    #[test]
    fn thinning_keeps_extremes_and_order() {
        let time: Vec<f64> = (0..10_000).map(f64::from).collect();
        let mut values = vec![0.0; 10_000];
        values[5_001] = 1.0;
        values[7_777] = -1.0;
        let thinned = thin(&time, &values, 100);
        assert!(thinned.len() <= 102);
        assert!(thinned.contains(&(5_001.0, 1.0)) && thinned.contains(&(7_777.0, -1.0)));
        assert!(thinned.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn strips_share_one_axis_and_empty_ones_are_left_out() {
        let mut two = vec![site("GLU 2", 3, 10), site("HIS 5", 2, 10), site("fixed", 0, 0)];
        two[0].strips[1].series = vec![(vec![0.0], vec![0.5], 0)];
        let html = strips(&two, Vec::new(), 5).unwrap().html("f");
        assert_eq!((html.matches("role=\"img\"").count(), html.matches("time (ps)</text>").count()), (2, 2));
        assert!(html.matches(">pH 1</text>").count() == 1);
        assert!(!html.contains("fixed") && strips(&two[2..], Vec::new(), 0).is_none());
        let alone = strips(&two[..1], Vec::new(), 2).unwrap().html("f");
        assert!(alone.contains("width=\"1032\"") && alone.contains("width=\"336\""));
    }

    /// Protects browsers: long runs and many pH values do not make a page larger.
    #[test]
    fn the_size_of_a_drawing_is_bounded() {
        let html = strips(&[site("GLU 2", 40, 20_000), site("GLU 3", 40, 20_000)], Vec::new(), 80).unwrap().html("f");
        assert!(html.len() < 2 * 110_000, "{}", html.len());
        let many = strips(&[site("GLU 2", 11, 20_000), site("GLU 3", 11, 20_000)], Vec::new(), 1320).unwrap().html("f");
        assert!(many.len() < 2 * 20_000, "{}", many.len());
    }
}
