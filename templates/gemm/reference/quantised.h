// D of blocks that have a scale each, computed of their own elements behind all ops.

enum { MOST_OF_BLOCK = 32 };

// A block of a row of D behind all ops: its elements, how far off they may be, and the bits of its
// scale, at [least] and perhaps.
struct quantised {
    double x[MOST_OF_BLOCK], off;
    int least, bits;
    uint64_t of;  // and where it is: of that problem
    int64_t row, first;
};

#ifndef __CUDACC__
static _Thread_local struct quantised last;
#endif

static void quantise(const struct problem *p, const struct tensor *out, int64_t row, int64_t first,
                     struct quantised *block) {
    const int length = (int)number_of(p, "quantised", 0), end = ops_of(p, out);
    const double largest = number_of(p, "largest", 0);
    double most = 0;
    int is_nan = 0;  // for certain
#ifndef __CUDACC__
    *block = last;
    if (last.of == p->number && last.row == row && last.first == first) return;
#endif
    block->of = p->number, block->row = row, block->first = first;
    block->off = 0;
    for (int i = 0; i < length; ++i) {
        const int64_t place[3] = {0, row, first + i};
        const struct passing value = behind(p, out, end, place + 1);
        block->x[i] = value.x;
        if (value.off < 0) block->off = INFINITY;
        is_nan |= isnan(value.x) && !(value.off < 0);
        if (value.off > block->off) block->off = value.off;
        if (isnan(value.x) || fabs(value.x) > most) most = isnan(most) ? most : fabs(value.x);
    }
    const double below = is_nan ? NAN : most > block->off ? most - block->off : 0;
    block->least = scale_bits_of(length == 16, below, largest);
    block->bits = scale_bits_of(length == 16, most + block->off, largest);
#ifndef __CUDACC__
    last = *block;
#endif
}

// Scales, in atoms, padded by 0; elements, of E2M1 two in a byte, whose scale is a certain number.
static struct value quantised_element(const struct problem *p, const struct tensor *out,
                                      const int64_t *index) {
    const int64_t length = (int64_t)number_of(p, "quantised", 0), m = dim_of(p, "m");
    const int scales = same(out->name, "d_scales"), both = out->type == U8 ? 2 : 1;
    const int64_t n = dim_of(p, "n") / (number_of(p, "gate", 0) > 0 ? 2 : 1);
    const int64_t row = scales ? index[0] * 128 + index[3] / 4 * 32 + index[2] : index[0];
    const int64_t first =
        scales ? (index[1] * 4 + index[3] % 4) * length : index[1] * both / length * length;
    struct value result = {0, 0};
    struct quantised block;
    if (row >= m || first >= n) return result;
    quantise(p, out, row, first, &block);
    result.value = (block.least + block.bits) / 2.0, result.bound = block.bits - result.value;
    if (scales) return result;
    const double inverse = inverse_of_scale(length == 16, block.bits);
    result.bound = -1;
    if (block.least != block.bits || isnan(inverse) || isinf(block.off) ||
        block.bits == (length == 16 ? 0x7f : 255))
        return result;
    const double *x = block.x + index[1] * both % length;
    const double off = block.off > 0 ? (block.off + 0x1p-23 * fabs(x[0])) * inverse : 0;
    if (both == 1) return within(out, saturated(out, x[0] * inverse), off);
    // The least and the most. A code is a sign and a size: those of a range across 0 are from 0 on,
    // up to the one of its low end.
    int codes[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
        const double near = (float)(x[i] * inverse);
        const double reach = off > 0 && !isinf(near) ? off + 0x1p-23 * fabs(near) : 0;
        const int low = e2m1_of(near - reach), high = e2m1_of(near + reach);
        codes[0] += (low > 7 && high < 8 ? 0 : low < high ? low : high) << 4 * i;
        codes[1] += (low < high ? high : low) << 4 * i;
    }
    result.value = (codes[0] + codes[1]) / 2.0, result.bound = codes[1] - result.value;
    return result;
}
