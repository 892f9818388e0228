// Multipoles of the root grid to columns of waves, and back to local expansions: the transforms along z, for trees that are refined.
//
//   M_c(x, y, κz) = Σ_z e^{-2πi κz z/n} M_c(x, y, z),   L_c(x, y, z) likewise with the other sign
//
// as in multipoles.cu and potentials.cu, which make the multipoles and use the local expansions at once. A block takes one column of boxes.
// rows: [box, z fastest][ROW], channels; columns[κz][x][y][channel], complex.

typedef Line<NZ> AlongZ;

static const int HZ = NZ / 2 + 1, PAIRS = KS / 2;

KERNEL __launch_bounds__(THREADS) void root_columns(const __grid_constant__ RootColumnArgs args) {
    const real2 *table = args.table;
    SHARED(real2, moments); // [MZ][PAIRS]
    const int column = blockIdx.x;
    for (int i = threadIdx.x; i < MZ * PAIRS; i += THREADS) {
        const real *from = args.rows + (size_t)(column * MZ + i / PAIRS) * ROW + 2 * (i % PAIRS);
        moments[i] = make_real2(from[0], from[1]);
    }
    __syncthreads();
    for (int task = threadIdx.x; task < PAIRS * AlongZ::BLOCKS; task += THREADS) {
        const int pair = task % PAIRS, k0 = task / PAIRS * KB;
        const real2 *line = moments + pair;
        const auto fetch = [&](int j) {
            const real2 a = box<MZ>(line, PAIRS, j), b = box<MZ>(line, PAIRS, NZ - j);
            return Pair{added(a, b), less(a, b)};
        };
        real2 c[KB], s[KB];
        const real2 middle = NZ % 2 == 0 ? box<MZ>(line, PAIRS, NZ / 2) : make_real2(0, 0);
        fold<NZ>(table, k0, line[0], middle, fetch, c, s);
#pragma unroll
        for (int k = 0; k < KB; k++) {
            if (k0 + k >= AlongZ::HALF) continue;
            real2 *to = args.columns + ((size_t)(k0 + k) * (MX * MY) + column) * KS + 2 * pair;
            to[0] = make_real2(c[k].x, -s[k].x);
            to[1] = make_real2(c[k].y, -s[k].y);
        }
    }
}

KERNEL __launch_bounds__(THREADS) void root_locals(const __grid_constant__ RootLocalArgs args) {
    const real2 *table = args.table;
    SHARED(real4, spectrum); // [HZ][PAIRS]
    const int column = blockIdx.x;
    for (int i = threadIdx.x; i < HZ * PAIRS; i += THREADS) {
        const real2 *from = args.columns + ((size_t)(i / PAIRS) * (MX * MY) + column) * KS + 2 * (i % PAIRS);
        spectrum[i] = make_real4(from[0].x, from[0].y, from[1].x, from[1].y);
    }
    __syncthreads();
    const auto store = [&](int z, int pair, real2 v) {
        real *to = args.rows + (size_t)(column * MZ + z) * ROW + 2 * pair;
        to[0] = v.x;
        to[1] = v.y;
    };
    for (int task = threadIdx.x; task < PAIRS * AlongZ::BLOCKS; task += THREADS) {
        const int pair = task % PAIRS, k0 = task / PAIRS * KB;
        const real4 *line = spectrum + pair;
        const auto fetch = [&](int j) {
            const real4 x = line[j * PAIRS];
            return Pair{make_real2(2 * x.x, 2 * x.z), make_real2(2 * x.y, 2 * x.w)};
        };
        real2 c[KB], s[KB];
        const real4 first = line[0], middle = NZ % 2 == 0 ? line[NZ / 2 * PAIRS] : make_real4(0, 0, 0, 0);
        fold<NZ>(table, k0, make_real2(first.x, first.z), make_real2(middle.x, middle.z), fetch, c, s);
#pragma unroll
        for (int k = 0; k < KB; k++) {
            const int z = k0 + k;
            if (z > NZ / 2) continue;
            if (z < MZ) store(z, pair, less(c[k], s[k]));
            if (z > 0 && 2 * z != NZ && NZ - z < MZ) store(NZ - z, pair, added(c[k], s[k]));
        }
    }
}
