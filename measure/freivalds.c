// Block Freivalds: one random vector for each 256 columns, all sums in float64, on all cores.
// Short blocks keep the rounding of one row's elements from hiding one wrong element among them.
#include "measure/freivalds.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "measure/numbers.h"
#include "measure/parallel.h"
#include "measure/random.h"

enum { BLOCK = 256, ROWS = 4 };

typedef double lanes __attribute__((vector_size(32), aligned(8), may_alias));

struct check {
    const struct freivalds *product;
    uint64_t seed;
    int64_t m, n, k, blocks;
    int64_t k_lanes;       // k rounded up to whole vectors; the tail is zero
    double *projected;     // [blocks][k_lanes]: sum of x_j B_j
    double *bias;          // [blocks]: sum of x_j bias_j
    double *squares;       // [blocks]: sum of squares of B_j's elements
    double *rows;          // [threads][ROWS][k_lanes]: rows of A
    float *elements;       // [threads][max(n, k)]
    pthread_mutex_t lock;  // of
    struct ref_spans *spans;
};

static const void *row_of(const struct ref_tensor *tensor, int64_t row) {
    const size_t bytes = tmg_dtype_bytes(tensor->dtype);
    return (const char *)tensor->data + (size_t)(row * tensor->strides[0]) * bytes;
}

// The [count] elements of row [row] of a factor, which lie a row apart where it is stored by
// [columns].
static void decode_row(const struct ref_tensor *tensor, bool columns, int64_t row, float *elements,
                       int64_t count) {
    const size_t bytes = tmg_dtype_bytes(tensor->dtype);
    if (!columns) {
        num_decode(tensor->dtype, row_of(tensor, row), elements, (size_t)count);
        return;
    }
    for (int64_t k = 0; k < count; ++k) {
        num_decode(tensor->dtype, (const char *)row_of(tensor, k) + (size_t)row * bytes,
                   elements + k, 1);
    }
}

static double sign(const struct check *check, int64_t column) {
    return random_bits(check->seed, (uint64_t)column) >> 63 ? -1 : 1;
}

static int64_t block_end(const struct check *check, int64_t block) {
    const int64_t end = (block + 1) * BLOCK;
    return end < check->n ? end : check->n;
}

static float *scratch(const struct check *check, int thread) {
    return check->elements + thread * (check->n > check->k ? check->n : check->k);
}

static void project(void *context, int64_t begin, int64_t end, int thread) {
    struct check *check = context;
    const struct freivalds *product = check->product;
    float *b = scratch(check, thread);
    for (int64_t block = begin; block < end; ++block) {
        double *sum = check->projected + block * check->k_lanes;
        double squares = 0;
        for (int64_t j = block * BLOCK; j < block_end(check, block); ++j) {
            const double x = sign(check, j);
            decode_row(product->b, product->b_columns, j, b, check->k);
            for (int64_t k = 0; k < check->k; ++k) {
                sum[k] += x * b[k];
                squares += (double)b[k] * b[k];
            }
            if (product->bias) check->bias[block] += x * ref_read(product->bias, &j);
        }
        check->squares[block] = squares;
    }
}

// The products of [rows], ROWS of them, with [vector]; [length] is a multiple of four.
static void multiply(const double *rows, const double *vector, int64_t length, double *products) {
    lanes sums[ROWS] = {{0}};
    for (int64_t k = 0; k < length; k += 4) {
        const lanes v = *(const lanes *)(vector + k);
        for (int row = 0; row < ROWS; ++row) {
            sums[row] += *(const lanes *)(rows + row * length + k) * v;
        }
    }
    for (int row = 0; row < ROWS; ++row) {
        products[row] = (sums[row][0] + sums[row][1]) + (sums[row][2] + sums[row][3]);
    }
}

// The [count] rows of A from [first] on, in float64; returns the mean of their elements' squares.
static double load_rows(const struct check *check, int64_t first, int count, int thread) {
    const struct ref_tensor *a = check->product->a;
    double *rows = check->rows + thread * ROWS * check->k_lanes, squares = 0;
    float *elements = scratch(check, thread);
    for (int row = 0; row < count; ++row) {
        decode_row(a, check->product->a_columns, first + row, elements, check->k);
        for (int64_t k = 0; k < check->k; ++k) {
            rows[row * check->k_lanes + k] = elements[k];
            squares += (double)elements[k] * elements[k];
        }
    }
    return squares / (double)(count * check->k);
}

// Compares one piece of a row of D, decoded at [d], with the product that it should sum to.
static void compare(struct check *check, int64_t row, int64_t block, const float *d, double product,
                    double a_square) {
    const double rounding = num_rounding((enum tmg_dtype_id)check->product->d->dtype, 1);
    const int64_t first = block * BLOCK, last = block_end(check, block);
    double sum = 0, squares = 0;
    for (int64_t j = first; j < last; ++j) {
        sum += sign(check, j) * d[j];
        squares += (double)d[j] * d[j];
    }
    const double summing = check->product->accumulation;
    const double variance =
        0.18 * rounding * rounding * squares + summing * summing * a_square * check->squares[block];
    if (fabs(sum - product - check->bias[block]) <= 4 * sqrt(variance) + 1e-30) return;
    pthread_mutex_lock(&check->lock);
    ref_spans_add(check->spans, (struct ref_span){row * check->n + first, last - first});
    pthread_mutex_unlock(&check->lock);
}

static void check_rows(void *context, int64_t begin, int64_t end, int thread) {
    struct check *check = context;
    const struct ref_tensor *d = check->product->d;
    const double *rows = check->rows + thread * ROWS * check->k_lanes;
    for (int64_t group = begin; group < end; ++group) {
        const int64_t first = group * ROWS;
        const int count = (int)(check->m - first < ROWS ? check->m - first : ROWS);
        const double a_square = load_rows(check, first, count, thread);
        double *products = malloc((size_t)check->blocks * ROWS * sizeof *products);
        for (int64_t block = 0; products && block < check->blocks; ++block) {
            multiply(rows, check->projected + block * check->k_lanes, check->k_lanes,
                     products + block * ROWS);
        }
        for (int row = 0; row < count; ++row) {
            float *elements = scratch(check, thread);
            num_decode(d->dtype, row_of(d, first + row), elements, (size_t)check->n);
            for (int64_t block = 0; block < check->blocks; ++block) {
                compare(check, first + row, block, elements,
                        products ? products[block * ROWS + row] : NAN, a_square);
            }
        }
        free(products);
    }
}

int freivalds_check(const struct freivalds *product, uint64_t seed, struct ref_spans *spans) {
    struct check check = {.product = product, .seed = seed, .spans = spans};
    check.m = product->d->dims[0], check.n = product->d->dims[1];
    check.k = product->a->dims[!product->a_columns];
    check.blocks = (check.n + BLOCK - 1) / BLOCK;
    check.k_lanes = (check.k + 3) / 4 * 4;
    const size_t threads = PARALLEL_MAX, widest = (size_t)(check.n > check.k ? check.n : check.k);
    check.projected = calloc((size_t)(check.blocks * check.k_lanes), sizeof(double));
    check.bias = calloc((size_t)check.blocks, sizeof(double));
    check.squares = calloc((size_t)check.blocks, sizeof(double));
    check.rows = calloc(threads * ROWS * (size_t)check.k_lanes, sizeof(double));
    check.elements = calloc(threads * widest, sizeof(float));
    const int ready =
        check.projected && check.bias && check.squares && check.rows && check.elements;
    if (ready) {
        pthread_mutex_init(&check.lock, NULL);
        parallel_for(check.blocks, 1, project, &check);
        parallel_for((check.m + ROWS - 1) / ROWS, 8, check_rows, &check);
        pthread_mutex_destroy(&check.lock);
    }
    free(check.projected);
    free(check.bias);
    free(check.squares);
    free(check.rows);
    free(check.elements);
    return ready ? 0 : -1;
}
