// What a table has learnt: what its rows may say, what the network makes of them, and that it
// orders the first of a ranking and nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/choose.h"
#include "runtime/error.h"
#include "runtime/learned.h"
#include "tests/unit/runtime/shipped.h"

enum { SHAPES = 300 };

static struct tmg_table *table;

static int open_table(void **state) {
    (void)state;
    table = open_shipped();
    assert_non_null(table->learned);
    return 0;
}

static int close_table(void **state) {
    (void)state;
    tmg_table_free(table);
    return 0;
}

// ---- The network

static float drawn(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*seed >> 33) / 1073741824.0 - 1);
}

static void test_units_are_linear_from_zero_on(void **state) {
    (void)state;
    static struct tmg_learned learned = {.inputs = 3};
    struct tmg_network *network = &learned.network;
    enum { FIRST_END = TMG_LEARNED_UNITS - 1, SECOND_END = TMG_LEARNED_SECOND - 1 };
    struct tmg_learned_units units;
    const float inputs[3] = {2, -1, .5F};
    network->offsets[0] = .25F, network->second[0][0] = 2, network->last[0] = 3;
    network->weights[0][0] = 1, network->weights[1][0] = .5F, network->weights[2][0] = 2;
    assert_float_equal(tmg_learned_miss(&learned, inputs, &units), 3 * 2 * 2.75F, 1e-5F);
    network->second_offsets[0] = -6;  // the second layer's unit is at -.5
    assert_float_equal(tmg_learned_miss(&learned, inputs, &units), 0, 0);
    network->second_offsets[0] = 1, network->offsets[0] = -3;  // and the first's
    assert_float_equal(tmg_learned_miss(&learned, inputs, &units), 3, 1e-6F);
    network->offsets[FIRST_END] = 2, network->second[FIRST_END][SECOND_END] = .5F;
    network->last[SECOND_END] = -1;
    assert_float_equal(tmg_learned_miss(&learned, inputs, &units), 2, 1e-6F);
}

static void test_all_units_count(void **state) {
    (void)state;
    const struct tmg_learned *learned = table->learned;
    const struct tmg_network *network = &learned->network;
    struct tmg_learned_units units;
    float inputs[TMG_LEARNED_INPUTS];
    uint64_t seed = 1;
    for (int round = 0; round < 20; ++round) {
        double sum = 0, first[TMG_LEARNED_UNITS];
        for (unsigned i = 0; i < learned->inputs; ++i) inputs[i] = 2 * drawn(&seed);
        for (int unit = 0; unit < TMG_LEARNED_UNITS; ++unit) {
            double value = (double)network->offsets[unit];
            for (unsigned i = 0; i < learned->inputs; ++i)
                value += (double)network->weights[i][unit] * (double)inputs[i];
            first[unit] = fmax(0, value);
        }
        for (int unit = 0; unit < TMG_LEARNED_SECOND; ++unit) {
            double value = (double)network->second_offsets[unit];
            for (int i = 0; i < TMG_LEARNED_UNITS; ++i)
                value += (double)network->second[i][unit] * first[i];
            sum += fmax(0, value) * (double)network->last[unit];
        }
        assert_float_equal(tmg_learned_miss(learned, inputs, &units), (float)sum, 1e-4F);
    }
}

// The scene of a launch of its shape, near which nothing was measured.
static void ask(struct tmg_scene *scene, int learns) {
    const struct tmg_near near = {.table = table};
    struct tmg_asked asked;
    scene->table = table;
    scene->capacity = (struct tmg_capacity){.sms = table->sms, .semaphore_bytes = 65536};
    tmg_ask_at(&asked, table->interface, table->dims, scene->shape, table->dim_count);
    assert_int_equal(tmg_bind(table->interface, &asked.launch, &scene->binding), TMAGEN_OK);
    tmg_scene_fill(scene, &near, learns);
}

// Of tiles that a number counts, columns 128 apart, eight of them cover what one row's tile does.
// Where nothing is learnt, no bytes are counted.
static void test_tiles_that_a_number_counts(void **state) {
    (void)state;
    static struct tmg_scene scene = {.shape = {640, 1000, 4096}};
    const struct tmg_row *row = &table->kernels[tmg_table_kernel(table, "gemm_8x8_alike")];
    int64_t counts[TMG_PER_COUNT];
    float raw[TMG_LEARNED_INPUTS];
    struct tmg_estimate estimate;
    ask(&scene, 0);
    assert_float_equal(scene.bytes, 0, 0);
    assert_int_equal(tmg_scene_estimate(&scene, row, 1, INFINITY, counts, &estimate), TMAGEN_OK);
    assert_int_equal(counts[TMG_PER_TILE], 128 * 80);  // 125, and as many as make it eights
    tmg_learned_look(&scene, row->first_launch, &estimate, raw);
    assert_float_equal(raw[3], log2(128), 1e-3F);
    assert_float_equal(raw[4], log2(8), 1e-3F);
    assert_float_equal(raw[9], log2(1.024), 2e-3F);
}

// What is looked at is centered and scaled, and four scales are the farthest.
static void test_inputs_are_scaled(void **state) {
    (void)state;
    static struct tmg_learned scales;
    static struct tmg_scene scene = {.shape = {640, 1000, 4096}};
    const struct tmg_row *row = &table->kernels[tmg_table_kernel(table, "gemm_128x128")];
    const unsigned launch = row->first_launch;
    int64_t counts[TMG_PER_COUNT];
    float raw[TMG_LEARNED_INPUTS], inputs[TMG_LEARNED_INPUTS];
    struct tmg_estimate estimate;
    ask(&scene, 1);
    assert_int_equal(tmg_scene_estimate(&scene, row, 1, INFINITY, counts, &estimate), TMAGEN_OK);
    scene.misses[launch] = logf(2), scene.weights[launch] = .5F;
    tmg_learned_look(&scene, launch, &estimate, raw);
    scales.inputs = tmg_learned_inputs(3);
    assert_int_equal(counts[TMG_PER_TILE], 5 * 8);
    assert_float_equal(scene.bytes, 2 * (640. * 4096 + 1000. * 4096 + 640. * 1000), 1);
    assert_float_equal(raw[0], log2(640), 1e-3F);
    assert_float_equal(raw[1], log2(1000), 1e-3F);
    assert_float_equal(raw[2], 12, 1e-3F);
    assert_float_equal(raw[17], log2(estimate.us), 1e-3F);
    assert_float_equal(raw[18], log2(scene.bytes / estimate.us), 1e-3F);
    assert_float_equal(raw[20], 7, 0);  // 640 is five times 128
    assert_float_equal(raw[21], 3, 0);  // 1000 is 125 times 8
    assert_float_equal(raw[scales.inputs - 2], logf(2), 1e-6F);
    assert_float_equal(raw[scales.inputs - 1], .5F, 0);
    for (unsigned i = 0; i < scales.inputs; ++i) {
        const float wanted[] = {-1.5F, 3, TMG_LEARNED_FAR, -TMG_LEARNED_FAR};
        const float scale = .25F * (float)(1 + i % 3), off[] = {-1.5F, 3, 5, -7};
        scales.scale[i] = scale;
        scales.center[i] = raw[i] - off[i % 4] * scale;
        memcpy(inputs, raw, sizeof inputs);
        tmg_learned_scale(&scales, inputs);
        assert_float_equal(inputs[i], wanted[i % 4], 1e-3F);
    }
}

// How much of a step shared memory takes: more where tiles are transposed; nothing without tiles.
static void test_shared_memory_is_seen(void **state) {
    (void)state;
    static struct tmg_scene scene = {.shape = {640, 1000, 4096}};
    static const char *const names[] = {"gemm_88x192_pairs", "gemm_168x128_beside", "gemm_8x8"};
    int64_t counts[TMG_PER_COUNT];
    struct tmg_estimate estimate;
    ask(&scene, 1);
    for (int i = 0; i < 3; ++i) {
        const struct tmg_row *row = &table->kernels[tmg_table_kernel(table, names[i])];
        float raw[TMG_LEARNED_INPUTS];
        assert_int_equal(tmg_scene_estimate(&scene, row, 1, INFINITY, counts, &estimate), 0);
        tmg_learned_look(&scene, row->first_launch, &estimate, raw);
        const double shared = estimate.bound[TMG_BOUND_SHARED],
                     both = shared + estimate.bound[TMG_BOUND_TENSOR];
        assert_float_equal(raw[24], both > 0 ? shared / both : 0, 1e-6F);
    }
}

// ---- The ranking

static int given_splits;

static unsigned choose(const int64_t *shape, unsigned most, struct tmg_choice *choices) {
    struct tmg_asked asked;
    unsigned count = 0;
    tmg_ask_at(&asked, table->interface, table->dims, shape, table->dim_count);
    asked.launch.splits = given_splits;
    const struct tmg_question question = {.table = table,
                                          .launch = &asked.launch,
                                          .capacity = {.sms = table->sms, .semaphore_bytes = 65536},
                                          .kernel = -1,
                                          .workspace = -1,
                                          .most = most};
    assert_int_equal(tmg_choose(&question, choices, &count), TMAGEN_OK);
    return count;
}

static int same(const struct tmg_choice *a, const struct tmg_choice *b) {
    return a->kernel == b->kernel && a->splits == b->splits;
}

// The first few are those that were first, up to a tenth slower, their mean as it was; those behind
// keep their order.
static void test_only_the_first_are_told_apart(void **state) {
    (void)state;
    static struct tmg_choice with[TMG_CHOICES], without[TMG_CHOICES];
    struct tmg_learned *learned = table->learned;
    uint64_t seed = 3;
    unsigned moved = 0, fewer = 0;
    for (int i = 0; i < SHAPES; ++i) {
        int64_t shape[TMG_MAX_TABLE_DIMS];
        for (int j = 0; j < 3; ++j)
            shape[j] = (int64_t)exp2(10 + 3 * (double)drawn(&seed)) / 8 * 8 + 8;
        const unsigned count = choose(shape, 0, with);
        unsigned few = 0;
        table->learned = NULL;
        assert_int_equal(choose(shape, 0, without), count);
        table->learned = learned;
        if (without[0].why == TMAGEN_BY_TUNING || count < 8) continue;
        double logs = 0;
        while (few < TMG_LEARNED_AMONG && without[few].us <= without[0].us * TMG_LEARNED_WITHIN)
            ++few;
        fewer += few < TMG_LEARNED_AMONG;
        for (unsigned j = 0; j < few; ++j) {
            unsigned found = 0;
            for (unsigned k = 0; k < few; ++k) found += same(&with[j], &without[k]);
            assert_int_equal(found, 1);
            logs += log(with[j].us / without[j].us);
        }
        assert_true(fabs(logs) < 1e-4);
        for (unsigned j = few; j < count; ++j) {
            assert_true(same(&with[j], &without[j]));
            assert_true(with[j].us >= with[j - 1].us || with[j].last > with[j - 1].last);
        }
        moved += !same(&with[0], &without[0]);
    }
    print_message("another one is first at %u of %d shapes\n", moved, SHAPES);
    assert_in_range(moved, SHAPES / 10, SHAPES);
    assert_in_range(fewer, SHAPES / 10, SHAPES - SHAPES / 10);
}

// Splits that the caller names are not what was learnt from.
static void test_given_splits_rank_as_they_did(void **state) {
    (void)state;
    static struct tmg_choice with[TMG_CHOICES], without[TMG_CHOICES];
    const int64_t shape[TMG_MAX_TABLE_DIMS] = {200, 520, 4104};
    struct tmg_learned *learned = table->learned;
    for (given_splits = 2; given_splits < 5; ++given_splits) {
        const unsigned count = choose(shape, 0, with);
        table->learned = NULL;
        assert_int_equal(choose(shape, 0, without), count);
        table->learned = learned;
        assert_in_range(count, 2, TMG_CHOICES);
        for (unsigned i = 0; i < count; ++i) {
            assert_true(same(&with[i], &without[i]));
            assert_true(with[i].us == without[i].us);
        }
    }
    given_splits = 0;
}

// Whatever the numbers of a table, times stay times.
static void test_learnt_nonsense_is_bounded(void **state) {
    (void)state;
    static struct tmg_choice choices[TMG_CHOICES];
    struct tmg_learned *learned = table->learned, nonsense = *learned;
    uint64_t seed = 5;
    for (int unit = 0; unit < TMG_LEARNED_UNITS; ++unit)
        for (unsigned i = 0; i < nonsense.inputs; ++i)
            nonsense.network.weights[i][unit] = 1000 * drawn(&seed);
    for (int unit = 0; unit < TMG_LEARNED_SECOND; ++unit) {
        nonsense.network.last[unit] = unit % 2 ? 1000 : -1000;
        for (int i = 0; i < TMG_LEARNED_UNITS; ++i)
            nonsense.network.second[i][unit] = 1000 * drawn(&seed);
    }
    table->learned = &nonsense;
    for (int i = 0; i < SHAPES; ++i) {
        int64_t shape[TMG_MAX_TABLE_DIMS];
        for (int j = 0; j < 3; ++j)
            shape[j] = (int64_t)exp2(10 + 3 * (double)drawn(&seed)) / 8 * 8 + 8;
        const unsigned count = choose(shape, TMG_LEARNED_AMONG, choices);
        for (unsigned j = 0; j < count; ++j) assert_true(choices[j].us > .5 && choices[j].us < 1e6);
    }
    table->learned = learned;
}

// Asked for one, it is the first of those that are told apart.
static void test_one_is_the_first_of_all(void **state) {
    (void)state;
    static struct tmg_choice all[TMG_CHOICES], one[1];
    uint64_t seed = 4;
    for (int i = 0; i < SHAPES; ++i) {
        int64_t shape[TMG_MAX_TABLE_DIMS];
        for (int j = 0; j < 3; ++j)
            shape[j] = (int64_t)exp2(10 + 3 * (double)drawn(&seed)) / 8 * 8 + 8;
        choose(shape, 0, all);
        assert_int_equal(choose(shape, 1, one), 1);
        assert_true(same(&all[0], &one[0]));
    }
}

// Of launches that were measured at the shape itself what is learnt knows nothing better: they keep
// their order.
static void test_what_is_measured_keeps_its_order(void **state) {
    (void)state;
    static struct tmg_choice with[TMG_CHOICES], without[TMG_CHOICES];
    struct tmg_learned *learned = table->learned;
    unsigned compared = 0;
    for (unsigned i = 0; i < table->measured_count; i += 5) {
        const struct tmg_measured *measured = &table->measured[i];
        int64_t shape[TMG_MAX_TABLE_DIMS];
        for (int j = 0; j < 3; ++j) shape[j] = llround(exp2((double)measured->at[j]));
        const unsigned count = choose(shape, 0, with);
        table->learned = NULL;
        assert_int_equal(choose(shape, 0, without), count);
        table->learned = learned;
        unsigned last = 0;
        for (unsigned j = 0; j < count && j < TMG_LEARNED_AMONG; ++j) {
            const int launch = tmg_table_launch(table, with[j].kernel, with[j].splits);
            if (with[j].why == TMAGEN_BY_TUNING ||
                isnan(tmg_table_miss(table, measured, (unsigned)launch)))
                continue;
            unsigned at = 0;
            while (!same(&without[at], &with[j])) ++at;
            assert_true(at >= last);
            compared += at > last;
            last = at;
        }
    }
    assert_in_range(compared, 200, 10000);
}

// What is measured says little of itself to those who ask what it would be without.
static void test_what_is_alike_is_left_out(void **state) {
    (void)state;
    // not at an edge of what is measured, where few are near
    const struct tmg_measured *itself = &table->measured[table->measured_count * 2 / 3];
    int64_t shape[TMG_MAX_TABLE_DIMS];
    struct tmg_near near, others;
    for (int j = 0; j < 3; ++j) shape[j] = llround(exp2((double)itself->at[j]));
    tmg_near_find(table, shape, 128, &near);
    tmg_near_find_others(table, shape, 128, &others);
    unsigned alike = 0;
    for (unsigned i = 0; i < near.count; ++i) {
        double far = 0;
        for (int j = 0; j < 3; ++j) far += pow((double)(near.shapes[i]->at[j] - itself->at[j]), 2);
        alike += far < .05;
        for (unsigned j = 0; j < others.count && far < .05; ++j)
            assert_ptr_not_equal(near.shapes[i], others.shapes[j]);
    }
    assert_in_range(alike, 1, near.count);
    assert_int_equal(others.count, TMG_NEAR_MOST);
}

// ---- Tables that are wrong

// Parses the shipped table with [text] in place of the first [old] behind its "learned".
static void refused(const char *old, const char *text, const char *message) {
    size_t bytes;
    char *whole = read_out("gemm_bf16_h200", &bytes);
    char *at = strstr(strstr(whole, "\"learned\""), old), *changed = malloc(2 * bytes + 100);
    struct tmg_table *parsed = NULL;
    assert_non_null(changed);
    assert_non_null(at);
    const int used = sprintf(changed, "%.*s%s%s", (int)(at - whole), whole, text, at + strlen(old));
    assert_int_equal(tmg_table_parse(changed, (size_t)used, "t", &parsed), TMAGEN_ERROR_MANIFEST);
    if (!strstr(tmagen_error_last(), message)) fail_msg("%s", tmagen_error_last());
    free(changed);
    free(whole);
}

static void test_rows_that_are_wrong(void **state) {
    (void)state;
    refused("[\n    \"", "[\n    \"x", "learned[0] must be a text of 43 thousandths");
    refused("[\n    \"", "[\n    \"- ", "prints it: 12 -345; not one: -");
    refused("[\n    \"", "[\n    \"1 ", "; not one: ");
    refused("[\n    \"", "[\n    \"7 10000001 ", "; not one: 10000001");
    refused("[\n    \"", "[\n    \"1x ", "; not one: 1x");
    refused("[\n    ", "[\n    7, ", "learned has 97 rows, and this library looks at 96");
    refused(",\n    \"", ",\n    \"-", "learned[1] has a scale that is not positive");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_are_linear_from_zero_on),
        cmocka_unit_test(test_all_units_count),
        cmocka_unit_test(test_inputs_are_scaled),
        cmocka_unit_test(test_shared_memory_is_seen),
        cmocka_unit_test(test_only_the_first_are_told_apart),
        cmocka_unit_test(test_given_splits_rank_as_they_did),
        cmocka_unit_test(test_learnt_nonsense_is_bounded),
        cmocka_unit_test(test_one_is_the_first_of_all),
        cmocka_unit_test(test_what_is_measured_keeps_its_order),
        cmocka_unit_test(test_tiles_that_a_number_counts),
        cmocka_unit_test(test_what_is_alike_is_left_out),
        cmocka_unit_test(test_rows_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
