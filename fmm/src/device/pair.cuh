// One pair of the near field: φ += q/r, E += q d/r³, d = target − source, in units of the box.
//
// Nothing at distance zero: the particle itself, and excluded particles at the same place. Near field and excluded pairs use the same
// operations on the same numbers, so that in f32 an excluded pair leaves its rounding only.

// Squared distance below which 1/r³ could overflow: two particles that near are one point.
static constexpr real SAME_POINT = sizeof(real) == 8 ? 1e-200 : 1e-24f;

DEVICE double inverse_root(double x) { return rsqrt_r(x); }

DEVICE float inverse_root(float x) {
#ifdef EMULATOR
    return rsqrt_r(x);
#else
    // One instruction, relative error 2^-22.9.
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

DEVICE void add_pair(real4 target, real4 source, real4 &sum) {
    real dx = target.x - source.x, dy = target.y - source.y, dz = target.z - source.z;
    real r2 = fma(dz, dz, fma(dy, dy, dx * dx));
    real inverse = r2 > SAME_POINT ? inverse_root(r2) : (real)0;
    real phi = source.w * inverse, slope = phi * (inverse * inverse);
    sum.x += phi;
    sum.y = fma(slope, dx, sum.y);
    sum.z = fma(slope, dy, sum.z);
    sum.w = fma(slope, dz, sum.w);
}

// The source as seen from the target's box.
DEVICE real4 shifted(real4 source, real4 shift) {
    source.x += shift.x;
    source.y += shift.y;
    source.z += shift.z;
    return source;
}
