// All that a line of energies says of one moment, copied into a row of a list, the newest in the place of the oldest. One block.
//
// A row: energies by slot (kJ/mol, times 2^24), kinetic energy at t − ½dt and at t + ½dt, virial of the constraints (kJ/mol), the box
// (nm, `Cell::packed`), work of the thermostat and of the barostat, heat of λ (kJ/mol), the step, ξ, its velocities, ∂V/∂λ_α (kJ/mol); doubles.

KERNEL __launch_bounds__(THREADS) void note_moment(const __grid_constant__ MomentArgs a) {
    double *row = a.rows + *a.count % a.n_rows * (long long)a.width;
    for (int i = threadIdx.x; i < SLOTS; i += THREADS) row[i] = (double)a.energies[i];
    if (threadIdx.x == 0) {
        double *rest = row + SLOTS;
        rest[0] = a.looked->kinetic_before;
        rest[1] = a.looked->kinetic_after;
        rest[2] = a.looked->constraint_virial;
        for (int k = 0; k < 6; k++) rest[3 + k] = a.edges[k];
        rest[9] = a.coupling->thermostat_work;
        rest[10] = a.coupling->barostat_work;
        rest[11] = a.heat ? *a.heat : 0.0;
        rest[12] = (double)*a.step;
    }
    double *sites = row + SLOTS + OTHERS;
    for (int i = threadIdx.x; i < a.n_xi; i += THREADS) {
        sites[i] = a.xi[i];
        sites[a.n_xi + i] = a.velocity[i];
    }
    for (int i = threadIdx.x; i < a.n_weights; i += THREADS) sites[2 * a.n_xi + i] = a.derivatives[i];
    __syncthreads();
    if (threadIdx.x == 0) ++*a.count;
}
