// Generated outputs as verify and bench take them.
// A separate file, so that measure/ needs no header of the generator.
#include "gen/measured.h"

#include "gen/memory.h"

struct kernel_text *kernels_of(const struct gen_result *results, size_t count, size_t *kernels) {
    struct kernel_text *texts = NULL;
    size_t capacity = 0;
    *kernels = 0;
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < results[i].output_count; ++j) {
            const struct gen_output *output = &results[i].outputs[j];
            const struct kernel_text text = {output->name, output->source, output->manifest,
                                             output->lines, output->line_count};
            MEM_PUSH(texts, *kernels, capacity, text);
        }
    }
    return texts;
}
