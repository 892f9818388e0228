//! Forms that are the same chemically: the free energy is symmetric in their weights, exactly.
//!
//! A group of permutations P of the forms leaves F as it is, F(Pλ) = F(λ). The coefficients of such F are a subspace, c = E s, with orthonormal
//! columns E: the null space of the differences b(Pλ) − b(λ) over many λ, from a singular value decomposition. Least squares and maximum likelihood in s use every
//! frame and all its images and count none twice: information about s adds up as that of independent data does.
//!
//! Without symmetry E is the identity.

use nalgebra::DMatrix;

use crate::bias::simplex::SimplexBasis;

/// Weights closer than this are the same.
const SAME: f64 = 1e-9;
/// Singular values below this part of the largest are zero: rounding is 1e-15, the smallest of the others 1e-5.
const ZERO: f64 = 1e-10;

/// The permutations of forms that change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// Each permutation: form k becomes form `[k]`. The identity is the first.
    permutations: Vec<Vec<usize>>,
}

impl Symmetry {
    /// No two of `n_forms` forms are the same.
    pub fn none(n_forms: usize) -> Self {
        Self::new(n_forms, &[])
    }

    /// The forms of each pair are the same.
    pub fn new(n_forms: usize, pairs: &[[usize; 2]]) -> Self {
        let mut permutations: Vec<Vec<usize>> = vec![(0..n_forms).collect()];
        let mut next = 0;
        while let Some(known) = permutations.get(next).cloned() {
            for &[a, b] in pairs {
                let swapped: Vec<usize> = known
                    .iter()
                    .map(|&form| {
                        if form == a {
                            b
                        } else if form == b {
                            a
                        } else {
                            form
                        }
                    })
                    .collect();
                if !permutations.contains(&swapped) {
                    permutations.push(swapped);
                }
            }
            next += 1;
        }
        Self { permutations }
    }

    /// Number of forms.
    pub fn n_forms(&self) -> usize {
        self.permutations[0].len()
    }

    /// Whether no two forms are the same.
    pub fn is_none(&self) -> bool {
        self.permutations.len() == 1
    }

    /// The permutations, the identity first.
    pub fn permutations(&self) -> &[Vec<usize>] {
        &self.permutations
    }

    /// Forms by class, each class in order.
    pub fn classes(&self) -> Vec<Vec<usize>> {
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for form in 0..self.n_forms() {
            let first = self.permutations.iter().map(|p| p[form]).min().unwrap_or(form);
            match classes.iter_mut().find(|class| class[0] == first) {
                Some(class) => class.push(form),
                None => classes.push(vec![form]),
            }
        }
        classes
    }

    /// The different images of a point, itself first.
    pub fn images(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        let mut images: Vec<Vec<f64>> = Vec::new();
        for permutation in &self.permutations {
            let image = image(permutation, weights);
            if !images.iter().any(|known| same(known, &image)) {
                images.push(image);
            }
        }
        images
    }

    /// The first of points that are images of each other, in order.
    pub fn distinct(&self, points: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let mut kept: Vec<Vec<f64>> = Vec::new();
        for point in points {
            let images = self.images(&point);
            if !kept.iter().any(|known| images.iter().any(|image| same(known, image))) {
                kept.push(point);
            }
        }
        kept
    }

    /// Averages over a frame that tell how fast symmetric functions forget: Σ λ_α over each class, and Σ λ_α² over those of several forms.
    pub(crate) fn observables(&self, weights: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let frames = weights.first().map_or(0, Vec::len);
        let sum = |class: &[usize], of: fn(f64) -> f64| -> Vec<f64> {
            (0..frames).map(|frame| class.iter().map(|&form| of(weights[form][frame])).sum()).collect()
        };
        let classes = self.classes();
        let squares = classes.iter().filter(|class| class.len() > 1).map(|class| sum(class, |w| w * w));
        let sums = classes.iter().filter(|_| classes.len() > 1).map(|class| sum(class, |w| w));
        sums.chain(squares).collect()
    }

    /// The subspace of symmetric free energies of a basis.
    pub fn space(&self, basis: SimplexBasis) -> Space {
        let terms = basis.len();
        if self.is_none() {
            return Space { basis, symmetry: self.clone(), free: DMatrix::identity(terms, terms) };
        }
        // Points of an additive recurrence (Weyl 1916, doi:10.1007/BF01475864), from −0.1 to 1.1 in each weight.
        let (n, count) = (basis.n_forms(), 4 * terms + 8);
        let point = |k: usize| {
            let parts: Vec<f64> =
                (1..n).map(|form| -0.1 + 1.2 * ((k as f64 + 0.5) * (form as f64 + 1.0).sqrt()).fract()).collect();
            let first = 1.0 - parts.iter().sum::<f64>();
            [vec![first], parts].concat()
        };
        let rows: Vec<Vec<f64>> = (1..=count)
            .map(point)
            .flat_map(|weights| {
                let here = basis.values(&weights);
                let others: Vec<Vec<f64>> = self.permutations[1..]
                    .iter()
                    .map(|p| {
                        basis.values(&image(p, &weights)).iter().zip(&here).map(|(there, here)| there - here).collect()
                    })
                    .collect();
                others
            })
            .collect();
        let differences = DMatrix::from_fn(rows.len(), terms, |row, term| rows[row][term]);
        let decomposed = differences.svd(false, true);
        let values = &decomposed.singular_values;
        let null: Vec<usize> = (0..values.len()).filter(|&k| values[k] <= ZERO * values.max()).collect();
        let directions = decomposed.v_t.unwrap_or_default();
        // Rounding instead of zeros would make forms that are the same differ by 1e-14 kJ/mol.
        let element = |term: usize, k: usize| {
            let e: f64 = directions[(null[k], term)];
            if e.abs() < 1e-12 { 0.0 } else { e }
        };
        Space { basis, symmetry: self.clone(), free: DMatrix::from_fn(terms, null.len(), element) }
    }
}

/// The free energies that may be: those of a basis that a symmetry allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// Terms.
    pub basis: SimplexBasis,
    /// What leaves them as they are.
    pub symmetry: Symmetry,
    /// E: terms × free parameters, orthonormal columns.
    pub free: DMatrix<f64>,
}

impl Space {
    /// All free energies of a basis.
    pub fn whole(basis: SimplexBasis) -> Self {
        Symmetry::none(basis.n_forms()).space(basis)
    }

    /// Number of free parameters.
    pub fn dimension(&self) -> usize {
        self.free.ncols()
    }
}

/// The point whose form `permutation[k]` has the weight of form k.
fn image(permutation: &[usize], weights: &[f64]) -> Vec<f64> {
    let mut image = vec![0.0; weights.len()];
    permutation.iter().zip(weights).for_each(|(&to, &weight)| image[to] = weight);
    image
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < SAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_make_classes_and_groups() {
        let two = Symmetry::new(3, &[[0, 1]]);
        assert_eq!((two.permutations().len(), two.classes()), (2, vec![vec![0, 1], vec![2]]));
        let three = Symmetry::new(4, &[[1, 2], [2, 3]]);
        assert_eq!((three.permutations().len(), three.classes()), (6, vec![vec![0], vec![1, 2, 3]]));
        assert!(Symmetry::none(3).is_none());
        assert_eq!(two.images(&[0.5, 0.5, 0.0]).len(), 1);
        assert_eq!(two.images(&[0.7, 0.2, 0.1]), [vec![0.7, 0.2, 0.1], vec![0.2, 0.7, 0.1]]);
        let kept = two.distinct(vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]]);
        assert_eq!(kept, [vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0]]);
    }

    /// Every member is symmetric, every symmetric polynomial is a member, and the number of parameters is what counting gives: along the edge
    /// of the two forms even powers only, the two other edges alike, the two linear coefficients one.
    #[test]
    fn the_space_holds_what_is_symmetric_and_nothing_else() {
        let symmetry = Symmetry::new(3, &[[0, 1]]);
        for (degree, interior, count) in
            [(2, 0, 1 + 1 + 1), (4, 0, 1 + 2 + 3 + 1), (8, 2, 1 + 4 + 7 + 4), (5, 1, 1 + 2 + 4 + 2)]
        {
            let basis = SimplexBasis::new(3, degree).with_interior(interior);
            let space = symmetry.space(basis);
            assert_eq!(space.dimension(), count, "degree {degree}, {interior}");
            let unit = space.free.transpose() * &space.free - DMatrix::identity(count, count);
            assert!(unit.amax() < 1e-11, "{}", unit.amax());
            for k in 0..count {
                let c: Vec<f64> = space.free.column(k).iter().copied().collect();
                // The two forms have the same free energy.
                assert_eq!(c[0], 0.0);
                for w in [[0.2, 0.3, 0.5], [1.05, -0.05, 0.0], [0.6, 0.1, 0.3]] {
                    let at = |w: &[f64]| basis.values(w).iter().zip(&c).map(|(b, c)| b * c).sum::<f64>();
                    assert!((at(&w) - at(&[w[1], w[0], w[2]])).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn observables_are_symmetric() {
        let symmetry = Symmetry::new(3, &[[0, 1]]);
        let seen = symmetry.observables(&[vec![0.7], vec![0.2], vec![0.1]]);
        let swapped = symmetry.observables(&[vec![0.2], vec![0.7], vec![0.1]]);
        assert_eq!((seen.len(), &seen), (3, &swapped));
        assert_eq!(Symmetry::none(3).observables(&[vec![0.7], vec![0.2], vec![0.1]]), [[0.7], [0.2], [0.1]]);
        // Forms that are all the same have no sum that moves.
        assert_eq!(Symmetry::new(2, &[[0, 1]]).observables(&[vec![0.7], vec![0.3]]).len(), 1);
    }
}
