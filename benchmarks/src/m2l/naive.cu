// M2L with one thread for each target coefficient: it walks over the neighbours of the parent, their children, and the source coefficients.
//
//   L_t = Σ_u Σ_j M(u)_jt ω_j(box + u)
//
// The plain loops of B. Kohnke et al., Int. J. High Perform. Comput. Appl. 35, 97 (2021), doi:10.1177/1094342020964857, approach 1, with
// operators as matrices: every operand is read from memory each time that it is used. Layout: level.cuh.

KERNEL void naive(const __grid_constant__ WalkArgs a) {
    const real *multipoles = a.multipoles, *operators = a.operators;
    real *locals = a.locals;
    const int *slots = a.slots, n = a.n, periodic = a.periodic;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, box = i / K, t = i % K;
    if (box >= n * n * n) return;
    const Box c = box_at(box, n);
    real sum = 0;
    for (int d = 0; d < 27; d++) {
        for (int octant = 0; octant < 8; octant++) {
            const Box u = offset_to(c, d, octant);
            const int slot = slots[slot_at(u)], source = place_of(c.x + u.x, c.y + u.y, c.z + u.z, n, periodic);
            if (slot < 0 || source < 0) continue;
            const real *column = operators + (size_t)slot * ROW * ROW + t, *row = multipoles + (size_t)source * ROW;
            for (int j = 0; j < K; j++) sum += row[j] * column[j * ROW];
        }
    }
    locals[(size_t)box * ROW + t] = sum;
}
