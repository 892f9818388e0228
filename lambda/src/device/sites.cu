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
    // Threads without an atom do what the last one does.
    const int at = min((int)(blockIdx.x * blockDim.x + threadIdx.x), a.n_atoms - 1);
    const int site = a.site_of[at], n = a.starts[site + 1] - a.starts[site], k = at - a.starts[site];
    const int first = a.first_weight[site], n_forms = a.first_weight[site + 1] - first, atom = a.atoms[at];
    const double *own = a.form_charges + a.values[site] + k;
    double charges[FORMS];
    for (int form = 0; form < FORMS; form++) charges[form] = form < n_forms ? own[form * n] : 0.0;
    await_predecessor();
    double q = 0.0;
    for (int form = 0; form < FORMS; form++)
        if (form < n_forms) q += a.weights[first + form] * charges[form];
    a.charges[atom] = q;
}

// Sums of N numbers of each thread over the block, in a fixed order, to `sums`; all threads take part.
template <int N> DEVICE void sum_up(const double *numbers, double *sums) {
    __shared__ double scratch[THREADS / 32][N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        const double total = warp_sum(numbers[i]);
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32][i] = total;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += THREADS) {
        double sum = 0.0;
        for (int warp = 0; warp < THREADS / 32; warp++) sum += scratch[warp][i];
        sums[i] = sum;
    }
    __syncthreads();
}

// A block for each site: what the pairs inside it add to ∂V/∂λ, energy and forces with Hamiltonian interpolation. It needs positions and weights
// alone, and so nothing of the electrostatics of the same step.
KERNEL __launch_bounds__(THREADS) void bracket_sites(const __grid_constant__ BracketArgs a) {
    const int site = blockIdx.x, n = a.starts[site + 1] - a.starts[site];
    const int first_form = a.first_weight[site], n_forms = a.first_weight[site + 1] - first_form;
    const double *weights = a.weights + first_form, *form_charges = a.form_charges + a.values[site];
    __shared__ double sums[FORMS + 1];
    // ∂V/∂λ by form, energy.
    double gained[FORMS + 1];
    for (int form = 0; form < FORMS + 1; form++) gained[form] = 0.0;
    // A round or two, whose code is shorter than that of four at a time.
#pragma unroll 1
    for (int e = (int)a.pair_starts[site] + threadIdx.x; e < (int)a.pair_starts[site + 1]; e += THREADS) {
        const uint4 pair = a.pairs[e];
        const int i = pair.x, j = pair.y;
        const long long atom_i = pair.z, atom_j = pair.w;
        double d[3], square = 0.0;
        for (int c = 0; c < 3; c++) {
            d[c] = a.x[3 * atom_i + c] - a.x[3 * atom_j + c];
            square += d[c] * d[c];
        }
        const double inverse = rsqrt(square), unit = a.coulomb * a.scales[e] * inverse;
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
            gained[form] += unit * (own_i * own_j - own_i * q_j - own_j * q_i);
        }
        const double energy = unit * (mean - q_i * q_j), force = energy * inverse * inverse;
        gained[FORMS] += energy;
        for (int c = 0; c < 3; c++) {
            add_fixed(&a.forces[3 * atom_i + c], force * d[c]);
            add_fixed(&a.forces[3 * atom_j + c], -force * d[c]);
        }
    }
    sum_up<FORMS + 1>(gained, sums);
    for (int form = threadIdx.x; form < n_forms; form += THREADS) a.bracket[first_form + form] = sums[form];
    if (threadIdx.x != 0) return;
    add_energy(a.energy, sums[FORMS]);
    add_energy(a.virial, sums[FORMS]);
}

// A block for each site: charges of its forms times potentials, and the bracket of the first n_hamiltonian sites.
KERNEL __launch_bounds__(THREADS) void differentiate_sites(const __grid_constant__ DifferentiateArgs a) {
    const int site = blockIdx.x, first = a.starts[site], n = a.starts[site + 1] - first;
    const int first_form = a.first_weight[site], n_forms = a.first_weight[site + 1] - first_form;
    const double *form_charges = a.form_charges + a.values[site];
    __shared__ double sums[FORMS];
    double by_form[FORMS];
    for (int form = 0; form < FORMS; form++) by_form[form] = 0.0;
    long long atom = a.atoms[first + min((int)threadIdx.x, n - 1)];
    await_predecessor();
#pragma unroll 1
    for (int k = threadIdx.x; k < n; k += THREADS) {
        if (k >= THREADS) atom = a.atoms[first + k];
        const double phi = a.coulomb * a.potential[atom] + a.potential_14[atom] / FIXED_ONE;
        for (int form = 0; form < FORMS; form++)
            if (form < n_forms) by_form[form] += form_charges[form * n + k] * phi;
    }
    sum_up<FORMS>(by_form, sums);
    for (int form = threadIdx.x; form < n_forms; form += THREADS) {
        const int at = first_form + form;
        const double bracket = site < a.n_hamiltonian ? a.bracket[at] : 0.0, others = a.others ? a.others[at] / FIXED_ONE : 0.0;
        a.derivatives[at] = sums[form] + bracket + others;
    }
}
