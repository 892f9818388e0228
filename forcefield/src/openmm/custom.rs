//! Custom forces that CHARMM force fields and NBFIX need, recognised by their energy: whatever the expression, its values must be those of a known
//! function at many points.
//!
//! | force | function |
//! |---|---|
//! | CustomNonbondedForce | c12/r¹² − c6/r⁶ for each pair of parameters |
//! | CustomBondForce | c12/r¹² − c6/r⁶ (1-4 pairs), ½ k (r − r0)² |
//! | CustomTorsionForce | ½ k (θ − θ0)², the difference taken in (−π, π] |

use std::collections::HashMap;
use std::f64::consts::PI;

use super::bonded::Terms;
use super::element::Element;
use super::error::{SystemXmlError, SystemXmlProblem};
use super::expression::{Expression, Table};
use crate::topology::{Bond, HarmonicImproper};

/// Relative difference of values that are the same function: constants such as π are written with ten digits or more.
const SAME: f64 = 1e-8;
/// Distances (nm) at which functions of a distance are compared. The far ones find what acts only there, such as a restraint with a flat bottom.
const DISTANCES: [f64; 13] = [0.1, 0.17, 0.25, 0.33, 0.47, 0.71, 1.0, 1.37, 2.9, 5.3, 11.0, 31.0, 130.0];
/// Two of them, whose values give the coefficients.
const FITTED: [f64; 2] = [DISTANCES[0], DISTANCES[8]];
/// The end of a message about an energy.
const NO_FORM: &str = "its values are not of a form that is computed";
/// Angles (rad) at which functions of a torsion are compared.
const ANGLES: usize = 37;

/// c6 and c12.
pub(super) type Coefficients = (f64, f64);

/// A Lennard-Jones interaction by parameters of particles.
#[derive(Debug)]
pub(super) struct Custom {
    /// Name of the first parameter, for names of types.
    pub name: String,
    /// Parameters of each particle that differ.
    pub kinds: Vec<Vec<f64>>,
    /// Which of them each particle has.
    pub of_particles: Vec<u32>,
    /// Coefficients of kinds i and j at \[i n + j\].
    pub table: Vec<Coefficients>,
    /// Pairs that it leaves out.
    pub exclusions: Vec<[u32; 2]>,
}

/// The names that `list` defines, in order.
fn names(force: &Element<'_>, list: &str) -> Result<Vec<String>, SystemXmlError> {
    force.children(list).map(|one| one.text("name").map(str::to_string)).collect()
}

/// The values of parameters 1 to `n` of an entry.
fn parameters(entry: &Element<'_>, n: usize) -> Result<Vec<f64>, SystemXmlError> {
    (1..=n).map(|k| entry.real(&format!("param{k}"))).collect()
}

/// The expression of a force over `variables`, and the values of its global parameters, which are the last variables.
fn expression(force: &Element<'_>, mut variables: Vec<String>) -> Result<(Expression, Vec<f64>), SystemXmlError> {
    let mut globals = Vec::new();
    for one in force.children("GlobalParameters") {
        variables.push(one.text("name")?.into());
        globals.push(one.real("default")?);
    }
    let mut tables = Vec::new();
    for one in force.children("Functions") {
        let values = one.children("Values").map(|value| value.real("v")).collect::<Result<Vec<_>, _>>()?;
        let two = match one.text("type")? {
            "Discrete1DFunction" => false,
            "Discrete2DFunction" => true,
            other => {
                return Err(force.unsupported(format!(
                    "a tabulated function of type {other}; valid are Discrete1DFunction, Discrete2DFunction"
                )));
            }
        };
        let size = if two { one.whole("xsize")? as usize } else { values.len() };
        tables.push((one.text("name")?.into(), Table { size, values }));
    }
    let parsed = Expression::parse(force.text("energy")?, &variables, tables);
    parsed.map(|parsed| (parsed, globals)).map_err(|why| unknown(force, &why, ""))
}

fn unknown(force: &Element<'_>, why: &str, known: &'static str) -> SystemXmlError {
    let energy = shortened(force.optional("energy").unwrap_or_default());
    force.error(SystemXmlProblem::Expression { force: force.title(), energy, why: shortened(why), known })
}

/// The beginning of a text that is too long for a message.
fn shortened(text: &str) -> String {
    const LENGTH: usize = 400;
    let short: String = text.chars().take(LENGTH).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// c6 and c12 of a function that is c12/r¹² − c6/r⁶ at all distances.
fn lennard_jones(function: impl Fn(f64) -> f64) -> Option<Coefficients> {
    let values = FITTED.map(&function);
    let [a, b] = FITTED.map(|r| r.powi(6));
    // r¹² V = c12 − c6 r⁶.
    let (u, v) = (values[0] * a * a, values[1] * b * b);
    let c6 = (u - v) / (b - a);
    let c12 = u + c6 * a;
    let agrees = |r: f64| {
        let (repulsion, attraction) = (c12 / r.powi(12), c6 / r.powi(6));
        (function(r) - (repulsion - attraction)).abs() <= SAME * (repulsion.abs() + attraction.abs())
    };
    (c6.is_finite() && c12.is_finite() && DISTANCES.into_iter().all(agrees)).then_some((c6, c12))
}

/// k of a function that is ½ k d² with the deviations `d` of `points` from a value at rest, and that value: one of the `candidates`, or what the
/// parabola through three neighbouring points has.
fn harmonic(
    candidates: &[f64],
    points: &[f64],
    deviation: impl Fn(f64, f64) -> f64,
    function: impl Fn(f64) -> f64,
) -> Option<(f64, f64)> {
    let vertices = points.windows(3).map(|x| deviation(vertex([x[0], x[1], x[2]], &function), 0.0));
    let vertices = vertices.filter(|rest| rest.is_finite());
    candidates.iter().copied().chain(vertices).find_map(|rest| {
        let from_rest = |x: f64| deviation(x, rest);
        let largest = *points.iter().max_by(|&&a, &&b| from_rest(a).abs().total_cmp(&from_rest(b).abs()))?;
        let k = 2.0 * function(largest) / from_rest(largest).powi(2);
        // As it is written, or twice that.
        let written = candidates.iter().flat_map(|one| [*one, 2.0 * one]).find(|one| (one - k).abs() <= SAME * k.abs());
        let k = written.unwrap_or(k);
        // The difference of two numbers is as exact as the numbers are.
        let scale = |x: f64| SAME * (0.5 * k).abs() * (x.abs() + rest.abs()).powi(2);
        let agrees = |&x: &f64| (function(x) - 0.5 * k * from_rest(x).powi(2)).abs() <= scale(x);
        (k.is_finite() && points.iter().all(agrees)).then_some((rest, k))
    })
}

/// Where the parabola through three points of a function has its vertex; not finite for a straight line.
fn vertex([a, b, c]: [f64; 3], function: impl Fn(f64) -> f64) -> f64 {
    let slope = |x: f64, y: f64| (function(y) - function(x)) / (y - x);
    let bend = (slope(b, c) - slope(a, b)) / (c - a);
    0.5 * (a + b - slope(a, b) / bend)
}

/// Reads a CustomNonbondedForce.
pub(super) fn nonbonded(
    force: &Element<'_>,
    n_atoms: usize,
    notes: &mut Vec<String>,
) -> Result<Custom, SystemXmlError> {
    const KNOWN: &str =
        "any form of c12/r^12 - c6/r^6 whose coefficients depend on parameters or types of both particles";
    for (list, what) in [("InteractionGroups", "interaction groups"), ("ComputedValues", "computed values")] {
        if force.children(list).next().is_some() {
            return Err(force.unsupported(format!("{what} are not supported")));
        }
    }
    let own = names(force, "PerParticleParameters")?;
    let of = |which: &str| own.iter().map(|name| format!("{name}{which}")).collect::<Vec<_>>();
    let variables = [vec!["r".to_string()], of("1"), of("2")].concat();
    let (parsed, globals) = expression(force, variables)?;
    let mut index: HashMap<Vec<u64>, u32> = HashMap::new();
    let (mut kinds, mut of_particles): (Vec<Vec<f64>>, Vec<u32>) = (Vec::new(), Vec::new());
    for one in force.children("Particles") {
        let values = parameters(&one, own.len())?;
        let kind = *index.entry(values.iter().map(|value| value.to_bits()).collect()).or_insert(kinds.len() as u32);
        if kind as usize == kinds.len() {
            kinds.push(values);
        }
        of_particles.push(kind);
    }
    if of_particles.len() != n_atoms {
        let (found, wanted) = (of_particles.len(), n_atoms);
        return Err(force.error(SystemXmlProblem::Particles { force: force.title(), found, wanted }));
    }
    let mut table = Vec::with_capacity(kinds.len() * kinds.len());
    for one in &kinds {
        for other in &kinds {
            let at = |r: f64| parsed.value(&[&[r], &one[..], &other[..], &globals[..]].concat());
            let Some(found) = lennard_jones(at) else {
                let particles = if own.is_empty() {
                    String::new()
                } else {
                    format!("for particles with {} and {} ", said(&own, one), said(&own, other))
                };
                return Err(unknown(force, &(particles + NO_FORM), KNOWN));
            };
            table.push(found);
        }
    }
    let n = kinds.len();
    let is_even = |k: usize| {
        let ((a6, a12), (b6, b12)) = (table[k], table[k % n * n + k / n]);
        (a6 - b6).abs() <= SAME * a6.abs() && (a12 - b12).abs() <= SAME * a12.abs()
    };
    if !(0..n * n).all(is_even) {
        return Err(unknown(force, "it changes when the two particles are exchanged", KNOWN));
    }
    let exclusions =
        force.children("Exclusions").map(|one| one.atoms(["p1", "p2"], n_atoms)).collect::<Result<_, _>>()?;
    if force.whole("method")? > 0 {
        let mut words = format!("{} was made with a cut-off of {} nm", force.title(), force.positive("cutoff")?);
        if force.flag("useSwitchingFunction", false)? {
            words += &format!(", switched from {} nm", force.real("switchingDistance")?);
        }
        notes.push(words + "; [van_der_waals] of the job decides");
    }
    Ok(Custom { name: own.first().cloned().unwrap_or_default(), kinds, of_particles, table, exclusions })
}

/// That a function of these parameters is none of those that are computed.
fn with_parameters(names: &[String], values: &[f64]) -> String {
    if names.is_empty() { NO_FORM.into() } else { format!("with {} {NO_FORM}", said(names, values)) }
}

/// "type = 3, scale = 1".
fn said(names: &[String], values: &[f64]) -> String {
    let all: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name} = {value}")).collect();
    all.join(", ")
}

/// Reads a CustomBondForce: harmonic distances into `terms`, Lennard-Jones pairs into `pairs`.
pub(super) fn bonds(
    terms: &mut Terms,
    pairs: &mut Vec<([u32; 2], Coefficients)>,
    force: &Element<'_>,
) -> Result<(), SystemXmlError> {
    const KNOWN: &str = "any form of c12/r^12 - c6/r^6 or of k/2 (r - r0)^2";
    let own = names(force, "PerBondParameters")?;
    let (parsed, globals) = expression(force, [vec!["r".to_string()], own.clone()].concat())?;
    let mut known: HashMap<Vec<u64>, Distance> = HashMap::new();
    for one in force.children("Bonds") {
        let atoms = one.atoms(["p1", "p2"], terms.n_atoms())?;
        let values = parameters(&one, own.len())?;
        let key: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        let found = match known.get(&key) {
            Some(found) => *found,
            None => {
                let at = |r: f64| parsed.value(&[&[r], &values[..], &globals[..]].concat());
                let candidates = [&values[..], &globals[..]].concat();
                let spring = || harmonic(&candidates, &DISTANCES, |r, r0| r - r0, at);
                let found = lennard_jones(at).map(Distance::LennardJones);
                let found = found
                    .or_else(|| spring().map(|(r0, k)| Distance::Harmonic(r0, k)))
                    .ok_or_else(|| unknown(force, &with_parameters(&own, &values), KNOWN))?;
                known.insert(key, found);
                found
            }
        };
        match found {
            Distance::LennardJones(coefficients) => pairs.push((atoms, coefficients)),
            Distance::Harmonic(r0, k) => terms.bonds.push(Bond { atoms, r0, k }),
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Distance {
    LennardJones(Coefficients),
    /// r0 and k.
    Harmonic(f64, f64),
}

/// Reads a CustomTorsionForce: harmonic impropers.
pub(super) fn torsions(terms: &mut Terms, force: &Element<'_>) -> Result<(), SystemXmlError> {
    const KNOWN: &str = "any form of k/2 (theta - theta0)^2 that takes the difference between -pi and pi";
    let own = names(force, "PerTorsionParameters")?;
    let (parsed, globals) = expression(force, [vec!["theta".to_string()], own.clone()].concat())?;
    let points: [f64; ANGLES] = std::array::from_fn(|k| -PI + (k as f64 + 0.37) * 2.0 * PI / ANGLES as f64);
    let wrapped = |theta: f64, rest: f64| (theta - rest) - 2.0 * PI * ((theta - rest) / (2.0 * PI)).round();
    let mut known: HashMap<Vec<u64>, (f64, f64)> = HashMap::new();
    for one in force.children("Torsions") {
        let atoms = one.atoms(["p1", "p2", "p3", "p4"], terms.n_atoms())?;
        let values = parameters(&one, own.len())?;
        let key: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        let (xi0, k) = match known.get(&key) {
            Some(found) => *found,
            None => {
                let at = |theta: f64| parsed.value(&[&[theta], &values[..], &globals[..]].concat());
                let candidates = [&values[..], &globals[..], &[0.0]].concat();
                let found = harmonic(&candidates, &points, wrapped, at)
                    .ok_or_else(|| unknown(force, &with_parameters(&own, &values), KNOWN))?;
                known.insert(key, found);
                found
            }
        };
        if k != 0.0 {
            terms.harmonic_impropers.push(HarmonicImproper { atoms, xi0, k });
        }
    }
    Ok(())
}
