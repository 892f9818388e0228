//! Energy of a pair whose types depend on weights: c6 and c12 are mixed, or their roots ([`crate::variants`] says which and why).

use kernels::lennard_jones::Modified;

use crate::topology::LennardJonesTable;

/// The weights of one site among those of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    /// The first.
    pub first: usize,
    /// Number of forms.
    pub forms: usize,
}

/// On which weights a pair depends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mixing {
    /// On those of one site.
    One(Weights),
    /// On those of two sites.
    Two([Weights; 2]),
}

/// v₆, r·f₆, v₁₂, r·f₁₂ of a distance.
pub(super) struct Powers {
    six: [f64; 2],
    twelve: [f64; 2],
}

impl Powers {
    pub fn plain(r2: f64) -> Self {
        let u3 = (1.0 / r2).powi(3);
        Self { six: [u3, 6.0 * u3], twelve: [u3 * u3, 12.0 * u3 * u3] }
    }

    pub fn modified(m: &Modified, r2: f64) -> Self {
        let mut p = Self::plain(r2);
        let r = r2.sqrt();
        let x = (r - m.r_switch).max(0.0);
        for (power, [v, w]) in [(&m.six, &mut p.six), (&m.twelve, &mut p.twelve)] {
            *v -= x * x * x * (power.a / 3.0 + power.b / 4.0 * x) + power.shift;
            *w += r * x * x * (power.a + power.b * x);
        }
        p
    }

    /// V and r·F.
    fn pair(&self, (c6, c12): (f64, f64)) -> [f64; 2] {
        [c12 * self.twelve[0] - c6 * self.six[0], c12 * self.twelve[1] - c6 * self.six[1]]
    }

    /// V and r·F where c6 and c12 are mixed; adds ∂V/∂λ to `dv`.
    pub fn mixed(
        &self,
        mixing: Mixing,
        coefficients: impl Fn(usize, usize) -> (f64, f64),
        weights: &[f64],
        dv: &mut [f64],
    ) -> [f64; 2] {
        let mut sum = [0.0; 2];
        match mixing {
            Mixing::One(Weights { first, forms }) => {
                for form in 0..forms {
                    let [v, w] = self.pair(coefficients(form, form));
                    dv[first + form] += v;
                    sum[0] += weights[first + form] * v;
                    sum[1] += weights[first + form] * w;
                }
            }
            Mixing::Two([a, b]) => {
                for i in 0..a.forms {
                    for j in 0..b.forms {
                        let [v, w] = self.pair(coefficients(i, j));
                        let (one, other) = (weights[a.first + i], weights[b.first + j]);
                        dv[a.first + i] += other * v;
                        dv[b.first + j] += one * v;
                        sum[0] += one * other * v;
                        sum[1] += one * other * w;
                    }
                }
            }
        }
        sum
    }

    /// V and r·F where the roots of c6 and c12 are mixed; adds ∂V/∂λ to `dv`.
    pub fn mixed_roots(
        &self,
        mixing: Mixing,
        roots: impl Fn(usize, usize) -> Roots,
        weights: &[f64],
        dv: &mut [f64],
    ) -> [f64; 2] {
        let mut mean = Roots::default();
        match mixing {
            Mixing::One(Weights { first, forms }) => {
                (0..forms).for_each(|form| mean.add(weights[first + form], roots(form, form)));
            }
            Mixing::Two([a, b]) => {
                for (i, j) in (0..a.forms).flat_map(|i| (0..b.forms).map(move |j| (i, j))) {
                    mean.add(weights[a.first + i] * weights[b.first + j], roots(i, j));
                }
            }
        }
        let slope = |one: Roots| {
            12.0 * mean.twelfth.powi(11) * one.twelfth * self.twelve[0]
                - 6.0 * mean.sixth.powi(5) * one.sixth * self.six[0]
        };
        match mixing {
            Mixing::One(Weights { first, forms }) => {
                (0..forms).for_each(|form| dv[first + form] += slope(roots(form, form)));
            }
            Mixing::Two([a, b]) => {
                for (i, j) in (0..a.forms).flat_map(|i| (0..b.forms).map(move |j| (i, j))) {
                    let one = slope(roots(i, j));
                    dv[a.first + i] += weights[b.first + j] * one;
                    dv[b.first + j] += weights[a.first + i] * one;
                }
            }
        }
        self.pair((mean.sixth.powi(6), mean.twelfth.powi(12)))
    }
}

/// c6^(1/6) and c12^(1/12) of a pair: both grow with σ as σ does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Roots {
    pub sixth: f64,
    pub twelfth: f64,
}

impl Roots {
    fn of((c6, c12): (f64, f64)) -> Self {
        Self { sixth: c6.powf(1.0 / 6.0), twelfth: c12.powf(1.0 / 12.0) }
    }

    fn add(&mut self, weight: f64, other: Self) {
        self.sixth += weight * other.sixth;
        self.twelfth += weight * other.twelfth;
    }
}

/// Roots of all pairs of types.
#[derive(Clone, Debug, Default)]
pub(crate) struct RootTable {
    pub n_types: usize,
    /// Row by row.
    pub roots: Vec<Roots>,
}

impl RootTable {
    pub fn of(table: &LennardJonesTable) -> Self {
        let roots = table.c6.iter().zip(&table.c12).map(|(&c6, &c12)| Roots::of((c6, c12))).collect();
        Self { n_types: table.n_types, roots }
    }

    pub fn get(&self, i: u32, j: u32) -> Roots {
        self.roots[i as usize * self.n_types + j as usize]
    }
}
