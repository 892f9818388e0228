// Virtual sites: where their parents have them, and their forces on the parents; one thread for a site, f64. Twin of virtual_sites.rs.
//
// rows: {site, first of its parents, number of parents, kind}; kinds: {what it is, first of its numbers}. Numbers of a kind:
//   AVERAGE       w[n];                               s = r_0 + Σ w_k (r_k − r_0)
//   OUT_OF_PLANE  a, b, c;                            s = r_0 + a r_01 + b r_02 + c r_01 × r_02
//   LOCAL         p_x, p_y, p_z, w°[n], w^x[n], w^y[n];  s = o + p_x e_x + p_y e_y + p_z e_z
// Shares of forces are rounded to fixed-point numbers; the first parent takes what is left, so that no momentum is lost. A site beyond
// SUM_LIMIT gives its force to the first parent as it is, where the motion finds it. Units: nm, kJ/mol/nm, kJ/mol. Needs geometry.cuh.

enum { AVERAGE, OUT_OF_PLANE, LOCAL };

struct Site {
    unsigned site, n;
    int what;
    const unsigned *parents;
    const double *numbers;
    const double *x;
};

DEVICE Site site_of(const VirtualSiteArgs &a, int index) {
    const uint4 row = a.rows[index];
    const uint2 kind = a.kinds[row.w];
    return {row.x, row.z, (int)kind.x, a.parents + row.y, a.numbers + kind.y, a.x};
}

DEVICE Vec at(const Site &s, unsigned parent) {
    const double *r = s.x + 3ll * s.parents[parent];
    return {r[0], r[1], r[2]};
}

// Σ w_k (r_k − r_0)
DEVICE Vec weighted(const Site &s, const double *weights) {
    const Vec first = at(s, 0);
    Vec sum = {0.0, 0.0, 0.0};
    for (unsigned k = 1; k < s.n; k++) sum = sum + (at(s, k) - first) * weights[k];
    return sum;
}

struct Axes {
    Vec x, z, sum_x, sum_y;
    double inverse_x, inverse_z;
};

DEVICE Axes axes_of(const Site &s) {
    Axes a;
    a.sum_x = weighted(s, s.numbers + 3 + s.n);
    a.sum_y = weighted(s, s.numbers + 3 + 2 * s.n);
    a.inverse_x = 1.0 / sqrt(dot(a.sum_x, a.sum_x));
    a.x = a.sum_x * a.inverse_x;
    const Vec normal = cross(a.sum_x, a.sum_y);
    // Where the site is on the first axis the second one may be none at all.
    const bool needed = s.numbers[1] != 0.0 || s.numbers[2] != 0.0;
    a.inverse_z = needed ? 1.0 / sqrt(dot(normal, normal)) : 0.0;
    a.z = normal * a.inverse_z;
    return a;
}

DEVICE Vec place_in(const Site &s, const Axes &a) {
    return a.x * s.numbers[0] + cross(a.z, a.x) * s.numbers[1] + a.z * s.numbers[2];
}

KERNEL __launch_bounds__(THREADS) void place_virtual_sites(const __grid_constant__ VirtualSiteArgs a) {
    const int index = blockIdx.x * THREADS + threadIdx.x;
    if (index >= a.n_sites) return;
    const Site s = site_of(a, index);
    Vec place = at(s, 0);
    if (s.what == AVERAGE) {
        place = place + weighted(s, s.numbers);
    } else if (s.what == OUT_OF_PLANE) {
        const Vec r1 = at(s, 1) - place, r2 = at(s, 2) - place;
        place = place + r1 * s.numbers[0] + r2 * s.numbers[1] + cross(r1, r2) * s.numbers[2];
    } else {
        place = place + weighted(s, s.numbers + 3) + place_in(s, axes_of(s));
    }
    double *out = a.placed + 3ll * s.site;
    out[0] = place.x, out[1] = place.y, out[2] = place.z;
}

// What of a force is left, in fixed-point numbers.
struct Left {
    long long x, y, z;
};

DEVICE void give(const VirtualSiteArgs &a, const Site &s, unsigned parent, Vec part, Left &left) {
    long long *f = a.forces + 3ll * s.parents[parent];
    const long long x = to_fixed(part.x, FIXED_ONE), y = to_fixed(part.y, FIXED_ONE), z = to_fixed(part.z, FIXED_ONE);
    add_whole(f, x), add_whole(f + 1, y), add_whole(f + 2, z);
    left.x -= x, left.y -= y, left.z -= z;
}

DEVICE bool within(long long f) { return f <= SUM_LIMIT && f >= -SUM_LIMIT; }

// Moves the force of a site to its parents; returns the change of the virial.
DEVICE double spread(const VirtualSiteArgs &a, const Site &s) {
    long long *own = a.forces + 3ll * s.site;
    Left left = {own[0], own[1], own[2]};
    own[0] = own[1] = own[2] = 0;
    const Vec force = Vec{(double)left.x, (double)left.y, (double)left.z} * (1.0 / FIXED_ONE);
    double change = 0.0;
    if (within(left.x) && within(left.y) && within(left.z)) {
        if (s.what == AVERAGE) {
            for (unsigned k = 1; k < s.n; k++) give(a, s, k, force * s.numbers[k], left);
        } else if (s.what == OUT_OF_PLANE) {
            const Vec first = at(s, 0), r1 = at(s, 1) - first, r2 = at(s, 2) - first;
            const double c = s.numbers[2];
            give(a, s, 1, force * s.numbers[0] + cross(r2, force) * c, left);
            give(a, s, 2, force * s.numbers[1] + cross(force, r1) * c, left);
            change = c * dot(cross(r1, r2), force);
        } else {
            const Axes axes = axes_of(s);
            const double px = s.numbers[0], py = s.numbers[1], pz = s.numbers[2];
            const Vec by_axis = force * px + cross(force, axes.z) * py;
            const Vec by_normal = force * pz + cross(axes.x, force) * py;
            const Vec gz = (by_normal - axes.z * dot(axes.z, by_normal)) * axes.inverse_z;
            const Vec gx = (by_axis - axes.x * dot(axes.x, by_axis)) * axes.inverse_x + cross(axes.sum_y, gz);
            const Vec gy = cross(gz, axes.sum_x);
            const double *origin = s.numbers + 3, *wx = origin + s.n, *wy = wx + s.n;
            for (unsigned k = 1; k < s.n; k++) give(a, s, k, force * origin[k] + gx * wx[k] + gy * wy[k], left);
            change = -dot(place_in(s, axes), force);
        }
    }
    long long *first = a.forces + 3ll * s.parents[0];
    add_whole(first, left.x), add_whole(first + 1, left.y), add_whole(first + 2, left.z);
    return change;
}

KERNEL __launch_bounds__(THREADS) void spread_virtual_sites(const __grid_constant__ VirtualSiteArgs a) {
    const int index = blockIdx.x * THREADS + threadIdx.x;
    if (index < a.n_sites) spread(a, site_of(a, index));
}

KERNEL __launch_bounds__(THREADS) void spread_virtual_sites_energy(const __grid_constant__ VirtualSiteArgs a) {
    __shared__ double scratch[32];
    const int index = blockIdx.x * THREADS + threadIdx.x;
    const double change = block_sum(index < a.n_sites ? spread(a, site_of(a, index)) : 0.0, scratch);
    if (threadIdx.x == 0) add_energy(a.energies + SLOT_VIRIAL, change);
}
