// Shapes as people write them: 4096x4096x4096 or 4096,4096,4096 on a command line, "bf16 4096 4096
// 4096" in a file. The order of the numbers is that of the reference's dims; gemm's is m n k. A
// word at the end, as in 48x20522x20522/local or "fp16 48 20522 20522 local", names inputs that the
// reference can draw.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "measure/reference.h"

enum { SHAPE_MAX_NUMBERS = 12 };

struct shape {
    char dtype[16];  // "": any
    int64_t numbers[SHAPE_MAX_NUMBERS];
    int count;
    char inputs[16];  // what bench draws, of the reference's inputs; "": its usual ones
    int line;         // of the file; 0 from the command line
};

struct shape_list {
    struct shape *shapes;
    size_t count, capacity;
};

// Appends the shape that [text] spells, numbers joined by 'x' or ',' and maybe /INPUTS. 0, or -1
// with a sentence in [error].
int shapes_parse(struct shape_list *, const char *text, char *error, size_t error_size);

// Appends the lines of the file at [path]: a dtype, numbers and maybe inputs, separated by spaces;
// '#' begins a comment. 0, or -1 with a sentence that names file and line in [error].
int shapes_read(struct shape_list *, const char *path, char *error, size_t error_size);

// Appends [count] shapes of matrix products, which [seed] alone decides. Logarithms are uniform: M
// of 1 to 16384, N and K of 64 to 16384, multiples of 8, of which a third each are none of 64; all
// below 2 TFLOP. 0, or -1 without memory.
int shapes_draw(struct shape_list *, size_t count, uint64_t seed);

void shapes_free(struct shape_list *);

// Prints the numbers as they are written on a command line, joined by 'x'.
void shape_print(const struct shape *, FILE *out);

// The values of the manifest's dims for [shape] of [reference]; dims that it doesn't write are
// taken from the manifest. 0, or -1 with the reason in [error], also where the reference doesn't
// know the inputs.
int shape_dims(const struct shape *, const struct reference *, const struct tmg_manifest *,
               int64_t *dims, char *error, size_t error_size);

// Writes the dims of a problem in the reference's order, joined by 'x', and [inputs] where they
// are not "".
void shape_format(const struct reference *, const struct tmg_manifest *, const int64_t *dims,
                  const char *inputs, char *text, size_t size);

// The dtype by which shape files call a kernel: that of its first input tensor, "fp8" being e4m3.
const char *shape_dtype(const struct tmg_manifest *);

// Whether [shape] names no dtype, or that of the kernel.
bool shape_is_for(const struct shape *, const struct tmg_manifest *);
