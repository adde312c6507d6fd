// The text of a reference as compilers get it: one, with headers in the places of their #includes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/reference_code.h"

const struct reference_file *reference_file(const struct reference_text *text, const char *name) {
    for (int i = 0; i < text->count; ++i)
        if (!strcmp(text->files[i].name, name)) return &text->files[i];
    return NULL;
}

// The name between quotes from [at] on, to the end of its line; NULL where it is anything else.
static const char *take_name(const char *at, char *name) {
    const size_t length = strcspn(at, "\"\n");
    if (at[length] != '"' || length == 0 || length >= REFERENCE_FILE_NAME) return NULL;
    memcpy(name, at, length);
    name[length] = 0;
    return at + strcspn(at, "\n");
}

bool reference_include(const char *text, struct reference_include *include) {
    static const char word[] = "#include \"";
    for (const char *at = include->end ? include->end : text; (at = strstr(at, word)); ++at) {
        if (at > text && at[-1] != '\n') continue;
        const char *end = take_name(at + sizeof word - 1, include->name);
        if (!end) continue;
        include->begin = at;
        include->end = end + (*end == '\n');
        return true;
    }
    return false;
}

static int line_of(const char *text, const char *at) {
    int line = 1;
    for (; text < at; ++text) line += *text == '\n';
    return line;
}

// Prints [file], which is the first of them where [taken] is 0, and marks what it takes in.
static void print(FILE *to, const struct reference_text *text, const struct reference_file *file,
                  unsigned *taken) {
    struct reference_include include = {0};
    const char *at = file->text;
    fprintf(to, "#line 1 \"%s\"\n", *taken ? file->name : file->path);
    *taken |= 1u << (file - text->files);
    while (reference_include(file->text, &include)) {
        const struct reference_file *header = reference_file(text, include.name);
        if (!header) continue;
        fwrite(at, 1, (size_t)(include.begin - at), to);
        at = include.end;
        const int line = line_of(file->text, at);
        if (!(*taken >> (header - text->files) & 1)) print(to, text, header, taken);
        fprintf(to, "#line %d \"%s\"\n", line, file == text->files ? file->path : file->name);
    }
    fprintf(to, "%s\n", at);
}

char *reference_assemble(const struct reference_text *text) {
    char *all = NULL;
    size_t bytes;
    unsigned taken = 0;
    FILE *to = open_memstream(&all, &bytes);
    if (!to) return NULL;
    print(to, text, text->files, &taken);
    if (fclose(to) == 0) return all;
    free(all);
    return NULL;
}
