//! Averages of differences between computed and measured pKa values, and of the same values of the null model.

use super::{Compared, Verdict};
use crate::evaluation::measured::Constant;

/// Averages of the differences of some values.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Of which values.
    pub of: String,
    /// How many.
    pub values: usize,
    /// Those of the computed pKa values.
    pub computed: Averages,
    /// Those of the null model, for the same values; `None` if a model compound has no pKa.
    pub null: Option<Averages>,
    /// Root mean square of the errors that computed and measured values state: what [`Averages::rmse`] would be if nothing else was wrong.
    pub stated: f64,
}

/// Averages of differences.
#[derive(Debug, Clone, PartialEq)]
pub struct Averages {
    /// Mean of the differences.
    pub mean: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Root of the mean square.
    pub rmse: f64,
    /// The largest.
    pub largest: Largest,
}

/// The largest difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Largest {
    /// Its site.
    pub site: String,
    /// Computed minus measured.
    pub difference: f64,
}

/// Of all values with a difference; of acids, histidines and ends if there are others; of what has converged if not everything has.
pub(super) fn of(rows: &[Compared]) -> Vec<Statistics> {
    let all: Vec<&Compared> = rows.iter().filter(|row| matches!(row.verdict, Verdict::Difference(_))).collect();
    let some = |of: &str, choose: &dyn Fn(&Compared) -> bool| {
        let chosen: Vec<&Compared> = all.iter().copied().filter(|row| choose(row)).collect();
        (chosen.len() < all.len()).then(|| statistics(of, &chosen)).flatten()
    };
    let usual = some("acids, histidines and ends", &|row| row.is_usual);
    let converged = some("converged", &|row| row.is_converged);
    statistics("all", &all).into_iter().chain(usual).chain(converged).collect()
}

fn statistics(of: &str, rows: &[&Compared]) -> Option<Statistics> {
    let computed = rows.iter().filter_map(|row| match row.verdict {
        Verdict::Difference(difference) => Some((row.site.as_str(), difference)),
        _ => None,
    });
    let null = rows.iter().map(|row| match row.measured {
        Constant::Value { value, .. } => Some((row.site.as_str(), row.model? - value)),
        _ => None,
    });
    let null = null.collect::<Option<Vec<_>>>().and_then(|list| averages(&list));
    let computed = averages(&computed.collect::<Vec<_>>())?;
    Some(Statistics { of: of.into(), values: rows.len(), computed, null, stated: stated(rows) })
}

/// Root mean square of the errors of computed values and of those that measured ones have.
fn stated(rows: &[&Compared]) -> f64 {
    let square = |row: &&Compared| {
        let measured = match row.measured {
            Constant::Value { error, .. } => error.unwrap_or_default(),
            _ => 0.0,
        };
        row.computed.error().unwrap_or_default().powi(2) + measured.powi(2)
    };
    (rows.iter().map(square).sum::<f64>() / rows.len() as f64).sqrt()
}

/// `None` without a difference.
fn averages(differences: &[(&str, f64)]) -> Option<Averages> {
    let count = differences.len() as f64;
    let sum = |of: &dyn Fn(f64) -> f64| differences.iter().map(|(_, difference)| of(*difference)).sum::<f64>();
    let (site, difference) = differences.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    Some(Averages {
        mean: sum(&|x| x) / count,
        mae: sum(&f64::abs) / count,
        rmse: (sum(&|x| x * x) / count).sqrt(),
        largest: Largest { site: site.to_string(), difference: *difference },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda::analysis::determined::Determined;

    fn row(site: &str, computed: f64, measured: f64, model: f64, [is_usual, is_converged]: [bool; 2]) -> Compared {
        Compared {
            site: site.into(),
            group: site.into(),
            is_usual,
            is_extrapolated: false,
            computed: Determined::Value { value: computed, error: 0.1 },
            is_converged,
            measured: Constant::Value { value: measured, error: (site == "B").then_some(0.2) },
            model: Some(model),
            verdict: Verdict::Difference(computed - measured),
        }
    }

    #[test]
    fn averages_are_those_of_the_differences() {
        let mut rows = vec![
            row("A", 4.5, 4.0, 4.25, [true; 2]),
            row("B", 3.0, 4.0, 4.25, [true, false]),
            row("C", 10.0, 11.0, 10.4, [false, true]),
        ];
        rows.push(Compared { verdict: Verdict::Met, ..rows[0].clone() });
        let found = of(&rows);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let names: Vec<(&str, usize)> = found.iter().map(|one| (one.of.as_str(), one.values)).collect();
        assert_eq!(names, [("all", 3), ("acids, histidines and ends", 2), ("converged", 2)]);
        // 0.5, −1, −1; null 0.25, 0.25, −0.6.
        let (computed, null) = (&found[0].computed, found[0].null.as_ref().unwrap());
        near(computed.mean, -0.5);
        near(computed.mae, 2.5 / 3.0);
        near(computed.rmse, (2.25f64 / 3.0).sqrt());
        near(computed.largest.difference, -1.0);
        // Three of 0.1, and 0.2 of the measured value of B.
        near(found[0].stated, (0.07f64 / 3.0).sqrt());
        near(null.mae, 1.1 / 3.0);
        assert_eq!(null.largest.site, "C");
        assert!(of(&rows[..1])[0].values == 1 && of(&rows[..1]).len() == 1 && of(&[]).is_empty());
    }
}
