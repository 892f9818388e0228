//! λ against time.

use super::canvas::{COLOURS, FAINT, SCALE, line, svg, text};
use crate::error::Error;
use plotters::prelude::*;

/// One panel of [`lambda_series`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    /// Title, `pH 4.00`.
    pub title: String,
    /// Times (ps) and λ, one series for each site or replica.
    pub series: Vec<(Vec<f64>, Vec<f64>)>,
}

/// λ against time, one panel for each pH.
///
/// # Errors
/// [`Error::Input`] if the numbers cannot be drawn.
pub fn lambda_series(panels: &[Panel]) -> Result<String, Error> {
    const HEIGHT: u32 = 92;
    const AXIS: u32 = 44;
    let height = HEIGHT * panels.len() as u32 + AXIS;
    let times = panels.iter().flat_map(|panel| &panel.series).filter_map(|(time, _)| time.last());
    let end = times.copied().fold(1e-6, f64::max);
    svg((720, height), |area| {
        for (index, panel) in panels.iter().enumerate() {
            let last = index + 1 == panels.len();
            let top = HEIGHT * index as u32;
            let bottom = if last { height } else { top + HEIGHT };
            let strip = area.clone().shrink((0, top * SCALE), (720 * SCALE, (bottom - top) * SCALE));
            let mut chart = ChartBuilder::on(&strip)
                .margin_top(8 * SCALE)
                .margin_right(18 * SCALE)
                .x_label_area_size(if last { AXIS * SCALE } else { 0 })
                .y_label_area_size(110 * SCALE)
                .build_cartesian_2d(0.0..end, -0.2..1.2)?;
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh()
                .set_all_tick_mark_size(5 * SCALE)
                .light_line_style(TRANSPARENT)
                .bold_line_style(line(FAINT, 1))
                .axis_style(line(FAINT, 1))
                .label_style(text(13))
                .y_labels(4)
                .y_label_formatter(&|y: &f64| {
                    if (y - y.round()).abs() < 0.01 { format!("{y:.0}") } else { String::new() }
                })
                .axis_desc_style(text(15))
                .y_desc(panel.title.clone());
            if last {
                mesh.x_desc("time (ps)").x_labels(8);
            }
            mesh.draw()?;
            for ((time, lambda), colour) in panel.series.iter().zip(COLOURS.iter().cycle()) {
                chart.draw_series(LineSeries::new(thin(time, lambda, 600), line(colour.mix(0.85), 1)))?;
            }
        }
        Ok(())
    })
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
    fn panels_stand_above_one_axis() {
        let panel = Panel { title: "pH 4".into(), series: vec![(vec![0.0, 1.0], vec![0.0, 1.0])] };
        assert!(lambda_series(&[panel.clone(), panel]).unwrap().contains("time (ps)"));
    }
}
