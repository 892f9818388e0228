//! `m2l`: translations between the boxes of a level on a GPU, by several schemes: a table, and plots.
//!
//! Periodic levels of 2^depth boxes per axis. GFLOP/s count 2 K² operations for each translation, K = (p+1)², whatever a scheme saves; % is of
//! the measured rate of the units it uses (tensor cores: a third of it, for three products make one in single precision).

use crate::cli::{M2l, SchemeArgument};
use crate::m2l::measure::{self, Case, Ceilings, Measurement, ceilings};
use crate::m2l::{M2lError, Scheme};
use crate::results::{Folder, Table};
use kernels::device::Device;
use octitrate::backend::choice::Choice;
use octitrate::charges::{Precision, device_refused};
use octitrate::error::{Error, Result};
use octitrate::report::plot::{Axis, Trace, lines};
use serde_json::json;

/// Number of colours of plots; more traces are dashed.
const COLOURS: usize = 6;

/// Measures and prints, and draws where asked to.
///
/// # Errors
/// No GPU; what the schemes refuse; files that cannot be written.
pub fn schemes(arguments: &M2l, device: Choice) -> Result<()> {
    let chosen = device.open()?;
    let Some(device) = &chosen.device else {
        let message = format!("m2l measures a GPU, but the CPU computes: {chosen}");
        return Err(Error::input(message, "choose one: --device cuda:0"));
    };
    measure_all(arguments, device)
}

fn measure_all(arguments: &M2l, device: &Device) -> Result<()> {
    let most = ceilings(device).map_err(|e| device_refused(&e))?;
    if !arguments.json {
        let [single, double, tensor] = [most.single, most.double, most.tensor].map(|rate| 1e-12 * rate);
        println!("{}: f32 {single:.1}, f64 {double:.1}, TF32 {tensor:.1} TFLOP/s", device.name());
        println!("scheme    type depth  p          µs    GFLOP/s      %   error");
    }
    let folder = arguments.output.clone().map(Folder::new).transpose()?;
    let mut found: Vec<Measurement> = Vec::new();
    for &precision in &arguments.precision {
        for &depth in &arguments.depths.0 {
            let first = found.len();
            level(arguments, device, &most, (precision, depth), &mut found)?;
            if let Some(folder) = &folder {
                let name = format!("m2l-{}-depth{depth}", name(precision));
                folder.write(&name, &table(&found[first..], &most), &plot(&found[first..], device)?)?;
            }
        }
    }
    if arguments.json {
        let one = |m: &Measurement| {
            json!({
                "scheme": m.scheme.name(), "precision": name(m.precision), "depth": m.depth, "order": m.order, "seconds": m.seconds,
                "pairs": m.pairs, "flop_per_second": 1e9 * m.gflops, "fraction_of_peak": m.fraction(&most), "error": m.error,
            })
        };
        let object = json!({
            "device": device.name(), "peak_flop_per_second": most, "measurements": found.iter().map(one).collect::<Vec<_>>(),
        });
        println!("{object:#}");
    }
    Ok(())
}

/// All orders and schemes on one level.
fn level(
    arguments: &M2l,
    device: &Device,
    most: &Ceilings,
    (precision, depth): (Precision, usize),
    found: &mut Vec<Measurement>,
) -> Result<()> {
    let mut slow = Vec::new();
    for &order in &arguments.orders.0 {
        for &SchemeArgument(scheme) in &arguments.scheme {
            if slow.contains(&scheme) || (scheme == Scheme::Tensor && precision == Precision::F64) {
                continue;
            }
            let case = Case { scheme, order, depth };
            let repetitions = arguments.repeats as usize;
            let m = measure::measure(device, case, precision, repetitions).map_err(|e| refused(&e))?;
            if !arguments.json {
                println!(
                    "{:9} {} {depth:5} {order:3} {:11.1} {:10.1} {:6.1} {:.1e}",
                    scheme.name(),
                    name(precision),
                    1e6 * m.seconds,
                    m.gflops,
                    100.0 * m.fraction(most),
                    m.error
                );
            }
            if m.seconds > arguments.limit {
                slow.push(scheme);
            }
            found.push(m);
        }
    }
    Ok(())
}

fn refused(error: &M2lError) -> Error {
    match error {
        M2lError::Order { .. } => Error::input(error.to_string(), "take lower --orders"),
        M2lError::Size { .. } => Error::input(error.to_string(), "take --depths from 2 to 7"),
        M2lError::Precision => Error::input(error.to_string(), "take another --scheme, or --precision f32"),
        M2lError::Device(error) => device_refused(error),
    }
}

fn name(precision: Precision) -> &'static str {
    if precision == Precision::F32 { "f32" } else { "f64" }
}

fn table(found: &[Measurement], most: &Ceilings) -> Table {
    let mut table = Table::new("scheme,depth,order,seconds,pairs,GFLOP/s,fraction of peak,error");
    for m in found {
        let (scheme, fraction) = (m.scheme.name(), m.fraction(most));
        table.line(format_args!(
            "{scheme},{},{},{:.4e},{},{:.1},{fraction:.4},{:.1e}",
            m.depth, m.order, m.seconds, m.pairs, m.gflops, m.error
        ));
    }
    table
}

/// Rates against the order, one line for each scheme.
fn plot(found: &[Measurement], device: &Device) -> Result<String> {
    let trace = |(i, scheme): (usize, Scheme)| Trace {
        name: scheme.name().into(),
        points: found.iter().filter(|m| m.scheme == scheme).map(|m| (m.order as f64, m.gflops)).collect(),
        colour: i % COLOURS,
        dashed: i >= COLOURS,
    };
    let traces: Vec<Trace> = Scheme::ALL.into_iter().enumerate().map(trace).filter(|t| !t.points.is_empty()).collect();
    let Some(first) = found.first() else { return Err(Error::input("nothing was measured", "take other --scheme")) };
    let kind = if first.precision == Precision::F32 { "single" } else { "double" };
    let title = format!("M2L, {} boxes, periodic, {kind} precision, {}", 1_u64 << (3 * first.depth), device.name());
    let x = Axis { name: "order of the expansions", logarithmic: false };
    lines(&title, &traces, x, Axis { name: "GFLOP/s", logarithmic: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Numbers;

    #[test]
    fn every_scheme_is_measured_and_drawn() {
        let device = Device::of_tests().unwrap();
        let folder = temp_dir::TempDir::new().unwrap();
        let schemes = [Scheme::Naive, Scheme::Gemm, Scheme::Tensor].map(SchemeArgument).to_vec();
        let mut arguments = M2l {
            scheme: schemes,
            orders: Numbers(vec![1, 3]),
            depths: Numbers(vec![2]),
            precision: vec![Precision::F64],
            repeats: 1,
            limit: 1e3,
            output: Some(folder.path().to_path_buf()),
            json: false,
        };
        measure_all(&arguments, &device).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        // Tensor cores have no double precision.
        let table = read("m2l-f64-depth2.csv");
        assert_eq!(table.lines().count(), 1 + 2 * 2);
        let error = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
        assert!(table.lines().skip(1).all(|line| error(line) < 1e-13), "{table}");
        assert!(read("m2l-f64-depth2.svg").contains("order of the expansions"));
        // Whatever took long is not measured again.
        (arguments.limit, arguments.output) = (0.0, None);
        let most = ceilings(&device).unwrap();
        let mut found = Vec::new();
        level(&arguments, &device, &most, (Precision::F64, 2), &mut found).unwrap();
        assert_eq!(found.iter().map(|m| m.order).collect::<Vec<_>>(), [1, 1]);
        arguments.orders = Numbers(vec![99]);
        assert!(measure_all(&arguments, &device).unwrap_err().to_string().contains("order 99"));
    }
}
