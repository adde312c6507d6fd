// wgmma against the CuTe layouts that PTX ISA 9.7.15.5.1.2.1.3 defines, evaluated symbolically
// here, and against a plain triple loop over matrices placed through those layouts.
#include "runtime/emu/model/wgmma.h"

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

// A CuTe layout ((mn shape), (k shape)):((mn strides), (k strides)), then Swizzle<bits, 4, 3> on
// the byte address. Coordinates split with the first mode fastest, the last one unbounded.
struct cute_layout {
    uint32_t mn_shape[3], k_shape[2], mn_stride[3], k_stride[2];
    int mn_modes, swizzle_bits;
};

static uint32_t walk(uint32_t at, int modes, const uint32_t *shape, const uint32_t *stride) {
    uint32_t offset = 0;
    for (int i = 0; i < modes; ++i) {
        uint32_t digit = i + 1 < modes ? at % shape[i] : at;
        offset += digit * stride[i];
        at /= shape[i];
    }
    return offset;
}

// Strides in bits, for elements of any size; returns the byte.
static uint32_t layout_byte(const struct cute_layout *l, uint32_t start, uint32_t mn, uint32_t k) {
    uint32_t bits =
        walk(mn, l->mn_modes, l->mn_shape, l->mn_stride) + walk(k, 2, l->k_shape, l->k_stride);
    uint32_t address = start + bits / 8;
    return address ^ ((address >> 7 & ((1u << l->swizzle_bits) - 1)) << 4);
}

static int swizzle_bits(enum tmg_swizzle mode) {
    return mode == TMG_SWIZZLE_32B    ? 1
           : mode == TMG_SWIZZLE_64B  ? 2
           : mode == TMG_SWIZZLE_128B ? 3
                                      : 0;
}

// The canonical layouts table, T = 128 / element bits; all strides below in bits.
static struct cute_layout canonical(const struct tmg_matrix_descriptor *d, bool mn_major,
                                    uint32_t bits) {
    uint32_t t = 128 / bits,
             s = d->swizzle == TMG_SWIZZLE_NONE ? 1 : 1u << swizzle_bits(d->swizzle);
    uint32_t lbo = d->leading_offset * 8, sbo = d->stride_offset * 8;
    struct cute_layout l = {.swizzle_bits = swizzle_bits(d->swizzle)};
    if (mn_major) {  // ((T,s,m),(8,k)):((1,T,LBO),(sT,SBO)); interleaved swaps LBO and SBO
        bool none = d->swizzle == TMG_SWIZZLE_NONE;
        l.mn_modes = 3;
        l.mn_shape[0] = t, l.mn_shape[1] = s, l.mn_shape[2] = 64;
        l.mn_stride[0] = bits, l.mn_stride[1] = 128, l.mn_stride[2] = none ? sbo : lbo;
        l.k_shape[0] = 8, l.k_stride[0] = s * 128;
        l.k_shape[1] = 64, l.k_stride[1] = none ? lbo : sbo;
    } else {  // ((8,m),(T,2k)):((sT,SBO),(1,T)); interleaved ((8,m),(T,2k)):((1T,SBO),(1,LBO))
        l.mn_modes = 2;
        l.mn_shape[0] = 8, l.mn_shape[1] = 64;
        l.mn_stride[0] = s * 128, l.mn_stride[1] = sbo;
        l.k_shape[0] = t, l.k_stride[0] = bits;
        l.k_shape[1] = 64, l.k_stride[1] = d->swizzle == TMG_SWIZZLE_NONE ? lbo : 128;
    }
    return l;
}

// The worked examples of 9.7.15.5.1.2.1.3: exact layouts in elements, and the encoded offsets.
static void worked_examples_of_the_ptx_isa(void **state) {
    (void)state;
    static const struct {
        uint64_t descriptor;
        bool mn_major;
        uint32_t bits, mn, k;
        struct cute_layout exact;  // strides in elements
    } examples[] = {
        {0x0000000800100000,
         false,
         32,
         16,
         16,  // Figure 166: no swizzle, tf32
         {{8, 2}, {4, 4}, {4, 32}, {1, 64}, 2, 0}},
        {0xc000001000010000,
         false,
         32,
         16,
         16,  // Figure 167: 32B, tf32; LBO 1 (assumed)
         {{8, 2}, {4, 4}, {8, 64}, {1, 4}, 2, 1}},
        {0x0000000800100000,
         true,
         16,
         16,
         16,  // Figure 168: interleaved, bf16
         {{8, 1, 2}, {8, 2}, {1, 8, 64}, {8, 128}, 3, 0}},
        {0xc000002000100000,
         true,
         16,
         32,
         16,  // Figure 169: 32B, bf16
         {{8, 2, 2}, {8, 2}, {1, 8, 128}, {16, 256}, 3, 1}},
        {0x8000004000200000,
         true,
         16,
         64,
         16,  // Figure 170: 64B, bf16
         {{8, 4, 2}, {8, 2}, {1, 8, 256}, {32, 512}, 3, 2}},
    };
    for (size_t e = 0; e < sizeof examples / sizeof *examples; ++e) {
        struct cute_layout layout = examples[e].exact;
        for (int i = 0; i < 3; ++i) layout.mn_stride[i] *= examples[e].bits;
        for (int i = 0; i < 2; ++i) layout.k_stride[i] *= examples[e].bits;
        struct tmg_matrix_descriptor d = tmg_matrix_descriptor_decode(examples[e].descriptor);
        for (uint32_t mn = 0; mn < examples[e].mn; ++mn) {
            // tf32's 32-byte atom holds 8 columns; further ones are other atoms in the figure
            uint32_t columns =
                examples[e].mn_major || d.swizzle == TMG_SWIZZLE_NONE ? examples[e].k : 8;
            for (uint32_t k = 0; k < columns; ++k) {
                uint32_t want = layout_byte(&layout, 0, mn, k);
                uint32_t got =
                    tmg_matrix_address(&d, examples[e].mn_major, (int)examples[e].bits, mn, k);
                if (got != want) fail_msg("example %zu (%u, %u): %u, not %u", e, mn, k, got, want);
            }
        }
    }
}

static void descriptor_fields(void **state) {
    (void)state;
    struct tmg_matrix_descriptor d = {.start = 0x3fff0,
                                      .leading_offset = 0x12340,
                                      .stride_offset = 0x400,
                                      .base_offset = 5,
                                      .swizzle = TMG_SWIZZLE_64B};
    uint64_t bits = tmg_matrix_descriptor_encode(&d);
    assert_int_equal(bits, UINT64_C(2) << 62 | UINT64_C(5) << 49 | UINT64_C(0x40) << 32 |
                               UINT64_C(0x1234) << 16 | 0x3fff);
    struct tmg_matrix_descriptor back = tmg_matrix_descriptor_decode(bits | UINT64_C(3) << 14);
    assert_memory_equal(&back, &d, sizeof d);
}

enum { SMEM = 227 * 1024 };
static uint8_t smem[SMEM];
static float a_mk[64][256], b_kn[256][256];
static double d_mn[64][256];
static uint32_t a_rows[4][4][32], d_rows[4][128][32];
static bool used[SMEM / 16];

// Small integers: exact in every type and in every order of accumulation.
static float random_value(enum tmg_number type) {
    if (type == TMG_B1) return (float)random_below(2);
    if (type == TMG_U8) return (float)random_below(256);
    if (type == TMG_S8) return (float)random_below(256) - 128;
    return (float)random_below(9) - 4;
}

static void put(enum tmg_number type, uint32_t byte, uint32_t k, float value) {
    used[byte / 16] = true;
    if (type == TMG_B1) {
        smem[byte] = (uint8_t)((smem[byte] & ~(1u << k % 8)) | (unsigned)value << k % 8);
        return;
    }
    uint64_t bits = tmg_number_is_float(type)
                        ? tmg_number_from_double(type, value, TMG_ROUND_RN, true)
                        : (uint64_t)(int64_t)value;
    if (type == TMG_TF32) bits |= random_below(0x2000);  // the multiplier drops these
    memcpy(smem + byte, &bits, (size_t)tmg_number_bytes(type));
}

// Strides that put a matrix of [rows] x 32 bytes of k somewhere without overlap.
static struct tmg_matrix_descriptor random_descriptor(enum tmg_swizzle mode, bool mn_major,
                                                      uint32_t rows, uint32_t start) {
    uint32_t span = tmg_swizzle_rules[mode].span, slack = random_below(3) * 1024;
    struct tmg_matrix_descriptor d = {.start = start, .swizzle = mode};
    if (mode == TMG_SWIZZLE_NONE && !mn_major) {
        d.stride_offset = 128;
        d.leading_offset = rows / 8 * 128 + slack;
    } else if (mode == TMG_SWIZZLE_NONE) {
        d.stride_offset = 128;
        d.leading_offset = rows / 8 * 128 + slack;
    } else if (!mn_major) {
        d.stride_offset = 8 * span + slack;
        d.leading_offset = 16;       // not used
        uint32_t steps = span / 32;  // a k step inside of the swizzled span
        d.start += random_below(steps) * 32;
    } else {
        d.stride_offset = 8 * span;
        d.leading_offset = 16 * span + slack;
    }
    return d;
}

static uint64_t place(enum tmg_number type, bool mn_major, uint32_t rows, uint32_t k_count,
                      uint32_t start, bool is_b, enum tmg_swizzle mode) {
    struct tmg_matrix_descriptor d = random_descriptor(mode, mn_major, rows, start);
    uint32_t bits = type == TMG_B1 ? 1 : 8 * (uint32_t)tmg_number_bytes(type);
    struct cute_layout layout = canonical(&d, mn_major, bits);
    for (uint32_t mn = 0; mn < rows; ++mn) {
        for (uint32_t k = 0; k < k_count; ++k) {
            put(type, layout_byte(&layout, d.start, mn, k), k, is_b ? b_kn[k][mn] : a_mk[mn][k]);
        }
    }
    return tmg_matrix_descriptor_encode(&d);
}

// Multiplicand A in registers: Figures 148, 150, 152 and 154, one formula a type.
static void place_registers(enum tmg_number type, uint32_t k_count) {
    uint32_t each = k_count / 8;  // elements in a register: 1, 2, 4, 32
    for (uint32_t thread = 0; thread < 128; ++thread) {
        uint32_t lane = thread % 32, group = lane >> 2, in_group = lane % 4;
        for (uint32_t i = 0; i < 4; ++i) {
            uint32_t word = 0;
            for (uint32_t e = 0; e < each; ++e) {
                uint32_t row = thread / 32 * 16 + group + (i & 1 ? 8 : 0);
                uint32_t col = in_group * each + e + (i >= 2 ? k_count / 2 : 0);
                float value = a_mk[row][col];
                uint64_t bits = type == TMG_B1 || !tmg_number_is_float(type)
                                    ? (uint64_t)(int64_t)value
                                    : tmg_number_from_double(type, value, TMG_ROUND_RN, true);
                uint64_t mask = each == 1 ? 0xffffffff : (UINT64_C(1) << 32 / each) - 1;
                word |= (uint32_t)((bits & mask) << (e * (32 / each) % 32));
            }
            a_rows[thread / 32][i][lane] = word;
        }
    }
}

static void reference(const struct tmg_wgmma *op, uint32_t k_count) {
    double sign = op->negate_a != op->negate_b ? -1 : 1;
    for (int m = 0; m < 64; ++m) {
        for (int n = 0; n < op->n; ++n) {
            double sum = 0;
            for (uint32_t k = 0; k < k_count; ++k) sum += (double)a_mk[m][k] * b_kn[k][n];
            d_mn[m][n] = (op->scale_d ? d_mn[m][n] : 0) + sign * sum;
        }
    }
}

// Accumulator fragments: Figure 149, as mma.m16n8 (9.7.14.5.8) repeated over warps and columns.
static uint32_t *d_place(int m, int n, bool f16) {
    int warp = m / 16, group = m % 8, upper = m / 8 % 2, in_group = n % 8 / 2;
    int lane = group * 4 + in_group, element = n / 8 * 4 + upper * 2 + n % 2;
    return &d_rows[warp][f16 ? element / 2 : element][lane];
}

static void put_d(enum tmg_number type, int m, int n, double value) {
    uint32_t *word = d_place(m, n, type == TMG_F16);
    if (type == TMG_S32) *word = (uint32_t)(int32_t)value;
    if (type == TMG_F32) *word = tmg_f32_bits((float)value);
    if (type == TMG_F16) {
        uint32_t half = tmg_f32_to_f16_rn((float)value);
        *word = n % 2 ? (*word & 0xffff) | half << 16 : (*word & 0xffff0000) | half;
    }
}

static double get_d(enum tmg_number type, int m, int n) {
    uint32_t word = *d_place(m, n, type == TMG_F16);
    if (type == TMG_S32) return (int32_t)word;
    if (type == TMG_F32) return tmg_f32_from_bits(word);
    return tmg_f16_to_f32((uint16_t)(n % 2 ? word >> 16 : word));
}

static struct tmg_wgmma_operands operands(void) {
    struct tmg_wgmma_operands o = {.smem = smem, .smem_bytes = SMEM};
    for (int warp = 0; warp < 4; ++warp) {
        for (int i = 0; i < 4; ++i) o.a[warp][i] = a_rows[warp][i];
        for (int i = 0; i < 128; ++i) o.d[warp][i] = d_rows[warp][i];
    }
    return o;
}

static int count_granules(void *context, uint32_t address, uint32_t bytes) {
    for (uint32_t at = address; at < address + bytes; at += 16) assert_true(used[at / 16]);
    *(uint32_t *)context += bytes / 16;
    return 0;
}

// What the footprint names is exactly what the placed matrices occupy.
static void check_footprint(const struct tmg_wgmma *op, const struct tmg_wgmma_operands *o) {
    struct tmg_footprint footprint = {{0}, 0, 0};
    uint32_t got = 0, want = 0;
    for (int w = 0; w < 4 && !op->a_in_registers; ++w)
        tmg_wgmma_footprint_a(op, w, o->a_descriptor, &footprint);
    tmg_wgmma_footprint_b(op, o->b_descriptor, &footprint);
    assert_int_equal(tmg_footprint_each(&footprint, count_granules, &got), 0);
    for (int i = 0; i < SMEM / 16; ++i) want += used[i];
    assert_int_equal(got, want);
}

static void try_one(struct tmg_wgmma op, enum tmg_swizzle a_mode, enum tmg_swizzle b_mode) {
    if (tmg_wgmma_check(&op)) return;
    uint32_t k_count = (uint32_t)tmg_wgmma_k(&op);
    assert_int_equal(k_count, op.a == TMG_B1 ? 256 : 32 / tmg_number_bytes(op.a));
    for (int m = 0; m < 64; ++m) {
        for (uint32_t k = 0; k < k_count; ++k) a_mk[m][k] = random_value(op.a);
        for (int n = 0; n < op.n; ++n) d_mn[m][n] = (double)random_below(100) - 50;
    }
    for (uint32_t k = 0; k < k_count; ++k) {
        for (int n = 0; n < op.n; ++n) b_kn[k][n] = random_value(op.b);
    }
    for (int m = 0; m < 64; ++m) {
        for (int n = 0; n < op.n; ++n) put_d(op.d, m, n, d_mn[m][n]);
    }
    memset(used, 0, sizeof used);
    struct tmg_wgmma_operands o = operands();
    if (op.a_in_registers)
        place_registers(op.a, k_count);
    else
        o.a_descriptor = place(op.a, op.transpose_a, 64, k_count, 2048, false, a_mode);
    o.b_descriptor = place(op.b, op.transpose_b, (uint32_t)op.n, k_count, 80 * 1024, true, b_mode);
    reference(&op, k_count);
    assert_null(tmg_wgmma_run(&op, &o, NULL));
    for (int m = 0; m < 64; ++m) {
        for (int n = 0; n < op.n; ++n) {
            double got = get_d(op.d, m, n);
            if (got != d_mn[m][n]) {
                fail_msg("%s n %d a %s%s b %s%s: (%d, %d) is %g, not %g", tmg_number_name(op.a),
                         op.n, op.a_in_registers ? "registers " : tmg_swizzle_rules[a_mode].name,
                         op.transpose_a ? "T" : "", tmg_swizzle_rules[b_mode].name,
                         op.transpose_b ? "T" : "", m, n, got, d_mn[m][n]);
            }
        }
    }
    check_footprint(&op, &o);
}

static void multiplies_every_type_and_layout(void **state) {
    (void)state;
    static const struct tmg_wgmma types[] = {
        {.a = TMG_F16, .b = TMG_F16, .d = TMG_F32},   {.a = TMG_F16, .b = TMG_F16, .d = TMG_F16},
        {.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32}, {.a = TMG_TF32, .b = TMG_TF32, .d = TMG_F32},
        {.a = TMG_E4M3, .b = TMG_E5M2, .d = TMG_F32}, {.a = TMG_E5M2, .b = TMG_E4M3, .d = TMG_F16},
        {.a = TMG_S8, .b = TMG_U8, .d = TMG_S32},     {.a = TMG_U8, .b = TMG_S8, .d = TMG_S32},
        {.a = TMG_B1, .b = TMG_B1, .d = TMG_S32},
    };
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        for (int variant = 0; variant < 64; ++variant) {
            struct tmg_wgmma op = types[t];
            op.n = 8 * (1 + (int)random_below(32));
            if (op.d == TMG_S32 && op.n > 32) op.n = op.n / 16 * 16;
            if (variant == 0) op.n = 256;
            op.a_in_registers = variant & 1;
            op.transpose_a = variant & 2, op.transpose_b = variant & 4;
            op.negate_a = op.d != TMG_S32 && random_below(2),
            op.negate_b = op.d != TMG_S32 && random_below(2);
            op.scale_d = random_below(4) != 0;
            try_one(op, variant >> 2 & 3, variant >> 4 & 3);
        }
    }
}

static void every_n(void **state) {
    (void)state;
    for (int n = 8; n <= 256; n += 8) {
        try_one(
            (struct tmg_wgmma){.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32, .n = n, .scale_d = true},
            TMG_SWIZZLE_128B, TMG_SWIZZLE_128B);
    }
}

static void nan_is_canonical_and_saturation_clamps(void **state) {
    (void)state;
    struct tmg_wgmma op = {.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32, .n = 8};
    memset(smem, 0, sizeof smem);
    struct tmg_matrix_descriptor d = {.stride_offset = 1024, .swizzle = TMG_SWIZZLE_128B};
    struct tmg_wgmma_operands o = operands();
    o.a_descriptor = o.b_descriptor = tmg_matrix_descriptor_encode(&d);
    smem[0] = 0x81, smem[1] = 0xff;  // A[0][0] = B[0][0] = NaN with a payload and a sign
    assert_null(tmg_wgmma_run(&op, &o, NULL));
    assert_int_equal(d_rows[0][0][0], TMG_F32_NAN);
    struct tmg_wgmma add = {.a = TMG_U8, .b = TMG_U8, .d = TMG_S32, .n = 8, .scale_d = true};
    memset(smem, 0, sizeof smem);
    smem[0] = 2;
    for (int satfinite = 0; satfinite < 2; ++satfinite) {
        add.satfinite = satfinite;
        d_rows[0][0][0] = 0x7ffffffe;
        assert_null(tmg_wgmma_run(&add, &o, NULL));
        assert_int_equal(d_rows[0][0][0], satfinite ? 0x7fffffff : 0x80000002);
    }
}

static void reports_an_operand_outside(void **state) {
    (void)state;
    struct tmg_wgmma op = {.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32, .n = 64};
    struct tmg_matrix_descriptor d = {.stride_offset = 1024, .swizzle = TMG_SWIZZLE_128B};
    struct tmg_wgmma_operands o = operands();
    o.a_descriptor = tmg_matrix_descriptor_encode(&d);
    d.start = SMEM - 1024;
    o.b_descriptor = tmg_matrix_descriptor_encode(&d);
    uint32_t bad = 0;
    d_rows[0][0][0] = 77;
    assert_non_null(tmg_wgmma_run(&op, &o, &bad));
    assert_int_equal(bad, SMEM);
    assert_int_equal(d_rows[0][0][0], 77);
}

static void refuses_what_ptx_lacks(void **state) {
    (void)state;
    static const struct tmg_wgmma bad[] = {
        {.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F16, .n = 64},
        {.a = TMG_BF16, .b = TMG_F16, .d = TMG_F32, .n = 64},
        {.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32, .n = 264},
        {.a = TMG_BF16, .b = TMG_BF16, .d = TMG_F32, .n = 12},
        {.a = TMG_S8, .b = TMG_S8, .d = TMG_S32, .n = 40},
        {.a = TMG_E4M3, .b = TMG_E4M3, .d = TMG_F32, .n = 64, .transpose_b = true},
        {.a = TMG_BF16,
         .b = TMG_BF16,
         .d = TMG_F32,
         .n = 64,
         .transpose_a = true,
         .a_in_registers = true},
        {.a = TMG_S8, .b = TMG_S8, .d = TMG_S32, .n = 64, .negate_a = true},
        {.a = TMG_B1, .b = TMG_B1, .d = TMG_S32, .n = 64, .satfinite = true},
        {.a = TMG_F32, .b = TMG_F32, .d = TMG_F32, .n = 64},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) assert_non_null(tmg_wgmma_check(&bad[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_examples_of_the_ptx_isa),
        cmocka_unit_test(descriptor_fields),
        cmocka_unit_test(multiplies_every_type_and_layout),
        cmocka_unit_test(every_n),
        cmocka_unit_test(nan_is_canonical_and_saturation_clamps),
        cmocka_unit_test(reports_an_operand_outside),
        cmocka_unit_test(refuses_what_ptx_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
