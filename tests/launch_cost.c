// What a launch costs the caller: tmagen_kernel_launch() beside a bare cuLaunchKernelEx of the same
// kernel. The kernel is empty and has the parameters of a gemm. Batches alternate, so that clocks
// are shared; the figures are medians over the batches.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cuda_api.h"
#include "tmagen.h"

enum { BATCHES = 101, LAUNCHES = 200 };  // fewer launches than the driver queues before it blocks

static const char source[] = "struct alignas(128) Map { unsigned long long opaque[16]; };\n"
                             "extern \"C\" __global__ void empty(const __grid_constant__ Map a,\n"
                             "    const __grid_constant__ Map b, const __grid_constant__ Map d,\n"
                             "    int m, int n, int k) {}\n";
static const char manifest[] =
    "{\"tmagen_manifest\": 1, \"name\": \"empty\", \"family\": \"test\", \"entry\": \"empty\","
    " \"arch\": \"sm_90a\", \"source\": \"empty.cu\", \"block\": [32, 1, 1], \"cluster\": [2, 1, "
    "1],"
    " \"dims\": [{\"name\": \"m\"}, {\"name\": \"n\"}, {\"name\": \"k\"}],"
    " \"tensors\": ["
    "  {\"name\": \"a\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"], \"access\": \"read\","
    "   \"alignment\": 16, \"stride_bytes_multiple\": 16},"
    "  {\"name\": \"b\", \"dtype\": \"bf16\", \"dims\": [\"n\", \"k\"], \"access\": \"read\","
    "   \"alignment\": 16, \"stride_bytes_multiple\": 16},"
    "  {\"name\": \"d\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"n\"], \"access\": \"write\","
    "   \"alignment\": 16, \"stride_bytes_multiple\": 16}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"m\", \"by\": 4096}], "
    "\"blocks_per_tile\": 2},"
    " \"params\": [{\"kind\": \"tensor_map\", \"tensor\": \"a\", \"box\": [128, 64], "
    "\"swizzle_bytes\": 128},"
    "  {\"kind\": \"tensor_map\", \"tensor\": \"b\", \"box\": [128, 64], \"swizzle_bytes\": 128},"
    "  {\"kind\": \"tensor_map\", \"tensor\": \"d\", \"box\": [64, 64], \"swizzle_bytes\": 128},"
    "  {\"kind\": \"dim\", \"dim\": \"m\", \"type\": \"i32\"},"
    "  {\"kind\": \"dim\", \"dim\": \"n\", \"type\": \"i32\"},"
    "  {\"kind\": \"dim\", \"dim\": \"k\", \"type\": \"i32\"}]}";

static tmagen_device *device;
static tmagen_kernel *kernel;
static tmagen_launch launch;
static CUfunction function;
static CUresult (*launch_bare)(const CUlaunchConfig *, CUfunction, void **, void **);

static void check(int status) {
    if (status == TMAGEN_OK) return;
    fprintf(stderr, "launch_cost: %s\n", tmagen_error_last());
    exit(1);
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static void one_of_ours(int i) {
    (void)i;
    check(tmagen_kernel_launch(kernel, NULL, &launch));
}

// A launch that no earlier one was like: it is checked and its tensor maps are encoded.
static void one_that_is_new(int i) {
    static uint64_t address = 1 << 20;
    (void)i;
    ((tmagen_tensor *)launch.tensors)->data = address += 256;
    check(tmagen_kernel_launch(kernel, NULL, &launch));
}

static void one_bare(int i) {
    static CUtensorMap maps[3];
    static int dims[3];
    void *params[] = {&maps[0], &maps[1], &maps[2], &dims[0], &dims[1], &dims[2]};
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    cluster.value.clusterDim.x = 2;
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    const CUlaunchConfig config = {.gridDimX = 2,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .attrs = &cluster,
                                   .numAttrs = 1};
    (void)i;
    if (launch_bare(&config, function, params, NULL))
        check(tmagen_device_synchronize(device)), exit(1);
}

static double batch(void (*one)(int)) {
    check(tmagen_device_synchronize(device));
    double start = now_ns();
    for (int i = 0; i < LAUNCHES; ++i) one(i);
    return (now_ns() - start) / LAUNCHES;
}

// Loads the same code once more, by the driver alone.
static void load_bare(void) {
    const char *name = getenv("TMAGEN_LIBCUDA");
    void *driver = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
    CUresult (*load)(CUmodule *, const void *) = driver ? dlsym(driver, "cuModuleLoadData") : NULL;
    CUresult (*get)(CUfunction *, CUmodule, const char *) =
        driver ? dlsym(driver, "cuModuleGetFunction") : NULL;
    launch_bare = driver ? dlsym(driver, "cuLaunchKernelEx") : NULL;
    const tmagen_compile_options options = {.arch = "sm_90a", .name = "empty.cu"};
    tmagen_code code;
    CUmodule module = NULL;
    check(tmagen_compile(source, strlen(source), &options, &code));
    if (!launch_bare || load(&module, code.data) || get(&function, module, "empty")) exit(1);
    tmagen_code_free(&code);
}

int main(void) {
    static tmagen_tensor tensors[] = {
        {.name = "a", .data = 1 << 20, .rank = 2, .dims = {4096, 4096}},
        {.name = "b", .data = 2 << 20, .rank = 2, .dims = {4096, 4096}},
        {.name = "d", .data = 3 << 20, .rank = 2, .dims = {4096, 4096}}};
    static const tmagen_load_options options = {.manifest_text = manifest, .source_text = source};
    static const struct {
        const char *what;
        void (*one)(int);
    } kinds[] = {{"bare cuLaunchKernelEx", one_bare},
                 {"tmagen_kernel_launch", one_of_ours},
                 {"the same, with new addresses", one_that_is_new}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static double times[KINDS][BATCHES];
    launch = (tmagen_launch){.tensors = tensors, .tensor_count = 3};
    check(tmagen_device_open("cuda", &device));
    check(tmagen_kernel_load(device, "empty", &options, &kernel));
    check(tmagen_kernel_launch(kernel, NULL, &launch));  // makes the context current, too
    load_bare();
    for (int i = 0; i < BATCHES; ++i)
        for (int kind = 0; kind < KINDS; ++kind) times[kind][i] = batch(kinds[kind].one);
    for (int kind = 0; kind < KINDS; ++kind) {
        qsort(times[kind], BATCHES, sizeof(double), by_value);
        printf("%-30s %7.0f ns\n", kinds[kind].what, times[kind][BATCHES / 2]);
    }
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
}
