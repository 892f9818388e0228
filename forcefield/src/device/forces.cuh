// Sums of forces that several kernels add to: fixed-point, and a word of what was beyond their range.
//
// A force component is a 64-bit integer in units of 2^-32 kJ/mol/nm: sums up to 2^31 fit. Whoever adds more than 1e8 kJ/mol/nm
// at once (overlapping atoms), or what is not a number, says so: forces are wrong then and the run has failed.

#define LARGEST_FORCE (100000000LL << 32)

// Whether the value is a number within the range.
template <class T> DEVICE bool add_force(long long *p, T v) {
    const long long fixed = force_to_fixed(v);
    add_whole(p, fixed);
    return fixed < LARGEST_FORCE && fixed > -LARGEST_FORCE;
}
