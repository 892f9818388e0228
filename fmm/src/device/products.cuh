// M2L as products of matrices: for each offset, rows of many source boxes times the operator of the offset.
//
//   L_bt = Σ_e Σ_j ω_{s(e,b) j} M(e)_jt
//
// A tile is BOXES target boxes that receive from the same offsets (those of one octant); entry e is one offset: its operator, and the source s of
// each box, NONE where there is none. A job is a run of entries of a tile (`jobs`: tile, first entry, end). A block does one job for COLUMNS
// target coefficients: for each entry, DEPTH source coefficients at a time, it copies the source rows and the part of the operator to shared
// memory, the next ones while it multiplies the present ones, and sums in registers in the order of the entries. Short rows go PER_STEP
// entries at a time, side by side. If tiles have several
// jobs, `gather_parts` adds their sums in order. Rows have ROW ≥ K = (p+1)² coefficients, zero beyond K. Operators have a row of ROW numbers
// for each source coefficient j.
//
// Where `filled` sources or `wanted` targets are given, rows without the flag are not read, and tiles without wanted targets not written.
//
// Reference for products of many boxes: T. Takahashi, C. Cecka, W. Fong, E. Darve, Int. J. Numer. Meth. Eng. 89, 105 (2012),
// doi:10.1002/nme.3240.
//
// Rows in shared memory are padded: rows of sources to an odd number of 16-byte words (SOURCE_ROW), of operators to MATRIX_ROW.

#define NONE 0xffffffffu
#define LANES (16 / (int)sizeof(real))
#define STAGE (BOXES * SOURCE_ROW + DEPTH * MATRIX_ROW)
#define PARTS (PER_STEP > 1 ? 1 : (ROW + DEPTH - 1) / DEPTH)

struct alignas(16) Pack {
    real v[LANES];
};

// Copies 16 bytes from global to shared memory, zeros where `there` is false; behind the back of the thread where the GPU can do that.
DEVICE void copy_pack(real *to, const real *from, bool there) {
#if __CUDA_ARCH__ >= 800
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(there ? 16 : 0) : "memory");
#else
    for (int i = 0; i < LANES; i++) to[i] = there ? from[i] : real(0);
#endif
}

// Ends a group of copies.
DEVICE void close_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all groups of this thread but the newest `PENDING` have arrived.
template <int PENDING> DEVICE void await_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

DEVICE bool is_set(const unsigned char *flags, unsigned row) { return row != NONE && (flags == nullptr || flags[row]); }

// Writes the entries of a job that have sources, in order, to `list`; their number. No entries if no target is wanted.
DEVICE int active_entries(const ProductArgs &given, Job job, unsigned *list) {
    __shared__ int n_active;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, warps = THREADS / 32;
    const unsigned *targets = given.targets + job.tile * BOXES;
    bool wanted = false;
    for (int b = thread; b < BOXES; b += THREADS) wanted = wanted || is_set(given.wanted, targets[b]);
    if (!__syncthreads_or(wanted)) return 0;
    for (unsigned entry = job.first + warp; entry < job.end; entry += warps) {
        bool any = false;
        for (int b = lane; b < BOXES; b += 32) any = any || is_set(given.filled, given.sources[entry * BOXES + b]);
        any = __any_sync(ALL_LANES, any);
        if (lane == 0) list[entry - job.first] = any ? entry : NONE;
    }
    __syncthreads();
    if (warp == 0) {
        int n = 0;
        for (int first = 0; first < (int)(job.end - job.first); first += 32) {
            const bool inside = first + lane < (int)(job.end - job.first);
            const unsigned entry = inside ? list[first + lane] : NONE;
            const unsigned found = __ballot_sync(ALL_LANES, entry != NONE);
            // Places behind the present 32 are not touched: n ≤ first.
            if (entry != NONE) list[n + __popc(found & ((1u << lane) - 1))] = entry;
            n += __popc(found);
            __syncwarp();
        }
        if (lane == 0) n_active = n;
    }
    __syncthreads();
    return n_active;
}

// Starts the copies of a step to one stage of shared memory: sources [BOXES][SOURCE_ROW], operator [DEPTH][MATRIX_ROW].
DEVICE void copy_step(real *stage, int step, const unsigned *list, int n_list, const ProductArgs &given) {
    const int first = step % PARTS * DEPTH, base = step / PARTS * PER_STEP, column = blockIdx.y * COLUMNS;
    for (int i = threadIdx.x; i < BOXES * (DEPTH / LANES); i += THREADS) {
        const int b = i / (DEPTH / LANES), j = i % (DEPTH / LANES) * LANES;
        const int entry = base + (PER_STEP > 1 ? j / ROW : 0), from = PER_STEP > 1 ? j % ROW : first + j;
        const unsigned source = entry < n_list ? given.sources[list[entry] * BOXES + b] : NONE;
        const bool there = is_set(given.filled, source) && from < ROW;
        copy_pack(stage + b * SOURCE_ROW + j, there ? given.multipoles + (size_t)source * ROW + from : given.multipoles, there);
    }
    real *matrix = stage + BOXES * SOURCE_ROW;
    for (int i = threadIdx.x; i < DEPTH * (COLUMNS / LANES); i += THREADS) {
        const int j = i / (COLUMNS / LANES), t = i % (COLUMNS / LANES) * LANES;
        const int entry = base + (PER_STEP > 1 ? j / ROW : 0), row = PER_STEP > 1 ? j % ROW : first + j;
        const bool there = entry < n_list && row < ROW && column + t < ROW;
        const size_t slot = there ? given.entries[list[entry]] : 0;
        copy_pack(matrix + j * MATRIX_ROW + t, given.operators + (there ? (slot * ROW + row) * ROW + column + t : 0), there);
    }
    close_copies();
}

// Calls multiply(sources, operator) for every step of a job. `shared`: two stages, then room for the entries of a job.
template <class F> DEVICE void over_steps(real *shared, Job job, const ProductArgs &given, F multiply) {
    unsigned *list = reinterpret_cast<unsigned *>(shared + 2 * STAGE);
    const int n_list = active_entries(given, job, list), steps = (n_list + PER_STEP - 1) / PER_STEP * PARTS;
    if (steps > 0) copy_step(shared, 0, list, n_list, given);
    for (int step = 0; step < steps; step++) {
        const int next = step + 1;
        if (next < steps) {
            copy_step(shared + next % 2 * STAGE, next, list, n_list, given);
            await_copies<1>();
        } else {
            await_copies<0>();
        }
        __syncthreads();
        const real *stage = shared + step % 2 * STAGE;
        multiply(stage, stage + BOXES * SOURCE_ROW);
        __syncthreads();
    }
}

// Where a block puts the sum of box b: the row of the box itself (direct), else that of its job.
DEVICE real *row_of_sum(const ProductArgs &given, unsigned job, unsigned tile, int b) {
    const unsigned target = given.targets[tile * BOXES + b];
    if (!is_set(given.wanted, target)) return nullptr;
    return given.direct ? given.locals + (size_t)target * ROW : given.parts + ((size_t)job * BOXES + b) * ROW;
}

// Adds the sums of the jobs `first[tile]` to `first[tile + 1]` of each tile in order; a block for each box of a tile, a thread for each coefficient.
// `add`: to what is there.
KERNEL void gather_parts(const __grid_constant__ PartArgs a) {
    const unsigned tile = blockIdx.x / BOXES, b = blockIdx.x % BOXES, target = a.targets[tile * BOXES + b];
    if (!is_set(a.wanted, target)) return;
    for (int t = threadIdx.x; t < ROW; t += blockDim.x) {
        real *out = a.locals + (size_t)target * ROW + t;
        real sum = a.add ? *out : real(0);
        for (unsigned job = a.first[tile]; job < a.first[tile + 1]; job++) sum += a.parts[((size_t)job * BOXES + b) * ROW + t];
        *out = sum;
    }
}
