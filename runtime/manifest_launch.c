// Reads from a launch manifest how a kernel is launched: grid, workspace and parameters, and what
// its epilogue does and its work costs.
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_api.h"
#include "runtime/error.h"
#include "runtime/manifest_read.h"

enum {
    MAX_BOX = 256,
    MAX_PERIOD = 1 << 24,
    MAX_TILES = 1 << 30,  // a kernel that steps over them in 32 bits passes the last one
    MAX_SPLITS = 1024,
    MAX_AHEAD = 1024,
    PART_ALIGNMENT = 256
};
#define MAX_BYTES ((int64_t)1 << 40)

static const char *const pers[] = {"launch", "tile", "item", "block", "sm", NULL};

int tmg_manifest_part(const struct tmg_manifest *manifest, const char *name) {
    for (unsigned i = 0; i < manifest->part_count; ++i)
        if (!strcmp(manifest->parts[i].name, name)) return (int)i;
    return -1;
}

// ---- Grid and workspace

static void read_tile(const struct tmg_node *node, const struct tmg_manifest *manifest,
                      struct tmg_tile *tile) {
    tmg_node_keys(node, "dim times plus by count axis");
    const int64_t count = tmg_member_integer(node, "count", 1, TMG_MAX_EXTENT, 0);
    if (!count)
        tile->extent = tmg_read_product(node, manifest);
    else if (tmg_node_member(node, "dim").value || tmg_node_member(node, "times").value ||
             tmg_node_member(node, "plus").value || tmg_node_member(node, "by").value)
        tmg_node_fail(node, "has a count beside dim, times, plus or by; legal: one of the two");
    else
        tile->extent = (struct tmg_extent){.dim = -1, .plus = (int32_t)count, .by = 1};
    tile->axis = (int)tmg_member_integer(node, "axis", 0, 2, 0);
}

static void read_splits(const struct tmg_node *node, struct tmg_grid *grid) {
    grid->splits = grid->max_splits = 1;
    if (!node->value) return;
    tmg_node_keys(node, "default most");
    grid->max_splits = tmg_member_integer(node, "most", 1, MAX_SPLITS, TMG_REQUIRED_INTEGER);
    grid->splits = tmg_member_integer(node, "default", 1, grid->max_splits, 1);
}

static void read_grid(const struct tmg_node *node, struct tmg_manifest *manifest) {
    static const char *const rules[] = {"tiles", "persistent", NULL};
    struct tmg_grid *grid = &manifest->grid;
    tmg_node_keys(node, "rule tiles blocks_per_tile blocks_per_sm max_blocks max_tiles splits");
    grid->rule = (enum tmg_grid_rule)tmg_member_choice(node, "rule", rules, -1);
    struct tmg_node tiles = tmg_node_array(node, "tiles", 1, TMG_MAX_TILES, &grid->tile_count);
    for (unsigned i = 0; i < grid->tile_count; ++i) {
        struct tmg_node item = tmg_node_item(&tiles, i);
        read_tile(&item, manifest, &grid->tiles[i]);
        if (grid->rule == TMG_GRID_PERSISTENT && grid->tiles[i].axis)
            tmg_node_fail(&item, "has an axis, which a persistent grid has not");
    }
    grid->blocks_per_sm = tmg_member_integer(node, "blocks_per_sm", 1, 32, 1);
    grid->max_blocks = tmg_member_integer(node, "max_blocks", 0, TMG_MAX_EXTENT, 0);
    grid->max_tiles = tmg_member_integer(node, "max_tiles", 1, TMG_MAX_EXTENT, MAX_TILES);
    grid->blocks_per_tile = tmg_member_integer(node, "blocks_per_tile", 1, 1024, 1);
    struct tmg_node splits = tmg_node_member(node, "splits");
    read_splits(&splits, grid);
}

// The smallest that a dim can be in a launch that does something.
static int64_t least_dim(const struct tmg_manifest *manifest, const struct tmg_extent *extent) {
    if (extent->dim < 0) return 1;
    const struct tmg_dim *dim = &manifest->dims[extent->dim];
    return dim->derived ? 1 : dim->value > 0 ? dim->value : dim->multiple_of;
}

// A grid of which not even the smallest launch is legal is nobody's.
static void check_grid(const struct tmg_node *node, const struct tmg_manifest *manifest) {
    const struct tmg_grid *grid = &manifest->grid;
    const int walks = grid->rule == TMG_GRID_PERSISTENT;  // then it has as many blocks as there are
    const int64_t most = walks ? grid->max_tiles : TMG_MAX_EXTENT;
    int64_t blocks = walks ? 1 : grid->blocks_per_tile, along[3] = {1, 1, 1};
    for (unsigned i = 0; i < grid->tile_count; ++i) {
        const struct tmg_extent *extent = &grid->tiles[i].extent;
        const int64_t size = extent->plus + extent->times * least_dim(manifest, extent);
        if (size <= 0) continue;
        const int64_t tiles = (size - 1) / extent->by + 1;
        const unsigned axis = grid->tiles[i].axis;
        if (__builtin_mul_overflow(blocks, tiles, &blocks) || blocks > most) {
            tmg_node_fail(node, "has more than %s for the smallest dims already",
                          walks ? "max_tiles tiles" : "2^31 blocks");
            return;
        }
        along[axis] *= tiles;  // no more than all
        if (axis && along[axis] > TMG_MAX_ACROSS) {
            tmg_node_fail(node,
                          "has more than %d blocks along axis %u for the smallest dims already",
                          TMG_MAX_ACROSS, axis);
            return;
        }
    }
}

// A part that holds a matrix: as many bytes as that has in this launch.
static void read_held(const struct tmg_node *node, const struct tmg_manifest *manifest,
                      struct tmg_part *part) {
    tmg_node_keys(node, "name dtype dims stride_bytes_multiple");
    tmg_read_matrix(node, manifest, &part->matrix);
    memcpy(part->matrix.name, part->name, sizeof part->name);
    part->matrix.alignment = PART_ALIGNMENT;
    part->zero = TMG_ZERO_NEVER;
}

static void read_bytes(const struct tmg_node *node, struct tmg_part *part) {
    static const char *const zeros[] = {"launch", "first", "never", NULL};
    tmg_node_keys(node, "name bytes per zero");
    part->bytes = tmg_member_integer(node, "bytes", 1, MAX_BYTES, TMG_REQUIRED_INTEGER);
    part->per = (enum tmg_per)tmg_member_choice(node, "per", pers, TMG_PER_LAUNCH);
    part->zero = (enum tmg_zero)tmg_member_choice(node, "zero", zeros, TMG_ZERO_NEVER);
}

static void read_part(const struct tmg_node *node, struct tmg_manifest *manifest) {
    struct tmg_part part = {0};
    tmg_member_name(node, "name", part.name);
    if (json_object_get(node->value, "dtype"))
        read_held(node, manifest, &part);
    else
        read_bytes(node, &part);
    if (tmg_manifest_part(manifest, part.name) >= 0)
        tmg_node_fail(node, "repeats the name '%s'", part.name);
    if (manifest->part_count && part.zero < manifest->parts[manifest->part_count - 1].zero)
        tmg_node_fail(node, "stands behind a part that is cleared less often; legal: zero at each "
                            "launch, then first, then never");
    manifest->parts[manifest->part_count++] = part;
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
    const uint32_t bits = param->spread ? 8 : tmg_dtypes[tensor->dtype].bits;
    uint32_t bytes = param->box[tmg_map_rank(tensor, param) - 1] * bits / 8;
    if (bytes % 16)
        tmg_node_fail(node, "has an inner box of %u bytes; legal: a multiple of 16", bytes);
    if (param->swizzle && bytes > (uint32_t)span)
        tmg_node_fail(node, "has an inner box of %u bytes; legal: at most the swizzle's %d", bytes,
                      span);
}

static int read_part_name(const struct tmg_node *part, const struct tmg_manifest *manifest) {
    char name[TMG_MAX_NAME];
    tmg_node_name(part, name, sizeof name);
    const int index = tmg_manifest_part(manifest, name);
    if (index < 0) tmg_node_fail(part, "names no part of the workspace: '%s'", name);
    return index < 0 ? 0 : index;
}

// The tensor that [node] names, or the matrix that a part of the workspace holds.
static const struct tmg_tensor *read_matrix_of(const struct tmg_node *node,
                                               const struct tmg_manifest *manifest,
                                               struct tmg_param *param) {
    struct tmg_node part = tmg_node_member(node, "part");
    param->of_part = part.value != NULL;
    if (!param->of_part) {
        param->index = tmg_member_tensor(node, manifest);
        return &manifest->tensors[param->index];
    }
    param->index = read_part_name(&part, manifest);
    if (tmg_node_member(node, "tensor").value)
        tmg_node_fail(&part, "stands beside a tensor; legal: one of the two");
    if (!manifest->parts[param->index].matrix.rank)
        tmg_node_fail(&part, "is a part of bytes; legal: one with a dtype and dims");
    return &manifest->parts[param->index].matrix;
}

// Whether rows of [tensor] that lie so many apart lie whole 16 bytes apart, as those of a map must;
// or what the rows of a single map must be.
static void check_map_rows(const struct tmg_node *node, const struct tmg_tensor *tensor,
                           const struct tmg_param *param) {
    const int apart = param->rows_apart;
    if (apart > 1 && (apart * tmg_dtypes[tensor->dtype].bits % 128 || tensor->rank != 2))
        tmg_node_fail(node, "has rows %d apart; legal: of a matrix, and whole 16 bytes of elements",
                      apart);
    if (apart > 1 && param->period)
        tmg_node_fail(node, "has rows apart and a period; legal: one of the two");
    if (apart == 1 && tensor->alignment % 16)
        tmg_node_fail(node, "is of tensor '%s', whose alignment is %lld; legal: a multiple of 16",
                      tensor->name, (long long)tensor->alignment);
    if (apart == 1 && tensor->rank > 1 && tensor->stride_bytes_multiple % 16)
        tmg_node_fail(node,
                      "is of tensor '%s', whose strides are multiples of %lld bytes; legal: of 16",
                      tensor->name, (long long)tensor->stride_bytes_multiple);
}

// What the driver asks of a map whose elements are spread (cuTensorMapEncodeTiled, 16U4_ALIGN16B
// and 16U6_ALIGN16B), of a tensor of bytes that holds them packed or of such elements.
static void check_spread(const struct tmg_node *node, const struct tmg_tensor *tensor,
                         const struct tmg_param *param) {
    const int bits = (int)tmg_dtypes[tensor->dtype].bits;
    if (param->spread != 4 && param->spread != 6)
        tmg_node_fail(node, "has spread %d; legal: 4, 6", param->spread);
    else if (bits != 8 && bits != param->spread)
        tmg_node_fail(node, "spreads elements of %d bits of a tensor of %d; legal: of 8 or as many",
                      param->spread, bits);
    if (param->box[tmg_map_rank(tensor, param) - 1] != 128)
        tmg_node_fail(node, "has an inner box of %u spread elements; legal: 128",
                      param->box[tmg_map_rank(tensor, param) - 1]);
    if (tensor->alignment % 32 || (tensor->rank > 1 && tensor->stride_bytes_multiple % 32))
        tmg_node_fail(node,
                      "spreads elements of tensor '%s'; legal: of one whose address and "
                      "strides are multiples of 32 bytes",
                      tensor->name);
    if (param->rows_apart > 1) tmg_node_fail(node, "spreads elements of rows apart");
}

static void read_tensor_map(const struct tmg_node *node, const struct tmg_manifest *manifest,
                            struct tmg_param *param) {
    static const int spans[] = {0, 32, 64, 128}, promotions[] = {0, 64, 128, 256};
    static const char *const fills[] = {"zero", "nan", NULL};
    const struct tmg_tensor *tensor = read_matrix_of(node, manifest, param);
    if (node->document->status) return;
    param->period = (int)tmg_member_integer(node, "period", 1, MAX_PERIOD, 0);
    if (param->period && tensor->rank != 2)
        tmg_node_fail(node, "has a period; legal: of a matrix' rows");
    if (node->document->status) return;
    const int rank = tmg_map_rank(tensor, param);
    read_list(node, "box", rank, MAX_BOX, 0, param->box);
    read_list(node, "element_strides", rank, 8, 1, param->element_strides);
    param->swizzle = member_level(node, "swizzle_bytes", spans, 0);
    param->l2_promotion = member_level(node, "l2_promotion", promotions, 256);
    param->interleave = (int)tmg_member_integer(node, "interleave", 0, 0, 0);
    param->fill = tmg_member_choice(node, "fill", fills, 0);
    param->spread =
        (int)tmg_member_integer(node, "spread", 0, 6, tmg_dtypes[tensor->dtype].bits == 6 ? 6 : 0);
    check_inner_box(node, tensor, param, spans[param->swizzle]);
    param->rows_apart = (int)tmg_member_integer(node, "rows_apart", 1, TMG_MAX_MAPS, 1);
    if (!node->document->status) check_map_rows(node, tensor, param);
    if (!node->document->status && param->spread) check_spread(node, tensor, param);
}

const char *const tmg_value_names[] = {"i32", "u32", "i64", "u64", "f32", "f64", NULL};

static void read_type(const struct tmg_node *node, struct tmg_param *param) {
    struct tmg_node member = tmg_node_member(node, "type");
    param->type = (enum tmg_value_type)tmg_node_choice(&member, tmg_value_names, -1);
    if (param->type >= TMG_VALUE_F32 && param->kind != TMG_PARAM_SCALAR)
        tmg_node_fail(&member, "is '%s'; legal: i32, u32, i64, u64", tmg_value_names[param->type]);
}

static void read_pointer(const struct tmg_node *node, const struct tmg_manifest *manifest,
                         struct tmg_param *param) {
    param->index = tmg_member_tensor(node, manifest);
}

static void read_dim_param(const struct tmg_node *node, const struct tmg_manifest *manifest,
                           struct tmg_param *param) {
    struct tmg_node dim = tmg_node_member(node, "dim");
    param->index = tmg_read_dim_name(&dim, manifest);
    read_type(node, param);
}

static void read_stride(const struct tmg_node *node, const struct tmg_manifest *manifest,
                        struct tmg_param *param) {
    int last = read_matrix_of(node, manifest, param)->rank - 1;
    param->axis =
        (int)tmg_member_integer(node, "axis", 0, last < 0 ? 0 : last, TMG_REQUIRED_INTEGER);
    read_type(node, param);
}

static void read_tiles(const struct tmg_node *node, const struct tmg_manifest *manifest,
                       struct tmg_param *param) {
    param->index = (int)tmg_member_integer(node, "index", 0, (int64_t)manifest->grid.tile_count - 1,
                                           TMG_REQUIRED_INTEGER);
    read_type(node, param);
}

static void read_workspace_param(const struct tmg_node *node, const struct tmg_manifest *manifest,
                                 struct tmg_param *param) {
    struct tmg_node part = tmg_node_member(node, "part");
    param->index = read_part_name(&part, manifest);
}

static void read_splits_param(const struct tmg_node *node, const struct tmg_manifest *manifest,
                              struct tmg_param *param) {
    (void)manifest;
    read_type(node, param);
}

static void read_scalar(const struct tmg_node *node, const struct tmg_manifest *manifest,
                        struct tmg_param *param) {
    (void)manifest;
    struct tmg_node fallback = tmg_node_member(node, "default");
    tmg_member_name(node, "name", param->name);
    param->has_default = fallback.value != NULL;
    if (fallback.value) param->value = tmg_node_number(&fallback);
    read_type(node, param);
}

// By enum tmg_param_kind: the members that a parameter of the kind has, and who reads them.
static const struct {
    const char *members;
    void (*read)(const struct tmg_node *, const struct tmg_manifest *, struct tmg_param *);
} param_kinds[] = {
    {"kind tensor part box swizzle_bytes l2_promotion interleave element_strides fill "
     "rows_apart period spread",
     read_tensor_map},
    {"kind tensor", read_pointer},
    {"kind dim type", read_dim_param},
    {"kind tensor part axis type", read_stride},
    {"kind index type", read_tiles},
    {"kind part", read_workspace_param},
    {"kind type", read_splits_param},
    {"kind name type default", read_scalar},
};

static void read_param(const struct tmg_node *node, const struct tmg_manifest *manifest,
                       struct tmg_param *param) {
    static const char *const kinds[] = {"tensor_map", "pointer", "dim",    "stride", "tiles",
                                        "workspace",  "splits",  "scalar", NULL};
    *param = (struct tmg_param){.index = -1};
    param->kind = (enum tmg_param_kind)tmg_member_choice(node, "kind", kinds, -1);
    tmg_node_keys(node, param_kinds[param->kind].members);
    param_kinds[param->kind].read(node, manifest, param);
}

// ---- Ops and cost

// The tensors or scalars that an op names under [key]; [find] knows them.
static unsigned read_operands(const struct tmg_node *op, const char *key,
                              const struct tmg_manifest *manifest,
                              int (*find)(const struct tmg_manifest *, const char *), int *list) {
    unsigned count;
    struct tmg_node names = tmg_node_array(op, key, 0, TMG_MAX_OPERANDS, &count);
    for (unsigned i = 0; i < count; ++i) {
        char name[TMG_MAX_NAME];
        struct tmg_node item = tmg_node_item(&names, i);
        tmg_node_name(&item, name, sizeof name);
        list[i] = find(manifest, name);
        if (list[i] < 0) tmg_node_fail(&item, "names no %.6s of the manifest: '%s'", key, name);
    }
    return count;
}

static int find_scalar(const struct tmg_manifest *manifest, const char *name) {
    for (unsigned i = 0; i < manifest->param_count; ++i)
        if (manifest->params[i].kind == TMG_PARAM_SCALAR && !strcmp(manifest->params[i].name, name))
            return (int)i;
    return -1;
}

static void read_op(const struct tmg_node *node, const struct tmg_manifest *manifest,
                    struct tmg_op *op) {
    tmg_node_keys(node, "op tensors scalars values");
    tmg_member_name(node, "op", op->name);
    op->tensor_count = read_operands(node, "tensors", manifest, tmg_manifest_tensor, op->tensors);
    op->scalar_count = read_operands(node, "scalars", manifest, find_scalar, op->scalars);
    struct tmg_node values = tmg_node_member(node, "values");
    op->values = values.value;
    if (!values.value) return;
    const char *name;
    json_t *value;
    if (!json_is_object(values.value)) tmg_node_fail(&values, "is no object");
    json_object_foreach(values.value, name, value) {
        (void)value;
        struct tmg_node member = tmg_node_member(&values, name);
        tmg_node_number(&member);
    }
}

static void read_cost(const struct tmg_node *node, const struct tmg_manifest *manifest,
                      struct tmg_cost *cost) {
    static const char *const units[] = {"tensor_flops",
                                        "flops",
                                        "shared_bytes",
                                        "l1_bytes",
                                        "l2_bytes",
                                        "dram_bytes",
                                        "store_bytes",
                                        "steps",
                                        "sums_bytes",
                                        "epilogue_warps",
                                        "peers",
                                        "box_bytes",
                                        NULL};
    tmg_node_keys(node, "unit per amount times tensor ahead overlaps scatters");
    cost->unit = (enum tmg_unit)tmg_member_choice(node, "unit", units, -1);
    cost->per = (enum tmg_per)tmg_member_choice(node, "per", pers, TMG_PER_LAUNCH);
    cost->amount = tmg_member_integer(node, "amount", 1, MAX_BYTES, TMG_REQUIRED_INTEGER);
    struct tmg_node times = tmg_node_array(node, "times", 0, TMG_MAX_FACTORS, &cost->factor_count);
    for (unsigned i = 0; i < cost->factor_count; ++i) {
        struct tmg_node item = tmg_node_item(&times, i);
        cost->factors[i] = tmg_read_extent(&item, manifest);
    }
    struct tmg_node overlaps = tmg_node_member(node, "overlaps");
    struct tmg_node scatters = tmg_node_member(node, "scatters");
    cost->tensor = tmg_node_member(node, "tensor").value ? tmg_member_tensor(node, manifest) : -1;
    cost->ahead = tmg_member_integer(node, "ahead", 1, MAX_AHEAD, 1);
    cost->overlaps = tmg_node_flag(&overlaps, 0);
    cost->scatters = tmg_node_flag(&scatters, 0);
}

// What of a launch the bits of the results vary with: a list of "sms" and "splits". And whether the
// kernel waits for the launch before it.
static void read_variation(const struct tmg_node *root, struct tmg_manifest *manifest) {
    static const char *const names[] = {"sms", "splits", NULL};
    unsigned count;
    struct tmg_node list = tmg_node_array(root, "varies_with", 0, 2, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        *(tmg_node_choice(&item, names, -1) ? &manifest->varies_with_splits
                                            : &manifest->varies_with_sms) = 1;
    }
    struct tmg_node dependent = tmg_node_member(root, "dependent_launch");
    manifest->dependent_launch = tmg_node_flag(&dependent, 0);
}

// ---- The whole

static void read_params(const struct tmg_node *root, struct tmg_manifest *manifest) {
    struct tmg_node params =
        tmg_node_array(root, "params", 0, TMG_MAX_PARAMS, &manifest->param_count);
    int maps = 0;
    for (unsigned i = 0; i < manifest->param_count && !root->document->status; ++i) {
        struct tmg_node item = tmg_node_item(&params, i);
        struct tmg_param *param = &manifest->params[i];
        read_param(&item, manifest, param);
        const int knows = param->kind == TMG_PARAM_STRIDE || param->kind == TMG_PARAM_TENSOR_MAP;
        if (knows && param->index >= 0 && !param->of_part)
            manifest->tensors[param->index].takes_gaps = 1;
        if (param->kind == TMG_PARAM_TENSOR_MAP) maps += param->rows_apart;
    }
    if (maps > TMG_MAX_MAPS)
        tmg_node_fail(&params, "has %d tensor maps; legal: up to %d", maps, TMG_MAX_MAPS);
}

static void read_costs(const struct tmg_node *root, struct tmg_manifest *manifest) {
    struct tmg_node costs = tmg_node_array(root, "cost", 0, TMG_MAX_COSTS, &manifest->cost_count);
    for (unsigned i = 0; i < manifest->cost_count; ++i) {
        struct tmg_node item = tmg_node_item(&costs, i);
        read_cost(&item, manifest, &manifest->costs[i]);
    }
}

static void read_grid_of(const struct tmg_node *root, struct tmg_manifest *manifest) {
    struct tmg_node grid = tmg_node_member(root, "grid");
    read_grid(&grid, manifest);
    if (!root->document->status) check_grid(&grid, manifest);
}

// A kernel that runs before [manifest]'s, on the same tensors, dims and workspace.
static void read_before(const struct tmg_node *node, struct tmg_manifest *manifest) {
    struct tmg_manifest *own = tmg_manifest_room(node->value);
    if (!own) {
        node->document->status = tmg_fail_memory();
        return;
    }
    manifest->before[manifest->before_count++] = own;
    memcpy(own->name, manifest->name, sizeof own->name);
    own->dims = manifest->dims;
    own->tensors = manifest->tensors;
    own->parts = manifest->parts;
    own->dim_count = manifest->dim_count;
    own->tensor_count = manifest->tensor_count;
    own->part_count = manifest->part_count;
    tmg_node_keys(node, "entry block cluster shared_memory grid params cost");
    tmg_member_name(node, "entry", own->entry);
    tmg_read_block(node, own);
    read_grid_of(node, own);
    read_params(node, own);
    read_costs(node, own);
    for (unsigned i = 0; i < own->param_count; ++i)
        if (own->params[i].kind == TMG_PARAM_SCALAR || own->params[i].kind == TMG_PARAM_SPLITS)
            tmg_node_fail(node, "takes a scalar or splits, which only the last kernel is given");
}

void tmg_read_launch(const struct tmg_node *root, struct tmg_manifest *manifest) {
    unsigned count;
    read_grid_of(root, manifest);
    struct tmg_node parts = tmg_node_array(root, "workspace", 0, TMG_MAX_PARTS, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&parts, i);
        read_part(&item, manifest);
    }
    if (!root->document->status) read_params(root, manifest);
    struct tmg_node ops = tmg_node_array(root, "ops", 0, TMG_MAX_OPS, &manifest->op_count);
    for (unsigned i = 0; i < manifest->op_count; ++i) {
        struct tmg_node item = tmg_node_item(&ops, i);
        read_op(&item, manifest, &manifest->ops[i]);
    }
    read_costs(root, manifest);
    read_variation(root, manifest);
    struct tmg_node before = tmg_node_array(root, "before", 0, TMG_MAX_BEFORE, &count);
    for (unsigned i = 0; i < count && !root->document->status; ++i) {
        struct tmg_node item = tmg_node_item(&before, i);
        read_before(&item, manifest);
    }
}
