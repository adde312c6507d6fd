// Fuzzes a whole spec: any bytes through reader, schema, plan, checks, template and manifest.
// They reach it as a file in memory, so that the public entry is what is tested.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gen/generate.h"
#include "gen/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *nowhere;
    if (!nowhere) stderr = nowhere = fopen("/dev/null", "w");  // where gen_spec reports
    int file = memfd_create("spec", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    char *path = mem_format("/proc/self/fd/%d", file);
    struct gen_options options;
    struct gen_result result;
    gen_options_init(&options);
    int failed = gen_spec(path, &options, &result);
    for (size_t i = 0; i < result.output_count; i++)
        if (failed || !result.outputs[i].source || !result.outputs[i].manifest) abort();
    gen_result_free(&result);
    gen_options_free(&options);
    close(file);
    free(path);
    return 0;
}
