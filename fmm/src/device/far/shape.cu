// Operators of boxes whose shape has changed a little, and what the energy does when it changes further.
//
// The shape is that of a reference whose axes a = x, y are longer by e^(2ε_a/3) and whose other axes are shorter by e^(−ε_a/3). The coefficients of
// every operator are T(ε) = T + Σ ε_a T_a + ½ Σ ε_a ε_b T_ab, and ∂T/∂ε_a likewise: `tables` holds T, T_x, T_y, T_xx, T_xy, T_yy one after the other.
// `out` are the coefficients that the step uses.
KERNEL __launch_bounds__(THREADS) void far_shape(const __grid_constant__ ShapeArgs a) {
    const int i = blockIdx.x * THREADS + threadIdx.x, n = a.n;
    if (i >= n) return;
    const real x = (real)a.along_x, y = (real)a.along_y, *t = a.tables + i;
    const real by_x = t[n], by_y = t[2 * n], xx = t[3 * n], xy = t[4 * n], yy = t[5 * n];
    const real slope_x = x * xx + y * xy, slope_y = x * xy + y * yy;
    a.out[i] = t[0] + (x * (by_x + slope_x / 2) + y * (by_y + slope_y / 2));
    a.slope_x[i] = by_x + slope_x;
    a.slope_y[i] = by_y + slope_y;
}

// −½ M† T' M over the wave vectors, M in `multipoles` and T' M in `locals`: [κz][κx][κy][channel], of which those with 0 < κz < n/2 stand for their
// opposites, too. Along `axis` and with the other sign along z, because the three stretches together change no shape.
KERNEL __launch_bounds__(THREADS) void far_slope(const __grid_constant__ SlopeArgs a) {
    __shared__ double scratch[32];
    const int plane = NX * NY * KS, n = (NZ / 2 + 1) * plane;
    double sum = 0.0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const int kz = i / plane;
        const real2 m = a.multipoles[i], l = a.locals[i];
        sum += (kz == 0 || 2 * kz == NZ ? 1.0 : 2.0) * (double)(m.x * l.x + m.y * l.y);
    }
    sum = block_sum(sum, scratch);
    if (threadIdx.x != 0) return;
    const double part = -0.5 * a.strength * a.geometry->per_scale * sum;
    add_energy(a.sums + a.axis, part);
    add_energy(a.sums + 2, -part);
}
