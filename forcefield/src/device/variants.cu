// Lennard-Jones of atoms whose type depends on the form of their site: what variants/pairs.rs does, on the rows of the ordinary list.
//
// The ordinary kernels have atoms that change type in their list, as sites without interaction. Here a block takes one of them, number k, and the
// row of its neighbours. V = c12 v₁₂ − c6 v₆, powers modified at the cut-off as in lennard_jones.cu, with the mean R of the roots c6^(1/6) and c12^(1/12):
//
//   partner of no site, or of the same one    R = Σ_α λ_α R(t_k^α, t_j^(α)),          ∂R/∂λ_α = R(…)
//   partner of another site                   R = Σ_αβ λ_α λ_β R(t_k^α, t_j^β),       ∂R/∂λ_α = Σ_β λ_β R(…), ∂R/∂λ_β = Σ_α λ_α R(…)
//
// Two atoms that change stand in both rows; the pair is that of the smaller number. f64 throughout, on the coordinates of the ordinary sites;
// sums over threads in fixed order, then fixed-point. Units: nm, kJ/mol, kJ/mol/nm. FORMS: most forms of a site; AXES as in
// lennard_jones.cu. Needs sites.cuh, forces.cuh.

// Places of the atoms that change, after every new list.
KERNEL void find_changing(const __grid_constant__ PlacesArgs a) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= a.n) return;
    unsigned number = a.numbers[a.atoms[place]];
    if (number != CONSTANT) a.places[number] = (unsigned)place;
}

// The powers of one distance.
struct Powers {
    double v6, w6, v12, w12;
};

DEVICE Powers powers(double r2) {
    double u = 1.0 / r2, p = u * u * u;
    Powers v = {p, 6.0 * p, p * p, 12.0 * p * p};
#if MODE == 1
    v.v6 -= SHIFT6;
    v.v12 -= SHIFT12;
#elif MODE == 2
    double r = sqrt(r2), x = r - R_SWITCH;
    x = x > 0.0 ? x : 0.0;
    double x2 = x * x, x3 = x2 * x;
    v.v6 -= SHIFT6 + x3 * (A6 / 3 + B6 / 4 * x);
    v.w6 += r * x2 * (A6 + B6 * x);
    v.v12 -= SHIFT12 + x3 * (A12 / 3 + B12 / 4 * x);
    v.w12 += r * x2 * (A12 + B12 * x);
#endif
    return v;
}

// Adds the roots of a pair of types, x of c6 and y of c12.
DEVICE void add_roots(real2 &sum, double weight, real2 roots) {
    sum.x += weight * roots.x;
    sum.y += weight * roots.y;
}

template <bool ENERGY> DEVICE void sum_changing(const ChangingArgs &a) {
    __shared__ double scratch[32];
    const int k = blockIdx.x, n_types = a.n_types;
    const unsigned i = a.places[k];
    const Changing own = a.changing[k];
    const unsigned *types = a.form_types + own.first_type;
    const double *weights = a.weights + own.first_weight;
    const int forms = own.forms;
    const Site here = a.sites[i];
    double step[EDGES];
    steps_of(a.edges, step);
    double f[3] = {0.0, 0.0, 0.0}, energy = 0.0, virial = 0.0, by_form[FORMS];
    for (int form = 0; form < FORMS; ++form) by_form[form] = 0.0;
#if AXES
    double missed[3] = {0.0, 0.0, 0.0};
    const double *at = a.x + 3ll * a.atoms[i];
#endif
    bool within = true;
    const unsigned *row = a.list + (long long)i * a.capacity;
    const int count = (int)a.entries[i];
    for (int t = threadIdx.x; t < count; t += blockDim.x) {
        const unsigned j = row[t];
        if (j == i) continue;
        const unsigned atom = a.atoms[j], number = a.numbers[atom];
        if (number != CONSTANT && number < (unsigned)k) continue;
        const Difference d = difference(here, a.sites[j], step);
        const double r2 = d.x * d.x + d.y * d.y + d.z * d.z;
        if (!(r2 < CUTOFF * CUTOFF)) continue;
        const Powers p = powers(r2);
        const bool changes = number != CONSTANT;
        const Changing partner = changes ? a.changing[number] : own;
        const bool same = partner.first_weight == own.first_weight;
        // Roots by form of the own site, of means over forms of the other one.
        real2 mean = make_real2(0.0, 0.0), roots[FORMS];
        for (int form = 0; form < FORMS; ++form) {
            if (form >= forms) break;
            const real2 *of_type = a.table + types[form] * n_types;
            roots[form] = make_real2(0.0, 0.0);
            if (same) {
                roots[form] = of_type[changes ? a.form_types[partner.first_type + form] : a.types[atom]];
            } else {
                for (int other = 0; other < partner.forms; ++other)
                    add_roots(roots[form], a.weights[partner.first_weight + other], of_type[a.form_types[partner.first_type + other]]);
            }
            add_roots(mean, weights[form], roots[form]);
        }
        // Powers of the roots, and the slopes of V by them.
        const double x2 = mean.x * mean.x, x5 = x2 * x2 * mean.x, y2 = mean.y * mean.y, y4 = y2 * y2, y11 = y4 * y4 * y2 * mean.y;
        const double c6 = x5 * mean.x, c12 = y11 * mean.y, by_x = -6.0 * x5 * p.v6, by_y = 12.0 * y11 * p.v12;
        for (int form = 0; form < FORMS; ++form) {
            if (form >= forms) break;
            by_form[form] += by_x * roots[form].x + by_y * roots[form].y;
        }
        if (!same) {
            for (int other = 0; other < partner.forms; ++other) {
                const unsigned type = a.form_types[partner.first_type + other];
                real2 along = make_real2(0.0, 0.0);
                for (int form = 0; form < FORMS; ++form) {
                    if (form >= forms) break;
                    add_roots(along, weights[form], a.table[types[form] * n_types + type]);
                }
                const double slope = by_x * along.x + by_y * along.y;
                within = add_force(a.by_weight + partner.first_weight + other, slope) && within;
            }
        }
        const double v = c12 * p.v12 - c6 * p.v6, w = c12 * p.w12 - c6 * p.w6;
        const double pull = w / r2, force[3] = {pull * d.x, pull * d.y, pull * d.z};
        for (int c = 0; c < 3; ++c) {
            f[c] += force[c];
            within = add_force(a.forces + 3ll * atom + c, -force[c]) && within;
        }
        energy += v;
        virial += w;
#if AXES
        const double *there = a.x + 3ll * atom, difference[3] = {d.x, d.y, d.z};
        for (int c = 0; c < 3; ++c) missed[c] += (difference[c] - (at[c] - there[c])) * force[c];
#endif
    }
    const long long atom = a.atoms[i];
    for (int c = 0; c < 3; ++c) {
        const double total = block_sum(f[c], scratch);
        if (threadIdx.x == 0) within = add_force(a.forces + 3 * atom + c, total) && within;
    }
    for (int form = 0; form < FORMS; ++form) {
        if (form >= forms) break;
        const double total = block_sum(by_form[form], scratch);
        if (threadIdx.x == 0) within = add_force(a.by_weight + own.first_weight + form, total) && within;
    }
    if (!within) atomicMax(a.status, 1u);
    if (ENERGY) {
        energy = block_sum(energy, scratch);
        virial = block_sum(virial, scratch);
        if (threadIdx.x == 0) {
            add_energy(a.energies + SLOT_LENNARD_JONES, energy);
            add_energy(a.energies + SLOT_VIRIAL, virial);
        }
#if AXES
        for (int c = 0; c < 3; ++c) {
            const double total = block_sum(missed[c], scratch);
            if (threadIdx.x == 0) add_energy(a.energies + SLOT_IMAGES + c, total);
        }
#endif
    }
}

KERNEL void changing(const __grid_constant__ ChangingArgs a) { sum_changing<false>(a); }

KERNEL void changing_energy(const __grid_constant__ ChangingArgs a) { sum_changing<true>(a); }
