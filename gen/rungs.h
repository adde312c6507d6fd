// The rungs of a family's ladder: what each is in words, and its kernel.
// Only `tmagen ladder` climbs; every other command meets a rung as the knob phase of a spec.
#pragma once
#include "gen/generate.h"

struct gen_rung {
    int number;
    char *title, *doc, *predict;  // "" where the family says nothing
};

struct gen_ladder {
    struct gen_rung *rungs;  // by number
    size_t count;
};

// Reads the ladder of [family]. Errors go to stderr; a family without one is an error. Returns 0,
// or 1 with an empty ladder. Free it in either case.
int gen_ladder_read(const char *family, const struct gen_options *options,
                    struct gen_ladder *ladder);
void gen_ladder_free(struct gen_ladder *);

// Generates the kernel of rung [number]: of specs/FAMILY_phaseN.yaml where it exists, since that
// file may say more, else of a spec that names family and phase and no more. One kernel comes out;
// anything else is an error. Returns 0, or 1 with an empty result. Free it in either case.
int gen_rung_kernel(const char *family, int number, const struct gen_options *options,
                    struct gen_result *result);
