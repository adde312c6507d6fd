// cvt between all types that sm_90 converts, PTX ISA 9.7.9.21. All exact.
// Results of 8 bits are extended to the register, as PTX says; all rounding modes, sat, relu, ftz.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define INT16  "<u8|s8|u16|s16>"
#define INT32  "<u32|s32>"
#define INT64  "<u64|s64>"
#define TO_INT "<rni|rzi|rmi|rpi>"
#define ROUND  "<rn|rz|rm|rp>"

static const struct vector_row convert_rows[] = {
    EXACTLY("cvt." INT16 "." INT16 " =h, $h;"),
    EXACTLY("cvt." INT16 "." INT32 " =h, $i;"),
    EXACTLY("cvt." INT16 "." INT64 " =h, $l;"),
    EXACTLY("cvt." INT32 "." INT16 " =i, $h;"),
    EXACTLY("cvt." INT32 "." INT32 " =i, $i;"),
    EXACTLY("cvt." INT32 "." INT64 " =i, $l;"),
    EXACTLY("cvt." INT64 "." INT16 " =l, $h;"),
    EXACTLY("cvt." INT64 "." INT32 " =l, $i;"),
    EXACTLY("cvt." INT64 "." INT64 " =l, $l;"),
    EXACTLY("cvt.sat.<u8.s8|s8.u8|u8.u16|u8.s16|s8.u16|s8.s16|u16.s8|u16.s16|s16.u16> =h, $h;"),
    EXACTLY("cvt.sat." INT16 "." INT32 " =h, $i;"),
    EXACTLY("cvt.sat." INT16 "." INT64 " =h, $l;"),
    EXACTLY("cvt.sat.<u32.s32|s32.u32> =i, $i;"),
    EXACTLY("cvt.sat." INT32 "." INT64 " =i, $l;"),
    EXACTLY("cvt.sat.<u64.s64|s64.u64> =l, $l;"),
    EXACTLY("cvt." TO_INT "<|.ftz>." INT16 ".f32 =h, $f;"),
    EXACTLY("cvt." TO_INT "<|.ftz>." INT32 ".f32 =i, $f;"),
    EXACTLY("cvt." TO_INT "<|.ftz>." INT64 ".f32 =l, $f;"),
    EXACTLY("cvt." TO_INT "." INT16 ".f64 =h, $d;"),
    EXACTLY("cvt." TO_INT "." INT32 ".f64 =i, $d;"),
    EXACTLY("cvt." TO_INT "." INT64 ".f64 =l, $d;"),
    EXACTLY("cvt." TO_INT "." INT16 ".f16 =h, $x;"),
    EXACTLY("cvt." TO_INT "." INT32 ".f16 =i, $x;"),
    EXACTLY("cvt." TO_INT "." INT64 ".f16 =l, $x;"),
    EXACTLY("cvt." TO_INT ".<u16|s16>.bf16 =h, $y;"),
    EXACTLY("cvt." TO_INT "." INT32 ".bf16 =i, $y;"),
    EXACTLY("cvt." TO_INT "." INT64 ".bf16 =l, $y;"),
    EXACTLY("cvt.rzi.sat." INT32 ".f32 =i, $f;"),
    EXACTLY("cvt." ROUND ".f32." INT16 " =f, $h;"),
    EXACTLY("cvt." ROUND ".f32." INT32 " =f, $i;"),
    EXACTLY("cvt." ROUND ".f32." INT64 " =f, $l;"),
    EXACTLY("cvt." ROUND ".f64." INT16 " =d, $h;"),
    EXACTLY("cvt." ROUND ".f64." INT32 " =d, $i;"),
    EXACTLY("cvt." ROUND ".f64." INT64 " =d, $l;"),
    EXACTLY("cvt." ROUND ".f16." INT16 " =x, $h;"),
    EXACTLY("cvt." ROUND ".f16." INT32 " =x, $i;"),
    EXACTLY("cvt." ROUND ".f16." INT64 " =x, $l;"),
    EXACTLY("cvt." ROUND ".bf16.<u16|s16> =y, $h;"),
    EXACTLY("cvt." ROUND ".bf16." INT32 " =y, $i;"),
    EXACTLY("cvt." ROUND ".bf16." INT64 " =y, $l;"),
    EXACTLY("cvt.rn.sat.f32.s32 =f, $i;"),
    EXACTLY("cvt." ROUND "<|.ftz><|.sat>.f32.f64 =f, $d;"),
    EXACTLY("cvt<|.ftz><|.sat>.f64.f32 =d, $f;"),
    EXACTLY("cvt<|.ftz><|.sat>.f32.f16 =f, $x;"),
    EXACTLY("cvt<|.sat>.f64.f16 =d, $x;"),
    EXACTLY("cvt." ROUND "<|.ftz><|.sat>.f16.f32 =x, $f;"),
    EXACTLY("cvt." ROUND "<|.sat>.f16.f64 =x, $d;"),
    EXACTLY("cvt.<rn|rz>.relu.f16.f32 =x, $f;"),
    EXACTLY("cvt." ROUND ".bf16.f32 =y, $f;"),
    EXACTLY("cvt.<rn|rz>.relu.bf16.f32 =y, $f;"),
    EXACTLY("cvt." ROUND ".bf16.f64 =y, $d;"),
    EXACTLY("cvt." ROUND ".bf16.f16 =y, $x;"),
    EXACTLY("cvt." ROUND ".f16.bf16 =x, $y;"),
    EXACTLY("cvt.f32.bf16 =f, $y;"),
    EXACTLY("cvt.f64.bf16 =d, $y;"),
    EXACTLY("cvt.<rn|rz><|.relu>.f16x2.f32 =X, $f, $f;"),
    EXACTLY("cvt.<rn|rz><|.relu>.bf16x2.f32 =Y, $f, $f;"),
    EXACTLY("cvt.rna.tf32.f32 =i, $f;"),
    EXACTLY("cvt.<rn|rz><|.relu>.tf32.f32 =i, $f;"),
    EXACTLY("cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f32 =h, $f, $f;"),
    EXACTLY("cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f16x2 =h, $X;"),
    EXACTLY("cvt.rn<|.relu>.f16x2.<e4m3x2|e5m2x2> =X, $h;"),
    EXACTLY("cvt." TO_INT "<|.ftz><|.sat>.f32.f32 =f, $f;"),
    EXACTLY("cvt." TO_INT "<|.sat>.f64.f64 =d, $d;"),
    EXACTLY("cvt." TO_INT "<|.sat>.f16.f16 =x, $x;"),
    EXACTLY("cvt." TO_INT ".bf16.bf16 =y, $y;"),
    EXACTLY("cvt<|.ftz><|.sat>.f32.f32 =f, $f;"),
    EXACTLY("cvt<|.sat>.f64.f64 =d, $d;"),
    EXACTLY("cvt.pack.sat.<u16|s16>.s32 =i, $i, $i;"),
    EXACTLY("cvt.pack.sat.<u16|s16>.s32 =i, $s, $s;"),
    EXACTLY("cvt.pack.sat.<u8|s8|u4|s4|u2|s2>.s32.b32 =i, $i, $i, $i;"),
    EXACTLY("sub.u32 word, $n, 16; cvt.pack.sat.<u8|s8|u4|s4|u2|s2>.s32.b32 =i, $n, word, $i;"),
    EXACTLY("cvt.<rn|rz><.satfinite|.satfinite.relu>.f16.f32 =x, $f;"),
    EXACTLY("cvt.<rn|rz><.satfinite|.satfinite.relu>.bf16.f32 =y, $f;"),
    EXACTLY("cvt.<rn|rz>.relu.satfinite.<f16|bf16>.f32 =h, $f;"),
    EXACTLY("cvt.<rn|rz><.satfinite|.satfinite.relu|.relu.satfinite>.<f16x2|bf16x2>.f32 =i, $f, "
            "$f;"),
    EXACTLY("cvt.rna.satfinite.tf32.f32 =i, $f;"),
    EXACTLY("cvt.rn.relu.satfinite.<e4m3x2|e5m2x2>.f32 =h, $f, $f;"),
    EXACTLY("cvt.rn.relu.satfinite.<e4m3x2|e5m2x2>.f16x2 =h, $X;"),
    // addresses: what there is of one kind in the other
    EXACTLY(".reg .b64 p, o; cvt.u64.u32 p, s4; cvta.<shared|shared::cta|shared::cluster>.u64 p, p;"
            " cvta.to.<shared|shared::cta|shared::cluster>.u64 o, p; cvt.u32.u64 word, o;"
            " sub.u32 =i, word, s4; .reg .pred q;"
            " isspacep.<const|param|global|shared|shared::cluster|local> q, p;"
            " selp.u32 =i, 1, 0, q;"),
    EXACTLY(".local .align 8 .b8 m_#[64]; .reg .b64 p, o; mov.u64 p, m_#; cvta.local.u64 o, p;"
            " .reg .pred q; isspacep.<local|global> q, o; selp.u32 =i, 1, 0, q;"
            " cvta.to.local.u64 o, o; sub.u64 =l, o, p;"),
    EXACTLY(".const .align 4 .b32 c_#[4] = {7, 0x80000001, 99, 12345}; .reg .b64 p, o; mov.u64 p, "
            "c_#; cvta.const.u64 o, p; and.b32 word, $i, 3; mul.wide.u32 wide, word, 4;"
            " add.u64 wide, o, wide; ld.b32 =i, [wide]; .reg .pred q; isspacep.<const|global> q, o;"
            " selp.u32 =i, 1, 0, q; cvta.to.const.u64 o, o; sub.u64 =l, o, p;"),
    EXACTLY(".reg .b64 p, o; mov.b64 p, p_out; cvta.param<|::entry>.u64 o, p; .reg .pred q;"
            " isspacep.<param|param::entry|global> q, o; selp.u32 =i, 1, 0, q;"
            " .reg .b64 x, y; ld.b64 x, [o]; ld.param<|::entry>.b64 y, [p_out]; sub.u64 =l, x, y;"),
};

const struct vector_table convert_table = TABLE(convert, 32, 4, 10, false, 0);
