// Launches on the stand-in driver: what reaches cuLaunchKernelEx, what is refused and why.
#include "runtime/key.h"
#include "tests/unit/runtime/launch_fixture.h"

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
    struct launch_arguments *it = right();
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
    struct launch_arguments *it = right();
    it->tensors[0].dims[0] = it->tensors[3].dims[0] = 8192;
    static _Alignas(256) uint8_t large[8192];
    it->launch.workspace = (uintptr_t)large;
    it->launch.workspace_bytes = sizeof large;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    assert_int_equal(fake->config.gridDimX, 120);
}

static void test_names_in_any_order(void **state) {
    (void)state;
    struct launch_arguments *it = right();
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
    struct launch_arguments *it = right();
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

// ---- What is refused. A row spoils one thing and names what the message must say.

static void no_tensor(struct launch_arguments *it) { it->launch.tensor_count = 3; }
static void wrong_name(struct launch_arguments *it) { it->tensors[2].name = "bios"; }
static void null_name(struct launch_arguments *it) { it->tensors[2].name = NULL; }
static void twice(struct launch_arguments *it) { it->tensors[2].name = "a"; }
static void null_data(struct launch_arguments *it) { it->tensors[1].data = 0; }
static void odd_address(struct launch_arguments *it) { it->tensors[0].data = 0x10008; }
static void wrong_rank(struct launch_arguments *it) { it->tensors[0].rank = 3; }
static void negative_rank(struct launch_arguments *it) { it->tensors[0].rank = -1; }
static void not_divisible(struct launch_arguments *it) {
    it->tensors[0].dims[1] = it->tensors[1].dims[1] = K + 4;
}
static void other_k(struct launch_arguments *it) { it->tensors[1].dims[1] = K + 8; }
static void negative_dim(struct launch_arguments *it) { it->tensors[0].dims[0] = -1; }
static void huge_dim(struct launch_arguments *it) {
    it->tensors[0].dims[0] = it->tensors[3].dims[0] = (int64_t)1 << 31;
}
static void odd_stride(struct launch_arguments *it) { it->tensors[0].strides[0] = K + 1; }
static void short_stride(struct launch_arguments *it) {
    it->tensors[3].strides[0] = N - 2;
    it->tensors[3].strides[1] = 1;
}
static void inner_stride(struct launch_arguments *it) {
    it->tensors[3].strides[0] = 2 * N;
    it->tensors[3].strides[1] = 2;
}
static void negative_stride(struct launch_arguments *it) { it->tensors[0].strides[0] = -K; }
static void huge_stride(struct launch_arguments *it) {
    it->tensors[0].strides[0] = (int64_t)1 << 40;
}
static void end_of_memory(struct launch_arguments *it) { it->tensors[0].data = UINT64_MAX - 15; }
static void unknown_dim(struct launch_arguments *it) {
    it->dims[0] = (tmagen_dim){"q", 1};
    it->launch.dim_count = 1;
}
static void contradiction(struct launch_arguments *it) {
    it->dims[0] = (tmagen_dim){"m", M + 1};
    it->launch.dim_count = 1;
}
static void dim_twice(struct launch_arguments *it) {
    it->dims[0] = it->dims[1] = (tmagen_dim){"m", M};
    it->launch.dim_count = 2;
}
static void dim_unknown(struct launch_arguments *it) {
    for (int i = 0; i < 4; ++i) it->tensors[i].rank = 0;
}
static void unknown_scalar(struct launch_arguments *it) {
    it->scalars[0] = (tmagen_scalar){"beta", 1};
    it->launch.scalar_count = 1;
}
static void no_workspace(struct launch_arguments *it) { it->launch.workspace = 0; }
static void small_workspace(struct launch_arguments *it) { it->launch.workspace_bytes = 511; }
static void odd_workspace(struct launch_arguments *it) { it->launch.workspace += 16; }
static void negative_sms(struct launch_arguments *it) { it->launch.sms = -1; }
static void splits(struct launch_arguments *it) { it->launch.splits = 2; }
static void flags(struct launch_arguments *it) { it->launch.flags = 8; }
static void no_list_of_tensors(struct launch_arguments *it) { it->launch.tensors = NULL; }
static void no_list_of_dims(struct launch_arguments *it) {
    it->launch.dims = NULL;
    it->launch.dim_count = 1;
}
static void no_list_of_scalars(struct launch_arguments *it) {
    it->launch.scalars = NULL;
    it->launch.scalar_count = 1;
}

static const struct {
    void (*spoil)(struct launch_arguments *);
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
        struct launch_arguments *it = right();
        int launches = fake->launches;
        refusals[i].spoil(it);
        assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
        if (!strstr(tmagen_error_last(), refusals[i].message))
            fail_msg("said '%s', not '%s'", tmagen_error_last(), refusals[i].message);
        assert_int_equal(fake->launches, launches);
    }
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, NULL), TMAGEN_ERROR_ARGUMENT);
}

// A kernel that does not wait for the launch before it must not overlap it.
static void test_overlap_is_for_kernels_that_wait(void **state) {
    (void)state;
    static const char member[] = "\"dependent_launch\": true,";
    static char text[sizeof manifest];
    memcpy(text, manifest, sizeof manifest);
    memset(strstr(text, member), ' ', strlen(member));
    tmagen_load_options options = in_memory(text);
    tmagen_kernel *other = NULL;
    assert_int_equal(tmagen_kernel_load(device, "gemm", &options, &other), TMAGEN_OK);
    struct launch_arguments *it = right();
    it->launch.flags = TMAGEN_LAUNCH_OVERLAP;
    assert_int_equal(tmagen_kernel_launch(other, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "it does not wait for the launch before it"));
    tmagen_kernel_unload(other);
}

static void test_missing_arguments(void **state) {
    (void)state;
    tmagen_address address = 7;
    tmagen_device_info info;
    size_t bytes;
    struct launch_arguments *it = right();
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
    struct launch_arguments *it = right();
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

// Loads the fixture's kernel through a cache of the test's own: the manifest names the digest of
// [wanted], and the source is [source]. *hit says where the code came from.
static int load_pair(const char *wanted, const char *source, tmagen_mode mode, int *hit) {
    static char text[sizeof manifest + 256];
    static const char *folder;
    const char *at = strstr(manifest, "\"gemm.cu\"") + strlen("\"gemm.cu\"");
    char digest[TMAGEN_KEY_CHARS];
    if (!folder) folder = fresh_folder();
    tmg_digest_text(wanted, strlen(wanted), digest);
    snprintf(text, sizeof text, "%.*s, \"source_sha256\": \"%s\"%s", (int)(at - manifest), manifest,
             digest, at);
    const tmagen_load_options options = {
        .manifest_text = text, .source_text = source, .mode = mode, .cache_dir = folder};
    tmagen_kernel *loaded;
    const int status = tmagen_kernel_load(device, "gemm", &options, &loaded);
    if (status) return status;
    *hit = loaded->info.hit;
    tmagen_kernel_unload(loaded);
    return TMAGEN_OK;
}

// The digest that a manifest names finds the entry, whose source is then compared: a mix of two
// pairs finds none, although the code of both is there.
static void test_load_of_pairs_from_the_cache(void **state) {
    (void)state;
    static const char one[] = "#pragma spill", other[] = "#pragma spill //";
    int hit = -1;
    assert_int_equal(load_pair(one, one, TMAGEN_FAIL_ON_MISS, &hit), TMAGEN_ERROR_MISS);
    assert_int_equal(load_pair(one, one, TMAGEN_COMPILE_ON_MISS, &hit), TMAGEN_OK);
    assert_int_equal(hit, 0);
    assert_int_equal(load_pair(one, one, TMAGEN_COMPILE_ON_MISS, &hit), TMAGEN_OK);
    assert_int_equal(hit, 1);
    assert_int_equal(load_pair(other, other, TMAGEN_COMPILE_ON_MISS, &hit), TMAGEN_OK);
    assert_int_equal(hit, 0);
    for (tmagen_mode mode = TMAGEN_COMPILE_ON_MISS; mode <= TMAGEN_NO_CACHE; ++mode) {
        assert_int_equal(load_pair(one, other, mode, &hit), TMAGEN_ERROR_MANIFEST);
        assert_int_equal(load_pair(other, one, mode, &hit), TMAGEN_ERROR_MANIFEST);
        assert_non_null(strstr(tmagen_error_last(), "they are of different runs"));
    }
    assert_int_equal(load_pair(other, other, TMAGEN_FAIL_ON_MISS, &hit), TMAGEN_OK);
    assert_int_equal(hit, 1);
    assert_int_equal(load_pair("#include <x>", "#include <x>", TMAGEN_COMPILE_ON_MISS, &hit),
                     TMAGEN_ERROR_ARGUMENT);
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

static void test_workspace_size(void **state) {
    (void)state;
    size_t bytes = 0;
    struct launch_arguments *it = right();
    it->launch.workspace = 0;
    assert_int_equal(tmagen_kernel_workspace(kernel, &it->launch, &bytes), TMAGEN_OK);
    assert_int_equal(bytes, 512);
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
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_overlap_is_for_kernels_that_wait),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_driver_failures_are_reported),
        cmocka_unit_test(test_the_callers_context_is_given_back),
        cmocka_unit_test(test_load_checks_the_kernel_against_its_manifest),
        cmocka_unit_test(test_load_refuses_another_source),
        cmocka_unit_test(test_load_of_pairs_from_the_cache),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_workspace_size),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
