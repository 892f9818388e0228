// Thermostat, barostat and centre of mass: one block between two steps, the twin of what the engine does on the CPU, in the same order.
//
// Sums the parts that `integrate.cu` leaves, in a fixed order; tells kinetic energies, virial, pressure P = (2K + W)/3V; scales the
// box by μ = (λ'/λ)^⅔, dλ = −(β_T λ/2τ)[P₀ − P − RT/2V] dt + √(RT β_T/2τ) dW, λ = √V, at the end of its step (positions and velocities
// follow by `rescale`: K falls by (1 − μ⁻²) of the kinetic energy of groups as rigid bodies, Σ m v by μ); then prepares the step to
// come: α² = c + m (R₁² + Σ R_i²) + 2 R₁ √(c m), m = (1−c) RT/2K, c = e^{−dt/τ}, and v_com of αv.
// Random numbers come from the host, three for each step: R₁, Σ_{i≥2} R_i², the normal number of the barostat.
// Units: nm, ps, u, kJ/mol; f64.

// Whether something that happens every `every` steps (0: never) happens at this one.
DEVICE bool due(long long step, double every) { return every > 0.0 && step % (long long)every == 0; }

// The random numbers of a step; zeros and false if the table does not have them.
DEVICE bool take_numbers(long long step, const StepNumbers *table, const Clock *clock, StepNumbers &numbers) {
    const long long row = step - clock->table_start;
    const bool there = row >= 0 && row < clock->table_steps;
    numbers = {0.0, 0.0, 0.0};
    if (there) numbers = table[row];
    return there;
}

// Copies a structure of doubles, a number for each thread `i`.
template <class T> DEVICE void copy_numbers(T &to, const T &from, int i) {
    if (i < (int)(sizeof(T) / sizeof(double))) ((double *)&to)[i] = ((const double *)&from)[i];
}

// What `step` will do to the velocities, from 2K and Σ m v as they stand and its random numbers r, if there are any.
DEVICE void prepare(long long step, double twice_kinetic, Vec momentum, const CouplingSettings &settings, const StepNumbers &r, bool there,
                    CouplingState &state, MotionStatus *status) {
    double factor = 1.0, work = 0.0;
    if (due(step, settings.thermostat_every)) {
        const double kinetic = 0.5 * twice_kinetic;
        if (!(is_number(kinetic) && kinetic > 0.0)) {
            fail(status, THERMOSTAT, 0, 0);
        } else if (!there) {
            fail(status, RANDOM, 0, 0);
        } else {
            const double keep = settings.keep, mix = settings.mix / kinetic;
            const double square = keep + mix * (r.first * r.first + r.others) + 2.0 * r.first * sqrt(keep * mix);
            factor = copysign(sqrt(fmax(square, 0.0)), r.first * sqrt(mix) + sqrt(keep));
            work = (factor * factor - 1.0) * kinetic;
        }
    }
    const bool centred = due(step, settings.com_every);
    state.factor = factor;
    state.pending_work = work;
    store(state.drift, centred ? (factor / settings.mass) * momentum : vec(0.0, 0.0, 0.0));
}

// Whether lists do not serve any more: an atom is farther away than it may be (`part` > 1), or the box has shrunk by too much.
DEVICE bool stale(double part, double scale, const CouplingSettings &settings) {
    return settings.least_scale > 0.0 && !(part <= 1.0 && scale >= settings.least_scale);
}

// The factor of all lengths after a step of this pressure, with its random numbers r, if there are any.
DEVICE double couple(long long step, double pressure, double volume, const CouplingSettings &settings, const StepNumbers &r, bool there,
                     CouplingState &state, MotionStatus *status) {
    state.barostat_work -= 0.5 * pressure * state.pending_volume;
    state.pending_volume = 0.0;
    if (!due(step + 1, settings.barostat_every) || (double)step < settings.barostat_start) return 1.0;
    if (!there) {
        fail(status, RANDOM, 0, 0);
        return 1.0;
    }
    const double root = sqrt(volume), rate = settings.rate;
    const double change =
        -rate * root * (settings.pressure - pressure - 0.5 * settings.rt / volume) + sqrt(settings.rt * rate) * r.barostat;
    const double ratio = fmax((root + change) / root, 0.0);
    const double mu = cbrt(ratio * ratio);
    if (!is_number(change) || fabs(mu - 1.0) > LARGEST_CHANGE) {
        fail(status, BAROSTAT, 0, 0);
        return 1.0;
    }
    state.pending_volume = volume * (mu * mu * mu - 1.0);
    state.barostat_work -= 0.5 * pressure * state.pending_volume;
    return mu;
}

// The boxes of the FMM follow the cell: lengths by μ, inverse lengths by 1/μ, the volume by μ³; nine threads `i`.
DEVICE void rescale_boxes(BoxGeometry *boxes, double mu, int i) {
    if (i < 9) {
        boxes->basis[i / 3][i % 3] *= mu;
        boxes->inverse[i / 3][i % 3] *= 1.0 / mu;
        boxes->periods[i / 3][i % 3] *= mu;
    }
    if (i < 3) boxes->corner[i] *= mu;
    if (i == 0) {
        boxes->scale *= mu;
        boxes->per_scale *= 1.0 / mu;
        boxes->volume *= mu * mu * mu;
    }
}

// Sums of the blocks of a step. With `commit` the state goes on to the next step, else energies are told and nothing else.
KERNEL __launch_bounds__(REDUCERS * QUANTITIES) void finish(const __grid_constant__ FinishArgs a) {
    const double *partials = a.partials;
    const int n_blocks = a.n_blocks, n_terms = a.n_terms, commit = a.commit;
    MotionStatus *status = a.status;
    __shared__ double sums[QUANTITIES][REDUCERS];
    __shared__ CouplingSettings set;
    __shared__ CouplingState now;
    __shared__ StepNumbers numbers[2];
    __shared__ double box[6], terms[MAX_TERMS], mu;
    __shared__ bool there[2];
    __shared__ long long step;
    __shared__ unsigned long long failure;
    const int i = threadIdx.x;
    if (status->stopped) {
        if (commit && i < 3) a.state->mu[i] = 1.0;
        return;
    }
    // All that thread 0 will need, loaded at once, each kind by a warp of its own.
    copy_numbers(set, *a.settings, i);
    if (i / 32 == 1) copy_numbers(now, *a.state, i % 32);
    if (i / 32 == 2 && i % 32 < 6) box[i % 32] = a.edges[i % 32];
    if (i / 32 == 3 && i % 32 < 2) there[i % 32] = take_numbers(a.clock->step + i % 32, a.table, a.clock, numbers[i % 32]);
    if (i == 128) step = a.clock->step, failure = status->failure;
    if (i / 32 == 5) {
        for (int k = i % 32; k < n_terms; k += 32) terms[k] = a.factors[k] * ((double)a.energies[a.slots[k]] * (1.0 / ENERGY_ONE));
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
        const double dt = set.dt, volume = box[0] * box[1] * box[2];
        const double kinetic = 0.25 * (sums[BEFORE][0] + sums[AFTER][0]), constraint = sums[CONSTRAINT][0] / (dt * dt);
        double virial = volume > 0.0 ? set.tail / volume : 0.0;
        for (int k = 0; k < n_terms; k++) virial += terms[k];
        const double pressure = volume > 0.0 ? (2.0 * kinetic + virial + constraint) / (3.0 * volume) : 0.0;
        if (!failure) {
            Observed &observed = *a.observed;
            observed.kinetic_before = 0.5 * sums[BEFORE][0];
            observed.kinetic_after = 0.5 * sums[AFTER][0];
            observed.constraint_virial = constraint;
            observed.virial = virial;
            observed.volume = volume;
            observed.pressure = pressure;
            observed.largest_move = sqrt(sums[MOVED][0]);
        }
        mu = 1.0;
        if (commit && !failure) {
            if (set.barostat_every > 0.0) mu = couple(step, pressure, volume, set, numbers[0], there[0], now, status);
            failure = status->failure;
        }
        if (commit && failure) {
            status->stopped = step + 1;
        } else if (commit) {
            now.thermostat_work += now.pending_work;
#if LANGEVIN
            now.thermostat_work += 0.5 * sums[WORK][0];
#endif
            for (int axis = 0; axis < 3; axis++) now.list_scale[axis] *= mu;
            a.clock->step = step + 1;
            const double less = 1.0 / (mu * mu) - 1.0;
            const Vec momentum = (1.0 / mu) * vec(sums[MOMENTUM][0], sums[MOMENTUM + 1][0], sums[MOMENTUM + 2][0]);
            prepare(step + 1, sums[AFTER][0] + less * sums[TRANSLATION][0], momentum, set, numbers[1], there[1], now, status);
            // Lists that do not serve must not make forces: nothing moves until the host has made new ones.
            if (stale(sums[MOVED][0], now.list_scale[0], set)) status->stale = step + 2;
            if (status->failure || status->stale) status->stopped = step + 2;
        }
        if (commit) a.clock->due = status->stopped ? -1 : step + 1;
        for (int axis = 0; axis < 3; axis++) now.mu[axis] = mu;
    }
    __syncthreads();
    if (!commit) return;
    copy_numbers(*a.state, now, i);
    if (mu == 1.0) return;
    if (i < 6) a.edges[i] = mu * box[i];
    if (a.geometry) rescale_boxes(a.geometry, mu, i);
}

// Before the first step: 2K and Σ m v of the velocities that were put there, and what the first step will do to them.
KERNEL __launch_bounds__(WIDE) void begin(const __grid_constant__ BeginArgs a) {
    const double *masses = a.masses, *v = a.v;
    const Clock *clock = a.clock;
    MotionStatus *status = a.status;
    __shared__ double scratch[32];
    double twice_kinetic = 0.0;
    Vec momentum = vec(0.0, 0.0, 0.0);
    for (long long i = threadIdx.x; i < a.n_atoms; i += blockDim.x) {
        const Vec u = load(v + 3 * i);
        twice_kinetic += masses[i] * dot(u, u);
        momentum = momentum + masses[i] * u;
    }
    twice_kinetic = block_sum(twice_kinetic, scratch);
    momentum = vec(block_sum(momentum.x, scratch), block_sum(momentum.y, scratch), block_sum(momentum.z, scratch));
    if (threadIdx.x < 3) a.state->mu[threadIdx.x] = 1.0;
    if (threadIdx.x != 0) return;
    StepNumbers numbers;
    const bool there = take_numbers(clock->step, a.table, clock, numbers);
    prepare(clock->step, twice_kinetic, momentum, *a.settings, numbers, there, *a.state, status);
    if (status->failure) status->stopped = clock->step + 1;
}

// Notes that lists are made from the positions that are there now. One that has no room for all pairs must not make forces either: the motion
// waits.
KERNEL void mark(const __grid_constant__ MarkArgs a) {
    for (int axis = 0; axis < 3; axis++) a.state->list_scale[axis] = 1.0;
    if (!a.neighbours || *a.neighbours <= a.room || a.status->failure) return;
    a.status->stale = a.status->stopped = a.clock->step + 1;
    a.clock->due = -1;
}
