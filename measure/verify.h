// Runs a kernel on fresh random inputs and finds out whether it computes what it should.
// The output and what surrounds every tensor are poisoned, so silence is never taken for success.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "measure/compare.h"
#include "measure/target.h"
#include "runtime/tmagen.h"

// DIFFERS: right, but not what a record says; verify_run() itself knows no records.
#define VERIFY_INPUTS "special exact"  // that verify draws besides the usual, where a family can

enum verify_verdict { VERIFY_OK, VERIFY_WRONG, VERIFY_REFUSED, VERIFY_BROKEN, VERIFY_DIFFERS };

// What a launch is told because the bits of the results vary with it; 0: they do not.
struct variation {
    int sms, splits;
};

struct verify_case {
    const char *name;            // of the kernel and shape, for messages
    const int64_t *dims;         // in the manifest's order
    int64_t row_padding;         // elements between rows of every tensor
    bool unaligned;              // tensors begin as little aligned as the manifest lets them
    const char *inputs;          // what is drawn, of the reference's inputs; "": the usual
    struct variation variation;  // of the launches
    uint64_t seed;
    int runs;         // where more than one, every other result is compared with the first
    bool unguarded;   // nothing lies around the tensors: for tools that know every allocation's end
    bool check_only;  // no element is compared: only that all are written, and the same in all runs
    tmagen_kernel *peer;  // the kernel that results are compared with, not the reference; or NULL
    tmagen_set *set;      // launches by shape, in the kernel's place, which is NULL; or NULL
    double ulps;          // with a peer: the representable values that may lie between two elements
    // Shown the inputs and the first run's outputs; NULL: nobody wants to see them.
    void (*seen)(void *context, const struct ref_problem *);
    void *context;
};

struct verify_result {
    enum verify_verdict verdict;
    int64_t elements;                // of all outputs
    int64_t checked;                 // by the reference
    bool compared;                   // with the reference
    bool whole;                      // nothing of the outputs was left out
    double worst;                    // largest error as a share of its tolerance
    char picked[TMG_MAX_NAME + 16];  // what a set took; "" for a kernel
    char report[4096];               // lines about what is wrong; "" when nothing is
};

// The variation of a kernel's launches: recorded numbers, where there are any, else the device's
// SMs and the manifest's splits.
struct variation verify_variation(const tmagen_kernel *, struct variation recorded);

// Verifies one shape of a loaded kernel, or of the case's set. REFUSED: it is not for this shape.
// BROKEN: the device or memory failed, and after such a failure a CUDA device does no more work in
// this process.
void verify_run(tmagen_device *, tmagen_kernel *, const struct reference *,
                const struct verify_case *, struct verify_result *);
