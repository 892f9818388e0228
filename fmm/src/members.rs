//! Some of the particles of a system: those that have a charge.
//!
//! A particle without charge is no source, and nobody asks for the potential where it is, since neither the energy ½ Σ q φ nor a force q E has
//! part in it. So it is left out of boxes, pairs and expansions; what is kept for it is a potential and a field of zero. In water of four sites, where
//! the oxygen has no charge, these are a quarter of all particles and nearly half of all pairs. Numbers of particles are the caller's, here
//! and in errors.

use std::borrow::Cow;

use kernels::Real;

use crate::FmmError;
use crate::checks::{check_finite, check_length};
use crate::geometry::exclusions::Exclusions;
use crate::potentials::Potentials;
use crate::solver::Fmm;

/// Which particles of a system have a charge, or may have one later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    n_particles: usize,
    /// Members first, then the others, each ascending; none if all are members.
    pub(crate) listed: Option<Vec<u32>>,
    n: usize,
}

impl Members {
    /// All of `n` particles.
    #[must_use]
    pub fn all(n: usize) -> Self {
        Self { n_particles: n, listed: None, n }
    }

    /// Those of which `is_member` is true, one entry for each particle.
    ///
    /// # Panics
    /// If there are more particles than 32 bits count.
    #[must_use]
    pub fn of(is_member: &[bool]) -> Self {
        let n_particles = u32::try_from(is_member.len()).expect("particles are counted in 32 bits");
        let (mut listed, others): (Vec<u32>, Vec<u32>) = (0..n_particles).partition(|i| is_member[*i as usize]);
        let n = listed.len();
        listed.extend(&others);
        Self { n_particles: is_member.len(), listed: (!others.is_empty()).then_some(listed), n }
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Number of particles, members or not.
    #[must_use]
    pub fn n_particles(&self) -> usize {
        self.n_particles
    }

    /// Members in ascending order, then all others; both are empty if all particles are members.
    fn split(&self) -> (&[u32], &[u32]) {
        self.listed.as_deref().unwrap_or_default().split_at(if self.listed.is_some() { self.n } else { 0 })
    }

    /// The entries of the members, in ascending order, of a list with one for each particle.
    ///
    /// # Panics
    /// If the list has another length.
    #[must_use]
    pub fn select<'a, V: Copy>(&self, of: &'a [V]) -> Cow<'a, [V]> {
        assert_eq!(of.len(), self.n_particles, "one entry for each particle");
        match &self.listed {
            None => Cow::Borrowed(of),
            Some(_) => self.split().0.iter().map(|i| of[*i as usize]).collect(),
        }
    }

    /// Excluded pairs of two members, numbered among the members.
    fn renumbered(&self, exclusions: &Exclusions) -> Exclusions {
        let Some(rank) = self.ranks() else { return exclusions.clone() };
        exclusions.kept(self.n, |i| rank[i as usize])
    }

    /// For each particle its number among the members, if it is one; none if all are.
    pub(crate) fn ranks(&self) -> Option<Vec<Option<u32>>> {
        self.listed.as_ref()?;
        let mut rank = vec![None; self.n_particles];
        self.split().0.iter().enumerate().for_each(|(k, i)| rank[*i as usize] = Some(k as u32));
        Some(rank)
    }

    /// The particle behind the number among the members that an error names.
    fn named(&self, error: FmmError) -> FmmError {
        let Some(listed) = &self.listed else { return error };
        error.renamed(|k| listed[k] as usize)
    }
}

/// [`Fmm`] of the members of a system, for callers that have positions, charges and results of all its particles. Where all are members it is the
/// `Fmm` itself.
pub struct FmmOfMembers<T: Real> {
    fmm: Fmm<T>,
    members: Members,
    /// Numbered among the members.
    exclusions: Exclusions,
    positions: Vec<[f64; 3]>,
    charges: Vec<f64>,
    out: Potentials,
}

impl<T: Real> FmmOfMembers<T> {
    /// `exclusions` count all particles.
    ///
    /// # Errors
    /// Exclusions for another number of particles.
    pub fn new(fmm: Fmm<T>, members: Members, exclusions: &Exclusions) -> Result<Self, FmmError> {
        check_length("exclusions", members.n_particles(), exclusions.n_particles())?;
        let exclusions = members.renumbered(exclusions);
        Ok(Self { fmm, members, exclusions, positions: Vec::new(), charges: Vec::new(), out: Potentials::default() })
    }

    /// The solver that sees the members only.
    pub fn fmm(&self) -> &Fmm<T> {
        &self.fmm
    }

    /// The same, for what needs no particles.
    pub fn fmm_mut(&mut self) -> &mut Fmm<T> {
        &mut self.fmm
    }

    /// As [`Fmm::assign`], for `positions` of all particles.
    ///
    /// # Errors
    /// As there; a position that is not finite of any particle.
    #[inline(never)]
    pub fn assign(&mut self, positions: &[[f64; 3]]) -> Result<(), FmmError> {
        self.fmm.forget();
        check_length("positions", self.members.n_particles(), positions.len())?;
        if self.members.listed.is_none() {
            return self.fmm.assign(positions, &self.exclusions);
        }
        check_finite(positions)?;
        gather(&self.members, positions, &mut self.positions);
        self.fmm.assign(&self.positions, &self.exclusions).map_err(|e| self.members.named(e))
    }

    /// As [`Fmm::evaluate`], for positions and charges of all particles. Potential and field are 0 at those that are no members.
    ///
    /// # Errors
    /// As there; a position that is not finite or a charge of a particle that is no member.
    #[inline(never)]
    pub fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        let n = self.members.n_particles();
        check_length("positions", n, positions.len())?;
        check_length("charges", n, charges.len())?;
        if self.members.listed.is_none() {
            return self.fmm.evaluate(positions, charges, out);
        }
        let (members, others) = self.members.split();
        for &i in others {
            let particle = i as usize;
            if !positions[particle].iter().all(|x| x.is_finite()) {
                return Err(FmmError::NotFinite { particle, what: "position" });
            }
            if charges[particle] != 0.0 {
                return Err(FmmError::LeftOut { particle, charge: charges[particle] });
            }
        }
        gather(&self.members, positions, &mut self.positions);
        gather(&self.members, charges, &mut self.charges);
        let energy =
            (self.fmm.evaluate(&self.positions, &self.charges, &mut self.out)).map_err(|e| self.members.named(e))?;
        out.potential.resize(n, 0.0);
        out.field.resize(n, [0.0; 3]);
        for ((&i, phi), field) in members.iter().zip(&self.out.potential).zip(&self.out.field) {
            (out.potential[i as usize], out.field[i as usize]) = (*phi, *field);
        }
        for &i in others {
            (out.potential[i as usize], out.field[i as usize]) = (0.0, [0.0; 3]);
        }
        Ok(energy)
    }
}

/// The entries of the members, without new memory.
fn gather<V: Copy>(members: &Members, of: &[V], into: &mut Vec<V>) {
    into.clear();
    into.extend(members.split().0.iter().map(|i| of[*i as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_their_pairs() {
        let members = Members::of(&[true, false, true, true, false, true]);
        assert_eq!((members.len(), members.n_particles(), members.is_empty()), (4, 6, false));
        assert_eq!(members.listed.as_deref(), Some(&[0, 2, 3, 5, 1, 4][..]));
        assert_eq!(*members.select(&[10, 11, 12, 13, 14, 15]), [10, 12, 13, 15]);
        // Two pairs of members; one of a member and another particle, and one of two others.
        let exclusions = Exclusions::from_pairs(6, [[0, 3], [3, 5], [2, 4], [1, 4]]).unwrap();
        assert_eq!(members.renumbered(&exclusions), Exclusions::from_pairs(4, [[0, 2], [2, 3]]).unwrap());
        let last = Exclusions::from_pairs(6, [[0, 2]]).unwrap();
        assert_eq!(members.renumbered(&last), Exclusions::from_pairs(4, [[0, 1]]).unwrap());
    }

    #[test]
    fn all_and_none_are_members_too() {
        assert_eq!(Members::of(&[true; 3]), Members::all(3));
        let exclusions = Exclusions::from_pairs(3, [[0, 2]]).unwrap();
        assert_eq!(Members::all(3).renumbered(&exclusions), exclusions);
        let none = Members::of(&[false; 3]);
        assert!(none.is_empty() && none.select(&[1, 2, 3]).is_empty());
        assert_eq!(none.renumbered(&exclusions), Exclusions::none(0));
    }
}
