//! `bench fmm` on a GPU: time and rate of every stage, and the error.
//!
//! Stages are timed each alone, by replay of graphs; in an evaluation the far field runs beside the near field. Operations: 20 for each ordered
//! pair of charges near by; those of the far field as in `fmm::device::far`. The peak is measured: multiply-adds in registers.

use super::show_errors;
use crate::cli::arguments::{BenchFmm, ToleranceOf};
use crate::cli::settings::{ChosenSettings, Wanted};
use bytemuck::Pod;
use fmm::device::DeviceFmm;
use fmm::device::far::Step;
use fmm::device::peak::peak;
use fmm::{FmmError, Potentials, Settings};
use kernels::Real;
use kernels::device::{Device, DeviceError};
use octitrate::backend::gpu::replay::{Replays, replayed};
use octitrate::charges::systems;
use octitrate::charges::{Precision, Sampled, System, device_refused, median_and_least, refused};
use octitrate::error::Result;
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use std::time::Instant;

/// Order unless the command line gives one, or a tolerance.
const ORDER: u32 = 8;

/// Floating-point operations of a pair.
const PAIR: f64 = 20.0;

/// A stage: seconds (median, least) of one evaluation, bytes that it moves at least and operations; zero where they are not counted.
struct Stage {
    name: &'static str,
    seconds: [f64; 2],
    bytes: f64,
    flops: f64,
}

/// What was measured.
struct Measured {
    stages: Vec<Stage>,
    setup: f64,
    /// Bytes taken by this system, and those of the device; none on the emulator.
    memory: Option<[usize; 2]>,
    leaves: usize,
    pairs: u64,
    potentials: Potentials,
}

/// Times one system.
///
/// # Errors
/// Settings that the method refuses; an error of the device.
pub fn speed(arguments: &BenchFmm, device: &Device) -> Result<ExitCode> {
    let precision = arguments.precision;
    let system = systems::make(arguments.system, arguments.boundary, arguments.particles as usize)?;
    let wanted = Wanted { accuracy: &arguments.accuracy, of: ToleranceOf::Force, precision, default_order: ORDER };
    let choice = wanted.choose(&system, Some(device))?;
    let repeats = arguments.repeats as usize;
    let found = match precision {
        Precision::F32 => measure::<f32>(&system, device, choice.settings, repeats),
        Precision::F64 => measure::<f64>(&system, device, choice.settings, repeats),
    };
    let found = found.map_err(refused)?;
    let peaks = peak(device).map_err(|e| device_refused(&e))?;
    let peak = if precision == Precision::F32 { peaks.single } else { peaks.double };
    let sampled = if arguments.no_check { None } else { Some(system.sampled_errors(&found.potentials)?) };
    if arguments.json {
        let mut object = choice.description(precision, system.len());
        object["device"] = json!(device.name());
        object["repeats"] = json!(repeats);
        line!("{:#}", as_json(object, &found, peak, sampled));
    } else {
        line!("{}, {}", choice.sentence(system.len()), device.name());
        print(&system, &choice, &found, peak, sampled)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure<T: Real + Pod>(
    system: &System,
    device: &Device,
    settings: Settings,
    repeats: usize,
) -> std::result::Result<Measured, FmmError> {
    let free = || Ok::<_, DeviceError>(device.memory()?.map(|(free, total)| [free, total]));
    let before = free()?;
    let started = Instant::now();
    let fmm = DeviceFmm::<T>::new(device, system.boundary, settings, &system.positions, &system.exclusions)?;
    let (x, q) = (device.upload(system.positions.as_flattened())?, device.upload(&system.charges)?);
    let setup = started.elapsed().as_secs_f64();
    let memory = before.zip(free()?).map(|(then, now)| [then[0].saturating_sub(now[0]), now[1]]);
    let (main, other) = (&device.stream()?, &device.stream()?);
    fmm.enqueue_assign(main, &x)?;
    fmm.check(main)?;
    fmm.enqueue_evaluate(main, other, &x, &q)?;
    let mut potentials = Potentials { potential: vec![0.0; system.len()], field: vec![[0.0; 3]; system.len()] };
    fmm.potential().read_into(main, &mut potentials.potential)?;
    fmm.field().read_into(main, potentials.field.as_flattened_mut())?;
    let pairs = fmm.near_pairs(main)?;
    let mut stages = Vec::new();
    let mut stage = |name, [bytes, flops]: [f64; 2], enqueue: &dyn Fn() -> std::result::Result<(), DeviceError>| {
        let seconds = median_and_least(replayed(main, Replays { launches: repeats, most: 100 }, enqueue)?);
        stages.push(Stage { name, seconds, bytes, flops });
        Ok::<_, DeviceError>(())
    };
    let nothing = [0.0; 2];
    stage("assign", nothing, &|| fmm.enqueue_assign(main, &x))?;
    stage("gather", nothing, &|| fmm.enqueue_gather(main, &x, &q))?;
    let near = PAIR * pairs as f64;
    stage("near field", [0.0, near], &|| fmm.enqueue_near(main))?;
    let mut far = 0.0;
    if let Some(field) = fmm.root_field() {
        let names = ["  P2M, z", "  y, x", "  operators", "  x, y", "  z, L2P"];
        for (step, name) in Step::ALL.into_iter().zip(names) {
            let work = field.work(step, system.len());
            far += work[1];
            stage(name, work, &|| fmm.enqueue_far_step(main, step))?;
        }
    }
    stage("far field", [0.0, far], &|| fmm.enqueue_far(main))?;
    stage("finish", nothing, &|| fmm.enqueue_finish(main))?;
    // Without operators of refined levels, which are not counted, a rate of the whole would be wrong.
    let all = if far > 0.0 { near + far } else { 0.0 };
    stage("evaluation", [0.0, all], &|| fmm.enqueue_evaluate(main, other, &x, &q))?;
    Ok(Measured { stages, setup, memory, leaves: fmm.n_leaves(), pairs, potentials })
}

impl Measured {
    /// Seconds (least) of a stage.
    fn least(&self, name: &str) -> f64 {
        self.stages.iter().find(|stage| stage.name == name).map_or(0.0, |stage| stage.seconds[1])
    }

    fn pairs_per_second(&self) -> f64 {
        self.pairs as f64 / self.least("near field")
    }
}

fn print(
    system: &System,
    choice: &ChosenSettings,
    found: &Measured,
    peak: f64,
    sampled: Option<Sampled>,
) -> Result<()> {
    let per_box = system.len() as f64 / found.leaves as f64;
    line!("{} leaf boxes, {per_box:.1} charges each; {} pairs of charges near by", found.leaves, found.pairs);
    line!("peak {:.1} TFLOP/s: multiply-adds in registers", 1e-12 * peak);
    if let Some([used, total]) = found.memory {
        line!("{:.1} MB of memory, of {:.0} MB", 1e-6 * used as f64, 1e-6 * total as f64);
    }
    line!("operators, memory, copies: {:.2} s, once", found.setup);
    line!();
    let [median, least, gigaflops, rate, bytes] = ["median", "least", "GFLOP", "GFLOP/s", "GB/s"];
    line!("{:<12} {median:>10} {least:>10}    {gigaflops:>11} {rate:>9} of peak {bytes:>8}", "stage, alone");
    for stage in &found.stages {
        let [median, least] = stage.seconds.map(|s| 1e3 * s);
        part!("{:<12} {median:>10.4} {least:>10.4} ms", stage.name);
        if stage.flops > 0.0 {
            let rate = stage.flops / stage.seconds[1];
            part!(" {:>11.4} {:>9.1} {:>5.1} %", 1e-9 * stage.flops, 1e-9 * rate, 100.0 * rate / peak);
        }
        if stage.bytes > 0.0 {
            part!(" {:>8.0}", 1e-9 * stage.bytes / stage.seconds[1]);
        }
        line!();
    }
    line!();
    line!("{:.3e} pairs/s near by", found.pairs_per_second());
    let both = found.least("assign") + found.least("evaluation");
    line!("{:.3e} charges/s with assignment, order {}", system.len() as f64 / both, choice.settings.order);
    sampled.map_or(Ok(()), |sampled| show_errors(&sampled))
}

fn as_json(mut object: Value, found: &Measured, peak: f64, sampled: Option<Sampled>) -> Value {
    let stage = |stage: &Stage| {
        let [median, least] = stage.seconds;
        let rate = (stage.flops > 0.0).then(|| stage.flops / least);
        let value = json!({
            "median": median, "least": least, "flop": stage.flops, "bytes": stage.bytes,
            "flop_per_second": rate, "fraction_of_peak": rate.map(|rate| rate / peak),
        });
        (stage.name.trim().to_string(), value)
    };
    object["peak_flop_per_second"] = json!(peak);
    object["setup_seconds"] = json!(found.setup);
    object["memory_bytes"] = json!(found.memory.map(|[used, _]| used));
    object["leaf_boxes"] = json!(found.leaves);
    object["near_pairs"] = json!(found.pairs);
    object["near_pairs_per_second"] = json!(found.pairs_per_second());
    object["stages"] = Value::Object(found.stages.iter().map(stage).collect::<Map<_, _>>());
    if let Some(Sampled { particles, potentials, forces }) = sampled {
        object["sampled_errors"] = json!({ "particles": particles, "potentials": potentials, "forces": forces });
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmm::TreeShape;
    use octitrate::charges::systems::{Images, Kind};

    #[test]
    fn stages_are_timed_and_results_are_right() {
        let device = Device::of_tests().unwrap();
        let system = systems::make(Kind::Water, Images::Periodic, 600).unwrap();
        for depth in [0, 1] {
            let settings = Settings::new(6, TreeShape { root: [4 >> depth; 3], depth });
            let found = measure::<f32>(&system, &device, settings, 1).unwrap();
            // A box and its 26 neighbours; 4 of 64 are left out of 64 where 27 are near.
            let expected = 648.0 * 648.0 * 27.0 / 64.0;
            assert_eq!((found.leaves, system.len()), (64, 648));
            assert!((found.pairs as f64 / expected - 1.0).abs() < 0.05, "{} {expected}", found.pairs);
            assert_eq!(found.stages.len(), if depth == 0 { 11 } else { 6 });
            assert!(found.stages.iter().all(|stage| stage.seconds[1] > 0.0));
            // As on the CPU: 0.1 · 0.53⁶.
            let errors = system.sampled_errors(&found.potentials).unwrap();
            assert!(errors.forces > 0.0 && errors.forces < 1e-2, "{:e}", errors.forces);
            let object = as_json(json!({}), &found, 1e12, Some(errors));
            assert!(object["stages"]["operators"].is_object() == (depth == 0) && object["near_pairs"].is_u64());
        }
    }
}
