// Energy of the effective charges from their potentials (k_e = 1, nm, e): V = ½ k_e Σ q_i φ_i, which is also its virial.
//
// There is one thread for each atom. `energies` are slots of fixed-point sums, kJ/mol.

KERNEL void coulomb_energy(const __grid_constant__ CoulombArgs a) {
    __shared__ double scratch[32];
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const double energy = block_sum(i < a.n ? 0.5 * COULOMB * a.q[i] * a.potential[i] : 0.0, scratch);
    if (threadIdx.x == 0) {
        add_energy(a.energies + SLOT_COULOMB, energy);
        add_energy(a.energies + SLOT_VIRIAL, energy);
    }
}
