// Near field: every particle with all particles of the boxes near its own, itself left out.
//
//   φ_i = Σ_j q_j / r_ij     E_i = Σ_j q_j d_ij / r_ij³     in units of the box; d_ij = x_i − x_j − shift of the box of j
//
// One block for each leaf. Its sources are copied side by side into shared memory, LANES threads for each near box, and each thread takes
// TARGETS targets and every slices-th source. The partial sums of the slices are then added in order. All pairs from both sides.
// sorted, out: by sorted place (x, y, z, q) and (φ, E). runs: for each near box its first place, number of particles, where they begin among
// the sources of the leaf, and which shift. shifts: displacement of each near offset.

#ifndef THREADS
#define THREADS 128
#endif
#ifndef TARGETS
#define TARGETS 2
#endif
#ifndef SOURCES
#define SOURCES 512
#endif
#ifndef LANES
#define LANES 8
#endif
#ifndef UNROLL
#define UNROLL 2
#endif
// Slices at most: their partial sums are added by one thread.
#define MAX_SLICES 32
#define BATCH (THREADS * TARGETS)
#define STAGE (SOURCES > BATCH ? SOURCES : BATCH)

KERNEL __launch_bounds__(THREADS) void near_field(const __grid_constant__ NearArgs args) {
    const real4 *sorted = args.sorted, *shifts = args.shifts;
    const uint4 *runs = args.runs;
    __shared__ real4 stage[STAGE];
    const int thread = threadIdx.x, leaf = blockIdx.x;
    const int first = args.starts[leaf], n_all = (int)args.starts[leaf + 1] - first;
    if (n_all == 0) return;
    const int begin = args.near_starts[leaf], end = args.near_starts[leaf + 1];
    const uint4 last = runs[end - 1];
    const int n_sources = last.z + last.y;

    for (int batch = 0; batch < n_all; batch += BATCH) {
        const int n_targets = min(n_all - batch, BATCH);
        const int tuples = (n_targets + TARGETS - 1) / TARGETS;
        const int slices = min(THREADS / tuples, MAX_SLICES);
        const int slice = thread / tuples, tuple = thread - slice * tuples;
        real4 target[TARGETS], sum[TARGETS];
#pragma unroll
        for (int m = 0; m < TARGETS; ++m) {
            target[m] = sorted[first + batch + min(tuple + m * tuples, n_targets - 1)];
            sum[m] = make_real4(0, 0, 0, 0);
        }
        for (int from = 0; from < n_sources; from += SOURCES) {
            const int n = min(n_sources - from, SOURCES);
            __syncthreads();
            for (int e = begin + thread / LANES; e < end; e += THREADS / LANES) {
                const uint4 run = runs[e];
                const real4 shift = shifts[run.w];
                for (int j = thread % LANES; j < (int)run.y; j += LANES) {
                    const int to = (int)run.z + j - from;
                    if (to >= 0 && to < n) stage[to] = shifted(sorted[run.x + j], shift);
                }
            }
            __syncthreads();
            const real4 *next = stage + slice;
            int left = slice < slices ? (n - slice + slices - 1) / slices : 0;
            for (; left >= UNROLL; left -= UNROLL) {
#pragma unroll
                for (int j = 0; j < UNROLL; ++j, next += slices) {
                    const real4 source = *next;
#pragma unroll
                    for (int m = 0; m < TARGETS; ++m) add_pair(target[m], source, sum[m]);
                }
            }
#pragma unroll 1
            for (; left > 0; --left, next += slices) {
                const real4 source = *next;
#pragma unroll
                for (int m = 0; m < TARGETS; ++m) add_pair(target[m], source, sum[m]);
            }
        }
        __syncthreads();
        const int slots = tuples * TARGETS;
        if (slice < slices) {
#pragma unroll
            for (int m = 0; m < TARGETS; ++m) stage[slice * slots + m * tuples + tuple] = sum[m];
        }
        __syncthreads();
        const real *parts = (const real *)stage;
        real *result = (real *)(args.out + first + batch);
        for (int v = thread; v < 4 * n_targets; v += THREADS) {
            real total = 0;
            for (int s = 0; s < slices; ++s) total += parts[4 * slots * s + v];
            result[v] = total;
        }
    }
}
