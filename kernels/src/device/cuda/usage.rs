//! How busy GPUs are, asked of NVIDIA's management library, which knows the work of all processes without taking hold of a GPU.
//!
//! The library comes with the driver. Where it is not there, or does not tell, nothing is known.

use cudarc::driver::{result, sys};
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};

/// What goes on on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Share of the last moments in which a kernel ran, %.
    pub busy: u32,
    /// Memory that nobody has taken, bytes.
    pub free: u64,
}

impl Usage {
    /// Whom to prefer: the less busy one, to ten per cent; of those the one with more free memory. Smaller is better.
    pub fn rank(&self) -> (u32, std::cmp::Reverse<u64>) {
        (self.busy / 10, std::cmp::Reverse(self.free))
    }
}

#[cfg(windows)]
const LIBRARY: &str = "nvml.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libnvidia-ml.so.1";

/// Longest name of a place on the bus.
const PLACE: usize = 64;

/// nvmlMemory_t.
#[repr(C)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// nvmlUtilization_t.
#[repr(C)]
struct Utilization {
    gpu: u32,
    memory: u32,
}

type Plain = unsafe extern "C" fn() -> c_int;
type ByPlace = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type GetMemory = unsafe extern "C" fn(*mut c_void, *mut Memory) -> c_int;
type GetUtilization = unsafe extern "C" fn(*mut c_void, *mut Utilization) -> c_int;

/// What goes on on the GPUs of these numbers; none where it is not known. The driver has been started before.
pub fn usage(ordinals: &[usize]) -> Vec<Option<Usage>> {
    // SAFETY: the driver's own library, whose initialisers have no effect on this program.
    let Ok(library) = (unsafe { Library::new(LIBRARY) }) else { return vec![None; ordinals.len()] };
    // SAFETY: the function takes nothing and gives an int; nvml.h.
    let (Ok(start), Ok(end)) =
        (unsafe { (library.get::<Plain>(b"nvmlInit_v2"), library.get::<Plain>(b"nvmlShutdown")) })
    else {
        return vec![None; ordinals.len()];
    };
    // SAFETY: as above.
    if unsafe { start() } != 0 {
        return vec![None; ordinals.len()];
    }
    let all = ordinals.iter().map(|&ordinal| one(&library, ordinal)).collect();
    // SAFETY: started above, and no handle is kept.
    let _ = unsafe { end() };
    all
}

/// The same of one GPU, while the library is started. The driver counts the GPUs that it may see, the library all: they meet at the bus.
fn one(library: &Library, ordinal: usize) -> Option<Usage> {
    let device = result::device::get(ordinal as i32).ok()?;
    let mut place = [0 as c_char; PLACE];
    // SAFETY: room for as many characters as are announced, the last of them zero.
    unsafe { sys::cuDeviceGetPCIBusId(place.as_mut_ptr(), PLACE as c_int, device) }.result().ok()?;
    let mut handle = std::ptr::null_mut();
    let mut memory = Memory { total: 0, free: 0, used: 0 };
    let mut utilization = Utilization { gpu: 0, memory: 0 };
    // SAFETY: the signatures are those of nvml.h, `place` ends with a zero, and the structures have the layouts of nvml.h.
    unsafe {
        let by_place = library.get::<ByPlace>(b"nvmlDeviceGetHandleByPciBusId_v2").ok()?;
        if by_place(place.as_ptr(), &raw mut handle) != 0 {
            return None;
        }
        let get_memory = library.get::<GetMemory>(b"nvmlDeviceGetMemoryInfo").ok()?;
        if get_memory(handle, &raw mut memory) != 0 {
            return None;
        }
        // Parts of a GPU do not tell how busy they are.
        let get_utilization = library.get::<GetUtilization>(b"nvmlDeviceGetUtilizationRates").ok()?;
        if get_utilization(handle, &raw mut utilization) != 0 {
            utilization.gpu = 0;
        }
    }
    Some(Usage { busy: utilization.gpu, free: memory.free })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_busy_gpu_comes_first_then_the_emptier_one() {
        let of = |busy, free| Usage { busy, free };
        let mut all = [of(95, 80), of(4, 10), of(0, 9), of(12, 90)];
        all.sort_by_key(Usage::rank);
        assert_eq!(all, [of(4, 10), of(0, 9), of(12, 90), of(95, 80)]);
    }
}
