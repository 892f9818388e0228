//! Every instruction set against the plain formula.

use super::*;
use crate::test_numbers::Numbers;

const CUTOFF: f64 = 0.9;
const ROWS: [[f64; 3]; 3] = [[2.5, 0.0, 0.0], [0.4, 3.0, 0.0], [-0.7, 0.3, 3.5]];

/// No modifier, a shift, a switch; the numbers need not belong together here.
const MODIFIED: [Modified; 3] = [
    Modified {
        cutoff: CUTOFF,
        r_switch: CUTOFF,
        six: Power { a: 0.0, b: 0.0, shift: 0.0 },
        twelve: Power { a: 0.0, b: 0.0, shift: 0.0 },
    },
    Modified {
        cutoff: CUTOFF,
        r_switch: CUTOFF,
        six: Power { a: 0.0, b: 0.0, shift: 1.9 },
        twelve: Power { a: 0.0, b: 0.0, shift: 3.5 },
    },
    Modified {
        cutoff: CUTOFF,
        r_switch: 0.6,
        six: Power { a: -210.0, b: 430.0, shift: 1.2 },
        twelve: Power { a: -950.0, b: 2100.0, shift: 2.3 },
    },
];

/// Twelve clusters, the last one partly filled; every point meets some points of some clusters in one of its images.
struct Case {
    positions: Vec<[Eight; 3]>,
    filled: Vec<u8>,
    coefficients: Vec<[Eight; 2]>,
    classes: Vec<u32>,
    runs: Vec<Run>,
    entries: Vec<Entry>,
}

impl Case {
    fn new(random: &mut Numbers) -> Self {
        let n = 12;
        let eight = |random: &mut Numbers, low: f64, high: f64| {
            CacheLine([(); CLUSTER].map(|()| low + (high - low) * 0.5 * (1.0 + random.signed())))
        };
        let positions: Vec<_> = (0..n).map(|_| [2.5, 3.0, 3.5].map(|edge| eight(random, 0.0, 0.6 * edge))).collect();
        let mut filled = vec![u8::MAX; n];
        filled[n - 1] = 0b1011;
        let coefficients = (0..2 * n).map(|_| [eight(random, 1e-3, 4e-3), eight(random, 1e-6, 5e-6)]).collect();
        let classes = (0..n * CLUSTER).map(|_| random.below(2) as u32).collect();
        let (mut runs, mut entries) = (Vec::new(), Vec::new());
        for slot in (0..n * CLUSTER).filter(|slot| filled[slot / CLUSTER] >> (slot % CLUSTER) & 1 == 1) {
            let start = entries.len() as u32;
            let image = if slot % 3 == 0 { [0; 3] } else { [0, 1, 2].map(|d| (slot / 3usize.pow(d) % 3) as i8 - 1) };
            for (cluster, &filled) in filled.iter().enumerate() {
                if random.below(3) == 0 {
                    continue;
                }
                let mut entry = Entry::new(cluster as u32, filled);
                if cluster == slot / CLUSTER {
                    entry.remove(slot % CLUSTER);
                }
                entry.remove(random.below(CLUSTER));
                entries.push(entry);
            }
            runs.push(Run { slot: slot as u32, image, start, end: entries.len() as u32 });
        }
        Self { positions, filled, coefficients, classes, runs, entries }
    }

    fn pairs(&self) -> Pairs<'_> {
        Pairs {
            clusters: Clusters { positions: &self.positions, filled: &self.filled },
            rows: ROWS,
            coefficients: &self.coefficients,
            classes: &self.classes,
            runs: &self.runs,
            entries: &self.entries,
        }
    }

    fn point(&self, slot: usize) -> [f64; 3] {
        self.positions[slot / CLUSTER].map(|c| c.0[slot % CLUSTER])
    }

    /// Forces and sums by the formula, and the sums of the absolute terms.
    fn truth(&self, m: &Modified) -> (Vec<[f64; 3]>, Sums, f64) {
        let mut forces = vec![[0.0; 3]; self.classes.len()];
        let (mut sums, mut scale) = (Sums::default(), 0.0);
        for run in &self.runs {
            let slot = run.slot as usize;
            let mut r = self.point(slot);
            for (turns, row) in run.image.iter().zip(ROWS) {
                (0..3).for_each(|d| r[d] += f64::from(*turns) * row[d]);
            }
            for entry in &self.entries[run.start as usize..run.end as usize] {
                let cluster = entry.cluster() as usize;
                for place in (0..CLUSTER).filter(|place| entry.bits() >> place & 1 == 1) {
                    let other = self.point(cluster * CLUSTER + place);
                    let d = [0, 1, 2].map(|k| r[k] - other[k]);
                    let distance = d.iter().map(|d| d * d).sum::<f64>().sqrt();
                    if distance < m.cutoff {
                        let row = &self.coefficients[self.classes[slot] as usize * self.filled.len() + cluster];
                        let (v, w) = pair(m, row[0].0[place], row[1].0[place], distance);
                        sums.energy += 0.5 * v;
                        sums.virial += 0.5 * w;
                        scale += v.abs().max(w.abs());
                        (0..3).for_each(|k| forces[slot][k] += w * d[k] / (distance * distance));
                    }
                }
            }
        }
        (forces, sums, scale)
    }
}

/// V and r·F of one pair in their plainest form.
fn pair(m: &Modified, c6: f64, c12: f64, r: f64) -> (f64, f64) {
    let x = (r - m.r_switch).max(0.0);
    let power = |p: &Power, alpha: i32| {
        let plain = r.powi(-alpha);
        let energy = plain - p.a / 3.0 * x.powi(3) - p.b / 4.0 * x.powi(4) - p.shift;
        (energy, f64::from(alpha) * plain + r * (p.a * x * x + p.b * x.powi(3)))
    };
    let ((v6, w6), (v12, w12)) = (power(&m.six, 6), power(&m.twelve, 12));
    (c12 * v12 - c6 * v6, c12 * w12 - c6 * w6)
}

#[test]
fn energies_and_forces_of_every_instruction_set() {
    let mut random = Numbers::new(21);
    for case in (0..20).map(|_| Case::new(&mut random)) {
        for modified in MODIFIED {
            let (exact, sums, scale) = case.truth(&modified);
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                // What was in the forces before does not matter.
                let mut forces = vec![[7.0; 3]; exact.len()];
                let got = lennard_jones_on(isa, case.pairs(), &modified, 0, &mut forces);
                // A few roundings of each term, relative to the sum of the absolute terms.
                assert!((got.energy - sums.energy).abs() < 1e-13 * scale, "{isa:?}: {got:?} {sums:?}");
                assert!((got.virial - sums.virial).abs() < 1e-13 * scale, "{isa:?}: {got:?} {sums:?}");
                for (slot, (force, exact)) in forces.iter().zip(&exact).enumerate() {
                    let largest = exact.iter().fold(1.0_f64, |most, f| most.max(f.abs()));
                    let worst = (0..3).map(|d| (force[d] - exact[d]).abs()).fold(0.0, f64::max);
                    assert!(worst < 1e-11 * largest, "{isa:?} slot {slot}: {force:?} {exact:?}");
                }
            }
        }
    }
}

#[test]
fn forces_may_be_those_of_some_slots_only() {
    let case = Case::new(&mut Numbers::new(22));
    let isa = Isa::best();
    let mut all = vec![[0.0; 3]; case.classes.len()];
    lennard_jones_on(isa, case.pairs(), &MODIFIED[1], 0, &mut all);
    let (first, end) = (2 * CLUSTER, 5 * CLUSTER);
    let runs: Vec<_> = case.runs.iter().copied().filter(|run| (first..end).contains(&(run.slot as usize))).collect();
    let mut some = vec![[0.0; 3]; end - first];
    lennard_jones_on(isa, Pairs { runs: &runs, ..case.pairs() }, &MODIFIED[1], first, &mut some);
    assert_eq!(some, all[first..end]);
}

#[test]
fn near_clusters_are_those_with_a_near_point() {
    let case = Case::new(&mut Numbers::new(23));
    let candidates: Vec<u32> = (0..12).filter(|c| c % 5 != 2).collect();
    let clusters = case.pairs().clusters;
    let places = |cluster: u32| (0..CLUSTER).filter(move |place| clusters.filled[cluster as usize] >> place & 1 == 1);
    let (mut none, shift) = (0, [0.1, -0.2, 0.3]);
    // The last cluster is filled in part.
    for (cluster, limit) in [0, 3, 11].into_iter().flat_map(|c| [0.04, 0.1, 0.3, 4.0].map(|limit| (c, limit))) {
        let mut expected = vec![Entry::new(99, 1)];
        let ends: [usize; CLUSTER] = std::array::from_fn(|place| {
            let start = expected.len();
            if places(cluster).any(|p| p == place) {
                let own = case.point(cluster as usize * CLUSTER + place);
                let near =
                    |other: [f64; 3]| (0..3).map(|d| (own[d] + shift[d] - other[d]).powi(2)).sum::<f64>() < limit;
                let is_near = |&c: &u32| places(c).any(|place| near(case.point(c as usize * CLUSTER + place)));
                let entry = |c: u32| Entry::new(c, clusters.filled[c as usize]);
                expected.extend(candidates.iter().copied().filter(is_near).map(entry));
                none += usize::from(expected.len() == start);
            }
            expected.len()
        });
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let mut entries = vec![Entry::new(99, 1)];
            let found = select_near_on(isa, clusters, &candidates, Seekers { cluster, shift, limit }, &mut entries);
            assert_eq!((&entries, found), (&expected, ends), "{isa:?} {limit}");
        }
    }
    assert!(none > 0, "some points have no near cluster");
}

#[test]
fn entries_hold_cluster_and_bits() {
    let mut entry = Entry::new(0x00ab_cdef, 0b1010_0001);
    entry.remove(5);
    entry.remove(1);
    assert_eq!((entry.cluster(), entry.bits()), (0x00ab_cdef, 0b1000_0001));
}
