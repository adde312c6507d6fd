// Tensor copies against element-by-element loops written from the definitions: a random box of a
// random tensor per trial, and im2col against the convolution that it exists for.
#include "runtime/emu/model/tma.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

enum { GLOBAL = 1 << 20, SMEM = 1 << 18, BASE = 0x10000 };
static uint8_t global[GLOBAL], global_want[GLOBAL], smem[SMEM], smem_want[SMEM];

// What the visitors need: they stand for the interpreter, which owns both memories.
struct tma_copy {
    const struct tmg_map *map;
    enum copied { LOAD, STORE, REDUCE } what;
    enum tmg_reduce op;
    uint32_t bytes;
};

static int copy_run(void *context, const struct tmg_tma_run *run) {
    struct tma_copy *copy = context;
    copy->bytes += run->bytes;
    uint8_t *at = run->outside ? NULL : global + (run->global - BASE);
    if (!run->outside) assert_in_range(run->global, BASE, BASE + GLOBAL - run->bytes);
    if (copy->what == LOAD)
        tmg_tma_load_run(copy->map, run, at, smem);
    else if (run->outside)
        return 0;
    else if (copy->what == STORE)
        tmg_tma_store_run(copy->map, run, at, smem);
    else
        tmg_tma_reduce_run(copy->map, run, copy->op, at, smem);
    return 0;
}

// The definition: element [index] of the box is at coordinate start + index * stride of each
// dimension, and follows its predecessor in shared memory, at the swizzled address.
struct element {
    bool outside;
    uint64_t offset;  // in global
    uint32_t shared;
};

static uint32_t swizzled(int mode, uint32_t address) {  // PTX ISA 5.5.7, as Swizzle<mode, 4, 3>
    uint32_t line = address / 128, piece = address / 16 % 8;
    if (mode == 4 || mode == 5)
        return (address ^ (line & 3) * 32) ^ (mode == 5 && (line & 1) ? 8 : 0);
    if (mode == 6) return address ^ (line & 1) * 64;
    return line * 128 + (piece ^ (line & ((1u << mode) - 1))) * 16 + address % 16;
}

static uint32_t element_size(const struct tmg_map *map) {
    static const uint32_t sizes[TMG_TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return sizes[map->type];
}

// Where a row that begins at [start] ends: stores write the whole 16 bytes in which it does.
static int64_t row_end(const struct tmg_map *map, int64_t start, uint32_t bytes, enum copied what) {
    int64_t dim = (int64_t)map->dims[0];
    return what == STORE && start < dim ? (dim * bytes + 15) / 16 * 16 / bytes : dim;
}

static struct element tiled_element(const struct tmg_map *map, const int32_t *start,
                                    uint32_t shared, uint32_t number, enum copied what) {
    uint32_t bytes = element_size(map);
    struct element e = {.shared = swizzled(map->swizzle, shared + number * bytes)};
    int64_t offset = (int64_t)(map->address - BASE);
    for (int i = 0; i < map->rank; ++i) {
        uint32_t count = (uint32_t)ceil((double)map->box[i] / (i ? map->element_strides[i] : 1));
        int64_t at = start[i] + (int64_t)(number % count) * (i ? map->element_strides[i] : 1);
        number /= count;
        e.outside |=
            at < 0 || at >= (i ? (int64_t)map->dims[i] : row_end(map, start[0], bytes, what));
        offset += at * (int64_t)(i ? map->strides[i - 1] : bytes);
    }
    e.offset = (uint64_t)offset;
    return e;
}

// A legal random map over the global array; the box may stick out on any side.
static struct tmg_map random_map(int32_t *start) {
    static const int types[] = {TMG_TENSOR_U8,  TMG_TENSOR_U16, TMG_TENSOR_U32, TMG_TENSOR_S64,
                                TMG_TENSOR_F16, TMG_TENSOR_F32, TMG_TENSOR_F64, TMG_TENSOR_BF16};
    struct tmg_map map = {.type = types[random_below(8)], .rank = 1 + (int)random_below(5)};
    uint32_t bytes = element_size(&map), pitch = 0;
    map.swizzle = (int)random_below(7);
    map.address = BASE + 16 * random_below(64);
    uint32_t span = map.swizzle > 3 ? 128 : map.swizzle ? 16u << map.swizzle : 256;
    map.box[0] = 16 / bytes * (1 + random_below(span / 16));
    if (map.box[0] > 256) map.box[0] = 256;
    if (tmg_number_is_float(tmg_tensor_types[map.type].number)) map.fill = (int)random_below(2);
    for (int i = 0; i < 5; ++i) {
        map.dims[i] = i < map.rank ? 1 + random_below(i ? 9 : 200) : 1;
        map.element_strides[i] = i && i < map.rank ? 1 + random_below(3) : 1;
        if (i) map.box[i] = i < map.rank ? 1 + random_below(7) : 1;
        start[i] = (int32_t)random_below(2 * (uint32_t)map.dims[i] + 2) - (int32_t)map.dims[i];
        if (i == 0) pitch = ((uint32_t)map.dims[0] * bytes + 15) / 16 * 16 + 16 * random_below(2);
        if (i > 0 && i < map.rank) map.strides[i - 1] = pitch, pitch *= (uint32_t)map.dims[i];
    }
    return map;
}

static void scramble(uint8_t *memory, uint8_t *copy, size_t size) {
    for (size_t i = 0; i < size; ++i) memory[i] = (uint8_t)random_below(256);
    memcpy(copy, memory, size);
}

static struct tmg_map through_encoding(const struct tmg_map *map) {
    uint8_t bytes[TMG_TENSOR_MAP_BYTES];
    char why[TMG_TENSOR_WHY];
    struct tmg_map back;
    if (tmg_tensor_map_encode_tiled(bytes, map->type, (uint32_t)map->rank, map->address, map->dims,
                                    map->strides, map->box, map->element_strides, map->interleave,
                                    map->swizzle, map->l2_promotion, map->fill, why)) {
        fail_msg("%s", why);
    }
    assert_int_equal(tmg_tensor_map_read(bytes, &back), 0);
    return back;
}

static int count_shared(void *context, uint32_t address, uint32_t bytes) {
    uint8_t *seen = context;
    for (uint32_t i = 0; i < bytes; ++i) assert_int_equal(seen[address + i]++, 0);
    return 0;
}

// tmg_tma_each_shared names each byte of the box once and no other one.
static void check_shared(const struct tmg_map *map, const int32_t *start, uint32_t shared) {
    static uint8_t seen[SMEM];
    memset(seen, 0, sizeof seen);
    assert_int_equal(tmg_tma_each_shared(map, shared, count_shared, seen), 0);
    uint32_t size = element_size(map);
    for (uint32_t i = 0; i < tmg_tma_box_bytes(map) / size; ++i) {
        struct element e = tiled_element(map, start, shared, i, LOAD);
        for (uint32_t b = 0; b < size; ++b) assert_int_equal(seen[e.shared + b]++, 1);
    }
}

static uint64_t nan_bits(const struct tmg_map *map) {
    return element_size(map) == 2   ? 0x7ff7
           : element_size(map) == 4 ? 0x7ff77ff7
                                    : 0x7ff77ff77ff77ff7;
}

static void tiled_boxes(void **state) {
    (void)state;
    scramble(global, global_want, GLOBAL);
    scramble(smem, smem_want, SMEM);
    for (int trial = 0; trial < 600; ++trial) {
        int32_t start[5];
        struct tmg_map map = random_map(start);
        map = through_encoding(&map);
        uint32_t shared = 128 * random_below(16), size = element_size(&map);
        if (tmg_tma_box_bytes(&map) > 200 * 1024) continue;
        struct tma_copy copy = {.map = &map, .what = trial % 2 ? STORE : LOAD};
        struct tmg_tma_request request = {
            .coordinates = start, .shared = shared, .stores = copy.what == STORE};
        for (uint32_t i = 0; i < tmg_tma_box_bytes(&map) / size; ++i) {
            struct element e = tiled_element(&map, start, shared, i, copy.what);
            uint64_t fill = map.fill ? nan_bits(&map) : 0;
            if (copy.what == LOAD) {
                memcpy(smem_want + e.shared, e.outside ? (void *)&fill : global + e.offset, size);
            } else if (!e.outside) {
                memcpy(global_want + e.offset, smem + e.shared, size);
            }
        }
        assert_int_equal(tmg_tma_each(&map, &request, copy_run, &copy), 0);
        assert_int_equal(copy.bytes, tmg_tma_box_bytes(&map));
        assert_memory_equal(smem, smem_want, SMEM);
        assert_memory_equal(global, global_want, GLOBAL);
        if (trial % 8 == 0) check_shared(&map, start, shared);
    }
}

static int stop_at_third(void *context, const struct tmg_tma_run *run) {
    (void)run;
    return ++*(int *)context == 3 ? 42 : 0;
}

static void the_largest_box_is_counted_whole(void **state) {
    (void)state;
    struct tmg_map map = {.type = TMG_TENSOR_F64,
                          .rank = 5,
                          .box = {256, 256, 256, 256, 256},
                          .element_strides = {1, 1, 1, 1, 1}};
    assert_true(tmg_tma_box_bytes(&map) == UINT64_C(1) << 43);
}

static void a_visitor_can_stop(void **state) {
    (void)state;
    struct tmg_map map = {.type = TMG_TENSOR_BF16,
                          .rank = 3,
                          .dims = {64, 8, 8},
                          .strides = {128, 1024},
                          .box = {64, 4, 4},
                          .element_strides = {1, 1, 1}};
    int32_t start[5] = {0};
    int count = 0;
    struct tmg_tma_request request = {.coordinates = start};
    assert_int_equal(tmg_tma_each(&map, &request, stop_at_third, &count), 42);
    assert_int_equal(count, 3);
}

// An NHWC convolution's A operand: column [pixel] of im2col holds, for filter tap (r, s), input
// pixel (p * stride - pad + r, q * stride - pad + s).
static void im2col_is_a_convolutions_operand(void **state) {
    (void)state;
    scramble(global, global_want, GLOBAL);
    for (int trial = 0; trial < 200; ++trial) {
        int64_t n = 1 + random_below(3), h = 5 + random_below(8), w = 5 + random_below(8), c = 16;
        int64_t filter = 1 + random_below(4), pad = random_below(3), stride = 1 + random_below(3);
        int64_t out_h = (h + 2 * pad - filter) / stride + 1,
                out_w = (w + 2 * pad - filter) / stride + 1;
        uint64_t dims[] = {(uint64_t)c, (uint64_t)w, (uint64_t)h, (uint64_t)n};
        uint64_t strides[] = {32, 32 * (uint64_t)w, 32 * (uint64_t)(w * h)};
        int lower[] = {(int)-pad, (int)-pad};
        int upper[] = {(int)(pad - filter + 1), (int)(pad - filter + 1)};
        uint32_t element_strides[] = {1, (uint32_t)stride, (uint32_t)stride, 1};
        uint8_t bytes[TMG_TENSOR_MAP_BYTES];
        char why[TMG_TENSOR_WHY];
        struct tmg_map map;
        if (tmg_tensor_map_encode_im2col(bytes, TMG_TENSOR_F16, 4, BASE, dims, strides, lower,
                                         upper, 8, 32, element_strides, 0, TMG_SWIZZLE_NONE, 0, 0,
                                         why)) {
            fail_msg("%s", why);
        }
        assert_int_equal(tmg_tensor_map_read(bytes, &map), 0);
        int64_t first = random_below((uint32_t)(n * out_h * out_w));
        int64_t r = random_below((uint32_t)filter), s = random_below((uint32_t)filter);
        int32_t start[] = {8, (int32_t)(first % out_w * stride - pad),
                           (int32_t)(first / out_w % out_h * stride - pad),
                           (int32_t)(first / out_w / out_h)};
        uint16_t offsets[] = {(uint16_t)s, (uint16_t)r};
        struct tma_copy copy = {.map = &map, .what = LOAD};
        struct tmg_tma_request request = {.coordinates = start, .offsets = offsets, .shared = 256};
        assert_int_equal(tmg_tma_each(&map, &request, copy_run, &copy), 0);
        assert_int_equal(copy.bytes, 32 * 16);
        for (int64_t pixel = first; pixel < first + 32; ++pixel) {
            int64_t x = pixel % out_w * stride - pad + s, image = pixel / out_w / out_h;
            int64_t y = pixel / out_w % out_h * stride - pad + r;
            bool outside = x < 0 || y < 0 || x >= w || y >= h || image >= n;
            uint8_t zero[16] = {0};
            const uint8_t *want = outside ? zero : global + (((image * h + y) * w + x) * c + 8) * 2;
            assert_memory_equal(smem + 256 + (pixel - first) * 16, want, 16);
        }
    }
}

static void tf32_rounds_and_no_load_flushes(void **state) {
    (void)state;
    static const uint32_t in[4] = {0x3f801000, 0x3f803000, 0x00000123, 0x80000001};
    static const struct {
        int type;
        uint32_t want[4];
    } rows[] = {
        {TMG_TENSOR_F32, {0x3f801000, 0x3f803000, 0x00000123, 0x80000001}},
        {TMG_TENSOR_F32_FTZ, {0x3f801000, 0x3f803000, 0x00000123, 0x80000001}},
        {TMG_TENSOR_TF32, {0x3f800000, 0x3f804000, 0, 0x80000000}},
        {TMG_TENSOR_TF32_FTZ, {0x3f800000, 0x3f804000, 0, 0x80000000}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct tmg_map map = {.type = rows[i].type,
                              .rank = 1,
                              .address = BASE,
                              .dims = {4},
                              .box = {4},
                              .element_strides = {1}};
        struct tma_copy copy = {.map = &map, .what = LOAD};
        int32_t start[5] = {0};
        struct tmg_tma_request request = {.coordinates = start};
        memcpy(global, in, sizeof in);
        assert_int_equal(tmg_tma_each(&map, &request, copy_run, &copy), 0);
        assert_memory_equal(smem, rows[i].want, 16);
    }
}

static void reduces_into_global_memory(void **state) {
    (void)state;
    struct tmg_map map = {.type = TMG_TENSOR_S32,
                          .rank = 2,
                          .address = BASE,
                          .dims = {6, 3},
                          .strides = {32},
                          .box = {8, 2},
                          .element_strides = {1, 1}};
    int32_t *memory = (int32_t *)(void *)global, start[5] = {0, 2};
    for (int i = 0; i < 64; ++i) memory[i] = i;
    for (int i = 0; i < 16; ++i) ((int32_t *)(void *)smem)[i] = 100 + i;
    struct tma_copy copy = {.map = &map, .what = REDUCE, .op = TMG_REDUCE_ADD};
    struct tmg_tma_request request = {.coordinates = start};
    assert_int_equal(tmg_tma_each(&map, &request, copy_run, &copy), 0);
    for (int i = 0; i < 64; ++i) {
        bool hit = i >= 16 && i < 22;  // row 2 of three, six of eight elements
        assert_int_equal(memory[i], hit ? i + 100 + i - 16 : i);
    }
}

// One row a rule of the driver's documentation: what to spoil, and a word of the refusal.
static const struct tmg_map good = {.type = TMG_TENSOR_BF16,
                                    .rank = 2,
                                    .swizzle = TMG_SWIZZLE_128B,
                                    .address = BASE,
                                    .dims = {4096, 512},
                                    .strides = {8192},
                                    .box = {64, 256},
                                    .element_strides = {1, 1}};

static void spoil(struct tmg_map *map, int rule) {
    switch (rule) {
    case 0: map->type = 16; break;
    case 1: map->rank = 0; break;
    case 2: map->rank = 6; break;
    case 3: map->address += 8; break;
    case 4: map->dims[1] = 0; break;
    case 5: map->dims[0] = (UINT64_C(1) << 32) + 1; break;
    case 6: map->strides[0] = 8200; break;
    case 7: map->strides[0] = UINT64_C(1) << 40; break;
    case 8: map->box[1] = 257; break;
    case 9: map->box[0] = 0; break;
    case 10: map->box[0] = 60; break;
    case 11: map->box[0] = 72; break;
    case 12: map->element_strides[1] = 9; break;
    case 13: map->element_strides[1] = 0; break;
    case 14: map->interleave = TMG_INTERLEAVE_16B; break;
    case 15: map->interleave = 3; break;
    case 16: map->swizzle = 7; break;
    case 17: map->l2_promotion = 4; break;
    case 18: map->fill = 2; break;
    case 19: map->type = TMG_TENSOR_U16, map->fill = TMG_FILL_NAN; break;
    default:
        map->rank = 3, map->dims[2] = 1, map->strides[1] = 64, map->box[2] = 1;
        map->element_strides[2] = 1, map->interleave = TMG_INTERLEAVE_32B;
        break;
    }
}

static void says_which_rule_is_broken(void **state) {
    (void)state;
    static const char *const words[] = {
        "tensorDataType",    "tensorRank",        "tensorRank",       "globalAddress",
        "globalDim[1]",      "globalDim[0]",      "globalStrides[0]", "globalStrides[0]",
        "boxDim[1]",         "boxDim[0]",         "multiple of 16",   "more than the 128",
        "elementStrides[1]", "elementStrides[1]", "not in 3..5",      "interleave",
        "swizzle",           "l2Promotion",       "oobFill",          "floating-point",
        "wants swizzle 32B"};
    char why[TMG_TENSOR_WHY];
    assert_int_equal(tmg_tensor_map_check(&good, why), 0);
    for (int rule = 0; rule < (int)(sizeof words / sizeof *words); ++rule) {
        struct tmg_map map = good;
        spoil(&map, rule);
        assert_int_equal(tmg_tensor_map_check(&map, why), -1);
        if (!strstr(why, words[rule])) fail_msg("rule %d: \"%s\" lacks %s", rule, why, words[rule]);
        assert_int_equal(tmg_tensor_map_check(&map, NULL), -1);
    }
}

static void says_which_im2col_rule_is_broken(void **state) {
    (void)state;
    struct tmg_map im2col = {.im2col = true,
                             .type = TMG_TENSOR_F16,
                             .rank = 4,
                             .address = BASE,
                             .dims = {64, 9, 14, 64},
                             .strides = {128, 1152, 16128},
                             .lower = {-1, -1},
                             .upper = {-1, -1},
                             .channels = 8,
                             .pixels = 64,
                             .element_strides = {1, 1, 1, 1}};
    char why[TMG_TENSOR_WHY];
    assert_int_equal(tmg_tensor_map_check(&im2col, why), 0);  // Figure 13's map
    static const char *const words[] = {"tensorRank", "corner 1", "corner 0",        "nothing",
                                        "channels",   "pixels",   "more than the 32"};
    for (int rule = 0; rule < 7; ++rule) {
        struct tmg_map map = im2col;
        if (rule == 0) map.rank = 2;
        if (rule == 1) map.lower[1] = -129;
        if (rule == 2) map.upper[0] = 128;
        if (rule == 3) map.lower[0] = 5, map.upper[0] = -4;
        if (rule == 4) map.channels = 257;
        if (rule == 5) map.pixels = 1025;
        if (rule == 6) map.swizzle = TMG_SWIZZLE_32B, map.channels = 32;
        assert_int_equal(tmg_tensor_map_check(&map, why), -1);
        if (!strstr(why, words[rule])) fail_msg("rule %d: \"%s\" lacks %s", rule, why, words[rule]);
    }
}

static void replaces_fields(void **state) {
    (void)state;
    uint8_t bytes[TMG_TENSOR_MAP_BYTES];
    char why[TMG_TENSOR_WHY];
    struct tmg_map map;
    tmg_tensor_map_write(bytes, &good);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_GLOBAL_ADDRESS, 0, BASE + 256, why),
                     0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_RANK, 0, 2, why), 0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_GLOBAL_DIM, 2, 7, why), 0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_GLOBAL_STRIDE, 1, 1 << 22, why), 0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_BOX_DIM, 1, 128, why), 0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_ELEMENT_STRIDE, 1, 2, why), 0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_ELEMTYPE, 0, 6, why), 0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_SWIZZLE_MODE, 0, 3, why), 0);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_FILL_MODE, 0, 1, why), 0);
    assert_int_equal(tmg_tensor_map_read(bytes, &map), 0);
    assert_int_equal(map.address, BASE + 256);
    assert_int_equal(map.rank, 3);
    assert_int_equal(map.dims[2], 7);
    assert_int_equal(map.strides[1], 1 << 22);
    assert_int_equal(map.box[1], 128);
    assert_int_equal(map.element_strides[1], 2);
    assert_int_equal(map.type, TMG_TENSOR_F16);
    assert_int_equal(map.fill, TMG_FILL_NAN);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_GLOBAL_STRIDE, 4, 16, why), -1);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_RANK, 0, 5, why), -1);
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_ELEMTYPE, 0, 16, why), -1);
    bytes[1] ^= 1;
    assert_int_equal(tmg_tensor_map_replace(bytes, TMG_FIELD_RANK, 0, 1, why), -1);
    assert_int_equal(tmg_tensor_map_read(bytes, &map), -1);
}

// One row a fact of PTX ISA 9.7.9.25.4.2 and of atom (9.7.13.5).
static void reduces_single_elements(void **state) {
    (void)state;
    static const struct {
        enum tmg_reduce op;
        enum tmg_number type;
        uint64_t old, value, want;
    } rows[] = {
        {TMG_REDUCE_ADD, TMG_U32, 0xffffffff, 2, 1},
        {TMG_REDUCE_ADD, TMG_U64, UINT64_MAX, 2, 1},
        {TMG_REDUCE_MIN, TMG_S32, 0xffffffff, 1, 0xffffffff},
        {TMG_REDUCE_MIN, TMG_U32, 0xffffffff, 1, 1},
        {TMG_REDUCE_MAX, TMG_S64, UINT64_MAX, 1, 1},
        {TMG_REDUCE_INC, TMG_U32, 4, 5, 5},
        {TMG_REDUCE_INC, TMG_U32, 5, 5, 0},
        {TMG_REDUCE_DEC, TMG_U32, 0, 5, 5},
        {TMG_REDUCE_DEC, TMG_U32, 9, 5, 5},
        {TMG_REDUCE_DEC, TMG_U32, 3, 5, 2},
        {TMG_REDUCE_XOR, TMG_U64, UINT64_MAX, 1, UINT64_MAX - 1},
        {TMG_REDUCE_AND, TMG_S32, 0xf0f0f0f0, 0xff, 0xf0},
        {TMG_REDUCE_ADD, TMG_F16, 0x3c00, 0x1000, 0x3c00},  // 1 + 2^-11: a tie, to even
        {TMG_REDUCE_ADD, TMG_F16, 0x3c01, 0x1000, 0x3c02},
        {TMG_REDUCE_ADD, TMG_F16, 0x0001, 0x0001, 0x0002},  // noftz
        {TMG_REDUCE_ADD, TMG_F16, 0x7bff, 0x7bff, 0x7c00},
        {TMG_REDUCE_ADD, TMG_BF16, 0x3f80, 0x3b80, 0x3f80},
        {TMG_REDUCE_MIN, TMG_F16, 0x7e00, 0x3c00, 0x3c00},
        {TMG_REDUCE_MAX, TMG_BF16, 0x8000, 0x0000, 0x0000},
        {TMG_REDUCE_MIN, TMG_BF16, 0x0000, 0x8000, 0x8000},
        {TMG_REDUCE_ADD, TMG_F32, 0x00000001, 0x80000000, 0x00000000},  // ftz
        {TMG_REDUCE_ADD, TMG_F32, 0x00800000, 0x80c00000, 0x80000000},  // so does the result
        {TMG_REDUCE_ADD, TMG_F32, 0x3f800000, 0x3f800000, 0x40000000},
        {TMG_REDUCE_ADD, TMG_F64, 0x3ff0000000000000, 0x3ff0000000000000, 0x4000000000000000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint64_t got =
            tmg_reduce_element(rows[i].op, rows[i].type, true, rows[i].old, rows[i].value);
        if (got != rows[i].want) fail_msg("row %zu: %#jx", i, (uintmax_t)got);
    }
    assert_int_equal(tmg_reduce_element(TMG_REDUCE_ADD, TMG_F32, false, 1, 1), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiled_boxes),
        cmocka_unit_test(the_largest_box_is_counted_whole),
        cmocka_unit_test(a_visitor_can_stop),
        cmocka_unit_test(im2col_is_a_convolutions_operand),
        cmocka_unit_test(tf32_rounds_and_no_load_flushes),
        cmocka_unit_test(reduces_into_global_memory),
        cmocka_unit_test(says_which_rule_is_broken),
        cmocka_unit_test(says_which_im2col_rule_is_broken),
        cmocka_unit_test(replaces_fields),
        cmocka_unit_test(reduces_single_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
