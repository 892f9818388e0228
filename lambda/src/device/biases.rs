//! Biases of all sites as the kernel reads them; the host may write them anew between steps.

use kernels::device::{Buffer, Device, Stream};

use super::SitesError;
use crate::bias::{Separation, SiteBias};

/// Numbers of a row: a, b, k, d of the wells; height of the parabola; step of V_pH; two factors and ε of the correction of the measure.
const ROW: usize = 9;

/// Bits of the terms that a site has, as in motion.cu.
const WELLS: u32 = 1;
const PARABOLA: u32 = 2;
const LINEAR_PH: u32 = 4;
const SMOOTHED_PH: u32 = 8;
const CORRECTION: u32 = 16;
const ENTROPY: u32 = 32;

/// Biases on a device.
pub struct Biases {
    /// [`ROW`] numbers of each site.
    pub rows: Buffer<f64>,
    /// Terms, degree of V_MM, its terms of each three forms, its first coefficient; of each site.
    pub terms: Buffer<u32>,
    /// Coefficients of V_MM of all sites.
    pub coefficients: Buffer<f64>,
    /// G_α of V_pH, as the weights.
    pub acidity: Buffer<f64>,
    /// First coefficient of each site, and the end.
    starts: Vec<usize>,
    /// First weight of each site, and the end.
    weight_starts: Vec<usize>,
}

/// The same on the host.
struct Numbers {
    rows: Vec<f64>,
    terms: Vec<u32>,
    coefficients: Vec<f64>,
    acidity: Vec<f64>,
}

impl Biases {
    /// Uploads the biases of sites with these first weights.
    ///
    /// # Errors
    /// [`SitesError`].
    pub fn new(device: &Device, biases: &[Option<SiteBias>], weight_starts: &[usize]) -> Result<Self, SitesError> {
        let ends = biases.iter().scan(0, |end, bias| {
            *end += coefficients(bias).len();
            Some(*end)
        });
        let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let numbers = numbers(biases, &starts, weight_starts)?;
        Ok(Self {
            rows: device.upload(&numbers.rows)?,
            terms: device.upload(&numbers.terms)?,
            coefficients: device.upload(&numbers.coefficients)?,
            acidity: device.upload(&numbers.acidity)?,
            starts,
            weight_starts: weight_starts.to_vec(),
        })
    }

    /// Writes other biases of the same sites, with at most as many coefficients of V_MM.
    ///
    /// # Errors
    /// [`SitesError`].
    pub fn write(&self, stream: &Stream, biases: &[Option<SiteBias>]) -> Result<(), SitesError> {
        let numbers = numbers(biases, &self.starts, &self.weight_starts)?;
        self.rows.write(stream, &numbers.rows)?;
        self.terms.write(stream, &numbers.terms)?;
        self.coefficients.write(stream, &numbers.coefficients)?;
        Ok(self.acidity.write(stream, &numbers.acidity)?)
    }
}

fn coefficients(bias: &Option<SiteBias>) -> &[f64] {
    bias.as_ref().and_then(|b| b.correction.as_ref()).map_or(&[], |c| c.coefficients())
}

fn numbers(biases: &[Option<SiteBias>], starts: &[usize], weights: &[usize]) -> Result<Numbers, SitesError> {
    super::length("biases", biases.len(), starts.len() - 1)?;
    let (mut rows, mut terms) = (Vec::new(), Vec::new());
    let mut all = vec![0.0; starts[biases.len()]];
    let mut acidity = vec![0.0; weights[biases.len()]];
    for (s, bias) in biases.iter().enumerate() {
        let (mut row, mut has, mut degree, mut triples) = ([0.0; ROW], 0, 0, 0);
        if let Some(bias) = bias {
            match bias.separation {
                Separation::Wells(barrier) => {
                    row[..4].copy_from_slice(&[barrier.a, barrier.b, barrier.k, barrier.d]);
                    has |= WELLS;
                }
                Separation::Parabola(height) => {
                    row[4] = height;
                    has |= PARABOLA;
                }
            }
            if let Some(ph) = &bias.ph {
                let (free_energies, step) = ph.parameters();
                super::length("free energies of V_pH", free_energies.len(), weights[s + 1] - weights[s])?;
                acidity[weights[s]..weights[s + 1]].copy_from_slice(free_energies);
                row[5] = step.unwrap_or(0.0);
                has |= if step.is_some() { SMOOTHED_PH } else { LINEAR_PH };
            }
            if let Some(correction) = &bias.correction {
                let given = correction.coefficients();
                super::length("forms of V_MM", correction.basis().n_forms(), weights[s + 1] - weights[s])?;
                let room = starts[s + 1] - starts[s];
                super::length("coefficients of V_MM", given.len().max(room), room)?;
                all[starts[s]..][..given.len()].copy_from_slice(given);
                degree = correction.basis().degree() as u32;
                triples = correction.basis().triple_terms() as u32;
                has |= CORRECTION;
            }
            if let Some(entropy) = bias.entropy {
                row[6..].copy_from_slice(&entropy.parameters());
                has |= ENTROPY;
            }
        }
        rows.extend(row);
        terms.extend([has, degree, triples, starts[s] as u32]);
    }
    Ok(Numbers { rows, terms, coefficients: all, acidity })
}
