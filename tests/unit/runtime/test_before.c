// Kernels that run before another, of the same manifest: their launches, the matrices that they
// leave in the workspace, and what of them is refused. On the stand-in driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernel.h"
#include "tests/fixtures/fake/cuda.h"
#include "tests/unit/fakes.h"

// Both kernels have parameters of the same sizes, since the stand-in knows one list of them.
static const char manifest[] =
    "{\"tmagen_manifest\": 2, \"name\": \"copied\", \"family\": \"gemm\", \"entry\": \"copied\","
    " \"arch\": \"sm_90a\", \"source\": \"copied.cu\", \"block\": [128, 1, 1],"
    " \"dims\": [{\"name\": \"m\"}, {\"name\": \"k\"}],"
    " \"tensors\": ["
    "  {\"name\": \"a\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"], \"access\": \"read\"},"
    "  {\"name\": \"d\", \"dtype\": \"bf16\", \"dims\": [\"m\"], \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"m\", \"by\": 128}],"
    "            \"splits\": {\"default\": 1, \"most\": 4}},"
    " \"params\": ["
    "  {\"kind\": \"tensor_map\", \"part\": \"rows\", \"box\": [128, 64], \"swizzle_bytes\": 128},"
    "  {\"kind\": \"pointer\", \"tensor\": \"d\"}, {\"kind\": \"splits\", \"type\": \"i32\"}],"
    " \"workspace\": ["
    "  {\"name\": \"sums\", \"bytes\": 100, \"per\": \"item\", \"zero\": \"launch\"},"
    "  {\"name\": \"rows\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"],"
    "   \"stride_bytes_multiple\": 128}],"
    " \"before\": [{\"entry\": \"copy\", \"block\": [256, 1, 1],"
    "  \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"k\", \"by\": 10}]},"
    "  \"params\": ["
    "   {\"kind\": \"tensor_map\", \"part\": \"rows\", \"box\": [1, 64]},"
    "   {\"kind\": \"stride\", \"part\": \"rows\", \"axis\": 0, \"type\": \"i64\"},"
    "   {\"kind\": \"dim\", \"dim\": \"k\", \"type\": \"i32\"}]}],"
    " \"dependent_launch\": true}";

enum { M = 300, K = 77, PITCH = 128 };

static struct fake_cuda *fake;
static tmagen_device *device;
static tmagen_kernel *kernel;
static _Alignas(256) uint8_t workspace[128 << 10];

static int open_all(void **state) {
    (void)state;
    void *library = dlopen(getenv("TMAGEN_LIBCUDA"), RTLD_NOW);
    fake = library ? dlsym(library, "fake_cuda") : NULL;
    assert_non_null(fake);
    fake->param_count = 3;
    memcpy(fake->param_bytes, (size_t[]){128, 8, 4}, 3 * sizeof(size_t));
    const tmagen_load_options options = {
        .manifest_text = manifest, .source_text = "// nothing", .mode = TMAGEN_NO_CACHE};
    assert_int_equal(tmagen_device_open("cuda", &device), TMAGEN_OK);
    const int status = tmagen_kernel_load(device, "copied", &options, &kernel);
    if (status) print_message("%s\n", tmagen_error_last());
    return status;
}

static int close_all(void **state) {
    (void)state;
    const int unloads = fake->unloads;
    tmagen_kernel_unload(kernel);
    assert_int_equal(fake->unloads, unloads + 2);
    tmagen_device_close(device);
    return 0;
}

struct launch_of_two {
    tmagen_tensor tensors[2];
    tmagen_launch launch;
};

static struct launch_of_two *right(void) {
    static struct launch_of_two it;
    it = (struct launch_of_two){
        .tensors = {{.name = "a", .data = 0x10002, .rank = 2, .dims = {M, K}, .strides = {K, 1}},
                    {.name = "d", .data = 0x40000, .rank = 1, .dims = {M}}},
        .launch = {.tensors = it.tensors,
                   .tensor_count = 2,
                   .workspace = (uintptr_t)workspace,
                   .workspace_bytes = sizeof workspace}};
    return &it;
}

static uint64_t word(unsigned char params[][FAKE_PARAM_BYTES], int index, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, params[index], bytes);
    return value;
}

// Both are launched, each with its own grid, block and parameters; what the launch chooses is for
// the last one, and so is the overlap, which that one has with what runs before it.
static void test_both_are_launched(void **state) {
    (void)state;
    struct launch_of_two *it = right();
    for (int round = 0; round < 2; ++round) {  // checked, and out of the table
        const int launches = fake->launches;
        it->launch.splits = 3;
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
        assert_int_equal(fake->launches, launches + 2);
        assert_int_equal(fake->before.config.gridDimX, (K + 9) / 10);
        assert_int_equal(fake->before.config.blockDimX, 256);
        assert_int_equal(fake->config.gridDimX, 3 * ((M + 127) / 128));
        assert_int_equal(fake->config.blockDimX, 128);
        assert_int_equal(fake->before.config.numAttrs + 1, fake->config.numAttrs);
        assert_int_equal(word(fake->params, 2, 4), 3);
        assert_int_equal(word(fake->before.params, 1, 8), PITCH);
        assert_int_equal(word(fake->before.params, 2, 4), K);
    }
}

// The matrix lies behind the sums of all items of the last kernel, and its rows have its pitch.
static void test_matrix_of_the_workspace(void **state) {
    (void)state;
    struct launch_of_two *it = right();
    it->launch.splits = 3;  // 9 items of 100 bytes come first
    size_t bytes = 0;
    assert_int_equal(tmagen_kernel_workspace(kernel, &it->launch, &bytes), TMAGEN_OK);
    assert_int_equal(bytes, 1024 + M * PITCH * 2);
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    const uint64_t wanted[] = {(uintptr_t)workspace + 1024, K, M, PITCH * 2};
    assert_memory_equal(fake->params[0], wanted, sizeof wanted);
    assert_memory_equal(fake->before.params[0], wanted, sizeof wanted);
}

static void refused(const tmagen_launch *launch, const char *words) {
    const int launches = fake->launches;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, launch), TMAGEN_ERROR_ARGUMENT);
    if (!strstr(tmagen_error_last(), words))
        fail_msg("said '%s', not '%s'", tmagen_error_last(), words);
    assert_int_equal(fake->launches, launches);
}

// A workspace that does not hold the matrix, and one that no address space does.
static void test_refusals(void **state) {
    (void)state;
    struct launch_of_two *it = right();
    it->launch.workspace_bytes = 512 + M * PITCH * 2 - 1;
    refused(&it->launch, "legal: at least 77312 bytes at a multiple of 256");
    it = right();
    it->tensors[0].dims[0] = it->tensors[1].dims[0] = 1 << 24;
    it->tensors[0].dims[1] = it->tensors[0].strides[0] = 1 << 24;
    refused(&it->launch, "the workspace is larger than an address space");
    size_t bytes = 7;
    assert_int_equal(tmagen_kernel_workspace(kernel, &it->launch, &bytes), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(bytes, 7);
}

// One that fails ends the launch.
static void test_the_second_waits_for_the_first(void **state) {
    (void)state;
    struct launch_of_two *it = right();
    const int launches = fake->launches;
    fake->launch_result = CUDA_ERROR_INVALID_VALUE;
    const int status = tmagen_kernel_launch(kernel, NULL, &it->launch);
    fake->launch_result = CUDA_SUCCESS;
    assert_int_not_equal(status, TMAGEN_OK);
    assert_int_equal(fake->launches, launches + 1);
}

static const struct {
    const char *from, *to, *words;
} bad[] = {
    {"\"entry\": \"copy\"", "\"entr\": \"copy\"", "before[0] has the unknown member 'entr'"},
    {"\"entry\": \"copy\", ", "", "before[0].entry is missing"},
    {"[256, 1, 1]", "[2048, 1, 1]", "before[0].block[0] is 2048"},
    {"{\"dim\": \"k\", \"by\": 10}", "", "before[0].grid.tiles has 0 items"},
    {"{\"kind\": \"dim\", \"dim\": \"k\", \"type\": \"i32\"}",
     "{\"kind\": \"splits\", \"type\": \"i32\"}",
     "before[0] takes a scalar or splits, which only the last kernel is given"},
    {"\"part\": \"rows\", \"axis\"", "\"part\": \"sums\", \"axis\"",
     "before[0].params[1].part is a part of bytes; legal: one with a dtype"},
    {"\"part\": \"rows\", \"axis\"", "\"part\": \"row\", \"axis\"",
     "before[0].params[1].part names no part of the workspace: 'row'"},
    {"\"part\": \"rows\", \"axis\"", "\"part\": \"rows\", \"tensor\": \"a\", \"axis\"",
     "before[0].params[1].part stands beside a tensor; legal: one of the two"},
    {"\"part\": \"rows\", \"axis\": 0", "\"part\": \"rows\", \"axis\": 2",
     "before[0].params[1].axis is 2; legal: 0 to 1"},
    {"\"stride_bytes_multiple\": 128", "\"stride_bytes_multiple\": 2",
     "params[0] is of tensor 'rows', whose strides are multiples of 2 bytes; legal: of 16"},
    {"\"stride_bytes_multiple\": 128", "\"bytes\": 128",
     "workspace[1] has the unknown member 'bytes', of a newer tmagen or misspelt; legal: name "
     "dtype dims"},
    {"\"dims\": [\"m\", \"k\"],   \"stride", "\"dims\": [\"m\", \"q\"],   \"stride",
     "workspace[1].dims[1] names no dim of the manifest: 'q'"},
};

static void test_bad_manifests(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        static char text[sizeof manifest + 256];
        const char *at = strstr(manifest, bad[i].from);
        if (!at) fail_msg("'%s' is not in the good manifest", bad[i].from);
        sprintf(text, "%.*s%s%s", (int)(at - manifest), manifest, bad[i].to,
                at + strlen(bad[i].from));
        struct tmg_manifest *it = NULL;
        const int status = tmg_manifest_parse(text, strlen(text), "bad", &it);
        if (status != TMAGEN_ERROR_MANIFEST) fail_msg("taken for good: %s", bad[i].words);
        if (!strstr(tmagen_error_last(), bad[i].words))
            fail_msg("said '%s', not '%s'", tmagen_error_last(), bad[i].words);
    }
}

// Cut short, and with pieces of itself copied elsewhere: never a crash, whatever is freed.
static void test_mutilated_manifests(void **state) {
    (void)state;
    static char text[sizeof manifest];
    struct tmg_manifest *it;
    const size_t length = strlen(manifest);
    for (size_t cut = 0; cut < length; ++cut)
        assert_int_equal(tmg_manifest_parse(manifest, cut, "cut", &it), TMAGEN_ERROR_MANIFEST);
    srand(1);
    for (int round = 0; round < 20000; ++round) {
        memcpy(text, manifest, sizeof manifest);
        for (int edits = rand() % 4 + 1; edits > 0; --edits) {
            const size_t bytes = (size_t)rand() % 12 + 1;
            memmove(text + (size_t)rand() % (length - bytes),
                    manifest + (size_t)rand() % (length - bytes), bytes);
        }
        it = NULL;
        tmg_manifest_parse(text, length, "mutilated", &it);
        tmg_manifest_free(it);
    }
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_are_launched),
        cmocka_unit_test(test_matrix_of_the_workspace),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_the_second_waits_for_the_first),
        cmocka_unit_test(test_bad_manifests),
        cmocka_unit_test(test_mutilated_manifests),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
