//! Which backend computes: `--device auto|cpu|cuda:N|cuda:0-7|cuda:all`. The choice and its fallback are made here and nowhere else.

mod gpus;

pub use gpus::Gpus;

use super::Backend;
use super::cpu::Cpu;
use super::gpu::Gpu;
use crate::error::{Error, Result};
use crate::state::State;
use crate::system::System;
use crate::titration::Biases;
use kernels::device::{Device, DeviceError, Usage, probe, usage};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What a person asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The freest GPU that can be used, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// These GPUs, or an error.
    Cuda(Gpus),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(Gpus::one(0))),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|gpus| gpus.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| "valid is auto, cpu, cuda:N with the number N of a GPU, from 0 to 127, cuda:0-7, cuda:0,2 or cuda:all".into()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(gpus) => write!(f, "cuda:{gpus}"),
        }
    }
}

/// How much of a GPU a simulation may take for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it: the parts of a step run beside each other.
    Whole,
    /// A part: other simulations use the same GPU, and nothing in a step runs side by side.
    Part,
}

/// A device or several, or the CPU.
pub struct Chosen {
    /// The GPU, or the first of them; none: the CPU.
    pub device: Option<Device>,
    /// The GPUs beside the first, for jobs of many runs.
    others: Vec<Device>,
    /// Why the CPU computes, if it was not asked for.
    pub reason: Option<String>,
    /// Whether the CPU may take what the GPU refuses.
    yields: bool,
}

impl From<Option<Device>> for Chosen {
    /// This device and no other.
    fn from(device: Option<Device>) -> Self {
        Self { device, others: Vec::new(), reason: None, yields: false }
    }
}

impl From<Vec<Device>> for Chosen {
    /// These devices and no others; the CPU if there are none.
    fn from(mut devices: Vec<Device>) -> Self {
        let others = devices.split_off(devices.len().min(1));
        Self { others, ..Self::from(devices.pop()) }
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.device, &self.reason) {
            (Some(device), _) => {
                let names: Vec<String> = self.devices().into_iter().map(Device::name).collect();
                match names.iter().all(|name| *name == names[0]) {
                    true if names.len() > 1 => write!(f, "{} × {}", names.len(), device.name()),
                    _ => f.write_str(&names.join(", ")),
                }
            }
            (None, None) => f.write_str(&cpu()),
            (None, Some(reason)) => write!(f, "{}; {reason}", cpu()),
        }
    }
}

impl Chosen {
    /// All devices; none: the CPU.
    pub fn devices(&self) -> Vec<&Device> {
        self.device.iter().chain(&self.others).collect()
    }

    /// The backend of a system on this device. If the device was chosen by `auto` and refuses the system, the CPU takes its place from now
    /// on, and `say` gets a line that tells why.
    ///
    /// # Errors
    /// What the device or the CPU refuses, by the key of the job.
    pub fn backend(
        &mut self,
        system: &Arc<System>,
        state: &State,
        biases: &Biases,
        share: Share,
        say: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn Backend>> {
        let on_cpu = || Ok(Box::new(Cpu::new(system, state, biases.clone())?) as Box<dyn Backend>);
        let Some(device) = &self.device else { return on_cpu() };
        match Gpu::new(device, system, state, biases, share == Share::Whole) {
            Err(refused) if self.yields => {
                // A mistake in the job is refused here as well, in the same words.
                let backend = on_cpu()?;
                let reason = format!("{} cannot take this system: {refused}", device.name());
                say(&format!("the CPU computes; {reason}"));
                (self.device, self.reason) = (None, Some(reason));
                Ok(backend)
            }
            gpu => Ok(Box::new(gpu?)),
        }
    }
}

impl Choice {
    /// Looks for the device of one simulation.
    ///
    /// # Errors
    /// A GPU that was asked for and cannot be used; several of them. `auto` takes the CPU instead, and says why.
    pub fn open(self) -> Result<Chosen> {
        let Self::Cuda(gpus) = self else { return self.open_all() };
        match gpus.present().map_err(|e| refused(self, &e))?[..] {
            [_] => self.open_all(),
            ref several => {
                let message =
                    format!("--device {self}: this command computes on one GPU, and these are {}", several.len());
                Err(Error::input(
                    message,
                    "choose one, --device cuda:0; titrate and calibrate deal their runs out to many",
                ))
            }
        }
    }

    /// The first of several GPUs, for what is one simulation beside a job of many; what names one device, or none, as it is.
    ///
    /// # Errors
    /// A GPU that was asked for and is not there.
    pub fn first(self) -> Result<Self> {
        let Self::Cuda(gpus) = self else { return Ok(self) };
        let present = gpus.present().map_err(|e| refused(self, &e))?;
        Ok(present.first().map_or(self, |&number| Self::Cuda(Gpus::one(number))))
    }

    /// Looks for the devices of a job of many runs.
    ///
    /// # Errors
    /// A GPU that was asked for and cannot be used. `auto` takes the CPU instead, and says why.
    pub fn open_all(self) -> Result<Chosen> {
        match self {
            Self::Cpu => Ok(None.into()),
            Self::Cuda(gpus) => {
                let open =
                    |all: Vec<usize>| all.into_iter().map(Device::cuda).collect::<std::result::Result<Vec<_>, _>>();
                Ok(gpus.present().and_then(open).map_err(|e| refused(self, &e))?.into())
            }
            Self::Auto => {
                let (device, reason) = match freest() {
                    Ok(device) => (Some(device), None),
                    Err(e) => (None, Some(e.to_string())),
                };
                Ok(Chosen { device, others: Vec::new(), reason, yields: true })
            }
        }
    }
}

/// The CPU in words.
pub fn cpu() -> String {
    match rayon::current_num_threads() {
        1 => "CPU, 1 thread".into(),
        threads => format!("CPU, {threads} threads"),
    }
}

/// The GPUs that the driver sees, one line each; or a line that says why there are none.
pub fn gpus() -> Vec<String> {
    let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
    let line = |gpu: &kernels::device::Gpu| {
        let (name, (major, minor)) = (&gpu.name, gpu.capability);
        format!("cuda:{}, {name}, {:.1} GiB, compute capability {major}.{minor}", gpu.ordinal, gib(gpu.memory))
    };
    match probe() {
        Ok(gpus) if gpus.is_empty() => vec![DeviceError::NoDevice { ordinal: 0, found: 0 }.to_string()],
        Ok(gpus) => gpus.iter().map(line).collect(),
        Err(e) => vec![e.to_string()],
    }
}

/// The freest GPU that can be used.
fn freest() -> std::result::Result<Device, DeviceError> {
    let numbers: Vec<usize> = probe()?.iter().map(|gpu| gpu.ordinal).collect();
    let mut last = DeviceError::NoDevice { ordinal: 0, found: 0 };
    // Alone, it need not be asked what it does.
    let known = if numbers.len() > 1 { usage(&numbers) } else { vec![None; numbers.len()] };
    for ordinal in by_usage(&numbers, &known) {
        match Device::cuda(ordinal) {
            Ok(device) => return Ok(device),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// GPUs, the freest first; those of which nothing is known come last, in their order.
fn by_usage(numbers: &[usize], known: &[Option<Usage>]) -> Vec<usize> {
    let mut all: Vec<(usize, Option<Usage>)> = numbers.iter().copied().zip(known.iter().copied()).collect();
    all.sort_by_key(|(_, usage)| (usage.is_none(), usage.map(|usage| usage.rank())));
    all.into_iter().map(|(number, _)| number).collect()
}

fn refused(choice: Choice, error: &DeviceError) -> Error {
    Error::input(format!("--device {choice}: {error}"), "--device cpu runs without a GPU")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_shown() {
        for text in ["auto", "cpu", "cuda:0", "cuda:12", "cuda:0-7", "cuda:0,2", "cuda:all"] {
            assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
        }
        for text in ["gpu", "cuda:", "cuda:-1", "cuda:x", ""] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_a_gpu_auto_computes_on_the_cpu_and_others_are_refused() {
        if probe().is_ok_and(|gpus| !gpus.is_empty()) {
            return;
        }
        let chosen = Choice::Auto.open().unwrap();
        let words = chosen.to_string();
        assert!(chosen.device.is_none() && words.starts_with("CPU, ") && words.contains("; no "), "{words}");
        assert!(!Choice::Cpu.open().unwrap().to_string().contains(';'));
        let lines = gpus();
        assert!(lines.len() == 1 && lines[0].starts_with("no "), "{lines:?}");
        let message = Choice::Cuda(Gpus::one(3)).open().err().unwrap().to_string();
        assert!(message.starts_with("--device cuda:3: no ") && message.contains("--device cpu"), "{message}");
    }

    #[test]
    fn the_freest_gpu_comes_first() {
        let of = |busy, free| Some(Usage { busy, free });
        assert_eq!(by_usage(&[0, 1, 2], &[None; 3]), [0, 1, 2]);
        assert_eq!(by_usage(&[0, 1, 2, 3], &[of(99, 50), None, of(3, 20), of(0, 30)]), [3, 2, 0, 1]);
    }

    #[test]
    fn several_devices_are_one_place_for_many_runs() {
        let device = Device::of_tests().unwrap();
        let two = Chosen::from(vec![device.clone(), device.clone()]);
        assert_eq!((two.devices().len(), two.to_string()), (2, format!("2 × {}", device.name())));
        assert_eq!(Chosen::from(vec![device.clone()]).to_string(), device.name());
        assert!(Chosen::from(Vec::new()).device.is_none());
    }

    #[test]
    fn what_the_first_gpu_refuses_the_cpu_takes_and_says_why() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files/job.toml");
        let job = |order: u32| {
            let text = format!(
                "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"\n[electrostatics]\norder = {order}\n[neighbour_list]\nbuffer = \"0.1 nm\""
            );
            let config = crate::config::Config::parse(&text, &path).unwrap();
            let (system, state) = System::new(&config).unwrap();
            (Arc::new(system), state)
        };
        let open = |chosen: &mut Chosen, order: u32, said: &mut Vec<String>| {
            let (system, state) = job(order);
            let say = &mut |line: &str| said.push(line.to_string());
            chosen.backend(&system, &state, &Biases::default(), Share::Whole, say)
        };
        let device = Device::of_tests().unwrap();
        let mut chosen = Chosen { yields: true, ..Chosen::from(Some(device.clone())) };
        let mut said = Vec::new();
        open(&mut chosen, 6, &mut said).unwrap();
        assert!(chosen.device.is_some() && said.is_empty() && chosen.to_string() == device.name(), "{said:?}");
        // Expansions of this order do not fit into shared memory.
        open(&mut chosen, 60, &mut said).unwrap();
        assert!(chosen.device.is_none() && said.len() == 1 && said[0].contains("shared memory"), "{said:?}");
        assert!(chosen.to_string().contains(&format!("; {} cannot take this system: ", device.name())));
        // Asked for by name, it is an error.
        let mut named = Chosen::from(Some(device));
        assert!(open(&mut named, 60, &mut said).is_err());
    }
}
