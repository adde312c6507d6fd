// Ranks the kernels of a table for a launch, which is bound once: what they are called with is the
// same, so that for each kernel only its own rules are looked at.
#include "runtime/choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/learned.h"
#include "runtime/refuse.h"

// What is ranked for, and the ranking so far.
struct ranking {
    const struct tmg_question *question;
    struct tmg_scene scene;
    const struct tmg_tuned *tuned;  // NULL: none
    struct tmg_choice choices[TMG_CHOICES];
    struct tmg_estimate estimates[TMG_CHOICES];  // of them, where they are by the model
    unsigned char order[TMG_CHOICES];            // of them, the first to be taken first
    unsigned count, most;
    int last;   // what is for the rest is being ranked, behind the others
    int needy;  // nothing else runs the launch: what only costs elsewhere is ranked too
    // Launches that may be ranked, and what they take at least; a tuned entry has own splits.
    struct possible {
        int kernel, splits;
    } entrants[TMG_MAX_LAUNCHES + 1];
    float least_us[TMG_MAX_LAUNCHES + 1];
    unsigned entrant_count;
    signed char fits[TMG_MAX_TABLE_KERNELS];  // by the first row of the same rules; -1: not asked
};

int tmg_choice_read(const struct tmg_table *table, const char *text, int *kernel, int *splits) {
    char name[TMG_MAX_NAME] = "", *end = NULL;
    const size_t length = strcspn(text, "/");
    if (length < sizeof name) memcpy(name, text, length);
    const int found = tmg_table_kernel(table, name);
    if (found < 0)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: has no kernel '%.*s'", table->name, (int)length,
                        text);
    const int64_t most = table->kernels[found].manifest->grid.max_splits;
    const long parts = text[length] ? strtol(text + length + 1, &end, 10) : 0;
    if (text[length] && (end == text + length + 1 || *end || parts < 1 || parts > most))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: '%s' is no choice; legal: %s/1 to %s/%" PRId64,
                        table->name, text, name, name, most);
    *kernel = found;
    *splits = (int)parts;
    return TMAGEN_OK;
}

// A tuned entry goes before all others, a kernel that the table has for the rest behind them; among
// equals the table's order decides.
static int goes_before(const struct tmg_choice *a, const struct tmg_choice *b) {
    if ((a->why == TMAGEN_BY_TUNING) != (b->why == TMAGEN_BY_TUNING))
        return a->why == TMAGEN_BY_TUNING;
    if (a->last != b->last) return b->last;
    if (a->us < b->us || a->us > b->us) return a->us < b->us;
    return a->kernel != b->kernel ? a->kernel < b->kernel : a->splits < b->splits;
}

static void insert(struct ranking *ranking, const struct tmg_choice *choice,
                   const struct tmg_estimate *estimate) {
    unsigned at = 0, end = ranking->count;
    while (at < end) {
        const unsigned middle = (at + end) / 2;
        if (goes_before(choice, &ranking->choices[ranking->order[middle]]))
            end = middle;
        else
            at = middle + 1;
    }
    if (at == ranking->most) return;
    const int full = ranking->count == ranking->most;
    const unsigned place = full ? ranking->order[ranking->most - 1] : ranking->count++;
    memmove(ranking->order + at + 1, ranking->order + at, ranking->count - at - 1);
    ranking->order[at] = (unsigned char)place;
    ranking->choices[place] = *choice;
    ranking->estimates[place] = *estimate;
}

// The bytes of workspace that a launch with those counts needs; -1 where it cannot run with what
// there is.
static int64_t workspace_of(const struct ranking *ranking, const int64_t counts[TMG_PER_COUNT]) {
    const struct tmg_scene *scene = &ranking->scene;
    const int64_t there = ranking->question->workspace;
    struct tmg_layout layout;
    if (!scene->binding.manifest->part_count) return 0;
    if (tmg_layout_of(&scene->binding, &scene->capacity, counts, &layout)) return -1;
    return there >= 0 && layout.bytes > there ? -1 : layout.bytes;
}

static int is_tuned(const struct ranking *ranking, int kernel, int splits) {
    const struct tmg_tuned *tuned = ranking->tuned;
    return tuned && tuned->kernel == kernel && (!tuned->splits || tuned->splits == splits);
}

// Whether somebody has named that launch, so that it is no matter of the model.
static int is_asked_for(const struct ranking *ranking, int kernel, int splits) {
    const struct tmg_question *question = ranking->question;
    return splits <= 1 || ranking->needy || question->launch->splits || question->kernel >= 0 ||
           is_tuned(ranking, kernel, splits);
}

static double times_of(const struct ranking *ranking, int kernel, int splits) {
    const int launch = tmg_table_launch(ranking->question->table, kernel, splits);
    return launch < 0 ? 1 : (double)ranking->scene.times[launch];
}

// The time from which on a choice by the model is none of those that are wanted.
static double limit_of(const struct ranking *ranking) {
    if (ranking->count < ranking->most) return INFINITY;
    return ranking->choices[ranking->order[ranking->most - 1]].us;
}

static void rank(struct ranking *ranking, int kernel, int splits) {
    const struct tmg_question *question = ranking->question;
    const int tuned = is_tuned(ranking, kernel, splits);
    const double times = times_of(ranking, kernel, splits),
                 limit = tuned ? INFINITY : limit_of(ranking) / times;
    int64_t counts[TMG_PER_COUNT];
    struct tmg_estimate estimate;
    if (tmg_scene_estimate(&ranking->scene, &question->table->kernels[kernel], splits, limit,
                           counts, &estimate) ||
        estimate.us > limit)
        return;
    // parts of nothing only cost, whatever was measured nearby
    if (estimate.steps < 1 && !is_asked_for(ranking, kernel, splits)) return;
    struct tmg_choice choice = {.kernel = kernel,
                                .splits = splits,
                                .why = question->why,
                                .last = ranking->last,
                                .us = estimate.us * times,
                                .tuned_us = tuned ? ranking->tuned->us : 0,
                                .binds = estimate.binds,
                                .workspace = workspace_of(ranking, counts)};
    if (choice.workspace < 0) return;
    if (!choice.why) choice.why = tuned ? TMAGEN_BY_TUNING : TMAGEN_BY_MODEL;
    insert(ranking, &choice, &estimate);
}

// A float above what a launch takes at least would pass it over: it is rounded to below.
#define BELOW .999999

// Whether the kernel may only be taken where it was measured nearby, and was not. A table in which
// nothing is measured says nothing of that.
static int is_strange(const struct ranking *ranking, int kernel, int splits) {
    const struct tmg_question *question = ranking->question;
    const struct tmg_table *table = question->table;
    if (!table->kernels[kernel].nearby || !table->measured_count || question->kernel >= 0 ||
        ranking->needy)
        return 0;
    const int launch = tmg_table_launch(table, kernel, splits);
    return launch < 0 || ranking->scene.weights[launch] < TMG_NEAR_ENOUGH;
}

// Of kernels that are not for the rest those launches are, which nobody measured nearby.
static void add(struct ranking *ranking, int kernel, int splits) {
    const struct tmg_question *question = ranking->question;
    const struct tmg_row *row = &question->table->kernels[kernel];
    const int tuned = is_tuned(ranking, kernel, splits);
    const int strange = !tuned && is_strange(ranking, kernel, splits);
    if (row->last ? strange : strange != ranking->last) return;
    const double us =
        tmg_least_us(&row->least, &ranking->scene.ground, splits, question->capacity.sms);
    const unsigned at = ranking->entrant_count++;
    ranking->entrants[at] = (struct possible){kernel, splits};
    ranking->least_us[at] = tuned ? 0 : (float)(us * times_of(ranking, kernel, splits) * BELOW);
}

// Whether [row] names those splits itself.
static int lists(const struct tmg_row *row, int splits) {
    for (unsigned i = 0; i < row->split_count; ++i)
        if (row->splits[i] == splits) return 1;
    return 0;
}

// Adds what the kernel may be split into: what the launch or a pin says, else what the table does.
static void add_kernel(struct ranking *ranking, int kernel) {
    const struct tmg_question *question = ranking->question;
    const struct tmg_row *row = &question->table->kernels[kernel];
    const struct tmg_tuned *tuned = ranking->tuned;
    const int own = question->launch->splits;
    const int fixed = own ? own : question->splits;
    if (fixed && fixed > row->manifest->grid.max_splits) return;
    if (fixed || !row->split_count) {
        add(ranking, kernel, fixed ? fixed : row->own_splits);
        return;
    }
    for (unsigned i = 0; i < row->split_count; ++i) add(ranking, kernel, row->splits[i]);
    if (tuned && tuned->kernel == kernel && tuned->splits && !lists(row, tuned->splits))
        add(ranking, kernel, tuned->splits);
}

static int fits(struct ranking *ranking, const struct tmg_row *row) {
    signed char *known = &ranking->fits[row->fits_as];
    if (*known < 0) *known = (signed char)tmg_rules_lie(row->rules, &ranking->scene.binding);
    return *known && tmg_rules_reach(row->rules, &ranking->scene.binding);
}

// Puts an entrant at [at] of the heap, or below: under i are those at 2 i + 1 and 2 i + 2, which
// take no less.
static void sink(struct ranking *ranking, unsigned at, struct possible entrant, float least) {
    const unsigned count = ranking->entrant_count;
    float *us = ranking->least_us;
    for (unsigned below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && us[below + 1] < us[below]) ++below;
        if (us[below] >= least) break;
        us[at] = us[below];
        ranking->entrants[at] = ranking->entrants[below];
    }
    us[at] = least;
    ranking->entrants[at] = entrant;
}

static void make_heap(struct ranking *ranking) {
    for (unsigned i = ranking->entrant_count / 2; i-- > 0;)
        sink(ranking, i, ranking->entrants[i], ranking->least_us[i]);
}

// Takes the entrant that takes the least at least; 0 where all take more than [limit].
static int take_least(struct ranking *ranking, double limit, struct possible *taken) {
    if (!ranking->entrant_count || (double)ranking->least_us[0] > limit) return 0;
    *taken = ranking->entrants[0];
    const unsigned last = --ranking->entrant_count;
    sink(ranking, 0, ranking->entrants[last], ranking->least_us[last]);
    return 1;
}

// Ranks what is for launches that nothing else runs, or the others, as far as they are wanted.
static void rank_kernels(struct ranking *ranking, int last) {
    const struct tmg_table *table = ranking->question->table;
    const int only = ranking->question->kernel;
    struct possible next;
    ranking->entrant_count = 0;
    ranking->last = last;
    for (int i = 0; i < (int)table->kernel_count; ++i) {
        const struct tmg_row *row = &table->kernels[i];
        if (row->last <= last && (only < 0 || only == i) && fits(ranking, row))
            add_kernel(ranking, i);
    }
    make_heap(ranking);
    while (take_least(ranking, limit_of(ranking), &next)) rank(ranking, next.kernel, next.splits);
}

// Those for the rest are behind all others, and are not looked at where these are enough.
static void rank_all(struct ranking *ranking) {
    const struct tmg_tuned *tuned = ranking->tuned;
    rank_kernels(ranking, 0);
    if (ranking->count < ranking->most ||
        (tuned && ranking->question->table->kernels[tuned->kernel].last))
        rank_kernels(ranking, 1);
}

// ---- The first few, by what the table has learnt

// How many choices from the [first] of the ranking on are by the model, of those to be told apart.
static unsigned count_model(const struct ranking *ranking, unsigned first) {
    unsigned count = 0;
    while (first + count < TMG_LEARNED_AMONG && first + count < ranking->count) {
        const struct tmg_choice *choice = &ranking->choices[ranking->order[first + count]];
        if (choice->why != TMAGEN_BY_MODEL || choice->last || !(choice->us < INFINITY)) break;
        ++count;
    }
    return count;
}

// The log of the times as long that the choice takes, beside others.
static float look_again(struct ranking *ranking, unsigned place) {
    struct tmg_scene *scene = &ranking->scene;
    const struct tmg_choice *choice = &ranking->choices[place];
    const int launch = tmg_table_launch(scene->table, choice->kernel, choice->splits);
    float inputs[TMG_LEARNED_INPUTS];
    if (launch < 0 || scene->weights[launch] >= TMG_NEAR_ITSELF) return 0;
    scene->binding.manifest = scene->table->kernels[choice->kernel].manifest;
    scene->binding.splits = choice->splits;
    tmg_learned_look(scene, (unsigned)launch, &ranking->estimates[place], inputs);
    tmg_learned_scale(scene->table->learned, inputs);
    return tmg_learned_miss(scene->table->learned, inputs);
}

// What is learnt compares: it leaves the mean of those that it compares as it is. Of launches that
// were measured at the shape itself it knows nothing better.
static void look_at_first(struct ranking *ranking, const unsigned char *order, unsigned count) {
    float misses[TMG_LEARNED_AMONG], mean = 0;
    for (unsigned i = 0; i < count; ++i) {
        misses[i] = look_again(ranking, order[i]);
        mean += misses[i] / (float)count;
    }
    for (unsigned i = 0; i < count; ++i) {
        const float beside = fmaxf(-TMG_LEARNED_MOST, fminf(TMG_LEARNED_MOST, misses[i] - mean));
        ranking->choices[order[i]].us *= (double)expf(beside);
    }
}

static void tell_apart(struct ranking *ranking) {
    const unsigned first =
        ranking->count && ranking->choices[ranking->order[0]].why == TMAGEN_BY_TUNING;
    const unsigned end = first + count_model(ranking, first);
    unsigned char *order = ranking->order;
    look_at_first(ranking, order + first, end - first);
    for (unsigned i = first; i < end; ++i) {
        const unsigned char place = order[i];
        unsigned at = i;
        for (;
             at > first && goes_before(&ranking->choices[place], &ranking->choices[order[at - 1]]);
             --at)
            order[at] = order[at - 1];
        order[at] = place;
    }
    // what was not looked at comes behind what was
    for (unsigned i = end; end > first && i < ranking->count; ++i) {
        const struct tmg_choice *before = &ranking->choices[order[i - 1]];
        struct tmg_choice *choice = &ranking->choices[order[i]];
        if (choice->last == before->last && choice->us < before->us) choice->us = before->us;
    }
}

// Fewer than what is told apart would rank otherwise than many.
static unsigned most_of(const struct tmg_question *question) {
    const unsigned most = question->most ? question->most : TMG_CHOICES;
    return question->table->learned && most < TMG_LEARNED_AMONG ? TMG_LEARNED_AMONG : most;
}

int tmg_choose(const struct tmg_question *question, struct tmg_choice *choices, unsigned *count) {
    const struct tmg_table *table = question->table;
    struct ranking ranking;
    struct tmg_near near;
    struct tmg_scene *scene = &ranking.scene;
    struct tmg_binding *binding = &scene->binding;
    ranking.question = question;
    scene->table = table;
    scene->capacity = question->capacity;
    const unsigned wanted = question->most ? question->most : TMG_CHOICES;
    ranking.most = most_of(question);
    ranking.count = *count = 0;
    memset(ranking.fits, -1, sizeof ranking.fits);
    if (tmg_bind(table->interface, question->launch, binding)) return tmg_refuse(question);
    if (binding->empty) return TMAGEN_OK;
    for (unsigned i = 0; i < table->dim_count; ++i)
        scene->shape[i] = binding->dims[table->shape_dims[i]];
    const int alignment = tmg_alignment_class(binding);
    ranking.tuned = tmg_table_find(table, scene->shape, alignment);
    tmg_near_find(table, scene->shape, alignment, &near);
    // splits that the caller names are not what was learnt from
    const int learns = table->learned && !question->launch->splits;
    tmg_scene_fill(scene, &near, learns);
    ranking.needy = 0;
    rank_all(&ranking);
    if (!ranking.count) {
        ranking.needy = 1;
        rank_all(&ranking);
    }
    if (learns) tell_apart(&ranking);
    *count = ranking.count < wanted ? ranking.count : wanted;
    for (unsigned i = 0; i < *count; ++i) choices[i] = ranking.choices[ranking.order[i]];
    return ranking.count ? TMAGEN_OK : tmg_refuse(question);
}
