//! What the kernels read of sites and never changes.

use std::collections::HashMap;

use forcefield::topology::Pair14;
use kernels::device::{Buffer, Device};

use super::SitesError;
use crate::bias::SiteBias;
use crate::site::Site;

/// Numbers of a bias: a, b, k, d of the wells; kind (0 none, 1 linear, 2 smoothed), free energy and step of V_pH; range and integral at zero
/// of V_MM.
const BIAS: usize = 10;

/// Tables on a device.
pub struct Tables {
    /// Forms of the site that has most.
    pub most_forms: usize,
    /// First value of each site in lists of one value for each form and atom.
    pub value_starts: Vec<usize>,
    /// First atom of each site, and the end.
    pub starts: Buffer<u32>,
    /// `value_starts`.
    pub values: Buffer<u32>,
    /// Forms of each site.
    pub forms: Buffer<u32>,
    /// Site of each atom.
    pub site_of: Buffer<u32>,
    /// The atoms in the system.
    pub atoms: Buffer<u32>,
    /// Charges of the forms.
    pub charges: Buffer<f64>,
    /// First 1-4 partner of each atom, and the end.
    pub pair_starts: Buffer<u32>,
    /// Partners, in the numbering of the site.
    pub partners: Buffer<u32>,
    /// Their factors.
    pub scales: Buffer<f64>,
    /// [`BIAS`] numbers of each site.
    pub biases: Buffer<f64>,
    /// Whether there is a bias, first coefficient of V_MM, and the end.
    pub bias_terms: Buffer<u32>,
    /// Coefficients of V_MM of all sites.
    pub coefficients: Buffer<f64>,
}

impl Tables {
    /// Checks the sites and uploads them.
    ///
    /// # Errors
    /// [`SitesError`].
    pub fn new(
        device: &Device,
        sites: &[Site],
        biases: &[Option<SiteBias>],
        pairs: &[Pair14],
        n_atoms: usize,
    ) -> Result<Self, SitesError> {
        sites.iter().try_for_each(|site| check(site, n_atoms))?;
        let (mut starts, mut value_starts) = (vec![0_u32], vec![0]);
        let (mut site_of, mut place) = (Vec::new(), HashMap::new());
        for (s, site) in sites.iter().enumerate() {
            let first = starts[s];
            place.extend(site.atoms.iter().enumerate().map(|(k, atom)| (*atom, (s, k as u32, first + k as u32))));
            site_of.extend(std::iter::repeat_n(s as u32, site.atoms.len()));
            starts.push(first + site.atoms.len() as u32);
            value_starts.push(value_starts[s] + site.forms.len() * site.atoms.len());
        }
        let mut partners = vec![Vec::new(); site_of.len()];
        for pair in pairs {
            let [Some(&(s, i, at_i)), Some(&(t, j, at_j))] = pair.atoms.map(|atom| place.get(&atom)) else { continue };
            if s == t {
                partners[at_i as usize].push((j, pair.coulomb_scale));
                partners[at_j as usize].push((i, pair.coulomb_scale));
            }
        }
        let mut pair_starts = vec![0_u32];
        pair_starts.extend(partners.iter().scan(0, |sum, p| {
            *sum += p.len() as u32;
            Some(*sum)
        }));
        let partners: Vec<(u32, f64)> = partners.into_iter().flatten().collect();
        let (rows, terms, coefficients) = bias_tables(biases);
        let charges: Vec<f64> = sites.iter().flat_map(|s| &s.forms).flat_map(|f| &f.charges).copied().collect();
        let number = |v: &[usize]| -> Vec<u32> { v.iter().map(|n| *n as u32).collect() };
        Ok(Self {
            most_forms: sites.iter().map(|s| s.forms.len()).max().unwrap_or(2),
            starts: device.upload(&starts)?,
            values: device.upload(&number(&value_starts))?,
            forms: device.upload(&sites.iter().map(|s| s.forms.len() as u32).collect::<Vec<_>>())?,
            site_of: device.upload(&site_of)?,
            atoms: device.upload(&sites.iter().flat_map(|s| &s.atoms).copied().collect::<Vec<_>>())?,
            charges: device.upload(&charges)?,
            pair_starts: device.upload(&pair_starts)?,
            partners: device.upload(&partners.iter().map(|p| p.0).collect::<Vec<_>>())?,
            scales: device.upload(&partners.iter().map(|p| p.1).collect::<Vec<_>>())?,
            biases: device.upload(&rows)?,
            bias_terms: device.upload(&terms)?,
            coefficients: device.upload(&coefficients)?,
            value_starts,
        })
    }
}

fn check(site: &Site, n_atoms: usize) -> Result<(), SitesError> {
    if site.forms.len() != 2 {
        return Err(SitesError::Forms { site: site.name.clone(), found: site.forms.len() });
    }
    let fits = site.forms.iter().all(|f| f.charges.len() == site.atoms.len());
    if fits && site.atoms.iter().all(|atom| (*atom as usize) < n_atoms) {
        return Ok(());
    }
    Err(SitesError::Atoms { site: site.name.clone(), n_atoms })
}

/// Rows, terms and coefficients of the biases.
fn bias_tables(biases: &[Option<SiteBias>]) -> (Vec<f64>, Vec<u32>, Vec<f64>) {
    let (mut rows, mut terms, mut coefficients) = (Vec::new(), Vec::new(), Vec::new());
    for bias in biases {
        let first = coefficients.len() as u32;
        let mut row = [0.0; BIAS];
        if let Some(SiteBias { barrier, ph, correction }) = bias {
            row[..4].copy_from_slice(&[barrier.a, barrier.b, barrier.k, barrier.d]);
            if let Some(ph) = ph {
                let (free_energy, step) = ph.parameters();
                row[4..7].copy_from_slice(&[if step.is_some() { 2.0 } else { 1.0 }, free_energy, step.unwrap_or(0.0)]);
            }
            if let Some(correction) = correction {
                let (dvdl, range, at_zero) = correction.parameters();
                coefficients.extend_from_slice(dvdl);
                row[7..].copy_from_slice(&[range[0], range[1], at_zero]);
            }
        }
        rows.extend(row);
        terms.extend([u32::from(bias.is_some()), first, coefficients.len() as u32]);
    }
    (rows, terms, coefficients)
}
