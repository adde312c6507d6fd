// The plain versions that results are held against, one row and one file a kernel family.
// A family's manifest names its row ("reference": {"name": "gemm"}); verify and bench know no more.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/manifest.h"
#include "measure/numbers.h"

// A tensor of one problem, on the host.
struct ref_tensor {
    const struct tmg_tensor *declared;  // name, access
    enum num_type dtype;
    int rank;
    int64_t dims[TMAGEN_MAX_RANK];
    int64_t strides[TMAGEN_MAX_RANK];  // in elements; the last is 1
    int64_t count;                     // elements: the product of dims
    size_t bytes;  // from the first to behind the last, gaps of strides included
    void *data;    // NULL until ref_problem_allocate()
};

// One shape of one kernel. The tensors stand in the manifest's order.
struct ref_problem {
    const struct tmg_manifest *manifest;
    const struct reference *reference;
    int64_t dims[TMG_MAX_DIMS];
    const char *inputs;  // the reference's word for what fill() draws; "": what verify wants
    struct ref_tensor tensors[TMG_MAX_TENSORS];
};

// What an element of the output should be, and how far from it a right kernel may be.
struct ref_value {
    double value, tolerance;
};

// Elements first..first+count-1 of an output, in row-major order.
struct ref_span {
    int64_t first, count;
};

// A growing list of spans that a check over the whole result does not believe in.
struct ref_spans {
    struct ref_span *spans;
    size_t count, capacity;
    int64_t total;  // found, of which only the first REF_SPANS_MAX are listed
};
enum { REF_SPANS_MAX = 4096 };

// A growing list of shapes: values of the manifest's dims, in the manifest's order.
struct ref_shapes {
    int64_t (*shapes)[TMG_MAX_DIMS];
    size_t count, capacity;
};

struct reference {
    const char *name;     // in the manifest
    const char *doc;      // what is computed, in one line
    const char *dims;     // names in the order in which people write shapes: "m n k"
    const char *typical;  // the shape that bench takes where none is given; NULL: there is none
    const char *inputs;   // what else fill() can draw, for bench: "local uniform"; NULL: nothing
    const char *peer;     // of bench: "cublaslt", or NULL

    // Whether the row covers what the manifest says, such as its epilogue; NULL: it does. Returns
    // TMAGEN_OK, or an error with tmagen_error_last() set.
    int (*accepts)(const struct tmg_manifest *);

    // Adds the shapes that verify uses by default; [small] on the emulator. Values are rounded up
    // to what the manifest allows afterwards.
    void (*shapes)(const struct tmg_manifest *, bool small, struct ref_shapes *);

    // Fills an input tensor's data. NULL: standard normal values. Returns 0, or -1 without memory.
    int (*fill)(const struct ref_problem *, struct ref_tensor *, uint64_t seed);

    // The element of [output] at [index].
    struct ref_value (*element)(const struct ref_problem *, const struct ref_tensor *output,
                                const int64_t *index);

    // Operations that one element() takes, roughly; decides how many are computed.
    double (*element_cost)(const struct ref_problem *);

    // Finds where the whole of [output] cannot be right, in far less time than computing it. A span
    // that is listed may still be right; a wrong element outside all spans is improbable. NULL:
    // there is no such check. Returns 0, or -1 without memory.
    int (*suspects)(const struct ref_problem *, const struct ref_tensor *output, uint64_t seed,
                    struct ref_spans *);

    // Floating-point operations of the problem; [matrix] says whether matrix units can do them.
    double (*flops)(const struct ref_problem *);
    bool matrix;

    // Bytes that must move through device memory. NULL: every tensor once.
    double (*bytes)(const struct ref_problem *);

    // Bytes that must pass the L1 of the SMs, which move 128 a clock each: what may bind a gather.
    // NULL: not counted.
    double (*l1_bytes)(const struct ref_problem *);
};

// All rows, ended by NULL.
extern const struct reference *const references[];

// The row that [manifest] names; NULL, with tmagen_error_last() set, where there is none.
const struct reference *ref_find(const struct tmg_manifest *manifest);

// Lays out the problem of [manifest] with [dims], in the manifest's order. [row_padding] elements
// are added to the stride of the last but one dimension of every tensor. Returns TMAGEN_OK, or
// TMAGEN_ERROR_ARGUMENT where a dim breaks the manifest's rules. Holds no memory yet.
int ref_problem_make(const struct tmg_manifest *manifest, const struct reference *,
                     const int64_t *dims, int64_t row_padding, struct ref_problem *problem);

// Gives the tensors host memory and the inputs fresh values. Gaps between rows are filled with ones
// bits, which is NaN in every floating-point type. TMAGEN_OK or TMAGEN_ERROR_MEMORY.
int ref_problem_fill(struct ref_problem *, uint64_t seed);
void ref_problem_free(struct ref_problem *);

// The tensor of that name, or NULL.
const struct ref_tensor *ref_tensor_find(const struct ref_problem *, const char *name);

// The value of the dim of that name, or [otherwise].
int64_t ref_dim(const struct ref_problem *, const char *name, int64_t otherwise);

// Where an element lies, counted in elements from the tensor's first.
int64_t ref_offset(const struct ref_tensor *, const int64_t *index);

// The index of the [linear]-th element in row-major order.
void ref_index(const struct ref_tensor *, int64_t linear, int64_t *index);

// One element as a number.
double ref_read(const struct ref_tensor *, const int64_t *index);

// Flops and bytes of the problem, by its reference's row.
double ref_flops(const struct ref_problem *);
double ref_bytes(const struct ref_problem *);

// The size of the tiles that the manifest's grid cuts dimension [dim] into; [otherwise] where none.
int64_t ref_tile(const struct tmg_manifest *, const char *dim, int64_t otherwise);

// Appends a shape, given as values of the dims that [names] lists; dims that are not named are 1.
// Fixed dims take their value, others are rounded up to their multiple. A duplicate is dropped.
void ref_shapes_add(struct ref_shapes *, const struct tmg_manifest *, const char *names,
                    const int64_t *values);
void ref_shapes_free(struct ref_shapes *);

void ref_spans_add(struct ref_spans *, struct ref_span);
void ref_spans_free(struct ref_spans *);
