//! `[ virtual_sites1 ]`, `[ virtual_sites2 ]`, `[ virtual_sites3 ]` and `[ virtual_sitesn ]`: massless particles by their parents.
//!
//! With the parents i, j, k of a line (reference manual 2022.5, "Virtual interaction sites"):
//!
//! | section, function | site |
//! |---|---|
//! | 1, 1 | r_i |
//! | 2, 1 | (1 − a) r_i + a r_j |
//! | 2, 2 (2fd) | r_i + a r_ij/\|r_ij\| |
//! | 3, 1 | (1 − a − b) r_i + a r_j + b r_k |
//! | 3, 2 (3fd) | r_i + d u/\|u\|, u = (1 − a) r_ij + a r_ik |
//! | 3, 3 (3fad) | r_i + d cos θ r_ij/\|r_ij\| + d sin θ r_⊥/\|r_⊥\|, r_⊥: the part of r_jk across r_ij |
//! | 3, 4 (3out) | r_i + a r_ij + b r_ik + c r_ij × r_ik |
//! | n, 1, 2, 3 | centre of geometry, of mass, of the weights on the line |
//!
//! Those at a fixed distance are local coordinates of [`crate::virtual_sites`].

use super::error::{TopologyError, TopologyProblem};
use super::fields::Fields;
use super::molecule::MoleculeType;
use super::source::{Location, SourceLine};
use crate::virtual_sites::{VirtualSite, VirtualSiteKind, check};

/// A particle without mass, which something has to place.
#[derive(Debug)]
pub(super) struct Massless {
    pub atom: u32,
    pub at: Location,
    /// What is wrong if nothing does.
    pub problem: TopologyProblem,
}

/// How many columns name parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parents {
    One,
    Two,
    Three,
    Any,
}

impl MoleculeType {
    /// A line of the section for so many parents.
    pub fn read_virtual_site(&mut self, parents: Parents, line: &SourceLine) -> Result<(), TopologyError> {
        let one = match parents {
            Parents::One => self.one_parent(line),
            Parents::Two => self.two_parents(line),
            Parents::Three => self.three_parents(line),
            Parents::Any => self.any_parents(line),
        }?;
        self.top.virtual_sites.push(one);
        Ok(())
    }

    fn one_parent(&self, line: &SourceLine) -> Result<VirtualSite, TopologyError> {
        let f = Fields::new("virtual_sites1", line);
        let expected = "site atom [function]";
        let [site, i] = self.atoms(&f, expected)?;
        f.function(2, &[1], "1 (on the atom)")?;
        if f.len() > 3 {
            return Err(f.columns(expected));
        }
        Ok(VirtualSite { site, parents: vec![i], kind: VirtualSiteKind::Average { weights: vec![1.0] } })
    }

    fn two_parents(&self, line: &SourceLine) -> Result<VirtualSite, TopologyError> {
        let f = Fields::new("virtual_sites2", line);
        let expected = "site atom atom function a";
        let [site, i, j] = self.atoms(&f, expected)?;
        let function = f.function(3, &[1, 2], "1 (average), 2 (fixed distance)")?;
        let [a] = f.parameters(4, function, 1)?.ok_or_else(|| unplaced(&f, expected))?.get();
        Ok(match function {
            1 => VirtualSite::average2(site, [i, j], [1.0 - a, a]),
            _ => local(site, &[i, j], &[-1.0, 1.0], &[0.0; 2], [a, 0.0, 0.0]),
        })
    }

    fn three_parents(&self, line: &SourceLine) -> Result<VirtualSite, TopologyError> {
        let f = Fields::new("virtual_sites3", line);
        let expected = "site atom atom atom function a b [c]";
        let [site, i, j, k] = self.atoms(&f, expected)?;
        let (parents, supported) = ([i, j, k], "1 (3), 2 (3fd), 3 (3fad), 4 (3out)");
        let function = f.function(4, &[1, 2, 3, 4], supported)?;
        let p = f.parameters(5, function, if function == 4 { 3 } else { 2 })?;
        let p = p.ok_or_else(|| unplaced(&f, expected))?;
        Ok(match function {
            1 => {
                let [a, b] = p.get();
                VirtualSite::average3(site, parents, [1.0 - a - b, a, b])
            }
            2 => {
                let [a, d] = p.get();
                local(site, &parents, &[-1.0, 1.0 - a, a], &[0.0; 3], [d, 0.0, 0.0])
            }
            3 => {
                let [theta, d] = p.get();
                let (sine, cosine) = theta.to_radians().sin_cos();
                local(site, &parents, &[-1.0, 1.0, 0.0], &[0.0, -1.0, 1.0], [d * cosine, d * sine, 0.0])
            }
            _ => VirtualSite::out_of_plane(site, parents, p.get()),
        })
    }

    fn any_parents(&self, line: &SourceLine) -> Result<VirtualSite, TopologyError> {
        let f = Fields::new("virtual_sitesn", line);
        let expected = "site function atom …, or site 3 atom weight …";
        f.at_least(3, expected)?;
        let site = self.atom(&f, 0)?;
        let function =
            f.function(1, &[1, 2, 3], "1 (centre of geometry), 2 (centre of mass), 3 (centre of weights)")?;
        let step = if function == 3 { 2 } else { 1 };
        if !(f.len() - 2).is_multiple_of(step) {
            return Err(f.columns(expected));
        }
        let (mut parents, mut weights) = (Vec::new(), Vec::new());
        for column in (2..f.len()).step_by(step) {
            let parent = self.atom(&f, column)?;
            parents.push(parent);
            weights.push(match function {
                1 => 1.0,
                2 => self.top.atoms[parent as usize].mass,
                _ => f.real(column + 1)?,
            });
        }
        let sum: f64 = weights.iter().sum();
        // NaN included.
        if sum.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Err(f.out_of_range("sum of weights", sum, "positive"));
        }
        weights.iter_mut().for_each(|w| *w /= sum);
        Ok(VirtualSite { site, parents, kind: VirtualSiteKind::Average { weights } })
    }

    /// Whether everything without mass is placed, once, by atoms with mass.
    pub fn check_virtual_sites(&mut self) -> Result<(), TopologyError> {
        let sites = &self.top.virtual_sites;
        let left = |one: &Massless| sites.iter().all(|site| site.site != one.atom);
        if let Some(index) = self.massless.iter().position(left) {
            let Massless { at, problem, .. } = self.massless.swap_remove(index);
            return Err(at.error(problem));
        }
        let error = |e| self.at.error(TopologyProblem::VirtualSite { molecule: self.name.clone(), error: e });
        check(&self.top).map_err(error)
    }
}

/// The error of a line without parameters.
fn unplaced(f: &Fields, expected: &'static str) -> TopologyError {
    f.error(TopologyProblem::NoSiteParameters { section: f.section, expected })
}

/// Local coordinates with the first of `parents` as their origin.
fn local(site: u32, parents: &[u32], x: &[f64], y: &[f64], position: [f64; 3]) -> VirtualSite {
    let mut origin = vec![0.0; parents.len()];
    origin[0] = 1.0;
    let kind = VirtualSiteKind::LocalCoordinates { origin, x: x.into(), y: y.into(), position };
    VirtualSite { site, parents: parents.into(), kind }
}
