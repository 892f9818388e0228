//! The sites that move: their coordinates, masses and charges, and where their numbers lie in the flat lists of all sites.
//!
//!   λ = λ(ξ) site by site,   Q = Σ_s Σ_α λ_sα Q_sα,   K = Σ_s ½ m_s Σ_k v_sk²
//!
//! Units: ps, u nm² (masses), 1/ps (velocities), e, kJ/mol.

use super::error::{DynamicsError, check_length};
use crate::coordinate::Coordinate;
use crate::values::{SiteLayout, SiteValues};

/// How one site moves.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteMotion {
    /// Its coordinate.
    pub coordinate: Coordinate,
    /// Number of its forms.
    pub n_forms: usize,
    /// Mass of each number of ξ, u nm²; [`crate::coordinate::MASS`] is usual.
    pub mass: f64,
    /// Net charge of each form, e.
    pub charges: Vec<f64>,
}

/// All sites, each with its place in the lists.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MovingSites {
    pub(crate) sites: Vec<SiteMotion>,
    /// Numbers of ξ.
    pub(crate) coordinates: SiteLayout,
    /// Weights.
    pub(crate) weights: SiteLayout,
}

impl MovingSites {
    /// # Errors
    /// [`DynamicsError`] for forms that do not fit the coordinate, and charges that are not one for each form or not finite.
    pub(super) fn new(sites: Vec<SiteMotion>) -> Result<Self, DynamicsError> {
        for (index, site) in sites.iter().enumerate() {
            if !site.coordinate.fits(site.n_forms) {
                let (site, forms, coordinate) = (index + 1, site.n_forms, site.coordinate);
                return Err(DynamicsError::Forms { site, forms, coordinate });
            }
            check_length("charges of the forms of a site", site.charges.len(), site.n_forms)?;
            if let Some(&value) = site.charges.iter().find(|charge| !charge.is_finite()) {
                return Err(DynamicsError::Setting { name: "charge of a form", value, expected: "a finite number" });
            }
        }
        Ok(Self {
            coordinates: SiteLayout::new(sites.iter().map(|site| site.coordinate.dimension(site.n_forms))),
            weights: SiteLayout::new(sites.iter().map(|site| site.n_forms)),
            sites,
        })
    }

    /// Directions in which each site can move, summed; a kept total charge takes one away.
    pub(super) fn degrees_of_freedom(&self) -> usize {
        self.sites.iter().map(|site| site.coordinate.degrees_of_freedom(site.n_forms)).sum()
    }

    /// The sites with the places of their numbers of ξ.
    pub(super) fn with_coordinates(&self) -> impl Iterator<Item = (&SiteMotion, std::ops::Range<usize>)> {
        self.sites.iter().zip(self.coordinates.ranges())
    }

    /// Weights at ξ of all sites.
    pub(super) fn weights_at(&self, coordinates: &[f64]) -> SiteValues {
        let mut weights = self.weights.zeros();
        for ((site, at), weights) in self.with_coordinates().zip(weights.sites_mut()) {
            site.coordinate.weights(&coordinates[at], weights);
        }
        weights
    }

    /// Σ λ_sα Q_sα, e.
    pub(super) fn charge(&self, weights: &[f64]) -> f64 {
        self.sites.iter().flat_map(|site| &site.charges).zip(weights).map(|(q, w)| q * w).sum()
    }

    /// Charge (e) that all sites together can carry, 1 e at least: the unit of the tolerance of the kept charge.
    pub(crate) fn charge_scale(&self) -> f64 {
        let largest = |charges: &Vec<f64>| charges.iter().fold(0.0_f64, |m, q| m.max(q.abs()));
        self.sites.iter().map(|site| largest(&site.charges)).sum::<f64>().max(1.0)
    }

    /// Kinetic energy, kJ/mol.
    pub(super) fn kinetic(&self, velocities: &[f64]) -> f64 {
        let of_site = |(site, at): (&SiteMotion, std::ops::Range<usize>)| {
            0.5 * site.mass * velocities[at].iter().map(|v| v * v).sum::<f64>()
        };
        self.with_coordinates().map(of_site).sum()
    }

    /// A value for each number of ξ, with its mass.
    pub(super) fn masses<'a>(&'a self, values: &'a mut [f64]) -> impl Iterator<Item = (&'a mut f64, f64)> {
        let masses =
            self.sites.iter().flat_map(|site| std::iter::repeat_n(site.mass, site.coordinate.dimension(site.n_forms)));
        values.iter_mut().zip(masses)
    }

    /// The same for those numbers of ξ that move, which random numbers are drawn for.
    pub(super) fn moving<'a>(&'a self, values: &'a mut [f64]) -> impl Iterator<Item = (&'a mut f64, f64)> {
        let moves = self.sites.iter().flat_map(|site| {
            std::iter::repeat_n(site.coordinate != Coordinate::Fixed, site.coordinate.dimension(site.n_forms))
        });
        self.masses(values).zip(moves).filter(|(_, moves)| *moves).map(|(value, _)| value)
    }
}
