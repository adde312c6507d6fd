// Between the parts of a reference: the problem as reference.c sees it, and the text as compilers
// get it. The rest of measure/ includes measure/reference.h alone.
#pragma once
#include "measure/reference.h"

#define REFERENCE_DATA_ONLY
#include "templates/lib/reference.h"
#undef REFERENCE_DATA_ONLY

// The families that were built in, ended by a row without a name.
struct reference_row {
    const char *family;
    const struct reference_code *code;
};
extern const struct reference_row references_built[];  // made by the Makefile

// Makes problem->described: names, sizes, settings, and data where it is. TMAGEN_OK, or an error
// where something does not fit.
int reference_describe(struct ref_problem *, uint64_t seed);

// The text with its headers in the places of their #includes, to be freed; NULL without memory.
char *reference_assemble(const struct reference_text *);

// ---- reference_compile.c: by a C compiler
// TMAGEN_OK; TMAGEN_ERROR_NO_COMPILER where there is none; TMAGEN_ERROR_COMPILE with what it said.
int reference_compile(const struct reference_text *, struct reference *);

// ---- reference_kernel.c: by NVRTC, on [device], or on an emulator of its own where it is NULL
int ref_kernel_open(const struct reference_text *, tmagen_device *device, struct ref_kernel **);
void ref_kernel_close(struct ref_kernel *);
int ref_kernel_fill(struct ref_kernel *, const struct ref_problem *, unsigned number);
int ref_kernel_values(struct ref_kernel *, const struct ref_problem *, unsigned output,
                      const int64_t *list, int64_t first, int64_t count, struct ref_value *values);
// Lists the elements of [output] that are not right.
int ref_kernel_suspects(struct ref_kernel *, const struct ref_problem *, unsigned output,
                        struct ref_spans *);
