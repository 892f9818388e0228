// Coordinates ξ of one site on a device: weights, derivatives, charge metric, constraints of its own (see ../coordinate.rs, ../motion/metric.rs,
// ../motion/constraints.rs).
//
//   dV/∂ξ_a = J_a (D_a − D̄),   D_α = ∂V/∂λ_α;   one ξ for two forms: J (D_1 − D_0);   D̄ = Σ λ_α D_α of normalised exponentials, else 0
//
// FIXED, LINEAR, LINEAR_WEIGHTS, CIRCLE, SPHERE, NEXP, NEXP_WEIGHTS: numbers of the coordinates, which the host defines (tables.rs).
// KINDS: bits of the coordinates that any site has; there is no code for others. The code of a kernel that one warp runs once in a step is loaded as it
// runs, and its length is time.
//
// All numbers of a site are in arrays of FORMS, the most forms of any site, which loops of that fixed length keep in registers; what is beyond
// the site's own is zero.

// Whether any coordinate is not linear in the weights.
#define CURVED ((KINDS & ~(1 << FIXED | 1 << LINEAR | 1 << LINEAR_WEIGHTS)) != 0)

// Whether a site of this kind is of that one, and any is.
DEVICE constexpr bool is(int kind, int that) { return (KINDS >> that & 1) != 0 && kind == that; }

// Each a below n ≤ FORMS, unrolled.
#define EACH(a, n) _Pragma("unroll") for (int a = 0; a < FORMS; a++) if (a < (n))

DEVICE bool has_one(int kind) { return is(kind, LINEAR) || is(kind, CIRCLE) || is(kind, NEXP); }

DEVICE void weights_at(int kind, const double *xi, int n, double *w) {
    if (is(kind, LINEAR)) {
        w[0] = 1.0 - xi[0], w[1] = xi[0];
    } else if (is(kind, CIRCLE)) {
        const double s = sin(xi[0]), c = cos(xi[0]);
        w[0] = c * c, w[1] = s * s;
    } else if (is(kind, NEXP)) {
        const double u = 2.0 * NEXP_STEEPNESS * sin(xi[0]);
        w[0] = 1.0 / (1.0 + exp(u)), w[1] = 1.0 / (1.0 + exp(-u));
    } else if (is(kind, NEXP_WEIGHTS)) {
        double sum = 0.0;
        EACH(a, n) sum += w[a] = exp(NEXP_STEEPNESS * sin(xi[a]));
        EACH(a, n) w[a] /= sum;
    } else {
        EACH(a, n) w[a] = is(kind, SPHERE) ? xi[a] * xi[a] : xi[a];
    }
}

// J, the factors of dV/dξ that follow from ξ alone.
DEVICE void jacobian(int kind, const double *xi, const double *w, int n, double *out) {
    if (has_one(kind)) {
        out[0] = is(kind, LINEAR) ? 1.0 : is(kind, CIRCLE) ? sin(2.0 * xi[0]) : 2.0 * NEXP_STEEPNESS * cos(xi[0]) * w[0] * w[1];
    } else if (is(kind, NEXP_WEIGHTS)) {
        EACH(a, n) out[a] = NEXP_STEEPNESS * cos(xi[a]) * w[a];
    } else {
        EACH(a, n) out[a] = is(kind, FIXED) ? 0.0 : is(kind, SPHERE) ? 2.0 * xi[a] : 1.0;
    }
}

// dV/dξ from J and D, constraints left out.
DEVICE void derivative(int kind, const double *j, const double *w, const double *d, int n, double *out) {
    if (has_one(kind)) {
        out[0] = is(kind, LINEAR) ? d[1] - d[0] : j[0] * (d[1] - d[0]);
        return;
    }
    double mean = 0.0;
    if (is(kind, NEXP_WEIGHTS)) EACH(a, n) mean += w[a] * d[a];
    EACH(a, n) out[a] = is(kind, FIXED) ? 0.0 : is(kind, LINEAR_WEIGHTS) ? d[a] : j[a] * (d[a] - mean);
}

// m Z of one site; its derivatives by ξ go to `out`.
DEVICE double charge_metric(int kind, const double *xi, const double *w, const double *q, int n, double *out) {
    const double c = NEXP_STEEPNESS, step = q[1] - q[0];
    double mean = 0.0, plain = 0.0, square = 0.0, shift = 0.0;
    EACH(a, n) mean += w[a] * q[a], plain += q[a] / n;
    if (is(kind, CIRCLE)) {
        const double s = sin(2.0 * xi[0]);
        out[0] = 4.0 * step * step * s * cos(2.0 * xi[0]);
        return step * step * s * s;
    }
    if (is(kind, NEXP)) {
        const double s = sin(xi[0]), k = cos(xi[0]), g = 2.0 * c * w[0] * w[1] * step;
        out[0] = 2.0 * g * g * k * (2.0 * c * k * k * (w[0] - w[1]) - s);
        return g * g * k * k;
    }
    if (is(kind, LINEAR)) {
        out[0] = 0.0;
        return step * step;
    }
    if (is(kind, NEXP_WEIGHTS)) {
        EACH(a, n) {
            const double k = c * cos(xi[a]), g = k * w[a] * (q[a] - mean);
            square += g * g, shift += g * k * w[a];
        }
        EACH(a, n) {
            const double k = c * cos(xi[a]), g = k * w[a] * (q[a] - mean), own = c * sin(xi[a]) * w[a] * (q[a] - mean);
            out[a] = 2.0 * (k * (g * g - w[a] * square) - g * (own + shift));
        }
        return square;
    }
    EACH(a, n) {
        out[a] = is(kind, SPHERE) ? 8.0 * xi[a] * q[a] * (q[a] - 2.0 * mean) : 0.0;
        square += is(kind, SPHERE) ? 4.0 * w[a] * q[a] * q[a] : is(kind, LINEAR_WEIGHTS) ? (q[a] - plain) * (q[a] - plain) : 0.0;
    }
    return is(kind, SPHERE) ? square - 4.0 * mean * mean : square;
}

// Takes off the part along the gradient of the site's own constraint; `per_n`: 1/n.
DEVICE void project_site(int kind, const double *xi, int n, double per_n, double *v) {
    double along = 0.0, square = 0.0;
    if (is(kind, LINEAR_WEIGHTS)) {
        EACH(a, n) along += v[a];
        EACH(a, n) v[a] -= along * per_n;
    } else if (is(kind, SPHERE)) {
        EACH(a, n) along += v[a] * xi[a], square += xi[a] * xi[a];
        along /= square;
        EACH(a, n) v[a] -= along * xi[a];
    }
}

// Brings the site back to its own constraint, along the gradient at `start`.
DEVICE void settle_site(int kind, const double *start, int n, double per_n, double *moved) {
    double square = 0.0, b = 0.0, c = 0.0, length = 0.0;
    if (is(kind, LINEAR_WEIGHTS)) {
        EACH(a, n) b += moved[a];
        EACH(a, n) moved[a] -= (b - 1.0) * per_n;
    } else if (is(kind, SPHERE)) {
        EACH(a, n) square += start[a] * start[a], b += moved[a] * start[a], c += moved[a] * moved[a];
        b /= square, c = (c - 1.0) / square;
        const double root = b * b - c, mu = root > 0.0 && b > 0.0 ? -c / (b + sqrt(root)) : 0.0;
        EACH(a, n) {
            moved[a] += mu * start[a];
            length += moved[a] * moved[a];
        }
        length = sqrt(length);
        EACH(a, n) moved[a] /= length;
    }
}
