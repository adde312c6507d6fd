// What the forms are given: bit patterns by class, half of them where arithmetic has its corners.
// A value is a function of the form's key, seed, slot and thread, so nothing depends on an order.
#include <math.h>
#include <string.h>

#include "tests/emu/vectors/vectors.h"

static const struct class classes[] = {
    {'h', ".b16", 2, INTEGER, 0, 0, 16, false},
    {'i', ".b32", 4, INTEGER, 0, 0, 32, false},
    {'l', ".b64", 8, INTEGER, 0, 0, 64, false},
    {'p', ".pred", 4, PREDICATE, 0, 0, 1, false},
    {'s', ".b32", 4, SMALL, 72, 0, 32, false},   // a shift: past both widths
    {'n', ".b32", 4, SMALL, 32, 0, 32, false},   // a lane
    {'u', ".b32", 4, SMALL, 256, 0, 32, false},  // a byte
    {'c', ".b32", 4, INTEGER, 0, 0, 13, false},  // shfl's clamp and segment
    {'e', ".b32", 4, INTEGER, 0, 0, 23, false},  // a subnormal f32
    {'f', ".b32", 4, FLOAT, 8, 23, 32, false},
    {'d', ".b64", 8, FLOAT, 11, 52, 64, false},
    {'x', ".b16", 2, FLOAT, 5, 10, 16, false},    // f16
    {'y', ".b16", 2, FLOAT, 8, 7, 16, false},     // bf16
    {'X', ".b32", 4, FLOAT, 5, 10, 32, false},    // two f16
    {'Y', ".b32", 4, FLOAT, 8, 7, 32, false},     // two bf16
    {'z', ".b32", 4, SMALL, 1, 0, 32, false},     // zero, that no compiler knows of
    {'a', ".b32", 4, MODERATE, 8, 23, 32, true},  // an angle within two pi
    {'F', ".b32", 4, MODERATE, 8, 23, 32, true},  // finite numbers around 1, for sums
    {'t', ".b32", 4, MODERATE, 8, 10, 32, true},  // tf32
    {'D', ".b64", 8, MODERATE, 11, 52, 64, true},
    {'k', ".b32", 4, MODERATE, 5, 10, 32, true},
    {'K', ".b32", 4, MODERATE, 8, 7, 32, true},
    {'g', ".b32", 4, MODERATE, 4, 3, 32, true},  // four e4m3
    {'G', ".b32", 4, MODERATE, 5, 2, 32, true},  // four e5m2
};

const struct class *class_of(char letter) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i)
        if (classes[i].letter == letter) return &classes[i];
    return NULL;
}

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t next(uint64_t *state) { return mix(*state += UINT64_C(0xd1342543de82ef95)); }

// Corners of integers: near 0, near a power of two, of any length, or any bits.
static uint64_t integer(uint64_t *state, unsigned bits) {
    uint64_t random = next(state), choice = next(state) % 8;
    unsigned length = (unsigned)(next(state) % bits);
    switch (choice) {
    case 0: return random % 4 - 2;
    case 1: return (UINT64_C(1) << length) + random % 3 - 1;
    case 2: return (UINT64_C(1) << (bits - 1)) + random % 3 - 1;
    case 3: return random >> (63 - length);
    case 4: return ~(random >> (63 - length));
    default: return random;
    }
}

// [exponent] is unbiased and may be out of range: it is kept within the normal numbers.
static uint64_t assemble(const struct class *class, int exponent, uint64_t fraction) {
    int bias = (1 << (class->exponent - 1)) - 1, biased = exponent + bias;
    int last = (1 << class->exponent) - 2;
    if (biased < 1) biased = 1;
    if (biased > last) biased = last;
    return (uint64_t)biased << class->fraction |
           (fraction & ((UINT64_C(1) << class->fraction) - 1));
}

// A float's corners, without sign: zeros, subnormals, ends of ranges, integers' limits, ties, NaNs.
static uint64_t corner(const struct class *class, uint64_t random) {
    static const int exponents[] = {-1, 0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 127, -14, -15, -24};
    uint64_t ones = (UINT64_C(1) << class->fraction) - 1, half = UINT64_C(1)
                                                                 << (class->fraction - 1);
    uint64_t infinity = ((UINT64_C(1) << class->exponent) - 1) << class->fraction;
    uint64_t least = UINT64_C(1) << class->fraction;
    uint64_t fractions[] = {0, 0, 1, half, half | half >> 1, ones};
    switch (random % 16) {
    case 0:
    case 1: return 0;
    case 2: return 1 + random / 16 % 2;
    case 3: return least - 1;
    case 4: return least + random / 16 % 2;
    case 5: return infinity - 1;
    case 6:
    case 7: return infinity;
    case 8: return infinity | half | random / 16 % half;
    case 9: return infinity | 1;
    default: return assemble(class, exponents[random / 16 % 15], fractions[random / 256 % 6]);
    }
}

static uint64_t floating(const struct class *class, uint64_t *state) {
    uint64_t random = next(state), choice = next(state) % 16, fraction = next(state);
    uint64_t sign = random >> 63 << (class->exponent + class->fraction);
    if (choice % 2) fraction &= ~UINT64_C(0) << (random / 64 % class->fraction);  // ties
    if (choice < 6) return sign | corner(class, random);
    if (choice < 10) return fraction & ((UINT64_C(2) << (class->exponent + class->fraction)) - 1);
    return sign | assemble(class, (int)(random % 13) - 6, fraction);
}

// Finite, some zeros and subnormals, exponents so far apart that a sum loses bits.
static uint64_t moderate(const struct class *class, uint64_t *state) {
    uint64_t random = next(state), fraction = next(state);
    uint64_t sign = random >> 63 << (class->exponent + class->fraction);
    int range = class->exponent < 5 ? 7 : class->exponent == 5 ? 12 : 14;
    if (random % 32 == 0) return sign;
    if (class->letter == 'a')
        return sign | assemble(class, 2 - (int)(random / 32 % 24), fraction & 0x47ffff);
    if (random % 32 == 1) return sign | (fraction & ((UINT64_C(1) << class->fraction) - 1));
    return sign | assemble(class, (int)(random / 32 % (unsigned)range) - range / 2, fraction);
}

// Where a class is narrower than its memory, the number is repeated, save for tf32, which is the
// upper part of an f32.
static uint64_t numbers(const struct class *class, uint64_t *state) {
    unsigned width = 1 + class->exponent + class->fraction, bits = 8 * class->bytes;
    uint64_t value = 0;
    if (class->letter == 't') return moderate(class, state) << 13;
    for (unsigned at = 0; at < bits; at += width)
        value |= (class->kind == FLOAT ? floating(class, state) : moderate(class, state)) << at;
    return value;
}

uint64_t input_value(const struct class *class, uint64_t key, uint64_t seed, size_t slot,
                     size_t index) {
    uint64_t state = mix(key ^ mix(seed)) ^ mix(slot * 65537 + index), value;
    switch (class->kind) {
    case PREDICATE: return next(&state) & 1;
    case SMALL: return next(&state) % class->exponent;
    case INTEGER: value = integer(&state, class->keep); break;
    default: value = numbers(class, &state);
    }
    return class->keep < 64 ? value & ((UINT64_C(1) << class->keep) - 1) : value;
}

// ---- Comparing

// The number that [bits] of a float class stand for.
static double number(const struct class *class, uint64_t bits) {
    int bias = (1 << (class->exponent - 1)) - 1;
    int biased = (int)(bits >> class->fraction & ((1u << class->exponent) - 1));
    uint64_t fraction = bits & ((UINT64_C(1) << class->fraction) - 1);
    double sign = bits >> (class->exponent + class->fraction) & 1 ? -1 : 1;
    if (biased == (1 << class->exponent) - 1) return fraction ? NAN : sign * INFINITY;
    if (biased) fraction |= UINT64_C(1) << class->fraction;
    return sign * ldexp((double)fraction, (biased ? biased : 1) - bias - (int)class->fraction);
}

static double ulp(const struct class *class, double value) {
    int exponent, least = 2 - (1 << (class->exponent - 1));
    frexp(value, &exponent);
    --exponent;
    return ldexp(1, (exponent < least ? least : exponent) - (int)class->fraction);
}

static bool near(const struct bound *bound, const struct class *class, double expected,
                 double got) {
    double size = fabs(expected), allowed = ulp(class, expected);
    if (expected != expected || got != got) return expected != expected && got != got;
    if (expected == got) return signbit(expected) == signbit(got);
    if (isinf(expected) || isinf(got)) return false;
    switch (bound->kind) {
    case ULP: allowed += bound->limit * allowed; break;
    case RELATIVE: allowed += bound->limit * size; break;
    case ABSOLUTE: allowed += bound->limit; break;
    default: allowed += bound->limit * (size > 1 ? size : 1);
    }
    return fabs(expected - got) <= allowed;
}

bool within(const struct bound *bound, const struct class *class, uint64_t expected, uint64_t got) {
    unsigned width = 1 + class->exponent + class->fraction;
    if (expected == got) return true;
    if (bound->kind == EXACT || (class->kind != FLOAT && class->kind != MODERATE)) return false;
    for (unsigned at = 0; at < 8 * class->bytes; at += width)
        if (!near(bound, class, number(class, expected >> at), number(class, got >> at)))
            return false;
    return true;
}
