#include "runtime/forks.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic unsigned forks;

static void count_fork(void) { atomic_fetch_add(&forks, 1); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

unsigned tmg_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
