// What follows from λ alone and moves λ later: the bias and its derivatives, the factors of dV/dξ, the gradient of the total charge, Z and its
// derivatives (see bias, coordinate, motion/metric.rs). It needs neither forces nor the number of the step, and so runs beside them.
//
// A warp for each site. The terms of one form are summed by its lane; terms of V_MM, and points of the integral in the correction of the measure,
// are dealt out over the lanes. Sums over lanes run in a fixed order.
//
// Weights, ∂V/∂λ and charges stand one site after the other. Units: ps, u nm², e, kJ/mol. The structures that the host shares with these kernels
// (rows of sites and biases, their energies) are those of tables.rs, biases.rs and prepare.rs.
// WELLS, PARABOLA, LINEAR_PH, SMOOTHED_PH, CORRECTION, ENTROPY: bits of the terms of a bias, which the host defines (biases.rs).

struct Term {
    double energy, derivative;
};

DEVICE Term gaussian(double amplitude, double centre, double width, double lambda) {
    const double x = (lambda - centre) / width, energy = amplitude * exp(-0.5 * x * x);
    return {energy, -energy * x / width};
}

DEVICE Term wells(const BiasRow &row, double lambda) {
    const Term right = gaussian(-row.k, 1.0 + row.b, row.a, lambda), left = gaussian(-row.k, -row.b, row.a, lambda);
    const Term centre = gaussian(row.d, 0.5, CENTRE_WIDTH, lambda);
    return {right.energy + left.energy + centre.energy, right.derivative + left.derivative + centre.derivative};
}

DEVICE Term walls(double lambda) {
    const double right = WALL_STEEPNESS * (lambda - 1.0 - WALL_OFFSET), left = WALL_STEEPNESS * (lambda + WALL_OFFSET);
    const double slope = WALL_HEIGHT * WALL_STEEPNESS / 1.7724538509055160273;
    return {0.5 * WALL_HEIGHT * (erfc(-right) + erfc(left)), slope * (exp(-right * right) - exp(-left * left))};
}

// w^p of p = 1 or 2, and its derivative.
DEVICE Term power(double w, bool squared) { return squared ? Term{w * w, 2.0 * w} : Term{w, 1.0}; }

// One site as the lanes of its warp see it: its weights in shared memory, what this lane has summed up.
struct Lane {
    int lane, n;
    const double *w;
    double slopes[FORMS];
    BiasSums sums;

    DEVICE void add(int form, double slope) {
        EACH(a, n) slopes[a] += a == form ? slope : 0.0;
    }
};

// Term i of V_MM = −F, which `c` is the coefficient of: λ_α, λ_α λ_β (λ_β − λ_α)^k, and of each three forms λ_α λ_β λ_γ times 1, λ_β, λ_γ, λ_β λ_γ,
// λ_α λ_β, λ_α λ_γ. `powers`: number of k.
DEVICE void add_term(Lane &on, int i, double c, int powers, int triples) {
    const int n = on.n, pairs = n * (n - 1) / 2 * powers;
    const double *w = on.w;
    if (i < n - 1) {
        on.sums.correction -= c * w[i + 1];
        on.add(i + 1, -c);
        return;
    }
    i -= n - 1;
    if (i < pairs) {
        int pair = i / powers, a = 0;
        const int k = i % powers;
        for (; pair >= n - 1 - a; a++) pair -= n - 1 - a;
        const int b = a + 1 + pair;
        const double x = w[a], y = w[b];
        double power = 1.0, slope = 0.0;
        for (int m = 0; m < k; m++) {
            slope = (m + 1) * power;
            power *= y - x;
        }
        on.sums.correction -= c * (x * y * power);
        on.add(a, -c * (y * power - x * y * slope));
        on.add(b, -c * (x * power + x * y * slope));
        return;
    }
    i -= pairs;
    // Which of three weights are squared, by bits, in each of six terms.
    const int squared = 0x536420 >> 4 * (i % triples);
    int left = i / triples, a = 0, b = 1;
    for (; left >= (n - 1 - a) * (n - 2 - a) / 2; a++) left -= (n - 1 - a) * (n - 2 - a) / 2;
    for (b = a + 1; left >= n - 1 - b; b++) left -= n - 1 - b;
    const int d = b + 1 + left;
    const Term x = power(w[a], squared & 1), y = power(w[b], squared & 2), z = power(w[d], squared & 4);
    on.sums.correction -= c * (x.energy * y.energy * z.energy);
    on.add(a, -c * (x.derivative * y.energy * z.energy));
    on.add(b, -c * (x.energy * y.derivative * z.energy));
    on.add(d, -c * (x.energy * y.energy * z.derivative));
}

DEVICE double level(const BiasRow &row, double w) { return w * w + row.least_weight * row.least_weight; }

// Factor · ln I, the part of the measure that the redundant direction of Nexp makes: ../bias/entropy.rs. All lanes take part, the first one adds.
DEVICE void redundant(const BiasRow &row, Lane &on) {
    const int n = on.n;
    const double c = NEXP_STEEPNESS;
    double v[FORMS], own[FORMS], most = -1e300, least = -1e300, upper = 0.0, lower = 0.0;
    EACH(a, n) {
        v[a] = 0.5 * log(level(row, on.w[a]));
        own[a] = 0.0;
        most = v[a] > most ? v[a] : most;
        least = -v[a] > least ? -v[a] : least;
    }
    EACH(a, n) upper += exp((v[a] - most) / TIE), lower += exp((-v[a] - least) / TIE);
    const double high = c - most - TIE * log(upper), low = least + TIE * log(lower) - c;
    const double middle = 0.5 * (high + low), half = 0.5 * (high - low);
    double sum = 0.0, shift = 0.0, stretch = 0.0;
    for (int k = on.lane; k < REDUNDANT_POINTS; k += 32) {
        const double angle = 3.14159265358979323846 * ((k + 0.5) / REDUNDANT_POINTS - 0.5), sine = sin(angle);
        double product = 1.0, all = 0.0;
        EACH(a, n) {
            const double u = v[a] + middle + half * sine;
            product *= c * c - u * u;
        }
        const double f = cos(angle) / sqrt(product);
        EACH(a, n) {
            const double u = v[a] + middle + half * sine, q = u / (c * c - u * u);
            own[a] += f * q;
            all += q;
        }
        sum += f;
        shift += f * all;
        stretch += f * sine * all;
    }
    sum = warp_sum(sum), shift = warp_sum(shift), stretch = warp_sum(stretch);
    EACH(a, n) own[a] = warp_sum(own[a]);
    if (on.lane != 0) return;
    EACH(a, n) {
        const double s = exp((v[a] - most) / TIE) / upper, r = exp((-v[a] - least) / TIE) / lower;
        const double slope = (own[a] - 0.5 * (s + r) * shift + 0.5 * (r - s) * stretch) / sum + 0.5 * (r - s) / half;
        on.slopes[a] += row.redundant * slope * on.w[a] / level(row, on.w[a]);
    }
    on.sums.entropy += row.redundant * log(half * sum);
}

// What the bias of a site says of its form `a` alone.
DEVICE void add_form(const BiasRow &row, int terms, double acidity, int a, Lane &on) {
    const double w = on.w[a];
    double slope = 0.0;
    if (terms & WELLS) {
        const Term well = wells(row, w), wall = walls(w);
        on.sums.barrier += 0.5 * well.energy;
        on.sums.walls += 0.5 * wall.energy;
        slope += 0.5 * (well.derivative + wall.derivative);
    }
    if (terms & PARABOLA) {
        double others = 0.0;
        for (int b = 0; b < on.n; b++) others += b == a ? 0.0 : on.w[b];
        on.sums.barrier += 2.0 * row.parabola * w * others;
        slope += 4.0 * row.parabola * others;
    }
    if (terms & (LINEAR_PH | SMOOTHED_PH)) {
        const double steepness = 5.0 * WALL_STEEPNESS;
        const double s = terms & SMOOTHED_PH ? 1.0 / (1.0 + exp(-steepness * (w - row.step))) : w;
        on.sums.ph += acidity * s;
        slope += acidity * (terms & SMOOTHED_PH ? steepness * s * (1.0 - s) : 1.0);
    }
    if (terms & ENTROPY) {
        on.sums.entropy -= 0.5 * row.entropy * log(level(row, w));
        slope -= row.entropy * w / level(row, w);
    }
    on.add(a, slope);
}

// What is left of the correction of the measure of one ϑ between two forms.
DEVICE void add_arc(const BiasRow &row, Lane &on) {
    const double *w = on.w;
    const double s = 0.25 * log(level(row, w[1]) / level(row, w[0])) / NEXP_STEEPNESS;
    const double slope = row.arc * s / (1.0 - s * s) / (2.0 * NEXP_STEEPNESS);
    on.add(1, slope * w[1] / level(row, w[1]));
    on.add(0, -slope * w[0] / level(row, w[0]));
    on.sums.entropy -= 0.5 * row.arc * log(1.0 - s * s);
}

// Weights at ξ: of a state that comes from the host, by the arithmetic of the steps.
KERNEL __launch_bounds__(THREADS) void set_weights(const __grid_constant__ WeightArgs args) {
    const int s = blockIdx.x * THREADS + threadIdx.x;
    if (s >= args.n_sites) return;
    const SiteRow row = args.sites[s];
    double xi[FORMS] = {}, w[FORMS] = {};
    EACH(a, row.coordinates) xi[a] = args.xi[row.first_coordinate + a];
    weights_at(row.kind, xi, row.forms, w);
    EACH(a, row.forms) args.weights[row.first_weight + a] = w[a];
}

KERNEL __launch_bounds__(32) void prepare_sites(const __grid_constant__ PrepareArgs args) {
    __shared__ double w[FORMS];
    const int s = blockIdx.x, lane = threadIdx.x;
    const SiteRow site = args.sites[s];
    const BiasTerms has = args.bias_terms[s];
    const BiasRow &row = args.biases[s];
    const int n = site.forms, n_xi = site.coordinates;
    for (int a = lane; a < n; a += 32) w[a] = args.weights[site.first_weight + a];
    __syncthreads();
    Lane on = {};
    on.lane = lane, on.n = n, on.w = w;
    for (int a = lane; a < n; a += 32) add_form(row, has.terms, args.acidity[site.first_weight + a], a, on);
    if (has.terms & CORRECTION) {
        const int powers = (int)has.degree > 1 ? has.degree - 1 : 0, triples = has.triples;
        const int all = n - 1 + n * (n - 1) / 2 * powers + n * (n - 1) * (n - 2) / 6 * triples;
        for (int i = lane; i < all; i += 32) add_term(on, i, args.coefficients[has.first + i], powers, triples);
    }
    if (has.terms & ENTROPY) {
        if (row.redundant != 0.0) redundant(row, on);
        if (row.arc != 0.0 && lane == 0) add_arc(row, on);
    }
    EACH(a, n) on.slopes[a] = warp_sum(on.slopes[a]);
    const BiasSums sums = {warp_sum(on.sums.barrier), warp_sum(on.sums.walls), warp_sum(on.sums.ph), warp_sum(on.sums.correction),
                           warp_sum(on.sums.entropy)};
    // All lanes have the same numbers from here on; each writes some.
    double xi[FORMS] = {}, own[FORMS] = {}, q[FORMS] = {}, factors[FORMS] = {}, gradient[FORMS] = {}, bend[FORMS] = {};
    EACH(a, n_xi) xi[a] = args.xi[site.first_coordinate + a];
    EACH(a, n) own[a] = w[a], q[a] = args.charges[site.first_weight + a];
    jacobian(site.kind, xi, own, n, factors);
    derivative(site.kind, factors, own, q, n, gradient);
    project_site(site.kind, xi, n_xi, site.per_coordinate, gradient);
    const double z = CURVED ? charge_metric(site.kind, xi, own, q, n, bend) * site.per_mass : 0.0;
    EACH(a, n) if (a % 32 == lane) args.bias[site.first_weight + a] = on.slopes[a];
    EACH(a, n_xi) if (a % 32 == lane) {
        args.prepared[site.first_coordinate + a] = {factors[a], gradient[a], bend[a] * site.per_mass};
    }
    if (lane == 0) args.sums[s] = sums, args.metric[s] = z;
}
