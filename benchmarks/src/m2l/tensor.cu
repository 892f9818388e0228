// M2L as products of matrices on tensor cores in single precision: see products.cuh.
//
// Each number is split into two of TF32 (11 significant bits), x = x₁ + x₂ + O(2⁻²² x), and a product is the sum of three:
//
//   a b ≈ a₁ b₂ + a₂ b₁ + a₁ b₁
//
// with a relative error of about 4e-7. Tensor cores cut their sums off instead of rounding them, so a sum runs over one step only and
// is then added to the total by an ordinary addition. A warp owns 16 WARP_DOWN boxes by 8 WARP_ACROSS coefficients; the warps of a block are
// WARPS_DOWN = BOXES / 16 / WARP_DOWN rows of WARPS_ACROSS. Fragments of mma.m16n8k8: lane 4 r + c holds of the sources (r, c), (r + 8, c),
// (r, c + 4), (r + 8, c + 4), of the operator (c, r), (c + 4, r), of the sum (r, 2c), (r, 2c + 1), (r + 8, 2c), (r + 8, 2c + 1).

#define WARP_DOWN 2
#define WARPS_DOWN (BOXES / 16 / WARP_DOWN)
#define WARPS_ACROSS (THREADS / 32 / WARPS_DOWN)
#define WARP_ACROSS ((COLUMNS / 8 + WARPS_ACROSS - 1) / WARPS_ACROSS)

// The nearest number of 11 significant bits.
DEVICE unsigned tf32(float x) {
#if __CUDA_ARCH__ >= 800
    unsigned out;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(x));
    return out;
#else
    return (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
#endif
}

struct Split {
    unsigned high, low;
};

DEVICE Split split(float x) {
    const unsigned high = tf32(x);
    return {high, tf32(x - __uint_as_float(high))};
}

#if __CUDA_ARCH__ >= 800
DEVICE void multiply_add(float sum[4], const unsigned a[4], const unsigned b[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

KERNEL __launch_bounds__(THREADS) void tensor(const __grid_constant__ ProductArgs given) {
    SHARED(float, shared);
    const Job job = given.jobs[blockIdx.x];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, r = lane / 4, c = lane % 4;
    const int down = warp % WARPS_DOWN * 16 * WARP_DOWN, across = warp / WARPS_DOWN * 8 * WARP_ACROSS;
    float total[WARP_DOWN][WARP_ACROSS][4] = {};
    over_steps(shared, job, given, [&](const float *rows, const float *matrix) {
        float sum[WARP_DOWN][WARP_ACROSS][4] = {};
        for (int j = 0; j < DEPTH; j += 8) {
#if __CUDA_ARCH__ >= 800
            unsigned high[WARP_DOWN][4], low[WARP_DOWN][4];
#pragma unroll
            for (int d = 0; d < WARP_DOWN; d++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const Split s = split(rows[(down + 16 * d + r + i % 2 * 8) * SOURCE_ROW + j + c + i / 2 * 4]);
                    high[d][i] = s.high, low[d][i] = s.low;
                }
            }
#pragma unroll
            for (int a = 0; a < WARP_ACROSS; a++) {
                if (across + 8 * a >= COLUMNS) continue;
                unsigned b_high[2], b_low[2];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const Split s = split(matrix[(j + c + 4 * i) * MATRIX_ROW + across + 8 * a + r]);
                    b_high[i] = s.high, b_low[i] = s.low;
                }
#pragma unroll
                for (int d = 0; d < WARP_DOWN; d++) {
                    multiply_add(sum[d][a], high[d], b_low);
                    multiply_add(sum[d][a], low[d], b_high);
                    multiply_add(sum[d][a], high[d], b_high);
                }
            }
#else
            for (int d = 0; d < WARP_DOWN; d++) {
                for (int a = 0; a < WARP_ACROSS && across + 8 * a < COLUMNS; a++) {
                    for (int i = 0; i < 4; i++) {
                        for (int k = 0; k < 8; k++) {
                            const Split x = split(rows[(down + 16 * d + r + i / 2 * 8) * SOURCE_ROW + j + k]);
                            const Split m = split(matrix[(j + k) * MATRIX_ROW + across + 8 * a + 2 * c + i % 2]);
                            const float high = __uint_as_float(x.high), low = __uint_as_float(x.low);
                            const float m_high = __uint_as_float(m.high), m_low = __uint_as_float(m.low);
                            sum[d][a][i] += high * m_low + low * m_high + high * m_high;
                        }
                    }
                }
            }
#endif
        }
#pragma unroll
        for (int d = 0; d < WARP_DOWN; d++) {
#pragma unroll
            for (int a = 0; a < WARP_ACROSS; a++) {
#pragma unroll
                for (int i = 0; i < 4; i++) total[d][a][i] += sum[d][a][i];
            }
        }
    });
#pragma unroll
    for (int d = 0; d < WARP_DOWN; d++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float *row = row_of_sum(given, blockIdx.x, job.tile, down + 16 * d + r + 8 * half);
            if (row == nullptr) continue;
#pragma unroll
            for (int a = 0; a < WARP_ACROSS; a++) {
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const int own = across + 8 * a + 2 * c + i, t = blockIdx.y * COLUMNS + own;
                    if (own < COLUMNS && t < ROW) row[t] = given.direct && given.add ? row[t] + total[d][a][2 * half + i] : total[d][a][2 * half + i];
                }
            }
        }
    }
}
