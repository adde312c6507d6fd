// Bounds of launches from below, of the table that ships: none above its estimate, none far below.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/learned.h"
#include "tests/unit/runtime/shipped.h"

static struct tmg_table *table;
static uint64_t seed;

static int open_table(void **state) {
    (void)state;
    table = open_shipped();
    return 0;
}

static int close_table(void **state) {
    (void)state;
    tmg_table_free(table);
    return 0;
}

// From 1 to [most], as often small as large, a multiple of [step].
static int64_t random_size(int64_t most, int64_t step) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const double size = exp((double)(seed >> 11) * 0x1p-53 * log((double)most));
    return ((int64_t)size + step - 1) / step * step;
}

// What the launches of a shape take at least, on so many SMs.
static void bound(struct tmg_scene *scene, int sms, float *us) {
    const struct tmg_near near = {.table = table};
    struct tmg_asked asked;
    scene->table = table;
    scene->capacity = (struct tmg_capacity){.sms = sms, .semaphore_bytes = 65536};
    tmg_ask_at(&asked, table->interface, table->dims, scene->shape, table->dim_count);
    assert_int_equal(tmg_bind(table->interface, &asked.launch, &scene->binding), TMAGEN_OK);
    tmg_scene_fill(scene, &near, 0);
    for (unsigned i = 0; i < table->launch_count; ++i)
        scene->misses[i] = (float)random_size(2000, 1) * .003F - 3;
    tmg_leasts_us(&table->leasts, &scene->ground, sms, scene->misses, us);
}

static void test_no_bound_is_above_its_estimate(void **state) {
    (void)state;
    static struct tmg_scene scene;
    static float us[TMG_MAX_LAUNCHES];
    double shares = 0;
    unsigned count = 0;
    seed = 3;
    for (int i = 0; i < 300; ++i) {
        const int64_t step = i % 3 ? 8 : 1;
        const int sms = i % 5 ? table->sms : (int)random_size(2 * table->sms, 1);
        for (int dim = 0; dim < 3; ++dim)
            scene.shape[dim] = random_size(i % 10 ? 16384 : 1 << 20, dim ? step : 1);
        bound(&scene, sms, us);
        for (unsigned j = 0; j < table->launch_count; ++j) {
            const struct tmg_listed *listed = &table->listed[j];
            int64_t counts[TMG_PER_COUNT];
            struct tmg_estimate estimate;
            if (tmg_scene_estimate(&scene, &table->kernels[listed->kernel], listed->splits,
                                   INFINITY, counts, &estimate))
                continue;
            const double share = (double)us[j] / (estimate.us * exp((double)scene.misses[j]));
            if (share > 1)
                fail_msg("%s/%d at %dx%dx%d on %d SMs: %.4f of its estimate",
                         table->kernels[listed->kernel].name, listed->splits, (int)scene.shape[0],
                         (int)scene.shape[1], (int)scene.shape[2], sms, share);
            shares += share;
            ++count;
        }
    }
    print_message("%.3f of %u estimates\n", shares / count, count);
    assert_true(shares / count > .9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_bound_is_above_its_estimate, open_table,
                                        close_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
