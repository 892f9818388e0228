// Channels, and the discrete Fourier transform of a line of boxes of any length n.
//
// The K = (p+1)^2 coefficients (l, m) of an expansion are numbered as the recurrences of the harmonics make them: m = 0 with l = 0..p, then for
// m = 1, 2, …, p the pairs (l, m), (l, -m) with l = m..p; K is padded with zeros to KS.
//
//   X_k = Σ_j x_j e^{∓2πijk/n} = C_k ∓ i S_k,   X_{n-k} = C_k ± i S_k,
//   C_k = x_0 + (-1)^k x_{n/2} + Σ_j (x_j + x_{n-j}) cos(2πjk/n),   S_k = Σ_j (x_j - x_{n-j}) sin(2πjk/n),   j = 1..(n-1)/2.
//
// A thread makes KB values of k of two real numbers (a complex one, or two channels) at a time, so that each number read serves 2 KB
// multiplications. A table holds (cos, sin), [j - 1][k], rows of BLOCKS KB wave numbers; all beyond n/2 are zero.

template <int N> struct Line {
    static const int PAIRS = (N - 1) / 2, HALF = N / 2 + 1, BLOCKS = (HALF + KB - 1) / KB, WIDTH = BLOCKS * KB;
    static const int TABLE = PAIRS * WIDTH;
};

struct Pair {
    real2 sum, difference;
};

DEVICE real2 added(real2 a, real2 b) { return make_real2(a.x + b.x, a.y + b.y); }
DEVICE real2 less(real2 a, real2 b) { return make_real2(a.x - b.x, a.y - b.y); }
DEVICE real2 times(real2 a, real2 b) { return make_real2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
DEVICE real2 times_conjugate(real2 a, real2 b) { return make_real2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y); }

// C_k and S_k for k = k0 … k0 + KB - 1; fetch(j) makes x_j ± x_{n-j}.
template <int N, class Fetch>
DEVICE void fold(const real2 *table, int k0, real2 first, real2 middle, Fetch fetch, real2 (&c)[KB], real2 (&s)[KB]) {
    typedef Line<N> L;
#pragma unroll
    for (int k = 0; k < KB; k++) {
        c[k] = ((k0 + k) & 1) ? less(first, middle) : added(first, middle);
        s[k] = make_real2(0, 0);
    }
#pragma unroll 4
    for (int j = 1; j <= L::PAIRS; j++) {
        const Pair x = fetch(j);
        const real2 *row = table + (j - 1) * L::WIDTH + k0;
        real2 w[KB];
        if (KB % 2 == 0) {
#pragma unroll
            for (int k = 0; k + 1 < KB; k += 2) {
                const real4 two = *reinterpret_cast<const real4 *>(row + k);
                w[k] = make_real2(two.x, two.y);
                w[k + 1] = make_real2(two.z, two.w);
            }
        } else {
#pragma unroll
            for (int k = 0; k < KB; k++) w[k] = row[k];
        }
#pragma unroll
        for (int k = 0; k < KB; k++) {
            c[k].x += w[k].x * x.sum.x;
            c[k].y += w[k].x * x.sum.y;
            s[k].x += w[k].y * x.difference.x;
            s[k].y += w[k].y * x.difference.y;
        }
    }
}

// Box j of a line of N_IN given ones, the others empty.
template <int N_IN> DEVICE real2 box(const real2 *line, int step, int j) {
    return j < N_IN ? line[j * step] : make_real2(0, 0);
}

// Copies n elements to shared memory.
DEVICE void load(const real2 *from, real2 *to, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}
