// One level of n × n × n boxes, z fastest, endless copies of it if `periodic`; rows of ROW ≥ K = (p+1)² coefficients, zero beyond K.
//
// A box receives from the children of its parent's 27 neighbours that do not touch it: 189 of the 316 offsets u (source − target) with
// 2 ≤ max |u_a| ≤ 3. `slots` holds the place of the operator of u at 49 (u_x + 3) + 7 (u_y + 3) + u_z + 3, −1 for near boxes.
// Operators: rows of sources j, ROW of them, and columns of targets t: locals_t = Σ_j multipoles_j M_jt.

#define NONE 0xffffffffu

struct Box {
    int x, y, z;
};

DEVICE Box box_at(int i, int n) { return {i / (n * n), i / n % n, i % n}; }

// Place of the box at c; −1 outside an open level.
DEVICE int place_of(int x, int y, int z, int n, int periodic) {
    if (periodic) return ((x + n) % n * n + (y + n) % n) * n + (z + n) % n;
    const bool inside = x >= 0 && y >= 0 && z >= 0 && x < n && y < n && z < n;
    return inside ? (x * n + y) * n + z : -1;
}

// Offset from the box at c to child `octant` of neighbour d (0–26) of its parent.
DEVICE Box offset_to(Box c, int d, int octant) {
    return {2 * (d / 9 - 1) + (octant >> 2 & 1) - (c.x & 1), 2 * (d / 3 % 3 - 1) + (octant >> 1 & 1) - (c.y & 1),
            2 * (d % 3 - 1) + (octant & 1) - (c.z & 1)};
}

DEVICE int slot_at(Box u) { return 49 * (u.x + 3) + 7 * (u.y + 3) + u.z + 3; }
