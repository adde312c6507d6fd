// The command `tmagen ladder`, behind its arguments: rungs, each verified and measured against the
// one before, and the decision about each: is this optimisation worth its place in the default?
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "measure/kernels.h"
#include "measure/stats.h"

struct ladder_rung {
    int number;
    const char *title, *doc, *predict;
    struct kernel_text kernel;
    bool wrong;  // its results are; so it was not measured
};

enum ladder_decision {
    LADDER_KEEP,
    LADDER_UNCLEAR,  // not slower, but the gain is lost in the spread: leave it out
    LADDER_REVERT,   // slower: the default goes back
    LADDER_MIXED,    // of several shapes: keep at some and not at others
    LADDER_NONE,     // there is nothing to decide by
};

// The rule: [ratio] is how many times as fast the rung is, round by round. Above 1.05: keep; from 1
// to 1.05: keep only where half the distance of the quartiles is smaller than the gain.
enum ladder_decision ladder_decide(struct stats ratio);

// A rung at a shape.
struct ladder_row {
    size_t rung;              // index
    long against;             // index; -1: it is what the next one is measured against
    char shape[140];          // "bf16 4096x4096x4096"
    struct stats before, ms;  // in ms; count 0: not measured
    struct stats ratio;
    double since_first;  // times as fast as the shape's first rung: the ratios multiplied
    char reason[330];    // why there is no ratio; "" where there is one
};

struct ladder {
    const char *family;
    const char *command;  // that makes this ladder again
    struct ladder_rung *rungs;
    size_t rung_count;
    struct ladder_row *rows;  // as they were measured
    size_t row_count, row_capacity;
    char gpu[300];
};

struct ladder_plan {
    const char *device;               // "cuda" or "cuda:N"
    const struct shape_list *shapes;  // empty: to verify, the reference's; to measure, its typical
    double seconds;                   // of measuring a shape
    uint64_t seed;
    int timeout;  // seconds that a step may take
};

// Holds the shapes to what the first rung's reference takes, so that a mistake in one is no fault
// of the kernels. Returns an exit code, 0 or 1.
int ladder_check(const struct ladder *ladder, const struct shape_list *shapes);

// Verifies all rungs, then measures those that are right, and fills in rows and gpu. Returns an
// exit code: 0, 1 where a rung is wrong or failed, 3 where there is no GPU; then nothing is to be
// recorded. Rows are to be freed with ladder_free.
int ladder_run(struct ladder *ladder, const struct ladder_plan *plan);
void ladder_free(struct ladder *ladder);

// Over all shapes at which rung [index] was measured: keep, where every shape says keep; mixed,
// where only some do; else revert where one says revert. [shapes] gets how many there are.
enum ladder_decision ladder_overall(const struct ladder *ladder, size_t index, int *shapes);

// ---- ladder_print.c: what the user sees, and what is recorded
void ladder_print(const struct ladder *ladder, FILE *out);

// The section of the ledger, to be freed; NULL where memory ran out.
char *ladder_markdown(const struct ladder *ladder);
