#include "tests/emu/vectors/vectors.h"
static const struct row matrix_rows[] = {{"mov.b32 =i, $i;", {EXACT, 0}, NULL}};
const struct table matrix_table = TABLE(matrix, 32, 1, 1, false);
