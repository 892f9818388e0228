//! Refined trees on the device against the CPU's, total against total and dense against sparse.

use super::*;
use crate::device::DeviceFmm;
use crate::geometry::assignment::{Assignment, Geometry};
use crate::geometry::grid::NearSet;
use crate::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};
use kernels::device::compiles;

/// Charges of both signs in a droplet within (0, 1)³, or everywhere.
fn charges(n: usize, radius: f64) -> (Vec<[f64; 3]>, Vec<f64>) {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 * 2.0_f64.powi(-53)
    };
    let mut x = Vec::new();
    while x.len() < n {
        let r = [random(), random(), random()];
        if r.iter().map(|x| (x - 0.45) * (x - 0.45)).sum::<f64>() < radius * radius {
            x.push(r);
        }
    }
    let q = (0..n).map(|i| if i % 2 == 0 { 0.5 + random() } else { -0.5 - random() }).collect();
    (x, q)
}

/// Largest differences of potential and field, relative to the largest of each.
fn difference<T: Real + Pod>(boundary: Boundary, settings: Settings, (x, q): &(Vec<[f64; 3]>, Vec<f64>)) -> [f64; 2] {
    let exclusions = Exclusions::none(x.len());
    let mut cpu = Fmm::<f64>::new(boundary, settings).unwrap();
    cpu.assign(x, &exclusions).unwrap();
    let mut exact = Potentials::default();
    cpu.evaluate(x, q, &mut exact).unwrap();
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let fmm = DeviceFmm::<T>::new(&device, boundary, settings, x, &exclusions).unwrap();
    // First as if in a mirror: other boxes are occupied, and leave their expansions behind.
    let mirrored: Vec<f64> = x.as_flattened().iter().map(|x| 0.9 - x).collect();
    let (mirrored, q) = (device.upload(&mirrored).unwrap(), device.upload(q).unwrap());
    fmm.enqueue_assign(&stream, &mirrored).unwrap();
    fmm.enqueue_evaluate(&stream, &stream, &mirrored, &q).unwrap();
    let x = device.upload(x.as_flattened()).unwrap();
    fmm.enqueue_assign(&stream, &x).unwrap();
    fmm.check(&stream).unwrap();
    fmm.enqueue_evaluate(&stream, &stream, &x, &q).unwrap();
    let (potential, field) = (fmm.potential().read(&stream).unwrap(), fmm.field().read(&stream).unwrap());
    let worst = |found: &[f64], exact: &[f64]| {
        let largest = exact.iter().fold(0.0_f64, |a, v| a.max(v.abs()));
        found.iter().zip(exact).fold(0.0_f64, |a, (f, e)| a.max((f - e).abs())) / largest
    };
    [worst(&potential, &exact.potential), worst(&field, exact.field.as_flattened())]
}

#[test]
fn droplets_in_open_space_are_those_of_the_cpu() {
    let droplet = charges(300, 0.3);
    for (root, depth, order) in [([1; 3], 3, 4), ([2, 1, 3], 2, 7), ([3, 3, 2], 1, 10)] {
        let settings = Settings { order, tree: TreeShape { root, depth }, separation: 1.12 };
        let [potential, field] = difference::<f64>(Boundary::Open, settings, &droplet);
        assert!(potential < 1e-13 && field < 1e-12, "{root:?} {depth}: {potential:e} {field:e}");
    }
}

#[test]
fn periodic_cells_are_those_of_the_cpu() {
    let everywhere = charges(400, 2.0);
    let cell = [[1.0, 0.0, 0.05], [-0.2, 0.9, 0.1], [0.1, 0.3, 1.1]];
    let slab = Boundary::Slab { periods: [[1.0, 0.0, 0.0], [0.2, 1.0, 0.0]] };
    for (boundary, root, depth) in [
        (Boundary::rectangular([1.0; 3]), [2; 3], 2),
        (Boundary::Periodic { cell }, [2, 2, 3], 1),
        (slab, [2, 3, 1], 2),
    ] {
        // Spheres of 33 near boxes.
        let settings = Settings { order: 6, tree: TreeShape { root, depth }, separation: 1.2 };
        let mut neutral = everywhere.clone();
        let mean = neutral.1.iter().sum::<f64>() / neutral.1.len() as f64;
        neutral.1.iter_mut().for_each(|q| *q -= mean);
        let [potential, field] = difference::<f64>(boundary, settings, &neutral);
        assert!(potential < 1e-12 && field < 1e-12, "{boundary:?}: {potential:e} {field:e}");
    }
    // A net charge, with its background: the trace term refers to root boxes.
    let settings = Settings { order: 5, tree: TreeShape { root: [2; 3], depth: 1 }, separation: 1.12 };
    let [potential, field] = difference::<f64>(Boundary::rectangular([1.0; 3]), settings, &everywhere);
    assert!(potential < 1e-12 && field < 1e-12, "{potential:e} {field:e}");
}

#[test]
fn single_precision_loses_its_own_rounding_only() {
    let settings = Settings { order: 8, tree: TreeShape { root: [1; 3], depth: 3 }, separation: 1.12 };
    let [potential, field] = difference::<f32>(Boundary::Open, settings, &charges(300, 0.3));
    // Sums of some hundred terms of both signs.
    assert!(potential < 3e-6 && field < 3e-6, "{potential:e} {field:e}");
}

/// Only boxes with particles, in the order of the CPU, give what all boxes give.
#[test]
fn sparse_trees_are_as_dense_ones() {
    let (x, q) = charges(200, 0.25);
    let (order, shape) = (5, TreeShape { root: [2, 1, 1], depth: 3 });
    let geometry = Geometry::new(&Boundary::Open, shape, &x);
    let near = NearSet::new(&geometry.unit_basis(), 1.12);
    let grid = BoxGrid { topology: geometry.root(), basis: geometry.unit_basis(), near };
    let sparse = Assignment::sorted(geometry, Some(&grid.near), &x).unwrap();
    let leaves = sparse.leaves();
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    // Leaves by number: all of the grid, or those with particles only.
    let run = |far: Levels<f64>, leaf_of: &dyn Fn(usize) -> usize, n_leaves: usize| -> Vec<[f64; 4]> {
        let mut places: Vec<usize> = (0..x.len()).collect();
        places.sort_by_key(|k| (leaf_of(*k), *k));
        let mut starts = vec![0_u32; n_leaves + 1];
        places.iter().for_each(|k| starts[leaf_of(*k) + 1] += 1);
        (0..n_leaves).for_each(|i| starts[i + 1] += starts[i]);
        let particle = |k: &usize| {
            let i = sparse.order[*k] as usize;
            let centre = sparse.geometry.centres(leaves.coordinates[sparse.leaf_of[*k] as usize]).0;
            let u = [0, 1, 2].map(|a| (x[i][a] - centre[a]) / sparse.geometry.scale());
            [u[0], u[1], u[2], q[i]]
        };
        let sorted: Vec<[f64; 4]> = places.iter().map(particle).collect();
        let sorted = device.upload(sorted.as_flattened()).unwrap();
        let out = device.zeros(4 * x.len()).unwrap();
        far.enqueue(&stream, &sorted, &device.upload(&starts).unwrap(), &out).unwrap();
        let out = out.read(&stream).unwrap();
        let mut by_place = vec![[0.0; 4]; x.len()];
        places.iter().zip(out.as_chunks::<4>().0).for_each(|(k, v)| by_place[*k] = *v);
        by_place
    };
    let rows: Vec<u32> = (0..leaves.len() as u32).collect();
    let few = Levels::new(&device, &grid, order, (&sparse.levels, &rows)).unwrap();
    let few = run(few, &|k| sparse.leaf_of[k] as usize, leaves.len());
    let all = Levels::dense(&device, &grid, order, shape).unwrap();
    let at = |k: usize| leaves.topology.index(leaves.coordinates[sparse.leaf_of[k] as usize].map(|c| c as usize));
    let all = run(all, &at, leaves.topology.len());
    let largest = all.as_flattened().iter().fold(0.0_f64, |a, v| a.max(v.abs()));
    assert!(leaves.len() < leaves.topology.len() / 4 && largest > 0.0);
    for (few, all) in few.as_flattened().iter().zip(all.as_flattened()) {
        assert!((few - all).abs() < 1e-13 * largest, "{few} {all}");
    }
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    for (order, architecture) in [(4, "sm_75"), (8, "sm_90"), (20, "sm_90")] {
        for source in [source::<f32>(order), source::<f64>(order)] {
            compiles(&source, architecture).unwrap();
        }
    }
}
