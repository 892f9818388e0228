//! Particles that never have a charge are left out: what the others feel is what they feel among all of them.

use crate::common::systems::{PERIODIC, SLAB, exact, filled, force_error};
use crate::common::{difference, run};
use fmm::{Boundary, Exclusions, Fmm, FmmError, FmmOfMembers, Members, Potentials, Settings, TreeShape};

pub const N: usize = 450;

/// Molecules of three particles that exclude each other; the first one has no charge.
pub struct Molecules {
    pub x: Vec<[f64; 3]>,
    pub q: Vec<f64>,
    pub exclusions: Exclusions,
    pub members: Members,
}

impl Molecules {
    pub fn new(boundary: &Boundary, charge: f64) -> Self {
        let (mut x, mut q) = filled(boundary, N, 0.0, 7);
        for i in (0..N).step_by(3) {
            (0..3).for_each(|a| (x[i + 1][a], x[i + 2][a]) = (x[i][a] + 0.05, x[i][a] - 0.03 * a as f64 - 0.02));
            q[i] = 0.0;
        }
        let members = Members::of(&q.iter().map(|q| *q != 0.0).collect::<Vec<_>>());
        let excess = (q.iter().sum::<f64>() - charge) / members.len() as f64;
        q.iter_mut().filter(|q| **q != 0.0).for_each(|q| *q -= excess);
        let pairs = (0..N as u32).step_by(3).flat_map(|i| [[i, i + 1], [i, i + 2], [i + 1, i + 2]]);
        Self { x, q, exclusions: Exclusions::from_pairs(N, pairs).unwrap(), members }
    }
}

fn settings(order: usize, root: [usize; 3], depth: usize) -> Settings {
    Settings { order, tree: TreeShape { root, depth }, separation: 1.2 }
}

pub fn of_members(boundary: Boundary, settings: Settings, system: &Molecules) -> FmmOfMembers<f64> {
    let solver = Fmm::new(boundary, settings).unwrap();
    FmmOfMembers::new(solver, system.members.clone(), &system.exclusions).unwrap()
}

pub fn evaluated(solver: &mut FmmOfMembers<f64>, system: &Molecules) -> (f64, Potentials) {
    // Whatever was there before is overwritten.
    let mut out = Potentials { potential: vec![5.0; N], field: vec![[5.0; 3]; N] };
    solver.assign(&system.x).unwrap();
    let energy = solver.evaluate(&system.x, &system.q, &mut out).unwrap();
    (energy, out)
}

pub fn only_members_feel(out: &Potentials) -> bool {
    (0..N).all(|i| (out.potential[i] == 0.0 && out.field[i] == [0.0; 3]) == (i % 3 == 0))
}

#[test]
fn uncharged_particles_are_left_out() {
    for (boundary, root, depth, charge) in [
        (PERIODIC, [3; 3], 0, 2.0),
        (PERIODIC, [2; 3], 1, 0.0),
        (Boundary::rectangular([2.0; 3]), [4; 3], 0, 0.0),
        (SLAB, [3; 3], 0, 0.0),
        (Boundary::Open, [4; 3], 0, -3.0),
    ] {
        let system = Molecules::new(&boundary, charge);
        let (x, q, exclusions) = (&system.x, &system.q, &system.exclusions);
        let settings = settings(12, root, depth);
        let mut solver = of_members(boundary, settings, &system);
        let (energy, out) = evaluated(&mut solver, &system);
        assert!(only_members_feel(&out), "{boundary:?}");
        let (exactly, truth) = exact(&boundary, x, q, exclusions);
        let mut all = Fmm::<f64>::new(boundary, settings).unwrap();
        let (e, mut full) = run(&mut all, x, q, exclusions);
        let errors = [&out, &full].map(|p| force_error(q, p, &truth));
        println!("{boundary:?} {depth}: errors of forces {errors:?}, energies {energy} {e} {exactly}");
        // Truncation at order 12 (found: 1e-6), with boxes around all particles or around the charged ones, where there are no periods.
        assert!(errors[0] < 1e-5 && errors[0] < 1.5 * errors[1], "{errors:?}");
        assert!((energy - exactly).abs() < 1e-5 * exactly.abs(), "{energy} {exactly}");
        let work = [solver.fmm(), &all].map(|fmm| fmm.work().unwrap());
        assert_eq!([work[0].particles, work[1].particles], [2 * N / 3, N]);
        // (2/3)² of the pairs, those in one molecule apart.
        let pairs = work[0].particle_pairs as f64 / work[1].particle_pairs as f64;
        assert!((0.4..0.5).contains(&pairs), "{pairs}");
        if boundary.periods().len() == 3 {
            for i in (0..N).step_by(3) {
                (full.potential[i], full.field[i]) = (0.0, [0.0; 3]);
            }
            // The same terms without those that are zero, in another order.
            let apart = difference(&out, &full);
            assert!(apart < 1e-12 && (energy - e).abs() < 1e-12 * e.abs(), "{boundary:?}: {apart:e}");
        }
    }
}

#[test]
fn with_charges_everywhere_nothing_changes() {
    let (x, q) = filled(&PERIODIC, N, 0.0, 3);
    let none = Exclusions::none(N);
    let settings = settings(6, [3; 3], 0);
    let (energy, plain) = run(&mut Fmm::<f64>::new(PERIODIC, settings).unwrap(), &x, &q, &none);
    let fmm = Fmm::<f64>::new(PERIODIC, settings).unwrap();
    let mut solver = FmmOfMembers::new(fmm, Members::of(&[true; N]), &none).unwrap();
    let mut out = Potentials::default();
    solver.assign(&x).unwrap();
    assert_eq!(solver.evaluate(&x, &q, &mut out), Ok(energy));
    assert_eq!(out, plain);
}

#[test]
fn without_any_charge_nothing_is_felt() {
    let (x, _) = filled(&PERIODIC, N, 0.0, 3);
    let (q, none, members) = ([0.0; N], Exclusions::none(N), Members::of(&[false; N]));
    let settings = settings(6, [3; 3], 0);
    let fmm = Fmm::<f64>::new(PERIODIC, settings).unwrap();
    let mut solver = FmmOfMembers::new(fmm, members, &none).unwrap();
    let mut out = Potentials::default();
    solver.assign(&x).unwrap();
    let energy = solver.evaluate(&x, &q, &mut out).unwrap();
    assert!(energy == 0.0 && energy.is_sign_positive(), "{energy}");
    assert_eq!(solver.fmm_mut().virial(), Ok([0.0; 3]));
    assert_eq!(out, Potentials::zero(N));
}

/// Whatever is wrong is said of the particle by the caller's number, also of one that is left out.
#[test]
fn errors_name_the_particles_of_the_caller() {
    let boundary = Boundary::rectangular([2.0; 3]);
    let settings = settings(4, [6; 3], 0);
    let fault = |change: &dyn Fn(&mut Molecules)| {
        let mut system = Molecules::new(&boundary, 0.0);
        change(&mut system);
        let mut solver = of_members(boundary, settings, &system);
        let assigned = solver.assign(&system.x);
        let evaluate = |()| solver.evaluate(&system.x, &system.q, &mut Potentials::default()).map(|_| ());
        assigned.and_then(evaluate).unwrap_err()
    };
    let not_finite = |particle| FmmError::NotFinite { particle, what: "position" };
    assert_eq!(fault(&|s| s.x[30][1] = f64::NAN), not_finite(30));
    assert_eq!(fault(&|s| s.x[31][1] = f64::NAN), not_finite(31));
    assert_eq!(fault(&|s| s.x[41][1] = 1e12), FmmError::TooFar { particle: 41 });
    let coincident = fault(&|s| (s.exclusions, s.x[50]) = (Exclusions::none(N), s.x[70]));
    assert_eq!(coincident, FmmError::Coincident { particle: 50, other: Some(70) });
    assert_eq!(fault(&|s| s.q[70] = f64::INFINITY), FmmError::NotFinite { particle: 70, what: "charge" });
    assert_eq!(fault(&|s| s.q[33] = 0.5), FmmError::LeftOut { particle: 33, charge: 0.5 });
    let far = fault(&|s| {
        (s.x[40], s.x[200]) = ([0.1; 3], [1.1; 3]);
        s.exclusions = Exclusions::from_pairs(N, [[200, 40]]).unwrap();
    });
    assert_eq!(far, FmmError::ExclusionTooFar { i: 40, j: 200 });
    // One of them is left out, and with it the pair.
    let mut system = Molecules::new(&boundary, 0.0);
    (system.x[40], system.x[201]) = ([0.1; 3], [1.1; 3]);
    system.exclusions = Exclusions::from_pairs(N, [[201, 40]]).unwrap();
    evaluated(&mut of_members(boundary, settings, &system), &system);
    // After the assignment, too.
    let mut solver = of_members(boundary, settings, &system);
    solver.assign(&system.x).unwrap();
    system.x[300][0] = f64::INFINITY;
    assert_eq!(solver.evaluate(&system.x, &system.q, &mut Potentials::default()), Err(not_finite(300)));
    assert_eq!(solver.assign(&system.x), Err(not_finite(300)));
    system.x[300][0] = 0.5;
    assert_eq!(solver.evaluate(&system.x, &system.q, &mut Potentials::default()), Err(FmmError::NotAssigned));
    let fmm = Fmm::<f64>::new(boundary, settings).unwrap();
    let wrong = FmmError::Length { what: "exclusions", expected: N, found: 3 };
    assert_eq!(FmmOfMembers::new(fmm, system.members, &Exclusions::none(3)).err(), Some(wrong));
}
