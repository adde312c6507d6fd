// Messages of the front end name lines of the source; those of the assembler lines of the PTX in
// between, which is made again to be read: its .loc lines lead back to the source.
#include "gen/cli/compiler_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/memory.h"
#include "runtime/tmagen.h"

struct log {
    const struct gen_output *out;
    char *ptx;  // once it was asked for
};

char *compiler_ptx(const struct gen_output *out) {
    char *file = mem_format("%s.cu", out->name);
    const tmagen_compile_options options = {
        .kind = TMAGEN_PTX, .arch = out->arch, .name = file, .mode = TMAGEN_NO_CACHE};
    tmagen_code code = {0};
    const int error = tmagen_compile(out->source, out->source_len, &options, &code);
    char *ptx = error ? NULL : mem_copy_n(code.data, code.bytes);
    if (!error) tmagen_code_free(&code);
    free(file);
    return ptx;
}

// The number behind [mark] in the line; 0: it is not there.
static int number_behind(const char *text, size_t len, const char *mark) {
    const char *found = memmem(text, len, mark, strlen(mark));
    return found ? atoi(found + strlen(mark)) : 0;
}

// The line of the source that line [number] of the PTX was made of; 0: it does not say.
static int source_line(const char *ptx, int number) {
    int line = 0, file, found;
    for (int i = 1; ptx && *ptx && i <= number; i++) {
        if (sscanf(ptx, " .loc %d %d", &file, &found) == 2) line = found;
        ptx += strcspn(ptx, "\n");
        ptx += *ptx == '\n';
    }
    return line;
}

// The line of NAME.cu that a line of the log speaks of; 0: none.
static int log_line(struct log *log, const char *text, size_t len) {
    char *mark = mem_format("%s.cu(", log->out->name);
    int line = number_behind(text, len, mark);
    free(mark);
    const int assembled = line ? 0 : number_behind(text, len, "ptx input, line ");
    if (!assembled) return line;
    if (!log->ptx) log->ptx = compiler_ptx(log->out);
    return source_line(log->ptx, assembled);
}

void compiler_log_print(const struct gen_output *out, const char *text) {
    struct log log = {.out = out};
    char *copy = mem_copy(text);  // the library's own, which a compile in between would change
    for (const char *at = copy; *at;) {
        const size_t len = strcspn(at, "\n");
        fprintf(stderr, "%.*s\n", (int)len, at);
        const int line = log_line(&log, at, len);
        const tmagen_source_line *origin =
            line >= 1 && (size_t)line <= out->line_count ? &out->lines[line - 1] : NULL;
        if (origin && origin->file)
            fprintf(stderr, "  generated from %s:%d\n", origin->file, origin->line);
        at += len + (at[len] == '\n');
    }
    free(copy);
    free(log.ptx);
}
