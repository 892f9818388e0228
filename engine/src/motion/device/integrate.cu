// Leap-frog with constraints, one launch for a step: a thread takes a rigid water, a heavy atom with its fixed bonds, or a free
// atom, a warp any other group of fixed bonds. The twin of the leap-frog and of the constraints of the CPU.
//
//   v ← α v − v_com (thermostat, centre of mass; the numbers of `coupling.cu`),  v ← v + dt F/m,  x ← x + dt v,
//   constraints move x by Δ and v by Δ/dt.
//
// Compiled with LANGEVIN 1 a bath changes v in the middle of the flight (`langevin.cuh`); with 0 nothing of it is there.
//
// Masses u, x nm, v nm/ps, f64, 3N in the order of atoms; forces kJ/mol/nm, fixed-point 2^32. Blocks leave their sums
// (`partials`, [quantity][block]) for `coupling.cu`; all sums have a fixed order. Rigid waters that follow each other in memory go
// through shared memory, so that loads are contiguous. A warp's group keeps its positions relative to its first atom in `scratch`.

#define MOVES_FROM_LISTS 1
#define CLEAR_FORCES 2

static_assert(MOVED == 7, "sums of a warp are those of eight numbers, of which the last is none");

// All that a step does to the velocity of one atom before constraints; adds m v² from before the kick. `force`: in units of 1/FIXED_ONE.
DEVICE Vec kick(const LeapArgs &a, Vec v, Vec force, double mass, double per_mass, Sums &sums) {
    v = a.scaling->factor * v - load(a.scaling->drift);
    sums.value[BEFORE] += mass * dot(v, v);
    return v + (a.dt * (1.0 / FIXED_ONE) * per_mass) * force;
}

DEVICE bool beyond(long long fixed) { return fixed > SUM_LIMIT || fixed < -SUM_LIMIT; }

// Force on one atom, in units of 1/FIXED_ONE, that has been read and is cleared; beyond the range of the numbers something is wrong.
DEVICE Vec take_force(const LeapArgs &a, unsigned atom, long long x, long long y, long long z) {
    if (beyond(x) || beyond(y) || beyond(z)) fail(a.status, NOT_FINITE, atom, atom);
    long long *f = a.forces + 3LL * atom;
    if (a.flags & CLEAR_FORCES) f[0] = f[1] = f[2] = 0;
    return vec((double)x, (double)y, (double)z);
}

DEVICE Vec take_force(const LeapArgs &a, unsigned atom) {
    const long long *f = a.forces + 3LL * atom;
    return take_force(a, atom, f[0], f[1], f[2]);
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

// Where an atom was when lists were made, and 1/(how far it may be from there)², if anyone asks.
struct Listed {
    Vec at;
    float per_farthest2;
};

DEVICE Listed listed(const LeapArgs &a, unsigned atom) {
    if (!(a.flags & MOVES_FROM_LISTS)) return {};
    const double *scale = a.scaling->list_scale;
    const Vec at = load(a.listed + 3LL * atom);
    return {vec(scale[0] * at.x, scale[1] * at.y, scale[2] * at.z), a.per_farthest2[atom]};
}

// Squared distance from where the atom was when lists were made, as a part of what it may be. Not a number counts as far away. The farthest
// beyond that is told, and of those as far the first.
DEVICE void add_move(const LeapArgs &a, Vec x, unsigned atom, Listed from, Sums &sums) {
    if (!(a.flags & MOVES_FROM_LISTS)) return;
    const Vec d = x - from.at;
    const float dx = (float)d.x, dy = (float)d.y, dz = (float)d.z;
    float part = (dx * dx + dy * dy + dz * dz) * from.per_farthest2;
    part = part <= 1e30f ? part : 1e30f;
    sums.moved = fmaxf(sums.moved, part);
    if (part > 1.0f) atomicMax(&a.status->astray, ((unsigned long long)__float_as_uint(part) << 32) | ~atom);
}

// Sums of all threads to partials[quantity][block].
DEVICE void leave_sums(Sums sums, double *partials, int n_blocks) {
    __shared__ double of_warps[THREADS / 32][QUANTITIES];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const double own = warp_sums(sums.value);
    for (int distance = 16; distance > 0; distance >>= 1) sums.moved = fmaxf(sums.moved, __shfl_xor_sync(ALL_LANES, sums.moved, distance));
    if (lane % 4 == 0) of_warps[warp][lane / 4] = lane == 4 * MOVED ? (double)sums.moved : own;
#if LANGEVIN
    const double work = warp_sum(sums.work);
    if (lane == 0) of_warps[warp][WORK] = work;
#endif
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

// A rigid water from positions r and velocities v (changed in place) with forces f, in units of 1/FIXED_ONE.
DEVICE void move_water(const LeapArgs &a, uint4 atoms, Vec r[3], Vec v[3], const Vec f[3], Sums &sums) {
    const Triangle &t = a.units.kinds[atoms.w];
    const double dt = a.dt;
    Vec old_b = r[1] - r[0], old_c = r[2] - r[0];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        v[k] = kick(a, v[k], f[k], k ? t.mass_h : t.mass_o, k ? t.per_h : t.per_o, sums);
        if (!LANGEVIN) r[k] = r[k] + dt * v[k];
    }
    if (LANGEVIN) bathe_water(a, atoms, old_b, old_c, r, v, sums);
    Vec shift[3];
    settle(t, old_b, old_c, r[1] - r[0], r[2] - r[0], shift[0], shift[1], shift[2]);
    double virial = t.mass_h * (dot(old_b, shift[1]) + dot(old_c, shift[2]));
    if (!is_number(virial)) {
        // The motion ends here. Whoever looks for the cause finds the atoms where they flew.
        fail(a.status, SETTLE, atoms.x, atoms.x);
        shift[0] = shift[1] = shift[2] = vec(0.0, 0.0, 0.0);
    }
    sums.value[CONSTRAINT] += virial;
    Vec p = vec(0.0, 0.0, 0.0);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        r[k] = r[k] + shift[k];
        v[k] = v[k] + a.per_dt * shift[k];
        p = p + add_motion(v[k], k ? t.mass_h : t.mass_o, sums);
    }
    sums.value[TRANSLATION] += dot(p, p) * t.per_mass;
}

// Waters whose atoms follow each other from `base`, through shared memory: positions, velocities, forces of the block.
DEVICE void waters_in_a_row(const LeapArgs &a, double *stage, unsigned base, int count, uint4 atoms, Sums &sums) {
    double *at = stage, *speed = stage + 9 * THREADS, *push = stage + 18 * THREADS;
    const long long first = 3LL * base;
    // All is read before anything is left, so that a thread waits for memory once and not for each of its numbers.
    double place[9], velocity[9];
    long long force[9];
#pragma unroll
    for (int k = 0; k < 9; k++) {
        const int i = threadIdx.x + k * THREADS;
        if (i < 9 * count) place[k] = a.x[first + i], velocity[k] = a.v[first + i], force[k] = a.forces[first + i];
    }
#pragma unroll
    for (int k = 0; k < 9; k++) {
        const int i = threadIdx.x + k * THREADS;
        if (i >= 9 * count) break;
        at[i] = place[k], speed[i] = velocity[k], push[i] = (double)force[k];
        if (beyond(force[k])) fail(a.status, NOT_FINITE, base + i / 3, base + i / 3);
        if (a.flags & CLEAR_FORCES) a.forces[first + i] = 0;
    }
    __syncthreads();
    if ((int)threadIdx.x < count) {
        Vec r[3], u[3], f[3];
#pragma unroll
        for (int k = 0; k < 3; k++) {
            int i = 9 * threadIdx.x + 3 * k;
            r[k] = load(at + i), u[k] = load(speed + i), f[k] = load(push + i);
        }
        move_water(a, atoms, r, u, f, sums);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            int i = 9 * threadIdx.x + 3 * k;
            store(at + i, r[k]), store(speed + i, u[k]);
        }
    }
    Listed from[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const int i = threadIdx.x + k * THREADS;
        if (i < 3 * count) from[k] = listed(a, base + i);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 9 * count; i += THREADS) {
        a.x_out[first + i] = at[i];
        a.v_out[first + i] = speed[i];
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const int i = threadIdx.x + k * THREADS;
        if (i < 3 * count) add_move(a, load(at + 3 * i), base + i, from[k], sums);
    }
}

// Leaves an atom where the step has taken it; returns its momentum.
DEVICE Vec arrive(const LeapArgs &a, unsigned atom, Vec r, Vec u, double mass, Listed from, Sums &sums) {
    store(a.x_out + 3LL * atom, r);
    store(a.v_out + 3LL * atom, u);
    add_move(a, r, atom, from, sums);
    return add_motion(u, mass, sums);
}

// A star of N bonds. All that it needs is read at once, so that its thread waits for memory twice: for its atoms, and for what they are.
template <int N> DEVICE void move_star(const LeapArgs &a, unsigned star, Sums &sums) {
    const int n_stars = a.units.n_stars;
    const double *numbers = a.units.star_numbers + star;
    unsigned atom[N + 1];
    Star<N> s;
#pragma unroll
    for (int k = 0; k <= N; k++) atom[k] = a.units.stars[(k ? 1 + k : 0) * n_stars + star];
    s.weight = numbers[0];
#pragma unroll
    for (int k = 0; k < N; k++) s.weights[k] = numbers[(1 + k) * n_stars], s.wanted[k] = numbers[(1 + LEAVES + k) * n_stars];
    Vec r[N + 1], u[N + 1];
    long long f[N + 1][3];
    double mass[N + 1];
#pragma unroll
    for (int k = 0; k <= N; k++) {
        const long long i = 3LL * atom[k];
        r[k] = load(a.x + i), u[k] = load(a.v + i);
        f[k][0] = a.forces[i], f[k][1] = a.forces[i + 1], f[k][2] = a.forces[i + 2];
        mass[k] = a.masses[atom[k]];
    }
#pragma unroll
    for (int k = 0; k < N; k++) s.reference[k] = r[k + 1] - r[0];
#pragma unroll
    for (int k = 0; k <= N; k++) {
        const Vec force = take_force(a, atom[k], f[k][0], f[k][1], f[k][2]);
        u[k] = kick(a, u[k], force, mass[k], k ? s.weights[k ? k - 1 : 0] : s.weight, sums);
        if (!LANGEVIN) r[k] = r[k] + a.dt * u[k];
    }
    if (LANGEVIN) bathe_star(a, s, atom, mass, r, u, sums);
    double g[N];
    const int stuck = shake_star(s, r, a.tolerance, g);
    Listed from[N + 1];
#pragma unroll
    for (int k = 0; k <= N; k++) from[k] = listed(a, atom[k]);
    Vec back = vec(0.0, 0.0, 0.0), p = back;
    double whole = 0.0;
#pragma unroll
    for (int k = N; k >= 0; k--) {
        // The centre comes last, when it is known what its leaves want of it.
        const int leaf = k ? k - 1 : 0;
        const Vec pulled = g[leaf] * s.reference[leaf];
        const Vec shift = k ? s.weights[leaf] * pulled : s.weight * back;
        if (k) {
            back = back - pulled;
            sums.value[CONSTRAINT] += g[leaf] * dot(s.reference[leaf], s.reference[leaf]);
            if (leaf == stuck) fail(a.status, SHAKE, min(atom[0], atom[k]), max(atom[0], atom[k]));
        }
        p = p + arrive(a, atom[k], r[k] + shift, u[k] + a.per_dt * shift, mass[k], from[k], sums);
        whole += mass[k];
    }
    sums.value[TRANSLATION] += dot(p, p) / whole;
}

// The free flight of one atom of a group; positions and velocities are left in x_out, v_out. Returns the new position. With a bath it is the kick
// alone, of which the velocity is left.
DEVICE Vec fly(const LeapArgs &a, unsigned atom, double per_mass, Vec position, Sums &sums) {
    Vec u = kick(a, load(a.v + 3LL * atom), take_force(a, atom), a.masses[atom], per_mass, sums);
    Vec r = LANGEVIN ? position : position + a.dt * u;
    if (!LANGEVIN) store(a.x_out + 3LL * atom, r);
    store(a.v_out + 3LL * atom, u);
    return r;
}

// Moves an atom of a group that has flown by what constraints want, Δ; returns its momentum.
DEVICE Vec correct(const LeapArgs &a, unsigned atom, Vec shift, Sums &sums) {
    Vec r = load(a.x_out + 3LL * atom) + shift;
    Vec u = load(a.v_out + 3LL * atom) + a.per_dt * shift;
    return arrive(a, atom, r, u, a.masses[atom], listed(a, atom), sums);
}

KERNEL __launch_bounds__(THREADS, 3) void leap(const __grid_constant__ LeapArgs a) {
    const unsigned *group_atoms = a.units.group_atoms, *ends = a.units.ends;
    const double *x = a.x, *x_out = a.x_out;
    SHARED(double, stage);
    const uint4 block = a.units.blocks[blockIdx.x];
    await_predecessor();
    if (a.status->stopped) return;
    const int count = block.z;
    const bool mine = (int)threadIdx.x < count;
    const unsigned unit_index = block.y + threadIdx.x;
    Sums sums = {};
    if (block.x == WATERS) {
        uint4 atoms = make_uint4(0, 0, 0, 0);
        if (mine) atoms = a.units.waters[unit_index];
        if (block.w != SCATTERED) {
            waters_in_a_row(a, stage, block.w, count, atoms, sums);
        } else if (mine) {
            const unsigned at[3] = {atoms.x, atoms.y, atoms.z};
            Vec r[3], u[3], f[3];
            for (int k = 0; k < 3; k++) {
                r[k] = load(x + 3LL * at[k]), u[k] = load(a.v + 3LL * at[k]);
                f[k] = take_force(a, at[k]);
            }
            move_water(a, atoms, r, u, f, sums);
            for (int k = 0; k < 3; k++) {
                store(a.x_out + 3LL * at[k], r[k]), store(a.v_out + 3LL * at[k], u[k]);
                add_move(a, r[k], at[k], listed(a, at[k]), sums);
            }
        }
    } else if (block.x == STARS && mine) {
        // All stars of a block have as many bonds.
        static_assert(LEAVES == 4, "a case for each number of bonds");
        switch (block.w) {
            case 1: move_star<1>(a, unit_index, sums); break;
            case 2: move_star<2>(a, unit_index, sums); break;
            case 3: move_star<3>(a, unit_index, sums); break;
            default: move_star<4>(a, unit_index, sums);
        }
    } else if (block.x == GROUPS && (int)(threadIdx.x / 32) < count) {
        const uint4 group = a.units.groups[block.y + threadIdx.x / 32];
        const int lane = threadIdx.x % 32, end = group.x + group.y;
        double *moved = a.units.scratch, *reference = moved + 3LL * a.units.n_slots;
        const Vec origin = load(x + 3LL * group_atoms[group.x]);
        __syncwarp();
        for (int slot = group.x + lane; slot < end; slot += 32) {
            const unsigned atom = group_atoms[slot];
            Vec old = load(x + 3LL * atom);
            store(reference + 3LL * slot, old - origin);
            Vec r = fly(a, atom, a.units.weights[slot], old, sums);
            store(moved + 3LL * slot, r - origin);
        }
        __syncwarp();
        if (LANGEVIN) {
            bathe_group(a, group, reference, moved, origin, sums);
            __syncwarp();
        }
        int stuck = shake_group(group.z, group.w, a.units.level_starts, ends, a.units.wanted, a.units.weights, reference, moved,
                                a.tolerance, sums.value[CONSTRAINT]);
        if (stuck >= 0 && lane == 0) {
            const unsigned i = group_atoms[ends[2 * stuck]], j = group_atoms[ends[2 * stuck + 1]];
            fail(a.status, SHAKE, min(i, j), max(i, j));
        }
        __syncwarp();
        Vec p = vec(0.0, 0.0, 0.0);
        double mass = 0.0;
        for (int slot = group.x + lane; slot < end; slot += 32) {
            const unsigned atom = group_atoms[slot];
            Vec shift = load(moved + 3LL * slot) - (load(x_out + 3LL * atom) - origin);
            p = p + correct(a, atom, shift, sums);
            mass += a.masses[atom];
        }
        p = vec(warp_sum(p.x), warp_sum(p.y), warp_sum(p.z));
        mass = warp_sum(mass);
        if (lane == 0) sums.value[TRANSLATION] += dot(p, p) / mass;
    } else if (block.x == FREE && mine) {
        const unsigned atom = a.units.free_atoms[unit_index];
        const double mass = a.masses[atom];
        const Listed from = listed(a, atom);
        Vec r = load(x + 3LL * atom), u = kick(a, load(a.v + 3LL * atom), take_force(a, atom), mass, 1.0 / mass, sums);
        if (LANGEVIN) bathe_atom(a, atom, mass, r, u, sums);
        else r = r + a.dt * u;
        if (!is_number(r.x + r.y + r.z)) fail(a.status, NOT_FINITE, atom, atom);
        Vec p = arrive(a, atom, r, u, mass, from, sums);
        sums.value[TRANSLATION] += dot(p, p) / mass;
    }
    leave_sums(sums, a.partials, gridDim.x);
}

// The atoms of a group of fixed bonds, or a free atom. `few` has room for those that are no list already.
struct Unit {
    const unsigned *atoms;
    int n;
};

// Unit `index` of a block of this kind.
DEVICE Unit unit_of(const UnitTables &units, unsigned kind, unsigned index, unsigned (&few)[LEAVES + 1]) {
    if (kind == GROUPS) return {units.group_atoms + units.groups[index].x, (int)units.groups[index].y};
    int n = 1;
    if (kind == WATERS) {
        const uint4 water = units.waters[index];
        few[0] = water.x, few[1] = water.y, few[2] = water.z;
        n = 3;
    } else if (kind == STARS) {
        n = 1 + units.stars[units.n_stars + index];
        few[0] = units.stars[index];
        for (int k = 1; k < n; k++) few[k] = units.stars[(1 + k) * units.n_stars + index];
    } else {
        few[0] = units.free_atoms[index];
    }
    return {few, n};
}

DEVICE Vec product(Vec a, Vec b) { return vec(a.x * b.x, a.y * b.y, a.z * b.z); }

// Barostat: lengths by μ, velocities by 1/μ, along each axis; free atoms one by one, groups as rigid bodies. `reference`: positions that restraints
// hold, 3 doubles each, by the blocks after those of units. Nothing to do while μ = 1.
KERNEL __launch_bounds__(THREADS) void rescale(const __grid_constant__ RescaleArgs a) {
    const int n_blocks = a.units.n_blocks;
    double *x = a.x, *v = a.v;
    const Vec mu = load(a.state->mu);
    if (mu.x == 1.0 && mu.y == 1.0 && mu.z == 1.0) return;
    if ((int)blockIdx.x >= n_blocks) {
        int i = (blockIdx.x - n_blocks) * THREADS + threadIdx.x;
        if (i < a.n_reference) a.reference[i] *= a.state->mu[i % 3];
        return;
    }
    const Vec per_mu = vec(1.0 / mu.x, 1.0 / mu.y, 1.0 / mu.z);
    const uint4 block = a.units.blocks[blockIdx.x];
    // One thread for a unit of the first three kinds, which are small but for long chains.
    if (threadIdx.x >= block.z) return;
    unsigned few[LEAVES + 1];
    const Unit unit = unit_of(a.units, block.x, block.y + threadIdx.x, few);
    if (unit.n == 1) {
        const long long i = 3LL * unit.atoms[0];
        store(x + i, product(mu, load(x + i)));
        store(v + i, vec(v[i] / mu.x, v[i + 1] / mu.y, v[i + 2] / mu.z));
        return;
    }
    Vec centre = vec(0.0, 0.0, 0.0), speed = centre;
    double mass = 0.0;
    for (int k = 0; k < unit.n; k++) {
        const double m = a.masses[unit.atoms[k]];
        centre = centre + m * load(x + 3LL * unit.atoms[k]);
        speed = speed + m * load(v + 3LL * unit.atoms[k]);
        mass += m;
    }
    const Vec one = vec(1.0, 1.0, 1.0);
    centre = product((1.0 / mass) * (mu - one), centre);
    speed = product((1.0 / mass) * (per_mu - one), speed);
    for (int k = 0; k < unit.n; k++) {
        const long long i = 3LL * unit.atoms[k];
        store(x + i, load(x + i) + centre);
        store(v + i, load(v + i) + speed);
    }
}

// Pressure along each axis a: of every group of fixed bonds and every free atom, of mass M, centre X, velocity V and force F, M V_a², and before the step, where
// forces and velocities are those that it begins with, X_a F_a. partials[quantity][block]: first X F, then M V² before, then M V² after the step.
KERNEL __launch_bounds__(THREADS) void groups(const __grid_constant__ GroupArgs a) {
    __shared__ double scratch[32];
    const uint4 block = a.units.blocks[blockIdx.x];
    Vec virial = vec(0.0, 0.0, 0.0), twice_kinetic = virial;
    if (threadIdx.x < block.z) {
        unsigned few[LEAVES + 1];
        const Unit unit = unit_of(a.units, block.x, block.y + threadIdx.x, few);
        Vec centre = vec(0.0, 0.0, 0.0), momentum = centre, force = centre;
        double mass = 0.0;
        for (int k = 0; k < unit.n; k++) {
            const long long i = 3LL * unit.atoms[k];
            const double m = a.masses[unit.atoms[k]];
            Vec speed = load(a.v + i);
            if (a.before) {
                speed = a.scaling->factor * speed - load(a.scaling->drift);
                centre = centre + m * load(a.x + i);
                force = force + vec((double)a.forces[i], (double)a.forces[i + 1], (double)a.forces[i + 2]);
            }
            momentum = momentum + m * speed;
            mass += m;
        }
        virial = (1.0 / FIXED_ONE / mass) * product(centre, force);
        twice_kinetic = (1.0 / mass) * product(momentum, momentum);
    }
    const double sums[6] = {virial.x, virial.y, virial.z, twice_kinetic.x, twice_kinetic.y, twice_kinetic.z};
    for (int q = a.before ? 0 : 3; q < 6; q++) {
        const double sum = block_sum(sums[q], scratch);
        if (threadIdx.x == 0) a.partials[(long long)(a.before ? q : q + 3) * a.units.n_blocks + blockIdx.x] = sum;
    }
}
