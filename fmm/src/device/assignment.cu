// Sorts particles into leaf boxes and finds the pairs to skip. The assignment holds until the next one.
//
//   u = inverse · (x − corner);  along each axis that repeats n = ⌊u_a / boxes⌋ and u −= n · lattice_a;  box = ⌊u⌋, image = n
//
// box index (x · ny + y) · nz + z. Positions f64, any image, by number; images: those subtracted, by number among the
// members (home_boxes) or place (arrange).
// members: particles that lie in boxes, then those that do not, of which only the positions are looked at; null if all lie in boxes.
// What is wrong with the particles goes to ParticleFaults of assignment.rs.

KERNEL void home_boxes(const __grid_constant__ HomeArgs args) {
    const BoxGeometry *geometry = args.geometry;
    const LeafGrid *grid = args.grid;
    ParticleFaults *faults = args.faults;
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= args.n_particles) return;
    const unsigned i = args.members ? args.members[m] : (unsigned)m;
    double u[3];
    bool finite = true;
    for (int a = 0; a < 3; ++a) {
        u[a] = 0.0;
        for (int b = 0; b < 3; ++b) {
            double r = args.x[3LL * i + b];
            finite = finite && fabs(r) <= 1.7976931348623157e308;
            u[a] += geometry->inverse[a][b] * (r - geometry->corner[b]);
        }
    }
    if (!finite) {
        atomicMin(&faults->not_finite, i);
        u[0] = u[1] = u[2] = 0.0;
    }
    if (m >= args.n) return;
    int c[3], image[3] = {0, 0, 0};
    for (int a = 0; a < 3; ++a) {
        if (!grid->periodic[a]) continue;
        double images_away = floor(u[a] / grid->shape[a]);
        if (!(fabs(images_away) <= FARTHEST_IMAGE)) {
            atomicMin(&faults->too_far, i);
            images_away = 0.0;
        }
        image[a] = (int)images_away;
        for (int b = 0; b < 3; ++b) u[b] -= images_away * grid->lattice[a][b];
    }
    for (int a = 0; a < 3; ++a) {
        c[a] = (int)fmin(fmax(floor(u[a]), 0.0), grid->shape[a] - 1.0);
        args.images[3LL * m + a] = image[a];
    }
    args.keys[m] = (c[0] * grid->shape[1] + c[1]) * grid->shape[2] + c[2];
}

KERNEL void arrange(const __grid_constant__ ArrangeArgs args) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= args.n) return;
    const unsigned m = args.sorted[k];
    unsigned i = m;
    if (args.members) {
        i = args.members[m];
        args.order[k] = i;
    }
    args.place[i] = k;
    args.leaf_of[k] = args.keys[m];
    for (int a = 0; a < 3; ++a) args.images[3LL * k + a] = args.homes[3LL * m + a];
    wrapped(args.geometry, args.x + 3LL * i, args.homes + 3LL * m, args.local + 3LL * k);
}

// For each near box of each leaf: first place, particles, number of particles in the near boxes before it, slot of its offset. A warp a leaf.
KERNEL void make_runs(const __grid_constant__ RunArgs a) {
    const unsigned *near_starts = a.near_starts, *starts = a.starts;
    int lane = threadIdx.x % 32, leaf = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (leaf >= a.n_leaves) return;
    unsigned begin = near_starts[leaf], end = near_starts[leaf + 1], before = 0;
    for (unsigned from = begin; from < end; from += 32) {
        unsigned e = from + lane, first = 0, count = 0, slot = 0;
        if (e < end) {
            uint2 entry = a.near_entries[e];
            first = starts[entry.x];
            count = starts[entry.x + 1] - first;
            slot = entry.y;
        }
        unsigned inclusive = count;
        for (int step = 1; step < 32; step *= 2) {
            unsigned other = __shfl_up_sync(0xffffffffu, inclusive, step);
            if (lane >= step) inclusive += other;
        }
        if (e < end) a.runs[e] = make_uint4(first, count, before + inclusive - count, slot);
        before += __shfl_sync(0xffffffffu, inclusive, 31);
    }
}

// Squared length of d less `image` periods.
DEVICE double image_distance(const BoxGeometry *geometry, const double *d, const int *image) {
    double r[3];
    wrapped(geometry, d, image, r);
    return r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
}

// The image of a vector d nearest to zero: |d − Σ n L| is shortest. Nearest planes one axis after the other, then all images around.
DEVICE void nearest_image(const BoxGeometry *geometry, const LeafGrid *grid, const double *d, double shortest, int best[3]) {
    double start[3], least = 0.0;
    for (int a = 0; a < 3; ++a) {
        start[a] = 0.0;
        for (int b = 0; b < 3; ++b) start[a] += geometry->inverse[a][b] * d[b];
    }
    // Trial 13 is the one without a detour; it comes first and wins a tie.
    for (int trial = -1; trial < 27; ++trial) {
        int t = trial < 0 ? 13 : trial, off[3] = {t / 9 - 1, t / 3 % 3 - 1, t % 3 - 1}, image[3] = {0, 0, 0};
        double u[3] = {start[0], start[1], start[2]};
        bool skip = false;
        for (int a = 0; a < 3; ++a) {
            if (!grid->periodic[a]) {
                skip = skip || off[a] != 0;
                continue;
            }
            image[a] = (int)rint(u[a] / grid->shape[a]) + off[a];
            for (int b = 0; b < 3; ++b) u[b] -= (double)image[a] * grid->lattice[a][b];
        }
        if (skip) continue;
        double r2 = image_distance(geometry, d, image);
        if (trial < 0 || r2 < least) {
            least = r2;
            for (int a = 0; a < 3; ++a) best[a] = image[a];
        }
        // No lattice vector is shorter than `shortest`: any other image is farther.
        if (trial < 0 && 4.0 * least < shortest * shortest) return;
    }
}

// Whether the particle at place k sits on another one that is not excluded from it.
DEVICE void find_coincident(const ExcludedArgs &args, unsigned k) {
    const double *r = args.local + 3LL * k;
    const unsigned i = args.order[k], leaf = args.leaf_of[k], end = args.starts[leaf + 1];
    for (unsigned m = args.starts[leaf]; m < end; ++m) {
        const double *s = args.local + 3LL * m;
        if (m == k || s[0] != r[0] || s[1] != r[1] || s[2] != r[2]) continue;
        const unsigned j = args.order[m];
        bool skipped = false;
        for (unsigned e = args.rows[i]; e < args.rows[i + 1]; ++e) skipped = skipped || args.partners[e] == j;
        if (!skipped) atomicMin(&args.faults->coincident, i);
    }
}

// The excluded partner of entry e: its sorted place, and the slot of the near offset of its box.
DEVICE void find_partner(const ExcludedArgs &args, unsigned e) {
    const BoxGeometry *geometry = args.geometry;
    const LeafGrid *grid = args.grid;
    const unsigned k = args.place[args.owners[e]], other = args.place[args.partners[e]];
    const double *r = args.local + 3LL * k, *s = args.local + 3LL * other;
    double d[3];
    int c[3], to[3], image[3], slot = 0;
    for (int a = 0; a < 3; ++a) d[a] = s[a] - r[a];
    nearest_image(geometry, grid, d, args.shortest * geometry->scale, image);
    box_coordinates(grid, args.leaf_of[k], c);
    box_coordinates(grid, args.leaf_of[other], to);
    bool within = true;
    for (int a = 0; a < 3; ++a) {
        int u = to[a] - c[a], reach = grid->reach[a];
        for (int p = 0; p < 3; ++p) u -= image[p] * grid->lattice[p][a];
        within = within && u >= -reach && u <= reach;
        slot = slot * (2 * reach + 1) + u + reach;
    }
    slot = within ? args.slots[slot] : -1;
    if (slot < 0) {
        atomicMin(&args.faults->not_near, e);
        slot = 0;
    }
    args.excluded[e] = make_uint2(other, slot);
}

// A thread for each place, then one for each excluded pair from either side: a chain of loads takes long, so that none of them makes two.
// slots: slot of every offset within reach, or −1. shortest: lower bound of the length of lattice vectors over the scale.
KERNEL void find_excluded(const __grid_constant__ ExcludedArgs args) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < args.n) find_coincident(args, t);
    else if (t - args.n < args.n_excluded) find_partner(args, t - args.n);
}
