//! Groups on the emulated device against [`crate::Fmm::evaluate_groups`] in f64.

use super::*;
use crate::geometry::assignment::Assignment;
use crate::geometry::boundary::Boundary;
use crate::geometry::tree::TreeShape;
use crate::sites::GroupPotentials;
use crate::{Fmm, Settings};
use kernels::device::compiles;

const N: usize = 120;

/// Uniform numbers in [0, 1).
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A molecule across the corner of the cell that spans several boxes, one in distant pieces, nobody, one alone, the molecule and others.
fn members() -> Vec<Vec<u32>> {
    let both = (0..5).chain([44, 101, 73]).collect();
    vec![(0..12).rev().collect(), vec![40, 3, 77, 60, 110, 9], vec![], vec![50], both, (0..45).collect()]
}

/// Different numbers of vectors; every third charge of a vector is zero where the other vectors' are not.
fn groups(neutral: bool) -> Vec<GroupCharges> {
    let one = |(g, members): (usize, Vec<u32>)| {
        let charge = |v: usize, k: usize| {
            if (k + v).is_multiple_of(3) { 0.0 } else { ((v * 5 + k * 3 + 1) % 7) as f64 / 3.0 - 0.8 }
        };
        let vector = |v: usize| {
            let mut q: Vec<f64> = (0..members.len()).map(|k| charge(v, k)).collect();
            let mean = q.iter().sum::<f64>() / members.len().max(1) as f64;
            q.iter_mut().for_each(|q| *q -= if neutral { mean } else { 0.0 });
            q
        };
        let charges = (0..1 + g % 3).map(vector).collect();
        GroupCharges { members, charges }
    };
    members().into_iter().enumerate().map(one).collect()
}

/// Excluded pairs, of which some inside one box, some across a face of the cell.
fn exclusions() -> Exclusions {
    Exclusions::from_pairs(N, [[0, 1], [1, 2], [0, 2], [5, 9], [3, 9], [7, 8]]).unwrap()
}

fn positions(boundary: &Boundary, seed: u64) -> Vec<[f64; 3]> {
    let mut uniform = random(seed);
    let cell = Geometry::new(boundary, TreeShape { root: [1; 3], depth: 0 }, &[[0.0; 3], [2.0; 3]]).basis;
    let mut at = |low: f64, high: f64| {
        let f = [(); 3].map(|()| low + (high - low) * uniform());
        [0, 1, 2].map(|x| (0..3).map(|a| f[a] * cell[a][x]).sum::<f64>())
    };
    (0..N).map(|i| if i < 12 { at(-0.07, 0.08) } else { at(0.0, 1.0) }).collect()
}

/// Cell, grid, order, separation.
type Case = (Boundary, [usize; 3], usize, f64);

/// Largest differences of potentials and fields, relative to the largest of a group.
fn deviation<T: Real + Pod>((boundary, root, order, separation): Case, shape: Option<GroupShape>) -> f64 {
    let settings = Settings { order, tree: TreeShape { root, depth: 0 }, separation };
    let groups = groups(matches!(boundary.periods().len(), 1 | 2));
    let (x, exclusions) = (positions(&boundary, 77), exclusions());
    let mut fmm = Fmm::<f64>::new(boundary, settings).unwrap();
    fmm.assign(&x, &exclusions, &members()).unwrap();
    // The cell shrinks, the particles move a little after they were assigned.
    let scaled = |v: [f64; 3]| v.map(|x| 0.99 * x);
    let shrunk = match boundary {
        Boundary::Periodic { cell } => Boundary::Periodic { cell: cell.map(scaled) },
        other => other,
    };
    fmm.set_boundary(shrunk).unwrap();
    let factor = if shrunk == boundary { 1.0 } else { 0.99 };
    let mut shake = random(5);
    let moved: Vec<[f64; 3]> = x.iter().map(|r| r.map(|c| factor * c + 0.01 * shake())).collect();
    let charges: Vec<Vec<Vec<f64>>> = groups.iter().map(|g| g.charges.clone()).collect();
    let mut expected = Vec::new();
    fmm.evaluate_groups(&moved, &charges, &mut expected).unwrap();

    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let geometry = Geometry::new(&boundary, settings.tree, &x);
    let near = NearSet::new(&geometry.unit_basis(), separation);
    let grid = BoxGrid { topology: geometry.root(), basis: geometry.unit_basis(), near };
    let mut to = Assignment::new(geometry, &grid.near, &x, &exclusions).unwrap();
    let own = DeviceGroups::<T>::on_grid(&device, (&grid, order), &groups, &exclusions, shape).unwrap();
    let [place, leaf_of] = [&to.place, &to.leaf_of].map(|v| device.upload(v).unwrap());
    own.enqueue_assign(&stream, &place, &leaf_of).unwrap();
    to.geometry = to.geometry.follow(&shrunk);
    let (numbers, scale) = (BoxGeometry::new(&to.geometry), to.geometry.scale());
    let sorted: Vec<T> = (0..N)
        .flat_map(|k| {
            let (centre, _) = to.geometry.centres(to.leaves().coordinates[to.leaf_of[k] as usize]);
            let r = to.wrapped(k, &moved);
            let [a, b, c] = [0, 1, 2].map(|a| T::of((r[a] - centre[a]) / scale));
            [a, b, c, T::one()]
        })
        .collect();
    let (numbers, sorted) = (device.upload(&[numbers]).unwrap(), device.upload(&sorted).unwrap());
    own.enqueue(&stream, &numbers, &sorted).unwrap();
    let (potential, field) = (own.potential().read(&stream).unwrap(), own.field().read(&stream).unwrap());
    largest_difference(&expected, &own, &potential, &field)
}

fn largest_difference<T: Real + Pod>(
    expected: &[GroupPotentials],
    own: &DeviceGroups<T>,
    potential: &[f64],
    field: &[f64],
) -> f64 {
    let mut worst = 0.0_f64;
    for (g, group) in expected.iter().enumerate() {
        let start = own.value_starts()[g];
        let phi: Vec<f64> = group.potential.iter().flatten().copied().collect();
        let e: Vec<f64> = group.field.iter().flatten().flatten().copied().collect();
        assert_eq!(own.value_starts()[g + 1] - start, phi.len());
        for (ours, exact) in [(&potential[start..][..phi.len()], &phi), (&field[3 * start..][..e.len()], &e)] {
            let scale = exact.iter().fold(1e-3_f64, |m, v| m.max(v.abs()));
            for (a, b) in ours.iter().zip(exact) {
                assert!(a.is_finite());
                worst = worst.max((a - b).abs() / scale);
            }
        }
    }
    worst
}

#[test]
fn every_boundary_and_grid_as_on_the_cpu() {
    let cube = Boundary::rectangular([2.0, 2.0, 2.1]);
    let triclinic = Boundary::Periodic { cell: [[2.0, 0.1, -0.2], [0.7, 1.9, 0.1], [-0.6, 0.8, 2.1]] };
    let dodecahedron =
        Boundary::Periodic { cell: [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, std::f64::consts::SQRT_2]] };
    let slab = Boundary::Slab { periods: [[2.0, 0.1, -0.2], [0.7, 1.9, 0.1]] };
    let cases = [
        (cube, [1; 3], 4, 1.12),
        (cube, [5, 4, 3], 5, 1.12),
        (cube, [6; 3], 8, 1.2),
        (triclinic, [4, 5, 3], 5, 1.12),
        (triclinic, [2, 1, 3], 4, 1.7),
        (dodecahedron, [6, 6, 7], 5, 1.2),
        (slab, [4, 5, 3], 4, 1.12),
        (Boundary::Wire { period: [2.0, 0.0, 0.0] }, [5, 2, 3], 4, 1.12),
        (Boundary::Open, [4, 3, 5], 5, 1.12),
    ];
    for (i, case) in cases.into_iter().enumerate() {
        // Few groups: many small blocks. Then one block for several boxes, and both.
        let shape = [None, Some((3, 1)), Some((2, 2))][i % 3];
        let shape = shape.map(|(targets, split)| GroupShape { targets, split, blocks: 1 });
        let worst = deviation::<f64>(case, shape);
        // Sums of some hundred terms of the size of the largest, in another order; lattice sums to 1e-12 of it.
        assert!(worst < 1e-11, "{case:?}: {worst:e}");
    }
}

#[test]
fn single_precision_rounds_the_expansions_only() {
    for order in [4, 8, 12] {
        let worst = deviation::<f32>((Boundary::rectangular([2.0, 2.0, 2.1]), [6; 3], order, 1.12), None);
        // Positions to 6e-8 of a box, between members as close as 0.05 boxes: 1e-6 of the largest field.
        assert!(worst < 2e-6 && worst > 1e-9, "{order}: {worst:e}");
    }
}

#[test]
fn wrong_groups_are_refused() {
    let device = Device::of_tests().unwrap();
    let boundary = Boundary::rectangular([2.0; 3]);
    let make = |members: Vec<u32>, q: usize, depth: usize| {
        let settings = Settings::new(3, TreeShape { root: [3; 3], depth });
        let groups = [GroupCharges { charges: vec![vec![0.5; q]], members }];
        DeviceGroups::<f32>::new(&device, &boundary, &settings, &groups, &Exclusions::none(9), None).err()
    };
    assert!(make(vec![0, 8], 2, 0).is_none());
    assert!(matches!(make(vec![0, 9], 2, 0), Some(GroupsError::Particle { group: 0, particle: 9, n: 9 })));
    assert!(matches!(make(vec![4, 1, 4], 3, 0), Some(GroupsError::Particle { particle: 4, .. })));
    assert!(matches!(make(vec![4, 1], 3, 0), Some(GroupsError::Charges { expected: 2, found: 3, .. })));
    assert!(matches!(make(vec![4], 1, 1), Some(GroupsError::Depth { depth: 1 })));
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    for (vectors, n_groups) in [(1, 1), (2, 1000), (3, 16), (4, 512)] {
        let single = Sizes::new::<f32>(8, vectors, GroupShape::new::<f32>(8, n_groups, 132)).source::<f32>();
        let double = Sizes::new::<f64>(12, vectors, GroupShape::new::<f64>(12, n_groups, 132)).source::<f64>();
        for source in [single, double] {
            compiles(&source, "sm_90").unwrap();
        }
    }
}

/// A group's own part and a whole evaluation on the device in which only one vector of the group is not zero.
fn against_the_whole<T: Real + Pod>(boundary: Boundary, root: [usize; 3]) -> f64 {
    let device = Device::emulator().unwrap();
    let (stream, beside) = (device.stream().unwrap(), device.stream().unwrap());
    let settings = Settings::new(5, TreeShape { root, depth: 0 });
    let (x, exclusions, groups) = (positions(&boundary, 77), exclusions(), groups(false));
    let whole = DeviceFmm::<T>::new(&device, boundary, settings, &x, &exclusions).unwrap();
    let own = DeviceGroups::of(&whole, &groups, &exclusions, None).unwrap();
    let [at, q] = [device.upload(x.as_flattened()).unwrap(), device.zeros::<f64>(N).unwrap()];
    whole.enqueue_assign(&stream, &at).unwrap();
    own.enqueue_assign(&stream, whole.place(), whole.leaf_of()).unwrap();
    whole.enqueue_gather(&stream, &at, &q).unwrap();
    own.enqueue(&stream, whole.geometry(), whole.sorted()).unwrap();
    let potential = own.potential().read(&stream).unwrap();
    let mut worst = 0.0_f64;
    for (g, group) in groups.iter().enumerate() {
        for (v, charges) in group.charges.iter().enumerate() {
            let mut only = vec![0.0; N];
            group.members.iter().zip(charges).for_each(|(i, c)| only[*i as usize] = *c);
            q.write(&stream, &only).unwrap();
            whole.enqueue_evaluate(&stream, &beside, &at, &q).unwrap();
            let phi = whole.potential().read(&stream).unwrap();
            let scale = group.members.iter().fold(1e-3_f64, |m, i| m.max(phi[*i as usize].abs()));
            for (k, i) in group.members.iter().enumerate() {
                let ours = potential[own.value_starts()[g] + v * group.members.len() + k];
                worst = worst.max((ours - phi[*i as usize]).abs() / scale);
            }
        }
    }
    worst
}

#[test]
fn a_group_feels_exactly_its_own_part_of_the_whole() {
    let cube = (Boundary::rectangular([2.0, 2.0, 2.1]), [6, 5, 6]);
    let skewed = (Boundary::Periodic { cell: [[2.0, 0.1, -0.2], [0.7, 1.9, 0.1], [-0.6, 0.8, 2.1]] }, [4, 5, 3]);
    for (boundary, root) in [cube, skewed] {
        let (double, single) = (against_the_whole::<f64>(boundary, root), against_the_whole::<f32>(boundary, root));
        // Truncation, some 1e-3, cancels: what is left is rounding.
        assert!(double < 1e-12 && single < 2e-6, "{boundary:?}: {double:e} {single:e}");
    }
}
