// The model of a launch's time, with rates so simple that each prediction is worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/model.h"

// A kernel of one dim, "m", in tiles of 100 rows: 10 steps each of 50 flops, 200 bytes to store.
static const char manifest_text[] =
    "{\"tmagen_manifest\": 2, \"name\": \"k\", \"family\": \"f\", \"entry\": \"k\","
    " \"arch\": \"sm_90a\", \"source\": \"k.cu\", \"block\": [32, 1, 1],"
    " \"cluster\": [1, 1, 1], \"shared_memory\": 0, \"dims\": [{\"name\": \"m\"}, {\"name\": "
    "\"k\"}],"
    " \"tensors\": [{\"name\": \"a\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"], \"access\": "
    "\"read\"}],"
    " \"grid\": {\"rule\": \"persistent\", \"tiles\": [{\"dim\": \"m\", \"by\": 100}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"a\"}],"
    " \"cost\": [{\"unit\": \"tensor_flops\", \"per\": \"tile\", \"amount\": 500},"
    "  {\"unit\": \"steps\", \"per\": \"tile\", \"amount\": 10, \"ahead\": 4},"
    "  {\"unit\": \"l2_bytes\", \"per\": \"tile\", \"amount\": 10, \"tensor\": \"a\"},"
    "  {\"unit\": \"dram_bytes\", \"per\": \"launch\", \"amount\": 1, \"times\": [\"m\"], "
    "\"tensor\": \"a\"},"
    "  {\"unit\": \"store_bytes\", \"per\": \"tile\", \"amount\": 200}]}";
static const char scatters[] = ", \"scatters\": true}]}";  // in place of its end

// Everything but what a row sets is so fast that it takes no time.
static struct tmg_rates free_rates(void) {
    struct tmg_rates rates;
    for (int i = 0; i < TMG_RATES; ++i) rates.of[i] = i < TMG_RATE_LAUNCH ? 1e30 : 1e-30;
    rates.of[TMG_RATE_PARTS] = rates.of[TMG_RATE_BEYOND] = 1e30;
    return rates;
}

struct model {
    struct tmg_manifest *manifest;
    struct tmg_binding binding;
};

static void open_text(struct model *model, const char *text, int64_t m, int64_t k) {
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "k", &model->manifest), TMAGEN_OK);
    const tmagen_tensor a = {.name = "a", .data = 4096};
    const tmagen_dim dims[] = {{"m", m}, {"k", k}};
    const tmagen_launch launch = {.tensors = &a, .tensor_count = 1, .dims = dims, .dim_count = 2};
    assert_int_equal(tmg_bind(model->manifest, &launch, &model->binding), TMAGEN_OK);
}

static void open_model(struct model *model, int64_t m, int64_t k) {
    open_text(model, manifest_text, m, k);
}

// [m] rows on 4 SMs with [rates].
static struct tmg_estimate estimate_of(int64_t m, int64_t k, const struct tmg_rates *rates) {
    const struct tmg_capacity capacity = {.sms = 4, .resident_blocks = 4};
    struct tmg_estimate estimate;
    struct model model;
    open_model(&model, m, k);
    assert_int_equal(tmg_estimate(&model.binding, &capacity, rates, &estimate), TMAGEN_OK);
    tmg_manifest_free(model.manifest);
    return estimate;
}

static void assert_us(double us, double expected) {
    if (!(us > expected * 0.999 && us < expected * 1.001))
        fail_msg("%g us instead of %g", us, expected);
}

// One rate counts, and m rows: what the whole launch takes.
static const struct {
    const char *what;
    enum tmg_rate rate;
    double value;
    int64_t m, k;
    double us;
    enum tmg_bound binds;
} rows[] = {
    {"one tile: 500 flops", TMG_RATE_TENSOR, 5, 100, 64, 100, TMG_BOUND_TENSOR},
    {"a wave takes as long as a tile", TMG_RATE_TENSOR, 5, 400, 64, 100, TMG_BOUND_TENSOR},
    {"a tile more, a wave more", TMG_RATE_TENSOR, 5, 401, 64, 200, TMG_BOUND_TENSOR},
    {"an SM's share of the L2", TMG_RATE_L2_SM, 2, 100, 64, 5, TMG_BOUND_L2},
    {"the L2 is shared by four", TMG_RATE_L2, 2, 400, 64, 20, TMG_BOUND_L2},
    {"and by one of them alone", TMG_RATE_L2, 2, 100, 64, 5, TMG_BOUND_L2},
    {"ten steps, four loads under way", TMG_RATE_LATENCY, 2, 100, 64, 5, TMG_BOUND_LATENCY},
    {"ten steps that have little to do", TMG_RATE_STEP, 2, 100, 64, 20, TMG_BOUND_STEP},
    {"DRAM: bytes of the launch", TMG_RATE_DRAM, 5, 400, 64, 80, TMG_BOUND_DRAM},
    {"the stores of two waves", TMG_RATE_STORE, 10, 500, 64, 40, TMG_BOUND_EPILOGUE},
    {"power: the flops that are asked for", TMG_RATE_SUSTAINED, 5, 50, 64, 50, TMG_BOUND_POWER},
    {"a launch", TMG_RATE_LAUNCH, 3, 100, 64, 3, TMG_BOUND_LAUNCH},
    {"from tile to tile, twice", TMG_RATE_TILE, 3, 900, 64, 6, TMG_BOUND_LAUNCH},
    {"a CTA starts on half of the SMs", TMG_RATE_START, 3, 200, 64, 1.5, TMG_BOUND_LAUNCH},
    {"CTAs that walk start once", TMG_RATE_START, 3, 900, 64, 3, TMG_BOUND_LAUNCH},
    {"and look where to begin", TMG_RATE_WALK, 3, 900, 64, 3, TMG_BOUND_LAUNCH},
};

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct tmg_rates rates = free_rates();
        rates.of[rows[i].rate] = rows[i].value;
        const struct tmg_estimate estimate = estimate_of(rows[i].m, rows[i].k, &rates);
        print_message("%s\n", rows[i].what);
        // DRAM bounds steps and the whole, whose maximum is a little more than either
        if (rows[i].binds == TMG_BOUND_DRAM)
            assert_true(estimate.us > rows[i].us && estimate.us < 1.1 * rows[i].us);
        else
            assert_us(estimate.us, rows[i].us);
        assert_int_equal(estimate.binds, rows[i].binds);
    }
}

// What is written to DRAM counts more than what is read.
static void test_writes(void **state) {
    (void)state;
    struct model model;
    open_model(&model, 400, 64);
    for (int i = 0; i < 2; ++i) {
        const struct tmg_capacity capacity = {.sms = 4, .resident_blocks = 4};
        struct tmg_rates rates = free_rates();
        struct tmg_estimate estimate;
        rates.of[TMG_RATE_DRAM] = 5;
        rates.of[TMG_RATE_WRITES] = .5;
        if (i) model.manifest->rules->costs[3].reads = 0;
        assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
        if (i)
            assert_us(estimate.us, 120);
        else
            assert_true(estimate.us > 80 && estimate.us < 90);
    }
    tmg_manifest_free(model.manifest);
}

// Rows of 128 bytes or less lie in one line; longer ones at odd multiples of 16, 32 or 64 in more.
static void test_pitch(void **state) {
    (void)state;
    static const struct {
        int64_t k;
        double share;
    } pitches[] = {{60, 0}, {128, 0}, {96, 3}, {80, 2}, {72, 1}};
    for (size_t i = 0; i < sizeof pitches / sizeof *pitches; ++i) {
        struct tmg_rates rates = free_rates();
        rates.of[TMG_RATE_L2_SM] = 2;
        rates.of[TMG_RATE_PITCH_16] = 1;
        rates.of[TMG_RATE_PITCH_32] = 2;
        rates.of[TMG_RATE_PITCH_64] = 3;
        const struct tmg_estimate estimate = estimate_of(100, pitches[i].k, &rates);
        assert_us(estimate.us, 5 * (1 + pitches[i].share));
    }
}

// Two units that need as long as each other hide each other not wholly: their times add as the
// sides of a right angle.
static void test_both(void **state) {
    (void)state;
    struct tmg_rates rates = free_rates();
    rates.of[TMG_RATE_TENSOR] = 5;
    rates.of[TMG_RATE_L2_SM] = 0.1;
    const struct tmg_estimate estimate = estimate_of(100, 64, &rates);
    assert_true(estimate.us > 141 && estimate.us < 142);
    assert_us(estimate.bound[TMG_BOUND_TENSOR], 100);
    assert_us(estimate.bound[TMG_BOUND_L2], 100);
}

// A kernel that runs before takes its launch and the time of its bytes.
static void test_before(void **state) {
    (void)state;
    const struct tmg_capacity capacity = {.sms = 4, .resident_blocks = 4};
    struct tmg_rates rates = free_rates();
    struct tmg_estimate estimate;
    struct model model, before;
    rates.of[TMG_RATE_LAUNCH] = 3;
    rates.of[TMG_RATE_DRAM] = 2;
    open_model(&model, 100, 64);
    open_model(&before, 100, 64);
    model.manifest->before[0] = before.manifest;
    model.manifest->before_count = 1;
    assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
    const double both = estimate.us;
    model.manifest->before_count = 0;
    assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
    assert_us(both - estimate.us, 3 + 50);
    tmg_manifest_free(before.manifest);
    tmg_manifest_free(model.manifest);
}

// Where no device says how many CTAs are resident, the manifest does: eight tiles on four SMs.
static void test_residents(void **state) {
    (void)state;
    static const struct {
        int per_sm, resident;
        double us;
    } cases[] = {{1, 0, 10}, {2, 0, 5}, {2, 4, 10}, {1, 8, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct tmg_capacity capacity = {.sms = 4, .resident_blocks = cases[i].resident};
        struct tmg_rates rates = free_rates();
        rates.of[TMG_RATE_LATENCY] = 2;
        struct tmg_estimate estimate;
        struct model model;
        open_model(&model, 800, 64);
        model.manifest->grid.rule = TMG_GRID_TILES;
        model.manifest->grid.blocks_per_sm = cases[i].per_sm;
        assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
        assert_us(estimate.us, cases[i].us);
        tmg_manifest_free(model.manifest);
    }
}

// The busiest SM decides: of six tiles on four SMs two have two.
static void test_busiest(void **state) {
    (void)state;
    const struct tmg_capacity capacity = {.sms = 4};
    struct tmg_rates rates = free_rates();
    struct tmg_estimate estimate;
    struct model model;
    rates.of[TMG_RATE_TENSOR] = 5;
    open_model(&model, 600, 64);
    model.manifest->grid.rule = TMG_GRID_TILES;
    model.manifest->grid.blocks_per_sm = 2;
    assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
    assert_us(estimate.us, 200);
    tmg_manifest_free(model.manifest);
}

// Clusters of more than two CTAs find room on some SMs only: two tiles on twice a cluster's SMs; of
// six CTAs fewer than of four.
static void test_clustered(void **state) {
    (void)state;
    static const struct {
        int64_t ctas;
        double clustered, sixes, waves;
    } cases[] = {{4, 8, 4, 1}, {4, 7, 8, 2},  {4, 4, 8, 2},  {2, 4, 4, 1},
                 {4, 0, 4, 1}, {6, 12, 6, 2}, {6, 12, 0, 1}, {6, 12, 12, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct tmg_capacity capacity = {.sms = (int)cases[i].ctas * 2};
        struct tmg_rates rates = free_rates();
        struct tmg_estimate estimate;
        struct model model;
        rates.of[TMG_RATE_CLUSTERED] = cases[i].clustered;
        rates.of[TMG_RATE_SIXES] = cases[i].sixes;
        open_model(&model, 200, 64);
        model.manifest->grid.blocks_per_tile = (int)cases[i].ctas;
        assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
        assert_true(estimate.waves > cases[i].waves - .5 && estimate.waves < cases[i].waves + .5);
        tmg_manifest_free(model.manifest);
    }
}

// A tile in four parts of 50 bytes each: the last adds up the others; a CTA with two parts takes
// something in between.
static void test_parts(void **state) {
    (void)state;
    static const struct {
        enum tmg_rate rate;
        double value;
        int64_t m;
        double us;
    } cases[] = {{TMG_RATE_SPLIT, 2, 100, 2},
                 {TMG_RATE_PARTS, 10, 100, 15},
                 {TMG_RATE_PART, 3, 100, 0},
                 {TMG_RATE_PART, 3, 200, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct tmg_capacity capacity = {.sms = 4};
        struct tmg_rates rates = free_rates();
        struct tmg_estimate estimate;
        struct model model;
        rates.of[cases[i].rate] = cases[i].value;
        open_model(&model, cases[i].m, 64);
        model.binding.splits = 4;
        assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
        if (!(fabs(estimate.us - cases[i].us) < 1e-6))
            fail_msg("case %zu: %g us instead of %g", i, estimate.us, cases[i].us);
        tmg_manifest_free(model.manifest);
    }
}

// A tile in parts of so many bytes that add up a share each, if they come together: not where a CTA
// has two of them, nor of more than sixteen.
static void test_shares_of_parts(void **state) {
    (void)state;
    static const struct {
        int splits, sms;
        double bytes;
    } cases[] = {{4, 4, 150. / 4}, {4, 2, 150}, {16, 16, 187.5 / 16}, {20, 20, 190}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct tmg_capacity capacity = {.sms = cases[i].sms};
        struct tmg_rates rates = free_rates();
        struct tmg_estimate estimate;
        struct model model;
        char text[sizeof manifest_text + sizeof scatters];
        rates.of[TMG_RATE_PARTS] = 10;
        memcpy(text, manifest_text, sizeof manifest_text);
        strcpy(text + sizeof manifest_text - sizeof "}]}", scatters);
        open_text(&model, text, 100, 64);
        model.binding.splits = cases[i].splits;
        assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
        assert_us(estimate.us, cases[i].bytes / 10);
        tmg_manifest_free(model.manifest);
    }
}

// Boxes of 30 bytes a tile, of which the L2 gives 10: four CTAs bring 80 beyond the edges, which
// nothing hides. Without box rows, or a rate, nothing lies beyond.
static void test_beyond(void **state) {
    (void)state;
    static const struct {
        enum tmg_spent spends;
        double rate, us;
    } cases[] = {{TMG_SPENT_BEYOND, 4, 10 + 20}, {TMG_SPENT_BEYOND, 0, 10}, {TMG_SPENT_L1, 4, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct tmg_capacity capacity = {.sms = 4};
        struct tmg_rates rates = free_rates();
        struct tmg_estimate estimate;
        struct model model;
        rates.of[TMG_RATE_LATENCY] = 4;
        rates.of[TMG_RATE_BEYOND] = cases[i].rate;
        open_model(&model, 400, 64);
        struct tmg_cost_rule *stores = &model.manifest->rules->costs[4];
        stores->spends = (unsigned char)cases[i].spends;
        stores->amount = 30;
        assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
        assert_us(estimate.us, cases[i].us);
        if (cases[i].us > 10) assert_us(estimate.bound[TMG_BOUND_L2], 20);
        tmg_manifest_free(model.manifest);
    }
}

// Two tiles a CTA, each of which takes the sums of three others.
static void test_peers(void **state) {
    (void)state;
    const struct tmg_capacity capacity = {.sms = 4};
    struct tmg_rates rates = free_rates();
    struct tmg_estimate estimate;
    struct model model;
    rates.of[TMG_RATE_PEER] = 2;
    open_model(&model, 800, 64);
    struct tmg_cost_rule *stores = &model.manifest->rules->costs[4];
    stores->spends = TMG_SPENT_PEERS;
    stores->amount = 3;
    assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate), TMAGEN_OK);
    assert_us(estimate.us, 12);
    assert_int_equal(estimate.binds, TMG_BOUND_LAUNCH);
    tmg_manifest_free(model.manifest);
}

static void test_no_steps(void **state) {
    (void)state;
    const struct tmg_capacity capacity = {.sms = 4};
    const struct tmg_rates rates = free_rates();
    struct tmg_estimate estimate;
    struct model model;
    open_model(&model, 100, 64);
    model.manifest->rules->cost_count = 1;
    assert_int_equal(tmg_estimate(&model.binding, &capacity, &rates, &estimate),
                     TMAGEN_ERROR_ARGUMENT);
    tmg_manifest_free(model.manifest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_pitch),
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_before),
        cmocka_unit_test(test_residents),
        cmocka_unit_test(test_no_steps),
        cmocka_unit_test(test_busiest),
        cmocka_unit_test(test_clustered),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_shares_of_parts),
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
