// The word by which a kernel says that sizes on the device cannot be. On the stand-in driver, whose
// memory is the host's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runtime/kernel.h"
#include "tests/unit/fakes.h"

#define TENSORS_UP_TO(LAST)                                                                        \
    "{\"tmagen_manifest\": 2, \"name\": \"grouped\", \"family\": \"gemm\","                        \
    " \"entry\": \"grouped\", \"arch\": \"sm_90a\", \"source\": \"grouped.cu\", \"block\": [128, " \
    "1, 1],"                                                                                       \
    " \"dims\": [{\"name\": \"groups\"}], \"tensors\": ["                                          \
    "  {\"name\": \"ends\", \"dtype\": \"i32\", \"dims\": [\"groups\"], \"access\": "              \
    "\"read\"}," LAST                                                                              \
    "], \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"groups\", \"by\": 128}]},"         \
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"ends\"}]}"

static const char manifest[] =
    TENSORS_UP_TO("{\"name\": \"status\", \"dtype\": \"i32\", \"dims\": [1], \"access\": \"write\","
                  " \"tells_of\": \"ends\"}");

static void test_the_word_is_read(void **state) {
    (void)state;
    tmagen_device *device;
    tmagen_kernel *kernel;
    tmagen_address word;
    const tmagen_load_options options = {
        .manifest_text = manifest, .source_text = "// nothing", .mode = TMAGEN_NO_CACHE};
    assert_int_equal(tmagen_device_open("cuda", &device), TMAGEN_OK);
    assert_int_equal(tmagen_kernel_load(device, "grouped", &options, &kernel), TMAGEN_OK);
    assert_int_equal(tmagen_memory_alloc(device, 4, &word), TMAGEN_OK);
    const tmagen_tensor tensors[] = {{.name = "ends", .data = 0x10000, .rank = 1, .dims = {8}},
                                     {.name = "status", .data = word, .rank = 1, .dims = {1}}};
    const tmagen_launch launch = {.tensors = tensors, .tensor_count = 2};
    assert_int_equal(tmagen_memory_fill(device, word, 0, 4), TMAGEN_OK);
    assert_int_equal(tmagen_kernel_status(kernel, &launch), TMAGEN_OK);
    const int32_t third = 3;
    assert_int_equal(tmagen_memory_upload(device, word, &third, 4), TMAGEN_OK);
    assert_int_equal(tmagen_kernel_status(kernel, &launch), TMAGEN_ERROR_ARGUMENT);
    assert_string_equal(tmagen_error_last(),
                        "grouped: ends[2] cannot be, and nothing was computed");
    assert_int_equal(tmagen_kernel_status(kernel, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_kernel_status(NULL, &launch), TMAGEN_ERROR_ARGUMENT);
    tmagen_memory_free(device, word);
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
}

// Refuses [text], with [said] in the message.
static void refuses(const char *text, const char *said) {
    struct tmg_manifest *it = NULL;
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "x", &it), TMAGEN_ERROR_MANIFEST);
    if (!strstr(tmagen_error_last(), said)) fail_msg("%s", tmagen_error_last());
}

static void test_bad_manifests(void **state) {
    (void)state;
    refuses(TENSORS_UP_TO("{\"name\": \"s\", \"dtype\": \"i32\", \"dims\": [1],"
                          " \"access\": \"write\", \"tells_of\": \"s\"}"),
            "no tensor before");
    refuses(TENSORS_UP_TO("{\"name\": \"s\", \"dtype\": \"i32\", \"dims\": [2],"
                          " \"access\": \"write\", \"tells_of\": \"ends\"}"),
            "one i32 that is written");
    refuses(TENSORS_UP_TO("{\"name\": \"s\", \"dtype\": \"u32\", \"dims\": [1],"
                          " \"access\": \"write\", \"tells_of\": \"ends\"}"),
            "one i32 that is written");
    refuses(TENSORS_UP_TO("{\"name\": \"s\", \"dtype\": \"i32\", \"dims\": [1],"
                          " \"access\": \"read\", \"tells_of\": \"ends\"}"),
            "one i32 that is written");
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_word_is_read),
        cmocka_unit_test(test_bad_manifests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
