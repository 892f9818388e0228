// SETTLE and SHAKE of one group of atoms, the twins of settle.rs and shake.rs of the CPU.
//
// Forces act along the bonds r of the reference positions (before the step): x_i = x'_i + (dt²/m_i) Σ_k G_k r_k.
// SETTLE: in the frame whose z axis is normal to the reference triangle the out-of-plane angles φ, ψ follow from the z
// coordinates, the in-plane angle θ from α sin θ + β cos θ = γ.
// SHAKE: bond after bond, both atoms move along r by g r/m, g = (d² − s²)/(2 s·r (1/m_i + 1/m_j)), s the moved bond, until
// |s² − d²| ≤ 2 tol d² for all; sweeps alternate forwards and backwards. The order of the CPU is kept: bonds of one level
// share no atom and may be done together, bonds that share one are in levels of the same order.
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

// A heavy atom with up to LEAVES bonds: registers only.
struct Star {
    int leaves;
    double weight, weights[LEAVES], wanted[LEAVES]; // 1/m of the centre and of the leaves (1/u), d² (nm²)
    Vec reference[LEAVES];                          // leaf − centre before the step
    Vec centre, leaf[LEAVES];                       // moved positions
};

// Returns −1 or the bond that stands in the way; adds Σ g r² to `virial`. How far a bond is from its length is found in f64 and brought to
// zero; what is done about it need be no better than 1e-7 of itself, and is found in f32. s·r is followed from sweep to sweep: it changes with g.
DEVICE int shake_star(Star &s, double tolerance, double &virial) {
    int worst = -1;
    double moved[LEAVES];
    float projection[LEAVES], wanted[LEAVES], weight[LEAVES];
#pragma unroll
    for (int k = 0; k < LEAVES; k++) {
        moved[k] = 0.0;
        if (k >= s.leaves) continue;
        projection[k] = (float)dot(s.leaf[k] - s.centre, s.reference[k]);
        wanted[k] = (float)s.wanted[k];
        weight[k] = (float)(s.weights[k] + s.weight);
    }
    const float allowed = 2.0f * (float)tolerance;
    bool converged = false, stuck = false;
    for (int sweep = 0; sweep < MAX_SWEEPS && !converged && !stuck; sweep++) {
        converged = true;
#pragma unroll
        for (int step = 0; step < 2 * LEAVES; step++) {
            // Forwards in even sweeps, backwards in odd ones.
            int k = step < LEAVES ? step : 2 * LEAVES - 1 - step;
            if (stuck || k >= s.leaves || (step < LEAVES) != (sweep % 2 == 0)) continue;
            Vec bond = s.leaf[k] - s.centre;
            const float miss = (float)(s.wanted[k] - bond.x * bond.x - bond.y * bond.y - bond.z * bond.z);
            if (fabsf(miss) <= allowed * wanted[k]) continue;
            converged = false;
            worst = k;
            // A bond that turned by nearly 90° in one step cannot be restored along its old direction.
            stuck = !(projection[k] >= 1e-3f * wanted[k]);
            const float small = miss / (2.0f * projection[k] * weight[k]);
            const double g = stuck ? 0.0 : (double)small;
            s.leaf[k] = s.leaf[k] + (g * s.weights[k]) * s.reference[k];
            s.centre = s.centre - (g * s.weight) * s.reference[k];
            projection[k] += small * weight[k] * wanted[k];
            moved[k] += g;
        }
    }
#pragma unroll
    for (int k = 0; k < LEAVES; k++) {
        if (k < s.leaves) virial += moved[k] * dot(s.reference[k], s.reference[k]);
    }
    return converged ? -1 : worst;
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
