// Charges of titratable sites from their λ; ∂V/∂λ and the corrections of energy and forces from potentials (see interpolation.rs).
//
//   q_i = Σ_α λ_α q_i^α
//   ∂V/∂λ_α = Σ_{i∈s} q_i^α (φ_i − φ^s_i) + W(q^α),   W(a) = ½ Σ_i a_i φ^a_i,   φ^s = Σ_α λ_α φ^α
//   V += Σ_α λ_α W(q^α) − W(q),   F_i += Σ_α λ_α q_i^α E_i^α − q_i E_i^s
//
// φ^α, E^α: what form α makes on its own atoms: that of the groups of the FMM, times `coulomb`, and the 1-4 pairs inside the site, plain and
// without images. φ = coulomb · (FMM) + 1-4 part. Charge interpolation: ∂V/∂λ_α = Σ q_i^α φ_i alone.
//
// Units: nm, e, kJ/mol. Layout: atoms of all sites one site after the other (`starts`), values of form α of atom k of site s at
// values[s] + α n + k; weights and ∂V/∂λ_α of site s from first_weight[s] on. Positions, forces (fixed point) by atom of the system. FORMS: most
// forms of a site.

KERNEL void set_charges(const __grid_constant__ ChargeArgs a) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= a.n_atoms) return;
    const int site = a.site_of[at], n = a.starts[site + 1] - a.starts[site], k = at - a.starts[site];
    const int first = a.first_weight[site], n_forms = a.first_weight[site + 1] - first;
    double q = 0.0;
    for (int form = 0; form < n_forms; form++) q += a.weights[first + form] * a.form_charges[a.values[site] + form * n + k];
    a.charges[a.atoms[at]] = q;
}

// 1-4 partners of atom `at` of the sites: adds the potentials and fields that the charges of each form make there.
DEVICE void add_pairs(const InterpolateArgs &args, const double *form_charges, int at, int first, int n, int n_forms, double own[FORMS][4]) {
    const double *x = args.x;
    for (int e = args.pair_starts[at]; e < (int)args.pair_starts[at + 1]; e++) {
        const int k = args.partners[e];
        const double *a = x + 3LL * args.atoms[at], *b = x + 3LL * args.atoms[first + k];
        const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
        const double inverse = 1.0 / sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), scaled = args.scales[e] * inverse;
        for (int form = 0; form < FORMS; form++) {
            if (form >= n_forms) break;
            const double phi = scaled * form_charges[form * n + k];
            own[form][0] += phi;
            for (int c = 0; c < 3; c++) own[form][1 + c] += phi * inverse * inverse * d[c];
        }
    }
}

// A warp for each site. Hamiltonian interpolation for the first n_hamiltonian sites, charge interpolation for the others.
KERNEL __launch_bounds__(32) void interpolate_sites(const __grid_constant__ InterpolateArgs a) {
    const int site = blockIdx.x, first = a.starts[site], n = a.starts[site + 1] - first, lane = threadIdx.x;
    const int first_form = a.first_weight[site], n_forms = a.first_weight[site + 1] - first_form;
    const bool hamiltonian = site < a.n_hamiltonian;
    const double coulomb = a.coulomb, *weights = a.weights + first_form, *form_charges = a.form_charges + a.values[site];
    const double *own_potential = a.own_potential + a.values[site], *own_field = a.own_field + 3LL * a.values[site];
    double gained = 0.0, by_form[FORMS];
    for (int form = 0; form < FORMS; form++) by_form[form] = 0.0;
    for (int k = lane; k < n; k += 32) {
        const long long atom = a.atoms[first + k];
        const double phi = coulomb * a.potential[atom] + a.potential_14[atom] / FIXED_ONE;
        double own[FORMS][4], mean[4] = {0.0, 0.0, 0.0, 0.0}, charge = 0.0, force[3] = {0.0, 0.0, 0.0};
        for (int form = 0; form < FORMS; form++)
            for (int c = 0; c < 4; c++) own[form][c] = 0.0;
        if (hamiltonian) {
            for (int form = 0; form < FORMS; form++) {
                if (form >= n_forms) break;
                own[form][0] = own_potential[form * n + k];
                for (int c = 0; c < 3; c++) own[form][1 + c] = own_field[3LL * (form * n + k) + c];
            }
            add_pairs(a, form_charges, first + k, first, n, n_forms, own);
        }
        for (int form = 0; form < FORMS; form++) {
            if (form >= n_forms) break;
            const double weight = weights[form];
            charge += weight * form_charges[form * n + k];
            for (int c = 0; c < 4; c++) {
                own[form][c] *= coulomb;
                mean[c] += weight * own[form][c];
            }
        }
        gained -= 0.5 * charge * mean[0];
        for (int form = 0; form < FORMS; form++) {
            if (form >= n_forms) break;
            const double weight = weights[form], q = form_charges[form * n + k], self = 0.5 * q * own[form][0];
            gained += weight * self;
            by_form[form] += q * (phi - mean[0]) + self;
            for (int c = 0; c < 3; c++) force[c] += weight * q * own[form][1 + c];
        }
        if (hamiltonian) {
            for (int c = 0; c < 3; c++) add_fixed(&a.forces[3 * atom + c], force[c] - charge * mean[1 + c]);
        }
    }
    gained = warp_sum(gained);
    for (int form = 0; form < FORMS; form++) by_form[form] = warp_sum(by_form[form]);
    if (lane != 0) return;
    for (int form = 0; form < n_forms; form++) a.derivatives[first_form + form] = by_form[form];
    if (hamiltonian) {
        add_energy(a.energy, gained);
        add_energy(a.virial, gained);
    }
}
