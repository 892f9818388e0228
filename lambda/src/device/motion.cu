// One step of the coordinates ξ of all sites: leap-frog, Langevin thermostat, constraints (see motion), in double precision and one block.
//
//   v ← P [v − (Δt/2m) ∂V/∂ξ],   v ← P [√κ v + √((1−κ)RT/m) R],   v ← v − (Δt/2m) ∂V/∂ξ
//   ξ' = ξ + Δt v + constraints,   v' = (ξ' − ξ)/Δt
//   kinetic energy: that after the first line; heat: what the thermostat changes in it
//
// P and the constraints: Σ λ_α = 1 or Σ x_α² = 1 of each site, in closed form; with `charged` the charge Σ λ_sα Q_sα of all sites, its gradient g
// projected by the sites, one multiplier found by quasi-Newton iteration along m⁻¹ g of the start. P is linear, and leaves nothing along g of what
// it has been applied to: both multipliers of the velocities follow from g·v, g·(what chance adds) and g·m⁻¹g, one round of sums.
//
// The atoms wait for this kernel. All that does not follow from the forces has been prepared (prepare.cu); a thread loads all of its PER_THREAD
// sites at once, after one load that says where they are, and keeps them in registers, while the kernel that makes ∂V/∂λ still runs. What is left
// are rounds of sums: one for the velocities, one for the charge, one for each iteration (one where all is linear), and one more for Z where
// coordinates are not.
//
// While the step is below `held` neither ξ nor v changes; energies are those of what is held.
//
// Weights, ∂V/∂λ and charges stand one site after the other. Random numbers come from a table with a row for each step. Sums run in a fixed
// order. Units: ps, u nm², e, kJ/mol. A failed step changes nothing, is noted in `failure` and ends the motion. The structures that the host
// shares with these kernels (settings, rows of sites, energies, failure) are those of motion.rs, prepare.rs and tables.rs.

#define NOT_FINITE 1
#define CHARGE 2
#define ESCAPED 3
#define NO_NOISE 4

// Sums over the block in all threads.
template <int N> DEVICE void all_sums(double *sums) {
#pragma unroll
    for (int i = 0; i < N; i++) sums[i] = warp_sum(sums[i]);
#if THREADS > 32
    __shared__ double scratch[THREADS / 32][N];
#pragma unroll
    for (int i = 0; i < N; i++)
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32][i] = sums[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; i++) {
        sums[i] = 0.0;
        for (int warp = 0; warp < THREADS / 32; warp++) sums[i] += scratch[warp][i];
    }
#endif
    __syncthreads();
}

// One site as a thread has it; a thread without one has a site without forms.
struct Moving {
    SiteRow row;
    double xi[FORMS], v[FORMS], moved[FORMS], weights[FORMS], charges[FORMS];
    // ∂V/∂λ_α, ∂V/∂ξ, ∇Q, derivatives of m Z by ξ divided by m, J, what chance adds to v.
    double by_weight[FORMS], slopes[FORMS], gradient[FORMS], bend[FORMS], factors[FORMS], noise[FORMS];
    double metric;
};

DEVICE double kinetic_energy(const Moving &o) {
    double sum = 0.0;
    EACH(a, o.row.coordinates) sum += o.v[a] * o.v[a];
    return 0.5 * o.row.mass * sum;
}

// to ← to − x m⁻¹ g.
DEVICE void add_along(const Moving &o, double x, double *to) {
    EACH(a, o.row.coordinates) to[a] -= x * o.gradient[a] * o.row.per_mass;
}

// The charge of a site at coordinates brought back to its own constraint.
DEVICE double settle(Moving &o) {
    double charge = 0.0;
    settle_site(o.row.kind, o.xi, o.row.coordinates, o.row.per_coordinate, o.moved);
    weights_at(o.row.kind, o.moved, o.row.forms, o.weights);
    EACH(a, o.row.forms) charge += o.weights[a] * o.charges[a];
    return charge;
}

// Energies of a step: its kinetic energy, the heat, ½ RT ln Z.
DEVICE void note(StepEnergies &energies, const LambdaSettings &settings, double kinetic, double heat, double metric) {
    energies.kinetic = kinetic;
    energies.temperature = settings.freedom > 0.0 ? 2.0 * kinetic / (settings.freedom * settings.gas_constant) : 0.0;
    energies.heat = heat;
    energies.metric = metric;
}

#define EACH_SITE _Pragma("unroll") for (int k = 0; k < PER_THREAD; k++)
#define SITE(k) ((int)threadIdx.x + (k) * THREADS)

KERNEL __launch_bounds__(THREADS) void advance_sites(const __grid_constant__ AdvanceArgs args) {
    const LambdaSettings &settings = args.settings;
    Failure *failure = args.failure;
    __shared__ int bad, escaped;
    const int n_sites = args.n_sites, n_xi = args.n_xi, width = args.width;
    // All of these, and the rows of the sites, are loaded at once.
    const long long stopped = failure->kind, step = *args.step, row = step - *args.noise_first, held = *args.held, every = *args.keep_every;
    const double heat = *args.heat;
    Moving own[PER_THREAD];
    EACH_SITE {
        own[k] = Moving{};
        if (SITE(k) < n_sites) own[k].row = args.sites[SITE(k)];
    }
    const bool thermal = settings.coupled != 0.0 && width > 0, has_noise = row >= 0 && row < args.n_noise;
    const double half = 0.5 * settings.time_step;
    EACH_SITE {
        Moving &o = own[k];
        const SiteRow &r = o.row;
        if (CURVED && SITE(k) < n_sites) o.metric = args.metric[SITE(k)];
        EACH(a, r.coordinates) {
            const int at = r.first_coordinate + a;
            const PreparedRow &prepared = args.prepared[at];
            o.xi[a] = args.xi[at], o.v[a] = args.velocity[at];
            o.factors[a] = prepared.factor, o.gradient[a] = prepared.gradient, o.bend[a] = prepared.bend;
            if (thermal && has_noise && !is(r.kind, FIXED)) o.noise[a] = r.spread * args.noise[row * width + r.first_number + a];
        }
        EACH(a, r.forms) {
            const int at = r.first_weight + a;
            o.weights[a] = args.weights[at], o.charges[a] = args.charges[at];
            o.by_weight[a] = args.bias[at];
        }
    }
    await_predecessor();
    EACH_SITE {
        Moving &o = own[k];
        EACH(a, o.row.forms) o.by_weight[a] = args.derivatives[o.row.first_weight + a] + o.by_weight[a];
    }
    if (stopped != 0 || step < 0) return;
    // A row for the tables, before anything moves. Nobody writes ξ before the sums below, for which all wait. The quotient of steps, below 2^53, is whole
    // only where it is exact.
    const long long kept = every > 0 ? (long long)((double)step / (double)every) : 0;
    if (every > 0 && kept * every == step) {
        double *out = args.kept + kept % KEPT_ROWS * (1LL + n_xi + args.n_weights);
        if (threadIdx.x == 0) out[0] = (double)step;
        for (int i = threadIdx.x; i < n_xi; i += THREADS) out[1 + i] = args.xi[i];
        for (int i = threadIdx.x; i < args.n_weights; i += THREADS) out[1 + n_xi + i] = args.derivatives[i];
    }
    if (threadIdx.x == 0) bad = escaped = n_sites;
    __syncthreads();
    double z[1] = {0.0};
    if (CURVED && settings.metric != 0.0) {
        EACH_SITE z[0] += own[k].metric;
        all_sums<1>(z);
    }
    const double pull = CURVED && z[0] > 0.0 ? 0.5 * settings.metric / z[0] : 0.0;
    // g·v, g·(what chance adds), g·m⁻¹g.
    double along[3] = {0.0, 0.0, 0.0};
    EACH_SITE {
        Moving &o = own[k];
        const int n = o.row.coordinates;
        derivative(o.row.kind, o.factors, o.weights, o.by_weight, n, o.slopes);
        EACH(a, n) {
            if (CURVED && pull != 0.0) o.slopes[a] += pull * o.bend[a];
            if (!(fabs(o.slopes[a]) <= 1.7976931348623157e308)) atomicMin(&bad, SITE(k));
        }
        const double before = settings.charged != 0.0 ? 1.0 : 0.0;
        EACH(a, n) o.moved[a] = o.v[a] - half * o.row.per_mass * o.slopes[a];
        project_site(o.row.kind, o.xi, n, o.row.per_coordinate, o.moved);
        project_site(o.row.kind, o.xi, n, o.row.per_coordinate, o.noise);
        EACH(a, n) {
            along[0] += before * o.gradient[a] * o.moved[a];
            along[1] += before * o.gradient[a] * o.noise[a];
            along[2] += before * o.gradient[a] * o.gradient[a] * o.row.per_mass;
        }
    }
    all_sums<3>(along);
    const double metric = CURVED && pull != 0.0 ? 0.5 * settings.metric * log(z[0]) : 0.0;
    if (step < held && bad == n_sites) {
        double still[1] = {0.0};
        EACH_SITE still[0] += kinetic_energy(own[k]);
        all_sums<1>(still);
        if (threadIdx.x == 0) note(*args.energies, settings, still[0], heat, metric);
        return;
    }
    const bool charged = along[2] > 0.0;
    const double per_norm = charged ? 1.0 / along[2] : 0.0, first = along[0] * per_norm, second = along[1] * per_norm;
    // Kinetic energy, that after the thermostat, charge.
    double sums[3] = {0.0, 0.0, 0.0};
    EACH_SITE {
        Moving &o = own[k];
        const int n = o.row.coordinates;
        EACH(a, n) o.v[a] = o.moved[a];
        if (charged) add_along(o, first, o.v);
        sums[0] += kinetic_energy(o);
        if (thermal && has_noise && !is(o.row.kind, FIXED)) {
            EACH(a, n) o.v[a] = settings.damping * o.v[a] + o.noise[a];
            if (charged) add_along(o, second, o.v);
        }
        sums[1] += kinetic_energy(o);
        EACH(a, n) {
            o.v[a] -= half * o.row.per_mass * o.slopes[a];
            o.moved[a] = o.xi[a] + settings.time_step * o.v[a];
        }
        sums[2] += settle(o);
    }
    all_sums<3>(sums);
    double found[1] = {settings.charged != 0.0 ? sums[2] - settings.charge : 0.0};
    for (int i = 0; i < settings.iterations && charged && !(fabs(found[0]) <= settings.tolerance); i++) {
        const double x = found[0] * per_norm;
        found[0] = 0.0;
        EACH_SITE {
            add_along(own[k], x, own[k].moved);
            found[0] += settle(own[k]);
        }
        all_sums<1>(found);
        found[0] -= settings.charge;
    }
    EACH_SITE {
        const Moving &o = own[k];
        if (!is(o.row.kind, LINEAR) && !is(o.row.kind, LINEAR_WEIGHTS)) continue;
        EACH(a, o.row.coordinates) {
            if (!(fabs(o.moved[a] - 0.5) <= ESCAPE)) atomicMin(&escaped, SITE(k));
        }
    }
    __syncthreads();
    const int kind = bad < n_sites                                ? NOT_FINITE
                     : thermal && !has_noise                      ? NO_NOISE
                     : !(fabs(found[0]) <= settings.accepted)     ? CHARGE
                     : escaped < n_sites                          ? ESCAPED
                                                                  : 0;
    if (kind != 0) {
        const int site = kind == NOT_FINITE ? bad : kind == ESCAPED ? escaped : 0;
        EACH_SITE {
            if (SITE(k) != site) continue;
            // The first number at fault.
            double value = found[0];
            for (int a = FORMS - 1; a >= 0; a--) {
                if (a >= own[k].row.coordinates) continue;
                if (kind == NOT_FINITE && !(fabs(own[k].slopes[a]) <= 1.7976931348623157e308)) value = own[k].slopes[a];
                if (kind == ESCAPED && !(fabs(own[k].moved[a] - 0.5) <= ESCAPE)) value = own[k].moved[a];
            }
            *failure = {kind, site, step, value};
        }
        return;
    }
    EACH_SITE {
        const Moving &o = own[k];
        EACH(a, o.row.coordinates) {
            args.velocity[o.row.first_coordinate + a] = (o.moved[a] - o.xi[a]) * settings.per_time_step;
            args.xi[o.row.first_coordinate + a] = o.moved[a];
        }
        EACH(a, o.row.forms) args.weights[o.row.first_weight + a] = o.weights[a];
    }
    if (threadIdx.x != 0) return;
    const double after = thermal ? heat + (sums[1] - sums[0]) : heat;
    *args.heat = after;
    note(*args.energies, settings, sums[0], after, metric);
}
