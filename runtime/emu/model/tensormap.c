// Encoding, legality and replacement of tensor maps. The rules are the CUDA driver API's
// ("Tensor Map Object Management"), one small function an argument, all in the driver's order.
#include "runtime/emu/model/tensormap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct tmg_tensor_type_info tmg_tensor_types[TMG_TENSOR_TYPES] = {
    [TMG_TENSOR_U8] = {"u8", TMG_U8, false, false, 0, 0},
    [TMG_TENSOR_U16] = {"u16", TMG_U16, false, false, 0, 0},
    [TMG_TENSOR_U32] = {"u32", TMG_U32, false, false, 0, 0},
    [TMG_TENSOR_S32] = {"s32", TMG_S32, false, false, 0, 0},
    [TMG_TENSOR_U64] = {"u64", TMG_U64, false, false, 0, 0},
    [TMG_TENSOR_S64] = {"s64", TMG_S64, false, false, 0, 0},
    [TMG_TENSOR_F16] = {"f16", TMG_F16, false, false, 0, 0},
    [TMG_TENSOR_F32] = {"f32", TMG_F32, false, false, 0, 0},
    [TMG_TENSOR_F64] = {"f64", TMG_F64, false, false, 0, 0},
    [TMG_TENSOR_BF16] = {"bf16", TMG_BF16, false, false, 0, 0},
    [TMG_TENSOR_F32_FTZ] = {"f32.ftz", TMG_F32, true, false, 0, 0},
    [TMG_TENSOR_TF32] = {"tf32", TMG_F32, false, true, 0, 0},
    [TMG_TENSOR_TF32_FTZ] = {"tf32.ftz", TMG_F32, true, true, 0, 0},
    [TMG_TENSOR_U4] = {"16 of u4", TMG_U8, false, false, 8, 8},
    [TMG_TENSOR_U4_SPREAD] = {"16 of u4 in 16 bytes", TMG_U8, false, false, 8, 16},
    [TMG_TENSOR_U6_SPREAD] = {"16 of u6 in 16 bytes", TMG_U8, false, false, 12, 16},
};

int64_t tmg_tensor_global_bytes(int type, int64_t count) {
    const struct tmg_tensor_type_info *info = &tmg_tensor_types[type];
    return info->packed ? count * info->packed / 16 : count * tmg_number_bytes(info->number);
}

uint32_t tmg_tensor_shared_bytes(int type, uint32_t count) {
    const struct tmg_tensor_type_info *info = &tmg_tensor_types[type];
    return info->packed ? count * info->spread / 16
                        : count * (uint32_t)tmg_number_bytes(info->number);
}

bool tmg_tensor_spreads(int type) {
    return tmg_tensor_types[type].packed != tmg_tensor_types[type].spread;
}

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *format, ...) {
    if (!why) return -1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, TMG_TENSOR_WHY, format, arguments);
    va_end(arguments);
    return -1;
}

static int check_enums(const struct tmg_map *map, char *why) {
    const struct {
        const char *name;
        int value, count;
    } enums[] = {
        {"tensorDataType", map->type, TMG_TENSOR_TYPES},
        {"interleave", map->interleave, TMG_INTERLEAVE_32B + 1},
        {"swizzle", map->swizzle, TMG_SWIZZLE_COUNT},
        {"l2Promotion", map->l2_promotion, TMG_L2_256B + 1},
        {"oobFill", map->fill, TMG_FILL_NAN + 1},
    };
    for (size_t i = 0; i < sizeof enums / sizeof *enums; ++i) {
        if (enums[i].value < 0 || enums[i].value >= enums[i].count) {
            return refuse(why, "%s is %d, not one of 0..%d", enums[i].name, enums[i].value,
                          enums[i].count - 1);
        }
    }
    return 0;
}

static int check_rank(const struct tmg_map *map, char *why) {
    bool three = map->im2col || map->interleave != TMG_INTERLEAVE_NONE;
    int least = three ? 3 : 1;
    if (map->rank >= least && map->rank <= TMG_TENSOR_RANK) return 0;
    return refuse(why, "tensorRank is %d, not in %d..5", map->rank, least);
}

static uint64_t granule(const struct tmg_map *map) {
    return map->interleave == TMG_INTERLEAVE_32B ? 32 : 16;
}

static int check_memory(const struct tmg_map *map, char *why) {
    uint64_t unit = granule(map);
    if (map->address % unit) {
        return refuse(why, "globalAddress is %#llx, not aligned to %llu bytes",
                      (unsigned long long)map->address, (unsigned long long)unit);
    }
    for (int i = 0; i < map->rank; ++i) {
        if (map->dims[i] == 0 || map->dims[i] > UINT64_C(1) << 32) {
            return refuse(why, "globalDim[%d] is %llu, not in 1..2^32", i,
                          (unsigned long long)map->dims[i]);
        }
    }
    for (int i = 0; i < map->rank - 1; ++i) {
        if (map->strides[i] % unit || map->strides[i] >= UINT64_C(1) << 40) {
            return refuse(why, "globalStrides[%d] is %llu, not a multiple of %llu below 2^40", i,
                          (unsigned long long)map->strides[i], (unsigned long long)unit);
        }
    }
    return 0;
}

static int check_element_strides(const struct tmg_map *map, char *why) {
    int first = map->interleave == TMG_INTERLEAVE_NONE ? 1 : 0;  // else the first one is ignored
    for (int i = first; i < map->rank; ++i) {
        if (map->element_strides[i] == 0 || map->element_strides[i] > 8) {
            return refuse(why, "elementStrides[%d] is %u, not in 1..8", i, map->element_strides[i]);
        }
    }
    return 0;
}

// The innermost extent of a box, [count] elements, against interleave and swizzle.
static int check_inner(const struct tmg_map *map, const char *name, uint32_t count, char *why) {
    uint32_t bytes = tmg_tensor_shared_bytes(map->type, count);
    if (map->interleave != TMG_INTERLEAVE_NONE) return 0;
    if (!map->im2col && bytes % 16) {
        return refuse(why, "%s is %u elements, %u bytes: not a multiple of 16 bytes", name, count,
                      bytes);
    }
    const struct tmg_swizzle_rule *rule = &tmg_swizzle_rules[map->swizzle];
    if (map->swizzle != TMG_SWIZZLE_NONE && bytes > rule->span) {
        return refuse(why, "%s is %u elements, %u bytes: more than the %u of swizzle %s", name,
                      count, bytes, rule->span, rule->name);
    }
    return 0;
}

static int check_box(const struct tmg_map *map, char *why) {
    for (int i = 0; i < map->rank; ++i) {
        if (map->box[i] == 0 || map->box[i] > 256) {
            return refuse(why, "boxDim[%d] is %u, not in 1..256", i, map->box[i]);
        }
    }
    return check_inner(map, "boxDim[0]", map->box[0], why);
}

static int check_corners(const struct tmg_map *map, char *why) {
    static const int limits[TMG_TENSOR_RANK + 1] = {[3] = 32768, [4] = 128, [5] = 16};
    int limit = limits[map->im2col > TMG_IM2COL_ALL ? 3 : map->rank];
    for (int i = 0; i < (map->im2col > TMG_IM2COL_ALL ? 1 : map->rank - 2); ++i) {
        int lower = map->lower[i], upper = map->upper[i];
        if (lower < -limit || lower >= limit || upper < -limit || upper >= limit) {
            return refuse(why, "pixelBox corner %d is %d and %d, not in %d..%d", i, lower, upper,
                          -limit, limit - 1);
        }
        if ((int64_t)map->dims[i + 1] + upper - lower <= 0) {
            return refuse(why, "pixelBox corner %d: from %d to %lld there is nothing", i, lower,
                          (long long)map->dims[i + 1] + upper - 1);
        }
    }
    return 0;
}

static int check_im2col(const struct tmg_map *map, char *why) {
    if (check_corners(map, why)) return -1;
    if (map->channels == 0 || map->channels > 256) {
        return refuse(why, "channelsPerPixel is %u, not in 1..256", map->channels);
    }
    if (map->pixels == 0 || map->pixels > 1024) {
        return refuse(why, "pixelsPerColumn is %u, not in 1..1024", map->pixels);
    }
    bool wide = map->im2col > TMG_IM2COL_ALL;
    if (wide &&
        (map->swizzle == TMG_SWIZZLE_NONE || map->swizzle == TMG_SWIZZLE_128B_ATOM_32B_FLIP_8B)) {
        return refuse(why, "im2col along W wants a swizzle, and not %s",
                      tmg_swizzle_rules[map->swizzle].name);
    }
    return check_inner(map, "channelsPerPixel", map->channels, why);
}

static int check_modes(const struct tmg_map *map, char *why) {
    if (map->interleave == TMG_INTERLEAVE_32B && map->swizzle != TMG_SWIZZLE_32B) {
        return refuse(why, "interleave 32B wants swizzle 32B, not %s",
                      tmg_swizzle_rules[map->swizzle].name);
    }
    const struct tmg_tensor_type_info *type = &tmg_tensor_types[map->type];
    if (map->fill == TMG_FILL_NAN && !tmg_number_is_float(type->number)) {
        return refuse(why, "oobFill NaN wants a floating-point type, not %s", type->name);
    }
    return 0;
}

// Elements of 4 and 6 bits (driver API, tensorDataType).
static int check_packed(const struct tmg_map *map, char *why) {
    const struct tmg_tensor_type_info *type = &tmg_tensor_types[map->type];
    uint32_t inner = map->im2col ? map->channels : map->box[0];
    bool swizzle = map->swizzle == TMG_SWIZZLE_NONE || map->swizzle >= TMG_SWIZZLE_128B;
    if (!type->packed) return 0;
    if (map->interleave != TMG_INTERLEAVE_NONE)
        return refuse(why, "%s wants no interleave", type->name);
    if (map->dims[0] % (tmg_tensor_spreads(map->type) ? 128 : 2))
        return refuse(why, "globalDim[0] of %s is %llu, not a multiple of %d", type->name,
                      (unsigned long long)map->dims[0], tmg_tensor_spreads(map->type) ? 128 : 2);
    if (!tmg_tensor_spreads(map->type)) return 0;
    if (map->address % 32)
        return refuse(why, "globalAddress of %s is %#llx, not aligned to 32 bytes", type->name,
                      (unsigned long long)map->address);
    for (int i = 0; i < map->rank - 1; ++i)
        if (map->strides[i] % 32)
            return refuse(why, "globalStrides[%d] of %s is %llu, not a multiple of 32", i,
                          type->name, (unsigned long long)map->strides[i]);
    if (inner != 128) return refuse(why, "a row of %s is %u elements, not 128", type->name, inner);
    if (!swizzle || map->swizzle == TMG_SWIZZLE_128B_ATOM_32B_FLIP_8B)
        return refuse(why, "%s does not go with swizzle %s", type->name,
                      tmg_swizzle_rules[map->swizzle].name);
    return 0;
}

int tmg_tensor_map_check(const struct tmg_map *map, char *why) {
    if (check_enums(map, why) || check_rank(map, why) || check_memory(map, why)) return -1;
    if (map->im2col ? check_im2col(map, why) : check_box(map, why)) return -1;
    return check_element_strides(map, why) || check_modes(map, why) || check_packed(map, why) ? -1
                                                                                              : 0;
}

// What the 128 bytes hold; fields as wide as tensormap.replace can make them.
struct encoded {
    char magic[4];
    uint8_t im2col, type, rank, interleave, swizzle, l2_promotion, fill, built;
    uint16_t channels, pixels;
    uint64_t address, strides[TMG_TENSOR_RANK - 1], dims[TMG_TENSOR_RANK];
    int16_t lower[3], upper[3];
    uint16_t box[TMG_TENSOR_RANK];
    uint8_t element_strides[TMG_TENSOR_RANK], end;
};
_Static_assert(sizeof(struct encoded) == TMG_TENSOR_MAP_BYTES, "a tensor map is 128 bytes");
static const char magic[4] = {'T', 'M', 'A', '1'};

void tmg_tensor_map_write(void *bytes, const struct tmg_map *map) {
    struct encoded out = {.im2col = (uint8_t)map->im2col,
                          .type = (uint8_t)map->type,
                          .rank = (uint8_t)map->rank,
                          .interleave = (uint8_t)map->interleave,
                          .swizzle = (uint8_t)map->swizzle,
                          .l2_promotion = (uint8_t)map->l2_promotion,
                          .fill = (uint8_t)map->fill,
                          .built = map->built,
                          .channels = (uint16_t)map->channels,
                          .pixels = (uint16_t)map->pixels,
                          .address = map->address};
    memcpy(out.magic, magic, sizeof magic);
    memcpy(out.strides, map->strides, sizeof out.strides);
    memcpy(out.dims, map->dims, sizeof out.dims);
    for (int i = 0; i < 3; ++i) {
        out.lower[i] = (int16_t)map->lower[i];
        out.upper[i] = (int16_t)map->upper[i];
    }
    for (int i = 0; i < TMG_TENSOR_RANK; ++i) {
        out.box[i] = (uint16_t)map->box[i];
        out.element_strides[i] = (uint8_t)map->element_strides[i];
    }
    memcpy(bytes, &out, sizeof out);
}

int tmg_tensor_map_read(const void *bytes, struct tmg_map *map) {
    struct encoded in;
    memcpy(&in, bytes, sizeof in);
    if (memcmp(in.magic, magic, sizeof magic)) return -1;
    *map = (struct tmg_map){.im2col = in.im2col,
                            .type = in.type,
                            .rank = in.rank,
                            .interleave = in.interleave,
                            .swizzle = in.swizzle,
                            .l2_promotion = in.l2_promotion,
                            .fill = in.fill,
                            .built = in.built != 0,
                            .channels = in.channels,
                            .pixels = in.pixels,
                            .address = in.address};
    memcpy(map->strides, in.strides, sizeof map->strides);
    memcpy(map->dims, in.dims, sizeof map->dims);
    for (int i = 0; i < 3; ++i) {
        map->lower[i] = in.lower[i];
        map->upper[i] = in.upper[i];
    }
    for (int i = 0; i < TMG_TENSOR_RANK; ++i) {
        map->box[i] = in.box[i];
        map->element_strides[i] = in.element_strides[i];
    }
    return 0;
}

// Fills in what both encoders share; dimensions past [rank] read as 1.
static struct tmg_map common(int type, uint32_t rank, uint64_t address, const uint64_t *dims,
                             const uint64_t *strides, const uint32_t *element_strides,
                             int interleave, int swizzle, int l2_promotion, int fill) {
    struct tmg_map map = {.type = type,
                          .rank = rank > TMG_TENSOR_RANK ? TMG_TENSOR_RANK + 1 : (int)rank,
                          .interleave = interleave,
                          .swizzle = swizzle,
                          .l2_promotion = l2_promotion,
                          .fill = fill,
                          .address = address};
    for (uint32_t i = 0; i < TMG_TENSOR_RANK; ++i) {
        map.dims[i] = i < rank ? dims[i] : 1;
        map.element_strides[i] = i < rank ? element_strides[i] : 1;
        if (i + 1 < TMG_TENSOR_RANK) map.strides[i] = i + 1 < rank ? strides[i] : 0;
        map.box[i] = 1;
    }
    if (interleave == TMG_INTERLEAVE_NONE) map.element_strides[0] = 1;  // ignored by the driver
    return map;
}

int tmg_tensor_map_encode_tiled(void *bytes, int type, uint32_t rank, uint64_t address,
                                const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *element_strides, int interleave, int swizzle,
                                int l2_promotion, int fill, char *why) {
    struct tmg_map map = common(type, rank, address, dims, strides, element_strides, interleave,
                                swizzle, l2_promotion, fill);
    for (uint32_t i = 0; i < rank && i < TMG_TENSOR_RANK; ++i) map.box[i] = box[i];
    if (tmg_tensor_map_check(&map, why)) return -1;
    tmg_tensor_map_write(bytes, &map);
    return 0;
}

int tmg_tensor_map_encode_im2col(void *bytes, int type, uint32_t rank, uint64_t address,
                                 const uint64_t *dims, const uint64_t *strides, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *element_strides, int interleave, int swizzle,
                                 int l2_promotion, int fill, char *why) {
    struct tmg_map map = common(type, rank, address, dims, strides, element_strides, interleave,
                                swizzle, l2_promotion, fill);
    map.im2col = TMG_IM2COL_ALL;
    map.channels = channels;
    map.pixels = pixels;
    for (uint32_t i = 0; i + 2 < rank && i < 3; ++i) {
        map.lower[i] = lower[i];
        map.upper[i] = upper[i];
    }
    if (tmg_tensor_map_check(&map, why)) return -1;
    tmg_tensor_map_write(bytes, &map);
    return 0;
}

// PTX ISA 9.7.9.28, Table 33: the instruction numbers element types in its own way.
static const int elemtypes[] = {
    TMG_TENSOR_U8,       TMG_TENSOR_U16, TMG_TENSOR_U32,       TMG_TENSOR_S32,
    TMG_TENSOR_U64,      TMG_TENSOR_S64, TMG_TENSOR_F16,       TMG_TENSOR_F32,
    TMG_TENSOR_F32_FTZ,  TMG_TENSOR_F64, TMG_TENSOR_BF16,      TMG_TENSOR_TF32,
    TMG_TENSOR_TF32_FTZ, TMG_TENSOR_U4,  TMG_TENSOR_U4_SPREAD, TMG_TENSOR_U6_SPREAD};

// How each field takes its operand: how many ordinals it has and which values PTX knows.
static const struct map_field {
    const char *name;
    uint32_t ordinals;
    uint64_t most;
} fields[] = {
    [TMG_FIELD_GLOBAL_ADDRESS] = {"global_address", 1, UINT64_MAX},
    [TMG_FIELD_RANK] = {"rank", 1, TMG_TENSOR_RANK - 1},
    [TMG_FIELD_BOX_DIM] = {"box_dim", TMG_TENSOR_RANK, 256},
    [TMG_FIELD_GLOBAL_DIM] = {"global_dim", TMG_TENSOR_RANK, UINT32_MAX},
    [TMG_FIELD_GLOBAL_STRIDE] = {"global_stride", TMG_TENSOR_RANK - 1, (UINT64_C(1) << 40) - 1},
    [TMG_FIELD_ELEMENT_STRIDE] = {"element_stride", TMG_TENSOR_RANK, 8},
    [TMG_FIELD_ELEMTYPE] = {"elemtype", 1, sizeof elemtypes / sizeof *elemtypes - 1},
    [TMG_FIELD_INTERLEAVE_LAYOUT] = {"interleave_layout", 1, TMG_INTERLEAVE_32B},
    [TMG_FIELD_SWIZZLE_MODE] = {"swizzle_mode", 1, TMG_SWIZZLE_128B},
    [TMG_FIELD_SWIZZLE_ATOMICITY] = {"swizzle_atomicity", 1, 0},  // sm_100 knows more than 16B
    [TMG_FIELD_FILL_MODE] = {"fill_mode", 1, TMG_FILL_NAN},
};

static void set_field(struct tmg_map *map, enum tmg_tensor_field field, uint32_t ordinal,
                      uint64_t value) {
    switch (field) {
    case TMG_FIELD_GLOBAL_ADDRESS: map->address = value; break;
    case TMG_FIELD_RANK: map->rank = (int)value + 1; break;  // counted from zero
    case TMG_FIELD_BOX_DIM: map->box[ordinal] = (uint32_t)value; break;
    case TMG_FIELD_GLOBAL_DIM: map->dims[ordinal] = value; break;
    case TMG_FIELD_GLOBAL_STRIDE: map->strides[ordinal] = value; break;
    case TMG_FIELD_ELEMENT_STRIDE: map->element_strides[ordinal] = (uint32_t)value; break;
    case TMG_FIELD_ELEMTYPE: map->type = elemtypes[value]; break;
    case TMG_FIELD_INTERLEAVE_LAYOUT: map->interleave = (int)value; break;
    case TMG_FIELD_SWIZZLE_MODE: map->swizzle = (int)value; break;
    case TMG_FIELD_SWIZZLE_ATOMICITY: break;
    case TMG_FIELD_FILL_MODE: map->fill = (int)value; break;
    }
}

// The map to change; Triton's kernels begin with zeros and give every field.
static int read_or_begin(const void *bytes, struct tmg_map *map) {
    static const uint8_t zeros[TMG_TENSOR_MAP_BYTES];
    if (memcmp(bytes, zeros, sizeof zeros)) return tmg_tensor_map_read(bytes, map);
    *map = (struct tmg_map){.built = true};
    return 0;
}

int tmg_tensor_map_replace(void *bytes, enum tmg_tensor_field field, uint32_t ordinal,
                           uint64_t value, char *why) {
    struct tmg_map map;
    if (read_or_begin(bytes, &map))
        return refuse(why, "there is no tensor map, nor 128 zeros to begin one with");
    if (map.im2col) return refuse(why, "the tensor map is im2col, tensormap.replace wants .tile");
    const struct map_field *info = &fields[field];
    if (ordinal >= info->ordinals) {
        return refuse(why, ".%s has no ordinal %u", info->name, ordinal);
    }
    if (value > info->most) {
        return refuse(why, ".%s takes no value %llu", info->name, (unsigned long long)value);
    }
    set_field(&map, field, ordinal, value);
    tmg_tensor_map_write(bytes, &map);
    return 0;
}
