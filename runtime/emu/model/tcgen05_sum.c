// Sums of tcgen05.mma: the rows for fused.h, and those with scale factors.
#include "runtime/emu/model/tcgen05_sum.h"

#include <math.h>

enum {
    N_MAX = 256,
    M_MAX = 64,
    GROUP = 16,  // products of E2M1 that are summed exactly
    GROUPS_MAX = 6,
    BLOCK_FRACTION = 35,
    ZERO_EXPONENT = -126,  // that a zero counts with
    EASY_MOST = 100,       // exponents up to this, and down to less it, are no limit's
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

struct tmg_scale tmg_scale_of(enum tmg_number type, uint8_t bits) {
    if (type == TMG_UE8M0) return (struct tmg_scale){1, bits - 127, bits == 0xff};
    int field = bits >> 3 & 15, fraction = bits & 7;
    if ((bits & 0x7f) == 0) return (struct tmg_scale){0, ZERO_EXPONENT, false};
    return (struct tmg_scale){(float)(fraction + (field ? 8 : 0)) / 8, field ? field - 7 : -6,
                              (bits & 0x7f) == 0x7f};
}

static double power_of_two(int power) {
    uint64_t bits = (uint64_t)(power + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
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
    return value == 0 || (exponent <= EASY_MOST && exponent >= -EASY_MOST);
}

// value * 2^power, in two steps that floats can hold; both ends are easy.
static float times_power(float value, int power) {
    int half = power / 2;
    return value * (float)power_of_two(half) * (float)power_of_two(power - half);
}

static int scale_sum(const struct tmg_scale *a, const struct tmg_scale *b) {
    return a->nan || b->nan ? 0 : a->exponent + b->exponent;
}

// All products of an element have the same scale, so the old D may be divided by it and the sum
// multiplied: but where exponents come near their limits.
void tmg_multiply_scaled(const struct tmg_fused *how, int m, int n, int k, const float *a,
                         const struct tmg_scale *scale_a, const float *b,
                         const struct tmg_scale *scale_b, float *d) {
    float c[M_MAX * N_MAX];
    memcpy(c, d, (size_t)(m * n) * sizeof *d);
    for (int i = 0; i < m * n; ++i) {
        int scale = scale_sum(scale_a + i / n, scale_b + i % n);
        d[i] = isfinite(c[i]) && is_easy(c[i], -scale) ? times_power(c[i], -scale) : 0;
    }
    tmg_multiply_fused(how, m, n, k, a, b, d);
    for (int i = 0; i < m * n; ++i) {
        const struct tmg_scale *row = scale_a + i / n, *column = scale_b + i % n;
        int scale = scale_sum(row, column);
        bool easy = isfinite(c[i]) && is_easy(c[i], -scale) && isfinite(d[i]) && is_easy(c[i], 0) &&
                    is_easy(d[i], scale);
        if (row->nan || column->nan)
            d[i] = NAN;
        else
            d[i] = easy ? times_power(d[i], scale)
                        : scaled_sum(how, n, k, a + i / n * k, b + i % n, scale, c[i]);
    }
}

// ---- a scale for each block ----

// What one row of D is made of.
struct block_row {
    int n, groups, per_scale;  // groups of products to a scale
    float sums[GROUPS_MAX][N_MAX];
};

static void sum_groups(struct block_row *row, const float *a, const float *b) {
    for (int group = 0; group < row->groups; ++group) {
        float *sums = row->sums[group];
        memset(sums, 0, (size_t)row->n * sizeof *sums);
        for (int i = 0; i < GROUP; ++i, ++a, b += row->n)
            for (int column = 0; column < row->n; ++column) sums[column] += *a * b[column];
    }
}

static float block_sum(const struct block_row *row, int column, const struct tmg_scale *scale_a,
                       const struct tmg_scale *scale_b, float c) {
    int exponent[GROUPS_MAX], most = exponent_of(c);
    int64_t sum = 0;
    if (!isfinite(c)) return c;
    for (int group = 0; group < row->groups; ++group) {
        const struct tmg_scale *x = scale_a + group / row->per_scale;
        const struct tmg_scale *y = scale_b + group / row->per_scale * row->n + column;
        if (x->nan || y->nan) return NAN;
        exponent[group] = x->exponent + y->exponent;
        if (exponent[group] > most) most = exponent[group];
    }
    for (int group = 0; group < row->groups; ++group) {
        float significands = scale_a[group / row->per_scale].significand *
                             scale_b[group / row->per_scale * row->n + column].significand;
        sum += (int64_t)((double)row->sums[group][column] * (double)significands *
                         power_of_two(BLOCK_FRACTION + exponent[group] - most));
    }
    sum += (int64_t)((double)c * power_of_two(BLOCK_FRACTION - most));
    return cut((double)sum * power_of_two(most - BLOCK_FRACTION));
}

void tmg_multiply_blocks(int m, int n, int k, int scales, const float *a,
                         const struct tmg_scale *scale_a, const float *b,
                         const struct tmg_scale *scale_b, float *d) {
    struct block_row row = {.n = n, .groups = k / GROUP, .per_scale = k / GROUP / scales};
    for (int i = 0; i < m; ++i, a += k, d += n, scale_a += scales) {
        sum_groups(&row, a, b);
        for (int column = 0; column < n; ++column)
            d[column] = block_sum(&row, column, scale_a, scale_b, d[column]);
    }
}
