// Which launches of a shape are looked at. The model errs by a tenth, and by much the same with
// launches that are much the same: what it was wrong about one of them corrects it for the others.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/tune_state.h"

// The first half by the model, the rest in batches, so that compilers have something to do at once.
enum { FIRST_SHARE = 2, BATCHES = 2 };

// How much a launch tells of another falls by half with each knob in which they differ. What is
// unlike all that was looked at may be better than predicted by this much (of a logarithm).
static const double likeness = 0.5, doubt = 0.1;
static const double prior = 0.5;  // the weight of the model against launches that are alike

// The knobs in which two specs of a line differ: their parts between commas.
static int knobs_apart(const char *a, const char *b) {
    int apart = 0;
    while (*a && *b) {
        const size_t m = strcspn(a, ","), n = strcspn(b, ",");
        apart += m != n || memcmp(a, b, n) != 0;
        a += m + (a[m] == ',');
        b += n + (b[n] == ',');
    }
    return apart + (*a || *b);
}

static double weight(const struct tuning *t, const struct tune_entry *a,
                     const struct tune_entry *b) {
    const char *x = t->candidates[a->candidate].spec, *y = t->candidates[b->candidate].spec;
    return pow(likeness, knobs_apart(x, y) + (a->splits != b->splits));
}

// What is known of an entry by those that were chosen before it.
struct opinion {
    double weights, off;  // off: of measured ones, times how far the model was off, a logarithm
    bool chosen;
};

// How far the model was off; 0 where nothing was measured.
static double off(const struct tune_entry *entry, double mean) {
    if (entry->verdict != TUNE_OK || !(entry->ms > 0)) return 0;
    return log(entry->ms * 1000 / entry->predicted_us) - mean;
}

static double mean_off(const struct tune_task *task) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < task->chosen_count; ++i) {
        const struct tune_entry *entry = &task->entries[task->chosen[i]];
        if (isnan(entry->predicted_us) || entry->verdict != TUNE_OK) continue;
        sum += off(entry, 0);
        ++count;
    }
    return count ? sum / count : 0;
}

// Takes into account that [entry] was chosen; [known]: and measured.
static void tell(const struct tuning *t, const struct tune_task *task, int entry, bool known,
                 double mean, struct opinion *opinions) {
    const struct tune_entry *chosen = &task->entries[entry];
    opinions[entry].chosen = true;
    if (isnan(chosen->predicted_us)) return;
    const double was = known ? off(chosen, mean) : 0;
    for (int i = 0; i < task->entry_count; ++i) {
        if (opinions[i].chosen) continue;
        const double w = weight(t, chosen, &task->entries[i]);
        opinions[i].weights += w;
        opinions[i].off += w * was;
    }
}

// The most promising entry that is not chosen; what no model knows goes first. -1: none is left.
static int most_promising(const struct tune_task *task, const struct opinion *opinions) {
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < task->entry_count; ++i) {
        const struct opinion *o = &opinions[i];
        const double us = task->entries[i].predicted_us, share = 1 / (prior + o->weights);
        const double value =
            isnan(us) ? -INFINITY : log(us) + o->off * share - doubt * sqrt(prior * share);
        if (o->chosen || !(best < 0 || value < least)) continue;
        least = value;
        best = i;
    }
    return best;
}

// Chooses until there are [most]. Whether any was chosen.
static bool choose(const struct tuning *t, struct tune_task *task, int most) {
    struct opinion *opinions = calloc((size_t)task->entry_count, sizeof *opinions);
    const int before = task->chosen_count;
    const double mean = mean_off(task);
    if (!opinions) return false;
    for (int i = 0; i < before; ++i) tell(t, task, task->chosen[i], true, mean, opinions);
    while (task->chosen_count < most) {
        const int next = most_promising(task, opinions);
        if (next < 0) break;
        task->chosen[task->chosen_count++] = next;
        tell(t, task, next, false, mean, opinions);
    }
    free(opinions);
    return task->chosen_count > before;
}

static int unknown_to_model(const struct tune_task *task) {
    int count = 0;
    for (int i = 0; i < task->entry_count; ++i) count += isnan(task->entries[i].predicted_us);
    return count;
}

// Those that were chosen and not looked at, since they had failed elsewhere by then.
static int failed_elsewhere(const struct tuning *t, const struct tune_task *task) {
    int count = 0;
    for (int i = 0; i < task->chosen_count; ++i) {
        const struct tune_entry *entry = &task->entries[task->chosen[i]];
        count += entry->verdict == TUNE_UNKNOWN && *tune_checked(t, entry->candidate) == TUNE_BAD;
    }
    return count;
}

// Chosen or not where there is a verdict: an earlier run may have chosen others.
int tune_tried(const struct tuning *t, const struct tune_task *task) {
    int count = failed_elsewhere(t, task);
    for (int i = 0; i < task->entry_count; ++i) count += task->entries[i].verdict != TUNE_UNKNOWN;
    return count;
}

bool tune_choose_first(const struct tuning *t, struct tune_task *task) {
    const int keep = t->plan->keep, count = task->entry_count;
    if (keep && keep < count)
        return choose(t, task, unknown_to_model(task) + (keep + 1) / FIRST_SHARE);
    for (int i = 0; i < count; ++i) task->chosen[task->chosen_count++] = i;
    return count > 0;
}

bool tune_choose_more(const struct tuning *t, struct tune_task *task) {
    const int most = t->plan->keep + unknown_to_model(task) + failed_elsewhere(t, task);
    const int now = task->chosen_count;
    const int batch = t->plan->keep / FIRST_SHARE / BATCHES + 1;
    if (!t->plan->keep || tune_tried(t, task) >= most || now >= most) return false;
    return choose(t, task, now + batch < most ? now + batch : most);
}
