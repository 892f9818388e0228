// Energy of the effective charges from their potentials (k_e = 1, nm, e): V = ½ k_e Σ q_i φ_i, which is also its virial.
//
// One thread per atom; energies: slots of fixed-point sums, kJ/mol.

KERNEL void coulomb_energy(const double *q, const double *potential, long long *energies, int n) {
    __shared__ double scratch[32];
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const double energy = block_sum(i < n ? 0.5 * COULOMB * q[i] * potential[i] : 0.0, scratch);
    if (threadIdx.x == 0) {
        add_energy(energies + SLOT_COULOMB, energy);
        add_energy(energies + SLOT_VIRIAL, energy);
    }
}
