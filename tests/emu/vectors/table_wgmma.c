#include "tests/emu/vectors/vectors.h"
static const struct row wgmma_rows[] = {{"mov.b32 =i, $i;", {EXACT, 0}, NULL}};
const struct table wgmma_table = TABLE(wgmma, 32, 1, 1, false);
