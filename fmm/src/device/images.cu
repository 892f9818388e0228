// What Σ x_a F_a of the particles misses of the virial along each axis, in a tree without refinement (the twin of solver/virial.rs).
//
//   W_a − Σ x_ia F_ia = Σ (s_ia − x_ia) F_ia + ½ Σ_near R_a F_a + E_trace + ⅓ (E_far − Σ s_i·F_i^far) − M† T'_a M / 2c
//
// s: position from the centre of the own box, R: from the centre of the source's box to that of the target's, both in units of the scale c until the
// end. `near_images` has the pairs of near boxes, excluded ones too, which `particle_images` takes out again beside the terms of one particle; the last
// term is that of far/shape.cu. `sums`: three numbers, fixed point (ENERGY_ONE), to which `strength` times the result is added.

// Sums of a block, to the three numbers.
DEVICE void leave(const double (&v)[3], double factor, long long *sums) {
    __shared__ double scratch[32];
    for (int a = 0; a < 3; ++a) {
        const double sum = block_sum(v[a], scratch);
        if (threadIdx.x == 0) add_energy(sums + a, factor * sum);
    }
}

// A block for each leaf; a thread takes a particle and one of its near boxes at a time.
KERNEL __launch_bounds__(IMAGE_THREADS) void near_images(const __grid_constant__ NearImageArgs args) {
    const int leaf = blockIdx.x, first = args.starts[leaf], n = (int)args.starts[leaf + 1] - first;
    if (n == 0) return;
    const int begin = args.near_starts[leaf], boxes = (int)args.near_starts[leaf + 1] - begin;
    double v[3] = {0.0, 0.0, 0.0};
    for (int task = threadIdx.x; task < n * boxes; task += IMAGE_THREADS) {
        const real4 target = args.sorted[first + task % n];
        const uint4 run = args.runs[begin + task / n];
        const real4 shift = args.shifts[run.w];
        real4 sum = make_real4(0, 0, 0, 0);
        for (int j = 0; j < (int)run.y; ++j) add_pair(target, shifted(args.sorted[run.x + j], shift), sum);
        const real half = -target.w / 2;
        v[0] += half * shift.x * sum.y;
        v[1] += half * shift.y * sum.z;
        v[2] += half * shift.z * sum.w;
    }
    leave(v, args.strength * args.geometry->per_scale, args.sums);
}

// A thread for each particle that lies in boxes; as `finish` of evaluate.cu.
KERNEL __launch_bounds__(IMAGE_THREADS) void particle_images(const __grid_constant__ ParticleImageArgs args) {
    const BoxGeometry *geometry = args.geometry;
    const int m = blockIdx.x * IMAGE_THREADS + threadIdx.x;
    double v[3] = {0.0, 0.0, 0.0};
    if (m < args.n) {
        const int i = args.members ? (int)args.members[m] : m;
        const unsigned k = args.place[i];
        const real4 own = args.sorted[k], near = args.near[k], far = args.far[k];
        const double scale = geometry->scale, per_scale = geometry->per_scale, q = args.q[i];
        const double s[3] = {own.x, own.y, own.z}, of_far[3] = {far.y, far.z, far.w};
        real excluded[3] = {0, 0, 0};
        double across[3] = {0.0, 0.0, 0.0};
        for (unsigned p = args.rows[i]; p < args.rows[i + 1]; ++p) {
            const real4 shift = args.shifts[args.excluded[p].y];
            real4 pair = make_real4(0, 0, 0, 0);
            add_pair(own, shifted(args.sorted[args.excluded[p].x], shift), pair);
            excluded[0] += pair.y;
            excluded[1] += pair.z;
            excluded[2] += pair.w;
            across[0] += shift.x * pair.y;
            across[1] += shift.y * pair.z;
            across[2] += shift.z * pair.w;
        }
        const double field[3] = {near.y - excluded[0] + of_far[0], near.z - excluded[1] + of_far[1], near.w - excluded[2] + of_far[2]};
        const double *moments = args.moments, *dipole = moments + 1;
        // (2π/3V) scale³, as `finish` has it.
        const double factor = 2.0943951023931954923 * scale * scale * scale / geometry->volume;
        double trace = moments[4], turned = 0.0;
        for (int a = 0; a < 3; ++a) {
            trace += s[a] * (moments[0] * s[a] - 2.0 * dipole[a]);
            turned += s[a] * of_far[a];
        }
        const double each = q * per_scale * ((0.5 * far.x - turned) / 3.0 + 0.5 * factor * trace);
        for (int a = 0; a < 3; ++a) {
            const double e = per_scale * per_scale * (field[a] - 2.0 * factor * (moments[0] * s[a] - dipole[a]));
            v[a] = q * ((scale * s[a] - args.x[3LL * i + a]) * e + 0.5 * per_scale * across[a]) + each;
        }
    }
    leave(v, args.strength, args.sums);
}
