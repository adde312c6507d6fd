// Sets: what is picked and why, pins, what is refused, and what a shape seen before costs.
#include <pthread.h>

#include "tests/unit/runtime/set_fixture.h"
#include "tests/unit/runtime/steps.h"

// ---- The choice

static void test_by_the_model(void **state) {
    (void)state;
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");     // 100 us; big 500, split/4 125
    assert_string_equal(taken(rows_of(2000, 64, 0)), "split/4");  // 125; small 200
    assert_string_equal(taken(rows_of(13200, 64, 0)), "big");     // 500, as split's; first listed
    assert_string_equal(taken(rows_of(0, 64, 0)), "");
}

// ---- Sets of other kernels

enum { OTHERS = 8 };
static tmagen_set_kernel others[OTHERS];

// [text] with each [old] replaced, as kernel [index] of the others under [name].
static void other(int index, const char *name, const char *text, const char *old, const char *new) {
    char *made = NULL;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    for (const char *at; (at = strstr(text, old)); text = at + strlen(old))
        fprintf(out, "%.*s%s", (int)(at - text), text, new);
    fputs(text, out);
    fclose(out);
    free((void *)others[index].manifest_text);
    others[index] =
        (tmagen_set_kernel){.name = name, .manifest_text = made, .source_text = kernels[0].name};
}

// Opens a set of the table's [lists] and the others in place of the test's own. Its status.
static int open_others(const char *lists) {
    static char text[4096];
    snprintf(text, sizeof text, "%s%s%s \"dims\": [\"m\", \"k\"], %s}", TABLE_HEAD, TABLE_GPU,
             TABLE_RATES, lists);
    const tmagen_set_options options = {.flags = TMAGEN_SET_COMPILE,
                                        .cache_dir = cache_dir,
                                        .table_text = text,
                                        .kernels = others,
                                        .kernel_count = OTHERS};
    tmagen_set_close(set);
    set = NULL;
    return tmagen_set_open(device, "t", &options, &set);
}

#define BIG_AND_SMALL "\"kernels\": [{\"name\": \"big\"}, {\"name\": \"small\"}]"

static void test_a_set_takes_what_any_kernel_does(void **state) {
    (void)state;
    other(0, "big", kernels[0].manifest_text, "{\"name\": \"m\"}",
          "{\"name\": \"m\", \"most\": 500}");
    other(1, "small", kernels[1].manifest_text, "\1", "");
    assert_int_equal(open_others(BIG_AND_SMALL), TMAGEN_OK);
    assert_string_equal(taken(rows_of(600, 64, 0)), "small");
}

static void test_of_equals_the_first(void **state) {
    (void)state;
    for (int i = 0; i < 2; ++i)
        other(i, kernels[i].name, kernels[0].manifest_text, "\"big\"", i ? "\"small\"" : "\"big\"");
    assert_int_equal(open_others(BIG_AND_SMALL), TMAGEN_OK);
    assert_string_equal(taken(rows_of(100, 64, 0)), "big");
}

// How far apart its rows are is nothing to a matrix that has one.
static void test_one_row_has_no_pitch(void **state) {
    (void)state;
    other(0, "big", kernels[0].manifest_text, "\1", "");
    other(1, "small", kernels[1].manifest_text, "\1", "");
    assert_int_equal(open_others(BIG_AND_SMALL
                                 ", \"tuned\": [{\"shape\": [1, 64], \"alignment\": 128,"
                                 " \"kernel\": \"big\", \"us\": 1}]"),
                     TMAGEN_OK);
    assert_string_equal(taken(rows_of(1, 64, 0)), "big");
    assert_string_equal(taken(rows_of(1, 64, 68)), "big");
    assert_string_equal(taken(rows_of(2, 64, 68)), "small");
}

// A caller says that launches may overlap without knowing which of the kernels can.
static void test_overlap_is_for_those_that_wait(void **state) {
    (void)state;
    struct set_launch *it = rows_of(100, 64, 0);
    it->launch.flags = TMAGEN_LAUNCH_OVERLAP;
    assert_string_equal(taken(it), "small");
}

static void test_by_tuning(void **state) {
    (void)state;
    assert_string_equal(taken(rows_of(64, 64, 0)), "big");       // of rows of 128 bytes
    assert_string_equal(taken(rows_of(64, 64, 72)), "split/8");  // at multiples of 16
    assert_string_equal(taken(rows_of(64, 64, 68)), "small");    // of 8: not tuned
    assert_string_equal(taken(rows_of(64, 66, 0)), "small");
    tmagen_choice choices[8];
    size_t count;
    const tmagen_launch *launch = &rows_of(64, 64, 72)->launch;
    assert_int_equal(tmagen_set_rank(set, launch, choices, 8, &count), TMAGEN_OK);
    for (size_t i = 0; i < count; ++i)  // what was tuned is one number of splits
        assert_int_equal(choices[i].why == TMAGEN_BY_TUNING, choices[i].splits == 8);
}

static void test_the_last_resort(void **state) {
    (void)state;
    assert_string_equal(taken(rows_of(100, 63, 0)), "any");
    assert_string_equal(taken(rows_of(100, 64, 65)), "any");
    struct set_launch *it = rows_of(100, 64, 0);
    it->tensors[0].data += 1;  // another class of addresses is another shape
    assert_string_equal(taken(it), "any");
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");
}

static void test_a_workspace_that_is_not_there(void **state) {
    (void)state;
    size_t bytes;
    struct set_launch *it = rows_of(2000, 64, 0);
    assert_int_equal(tmagen_set_workspace(set, &it->launch, &bytes), TMAGEN_OK);
    assert_int_equal(bytes, TMG_SEMAPHORES + 20 * 4 * 256);
    it->launch.workspace_bytes = bytes;
    assert_string_equal(taken(it), "split/4");
    it->launch.workspace_bytes = bytes - 1;
    assert_string_equal(taken(it), "small");  // 200 us; split/2 takes 250
    it->launch.workspace = 0;
    assert_string_equal(taken(it), "small");
    it = rows_of(2000, 64, 0);
    it->launch.workspace += 8;
    assert_string_equal(taken(it), "small");
}

static void test_semaphores_are_apart(void **state) {
    (void)state;  // of all kernels together; those that have none leave the room, too
    struct tmg_picked picked;
    assert_int_equal(tmg_set_picked(set, &rows_of(2000, 64, 0)->launch, &picked), TMAGEN_OK);
    assert_true(picked.layout.zero_first == 20 * 4 && picked.layout.offsets[1] == TMG_SEMAPHORES);
    assert_int_equal(tmg_set_picked(set, &rows_of(100, 63, 0)->launch, &picked), TMAGEN_OK);
    assert_int_equal(picked.layout.offsets[0], TMG_SEMAPHORES);
}

static void test_splits_of_a_launch(void **state) {
    (void)state;
    struct set_launch *it = rows_of(100, 64, 0);
    it->launch.splits = 8;
    assert_string_equal(taken(it), "split/8");
    it->launch.splits = 1;
    assert_string_equal(taken(it), "small");
    it->launch.splits = 9;
    assert_non_null(strstr(taken(it), "splits is 9; legal: 1 to 8"));
}

static void test_ranking(void **state) {
    (void)state;
    tmagen_choice choices[8];
    size_t count;
    const tmagen_launch *launch = &rows_of(64, 64, 0)->launch;
    assert_int_equal(tmagen_set_rank(set, launch, choices, 8, &count), TMAGEN_OK);
    assert_int_equal(count, 5);
    assert_string_equal(choices[0].kernel, "big");
    assert_int_equal(choices[0].why, TMAGEN_BY_TUNING);
    assert_true(choices[0].tuned_us == 90 && choices[0].us > 499 && choices[0].us < 501);
    assert_string_equal(choices[0].bound, "tensor cores");
    assert_int_equal(choices[0].loaded, 0);
    assert_string_equal(choices[1].kernel, "small");
    assert_int_equal(choices[1].why, TMAGEN_BY_MODEL);
    assert_string_equal(choices[2].kernel, "split");
    assert_int_equal(choices[2].splits, 4);
    assert_int_equal(choices[2].workspace_bytes, TMG_SEMAPHORES + 4 * 256);
    assert_string_equal(choices[4].kernel, "any");
    assert_int_equal(tmagen_set_rank(set, launch, choices, 2, &count), TMAGEN_OK);
    assert_int_equal(count, 2);
    taken(rows_of(64, 64, 0));
    assert_int_equal(tmagen_set_rank(set, launch, choices, 1, &count), TMAGEN_OK);
    assert_int_equal(choices[0].loaded, 1);
}

// ---- Pins

static void test_pins(void **state) {
    (void)state;
    const tmagen_launch shape = rows_of(100, 64, 0)->launch;
    tmagen_tensor tensors[2];
    memcpy(tensors, shape.tensors, sizeof tensors);
    tmagen_launch like = shape;
    like.tensors = tensors;
    assert_int_equal(tmagen_set_pin(set, &like, "split/8"), TMAGEN_OK);
    assert_string_equal(taken(rows_of(100, 64, 0)), "split/8");
    assert_string_equal(taken(rows_of(101, 64, 0)), "small");
    assert_int_equal(tmagen_set_pin(set, NULL, "split"), TMAGEN_OK);
    assert_string_equal(taken(rows_of(101, 64, 0)), "split/4");  // the best of its splits
    assert_string_equal(taken(rows_of(100, 64, 0)), "split/8");
    struct set_launch *own = rows_of(100, 64, 0);
    own->launch.splits = 2;
    assert_string_equal(taken(own), "split/2");
    assert_non_null(strstr(taken(rows_of(101, 63, 0)), "not what is pinned serves m 101 k 63"));
    assert_int_equal(tmagen_set_pin(set, NULL, NULL), TMAGEN_OK);
    assert_int_equal(tmagen_set_pin(set, &like, NULL), TMAGEN_OK);
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");
    static const char *const bad[] = {"",        "bigger",   "big/2", "split/0", "split/4294967298",
                                      "split/9", "split/2x", "split/"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        assert_int_equal(tmagen_set_pin(set, NULL, bad[i]), TMAGEN_ERROR_ARGUMENT);
}

static void test_environment(void **state) {
    (void)state;
    tmagen_set *own = set;
    setenv("TMAGEN_PICK", "split/2", 1);
    assert_int_equal(open_set_of(table_text, TMAGEN_SET_COMPILE, &set), TMAGEN_OK);
    setenv("TMAGEN_PICK", "nothing", 1);
    assert_int_equal(tmagen_set_pin(set, NULL, "big"), TMAGEN_OK);
    assert_string_equal(taken(rows_of(100, 64, 0)), "split/2");
    tmagen_set_close(set);
    assert_int_equal(open_set_of(table_text, TMAGEN_SET_COMPILE, &set), TMAGEN_OK);
    assert_non_null(strstr(tmagen_warning_last(), "$TMAGEN_PICK: t: has no kernel 'nothing'"));
    unsetenv("TMAGEN_PICK");
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");
    tmagen_set_close(set);
    set = own;
}

// ---- What is compiled

static void test_nothing_is_compiled_on_the_way(void **state) {
    (void)state;
    tmagen_set *own = set;
    assert_int_equal(open_set_of(table_text, 0, &set), TMAGEN_OK);
    const tmagen_launch *launch = &rows_of(100, 64, 0)->launch;
    assert_int_equal(tmagen_set_launch(set, NULL, launch), TMAGEN_ERROR_MISS);
    assert_non_null(strstr(tmagen_error_last(), "none of the 5 kernels"));
    assert_int_equal(compiles(), 0);
    assert_int_equal(tmagen_set_load(set, "big"), TMAGEN_OK);
    assert_string_equal(taken(rows_of(100, 64, 0)), "big");  // the best of those that are there
    assert_int_equal(compiles(), 1);
    assert_int_equal(tmagen_set_load(set, NULL), TMAGEN_OK);
    assert_int_equal(compiles(), KERNELS);
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");  // also where another was seen
    assert_int_equal(tmagen_set_load(set, "bigger"), TMAGEN_ERROR_ARGUMENT);
    tmagen_set_close(set);
    assert_int_equal(open_set_of(table_text, 0, &set), TMAGEN_OK);
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");  // from the cache
    assert_int_equal(compiles(), KERNELS);
    tmagen_set_close(set);
    set = own;
}

// ---- Refusals

static void test_refusals(void **state) {
    (void)state;
    tmagen_set *own = set;
    static const char few[] = TABLE_HEAD TABLE_GPU TABLE_RATES
        " \"dims\": [\"m\", \"k\"], \"kernels\": [{\"name\": \"big\"}, {\"name\": \"small\"}]}";
    assert_int_equal(open_set_of(few, TMAGEN_SET_COMPILE, &set), TMAGEN_OK);
    assert_string_equal(taken(rows_of(100, 63, 0)),
                        "t: no kernel serves m 100 k 63\n"
                        "  dim 'k' is 63; legal: multiples of 2 (big, small)\n"
                        "  would be served: m 100 k 64 with addresses and rows at multiples of 4 "
                        "bytes, by big");
    assert_int_equal(set->table->interface->dims[1].multiple_of, 2);  // as before
    struct set_launch *it = rows_of(100, 64, 0);
    it->tensors[1].dims[0] = 99;
    assert_non_null(strstr(taken(it), "t: dim 'm' is 100, but 99 by tensor 'd'"));
    it = rows_of(100, 64, 0);
    it->tensors[1].name = "e";
    assert_non_null(strstr(taken(it), "t: tensor 'e': the kernel has none of that name"));
    (it = rows_of(100, 64, 0))->launch.tensors = NULL;
    assert_non_null(strstr(taken(it), "t: tensors are counted, but their list is missing"));
    tmagen_set_close(set);
    set = own;
}

static void test_refusals_of_many(void **state) {
    (void)state;
    static const char *const names[] = {"\"b1\"", "\"b2\"", "\"b3\"", "\"b4\"", "\"b5\""};
    static const char *const plain[] = {"b1", "b2", "b3", "b4", "b5"};
    for (int i = 0; i < 5; ++i) other(i, plain[i], kernels[0].manifest_text, "\"big\"", names[i]);
    assert_int_equal(open_others("\"kernels\": [{\"name\": \"b1\"}, {\"name\": \"b2\"},"
                                 " {\"name\": \"b3\"}, {\"name\": \"b4\"}, {\"name\": \"b5\"}]"),
                     TMAGEN_OK);
    assert_non_null(strstr(taken(rows_of(100, 63, 0)), "(b1, b2, b3 and 2 more)"));
}

// What is served is said of the kernel that asks for the least, and what it asks of rows too.
static void test_what_would_be_served(void **state) {
    (void)state;
    other(0, "big", kernels[0].manifest_text, "\"k\", \"multiple_of\": 2",
          "\"k\", \"multiple_of\": 64");
    other(1, "small", kernels[1].manifest_text, "\"stride_bytes_multiple\": 4",
          "\"stride_bytes_multiple\": 16");
    assert_int_equal(open_others(BIG_AND_SMALL), TMAGEN_OK);
    assert_non_null(strstr(taken(rows_of(100, 65, 0)),
                           "served: m 100 k 66 with addresses and rows at multiples of 16 bytes, "
                           "by small"));
}

// A pin's parts need their own workspace, of which a refusal must speak.
static void test_refusal_of_pinned_splits(void **state) {
    (void)state;
    char wanted[100];
    struct set_launch *it = rows_of(2000, 64, 0);
    assert_int_equal(tmagen_set_pin(set, NULL, "split/8"), TMAGEN_OK);
    it->launch.workspace_bytes = TMG_SEMAPHORES + 20 * 2 * 256;
    snprintf(wanted, sizeof wanted, "a workspace of %d bytes is needed",
             TMG_SEMAPHORES + 20 * 8 * 256);
    assert_non_null(strstr(taken(it), wanted));
}

// Opens [text], whose last warning is to have [warning], and is used all the same.
static void is_a_hint(const char *text, const char *warning) {
    tmagen_set *own = set;
    assert_int_equal(open_set_of(text, TMAGEN_SET_COMPILE, &set), TMAGEN_OK);
    if (!strstr(tmagen_warning_last(), warning)) fail_msg("warns: %s", tmagen_warning_last());
    assert_string_equal(taken(rows_of(64, 64, 0)), "big");  // tuned; the model's is small
    tmagen_set_close(set);
    set = own;
}

static void test_origin(void **state) {
    (void)state;
    static const char fewer[] =
        TABLE_HEAD " \"gpu\": \"Fake H200\", \"sms\": 114," TABLE_RATES TABLE_LISTS TABLE_TUNED;
    static const char elsewhere[] =
        TABLE_HEAD " \"gpu\": \"Other\", \"sms\": 100," TABLE_RATES TABLE_LISTS TABLE_TUNED;
    static const char older[] =
        "{\"tmagen_table\": 4, \"name\": \"t\", \"family\": \"f\", \"version\": "
        "\"0.0.1\"," TABLE_GPU TABLE_RATES TABLE_LISTS TABLE_TUNED;
    assert_string_equal(tmagen_warning_last(), "");
    is_a_hint(elsewhere, "is of Other with 100 SMs, and this is Fake H200 with 132: its entries "
                         "are hints");
    is_a_hint(fewer, "is of Fake H200 with 114 SMs, and this is Fake");
    is_a_hint(older, "is by tmagen 0.0.1, and this is " TMAGEN_VERSION ": its entries are hints");
    is_a_hint(table_text, "");
    assert_string_equal(tmagen_warning_last(), "");
}

static const struct {
    const char *text, *message;
} hostile[] = {
    {"", "t:1:0: '[' or '{' expected"},
    {"{\"tmagen_table\": \033[2J}", "t:1:18: invalid token near '?'"},
    {"[]", "is no JSON object"},
    {"{}", "tmagen_table is missing"},
    {"{\"tmagen_table\": 1}", "is 1; this library knows version 4"},
    {TABLE_HEAD TABLE_RATES TABLE_LISTS TABLE_TUNED, "gpu must be the GPU's name"},
    {TABLE_HEAD TABLE_GPU TABLE_LISTS TABLE_TUNED, "rates.tensor is missing"},
    {TABLE_HEAD TABLE_GPU " \"extra\": 1," TABLE_RATES TABLE_LISTS TABLE_TUNED,
     "unknown member 'extra'"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES
     " \"dims\": [\"m\", \"m\"], \"kernels\": [{\"name\": \"big\"}]}",
     "dims[1] stands there twice"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES " \"dims\": [\"q\"], \"kernels\": [{\"name\": \"big\"}]}",
     "its kernels have no dim 'q'"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES " \"dims\": [\"m\"], \"kernels\": []}",
     "kernels has 0 items; legal: 1 to 512"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES " \"dims\": [\"m\"], \"kernels\": [{\"name\": \"../big\"}]}",
     "kernels[0].name is no name"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES
     " \"dims\": [\"m\"], \"kernels\": [{\"name\": \"big\"}, {\"name\": \"big\"}]}",
     "repeats the kernel 'big'"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES
     " \"dims\": [\"m\"], \"kernels\": [{\"name\": \"big\", \"splits\": [2]}]}",
     "big: splits is 2; legal: 1 to 1"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES " \"dims\": [\"m\"], \"kernels\": [{\"name\": \"other\"}]}",
     "a table in memory needs its kernel other there too"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES TABLE_LISTS
     " \"tuned\": [{\"shape\": [1], \"alignment\": 2, \"kernel\": \"big\", \"us\": 1}]}",
     "tuned[0].shape has 1 items; legal: 2 to 2"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES TABLE_LISTS
     " \"tuned\": [{\"shape\": [1, 2], \"alignment\": 3, \"kernel\": \"big\", \"us\": 1}]}",
     "no power of two"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES TABLE_LISTS
     " \"tuned\": [{\"shape\": [1, 2], \"alignment\": 2, \"kernel\": \"bug\", \"us\": 1}]}",
     "names no kernel of the table: 'bug'"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES TABLE_LISTS
     " \"tuned\": [{\"shape\": [1, 2], \"alignment\": 2, \"kernel\": \"big\", \"us\": -1}]}",
     "tuned[0].us must be positive"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES TABLE_LISTS
     " \"tuned\": [{\"shape\": [1, 2], \"alignment\": 2, \"kernel\": \"big\", \"splits\": 2,"
     " \"us\": 1}]}",
     "a tuned entry splits big by 2; legal: 1 to 1"},
    {TABLE_HEAD TABLE_GPU TABLE_RATES TABLE_LISTS
     " \"tuned\": [{\"shape\": [1, 2], \"alignment\": 2, \"kernel\": \"big\", \"us\": 1},"
     " {\"shape\": [1, 2], \"alignment\": 2, \"kernel\": \"any\", \"us\": 1}]}",
     "two entries of one shape and alignment"},
};

static void test_hostile_tables(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; ++i) {
        tmagen_set *opened = NULL;
        const int status = open_set_of(hostile[i].text, 0, &opened);
        if (!status || !strstr(tmagen_error_last(), hostile[i].message))
            fail_msg("'%s' instead of '%s'", status ? tmagen_error_last() : "", hostile[i].message);
        assert_null(opened);
    }
}

#define SCALAR "i64\"}, {\"kind\": \"scalar\", \"type\": \"f32\", \"default\": 1, \"name\": \"x\"}"

static void test_kernels_that_are_not_alike(void **state) {
    (void)state;
    static const struct {
        int kernel;
        const char *old, *new, *message;
    } cases[] = {
        {1, "bf16", "fp16", "small: has a tensor of another type than big"},
        {1, "i64\"}", SCALAR, "small: has other scalars than big"},
        {0, "i64\"}", SCALAR, "small: has other scalars than big"},
        {1, "\"d\"", "\"e\"", "small: has other tensors than big"},
        {1, "[\"m\", \"k\"]", "[\"k\", \"m\"]", "small: has a tensor of other sizes than big"},
        {2, "\"zero\": \"first\"", "\"zero\": \"launch\"", "split: a part of its workspace is"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int k = 0; k < KERNELS; ++k) {
            const int changed = k == cases[i].kernel;
            other(k, kernels[k].name, kernels[k].manifest_text, changed ? cases[i].old : "\1",
                  cases[i].new);
        }
        assert_int_equal(open_others("\"kernels\": [{\"name\": \"big\"}, {\"name\": \"small\"},"
                                     " {\"name\": \"split\"}, {\"name\": \"any\"}]"),
                         TMAGEN_ERROR_MANIFEST);
        if (!strstr(tmagen_error_last(), cases[i].message)) fail_msg("%s", tmagen_error_last());
    }
}

// ---- What is alike and what is seen

// A binding that another kernel's manifest has no rule against is one that it would bind itself.
static void test_fits_is_what_binds(void **state) {
    (void)state;
    const struct tmg_table *table = set->table;
    uint64_t seed = 1, fitting = 0;
    for (int i = 0; i < 20000; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int64_t m = 1 + (int64_t)(seed >> 60), k = 1 + (int64_t)(seed >> 50 & 63);
        struct set_launch *it = rows_of(m, k, seed >> 40 & 1 ? k + (int64_t)(seed >> 41 & 7) : 0);
        it->tensors[0].data += seed >> 30 & 3;
        struct tmg_binding all, own;
        if (tmg_bind(table->interface, &it->launch, &all)) continue;
        for (unsigned j = 0; j < table->kernel_count; ++j) {
            const struct tmg_manifest *manifest = table->kernels[j].manifest;
            const int binds = tmg_bind(manifest, &it->launch, &own) == TMAGEN_OK;
            fitting += (size_t)binds;
            const struct tmg_rules *rules = manifest->rules;
            if ((tmg_rules_reach(rules, &all) && tmg_rules_lie(rules, &all)) != binds)
                fail_msg("%s, %lld x %lld: %s", manifest->name, (long long)m, (long long)k,
                         binds ? "binds" : tmagen_error_last());
        }
    }
    assert_in_range(fitting, 20000, 70000);
}

// The sanitizers have an allocator and locks of their own: there, none are counted.
static _Atomic long allocations, locks;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes) {
    ++allocations;
    return __libc_malloc(bytes);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*next)(pthread_mutex_t *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    ++locks;
    return next(mutex);
}
#endif

static void test_seen_shapes_neither_allocate_nor_lock(void **state) {
    (void)state;
    for (int pass = 0; pass < 2; ++pass) {
        const long allocated = allocations, locked = locks;
        for (int64_t m = 1; m < 1000; ++m) {
            const int status = tmagen_set_launch(set, NULL, &rows_of(m * 16, 64, 0)->launch);
            if (status) fail_msg("%s", tmagen_error_last());
        }
        if (pass == 0) continue;
        assert_int_equal(allocations - allocated, 0);
        assert_int_equal(locks - locked, 0);
    }
}

static void pick_seen(void *argument) {
    const tmagen_launch *launch = argument;
    struct tmg_choice choice;
    tmagen_kernel *kernel;
    tmg_set_pick(set, launch, (int64_t)launch->workspace_bytes, &choice, &kernel);
}

// It may take .2 us; beside an H200 as many as these were .1.
static void test_seen_shapes_cost_little(void **state) {
    (void)state;
    tmagen_launch *launch = &rows_of(100, 64, 0)->launch;
    pick_seen(launch);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const long steps = count_steps(pick_seen, launch);
    print_message("%ld instructions\n", steps);
    if (steps < 0) skip();
    assert_in_range(steps, 50, 900);
#endif
}

enum { THREADS = 4, LAUNCHES = 20000 };

static void *launch_often(void *argument) {
    uint64_t seed = (uintptr_t)argument;
    size_t wrong = 0;
    for (int i = 0; i < LAUNCHES; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int64_t m = 1 + (int64_t)(seed >> 52);
        struct tmg_choice choice;
        tmagen_kernel *kernel = NULL;
        const tmagen_launch *launch = &rows_of(m, 64, 68)->launch;
        wrong += tmg_set_pick(set, launch, (int64_t)launch->workspace_bytes, &choice, &kernel) != 0;
        // one wave: small takes 100 us up to 1320 rows, split/4 takes 125 up to 3300
        wrong += strcmp(kernel->manifest->name, m <= 1320   ? "small"
                                                : m <= 3300 ? "split"
                                                            : "x") &&
                 m <= 3300;
    }
    return (void *)wrong;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, launch_often, (void *)(i + 1));
    for (int i = 0; i < THREADS; ++i) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

// A set whose kernels' code is in memory needs neither sources, nor a cache, nor a compiler.
static void test_given_code(void **state) {
    (void)state;
    const tmagen_code code = {.data = ".version 8.0", .bytes = 12};
    tmagen_set_kernel own[KERNELS];
    const tmagen_set_options options = {
        .table_text = table_text, .kernels = own, .kernel_count = KERNELS};
    tmagen_signature_info info;
    tmagen_set *opened;
    for (int i = 0; i < KERNELS; ++i)
        own[i] = (tmagen_set_kernel){
            .name = kernels[i].name, .manifest_text = kernels[i].manifest_text, .code = &code};
    if (tmagen_set_open(device, "t", &options, &opened)) fail_msg("%s", tmagen_error_last());
    assert_int_equal(tmagen_set_load(opened, NULL), TMAGEN_OK);
    assert_int_equal(tmagen_set_launch(opened, NULL, &rows_of(100, 64, 0)->launch), TMAGEN_OK);
    assert_int_equal(compiles(), 0);
    assert_int_equal(tmagen_signature_get_info(tmagen_set_signature(opened), &info), TMAGEN_OK);
    assert_string_equal(info.name, "t");
    assert_int_equal(info.max_splits * 10 + info.varies_with_splits, 81);
    assert_int_equal(info.role_count, 0);
    tmagen_set_close(opened);
    own[3].code = NULL;
    assert_int_equal(tmagen_set_open(device, "t", &options, &opened), TMAGEN_ERROR_ARGUMENT);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_set, close_set)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_given_code, fresh),
        TEST(test_by_the_model),
        TEST(test_a_set_takes_what_any_kernel_does),
        TEST(test_of_equals_the_first),
        TEST(test_one_row_has_no_pitch),
        TEST(test_overlap_is_for_those_that_wait),
        TEST(test_by_tuning),
        TEST(test_the_last_resort),
        TEST(test_a_workspace_that_is_not_there),
        TEST(test_semaphores_are_apart),
        TEST(test_splits_of_a_launch),
        TEST(test_ranking),
        TEST(test_pins),
        TEST(test_environment),
        TEST(test_nothing_is_compiled_on_the_way),
        TEST(test_refusals),
        TEST(test_refusals_of_many),
        TEST(test_what_would_be_served),
        TEST(test_refusal_of_pinned_splits),
        TEST(test_origin),
        TEST(test_hostile_tables),
        TEST(test_kernels_that_are_not_alike),
        TEST(test_fits_is_what_binds),
        TEST(test_seen_shapes_neither_allocate_nor_lock),
        TEST(test_seen_shapes_cost_little),
        TEST(test_threads),
    };
    const int failed = cmocka_run_group_tests(tests, open_device, close_device);
    for (int i = 0; i < OTHERS; ++i) free((void *)others[i].manifest_text);
    return failed;
}
