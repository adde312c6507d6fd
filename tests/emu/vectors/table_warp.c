#include "tests/emu/vectors/vectors.h"
static const struct row warp_rows[] = {{"mov.b32 =i, $i;", {EXACT, 0}, NULL}};
const struct table warp_table = TABLE(warp, 32, 1, 1, false);
