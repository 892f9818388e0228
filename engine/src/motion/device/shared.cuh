// What the kernels of the motion share: which sums a step leaves, vectors, and how a failure is told.
//
// A failure is ~(first atom · 2^33 + second atom · 2^3 + kind); the largest is kept, which is that of the lowest atom, whatever
// runs first. 0: none. The structures that the host shares with these kernels (settings, state, clock, status, what a step tells) are
// those of shared.rs. Units everywhere: nm, ps, u, kJ/mol; f64.

// Kinds of blocks of threads: {kind, first unit, number of units, first atom if the atoms of all units follow each other}.
enum { WATERS, STARS, GROUPS, FREE };
#define SCATTERED 0xffffffffu

// Sums that a block leaves: 2K before and after the step, Σ g r² of constraints, Σ m v, 2K of groups as rigid bodies, and the largest
// squared displacement since the lists were made, as a part of what it may be; with LANGEVIN also twice the work of the bath.
enum { BEFORE, AFTER, CONSTRAINT, MOMENTUM, TRANSLATION = MOMENTUM + 3, MOVED, WORK, SUMS };
static_assert((LANGEVIN ? SUMS : WORK) == QUANTITIES, "the host makes room for as many sums");

// Sums of a thread: eight that are summed together, with a zero in the place of MOVED, which is a maximum, and the work of the bath.
struct Sums {
    double value[8];
    float moved;
    double work;
};

// Kinds of failures.
enum { NOT_FINITE, SETTLE, SHAKE, THERMOSTAT, BAROSTAT, RANDOM, VELOCITY };

struct Vec {
    double x, y, z;
};

DEVICE Vec vec(double x, double y, double z) { Vec v = {x, y, z}; return v; }
DEVICE Vec load(const double *p) { return vec(p[0], p[1], p[2]); }
DEVICE void store(double *p, Vec v) { p[0] = v.x; p[1] = v.y; p[2] = v.z; }
DEVICE Vec operator+(Vec a, Vec b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z); }
DEVICE Vec operator-(Vec a, Vec b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z); }
DEVICE Vec operator*(double s, Vec a) { return vec(s * a.x, s * a.y, s * a.z); }
DEVICE double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
DEVICE Vec cross(Vec a, Vec b) { return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
// Neither infinite nor not-a-number, by the bits of the exponent.
DEVICE bool is_number(double v) {
    const long long exponent = 0x7ff0000000000000LL;
    return (__double_as_longlong(v) & exponent) != exponent;
}

DEVICE void fail(MotionStatus *status, int kind, unsigned first, unsigned second) {
    unsigned long long atoms = ((unsigned long long)first << 33) | ((unsigned long long)second << 3);
    atomicMax(&status->failure, ~(atoms | (unsigned long long)kind));
}
