// Approximations through the host's double precision, rounded once: a correctly rounded result is
// within every bound that PTX states, and libm's doubles already give most special values.
#include "runtime/emu/model/approx.h"

#include <math.h>

static double evaluate(enum tmg_function function, double x) {
    switch (function) {
    case TMG_EX2: return exp2(x);
    case TMG_LG2: return x == 0 ? -INFINITY : log2(x);
    case TMG_RCP: return 1 / x;
    case TMG_RSQRT: return 1 / sqrt(x);
    case TMG_SQRT: return sqrt(x);
    case TMG_SIN: return sin(x);
    case TMG_COS: return cos(x);
    case TMG_TANH: return tanh(x);
    default: return NAN;
    }
}

static float flush(float value) { return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value; }

static uint32_t result_f32(double value, bool ftz) {
    float rounded = (float)value;
    if (rounded != rounded) return TMG_F32_NAN;
    return tmg_f32_bits(ftz ? flush(rounded) : rounded);
}

uint32_t tmg_approx_f32(enum tmg_function function, bool ftz, uint32_t bits) {
    float x = tmg_f32_from_bits(bits);
    return result_f32(evaluate(function, (double)(ftz ? flush(x) : x)), ftz);
}

uint16_t tmg_approx_f16(enum tmg_function function, uint16_t bits) {
    double value = evaluate(function, (double)tmg_f16_to_f32(bits));
    return (uint16_t)tmg_number_from_double(TMG_F16, value, TMG_ROUND_RN, false);
}

static uint16_t flush_bf16(uint16_t bits) {
    return (bits & 0x7fffu) < 0x0080u ? (uint16_t)(bits & 0x8000u) : bits;
}

uint16_t tmg_approx_bf16(enum tmg_function function, uint16_t bits) {
    bool ftz = function == TMG_EX2;  // the only form that PTX has; tanh keeps subnormals
    double x = (double)tmg_bf16_to_f32(ftz ? flush_bf16(bits) : bits);
    uint64_t result = tmg_number_from_double(TMG_BF16, evaluate(function, x), TMG_ROUND_RN, false);
    return ftz ? flush_bf16((uint16_t)result) : (uint16_t)result;
}

static double f64_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t f64_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define F64_NAN       UINT64_C(0x7fffffff00000000)
#define F64_MAGNITUDE UINT64_C(0x7fffffffffffffff)
#define F64_NORMAL    UINT64_C(0x0010000000000000)

static uint64_t upper_word(uint64_t bits) { return bits & UINT64_C(0xffffffff00000000); }

static uint64_t flush_f64(uint64_t bits) {
    return (bits & F64_MAGNITUDE) < F64_NORMAL ? bits & ~F64_MAGNITUDE : bits;
}

uint64_t tmg_approx_ftz_f64(enum tmg_function function, uint64_t bits) {
    double value = evaluate(function, f64_from_bits(flush_f64(upper_word(bits))));
    return value != value ? F64_NAN : flush_f64(upper_word(f64_bits(value)));
}

uint64_t tmg_rsqrt_f64(uint64_t bits) {
    double value = evaluate(TMG_RSQRT, f64_from_bits(bits));
    return value != value ? F64_NAN : f64_bits(value);
}

uint32_t tmg_divide_f32(bool full, bool ftz, uint32_t a, uint32_t b) {
    float x = tmg_f32_from_bits(a), y = tmg_f32_from_bits(b);
    if (ftz) x = flush(x), y = flush(y);
    // div.approx multiplies by a reciprocal that is subnormal here, and flushed.
    bool flushed = !full && fabsf(y) > 0x1p126f && fabsf(y) < INFINITY;
    double reciprocal = flushed ? copysign(0.0, (double)y) : 1 / (double)y;
    return result_f32(full ? (double)x / (double)y : (double)x * reciprocal, ftz);
}
