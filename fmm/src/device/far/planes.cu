// The transforms along x and y: a block takes the plane of one κz for CG channels, in shared memory.
//
//   forward:  columns[κz][x][y][channel] -> waves[κz][κx][κy][channel],   sign - of the exponent, along y, then x
//   back:     the other way, sign +, along x, then y; not normalised
//
// Of the cycles NX, NY (odd paddings of open axes) MX, MY boxes are given and wanted. On a sheared grid lines are turned by phases before
// their transform (see fourier/grid.rs): turns_y[κz][y] and turns_x[κy][κz][x].

typedef Line<NX> AlongX;
typedef Line<NY> AlongY;

static const int HZ = NZ / 2 + 1, GROUPS = KS / CG;
// Boxes from one x to the next: odd, so that lanes along x reach different banks.
static const int PITCH = NY | 1;

// X_k, and X_{n-k} in `high`, of one line.
template <int N, int N_IN, bool FORWARD>
DEVICE void transform(const real2 *line, int step, const real2 *table, int k0, real2 (&low)[KB], real2 (&high)[KB]) {
    const auto fetch = [&](int j) {
        const real2 a = box<N_IN>(line, step, j), b = box<N_IN>(line, step, N - j);
        return Pair{added(a, b), less(a, b)};
    };
    const real2 middle = N % 2 == 0 ? box<N_IN>(line, step, N / 2) : make_real2(0, 0);
    real2 c[KB], s[KB];
    fold<N>(table, k0, line[0], middle, fetch, c, s);
#pragma unroll
    for (int k = 0; k < KB; k++) {
        const real2 minus = make_real2(c[k].x + s[k].y, c[k].y - s[k].x), plus = make_real2(c[k].x - s[k].y, c[k].y + s[k].x);
        low[k] = FORWARD ? minus : plus;
        high[k] = FORWARD ? plus : minus;
    }
}

// Hands the values of a line that are wanted, k < N_OUT, to put(k, value).
template <int N, int N_OUT, class Put> DEVICE void deliver(int k0, real2 (&low)[KB], real2 (&high)[KB], Put put) {
#pragma unroll
    for (int i = 0; i < KB; i++) {
        const int k = k0 + i;
        if (k > N / 2) continue;
        if (k < N_OUT) put(k, low[i]);
        if (k > 0 && 2 * k != N && N - k < N_OUT) put(N - k, high[i]);
    }
}

// Transforms LINES lines, `first(i)` the place of the first element of line i; put(i, k, value) may write over the same lines.
template <int N, int N_IN, int N_OUT, bool FORWARD, int LINES, class First, class Put>
DEVICE void all_lines(const real2 *plane, int step, const real2 *table, First first, Put put) {
    const int k0 = threadIdx.x / PER_ROUND * KB;
    for (int base = 0; base < LINES; base += PER_ROUND) {
        const int i = base + threadIdx.x % PER_ROUND;
        const bool active = k0 <= N / 2 && i < LINES;
        real2 low[KB], high[KB];
        if (active) transform<N, N_IN, FORWARD>(plane + first(i), step, table, k0, low, high);
        __syncthreads();
        if (active) deliver<N, N_OUT>(k0, low, high, [&](int k, real2 value) { put(i, k, value); });
    }
    __syncthreads();
}

DEVICE int along_y(int i) { return i / CG * PITCH * CG + i % CG; }
DEVICE int along_x(int i) { return i; }
DEVICE size_t in_columns(int kz, int x, int y) { return ((size_t(kz) * MX + x) * MY + y) * KS; }
DEVICE size_t in_waves(int kz, int kx, int ky) { return ((size_t(kz) * NX + kx) * NY + ky) * KS; }

KERNEL __launch_bounds__(THREADS) void far_forward(const __grid_constant__ PlaneArgs a) {
    const real2 *columns = a.from, *turns_x = a.turns_x, *turns_y = a.turns_y;
    real2 *waves = a.to;
    SHARED(real2, shared);
    real2 *table_x = shared, *table_y = table_x + AlongX::TABLE, *plane = table_y + AlongY::TABLE;
    const int kz = blockIdx.x / GROUPS, channel = blockIdx.x % GROUPS * CG;
    load(a.tables, shared, AlongX::TABLE + AlongY::TABLE);
    await_predecessor();
    for (int i = threadIdx.x; i < MX * MY * CG; i += THREADS) {
        const int c = i % CG, y = i / CG % MY, x = i / (CG * MY);
        real2 value = columns[in_columns(kz, x, y) + channel + c];
        if (SHEARED) value = times(value, turns_y[kz * MY + y]);
        plane[(x * PITCH + y) * CG + c] = value;
    }
    __syncthreads();
    all_lines<NY, MY, NY, true, MX * CG>(plane, CG, table_y, along_y, [&](int i, int ky, real2 value) {
        if (SHEARED) value = times(value, turns_x[(ky * HZ + kz) * MX + i / CG]);
        plane[along_y(i) + ky * CG] = value;
    });
    all_lines<NX, MX, NX, true, NY * CG>(plane, PITCH * CG, table_x, along_x, [&](int i, int kx, real2 value) {
        waves[in_waves(kz, kx, i / CG) + channel + i % CG] = value;
    });
}

KERNEL __launch_bounds__(THREADS) void far_back(const __grid_constant__ PlaneArgs a) {
    const real2 *waves = a.from, *turns_x = a.turns_x, *turns_y = a.turns_y;
    real2 *columns = a.to;
    SHARED(real2, shared);
    real2 *table_x = shared, *table_y = table_x + AlongX::TABLE, *plane = table_y + AlongY::TABLE;
    const int kz = blockIdx.x / GROUPS, channel = blockIdx.x % GROUPS * CG;
    load(a.tables, shared, AlongX::TABLE + AlongY::TABLE);
    await_predecessor();
    for (int i = threadIdx.x; i < NX * NY * CG; i += THREADS) {
        const int c = i % CG, ky = i / CG % NY, kx = i / (CG * NY);
        plane[(kx * PITCH + ky) * CG + c] = waves[in_waves(kz, kx, ky) + channel + c];
    }
    __syncthreads();
    all_lines<NX, NX, MX, false, NY * CG>(plane, PITCH * CG, table_x, along_x, [&](int i, int x, real2 value) {
        if (SHEARED) value = times_conjugate(value, turns_x[(i / CG * HZ + kz) * MX + x]);
        plane[x * PITCH * CG + i] = value;
    });
    all_lines<NY, NY, MY, false, MX * CG>(plane, CG, table_y, along_y, [&](int i, int y, real2 value) {
        if (SHEARED) value = times_conjugate(value, turns_y[kz * MY + y]);
        columns[in_columns(kz, i / CG, y) + channel + i % CG] = value;
    });
}
