// Thermostat, barostat and centre of mass: one block between two steps; twin of engine/thermostat.rs, engine/barostat and
// engine/com.rs in the order of engine/simulation/mod.rs.
//
// Sums the parts that `integrate.cu` leaves, in a fixed order; tells kinetic energies, virial, pressure P = (2K + W)/3V; scales the
// box by μ = (λ'/λ)^⅔, dλ = −(β_T λ/2τ)[P₀ − P − RT/2V] dt + √(RT β_T/2τ) dW, λ = √V, at the end of its step (positions and velocities
// follow by `rescale`: K falls by (1 − μ⁻²) of the kinetic energy of groups as rigid bodies, Σ m v by μ); then prepares the step to
// come: α² = c + m (R₁² + Σ R_i²) + 2 R₁ √(c m), m = (1−c) RT/2K, c = e^{−dt/τ}, and v_com of αv.
// Random numbers come from the host, three for each step: R₁, Σ_{i≥2} R_i², the normal number of the barostat.
// Units: nm, ps, u, kJ/mol; f64.

#define REDUCERS 128

// Whether something that happens every `every` steps (0: never) happens at this one.
DEVICE bool due(long long step, double every) { return every > 0.0 && step % (long long)every == 0; }

// The random numbers of a step; none (false) if the table does not have them.
DEVICE bool take_numbers(long long step, const double *table, const long long *clock, double *numbers) {
    const long long row = step - clock[TABLE_START];
    const bool there = row >= 0 && row < clock[TABLE_STEPS];
    for (int k = 0; k < 3; k++) numbers[k] = there ? table[3 * row + k] : 0.0;
    return there;
}

// What `step` will do to the velocities, from 2K and Σ m v as they stand and its random numbers r, if there are any.
DEVICE void prepare(long long step, double twice_kinetic, Vec momentum, const double *settings, const double *r, bool there,
                    double *state, unsigned long long *status) {
    double factor = 1.0, work = 0.0;
    if (due(step, settings[THERMOSTAT_EVERY])) {
        const double kinetic = 0.5 * twice_kinetic;
        if (!(is_number(kinetic) && kinetic > 0.0)) {
            fail(status, THERMOSTAT, 0, 0);
        } else if (!there) {
            fail(status, RANDOM, 0, 0);
        } else {
            const double keep = settings[KEEP], mix = settings[MIX] / kinetic;
            const double square = keep + mix * (r[0] * r[0] + r[1]) + 2.0 * r[0] * sqrt(keep * mix);
            factor = copysign(sqrt(fmax(square, 0.0)), r[0] * sqrt(mix) + sqrt(keep));
            work = (factor * factor - 1.0) * kinetic;
        }
    }
    const bool centred = due(step, settings[COM_EVERY]);
    state[FACTOR] = factor;
    state[PENDING_WORK] = work;
    store(state + DRIFT, centred ? (factor / settings[MASS]) * momentum : vec(0.0, 0.0, 0.0));
}

// Whether lists that were made for these positions times `scale` do not serve any more after a move of √square.
DEVICE bool stale(double square, double scale, const double *settings) {
    if (settings[REACH] <= 0.0) return false;
    const double limit = 0.5 * (scale * settings[REACH] - settings[CUTOFF]);
    return limit < 0.0 || !(square <= limit * limit) || square > settings[SLACK] * settings[SLACK];
}

// The factor of all lengths after a step of this pressure, with its random numbers r, if there are any.
DEVICE double couple(long long step, double pressure, double volume, const double *settings, const double *r, bool there,
                     double *state, unsigned long long *status) {
    state[BAROSTAT_WORK] -= 0.5 * pressure * state[PENDING_VOLUME];
    state[PENDING_VOLUME] = 0.0;
    if (!due(step + 1, settings[BAROSTAT_EVERY])) return 1.0;
    if (!there) {
        fail(status, RANDOM, 0, 0);
        return 1.0;
    }
    const double root = sqrt(volume), rate = settings[RATE];
    const double change = -rate * root * (settings[PRESSURE] - pressure - 0.5 * settings[RT] / volume) + sqrt(settings[RT] * rate) * r[2];
    const double ratio = fmax((root + change) / root, 0.0);
    const double mu = cbrt(ratio * ratio);
    if (!is_number(change) || fabs(mu - 1.0) > LARGEST_CHANGE) {
        fail(status, BAROSTAT, 0, 0);
        return 1.0;
    }
    state[PENDING_VOLUME] = volume * (mu * mu * mu - 1.0);
    state[BAROSTAT_WORK] -= 0.5 * pressure * state[PENDING_VOLUME];
    return mu;
}

// Sums of the blocks of a step. With `commit` the state goes on to the next step, else energies are told and nothing else.
// `geometry`: basis[9], inverse[9], periods[9], corner[3], scale, 1/scale, volume of the boxes of the FMM, or n_geometry = 0.
KERNEL __launch_bounds__(REDUCERS * QUANTITIES) void finish(
    const double *partials, int n_blocks, const double *settings, double *state, double *observed, long long *clock,
    unsigned long long *status, const double *table, const long long *energies, const unsigned *slots, const double *factors,
    int n_terms, double *edges, double *geometry, int n_geometry, int commit) {
    __shared__ double sums[QUANTITIES][REDUCERS];
    __shared__ double set[SETTINGS], now[STATE], box[3], terms[MAX_TERMS], numbers[2][3], mu;
    __shared__ bool there[2];
    __shared__ long long step;
    __shared__ unsigned long long failure, late;
    const int i = threadIdx.x;
    if (status[STOPPED]) {
        if (commit && i == 0) state[MU] = 1.0;
        return;
    }
    // All that thread 0 will need, loaded at once, each kind by a warp of its own.
    if (i < SETTINGS) set[i] = settings[i];
    if (i / 32 == 1 && i % 32 < STATE) now[i % 32] = state[i % 32];
    if (i / 32 == 2 && i % 32 < 3) box[i % 32] = edges[i % 32];
    if (i / 32 == 3 && i % 32 < 2) there[i % 32] = take_numbers(clock[STEP] + i % 32, table, clock, numbers[i % 32]);
    if (i == 128) step = clock[STEP], failure = status[FAILURE], late = status[STALE];
    if (i / 32 == 5) {
        for (int k = i % 32; k < n_terms; k += 32) terms[k] = factors[k] * ((double)energies[slots[k]] * (1.0 / ENERGY_ONE));
    }
    const int q = i / REDUCERS, t = i % REDUCERS;
    double sum = 0.0;
    for (int b = t; b < n_blocks; b += REDUCERS) {
        const double part = partials[(long long)q * n_blocks + b];
        sum = q == MOVED ? fmax(sum, part) : sum + part;
    }
    sums[q][t] = sum;
    for (int half = REDUCERS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sums[q][t] = q == MOVED ? fmax(sums[q][t], sums[q][t + half]) : sums[q][t] + sums[q][t + half];
    }
    __syncthreads();
    if (i == 0) {
        const double dt = set[DT], volume = box[0] * box[1] * box[2];
        const double kinetic = 0.25 * (sums[BEFORE][0] + sums[AFTER][0]), constraint = sums[CONSTRAINT][0] / (dt * dt);
        double virial = volume > 0.0 ? set[TAIL] / volume : 0.0;
        for (int k = 0; k < n_terms; k++) virial += terms[k];
        const double pressure = volume > 0.0 ? (2.0 * kinetic + virial + constraint) / (3.0 * volume) : 0.0;
        if (!failure) {
            observed[KINETIC_BEFORE] = 0.5 * sums[BEFORE][0];
            observed[KINETIC_AFTER] = 0.5 * sums[AFTER][0];
            observed[CONSTRAINT_VIRIAL] = constraint;
            observed[POTENTIAL_VIRIAL] = virial;
            observed[VOLUME] = volume;
            observed[PRESSURE_NOW] = pressure;
            observed[LARGEST_MOVE] = sqrt(sums[MOVED][0]);
        }
        mu = 1.0;
        if (commit && !failure) {
            if (set[BAROSTAT_EVERY] > 0.0) mu = couple(step, pressure, volume, set, numbers[0], there[0], now, status);
            failure = status[FAILURE];
        }
        if (commit && failure) {
            status[STOPPED] = step + 1;
        } else if (commit) {
            now[THERMOSTAT_WORK] += now[PENDING_WORK];
            now[LIST_SCALE] *= mu;
            clock[STEP] = step + 1;
            if (!late && stale(sums[MOVED][0], now[LIST_SCALE], set)) status[STALE] = step + 2;
            const double less = 1.0 / (mu * mu) - 1.0;
            const Vec momentum = (1.0 / mu) * vec(sums[MOMENTUM][0], sums[MOMENTUM + 1][0], sums[MOMENTUM + 2][0]);
            prepare(step + 1, sums[AFTER][0] + less * sums[TRANSLATION][0], momentum, set, numbers[1], there[1], now, status);
            if (status[FAILURE]) status[STOPPED] = step + 2;
        }
        now[MU] = mu;
    }
    __syncthreads();
    if (!commit) return;
    if (i < STATE) state[i] = now[i];
    if (mu == 1.0) return;
    if (i < 3) edges[i] = mu * box[i];
    if (i < n_geometry) {
        const bool inverse = (i >= 9 && i < 18) || i == 31;
        geometry[i] *= i == 32 ? mu * mu * mu : inverse ? 1.0 / mu : mu;
    }
}

// Before the first step: 2K and Σ m v of the velocities that were put there, and what the first step will do to them.
KERNEL __launch_bounds__(REDUCERS * QUANTITIES) void begin(const double *masses, const double *v, int n_atoms, const double *settings,
                                                           double *state, const long long *clock, unsigned long long *status,
                                                           const double *table) {
    __shared__ double scratch[32];
    double twice_kinetic = 0.0;
    Vec momentum = vec(0.0, 0.0, 0.0);
    for (long long i = threadIdx.x; i < n_atoms; i += blockDim.x) {
        const Vec u = load(v + 3 * i);
        twice_kinetic += masses[i] * dot(u, u);
        momentum = momentum + masses[i] * u;
    }
    twice_kinetic = block_sum(twice_kinetic, scratch);
    momentum = vec(block_sum(momentum.x, scratch), block_sum(momentum.y, scratch), block_sum(momentum.z, scratch));
    if (threadIdx.x != 0) return;
    state[MU] = 1.0;
    double numbers[3];
    const bool there = take_numbers(clock[STEP], table, clock, numbers);
    prepare(clock[STEP], twice_kinetic, momentum, settings, numbers, there, state, status);
    if (status[FAILURE]) status[STOPPED] = clock[STEP] + 1;
}

// Lists are made from the positions that are there now.
KERNEL void mark(double *state) { state[LIST_SCALE] = 1.0; }
