// What compare.c offers: a form's results held against others, with messages on stdout.
// The verdicts are ordered, so that the worst of several is the largest.
#pragma once

#include "tests/emu/vectors/vectors.h"

enum verdict { EQUAL, CLOSE, DIFFERENT, MISSING, VERDICTS };

// All threads of all results of the form.
enum verdict compare_results(const struct form *form, size_t program, uint64_t seed,
                             const uint64_t *expected, const uint64_t *got);

// Against what was recorded.
enum verdict compare_record(const struct form *form, size_t program, uint64_t seed,
                            const struct form_record *record, const uint64_t *got);
