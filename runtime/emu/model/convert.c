// The generic conversion: unpack any format to sign, exponent and a 64-bit mantissa, round once.
// A table row a format replaces a function a pair of types, so that every pair rounds alike.
#include "runtime/emu/model/convert.h"

#include <math.h>
#include <stddef.h>

enum value_class { KIND_ZERO, KIND_FINITE, KIND_INFINITY, KIND_NAN };

// The value is mantissa * 2^exponent; a finite one has bit 63 of its mantissa set.
struct unpacked {
    enum value_class kind;
    bool negative;
    int exponent;
    uint64_t mantissa;
};

// PTX ISA 5.2.1 and 5.2.3. [largest], [infinity], [nan] are magnitudes (no sign bit) as stored;
// [infinity] 0 means the format has none, [nan] 0 likewise (NaN then becomes the largest value).
// [pad] low bits of the register are not part of the number (tf32).
struct format {
    const char *name;
    int bits, container, exponent_bits, mantissa_bits, bias, pad;
    bool is_float, is_signed;
    uint64_t largest, infinity, nan;
};

#define INTEGER(NAME, BITS, SIGNED) \
    { .name = (NAME), .bits = (BITS), .container = (BITS), .is_signed = (SIGNED) }
#define FLOAT(NAME, BITS, CONTAINER, E, M, PAD, LARGEST, INFINITE, NOT_A_NUMBER)               \
    {                                                                                          \
        .name = (NAME), .bits = (BITS), .container = (CONTAINER), .exponent_bits = (E),        \
        .mantissa_bits = (M), .bias = (1 << ((E)-1)) - 1, .pad = (PAD), .is_float = true,      \
        .is_signed = true, .largest = (LARGEST), .infinity = (INFINITE), .nan = (NOT_A_NUMBER) \
    }

static const struct format formats[TMG_NUMBER_COUNT] = {
    [TMG_U8] = INTEGER("u8", 8, false),
    [TMG_U16] = INTEGER("u16", 16, false),
    [TMG_U32] = INTEGER("u32", 32, false),
    [TMG_U64] = INTEGER("u64", 64, false),
    [TMG_S8] = INTEGER("s8", 8, true),
    [TMG_S16] = INTEGER("s16", 16, true),
    [TMG_S32] = INTEGER("s32", 32, true),
    [TMG_S64] = INTEGER("s64", 64, true),
    [TMG_F16] = FLOAT("f16", 16, 16, 5, 10, 0, 0x7bff, 0x7c00, TMG_F16_NAN),
    [TMG_BF16] = FLOAT("bf16", 16, 16, 8, 7, 0, 0x7f7f, 0x7f80, TMG_BF16_NAN),
    [TMG_TF32] = FLOAT("tf32", 32, 32, 8, 10, 13, 0x7f7fe000, 0x7f800000, TMG_F32_NAN),
    [TMG_F32] = FLOAT("f32", 32, 32, 8, 23, 0, 0x7f7fffff, 0x7f800000, TMG_F32_NAN),
    [TMG_F64] =
        FLOAT("f64", 64, 64, 11, 52, 0, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000),
    [TMG_E4M3] = FLOAT("e4m3", 8, 8, 4, 3, 0, 0x7e, 0, 0x7f),
    [TMG_E5M2] = FLOAT("e5m2", 8, 8, 5, 2, 0, 0x7b, 0x7c, 0x7f),
    [TMG_E2M3] = FLOAT("e2m3", 6, 8, 2, 3, 0, 0x1f, 0, 0),
    [TMG_E3M2] = FLOAT("e3m2", 6, 8, 3, 2, 0, 0x1f, 0, 0),
    [TMG_E2M1] = FLOAT("e2m1", 4, 4, 2, 1, 0, 0x7, 0, 0),
    [TMG_UE8M0] = {.name = "ue8m0",
                   .bits = 8,
                   .container = 8,
                   .exponent_bits = 8,
                   .bias = 127,
                   .is_float = true,
                   .largest = 0xfe,
                   .nan = 0xff},
    [TMG_B1] = INTEGER("b1", 1, false),
    [TMG_S4] = INTEGER("s4", 4, true),
    [TMG_U4] = INTEGER("u4", 4, false),
};

int tmg_number_bytes(enum tmg_number type) { return (formats[type].bits + 7) / 8; }
bool tmg_number_is_float(enum tmg_number type) { return formats[type].is_float; }
bool tmg_number_is_signed(enum tmg_number type) { return formats[type].is_signed; }
const char *tmg_number_name(enum tmg_number type) { return formats[type].name; }

static uint64_t low_mask(int bits) { return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1; }

static struct unpacked normalise(bool negative, uint64_t mantissa, int exponent) {
    if (mantissa == 0) return (struct unpacked){KIND_ZERO, negative, 0, 0};
    int shift = __builtin_clzll(mantissa);
    return (struct unpacked){KIND_FINITE, negative, exponent - shift, mantissa << shift};
}

static struct unpacked unpack_integer(const struct format *format, uint64_t bits) {
    bits &= low_mask(format->bits);
    bool negative = format->is_signed && (bits >> (format->bits - 1)) != 0;
    if (negative) bits = (0 - bits) & low_mask(format->bits);
    return normalise(negative, bits, 0);
}

// ue8m0 is 2^(bits - 127): no sign, no zero, NaN is 0xff (PTX ISA 5.2.3).
static struct unpacked unpack_ue8m0(uint64_t bits) {
    bits &= 0xff;
    if (bits == 0xff) return (struct unpacked){KIND_NAN, false, 0, 0};
    return normalise(false, 1, (int)bits - 127);
}

static struct unpacked unpack_float(const struct format *format, uint64_t bits) {
    bool negative = (bits >> (format->bits - 1)) & 1;
    uint64_t magnitude = bits & low_mask(format->bits - 1);
    if (format->infinity && magnitude >= format->infinity) {
        bool exact = magnitude >> format->pad == format->infinity >> format->pad;
        return (struct unpacked){exact ? KIND_INFINITY : KIND_NAN, negative, 0, 0};
    }
    if (!format->infinity && format->nan && magnitude == format->nan) {
        return (struct unpacked){KIND_NAN, negative, 0, 0};
    }
    magnitude >>= format->pad;
    int field = (int)(magnitude >> format->mantissa_bits);
    uint64_t mantissa = magnitude & low_mask(format->mantissa_bits);
    if (field > 0) mantissa |= UINT64_C(1) << format->mantissa_bits;
    int exponent = (field > 0 ? field : 1) - format->bias - format->mantissa_bits;
    return normalise(negative, mantissa, exponent);
}

static struct unpacked unpack(enum tmg_number type, uint64_t bits) {
    const struct format *format = &formats[type];
    if (type == TMG_UE8M0) return unpack_ue8m0(bits);
    return format->is_float ? unpack_float(format, bits) : unpack_integer(format, bits);
}

// Whether dropping [rest] (a fraction with [half] as one half, [sticky] below it) rounds away
// from zero. [odd]: the kept part is odd.
static bool rounds_up(enum tmg_round round, bool negative, bool odd, bool half, bool sticky) {
    switch (round) {
    case TMG_ROUND_RM:
    case TMG_ROUND_RMI: return negative && (half || sticky);
    case TMG_ROUND_RP:
    case TMG_ROUND_RPI: return !negative && (half || sticky);
    case TMG_ROUND_RZ:
    case TMG_ROUND_RZI: return false;
    case TMG_ROUND_RNA: return half;
    default: return half && (sticky || odd);
    }
}

// [value]'s mantissa as a multiple of 2^quantum, rounded; quantum - exponent must be > 0.
static uint64_t round_to_quantum(const struct unpacked *value, int quantum, enum tmg_round round) {
    int shift = quantum - value->exponent;
    uint64_t kept = shift >= 64 ? 0 : value->mantissa >> shift;
    bool half = shift <= 64 && ((value->mantissa >> (shift - 1)) & 1);
    uint64_t below = value->mantissa & low_mask(shift - 1);
    return kept + rounds_up(round, value->negative, kept & 1, half, below != 0);
}

// IEEE 754 section 7.4: what an overflow becomes. Formats without infinity turn it into NaN.
static uint64_t overflow(const struct format *format, bool negative, enum tmg_round round,
                         bool satfinite) {
    bool to_largest = satfinite || round == TMG_ROUND_RZ || (round == TMG_ROUND_RM && !negative) ||
                      (round == TMG_ROUND_RP && negative);
    if (to_largest) return format->largest;
    return format->infinity ? format->infinity : format->nan ? format->nan : format->largest;
}

static uint64_t pack_ue8m0(const struct unpacked *value, enum tmg_round round, bool satfinite) {
    const struct format *format = &formats[TMG_UE8M0];
    if (value->kind == KIND_NAN) return format->nan;
    if (value->kind == KIND_INFINITY) return satfinite ? format->largest : format->nan;
    if (value->kind == KIND_ZERO) return 0;
    int power = value->exponent + 63 + format->bias;
    bool inexact = (value->mantissa << 1) != 0;
    if (power < 0) return 0;
    if (round == TMG_ROUND_RP && inexact) ++power;
    if (power > (int)format->largest) return satfinite ? format->largest : format->nan;
    return (uint64_t)power;
}

static uint64_t pack_float(const struct format *format, const struct unpacked *value,
                           enum tmg_round round, bool satfinite) {
    uint64_t sign = (uint64_t)value->negative << (format->bits - 1);
    if (value->kind == KIND_NAN) return format->nan ? format->nan : format->largest;
    if (value->kind == KIND_ZERO) return sign;
    if (value->kind == KIND_INFINITY) return sign | overflow(format, 0, TMG_ROUND_RN, satfinite);
    int smallest = 1 - format->bias, leading = value->exponent + 63;
    int binade = leading > smallest ? leading : smallest;
    uint64_t kept = round_to_quantum(value, binade - format->mantissa_bits, round);
    // A carry out of the mantissa walks into the exponent field by itself.
    int field = binade - smallest;
    uint64_t magnitude = (((uint64_t)field << format->mantissa_bits) + kept) << format->pad;
    if (magnitude > format->largest) {
        magnitude = overflow(format, value->negative, round, satfinite);
    }
    return sign | magnitude;
}

// Float to integer clamps to the destination's range. NaN becomes 0, or with a 64-bit type on
// either side the pattern 1 << (width - 1) (PTX ISA 9.7.9.21, Integer Notes).
static uint64_t pack_integer(const struct format *to, const struct format *from,
                             const struct unpacked *value, enum tmg_round round) {
    uint64_t top = UINT64_C(1) << (to->bits - 1);
    uint64_t most = to->is_signed ? top - 1 : low_mask(to->bits);
    uint64_t least = to->is_signed ? top : 0;  // as a magnitude
    if (value->kind == KIND_NAN) return to->bits == 64 || from->bits == 64 ? top : 0;
    uint64_t limit = value->negative ? least : most;
    uint64_t magnitude = 0;
    if (value->kind == KIND_INFINITY || (value->kind == KIND_FINITE && value->exponent > 0)) {
        magnitude = limit;  // infinity, or 2^64 and above
    } else if (value->kind == KIND_FINITE) {
        magnitude = value->exponent == 0 ? value->mantissa : round_to_quantum(value, 0, round);
        if (magnitude > limit) magnitude = limit;
    }
    return value->negative ? 0 - magnitude : magnitude;
}

// Integer to integer: keep the low bits, or with .sat clamp to the destination's range.
static uint64_t convert_integer(const struct tmg_cvt *cvt, uint64_t bits) {
    const struct format *to = &formats[cvt->to], *from = &formats[cvt->from];
    struct unpacked value = unpack_integer(from, bits);
    uint64_t magnitude = value.kind == KIND_ZERO ? 0 : value.mantissa >> -value.exponent;
    if (cvt->sat) {
        uint64_t top = UINT64_C(1) << (to->bits - 1);
        uint64_t most = to->is_signed ? top - 1 : low_mask(to->bits);
        uint64_t limit = !value.negative ? most : to->is_signed ? top : 0;
        if (magnitude > limit) magnitude = limit;
    }
    return value.negative ? 0 - magnitude : magnitude;
}

// The low [bits] of [value], sign- or zero-extended to 64 as the type says.
static uint64_t extend(const struct format *format, uint64_t value) {
    value &= low_mask(format->bits);
    bool negative = format->is_signed && !format->is_float && (value >> (format->bits - 1));
    return negative ? value | ~low_mask(format->bits) : value;
}

static bool is_integral_round(enum tmg_round round) { return round >= TMG_ROUND_RNI; }

// .rni, .rzi, .rmi, .rpi between floats of one size: an integral value, the sign kept.
static void round_to_integral(struct unpacked *value, enum tmg_round round) {
    if (value->kind != KIND_FINITE || value->exponent >= 0) return;
    uint64_t whole = round_to_quantum(value, 0, round);
    *value = normalise(value->negative, whole, 0);
}

static bool is_subnormal_f32(enum tmg_number type, const struct unpacked *value) {
    return type == TMG_F32 && value->kind == KIND_FINITE && value->exponent + 63 < -126;
}

// .sat of a float destination: clamp to [0, 1], NaN to +0.
static void saturate_unit(struct unpacked *value) {
    bool one = !value->negative && (value->kind == KIND_INFINITY ||
                                    (value->kind == KIND_FINITE && value->exponent >= -63));
    if (one) *value = normalise(false, 1, 0);
    if (value->kind == KIND_NAN || value->negative) *value = normalise(false, 0, 0);
}

static uint64_t flush_f32(enum tmg_number type, uint64_t bits) {
    bool subnormal = type == TMG_F32 && (bits & 0x7fffffffu) < 0x00800000u;
    return subnormal ? bits & 0x80000000u : bits;
}

// NaNs whose sign and payload live through a conversion, as observed; PTX leaves it open. All that
// goes to or from f64 keeps them and becomes quiet; bf16 to f32 and copies change nothing.
static bool keeps_nan(const struct tmg_cvt *cvt, uint64_t bits, uint64_t *result) {
    const struct format *to = &formats[cvt->to], *from = &formats[cvt->from];
    bool copies = cvt->to == cvt->from && cvt->round == TMG_ROUND_NONE && !cvt->ftz;
    bool wide = cvt->to == TMG_F64 || cvt->from == TMG_F64;
    bool widens = cvt->to == TMG_F32 && cvt->from == TMG_BF16;
    if (cvt->to == TMG_TF32) {
        // .satfinite is one step back from what is not finite, NaNs too.
        uint64_t back = cvt->satfinite ? UINT64_C(1) << to->pad : 0;
        *result = cvt->round == TMG_ROUND_RNA ? (bits & ~low_mask(to->pad)) - back : 0x7fffe000;
        return true;
    }
    if (cvt->sat || cvt->relu || !(copies || wide || widens)) return false;
    if (cvt->ftz && cvt->from == TMG_F32) bits = from->nan;
    int shift = to->mantissa_bits - from->mantissa_bits;
    uint64_t payload = bits & low_mask(from->mantissa_bits);
    payload = shift >= 0 ? payload << shift : payload >> -shift;
    if (wide && !copies) payload |= UINT64_C(1) << (to->mantissa_bits - 1);
    *result = bits >> (from->bits - 1) << (to->bits - 1) | to->infinity | payload;
    return !(cvt->ftz && cvt->to == TMG_F32 && !wide);
}

static uint64_t convert(const struct tmg_cvt *cvt, uint64_t bits) {
    const struct format *to = &formats[cvt->to], *from = &formats[cvt->from];
    if (!to->is_float && !from->is_float) return extend(to, convert_integer(cvt, bits));

    struct unpacked value = unpack(cvt->from, bits);
    // Subnormals of f32 that go to f16 are beyond .ftz, as only a directed rounding shows.
    if (cvt->ftz && cvt->to != TMG_F16 && is_subnormal_f32(cvt->from, &value)) {
        value = (struct unpacked){KIND_ZERO, value.negative, 0, 0};
    }
    if (!to->is_float) return extend(to, pack_integer(to, from, &value, cvt->round));

    if (is_integral_round(cvt->round)) round_to_integral(&value, cvt->round);
    if (cvt->sat) saturate_unit(&value);
    if (cvt->relu && value.kind != KIND_NAN && value.negative) value = normalise(false, 0, 0);
    if (cvt->to == TMG_UE8M0) return pack_ue8m0(&value, cvt->round, cvt->satfinite);
    uint64_t result = pack_float(to, &value, cvt->round, cvt->satfinite);
    return cvt->ftz ? flush_f32(cvt->to, result) : result;
}

uint64_t tmg_cvt_scalar(const struct tmg_cvt *cvt, uint64_t bits) {
    bool floats = formats[cvt->to].is_float && formats[cvt->from].is_float;
    uint64_t kept;
    if (floats && unpack(cvt->from, bits).kind == KIND_NAN && keeps_nan(cvt, bits, &kept))
        return kept;
    return convert(cvt, bits);
}

uint64_t tmg_cvt_packed(const struct tmg_cvt *cvt, const uint64_t *source) {
    int lanes = cvt->lanes > 1 ? cvt->lanes : 1;
    if (lanes == 1) return tmg_cvt_scalar(cvt, source[0]);
    int from_bits = formats[cvt->from].container, to_bits = formats[cvt->to].container;
    uint64_t result = 0;
    for (int lane = 0; lane < lanes; ++lane) {
        uint64_t bits =
            cvt->packed_source ? source[0] >> ((lanes - 1 - lane) * from_bits) : source[lane];
        result = result << to_bits | tmg_cvt_scalar(cvt, bits & low_mask(formats[cvt->from].bits));
    }
    return result;
}

double tmg_number_to_double(enum tmg_number type, uint64_t bits) {
    struct unpacked value = unpack(type, bits);
    double magnitude = value.kind == KIND_NAN        ? NAN
                       : value.kind == KIND_INFINITY ? INFINITY
                       : value.kind == KIND_ZERO     ? 0.0
                                                 : ldexp((double)value.mantissa, value.exponent);
    return value.negative ? -magnitude : magnitude;
}

uint64_t tmg_number_from_double(enum tmg_number type, double value, enum tmg_round round,
                                bool satfinite) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    struct tmg_cvt cvt = {.to = type, .from = TMG_F64, .round = round, .satfinite = satfinite};
    return convert(&cvt, bits);
}

// True for the types that exist only in packed form (.e4m3x2 ...).
static bool is_narrow(enum tmg_number type) { return type >= TMG_E4M3 && type <= TMG_UE8M0; }

// What PTX ISA 9.7.9.21 allows when one side is a narrow format.
static const char *check_narrow(const struct tmg_cvt *cvt) {
    bool ue8m0 = cvt->to == TMG_UE8M0 || cvt->from == TMG_UE8M0;
    if (cvt->lanes < 2) return "the narrow formats exist only packed, as x2 or x4";
    if (is_narrow(cvt->to) && is_narrow(cvt->from)) return "no cvt joins two narrow formats";
    if (is_narrow(cvt->from)) {
        if (cvt->to != (ue8m0 ? TMG_BF16 : TMG_F16)) {
            return ue8m0 ? "ue8m0x2 converts to bf16x2 only" : "this format converts to f16x2 only";
        }
        return cvt->round == TMG_ROUND_RN ? NULL : "this conversion wants .rn";
    }
    if (cvt->from != TMG_F32 && cvt->from != TMG_F16 && cvt->from != TMG_BF16) {
        return "a narrow format is made from f32, f16x2 or bf16x2 only";
    }
    if (ue8m0) {
        if (cvt->relu) return ".relu does not apply to ue8m0";
        bool fits = cvt->round == TMG_ROUND_RZ || cvt->round == TMG_ROUND_RP;
        return fits ? NULL : "a conversion to ue8m0 wants .rz or .rp";
    }
    if (!cvt->satfinite) return "this destination format wants .satfinite";
    return cvt->round == TMG_ROUND_RN ? NULL : "this destination format wants .rn";
}

static const char *check_modifiers(const struct tmg_cvt *cvt) {
    const struct format *to = &formats[cvt->to];
    if (cvt->ftz && cvt->to != TMG_F32 && cvt->from != TMG_F32) {
        return ".ftz wants f32 as source or destination";
    }
    if (cvt->sat && (cvt->satfinite || cvt->relu)) return ".sat excludes .satfinite and .relu";
    if ((cvt->relu || cvt->satfinite) &&
        (!to->is_float || cvt->to == TMG_F32 || cvt->to == TMG_F64)) {
        return ".relu and .satfinite want a destination narrower than f32";
    }
    if (cvt->round == TMG_ROUND_RNA && cvt->to != TMG_TF32) return ".rna is for tf32 only";
    if (cvt->to == TMG_TF32 && cvt->from != TMG_F32) return "tf32 is made from f32 only";
    if (cvt->from == TMG_TF32) return "tf32 is no source format of cvt";
    if (cvt->from >= TMG_B1 || cvt->to >= TMG_B1) return "cvt knows no b1, s4, u4";
    return NULL;
}

const char *tmg_cvt_check(const struct tmg_cvt *cvt) {
    const struct format *to = &formats[cvt->to], *from = &formats[cvt->from];
    const char *wrong = check_modifiers(cvt);
    if (wrong) return wrong;
    if (is_narrow(cvt->to) || is_narrow(cvt->from)) return check_narrow(cvt);
    bool integral = is_integral_round(cvt->round), rounds = cvt->round != TMG_ROUND_NONE;
    if (!to->is_float && !from->is_float) return rounds ? "integers take no rounding" : NULL;
    if (!to->is_float) return integral ? NULL : "float to integer wants .rni, .rzi, .rmi or .rpi";
    if (integral) {
        return from->is_float && to->bits == from->bits
                   ? NULL
                   : "an integer rounding wants floats of one size";
    }
    if (!from->is_float) return rounds ? NULL : "integer to float wants .rn, .rz, .rm or .rp";
    bool loses = to->mantissa_bits < from->mantissa_bits || to->exponent_bits < from->exponent_bits;
    return loses && !rounds ? "this conversion loses precision and wants a rounding" : NULL;
}
