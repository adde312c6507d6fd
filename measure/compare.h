// Holds a result against its reference, and says what is wrong with it and where.
// A wrong kernel is wrong in a pattern (a tile, a warp's rows, a tail), and the pattern is the
// clue.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/reference.h"

enum { COMPARE_FIRST = 8 };

enum finding_kind { FINDING_UNWRITTEN, FINDING_NOT_FINITE, FINDING_WRONG, FINDING_KINDS };

struct finding {
    enum finding_kind kind;
    int64_t linear;  // which element, in row-major order
    double got, want, tolerance;
};

struct comparison {
    const struct ref_tensor *output;
    int64_t found[FINDING_KINDS];         // elements by what is wrong with them
    int64_t checked;                      // elements that were computed by the reference
    int64_t suspects;                     // pieces that the check of the whole did not believe
    bool whole;                           // every element was computed or stood under that check
    double worst;                         // largest error, as a share of its tolerance
    struct finding first[COMPARE_FIRST];  // in row-major order
    size_t first_count;
    struct pattern *pattern;  // of what was found
};

// Compares the data of [output] of [problem]. [poison] is the byte that filled it before the kernel
// ran. [seed] chooses samples. Returns 0, or -1 with tmagen_error_last() set. Free in either case.
int compare(const struct ref_problem *problem, const struct ref_tensor *output, uint8_t poison,
            uint64_t seed, struct comparison *comparison);
void compare_free(struct comparison *);

// The same, without any idea of what elements should be: only those that were never written are
// found.
int compare_written(const struct ref_problem *problem, const struct ref_tensor *output,
                    uint8_t poison, struct comparison *comparison);

// The same, with what another kernel gave, laid out as the output: elements more than [ulps]
// representable values apart are wrong.
int compare_equal(const struct ref_problem *problem, const struct ref_tensor *output,
                  const void *other, double ulps, uint8_t poison, struct comparison *comparison);

// True where nothing wrong was found.
bool compare_passed(const struct comparison *);

// Where findings lie in a tensor that the manifest's grid cuts into tiles.
struct pattern *pattern_new(const struct tmg_manifest *, const struct ref_tensor *);
void pattern_free(struct pattern *);
void pattern_add(struct pattern *, const int64_t *index);

// Two or three lines, each ended by a newline: which tiles, and where in a tile.
void pattern_describe(const struct pattern *, char *text, size_t size);

// "d[12,7] (tile 0,0 at 12,7)".
void pattern_locate(const struct pattern *, int64_t linear, char *text, size_t size);
