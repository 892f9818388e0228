//! Virtual sites on a device: twin of [`crate::virtual_sites`]; launches of `virtual_sites.cu`.
//!
//! Positions are placed after every motion and before any force; forces are spread once all of them are added up. A system without virtual
//! sites launches nothing.

use std::collections::HashMap;

use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

use super::{EnergyTerm, Sums};
use crate::topology::Topology;
use crate::virtual_sites::{VirtualSite, VirtualSiteKind};

/// Threads of a block.
const THREADS: usize = 128;

arguments! {
    /// Arguments of all kernels.
    struct VirtualSiteArgs<'a> {
        /// Site, first of its parents, number of parents, kind.
        rows: In<'a, [u32; 4]>,
        /// What a kind is, and the first of its numbers.
        kinds: In<'a, [u32; 2]>,
        parents: In<'a, u32>,
        numbers: In<'a, f64>,
        x: In<'a, f64>,
        /// The same positions to write to, or null.
        placed: Out<'a, f64>,
        /// Or null.
        forces: Out<'a, i64>,
        /// Or null.
        energies: Out<'a, i64>,
        n_sites: i32,
    }
}

/// Tables of all sites.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tables {
    rows: Vec<[u32; 4]>,
    kinds: Vec<[u32; 2]>,
    parents: Vec<u32>,
    numbers: Vec<f64>,
}

impl Tables {
    fn new(sites: &[VirtualSite]) -> Self {
        let mut tables = Self::default();
        // Waters are of one kind.
        let mut known: HashMap<(u32, Vec<u64>), u32> = HashMap::new();
        for VirtualSite { site, parents, kind } in sites {
            let (what, numbers) = match kind {
                VirtualSiteKind::Average { weights } => (0, weights.clone()),
                VirtualSiteKind::OutOfPlane { a, b, c } => (1, vec![*a, *b, *c]),
                VirtualSiteKind::LocalCoordinates { origin, x, y, position } => {
                    (2, [&position[..], origin, x, y].concat())
                }
            };
            let key = (what, numbers.iter().map(|v| v.to_bits()).collect());
            let kind = *known.entry(key).or_insert_with(|| {
                tables.kinds.push([what, tables.numbers.len() as u32]);
                tables.numbers.extend(numbers);
                tables.kinds.len() as u32 - 1
            });
            tables.rows.push([*site, tables.parents.len() as u32, parents.len() as u32, kind]);
            tables.parents.extend(parents);
        }
        tables
    }
}

/// The virtual sites of a system on a device.
pub struct DeviceVirtualSites {
    /// Atoms of the system, as far as sites and parents go.
    n_atoms: usize,
    rows: Buffer<[u32; 4]>,
    kinds: Buffer<[u32; 2]>,
    parents: Buffer<u32>,
    numbers: Buffer<f64>,
    place: Kernel<VirtualSiteArgs<'static>>,
    spread: Kernel<VirtualSiteArgs<'static>>,
    spread_energy: Kernel<VirtualSiteArgs<'static>>,
}

impl DeviceVirtualSites {
    /// Those of `topology`, which [`crate::virtual_sites::check`] has passed; none without any.
    ///
    /// # Errors
    /// Out of memory; kernels that do not compile.
    pub fn new(device: &Device, topology: &Topology) -> Result<Option<Self>, DeviceError> {
        if topology.virtual_sites.is_empty() {
            return Ok(None);
        }
        let Tables { rows, kinds, parents, numbers } = Tables::new(&topology.virtual_sites);
        let module = device.compile(&source())?;
        Ok(Some(Self {
            n_atoms: rows
                .iter()
                .map(|row| row[0])
                .chain(parents.iter().copied())
                .max()
                .map_or(0, |last| last as usize + 1),
            rows: device.upload(&rows)?,
            kinds: device.upload(&kinds)?,
            parents: device.upload(&parents)?,
            numbers: device.upload(&numbers)?,
            place: module.kernel("place_virtual_sites")?,
            spread: module.kernel("spread_virtual_sites")?,
            spread_energy: module.kernel("spread_virtual_sites_energy")?,
        }))
    }

    /// Puts all sites where their parents at `x` `[3N]` (nm) have them.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `x` is shorter; what the driver says against the launch.
    pub fn enqueue_place(&self, stream: &Stream, x: &Buffer<f64>) -> Result<(), DeviceError> {
        x.holds(3 * self.n_atoms)?;
        let arguments = VirtualSiteArgs { placed: x.arg(), ..self.arguments(x) };
        stream.launch(&self.place, self.launch(), arguments)
    }

    /// Moves the forces of all sites to their parents at `x` `[3N]`; the change of the virial, if it is wanted, is added to its slot.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is shorter; what the driver says against the launch.
    pub fn enqueue_spread(&self, stream: &Stream, x: &Buffer<f64>, sums: Sums<'_>) -> Result<(), DeviceError> {
        x.holds(3 * self.n_atoms)?;
        sums.hold(self.n_atoms)?;
        let Sums { forces, energies, with_energy } = sums;
        let arguments = VirtualSiteArgs { forces: forces.arg(), energies: energies.arg(), ..self.arguments(x) };
        let kernel = if with_energy { &self.spread_energy } else { &self.spread };
        stream.launch(kernel, self.launch(), arguments)
    }

    fn launch(&self) -> Launch {
        Launch::new(self.rows.len().div_ceil(THREADS) as u32, THREADS as u32)
    }

    fn arguments<'a>(&'a self, x: &'a Buffer<f64>) -> VirtualSiteArgs<'a> {
        VirtualSiteArgs {
            rows: self.rows.arg(),
            kinds: self.kinds.arg(),
            parents: self.parents.arg(),
            numbers: self.numbers.arg(),
            x: x.arg(),
            placed: None::<&Buffer<f64>>.into(),
            forces: None::<&Buffer<i64>>.into(),
            energies: None::<&Buffer<i64>>.into(),
            n_sites: self.rows.len() as i32,
        }
    }
}

fn source() -> Source {
    Source::new("virtual_sites", include_str!("virtual_sites.cu"))
        .header(include_str!("geometry.cuh"))
        .define("REAL", "double")
        .define("THREADS", THREADS)
        .define("SLOT_VIRIAL", EnergyTerm::Virial as usize)
        .kernel::<VirtualSiteArgs<'static>>("place_virtual_sites")
        .kernel::<VirtualSiteArgs<'static>>("spread_virtual_sites")
        .kernel::<VirtualSiteArgs<'static>>("spread_virtual_sites_energy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{ENERGY_ONE, ENERGY_SLOTS, FORCE_ONE};
    use crate::virtual_sites;
    use kernels::device::{check_layouts, compiles};
    use nalgebra::Vector3;

    /// The part for GPUs needs libnvrtc, but no GPU.
    #[test]
    fn the_kernels_compile_and_their_layouts_are_those_of_the_device() {
        check_layouts(&Device::of_tests().unwrap(), &source()).unwrap();
        ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&source(), architecture).unwrap());
    }

    /// Molecules of four atoms and two sites of every kind, more than one block of them, some with parents in common.
    fn system() -> (Topology, Vec<Vector3<f64>>) {
        let local = |site, parents: &[u32], position, y: &[f64]| {
            let rest = vec![0.0; parents.len() - 2];
            VirtualSite {
                site,
                parents: parents.into(),
                kind: VirtualSiteKind::LocalCoordinates {
                    origin: [vec![0.75, 0.25], rest.clone()].concat(),
                    x: [vec![-1.0, 1.0], rest].concat(),
                    y: y.into(),
                    position,
                },
            }
        };
        let (mut topology, mut x) = (Topology::default(), Vec::new());
        let mut state = 11_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        for k in 0..90_u32 {
            let first = 6 * k;
            let [a, b, c, d, s, t] = std::array::from_fn(|i| first + i as u32);
            topology.virtual_sites.extend(match k % 5 {
                0 => [
                    VirtualSite::average3(s, [a, b, c], [0.7, 0.15, 0.15]),
                    VirtualSite::average2(t, [b, a], [1.4, -0.4]),
                ],
                1 => [-6.4, 6.4]
                    .map(|c2| VirtualSite::out_of_plane(if c2 < 0.0 { s } else { t }, [a, b, c], [-0.34, -0.35, c2])),
                2 => [
                    local(s, &[d, a, b, c], [0.02, -0.01, 0.03], &[0.5, 0.3, -0.6, -0.2]),
                    local(t, &[a, b, d], [0.0, 0.03, 0.0], &[-1.0, 0.0, 1.0]),
                ],
                3 => [
                    local(s, &[a, b], [0.04, 0.0, 0.0], &[0.0, 0.0]),
                    VirtualSite {
                        site: t,
                        parents: vec![d, c, b, a],
                        kind: VirtualSiteKind::Average { weights: vec![0.1, 0.2, 0.3, 0.4] },
                    },
                ],
                _ => [VirtualSite::average2(s, [a, d], [0.5, 0.5]), VirtualSite::average2(t, [a, d], [0.5, 0.5])],
            });
            let centre = Vector3::from_fn(|_, _| 9.0 * random() - 2.0);
            x.extend((0..6).map(|_| centre + Vector3::from_fn(|_, _| 0.2 * random())));
        }
        (topology, x)
    }

    fn vectors(flat: &[f64]) -> Vec<Vector3<f64>> {
        flat.as_chunks::<3>().0.iter().map(|&r| Vector3::from(r)).collect()
    }

    #[test]
    fn the_device_places_and_spreads_as_the_cpu_does() {
        let (topology, mut x) = system();
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let sites = DeviceVirtualSites::new(&device, &topology).unwrap().unwrap();
        let on_device = device.upload::<f64>(bytemuck::cast_slice(&x)).unwrap();
        sites.enqueue_place(&stream, &on_device).unwrap();
        virtual_sites::place(&topology.virtual_sites, &mut x);
        let placed = vectors(&on_device.read(&stream).unwrap());
        for (i, (ours, theirs)) in placed.iter().zip(&x).enumerate() {
            // Products may be fused on a GPU.
            assert!((ours - theirs).norm() < 1e-14, "{i}: {ours} and {theirs}");
        }
        let fixed: Vec<i64> = (0..3 * x.len()).map(|i| ((i as f64 * 0.7).sin() * 1000.0 * FORCE_ONE) as i64).collect();
        let run = |with_energy| {
            let (forces, energies) = (device.upload(&fixed).unwrap(), device.zeros::<i64>(ENERGY_SLOTS).unwrap());
            let sums = Sums { forces: &forces, energies: &energies, with_energy };
            sites.enqueue_spread(&stream, &on_device, sums).unwrap();
            (forces.read(&stream).unwrap(), EnergyTerm::Virial.of(&energies.read(&stream).unwrap()))
        };
        let (spread, virial) = run(true);
        assert_eq!(run(false), (spread.clone(), 0.0), "forces without energy");
        let real = |fixed: &[i64]| vectors(&fixed.iter().map(|&f| f as f64 / FORCE_ONE).collect::<Vec<_>>());
        let mut forces = real(&fixed);
        let expected = virtual_sites::spread(&topology.virtual_sites, &x, &mut forces);
        for (i, (ours, theirs)) in real(&spread).iter().zip(&forces).enumerate() {
            // Some roundings to 2⁻³² each.
            assert!((ours - theirs).norm() < 5e-9, "{i}: {ours} and {theirs}");
        }
        // Rounding to 2⁻²⁴ in each of two blocks.
        assert!((virial - expected).abs() < 4.0 / ENERGY_ONE && expected.abs() > 1.0, "{virial} and {expected}");
        for d in 0..3 {
            let total = |f: &[i64]| f.iter().skip(d).step_by(3).map(|&f| i128::from(f)).sum::<i128>();
            assert_eq!(total(&spread), total(&fixed), "no momentum is lost");
        }
    }

    /// Kernels would read and write what does not belong to them.
    #[test]
    fn short_buffers_are_refused() {
        let (topology, x) = system();
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let sites = DeviceVirtualSites::new(&device, &topology).unwrap().unwrap();
        let n = sites.n_atoms;
        assert!(n > 0 && n <= x.len());
        let (whole, few) = (device.zeros::<f64>(3 * n).unwrap(), device.zeros::<f64>(3 * n - 1).unwrap());
        let sums = |n| device.zeros::<i64>(n).unwrap();
        let short = |n: usize| Err(DeviceError::Length { expected: n, found: n - 1 });
        let spread = |x, forces: usize, energies: usize| {
            let (forces, energies) = (sums(forces), sums(energies));
            sites.enqueue_spread(&stream, x, Sums { forces: &forces, energies: &energies, with_energy: true })
        };
        assert_eq!(sites.enqueue_place(&stream, &few), short(3 * n));
        assert_eq!(spread(&few, 3 * n, ENERGY_SLOTS), short(3 * n));
        assert_eq!(spread(&whole, 3 * n - 1, ENERGY_SLOTS), short(3 * n));
        assert_eq!(spread(&whole, 3 * n, ENERGY_SLOTS - 1), short(ENERGY_SLOTS));
    }

    #[test]
    fn a_force_beyond_all_numbers_reaches_an_atom() {
        let topology = Topology {
            virtual_sites: vec![VirtualSite::average3(3, [0, 1, 2], [0.4, 0.3, 0.3])],
            ..Topology::default()
        };
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let sites = DeviceVirtualSites::new(&device, &topology).unwrap().unwrap();
        let x = device.upload(&[0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0]).unwrap();
        let mut fixed = [0_i64; 12];
        fixed[10] = (1 << 60) + 1;
        let (forces, energies) = (device.upload(&fixed).unwrap(), device.zeros::<i64>(ENERGY_SLOTS).unwrap());
        sites.enqueue_spread(&stream, &x, Sums { forces: &forces, energies: &energies, with_energy: true }).unwrap();
        fixed.swap(1, 10);
        assert_eq!(forces.read(&stream).unwrap(), fixed);
    }

    #[test]
    fn nothing_is_made_for_a_system_without_sites() {
        assert!(DeviceVirtualSites::new(&Device::of_tests().unwrap(), &Topology::default()).unwrap().is_none());
    }
}
