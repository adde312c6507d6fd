// Callers that were compiled with an older or a newer tmagen.h than the library.
#include "runtime/sized.h"
#include "tests/unit/runtime/launch_fixture.h"

static uint64_t sizes_of(size_t launch, size_t tensor, size_t dim, size_t scalar) {
    return launch | (uint64_t)tensor << 16 | (uint64_t)dim << 32 | (uint64_t)scalar << 48;
}

static uint64_t with_launch(size_t size) {
    return sizes_of(size, sizeof(tmagen_tensor), sizeof(tmagen_dim), sizeof(tmagen_scalar));
}

// What a newer caller has behind our launch may be zero, or we do not know what it asks for.
static void test_newer_launch(void **state) {
    (void)state;
    struct {
        tmagen_launch launch;
        uint64_t more[2];
    } newer = {.launch = right()->launch};
    const uint64_t sizes = with_launch(sizeof newer);
    size_t bytes = 0;
    assert_int_equal(tmagen_kernel_launch_sized(kernel, NULL, &newer.launch, sizes), TMAGEN_OK);
    assert_int_equal(param(5), M);
    newer.more[1] = 1;
    assert_int_equal(tmagen_kernel_launch_sized(kernel, NULL, &newer.launch, sizes),
                     TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "tmagen_launch: has "));
    assert_non_null(strstr(tmagen_error_last(), "it needs a newer library"));
    assert_int_equal(tmagen_kernel_workspace_sized(kernel, &newer.launch, sizes, &bytes),
                     TMAGEN_ERROR_ARGUMENT);
}

// An older caller has no sms and no splits: what lies there is not read.
static void test_older_launch(void **state) {
    (void)state;
    struct launch_arguments *it = right();
    const uint64_t older = with_launch(offsetof(tmagen_launch, sms));
    it->launch.sms = -7, it->launch.splits = 77;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_kernel_launch_sized(kernel, NULL, &it->launch, older), TMAGEN_OK);
    assert_int_equal(fake->config.gridDimX, 32);
    const uint64_t none = with_launch(offsetof(tmagen_launch, sms) - 1);
    assert_int_equal(tmagen_kernel_launch_sized(kernel, NULL, &it->launch, none),
                     TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "tmagen_launch: its size is "));
}

// Lists are walked by the caller's own size of their items.
static void test_wider_items(void **state) {
    (void)state;
    struct {
        tmagen_tensor tensor;
        uint64_t more;
    } tensors[4] = {0};
    struct {
        tmagen_scalar scalar;
        uint64_t more;
    } scalars[1] = {{{"alpha", 2.5}, 0}};
    struct launch_arguments *it = right();
    for (int i = 0; i < 4; ++i) tensors[i].tensor = it->tensors[i];
    it->launch.tensors = &tensors[0].tensor;
    it->launch.scalars = &scalars[0].scalar;
    it->launch.scalar_count = 1;
    const uint64_t sizes =
        sizes_of(sizeof(tmagen_launch), sizeof *tensors, sizeof(tmagen_dim), sizeof *scalars);
    assert_int_equal(tmagen_kernel_launch_sized(kernel, NULL, &it->launch, sizes), TMAGEN_OK);
    float alpha;
    memcpy(&alpha, fake->params[7], sizeof alpha);
    assert_true(alpha == 2.5f);
    assert_int_equal(param(3), 0x40004);
    tensors[2].more = 1;
    assert_int_equal(tmagen_kernel_launch_sized(kernel, NULL, &it->launch, sizes),
                     TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "tmagen_tensor: has "));
    it->launch.tensor_count = 1000;
    assert_int_equal(tmagen_kernel_launch_sized(kernel, NULL, &it->launch, sizes),
                     TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "tmagen_tensor: 1000 are given"));
}

// Results: zeros behind what we know, and nothing where there is too little room.
static void test_results(void **state) {
    (void)state;
    struct {
        tmagen_kernel_info info;
        uint8_t more[16];
    } newer;
    memset(&newer, 1, sizeof newer);
    assert_int_equal(tmagen_kernel_get_info_sized(kernel, &newer.info, sizeof newer), TMAGEN_OK);
    assert_string_equal(newer.info.name, "gemm");
    assert_int_equal(newer.more[0] | newer.more[15], 0);
    tmagen_device_info info = {.sms = -3};
    assert_int_equal(tmagen_device_get_info_sized(device, &info, 8), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(info.sms, -3);
    assert_int_equal(tmagen_device_get_info(device, &info), TMAGEN_OK);
    assert_int_equal(info.sms, 132);
}

static void test_options(void **state) {
    (void)state;
    struct {
        tmagen_load_options options;
        uint64_t more;
    } newer = {.options = in_memory(manifest)};
    struct {
        tmagen_compile_options options;
        uint64_t more;
    } compile = {.options = {.arch = "sm_90a", .name = "k.cu", .mode = TMAGEN_NO_CACHE}};
    tmagen_kernel *loaded = NULL;
    tmagen_code code;
    const uint64_t sizes = sizeof newer | (uint64_t)sizeof(tmagen_source_line) << 16;
    assert_int_equal(tmagen_kernel_load_sized(device, "gemm", &newer.options, sizes, &loaded),
                     TMAGEN_OK);
    tmagen_kernel_unload(loaded);
    newer.more = 1;
    assert_int_equal(tmagen_kernel_load_sized(device, "gemm", &newer.options, sizes, &loaded),
                     TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "tmagen_load_options: has "));
    assert_int_equal(
        tmagen_compile_sized("//", 2, &compile.options, sizeof compile, &code, sizeof code),
        TMAGEN_OK);
    tmagen_code_free(&code);
    assert_null(code.data);
    compile.more = 1;
    assert_int_equal(
        tmagen_compile_sized("//", 2, &compile.options, sizeof compile, &code, sizeof code),
        TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_compile_sized("//", 2, &compile.options, sizeof compile.options, &code,
                                          sizeof code - 1),
                     TMAGEN_ERROR_ARGUMENT);
}

// The lines of a source, too, are walked by the caller's size of them.
static void test_wider_lines(void **state) {
    (void)state;
    struct {
        tmagen_source_line line;
        uint64_t more;
    } lines[2] = {{{"a", 1}, 0}, {{"b", 2}, 0}};
    tmagen_load_options options = in_memory(manifest);
    struct tmg_own_load own;
    const uint64_t sizes = sizeof options | (uint64_t)sizeof *lines << 16;
    options.lines = &lines[0].line;
    options.line_count = 2;
    assert_int_equal(tmg_take_load(&options, sizes, &own), TMAGEN_OK);
    assert_ptr_equal(own.options.lines, own.lines);
    assert_string_equal(own.lines[1].file, "b");
    assert_int_equal(own.lines[1].line, 2);
    free(own.lines);
    lines[1].more = 1;
    tmagen_kernel *loaded = NULL;
    assert_int_equal(tmagen_kernel_load_sized(device, "gemm", &options, sizes, &loaded),
                     TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "tmagen_source_line: has "));
    options.line_count = SIZE_MAX;
    assert_int_equal(tmagen_kernel_load(device, "gemm", &options, &loaded), TMAGEN_ERROR_MEMORY);
}

static void test_budget(void **state) {
    (void)state;
    struct {
        tmagen_budget budget;
        uint64_t more;
    } newer = {{.steps = 7}, 0};
    assert_int_equal(tmagen_device_set_budget_sized(device, &newer.budget, sizeof newer),
                     TMAGEN_OK);
    newer.more = 1;
    assert_int_equal(tmagen_device_set_budget_sized(device, &newer.budget, sizeof newer),
                     TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_device_set_budget_sized(device, &newer.budget, 8),
                     TMAGEN_ERROR_ARGUMENT);
}

static const char *folder;  // of a cache

// The numbers of a cache go no further than the caller's room, and not there where it is too small.
static void test_cache_numbers(void **state) {
    (void)state;
    static int (*const call[])(const char *, tmagen_cache_stats *, size_t) = {
        tmagen_cache_stat_sized, tmagen_cache_clear_sized, tmagen_cache_prune_sized};
    static struct {
        tmagen_cache_stats stats;
        uint8_t more[16];
    } newer;
    const size_t least = sizeof newer.stats;
    for (int i = 0; i < 4; ++i) {
        memset(&newer, 1, sizeof newer);
        int status = i < 3 ? call[i](folder, &newer.stats, sizeof newer)
                           : tmagen_cache_gc_sized(folder, -1, &newer.stats, sizeof newer);
        assert_int_equal(status, TMAGEN_OK);
        assert_int_equal(newer.stats.stale_files | newer.more[0] | newer.more[15], 0);
        memset(&newer, 1, sizeof newer);
        status = i < 3 ? call[i](folder, &newer.stats, least - 1)
                       : tmagen_cache_gc_sized(folder, -1, &newer.stats, least - 1);
        assert_int_equal(status, TMAGEN_ERROR_ARGUMENT);
        assert_int_equal(newer.stats.stale_files & 255, 1);
        assert_non_null(strstr(tmagen_error_last(), "tmagen_cache_stats: its size is "));
    }
}

struct newer_entry {
    tmagen_cache_entry entry;
    uint8_t more[16];
};

static int look(const tmagen_cache_entry *entry, void *context) {
    const struct newer_entry *newer = (const struct newer_entry *)entry;
    assert_int_equal(newer->more[0] | newer->more[15], 0);
    assert_string_equal(entry->name, "k.cu");
    return ++*(int *)context, TMAGEN_OK;
}

static void test_cache_entries(void **state) {
    (void)state;
    struct {
        tmagen_compile_options options;
        uint64_t more;
    } newer = {{.arch = "sm_90a", .name = "k.cu"}, 0};
    tmagen_code code;
    tmagen_cache_stats stats;
    char text[400];
    int seen = 0;
    newer.options.cache_dir = folder;
    assert_int_equal(tmagen_cache_clear(folder, &stats), TMAGEN_OK);
    assert_int_equal(tmagen_compile("//", 2, &newer.options, &code), TMAGEN_OK);
    tmagen_code_free(&code);
    assert_int_equal(tmagen_cache_list_sized(folder, 0, look, &seen, sizeof(struct newer_entry)),
                     0);
    assert_int_equal(seen, 1);
    assert_int_equal(tmagen_cache_list_sized(folder, 0, look, &seen, 8), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(seen, 1);
    assert_int_equal(
        tmagen_cache_why_sized("//", 2, &newer.options, sizeof newer, text, sizeof text), 0);
    assert_ptr_equal(strstr(text, "hit: "), text);
    assert_int_equal(tmagen_cache_clear(folder, &stats), TMAGEN_OK);
    newer.more = 1;
    assert_int_equal(
        tmagen_cache_why_sized("//", 2, &newer.options, sizeof newer, text, sizeof text),
        TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_cache_why_sized("//", 2, &newer.options, 8, text, sizeof text),
                     TMAGEN_ERROR_ARGUMENT);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    folder = fresh_folder();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newer_launch),  cmocka_unit_test(test_older_launch),
        cmocka_unit_test(test_wider_items),   cmocka_unit_test(test_results),
        cmocka_unit_test(test_options),       cmocka_unit_test(test_wider_lines),
        cmocka_unit_test(test_budget),        cmocka_unit_test(test_cache_numbers),
        cmocka_unit_test(test_cache_entries),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
