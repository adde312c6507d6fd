// The command `tmagen verify`, behind its arguments: all kernels, all shapes, one line each.
// Each kernel runs in a process that a crash or a hang may end; the next one gets a new process.
#pragma once
#include "measure/kernels.h"

struct verify_plan {
    const char *device;  // "cuda", "cuda:1", "emu"; NULL: a GPU, else the emulator
    const struct kernel_text *kernels;
    size_t kernel_count;
    const struct shape_list *shapes;  // empty: the reference's own choice
    bool small;                       // of that, the emulator's part on any device
    bool no_waves;                    // without the emulator's shapes of several waves
    bool odd;                         // of one of them only what is odd: gaps, addresses, inputs
    bool unguarded, check_only;       // see verify_case
    const struct kernel_text *peer;   // what results must equal instead of the reference's; or NULL
    double ulps;                      // up to so many representable values
    // At most one of them: the file to write results to, or the one that they must equal, whose
    // cases are run, of [shapes] where there are any, with its seed.
    const char *record, *against;
    uint64_t seed;
    int runs;
    int64_t max_steps;  // of a launch on the emulator; 0: 10 billion
    int timeout;        // seconds that a launch may take; 0: 60, on the emulator 1200
    bool json;          // one object a line instead of the table
};

// Returns an exit code: 0, 1 where a kernel or a file is wrong, 2 where the kernels refuse all
// shapes
// that were asked for, 3 where there is no device to run on.
int verify_all(const struct verify_plan *);
