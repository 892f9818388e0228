// What every kernel file starts with: the number type `real`, shared memory, sums in a fixed order.
//
// Forces and potentials that several threads add to are 64-bit fixed-point numbers: v 2^32, energies v 2^24. Sums of integers do not
// depend on their order, so that runs repeat bit for bit. Range of a force: ±1.2e9 kJ/mol/nm at a resolution of 2e-10; of an energy:
// ±3.2e11 kJ/mol at 6e-8. Beyond it values stop at the ends, 5.5e18: a sum of up to eight of them of the same sign, wrapped or not, is beyond
// SUM_LIMIT (2.7e8 kJ/mol/nm), where no force that serves ever is and the motion stops.
//
// The same text is compiled by NVRTC for a GPU and by a C++ compiler with emulator.h for tests.

#ifndef REAL
#define REAL float
#endif
typedef REAL real;

struct alignas(2 * sizeof(real)) real2 {
    real x, y;
};
struct real3 {
    real x, y, z;
};
struct alignas(4 * sizeof(real) > 16 ? 16 : 4 * sizeof(real)) real4 {
    real x, y, z, w;
};

#ifndef EMULATOR
#define KERNEL extern "C" __global__
// Dynamic shared memory of the launch, as an array of `type`; once in a kernel.
#define SHARED(type, name)                                                                                                           \
    extern __shared__ __align__(16) unsigned char shared_bytes[];                                                                    \
    type *name = reinterpret_cast<type *>(shared_bytes)
#endif

#define DEVICE __device__ __forceinline__
#define ALL_LANES 0xffffffffu
#define FIXED_ONE 4294967296.0
#define ENERGY_ONE 16777216.0
#define FIXED_END 5.5e18
#define SUM_LIMIT (1LL << 60)

// Whether two types are the same, for assertions on the arguments of kernels.
template <class A, class B> struct same_type {
    static const bool value = false;
};
template <class A> struct same_type<A, A> {
    static const bool value = true;
};

DEVICE real2 make_real2(real x, real y) { return {x, y}; }
DEVICE real3 make_real3(real x, real y, real z) { return {x, y, z}; }
DEVICE real4 make_real4(real x, real y, real z, real w) { return {x, y, z, w}; }

DEVICE float rsqrt_r(float x) { return rsqrtf(x); }
DEVICE double rsqrt_r(double x) { return rsqrt(x); }

// v in units of 1/one, at the ends of the range if beyond it; not-a-number becomes the lower end.
DEVICE long long to_fixed(double v, double one) {
    return __double2ll_rn(fmin(fmax(v * one, -FIXED_END), FIXED_END));
}

DEVICE void add_fixed(long long *sum, double v) {
    atomicAdd(reinterpret_cast<unsigned long long *>(sum), static_cast<unsigned long long>(to_fixed(v, FIXED_ONE)));
}

DEVICE void add_energy(long long *sum, double v) {
    atomicAdd(reinterpret_cast<unsigned long long *>(sum), static_cast<unsigned long long>(to_fixed(v, ENERGY_ONE)));
}

// Sum over the 32 lanes of a warp, the same in every lane; all lanes must take part.
template <class T> DEVICE T warp_sum(T v) {
    for (int distance = 16; distance > 0; distance >>= 1) v += __shfl_xor_sync(ALL_LANES, v, distance);
    return v;
}

// Sum over a block of whole warps, in thread 0; `scratch`: shared memory for 32 values. All threads must take part; ends with a barrier.
template <class T> DEVICE T block_sum(T v, T *scratch) {
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
    v = warp_sum(v);
    if (thread % 32 == 0) scratch[thread / 32] = v;
    __syncthreads();
    if (thread == 0) {
        for (unsigned w = 1; w < warps; w++) v += scratch[w];
    }
    __syncthreads();
    return v;
}
