// Where the leaf boxes lie. The structures BoxGeometry and LeafGrid are those of boxes.rs.

// Coordinates of box `leaf`, z fastest.
DEVICE void box_coordinates(const LeafGrid *grid, int leaf, int c[3]) {
    int nz = grid->shape[2], ny = grid->shape[1], rest = leaf / nz;
    c[2] = leaf - rest * nz;
    c[0] = rest / ny;
    c[1] = rest - c[0] * ny;
}

// r − Σ image · period.
DEVICE void wrapped(const BoxGeometry *geometry, const double *x, const int *image, double r[3]) {
    for (int a = 0; a < 3; ++a) {
        double moved = 0.0;
        for (int p = 0; p < 3; ++p) moved += image[p] * geometry->periods[p][a];
        r[a] = x[a] - moved;
    }
}
