// What the database knows already of the candidates and shapes of a run.
#include <stdlib.h>
#include <string.h>

#include "measure/tune_state.h"
#include "runtime/error.h"

struct memory {
    struct tuning *t;
    int *by_key, count;  // candidates that have a key, sorted by it
};

static const struct tuning *sorting;

static int by_key(const void *left, const void *right) {
    return strcmp(sorting->candidates[*(const int *)left].key,
                  sorting->candidates[*(const int *)right].key);
}

static int candidate_of(const struct memory *memory, const char *key) {
    int low = 0, high = memory->count;
    while (low < high) {
        const int middle = (low + high) / 2, candidate = memory->by_key[middle];
        const int order = strcmp(memory->t->candidates[candidate].key, key);
        if (!order) return candidate;
        if (order < 0) low = middle + 1;
        if (order > 0) high = middle;
    }
    return -1;
}

static bool condemns(enum tune_verdict verdict) {
    return verdict == TUNE_HANG || verdict == TUNE_FAULT;
}

static int remember_kernel(void *context, const struct tune_kernel *row) {
    const struct memory *memory = context;
    const int candidate = candidate_of(memory, row->key);
    if (candidate < 0) return 0;
    if (row->verdict == TUNE_COMPILE) *tune_compiled(memory->t, candidate) = TUNE_BAD;
    if (row->verdict != TUNE_UNKNOWN)
        *tune_checked(memory->t, candidate) = row->verdict == TUNE_OK ? TUNE_GOOD : TUNE_BAD;
    return 0;
}

static void remember_entry(struct tune_entry *entry, const struct tune_result *row) {
    entry->verdict = row->verdict;
    entry->level = row->level;
    entry->rounds = row->rounds;
    entry->ms = row->ms;
    entry->lower = row->lower;
    entry->upper = row->upper;
    entry->clock_mhz = row->clock_mhz;
    entry->watts = row->watts;
    entry->checked = row->checked;
    entry->worst = row->worst;
}

static int remember_result(void *context, const struct tune_result *row,
                           const struct tune_kernel *kernel) {
    const struct memory *memory = context;
    struct tuning *t = memory->t;
    const int candidate = candidate_of(memory, row->key);
    (void)kernel;
    if (candidate < 0 || strcmp(row->device, t->device)) return 0;
    if (condemns(row->verdict)) *tune_checked(t, candidate) = TUNE_BAD;
    for (int i = 0; i < t->task_count; ++i) {
        struct tune_task *task = &t->tasks[i];
        if (strcmp(task->shape, row->shape) || strcmp(task->dtype, row->dtype)) continue;
        for (int j = 0; j < task->entry_count; ++j)
            if (task->entries[j].candidate == candidate && task->entries[j].splits == row->splits)
                remember_entry(&task->entries[j], row);
    }
    return 0;
}

int tune_remember(struct tuning *t, struct tune_db *db) {
    const int candidates = (int)t->plan->kernel_count;
    struct memory memory = {t, calloc((size_t)candidates + 1, sizeof(int)), 0};
    if (!memory.by_key) return tmg_fail_memory(), -1;
    for (int i = 0; i < candidates; ++i)
        if (t->candidates[i].wanted) memory.by_key[memory.count++] = i;
    sorting = t;
    qsort(memory.by_key, (size_t)memory.count, sizeof(int), by_key);
    int status = tune_db_kernels(db, remember_kernel, &memory);
    if (status == TMAGEN_OK) status = tune_db_results(db, remember_result, &memory);
    free(memory.by_key);
    return status == TMAGEN_OK ? 0 : -1;
}
