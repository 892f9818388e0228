// Verlet list of the Lennard-Jones term: cells, sites in cell order, neighbours of every site.
//
// 1. frame_of_atoms (open systems): origin and edges of a frame that holds all atoms with a margin of 2 (cut-off + buffer).
// 2. cell_keys: cell of every active atom, z fastest; the counting sort makes `order` and `starts` of it.
// 3. place_sites: fixed-point sites by place.
// 4. build_list: one warp per site. Each lane works out which cells of one column (x, y) the sphere of radius `reach` can
//    touch (contiguous in place, two pieces where it wraps); then the warp tests the sites of 32 columns, 32 at a time.
//    Row i: places of all sites within `reach`, ascending by column, exclusions left out; both directions of a pair are
//    listed. Rows have `capacity` entries and are filled up with i itself to a multiple of CHUNK; `chunks[i]` = how many.
//    In a chunk entries stand in the order in which the lanes of the force kernel load them.
// In a box without right angles (TRICLINIC) cells lie along its edges, columns along c; a column is left out if all of its prism is beyond the
// reach, and its piece is what the sphere can touch anywhere in the prism.
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
    a.keys[i] = (unsigned)((cell_of(s.x, nx) * ny + cell_of(s.y, ny)) * nz + cell_of(s.z, nz));
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

// Squared distance (in cells²) from position f in [0, 1] of cell 0 to cell d.
DEVICE float cell_distance(float f, int d) {
    float gap = d > 0 ? d - f : (d < 0 ? f - d - 1.0f : 0.0f);
    return gap > 0.0f ? gap : 0.0f;
}

// The same for the nearest image of cell d on a ring of `cells`.
DEVICE float ring_distance(float f, int d, int cells) {
    return fminf(cell_distance(f, d), fminf(cell_distance(f, d - cells), cell_distance(f, d + cells)));
}

// Cells of `width` on each side that lie within `reach`.
DEVICE int span(float reach, float width, int cells) {
    float h = ceilf(reach / width);
    return h < cells ? (int)h : cells;
}

#if TRICLINIC
DEVICE float across(const Columns &p, float u, float v) { return p.uu * u * u + 2.0f * p.uv * u * v + p.vv * v * v; }

// Smallest squared distance across c of the prism u … u + 1, v … v + 1. The form is convex: where the origin is outside, the least is on an edge.
DEVICE float least_across(const Columns &p, float u, float v) {
    if (u <= 0.0f && u >= -1.0f && v <= 0.0f && v >= -1.0f) return 0.0f;
    float least = 1e30f;
    for (int side = 0; side < 2; ++side) {
        float at = u + side, best = -p.uv * at / p.vv;
        least = fminf(least, across(p, at, fminf(fmaxf(best, v), v + 1.0f)));
        at = v + side, best = -p.uv * at / p.uu;
        least = fminf(least, across(p, fminf(fmaxf(best, u), u + 1.0f), at));
    }
    return least;
}
#endif

// Where entry t of a row is stored: lane s of the LANES that share a chunk reads entries s, s + LANES, … with one load.
DEVICE int stored(int t) {
    int in_chunk = t % CHUNK;
    return t - in_chunk + in_chunk % (CHUNK / 4) * 4 + in_chunk / (CHUNK / 4);
}

KERNEL void build_list(const __grid_constant__ BuildArgs args) {
    const Site *sites = args.sites;
    const unsigned *starts = args.starts, *order = args.order, *excluded = args.excluded;
    const Columns prism = *args.columns;
    const int nx = args.cells[0], ny = args.cells[1], nz = args.cells[2], capacity = args.capacity, n = args.n;
    int i = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    if (i >= n) return;
    Site a = sites[i];
    real step[EDGES];
    steps_of(args.edges, step);
    const real reach2 = (real)args.reach2;
    unsigned first_excluded = args.excluded_starts[order[i]], end_excluded = args.excluded_starts[order[i] + 1];

    const float limit = args.limit, limit2 = limit * limit, wx = prism.wx, wy = prism.wy;
#if !TRICLINIC
    const float wz = prism.wz;
#endif
    int cx = cell_of(a.x, nx), cy = cell_of(a.y, ny);
    float fx = in_cells(a.x, nx) - cx, fy = in_cells(a.y, ny) - cy, z = in_cells(a.z, nz);
    int hx = span(limit, wx, nx), hy = span(limit, wy, ny);
    int wide = min(2 * hx + 1, nx), along = min(2 * hy + 1, ny), columns = wide * along;

    unsigned *row = args.list + (long long)i * capacity;
    int found = 0;
    for (int batch = 0; batch < columns; batch += 32) {
        // Places first … first + length and second … of the column of this lane.
        int first = 0, length = 0, second = 0, total = 0, k = batch + lane;
        if (k < columns) {
            int dx = k / along - wide / 2, dy = k % along - along / 2;
#if TRICLINIC
            // A column that is reached from two sides is searched in all its height.
            const bool whole = 2 * hx + 1 > nx || 2 * hy + 1 > ny;
            float u = dx - fx, v = dy - fy, left = limit2 - (whole ? 0.0f : least_across(prism, u, v));
#else
            float gx = wx * ring_distance(fx, dx, nx), gy = wy * ring_distance(fy, dy, ny);
            float left = limit2 - gx * gx - gy * gy;
#endif
            if (left > 0.0f) {
                int column = ((cx + dx + nx) % nx * ny + (cy + dy + ny) % ny) * nz;
                int low = 0, height = nz;
#if TRICLINIC
                // The sphere is within `half` of minus the length along c of some place in the prism.
                float half = sqrtf(left), start = u * prism.along_u + v * prism.along_v;
                float first_end = start + fminf(prism.along_u, 0.0f) + fminf(prism.along_v, 0.0f);
                float last_end = start + fmaxf(prism.along_u, 0.0f) + fmaxf(prism.along_v, 0.0f);
                float from = (-last_end - half) / prism.along_w - 1e-3f, to = (-first_end + half) / prism.along_w + 1e-3f;
                if (!whole && to - from + 2.0f < nz) {
                    low = (int)floorf(z + from);
                    height = (int)floorf(z + to) - low + 1;
                    low = (low % nz + nz) % nz;
                }
#else
                float half = sqrtf(left) / wz + 1e-3f;
                if (2.0f * half + 2.0f < nz) {
                    low = (int)floorf(z - half);
                    height = (int)floorf(z + half) - low + 1;
                    low = (low + nz) % nz;
                }
#endif
                int end = min(low + height, nz), rest = low + height - end;
                first = (int)starts[column + low];
                length = (int)starts[column + end] - first;
                second = (int)starts[column];
                total = length + (int)starts[column + rest] - second;
            }
        }
        // The sites of all these columns behind each other: columns are short, and one at a time would leave most lanes without work.
        int end = total;
        for (int k = 1; k < 32; k *= 2) {
            int other = __shfl_up_sync(ALL_LANES, end, k);
            if (lane >= k) end += other;
        }
        const int begin = end - total, sum = __shfl_sync(ALL_LANES, end, 31);
        for (int base = 0; base < sum; base += 32) {
            // The column of site t is the number of columns that end at or before it.
            int t = base + lane, c = 0;
            for (int half = 16; half > 0; half /= 2) {
                int ends = __shfl_sync(ALL_LANES, end, c + half - 1);
                if (ends <= t) c += half;
            }
            int in_column = t - __shfl_sync(ALL_LANES, begin, c), column_length = __shfl_sync(ALL_LANES, length, c);
            int column_first = __shfl_sync(ALL_LANES, first, c), column_second = __shfl_sync(ALL_LANES, second, c);
            int place = in_column < column_length ? column_first + in_column : column_second + (in_column - column_length);
            bool hit = false;
            if (t < sum && place != i && distance_squared(a, sites[place], step) < reach2) {
                hit = true;
                if (first_excluded < end_excluded) {
                    unsigned partner = order[place];
                    for (unsigned e = first_excluded; e < end_excluded; ++e) hit = hit && excluded[e] != partner;
                }
            }
            unsigned hits = __ballot_sync(ALL_LANES, hit);
            int at = found + __popc(hits & ((1u << lane) - 1u));
            if (hit && at < capacity) row[stored(at)] = (unsigned)place;
            found += __popc(hits);
        }
    }
    int used = min((found + CHUNK - 1) / CHUNK * CHUNK, capacity);
    for (int t = found + lane; t < used; t += 32) row[stored(t)] = (unsigned)i;
    if (lane == 0) {
        args.chunks[i] = (unsigned)(used / CHUNK);
        // The maximum only grows: an old value read here costs at most an atomic that changes nothing.
        if ((unsigned)found > args.status->neighbours) atomicMax(&args.status->neighbours, (unsigned)found);
    }
}
