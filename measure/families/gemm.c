// The reference of the gemm family: D[m,n] = A[m,k] B[n,k]^T, plus bias[n] where the manifest says
// so. Plain sums in float64; the whole result is checked by Freivalds' method.
#include <math.h>
#include <string.h>

#include "runtime/error.h"
#include "measure/freivalds.h"
#include "measure/numbers.h"
#include "measure/reference.h"

// What summing in the kernel costs: products of 16-bit inputs are exact in fp32, but each step of
// 16 along k truncates the running sum, whose deviation is at most that of the whole. A truncation
// is up to 2^-23 of the sum; alignment inside a step costs as much again. Hence 2^-21 a step as the
// deviation, and 2^-19 for the worst element of millions.
static double steps(const struct ref_problem *problem) {
    return (double)ref_dim(problem, "k", 1) / 16 + 8;
}
static const double step_deviation = 0x1p-21, step_tolerance = 0x1p-19;

static int accepts(const struct tmg_manifest *manifest) {
    static const char *const needed[] = {"a", "b", "d"};
    for (size_t i = 0; i < 3; ++i) {
        const int found = tmg_manifest_tensor(manifest, needed[i]);
        if (found < 0 || manifest->tensors[found].rank != 2) {
            return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: reference gemm needs a matrix \"%s\"",
                            manifest->name, needed[i]);
        }
    }
    size_t i;
    json_t *op;
    json_array_foreach(json_object_get(manifest->reference, "ops"), i, op) {
        const char *name = json_string_value(op);
        if (!name || strcmp(name, "bias")) {
            return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: reference gemm knows no op \"%s\"",
                            manifest->name, name ? name : "?");
        }
    }
    return TMAGEN_OK;
}

// Around the tile's edges in each dim, several waves of an H200, long and short k; n and k are
// rounded up to the multiples that the manifest wants.
static void shapes(const struct tmg_manifest *manifest, bool small, struct ref_shapes *list) {
    const int64_t m = ref_tile(manifest, "m", 128), n = ref_tile(manifest, "n", 128);
    const int64_t emulated[][3] = {
        {1, 1, 1}, {m + 8, n + 8, 72}, {2 * m, n, 264}, {m - 1, 2 * n - 1, 130}};
    const int64_t full[][3] = {
        {1, 1, 1},                           // the smallest that the manifest allows
        {m, n, 64},                          // one tile, one step
        {m - 1, n - 1, 63},                  // just less
        {m + 8, n + 8, 72},                  // just more
        {3 * m + 17, 5 * n - 8, 1000},       // odd numbers of tiles: half-empty clusters
        {m * 150 + 1, n, 136},               // a column of tiles, more than one wave
        {3, n * 150 + 8, 264},               // a row of tiles of which three rows exist
        {m * 21 + m / 2, n * 19 + 24, 520},  // about three waves and a ragged rest
        {2 * m, 2 * n, 8192},                // long k
        {2048, 2048, 2048},                  // round
    };
    const size_t count = small ? sizeof emulated / sizeof *emulated : sizeof full / sizeof *full;
    for (size_t i = 0; i < count; ++i) {
        ref_shapes_add(list, manifest, "m n k", small ? emulated[i] : full[i]);
    }
}

static const void *row_of(const struct ref_tensor *tensor, int64_t row, int64_t column) {
    const size_t bytes = num_types[tensor->dtype].bytes;
    return (const char *)tensor->data + (size_t)(row * tensor->strides[0] + column) * bytes;
}

static struct ref_value element(const struct ref_problem *problem, const struct ref_tensor *d,
                                const int64_t *index) {
    enum { PIECE = 512 };
    const struct ref_tensor *a = ref_tensor_find(problem, "a"), *b = ref_tensor_find(problem, "b");
    const struct ref_tensor *bias = ref_tensor_find(problem, "bias");
    double sum = bias ? ref_read(bias, &index[1]) : 0, squares = sum * sum;
    for (int64_t first = 0; first < a->dims[1]; first += PIECE) {
        const int64_t rest = a->dims[1] - first, count = rest < PIECE ? rest : PIECE;
        float a_piece[PIECE], b_piece[PIECE];
        num_decode(a->dtype, row_of(a, index[0], first), a_piece, (size_t)count);
        num_decode(b->dtype, row_of(b, index[1], first), b_piece, (size_t)count);
        for (int64_t i = 0; i < count; ++i) {
            const double product = (double)a_piece[i] * b_piece[i];
            sum += product;
            squares += product * product;
        }
    }
    const double summing = step_tolerance * steps(problem) * sqrt(squares);
    return (struct ref_value){sum, 1.01 * num_rounding(d->dtype, fabs(sum) + summing) + summing};
}

static double element_cost(const struct ref_problem *problem) {
    return 2.0 * (double)ref_dim(problem, "k", 1);
}

static int suspects(const struct ref_problem *problem, const struct ref_tensor *d, uint64_t seed,
                    struct ref_spans *spans) {
    const struct freivalds product = {
        .a = ref_tensor_find(problem, "a"),
        .b = ref_tensor_find(problem, "b"),
        .d = d,
        .bias = ref_tensor_find(problem, "bias"),
        .accumulation = step_deviation * steps(problem),
    };
    return freivalds_check(&product, seed, spans);
}

static double flops(const struct ref_problem *problem) {
    return 2.0 * (double)ref_dim(problem, "m", 1) * (double)ref_dim(problem, "n", 1) *
           (double)ref_dim(problem, "k", 1);
}

const struct reference reference_gemm = {
    .name = "gemm",
    .doc = "D[m,n] = A[m,k] B[n,k]^T + bias[n], accumulated in fp32",
    .dims = "m n k",
    .typical = "4096x4096x4096",
    .peer = "cublaslt",
    .accepts = accepts,
    .shapes = shapes,
    .element = element,
    .element_cost = element_cost,
    .suspects = suspects,
    .flops = flops,
    .matrix = true,
};
