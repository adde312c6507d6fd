// Comparisons: PTX ISA 9.7.6 and 9.7.5 (half precision). All exact.
// Each type with its comparisons, once alone and once combined with a predicate.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define SIGNED   "<eq|ne|lt|le|gt|ge>"
#define UNSIGNED "<eq|ne|lo|ls|hi|hs|lt|ge>"
#define FLOATING "<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>"

static const struct vector_row compare_rows[] = {
    EXACTLY("setp." SIGNED ".s16 =p, $h, $h;"),
    EXACTLY("setp." SIGNED ".s32 =p, $i, $i;"),
    EXACTLY("setp." SIGNED ".s64 =p, $l, $l;"),
    EXACTLY("setp." UNSIGNED ".u16 =p, $h, $h;"),
    EXACTLY("setp." UNSIGNED ".u32 =p, $i, $i;"),
    EXACTLY("setp." UNSIGNED ".u64 =p, $l, $l;"),
    EXACTLY("setp.<eq|ne>.b16 =p, $h, $h;"),
    EXACTLY("setp.<eq|ne>.b32 =p, $i, $i;"),
    EXACTLY("setp.<eq|ne>.b64 =p, $l, $l;"),
    EXACTLY("setp." FLOATING "<|.ftz>.f32 =p, $f, $f;"),
    EXACTLY("setp." FLOATING ".f64 =p, $d, $d;"),
    EXACTLY("setp." FLOATING "<|.ftz>.f16 =p, $x, $x;"),
    EXACTLY("setp." FLOATING ".bf16 =p, $y, $y;"),
    EXACTLY("setp." FLOATING ".f16x2 =p|=p, $X, $X;"),
    EXACTLY("setp." FLOATING ".bf16x2 =p|=p, $Y, $Y;"),
    EXACTLY("setp.<lt|ne>.<and|or|xor>.s32 =p|=p, $i, $i, $p;"),
    EXACTLY("setp.<lt|ne>.<and|or|xor>.u64 =p|=p, $l, $l, !$p;"),
    EXACTLY("setp.<lt|neu>.<and|or|xor><|.ftz>.f32 =p|=p, $f, $f, $p;"),
    EXACTLY("setp.<lt|neu>.<and|or|xor>.f16x2 =p|=p, $X, $X, $p;"),
    EXACTLY("set." SIGNED ".<u32|s32|f32>.s32 =i, $i, $i;"),
    EXACTLY("set.<lt|hi>.<u32|f32>.u64 =i, $l, $l;"),
    EXACTLY("set.<eq|ltu|nan><|.ftz>.<u32|s32|f32>.f32 =i, $f, $f;"),
    EXACTLY("set.<eq|ltu|nan>.<u32|f32>.f64 =i, $d, $d;"),
    EXACTLY("set.<le|geu>.<u32|s32>.f16 =i, $x, $x;"),
    EXACTLY("set.<le|geu>.<u16|f16>.f16 =h, $x, $x;"),
    EXACTLY("set.<le|geu>.<u32|s32>.bf16 =i, $y, $y;"),
    EXACTLY("set.<le|geu>.<u16|bf16>.bf16 =h, $y, $y;"),
    EXACTLY("set.<le|geu><|.ftz>.f16x2.f16x2 =i, $X, $X;"),
    EXACTLY("set.<le|geu>.bf16x2.bf16x2 =i, $Y, $Y;"),
    EXACTLY("set.<lt|ne>.<and|or|xor>.<u32|f32>.s32 =i, $i, $i, $p;"),
    EXACTLY("set.<lt|neu>.<and|or|xor>.<u32|f32>.f32 =i, $f, $f, $p;"),
    EXACTLY("setp." SIGNED ".<and|or|xor>.s16 =p|=p, $h, $h, $p;"),
    EXACTLY("setp." UNSIGNED ".<and|or|xor>.u32 =p|=p, $i, $i, !$p;"),
    EXACTLY("setp." FLOATING ".<and|or|xor>.f32 =p|=p, $f, $f, !$p;"),
    EXACTLY("setp." FLOATING ".<and|or|xor>.f64 =p|=p, $d, $d, $p;"),
    EXACTLY("setp.<le|geu>.<and|or|xor><|.ftz>.f16 =p, $x, $x, $p;"),
    EXACTLY("setp.<le|geu>.<and|or|xor>.bf16 =p, $y, $y, $p;"),
    EXACTLY("setp.<le|geu>.<and|or|xor>.bf16x2 =p|=p, $Y, $Y, $p;"),
    EXACTLY("set." UNSIGNED ".<u32|s32|f32>.u16 =i, $h, $h;"),
    EXACTLY("set.<eq|ne>.<u32|s32|f32>.b16 =i, $h, $h;"),
    EXACTLY("set.<eq|ne>.<u32|s32|f32>.b64 =i, $l, $l;"),
    EXACTLY("set." SIGNED ".<u32|f32>.s64 =i, $l, $l;"),
    EXACTLY("set." FLOATING "<|.ftz>.<u32|f32>.f32 =i, $f, $f;"),
    EXACTLY("set." FLOATING ".<u32|s32|f32>.f64 =i, $d, $d;"),
    EXACTLY("set." FLOATING "<|.ftz>.<f16|u16|s16>.f16 =h, $x, $x;"),
    EXACTLY("set." FLOATING "<|.ftz>.f16x2.f16x2 =i, $X, $X;"),
    EXACTLY("set." FLOATING ".bf16x2.bf16x2 =i, $Y, $Y;"),
    EXACTLY("set.<lt|neu>.<and|or|xor>.ftz.<u32|f32>.f32 =i, $f, $f, $p;"),
    EXACTLY("set.<lt|neu>.<and|or|xor>.<u32|s32>.f16 =i, $x, $x, $p;"),
    EXACTLY("set.<lt|neu>.<and|or|xor>.bf16x2.bf16x2 =i, $Y, $Y, !$p;"),
};

const struct vector_table compare_table = TABLE(compare, 32, 4, 12, false, 0);
