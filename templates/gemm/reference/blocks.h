// Operands of less than a byte, and the scales of blocks, as they lie in memory.

// How an operand's elements are coded where several stand in a byte, or some in three, the first in
// the lowest bits: a sign, and so many bits; none, if elements are a tensor's own.
struct code {
    int exponent, mantissa;
};

static struct code code_of(const struct problem *p, const struct tensor *t) {
    const int is_a = same(t->name, "a");
    const struct code none = {0, 0};
    if (t->type != U8) return none;
    const struct code code = {(int)number_of(p, is_a ? "a_exponent" : "b_exponent", 0),
                              (int)number_of(p, is_a ? "a_mantissa" : "b_mantissa", 0)};
    return code;
}

// What the [bits] of [code] say, which has neither infinities nor NaN. [unit]: the smallest.
static float coded(int bits, struct code code, float unit) {
    const int field = bits >> code.mantissa & ((1 << code.exponent) - 1);
    const int fraction = bits & ((1 << code.mantissa) - 1);
    const int size = field ? (fraction + (1 << code.mantissa)) << (field - 1) : fraction;
    const int negative = bits >> (code.exponent + code.mantissa) & 1;
    return (negative ? -(float)size : (float)size) * unit;
}

// The smallest of them.
static float unit_of_code(struct code code) {
    return (float)ldexp(1.0, 2 - (1 << (code.exponent - 1)) - code.mantissa);
}

// What each of them says, where that can be kept; else null.
static const float *values_of(struct code code) {
#ifdef __CUDACC__
    return 0;
#else
    static _Thread_local float kept[4][4][64];  // by the bits of exponent and mantissa
    float *values = kept[code.exponent & 3][code.mantissa & 3];
    if (values[1] > 0) return values;
    const float unit = unit_of_code(code);
    for (int i = 0; i < 64; ++i) values[i] = coded(i, code, unit);
    return values;
#endif
}

// The elements from [k] on, a multiple of 4, of the row of an operand that begins at [first], in
// [room] where they are not decoded yet.
static const float *elements_of_row(const struct tensor *t, int64_t first, struct code code,
                                    int64_t k, int count, float *room) {
    const int64_t step = t->strides[t->rank - 1];
    if (!code.exponent) return numbers_of(t, first + k * step, step, count, room);
    const int bits = 1 + code.exponent + code.mantissa;
    const float *values = values_of(code);
    const float unit = values ? 0 : unit_of_code(code);
    const unsigned char *from = t->data + first + k * bits / 8 * step;
    int word = 0, held = 0, i = 0;  // bits that are not taken yet
    for (; values && bits == 4 && i + 2 <= count; i += 2, from += step) {
        room[i] = values[*from & 15];
        room[i + 1] = values[*from >> 4];
    }
    for (; i < count; ++i, held -= bits, word >>= bits) {
        if (held < bits) word |= *from << held, held += 8, from += step;
        const int own = word & ((1 << bits) - 1);
        room[i] = values ? values[own] : coded(own, code, unit);
    }
    return room;
}

// The scale of block [block] of row [row] of [t], whose first is at [first], in atoms of 128 rows
// and four blocks: of 8 bits for E4M3, or a power of two; 1 where there are none.
static double scale_of_block(const struct tensor *t, int64_t first, int is_e4m3, int64_t row,
                             int64_t block) {
    if (!t) return 1;
    const int64_t *strides = t->strides + t->rank - 4;
    const int64_t place = first + row / 128 * strides[0] + block / 4 * strides[1] +
                          row % 32 * strides[2] + (row / 32 % 4 * 4 + block % 4) * strides[3];
    const uint64_t byte = t->data[place];
    if (is_e4m3) return decoded(E4M3, byte & 0x7f);
    return byte == 255 ? NAN : decoded(FP64, (byte + 1023 - 127) << 52);
}
