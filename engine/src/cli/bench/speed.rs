//! `bench fmm`: time and rate of every stage, and the error.

use super::{device_fmm, show_errors};
use crate::cli::arguments::{BenchFmm, ToleranceOf};
use crate::cli::settings::{ChosenSettings, Wanted};
use fmm::StageTimings;
use kernels::Isa;
use octitrate::backend::choice;
use octitrate::charges::systems;
use octitrate::charges::{Precision, Sampled, Solved, median_and_least};
use octitrate::error::Result;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Order unless the command line gives one, or a tolerance.
const ORDER: u32 = 8;

/// A stage: seconds (median, least) and operations of one evaluation.
struct Stage {
    name: &'static str,
    seconds: [f64; 2],
    flops: f64,
}

impl Stage {
    /// Operations per second in the fastest evaluation.
    fn rate(&self) -> Option<f64> {
        (self.flops > 0.0 && self.seconds[1] > 0.0).then(|| self.flops / self.seconds[1])
    }
}

/// Times one system, on a GPU if there is one.
///
/// # Errors
/// Settings that the method refuses; a GPU that cannot be used.
pub fn speed(arguments: &BenchFmm, device: choice::Choice) -> Result<ExitCode> {
    if let Some(device) = &device.open()?.device {
        return device_fmm::speed(arguments, device);
    }
    let precision = arguments.precision;
    let system = systems::make(arguments.system, arguments.boundary, arguments.particles as usize)?;
    let wanted = Wanted { accuracy: &arguments.accuracy, of: ToleranceOf::Force, precision, default_order: ORDER };
    let choice = wanted.choose(&system, None)?;
    let threads = rayon::current_num_threads();
    let peak = threads as f64
        * match precision {
            Precision::F32 => kernels::peak_flops::<f32>(Isa::best()),
            Precision::F64 => kernels::peak_flops::<f64>(Isa::best()),
        };
    let found = system.solve(choice.settings, precision, 1, arguments.repeats as usize)?;
    let sampled = if arguments.no_check { None } else { Some(system.sampled_errors(&found.potentials)?) };
    let stages = stages(&found);
    if arguments.json {
        line!("{:#}", as_json(&choice, precision, &found, &stages, peak, sampled));
    } else {
        print(&choice, &found, &stages, peak, sampled)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn stages(found: &Solved) -> Vec<Stage> {
    let flops = &found.work.flops;
    let stage = |i: usize| {
        let (name, _, operations) = flops.beside(&StageTimings::default())[i];
        let seconds = median_and_least(found.stages.iter().map(|timings| flops.beside(timings)[i].1));
        Stage { name, seconds, flops: operations }
    };
    (0..9).map(stage).collect()
}

fn print(choice: &ChosenSettings, found: &Solved, stages: &[Stage], peak: f64, sampled: Option<Sampled>) -> Result<()> {
    let work = &found.work;
    let threads = rayon::current_num_threads();
    let per_box = work.particles as f64 / work.occupied_leaves as f64;
    line!("{}, {threads} thread{}", choice.sentence(work.particles), if threads == 1 { "" } else { "s" });
    line!(
        "{} occupied leaf boxes, {per_box:.1} charges each; pairs: {} of charges, {} of boxes; {} wave vectors",
        work.occupied_leaves,
        work.particle_pairs,
        work.m2l_pairs,
        work.waves
    );
    line!("peak {:.1} GFLOP/s: multiply-adds in registers of one thread, times the threads", 1e-9 * peak);
    line!();
    let repeats = found.evaluate.len();
    line!("{:<16} {:>11} {:>11}   of {repeats}", "", "median", "least");
    line!("{:<16} {:>23.3} ms, once", "operators", 1e3 * found.setup);
    for (name, seconds) in [("tree and lists", &found.assign), ("evaluation", &found.evaluate)] {
        let [median, least] = median_and_least(seconds.iter().copied()).map(|s| 1e3 * s);
        line!("{name:<16} {median:>11.3} {least:>11.3} ms");
    }
    line!();
    line!("{:<10} {:>11} {:>11}      {:>9} {:>9} {:>7}", "stage", "median", "least", "GFLOP", "GFLOP/s", "of peak");
    // A tree of one level has no M2M, L2L and M2L.
    for stage in stages.iter().filter(|stage| stage.flops > 0.0 || stage.seconds[0] > 1e-6) {
        let [median, least] = stage.seconds.map(|s| 1e3 * s);
        part!("{:<10} {median:>11.3} {least:>11.3} ms", stage.name);
        match stage.rate() {
            Some(rate) => {
                line!("   {:>9.3} {:>9.1} {:>5.0} %", 1e-9 * stage.flops, 1e-9 * rate, 100.0 * rate / peak);
            }
            None => line!(),
        }
    }
    let [_, least] = median_and_least(found.evaluate.iter().copied());
    let total = work.flops.total();
    let (flops, rate) = (1e-9 * total, 1e-9 * total / least);
    line!("{:<10} {:>23.3} ms   {flops:>9.3} {rate:>9.1} {:>5.0} %", "all", 1e3 * least, 1e11 * rate / peak);
    sampled.map_or(Ok(()), |sampled| show_errors(&sampled))
}

fn as_json(
    choice: &ChosenSettings,
    precision: Precision,
    found: &Solved,
    stages: &[Stage],
    peak: f64,
    sampled: Option<Sampled>,
) -> Value {
    let times = |seconds: &[f64]| {
        let [median, least] = median_and_least(seconds.iter().copied());
        json!({ "median": median, "least": least })
    };
    let stage = |stage: &Stage| {
        let [median, least] = stage.seconds;
        let rate = stage.rate();
        let value = json!({
            "median": median, "least": least, "flop": stage.flops,
            "flop_per_second": rate, "fraction_of_peak": rate.map(|rate| rate / peak),
        });
        (stage.name.to_string(), value)
    };
    let mut object = choice.description(precision, found.work.particles);
    object["threads"] = json!(rayon::current_num_threads());
    object["peak_flop_per_second"] = json!(peak);
    object["repeats"] = json!(found.evaluate.len());
    object["seconds"] =
        json!({ "setup": found.setup, "assign": times(&found.assign), "evaluate": times(&found.evaluate) });
    object["stages"] = Value::Object(stages.iter().map(stage).collect::<Map<_, _>>());
    object["work"] = json!(found.work);
    if let Some(Sampled { particles, potentials, forces }) = sampled {
        object["sampled_errors"] = json!({ "particles": particles, "potentials": potentials, "forces": forces });
    }
    object
}
