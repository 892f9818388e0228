// First and last kernel of an evaluation: box-local coordinates and moments; near + far + trace term − excluded pairs.
//
//   x' = (x − images − centre of the own leaf) / scale,   y' = (x − images − centre of the root box that the leaf is refined from, DEPTH times) / scale
//   φ_i = (near + far − Σ_excluded q_j/r' + trace (Q y'² − 2 y'·D + T)) / scale,   Q = Σ q, D = Σ q y', T = Σ q y'²
//   trace = (2π/3V) scale³ = 2π / (3 number of leaves), or 0 unless the cell repeats in 3 directions
//
// Positions and charges f64 by number; sorted, near, far: (x', y', z', q) and (φ', E') by sorted place; potential, field f64 by number,
// k_e = 1, the caller's units. moments: Q, D, T, then five for each block of `gather`; the block that is done last adds them up, in order.
// Everything between is in units of the boxes, so that the caller's units do not leave the range of f32.
//
// Positions are made box-local in f64. All else of one particle is `real`, as near and far field are, and so is the sum of the moments over a warp;
// sums of more are f64.

#define WARPS (GATHER_THREADS / 32)
#define AT_ONCE 4 // excluded partners that a thread reads at once

// Sums over the block of five numbers (the other three of `v` are zero), to total[0] … total[4].
template <class T> DEVICE void add_up(T (&v)[8], double *scratch, double *total) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const T sum = warp_sums(v);
    __syncthreads();
    if (lane % 4 == 0) scratch[8 * warp + lane / 4] = (double)sum;
    __syncthreads();
    if (threadIdx.x < 5) {
        double all = 0.0;
        for (int w = 0; w < WARPS; ++w) all += scratch[8 * w + threadIdx.x];
        total[threadIdx.x] = all;
    }
    __syncthreads();
}

// From the centre of the root box to that of the leaf, over the scale.
DEVICE void to_leaf(const BoxGeometry *geometry, const LeafGrid *grid, unsigned leaf, double way[3]) {
    for (int a = 0; a < 3; ++a) way[a] = 0.0;
#if DEPTH > 0
    int c[3];
    box_coordinates(grid, leaf, c);
    for (int b = 0; b < 3; ++b) {
        double boxes = (c[b] & ((1 << DEPTH) - 1)) + 0.5 - 0.5 * (1 << DEPTH);
        for (int a = 0; a < 3; ++a) way[a] += boxes * geometry->per_scale * geometry->basis[b][a];
    }
#endif
}

// A particle as seen from the centre of its root box, over the scale.
DEVICE void from_root(const BoxGeometry *geometry, const LeafGrid *grid, unsigned leaf, real4 local, real at[3]) {
    double way[3];
    to_leaf(geometry, grid, leaf, way);
    at[0] = local.x + (real)way[0];
    at[1] = local.y + (real)way[1];
    at[2] = local.z + (real)way[2];
}

KERNEL void gather(const __grid_constant__ GatherArgs args) {
    const BoxGeometry *geometry = args.geometry;
    const LeafGrid *grid = args.grid;
    double *moments = args.moments;
    unsigned *done = args.done;
    __shared__ double scratch[8 * WARPS], total[5];
    __shared__ bool last;
    int k = blockIdx.x * GATHER_THREADS + threadIdx.x;
    real own[8] = {};
    const bool mine = k < args.n;
    // Which particle it is and where it lies changes with the lists, not in a step.
    const long long i = mine ? args.order[k] : 0;
    const int leaf = mine ? args.leaf_of[k] : 0;
    int image[3] = {0, 0, 0};
    for (int a = 0; mine && a < 3; ++a) image[a] = args.images[3LL * k + a];
    await_predecessor();
    if (mine) {
        const double *x = args.x + 3 * i, per_scale = geometry->per_scale;
        double y[3];
        int c[3];
        for (int a = 0; a < 3; ++a) y[a] = x[a] - geometry->corner[a];
        box_coordinates(grid, leaf, c);
        for (int b = 0; b < 3; ++b) {
            // Periods are whole numbers of boxes.
            long long boxes = c[b];
            for (int p = 0; p < 3; ++p) boxes += (long long)image[p] * grid->lattice[p][b];
            const double place = (double)boxes + 0.5;
            for (int a = 0; a < 3; ++a) y[a] -= place * geometry->basis[b][a];
        }
        const real4 one = make_real4((real)(y[0] * per_scale), (real)(y[1] * per_scale), (real)(y[2] * per_scale), (real)args.q[i]);
        args.sorted[k] = one;
        real at[3];
        from_root(geometry, grid, leaf, one, at);
        own[0] = one.w;
        own[1] = one.w * at[0];
        own[2] = one.w * at[1];
        own[3] = one.w * at[2];
        own[4] = one.w * (at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
    }
    if (!args.has_trace) return;
    add_up(own, scratch, total);
    if (threadIdx.x < 5) moments[5 * (blockIdx.x + 1LL) + threadIdx.x] = total[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    double all[8] = {};
    for (int block = threadIdx.x; block < (int)gridDim.x; block += GATHER_THREADS) {
        for (int m = 0; m < 5; ++m) all[m] += ((volatile double *)moments)[5 * (block + 1LL) + m];
    }
    add_up(all, scratch, total);
    if (threadIdx.x < 5) moments[threadIdx.x] = total[threadIdx.x];
    if (threadIdx.x == 0) *done = 0;
}

// rows, excluded: partners of each particle as (sorted place, slot of the near offset). has_far: 0 leaves the far field out. forces: if there
// are any, strength q_i E_i is added to these fixed-point numbers, and `field` is not written. members: null, or the particles that lie in boxes;
// nothing is written for others.
KERNEL void finish(const __grid_constant__ FinishArgs args) {
    const BoxGeometry *geometry = args.geometry;
    const real4 *sorted = args.sorted;
    const unsigned *rows = args.rows;
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    const bool mine = m < args.n;
    const int i = mine && args.members ? (int)args.members[m] : m;
    const unsigned k = mine ? args.place[i] : 0, begin = mine ? rows[i] : 0, end = mine ? rows[i + 1] : 0;
    // Some partners are read at once, and the next ones beside their pairs, so that a thread does not wait for memory once for each.
    uint2 partners[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) {
        if (begin + j < end) partners[j] = args.excluded[begin + j];
    }
    await_predecessor();
    // The moments, then numbers that make potentials and fields of sums: the same for all particles.
    __shared__ real numbers[7];
    if (threadIdx.x < 7) {
        numbers[threadIdx.x] = (real)(threadIdx.x < 5 ? args.moments[threadIdx.x] : threadIdx.x == 5 ? args.trace : geometry->per_scale);
    }
    const real4 none = make_real4(0, 0, 0, 0);
    const real4 own = mine ? sorted[k] : none, near = mine ? args.near[k] : none, far = mine && args.has_far ? args.far[k] : none;
    const double q = mine && args.forces ? args.q[i] : 0.0;
    __syncthreads();
    const real charge = numbers[0], *dipole = numbers + 1, factor = numbers[5], per_scale = numbers[6];
    if (!mine) return;
    real phi = near.x, e[3] = {near.y, near.z, near.w};
    // What the near field has of these pairs goes before anything is added to it.
    for (unsigned p = begin; p < end; p += AT_ONCE) {
        real4 source[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; ++j) {
            if (p + j < end) source[j] = shifted(sorted[partners[j].x], args.shifts[partners[j].y]);
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; ++j) {
            if (p + AT_ONCE + j < end) partners[j] = args.excluded[p + AT_ONCE + j];
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; ++j) {
            if (p + j >= end) break;
            real4 pair = none;
            add_pair(own, source[j], pair);
            phi -= pair.x;
            e[0] -= pair.y;
            e[1] -= pair.z;
            e[2] -= pair.w;
        }
    }
    phi += far.x;
    e[0] += far.y;
    e[1] += far.z;
    e[2] += far.w;
    if (factor > 0) {
        real trace = numbers[4], at[3];
        from_root(geometry, args.grid, args.leaf_of[k], own, at);
        for (int a = 0; a < 3; ++a) {
            trace += at[a] * (charge * at[a] - 2 * dipole[a]);
            e[a] -= 2 * factor * (charge * at[a] - dipole[a]);
        }
        phi += factor * trace;
    }
    args.potential[i] = (double)(phi * per_scale);
    if (args.forces) {
        const real strength = (real)(args.strength * q);
        for (int a = 0; a < 3; ++a) add_fixed(args.forces + 3LL * i + a, strength * (per_scale * per_scale * e[a]));
    } else {
        // Here and not in a step: the square of a length leaves the range of f32 sooner than a length.
        const double squared = geometry->per_scale * geometry->per_scale;
        for (int a = 0; a < 3; ++a) args.field[3LL * i + a] = squared * (double)e[a];
    }
}
