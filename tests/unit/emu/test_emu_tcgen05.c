// Two small GEMMs with tcgen05.mma, tests/emu/tcgen05: of one CTA and of a pair, in every order the
// bits of the sums that a B200 was measured to compute, close to a plain sum, and no report.
#include "tests/unit/emu/emu_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/emu/model/convert.h"
#include "runtime/whole_file.h"

enum { SHARED = 3 * 32768, BF16 = 9, SWIZZLE_128 = 3 };

static uint64_t random_state = 1;

static float draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (float)(random_state >> 40) / (1 << 23) - 1;
}

struct gemm {
    const char *path;
    uint32_t tile_m, tile_n, ctas;
    uint32_t m, n, k;
    uint16_t *a, *b;
    float *d;
};

static void make(struct gemm *g) {
    g->a = malloc((size_t)g->m * g->k * 2);
    g->b = malloc((size_t)g->n * g->k * 2);
    g->d = malloc((size_t)g->m * g->n * 4);
    for (uint32_t i = 0; i < g->m * g->k; ++i) g->a[i] = tmg_f32_to_bf16_rn(draw());
    for (uint32_t i = 0; i < g->n * g->k; ++i) g->b[i] = tmg_f32_to_bf16_rn(draw());
}

static void drop(struct gemm *g) {
    free(g->a);
    free(g->b);
    free(g->d);
}

// Rows of 64 elements of k, 128 of them, swizzled; zeros beyond the matrix.
static void encode(void *map, uint64_t address, uint32_t rows, uint32_t k) {
    const uint64_t dims[2] = {k, rows}, strides[1] = {(uint64_t)k * 2};
    const uint32_t box[2] = {64, 128}, ones[2] = {1, 1};
    struct emu_error error;
    if (emu_tensor_map_encode(map, BF16, 2, address, dims, strides, box, ones, 0, SWIZZLE_128, 0, 0,
                              &error))
        fail_msg("%s", error.text);
}

static void run(struct gemm *g, uint64_t seed, struct emu_result *result) {
    struct emu_memory *memory = emu_memory_new();
    _Alignas(64) uint8_t a_map[EMU_TENSOR_MAP_BYTES], b_map[EMU_TENSOR_MAP_BYTES];
    uint64_t a = emu_memory_alloc(memory, (size_t)g->m * g->k * 2, "a");
    uint64_t b = emu_memory_alloc(memory, (size_t)g->n * g->k * 2, "b");
    uint64_t d = emu_memory_alloc(memory, (size_t)g->m * g->n * 4, "d");
    const void *params[] = {&d, &g->m, &g->n, &g->k, a_map, b_map};
    struct emu_launch launch = {.grid = {(g->m + g->tile_m - 1) / g->tile_m * g->ctas,
                                         (g->n + g->tile_n - 1) / g->tile_n, 1},
                                .block = {192, 1, 1},
                                .dynamic_smem = SHARED,
                                .seed = seed};
    char *ptx;
    size_t bytes;
    emu_memory_write(memory, a, g->a, (size_t)g->m * g->k * 2);
    emu_memory_write(memory, b, g->b, (size_t)g->n * g->k * 2);
    encode(a_map, a, g->m, g->k);
    encode(b_map, b, g->n, g->k);
    assert_int_equal(tmg_file_read(g->path, 1 << 16, &ptx, &bytes), 0);
    emu_kernel_launch(memory, ptx, launch, params, 6, result);
    emu_memory_read(memory, g->d, d, (size_t)g->m * g->n * 4);
    emu_memory_delete(memory);
    free(ptx);
}

static void check_values(const struct gemm *g) {
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

static void check_gemm(struct gemm *g, int seeds) {
    size_t bytes = (size_t)g->m * g->n * 4;
    float *first = malloc(bytes);
    make(g);
    for (int seed = 0; seed < seeds; ++seed) {
        struct emu_result result;
        run(g, (uint64_t)seed, &result);
        emu_kernel_is_clean(&result);
        emu_result_free(&result);
        if (seed == 0) memcpy(first, g->d, bytes);
        assert_memory_equal(first, g->d, bytes);
    }
    check_values(g);
    drop(g);
    free(first);
}

static int seed_count(void) { return getenv("SANITIZED") ? 2 : 20; }

static void one_cta(void **state) {
    (void)state;
    struct gemm g = {.path = "tests/emu/tcgen05/one.ptx", .tile_m = 128, .tile_n = 128, .ctas = 1};
    g.m = 136, g.n = 200, g.k = 328;
    check_gemm(&g, seed_count());
}

static void pair(void **state) {
    (void)state;
    struct gemm g = {.path = "tests/emu/tcgen05/pair.ptx", .tile_m = 256, .tile_n = 256, .ctas = 2};
    g.m = 296, g.n = 264, g.k = 328;
    check_gemm(&g, seed_count());
    g.m = 40, g.n = 8, g.k = 8;
    check_gemm(&g, 3);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pair_of_512_takes_less_than_3_seconds(void **state) {
    (void)state;
    struct gemm g = {.path = "tests/emu/tcgen05/pair.ptx", .tile_m = 256, .tile_n = 256, .ctas = 2};
    struct emu_result result;
    if (getenv("SANITIZED")) skip();
    g.m = g.n = g.k = 512;
    make(&g);
    double begin = seconds();
    run(&g, 0, &result);
    double taken = seconds() - begin;
    emu_kernel_is_clean(&result);
    emu_result_free(&result);
    check_values(&g);
    drop(&g);
    print_message("%.2f s\n", taken);
    assert_true(taken < 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cta),
        cmocka_unit_test(pair),
        cmocka_unit_test(pair_of_512_takes_less_than_3_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
