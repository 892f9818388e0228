//! Virtual sites: massless particles whose positions follow from those of atoms, such as the fourth site of TIP4P water and lone pairs.
//!
//! With parents r_0 … r_n−1 (nm), which are ordinary atoms, the site is at
//!
//! | kind | s = |
//! |---|---|
//! | average | Σ w_k r_k, Σ w_k = 1 |
//! | out of plane | r_0 + a r_01 + b r_02 + c r_01 × r_02, r_0k = r_k − r_0 |
//! | local coordinates | o + p_x e_x + p_y e_y + p_z e_z |
//!
//! The axes of local coordinates follow from three weighted sums of the parents, o = Σ w°_k r_k with Σ w°_k = 1, X = Σ w^x_k r_k and Y = Σ w^y_k r_k
//! with weights that add up to zero: e_x = X/|X|, e_z = X × Y/|X × Y|, e_y = e_z × e_x. Where p_y = p_z = 0, Y plays no part.
//!
//! A site takes no part in motion. Its force F acts on the parents through the transpose of the derivative of s, F_k = (∂s/∂r_k)ᵀ F, so that
//! the forces of the parents are the derivatives of the energy as a function of the atoms alone; they add up to F, and their torque is that of
//! F. With g = F·s, A = ∂g/∂e_x = p_x F + p_y F × e_z and C = ∂g/∂e_z = p_z F + p_y e_x × F:
//!
//! ```text
//! average             F_k = w_k F
//! out of plane        F_1 = a F + c r_02 × F      F_2 = b F + c F × r_01      F_0 = F − F_1 − F_2
//! local coordinates   G_Z = (C − e_z (e_z·C))/|X × Y|
//!                     G_X = (A − e_x (e_x·A))/|X| + Y × G_Z      G_Y = G_Z × X
//!                     F_k = w°_k F + w^x_k G_X + w^y_k G_Y
//! ```
//!
//! The virial of a term counts a site as if it were stretched with the box: s·F. What the atoms feel is Σ r_k·F_k. Both agree for
//! averages; the difference of the others is what [`spread`] returns.
//!
//! Units: nm, kJ/mol/nm, kJ/mol; c of the site out of plane in 1/nm. Parents lie in one piece: no periodic images. Reference for the transposed
//! derivatives: H. J. C. Berendsen, W. F. van Gunsteren, in "Molecular Liquids: Dynamics and Interactions" (1984), p. 475; the local
//! coordinates are those of `LocalCoordinatesSite` of OpenMM 8.

use nalgebra::Vector3;

use crate::topology::Topology;

/// Sums of weights are 0 or 1 to this, as OpenMM asks of them. The weight of the first parent is what the others leave.
const WEIGHT_TOLERANCE: f64 = 1e-6;

/// A massless particle and the atoms that it follows.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualSite {
    /// The particle, an atom of the topology without mass.
    pub site: u32,
    /// The atoms that it follows, all different and none of them a virtual site.
    pub parents: Vec<u32>,
    /// How it follows them.
    pub kind: VirtualSiteKind,
}

/// How a virtual site follows its parents; see the module documentation.
#[derive(Clone, Debug, PartialEq)]
pub enum VirtualSiteKind {
    /// A weighted average of one or more parents.
    Average {
        /// A weight for each parent; they add up to 1.
        weights: Vec<f64>,
    },
    /// A point beside the plane of three parents.
    OutOfPlane {
        /// Weight of r_01.
        a: f64,
        /// Weight of r_02.
        b: f64,
        /// Weight of r_01 × r_02, 1/nm.
        c: f64,
    },
    /// A fixed place in axes that two or more parents span; three or more unless the place is on the first axis.
    LocalCoordinates {
        /// Weights of the origin, one for each parent; they add up to 1.
        origin: Vec<f64>,
        /// Weights of the first axis; they add up to 0.
        x: Vec<f64>,
        /// Weights of the direction that spans the plane of the first two axes with the first one; they add up to 0.
        y: Vec<f64>,
        /// Coordinates along the axes, nm.
        position: [f64; 3],
    },
}

/// What makes a virtual site impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VirtualSiteError {
    /// An index beyond the atoms.
    #[error("virtual site {site} follows atom {parent}; there are {n_atoms} atoms")]
    Index {
        /// The site, from 1.
        site: u64,
        /// The site itself or a parent, from 1.
        parent: u64,
        /// Number of atoms.
        n_atoms: usize,
    },
    /// A particle that is constructed twice.
    #[error("{0} is constructed as a virtual site twice")]
    Twice(String),
    /// A virtual site with mass.
    #[error("{site} is a virtual site with a mass of {mass} u; virtual sites have none")]
    Mass {
        /// The site.
        site: String,
        /// Its mass, u.
        mass: f64,
    },
    /// An atom without mass that is no virtual site.
    #[error("{0} has no mass and is no virtual site: it cannot move")]
    Massless(String),
    /// A site that follows a site, or itself.
    #[error("virtual site {site} follows {parent}, which is a virtual site itself; parents must be atoms with mass")]
    Chain {
        /// The site.
        site: String,
        /// The parent.
        parent: String,
    },
    /// A parent that occurs twice.
    #[error("virtual site {site} follows {parent} twice")]
    Repeated {
        /// The site.
        site: String,
        /// The parent.
        parent: String,
    },
    /// A number of parents or weights that the kind does not have.
    #[error("virtual site {site} has {found} {what}; expected {expected}")]
    Count {
        /// The site.
        site: String,
        /// Parents, or weights of what.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Numbers that are possible.
        expected: String,
    },
    /// Weights with another sum, or that are not finite.
    #[error("the weights of virtual site {site} for its {what} add up to {sum}; expected {expected}")]
    Sum {
        /// The site.
        site: String,
        /// Average, origin, first or second axis.
        what: &'static str,
        /// Their sum.
        sum: f64,
        /// What it must be.
        expected: f64,
    },
    /// A parameter that is not finite.
    #[error("a parameter of virtual site {0} is not a finite number")]
    NotFinite(String),
    /// A fixed distance to a site.
    #[error("the distance between {} and {} is held fixed, but {} is a virtual site, which its parents alone place", .0[0], .0[1], .1)]
    Constrained([String; 2], String),
    /// A position restraint on a site.
    #[error("{0} is a virtual site and has a position restraint; restrain its parents")]
    Restrained(String),
}

/// Axes of local coordinates and the lengths that they were divided by; `z` is none where only the first axis is needed.
struct Axes {
    x: Vector3<f64>,
    inverse_x: f64,
    z: Option<(Vector3<f64>, f64)>,
    sum_x: Vector3<f64>,
    sum_y: Vector3<f64>,
}

impl VirtualSite {
    /// On the line through two atoms: s = w_0 r_0 + w_1 r_1.
    pub fn average2(site: u32, parents: [u32; 2], weights: [f64; 2]) -> Self {
        Self { site, parents: parents.into(), kind: VirtualSiteKind::Average { weights: weights.into() } }
    }

    /// In the plane of three atoms: s = w_0 r_0 + w_1 r_1 + w_2 r_2.
    pub fn average3(site: u32, parents: [u32; 3], weights: [f64; 3]) -> Self {
        Self { site, parents: parents.into(), kind: VirtualSiteKind::Average { weights: weights.into() } }
    }

    /// Beside the plane of three atoms: s = r_0 + a r_01 + b r_02 + c r_01 × r_02, `c` in 1/nm.
    pub fn out_of_plane(site: u32, parents: [u32; 3], [a, b, c]: [f64; 3]) -> Self {
        Self { site, parents: parents.into(), kind: VirtualSiteKind::OutOfPlane { a, b, c } }
    }

    /// Where the site is (nm), from the positions `x` (nm) of all atoms. Not finite where axes vanish.
    ///
    /// # Panics
    /// If a parent is not below the length of `x`, or the numbers of weights and parents differ.
    pub fn position(&self, x: &[Vector3<f64>]) -> Vector3<f64> {
        let first = x[self.parents[0] as usize];
        match &self.kind {
            VirtualSiteKind::Average { weights } => first + self.sum(x, weights),
            VirtualSiteKind::OutOfPlane { a, b, c } => {
                let [r1, r2] = self.sides(x);
                first + *a * r1 + *b * r2 + *c * r1.cross(&r2)
            }
            VirtualSiteKind::LocalCoordinates { origin, x: wx, y: wy, position: [px, py, pz] } => {
                let axes = self.axes(x, wx, wy, *py != 0.0 || *pz != 0.0);
                let mut s = first + self.sum(x, origin) + *px * axes.x;
                if let Some((z, _)) = axes.z {
                    s += *py * z.cross(&axes.x) + *pz * z;
                }
                s
            }
        }
    }

    /// Takes the force of the site out of `forces` (kJ/mol/nm) and adds what of it acts on each parent; returns by how much that changes the
    /// virial (kJ/mol).
    ///
    /// # Panics
    /// As [`Self::position`].
    pub fn spread(&self, x: &[Vector3<f64>], forces: &mut [Vector3<f64>]) -> f64 {
        let force = std::mem::take(&mut forces[self.site as usize]);
        // The first parent takes what is left, so that the sum stays what it was to the last bits.
        let mut left = force;
        let mut give = |parent: usize, part: Vector3<f64>| {
            left -= part;
            forces[self.parents[parent] as usize] += part;
        };
        let change = match &self.kind {
            VirtualSiteKind::Average { weights } => {
                (1..weights.len()).for_each(|k| give(k, weights[k] * force));
                0.0
            }
            VirtualSiteKind::OutOfPlane { a, b, c } => {
                let [r1, r2] = self.sides(x);
                give(1, *a * force + *c * r2.cross(&force));
                give(2, *b * force + *c * force.cross(&r1));
                // The product is of second degree in the lengths: it counts twice.
                *c * r1.cross(&r2).dot(&force)
            }
            VirtualSiteKind::LocalCoordinates { origin, x: wx, y: wy, position: [px, py, pz] } => {
                let axes = self.axes(x, wx, wy, *py != 0.0 || *pz != 0.0);
                let mut place = *px * axes.x;
                let mut by_axis = *px * force;
                let (mut gx, mut gy) = (Vector3::zeros(), Vector3::zeros());
                if let Some((z, inverse)) = axes.z {
                    place += *py * z.cross(&axes.x) + *pz * z;
                    by_axis += *py * force.cross(&z);
                    let by_normal = *pz * force + *py * axes.x.cross(&force);
                    let gz = inverse * (by_normal - z.dot(&by_normal) * z);
                    (gx, gy) = (axes.sum_y.cross(&gz), gz.cross(&axes.sum_x));
                }
                gx += axes.inverse_x * (by_axis - axes.x.dot(&by_axis) * axes.x);
                (1..origin.len()).for_each(|k| give(k, origin[k] * force + wx[k] * gx + wy[k] * gy));
                // Axes do not change with the lengths: what is fixed in them does not count.
                -place.dot(&force)
            }
        };
        forces[self.parents[0] as usize] += left;
        change
    }

    /// Σ w_k (r_k − r_0), which is exact where the molecule is far from the origin.
    fn sum(&self, x: &[Vector3<f64>], weights: &[f64]) -> Vector3<f64> {
        assert_eq!(weights.len(), self.parents.len(), "invariant: a weight for each parent");
        let first = x[self.parents[0] as usize];
        self.parents[1..].iter().zip(&weights[1..]).map(|(&k, w)| *w * (x[k as usize] - first)).sum()
    }

    fn sides(&self, x: &[Vector3<f64>]) -> [Vector3<f64>; 2] {
        let [r0, r1, r2] = [0, 1, 2].map(|k| x[self.parents[k] as usize]);
        [r1 - r0, r2 - r0]
    }

    fn axes(&self, x: &[Vector3<f64>], wx: &[f64], wy: &[f64], all: bool) -> Axes {
        let (sum_x, sum_y) = (self.sum(x, wx), self.sum(x, wy));
        let inverse_x = 1.0 / sum_x.norm();
        let normal = sum_x.cross(&sum_y);
        let z = all.then(|| (normal / normal.norm(), 1.0 / normal.norm()));
        Axes { x: inverse_x * sum_x, inverse_x, z, sum_x, sum_y }
    }

    /// Numbers of parents and weights, sums of weights, finite parameters; `name`: how to call the site.
    fn check_kind(&self, name: impl Fn() -> String) -> Result<(), VirtualSiteError> {
        let n = self.parents.len();
        let count = |what, found, fits: bool, expected: &str| match fits {
            true => Ok(()),
            false => Err(VirtualSiteError::Count { site: name(), what, found, expected: expected.into() }),
        };
        let sum = |what, weights: &[f64], expected: f64| {
            count("weights", weights.len(), weights.len() == n, &format!("{n}, one for each parent"))?;
            let sum: f64 = weights.iter().sum();
            match (sum - expected).abs() <= WEIGHT_TOLERANCE {
                true => Ok(()),
                false => Err(VirtualSiteError::Sum { site: name(), what, sum, expected }),
            }
        };
        let finite = |values: &[f64]| match values.iter().all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err(VirtualSiteError::NotFinite(name())),
        };
        match &self.kind {
            VirtualSiteKind::Average { weights } => {
                count("parents", n, n >= 1, "1 or more")?;
                finite(weights)?;
                sum("average", weights, 1.0)
            }
            VirtualSiteKind::OutOfPlane { a, b, c } => {
                count("parents", n, n == 3, "3")?;
                finite(&[*a, *b, *c])
            }
            VirtualSiteKind::LocalCoordinates { origin, x, y, position } => {
                let on_axis = position[1..] == [0.0; 2];
                count("parents", n, n >= if on_axis { 2 } else { 3 }, if on_axis { "2 or more" } else { "3 or more" })?;
                [origin, x, y].into_iter().try_for_each(|weights| finite(weights))?;
                finite(position)?;
                sum("origin", origin, 1.0)?;
                sum("first axis", x, 0.0)?;
                sum("second axis", y, 0.0)
            }
        }
    }
}

/// Puts all virtual sites where their parents have them; `x`: positions of all atoms, nm.
///
/// # Panics
/// As [`VirtualSite::position`]; none after [`check`].
pub fn place(sites: &[VirtualSite], x: &mut [Vector3<f64>]) {
    for site in sites {
        x[site.site as usize] = site.position(x);
    }
}

/// Moves the forces (kJ/mol/nm) of all virtual sites to their parents; returns the change of the virial Σ r·F (kJ/mol).
///
/// ```
/// use forcefield::virtual_sites::{self, VirtualSite};
/// use nalgebra::Vector3;
/// let site = VirtualSite::average2(2, [0, 1], [0.75, 0.25]);
/// let mut x = [Vector3::zeros(), Vector3::new(0.4, 0.0, 0.0), Vector3::zeros()];
/// virtual_sites::place(&[site.clone()], &mut x);
/// assert!((x[2].x - 0.1).abs() < 1e-15);
/// let mut f = [Vector3::zeros(), Vector3::zeros(), Vector3::new(0.0, 4.0, 0.0)];
/// assert_eq!(virtual_sites::spread(&[site], &x, &mut f), 0.0);
/// assert_eq!(f.map(|f| f.y), [3.0, 1.0, 0.0]);
/// ```
///
/// # Panics
/// As [`VirtualSite::position`]; none after [`check`].
pub fn spread(sites: &[VirtualSite], x: &[Vector3<f64>], forces: &mut [Vector3<f64>]) -> f64 {
    sites.iter().map(|site| site.spread(x, forces)).sum()
}

/// Whether the virtual sites of a topology can be placed, and whether everything else has a mass.
///
/// # Errors
/// The first site, atom, constraint or restraint that does not fit.
pub fn check(topology: &Topology) -> Result<(), VirtualSiteError> {
    let n_atoms = topology.n_atoms();
    let label = |atom: u32| topology.label(atom);
    let mut is_site = vec![false; n_atoms];
    for VirtualSite { site, parents, .. } in &topology.virtual_sites {
        if let Some(&far) = [site].into_iter().chain(parents).find(|&&atom| atom as usize >= n_atoms) {
            return Err(VirtualSiteError::Index { site: u64::from(*site) + 1, parent: u64::from(far) + 1, n_atoms });
        }
        if std::mem::replace(&mut is_site[*site as usize], true) {
            return Err(VirtualSiteError::Twice(label(*site)));
        }
    }
    for (atom, (entry, is_site)) in (0..).zip(topology.atoms.iter().zip(&is_site)) {
        match (is_site, entry.mass) {
            (true, mass) if mass != 0.0 => return Err(VirtualSiteError::Mass { site: label(atom), mass }),
            (false, 0.0) => return Err(VirtualSiteError::Massless(label(atom))),
            _ => (),
        }
    }
    for one in &topology.virtual_sites {
        let site = || label(one.site);
        for (k, &parent) in one.parents.iter().enumerate() {
            if is_site[parent as usize] {
                return Err(VirtualSiteError::Chain { site: site(), parent: label(parent) });
            }
            if one.parents[..k].contains(&parent) {
                return Err(VirtualSiteError::Repeated { site: site(), parent: label(parent) });
            }
        }
        one.check_kind(site)?;
    }
    let waters = topology.settles.iter().flat_map(|s| s.hydrogens.map(|h| [s.oxygen, h]));
    for atoms in topology.constraints.iter().map(|c| c.atoms).chain(waters) {
        if let Some(&atom) = atoms.iter().find(|&&atom| is_site.get(atom as usize) == Some(&true)) {
            return Err(VirtualSiteError::Constrained(atoms.map(label), label(atom)));
        }
    }
    let held = topology.position_restraints.iter().map(|held| held.atom);
    match held.into_iter().find(|&atom| is_site.get(atom as usize) == Some(&true)) {
        Some(atom) => Err(VirtualSiteError::Restrained(label(atom))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
