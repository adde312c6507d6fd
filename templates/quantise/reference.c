// The reference of quantise. The kernel's arithmetic is two roundings to fp32, which are made here
// too, so that every element must be equal. A NaN stays NaN and has no part in its block's scale; a
// block with an infinity has the scale infinity, zeros for what was finite and NaN for infinities.
#define DRAWS
#include "reference.h"

enum { BLOCK = 128 };

// The largest magnitude of elements [first] to [first] + BLOCK - 1 of a row, at least 2^-100.
static double largest_of_block(const struct tensor *x, int64_t row, int64_t first) {
    double largest = 0x1p-100;
    for (int64_t i = first; i < first + BLOCK && i < x->dims[1]; ++i) {
        const double size = fabs(at2(x, row, i));
        if (size > largest) largest = size;
    }
    return largest;
}

static struct value element(const struct problem *p, const struct tensor *out,
                            const int64_t *index) {
    const struct tensor *x = tensor_of(p, "x");
    const int is_scale = same(out->name, "scales");
    const int64_t block = is_scale ? index[1] : index[1] / BLOCK;
    const double largest = largest_of_block(x, index[0], block * BLOCK);
    if (is_scale) return within(out, largest / 448, 0);
    const double inverse = (float)(448 / largest);
    return within(out, (float)(at(x, index) * inverse), 0);
}

// Blocks of all magnitudes: what was drawn, times a power of two that is the block's own; one block
// of sixteen is zero, and every fourth keeps its values.
static void draw(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const int64_t start = row_of(t, row), count = t->dims[1], reach = t->type == FP16 ? 8 : 60;
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t block = (uint64_t)((row[0] << 24) + i / BLOCK),
                       bits = bits_at(t, block + ((uint64_t)1 << 41));
        const int exponent = (int)((int64_t)(bits >> 8 & 0xffff) % (2 * reach + 1) - reach);
        put_drawn(p, t, start + i, row[0] * count + i, 0);
        if (bits % 16 == 1) put(t, start + i, 0);
        if (bits % 4 != 0) put(t, start + i, ldexp(read(t, start + i), exponent));
    }
}
