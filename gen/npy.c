// .npy files: a magic number, a header that is a Python dictionary, and the elements.
// The header is searched for its three keys; whatever else NumPy may write there is ignored.
#include "gen/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 4096 };

static int fail(char *error, size_t size, const char *path, const char *what) {
    snprintf(error, size, "%s: %s", path, what);
    return -1;
}

// The value behind 'key': in the header, or NULL.
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static int parse_header(const char *header, struct npy *array) {
    const char *descr = value_of(header, "'descr'"), *shape = value_of(header, "'shape'");
    const char *order = value_of(header, "'fortran_order'");
    if (!descr || *descr != '\'' || !shape || *shape != '(' || !order || strncmp(order, "False", 5))
        return -1;
    size_t length = strcspn(descr + 1, "'");
    if (length >= sizeof array->descr || descr[1] == '>') return -1;
    memcpy(array->descr, descr + 1, length);
    size_t element = strtoul(array->descr + 2, NULL, 10);
    if (length < 3 || element < 1 || element > 16) return -1;
    array->bytes = element;
    for (const char *at = shape + 1; *at != ')' && *at;) {
        char *end;
        long long extent = strtoll(at, &end, 10);
        if (end == at || extent < 0 || array->rank == 8) return -1;
        if (extent && array->bytes > ((size_t)1 << 40) / (size_t)extent) return -1;
        array->shape[array->rank++] = extent;
        array->bytes *= (size_t)extent;
        at = end + strspn(end, ", ");
    }
    return 0;
}

static int read_open(FILE *file, const char *path, struct npy *array, char *error, size_t size) {
    unsigned char start[10];
    char header[HEADER_MAX] = "";
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY\x01", 7))
        return fail(error, size, path, "not a .npy file of version 1.0");
    size_t length = start[8] | (size_t)start[9] << 8;
    if (length >= sizeof header || fread(header, 1, length, file) != length ||
        parse_header(header, array))
        return fail(error, size, path, "not a little-endian .npy array in C order");
    array->data = malloc(array->bytes + 1);
    if (!array->data) return fail(error, size, path, "out of memory");
    if (fread(array->data, 1, array->bytes, file) == array->bytes) return 0;
    free(array->data);
    return fail(error, size, path, "the file ends before its array does");
}

int npy_read(const char *path, struct npy *array, char *error, size_t error_size) {
    FILE *file = fopen(path, "rb");
    *array = (struct npy){.rank = 0};
    if (!file) return fail(error, error_size, path, strerror(errno));
    int status = read_open(file, path, array, error, error_size);
    fclose(file);
    return status;
}

int npy_write(const char *path, const struct npy *array, char *error, size_t error_size) {
    char header[HEADER_MAX];
    int used = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                        array->descr);
    for (int i = 0; i < array->rank; ++i)
        used += snprintf(header + used, sizeof header - (size_t)used, "%lld,%s",
                         (long long)array->shape[i], i + 1 < array->rank ? " " : "");
    used += snprintf(header + used, sizeof header - (size_t)used, "), }");
    while ((used + 11) % 64) header[used++] = ' ';  // the elements begin at a multiple of 64
    header[used++] = '\n';
    FILE *file = fopen(path, "wb");
    if (!file) return fail(error, error_size, path, strerror(errno));
    unsigned char start[10] = "\x93NUMPY\x01";
    start[8] = (unsigned char)used;
    start[9] = (unsigned char)(used >> 8);
    int wrong = fwrite(start, 1, 10, file) != 10 ||
                fwrite(header, 1, (size_t)used, file) != (size_t)used ||
                fwrite(array->data, 1, array->bytes, file) != array->bytes;
    wrong |= fclose(file) != 0;
    return wrong ? fail(error, error_size, path, "could not be written") : 0;
}
