// Arguments are laid out once, so that a launch that is recorded costs a look at a table.
#include "measure/entrant.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"

static tmagen_launch launch_of(const struct entrant *entrant, int set) {
    return (tmagen_launch){
        .tensors = entrant->tensors + (size_t)set * (size_t)entrant->tensor_count,
        .tensor_count = (size_t)entrant->tensor_count,
        .workspace = entrant->workspace,
        .workspace_bytes = entrant->workspace_bytes,
        .splits = entrant->splits,
        .flags = entrant->flags,
    };
}

int entrant_launch(void *context, CUstream stream, int set) {
    const struct entrant *entrant = context;
    const tmagen_launch launch = launch_of(entrant, set);
    int status = TMAGEN_OK;
    // a kernel remembers fewer launches than there may be copies of the inputs, and would clear the
    // semaphores again before one that it takes for a first
    if (entrant->picked.layout.zero_first) status = target_prepare(&entrant->target, &launch);
    return status ? status : target_launch(&entrant->target, stream, &launch);
}

static void describe(const struct rotation *rotation, int set, tmagen_tensor *tensors) {
    for (unsigned i = 0; i < rotation->problem.manifest->tensor_count; ++i) {
        const struct ref_tensor *from = &rotation->problem.tensors[i];
        tmagen_tensor *to = &tensors[i];
        *to = (tmagen_tensor){.name = from->declared->name, .rank = from->rank};
        to->data = rotation_address(rotation, set, i);
        memcpy(to->dims, from->dims, sizeof to->dims);
        memcpy(to->strides, from->strides, sizeof to->strides);
    }
}

int entrant_make(struct gpu *gpu, const struct target *target, int splits,
                 const struct rotation *rotation, struct entrant *entrant) {
    const unsigned count = rotation->problem.manifest->tensor_count;
    *entrant = (struct entrant){.target = *target, .splits = splits, .tensor_count = (int)count};
    entrant->tensors = calloc((size_t)rotation->sets * count, sizeof *entrant->tensors);
    if (!entrant->tensors) return tmg_fail_memory();
    for (int set = 0; set < rotation->sets; ++set)
        describe(rotation, set, &entrant->tensors[(size_t)set * count]);
    const tmagen_launch launch = launch_of(entrant, 0);
    int status = target_pick(target, &launch, &entrant->picked);
    entrant->workspace_bytes = (size_t)entrant->picked.layout.bytes;
    if (status == TMAGEN_OK && entrant->workspace_bytes)
        status = tmagen_memory_alloc(gpu->device, entrant->workspace_bytes, &entrant->workspace);
    if (status == TMAGEN_OK && entrant->picked.layout.zero_first)
        status = tmagen_memory_fill(gpu->device, entrant->workspace, 0,
                                    (size_t)entrant->picked.layout.zero_first);
    return status;
}

void entrant_free(struct gpu *gpu, struct entrant *entrant) {
    tmagen_memory_free(gpu->device, entrant->workspace);
    free(entrant->tensors);
    *entrant = (struct entrant){.splits = 0};
}

bool entrant_same_tensors(const struct ref_problem *a, const struct ref_problem *b) {
    if (a->manifest->tensor_count != b->manifest->tensor_count) return false;
    for (unsigned i = 0; i < a->manifest->tensor_count; ++i) {
        const struct ref_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        if (strcmp(x->declared->name, y->declared->name) || x->dtype != y->dtype ||
            x->rank != y->rank || memcmp(x->dims, y->dims, sizeof x->dims)) {
            return false;
        }
    }
    return true;
}
