// Which kernels a shape may be launched with: those whose manifest takes it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/tune_state.h"
#include "runtime/error.h"
#include "runtime/manifest.h"
#include "runtime/nvrtc.h"
#include "runtime/request.h"

// The share of the best predicted speed below which the model is believed, whatever is to be kept.
static const double hopeless = 0.4;

// The task of [wanted]; a shape that was given twice has one.
static struct tune_task *find_task(struct tuning *t, const struct tune_task *wanted) {
    for (int same = 1; same >= 0; --same) {
        for (int i = 0; i < t->task_count; ++i) {
            struct tune_task *task = &t->tasks[i];
            if (same ? task->given != wanted->given : strcmp(task->shape, wanted->shape)) continue;
            if (!strcmp(task->family, wanted->family) && !strcmp(task->dtype, wanted->dtype))
                return task;
        }
    }
    return NULL;
}

static struct tune_task *add_task(struct tuning *t, const struct tune_task *task) {
    struct tune_task *grown = realloc(t->tasks, (size_t)(t->task_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    t->tasks = grown;
    grown[t->task_count] = *task;
    return &grown[t->task_count++];
}

static int add_entry(struct tune_task *task, int candidate, int splits, double us) {
    struct tune_entry *grown =
        realloc(task->entries, (size_t)(task->entry_count + 1) * sizeof *grown);
    if (!grown) return tmg_fail_memory();
    task->entries = grown;
    grown[task->entry_count++] =
        (struct tune_entry){.candidate = candidate, .splits = splits, .predicted_us = us};
    return TMAGEN_OK;
}

// Adds the kernel as it may be launched at the shape: once, or with each number of parts.
static int add_launches(struct tuning *t, struct tune_task *task, int candidate,
                        const struct tmg_manifest *manifest, const int64_t *dims) {
    int status = TMAGEN_OK, splits;
    for (int i = 0; !status && (splits = predict_splits(manifest, i)) >= 0; ++i) {
        struct tmg_estimate estimate;
        const bool known = !predict_launch(manifest, dims, splits, t->plan->model, &estimate);
        status = add_entry(task, candidate, splits, known ? estimate.us : NAN);
    }
    return status;
}

// What became of a shape: whether any kernel takes it, or why the first that was asked does not.
struct fate {
    bool taken;
    char why[200];
};

// Adds [candidate], whose manifest and reference were read, to the task of [shape], if it takes it.
static int add_to_shape(struct tuning *t, int candidate, const struct tmg_manifest *manifest,
                        const struct reference *reference, const struct shape *shape,
                        struct fate *fate) {
    int64_t dims[TMG_MAX_DIMS];
    char error[sizeof fate->why] = "";
    struct ref_problem problem;
    struct tune_task wanted = {.given = shape, .family = t->candidates[candidate].family};
    if (!shape_is_for(shape, manifest)) return TMAGEN_OK;
    if (shape_dims(shape, reference, manifest, dims, error, sizeof error) ||
        ref_problem_make(manifest, reference, dims, 0, &problem)) {
        if (!*fate->why)
            snprintf(fate->why, sizeof fate->why, "%s", *error ? error : tmagen_error_last());
        return TMAGEN_OK;
    }
    fate->taken = true;
    wanted.dtype = shape_dtype(manifest);
    shape_format(reference, manifest, problem.dims, shape->inputs, wanted.shape,
                 sizeof wanted.shape);
    struct tune_task *task = find_task(t, &wanted);
    if (task && task->entry_count && task->entries[task->entry_count - 1].candidate == candidate)
        return TMAGEN_OK;  // it is there, by the same shape given before
    if (!task) task = add_task(t, &wanted);
    return task ? add_launches(t, task, candidate, manifest, problem.dims) : tmg_fail_memory();
}

static int add_candidate(struct tuning *t, int number, struct fate *fates) {
    struct tune_candidate *candidate = &t->candidates[number];
    const struct kernel_text *text = candidate->text;
    struct tmg_manifest *manifest = NULL;
    struct reference reference;
    char error[200];
    int status = tmg_manifest_parse(text->manifest, strlen(text->manifest), text->name, &manifest);
    if (!status) status = reference_read(manifest, &reference);
    if (!status) {
        snprintf(candidate->arch, sizeof candidate->arch, "%s", manifest->arch);
        candidate->family = text->reference.family;
    }
    if (!status && !t->plan->shapes->count && !t->shapes.count && *reference.typical)
        status = shapes_parse(&t->shapes, reference.typical, error, sizeof error);
    const struct shape_list *shapes = t->plan->shapes->count ? t->plan->shapes : &t->shapes;
    for (size_t i = (size_t)t->plan->shard; !status && i < shapes->count;
         i += (size_t)t->plan->shards)
        status = add_to_shape(t, number, manifest, &reference, &shapes->shapes[i], &fates[i]);
    tmg_manifest_free(manifest);
    return status;
}

// The best predicted first; those that no model knows behind them, in the order of the sweep.
static int by_prediction(const void *left, const void *right) {
    const struct tune_entry *a = left, *b = right;
    const double x = isnan(a->predicted_us) ? INFINITY : a->predicted_us;
    const double y = isnan(b->predicted_us) ? INFINITY : b->predicted_us;
    if (x != y) return (x > y) - (x < y);
    if (a->candidate != b->candidate) return a->candidate < b->candidate ? -1 : 1;
    return a->splits - b->splits;
}

// Leaves what the model does not rule out; what it does not know stays.
static void prune(const struct tune_plan *plan, struct tune_task *task) {
    qsort(task->entries, (size_t)task->entry_count, sizeof *task->entries, by_prediction);
    const double best = task->entries[0].predicted_us;
    int kept = 0;
    for (int i = 0; plan->keep && i < task->entry_count; ++i)
        if (!(task->entries[i].predicted_us * hopeless > best))
            task->entries[kept++] = task->entries[i];
    if (plan->keep) task->entry_count = kept;
}

// Gives a candidate that may be launched its key.
static int want(struct tuning *t, int number) {
    struct tune_candidate *candidate = &t->candidates[number];
    char file[160];
    struct tmg_request_text text;
    if (candidate->wanted) return TMAGEN_OK;
    snprintf(file, sizeof file, "%s.cu", candidate->text->name);
    const tmagen_compile_options options = {.arch = candidate->arch, .name = file};
    const char *source = candidate->text->source;
    const int status = tmg_request_describe(source, strlen(source), &options, NULL, &text);
    if (status) return status;
    tmg_request_key(&text.request, tmg_nvrtc_find()->id, candidate->key);
    candidate->wanted = true;
    return TMAGEN_OK;
}

// Puts what was chosen first of the task among what is to be compiled.
static void compile_chosen(struct tuning *t, const struct tune_task *task, bool *listed) {
    for (int i = 0; i < task->chosen_count; ++i) {
        const int candidate = task->entries[task->chosen[i]].candidate;
        if (!listed[candidate]) t->compiles[t->compile_count++] = candidate;
        listed[candidate] = true;
    }
}

static int make_task(struct tuning *t, struct tune_task *task, bool *listed) {
    int status = TMAGEN_OK;
    prune(t->plan, task);
    for (int i = 0; i < task->entry_count && !status; ++i)
        status = want(t, task->entries[i].candidate);
    task->chosen = calloc((size_t)(unsigned)task->entry_count, sizeof *task->chosen);
    if (!status && !task->chosen) status = tmg_fail_memory();
    if (status) return status;
    tune_choose_first(t, task);
    compile_chosen(t, task, listed);
    return TMAGEN_OK;
}

// Says which shapes no kernel takes. Those of other types are others' matter.
static void say_refused(const struct shape_list *shapes, const struct fate *fates) {
    for (size_t i = 0; i < shapes->count; ++i) {
        if (fates[i].taken || !*fates[i].why) continue;
        fputs("tmagen: note: no kernel takes ", stderr);
        shape_print(&shapes->shapes[i], stderr);
        fprintf(stderr, ": %s\n", fates[i].why);
    }
}

int tune_make_tasks(struct tuning *t) {
    const size_t count = t->plan->kernel_count;
    struct fate *fates = calloc(t->plan->shapes->count + 1, sizeof *fates);  // 1: a typical one
    t->candidates = calloc(count + 1, sizeof *t->candidates);
    t->compiles = calloc(count + 1, sizeof *t->compiles);
    bool *listed = calloc(count + 1, sizeof *listed);
    int status = t->candidates && t->compiles && listed && fates ? TMAGEN_OK : tmg_fail_memory();
    for (size_t i = 0; i < count && !status; ++i) {
        t->candidates[i].text = &t->plan->kernels[i];
        t->candidates[i].spec = t->plan->specs[i];
        status = add_candidate(t, (int)i, fates);
    }
    if (!status && t->task_count && !tmg_nvrtc_find()) status = TMAGEN_ERROR_NO_COMPILER;
    if (!status) status = tune_rank(t);
    for (int i = 0; i < t->task_count && !status; ++i) status = make_task(t, &t->tasks[i], listed);
    if (!status) say_refused(t->plan->shapes, fates);
    free(fates);
    free(listed);
    if (status) kernel_complain("");
    return status == TMAGEN_ERROR_NO_COMPILER ? 3 : status ? 1 : 0;
}

void tune_free_tasks(struct tuning *t) {
    for (int i = 0; i < t->task_count; ++i) {
        free(t->tasks[i].entries);
        free(t->tasks[i].chosen);
    }
    shapes_free(&t->shapes);
    free(t->tasks);
    free(t->candidates);
    free(t->compiles);
}
