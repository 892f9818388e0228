// Langevin dynamics in the middle of the step, the twin of langevin.rs of the CPU: what the bath does between the kick, which has left
// velocities u, and the constraints.
//
//   Δ = P[(a − 1) u + b ξ],  b = √(RT (1 − a²)/m),  x ← x + dt (u + ½Δ),  v = u + Δ,  work ½ Σ m Δ·(2u + Δ)
//
// ξ: numbers of seed, step and atom. P takes off what is along the fixed bonds r_k before the step: Δ_i += Σ_k ± p_k r_k/m_i with
// B M⁻¹ Bᵀ p = −B Δ, rows of B ± r_k. Rigid waters and stars are solved by elimination, other groups by conjugate gradients. It costs no
// memory of its own but for groups. Units: nm, ps, u; f64. Reference: DOI 10.1021/acs.jpca.9b02771.

// (a − 1) u + b ξ of one atom.
DEVICE Vec stir(const LeapArgs &a, unsigned atom, double mass, Vec u) {
    double noise[3];
    three_normals(a.bath.seed, LANGEVIN_STREAM, (unsigned long long)*a.step, atom, noise);
    return a.bath.lost * u + sqrt(a.bath.square / mass) * vec(noise[0], noise[1], noise[2]);
}

// The flight of one atom, in whose middle its velocity changes by Δ.
DEVICE void drift(const LeapArgs &a, Vec &r, Vec &u, Vec change, double mass, Sums &sums) {
    sums.work += mass * dot(change, 2.0 * u + change);
    r = r + a.dt * (u + 0.5 * change);
    u = u + change;
}

// Solves m p = p for a symmetric matrix that is positive, of which the lower triangle is given; it is overwritten.
template <int N> DEVICE void solve(double (&m)[N][N], double (&p)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++) {
        m[k][k] = 1.0 / m[k][k];
#pragma unroll
        for (int i = k + 1; i < N; i++) {
            const double part = m[i][k] * m[k][k];
#pragma unroll
            for (int j = k + 1; j <= i; j++) m[i][j] -= part * m[j][k];
            p[i] -= part * p[k];
        }
    }
#pragma unroll
    for (int k = N - 1; k >= 0; k--) {
#pragma unroll
        for (int i = k + 1; i < N; i++) p[k] -= m[i][k] * p[i];
        p[k] *= m[k][k];
    }
}

// P of a rigid water with the bonds b, c from O to both H.
DEVICE void project_water(const Triangle &t, Vec b, Vec c, Vec change[3]) {
    const double of_o = 1.0 / t.mass_o, of_h = 1.0 / t.mass_h;
    const Vec h = b - c;
    double m[3][3] = {}, p[3];
    m[0][0] = (of_o + of_h) * dot(b, b);
    m[1][0] = of_o * dot(c, b), m[1][1] = (of_o + of_h) * dot(c, c);
    m[2][0] = of_h * dot(h, b), m[2][1] = -of_h * dot(h, c), m[2][2] = 2.0 * of_h * dot(h, h);
    p[0] = dot(change[0] - change[1], b), p[1] = dot(change[0] - change[2], c), p[2] = dot(change[2] - change[1], h);
    solve(m, p);
    change[0] = change[0] - of_o * (p[0] * b + p[1] * c);
    change[1] = change[1] + of_h * (p[0] * b + p[2] * h);
    change[2] = change[2] + of_h * (p[1] * c - p[2] * h);
}

// A rigid water from positions r and velocities v after the kick, both changed in place.
DEVICE void bathe_water(const LeapArgs &a, uint4 atoms, Vec b, Vec c, Vec r[3], Vec v[3], Sums &sums) {
    const Triangle &t = a.units.kinds[atoms.w];
    const unsigned at[3] = {atoms.x, atoms.y, atoms.z};
    Vec change[3];
#pragma unroll
    for (int k = 0; k < 3; k++) change[k] = stir(a, at[k], k ? t.mass_h : t.mass_o, v[k]);
    project_water(t, b, c, change);
#pragma unroll
    for (int k = 0; k < 3; k++) drift(a, r[k], v[k], change[k], k ? t.mass_h : t.mass_o, sums);
}

// One atom of which x_out and v_out are to be found from its position before the step and its velocity after the kick, which v_out holds.
// Returns the new position.
DEVICE Vec leave(const LeapArgs &a, unsigned atom, Vec change, Sums &sums) {
    Vec r = load(a.x + 3LL * atom), u = load(a.v_out + 3LL * atom);
    drift(a, r, u, change, a.masses[atom], sums);
    store(a.x_out + 3LL * atom, r);
    store(a.v_out + 3LL * atom, u);
    return r;
}

// What the bath wants of an atom whose velocity after the kick v_out holds.
DEVICE Vec stir_left(const LeapArgs &a, unsigned atom) { return stir(a, atom, a.masses[atom], load(a.v_out + 3LL * atom)); }

// A free atom from its position before the step and its velocity after the kick, both changed in place.
DEVICE void bathe_atom(const LeapArgs &a, unsigned atom, double mass, Vec &r, Vec &u, Sums &sums) {
    drift(a, r, u, stir(a, atom, mass, u), mass, sums);
}

// The same of a star, the centre first, with its `reference` and weights.
template <int N>
DEVICE void bathe_star(const LeapArgs &a, const Star<N> &s, const unsigned (&atom)[N + 1], const double (&mass)[N + 1], Vec (&r)[N + 1],
                       Vec (&u)[N + 1], Sums &sums) {
    Vec change[N + 1];
    double m[N][N] = {}, p[N];
#pragma unroll
    for (int k = 0; k <= N; k++) change[k] = stir(a, atom[k], mass[k], u[k]);
#pragma unroll
    for (int k = 0; k < N; k++) {
#pragma unroll
        for (int l = 0; l <= k; l++) m[k][l] = s.weight * dot(s.reference[k], s.reference[l]);
        m[k][k] += s.weights[k] * dot(s.reference[k], s.reference[k]);
        p[k] = dot(change[0] - change[k + 1], s.reference[k]);
    }
    solve(m, p);
#pragma unroll
    for (int k = 0; k < N; k++) {
        change[0] = change[0] - (s.weight * p[k]) * s.reference[k];
        change[k + 1] = change[k + 1] + (s.weights[k] * p[k]) * s.reference[k];
    }
#pragma unroll
    for (int k = 0; k <= N; k++) drift(a, r[k], u[k], change[k], mass[k], sums);
}

// P of a group, one warp: `change` and `moved` have 3 numbers for each slot, `bonds` three rows of one for each bond. Every lane says whether
// the iteration ended well: the largest part that is left along bonds is 10⁻¹⁴ of what there was.
DEVICE bool project_group(const LeapArgs &a, uint4 group, const double *reference, double *change, double *moved, double *bonds) {
    const unsigned *starts = a.units.level_starts, *ends = a.units.ends;
    const double *weights = a.units.weights;
    const int lane = threadIdx.x % 32, first = starts[group.z], last = starts[group.z + group.w];
    double *residual = bonds, *direction = bonds + a.units.n_bonds, *product = bonds + 2LL * a.units.n_bonds;
    double square = 0.0;
    for (int k = first + lane; k < last; k += 32) {
        const long long i = 3LL * ends[2 * k], j = 3LL * ends[2 * k + 1];
        const double along = -dot(load(change + i) - load(change + j), load(reference + i) - load(reference + j));
        residual[k] = direction[k] = along;
        square += along * along;
    }
    square = warp_sum(square);
    const double start = square;
    for (int round = 0; square > 1e-28 * start && round < 10 * (last - first) + 100; round++) {
        for (int slot = group.x + lane; slot < (int)(group.x + group.y); slot += 32) store(moved + 3LL * slot, vec(0.0, 0.0, 0.0));
        for (int level = group.z; level < (int)(group.z + group.w); level++) {
            __syncwarp();
            for (int k = starts[level] + lane; k < (int)starts[level + 1]; k += 32) {
                const long long i = 3LL * ends[2 * k], j = 3LL * ends[2 * k + 1];
                const Vec r = load(reference + i) - load(reference + j);
                store(moved + i, load(moved + i) + (direction[k] * weights[i / 3]) * r);
                store(moved + j, load(moved + j) - (direction[k] * weights[j / 3]) * r);
            }
        }
        __syncwarp();
        double curvature = 0.0;
        for (int k = first + lane; k < last; k += 32) {
            const long long i = 3LL * ends[2 * k], j = 3LL * ends[2 * k + 1];
            product[k] = dot(load(moved + i) - load(moved + j), load(reference + i) - load(reference + j));
            curvature += direction[k] * product[k];
        }
        curvature = warp_sum(curvature);
        if (!(curvature > 0.0)) break;
        const double step = square / curvature;
        double next = 0.0;
        for (int k = first + lane; k < last; k += 32) {
            residual[k] -= step * product[k];
            next += residual[k] * residual[k];
        }
        next = warp_sum(next);
        for (int k = first + lane; k < last; k += 32) direction[k] = residual[k] + next / square * direction[k];
        for (int slot = group.x + lane; slot < (int)(group.x + group.y); slot += 32) {
            store(change + 3LL * slot, load(change + 3LL * slot) + step * load(moved + 3LL * slot));
        }
        square = next;
        __syncwarp();
    }
    // Rounding may stop the iteration a little early; the outcome counts, not the way.
    return square <= 1e-20 * start;
}

// A group, one warp; its `reference` is there and its moved positions are left, relative to `origin`.
DEVICE void bathe_group(const LeapArgs &a, uint4 group, const double *reference, double *moved, Vec origin, Sums &sums) {
    const unsigned *atoms = a.units.group_atoms, *ends = a.units.ends;
    double *change = a.units.scratch + 6LL * a.units.n_slots, *bonds = change + 3LL * a.units.n_slots;
    const int first = group.x + threadIdx.x % 32, end = group.x + group.y;
    for (int slot = first; slot < end; slot += 32) store(change + 3LL * slot, stir_left(a, atoms[slot]));
    __syncwarp();
    if (!project_group(a, group, reference, change, moved, bonds) && threadIdx.x % 32 == 0) {
        const unsigned k = a.units.level_starts[group.z], i = atoms[ends[2 * k]], j = atoms[ends[2 * k + 1]];
        fail(a.status, VELOCITY, min(i, j), max(i, j));
    }
    __syncwarp();
    for (int slot = first; slot < end; slot += 32) {
        store(moved + 3LL * slot, leave(a, atoms[slot], load(change + 3LL * slot), sums) - origin);
    }
}
