// Bonded terms, 1-4 pairs and position restraints: one thread per term, all kinds in one launch, f64 throughout.
//
// Each kind begins at a block of its own (`first_block` of the layout), so that a block holds one kind and its energy is one block sum.
// Term t of kind k has atom m at indices[atoms[k] + m count[k] + t] and number m at parameters[…] likewise. Functions
// (units nm, rad, kJ/mol; geometry in geometry.cuh):
//   bond ½ k (r − r₀)²; angle ½ k (θ − θ₀)²; Urey–Bradley: both; periodic dihedral k (1 + cos(n φ − φ₀));
//   harmonic improper ½ k (ξ − ξ₀)², difference in (−π, π]; Ryckaert–Bellemans Σ c_n cosⁿ(φ − π);
//   correction map: bicubic on [V, V_u, V_v, V_uv] per grid point; 1-4 pair c12/r¹² − c6/r⁶ + s k_e q_i q_j/r, which also
//   adds its potential s k_e q_j/r (kJ/mol/e) to `potential`; restraint ½ Σ k_d (x_d − x⁰_d)² to the nearest image, whose k_d change in the course
//   of a run and are not among the parameters.
// Molecules are whole. Virial Σ r·F: distances only (angles and dihedrals do not change under scaling).
// MIXED: terms of the forms of titratable sites. A term is weighted by the weight of one form, or by the product of those of two forms of two
// sites, whose numbers stand before its atoms (the second −1 if there is none): V = λ_a λ_b V_t, and ∂V/∂λ_a = λ_b V_t is added to `by_weight`.
// 1-4 pairs then have no Coulomb part, which the ordinary terms keep.
// BOND, ANGLE, UREY_BRADLEY, PROPER, IMPROPER, HARMONIC_IMPROPER, RYCKAERT_BELLEMANS, CMAP, PAIR_14, RESTRAINT: numbers of the kinds, and KINDS how many
// there are; the host defines them (bonded.rs).
// Needs forces.cuh, geometry.cuh.

struct Result {
    double energy, virial;
};

// What every term reads and writes.
struct System {
    const double *x;
    const double *q;
    long long *forces;
    long long *potential;
    unsigned *status;
    // Of the present term.
    double weight;
};

DEVICE Vec position(const System &s, int atom) {
    const double *r = s.x + 3ll * atom;
    return {r[0], r[1], r[2]};
}

DEVICE void push(const System &s, int atom, Vec f) {
#if MIXED
    f = f * s.weight;
#endif
    long long *p = s.forces + 3ll * atom;
    bool within = add_force(p, f.x);
    within = add_force(p + 1, f.y) && within;
    within = add_force(p + 2, f.z) && within;
    if (!within) atomicMax(s.status, 1u);
}

DEVICE Result harmonic_distance(const System &s, int i, int j, double r0, double k) {
    Vec d = position(s, i) - position(s, j);
    double r2 = dot(d, d), per_r = r2 != 0.0 ? rsqrt(r2) : 0.0, r = r2 * per_r, stretch = r - r0;
    // Also true for NaN, which is told.
    if (r != 0.0) {
        Vec f = d * (-k * stretch * per_r);
        push(s, i, f);
        push(s, j, -f);
    }
    return {0.5 * k * stretch * stretch, -k * stretch * r};
}

DEVICE Result harmonic_angle(const System &s, int i, int j, int k, double theta0, double constant) {
    Vec at = position(s, j), a = position(s, i) - at, b = position(s, k) - at, n = cross(a, b);
    double sine2 = dot(n, n), per_sine = sine2 != 0.0 ? rsqrt(sine2) : 0.0, sine = sine2 * per_sine;
    double bend = atan2(sine, dot(a, b)) - theta0;
    if (sine != 0.0) {
        Vec torque = n * (-constant * bend * per_sine);
        double a2 = dot(a, a), b2 = dot(b, b), per_both = 1.0 / (a2 * b2);
        Vec force_i = cross(a, torque) * (b2 * per_both), force_k = cross(torque, b) * (a2 * per_both);
        push(s, i, force_i);
        push(s, k, force_k);
        push(s, j, -(force_i + force_k));
    }
    return {0.5 * constant * bend * bend, 0.0};
}

DEVICE Dihedral dihedral_of(const System &s, int i, int j, int k, int l) {
    return dihedral(position(s, i), position(s, j), position(s, k), position(s, l));
}

// Forces −slope ∂φ/∂r.
DEVICE void twist(const System &s, const Dihedral &d, double slope, int i, int j, int k, int l) {
    push(s, i, d.i * -slope);
    push(s, j, d.j * -slope);
    push(s, k, d.k * -slope);
    push(s, l, d.l * -slope);
}

DEVICE Result pair_14(const System &s, int i, int j, double c6, double c12, double scale) {
    Vec d = position(s, i) - position(s, j);
    double per_r = rsqrt(dot(d, d)), u = per_r * per_r, p = u * u * u, attraction = c6 * p, repulsion = c12 * p * p;
    double virial = 12.0 * repulsion - 6.0 * attraction;
#if MIXED
    Vec f = d * (virial * u);
    push(s, i, f);
    push(s, j, -f);
#else
    double coulomb = scale * COULOMB * per_r, phi_i = coulomb * s.q[j], phi_j = coulomb * s.q[i];
    double energy = phi_i * s.q[i];
    Vec f = d * ((virial + energy) * u);
    push(s, i, f);
    push(s, j, -f);
    bool within = add_force(s.potential + i, phi_i);
    within = add_force(s.potential + j, phi_j) && within;
    if (!within) atomicMax(s.status, 1u);
#endif
    return {repulsion - attraction, virial};
}

DEVICE double pair_14_coulomb(const System &s, int i, int j, double scale) {
    if (MIXED) return 0.0;
    Vec d = position(s, i) - position(s, j);
    return scale * COULOMB * s.q[i] * s.q[j] * rsqrt(dot(d, d));
}

#if TRICLINIC
// The nearest image of d, by the search of `PeriodicBox::minimum_image`: all layers and rows that can hold a nearer one than is found so far.
DEVICE Vec nearest_image(Vec d, const double *edges) {
    const double ax = edges[0], by = edges[1], cz = edges[2], bx = edges[3], cx = edges[4], cy = edges[5];
    double turns = round(d.z / cz);
    d = d - Vec{cx, cy, cz} * turns;
    turns = round(d.y / by);
    d = d - Vec{bx, by, 0.0} * turns;
    d.x -= ax * round(d.x / ax);
    Vec best = d;
    double least = dot(d, d);
    // Also false for NaN.
    const double layers = least < 1e12 ? floor(sqrt(least) / cz + 0.5) : 0.0;
    for (double k = -layers; k <= layers; k += 1.0) {
        const Vec layer = d + Vec{cx, cy, cz} * k;
        const double left = least - layer.z * layer.z;
        if (!(left > 0.0)) continue;
        const double middle = round(layer.y / by), rows = floor(sqrt(left) / by + 0.5);
        for (double j = -rows; j <= rows; j += 1.0) {
            Vec image = layer + Vec{bx, by, 0.0} * (j - middle);
            image.x -= ax * round(image.x / ax);
            const double squared = dot(image, image);
            if (squared < least) {
                best = image;
                least = squared;
            }
        }
    }
    return best;
}
#endif

// Tells also what x_a F_a misses of the virial along each axis a: `missed`.
DEVICE Result restraint(const System &s, int atom, const double *k, int stride, const double *reference,
                                   const double *edges, Vec &missed) {
    const Vec at = position(s, atom);
    Vec d = at - Vec{reference[0], reference[1], reference[2]};
#if TRICLINIC
    d = nearest_image(d, edges);
#elif PERIODIC
    d.x -= edges[0] * round(d.x / edges[0]);
    d.y -= edges[1] * round(d.y / edges[1]);
    d.z -= edges[2] * round(d.z / edges[2]);
#endif
    Vec f = {-k[0] * d.x, -k[stride] * d.y, -k[2 * stride] * d.z};
    push(s, atom, f);
    missed = {(d.x - at.x) * f.x, (d.y - at.y) * f.y, (d.z - at.z) * f.z};
    double energy = -0.5 * dot(d, f);
    return {energy, -2.0 * energy};
}

template <bool ENERGY>
DEVICE void evaluate(System s, const BondedArgs &args) {
    const int *indices = args.indices;
    const double *parameters = args.parameters, *surfaces = args.surfaces, *references = args.references, *edges = args.edges;
    long long *energies = args.energies;
    const TermLayout &layout = args.layout;
    int kind = 0, block = blockIdx.x;
    while (kind < KINDS - 1 && block >= layout.first_block[kind + 1]) ++kind;
    int t = (block - layout.first_block[kind]) * (int)blockDim.x + (int)threadIdx.x, n = layout.count[kind];
    Result v = {0.0, 0.0};
    double coulomb = 0.0;
    Vec missed = {0.0, 0.0, 0.0};
    if (t < n) {
        const int *a = indices + layout.atoms[kind] + t;
        const double *p = parameters + layout.parameters[kind] + t;
#if MIXED
        const int first = a[0], second = a[n];
        const double one = args.weights[first], other = second < 0 ? 1.0 : args.weights[second];
        s.weight = one * other;
        a += 2 * n;
#endif
        int i = a[0];
        if (kind == BOND) {
            v = harmonic_distance(s, i, a[n], p[0], p[n]);
        } else if (kind == ANGLE || kind == UREY_BRADLEY) {
            v = harmonic_angle(s, i, a[n], a[2 * n], p[0], p[n]);
            if (kind == UREY_BRADLEY) {
                Result ends = harmonic_distance(s, i, a[2 * n], p[2 * n], p[3 * n]);
                v.energy += ends.energy;
                v.virial += ends.virial;
            }
        } else if (kind == PAIR_14) {
            v = pair_14(s, i, a[n], p[0], p[n], p[2 * n]);
            if (ENERGY) coulomb = pair_14_coulomb(s, i, a[n], p[2 * n]);
        } else if (kind == RESTRAINT) {
            v = restraint(s, i, args.stiffness + t, n, references + 3 * t, edges, missed);
        } else {
            int j = a[n], k = a[2 * n], l = a[3 * n];
            Dihedral d = dihedral_of(s, i, j, k, l);
            double slope = 0.0;
            if (kind == CMAP) {
                int m = a[4 * n];
                Dihedral e = dihedral_of(s, j, k, l, m);
                Surface w = surface(surfaces + a[5 * n], a[6 * n], d.phi, e.phi);
                v.energy = w.energy;
                slope = w.by_phi;
                twist(s, e, w.by_psi, j, k, l, m);
            } else if (kind == RYCKAERT_BELLEMANS) {
                double sine = -sin(d.phi), cosine = -cos(d.phi);
                for (int m = 5; m >= 0; --m) {
                    slope = slope * cosine + v.energy;
                    v.energy = v.energy * cosine + p[m * n];
                }
                slope *= -sine;
            } else if (kind == HARMONIC_IMPROPER) {
                double off = d.phi - p[0];
                off -= 2.0 * PI * round(off / (2.0 * PI));
                slope = p[n] * off;
                v.energy = 0.5 * slope * off;
            } else {
                double multiplicity = p[2 * n], angle = multiplicity * d.phi - p[0];
                slope = -p[n] * multiplicity * sin(angle);
                v.energy = p[n] * (1.0 + cos(angle));
            }
            twist(s, d, slope, i, j, k, l);
        }
#if MIXED
        bool within = add_force(args.by_weight + first, other * v.energy);
        if (second >= 0) within = add_force(args.by_weight + second, one * v.energy) && within;
        if (!within) atomicMax(s.status, 1u);
        v.energy *= s.weight;
        v.virial *= s.weight;
#endif
    }
    if (ENERGY) {
        __shared__ double scratch[32];
        double energy = block_sum(v.energy, scratch);
        double virial = block_sum(v.virial + coulomb, scratch);
        coulomb = block_sum(coulomb, scratch);
        if (threadIdx.x == 0) {
            add_energy(energies + layout.slot[kind], energy);
            add_energy(energies + SLOT_VIRIAL, virial);
            if (kind == PAIR_14) add_energy(energies + SLOT_COULOMB_14, coulomb);
        }
        if (kind == RESTRAINT) {
            const double of_block[3] = {block_sum(missed.x, scratch), block_sum(missed.y, scratch), block_sum(missed.z, scratch)};
            for (int axis = 0; axis < 3; ++axis) {
                if (threadIdx.x == 0) add_energy(energies + SLOT_IMAGES + axis, of_block[axis]);
            }
        }
    }
}

DEVICE System system_of(const BondedArgs &a) { return {a.x, a.q, a.forces, a.potential, a.status, 1.0}; }

KERNEL void bonded(const __grid_constant__ BondedArgs a) { evaluate<false>(system_of(a), a); }

KERNEL void bonded_energy(const __grid_constant__ BondedArgs a) { evaluate<true>(system_of(a), a); }
