// A kernel loaded on a device, with what draws its inputs: as profile and emulate run it, one
// launch at a time.
#pragma once
#include "measure/kernels.h"
#include "measure/verify.h"

struct subject {
    const struct kernel_text *text;
    tmagen_device *device;
    tmagen_kernel *kernel;
    const struct tmg_manifest *manifest;
    struct reference reference;
};

// A family without a reference of its own gets normal inputs. A library error code; to be closed in
// either case.
int subject_open(tmagen_device *device, const struct kernel_text *text, struct subject *subject);
void subject_close(struct subject *subject);

// Launches it on inputs that are the same every time, [runs] times, up to the first with a report.
// [compare]: with the family's reference, where it has one.
void subject_run(const struct subject *subject, const int64_t *dims, const char *inputs, int runs,
                 bool compare, struct verify_result *result);
