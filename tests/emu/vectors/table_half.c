// f16 and bf16, single and packed, PTX ISA 9.7.4: exact but for ex2 and tanh.
// relu, sat, ftz, NaN and xorsign in the combinations that sm_90 has.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define BOTH(text, bound) \
    {text ".f16 =x, $x;", bound, NULL}, { text ".f16x2 =X, $X;", bound, NULL }
#define BRAIN(text, bound) \
    {text ".bf16 =y, $y;", bound, NULL}, { text ".bf16x2 =Y, $Y;", bound, NULL }

static const struct vector_row half_rows[] = {
    EXACTLY("<add|sub|mul>.rn<|.ftz><|.sat>.f16 =x, $x, $x;"),
    EXACTLY("<add|sub|mul>.rn<|.ftz><|.sat>.f16x2 =X, $X, $X;"),
    EXACTLY("<add|sub|mul>.rn.bf16 =y, $y, $y;"),
    EXACTLY("<add|sub|mul>.rn.bf16x2 =Y, $Y, $Y;"),
    EXACTLY("fma.rn<|.ftz><|.sat|.relu>.f16 =x, $x, $x, $x;"),
    EXACTLY("fma.rn<|.ftz><|.sat|.relu>.f16x2 =X, $X, $X, $X;"),
    EXACTLY("fma.rn<|.relu>.bf16 =y, $y, $y, $y;"),
    EXACTLY("fma.rn<|.relu>.bf16x2 =Y, $Y, $Y, $Y;"),
    EXACTLY("<min|max><|.ftz><|.NaN><|.xorsign.abs>.f16 =x, $x, $x;"),
    EXACTLY("<min|max><|.ftz><|.NaN><|.xorsign.abs>.f16x2 =X, $X, $X;"),
    EXACTLY("<min|max><|.NaN><|.xorsign.abs>.bf16 =y, $y, $y;"),
    EXACTLY("<min|max><|.NaN><|.xorsign.abs>.bf16x2 =Y, $Y, $Y;"),
    EXACTLY("<abs|neg><|.ftz>.f16 =x, $x;"),
    EXACTLY("<abs|neg><|.ftz>.f16x2 =X, $X;"),
    EXACTLY("<abs|neg>.bf16 =y, $y;"),
    EXACTLY("<abs|neg>.bf16x2 =Y, $Y;"),
    // just below the smallest normal number: what .ftz looks at
    EXACTLY("or.b32 word, $z, 0x21a921a9; .reg .b32 other; or.b32 other, a0, 0x1da71da7;"
            " mul.rn.ftz.f16x2 =X, word, other; fma.rn.ftz.f16x2 =X, word, other, a0;"),
#define EX2_F16 \
    { RELATIVE, 0x1.13p-10 }
#define EX2_BF16 \
    { RELATIVE, 0x1p-7 }
#define TANH_F16 \
    { ABSOLUTE, 0x1.03p-11 }
#define TANH_BF16 \
    { ABSOLUTE, 0x1p-8 }
    BOTH("ex2.approx", EX2_F16),
    BRAIN("ex2.approx.ftz", EX2_BF16),
    BOTH("tanh.approx", TANH_F16),
    BRAIN("tanh.approx", TANH_BF16),
    EXACTLY("<add|sub|mul><|.ftz><|.sat>.f16 =x, $x, $x;"),
    EXACTLY("<add|sub|mul><|.ftz><|.sat>.f16x2 =X, $X, $X;"),
    EXACTLY("<add|sub|mul>.bf16 =y, $y, $y;"),
    EXACTLY("<add|sub|mul>.bf16x2 =Y, $Y, $Y;"),
};

const struct vector_table half_table = TABLE(half, 32, 8, 8, false, 0);
