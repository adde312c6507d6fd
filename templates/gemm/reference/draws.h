// What is no simple number: operands of less than a byte, and the scales of blocks.

// A scale: of 2^-3 to 2^4, with "exact" 1; with "special" some are NaN, tiny or 0. What pads atoms
// is a number: it is multiplied by zeros.
static int drawn_scale(const struct problem *p, uint64_t bits, int pads) {
    const int e4m3 = number_of(p, "ue4m3", 0) > 0, one = e4m3 ? 0x38 : 127;
    if (inputs_are(p, "exact")) return one;
    if (inputs_are(p, "special") && bits % 8 == 0) {
        if (bits >> 8 & 63 || pads) return e4m3 ? (int)(bits >> 16 & 7) : 100;
        return e4m3 ? 0x7f : 255;
    }
    return one - (e4m3 ? 24 : 3) + (int)((bits >> 16) % (e4m3 ? 56 : 8));
}

// Operands of less than a byte, all codes alike; scales, in rows of 16 of an atom.
static void draw_blocks(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const int64_t start = row_of(t, row), count = t->dims[t->rank - 1], from = start * 2;
    const int scales = t->rank >= 4;
    const int64_t *atom = row + (t->rank > 4);  // behind the problem
    const int64_t extent = dim_of(p, t->name[0] == 'a' ? "m" : "n"), depth = dim_of(p, "k");
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t bits = bits_at(t, (uint64_t)(from + i));
        int pads = 0;
        if (scales) {
            const int64_t block = atom[1] * 4 + i % 4, line = atom[0] * 128 + i / 4 * 32 + atom[2];
            pads = line >= extent || block * (int64_t)number_of(p, "block", 0) >= depth;
        }
        put_bits(t, start + i, scales ? (uint64_t)drawn_scale(p, bits, pads) : bits >> 20 & 255);
    }
}

// Scales as quantising gives them, of all magnitudes between 2^-3 and 2^4. Of "special" ones some
// are 0, infinite, NaN or subnormal; with "exact" they are powers of two, so that sums are exact.
static void draw_scales(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const int64_t start = row_of(t, row), count = t->dims[t->rank - 1];
    const int64_t number = t->rank > 2 ? row[0] * t->dims[1] + row[1] : row[0];
    const double odd_ones[] = {0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-140, 0x1p-60, 0x1p60};
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t bits = bits_at(t, (uint64_t)(number * count + i));
        const int exponent = (int)(bits >> 8 & 0xffff) % 7 - 3, odd = (bits >> 32) % 24 == 0;
        double scale = ldexp(1 + share_of(bits), exponent);
        if (inputs_are(p, "exact")) scale = ldexp(1.0, exponent / 2);
        if (inputs_are(p, "special") && odd) scale = odd_ones[bits >> 40 & 7];
        if (t->type == U8) {
            const int byte = odd ? (bits >> 40 & 1 ? 0 : 255) : 127 + exponent;
            put(t, start + i, inputs_are(p, "special") ? byte : 127 + (int)ilogb(scale));
        } else {
            put(t, start + i, scale);
        }
    }
}
