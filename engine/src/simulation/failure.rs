//! What the state of a motion that could not go on tells of the cause, as text: who is fast, who is near, what is strained.
//!
//! Positions are those one step before, x − dt v, where constraints still held: what flew away is of no use. A vibration that has taken up energy shows as fast
//! atoms of one group with strained bonds, a collision as two atoms of different residues too near each other.
//!
//! Units: nm, nm/ps, K, kJ/mol.

use crate::state::State;
use crate::system::{System, start_temperature};
use forcefield::Topology;
use forcefield::bonded::dihedral::DihedralAngle;
use forcefield::units::GAS_CONSTANT;
use nalgebra::Vector3;
use std::fmt::Write;

/// Lines of each list.
const LISTED: usize = 8;

/// The text, several lines.
pub(super) fn report(system: &System, state: &State) -> String {
    let (topology, dt) = (&system.topology, system.plan.dt);
    let x: Vec<Vector3<f64>> = state.positions.iter().zip(&state.velocities).map(|(x, v)| x - dt * v).collect();
    let temperature = start_temperature(&system.config).filter(|t| *t > 0.0).unwrap_or(300.0);
    let rt = GAS_CONSTANT * temperature;
    let mut out = format!(
        "Positions are those of the step before, x − dt v. Velocities are those of the step that failed.\n\n\
         Fastest atoms, with their kinetic energy over 3/2 RT at {temperature} K, and the nearest atom that interacts with them:\n"
    );
    let energy = |atom: usize| 0.5 * system.masses[atom] * state.velocities[atom].norm_squared();
    let energies: Vec<f64> = (0..x.len()).map(energy).collect();
    for atom in largest(&energies) {
        let speed = state.velocities[atom].norm();
        let (label, part) = (topology.label(atom as u32), energies[atom] / (1.5 * rt));
        let near = nearest(topology, state, &x, atom).map_or(String::new(), |(other, distance)| {
            format!("; {distance:.3} nm to {}", topology.label(other as u32))
        });
        let _ = writeln!(out, "  {label}: {speed:.2} nm/ps, {part:.1}{near}");
    }
    let _ = writeln!(out, "\nBonded terms of highest energy (kJ/mol):");
    for (energy, term) in strained(topology, &x) {
        let _ = writeln!(out, "  {energy:.1}: {term}");
    }
    if let Some(vibration) = &system.vibration {
        let _ = writeln!(out, "\nFastest vibration of the system: {}", vibration.describe(dt));
    }
    out
}

/// Places of the largest values, which come first; what is not a number is largest.
fn largest(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].is_nan().cmp(&values[a].is_nan()).then(values[b].total_cmp(&values[a])));
    order.truncate(LISTED);
    order
}

/// The nearest atom that is not excluded, and its distance.
fn nearest(topology: &Topology, state: &State, x: &[Vector3<f64>], atom: usize) -> Option<(usize, f64)> {
    let excluded = topology.exclusions.of(atom as u32);
    let others = (0..x.len()).filter(|&other| other != atom && !excluded.contains(&(other as u32)));
    let distances = others.map(|other| (other, state.cell.minimum_image(x[other] - x[atom]).norm()));
    distances.filter(|(_, distance)| distance.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Energy (kJ/mol) of the most strained bonds, angles and dihedrals, with words.
fn strained(topology: &Topology, x: &[Vector3<f64>]) -> Vec<(f64, String)> {
    let at = |atom: u32| x[atom as usize];
    let name = |atoms: &[u32]| atoms.iter().map(|atom| topology.label(*atom)).collect::<Vec<_>>().join(" – ");
    let bonds = topology.bonds.iter().map(|bond| {
        let length = (at(bond.atoms[0]) - at(bond.atoms[1])).norm();
        let text = move || format!("bond {}, {length:.4} nm, at rest {:.4} nm", name(&bond.atoms), bond.r0);
        (0.5 * bond.k * (length - bond.r0).powi(2), Box::new(text) as Box<dyn Fn() -> String>)
    });
    let angles = topology.angles.iter().map(|angle| (angle.atoms, angle.theta0, angle.k));
    let more = topology.urey_bradley.iter().map(|angle| (angle.atoms, angle.theta0, angle.k));
    let angles = angles.chain(more).map(|(atoms, rest, k)| {
        let [a, b, c] = atoms.map(at);
        let angle = (a - b).angle(&(c - b));
        let text =
            move || format!("angle {}, {:.1}°, at rest {:.1}°", name(&atoms), angle.to_degrees(), rest.to_degrees());
        (0.5 * k * (angle - rest).powi(2), Box::new(text) as Box<dyn Fn() -> String>)
    });
    let dihedrals = topology.propers.iter().map(|term| {
        let phi = DihedralAngle::new(term.atoms, x).phi;
        let text = move || format!("dihedral {}, {:.1}°", name(&term.atoms), phi.to_degrees());
        let energy = term.k * (1.0 + (f64::from(term.multiplicity) * phi - term.phi0).cos());
        (energy, Box::new(text) as Box<dyn Fn() -> String>)
    });
    let all: Vec<(f64, Box<dyn Fn() -> String>)> = bonds.chain(angles).chain(dihedrals).collect();
    let energies: Vec<f64> = all.iter().map(|(energy, _)| *energy).collect();
    largest(&energies).into_iter().map(|place| (energies[place], all[place].1())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use std::path::Path;

    #[test]
    fn who_flew_and_what_was_strained_before_are_named() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/run.toml");
        let config = Config::parse(&std::fs::read_to_string(&path).unwrap(), &path).unwrap();
        let (system, mut state) = System::new(&config).unwrap();
        let (topology, dt) = (&system.topology, system.plan.dt);
        let [fast, slow] = topology.bonds[0].atoms;
        let [a, b] = [fast, slow].map(|atom| state.positions[atom as usize]);
        // A bond that was too long by 0.05 nm before one of its atoms left with 80 nm/ps.
        let stretch = 0.05 * (a - b).normalize();
        state.velocities[fast as usize] = Vector3::new(80.0, 0.0, 0.0);
        let before = a + stretch;
        state.positions[fast as usize] = before + dt * state.velocities[fast as usize];
        let text = report(&system, &state);
        let lines: Vec<&str> = text.lines().collect();
        let first = |heading: &str| {
            let at = lines.iter().position(|line| line.starts_with(heading)).unwrap();
            lines[at + 1]
        };
        let own = first("Fastest atoms");
        assert!(own.contains(&format!("{}: 80.00 nm/ps", topology.label(fast))), "{text}");
        // The nearest atom that is no neighbour along bonds is that of the step before, by looking at all.
        let distance = |other: usize| state.cell.minimum_image(state.positions[other] - before).norm();
        let others = (0..state.positions.len())
            .filter(|&other| other != fast as usize && !topology.exclusions.contains(fast, other as u32));
        let least = others.map(distance).fold(f64::INFINITY, f64::min);
        assert!(own.contains(&format!("; {least:.3} nm to ")), "{own} {least}");
        let length = (before - b).norm();
        let strained = first("Bonded terms");
        assert!(strained.contains("bond ") && strained.contains(&format!("{length:.4} nm, at rest")), "{text}");
        assert!(text.contains("Fastest vibration of the system: "));
    }
}
