//! Speed of the Lennard-Jones term on TIP3P oxygens at the density of water, cut-off 1.0 nm, buffer 0.1 nm:
//!
//!     cargo bench -p octitrate-benchmarks --bench lennard_jones
//!
//! Prints the best and the median of 50 evaluations and of 10 list builds, in ms, for one and two threads.

use std::time::Instant;

use forcefield::lennard_jones::{LennardJones, Modifier};
use forcefield::topology::{Atom, AtomType, LennardJonesTable};
use forcefield::{Cell, ExcludedPairs, Topology};
use nalgebra::Vector3;

/// `side`³ molecules on a jittered lattice of 33.4 per nm³: oxygen, and two hydrogens without Lennard-Jones.
fn water(side: usize) -> (Topology, Vec<Vector3<f64>>, Vector3<f64>) {
    let spacing = 33.4f64.powf(-1.0 / 3.0);
    let mut state = 1u64;
    let mut jitter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 / (1u64 << 31) as f64 - 0.5) * 0.1
    };
    let (mut atoms, mut x) = (Vec::new(), Vec::new());
    for i in 0..side.pow(3) {
        let site = Vector3::new(i / (side * side), i / side % side, i % side).map(|k| k as f64 * spacing);
        let oxygen = site + Vector3::from_fn(|_, _| jitter());
        for (type_index, offset) in [(0, 0.0), (1, 0.06), (1, -0.06)] {
            let molecule = i as u32;
            let name = if type_index == 0 { "OW".into() } else { "HW".into() };
            atoms.push(Atom { name, type_index, residue: molecule, molecule, charge: 0.0, mass: 1.0 });
            x.push(oxygen + Vector3::new(offset, 0.05, 0.0));
        }
    }
    let n = atoms.len();
    let kind = |name: &str| AtomType { name: name.into(), atomic_number: None };
    let bonded = (0..n as u32).step_by(3).flat_map(|o| [[o, o + 1], [o, o + 2], [o + 1, o + 2]]);
    let top = Topology {
        atoms,
        atom_types: vec![kind("OW"), kind("HW")],
        lj: LennardJonesTable { n_types: 2, c6: vec![2.489e-3, 0.0, 0.0, 0.0], c12: vec![2.435e-6, 0.0, 0.0, 0.0] },
        exclusions: ExcludedPairs::from_pairs(n, bonded),
        ..Default::default()
    };
    (top, x, Vector3::repeat(side as f64 * spacing))
}

/// Best and median time of `repeats` calls, ms.
fn time(repeats: usize, mut call: impl FnMut()) -> [f64; 2] {
    let mut times: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    [times[0], times[repeats / 2]]
}

fn main() {
    println!(
        "{:>7} {:>7} {:>16} {:>23} {:>23}",
        "atoms", "threads", "modifier", "evaluate best/median", "list best/median"
    );
    for side in [11, 25] {
        let (top, x, edges) = water(side);
        let cell = Cell::rectangular(edges).expect("positive edges");
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("thread pool");
            for (name, modifier) in [
                ("plain", Modifier::None),
                ("potential shift", Modifier::PotentialShift),
                ("force switch", Modifier::ForceSwitch { r_switch: 0.8 }),
            ] {
                pool.install(|| {
                    let mut lj = LennardJones::new(&top, 1.0, modifier, 0.1).expect("valid settings");
                    let list = time(10, || lj.rebuild(&x, cell).expect("the box is large enough"));
                    let mut f = vec![Vector3::zeros(); x.len()];
                    let pairs = time(50, || {
                        lj.evaluate(&x, cell, &mut f);
                    });
                    println!(
                        "{:7} {threads:7} {name:>16} {:11.3} {:11.3} {:11.3} {:11.3}",
                        x.len(),
                        pairs[0],
                        pairs[1],
                        list[0],
                        list[1]
                    );
                });
            }
        }
    }
}
