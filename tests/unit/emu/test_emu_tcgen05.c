// Small GEMMs with tcgen05.mma, tests/emu/tcgen05: of one CTA and of a pair, in every order the
// bits of the sums that a B200 was measured to compute, close to a plain sum, and no report.
#include "tests/unit/emu/tcgen05_gemm.h"

#include <math.h>
#include <time.h>

static void check_values(const struct tcgen05_gemm *g) {
    for (uint32_t row = 0; row < g->m; ++row)
        for (uint32_t column = 0; column < g->n; ++column) {
            double sum = 0, most = 0;
            for (uint32_t k = 0; k < g->k; ++k) {
                double product = (double)tmg_bf16_to_f32(g->a[row * g->k + k]) *
                                 (double)tmg_bf16_to_f32(g->b[column * g->k + k]);
                sum += product;
                most += fabs(product);
            }
            if (!(fabs((double)g->d[row * g->n + column] - sum) <= most * 0x1p-20))
                fail_msg("%s (%u, %u): %g and not %g", g->path, row, column,
                         (double)g->d[row * g->n + column], sum);
        }
}

static void check_gemm(struct tcgen05_gemm *g, int seeds) {
    size_t bytes = (size_t)g->m * g->n * 4;
    float *first = malloc(bytes);
    char *ptx;
    read_text(g->path, &ptx);
    make(g);
    for (int seed = 0; seed < seeds; ++seed) {
        struct emu_result result;
        run(g, ptx, (uint64_t)seed, &result);
        emu_kernel_is_clean(&result);
        emu_result_free(&result);
        if (seed == 0) memcpy(first, g->d, bytes);
        assert_memory_equal(first, g->d, bytes);
    }
    check_values(g);
    drop(g);
    free(first);
    free(ptx);
}

static int seed_count(void) { return getenv("SANITIZED") ? 2 : 20; }

static void one_cta(void **state) {
    (void)state;
    struct tcgen05_gemm g = {
        .path = "tests/emu/tcgen05/one.ptx", .tile_m = 128, .tile_n = 128, .ctas = 1};
    g.m = 136, g.n = 200, g.k = 328;
    check_gemm(&g, seed_count());
}

static void pair(void **state) {
    (void)state;
    struct tcgen05_gemm g = {
        .path = "tests/emu/tcgen05/pair.ptx", .tile_m = 256, .tile_n = 256, .ctas = 2};
    g.m = 296, g.n = 264, g.k = 328;
    check_gemm(&g, seed_count());
    g.m = 40, g.n = 8, g.k = 8;
    check_gemm(&g, 3);
}

// Both CTAs load for mbarriers of the first one.
static void pair_whose_copies_tell_the_first_cta(void **state) {
    (void)state;
    struct tcgen05_gemm g = {
        .path = "tests/emu/tcgen05/pair_tma.ptx", .tile_m = 256, .tile_n = 256, .ctas = 2};
    g.m = 296, g.n = 264, g.k = 328;
    check_gemm(&g, seed_count());
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pair_of_512_takes_less_than_3_seconds(void **state) {
    (void)state;
    struct tcgen05_gemm g = {
        .path = "tests/emu/tcgen05/pair.ptx", .tile_m = 256, .tile_n = 256, .ctas = 2};
    struct emu_result result;
    if (getenv("SANITIZED")) skip();
    char *ptx;
    read_text(g.path, &ptx);
    g.m = g.n = g.k = 512;
    make(&g);
    double begin = seconds();
    run(&g, ptx, 0, &result);
    double taken = seconds() - begin;
    emu_kernel_is_clean(&result);
    emu_result_free(&result);
    check_values(&g);
    drop(&g);
    print_message("%.2f s\n", taken);
    free(ptx);
    assert_true(taken < 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cta),
        cmocka_unit_test(pair),
        cmocka_unit_test(pair_whose_copies_tell_the_first_cta),
        cmocka_unit_test(pair_of_512_takes_less_than_3_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
