// Philox4x32-10 and normal numbers made of it, the twin of philox.rs of the CPU: the same integers, and so the same normal numbers to rounding.
//
// Box and Muller: √(−2 ln u) cos 2πw, √(−2 ln u) sin 2πw with u, w = (n + ½) 2⁻³². References: DOI 10.1145/2063384.2063405;
// DOI 10.1214/aoms/1177706645.

DEVICE uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const unsigned long long first = 0xd2511f53ull * counter.x, second = 0xcd9e8d57ull * counter.z;
        counter = make_uint4((unsigned)(second >> 32) ^ counter.y ^ key.x, (unsigned)second,
                             (unsigned)(first >> 32) ^ counter.w ^ key.y, (unsigned)first);
        key.x += 0x9e3779b9u, key.y += 0xbb67ae85u;
    }
    return counter;
}

// Within (0, 1).
DEVICE double between_zero_and_one(unsigned n) { return ((double)n + 0.5) * (1.0 / 4294967296.0); }

// Three normal numbers of a stream at a step for one item.
DEVICE void three_normals(unsigned long long seed, unsigned stream, unsigned long long step, unsigned index, double normals[3]) {
    const uint4 words = philox(make_uint4(index, stream, (unsigned)step, (unsigned)(step >> 32)),
                               make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
    const double near = sqrt(-2.0 * log(between_zero_and_one(words.x))), far = sqrt(-2.0 * log(between_zero_and_one(words.z)));
    double sine, cosine;
    sincospi(2.0 * between_zero_and_one(words.y), &sine, &cosine);
    normals[0] = near * cosine;
    normals[1] = near * sine;
    sincospi(2.0 * between_zero_and_one(words.w), &sine, &cosine);
    normals[2] = far * cosine;
}
