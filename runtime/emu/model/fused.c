// What the fused sum is of each pair of types, and which way of computing it runs here.
#include "runtime/emu/model/fused.h"

static int least_exponent(enum tmg_number type) {
    switch (type) {
    case TMG_F16:
    case TMG_E5M2: return -14;
    case TMG_E4M3: return -6;
    default: return -126;
    }
}

struct tmg_fused tmg_fused_for(enum tmg_number a, enum tmg_number b, enum tmg_number d,
                               bool wgmma) {
    bool fp8 = a == TMG_E4M3 || a == TMG_E5M2, is_short = fp8 && wgmma;
    return (struct tmg_fused){
        .fraction_bits = is_short ? 13 : 25,
        .result_bits = is_short ? 13 : 23,
        .least = d == TMG_F16 && !fp8 ? -21 : -133,
        .f16 = d == TMG_F16,
        .least_a = wgmma || !fp8 ? least_exponent(a) : least_exponent(TMG_F16),
        .least_b = wgmma || !fp8 ? least_exponent(b) : least_exponent(TMG_F16),
    };
}

const struct tmg_fused_way *const tmg_fused_ways[] = {
#if defined(__x86_64__)
    &tmg_fused_avx512,
    &tmg_fused_avx2,
#endif
    &tmg_fused_plain,
    NULL,
};

const struct tmg_fused_way *tmg_fused_here(void) {
    const struct tmg_fused_way *const *way = tmg_fused_ways;
    while (!(*way)->is_here()) ++way;
    return *way;
}

void tmg_multiply_rows(const struct tmg_fused *how, int m, int n, int k, const float *a,
                       const float *b, float *const *d) {
    tmg_fused_here()->multiply(how, m, n, k, a, b, d);
}

void tmg_multiply_fused(const struct tmg_fused *how, int m, int n, int k, const float *a,
                        const float *b, float *d) {
    float *rows[TMG_FUSED_M];
    for (int i = 0; i < m; ++i) rows[i] = d + i * n;
    tmg_multiply_rows(how, m, n, k, a, b, rows);
}
