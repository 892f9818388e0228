// M2L as products of matrices by fused multiply-adds: see products.cuh. A thread owns DOWN boxes, one in every BOXES / DOWN, and ACROSS
// neighbouring coefficients.

#define ACROSS 4
#define GROUPS (BOXES / DOWN)

KERNEL __launch_bounds__(THREADS) void product(const __grid_constant__ ProductArgs given) {
    SHARED(real, shared);
    const Job job = given.jobs[blockIdx.x];
    const int group = threadIdx.x % GROUPS, across = threadIdx.x / GROUPS * ACROSS;
    const bool works = across < COLUMNS;
    real sum[DOWN][ACROSS] = {};
    over_steps(shared, job, given, [&](const real *rows, const real *matrix) {
        if (!works) return;
#pragma unroll 2
        for (int j = 0; j < DEPTH; j += LANES) {
            Pack a[DOWN];
#pragma unroll
            for (int i = 0; i < DOWN; i++) a[i] = *reinterpret_cast<const Pack *>(rows + (group + i * GROUPS) * SOURCE_ROW + j);
#pragma unroll
            for (int lane = 0; lane < LANES; lane++) {
                real m[ACROSS];
#pragma unroll
                for (int c = 0; c < ACROSS; c += LANES) {
                    const Pack four = *reinterpret_cast<const Pack *>(matrix + (j + lane) * MATRIX_ROW + across + c);
#pragma unroll
                    for (int k = 0; k < LANES; k++) m[c + k] = four.v[k];
                }
#pragma unroll
                for (int i = 0; i < DOWN; i++) {
#pragma unroll
                    for (int c = 0; c < ACROSS; c++) sum[i][c] += a[i].v[lane] * m[c];
                }
            }
        }
    });
    if (!works) return;
    for (int i = 0; i < DOWN; i++) {
        real *row = row_of_sum(given, blockIdx.x, job.tile, group + i * GROUPS);
        if (row == nullptr) continue;
        for (int c = 0; c < ACROSS; c++) {
            const int t = blockIdx.y * COLUMNS + across + c;
            if (t < ROW) row[t] = given.direct && given.add ? row[t] + sum[i][c] : sum[i][c];
        }
    }
}
