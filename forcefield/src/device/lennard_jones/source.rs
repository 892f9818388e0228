//! Kernels of Lennard-Jones specialised for cut-off, modifier, precision, number of classes, and whether the box has right angles.

use kernels::device::{Device, DeviceError, Kernel, Source};

use super::list::{BuildArgs, FrameArgs, KeyArgs, PlaceArgs};
use super::{GatherArgs, PairArgs, Settings, Sharing, THREADS};
use crate::device::{EnergyTerm, Precision};
use crate::lennard_jones::Modifier;
use crate::lennard_jones::kinds::{FAR_FROM, FAR_TO, Kinds};

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

/// Kernels of the list, and of forces, for `kinds` of atoms; `triclinic`: in a box without right angles.
pub(super) fn sources(settings: Settings, kinds: &Kinds, sharing: Sharing, triclinic: bool) -> [Source; 2] {
    let real = match settings.precision {
        Precision::Single => "float",
        Precision::Double => "double",
    };
    let of_sites = |source| sites(source, settings.precision, triclinic).define("REAL", real).option("--ftz=true");
    let [faint, mixed, _] = reaches(kinds, settings);
    let list = of_sites(Source::new("list", include_str!("list.cu")))
        .define("CHUNK", sharing.chunk())
        .define("GROUP", sharing.group)
        .define("THREADS", THREADS)
        .define("N_FAINT", kinds.n_faint)
        .define("FAINT_REACH", format!("{faint:e}"))
        .define("MIXED_REACH", format!("{mixed:e}"))
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
        .define("N_KINDS", kinds.n)
        .define("OXYGENS_TAKE_OVER", i32::from(kinds.oxygens_take_over))
        .define("FAR_FROM2", format!("{:e}", FAR_FROM * FAR_FROM))
        .define("FAR_TO2", format!("{:e}", FAR_TO * FAR_TO))
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
        .define("SLOT_VIRIAL", EnergyTerm::Virial as usize)
        .define("SLOT_IMAGES", EnergyTerm::ImagesX as usize)
        .define("AXES", i32::from(settings.axes));
    numbers.into_iter().fold(slots, |source, (name, value)| source.define(name, format!("{value:e}")))
}

/// How far (nm) rows of the list reach: between two faint sites, a faint and another one, two others.
pub(super) fn reaches(kinds: &Kinds, settings: Settings) -> [f64; 3] {
    let distances = [kinds.reach_of_two_faint(settings.cutoff), kinds.reach_of_faint(settings.cutoff), settings.cutoff];
    distances.map(|distance| distance + settings.buffer)
}

/// Compiled for settings, kinds of atoms, a way of sharing, and boxes with or without right angles.
pub(super) fn compile(
    device: &Device,
    settings: Settings,
    kinds: &Kinds,
    sharing: Sharing,
    triclinic: bool,
) -> Result<Kernels, DeviceError> {
    let [list, pairs] = sources(settings, kinds, sharing, triclinic);
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

/// Coefficients side by side, in the precision of the kernel: c6, c12 and, where something is taken over, what is added to both.
pub(super) fn table(kinds: &Kinds, precision: Precision) -> Vec<u8> {
    let used = if kinds.oxygens_take_over { 4 } else { 2 };
    let numbers = kinds.table.iter().flat_map(|c| [c.c6, c.c12, c.far_c6, c.far_c12].into_iter().take(used));
    match precision {
        Precision::Single => numbers.flat_map(|c| (c as f32).to_ne_bytes()).collect(),
        Precision::Double => numbers.flat_map(f64::to_ne_bytes).collect(),
    }
}
