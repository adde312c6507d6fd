// Memory: loads and stores of each width and space, atomics, cp.async, mbarriers. All exact.
// Atomics that meet at one address are of kinds where no order can be seen in the end.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define SHARED "fill(0,1024,i); bar.sync 0; "
#define GLOBAL "gfill(0,1024,i); bar.sync 0; "
#define LOCAL  ".local .align 16 .b8 m_#[64]; "

// The operations of atom at the thread's own place, then what is there.
#define ATOM_32(space, at, op)                                                        \
    EXACTLY("st." #space ".b32 [" at "], $i; atom" op " =i, [" at "], $i; ld." #space \
            ".b32 =i, [" at "];")
#define ATOM_64(space, at, op)                                                        \
    EXACTLY("st." #space ".b64 [" at "], $l; atom" op " =l, [" at "], $l; ld." #space \
            ".b64 =l, [" at "];")
#define ATOM_OF(space, at, op, letter, width)                                               \
    EXACTLY("st." #space ".b" #width " [" at "], $" letter "; atom" op " =" letter ", [" at \
            "], $" letter "; ld." #space ".b" #width " =" letter ", [" at "];")
#define RED_32(space, at, op)                                                                    \
    EXACTLY("st." #space ".b32 [" at "], $i; red" op " [" at "], $i; ld." #space ".b32 =i, [" at \
            "];")
#define RED_OF(space, at, op, letter, width)                                                \
    EXACTLY("st." #space ".b" #width " [" at "], $" letter "; red" op " [" at "], $" letter \
            "; ld." #space ".b" #width " =" letter ", [" at "];")

// exch and cas on 128 bits, as a pair of 64.
#define WIDE(space, at)                                                                            \
    EXACTLY("st." #space ".v2.b64 [" at "], ${2l}; .reg .b128 now, new; mov.b128 new, {$l, $l};"   \
            " atom." #space ".exch.b128 now, [" at "], new; mov.b128 {=l, =l}, now; ld." #space    \
            ".v2.b64 ={2l}, [" at "];"),                                                           \
        EXACTLY("st." #space ".v2.b64 [" at "], ${2l}; .reg .b64 low, high; ld." #space            \
                ".v2.b64 {low, high}, [" at "]; @$p xor.b64 <low, low|high, high>, 1; .reg .b128 " \
                "now, old, new; mov.b128 old, {low, high}; mov.b128 new, {$l, $l}; atom." #space   \
                ".cas.b128 now, [" at "], old, new; mov.b128 {=l, =l}, now; ld." #space            \
                ".v2.b64 ={2l}, [" at "];")

static const struct vector_row memory_rows[] = {
    EXACTLY(SHARED "ld.shared.<u8|s8|u16|s16> =h, [s4];"),
    EXACTLY(SHARED "ld.shared.<u8|s8|u16|s16|b32|f32> =i, [s4];"),
    EXACTLY(SHARED "ld.shared.<u8|s8|u16|s16|u32|s32|b64|f64> =l, [s8];"),
    EXACTLY(SHARED "ld<.volatile|.relaxed.cta|.acquire.cta>.shared.b32 =i, [s4+4];"),
    EXACTLY(SHARED "ld.shared.v2.<u8|s8|u16> ={2h}, [s4];"),
    EXACTLY(SHARED "ld.shared.v4.<u8|s8> ={4i}, [s4];"),
    EXACTLY(SHARED "ld.shared.v4.<u16|s16> ={4i}, [s8];"),
    EXACTLY(SHARED "ld.shared.v2.<b32|f32> ={2i}, [s8];"),
    EXACTLY(SHARED "ld.shared.v4.<b32|u32> ={4i}, [s16];"),
    EXACTLY(SHARED "ld.shared.v2.b64 ={2l}, [s16];"),
    EXACTLY(SHARED "cvt.u64.u32 wide, s8; cvta.shared.u64 wide, wide; ld.<u8|s32> =i, [wide];"
                   " ld.v2.u32 ={2i}, [wide]; .reg .pred q; isspacep.<shared|global> q, wide;"
                   " selp.u32 =i, 1, 0, q;"),
    EXACTLY(GLOBAL "ld.global.<u8|s8|u16|s16> =h, [g4];"),
    EXACTLY(GLOBAL "ld.global.<u8|s8|u16|s16|b32> =i, [g4];"),
    EXACTLY(GLOBAL "ld.global.<u8|s16|s32|b64> =l, [g8];"),
    EXACTLY(GLOBAL "ld.global<.ca|.cg|.cs|.cv|.lu>.v4.b32 ={4i}, [g16];"),
    EXACTLY(GLOBAL "ld.global<.L1::no_allocate|.L2::128B>.v2.b64 ={2l}, [g16];"),
    EXACTLY(GLOBAL "ld.<relaxed.gpu|acquire.gpu|acquire.sys>.global.v2.f32 ={2f}, [g8];"),
    EXACTLY("gfill(0,256,i); bar.sync 0; st.global.<b8|u8|s8> [g4], $h; st.global.b16 [g4+130], $h;"
            " bar.sync 0; gdump(0,256);"),
    EXACTLY("gfill(0,512,i); bar.sync 0; st.global<|.wb|.cg|.cs|.wt>.v2.b32 [g8], ${2i}; bar.sync "
            "0; gdump(0,512);"),
    EXACTLY(
        "gfill(0,512,i); bar.sync 0; st.global.v4.<u8|b16> [g8], ${4h}; bar.sync 0; gdump(0,512);"),
    EXACTLY(
        "st.global.v4.f32 [g16], ${4f}; st.<relaxed|release>.gpu.global.b32 [g16], $i; bar.sync 0;"
        " gdump(0,512);"),
    EXACTLY("st.shared.v2.b64 [s16], ${2l}; bar.sync 0; st.shared.u8 [s16+5], $i; bar.sync 0; "
            "dump(0,512);"),
    EXACTLY("st.shared.v4.b16 [s8], ${4h}; st.shared.v2.u8 [s8], ${2i}; bar.sync 0; dump(0,256);"),
    EXACTLY(LOCAL
            "st.local.v4.b32 [m_#], ${4i}; st.local.u8 [m_#+3], $i; st.local.b16 [m_#+14], $h;"
            " ld.local.v2.b64 ={2l}, [m_#]; ld.local.s8 =i, [m_#+3]; ld.local.u16 =h, [m_#+6];"),
    EXACTLY(LOCAL
            "st.local.v2.b64 [m_#+16], ${2l}; .reg .b64 p; mov.u64 p, m_#; and.b32 word, $i, 15;"
            " cvt.u64.u32 wide, word; add.u64 p, p, wide; ld.local.u8 =i, [p+16];"
            " cvta.local.u64 p, p; ld.s8 =i, [p+16];"),
    EXACTLY(".const .align 4 .b32 c_#[4] = {7, 0x80000001, 99, 12345}; and.b32 word, $i, 3;"
            " shl.b32 word, word, 2; .reg .b64 p; mov.u64 p, c_#; cvt.u64.u32 wide, word;"
            " add.u64 p, p, wide; ld.const.b32 =i, [p]; ld.const.v2.u16 ={2h}, [c_#+4];"),
#define PLACES(space, at4, at8)                                                               \
    ATOM_32(space, at4, "." #space ".<add|min|max>.<u32|s32>"),                               \
        ATOM_32(space, at4, "." #space ".<and|or|xor|exch>.b32"),                             \
        ATOM_32(space, at4, "." #space ".<inc|dec>.u32"),                                     \
        ATOM_32(space, at4, ".<relaxed.cta|acq_rel.gpu>." #space ".add.u32"),                 \
        ATOM_64(space, at8, "." #space ".add.u64"),                                           \
        ATOM_64(space, at8, "." #space ".<min|max>.<u64|s64>"),                               \
        ATOM_64(space, at8, "." #space ".<and|or|xor|exch>.b64"),                             \
        ATOM_OF(space, at4, "." #space ".add.f32", "f", 32),                                  \
        ATOM_OF(space, at8, "." #space ".add.f64", "d", 64),                                  \
        ATOM_OF(space, at4, "." #space ".add.noftz.f16x2", "X", 32),                          \
        ATOM_OF(space, at4, "." #space ".add.noftz.bf16x2", "Y", 32),                         \
        ATOM_OF(space, at4, "." #space ".add.noftz.f16", "x", 16),                            \
        ATOM_OF(space, at4, "." #space ".add.noftz.bf16", "y", 16),                           \
        RED_32(space, at4, "." #space ".<add|min|max>.<u32|s32>"),                            \
        RED_32(space, at4, "." #space ".<and|or|xor>.b32"),                                   \
        EXACTLY("st." #space ".b32 [" at4 "], $i; mov.b32 word, $i; @$p ld." #space           \
                ".b32 word, [" at4 "]; atom." #space ".cas.b32 =i, [" at4                     \
                "], word, $i; ld." #space ".b32 =i, [" at4 "];"),                             \
        EXACTLY("st." #space ".b64 [" at8 "], $l; mov.b64 wide, $l; @$p ld." #space           \
                ".b64 wide, [" at8 "]; atom." #space ".cas.b64 =l, [" at8                     \
                "], wide, $l; ld." #space ".b64 =l, [" at8 "];"),                             \
        EXACTLY("st." #space ".b32 [" at4 "], $i; .reg .b16 o; mov.b16 o, $h; @$p ld." #space \
                ".b16 o, [" at4 "]; atom." #space ".cas.b16 =h, [" at4 "], o, $h; ld." #space \
                ".b32 =i, [" at4 "];")
    PLACES(shared, "s4", "s8"),
    PLACES(global, "g4", "g8"),
    WIDE(shared, "s16"),
    WIDE(global, "g16"),
    EXACTLY("st.global.b64 [g8], $l; .reg .b64 p; cvta.global.u64 p, g8; atom.<add|min>.s32 =i, "
            "[p], $i;"
            " red.<or|xor>.b32 [p+4], $i; ld.global.b64 =l, [g8];"),
    EXACTLY("st.global.v4.f32 [g16], ${4f}; red.global.add.v2.f32 [g16], ${2f};"
            " ld.global.v4.f32 ={4f}, [g16];"),
    EXACTLY("st.global.v4.b32 [g16], ${4X}; red.global.add.noftz.v4.f16x2 [g16], ${4X};"
            " ld.global.v4.b32 ={4X}, [g16];"),
    EXACTLY("st.global.v4.b32 [g16], ${4Y}; red.global.<min|max>.noftz.v2.bf16x2 [g16], ${2Y};"
            " ld.global.v4.b32 ={4Y}, [g16];"),
    EXACTLY(".reg .pred q; setp.eq.u32 q, tid, 0; @q st.shared.b32 [sm], 5; bar.sync 0;"
            " red.shared.<add|min|max>.<u32|s32> [sm], $i; "
            " bar.sync 0; ld.shared.b32 =i, [sm]; bar.sync 0;"),
    EXACTLY(".reg .pred q; setp.eq.u32 q, tid, 0; @q st.global.b64 [g], 5; bar.sync 0;"
            " @$p red.global.<add.u32|min.s32|max.u32|or.b32> [g], $i; bar.sync 0;"
            " ld.global.b64 =l, [g];"),
    EXACTLY("gfill(0,512,i); bar.sync 0; .reg .b64 p; cvta.global.u64 p, g16;"
            " cp.async.ca.shared.global [s16], [p], <4|8|16>; cp.async.commit_group;"
            " st.shared.b32 [s4+1024], $i; cp.async.wait_group 0; bar.sync 0; ld.shared.b32 =i, "
            "[s16];"),
    EXACTLY("gfill(0,512,i); bar.sync 0; .reg .b64 p; cvta.global.u64 p, g16; and.b32 word, $i, 15;"
            " cp.async.cg.shared.global [s16], [p], 16, word; cp.async.wait_all; bar.sync 0; "
            "dump(0,512);"),
// policies, levels and hints change nothing that a program sees; ld.global.nc is not here, as what
// it reads must be read-only while the kernel runs (PTX ISA 9.7.9.8), and forms write their part
#define POLICY                                                                \
    ".reg .b64 pol; createpolicy.fractional.L2::evict_<last|first>.b64 pol, " \
    "<0.5|1.0>; "
    EXACTLY(GLOBAL POLICY "ld.global.L2::cache_hint.v2.b32 ={2i}, [g8], pol;"),
    EXACTLY(GLOBAL ".reg .b64 pol; createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64"
                   " pol, [g], 512, 1024; ld.global.L2::cache_hint.b64 =l, [g8], pol;"
                   " createpolicy.cvt.L2.b64 pol, 0x14F0000000000000;"
                   " ld.global.L2::cache_hint.b32 =i, [g4], pol;"),
    EXACTLY(GLOBAL "ld.global.L1::<evict_normal|evict_unchanged|evict_first|evict_last>.b32 =i, "
                   "[g4];"),
    EXACTLY(GLOBAL "ldu.global.<u8|s16|b32> =i, [g4]; ldu.global.v4.u32 ={4i}, [g16];"),
    EXACTLY(GLOBAL ".reg .b64 p; cvta.global.u64 p, g4; prefetch<.L1|.L2> [p]; prefetchu.L1 [p];"
                   " prefetch.global<.L1|.L2|.L2::evict_last|.L2::evict_normal> [g4];"
                   " applypriority.global.L2::evict_normal [g], 128; ldu.b32 =i, [p];"),
    EXACTLY(GLOBAL ".reg .pred q; setp.eq.u32 q, tid, 0; @q discard.global.L2 [g], 128;"
                   " bar.sync 0; st.global.b32 [g4], $i; bar.sync 0; gdump(0,1024);"),
    EXACTLY(GLOBAL "ld<.weak|.volatile|.relaxed.cta|.relaxed.cluster|.relaxed.sys|.acquire.cluster|"
                   ".mmio.relaxed.sys>.global.b32 =i, [g4];"),
    EXACTLY("st<.weak|.volatile|.relaxed.cta|.relaxed.cluster|.release.sys|.mmio.relaxed.sys>"
            ".global.b32 [g4], $i; bar.sync 0; gdump(0,128);"),
    EXACTLY("st<.weak|.volatile|.relaxed.cta|.release.cluster>.shared<|::cta>.b32 [s4], $i;"
            " bar.sync 0; dump(0,128);"),
    EXACTLY(GLOBAL ".reg .b128 x; ld<|.relaxed.gpu|.acquire.sys>.global.b128 x, [g16];"
                   " mov.b128 {=l, =l}, x; mov.b128 x, {$l, $l};"
                   " st<|.relaxed.gpu|.release.gpu>.global.b128 [g16], x; bar.sync 0;"
                   " gdump(0,512);"),
    EXACTLY(SHARED ".reg .b128 x; ld.shared.b128 x, [s16]; mov.b128 {=l, =l}, x; mov.b128 x, "
                   "{$l, $l}; st.shared.b128 [s16], x; bar.sync 0; dump(0,512);"),
// the other types of red, and modifiers
#define REDS(space, at4, at8)                                                                  \
    RED_32(space, at4, "." #space ".<inc|dec>.u32"),                                           \
        RED_32(space, at4, "<.relaxed.gpu|.release.gpu|.relaxed.sys>." #space ".add.u32"),     \
        RED_OF(space, at8, "." #space ".add.u64", "l", 64),                                    \
        RED_OF(space, at8, "." #space ".<min|max>.<u64|s64>", "l", 64),                        \
        RED_OF(space, at8, "." #space ".<and|or|xor>.b64", "l", 64),                           \
        RED_OF(space, at4, "." #space ".add.f32", "f", 32),                                    \
        RED_OF(space, at8, "." #space ".add.f64", "d", 64),                                    \
        RED_OF(space, at4, "." #space ".add.noftz.f16x2", "X", 32),                            \
        RED_OF(space, at4, "." #space ".add.noftz.bf16x2", "Y", 32),                           \
        RED_OF(space, at4, "." #space ".add.noftz.f16", "x", 16),                              \
        RED_OF(space, at4, "." #space ".add.noftz.bf16", "y", 16),                             \
        ATOM_32(space, at4,                                                                    \
                ".<acquire.gpu|release.cta|relaxed.sys|acq_rel.cluster>." #space ".exch.b32"), \
        EXACTLY("st." #space ".b32 [" at4 "], $i; mov.b32 word, $i; @$p ld." #space            \
                ".b32 word, [" at4                                                             \
                "]; atom.<acquire.gpu|release.cta|relaxed.sys|acq_rel.gpu>." #space            \
                ".cas.b32 =i, [" at4 "], word, $i; ld." #space ".b32 =i, [" at4 "];"),         \
        EXACTLY("st." #space ".b32 [" at4 "], $i; atom." #space                                \
                ".<add.relaxed.gpu.u32|max.acq_rel.cta.s32|xor.release.gpu.b32> =i, [" at4     \
                "], $i; atom." #space ".cas.<acquire|relaxed>.gpu.b32 =i, [" at4               \
                "], r0, $i; ld." #space ".b32 =i, [" at4 "];")
    REDS(shared, "s4", "s8"),
    REDS(global, "g4", "g8"),
    EXACTLY(POLICY "st.global.b32 [g4], $i; atom.global.add.L2::cache_hint.u32 =i, [g4], $i, pol;"
                   " red.global.max.L2::cache_hint.s32 [g4], $i, pol; ld.global.b32 =i, [g4];"),
// vectors of them
#define VECTORS(width, of, op, letter, count)                                              \
    EXACTLY("st.global." of ".b" width " [g16], ${" count letter "}; atom.global." op      \
            " ={" count letter "}, [g16], ${" count letter "}; ld.global." of ".b" width   \
            " ={" count letter "}, [g16];"),                                               \
        EXACTLY("st.global." of ".b" width " [g16], ${" count letter "}; red.global." op   \
                " [g16], ${" count letter "}; ld.global." of ".b" width " ={" count letter \
                "}, [g16];")
    VECTORS("32", "v2", "add.v2.f32", "f", "2"),
    VECTORS("32", "v4", "add.v4.f32", "f", "4"),
    VECTORS("32", "v2", "v2.f32.add", "f", "2"),
    VECTORS("32", "v2", "<add|min|max>.noftz.v2.f16x2", "X", "2"),
    VECTORS("32", "v4", "<add|min|max>.noftz.v4.f16x2", "X", "4"),
    VECTORS("32", "v2", "<add|min|max>.noftz.v2.bf16x2", "Y", "2"),
    VECTORS("32", "v4", "<add|min|max>.noftz.v4.bf16x2", "Y", "4"),
    VECTORS("16", "v2", "<add|min|max>.noftz.v2.f16", "x", "2"),
    VECTORS("16", "v4", "<add|min|max>.noftz.v4.f16", "x", "4"),
    VECTORS("16", "v2", "<add|min|max>.noftz.v2.bf16", "y", "2"),
    VECTORS("16", "v4", "<add|min|max>.noftz.v4.bf16", "y", "4"),
    EXACTLY("st.global.v4.b32 [g16], ${4X}; atom.global.<add|max>.noftz.v8.f16 ={8x}, [g16], ${8x};"
            " red.global.<add|min>.noftz.v8.f16 [g16], ${8x}; ld.global.v4.b32 ={4X}, [g16];"),
    EXACTLY("st.global.v4.b32 [g16], ${4Y}; atom.global.<add|max>.noftz.v8.bf16 ={8y}, [g16], "
            "${8y}; red.global.<add|min>.noftz.v8.bf16 [g16], ${8y}; ld.global.v4.b32 ={4Y}, "
            "[g16];"),
// cp.async: a size or a predicate, with and without a policy
#define COPY(form, rest)                                                                           \
    EXACTLY("gfill(0,512,i); fill(0,512,i); bar.sync 0; .reg .b64 p, pol; cvta.global.u64 p, g16;" \
            " createpolicy.fractional.L2::evict_last.b64 pol, 1.0; .reg .pred q; setp.lt.u32 q, "  \
            "tid, 20; and.b32 word, $i, <3|7>; cp.async." form " [s16], [p], " rest                \
            "; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; dump(0,512);")
    COPY("ca.shared::cta.global<|.L2::64B|.L2::128B|.L2::256B>", "<4|8|16>"),
    COPY("cg.shared.global<|.L2::128B>", "16"),
    COPY("ca.shared.global", "8, word"),
    COPY("ca.shared.global", "<4|8|16>, <q|!q>"),
    COPY("cg.shared.global", "16, q"),
    COPY("<ca|cg>.shared.global.L2::cache_hint<|.L2::256B>", "16, pol"),
    COPY("<ca|cg>.shared.global.L2::cache_hint<|.L2::64B>", "16, word, pol"),
    COPY("<ca|cg>.shared.global.L2::cache_hint", "16, q, pol"),
    COPY("ca.shared.global.L2::cache_hint", "<4|8>, q, pol"),
};

const struct vector_table memory_table = TABLE(memory, 32, 4, 8, true, 0);
