// Launches on the stand-in driver: what reaches cuLaunchKernelEx, what is refused and why, and that
// the path of a repeated launch neither allocates nor encodes anything again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>

#include "runtime/kernel.h"
#include "tests/fixtures/fake/cuda.h"
#include "tests/unit/fakes.h"

static const char manifest[] =
    "{\"tmagen_manifest\": 2, \"name\": \"gemm\", \"family\": \"gemm\", \"entry\": \"gemm\","
    " \"arch\": \"sm_90a\", \"source\": \"gemm.cu\", \"block\": [384, 1, 1], \"cluster\": [2, 1, "
    "1],"
    " \"shared_memory\": 200000,"
    " \"dims\": [{\"name\": \"m\"}, {\"name\": \"n\", \"multiple_of\": 8},"
    "            {\"name\": \"k\", \"multiple_of\": 8}],"
    " \"tensors\": ["
    "  {\"name\": \"a\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"], \"access\": \"read\","
    "   \"alignment\": 16, \"stride_bytes_multiple\": 16},"
    "  {\"name\": \"b\", \"dtype\": \"bf16\", \"dims\": [\"n\", \"k\"], \"access\": \"read\","
    "   \"alignment\": 16, \"stride_bytes_multiple\": 16},"
    "  {\"name\": \"bias\", \"dtype\": \"bf16\", \"dims\": [\"n\"], \"access\": \"read\"},"
    "  {\"name\": \"d\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"n\"], \"access\": \"write\","
    "   \"alignment\": 4, \"stride_bytes_multiple\": 4}],"
    " \"grid\": {\"rule\": \"persistent\", \"tiles\": [{\"dim\": \"m\", \"by\": 256},"
    "           {\"dim\": \"n\", \"by\": 128}], \"blocks_per_tile\": 2},"
    " \"params\": ["
    "  {\"kind\": \"tensor_map\", \"tensor\": \"a\", \"box\": [128, 64], \"swizzle_bytes\": 128},"
    "  {\"kind\": \"tensor_map\", \"tensor\": \"b\", \"box\": [64, 32], \"swizzle_bytes\": 64},"
    "  {\"kind\": \"pointer\", \"tensor\": \"bias\"}, {\"kind\": \"pointer\", \"tensor\": \"d\"},"
    "  {\"kind\": \"stride\", \"tensor\": \"d\", \"axis\": 0, \"type\": \"i64\"},"
    "  {\"kind\": \"dim\", \"dim\": \"m\", \"type\": \"i32\"},"
    "  {\"kind\": \"tiles\", \"index\": 1, \"type\": \"i32\"},"
    "  {\"kind\": \"scalar\", \"name\": \"alpha\", \"type\": \"f32\", \"default\": 1.5},"
    "  {\"kind\": \"workspace\", \"part\": \"marks\"}],"
    " \"workspace\": [{\"name\": \"marks\", \"bytes\": 32, \"per\": \"tile\", \"zero\": "
    "\"launch\"}]}";

static const size_t param_bytes[] = {128, 128, 8, 8, 8, 4, 4, 4, 8};
enum { PARAMS = sizeof param_bytes / sizeof *param_bytes, M = 1000, N = 512, K = 256 };

static struct fake_cuda *fake;
static tmagen_device *device;
static tmagen_kernel *kernel;
static _Alignas(256) uint8_t workspace[4096];

static tmagen_load_options in_memory(const char *text) {
    return (tmagen_load_options){
        .manifest_text = text, .source_text = "#pragma spill", .mode = TMAGEN_NO_CACHE};
}

static int open_all(void **state) {
    (void)state;
    void *library = dlopen(getenv("TMAGEN_LIBCUDA"), RTLD_NOW);
    assert_non_null(library);
    fake = dlsym(library, "fake_cuda");
    assert_non_null(fake);
    fake->param_count = PARAMS;
    memcpy(fake->param_bytes, param_bytes, sizeof param_bytes);
    assert_int_equal(tmagen_device_open("cuda", &device), TMAGEN_OK);
    tmagen_load_options options = in_memory(manifest);
    int status = tmagen_kernel_load(device, "gemm", &options, &kernel);
    if (status) print_message("%s\n", tmagen_error_last());
    return status;
}

static int close_all(void **state) {
    (void)state;
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
    return 0;
}

// The arguments of a launch that is right, to be spoilt.
struct arguments {
    tmagen_tensor tensors[4];
    tmagen_dim dims[3];
    tmagen_scalar scalars[1];
    tmagen_launch launch;
};

static struct arguments *right(void) {
    static _Thread_local struct arguments it;
    it = (struct arguments){
        .tensors =
            {{.name = "a", .data = 0x10000, .rank = 2, .dims = {M, K}, .strides = {K + 8, 1}},
             {.name = "b", .data = 0x20000, .rank = 2, .dims = {N, K}},
             {.name = "bias", .data = 0x30002},
             {.name = "d", .data = 0x40004, .rank = 2, .dims = {M, N}}},
        .launch = {.tensors = it.tensors,
                   .tensor_count = 4,
                   .dims = it.dims,
                   .scalars = it.scalars,
                   .workspace = (uintptr_t)workspace,
                   .workspace_bytes = sizeof workspace}};
    return &it;
}

static uint64_t param(int index) {
    uint64_t value = 0;
    memcpy(&value, fake->params[index], param_bytes[index] < 8 ? param_bytes[index] : 8);
    return value;
}

static void test_parameters_reach_the_driver(void **state) {
    (void)state;
    float alpha;
    memset(workspace, 1, sizeof workspace);
    assert_int_equal(tmagen_kernel_launch(kernel, (void *)0x77, &right()->launch), TMAGEN_OK);
    uint64_t map[16];
    memcpy(map, fake->params[0], sizeof map);  // the stand-in's map: its own arguments
    const uint64_t expected[] = {0x10000, K, M, (K + 8) * 2, 64, 128, 9, 3, 2};
    assert_memory_equal(map, expected, sizeof expected);
    memcpy(map, fake->params[1], sizeof map);
    const uint64_t expected_b[] = {0x20000, K, N, K * 2, 32, 64, 9, 2, 2};
    assert_memory_equal(map, expected_b, sizeof expected_b);
    assert_int_equal(param(2), 0x30002);
    assert_int_equal(param(3), 0x40004);
    assert_int_equal(param(4), N);
    assert_int_equal(param(5), M);
    assert_int_equal(param(6), N / 128);
    memcpy(&alpha, fake->params[7], 4);
    assert_true(alpha == 1.5f);
    assert_int_equal(param(8), (uintptr_t)workspace);
    // 4 x 4 tiles of 2 blocks: 512 bytes zeroed, no more
    assert_int_equal(workspace[511], 0);
    assert_int_equal(workspace[512], 1);
}

static void test_geometry(void **state) {
    (void)state;
    struct arguments *it = right();
    assert_int_equal(tmagen_kernel_launch(kernel, (void *)0x77, &it->launch), TMAGEN_OK);
    assert_int_equal(fake->config.gridDimX, 32);
    assert_int_equal(fake->config.gridDimY, 1);
    assert_int_equal(fake->config.blockDimX, 384);
    assert_int_equal(fake->config.sharedMemBytes, 200000);
    assert_int_equal(fake->dynamic_shared_bytes, 200000);
    assert_int_equal((uintptr_t)fake->config.hStream, 0x77);
    assert_int_equal(fake->config.numAttrs, 1);
    assert_int_equal(fake->attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    assert_int_equal(fake->attributes[0].value.clusterDim.x, 2);
    it->launch.flags = TMAGEN_LAUNCH_OVERLAP;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    assert_int_equal(fake->config.numAttrs, 2);
    assert_int_equal(fake->attributes[1].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
}

// The stand-in has 132 SMs but room for 60 clusters only: the persistent grid is what is resident.
static void test_persistent_grid_is_what_is_resident(void **state) {
    (void)state;
    struct arguments *it = right();
    it->tensors[0].dims[0] = it->tensors[3].dims[0] = 8192;
    static _Alignas(256) uint8_t large[8192];
    it->launch.workspace = (uintptr_t)large;
    it->launch.workspace_bytes = sizeof large;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    assert_int_equal(fake->config.gridDimX, 120);
}

static void test_names_in_any_order(void **state) {
    (void)state;
    struct arguments *it = right();
    tmagen_tensor first = it->tensors[0];
    it->tensors[0] = it->tensors[3];
    it->tensors[3] = first;
    it->scalars[0] = (tmagen_scalar){"alpha", -2};
    it->launch.scalar_count = 1;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    assert_int_equal(param(3), 0x40004);
    float alpha;
    memcpy(&alpha, fake->params[7], 4);
    assert_true(alpha == -2.0f);
}

static void test_dims_may_come_from_the_launch(void **state) {
    (void)state;
    struct arguments *it = right();
    for (int i = 0; i < 4; ++i) it->tensors[i].rank = 0;
    it->dims[0] = (tmagen_dim){"k", K};
    it->dims[1] = (tmagen_dim){"m", 77};
    it->dims[2] = (tmagen_dim){"n", N};
    it->launch.dim_count = 3;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    assert_int_equal(param(5), 77);
    it->dims[1].value = 78;  // the same arguments but for one dim are another launch
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    assert_int_equal(param(5), 78);
}

static void test_empty_launch_does_nothing(void **state) {
    (void)state;
    for (int pass = 0; pass < 2; ++pass) {  // prepared, then found
        struct arguments *it = right();
        int launches = fake->launches;
        it->tensors[0].dims[0] = it->tensors[3].dims[0] = 0;
        it->tensors[0].data = it->tensors[3].data = 0;
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
        assert_int_equal(fake->launches, launches);
    }
}

static void test_repeated_launch_encodes_nothing(void **state) {
    (void)state;
    struct arguments *it = right();
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
    struct arguments *it = right();
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
            struct arguments *it = right();
            it->tensors[0].data = 0x100000 + i * 16;
            assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
            assert_int_equal(param(0), 0x100000 + i * 16);
        }
}

// ---- What is refused. A row spoils one thing and names what the message must say.

static void no_tensor(struct arguments *it) { it->launch.tensor_count = 3; }
static void wrong_name(struct arguments *it) { it->tensors[2].name = "bios"; }
static void null_name(struct arguments *it) { it->tensors[2].name = NULL; }
static void twice(struct arguments *it) { it->tensors[2].name = "a"; }
static void null_data(struct arguments *it) { it->tensors[1].data = 0; }
static void odd_address(struct arguments *it) { it->tensors[0].data = 0x10008; }
static void wrong_rank(struct arguments *it) { it->tensors[0].rank = 3; }
static void negative_rank(struct arguments *it) { it->tensors[0].rank = -1; }
static void not_divisible(struct arguments *it) {
    it->tensors[0].dims[1] = it->tensors[1].dims[1] = K + 4;
}
static void other_k(struct arguments *it) { it->tensors[1].dims[1] = K + 8; }
static void negative_dim(struct arguments *it) { it->tensors[0].dims[0] = -1; }
static void huge_dim(struct arguments *it) {
    it->tensors[0].dims[0] = it->tensors[3].dims[0] = (int64_t)1 << 31;
}
static void odd_stride(struct arguments *it) { it->tensors[0].strides[0] = K + 1; }
static void short_stride(struct arguments *it) {
    it->tensors[3].strides[0] = N - 2;
    it->tensors[3].strides[1] = 1;
}
static void inner_stride(struct arguments *it) {
    it->tensors[3].strides[0] = 2 * N;
    it->tensors[3].strides[1] = 2;
}
static void negative_stride(struct arguments *it) { it->tensors[0].strides[0] = -K; }
static void huge_stride(struct arguments *it) { it->tensors[0].strides[0] = (int64_t)1 << 40; }
static void end_of_memory(struct arguments *it) { it->tensors[0].data = UINT64_MAX - 15; }
static void unknown_dim(struct arguments *it) {
    it->dims[0] = (tmagen_dim){"q", 1};
    it->launch.dim_count = 1;
}
static void contradiction(struct arguments *it) {
    it->dims[0] = (tmagen_dim){"m", M + 1};
    it->launch.dim_count = 1;
}
static void dim_twice(struct arguments *it) {
    it->dims[0] = it->dims[1] = (tmagen_dim){"m", M};
    it->launch.dim_count = 2;
}
static void dim_unknown(struct arguments *it) {
    for (int i = 0; i < 4; ++i) it->tensors[i].rank = 0;
}
static void unknown_scalar(struct arguments *it) {
    it->scalars[0] = (tmagen_scalar){"beta", 1};
    it->launch.scalar_count = 1;
}
static void no_workspace(struct arguments *it) { it->launch.workspace = 0; }
static void small_workspace(struct arguments *it) { it->launch.workspace_bytes = 511; }
static void odd_workspace(struct arguments *it) { it->launch.workspace += 16; }
static void negative_sms(struct arguments *it) { it->launch.sms = -1; }
static void splits(struct arguments *it) { it->launch.splits = 2; }
static void flags(struct arguments *it) { it->launch.flags = 8; }
static void no_list_of_tensors(struct arguments *it) { it->launch.tensors = NULL; }
static void no_list_of_dims(struct arguments *it) {
    it->launch.dims = NULL;
    it->launch.dim_count = 1;
}
static void no_list_of_scalars(struct arguments *it) {
    it->launch.scalars = NULL;
    it->launch.scalar_count = 1;
}

static const struct {
    void (*spoil)(struct arguments *);
    const char *message;
} refusals[] = {
    {no_tensor, "tensor 'd': is missing"},
    {wrong_name, "tensor 'bios': the kernel has none of that name"},
    {null_name, "tensor '(null)': the kernel has none"},
    {twice, "tensor 'a': is given twice"},
    {null_data, "tensor 'b': its address is 0"},
    {odd_address, "tensor 'a': the address 0x10008 is no multiple of 16"},
    {wrong_rank, "tensor 'a': rank 3; legal: 2"},
    {negative_rank, "tensor 'a': rank -1; legal: 2"},
    {not_divisible, "dim 'k' is 260; legal: multiples of 8"},
    {other_k, "dim 'k' is 256, but 264 by tensor 'b'"},
    {negative_dim, "tensor 'a': dimension 0 is -1; legal: 0 to 2147483647"},
    {huge_dim, "tensor 'a': dimension 0 is 2147483648; legal: 0 to 2147483647"},
    {odd_stride, "tensor 'a': stride 0 is 257 elements, 514 bytes; legal: multiples of 16 bytes"},
    {short_stride, "tensor 'd': stride 0 is 510 elements; legal: 512 to"},
    {inner_stride, "tensor 'd': stride 1 is 2; legal: 1"},
    {negative_stride, "tensor 'a': stride 0 is -256 elements; legal: 1 to"},
    {huge_stride, "tensor 'a': stride 0 is 1099511627776 elements; legal: 1 to"},
    {end_of_memory, "tensor 'a': ends beyond the address space"},
    {unknown_dim, "dim 'q': the kernel has none of that name"},
    {contradiction, "dim 'm' is 1001, but 1000 by tensor 'a'"},
    {dim_twice, "dim 'm': is given twice"},
    {dim_unknown, "dim 'm': is neither among the launch's dims nor follows from a tensor's"},
    {unknown_scalar, "scalar 'beta': the kernel has none of that name"},
    {no_workspace, "the workspace has 4096 bytes at 0x0; legal: at least 512 bytes"},
    {small_workspace, "the workspace has 511 bytes"},
    {odd_workspace, "at a multiple of 256"},
    {flags, "flags 0x8"},
    {negative_sms, "sms is -1; legal: 0 and up"},
    {splits, "splits is 2; legal: 1 to 1"},
    {no_list_of_tensors, "tensors are counted, but their list is missing"},
    {no_list_of_dims, "dims are counted, but their list is missing"},
    {no_list_of_scalars, "scalars are counted, but their list is missing"},
};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        struct arguments *it = right();
        int launches = fake->launches;
        refusals[i].spoil(it);
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
        if (!strstr(tmagen_error_last(), refusals[i].message))
            fail_msg("said '%s', not '%s'", tmagen_error_last(), refusals[i].message);
        assert_int_equal(fake->launches, launches);
    }
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, NULL), TMAGEN_ERROR_ARGUMENT);
}

static void test_missing_arguments(void **state) {
    (void)state;
    tmagen_address address = 7;
    tmagen_device_info info;
    size_t bytes;
    struct arguments *it = right();
    const int statuses[] = {
        tmagen_device_get_info(NULL, &info),
        tmagen_device_get_info(device, NULL),
        tmagen_device_synchronize(NULL),
        tmagen_memory_alloc(NULL, 1, &address),
        tmagen_memory_alloc(device, 1, NULL),
        tmagen_memory_upload(NULL, 0x1000, "x", 1),
        tmagen_memory_upload(device, 0x1000, NULL, 1),
        tmagen_memory_download(NULL, &bytes, 0x1000, 1),
        tmagen_memory_download(device, NULL, 0x1000, 1),
        tmagen_memory_fill(NULL, 0x1000, 0, 1),
        tmagen_kernel_get_info(NULL, NULL),
        tmagen_kernel_workspace(NULL, &it->launch, &bytes),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; ++i)
        assert_int_equal(statuses[i], TMAGEN_ERROR_ARGUMENT);
    it->launch.tensors = NULL;
    assert_int_equal(tmagen_kernel_workspace(kernel, &it->launch, &bytes), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(address, 7);
    tmagen_memory_free(NULL, 0x1000);
    tmagen_device_close(NULL);
    tmagen_kernel_unload(NULL);
}

static void test_driver_failures_are_reported(void **state) {
    (void)state;
    struct arguments *it = right();
    fake->launch_result = 719;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_DEVICE);
    assert_non_null(strstr(tmagen_error_last(), "cuLaunchKernelEx: CUDA_ERROR_FAKE"));
    fake->launch_result = 0;
    fake->encode_result = CUDA_ERROR_INVALID_VALUE;
    it->tensors[0].data = 0x70000;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_DEVICE);
    assert_non_null(strstr(tmagen_error_last(), "tensor 'a': no tensor map from address 0x70000"));
    assert_non_null(strstr(tmagen_error_last(), "dims 256,1000; strides in bytes 528; box 64,128"));
    fake->encode_result = 0;
}

static void test_the_callers_context_is_given_back(void **state) {
    (void)state;
    void *library = dlopen(getenv("TMAGEN_LIBCUDA"), RTLD_NOW);
    CUresult (*set)(CUcontext) = (CUresult(*)(CUcontext))dlsym(library, "cuCtxSetCurrent");
    CUresult (*get)(CUcontext *) = (CUresult(*)(CUcontext *))dlsym(library, "cuCtxGetCurrent");
    CUcontext theirs = (CUcontext)(uintptr_t)0x1234, now = NULL;
    set(theirs);
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &right()->launch), TMAGEN_OK);
    get(&now);
    assert_ptr_equal(now, theirs);
    assert_ptr_not_equal(fake->launch_context, theirs);
    set(NULL);
}

// ---- Loading

static int load_spoilt(const char *from, const char *to, char *text) {
    const char *at = strstr(manifest, from);
    assert_non_null(at);
    sprintf(text, "%.*s%s%s", (int)(at - manifest), manifest, to, at + strlen(from));
    tmagen_load_options options = in_memory(text);
    tmagen_kernel *loaded = NULL;
    int status = tmagen_kernel_load(device, "gemm", &options, &loaded);
    tmagen_kernel_unload(loaded);
    return status;
}

static void test_load_checks_the_kernel_against_its_manifest(void **state) {
    (void)state;
    static char text[sizeof manifest + 256];
    assert_int_equal(load_spoilt("\"type\": \"i64\"", "\"type\": \"i32\"", text),
                     TMAGEN_ERROR_MANIFEST);
    assert_non_null(strstr(tmagen_error_last(), "parameter 4 has 8 bytes in the kernel and 4"));
    assert_int_equal(load_spoilt("{\"kind\": \"pointer\", \"tensor\": \"bias\"},", "", text),
                     TMAGEN_ERROR_MANIFEST);
    assert_int_equal(load_spoilt("\"entry\": \"gemm\"", "\"entry\": \"no_such_kernel\"", text),
                     TMAGEN_ERROR_MANIFEST);
    assert_non_null(strstr(tmagen_error_last(), "no kernel of that name"));
    assert_int_equal(load_spoilt("sm_90a", "sm_100a", text), TMAGEN_ERROR_NO_DEVICE);
    assert_non_null(
        strstr(tmagen_error_last(), "is a kernel for sm_100a; this device, Fake H200, is sm_90"));
    fake->load_result = CUDA_ERROR_INVALID_IMAGE;
    assert_int_equal(load_spoilt("384", "384", text), TMAGEN_ERROR_DEVICE);
    fake->load_result = 0;
    assert_int_equal(load_spoilt("sm_90a", "sm_90", text), TMAGEN_OK);
}

// The SHA-256 of "#pragma spill", the source of the tests, and of another one.
static void test_load_refuses_another_source(void **state) {
    (void)state;
    static char text[sizeof manifest + 256];
    static const char key[] = "\"source\": \"gemm.cu\"";
#define SOURCE "\"source\": \"gemm.cu\", \"source_sha256\": "
    assert_int_equal(
        load_spoilt(key,
                    SOURCE "\"d8fd0763e3ec83ec528ce488ffbbce62e7775f93a60571c1218e24a20a4bbe42\"",
                    text),
        TMAGEN_OK);
    assert_int_equal(
        load_spoilt(key,
                    SOURCE "\"3bff78ca06a2aebd07c2eab8c6dc08455251d4329f3adbeac99377a987489ca1\"",
                    text),
        TMAGEN_ERROR_MANIFEST);
    assert_non_null(strstr(tmagen_error_last(), "gemm: its source gemm.cu has the SHA-256 "));
    assert_non_null(strstr(tmagen_error_last(), "they are of different runs, or edited"));
#undef SOURCE
}

static void test_info(void **state) {
    (void)state;
    tmagen_kernel_info info;
    assert_int_equal(tmagen_kernel_get_info(kernel, &info), TMAGEN_OK);
    assert_string_equal(info.name, "gemm");
    assert_int_equal(info.resources.registers, 168);
    assert_int_equal(info.resources.spill_store_bytes, 8);
    assert_int_equal(info.block_threads, 384);
    assert_int_equal(info.cluster_blocks, 2);
    assert_int_equal(info.blocks_per_sm, 1);
    assert_false(info.hit);
}

// A kernel whose tiles can be split: marks cleared before every launch, semaphores that it leaves as
// it found them, and room for the sums of each block.
static tmagen_kernel *load_split(void) {
    static const char grid[] = "\"blocks_per_tile\": 2", part[] = "\"part\": \"marks\"}",
                      parts[] = "\"zero\": \"launch\"}]}";
    static char text[sizeof manifest + 512];
    const char *in_grid = strstr(manifest, grid), *in_param = strstr(manifest, part),
               *in_parts = strstr(manifest, parts);
    assert_true(in_grid && in_param && in_parts);
    sprintf(
        text,
        "%.*s%s, \"splits\": {\"most\": 4}%.*s\"part\": \"semaphores\"}%.*s\"zero\": \"launch\"},"
        "{\"name\": \"semaphores\", \"bytes\": 4, \"per\": \"item\", \"zero\": \"first\"},"
        "{\"name\": \"sums\", \"bytes\": 100, \"per\": \"block\"}],"
        "\"varies_with\": [\"splits\", \"sms\"]}",
        (int)(in_grid - manifest), manifest, grid, (int)(in_param - in_grid) - (int)strlen(grid),
        in_grid + strlen(grid), (int)(in_parts - in_param) - (int)strlen(part),
        in_param + strlen(part));
    tmagen_load_options options = in_memory(text);
    tmagen_kernel *split = NULL;
    if (tmagen_kernel_load(device, "gemm", &options, &split)) fail_msg("%s", tmagen_error_last());
    return split;
}

// 16 tiles, each split in three: 512 bytes of marks, 192 of semaphores, 96 blocks of 100 bytes.
static void test_semaphores_are_cleared_once(void **state) {
    (void)state;
    enum { MARKS = 512, SEMAPHORES = 48 * 4, SUMS = 96 * 100, BYTES = 768 + SUMS };
    static _Alignas(256) uint8_t room[BYTES + 256];
    tmagen_kernel *split = load_split();
    struct arguments *it = right();
    size_t bytes = 0;
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
    struct arguments *it = right();
    for (int sms = 4; sms <= 20; sms += 16) {
        it->launch.sms = sms;
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
        assert_int_equal(fake->config.gridDimX, sms);
    }
    it->launch.sms = 121;  // 120 blocks are resident
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "sms is 121; legal: up to 120"));
}

static void test_workspace_size(void **state) {
    (void)state;
    size_t bytes = 0;
    struct arguments *it = right();
    it->launch.workspace = 0;
    assert_int_equal(tmagen_kernel_workspace(kernel, &it->launch, &bytes), TMAGEN_OK);
    assert_int_equal(bytes, 512);
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
    assert_int_equal(tmg_prepared_init(&table, 20, 60), 0);
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
        cmocka_unit_test(test_parameters_reach_the_driver),
        cmocka_unit_test(test_geometry),
        cmocka_unit_test(test_persistent_grid_is_what_is_resident),
        cmocka_unit_test(test_names_in_any_order),
        cmocka_unit_test(test_dims_may_come_from_the_launch),
        cmocka_unit_test(test_empty_launch_does_nothing),
        cmocka_unit_test(test_repeated_launch_encodes_nothing),
        cmocka_unit_test(test_launches_do_not_allocate),
        cmocka_unit_test(test_beyond_the_table),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_driver_failures_are_reported),
        cmocka_unit_test(test_the_callers_context_is_given_back),
        cmocka_unit_test(test_load_checks_the_kernel_against_its_manifest),
        cmocka_unit_test(test_load_refuses_another_source),
        cmocka_unit_test(test_semaphores_are_cleared_once),
        cmocka_unit_test(test_sms_of_a_launch),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_workspace_size),
        cmocka_unit_test(test_threads_never_see_a_torn_launch),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
