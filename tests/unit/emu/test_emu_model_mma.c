// mma.sync against the fragment formulas of PTX ISA 9.7.14.5.2 to 9.7.14.5.13, one function each as
// printed there, and a plain triple loop; ldmatrix and stmatrix against their figures.
#include "runtime/emu/model/mma.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

struct fragment_place {
    int row, col;
};
typedef struct fragment_place fragment(int g, int t, int i);  // groupID, threadID_in_group, element

static struct fragment_place a_k4_unit(int g, int t, int i) {
    return (struct fragment_place){i == 0 ? g : g + 8, t};
}
static struct fragment_place a_k8_unit(int g, int t, int i) {
    return (struct fragment_place){i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
}
static struct fragment_place a_k8_half(int g, int t, int i) {
    return (struct fragment_place){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}
static struct fragment_place a_k16_half(int g, int t, int i) {
    return (struct fragment_place){i < 2 || (i >= 4 && i < 6) ? g : g + 8,
                                   t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
static struct fragment_place a_k16_byte(int g, int t, int i) {
    return (struct fragment_place){i < 4 ? g : g + 8, t * 4 + (i & 3)};
}
static struct fragment_place a_k32_byte(int g, int t, int i) {
    return (struct fragment_place){i < 4 || (i >= 8 && i < 12) ? g : g + 8,
                                   t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
static struct fragment_place a_k128_bit(int g, int t, int i) {
    return (struct fragment_place){i < 32 ? g : g + 8, t * 32 + (i & 31)};
}
static struct fragment_place a_k256_bit(int g, int t, int i) {
    return (struct fragment_place){i < 32 || (i >= 64 && i < 96) ? g : g + 8,
                                   t * 32 + (i & 31) + (i < 64 ? 0 : 128)};
}
static struct fragment_place a_k32_nibble(int g, int t, int i) {
    return (struct fragment_place){i < 8 ? g : g + 8, t * 8 + (i & 7)};
}
static struct fragment_place a_k64_nibble(int g, int t, int i) {
    return (struct fragment_place){i < 8 || (i >= 16 && i < 24) ? g : g + 8,
                                   t * 8 + (i & 7) + (i < 16 ? 0 : 32)};
}
static struct fragment_place a_m8_nibble(int g, int t, int i) {
    return (struct fragment_place){g, t * 8 + i};
}
static struct fragment_place a_m8_byte(int g, int t, int i) {
    return (struct fragment_place){g, t * 4 + i};
}
static struct fragment_place a_m8_bit(int g, int t, int i) {
    return (struct fragment_place){g, t * 32 + i};
}
static struct fragment_place a_m8_f64(int g, int t, int i) {
    return (struct fragment_place){g, t + 0 * i};
}
static struct fragment_place a_k16_f64(int g, int t, int i) {
    return (struct fragment_place){i % 2 ? g + 8 : g, (i % 2 ? i * 2 - 2 : i * 2) + t};
}

static struct fragment_place b_unit(int g, int t, int i) {
    return (struct fragment_place){t + 4 * i, g};
}
static struct fragment_place b_half(int g, int t, int i) {
    return (struct fragment_place){t * 2 + (i & 1) + (i < 2 ? 0 : 8), g};
}
static struct fragment_place b_byte(int g, int t, int i) {
    return (struct fragment_place){t * 4 + (i & 3) + (i < 4 ? 0 : 16), g};
}
static struct fragment_place b_nibble(int g, int t, int i) {
    return (struct fragment_place){t * 8 + (i & 7) + (i < 8 ? 0 : 32), g};
}
static struct fragment_place b_bit(int g, int t, int i) {
    return (struct fragment_place){t * 32 + (i & 31) + (i < 32 ? 0 : 128), g};
}
static struct fragment_place c_m16(int g, int t, int i) {
    return (struct fragment_place){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

static const struct mma_fragments {
    struct tmg_mma op;
    fragment *a, *b;
} shapes[] = {
    {{16, 8, 8, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k8_half, b_half},
    {{16, 8, 8, TMG_F16, TMG_F16, TMG_F16, TMG_F16, 0, 0, 0, 0}, a_k8_half, b_half},
    {{16, 8, 16, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k16_half, b_half},
    {{16, 8, 16, TMG_F16, TMG_F16, TMG_F16, TMG_F16, 0, 0, 0, 0}, a_k16_half, b_half},
    {{16, 8, 8, TMG_BF16, TMG_BF16, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k8_half, b_half},
    {{16, 8, 16, TMG_BF16, TMG_BF16, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k16_half, b_half},
    {{16, 8, 4, TMG_TF32, TMG_TF32, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k4_unit, b_unit},
    {{16, 8, 8, TMG_TF32, TMG_TF32, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k8_unit, b_unit},
    {{16, 8, 16, TMG_E4M3, TMG_E5M2, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k16_byte, b_byte},
    {{16, 8, 32, TMG_E5M2, TMG_E5M2, TMG_F16, TMG_F16, 0, 0, 0, 0}, a_k32_byte, b_byte},
    {{16, 8, 32, TMG_E4M3, TMG_E4M3, TMG_F32, TMG_F32, 0, 0, 0, 0}, a_k32_byte, b_byte},
    {{16, 8, 16, TMG_S8, TMG_U8, TMG_S32, TMG_S32, 0, 0, 0, 0}, a_k16_byte, b_byte},
    {{16, 8, 32, TMG_U8, TMG_S8, TMG_S32, TMG_S32, 0, 0, 0, 0}, a_k32_byte, b_byte},
    {{8, 8, 16, TMG_S8, TMG_S8, TMG_S32, TMG_S32, 0, 0, 0, 0}, a_m8_byte, b_byte},
    {{16, 8, 32, TMG_S4, TMG_U4, TMG_S32, TMG_S32, 0, 0, 0, 0}, a_k32_nibble, b_nibble},
    {{16, 8, 64, TMG_U4, TMG_S4, TMG_S32, TMG_S32, 1, 0, 0, 0}, a_k64_nibble, b_nibble},
    {{8, 8, 32, TMG_S4, TMG_S4, TMG_S32, TMG_S32, 0, 0, 0, 0}, a_m8_nibble, b_nibble},
    {{16, 8, 128, TMG_B1, TMG_B1, TMG_S32, TMG_S32, 0, 0, 0, 0}, a_k128_bit, b_bit},
    {{16, 8, 256, TMG_B1, TMG_B1, TMG_S32, TMG_S32, 0, 1, 0, 0}, a_k256_bit, b_bit},
    {{8, 8, 128, TMG_B1, TMG_B1, TMG_S32, TMG_S32, 0, 1, 0, 0}, a_m8_bit, b_bit},
    {{8, 8, 4, TMG_F64, TMG_F64, TMG_F64, TMG_F64, 0, 0, 0, 0}, a_m8_f64, b_unit},
    {{16, 8, 4, TMG_F64, TMG_F64, TMG_F64, TMG_F64, 0, 0, 0, 0}, a_k4_unit, b_unit},
    {{16, 8, 8, TMG_F64, TMG_F64, TMG_F64, TMG_F64, 0, 0, 0, 0}, a_k8_unit, b_unit},
    {{16, 8, 16, TMG_F64, TMG_F64, TMG_F64, TMG_F64, 0, 0, 0, 0}, a_k16_f64, b_unit},
};

static double a_mk[16][256], b_kn[256][8], d_mn[16][8];
static uint64_t a_rows[8][32], b_rows[4][32], c_rows[4][32];  // as 64 bits; narrowed for mma_run
static uint32_t a_words[4][32], b_words[2][32], c_words[4][32];

static int bits_of(enum tmg_number type) {
    return type == TMG_B1 ? 1 : type == TMG_S4 || type == TMG_U4 ? 4 : 8 * tmg_number_bytes(type);
}

static uint64_t encode(enum tmg_number type, double value) {
    uint64_t bits = tmg_number_is_float(type)
                        ? tmg_number_from_double(type, value, TMG_ROUND_RN, true)
                        : (uint64_t)(int64_t)value;
    return bits_of(type) == 64 ? bits : bits & ((UINT64_C(1) << bits_of(type)) - 1);
}

static double random_value(enum tmg_number type) {
    if (type == TMG_B1) return random_below(2);
    if (type == TMG_U4) return random_below(16);
    if (type == TMG_S4) return (double)random_below(16) - 8;
    if (type == TMG_U8) return random_below(256);
    if (type == TMG_S8) return (double)random_below(256) - 128;
    return (double)random_below(9) - 4;
}

// Adds element [i] of a lane to its register: registers hold 32 bits, or one f64.
static void put(enum tmg_number type, uint64_t (*rows)[32], int lane, int i, double value) {
    int width = type == TMG_F64 ? 64 : 32, each = width / bits_of(type);
    rows[i / each][lane] |= encode(type, value) << (i % each * bits_of(type));
}

static double get(enum tmg_number type, uint64_t (*rows)[32], int lane, int i) {
    int width = type == TMG_F64 ? 64 : 32, each = width / bits_of(type);
    uint64_t bits = rows[i / each][lane] >> (i % each * bits_of(type));
    if (type == TMG_S32) return (int32_t)bits;
    return tmg_number_to_double(type, bits & (UINT64_MAX >> (64 - bits_of(type))));
}

static void place_operands(const struct mma_fragments *s) {
    const struct tmg_mma *op = &s->op;
    memset(a_rows, 0, sizeof a_rows);
    memset(b_rows, 0, sizeof b_rows);
    memset(c_rows, 0, sizeof c_rows);
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < op->m * op->k / 32; ++i) {
            struct fragment_place p = s->a(lane >> 2, lane % 4, i);
            put(op->a, a_rows, lane, i, a_mk[p.row][p.col]);
        }
        for (int i = 0; i < 8 * op->k / 32; ++i) {
            struct fragment_place p = s->b(lane >> 2, lane % 4, i);
            put(op->b, b_rows, lane, i, b_kn[p.row][p.col]);
        }
        for (int i = 0; i < op->m * 8 / 32; ++i) {
            struct fragment_place p = c_m16(lane >> 2, lane % 4, i);
            put(op->c, c_rows, lane, i, d_mn[p.row][p.col]);
        }
    }
}

static void run(const struct tmg_mma *op) {
    if (op->a == TMG_F64) {
        struct tmg_mma_operands_f64 o;
        for (int i = 0; i < 8; ++i) o.a[i] = a_rows[i];
        for (int i = 0; i < 4; ++i) o.b[i] = b_rows[i], o.c[i] = o.d[i] = c_rows[i];
        tmg_mma_run_f64(op, &o);
        return;
    }
    struct tmg_mma_operands o;
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 4; ++i) a_words[i][lane] = (uint32_t)a_rows[i][lane];
        for (int i = 0; i < 2; ++i) b_words[i][lane] = (uint32_t)b_rows[i][lane];
        for (int i = 0; i < 4; ++i) c_words[i][lane] = (uint32_t)c_rows[i][lane];
    }
    for (int i = 0; i < 4; ++i) o.a[i] = a_words[i], o.c[i] = o.d[i] = c_words[i];
    for (int i = 0; i < 2; ++i) o.b[i] = b_words[i];
    tmg_mma_run(op, &o);
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 4; ++i) c_rows[i][lane] = c_words[i][lane];
    }
}

static double product(const struct tmg_mma *op, double a, double b) {
    if (op->a != TMG_B1) return a * b;
    return op->xor_popc ? a != b : a * b;
}

static void multiplies_every_shape(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        const struct tmg_mma *op = &shapes[s].op;
        const char *wrong = tmg_mma_check(op);
        if (wrong) fail_msg("shape %zu: %s", s, wrong);
        for (int k = 0; k < op->k; ++k) {
            for (int m = 0; m < op->m; ++m) a_mk[m][k] = random_value(op->a);
            for (int n = 0; n < 8; ++n) b_kn[k][n] = random_value(op->b);
        }
        for (int at = 0; at < op->m * 8; ++at)
            d_mn[at / 8][at % 8] = (double)random_below(100) - 50;
        place_operands(&shapes[s]);
        for (int at = 0; at < op->m * 8; ++at) {
            for (int k = 0; k < op->k; ++k) {
                d_mn[at / 8][at % 8] += product(op, a_mk[at / 8][k], b_kn[k][at % 8]);
            }
        }
        run(op);
        for (int lane = 0; lane < 32; ++lane) {
            for (int i = 0; i < op->m * 8 / 32; ++i) {
                struct fragment_place p = c_m16(lane >> 2, lane % 4, i);
                double got = get(op->d, c_rows, lane, i), want = d_mn[p.row][p.col];
                if (got != want)
                    fail_msg("shape %zu (%d, %d): %g, not %g", s, p.row, p.col, got, want);
            }
        }
    }
}

static void counts_registers(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        const struct tmg_mma *op = &shapes[s].op;
        int width = op->a == TMG_F64 ? 64 : 32;
        struct tmg_mma_registers r = tmg_mma_registers(op);
        assert_int_equal(r.a, op->m * op->k / 32 * bits_of(op->a) / width);
        assert_int_equal(r.b, 8 * op->k / 32 * bits_of(op->b) / width);
        assert_int_equal(r.c, op->m * 8 / 32 * bits_of(op->c) / width);
        assert_int_equal(r.d, r.c);
    }
}

static void f64_fuses(void **state) {
    (void)state;
    struct tmg_mma op = {8, 8, 4, TMG_F64, TMG_F64, TMG_F64, TMG_F64, 0, 0, 0, 0};
    memset(a_mk, 0, sizeof a_mk);
    memset(b_kn, 0, sizeof b_kn);
    memset(d_mn, 0, sizeof d_mn);
    a_mk[0][0] = b_kn[0][0] = 1 + 0x1p-30;
    d_mn[0][0] = -1;
    place_operands(&(struct mma_fragments){op, a_m8_f64, b_unit});
    run(&op);
    assert_true(get(TMG_F64, c_rows, 0, 0) == 0x1p-29 + 0x1p-60);
}

static void saturates_and_wraps(void **state) {
    (void)state;
    struct tmg_mma op = {16, 8, 16, TMG_S8, TMG_S8, TMG_S32, TMG_S32, 0, 0, 0, 0};
    memset(a_mk, 0, sizeof a_mk);
    memset(b_kn, 0, sizeof b_kn);
    a_mk[0][0] = 1, b_kn[0][0] = -1;
    d_mn[0][0] = INT32_MIN;
    for (int satfinite = 0; satfinite < 2; ++satfinite) {
        op.satfinite = satfinite;
        place_operands(&(struct mma_fragments){op, a_k16_byte, b_byte});
        run(&op);
        assert_true(get(TMG_S32, c_rows, 0, 0) == (satfinite ? INT32_MIN : INT32_MAX));
    }
}

static void refuses_what_it_lacks(void **state) {
    (void)state;
    static const struct tmg_mma bad[] = {
        {16, 8, 16, TMG_F16, TMG_BF16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 32, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 12, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 16, TMG_BF16, TMG_BF16, TMG_F16, TMG_F16, 0, 0, 0, 0},
        {16, 8, 16, TMG_F16, TMG_F16, TMG_F16, TMG_F32, 0, 0, 0, 0},
        {8, 8, 4, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 16, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 1, 0, 0, 0},
        {16, 8, 16, TMG_S8, TMG_S8, TMG_S32, TMG_S32, 0, 1, 0, 0},
        {16, 16, 16, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
        {16, 8, 0, TMG_F16, TMG_F16, TMG_F32, TMG_F32, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        if (!tmg_mma_check(&bad[i])) fail_msg("row %zu is no instruction", i);
    }
}

// Figure 104: lane l holds elements (l / 4, 2 (l % 4)) and the next; .trans swaps rows and columns.
static void loads_and_stores_matrices(void **state) {
    (void)state;
    uint8_t rows[32][16], back[32][16];
    uint32_t registers[4][32], *d[4] = {registers[0], registers[1], registers[2], registers[3]};
    for (int i = 0; i < 32 * 8; ++i) {
        uint16_t element = (uint16_t)(i * 257 + 3);
        memcpy(&rows[i / 8][i % 8 * 2], &element, 2);
    }
    for (int count = 1; count <= 4; count *= 2) {
        for (int transpose = 0; transpose < 2; ++transpose) {
            tmg_ldmatrix(count, transpose, (const uint8_t(*)[16])rows, d);
            for (int j = 0; j < count; ++j) {
                for (int lane = 0; lane < 32; ++lane) {
                    for (int e = 0; e < 2; ++e) {
                        int row = lane / 4, column = lane % 4 * 2 + e;
                        int at = transpose ? column * 8 + row : row * 8 + column;
                        uint16_t want = (uint16_t)((j * 64 + at) * 257 + 3);
                        assert_int_equal(registers[j][lane] >> 16 * e & 0xffff, want);
                    }
                }
            }
            memset(back, 0, sizeof back);
            tmg_stmatrix(count, transpose, (const uint32_t *const *)d, back);
            assert_memory_equal(back, rows, (size_t)count * 128);
            for (int i = count * 8; i < 32; ++i) assert_int_equal(back[i][0], 0);
        }
    }
    uint32_t plain[32], transposed[32], *one = plain;
    tmg_ldmatrix(1, false, (const uint8_t(*)[16])rows, &one);
    one = transposed;
    tmg_ldmatrix(1, true, (const uint8_t(*)[16])rows, &one);
    tmg_movmatrix(plain, plain);
    assert_memory_equal(plain, transposed, sizeof plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplies_every_shape),
        cmocka_unit_test(counts_registers),
        cmocka_unit_test(f64_fuses),
        cmocka_unit_test(saturates_and_wraps),
        cmocka_unit_test(refuses_what_it_lacks),
        cmocka_unit_test(loads_and_stores_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
