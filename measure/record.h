// What kernels computed, kept in a file: one JSON object a line, the first about the device.
// The same data gives the same bits on every device and after every refactoring, or one is told.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "measure/verify.h"

// A file's content. Lines are checked when they are read, so that their members are there.
struct record {
    char *device;  // that computed it
    uint64_t seed;
    json_t **cases;
    size_t count;
};

// Reads [path]. 0, or -1 with a sentence that names file and line in [error].
int record_read(struct record *, const char *path, char *error, size_t error_size);
void record_free(struct record *);

const char *record_kernel(const json_t *line);
const char *record_shape(const json_t *line);  // as shape_format() writes it
int64_t record_padding(const json_t *line);    // elements between the rows of every tensor

struct variation record_variation(const json_t *line);

// The line of a case: digests of its inputs and of each output, and of each output 32 digests of
// its parts and an element of each. [problem] holds the data. NULL without memory.
json_t *record_case(const struct ref_problem *problem, const char *kernel, const char *shape,
                    int64_t padding, struct variation);

// Begins a record at [temporary], beside [path]. NULL with a message.
FILE *record_create(const char *path, char *temporary, size_t size);

// Ends it, and gives it its place; after a run with an exit code that isn't 0 what stood there
// stays. Returns the exit code.
int record_end(FILE *record, const char *temporary, const char *path, int code);

// Writes the first line, and the line of a case. 0, or -1 with errno set.
int record_begin(FILE *, const char *device, uint64_t seed);
int record_add(FILE *, const json_t *line);

// Whether [now] has the bits of [then], two lines of the same case. Where not, lines in [report]
// say which tensor, in which parts, and how far apart its elements are.
bool record_equal(const struct record *record, const json_t *then, const json_t *now,
                  const struct ref_problem *problem, char *report, size_t size);
