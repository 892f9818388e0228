//! What a device says against a system or a step, in the words of the job.

use super::setup::ResidentError;
use crate::backend::terms::coulomb_error;
use crate::config::Config;
use crate::error::{Error, InputError, PhysicsError};
use crate::motion::device::MotionError;
use fmm::FmmError;
use forcefield::Topology;
use forcefield::device::DeviceTermError;
use kernels::device::DeviceError;
use lambda::device::SitesError;

/// What the device itself says, if it is the cause.
fn cause(error: &ResidentError) -> Option<&DeviceError> {
    match error {
        ResidentError::Device(e)
        | ResidentError::Fmm(FmmError::Device(e))
        | ResidentError::Term(DeviceTermError::Device(e))
        | ResidentError::Sites(SitesError::Device(e))
        | ResidentError::Motion(MotionError::Device(e)) => Some(e),
        _ => None,
    }
}

/// The error of a system that cannot be set up, by the key of its job.
pub fn setup_error(config: &Config, error: ResidentError) -> Error {
    if let Some(e) = cause(&error) {
        return device_error(e);
    }
    match error {
        ResidentError::Fmm(e) => config.error_at("electrostatics", e.to_string(), "--device cpu has other limits"),
        other => Error::input(other.to_string(), "--device cpu has other limits"),
    }
}

fn device_error(error: &DeviceError) -> Error {
    let full = match error {
        DeviceError::OutOfMemory { .. } => true,
        DeviceError::Driver { code, .. } => code == "CUDA_ERROR_OUT_OF_MEMORY",
        _ => false,
    };
    if full {
        let help = "take a smaller system or a larger GPU, or --device cpu";
        return Error::Memory(Box::new(InputError::new(error.to_string(), help)));
    }
    let help = match error {
        DeviceError::Lost { .. } => "the last checkpoint is kept: the same command continues",
        _ => "--device cpu runs without a GPU",
    };
    Error::input(error.to_string(), help)
}

/// The error of a step.
pub fn step_error(error: ResidentError, topology: &Topology, step: u64) -> Error {
    let physics = |term: &str, message: String, atom: Option<u32>, step: u64| {
        PhysicsError {
            message,
            term: term.into(),
            atom: atom.map(|atom| topology.label(atom)),
            step: Some(step),
            help: "atoms that overlap: minimise first, or use a shorter time step".into(),
            ..PhysicsError::default()
        }
        .into()
    };
    if let Some(e) = cause(&error) {
        return device_error(e);
    }
    match error {
        ResidentError::Sites(e) => physics("λ", e.to_string(), None, step),
        ResidentError::Fmm(e) => coulomb_error(&e, topology),
        ResidentError::Motion(e) => {
            let (atom, at) = match &e {
                MotionError::NotFinite { step, atom } | MotionError::Settle { step, atom } => (Some(*atom), *step),
                MotionError::Shake { step, atoms } | MotionError::Velocity { step, atoms } => (Some(atoms[0]), *step),
                _ => (None, step),
            };
            physics("motion", e.to_string(), atom, at)
        }
        other => physics("motion", other.to_string(), None, step),
    }
}
