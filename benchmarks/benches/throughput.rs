//! Throughput of the kernels on one core: `cargo bench -p octitrate-benchmarks --bench throughput`.
//!
//! - near field: billions of pairs per second for leaves of n particles that see 27 such leaves, gathering included;
//! - product: GFLOP/s (2 K² for each row, padding not counted) for K = (p + 1)² and rows taken from random boxes.

use std::hint::black_box;
use std::time::Instant;

use kernels::{
    ExceptionTable, FieldMut, Isa, Operator, Points, Real, RowPair, Run, SourceBlock, p2p_on, rows_times_matrix,
};

/// Uniform in [0, 1), splitmix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * 2.0_f64.powi(-53)
    }
}

/// Best time of one call in seconds over about a third of a second; calls should last well under a time slice.
fn best_time(mut call: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    while begin.elapsed().as_secs_f64() < 0.3 {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// 4³ boxes of n particles, periodic; each box sees itself and its 26 neighbours and skips itself and two partners.
fn near_field<T: Real>(isa: Isa, n: usize, n_vec: usize) -> f64 {
    const EDGE: i64 = 4;
    let n_boxes = EDGE.pow(3) as usize;
    let mut random = Numbers(1);
    let mut column = || (0..n * n_boxes).map(|_| T::of(random.next() - 0.5)).collect::<Vec<_>>();
    let [x, y, z] = [column(), column(), column()];
    let charges: Vec<_> = (0..n_vec).map(|_| column()).collect();
    let charges: Vec<&[T]> = charges.iter().map(Vec::as_slice).collect();
    let points = Points { x: &x, y: &y, z: &z };
    let mut runs = Vec::new();
    let mut table = ExceptionTable::new();
    for leaf in 0..n_boxes as i64 {
        for cell in 0..27 {
            let d = [cell % 3 - 1, cell / 3 % 3 - 1, cell / 9 - 1];
            let at = [leaf % EDGE, leaf / EDGE % EDGE, leaf / EDGE / EDGE];
            let [i, j, k] = [0, 1, 2].map(|a| (at[a] + d[a]).rem_euclid(EDGE));
            let start = ((k * EDGE + j) * EDGE + i) as usize * n;
            runs.push(Run { start: start as u32, len: n as u32, shift: d.map(|d| T::of(d as f64)) });
        }
        let mut skipped: Vec<_> = (0..n as u32)
            .flat_map(|i| (0..3).map(move |o| (i, 13 * n as u32 + (i / 3 * 3 + o).min(n as u32 - 1))))
            .collect();
        table.push_leaf(n, 27 * n, &mut skipped);
    }
    let mut block = SourceBlock::new();
    let mut results = [(); 4].map(|()| vec![T::zero(); n * n_boxes * n_vec]);
    let seconds = best_time(|| {
        for leaf in 0..n_boxes {
            let own = leaf * n..(leaf + 1) * n;
            block.gather(points, &charges, &runs[leaf * 27..][..27]);
            let targets = Points { x: &x[own.clone()], y: &y[own.clone()], z: &z[own.clone()] };
            let [phi, ex, ey, ez] = results.each_mut().map(|c| &mut c[leaf * n * n_vec..][..n * n_vec]);
            p2p_on(isa, targets, &block, table.leaf(leaf), FieldMut { phi, ex, ey, ez });
        }
    });
    black_box(&results);
    (27 * n * n * n_boxes) as f64 / seconds * 1e-9
}

/// `n_pairs` rows out of 512 boxes for each of `n_operators` operators in turn.
fn product<T: Real>(isa: Isa, k: usize, n_pairs: usize, n_operators: usize) -> f64 {
    let n_boxes = 512;
    let mut random = Numbers(2);
    let operators: Vec<_> = (0..n_operators)
        .map(|_| {
            let matrix: Vec<f64> = (0..k * k).map(|_| random.next() - 0.5).collect();
            Operator::<T>::for_isa(isa, k, k, &matrix)
        })
        .collect();
    let b: Vec<_> = (0..n_boxes * k).map(|_| T::of(random.next())).collect();
    let mut c = vec![T::zero(); n_boxes * k];
    let pairs: Vec<_> = (0..n_pairs * n_operators)
        .map(|_| [(); 2].map(|()| (random.next() * n_boxes as f64) as u32))
        .map(|[target, source]| RowPair { target, source })
        .collect();
    let seconds = best_time(|| {
        for (operator, pairs) in operators.iter().zip(pairs.chunks(n_pairs)) {
            rows_times_matrix(operator, pairs, &b, k, &mut c, k);
        }
    });
    black_box(&c);
    (2 * k * k * n_pairs * n_operators) as f64 / seconds * 1e-9
}

fn main() {
    let sets = || Isa::ALL.into_iter().filter(|isa| isa.is_available());
    println!("near field, 10⁹ pairs/s       n =     12      16      27      54     100");
    for isa in sets() {
        for n_vec in [1, 2, 4, 8] {
            let line = |name: &str, f: &dyn Fn(usize) -> f64| {
                let rates: String = [12, 16, 27, 54, 100].map(|n| format!("{:8.3}", f(n))).concat();
                println!("{:<10} {name} {n_vec} vectors      {rates}", format!("{isa:?}"));
            };
            line("f32", &|n| near_field::<f32>(isa, n, n_vec));
            line("f64", &|n| near_field::<f64>(isa, n, n_vec));
        }
    }
    println!("product, GFLOP/s (rows × operators)   K =     36      49      64      81     121     169");
    for isa in sets() {
        for (n_pairs, n_operators) in [(8, 150), (100, 10), (1000, 1)] {
            let line = |name: &str, f: &dyn Fn(usize) -> f64| {
                let rates: String = [36, 49, 64, 81, 121, 169].map(|k| format!("{:8.1}", f(k))).concat();
                println!("{:<10} {name} {n_pairs:5} × {n_operators:<5}              {rates}", format!("{isa:?}"));
            };
            line("f32", &|k| product::<f32>(isa, k, n_pairs, n_operators));
            line("f64", &|k| product::<f64>(isa, k, n_pairs, n_operators));
        }
    }
}
