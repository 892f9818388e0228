//! Which FMM a job gets: order, separation and tree, on the CPU and on a GPU, and the same in words.
//!
//! Units: nm.

use crate::config::{self, Depth, Precision};
use fmm::{Boundary, FmmError, Members, Settings, TreeShape, Workload, accuracy};
use forcefield::{Cell, Topology};
use kernels::Real;
use kernels::device::Device;
use lambda::Site;
use nalgebra::Vector3;

/// Smallest edge of a leaf box (nm): excluded pairs, 1-4 at most, must lie in the same or in touching boxes.
const SMALLEST_LEAF: f64 = 0.5;

/// How far an atom may be from where it was assigned, in edges of the leaf boxes. An atom that has left its box by this
/// much stays in the range where expansions converge; the drift of the energy tells whether it is too much.
const SLACK: f64 = 0.2;

/// The same for open boundaries (nm), where the boxes follow from the extent of the atoms.
const OPEN_SLACK: f64 = 0.05;

/// How far (nm) an atom may be from where it was assigned to a box.
pub fn slack(settings: &Settings, cell: Cell) -> f64 {
    let leaves = settings.tree.leaves();
    let shortest =
        |edges: [f64; 3]| (0..3).map(|axis| SLACK * edges[axis] / leaves[axis] as f64).fold(f64::INFINITY, f64::min);
    match cell {
        Cell::Open => OPEN_SLACK,
        Cell::Periodic(periodic) if periodic.is_rectangular() => shortest(periodic.diagonal().into()),
        // The sheared grid has its axes where the workload has them.
        Cell::Periodic(_) => shortest(workload(&[], cell).edges),
    }
}

/// The boundary conditions of the FMM in `cell`.
pub fn boundary(cell: Cell) -> Boundary {
    match cell {
        Cell::Open => Boundary::Open,
        Cell::Periodic(periodic) => Boundary::Periodic { cell: periodic.rows() },
    }
}

/// The atoms that the FMM computes: those with a charge in the topology, and all atoms of the sites, buffers among them, whose charges follow λ. No
/// other charge ever changes, so that the others make no potential, feel none, and nobody asks for it.
pub fn charged(topology: &Topology, sites: &[Site]) -> Members {
    let mut charged: Vec<bool> = topology.atoms.iter().map(|atom| atom.charge != 0.0).collect();
    sites.iter().flat_map(|site| &site.atoms).for_each(|atom| charged[*atom as usize] = true);
    Members::of(&charged)
}

/// What the cost model sees of the charged atoms at `start` (nm).
pub fn workload(start: &[Vector3<f64>], cell: Cell) -> Workload {
    Workload::new(&boundary(cell), bytemuck::cast_slice(start), SMALLEST_LEAF)
}

/// What the job asks for: settings for its tolerance, or its order with the fastest tree unless it names a depth.
///
/// # Errors
/// A tolerance that the precision does not reach, which the job file refuses already.
pub fn choose<T: Real>(settings: &config::Electrostatics, workload: &Workload) -> Result<Settings, FmmError> {
    if let Some(tolerance) = settings.tolerance {
        return accuracy::estimate::<T>(tolerance, workload);
    }
    let order = settings.order.unwrap_or(config::Electrostatics::DEFAULT_ORDER) as usize;
    let separation = settings.separation.unwrap_or(config::Electrostatics::DEFAULT_SEPARATION);
    let tree = match settings.depth {
        Depth::Number(depth) => TreeShape::near_cubic(workload.edges, depth as usize),
        Depth::Auto => TreeShape::auto::<T>(order, separation, workload),
    };
    Ok(Settings { order, tree, separation })
}

/// Order, separation and boxes for a GPU and the same in words: no refinement, and boxes as small as excluded pairs allow, because there the
/// near field costs most. `start` (nm): positions of all atoms, and which of them are charged; open boxes are laid around these.
///
/// # Errors
/// As [`choose`].
pub fn choose_on_gpu(
    device: &Device,
    settings: &config::Electrostatics,
    (start, charged): (&[Vector3<f64>], &Members),
    cell: Cell,
) -> Result<(Settings, String), FmmError> {
    fn on<T: Real>(
        device: &Device,
        settings: &config::Electrostatics,
        workload: &Workload,
    ) -> Result<Settings, FmmError> {
        let chosen = choose::<T>(settings, workload)?;
        let tree = TreeShape::finest_root_on::<T>(device, chosen.order, chosen.separation, workload);
        Ok(Settings { tree, ..chosen })
    }
    let workload = workload(&charged.select(start), cell);
    let chosen = match settings.precision {
        Precision::Single => on::<f32>(device, settings, &workload),
        Precision::Double => on::<f64>(device, settings, &workload),
    }?;
    Ok((chosen, describe(settings, &chosen, &workload, charged)))
}

/// Order, boxes, the error that is expected of them, and how many atoms are left out, in words.
pub fn describe(asked: &config::Electrostatics, chosen: &Settings, workload: &Workload, charged: &Members) -> String {
    let [x, y, z] = chosen.tree.leaves();
    let levels = chosen.tree.depth + 1;
    let (plural, near) = (if levels == 1 { "" } else { "s" }, workload.near_boxes(chosen));
    let expected = accuracy::expected(chosen, workload);
    let asked = asked.tolerance.map_or(String::new(), |tolerance| format!(", chosen for at most {tolerance:e}"));
    let left_out = match charged.n_particles() - charged.len() {
        0 => String::new(),
        1 => "; an atom without charge is left out".into(),
        n => format!("; {n} atoms without charge are left out"),
    };
    format!(
        "FMM of order {}, {x} × {y} × {z} leaf boxes ({levels} level{plural}), {near} near boxes; estimated force error {expected:.1e}{asked}{left_out}",
        chosen.order
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmm::Fmm;

    /// In a job, and in a program that uses the crate of the FMM by itself.
    #[test]
    fn a_tolerance_means_the_same_wherever_it_is_given() {
        let start: Vec<Vector3<f64>> = (0..1000)
            .map(|i| Vector3::from([i / 100, i / 10 % 10, i % 10].map(|c| 0.3 * f64::from(c) + 0.1)))
            .collect();
        let cell = Cell::rectangular(Vector3::repeat(3.0)).unwrap();
        let job = |tolerance| config::Electrostatics { tolerance: Some(tolerance), ..Default::default() };
        let workload = workload(&start, cell);
        for tolerance in [1e-2, 1e-4, 1e-5] {
            let builder = Fmm::builder().boundary(boundary(cell)).minimum_leaf(SMALLEST_LEAF).tolerance(tolerance);
            let built = builder.single_precision().build_for(bytemuck::cast_slice(&start)).unwrap();
            assert_eq!(choose::<f32>(&job(tolerance), &workload), Ok(built.settings()));
        }
        let least = FmmError::Tolerance { tolerance: 9e-6, least: 1e-5, most: 0.1 };
        assert_eq!(choose::<f32>(&job(9e-6), &workload), Err(least));
        assert!(choose::<f64>(&job(9e-6), &workload).is_ok());
    }
}
