// A kernel on the stand-in driver, and a launch of it that is right, to be spoilt or changed.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>

#include "runtime/kernel.h"
#include "tests/fixtures/fake/cuda.h"
#include "tests/unit/fakes.h"

static const char manifest[] =
    "{\"tmagen_manifest\": 2, \"name\": \"gemm\", \"family\": \"gemm\", \"entry\": \"gemm\","
    " \"arch\": \"sm_90a\", \"source\": \"gemm.cu\", \"block\": [384, 1, 1], \"cluster\": [2, 1, "
    "1],"
    " \"shared_memory\": 200000, \"dependent_launch\": true,"
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
struct launch_arguments {
    tmagen_tensor tensors[4];
    tmagen_dim dims[3];
    tmagen_scalar scalars[1];
    tmagen_launch launch;
};

static struct launch_arguments *right(void) {
    static _Thread_local struct launch_arguments it;
    it = (struct launch_arguments){
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

static inline uint64_t param(int index) {
    uint64_t value = 0;
    memcpy(&value, fake->params[index], param_bytes[index] < 8 ? param_bytes[index] : 8);
    return value;
}
