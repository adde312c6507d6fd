// Bits, shifts, moves and selections: PTX ISA 9.7.1, 9.7.6 and 9.7.8. All exact.
// Shift counts go past the width, fields past the end.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }

static const struct vector_row bits_rows[] = {
    EXACTLY("<and|or|xor>.b16 =h, $h, $h;"),
    EXACTLY("<and|or|xor>.b32 =i, $i, $i;"),
    EXACTLY("<and|or|xor>.b64 =l, $l, $l;"),
    EXACTLY("<and|or|xor>.pred =p, $p, $p;"),
    EXACTLY("<not|cnot>.b16 =h, $h;"),
    EXACTLY("<not|cnot>.b32 =i, $i;"),
    EXACTLY("<not|cnot>.b64 =l, $l;"),
    EXACTLY("<not|mov>.pred =p, $p;"),
    EXACTLY("<shl.b16|shr.u16|shr.s16|shr.b16> =h, $h, $s;"),
    EXACTLY("<shl.b32|shr.u32|shr.s32|shr.b32> =i, $i, $s;"),
    EXACTLY("<shl.b64|shr.u64|shr.s64|shr.b64> =l, $l, $s;"),
    EXACTLY("<shl.b32|shr.u32|shr.s32> =i, $i, $i;"),
    EXACTLY("<shl.b64|shr.u64|shr.s64> =l, $l, $i;"),
    EXACTLY("shf.<l|r>.<wrap|clamp>.b32 =i, $i, $i, $s;"),
    EXACTLY("shf.<l|r>.<wrap|clamp>.b32 =i, $i, $i, $i;"),
    EXACTLY("<popc|clz>.b32 =i, $i;"),
    EXACTLY("<popc|clz>.b64 =i, $l;"),
    EXACTLY("brev.b32 =i, $i;"),
    EXACTLY("brev.b64 =l, $l;"),
    EXACTLY("bfind<|.shiftamt>.<u32|s32> =i, $i;"),
    EXACTLY("bfind<|.shiftamt>.<u64|s64> =i, $l;"),
    EXACTLY("bfe.<u32|s32> =i, $i, $s, $s;"),
    EXACTLY("bfe.<u64|s64> =l, $l, $s, $s;"),
    EXACTLY("bfe.<u32|s32> =i, $i, $i, $i;"),
    EXACTLY("bfi.b32 =i, $i, $i, $s, $s;"),
    EXACTLY("bfi.b64 =l, $l, $l, $s, $s;"),
    EXACTLY("bfi.b32 =i, $i, $i, $i, $i;"),
    EXACTLY("bmsk.<clamp|wrap>.b32 =i, $s, $s;"),
    EXACTLY("szext.<clamp|wrap>.<u32|s32> =i, $i, $s;"),
    EXACTLY("lop3.b32 =i, $i, $i, $i, <0x96|0xe8|0x1b|0xca|0x01|0xfe>;"),
    EXACTLY("lop3.<or|and>.b32 =i|=p, $i, $i, $i, <0x3c|0x80>, $p;"),
    EXACTLY("prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16> =i, $i, $i, $i;"),
    EXACTLY("prmt.b32 =i, $i, $i, <0x5410|0x7632|0x0123|0x89ef>;"),
    EXACTLY("mov.b32 =i, {$h, $h};"),
    EXACTLY("mov.b64 =l, {$i, $i};"),
    EXACTLY("mov.b64 =l, {$h, $h, $h, $h};"),
    EXACTLY("mov.b32 {=h, =h}, $i;"),
    EXACTLY("mov.b64 {=i, =i}, $l;"),
    EXACTLY("mov.b64 {=h, =h, =h, =h}, $l;"),
    EXACTLY("selp.<b16|u16|s16> =h, $h, $h, $p;"),
    EXACTLY("selp.<b32|u32|s32> =i, $i, $i, $p;"),
    EXACTLY("selp.<b64|u64|s64> =l, $l, $l, $p;"),
    EXACTLY("selp.f32 =f, $f, $f, $p;"),
    EXACTLY("selp.f64 =d, $d, $d, $p;"),
    EXACTLY("slct.<b16|u16|s16>.s32 =h, $h, $h, $i;"),
    EXACTLY("slct.<b32|u32|s32>.s32 =i, $i, $i, $i;"),
    EXACTLY("slct.<b64|u64|s64>.s32 =l, $l, $l, $i;"),
    EXACTLY("slct.f32.s32 =f, $f, $f, $i;"),
    EXACTLY("slct<|.ftz>.b32.f32 =i, $i, $i, $f;"),
    EXACTLY("slct<|.ftz>.f32.f32 =f, $f, $f, $f;"),
    EXACTLY("slct<|.ftz>.b64.f32 =l, $l, $l, $f;"),
    EXACTLY("slct<|.ftz>.b16.f32 =h, $h, $h, $f;"),
    EXACTLY("mov.b32 =i, $i; @$p add.u32 r0, r0, $i; @!a1 xor.b32 r0, r0, $i;"),
    EXACTLY("mov.u32 =i, <%laneid|%tid.x|%ntid.x|%ctaid.x|%nctaid.x|%nwarpid|WARP_SZ>;"),
    EXACTLY("mov.u32 =i, %lanemask_<eq|le|lt|ge|gt>;"),
    EXACTLY("mov.u32 =i, $i; LOOP_#: add.u32 r0, r0, 3; .reg .pred q; and.b32 word, r0, 15;"
            " setp.ne.u32 q, word, 5; @q bra LOOP_#; @$p bra BEHIND_#; mul.lo.u32 r0, r0, r0;"
            " BEHIND_#: add.u32 r0, r0, 1;"),
    EXACTLY("mov.u32 =i, 0; .reg .b32 w; and.b32 w, $i, 3; T_#: .branchtargets A_#, B_#, C_#, D_#;"
            " brx.idx w, T_#; A_#: add.u32 r0, r0, 1; B_#: add.u32 r0, r0, $i; bra D_#;"
            " C_#: xor.b32 r0, r0, $i; D_#: add.u32 r0, r0, 7;"),
    EXACTLY("fns.b32 =i, $i, $n, <1|2|7|-1|-3|-32|0>;"),
    EXACTLY("sub.u32 word, $n, 16; fns.b32 =i, $i, $n, word;"),
    EXACTLY("mov.<u16|s16> =h, $h;"),
    EXACTLY("mov.<s32|f32> =i, $f;"),
    EXACTLY("mov.<s64|f64> =l, $d;"),
    EXACTLY("slct<|.ftz>.<u16|s16>.f32 =h, $h, $h, $f;"),
    EXACTLY("slct<|.ftz>.<u32|s32>.f32 =i, $i, $i, $f;"),
    EXACTLY("slct<|.ftz>.<u64|s64>.f32 =l, $l, $l, $f;"),
    EXACTLY("slct.f64.s32 =d, $d, $d, $i;"),
    EXACTLY("slct<|.ftz>.f64.f32 =d, $d, $d, $f;"),
    // bytes, and words of 128 bits
    EXACTLY(".reg .b8 x, y; cvt.u8.u32 x, $i; cvt.u8.u16 y, $h; mov.b16 =h, {x, y};"),
    EXACTLY(".reg .b8 x, y; mov.b16 {x, y}, $h; mov.b32 =i, {y, y, x, y};"),
    EXACTLY(".reg .b8 x, y, z, w; mov.b32 {x, y, z, w}, $i; mov.b32 =i, {w, z, y, x};"),
    EXACTLY(".reg .b128 x; mov.b128 x, {$i, $i, $i, $i}; mov.b128 {=l, =l}, x;"),
    EXACTLY(".reg .b128 x, y; mov.b128 x, {$l, $l}; mov.b128 y, x; mov.b128 {=i, =i, =i, =i}, y;"),
    // registers of vectors
    EXACTLY(".reg .v4 .b32 v; mov.b32 v.x, $i; mov.b32 v.y, $i; add.u32 v.z, v.x, v.g;"
            " xor.b32 v.a, v.r, v.b; st.shared.v4.b32 [s16], v; ld.shared.v4.b32 ={4i}, [s16];"),
    EXACTLY("st.shared.v2.b64 [s16], ${2l}; .reg .v2 .b64 v; ld.shared.v2.b64 v, [s16];"
            " add.u64 v.x, v.x, v.y; mov.b64 =l, v.x; mov.b64 =l, v.y;"),
    EXACTLY(".reg .v2 .f32 v; mov.f32 v.y, $f; mov.f32 v.x, $f; mov.b64 =l, v;"),
    EXACTLY("mov.b32 =i, $i; @$p bra.uni AWAY_#; add.u32 r0, r0, 1; AWAY_#: not.b32 r0, r0;"),
};

const struct vector_table bits_table = TABLE(bits, 32, 8, 8, false, 0);
