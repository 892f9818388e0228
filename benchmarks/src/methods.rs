//! `methods`: direct sum, treecode and FMM at the same accuracy, after figure 9 of R. Yokota, L. A. Barba,
//! Int. J. High Perform. Comput. Appl. 26, 337 (2012), doi:10.1177/1094342011429952.
//!
//! Random charges in a cube in open space. Treecode and FMM have expansions of the same order, and the opening of the treecode is the one at
//! which its errors are those of the FMM in large systems; the table holds the errors that were found.

use crate::cli::Methods;
use crate::results::{Folder, Table};
use crate::sizes::sizes;
use fmm::{
    Boundary, Coulomb, Direct, Fmm, FmmError, Potentials, Settings, TreeShape, Treecode, TreecodeSettings, Workload,
};
use kernels::Real;
use octitrate::charges::systems::{self, Images, Kind};
use octitrate::charges::{Precision, System, median_and_least, refused};
use octitrate::error::Result;
use octitrate::report::plot::{Axis, Trace, lines};
use std::time::{Duration, Instant};

/// Most charges of a direct sum that is carried out.
const ALL_PAIRS: usize = 100_000;

/// Repetitions end after this time, or this many.
const ENOUGH: (Duration, usize) = (Duration::from_millis(500), 15);

/// Measures and draws.
///
/// # Errors
/// Files that cannot be written.
pub fn methods(arguments: &Methods) -> Result<()> {
    let folder = Folder::new(arguments.output.clone())?;
    crossover(&folder, arguments.largest as usize, arguments.order as usize, arguments.precision)
}

/// See [`methods`].
///
/// # Errors
/// Files that cannot be written.
pub fn crossover(folder: &Folder, largest: usize, order: usize, precision: Precision) -> Result<()> {
    let mut table = Table::new("method,particles,settings,lists (s),evaluation (s),both (s),force error");
    let names = ["direct", "treecode", "fmm"];
    let trace = |colour: usize, name: &str| Trace { name: name.into(), colour, ..Trace::default() };
    let mut traces: Vec<Trace> = names.iter().enumerate().map(|(i, name)| trace(i, name)).collect();
    let mut beyond = Trace { dashed: true, ..trace(0, "direct, extrapolated") };
    for n in sizes(largest) {
        let system = systems::make(Kind::Random, Images::Open, n)?;
        let solvers = match precision {
            Precision::F32 => solvers::<f32>(&system, order),
            Precision::F64 => solvers::<f64>(&system, order),
        };
        for (method, settings) in solvers.map_err(refused)? {
            let Some(at) = names.iter().position(|name| *name == method.name()) else { continue };
            let name = names[at];
            let [lists, evaluation, error] = measure(&system, method)?;
            let both = lists + evaluation;
            table.line(format_args!("{name},{n},{settings},{lists:.3e},{evaluation:.3e},{both:.3e},{error:.2e}"));
            traces[at].points.push((n as f64, both));
        }
        if let Some(&(last, seconds)) = traces[0].points.last().filter(|last| last.0 < n as f64) {
            if beyond.points.is_empty() {
                beyond.points.push((last, seconds));
            }
            beyond.points.push((n as f64, seconds * (n as f64 / last).powi(2)));
        }
    }
    let crossings = [(0, 1), (0, 2), (1, 2)].map(|(slow, fast)| {
        let crossing = crossing(&traces[slow].points, &traces[fast].points);
        let place = crossing.map_or("not reached".into(), |n| format!("{n:.0} charges"));
        format!("{} = {}: {place}", names[slow], names[fast])
    });
    println!("{}", crossings.join(", "));
    if !beyond.points.is_empty() {
        traces.push(beyond);
    }
    let width = if precision == Precision::F32 { "single" } else { "double" };
    let threads = rayon::current_num_threads();
    let title = format!("random charges, open, order {order}, {width} precision, {threads} threads");
    let x = Axis { name: "number of charges", logarithmic: true };
    let drawn = lines(&title, &traces, x, Axis { name: "time (s)", logarithmic: true })?;
    folder.write("methods", &table, &drawn)
}

type Method = (Box<dyn Coulomb>, String);

/// The methods that can do this system, and their settings in words.
fn solvers<T: Real>(system: &System, order: usize) -> std::result::Result<Vec<Method>, FmmError> {
    let workload = Workload::new(&system.boundary, &system.positions, system.minimum_leaf);
    let mut out: Vec<Method> = Vec::new();
    if system.len() <= ALL_PAIRS {
        out.push((Box::new(Direct::<T>::new(Boundary::Open)?), String::new()));
    }
    let settings = TreecodeSettings::auto(order, &workload);
    let words = format!("order {order} opening {} leaves {:?}", settings.opening, settings.tree.leaves());
    out.push((Box::new(Treecode::<T>::new(Boundary::Open, settings)?), words.replace(',', "")));
    let tree = TreeShape::auto::<T>(order, Settings::TOUCHING, &workload);
    let words = format!("order {order} leaves {:?} depth {}", tree.leaves(), tree.depth);
    out.push((Box::new(Fmm::<T>::new(Boundary::Open, Settings::new(order, tree))?), words.replace(',', "")));
    Ok(out)
}

/// Median seconds of lists and evaluation, after one that is not counted unless it takes long, and the relative force error.
fn measure(system: &System, mut method: Box<dyn Coulomb>) -> Result<[f64; 3]> {
    let mut out = Potentials::default();
    let (mut lists, mut evaluations) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    loop {
        let start = Instant::now();
        method.assign(&system.positions, &system.exclusions).map_err(refused)?;
        let assigned = start.elapsed();
        method.evaluate(&system.positions, &system.charges, &mut out).map_err(refused)?;
        lists.push(assigned.as_secs_f64());
        evaluations.push((start.elapsed() - assigned).as_secs_f64());
        if begin.elapsed() > ENOUGH.0 || lists.len() > ENOUGH.1 {
            break;
        }
    }
    let [lists, evaluation] = [lists, evaluations].map(|seconds| {
        let warm = usize::from(seconds.len() > 1);
        median_and_least(seconds[warm..].iter().copied())[0]
    });
    Ok([lists, evaluation, system.sampled_errors(&out)?.forces])
}

/// Where the second curve goes below the first, by straight lines between the points of a double logarithmic plot.
fn crossing(slow: &[(f64, f64)], fast: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<(f64, f64)> = slow.iter().zip(fast).map(|(a, b)| (a.0.ln(), (a.1 / b.1).ln())).collect();
    let last = ratios.windows(2).rfind(|w| w[0].1 < 0.0 && w[1].1 >= 0.0)?;
    let (low, high) = (last[0], last[1]);
    Some((low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1)).exp())
}

#[cfg(test)]
mod tests {
    use super::crossing;

    #[test]
    fn curves_cross_where_they_do() {
        let slow: Vec<(f64, f64)> = [1e3, 1e4, 1e5].map(|n: f64| (n, 1e-9 * n * n)).to_vec();
        let fast: Vec<(f64, f64)> = [1e3, 1e4, 1e5].map(|n: f64| (n, 5e-6 * n)).to_vec();
        assert!((crossing(&slow, &fast).unwrap() / 5e3 - 1.0).abs() < 1e-9);
        assert_eq!(crossing(&fast[..1], &slow[..1]), None);
    }
}
