// Fuzzes what `tmagen emulate` reads: any bytes as a launch file, and as an array of NumPy's.
// What is read without an error must be good for a launch: arguments have the bytes they say.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gen/cli/emulate.h"
#include "gen/diag.h"
#include "gen/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct emulate_file *file) {
    for (size_t i = 0; i < file->argument_count; i++) {
        uint8_t *value = mem_zero(file->arguments[i].bytes);
        emulate_argument_write(file, &file->arguments[i], value);
        free(value);
    }
    for (size_t i = 0; i < file->buffer_count; i++) {
        const struct emulate_buffer *buffer = &file->buffers[i];
        if (buffer->content == CONTENT_UNWRITTEN || buffer->bytes > 1 << 16) continue;
        char *value = mem_zero(buffer->bytes);
        emulate_buffer_fill(buffer, value);
        free(value);
    }
}

static void read_launch(const char *path) {
    struct diag *diag = diag_new();
    struct emulate_file file;
    emulate_file_read(&file, diag, path, NULL, 0, NULL);
    static FILE *nowhere;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    if (!diag_errors(diag)) use(&file);
    diag_print(diag, nowhere);
    diag_free(diag);
    emulate_file_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct npy array;
    const char *why = npy_parse((const char *)data, size, &array);
    if (!why && array.bytes > size) abort();
    int file = memfd_create("launch", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    char *path = mem_format("/proc/self/fd/%d", file);
    read_launch(path);
    close(file);
    free(path);
    return 0;
}
