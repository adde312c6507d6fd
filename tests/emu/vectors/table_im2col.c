// Bulk copies through im2col tensor maps: columns of pixels that wrap at a bounding box, filter
// offsets, steps, edges, fills; PTX ISA 5.5.4 and 9.7.9.25. All exact.
#include "tests/emu/vectors/tma.h"

#define IMAGES(name, type, swizzle, fill, rank, channels_, pixels_, ...)                           \
    MAP(name, type, swizzle, fill, rank, .im2col = true, .channels = channels_, .pixels = pixels_, \
        __VA_ARGS__)
// channels, width, height, images: 16-bit, of 32 bytes a pixel; for a filter of 3 x 3 and a border
// of 1; without a border; with steps of 2
#define PICTURE .dims = {16, 7, 5, 2}, .strides = {32, 224, 1120}
#define BORDER  .lower = {-1, -1}, .upper = {-1, -1}
IMAGES(border, UINT16, NONE, 0, 4, 8, 32, PICTURE, BORDER, .element_strides = ONES);
IMAGES(border_nan, FLOAT16, NONE, 1, 4, 8, 32, PICTURE, BORDER, .element_strides = ONES);
IMAGES(border_32, BFLOAT16, 32B, 0, 4, 16, 16, PICTURE, BORDER, .element_strides = ONES);
IMAGES(inside, UINT16, NONE, 0, 4, 16, 16, PICTURE, .lower = {0, 0}, .upper = {-2, -2},
       .element_strides = ONES);
IMAGES(steps, UINT16, NONE, 0, 4, 8, 16, PICTURE, BORDER, .element_strides = {1, 2, 2, 1});
IMAGES(whole, UINT16, NONE, 0, 4, 8, 16, PICTURE, .element_strides = ONES);
IMAGES(wide, UINT16, 128B, 0, 4, 64, 16, .dims = {64, 5, 3, 2}, .strides = {128, 640, 1920}, BORDER,
       .element_strides = ONES);
IMAGES(signal, FLOAT32, NONE, 1, 3, 4, 16, .dims = {8, 11, 3}, .strides = {32, 352}, .lower = {-2},
       .upper = {-2}, .element_strides = ONES);
IMAGES(volume, INT32, NONE, 0, 5, 4, 32, .dims = {8, 4, 3, 3, 2}, .strides = {32, 128, 384, 1152},
       .lower = {-1, -1, -1}, .upper = {-1, -1, -1}, .element_strides = ONES);

// without borders, of other types
IMAGES(whole_u32, UINT32, NONE, 0, 4, 4, 16, .dims = {8, 7, 5, 2}, .strides = {32, 224, 1120},
       .element_strides = ONES);
IMAGES(whole_f16, FLOAT16, NONE, 0, 4, 8, 16, PICTURE, .element_strides = ONES);
IMAGES(whole_3d, FLOAT32, NONE, 0, 3, 4, 16, .dims = {8, 11, 3}, .strides = {32, 352},
       .element_strides = ONES);
IMAGES(whole_5d, INT32, NONE, 0, 5, 4, 16, .dims = {8, 4, 3, 3, 2}, .strides = {32, 128, 384, 1152},
       .element_strides = ONES);

#define IM2COL(tensor, class, dim, at, offsets, bytes)                                        \
    START "gfill(0," tensor                                                                   \
          "," class "); .reg .b16 one, two, none; mov.b16 one, 1;"                            \
                    " mov.b16 two, 2; mov.b16 none, 0; " ARM(                                 \
                        bytes) "@q cp.async.bulk.tensor." dim                                 \
                               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes " \
                               "[sm], [map, {" at "}], " BAR ", {" offsets "};" AWAIT         \
                               "dump(0," bytes "); bar.sync 0;"                               \
                               " @q mbarrier.inval.shared.b64 " BAR "; bar.sync 0;"

static const struct vector_row im2col_rows[] = {
    MAPPED(border,
           IM2COL("2304", "i", "4d", "0, -1, -1, 0", "<none, none|one, two|two, one>", "512")),
    MAPPED(border, IM2COL("2304", "i", "4d", "8, 3, 2, <0|1>", "<one, one|two, two>", "512")),
    MAPPED(border, IM2COL("2304", "i", "4d", "0, 5, 3, 1", "one, none", "512")),
    MAPPED(border_nan,
           IM2COL("2304", "X", "4d", "8, -1, <-1|2>, 1", "<none, one|two, two>", "512")),
    MAPPED(border_32, IM2COL("2304", "Y", "4d", "0, <-1|4>, 1, 0", "<none, none|two, one>", "512")),
    MAPPED(inside,
           IM2COL("2304", "i", "4d", "0, <0, 0, 0|3, 1, 1>", "<none, none|two, one>", "512")),
    MAPPED(steps, IM2COL("2304", "i", "4d", "0, -1, <-1, 0|1, 1>", "<none, none|one, two>", "256")),
    MAPPED(wide,
           IM2COL("3840", "i", "4d", "0, <-1|1>, <-1, 0|1, 1>", "<none, none|one, two>", "2048")),
    MAPPED(signal, IM2COL("1152", "f", "3d", "<0, -2, 0|4, 5, 1|0, 3, 2>", "<none|two>", "256")),
    MAPPED(volume, IM2COL("2304", "i", "5d", "<0|4>, -1, <-1, -1, 0|1, 0, 1>",
                          "<none, none, none|one, two, one>", "512")),
    // pixels, coordinates and channels as they are stored
    MAPPED(whole,
           SAVE("2304", "i", "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group",
                "4d", "<0, 0, 0, 0|8, 5, 2, 0|8, 3, 4, 1>", "256")),
    MAPPED(whole_3d, SAVE("1152", "f",
                          "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs"
                          ".bulk_group",
                          "3d", "<0, 0, 0|4, 9, 1>", "256")),
    MAPPED(whole_5d, SAVE("2304", "i",
                          "cp.async.bulk.tensor.5d.global.shared::cta.im2col_no_offs"
                          ".bulk_group",
                          "5d", "<0, 0, 0, 0, 0|4, 2, 1, 2, 0>", "256")),
// reductions, policies, shared::cta, prefetches
#define PIXELS "cp.async.bulk.tensor.4d."
#define COUNTS ".mbarrier::complete_tx::bytes"
#define STEPS  ".reg .b16 one, two, none; mov.b16 one, 1; mov.b16 two, 2; mov.b16 none, 0; "
    MAPPED(border, STEPS LOAD_BY(PIXELS "shared::cta.global.im2col" COUNTS, "2304", "i",
                                 "8, 3, 2, 0", "512", ", {two, one}")),
    MAPPED(border,
           STEPS LOAD_BY(PIXELS "shared::<cta|cluster>.global.im2col" COUNTS ".L2::cache_hint",
                         "2304", "i", "8, 3, 2, 0", "512", ", {two, one}, pol")),
    MAPPED(border, STEPS LOAD_BY("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [map, {0, -1, "
                                 "-1, 0}], {none, one}; @q cp.async.bulk.prefetch.tensor.4d.L2"
                                 ".global.im2col.L2::cache_hint [map, {8, 3, 2, 0}], {two, one},"
                                 " pol; @q " PIXELS "shared::cluster.global.im2col" COUNTS,
                                 "2304", "i", "8, 3, 2, 0", "512", ", {two, one}")),
    MAPPED(whole, SAVE_BY(PIXELS "global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint",
                          "2304", "i", "8, 3, 4, 1", "256", ", pol")),
#define REDUCES "cp.reduce.async.bulk.tensor."
#define NO_OFFS ".im2col_no_offs.bulk_group"
    MAPPED(whole_u32,
           SAVE_BY(REDUCES "4d.global.shared::cta.<add|min|max|inc|dec|and|or|xor>" NO_OFFS, "2304",
                   "i", "<0, 0, 0, 0|4, 3, 4, 1>", "256", "")),
    MAPPED(whole_f16,
           SAVE_BY(REDUCES "4d.global.shared::cta.<add|min|max>" NO_OFFS ".L2::cache_hint", "2304",
                   "X", "8, 5, 2, 0", "256", ", pol")),
    MAPPED(whole_3d,
           SAVE_BY(REDUCES "3d.global.shared::cta.add" NO_OFFS, "1152", "f", "4, 9, 1", "256", "")),
    MAPPED(whole_5d, SAVE_BY(REDUCES "5d.global.shared::cta.<add|min>" NO_OFFS, "2304", "i",
                             "4, 2, 1, 2, 0", "256", "")),
};

const struct vector_table im2col_table = TABLE(im2col, 32, 1, 1, true, 0);
