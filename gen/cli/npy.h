// NumPy's .npy files: a short Python dict that describes the array, then its bytes.
// The header is hostile text: one form of dict is read and nothing else, all bounds checked.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/numbers.h"

enum { NPY_RANK_MAX = 8 };

struct npy {
    char descr[8];  // "<f4"
    int rank;
    int64_t shape[NPY_RANK_MAX];
    const char *data;  // in the text that was parsed
    size_t bytes;      // of data: the product of the shape and the element's size
};

// Parses the file's content; the array must be little-endian, in C order, and as long as its header
// says. Versions 1 to 3. Returns NULL, or why it is refused: a constant string.
const char *npy_parse(const char *text, size_t len, struct npy *);

// True where an array of that descr can hold elements of [dtype]; NumPy has no bf16 and no fp8, so
// unsigned integers and raw bytes of the same size stand for them.
bool npy_holds(const struct npy *, enum tmg_dtype_id dtype);

// The type of the elements where nothing else says it; -1: none of ours.
int npy_type(const struct npy *);

// A whole file, version 1.0, with [bytes] of data; the caller frees it. *len is its length.
char *npy_format(enum tmg_dtype_id dtype, int rank, const int64_t *shape, const void *data,
                 size_t bytes, size_t *len);
