// P2M and L2P of the leaves of a refined tree: M_c = Σ_i q_i R_c(u_i),  φ(u) = Σ_c L_c R_c(u),  E = −∇φ.
//
// A warp takes a leaf, and a lane one particle at a time; sums over particles run in their order. `particles` are (x, y, z, q), relative to the
// centre of the leaf over its scale and sorted by leaf; `starts` is the first particle of each leaf. `leaf_rows` is the row of ROW
// coefficients of each leaf, in the order of the channels (harmonics.cuh); rows of empty leaves are not touched. `flags` tells whether the box
// of a row holds particles. `gradient` and `weights` tell where the coefficients of E come from (see harmonics.rs). `out` is φ, Ex, Ey, Ez.

static const int K = (ORDER + 1) * (ORDER + 1);
// Odd, so that channels of one particle and particles of one channel are in different banks.
static const int PITCH = 33;

KERNEL __launch_bounds__(32) void leaf_multipoles(const __grid_constant__ LeafMultipoleArgs a) {
    SHARED(real, values); // [K][PITCH], then [ROW]
    real *moments = values + K * PITCH;
    const int lane = threadIdx.x;
    const unsigned begin = a.starts[blockIdx.x], end = a.starts[blockIdx.x + 1], own = a.leaf_rows[blockIdx.x];
    if (lane == 0) a.flags[own] = begin < end;
    if (begin == end) return;
    for (int c = lane; c < ROW; c += 32) moments[c] = 0;
    for (unsigned chunk = begin; chunk < end; chunk += 32) {
        const real4 one = chunk + lane < end ? a.particles[chunk + lane] : make_real4(0, 0, 0, 0);
        int channel = 0;
        harmonics(one.x, one.y, one.z, one.w, [](int) {}, [&](int, real value) { values[channel++ * PITCH + lane] = value; });
        __syncthreads();
        const int n = end - chunk < 32 ? end - chunk : 32;
        for (int c = lane; c < K; c += 32) {
            real sum = 0;
            for (int i = 0; i < n; i++) sum += values[c * PITCH + i];
            moments[c] += sum;
        }
        __syncthreads();
    }
    real *row = a.rows + (size_t)own * ROW;
    for (int c = lane; c < ROW; c += 32) row[c] = moments[c];
}

// Flags of the boxes above: those of their leaves, rows ranges[box].x to ranges[box].y. A warp for each box.
KERNEL void box_flags(const __grid_constant__ FlagArgs a) {
    const int box = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (box >= a.n) return;
    const uint2 range = a.ranges[box];
    bool any = false;
    for (unsigned first = range.x; first < range.y && !any; first += 32) {
        any = __any_sync(ALL_LANES, first + lane < range.y && a.leaves[first + lane]);
    }
    if (lane == 0) a.flags[box] = any;
}

KERNEL __launch_bounds__(32) void leaf_potentials(const __grid_constant__ LeafPotentialArgs a) {
    SHARED(real4, fields); // [K]
    const unsigned begin = a.starts[blockIdx.x], end = a.starts[blockIdx.x + 1];
    if (begin == end) return;
    const real *local = a.rows + (size_t)a.leaf_rows[blockIdx.x] * ROW;
    for (int c = threadIdx.x; c < K; c += 32) {
        real v[5];
        for (int e = 0; e < 5; e++) v[e] = a.weights[e * K + c] * local[a.gradient[e * K + c]];
        fields[c] = make_real4(local[c], v[0] + v[1], v[2] + v[3], v[4]);
    }
    __syncthreads();
    for (unsigned place = begin + threadIdx.x; place < end; place += 32) {
        const real4 one = a.particles[place];
        const real4 *f = fields;
        real4 sum = make_real4(0, 0, 0, 0);
        harmonics(one.x, one.y, one.z, real(1), [](int) {}, [&](int, real value) {
            const real4 c = *f++;
            sum.x += c.x * value;
            sum.y += c.y * value;
            sum.z += c.z * value;
            sum.w += c.w * value;
        });
        a.out[place] = sum;
    }
}
