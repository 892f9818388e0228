//! The NonbondedForce: charges, Lennard-Jones parameters, exceptions.
//!
//! OpenMM combines σ = (σ_i + σ_j)/2, ε = √(ε_i ε_j); V = 4ε((σ/r)¹² − (σ/r)⁶). An exception replaces the interaction of two particles by one
//! with its own product of charges, σ and ε, plain and without cut-off; one without any is an exclusion. The product is a factor times q_i q_j:
//! where a charge is zero the factor is that of the other 1-4 pairs of the same residues, or of the molecule, if they have but one.

use std::collections::{HashMap, HashSet};

use super::bonded::sorted;
use super::custom::{Coefficients, Custom};
use super::element::Element;
use super::error::{SystemXmlError, SystemXmlProblem};
use crate::exclusions::ExcludedPairs;
use crate::topology::{AtomType, LennardJonesTable, Pair14, Topology, Well};

/// Factors closer than this (relative) are the same: products are rounded.
const SAME_FACTOR: f64 = 1e-9;

/// A particle's charge (e), σ (nm), ε (kJ/mol).
#[derive(Clone, Copy, Debug)]
struct Particle {
    charge: f64,
    sigma: f64,
    epsilon: f64,
}

/// An exception: two particles, product of charges (e²), σ, ε.
#[derive(Clone, Copy, Debug)]
struct Exception {
    atoms: [u32; 2],
    product: f64,
    sigma: f64,
    epsilon: f64,
}

/// The force as it was read.
#[derive(Debug)]
pub(super) struct Nonbonded {
    particles: Vec<Particle>,
    exceptions: Vec<Exception>,
}

/// c6 (kJ/mol nm⁶) and c12 (kJ/mol nm¹²).
pub(super) fn coefficients(sigma: f64, epsilon: f64) -> (f64, f64) {
    Well { sigma, epsilon }.coefficients()
}

impl Nonbonded {
    pub fn read(force: &Element<'_>, n_atoms: usize, notes: &mut Vec<String>) -> Result<Self, SystemXmlError> {
        for (list, what) in [
            ("GlobalParameters", "global parameters"),
            ("ParticleOffsets", "offsets of particles"),
            ("ExceptionOffsets", "offsets of exceptions"),
        ] {
            if force.children(list).next().is_some() {
                let what = format!("{what} change its parameters in a run, which is not supported; remove them");
                return Err(force.unsupported(what));
            }
        }
        if !force.flag("includeDirectSpace", true)? {
            return Err(
                force.unsupported("includeDirectSpace = 0 leaves out interactions, which is not supported; valid is 1")
            );
        }
        notes.push(method(force)?);
        let particle = |one: Element<'_>| {
            let (charge, sigma, epsilon) = (one.real("q")?, one.real("sig")?, one.real("eps")?);
            if epsilon < 0.0 {
                return Err(one.invalid("eps", "zero or a positive number"));
            }
            Ok(Particle { charge, sigma, epsilon })
        };
        let particles = force.children("Particles").map(particle).collect::<Result<Vec<_>, _>>()?;
        if particles.len() != n_atoms {
            let (found, wanted) = (particles.len(), n_atoms);
            return Err(force.error(SystemXmlProblem::Particles { force: force.title(), found, wanted }));
        }
        let exception = |one: Element<'_>| {
            let atoms = one.atoms(["p1", "p2"], n_atoms)?;
            let (product, sigma, epsilon) = (one.real("q")?, one.real("sig")?, one.real("eps")?);
            let [i, j] = atoms.map(|atom| particles[atom as usize].charge);
            if product != 0.0 && i * j == 0.0 {
                return Err(one.invalid("q", format!("0, since the charges of its particles are {i} and {j} e")));
            }
            Ok(Exception { atoms, product, sigma, epsilon })
        };
        let exceptions = force.children("Exceptions").map(exception).collect::<Result<_, _>>()?;
        Ok(Self { particles, exceptions })
    }

    /// Puts charges, types, exclusions and 1-4 pairs into `top`; the result are the pairs whose factor is not known. `custom` are further Lennard-Jones
    /// interactions by particle, `extra` by pair; `bonds` are the chemical ones.
    pub fn finish(
        self,
        top: &mut Topology,
        keep: &[&str],
        custom: &[(String, Custom)],
        extra: Vec<([u32; 2], Coefficients)>,
        bonds: &[[u32; 2]],
    ) -> Result<Vec<[u32; 2]>, SystemXmlProblem> {
        top.atoms.iter_mut().zip(&self.particles).for_each(|(atom, particle)| atom.charge = particle.charge);
        top.exclusions = ExcludedPairs::from_pairs(top.n_atoms(), self.exceptions.iter().map(|one| one.atoms));
        for (force, one) in custom {
            let others = ExcludedPairs::from_pairs(top.n_atoms(), one.exclusions.iter().copied());
            let not_in = |all: &ExcludedPairs, of: &ExcludedPairs| all.pairs().find(|&[i, j]| !of.contains(i, j));
            for (what, pair) in
                [("does not exclude", not_in(&top.exclusions, &others)), ("excludes", not_in(&others, &top.exclusions))]
            {
                if let Some(pair) = pair {
                    return Err(SystemXmlProblem::Exclusions { force: force.clone(), what, pair });
                }
            }
        }
        self.set_types(top, keep, custom);
        let unknown = self.pairs(top, bonds);
        add_pairs(top, extra);
        Ok(unknown)
    }

    /// Puts the types of all atoms into `top`, and those of `keep`: beside custom forces where the types that are there follow the rule by which their pairs with
    /// others are then known.
    fn set_types(&self, top: &mut Topology, keep: &[&str], custom: &[(String, Custom)]) {
        let mut types = self.intern_types(top, custom);
        let wanted: Vec<(Well, Option<Well>, &str)> =
            keep.iter().filter_map(|name| parameters(name).map(|(own, in_pairs)| (own, in_pairs, *name))).collect();
        let mut kept = Vec::new();
        if custom.is_empty() {
            let plain = wanted.iter().filter(|(_, in_pairs, _)| in_pairs.is_none());
            kept.extend(plain.map(|&(own, _, name)| (types.intern(own, Vec::new()), name)));
        }
        top.lj = mixed_table(&types.all, custom);
        let named = |one: &TypeParameters| AtomType { name: type_name(one, custom), atomic_number: None };
        top.atom_types = types.all.iter().map(named).collect();
        for (index, name) in kept {
            top.atom_types[index as usize].name = name.into();
        }
        if !wanted.is_empty() && follows_rule(&top.lj) {
            let appended = wanted.iter().filter(|(_, in_pairs, _)| !custom.is_empty() || in_pairs.is_some());
            appended.for_each(|&(own, in_pairs, name)| append(top, own, in_pairs, name));
        }
    }

    /// Gives every atom the number of its type; types are in the order of their first atoms.
    fn intern_types(&self, top: &mut Topology, custom: &[(String, Custom)]) -> Types {
        let mut types = Types::default();
        for (atom, particle) in self.particles.iter().enumerate() {
            let well = Well { sigma: particle.sigma, epsilon: particle.epsilon };
            let kinds = custom.iter().map(|(_, one)| one.of_particles[atom]).collect();
            top.atoms[atom].type_index = types.intern(well, kinds);
        }
        types
    }

    fn pairs(&self, top: &mut Topology, bonds: &[[u32; 2]]) -> Vec<[u32; 2]> {
        let charge = |atom: u32| self.particles[atom as usize].charge;
        let mut factors = Factors::default();
        for one in self.exceptions.iter().filter(|one| one.product != 0.0) {
            let factor = one.product / (charge(one.atoms[0]) * charge(one.atoms[1]));
            let scale = factors.add(factor, one.atoms, top);
            let (c6, c12) = coefficients(one.sigma, one.epsilon);
            top.pairs.push(Pair14 { atoms: one.atoms, c6, c12, coulomb_scale: scale });
        }
        // A zero charge may be that of an atom that has one in another form.
        let neutral = |one: &&Exception| one.product == 0.0 && charge(one.atoms[0]) * charge(one.atoms[1]) == 0.0;
        let neighbours = Neighbours::new(top.n_atoms(), bonds);
        let mut unknown = Vec::new();
        for one in &self.exceptions {
            if one.product != 0.0 {
                continue;
            }
            let scale = if neutral(&one) && neighbours.are_three_apart(one.atoms) {
                factors.of(one.atoms, top).unwrap_or_else(|| {
                    unknown.push(one.atoms);
                    1.0
                })
            } else {
                0.0
            };
            let (c6, c12) = coefficients(one.sigma, one.epsilon);
            if scale != 0.0 || c6 != 0.0 || c12 != 0.0 {
                top.pairs.push(Pair14 { atoms: one.atoms, c6, c12, coulomb_scale: scale });
            }
        }
        unknown
    }
}

/// What makes a type: its σ and ε, and its kind in each custom force.
#[derive(Clone, Debug)]
struct TypeParameters {
    well: Well,
    kinds: Vec<u32>,
}

/// Types that differ in something.
#[derive(Default)]
struct Types {
    all: Vec<TypeParameters>,
    /// Number of each, by the bits of σ and ε and by its kinds.
    numbers: HashMap<(u64, u64, Vec<u32>), u32>,
}

impl Types {
    /// Number of the type with these parameters, which is a new one if there is none. Without ε there is no σ.
    fn intern(&mut self, well: Well, kinds: Vec<u32>) -> u32 {
        let well = if well.epsilon == 0.0 { Well { sigma: 0.0, epsilon: 0.0 } } else { well };
        let key = (well.sigma.to_bits(), well.epsilon.to_bits(), kinds.clone());
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push(TypeParameters { well, kinds });
            self.all.len() as u32 - 1
        })
    }
}

/// Coefficients of all pairs of `types`: those of the rule of OpenMM, and what custom forces add.
fn mixed_table(types: &[TypeParameters], custom: &[(String, Custom)]) -> LennardJonesTable {
    let (mut c6, mut c12) = (Vec::new(), Vec::new());
    for one in types {
        for other in types {
            let (mut six, mut twelve) = one.well.with(other.well).coefficients();
            for ((_, force), (i, j)) in custom.iter().zip(one.kinds.iter().zip(&other.kinds)) {
                let (a, b) = force.table[*i as usize * force.kinds.len() + *j as usize];
                six += a;
                twelve += b;
            }
            c6.push(six);
            c12.push(twelve);
        }
    }
    LennardJonesTable { n_types: types.len(), c6, c12 }
}

/// "LJ σ ε", with the names and parameters of custom forces where there are any; those alone without ε.
fn type_name(one: &TypeParameters, custom: &[(String, Custom)]) -> String {
    let Well { sigma, epsilon } = one.well;
    let own = custom.iter().zip(&one.kinds);
    let own: Vec<String> =
        own.map(|((_, force), kind)| format!("{} {:?}", force.name, force.kinds[*kind as usize])).collect();
    match (custom.is_empty(), epsilon == 0.0) {
        (false, true) => own.join(" "),
        (false, false) => format!("LJ {sigma} {epsilon} {}", own.join(" ")),
        _ => format!("LJ {sigma} {epsilon}"),
    }
}

/// Whether pairs of different types follow the rule of Lorentz and Berthelot, but for a tenth of them (NBFIX): then those of a type that no atom has are known.
fn follows_rule(table: &LennardJonesTable) -> bool {
    let wells: Vec<Option<Well>> = (0..table.n_types as u32).map(|t| table.well(t)).collect();
    let [mut others, mut all] = [0_usize; 2];
    for (i, j) in (0..wells.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let (Some(one), Some(other)) = (wells[i], wells[j]) else { continue };
        let found = Well::of(table.get(i as u32, j as u32));
        all += 1;
        others += usize::from(!found.is_some_and(|found| found.is_same(one.with(other))));
    }
    10 * others <= all
}

/// Appends a type that no atom has, with its pairs by the rule of [`follows_rule`], and with another well in 1-4 pairs if there is one.
fn append(top: &mut Topology, own: Well, in_pairs: Option<Well>, name: &str) {
    if top.atom_types.iter().any(|one| one.name == name) {
        return;
    }
    let n = top.lj.n_types;
    let with = |t: u32| top.lj.well(t).map_or((0.0, 0.0), |other| own.with(other).coefficients());
    let row: Vec<Coefficients> = (0..n as u32).map(with).chain([own.coefficients()]).collect();
    let extended = |table: &[f64], of: fn(&Coefficients) -> f64| -> Vec<f64> {
        let rows = table.chunks_exact(n).zip(&row).flat_map(|(old, one)| old.iter().copied().chain([of(one)]));
        rows.chain(row.iter().map(of)).collect()
    };
    let (c6, c12) = (extended(&top.lj.c6, |one| one.0), extended(&top.lj.c12, |one| one.1));
    top.lj = LennardJonesTable { n_types: n + 1, c6, c12 };
    top.atom_types.push(AtomType { name: name.into(), atomic_number: None });
    top.wells_14.extend(in_pairs.map(|well| (n as u32, well)));
}

/// Adds Lennard-Jones coefficients to the 1-4 pairs, or as pairs of their own where there are none.
fn add_pairs(top: &mut Topology, extra: Vec<([u32; 2], Coefficients)>) {
    let mut index: HashMap<[u32; 2], usize> =
        top.pairs.iter().enumerate().map(|(index, pair)| (sorted(pair.atoms), index)).collect();
    for (atoms, (c6, c12)) in extra {
        let next = top.pairs.len();
        match *index.entry(sorted(atoms)).or_insert(next) {
            index if index < next => {
                top.pairs[index].c6 += c6;
                top.pairs[index].c12 += c12;
            }
            _ => top.pairs.push(Pair14 { atoms, c6, c12, coulomb_scale: 0.0 }),
        }
    }
}

/// The well of a type that is named by σ and ε, as `"LJ 0.3 0.5"`, and that in 1-4 pairs, if the name has four numbers.
fn parameters(name: &str) -> Option<(Well, Option<Well>)> {
    let numbers = name.strip_prefix("LJ ")?.split_whitespace().map(|word| word.parse::<f64>().ok());
    let numbers = numbers.collect::<Option<Vec<f64>>>()?;
    let well = |[sigma, epsilon]: [f64; 2]| {
        [sigma, epsilon].iter().all(|one| one.is_finite() && *one >= 0.0).then_some(Well { sigma, epsilon })
    };
    match numbers[..] {
        [sigma, epsilon] => Some((well([sigma, epsilon])?, None)),
        [sigma, epsilon, sigma_14, epsilon_14] => Some((well([sigma, epsilon])?, Some(well([sigma_14, epsilon_14])?))),
        _ => None,
    }
}

/// What the file says of cut-offs and long-range interactions, which a job decides.
fn method(force: &Element<'_>) -> Result<String, SystemXmlError> {
    const METHODS: [&str; 6] = ["NoCutoff", "CutoffNonPeriodic", "CutoffPeriodic", "Ewald", "PME", "LJPME"];
    let index = force.whole("method")?;
    let name = METHODS.get(index as usize).ok_or_else(|| force.invalid("method", "a number from 0 to 5"))?;
    let mut words = format!("the system was made for {name}");
    if index > 0 {
        words += &format!(", cut-off {} nm", force.positive("cutoff")?);
        if force.flag("useSwitchingFunction", false)? {
            words += &format!(", switched from {} nm", force.real("switchingDistance")?);
        }
        let with = force.flag("dispersionCorrection", true)?;
        words += if with { ", with dispersion correction" } else { ", without dispersion correction" };
    }
    Ok(words + "; [electrostatics] and [van_der_waals] of the job decide")
}

/// Factors of products of charges, by residue and by molecule.
#[derive(Default)]
struct Factors {
    all: Vec<f64>,
    of_residues: HashMap<u32, HashSet<usize>>,
    of_molecules: HashMap<u32, HashSet<usize>>,
}

impl Factors {
    /// Notes a factor; the result is the first that was equal to it up to rounding.
    fn add(&mut self, factor: f64, atoms: [u32; 2], top: &Topology) -> f64 {
        let same = |one: &f64| (one - factor).abs() <= SAME_FACTOR * one.abs();
        let index = self.all.iter().position(same).unwrap_or_else(|| {
            self.all.push(factor);
            self.all.len() - 1
        });
        for atom in atoms {
            let atom = &top.atoms[atom as usize];
            self.of_residues.entry(atom.residue).or_default().insert(index);
            self.of_molecules.entry(atom.molecule).or_default().insert(index);
        }
        self.all[index]
    }

    /// The one factor of the residues of two atoms, else of their molecule.
    fn of(&self, atoms: [u32; 2], top: &Topology) -> Option<f64> {
        let [i, j] = atoms.map(|atom| &top.atoms[atom as usize]);
        let of = |residue: u32| self.of_residues.get(&residue).into_iter().flatten();
        let near: HashSet<usize> = of(i.residue).chain(of(j.residue)).copied().collect();
        let far = self.of_molecules.get(&i.molecule);
        let one = |set: &HashSet<usize>| set.iter().next().copied().filter(|_| set.len() == 1);
        one(&near).or_else(|| far.filter(|_| near.is_empty()).and_then(one)).map(|index| self.all[index])
    }
}

/// Atoms by bonds.
struct Neighbours(Vec<Vec<u32>>);

impl Neighbours {
    fn new(n_atoms: usize, bonds: &[[u32; 2]]) -> Self {
        let mut of = vec![Vec::new(); n_atoms];
        for [i, j] in bonds.iter().map(|&pair| sorted(pair)) {
            of[i as usize].push(j);
            of[j as usize].push(i);
        }
        Self(of)
    }

    /// Whether the shortest way from one atom to the other is of three bonds.
    fn are_three_apart(&self, [i, j]: [u32; 2]) -> bool {
        let of = |atom: u32| &self.0[atom as usize];
        let near = of(i).contains(&j) || of(i).iter().any(|&k| of(k).contains(&j));
        !near && of(i).iter().any(|&k| of(k).iter().any(|&l| of(l).contains(&j)))
    }
}
