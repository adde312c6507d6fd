// Every public function called wrongly: an error with a sentence, or plainly nothing, no crash.
// The table is complete: a test reads the headers, and a function without a row here fails it.
#include "tests/unit/runtime/set_fixture.h"

#include <signal.h>
#include <sys/wait.h>

static tmagen_kernel *kernel;

// One statement, so that the failing call is named.
#define REFUSED(call, part)                                        \
    do {                                                           \
        assert_int_equal(call, TMAGEN_ERROR_ARGUMENT);             \
        if (!strstr(tmagen_error_last(), part))                    \
            fail_msg("%s: said '%s'", #call, tmagen_error_last()); \
    } while (0)

// ---- Errors and devices

static void misuse_texts(void) {
    assert_string_equal(tmagen_version(), TMAGEN_VERSION);
    assert_non_null(tmagen_error_last());
    assert_non_null(tmagen_warning_last());
    assert_string_equal(tmagen_error_name(1), "unknown");
    assert_string_equal(tmagen_error_name(INT32_MIN), "unknown");
}

static void misuse_open(void) {
    tmagen_device *opened = NULL;
    REFUSED(tmagen_device_open(NULL, &opened), "name is missing");
    REFUSED(tmagen_device_open("emu", NULL), "name is missing");
    REFUSED(tmagen_device_open("cuda:-1", &opened), "no device is called 'cuda:-1'");
    REFUSED(tmagen_device_open("cuda:99999999999", &opened), "no device is called");
    assert_null(opened);
}

static void misuse_device(void) {
    tmagen_device_info info;
    tmagen_budget budget = {.steps = 1};
    tmagen_device_close(NULL);
    tmagen_device_cancel(NULL);
    assert_string_equal(tmagen_device_reports(NULL), "");
    REFUSED(tmagen_device_get_info(NULL, &info), "is missing");
    REFUSED(tmagen_device_get_info(device, NULL), "is missing");
    REFUSED(tmagen_device_get_info_sized(device, &info, sizeof info - 1), "its size is");
    REFUSED(tmagen_device_synchronize(NULL), "is missing");
    REFUSED(tmagen_device_set_budget(NULL, &budget), "is missing");
    REFUSED(tmagen_device_set_budget(device, NULL), "is missing");
    REFUSED(tmagen_device_set_budget_sized(device, &budget, 0), "its size is 0 bytes");
}

static void misuse_memory(void) {
    tmagen_address address = 7;
    char byte = 0;
    REFUSED(tmagen_memory_alloc(NULL, 1, &address), "is missing");
    REFUSED(tmagen_memory_alloc(device, 1, NULL), "is missing");
    assert_int_equal(tmagen_memory_alloc(device, SIZE_MAX, &address), TMAGEN_ERROR_MEMORY);
    assert_int_equal(address, 7);
    tmagen_memory_free(NULL, 7);
    tmagen_memory_free(device, 0);
    REFUSED(tmagen_memory_upload(NULL, 7, &byte, 1), "is missing");
    REFUSED(tmagen_memory_upload(device, 7, NULL, 1), "is missing");
    REFUSED(tmagen_memory_download(NULL, &byte, 7, 1), "is missing");
    REFUSED(tmagen_memory_download(device, NULL, 7, 1), "is missing");
    REFUSED(tmagen_memory_fill(NULL, 7, 0, 1), "is missing");
}

// ---- Compiling and the cache

static void misuse_compile(void) {
    const tmagen_compile_options right = {.arch = "sm_90a", .name = "k.cu", .cache_dir = cache_dir};
    tmagen_compile_options wrong = right;
    tmagen_code code = {.bytes = 7};
    char text[64];
    REFUSED(tmagen_compile(NULL, 2, &right, &code), "source is missing");
    REFUSED(tmagen_compile_sized("//", 2, NULL, sizeof right, &code, sizeof code), "missing");
    REFUSED(tmagen_compile_sized("//", 2, &right, sizeof right, NULL, sizeof code), "no room");
    REFUSED(tmagen_compile_sized("//", 2, &right, 1, &code, sizeof code), "its size is 1 bytes");
    wrong.kind = (tmagen_kind)9;
    REFUSED(tmagen_compile("//", 2, &wrong, &code), "kind: 9");
    wrong = right, wrong.arch = "../sm_90a";
    REFUSED(tmagen_compile("//", 2, &wrong, &code), "arch: ");
    wrong = right, wrong.name = NULL;
    REFUSED(tmagen_compile("//", 2, &wrong, &code), "name is missing");
    assert_int_equal(code.bytes, 7);
    tmagen_code_free_sized(NULL, sizeof code);
    tmagen_code_free_sized(&code, 1);
    assert_int_equal(code.bytes, 7);
    REFUSED(tmagen_compiler_describe(NULL, 9), "no room");
    REFUSED(tmagen_compiler_describe(text, 0), "no room");
}

static int never(const tmagen_cache_entry *entry, void *context) {
    (void)entry, (void)context;
    fail_msg("an entry of an empty cache");
    return 0;
}

static void misuse_cache(void) {
    const tmagen_compile_options right = {.arch = "sm_90a", .name = "k.cu", .cache_dir = cache_dir};
    tmagen_cache_stats stats;
    char text[64];
    REFUSED(tmagen_cache_list(cache_dir, 0, NULL, NULL), "nobody to visit");
    REFUSED(tmagen_cache_list_sized(cache_dir, 0, never, NULL, 1), "its size is 1 bytes");
    REFUSED(tmagen_cache_list_sized(cache_dir, 0, never, NULL, SIZE_MAX), "its size is 1844");
    REFUSED(tmagen_cache_stat(cache_dir, NULL), "no room");
    REFUSED(tmagen_cache_stat_sized(cache_dir, &stats, 1), "its size is 1 bytes");
    REFUSED(tmagen_cache_gc_sized(cache_dir, -1, &stats, 1), "its size is 1 bytes");
    REFUSED(tmagen_cache_clear_sized(cache_dir, &stats, 1), "its size is 1 bytes");
    REFUSED(tmagen_cache_prune_sized(cache_dir, &stats, 1), "its size is 1 bytes");
    REFUSED(tmagen_cache_gc(cache_dir, -1, NULL), "no room");
    REFUSED(tmagen_cache_clear(cache_dir, NULL), "no room");
    REFUSED(tmagen_cache_prune(cache_dir, NULL), "no room");
    REFUSED(tmagen_cache_pin(cache_dir, NULL, 1), "a key is");
    REFUSED(tmagen_cache_pin(cache_dir, "../../etc/passwd", 1), "a key is");
    REFUSED(tmagen_cache_why(NULL, 2, &right, text, sizeof text), "source is missing");
    REFUSED(tmagen_cache_why("//", 2, &right, NULL, 1), "no room");
    REFUSED(tmagen_cache_why_sized("//", 2, NULL, sizeof right, text, sizeof text), "missing");
}

// ---- Kernels

static void misuse_load(void) {
    const tmagen_load_options no_source = {.manifest_text = kernels[3].manifest_text};
    const tmagen_load_options lines = {.manifest_text = "{}", .line_count = 3};
    tmagen_kernel *loaded = NULL;
    REFUSED(tmagen_kernel_load(NULL, "any", NULL, &loaded), "is missing");
    REFUSED(tmagen_kernel_load(device, NULL, NULL, &loaded), "is missing");
    REFUSED(tmagen_kernel_load(device, "", NULL, &loaded), "is missing");
    REFUSED(tmagen_kernel_load(device, "any", NULL, NULL), "is missing");
    REFUSED(tmagen_kernel_load(device, "any", &no_source, &loaded), "needs its source");
    REFUSED(tmagen_kernel_load_sized(device, "any", &no_source, 8, &loaded), "its size is 8");
    assert_int_equal(tmagen_kernel_load(device, "any", &lines, &loaded), TMAGEN_ERROR_MANIFEST);
    assert_int_equal(tmagen_kernel_load(device, "/none.json", NULL, &loaded), TMAGEN_ERROR_FILE);
    assert_null(loaded);
    tmagen_kernel_unload(NULL);
}

static void misuse_kernel(void) {
    struct set_launch *it = rows_of(8, 8, 0);
    const tmagen_launch nothing = {.tensor_count = 2};
    tmagen_kernel_info info;
    size_t bytes;
    REFUSED(tmagen_kernel_get_info(NULL, &info), "is missing");
    REFUSED(tmagen_kernel_get_info(kernel, NULL), "is missing");
    REFUSED(tmagen_kernel_get_info_sized(kernel, &info, 3), "its size is 3 bytes");
    REFUSED(tmagen_kernel_launch(NULL, NULL, &it->launch), "is missing");
    REFUSED(tmagen_kernel_launch(kernel, NULL, NULL), "is missing");
    REFUSED(tmagen_kernel_launch(kernel, NULL, &nothing), "tensors are counted");
    REFUSED(tmagen_kernel_launch_sized(kernel, NULL, &it->launch, 0), "its size is 0 bytes");
    REFUSED(tmagen_kernel_launch_sized(kernel, NULL, NULL, 1), "is missing");
    REFUSED(tmagen_kernel_workspace(NULL, &it->launch, &bytes), "is missing");
    REFUSED(tmagen_kernel_workspace(kernel, NULL, &bytes), "is missing");
    REFUSED(tmagen_kernel_workspace(kernel, &it->launch, NULL), "is missing");
    REFUSED(tmagen_kernel_status(NULL, &it->launch), "is missing");
    REFUSED(tmagen_kernel_status(kernel, NULL), "is missing");
    REFUSED(tmagen_kernel_status_sized(kernel, &it->launch, 0), "its size is 0 bytes");
    it->tensors[0].name = NULL;
    REFUSED(tmagen_kernel_launch(kernel, NULL, &it->launch), "'(null)'");
    it = rows_of(8, 8, 0), it->tensors[0].rank = -1;
    REFUSED(tmagen_kernel_launch(kernel, NULL, &it->launch), "rank -1");
    it = rows_of(INT64_MIN, 8, 0);
    REFUSED(tmagen_kernel_launch(kernel, NULL, &it->launch), "dimension 0");
    it = rows_of(8, 8, INT64_MAX);
    REFUSED(tmagen_kernel_launch(kernel, NULL, &it->launch), "stride 0");
    it = rows_of(8, 8, 0), it->launch.flags = 1u << 31;
    REFUSED(tmagen_kernel_launch(kernel, NULL, &it->launch), "flags 0x80000000");
}

static void misuse_signature(void) {
    const tmagen_signature *it = tmagen_kernel_signature(kernel);
    tmagen_signature_info info;
    tmagen_dim_info dim;
    tmagen_tensor_info tensor;
    tmagen_scalar_info scalar;
    tmagen_op_info op;
    tmagen_role_info role;
    assert_null(tmagen_kernel_signature(NULL));
    assert_null(tmagen_set_signature(NULL));
    REFUSED(tmagen_signature_get_info(NULL, &info), "is missing");
    REFUSED(tmagen_signature_get_info(it, NULL), "is missing");
    REFUSED(tmagen_signature_get_info_sized(it, &info, 8), "its size is 8 bytes");
    REFUSED(tmagen_signature_get_dim(NULL, 0, &dim), "is missing");
    REFUSED(tmagen_signature_get_dim(it, 0, NULL), "is missing");
    REFUSED(tmagen_signature_get_dim(it, 2, &dim), "dim 2; it has 2");
    REFUSED(tmagen_signature_get_dim_sized(it, 0, &dim, 8), "its size is 8 bytes");
    REFUSED(tmagen_signature_get_tensor(NULL, 0, &tensor), "is missing");
    REFUSED(tmagen_signature_get_tensor(it, UINT32_MAX, &tensor), "it has 2");
    REFUSED(tmagen_signature_get_scalar(NULL, 0, &scalar), "is missing");
    REFUSED(tmagen_signature_get_scalar(it, 0, &scalar), "scalar 0; it has 0");
    REFUSED(tmagen_signature_get_op(NULL, 0, &op), "is missing");
    REFUSED(tmagen_signature_get_op(it, 0, &op), "op 0; it has 0");
    REFUSED(tmagen_signature_get_role(NULL, 0, &role), "is missing");
    REFUSED(tmagen_signature_get_role(it, 0, &role), "role 0; it has 0");
}

static void misuse_resolve(void) {
    const tmagen_signature *it = tmagen_kernel_signature(kernel);
    const tmagen_launch *right = &rows_of(8, 8, 0)->launch;
    tmagen_tensor all[2];
    REFUSED(tmagen_signature_resolve(NULL, right, all, 2), "is missing");
    REFUSED(tmagen_signature_resolve(it, NULL, all, 2), "is missing");
    REFUSED(tmagen_signature_resolve(it, right, NULL, 2), "is missing");
    REFUSED(tmagen_signature_resolve_sized(it, right, 0, all, 2), "its size is 0 bytes");
}

// ---- Sets

static void misuse_set_open(void) {
    const tmagen_set_options unknown = {.flags = 2, .table_text = table_text};
    const tmagen_set_options alone = {.table_text = table_text};
    tmagen_set *opened = NULL;
    REFUSED(tmagen_set_open(NULL, "t", NULL, &opened), "is missing");
    REFUSED(tmagen_set_open(device, "", NULL, &opened), "is missing");
    REFUSED(tmagen_set_open(device, "t", NULL, NULL), "is missing");
    REFUSED(tmagen_set_open(device, "t", &unknown, &opened), "flags 0x2");
    REFUSED(tmagen_set_open(device, "t", &alone, &opened), "needs its kernel big");
    REFUSED(tmagen_set_open_sized(device, "t", &alone, 4, &opened), "its size is 4 bytes");
    assert_null(opened);
    tmagen_set_close(NULL);
}

static void misuse_set(void) {
    const tmagen_launch *right = &rows_of(8, 8, 0)->launch;
    tmagen_choice choices[2];
    size_t count = 7;
    REFUSED(tmagen_set_load(NULL, NULL), "is missing");
    REFUSED(tmagen_set_load(set, "none"), "no kernel 'none'");
    REFUSED(tmagen_set_launch(NULL, NULL, right), "is missing");
    REFUSED(tmagen_set_launch(set, NULL, NULL), "is missing");
    REFUSED(tmagen_set_launch_sized(set, NULL, right, 0), "its size is 0 bytes");
    REFUSED(tmagen_set_workspace(NULL, right, &count), "is missing");
    REFUSED(tmagen_set_workspace(set, right, NULL), "is missing");
    REFUSED(tmagen_set_rank(NULL, right, choices, 2, &count), "is missing");
    REFUSED(tmagen_set_rank(set, right, choices, 2, NULL), "is missing");
    REFUSED(tmagen_set_rank_sized(set, right, TMAGEN_LAUNCH_SIZES, choices, 4, 2, &count),
            "its size is 4 bytes");
    REFUSED(tmagen_set_rank_sized(set, right, TMAGEN_LAUNCH_SIZES, NULL, 4, 2, &count), "missing");
    REFUSED(tmagen_set_pin(NULL, NULL, "big"), "is missing");
    REFUSED(tmagen_set_pin(set, NULL, "none/2"), "none");
    tmagen_launch without = *right;
    without.tensors = NULL;
    REFUSED(tmagen_set_pin(set, &without, "big"), "their list is missing");
    assert_int_equal(count, 7);
}

// Of one that is not there; test_bundle.c has what is in bundles.
static void misuse_bundle(void) {
    tmagen_bundle *bundle = NULL;
    tmagen_kernel *loaded = NULL;
    tmagen_set *opened = NULL;
    REFUSED(tmagen_bundle_open(NULL, &bundle), "path");
    REFUSED(tmagen_bundle_open("x.tmb", NULL), "result");
    REFUSED(tmagen_bundle_from_memory(NULL, 9, &bundle), "bytes");
    REFUSED(tmagen_bundle_load(NULL, device, "big", &loaded), "missing");
    REFUSED(tmagen_bundle_open_set(NULL, device, "t", &opened), "missing");
    REFUSED(tmagen_bundle_list(NULL, NULL, NULL), "visitor");
    REFUSED(tmagen_bundle_verify(NULL), "missing");
    tmagen_bundle_close(NULL);
    assert_null(bundle);
}

// ---- The table

static const struct {
    const char *functions;  // each followed by a space
    void (*misuse)(void);
} table[] = {
    {"tmagen_version tmagen_error_last tmagen_error_name tmagen_warning_last ", misuse_texts},
    {"tmagen_device_open ", misuse_open},
    {"tmagen_device_close tmagen_device_get_info_sized tmagen_device_synchronize "
     "tmagen_device_reports tmagen_device_set_budget_sized tmagen_device_cancel ",
     misuse_device},
    {"tmagen_memory_alloc tmagen_memory_free tmagen_memory_upload tmagen_memory_download "
     "tmagen_memory_fill ",
     misuse_memory},
    {"tmagen_compile_sized tmagen_code_free_sized tmagen_compiler_describe ", misuse_compile},
    {"tmagen_cache_list_sized tmagen_cache_stat_sized tmagen_cache_gc_sized tmagen_cache_pin "
     "tmagen_cache_clear_sized tmagen_cache_prune_sized tmagen_cache_why_sized ",
     misuse_cache},
    {"tmagen_kernel_load_sized tmagen_kernel_unload ", misuse_load},
    {"tmagen_kernel_get_info_sized tmagen_kernel_launch_sized tmagen_kernel_workspace_sized "
     "tmagen_kernel_status_sized ",
     misuse_kernel},
    {"tmagen_kernel_signature tmagen_set_signature tmagen_signature_get_info_sized "
     "tmagen_signature_get_dim_sized tmagen_signature_get_tensor_sized "
     "tmagen_signature_get_scalar_sized tmagen_signature_get_op_sized "
     "tmagen_signature_get_role_sized ",
     misuse_signature},
    {"tmagen_signature_resolve_sized ", misuse_resolve},
    {"tmagen_bundle_open tmagen_bundle_from_memory tmagen_bundle_close tmagen_bundle_load "
     "tmagen_bundle_open_set tmagen_bundle_list_sized tmagen_bundle_verify ",
     misuse_bundle},
    {"tmagen_set_open_sized tmagen_set_close ", misuse_set_open},
    {"tmagen_set_load tmagen_set_launch_sized tmagen_set_workspace_sized tmagen_set_rank_sized "
     "tmagen_set_pin_sized ",
     misuse_set},
};
enum { ROWS = sizeof table / sizeof *table };

static void test_misuse(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; ++i) table[i].misuse();
}

static void check_known(const char *name) {
    char word[160];
    snprintf(word, sizeof word, "%s ", name);
    for (int i = 0; i < ROWS; ++i)
        if (strstr(table[i].functions, word)) return;
    fail_msg("%s has no row: call it wrongly here", name);
}

// What a header declares, wherever its line is broken.
static int check_header(const char *path) {
    static char text[1 << 20], name[128];
    int count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    for (const char *at = text; (at = strstr(at, "\nTMAGEN_API ")); ++count) {
        at += strlen("\nTMAGEN_API ");
        const char *open = strchr(at, '('), *begin = open;
        while (begin > at && (begin[-1] == '_' || (begin[-1] >= 'a' && begin[-1] <= 'z'))) --begin;
        snprintf(name, sizeof name, "%.*s", (int)(open - begin), begin);
        check_known(name);
    }
    return count;
}

static void test_complete(void **state) {
    (void)state;
    static const char *const headers[] = {"runtime/tmagen.h", "runtime/tmagen_bundle.h",
                                          "runtime/tmagen_cache.h", "runtime/tmagen_signature.h"};
    int count = 0;
    for (int i = 0; i < 4; ++i) count += check_header(headers[i]);
    assert_true(count >= 54);
}

// ---- Handles at the wrong time

// A device that is closed first is refused, and lives until the last that needs it is closed.
static void test_closed(void **state) {
    (void)state;
    const tmagen_load_options options = {
        .manifest_text = kernels[3].manifest_text, .source_text = "any", .cache_dir = cache_dir};
    struct set_launch *it = rows_of(8, 8, 0);
    tmagen_device *own = NULL;
    tmagen_kernel *loaded = NULL;
    tmagen_set *opened = NULL;
    size_t bytes;
    assert_int_equal(tmagen_device_open("cuda", &own), TMAGEN_OK);
    assert_int_equal(tmagen_kernel_load(own, "any", &options, &loaded), TMAGEN_OK);
    tmagen_device *const before = device;
    device = own;
    assert_int_equal(open_set_of(table_text, 0, &opened), TMAGEN_OK);
    device = before;
    tmagen_device_close(own);
    REFUSED(tmagen_kernel_launch(loaded, NULL, &it->launch), "the device is closed");
    REFUSED(tmagen_set_launch(opened, NULL, &it->launch), "the device is closed");
    REFUSED(tmagen_set_workspace(opened, &it->launch, &bytes), "the device is closed");
    REFUSED(tmagen_set_load(opened, NULL), "the device is closed");
    REFUSED(tmagen_set_pin(opened, NULL, "big"), "the device is closed");
    REFUSED(tmagen_memory_alloc(own, 1, &it->launch.workspace), "the device is closed");
    REFUSED(tmagen_device_synchronize(own), "the device is closed");
    tmagen_device_close(own);
    tmagen_set_close(opened);
    tmagen_kernel_unload(loaded);
}

// The child's part of what follows: 0, or a number that says which call was not refused.
static int use_after_fork(tmagen_device *emu) {
    const tmagen_launch *right = &rows_of(8, 8, 0)->launch;
    tmagen_device *opened = NULL;
    tmagen_address address;
    size_t bytes;
    if (tmagen_kernel_launch(kernel, NULL, right) != TMAGEN_ERROR_DEVICE) return 1;
    if (!strstr(tmagen_error_last(), "before this process was forked")) return 2;
    if (tmagen_set_launch(set, NULL, right) != TMAGEN_ERROR_DEVICE) return 3;
    if (tmagen_set_workspace(set, right, &bytes) != TMAGEN_ERROR_DEVICE) return 4;
    if (tmagen_memory_alloc(emu, 1, &address) != TMAGEN_ERROR_DEVICE) return 5;
    if (tmagen_device_synchronize(device) != TMAGEN_ERROR_DEVICE) return 6;
    tmagen_memory_free(emu, 4096);
    tmagen_kernel_unload(kernel);
    tmagen_set_close(set);
    tmagen_device_close(device);
    tmagen_device_close(emu);
    if (tmagen_device_open("cuda", &opened) != TMAGEN_ERROR_NO_DEVICE) return 7;
    if (!strstr(tmagen_error_last(), "CUDA was started before this process was forked")) return 8;
    if (tmagen_device_open("emu", &opened) != TMAGEN_OK) return 9;
    if (tmagen_memory_alloc(opened, 64, &address) != TMAGEN_OK) return 10;
    tmagen_memory_free(opened, address);
    tmagen_device_close(opened);
    return 0;
}

static void test_fork(void **state) {
    (void)state;
    tmagen_device *emu;
    int status = -1;
    assert_int_equal(tmagen_device_open("emu", &emu), TMAGEN_OK);
    const pid_t child = fork();
    if (!child) {
        signal(SIGABRT, SIG_DFL);
        alarm(60);
        _exit(use_after_fork(emu));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &rows_of(8, 8, 0)->launch), TMAGEN_OK);
    tmagen_device_close(emu);
}

static int open_all(void **state) {
    const tmagen_load_options options = {
        .manifest_text = kernels[3].manifest_text, .source_text = "any", .mode = TMAGEN_NO_CACHE};
    open_set(state);
    return tmagen_kernel_load(device, "any", &options, &kernel);
}

static int close_all(void **state) {
    tmagen_kernel_unload(kernel);
    return close_set(state);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_misuse, open_all, close_all),
        cmocka_unit_test(test_complete),
        cmocka_unit_test_setup_teardown(test_closed, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_fork, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
