// A launch manifest, checked: everything the runtime knows of a kernel, as plain tables.
// Files are hostile until proven otherwise, so all bounds are fixed here and enforced in
// manifest.c.
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "runtime/dtype.h"
#include "runtime/tmagen.h"

enum {
    TMG_MANIFEST_VERSION = 2,
    TMG_MAX_NAME = 128,
    TMG_MAX_EXTENT = INT32_MAX,
    TMG_MAX_ACROSS = 65535,  // blocks along a grid's axis 1 or 2
    TMG_MAX_DIMS = 32,
    TMG_MAX_TENSORS = 32,
    TMG_MAX_PARAMS = 64,
    TMG_MAX_MAPS = 32,  // of a kernel
    TMG_MAX_TILES = 8,
    TMG_MAX_PARTS = 8,
    TMG_MAX_OPS = 16,
    TMG_MAX_OPERANDS = 4,  // tensors of an op, and scalars
    TMG_MAX_COSTS = 32,
    TMG_MAX_FACTORS = 4,
    TMG_MAX_BEFORE = 4
};

// A size: (plus + times * dims[dim]) / by, rounded up; plus alone where dim is -1.
struct tmg_extent {
    int dim;
    int32_t times, plus, by;
};

struct tmg_dim {
    char name[TMG_MAX_NAME];
    int64_t multiple_of;  // 1: any
    int64_t value;        // -1: dynamic
    int64_t most;         // the largest that the kernel's arithmetic allows
    int derived;          // it is [rule], of a dim that stands before it
    struct tmg_extent rule;
};

struct tmg_tensor {
    enum tmg_dtype_id dtype;
    int rank;  // 1..5, outermost first
    struct tmg_extent dims[TMAGEN_MAX_RANK];
    int reads, writes;
    int64_t alignment;              // of the address, in bytes
    int64_t stride_bytes_multiple;  // of every stride but the last, in bytes
    int tells_of;                   // 1 + the tensor of whose elements it says whether they can be
    int takes_gaps;                 // the kernel learns its strides, so that there may be gaps
    char name[TMG_MAX_NAME];
};

enum tmg_grid_rule { TMG_GRID_TILES, TMG_GRID_PERSISTENT };

struct tmg_tile {
    struct tmg_extent extent;
    int axis;  // of the grid: 0, 1, 2
};

// tiles: on each axis the product of its tiles. persistent: as many blocks as fit, at most one a
// tile. Each tile is one item of work, or as many as the launch splits it into (on axis 0).
struct tmg_grid {
    enum tmg_grid_rule rule;
    unsigned tile_count;
    int64_t blocks_per_sm;       // that share an SM: at least 1
    int64_t max_blocks;          // 0: no limit
    int64_t max_tiles;           // items that the kernel can count
    int64_t splits, max_splits;  // of a tile: where the launch does not say, and at most
    int64_t blocks_per_tile;
    struct tmg_tile tiles[TMG_MAX_TILES];
};

enum tmg_param_kind {
    TMG_PARAM_TENSOR_MAP,
    TMG_PARAM_POINTER,
    TMG_PARAM_DIM,
    TMG_PARAM_STRIDE,
    TMG_PARAM_TILES,
    TMG_PARAM_WORKSPACE,
    TMG_PARAM_SPLITS,
    TMG_PARAM_SCALAR
};

// Types of parameters passed by value.
enum tmg_value_type {
    TMG_VALUE_I32,
    TMG_VALUE_U32,
    TMG_VALUE_I64,
    TMG_VALUE_U64,
    TMG_VALUE_F32,
    TMG_VALUE_F64
};
extern const char *const tmg_value_names[];  // by them, and NULL

struct tmg_param {
    enum tmg_param_kind kind;
    int index;                                  // of tensor, dim, tile, part; -1 where none
    int of_part;                                // tensor map, stride: of a part's matrix
    int axis;                                   // stride: the tensor's dimension
    enum tmg_value_type type;                   // dim, stride, tiles, scalar
    uint32_t box[TMAGEN_MAX_RANK];              // tensor map: outermost first
    uint32_t element_strides[TMAGEN_MAX_RANK];  // outermost first
    int rows_apart;                             // tensor map: so many maps, see map_encode.h
    int period;                                 // tensor map: rows of a plane, or 0
    int spread;  // tensor map: 4 or 6, bits of elements of which 16 get 16 bytes; or 0
    int swizzle, l2_promotion, interleave, fill;  // as in cuda_api.h
    char name[TMG_MAX_NAME];                      // scalar
    double value;                                 // scalar: the default
    int has_default;
};

// Dimensions of a tensor map of [tensor]: rows in planes are two.
static inline int tmg_map_rank(const struct tmg_tensor *tensor, const struct tmg_param *param) {
    return tensor->rank + (param->period > 0);
}

// What something is needed or spent for, each.
enum tmg_per {
    TMG_PER_LAUNCH,
    TMG_PER_TILE,
    TMG_PER_ITEM,  // tiles times splits
    TMG_PER_BLOCK,
    TMG_PER_SM,  // that the launch may use
    TMG_PER_COUNT
};

// When a part of the workspace is cleared, on the stream, before the kernel. The parts stand in
// this order, so that what is cleared is one piece.
enum tmg_zero {
    TMG_ZERO_LAUNCH,  // before every launch
    TMG_ZERO_FIRST,   // before the first with its arguments: the kernel leaves zeros behind
    TMG_ZERO_NEVER
};

// A part of the workspace; it begins at a multiple of 256 bytes.
struct tmg_part {
    int64_t bytes;
    enum tmg_per per;
    enum tmg_zero zero;
    struct tmg_tensor matrix;  // what it holds instead of so many bytes; rank 0: nothing
    char name[TMG_MAX_NAME];
};

// A step of the epilogue, in their order.
struct tmg_op {
    char name[TMG_MAX_NAME];
    unsigned tensor_count, scalar_count;
    int tensors[TMG_MAX_OPERANDS], scalars[TMG_MAX_OPERANDS];  // scalars: parameters
    json_t *values;  // numbers that the spec fixed, by name; borrowed, NULL where there are none
};

enum tmg_unit {
    TMG_UNIT_TENSOR_FLOPS,
    TMG_UNIT_FLOPS,
    TMG_UNIT_SHARED_BYTES,  // filled or read
    TMG_UNIT_L1_BYTES,
    TMG_UNIT_L2_BYTES,
    TMG_UNIT_DRAM_BYTES,  // that must move at least
    TMG_UNIT_STORE_BYTES,
    TMG_UNIT_STEPS,           // of a block's loop, one after the other
    TMG_UNIT_SUMS_BYTES,      // that an epilogue of its own warps loads from tensor memory
    TMG_UNIT_EPILOGUE_WARPS,  // and how many those are
    TMG_UNIT_PEERS,           // CTAs from which each of a cluster that divides K takes sums
    TMG_UNIT_BOX_BYTES,       // of boxes, whether inside of tensors or beyond
    TMG_UNITS
};

// What a launch spends of a unit: amount x factors, for each of what [per] counts.
struct tmg_cost {
    enum tmg_unit unit;
    enum tmg_per per;
    int tensor;     // whose rows are moved, -1: not said
    int64_t ahead;  // steps: so many are under way at once
    int overlaps;   // it hides behind the next tile's steps
    int scatters;   // of parts of tiles, each of which adds up a share
    int64_t amount;
    unsigned factor_count;
    struct tmg_extent factors[TMG_MAX_FACTORS];
};

// What choosing among kernels looks at stands first: it lies in few lines of memory.
struct tmg_manifest {
    struct tmg_rules *rules;  // of this manifest, packed; owned
    struct tmg_dim *dims;     // these six lie behind the manifest, as many as it has
    struct tmg_tensor *tensors;
    struct tmg_param *params;
    struct tmg_part *parts;
    struct tmg_op *ops;
    struct tmg_cost *costs;
    unsigned dim_count, tensor_count, param_count, part_count, op_count, cost_count, before_count;
    unsigned block[3], cluster[3];
    struct tmg_grid grid;
    char name[TMG_MAX_NAME], family[TMG_MAX_NAME], entry[TMG_MAX_NAME];
    char arch[32];                                 // "sm_90a"
    char source[TMG_MAX_NAME];                     // file name beside the manifest, no folder
    char source_sha256[TMAGEN_KEY_CHARS];          // in hexadecimal; "": any source is taken
    unsigned shared_memory;                        // dynamic, bytes
    int64_t budget_registers, budget_spill_bytes;  // -1: none stated
    int varies_with_sms, varies_with_splits;       // the bits of the results do
    int dependent_launch;  // the kernel waits by griddepcontrol: it may overlap what comes before
    // The kernels of the same source that run before it on the stream, in their order: manifests of
    // their own in entry, block, cluster, shared memory, grid, parameters and cost.
    struct tmg_manifest *before[TMG_MAX_BEFORE];
    json_t *document;   // the whole, owned: for "barriers", "roles" and "reference"
    json_t *reference;  // borrowed from it; NULL where there is none
};

// Parses [text] of [bytes] bytes. [origin] names it in messages, which say where in the document
// what is wrong and what would be right. TMAGEN_ERROR_MANIFEST or _MEMORY on failure.
int tmg_manifest_parse(const char *text, size_t bytes, const char *origin,
                       struct tmg_manifest **manifest);

// Reads the file at [path], of at most 1 MiB, and parses it.
int tmg_manifest_read(const char *path, struct tmg_manifest **manifest);

// A copy with dims and tensors of its own, which borrows the rest; free() it. NULL without memory.
struct tmg_manifest *tmg_manifest_loosen(const struct tmg_manifest *manifest);

void tmg_manifest_free(struct tmg_manifest *manifest);  // NULL is nothing to do

// The index of the dim or tensor of that name, or -1.
int tmg_manifest_dim(const struct tmg_manifest *manifest, const char *name);
int tmg_manifest_tensor(const struct tmg_manifest *manifest, const char *name);

// The manifest of a loaded kernel, which owns it.
const struct tmg_manifest *tmg_kernel_manifest(const tmagen_kernel *kernel);

// The index of the workspace's part of that name, or -1.
int tmg_manifest_part(const struct tmg_manifest *manifest, const char *name);
