// Grids, workspace and tensor maps by hand-made manifests, on a device that is a table of
// functions. The numbers are worked out in the rows, so that a rule's meaning can be read here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runtime/cuda_api.h"
#include "runtime/error.h"
#include "runtime/grid.h"
#include "runtime/map_encode.h"

#define ONE_BLOCK       .blocks_per_sm = 1, .blocks_per_tile = 1, .max_tiles = 1 << 30
#define TILES(...)      .rule = TMG_GRID_TILES, ONE_BLOCK, __VA_ARGS__
#define PERSISTENT(...) .rule = TMG_GRID_PERSISTENT, ONE_BLOCK, __VA_ARGS__
#define BY(dim_, by_, axis_) \
    { .extent = {.dim = dim_, .times = 1, .by = by_}, .axis = axis_ }

static const struct {
    const char *what;
    int64_t dims[2];
    unsigned cluster[3];
    struct tmg_grid grid;
    struct tmg_capacity capacity;
    unsigned expected[3];  // 0: refused
} grids[] = {
    {"ragged tiles",
     {257, 128},
     {1, 1, 1},
     {TILES(.tile_count = 2, .tiles = {BY(1, 128, 0), BY(0, 256, 1)})},
     {.sms = 132, .resident_blocks = 0},
     {1, 2, 1}},
    {"both on x",
     {257, 129},
     {1, 1, 1},
     {TILES(.tile_count = 2, .tiles = {BY(1, 128, 0), BY(0, 256, 0)})},
     {.sms = 132, .resident_blocks = 0},
     {4, 1, 1}},
    {"whole clusters",
     {257, 1},
     {2, 2, 1},
     {TILES(.tile_count = 2, .tiles = {BY(0, 100, 0), BY(1, 1, 1)})},
     {.sms = 132, .resident_blocks = 0},
     {4, 2, 1}},
    {"y has 65535 at most",
     {65536, 1},
     {1, 1, 1},
     {TILES(.tile_count = 1, .tiles = {BY(0, 1, 1)})},
     {.sms = 132, .resident_blocks = 0},
     {0}},
    {"z has 65535 at most",
     {65536, 1},
     {1, 1, 1},
     {TILES(.tile_count = 1, .tiles = {BY(0, 1, 2)})},
     {.sms = 132, .resident_blocks = 0},
     {0}},
    {"y has them",
     {65535, 32768},
     {1, 1, 1},
     {TILES(.tile_count = 2, .tiles = {BY(0, 1, 1), BY(1, 1, 0)})},
     {.sms = 132, .resident_blocks = 0},
     {32768, 65535, 1}},
    {"2^31 in all are too many",
     {1 << 16, 1 << 15},
     {1, 1, 1},
     {TILES(.tile_count = 2, .tiles = {BY(0, 1, 0), BY(1, 1, 1)})},
     {.sms = 132, .resident_blocks = 0},
     {0}},
    {"nor does their product overflow",
     {INT32_MAX, 65535},
     {1, 1, 1},
     {TILES(.tile_count = 3, .tiles = {BY(0, 1, 0), BY(1, 1, 1), BY(1, 1, 2)})},
     {.sms = 132, .resident_blocks = 0},
     {0}},
    {"x has 2^31 - 1",
     {INT32_MAX, 1},
     {1, 1, 1},
     {TILES(.tile_count = 1, .tiles = {BY(0, 1, 0)})},
     {.sms = 132, .resident_blocks = 0},
     {INT32_MAX, 1, 1}},
    {"not more",
     {INT32_MAX, 2},
     {1, 1, 1},
     {TILES(.tile_count = 2, .tiles = {BY(0, 1, 0), BY(1, 1, 0)})},
     {.sms = 132, .resident_blocks = 0},
     {0}},
    {"few tiles",
     {256, 128},
     {1, 1, 1},
     {PERSISTENT(.tile_count = 1, .tiles = {BY(0, 64, 0)})},
     {.sms = 132, .resident_blocks = 0},
     {4, 1, 1}},
    {"all SMs",
     {100000, 1},
     {1, 1, 1},
     {PERSISTENT(.tile_count = 1, .tiles = {BY(0, 64, 0)})},
     {.sms = 132, .resident_blocks = 0},
     {132, 1, 1}},
    {"in whole clusters",
     {100000, 1},
     {4, 1, 1},
     {PERSISTENT(.tile_count = 1, .tiles = {BY(0, 64, 0)})},
     {.sms = 134, .resident_blocks = 0},
     {132, 1, 1}},
    {"as many as fit",
     {100000, 1},
     {4, 1, 1},
     {PERSISTENT(.tile_count = 1, .tiles = {BY(0, 64, 0)})},
     {.sms = 132, .resident_blocks = 120},
     {120, 1, 1}},
    {"at most",
     {100000, 1},
     {2, 1, 1},
     {PERSISTENT(.tile_count = 1, .max_blocks = 7, .tiles = {BY(0, 64, 0)})},
     {.sms = 132, .resident_blocks = 0},
     {6, 1, 1}},
    {"a cluster on a small device",
     {100000, 1},
     {8, 1, 1},
     {PERSISTENT(.tile_count = 1, .tiles = {BY(0, 64, 0)})},
     {.sms = 4, .resident_blocks = 0},
     {8, 1, 1}},
};

static void test_grids(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof grids / sizeof *grids; ++i) {
        struct tmg_manifest manifest = {.name = "k", .grid = grids[i].grid};
        struct tmg_binding binding = {.manifest = &manifest, .splits = 1};
        unsigned size[3] = {0, 0, 0};
        memcpy(manifest.cluster, grids[i].cluster, sizeof manifest.cluster);
        memcpy(binding.dims, grids[i].dims, sizeof grids[i].dims);
        int status = tmg_grid_size(&binding, &grids[i].capacity, size);
        int refused = status == TMAGEN_ERROR_ARGUMENT;
        if (refused != !grids[i].expected[0]) fail_msg("%s: status %d", grids[i].what, status);
        if (!refused && memcmp(size, grids[i].expected, sizeof size))
            fail_msg("%s: %u %u %u", grids[i].what, size[0], size[1], size[2]);
    }
}

// What is refused says which axis, or that it is all of them.
static void test_refusals(void **state) {
    (void)state;
    struct tmg_manifest manifest = {.name = "k", .cluster = {1, 1, 1}};
    struct tmg_binding binding = {.manifest = &manifest, .dims = {65536, 32768}, .splits = 1};
    const struct tmg_capacity capacity = {.sms = 132};
    unsigned size[3];
    manifest.grid = (struct tmg_grid){TILES(.tile_count = 1, .tiles = {BY(0, 1, 2)})};
    assert_int_equal(tmg_grid_size(&binding, &capacity, size), TMAGEN_ERROR_ARGUMENT);
    assert_string_equal(tmagen_error_last(),
                        "k: the grid's axis 2 has 65536 blocks; legal: 1 to 65535");
    manifest.grid = (struct tmg_grid){TILES(.tile_count = 2, .tiles = {BY(0, 1, 0), BY(1, 1, 1)})};
    assert_int_equal(tmg_grid_size(&binding, &capacity, size), TMAGEN_ERROR_ARGUMENT);
    assert_string_equal(tmagen_error_last(),
                        "k: the grid has 2147483648 blocks; legal: at most 2147483647");
}

static void test_extents(void **state) {
    (void)state;
    const int64_t dims[] = {10, 30};
    const struct {
        struct tmg_extent extent;
        int64_t size;
    } rows[] = {{{0, 2, 1, 4}, 6},  {{0, 2, 0, 4}, 5},    {{0, 1, 0, 1}, 10},   {{1, 1, 0, 128}, 1},
                {{-1, 0, 7, 2}, 4}, {{0, 1, -9, 128}, 1}, {{0, 1, -10, 128}, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        assert_int_equal(tmg_extent_value(&rows[i].extent, dims), rows[i].size);
}

// 6 x 3 tiles of one block, each in two splits: every count, each part behind the one before.
static void test_workspace(void **state) {
    (void)state;
    struct tmg_manifest manifest = {
        .name = "k",
        .cluster = {1, 1, 1},
        .grid = {TILES(.tile_count = 2, .tiles = {{{0, 2, 1, 4}, 0}, BY(1, 10, 2)})},
        .part_count = 5,
        .parts = (struct tmg_part[]){{100, TMG_PER_LAUNCH, TMG_ZERO_LAUNCH, .name = "a"},
                                     {100, TMG_PER_TILE, TMG_ZERO_FIRST, .name = "b"},
                                     {100, TMG_PER_ITEM, TMG_ZERO_FIRST, .name = "c"},
                                     {100, TMG_PER_BLOCK, TMG_ZERO_NEVER, .name = "d"},
                                     {100, TMG_PER_SM, TMG_ZERO_NEVER, .name = "e"}}};
    struct tmg_binding binding = {.manifest = &manifest, .dims = {10, 30}, .splits = 2};
    const struct tmg_capacity capacity = {.sms = 132};
    struct tmg_layout layout;
    assert_int_equal(tmg_workspace_layout(&binding, &capacity, &layout), TMAGEN_OK);
    const int64_t offsets[] = {0, 256, 256 + 2048, 2304 + 3840, 6144 + 3840};
    assert_memory_equal(layout.offsets, offsets, sizeof offsets);
    assert_int_equal(layout.bytes, 9984 + 13200);
    assert_int_equal(layout.zero_launch, 100);
    assert_int_equal(layout.zero_first, 2304 + 3600);
    binding.sms = 7;
    assert_int_equal(tmg_workspace_layout(&binding, &capacity, &layout), TMAGEN_OK);
    assert_int_equal(layout.bytes, 9984 + 700);
    // what no launch may find written by one of another shape has a room of its own
    const struct tmg_capacity shared = {.sms = 132, .semaphore_bytes = 8192};
    assert_int_equal(tmg_workspace_layout(&binding, &shared, &layout), TMAGEN_OK);
    assert_int_equal(layout.offsets[3], 8192);
    assert_int_equal(layout.zero_launch, 100);
    // or is cleared each time, where it is more than that
    const struct tmg_capacity small = {.sms = 132, .semaphore_bytes = 4096};
    assert_int_equal(tmg_workspace_layout(&binding, &small, &layout), TMAGEN_OK);
    assert_int_equal(layout.offsets[3], 6144);
    assert_int_equal(layout.zero_launch, 2304 + 3600);
    // or where it lies elsewhere for each shape, behind what every launch clears
    manifest.parts[0].per = TMG_PER_TILE;
    assert_int_equal(tmg_workspace_layout(&binding, &shared, &layout), TMAGEN_OK);
    assert_int_equal(layout.zero_launch, layout.zero_first);
    assert_int_equal(tmg_workspace_layout(&binding, &capacity, &layout), TMAGEN_OK);
    assert_in_range(layout.zero_launch, 1, layout.zero_first - 1);
    manifest.parts[0].per = TMG_PER_LAUNCH;
    manifest.parts[3].bytes = INT64_MAX / 2;
    assert_int_equal(tmg_workspace_layout(&binding, &capacity, &layout), TMAGEN_ERROR_ARGUMENT);
    manifest.part_count = 0;
    assert_int_equal(tmg_workspace_layout(&binding, &capacity, &layout), TMAGEN_OK);
    assert_int_equal(layout.bytes, 0);
    manifest.grid.tiles[0].extent.plus = -100;  // less than nothing is nothing
    assert_int_equal(tmg_tile_count(&binding, 0), 0);
}

// What gemm_64x64 costs at 100 x 72 x 200: 2 x 2 tiles of 2 k steps.
static void test_cost(void **state) {
    (void)state;
    struct tmg_manifest *manifest;
    double cost[TMG_UNITS];
    assert_int_equal(tmg_manifest_read("out/gemm_64x64.json", &manifest), TMAGEN_OK);
    struct tmg_binding binding = {.manifest = manifest, .dims = {100, 72, 200}, .splits = 1};
    const struct tmg_capacity capacity = {.sms = 132, .resident_blocks = 132};
    assert_int_equal(tmg_launch_cost(&binding, &capacity, cost), TMAGEN_OK);
    assert_true(cost[TMG_UNIT_STEPS] == 4 * 2);
    assert_true(cost[TMG_UNIT_TENSOR_FLOPS] == 4 * 2 * 2.0 * 64 * 64 * 128);
    assert_true(cost[TMG_UNIT_SHARED_BYTES] == 4 * 2 * (64 + 64) * 128 * 2);
    assert_true(cost[TMG_UNIT_L2_BYTES] == 2 * 2 * (100 + 72) * 200);
    assert_true(cost[TMG_UNIT_STORE_BYTES] == 4 * 64 * 64 * 2);
    assert_true(cost[TMG_UNIT_DRAM_BYTES] == 2 * (100 * 200 + 72 * 200 + 100 * 72));
    assert_true(cost[TMG_UNIT_FLOPS] == 0);
    tmg_manifest_free(manifest);
}

// ---- Tensor maps

static struct tmg_tensor_map_args seen;
static int answer;

static int record_map(void *state, const struct tmg_tensor_map_args *args,
                      struct tmg_tensor_map *map) {
    (void)state, (void)map;
    seen = *args;
    return answer ? tmg_fail(answer, "no") : TMAGEN_OK;
}

static const struct tmg_backend recorder = {.name = "recorder", .tensor_map = record_map};
static const tmagen_device device = {.backend = &recorder};

// A tensor [b, h, s, d] of fp32 whose s and h are swapped in memory.
static struct tmg_manifest swapped = {
    .name = "k",
    .tensors = (struct tmg_tensor[]){{.name = "q", .dtype = 2, .rank = 4}},
    .params = (struct tmg_param[]){{.kind = TMG_PARAM_TENSOR_MAP,
                                    .rows_apart = 1,
                                    .box = {1, 1, 64, 32},
                                    .element_strides = {1, 1, 2, 1},
                                    .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                                    .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                    .fill = 1}}};

static void test_driver_order_is_innermost_first(void **state) {
    (void)state;
    struct tmg_tensor_map map;
    const struct tmg_bound_tensor bound = {
        .data = 0x1000, .dims = {2, 8, 100, 32}, .strides = {25600, 32, 256, 1}};
    answer = 0;
    assert_int_equal(tmg_tensor_map_encode(&device, &swapped, &swapped.params[0], &bound, &map), 0);
    const struct tmg_tensor_map_args expected = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                                 .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                                                 .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                                 .fill = 1,
                                                 .rank = 4,
                                                 .address = 0x1000,
                                                 .dims = {32, 100, 8, 2},
                                                 .strides = {1024, 128, 102400},
                                                 .box = {32, 64, 1, 1},
                                                 .element_strides = {1, 2, 1, 1}};
    assert_memory_equal(&seen, &expected, sizeof seen);
}

// Rows in planes of a period: those of a matrix of 392 make two.
static void test_planes_of_rows(void **state) {
    (void)state;
    struct tmg_tensor_map map;
    struct tmg_manifest planes = {
        .name = "k",
        .tensors = (struct tmg_tensor[]){{.name = "a", .dtype = 2, .rank = 2}},
        .params = (struct tmg_param[]){
            {.rows_apart = 1, .period = 196, .box = {32, 4, 16}, .element_strides = {1, 1, 1}}}};
    struct tmg_bound_tensor bound = {.data = 0x1000, .dims = {392, 24}, .strides = {32, 1}};
    answer = 0;
    assert_int_equal(tmg_tensor_map_encode(&device, &planes, &planes.params[0], &bound, &map), 0);
    const struct tmg_tensor_map_args expected = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                                 .rank = 3,
                                                 .address = 0x1000,
                                                 .dims = {24, 196, 2},
                                                 .strides = {128, 128 * 196},
                                                 .box = {16, 4, 32},
                                                 .element_strides = {1, 1, 1}};
    assert_memory_equal(&seen, &expected, sizeof seen);
    bound.dims[0] = 195;  // not one whole
    assert_int_not_equal(tmg_tensor_map_encode(&device, &planes, &planes.params[0], &bound, &map),
                         0);
}

// Elements of four bits: two to a byte.
static void test_strides_of_halves_of_bytes(void **state) {
    (void)state;
    struct tmg_tensor_map map;
    struct tmg_manifest packed = {
        .name = "k",
        .tensors = (struct tmg_tensor[]){{.name = "q", .dtype = TMG_DTYPE_E2M1, .rank = 2}},
        .params =
            (struct tmg_param[]){{.rows_apart = 1, .box = {8, 128}, .element_strides = {1, 1}}}};
    const struct tmg_bound_tensor bound = {.data = 0x1000, .dims = {8, 256}, .strides = {320, 1}};
    answer = 0;
    assert_int_equal(tmg_tensor_map_encode(&device, &packed, &packed.params[0], &bound, &map), 0);
    assert_int_equal(seen.strides[0], 160);
}

// Bytes that hold elements of six bits, and whose rows must hold whole 128 of them.
static void test_spread_elements(void **state) {
    (void)state;
    struct tmg_tensor_map map;
    struct tmg_manifest bytes = {
        .name = "k",
        .tensors = (struct tmg_tensor[]){{.name = "q", .dtype = TMG_DTYPE_U8, .rank = 2}},
        .params = (struct tmg_param[]){
            {.rows_apart = 1, .box = {8, 128}, .element_strides = {1, 1}, .spread = 6}}};
    struct tmg_bound_tensor bound = {.data = 0x1000, .dims = {8, 192}, .strides = {224, 1}};
    answer = 0;
    assert_int_equal(tmg_tensor_map_encode(&device, &bytes, &bytes.params[0], &bound, &map), 0);
    assert_int_equal(seen.type, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
    assert_int_equal(seen.dims[0], 256);
    assert_int_equal(seen.strides[0], 224);
    bytes.params[0].spread = 4;
    assert_int_equal(tmg_tensor_map_encode(&device, &bytes, &bytes.params[0], &bound, &map), 0);
    assert_int_equal(seen.type, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B);
    assert_int_equal(seen.dims[0], 384);
    bound.dims[1] = 96;
    assert_int_not_equal(tmg_tensor_map_encode(&device, &bytes, &bytes.params[0], &bound, &map), 0);
    assert_non_null(strstr(tmagen_error_last(), "its rows must be whole 128 of spread elements"));
}

static const struct {
    struct tmg_bound_tensor bound;
    const char *words;
} wrong[] = {
    {{0x1008, {2, 8, 100, 32}, {25600, 32, 256, 1}},
     "tensor 'q': its address must be a multiple of 16"},
    {{0x1000, {2, 8, 0, 32}, {25600, 32, 256, 1}}, "tensor 'q': its dimensions must be 1 to 2^32"},
    {{0x1000, {2, 8, 100, 32}, {25600, 33, 256, 1}},
     "tensor 'q': its strides must be multiples of 16"},
    {{0x1000, {2, 8, 100, 32}, {(int64_t)1 << 38, 32, 256, 1}},
     "tensor 'q': its strides must be less"},
};

static void test_illegal_maps(void **state) {
    (void)state;
    struct tmg_tensor_map map;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        int status =
            tmg_tensor_map_encode(&device, &swapped, &swapped.params[0], &wrong[i].bound, &map);
        assert_int_equal(status, TMAGEN_ERROR_ARGUMENT);
        if (!strstr(tmagen_error_last(), wrong[i].words))
            fail_msg("said '%s'", tmagen_error_last());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_extents),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_driver_order_is_innermost_first),
        cmocka_unit_test(test_strides_of_halves_of_bytes),
        cmocka_unit_test(test_planes_of_rows),
        cmocka_unit_test(test_spread_elements),
        cmocka_unit_test(test_illegal_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
