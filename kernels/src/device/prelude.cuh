// What every kernel file starts with: the number type `real`, shared memory, sums in a fixed order.
//
// Forces and potentials that several threads add to are 64-bit fixed-point numbers: v 2^32, energies v 2^24. Sums of integers do not
// depend on their order, so that runs repeat bit for bit. Range of a force: ±1.2e9 kJ/mol/nm at a resolution of 2e-10; of an energy:
// ±3.2e11 kJ/mol at 6e-8. Beyond it values stop at the ends, 5.5e18: a sum of up to eight of them of the same sign, wrapped or not, is beyond
// SUM_LIMIT (2.7e8 kJ/mol/nm), where no force that serves ever is and the motion stops.
//
// Operations in double precision are dear: many GPUs have two units for it where they have 128 for single precision, and conversions from and to
// 64-bit types go through them. So ends are looked for among integers, and a float becomes a fixed-point number without them.
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

#ifndef EMULATOR
// Waits until the kernel ahead in this stream has ended and what it wrote is there, then lets the next one start. Called once by all threads of a kernel that
// is declared as one that may start early (`Source::early_kernel`); without effect where it was not started early, and on GPUs that do not do it.
DEVICE void await_predecessor() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

#define ALL_LANES 0xffffffffu
#define FIXED_ONE 4294967296.0
#define ENERGY_ONE 16777216.0
#define FIXED_END 5500000000000000000LL
// The same as a force, kJ/mol/nm.
#define FORCE_END 1280568448.0f
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
    // What the conversion makes of numbers beyond those of 64 bits is beyond the ends as well; of not-a-number it makes the lowest one.
    return max(min(__double2ll_rn(v * one), FIXED_END), -FIXED_END);
}

// The same of a force: as exact, with what is before and behind the point by themselves.
DEVICE long long force_to_fixed(float v) {
    // Not-a-number becomes the lower end.
    v = fminf(fmaxf(v, -FORCE_END), FORCE_END);
    const int whole = (int)v;
    const float rest = v - (float)whole;
    const long long part = __float2uint_rn(fabsf(rest) * (float)FIXED_ONE);
    return whole * (1LL << 32) + (rest < 0.0f ? -part : part);
}
DEVICE long long force_to_fixed(double v) { return to_fixed(v, FIXED_ONE); }

DEVICE void add_whole(long long *sum, long long v) {
    atomicAdd(reinterpret_cast<unsigned long long *>(sum), static_cast<unsigned long long>(v));
}

template <class T> DEVICE void add_fixed(long long *sum, T v) { add_whole(sum, force_to_fixed(v)); }

DEVICE void add_energy(long long *sum, double v) { add_whole(sum, to_fixed(v, ENERGY_ONE)); }

// Sum over the 32 lanes of a warp, the same in every lane; all lanes must take part.
template <class T> DEVICE T warp_sum(T v) {
    for (int distance = 16; distance > 0; distance >>= 1) v += __shfl_xor_sync(ALL_LANES, v, distance);
    return v;
}

// Sums over the 32 lanes of a warp of eight numbers each, of number q in lanes 4 q to 4 q + 3; all lanes must take part. Nine additions, where eight
// sums one by one take forty: of each two numbers a lane goes on with one and gives away the other.
template <class T> DEVICE T warp_sums(T (&v)[8]) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned half = 4; half > 0; half /= 2) {
        const bool upper = lane & 4 * half;
#pragma unroll
        for (unsigned i = 0; i < half; i++) {
            const T given = upper ? v[i] : v[i + half], kept = upper ? v[i + half] : v[i];
            v[i] = kept + __shfl_xor_sync(ALL_LANES, given, 4 * half);
        }
    }
    T sum = v[0] + __shfl_xor_sync(ALL_LANES, v[0], 2);
    return sum + __shfl_xor_sync(ALL_LANES, sum, 1);
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
