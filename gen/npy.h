// Arrays in NumPy's .npy files, version 1.0: what emulate reads buffers from and writes them to.
// Only C order and little-endian elements, which is what everything here produces.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct npy {
    char descr[8];  // "<f4", "|u1": NumPy's name of the element
    int64_t shape[8];
    int rank;
    void *data;  // malloc'ed
    size_t bytes;
};

// 0 and *array, whose data the caller frees; or -1 and one sentence in [error].
int npy_read(const char *path, struct npy *array, char *error, size_t error_size);
int npy_write(const char *path, const struct npy *array, char *error, size_t error_size);
