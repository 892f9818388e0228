//! Kernels of Lennard-Jones specialised for cut-off, modifier, precision, number of classes, and whether the box has right angles.

use kernels::device::{Device, DeviceError, Kernel, Source};

use super::list::{BuildArgs, FrameArgs, KeyArgs, PlaceArgs};
use super::{CHUNK, GatherArgs, LANES, PairArgs, Settings};
use crate::device::{EnergyTerm, Precision};
use crate::lennard_jones::Modifier;
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

/// Kernels of the list, and of forces; `triclinic`: in a box without right angles.
pub(super) fn sources(settings: Settings, n_classes: usize, triclinic: bool) -> [Source; 2] {
    let (real, signed, unsigned, bits) = match settings.precision {
        Precision::Single => ("float", "int", "unsigned int", 32),
        Precision::Double => ("double", "long long", "unsigned long long", 64),
    };
    let number = |v: f64| format!("{v:e}");
    let special = |source: Source| {
        source
            .define("REAL", real)
            .define("TRICLINIC", i32::from(triclinic))
            .define("COORD", signed)
            .define("UCOORD", unsigned)
            .define("COORD_BITS", bits)
            .define("QUANTA", number(2f64.powi(bits)))
            .option("--ftz=true")
            .header(include_str!("sites.cuh"))
    };
    let list = special(Source::new("list", include_str!("list.cu")))
        .define("CHUNK", CHUNK)
        .kernel::<FrameArgs<'static>>("frame_of_atoms")
        .kernel::<KeyArgs<'static>>("cell_keys")
        .kernel::<PlaceArgs<'static>>("place_sites")
        .kernel::<BuildArgs<'static>>("build_list");
    let m = settings.modifier.at_cutoff(settings.cutoff);
    let mode = match settings.modifier {
        Modifier::None => 0,
        Modifier::PotentialShift => 1,
        Modifier::ForceSwitch { .. } => 2,
    };
    let mut pairs = special(Source::new("lennard_jones", include_str!("../lennard_jones.cu")))
        .header(include_str!("../forces.cuh"))
        .kernel::<GatherArgs<'static>>("gather_sites")
        .kernel::<PairArgs<'static>>("lennard_jones")
        .kernel::<PairArgs<'static>>("lennard_jones_energy")
        .define("LANES", LANES)
        .define("N_CLASSES", n_classes)
        .define("MODE", mode)
        .define("SLOT_LENNARD_JONES", EnergyTerm::LennardJones as usize)
        .define("SLOT_DISPERSION", EnergyTerm::Dispersion as usize)
        .define("SLOT_VIRIAL", EnergyTerm::Virial as usize);
    for (name, value) in [
        ("CUTOFF", settings.cutoff),
        ("R_SWITCH", m.r_switch),
        ("SHIFT6", m.six.shift),
        ("A6", m.six.a),
        ("B6", m.six.b),
        ("SHIFT12", m.twelve.shift),
        ("A12", m.twelve.a),
        ("B12", m.twelve.b),
    ] {
        pairs = pairs.define(name, number(value));
    }
    [list, pairs]
}

/// Compiled for settings, a number of classes of atoms, and boxes with or without right angles.
pub(super) fn compile(
    device: &Device,
    settings: Settings,
    n_classes: usize,
    triclinic: bool,
) -> Result<Kernels, DeviceError> {
    let [list, pairs] = sources(settings, n_classes, triclinic);
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
