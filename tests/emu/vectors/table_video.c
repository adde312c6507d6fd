// SIMD video instructions, PTX ISA 9.7.19: what ptxas makes of them on a GPU that has none.
// Whole words without masks; all combinations of signs, as each is extended by its own.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }
#define SIGN "<u32|s32>"

static const struct vector_row video_rows[] = {
    EXACTLY("<vadd|vsub|vabsdiff|vmin|vmax|vavrg><2|4>." SIGN "." SIGN "." SIGN
            "<|.sat|.add> =i, $i, $i, $i;"),
    EXACTLY("vset<2|4>." SIGN "." SIGN ".<eq|ne|lt|le|gt|ge><|.add> =i, $i, $i, $i;"),
};

const struct vector_table video_table = TABLE(video, 32, 4, 12, false, 0);
