// First and last kernel of an evaluation: box-local coordinates and moments; near + far + trace term − excluded pairs.
//
//   x' = (x − images − centre of the own leaf) / scale,   y = x − images − centre of the root box that the leaf is refined from, DEPTH times
//   φ_i = (near + far)/scale − Σ_excluded q_j/r + (2π/3V)(Q y² − 2 y·D + T),   Q = Σ q, D = Σ q y, T = Σ q y²   (repeating in 3 directions)
//
// Positions and charges f64 by number; sorted, near, far: (x', y', z', q) and (φ', E') by sorted place; potential, field f64 by number,
// k_e = 1, the caller's units. moments: Q, D, T, then five for each block of `gather`; the block that is done last adds them up, in order.

// Sums over the block of five numbers, in thread 0.
DEVICE void add_up(double v[5], double *scratch) {
    for (int m = 0; m < 5; ++m) {
        for (int lane = 16; lane > 0; lane /= 2) v[m] += __shfl_xor_sync(0xffffffffu, v[m], lane);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        for (int m = 0; m < 5; ++m) scratch[5 * (threadIdx.x / 32) + m] = v[m];
    }
    __syncthreads();
    if (threadIdx.x < 5) {
        double sum = 0.0;
        for (int w = 0; w < GATHER_THREADS / 32; ++w) sum += scratch[5 * w + threadIdx.x];
        scratch[5 * (GATHER_THREADS / 32) + threadIdx.x] = sum;
    }
    __syncthreads();
}

// From the centre of the root box to that of the leaf.
DEVICE void to_leaf(const BoxGeometry *geometry, const LeafGrid *grid, unsigned leaf, double way[3]) {
    for (int a = 0; a < 3; ++a) way[a] = 0.0;
#if DEPTH > 0
    int c[3];
    box_coordinates(grid, leaf, c);
    for (int b = 0; b < 3; ++b) {
        double boxes = (c[b] & ((1 << DEPTH) - 1)) + 0.5 - 0.5 * (1 << DEPTH);
        for (int a = 0; a < 3; ++a) way[a] += boxes * geometry->basis[b][a];
    }
#endif
}

KERNEL void gather(const __grid_constant__ GatherArgs args) {
    const BoxGeometry *geometry = args.geometry;
    const LeafGrid *grid = args.grid;
    const unsigned *leaf_of = args.leaf_of;
    double *moments = args.moments;
    unsigned *done = args.done;
    __shared__ double scratch[5 * (GATHER_THREADS / 32 + 1)];
    __shared__ bool last;
    int k = blockIdx.x * GATHER_THREADS + threadIdx.x;
    double own[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
    if (k < args.n) {
        long long i = args.order[k];
        double y[3], charge = args.q[i], per_scale = geometry->per_scale;
        int c[3];
        wrapped(geometry, args.x + 3 * i, args.images + 3LL * k, y);
        box_coordinates(grid, leaf_of[k], c);
        for (int a = 0; a < 3; ++a) {
            double centre = geometry->corner[a];
            for (int b = 0; b < 3; ++b) centre += (c[b] + 0.5) * geometry->basis[b][a];
            y[a] -= centre;
        }
        args.sorted[k] = make_real4((real)(y[0] * per_scale), (real)(y[1] * per_scale), (real)(y[2] * per_scale), (real)charge);
        double way[3];
        to_leaf(geometry, grid, leaf_of[k], way);
        for (int a = 0; a < 3; ++a) y[a] += way[a];
        own[0] = charge;
        own[1] = charge * y[0];
        own[2] = charge * y[1];
        own[3] = charge * y[2];
        own[4] = charge * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
    }
    if (geometry->volume == 0.0) return;
    add_up(own, scratch);
    const double *total = scratch + 5 * (GATHER_THREADS / 32);
    if (threadIdx.x < 5) moments[5 * (blockIdx.x + 1LL) + threadIdx.x] = total[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int m = 0; m < 5; ++m) own[m] = 0.0;
    for (int block = threadIdx.x; block < (int)gridDim.x; block += GATHER_THREADS) {
        for (int m = 0; m < 5; ++m) own[m] += ((volatile double *)moments)[5 * (block + 1LL) + m];
    }
    add_up(own, scratch);
    if (threadIdx.x < 5) moments[threadIdx.x] = total[threadIdx.x];
    if (threadIdx.x == 0) *done = 0;
}

// rows, excluded: partners of each particle as (sorted place, slot of the near offset). has_far: 0 leaves the far field out. forces: if there
// are any, strength q_i E_i is added to these fixed-point numbers, and `field` is not written.
KERNEL void finish(const __grid_constant__ FinishArgs args) {
    const BoxGeometry *geometry = args.geometry;
    const real4 *sorted = args.sorted;
    const unsigned *rows = args.rows;
    const double *moments = args.moments;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= args.n) return;
    unsigned k = args.place[i];
    real4 own = sorted[k], v = args.near[k];
    double phi = v.x, e[3] = {v.y, v.z, v.w}, per_scale = geometry->per_scale;
    if (args.has_far) {
        v = args.far[k];
        phi += v.x;
        e[0] += v.y;
        e[1] += v.z;
        e[2] += v.w;
    }
    for (unsigned p = rows[i]; p < rows[i + 1]; ++p) {
        uint2 partner = args.excluded[p];
        real4 pair = make_real4(0, 0, 0, 0);
        add_pair(own, shifted(sorted[partner.x], args.shifts[partner.y]), pair);
        phi -= pair.x;
        e[0] -= pair.y;
        e[1] -= pair.z;
        e[2] -= pair.w;
    }
    phi *= per_scale;
    for (int a = 0; a < 3; ++a) e[a] *= per_scale * per_scale;
    if (geometry->volume > 0.0) {
        double prefactor = 2.0943951023931954923 / geometry->volume, charge = moments[0], trace = moments[4];
        double way[3], y[3] = {own.x * geometry->scale, own.y * geometry->scale, own.z * geometry->scale};
        to_leaf(geometry, args.grid, args.leaf_of[k], way);
        for (int a = 0; a < 3; ++a) y[a] += way[a];
        for (int a = 0; a < 3; ++a) {
            double dipole = moments[1 + a];
            trace += y[a] * (charge * y[a] - 2.0 * dipole);
            e[a] -= 2.0 * prefactor * (charge * y[a] - dipole);
        }
        phi += prefactor * trace;
    }
    args.potential[i] = phi;
    if (args.forces) {
        double charge = args.strength * args.q[i];
        for (int a = 0; a < 3; ++a) add_fixed(args.forces + 3LL * i + a, charge * e[a]);
    } else {
        for (int a = 0; a < 3; ++a) args.field[3LL * i + a] = e[a];
    }
}
