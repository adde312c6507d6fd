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

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, resting;
    int seconds;
    struct timespec deadline;
    char step[200];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .step = "start"};

// Nanoseconds count: [watch.seconds] from a whole second would be up to one too few.
static void begin_step(void) {
    clock_gettime(CLOCK_MONOTONIC, &watch.deadline);
    watch.deadline.tv_sec += watch.seconds;
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
        fprintf(stderr, "tmagen: error: %s: no end after %d s\n", watch.step, watch.seconds);
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
}

void watchdog_step(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&watch.lock);
    vsnprintf(watch.step, sizeof watch.step, format, arguments);
    begin_step();
    watch.resting = false;
    pthread_mutex_unlock(&watch.lock);
    va_end(arguments);
}

void watchdog_rest(void) {
    pthread_mutex_lock(&watch.lock);
    watch.resting = true;
    pthread_mutex_unlock(&watch.lock);
}

void watchdog_stop(void) {
    if (!watch.running) return;
    pthread_mutex_lock(&watch.lock);
    watch.running = false;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    pthread_cond_destroy(&watch.changed);
    watch.resting = false;
    snprintf(watch.step, sizeof watch.step, "start");
}
