// The most that the device does: fused multiply-adds in registers.
//
// A thread has CHAINS sums in flight, x ← a x + b, `steps` of each.

#define CHAINS 16

KERNEL void multiply_adds(const __grid_constant__ PeakArgs args) {
    const real a = args.a, b = args.b;
    real x[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++) x[i] = real(threadIdx.x + i);
    for (int s = 0; s < args.steps; s++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) x[i] = a * x[i] + b;
    }
    real sum = 0;
    for (int i = 0; i < CHAINS; i++) sum += x[i];
    args.out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
