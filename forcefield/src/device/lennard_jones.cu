// Lennard-Jones forces, energy and virial of the Verlet list; LANES threads per site.
//
// Per pair inside the cut-off, u = 1/r², p = u³: V = c12 p² − c6 p minus constants, r·F = 12 c12 p² − 6 c6 p plus the switch.
// MODE 0: cut; 1: potential shifted by SHIFT6, SHIFT12; 2: force switch, x = max(r − R_SWITCH, 0), per power α
// −d/dr → α/r^(α+1) + A x² + B x³, Φ = 1/r^α − A x³/3 − B x⁴/4 − C (GROMACS manual 2022, DOI 10.5281/zenodo.6451567).
// Every pair is met twice, so energy and virial are halved. Lane s of a site reads four list entries of each chunk of 4 LANES
// at once, those numbered s, s + LANES, …: lanes side by side meet sites that are close in space and in memory. Sums over lanes in fixed order, then fixed-point.
// `table`[kind_i N_KINDS + kind_j] = (c6, c12), and if OXYGENS_TAKE_OVER what S adds to both, S = t² (3 − 2t), t = (r² − FAR_FROM2)/(FAR_TO2 − FAR_FROM2) from 0
// to 1 (lennard_jones/kinds.rs); r·F has −r dS/dr times the potential of what is added, which is below R_SWITCH.
// AXES 1: with energies also what Σ x_a F_a misses of the virial along each axis a. Units: nm, kJ/mol, kJ/mol/nm. Needs sites.cuh, forces.cuh.

#if OXYGENS_TAKE_OVER
struct alignas(4 * sizeof(real) > 16 ? 16 : 4 * sizeof(real)) Coefficients {
    real c6, c12, far_c6, far_c12;
};
#else
struct alignas(2 * sizeof(real)) Coefficients {
    real c6, c12;
};
#endif

// Sites of this step from positions.
KERNEL void gather_sites(const __grid_constant__ GatherArgs a) {
    const Axes &axes = axes_of(a.edges);
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= a.n) return;
    a.sites[place] = site_at(a.x, a.atoms[place], a.origin, axes, a.sites[place].kind);
}

struct Sums {
    real fx, fy, fz, energy, virial;
#if AXES
    real along[3];
#endif
};

// Adds one pair; forces and virial divided by 6.
template <bool ENERGY>
DEVICE void add_pair(Sums &sum, const Site &a, const Site *sites, unsigned i, unsigned j, const real *step,
                     const Coefficients *table, Coefficients only) {
    Site b = sites[j];
    Difference d = difference(a, b, step);
    real r2 = d.x * d.x + d.y * d.y + d.z * d.z;
    Coefficients c = N_KINDS == 1 ? only : table[(unsigned)a.kind * N_KINDS + (unsigned)b.kind];
    bool inside = r2 < (real)(CUTOFF * CUTOFF) && j != i;
    real inverse = rsqrt_r(r2), u = inverse * inverse, p = u * u * u;
#if OXYGENS_TAKE_OVER
    const real per_width = (real)(1.0 / (FAR_TO2 - FAR_FROM2));
    real t = (r2 - (real)FAR_FROM2) * per_width;
    t = t > 0 ? (t < 1 ? t : 1) : 0;
    const real part = t * t * (3 - 2 * t), rise = 2 * per_width * r2 * t * (1 - t);
#if MODE == 0
    const real added = p * (c.far_c12 * p - c.far_c6);
#else
    const real added = c.far_c12 * (p * p - (real)SHIFT12) - c.far_c6 * (p - (real)SHIFT6);
#endif
    c.c6 += part * c.far_c6;
    c.c12 += part * c.far_c12;
#endif
    const real repulsion = c.c12 * p;
    real plain = p * (repulsion - c.c6), w = p * (2 * repulsion - c.c6);
#if MODE == 2
    real x = r2 * inverse - (real)R_SWITCH;
    x = x > 0 ? x : 0;
    real x2 = x * x;
    w += r2 * inverse * x2 * (c.c12 * ((real)(A12 / 6) + (real)(B12 / 6) * x) - c.c6 * ((real)(A6 / 6) + (real)(B6 / 6) * x));
#endif
#if OXYGENS_TAKE_OVER
    w -= rise * added;
#endif
    w = inside ? w : 0;
    real f = inside ? w * u : 0;
    // Rounded alike whatever else is made of the products, so that steps with energies have the forces of those without.
    sum.fx = fma(f, d.x, sum.fx);
    sum.fy = fma(f, d.y, sum.fy);
    sum.fz = fma(f, d.z, sum.fz);
    if (ENERGY) {
#if MODE == 1
        plain -= c.c12 * (real)SHIFT12 - c.c6 * (real)SHIFT6;
#elif MODE == 2
        real x3 = x2 * x;
        plain -= c.c12 * ((real)SHIFT12 + x3 * ((real)(A12 / 3) + (real)(B12 / 4) * x)) -
                 c.c6 * ((real)SHIFT6 + x3 * ((real)(A6 / 3) + (real)(B6 / 4) * x));
#endif
        sum.energy += inside ? plain : 0;
        sum.virial += w;
#if AXES
        sum.along[0] += f * d.x * d.x;
        sum.along[1] += f * d.y * d.y;
        sum.along[2] += f * d.z * d.z;
#endif
    }
}

template <bool ENERGY>
DEVICE void sum_pairs(const Site *__restrict__ sites, const unsigned *__restrict__ atoms,
                                 const unsigned *__restrict__ list, const unsigned *__restrict__ entries,
                                 const Coefficients *__restrict__ table, const double *__restrict__ edges, const double *__restrict__ x,
                                 long long *forces, long long *energies, ListWords *status, const Dispersion &dispersion, int capacity, int n) {
    int site = (int)((blockIdx.x * blockDim.x + threadIdx.x) / LANES), lane = threadIdx.x % LANES;
    unsigned i = (unsigned)min(site, n - 1);
    Site a = sites[i];
    real step[EDGES];
    steps_of(edges, step);
    Coefficients only = table[0];
    Sums sum = {};
    int count = site < n ? (int)(entries[i] / CHUNK) : 0;
    const uint4 *row = (const uint4 *)(list + (long long)i * capacity) + lane;
    uint4 next = count > 0 ? row[0] : uint4{i, i, i, i};
    for (int c = 0; c < count; ++c) {
        uint4 j = next;
        if (c + 1 < count) next = row[(c + 1) * LANES];
        add_pair<ENERGY>(sum, a, sites, i, j.x, step, table, only);
        add_pair<ENERGY>(sum, a, sites, i, j.y, step, table, only);
        add_pair<ENERGY>(sum, a, sites, i, j.z, step, table, only);
        add_pair<ENERGY>(sum, a, sites, i, j.w, step, table, only);
    }
    for (int k = LANES / 2; k > 0; k >>= 1) {
        sum.fx += __shfl_xor_sync(ALL_LANES, sum.fx, k);
        sum.fy += __shfl_xor_sync(ALL_LANES, sum.fy, k);
        sum.fz += __shfl_xor_sync(ALL_LANES, sum.fz, k);
    }
    if (site < n && lane < 3) {
        real f = 6 * (lane == 0 ? sum.fx : (lane == 1 ? sum.fy : sum.fz));
        if (!add_force(forces + 3ll * atoms[i] + lane, f)) atomicMax(&status->saturated, 1u);
    }
    if (ENERGY) {
        __shared__ double scratch[32];
        double energy = block_sum(0.5 * (double)sum.energy, scratch);
        double virial = block_sum(3.0 * (double)sum.virial, scratch);
        if (threadIdx.x == 0) {
            add_energy(energies + SLOT_LENNARD_JONES, energy);
            if (blockIdx.x == 0 && dispersion.energy != 0.0) {
                double per_volume = 1.0 / (edges[0] * edges[1] * edges[2]);
                add_energy(energies + SLOT_DISPERSION, dispersion.energy * per_volume + dispersion.constant);
                virial += dispersion.virial * per_volume;
            }
            add_energy(energies + SLOT_VIRIAL, virial);
        }
#if AXES
        // Σ d_a F_a over the pairs less Σ x_a F_a over the sites, whose forces every lane has.
        const real force[3] = {sum.fx, sum.fy, sum.fz};
        const double *at = x + 3ll * atoms[i];
        const double per_axis = blockIdx.x == 0 ? dispersion.virial / (3.0 * edges[0] * edges[1] * edges[2]) : 0.0;
        for (int axis = 0; axis < 3; ++axis) {
            const double of_atom = site < n && lane == 0 ? 6.0 * at[axis] * (double)force[axis] : 0.0;
            const double missed = block_sum(3.0 * (double)sum.along[axis] - of_atom, scratch);
            if (threadIdx.x == 0) add_energy(energies + SLOT_IMAGES + axis, missed + per_axis);
        }
#endif
    }
}

KERNEL void lennard_jones(const __grid_constant__ PairArgs a) {
    sum_pairs<false>(a.sites, a.atoms, a.list, a.entries, a.table, a.edges, a.x, a.forces, a.energies, a.status, a.dispersion, a.capacity, a.n);
}

KERNEL void lennard_jones_energy(const __grid_constant__ PairArgs a) {
    sum_pairs<true>(a.sites, a.atoms, a.list, a.entries, a.table, a.edges, a.x, a.forces, a.energies, a.status, a.dispersion, a.capacity, a.n);
}
