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

// Integer coordinate of `u`, in edges, times 2^32 if that is b; 0 for what is not a number.
DEVICE UCOORD fixed_coordinate(double u) {
#if COORD_BITS == 32
    // The low half is the part behind the point of u / 2^32.
    return (UCOORD)__double2ll_rd(u);
#else
    u -= floor(u);
    // A tiny negative u rounds up to one; the comparison is false for NaN.
    return u < 1.0 ? (UCOORD)(u * QUANTA) : (UCOORD)0;
#endif
}

DEVICE bool is_finite(double x) { return fabs(x) < 1e300; }

// a − b to the nearest image, in units of `step` = L/2^b.
DEVICE real nearest(UCOORD a, UCOORD b, real step) { return (real)(COORD)(a - b) * step; }

// Numbers that the edges are given by.
const int EDGES = TRICLINIC ? 6 : 3;

// What a quantum of each coordinate is in nm: one lane finds one of them. All lanes of the warp must take part.
DEVICE void steps_of(const double *edges, real *step) {
    const int lane = threadIdx.x % 32;
    const real own = lane < EDGES ? (real)(edges[lane] * (1.0 / QUANTA)) : (real)0;
    for (int d = 0; d < EDGES; ++d) step[d] = __shfl_sync(ALL_LANES, own, d);
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

// How positions become coordinates: 1/L per axis, and in a box without right angles bₓ, cₓ, c_y; times and over 2^32 if coordinates have 32 bits.
struct Axes {
    double inverse[3], tilt[3];
};

// The same for all threads of a block, which must take part.
DEVICE const Axes &axes_of(const double *edges) {
    __shared__ Axes axes;
    const double scale = COORD_BITS == 32 ? QUANTA : 1.0;
    if (threadIdx.x < 3) axes.inverse[threadIdx.x] = scale / edges[threadIdx.x];
#if TRICLINIC
    if (threadIdx.x < 3) axes.tilt[threadIdx.x] = edges[3 + threadIdx.x] * (1.0 / scale);
#endif
    __syncthreads();
    return axes;
}

DEVICE Site site_at(const double *x, unsigned atom, const double *origin, const Axes &axes, UCOORD kind) {
    const double *r = x + 3ll * atom;
    Site s;
#if TRICLINIC
    double w = r[2] * axes.inverse[2], v = (r[1] - w * axes.tilt[2]) * axes.inverse[1];
    double u = (r[0] - v * axes.tilt[0] - w * axes.tilt[1]) * axes.inverse[0];
    s.x = fixed_coordinate(u);
    s.y = fixed_coordinate(v);
    s.z = fixed_coordinate(w);
#else
    s.x = fixed_coordinate((r[0] - origin[0]) * axes.inverse[0]);
    s.y = fixed_coordinate((r[1] - origin[1]) * axes.inverse[1]);
    s.z = fixed_coordinate((r[2] - origin[2]) * axes.inverse[2]);
#endif
    s.kind = kind;
    return s;
}

DEVICE bool position_is_finite(const double *x, unsigned atom) {
    const double *r = x + 3ll * atom;
    return is_finite(r[0]) && is_finite(r[1]) && is_finite(r[2]);
}
