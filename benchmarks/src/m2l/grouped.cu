// M2L as parent and child work: a parent for each target box, eight children that take one octant of the neighbours' children each.
//
//   L_t = Σ_o L_t^o,   L_t^o = Σ_{u of octant o} Σ_j M(u)_jt ω_j(box + u)
//
// Launching the children from the device (dynamic parallelism) needs a device linker that run-time compilation does not have. The groups
// are known beforehand, so they are laid out as warps: block = parent, warp = child, the sums of the children are added in order.
// After B. Kohnke et al., Int. J. High Perform. Comput. Appl. 35, 97 (2021), doi:10.1177/1094342020964857, approach 2. Layout: level.cuh.

#define PER_LANE ((K + 31) / 32)

KERNEL __launch_bounds__(256) void grouped(const __grid_constant__ WalkArgs a) {
    const real *multipoles = a.multipoles, *operators = a.operators;
    real *locals = a.locals;
    const int *slots = a.slots, n = a.n, periodic = a.periodic;
    SHARED(real, sums); // [8][K]
    const int box = blockIdx.x, octant = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Box c = box_at(box, n);
    real sum[PER_LANE] = {};
    for (int d = 0; d < 27; d++) {
        const Box u = offset_to(c, d, octant);
        const int slot = slots[slot_at(u)], source = place_of(c.x + u.x, c.y + u.y, c.z + u.z, n, periodic);
        if (slot < 0 || source < 0) continue;
        const real *matrix = operators + (size_t)slot * ROW * ROW + lane, *row = multipoles + (size_t)source * ROW;
        for (int j = 0; j < K; j++) {
            const real v = row[j];
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) {
                if (lane + 32 * i < K) sum[i] += v * matrix[j * ROW + 32 * i];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        if (lane + 32 * i < K) sums[octant * K + lane + 32 * i] = sum[i];
    }
    __syncthreads();
    for (int t = threadIdx.x; t < K; t += blockDim.x) {
        real total = 0;
        for (int o = 0; o < 8; o++) total += sums[o * K + t];
        locals[(size_t)box * ROW + t] = total;
    }
}
