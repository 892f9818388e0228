// Sums of forces that several kernels add to: fixed-point, and a word of what was beyond their range.
//
// A force component is a 64-bit integer in units of 2^-32 kJ/mol/nm: sums up to 2^31 fit. Whoever adds more than 1e8 kJ/mol/nm
// at once (overlapping atoms), or what is not a number, says so: forces are wrong then and the run has failed.

const double LARGEST_FORCE = 1e8;

// Whether the value is a number within the range.
DEVICE bool add_force(long long *p, double v) {
    add_fixed(p, v);
    return fabs(v) < LARGEST_FORCE;
}
