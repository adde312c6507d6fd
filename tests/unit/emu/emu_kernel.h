// A test's PTX on the emulator: parsed, launched as its entry k, and gone, in one call.
// What is no report (text that does not parse, a refused launch) fails the test.
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/emu/emu.h"

// Launches [ptx] as [like] says, with [count] parameters. [result] is the caller's to free.
static inline void emu_kernel_launch(struct emu_memory *memory, const char *ptx,
                                     struct emu_launch like, const void *const *params,
                                     size_t count, struct emu_result *result) {
    struct emu_error error;
    struct emu_module *module;
    if (emu_module_parse("test.ptx", ptx, strlen(ptx), NULL, &module, &error))
        fail_msg("%s\n%s", error.text, ptx);
    like.module = module;
    like.entry = "k";
    like.params = params;
    like.param_count = count;
    if (emu_launch_run(memory, &like, result, &error)) fail_msg("%s\n%s", error.text, ptx);
    emu_module_free(module);
}

// The same of a kernel whose one parameter is a buffer of [bytes], zero before; what it holds
// afterwards is in [words].
static inline void emu_kernel_words(const char *ptx, struct emu_launch like, void *words,
                                    size_t bytes, struct emu_result *result) {
    struct emu_memory *memory = emu_memory_new();
    uint64_t out = emu_memory_alloc(memory, bytes, "out");
    const void *params[] = {&out};
    emu_memory_fill(memory, out, 0, bytes);
    emu_kernel_launch(memory, ptx, like, params, 1, result);
    emu_memory_read(memory, words, out, bytes);
    emu_memory_delete(memory);
}

// Fails unless [result] has no report.
static inline void emu_kernel_is_clean(const struct emu_result *result) {
    if (result->report_count) fail_msg("%s", result->reports[0].text);
}

// Fails unless a report of [class_] is among those of [result], or a note.
static inline void emu_kernel_is_reported(const struct emu_result *result, enum emu_class class_) {
    for (size_t i = 0; i < result->report_count + result->note_count; ++i)
        if (result->reports[i].class_ == class_) return;
    fail_msg("no report of class %s, but %s", emu_class_name(class_),
             result->report_count ? result->reports[0].text : "none at all");
}
