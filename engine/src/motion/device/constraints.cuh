// SETTLE and SHAKE of one group of atoms, the twins of settle.rs and shake.rs of the CPU.
//
// Forces act along the bonds r of the reference positions (before the step): x_i = x'_i + (dt²/m_i) Σ_k G_k r_k.
// SETTLE: in the frame whose z axis is normal to the reference triangle the out-of-plane angles φ, ψ follow from the z
// coordinates, the in-plane angle θ from α sin θ + β cos θ = γ.
// SHAKE: bond after bond, both atoms move along r by g r/m, g = (d² − s²)/(2 s·r (1/m_i + 1/m_j)), s the moved bond, until
// |s² − d²| ≤ 2 tol d² for all; sweeps alternate forwards and backwards. The order of the CPU is kept: bonds of one level
// share no atom and may be done together, bonds that share one are in levels of the same order. A star, one thread, is solved for all its g
// together: their equations are the same, and the way to the solution has a third of the operations that wait for each other.
// Units: nm, ps, u; f64. Virial sums are Σ g r², to be divided by dt².
// References: DOI 10.1002/jcc.540130805; DOI 10.1016/0021-9991(77)90098-5.

// Divisions and roots are series of multiplications, of which 1/√x has fewest: √x is x/√x here.
DEVICE Vec unit(Vec a) { return rsqrt(dot(a, a)) * a; }
DEVICE double cosine2(double sine) { return (1.0 - sine) * (1.0 + sine); }
DEVICE double root(double x) { return x * rsqrt(x); }

// Displacements of O, H, H that give the triangle its shape: b0, c0 are O→H before the step, b, c after it without
// constraints. Not a number where there is no solution.
DEVICE void settle(const Triangle &t, Vec b0, Vec c0, Vec b, Vec c, Vec &shift_a, Vec &shift_b, Vec &shift_c) {
    Vec centre = t.share * (b + c);
    Vec a1 = -1.0 * centre, b1 = b - centre, c1 = c - centre;
    Vec z = unit(cross(b0, c0));
    Vec x = unit(cross(a1, z));
    Vec y = cross(z, x);
    double b0x = dot(x, b0), b0y = dot(y, b0), c0x = dot(x, c0), c0y = dot(y, c0);
    double b1x = dot(x, b1), b1y = dot(y, b1), b1z = dot(z, b1);
    double c1x = dot(x, c1), c1y = dot(y, c1), c1z = dot(z, c1);
    double a1z = dot(z, a1);

    double sin_phi = a1z * t.per_ra;
    double cos2_phi = cosine2(sin_phi), per_cos_phi = rsqrt(cos2_phi), cos_phi = cos2_phi * per_cos_phi;
    double sin_psi = (b1z - c1z) * t.per_2rc * per_cos_phi;
    double a2y = t.ra * cos_phi;
    double b2x = -t.rc * root(cosine2(sin_psi));
    double tilt = t.rc * sin_psi * sin_phi;
    double b2y = -t.rb * cos_phi - tilt, c2y = -t.rb * cos_phi + tilt;

    double alpha = b2x * (b0x - c0x) + b0y * b2y + c0y * c2y;
    double beta = b2x * (c0y - b0y) + b0x * b2y + c0x * c2y;
    double gamma = b0x * b1y - b1x * b0y + c0x * c1y - c1x * c0y;
    double norm2 = alpha * alpha + beta * beta, per_norm = rsqrt(norm2);
    double sin_theta = (alpha * gamma - beta * root(norm2 - gamma * gamma)) * (per_norm * per_norm);
    double cos_theta = root(cosine2(sin_theta));

    shift_a = (-a2y * sin_theta) * x + (a2y * cos_theta) * y + a1z * z - a1;
    shift_b = (b2x * cos_theta - b2y * sin_theta) * x + (b2x * sin_theta + b2y * cos_theta) * y + b1z * z - b1;
    shift_c = (-b2x * cos_theta - c2y * sin_theta) * x + (-b2x * sin_theta + c2y * cos_theta) * y + c1z * z - c1;
}

enum { GOOD, OPEN, STUCK };

// One bond (from atom j to atom i, moved positions a and b): GOOD if it is good, else corrected (OPEN) or beyond repair.
DEVICE int relax(Vec &a, Vec &b, Vec r, double wa, double wb, double wanted, double tolerance, double &virial) {
    Vec bond = a - b;
    double miss = wanted - dot(bond, bond);
    if (fabs(miss) <= 2.0 * tolerance * wanted) return GOOD;
    double projection = dot(bond, r);
    // A bond that turned by nearly 90° in one step cannot be restored along its old direction.
    if (!(projection >= 1e-3 * wanted)) return STUCK;
    double g = miss / (2.0 * projection * (wa + wb));
    a = a + (g * wa) * r;
    b = b - (g * wb) * r;
    virial += g * dot(r, r);
    return OPEN;
}

// A heavy atom with N bonds: registers only.
template <int N> struct Star {
    double weight, weights[N], wanted[N]; // 1/m of the centre and of the leaves (1/u), d² (nm²)
    Vec reference[N];                     // leaf − centre before the step
};

// Leaf − centre where they flew, the centre first.
template <int N> DEVICE void flown(const Vec (&r)[N + 1], Vec (&bond)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++) bond[k] = r[k + 1] - r[0];
}

// Moves the bonds of a star by multipliers g: leaves along their own r, the centre against all of them.
template <int N> DEVICE void pull(const Star<N> &s, const double (&g)[N], Vec (&bond)[N]) {
    Vec together = (g[0] * s.weight) * s.reference[0];
#pragma unroll
    for (int k = 1; k < N; k++) together = together + (g[k] * s.weight) * s.reference[k];
#pragma unroll
    for (int k = 0; k < N; k++) bond[k] = bond[k] + ((g[k] * s.weights[k]) * s.reference[k] + together);
}

// How far each bond is from its length, d² − s²: found in f64, what is done about it need be no better than 1e-7 of itself. Whether all are good.
template <int N> DEVICE bool measure(const Vec (&bond)[N], const double (&wanted)[N], float allowed, float (&miss)[N]) {
    bool good = true;
#pragma unroll
    for (int k = 0; k < N; k++) {
        const Vec b = bond[k];
        miss[k] = (float)(wanted[k] - b.x * b.x - b.y * b.y - b.z * b.z);
        good = good && fabsf(miss[k]) <= allowed * (float)wanted[k];
    }
    return good;
}

// The inverse of a matrix near one that is symmetric and positive, in its place (Gauss-Jordan without exchanges). Not a number where there is none.
template <int N> DEVICE void invert(float (&m)[N][N]) {
#pragma unroll
    for (int k = 0; k < N; k++) {
        const float per = __fdividef(1.0f, m[k][k]);
        m[k][k] = 1.0f;
#pragma unroll
        for (int j = 0; j < N; j++) m[k][j] *= per;
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (i == k) continue;
            const float part = m[i][k];
            m[i][k] = 0.0f;
#pragma unroll
            for (int j = 0; j < N; j++) m[i][j] -= part * m[k][j];
        }
    }
}

// All bonds of a star at once, by Newton's method with one matrix: d(s_k²) = Σ_l A_kl g_l, A_kl = 2 s_k·r_l (1/m_c + δ_kl/m_k), whose inverse is found
// once. Its rows change in proportion to p_k = s_k·r_k, and where that ends is known but for what the other bonds do: √(p² + d² miss). So the first
// step takes the mean of both, with which it is exact for a bond by itself, and all others take the end. False, with g of no use, if a bond has turned
// by more than 60° or the iteration does not end in so many rounds: that happens where a step is far too long.
template <int N> DEVICE bool newton(const Star<N> &s, const Vec (&r)[N + 1], float allowed, int rounds, double (&g)[N]) {
    Vec bond[N];
    float inverse[N][N], miss[N], now[N], later[N];
    bool sound = true;
    flown(r, bond);
#pragma unroll
    for (int k = 0; k < N; k++) g[k] = 0.0;
    bool good = measure(bond, s.wanted, allowed, miss);
#pragma unroll
    for (int k = 0; k < N; k++) {
        const float x = (float)bond[k].x, y = (float)bond[k].y, z = (float)bond[k].z, wanted = (float)s.wanted[k];
        float own = 0.0f;
#pragma unroll
        for (int l = 0; l < N; l++) {
            const float along = x * (float)s.reference[l].x + y * (float)s.reference[l].y + z * (float)s.reference[l].z;
            if (l == k) own = along;
            inverse[k][l] = 2.0f * along * (float)(l == k ? s.weight + s.weights[k] : s.weight);
        }
        sound = sound && own >= 0.5f * wanted;
        const float square = own * own + wanted * miss[k], per_end = rsqrtf(square);
        now[k] = __fdividef(2.0f * own, own + square * per_end);
        later[k] = own * per_end;
    }
    if (!sound) return false;
    invert(inverse);
    for (int round = 0; round < rounds && !good; round++) {
        double more[N];
#pragma unroll
        for (int k = 0; k < N; k++) miss[k] *= round == 0 ? now[k] : later[k];
#pragma unroll
        for (int k = 0; k < N; k++) {
            float small = inverse[k][0] * miss[0];
#pragma unroll
            for (int l = 1; l < N; l++) small += inverse[k][l] * miss[l];
            more[k] = (double)small;
            g[k] += more[k];
        }
        pull(s, more, bond);
        good = measure(bond, s.wanted, allowed, miss);
    }
    return good;
}

// Bond after bond, in the order of the CPU: slower, but it ends wherever that does, and says as that does which bond stands in the way. s·r is followed
// from sweep to sweep: it changes with g.
template <int N> DEVICE int sweep(const Star<N> &s, const Vec (&r)[N + 1], float allowed, int sweeps, double (&g)[N]) {
    int worst = -1;
    Vec bond[N];
    float projection[N];
    flown(r, bond);
#pragma unroll
    for (int k = 0; k < N; k++) {
        g[k] = 0.0;
        projection[k] = (float)dot(bond[k], s.reference[k]);
    }
    bool converged = false, stuck = false;
    for (int sweep = 0; sweep < sweeps && !converged && !stuck; sweep++) {
        converged = true;
#pragma unroll
        for (int step = 0; step < 2 * N; step++) {
            // Forwards in even sweeps, backwards in odd ones.
            const int k = step < N ? step : 2 * N - 1 - step;
            if (stuck || (step < N) != (sweep % 2 == 0)) continue;
            const float wanted = (float)s.wanted[k], weight = (float)(s.weights[k] + s.weight);
            const float miss = (float)(s.wanted[k] - dot(bond[k], bond[k]));
            if (fabsf(miss) <= allowed * wanted) continue;
            converged = false;
            worst = k;
            // A bond that turned by nearly 90° in one step cannot be restored along its old direction.
            stuck = !(projection[k] >= 1e-3f * wanted);
            const float small = stuck ? 0.0f : miss / (2.0f * projection[k] * weight);
            double more[N] = {};
            more[k] = (double)small;
            pull(s, more, bond);
            projection[k] += small * weight * wanted;
            g[k] += more[k];
        }
    }
    return converged ? -1 : worst;
}

// Multipliers g of the bonds of a star that has flown to r, the centre first. Returns −1 or the bond that stands in the way.
template <int N> DEVICE int shake_star(const Star<N> &s, const Vec (&r)[N + 1], double tolerance, double (&g)[N]) {
    const float allowed = 2.0f * (float)tolerance;
    return newton(s, r, allowed, MAX_ROUNDS, g) ? -1 : sweep(s, r, allowed, MAX_SWEEPS, g);
}

// A group of any shape, one warp: slots of `moved` and `reference` (3 doubles each), bonds in levels.
// Returns −1 or the bond that stands in the way, the same in all lanes; adds Σ g r² (of this lane) to `virial`.
DEVICE int shake_group(int first_level, int levels, const unsigned *level_starts, const unsigned *ends,
                                  const double *wanted, const double *weights, const double *reference, double *moved,
                                  double tolerance, double &virial) {
    int lane = threadIdx.x % 32;
    int worst = -1;
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool converged = true;
        for (int step = 0; step < levels; step++) {
            int level = first_level + (sweep % 2 == 0 ? step : levels - 1 - step);
            int state = GOOD;
            for (int k = level_starts[level] + lane; k < (int)level_starts[level + 1]; k += 32) {
                long long i = 3LL * ends[2 * k], j = 3LL * ends[2 * k + 1];
                Vec a = load(moved + i), b = load(moved + j);
                Vec r = load(reference + i) - load(reference + j);
                int now = relax(a, b, r, weights[i / 3], weights[j / 3], wanted[k], tolerance, virial);
                if (now == OPEN) {
                    store(moved + i, a);
                    store(moved + j, b);
                }
                if (now != GOOD && state != STUCK) worst = k;
                if (now > state) state = now;
            }
            __syncwarp();
            converged = converged && state == GOOD;
            // The first lane that is stuck tells its bond to all.
            unsigned stuck = __ballot_sync(ALL_LANES, state == STUCK);
            if (stuck) return __shfl_sync(ALL_LANES, worst, __ffs(stuck) - 1);
        }
        if (__all_sync(ALL_LANES, converged)) return -1;
    }
    unsigned open = __ballot_sync(ALL_LANES, worst >= 0);
    return __shfl_sync(ALL_LANES, worst, __ffs(open) - 1);
}
