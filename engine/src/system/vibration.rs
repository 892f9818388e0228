//! The fastest vibration of a system, which decides how long a time step may be.
//!
//! Leap-frog of a harmonic vibration of angular frequency ω diverges beyond dt = 2/ω. Below, it turns by 2 asin(ω dt/2) per step, and where that is the
//! n-th part of a circle, dt = 2 sin(π/n)/ω, the parts of the potential that are not harmonic push in the same direction in every n-th step:
//! resonances, of which the third order (0.866 of the limit) is the strong one. Positions fluctuate by 1/√(1 − (ω dt/2)²) too much.
//!
//! ω² is the largest eigenvalue of P M⁻¹ H P: H = Σ V''(q) ∇q ∇qᵀ over bonds, angles and dihedrals q at the start, P the projection that keeps
//! constraints, orthogonal in the metric of the masses M. Correction maps and pairs are left out, which are softer: the limit comes out too long by 0.2 to
//! 0.7 % (normal modes of 1PGB with all forces, `benchmarks/README.md`). H has no part of the slopes V'(q), so that a structure that is not minimised has the
//! vibrations of one that is. A Lanczos iteration in the metric of M finds
//! it, on one molecule of each kind; rigid water has none.
//!
//! Units: nm, ps, u, kJ/mol, rad. References: C. Lanczos, J. Res. Natl. Bur. Stand. 45, 255 (1950), DOI 10.6028/jres.045.026; T. Schlick,
//! M. Mandziuk, R. D. Skeel, K. Srinivas, J. Comput. Phys. 140, 1 (1998), DOI 10.1006/jcph.1998.5879.

use crate::config::Config;
use crate::error::Result;
use crate::motion::constraints::Constraints;
use crate::random::maxwell_velocities;
use forcefield::Topology;
use forcefield::bonded::dihedral::DihedralAngle;
use forcefield::topology::{Constraint, Settle};
use nalgebra::{DMatrix, SymmetricEigen, Vector3};
use std::collections::HashSet;

/// Most steps of the iteration, and how many go between two looks at what it has found.
const STEPS: [usize; 2] = [100, 20];
/// Residual, a part of ω², at which it ends; the error of ω² is at most that.
const RESIDUAL: f64 = 2e-3;
/// Relative length of a bond that constraints keep while velocities are projected: positions are not moved.
const TOLERANCE: f64 = 1e-10;
/// Part of the limit above which the user is warned. Capped Phe of ff14SB in vacuum, three runs of 100 000 steps without thermostat for each step and
/// hydrogen mass: at 4.4 fs (0.78, 0.76 and 0.75 of the limit with hydrogens of 3, 2 and 1.5 u) the energy stays, at 4.6 fs it rises.
const NEAR: f64 = 0.78;
/// Part of the limit from which the resonance of fourth order (0.707) is warned of with v-rescale, which leaves in a vibration what it takes up. Two runs with
/// it ended at a ring of Phe by steps of 4 fs, 0.72 and 0.70 of the limit, after 3.2 and 0.45 ns, and none with Langevin dynamics (`validation/ff14SB.md`).
const FOURTH: f64 = 0.69;
/// ω² over that of the stiffest term below which it is rounding of what constraints leave: their projection keeps 14 digits of velocities.
const ROUNDING: f64 = 1e-12;
/// What helps.
const SHORTER: &str = "take a shorter step";
/// Most atoms that are named.
const NAMED: usize = 4;
/// Part of the kinetic energy of the residue that an atom must have to be named.
const TAKES_PART: f64 = 0.08;

/// A vibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Vibration {
    /// Angular frequency ω, rad/ps.
    pub frequency: f64,
    /// The residue that takes part most, as "PHE 30", and those of its atoms that do, by name.
    pub place: String,
}

impl Vibration {
    /// 2π/ω, ps.
    pub fn period(&self) -> f64 {
        2.0 * std::f64::consts::PI / self.frequency
    }

    /// The step beyond which leap-frog diverges, 2/ω, ps.
    pub fn limit(&self) -> f64 {
        2.0 / self.frequency
    }

    /// The step at which leap-frog turns it by an `order`-th of a circle, ps.
    pub fn resonance(&self, order: u32) -> f64 {
        (std::f64::consts::PI / f64::from(order)).sin() * self.limit()
    }

    /// Where steps of `dt` (ps) stand, for the log.
    pub fn describe(&self, dt: f64) -> String {
        let [period, limit, third, fourth] =
            [self.period(), self.limit(), self.resonance(3), self.resonance(4)].map(|time| 1e3 * time);
        format!(
            "{period:.1} fs, {}; steps are {:.2} of the limit of leap-frog, {limit:.2} fs (resonances: third order {third:.2} fs, fourth {fourth:.2} fs)",
            self.place,
            dt / self.limit()
        )
    }

    /// What is to be said of the time step of a job.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] above the limit.
    pub(super) fn check(&self, config: &Config) -> Result<Option<String>> {
        let (step, part) = (config.dynamics.time_step, config.dynamics.time_step.get() / self.limit());
        let fast = format!("the fastest vibration, of {}, has a period of {:.1} fs", self.place, 1e3 * self.period());
        if part >= 1.0 {
            let message = format!(
                "{fast}, and with steps of {step}, above 2/ω = {:.2} fs, its motion diverges",
                1e3 * self.limit()
            );
            return Err(config.error_at("dynamics.time_step", message, SHORTER));
        }
        let friction = config.thermostat.as_ref().filter(|bath| bath.is_langevin()).map(|bath| bath.friction());
        let end = friction.map_or("until constraints fail".into(), |friction| {
            format!("which a friction of {friction} has to take away again")
        });
        if part > NEAR {
            return Ok(Some(format!(
                "{fast}: steps of {step} are near the resonance of third order at {:.2} fs, where it takes up energy{} {end}; {}",
                1e3 * self.resonance(3),
                if friction.is_some() { "," } else { "" },
                SHORTER
            )));
        }
        let scaled = config.thermostat.is_some() && friction.is_none();
        Ok((scaled && part > FOURTH).then(|| {
            format!(
                "{fast}: steps of {step} are near the resonance of fourth order at {:.2} fs, and v-rescale leaves in it what it takes up, which has ended \
                 runs after nanoseconds; take thermostat.kind = \"langevin\", or a shorter step",
                1e3 * self.resonance(4)
            )
        }))
    }
}

/// The fastest vibration of a topology whose rigid bonds are constraints already, at whole molecules `x` (nm); none where nothing vibrates, or where atoms
/// lie on each other, of which others tell.
pub fn fastest(topology: &Topology, x: &[Vector3<f64>]) -> Option<Vibration> {
    let part = Part::new(topology, x)?;
    let (square, mode) = part.largest()?;
    let residue_of = |&atom: &u32| topology.atoms[atom as usize].residue;
    let shares: Vec<f64> = part.masses.iter().zip(&mode).map(|(m, v)| m * v.norm_squared()).collect();
    // Atoms of a residue follow each other.
    let mut first = 0;
    let residues: Vec<(usize, usize, f64)> = part
        .atoms
        .chunk_by(|a, b| residue_of(a) == residue_of(b))
        .map(|atoms| {
            let start = first;
            first += atoms.len();
            (start, first, shares[start..first].iter().sum())
        })
        .collect();
    let &(start, end, whole) = residues.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let mut order: Vec<usize> = (start..end).filter(|&i| shares[i] > TAKES_PART * whole).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    let atom = |i: usize| &topology.atoms[part.atoms[i] as usize];
    let names: Vec<&str> = order.iter().take(NAMED).map(|&i| atom(i).name.as_str()).collect();
    let residue = &topology.residues[atom(start).residue as usize];
    Some(Vibration {
        frequency: square.sqrt(),
        place: format!("{} {} ({})", residue.name, residue.number, names.join(", ")),
    })
}

/// V'' of one internal coordinate (kJ/mol/nm² or /rad²) and its gradient; places that are not needed have none.
struct Stiffness {
    k: f64,
    atoms: [usize; 4],
    gradient: [Vector3<f64>; 4],
}

/// One molecule of each kind.
struct Part {
    /// Its atoms in the topology, rising.
    atoms: Vec<u32>,
    masses: Vec<f64>,
    x: Vec<Vector3<f64>>,
    terms: Vec<Stiffness>,
    constraints: Constraints,
}

impl Part {
    fn new(topology: &Topology, x: &[Vector3<f64>]) -> Option<Self> {
        let mut all = stiffnesses(topology, x);
        // A term with a site without mass, such as O-EP of AMBER's water, is one of what places the site.
        all.retain(|term| {
            term.atoms
                .iter()
                .zip(&term.gradient)
                .all(|(atom, g)| topology.atoms[*atom].mass > 0.0 || g.norm_squared() == 0.0)
        });
        let mut vibrates = vec![false; topology.molecules.len()];
        all.iter().for_each(|term| vibrates[topology.atoms[term.atoms[0]].molecule as usize] = true);
        let mut seen = HashSet::new();
        let mut atoms = Vec::new();
        for (molecule, _) in topology.molecules.iter().zip(&vibrates).filter(|(_, vibrates)| **vibrates) {
            let range = molecule.atoms.start as usize..molecule.atoms.end as usize;
            let of_atom = |atom: &forcefield::topology::Atom| (atom.type_index, atom.mass.to_bits());
            let kind: Vec<(u32, u64)> = topology.atoms[range].iter().map(of_atom).collect();
            if seen.insert((molecule.name.as_str(), kind)) {
                atoms.extend(molecule.atoms.clone());
            }
        }
        let mut place = vec![None; topology.atoms.len()];
        (0..).zip(&atoms).for_each(|(at, atom)| place[*atom as usize] = Some(at));
        let at = |atom: u32| place[atom as usize];
        let terms = all.into_iter().filter_map(|term| {
            let [a, b, c, d] = term.atoms.map(|atom| at(atom as u32));
            Some(Stiffness { atoms: [a?, b?, c?, d?].map(|at: u32| at as usize), ..term })
        });
        let pair = |one: &Constraint| Some(Constraint { atoms: [at(one.atoms[0])?, at(one.atoms[1])?], ..*one });
        let water = |one: &Settle| {
            let [oxygen, a, b] = [one.oxygen, one.hydrogens[0], one.hydrogens[1]].map(at);
            Some(Settle { oxygen: oxygen?, hydrogens: [a?, b?], ..*one })
        };
        let constraints: Vec<Constraint> = topology.constraints.iter().filter_map(pair).collect();
        let settles: Vec<Settle> = topology.settles.iter().filter_map(water).collect();
        let masses: Vec<f64> = atoms.iter().map(|atom| topology.atoms[*atom as usize].mass).collect();
        Some(Self {
            constraints: Constraints::from_parts(&masses, &constraints, &settles, TOLERANCE).ok()?,
            x: atoms.iter().map(|atom| x[*atom as usize]).collect(),
            terms: terms.collect(),
            masses,
            atoms,
        })
    }

    /// P M⁻¹ H v of a v within the constraints.
    fn apply(&self, v: &[Vector3<f64>]) -> Option<Vec<Vector3<f64>>> {
        let mut out = vec![Vector3::zeros(); v.len()];
        for term in &self.terms {
            let along: f64 = term.atoms.iter().zip(&term.gradient).map(|(atom, g)| g.dot(&v[*atom])).sum();
            for (atom, g) in term.atoms.iter().zip(&term.gradient) {
                out[*atom] += term.k * along * g;
            }
        }
        for (out, mass) in out.iter_mut().zip(&self.masses) {
            *out = if *mass > 0.0 { *out / *mass } else { Vector3::zeros() };
        }
        self.constraints.project(&self.x, &mut out).ok()?;
        Some(out)
    }

    /// The largest V''(q) ∇q·M⁻¹∇q of a term alone, rad²/ps², without constraints.
    fn stiffest(&self) -> f64 {
        let alone = |term: &Stiffness| {
            let parts = term.atoms.iter().zip(&term.gradient).filter(|(atom, _)| self.masses[**atom] > 0.0);
            term.k * parts.map(|(atom, g)| g.norm_squared() / self.masses[*atom]).sum::<f64>()
        };
        self.terms.iter().map(alone).fold(0.0, f64::max)
    }

    /// Σ m a·b.
    fn product(&self, a: &[Vector3<f64>], b: &[Vector3<f64>]) -> f64 {
        self.masses.iter().zip(a).zip(b).map(|((m, a), b)| m * a.dot(b)).sum()
    }

    /// The largest eigenvalue, rad²/ps², and its vector, as velocities.
    fn largest(&self) -> Option<(f64, Vec<Vector3<f64>>)> {
        // Equal parts of all vibrations, whatever their atoms weigh.
        let mut next = maxwell_velocities(&self.masses, 300.0, 1);
        self.constraints.project(&self.x, &mut next).ok()?;
        let (mut basis, mut diagonal, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        let mut length = self.product(&next, &next).sqrt();
        loop {
            if !(length.is_finite() && length > 0.0) {
                return None;
            }
            next.iter_mut().for_each(|v| *v /= length);
            let mut image = self.apply(&next)?;
            basis.push(std::mem::take(&mut next));
            diagonal.push(self.product(basis.last()?, &image));
            // Rounding lets vectors that have been found come back.
            for old in &basis {
                let part = self.product(old, &image);
                image.iter_mut().zip(old).for_each(|(v, old)| *v -= part * old);
            }
            length = self.product(&image, &image).sqrt();
            let largest = diagonal.iter().copied().fold(0.0, f64::max);
            let ends = length <= 1e-10 * largest;
            if ends || diagonal.len().is_multiple_of(STEPS[1]) {
                let (square, vector) = top(&diagonal, &beside);
                let residual = length * vector.last()?.abs();
                if ends || residual < RESIDUAL * square || diagonal.len() >= STEPS[0] {
                    let mut mode = vec![Vector3::zeros(); self.masses.len()];
                    for (part, vector) in vector.iter().zip(&basis) {
                        mode.iter_mut().zip(vector).for_each(|(out, v)| *out += *part * v);
                    }
                    return (square > ROUNDING * self.stiffest()).then_some((square, mode));
                }
            }
            beside.push(length);
            next = image;
        }
    }
}

/// The largest eigenvalue of a symmetric tridiagonal matrix and its vector.
fn top(diagonal: &[f64], beside: &[f64]) -> (f64, Vec<f64>) {
    let n = diagonal.len();
    let matrix = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => beside[i.min(j)],
        _ => 0.0,
    });
    let eigen = SymmetricEigen::new(matrix);
    let best = eigen.eigenvalues.imax();
    (eigen.eigenvalues[best], eigen.eigenvectors.column(best).iter().copied().collect())
}

/// All bonded terms of `topology` but correction maps at `x`.
fn stiffnesses(topology: &Topology, x: &[Vector3<f64>]) -> Vec<Stiffness> {
    let mut out = Vec::new();
    let mut distance = |[i, j]: [u32; 2], k: f64| {
        let (i, j) = (i as usize, j as usize);
        let u = (x[i] - x[j]).try_normalize(0.0).unwrap_or_default();
        out.push(Stiffness { k, atoms: [i, j, i, i], gradient: [u, -u, Vector3::zeros(), Vector3::zeros()] });
    };
    topology.bonds.iter().chain(&topology.distances).for_each(|bond| distance(bond.atoms, bond.k));
    topology.urey_bradley.iter().for_each(|term| distance([term.atoms[0], term.atoms[2]], term.k13));
    let angles = topology.angles.iter().map(|angle| (angle.atoms, angle.k));
    for (atoms, k) in angles.chain(topology.urey_bradley.iter().map(|term| (term.atoms, term.k))) {
        let [i, j, l] = atoms.map(|atom| atom as usize);
        let (a, b) = (x[i] - x[j], x[l] - x[j]);
        // Straight angles bend in any direction, and their gradient has none.
        let normal = a.cross(&b).try_normalize(1e-9 * a.norm() * b.norm()).unwrap_or_default();
        let (by_i, by_l) = (a.cross(&normal) / a.norm_squared(), normal.cross(&b) / b.norm_squared());
        out.push(Stiffness { k, atoms: [i, j, l, i], gradient: [by_i, -by_i - by_l, by_l, Vector3::zeros()] });
    }
    let mut twist = |atoms: [u32; 4], curvature: &dyn Fn(f64) -> f64| {
        let DihedralAngle { phi, gradient } = DihedralAngle::new(atoms, x);
        out.push(Stiffness { k: curvature(phi), atoms: atoms.map(|atom| atom as usize), gradient });
    };
    for term in &topology.propers {
        let n = f64::from(term.multiplicity);
        twist(term.atoms, &|phi| -term.k * n * n * (n * phi - term.phi0).cos());
    }
    topology.harmonic_impropers.iter().for_each(|term| twist(term.atoms, &|_| term.k));
    for term in &topology.ryckaert_bellemans {
        twist(term.atoms, &|phi| {
            // d²/dψ² of cⁿ, c = cos ψ: n (n−1) cⁿ⁻² sin² ψ − n cⁿ.
            let (sine, c) = (phi - std::f64::consts::PI).sin_cos();
            let part = |n: i32| {
                let m = f64::from(n);
                let bent = if n > 1 { m * (m - 1.0) * c.powi(n - 2) * sine * sine } else { 0.0 };
                bent - m * c.powi(n)
            };
            (1..).zip(&term.c[1..]).map(|(n, k)| k * part(n)).sum()
        });
    }
    out
}

#[cfg(test)]
mod tests;
