// One step of all λ: bias, leap-frog, v-rescale thermostat (see bias.rs, dynamics.rs), in double precision and one block.
//
//   v' = c v − Δt/m dV/dλ,   λ' = λ + Δt v'
//   c² = (√κ + √a R₁)² + a Σ R²,   κ = e^{−Δt/τ},   a = (1 − κ) ½ RT / K,   sign of c: that of √κ + √a R₁
//   kinetic energy of the step: mean of both half steps, from Σ v², Σ v V', Σ V'²; heat: what the scaling changes in it
//
// Random numbers come from a table: R₁ and Σ R² of each step, and one number for each λ for the case that all are at rest. Sums run in a
// fixed order. Units: ps, u nm², kJ/mol. A failed step changes nothing, is noted in `status` (kind, site, step; λ, dV/dλ) and ends the motion.

#define NOT_FINITE 1
#define ESCAPED 2
#define NO_NOISE 3

struct Term {
    double energy, derivative;
};

struct Settings {
    double time_step, mass, kept, quantum, gas_constant;
    long long coupled;
};

DEVICE Term gaussian(double amplitude, double centre, double width, double lambda) {
    const double x = (lambda - centre) / width, energy = amplitude * exp(-0.5 * x * x);
    return {energy, -energy * x / width};
}

// row: a, b, k, d of the wells; kind, free energy and step of V_pH; range and integral at 0 of V_MM.
DEVICE Term wells(const double *row, double lambda) {
    const Term right = gaussian(-row[2], 1.0 + row[1], row[0], lambda), left = gaussian(-row[2], -row[1], row[0], lambda);
    const Term centre = gaussian(row[3], 0.5, CENTRE_WIDTH, lambda);
    return {right.energy + left.energy + centre.energy, right.derivative + left.derivative + centre.derivative};
}

DEVICE Term walls(double lambda) {
    const double right = WALL_STEEPNESS * (lambda - 1.0 - WALL_OFFSET), left = WALL_STEEPNESS * (lambda + WALL_OFFSET);
    const double slope = WALL_HEIGHT * WALL_STEEPNESS / 1.7724538509055160273;
    return {0.5 * WALL_HEIGHT * (erfc(-right) + erfc(left)), slope * (exp(-right * right) - exp(-left * left))};
}

DEVICE Term acidity(const double *row, double lambda) {
    if (row[4] == 0.0) return {0.0, 0.0};
    if (row[4] == 1.0) return {row[5] * lambda, row[5]};
    const double steepness = 5.0 * WALL_STEEPNESS, s = 1.0 / (1.0 + exp(-steepness * (lambda - row[6])));
    return {row[5] * s, row[5] * steepness * s * (1.0 - s)};
}

DEVICE Term correction(const double *row, const double *coefficients, int n, double lambda) {
    if (n == 0) return {0.0, 0.0};
    const double inside = fmin(fmax(lambda, row[7]), row[8]);
    double slope = 0.0, integral = 0.0;
    for (int k = n - 1; k >= 0; k--) {
        slope = slope * inside + coefficients[k];
        integral = integral * inside + coefficients[k] / (k + 1.0);
    }
    return {-(inside * integral - row[9]) - slope * (lambda - inside), -slope};
}

// Sums over the block in all threads; `scratch`: 8 numbers for each warp.
template <int N> DEVICE void all_sums(double sums[N], double *scratch) {
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

// energies: kinetic, temperature, heat so far, barrier, walls, pH, correction.
KERNEL __launch_bounds__(THREADS) void advance_sites(Settings settings, const double *biases, const unsigned *bias_terms,
                                                     const double *coefficients, const double *dvdl, const unsigned *moves,
                                                     const double *noise, const long long *noise_first, int n_noise, const double *rest,
                                                     const long long *steps, double *lambda, double *velocity, double *heat,
                                                     double *total, double *moved, double *energies, long long *status, double *culprit,
                                                     int n_sites) {
    __shared__ double scratch[THREADS / 32 * 8];
    __shared__ int bad, escaped;
    const long long step = *steps;
    if (status[0] != 0) return;
    if (threadIdx.x == 0) bad = escaped = n_sites;
    __syncthreads();
    // Σ v², Σ v V', Σ V'², number of free λ, energies of the bias.
    double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int s = threadIdx.x; s < n_sites; s += THREADS) {
        double derivative = dvdl[s];
        if (bias_terms[3 * s]) {
            const double *row = biases + 10 * s, at = lambda[s];
            const int first = bias_terms[3 * s + 1];
            const Term terms[4] = {wells(row, at), walls(at), acidity(row, at),
                                   correction(row, coefficients + first, bias_terms[3 * s + 2] - first, at)};
            double bias = 0.0;
            for (int t = 0; t < 4; t++) {
                bias += terms[t].derivative;
                sums[4 + t] += terms[t].energy;
            }
            derivative += bias;
        }
        total[s] = derivative;
        if (!(fabs(derivative) <= 1.7976931348623157e308)) atomicMin(&bad, s);
        if (!moves[s]) continue;
        sums[0] += velocity[s] * velocity[s];
        sums[1] += velocity[s] * derivative;
        sums[2] += derivative * derivative;
        sums[3] += 1.0;
    }
    all_sums<8>(sums, scratch);
    const double kick = settings.time_step / settings.mass, quarter = 0.25 * settings.mass;
    const long long row = step - *noise_first;
    const bool has_noise = row >= 0 && row < n_noise, thermal = settings.coupled && sums[3] > 0.0;
    const bool at_rest = thermal && sums[0] == 0.0;
    const double width = sqrt(2.0 * settings.quantum * (1.0 - settings.kept) / settings.mass);
    double factor = 1.0, after[2] = {sums[0], sums[1]};
    if (at_rest) {
        after[0] = after[1] = 0.0;
        for (int s = threadIdx.x; s < n_sites; s += THREADS) {
            const double v = moves[s] ? width * rest[s] : 0.0;
            after[0] += v * v;
            after[1] += v * total[s];
        }
        all_sums<2>(after, scratch);
    } else if (thermal && has_noise) {
        const double added = settings.quantum * (1.0 - settings.kept) / (0.5 * settings.mass * sums[0]);
        const double along = sqrt(settings.kept) + sqrt(added) * noise[2 * row];
        factor = copysign(sqrt(along * along + added * noise[2 * row + 1]), along);
        after[0] = factor * factor * sums[0];
        after[1] = factor * sums[1];
    }
    for (int s = threadIdx.x; s < n_sites; s += THREADS) {
        if (!moves[s]) continue;
        const double v = (at_rest ? width * rest[s] : factor * velocity[s]) - kick * total[s], place = lambda[s] + settings.time_step * v;
        moved[2 * s] = place;
        moved[2 * s + 1] = v;
        if (!(fabs(place - 0.5) <= ESCAPE)) atomicMin(&escaped, s);
    }
    __syncthreads();
    const int kind = bad < n_sites ? NOT_FINITE : thermal && !at_rest && !has_noise ? NO_NOISE : escaped < n_sites ? ESCAPED : 0;
    if (kind != 0) {
        if (threadIdx.x != 0) return;
        const int site = kind == NOT_FINITE ? bad : kind == ESCAPED ? escaped : 0;
        status[0] = kind;
        status[1] = site;
        status[2] = step;
        culprit[0] = kind == ESCAPED ? moved[2 * site] : lambda[site];
        culprit[1] = total[site];
        return;
    }
    for (int s = threadIdx.x; s < n_sites; s += THREADS) {
        if (!moves[s]) continue;
        lambda[s] = moved[2 * s];
        velocity[s] = moved[2 * s + 1];
    }
    if (threadIdx.x != 0) return;
    const double kinetic = quarter * (2.0 * after[0] - 2.0 * kick * after[1] + kick * kick * sums[2]);
    *heat += quarter * (2.0 * (after[0] - sums[0]) - 2.0 * kick * (after[1] - sums[1]));
    energies[0] = kinetic;
    energies[1] = sums[3] > 0.0 ? 2.0 * kinetic / (sums[3] * settings.gas_constant) : 0.0;
    energies[2] = *heat;
    for (int t = 0; t < 4; t++) energies[3 + t] = sums[4 + t];
}
