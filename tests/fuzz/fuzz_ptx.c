// Fuzzes the PTX parser, the decoder and, on what they take, every instruction: any bytes are a
// module, whose entries run for a moment. A PTX file is anyone's, so nothing in it may crash.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/emu.h"

enum { PARAMETERS = 16, PARAMETER_BYTES = 4096, BUFFER = 4096, STEPS = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// One launch with a buffer's address in each parameter's first bytes.
static void run(const struct emu_module *module, const char *entry, FILE *nowhere) {
    static uint64_t values[PARAMETERS][PARAMETER_BYTES / 8];
    const void *params[PARAMETERS];
    int count = emu_entry_params(module, entry);
    struct emu_memory *memory = emu_memory_new();
    struct emu_error error;
    struct emu_result result;
    if (memory == NULL || count > PARAMETERS) {
        if (memory != NULL) emu_memory_delete(memory);
        return;
    }
    memset(values, 0, sizeof values);
    for (int i = 0; i < count; i++) {
        values[i][0] = emu_memory_alloc(memory, BUFFER, "buffer");
        emu_memory_fill(memory, values[i][0], 1, BUFFER);
        params[i] = values[i];
        if (emu_entry_param_size(module, entry, i) > PARAMETER_BYTES) count = -1;
    }
    struct emu_launch launch = {.module = module,
                                .entry = entry,
                                .grid = {2, 1, 1},
                                .block = {64, 1, 1},
                                .dynamic_smem = 1024,
                                .params = params,
                                .param_count = (size_t)count,
                                .budget = {.steps = STEPS},
                                .threads = 1,
                                .print = nowhere};
    if (count >= 0 && !emu_launch_run(memory, &launch, &result, &error)) {
        for (size_t i = 0; i < result.report_count; i++)
            if (result.reports[i].text != NULL && !*result.reports[i].text) abort();
        emu_result_free(&result);
    }
    emu_memory_delete(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *nowhere;
    struct emu_module *module;
    struct emu_error error = {{0}};
    char *copy = malloc(size ? size : 1);  // exactly as long, so that reads beyond it are seen
    if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
    if (copy == NULL || nowhere == NULL) abort();
    memcpy(copy, data, size);
    if (emu_module_parse("fuzz.ptx", copy, size, NULL, &module, &error)) {
        if (!*error.text) abort();
    } else {
        for (size_t i = 0; i < 4 && emu_module_entry(module, i); i++)
            run(module, emu_module_entry(module, i), nowhere);
        emu_module_free(module);
    }
    free(copy);
    return 0;
}
