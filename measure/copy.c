// The copy is a kernel, since in graphs a copy engine takes what the driver copies, at two thirds
// of the speed. It is loaded as any other.
#include "measure/copy.h"

#include <stdlib.h>

#include "measure/kernels.h"
#include "runtime/error.h"

static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "copy(const uint4 *from, uint4 *to, int words) {\n"
    "    const int first = blockIdx.x * 1024 + threadIdx.x, vectors = words / 4;\n"
    "    uint4 v[4];\n"
    "    #pragma unroll\n"
    "    for (int i = 0; i < 4; ++i) {\n"
    "        if (first + i * 256 < vectors) v[i] = __ldcs(from + first + i * 256);\n"
    "    }\n"
    "    #pragma unroll\n"
    "    for (int i = 0; i < 4; ++i) {\n"
    "        if (first + i * 256 < vectors) __stcs(to + first + i * 256, v[i]);\n"
    "    }\n"
    "}\n";

static const char manifest[] =
    "{\"tmagen_manifest\": 2, \"name\": \"copy\", \"family\": \"copy\", \"entry\": \"copy\","
    " \"arch\": \"sm_90a\", \"source\": \"copy.cu\", \"block\": [256, 1, 1], \"cluster\": [1, 1, "
    "1],"
    " \"shared_memory\": 0, \"dims\": [{\"name\": \"words\", \"multiple_of\": 4}],"
    " \"tensors\": [{\"name\": \"from\", \"dtype\": \"u32\", \"dims\": [\"words\"],"
    "                \"access\": \"read\", \"alignment\": 16},"
    "               {\"name\": \"to\", \"dtype\": \"u32\", \"dims\": [\"words\"],"
    "                \"access\": \"write\", \"alignment\": 16}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"words\", \"by\": 4096, \"axis\": "
    "0}]},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"from\"},"
    "              {\"kind\": \"pointer\", \"tensor\": \"to\"},"
    "              {\"kind\": \"dim\", \"dim\": \"words\", \"type\": \"i32\"}]}";

struct copy {
    tmagen_kernel *kernel;
    const struct rotation *rotation;
    int64_t words;
    tmagen_address to;
};

int copy_make(struct gpu *gpu, const struct rotation *rotation, double bytes, struct copy **copy) {
    const struct kernel_text text = {.name = "copy", .source = source, .manifest = manifest};
    struct copy *made = calloc(1, sizeof *made);
    *copy = made;
    if (!made) return tmg_fail_memory();
    made->rotation = rotation;
    made->words = (int64_t)(bytes / 2) / 16 * 4;
    const int status = kernel_load(gpu->device, &text, &made->kernel);
    if (status != TMAGEN_OK) return status;
    return tmagen_memory_alloc(gpu->device, (size_t)made->words * 4 * (size_t)rotation->sets,
                               &made->to);
}

void copy_free(struct gpu *gpu, struct copy *copy) {
    if (!copy) return;
    tmagen_memory_free(gpu->device, copy->to);
    tmagen_kernel_unload(copy->kernel);
    free(copy);
}

int copy_launch(void *context, CUstream stream, int set) {
    const struct copy *copy = context;
    const struct rotation *rotation = copy->rotation;
    const tmagen_tensor tensors[] = {{.name = "from",
                                      .data = rotation->memory + rotation->set_bytes * (size_t)set,
                                      .rank = 1,
                                      .dims = {copy->words}},
                                     {.name = "to",
                                      .data = copy->to + (size_t)copy->words * 4 * (size_t)set,
                                      .rank = 1,
                                      .dims = {copy->words}}};
    const tmagen_launch launch = {.tensors = tensors, .tensor_count = 2};
    return tmagen_kernel_launch(copy->kernel, stream, &launch);
}
