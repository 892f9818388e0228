// L(κ) = T(κ) M(κ) for all wave vectors, in place: waves[κz][κx][κy][channel].
//
// With V_LM = (-1)^⌊L/2⌋ N_LM a_LM / √2^(M≠0), a the Fourier coefficients of the lattice sums up to L = 2p (see lattice/waves.rs), and
// V_{L,-M} = (-1)^M V*_LM the elements for source (j, ±k) and target (l, ±m) are real and imaginary parts of V_{l+j,m±k}:
//
//   cos from cos:  re+ + o re-    cos from sin:  im+ - o im-    sin from cos:  im+ + o im-    sin from sin:  o re- - re+,   o = (-1)^k
//
// once sources are multiplied by n_jk (-i)^j and targets by n_lm i^l, n = 1/N, times 1/√2 where m = 0. So an operator is (2p+1)^2 numbers, its
// elements are made when they are used, and each serves VECTORS real numbers: re and im of the wave vectors (±κx, ±κy, κz) if the grid has
// mirror symmetry (IMAGES = 4; parities of the harmonics), else of one. N_LM s^L and n s^-l with s ≈ e/2p keep all within the range of f32.
//
// A block makes one operator. A tile is ROWS targets (l, ±m), (l+1, ±m), …; four neighbouring lanes share one and take every fourth source each.

static const int K = (ORDER + 1) * (ORDER + 1), HALF = (2 * ORDER + 1) * (ORDER + 1), SOURCES = (ORDER + 1) * (ORDER + 2) / 2;
static const int VECTORS = 2 * IMAGES;
// cos and sin of all vectors, and 16 bytes so that the four sources read together are in different banks.
static const int ROW = 2 * VECTORS + 16 / int(sizeof(real));
static const int HZ = NZ / 2 + 1;
// Rows that are summed over the four lanes: 2 or 4.
static const int SUMMED = ROWS > 2 ? 4 : 2;

// x (-i)^degree or x i^degree.
DEVICE real2 turned(real2 x, int degree) {
    switch (degree & 3) {
    case 0: return x;
    case 1: return make_real2(x.y, -x.x);
    case 2: return make_real2(-x.x, -x.y);
    default: return make_real2(-x.y, x.x);
    }
}

// Wave vector of mirror image `image` (bit 0: -κx, bit 1: -κy) of (x, y): its row in a plane of κz; -1 if it is not another one.
DEVICE int image_of(int x, int y, int image) {
    if ((image & 1) && (x == 0 || 2 * x == NX)) return -1;
    if ((image & 2) && (y == 0 || 2 * y == NY)) return -1;
    return ((image & 1) ? NX - x : x) * NY + ((image & 2) ? NY - y : y);
}

// Sums of two halves of the lanes: those with the bit keep the second half of the numbers.
template <int N> DEVICE void split(real *v, int bit) {
    const bool upper = threadIdx.x & bit;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const real given = upper ? v[i] : v[i + N], kept = upper ? v[i + N] : v[i];
        v[i] = kept + __shfl_xor_sync(ALL_LANES, given, bit);
    }
}

// N numbers, an even number of them.
template <int N> DEVICE void read(const real *from, real (&x)[N]) {
#pragma unroll
    for (int n = 0; n + 3 < N; n += 4) {
        const real4 four = *reinterpret_cast<const real4 *>(from + n);
        x[n] = four.x;
        x[n + 1] = four.y;
        x[n + 2] = four.z;
        x[n + 3] = four.w;
    }
    if (N % 4 == 2) {
        const real2 two = *reinterpret_cast<const real2 *>(from + N - 2);
        x[N - 2] = two.x;
        x[N - 1] = two.y;
    }
}

// From V_lm of a degree to that of the next; beyond the last degree a target is the one before it once more.
DEVICE int next(int l, Origin o) { return l < ORDER ? 2 * l + 2 + o.twice : 0; }

// Every fourth source's part of the targets of a tile: cosines, then sines of all vectors, of l, then of l + 1, …; `v` at V_lm.
DEVICE void product(const real2 *v, int l, const Origin *origin, const real *sources, real (&sums)[2 * SUMMED * VECTORS]) {
#pragma unroll
    for (int i = 0; i < 2 * SUMMED * VECTORS; i++) sums[i] = 0;
    int i = threadIdx.x & 3;
    // k = 0: no sines, and V_{l+j,m} twice; these are the first sources.
    for (; i <= ORDER; i += 4) {
        const Origin o = origin[i];
        real x[VECTORS];
        read<VECTORS>(sources + i * ROW, x);
        const real2 *at = v + l * o.twice + o.plus;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const real c = 2 * at->x, s = 2 * at->y;
#pragma unroll
            for (int n = 0; n < VECTORS; n++) {
                sums[row * 2 * VECTORS + n] += c * x[n];
                sums[row * 2 * VECTORS + VECTORS + n] += s * x[n];
            }
            at += next(l + row, o);
        }
    }
    for (; i < SOURCES; i += 4) {
        const Origin o = origin[i];
        real x[2 * VECTORS];
        read<2 * VECTORS>(sources + i * ROW, x);
        const real sign = o.is_odd ? -1 : 1;
        const real2 *at = v + l * o.twice;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const real2 plus = at[o.plus], minus = at[o.minus];
            const real cc = plus.x + sign * minus.x, sc = plus.y - sign * minus.y;
            const real cs = plus.y + sign * minus.y, ss = sign * minus.x - plus.x;
#pragma unroll
            for (int n = 0; n < VECTORS; n++) {
                real &cosine = sums[row * 2 * VECTORS + n], &sine = sums[row * 2 * VECTORS + VECTORS + n];
                cosine += cc * x[n];
                cosine += sc * x[VECTORS + n];
                sine += cs * x[n];
                sine += ss * x[VECTORS + n];
            }
            at += next(l + row, o);
        }
    }
}

KERNEL __launch_bounds__(THREADS) void far_operators(const __grid_constant__ OperatorArgs a) {
    const real *scales = a.scales;
    const int n_tiles = a.n_tiles;
    SHARED(real4, shared);
    real2 *v = reinterpret_cast<real2 *>(shared);
    Origin *origin = reinterpret_cast<Origin *>(v + ((2 * ORDER + 1) * (2 * ORDER + 1) + 1) / 2 * 2);
    real *sources = reinterpret_cast<real *>(origin + SOURCES);
    const int ux = blockIdx.x / (UNIQUE_Y * HZ), uy = blockIdx.x / HZ % UNIQUE_Y, kz = blockIdx.x % HZ;
    const int thread = threadIdx.x;
    real2 *plane = a.waves + size_t(kz) * (NX * NY) * KS;
    const real2 *coefficients = a.coefficients + size_t(blockIdx.x) * HALF;
    for (int i = thread; i < HALF; i += THREADS) {
        const real2 value = coefficients[i];
        const int plus = a.places[i] & 0xffff, minus = a.places[i] >> 16, sign = (plus - minus) & 2 ? -1 : 1;
        v[minus] = make_real2(sign * value.x, -sign * value.y);
        v[plus] = value;
    }
    for (int i = thread; i < SOURCES; i += THREADS) origin[i] = a.origins[i];
    await_predecessor();
    for (int i = thread; i < IMAGES * K; i += THREADS) {
        const int channel = i % K, image = i / K, row = image_of(ux, uy, image);
        const Channel c = a.channels[channel];
        const bool negative = ((image & 1) && c.is_odd_x) != ((image & 2) && c.is_odd_y);
        const real scale = negative ? -scales[channel] : scales[channel];
        const real2 value = row < 0 ? make_real2(0, 0) : turned(plane[size_t(row) * KS + channel], c.degree);
        sources[c.at + 2 * image] = scale * value.x;
        sources[c.at + 2 * image + 1] = scale * value.y;
    }
    __syncthreads();
    const int part = thread & 3;
    for (int base = 0; base < n_tiles; base += THREADS / 4) {
        const bool active = base + thread / 4 < n_tiles;
        const int2 tile = a.tiles[active ? base + thread / 4 : 0];
        const int l = tile.x, m = tile.y;
        real sums[2 * SUMMED * VECTORS];
        product(v + l * l + l + m, l, origin, sources, sums);
        // Four rows: each lane ends with one; two rows: with the cosine or the sine of one.
        split<SUMMED * VECTORS>(sums, 2);
        split<SUMMED * VECTORS / 2>(sums, 1);
        const int row = SUMMED == 4 ? part : part / 2, degree = l + row;
        if (!active || row >= ROWS || degree > ORDER) continue;
#pragma unroll
        for (int kind = 0; kind < SUMMED / 2; kind++) {
            const int is_sine = SUMMED == 4 ? kind : part & 1;
            if (m == 0 && is_sine) continue;
            const int channel = m == 0 ? degree : (ORDER + 1) * (2 * m - 1) - m * (m - 1) + 2 * (degree - m) + is_sine;
            const real scale = scales[channel];
#pragma unroll
            for (int image = 0; image < IMAGES; image++) {
                const int to = image_of(ux, uy, image);
                if (to < 0) continue;
                const bool negative = ((image & 1) && ((m & 1) != is_sine)) != ((image & 2) && is_sine);
                const real factor = negative ? -scale : scale, *sum = sums + kind * VECTORS + 2 * image;
                plane[size_t(to) * KS + channel] = turned(make_real2(factor * sum[0], factor * sum[1]), -degree);
            }
        }
    }
}
