//! Plain questions about numbers that can be read but can hardly be meant: coordinates in Ångström, a box ten times too large, a step of 2 ps.
//!
//! What may be legal physics (a droplet in a large box, a hot system) is a warning; what leaves nothing sensible is an error. Every bound is
//! far from what is usual, so that a question is worth reading.
//!
//! Units: nm, ps, u, e, kJ/mol, K.

use crate::config::Config;
use crate::error::Result;
use crate::fragments::Fragments;
use crate::motion::leapfrog;
use crate::selection::WATER;
use forcefield::Structure;
use forcefield::Topology;
use forcefield::cell::PeriodicBox;
use forcefield::topology::is_multiple;
use forcefield::units::DENSITY;
use nalgebra::Vector3;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A unit of length that is wrong by ten is found between these factors; bonds of a poor structure are off by a tenth.
const TEN_TIMES: std::ops::Range<f64> = 5.0..20.0;
/// A single bond beyond these factors of its length at rest: ½k(r − r0)² of a C–C bond is 1500 kJ/mol then.
const BOND: std::ops::Range<f64> = 0.5..1.5;
/// Sulfurs (nm) that are nearer are a disulfide, which is 0.2 nm long: those that no bond joins stay 0.35 nm apart.
const DISULFIDE: f64 = 0.25;
/// Density (kg/m³) of what contains water: ice and dense protein lie between 900 and 1400.
const WET: std::ops::Range<f64> = 300.0..3000.0;
/// Densest matter under ordinary conditions (osmium, kg/m³).
const DENSEST: f64 = 22_600.0;
/// A box without water that is wider than this many times its content.
const ROOMY: f64 = 5.0;
/// Charge (e) that no atom of a force field has, and one that no model of anything has.
const CHARGE: [f64; 2] = [10.0, 1000.0];
/// Net charge (e) that a solute may have, and per atom: DNA without its ions has 0.03 e for each atom.
const NET_CHARGE: [f64; 2] = [20.0, 0.05];
/// Temperature (K) up to which annealing goes.
const HOT: f64 = 1500.0;
/// Step (ps) for the lightest atom of 1 u with its bonds fixed: rigid water gets unstable between 5 and 7 fs. It grows with √mass.
const STEP: f64 = 0.005;
/// So many of these steps at once are a wrong unit.
const STEPS: f64 = 4.0;

/// Atoms of a molecule that is asked for its own images: a dipeptide, not an ion of several atoms.
const LARGE: usize = 20;

/// What is doubtful in structure and topology.
///
/// # Errors
/// [`crate::error::Error::Input`] for what nobody can mean: bonds ten times too long, matter denser than any, charges of thousands of e.
pub fn files(config: &Config, topology: &Topology, structure: &Structure) -> Result<Vec<String>> {
    let mut warnings = charges(config, topology)?;
    warnings.extend(bonds(config, topology, structure)?);
    warnings.extend(disulfides(topology, structure));
    warnings.extend(density(config, topology, structure)?);
    warnings.extend(speed(config, topology, structure));
    Ok(warnings)
}

/// Charges of single atoms, of molecules, and of all.
fn charges(config: &Config, topology: &Topology) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    let charge = |atom: usize| topology.atoms[atom].charge.abs();
    // The first of equals.
    let largest = (0..topology.n_atoms()).rev().max_by(|&a, &b| charge(a).total_cmp(&charge(b)));
    if let Some(atom) = largest.filter(|&atom| charge(atom) > CHARGE[0]) {
        let (label, charge) = (topology.label(atom as u32), topology.atoms[atom].charge);
        let message =
            format!("{label} has a charge of {charge} e in the topology: is it in units of the elementary charge?");
        if charge.abs() > CHARGE[1] {
            return Err(config.error_at("system.topology", message, "correct it in [ atoms ]"));
        }
        warnings.push(message);
    }
    let (mut seen, whole) = (BTreeMap::new(), topology.whole_charge());
    for molecule in &topology.molecules {
        let atoms = molecule.atoms.start as usize..molecule.atoms.end as usize;
        let charge: f64 = topology.atoms[atoms].iter().map(|atom| atom.charge).sum();
        if !is_multiple(charge, whole) && seen.insert(&molecule.name, charge).is_none() {
            warnings.push(format!(
                "a molecule {} has a net charge of {charge:+.4} e, not a whole number: is a residue incomplete, or of two force fields?",
                molecule.name
            ));
        }
    }
    let (charge, most) = (topology.net_charge(), NET_CHARGE[0].max(NET_CHARGE[1] * topology.n_atoms() as f64));
    if charge.abs() > most {
        let atoms = topology.n_atoms();
        warnings.push(format!("{atoms} atoms have a net charge of {charge:+.1} e: are the ions missing?"));
    }
    Ok(warnings)
}

/// Lengths of bonds in the structure over those at rest.
fn bonds(config: &Config, topology: &Topology, structure: &Structure) -> Result<Option<String>> {
    let waters = topology.settles.iter().flat_map(|s| s.hydrogens.map(|h| ([s.oxygen, h], s.d_oh)));
    let rigid = topology.constraints.iter().map(|c| (c.atoms, c.length));
    let all = topology.bonds.iter().map(|b| (b.atoms, b.r0)).chain(rigid).chain(waters);
    let ratio = |([i, j], rest): ([u32; 2], f64)| {
        let d = structure.positions[i as usize] - structure.positions[j as usize];
        (structure.cell.minimum_image(d).norm() / rest, [i, j], rest)
    };
    let mut ratios: Vec<(f64, [u32; 2], f64)> = all.filter(|(_, rest)| *rest > 0.0).map(ratio).collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(&(median, ..)), Some(shortest), Some(longest)) =
        (ratios.get(ratios.len() / 2), ratios.first(), ratios.last())
    else {
        return Ok(None);
    };
    let file = config.system.structure.display();
    if !BOND.contains(&median) {
        let question = match median {
            ratio if TEN_TIMES.contains(&ratio) => "are its coordinates in Ångström? A .gro file has nm",
            ratio if TEN_TIMES.contains(&(1.0 / ratio)) => {
                "are its coordinates a tenth of what they should be? A .gro file has nm"
            }
            _ => "is it the structure of another topology?",
        };
        let message = format!(
            "half of the bonds of {file} are {median:.2} times or more as long as they are at rest: {question}"
        );
        let message = if median < 1.0 { message.replace("times or more", "times or less") } else { message };
        return Err(config.error_at("system.structure", message, ""));
    }
    let far = ratios.iter().filter(|(ratio, ..)| !BOND.contains(ratio)).count();
    let &(ratio, [i, j], rest) = if longest.0 * shortest.0.max(1e-9) > 1.0 { longest } else { shortest };
    Ok((far > 0).then(|| {
        let bonds = if far == 1 { "1 bond is".into() } else { format!("{far} bonds are") };
        let [i, j] = [i, j].map(|atom| topology.label(atom));
        format!(
            "{bonds} far from the length at rest: {:.3} nm from {i} to {j}, where {rest:.3} nm belong; is the structure damaged, or a \
             molecule cut by the box?",
            ratio * rest
        )
    }))
}

/// Sulfurs of Cys that lie as in a disulfide and have no bond: programs that build topologies know residues of some names only.
fn disulfides(topology: &Topology, structure: &Structure) -> Option<String> {
    let sulfurs = topology.residues.iter().flat_map(|residue| residue.atoms.clone());
    let sulfurs: Vec<u32> = sulfurs.filter(|&atom| topology.atoms[atom as usize].name == "SG").collect();
    let fixed = topology.constraints.iter().map(|constraint| constraint.atoms);
    let bonds = topology.bonds.iter().map(|bond| bond.atoms).chain(fixed);
    let is_sulfur = |atom: &u32| sulfurs.binary_search(atom).is_ok();
    let joined: HashSet<[u32; 2]> =
        bonds.filter(|pair| pair.iter().all(is_sulfur)).map(|[i, j]| [i.min(j), i.max(j)]).collect();
    let pairs = sulfurs.iter().enumerate().flat_map(|(k, &i)| sulfurs[k + 1..].iter().map(move |&j| [i, j]));
    let mut near = pairs.filter(|pair| !joined.contains(pair)).filter_map(|[i, j]| {
        let d = structure.positions[i as usize] - structure.positions[j as usize];
        let distance = structure.cell.minimum_image(d).norm();
        (distance < DISULFIDE).then(|| {
            let [i, j] = [i, j].map(|atom| topology.label(atom));
            format!("{i} and {j} ({distance:.3} nm)")
        })
    });
    let first = near.next()?;
    let all = std::iter::once(first).chain(near).collect::<Vec<_>>().join(", ");
    Some(format!(
        "sulfurs lie as in a disulfide, and no bond of the topology joins them: {all}; was the bridge forgotten when the topology was built?"
    ))
}

/// Density of what contains water, and the room that anything else has in its box.
fn density(config: &Config, topology: &Topology, structure: &Structure) -> Result<Option<String>> {
    let Some(periodic) = structure.cell.periodic() else { return Ok(None) };
    let volume = periodic.volume();
    if config.electrostatics.boundary == crate::config::Boundary::Open {
        return Ok(None);
    }
    let density = topology.masses().iter().sum::<f64>() / volume * DENSITY;
    let file = config.system.structure.display();
    if density > DENSEST {
        let message =
            format!("the box of {file} has a density of {density:.0} kg/m³, more than any matter: is the box in nm?");
        return Err(config.error_at("system.structure", message, ""));
    }
    let is_wet = !topology.settles.is_empty() || topology.residues.iter().any(|r| WATER.contains(&r.name.as_str()));
    if is_wet {
        let question = if density < WET.start {
            "is the box in Ångström, ten times too large? A droplet or a layer in vacuum has such a density as well"
        } else {
            "is the box too small?"
        };
        return Ok((!WET.contains(&density))
            .then(|| format!("the density is {density:.3} kg/m³, where water has 1000: {question}")));
    }
    let start = [Vector3::repeat(f64::INFINITY), Vector3::repeat(f64::NEG_INFINITY)];
    let [low, high] = structure.positions.iter().fold(start, |[low, high], x| [low.inf(x), high.sup(x)]);
    let extent = (high - low).max();
    // A molecule or two alone in a box are legal, and so small that nothing can be told.
    let edge = periodic.heights().min();
    Ok((extent > 1.0 && edge > ROOMY * extent)
        .then(|| format!("the box is {edge:.1} nm wide and its atoms {extent:.1} nm: is the box in Ångström?")))
}

/// Molecules, whole at `x` (nm), that come nearer to an image of themselves than the cut-off of Lennard-Jones.
pub fn images(
    config: &Config,
    topology: &Topology,
    fragments: &Fragments,
    x: &[Vector3<f64>],
    periodic: &PeriodicBox,
) -> Option<String> {
    let cutoff = config.van_der_waals.cutoff.get();
    let nearest = |atoms: Vec<u32>| nearest_image(&atoms, x, periodic, cutoff);
    let large = fragments.iter().map(|atoms| atoms.collect::<Vec<_>>()).filter(|atoms| atoms.len() >= LARGE);
    let Near { distance, atoms } = large.filter_map(nearest).min_by(|a, b| a.distance.total_cmp(&b.distance))?;
    let [i, j] = atoms.map(|atom| topology.label(atom));
    Some(format!(
        "a molecule is {distance:.2} nm from its own periodic image ({i} to {j}), less than the cut-off of {}: it feels itself; take a larger box",
        config.van_der_waals.cutoff
    ))
}

/// Two atoms of a molecule and of its image.
struct Near {
    distance: f64,
    atoms: [u32; 2],
}

/// The shortest distance (nm) between `atoms` and their images, if it is below `reach`.
fn nearest_image(atoms: &[u32], x: &[Vector3<f64>], periodic: &PeriodicBox, reach: f64) -> Option<Near> {
    let start = [Vector3::repeat(f64::INFINITY), Vector3::repeat(f64::NEG_INFINITY)];
    let [low, high] = atoms.iter().map(|&a| x[a as usize]).fold(start, |[low, high], x| [low.inf(&x), high.sup(&x)]);
    let place = |x: Vector3<f64>| <[i64; 3]>::from(x.map(|x| (x / reach).floor() as i64));
    let mut grid: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
    let mut nearest: Option<Near> = None;
    // Whatever is longer than dozens of boxes meets an image that is nearer than its ends; the sum over skewed layers and rows stays below what can be listed.
    let longest = 0.4 * f64::from(PeriodicBox::MOST_EDGES) * periodic.diagonal().min();
    let extent = ((high - low).max() + reach).min(longest);
    // Half of the images: the others are the same pairs.
    for turns in periodic.images_within(extent).into_iter().filter(|turns| *turns > [0; 3]) {
        let shift = periodic.vector(turns.map(f64::from));
        let gap = (0..3).map(|d| (shift[d].abs() - (high[d] - low[d])).max(0.0).powi(2)).sum::<f64>();
        if gap >= reach * reach {
            continue;
        }
        if grid.is_empty() {
            atoms.iter().for_each(|&atom| grid.entry(place(x[atom as usize])).or_default().push(atom));
        }
        for &i in atoms {
            let image = x[i as usize] + shift;
            let [a, b, c] = place(image);
            let around = (a - 1..=a + 1).flat_map(|a| (b - 1..=b + 1).map(move |b| [a, b]));
            let around = around.flat_map(|[a, b]| (c - 1..=c + 1).map(move |c| [a, b, c]));
            for &j in around.filter_map(|at| grid.get(&at)).flatten() {
                let distance = (image - x[j as usize]).norm();
                if distance < nearest.as_ref().map_or(reach, |near| near.distance) {
                    nearest = Some(Near { distance, atoms: [i, j] });
                }
            }
        }
    }
    nearest
}

/// Temperatures of the job and of the velocities of the structure.
fn speed(config: &Config, topology: &Topology, structure: &Structure) -> Vec<String> {
    let bath = super::start_temperature(config).unwrap_or(0.0);
    let mut warnings = Vec::new();
    if bath > HOT {
        warnings.push(format!(
            "the temperature is {bath} K, where force fields are made for about 300 K: is a digit too many?"
        ));
    }
    if let Some(velocities) =
        structure.velocities.as_ref().filter(|_| config.dynamics.velocities != crate::config::Velocities::Generate)
    {
        let kinetic: f64 = topology.masses().iter().zip(velocities).map(|(m, v)| 0.5 * m * v.norm_squared()).sum();
        let temperature = leapfrog::temperature(kinetic, 3 * topology.n_moving());
        if temperature > HOT && temperature > 4.0 * bath {
            let file = config.system.structure.display();
            warnings.push(format!(
                "the velocities of {file} are those of {temperature:.0} K: are they in Ångström/ps? A .gro file has nm/ps"
            ));
        }
    }
    warnings
}

/// What is doubtful in the time step, for a topology whose rigid bonds are constraints already.
///
/// # Errors
/// [`crate::error::Error::Input`] at a step with which nothing can be stable.
pub fn time_step(config: &Config, topology: &Topology) -> Result<Option<String>> {
    let dt = config.dynamics.time_step.get();
    let masses = topology.masses();
    let lightest = masses.iter().copied().filter(|&mass| mass > 0.0).fold(f64::INFINITY, f64::min);
    if config.steps() == 0 || !lightest.is_finite() {
        return Ok(None);
    }
    let refused = |message: String, help: &str| Err(config.error_at("dynamics.time_step", message, help));
    let (step, limit) = (config.dynamics.time_step, STEP * lightest.sqrt());
    if dt > STEPS * limit {
        let message = format!("found {step}, with atoms of {lightest:.3} u: is it in fs?");
        return refused(message, "valid with fixed bonds to hydrogen is \"2 fs\"; take \"0.5 fs\" to \"1 fs\" without");
    }
    let period = |bond: &forcefield::topology::Bond| {
        let [a, b] = bond.atoms.map(|atom| masses[atom as usize]);
        (2.0 * std::f64::consts::PI * (a * b / (a + b) / bond.k).sqrt(), bond.atoms)
    };
    // A bond to a site without mass has no vibration: the site is where its parents put it.
    let has_masses = |bond: &&forcefield::topology::Bond| bond.atoms.iter().all(|atom| masses[*atom as usize] > 0.0);
    let moving = topology.bonds.iter().filter(|bond| bond.k > 0.0).filter(has_masses).map(period);
    if let Some((period, atoms)) = moving.min_by(|a, b| a.0.total_cmp(&b.0)) {
        let [i, j] = atoms.map(|atom| topology.label(atom));
        let bond = format!("the bond from {i} to {j} vibrates once in {:.1} fs", 1e3 * period);
        // Bonds of heavy atoms, and angles, stay: to fix more is no way to longer steps.
        let help = if atoms.iter().any(|&atom| topology.is_hydrogen(atom)) {
            "take a shorter step, or dynamics.constraints = \"h-bonds\""
        } else {
            "take a shorter step"
        };
        // Leap-frog of a harmonic bond diverges above 2/ω; a fifth of a period is the rule of thumb for an accurate one.
        if dt > period / std::f64::consts::PI {
            return refused(format!("{bond}, and with steps of {step} its motion diverges"), help);
        }
        if dt > period / 5.0 {
            return Ok(Some(format!("{bond}, less than five time steps of {step}: {help}")));
        }
    }
    Ok((dt > limit).then(|| {
        format!(
            "the time step is {step}, and the lightest atom has {lightest:.3} u: rigid water and fixed bonds are stable up to about {:.1} fs; \
             are masses of hydrogens increased?",
            1e3 * limit
        )
    }))
}

#[cfg(test)]
mod tests;
