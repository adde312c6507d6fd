// Reads a launch manifest into plain tables, checking all of it.
// Strict: an unknown member could mean something to the kernel, so it is an error and not ignored.
#include "runtime/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_api.h"
#include "runtime/error.h"
#include "runtime/file.h"
#include "runtime/node.h"

enum {
    MAX_FILE = 1 << 20,
    MAX_THREADS = 1024,
    MAX_CLUSTER = 16,
    MAX_SHARED = 256 << 10,
    MAX_EXTENT = INT32_MAX,
    MAX_BOX = 256,
    MAX_TILES = 1 << 30  // a kernel that steps over them in 32 bits passes the last one
};

const struct tmg_dtype tmg_dtypes[] = {
    {"bf16", 2, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16}, {"fp16", 2, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
    {"fp32", 4, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},  {"fp64", 8, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
    {"e4m3", 1, CU_TENSOR_MAP_DATA_TYPE_UINT8},    {"e5m2", 1, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"u8", 1, CU_TENSOR_MAP_DATA_TYPE_UINT8},      {"i8", 1, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"u16", 2, CU_TENSOR_MAP_DATA_TYPE_UINT16},    {"u32", 4, CU_TENSOR_MAP_DATA_TYPE_UINT32},
    {"i32", 4, CU_TENSOR_MAP_DATA_TYPE_INT32},     {"u64", 8, CU_TENSOR_MAP_DATA_TYPE_UINT64},
    {"i64", 8, CU_TENSOR_MAP_DATA_TYPE_INT64},
};
const unsigned tmg_dtype_count = sizeof tmg_dtypes / sizeof *tmg_dtypes;

static const char *const dtype_names[] = {"bf16", "fp16", "fp32", "fp64", "e4m3", "e5m2", "u8",
                                          "i8",   "u16",  "u32",  "i32",  "u64",  "i64",  NULL};
_Static_assert(sizeof dtype_names / sizeof *dtype_names ==
                   sizeof tmg_dtypes / sizeof *tmg_dtypes + 1,
               "every dtype has a name");

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

static int64_t member_integer(const struct tmg_node *object, const char *key, int64_t least,
                              int64_t most, int64_t fallback) {
    struct tmg_node node = tmg_node_member(object, key);
    return tmg_node_integer(&node, least, most, fallback);
}

static void member_name(const struct tmg_node *object, const char *key, char name[TMG_MAX_NAME]) {
    struct tmg_node node = tmg_node_member(object, key);
    tmg_node_name(&node, name, TMG_MAX_NAME);
}

static int member_choice(const struct tmg_node *object, const char *key, const char *const names[],
                         int fallback) {
    struct tmg_node node = tmg_node_member(object, key);
    return tmg_node_choice(&node, names, fallback);
}

// ---- References by name

static int read_dim_name(const struct tmg_node *node, const struct tmg_manifest *manifest) {
    char name[TMG_MAX_NAME];
    tmg_node_name(node, name, sizeof name);
    int dim = tmg_manifest_dim(manifest, name);
    if (dim < 0) tmg_node_fail(node, "names no dim of the manifest: '%s'", name);
    return dim < 0 ? 0 : dim;
}

static int member_tensor(const struct tmg_node *object, const struct tmg_manifest *manifest) {
    char name[TMG_MAX_NAME];
    struct tmg_node node = tmg_node_member(object, "tensor");
    tmg_node_name(&node, name, sizeof name);
    int tensor = tmg_manifest_tensor(manifest, name);
    if (tensor < 0) tmg_node_fail(&node, "names no tensor of the manifest: '%s'", name);
    return tensor < 0 ? 0 : tensor;
}

// The members dim, times and plus of [node].
static struct tmg_extent read_product(const struct tmg_node *node,
                                      const struct tmg_manifest *manifest) {
    struct tmg_node dim = tmg_node_member(node, "dim");
    struct tmg_extent extent = {.times = member_integer(node, "times", 1, MAX_EXTENT, 1),
                                .plus = member_integer(node, "plus", -MAX_EXTENT, MAX_EXTENT, 0)};
    extent.dim = read_dim_name(&dim, manifest);
    return extent;
}

// An extent: an integer, a dim's name, or {"dim", "times", "plus"}.
static struct tmg_extent read_extent(const struct tmg_node *node,
                                     const struct tmg_manifest *manifest) {
    if (json_is_string(node->value))
        return (struct tmg_extent){.dim = read_dim_name(node, manifest), .times = 1};
    if (json_is_object(node->value)) {
        tmg_node_keys(node, "dim times plus");
        return read_product(node, manifest);
    }
    int64_t fixed = tmg_node_integer(node, 1, MAX_EXTENT, TMG_REQUIRED_INTEGER);
    return (struct tmg_extent){.dim = -1, .times = 0, .plus = fixed};
}

// ---- Dims and tensors

static void read_dim(const struct tmg_node *node, struct tmg_manifest *manifest) {
    struct tmg_dim dim = {0};
    tmg_node_keys(node, "name multiple_of value most");
    member_name(node, "name", dim.name);
    dim.multiple_of = member_integer(node, "multiple_of", 1, MAX_EXTENT, 1);
    dim.value = member_integer(node, "value", 1, MAX_EXTENT, -1);
    dim.most = member_integer(node, "most", dim.multiple_of, MAX_EXTENT, MAX_EXTENT);
    if (tmg_manifest_dim(manifest, dim.name) >= 0)
        tmg_node_fail(node, "repeats the name '%s'", dim.name);
    if (dim.value > 0 && dim.value % dim.multiple_of)
        tmg_node_fail(node, "has a value that is no multiple of its multiple_of");
    if (dim.value > dim.most) tmg_node_fail(node, "has a value that is more than its most");
    manifest->dims[manifest->dim_count++] = dim;
}

static void read_tensor(const struct tmg_node *node, struct tmg_manifest *manifest) {
    static const char *const accesses[] = {"read", "write", "read_write", NULL};
    struct tmg_tensor tensor = {0};
    unsigned rank;
    tmg_node_keys(node, "name dtype dims access alignment stride_bytes_multiple");
    member_name(node, "name", tensor.name);
    tensor.dtype = (unsigned)member_choice(node, "dtype", dtype_names, -1);
    struct tmg_node dims = tmg_node_array(node, "dims", 1, TMAGEN_MAX_RANK, &rank);
    for (unsigned i = 0; i < rank; ++i) {
        struct tmg_node item = tmg_node_item(&dims, i);
        tensor.dims[i] = read_extent(&item, manifest);
    }
    tensor.rank = (int)rank;
    int access = member_choice(node, "access", accesses, -1);
    tensor.reads = access != 1;
    tensor.writes = access != 0;
    int64_t element = tmg_dtypes[tensor.dtype].bytes;
    tensor.alignment = member_integer(node, "alignment", 1, 4096, element);
    tensor.stride_bytes_multiple = member_integer(node, "stride_bytes_multiple", 1, 4096, element);
    if (tmg_manifest_tensor(manifest, tensor.name) >= 0)
        tmg_node_fail(node, "repeats the name '%s'", tensor.name);
    manifest->tensors[manifest->tensor_count++] = tensor;
}

// ---- Grid and workspace

static void read_tile(const struct tmg_node *node, const struct tmg_manifest *manifest,
                      struct tmg_tile *tile) {
    tmg_node_keys(node, "dim times plus by axis");
    tile->extent = read_product(node, manifest);
    tile->by = member_integer(node, "by", 1, MAX_EXTENT, TMG_REQUIRED_INTEGER);
    tile->axis = (int)member_integer(node, "axis", 0, 2, 0);
}

static void read_grid(const struct tmg_node *node, struct tmg_manifest *manifest) {
    static const char *const rules[] = {"tiles", "persistent", NULL};
    struct tmg_grid *grid = &manifest->grid;
    tmg_node_keys(node, "rule tiles blocks_per_sm max_blocks max_tiles blocks_per_tile");
    grid->rule = (enum tmg_grid_rule)member_choice(node, "rule", rules, -1);
    struct tmg_node tiles = tmg_node_array(node, "tiles", 1, TMG_MAX_TILES, &grid->tile_count);
    for (unsigned i = 0; i < grid->tile_count; ++i) {
        struct tmg_node item = tmg_node_item(&tiles, i);
        read_tile(&item, manifest, &grid->tiles[i]);
        if (grid->rule == TMG_GRID_PERSISTENT && grid->tiles[i].axis)
            tmg_node_fail(&item, "has an axis, which a persistent grid has not");
    }
    grid->blocks_per_sm = member_integer(node, "blocks_per_sm", 1, 32, 1);
    grid->max_blocks = member_integer(node, "max_blocks", 0, MAX_EXTENT, 0);
    grid->max_tiles = member_integer(node, "max_tiles", 1, MAX_EXTENT, MAX_TILES);
    grid->blocks_per_tile = member_integer(node, "blocks_per_tile", 1, 1024, 1);
}

static void read_workspace(const struct tmg_node *node, struct tmg_workspace *workspace) {
    static const char *const rules[] = {"none", "bytes", "per_tile", NULL};
    if (!node->value) return;
    tmg_node_keys(node, "rule bytes zeroed");
    workspace->rule = (enum tmg_workspace_rule)member_choice(node, "rule", rules, -1);
    int64_t least = workspace->rule == TMG_WORKSPACE_NONE ? 0 : 1;
    workspace->bytes =
        member_integer(node, "bytes", least, (int64_t)1 << 40, least ? TMG_REQUIRED_INTEGER : 0);
    struct tmg_node zeroed = tmg_node_member(node, "zeroed");
    workspace->zeroed = tmg_node_flag(&zeroed, 0);
}

// ---- Parameters

// Fills [list], one number a dimension of the tensor, from the array [key]; [fallback] where absent
// (0: required).
static void read_list(const struct tmg_node *node, const char *key, int rank, uint32_t most,
                      uint32_t fallback, uint32_t *list) {
    unsigned count;
    struct tmg_node array = tmg_node_array(node, key, fallback ? 0 : 1, TMAGEN_MAX_RANK, &count);
    for (int i = 0; i < rank; ++i) list[i] = fallback ? fallback : 1;
    if (array.value && (int)count != rank)
        tmg_node_fail(&array, "has %u items; legal: %d, the tensor's rank", count, rank);
    for (int i = 0; i < rank && (int)count == rank; ++i) {
        struct tmg_node item = tmg_node_item(&array, (size_t)i);
        list[i] = (uint32_t)tmg_node_integer(&item, 1, most, TMG_REQUIRED_INTEGER);
    }
}

// One of the [count] integers in [legal]; its index, which is the driver's enum value.
static int member_level(const struct tmg_node *node, const char *key, const int *legal,
                        int fallback) {
    struct tmg_node member = tmg_node_member(node, key);
    int64_t value = tmg_node_integer(&member, 0, 256, fallback);
    for (int i = 0; i < 4; ++i)
        if (legal[i] == value) return i;
    tmg_node_fail(&member, "is %lld; legal: %d, %d, %d, %d", (long long)value, legal[0], legal[1],
                  legal[2], legal[3]);
    return 0;
}

static void check_inner_box(const struct tmg_node *node, const struct tmg_tensor *tensor,
                            const struct tmg_param *param, int span) {
    uint32_t bytes = param->box[tensor->rank - 1] * tmg_dtypes[tensor->dtype].bytes;
    if (bytes % 16)
        tmg_node_fail(node, "has an inner box of %u bytes; legal: a multiple of 16", bytes);
    if (param->swizzle && bytes > (uint32_t)span)
        tmg_node_fail(node, "has an inner box of %u bytes; legal: at most the swizzle's %d", bytes,
                      span);
}

static void read_tensor_map(const struct tmg_node *node, const struct tmg_manifest *manifest,
                            struct tmg_param *param) {
    static const int spans[] = {0, 32, 64, 128}, promotions[] = {0, 64, 128, 256};
    static const char *const fills[] = {"zero", "nan", NULL};
    param->index = member_tensor(node, manifest);
    const struct tmg_tensor *tensor = &manifest->tensors[param->index];
    if (node->document->status) return;
    read_list(node, "box", tensor->rank, MAX_BOX, 0, param->box);
    read_list(node, "element_strides", tensor->rank, 8, 1, param->element_strides);
    param->swizzle = member_level(node, "swizzle_bytes", spans, 0);
    param->l2_promotion = member_level(node, "l2_promotion", promotions, 256);
    param->interleave = (int)member_integer(node, "interleave", 0, 0, 0);
    param->fill = member_choice(node, "fill", fills, 0);
    check_inner_box(node, tensor, param, spans[param->swizzle]);
    if (tensor->alignment % 16)
        tmg_node_fail(node, "is of tensor '%s', whose alignment is %lld; legal: a multiple of 16",
                      tensor->name, (long long)tensor->alignment);
    if (tensor->rank > 1 && tensor->stride_bytes_multiple % 16)
        tmg_node_fail(node,
                      "is of tensor '%s', whose strides are multiples of %lld bytes; legal: of 16",
                      tensor->name, (long long)tensor->stride_bytes_multiple);
}

static void read_type(const struct tmg_node *node, struct tmg_param *param) {
    static const char *const types[] = {"i32", "u32", "i64", "u64", "f32", "f64", NULL};
    struct tmg_node member = tmg_node_member(node, "type");
    param->type = (enum tmg_value_type)tmg_node_choice(&member, types, -1);
    if (param->type >= TMG_VALUE_F32 && param->kind != TMG_PARAM_SCALAR)
        tmg_node_fail(&member, "is '%s'; legal: i32, u32, i64, u64", types[param->type]);
}

static void read_pointer(const struct tmg_node *node, const struct tmg_manifest *manifest,
                         struct tmg_param *param) {
    param->index = member_tensor(node, manifest);
}

static void read_dim_param(const struct tmg_node *node, const struct tmg_manifest *manifest,
                           struct tmg_param *param) {
    struct tmg_node dim = tmg_node_member(node, "dim");
    param->index = read_dim_name(&dim, manifest);
    read_type(node, param);
}

static void read_stride(const struct tmg_node *node, const struct tmg_manifest *manifest,
                        struct tmg_param *param) {
    param->index = member_tensor(node, manifest);
    int last = manifest->tensors[param->index].rank - 1;
    param->axis = (int)member_integer(node, "axis", 0, last < 0 ? 0 : last, TMG_REQUIRED_INTEGER);
    read_type(node, param);
}

static void read_tiles(const struct tmg_node *node, const struct tmg_manifest *manifest,
                       struct tmg_param *param) {
    param->index = (int)member_integer(node, "index", 0, (int64_t)manifest->grid.tile_count - 1,
                                       TMG_REQUIRED_INTEGER);
    read_type(node, param);
}

static void read_workspace_param(const struct tmg_node *node, const struct tmg_manifest *manifest,
                                 struct tmg_param *param) {
    (void)param;
    if (manifest->workspace.rule == TMG_WORKSPACE_NONE)
        tmg_node_fail(node, "is the workspace, of which the manifest has none");
}

static void read_scalar(const struct tmg_node *node, const struct tmg_manifest *manifest,
                        struct tmg_param *param) {
    (void)manifest;
    struct tmg_node fallback = tmg_node_member(node, "default");
    member_name(node, "name", param->name);
    param->has_default = fallback.value != NULL;
    if (fallback.value) param->value = tmg_node_number(&fallback);
    read_type(node, param);
}

// By enum tmg_param_kind: the members that a parameter of the kind has, and who reads them.
static const struct {
    const char *members;
    void (*read)(const struct tmg_node *, const struct tmg_manifest *, struct tmg_param *);
} param_kinds[] = {
    {"kind tensor box swizzle_bytes l2_promotion interleave element_strides fill", read_tensor_map},
    {"kind tensor", read_pointer},
    {"kind dim type", read_dim_param},
    {"kind tensor axis type", read_stride},
    {"kind index type", read_tiles},
    {"kind", read_workspace_param},
    {"kind name type default", read_scalar},
};

static void read_param(const struct tmg_node *node, const struct tmg_manifest *manifest,
                       struct tmg_param *param) {
    static const char *const kinds[] = {"tensor_map", "pointer",   "dim",    "stride",
                                        "tiles",      "workspace", "scalar", NULL};
    *param = (struct tmg_param){.index = -1};
    param->kind = (enum tmg_param_kind)member_choice(node, "kind", kinds, -1);
    tmg_node_keys(node, param_kinds[param->kind].members);
    param_kinds[param->kind].read(node, manifest, param);
}

// ---- The whole

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

static void read_digest(const struct tmg_node *root, char digest[TMAGEN_KEY_CHARS]) {
    struct tmg_node node = tmg_node_member(root, "source_sha256");
    if (!node.value) return;
    tmg_node_name(&node, digest, TMAGEN_KEY_CHARS);
    if (strspn(digest, "0123456789abcdef") != TMAGEN_KEY_CHARS - 1)
        tmg_node_fail(&node, "is no SHA-256; legal: 64 digits of 0..9 and a..f");
}

static void read_head(const struct tmg_node *root, struct tmg_manifest *manifest) {
    struct tmg_node version = tmg_node_member(root, "tmagen_manifest");
    int64_t number = tmg_node_integer(&version, 1, INT32_MAX, TMG_REQUIRED_INTEGER);
    if (number > TMG_MANIFEST_VERSION)
        tmg_node_fail(&version, "is %lld; this library knows version %d", (long long)number,
                      TMG_MANIFEST_VERSION);
    tmg_node_keys(
        root, "tmagen_manifest name family entry arch source source_sha256 block cluster "
              "shared_memory budget dims tensors grid params workspace barriers roles reference");
    struct tmg_node arch = tmg_node_member(root, "arch");
    member_name(root, "name", manifest->name);
    member_name(root, "family", manifest->family);
    member_name(root, "entry", manifest->entry);
    member_name(root, "source", manifest->source);
    read_digest(root, manifest->source_sha256);
    tmg_node_name(&arch, manifest->arch, sizeof manifest->arch);
    read_triple(root, "block", MAX_THREADS, manifest->block);
    read_triple(root, "cluster", MAX_CLUSTER, manifest->cluster);
    manifest->shared_memory = (unsigned)member_integer(root, "shared_memory", 0, MAX_SHARED, 0);
    struct tmg_node budget = tmg_node_member(root, "budget");
    if (budget.value) tmg_node_keys(&budget, "registers spill_bytes shared_memory");
    manifest->budget_registers = member_integer(&budget, "registers", 1, 255, -1);
    manifest->budget_spill_bytes = member_integer(&budget, "spill_bytes", 0, INT32_MAX, -1);
}

static void read_tables(const struct tmg_node *root, struct tmg_manifest *manifest) {
    unsigned count;
    struct tmg_node list = tmg_node_array(root, "dims", 0, TMG_MAX_DIMS, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        read_dim(&item, manifest);
    }
    struct tmg_node tensors = tmg_node_array(root, "tensors", 0, TMG_MAX_TENSORS, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&tensors, i);
        read_tensor(&item, manifest);
    }
}

static void read_launch(const struct tmg_node *root, struct tmg_manifest *manifest) {
    struct tmg_node grid = tmg_node_member(root, "grid"),
                    workspace = tmg_node_member(root, "workspace");
    if (root->document->status) return;
    read_grid(&grid, manifest);
    read_workspace(&workspace, &manifest->workspace);
    struct tmg_node params =
        tmg_node_array(root, "params", 0, TMG_MAX_PARAMS, &manifest->param_count);
    for (unsigned i = 0; i < manifest->param_count && !root->document->status; ++i) {
        struct tmg_node item = tmg_node_item(&params, i);
        read_param(&item, manifest, &manifest->params[i]);
    }
}

int tmg_manifest_parse(const char *text, size_t bytes, const char *origin,
                       struct tmg_manifest **out) {
    json_error_t error;
    if (bytes > MAX_FILE)
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: is larger than %d bytes", origin, MAX_FILE);
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s:%d:%d: %s", origin, error.line, error.column,
                        error.text);
    struct tmg_manifest *manifest = calloc(1, sizeof *manifest);
    if (!manifest) return json_decref(json), tmg_fail_memory();
    manifest->document = json;
    struct tmg_document document = {.origin = origin, .code = TMAGEN_ERROR_MANIFEST};
    struct tmg_node root = tmg_node_root(&document, json);
    if (!document.status) read_head(&root, manifest);
    if (!document.status) read_tables(&root, manifest);
    if (!document.status) read_launch(&root, manifest);
    if (document.status) return tmg_manifest_free(manifest), document.status;
    manifest->reference = json_object_get(json, "reference");
    *out = manifest;
    return TMAGEN_OK;
}

int tmg_manifest_read(const char *path, struct tmg_manifest **manifest) {
    size_t bytes;
    char *text;
    int status = tmg_file_read(path, MAX_FILE, &text, &bytes);
    if (status) return status;
    status = tmg_manifest_parse(text, bytes, path, manifest);
    free(text);
    return status;
}

void tmg_manifest_free(struct tmg_manifest *manifest) {
    if (!manifest) return;
    json_decref(manifest->document);
    free(manifest);
}
