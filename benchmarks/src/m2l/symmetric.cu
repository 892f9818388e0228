// M2L with presorted lists and 34 operators instead of 316: reflections are signs, the exchange of x and y is a signed permutation.
//
// With S the reflections of the axes where u is negative and P the exchange of x and y (where |u_x| > |u_y|), u = S P r, r of the 34:
//
//   L_t += σ_t(S) ε_t [ Σ_j M(r)_j· ε_πj σ_πj(S) ω_πj ]_πt
//
// Signs σ are bitsets over the coefficients, one for each S. Lists of a tile of BOXES target boxes of one octant are sorted by operator, which
// is read into shared memory once for all of its up to 16 offsets. After B. Kohnke et al., Int. J. High Perform. Comput. Appl. 35, 97
// (2021), doi:10.1177/1094342020964857, approach 3 (there without the exchange). `entries`: 16 operator + 8 P + S.
// `exchange`: π of each coefficient, its sign ε in bit 16. One thread for each coefficient t. Lists as in products.cuh, rows and operators as
// in level.cuh.

DEVICE real signed_by(real v, unsigned bit) { return bit & 1 ? -v : v; }

KERNEL __launch_bounds__(THREADS) void symmetric(const __grid_constant__ SymmetricArgs a) {
    const real *multipoles = a.multipoles, *operators = a.operators;
    real *locals = a.locals;
    const unsigned *targets = a.targets, *starts = a.starts, *entries = a.entries, *sources = a.sources;
    const unsigned *bitsets = a.bitsets, *exchange = a.exchange;
    SHARED(real, shared);
    real *matrix = shared;                 // [DEPTH][ROW]
    real *rows = shared + DEPTH * ROW;     // [BOXES][DEPTH]
    real *turned = rows + BOXES * DEPTH;   // [BOXES][ROW]
    const unsigned tile = blockIdx.x, last = starts[tile + 1];
    const int t = threadIdx.x, column = t < K ? t : K - 1;
    const unsigned pi = exchange[column] & 0xffff, epsilon = exchange[pi] >> 16;
    real plain[BOXES] = {}, swapped[BOXES] = {};
    unsigned begin = starts[tile];
    while (begin < last) {
        const unsigned slot = entries[begin] >> 4;
        unsigned end = begin;
        while (end < last && entries[end] >> 4 == slot) end++;
        for (int first = 0; first < K; first += DEPTH) {
            __syncthreads();
            for (int i = t; i < DEPTH * ROW; i += THREADS) {
                const int j = first + i / ROW;
                matrix[i] = j < ROW ? operators[((size_t)slot * ROW + j) * ROW + i % ROW] : real(0);
            }
            for (unsigned entry = begin; entry < end; entry++) {
                const unsigned *signs = bitsets + (entries[entry] & 7) * WORDS;
                const bool swap = entries[entry] >> 3 & 1;
                __syncthreads();
                for (int i = t; i < BOXES * DEPTH; i += THREADS) {
                    const unsigned source = sources[entry * BOXES + i / DEPTH];
                    const int j = first + i % DEPTH;
                    real v = 0;
                    if (source != NONE && j < K) {
                        const unsigned from = swap ? exchange[j] & 0xffff : j, sign = swap ? exchange[from] >> 16 : 0;
                        v = signed_by(multipoles[(size_t)source * ROW + from], signs[from / 32] >> from % 32 ^ sign);
                    }
                    rows[i] = v;
                }
                __syncthreads();
                real sum[BOXES] = {};
                if (t < K) {
                    for (int j = 0; j < DEPTH; j++) {
                        const real m = matrix[j * ROW + t];
#pragma unroll
                        for (int b = 0; b < BOXES; b++) sum[b] += m * rows[b * DEPTH + j];
                    }
                }
                const unsigned to = swap ? pi : column, bit = signs[to / 32] >> to % 32 ^ (swap ? epsilon : 0);
#pragma unroll
                for (int b = 0; b < BOXES; b++) {
                    const real v = signed_by(sum[b], bit);
                    if (swap) swapped[b] += v;
                    else plain[b] += v;
                }
            }
        }
        begin = end;
    }
    // Thread t has the exchanged sums of coefficient πt.
    for (int b = 0; b < BOXES; b++) {
        if (t < K) turned[b * ROW + pi] = swapped[b];
    }
    __syncthreads();
    for (int b = 0; b < BOXES; b++) {
        const unsigned target = targets[tile * BOXES + b];
        if (target != NONE && t < K) locals[(size_t)target * ROW + t] = plain[b] + turned[b * ROW + t];
    }
}
