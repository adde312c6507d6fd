// Bulk copies and tensor maps: boxes of 1 to 5 dimensions in and out, swizzles, strides, fills,
// reductions; PTX ISA 9.7.9.25. The tensor is the block's part of global memory. All exact.
#include "tests/emu/vectors/tma.h"

enum { F32_FTZ = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 + 1, TF32, TF32_FTZ };
#define PLANE(box_0, box_1) \
    .dims = {64, 40}, .strides = {128}, .box = {box_0, box_1}, .element_strides = ONES
MAP(plane_128, UINT16, 128B, 0, 2, PLANE(64, 16));
MAP(plane_64, UINT16, 64B, 0, 2, PLANE(32, 16));
MAP(plane_32, UINT16, 32B, 0, 2, PLANE(16, 16));
MAP(plane_none, UINT16, NONE, 0, 2, PLANE(24, 16));
MAP(plane_f16, FLOAT16, 128B, 1, 2, PLANE(64, 8));
MAP(plane_bf16, BFLOAT16, 64B, 1, 2, PLANE(32, 8));
MAP(strided, UINT16, NONE, 0, 2, .dims = {64, 40}, .strides = {128}, .box = {64, 16},
    .element_strides = {2, 4});
MAP(strided_128, UINT16, 128B, 0, 2, .dims = {64, 40}, .strides = {128}, .box = {64, 16},
    .element_strides = {1, 2});
#define WORDS .dims = {20, 12}, .strides = {80}, .box = {8, 8}, .element_strides = ONES
MAP(words_f32, FLOAT32, 32B, 1, 2, WORDS);
MAP(words_u32, UINT32, 32B, 0, 2, WORDS);
MAP(words_s32, INT32, NONE, 0, 2, WORDS);
#define SPECIAL(name, type_) \
    static const struct tmg_tensor_map_args name = {.type = type_, .rank = 2, WORDS}
SPECIAL(words_f32_ftz, F32_FTZ);
SPECIAL(words_tf32, TF32);
SPECIAL(words_tf32_ftz, TF32_FTZ);
#define LONGS .dims = {10, 12}, .strides = {80}, .box = {4, 8}, .element_strides = ONES
MAP(longs_u64, UINT64, NONE, 0, 2, LONGS);
MAP(longs_s64, INT64, NONE, 0, 2, LONGS);
MAP(longs_f64, FLOAT64, NONE, 1, 2, LONGS);
MAP(line, UINT32, NONE, 0, 1, .dims = {300}, .box = {64}, .element_strides = ONES);
MAP(cube, UINT8, NONE, 0, 3, .dims = {32, 7, 5}, .strides = {32, 224}, .box = {16, 4, 4},
    .element_strides = ONES);
MAP(cube_u32, UINT32, NONE, 0, 3, .dims = {8, 7, 5}, .strides = {32, 224}, .box = {4, 4, 4},
    .element_strides = ONES);
MAP(four, BFLOAT16, NONE, 0, 4, .dims = {16, 5, 4, 3}, .strides = {32, 160, 640},
    .box = {8, 2, 2, 4}, .element_strides = ONES);
MAP(five, INT32, NONE, 0, 5, .dims = {8, 3, 3, 3, 3}, .strides = {32, 96, 288, 864},
    .box = {4, 2, 2, 2, 2}, .element_strides = ONES);

#define STORE(tensor, class, dim, at, bytes)                                                    \
    SAVE(tensor, class, "cp.async.bulk.tensor." dim ".global.shared::cta.tile.bulk_group", dim, \
         at, bytes)
#define REDUCE(op, tensor, class, dim, at, bytes)                                                  \
    SAVE(tensor, class,                                                                            \
         "cp.reduce.async.bulk.tensor." dim ".global.shared::cta." op ".tile.bulk_group", dim, at, \
         bytes)
#define BULK(class, form)                                                                         \
    EXACTLY(START                                                                                 \
            "gfill(0,256," class "); fill(0,256," class "); fence.proxy.async; bar.sync 0;"       \
                                                        " .reg .b64 p; cvta.global.u64 p, g; @q " \
                                                        "cp.reduce.async.bulk.global.shared::cta" \
                                                        ".bulk_group." form                       \
                                                        " [p+16], [sm+32], 160; @q "              \
                                                        "cp.async.bulk.commit_group;"             \
                                                        " @q cp.async.bulk.wait_group 0; "        \
                                                        "fence.proxy.async; bar.sync 0; "         \
                                                        "gdump(0,256);")

static const struct vector_row tma_rows[] = {
    MAPPED(plane_128, LOAD("5120", "i", "2d", "<0, 0|-8, 3|16, 36>", "2048")),
    MAPPED(plane_64, LOAD("5120", "i", "2d", "<0, 0|40, -5>", "1024")),
    MAPPED(plane_32, LOAD("5120", "i", "2d", "<0, 0|-8, 30>", "512")),
    MAPPED(plane_none, LOAD("5120", "i", "2d", "<0, 0|48, 38|104, 0>", "768")),
    MAPPED(plane_f16, LOAD("5120", "X", "2d", "<32, 36|-72, 0>", "1024")),
    MAPPED(plane_bf16, LOAD("5120", "Y", "2d", "<48, -3>", "512")),
    MAPPED(strided, LOAD("5120", "i", "2d", "<0, 0|8, 30>", "512")),
    MAPPED(strided_128, LOAD("5120", "i", "2d", "<0, 1|8, 33>", "1024")),
    MAPPED(words_f32, LOAD("1024", "f", "2d", "<0, 0|16, 9|-4, -2>", "256")),
    MAPPED(words_f32_ftz, LOAD("1024", "<f|e>", "2d", "<0, 0|16, 9>", "256")),
    MAPPED(words_tf32, LOAD("1024", "<f|e>", "2d", "<0, 0|16, 9>", "256")),
    MAPPED(words_tf32_ftz, LOAD("1024", "<f|e>", "2d", "<0, 0|16, 9>", "256")),
    MAPPED(longs_u64, LOAD("1024", "i", "2d", "8, -1", "256")),
    MAPPED(longs_f64, LOAD("1024", "i", "2d", "<0, 0|8, 7>", "256")),
    MAPPED(line, LOAD("1280", "i", "1d", "<0|-4|272>", "256")),
    MAPPED(cube, LOAD("1152", "i", "3d", "<0, 0, 0|16, -1, 3|-16, 5, 4>", "256")),
    MAPPED(four, LOAD("2048", "i", "4d", "<0, 0, 0, 0|8, 4, -1, 1>", "256")),
    MAPPED(five, LOAD("2688", "i", "5d", "<0, 0, 0, 0, 0|4, 2, -1, 1, 2>", "256")),
    MAPPED(plane_128, STORE("5120", "i", "2d", "0, 0", "2048")),
    MAPPED(plane_64, STORE("5120", "i", "2d", "16, 4", "1024")),
    MAPPED(plane_32, STORE("5120", "i", "2d", "<56, 0>", "512")),
    MAPPED(plane_none, STORE("5120", "i", "2d", "<0, 0|48, 38>", "768")),
    MAPPED(strided_128, STORE("5120", "i", "2d", "<0, 1>", "1024")),
    MAPPED(line, STORE("1280", "i", "1d", "272", "256")),
    MAPPED(cube, STORE("1152", "i", "3d", "<0, 0, 0|16, 5, 3|32, 0, 0>", "256")),
    MAPPED(four, STORE("2048", "i", "4d", "<0, 0, 0, 0|8, 4, 3, 1>", "256")),
    MAPPED(five, STORE("2688", "i", "5d", "<0, 0, 0, 0, 0|4, 2, 1, 2, 2>", "256")),
    MAPPED(words_u32,
           REDUCE("<add|min|max|inc|dec|and|or|xor>", "1024", "i", "2d", "16, 5", "256")),
    MAPPED(words_s32, REDUCE("<add|min|max>", "1024", "i", "2d", "16, 5", "256")),
    MAPPED(words_f32, REDUCE("add", "1024", "<f|e>", "2d", "16, 5", "256")),
    MAPPED(words_f32_ftz, REDUCE("add", "1024", "<f|e>", "2d", "16, 5", "256")),
    MAPPED(longs_u64, REDUCE("<add|min|max|and|or|xor>", "1024", "i", "2d", "8, 5", "256")),
    MAPPED(longs_s64, REDUCE("<min|max>", "1024", "i", "2d", "8, 5", "256")),
    MAPPED(plane_f16, REDUCE("<add|min|max>", "5120", "X", "2d", "16, 36", "1024")),
    MAPPED(plane_bf16, REDUCE("<add|min|max>", "5120", "Y", "2d", "48, 36", "512")),
    MAPPED(line, REDUCE("<add|inc>", "1280", "i", "1d", "272", "256")),
    MAPPED(cube_u32, REDUCE("<add|xor>", "1152", "i", "3d", "4, 5, 3", "256")),
    MAPPED(four, REDUCE("<add|max>", "2048", "Y", "4d", "8, 4, 3, 1", "256")),
    MAPPED(five, REDUCE("<add|min>", "2688", "i", "5d", "4, 2, 1, 2, 2", "256")),
    EXACTLY(START "gfill(0,512,i); " ARM(
        "304") ".reg .b64 p; cvta.global.u64 p, g;"
               " @q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], "
               "[p+32], 304, " BAR ";" AWAIT
               "dump(0,256); bar.sync 0; @q mbarrier.inval.shared.b64 " BAR "; bar.sync 0;"),
    EXACTLY(START
            "gfill(0,512,i); fill(0,512,i); fence.proxy.async; bar.sync 0; .reg .b64 p;"
            " cvta.global.u64 p, g; @q cp.async.bulk.global.shared::cta.bulk_group [p+48], "
            "[sm+16], 208;"
            " @q cp.async.bulk.commit_group; @q cp.async.bulk.wait_group 0; fence.proxy.async;"
            " bar.sync 0; gdump(0,512);"),
    BULK("i", "<add|min|max>.<u32|s32|u64>"),
    BULK("i", "<min|max>.s64"),
    BULK("i", "<inc|dec>.u32"),
    BULK("i", "<and|or|xor>.<b32|b64>"),
    BULK("f", "add.f32"),
    BULK("i", "add.f64"),
    BULK("X", "add.noftz.f16"),
    BULK("Y", "add.noftz.bf16"),
    BULK("X", "<min|max>.f16"),
    BULK("Y", "<min|max>.bf16"),
// forms of the same: into shared::cta, without .tile, with a policy, after a prefetch
#define TENSOR "cp.async.bulk.tensor.2d."
#define COUNTS ".mbarrier::complete_tx::bytes"
    MAPPED(plane_64, LOAD_BY(TENSOR "shared::<cta|cluster>.global<|.tile>" COUNTS, "5120", "i",
                             "40, -5", "1024", "")),
    MAPPED(plane_64, LOAD_BY(TENSOR "shared::<cta|cluster>.global<|.tile>" COUNTS ".L2::cache_hint",
                             "5120", "i", "40, -5", "1024", ", pol")),
    MAPPED(plane_64, LOAD_BY("cp.async.bulk.prefetch.tensor.2d.L2.global<|.tile> [map, {0, 8}]; @q "
                             "cp.async.bulk.prefetch.tensor.2d.L2.global<|.tile>.L2::cache_hint "
                             "[map, {40, -5}], pol; @q prefetch.tensormap [map]; @q " TENSOR
                             "shared::cta.global" COUNTS,
                             "5120", "i", "40, -5", "1024", "")),
    MAPPED(plane_64,
           SAVE_BY(TENSOR "global.shared::cta.bulk_group", "5120", "i", "16, 4", "1024", "")),
    MAPPED(plane_64, SAVE_BY(TENSOR "global.shared::cta<|.tile>.bulk_group.L2::cache_hint", "5120",
                             "i", "16, 4", "1024", ", pol")),
#define REDUCES "cp.reduce.async.bulk.tensor.2d.global.shared::cta."
    MAPPED(words_u32, SAVE_BY(REDUCES "<add|max>.bulk_group", "1024", "i", "16, 5", "256", "")),
    MAPPED(words_u32, SAVE_BY(REDUCES "<add|xor><|.tile>.bulk_group.L2::cache_hint", "1024", "i",
                              "16, 5", "256", ", pol")),
    EXACTLY(START "gfill(0,512,i); " POLICY ARM(
        "304") ".reg .b64 p; cvta.global.u64 p, g;"
               " @q cp.async.bulk.prefetch.L2.global [p], 512; @q cp.async.bulk.prefetch.L2.global"
               ".L2::cache_hint [p], 64, pol; @q cp.async.bulk.shared::cta.global" COUNTS
               " [sm], [p+32], 304, " BAR ";" AWAIT "dump(0,256); bar.sync 0;"
               " @q mbarrier.inval.shared.b64 " BAR "; bar.sync 0;"),
    EXACTLY(START "gfill(0,512,i); " POLICY ARM(
        "304") ".reg .b64 p; cvta.global.u64 p, g;"
               " @q cp.async.bulk.shared::<cta|cluster>.global" COUNTS ".L2::cache_hint"
               " [sm], [p+32], 304, " BAR ", pol;" AWAIT "dump(0,256); bar.sync 0;"
               " @q mbarrier.inval.shared.b64 " BAR "; bar.sync 0;"),
    EXACTLY(START POLICY
            "gfill(0,512,i); fill(0,512,i); fence.proxy.async; bar.sync 0; .reg .b64 p;"
            " cvta.global.u64 p, g; @q cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint"
            " [p+48], [sm+16], 208, pol; @q cp.reduce.async.bulk.global.shared::cta.bulk_group"
            ".L2::cache_hint.<add.u32|and.b32|max.s64> [p+272], [sm+224], 208, pol;"
            " @q cp.async.bulk.commit_group; @q cp.async.bulk.wait_group.read 0;"
            " @q cp.async.bulk.wait_group 0; fence.proxy.async; bar.sync 0; gdump(0,512);"),
};

const struct vector_table tma_table = TABLE(tma, 32, 1, 1, true, 0);
