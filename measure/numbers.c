// Element types as rows: bits of exponent and mantissa, and what the top exponent means.
// The small types are decoded by a table of all their values, made once from those rows.
#include "measure/numbers.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

const struct num_row num_types[NUM_TYPES] = {
    [NUM_BF16] = {"bf16", 2}, [NUM_FP16] = {"fp16", 2}, [NUM_FP32] = {"fp32", 4},
    [NUM_FP64] = {"fp64", 8}, [NUM_E4M3] = {"e4m3", 1}, [NUM_E5M2] = {"e5m2", 1},
    [NUM_I8] = {"i8", 1},     [NUM_U8] = {"u8", 1},     [NUM_I16] = {"i16", 2},
    [NUM_U16] = {"u16", 2},   [NUM_I32] = {"i32", 4},   [NUM_U32] = {"u32", 4},
    [NUM_I64] = {"i64", 8},   [NUM_U64] = {"u64", 8},
};

int num_find(const char *name) {
    for (int i = 0; i < NUM_TYPES; ++i) {
        if (!strcmp(num_types[i].name, name)) return i;
    }
    return -1;
}

// A binary floating-point format of at most 16 bits. [top] says what the largest exponent is for.
struct format {
    int exponent_bits, mantissa_bits;
    enum { TOP_IS_INFINITY, TOP_IS_NUMBER } top;  // e4m3: only all ones is NaN
};

static const struct format formats[] = {
    [NUM_BF16] = {8, 7, TOP_IS_INFINITY},
    [NUM_FP16] = {5, 10, TOP_IS_INFINITY},
    [NUM_E4M3] = {4, 3, TOP_IS_NUMBER},
    [NUM_E5M2] = {5, 2, TOP_IS_INFINITY},
};

static float fp16_values[1 << 16], e4m3_values[1 << 8], e5m2_values[1 << 8];
static pthread_once_t values_once = PTHREAD_ONCE_INIT;

static int is_small(enum num_type dtype) {
    return dtype == NUM_BF16 || dtype == NUM_FP16 || dtype == NUM_E4M3 || dtype == NUM_E5M2;
}

static double format_value(const struct format *f, unsigned bits) {
    const int bias = (1 << (f->exponent_bits - 1)) - 1, top = (1 << f->exponent_bits) - 1;
    const int exponent = bits >> f->mantissa_bits & top;
    const int mantissa = bits & ((1 << f->mantissa_bits) - 1), full = (1 << f->mantissa_bits) - 1;
    const double sign = bits >> (f->exponent_bits + f->mantissa_bits) & 1 ? -1 : 1;
    if (exponent == top && f->top == TOP_IS_INFINITY) return mantissa ? NAN : sign * INFINITY;
    if (exponent == top && mantissa == full) return NAN;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - f->mantissa_bits);
    return sign * ldexp(mantissa + full + 1, exponent - bias - f->mantissa_bits);
}

static void values_make(void) {
    for (unsigned i = 0; i < 1 << 16; ++i) {
        fp16_values[i] = (float)format_value(&formats[NUM_FP16], i);
    }
    for (unsigned i = 0; i < 1 << 8; ++i) {
        e4m3_values[i] = (float)format_value(&formats[NUM_E4M3], i);
        e5m2_values[i] = (float)format_value(&formats[NUM_E5M2], i);
    }
}

static void decode_bf16(const uint16_t *from, float *to, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static void decode_bytes(const float *values, const uint8_t *from, float *to, size_t count) {
    for (size_t i = 0; i < count; ++i) to[i] = values[from[i]];
}

void num_decode(enum num_type dtype, const void *from, float *to, size_t count) {
    pthread_once(&values_once, values_make);
    switch (dtype) {
    case NUM_BF16: decode_bf16(from, to, count); return;
    case NUM_FP32: memcpy(to, from, count * sizeof *to); return;
    case NUM_E4M3: decode_bytes(e4m3_values, from, to, count); return;
    case NUM_E5M2: decode_bytes(e5m2_values, from, to, count); return;
    case NUM_FP16:
        for (size_t i = 0; i < count; ++i) to[i] = fp16_values[((const uint16_t *)from)[i]];
        return;
    default:
        for (size_t i = 0; i < count; ++i) {
            to[i] = (float)num_value(dtype, (const char *)from + i * num_types[dtype].bytes);
        }
    }
}

double num_value(enum num_type dtype, const void *element) {
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } bits;
    memcpy(&bits, element, num_types[dtype].bytes);
    switch (dtype) {
    case NUM_FP32: return bits.f32;
    case NUM_FP64: return bits.f64;
    case NUM_U8: return bits.u8;
    case NUM_I8: return bits.i8;
    case NUM_I16: return bits.i16;
    case NUM_U16: return bits.u16;
    case NUM_I32: return bits.i32;
    case NUM_U32: return bits.u32;
    case NUM_I64: return (double)bits.i64;
    case NUM_U64: return (double)bits.u64;
    case NUM_E4M3:
    case NUM_E5M2: return format_value(&formats[dtype], bits.u8);
    default: return format_value(&formats[dtype], bits.u16);
    }
}

// The exponent of the last place of [value] in a format: fixed below the smallest normal number.
static int last_place(int exponent_bits, int mantissa_bits, double value) {
    int exponent;
    frexp(value, &exponent);  // value in [0.5, 1) * 2^exponent
    const int least = 2 - (1 << (exponent_bits - 1));
    return (exponent - 1 > least && value != 0 ? exponent - 1 : least) - mantissa_bits;
}

static unsigned format_encode(const struct format *f, double value) {
    const unsigned sign = (signbit(value) ? 1u : 0u) << (f->exponent_bits + f->mantissa_bits);
    const unsigned top = (1u << f->exponent_bits) - 1, one = 1u << f->mantissa_bits;
    const unsigned infinity =
        f->top == TOP_IS_INFINITY ? top << f->mantissa_bits : (top + 1) * one - 1;
    if (isnan(value)) return sign | ((top + 1) * one - 1);
    if (isinf(value)) return sign | infinity;
    const int place = last_place(f->exponent_bits, f->mantissa_bits, value);
    const double steps = nearbyint(ldexp(fabs(value), -place));  // in units of the last place
    const int bias = (int)(top >> 1);
    const unsigned exponent = (unsigned)(place + f->mantissa_bits + bias);
    const double bits = steps < one ? steps : (double)exponent * one + (steps - one);
    return sign | (bits >= infinity ? infinity : (unsigned)bits);
}

#define TWO_63 9223372036854774784.0  // the largest double below 2^63

// [value] clamped to an integer type's range, and rounded.
static int64_t integer(double value, double least, double greatest) {
    if (isnan(value)) return 0;
    return (int64_t)nearbyint(fmin(fmax(value, least), greatest));
}

void num_encode(enum num_type dtype, double value, void *element) {
    if (is_small(dtype)) {
        const uint16_t bits = (uint16_t)format_encode(&formats[dtype], value);
        const uint8_t byte = (uint8_t)bits;
        memcpy(element, num_types[dtype].bytes == 1 ? (const void *)&byte : &bits,
               num_types[dtype].bytes);
    } else if (dtype == NUM_FP32) {
        memcpy(element, &(float){(float)value}, sizeof(float));
    } else if (dtype == NUM_FP64) {
        memcpy(element, &value, sizeof value);
    } else {
        static const double least[NUM_TYPES] = {
            [NUM_I8] = INT8_MIN, [NUM_I16] = INT16_MIN, [NUM_I32] = INT32_MIN, [NUM_I64] = -TWO_63};
        static const double greatest[NUM_TYPES] = {
            [NUM_U8] = UINT8_MAX,   [NUM_I8] = INT8_MAX,   [NUM_I16] = INT16_MAX,
            [NUM_U16] = UINT16_MAX, [NUM_I32] = INT32_MAX, [NUM_U32] = UINT32_MAX,
            [NUM_I64] = TWO_63,     [NUM_U64] = TWO_63};
        const int64_t bits = integer(value, least[dtype], greatest[dtype]);
        memcpy(element, &bits, num_types[dtype].bytes);  // little-endian, as every CUDA host
    }
}

double num_rounding(enum num_type dtype, double value) {
    if (!isfinite(value)) return 0;
    if (is_small(dtype)) {
        const struct format *f = &formats[dtype];
        return ldexp(0.5, last_place(f->exponent_bits, f->mantissa_bits, value));
    }
    if (dtype == NUM_FP32) return ldexp(0.5, last_place(8, 23, value));
    if (dtype == NUM_FP64) return ldexp(0.5, last_place(11, 52, value));
    return 0;
}

// Bits as a number that counts representable values from zero: two's complement, or a float's sign
// and magnitude.
static double place(enum num_type dtype, uint64_t bits) {
    const unsigned width = 8 * num_types[dtype].bytes;
    const uint64_t sign = UINT64_C(1) << (width - 1);
    if (dtype >= NUM_I8) {
        const bool is_signed =
            dtype == NUM_I8 || dtype == NUM_I16 || dtype == NUM_I32 || dtype == NUM_I64;
        return (double)bits - (is_signed && bits & sign ? 2 * (double)sign : 0);
    }
    return bits & sign ? -(double)(bits - sign) : (double)bits;
}

double num_distance(enum num_type dtype, uint64_t a, uint64_t b) {
    const bool a_nan = isnan(num_value(dtype, &a)), b_nan = isnan(num_value(dtype, &b));
    if (a_nan || b_nan) return a_nan && b_nan ? 0 : INFINITY;
    return fabs(place(dtype, a) - place(dtype, b));
}
