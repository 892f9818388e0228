// Vectors, dihedral angles with their gradients, and the surface of a correction map, in f64.
//
// Dihedral (IUPAC sign; Blondel & Karplus 1996, DOI 10.1002/(SICI)1096-987X(19960715)17:9<1132::AID-JCC5>3.0.CO;2-T):
// F = r_i − r_j, G = r_j − r_k, H = r_l − r_k, A = F × G, B = H × G, φ = atan2((B × A)·G/|G|, A·B),
// ∂φ/∂r_i = −|G| A/A², ∂φ/∂r_l = |G| B/B². Below sin² = 1e-24 of three consecutive atoms φ = 0 and the gradient is zero.
// Surface: cubic Hermite polynomials in both directions between grid points, n × n over (−π, π]². Units: nm, rad, kJ/mol.

const double PI = 3.14159265358979323846, COLLINEAR = 1e-24;

struct Vec {
    double x, y, z;
};

DEVICE Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
DEVICE Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
DEVICE Vec operator-(Vec a) { return {-a.x, -a.y, -a.z}; }
DEVICE Vec operator*(Vec a, double s) { return {a.x * s, a.y * s, a.z * s}; }
DEVICE double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
DEVICE Vec cross(Vec a, Vec b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

struct Dihedral {
    double phi;
    // ∂φ/∂r of the four atoms, rad/nm.
    Vec i, j, k, l;
};

DEVICE Dihedral dihedral(Vec ri, Vec rj, Vec rk, Vec rl) {
    Vec f = ri - rj, g = rj - rk, h = rl - rk, a = cross(f, g), b = cross(h, g);
    double a2 = dot(a, a), b2 = dot(b, b), g2 = dot(g, g);
    bool defined = a2 > COLLINEAR * dot(f, f) * g2 && b2 > COLLINEAR * dot(h, h) * g2;
    Dihedral d = {0.0, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    if (defined) {
        // One division for two, and a root for itself and what is divided by it: they are series of multiplications.
        double per_length = rsqrt(g2), length = g2 * per_length, per_g2 = per_length * per_length, per_both = length / (a2 * b2);
        d.phi = atan2(dot(cross(b, a), g) * per_length, dot(a, b));
        d.i = a * (-b2 * per_both);
        d.l = b * (a2 * per_both);
        Vec shared = d.i * (dot(f, g) * per_g2) + d.l * (dot(h, g) * per_g2);
        d.j = -d.i - shared;
        d.k = shared - d.l;
    }
    return d;
}

struct Surface {
    double energy, by_phi, by_psi;
};

// Cubic through y0, y1 with slopes m0, m1 at 0 and 1: value at t, and its derivative.
DEVICE double hermite(double y0, double y1, double m0, double m1, double t, double *slope) {
    double rise = y1 - y0, c2 = 3.0 * rise - 2.0 * m0 - m1, c3 = m0 + m1 - 2.0 * rise;
    *slope = m0 + t * (2.0 * c2 + t * 3.0 * c3);
    return y0 + t * (m0 + t * (c2 + t * c3));
}

// `nodes`: [V, V_u, V_v, V_uv] at each grid point, u and v in grid steps.
DEVICE Surface surface(const double *nodes, int n, double phi, double psi) {
    double steps = n / (2.0 * PI), u = (phi + PI) * steps, v = (psi + PI) * steps;
    double u0 = floor(u), v0 = floor(v), t = u - u0, s = v - v0;
    int i = (int)u0 % n, j = (int)v0 % n, next_j = (j + 1) % n;
    double value[2], value_v[2], slope[2], slope_v[2];
    for (int side = 0; side < 2; ++side) {
        const double *line = nodes + 4 * n * ((i + side) % n), *a = line + 4 * j, *b = line + 4 * next_j;
        value[side] = hermite(a[0], b[0], a[2], b[2], s, &value_v[side]);
        slope[side] = hermite(a[1], b[1], a[3], b[3], s, &slope_v[side]);
    }
    double by_u, unused;
    Surface w;
    w.energy = hermite(value[0], value[1], slope[0], slope[1], t, &by_u);
    double by_v = hermite(value_v[0], value_v[1], slope_v[0], slope_v[1], t, &unused);
    w.by_phi = by_u * steps;
    w.by_psi = by_v * steps;
    return w;
}
