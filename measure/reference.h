// What results are held against: a family's own reference.c, and the rows beside it in its
// manifest. A problem is one shape of one kernel on the host, laid out from the manifest; nothing
// here knows a family.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/numbers.h"
#include "runtime/manifest.h"

struct reference_code;  // templates/lib/reference.h
struct ref_kernel;      // reference_kernel.c

// The text that a family's reference is: reference.c, then what it includes, each once.
enum { REFERENCE_FILES = 16, REFERENCE_FILE_NAME = 128 };
struct reference_file {
    char name[REFERENCE_FILE_NAME];  // as an #include says it
    const char *path, *text;         // the path is for messages
};
struct reference_text {
    const char *family;
    struct reference_file files[REFERENCE_FILES];
    int count;                           // 0: the family has none
    const struct reference_code *built;  // where this program was built with that text; else NULL
};

// The file that an #include of [name] takes, or NULL.
const struct reference_file *reference_file(const struct reference_text *, const char *name);

// The next line #include "NAME" of a text, behind the one that was found last; false: none.
struct reference_include {
    const char *begin, *end;  // of the line and its line break; NULL at first
    char name[REFERENCE_FILE_NAME];
};
bool reference_include(const char *text, struct reference_include *);

// The code that was built in for [family], or NULL.
const struct reference_code *reference_built(const char *family);

// A family's reference: the rows of its manifest, and the code where it was opened.
struct reference {
    const char *name;      // of the family
    const char *dims;      // names in the order in which people write shapes: "m n k"
    const char *typical;   // the shape that bench takes where none is given; "": there is none
    const char *inputs;    // what else can be drawn: "local uniform special"
    const char *verified;  // of them, those that verify draws too beside special and exact ones
    const char *peer;      // of bench: "cublaslt", or ""
    bool matrix;           // whether matrix units can do its operations
    const json_t *rows;    // the manifest's "reference", borrowed
    const struct reference_code *code;
    void *library;              // that holds it; NULL: it is built in
    char *own_dims;             // of reference_lack()
    struct ref_kernel *kernel;  // the same on a device; NULL: there is none
};

// A tensor of one problem, on the host.
struct ref_tensor {
    const struct tmg_tensor *declared;  // name, access
    enum tmg_dtype_id dtype;
    int rank;
    int64_t dims[TMAGEN_MAX_RANK];
    int64_t strides[TMAGEN_MAX_RANK];  // in elements; the last is 1
    int64_t count;                     // elements: the product of dims
    size_t bytes;  // from the first to behind the last, gaps of strides included
    void *data;    // NULL until it is filled
};

// One shape of one kernel. The tensors stand in the manifest's order.
struct ref_problem {
    const struct tmg_manifest *manifest;
    const struct reference *reference;
    int64_t dims[TMG_MAX_DIMS];
    const char *inputs;         // what is drawn: "", or a word of the reference's inputs
    struct problem *described;  // as reference.c sees it; NULL until ref_problem_fill()
    struct ref_tensor tensors[TMG_MAX_TENSORS];
};

// Fills [scalars], TMG_MAX_PARAMS of them, with what the family's reference says of the kernel's,
// for the problem's inputs; returns how many. The others take the manifest's default.
size_t ref_scalars(const struct ref_problem *, tmagen_scalar *scalars);

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

// Reads the rows of [manifest], which must outlive them. TMAGEN_ERROR_MANIFEST where there are
// none, or they are not those of a reference.
int reference_read(const struct tmg_manifest *manifest, struct reference *reference);

// The same, with the code: built in, or compiled by $TMAGEN_CC (cc) and kept in the cache; where
// there is no C compiler, by NVRTC, to run on the emulator. On a GPU [device] it is compiled for
// that too, if the family names no product. NULL: no GPU. To be closed in either case.
int reference_open(const struct tmg_manifest *manifest, const struct reference_text *text,
                   tmagen_device *device, struct reference *reference);
void reference_close(struct reference *reference);

// What is known of a kernel whose family brings no reference: the names of its dims, in the
// manifest's order. TMAGEN_OK. Inputs are normal values then, and nothing can be compared.
int reference_lack(const struct tmg_manifest *manifest, struct reference *reference);

// ---- What the rows say

// Whether [word] is one of [words], which spaces separate; NULL is no words.
bool reference_lists(const char *words, const char *word);

// The shapes of row [name], "1x1x1 136x264x72": "small", which verify uses by default on the
// emulator, "waves", several of them there, or "full". What is no positive number is 1.
void reference_shapes(const struct reference *, const struct tmg_manifest *, const char *name,
                      struct ref_shapes *);

// The sum of the products in row [name]: numbers and dims; -1 where the row is not there.
double reference_sum(const struct ref_problem *, const char *name);

// Whether reference.c draws the tensor of that name itself.
bool reference_draws(const struct reference *, const char *tensor);

// Whether there may be elements of the output of that name that the kernel does not write.
bool reference_leaves(const struct reference *, const char *tensor);

// Operations that one element takes, roughly; decides how many are computed.
double reference_cost(const struct ref_problem *);

// ---- What the code says

// The elements [list], or those from [first] on where it is NULL, of [output]. TMAGEN_OK, or an
// error of the device where there is no compiled code.
int reference_values(const struct ref_problem *, const struct ref_tensor *output,
                     const int64_t *list, int64_t first, int64_t count, struct ref_value *values);

// The error of [got] as a share of what it may be; a right element has at most 1.
double reference_error(enum tmg_dtype_id dtype, struct ref_value want, double got);

// Finds where the whole of [output] is not right, or cannot be, in far less time than computing it
// on the CPU: by Freivalds' check of the product that the family names, else by a GPU. *whole: it
// looked. A span that is listed may still be right. TMAGEN_OK or an error.
int reference_suspects(const struct ref_problem *, const struct ref_tensor *output, uint64_t seed,
                       struct ref_spans *, bool *whole);

// Lays out the problem of [manifest] with [dims], in the manifest's order. [row_padding] elements
// are added to the stride of the last but one dimension of every tensor. Returns TMAGEN_OK, or
// TMAGEN_ERROR_ARGUMENT where a dim breaks the manifest's rules. Holds no memory yet.
int ref_problem_make(const struct tmg_manifest *manifest, const struct reference *,
                     const int64_t *dims, int64_t row_padding, struct ref_problem *problem);

// Gives the tensors host memory and the inputs fresh values. Gaps between rows are filled with ones
// bits, which is NaN in every floating-point type. TMAGEN_OK or an error. Set inputs before.
int ref_problem_fill(struct ref_problem *, uint64_t seed);

// The same of those tensors whose place in [wanted] is true; the others have no memory.
int ref_problem_fill_some(struct ref_problem *, uint64_t seed, const bool *wanted);
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

// Flops and bytes of the problem; bytes are those of every tensor once, where no row says more.
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
