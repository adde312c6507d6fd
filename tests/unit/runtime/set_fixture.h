// A set of four kernels on the stand-in driver, whose times can be worked out by hand: a wave of
// 132 tiles takes as many microseconds as a tile has flops.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>

#include "runtime/set.h"
#include "tests/fixtures/fake/cuda.h"
#include "tests/unit/fakes.h"
#include "tests/unit/runtime/cache_fixture.h"

#define KERNEL_TEXT(name, stride, multiple, flops, more, params)                               \
    "{\"tmagen_manifest\": 2, \"name\": \"" name "\", \"family\": \"f\", \"entry\": \"" name   \
    "\", \"arch\": \"sm_90a\", \"source\": \"" name ".cu\", \"block\": [32, 1, 1],"            \
    " \"dims\": [{\"name\": \"m\"}, {\"name\": \"k\", \"multiple_of\": " multiple "}],"        \
    " \"tensors\": [{\"name\": \"a\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"],"          \
    "   \"access\": \"read\", \"alignment\": " multiple ", \"stride_bytes_multiple\": " stride \
    "},"                                                                                       \
    "  {\"name\": \"d\", \"dtype\": \"bf16\", \"dims\": [\"m\"], \"access\": \"write\"}],"     \
    " \"cost\": [{\"unit\": \"tensor_flops\", \"per\": \"tile\", \"amount\": " flops "},"      \
    "  {\"unit\": \"steps\", \"per\": \"tile\", \"amount\": 16, \"ahead\": 64}]," more         \
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"a\"},"                                \
    "  {\"kind\": \"stride\", \"tensor\": \"a\", \"axis\": 0, \"type\": \"i64\"}" params "]}"
#define GRID(rows, splits)                                                                         \
    " \"grid\": {\"rule\": \"persistent\", \"tiles\": [{\"dim\": \"m\", \"by\": " rows "}]" splits \
    "},"
#define PARTS                                                                              \
    " \"workspace\": [{\"name\": \"arrived\", \"bytes\": 4, \"per\": \"tile\","            \
    "   \"zero\": \"first\"}, {\"name\": \"partials\", \"bytes\": 256, \"per\": \"item\"," \
    "   \"zero\": \"never\"}], \"varies_with\": [\"splits\"],"

#define COPIED " \"workspace\": [{\"name\": \"rows\", \"bytes\": 256, \"per\": \"tile\"}],"

static const tmagen_set_kernel kernels[] = {
    {.name = "big",
     .manifest_text = KERNEL_TEXT("big", "4", "2", "500", GRID("100", ""), ""),
     .source_text = "big"},
    {.name = "small",
     .manifest_text = KERNEL_TEXT("small", "4", "2", "100", GRID("10", ""), ""),
     .source_text = "small"},
    {.name = "split",
     .manifest_text = KERNEL_TEXT(
         "split", "4", "2", "500", GRID("100", ", \"splits\": {\"default\": 2, \"most\": 8}") PARTS,
         ", {\"kind\": \"workspace\", \"part\": \"partials\"}, {\"kind\": \"splits\", "
         "\"type\": \"i32\"}"),
     .source_text = "split"},
    {.name = "any",
     .manifest_text = KERNEL_TEXT("any", "2", "1", "1", GRID("1000", "") COPIED, ""),
     .source_text = "any"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

#define TABLE_HEAD \
    "{\"tmagen_table\": 4, \"name\": \"t\", \"family\": \"f\", \"version\": \"" TMAGEN_VERSION "\","
#define TABLE_GPU " \"gpu\": \"Fake H200\", \"sms\": 132,"
#define TABLE_RATES                                                                           \
    " \"rates\": {\"tensor\": 1, \"shared\": 1e30, \"l2_sm\": 1e30, \"l2\": 1e30, \"dram\": " \
    "1e30, \"store\": 1e30, \"sustained\": 1e30, \"launch\": 1e-9, \"latency\": 1e-9,"        \
    " \"turn\": 1e-9, \"tile\": 1e-9, \"cluster\": 1e-9, \"split\": 1e-9, \"pitch_64\": 1,"   \
    " \"pitch_32\": 1, \"pitch_16\": 1},"
#define TABLE_LISTS                                                                        \
    " \"dims\": [\"m\", \"k\"], \"kernels\": [{\"name\": \"big\"}, {\"name\": \"small\"}," \
    "  {\"name\": \"split\", \"splits\": [2, 4]}, {\"name\": \"any\", \"last\": true}],"
#define TABLE_TUNED                                                                            \
    " \"tuned\": [{\"shape\": [64, 64], \"alignment\": 128, \"kernel\": \"big\", \"us\": 90}," \
    "  {\"shape\": [64, 64], \"alignment\": 16, \"kernel\": \"split\", \"splits\": 8,"         \
    "   \"us\": 80}]}"
static const char table_text[] = TABLE_HEAD TABLE_GPU TABLE_RATES TABLE_LISTS TABLE_TUNED;

static struct fake_cuda *fake;
static tmagen_device *device;
static tmagen_set *set;
static _Alignas(256) uint8_t workspace[TMG_SEMAPHORES + 65536];

static inline int open_set_of(const char *text, unsigned flags, tmagen_set **opened) {
    const tmagen_set_options options = {.flags = flags,
                                        .cache_dir = cache_dir,
                                        .table_text = text,
                                        .kernels = kernels,
                                        .kernel_count = KERNELS};
    return tmagen_set_open(device, "t", &options, opened);
}

static inline int open_device(void **state) {
    (void)state;
    void *library = dlopen(getenv("TMAGEN_LIBCUDA"), RTLD_NOW);
    assert_non_null(library);
    fake = dlsym(library, "fake_cuda");
    assert_non_null(fake);
    fake->param_count = 0;
    return tmagen_device_open("cuda", &device);
}

static inline int close_device(void **state) {
    (void)state;
    tmagen_device_close(device);
    return 0;
}

// A test's set, with an empty cache.
static inline int open_set(void **state) {
    fresh(state);
    if (open_set_of(table_text, TMAGEN_SET_COMPILE, &set)) fail_msg("%s", tmagen_error_last());
    return 0;
}

static inline int close_set(void **state) {
    (void)state;
    tmagen_set_close(set);
    set = NULL;
    return 0;
}

// A launch of [m] rows of [k], at multiples of [stride] elements (0: no gaps), with a workspace.
struct set_launch {
    tmagen_tensor tensors[2];
    tmagen_launch launch;
};

static inline struct set_launch *rows_of(int64_t m, int64_t k, int64_t stride) {
    static _Thread_local struct set_launch it;
    it = (struct set_launch){.tensors = {{.name = "a", .data = 0x10000, .rank = 2, .dims = {m, k}},
                                         {.name = "d", .data = 0x20000, .rank = 1, .dims = {m}}},
                             .launch = {.tensors = it.tensors,
                                        .tensor_count = 2,
                                        .workspace = (uintptr_t)workspace,
                                        .workspace_bytes = sizeof workspace}};
    if (stride) it.tensors[0].strides[0] = stride, it.tensors[0].strides[1] = 1;
    return &it;
}

// What a launch takes, as "split/4"; "" where a size is 0.
static inline const char *taken(const struct set_launch *it) {
    static _Thread_local char text[64];
    struct tmg_choice choice;
    tmagen_kernel *kernel;
    const int there = it->launch.workspace && it->launch.workspace % 256 == 0;
    const int64_t bytes = there ? (int64_t)it->launch.workspace_bytes : 0;
    if (tmagen_set_launch(set, NULL, &it->launch)) return tmagen_error_last();
    if (tmg_set_pick(set, &it->launch, bytes, &choice, &kernel)) return tmagen_error_last();
    if (!kernel) return "";
    snprintf(text, sizeof text, choice.splits > 1 ? "%s/%d" : "%s", kernel->manifest->name,
             choice.splits);
    return text;
}
