// Conversions against oracles that share no code with the model: tables of every value a narrow
// format can hold, the host's own arithmetic under each rounding mode, and PTX's special cases.
#include "runtime/emu/model/convert.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1du;
}

// The formats as PTX ISA 5.2.3 describes them, restated by hand: [tops] exponent fields are
// reserved, [dropped] of the largest codes are NaN.
struct narrow {
    enum tmg_number type;
    int bits, exponent, mantissa, bias, codes;  // codes: finite non-negative values
    bool infinite;
};
static const struct narrow narrows[] = {
    {TMG_F16, 16, 5, 10, 15, 0x7c00, true}, {TMG_BF16, 16, 8, 7, 127, 0x7f80, true},
    {TMG_E4M3, 8, 4, 3, 7, 0x7f, false},    {TMG_E5M2, 8, 5, 2, 15, 0x7c, true},
    {TMG_E2M3, 6, 2, 3, 1, 0x20, false},    {TMG_E3M2, 6, 3, 2, 3, 0x20, false},
    {TMG_E2M1, 4, 2, 1, 1, 0x8, false},
};
enum { NARROWS = sizeof narrows / sizeof *narrows };

static double code_value(const struct narrow *n, int code) {
    int field = code >> n->mantissa, fraction = code & ((1 << n->mantissa) - 1);
    double significand = fraction / ldexp(1, n->mantissa) + (field > 0);
    return ldexp(significand, (field > 0 ? field : 1) - n->bias);
}

// Picks between the two neighbours in the list of all values: the definition of rounding.
static uint64_t oracle_round(const struct narrow *n, double x, enum tmg_round round,
                             bool satfinite) {
    uint64_t sign = signbit(x) ? UINT64_C(1) << (n->bits - 1) : 0;
    double magnitude = fabs(x), largest = code_value(n, n->codes - 1);
    double step = largest - code_value(n, n->codes - 2);
    uint64_t beyond = n->infinite ? (uint64_t)n->codes : 0x7f;
    if (satfinite && magnitude > largest) return sign | (uint64_t)(n->codes - 1);
    if (isinf(x)) return sign | beyond;
    int low = 0, high = n->codes;  // code_value(low) <= magnitude < code_value(high)
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(code_value(n, middle) <= magnitude ? &low : &high) = middle;
    }
    double below = code_value(n, low), above = below + (low == n->codes - 1 ? step : 0);
    if (low < n->codes - 1) above = code_value(n, low + 1);
    bool up = round == TMG_ROUND_RP   ? !sign && magnitude > below
              : round == TMG_ROUND_RM ? sign && magnitude > below
                                      : false;
    if (round == TMG_ROUND_RN) {
        double middle = below + (above - below) / 2;
        up = magnitude > middle || (magnitude == middle && (low & 1));
    }
    if (magnitude >= above)
        up = round == TMG_ROUND_RN || (round == TMG_ROUND_RP && !sign) ||
             (round == TMG_ROUND_RM && sign);
    int code = low + up;
    return sign | (code == n->codes ? beyond : (uint64_t)code);
}

static void decodes_every_narrow_value(void **state) {
    (void)state;
    for (int i = 0; i < NARROWS; ++i) {
        const struct narrow *n = &narrows[i];
        for (int code = 0; code < n->codes; ++code) {
            uint64_t negative = (uint64_t)code | UINT64_C(1) << (n->bits - 1);
            assert_true(tmg_number_to_double(n->type, (uint64_t)code) == code_value(n, code));
            assert_true(tmg_number_to_double(n->type, negative) == -code_value(n, code));
        }
    }
    assert_true(isnan(tmg_number_to_double(TMG_E4M3, 0x7f)));
    assert_true(isnan(tmg_number_to_double(TMG_E4M3, 0xff)));
    assert_true(isinf(tmg_number_to_double(TMG_E5M2, 0xfc)));
    assert_true(isnan(tmg_number_to_double(TMG_E5M2, 0x7d)));
    assert_true(isinf(tmg_number_to_double(TMG_TF32, 0x7f800001)));  // the low bits do not count
    assert_true(isnan(tmg_number_to_double(TMG_TF32, 0x7f802000)));
}

static void check_round(const struct narrow *n, double x) {
    static const enum tmg_round rounds[] = {TMG_ROUND_RN, TMG_ROUND_RZ, TMG_ROUND_RM, TMG_ROUND_RP};
    for (int r = 0; r < 4; ++r) {
        for (int satfinite = n->infinite || n->type == TMG_E4M3 ? 0 : 1; satfinite < 2;
             ++satfinite) {
            uint64_t got = tmg_number_from_double(n->type, x, rounds[r], satfinite);
            uint64_t want = oracle_round(n, x, rounds[r], satfinite);
            if (got != want) {
                fail_msg("%s(%a) round %d satfinite %d: got %#jx, want %#jx",
                         tmg_number_name(n->type), x, rounds[r], satfinite, (uintmax_t)got,
                         (uintmax_t)want);
            }
        }
    }
}

// Each value, each midpoint, and the doubles right beside both: where rounding can go wrong.
static void rounds_at_every_boundary(void **state) {
    (void)state;
    for (int i = 0; i < NARROWS; ++i) {
        const struct narrow *n = &narrows[i];
        for (int code = 0; code < n->codes; ++code) {
            double value = code_value(n, code);
            double next =
                code + 1 < n->codes ? code_value(n, code + 1) : 2 * value - code_value(n, code - 1);
            double middle = value + (next - value) / 2;
            double probes[] = {value,
                               nextafter(value, INFINITY),
                               middle,
                               nextafter(middle, 0),
                               nextafter(middle, INFINITY),
                               nextafter(next, 0)};
            for (int p = 0; p < 6; ++p) {
                check_round(n, probes[p]);
                check_round(n, -probes[p]);
            }
        }
        check_round(n, INFINITY);
        check_round(n, -INFINITY);
        check_round(n, 1e300);
        check_round(n, -1e-300);
    }
}

static void hot_paths_agree_with_the_generic_one(void **state) {
    (void)state;
    struct tmg_cvt widen_f16 = {.to = TMG_F32, .from = TMG_F16};
    struct tmg_cvt widen_bf16 = {.to = TMG_F32, .from = TMG_BF16};
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        assert_int_equal(tmg_f32_bits(tmg_f16_to_f32((uint16_t)bits)),
                         tmg_cvt_scalar(&widen_f16, bits));
        if ((bits & 0x7fff) > 0x7f80) continue;  // bf16 NaN: PTX leaves the payload open
        assert_int_equal(tmg_f32_bits(tmg_bf16_to_f32((uint16_t)bits)),
                         tmg_cvt_scalar(&widen_bf16, bits));
    }
    struct tmg_cvt to_f16 = {.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RN};
    struct tmg_cvt to_bf16 = {.to = TMG_BF16, .from = TMG_F32, .round = TMG_ROUND_RN};
    for (uint64_t step = 0, bits = 0; bits < UINT64_C(1) << 32; ++step, bits += 1021 + step % 3) {
        float value = tmg_f32_from_bits((uint32_t)bits);
        uint16_t half = tmg_f32_to_f16_rn(value), brain = tmg_f32_to_bf16_rn(value);
        if (half != tmg_cvt_scalar(&to_f16, bits) || brain != tmg_cvt_scalar(&to_bf16, bits)) {
            fail_msg("f32 %#jx: f16 %#x, bf16 %#x", (uintmax_t)bits, half, brain);
        }
    }
}

static int host_round(enum tmg_round round) {
    return round == TMG_ROUND_RZ || round == TMG_ROUND_RZI   ? FE_TOWARDZERO
           : round == TMG_ROUND_RM || round == TMG_ROUND_RMI ? FE_DOWNWARD
           : round == TMG_ROUND_RP || round == TMG_ROUND_RPI ? FE_UPWARD
                                                             : FE_TONEAREST;
}

static double random_double(void) {  // all magnitudes around the f32 range
    double fraction = (double)(int64_t)random_bits();
    return ldexp(fraction, (int)(random_bits() % 320) - 220);
}

static void f64_to_f32_as_the_host(void **state) {
    (void)state;
    for (int i = 0; i < 400000; ++i) {
        struct tmg_cvt cvt = {.to = TMG_F32, .from = TMG_F64, .round = TMG_ROUND_RN + i % 4};
        volatile double x = random_double();
        double exact = x;
        uint64_t bits;
        memcpy(&bits, &exact, sizeof bits);
        fesetround(host_round(cvt.round));
        volatile float want = (float)x;
        fesetround(FE_TONEAREST);
        assert_int_equal(tmg_cvt_scalar(&cvt, bits), tmg_f32_bits(want));
    }
}

static void integers_to_floats_as_the_host(void **state) {
    (void)state;
    for (int i = 0; i < 400000; ++i) {
        enum tmg_round round = TMG_ROUND_RN + i % 4;
        uint64_t bits = random_bits() >> (random_bits() % 64);
        volatile int64_t s = (int64_t)(i & 4 ? 0 - bits : bits);
        volatile uint64_t u = bits;
        fesetround(host_round(round));
        volatile float s32 = (float)(int32_t)s, s64 = (float)s;
        volatile double d64 = (double)s;
        fesetround(FE_TONEAREST);
        double wide = d64;
        uint64_t wide_bits;
        memcpy(&wide_bits, &wide, sizeof wide_bits);
        struct tmg_cvt cvt = {.to = TMG_F32, .from = TMG_S32, .round = round};
        assert_int_equal(tmg_cvt_scalar(&cvt, (uint64_t)s), tmg_f32_bits(s32));
        cvt.from = TMG_S64;
        assert_int_equal(tmg_cvt_scalar(&cvt, (uint64_t)s), tmg_f32_bits(s64));
        cvt.to = TMG_F64;
        assert_int_equal(tmg_cvt_scalar(&cvt, (uint64_t)s), wide_bits);
        cvt.from = TMG_U64, cvt.to = TMG_F32, cvt.round = TMG_ROUND_RN;
        assert_int_equal(tmg_cvt_scalar(&cvt, u), tmg_f32_bits((float)u));
    }
}

// Rounds on the host, then clamps.
static uint64_t oracle_integer(double x, enum tmg_round round, int bits, bool is_signed) {
    double (*volatile library_rint)(double) = rint;  // an inlined one assumes round to nearest
    fesetround(host_round(round));
    volatile double whole = library_rint(x);
    fesetround(FE_TONEAREST);
    double least = is_signed ? -ldexp(1, bits - 1) : 0, beyond = ldexp(1, bits - is_signed);
    uint64_t most = is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (whole >= beyond) return most;
    if (whole <= least) return is_signed ? UINT64_MAX << (bits - 1) : 0;
    return whole < 0 ? 0 - (uint64_t)-whole : (uint64_t)whole;
}

static void floats_to_integers_clamp(void **state) {
    (void)state;
    for (int i = 0; i < 400000; ++i) {
        enum tmg_number to = (enum tmg_number)(random_bits() % 8);
        enum tmg_round round = TMG_ROUND_RNI + i % 4;
        double x = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 80) - 72);
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        struct tmg_cvt cvt = {.to = to, .from = TMG_F64, .round = round};
        uint64_t want =
            oracle_integer(x, round, 8 * tmg_number_bytes(to), tmg_number_is_signed(to));
        assert_int_equal(tmg_cvt_scalar(&cvt, bits), want);
        volatile float single = (float)x;  // volatile: not moved past the host's rounding mode
        cvt.from = TMG_F32;
        want = oracle_integer(single, round, 8 * tmg_number_bytes(to), tmg_number_is_signed(to));
        assert_int_equal(tmg_cvt_scalar(&cvt, tmg_f32_bits(single)), want);
    }
}

// One row a fact of PTX ISA 9.7.9.21; [bits] and [want] are patterns.
static const struct special {
    struct tmg_cvt cvt;
    uint64_t bits, want;
} specials[] = {
    // NaN to an integer
    {{.to = TMG_S32, .from = TMG_F32, .round = TMG_ROUND_RZI}, 0x7fc00000, 0},
    {{.to = TMG_S32, .from = TMG_F64, .round = TMG_ROUND_RZI},
     0x7ff8000000000000,
     0x80000000 | UINT64_C(0xffffffff00000000)},
    {{.to = TMG_U32, .from = TMG_F64, .round = TMG_ROUND_RZI}, 0x7ff8000000000000, 0x80000000},
    {{.to = TMG_S64, .from = TMG_F32, .round = TMG_ROUND_RZI}, 0x7fc00000, 0x8000000000000000},
    {{.to = TMG_U64, .from = TMG_F16, .round = TMG_ROUND_RZI}, 0x7e00, 0x8000000000000000},
    {{.to = TMG_U8, .from = TMG_F16, .round = TMG_ROUND_RZI}, 0x7e00, 0},
    // infinities clamp
    {{.to = TMG_S16, .from = TMG_F32, .round = TMG_ROUND_RNI}, 0xff800000, 0xffffffffffff8000},
    {{.to = TMG_U32, .from = TMG_F32, .round = TMG_ROUND_RNI}, 0x7f800000, 0xffffffff},
    // .ftz on an f32 source and on an f32 result, sign kept
    {{.to = TMG_S32, .from = TMG_F32, .round = TMG_ROUND_RPI, .ftz = true}, 0x00000001, 0},
    {{.to = TMG_S32, .from = TMG_F32, .round = TMG_ROUND_RPI}, 0x00000001, 1},
    {{.to = TMG_F32, .from = TMG_BF16, .ftz = true}, 0x8001, 0x80000000},
    {{.to = TMG_F32, .from = TMG_F64, .round = TMG_ROUND_RN, .ftz = true},
     0xb700000000000000,
     0x80000000},
    {{.to = TMG_F32, .from = TMG_F16, .ftz = true}, 0x0001, 0x33800000},
    // .sat of floats
    {{.to = TMG_F32, .from = TMG_F32, .sat = true}, 0x7fc00000, 0},
    {{.to = TMG_F32, .from = TMG_F32, .sat = true}, 0x40000000, 0x3f800000},
    {{.to = TMG_F32, .from = TMG_F32, .sat = true}, 0x3fc00000, 0x3f800000},
    {{.to = TMG_F32, .from = TMG_F32, .sat = true}, 0xc0000000, 0},
    {{.to = TMG_F32, .from = TMG_F32, .sat = true}, 0x3e800000, 0x3e800000},
    {{.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RN, .sat = true}, 0x7f800000, 0x3c00},
    // integral roundings keep the sign of zero and pass infinities
    {{.to = TMG_F32, .from = TMG_F32, .round = TMG_ROUND_RNI}, 0xbf000000, 0x80000000},
    {{.to = TMG_F32, .from = TMG_F32, .round = TMG_ROUND_RNI}, 0x40200000, 0x40000000},
    {{.to = TMG_F32, .from = TMG_F32, .round = TMG_ROUND_RPI}, 0x40200000, 0x40400000},
    {{.to = TMG_F16, .from = TMG_F16, .round = TMG_ROUND_RMI}, 0xb800, 0xbc00},
    {{.to = TMG_F32, .from = TMG_F32, .round = TMG_ROUND_RZI}, 0xff800000, 0xff800000},
    // integers
    {{.to = TMG_S8, .from = TMG_S32}, 0x1ff, UINT64_MAX},
    {{.to = TMG_S8, .from = TMG_S32, .sat = true}, 0x1ff, 0x7f},
    {{.to = TMG_U8, .from = TMG_S32, .sat = true}, 0xffffffff, 0},
    {{.to = TMG_U32, .from = TMG_U64, .sat = true}, 0x100000000, 0xffffffff},
    {{.to = TMG_S64, .from = TMG_S32}, 0x80000000, 0xffffffff80000000},
    {{.to = TMG_U64, .from = TMG_S16}, 0x8000, 0xffffffffffff8000},
    {{.to = TMG_S32, .from = TMG_U32, .sat = true}, 0x80000000, 0x7fffffff},
    {{.to = TMG_S64, .from = TMG_U64, .sat = true}, UINT64_MAX, INT64_MAX},
    // .relu and .satfinite
    {{.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RN, .relu = true}, 0xbf800000, 0},
    {{.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RN, .relu = true}, 0xffc00000, 0x7fff},
    {{.to = TMG_BF16, .from = TMG_F32, .round = TMG_ROUND_RZ, .relu = true, .satfinite = true},
     0x7f800000,
     0x7f7f},
    {{.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RN, .satfinite = true},
     0xff800000,
     0xfbff},
    {{.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RN}, 0x477ff000, 0x7c00},
    {{.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RZ}, 0x477ff000, 0x7bff},
    // tf32: 10 mantissa bits, low 13 clear; .rna takes ties away from zero
    {{.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RNA}, 0x3f801000, 0x3f802000},
    {{.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RN}, 0x3f801000, 0x3f800000},
    {{.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RNA}, 0xbf800fff, 0xbf800000},
    {{.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RNA}, 0x7f7ff000, 0x7f800000},
    {{.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RNA, .satfinite = true},
     0x7f7ff000,
     0x7f7fe000},
    {{.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RZ}, 0x00001fff, 0},
    {{.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RN}, 0x7f800001, 0x7fffe000},
};

static void special_cases_of_the_ptx_isa(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; ++i) {
        uint64_t got = tmg_cvt_scalar(&specials[i].cvt, specials[i].bits);
        if (got != specials[i].want) {
            fail_msg("row %zu: %#jx to %#jx, not %#jx", i, (uintmax_t)specials[i].bits,
                     (uintmax_t)got, (uintmax_t)specials[i].want);
        }
    }
}

static uint64_t f32s(float value) { return tmg_f32_bits(value); }

static void packs_the_first_operand_highest(void **state) {
    (void)state;
    struct tmg_cvt cvt = {.to = TMG_BF16, .from = TMG_F32, .round = TMG_ROUND_RN, .lanes = 2};
    uint64_t pair[4] = {f32s(1.0f), f32s(-2.0f)};
    assert_int_equal(tmg_cvt_packed(&cvt, pair), 0x3f80c000);
    cvt.to = TMG_E4M3, cvt.satfinite = true;
    assert_int_equal(tmg_cvt_packed(&cvt, pair), 0x38c0);
    cvt.to = TMG_E2M1;
    assert_int_equal(tmg_cvt_packed(&cvt, pair), 0x2c);
    cvt.to = TMG_E2M3;
    assert_int_equal(tmg_cvt_packed(&cvt, pair), 0x0830);
    cvt.to = TMG_E3M2;
    assert_int_equal(tmg_cvt_packed(&cvt, pair), 0x0c30);
    struct tmg_cvt unpack = {
        .to = TMG_F16, .from = TMG_E4M3, .round = TMG_ROUND_RN, .packed_source = true, .lanes = 2};
    assert_int_equal(tmg_cvt_packed(&unpack, (uint64_t[]){0x38c0}), 0x3c00c000);
    unpack.from = TMG_E2M1;
    assert_int_equal(tmg_cvt_packed(&unpack, (uint64_t[]){0x2c}), 0x3c00c000);
    struct tmg_cvt four = {
        .to = TMG_E5M2, .from = TMG_F32, .round = TMG_ROUND_RN, .satfinite = true, .lanes = 4};
    uint64_t quad[4] = {f32s(1), f32s(2), f32s(NAN), f32s(-INFINITY)};
    assert_int_equal(tmg_cvt_packed(&four, quad), 0x3c407ffb);
    four.to = TMG_E2M1;
    assert_int_equal(tmg_cvt_packed(&four, quad), 0x247f);
}

static void ue8m0_is_a_bare_exponent(void **state) {
    (void)state;
    struct tmg_cvt down = {.to = TMG_UE8M0, .from = TMG_F32, .round = TMG_ROUND_RZ};
    struct tmg_cvt up = down;
    up.round = TMG_ROUND_RP;
    assert_int_equal(tmg_cvt_scalar(&down, f32s(1.0f)), 127);
    assert_int_equal(tmg_cvt_scalar(&down, f32s(1.999f)), 127);
    assert_int_equal(tmg_cvt_scalar(&up, f32s(1.001f)), 128);
    assert_int_equal(tmg_cvt_scalar(&down, f32s(-4.0f)), 129);
    assert_int_equal(tmg_cvt_scalar(&down, f32s(0x1p-149f)), 0);
    assert_int_equal(tmg_cvt_scalar(&down, f32s(NAN)), 0xff);
    assert_int_equal(tmg_cvt_scalar(&up, f32s(0x1.8p127f)), 0xff);
    up.satfinite = true;
    assert_int_equal(tmg_cvt_scalar(&up, f32s(0x1.8p127f)), 0xfe);
    struct tmg_cvt back = {.to = TMG_BF16,
                           .from = TMG_UE8M0,
                           .round = TMG_ROUND_RN,
                           .packed_source = true,
                           .lanes = 2};
    assert_int_equal(tmg_cvt_packed(&back, (uint64_t[]){0x7f00}), 0x3f800040);
    assert_int_equal(tmg_cvt_packed(&back, (uint64_t[]){0xff80}), 0x7fff4000);
}

static void refuses_what_ptx_refuses(void **state) {
    (void)state;
    static const struct tmg_cvt bad[] = {
        {.to = TMG_F16, .from = TMG_F32},
        {.to = TMG_S32, .from = TMG_F32},
        {.to = TMG_S32, .from = TMG_F32, .round = TMG_ROUND_RN},
        {.to = TMG_F32, .from = TMG_S32},
        {.to = TMG_F32, .from = TMG_F64, .round = TMG_ROUND_RNI},
        {.to = TMG_S8, .from = TMG_S32, .round = TMG_ROUND_RN},
        {.to = TMG_F16, .from = TMG_F64, .round = TMG_ROUND_RN, .ftz = true},
        {.to = TMG_E4M3, .from = TMG_F32, .round = TMG_ROUND_RN, .lanes = 2},
        {.to = TMG_E4M3, .from = TMG_F32, .round = TMG_ROUND_RN, .satfinite = true},
        {.to = TMG_E4M3, .from = TMG_F32, .round = TMG_ROUND_RZ, .satfinite = true, .lanes = 2},
        {.to = TMG_F32, .from = TMG_E4M3, .round = TMG_ROUND_RN, .lanes = 2},
        {.to = TMG_UE8M0, .from = TMG_F32, .round = TMG_ROUND_RN, .lanes = 2},
        {.to = TMG_F16, .from = TMG_F32, .round = TMG_ROUND_RNA},
        {.to = TMG_TF32, .from = TMG_F16, .round = TMG_ROUND_RN},
        {.to = TMG_F32, .from = TMG_F32, .relu = true},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        if (!tmg_cvt_check(&bad[i])) fail_msg("row %zu is refused by PTX", i);
    }
    static const struct tmg_cvt good[] = {
        {.to = TMG_F32, .from = TMG_F16},
        {.to = TMG_F32, .from = TMG_BF16, .ftz = true},
        {.to = TMG_F32, .from = TMG_F32, .round = TMG_ROUND_RZI},
        {.to = TMG_F64, .from = TMG_S32, .round = TMG_ROUND_RN},
        {.to = TMG_U32, .from = TMG_F32, .round = TMG_ROUND_RZI},
        {.to = TMG_U64, .from = TMG_S32},
        {.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RNA, .satfinite = true},
        {.to = TMG_E5M2,
         .from = TMG_F16,
         .round = TMG_ROUND_RN,
         .satfinite = true,
         .relu = true,
         .lanes = 2},
        {.to = TMG_UE8M0, .from = TMG_BF16, .round = TMG_ROUND_RP, .satfinite = true, .lanes = 2},
        {.to = TMG_BF16, .from = TMG_F16, .round = TMG_ROUND_RZ},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        const char *wrong = tmg_cvt_check(&good[i]);
        if (wrong) fail_msg("row %zu is allowed: %s", i, wrong);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_every_narrow_value),
        cmocka_unit_test(rounds_at_every_boundary),
        cmocka_unit_test(hot_paths_agree_with_the_generic_one),
        cmocka_unit_test(f64_to_f32_as_the_host),
        cmocka_unit_test(integers_to_floats_as_the_host),
        cmocka_unit_test(floats_to_integers_clamp),
        cmocka_unit_test(special_cases_of_the_ptx_isa),
        cmocka_unit_test(packs_the_first_operand_highest),
        cmocka_unit_test(ue8m0_is_a_bare_exponent),
        cmocka_unit_test(refuses_what_ptx_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
