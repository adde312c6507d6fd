// Values out of the bits that a type's row describes, and back.
// Types of at most 16 bits are decoded by a table of all their values, made once from their row.
#include "measure/numbers.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static bool is_float(enum tmg_dtype_id dtype) { return tmg_dtypes[dtype].kind == TMG_KIND_FLOAT; }

// The types that the CPU has no arithmetic for.
static bool is_small(enum tmg_dtype_id dtype) {
    return is_float(dtype) && tmg_dtypes[dtype].bits <= 16;
}

static double format_value(const struct tmg_dtype *f, unsigned bits) {
    const int bias = (1 << (f->exponent_bits - 1)) - 1, top = (1 << f->exponent_bits) - 1;
    const int exponent = bits >> f->mantissa_bits & top;
    const int mantissa = bits & ((1 << f->mantissa_bits) - 1), full = (1 << f->mantissa_bits) - 1;
    const double sign = bits >> (f->exponent_bits + f->mantissa_bits) & 1 ? -1 : 1;
    if (exponent == top && f->top == TMG_TOP_SPECIAL) return mantissa ? NAN : sign * INFINITY;
    if (exponent == top && mantissa == full) return NAN;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - f->mantissa_bits);
    return sign * ldexp(mantissa + full + 1, exponent - bias - f->mantissa_bits);
}

// ---- Decoding

static float fp16_values[1 << 16], byte_values[TMG_DTYPES_OF_HOST][1 << 8];
static pthread_once_t values_once = PTHREAD_ONCE_INIT;

static void values_make(void) {
    for (unsigned i = 0; i < 1 << 16; ++i) {
        fp16_values[i] = (float)format_value(&tmg_dtypes[TMG_DTYPE_FP16], i);
    }
    for (int dtype = 0; dtype < TMG_DTYPES_OF_HOST; ++dtype) {
        if (tmg_dtypes[dtype].bits != 8 || !is_float(dtype)) continue;
        for (unsigned i = 0; i < 1 << 8; ++i) {
            byte_values[dtype][i] = (float)format_value(&tmg_dtypes[dtype], i);
        }
    }
}

static void decode_bf16(const uint16_t *from, float *to, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static void decode_fp16(const uint16_t *from, float *to, size_t count) {
    for (size_t i = 0; i < count; ++i) to[i] = fp16_values[from[i]];
}

static void decode_bytes(const float *values, const uint8_t *from, float *to, size_t count) {
    for (size_t i = 0; i < count; ++i) to[i] = values[from[i]];
}

void num_decode(enum tmg_dtype_id dtype, const void *from, float *to, size_t count) {
    const size_t bytes = tmg_dtype_bytes(dtype);
    pthread_once(&values_once, values_make);
    if (dtype == TMG_DTYPE_BF16) {
        decode_bf16(from, to, count);
    } else if (dtype == TMG_DTYPE_FP16) {
        decode_fp16(from, to, count);
    } else if (dtype == TMG_DTYPE_FP32) {
        memcpy(to, from, count * sizeof *to);
    } else if (is_small(dtype) && bytes == 1) {
        decode_bytes(byte_values[dtype], from, to, count);
    } else {
        for (size_t i = 0; i < count; ++i) {
            to[i] = (float)num_value(dtype, (const char *)from + i * bytes);
        }
    }
}

double num_value(enum tmg_dtype_id dtype, const void *element) {
    const struct tmg_dtype *row = &tmg_dtypes[dtype];
    union {
        uint64_t whole;
        float fp32;
        double fp64;
    } bits = {0};
    memcpy(&bits, element, tmg_dtype_bytes(dtype));  // little-endian, as every CUDA host
    if (dtype == TMG_DTYPE_FP32) return bits.fp32;
    if (dtype == TMG_DTYPE_FP64) return bits.fp64;
    if (dtype == TMG_DTYPE_BF16) {
        bits.whole <<= 16;
        return bits.fp32;
    }
    if (row->kind == TMG_KIND_FLOAT && dtype < TMG_DTYPES_OF_HOST) {
        pthread_once(&values_once, values_make);
        return dtype == TMG_DTYPE_FP16 ? fp16_values[bits.whole] : byte_values[dtype][bits.whole];
    }
    if (row->kind == TMG_KIND_FLOAT) return format_value(row, (unsigned)bits.whole);
    if (row->kind == TMG_KIND_UNSIGNED) return (double)bits.whole;
    const unsigned above = 64 - row->bits;
    return (double)((int64_t)(bits.whole << above) >> above);
}

// ---- Encoding

// The exponent of the last place of [value] in a format: fixed below the smallest normal number.
static int last_place(const struct tmg_dtype *f, double value) {
    int exponent;
    frexp(value, &exponent);  // value in [0.5, 1) * 2^exponent
    const int least = 2 - (1 << (f->exponent_bits - 1));
    return (exponent - 1 > least && value != 0 ? exponent - 1 : least) - f->mantissa_bits;
}

static unsigned format_encode(const struct tmg_dtype *f, double value) {
    const unsigned sign = (signbit(value) ? 1u : 0u) << (f->exponent_bits + f->mantissa_bits);
    const unsigned top = (1u << f->exponent_bits) - 1, one = 1u << f->mantissa_bits;
    const unsigned infinity =
        f->top == TMG_TOP_SPECIAL ? top << f->mantissa_bits : (top + 1) * one - 1;
    if (isnan(value)) return sign | ((top + 1) * one - 1);
    if (isinf(value)) return sign | infinity;
    const int place = last_place(f, value);
    const double steps = nearbyint(ldexp(fabs(value), -place));  // in units of the last place
    const int bias = (int)(top >> 1);
    const unsigned exponent = (unsigned)(place + f->mantissa_bits + bias);
    const double bits = steps < one ? steps : (double)exponent * one + (steps - one);
    return sign | (bits >= infinity ? infinity : (unsigned)bits);
}

// [value] clamped to an integer type's range, and rounded. Past 2^63 it is the double below it.
static int64_t integer(const struct tmg_dtype *row, double value) {
    const bool has_sign = row->kind == TMG_KIND_SIGNED;
    const double most = fmin(ldexp(1, (int)row->bits - has_sign) - 1, 9223372036854774784.0);
    if (isnan(value)) return 0;
    return (int64_t)nearbyint(fmin(fmax(value, has_sign ? -most - 1 : 0), most));
}

void num_encode(enum tmg_dtype_id dtype, double value, void *element) {
    const struct tmg_dtype *row = &tmg_dtypes[dtype];
    if (dtype == TMG_DTYPE_FP32) {
        memcpy(element, &(float){(float)value}, sizeof(float));
    } else if (dtype == TMG_DTYPE_FP64) {
        memcpy(element, &value, sizeof value);
    } else {
        const int64_t bits = is_small(dtype) ? format_encode(row, value) : integer(row, value);
        memcpy(element, &bits, tmg_dtype_bytes(dtype));
    }
}

double num_rounding(enum tmg_dtype_id dtype, double value) {
    if (!isfinite(value) || !is_float(dtype)) return 0;
    return ldexp(0.5, last_place(&tmg_dtypes[dtype], value));
}

// ---- Distance

// Bits as a number that counts representable values from zero: two's complement, or a float's sign
// and magnitude.
static double place(enum tmg_dtype_id dtype, uint64_t bits) {
    const struct tmg_dtype *row = &tmg_dtypes[dtype];
    const uint64_t sign = UINT64_C(1) << (row->bits - 1);
    if (row->kind == TMG_KIND_FLOAT) return bits & sign ? -(double)(bits - sign) : (double)bits;
    const bool negative = row->kind == TMG_KIND_SIGNED && bits & sign;
    return (double)bits - (negative ? 2 * (double)sign : 0);
}

double num_distance(enum tmg_dtype_id dtype, uint64_t a, uint64_t b) {
    const bool a_nan = isnan(num_value(dtype, &a)), b_nan = isnan(num_value(dtype, &b));
    if (a_nan || b_nan) return a_nan && b_nan ? 0 : INFINITY;
    return fabs(place(dtype, a) - place(dtype, b));
}
