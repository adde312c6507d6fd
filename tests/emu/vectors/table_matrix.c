// mma.sync of all types and shapes that sm_90 has, ldmatrix, stmatrix, movmatrix; PTX ISA 9.7.14.
// PTX leaves the order of a float sum open; the emulator claims the hardware's, so all are exact.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define MMA(shape, types, d, a, b, c)                                                             \
    EXACTLY("mma.sync.aligned." shape ".row.col." types " ={" d "}, ${" a "}, ${" b "}, ${" c "}" \
            ";")

static const struct vector_row matrix_rows[] = {
    MMA("m16n8k8", "f16.f16.f16.f16", "2X", "2k", "1k", "2k"),
    MMA("m16n8k8", "f32.f16.f16.f32", "4f", "2k", "1k", "4F"),
    MMA("m16n8k16", "f16.f16.f16.f16", "2X", "4k", "2k", "2k"),
    MMA("m16n8k16", "f32.f16.f16.f32", "4f", "4k", "2k", "4F"),
    MMA("m16n8k16", "f16.f16.f16.f16", "2X", "4X", "2X", "2X"),
    MMA("m16n8k16", "f32.f16.f16.f32", "4f", "4X", "2X", "4f"),
    MMA("m16n8k8", "f32.bf16.bf16.f32", "4f", "2K", "1K", "4F"),
    MMA("m16n8k16", "f32.bf16.bf16.f32", "4f", "4K", "2K", "4F"),
    MMA("m16n8k16", "f32.bf16.bf16.f32", "4f", "4Y", "2Y", "4f"),
    MMA("m16n8k4", "f32.tf32.tf32.f32", "4f", "2t", "1t", "4F"),
    MMA("m16n8k8", "f32.tf32.tf32.f32", "4f", "4t", "2t", "4F"),
    MMA("m16n8k8", "f32.tf32.tf32.f32", "4f", "4F", "2F", "4F"),
    MMA("m16n8k8", "f32.tf32.tf32.f32", "4f", "4f", "2f", "4f"),
    MMA("m16n8k32", "f32.e4m3.e4m3.f32", "4f", "4g", "2g", "4F"),
    MMA("m16n8k32", "f32.e4m3.e5m2.f32", "4f", "4g", "2G", "4F"),
    MMA("m16n8k32", "f32.e5m2.e4m3.f32", "4f", "4G", "2g", "4F"),
    MMA("m16n8k32", "f32.e5m2.e5m2.f32", "4f", "4G", "2G", "4F"),
    MMA("m16n8k32", "f32.<e4m3|e5m2>.<e4m3|e5m2>.f32", "4f", "4i", "2i", "4f"),
    MMA("m16n8k16", "f32.<e4m3|e5m2>.<e4m3|e5m2>.f32", "4f", "2g", "1g", "4F"),
    MMA("m16n8k16", "f32.<e4m3|e5m2>.<e4m3|e5m2>.f32", "4f", "2i", "1i", "4f"),
    MMA("m16n8k16", "f16.<e4m3|e5m2>.<e4m3|e5m2>.f16", "2X", "2g", "1g", "2k"),
    MMA("m16n8k16", "f16.<e4m3|e5m2>.<e4m3|e5m2>.f16", "2X", "2i", "1i", "2X"),
    MMA("m16n8k32", "f16.<e4m3|e5m2>.<e4m3|e5m2>.f16", "2X", "4g", "2g", "2k"),
    MMA("m16n8k32", "f16.<e4m3|e5m2>.<e4m3|e5m2>.f16", "2X", "4i", "2i", "2X"),
    MMA("m8n8k16", "s32.<s8|u8>.<s8|u8>.s32", "2i", "1i", "1i", "2i"),
    MMA("m16n8k16", "s32.<s8|u8>.<s8|u8>.s32", "4i", "2i", "1i", "4i"),
    MMA("m16n8k32", "s32.<s8|u8>.<s8|u8>.s32", "4i", "4i", "2i", "4i"),
    EXACTLY("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.<s8|u8>.s32 ={4i}, ${4i}, ${2i}, "
            "${4i};"),
    EXACTLY("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.<and|xor>.popc ={2i}, ${1i}, ${1i}, "
            "${2i};"),
    EXACTLY("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.<and|xor>.popc ={4i}, ${2i}, ${1i}, "
            "${4i};"),
    EXACTLY("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.<and|xor>.popc ={4i}, ${4i}, ${2i}, "
            "${4i};"),
    MMA("m8n8k4", "f64.f64.f64.f64", "2d", "1D", "1D", "2D"),
    MMA("m16n8k4", "f64.f64.f64.f64", "4d", "2D", "1D", "4D"),
    MMA("m16n8k8", "f64.f64.f64.f64", "4d", "4D", "2D", "4D"),
    MMA("m16n8k16", "f64.f64.f64.f64", "4d", "8D", "4D", "4D"),
    EXACTLY("fill(0,512,i); bar.sync 0; ldmatrix.sync.aligned.m8n8.x1<|.trans>.shared.b16 ={1i}, "
            "[s16];"),
    EXACTLY("fill(0,512,i); bar.sync 0; ldmatrix.sync.aligned.m8n8.x2<|.trans>.shared.b16 ={2i}, "
            "[s16];"),
    EXACTLY("fill(0,512,i); bar.sync 0; ldmatrix.sync.aligned.m8n8.x4<|.trans>.shared.b16 ={4i}, "
            "[s16];"),
    EXACTLY("fill(0,512,i); bar.sync 0; xor.b32 word, s16, 0x90; "
            "ldmatrix.sync.aligned.m8n8.x4<|.trans>.shared.b16 ={4i}, [word];"),
    EXACTLY("fill(0,512,i); bar.sync 0; stmatrix.sync.aligned.m8n8.x1<|.trans>.shared.b16 [s16], "
            "${1i}; bar.sync 0; dump(0,512);"),
    EXACTLY("fill(0,512,i); bar.sync 0; stmatrix.sync.aligned.m8n8.x2<|.trans>.shared.b16 [s16], "
            "${2i}; bar.sync 0; dump(0,512);"),
    EXACTLY("fill(0,512,i); bar.sync 0; stmatrix.sync.aligned.m8n8.x4<|.trans>.shared.b16 [s16], "
            "${4i}; bar.sync 0; dump(0,512);"),
    EXACTLY("movmatrix.sync.aligned.m8n8.trans.b16 =i, $i;"),
#define INT4(shape, d, a, b)                                                                     \
    EXACTLY("mma.sync.aligned." shape ".row.col<|.satfinite>.s32.<s4|u4>.<s4|u4>.s32 ={" d "}, " \
            "${" a "}, ${" b "}, ${" d "};")
    INT4("m8n8k32", "2i", "1i", "1i"),
    INT4("m16n8k32", "4i", "2i", "1i"),
    INT4("m16n8k64", "4i", "4i", "2i"),
    EXACTLY("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.<s8|u8>.<s8|u8>.s32 ={2i}, ${1i}, "
            "${1i}, ${2i};"),
    EXACTLY("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.<s8|u8>.<s8|u8>.s32 ={4i}, ${2i}, "
            "${1i}, ${4i};"),
    EXACTLY("mma.sync.aligned.m16n8k32.row.col.s32.<s8|u8>.u8.s32.satfinite ={4i}, ${4i}, ${2i}, "
            "${4i};"),
    EXACTLY("mma.sync.aligned.m16n8k8.row.col.rn.f64.f64.f64.f64 ={4d}, ${4D}, ${2D}, ${4D};"),
    EXACTLY("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rn ={2d}, ${1d}, ${1d}, ${2d};"),
    EXACTLY("fill(0,512,i); bar.sync 0; ldmatrix.sync.aligned.m8n8.x4<|.trans>.shared::cta.b16 "
            "={4i}, [s16];"),
    EXACTLY("fill(0,512,i); bar.sync 0; cvt.u64.u32 wide, s16; cvta.shared.u64 wide, wide;"
            " ldmatrix.sync.aligned.m8n8.x2<|.trans>.b16 ={2i}, [wide]; bar.sync 0;"
            " stmatrix.sync.aligned.m8n8.x2<|.trans>.b16 [wide], ${2i}; bar.sync 0; dump(0,512);"),
    MMA("m16n8k8", "f32.bf16.bf16.f32", "4f", "2Y", "1Y", "4f"),
    MMA("m16n8k8", "f32.f16.f16.f32", "4f", "2X", "1X", "4f"),
    MMA("m16n8k8", "f16.f16.f16.f16", "2X", "2X", "1X", "2X"),
    MMA("m16n8k4", "f32.tf32.tf32.f32", "4f", "2f", "1f", "4f"),
    MMA("m8n8k4", "f64.f64.f64.f64", "2d", "1d", "1d", "2d"),
    MMA("m16n8k16", "f64.f64.f64.f64", "4d", "8d", "4d", "4d"),
// half of A's elements
#define SPARSE(shape, types, d, a, b, c, selectors, metadata)                                    \
    EXACTLY(metadata "mma.sp<|::ordered_metadata>.sync.aligned." shape ".row.col." types " ={" d \
                     "}, ${" a "}, ${" b "}, ${" c "}, m, " selectors ";")
    SPARSE("m16n8k16", "f16.f16.f16.f16", "2X", "2k", "2k", "2k", "<0|1|2|3>", METADATA),
    SPARSE("m16n8k16", "f32.f16.f16.f32", "4f", "2k", "2k", "4F", "<0|1|2|3>", METADATA),
    SPARSE("m16n8k16", "f32.bf16.bf16.f32", "4f", "2K", "2K", "4F", "<0|1|2|3>", METADATA),
    SPARSE("m16n8k32", "f16.f16.f16.f16", "2X", "4k", "4k", "2k", "<0|1>", METADATA),
    SPARSE("m16n8k32", "f32.f16.f16.f32", "4f", "4k", "4k", "4F", "<0|1>", METADATA),
    SPARSE("m16n8k32", "f32.f16.f16.f32", "4f", "4X", "4X", "4f", "<0|1>", METADATA),
    SPARSE("m16n8k32", "f32.bf16.bf16.f32", "4f", "4K", "4K", "4F", "<0|1>", METADATA),
    SPARSE("m16n8k32", "f32.bf16.bf16.f32", "4f", "4Y", "4Y", "4f", "<0|1>", METADATA),
    SPARSE("m16n8k8", "f32.tf32.tf32.f32", "4f", "2F", "2F", "4F", "<0|1|2|3>", METADATA_TF32),
    SPARSE("m16n8k16", "f32.tf32.tf32.f32", "4f", "4F", "4F", "4F", "<0|1>", METADATA_TF32),
    SPARSE("m16n8k16", "f32.tf32.tf32.f32", "4f", "4f", "4f", "4f", "<0|1>", METADATA_TF32),
    SPARSE("m16n8k32", "s32.<s8|u8>.<s8|u8>.s32", "4i", "2i", "2i", "4i", "<0|1>", METADATA),
    SPARSE("m16n8k64", "s32.<s8|u8>.<s8|u8>.s32", "4i", "4i", "4i", "4i", "0", METADATA),
    EXACTLY(METADATA "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32"
                     ".<s8|u8>.s8.s32 ={4i}, ${4i}, ${4i}, ${4i}, m, 0;"),
    SPARSE("m16n8k64", "f32.<e4m3|e5m2>.<e4m3|e5m2>.f32", "4f", "4g", "4g", "4F", "0", METADATA),
};

const struct vector_table matrix_table = TABLE(matrix, 32, 4, 4, true, 0);
