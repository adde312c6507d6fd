#include "tests/emu/vectors/vectors.h"
static const struct row memory_rows[] = {{"mov.b32 =i, $i;", {EXACT, 0}, NULL}};
const struct table memory_table = TABLE(memory, 32, 1, 1, false);
