#include "tests/emu/vectors/vectors.h"
static const struct row tma_rows[] = {{"mov.b32 =i, $i;", {EXACT, 0}, NULL}};
const struct table tma_table = TABLE(tma, 32, 1, 1, false);
