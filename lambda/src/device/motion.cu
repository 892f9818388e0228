// One step of the coordinates ξ of all sites: bias, leap-frog, Langevin thermostat, constraints (see bias, coordinate, motion), in
// double precision and one block, a thread for each site.
//
//   v ← P [v − (Δt/2m) ∂V/∂ξ],   v ← P [√κ v + √((1−κ)RT/m) R],   v ← v − (Δt/2m) ∂V/∂ξ
//   ξ' = ξ + Δt v + constraints,   v' = (ξ' − ξ)/Δt
//   kinetic energy: that after the first line; heat: what the thermostat changes in it
//
// P and the constraints: Σ λ_α = 1 or Σ x_α² = 1 of each site, in closed form; with `charged` the charge Σ λ_sα Q_sα of all sites, its gradient g
// projected by the sites, one multiplier found by quasi-Newton iteration along m⁻¹ g of the start.
//
// While the step is below `held` neither ξ nor v changes; energies are those of what is held.
//
// Weights, ∂V/∂λ and charges stand one site after the other. Random numbers come from a table with a row for each step. Sums run in a fixed
// order. Units: ps, u nm², e, kJ/mol. A failed step changes nothing, is noted in `failure` and ends the motion. The structures that the host
// shares with these kernels (settings, rows of sites and biases, energies, failure) are those of motion.rs and biases.rs.

#define NOT_FINITE 1
#define CHARGE 2
#define ESCAPED 3
#define NO_NOISE 4

enum Coordinate { FIXED, LINEAR, LINEAR_WEIGHTS, CIRCLE, SPHERE, NEXP, NEXP_WEIGHTS };
enum BiasTerm { WELLS = 1, PARABOLA = 2, LINEAR_PH = 4, SMOOTHED_PH = 8, CORRECTION = 16, ENTROPY = 32 };

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

// V_MM = −F: terms λ_α, λ_α λ_β (λ_β − λ_α)^k, and of each three forms λ_α λ_β λ_γ times 1, λ_β, λ_γ, λ_β λ_γ, λ_α λ_β, λ_α λ_γ.
DEVICE double correction(const double *c, int degree, int triples, const double *w, int n, double *slopes) {
    double energy = 0.0;
    for (int a = 1; a < n; a++) {
        energy += *c * w[a];
        slopes[a] -= *c++;
    }
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++) {
            const double x = w[a], y = w[b];
            double power = 1.0, slope = 0.0;
            for (int k = 0; k < degree - 1; k++, c++) {
                energy += *c * (x * y * power);
                slopes[a] -= *c * (y * power - x * y * slope);
                slopes[b] -= *c * (x * power + x * y * slope);
                slope = (k + 1) * power;
                power *= y - x;
            }
        }
    }
    // Which of three weights are squared, by bits, in each of six terms.
    const int squared[6] = {0, 2, 4, 6, 3, 5};
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            for (int k = j + 1; k < n; k++) {
                for (int t = 0; t < triples; t++, c++) {
                    const Term x = power(w[i], squared[t] & 1), y = power(w[j], squared[t] & 2), z = power(w[k], squared[t] & 4);
                    energy += *c * (x.energy * y.energy * z.energy);
                    slopes[i] -= *c * (x.derivative * y.energy * z.energy);
                    slopes[j] -= *c * (x.energy * y.derivative * z.energy);
                    slopes[k] -= *c * (x.energy * y.energy * z.derivative);
                }
            }
        }
    }
    return -energy;
}

DEVICE double level(const BiasRow &row, double w) { return w * w + row.least_weight * row.least_weight; }

// Factor · ln I, the part of the measure that the redundant direction of Nexp makes: ../bias/entropy.rs. FORMS: most forms of a site.
DEVICE double redundant(const BiasRow &row, const double *w, int n, double *slopes) {
    const double c = NEXP_STEEPNESS;
    double v[FORMS], own[FORMS], most = -1e300, least = -1e300, upper = 0.0, lower = 0.0;
    for (int a = 0; a < n; a++) {
        v[a] = 0.5 * log(level(row, w[a]));
        own[a] = 0.0;
        most = v[a] > most ? v[a] : most;
        least = -v[a] > least ? -v[a] : least;
    }
    for (int a = 0; a < n; a++) upper += exp((v[a] - most) / TIE), lower += exp((-v[a] - least) / TIE);
    const double high = c - most - TIE * log(upper), low = least + TIE * log(lower) - c;
    const double middle = 0.5 * (high + low), half = 0.5 * (high - low);
    double sum = 0.0, shift = 0.0, stretch = 0.0;
    for (int k = 0; k < REDUNDANT_POINTS; k++) {
        const double angle = 3.14159265358979323846 * ((k + 0.5) / REDUNDANT_POINTS - 0.5), sine = sin(angle);
        double product = 1.0, all = 0.0;
        for (int a = 0; a < n; a++) {
            const double u = v[a] + middle + half * sine;
            product *= c * c - u * u;
        }
        const double f = cos(angle) / sqrt(product);
        for (int a = 0; a < n; a++) {
            const double u = v[a] + middle + half * sine, q = u / (c * c - u * u);
            own[a] += f * q;
            all += q;
        }
        sum += f;
        shift += f * all;
        stretch += f * sine * all;
    }
    for (int a = 0; a < n; a++) {
        const double s = exp((v[a] - most) / TIE) / upper, r = exp((-v[a] - least) / TIE) / lower;
        const double slope = (own[a] - 0.5 * (s + r) * shift + 0.5 * (r - s) * stretch) / sum + 0.5 * (r - s) / half;
        slopes[a] += row.redundant * slope * w[a] / level(row, w[a]);
    }
    return row.redundant * log(half * sum);
}

// Correction of the measure.
DEVICE double entropy(const BiasRow &row, const double *w, int n, double *slopes) {
    double energy = 0.0;
    for (int a = 0; a < n; a++) {
        energy -= 0.5 * row.entropy * log(level(row, w[a]));
        slopes[a] -= row.entropy * w[a] / level(row, w[a]);
    }
    if (row.redundant != 0.0) energy += redundant(row, w, n, slopes);
    if (row.arc == 0.0) return energy;
    const double s = 0.25 * log(level(row, w[1]) / level(row, w[0])) / NEXP_STEEPNESS;
    const double slope = row.arc * s / (1.0 - s * s) / (2.0 * NEXP_STEEPNESS);
    slopes[1] += slope * w[1] / level(row, w[1]);
    slopes[0] -= slope * w[0] / level(row, w[0]);
    return energy - 0.5 * row.arc * log(1.0 - s * s);
}

// Adds to energies: barrier, walls, pH, correction, entropy.
DEVICE void add_bias(const BiasRow &row, const BiasTerms &has, const double *coefficients, const double *acidity, const double *w, int n,
                     double *slopes, double *energies) {
    const int terms = has.terms, degree = has.degree, triples = has.triples;
    if (terms & WELLS) {
        for (int a = 0; a < n; a++) {
            const Term well = wells(row, w[a]), wall = walls(w[a]);
            energies[0] += 0.5 * well.energy;
            energies[1] += 0.5 * wall.energy;
            slopes[a] += 0.5 * (well.derivative + wall.derivative);
        }
    }
    if (terms & PARABOLA) {
        double sum = 0.0, squares = 0.0;
        for (int a = 0; a < n; a++) sum += w[a], squares += w[a] * w[a];
        for (int a = 0; a < n; a++) slopes[a] += 4.0 * row.parabola * (sum - w[a]);
        energies[0] += 2.0 * row.parabola * (sum * sum - squares);
    }
    if (terms & (LINEAR_PH | SMOOTHED_PH)) {
        const double steepness = 5.0 * WALL_STEEPNESS;
        for (int a = 0; a < n; a++) {
            const double s = terms & SMOOTHED_PH ? 1.0 / (1.0 + exp(-steepness * (w[a] - row.step))) : w[a];
            energies[2] += acidity[a] * s;
            slopes[a] += acidity[a] * (terms & SMOOTHED_PH ? steepness * s * (1.0 - s) : 1.0);
        }
    }
    if (terms & CORRECTION) energies[3] += correction(coefficients, degree, triples, w, n, slopes);
    if (terms & ENTROPY) energies[4] += entropy(row, w, n, slopes);
}

DEVICE bool has_one(int kind) { return kind == LINEAR || kind == CIRCLE || kind == NEXP; }

DEVICE void weights_at(int kind, const double *xi, int n, double *w) {
    if (kind == LINEAR) {
        w[0] = 1.0 - xi[0], w[1] = xi[0];
    } else if (kind == CIRCLE) {
        const double s = sin(xi[0]), c = cos(xi[0]);
        w[0] = c * c, w[1] = s * s;
    } else if (kind == NEXP) {
        const double u = 2.0 * NEXP_STEEPNESS * sin(xi[0]);
        w[0] = 1.0 / (1.0 + exp(u)), w[1] = 1.0 / (1.0 + exp(-u));
    } else if (kind == NEXP_WEIGHTS) {
        double sum = 0.0;
        for (int a = 0; a < n; a++) sum += w[a] = exp(NEXP_STEEPNESS * sin(xi[a]));
        for (int a = 0; a < n; a++) w[a] /= sum;
    } else {
        for (int a = 0; a < n; a++) w[a] = kind == SPHERE ? xi[a] * xi[a] : xi[a];
    }
}

// dV/dξ from D_α = ∂V/∂λ_α, constraints left out.
DEVICE void derivative(int kind, const double *xi, const double *w, const double *d, int n, double *out) {
    if (kind == LINEAR) {
        out[0] = d[1] - d[0];
    } else if (kind == CIRCLE) {
        out[0] = sin(2.0 * xi[0]) * (d[1] - d[0]);
    } else if (kind == NEXP) {
        out[0] = 2.0 * NEXP_STEEPNESS * cos(xi[0]) * w[0] * w[1] * (d[1] - d[0]);
    } else if (kind == NEXP_WEIGHTS) {
        double mean = 0.0;
        for (int a = 0; a < n; a++) mean += w[a] * d[a];
        for (int a = 0; a < n; a++) out[a] = NEXP_STEEPNESS * cos(xi[a]) * w[a] * (d[a] - mean);
    } else {
        for (int a = 0; a < n; a++) out[a] = kind == FIXED ? 0.0 : kind == SPHERE ? 2.0 * xi[a] * d[a] : d[a];
    }
}

// m Z of one site (motion/metric.rs); its derivatives by ξ go to `out`.
DEVICE double charge_metric(int kind, const double *xi, const double *w, const double *q, int n, double *out) {
    const double c = NEXP_STEEPNESS, step = q[n - 1] - q[0];
    double mean = 0.0, plain = 0.0, square = 0.0, shift = 0.0;
    for (int a = 0; a < n; a++) mean += w[a] * q[a], plain += q[a] / n;
    if (kind == CIRCLE) {
        const double s = sin(2.0 * xi[0]);
        out[0] = 4.0 * step * step * s * cos(2.0 * xi[0]);
        return step * step * s * s;
    }
    if (kind == NEXP) {
        const double s = sin(xi[0]), k = cos(xi[0]), g = 2.0 * c * w[0] * w[1] * step;
        out[0] = 2.0 * g * g * k * (2.0 * c * k * k * (w[0] - w[1]) - s);
        return g * g * k * k;
    }
    if (kind == LINEAR) {
        out[0] = 0.0;
        return step * step;
    }
    if (kind == NEXP_WEIGHTS) {
        for (int a = 0; a < n; a++) {
            const double k = c * cos(xi[a]), g = k * w[a] * (q[a] - mean);
            square += g * g, shift += g * k * w[a];
        }
        for (int a = 0; a < n; a++) {
            const double k = c * cos(xi[a]), g = k * w[a] * (q[a] - mean), own = c * sin(xi[a]) * w[a] * (q[a] - mean);
            out[a] = 2.0 * (k * (g * g - w[a] * square) - g * (own + shift));
        }
        return square;
    }
    for (int a = 0; a < n; a++) {
        out[a] = kind == SPHERE ? 8.0 * xi[a] * q[a] * (q[a] - 2.0 * mean) : 0.0;
        square += kind == SPHERE ? 4.0 * w[a] * q[a] * q[a] : kind == LINEAR_WEIGHTS ? (q[a] - plain) * (q[a] - plain) : 0.0;
    }
    return kind == SPHERE ? square - 4.0 * mean * mean : square;
}

// Takes off the part along the gradient of the site's own constraint.
DEVICE void project_site(int kind, const double *xi, int n, double *v) {
    double along = 0.0, square = 0.0;
    if (kind == LINEAR_WEIGHTS) {
        for (int a = 0; a < n; a++) along += v[a];
        for (int a = 0; a < n; a++) v[a] -= along / n;
    } else if (kind == SPHERE) {
        for (int a = 0; a < n; a++) along += v[a] * xi[a], square += xi[a] * xi[a];
        for (int a = 0; a < n; a++) v[a] -= along / square * xi[a];
    }
}

// Brings the site back to its own constraint, along the gradient at `start`.
DEVICE void settle_site(int kind, const double *start, int n, double *moved) {
    double square = 0.0, b = 0.0, c = 0.0, length = 0.0;
    if (kind == LINEAR_WEIGHTS) {
        for (int a = 0; a < n; a++) b += moved[a];
        for (int a = 0; a < n; a++) moved[a] -= (b - 1.0) / n;
    } else if (kind == SPHERE) {
        for (int a = 0; a < n; a++) square += start[a] * start[a], b += moved[a] * start[a], c += moved[a] * moved[a];
        b /= square, c = (c - 1.0) / square;
        const double root = b * b - c, mu = root > 0.0 && b > 0.0 ? -c / (b + sqrt(root)) : 0.0;
        for (int a = 0; a < n; a++) {
            moved[a] += mu * start[a];
            length += moved[a] * moved[a];
        }
        for (int a = 0; a < n; a++) moved[a] /= sqrt(length);
    }
}

// Sums over the block in all threads; `scratch`: 8 numbers for each warp.
template <int N> DEVICE void all_sums(double *sums, double *scratch) {
    for (int i = 0; i < N; i++) {
        const double total = warp_sum(sums[i]);
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32 * 8 + i] = total;
    }
    __syncthreads();
    for (int i = 0; i < N; i++) {
        sums[i] = 0.0;
        for (int warp = 0; warp < THREADS / 32; warp++) sums[i] += scratch[warp * 8 + i];
    }
    __syncthreads();
}

// One site as a thread sees it.
struct One {
    int kind, forms, n, at, weight, noise;
    double mass;
};

DEVICE One one_site(const SiteRow *sites, const double *masses, int s) {
    const SiteRow &row = sites[s];
    const int kind = row.kind, forms = row.forms;
    return {kind, forms, has_one(kind) ? 1 : forms, (int)row.first_coordinate, (int)row.first_weight, (int)row.first_number, masses[s]};
}

DEVICE double square_of(const One &o, const double *v) {
    double sum = 0.0;
    for (int a = 0; a < o.n; a++) sum += v[o.at + a] * v[o.at + a];
    return sum;
}

// v ← v − x m⁻¹ g.
DEVICE void add_along(const One &o, double x, const double *gradient, double *v) {
    for (int a = 0; a < o.n; a++) v[o.at + a] -= x * gradient[o.at + a] / o.mass;
}

// Energies of a step: its kinetic energy, the heat, sums of the terms of the bias.
DEVICE void note(StepEnergies &energies, const LambdaSettings &settings, double kinetic, double heat, const double *sums, double metric) {
    energies.kinetic = kinetic;
    energies.temperature = settings.freedom > 0.0 ? 2.0 * kinetic / (settings.freedom * settings.gas_constant) : 0.0;
    energies.heat = heat;
    energies.barrier = sums[0];
    energies.walls = sums[1];
    energies.ph = sums[2];
    energies.correction = sums[3];
    energies.entropy = sums[4];
    energies.metric = metric;
}

#define EACH_SITE for (int s = threadIdx.x; s < n_sites; s += THREADS)

// Weights at ξ: of a state that comes from the host, by the arithmetic of the steps.
KERNEL __launch_bounds__(THREADS) void set_weights(const __grid_constant__ WeightArgs args) {
    const SiteRow *sites = args.sites;
    const double *masses = args.masses, *xi = args.xi;
    double *weights = args.weights;
    const int n_sites = args.n_sites;
    EACH_SITE {
        const One o = one_site(sites, masses, s);
        weights_at(o.kind, xi + o.at, o.forms, weights + o.weight);
    }
}

// work: 4 numbers for each of n_xi: dV/dξ, ∇Q, new velocities, new ξ; then new weights.
KERNEL __launch_bounds__(THREADS) void advance_sites(const __grid_constant__ AdvanceArgs args) {
    const LambdaSettings &settings = args.settings;
    const SiteRow *sites = args.sites;
    const double *masses = args.masses, *charges = args.charges, *derivatives = args.derivatives, *noise = args.noise;
    double *xi = args.xi, *velocity = args.velocity, *weights = args.weights, *heat = args.heat, *total = args.total, *work = args.work;
    Failure *failure = args.failure;
    const int n_noise = args.n_noise, width = args.width, n_sites = args.n_sites, n_xi = args.n_xi;
    __shared__ double scratch[THREADS / 32 * 8];
    __shared__ int bad, escaped;
    const long long step = *args.step, row = step - *args.noise_first;
    if (failure->kind != 0 || step < 0) return;
    // A row for the tables, before anything moves. Nobody writes ξ before the sums below, for which all wait.
    const long long every = *args.keep_every;
    if (every > 0 && step % every == 0) {
        double *row = args.kept + step / every % args.n_kept * (1LL + n_xi + args.n_weights);
        if (threadIdx.x == 0) row[0] = (double)step;
        for (int i = threadIdx.x; i < n_xi; i += THREADS) row[1 + i] = xi[i];
        for (int i = threadIdx.x; i < args.n_weights; i += THREADS) row[1 + n_xi + i] = derivatives[i];
    }
    const bool thermal = settings.coupled != 0.0 && width > 0, has_noise = row >= 0 && row < n_noise;
    const double half = 0.5 * settings.time_step;
    double *slopes = work, *gradient = work + n_xi, *v = work + 2LL * n_xi, *moved = work + 3LL * n_xi, *lambda = work + 4LL * n_xi;
    if (threadIdx.x == 0) bad = escaped = n_sites;
    __syncthreads();
    // Z, its derivatives meanwhile where new ξ will be.
    double z[1] = {0.0};
    if (settings.metric != 0.0) {
        EACH_SITE {
            const One o = one_site(sites, masses, s);
            z[0] += charge_metric(o.kind, xi + o.at, weights + o.weight, charges + o.weight, o.forms, moved + o.at) / o.mass;
        }
        all_sums<1>(z, scratch);
    }
    const double pull = z[0] > 0.0 ? 0.5 * settings.metric / z[0] : 0.0;
    // Barrier, walls, pH, correction, entropy; g·v, g·m⁻¹g.
    double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    EACH_SITE {
        const One o = one_site(sites, masses, s);
        const double *w = weights + o.weight;
        double *d = total + o.weight;
        for (int a = 0; a < o.forms; a++) d[a] = derivatives[o.weight + a];
        const BiasTerms has = args.bias_terms[s];
        add_bias(args.biases[s], has, args.coefficients + has.first, args.acidity + o.weight, w, o.forms, d, sums);
        derivative(o.kind, xi + o.at, w, d, o.forms, slopes + o.at);
        for (int a = o.at; a < o.at + o.n; a++) {
            if (pull != 0.0) slopes[a] += pull * moved[a] / o.mass;
            if (!(fabs(slopes[a]) <= 1.7976931348623157e308)) atomicMin(&bad, s);
            v[a] = velocity[a] - half / o.mass * slopes[a];
        }
        project_site(o.kind, xi + o.at, o.n, v + o.at);
        if (settings.charged == 0.0) continue;
        derivative(o.kind, xi + o.at, w, charges + o.weight, o.forms, gradient + o.at);
        project_site(o.kind, xi + o.at, o.n, gradient + o.at);
        for (int a = o.at; a < o.at + o.n; a++) {
            sums[5] += gradient[a] * v[a];
            sums[6] += gradient[a] * gradient[a] / o.mass;
        }
    }
    all_sums<7>(sums, scratch);
    const double metric = pull != 0.0 ? 0.5 * settings.metric * log(z[0]) : 0.0;
    if (step < *args.held && bad == n_sites) {
        double kept[1] = {0.0};
        EACH_SITE {
            const One o = one_site(sites, masses, s);
            kept[0] += 0.5 * o.mass * square_of(o, velocity);
        }
        all_sums<1>(kept, scratch);
        if (threadIdx.x == 0) note(*args.energies, settings, kept[0], *heat, sums, metric);
        return;
    }
    const double norm = sums[6];
    const bool charged = settings.charged != 0.0 && norm > 0.0;
    // Kinetic energy, g·v with what chance adds.
    double first[2] = {0.0, 0.0};
    EACH_SITE {
        const One o = one_site(sites, masses, s);
        if (charged) add_along(o, sums[5] / norm, gradient, v);
        first[0] += 0.5 * o.mass * square_of(o, v);
        if (!thermal || !has_noise) continue;
        if (o.kind != FIXED) {
            for (int a = 0; a < o.n; a++)
                v[o.at + a] = sqrt(settings.kept) * v[o.at + a] + sqrt(settings.added / o.mass) * noise[row * width + o.noise + a];
        }
        project_site(o.kind, xi + o.at, o.n, v + o.at);
        if (charged)
            for (int a = o.at; a < o.at + o.n; a++) first[1] += gradient[a] * v[a];
    }
    all_sums<2>(first, scratch);
    // Kinetic energy after the thermostat, charge.
    double second[2] = {0.0, 0.0};
    EACH_SITE {
        const One o = one_site(sites, masses, s);
        if (thermal && charged) add_along(o, first[1] / norm, gradient, v);
        second[0] += 0.5 * o.mass * square_of(o, v);
        for (int a = o.at; a < o.at + o.n; a++) {
            v[a] -= half / o.mass * slopes[a];
            moved[a] = xi[a] + settings.time_step * v[a];
        }
        settle_site(o.kind, xi + o.at, o.n, moved + o.at);
        weights_at(o.kind, moved + o.at, o.forms, lambda + o.weight);
        for (int a = o.weight; a < o.weight + o.forms; a++) second[1] += lambda[a] * charges[a];
    }
    all_sums<2>(second, scratch);
    double found[1] = {settings.charged != 0.0 ? second[1] - settings.charge : 0.0};
    for (int k = 0; k < settings.iterations && charged && !(fabs(found[0]) <= settings.tolerance); k++) {
        double charge = 0.0;
        EACH_SITE {
            const One o = one_site(sites, masses, s);
            add_along(o, found[0] / norm, gradient, moved);
            settle_site(o.kind, xi + o.at, o.n, moved + o.at);
            weights_at(o.kind, moved + o.at, o.forms, lambda + o.weight);
            for (int a = o.weight; a < o.weight + o.forms; a++) charge += lambda[a] * charges[a];
        }
        found[0] = charge;
        all_sums<1>(found, scratch);
        found[0] -= settings.charge;
    }
    EACH_SITE {
        const One o = one_site(sites, masses, s);
        if (o.kind != LINEAR && o.kind != LINEAR_WEIGHTS) continue;
        for (int a = o.at; a < o.at + o.n; a++)
            if (!(fabs(moved[a] - 0.5) <= ESCAPE)) atomicMin(&escaped, s);
    }
    __syncthreads();
    const int kind = bad < n_sites                                ? NOT_FINITE
                     : thermal && !has_noise                      ? NO_NOISE
                     : !(fabs(found[0]) <= settings.accepted)     ? CHARGE
                     : escaped < n_sites                          ? ESCAPED
                                                                  : 0;
    if (kind != 0) {
        if (threadIdx.x != 0) return;
        const int site = kind == NOT_FINITE ? bad : kind == ESCAPED ? escaped : 0;
        const One o = one_site(sites, masses, site);
        const double *values = kind == NOT_FINITE ? slopes : moved;
        int at = o.at;
        while (kind == NOT_FINITE && fabs(values[at]) <= 1.7976931348623157e308) at++;
        while (kind == ESCAPED && fabs(values[at] - 0.5) <= ESCAPE) at++;
        *failure = {kind, site, step, kind == CHARGE ? found[0] : values[at]};
        return;
    }
    EACH_SITE {
        const One o = one_site(sites, masses, s);
        for (int a = o.at; a < o.at + o.n; a++) {
            velocity[a] = (moved[a] - xi[a]) / settings.time_step;
            xi[a] = moved[a];
        }
        for (int a = o.weight; a < o.weight + o.forms; a++) weights[a] = lambda[a];
    }
    if (threadIdx.x != 0) return;
    if (thermal) *heat += second[0] - first[0];
    note(*args.energies, settings, first[0], *heat, sums, metric);
}
