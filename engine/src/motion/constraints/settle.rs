//! SETTLE: rigid three-site water, solved analytically.
//!
//! Unconstrained positions are moved by forces along the bonds of the reference positions so that the triangle has its
//! exact shape: in the frame whose z axis is normal to the reference triangle, the out-of-plane angles φ and ψ follow from
//! the z coordinates, the in-plane angle θ from α sin θ + β cos θ = γ. Both hydrogens have the same mass.
//! Velocities: three impulses along the bonds make all relative velocities along bonds zero (a 3 × 3 linear system).
//!
//! Units: nm, ps, u. Reference: S. Miyamoto and P. A. Kollman, J. Comput. Chem. 13, 952 (1992),
//! DOI 10.1002/jcc.540130805.

use nalgebra::{Matrix3, SimdRealField, Vector3};

/// Shape and masses of one kind of rigid water.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Mass of the apex (oxygen), u.
    pub mass_o: f64,
    /// Mass of each of the other two (hydrogens), u.
    pub mass_h: f64,
    /// Distance from the centre of mass to the apex, nm.
    ra: f64,
    /// Distance from the centre of mass to the middle of the base, nm.
    rb: f64,
    /// Half the base, nm.
    rc: f64,
}

impl Triangle {
    /// From distances (nm) and masses (u); `None` if they make no triangle.
    pub fn new(d_oh: f64, d_hh: f64, mass_o: f64, mass_h: f64) -> Option<Self> {
        let rc = 0.5 * d_hh;
        let height = (d_oh * d_oh - rc * rc).sqrt();
        let ra = 2.0 * mass_h * height / (mass_o + 2.0 * mass_h);
        let valid = rc > 0.0 && height > 0.0 && ra > 0.0 && ra < height;
        valid.then_some(Self { mass_o, mass_h, ra, rb: height - ra, rc })
    }

    /// Distances apex–base and within the base (O–H, H–H), nm.
    pub fn lengths(&self) -> (f64, f64) {
        ((self.ra + self.rb).hypot(self.rc), 2.0 * self.rc)
    }

    /// Distances (nm) of the apex and of the middle of the base from the centre of mass, and half the base.
    pub fn radii(&self) -> [f64; 3] {
        [self.ra, self.rb, self.rc]
    }

    /// Displacements (nm) that forces along the reference bonds must make so that `moved` gets the shape of the triangle.
    ///
    /// `reference`: O, H, H before the step; `moved`: after a step without constraints. Displacements, not positions,
    /// because divided by the time step they are velocities: differences of large coordinates would lose digits.
    /// Not a number where no solution exists, because the atoms moved too far or are not finite.
    /// One water (`T` = `f64`) or four at once (`T` = [`simba::simd::WideF64x4`]): the latency of the roots is shared.
    pub fn settle<T>(&self, reference: [Vector3<T>; 3], moved: [Vector3<T>; 3]) -> [Vector3<T>; 3]
    where
        T: SimdRealField<Element = f64> + Copy,
    {
        let [mass_o, mass_h, ra, rb, rc] = [self.mass_o, self.mass_h, self.ra, self.rb, self.rc];
        let [ra_, rb_, rc_, one] = [ra, rb, rc, 1.0].map(T::splat);
        let cosine = |sine: T| ((one - sine) * (one + sine)).simd_sqrt();
        // Relative to the oxygen for precision; the centre of mass does not move.
        let [b0, c0] = [reference[1] - reference[0], reference[2] - reference[0]];
        let [b, c] = [moved[1] - moved[0], moved[2] - moved[0]];
        let centre = (b + c) * T::splat(mass_h / (mass_o + 2.0 * mass_h));
        let [a1, b1, c1] = [-centre, b - centre, c - centre];

        let z = unit(b0.cross(&c0));
        let x = unit(a1.cross(&z));
        let y = z.cross(&x);
        let (b0x, b0y, c0x, c0y) = (x.dot(&b0), y.dot(&b0), x.dot(&c0), y.dot(&c0));
        let (b1x, b1y, b1z) = (x.dot(&b1), y.dot(&b1), z.dot(&b1));
        let (c1x, c1y, c1z) = (x.dot(&c1), y.dot(&c1), z.dot(&c1));
        let a1z = z.dot(&a1);

        let sin_phi = a1z / ra_;
        let cos_phi = cosine(sin_phi);
        let sin_psi = (b1z - c1z) / (T::splat(2.0 * rc) * cos_phi);
        let a2y = ra_ * cos_phi;
        let b2x = -rc_ * cosine(sin_psi);
        let tilt = rc_ * sin_psi * sin_phi;
        let (b2y, c2y) = (-rb_ * cos_phi - tilt, -rb_ * cos_phi + tilt);

        let alpha = b2x * (b0x - c0x) + b0y * b2y + c0y * c2y;
        let beta = b2x * (c0y - b0y) + b0x * b2y + c0x * c2y;
        let gamma = b0x * b1y - b1x * b0y + c0x * c1y - c1x * c0y;
        let norm2 = alpha * alpha + beta * beta;
        let sin_theta = (alpha * gamma - beta * (norm2 - gamma * gamma).simd_sqrt()) / norm2;
        let cos_theta = cosine(sin_theta);

        let in_plane = |px: T, py: T, pz: T| {
            x * (px * cos_theta - py * sin_theta) + y * (px * sin_theta + py * cos_theta) + z * pz
        };
        [in_plane(T::splat(0.0), a2y, a1z) - a1, in_plane(b2x, b2y, b1z) - b1, in_plane(-b2x, c2y, c1z) - c1]
    }

    /// Remove the relative velocities along the three bonds of the triangle at `x`.
    ///
    /// Returns the new velocities and Σ r·(m Δv), the virial of the impulses. `None` if the atoms lie on a line.
    pub fn project(&self, x: [Vector3<f64>; 3], v: [Vector3<f64>; 3]) -> Option<([Vector3<f64>; 3], f64)> {
        const BONDS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];
        let inverse_mass = [1.0 / self.mass_o, 1.0 / self.mass_h, 1.0 / self.mass_h];
        let r = BONDS.map(|(i, j)| x[i] - x[j]);
        let speed = BONDS.map(|(i, j)| v[i] - v[j]);
        // How an impulse along bond l changes the relative velocity along bond k.
        let coupling = Matrix3::from_fn(|k, l| {
            let ((i, j), (a, b)) = (BONDS[k], BONDS[l]);
            let same = |p: usize, q: usize| if p == q { inverse_mass[p] } else { 0.0 };
            r[k].dot(&r[l]) * (same(i, a) - same(i, b) - same(j, a) + same(j, b))
        });
        let along = Vector3::from_fn(|k, _| -speed[k].dot(&r[k]));
        let impulse = coupling.cholesky()?.solve(&along);
        let mut new = v;
        for (k, (i, j)) in BONDS.into_iter().enumerate() {
            new[i] += impulse[k] * inverse_mass[i] * r[k];
            new[j] -= impulse[k] * inverse_mass[j] * r[k];
        }
        let virial = (0..3).map(|k| impulse[k] * r[k].norm_squared()).sum();
        Some((new, virial))
    }
}

/// The vector of length one along `a`.
fn unit<T: SimdRealField + Copy>(a: Vector3<T>) -> Vector3<T> {
    a * (T::one() / a.dot(&a).simd_sqrt())
}
