// Callers that were compiled with an older or a newer tmagen.h than the library.
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
    struct arguments *it = right();
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
    struct arguments *it = right();
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
    assert_int_equal(
        tmagen_kernel_load_sized(device, "gemm", &newer.options, sizeof newer, &loaded), TMAGEN_OK);
    tmagen_kernel_unload(loaded);
    newer.more = 1;
    assert_int_equal(
        tmagen_kernel_load_sized(device, "gemm", &newer.options, sizeof newer, &loaded),
        TMAGEN_ERROR_ARGUMENT);
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

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newer_launch), cmocka_unit_test(test_older_launch),
        cmocka_unit_test(test_wider_items),  cmocka_unit_test(test_results),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
