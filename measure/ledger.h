// The ledger of experiments: a Markdown file in which each family has a generated section, between
//     <!-- ladder gemm: begin -->
//     <!-- ladder gemm: end -->
// What people write around the sections is theirs, and stays as it is, byte for byte.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { LEDGER_BYTES_MAX = 4 << 20 };

// Whether markers can hold [family]: letters, digits, '_' and '-', 64 at most.
bool ledger_takes(const char *family);

// Puts [section], the text between the markers of [family], into the ledger [old] of [old_len]
// bytes: in the place of the one that is there, else at the end. Returns the new text, [len] bytes,
// to be freed; or NULL with the reason in [error], where markers are not in pairs or it is no text.
char *ledger_replace(const char *old, size_t old_len, const char *family, const char *section,
                     size_t *len, char *error, size_t error_size);
