//! Boxes with and without right angles against their lattices, vector by vector.

use super::*;

fn boxes() -> [PeriodicBox; 4] {
    [
        PeriodicBox::rectangular(Vector3::new(2.0, 3.0, 2.5)).unwrap(),
        // A rhombic dodecahedron and a truncated octahedron as GROMACS writes them.
        PeriodicBox::triclinic([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 2.0_f64.sqrt()]]).unwrap(),
        PeriodicBox::triclinic([[3.0, 0.0, 0.0], [1.0, 8f64.sqrt(), 0.0], [-1.0, 2f64.sqrt(), 6f64.sqrt()]]).unwrap(),
        // Reduced, but so flat that the nearest image may be two layers away.
        PeriodicBox::triclinic([[2.0, 0.0, 0.0], [0.6, 2.5, 0.0], [0.4, 1.0, 0.3]]).unwrap(),
    ]
}

/// All lattice vectors of up to so many edges.
fn lattice(cell: &PeriodicBox, edges: i32) -> Vec<Vector3<f64>> {
    let range = || -edges..=edges;
    let all = range().flat_map(|i| range().flat_map(move |j| range().map(move |k| [i, j, k])));
    all.map(|turns| cell.vector(turns.map(f64::from))).collect()
}

#[test]
fn minimum_image_is_the_nearest_of_all_images() {
    for cell in boxes() {
        let rows = cell.rows().map(Vector3::from);
        for k in 0..200 {
            let d = Vector3::new(0.37, -0.53, 0.71) * k as f64 * 0.3 - Vector3::new(9.0, 7.0, 5.0);
            let image = cell.minimum_image(d);
            for other in lattice(&cell, 8) {
                assert!(image.norm() <= (image + other).norm() + 1e-12, "{cell:?} {d:?}");
            }
            for moved in [image - d, cell.wrap(d) - d, cell.shift_into(d)] {
                let mut left = moved;
                let turns = [2, 1, 0].map(|axis| {
                    let turn = left[axis] / rows[axis][axis];
                    left -= rows[axis] * turn;
                    turn
                });
                assert!(turns.iter().all(|turn| (turn - turn.round()).abs() < 1e-12), "whole edges: {turns:?}");
            }
        }
    }
}

#[test]
fn wrapped_positions_lie_in_the_box() {
    let [rectangular, ..] = boxes();
    assert_eq!(rectangular.wrap(Vector3::new(-1e-30, 3.0, -2.5)), Vector3::zeros());
    for cell in boxes() {
        // Rounded to a whole edge along any of a, b and c, with the other two anywhere.
        for axis in 0..3 {
            for (tiny, other) in [(-1e-30, 0.0), (-1e-18, 0.0), (-1e-30, 0.3), (-1e-20, -1.7)] {
                let mut turns = [other; 3];
                turns[axis] = tiny;
                let x = cell.wrap(cell.vector(turns));
                let there = cell.coordinates(x);
                assert!(there.iter().all(|s| (-1e-15..1.0).contains(s)), "{cell:?} {turns:?}: {there:?}");
            }
        }
        let inverse = nalgebra::Matrix3::from_fn(|i, j| cell.rows()[j][i]).try_inverse().unwrap();
        for k in 0..50 {
            let x = cell.wrap(Vector3::new(1.3, -0.7, 2.1) * k as f64);
            let inside = (inverse * x).iter().all(|s| (-1e-12..1.0 + 1e-12).contains(s));
            assert!(inside, "{cell:?} {x:?}");
        }
    }
}

#[test]
fn volume_and_scaling() {
    for cell in boxes() {
        let twice = cell.scaled(2.0).unwrap();
        assert!((twice.volume() / cell.volume() - 8.0).abs() < 1e-12);
        assert!(matches!(cell.scaled(-1.0), Err(CellError::Edges { .. })));
    }
    assert!((boxes()[1].volume() / 8.0 - 0.5_f64.sqrt()).abs() < 1e-12, "a dodecahedron fills 71 % of its cube");
}

#[test]
fn heights_and_the_image_distance_are_those_of_the_lattice() {
    for cell in boxes() {
        let shortest = lattice(&cell, 8).iter().map(Vector3::norm).filter(|n| *n > 0.0).fold(f64::INFINITY, f64::min);
        assert!((cell.image_distance() - shortest).abs() < 1e-12, "{cell:?}");
        let inverse = nalgebra::Matrix3::from_fn(|i, j| cell.rows()[j][i]).try_inverse().unwrap();
        for axis in 0..3 {
            assert!((cell.heights()[axis] * inverse.row(axis).norm() - 1.0).abs() < 1e-12, "{cell:?}");
        }
        assert_eq!(PeriodicBox::from_packed(cell.packed()), Ok(cell));
    }
    let [_, dodecahedron, octahedron, flat] = boxes();
    assert!((dodecahedron.image_distance() - 2.0).abs() < 1e-12 && (octahedron.image_distance() - 3.0).abs() < 1e-9);
    assert!(flat.image_distance() < flat.lengths().min());
}

#[test]
fn every_image_within_reach_of_a_brick_is_listed() {
    for cell in boxes() {
        let (brick, reach) = (cell.diagonal(), 0.49 * cell.image_distance());
        let images = cell.images_within(reach);
        let mut found = 0;
        for k in 0..4000 {
            let inside = |seed: [f64; 3]| brick.component_mul(&Vector3::from(seed.map(|s| (s * k as f64).fract())));
            let (x, y) = (inside([0.618, 0.414, 0.732]), inside([0.236, 0.646, 0.317]));
            let d = cell.minimum_image(x - y);
            if d.norm() < reach {
                found += 1;
                let shift = d - (x - y);
                let same = |turns: &[i8; 3]| (cell.vector(turns.map(f64::from)) - shift).norm() < 1e-9;
                assert_eq!(images.iter().filter(|turns| same(turns)).count(), 1, "{cell:?} {shift:?}");
            }
            let moved = x + cell.vector([3.0, -2.0, 1.0]);
            let back = moved + cell.vector(cell.turns_into_brick(moved));
            assert!((back - x).norm() < 1e-9, "{cell:?}");
            assert!((cell.vector(cell.coordinates(moved)) - moved).norm() < 1e-12, "{cell:?}");
        }
        assert!(found > 20, "{cell:?} {found}");
    }
    let [rectangular, ..] = boxes();
    assert_eq!(rectangular.images_within(0.9).len(), 27);
}

/// Layers would be counted in eight bits and wrap.
#[test]
#[should_panic(expected = "valid is a reach of 0 to 125 edges")]
fn images_too_many_edges_away_are_not_listed() {
    PeriodicBox::rectangular(Vector3::new(1.0, 1.0, 0.01)).unwrap().images_within(1.3);
}

/// A box that has become nonsense is no open space.
#[test]
fn numbers_that_are_no_box_are_not_open_space() {
    for cell in boxes().map(Cell::Periodic).into_iter().chain([Cell::Open]) {
        assert_eq!(Cell::from_packed(cell.packed()), Ok(cell));
    }
    for wrong in [[f64::NAN; 6], [2.0, 0.0, 2.0, 0.0, 0.0, 0.0], [2.0, 2.0, -2.0, 0.0, 0.0, 0.0]] {
        let error = Cell::from_packed(wrong).unwrap_err().to_string();
        assert!(error.starts_with("box vectors"), "{error}");
    }
}

/// An octahedron and a dodecahedron in other edges of the same lattice, as programs write them, with the rounding of files.
#[test]
fn the_reduced_box_has_the_same_lattice() {
    for cell in boxes() {
        let [a, b, c] = cell.rows().map(Vector3::from);
        let skewed = [a, b + 3.0 * a, c - 2.0 * b + 4.0 * a].map(<[f64; 3]>::from);
        let reduced = PeriodicBox::reduced(skewed).unwrap();
        let [[ax, ..], [bx, by, _], [cx, cy, _]] = reduced.rows();
        let half = 0.5005;
        assert!(bx.abs() <= half * ax && cx.abs() <= half * ax && cy.abs() <= half * by, "{reduced:?}");
        assert!((reduced.volume() / cell.volume() - 1.0).abs() < 1e-12);
        for row in reduced.rows().map(Vector3::from) {
            let turns = cell.turns_into_brick(row + Vector3::repeat(1e-9));
            assert!((row + cell.vector(turns)).norm() < 1e-6, "{row:?} is no vector of {cell:?}");
        }
    }
    // What is reduced already keeps its bits, halves rounded up too.
    let rounded = [[4.7, 0.0, 0.0], [0.0, 4.7, 0.0], [2.35001, -2.35001, 3.32340]];
    assert_eq!(PeriodicBox::reduced(rounded).unwrap().rows(), rounded);
    let nearly = [[3.0, 2e-8, 0.0], [1e-6, 3.0, 0.0], [-2e-5, 1e-7, 4.0]];
    assert!(PeriodicBox::reduced(nearly).unwrap().is_rectangular());
    assert!(PeriodicBox::reduced([[3.0, 0.5, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]]).is_err());
}

#[test]
fn only_a_stretched_box_has_a_stretch() {
    let [rectangular, dodecahedron, ..] = boxes().map(Cell::Periodic);
    let twice = dodecahedron.scaled(2.0).unwrap();
    assert_eq!(twice.stretch_since(&dodecahedron), Some(Vector3::repeat(2.0)));
    let longer = Cell::Periodic(PeriodicBox::triclinic([[4.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 1.0, 2.0]]).unwrap());
    let expected = Vector3::new(2.0, 1.0, 2f64.sqrt());
    assert!((longer.stretch_since(&dodecahedron).unwrap() - expected).norm() < 1e-12);
    assert_eq!((rectangular.stretch_since(&dodecahedron), Cell::Open.stretch_since(&dodecahedron)), (None, None));
}

#[test]
fn numbers_that_are_no_box_are_refused() {
    assert!(PeriodicBox::rectangular(Vector3::new(1.0, f64::NAN, 1.0)).is_err());
    assert!(PeriodicBox::rectangular(Vector3::new(1.0, 0.0, 1.0)).is_err());
    let above = [[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    assert_eq!(PeriodicBox::triclinic(above), Err(CellError::Edges { rows: above }));
    assert!(PeriodicBox::triclinic([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 1e-4]]).is_err());
}

#[test]
fn open_space_has_no_images() {
    let d = Vector3::new(100.0, -3.0, 7.0);
    let open = Cell::Open;
    assert_eq!((open.minimum_image(d), open.volume(), open.scaled(2.0)), (d, None, Ok(Cell::Open)));
    assert!(!open.is_periodic() && !open.is_triclinic() && open.edges().is_none());
    assert!(Cell::Periodic(boxes()[1]).is_triclinic());
}
