//! The FMM with soft box faces: an energy that stays smooth while particles go from box to box.
//!
//! Truncated expansions give a particle another energy when it changes its box. Here a particle within `width` of a face belongs to the boxes
//! on both sides, with weights that go smoothly from one to the other (their derivative is continuous, and so is the force):
//!
//!   w(t) = (2 + 3t − t³)/4,   t = distance inside the face over the width, in [−1, 1],
//!
//! and their product over the axes. It becomes up to eight parts with charges w q at one place, each in its own box, that do not interact with
//! each other. The energy is ½ Σ q w φ, and the field holds the gradient of the weights. Nothing has to stay frozen, because boxes are assigned
//! anew in every evaluation. The price is (1 + 2 width)³, with `width` in box edges, times as many particles in all sums, and the sort in every step.
//! Method: D. S. Shamshirgar, R. Yokota, A.-K. Tornberg, B. Hess, J. Chem. Phys. 151, 234113 (2019), doi:10.1063/1.5122859; the treatment of
//! periodic images by parts that are assigned to the neighbouring box, but keep their place, is ours.

use kernels::Real;

use crate::FmmError;
use crate::checks::{at_one_point, check_length};
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::potentials::Potentials;
use crate::solver::Fmm;
use crate::solver::settings::Settings;

/// An [`Fmm`] whose boxes have soft faces.
pub struct Regularised<T: Real> {
    fmm: Fmm<T>,
    width: f64,
    parts: Vec<Part>,
    /// First part of each particle, and the end.
    starts: Vec<u32>,
    homes: Vec<[f64; 3]>,
    positions: Vec<[f64; 3]>,
    charges: Vec<f64>,
    out: Potentials,
}

/// A part of a particle: weight and its gradient.
#[derive(Clone, Copy, Debug)]
struct Part {
    weight: f64,
    gradient: [f64; 3],
}

/// One side of the nearest face along an axis: where a particle would lie in the middle of that box, in box edges from its place; weight, and
/// its derivative in box edges.
#[derive(Clone, Copy)]
struct Side {
    shift: f64,
    weight: f64,
    slope: f64,
}

impl<T: Real> Regularised<T> {
    /// Faces are soft over `width` leaf box edges on both sides, above 0 and at most ½.
    ///
    /// # Errors
    /// A width out of range; a boundary that is open in some direction, where boxes follow the particles; as [`Fmm::new`].
    pub fn new(boundary: Boundary, settings: Settings, width: f64) -> Result<Self, FmmError> {
        if boundary.periods().len() != 3 {
            return Err(FmmError::SoftFaces { periods: boundary.periods().len() });
        }
        if !(width > 0.0 && width <= 0.5) {
            return Err(FmmError::Width { width });
        }
        Ok(Self {
            fmm: Fmm::new(boundary, settings)?,
            width,
            parts: Vec::new(),
            starts: Vec::new(),
            homes: Vec::new(),
            positions: Vec::new(),
            charges: Vec::new(),
            out: Potentials::default(),
        })
    }

    /// The solver of the parts.
    pub fn fmm(&self) -> &Fmm<T> {
        &self.fmm
    }

    /// Change the periods; see [`Fmm::set_boundary`].
    ///
    /// # Errors
    /// As [`Fmm::set_boundary`].
    pub fn set_boundary(&mut self, boundary: Boundary) -> Result<(), FmmError> {
        self.fmm.set_boundary(boundary)
    }

    /// Potential and field at every particle; returns the energy.
    ///
    /// An excluded pair is skipped where its parts, up to `width` outside of their boxes, lie in near boxes: two boxes apart they may be where the particles are less than one apart.
    ///
    /// # Errors
    /// As [`Fmm::assign`] and [`Fmm::evaluate`].
    pub fn evaluate(
        &mut self,
        positions: &[[f64; 3]],
        charges: &[f64],
        exclusions: &Exclusions,
        out: &mut Potentials,
    ) -> Result<f64, FmmError> {
        let n = positions.len();
        check_length("charges", n, charges.len())?;
        check_length("exclusions", n, exclusions.n_particles())?;
        self.split(positions, charges)?;
        let exclusions = self.between_parts(n, exclusions)?;
        // Errors name particles, not their parts.
        let (starts, fmm) = (&self.starts, &mut self.fmm);
        let of_part = |part: usize| starts.partition_point(|start| *start as usize <= part) - 1;
        fmm.assign_with_homes((&self.homes, &self.positions), &exclusions).map_err(|error| error.renamed(of_part))?;
        let summed = fmm.evaluate(&self.positions, &self.charges, &mut self.out);
        summed.map_err(|error| match error.renamed(of_part) {
            // All parts of both particles have results that are not finite.
            FmmError::Coincident { particle, .. } => {
                let others = (0..n).filter(|i| *i != particle);
                let coincident = at_one_point(&fmm.boundary(), positions, particle, others);
                coincident.unwrap_or(FmmError::Overflow { particle })
            }
            other => other,
        })?;
        out.potential.resize(n, 0.0);
        out.field.resize(n, [0.0; 3]);
        for i in 0..n {
            let (mut phi, mut field) = (0.0, [0.0; 3]);
            for k in self.starts[i] as usize..self.starts[i + 1] as usize {
                let (part, own) = (self.parts[k], self.out.potential[k]);
                phi += part.weight * own;
                for ((sum, e), slope) in field.iter_mut().zip(self.out.field[k]).zip(part.gradient) {
                    *sum += part.weight * e - slope * own;
                }
            }
            (out.potential[i], out.field[i]) = (phi, field);
        }
        Ok(out.energy(charges))
    }

    /// Parts of all particles.
    fn split(&mut self, positions: &[[f64; 3]], charges: &[f64]) -> Result<(), FmmError> {
        let geometry = self.fmm.geometry(positions)?;
        self.parts.clear();
        self.homes.clear();
        self.positions.clear();
        self.charges.clear();
        self.starts.clear();
        self.starts.push(0);
        for (p, q) in positions.iter().zip(charges) {
            let sides = geometry.in_boxes(*p).map(|u| sides(u, self.width));
            for x in sides[0].iter().flatten() {
                for y in sides[1].iter().flatten() {
                    for z in sides[2].iter().flatten() {
                        let weight = x.weight * y.weight * z.weight;
                        let slope = [
                            x.slope * y.weight * z.weight,
                            x.weight * y.slope * z.weight,
                            x.weight * y.weight * z.slope,
                        ];
                        let shift = geometry.vector([x.shift, y.shift, z.shift]);
                        self.parts.push(Part { weight, gradient: geometry.gradient(slope) });
                        self.homes.push([0, 1, 2].map(|a| p[a] + shift[a]));
                        self.positions.push(*p);
                        self.charges.push(weight * q);
                    }
                }
            }
            self.starts.push(self.parts.len() as u32);
        }
        Ok(())
    }

    /// Parts of one particle, and of excluded pairs, do not interact.
    fn between_parts(&self, n: usize, exclusions: &Exclusions) -> Result<Exclusions, FmmError> {
        let parts = |i: usize| self.starts[i]..self.starts[i + 1];
        let pairs = (0..n).flat_map(|i| {
            let own = parts(i).flat_map(move |a| (self.starts[i]..a).map(move |b| [a, b]));
            let partners = exclusions.partners(i).iter().map(|j| *j as usize).filter(move |j| *j < i);
            own.chain(partners.flat_map(move |j| parts(i).flat_map(move |a| parts(j).map(move |b| [a, b]))))
        });
        let total = self.parts.len();
        Exclusions::from_pairs(total, pairs).map_err(|_| FmmError::Length { what: "parts", expected: n, found: total })
    }
}

/// The boxes that share a particle at `u` along one axis, in box edges.
fn sides(u: f64, width: f64) -> [Option<Side>; 2] {
    let (face, middle) = (u.round(), u.floor() + 0.5);
    let t = (u - face) / width;
    if t.abs() >= 1.0 {
        return [Some(Side { shift: middle - u, weight: 1.0, slope: 0.0 }), None];
    }
    let (rise, slope) = (0.25 * (2.0 + 3.0 * t - t * t * t), 0.75 * (1.0 - t * t) / width);
    [
        Some(Side { shift: face - 0.5 - u, weight: 1.0 - rise, slope: -slope }),
        Some(Side { shift: face + 0.5 - u, weight: rise, slope }),
    ]
}
