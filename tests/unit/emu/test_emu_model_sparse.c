// mma.sp and wgmma.mma_async.sp against a plain triple loop over matrices with their zeros, packed
// here as the formulas and figures of PTX ISA 9.7.14.6.2 and 9.7.15.6.2 say.
#include "runtime/emu/model/mma.h"
#include "runtime/emu/model/sparse.h"
#include "runtime/emu/model/wgmma.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 64, K = 64, N = 16, SMEM = 64 * 1024 };

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static double a_mk[ROWS][K], b_kn[K][N], d_mn[ROWS][N];
static double kept[ROWS][K / 2];  // what A holds of a row, in order
static unsigned codes[ROWS][16];  // four bits of metadata for each of a row's chunks

static double random_value(enum tmg_number type) {
    return type == TMG_U8 ? random_below(256) : (double)random_below(9) - 4;
}

static uint32_t encode(enum tmg_number type, double value) {
    if (!tmg_number_is_float(type)) return (uint32_t)(int32_t)value & 0xff;
    return (uint32_t)tmg_number_from_double(type, value, TMG_ROUND_RN, true);
}

static int bits_of(enum tmg_number type) { return 8 * tmg_number_bytes(type); }

// Fills A and B; of each four elements of A, or two of tf32, half are kept.
static void make_matrices(enum tmg_number a, enum tmg_number b, int k) {
    static const unsigned pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
    int chunk = a == TMG_TF32 ? 2 : 4;
    memset(a_mk, 0, sizeof a_mk);
    for (int row = 0; row < ROWS; ++row) {
        for (int c = 0, at = 0; c < k / chunk; ++c) {
            unsigned code = a == TMG_TF32 ? (random_below(2) ? 0xe : 0x4) : pairs[random_below(6)];
            int first = (int)(code & 3), second = (int)(code >> 2);
            codes[row][c] = code;
            for (int i = 0; i < chunk / 2; ++i, ++at) {
                int column = a == TMG_TF32 ? 2 * c + first / 2 : 4 * c + (i ? second : first);
                kept[row][at] = a_mk[row][column] = random_value(a);
            }
        }
    }
    for (int i = 0; i < K * N; ++i) b_kn[i / N][i % N] = random_value(b);
    for (int i = 0; i < ROWS * N; ++i) d_mn[i / N][i % N] = (double)random_below(100) - 50;
}

static double expected(int row, int column, int k) {
    double sum = d_mn[row][column];
    for (int i = 0; i < k; ++i) sum += a_mk[row][i] * b_kn[i][column];
    return sum;
}

// "Tk: [m..n] in cell [x][y..z]": the bits of lane k that say where the elements of a chunk are.
// Lanes that the selector does not name hold anything.
static void make_metadata(enum tmg_number type, int k, int selector, int first_row,
                          uint32_t *metadata) {
    bool bytes = tmg_number_bytes(type) == 1;
    int lanes = k == (bytes ? 64 : 0) ? 4 : k == (type == TMG_TF32 ? 8 : 16) ? 1 : 2;
    for (int lane = 0; lane < 32; ++lane) {
        int g = lane / 4, at = lane % 4 - selector * lanes;
        metadata[lane] = random_below(UINT32_MAX);
        if (at < 0 || at >= lanes) continue;
        metadata[lane] = 0;
        for (int i = 0; i < 8; ++i) {
            int row = bytes ? g + 8 * (at % 2) : g + 8 * (i / 4);
            int chunk = bytes ? 8 * (at / 2) + i : 4 * at + i % 4;
            metadata[lane] |= codes[first_row + row][chunk] << 4 * i;
        }
    }
}

// ---- mma.sp

static const struct tmg_mma shapes[] = {
    {16, 8, 16, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 1, 0},
    {16, 8, 16, TMG_F16, TMG_F16, TMG_F16, TMG_F16, 0, 0, 1, 3},
    {16, 8, 16, TMG_BF16, TMG_BF16, TMG_F32, TMG_F32, 0, 0, 1, 2},
    {16, 8, 32, TMG_F16, TMG_F16, TMG_F16, TMG_F16, 0, 0, 1, 0},
    {16, 8, 32, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 1, 1},
    {16, 8, 32, TMG_BF16, TMG_BF16, TMG_F32, TMG_F32, 0, 0, 1, 1},
    {16, 8, 8, TMG_TF32, TMG_TF32, TMG_F32, TMG_F32, 0, 0, 1, 1},
    {16, 8, 16, TMG_TF32, TMG_TF32, TMG_F32, TMG_F32, 0, 0, 1, 0},
    {16, 8, 16, TMG_TF32, TMG_TF32, TMG_F32, TMG_F32, 0, 0, 1, 1},
    {16, 8, 32, TMG_S8, TMG_U8, TMG_S32, TMG_S32, 0, 0, 1, 0},
    {16, 8, 32, TMG_U8, TMG_S8, TMG_S32, TMG_S32, 1, 0, 1, 1},
    {16, 8, 64, TMG_S8, TMG_S8, TMG_S32, TMG_S32, 0, 0, 1, 0},
    {16, 8, 64, TMG_E4M3, TMG_E5M2, TMG_F32, TMG_F32, 0, 0, 1, 0},
};

struct registers {
    uint32_t a[4][32], b[4][32], c[4][32], metadata[32];
};

// A register of A holds what is kept of twice as many columns, from 2 each t on, those behind the
// second one from the row's middle on; one of B has [each] columns.
static void pack(const struct tmg_mma *op, struct registers *r) {
    int each = 32 / bits_of(op->a), bits = bits_of(op->a);
    memset(r, 0, sizeof *r);
    for (int lane = 0; lane < 32; ++lane) {
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < tmg_mma_registers(op).a * each; ++i) {
            int j = i / each, first = 2 * each * t + 8 * each * (j / 2);
            double value = kept[g + 8 * (j % 2)][first / 2 + i % each];
            r->a[j][lane] |= encode(op->a, value) << i % each * bits;
        }
        for (int i = 0; i < tmg_mma_registers(op).b * each; ++i) {
            double value = b_kn[each * t + i % each + 4 * each * (i / each)][g];
            r->b[i / each][lane] |= encode(op->b, value) << i % each * bits;
        }
        for (int i = 0; i < 4; ++i) {
            double value = d_mn[g + i / 2 * 8][2 * t + i % 2];
            if (op->c == TMG_S32) r->c[i][lane] = (uint32_t)(int32_t)value;
            if (op->c == TMG_F32) r->c[i][lane] = encode(TMG_F32, value);
            if (op->c == TMG_F16) r->c[i / 2][lane] |= encode(TMG_F16, value) << i % 2 * 16;
        }
    }
    make_metadata(op->a, op->k, op->selector, 0, r->metadata);
}

static double result(enum tmg_number type, const uint32_t (*c)[32], int i, int lane) {
    if (type == TMG_S32) return (int32_t)c[i][lane];
    if (type == TMG_F32) return tmg_number_to_double(type, c[i][lane]);
    return tmg_number_to_double(type, c[i / 2][lane] >> i % 2 * 16 & 0xffff);
}

static void run(const struct tmg_mma *op, struct registers *r) {
    struct tmg_mma_operands o = {.metadata = r->metadata};
    for (int i = 0; i < 4; ++i) {
        o.a[i] = r->a[i];
        o.b[i] = r->b[i];
        o.c[i] = o.d[i] = r->c[i];
    }
    tmg_mma_run(op, &o);
}

static void multiplies_every_shape(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        const struct tmg_mma *op = &shapes[s];
        struct registers r;
        if (tmg_mma_check(op)) fail_msg("shape %zu: %s", s, tmg_mma_check(op));
        make_matrices(op->a, op->b, op->k);
        pack(op, &r);
        run(op, &r);
        for (int i = 0; i < 128; ++i) {
            int lane = i / 4, row = lane / 4 + i % 4 / 2 * 8, column = lane % 4 * 2 + i % 2;
            double got = result(op->d, (const uint32_t(*)[32])r.c, i % 4, lane);
            double want = expected(row, column, op->k);
            if (got != want) fail_msg("shape %zu (%d, %d): %g, not %g", s, row, column, got, want);
        }
    }
}

// What meets a zero that A does not hold is not even looked at.
static void leaves_out_what_is_not_kept(void **state) {
    (void)state;
    struct registers r;
    make_matrices(TMG_F16, TMG_F16, 32);
    for (int row = 0; row < 16; ++row) codes[row][0] = 0x8;  // 0 and 2
    for (int column = 0; column < N; ++column) b_kn[1][column] = INFINITY, b_kn[3][column] = NAN;
    pack(&shapes[4], &r);
    run(&shapes[4], &r);
    for (int i = 0; i < 128; ++i)
        assert_true(isfinite(result(TMG_F32, (const uint32_t(*)[32])r.c, i % 4, i / 4)));
}

static void refuses_what_it_lacks(void **state) {
    (void)state;
    static const struct tmg_mma bad[] = {
        {16, 8, 8, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 1, 0},
        {16, 8, 16, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 1, 4},
        {16, 8, 32, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 1, 2},
        {16, 8, 64, TMG_S8, TMG_S8, TMG_S32, TMG_S32, 0, 0, 1, 1},
        {8, 8, 32, TMG_S8, TMG_S8, TMG_S32, TMG_S32, 0, 0, 1, 0},
        {16, 8, 32, TMG_E4M3, TMG_E4M3, TMG_F32, TMG_F32, 0, 0, 1, 0},
        {16, 8, 64, TMG_E4M3, TMG_E4M3, TMG_F16, TMG_F16, 0, 0, 1, 0},
        {16, 8, 64, TMG_S4, TMG_S4, TMG_S32, TMG_S32, 0, 0, 1, 0},
        {16, 8, 256, TMG_B1, TMG_B1, TMG_S32, TMG_S32, 0, 0, 1, 0},
        {16, 8, 8, TMG_F64, TMG_F64, TMG_F64, TMG_F64, 0, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        if (!tmg_mma_check(&bad[i])) fail_msg("row %zu is no instruction", i);
}

// ---- wgmma.mma_async.sp

static const struct {
    struct tmg_wgmma op;
    int k;
} asyncs[] = {
    {{.a = TMG_F16, .b = TMG_F16, .d = TMG_F32}, 32},
    {{.a = TMG_F16, .b = TMG_F16, .d = TMG_F32, .selector = 1, .transpose_b = true}, 32},
    {{.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32, .transpose_a = true, .transpose_b = true}, 32},
    {{.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32, .selector = 1, .a_in_registers = true}, 32},
    {{.a = TMG_TF32, .b = TMG_TF32, .d = TMG_F32, .selector = 1}, 16},
    {{.a = TMG_E5M2, .b = TMG_E4M3, .d = TMG_F32}, 64},
    {{.a = TMG_S8, .b = TMG_U8, .d = TMG_S32}, 64},
    {{.a = TMG_U8, .b = TMG_S8, .d = TMG_S32, .a_in_registers = true}, 64},
};

static uint8_t smem[SMEM];

static void place(uint64_t descriptor, bool mn_major, enum tmg_number type, int mn, int k,
                  double value) {
    struct tmg_matrix_descriptor d = tmg_matrix_descriptor_decode(descriptor);
    uint32_t bits = encode(type, value);
    memcpy(smem + tmg_matrix_address(&d, mn_major, bits_of(type), (uint32_t)mn, (uint32_t)k), &bits,
           (size_t)tmg_number_bytes(type));
}

static void run_async(const struct tmg_wgmma *op, int k) {
    static uint32_t a[4][4][32], d[4][N / 2][32], metadata[4][32];
    struct tmg_matrix_descriptor at = {.leading_offset = 8192, .stride_offset = 512};
    struct tmg_wgmma_operands o = {.smem = smem, .smem_bytes = sizeof smem};
    int each = 32 / bits_of(op->a);
    memset(a, 0, sizeof a);
    o.a_descriptor = tmg_matrix_descriptor_encode(&at);
    at.start = 32768;
    at.stride_offset = 128;
    at.leading_offset = 1024;
    o.b_descriptor = tmg_matrix_descriptor_encode(&at);
    for (int i = 0; i < ROWS * k / 2; ++i) {
        int row = i % ROWS, column = i / ROWS, j = row / 8 % 2 + column / (4 * each) * 2;
        double value = kept[row][column];
        if (!op->a_in_registers) place(o.a_descriptor, op->transpose_a, op->a, row, column, value);
        a[row / 16][j][row % 8 * 4 + column / each % 4] |= encode(op->a, value)
                                                           << column % each * bits_of(op->a);
    }
    for (int i = 0; i < N * k; ++i)
        place(o.b_descriptor, op->transpose_b, op->b, i % N, i / N, b_kn[i / N][i % N]);
    for (int i = 0; i < 4 * N / 2 * 32; ++i) {
        int warp = i / (16 * N), index = i / 32 % (N / 2), lane = i % 32;
        double value =
            d_mn[tmg_wgmma_d_row(warp, lane, index, false)][tmg_wgmma_d_column(lane, index, false)];
        d[warp][index][lane] = op->d == TMG_S32 ? (uint32_t)(int32_t)value : encode(TMG_F32, value);
        o.d[warp][index] = d[warp][index];
    }
    for (int warp = 0; warp < 4; ++warp) {
        make_metadata(op->a, k, op->selector, 16 * warp, metadata[warp]);
        o.metadata[warp] = metadata[warp];
        for (int i = 0; i < 4; ++i) o.a[warp][i] = a[warp][i];
    }
    assert_null(tmg_wgmma_run(op, &o, NULL));
    for (int i = 0; i < 4 * N / 2 * 32; ++i) {
        int warp = i / (16 * N), index = i / 32 % (N / 2), lane = i % 32;
        int row = tmg_wgmma_d_row(warp, lane, index, false);
        int column = tmg_wgmma_d_column(lane, index, false);
        uint32_t bits = d[warp][index][lane];
        double got = op->d == TMG_S32 ? (int32_t)bits : tmg_number_to_double(TMG_F32, bits);
        if (got != expected(row, column, k))
            fail_msg("(%d, %d): %g, not %g", row, column, got, expected(row, column, k));
    }
}

static void multiplies_asynchronously(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof asyncs / sizeof *asyncs; ++i) {
        struct tmg_wgmma op = asyncs[i].op;
        op.n = N;
        op.sparse = op.scale_d = true;
        if (tmg_wgmma_check(&op)) fail_msg("row %zu: %s", i, tmg_wgmma_check(&op));
        assert_int_equal(tmg_wgmma_k(&op), asyncs[i].k);
        make_matrices(op.a, op.b, asyncs[i].k);
        run_async(&op, asyncs[i].k);
    }
}

static void refuses_selectors_that_there_are_not(void **state) {
    (void)state;
    struct tmg_wgmma op = {.a = TMG_S8, .b = TMG_S8, .d = TMG_S32, .n = 8, .sparse = true};
    assert_null(tmg_wgmma_check(&op));
    op.selector = 1;
    assert_non_null(tmg_wgmma_check(&op));
    op = (struct tmg_wgmma){.a = TMG_F16, .b = TMG_F16, .d = TMG_F32, .n = 8, .sparse = true};
    op.selector = 2;
    assert_non_null(tmg_wgmma_check(&op));
    op = (struct tmg_wgmma){.a = TMG_B1, .b = TMG_B1, .d = TMG_S32, .n = 8, .sparse = true};
    assert_non_null(tmg_wgmma_check(&op));
}

// A footprint of B is twice as deep.
static void reads_all_of_b(void **state) {
    (void)state;
    struct tmg_matrix_descriptor at = {.leading_offset = 1024, .stride_offset = 128};
    struct tmg_wgmma op = {.a = TMG_F16, .b = TMG_F16, .d = TMG_F32, .n = 64, .sparse = true};
    struct tmg_footprint footprint = {{0}, 0, 0};
    tmg_wgmma_footprint_b(&op, tmg_matrix_descriptor_encode(&at), &footprint);
    for (int i = 0; i < 4; ++i) assert_true(footprint.granules[i] == UINT64_MAX);
    assert_true(footprint.granules[4] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplies_every_shape),
        cmocka_unit_test(leaves_out_what_is_not_kept),
        cmocka_unit_test(refuses_what_it_lacks),
        cmocka_unit_test(multiplies_asynchronously),
        cmocka_unit_test(refuses_selectors_that_there_are_not),
        cmocka_unit_test(reads_all_of_b),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
