// What a kernel has found out on the device: whether sizes that only it knows can be. The word lies
// in a tensor of the launch, so that no launch waits for it, in graphs neither.
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/error.h"
#include "runtime/prepare.h"
#include "runtime/sized.h"

static int read_status(tmagen_kernel *kernel, const struct tmg_tensor *tensor,
                       tmagen_address address) {
    const struct tmg_manifest *manifest = kernel->manifest;
    int32_t word;
    int status = tmagen_memory_download(kernel->device, &word, address, sizeof word);
    if (status || !word) return status;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s: %s[%" PRId32 "] cannot be, and nothing was computed", manifest->name,
                    manifest->tensors[tensor->tells_of - 1].name, word - 1);
}

static int status_own(tmagen_kernel *kernel, const tmagen_launch *launch) {
    struct tmg_binding binding;
    if (!kernel || !launch)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the kernel or the launch is missing");
    const struct tmg_manifest *manifest = kernel->manifest;
    int status = tmg_device_check(kernel->device);
    if (!status) status = tmg_check_lists(manifest->name, launch);
    if (!status) status = tmg_bind(manifest, launch, &binding);
    for (unsigned i = 0; i < manifest->tensor_count && !status && !binding.empty; ++i) {
        if (manifest->tensors[i].tells_of)
            status = read_status(kernel, &manifest->tensors[i], binding.tensors[i].data);
    }
    return status;
}

int tmagen_kernel_status_sized(tmagen_kernel *kernel, const tmagen_launch *launch, uint64_t sizes) {
    struct tmg_own_launch *room = NULL;
    int status = tmg_take_launch(&launch, sizes, &room);
    if (!status) status = status_own(kernel, launch);
    free(room);
    return status;
}
