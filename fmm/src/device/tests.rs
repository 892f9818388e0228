//! Assignment, near field, excluded pairs and trace term against plain loops in f64; no far field here.

use super::*;
use crate::TreeShape;
use crate::solver::trace::Trace;
use kernels::device::{check_layouts, compiles};

const TRICLINIC: [[f64; 3]; 3] = [[2.0, 0.1, -0.2], [0.7, 1.9, 0.1], [-0.6, 0.8, 2.1]];

/// xorshift
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Case {
    boundary: Boundary,
    root: [usize; 3],
    separation: f64,
    x: Vec<[f64; 3]>,
    q: Vec<f64>,
    exclusions: Exclusions,
}

impl Case {
    /// Charges anywhere, a few cells away; `dense` of them in one corner; neighbours in number excluded if they are nearer than 0.3.
    fn new(boundary: Boundary, root: [usize; 3], separation: f64, (n, dense): (usize, usize)) -> Self {
        let mut uniform = numbers(3 + n as u64);
        let vectors = match boundary {
            Boundary::Periodic { cell } => cell,
            _ => [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]],
        };
        let place = |f: [f64; 3]| [0, 1, 2].map(|a| (0..3).map(|v| f[v] * vectors[v][a]).sum::<f64>());
        let mut x: Vec<[f64; 3]> = Vec::new();
        for i in 0..n {
            let extent = if i < dense { 0.12 } else { 1.0 };
            let f = [0; 3].map(|_| extent * uniform());
            // Every third one near the one before it.
            let near = |r: [f64; 3], u: &mut dyn FnMut() -> f64| r.map(|r| r + 0.1 * (u() - 0.5));
            x.push(if i % 3 == 0 || i < dense { place(f) } else { near(x[i - 1], &mut uniform) });
        }
        let pairs = (1..n as u32).filter(|i| i % 3 != 0 && *i as usize >= dense).map(|i| [i - 1, i]);
        let exclusions = Exclusions::from_pairs(n, pairs).unwrap();
        for r in &mut x {
            for v in boundary.periods() {
                let times = (5.0 * uniform() - 2.5).round();
                (0..3).for_each(|a| r[a] += times * v[a]);
            }
        }
        let q = (0..n).map(|_| 2.0 * uniform() - 0.9).collect();
        Self { boundary, root, separation, x, q, exclusions }
    }

    /// Every third particle without charge.
    fn with_uncharged(mut self) -> Self {
        self.q.iter_mut().step_by(3).for_each(|q| *q = 0.0);
        self
    }

    fn members(&self) -> Members {
        Members::of(&self.q.iter().map(|q| *q != 0.0).collect::<Vec<_>>())
    }

    fn settings(&self) -> Settings {
        Settings { order: 4, tree: TreeShape { root: self.root, depth: 0 }, separation: self.separation }
    }
}

struct Run<T: Real + Pod> {
    fmm: DeviceFmm<T>,
    stream: Stream,
    x: Buffer<f64>,
    q: Buffer<f64>,
}

impl<T: Real + Pod> Run<T> {
    fn new(case: &Case) -> Self {
        let device = Device::of_tests().unwrap();
        let members = case.members();
        let particles = (&case.exclusions, &members);
        let fmm = DeviceFmm::near_only(&device, case.boundary, case.settings(), &case.x, particles).unwrap();
        let stream = device.stream().unwrap();
        let x = device.upload(case.x.as_flattened()).unwrap();
        let q = device.upload(&case.q).unwrap();
        fmm.enqueue_assign(&stream, &x).unwrap();
        Self { fmm, stream, x, q }
    }

    fn evaluate(&self) -> (Vec<f64>, Vec<f64>) {
        self.fmm.enqueue_evaluate(&self.stream, &self.stream, &self.x, &self.q).unwrap();
        (self.fmm.potential().read(&self.stream).unwrap(), self.fmm.field().read(&self.stream).unwrap())
    }
}

/// The same sums over the pairs of near boxes, in the caller's lengths. An excluded pair is skipped for its nearest image.
fn expected<T: Real + Pod>(case: &Case, run: &Run<T>) -> (Vec<f64>, Vec<f64>) {
    let Run { fmm, stream, .. } = run;
    let read = |b: &Buffer<u32>| b.read(stream).unwrap();
    let (order, starts, leaf_of) = (read(fmm.assignment.order()), read(fmm.starts()), read(fmm.leaf_of()));
    let images = fmm.assignment.images.read(stream).unwrap();
    let (host, topology) = (&fmm.host, fmm.grid.topology);
    let (n, boxed) = (case.x.len(), fmm.n_members());
    let coordinates = |leaf: u32| topology.coordinates(leaf as usize).map(|c| c as u32);
    let wrapped = |k: usize| host.wrapped(case.x[order[k] as usize], [0, 1, 2].map(|a| images[3 * k + a]));
    let mut trace = Trace::new(host.volume);
    for k in 0..boxed {
        let (r, centre) = (wrapped(k), host.centres(coordinates(leaf_of[k])).0);
        trace.add(case.q[order[k] as usize], [0, 1, 2].map(|a| r[a] - centre[a]));
    }
    let (mut potential, mut field) = (vec![0.0; n], vec![0.0; 3 * n]);
    for k in 0..boxed {
        let (i, c, r) = (order[k] as usize, topology.coordinates(leaf_of[k] as usize), wrapped(k));
        let centre = host.centres(coordinates(leaf_of[k])).0;
        let (mut phi, mut e) = trace.at([0, 1, 2].map(|a| r[a] - centre[a]));
        let mut partners: std::collections::HashMap<usize, Vec<(f64, [f64; 3])>> = Default::default();
        for u in fmm.grid.near.offsets() {
            let Some(source) = topology.displaced(c, *u) else { continue };
            let leaf = topology.index(source);
            let target = [0, 1, 2].map(|a| f64::from(c[a] as i32 + u[a]));
            let back = host.vector([0, 1, 2].map(|a| target[a] - source[a] as f64));
            let places = starts[leaf] as usize..starts[leaf + 1] as usize;
            for (m, &j) in places.clone().zip(&order[places]) {
                let (j, s) = (j as usize, wrapped(m));
                let d = [0, 1, 2].map(|a| r[a] - s[a] - back[a]);
                let distance = d.iter().map(|d| d * d).sum::<f64>().sqrt();
                if j == i && *u == [0; 3] {
                    continue;
                }
                if case.exclusions.contains(i, j) {
                    partners.entry(j).or_default().push((distance, d));
                    continue;
                }
                phi += case.q[j] / distance;
                (0..3).for_each(|a| e[a] += case.q[j] * d[a] / distance.powi(3));
            }
        }
        for (j, mut images) in partners {
            images.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (distance, d) in &images[1..] {
                phi += case.q[j] / distance;
                (0..3).for_each(|a| e[a] += case.q[j] * d[a] / distance.powi(3));
            }
        }
        potential[i] = phi;
        field[3 * i..3 * i + 3].copy_from_slice(&e);
    }
    (potential, field)
}

/// Norm of the difference over that of `b`, or over 1: sums of terms of that size may cancel.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let square = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>();
    (square(&mut a.iter().zip(b).map(|(a, b)| a - b)) / square(&mut b.iter().copied()).max(1.0)).sqrt()
}

fn cases() -> Vec<Case> {
    let cube = Boundary::rectangular([2.0; 3]);
    let brick = Boundary::rectangular([2.0, 3.0, 1.5]);
    let triclinic = Boundary::Periodic { cell: TRICLINIC };
    vec![
        Case::new(cube, [3; 3], 1.12, (500, 0)),
        // Uncharged ones, excluded from charged ones, lie in no box.
        Case::new(cube, [3; 3], 1.12, (500, 0)).with_uncharged(),
        // 300 targets and more sources than fit the stage; some boxes are empty.
        Case::new(cube, [6; 3], 1.2, (700, 300)),
        // One box and its own images.
        Case::new(brick, [1, 2, 1], 1.5, (33, 0)),
        Case::new(triclinic, [3, 4, 3], 1.2, (400, 0)),
        Case::new(triclinic, [3, 4, 3], 1.2, (400, 0)).with_uncharged(),
        Case::new(Boundary::Open, [4, 3, 5], 1.2, (400, 0)),
        Case::new(Boundary::Open, [4, 3, 5], 1.2, (400, 0)).with_uncharged(),
        Case::new(Boundary::Open, [1; 3], 1.12, (3, 0)),
    ]
}

#[test]
fn near_field_and_trace_are_those_of_plain_loops() {
    for (number, case) in cases().iter().enumerate() {
        let run = Run::<f64>::new(case);
        run.fmm.check(&run.stream).unwrap();
        let (potential, field) = run.evaluate();
        let (phi, e) = expected(case, &run);
        let d = [difference(&potential, &phi), difference(&field, &e)];
        // Sums of up to 3000 terms in another order; excluded pairs at 0.02 of a box are added and subtracted again.
        assert!(d.iter().all(|d| *d < 1e-12), "case {number}: {d:?}");

        let run = Run::<f32>::new(case);
        let (potential, field) = run.evaluate();
        let (phi, e) = expected(case, &run);
        let d = [difference(&potential, &phi), difference(&field, &e)];
        // Coordinates rounded to 6e-8 of a box, pairs at 0.02 of it.
        assert!(d.iter().all(|d| *d < 2e-5), "case {number} in f32: {d:?}");
    }
}

#[test]
fn assignment_is_that_of_the_host() {
    for case in cases() {
        let run = Run::<f32>::new(&case);
        let (members, everybody) = (case.members(), (0..case.x.len() as u32).collect::<Vec<_>>());
        let (x, number, none) = (members.select(&case.x), members.select(&everybody), Exclusions::none(members.len()));
        let host = crate::geometry::assignment::Assignment::new(run.fmm.host, &run.fmm.grid.near, &x, &none).unwrap();
        let read = |b: &Buffer<u32>| b.read(&run.stream).unwrap();
        let order: Vec<u32> = host.order.iter().map(|k| number[*k as usize]).collect();
        assert_eq!(read(run.fmm.assignment.order()), order);
        let mut place = vec![u32::MAX; case.x.len()];
        order.iter().zip(0..).for_each(|(i, k)| place[*i as usize] = k);
        assert_eq!(read(run.fmm.place()), place);
        assert_eq!(read(run.fmm.leaf_of()), host.leaf_of);
        assert_eq!(read(run.fmm.starts()), host.leaves().starts);
        assert_eq!(run.fmm.assignment.images.read(&run.stream).unwrap(), host.images.as_flattened());
    }
}

#[test]
fn particles_may_move_and_the_cell_may_scale_between_assignments() {
    let mut case = Case::new(Boundary::Periodic { cell: TRICLINIC }, [3, 4, 3], 1.2, (300, 0));
    let mut run = Run::<f64>::new(&case);
    let mut uniform = numbers(5);
    case.x.as_flattened_mut().iter_mut().for_each(|x| *x += 0.1 * (uniform() - 0.5));
    run.x.write(&run.stream, case.x.as_flattened()).unwrap();
    let (potential, field) = run.evaluate();
    let (phi, e) = expected(&case, &run);
    assert!(difference(&potential, &phi) < 1e-12 && difference(&field, &e) < 1e-12);

    let scaled = |s: f64| Boundary::Periodic { cell: TRICLINIC.map(|v| v.map(|x| s * x)) };
    case.x.as_flattened_mut().iter_mut().for_each(|x| *x *= 1.25);
    run.x.write(&run.stream, case.x.as_flattened()).unwrap();
    assert!(!run.fmm.set_boundary(&run.stream, scaled(1.25)).unwrap());
    let (smaller, weaker) = run.evaluate();
    let larger: Vec<f64> = smaller.iter().map(|phi| phi * 1.25).collect();
    let stronger: Vec<f64> = weaker.iter().map(|e| e * 1.25 * 1.25).collect();
    // Coordinates divided by another scale.
    assert!(difference(&larger, &potential) < 1e-12 && difference(&stronger, &field) < 1e-12);

    let sheared = Boundary::Periodic {
        cell: [[2.5, 0.2, -0.25], TRICLINIC[1].map(|x| 1.25 * x), TRICLINIC[2].map(|x| 1.25 * x)],
    };
    case.boundary = sheared;
    assert!(run.fmm.set_boundary(&run.stream, sheared).unwrap());
    let (potential, field) = run.evaluate();
    let (phi, e) = expected(&case, &run);
    assert!(difference(&potential, &phi) < 1e-12 && difference(&field, &e) < 1e-12);
    assert!(run.fmm.set_boundary(&run.stream, Boundary::Open).is_err());
}

#[test]
fn graphs_repeat_bit_for_bit_and_shapes_agree_to_rounding() {
    let case = Case::new(Boundary::rectangular([2.0; 3]), [4; 3], 1.2, (600, 150));
    let mut run = Run::<f32>::new(&case);
    let first = run.evaluate();
    let evaluate = || run.fmm.enqueue_evaluate(&run.stream, &run.stream, &run.x, &run.q);
    let graph = run.stream.capture(evaluate).unwrap();
    run.stream.zero(run.fmm.potential()).unwrap();
    graph.launch(&run.stream).unwrap();
    graph.launch(&run.stream).unwrap();
    assert_eq!(run.fmm.potential().read(&run.stream).unwrap(), first.0);
    assert_eq!(run.fmm.field().read(&run.stream).unwrap(), first.1);
    for (threads, targets, sources, lanes, unroll) in [(32, 1, 64, 32, 1), (64, 3, 100, 16, 3), (256, 4, 512, 1, 2)] {
        let shape = NearShape { threads, targets, sources, lanes, unroll };
        run.fmm.near = NearField::new(&run.fmm.device, shape).unwrap();
        let other = run.evaluate();
        // Sums of a thousand terms in another order.
        assert!(difference(&other.0, &first.0) < 1e-5 && difference(&other.1, &first.1) < 1e-5);
    }
}

/// A pair that is not there leaves less than the rounding of one term, wherever its partners lie; at the same place it leaves nothing.
#[test]
fn excluded_pairs_cancel_to_rounding() {
    // Across faces of boxes and of the cell, and inside.
    for (corner, image) in [([0.49, 0.5, 0.5], 0.0), ([0.99, 0.3, 0.98], 1.0), ([0.2, 0.2, 0.2], -3.0)] {
        let r = corner.map(|c| 2.0 * c);
        for distance in [0.03, 0.0] {
            let other = [r[0] + distance - 2.0 * image, r[1] + distance, r[2]];
            let case = Case {
                boundary: Boundary::rectangular([2.0; 3]),
                root: [4; 3],
                separation: 1.12,
                x: vec![r, other],
                q: vec![1.0, -1.0],
                exclusions: Exclusions::from_pairs(2, [[0, 1]]).unwrap(),
            };
            let run = Run::<f32>::new(&case);
            run.fmm.check(&run.stream).unwrap();
            let (potential, field) = run.evaluate();
            let (phi, e) = expected(&case, &run);
            let size = 1.0 / (2.0_f64.sqrt() * distance).max(1e-3);
            // One rounding of the pair in f32, of its field 1/r² likewise; no rounding of zero.
            let most = if distance > 0.0 { 1.2e-7 } else { 1e-12 };
            for i in 0..2 {
                assert!(
                    (potential[i] - phi[i]).abs() < most * size,
                    "{corner:?} {distance}: {} {}",
                    potential[i],
                    phi[i]
                );
            }
            for i in 0..6 {
                assert!((field[i] - e[i]).abs() < most * size * size, "{corner:?} {distance}: {} {}", field[i], e[i]);
            }
        }
    }
}

#[test]
fn what_is_wrong_with_particles_is_found() {
    let fault = |change: &dyn Fn(&mut Case)| {
        let mut case = Case::new(Boundary::rectangular([2.0; 3]), [4; 3], 1.12, (60, 0));
        change(&mut case);
        let run = Run::<f32>::new(&case);
        let found = run.fmm.check(&run.stream).unwrap_err();
        run.fmm.check(&run.stream).unwrap();
        found
    };
    let not_finite = FmmError::NotFinite { particle: 7, what: "position" };
    assert_eq!(fault(&|c| (c.x[7][1], c.x[9][0]) = (f64::NAN, f64::INFINITY)), not_finite);
    assert_eq!(fault(&|c| c.x[5][2] = 1e12), FmmError::TooFar { particle: 5 });
    let coincident = fault(&|c| {
        (c.exclusions, c.x[40], c.x[11]) = (Exclusions::none(60), [0.25, 0.5, -1.75], [0.25, 2.5, 0.25]);
    });
    assert_eq!(coincident, FmmError::Coincident { particle: 11, other: None });
    let far = fault(&|c| {
        (c.x[20], c.x[50]) = ([0.1; 3], [1.1; 3]);
        c.exclusions = Exclusions::from_pairs(60, [[50, 20]]).unwrap();
    });
    assert_eq!(far, FmmError::ExclusionTooFar { i: 20, j: 50 });
    let tree = TreeShape { root: [3; 3], depth: 6 };
    let device = Device::of_tests().unwrap();
    // Whatever repeats, before there are particles.
    for boundary in [Boundary::Open, Boundary::rectangular([2.0; 3])] {
        let new = |settings| DeviceCoulomb::<f32>::new(&device, boundary, settings).err();
        assert_eq!(new(Settings::new(99, tree)), Some(FmmError::Order { order: 99, max: 60 }), "{boundary:?}");
        let separation = Settings { separation: 0.5, ..Settings::new(4, TreeShape { root: [2; 3], depth: 0 }) };
        assert_eq!(new(separation), Some(FmmError::Separation { separation: 0.5 }), "{boundary:?}");
        assert!(matches!(new(Settings::new(4, tree)), Some(FmmError::DeviceBoxes { .. })), "{boundary:?}");
    }
    let deep = DeviceFmm::<f32>::new(&device, Boundary::Open, Settings::new(4, tree), &[], &Exclusions::none(3));
    assert!(matches!(deep.err(), Some(FmmError::DeviceBoxes { boxes: 7_077_888, .. })));
}

/// Kernels would read and write what does not belong to them.
#[test]
fn short_lists_are_refused() {
    let case = Case::new(Boundary::rectangular([2.0; 3]), [4; 3], 1.12, (60, 0));
    let run = Run::<f32>::new(&case);
    let device = Device::of_tests().unwrap();
    let (x, q) = (device.zeros::<f64>(179).unwrap(), device.zeros::<f64>(59).unwrap());
    let forces = device.zeros::<i64>(179).unwrap();
    let short = |n: usize| Err(DeviceError::Length { expected: n, found: n - 1 });
    assert_eq!(run.fmm.enqueue_assign(&run.stream, &x), short(180));
    assert_eq!(run.fmm.enqueue_gather(&run.stream, &x, &run.q), short(180));
    assert_eq!(run.fmm.enqueue_gather(&run.stream, &run.x, &q), short(60));
    assert_eq!(run.fmm.enqueue_forces(&run.stream, &q, 1.0, &forces), short(60));
    assert_eq!(run.fmm.enqueue_forces(&run.stream, &run.q, 1.0, &forces), short(180));
    let energies = device.zeros::<i64>(10).unwrap();
    let images = |x, q, first| run.fmm.enqueue_images(&run.stream, (x, q), 1.0, (&energies, first));
    assert_eq!(images(&x, &run.q, 0), short(180));
    assert_eq!(images(&run.x, &q, 0), short(60));
    assert_eq!(images(&run.x, &run.q, 8), short(11));
    assert_eq!(images(&run.x, &run.q, 7), Ok(()));
    let whole = DeviceFmm::<f32>::new(&device, case.boundary, case.settings(), &case.x, &case.exclusions).unwrap();
    let far = whole.root_field().unwrap();
    let (sorted, starts, few) = (whole.sorted(), whole.starts(), device.zeros::<u32>(64).unwrap());
    assert_eq!(far.enqueue(&run.stream, sorted, &few, sorted), short(65));
    let out = device.zeros::<f32>(sorted.len() - 1).unwrap();
    assert_eq!(far.enqueue(&run.stream, sorted, starts, &out), short(sorted.len()));
    let positions = FmmError::Length { what: "positions", expected: 60, found: 50 };
    let settings = Settings::new(4, TreeShape { root: [4; 3], depth: 0 });
    let few = DeviceFmm::<f32>::new(&device, case.boundary, settings, &case.x[..50], &case.exclusions);
    assert_eq!(few.err(), Some(positions));
}

/// Products of three sources and two targets by two operators.
#[test]
fn products_need_all_rows_that_their_lists_name() {
    let (device, order) = (Device::of_tests().unwrap(), 2);
    let stream = device.stream().unwrap();
    let lists = products::Lists::new(products::BOXES, &[vec![0, 1]], |target, list| list.push((target, 2 * target)));
    let products = products::Products::<f64>::new(&device, order, &lists).unwrap();
    let row = products::row_length(order);
    let lengths = [2 * row * row, 3 * row, 2 * row];
    let enqueue = |lengths: [usize; 3]| {
        let [operators, sources, targets] = lengths.map(|n| device.zeros::<f64>(n).unwrap());
        products.enqueue(&stream, &operators, &sources, &targets, (products::Occupied::default(), false))
    };
    assert_eq!(enqueue(lengths), Ok(()));
    for k in 0..3 {
        let mut few = lengths;
        few[k] -= 1;
        assert_eq!(enqueue(few), Err(DeviceError::Length { expected: lengths[k], found: few[k] }), "buffer {k}");
    }
}

/// Forces are added to members; of the others the position must be a number, and nothing else of them is looked at.
#[test]
fn particles_that_are_no_members_feel_nothing() {
    let mut case = Case::new(Boundary::rectangular([2.0; 3]), [4; 3], 1.12, (60, 0)).with_uncharged();
    // On top of each other and of a member, and excluded from members that are far.
    (case.x[0], case.x[3], case.x[6]) = (case.x[10], case.x[10], [1.9, 0.1, 1.0]);
    case.exclusions = Exclusions::from_pairs(60, [[0, 3], [0, 7], [3, 11], [6, 40], [6, 41]]).unwrap();
    let run = Run::<f32>::new(&case);
    run.fmm.check(&run.stream).unwrap();
    assert_eq!((run.fmm.n_particles(), run.fmm.n_members()), (60, 40));
    let fixed = Device::of_tests().unwrap().upload(&[7i64; 180]).unwrap();
    let (potential, field) = run.evaluate();
    run.fmm.enqueue_forces(&run.stream, &run.q, 138.935, &fixed).unwrap();
    let forces = fixed.read(&run.stream).unwrap();
    for i in 0..60 {
        let of = [potential[i], field[3 * i], field[3 * i + 1], field[3 * i + 2]];
        let added = forces[3 * i..3 * i + 3] != [7; 3];
        assert!((of != [0.0; 4]) == (i % 3 != 0) && added == (i % 3 != 0), "particle {i}: {of:?} {added}");
    }
    case.x[21][2] = f64::NAN;
    let run = Run::<f32>::new(&case);
    let found = run.fmm.check(&run.stream).unwrap_err();
    assert_eq!(found, FmmError::NotFinite { particle: 21, what: "position" });
}

/// Between two assignments nothing looks at positions; particles on top of each other, or not numbers, then give forces that stop the
/// motion (beyond 2^62, see `prelude.cuh`) instead of moving particles somewhere.
#[test]
fn overlaps_after_the_assignment_give_forces_out_of_range() {
    fn check<T: Real + Pod>() {
        let mut case = Case::new(Boundary::rectangular([2.0; 3]), [4; 3], 1.12, (60, 0));
        (case.x[12], case.exclusions) = (case.x[40].map(|x| x + 0.05), Exclusions::none(60));
        let run = Run::<T>::new(&case);
        run.fmm.check(&run.stream).unwrap();
        let forces = |x: &[[f64; 3]]| {
            let fixed = Device::of_tests().unwrap().zeros::<i64>(180).unwrap();
            run.x.write(&run.stream, x.as_flattened()).unwrap();
            run.fmm.enqueue_gather(&run.stream, &run.x, &run.q).unwrap();
            run.fmm.enqueue_near(&run.stream).unwrap();
            run.fmm.enqueue_forces(&run.stream, &run.q, 138.935, &fixed).unwrap();
            let beyond = |f: &[i64; 3]| f.iter().any(|f| f.unsigned_abs() > 1 << 62);
            fixed.read(&run.stream).unwrap().as_chunks::<3>().0.iter().map(beyond).collect::<Vec<_>>()
        };
        assert!(!forces(&case.x).contains(&true));
        let mut x = case.x.clone();
        x[12] = [x[40][0] + 2e-5, x[40][1], x[40][2]];
        let at = forces(&x);
        assert!(at[12] && at[40], "{at:?}");
        x[12][0] = f64::NAN;
        assert!(forces(&x)[12]);
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn layouts_are_those_of_the_device() {
    fn check<T: Real>(device: &Device) {
        let near = near::source::<T>(NearShape::default_for::<T>());
        let (first_and_last, products) = (evaluate::source::<T>(1), products::Multiplier::fused(4, size_of::<T>()));
        for source in [near, first_and_last, products.source(), levels::source::<T>(4), peak::source::<T>()] {
            check_layouts(device, &source).unwrap();
        }
    }
    let device = Device::of_tests().unwrap();
    check::<f32>(&device);
    check::<f64>(&device);
    check_layouts(&device, &assignment::source()).unwrap();
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    for architecture in ["sm_75", "sm_80", "sm_90"] {
        let near = [
            near::source::<f32>(NearShape::default_for::<f32>()),
            near::source::<f64>(NearShape::default_for::<f64>()),
        ];
        for source in
            near.into_iter().chain([assignment::source(), evaluate::source::<f32>(0), evaluate::source::<f64>(2)])
        {
            compiles(&source, architecture).unwrap();
        }
    }
}

/// The virial along each axis and what sums over particles miss of it, and the potentials, in boxes that change their shape: as on the CPU, whose operators are made anew for
/// each shape.
#[test]
fn boxes_follow_shapes_and_tell_the_virial_along_each_axis() {
    let edges = [2.0, 2.2, 2.5];
    let boundary = |f: [f64; 3]| Boundary::rectangular([0, 1, 2].map(|a| edges[a] * f[a]));
    let case = Case::new(boundary([1.0; 3]), [3, 4, 3], 1.12, (200, 0)).with_uncharged();
    let (members, settings) = (case.members(), Settings { order: 6, ..case.settings() });
    let (device, exclusions) = (Device::of_tests().unwrap(), &case.exclusions);
    let fmm = DeviceFmm::of_members(&device, case.boundary, settings, &case.x, (exclusions, &members)).unwrap();
    let [x, q] = [case.x.as_flattened(), &case.q].map(|numbers| device.upload(numbers).unwrap());
    let mut run = Run::<f64> { fmm, stream: device.stream().unwrap(), x, q };
    run.fmm.follow_shapes(&run.stream).unwrap();
    run.fmm.enqueue_assign(&run.stream, &run.x).unwrap();
    let mut cpu = crate::Fmm::<f64>::new(case.boundary, settings).unwrap();
    cpu.assign(&case.x, exclusions).unwrap();
    let mut out = crate::Potentials::default();
    // At the reference, near and farther from it, so far that it moves, and back on another side of it. What the polynomial leaves out is that of (n + 1)³ ε³/6.
    for (factors, tolerance) in [
        ([1.0, 1.0, 1.0], [1e-12, 1e-7]),
        ([1.0005, 1.001, 0.9995], [1e-7, 1e-5]),
        ([1.004, 0.999, 1.003], [1e-6, 1e-4]),
        ([1.03, 1.02, 0.97], [1e-12, 1e-7]),
        ([1.028, 1.018, 0.972], [1e-6, 1e-4]),
    ] {
        let now: Vec<[f64; 3]> = case.x.iter().map(|r| [0, 1, 2].map(|a| r[a] * factors[a])).collect();
        run.x.write(&run.stream, now.as_flattened()).unwrap();
        assert!(!run.fmm.set_boundary(&run.stream, boundary(factors)).unwrap(), "graphs stay");
        let (potential, field) = run.evaluate();
        let sums = device.zeros::<i64>(5).unwrap();
        run.fmm.enqueue_images(&run.stream, (&run.x, &run.q), 3.0, (&sums, 1)).unwrap();
        let sums: Vec<f64> = sums.read(&run.stream).unwrap().iter().map(|&s| s as f64 / f64::from(1 << 24)).collect();
        assert_eq!([sums[0], sums[4]], [0.0; 2]);

        cpu.set_boundary(boundary(factors)).unwrap();
        let energy = cpu.evaluate(&now, &case.q, &mut out).unwrap();
        let virial = cpu.virial().unwrap();
        let of_members = |i: usize, v: f64| if case.q[i] == 0.0 { 0.0 } else { v };
        let phi: Vec<f64> = out.potential.iter().enumerate().map(|(i, &v)| of_members(i, v)).collect();
        let e: Vec<f64> = out.field.as_flattened().iter().enumerate().map(|(i, &v)| of_members(i / 3, v)).collect();
        let fields = difference(&potential, &phi).max(difference(&field, &e));
        let of_atoms = |a: usize| -> f64 { (0..now.len()).map(|i| case.q[i] * now[i][a] * field[3 * i + a]).sum() };
        let found = [0, 1, 2].map(|a| sums[1 + a] / 3.0 + of_atoms(a));
        let apart = (0..3).map(|a| (found[a] - virial[a]).abs() / energy.abs()).fold(0.0, f64::max);
        println!("{factors:?}: fields {fields:.1e}, virial {found:?} of {virial:?}, {apart:.1e}");
        assert!(fields < tolerance[0] && apart < tolerance[1], "{factors:?}: {fields:e}, {found:?} {virial:?}");
    }
    assert_eq!(run.fmm.reference(), Some(boundary([1.03, 1.02, 0.97])));
    run.fmm.set_reference(&run.stream, boundary([1.0; 3])).unwrap();
    assert_eq!(run.fmm.reference(), Some(boundary([1.0; 3])));
}

#[test]
fn pairs_among_members_keep_the_numbers_of_the_particles() {
    let members = Members::of(&[true, false, true, true, false, true]);
    // Two pairs of members; one of a member and another particle, and one of two others.
    let exclusions = Exclusions::from_pairs(6, [[0, 3], [3, 5], [2, 4], [1, 4]]).unwrap();
    let among = assignment::among;
    assert_eq!(among(&members, &exclusions), Exclusions::from_pairs(6, [[0, 3], [3, 5]]).unwrap());
    assert_eq!(among(&Members::all(6), &exclusions), exclusions);
    assert_eq!(among(&Members::of(&[false; 6]), &exclusions), Exclusions::none(6));
}
