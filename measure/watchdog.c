// One thread that sleeps until the deadline and looks whether it still is the deadline.
// It ends the process by _exit: an orderly exit would wait for the kernel that hangs.
// All by the clock that nobody sets: the wall clock may jump while a healthy step runs.
#include "measure/watchdog.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/compile.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, resting, host;
    int seconds;
    struct timespec deadline;
    char step[200];
    const char *compiled;  // NULL: nothing is
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .step = "start"};

int watchdog_host_seconds = 300;

static int limit(void) {
    const bool host = watch.host || watch.compiled;
    return host && watchdog_host_seconds > watch.seconds ? watchdog_host_seconds : watch.seconds;
}

// Nanoseconds count: [limit()] from a whole second would be up to one too few. The thread may sleep
// until a later deadline.
static void begin_step(void) {
    clock_gettime(CLOCK_MONOTONIC, &watch.deadline);
    watch.deadline.tv_sec += limit();
    if (watch.running) pthread_cond_signal(&watch.changed);
}

static bool is_over(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec != watch.deadline.tv_sec ? now.tv_sec > watch.deadline.tv_sec
                                               : now.tv_nsec >= watch.deadline.tv_nsec;
}

static void *look(void *unused) {
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (watch.running) {
        const struct timespec until = watch.deadline;
        pthread_cond_timedwait(&watch.changed, &watch.lock, &until);
        if (watch.resting) begin_step();
        if (!watch.running || !is_over()) continue;
        fprintf(stderr, "tmagen: error: %s%s%s: no end after %d s\n", watch.step,
                watch.compiled ? ": compiling " : "", watch.compiled ? watch.compiled : "",
                limit());
        fflush(stdout);
        _exit(3);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

// Makes the condition, which counts by the same clock as the deadline.
static bool make_condition(void) {
    pthread_condattr_t by_clock;
    if (pthread_condattr_init(&by_clock)) return false;
    const bool made = !pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC) &&
                      !pthread_cond_init(&watch.changed, &by_clock);
    pthread_condattr_destroy(&by_clock);
    return made;
}

void watchdog_start(int seconds) {
    if (watch.running || seconds <= 0 || !make_condition()) return;
    watch.seconds = seconds;
    begin_step();
    watch.running = true;
    watch.running = pthread_create(&watch.thread, NULL, look, NULL) == 0;
    if (!watch.running) pthread_cond_destroy(&watch.changed);
    if (watch.running) tmg_compile_told = watchdog_compile;
}

__attribute__((format(printf, 2, 0))) static void name_step(bool host, const char *format,
                                                            va_list arguments) {
    pthread_mutex_lock(&watch.lock);
    vsnprintf(watch.step, sizeof watch.step, format, arguments);
    watch.host = host;
    watch.resting = false;
    begin_step();
    pthread_mutex_unlock(&watch.lock);
}

void watchdog_step(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    name_step(false, format, arguments);
    va_end(arguments);
}

void watchdog_host(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    name_step(true, format, arguments);
    va_end(arguments);
}

void watchdog_compile(const char *file) {
    pthread_mutex_lock(&watch.lock);
    watch.compiled = file;
    begin_step();
    pthread_mutex_unlock(&watch.lock);
}

void watchdog_rest(void) {
    pthread_mutex_lock(&watch.lock);
    watch.resting = true;
    pthread_mutex_unlock(&watch.lock);
}

void watchdog_stop(void) {
    if (!watch.running) return;
    tmg_compile_told = NULL;
    pthread_mutex_lock(&watch.lock);
    watch.running = watch.host = false;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    pthread_cond_destroy(&watch.changed);
    watch.resting = false;
    snprintf(watch.step, sizeof watch.step, "start");
}
