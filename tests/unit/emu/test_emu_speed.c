// How fast the emulator is, on the kernels of tests/emu/speed: what is held is two thirds of what
// it was when set. By yardsticks and on the CPU's clock, since the machine may be slower, or busy:
// ordinary code by digests, rings by ordinary code, wgmma by its products. In seconds:
// `tmagen emulate tests/emu/speed/ordinary.yaml`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/emu/model/fused.h"
#include "tests/unit/emu/tcgen05_gemm.h"
#include "tests/unit/yardstick.h"

enum { ROUNDS = 15, MOST_ROUNDS = 120, LEAST_SHARE = 25, LEAST_SHARE_TCGEN05 = 24 };

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

struct kernel {
    const char *path, *entry;
    unsigned grid, block, turns;
    unsigned char fill;  // every byte of what it reads
};
static const struct kernel ordinary = {"tests/emu/speed/ordinary.ptx", "ordinary", 2, 256, 400, 0};
static const struct kernel ring = {"tests/emu/speed/ring.ptx", "alone", 2, 128, 200, 0};
static const struct kernel large_ring = {"tests/emu/speed/ring.ptx", "told", 2, 1024, 40, 0};
static const struct kernel multiply = {"tests/emu/speed/multiply.ptx", "multiply", 2, 128, 60, 60};

struct speed {
    double instructions, multiply_adds;  // million a second, of threads; billion a second
};

static struct speed launch(const struct kernel *kernel) {
    enum { BYTES = 1 << 16 };
    struct emu_error error;
    struct emu_module *module;
    struct emu_result result;
    struct emu_memory *memory = emu_memory_new();
    char *ptx;
    size_t bytes;
    const uint64_t in = emu_memory_alloc(memory, BYTES, "in");
    const uint64_t out = emu_memory_alloc(memory, BYTES, "out");
    const void *params[] = {&in, &out, &kernel->turns};
    struct emu_launch like = {.grid = {kernel->grid, 1, 1},
                              .block = {kernel->block, 1, 1},
                              .threads = 1,
                              .entry = kernel->entry,
                              .params = params,
                              .param_count = 3};
    emu_memory_fill(memory, in, kernel->fill, BYTES);
    emu_memory_fill(memory, out, 0, BYTES);
    assert_int_equal(tmg_file_read(kernel->path, 1 << 20, &ptx, &bytes), 0);
    if (emu_module_parse(kernel->path, ptx, bytes, NULL, &module, &error))
        fail_msg("%s", error.text);
    like.module = module;
    if (emu_launch_run(memory, &like, &result, &error)) fail_msg("%s", error.text);
    if (result.report_count) fail_msg("%s", result.reports[0].text);
    const struct speed speed = {(double)result.thread_instructions / result.core_seconds / 1e6,
                                (double)result.multiply_adds / result.core_seconds / 1e9};
    emu_result_free(&result);
    emu_module_free(module);
    emu_memory_delete(memory);
    free(ptx);
    return speed;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Whether there is another round: since what runs beside them only slows, whose [best] is below
// [wanted] has some more.
static bool goes_on(int rounds, double best, double wanted) {
    return rounds < ROUNDS || (rounds < MOST_ROUNDS && best < wanted);
}

// What [kernel] runs at where the yardstick is what it should be: by the best round of each, in
// which both take turns. The yardstick: digests, 200 of them a second, or [by], at a rate of 100.
static void holds(const struct kernel *kernel, const struct kernel *by, double least) {
    double best = 0, yard = 0;
    for (int i = 0; goes_on(i, best, least * yard); ++i) {
        const double rate = launch(kernel).instructions;
        const double round = by ? launch(by).instructions / 100 : 5 / digest_ms();
        if (rate > best) best = rate;
        if (round > yard) yard = round;
    }
    print_message("%s: %.1f M a second\n", kernel->entry, best / yard);
    if (best / yard < least) fail_msg("less than %.0f", least);
}

static void kernels(void **state) {
    (void)state;
    if (getenv("SANITIZED")) skip();  // which have speeds of their own
    holds(&ordinary, NULL, 130);
    holds(&ring, &ordinary, 30);
    // Of two machines' 20 and 27: with 1024 threads it is the caches that count.
    holds(&large_ring, &ordinary, 13);
}

// Milliseconds of a wgmma's product whose factors are 1, and [every] which one is [odd].
static double product_ms(float odd, int every) {
    enum { M = 64, N = 256, K = 16 };
    static float a[M * K], b[K * N], d[M * N];
    const struct tmg_fused how = tmg_fused_for(TMG_BF16, TMG_BF16, TMG_F32, true);
    double least = 1e9;
    for (int i = 0; i < M * K; ++i) a[i] = i % every ? 1 : odd;
    for (int i = 0; i < K * N; ++i) b[i] = i % every ? 1 : odd;
    for (int i = 0; i < 4 * ROUNDS; ++i) {
        for (int at = 0; at < M * N; ++at) d[at] = at % every ? 1 : odd;
        const double start = now_ms();
        tmg_multiply_fused(&how, M, N, K, a, b, d);
        const double took = now_ms() - start;
        if (took < least) least = took;
    }
    return least;
}

// Billion multiply-adds a second of such a product.
static double product_rate(void) { return 64 * 256 * 16 / 1e6 / product_ms(1, 7); }

// Billion multiply-adds a second, where digests are 200 a second.
static void products(void **state) {
    (void)state;
    const struct tmg_fused_way *const *way = tmg_fused_ways;
    double rates[ROUNDS];
    if (getenv("SANITIZED")) skip();
    while (!(*way)->is_here()) ++way;
    const double least = *way == &tmg_fused_plain            ? 2.6
                         : strcmp((*way)->name, "avx2") == 0 ? 4.4
                                                             : 9.5;
    for (int i = 0; i < ROUNDS; ++i) rates[i] = product_rate() * digest_ms() / 5;
    qsort(rates, ROUNDS, sizeof *rates, by_size);
    print_message("products: %.1f to %.1f to %.1f G a second\n", rates[0], rates[ROUNDS / 2],
                  rates[ROUNDS - 1]);
    if (rates[ROUNDS / 2] < least) fail_msg("less than %.1f", least);
}

// Which part of [product] the instruction reaches, in the best round of each.
static void holds_share(const char *of, double best, double product, double least) {
    const double share = 100 * best / product;
    print_message("products take %.0f %% of a %s\n", share, of);
    if (share < least) fail_msg("less than %.0f", least);
}

// How much of a wgmma's time its product takes: copies, waits, checks and operands have the rest.
static void multiplies(void **state) {
    (void)state;
    double best = 0, product = 0;
    if (getenv("SANITIZED")) skip();
    for (int i = 0; goes_on(i, best, product * LEAST_SHARE / 100); ++i) {
        product = fmax(product, product_rate());
        best = fmax(best, launch(&multiply).multiply_adds);
    }
    holds_share("wgmma", best, product, LEAST_SHARE);
}

// The same of a tcgen05.mma, by a GEMM of 512 cubed: a pair's, of 256 x 256 x 16.
static void tensor_memory(void **state) {
    (void)state;
    struct tcgen05_gemm g = {.path = "tests/emu/tcgen05/pair.ptx",
                             .tile_m = 256,
                             .tile_n = 256,
                             .ctas = 2,
                             .m = 512,
                             .n = 512,
                             .k = 512};
    double best = 0, product = 0;
    char *ptx;
    if (getenv("SANITIZED")) skip();
    read_text(g.path, &ptx);
    make(&g);
    for (int i = 0; goes_on(i, best, product * LEAST_SHARE_TCGEN05 / 100); ++i) {
        struct emu_result result;
        product = fmax(product, product_rate());
        run(&g, ptx, 0, &result);
        best = fmax(best, (double)result.multiply_adds / result.core_seconds / 1e9);
        emu_result_free(&result);
    }
    drop(&g);
    free(ptx);
    holds_share("tcgen05.mma", best, product, LEAST_SHARE_TCGEN05);
}

// What is drawn as special takes no other way: 18 and 30 times as long, once.
static void special_values(void **state) {
    (void)state;
    if (getenv("SANITIZED")) skip();
    const double plain = product_ms(1, 7), subnormal = product_ms(0x1p-130f, 7);
    const double nan = product_ms(tmg_f32_from_bits(TMG_F32_NAN), 509);
    print_message("a product: %.3f ms, of subnormals %.3f, with NaNs %.3f\n", plain, subnormal,
                  nan);
    assert_true(subnormal < 3 * plain);
    assert_true(nan < 6 * plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels),        cmocka_unit_test(products),
        cmocka_unit_test(multiplies),     cmocka_unit_test(tensor_memory),
        cmocka_unit_test(special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
