// Threads that load, launch, unload, ask and fail on one device, at the same time: on the stand-in
// driver and on the emulator. `make threads` runs it under ThreadSanitizer.
#include "tests/unit/runtime/set_fixture.h"

#include <pthread.h>

#include "gen/pack.h"

enum { THREADS = 4 };

// y[i] = x[i] of 32 words.
static const char copy_manifest[] =
    "{\"tmagen_manifest\": 2, \"name\": \"copy\", \"family\": \"f\", \"entry\": \"copy\","
    " \"arch\": \"sm_80\", \"source\": \"copy.cu\", \"block\": [32, 1, 1],"
    " \"dims\": [{\"name\": \"n\", \"multiple_of\": 32}],"
    " \"tensors\": [{\"name\": \"x\", \"dtype\": \"fp32\", \"dims\": [\"n\"], \"access\": "
    "\"read\"},"
    "   {\"name\": \"y\", \"dtype\": \"fp32\", \"dims\": [\"n\"], \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 1024}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"x\"},"
    "   {\"kind\": \"pointer\", \"tensor\": \"y\"}],"
    " \"roles\": [{\"name\": \"all\", \"first_warp\": 0, \"warps\": 1}]}";

static const char copy_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry copy(.param .u64 x, .param .u64 y)\n{\n"
                               ".reg .b32 %r<4>;\n.reg .b64 %rd<8>;\n"
                               "ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\n"
                               "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 4;\n"
                               "add.u64 %rd0, %rd0, %rd2;\nadd.u64 %rd1, %rd1, %rd2;\n"
                               "ld.global.u32 %r1, [%rd0];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

static tmagen_kernel *shared;

// assert_* end a test by a jump, which only its own thread may: here the process ends.
#define MUST(call)                                                                          \
    do {                                                                                    \
        if ((call) == TMAGEN_OK) break;                                                     \
        fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, tmagen_error_last()); \
        _exit(1);                                                                           \
    } while (0)

static void load_copy(tmagen_device *on, tmagen_kernel **loaded) {
    const tmagen_code code = {.data = copy_ptx, .bytes = sizeof copy_ptx - 1};
    const tmagen_load_options options = {.manifest_text = copy_manifest, .code = &code};
    MUST(tmagen_kernel_load(on, "copy", &options, loaded));
}

// Runs [body] in all threads, each with its number.
static void run(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

// ---- A kernel of everybody's and one of each thread's, loaded and unloaded meanwhile

// A launch that is refused leaves its sentence in this thread, whatever others do.
static void be_refused(size_t self, tmagen_address data) {
    char wanted[32];
    const tmagen_tensor tensors[2] = {
        {.name = "x", .data = data, .rank = 1, .dims = {(int64_t)(32 * self + 1)}},
        {.name = "y", .data = data}};
    const tmagen_launch launch = {.tensors = tensors, .tensor_count = 2};
    snprintf(wanted, sizeof wanted, "dim 'n' is %zu;", 32 * self + 1);
    MUST(tmagen_kernel_launch(shared, NULL, &launch) != TMAGEN_ERROR_ARGUMENT);
    MUST(!strstr(tmagen_error_last(), wanted));
}

static void launch_copy(tmagen_device *on, tmagen_kernel *kernel, tmagen_address x,
                        tmagen_address y) {
    const tmagen_tensor tensors[2] = {{.name = "x", .data = x, .rank = 1, .dims = {32}},
                                      {.name = "y", .data = y, .dtype = "fp32"}};
    const tmagen_launch launch = {.tensors = tensors, .tensor_count = 2};
    tmagen_tensor resolved[2];
    size_t bytes;
    MUST(tmagen_signature_resolve(tmagen_kernel_signature(kernel), &launch, resolved, 2));
    MUST(tmagen_kernel_workspace(kernel, &launch, &bytes));
    MUST(tmagen_kernel_launch(kernel, NULL, &launch));
    MUST(tmagen_device_synchronize(on));
}

static void *come_and_go(void *number) {
    const size_t self = (size_t)number;
    const char letter = (char)('a' + self);
    char bytes[128];
    tmagen_address x, y;
    MUST(tmagen_memory_alloc(device, sizeof bytes, &x));
    MUST(tmagen_memory_alloc(device, sizeof bytes, &y));
    MUST(tmagen_memory_fill(device, x, (uint8_t)letter, sizeof bytes));
    for (int round = 0; round < 8; ++round) {
        tmagen_kernel *own;
        tmagen_kernel_info info;
        tmagen_role_info role;
        load_copy(device, &own);
        MUST(tmagen_kernel_get_info(own, &info));
        MUST(tmagen_signature_get_role(tmagen_kernel_signature(shared), 0, &role));
        launch_copy(device, own, x, y);
        launch_copy(device, shared, x, y);
        be_refused(self, x);
        tmagen_kernel_unload(own);
    }
    MUST(tmagen_memory_download(device, bytes, y, sizeof bytes));
    MUST(!strcmp(device->backend->name, "emu") && bytes[127] != letter);
    tmagen_memory_free(device, x);
    tmagen_memory_free(device, y);
    return NULL;
}

static void come_and_go_on(const char *name) {
    MUST(tmagen_device_open(name, &device));
    load_copy(device, &shared);
    run(come_and_go);
    tmagen_kernel_unload(shared);
    tmagen_device_close(device);
}

static void test_cuda(void **state) {
    (void)state;
    come_and_go_on("cuda");
}

static void test_emu(void **state) {
    (void)state;
    come_and_go_on("emu");
}

// ---- A set of everybody's, compiled through the cache, while that is looked after

static _Alignas(256) uint8_t rooms[THREADS][sizeof workspace];  // a workspace is for one stream

static int look(const tmagen_cache_entry *entry, void *context) {
    return (void)context, entry->bytes < 0;
}

static void *use_set(void *number) {
    const size_t self = (size_t)number;
    for (int round = 0; round < 12; ++round) {
        struct set_launch *it = rows_of((int64_t)(10 * self + (size_t)round + 1), 64, 0);
        it->launch.workspace = (uintptr_t)rooms[self];
        tmagen_choice choices[8];
        tmagen_cache_stats stats;
        size_t count;
        MUST(tmagen_set_rank(set, &it->launch, choices, 8, &count));
        MUST(tmagen_set_launch(set, NULL, &it->launch));
        MUST(tmagen_set_workspace(set, &it->launch, &count));
        MUST(tmagen_set_pin(set, self ? &it->launch : NULL, round % 2 ? NULL : "big"));
        if (self == 1) MUST(tmagen_set_load(set, NULL));
        if (self == 2) MUST(tmagen_cache_list(cache_dir, 1, look, NULL));
        if (self == 3) MUST(tmagen_cache_gc(cache_dir, 0, &stats));
    }
    return NULL;
}

static void test_set(void **state) {
    open_device(state);
    open_set(state);
    run(use_set);
    close_set(state);
    close_device(state);
}

// ---- A set of a bundle, which whoever comes first reads

static tmagen_bundle *bundle;

static void *use_packed(void *number) {
    const size_t self = (size_t)number;
    struct set_launch *it = rows_of((int64_t)(10 * self + 1), 64, 0);
    tmagen_kernel *own;
    it->launch.workspace = (uintptr_t)rooms[self];
    MUST(!tmagen_set_signature(set));
    MUST(tmagen_set_launch(set, NULL, &it->launch));
    MUST(tmagen_bundle_load(bundle, device, kernels[self % KERNELS].name, &own));
    tmagen_kernel_unload(own);
    if (self == 1) MUST(tmagen_set_load(set, NULL));
    if (self == 2) MUST(tmagen_bundle_verify(bundle));
    return NULL;
}

static char *pack_kernels(size_t *len) {
    struct pack pack = {0};
    const struct pack_entry *other;
    const tmagen_code code = {.compiler = "nvrtc 13.0 65be0db342ad"};
    for (int i = 0; i < KERNELS; ++i) {
        const tmagen_set_kernel *kernel = &kernels[i];
        pack_add(&pack, (struct pack_entry){TMG_BUNDLE_CUBIN, kernel->name, "sm_90a", kernel->name,
                                            strlen(kernel->name), &code});
        pack_add(&pack,
                 (struct pack_entry){TMG_BUNDLE_MANIFEST, kernel->name, "sm_90a",
                                     kernel->manifest_text, strlen(kernel->manifest_text), NULL});
    }
    pack_add(&pack,
             (struct pack_entry){TMG_BUNDLE_TABLE, "t", "", table_text, strlen(table_text), NULL});
    char *made = pack_write(&pack, len, &other);
    pack_free(&pack);
    return made;
}

static void test_packed_set(void **state) {
    size_t len;
    char *bytes = pack_kernels(&len);
    open_device(state);
    for (int round = 0; round < 8; ++round) {
        MUST(tmagen_bundle_from_memory(bytes, len, &bundle));
        MUST(tmagen_bundle_open_set(bundle, device, "t", &set));
        run(use_packed);
        tmagen_bundle_close(bundle);
        close_set(state);
    }
    close_device(state);
    free(bytes);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda),
        cmocka_unit_test(test_emu),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_packed_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
