// Messages of the front end name lines of the source; those of the assembler lines of the PTX in
// between, which is made again to be read: its .loc lines lead back to the source.
#include "gen/cli/compiler_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "runtime/tmagen.h"

struct log {
    const struct gen_output *out;
    char *ptx;  // once it was asked for
};

char *compiler_ptx(const struct gen_output *out) {
    char *file = mem_format("%s.cu", out->name);
    const tmagen_compile_options options = {.kind = TMAGEN_PTX, .arch = out->arch, .name = file};
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

// Where .loc says that an instruction comes from, and where what it is in was called.
struct loc_line {
    int file, line, column;
};

// The last .loc of lines 1 to [number] of the PTX that is of [wanted], or of any place where that
// is NULL: gives its place, and that of the call into what it is in; line 0: there is none.
static struct loc_line find_loc(const char *ptx, int number, const struct loc_line *wanted,
                                struct loc_line *call) {
    struct loc_line last = {0};
    for (int i = 1; *ptx && i <= number; i++) {
        const size_t len = strcspn(ptx, "\n");
        struct loc_line at = {0};
        if (sscanf(ptx, " .loc %d %d %d", &at.file, &at.line, &at.column) == 3 &&
            (!wanted || !memcmp(wanted, &at, sizeof at))) {
            static const char mark[] = "inlined_at";
            const char *inlined = memmem(ptx, len, mark, strlen(mark));
            last = at;
            *call = (struct loc_line){0};
            if (inlined)
                sscanf(inlined + strlen(mark), "%d %d %d", &call->file, &call->line, &call->column);
        }
        ptx += len + (ptx[len] == '\n');
    }
    return last;
}

// The number that .file gives to the source; 0: none.
static int source_file(const struct log *log) {
    char *mark = mem_format("%s.cu\"", log->out->name);
    int number = 0, found;
    for (const char *at = log->ptx; at && *at && !number;) {
        const size_t len = strcspn(at, "\n");
        if (sscanf(at, " .file %d", &found) == 1 && memmem(at, len, mark, strlen(mark)))
            number = found;
        at += len + (at[len] == '\n');
    }
    free(mark);
    return number;
}

// Says which template line [line] of the source was generated from.
static void say_origin(const struct gen_output *out, int line, const char *how) {
    const tmagen_source_line *origin =
        line >= 1 && (size_t)line <= out->line_count ? &out->lines[line - 1] : NULL;
    if (!origin || !origin->file) return;
    fprintf(stderr, "  %s %s:%d\n", how, origin->file, origin->line);
}

// Line [number] of the PTX: what it was generated from, and the calls that brought it there.
static void say_assembled(struct log *log, int number) {
    enum { DEPTH = 16 };
    struct loc_line call;
    if (!log->ptx) log->ptx = compiler_ptx(log->out);
    if (!log->ptx) return;
    const int file = source_file(log);
    struct loc_line at = find_loc(log->ptx, number, NULL, &call);
    for (int depth = 0; at.line && depth < DEPTH; depth++) {
        if (at.file == file) say_origin(log->out, at.line, depth ? "called at" : "generated from");
        const struct loc_line caller = call;
        call = (struct loc_line){0};
        if (caller.line) find_loc(log->ptx, number, &caller, &call);
        at = caller;
    }
}

static void say_origins(struct log *log, const char *text, size_t len) {
    static const char within[] = "at line ";
    char *mark = mem_format("%s.cu(", log->out->name);
    int line = number_behind(text, len, mark), assembled = 0;
    free(mark);
    if (!line) assembled = number_behind(text, len, "ptx input, line ");
    if (!line && !assembled) line = number_behind(text, len, within);
    if (line) say_origin(log->out, line, "generated from");
    if (assembled) say_assembled(log, assembled);
}

void compiler_log_print(const struct gen_output *out, const char *text) {
    struct log log = {.out = out};
    char *copy = mem_copy(text);  // the library's own, which a compile in between would change
    for (const char *at = copy; *at;) {
        const size_t len = strcspn(at, "\n");
        fprintf(stderr, "%.*s\n", (int)len, at);
        say_origins(&log, at, len);
        at += len + (at[len] == '\n');
    }
    free(copy);
    free(log.ptx);
}
