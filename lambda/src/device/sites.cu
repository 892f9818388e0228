// Charges of titratable sites from their λ; ∂V/∂λ and the corrections of energy and forces (see interpolation.rs).
//
//   q_i = Σ_α λ_α q_i^α
//   ∂V/∂λ_α = Σ_{i∈s} q_i^α φ_i + k_e Σ_{i<j∈s} (q_i^α q_j^α − q_i^α q_j − q_j^α q_i) s_ij / r_ij
//   V += k_e Σ_{i<j∈s} (Σ_α λ_α q_i^α q_j^α − q_i q_j) s_ij / r_ij
//
// φ = coulomb · (FMM) + 1-4 part. Charge interpolation: ∂V/∂λ_α = Σ q_i^α φ_i alone. Forms that differ in more than charges add to ∂V/∂λ_α what
// others have summed up.
//
// Units: nm, e, kJ/mol. Layout: atoms of all sites one site after the other (`starts`), charges of form α of atom k of site s at
// values[s] + α n + k; weights and ∂V/∂λ_α of site s from first_weight[s] on; pairs of site s from pair_starts[s] on. Positions, forces (fixed
// point) by atom of the system. FORMS: most forms of a site.

KERNEL void set_charges(const __grid_constant__ ChargeArgs a) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= a.n_atoms) return;
    const int site = a.site_of[at], n = a.starts[site + 1] - a.starts[site], k = at - a.starts[site];
    const int first = a.first_weight[site], n_forms = a.first_weight[site + 1] - first;
    double q = 0.0;
    for (int form = 0; form < n_forms; form++) q += a.weights[first + form] * a.form_charges[a.values[site] + form * n + k];
    a.charges[a.atoms[at]] = q;
}

// A warp for each site: what the pairs inside it add to ∂V/∂λ, energy and forces with Hamiltonian interpolation. It needs positions and weights
// alone, and so nothing of the electrostatics of the same step.
KERNEL __launch_bounds__(32) void bracket_sites(const __grid_constant__ BracketArgs a) {
    const int site = blockIdx.x, first = a.starts[site], n = a.starts[site + 1] - first, lane = threadIdx.x;
    const int first_form = a.first_weight[site], n_forms = a.first_weight[site + 1] - first_form;
    const double *weights = a.weights + first_form, *form_charges = a.form_charges + a.values[site];
    double gained = 0.0, by_form[FORMS];
    for (int form = 0; form < FORMS; form++) by_form[form] = 0.0;
    for (int e = (int)a.pair_starts[site] + lane; e < (int)a.pair_starts[site + 1]; e += 32) {
        const int i = a.firsts[e], j = a.seconds[e];
        const long long atom_i = a.atoms[first + i], atom_j = a.atoms[first + j];
        double d[3], square = 0.0;
        for (int c = 0; c < 3; c++) {
            d[c] = a.x[3 * atom_i + c] - a.x[3 * atom_j + c];
            square += d[c] * d[c];
        }
        const double unit = a.coulomb * a.scales[e] / sqrt(square);
        double q_i = 0.0, q_j = 0.0, mean = 0.0;
        for (int form = 0; form < FORMS; form++) {
            if (form >= n_forms) break;
            const double own_i = form_charges[form * n + i], own_j = form_charges[form * n + j];
            q_i += weights[form] * own_i;
            q_j += weights[form] * own_j;
            mean += weights[form] * own_i * own_j;
        }
        for (int form = 0; form < FORMS; form++) {
            if (form >= n_forms) break;
            const double own_i = form_charges[form * n + i], own_j = form_charges[form * n + j];
            by_form[form] += unit * (own_i * own_j - own_i * q_j - own_j * q_i);
        }
        const double energy = unit * (mean - q_i * q_j), force = energy / square;
        gained += energy;
        for (int c = 0; c < 3; c++) {
            add_fixed(&a.forces[3 * atom_i + c], force * d[c]);
            add_fixed(&a.forces[3 * atom_j + c], -force * d[c]);
        }
    }
    gained = warp_sum(gained);
    for (int form = 0; form < FORMS; form++) by_form[form] = warp_sum(by_form[form]);
    if (lane != 0) return;
    for (int form = 0; form < n_forms; form++) a.bracket[first_form + form] = by_form[form];
    add_energy(a.energy, gained);
    add_energy(a.virial, gained);
}

// A warp for each site: charges of its forms times potentials, and the bracket of the first n_hamiltonian sites.
KERNEL __launch_bounds__(32) void differentiate_sites(const __grid_constant__ DifferentiateArgs a) {
    const int site = blockIdx.x, first = a.starts[site], n = a.starts[site + 1] - first, lane = threadIdx.x;
    const int first_form = a.first_weight[site], n_forms = a.first_weight[site + 1] - first_form;
    const double *form_charges = a.form_charges + a.values[site];
    double by_form[FORMS];
    for (int form = 0; form < FORMS; form++) by_form[form] = 0.0;
    for (int k = lane; k < n; k += 32) {
        const long long atom = a.atoms[first + k];
        const double phi = a.coulomb * a.potential[atom] + a.potential_14[atom] / FIXED_ONE;
        for (int form = 0; form < FORMS; form++)
            if (form < n_forms) by_form[form] += form_charges[form * n + k] * phi;
    }
    for (int form = 0; form < FORMS; form++) by_form[form] = warp_sum(by_form[form]);
    if (lane != 0) return;
    for (int form = 0; form < n_forms; form++) {
        const int at = first_form + form;
        const double bracket = site < a.n_hamiltonian ? a.bracket[at] : 0.0, others = a.others ? a.others[at] / FIXED_ONE : 0.0;
        a.derivatives[at] = by_form[form] + bracket + others;
    }
}
