// Recurrences of the normalised real regular solid harmonics (see harmonics.rs):
//
//   R_mm = f_m (x + iy) R_{m-1,m-1},   R_{l+1,m} = a_lm z R_lm - b_lm r^2 R_{l-1,m},
//   f_m = sqrt((2m-1)/2m) (1 for m = 1),   a_lm = (2l+1)/n,   b_lm = sqrt(l^2-m^2)/n,   n = sqrt((l+1)^2-m^2).

#if ORDER <= 12
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("unroll 1")
#endif

DEVICE constexpr double square_root(double x) {
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60; i++) r = 0.5 * (r + x / r);
    return r;
}

struct Recurrences {
    real sectoral[ORDER + 1];
    // (a, -b) at l^2 + m.
    real a[(ORDER + 1) * (ORDER + 1)], b[(ORDER + 1) * (ORDER + 1)];
    DEVICE constexpr Recurrences() : sectoral(), a(), b() {
        for (int m = 0; m <= ORDER; m++) sectoral[m] = real(m < 2 ? 1.0 : square_root((2.0 * m - 1) / (2.0 * m)));
        for (int l = 0; l <= ORDER; l++)
            for (int m = 0; m <= l; m++) {
                const double norm = square_root(double((l + 1) * (l + 1) - m * m));
                a[l * l + m] = real((2 * l + 1) / norm);
                b[l * l + m] = real(l > m ? -square_root(double(l * l - m * m)) / norm : 0.0);
            }
    }
};

__constant__ constexpr Recurrences RECURRENCES = Recurrences();

// Two numbers side by side: a thread that runs through two particles reads coefficients once for both.
struct Two {
    real a, b;
};
DEVICE Two operator*(Two u, Two v) { return {u.a * v.a, u.b * v.b}; }
DEVICE Two operator*(Two u, real v) { return {u.a * v, u.b * v}; }
DEVICE Two operator+(Two u, Two v) { return {u.a + v.a, u.b + v.b}; }
DEVICE Two operator-(Two u, Two v) { return {u.a - v.a, u.b - v.b}; }

// Hands all harmonics at (x, y, z), times `start`, to take(l, value), in the order of the channels; enter(m) comes before those of ±m.
template <class V, class Enter, class Take>
DEVICE void harmonics(V x, V y, V z, V start, Enter enter, Take take) {
    const V r2 = x * x + y * y + z * z;
    V c = start, s = start - start;
    UNROLLED for (int m = 0; m <= ORDER; m++) {
        enter(m);
        if (m > 0) {
            const real f = RECURRENCES.sectoral[m];
            const V fx = x * f, fy = y * f, cosine = c;
            c = fx * cosine - fy * s;
            s = fx * s + fy * cosine;
        }
        V c0 = c, s0 = s, c1 = c, s1 = s;
        UNROLLED for (int l = m; l <= ORDER; l++) {
            take(l, c1);
            if (m > 0) take(l, s1);
            if (l < ORDER) {
                // The first step has no b.
                const V u = z * RECURRENCES.a[l * l + m];
                V c2 = u * c1, s2 = u * s1;
                if (l > m) {
                    const V v = r2 * RECURRENCES.b[l * l + m];
                    c2 = c2 + v * c0;
                    s2 = s2 + v * s0;
                }
                c0 = c1;
                c1 = c2;
                s0 = s1;
                s1 = s2;
            }
        }
    }
}
