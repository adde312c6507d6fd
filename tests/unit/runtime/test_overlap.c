// Layers of a kernel that overlaps the launch before it, on the emulator, which knows what a launch
// may touch before it has waited. Without its waits the same kernel must be reported.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/tmagen.h"
#include "runtime/whole_file.h"

enum { ROWS = 8, WIDTH = 128, LAYERS = 3 };

static tmagen_device *device;
static tmagen_address values[2], weights;

static void check(int status) {
    if (status) fail_msg("%s", tmagen_error_last());
}

// The whole file, ended by a zero.
static char *text_of(const char *path) {
    char *text;
    size_t bytes;
    check(tmg_file_read(path, 1 << 20, &text, &bytes));
    return text;
}

// Blanks all of [text] from each [begin] to the next [end], and that. How many there were.
static int blank(char *text, const char *begin, const char *end) {
    int count = 0;
    for (char *at = text; (at = strstr(at, begin)); ++count) {
        const char *behind = strstr(at, end) + strlen(end);
        memset(at, ' ', (size_t)(behind - at));
    }
    return count;
}

static tmagen_kernel *load(const char *source, const char *manifest) {
    const tmagen_load_options options = {
        .manifest_text = manifest, .source_text = source, .mode = TMAGEN_NO_CACHE};
    tmagen_kernel *kernel = NULL;
    const int status = tmagen_kernel_load(device, "layers", &options, &kernel);
    if (status == TMAGEN_ERROR_NO_COMPILER) skip();
    check(status);
    return kernel;
}

// Launches LAYERS of [kernel], each on what the one before it wrote. The status of the first that
// fails.
static int run(tmagen_kernel *kernel) {
    int status = TMAGEN_OK;
    for (int layer = 0; layer < LAYERS && !status; ++layer) {
        const tmagen_tensor tensors[] = {
            {.name = "a", .data = values[layer % 2], .rank = 2, .dims = {ROWS, WIDTH}},
            {.name = "b", .data = weights, .rank = 2, .dims = {WIDTH, WIDTH}},
            {.name = "d", .data = values[1 - layer % 2], .rank = 2, .dims = {ROWS, WIDTH}}};
        const tmagen_launch launch = {
            .tensors = tensors, .tensor_count = 3, .flags = TMAGEN_LAUNCH_OVERLAP};
        status = tmagen_kernel_launch(kernel, NULL, &launch);
    }
    return status;
}

static void test_layers_wait_for_each_other(void **state) {
    (void)state;
    char *source = text_of("out/gemm_8x64_layers.cu");
    char *manifest = text_of("out/gemm_8x64_layers.json");
    tmagen_kernel *kernel = load(source, manifest);
    if (run(kernel)) fail_msg("%s", tmagen_device_reports(device));
    tmagen_kernel_unload(kernel);

    assert_int_equal(blank(source, "griddepcontrol.wait", ";"), 1);
    assert_int_equal(blank(manifest, "\"source_sha256\"", ","), 1);
    kernel = load(source, manifest);
    assert_int_equal(run(kernel), TMAGEN_ERROR_DEVICE);
    assert_non_null(strstr(tmagen_device_reports(device), "no griddepcontrol.wait comes first"));
    tmagen_kernel_unload(kernel);
    free(manifest);
    free(source);
}

static int open_all(void **state) {
    (void)state;
    check(tmagen_device_open("emu", &device));
    tmagen_address *const buffers[] = {&values[0], &values[1], &weights};
    for (int i = 0; i < 3; ++i) {
        const size_t bytes = (size_t)(i < 2 ? ROWS : WIDTH) * WIDTH * 2;
        check(tmagen_memory_alloc(device, bytes, buffers[i]));
        check(tmagen_memory_fill(device, *buffers[i], 0x3c, bytes));
    }
    return 0;
}

static int close_all(void **state) {
    (void)state;
    for (int i = 0; i < 2; ++i) tmagen_memory_free(device, values[i]);
    tmagen_memory_free(device, weights);
    tmagen_device_close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers_wait_for_each_other)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
