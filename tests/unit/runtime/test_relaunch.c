// Launches with arguments that were seen before, and with some that differ in one thing: what was
// prepared is found again, and nothing that distinguishes two launches is left out of its key.
#include "tests/unit/runtime/launch_fixture.h"

#include <pthread.h>

static void test_empty_launch_does_nothing(void **state) {
    (void)state;
    for (int pass = 0; pass < 2; ++pass) {  // prepared, then found
        struct launch_arguments *it = right();
        int launches = fake->launches;
        it->tensors[0].dims[0] = it->tensors[3].dims[0] = 0;
        it->tensors[0].data = it->tensors[3].data = 0;
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
        assert_int_equal(fake->launches, launches);
    }
}

static void test_repeated_launch_encodes_nothing(void **state) {
    (void)state;
    struct launch_arguments *it = right();
    it->tensors[0].data = 0x50000;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    int encodes = fake->encodes;
    for (int i = 0; i < 10; ++i)
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), 0);
    assert_int_equal(fake->encodes, encodes);
    it->tensors[0].data = 0x60000;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    assert_int_equal(fake->encodes, encodes + 2);
    assert_int_equal(param(0), 0x60000);
}

// Allocations of this process, counted. The sanitizers have an allocator of their own: there, none
// are.
static _Atomic long allocations;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes) {
    ++allocations;
    return __libc_malloc(bytes);
}
#endif

static void test_launches_do_not_allocate(void **state) {
    (void)state;
    struct launch_arguments *it = right();
    long before = allocations;
    for (uint64_t i = 0; i < 300; ++i) {  // prepared, then found
        it->tensors[0].data = 0x900000 + i / 2 * 16;
        int status = tmagen_kernel_launch(kernel, NULL, &it->launch);
        if (status) fail_msg("%s", tmagen_error_last());
    }
    assert_int_equal(allocations - before, 0);
}

// More launches than the table has room for: all are right, whether found or prepared anew.
static void test_beyond_the_table(void **state) {
    (void)state;
    for (int pass = 0; pass < 2; ++pass)
        for (uint64_t i = 0; i < 1000; ++i) {
            struct launch_arguments *it = right();
            it->tensors[0].data = 0x100000 + i * 16;
            assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
            assert_int_equal(param(0), 0x100000 + i * 16);
        }
}

// ---- Every field of a launch, changed alone

// What reached the driver, or why it did not.
struct seen {
    int status;
    unsigned grid[3], attributes;
    void *stream;
    uint8_t params[PARAMS][128];
};

static struct seen launch_on(tmagen_kernel *on, void *stream, const tmagen_launch *launch) {
    struct seen seen = {.status = tmagen_kernel_launch(on, stream, launch)};
    if (seen.status) return seen;
    seen.grid[0] = fake->config.gridDimX;
    seen.grid[1] = fake->config.gridDimY;
    seen.grid[2] = fake->config.gridDimZ;
    seen.attributes = fake->config.numAttrs;
    seen.stream = fake->config.hStream;
    for (int i = 0; i < PARAMS; ++i) memcpy(seen.params[i], fake->params[i], param_bytes[i]);
    return seen;
}

static void a_data(struct launch_arguments *it) { it->tensors[0].data += 16; }
static void b_data(struct launch_arguments *it) { it->tensors[1].data += 16; }
static void bias_data(struct launch_arguments *it) { it->tensors[2].data += 2; }
static void d_data(struct launch_arguments *it) { it->tensors[3].data += 4; }
static void a_stride(struct launch_arguments *it) { it->tensors[0].strides[0] += 8; }
static void b_stride(struct launch_arguments *it) {
    it->tensors[1].strides[0] = K + 16;
    it->tensors[1].strides[1] = 1;
}
static void d_stride(struct launch_arguments *it) {
    it->tensors[3].strides[0] = N + 2;
    it->tensors[3].strides[1] = 1;
}
static void m_of_tensors(struct launch_arguments *it) {
    it->tensors[0].dims[0] = it->tensors[3].dims[0] = M + 1;
}
static void m_of_one_tensor(struct launch_arguments *it) { it->tensors[0].dims[0] = M + 1; }
static void rank(struct launch_arguments *it) { it->tensors[3].rank = 1; }
static void another_dim(struct launch_arguments *it) {
    it->dims[0] = (tmagen_dim){"m", M + 1};
    it->launch.dim_count = 1;
}
static void alpha(struct launch_arguments *it) {
    it->scalars[0] = (tmagen_scalar){"alpha", 3};
    it->launch.scalar_count = 1;
}
static void another_alpha(struct launch_arguments *it) {
    alpha(it);
    it->scalars[0].value = 4;  // not the one that was seen just before
}
static void workspace_address(struct launch_arguments *it) { it->launch.workspace += 256; }
static void workspace_size(struct launch_arguments *it) { it->launch.workspace_bytes = 511; }
static void sms(struct launch_arguments *it) { it->launch.sms = 6; }
static void too_many_splits(struct launch_arguments *it) { it->launch.splits = 3; }
static void overlap(struct launch_arguments *it) { it->launch.flags = TMAGEN_LAUNCH_OVERLAP; }

static const struct {
    const char *what;
    void (*change)(struct launch_arguments *it);
} changes[] = {
    {"a's address", a_data},
    {"b's address", b_data},
    {"bias's address", bias_data},
    {"d's address", d_data},
    {"a's stride", a_stride},
    {"b's stride", b_stride},
    {"d's stride", d_stride},
    {"m", m_of_tensors},
    {"one tensor's m", m_of_one_tensor},
    {"d's rank", rank},
    {"a dim of the launch", another_dim},
    {"a scalar", alpha},
    {"a scalar's value", another_alpha},
    {"the workspace's address", workspace_address},
    {"the workspace's size", workspace_size},
    {"the SMs", sms},
    {"the splits", too_many_splits},
    {"the flags", overlap},
};

// Launched after the right one, which is prepared by then, each must come out as on a kernel that
// has seen no launch yet, and otherwise than the right one.
static void test_each_field_alone_makes_another_launch(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        tmagen_load_options options = in_memory(manifest);
        tmagen_kernel *fresh = NULL;
        assert_int_equal(tmagen_kernel_load(device, "gemm", &options, &fresh), TMAGEN_OK);
        const struct seen before = launch_on(kernel, NULL, &right()->launch);
        assert_int_equal(before.status, TMAGEN_OK);
        struct launch_arguments *it = right();
        changes[i].change(it);
        const struct seen wanted = launch_on(fresh, NULL, &it->launch);
        const struct seen got = launch_on(kernel, NULL, &it->launch);
        if (memcmp(&got, &wanted, sizeof got)) fail_msg("%s: not noticed", changes[i].what);
        if (!memcmp(&got, &before, sizeof got)) fail_msg("%s: changes nothing", changes[i].what);
        tmagen_kernel_unload(fresh);
    }
    const struct seen seen = launch_on(kernel, (void *)0x99, &right()->launch);
    assert_ptr_equal(seen.stream, (void *)0x99);
}

// ---- What a launch chooses, and what it clears

// A kernel whose tiles can be split: marks cleared before every launch, semaphores that it leaves
// as it found them, and room for the sums of each block.
static tmagen_kernel *load_split(void) {
    static const char grid[] = "\"blocks_per_tile\": 2", part[] = "\"part\": \"marks\"}",
                      parts[] = "\"zero\": \"launch\"}]}";
    static const char per_tile[] = "\"bytes\": 32, \"per\": \"tile\"",
                      per_launch[] = "\"bytes\":512,\"per\":\"launch\"";
    _Static_assert(sizeof per_tile == sizeof per_launch, "one is written over the other");
    static char text[sizeof manifest + 512];
    const char *in_grid = strstr(manifest, grid), *in_param = strstr(manifest, part),
               *in_parts = strstr(manifest, parts);
    assert_true(in_grid && in_param && in_parts);
    sprintf(text,
            "%.*s%s, \"splits\": {\"most\": 4, \"default\": 2}%.*s\"part\": "
            "\"semaphores\"}%.*s\"zero\": \"launch\"},"
            "{\"name\": \"semaphores\", \"bytes\": 4, \"per\": \"item\", \"zero\": \"first\"},"
            "{\"name\": \"sums\", \"bytes\": 100, \"per\": \"block\"}],"
            "\"varies_with\": [\"splits\", \"sms\"]}",
            (int)(in_grid - manifest), manifest, grid,
            (int)(in_param - in_grid) - (int)strlen(grid), in_grid + strlen(grid),
            (int)(in_parts - in_param) - (int)strlen(part), in_param + strlen(part));
    memcpy(strstr(text, per_tile), per_launch, strlen(per_launch));
    tmagen_load_options options = in_memory(text);
    tmagen_kernel *split = NULL;
    if (tmagen_kernel_load(device, "gemm", &options, &split)) fail_msg("%s", tmagen_error_last());
    return split;
}

// 16 tiles, each split in three: 512 bytes of marks, 192 of semaphores, and behind the room of
// semaphores 96 blocks of 100 bytes.
static void test_semaphores_are_cleared_once(void **state) {
    (void)state;
    enum { MARKS = 512, SEMAPHORES = 48 * 4, SUMS = 96 * 100, BYTES = TMG_SEMAPHORES + SUMS };
    static _Alignas(256) uint8_t room[BYTES + 256];
    tmagen_kernel *split = load_split();
    struct launch_arguments *it = right();
    size_t bytes = 0;
    assert_int_equal(tmagen_kernel_workspace(split, &it->launch, &bytes), TMAGEN_OK);
    assert_int_equal(bytes, TMG_SEMAPHORES + 64 * 100);  // the manifest's two splits
    it->launch.splits = 3;
    assert_int_equal(tmagen_kernel_workspace(split, &it->launch, &bytes), TMAGEN_OK);
    assert_int_equal(bytes, BYTES);
    it->launch.workspace = (uintptr_t)room;
    it->launch.workspace_bytes = bytes;
    for (int round = 0; round < 3; ++round) {
        memset(room, 1, sizeof room);
        assert_int_equal(tmagen_kernel_launch(split, NULL, &it->launch), TMAGEN_OK);
        assert_int_equal(fake->config.gridDimX, 96);
        assert_int_equal(param(8), (uintptr_t)room + MARKS);
        assert_int_equal(room[0] | room[MARKS - 1], 0);
        assert_int_equal(room[MARKS], round > 0);  // found again, they are the kernel's own
        assert_int_equal(room[MARKS + SEMAPHORES - 1], round > 0);
        assert_int_equal(room[MARKS + SEMAPHORES], 1);
    }
    it->launch.splits = 4;  // another launch: its semaphores are others
    it->launch.workspace_bytes = sizeof room;
    assert_int_equal(tmagen_kernel_launch(split, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
    tmagen_kernel_unload(split);
}

// A launch that names its SMs gets that many blocks, on any device that has room for them.
static void test_sms_of_a_launch(void **state) {
    (void)state;
    struct launch_arguments *it = right();
    for (int sms = 4; sms <= 20; sms += 16) {
        it->launch.sms = sms;
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
        assert_int_equal(fake->config.gridDimX, sms);
    }
    it->launch.sms = 121;  // 120 blocks are resident
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "sms is 121; legal: up to 120"));
}

// ---- Threads: a few launches that fight for the same two slots, each of which must find its own
// words.

enum { THREADS = 4, ROUNDS = 100000, LAUNCHES = 5 };

static void *fight(void *argument) {
    uint64_t words[TMG_MAX_VALUE_WORDS], key[TMG_MAX_KEY_WORDS];
    struct tmg_prepared *table = argument;
    size_t wrong = 0;
    for (uint64_t round = 0; round < ROUNDS; ++round) {
        const uint64_t id = (round * 2654435761u >> 7) % LAUNCHES, one_hash = 7;
        for (size_t i = 0; i < table->key_words; ++i) key[i] = id;
        if (tmg_prepared_find(table, one_hash, key, words)) {
            for (size_t i = 0; i < table->value_words; ++i) wrong += words[i] != id * 1000 + i;
        } else {
            for (size_t i = 0; i < table->value_words; ++i) words[i] = id * 1000 + i;
            tmg_prepared_put(table, one_hash, key, words);
        }
    }
    return (void *)wrong;
}

static void test_threads_never_see_a_torn_launch(void **state) {
    (void)state;
    struct tmg_prepared table;
    pthread_t threads[THREADS];
    assert_int_equal(tmg_prepared_init(&table, 512, 20, 60), 0);
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, fight, &table);
    for (int i = 0; i < THREADS; ++i) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    tmg_prepared_free(&table);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_launch_does_nothing),
        cmocka_unit_test(test_repeated_launch_encodes_nothing),
        cmocka_unit_test(test_launches_do_not_allocate),
        cmocka_unit_test(test_beyond_the_table),
        cmocka_unit_test(test_each_field_alone_makes_another_launch),
        cmocka_unit_test(test_semaphores_are_cleared_once),
        cmocka_unit_test(test_sms_of_a_launch),
        cmocka_unit_test(test_threads_never_see_a_torn_launch),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
