// References that were built in, opened for the manifest of a test, and one element of them.
#pragma once
#include "measure/reference.h"

// Reads the rows of [manifest] and takes the code that belongs to its family.
static inline const struct reference *open_built(const struct tmg_manifest *manifest,
                                                 struct reference *reference) {
    assert_int_equal(reference_read(manifest, reference), TMAGEN_OK);
    reference->code = reference_built(manifest->family);
    assert_non_null(reference->code);
    return reference;
}

static inline struct ref_value element_at(const struct ref_problem *problem,
                                          const struct ref_tensor *output, int64_t linear) {
    struct ref_value value;
    assert_int_equal(reference_values(problem, output, NULL, linear, 1, &value), TMAGEN_OK);
    return value;
}
