// The most that tensor cores do: products of matrices, TF32 in, single precision out.
//
// A warp has CHAINS products of 16 × 8 by 8 × 8 in flight, `steps` of each.

#define CHAINS 16

KERNEL void matrix_products(const __grid_constant__ CeilingArgs args) {
    float x[CHAINS][4] = {};
#if __CUDA_ARCH__ >= 800
    const unsigned bits = __float_as_uint(args.a);
    for (int s = 0; s < args.steps; s++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) {
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                         : "+f"(x[i][0]), "+f"(x[i][1]), "+f"(x[i][2]), "+f"(x[i][3])
                         : "r"(bits));
        }
    }
#endif
    float sum = 0;
    for (int i = 0; i < CHAINS; i++) sum += x[i][0] + x[i][1] + x[i][2] + x[i][3];
    args.out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
