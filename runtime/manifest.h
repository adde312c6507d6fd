// A launch manifest, checked: everything the runtime knows of a kernel, as plain tables.
// Files are hostile until proven otherwise, so all bounds are fixed here and enforced in
// manifest.c.
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "runtime/tmagen.h"

enum {
    TMG_MANIFEST_VERSION = 1,
    TMG_MAX_NAME = 128,
    TMG_MAX_DIMS = 32,
    TMG_MAX_TENSORS = 32,
    TMG_MAX_PARAMS = 64,
    TMG_MAX_TILES = 8
};

// Element types; rows of tmg_dtypes[].
struct tmg_dtype {
    const char *name;  // "bf16", "fp16", "fp32", "e4m3", "i32", ...
    unsigned bytes;
    int tensor_map_type;  // CU_TENSOR_MAP_DATA_TYPE_*
};
extern const struct tmg_dtype tmg_dtypes[];
extern const unsigned tmg_dtype_count;

struct tmg_dim {
    char name[TMG_MAX_NAME];
    int64_t multiple_of;  // 1: any
    int64_t value;        // -1: dynamic
    int64_t most;         // the largest that the kernel's arithmetic allows
};

// A size: plus + times * dims[dim], or plus alone where dim is -1.
struct tmg_extent {
    int dim;
    int64_t times, plus;
};

struct tmg_tensor {
    char name[TMG_MAX_NAME];
    unsigned dtype;  // into tmg_dtypes
    int rank;        // 1..5, outermost first
    struct tmg_extent dims[TMAGEN_MAX_RANK];
    int reads, writes;
    int64_t alignment;              // of the address, in bytes
    int64_t stride_bytes_multiple;  // of every stride but the last, in bytes
};

enum tmg_grid_rule { TMG_GRID_TILES, TMG_GRID_PERSISTENT };

struct tmg_tile {
    struct tmg_extent extent;  // divided, rounding up, by
    int64_t by;
    int axis;  // of the grid: 0, 1, 2
};

// tiles: on each axis the product of its tiles. persistent: as many blocks as fit, at most one a
// tile.
struct tmg_grid {
    enum tmg_grid_rule rule;
    unsigned tile_count;
    struct tmg_tile tiles[TMG_MAX_TILES];
    int64_t blocks_per_sm;  // persistent: at least 1
    int64_t max_blocks;     // 0: no limit
    int64_t max_tiles;      // that the kernel can count
    int64_t blocks_per_tile;
};

enum tmg_param_kind {
    TMG_PARAM_TENSOR_MAP,
    TMG_PARAM_POINTER,
    TMG_PARAM_DIM,
    TMG_PARAM_STRIDE,
    TMG_PARAM_TILES,
    TMG_PARAM_WORKSPACE,
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

struct tmg_param {
    enum tmg_param_kind kind;
    int index;                                    // of the tensor, dim, or tile; -1 where none
    int axis;                                     // stride: the tensor's dimension
    enum tmg_value_type type;                     // dim, stride, tiles, scalar
    uint32_t box[TMAGEN_MAX_RANK];                // tensor map: outermost first
    uint32_t element_strides[TMAGEN_MAX_RANK];    // outermost first
    int swizzle, l2_promotion, interleave, fill;  // as in cuda_api.h
    char name[TMG_MAX_NAME];                      // scalar
    double value;                                 // scalar: the default
    int has_default;
};

enum tmg_workspace_rule { TMG_WORKSPACE_NONE, TMG_WORKSPACE_BYTES, TMG_WORKSPACE_PER_TILE };

struct tmg_workspace {
    enum tmg_workspace_rule rule;
    int64_t bytes;
    int zeroed;  // cleared on the stream before every launch
};

struct tmg_manifest {
    char name[TMG_MAX_NAME], family[TMG_MAX_NAME], entry[TMG_MAX_NAME];
    char arch[32];                         // "sm_90a"
    char source[TMG_MAX_NAME];             // file name beside the manifest, no folder
    char source_sha256[TMAGEN_KEY_CHARS];  // in hexadecimal; "": any source is taken
    unsigned block[3], cluster[3];
    unsigned shared_memory;                        // dynamic, bytes
    int64_t budget_registers, budget_spill_bytes;  // -1: none stated
    unsigned dim_count, tensor_count, param_count;
    struct tmg_dim dims[TMG_MAX_DIMS];
    struct tmg_tensor tensors[TMG_MAX_TENSORS];
    struct tmg_param params[TMG_MAX_PARAMS];
    struct tmg_grid grid;
    struct tmg_workspace workspace;
    json_t *document;   // the whole, owned: for "barriers", "roles" and "reference"
    json_t *reference;  // borrowed from it; NULL where there is none
};

// Parses [text] of [bytes] bytes. [origin] names it in messages, which say where in the document
// what is wrong and what would be right. TMAGEN_ERROR_MANIFEST or _MEMORY on failure.
int tmg_manifest_parse(const char *text, size_t bytes, const char *origin,
                       struct tmg_manifest **manifest);

// Reads the file at [path], of at most 1 MiB, and parses it.
int tmg_manifest_read(const char *path, struct tmg_manifest **manifest);

void tmg_manifest_free(struct tmg_manifest *manifest);  // NULL is nothing to do

// The index of the dim or tensor of that name, or -1.
int tmg_manifest_dim(const struct tmg_manifest *manifest, const char *name);
int tmg_manifest_tensor(const struct tmg_manifest *manifest, const char *name);

// The manifest of a loaded kernel, which owns it.
const struct tmg_manifest *tmg_kernel_manifest(const tmagen_kernel *kernel);
