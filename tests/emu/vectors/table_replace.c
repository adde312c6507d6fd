// Tensor maps that a kernel changes: tensormap.replace of each field, tensormap.cp_fenceproxy, then
// a load through the new map; PTX ISA 9.7.9.28 and 9.7.13.17. All exact. One CTA, as all maps are
// of the first one's memory.
#include "tests/emu/vectors/tma.h"

MAP(plane, UINT16, NONE, 0, 2, .dims = {64, 40}, .strides = {128}, .box = {16, 16},
    .element_strides = ONES);
MAP(halves, FLOAT16, NONE, 0, 2, .dims = {64, 40}, .strides = {128}, .box = {16, 16},
    .element_strides = ONES);
MAP(cube, UINT32, NONE, 0, 3, .dims = {8, 7, 5}, .strides = {32, 224}, .box = {4, 8, 4},
    .element_strides = ONES);

// The map's bytes, by 16 threads; the copy is changed by one.
#define COPIED                                                                                    \
    " .reg .b64 v, from, p, new; .reg .pred few; setp.lt.u32 few, tid, 16; shl.b32 word, tid, 3;" \
    " cvt.u64.u32 from, word; add.u64 from, from, map; mov.u32 n, sm; add.u32 word, word, n;"     \
    " @few ld.b64 v, [from]; @few st.shared.b64 [word+32768], v; cvta.global.u64 p, g;"           \
    " add.u64 new, p, 32768; bar.sync 0; "
#define REPLACE_AS(field, type, value) \
    "@q tensormap.replace.tile." field ".shared::cta.b1024." type " [sm+32768], " value "; "
#define REPLACE(field, value) REPLACE_AS(field, "b32", value)
#define PUBLISH                                                                             \
    "bar.sync 0; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu" \
    ".sync.aligned [g+32768], [sm+32768], 128;" FETCH
#define FETCH " fence.proxy.tensormap::generic.acquire.gpu [new], 128; "
#define THROUGH(tensor, class, change, dim, at, bytes)                                          \
    START "gfill(0," tensor "," class "); " ARM(bytes) COPIED change                            \
        "@q cp.async.bulk.tensor." dim                                                          \
        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [sm], [new, {" at "}], " BAR \
        ";" AWAIT "dump(0," bytes "); bar.sync 0; @q mbarrier.inval.shared.b64 " BAR            \
        "; bar.sync 0;"
#define CHANGED(change, at, bytes) THROUGH("5120", "i", change PUBLISH, "2d", at, bytes)

static const struct vector_row replace_rows[] = {
    MAPPED(plane, CHANGED("", "<0, 0|56, 30>", "512")),
    MAPPED(plane,
           CHANGED("add.u64 v, p, 1280; " REPLACE_AS("global_address", "b64", "v"), "8, 3", "512")),
    MAPPED(plane, CHANGED(REPLACE("box_dim", "0, 8") REPLACE("box_dim", "1, 8"), "8, 36", "128")),
    MAPPED(plane, CHANGED(REPLACE("box_dim", "0, 32") REPLACE("box_dim", "1, 8"), "8, 36", "512")),
    MAPPED(plane, CHANGED(REPLACE("global_dim", "<0, 40|1, 20>"), "32, 16", "512")),
    MAPPED(plane, CHANGED("mov.b64 v, <144|160>; " REPLACE_AS("global_stride", "b64", "0, v"),
                          "8, 3", "512")),
    MAPPED(plane, CHANGED(REPLACE("element_stride", "0, 2"), "8, 3", "512")),
    MAPPED(plane, CHANGED(REPLACE("element_stride", "1, 2"), "8, 3", "256")),
    MAPPED(plane, CHANGED(REPLACE("swizzle_mode", "<0|1>"), "8, 3", "512")),
    MAPPED(plane, CHANGED(REPLACE("box_dim", "0, 64") REPLACE("box_dim", "1, 8")
                              REPLACE("swizzle_mode", "3"),
                          "0, 3", "1024")),
    MAPPED(plane,
           CHANGED(REPLACE("elemtype", "0") REPLACE("interleave_layout", "0"), "16, 30", "256")),
    MAPPED(plane, CHANGED(REPLACE("elemtype", "<1|6|10>"), "8, 30", "512")),
    MAPPED(plane, CHANGED(REPLACE("elemtype", "<2|3|7>"), "4, 30", "1024")),
    MAPPED(halves, CHANGED(REPLACE("fill_mode", "<0|1>"), "56, 30", "512")),
    MAPPED(cube, THROUGH("1152", "i", REPLACE("rank", "1") PUBLISH, "2d", "4, 5", "128")),
    // a map in global memory, changed there
    MAPPED(plane,
           THROUGH("5120", "i",
                   "@few ld.shared.b64 v, [word+32768]; .reg .b64 to; cvt.u64.u32 to, tid;"
                   " shl.b64 to, to, 3; add.u64 to, to, new; @few st.b64 [to], v; bar.sync 0;"
                   " @q tensormap.replace.tile.global_dim.global.b1024.b32 [g+32768], 1, 20;"
                   " @q tensormap.replace.tile.box_dim.b1024.b32 [new], 0, 24;"
                   " fence.proxy.tensormap::generic.release.gpu; bar.sync 0;" FETCH,
                   "2d", "8, 12", "768")),
};

const struct vector_table replace_table = TABLE(replace, 32, 1, 1, true, 0);
