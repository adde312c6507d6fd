// A process that compiles what the shapes want, in their order, into the cache.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure/tune_state.h"
#include "measure/watchdog.h"

enum { COMPILE_SECONDS = 300, NICER = 5, WAIT_US = 2000 };

void tune_say(const struct tuning *t, const struct tune_message *message) {
    _Static_assert(sizeof *message < 4096, "a message is whole or not there");
    if (write(t->pipe, message, sizeof *message) != sizeof *message) _exit(TUNE_EXIT_BROKEN);
}

static void compile_one(struct tuning *t, int number) {
    const struct tune_candidate *candidate = &t->candidates[number];
    struct tune_message message = {.kind = TUNE_COMPILED, .candidate = number};
    char file[160];
    snprintf(file, sizeof file, "%s.cu", candidate->text->name);
    const tmagen_compile_options options = {.arch = candidate->arch, .name = file};
    tmagen_code code;
    watchdog_step("%s", candidate->text->name);
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

// What is to be compiled next, first what a worker waits for; -1: nothing now.
static int take_next(struct tuning *t) {
    struct tune_shared *shared = t->shared;
    int next = shared->next_urgent;
    while (next < (int)t->plan->kernel_count && t->urgent[next])
        if (atomic_compare_exchange_weak(&shared->next_urgent, &next, next + 1))
            return t->urgent[next] - 1;
    next = shared->next_compile;
    while (next < t->compile_count)
        if (atomic_compare_exchange_weak(&shared->next_compile, &next, next + 1))
            return t->compiles[next];
    return -1;
}

int tune_compile(struct tuning *t, int compiler) {
    struct tune_slot *slot = &t->shared->compilers[compiler];
    if (nice(NICER) < 0) nice(0);  // those that measure come first
    watchdog_start(COMPILE_SECONDS);
    while (!t->shared->stop) {
        const int next = take_next(t);
        if (next < 0) {
            watchdog_step("wait");
            usleep(WAIT_US);
        } else if (*tune_compiled(t, next) < TUNE_GOOD) {
            slot->candidate = next;
            compile_one(t, next);
            slot->candidate = -1;
        }
    }
    return TUNE_EXIT_DONE;
}
