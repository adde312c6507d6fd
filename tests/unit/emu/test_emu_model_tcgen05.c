// tcgen05.mma against a plain sum in doubles: operands are placed by CuTe's layouts, evaluated
// symbolically here, and are such that no sum is rounded.
#include "tests/unit/emu/tcgen05_cute.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { M_MAX = 256, N_MAX = 256, K_MAX = 128, S_MAX = 6, SMEM = 1 << 17 };

static uint64_t random_state;

static uint32_t below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

// ---- a problem ----

struct test_case {
    const char *name;
    enum tmg_tcgen05_kind kind;
    enum tmg_number a, b, d;
    int m, n, k;
    bool pair, ws, sparse, a_in_tmem, transpose_a, transpose_b, negate_a, saturate;
    enum tmg_scale_blocks blocks;
    enum tmg_number scale;
    int scales, a_id, b_id;
    int input_shift, base_lane, a_bits;
    enum tmg_swizzle swizzle;
};

static struct placed_problem {
    double a[M_MAX][K_MAX], b[N_MAX][K_MAX], d[M_MAX][N_MAX];
    double scale_a[M_MAX][S_MAX], scale_b[N_MAX][S_MAX];
    int chosen[M_MAX][K_MAX];  // of sparse rows: which k the kept elements are
    uint8_t smem[2][SMEM];
    uint32_t tmem[2][128 * 512];
} p;

static const struct type_code {
    enum tmg_number type;
    uint32_t code, code_d;
} codes[] = {
    {TMG_F16, 0, 0},  {TMG_BF16, 1, 0}, {TMG_TF32, 2, 0}, {TMG_E4M3, 0, 0},
    {TMG_E5M2, 1, 0}, {TMG_E2M3, 3, 0}, {TMG_E3M2, 4, 0}, {TMG_E2M1, 5, 0},
    {TMG_U8, 0, 0},   {TMG_S8, 1, 0},   {TMG_F32, 0, 1},  {TMG_S32, 0, 2},
};

static const struct type_code *code_of(enum tmg_number type) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i)
        if (codes[i].type == type) return &codes[i];
    abort();
}

static bool is_fp4_kind(const struct test_case *c) {
    return c->kind == TMG_KIND_MXF4 || c->kind == TMG_KIND_MXF4NVF4;
}

static uint32_t instruction_descriptor(const struct test_case *c) {
    uint32_t a = is_fp4_kind(c) ? 1 : code_of(c->a)->code;
    uint32_t b = is_fp4_kind(c) ? 1 : code_of(c->b)->code;
    uint32_t bits = (uint32_t)c->sparse << 2 | a << 7 | b << 10 | (uint32_t)c->negate_a << 13 |
                    (uint32_t)c->transpose_a << 15 | (uint32_t)c->transpose_b << 16 |
                    (uint32_t)c->n >> 3 << 17 | (uint32_t)c->m >> 4 << 24;
    if (c->scales == 0) return bits | (uint32_t)c->saturate << 3 | code_of(c->d)->code_d << 4;
    return bits | (uint32_t)c->b_id << 4 | (uint32_t)(c->scale == TMG_UE8M0) << 23 |
           (uint32_t)c->a_id << 29 | (uint32_t)(c->k == 96) << 31;
}

// ---- shared memory ----

static int stored_bits(const struct test_case *c, enum tmg_number type) {
    if (is_fp4_kind(c)) return 4;
    return type == TMG_TF32 ? 32 : 8 * tmg_number_bytes(type);
}

static uint32_t span_of(enum tmg_swizzle swizzle) {
    return swizzle == TMG_SWIZZLE_NONE  ? 16
           : swizzle == TMG_SWIZZLE_32B ? 32
           : swizzle == TMG_SWIZZLE_64B ? 64
                                        : 128;
}

// Strides that leave gaps, so that one cannot stand for the other. K-major without swizzle: between
// columns of 8 x 16 bytes and between 8 rows; with one: between 8 rows. MN-major: between spans,
// and between 8 (or 4) lines of k.
enum { LEADING = 20 * 1024, STRIDE = 1024 };

static uint32_t address_of(enum tmg_swizzle swizzle, bool mn_major, int mn, int k, int bits) {
    uint32_t span = span_of(swizzle), fast = (uint32_t)((mn_major ? mn : k) * bits / 8);
    uint32_t line = (uint32_t)(mn_major ? k : mn);
    bool atoms = swizzle == TMG_SWIZZLE_128B_ATOM_32B;
    uint32_t lines = mn_major && atoms ? 4 : 8;
    uint32_t address =
        line % lines * span + line / lines * STRIDE + fast % span + fast / span * LEADING;
    if (mn_major && swizzle == TMG_SWIZZLE_NONE)  // leading and stride change places
        address = line % 8 * 16 + line / 8 * LEADING + fast % 16 + fast / 16 * STRIDE;
    if (atoms) return address ^ (address >> 7 & 3) << 5;
    return address ^ (address >> 7 & (span / 16 - 1)) << 4;
}

static uint64_t matrix_descriptor(enum tmg_swizzle swizzle, uint32_t start) {
    static const uint64_t modes[TMG_SWIZZLE_COUNT] = {[TMG_SWIZZLE_128B_ATOM_32B] = 1,
                                                      [TMG_SWIZZLE_128B] = 2,
                                                      [TMG_SWIZZLE_64B] = 4,
                                                      [TMG_SWIZZLE_32B] = 6};
    return start >> 4 | (uint64_t)(LEADING >> 4) << 16 | (uint64_t)(STRIDE >> 4) << 32 |
           UINT64_C(1) << 46 | modes[swizzle] << 61;
}

static void put_bits(uint8_t *at, int bit, int bits, uint64_t value) {
    for (int i = 0; i < bits; ++i) {
        uint8_t *byte = at + (bit + i) / 8, mask = (uint8_t)(1u << (bit + i) % 8);
        *byte = (uint8_t)(value >> i & 1 ? *byte | mask : *byte & ~mask);
    }
}

// Element k of a row; elements of 4 and 6 bits are 16 in 16 bytes, densely from the first on.
static void put_smem(const struct test_case *c, uint8_t *smem, bool mn_major, enum tmg_number type,
                     int mn, int k, double value) {
    uint64_t code = tmg_number_from_double(type, value, TMG_ROUND_RN, true);
    int bits = stored_bits(c, type);
    if (type == TMG_E2M1 || type == TMG_E2M3 || type == TMG_E3M2) {
        int width = type == TMG_E2M1 ? 4 : 6, per_piece = bits == 4 ? 32 : 16;
        uint32_t at = address_of(c->swizzle, false, mn, k / per_piece * per_piece, bits);
        put_bits(smem + at, k % per_piece * width, width, code);
        return;
    }
    memcpy(smem + address_of(c->swizzle, mn_major, mn, k, bits), &code, (size_t)bits / 8);
}

// ---- tensor memory ----

static void put_tmem(int cta, int lane, int bit, int bits, uint64_t value) {
    put_bits((uint8_t *)(p.tmem[cta] + 512 * lane), bit, bits, value);
}

enum { D_COLUMN = 32, A_COLUMN = 300, META_COLUMN = 340, SA_COLUMN = 360, SB_COLUMN = 400 };

static char layout_of(const struct test_case *c) {
    if (c->pair) return c->m == 256 ? 'A' : c->sparse ? 'C' : 'B';
    return c->m == 128 ? 'D' : c->m == 32 ? 'G' : c->ws ? 'E' : 'F';
}

static int cta_rows(const struct test_case *c) { return c->pair ? c->m / 2 : c->m; }

static int copies(const struct test_case *c) {
    char layout = layout_of(c);
    return layout == 'G' ? 4 : layout == 'B' || layout == 'E' ? 2 : 1;
}

// Lanes that hold a row of A: as D's at the first column of each copy.
static int row_lane(const struct test_case *c, int row, int copy) {
    int place = d_place(layout_of(c), c->n, row, copy * (c->n / copies(c)));
    return place % 128 + c->base_lane;
}

static void put_a_tmem(const struct test_case *c, int cta, int row, int k, double value) {
    uint64_t code = tmg_number_from_double(c->a, value, TMG_ROUND_RN, true);
    int bits = stored_bits(c, c->a);
    if (c->a == TMG_E2M1 && bits == 8) code <<= 2;
    for (int copy = 0; copy < copies(c); ++copy)
        put_tmem(cta, row_lane(c, row, copy), 32 * A_COLUMN + k * bits, bits, code);
}

static void put_metadata(const struct test_case *c, int cta, int row, int bit, unsigned four) {
    for (int i = 0; i < 4; ++i) {
        int place = metadata_place(c->kind, row, bit + i);
        for (int copy = 0; copy < copies(c); ++copy)
            put_tmem(cta, row_lane(c, place % 128, copy), 32 * META_COLUMN + place / 128, 1,
                     four >> i & 1);
    }
}

static void put_scale(const struct test_case *c, bool is_b, int cta, int at, int index,
                      double value) {
    uint64_t code = tmg_number_from_double(c->scale, value, TMG_ROUND_RZ, true);
    bool two_by_two = is_b && copies(c) == 2;
    int count = is_b ? c->n : cta_rows(c), id = is_b ? c->b_id : c->a_id;
    int per_copy = two_by_two ? count / 2 : count, words = (per_copy + 127) / 128 * 4;
    int word = (id + index) / 4, byte = (id + index) % 4;
    for (int copy = 0; copy < 4; ++copy) {
        int place = scale_place(two_by_two, count, copy, at, byte);
        put_tmem(cta, place % 128,
                 32 * ((is_b ? SB_COLUMN : SA_COLUMN) + word * words) + place / 128 * 8, 8, code);
    }
}

// ---- drawing and placing ----

// Multiples of the type's step that keep all sums exact.
static double draw(enum tmg_number type) {
    switch (type) {
    case TMG_U8: return below(256);
    case TMG_S8: return (double)below(256) - 128;
    case TMG_E2M1: {
        static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
        return values[below(8)] * (below(2) ? 1 : -1);
    }
    case TMG_E2M3: return ((double)below(33) - 16) / 8;
    default: return ((double)below(17) - 8) / 4;
    }
}

static double draw_scale(enum tmg_number type) {
    if (type == TMG_UE8M0) return ldexp(1, (int)below(5) - 2);
    return (1 + below(2)) * (1 + below(8) / 8.0);
}

static void draw_row(const struct test_case *c, int row) {
    int pairs = is_fp4_kind(c) ? 2 : 1, of = c->kind == TMG_KIND_TF32 ? 2 : 4 * pairs;
    memset(p.a[row], 0, sizeof p.a[row]);
    for (int k = 0; k < c->k; ++k)
        if (!c->sparse) p.a[row][k] = draw(c->a), p.chosen[row][k] = k;
    for (int chunk = 0; c->sparse && chunk < c->k / of; ++chunk) {
        int low = (int)below(3), high = low + 1 + (int)below((uint32_t)(3 - low));
        unsigned four = (unsigned)(low | high << 2);
        int kept = of / 2, *chosen = p.chosen[row] + chunk * kept;
        if (kept == 1) low = (int)below(2), four = low ? 14 : 4;
        for (int i = 0; i < kept; ++i) {
            int at = kept == 1 ? low : pairs * (i < pairs ? low : high) + i % pairs;
            chosen[i] = chunk * of + at;
            p.a[row][chosen[i]] = draw(c->a);
        }
        put_metadata(c, row / cta_rows(c), row % cta_rows(c), 4 * chunk, four);
    }
}

static void place_a(const struct test_case *c, int row) {
    int cta = row / cta_rows(c), local = row % cta_rows(c), kept = c->sparse ? c->k / 2 : c->k;
    for (int i = 0; i < kept; ++i) {
        double value = p.a[row][p.chosen[row][i]];
        if (c->a_in_tmem)
            put_a_tmem(c, cta, local, i, value);
        else
            put_smem(c, p.smem[cta], c->transpose_a, c->a, local, i, value);
    }
    for (int i = 0; i < c->scales; ++i) {
        p.scale_a[row][i] = draw_scale(c->scale);
        put_scale(c, false, cta, local, i, p.scale_a[row][i]);
    }
}

static void place_b(const struct test_case *c, int n) {
    int share = c->pair ? c->n / 2 : c->n, cta = n / share;
    for (int k = 0; k < c->k; ++k) {
        p.b[n][k] = draw(c->b);
        put_smem(c, p.smem[cta] + SMEM / 2, c->transpose_b, c->b, n % share, k, p.b[n][k]);
    }
    for (int i = 0; i < c->scales; ++i) {
        p.scale_b[n][i] = draw_scale(c->scale);
        for (int each = 0; each < (c->pair ? 2 : 1); ++each)
            put_scale(c, true, each, n, i, p.scale_b[n][i]);
    }
}

static uint32_t *d_word(const struct test_case *c, int row, int n) {
    int place = d_place(layout_of(c), c->n, row % cta_rows(c), n);
    return p.tmem[row / cta_rows(c)] + (place % 128 + c->base_lane) * 512 + D_COLUMN + place / 128;
}

static void place_d(const struct test_case *c, int row, int n) {
    p.d[row][n] = c->d == TMG_S32 ? (double)below(1u << 30) : ((double)below(65) - 32) / 4;
    *d_word(c, row, n) = (uint32_t)tmg_number_from_double(c->d, p.d[row][n], TMG_ROUND_RN, true);
}

static void make_problem(const struct test_case *c) {
    memset(&p, 0, sizeof p);
    for (int cta = 0; cta < 2; ++cta) memset(p.tmem[cta], 0xff, sizeof p.tmem[cta]);
    for (int row = 0; row < c->m; ++row) draw_row(c, row), place_a(c, row);
    for (int n = 0; n < c->n; ++n) place_b(c, n);
    for (int row = 0; row < c->m; ++row)
        for (int n = 0; n < c->n; ++n) place_d(c, row, n);
}

// ---- what is expected ----

static double expected(const struct test_case *c, int row, int n, bool add_d) {
    double sum = 0;
    for (int k = 0; k < c->k; ++k) {
        int block = c->scales ? k / (c->k / c->scales) : 0;
        double scale = c->scales ? p.scale_a[row][block] * p.scale_b[n][block] : 1;
        sum += p.a[row][k] * p.b[n][k] * scale;
    }
    if (c->negate_a) sum = -sum;
    return sum + (add_d ? ldexp(p.d[row][n], -c->input_shift) : 0);
}

static struct tmg_tcgen05 operation(const struct test_case *c) {
    return (struct tmg_tcgen05){.kind = c->kind,
                                .pair = c->pair,
                                .sparse = c->sparse,
                                .ws = c->ws,
                                .a_in_tmem = c->a_in_tmem,
                                .blocks = c->blocks,
                                .scale_input = c->input_shift > 0,
                                .input_shift = c->input_shift,
                                .add_d = true};
}

static struct tmg_tcgen05_operands operands_of(const struct test_case *c) {
    uint32_t base = (uint32_t)c->base_lane << 16;
    return (struct tmg_tcgen05_operands){.smem = {p.smem[0], p.smem[1]},
                                         .smem_bytes = SMEM,
                                         .tmem = {p.tmem[0], p.tmem[1]},
                                         .a_descriptor = matrix_descriptor(c->swizzle, 0),
                                         .b_descriptor = matrix_descriptor(c->swizzle, SMEM / 2),
                                         .a = base | A_COLUMN,
                                         .d = base | D_COLUMN,
                                         .scale_a = SA_COLUMN,
                                         .scale_b = SB_COLUMN,
                                         .metadata = base | META_COLUMN};
}

static struct tmg_tcgen05 decoded(const struct test_case *c) {
    struct tmg_tcgen05 op = operation(c);
    struct tmg_tcgen05_matrix matrix;
    struct tmg_tcgen05_operands operands = operands_of(c);
    char text[200];
    const char *wrong = tmg_tcgen05_decode(&op, instruction_descriptor(c), text, sizeof text);
    if (wrong == NULL)
        wrong =
            tmg_tcgen05_matrix_decode(&op, true, operands.b_descriptor, &matrix, text, sizeof text);
    if (wrong != NULL) fail_msg("%s: %s", c->name, wrong);
    assert_int_equal(op.k, c->k);
    assert_int_equal(op.scales, c->scales);
    assert_int_equal(tmg_tcgen05_layout(&op), layout_of(c));
    return op;
}

static void check_case(const struct test_case *c) {
    struct tmg_tcgen05 op = decoded(c);
    struct tmg_tcgen05_operands operands = operands_of(c);
    for (int round = 0; round < 2; ++round) {
        make_problem(c);
        op.add_d = round == 0;
        assert_null(tmg_tcgen05_run(&op, &operands, NULL));
        for (int row = 0; row < c->m; ++row)
            for (int n = 0; n < c->n; ++n) {
                uint32_t got = *d_word(c, row, n);
                double want = expected(c, row, n, op.add_d);
                if (tmg_number_to_double(c->d, got) != want)
                    fail_msg("%s, round %d, (%d, %d): %g and not %g", c->name, round, row, n,
                             tmg_number_to_double(c->d, got), want);
            }
    }
}

#define TYPES(A, B, D) .a = TMG_##A, .b = TMG_##B, .d = TMG_##D
#define SHAPE(M, N, K) .m = (M), .n = (N), .k = (K)
#define SCALES(TYPE, COUNT, BLOCKS) \
    .scale = TMG_##TYPE, .scales = (COUNT), .blocks = TMG_BLOCKS_##BLOCKS

static const struct test_case cases[] = {
    {"f16", TMG_KIND_F16, TYPES(F16, F16, F32), SHAPE(128, 64, 16), .swizzle = TMG_SWIZZLE_32B},
    {"f16 to f16", TMG_KIND_F16, TYPES(F16, F16, F16), SHAPE(128, 8, 16),
     .swizzle = TMG_SWIZZLE_NONE},
    {"bf16, M 64", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(64, 24, 16),
     .swizzle = TMG_SWIZZLE_128B},
    {"bf16, M 64, upper lanes", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(64, 24, 16),
     .a_in_tmem = true, .base_lane = 16, .swizzle = TMG_SWIZZLE_128B},
    {"bf16, transposed", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(128, 128, 16),
     .transpose_a = true, .transpose_b = true, .swizzle = TMG_SWIZZLE_128B},
    {"bf16, transposed, plain", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(64, 16, 16),
     .transpose_a = true, .transpose_b = true, .swizzle = TMG_SWIZZLE_NONE},
    {"bf16, pair", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(256, 256, 16), .pair = true,
     .swizzle = TMG_SWIZZLE_64B},
    {"bf16, pair, M 128", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(128, 48, 16), .pair = true,
     .swizzle = TMG_SWIZZLE_128B},
    {"bf16, pair, M 128, A in tensor memory", TMG_KIND_F16, TYPES(BF16, BF16, F32),
     SHAPE(128, 48, 16), .pair = true, .a_in_tmem = true, .swizzle = TMG_SWIZZLE_128B},
    {"bf16, negated, shifted D", TMG_KIND_F16, TYPES(BF16, F16, F32), SHAPE(128, 256, 16),
     .negate_a = true, .input_shift = 3, .swizzle = TMG_SWIZZLE_128B},
    {"bf16.ws, M 32", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(32, 64, 16), .ws = true,
     .swizzle = TMG_SWIZZLE_128B},
    {"bf16.ws, M 64, A in tensor memory", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(64, 128, 16),
     .ws = true, .a_in_tmem = true, .swizzle = TMG_SWIZZLE_128B},
    {"bf16.sp", TMG_KIND_F16, TYPES(BF16, BF16, F32), SHAPE(128, 32, 32), .sparse = true,
     .swizzle = TMG_SWIZZLE_128B},
    {"f16.sp, M 64", TMG_KIND_F16, TYPES(F16, F16, F32), SHAPE(64, 32, 32), .sparse = true,
     .base_lane = 16, .swizzle = TMG_SWIZZLE_64B},
    {"f16.sp, pair, M 128", TMG_KIND_F16, TYPES(F16, F16, F32), SHAPE(128, 32, 32), .pair = true,
     .sparse = true, .swizzle = TMG_SWIZZLE_64B},
    {"f16.ws.sp, M 32", TMG_KIND_F16, TYPES(F16, F16, F32), SHAPE(32, 64, 32), .ws = true,
     .sparse = true, .swizzle = TMG_SWIZZLE_64B},
    {"tf32", TMG_KIND_TF32, TYPES(TF32, TF32, F32), SHAPE(128, 16, 8),
     .swizzle = TMG_SWIZZLE_128B_ATOM_32B},
    {"tf32, transposed", TMG_KIND_TF32, TYPES(TF32, TF32, F32), SHAPE(128, 64, 8),
     .transpose_a = true, .transpose_b = true, .swizzle = TMG_SWIZZLE_128B_ATOM_32B},
    {"tf32.sp, A in tensor memory", TMG_KIND_TF32, TYPES(TF32, TF32, F32), SHAPE(128, 64, 16),
     .sparse = true, .a_in_tmem = true, .swizzle = TMG_SWIZZLE_128B},
    {"i8", TMG_KIND_I8, TYPES(S8, U8, S32), SHAPE(128, 48, 32), .swizzle = TMG_SWIZZLE_32B},
    {"i8, pair, transposed", TMG_KIND_I8, TYPES(U8, S8, S32), SHAPE(256, 64, 32), .pair = true,
     .transpose_a = true, .transpose_b = true, .swizzle = TMG_SWIZZLE_64B},
    {"i8.sp", TMG_KIND_I8, TYPES(S8, S8, S32), SHAPE(64, 8, 64), .sparse = true, .saturate = true,
     .swizzle = TMG_SWIZZLE_64B},
    {"e4m3 by e5m2", TMG_KIND_F8F6F4, TYPES(E4M3, E5M2, F32), SHAPE(128, 64, 32),
     .swizzle = TMG_SWIZZLE_128B},
    {"e2m3 by e3m2", TMG_KIND_F8F6F4, TYPES(E2M3, E3M2, F32), SHAPE(128, 64, 32),
     .swizzle = TMG_SWIZZLE_128B},
    {"e2m1 by e4m3 to f16", TMG_KIND_F8F6F4, TYPES(E2M1, E4M3, F16), SHAPE(64, 8, 32),
     .swizzle = TMG_SWIZZLE_32B},
    {"e2m1 in tensor memory", TMG_KIND_F8F6F4, TYPES(E2M1, E4M3, F32), SHAPE(128, 8, 32),
     .a_in_tmem = true, .swizzle = TMG_SWIZZLE_32B},
    {"e3m2.sp in tensor memory", TMG_KIND_F8F6F4, TYPES(E3M2, E2M1, F32), SHAPE(256, 32, 64),
     .pair = true, .sparse = true, .a_in_tmem = true, .swizzle = TMG_SWIZZLE_64B},
    {"mxf8", TMG_KIND_MXF8F6F4, TYPES(E4M3, E5M2, F32), SHAPE(128, 72, 32),
     SCALES(UE8M0, 1, DEFAULT), .a_id = 3, .b_id = 1, .swizzle = TMG_SWIZZLE_128B},
    {"mxf8, pair", TMG_KIND_MXF8F6F4, TYPES(E4M3, E2M1, F32), SHAPE(256, 256, 32), .pair = true,
     SCALES(UE8M0, 1, 32), .a_id = 2, .swizzle = TMG_SWIZZLE_32B},
    {"mxf8, pair, M 128", TMG_KIND_MXF8F6F4, TYPES(E4M3, E4M3, F32), SHAPE(128, 192, 32),
     .pair = true, SCALES(UE8M0, 1, 1X), .swizzle = TMG_SWIZZLE_32B},
    {"mxf8.sp", TMG_KIND_MXF8F6F4, TYPES(E5M2, E4M3, F32), SHAPE(128, 32, 64), .sparse = true,
     SCALES(UE8M0, 1, 1X), .b_id = 2, .swizzle = TMG_SWIZZLE_128B},
    {"mxf4", TMG_KIND_MXF4, TYPES(E2M1, E2M1, F32), SHAPE(128, 64, 64), SCALES(UE8M0, 2, DEFAULT),
     .a_id = 2, .swizzle = TMG_SWIZZLE_128B},
    {"mxf4, K 96", TMG_KIND_MXF4, TYPES(E2M1, E2M1, F32), SHAPE(256, 256, 96), .pair = true,
     SCALES(UE8M0, 3, 32), .a_id = 2, .b_id = 2, .swizzle = TMG_SWIZZLE_64B},
    {"mxf4.sp", TMG_KIND_MXF4, TYPES(E2M1, E2M1, F32), SHAPE(128, 64, 128), .sparse = true,
     SCALES(UE8M0, 2, 2X), .b_id = 2, .swizzle = TMG_SWIZZLE_128B},
    {"nvf4", TMG_KIND_MXF4NVF4, TYPES(E2M1, E2M1, F32), SHAPE(128, 256, 64), SCALES(E4M3, 4, 4X),
     .swizzle = TMG_SWIZZLE_128B},
    {"nvf4, pair, M 128, A in tensor memory", TMG_KIND_MXF4NVF4, TYPES(E2M1, E2M1, F32),
     SHAPE(128, 64, 64), .pair = true, .a_in_tmem = true, SCALES(E4M3, 4, 16),
     .swizzle = TMG_SWIZZLE_128B},
    {"nvf4, K 96", TMG_KIND_MXF4NVF4, TYPES(E2M1, E2M1, F32), SHAPE(128, 128, 96),
     SCALES(E4M3, 6, 16), .a_id = 2, .swizzle = TMG_SWIZZLE_NONE},
    {"mxf4 by nvf4's kind", TMG_KIND_MXF4NVF4, TYPES(E2M1, E2M1, F32), SHAPE(128, 64, 64),
     SCALES(UE8M0, 2, 32), .swizzle = TMG_SWIZZLE_128B},
    {"tf32.ws, M 128, transposed", TMG_KIND_TF32, TYPES(TF32, TF32, F32), SHAPE(128, 64, 8),
     .ws = true, .transpose_b = true, .swizzle = TMG_SWIZZLE_128B_ATOM_32B},
    {"i8.ws.sp, M 64", TMG_KIND_I8, TYPES(S8, U8, S32), SHAPE(64, 64, 64), .ws = true,
     .sparse = true, .swizzle = TMG_SWIZZLE_64B},
};

static void values_of_each_kind(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        random_state = i;
        check_case(&cases[i]);
    }
}

// ---- masks, shifts ----

static void disabled_lanes_keep_their_d(void **state) {
    (void)state;
    const struct test_case *c = &cases[6];  // bf16, pair
    struct tmg_tcgen05 op = decoded(c);
    struct tmg_tcgen05_operands operands = operands_of(c);
    make_problem(c);
    for (int i = 0; i < 8; ++i) op.disabled[i] = 0x11111111u << i % 4;
    assert_null(tmg_tcgen05_run(&op, &operands, NULL));
    for (int row = 0; row < c->m; ++row) {
        bool disabled = row % 4 == row / 32 % 4;
        double want = disabled ? p.d[row][5] : expected(c, row, 5, true);
        assert_true(tmg_number_to_double(c->d, *d_word(c, row, 5)) == want);
    }
}

// Example 4 of PTX ISA 9.7.16.4.3: M of 32, four sub-masks, and columns from 2 on.
static void zero_columns_and_shift(void **state) {
    (void)state;
    static const char *const masks[] = {"1110000111", "1100001110000", "0011100001110000",
                                        "000111000011"};
    struct test_case c = cases[10];
    struct tmg_tcgen05 op = operation(&c);
    struct tmg_tcgen05_operands operands = operands_of(&c);
    char text[200];
    c.n = 128;
    op.zero_columns = 0x01020100u | UINT64_C(0x3) << 32 | UINT64_C(1) << 39 | UINT64_C(2) << 40 |
                      UINT64_C(3) << 48 | UINT64_C(2) << 56;
    uint32_t descriptor = instruction_descriptor(&c);
    assert_non_null(tmg_tcgen05_decode(&op, descriptor, text, sizeof text));
    assert_string_equal(text, "maximum shift: 0, but the zero-column mask shifts by 2");
    assert_null(tmg_tcgen05_decode(&op, descriptor | 1u << 30, text, sizeof text));
    for (int n = 0; n < 128; ++n)
        if (n % 32 < (int)strlen(masks[n / 32]))
            assert_int_equal(tmg_tcgen05_zero_column(&op, n), masks[n / 32][n % 32] == '1');
    make_problem(&c);
    c.n = 256;
    for (int n = 128; n < 130; ++n) place_b(&c, n);
    c.n = 128;
    assert_null(tmg_tcgen05_run(&op, &operands, NULL));
    for (int n = 0; n < 128; ++n) {
        double sum = tmg_tcgen05_zero_column(&op, n) ? 0 : expected(&c, 7, n + 2, false);
        assert_true(tmg_number_to_double(c.d, *d_word(&c, 7, n)) == sum + p.d[7][n]);
    }
}

static void a_row_is_the_next_one_but_for_the_last(void **state) {
    (void)state;
    struct test_case c = cases[0];
    struct tmg_tcgen05_operands operands = operands_of(&c);
    c.a_in_tmem = true;
    struct tmg_tcgen05 op = decoded(&c);
    op.ashift = true;
    make_problem(&c);
    assert_null(tmg_tcgen05_run(&op, &operands, NULL));
    for (int row = 0; row < c.m; ++row) {
        double want = expected(&c, row + 1 < c.m ? row + 1 : row, 9, false) + p.d[row][9];
        assert_true(tmg_number_to_double(c.d, *d_word(&c, row, 9)) == want);
    }
}

// ---- what is touched ----

static bool count_part(void *context, const struct tmg_tmem_part *part) {
    uint8_t(*seen)[128][512] = context;
    for (int lane = part->lane; lane < part->lane + part->lanes; ++lane)
        for (int column = part->column; column < part->column + part->columns; ++column)
            seen[part->cta][lane][column]++;
    return true;
}

// Everything that a problem places in tensor memory is named, once, and nothing besides.
static void parts_are_what_is_used(void **state) {
    (void)state;
    static uint8_t seen[2][128][512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct test_case *c = &cases[i];
        struct tmg_tcgen05 op = decoded(c);
        struct tmg_tcgen05_operands operands = operands_of(c);
        make_problem(c);
        memset(seen, 0, sizeof seen);
        assert_true(tmg_tcgen05_each_part(&op, &operands, count_part, seen));
        for (int cta = 0; cta < 2; ++cta)
            for (int at = 0; at < 128 * 512; ++at)
                if (seen[cta][at / 512][at % 512] != (p.tmem[cta][at] != 0xffffffff))
                    fail_msg("%s: CTA %d, lane %d, column %d: %d times", c->name, cta, at / 512,
                             at % 512, seen[cta][at / 512][at % 512]);
    }
}

static int add_bytes(void *context, uint32_t address, uint32_t bytes) {
    (void)address;
    *(uint32_t *)context += bytes;
    return 0;
}

// As many bytes as the operands have: no piece is read twice, none twice by different rows.
static void footprints_have_the_operands_size(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct test_case *c = &cases[i];
        struct tmg_tcgen05 op = decoded(c);
        struct tmg_tcgen05_operands operands = operands_of(c);
        struct tmg_tcgen05_matrix matrix;
        char text[200];
        for (int is_b = 0; is_b < 2; ++is_b) {
            struct tmg_footprint footprint = {{0}, 0, 0};
            uint32_t bytes = 0;
            int rows = is_b ? c->n / (c->pair ? 2 : 1) : cta_rows(c);
            int row = is_b ? tmg_tcgen05_b_bytes(&op) : tmg_tcgen05_a_bytes(&op);
            assert_null(tmg_tcgen05_matrix_decode(&op, is_b, operands.b_descriptor, &matrix, text,
                                                  sizeof text));
            tmg_tcgen05_footprint(&op, is_b, &matrix, &footprint);
            tmg_footprint_each(&footprint, add_bytes, &bytes);
            assert_int_equal(bytes, rows * row);
        }
    }
}

static void operands_outside_of_shared_memory(void **state) {
    (void)state;
    const struct test_case *c = &cases[0];
    struct tmg_tcgen05 op = decoded(c);
    struct tmg_tcgen05_operands operands = operands_of(c);
    uint32_t bad = 0;
    make_problem(c);
    uint32_t before = *d_word(c, 3, 3);
    operands.b_descriptor = matrix_descriptor(c->swizzle, SMEM - 1024);
    assert_string_equal(tmg_tcgen05_run(&op, &operands, &bad),
                        "matrix B lies outside of shared memory");
    assert_int_equal(bad, SMEM);
    operands.b_descriptor = matrix_descriptor(c->swizzle, 0);
    operands.a_descriptor = matrix_descriptor(c->swizzle, SMEM);
    assert_string_equal(tmg_tcgen05_run(&op, &operands, &bad),
                        "matrix A lies outside of shared memory");
    assert_int_equal(before, *d_word(c, 3, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_each_kind),
        cmocka_unit_test(disabled_lanes_keep_their_d),
        cmocka_unit_test(zero_columns_and_shift),
        cmocka_unit_test(a_row_is_the_next_one_but_for_the_last),
        cmocka_unit_test(parts_are_what_is_used),
        cmocka_unit_test(footprints_have_the_operands_size),
        cmocka_unit_test(operands_outside_of_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
