// P2M and the transform along z: M_c(x, y, κz) = Σ_z e^{-2πi κz z/n} Σ_i q_i R_c(u_i) over the particles i of box (x, y, z).
//
// A block makes one column of boxes, whose particles are contiguous. A thread runs through the harmonics of one particle; each group of up
// to ROWS channels is laid down in shared memory and added up box by box, particle after particle, so that sums have one order.
// Input: particles (x, y, z, q), coordinates relative to the centre of the box over its scale; `starts`: first particle of each box.
// Output: columns[κz][x][y][channel], complex, κz ≤ n/2.

typedef Line<NZ> AlongZ;

static const int WARPS = THREADS / 32, PITCH = THREADS + 1;

DEVICE void add_up(const real *rows, int n_rows, int channel, const unsigned *bounds, unsigned chunk, real *moments) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    __syncthreads();
    for (int z = warp; z < MZ; z += WARPS) {
        const unsigned from = bounds[z] > chunk ? bounds[z] : chunk;
        const unsigned to = bounds[z + 1] < chunk + THREADS ? bounds[z + 1] : chunk + THREADS;
        if (from >= to) continue;
        for (int row = lane; row < n_rows; row += 32) {
            const real *values = rows + row * PITCH + (from - chunk);
            const int n = to - from;
            real sum = 0;
#pragma unroll 4
            for (int i = 0; i < n; i++) sum += values[i];
            moments[z * KS + channel + row] += sum;
        }
    }
    __syncthreads();
}

KERNEL __launch_bounds__(THREADS) void far_multipoles(const __grid_constant__ MultipoleArgs a) {
    const real4 *particles = a.particles;
    SHARED(real2, shared);
    __shared__ unsigned bounds[MZ + 1];
    real2 *table = shared;
    real *moments = reinterpret_cast<real *>(table + AlongZ::TABLE), *rows = moments + MZ * KS;
    const int column = blockIdx.x, thread = threadIdx.x;
    load(a.table_z, table, AlongZ::TABLE);
    for (int i = thread; i <= MZ; i += THREADS) bounds[i] = a.starts[column * MZ + i];
    for (int i = thread; i < MZ * KS; i += THREADS) moments[i] = 0;
    // Tables, and which particles lie where: that changes with the lists, not in a step.
    await_predecessor();
    __syncthreads();
    const unsigned end = bounds[MZ];
    for (unsigned chunk = bounds[0]; chunk < end; chunk += THREADS) {
        const real4 one = chunk + thread < end ? particles[chunk + thread] : make_real4(0, 0, 0, 0);
        int row = 0, channel = 0;
        harmonics(
            one.x, one.y, one.z, one.w,
            [&](int m) {
                if (row + (m > 0 ? 2 : 1) * (ORDER + 1 - m) > ROWS) {
                    add_up(rows, row, channel, bounds, chunk, moments);
                    channel += row;
                    row = 0;
                }
            },
            [&](int, real value) { rows[row++ * PITCH + thread] = value; });
        add_up(rows, row, channel, bounds, chunk, moments);
    }
    const real2 *pairs = reinterpret_cast<const real2 *>(moments);
    for (int task = thread; task < KS / 2 * AlongZ::BLOCKS; task += THREADS) {
        const int pair = task % (KS / 2), k0 = task / (KS / 2) * KB;
        const real2 *line = pairs + pair;
        const auto fetch = [&](int j) {
            const real2 a = box<MZ>(line, KS / 2, j), b = box<MZ>(line, KS / 2, NZ - j);
            return Pair{added(a, b), less(a, b)};
        };
        real2 c[KB], s[KB];
        const real2 middle = NZ % 2 == 0 ? box<MZ>(line, KS / 2, NZ / 2) : make_real2(0, 0);
        fold<NZ>(table, k0, line[0], middle, fetch, c, s);
#pragma unroll
        for (int k = 0; k < KB; k++) {
            if (k0 + k >= AlongZ::HALF) continue;
            const size_t at = (size_t(k0 + k) * (MX * MY) + column) * KS + 2 * pair;
            *reinterpret_cast<real4 *>(a.columns + at) = make_real4(c[k].x, -s[k].x, c[k].y, -s[k].y);
        }
    }
}
