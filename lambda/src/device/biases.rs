//! Biases of all sites as the kernel reads them; the host may write them anew between steps.

use bytemuck::{Pod, Zeroable};
use kernels::device::{Buffer, Device, DeviceError, Stream, structure};

use super::SitesError;
use crate::bias::{Separation, SiteBias};

structure! {
    /// Numbers of the bias of one site; those of terms that it does not have are zero.
    pub struct BiasRow {
        /// Width of the wells.
        pub a: f64,
        /// Distance of the wells from 0 and 1, outwards; all four as in [`crate::bias::barrier`].
        pub b: f64,
        /// Depth of the wells, kJ/mol.
        pub k: f64,
        /// Amplitude of the barrier between them, at λ = ½, kJ/mol.
        pub d: f64,
        /// Height of the parabolas, kJ/mol.
        pub parabola: f64,
        /// Position of the smoothed steps of V_pH.
        pub step: f64,
        /// Factor of −½ Σ ln(λ² + ε²) of the correction of the measure, kJ/mol.
        pub entropy: f64,
        /// Factor of −½ ln(1 − s²) of the same, kJ/mol.
        pub arc: f64,
        /// Factor of ln I of the same, kJ/mol.
        pub redundant: f64,
        /// ε of the same.
        pub least_weight: f64,
    }

    /// Which terms the bias of a site has, and where its V_MM is.
    pub struct BiasTerms {
        /// The terms, by bits.
        pub terms: u32,
        /// Degree of V_MM.
        pub degree: u32,
        /// Terms of V_MM of each three forms.
        pub triples: u32,
        /// First coefficient of V_MM.
        pub first: u32,
    }
}

/// Bits of the terms that a site has, by the names that prepare.cu has for them.
pub(super) const TERMS: [(&str, u32); 6] = [
    ("WELLS", WELLS),
    ("PARABOLA", PARABOLA),
    ("LINEAR_PH", LINEAR_PH),
    ("SMOOTHED_PH", SMOOTHED_PH),
    ("CORRECTION", CORRECTION),
    ("ENTROPY", ENTROPY),
];
const WELLS: u32 = 1;
const PARABOLA: u32 = 2;
const LINEAR_PH: u32 = 4;
const SMOOTHED_PH: u32 = 8;
const CORRECTION: u32 = 16;
const ENTROPY: u32 = 32;

/// Biases on a device.
pub struct Biases {
    /// Numbers of each site.
    pub rows: Buffer<BiasRow>,
    /// Terms of each site.
    pub terms: Buffer<BiasTerms>,
    /// Coefficients of V_MM of all sites.
    pub coefficients: Buffer<f64>,
    /// G_α of V_pH, as the weights.
    pub acidity: Buffer<f64>,
    /// First coefficient of each site, and the end.
    starts: Vec<usize>,
    /// First weight of each site, and the end.
    weight_starts: Vec<usize>,
    /// What the device has.
    present: Numbers,
}

/// The same on the host.
struct Numbers {
    rows: Vec<BiasRow>,
    terms: Vec<BiasTerms>,
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
            present: numbers,
        })
    }

    /// Writes other biases of the same sites, with at most as many coefficients of V_MM. Lists that stay what they are stay where they are:
    /// of another pH only V_pH is written.
    ///
    /// # Errors
    /// [`SitesError`].
    pub fn write(&mut self, stream: &Stream, biases: &[Option<SiteBias>]) -> Result<(), SitesError> {
        let numbers = numbers(biases, &self.starts, &self.weight_starts)?;
        replace(stream, &self.rows, &mut self.present.rows, numbers.rows)?;
        replace(stream, &self.terms, &mut self.present.terms, numbers.terms)?;
        replace(stream, &self.coefficients, &mut self.present.coefficients, numbers.coefficients)?;
        Ok(replace(stream, &self.acidity, &mut self.present.acidity, numbers.acidity)?)
    }
}

/// Writes a list unless the device has it.
fn replace<T: Pod>(stream: &Stream, buffer: &Buffer<T>, present: &mut Vec<T>, new: Vec<T>) -> Result<(), DeviceError> {
    if bytemuck::cast_slice::<T, u8>(present) != bytemuck::cast_slice::<T, u8>(&new) {
        buffer.write(stream, &new)?;
        *present = new;
    }
    Ok(())
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
        let (mut row, mut has) = (BiasRow::zeroed(), BiasTerms::zeroed());
        has.first = starts[s] as u32;
        if let Some(bias) = bias {
            match bias.separation {
                Separation::Wells(barrier) => {
                    (row.a, row.b, row.k, row.d) = (barrier.a, barrier.b, barrier.k, barrier.d);
                    has.terms |= WELLS;
                }
                Separation::Parabola(height) => {
                    row.parabola = height;
                    has.terms |= PARABOLA;
                }
            }
            if let Some(ph) = &bias.ph {
                let (free_energies, step) = ph.parameters();
                super::length("free energies of V_pH", free_energies.len(), weights[s + 1] - weights[s])?;
                acidity[weights[s]..weights[s + 1]].copy_from_slice(free_energies);
                row.step = step.unwrap_or(0.0);
                has.terms |= if step.is_some() { SMOOTHED_PH } else { LINEAR_PH };
            }
            if let Some(correction) = &bias.correction {
                let given = correction.coefficients();
                super::length("forms of V_MM", correction.basis().n_forms(), weights[s + 1] - weights[s])?;
                let room = starts[s + 1] - starts[s];
                super::length("coefficients of V_MM", given.len().max(room), room)?;
                all[starts[s]..][..given.len()].copy_from_slice(given);
                has.degree = correction.basis().degree() as u32;
                has.triples = correction.basis().triple_terms() as u32;
                has.terms |= CORRECTION;
            }
            if let Some(entropy) = bias.entropy {
                [row.entropy, row.arc, row.redundant, row.least_weight] = entropy.parameters();
                has.terms |= ENTROPY;
            }
        }
        rows.push(row);
        terms.push(has);
    }
    Ok(Numbers { rows, terms, coefficients: all, acidity })
}
