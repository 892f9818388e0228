// What each small group of particles does to itself, for several charge vectors at once, on the root grid.
//
//   X_jk(b) = Σ_{i∈b} q_i R_jk(u_i)                                  multipoles of the boxes of the group
//   Λ_lm(a) = (−1)^l Σ_b Σ_jk … I_{l+j,m±k}(a − b) X_jk(b)           from every box to every box, all images but near ones included
//   φ(u)    = Re Σ_lm Λ*_lm R_lm(u),   E = −∇φ,                      then the near pairs in double precision and the trace term
//
// with R_lm = r^l P_lm e^{imφ}/(l+m)!, m ≥ 0, plain complex harmonics without norms (index l(l+1)/2 + m), and I the lattice sums of the
// irregular ones. In real numbers, with ± = (−1)^k and I± = I_{l+j,m±k}:
//   Re Λ = 2 (−1)^l [(Re I+ ± Re I−) Re X + (Im I+ ∓ Im I−) Im X],   Im Λ = 2 (−1)^l [(Im I+ ± Im I−) Re X + (± Re I− − Re I+) Im X]
// half of it for m = 0 (whose Im Λ is zero) and half for k = 0: the same products as in harmonics.rs. Where boxes lie in one plane of mirror
// symmetry, half of the I vanish and are skipped.
//
// Boxes and near pairs are those of the whole evaluation. Members lie in order of their sorted places. Units: box-local, lengths over
// the scale, k_e = 1; results in the caller's. ORDER, VECTORS: largest number of charge vectors, TARGETS: boxes that a block serves at once,
// SPLIT: boxes that act on each of them at once, THREADS: of such a block, BLOCKS: that a multiprocessor should hold.

#define SLOTS (TARGETS * SPLIT)
#define HALF ((ORDER + 1) * (ORDER + 2) / 2)
#define FULL ((2 * ORDER + 1) * (2 * ORDER + 1))
#define FULL_HALF ((2 * ORDER + 1) * (ORDER + 1))

struct alignas(sizeof(real) * 2 * VECTORS >= 16 ? 16 : sizeof(real) * 2 * VECTORS) Row {
    real2 v[VECTORS];
};

DEVICE void reduce_into(const GroupCells &cells, int c[3]) {
    for (int a = 0; a < 3; a++) {
        if (!cells.periodic[a]) continue;
        int n = cells.shape[a], images = c[a] >= 0 ? c[a] / n : -((n - 1 - c[a]) / n);
        for (int b = a; b < 3; b++) c[b] -= images * cells.lattice[a][b];
    }
}

DEVICE void unpack(int box, int c[3]) {
    c[0] = box & 1023;
    c[1] = box >> 10 & 1023;
    c[2] = box >> 20;
}

// Places of the members in ascending order, and the boxes that hold them; once for each assignment, a block for each group.
KERNEL void group_boxes(const __grid_constant__ GroupBoxArgs a) {
    const GroupCells &cells = a.cells;
    const unsigned *leaf_of = a.leaf_of;
    unsigned *scratch = a.scratch, *slots = a.slots, *places = a.places, *box_starts = a.box_starts;
    const int group = blockIdx.x, first = a.starts[group], n = a.starts[group + 1] - first;
    for (int s = threadIdx.x; s < n; s += blockDim.x) scratch[first + s] = a.place[a.members[first + s]];
    __syncthreads();
    for (int s = threadIdx.x; s < n; s += blockDim.x) {
        const unsigned own = scratch[first + s];
        int rank = 0;
        for (int t = 0; t < n; t++) rank += scratch[first + t] < own;
        places[first + rank] = own;
        slots[first + rank] = s;
    }
    __syncthreads();
    for (int r = threadIdx.x; r < n; r += blockDim.x) {
        scratch[first + r] = r == 0 || leaf_of[places[first + r]] != leaf_of[places[first + r - 1]];
    }
    __syncthreads();
    for (int r = threadIdx.x; r < n; r += blockDim.x) {
        int box = -1;
        for (int t = 0; t <= r; t++) box += scratch[first + t];
        a.box_of[first + r] = box;
        if (scratch[first + r]) {
            const int leaf = leaf_of[places[first + r]], nz = cells.shape[2], ny = cells.shape[1];
            a.boxes[first + box] = leaf / (nz * ny) | leaf / nz % ny << 10 | leaf % nz << 20;
            box_starts[first + group + box] = r;
        }
        if (r == n - 1) {
            a.n_boxes[group] = box + 1;
            box_starts[first + group + box + 1] = n;
        }
    }
}

DEVICE float inverse_of(int n, float) { return __fdividef(1.0f, (float)n); }
DEVICE double inverse_of(int n, double) { return 1.0 / n; }

// R_{l+1,m} from R_lm and R_{l−1,m}.
DEVICE real2 next_harmonic(int l, int m, real z, real r2, real2 present, real2 previous) {
    const real inverse = inverse_of((l + 1 - m) * (l + 1 + m), (real)0);
    const real a = (real)(2 * l + 1) * z * inverse, b = r2 * inverse;
    return {a * present.x - b * previous.x, a * present.y - b * previous.y};
}

// R_mm.
DEVICE real2 first_harmonic(int m, real x, real y) {
    real2 r = {1, 0};
    for (int k = 1; k <= m; k++) {
        const real half = inverse_of(2 * k, (real)0);
        r = {half * (x * r.x - y * r.y), half * (x * r.y + y * r.x)};
    }
    return r;
}

// Multipoles: a thread for each member that can be a box of its group, and m.
KERNEL void group_multipoles(const __grid_constant__ GroupMultipoleArgs a) {
    const unsigned *slots = a.slots, *places = a.places, *box_starts = a.box_starts;
    const double *charges = a.charges;
    const real4 *sorted = a.sorted;
    Row *multipoles = a.multipoles;
    const int item = blockIdx.x * blockDim.x + threadIdx.x, at = item / (ORDER + 1), m = item % (ORDER + 1);
    if (at >= a.n_members) return;
    const int group = a.group_of[at], first = a.starts[group], box = at - first;
    if (box >= (int)a.n_boxes[group]) return;
    const int n = a.starts[group + 1] - first, n_vectors = a.vectors[group], ends = first + group + box;
    Row sum[ORDER + 1];
    for (int l = 0; l <= ORDER; l++)
        for (int v = 0; v < VECTORS; v++) sum[l].v[v] = {0, 0};
    for (int r = box_starts[ends]; r < (int)box_starts[ends + 1]; r++) {
        const real4 p = sorted[places[first + r]];
        const real r2 = p.x * p.x + p.y * p.y + p.z * p.z;
        real q[VECTORS];
        for (int v = 0; v < VECTORS; v++) q[v] = v < n_vectors ? (real)charges[a.values[group] + v * n + slots[first + r]] : (real)0;
        real2 previous = {0, 0}, present = first_harmonic(m, p.x, p.y);
#pragma unroll
        for (int s = 0; s <= ORDER; s++) {
            if (m + s > ORDER) break;
            for (int v = 0; v < VECTORS; v++) sum[s].v[v] = {sum[s].v[v].x + q[v] * present.x, sum[s].v[v].y + q[v] * present.y};
            const real2 next = next_harmonic(m + s, m, p.z, r2, present, previous);
            previous = present;
            present = next;
        }
    }
    const real weight = m == 0 ? (real)0.5 : (real)1;
#pragma unroll
    for (int s = 0; s <= ORDER; s++) {
        if (m + s > ORDER) break;
        const int l = m + s;
        for (int v = 0; v < VECTORS; v++) sum[s].v[v] = {weight * sum[s].v[v].x, weight * sum[s].v[v].y};
        multipoles[(long long)at * HALF + l * (l + 1) / 2 + m] = sum[s];
    }
}

// Which operator a pair of boxes takes: row of the table, reflected axes, axes along which the offset is zero (bits).
struct Pair {
    int row, reflected, zero;
};

DEVICE Pair pair_of(const GroupCells &cells, int target, int source) {
    int a[3], b[3];
    unpack(target, a);
    unpack(source, b);
    int u[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    reduce_into(cells, u);
    Pair pair = {0, 0, 0};
    for (int x = 0; x < 3; x++) {
        if (cells.mirror) {
            const int n = cells.shape[x];
            if (cells.periodic[x] && 2 * u[x] > n) {
                u[x] = n - u[x];
                pair.reflected |= 1 << x;
            } else if (u[x] < 0) {
                u[x] = -u[x];
                pair.reflected |= 1 << x;
            }
            pair.zero |= (u[x] == 0) << x;
        } else if (u[x] < 0) {
            u[x] += cells.table[x];
        }
        pair.row = pair.row * cells.table[x] + u[x];
    }
    return pair;
}

// Adds what box b does to (l, m) of box a: `w`: I of their offset at L² + L + M.
DEVICE void add_box(const real2 *w, const Row *rows, int l, int m, int zero, real2 sum[VECTORS]) {
    const bool on_axis = (zero & 3) == 3, in_plane = zero & 4;
    const int step_k = on_axis || in_plane ? 2 : 1, step_j = on_axis && in_plane ? 2 : 1;
    for (int j = step_j == 2 ? l & 1 : 0; j <= ORDER; j += step_j) {
        const int L = l + j, first = step_k == 1 ? 0 : (on_axis ? m & 1 : (L + m) & 1);
        const real2 *row_w = w + L * L + L + m;
        const Row *row = rows + j * (j + 1) / 2;
        if (zero & 3) {
            // Only Re I (mirror plane of y), or Re I for even, Im I for odd m + k (mirror plane of x).
            for (int k = first; k <= j; k += step_k) {
                const int odd = zero & 2 ? 0 : (m + k) & 1;
                const real sign = ((k ^ odd) & 1) ? (real)-1 : (real)1;
                const real p = odd ? row_w[k].y : row_w[k].x, n = odd ? row_w[-k].y : row_w[-k].x;
                const real direct = p + sign * n, other = odd ? p - sign * n : sign * n - p;
                const Row x = row[k];
                for (int v = 0; v < VECTORS; v++) {
                    sum[v].x += direct * (odd ? x.v[v].y : x.v[v].x);
                    sum[v].y += other * (odd ? x.v[v].x : x.v[v].y);
                }
            }
        } else {
            for (int k = first; k <= j; k += step_k) {
                const real sign = k & 1 ? (real)-1 : (real)1;
                const real2 p = row_w[k], n = row_w[-k];
                const real cc = p.x + sign * n.x, ss = sign * n.x - p.x, cs = p.y + sign * n.y, sc = p.y - sign * n.y;
                const Row x = row[k];
                for (int v = 0; v < VECTORS; v++) {
                    sum[v].x += cc * x.v[v].x + sc * x.v[v].y;
                    sum[v].y += cs * x.v[v].x + ss * x.v[v].y;
                }
            }
        }
    }
}

// Potential and minus gradient of one column m of the local expansions, for all vectors.
DEVICE void add_column(const real2 *local, int m, const real4 p, double sum[VECTORS][4]) {
    const real r2 = p.x * p.x + p.y * p.y + p.z * p.z;
    const real twice = m == 0 ? (real)0 : m == 1 ? (real)2 : (real)1;
    real part[VECTORS][4] = {};
    real2 previous = {0, 0}, r = first_harmonic(m, p.x, p.y);
    for (int l = m; l <= ORDER; l++) {
        const int at = l * (l + 1) / 2 + m, above = at + l + 1;
        for (int v = 0; v < VECTORS; v++) {
            const real2 *row = local + v * HALF, same = row[at];
            part[v][0] += same.x * r.x + same.y * r.y;
            if (l == ORDER) continue;
            const real2 up = row[above + 1], along = row[above], down = m > 0 ? row[above - 1] : make_real2(0, 0);
            const real dx = twice * down.x, dy = twice * down.y;
            // ∂_x R_lm = ½ (R_{l−1,m−1} − R_{l−1,m+1}), ∂_y R_lm = ½ i (R_{l−1,m−1} + R_{l−1,m+1}), ∂_z R_lm = R_{l−1,m}
            part[v][1] += (dx - up.x) * r.x + (dy - up.y) * r.y;
            part[v][2] += (up.x + dx) * r.y - (up.y + dy) * r.x;
            part[v][3] -= along.x * r.x + along.y * r.y;
        }
        const real2 next = next_harmonic(l, m, p.z, r2, r, previous);
        previous = r;
        r = next;
    }
    for (int v = 0; v < VECTORS; v++) {
        sum[v][0] += part[v][0];
        sum[v][1] += (real)0.5 * part[v][1];
        sum[v][2] += (real)0.5 * part[v][2];
        sum[v][3] += part[v][3];
    }
}

DEVICE bool is_near(const GroupCells &cells, const unsigned char *near, const int u[3]) {
    int at = 0;
    for (int x = 0; x < 3; x++) {
        if (u[x] < -cells.reach[x] || u[x] > cells.reach[x]) return false;
        at = at * (2 * cells.reach[x] + 1) + u[x] + cells.reach[x];
    }
    return near[at];
}

DEVICE double distance2(const real4 p, const real4 s, const int u[3], const double basis[9], double d[3]) {
    d[0] = (double)p.x - (double)s.x, d[1] = (double)p.y - (double)s.y, d[2] = (double)p.z - (double)s.z;
    for (int x = 0; x < 3; x++) d[x] -= u[0] * basis[x] + u[1] * basis[3 + x] + u[2] * basis[6 + x];
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

// The near images of one member; `q`: its charges, `stride` apart.
struct Source {
    real4 at;
    const double *q;
    int stride, n_vectors;
};

DEVICE void add_image(const Source &source, const double d[3], double r2, double sum[VECTORS][4]) {
    const double inverse = rsqrt(r2), inverse3 = inverse * inverse * inverse;
    for (int v = 0; v < VECTORS; v++) {
        if (v >= source.n_vectors) break;
        const double q = source.q[v * source.stride];
        sum[v][0] += q * inverse;
        for (int x = 0; x < 3; x++) sum[v][1 + x] += q * inverse3 * d[x];
    }
}

// What a member at `p` in box `target` feels directly from another one in box `other`; excluded pairs leave out the nearest image.
DEVICE void add_near(const GroupCells &cells, const unsigned char *near, const int *offsets, const double basis[9], int target, int other,
                     const real4 p, const Source &source, bool itself, bool excluded, double sum[VECTORS][4]) {
    int a[3], b[3];
    unpack(target, a);
    unpack(other, b);
    double d[3];
    if (!cells.several) {
        int u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
        for (int x = 0; x < 3; x++) {
            if (!cells.periodic[x]) continue;
            const int n = cells.shape[x];
            while (2 * u[x] > n || 2 * u[x] < -n) {
                const int images = 2 * u[x] > n ? 1 : -1;
                for (int y = x; y < 3; y++) u[y] -= images * cells.lattice[x][y];
            }
        }
        if (itself || excluded || !is_near(cells, near, u)) return;
        const double r2 = distance2(p, source.at, u, basis, d);
        add_image(source, d, r2, sum);
        return;
    }
    int skipped = -1;
    double least = 1e300;
    for (int pass = excluded ? 0 : 1; pass < 2; pass++) {
        for (int slot = 0; slot < cells.n_near; slot++) {
            const int u[3] = {offsets[3 * slot], offsets[3 * slot + 1], offsets[3 * slot + 2]};
            int c[3] = {a[0] + u[0], a[1] + u[1], a[2] + u[2]};
            reduce_into(cells, c);
            if (c[0] != b[0] || c[1] != b[1] || c[2] != b[2]) continue;
            const double r2 = distance2(p, source.at, u, basis, d);
            if (pass == 0 && r2 < least) {
                least = r2;
                skipped = slot;
            }
            if (pass == 1 && slot != skipped && !(itself && u[0] == 0 && u[1] == 0 && u[2] == 0)) add_image(source, d, r2, sum);
        }
    }
}

// Q, D, T of the trace term for each vector; a warp for each.
DEVICE void add_moments(const real4 *sorted, const unsigned *places, const unsigned *slots, const double *charges, int n, int n_vectors,
                        double scale, double traces[VECTORS][5]) {
    const int lane = threadIdx.x % 32;
    for (int v = threadIdx.x / 32; v < n_vectors; v += blockDim.x / 32) {
        double sum[5] = {0, 0, 0, 0, 0};
        for (int r = lane; r < n; r += 32) {
            const real4 p = sorted[places[r]];
            const double q = charges[v * n + slots[r]], y[3] = {p.x * scale, p.y * scale, p.z * scale};
            sum[0] += q;
            for (int x = 0; x < 3; x++) {
                sum[1 + x] += q * y[x];
                sum[4] += q * y[x] * y[x];
            }
        }
        for (int c = 0; c < 5; c++) {
            const double total = warp_sum(sum[c]);
            if (lane == 0) traces[v][c] = total;
        }
    }
}

// Potentials and fields: gridDim.y blocks for each group take TARGETS of its boxes in turn.
KERNEL __launch_bounds__(THREADS, BLOCKS) void group_fields(const __grid_constant__ GroupFieldArgs a) {
    const GroupCells &cells = a.cells;
    const real4 *sorted = a.sorted;
    const real2 *operators = a.operators;
    const unsigned *box_starts = a.box_starts, *orders = a.orders;
    SHARED(Row, rows);
    real2 *tables = reinterpret_cast<real2 *>(rows + SPLIT * HALF), *locals = tables + SLOTS * FULL;
    __shared__ Pair pairs[2][SLOTS];
    __shared__ double traces[VECTORS][5];
    const int group = blockIdx.x, member = a.starts[group], n = a.starts[group + 1] - member, count = a.n_boxes[group];
    const int box_ends = member + group, n_vectors = a.vectors[group], thread = threadIdx.x;
    if ((int)blockIdx.y * TARGETS >= count) return;
    const double *q = a.charges + a.values[group];
    const unsigned *slots = a.slots + member, *places = a.places + member, *box_of = a.box_of + member, *boxes = a.boxes + member;
    const Row *multipoles = a.multipoles + (long long)member * HALF;
    const double scale = a.geometry->scale, per_scale = a.geometry->per_scale, volume = a.geometry->volume;
    add_moments(sorted, places, slots, q, n, n_vectors, scale, traces);
    // Slot t · SPLIT + w: boxes w, w + SPLIT, … on target t.
    const int own = thread / HALF, lm = thread % HALF;
    int l = 0;
    while ((l + 1) * (l + 2) / 2 <= lm) l++;
    const int m = lm - l * (l + 1) / 2;
    for (int first = blockIdx.y * TARGETS; first < count; first += gridDim.y * TARGETS) {
        const int n_targets = min(TARGETS, count - first), n_slots = n_targets * SPLIT;
        real2 sum[VECTORS];
        for (int v = 0; v < VECTORS; v++) sum[v] = {0, 0};
        if (thread < n_slots && thread % SPLIT < count) pairs[0][thread] = pair_of(cells, boxes[first + thread / SPLIT], boxes[thread % SPLIT]);
        for (int b = 0, turn = 0; b < count; b += SPLIT, turn ^= 1) {
            const int n_sources = min(SPLIT, count - b);
            __syncthreads();
            for (int i = thread; i < n_slots * FULL_HALF; i += THREADS) {
                const int slot = i / FULL_HALF, h = i - slot * FULL_HALF;
                if (slot % SPLIT >= n_sources) continue;
                const Pair pair = pairs[turn][slot];
                const int L = orders[h] & 255, M = orders[h] >> 8;
                real2 value = operators[(long long)pair.row * FULL_HALF + h];
                const int flips = (pair.reflected & 1 ? M : 0) + (pair.reflected & 4 ? L + M : 0);
                if (flips & 1) value = {-value.x, -value.y};
                if ((pair.reflected ^ pair.reflected >> 1) & 1) value.y = -value.y;
                real2 *to = tables + slot * FULL + L * L + L;
                to[M] = value;
                if (M > 0) to[-M] = M & 1 ? make_real2(-value.x, value.y) : make_real2(value.x, -value.y);
            }
            for (int i = thread; i < n_sources * HALF; i += THREADS) rows[i] = multipoles[(long long)b * HALF + i];
            const int next = b + SPLIT + thread % SPLIT;
            if (thread < n_slots && next < count) pairs[turn ^ 1][thread] = pair_of(cells, boxes[first + thread / SPLIT], boxes[next]);
            __syncthreads();
            if (own < n_slots && own % SPLIT < n_sources) {
                add_box(tables + own * FULL, rows + own % SPLIT * HALF, l, m, pairs[turn][own].zero, sum);
            }
        }
        if (own < n_slots) {
            const real weight = (m == 0 ? (real)1 : (real)2) * (l & 1 ? (real)-1 : (real)1);
            for (int v = 0; v < VECTORS; v++) {
                locals[(own * VECTORS + v) * HALF + lm] = {weight * sum[v].x, m == 0 ? (real)0 : weight * sum[v].y};
            }
        }
        if (SPLIT > 1) {
            __syncthreads();
            const int size = VECTORS * HALF;
            for (int i = thread; i < n_targets * size; i += THREADS) {
                real2 *part = locals + i / size * SPLIT * size + i % size;
                for (int w = 1; w < SPLIT; w++) part[0] = {part[0].x + part[w * size].x, part[0].y + part[w * size].y};
            }
        }
        __syncthreads();
        double basis[9];
        for (int i = 0; i < 9; i++) basis[i] = a.geometry->basis[i / 3][i % 3] * per_scale;
        // Eight lanes for each member; columns m and ORDER + 1 − m together are equally long for each.
        const int part = thread % 8, end = box_starts[box_ends + first + n_targets];
        for (int base = box_starts[box_ends + first] + thread / 32 * 4; base < end; base += THREADS / 8) {
            const int r = base + thread % 32 / 8;
            double out[VECTORS][4] = {};
            real4 p = make_real4(0, 0, 0, 0);
            if (r < end) {
                p = sorted[places[r]];
                const real2 *local = locals + (box_of[r] - first) * SPLIT * VECTORS * HALF;
                for (int column = part; 2 * column <= ORDER + 1; column += 8) {
                    const int other = ORDER + 1 - column;
#pragma unroll 1
                    for (int side = 0; side < (column == 0 || column == other ? 1 : 2); side++) {
                        add_column(local, side == 0 ? column : other, p, out);
                    }
                }
                const unsigned *mask = a.masks + a.mask_starts[group] + slots[r] * ((n + 31) / 32);
                for (int s = part; s < n; s += 8) {
                    const int slot = slots[s];
                    const Source source = {sorted[places[s]], q + slot, n, n_vectors};
                    const bool excluded = mask[slot / 32] >> (slot % 32) & 1;
                    add_near(cells, a.near, a.offsets, basis, boxes[box_of[r]], boxes[box_of[s]], p, source, r == s, excluded, out);
                }
            }
            for (int v = 0; v < VECTORS; v++) {
                for (int c = 0; c < 4; c++) {
                    for (int distance = 4; distance > 0; distance >>= 1) out[v][c] += __shfl_xor_sync(ALL_LANES, out[v][c], distance);
                }
            }
            if (r >= end || part != 0) continue;
            const double prefactor = volume > 0.0 ? 2.0943951023931953 / volume : 0.0;
            const double y[3] = {p.x * scale, p.y * scale, p.z * scale};
            for (int v = 0; v < VECTORS; v++) {
                if (v >= n_vectors) break;
                const long long at = a.values[group] + v * n + slots[r];
                double phi = traces[v][4];
                for (int x = 0; x < 3; x++) {
                    phi += y[x] * (traces[v][0] * y[x] - 2.0 * traces[v][1 + x]);
                    const double trace = -2.0 * prefactor * (traces[v][0] * y[x] - traces[v][1 + x]);
                    a.field[3 * at + x] = trace + per_scale * per_scale * out[v][1 + x];
                }
                a.potential[at] = prefactor * phi + per_scale * out[v][0];
            }
        }
        __syncthreads();
    }
}
