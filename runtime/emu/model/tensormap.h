// Tensor maps of the emulator's own: the 128 opaque bytes, what they say, and what is legal.
// Refuses what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col refuse, but says which rule.
#ifndef TMG_EMU_MODEL_TENSORMAP_H
#define TMG_EMU_MODEL_TENSORMAP_H

#include <stddef.h>

#include "runtime/emu/model/convert.h"
#include "runtime/emu/model/swizzle.h"

enum { TMG_TENSOR_MAP_BYTES = 128, TMG_TENSOR_RANK = 5, TMG_TENSOR_WHY = 160 };

// Same numbers as CUtensorMapDataType.
enum tmg_tensor_type {
    TMG_TENSOR_U8,
    TMG_TENSOR_U16,
    TMG_TENSOR_U32,
    TMG_TENSOR_S32,
    TMG_TENSOR_U64,
    TMG_TENSOR_S64,
    TMG_TENSOR_F16,
    TMG_TENSOR_F32,
    TMG_TENSOR_F64,
    TMG_TENSOR_BF16,
    TMG_TENSOR_F32_FTZ,
    TMG_TENSOR_TF32,
    TMG_TENSOR_TF32_FTZ,
    TMG_TENSOR_U4,         // the next are sm_100a's, by 16 elements: 8 bytes,
    TMG_TENSOR_U4_SPREAD,  // 8 bytes that become 16,
    TMG_TENSOR_U6_SPREAD,  // and 12 that become 16
    TMG_TENSOR_TYPES
};

struct tmg_tensor_type_info {
    const char *name;
    enum tmg_number number;  // what one element is, as memory holds it
    bool flushes;            // reductions flush subnormals; loads were seen not to
    bool rounds_to_tf32;     // loads round f32 to tf32
    uint8_t packed, spread;  // bytes of 16 elements in global and in shared memory; else 0
};
extern const struct tmg_tensor_type_info tmg_tensor_types[TMG_TENSOR_TYPES];

// Bytes of [count] elements in global and in shared memory.
int64_t tmg_tensor_global_bytes(int type, int64_t count);
uint32_t tmg_tensor_shared_bytes(int type, uint32_t count);
// Do elements lie farther apart in shared memory than in global memory?
bool tmg_tensor_spreads(int type);

// Same numbers as CUtensorMapInterleave, CUtensorMapL2promotion, CUtensorMapFloatOOBfill.
enum tmg_interleave { TMG_INTERLEAVE_NONE, TMG_INTERLEAVE_16B, TMG_INTERLEAVE_32B };
enum tmg_l2_promotion { TMG_L2_NONE, TMG_L2_64B, TMG_L2_128B, TMG_L2_256B };
enum tmg_fill { TMG_FILL_ZERO, TMG_FILL_NAN };

// Tiles, or pixels one by one: of all dimensions, or along W alone (sm_100a, PTX ISA 5.5.5).
enum tmg_im2col { TMG_IM2COL_NONE, TMG_IM2COL_ALL, TMG_IM2COL_W, TMG_IM2COL_W128 };

// All arrays innermost dimension first. [strides][i] is the byte stride of dimension i + 1.
// im2col: [lower] and [upper] are the corners for W, H, D; [box] is not used. [halo] is no field of
// a map, but what an instruction of W or W128 adds: pixels behind all, or behind each 32.
struct tmg_map {
    int im2col;  // enum tmg_im2col
    bool built;  // by tensormap.replace out of zeros: a field that nobody gave is zero
    int type, rank, interleave, swizzle, l2_promotion, fill;  // the enums above, unchecked
    uint64_t address;
    uint64_t dims[TMG_TENSOR_RANK], strides[TMG_TENSOR_RANK - 1];
    uint32_t box[TMG_TENSOR_RANK], element_strides[TMG_TENSOR_RANK];
    int lower[3], upper[3];
    uint32_t channels, pixels, halo;
};

// 0 when the driver would accept [map] on sm_100, else -1 and one sentence with the offending
// argument, its value and the rule, in [why] (TMG_TENSOR_WHY bytes; may be NULL).
int tmg_tensor_map_check(const struct tmg_map *map, char *why);

// As cuTensorMapEncodeTiled: the same arguments in the same order and the same rules. [bytes] takes
// TMG_TENSOR_MAP_BYTES. 0, or -1 and [why].
int tmg_tensor_map_encode_tiled(void *bytes, int type, uint32_t rank, uint64_t address,
                                const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *element_strides, int interleave, int swizzle,
                                int l2_promotion, int fill, char *why);

// As cuTensorMapEncodeIm2col.
int tmg_tensor_map_encode_im2col(void *bytes, int type, uint32_t rank, uint64_t address,
                                 const uint64_t *dims, const uint64_t *strides, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *element_strides, int interleave, int swizzle,
                                 int l2_promotion, int fill, char *why);

// Writes [map] without checking it: tensormap.replace passes through illegal states.
void tmg_tensor_map_write(void *bytes, const struct tmg_map *map);

// 0, or -1 when the bytes are no tensor map of ours: overwritten, never encoded, wrong address.
int tmg_tensor_map_read(const void *bytes, struct tmg_map *map);

// The fields of tensormap.replace (PTX ISA 9.7.9.28).
enum tmg_tensor_field {
    TMG_FIELD_GLOBAL_ADDRESS,
    TMG_FIELD_RANK,
    TMG_FIELD_BOX_DIM,
    TMG_FIELD_GLOBAL_DIM,
    TMG_FIELD_GLOBAL_STRIDE,
    TMG_FIELD_ELEMENT_STRIDE,
    TMG_FIELD_ELEMTYPE,
    TMG_FIELD_INTERLEAVE_LAYOUT,
    TMG_FIELD_SWIZZLE_MODE,
    TMG_FIELD_SWIZZLE_ATOMICITY,
    TMG_FIELD_FILL_MODE
};

// tensormap.replace.tile on 128 bytes in memory: a map, or zeros, which are one without fields.
// [ordinal] counts dimensions where the field has one. 0, or -1 and [why] (no map there, ordinal or
// value that PTX does not have).
int tmg_tensor_map_replace(void *bytes, enum tmg_tensor_field field, uint32_t ordinal,
                           uint64_t value, char *why);

#endif
