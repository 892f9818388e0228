// Counting sort by key: particles of one box side by side.
//
//   starts[k] = number of particles with a key below k
//   order     = particles by ascending key, then by ascending number
//
// count_keys and place_in_any_order use integer atomics, whose order is left to chance; rank_within_keys then puts the particles of each key
// in ascending order, so that the result is always the same. Work: O(n + keys + Σ (particles of a key)²), which is that of pairs within boxes.
//
// starts: n_keys + 1. tickets, unsorted, order: n. totals: one for each tile of TILE keys.

#define TILE (4 * SCAN_THREADS)

KERNEL void count_keys(const __grid_constant__ CountArgs a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.n) a.tickets[i] = atomicAdd(&a.counts[a.keys[i]], 1u);
}

// Sum over the block; scratch: one for each warp.
DEVICE unsigned block_total(unsigned v, unsigned *scratch) {
    for (int lane = 16; lane > 0; lane /= 2) v += __shfl_xor_sync(0xffffffffu, v, lane);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    unsigned sum = 0;
    for (int w = 0; w < SCAN_THREADS / 32; ++w) sum += scratch[w];
    return sum;
}

// Particles of each tile of keys.
KERNEL void sum_tiles(const __grid_constant__ SumArgs a) {
    __shared__ unsigned scratch[SCAN_THREADS / 32];
    unsigned sum = 0;
    for (int m = 0; m < 4; ++m) {
        int key = blockIdx.x * TILE + m * SCAN_THREADS + threadIdx.x;
        if (key < a.n_keys) sum += a.counts[key];
    }
    sum = block_total(sum, scratch);
    if (threadIdx.x == 0) a.totals[blockIdx.x] = sum;
}

// One block for each tile: what lies in the tiles before, then a scan of its own.
KERNEL void scan_keys(const __grid_constant__ ScanArgs a) {
    const int n_keys = a.n_keys;
    __shared__ unsigned scratch[SCAN_THREADS / 32];
    int thread = threadIdx.x, lane = thread % 32, first = blockIdx.x * TILE + 4 * thread;
    unsigned before = 0;
    for (int tile = thread; tile < (int)blockIdx.x; tile += SCAN_THREADS) before += a.totals[tile];
    before = block_total(before, scratch);

    unsigned count[4], own = 0;
    for (int m = 0; m < 4; ++m) {
        count[m] = first + m < n_keys ? a.counts[first + m] : 0;
        own += count[m];
    }
    unsigned inclusive = own;
    for (int step = 1; step < 32; step *= 2) {
        unsigned other = __shfl_up_sync(0xffffffffu, inclusive, step);
        if (lane >= step) inclusive += other;
    }
    __syncthreads();
    if (lane == 31) scratch[thread / 32] = inclusive;
    __syncthreads();
    unsigned at = before + inclusive - own;
    for (int w = 0; w < thread / 32; ++w) at += scratch[w];
    for (int m = 0; m < 4; ++m) {
        if (first + m < n_keys) a.starts[first + m] = at;
        at += count[m];
        if (first + m == n_keys - 1) a.starts[n_keys] = at;
    }
}

KERNEL void place_in_any_order(const __grid_constant__ PlaceArgs a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.n) a.unsorted[a.starts[a.keys[i]] + a.tickets[i]] = i;
}

KERNEL void rank_within_keys(const __grid_constant__ RankArgs a) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.n) return;
    const unsigned *unsorted = a.unsorted;
    unsigned i = unsorted[k], key = a.keys[i], first = a.starts[key], end = a.starts[key + 1];
    unsigned rank = 0;
    for (unsigned m = first; m < end; ++m) rank += unsorted[m] < i;
    a.order[first + rank] = i;
}
