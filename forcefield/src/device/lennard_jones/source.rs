//! Kernels of Lennard-Jones specialised for cut-off, modifier, precision, number of classes, and whether the box has right angles.

use kernels::device::{Device, DeviceError, Kernel, Source};

use super::list::{BuildArgs, FrameArgs, KeyArgs, PlaceArgs};
use super::{GatherArgs, PairArgs, Settings, Sharing, THREADS};
use crate::device::{EnergyTerm, Precision};
use crate::lennard_jones::Modifier;
use crate::lennard_jones::faint::FAINT_DISTANCE;
use crate::topology::LennardJonesTable;

/// Kernels of the term.
pub(super) struct Kernels {
    pub frame: Kernel<FrameArgs<'static>>,
    pub keys: Kernel<KeyArgs<'static>>,
    pub place: Kernel<PlaceArgs<'static>>,
    pub build: Kernel<BuildArgs<'static>>,
    pub gather: Kernel<GatherArgs<'static>>,
    pub forces: Kernel<PairArgs<'static>>,
    pub energy: Kernel<PairArgs<'static>>,
}

/// Kernels of the list, and of forces, for a number of classes, of which some at the beginning are faint; `triclinic`: in a box without right angles.
pub(super) fn sources(
    settings: Settings,
    [n_classes, n_faint]: [usize; 2],
    sharing: Sharing,
    triclinic: bool,
) -> [Source; 2] {
    let real = match settings.precision {
        Precision::Single => "float",
        Precision::Double => "double",
    };
    let of_sites = |source| sites(source, settings.precision, triclinic).define("REAL", real).option("--ftz=true");
    let list = of_sites(Source::new("list", include_str!("list.cu")))
        .define("CHUNK", sharing.chunk())
        .define("GROUP", sharing.group)
        .define("THREADS", THREADS)
        .define("N_FAINT", n_faint)
        .define("FAINT_REACH2", format!("{:e}", (FAINT_DISTANCE.min(settings.cutoff) + settings.buffer).powi(2)))
        .kernel::<FrameArgs<'static>>("frame_of_atoms")
        .kernel::<KeyArgs<'static>>("cell_keys")
        .kernel::<PlaceArgs<'static>>("place_sites")
        .kernel::<BuildArgs<'static>>("build_list");
    let pairs = of_sites(Source::new("lennard_jones", include_str!("../lennard_jones.cu")))
        .header(include_str!("../forces.cuh"))
        .kernel::<GatherArgs<'static>>("gather_sites")
        .kernel::<PairArgs<'static>>("lennard_jones")
        .kernel::<PairArgs<'static>>("lennard_jones_energy")
        .define("LANES", sharing.lanes)
        .define("CHUNK", sharing.chunk())
        .define("N_CLASSES", n_classes)
        .define("SLOT_DISPERSION", EnergyTerm::Dispersion as usize);
    [list, potential(pairs, settings)]
}

/// With what `sites.cuh` needs besides REAL.
pub(in super::super) fn sites(source: Source, precision: Precision, triclinic: bool) -> Source {
    let (signed, unsigned, bits) = match precision {
        Precision::Single => ("int", "unsigned int", 32),
        Precision::Double => ("long long", "unsigned long long", 64),
    };
    source
        .define("TRICLINIC", i32::from(triclinic))
        .define("COORD", signed)
        .define("UCOORD", unsigned)
        .define("COORD_BITS", bits)
        .define("QUANTA", format!("{:e}", 2f64.powi(bits)))
        .header(include_str!("sites.cuh"))
}

/// With the constants of the potential, and the slots of its energy and virial.
pub(in super::super) fn potential(source: Source, settings: Settings) -> Source {
    let m = settings.modifier.at_cutoff(settings.cutoff);
    let mode = match settings.modifier {
        Modifier::None => 0,
        Modifier::PotentialShift => 1,
        Modifier::ForceSwitch { .. } => 2,
    };
    let numbers = [
        ("CUTOFF", settings.cutoff),
        ("R_SWITCH", m.r_switch),
        ("SHIFT6", m.six.shift),
        ("A6", m.six.a),
        ("B6", m.six.b),
        ("SHIFT12", m.twelve.shift),
        ("A12", m.twelve.a),
        ("B12", m.twelve.b),
    ];
    let slots = source
        .define("MODE", mode)
        .define("SLOT_LENNARD_JONES", EnergyTerm::LennardJones as usize)
        .define("SLOT_VIRIAL", EnergyTerm::Virial as usize);
    numbers.into_iter().fold(slots, |source, (name, value)| source.define(name, format!("{value:e}")))
}

/// Compiled for settings, numbers of classes of atoms and of faint ones, a way of sharing, and boxes with or without right angles.
pub(super) fn compile(
    device: &Device,
    settings: Settings,
    classes: [usize; 2],
    sharing: Sharing,
    triclinic: bool,
) -> Result<Kernels, DeviceError> {
    let [list, pairs] = sources(settings, classes, sharing, triclinic);
    let (list, pairs) = (device.compile(&list)?, device.compile(&pairs)?);
    Ok(Kernels {
        frame: list.kernel("frame_of_atoms")?,
        keys: list.kernel("cell_keys")?,
        place: list.kernel("place_sites")?,
        build: list.kernel("build_list")?,
        gather: pairs.kernel("gather_sites")?,
        forces: pairs.kernel("lennard_jones")?,
        energy: pairs.kernel("lennard_jones_energy")?,
    })
}

/// c6 and c12 side by side, in the precision of the kernel.
pub(super) fn table(classes: &LennardJonesTable, precision: Precision) -> Vec<u8> {
    let both = classes.c6.iter().zip(&classes.c12).flat_map(|(c6, c12)| [*c6, *c12]);
    match precision {
        Precision::Single => both.flat_map(|c| (c as f32).to_ne_bytes()).collect(),
        Precision::Double => both.flat_map(f64::to_ne_bytes).collect(),
    }
}
