// A process that compiles what the shapes want, in their order, into the cache.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure/tune_state.h"
#include "measure/watchdog.h"

enum { COMPILE_SECONDS = 300, NICER = 5 };

static void compile_one(struct tuning *t, int number) {
    const struct tune_candidate *candidate = &t->candidates[number];
    struct tune_message message = {.kind = TUNE_COMPILED, .candidate = number};
    char file[160];
    snprintf(file, sizeof file, "%s.cu", candidate->text->name);
    const tmagen_compile_options options = {.arch = candidate->arch, .name = file};
    tmagen_code code;
    watchdog_step("%s: compile", candidate->text->name);
    const int status =
        tmagen_compile(candidate->text->source, strlen(candidate->text->source), &options, &code);
    if (status == TMAGEN_OK) {
        message.resources = code.resources;
        message.compile_ms = code.compile_ms;
        snprintf(message.compiler, sizeof message.compiler, "%s", code.compiler);
        tmagen_code_free(&code);
    } else {
        message.verdict = TUNE_COMPILE;
        snprintf(message.why, sizeof message.why, "%s", tmagen_error_last());
    }
    tune_say(t, &message);
    *tune_compiled(t, number) = status == TMAGEN_OK ? TUNE_GOOD : TUNE_BAD;
}

int tune_compile(struct tuning *t, int compiler) {
    struct tune_slot *slot = &t->shared->compilers[compiler];
    if (nice(NICER) < 0) nice(0);  // those that measure come first
    watchdog_start(COMPILE_SECONDS);
    for (;;) {
        const int next = t->shared->next_compile++;
        if (next >= t->compile_count || t->shared->stop) break;
        if (*tune_compiled(t, t->compiles[next]) >= TUNE_GOOD) continue;
        slot->candidate = t->compiles[next];
        compile_one(t, t->compiles[next]);
        slot->candidate = -1;
    }
    return TUNE_EXIT_DONE;
}
