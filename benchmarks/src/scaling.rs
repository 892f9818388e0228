//! Time against the number of particles.

use crate::results::{Folder, Table};
use crate::sizes::sizes;
use fmm::{Settings, TreeShape, Workload};
use octitrate::charges::systems::{self, Images, Kind};
use octitrate::charges::{Precision, median_and_least};
use octitrate::error::Result;
use octitrate::report::plot::{Axis, Trace, lines};

/// What is timed.
struct Series {
    name: &'static str,
    system: Kind,
    boundary: Images,
    precision: Precision,
}

/// All at this order.
const ORDER: usize = 8;

const SERIES: [Series; 5] = [
    Series { name: "random, open, single", system: Kind::Random, boundary: Images::Open, precision: Precision::F32 },
    Series {
        name: "random, periodic, single",
        system: Kind::Random,
        boundary: Images::Periodic,
        precision: Precision::F32,
    },
    Series {
        name: "random, periodic, double",
        system: Kind::Random,
        boundary: Images::Periodic,
        precision: Precision::F64,
    },
    Series {
        name: "water, periodic, single",
        system: Kind::Water,
        boundary: Images::Periodic,
        precision: Precision::F32,
    },
    Series {
        name: "droplets in vacuum, open, single",
        system: Kind::Droplets,
        boundary: Images::Open,
        precision: Precision::F32,
    },
];

/// Measures and draws.
///
/// # Errors
/// Files that cannot be written.
pub fn scaling(folder: &Folder, largest: usize) -> Result<()> {
    let mut table = Table::new(
        "series,particles,order,root,depth,operators (s),lists (s),evaluation (s),evaluation least (s),force error",
    );
    let (mut times, mut each) = (Vec::new(), Vec::new());
    for (colour, series) in SERIES.iter().enumerate() {
        let dashed = series.precision == Precision::F64;
        let trace = Trace { name: series.name.into(), colour, dashed, points: Vec::new() };
        let (mut time, mut share) = (trace.clone(), trace);
        for n in sizes(largest) {
            let (n, seconds) = series.measure(n, &mut table)?;
            time.points.push((n as f64, seconds));
            share.points.push((n as f64, 1e9 * seconds / n as f64));
        }
        times.push(time);
        each.push(share);
    }
    let threads = rayon::current_num_threads();
    let title = format!("lists and evaluation, order {ORDER}, {threads} threads");
    let x = Axis { name: "number of charges", logarithmic: true };
    let drawn = lines(&title, &times, x, Axis { name: "time (s)", logarithmic: true })?;
    folder.write("time", &table, &drawn)?;
    let drawn = lines(&title, &each, x, Axis { name: "time per charge (ns)", logarithmic: false })?;
    folder.write_plot("time-per-charge", &drawn)
}

impl Series {
    /// Number of charges, and seconds (median) of lists and evaluation.
    fn measure(&self, n: usize, table: &mut Table) -> Result<(usize, f64)> {
        let system = systems::make(self.system, self.boundary, n)?;
        let workload = Workload::new(&system.boundary, &system.positions, system.minimum_leaf);
        let tree = match self.precision {
            Precision::F32 => TreeShape::auto::<f32>(ORDER, Settings::TOUCHING, &workload),
            Precision::F64 => TreeShape::auto::<f64>(ORDER, Settings::TOUCHING, &workload),
        };
        let settings = Settings::new(ORDER, tree);
        let repeats = (2_000_000 / n).clamp(3, 15);
        let found = system.solve(settings, self.precision, 1, repeats)?;
        let [lists, _] = median_and_least(found.assign.iter().copied());
        let [evaluation, least] = median_and_least(found.evaluate.iter().copied());
        let error = system.sampled_errors(&found.potentials)?.forces;
        let root = settings.tree.root.map(|n| n.to_string()).join(" ");
        table.line(format_args!(
            "\"{}\",{},{ORDER},{root},{},{:.3e},{lists:.3e},{evaluation:.3e},{least:.3e},{error:.2e}",
            self.name,
            system.len(),
            settings.tree.depth,
            found.setup
        ));
        Ok((system.len(), lists + evaluation))
    }
}
