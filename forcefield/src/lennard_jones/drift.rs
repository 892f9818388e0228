//! How much energy a list of pairs loses with its age, by kinetic theory: what the buffer of a list that serves for a fixed time must be.
//!
//! A list holds the pairs within R = cut-off + buffer. A pair from beyond that comes within the cut-off after a time t if its relative
//! displacement, normally distributed with σ² = σ_i² + σ_j² along each axis, is large enough. With a uniform density the pairs that are then
//! missed have the energy
//!
//! ```text
//! U(t) = Σ_ij 4π/V ∫ φ(z) F(σz − b') dz,   z from b'/σ on,     F(d) = ∫₀^d V_ij(r) r² du,  r = r_c − u,     b' = b − σ²/R
//! ```
//!
//! with the pair potential as it is modified at the cut-off, not its expansion; σ²/R is by how much displacements across the line between the
//! atoms lengthen it. The energy changes by U when the list is made anew, so that the
//! drift is U/(N t). It is an upper estimate: atoms of a liquid are stopped by their neighbours long before they have flown as far as they would
//! freely. The idea is that of S. Páll and B. Hess, Comput. Phys. Commun. 184, 2641 (2013), DOI 10.1016/j.cpc.2013.06.003.
//! Units: nm, ps, u, kJ/mol.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use kernels::lennard_jones::{Modified, Power};

use super::{Classes, Modifier};
use crate::topology::Topology;

/// Intervals of the integrals.
const POINTS: usize = 160;

/// Standard deviations beyond which no displacement counts: one in 10¹⁵.
const TAIL: f64 = 8.0;

/// Standard deviations of the free flight that no atom in equilibrium exceeds: one in 10²¹ does, less often than there are steps of atoms in a
/// year of any computer.
const IMPOSSIBLE: f64 = 10.0;

/// Longest buffer that is looked for, nm.
const LONGEST: f64 = 1.0;

/// How an atom flies from its place: with the centre of its fixed bond, about which it turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    /// Inverse mass of what flies straight on, 1/u.
    pub flight: f64,
    /// Inverse mass that turns, for each of the two axes across the bond, 1/u.
    pub turn: f64,
    /// Distance from the centre that the atom turns about, nm.
    pub arm: f64,
}

impl Mobility {
    /// An atom of `mass` (u) that nothing holds.
    pub fn free(mass: f64) -> Self {
        Self { flight: 1.0 / mass, turn: 0.0, arm: 0.0 }
    }

    /// An atom of `mass` (u) at a fixed distance `length` (nm) from one of the mass `partner`. Whatever else is fixed only slows it down.
    pub fn bound(mass: f64, partner: f64, length: f64) -> Self {
        let whole = mass + partner;
        Self { flight: 1.0 / whole, turn: partner / (mass * whole), arm: length * partner / whole }
    }

    /// σ² (nm²) along each axis after `time` (ps) of free flight at `rt` = RT (kJ/mol).
    ///
    /// The turn is that of a free rotor: the mean square of its displacement is 2 arm² (1 − ⟨cos θ⟩), with the angle s = √(RT turn) t/arm about
    /// each axis; 1 − ⟨cos θ⟩ ≤ s²/(1 + s²/3), and never more than 1.29.
    pub fn variance(&self, rt: f64, time: f64) -> f64 {
        let square = rt * time * time;
        let turned = if self.arm > 0.0 {
            let s2 = square * self.turn / (self.arm * self.arm);
            2.0 / 3.0 * self.arm * self.arm * (s2 / (1.0 + s2 / 3.0)).min(1.29)
        } else {
            0.0
        };
        square * self.flight + turned
    }

    /// How far (nm) the atom can come in `time` (ps) while the system is in equilibrium; one that is farther away is out of control.
    pub fn farthest(&self, rt: f64, time: f64) -> f64 {
        IMPOSSIBLE * (rt * self.flight).sqrt() * time + 2.0 * self.arm
    }
}

/// Atoms that move alike: the sums over their pairs of c6 and c12.
#[derive(Clone, Copy, Debug)]
struct PairKind {
    mobilities: [Mobility; 2],
    c6: f64,
    c12: f64,
}

/// The drift of the energy that the list of a system brings.
#[derive(Clone, Debug)]
pub struct ListDrift {
    kinds: Vec<PairKind>,
    modified: Modified,
    rt: f64,
    /// Atoms of the system, and its volume, nm³.
    n: f64,
    volume: f64,
}

impl ListDrift {
    /// For the atoms of `top`, which move by `mobilities` at `rt` = RT (kJ/mol) in the `volume` (nm³), and Lennard-Jones with `cutoff` (nm).
    ///
    /// # Panics
    /// If there is not one mobility for each atom.
    pub fn new(top: &Topology, mobilities: &[Mobility], rt: f64, volume: f64, cutoff: f64, modifier: Modifier) -> Self {
        assert_eq!(mobilities.len(), top.atoms.len(), "one mobility for each atom");
        let active: Vec<usize> = (0..top.atoms.len()).filter(|&a| !top.lj.is_inert(top.atoms[a].type_index)).collect();
        let types: Vec<u32> = active.iter().map(|&a| top.atoms[a].type_index).collect();
        let Classes { of_atoms, table } = Classes::new(&types, &top.lj);
        // Number of atoms of each mobility and class; mobilities are alike to three digits, the faster one counts.
        let mut groups: BTreeMap<[u64; 3], (Mobility, Vec<f64>)> = BTreeMap::new();
        for (&atom, &class) in active.iter().zip(&of_atoms) {
            let m = mobilities[atom];
            let key = [m.flight, m.turn, m.arm].map(|v| (v * 2000.0).ceil() as u64);
            let (fastest, counts) = groups.entry(key).or_insert_with(|| (m, vec![0.0; table.n_types]));
            fastest.flight = fastest.flight.max(m.flight);
            fastest.turn = fastest.turn.max(m.turn);
            fastest.arm = fastest.arm.max(m.arm);
            counts[class as usize] += 1.0;
        }
        let groups: Vec<(Mobility, Vec<f64>)> = groups.into_values().collect();
        let mut kinds = Vec::new();
        for (i, (first, of_first)) in groups.iter().enumerate() {
            for (second, of_second) in &groups[i..] {
                // Every pair once.
                let half = if std::ptr::eq(of_first, of_second) { 0.5 } else { 1.0 };
                let (mut c6, mut c12) = (0.0, 0.0);
                for (a, &n_a) in of_first.iter().enumerate() {
                    for (b, &n_b) in of_second.iter().enumerate() {
                        let (six, twelve) = table.get(a as u32, b as u32);
                        c6 += half * n_a * n_b * six;
                        c12 += half * n_a * n_b * twelve;
                    }
                }
                kinds.push(PairKind { mobilities: [*first, *second], c6, c12 });
            }
        }
        // What is cut off as it is has the forces of what is shifted, and the motion knows only forces.
        let modifier = if modifier == Modifier::None { Modifier::PotentialShift } else { modifier };
        Self { kinds, modified: modifier.at_cutoff(cutoff), rt, n: top.atoms.len() as f64, volume }
    }

    /// Drift of the energy (kJ/mol/ps per atom) with lists of `buffer` (nm) that serve for `time` (ps); an upper estimate, not negative.
    pub fn drift(&self, buffer: f64, time: f64) -> f64 {
        let missed: f64 = self.kinds.iter().map(|kind| self.missed(kind, buffer, time)).sum();
        4.0 * PI / self.volume * missed / (self.n * time)
    }

    /// The shortest buffer (nm) whose drift is at most `tolerance` (kJ/mol/ps per atom) with lists that serve for `time` (ps); none if it would be
    /// longer than 1 nm.
    pub fn buffer(&self, time: f64, tolerance: f64) -> Option<f64> {
        if self.drift(LONGEST, time) > tolerance {
            return None;
        }
        let (mut short, mut long) = (0.0, LONGEST);
        if self.drift(short, time) <= tolerance {
            return Some(short);
        }
        // To a thousandth of an ångström.
        while long - short > 1e-4 {
            let middle = 0.5 * (short + long);
            if self.drift(middle, time) <= tolerance { long = middle } else { short = middle }
        }
        Some(long)
    }

    /// Σ over the pairs of a kind of |∫ φ(z) F(σz − b') dz|, kJ/mol nm³.
    fn missed(&self, kind: &PairKind, buffer: f64, time: f64) -> f64 {
        let sigma = kind.mobilities.iter().map(|m| m.variance(self.rt, time)).sum::<f64>().sqrt();
        let buffer = buffer - sigma * sigma / (self.modified.cutoff + buffer);
        let deepest = (TAIL * sigma - buffer).min(0.5 * self.modified.cutoff);
        if deepest <= 0.0 || (kind.c6 == 0.0 && kind.c12 == 0.0) {
            return 0.0;
        }
        let step = deepest / POINTS as f64;
        // F by the trapezoidal rule along the way, then the mean over displacements by the same rule; dz = du/σ.
        let (mut integral, mut depth, mut before) = (0.0, 0.0, self.shell(kind, 0.0));
        for point in 1..=POINTS {
            let u = point as f64 * step;
            let here = self.shell(kind, u);
            depth += 0.5 * step * (before + here);
            before = here;
            let z = (buffer + u) / sigma;
            integral += depth * (-0.5 * z * z).exp() * step;
        }
        (integral / (sigma * (2.0 * PI).sqrt())).abs()
    }

    /// Sum of the pair potentials of a kind at the distance `depth` inside the cut-off, times its square.
    fn shell(&self, kind: &PairKind, depth: f64) -> f64 {
        let r = self.modified.cutoff - depth;
        let x = (r - self.modified.r_switch).max(0.0);
        let power = |p: &Power, plain: f64| plain - x.powi(3) * (p.a / 3.0 + p.b / 4.0 * x) - p.shift;
        let six = r.powi(-6);
        r * r * (kind.c12 * power(&self.modified.twelve, six * six) - kind.c6 * power(&self.modified.six, six))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExcludedPairs;
    use crate::topology::{Atom, AtomType, LennardJonesTable};
    use nalgebra::Vector3;

    const RT: f64 = 2.494;

    /// `n` atoms of argon's mass and of TIP3P oxygen's Lennard-Jones.
    fn atoms(n: usize) -> Topology {
        let atom = Atom { name: "X".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 16.0 };
        Topology {
            atoms: vec![atom; n],
            atom_types: vec![AtomType { name: "X".into(), atomic_number: None }],
            lj: LennardJonesTable { n_types: 1, c6: vec![2.489e-3], c12: vec![2.435e-6] },
            exclusions: ExcludedPairs::from_pairs(n, []),
            ..Default::default()
        }
    }

    /// Normal numbers, by a linear congruential generator and the sum of twelve.
    fn normals() -> impl FnMut() -> f64 {
        let mut state = 7_u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        move || {
            // Box–Muller: the tails count.
            let (a, b) = (uniform().max(1e-300), uniform());
            (-2.0 * a.ln()).sqrt() * (2.0 * PI * b).cos()
        }
    }

    /// Pairs of an ideal gas that were beyond the list and are within the cut-off after a free flight, one by one.
    #[test]
    fn a_gas_in_free_flight_misses_what_is_predicted() {
        use crate::lennard_jones::modifier::pair;
        let (n, edge, cutoff, time) = (2000, 4.0, 1.0, 0.15);
        let (top, mut normal) = (atoms(n), normals());
        // Two kinds of atoms; the light ones turn about heavy ones, but hardly in this time.
        let mobility =
            |i: usize| if i.is_multiple_of(2) { Mobility::free(16.0) } else { Mobility::bound(4.0, 40.0, 1.0) };
        let mobilities: Vec<Mobility> = (0..n).map(mobility).collect();
        let nearest = |d: f64| d - edge * (d / edge).round();
        for (modifier, buffer) in
            [(Modifier::PotentialShift, 0.1), (Modifier::None, 0.15), (Modifier::ForceSwitch { r_switch: 0.8 }, 0.05)]
        {
            let theory = ListDrift::new(&top, &mobilities, RT, edge.powi(3), cutoff, modifier);
            let modified =
                if modifier == Modifier::None { Modifier::PotentialShift } else { modifier }.at_cutoff(cutoff);
            let (mut missed, rounds) = (0.0, 8);
            for _ in 0..rounds {
                let x: Vec<Vector3<f64>> =
                    (0..n).map(|_| Vector3::from_fn(|_, _| edge * (normal() * 10.0).rem_euclid(1.0))).collect();
                let moved: Vec<Vector3<f64>> = x
                    .iter()
                    .zip(&mobilities)
                    .map(|(x, m)| x + m.variance(RT, time).sqrt() * Vector3::from_fn(|_, _| normal()))
                    .collect();
                for i in 0..n {
                    for j in 0..i {
                        let then = (x[i] - x[j]).map(nearest).norm();
                        let now = (moved[i] - moved[j]).map(nearest).norm();
                        if then > cutoff + buffer && now < cutoff {
                            missed -= pair(&modified, 2.489e-3, 2.435e-6, now).energy;
                        }
                    }
                }
            }
            let found = missed / (n as f64 * time * f64::from(rounds));
            let predicted = theory.drift(buffer, time);
            // Some thousand pairs of each kind: 3 %.
            assert!((predicted / found - 1.0).abs() < 0.1, "{modifier:?}: {predicted:e}, found {found:e}");
        }
    }

    #[test]
    fn buffers_hold_what_they_promise() {
        let top = atoms(3000);
        let theory = ListDrift::new(&top, &[Mobility::free(16.0); 3000], RT, 90.0, 1.0, Modifier::PotentialShift);
        let mut before = 0.0;
        for time in [0.002, 0.01, 0.02, 0.04, 0.08] {
            let buffer = theory.buffer(time, 1e-6).unwrap();
            assert!(theory.drift(buffer, time) <= 1e-6 && theory.drift(buffer - 2e-4, time) > 1e-6, "{time}");
            assert!(buffer > before, "older lists need longer buffers");
            before = buffer;
        }
        // The thermal displacement of a pair is 0.022 nm after 40 fs: between three and four of them.
        let buffer = theory.buffer(0.04, 1e-6).unwrap();
        assert!((0.06..0.09).contains(&buffer), "{buffer}");
        assert!(theory.buffer(0.04, 1e-4).unwrap() < buffer);
        assert_eq!(theory.buffer(10.0, 1e-6), None, "atoms cross the box");
        // A force that ends smoothly forgives more.
        let smooth =
            ListDrift::new(&top, &[Mobility::free(16.0); 3000], RT, 90.0, 1.0, Modifier::ForceSwitch { r_switch: 0.8 });
        assert!(smooth.buffer(0.04, 1e-6).unwrap() < 0.8 * buffer);
    }

    /// The velocity of a hydrogen on a fixed bond, against its definition: that of the centre and that of the turn.
    #[test]
    fn a_fixed_bond_slows_a_hydrogen_down_and_ends_its_way() {
        let (m, heavy, length) = (1.008, 12.011, 0.109);
        let bound = Mobility::bound(m, heavy, length);
        let short = bound.variance(RT, 1e-4) / 1e-8;
        // ⟨v²⟩ = 3 RT/M + 2 (m'/M)² RT/μ, a third of it for each axis.
        let whole = m + heavy;
        let reduced = m * heavy / whole;
        let expected = RT * (3.0 / whole + 2.0 * (heavy / whole).powi(2) / reduced) / 3.0;
        assert!((short / expected - 1.0).abs() < 1e-3, "{short} {expected}");
        assert!(short < Mobility::free(m).variance(RT, 1e-4) / 1e-8);
        // Later it has turned about, and what is left is the flight of the centre.
        let late = bound.variance(RT, 1.0) - RT / whole;
        assert!(late <= 2.0 / 3.0 * 1.29 * bound.arm.powi(2) + 1e-12 && late > 0.5 * bound.arm.powi(2));
        assert!((bound.farthest(RT, 0.04) - (0.4 * (RT / whole).sqrt() + 2.0 * bound.arm)).abs() < 1e-12);
        assert!(bound.farthest(RT, 0.04) < Mobility::free(m).farthest(RT, 0.04));
    }
}
