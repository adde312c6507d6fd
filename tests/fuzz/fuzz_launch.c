// Fuzzes launch files of tmagen emulate: any bytes as YAML, and the same bytes as an .npy file.
// What is read without an error must be within the limits that the emulator is then asked for.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gen/diag.h"
#include "gen/cli/emulate.h"
#include "gen/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_argument(const struct emulate_file *file,
                           const struct emulate_argument *argument) {
    if (argument->kind < ARGUMENT_SCALAR && argument->buffer >= file->buffer_count) abort();
    for (size_t i = 0; i < argument->part_count; i++) {
        const struct emulate_argument *part = &argument->parts[i];
        if (part->at > argument->bytes || part->bytes > argument->bytes - part->at) abort();
        check_argument(file, part);
    }
}

static void check(const struct emulate_file *file) {
    if (file->block[0] * file->block[1] * file->block[2] > 1024) abort();
    for (size_t i = 0; i < file->argument_count; i++) {
        uint8_t *bytes = mem_alloc(file->arguments[i].bytes + 1);
        check_argument(file, &file->arguments[i]);
        emulate_argument_write(file, &file->arguments[i], bytes);
        free(bytes);
    }
    for (size_t i = 0; i < file->buffer_count; i++) {
        const struct emulate_buffer *buffer = &file->buffers[i];
        if (!buffer->bytes) abort();
        if (buffer->content == CONTENT_UNWRITTEN || buffer->bytes > 1 << 16) continue;
        char *value = mem_zero(buffer->bytes);
        emulate_buffer_fill(buffer, value);
        free(value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("launch", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    char *path = mem_format("/proc/self/fd/%d", fd);
    struct npy array;
    if (!npy_parse((const char *)data, size, &array) && array.bytes > size) abort();
    struct emulate_file file;
    struct diag *diag = diag_new();
    static FILE *nowhere;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    emulate_file_read(&file, diag, path, NULL, 0, NULL);
    if (!diag_errors(diag)) check(&file);
    diag_print(diag, nowhere);
    diag_free(diag);
    emulate_file_free(&file);
    close(fd);
    free(path);
    return 0;
}
