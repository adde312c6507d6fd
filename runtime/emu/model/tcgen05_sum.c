// Sums of tcgen05.mma: the rows for fused.h, and those with scale factors.
#include "runtime/emu/model/tcgen05_sum.h"

#include <math.h>
#include <pthread.h>

enum {
    N_MAX = 256,
    M_MAX = 64,
    ZERO_EXPONENT = -126,  // that a zero counts with
};

static int least_exponent(enum tmg_number type, int otherwise) {
    switch (type) {
    case TMG_E2M1:
    case TMG_E2M3: return 0;
    case TMG_E3M2: return -2;
    default: return otherwise;
    }
}

struct tmg_fused tmg_tcgen05_fused(enum tmg_number a, enum tmg_number b, enum tmg_number d) {
    struct tmg_fused how = tmg_fused_for(a, b, d, true);
    bool wide = tmg_number_bytes(a) > 1;
    how.fraction_bits = 25;
    how.result_bits = 23;
    how.least = d == TMG_F16 && wide ? -21 : -133;
    how.least_a = least_exponent(a, how.least_a);
    how.least_b = least_exponent(b, how.least_b);
    return how;
}

static struct tmg_scale ue4m3_of(uint8_t bits) {
    int field = bits >> 3 & 15, fraction = bits & 7;
    if ((bits & 0x7f) == 0) return (struct tmg_scale){0, ZERO_EXPONENT, false};
    return (struct tmg_scale){(float)(fraction + (field ? 8 : 0)) / 8, field ? field - 7 : -6,
                              (bits & 0x7f) == 0x7f};
}

// Looked up: a product of pairs asks for thousands.
static struct tmg_scale ue8m0[256], ue4m3[256];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void) {
    for (int bits = 0; bits < 256; ++bits) {
        ue8m0[bits] = (struct tmg_scale){1, bits - 127, bits == 0xff};
        ue4m3[bits] = ue4m3_of((uint8_t)bits);
    }
}

struct tmg_scale tmg_scale_of(enum tmg_number type, uint8_t bits) {
    pthread_once(&filled, fill);
    return type == TMG_UE8M0 ? ue8m0[bits] : ue4m3[bits];
}

static int exponent_of(float value) {
    int exponent = (int)(tmg_f32_bits(value) >> 23 & 0xff) - 127;
    return exponent < ZERO_EXPONENT ? ZERO_EXPONENT : exponent;
}

// To f32, cut.
static float cut(double value) {
    uint64_t bits;
    double magnitude = fabs(value);
    if (magnitude < 0x1p-126) return (float)(trunc(value * 0x1p149) * 0x1p-149);
    memcpy(&bits, &value, sizeof bits);
    bits &= ~((UINT64_C(1) << 29) - 1);
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

// ---- one scale for a row and for a column ----

// A term's exponent as fused.h counts it, and its significand.
static int term_exponent(float value, int least) {
    int exponent = exponent_of(value);
    return exponent < least ? least : exponent;
}

// One element, with any exponents; [scale] is added to those of all products.
static float scaled_sum(const struct tmg_fused *how, int n, int k, const float *a, const float *b,
                        int scale, float c) {
    int most = how->least;
    int64_t sum = 0;
    double plain = (double)c;
    for (int i = 0; i < k; ++i) {
        plain += (double)a[i] * (double)b[i * n];
        if (a[i] == 0 || b[i * n] == 0) continue;
        int exponent =
            term_exponent(a[i], how->least_a) + term_exponent(b[i * n], how->least_b) + scale;
        if (exponent > most) most = exponent;
    }
    if (!isfinite(plain)) return (float)plain;
    if (c != 0 && exponent_of(c) > most) most = exponent_of(c);
    int shift = how->fraction_bits - most;
    for (int i = 0; i < k; ++i)
        sum += (int64_t)ldexp((double)a[i] * (double)b[i * n], scale + shift);
    sum += (int64_t)ldexp((double)c, shift);
    return cut(ldexp((double)sum, -shift));
}

static bool is_easy(float value, int scale) {
    int exponent = exponent_of(value) + scale;
    return value == 0 || (exponent <= TMG_EASY_MOST && exponent >= -TMG_EASY_MOST);
}

// Of a row, where some exponents come near their limits; d / 2^scale is the others' sum.
static void scale_up_any(const struct tmg_fused *how, int n, int k, const float *a, const float *b,
                         int row_scale, const int32_t *scales, const float *c, float *d) {
    for (int i = 0; i < n; ++i) {
        int scale = row_scale + scales[i];
        bool easy = isfinite(c[i]) && is_easy(c[i], -scale) && isfinite(d[i]) && is_easy(c[i], 0) &&
                    is_easy(d[i], scale);
        d[i] = easy ? ldexpf(d[i], scale) : scaled_sum(how, n, k, a, b + i, scale, c[i]);
    }
}

// All products of an element have the same scale, so the old D may be divided by it and the sum
// multiplied: but where exponents come near their limits.
void tmg_multiply_scaled(const struct tmg_fused *how, int m, int n, int k, const float *a,
                         const struct tmg_scale *scale_a, const float *b,
                         const struct tmg_scale *scale_b, float *d) {
    const struct tmg_fused_way *way = tmg_fused_here();
    float c[M_MAX * N_MAX];
    int32_t columns[N_MAX];
    memcpy(c, d, (size_t)(m * n) * sizeof *d);
    for (int i = 0; i < n; ++i) columns[i] = scale_b[i].nan ? 0 : scale_b[i].exponent;
    for (int i = 0; i < m; ++i)
        way->scale_down(n, scale_a[i].exponent, columns, c + i * n, d + i * n);
    tmg_multiply_fused(how, m, n, k, a, b, d);
    for (int i = 0; i < m; ++i, a += k, d += n) {
        const int scale = scale_a[i].exponent;
        if (!way->scale_up(n, scale, columns, c + i * n, d))
            scale_up_any(how, n, k, a, b, scale, columns, c + i * n, d);
        for (int column = 0; column < n; ++column)
            if (scale_a[i].nan || scale_b[column].nan) d[column] = NAN;
    }
}

// ---- a scale for each block ----

static void take_apart(int count, const struct tmg_scale *scales, float *significand,
                       int32_t *exponent) {
    for (int i = 0; i < count; ++i) {
        significand[i] = scales[i].nan ? NAN : scales[i].significand;
        exponent[i] = scales[i].exponent;
    }
}

void tmg_multiply_blocks(int m, int n, int k, int scales, const float *a,
                         const struct tmg_scale *scale_a, const float *b,
                         const struct tmg_scale *scale_b, float *d) {
    float a_significand[M_MAX * TMG_SCALES_MAX], b_significand[TMG_SCALES_MAX * N_MAX];
    int32_t a_exponent[M_MAX * TMG_SCALES_MAX], b_exponent[TMG_SCALES_MAX * N_MAX];
    take_apart(m * scales, scale_a, a_significand, a_exponent);
    take_apart(n * scales, scale_b, b_significand, b_exponent);
    const struct tmg_blocks all = {m, n, k / TMG_BLOCK_GROUP,         scales,
                                   a, b, {a_significand, a_exponent}, {b_significand, b_exponent}};
    tmg_fused_here()->blocks(&all, d);
}
