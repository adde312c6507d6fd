// Fuzzes ledgers: any bytes are refused, or get their section with every other byte as it was.
// What came out is a ledger again, in which a second section takes the place of the first.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char one[] = "<!-- ladder gemm: begin -->\none\n<!-- ladder gemm: end -->\n";
static const char two[] = "<!-- ladder gemm: begin -->\ntwo\n<!-- ladder gemm: end -->\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *old = (const char *)data;
    char error[200];
    size_t len, again_len;
    char *text = ledger_replace(old, size, "gemm", "one\n", &len, error, sizeof error);
    if (!text) return 0;
    const char *section = memmem(text, len, one, sizeof one - 1);
    if (!section) abort();
    const size_t before = (size_t)(section - text), after = len - before - (sizeof one - 1);
    const size_t same =
        before < size ? before : size;  // a blank line may come before a new section
    if (memcmp(text, old, same) != 0 || after > size) abort();
    if (memcmp(text + len - after, old + size - after, after) != 0) abort();
    char *again = ledger_replace(text, len, "gemm", "two\n", &again_len, error, sizeof error);
    if (!again || again_len != len || !memmem(again, again_len, two, sizeof two - 1)) abort();
    free(again);
    free(text);
    return 0;
}
