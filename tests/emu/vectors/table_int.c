// Integer arithmetic, PTX ISA 9.7.1 and 9.7.2: all of it is exact.
// Division by zero is left to the machine by PTX; the record holds what the GPU gives.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }

static const struct vector_row int_rows[] = {
    EXACTLY("<add|sub|mul.lo|mul.hi|div|rem|min|max>.<u16|s16> =h, $h, $h;"),
    EXACTLY("<add|sub|mul.lo|mul.hi|div|rem|min|max>.<u32|s32> =i, $i, $i;"),
    EXACTLY("<add|sub|mul.lo|mul.hi|div|rem|min|max>.<u64|s64> =l, $l, $l;"),
    EXACTLY("<add|sub>.sat.s32 =i, $i, $i;"),
    EXACTLY("<add|min|max>.<u16x2|s16x2> =i, $i, $i;"),
    EXACTLY("<min|max>.relu.<s16x2|s32> =i, $i, $i;"),
    EXACTLY("mul.wide.<u16|s16> =i, $h, $h;"),
    EXACTLY("mul.wide.<u32|s32> =l, $i, $i;"),
    EXACTLY("mad.<lo|hi>.<u16|s16> =h, $h, $h, $h;"),
    EXACTLY("mad.<lo|hi>.<u32|s32> =i, $i, $i, $i;"),
    EXACTLY("mad.<lo|hi>.<u64|s64> =l, $l, $l, $l;"),
    EXACTLY("mad.hi.sat.s32 =i, $i, $i, $i;"),
    EXACTLY("mad.wide.<u16|s16> =i, $h, $h, $i;"),
    EXACTLY("mad.wide.<u32|s32> =l, $i, $i, $l;"),
    EXACTLY("mul24.<lo|hi>.<u32|s32> =i, $i, $i;"),
    EXACTLY("mad24.<lo|hi>.<u32|s32> =i, $i, $i, $i;"),
    EXACTLY("mad24.hi.sat.s32 =i, $i, $i, $i;"),
    EXACTLY("sad.<u16|s16> =h, $h, $h, $h;"),
    EXACTLY("sad.<u32|s32> =i, $i, $i, $i;"),
    EXACTLY("sad.<u64|s64> =l, $l, $l, $l;"),
    EXACTLY("<abs|neg>.s16 =h, $h;"),
    EXACTLY("<abs|neg>.s32 =i, $i;"),
    EXACTLY("<abs|neg>.s64 =l, $l;"),
    EXACTLY("add.cc.<u32|s32> =i, $i, $i; addc.cc.<u32|s32> =i, $i, $i; addc.u32 =i, $i, $i;"),
    EXACTLY("sub.cc.<u32|s32> =i, $i, $i; subc.cc.<u32|s32> =i, $i, $i; subc.u32 =i, $i, $i;"),
    EXACTLY("add.cc.<u64|s64> =l, $l, $l; addc.cc.<u64|s64> =l, $l, $l; addc.u64 =l, $l, $l;"),
    EXACTLY("sub.cc.<u64|s64> =l, $l, $l; subc.cc.<u64|s64> =l, $l, $l; subc.u64 =l, $l, $l;"),
    EXACTLY("mad.lo.cc.<u32|s32> =i, $i, $i, $i; madc.hi.cc.<u32|s32> =i, a0, a1, $i; addc.u32 =i, "
            "$i, $i;"),
    EXACTLY("mad.hi.cc.<u32|s32> =i, $i, $i, $i; madc.lo.cc.<u32|s32> =i, $i, $i, $i; madc.hi.u32 "
            "=i, $i, $i, $i;"),
    EXACTLY("mad.lo.cc.<u64|s64> =l, $l, $l, $l; madc.hi.cc.<u64|s64> =l, a0, a1, $l; addc.u64 =l, "
            "$l, $l;"),
    EXACTLY("mad.hi.cc.<u64|s64> =l, $l, $l, $l; madc.lo.cc.<u64|s64> =l, $l, $l, $l; madc.hi.u64 "
            "=l, $l, $l, $l;"),
    EXACTLY("dp4a.<u32|s32>.<u32|s32> =i, $i, $i, $i;"),
    EXACTLY("dp2a.<lo|hi>.<u32|s32>.<u32|s32> =i, $i, $i, $i;"),
    EXACTLY("add.cc.u32 =i, $i, $i; addc.s32 =i, $i, $i; sub.cc.s32 =i, $i, $i;"
            " subc.s32 =i, $i, $i;"),
    EXACTLY("add.cc.s64 =l, $l, $l; addc.s64 =l, $l, $l; sub.cc.u64 =l, $l, $l;"
            " subc.s64 =l, $l, $l;"),
    EXACTLY("add.cc.u32 =i, $i, $i; madc.<lo|hi>.<u32|s32> =i, $i, $i, $i;"),
    EXACTLY("add.cc.u64 =l, $l, $l; madc.<lo|hi>.<u64|s64> =l, $l, $l, $l;"),
    EXACTLY("add.cc.u32 =i, $i, $i; madc.<lo|hi>.cc.<u32|s32> =i, $i, $i, $i;"
            " addc.u32 =i, $i, $i;"),
    EXACTLY("add.cc.u64 =l, $l, $l; madc.<lo|hi>.cc.<u64|s64> =l, $l, $l, $l;"
            " addc.u64 =l, $l, $l;"),
};

const struct vector_table int_table = TABLE(int, 32, 8, 8, false, 0);
