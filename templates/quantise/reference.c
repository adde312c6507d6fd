// The reference of quantise. The kernel's arithmetic is two roundings to fp32, which are made here
// too, so that every element must be equal. A NaN stays NaN and has no part in its block's scale; a
// block with an infinity has the scale infinity, zeros for what was finite and NaN for infinities.
#define DRAWS
#include "reference.h"

enum { BLOCK = 128 };

// What is quantised: x, or silu of it times what lies k further, by approximate instructions.
static struct value input(const struct problem *p, const struct tensor *x, int64_t row,
                          int64_t column) {
    const double value = at2(x, row, column);
    struct value input = {value, 0};
    if (number_of(p, "swiglu", 0) > 0) {
        const double factor = at2(x, row, column + x->dims[1] / 2);
        input.value = value / (1 + exp(-value)) * factor;
        input.bound = isfinite(input.value) ? 0x1p-19 * fabs(value * factor) + LEAST : 0;
    }
    return input;
}

// What shares a scale: [rows] from [row] on, [columns] from [column] on.
struct part {
    int64_t row, column, rows, columns;
};

// The rows that share one: of a spec that says nothing 1, all of them where it says less.
static int64_t rows_of_scale(const struct problem *p) {
    const int64_t rows = (int64_t)number_of(p, "rows", 0);
    return rows > 0 ? rows : rows == 0 ? 1 : dim_of(p, "m");
}

static struct part part_of(const struct problem *p, int64_t row, int64_t column) {
    const int64_t m = dim_of(p, "m"), k = dim_of(p, "k"), rows = rows_of_scale(p),
                  columns = number_of(p, "columns", 0) < 0 ? k : BLOCK;
    struct part part = {row / rows * rows, column / columns * columns, rows, columns};
    if (part.row + part.rows > m) part.rows = m - part.row;
    if (part.column + part.columns > k) part.columns = k - part.column;
    return part;
}

#ifndef __CUDACC__
// The last large part: those of neighbours are the same.
static _Thread_local struct {
    uint64_t of;  // a problem's number
    struct part part;
    struct value largest;
} last;

static int is_last(const struct problem *p, const struct part *part) {
    return last.of == p->number && last.part.row == part->row && last.part.column == part->column &&
           last.part.rows == part->rows && last.part.columns == part->columns;
}
#endif

// The largest magnitude of a part, at least 2^-100, and how far off it may be.
REFERENCE_ONCE struct value largest_of_part(const struct problem *p, const struct tensor *x,
                                            const struct part *part) {
    struct value largest = {0x1p-100, 0};
#ifndef __CUDACC__
    const int is_large = part->rows * part->columns > 4096;
    if (is_large && is_last(p, part)) return last.largest;
#endif
    for (int64_t i = 0; i < part->rows; ++i)
        for (int64_t j = 0; j < part->columns; ++j) {
            const struct value each = input(p, x, part->row + i, part->column + j);
            const double size = fabs(each.value);
            if (size > largest.value) largest.value = size;
            if (each.bound > largest.bound) largest.bound = each.bound;
        }
    if (isinf(largest.value)) largest.bound = 0;
#ifndef __CUDACC__
    if (is_large) last.of = p->number, last.part = *part, last.largest = largest;
#endif
    return largest;
}

// The part that a scale is of.
static struct part part_of_scale(const struct problem *p, const struct tensor *out,
                                 const int64_t *index) {
    const int64_t rows = rows_of_scale(p);
    if (out->rank < 2) return part_of(p, index[0] * rows, 0);
    const int column = number_of(p, "column", 0) > 0;
    return part_of(p, index[column] * rows, index[!column] * BLOCK);
}

static struct value element(const struct problem *p, const struct tensor *out,
                            const int64_t *index) {
    const struct tensor *x = tensor_of(p, "x");
    const int is_scale = same(out->name, "scales");
    const struct part part =
        is_scale ? part_of_scale(p, out, index) : part_of(p, index[0], index[1]);
    const struct value largest = largest_of_part(p, x, &part);
    if (is_scale) return within(out, largest.value / 448, largest.bound / 448);
    const struct value each = input(p, x, index[0], index[1]);
    const double inverse = (float)(448 / largest.value);
    const double off =
        each.bound * inverse + fabs(each.value * inverse) * (largest.bound / largest.value);
    if (!isfinite(each.value)) return within(out, each.value * inverse, 0);
    return within(out, (float)(each.value * inverse), off);
}

// Blocks of all magnitudes: what was drawn, times a power of two that is the block's own; one block
// of sixteen is zero, and every fourth keeps its values. What goes through exp stays below 64.
static void draw(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const int64_t start = row_of(t, row), count = t->dims[1], reach = t->type == FP16 ? 8 : 60;
    const int64_t gates = number_of(p, "swiglu", 0) > 0 ? count / 2 : 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t block = (uint64_t)((row[0] << 24) + i / BLOCK),
                       bits = bits_at(t, block + ((uint64_t)1 << 41));
        const int exponent = (int)((int64_t)(bits >> 8 & 0xffff) % (2 * reach + 1) - reach);
        put_drawn(p, t, start + i, row[0] * count + i, 0);
        if (bits % 16 == 1) put(t, start + i, 0);
        if (bits % 4 != 0)
            put(t, start + i, ldexp(read(t, start + i), i < gates && exponent > 3 ? 3 : exponent));
    }
}
