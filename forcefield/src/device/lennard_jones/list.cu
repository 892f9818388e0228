// Verlet list of the Lennard-Jones term: cells, sites in cell order, neighbours of every site.
//
// 1. frame_of_atoms (open systems): origin and edges of a frame that holds all atoms with a margin of 2 (cut-off + buffer).
// 2. cell_keys: cell of every active atom, z fastest; the counting sort makes `order` and `starts` of it.
// 3. place_sites: fixed-point sites by place.
//    Where some kinds are faint (the first N_FAINT), their sites come first and have cells of their own, with the same walls.
// 4. build_list: one warp per GROUP of sites that follow each other, which are close: cells hold some GROUP sites, and those of every other
//    column are in falling order, so that columns that follow each other touch. Each lane works out which cells of one column (x, y) the spheres around
//    the group can touch (contiguous in place, in two parts where it wraps), and writes their places down; then the warp
//    tests the sites of 32 columns, 32 at a time, against every site of the group; first the cells of faint sites, if there are any, then the others.
//    Row i: places of all sites within reach, ascending by column, exclusions left out. Faint sites reach each other within FAINT_REACH, others within
//    MIXED_REACH, neither longer than `reach`, which is that of all others. Both directions of a pair are listed. Rows have room for `capacity` places
//    and are filled up with i itself to a multiple of CHUNK, to `entries[i]` of them.
//    In a chunk entries stand in the order in which the lanes of the force kernel load them.
// In a box without right angles (TRICLINIC) cells lie along its edges, columns along c; a column is left out if all of its prism is beyond the
// reach, and its piece is what the spheres can touch anywhere in the prism.
// The order of a row depends on the positions only. Units: nm. Needs sites.cuh.

KERNEL void frame_of_atoms(const __grid_constant__ FrameArgs args) {
    __shared__ double low[3][32], high[3][32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    for (int d = 0; d < 3; ++d) {
        double a = 1e300, b = -1e300;
        for (int i = threadIdx.x; i < args.n; i += blockDim.x) {
            double r = args.x[3ll * args.active[i] + d];
            a = fmin(a, r);
            b = fmax(b, r);
        }
        for (int k = 16; k > 0; k >>= 1) {
            a = fmin(a, __shfl_xor_sync(ALL_LANES, a, k));
            b = fmax(b, __shfl_xor_sync(ALL_LANES, b, k));
        }
        if (lane == 0) {
            low[d][warp] = a;
            high[d][warp] = b;
        }
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        int d = threadIdx.x;
        double a = low[d][0], b = high[d][0];
        for (int k = 1; k < warps; ++k) {
            a = fmin(a, low[d][k]);
            b = fmax(b, high[d][k]);
        }
        args.frame->edges[d] = (b - a) + 2.0 * args.margin;
        args.frame->origin[d] = a - args.margin;
    }
}

DEVICE int cell_of(UCOORD u, int cells) {
    unsigned top = (unsigned)(u >> (COORD_BITS - 32));
    return (int)(((unsigned long long)top * (unsigned)cells) >> 32);
}

#if TRICLINIC
// Distances of opposite faces, in the order of the edges that lead from one to the other.
struct Heights {
    double of[3];
};
DEVICE Heights heights_of(const double *edges) {
    double ax = edges[0], by = edges[1], cz = edges[2], bx = edges[3], cx = edges[4], cy = edges[5], shear = bx * cy - by * cx;
    double bc = sqrt(by * cz * by * cz + bx * cz * bx * cz + shear * shear), ca = ax * sqrt(cz * cz + cy * cy);
    double volume = ax * by * cz;
    return {{volume / bc, volume / ca, cz}};
}
#endif

KERNEL void cell_keys(const __grid_constant__ KeyArgs a) {
    const double *edges = a.edges;
    const Axes &axes = axes_of(edges);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {
        bool fits = true;
#if TRICLINIC
        const Heights all = heights_of(edges);
        const double *heights = all.of;
#else
        const double *heights = edges;
#endif
        for (int d = 0; d < 3; ++d) {
            fits = fits && heights[d] >= 2.0 * a.reach && is_finite(edges[d]);
        }
        if (!fits) atomicMax(&a.status->unfit, 1u);
    }
    if (i >= a.n) return;
    const int nx = a.cells[0], ny = a.cells[1], nz = a.cells[2];
    Site s = site_at(a.x, a.active[i], a.origin, axes, 0);
    const int column = cell_of(s.x, nx) * ny + cell_of(s.y, ny), z = cell_of(s.z, nz);
    const int others = N_FAINT > 0 && a.kinds[i] >= N_FAINT ? nx * ny * nz : 0;
    a.keys[i] = (unsigned)(others + column * nz + (column % 2 ? nz - 1 - z : z));
    if (!position_is_finite(a.x, a.active[i])) atomicMax(&a.status->unfit, 1u);
}

// Cells as warps of `build_list` need them, each of which would otherwise find them again: see `Columns`.
DEVICE Columns columns_of(const double *edges, int nx, int ny, int nz) {
    Columns p = {};
#if TRICLINIC
    const Heights heights = heights_of(edges);
    double ax = edges[0], by = edges[1], cz = edges[2], bx = edges[3], cx = edges[4], cy = edges[5];
    double c = sqrt(cx * cx + cy * cy + cz * cz), ac = ax * cx / c, bc = (bx * cx + by * cy) / c;
    p.wx = (float)heights.of[0] / nx, p.wy = (float)heights.of[1] / ny, p.wz = (float)heights.of[2] / nz;
    p.uu = (float)((ax * ax - ac * ac) / ((double)nx * nx));
    p.uv = (float)((ax * bx - ac * bc) / ((double)nx * ny));
    p.vv = (float)((bx * bx + by * by - bc * bc) / ((double)ny * ny));
    p.along_u = (float)(ac / nx), p.along_v = (float)(bc / ny), p.along_w = (float)(c / nz);
#else
    p.wx = (float)edges[0] / nx, p.wy = (float)edges[1] / ny, p.wz = (float)edges[2] / nz;
#endif
    return p;
}

KERNEL void place_sites(const __grid_constant__ PlaceArgs a) {
    const Axes &axes = axes_of(a.edges);
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place == 0) *a.columns = columns_of(a.edges, a.cells[0], a.cells[1], a.cells[2]);
    if (place >= a.n) return;
    unsigned i = a.order[place], atom = a.active[i];
    a.sites[place] = site_at(a.x, atom, a.origin, axes, a.kinds[i]);
    a.atoms[place] = atom;
}

// Position within the grid of one axis, in cells.
DEVICE float in_cells(UCOORD u, int cells) {
    const unsigned long long place = (unsigned long long)(unsigned)(u >> (COORD_BITS - 32)) * (unsigned)cells;
    return (float)(unsigned)(place >> 32) + (float)(unsigned)place * (1.0f / 4294967296.0f);
}

// Places of the sites of one column that a warp tests, numbered with those of the columns before it: number t is at to_first + t, from `split` on at
// to_second + t.
struct Piece {
    int begin, split, to_first, to_second;
};

// Where the sites of a group are along one axis, in cells.
struct Range {
    float low, high;
};

// Distance (in cells) from a range to cell d.
DEVICE float cell_distance(Range range, int d) { return fmaxf(fmaxf(d - range.high, range.low - d - 1.0f), 0.0f); }

// The same for the nearest image of cell d on a ring of `cells`.
DEVICE float ring_distance(Range range, int d, int cells) {
    return fminf(cell_distance(range, d), fminf(cell_distance(range, d - cells), cell_distance(range, d + cells)));
}

// Cells that some cells follow each other from, on a ring.
struct Run {
    int first, count;
};

// Those within `reach` (in cells) of a range.
DEVICE Run run_of(Range range, float reach, int cells) {
    const int first = (int)floorf(range.low - reach);
    return {first, min((int)floorf(range.high + reach) - first + 1, cells)};
}

// The cell of a ring that i is an image of.
DEVICE int on_ring(int i, int cells) { return (i % cells + cells) % cells; }

#if TRICLINIC
DEVICE float across(const Columns &p, float u, float v) { return p.uu * u * u + 2.0f * p.uv * u * v + p.vv * v * v; }

// Smallest squared distance across c of the prism over `u` and `v`. The form is convex: where the origin is outside, the least is on an edge.
DEVICE float least_across(const Columns &p, Range u, Range v) {
    if (u.low <= 0.0f && u.high >= 0.0f && v.low <= 0.0f && v.high >= 0.0f) return 0.0f;
    float least = 1e30f;
    for (int side = 0; side < 2; ++side) {
        float at = side ? u.high : u.low, best = -p.uv * at / p.vv;
        least = fminf(least, across(p, at, fminf(fmaxf(best, v.low), v.high)));
        at = side ? v.high : v.low, best = -p.uv * at / p.uu;
        least = fminf(least, across(p, fminf(fmaxf(best, u.low), u.high), at));
    }
    return least;
}
#endif

// Where entry t of a row is stored: lane s of the LANES that share a chunk reads entries s, s + LANES, … with one load.
DEVICE unsigned stored(unsigned t) {
    unsigned in_chunk = t % CHUNK;
    return t - in_chunk + in_chunk % (CHUNK / 4) * 4 + in_chunk / (CHUNK / 4);
}

// Numbers among which a site and its excluded partners are.
struct Partners {
    unsigned lowest, span;
};

DEVICE Partners partners_of(const BuildArgs &args, unsigned site) {
    const unsigned first = args.excluded_starts[site], end = args.excluded_starts[site + 1];
    const unsigned lowest = first < end ? min(site, args.excluded[first]) : site, highest = first < end ? max(site, args.excluded[end - 1]) : site;
    return {lowest, highest - lowest};
}

// Whether `other` is the site itself or an excluded partner.
DEVICE bool is_excluded(const BuildArgs &args, unsigned site, unsigned other) {
    bool found = other == site;
    for (unsigned e = args.excluded_starts[site]; e < args.excluded_starts[site + 1]; ++e) found = found || args.excluded[e] == other;
    return found;
}

KERNEL __launch_bounds__(THREADS, 5) void build_list(const __grid_constant__ BuildArgs args) {
    const Site *sites = args.sites;
    const unsigned *starts = args.starts, *order = args.order;
    const Columns prism = *args.columns;
    const int nx = args.cells[0], ny = args.cells[1], nz = args.cells[2], capacity = args.capacity, n = args.n;
    const int group = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    // No group has faint and other sites: between the last of these and the first of those is the whole box.
    const int n_faint = N_FAINT > 0 ? (int)starts[nx * ny * nz] : 0, groups_of_faint = (n_faint + GROUP - 1) / GROUP;
    const bool all_faint = group < groups_of_faint;
    const int first_site = all_faint ? group * GROUP : n_faint + (group - groups_of_faint) * GROUP, end_site = all_faint ? n_faint : n;
    if (first_site >= end_site) return;
    __shared__ Piece pieces[THREADS / 32][33];
    Piece *const piece = pieces[threadIdx.x / 32];
    real step[EDGES];
    steps_of(args.edges, step);
    const float wx = prism.wx, wy = prism.wy;
#if !TRICLINIC
    const float wz = prism.wz;
#endif

    // The group, and where it is: in cells from those of its first site.
    Site own[GROUP];
    Partners partners[GROUP];
    int found[GROUP];
#pragma unroll
    for (int k = 0; k < GROUP; ++k) {
        const int i = min(first_site + k, end_site - 1);
        own[k] = sites[i];
        partners[k] = partners_of(args, order[i]);
        found[k] = 0;
    }
    const int cx = cell_of(own[0].x, nx), cy = cell_of(own[0].y, ny);
    const float fx = in_cells(own[0].x, nx) - cx, fy = in_cells(own[0].y, ny) - cy, fz = in_cells(own[0].z, nz);
    Range x = {fx, fx}, y = {fy, fy}, z = {fz, fz};
#pragma unroll
    for (int k = 1; k < GROUP; ++k) {
        const float dx = (float)nearest(own[k].x, own[0].x, (real)(nx / QUANTA)), dy = (float)nearest(own[k].y, own[0].y, (real)(ny / QUANTA)),
                    dz = (float)nearest(own[k].z, own[0].z, (real)(nz / QUANTA));
        x = {fminf(x.low, fx + dx), fmaxf(x.high, fx + dx)};
        y = {fminf(y.low, fy + dy), fmaxf(y.high, fy + dy)};
        z = {fminf(z.low, fz + dz), fmaxf(z.high, fz + dz)};
    }
    for (int pass = N_FAINT > 0 ? 0 : 1; pass < 2; ++pass) {
        const bool faint = pass == 0;
        const unsigned *const cells_of_pass = starts + (N_FAINT > 0 && !faint ? nx * ny * nz : 0);
        const real reach = all_faint && faint ? (real)FAINT_REACH : (all_faint || faint ? (real)MIXED_REACH : (real)args.reach), reach2 = reach * reach;
        // A little more: rounding of the geometry of cells must not lose a pair.
        const float limit = 1.0001f * (float)reach, limit2 = limit * limit;
        const Run along_x = run_of(x, limit / wx, nx), along_y = run_of(y, limit / wy, ny);
        const int columns = along_x.count * along_y.count;
#if TRICLINIC
        // Where columns are reached from two sides they are searched in all their height.
        const bool whole = along_x.count == nx || along_y.count == ny;
#endif

        for (int batch = 0; batch < columns; batch += 32) {
            // Places first … first + length and second … of the column of this lane.
            int first = 0, length = 0, second = 0, total = 0, k = batch + lane;
            if (k < columns) {
                const int dx = along_x.first + k / along_y.count, dy = along_y.first + k % along_y.count;
#if TRICLINIC
                const Range u = {dx - x.high, dx + 1.0f - x.low}, v = {dy - y.high, dy + 1.0f - y.low};
                const float left = limit2 - (whole ? 0.0f : least_across(prism, u, v));
#else
                const float gx = wx * ring_distance(x, dx, nx), gy = wy * ring_distance(y, dy, ny);
                const float left = limit2 - gx * gx - gy * gy;
#endif
                if (left > 0.0f) {
                    const int column = on_ring(cx + dx, nx) * ny + on_ring(cy + dy, ny);
#if TRICLINIC
                    // The spheres are within `half` of minus the length along c of some place in the prism.
                    const float half = sqrtf(left);
                    const float first_end = fminf(u.low * prism.along_u, u.high * prism.along_u) + fminf(v.low * prism.along_v, v.high * prism.along_v);
                    const float last_end = fmaxf(u.low * prism.along_u, u.high * prism.along_u) + fmaxf(v.low * prism.along_v, v.high * prism.along_v);
                    const float from = (-last_end - half) / prism.along_w - 1e-3f, to = (-first_end + half) / prism.along_w + 1e-3f;
                    int low = (int)floorf(z.low + from), height = whole ? nz : (int)floorf(z.high + to) - low + 1;
#else
                    const float half = sqrtf(left) / wz + 1e-3f;
                    int low = (int)floorf(z.low - half), height = (int)floorf(z.high + half) - low + 1;
#endif
                    height = min(height, nz);
                    // In falling order the last cell comes first.
                    low = height == nz ? 0 : on_ring(column % 2 ? -low - height : low, nz);
                    const unsigned *cells = cells_of_pass + (long long)column * nz;
                    const int end = min(low + height, nz), rest = low + height - end;
                    first = (int)cells[low];
                    length = (int)cells[end] - first;
                    second = (int)cells[0];
                    total = length + (int)cells[rest] - second;
                }
            }
            // The sites of all these columns behind each other: columns are short, and one at a time would leave most lanes without work.
            int end = total;
            for (int k = 1; k < 32; k *= 2) {
                int other = __shfl_up_sync(ALL_LANES, end, k);
                if (lane >= k) end += other;
            }
            const int begin = end - total, sum = __shfl_sync(ALL_LANES, end, 31);
            const unsigned with_sites = __ballot_sync(ALL_LANES, total > 0);
            if (total > 0) piece[__popc(with_sites & ((1u << lane) - 1u))] = {begin, begin + length, first - begin, second - begin - length};
            if (lane == 0) piece[__popc(with_sites)].begin = sum;
            __syncwarp();
            // Numbers of a lane rise, so that the piece that holds one is that of the last number or soon behind it.
            int rank = 0;
            auto place_of = [&](int number) {
                const int t = min(number, sum - 1);
                while (t >= piece[rank + 1].begin) ++rank;
                return t + (t < piece[rank].split ? piece[rank].to_first : piece[rank].to_second);
            };
            int next = sum > 0 ? place_of(lane) : 0;
            Site next_site = sites[next];
            unsigned next_number = order[next];
            for (int base = 0; base < sum; base += 32) {
                const bool is_site = base + lane < sum;
                const int place = next;
                const Site other = next_site;
                const unsigned number = next_number;
                next = place_of(base + 32 + lane);
                next_site = sites[next];
                next_number = order[next];
                bool hit[GROUP], may_be_excluded = false;
#pragma unroll
                for (int k = 0; k < GROUP; ++k) {
                    hit[k] = is_site && distance_squared(own[k], other, step) < reach2;
                    may_be_excluded = may_be_excluded || number - partners[k].lowest <= partners[k].span;
                }
                if (may_be_excluded) {
#pragma unroll
                    for (int k = 0; k < GROUP; ++k) hit[k] = hit[k] && !is_excluded(args, order[min(first_site + k, end_site - 1)], number);
                }
#pragma unroll
                for (int k = 0; k < GROUP; ++k) {
                    const unsigned hits = __ballot_sync(ALL_LANES, hit[k]);
                    const int at = found[k] + __popc(hits & ((1u << lane) - 1u));
                    if (hit[k] && at < capacity && first_site + k < end_site) args.list[(long long)(first_site + k) * capacity + stored((unsigned)at)] = (unsigned)place;
                    found[k] += __popc(hits);
                }
            }
            __syncwarp();
        }
    }
#pragma unroll
    for (int k = 0; k < GROUP; ++k) {
        const int i = first_site + k;
        if (i >= end_site) break;
        const int used = min((found[k] + CHUNK - 1) / CHUNK * CHUNK, capacity);
        for (int t = found[k] + lane; t < used; t += 32) args.list[(long long)i * capacity + stored((unsigned)t)] = (unsigned)i;
        if (lane == 0) {
            args.entries[i] = (unsigned)used;
            // The maximum only grows: an old value read here costs at most an atomic that changes nothing.
            if ((unsigned)found[k] > args.status->neighbours) atomicMax(&args.status->neighbours, (unsigned)found[k]);
        }
    }
}
