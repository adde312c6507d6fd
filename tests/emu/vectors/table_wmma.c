// wmma: load, mma and store of all types, shapes and layouts that sm_90 has; PTX ISA 9.7.14.4.
// PTX leaves open which thread holds what; the emulator claims the hardware's order here too, as
// code that goes through a fragment's elements relies on it.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }

// Registers of a fragment, by their prefix.
#define LIST_1(p) "{" p "0}"
#define LIST_2(p) "{" p "0, " p "1}"
#define LIST_4(p) "{" p "0, " p "1, " p "2, " p "3}"
#define LIST_8(p) "{" p "0, " p "1, " p "2, " p "3, " p "4, " p "5, " p "6, " p "7}"
#define NAMES(p)  p "0, " p "1, " p "2, " p "3, " p "4, " p "5, " p "6, " p "7"
#define REGISTERS(type) \
    ".reg ." type " " NAMES("fa") ", " NAMES("fb") ", " NAMES("fc") ", " NAMES("fd") "; "

// A at sm, B 2 KiB and C 4 KiB behind it; D goes where C was.
#define FILLED(class, sum) \
    "fill(0,2048," class "); fill(2048,2048," class "); fill(4096,2048," sum "); bar.sync 0; "
#define LOAD(part, layout, shape, type, list, at) \
    "wmma.load." part ".sync.aligned." layout "." shape ".shared." type " " list ", [sm" at "; "
#define MMA(form, na, nb, nc, nd) \
    form " " LIST_##nd("fd") ", " LIST_##na("fa") ", " LIST_##nb("fb") ", " LIST_##nc("fc") "; "
#define STORE(layout, shape, type, list, stride)                              \
    "bar.sync 0; wmma.store.d.sync.aligned." layout "." shape ".shared." type \
    " [sm+4096], " list stride "; bar.sync 0; "

// [reg]: type of all registers; [op]: what stands between wmma.mma and .sync; [kind]: the types of
// mma, [ab], [c] and [d] those of the parts, of [na] .. registers. [class] and [sum] are values.
#define WMMA(a, b, shape, reg, op, kind, ab, na, nb, c, nc, d, nd, class, sum, bytes)              \
    EXACTLY(REGISTERS(reg) FILLED(class, sum) LOAD("a", a, shape, ab, LIST_##na("fa"), "]")        \
                LOAD("b", b, shape, ab, LIST_##nb("fb"), "+2048]") LOAD("c", "row", shape, c,      \
                                                                        LIST_##nc("fc"), "+4096]") \
                    MMA("wmma.mma" op ".sync.aligned." a "." b "." shape "." kind, na, nb, nc, nd) \
                        STORE("row", shape, d, LIST_##nd("fd"), "") "dump(4096," bytes ");")
#define LAYOUTS(...)                                                  \
    WMMA("row", "row", __VA_ARGS__), WMMA("row", "col", __VA_ARGS__), \
        WMMA("col", "row", __VA_ARGS__), WMMA("col", "col", __VA_ARGS__)
#define F16(shape, class)                                                                         \
    LAYOUTS(shape, "b32", "", "f32.f32", "f16", 8, 8, "f32", 8, "f32", 8, class, "F", "1024"),    \
        LAYOUTS(shape, "b32", "", "f16.f16", "f16", 8, 8, "f16", 4, "f16", 4, class, "k", "512"), \
        WMMA("row", "col", shape, "b32", "", "f32.f16", "f16", 8, 8, "f16", 4, "f32", 8, class,   \
             "k", "1024"),                                                                        \
        WMMA("row", "col", shape, "b32", "", "f16.f32", "f16", 8, 8, "f32", 8, "f16", 4, class,   \
             "F", "512")
#define BF16(shape, na, nb)                                                                      \
    LAYOUTS(shape, "b32", "", "f32.bf16.bf16.f32", "bf16", na, nb, "f32", 8, "f32", 8, "K", "F", \
            "1024")
#define INT8(shape, type, na, nb)                                                                 \
    LAYOUTS(shape, "b32", "", "s32." type "." type ".s32", type, na, nb, "s32", 8, "s32", 8, "i", \
            "i", "1024"),                                                                         \
        WMMA("row", "col", shape, "b32", "", "s32." type "." type ".s32.satfinite", type, na, nb, \
             "s32", 8, "s32", 8, "i", "i", "1024")
#define SMALL(shape, op, kind, ab) \
    WMMA("row", "col", shape, "b32", op, kind, ab, 1, 1, "s32", 2, "s32", 2, "i", "i", "256")
#define F64(rounding, class, sum)                                                             \
    LAYOUTS("m8n8k4", "f64", "", rounding "f64.f64.f64.f64", "f64", 1, 1, "f64", 2, "f64", 2, \
            class, sum, "512")

// Columns and strides of the accumulators, with a gap behind each line.
#define STRIDED(layout, shape, stride)                                                          \
    EXACTLY(                                                                                    \
        REGISTERS("b32") FILLED("k", "F") LOAD("a", "row", shape, "f16", LIST_8("fa"), "], 24") \
            LOAD("b", "col", shape, "f16", LIST_8("fb"), "+2048], 40")                          \
                LOAD("c", layout, shape, "f32", LIST_8("fc"), "+4096], " stride)                \
                    MMA("wmma.mma.sync.aligned.row.col." shape ".f32.f32", 8, 8, 8, 8)          \
                        STORE(layout, shape, "f32", LIST_8("fd"), ", " stride) "dump(4096,2048);")

// What a thread holds.
#define HELD(part, shape, type, count)                                                     \
    EXACTLY("fill(0,2048,i); bar.sync 0; wmma.load." part ".sync.aligned.<row|col>." shape \
            ".shared." type " ={" count "i}, [sm];")
#define GIVEN(shape, type, count, class, bytes)                          \
    EXACTLY("wmma.store.d.sync.aligned.<row|col>." shape ".shared." type \
            " [sm], ${" count class "}; bar.sync 0; dump(0," bytes ");")
#define GENERIC                                                                              \
    "gfill(0,1024,K); bar.sync 0; .reg .b64 p; cvta.global.u64 p, g; .reg .b32 a, b, c, d; " \
    "wmma.load.a.sync.aligned.row.m16n16k16.bf16 {a, b, c, d}, [p], 16; "                    \
    ".reg .b32 e, f, h, k; "                                                                 \
    "wmma.load.b.sync.aligned.col.m16n16k16.global.bf16 {e, f, h, k}, [g+512]; "             \
    "bar.sync 0; wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 ={8f}, "          \
    "{a, b, c, d}, {e, f, h, k}, ${8F}; wmma.store.d.sync.aligned.col.m16n16k16.f32 [p], "   \
    "{r0, r1, r2, r3, r4, r5, r6, r7}; bar.sync 0; gdump(0,1024);"
#define SHAPES "<m16n16k16|m32n8k16|m8n32k16>"

static const struct vector_row wmma_rows[] = {
    F16("m16n16k16", "k"),
    F16("m32n8k16", "k"),
    F16("m8n32k16", "k"),
    F16("m16n16k16", "X"),
    BF16("m16n16k16", 4, 4),
    BF16("m32n8k16", 8, 2),
    BF16("m8n32k16", 2, 8),
    LAYOUTS("m16n16k8", "b32", "", "f32.tf32.tf32.f32", "tf32", 4, 4, "f32", 8, "f32", 8, "t", "F",
            "1024"),
    LAYOUTS("m16n16k8", "b32", "", "f32.tf32.tf32.f32", "tf32", 4, 4, "f32", 8, "f32", 8, "F", "F",
            "1024"),
    INT8("m16n16k16", "s8", 2, 2),
    INT8("m16n16k16", "u8", 2, 2),
    INT8("m32n8k16", "s8", 4, 1),
    INT8("m32n8k16", "u8", 4, 1),
    INT8("m8n32k16", "s8", 1, 4),
    INT8("m8n32k16", "u8", 1, 4),
    SMALL("m8n8k32", "", "s32.s4.s4.s32", "s4"),
    SMALL("m8n8k32", "", "s32.u4.u4.s32", "u4"),
    SMALL("m8n8k32", "", "s32.s4.s4.s32.satfinite", "s4"),
    SMALL("m8n8k128", ".xor.popc", "s32.b1.b1.s32", "b1"),
    SMALL("m8n8k128", ".and.popc", "s32.b1.b1.s32", "b1"),
    F64("", "D", "D"),
    F64("rn.", "d", "d"),
    STRIDED("row", "m16n16k16", "20"),
    STRIDED("col", "m16n16k16", "24"),
    STRIDED("row", "m32n8k16", "12"),
    STRIDED("col", "m8n32k16", "12"),
    HELD("<a|b>", SHAPES, "f16", "8"),
    HELD("<a|b>", "m16n16k16", "bf16", "4"),
    HELD("<a|b>", "m16n16k8", "tf32", "4"),
    HELD("<a|b>", "m16n16k16", "<s8|u8>", "2"),
    HELD("c", SHAPES, "f16", "4"),
    HELD("c", SHAPES, "<f32|s32>", "8"),
    HELD("c", "m16n16k8", "f32", "8"),
    GIVEN(SHAPES, "f16", "4", "X", "512"),
    GIVEN(SHAPES, "<f32|s32>", "8", "f", "1024"),
    // from and to global memory, by generic addresses
    EXACTLY(GENERIC),
};

const struct vector_table wmma_table = TABLE(wmma, 32, 2, 4, true, 0);
