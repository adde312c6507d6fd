// f32 and f64, PTX ISA 9.7.3: exact where it rounds as IEEE 754 says, else within PTX's own bounds.
// The bounds are those of the tables of each instruction in the manual.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define ROUND "<.rn|.rz|.rm|.rp>"
#define FTZ   "<|.ftz>"

static const struct vector_row float_rows[] = {
    EXACTLY("<add|sub|mul>" ROUND FTZ "<|.sat>.f32 =f, $f, $f;"),
    EXACTLY("fma" ROUND FTZ "<|.sat>.f32 =f, $f, $f, $f;"),
    EXACTLY("mad.rn.f32 =f, $f, $f, $f;"),
    EXACTLY("div" ROUND FTZ ".f32 =f, $f, $f;"),
    EXACTLY("<rcp|sqrt>" ROUND FTZ ".f32 =f, $f;"),
    EXACTLY("<min|max>" FTZ "<|.NaN>.f32 =f, $f, $f;"),
    EXACTLY("<min|max>" FTZ "<|.NaN>.xorsign.abs.f32 =f, $f, $f;"),
    EXACTLY("<abs|neg>" FTZ ".f32 =f, $f;"),
    EXACTLY("copysign.f32 =f, $f, $f;"),
    EXACTLY("testp.<finite|infinite|number|notanumber|normal|subnormal>.f32 =p, $f;"),
    EXACTLY("<add|sub|mul>" ROUND ".f64 =d, $d, $d;"),
    EXACTLY("fma" ROUND ".f64 =d, $d, $d, $d;"),
    EXACTLY("div" ROUND ".f64 =d, $d, $d;"),
    EXACTLY("<rcp|sqrt>" ROUND ".f64 =d, $d;"),
    EXACTLY("<min|max>.f64 =d, $d, $d;"),
    EXACTLY("<abs|neg>.f64 =d, $d;"),
    EXACTLY("copysign.f64 =d, $d, $d;"),
    EXACTLY("testp.<finite|infinite|number|notanumber|normal|subnormal>.f64 =p, $d;"),
    // just below the smallest normal number: what .ftz looks at
    EXACTLY("or.b32 word, $z, 0x20350f52; .reg .b32 other; or.b32 other, a0, 0x1fb4fa95;"
            " mul" ROUND ".ftz.f32 =f, word, other;"),
    EXACTLY("or.b32 word, $z, 0x20350f52; .reg .b32 other; or.b32 other, a0, 0x1fb4fa95;"
            " fma" ROUND ".ftz.f32 =f, word, other, a0;"),
    EXACTLY("or.b32 word, $z, 0x3f7fffff; .reg .b32 other; or.b32 other, a0, 0x00800000;"
            " mul" ROUND ".ftz.f32 =f, word, other;"),
    EXACTLY("or.b32 word, $z, 0x1fffffff; .reg .b32 other; or.b32 other, a0, 0x5e800000;"
            " div" ROUND ".ftz.f32 =f, word, other;"),
    {"div.<approx|full>" FTZ ".f32 =f, $f, $f;", {ULP, 2}, NULL},
    {"rcp.approx" FTZ ".f32 =f, $f;", {ULP, 1}, NULL},
    {"sqrt.approx" FTZ ".f32 =f, $f;", {RELATIVE, 0x1p-23}, NULL},
    {"rsqrt.approx" FTZ ".f32 =f, $f;", {RELATIVE, 0x1.13p-23}, NULL},
    {"<sin|cos>.approx" FTZ ".f32 =f, $a;", {ABSOLUTE, 0x1.6ap-21}, NULL},
    {"lg2.approx" FTZ ".f32 =f, $f;", {MIXED, 0x1p-22}, NULL},
    {"ex2.approx" FTZ ".f32 =f, $f;", {ULP, 2}, NULL},
    {"tanh.approx.f32 =f, $f;", {RELATIVE, 0x1p-11}, NULL},
    {"rcp.approx.ftz.f64 =d, $d;", {RELATIVE, 0x1p-20}, NULL},
    {"rsqrt.approx.ftz.f64 =d, $d;", {RELATIVE, 0x1p-20}, NULL},
    {"rsqrt.approx.f64 =d, $d;", {RELATIVE, 0x1p-20}, NULL},
    EXACTLY("<add|sub|mul>" FTZ "<|.sat>.f32 =f, $f, $f;"),
    EXACTLY("<add|sub|mul>.f64 =d, $d, $d;"),
    EXACTLY("mad" ROUND FTZ "<|.sat>.f32 =f, $f, $f, $f;"),
    EXACTLY("mad" ROUND ".f64 =d, $d, $d, $d;"),
};

const struct vector_table float_table = TABLE(float, 32, 8, 8, false, 0);
