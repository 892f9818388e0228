// What the kernels of the motion share: places of numbers in buffers, vectors, and how a failure is told.
//
// A failure is ~(first atom · 2^33 + second atom · 2^3 + kind); the largest is kept, which is that of the lowest atom, whatever
// runs first. 0: none. Units everywhere: nm, ps, u, kJ/mol; f64.

#define THREADS 128

// Kinds of blocks of threads: {kind, first unit, number of units, first atom if the atoms of all units follow each other}.
enum { WATERS, STARS, GROUPS, FREE };
#define SCATTERED 0xffffffffu

// Sums of a block: 2K before and after the step, Σ g r² of constraints, Σ m v, 2K of groups as rigid bodies; largest squared
// displacement since the lists were made.
enum { BEFORE, AFTER, CONSTRAINT, MOMENTUM, TRANSLATION = MOMENTUM + 3, MOVED, QUANTITIES };

// State of the coupling: what the step now due does to v (v ← αv − drift) and to the lists' positions, then what is carried along.
enum { FACTOR, DRIFT, PENDING_WORK = DRIFT + 3, LIST_SCALE, MU, THERMOSTAT_WORK, BAROSTAT_WORK, PENDING_VOLUME, STATE };

// Settings.
enum {
    DT, MASS, COM_EVERY,
    THERMOSTAT_EVERY, KEEP, MIX,
    BAROSTAT_EVERY, PRESSURE, RT, RATE,
    TAIL, CUTOFF, REACH, SLACK, SETTINGS
};

// What a step tells.
enum { KINETIC_BEFORE, KINETIC_AFTER, CONSTRAINT_VIRIAL, POTENTIAL_VIRIAL, VOLUME, PRESSURE_NOW, LARGEST_MOVE, OBSERVED };

// Clock: step, first step of the table of random numbers, steps in it.
enum { STEP, TABLE_START, TABLE_STEPS };

// Status: failure, step of the failure + 1 (nothing moves any more), first step + 1 for which the lists do not serve.
enum { FAILURE, STOPPED, STALE };
enum { NOT_FINITE, SETTLE, SHAKE, THERMOSTAT, BAROSTAT, RANDOM };

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
DEVICE bool is_number(double v) { return fabs(v) <= 1.7976931348623157e308; }

DEVICE void fail(unsigned long long *status, int kind, unsigned first, unsigned second) {
    unsigned long long atoms = ((unsigned long long)first << 33) | ((unsigned long long)second << 3);
    atomicMax(status + FAILURE, ~(atoms | (unsigned long long)kind));
}
