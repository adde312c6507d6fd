// What profile and emulate have in common; verify has its own, since it knows peers and records.
#include "measure/subject.h"

enum { SEED = 1 };

int subject_open(tmagen_device *device, const struct kernel_text *text, struct subject *subject) {
    *subject = (struct subject){.text = text, .device = device};
    const int status = kernel_load(device, text, &subject->kernel);
    if (status) return status;
    subject->manifest = tmg_kernel_manifest(subject->kernel);
    if (!text->reference.count) return reference_lack(subject->manifest, &subject->reference);
    return reference_open(subject->manifest, &text->reference, NULL, &subject->reference);
}

void subject_close(struct subject *subject) {
    reference_close(&subject->reference);
    tmagen_kernel_unload(subject->kernel);
}

void subject_run(const struct subject *subject, const int64_t *dims, const char *inputs, int runs,
                 bool compare, struct verify_result *result) {
    const struct verify_case what = {.name = subject->text->name,
                                     .dims = dims,
                                     .inputs = inputs,
                                     .seed = SEED,
                                     .runs = runs,
                                     .check_only = !compare || !subject->text->reference.count};
    verify_run(subject->device, subject->kernel, &subject->reference, &what, result);
}
