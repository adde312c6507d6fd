// Reductions element by element: integers in 64 bits with the type's own width and sign,
// floats through a wider type whose rounding cannot double-round (24 bits for 11, 53 for 24).
#include "runtime/emu/model/reduce.h"

#include <math.h>

static int bits_of(enum tmg_number type) { return 8 * tmg_number_bytes(type); }

static uint64_t narrow(enum tmg_number type, uint64_t value) {
    return bits_of(type) == 64 ? value : value & ((UINT64_C(1) << bits_of(type)) - 1);
}

static int64_t sign_extend(enum tmg_number type, uint64_t value) {
    int unused = 64 - bits_of(type);
    return (int64_t)(value << unused) >> unused;
}

static bool integer_less(enum tmg_number type, uint64_t a, uint64_t b) {
    if (tmg_number_is_signed(type)) return sign_extend(type, a) < sign_extend(type, b);
    return narrow(type, a) < narrow(type, b);
}

static uint64_t reduce_integer(enum tmg_reduce op, enum tmg_number type, uint64_t old,
                               uint64_t value) {
    switch (op) {
    case TMG_REDUCE_ADD: return old + value;
    case TMG_REDUCE_MIN: return integer_less(type, value, old) ? value : old;
    case TMG_REDUCE_MAX: return integer_less(type, old, value) ? value : old;
    case TMG_REDUCE_INC: return old >= value ? 0 : old + 1;
    case TMG_REDUCE_DEC: return old == 0 || old > value ? value : old - 1;
    case TMG_REDUCE_AND: return old & value;
    case TMG_REDUCE_OR: return old | value;
    default: return old ^ value;
    }
}

static float flush(float value, bool ftz) {
    return ftz && fabsf(value) < 0x1p-126f ? copysignf(0.0f, value) : value;
}

static uint64_t add_f32(uint64_t a, uint64_t b, bool ftz) {
    float sum =
        flush(tmg_f32_from_bits((uint32_t)a), ftz) + flush(tmg_f32_from_bits((uint32_t)b), ftz);
    return sum != sum ? TMG_F32_NAN : tmg_f32_bits(flush(sum, ftz));
}

// Memory ([far]: global) leaves a NaN as it is, arithmetic in a core makes it quiet (observed).
static uint64_t add_f64(uint64_t a, uint64_t b, bool far) {
    double x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (far && (x != x || y != y)) return y != y ? b : a;
    x += y;
    memcpy(&a, &x, sizeof a);
    return a;
}

// f16 and bf16; a NaN operand of min and max gives way to the other one, -0 is below +0.
static uint64_t reduce_half(enum tmg_reduce op, enum tmg_number type, uint64_t old,
                            uint64_t value) {
    bool f16 = type == TMG_F16;
    float a = f16 ? tmg_f16_to_f32((uint16_t)old) : tmg_bf16_to_f32((uint16_t)old);
    float b = f16 ? tmg_f16_to_f32((uint16_t)value) : tmg_bf16_to_f32((uint16_t)value);
    if (op == TMG_REDUCE_ADD) return f16 ? tmg_f32_to_f16_rn(a + b) : tmg_f32_to_bf16_rn(a + b);
    if (a != a && b != b) return TMG_F16_NAN;
    if (a != a || b != b) return a != a ? value : old;
    bool less = b < a || (b == a && signbit(b) && !signbit(a));
    return less == (op == TMG_REDUCE_MIN) ? value : old;
}

uint64_t tmg_reduce_element(enum tmg_reduce op, enum tmg_number type, bool far, uint64_t old,
                            uint64_t value) {
    old = narrow(type, old);
    value = narrow(type, value);
    bool adds = op == TMG_REDUCE_ADD;
    if (type == TMG_F16 || type == TMG_BF16) return reduce_half(op, type, old, value);
    if (type == TMG_F32 && adds) return add_f32(old, value, far);
    if (type == TMG_F64 && adds) return add_f64(old, value, far);
    return narrow(type, reduce_integer(op, type, old, value));
}
