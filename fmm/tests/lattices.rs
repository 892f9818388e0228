//! The test systems themselves: Madelung constants by Ewald sums, droplets by a sum with twice the precision.

use crate::common::lattices::{NO_ROTATION, Structure, aerosol, crystal, droplet_radius, rotation, salt_droplet};
use fmm::{Boundary, Exclusions, direct, ewald};

#[test]
fn madelung_constants_of_turned_and_scaled_crystals() {
    for structure in Structure::ALL {
        for (n, constant, turned) in [(1, 1.0, NO_ROTATION), (2, 0.564, rotation([0.9, -0.3, 0.5, 0.2]))] {
            let c = crystal(structure, n, constant, [0.13, 0.21, 0.08], &turned);
            let none = Exclusions::none(c.charges.len());
            let (energy, p) =
                ewald::evaluate(&Boundary::Periodic { cell: c.cell }, &c.positions, &c.charges, &none, 1e-16).unwrap();
            // Rounding of 64 ions: their coordinates to 1e-16 make no first-order change.
            assert!((energy / c.energy - 1.0).abs() < 5e-15, "{structure:?}, {n}: {energy} for {}", c.energy);
            for (phi, q) in p.potential.iter().zip(&c.charges) {
                assert!((-phi * q / c.potential - 1.0).abs() < 1e-14, "{structure:?}, {n}: {phi}");
            }
            let scale = c.potential / constant;
            assert!(p.field.iter().flatten().all(|e| e.abs() < 2e-14 * scale), "{structure:?}, {n}: {:?}", p.field);
        }
    }
}

/// φ and E with sums that round once only: the rounding of the terms is all that is left.
fn compensated(x: &[[f64; 3]], q: &[f64], exclusions: &Exclusions, i: usize) -> [f64; 4] {
    let mut sums = [(0.0, 0.0); 4];
    for j in (0..x.len()).filter(|&j| j != i && !exclusions.contains(i, j)) {
        let d = [0, 1, 2].map(|a| x[i][a] - x[j][a]);
        let r2 = d.iter().map(|d| d * d).sum::<f64>();
        let phi = q[j] / r2.sqrt();
        for ((sum, error), term) in sums.iter_mut().zip([phi, phi / r2 * d[0], phi / r2 * d[1], phi / r2 * d[2]]) {
            let next = *sum + term;
            let added = next - *sum;
            *error += (*sum - (next - added)) + (term - added);
            *sum = next;
        }
    }
    sums.map(|(sum, error)| sum + error)
}

#[test]
fn droplet_of_50_000_charges() {
    let w = salt_droplet(16_895, 4);
    let n = w.charges.len();
    assert!((49_500..50_500).contains(&n), "{n}");
    assert!(w.charges.iter().sum::<f64>().abs() < 1e-9);
    let radius = droplet_radius(3 * 16_895);
    let norm = |x: &[f64; 3]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let outermost = w.positions.iter().map(norm).fold(0.0, f64::max);
    assert!(outermost > radius && outermost < radius + 0.2, "{outermost} {radius}");
    let ions = w.charges.iter().filter(|q| q.abs() == 1.0).count();
    assert_eq!(ions, 336);
    assert_eq!(w.exclusions.n_pairs(), n - ions);
    let targets: Vec<u32> = (0..40).map(|i| (i * n / 40) as u32).collect();
    let p = direct::at(&w.positions, &w.charges, &w.exclusions, &targets).unwrap();
    let exact: Vec<_> =
        targets.iter().map(|&i| compensated(&w.positions, &w.charges, &w.exclusions, i as usize)).collect();
    let error = |value: &dyn Fn(usize) -> Vec<f64>, from: usize| {
        let pairs: Vec<_> = (0..40).flat_map(|k| value(k).into_iter().zip(exact[k][from..].to_vec())).collect();
        let square = |f: fn(&(f64, f64)) -> f64| pairs.iter().map(|p| f(p).powi(2)).sum::<f64>();
        (square(|p| p.0 - p.1) / square(|p| p.1)).sqrt()
    };
    let errors = [error(&|k| vec![p.potential[k]], 0), error(&|k| p.field[k].to_vec(), 1)];
    eprintln!("direct sum of {n} charges: relative errors of potentials and fields {errors:?}");
    // Terms of 0.1 … 10 round to 1e-16: √N of them over a potential of some 10.
    assert!(errors.iter().all(|&e| e < 5e-15), "{errors:?}");
}

#[test]
fn aerosol_of_75_droplets() {
    let w = aerosol(7);
    assert_eq!((w.charges.len(), w.exclusions.n_pairs()), (108_663, 108_663));
    assert!(w.charges.iter().sum::<f64>().abs() < 1e-9);
    assert!(w.positions.iter().flatten().all(|x| (0.0..136.0).contains(x)));
    let distance =
        |i: usize, j: usize| (0..3).map(|a| (w.positions[i][a] - w.positions[j][a]).powi(2)).sum::<f64>().sqrt();
    // The first atom of a droplet is in its middle: its own atoms within radius 1.51 + 0.2, none of the others within 1.51 + 0.5.
    let mut start = 0;
    for d in 0..75 {
        let end = start + 3 * (482 + usize::from(d < 71));
        assert!((start..end).all(|j| distance(start, j) < 1.9), "droplet {d}");
        assert!((0..start).chain(end..w.charges.len()).all(|j| distance(start, j) > 2.0), "droplet {d}");
        start = end;
    }
    assert_eq!(start, w.charges.len());
    // No two atoms of different molecules on top of each other, in the first droplet.
    for i in 0..3 * 483 {
        assert!((i / 3 * 3 + 3..3 * 483).all(|j| distance(i, j) > 0.03));
    }
}
