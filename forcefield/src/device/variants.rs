//! Forms of titratable sites that differ in Lennard-Jones types and in bonded terms, on a device: twin of [`crate::variants`].
//!
//! Atoms that change type are sites without interaction for [`DeviceLennardJones`]; `variants.cu` takes a block for each of them and walks along
//! its row of the ordinary list. Bonded terms and 1-4 pairs of the forms go to the kernel of [`super::DeviceBonded`], compiled to weigh each term. Systems
//! without such forms launch nothing of it. ∂V/∂λ_α is a fixed-point sum like forces (2³² per kJ/mol), because several kernels add to it.
//! Units: nm, kJ/mol, kJ/mol/nm.

use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments, structure};

use super::bonded::{KINDS, Kind, kinds};
use super::lennard_jones::source::{potential, sites};
use super::lennard_jones::{DeviceLennardJones, Settings};
use super::{DeviceBonded, DeviceTermError, Sums};
use crate::cell::Cell;
use crate::topology::{Pair14, Topology};
use crate::variants::Variants;
use crate::variants::pairs::{CONSTANT, Mixing};

/// Threads of a block.
const THREADS: u32 = 128;

/// No second weight.
const NONE: u32 = u32::MAX;

structure! {
    /// An atom that changes type.
    struct Changing {
        /// First weight of its site.
        first_weight: i32,
        /// Forms of its site.
        forms: i32,
        /// First of its types.
        first_type: i32,
    }
}

arguments! {
    /// Arguments of `find_changing`.
    struct PlacesArgs<'a> {
        /// Atoms by place.
        atoms: In<'a, u32>,
        numbers: In<'a, u32>,
        places: Out<'a, u32>,
        n: i32,
    }

    /// Arguments of `changing` and `changing_energy`.
    struct ChangingArgs<'a> {
        sites: In<'a, u64> as Site,
        x: In<'a, f64>,
        atoms: In<'a, u32>,
        list: In<'a, u32>,
        entries: In<'a, u32>,
        places: In<'a, u32>,
        changing: In<'a, Changing>,
        /// Types of the atoms that change, form by form.
        form_types: In<'a, u32>,
        /// Type of every atom in the topology.
        types: In<'a, u32>,
        /// Which of the atoms that change this one is, for every atom.
        numbers: In<'a, u32>,
        /// Roots of c6 and c12 of each pair of types.
        table: In<'a, [f64; 2]>,
        weights: In<'a, f64>,
        edges: In<'a, f64>,
        forces: Out<'a, i64>,
        by_weight: Out<'a, i64>,
        energies: Out<'a, i64>,
        /// 1 once a force or ∂V/∂λ was beyond the range of fixed-point numbers.
        status: Out<'a, u32>,
        capacity: i32,
        n_types: i32,
    }
}

/// The interactions that change between the forms of all sites, on a device.
pub struct DeviceVariants {
    pairs: Option<ChangingPairs>,
    bonded: Option<DeviceBonded>,
    by_weight: Buffer<i64>,
}

/// Lennard-Jones of the atoms that change type.
struct ChangingPairs {
    n: usize,
    places: Buffer<u32>,
    changing: Buffer<Changing>,
    form_types: Buffer<u32>,
    types: Buffer<u32>,
    numbers: Buffer<u32>,
    table: Buffer<f64>,
    n_types: usize,
    status: Buffer<u32>,
    find: Kernel<PlacesArgs<'static>>,
    forces: Kernel<ChangingArgs<'static>>,
    energy: Kernel<ChangingArgs<'static>>,
}

impl DeviceVariants {
    /// The interactions of `variants`; `settings` and `cell` are those of the ordinary Lennard-Jones term.
    ///
    /// # Errors
    /// Those of the device.
    pub fn new(device: &Device, variants: &Variants, settings: Settings, cell: Cell) -> Result<Self, DeviceTermError> {
        let bonded = DeviceBonded::weighted(device, &weighted_kinds(variants))?;
        let changes = !variants.pairs.changing.is_empty();
        Ok(Self {
            pairs: changes.then(|| ChangingPairs::new(device, variants, settings, cell)).transpose()?,
            bonded: (!bonded.is_empty()).then_some(bonded),
            by_weight: device.zeros(variants.weight_starts[variants.weight_starts.len() - 1])?,
        })
    }

    /// ∂V/∂λ_α of all forms of all sites, one site after the other, in 2⁻³² kJ/mol; whoever asks for forces has set them to zero.
    pub fn by_weight(&self) -> &Buffer<i64> {
        &self.by_weight
    }

    /// Whether atoms change their type, so that the forces of the ordinary Lennard-Jones term must have been enqueued before on the same stream.
    pub fn follow_lennard_jones(&self) -> bool {
        self.pairs.is_some()
    }

    /// Looks where the atoms are in the list of `lennard_jones`; to be called after every new list.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_rebuild(&self, stream: &Stream, lennard_jones: &DeviceLennardJones) -> Result<(), DeviceError> {
        let Some(pairs) = &self.pairs else { return Ok(()) };
        let arguments = PlacesArgs {
            atoms: lennard_jones.atoms.arg(),
            numbers: pairs.numbers.arg(),
            places: pairs.places.arg(),
            n: lennard_jones.n as i32,
        };
        stream.launch(&pairs.find, Launch::for_each(lennard_jones.n, THREADS), arguments)
    }

    /// Adds to `sums`, and ∂V/∂λ_α to [`Self::by_weight`], at `x` (3N, nm) and the `weights` of all forms; if they [`Self::follow_lennard_jones`], the
    /// forces of `lennard_jones` have been enqueued before on the same stream at the same positions. `cell` as there.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is shorter than that; what the driver says against the launches.
    pub fn enqueue_forces(
        &self,
        stream: &Stream,
        lennard_jones: &DeviceLennardJones,
        x: &Buffer<f64>,
        cell: &Buffer<f64>,
        weights: &Buffer<f64>,
        sums: Sums<'_>,
    ) -> Result<(), DeviceError> {
        lennard_jones.check_lengths(x, cell)?;
        weights.holds(self.by_weight.len())?;
        sums.hold(lennard_jones.n_atoms)?;
        let Sums { forces, energies, with_energy } = sums;
        if let Some(pairs) = &self.pairs {
            let arguments = ChangingArgs {
                sites: lennard_jones.sites.arg(),
                x: x.arg(),
                atoms: lennard_jones.atoms.arg(),
                list: lennard_jones.list.arg(),
                entries: lennard_jones.entries.arg(),
                places: pairs.places.arg(),
                changing: pairs.changing.arg(),
                form_types: pairs.form_types.arg(),
                types: pairs.types.arg(),
                numbers: pairs.numbers.arg(),
                table: (&pairs.table).into(),
                weights: weights.arg(),
                edges: lennard_jones.edges(cell),
                forces: forces.arg(),
                by_weight: self.by_weight.arg(),
                energies: energies.arg(),
                status: pairs.status.arg(),
                capacity: lennard_jones.capacity as i32,
                n_types: pairs.n_types as i32,
            };
            let kernel = if with_energy { &pairs.energy } else { &pairs.forces };
            stream.launch(kernel, Launch::new(pairs.n as u32, THREADS), arguments)?;
        }
        match &self.bonded {
            Some(bonded) => bonded.enqueue_weighted(stream, x, weights, &self.by_weight, sums),
            None => Ok(()),
        }
    }

    /// From now on [`Self::saturated`] tells of what comes.
    ///
    /// # Errors
    /// Those of the device.
    pub fn forget_saturation(&self, stream: &Stream) -> Result<(), DeviceError> {
        if let Some(pairs) = &self.pairs {
            stream.zero(&pairs.status)?;
        }
        self.bonded.as_ref().map_or(Ok(()), |bonded| bonded.forget_saturation(stream))
    }

    /// Whether a force or ∂V/∂λ was beyond the range of fixed-point numbers since [`Self::forget_saturation`]: the run has failed. Waits for the stream.
    ///
    /// # Errors
    /// A lost device.
    pub fn saturated(&self, stream: &Stream) -> Result<bool, DeviceError> {
        let pairs = self.pairs.as_ref().map_or(Ok(false), |pairs| Ok(pairs.status.read(stream)? != [0]))?;
        Ok(pairs || self.bonded.as_ref().map_or(Ok(false), |bonded| bonded.saturated(stream))?)
    }
}

impl ChangingPairs {
    fn new(device: &Device, variants: &Variants, settings: Settings, cell: Cell) -> Result<Self, DeviceError> {
        let pairs = &variants.pairs;
        let (mut changing, mut form_types) = (Vec::new(), Vec::new());
        for one in &pairs.changing {
            let first_type = form_types.len() as i32;
            changing.push(Changing {
                first_weight: one.weights.first as i32,
                forms: one.weights.forms as i32,
                first_type,
            });
            form_types.extend_from_slice(&one.types);
        }
        let table: Vec<f64> = pairs.table.roots.iter().flat_map(|one| [one.sixth, one.twelfth]).collect();
        let forms = pairs.changing.iter().map(|one| one.weights.forms).max().unwrap_or(1);
        let module = device.compile(&source(settings, forms, cell.is_triclinic()))?;
        Ok(Self {
            n: changing.len(),
            places: device.zeros(changing.len())?,
            changing: device.upload(&changing)?,
            form_types: device.upload(&form_types)?,
            types: device.upload(&pairs.types)?,
            numbers: device.upload(&pairs.numbers)?,
            table: device.upload(&table)?,
            n_types: pairs.table.n_types,
            status: device.zeros(1)?,
            find: module.kernel("find_changing")?,
            forces: module.kernel("changing")?,
            energy: module.kernel("changing_energy")?,
        })
    }
}

/// Kernels of the pairs, for sites of at most so many forms. Sums are f64; the coordinates are those of the ordinary term.
fn source(settings: Settings, forms: usize, triclinic: bool) -> Source {
    let source = Source::new("variants", include_str!("variants.cu"))
        .define("REAL", "double")
        .define("FORMS", forms)
        .define("CONSTANT", format!("{CONSTANT}u"))
        .header(include_str!("forces.cuh"))
        .kernel::<PlacesArgs<'static>>("find_changing")
        .kernel::<ChangingArgs<'static>>("changing")
        .kernel::<ChangingArgs<'static>>("changing_energy");
    potential(sites(source, settings.precision, triclinic), settings)
}

/// Bonded terms and 1-4 pairs of all forms; two weights stand before the atoms of each.
fn weighted_kinds(variants: &Variants) -> [Kind; KINDS] {
    let mut all = kinds(&Topology::default(), &[]);
    let mut add = |weights: [u32; 2], atoms: Option<&[u32]>, terms: &Topology| {
        let named = |atom: u32| atoms.map_or(atom, |atoms| atoms[atom as usize]);
        for (sum, kind) in all.iter_mut().zip(kinds(terms, &[])) {
            let row = |row: Vec<u32>| weights.into_iter().chain(row.into_iter().map(named)).collect();
            sum.atoms.extend(kind.atoms.into_iter().map(row));
            sum.parameters.extend(kind.parameters);
        }
    };
    for site in &variants.terms {
        let first = variants.weight_starts[site.site];
        for (form, terms) in site.forms.iter().enumerate() {
            add([(first + form) as u32, NONE], Some(&site.atoms), terms);
        }
    }
    for pair in &variants.pairs.pairs {
        let weights: Vec<[u32; 2]> = match pair.mixing {
            Mixing::One(one) => (0..one.forms).map(|form| [(one.first + form) as u32, NONE]).collect(),
            Mixing::Two([a, b]) => (0..a.forms)
                .flat_map(|k| (0..b.forms).map(move |l| [(a.first + k) as u32, (b.first + l) as u32]))
                .collect(),
        };
        for (weights, &(c6, c12)) in weights.into_iter().zip(&pair.coefficients) {
            // Coulomb stays with the ordinary terms.
            let pair = Pair14 { atoms: pair.atoms, c6, c12, coulomb_scale: 0.0 };
            add(weights, None, &Topology { pairs: vec![pair], ..Topology::default() });
        }
    }
    all
}

#[cfg(test)]
mod tests;
