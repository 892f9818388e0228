// Where the leaf boxes lie: the same 33 numbers as in fmm/device/geometry.rs, and the grid, 18 integers.

// Lengths are the caller's. Rows of basis: edges of a box. u = inverse · (x − corner): coordinates in boxes. Rows of periods: image vectors,
// zero along open axes. scale: length that box-local coordinates are divided by. volume: that of the cell, 0 unless it repeats in 3 directions.
struct Geometry {
    double basis[9], inverse[9], periods[9], corner[3], scale, per_scale, volume;
};

// lattice: vectors of the cell in boxes, one in each row. reach: extent of the table of near offsets.
struct Grid {
    int shape[3], periodic[3], lattice[9], reach[3];
};

// Coordinates of box `leaf`, z fastest.
DEVICE void box_coordinates(const Grid *grid, int leaf, int c[3]) {
    int nz = grid->shape[2], ny = grid->shape[1], rest = leaf / nz;
    c[2] = leaf - rest * nz;
    c[0] = rest / ny;
    c[1] = rest - c[0] * ny;
}

// r − Σ image · period.
DEVICE void wrapped(const Geometry *geometry, const double *x, const int *image, double r[3]) {
    for (int a = 0; a < 3; ++a) {
        double moved = 0.0;
        for (int p = 0; p < 3; ++p) moved += image[p] * geometry->periods[3 * p + a];
        r[a] = x[a] - moved;
    }
}
