// Sites of the Lennard-Jones term: fixed-point fractional coordinates of the active atoms, in the order of the cells.
//
// u = 2^b frac((x − origin)/L) per axis, b = 32 (REAL = float) or 64 (REAL = double), so that the difference of two
// coordinates as signed integers, times L/2^b, is the distance to the nearest image: no shifts, no branches. The quantum is
// L/2^32 ≈ 5e-12 nm for L = 20 nm; a difference is rounded to `real` only after the subtraction, so that close pairs keep
// the full relative accuracy of `real` wherever they are in the box. Scaling of the box by a barostat leaves u as it is.
// Open systems use a frame around all atoms with so much margin that images never meet.
// In a box without right angles (TRICLINIC) the axes are those of its edges, and differences become lengths by the matrix of the edges. What is
// found is the image whose coordinates along the edges are within one half: the nearest one if it lies within half the distance of
// opposite faces. Edges are aₓ, b_y, c_z and, if TRICLINIC, bₓ, cₓ, c_y.
// Units: nm, kJ/mol. Defines: TRICLINIC (0, 1), COORD, UCOORD (signed and unsigned integer of b bits), COORD_BITS = b, QUANTA = 2^b.

struct alignas(16) Site {
    UCOORD x, y, z;
    // Class of Lennard-Jones parameters.
    UCOORD kind;
};

// Integer coordinate of position `x` in a frame of edge 1/`inverse`; 0 for what is not finite.
DEVICE UCOORD fixed_coordinate(double x, double origin, double inverse) {
    double s = (x - origin) * inverse;
    s -= floor(s);
    // A tiny negative s rounds up to one; the comparison is false for NaN.
    return s < 1.0 ? (UCOORD)(s * QUANTA) : (UCOORD)0;
}

DEVICE bool is_finite(double x) { return fabs(x) < 1e300; }

// a − b to the nearest image, in units of `step` = L/2^b.
DEVICE real nearest(UCOORD a, UCOORD b, real step) { return (real)(COORD)(a - b) * step; }

// Numbers that the edges are given by.
const int EDGES = TRICLINIC ? 6 : 3;

// What a quantum of each coordinate is in nm.
DEVICE void steps_of(const double *edges, real *step) {
    for (int d = 0; d < EDGES; ++d) step[d] = (real)(edges[d] * (1.0 / QUANTA));
}

struct Difference {
    real x, y, z;
};

// a − b to the nearest image, nm.
DEVICE Difference difference(const Site &a, const Site &b, const real *step) {
#if TRICLINIC
    real u = (real)(COORD)(a.x - b.x), v = (real)(COORD)(a.y - b.y), w = (real)(COORD)(a.z - b.z);
    return {u * step[0] + v * step[3] + w * step[4], v * step[1] + w * step[5], w * step[2]};
#else
    return {nearest(a.x, b.x, step[0]), nearest(a.y, b.y, step[1]), nearest(a.z, b.z, step[2])};
#endif
}

DEVICE real distance_squared(const Site &a, const Site &b, const real *step) {
    Difference d = difference(a, b, step);
    return d.x * d.x + d.y * d.y + d.z * d.z;
}

DEVICE Site site_at(const double *x, unsigned atom, const double *origin, const double *inverse, const double *edges, UCOORD kind) {
    const double *r = x + 3ll * atom;
    Site s;
#if TRICLINIC
    double w = r[2] * inverse[2], v = (r[1] - w * edges[5]) * inverse[1], u = (r[0] - v * edges[3] - w * edges[4]) * inverse[0];
    s.x = fixed_coordinate(u, 0.0, 1.0);
    s.y = fixed_coordinate(v, 0.0, 1.0);
    s.z = fixed_coordinate(w, 0.0, 1.0);
#else
    s.x = fixed_coordinate(r[0], origin[0], inverse[0]);
    s.y = fixed_coordinate(r[1], origin[1], inverse[1]);
    s.z = fixed_coordinate(r[2], origin[2], inverse[2]);
#endif
    s.kind = kind;
    return s;
}

// 1/L per axis.
struct Inverse {
    double of[3];
};
DEVICE Inverse inverse_of(const double *edges) { return {{1.0 / edges[0], 1.0 / edges[1], 1.0 / edges[2]}}; }

DEVICE bool position_is_finite(const double *x, unsigned atom) {
    const double *r = x + 3ll * atom;
    return is_finite(r[0]) && is_finite(r[1]) && is_finite(r[2]);
}
