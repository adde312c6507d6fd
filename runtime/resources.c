// Reads ptxas's verbose report and separates it from the warnings.
// Its words are a table, so that a release that changes one is one row.
#include "runtime/resources.h"

#include <stdio.h>
#include <string.h>

// A number is read before the text that follows it: "40 registers".
static const struct {
    const char *after;
    size_t field;
} counts[] = {
    {" registers", offsetof(tmagen_resources, registers)},
    {" bytes stack frame", offsetof(tmagen_resources, stack_bytes)},
    {" bytes cumulative stack size", offsetof(tmagen_resources, stack_bytes)},
    {" bytes spill stores", offsetof(tmagen_resources, spill_store_bytes)},
    {" bytes spill loads", offsetof(tmagen_resources, spill_load_bytes)},
    {" bytes smem", offsetof(tmagen_resources, shared_bytes)},
    {" barriers", offsetof(tmagen_resources, barriers)},
};

// The number that ends just before [end], not before [start]; -1 where there is none.
static int number_before(const char *start, const char *end) {
    const char *digit = end;
    while (digit > start && digit[-1] >= '0' && digit[-1] <= '9') --digit;
    if (digit == end || end - digit > 9) return -1;
    int value = 0;
    for (; digit < end; ++digit) value = value * 10 + (*digit - '0');
    return value;
}

static void raise_to(tmagen_resources *resources, size_t field, int value) {
    int *slot = (int *)((char *)resources + field);
    if (value > *slot) *slot = value;
}

void tmg_resources_parse(const char *log, tmagen_resources *resources) {
    *resources = (tmagen_resources){-1, -1, -1, -1, -1, -1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        const char *at = log;
        while ((at = strstr(at, counts[i].after))) {
            raise_to(resources, counts[i].field, number_before(log, at));
            at += strlen(counts[i].after);
        }
    }
    if (resources->registers < 0) return;                          // no report at all
    if (resources->shared_bytes < 0) resources->shared_bytes = 0;  // ptxas does not name zeros
    if (resources->barriers < 0) resources->barriers = 0;
}

static int only_counts(const char *line, size_t length) {
    static const char *const reports[] = {"bytes gmem",
                                          "Compiling entry function",
                                          "Function properties",
                                          "bytes stack frame",
                                          "Used ",
                                          "Compile time"};
    if (length < 5 || memcmp(line, "ptxas", 5)) return length == 0;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; ++i)
        if (memmem(line, length, reports[i], strlen(reports[i]))) return 1;
    return 0;
}

void tmg_resources_strip(char *log) {
    char *to = log;
    for (char *line = log; *line;) {
        size_t length = strcspn(line, "\n"), whole = length + (line[length] == '\n');
        if (!only_counts(line, length)) {
            memmove(to, line, whole);
            to += whole;
        }
        line += whole;
    }
    while (to > log && to[-1] == '\n') --to;
    *to = 0;
}
