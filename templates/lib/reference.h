// reference.h: what a family's reference.c is written in. It includes this, and gives an element of
// the output and, where inputs are not simply normal, draws them. The same text is C99 for a CPU
// and CUDA for a GPU or the emulator.
//
//     #include "reference.h"
//     static struct value element(const struct problem *p, const struct tensor *out,
//                                 const int64_t *index) {
//         return within(out, 2 * at(tensor_of(p, "x"), index), 0);
//     }
//
// With #define DRAWS before the #include, also a row of each tensor that family.lua lists in
// `draws`:
//     static void draw(const struct problem *p, const struct tensor *t, const int64_t *row);
// For both languages: functions static, data not; no recursion, no compound literals, math.h alone.
#ifndef REFERENCE_DATA_H
#define REFERENCE_DATA_H

// ---- The data, laid out alike wherever the reference runs

#ifdef __CUDACC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#else
#include <stdint.h>
#endif

enum {
    REFERENCE_NAME = 64,
    REFERENCE_TEXT = 160,
    REFERENCE_RANK = 5,
    REFERENCE_TENSORS = 32,
    REFERENCE_DIMS = 32,
    REFERENCE_VALUES = 256,
    REFERENCE_CHAINS = 64,
    REFERENCE_QUANTILES = 1 << 16,
    LEFT = -2
};

enum element_type { BF16, FP16, FP32, FP64, E4M3, E5M2, I8, U8, I16, U16, I32, U32, I64, U64 };

struct tensor {
    char name[REFERENCE_NAME];
    int type;  // enum element_type
    int rank;
    int64_t dims[REFERENCE_RANK];     // outermost first
    int64_t strides[REFERENCE_RANK];  // in elements; the last is 1
    unsigned char *data;
    const unsigned char *quantiles;  // 65536 standard normal values, as elements
    const float *numbers;            // all elements, where someone has decoded them
    uint64_t seed;
};

struct named {
    char name[REFERENCE_NAME];
    int64_t value;
};

// What family.lua's `values` say: a number or a word; an array is rows of one name.
struct setting {
    char name[REFERENCE_NAME], text[REFERENCE_TEXT];
    double number;
};

struct problem {
    uint64_t number;  // no other one's, by which what is kept of it is found again
    int tensor_count, dim_count, setting_count;
    char inputs[16];  // what to draw: "", "special", "exact", or a word of family.lua's `inputs`
    struct tensor tensors[REFERENCE_TENSORS];
    struct named dims[REFERENCE_DIMS];
    struct setting settings[REFERENCE_VALUES];
    uint32_t keys[REFERENCE_VALUES];  // key_of their names: most are asked for of every element
    uint16_t first[REFERENCE_CHAINS], next[REFERENCE_VALUES];  // by last bits; from 1, 0 ends one
    uint32_t tensor_keys[REFERENCE_TENSORS], dim_keys[REFERENCE_DIMS];
    uint8_t tensor_first[REFERENCE_CHAINS], tensor_next[REFERENCE_TENSORS];  // likewise
};

// What an element should be, and how far from it a right kernel may be; below 0: any result is, or
// LEFT: nothing is written there.
struct value {
    double value, bound;
};

// What a compiled reference.c offers.
struct reference_code {
    struct value (*element)(const struct problem *, const struct tensor *out, const int64_t *index);
    void (*draw)(const struct problem *, const struct tensor *,
                 const int64_t *row);  // NULL: draws nothing itself
};

#endif

#if !defined REFERENCE_DATA_ONLY && !defined REFERENCE_H
#define REFERENCE_H
#ifdef __CUDACC__
#define REFERENCE      __device__ inline
#define REFERENCE_ONCE __device__ __noinline__  // not compiled again for each place that calls it
#define NAN            __longlong_as_double(0x7ff8000000000000)
#define INFINITY       __longlong_as_double(0x7ff0000000000000)
#else
#include <math.h>
#include <string.h>
#define REFERENCE      static inline __attribute__((unused))
#define REFERENCE_ONCE REFERENCE
#endif

// ---- What the problem is

REFERENCE int same(const char *a, const char *b) {
    while (*a && *a == *b) ++a, ++b;
    return *a == *b;
}

// Whether these inputs are to be drawn: inputs_are(p, "special").
REFERENCE int inputs_are(const struct problem *p, const char *word) {
    return same(p->inputs, word);
}

// What tells names apart (FNV-1a): of a name that stands in the source a constant, if the compiler
// is led to it.
REFERENCE uint32_t key_of(const char *name) {
    uint32_t key = 2166136261u;
#if defined __GNUC__ && !defined __clang__ && !defined __CUDACC__
    const size_t length = strlen(name);
#pragma GCC unroll 64
    for (size_t i = 0; i < REFERENCE_NAME && i < length; ++i)
        key = (key ^ (unsigned char)name[i]) * 16777619u;
#else
    while (*name) key = (key ^ (unsigned char)*name++) * 16777619u;
#endif
    return key;
}

// The tensor of that name; null where the kernel has none. Reading null gives NaN.
REFERENCE_ONCE const struct tensor *tensor_of(const struct problem *p, const char *name) {
    const uint32_t key = key_of(name);
    for (int at = p->tensor_first[key % REFERENCE_CHAINS]; at; at = p->tensor_next[at - 1])
        if (p->tensor_keys[at - 1] == key) return &p->tensors[at - 1];
    return 0;
}

// The dim of that name; 1 where there is none.
REFERENCE_ONCE int64_t dim_of(const struct problem *p, const char *name) {
    const uint32_t key = key_of(name);
    for (int i = 0; i < p->dim_count; ++i)
        if (p->dim_keys[i] == key) return p->dims[i].value;
    return 1;
}

// Row [i] of the setting of that name; null where there is none.
REFERENCE_ONCE const struct setting *setting_of(const struct problem *p, const char *name, int i) {
    const uint32_t key = key_of(name);
    for (int at = p->first[key % REFERENCE_CHAINS]; at; at = p->next[at - 1])
        if (p->keys[at - 1] == key && i-- == 0) return &p->settings[at - 1];
    return 0;
}

// Its number, true being 1; 0 where there is none. Its word; "" where there is none.
REFERENCE_ONCE double number_of(const struct problem *p, const char *name, int i) {
    const struct setting *found = setting_of(p, name, i);
    return found ? found->number : 0;
}
REFERENCE_ONCE const char *word_of(const struct problem *p, const char *name, int i) {
    const struct setting *found = setting_of(p, name, i);
    return found ? found->text : "";
}

// ---- Element types

REFERENCE int bytes_of(int type) {
    return type == E4M3 || type == E5M2 || type == I8 || type == U8     ? 1
           : type == BF16 || type == FP16 || type == I16 || type == U16 ? 2
           : type == FP32 || type == I32 || type == U32                 ? 4
                                                                        : 8;
}

// Bits of mantissa behind the point, and the least exponent of a normal number; of floating-point
// types, which come first.
REFERENCE int mantissa_of(int type) {
    const int bits[] = {7, 10, 23, 52, 3, 2};
    return bits[type <= E5M2 ? type : FP64];
}
REFERENCE int least_exponent_of(int type) {
    const int exponents[] = {-126, -14, -126, -1022, -6, -14};
    return exponents[type <= E5M2 ? type : FP64];
}
REFERENCE int is_float(int type) { return type <= E5M2; }

// The largest finite number of a floating-point type.
REFERENCE double largest_of(int type) {
    const double one_short = 2 - ldexp(1.0, -mantissa_of(type));
    return type == E4M3 ? 448 : ldexp(one_short, 1 - least_exponent_of(type));
}

// The distance of [value]'s neighbours in [type]: a unit in its last place. 1 for integers.
REFERENCE_ONCE double unit_of(int type, double value) {
    const int least = least_exponent_of(type);
    uint64_t bits;
    if (!is_float(type)) return 1;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;  // of 0 and subnormal doubles the least
    exponent = (exponent < least ? least : exponent) - mantissa_of(type);
    if (exponent < -1022) return ldexp(1.0, exponent);
    bits = (uint64_t)(exponent + 1023) << 52;  // no power is computed
    memcpy(&value, &bits, sizeof value);
    return value;
}

// [value] rounded to nearest even: infinite, or NaN for E4M3, where it is too large; integers stop
// at their ends.
REFERENCE_ONCE double rounded(int type, double value) {
    if (isnan(value)) return is_float(type) ? value : 0;
    if (!is_float(type)) {
        const int bits = 8 * bytes_of(type),
                  is_signed = type == I8 || type == I16 || type == I32 || type == I64;
        const double least = is_signed ? -ldexp(1.0, bits - 1) : 0,
                     end = ldexp(1.0, bits - is_signed);
        return value <= least ? least : value >= end - 1 ? end - 1 : rint(value);
    }
    if (isinf(value)) return type == E4M3 ? NAN : value;
    if (type == FP64) return value;
    const double unit = unit_of(type, value), near = rint(value / unit) * unit;
    if (fabs(near) <= largest_of(type)) return near;
    return type == E4M3 ? NAN : value > 0 ? INFINITY : -INFINITY;
}

// The number that an element's [bits] of [type] are.
REFERENCE_ONCE double decoded(int type, uint64_t bits) {
    if (type == FP64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (type == BF16 || type == FP32) {
        const uint32_t word = (uint32_t)(type == BF16 ? bits << 16 : bits);
        float value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    if (!is_float(type)) {
        const int is_signed = type == I8 || type == I16 || type == I32 || type == I64,
                  spare = 64 - 8 * bytes_of(type);
        return is_signed ? (double)((int64_t)(bits << spare) >> spare) : (double)bits;
    }
    const int mantissa = mantissa_of(type), width = 8 * bytes_of(type);
    const int exponent = (int)(bits >> mantissa) & ((1 << (width - 1 - mantissa)) - 1);
    const int fraction = (int)bits & ((1 << mantissa) - 1), top = (1 << (width - 1 - mantissa)) - 1;
    const double sign = bits >> (width - 1) & 1 ? -1 : 1;
    if (exponent == top && type != E4M3) return fraction ? NAN : sign * INFINITY;
    if (exponent == top && fraction == 7) return NAN;
    if (exponent == 0) return sign * fraction * ldexp(1.0, least_exponent_of(type) - mantissa);
    // a double's bits: no power is computed
    const uint64_t wide = (uint64_t)(exponent - 1 + least_exponent_of(type) + 1023) << 52 |
                          (uint64_t)fraction << (52 - mantissa);
    double value;
    memcpy(&value, &wide, sizeof value);
    return sign * value;
}

// The bits of [value], rounded, as an element of [type].
REFERENCE_ONCE uint64_t encoded(int type, double value) {
    uint64_t bits = 0;
    const double near = rounded(type, value);
    if (type == FP64) {
        memcpy(&bits, &near, sizeof near);
    } else if (type == FP32) {
        const float single = (float)near;
        memcpy(&bits, &single, sizeof single);
    } else if (!is_float(type)) {
        bits = near < 0 ? (uint64_t)(int64_t)near : (uint64_t)near;
    } else {
        const int mantissa = mantissa_of(type), width = 8 * bytes_of(type),
                  least = least_exponent_of(type);
        const uint64_t sign = (uint64_t)(copysign(1.0, near) < 0) << (width - 1),
                       one = (uint64_t)1 << mantissa;
        const uint64_t top = (((uint64_t)1 << (width - 1 - mantissa)) - 1) << mantissa;
        int exponent = 0;
        frexp(near, &exponent);
        --exponent;
        if (isnan(near)) {
            bits = top | (one - 1);
        } else if (isinf(near)) {
            bits = top;
        } else if (near == 0 || exponent < least) {
            bits = (uint64_t)(fabs(near) / ldexp(1.0, least - mantissa));
        } else {
            bits = (uint64_t)(exponent - least + 1) << mantissa |
                   ((uint64_t)(fabs(near) * ldexp(1.0, mantissa - exponent)) - one);
        }
        bits |= sign;
    }
    return bits;
}

// ---- Elements

// The bits of the element that lies [offset] elements behind [data].
REFERENCE uint64_t bits_of(int type, const unsigned char *data, int64_t offset) {
    switch (bytes_of(type)) {
    case 1: return data[offset];
    case 2: return ((const uint16_t *)(const void *)data)[offset];
    case 4: return ((const uint32_t *)(const void *)data)[offset];
    default: return ((const uint64_t *)(const void *)data)[offset];
    }
}

// The number that lies [offset] elements behind the tensor's first.
REFERENCE_ONCE double read(const struct tensor *t, int64_t offset) {
    return t->numbers ? t->numbers[offset] : decoded(t->type, bits_of(t->type, t->data, offset));
}
// Where the element at [index] lies; -1 where there is none.
REFERENCE int64_t place_of(const struct tensor *t, const int64_t *index) {
    int64_t offset = 0;
    if (!t) return -1;
    for (int axis = 0; axis < t->rank; ++axis) {
        if (index[axis] < 0 || index[axis] >= t->dims[axis]) return -1;
        offset += index[axis] * t->strides[axis];
    }
    return offset;
}

// The element at [index]; NaN where there is none. at2 of matrices, at3 of tensors of rank 3.
REFERENCE_ONCE double at(const struct tensor *t, const int64_t *index) {
    const int64_t offset = place_of(t, index);
    return offset < 0 ? NAN : read(t, offset);
}
REFERENCE double at2(const struct tensor *t, int64_t i, int64_t j) {
    const int64_t index[REFERENCE_RANK] = {i, j};
    return at(t, index);
}
REFERENCE double at3(const struct tensor *t, int64_t i, int64_t j, int64_t k) {
    const int64_t index[REFERENCE_RANK] = {i, j, k};
    return at(t, index);
}

// ---- Drawing

// The place of the first element of [row]: an index of all dimensions but the last.
REFERENCE_ONCE int64_t row_of(const struct tensor *t, const int64_t *row) {
    int64_t offset = 0;
    for (int axis = 0; axis + 1 < t->rank; ++axis) offset += row[axis] * t->strides[axis];
    return offset;
}

// 64 random bits for a position, and a number of 0..1 from 53 of them: the same wherever it runs.
REFERENCE uint64_t bits_at(const struct tensor *t, uint64_t position) {
    uint64_t z = t->seed + (position + 1) * 0x9e3779b97f4a7c15u;  // splitmix64 (Steele et al. 2014)
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
REFERENCE double share_of(uint64_t bits) { return (double)(bits >> 11) * 0x1p-53; }

// Writes the bits of an element that lies [offset] elements behind the first.
REFERENCE void put_bits(const struct tensor *t, int64_t offset, uint64_t bits) {
    switch (bytes_of(t->type)) {
    case 1: t->data[offset] = (uint8_t)bits; break;
    case 2: ((uint16_t *)(void *)t->data)[offset] = (uint16_t)bits; break;
    case 4: ((uint32_t *)(void *)t->data)[offset] = (uint32_t)bits; break;
    default: ((uint64_t *)(void *)t->data)[offset] = bits;
    }
}

// Writes [value], rounded, there.
REFERENCE void put(const struct tensor *t, int64_t offset, double value) {
    put_bits(t, offset, encoded(t->type, value));
}

// Writes at [to] the element drawn for place [from]: a standard normal value. With "special" every
// eighth is a zero, subnormal or the least normal number, every 512th, unless [finite], NaN or
// infinite, of longer rows fewer, one in two to four; with "exact" sixteenths of -3..3, or quarters
// of -5/4..5/4, whose sums are exact.
REFERENCE void put_drawn(const struct problem *p, const struct tensor *t, int64_t to, int64_t from,
                         int finite) {
    const uint64_t odd = bits_at(t, (uint64_t)from + ((uint64_t)1 << 40)), kind = odd >> 32 & 0xff;
    uint64_t rarely = 512;
    while (rarely < (uint64_t)t->dims[t->rank - 1]) rarely *= 2;
    rarely *= rarely > 512 ? 2 : 1;
    if (inputs_are(p, "exact")) {
        const int ends = mantissa_of(t->type) < 7 ? 5 : 48;
        put(t, to, ((double)((odd >> 8) % (uint64_t)(2 * ends + 1)) - ends) / (ends < 48 ? 4 : 16));
    } else if (inputs_are(p, "special") && odd % 8 == 0) {
        const double normal = is_float(t->type) ? ldexp(1.0, least_exponent_of(t->type)) : 1;
        const double least = is_float(t->type) ? unit_of(t->type, 0) : 1;
        put(t, to,
            kind % 5 == 0   ? 0.0
            : kind % 5 == 1 ? -0.0
            : kind % 5 == 2 ? least
            : kind % 5 == 3 ? least - normal
                            : normal);
    } else if (inputs_are(p, "special") && odd % rarely == 1 && !finite) {
        put(t, to, kind % 3 == 0 ? NAN : kind % 3 == 1 ? INFINITY : -INFINITY);
    } else {
        const uint64_t which = bits_at(t, (uint64_t)from / 4) >> 16 * (from % 4) & 0xffff;
        put_bits(t, to, bits_of(t->type, t->quantiles, (int64_t)which));
    }
}

#include "expression.h"

// ---- What a kernel may differ by

// Conversions to 8-bit floats stop at the largest of them, also for infinities; NaN stays NaN.
REFERENCE double saturated(const struct tensor *out, double x) {
    const double most = out->type == E4M3 || out->type == E5M2 ? largest_of(out->type) : INFINITY;
    return x > most ? most : x < -most ? -most : x;
}

REFERENCE int64_t int_at(const struct tensor *t, int64_t i) {
    return (int32_t)bits_of(t->type, t->data, i);
}

#include "products.h"

// ---- Blocks that have a scale

// The scale, as bits, of a block whose largest magnitude is [most], of elements up to [largest]:
// in E4M3 what is nearest, else a power of two, UE8M0, that is not below. In fp32, as kernels do.
REFERENCE int scale_bits_of(int is_e4m3, double most, double largest) {
    const float share = (float)most * (1.0f / (float)largest);
    if (isnan(share)) return is_e4m3 ? 0x7f : 255;
    if (is_e4m3) return (int)encoded(E4M3, share > 448 ? 448 : share);
    if (share == 0 || isinf(share)) return share == 0 ? 0 : 254;
    const int exponent = ilogb(share), up = (double)share > ldexp(1.0, exponent);
    return exponent + up < -127 ? 0 : exponent + up > 127 ? 254 : exponent + up + 127;
}

// What elements are multiplied by, to be divided by that scale.
REFERENCE double inverse_of_scale(int is_e4m3, int bits) {
    const double size = is_e4m3 ? decoded(E4M3, (uint64_t)bits) : 1;
    if (!is_e4m3) return ldexp(1.0, 127 - (bits < 253 ? bits : 253));
    return size > 0 ? (float)(1 / size) : size < 0 || isnan(size) ? NAN : 0;
}

// [x] to nearest even as E2M1: 0, .5, 1, 1.5, 2, 3, 4, 6, and 8 more with a sign.
REFERENCE int e2m1_of(double x) {
    const double ties[] = {.25, .75, 1.25, 1.75, 2.5, 3.5, 5}, size = fabs(x);
    int code = 0;
    while (code < 7 && (code % 2 ? size >= ties[code] : size > ties[code])) ++code;
    return code + (signbit(x) ? 8 : 0);
}

// [value] in the type of [out], up to rounding and [computing], the most that the kernel's own
// arithmetic is off by. With [computing] 0 the kernel must give the nearest even: of sums that fp32
// holds exactly, and of copies.
REFERENCE struct value within(const struct tensor *out, double value, double computing) {
    struct value result = {value, 0};
    if (computing == 0) {
        result.value = rounded(out->type, value);
    } else {
        const double unit = is_float(out->type) ? unit_of(out->type, fabs(value) + computing) : 1;
        result.bound = 1.01 * unit / 2 + computing;
    }
    return result;
}

// The error of [got] as a share of what it may be: right up to 1. NaN is right where the reference
// has NaN, an infinity where it has that or is too large for the type.
REFERENCE double error_of(const struct tensor *out, struct value want, double got) {
    if (want.bound < 0) return 0;
    if (isnan(want.value)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    if (got == want.value) return 0;
    if (isinf(want.value)) return INFINITY;
    if (isinf(got)) {
        const double most = fabs(want.value) + want.bound;
        return got * want.value > 0 && isinf(rounded(out->type, most)) ? 0 : INFINITY;
    }
    return want.bound > 0 ? fabs(got - want.value) / want.bound : INFINITY;
}

// ---- What is made of the file

#ifndef REFERENCE_FUNCTIONS_ONLY

#ifdef __CUDACC__
#define static static __device__
REFERENCE_ONCE
#endif
static struct value element(const struct problem *p, const struct tensor *out,
                            const int64_t *index);
#ifdef DRAWS
static void draw(const struct problem *p, const struct tensor *t, const int64_t *row);
#endif

#ifdef __CUDACC__
#undef static
// The index of the [linear]-th element, or of the [linear]-th row where [rank] is one less.
static __device__ void reference_index(const struct tensor *t, int rank, int64_t linear,
                                       int64_t *index) {
    for (int axis = rank - 1; axis >= 0; --axis) {
        index[axis] = linear % t->dims[axis];
        linear /= t->dims[axis];
    }
}

// Elements [list], or from [first] on, of tensor [output].
extern "C" __global__ void reference_elements(const struct problem *p, int output,
                                              const int64_t *list, int64_t first, int64_t count,
                                              struct value *values) {
    const struct tensor *out = &p->tensors[output];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t index[REFERENCE_RANK];
    if (i >= count) return;
    reference_index(out, out->rank, list ? list[i] : first + i, index);
    values[i] = element(p, out, index);
}

// The errors of elements from [first] on of tensor [output], whose data is what a kernel gave.
extern "C" __global__ void reference_errors(const struct problem *p, int output, int64_t first,
                                            int64_t count, float *errors) {
    const struct tensor *out = &p->tensors[output];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t index[REFERENCE_RANK];
    if (i >= count) return;
    reference_index(out, out->rank, first + i, index);
    errors[i] = (float)error_of(out, element(p, out, index), at(out, index));
}

// All rows of tensor [number].
extern "C" __global__ void reference_draws(const struct problem *p, int number, int64_t rows) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
#ifdef DRAWS
    const struct tensor *t = &p->tensors[number];
    int64_t row[REFERENCE_RANK];
    reference_index(t, t->rank - 1, i, row);
    draw(p, t, row);
#endif
}
#define static static __device__
#else
#ifndef REFERENCE_EXPORT
#define REFERENCE_EXPORT tmagen_reference
#endif
__attribute__((visibility("default"))) extern const struct reference_code REFERENCE_EXPORT;
const struct reference_code REFERENCE_EXPORT = {
    element,
#ifdef DRAWS
    draw,
#else
    0,
#endif
};
#endif
#endif
#endif
