// The reference of gemm: D[m,n] = A[m,k] B[n,k]^T, then the epilogue's ops, in float64. What an op
// computes, and what approximate instructions may cost it, stands in its row of epilogue/ops.lua.
// An element's place is its row and column, and before them, at [-1], its problem where there are
// several.
#define DRAWS
#include "reference.h"

#include "reference/arrays.h"
#include "reference/blocks.h"
#include "reference/draws.h"
#include "reference/groups.h"

// The most products that an element is a sum of.
static int64_t depth_of(const struct problem *p) {
    const struct tensor *table = tensor_of(p, "problems");
    int64_t most = table ? 0 : dim_of(p, "k");
    for (int64_t i = 0; table && i < table->dims[0]; ++i) {
        const int64_t k = matrices_of(table, i)->k;
        most = k > most ? k : most;
    }
    return most;
}

// What few bits cost: each wgmma of 8-bit floats cuts every one of its products, and the sum so
// far, towards zero, to 2^-bits of the largest of them (13 on Hopper: what an H200 gave stands in
// tests/emu/vectors/matrix.txt, bit by bit). A cut is half a unit on average and has its product's
// sign, so that k of them are a walk of sqrt(k) units, of which those at the size of the last sum
// count: up to .2 sqrt(k) 2^-bits of the [squares]' root as the deviation for k to 16384, more
// where the sum itself is larger than that root. Ten deviations for the worst element of millions;
// one k step of 128 that is missing from 8192 is on average twice that bound. Where sums are
// promoted to fp32, k is that of the products in between.
static double cutting(const struct problem *p, double bits, double sum, double squares) {
    const double promoted = number_of(p, "promoted", 0), k = (double)depth_of(p);
    const double root = sqrt(squares), size = root > 0 ? fabs(sum) / root : 0;
    const double walk = sqrt(promoted > 0 && promoted < k ? promoted : k);
    return 2 * ldexp(walk, -(int)bits) * root * (1 + size) * (1 + size / 4);
}

// What summing in the kernel costs: products of 16-bit inputs are exact in fp32, but each step of
// 16 along k truncates the running sum, whose deviation is at most that of the whole. A truncation
// is up to 2^-23 of the sum; alignment inside a step costs as much again. Hence 2^-21 a step as the
// deviation, and 2^-19 for the worst element of millions. Sums of integers are exact, and become
// the nearest float.
static double summing(const struct problem *p, const struct tensor *out, double sum,
                      double squares) {
    const double bits = number_of(p, "sum_bits", 0);
    if (!is_float(tensor_of(p, "a")->type) && !(number_of(p, "block", 0) > 0))
        return out->type == I32 || fabs(sum) <= 0x1p24 ? 0 : 0x1p-24 * fabs(sum);
    if (inputs_are(p, "exact")) return 0;
    if (bits > 0) return cutting(p, bits, sum, squares);
    return 0x1p-19 * ((double)depth_of(p) / 16 + 8) * sqrt(squares);
}

enum { PIECE = 128 };

// Where element [column] of a row lies: of each [block] of columns, if there are any, as threads
// have them.
static int64_t column_in_block(int64_t column, int64_t block) {
    if (!block) return column;
    return column / block * block + column / 2 % 4 * 16 + column / 8 % 8 * 2 + column % 2;
}

// What the operand of op [i] has for an element of D: one for all, one a row or a column, or its
// own.
static double element_of(const struct problem *p, int i, const struct tensor *operand,
                         const int64_t *index) {
    const char *kind = word_of(p, "ops.kind", i);
    const int64_t period = (int64_t)number_of(p, "ops.period", i);
    if (same(kind, "single")) return read(operand, 0);
    if (same(kind, "column"))
        return operand->rank > 1 ? at2(operand, index[-1], index[0]) : at(operand, &index[0]);
    if (same(kind, "row"))
        return operand->rank > 1 ? at2(operand, index[-1], index[1]) : at(operand, &index[1]);
    const int64_t box = (int64_t)number_of(p, "ops.wrapped", i);  // rows of one, which are whole
    const int64_t in_box = box ? index[0] % box : 0;
    const int64_t row = period ? (index[0] - in_box) % period + in_box : index[0];
    if (operand->rank == 4) {
        const int64_t place[] = {row / 32, index[1] / 32, row % 32, index[1] % 32};
        return at(operand, place);
    }
    const int64_t column = column_in_block(index[1], (int64_t)number_of(p, "ops.block", i));
    return operand->rank > 2 ? at3(operand, index[-1], row, column) : at2(operand, row, column);
}

#define PACKED(p, x) (number_of(p, "packed", 0) > 0 ? 0x1p-8 * fabs(x) + 0x1p-133 : 0)  // bf16

// Whether a result that is no number, or infinite, might round to another such: an infinity times
// what may be 0, or of either sign. Any is right then, which an [off] of -1 says.
static int is_open(const struct problem *p, int i, const struct passing *value, double y,
                   const struct passing *other) {
    const char *exact = word_of(p, "ops.value", i);
    if (!other) return !certain(exact, value->x, y, value->off, 0);
    const double error = evaluate(word_of(p, "ops.error", i), value->x, 1) + LEAST;
    const struct passing gate = moved(exact, value->x, 1, value->off, 0);
    if (isinf(y) && fabs(gate.x) <= gate.off + error) return 1;
    return !certain(exact, value->x, y, value->off, other->off) ||
           !certain(exact, value->x, y, value->off, -other->off);
}

// Op [i] on [value] of D's element [index]: what it was off by goes through the op, and fp32
// rounds, or bf16 where ops are packed. [other] is what it pairs with, if it pairs.
REFERENCE_ONCE void apply(const struct problem *p, int i, const int64_t *index,
                          const struct passing *other, struct passing *value) {
    if (value->off < 0) return;
    const char *exact = word_of(p, "ops.value", i);
    const struct tensor *operand = tensor_of(p, word_of(p, "ops.operand", i));
    const char *scalar = word_of(p, "ops.scalar", i);
    const double factor = *scalar ? number_of(p, scalar, 0) : 1;
    const double y = other ? other->x
                           : factor * (!operand      ? *scalar != 0
                                       : factor == 0 ? 0  // it is not read
                                                     : element_of(p, i, operand, index));
    const struct passing from = {value->x, value->off};
    *value = moved(exact, from.x, y, from.off, other ? other->off : 0);
    if (!isfinite(value->x)) {
        value->off = is_open(p, i, &from, y, other) ? -1 : 0;
        return;
    }
    const double error = evaluate(word_of(p, "ops.error", i), from.x, y);
    value->off += error + PACKED(p, value->x);
    if (from.off > 0 || error > 0 || *scalar)
        value->off += 0x1p-23 * (fabs(value->x) + fabs(y)) + LEAST;
}

enum { BLOCK = 32 };  // the longest

// Where row [row] of an operand begins, of the problem that an element's [index] is of.
static int64_t row_of_problem(const struct tensor *t, const int64_t *index, int64_t row) {
    const int problems = t->rank > 2;
    return (problems ? index[-1] * t->strides[0] : 0) + row * t->strides[problems];
}

// The product's element [index] where blocks of [length] elements along K have scales that the
// instruction applies, or elements of less than a byte. Of E2M1 by E2M1 it keeps 35 bits of each 16
// products' sum, below the largest scales of all its blocks, those that pad the last atom included:
// four sums, of scales whose significands are below 2 each, an instruction of 64.
REFERENCE_ONCE struct passing block_product(const struct problem *p, const struct tensor *out,
                                            const int64_t *index, int length) {
    const struct tensor *a = tensor_of(p, "a"), *b = tensor_of(p, "b"),
                        *a_scales = tensor_of(p, "a_scales"), *b_scales = tensor_of(p, "b_scales");
    const int is_e4m3 = number_of(p, "ue4m3", 0) > 0;
    const struct code a_code = code_of(p, a), b_code = code_of(p, b);
    const int64_t a_row = row_of_problem(a, index, index[0]),
                  b_row = row_of_problem(b, index, index[1]);
    const int64_t a_first = a_scales && a_scales->rank > 4 ? index[-1] * a_scales->strides[0] : 0,
                  b_first = b_scales && b_scales->rank > 4 ? index[-1] * b_scales->strides[0] : 0;
    const int64_t depth = dim_of(p, "k");
    const int64_t blocks = ((depth + length - 1) / length + 3) / 4 * 4;
    double sum = 0, squares = 0, largest = 0;
    float xs[BLOCK], ys[BLOCK];
    for (int64_t block = 0; block < blocks; ++block) {
        const double scale = scale_of_block(a_scales, a_first, is_e4m3, index[0], block) *
                             scale_of_block(b_scales, b_first, is_e4m3, index[1], block);
        const int64_t k = block * length, rest = depth - k;
        double own[2] = {0, 0};
        if (scale > largest) largest = scale;
        if (rest <= 0) continue;
        const int count = rest < length ? (int)rest : length;
        const float *x = elements_of_row(a, a_row, a_code, k, count, xs);
        const float *y = elements_of_row(b, b_row, b_code, k, count, ys);
        sum_products(x, y, count, &own[0], &own[1]);
        sum += scale * own[0];
        squares += scale * scale * own[1];
    }
    const int packed = a_code.mantissa == 1 && b_code.mantissa == 1;  // both are E2M1
    const double cut = packed ? 0x1p-31 * largest * (double)(depth / 64 + 1) : 0;
    const struct passing value = {sum, isinf(sum) ? 0 : summing(p, out, sum, squares) + cut};
    return value;
}

// The rows of A and B whose product an element is.
struct rows {
    const struct tensor *a, *b;
    int64_t a_row, b_row, a_step, b_step, length;
};

// The part of [rows] that is group [group]'s, where groups are parts of K.
static struct rows part_of(const struct problem *p, int64_t group, struct rows rows) {
    const struct tensor *ends = tensor_of(p, "ends");
    if (!along_k(p)) return rows;
    const int64_t begin = group > 0 ? int_at(ends, group - 1) : 0;
    rows.a_row += begin * rows.a_step;
    rows.b_row += begin * rows.b_step;
    rows.length = int_at(ends, group) - begin;
    return rows;
}

static struct rows rows_of(const struct problem *p, const int64_t *index) {
    const struct tensor *a = tensor_of(p, "a"), *b = tensor_of(p, "b");
    const struct tensor *table = tensor_of(p, "problems");
    if (table) {
        const struct matrices *of = matrices_of(table, index[-1]);
        const int64_t a_row = of->a / bytes_of(a->type) + index[0] * of->a_stride,
                      b_row = of->b / bytes_of(b->type) + index[1] * of->b_stride;
        const struct rows rows = {a, b, a_row, b_row, 1, 1, of->k};
        return rows;
    }
    const int a_columns = number_of(p, "a_columns", 0) > 0;  // stored as [k, m], [k, n]
    const int b_columns = number_of(p, "b_columns", 0) > 0;
    const int of_a = a->rank > 2, of_b = b->rank > 2;  // a problem's come behind that of problems
    const int64_t *a_strides = a->strides + of_a, *b_strides = b->strides + of_b;
    const int64_t a_problem = of_a ? index[-1] * a->strides[0] : 0;
    const int64_t b_problem = of_b ? index[-1] * b->strides[0] : 0;
    const struct rows rows = {a,
                              b,
                              a_problem + index[0] * a_strides[a_columns],
                              b_problem + index[1] * b_strides[b_columns],
                              a_strides[!a_columns],
                              b_strides[!b_columns],
                              a->dims[of_a + !a_columns]};
    return part_of(p, index[-1], rows);
}

// The scales of the blocks of 128 along K that an element's operands have; none, if [a] is null.
struct scaling {
    const struct tensor *a, *b;
    int64_t problem, a_line, b_line;  // of the blocks, in their tensors
    int a_columns, b_columns;         // the blocks of K are the tensor's rows
};

static struct scaling scaling_of(const struct problem *p, const int64_t *index) {
    struct scaling scaling = {tensor_of(p, "a_scales"), tensor_of(p, "b_scales"), 0, 0, 0, 0, 0};
    if (!scaling.a) return scaling;
    scaling.problem = index[-1];
    scaling.a_line = index[0] / (int64_t)number_of(p, "a_scale_rows", 0);
    scaling.b_line = index[1] / (int64_t)number_of(p, "b_scale_rows", 0);
    scaling.a_columns = number_of(p, "a_scale_columns", 0) > 0;
    scaling.b_columns = number_of(p, "b_scale_columns", 0) > 0;
    return scaling;
}

// One of them; bytes are exponents.
static double scale_of(const struct tensor *t, int64_t problem, int64_t line, int columns,
                       int64_t block) {
    const int64_t row = columns ? block : line, column = columns ? line : block;
    const double scale = t->rank > 2 ? at3(t, problem, row, column) : at2(t, row, column);
    if (t->type != U8) return scale;
    return scale == 255 ? NAN : ldexp(1.0, (int)scale - 127);
}

// A sum of products, the sum of their squares and, where blocks have scales, what the blocks' sums
// may be off by: the squares of that, and what rounding costs.
struct scaled_sums {
    double sum, squares, variance, rounding;
    int open;  // an infinity that may be of either sign, or NaN
};

// Adds the [sum] of the block of K numbered [block], times its scales, whose product is rounded.
static void add_block(const struct problem *p, const struct tensor *out,
                      const struct scaling *scaling, int64_t block, double sum, double squares,
                      struct scaled_sums *sums) {
    const double a =
        scale_of(scaling->a, scaling->problem, scaling->a_line, scaling->a_columns, block);
    const double b =
        scale_of(scaling->b, scaling->problem, scaling->b_line, scaling->b_columns, block);
    const double scale = rounded(FP32, a * b), off = summing(p, out, sum, squares);
    sums->sum += sum * scale;
    sums->open |= isinf(scale) && off > 0 && fabs(sum) <= off;
    sums->variance += off * scale * off * scale;
    sums->rounding += off > 0 ? 0x1p-23 * fabs(sums->sum) + LEAST : 0;
}

// The product's element [index], on its way to [out]. One function: stacks of GPUs are small.
REFERENCE_ONCE struct passing product(const struct problem *p, const struct tensor *out,
                                      const int64_t *index) {
    const int block = (int)number_of(p, "block", 0);
    if (block > 0) return block_product(p, out, index, block);
    const struct rows rows = rows_of(p, index);
    const struct scaling scaling = scaling_of(p, index);
    const int at_once =
        !scaling.a && rows.a->numbers && rows.a_step == 1 && rows.b->numbers && rows.b_step == 1;
    const int piece = at_once ? 1 << 20 : PIECE;
    float xs[PIECE], ys[PIECE];
    struct scaled_sums sums = {0, 0, 0, 0, 0};
    for (int64_t k = 0; k < rows.length; k += piece) {
        const int64_t rest = rows.length - k;
        const int count = rest < piece ? (int)rest : piece;
        const float *x = numbers_of(rows.a, rows.a_row + k * rows.a_step, rows.a_step, count, xs);
        const float *y = numbers_of(rows.b, rows.b_row + k * rows.b_step, rows.b_step, count, ys);
        double own[2] = {0, 0}, *sum = scaling.a ? &own[0] : &sums.sum,
               *squares = scaling.a ? &own[1] : &sums.squares;
        sum_products(x, y, count, sum, squares);
        if (scaling.a) add_block(p, out, &scaling, k / PIECE, *sum, *squares, &sums);
    }
    struct passing value = {sums.sum, 0};  // an infinity is one, and ops may bound it
    if (!scaling.a && !isinf(sums.sum)) value.off = summing(p, out, sums.sum, sums.squares);
    if (scaling.a && isfinite(sums.sum)) value.off = sqrt(sums.variance) + sums.rounding;
    if (sums.open && !isnan(sums.sum)) value.off = -1;
    return value;
}

// The element behind the ops before [end], of the product's columns.
static struct passing before(const struct problem *p, const struct tensor *out, int end,
                             const int64_t *index) {
    struct passing value = product(p, out, index);
    if (value.off >= 0 && isfinite(value.x)) value.off += PACKED(p, value.x);
    for (int i = 0; i < end; ++i) apply(p, i, index, 0, &value);
    return value;
}

// How many ops make what [out] has: all of them for D, else those up to the one that writes it.
static int ops_of(const struct problem *p, const struct tensor *out) {
    int count = 0;
    while (*word_of(p, "ops.name", count) && !same(word_of(p, "ops.writes", count), out->name)) {
        ++count;
    }
    return count;
}

// What the first [end] ops make at [index] of D or, before a gate, of the product.
static struct passing behind(const struct problem *p, const struct tensor *out, int end,
                             const int64_t *index) {
    const int gate = (int)number_of(p, "gate", 0);  // the op that makes one of two, from 1 on
    const int gated = gate > 0 && gate <= end;
    struct passing value = before(p, out, gated ? gate - 1 : 0, index);
    if (gated) {
        const int64_t second[3] = {index[-1], index[0], index[1] + dim_of(p, "n") / 2};
        const struct passing other = before(p, out, gate - 1, second + 1);
        apply(p, gate - 1, index, &other, &value);
    }
    for (int i = gated ? gate : 0; i < end; ++i) apply(p, i, index, 0, &value);
    return value;
}

// The largest magnitude of what the first [end] ops make in so many rows; NaN where one is that.
static struct passing largest(const struct problem *p, const struct tensor *out, int end,
                              int64_t first, int64_t rows) {
    const int gate = (int)number_of(p, "gate", 0);
    const int64_t columns = dim_of(p, "n") / (gate > 0 && gate <= end ? 2 : 1);
    struct passing most = {0, 0};
    int64_t place[3] = {0, 0, 0}, *index = place + 1;
    for (index[0] = first; index[0] < first + rows; ++index[0]) {
        for (index[1] = 0; index[1] < columns; ++index[1]) {
            const struct passing value = behind(p, out, end, index);
            if (value.off < 0) return value;
            if (isnan(value.x) || fabs(value.x) > most.x) most.x = fabs(value.x);
            if (value.off > most.off) most.off = value.off;
            if (isnan(most.x)) return most;
        }
    }
    return most;
}

// The sum of a row, or of a column, of what the first [end] ops make: fp32 rounds each addition, in
// any order.
static struct passing summed(const struct problem *p, const struct tensor *out, int end, int row,
                             int64_t place) {
    const int64_t count = dim_of(p, row ? "n" : "m");
    struct passing sum = {0, 0};
    double magnitudes = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t index[3] = {0, row ? place : i, row ? i : place};
        const struct passing value = behind(p, out, end, index + 1);
        if (value.off < 0) return value;
        sum.x += value.x;
        sum.off += value.off;
        magnitudes += fabs(value.x);
    }
    if (isfinite(sum.x)) sum.off += (double)count * 0x1p-24 * magnitudes;
    return sum;
}

// What stands in [out] at [index], of those that have less than D's two dims.
static struct passing reduced(const struct problem *p, const struct tensor *out, int end,
                              const int64_t *index) {
    const char *sums = word_of(p, "ops.sums", end);
    if (!*sums) return largest(p, out, end, 0, dim_of(p, "m"));
    if (same(sums, "row_most")) return largest(p, out, end, index[0], 1);
    return summed(p, out, end, same(sums, "row"), index[0]);
}

#include "reference/quantised.h"

static struct value element(const struct problem *p, const struct tensor *out,
                            const int64_t *index) {
    const int end = ops_of(p, out);
    if (number_of(p, "quantised", 0) > 0 && (same(out->name, "d") || same(out->name, "d_scales")))
        return quantised_element(p, out, index);
    int64_t place[3] = {0, 0, 0};
    const int64_t wrong = first_wrong(p);
    if (same(out->name, "status")) return within(out, (double)wrong, 0);
    for (int axis = 0; axis < out->rank; ++axis) place[3 - out->rank + axis] = index[axis];
    if (wrong || !is_used(p, place)) {
        const struct value left = {NAN, LEFT};
        return left;
    }
    const struct passing value =
        out->rank == 1 ? reduced(p, out, end, index) : behind(p, out, end, place + 1);
    struct value result = within(out, saturated(out, value.x), value.off);
    if (value.off < 0) result.value = 0, result.bound = -1;
    return result;
}

static void draw(const struct problem *p, const struct tensor *t, const int64_t *row) {
    if (same(t->name, "ends") || same(t->name, "counts"))
        draw_sizes(p, t);
    else if (same(t->name, "problems"))
        draw_problem(p, t, row[0]);
    else if (number_of(p, "block", 0) > 0)
        draw_blocks(p, t, row);
    else
        draw_scales(p, t, row);
}
