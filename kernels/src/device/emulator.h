// CUDA C++ on a CPU, for tests: the threads of a block are fibers that switch at barriers and warp intrinsics.
//
// Blocks run one after the other, and between two barriers of a block its warps, each up to the next barrier. Warps, and the threads of a warp between two
// of its own meetings, run one by one, every other time in reverse order, so that a missing barrier or a reliance on lockstep shows. Dynamic shared
// memory starts as not-a-number patterns. Statics are shared memory: one launch at a time of the kernels of a library.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define EMULATOR 1
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __grid_constant__
#define KERNEL extern "C"
#define SHARED(type, name) type *name = reinterpret_cast<type *>(emulator::dynamic_shared)

struct dim3 {
    unsigned x, y, z;
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

#define EMULATOR_VECTOR(T, N)                                                                                                        \
    struct alignas((sizeof(T) * 2 > 16 ? 16 : sizeof(T) * 2)) N##2 {                                                                 \
        T x, y;                                                                                                                      \
    };                                                                                                                               \
    struct N##3 {                                                                                                                    \
        T x, y, z;                                                                                                                   \
    };                                                                                                                               \
    struct alignas((sizeof(T) * 4 > 16 ? 16 : sizeof(T) * 4)) N##4 {                                                                 \
        T x, y, z, w;                                                                                                                \
    };                                                                                                                               \
    inline N##2 make_##N##2(T x, T y) { return {x, y}; }                                                                             \
    inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                                                                     \
    inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMULATOR_VECTOR(float, float)
EMULATOR_VECTOR(double, double)
EMULATOR_VECTOR(int, int)
EMULATOR_VECTOR(unsigned, uint)
EMULATOR_VECTOR(long long, longlong)
EMULATOR_VECTOR(short, short)
EMULATOR_VECTOR(unsigned short, ushort)
EMULATOR_VECTOR(unsigned char, uchar)

namespace emulator {

static unsigned char *dynamic_shared;
static size_t dynamic_room;
static const size_t STACK = 128 * 1024;
static const unsigned MAX_THREADS = 1024; // of a block

enum State { READY, AT_BLOCK, AT_WARP, DONE };

struct Fiber {
    State state;
    dim3 thread;
    unsigned turn;
    bool awaited;
    unsigned char *stack;
#if defined(__x86_64__)
    void *sp;
#else
    ucontext_t context;
#endif
};

struct Warp {
    alignas(16) unsigned char slots[2][32][16];
};

static Fiber fibers[MAX_THREADS];
static Warp warps[MAX_THREADS / 32];
static struct Memory {
    ~Memory() {
        for (Fiber &fiber : fibers) free(fiber.stack);
        free(dynamic_shared);
    }
} memory;
static unsigned current;
static bool hasty; // A thread has ended without having waited for the kernel ahead.
static void (*body)(void *);
static void *arguments;

#if defined(__x86_64__)
extern "C" void emulator_switch(void **from, void *to);
asm(R"(
.text
.local emulator_switch
.type emulator_switch,@function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
static void *scheduler;
static void entry();
inline void leave() { emulator_switch(&fibers[current].sp, scheduler); }
inline void enter() { emulator_switch(&scheduler, fibers[current].sp); }
static void start(Fiber &fiber) {
    // Stacks begin in different lines of a page: otherwise all of them compete for the same few places in the caches.
    const size_t line = (&fiber - fibers) % 61;
    uintptr_t top = reinterpret_cast<uintptr_t>(fiber.stack + STACK - 64 * line) & ~uintptr_t(15);
    void **sp = reinterpret_cast<void **>(top);
    *--sp = nullptr;
    *--sp = reinterpret_cast<void *>(entry);
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    fiber.sp = sp;
}
#else
static ucontext_t scheduler;
static void entry();
inline void leave() { swapcontext(&fibers[current].context, &scheduler); }
inline void enter() { swapcontext(&scheduler, &fibers[current].context); }
static void start(Fiber &fiber) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, entry, 0);
}
#endif

static void entry() {
    body(arguments);
    fibers[current].state = DONE;
    leave();
    abort();
}

inline void wait(State state) {
    fibers[current].state = state;
    leave();
}

// Runs a warp, threads `first` up to `end`, until each has ended or waits for the block; false if some wait there and others for the warp.
static bool run_warp(unsigned first, unsigned end, bool backwards) {
    for (;; backwards = !backwards) {
        bool at_block = false, at_warp = false;
        for (unsigned k = first; k < end; k++) {
            current = backwards ? first + end - 1 - k : k;
            Fiber &fiber = fibers[current];
            if (fiber.state == READY) {
                threadIdx = fiber.thread;
                enter();
            }
            at_block = at_block || fiber.state == AT_BLOCK;
            at_warp = at_warp || fiber.state == AT_WARP;
        }
        if (!at_warp) return true;
        if (at_block) return false;
        for (unsigned i = first; i < end; i++) {
            if (fibers[i].state == AT_WARP) fibers[i].state = READY;
        }
    }
}

static int run_block(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        Fiber &fiber = fibers[i];
        fiber.thread = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
        fiber.turn = 0;
        fiber.awaited = false;
        fiber.state = READY;
        start(fiber);
    }
    const unsigned n_warps = (n + 31) / 32;
    for (bool backwards = false;; backwards = !backwards) {
        for (unsigned k = 0; k < n_warps; k++) {
            const unsigned first = 32 * (backwards ? n_warps - 1 - k : k);
            if (!run_warp(first, std::min(n, first + 32), backwards)) return 1;
        }
        bool done = true;
        for (unsigned i = 0; i < n; i++) {
            if (fibers[i].state == AT_BLOCK) fibers[i].state = READY, done = false;
        }
        for (unsigned i = 0; done && i < n; i++) hasty = hasty || !fibers[i].awaited;
        if (done) return 0;
    }
}

// Runs a kernel on its argument, a structure of `size` bytes. 0: done; 1: threads wait at different barriers; 2: an argument of another size; 3: a kernel
// that may start early has threads that do not wait for the one ahead of it; 4: too many threads; 5: no memory.
template <class A>
int launch(void (*kernel)(A), const dim3 *grid, const dim3 *block, unsigned shared, const void *argument, size_t size, bool early) {
    if (size != sizeof(A)) return 2;
    hasty = false;
    struct Bound {
        void (*kernel)(A);
        const A *argument;
    } bound = {kernel, static_cast<const A *>(argument)};
    body = [](void *p) {
        Bound *bound = static_cast<Bound *>(p);
        bound->kernel(*bound->argument);
    };
    arguments = &bound;
    gridDim = *grid;
    blockDim = *block;
    const unsigned n = block->x * block->y * block->z;
    if (n > MAX_THREADS) return 4;
    for (unsigned i = 0; i < n; i++) {
        if (!fibers[i].stack && !(fibers[i].stack = static_cast<unsigned char *>(calloc(STACK, 1)))) return 5;
    }
    if (dynamic_room < shared + 16) {
        free(dynamic_shared);
        dynamic_shared = static_cast<unsigned char *>(malloc(dynamic_room = shared + 16));
        if (!dynamic_shared) return dynamic_room = 0, 5;
    }
    for (unsigned z = 0; z < grid->z; z++)
        for (unsigned y = 0; y < grid->y; y++)
            for (unsigned x = 0; x < grid->x; x++) {
                blockIdx = {x, y, z};
                memset(dynamic_shared, 0xff, shared + 16);
                if (int code = run_block(n)) return code;
            }
    return early && hasty ? 3 : 0;
}

// Values of all lanes of the warp, as they meet here.
template <class T> const unsigned char (*exchange(T value))[16] {
    static_assert(sizeof(T) <= 16, "lanes exchange up to 16 bytes");
    Fiber &fiber = fibers[current];
    auto slots = warps[current / 32].slots[fiber.turn++ & 1];
    memcpy(slots[current % 32], &value, sizeof(T));
    wait(AT_WARP);
    return slots;
}

template <class T> T lane_value(const unsigned char (*slots)[16], unsigned lane) {
    T value;
    memcpy(&value, slots[lane % 32], sizeof(T));
    return value;
}

} // namespace emulator

// Kernels run one after the other here: it is only noted that a thread has waited.
inline void await_predecessor() { emulator::fibers[emulator::current].awaited = true; }

inline void __syncthreads() { emulator::wait(emulator::AT_BLOCK); }
inline void __syncwarp(unsigned = 0xffffffffu) { emulator::wait(emulator::AT_WARP); }
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T> T __shfl_sync(unsigned, T v, int lane, int width = 32) {
    const unsigned own = emulator::current % 32;
    return emulator::lane_value<T>(emulator::exchange(v), own / width * width + unsigned(lane) % width);
}
template <class T> T __shfl_xor_sync(unsigned, T v, int mask, int width = 32) {
    const unsigned own = emulator::current % 32, other = own ^ unsigned(mask);
    return emulator::lane_value<T>(emulator::exchange(v), other / width == own / width ? other : own);
}
template <class T> T __shfl_down_sync(unsigned, T v, unsigned delta, int width = 32) {
    const unsigned own = emulator::current % 32, other = own + delta;
    return emulator::lane_value<T>(emulator::exchange(v), own % width + delta < unsigned(width) ? other : own);
}
template <class T> T __shfl_up_sync(unsigned, T v, unsigned delta, int width = 32) {
    const unsigned own = emulator::current % 32;
    return emulator::lane_value<T>(emulator::exchange(v), own % width >= delta ? own - delta : own);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
    auto slots = emulator::exchange<int>(predicate != 0);
    unsigned n = blockDim.x * blockDim.y * blockDim.z, first = emulator::current / 32 * 32, bits = 0;
    for (unsigned lane = 0; lane < 32 && first + lane < n; lane++) bits |= unsigned(emulator::lane_value<int>(slots, lane)) << lane;
    return bits;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
inline unsigned __activemask() { return 0xffffffffu; }
template <class T> T emulator_reduce(T v, T (*join)(T, T)) {
    auto slots = emulator::exchange(v);
    T out = emulator::lane_value<T>(slots, 0);
    for (unsigned lane = 1; lane < 32; lane++) out = join(out, emulator::lane_value<T>(slots, lane));
    return out;
}
inline int __reduce_add_sync(unsigned, int v) { return emulator_reduce<int>(v, [](int a, int b) { return a + b; }); }
inline unsigned __reduce_add_sync(unsigned, unsigned v) { return emulator_reduce<unsigned>(v, [](unsigned a, unsigned b) { return a + b; }); }
inline int __reduce_max_sync(unsigned, int v) { return emulator_reduce<int>(v, [](int a, int b) { return std::max(a, b); }); }
inline unsigned __reduce_max_sync(unsigned, unsigned v) { return emulator_reduce<unsigned>(v, [](unsigned a, unsigned b) { return std::max(a, b); }); }
inline int __syncthreads_or(int predicate) {
    static int any;
    __syncthreads();
    any = 0;
    __syncthreads();
    if (predicate) any = 1;
    __syncthreads();
    return any;
}

template <class T> T atomicAdd(T *p, T v) {
    static_assert(std::is_integral<T>::value, "sums of floating-point atomics depend on their order");
    T old = *p;
    *p = old + v;
    return old;
}
template <class T> T atomicMax(T *p, T v) { T old = *p; *p = std::max(old, v); return old; }
template <class T> T atomicMin(T *p, T v) { T old = *p; *p = std::min(old, v); return old; }
template <class T> T atomicOr(T *p, T v) { T old = *p; *p = old | v; return old; }
template <class T> T atomicAnd(T *p, T v) { T old = *p; *p = old & v; return old; }
template <class T> T atomicExch(T *p, T v) { T old = *p; *p = v; return old; }
template <class T> T atomicCAS(T *p, T compare, T v) { T old = *p; if (old == compare) *p = v; return old; }

template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __clz(int v) { return v ? __builtin_clz(unsigned(v)) : 32; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdividef(float a, float b) { return a / b; }
inline void sincospi(double x, double *s, double *c) { *s = std::sin(M_PI * x), *c = std::cos(M_PI * x); }
inline void sincospif(float x, float *s, float *c) { *s = std::sin(float(M_PI) * x), *c = std::cos(float(M_PI) * x); }
inline int __float2int_rn(float x) { return int(std::nearbyint(x)); }
inline int __float2int_rd(float x) { return int(std::floor(x)); }
inline int __double2int_rn(double x) { return int(std::nearbyint(x)); }
inline int __double2int_rd(double x) { return int(std::floor(x)); }
// Whole numbers of 64 bits: the nearest one there is; not-a-number becomes the lowest.
inline long long emulator_whole(double x) { return std::isnan(x) || x < -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (long long)x; }
inline long long __double2ll_rn(double x) { return emulator_whole(std::nearbyint(x)); }
inline long long __double2ll_rd(double x) { return emulator_whole(std::floor(x)); }
inline long long __float2ll_rn(float x) { return __double2ll_rn(x); }
inline unsigned __float2uint_rn(float x) { return unsigned(std::nearbyint(x)); }
inline unsigned __float_as_uint(float x) { unsigned u; memcpy(&u, &x, 4); return u; }
inline int __float_as_int(float x) { int u; memcpy(&u, &x, 4); return u; }
inline float __uint_as_float(unsigned u) { float x; memcpy(&x, &u, 4); return x; }
inline float __int_as_float(int u) { float x; memcpy(&x, &u, 4); return x; }
inline long long __double_as_longlong(double x) { long long u; memcpy(&u, &x, 8); return u; }
inline double __longlong_as_double(long long u) { double x; memcpy(&x, &u, 8); return x; }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)(a) * b >> 32); }
using std::isfinite;
using std::isinf;
using std::isnan;
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline float min(float a, float b) { return a < b ? a : b; }
inline float max(float a, float b) { return a > b ? a : b; }
inline double min(double a, double b) { return a < b ? a : b; }
inline double max(double a, double b) { return a > b ? a : b; }
// The other number where one is not a number. Those of the C library are calls, which take longer than all else in some kernels.
template <class T> inline T emulator_fmin(T a, T b) { return a < b || b != b ? a : b; }
template <class T> inline T emulator_fmax(T a, T b) { return a > b || b != b ? a : b; }
#define fminf emulator_fmin<float>
#define fmaxf emulator_fmax<float>
#define fmin emulator_fmin<double>
#define fmax emulator_fmax<double>
