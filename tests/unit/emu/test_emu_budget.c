// What a launch may take, and that reading a file takes a time in proportion to its length.
#include "tests/unit/emu/emu_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HEAD  ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .pred %p<2>;\n"

static struct emu_result result;

// ---- Reading

// Files of [count] lines that are alike: the text before, of each line by its number, and behind.
static const struct shape {
    const char *name, *before, *each, *behind;
} shapes[] = {
    {"calls", HEAD ".func f0() { ret; }\n", ".func f%2$u() { call f%1$u; ret; }\n",
     ".visible .entry k(.param .u64 out) { call f%u; ret; }\n"},
    {"labels", HEAD ENTRY, "L%1$u: @%%p1 bra L%2$u;\nadd.u32 %%r1, %%r1, 1;\n", "L%u: ret; }\n"},
    {"constants", HEAD ENTRY, "add.u32 %%r1, %%r1, %1$u;\n", "ret; }\n"},
    {"registers", HEAD ENTRY, ".reg .b32 r%1$u; mov.u32 r%1$u, 1;\n", "ret; }\n"},
    {"lines", HEAD ENTRY,
     ".loc 1 %1$u 3, function_name L, inlined_at 1 %2$u 7\nadd.u32 %%r1, %%r1, 1;\n",
     "ret; }\n.file 1 \"a.cu\"\n"},
    {"scopes", HEAD ENTRY, "{ .reg .b32 t%1$u; L: mov.u32 t%1$u, 1; @%%p1 bra L; }\n", "ret; }\n"},
};

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
// Seconds that it takes to read and decode a file with [count] such lines.
static double read_seconds(const struct shape *shape, unsigned count) {
    struct emu_error error;
    struct emu_module *module;
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    fputs(shape->before, out);
    for (unsigned i = 0; i < count; i++) fprintf(out, shape->each, i, i + 1);
    fprintf(out, shape->behind, count);
    fclose(out);
    const double start = cpu_seconds();
    if (emu_module_parse("long.ptx", text, bytes, &module, &error) ||
        emu_entry_check(module, "k", &error))
        fail_msg("%s: %s", shape->name, error.text);
    const double seconds = cpu_seconds() - start;
    emu_module_free(module);
    free(text);
    return seconds;
}

// Eight times as long takes about eight times as long, not 64 times.
static void reading_takes_time_in_proportion(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const double once = read_seconds(&shapes[i], 2000), more = read_seconds(&shapes[i], 16000);
        if (more > 24 * once + 0.1) fail_msg("%s: %f s, then %f s", shapes[i].name, once, more);
    }
}

static int end(void **state) {
    (void)state;
    emu_result_free(&result);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_takes_time_in_proportion),
    };
    return cmocka_run_group_tests_name("emu budget", tests, NULL, end);
}
