// Fuzzes manifests: any bytes become tables within their bounds, or an error.
// A manifest that is taken is then launched from, with sizes out of the same bytes.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/grid.h"
#include "runtime/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t number(const uint8_t *data, size_t size, size_t index) {
    int64_t value = 0;
    for (size_t i = 0; i < 4 && size; ++i) value = value << 8 | data[(index * 4 + i) % size];
    return value % 5000;
}

static void bind(const struct tmg_manifest *manifest, const uint8_t *data, size_t size) {
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    tmagen_dim dims[TMG_MAX_DIMS];
    for (unsigned i = 0; i < manifest->tensor_count; ++i)
        tensors[i] = (tmagen_tensor){.name = manifest->tensors[i].name, .data = 0x10000};
    for (unsigned i = 0; i < manifest->dim_count; ++i)
        dims[i] = (tmagen_dim){manifest->dims[i].name, number(data, size, i) /
                                                           manifest->dims[i].multiple_of *
                                                           manifest->dims[i].multiple_of};
    const tmagen_launch launch = {.tensors = tensors,
                                  .tensor_count = manifest->tensor_count,
                                  .dims = dims,
                                  .dim_count = manifest->dim_count};
    const struct tmg_capacity capacity = {.sms = 132};
    struct tmg_binding binding;
    unsigned grid[3];
    struct tmg_layout layout;
    if (tmg_bind(manifest, &launch, &binding) || binding.empty) return;
    tmg_workspace_layout(&binding, &capacity, &layout);
    if (tmg_grid_size(&binding, &capacity, grid)) return;
    for (int axis = 0; axis < 3; ++axis)
        if (grid[axis] % manifest->cluster[axis]) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tmg_manifest *manifest = NULL;
    if (tmg_manifest_parse((const char *)data, size, "fuzz", &manifest)) return 0;
    if (manifest->param_count > TMG_MAX_PARAMS || manifest->grid.tile_count > TMG_MAX_TILES)
        abort();
    bind(manifest, data, size);
    tmg_manifest_free(manifest);
    return 0;
}
