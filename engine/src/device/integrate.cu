// Leap-frog with constraints, one launch for a step: a thread takes a rigid water, a heavy atom with its fixed bonds, or a free
// atom, a warp any other group of fixed bonds. Twin of engine/integrator.rs and engine/constraints.
//
//   v ← α v − v_com (thermostat, centre of mass; the numbers of `coupling.cu`),  v ← v + dt F/m,  x ← x + dt v,
//   constraints move x by Δ and v by Δ/dt.
//
// Masses u, x nm, v nm/ps, f64, 3N in the order of atoms; forces kJ/mol/nm, fixed-point 2^32. Blocks leave their sums
// (`partials`, [quantity][block]) for `coupling.cu`; all sums have a fixed order. Rigid waters that follow each other in memory go
// through shared memory, so that loads are contiguous. A warp's group keeps its positions relative to its first atom in `scratch`.

#define MOVES_FROM_LISTS 1
#define CLEAR_FORCES 2

struct Sums {
    double value[QUANTITIES];
};

// All that a step does to the velocity of one atom before constraints; adds m v² from before the kick.
DEVICE Vec kick(Vec v, Vec force, double mass, double dt, const double *scaling, Sums &sums) {
    v = scaling[FACTOR] * v - load(scaling + DRIFT);
    sums.value[BEFORE] += mass * dot(v, v);
    return v + (dt / mass) * force;
}

DEVICE double as_force(long long fixed) { return (double)fixed * (1.0 / FIXED_ONE); }

DEVICE bool beyond(long long fixed) { return fixed > SUM_LIMIT || fixed < -SUM_LIMIT; }

// Force on one atom; beyond the range of the numbers something is wrong.
DEVICE Vec take_force(long long *forces, unsigned atom, int flags, unsigned long long *status) {
    long long *f = forces + 3LL * atom;
    if (beyond(f[0]) || beyond(f[1]) || beyond(f[2])) fail(status, NOT_FINITE, atom, atom);
    Vec force = vec(as_force(f[0]), as_force(f[1]), as_force(f[2]));
    if (flags & CLEAR_FORCES) f[0] = f[1] = f[2] = 0;
    return force;
}

// Adds the final velocity of an atom to the sums; returns its momentum.
DEVICE Vec add_motion(Vec v, double mass, Sums &sums) {
    Vec p = mass * v;
    sums.value[AFTER] += dot(p, v);
    sums.value[MOMENTUM] += p.x;
    sums.value[MOMENTUM + 1] += p.y;
    sums.value[MOMENTUM + 2] += p.z;
    return p;
}

DEVICE void add_move(Vec x, const double *listed, unsigned atom, const double *scaling, Sums &sums) {
    Vec d = x - scaling[LIST_SCALE] * load(listed + 3LL * atom);
    sums.value[MOVED] = fmax(sums.value[MOVED], dot(d, d));
}

// Sums of all threads to partials[quantity][block].
DEVICE void leave_sums(Sums sums, double *partials, int n_blocks) {
    __shared__ double of_warps[THREADS / 32][QUANTITIES];
    for (int distance = 16; distance > 0; distance >>= 1) {
#pragma unroll
        for (int q = 0; q < QUANTITIES; q++) {
            double other = __shfl_xor_sync(ALL_LANES, sums.value[q], distance);
            sums.value[q] = q == MOVED ? fmax(sums.value[q], other) : sums.value[q] + other;
        }
    }
    if (threadIdx.x % 32 == 0) {
#pragma unroll
        for (int q = 0; q < QUANTITIES; q++) of_warps[threadIdx.x / 32][q] = sums.value[q];
    }
    __syncthreads();
    if (threadIdx.x < QUANTITIES) {
        double sum = of_warps[0][threadIdx.x];
        for (int w = 1; w < THREADS / 32; w++) {
            double other = of_warps[w][threadIdx.x];
            sum = threadIdx.x == MOVED ? fmax(sum, other) : sum + other;
        }
        partials[(long long)threadIdx.x * n_blocks + blockIdx.x] = sum;
    }
}

// A rigid water from positions r and velocities v (changed in place) with forces f.
DEVICE void move_water(const Triangle &t, Vec r[3], Vec v[3], const Vec f[3], double dt, const double *scaling, Sums &sums,
                       unsigned long long *status, uint4 atoms) {
    Vec old_b = r[1] - r[0], old_c = r[2] - r[0];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        v[k] = kick(v[k], f[k], k ? t.mass_h : t.mass_o, dt, scaling, sums);
        r[k] = r[k] + dt * v[k];
    }
    Vec shift[3];
    settle(t, old_b, old_c, r[1] - r[0], r[2] - r[0], shift[0], shift[1], shift[2]);
    double virial = t.mass_h * (dot(old_b, shift[1]) + dot(old_c, shift[2]));
    if (!is_number(virial)) fail(status, SETTLE, atoms.x, atoms.x);
    sums.value[CONSTRAINT] += virial;
    Vec p = vec(0.0, 0.0, 0.0);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        r[k] = r[k] + shift[k];
        v[k] = v[k] + (1.0 / dt) * shift[k];
        p = p + add_motion(v[k], k ? t.mass_h : t.mass_o, sums);
    }
    sums.value[TRANSLATION] += dot(p, p) / (t.mass_o + 2.0 * t.mass_h);
}

// Waters whose atoms follow each other from `base`, through shared memory: positions, velocities, forces of the block.
DEVICE void waters_in_a_row(double *stage, unsigned base, int count, uint4 atoms, const Triangle *kinds, const double *x,
                            const double *v, double *x_out, double *v_out, long long *forces, const double *scaling,
                            const double *listed, int flags, double dt, Sums &sums, unsigned long long *status) {
    double *at = stage, *speed = stage + 9 * THREADS, *push = stage + 18 * THREADS;
    const long long first = 3LL * base;
    for (int i = threadIdx.x; i < 9 * count; i += THREADS) {
        at[i] = x[first + i];
        speed[i] = v[first + i];
        long long f = forces[first + i];
        if (beyond(f)) fail(status, NOT_FINITE, base + i / 3, base + i / 3);
        if (flags & CLEAR_FORCES) forces[first + i] = 0;
        push[i] = as_force(f);
    }
    __syncthreads();
    if ((int)threadIdx.x < count) {
        Vec r[3], u[3], f[3];
#pragma unroll
        for (int k = 0; k < 3; k++) {
            int i = 9 * threadIdx.x + 3 * k;
            r[k] = load(at + i), u[k] = load(speed + i), f[k] = load(push + i);
        }
        move_water(kinds[atoms.w], r, u, f, dt, scaling, sums, status, atoms);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            int i = 9 * threadIdx.x + 3 * k;
            store(at + i, r[k]), store(speed + i, u[k]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 9 * count; i += THREADS) {
        x_out[first + i] = at[i];
        v_out[first + i] = speed[i];
    }
    if (flags & MOVES_FROM_LISTS) {
        for (int i = threadIdx.x; i < 3 * count; i += THREADS) add_move(load(at + 3 * i), listed, base + i, scaling, sums);
    }
}

// The free flight of one atom; positions and velocities are left in x_out, v_out. Returns the new position.
DEVICE Vec fly(unsigned atom, Vec position, const double *v, double *x_out, double *v_out, long long *forces,
               const double *masses, const double *scaling, int flags, double dt, Sums &sums, unsigned long long *status) {
    Vec u = kick(load(v + 3LL * atom), take_force(forces, atom, flags, status), masses[atom], dt, scaling, sums);
    Vec r = position + dt * u;
    store(x_out + 3LL * atom, r);
    store(v_out + 3LL * atom, u);
    return r;
}

// Moves an atom that has flown by what constraints want, Δ; returns its momentum.
DEVICE Vec correct(unsigned atom, Vec shift, double *x_out, double *v_out, const double *masses, const double *listed,
                   const double *scaling, int flags, double dt, Sums &sums) {
    Vec r = load(x_out + 3LL * atom) + shift;
    Vec u = load(v_out + 3LL * atom) + (1.0 / dt) * shift;
    store(x_out + 3LL * atom, r);
    store(v_out + 3LL * atom, u);
    if (flags & MOVES_FROM_LISTS) add_move(r, listed, atom, scaling, sums);
    return add_motion(u, masses[atom], sums);
}

KERNEL __launch_bounds__(THREADS) void leap(
    const uint4 *blocks, const uint4 *waters, const Triangle *kinds, const unsigned *stars, const double *star_numbers, int n_stars,
    const uint4 *groups, const unsigned *group_atoms, const unsigned *level_starts, const unsigned *ends, const double *wanted,
    const double *weights, double *scratch, int n_slots, const unsigned *free_atoms, const double *masses, const double *x,
    const double *v, double *x_out, double *v_out, long long *forces, const double *scaling, const double *listed, int flags,
    double *partials, unsigned long long *status, double dt, double tolerance) {
    SHARED(double, stage);
    if (status[STOPPED]) return;
    const uint4 block = blocks[blockIdx.x];
    const int count = block.z;
    const bool mine = (int)threadIdx.x < count;
    const unsigned unit_index = block.y + threadIdx.x;
    Sums sums = {};
    if (block.x == WATERS) {
        uint4 atoms = make_uint4(0, 0, 0, 0);
        if (mine) atoms = waters[unit_index];
        if (block.w != SCATTERED) {
            waters_in_a_row(stage, block.w, count, atoms, kinds, x, v, x_out, v_out, forces, scaling, listed, flags, dt, sums, status);
        } else if (mine) {
            const unsigned at[3] = {atoms.x, atoms.y, atoms.z};
            Vec r[3], u[3], f[3];
            for (int k = 0; k < 3; k++) {
                r[k] = load(x + 3LL * at[k]), u[k] = load(v + 3LL * at[k]);
                f[k] = take_force(forces, at[k], flags, status);
            }
            move_water(kinds[atoms.w], r, u, f, dt, scaling, sums, status, atoms);
            for (int k = 0; k < 3; k++) {
                store(x_out + 3LL * at[k], r[k]), store(v_out + 3LL * at[k], u[k]);
                if (flags & MOVES_FROM_LISTS) add_move(r[k], listed, at[k], scaling, sums);
            }
        }
    } else if (block.x == STARS && mine) {
        Star s;
        const unsigned centre = stars[unit_index];
        s.leaves = stars[n_stars + unit_index];
        s.weight = star_numbers[unit_index];
        unsigned leaf[LEAVES];
        const Vec origin = load(x + 3LL * centre);
        s.centre = fly(centre, origin, v, x_out, v_out, forces, masses, scaling, flags, dt, sums, status) - origin;
#pragma unroll
        for (int k = 0; k < LEAVES; k++) {
            if (k >= s.leaves) continue;
            leaf[k] = stars[(2 + k) * n_stars + unit_index];
            s.weights[k] = star_numbers[(1 + k) * n_stars + unit_index];
            s.wanted[k] = star_numbers[(1 + LEAVES + k) * n_stars + unit_index];
            Vec old = load(x + 3LL * leaf[k]);
            s.reference[k] = old - origin;
            s.leaf[k] = fly(leaf[k], old, v, x_out, v_out, forces, masses, scaling, flags, dt, sums, status) - origin;
        }
        int stuck = shake_star(s, tolerance, sums.value[CONSTRAINT]);
        Vec p = correct(centre, s.centre - (load(x_out + 3LL * centre) - origin), x_out, v_out, masses, listed, scaling, flags, dt, sums);
        double mass = masses[centre];
#pragma unroll
        for (int k = 0; k < LEAVES; k++) {
            if (k >= s.leaves) continue;
            if (k == stuck) fail(status, SHAKE, min(centre, leaf[k]), max(centre, leaf[k]));
            Vec shift = s.leaf[k] - (load(x_out + 3LL * leaf[k]) - origin);
            p = p + correct(leaf[k], shift, x_out, v_out, masses, listed, scaling, flags, dt, sums);
            mass += masses[leaf[k]];
        }
        sums.value[TRANSLATION] += dot(p, p) / mass;
    } else if (block.x == GROUPS && (int)(threadIdx.x / 32) < count) {
        const uint4 group = groups[block.y + threadIdx.x / 32];
        const int lane = threadIdx.x % 32, end = group.x + group.y;
        double *moved = scratch, *reference = scratch + 3LL * n_slots;
        const Vec origin = load(x + 3LL * group_atoms[group.x]);
        __syncwarp();
        for (int slot = group.x + lane; slot < end; slot += 32) {
            const unsigned atom = group_atoms[slot];
            Vec old = load(x + 3LL * atom);
            store(reference + 3LL * slot, old - origin);
            Vec r = fly(atom, old, v, x_out, v_out, forces, masses, scaling, flags, dt, sums, status);
            store(moved + 3LL * slot, r - origin);
        }
        __syncwarp();
        int stuck = shake_group(group.z, group.w, level_starts, ends, wanted, weights, reference, moved, tolerance,
                                sums.value[CONSTRAINT]);
        if (stuck >= 0 && lane == 0) {
            const unsigned a = group_atoms[ends[2 * stuck]], b = group_atoms[ends[2 * stuck + 1]];
            fail(status, SHAKE, min(a, b), max(a, b));
        }
        __syncwarp();
        Vec p = vec(0.0, 0.0, 0.0);
        double mass = 0.0;
        for (int slot = group.x + lane; slot < end; slot += 32) {
            const unsigned atom = group_atoms[slot];
            Vec shift = load(moved + 3LL * slot) - (load(x_out + 3LL * atom) - origin);
            p = p + correct(atom, shift, x_out, v_out, masses, listed, scaling, flags, dt, sums);
            mass += masses[atom];
        }
        p = vec(warp_sum(p.x), warp_sum(p.y), warp_sum(p.z));
        mass = warp_sum(mass);
        if (lane == 0) sums.value[TRANSLATION] += dot(p, p) / mass;
    } else if (block.x == FREE && mine) {
        const unsigned atom = free_atoms[unit_index];
        Vec r = fly(atom, load(x + 3LL * atom), v, x_out, v_out, forces, masses, scaling, flags, dt, sums, status);
        if (!is_number(r.x + r.y + r.z)) fail(status, NOT_FINITE, atom, atom);
        Vec p = correct(atom, vec(0.0, 0.0, 0.0), x_out, v_out, masses, listed, scaling, flags, dt, sums);
        sums.value[TRANSLATION] += dot(p, p) / masses[atom];
    }
    leave_sums(sums, partials, gridDim.x);
}

// Barostat: lengths by μ, velocities by 1/μ; free atoms one by one, groups as rigid bodies. `reference`: positions that restraints
// hold, 3 doubles each, by the blocks after those of units. Nothing to do while μ = 1.
KERNEL __launch_bounds__(THREADS) void rescale(const uint4 *blocks, int n_blocks, const uint4 *waters, const unsigned *stars,
                                               int n_stars, const uint4 *groups, const unsigned *group_atoms,
                                               const unsigned *free_atoms, const double *masses, double *x, double *v,
                                               const double *state, double *reference, int n_reference) {
    const double mu = state[MU];
    if (mu == 1.0) return;
    if ((int)blockIdx.x >= n_blocks) {
        int i = (blockIdx.x - n_blocks) * THREADS + threadIdx.x;
        if (i < n_reference) reference[i] *= mu;
        return;
    }
    const uint4 block = blocks[blockIdx.x];
    // One thread for a unit of the first three kinds, which are small but for long chains.
    const unsigned unit_index = block.y + threadIdx.x;
    if (threadIdx.x >= block.z) return;
    if (block.x == FREE) {
        const long long i = 3LL * free_atoms[unit_index];
        store(x + i, mu * load(x + i));
        store(v + i, vec(v[i] / mu, v[i + 1] / mu, v[i + 2] / mu));
        return;
    }
    unsigned few[LEAVES + 1];
    const unsigned *atoms = few;
    int n = 0;
    if (block.x == WATERS) {
        const uint4 water = waters[unit_index];
        few[0] = water.x, few[1] = water.y, few[2] = water.z;
        n = 3;
    } else if (block.x == STARS) {
        n = 1 + stars[n_stars + unit_index];
        few[0] = stars[unit_index];
        for (int k = 1; k < n; k++) few[k] = stars[(1 + k) * n_stars + unit_index];
    } else {
        atoms = group_atoms + groups[unit_index].x;
        n = groups[unit_index].y;
    }
    Vec centre = vec(0.0, 0.0, 0.0), speed = centre;
    double mass = 0.0;
    for (int k = 0; k < n; k++) {
        const double m = masses[atoms[k]];
        centre = centre + m * load(x + 3LL * atoms[k]);
        speed = speed + m * load(v + 3LL * atoms[k]);
        mass += m;
    }
    centre = ((mu - 1.0) / mass) * centre;
    speed = ((1.0 / mu - 1.0) / mass) * speed;
    for (int k = 0; k < n; k++) {
        const long long i = 3LL * atoms[k];
        store(x + i, load(x + i) + centre);
        store(v + i, load(v + i) + speed);
    }
}
