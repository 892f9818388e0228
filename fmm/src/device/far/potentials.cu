// The transform back along z and L2P: φ(u) = Σ_c L_c R_c(u), E = -∇φ at the particles u of every box.
//
// A block takes one column of boxes. The coefficients of -∇φ are made once for each box, in shared memory: those of harmonic (l, m) come from
// (l+1, m±1) and (l+1, m), for Ex with weights 0–1, Ey 2–3, Ez 4 (see harmonics.rs). Then a thread runs through the harmonics of two particles
// of one box, so that each coefficient read serves both.
// Input: columns[κz][x][y][channel], complex; particles and `starts` as for the multipoles. Output: φ, Ex, Ey, Ez of each particle.

typedef Line<NZ> AlongZ;

static const int K = (ORDER + 1) * (ORDER + 1), HZ = NZ / 2 + 1;
// Coefficients of a box: odd, so that boxes begin in different banks.
static const int PITCH = K | 1;

// First step of a bisection of BOXES boxes: the largest power of two below BOXES.
DEVICE constexpr int power_of_two(int n) { return n < 2 ? n : 2 * power_of_two(n / 2); }
static const int HIGHEST = power_of_two(BOXES - 1);

KERNEL __launch_bounds__(THREADS) void far_potentials(const __grid_constant__ PotentialArgs a) {
    const real4 *particles = a.particles;
    real4 *out = a.out;
    SHARED(real4, shared);
    // First particle, and first pair of particles, of each box. `bounds` in whole 16 bytes: they are read by fours, and `pairs` is written meanwhile.
    __shared__ unsigned bounds[(MZ + 4) / 4 * 4], pairs[MZ + 1];
    // The spectrum, then the coefficients of φ, Ex, Ey, Ez of some boxes.
    real4 *spectrum = shared, *fields = shared;
    const int room = BOXES * PITCH > HZ * (KS / 2) ? BOXES * PITCH : HZ * (KS / 2);
    real2 *table = reinterpret_cast<real2 *>(shared + room), *locals = table + (AlongZ::TABLE + 1) / 2 * 2;
    const int column = blockIdx.x, thread = threadIdx.x;
    load(a.table_z, table, AlongZ::TABLE);
    for (int i = thread; i <= MZ; i += THREADS) bounds[i] = a.starts[column * MZ + i];
    await_predecessor();
    for (int i = thread; i < HZ * (KS / 2); i += THREADS) {
        const size_t at = (size_t(i / (KS / 2)) * (MX * MY) + column) * (KS / 2) + i % (KS / 2);
        spectrum[i] = reinterpret_cast<const real4 *>(a.columns)[at];
    }
    __syncthreads();
    if (bounds[0] == bounds[MZ]) return;
    for (int z = thread; z <= MZ; z += THREADS) {
        unsigned before = 0;
        for (int i = 0; i < z; i++) before += (bounds[i + 1] - bounds[i] + 1) / 2;
        pairs[z] = before;
    }
    for (int task = thread; task < KS / 2 * AlongZ::BLOCKS; task += THREADS) {
        const int pair = task % (KS / 2), k0 = task / (KS / 2) * KB;
        const real4 *line = spectrum + pair;
        const auto fetch = [&](int j) {
            const real4 x = line[j * (KS / 2)];
            return Pair{make_real2(2 * x.x, 2 * x.z), make_real2(2 * x.y, 2 * x.w)};
        };
        real2 c[KB], s[KB];
        const real4 first = line[0], middle = NZ % 2 == 0 ? line[NZ / 2 * (KS / 2)] : make_real4(0, 0, 0, 0);
        fold<NZ>(table, k0, make_real2(first.x, first.z), make_real2(middle.x, middle.z), fetch, c, s);
#pragma unroll
        for (int k = 0; k < KB; k++) {
            const int z = k0 + k;
            if (z > NZ / 2) continue;
            if (z < MZ) locals[z * (KS / 2) + pair] = less(c[k], s[k]);
            if (z > 0 && 2 * z != NZ && NZ - z < MZ) locals[(NZ - z) * (KS / 2) + pair] = added(c[k], s[k]);
        }
    }
    const real *local = reinterpret_cast<const real *>(locals);
    for (int z0 = 0; z0 < MZ; z0 += BOXES) {
        const int z1 = z0 + BOXES < MZ ? z0 + BOXES : MZ;
        __syncthreads();
        for (int i = thread; i < K * STRANDS; i += THREADS) {
            const int channel = i % K;
            int from[5];
            real w[5];
#pragma unroll
            for (int e = 0; e < 5; e++) {
                from[e] = a.gradient[e * K + channel];
                w[e] = a.weights[e * K + channel];
            }
            for (int z = z0 + i / K; z < z1; z += STRANDS) {
                const real *l = local + z * KS;
                real4 f;
                f.x = l[channel];
                f.y = w[0] * l[from[0]] + w[1] * l[from[1]];
                f.z = w[2] * l[from[2]] + w[3] * l[from[3]];
                f.w = w[4] * l[from[4]];
                fields[(z - z0) * PITCH + channel] = f;
            }
        }
        __syncthreads();
        for (unsigned pair = pairs[z0] + thread; pair < pairs[z1]; pair += THREADS) {
            int z = z0;
#pragma unroll
            for (int step = HIGHEST; step > 0; step /= 2) {
                if (z + step < z1 && pairs[z + step] <= pair) z += step;
            }
            const unsigned place = bounds[z] + 2 * (pair - pairs[z]);
            const bool both = place + 1 < bounds[z + 1];
            const real4 one = particles[place], other = particles[both ? place + 1 : place];
            const real4 *f = fields + (z - z0) * PITCH;
            real4 sum = make_real4(0, 0, 0, 0), second = sum;
            harmonics(
                Two{one.x, other.x}, Two{one.y, other.y}, Two{one.z, other.z}, Two{1, 1}, [](int) {},
                [&](int l, Two value) {
                    sum.x += f->x * value.a;
                    second.x += f->x * value.b;
                    if (l < ORDER) {
                        sum.y += f->y * value.a;
                        sum.z += f->z * value.a;
                        sum.w += f->w * value.a;
                        second.y += f->y * value.b;
                        second.z += f->z * value.b;
                        second.w += f->w * value.b;
                    }
                    f++;
                });
            out[place] = sum;
            if (both) out[place + 1] = second;
        }
    }
}
