//! Plots of energies: their course in time, and the errors of blocks.

use crate::evaluation::energies::RunEnergies;
use crate::output::energies::EnergySeries;
use crate::report::plot::{Chart, Colour, Curve, Entry, Figure, Scale, Style};

/// Points of a curve, at most.
const POINTS: usize = 300;
/// More runs than this have colours of a scale and no legend.
const NAMED: usize = 6;

/// The course of each quantity in all runs, which are called `names`; `None` if there is nothing to draw.
pub fn courses(runs: &[RunEnergies], names: &[String]) -> Option<Figure> {
    let series: Vec<&EnergySeries> = runs.iter().map(|run| &run.series).collect();
    let mark = Some(runs.first()?.equilibration).filter(|time| *time > 0.0);
    let charts: Vec<Chart> = runs[0].quantities.iter().filter_map(|one| course(&series, one.name, mark)).collect();
    Figure::charts("Course", &charts, key(names))
}

/// The errors of each average against the length of blocks; `None` if there is nothing to draw.
pub fn block_errors(runs: &[RunEnergies], names: &[String]) -> Option<Figure> {
    let charts = runs.first()?.quantities.iter().filter_map(|quantity| {
        let blocks = |run: &RunEnergies| -> Vec<(f64, f64)> {
            let step = step(&run.series.time);
            let blocks = run.quantity(quantity.name).map_or(&[][..], |quantity| &quantity.blocks);
            blocks.iter().map(|block| ((block.length as f64 * step).log10(), block.error)).collect()
        };
        let words = [quantity.name, "lg of block length (ps)", &quantity.unit];
        chart(words, runs.iter().map(blocks).collect(), None, Some(0.0))
    });
    Figure::charts("Block errors", &charts.collect::<Vec<_>>(), key(names))
}

/// The legend of a few runs.
fn key(names: &[String]) -> Vec<Entry> {
    let entry = |(number, name): (usize, &String)| Entry::line(name, style(number, names.len()));
    if (2..=NAMED).contains(&names.len()) { names.iter().enumerate().map(entry).collect() } else { Vec::new() }
}

/// Volume and density, if any of the runs changes its box.
pub fn of_box(runs: &[EnergySeries]) -> Option<Figure> {
    let changes = |run: &&EnergySeries| {
        run.column("volume").is_some_and(|values| values.iter().any(|value| (value - values[0]).abs() > 1e-9 * value))
    };
    let runs: Vec<&EnergySeries> = runs.iter().filter(changes).collect();
    let charts: Vec<Chart> = ["volume", "density"].iter().filter_map(|name| course(&runs, name, None)).collect();
    Figure::charts("The box", &charts, Vec::new())
}

/// The style of run `number` of `count`: one of a few, or a place on the scale.
fn style(number: usize, count: usize) -> Style {
    let colour = match count {
        0..=NAMED => Colour::Number(number),
        _ => Colour::Share(number as f64 / (count - 1) as f64),
    };
    Style { colour, ..Style::default() }
}

/// A quantity against time in all runs.
fn course(runs: &[&EnergySeries], name: &str, mark: Option<f64>) -> Option<Chart> {
    let unit = runs.iter().map(|run| run.unit(name)).find(|unit| !unit.is_empty()).unwrap_or_default();
    let line = |run: &&EnergySeries| run.column(name).map_or(Vec::new(), |values| thin(&run.time, values));
    chart([name, "time (ps)", unit], runs.iter().map(line).collect(), mark, None)
}

/// A chart of lines whose axes hold all of them, and `include`; nothing if there are no points.
fn chart(words: [&str; 3], lines: Vec<Vec<(f64, f64)>>, mark: Option<f64>, include: Option<f64>) -> Option<Chart> {
    let [title, x, y] = words;
    let points = || lines.iter().flatten();
    let x = Scale::around(x, points().map(|point| point.0), 0.0)?;
    let y = Scale::around(y, points().map(|point| point.1).chain(include), 0.06)?;
    let count = lines.len();
    let curve = |(number, line): (usize, Vec<(f64, f64)>)| Curve {
        line,
        mark: mark.filter(|_| number == 0),
        style: style(number, count),
        ..Curve::default()
    };
    let curves = lines.into_iter().enumerate().map(curve).collect();
    Some(Chart { title: title.into(), note: String::new(), curves, x, y })
}

/// Time between two lines.
fn step(time: &[f64]) -> f64 {
    match time {
        [first, second, ..] => second - first,
        _ => 1.0,
    }
}

/// Means of neighbouring points, at most [`POINTS`] of them.
fn thin(time: &[f64], values: &[f64]) -> Vec<(f64, f64)> {
    let size = time.len().div_ceil(POINTS).max(1);
    let mean = |chunk: &[f64]| chunk.iter().sum::<f64>() / chunk.len() as f64;
    time.chunks(size).zip(values.chunks(size)).map(|(time, values)| (mean(time), mean(values))).collect()
}
