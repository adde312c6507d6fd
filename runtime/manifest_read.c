#include "runtime/manifest_read.h"

#include <stdlib.h>
#include <string.h>

int tmg_manifest_dim(const struct tmg_manifest *manifest, const char *name) {
    for (unsigned i = 0; i < manifest->dim_count; ++i)
        if (!strcmp(manifest->dims[i].name, name)) return (int)i;
    return -1;
}

int tmg_manifest_tensor(const struct tmg_manifest *manifest, const char *name) {
    for (unsigned i = 0; i < manifest->tensor_count; ++i)
        if (!strcmp(manifest->tensors[i].name, name)) return (int)i;
    return -1;
}

int64_t tmg_member_integer(const struct tmg_node *object, const char *key, int64_t least,
                           int64_t most, int64_t fallback) {
    struct tmg_node node = tmg_node_member(object, key);
    return tmg_node_integer(&node, least, most, fallback);
}

void tmg_member_name(const struct tmg_node *object, const char *key, char name[TMG_MAX_NAME]) {
    struct tmg_node node = tmg_node_member(object, key);
    tmg_node_name(&node, name, TMG_MAX_NAME);
}

int tmg_member_choice(const struct tmg_node *object, const char *key, const char *const names[],
                      int fallback) {
    struct tmg_node node = tmg_node_member(object, key);
    return tmg_node_choice(&node, names, fallback);
}

// ---- References by name

int tmg_read_dim_name(const struct tmg_node *node, const struct tmg_manifest *manifest) {
    char name[TMG_MAX_NAME];
    tmg_node_name(node, name, sizeof name);
    int dim = tmg_manifest_dim(manifest, name);
    if (dim < 0) tmg_node_fail(node, "names no dim of the manifest: '%s'", name);
    return dim < 0 ? 0 : dim;
}

int tmg_member_tensor(const struct tmg_node *object, const struct tmg_manifest *manifest) {
    char name[TMG_MAX_NAME];
    struct tmg_node node = tmg_node_member(object, "tensor");
    tmg_node_name(&node, name, sizeof name);
    int tensor = tmg_manifest_tensor(manifest, name);
    if (tensor < 0) tmg_node_fail(&node, "names no tensor of the manifest: '%s'", name);
    return tensor < 0 ? 0 : tensor;
}

// The members dim, times, plus and by of [node].
struct tmg_extent tmg_read_product(const struct tmg_node *node,
                                   const struct tmg_manifest *manifest) {
    struct tmg_node dim = tmg_node_member(node, "dim");
    struct tmg_extent extent = {
        .times = (int32_t)tmg_member_integer(node, "times", 1, TMG_MAX_EXTENT, 1),
        .plus = (int32_t)tmg_member_integer(node, "plus", -TMG_MAX_EXTENT, TMG_MAX_EXTENT, 0),
        .by = (int32_t)tmg_member_integer(node, "by", 1, TMG_MAX_EXTENT, 1)};
    extent.dim = tmg_read_dim_name(&dim, manifest);
    return extent;
}

// An extent: an integer, a dim's name, or {"dim", "times", "plus", "by"}.
struct tmg_extent tmg_read_extent(const struct tmg_node *node,
                                  const struct tmg_manifest *manifest) {
    if (json_is_string(node->value))
        return (struct tmg_extent){.dim = tmg_read_dim_name(node, manifest), .times = 1, .by = 1};
    if (json_is_object(node->value)) {
        tmg_node_keys(node, "dim times plus by");
        return tmg_read_product(node, manifest);
    }
    int64_t fixed = tmg_node_integer(node, 1, TMG_MAX_EXTENT, TMG_REQUIRED_INTEGER);
    return (struct tmg_extent){.dim = -1, .plus = (int32_t)fixed, .by = 1};
}

// ---- Tensors and blocks

static enum tmg_dtype_id read_dtype(const struct tmg_node *tensor) {
    const char *names[TMG_DTYPES + 1] = {NULL};
    for (int i = 0; i < TMG_DTYPES; ++i) names[i] = tmg_dtypes[i].name;
    return (enum tmg_dtype_id)tmg_member_choice(tensor, "dtype", names, -1);
}

void tmg_read_matrix(const struct tmg_node *node, const struct tmg_manifest *manifest,
                     struct tmg_tensor *tensor) {
    unsigned rank;
    tensor->dtype = read_dtype(node);
    struct tmg_node dims = tmg_node_array(node, "dims", 1, TMAGEN_MAX_RANK, &rank);
    for (unsigned i = 0; i < rank; ++i) {
        struct tmg_node item = tmg_node_item(&dims, i);
        tensor->dims[i] = tmg_read_extent(&item, manifest);
    }
    tensor->rank = (int)rank;
    tensor->stride_bytes_multiple =
        tmg_member_integer(node, "stride_bytes_multiple", 1, 4096, tmg_dtype_bytes(tensor->dtype));
}

// Three numbers [key] whose product is at most [most]; 1, 1, 1 where it is absent.
static void read_triple(const struct tmg_node *root, const char *key, int64_t most,
                        unsigned list[3]) {
    unsigned count;
    int64_t product = 1;
    struct tmg_node array = tmg_node_array(root, key, 0, 3, &count);
    for (unsigned i = 0; i < 3; ++i) list[i] = 1;
    if (array.value && count != 3) tmg_node_fail(&array, "has %u items; legal: 3", count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&array, i);
        list[i] = (unsigned)tmg_node_integer(&item, 1, most, TMG_REQUIRED_INTEGER);
        product *= list[i];
    }
    if (product > most)
        tmg_node_fail(&array, "has the product %lld; legal: at most %lld", (long long)product,
                      (long long)most);
}

void tmg_read_block(const struct tmg_node *node, struct tmg_manifest *manifest) {
    read_triple(node, "block", TMG_MAX_THREADS, manifest->block);
    read_triple(node, "cluster", TMG_MAX_CLUSTER, manifest->cluster);
    manifest->shared_memory =
        (unsigned)tmg_member_integer(node, "shared_memory", 0, TMG_MAX_SHARED, 0);
}

// ---- Memory

static size_t rows_of(const json_t *value, const char *key, size_t most) {
    const size_t count = json_array_size(json_object_get(value, key));
    return count < most ? count : most;
}

// Of rows that others name: a name that none has is read as the first, so there is always one.
static size_t named_rows_of(const json_t *value, const char *key, size_t most) {
    const size_t count = rows_of(value, key, most);
    return count ? count : 1;
}

struct tmg_manifest *tmg_manifest_room(const json_t *value) {
    const size_t dims = named_rows_of(value, "dims", TMG_MAX_DIMS),
                 tensors = named_rows_of(value, "tensors", TMG_MAX_TENSORS),
                 params = rows_of(value, "params", TMG_MAX_PARAMS),
                 parts = named_rows_of(value, "workspace", TMG_MAX_PARTS),
                 ops = rows_of(value, "ops", TMG_MAX_OPS),
                 costs = rows_of(value, "cost", TMG_MAX_COSTS);
    struct tmg_manifest *manifest = calloc(
        1, sizeof *manifest + dims * sizeof *manifest->dims + tensors * sizeof *manifest->tensors +
               params * sizeof *manifest->params + parts * sizeof *manifest->parts +
               ops * sizeof *manifest->ops + costs * sizeof *manifest->costs);
    if (!manifest) return NULL;
    manifest->dims = (struct tmg_dim *)(manifest + 1);
    manifest->tensors = (struct tmg_tensor *)(manifest->dims + dims);
    manifest->params = (struct tmg_param *)(manifest->tensors + tensors);
    manifest->parts = (struct tmg_part *)(manifest->params + params);
    manifest->ops = (struct tmg_op *)(manifest->parts + parts);
    manifest->costs = (struct tmg_cost *)(manifest->ops + ops);
    return manifest;
}
