// Threads take the next piece of the range from one counter until none is left.
// So that uneven pieces even out, and the result must not depend on who took which.
#include "measure/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct loop {
    int64_t count, grain;
    void (*body)(void *, int64_t, int64_t, int);
    void *context;
    atomic_llong next;
};

struct worker {
    struct loop *loop;
    int thread;
    pthread_t id;
    bool started;
};

int parallel_cores(void) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 2;
    const int count = CPU_COUNT(&cores);
    return count < 1 ? 1 : count;
}

int parallel_threads(void) {
    const int count = parallel_cores();
    return count > PARALLEL_MAX ? PARALLEL_MAX : count;
}

static void *work(void *argument) {
    const struct worker *worker = argument;
    struct loop *loop = worker->loop;
    for (;;) {
        const int64_t begin = atomic_fetch_add(&loop->next, loop->grain);
        if (begin >= loop->count) return NULL;
        const int64_t rest = loop->count - begin;
        loop->body(loop->context, begin, begin + (rest < loop->grain ? rest : loop->grain),
                   worker->thread);
    }
}

int64_t parallel_grain(int64_t count) {
    const int64_t grain = count / 64;
    return grain < 16 ? 16 : grain > PARALLEL_GRAIN ? PARALLEL_GRAIN : grain;
}

void parallel_for(int64_t count, int64_t grain, void (*body)(void *, int64_t, int64_t, int),
                  void *context) {
    struct loop loop = {count, grain < 1 ? 1 : grain, body, context, 0};
    struct worker workers[PARALLEL_MAX];
    const int threads = count <= loop.grain ? 1 : parallel_threads();
    for (int i = 1; i < threads; ++i) {
        workers[i] = (struct worker){&loop, i, 0, false};
        workers[i].started = pthread_create(&workers[i].id, NULL, work, &workers[i]) == 0;
    }
    work(&(struct worker){&loop, 0, 0, false});
    for (int i = 1; i < threads; ++i) {
        if (workers[i].started) pthread_join(workers[i].id, NULL);
    }
}
