//! A repeated evaluation allocates nothing.

use crate::common::cloud;
use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};

#[test]
fn repeated_evaluations_allocate_nothing() {
    let (x, q) = cloud(3000, [2.0; 3], 0.0, 4);
    let none = Exclusions::none(x.len());
    let cell = [[2.0, 0.0, 0.0], [0.4, 2.0, 0.0], [0.1, 0.3, 2.0]];
    // One thread, because the queues between threads allocate now and then; allocations are counted on the thread that measures.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for (boundary, root, depth) in [
            (Boundary::Open, [3; 3], 1),
            (Boundary::rectangular([2.0; 3]), [6; 3], 0),
            (Boundary::Periodic { cell }, [3; 3], 2),
        ] {
            for order in [4, 8] {
                let mut fmm = Fmm::<f32>::new(boundary, Settings::new(order, TreeShape { root, depth })).unwrap();
                fmm.assign(&x, &none).unwrap();
                let mut out = Potentials::default();
                let mut counts = Vec::new();
                for _ in 0..3 {
                    let allocated = allocation_counter::measure(|| {
                        fmm.evaluate(&x, &q, &mut out).unwrap();
                    });
                    counts.push(allocated.count_total);
                }
                assert!(counts[0] > 0 && counts[1..] == [0, 0], "{boundary:?} {root:?} {depth}: {counts:?}");
                // Several charge vectors at once: their energies alone.
                let (vectors, mut out) = ([&q[..]; 3], Vec::new());
                let counts: Vec<u64> = (0..3)
                    .map(|_| {
                        allocation_counter::measure(|| drop(fmm.evaluate_vectors(&x, &vectors, &mut out))).count_total
                    })
                    .collect();
                assert!(counts[0] > 1 && counts[1..] == [1, 1], "{boundary:?} {root:?} {depth}: {counts:?}");
            }
        }
    });
}
