// wgmma: types, widths, layouts of both operands, A in registers, scales; PTX ISA 9.7.15.
// Whatever a descriptor addresses lies within 40 KiB of known values, so a wrong address shows.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }

// A at sm, B 8 KiB behind it; [a] and [b] are the descriptors' upper words and offsets.
#define OPERANDS(class, a, b)                                                                 \
    "fill(0,40960," class "); fence.proxy.async; bar.sync 0; .reg .b64 da, db; .reg .pred p;" \
                          " mov.u32 word, sm; shr.u32 word, word, 4; cvt.u64.u32 da, word; "  \
                          "add.u64 db, da, 512;"                                              \
                          " or.b64 da, da, " a "; or.b64 db, db, " b "; "
#define SCALE_D(choice) "mov.u32 word, " choice "; setp.ne.u32 p, word, 0; "
#define WGMMA(form)     "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned." form "; "
#define END             "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"

// Swizzle, stride and leading offset: K-major, where a row of 8 lines has no gap behind it ..
#define K128  "0x4000004000010000"
#define K64   "0x8000002000010000"
#define K32   "0xC000001000010000"
#define K0    "0x0000001000080000"
#define K_ALL "<" K128 "|" K64 "|" K32 "|" K0 ">"
// .. and M- or N-major, with twice as much from one 8, 16, 32 or 64 of MN to the next as needed.
#define MN128  "0x4000004000800000"
#define MN64   "0x8000002000400000"
#define MN32   "0xC000001000200000"
#define MN0    "0x0000001000080000"
#define MN_ALL "<" MN128 "|" MN64 "|" MN32 "|" MN0 ">"

#define PLAIN(shape, types, class, d)                \
    EXACTLY(OPERANDS(class, K128, K128) SCALE_D("1") \
                WGMMA(shape "." types " +{" d "}, da, db, p, 1, 1, 0, 0") END)
#define PLAIN_8(shape, types, class, d)              \
    EXACTLY(OPERANDS(class, K128, K128) SCALE_D("1") \
                WGMMA(shape "." types " +{" d "}, da, db, p, 1, 1") END)
#define INTEGER(shape, types, d)                                                                 \
    EXACTLY(OPERANDS("i", K128, K128) SCALE_D("1") WGMMA(shape "." types " +{" d "}, da, db, p") \
                END)

// Each warp writes the 2 KiB of its 16 rows anew, one of them some 50 us after the others.
#define OWN_ROWS                                                                                  \
    "and.b32 word, tid, 96; setp.eq.u32 p, word, <32|96>; @p nanosleep.u32 50000; shl.b32 word, " \
    "word, 6; .reg .b32 own; mov.u32 own, sm; add.u32 own, own, word; and.b32 word, tid, 31;"     \
    " shl.b32 word, word, 4; add.u32 own, own, word; st.shared.v4.b32 [own], ${4K};"              \
    " st.shared.v4.b32 [own+512], ${4K}; st.shared.v4.b32 [own+1024], ${4K};"                     \
    " st.shared.v4.b32 [own+1536], ${4K}; fence.proxy.async; "

static const struct vector_row wgmma_rows[] = {
    PLAIN("m64n8k16", "f32.bf16.bf16", "K", "4F"),
    PLAIN("m64n8k16", "f32.bf16.bf16", "Y", "4f"),
    PLAIN("m64n16k16", "f32.bf16.bf16", "K", "8F"),
    PLAIN("m64n24k16", "f32.bf16.bf16", "K", "12F"),
    PLAIN("m64n64k16", "f32.bf16.bf16", "K", "32F"),
    PLAIN("m64n104k16", "f32.bf16.bf16", "K", "52F"),
    PLAIN("m64n176k16", "f32.bf16.bf16", "K", "88F"),
    PLAIN("m64n256k16", "f32.bf16.bf16", "K", "128F"),
    PLAIN("m64n8k16", "f32.f16.f16", "k", "4F"),
    PLAIN("m64n8k16", "f32.f16.f16", "X", "4f"),
    PLAIN("m64n128k16", "f32.f16.f16", "k", "64F"),
    PLAIN("m64n8k16", "f16.f16.f16", "k", "2k"),
    PLAIN("m64n8k16", "f16.f16.f16", "X", "2X"),
    PLAIN("m64n128k16", "f16.f16.f16", "k", "32k"),
    PLAIN("m64n248k16", "f16.f16.f16", "k", "62k"),
    PLAIN_8("m64n8k8", "f32.tf32.tf32", "t", "4F"),
    PLAIN_8("m64n8k8", "f32.tf32.tf32", "F", "4F"),
    PLAIN_8("m64n8k8", "f32.tf32.tf32", "f", "4f"),
    PLAIN_8("m64n96k8", "f32.tf32.tf32", "F", "48F"),
    PLAIN_8("m64n8k32", "f32.e4m3.e4m3", "g", "4F"),
    PLAIN_8("m64n8k32", "f32.<e4m3|e5m2>.<e4m3|e5m2>", "i", "4f"),
    PLAIN_8("m64n8k32", "f32.e5m2.e5m2", "G", "4F"),
    PLAIN_8("m64n8k32", "f16.e4m3.e4m3", "g", "2k"),
    PLAIN_8("m64n8k32", "f16.<e4m3|e5m2>.<e4m3|e5m2>", "i", "2X"),
    PLAIN_8("m64n128k32", "f32.e4m3.e4m3", "g", "64F"),
    PLAIN_8("m64n192k32", "f32.e5m2.e5m2", "G", "96F"),
    PLAIN_8("m64n64k32", "f16.e4m3.e4m3", "g", "16k"),
    INTEGER("m64n8k32", "s32.<s8|u8>.<s8|u8>", "4i"),
    INTEGER("m64n128k32", "s32.s8.s8", "64i"),
    INTEGER("m64n256k32", "s32.u8.s8", "128i"),
    EXACTLY(OPERANDS("i", K128, K128) SCALE_D("1")
                WGMMA("m64n8k32.s32.s8.<s8|u8>.satfinite +{4i}, da, db, p") END),
    EXACTLY(OPERANDS("i", K128, K128) SCALE_D("1")
                WGMMA("m64n8k256.s32.b1.b1.and.popc +{4i}, da, db, p") END),
    // scales
    EXACTLY(OPERANDS("K", K128, K128) SCALE_D("<0|1>")
                WGMMA("m64n8k16.f32.bf16.bf16 +{4F}, da, db, p, <1|-1>, <1|-1>, 0, 0") END),
    EXACTLY(OPERANDS("X", K128, K128) SCALE_D("<0|1>")
                WGMMA("m64n8k16.f16.f16.f16 +{2X}, da, db, p, -1, 1, 0, 0") END),
    EXACTLY(OPERANDS("g", K128, K128) SCALE_D("0")
                WGMMA("m64n8k32.f32.e4m3.e4m3 +{4F}, da, db, p, 1, -1") END),
    // layouts
    EXACTLY(OPERANDS("K", K_ALL, K_ALL) SCALE_D("1")
                WGMMA("m64n32k16.f32.bf16.bf16 +{16F}, da, db, p, 1, 1, 0, 0") END),
    EXACTLY(OPERANDS("K", MN_ALL, K128) SCALE_D("1")
                WGMMA("m64n16k16.f32.bf16.bf16 +{8F}, da, db, p, 1, 1, 1, 0") END),
    EXACTLY(OPERANDS("k", K128, MN_ALL) SCALE_D("1")
                WGMMA("m64n72k16.f32.f16.f16 +{36F}, da, db, p, 1, 1, 0, 1") END),
    EXACTLY(OPERANDS("k", MN_ALL, MN_ALL) SCALE_D("1")
                WGMMA("m64n136k16.f16.f16.f16 +{34k}, da, db, p, 1, 1, 1, 1") END),
    EXACTLY(OPERANDS("t", K_ALL, K_ALL) SCALE_D("0")
                WGMMA("m64n40k8.f32.tf32.tf32 +{20F}, da, db, p, 1, 1") END),
    EXACTLY(OPERANDS("i", K_ALL, K_ALL) SCALE_D("1") WGMMA("m64n48k32.s32.s8.u8 +{24i}, da, db, p")
                END),
    // A in registers
    EXACTLY(OPERANDS("K", K128, "<" K128 "|" K32 ">") SCALE_D("1")
                WGMMA("m64n8k16.f32.bf16.bf16 +{4F}, ${4K}, db, p, 1, 1, 0") END),
    EXACTLY(OPERANDS("k", K128, MN64) SCALE_D("<0|1>")
                WGMMA("m64n32k16.f16.f16.f16 +{8k}, ${4k}, db, p, -1, 1, 1") END),
    EXACTLY(OPERANDS("F", K128, K128) SCALE_D("1")
                WGMMA("m64n8k8.f32.tf32.tf32 +{4F}, ${4F}, db, p, 1, 1") END),
    EXACTLY(OPERANDS("g", K128, K128) SCALE_D("1")
                WGMMA("m64n8k32.f32.e4m3.e4m3 +{4F}, ${4g}, db, p, 1, 1") END),
    EXACTLY(OPERANDS("i", K128, K128) SCALE_D("1") WGMMA("m64n16k32.s32.s8.s8 +{8i}, ${4i}, db, p")
                END),
    EXACTLY(OPERANDS("i", K128, K128) SCALE_D("1")
                WGMMA("m64n24k256.s32.b1.b1.and.popc +{12i}, ${4i}, db, p") END),
    // a tile's four steps along k: the descriptor starts within an atom
    EXACTLY(OPERANDS("K", K128, K128) SCALE_D("0")
                WGMMA("m64n16k16.f32.bf16.bf16 +{8F}, da, db, p, 1, 1, 0, "
                      "0") "add.u64 da, da, 2; add.u64 db, db, 2; "
                           "setp.eq.u32 p, word, 0; "
                           "wgmma.mma_async.sync.aligned.m64n16k16.f32."
                           "bf16.bf16 {r0, r1, r2, r3, r4, r5, r6, r7},"
                           " da, db, p, 1, 1, 0, 0; add.u64 da, da, 4; "
                           "add.u64 db, db, 4; "
                           "wgmma.mma_async.sync.aligned.m64n16k16.f32."
                           "bf16.bf16 {r0, r1, r2, r3, r4, r5, r6, r7},"
                           " da, db, p, 1, 1, 0, 0; " END),
    // rows of A are the warp's that they give results to: nobody waits for the warp that is late
    EXACTLY(OPERANDS("K", K128, K128) OWN_ROWS SCALE_D("1")
                WGMMA("m64n16k16.f32.bf16.bf16 +{8F}, da, db, p, 1, 1, 0, 0") END),
    // .satfinite before the types, b1 of more columns, 8-bit floats of all signs with f16 sums
    EXACTLY(OPERANDS("i", K128, K128) SCALE_D("1")
                WGMMA("m64n16k32.satfinite.s32.u8.<s8|u8> +{8i}, da, db, p") END),
    EXACTLY(OPERANDS("i", K128, K128) SCALE_D("<0|1>")
                WGMMA("m64n16k32.s32.<s8|u8>.u8.satfinite +{8i}, ${4i}, db, p") END),
    EXACTLY(OPERANDS("i", K_ALL, K_ALL) SCALE_D("1")
                WGMMA("m64n128k256.s32.b1.b1.and.popc +{64i}, da, db, p") END),
    EXACTLY(OPERANDS("g", K128, K128) SCALE_D("<0|1>")
                WGMMA("m64n16k32.f16.<e4m3|e5m2>.<e4m3|e5m2> +{4k}, ${4g}, db, p, <1|-1>, 1") END),
// half of A's elements; B is twice as deep
#define SPARSE(metadata, class, a, b, shape, types, d, selectors, rest)                          \
    EXACTLY(OPERANDS(class, a, b)                                                                \
                metadata SCALE_D("1") "wgmma.fence.sync.aligned; "                               \
                                      "wgmma.mma_async.sp.sync.aligned." shape "." types " +{" d \
                                      "}, da, db, m, " selectors ", p" rest "; " END)
#define B_ALL "<" K128 "|" K64 "|" K0 ">"
    SPARSE(METADATA, "K", K_ALL, K128, "m64n16k32", "f32.bf16.bf16", "8F", "<0|1>", ", 1, 1, 0, 0"),
    SPARSE(METADATA, "k", K128, B_ALL, "m64n16k32", "f32.f16.f16", "8F", "<0|1>", ", 1, 1, 0, 0"),
    SPARSE(METADATA, "X", K128, K128, "m64n8k32", "f32.f16.f16", "4f", "<0|1>", ", 1, 1, 0, 0"),
    SPARSE(METADATA, "k", MN_ALL, MN_ALL, "m64n64k32", "f16.f16.f16", "16k", "0", ", 1, 1, 1, 1"),
    SPARSE(METADATA, "K", K128, K64, "m64n128k32", "f32.bf16.bf16", "64F", "1", ", -1, 1, 0, 0"),
    SPARSE(METADATA_TF32, "F", K128, B_ALL, "m64n16k16", "f32.tf32.tf32", "8F", "<0|1>", ", 1, 1"),
    SPARSE(METADATA, "g", K128, B_ALL, "m64n16k64", "f32.<e4m3|e5m2>.<e4m3|e5m2>", "8F", "0",
           ", 1, 1"),
    SPARSE(METADATA, "g", K128, K128, "m64n32k64", "f16.<e4m3|e5m2>.<e4m3|e5m2>", "8k", "0",
           ", 1, 1"),
    SPARSE(METADATA, "i", K128, B_ALL, "m64n16k64", "s32.<s8|u8>.<s8|u8><|.satfinite>", "8i", "0",
           ""),
#define SPARSE_REGISTERS(metadata, class, b, shape, types, d, a, selectors, rest)             \
    EXACTLY(OPERANDS(class, K128, b)                                                          \
                metadata SCALE_D("<0|1>") "wgmma.fence.sync.aligned; "                        \
                                          "wgmma.mma_async.sp.sync.aligned." shape "." types  \
                                          " +{" d "}, ${" a "}, db, m, " selectors ", p" rest \
                                          "; " END)
    SPARSE_REGISTERS(METADATA, "K", K128, "m64n16k32", "f32.bf16.bf16", "8F", "4K", "<0|1>",
                     ", 1, 1, 0"),
    SPARSE_REGISTERS(METADATA_TF32, "F", K128, "m64n16k16", "f32.tf32.tf32", "8F", "4F", "<0|1>",
                     ", 1, 1"),
    SPARSE_REGISTERS(METADATA, "g", K128, "m64n16k64", "f32.e4m3.e4m3", "8F", "4g", "0", ", 1, -1"),
    SPARSE_REGISTERS(METADATA, "i", K128, "m64n16k64", "s32.s8.s8", "8i", "4i", "0", ""),
};

const struct vector_table wgmma_table = TABLE(wgmma, 128, 1, 2, true, 0);
