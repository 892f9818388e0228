// M2L with the blockings of T. Takahashi, C. Cecka, W. Fong, E. Darve, Int. J. Numer. Meth. Eng. 89, 105 (2012), doi:10.1002/nme.3240: how many
// pairs of boxes use an element of an operator once a thread has read it.
//
//   basic     a block for each target box, a thread for each coefficient: one pair
//   siblings  a block for each parent: the up to 8 pairs with one offset between its children and those of one neighbour of it
//   clusters  a block for 2 × 2 × 2 parents: the up to 64 pairs with one offset in a cluster of 4 × 4 × 4 boxes; SLICE source coefficients of
//             all 8 × 8 × 8 boxes around at a time. With one slice after the other in a block, or slices spread over blocks whose sums are
//             added in order (both indices of the operator blocked)
//
// Layout: level.cuh. `offsets`: 49 (u_x + 3) + 7 (u_y + 3) + u_z + 3 of each operator.

#define SLICE 8

KERNEL __launch_bounds__(THREADS) void basic(const __grid_constant__ WalkArgs a) {
    const real *multipoles = a.multipoles, *operators = a.operators;
    real *locals = a.locals;
    const int *slots = a.slots, n = a.n, periodic = a.periodic;
    SHARED(real, row); // [ROW]
    const int box = blockIdx.x, t = blockIdx.y * THREADS + threadIdx.x;
    const Box c = box_at(box, n);
    real sum = 0;
    for (int d = 0; d < 27; d++) {
        for (int octant = 0; octant < 8; octant++) {
            const Box u = offset_to(c, d, octant);
            const int slot = slots[slot_at(u)], source = place_of(c.x + u.x, c.y + u.y, c.z + u.z, n, periodic);
            if (slot < 0 || source < 0) continue;
            __syncthreads();
            for (int j = threadIdx.x; j < ROW; j += THREADS) row[j] = multipoles[(size_t)source * ROW + j];
            __syncthreads();
            if (t >= ROW) continue;
            const real *column = operators + (size_t)slot * ROW * ROW + t;
            for (int j = 0; j < ROW; j++) sum += row[j] * column[j * ROW];
        }
    }
    if (t < ROW) locals[(size_t)box * ROW + t] = sum;
}

KERNEL __launch_bounds__(THREADS) void siblings(const __grid_constant__ WalkArgs a) {
    const real *multipoles = a.multipoles, *operators = a.operators;
    real *locals = a.locals;
    const int *slots = a.slots, n = a.n, periodic = a.periodic;
    SHARED(real, rows); // [8][ROW]
    const int half = n / 2, t = blockIdx.y * THREADS + threadIdx.x;
    const Box parent = box_at(blockIdx.x, half);
    real sum[8] = {};
    for (int d = 0; d < 27; d++) {
        const Box across = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
        if (d == 13 || place_of(parent.x + across.x, parent.y + across.y, parent.z + across.z, half, periodic) < 0) continue;
        __syncthreads();
        for (int i = threadIdx.x; i < 8 * ROW; i += THREADS) {
            const int octant = i / ROW;
            const int source = place_of(2 * (parent.x + across.x) + (octant >> 2), 2 * (parent.y + across.y) + (octant >> 1 & 1),
                                        2 * (parent.z + across.z) + (octant & 1), n, periodic);
            rows[i] = multipoles[(size_t)source * ROW + i % ROW];
        }
        __syncthreads();
        if (t >= ROW) continue;
        for (int e = 0; e < 27; e++) {
            const Box side = {e / 9 - 1, e / 3 % 3 - 1, e % 3 - 1};
            const int slot = slots[slot_at({2 * across.x + side.x, 2 * across.y + side.y, 2 * across.z + side.z})];
            if (slot < 0) continue;
            unsigned pairs = 0;
            for (int own = 0; own < 8; own++) {
                const int x = (own >> 2) + side.x, y = (own >> 1 & 1) + side.y, z = (own & 1) + side.z;
                if (((x | y | z) & ~1) == 0) pairs |= 1u << own;
            }
            const int to_source = 4 * side.x + 2 * side.y + side.z;
            const real *column = operators + (size_t)slot * ROW * ROW + t;
            for (int j = 0; j < ROW; j += 4) {
                const real m[4] = {column[j * ROW], column[(j + 1) * ROW], column[(j + 2) * ROW], column[(j + 3) * ROW]};
#pragma unroll
                for (int own = 0; own < 8; own++) {
                    if (!(pairs >> own & 1)) continue;
                    const real *row = rows + (own + to_source) * ROW + j;
#pragma unroll
                    for (int i = 0; i < 4; i++) sum[own] += m[i] * row[i];
                }
            }
        }
    }
    if (t >= ROW) return;
#pragma unroll
    for (int own = 0; own < 8; own++) {
        const int box = place_of(2 * parent.x + (own >> 2), 2 * parent.y + (own >> 1 & 1), 2 * parent.z + (own & 1), n, 0);
        locals[(size_t)box * ROW + t] = sum[own];
    }
}

// Whether a box on side `bit` of its parent receives from offset u along one axis.
DEVICE bool reaches(int bit, int u) { return u >= -2 - bit && u <= 3 - bit; }

KERNEL __launch_bounds__(THREADS) void clusters(const __grid_constant__ ClusterArgs a) {
    const real *multipoles = a.multipoles, *operators = a.operators;
    real *out = a.out;
    const int *offsets = a.offsets, n_offsets = a.n_offsets, n = a.n, periodic = a.periodic;
    SHARED(real, around); // [8][8][8][SLICE]
    const int t = blockIdx.y * THREADS + threadIdx.x, column = t < ROW ? t : 0;
    const Box cluster = box_at(blockIdx.x, n / 4);
    const Box corner = {4 * cluster.x, 4 * cluster.y, 4 * cluster.z};
    real sum[64] = {};
    for (int first = blockIdx.z * SLICE; first < ROW; first += gridDim.z * SLICE) {
        __syncthreads();
        for (int i = threadIdx.x; i < 512 * SLICE; i += THREADS) {
            const int box = i / SLICE;
            const int source = place_of(corner.x + box / 64 - 2, corner.y + box / 8 % 8 - 2, corner.z + box % 8 - 2, n, periodic);
            around[i] = source < 0 ? real(0) : multipoles[(size_t)source * ROW + first + i % SLICE];
        }
        __syncthreads();
        for (int slot = 0; slot < n_offsets; slot++) {
            const int at = offsets[slot];
            const Box u = {at / 49 - 3, at / 7 % 7 - 3, at % 7 - 3};
            real m[SLICE];
#pragma unroll
            for (int j = 0; j < SLICE; j++) m[j] = operators[((size_t)slot * ROW + first + j) * ROW + column];
#pragma unroll
            for (int own = 0; own < 64; own++) {
                const int x = own / 16, y = own / 4 % 4, z = own % 4;
                if (!reaches(x & 1, u.x) || !reaches(y & 1, u.y) || !reaches(z & 1, u.z)) continue;
                const real *row = around + (((x + u.x + 2) * 8 + y + u.y + 2) * 8 + z + u.z + 2) * SLICE;
#pragma unroll
                for (int j = 0; j < SLICE; j++) sum[own] += m[j] * row[j];
            }
        }
    }
    if (t >= ROW) return;
    out += (size_t)blockIdx.z * n * n * n * ROW;
#pragma unroll
    for (int own = 0; own < 64; own++) {
        const int box = place_of(corner.x + own / 16, corner.y + own / 4 % 4, corner.z + own % 4, n, 0);
        out[(size_t)box * ROW + t] = sum[own];
    }
}

// Sum over slices in order.
KERNEL void add_slices(const __grid_constant__ SliceArgs a) {
    const real *parts = a.parts;
    real *locals = a.locals;
    const int slices = a.slices, length = a.length;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) return;
    real sum = 0;
    for (int s = 0; s < slices; s++) sum += parts[(size_t)s * length + i];
    locals[i] = sum;
}
