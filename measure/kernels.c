// Loading from memory; the name is only for messages.
#include "measure/kernels.h"

#include <stdio.h>

int kernel_load(tmagen_device *device, const struct kernel_text *text, tmagen_kernel **kernel) {
    const tmagen_load_options options = {.manifest_text = text->manifest,
                                         .source_text = text->source,
                                         .lines = text->lines,
                                         .line_count = text->line_count};
    const int status = tmagen_kernel_load(device, text->name, &options, kernel);
    if (status == TMAGEN_OK && *tmagen_warning_last()) {
        fprintf(stderr, "tmagen: warning: %s\n", tmagen_warning_last());
    }
    return status;
}

void kernel_complain(const char *what) {
    fprintf(stderr, "tmagen: error: %s%s%s\n", what, *what ? ": " : "", tmagen_error_last());
}
