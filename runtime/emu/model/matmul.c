// The blocked kernel: 8 rows by 8 columns of D stay in registers while k runs, enough sums that
// none waits for itself.
// Written with vector types, not intrinsics: any compiler and machine, wide units where present.
#include "runtime/emu/model/matmul.h"

#include <pthread.h>

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));

enum { BLOCK_M = 8, BLOCK_N = 8 };

static inline __attribute__((always_inline)) void multiply_block(int n, int k, const float *a,
                                                                 const float *b, float *d) {
    vector sum[BLOCK_M];
    for (int r = 0; r < BLOCK_M; ++r) sum[r] = *(const vector *)(d + (ptrdiff_t)r * n);
    for (int i = 0; i < k; ++i) {
        vector row = *(const vector *)(b + (ptrdiff_t)i * n);
        for (int r = 0; r < BLOCK_M; ++r) sum[r] += row * a[(ptrdiff_t)r * k + i];
    }
    for (int r = 0; r < BLOCK_M; ++r) *(vector *)(d + (ptrdiff_t)r * n) = sum[r];
}

static inline __attribute__((always_inline)) void multiply(int m, int n, int k, const float *a,
                                                           const float *b, float *d) {
    for (int row = 0; row < m; row += BLOCK_M) {
        for (int column = 0; column < n; column += BLOCK_N) {
            multiply_block(n, k, a + (ptrdiff_t)row * k, b + column,
                           d + (ptrdiff_t)row * n + column);
        }
    }
}

static void multiply_plain(int m, int n, int k, const float *a, const float *b, float *d) {
    multiply(m, n, k, a, b, d);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void multiply_avx2(int m, int n, int k, const float *a,
                                                              const float *b, float *d) {
    multiply(m, n, k, a, b, d);
}
#endif

void tmg_multiply(int m, int n, int k, const float *a, const float *b, float *d) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        multiply_avx2(m, n, k, a, b, d);
        return;
    }
#endif
    multiply_plain(m, n, k, a, b, d);
}

// What each float of 8 bits is: looked up, since a subnormal number on the way would take a hundred
// times as long.
static float e4m3[256], e5m2[256];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static float value_of(enum tmg_number type, unsigned bits) {
    double value = tmg_number_to_double(type, bits);
    return value != value ? tmg_f32_from_bits(TMG_F32_NAN) : (float)value;
}

static void fill(void) {
    for (unsigned bits = 0; bits < 256; ++bits) {
        e4m3[bits] = value_of(TMG_E4M3, bits);
        e5m2[bits] = value_of(TMG_E5M2, bits);
    }
}

// By eights, which compilers make vectors of, and what is left.
#define WIDEN_ONE(TYPE, EXPRESSION, AT)                        \
    do {                                                       \
        TYPE bits;                                             \
        memcpy(&bits, (const TYPE *)from + (AT), sizeof bits); \
        to[AT] = factor * (EXPRESSION);                        \
    } while (0)
#define WIDEN_LOOP(TYPE, EXPRESSION)                                               \
    for (; done + 8 <= count; done += 8)                                           \
        for (int j = 0; j < 8; ++j) WIDEN_ONE(TYPE, EXPRESSION, done + (size_t)j); \
    for (; done < count; ++done) WIDEN_ONE(TYPE, EXPRESSION, done);                \
    break

void tmg_widen(enum tmg_number type, const void *restrict from, size_t count, int sign,
               float *restrict to) {
    float factor = sign < 0 ? -1.0f : 1.0f;
    size_t done = 0;
    pthread_once(&filled, fill);
    switch (type) {
    case TMG_BF16: WIDEN_LOOP(uint16_t, tmg_bf16_to_f32(bits));
    case TMG_F16: WIDEN_LOOP(uint16_t, tmg_f16_to_f32(bits));
    case TMG_TF32: WIDEN_LOOP(uint32_t, tmg_f32_from_bits(bits & 0xffffe000u));
    case TMG_E4M3: WIDEN_LOOP(uint8_t, e4m3[bits]);
    case TMG_E5M2: WIDEN_LOOP(uint8_t, e5m2[bits]);
    case TMG_S8: WIDEN_LOOP(int8_t, (float)bits);
    case TMG_U8: WIDEN_LOOP(uint8_t, (float)bits);
    default: break;
    }
}

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t four_words __attribute__((vector_size(16), aligned(4), may_alias));

static inline void transpose_block(int rows, int columns, const float *from, float *to) {
    const four a = *(const four *)from, b = *(const four *)(from + columns);
    const four c = *(const four *)(from + 2 * columns), d = *(const four *)(from + 3 * columns);
    const four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(four *)to = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(four *)(to + rows) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    *(four *)(to + 2 * rows) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(four *)(to + 3 * rows) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

void tmg_transpose(int rows, int columns, const float *from, float *to) {
    for (int c = 0; c < columns; c += 4)
        for (int r = 0; r < rows; r += 4)
            transpose_block(rows, columns, from + (ptrdiff_t)r * columns + c,
                            to + (ptrdiff_t)c * rows + r);
}

int32_t tmg_accumulate_s32(int32_t c, int32_t sum, bool satfinite) {
    int64_t exact = (int64_t)c + sum;
    if (!satfinite) return (int32_t)(uint32_t)exact;
    return (int32_t)(exact > INT32_MAX ? INT32_MAX : exact < INT32_MIN ? INT32_MIN : exact);
}

void tmg_store_f32(int count, const float *from, uint32_t *to) {
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        const four_words bits = *(const four_words *)(from + i);
        const four_words nan = (bits & INT32_MAX) > 0x7f800000;
        *(four_words *)(to + i) = (bits & ~nan) | (nan & (int32_t)TMG_F32_NAN);
    }
    for (; i < count; ++i) to[i] = from[i] != from[i] ? TMG_F32_NAN : tmg_f32_bits(from[i]);
}
