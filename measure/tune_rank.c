// What dispatch tables know of the launches that are to be measured: a table's own ranking, by what
// was measured nearby and what it has learnt, errs less than the model alone.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/tune_state.h"
#include "runtime/error.h"

// Of a kernel that takes none, 0 or 1.
static int parts(int splits) { return splits ? splits : 1; }

// Whether the entry is the [choice] of the table.
static bool is_choice(const struct tuning *t, const struct tune_entry *entry,
                      const struct tmg_table *table, const struct tmg_choice *choice) {
    return parts(entry->splits) == parts(choice->splits) &&
           !strcmp(t->candidates[entry->candidate].text->name, table->kernels[choice->kernel].name);
}

static void rank_task(const struct tuning *t, struct tune_task *task,
                      const struct tmg_table *table) {
    struct tmg_choice choices[TMG_CHOICES];
    unsigned count = 0;
    if (!shape_is_for(task->given, table->interface) ||
        predict_ranking(table, task->given, choices, &count))
        return;  // the table serves others
    for (unsigned i = 0; i < count; ++i) {
        if (choices[i].binds == TMG_BOUNDS) continue;  // by no model
        for (int j = 0; j < task->entry_count; ++j)
            if (is_choice(t, &task->entries[j], table, &choices[i]))
                task->entries[j].ranked_us = choices[i].us;
    }
}

// Predicts by the ranking. Launches of no table are taken to miss as much as those do in the mean,
// or where the model errs about a shape they would all come before them, or behind.
static void predict(struct tune_task *task) {
    double missed = 0;
    int ranked = 0;
    for (int i = 0; i < task->entry_count; ++i) {
        const struct tune_entry *entry = &task->entries[i];
        if (!(entry->ranked_us > 0) || isnan(entry->predicted_us)) continue;
        missed += log(entry->ranked_us / entry->predicted_us);
        ++ranked;
    }
    const double times = ranked ? exp(missed / ranked) : 1;
    for (int i = 0; i < task->entry_count; ++i) {
        struct tune_entry *entry = &task->entries[i];
        entry->predicted_us = entry->ranked_us > 0 ? entry->ranked_us : entry->predicted_us * times;
    }
}

static int rank_by(struct tuning *t, const struct kernel_text *text) {
    struct tmg_table *table = NULL;
    const int status = predict_open(text, &table);
    if (status) return status;
    if (!strcmp(table->gpu, t->plan->model->name))  // else its times are another GPU's
        for (int i = 0; i < t->task_count; ++i) rank_task(t, &t->tasks[i], table);
    tmg_table_free(table);
    return TMAGEN_OK;
}

int tune_rank(struct tuning *t) {
    int status = TMAGEN_OK;
    for (size_t i = 0; i < t->plan->subject_count && !status; ++i)
        if (t->plan->subjects[i].table) status = rank_by(t, &t->plan->subjects[i]);
    for (int i = 0; i < t->task_count && !status; ++i) predict(&t->tasks[i]);
    return status;
}
