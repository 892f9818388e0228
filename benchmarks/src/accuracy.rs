//! Errors against the order of the expansions, for three systems with exact results.

use crate::results::{Folder, Table};
use crate::salt::salt;
use fmm::{Settings, TreeShape, ewald};
use octitrate::charges::systems::{self, Images, Kind};
use octitrate::charges::{Precision, System, forces, relative};
use octitrate::error::{Error, Result};
use octitrate::report::plot::{Axis, Trace, lines};

/// Boxes per axis; few, so that most pairs are far pairs.
const ROOT: usize = 4;

/// Separations of cubic boxes, and the numbers of near boxes they mean.
const NEAR: [(f64, u32); 5] = [(1.12, 27), (1.2, 33), (1.35, 57), (1.5, 81), (1.7, 93)];

const ORDERS: Axis<'static> = Axis { name: "order of the expansions", logarithmic: false };

/// A system with its exact results.
struct Case {
    name: &'static str,
    title: String,
    system: System,
    energy: f64,
    potentials: Vec<f64>,
    forces: Vec<f64>,
    /// Root of the sum of squares that force errors are relative to.
    force: f64,
}

/// Measures and draws all of them.
///
/// # Errors
/// Files that cannot be written.
pub fn accuracy(folder: &Folder, particles: usize, highest: u32) -> Result<()> {
    let cases = cases(particles)?;
    for case in &cases {
        case.measure(folder, highest)?;
    }
    cases.iter().filter(|case| case.name == "random").try_for_each(|case| case.separations(folder, highest))
}

fn cases(particles: usize) -> Result<Vec<Case>> {
    let salt = salt(particles);
    let n = salt.system.len();
    let salt = Case {
        name: "salt",
        // Forces vanish in the crystal: their errors are relative to the force between neighbours, 1.
        force: (n as f64).sqrt(),
        title: format!("salt crystal, {n} ions, periodic"),
        system: salt.system,
        energy: salt.energy,
        potentials: salt.potentials,
        forces: vec![0.0; 3 * n],
    };
    let random = systems::make(Kind::Random, Images::Periodic, particles)?;
    let title = format!("random charges, {particles}, periodic");
    let random = Case::new("random", title, random)?;
    let droplet = systems::droplet(particles)?;
    let title = format!("droplet of water, {} atoms, open", droplet.len());
    Ok(vec![salt, random, Case::new("droplet", title, droplet)?])
}

impl Case {
    fn new(name: &'static str, title: String, system: System) -> Result<Self> {
        let (x, q) = (&system.positions, &system.charges);
        let (energy, exact) = ewald::evaluate(&system.boundary, x, q, &system.exclusions, 1e-16)
            .map_err(|e| Error::input(e.to_string(), "take other --particles"))?;
        let forces: Vec<f64> = forces(q, &exact.field).collect();
        let force = forces.iter().map(|f| f * f).sum::<f64>().sqrt();
        Ok(Self { name, title, energy, potentials: exact.potential, forces, force, system })
    }

    /// Energy, potentials, forces.
    fn errors(&self, order: u32, separation: f64, precision: Precision) -> Result<[f64; 3]> {
        let settings = Settings { order: order as usize, tree: TreeShape { root: [ROOT; 3], depth: 0 }, separation };
        let found = self.system.solve(settings, precision, 0, 1)?;
        let differences = forces(&self.system.charges, &found.potentials.field).zip(&self.forces);
        let force = differences.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / self.force;
        let potential = relative(found.potentials.potential.into_iter(), self.potentials.iter().copied());
        Ok([((found.energy - self.energy) / self.energy).abs(), potential, force])
    }

    fn measure(&self, folder: &Folder, highest: u32) -> Result<()> {
        let mut table = Table::new("precision,order,energy,potentials,forces");
        let mut traces = Vec::new();
        for (precision, name, dashed) in [(Precision::F64, "f64", false), (Precision::F32, "f32", true)] {
            let mut curves: [Trace; 3] = std::array::from_fn(|i| Trace {
                name: format!(
                    "{}, {}",
                    ["energy", "potentials", "forces"][i],
                    ["double", "single"][usize::from(dashed)]
                ),
                colour: i,
                dashed,
                points: Vec::new(),
            });
            for order in 0..=highest {
                let errors = self.errors(order, Settings::TOUCHING, precision)?;
                table.line(format_args!("{name},{order},{:.3e},{:.3e},{:.3e}", errors[0], errors[1], errors[2]));
                for (curve, error) in curves.iter_mut().zip(errors) {
                    curve.points.push((f64::from(order), error));
                }
            }
            traces.extend(curves);
        }
        let drawn = lines(&self.title, &traces, ORDERS, Axis { name: "relative error", logarithmic: true })?;
        folder.write(&format!("accuracy-{}", self.name), &table, &drawn)
    }

    /// Forces, in double precision, with more and more near boxes.
    fn separations(&self, folder: &Folder, highest: u32) -> Result<()> {
        let mut table = Table::new("separation,near boxes,order,forces");
        let mut traces = Vec::new();
        for (colour, (separation, near)) in NEAR.into_iter().enumerate() {
            let mut trace = Trace { name: format!("{separation}: {near} near boxes"), colour, ..Trace::default() };
            for order in 0..=highest {
                let [_, _, error] = self.errors(order, separation, Precision::F64)?;
                table.line(format_args!("{separation},{near},{order},{error:.3e}"));
                trace.points.push((f64::from(order), error));
            }
            traces.push(trace);
        }
        let y = Axis { name: "relative error of the forces", logarithmic: true };
        let drawn = lines(&format!("{}, separation", self.title), &traces, ORDERS, y)?;
        folder.write("accuracy-separation", &table, &drawn)
    }
}
