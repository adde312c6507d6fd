// Ranks the kernels of a table for a launch, which is bound once: what they are called with is the
// same, so that for each kernel only its own rules are looked at.
#include "runtime/choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/learned.h"
#include "runtime/queue.h"
#include "runtime/refuse.h"

// How many times as long as the model says a strange launch is taken to need among those for the
// rest: it likes them elsewhere too.
#define STRANGE_TIMES 1.3

// What is ranked for, and the ranking so far.
struct ranking {
    const struct tmg_question *question;
    struct tmg_scene scene;
    const struct tmg_tuned *tuned;  // NULL: none
    struct tmg_choice choices[TMG_CHOICES];
    struct tmg_estimate estimates[TMG_CHOICES];  // of them, where they are by the model
    unsigned char order[TMG_CHOICES];            // of them, the first to be taken first
    unsigned count, wanted, most;                // most: to tell those apart that are wanted
    double limit;                                // as limit_of() has it
    int last;   // what is for the rest is being ranked, behind the others
    int needy;  // nothing else runs the launch: what only costs elsewhere is ranked too
    float least_us[TMG_MAX_LAUNCHES];  // what each of the table's launches takes at least
    struct tmg_queue to_rank;  // those, and behind them an entry with splits that are not listed
    int roomy;                 // no kernel finds a size too large
    float enough;              // what shapes nearby weigh at least of what may only be taken there
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

static double us_at(const struct ranking *ranking, unsigned at) {
    return ranking->choices[ranking->order[at]].us;
}

// The first choice of the ranking that is by the model, behind a tuned entry.
static unsigned first_of(const struct ranking *ranking) {
    return ranking->count && ranking->choices[ranking->order[0]].why == TMAGEN_BY_TUNING;
}

// The time from which on a choice by the model is none of those that are wanted, nor of those that
// what is learnt may put before them.
static double limit_of(const struct ranking *ranking) {
    if (ranking->count < ranking->wanted) return INFINITY;
    const unsigned first = first_of(ranking), last = ranking->wanted - 1;
    const double near = us_at(ranking, first < last ? first : last) * TMG_LEARNED_WITHIN,
                 limit = fmax(near, us_at(ranking, last));
    return ranking->count < ranking->most ? limit : fmin(limit, us_at(ranking, ranking->most - 1));
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
    ranking->limit = limit_of(ranking);
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

// What shapes nearby weigh at least where a launch is not strange. A table in which nothing is
// measured says nothing of that.
static float enough_of(const struct ranking *ranking) {
    const struct tmg_question *question = ranking->question;
    const int any = !question->table->measured_count || question->kernel >= 0 || ranking->needy;
    return any ? -1 : TMG_NEAR_ENOUGH;
}

// Whether the launch may only be taken where it was measured nearby, and was not: what did that
// weighs [weight].
static int is_strange(const struct ranking *ranking, const struct tmg_listed *listed, float weight,
                      int tuned) {
    return !tuned && listed->nearby && weight < ranking->enough;
}

// [launch]: the table's, -1 where it does not list those splits.
static void rank(struct ranking *ranking, int kernel, int splits, int launch) {
    const struct tmg_question *question = ranking->question;
    const int tuned = is_tuned(ranking, kernel, splits);
    const struct tmg_row *row = &question->table->kernels[kernel];
    const struct tmg_listed *listed =
        &question->table->listed[launch < 0 ? row->first_launch : (unsigned)launch];
    const float weight = launch < 0 ? 0 : ranking->scene.weights[launch],
                miss = launch < 0 ? 0 : ranking->scene.misses[launch];
    const double doubt =
                     listed->last && is_strange(ranking, listed, weight, tuned) ? STRANGE_TIMES : 1,
                 times = (double)expf(miss) * doubt,
                 limit = tuned ? INFINITY : ranking->limit / times;
    int64_t counts[TMG_PER_COUNT];
    struct tmg_estimate estimate;
    if (tmg_scene_estimate(&ranking->scene, row, splits, limit, counts, &estimate) ||
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

static int fits(struct ranking *ranking, const struct tmg_listed *listed) {
    const struct tmg_row *rows = ranking->question->table->kernels;
    const struct tmg_binding *binding = &ranking->scene.binding;
    signed char *known = &ranking->fits[listed->fits_as];
    if (*known < 0) *known = (signed char)tmg_rules_lie(rows[listed->fits_as].rules, binding);
    return *known && (ranking->roomy || tmg_rules_reach(rows[listed->kernel].rules, binding));
}

// Whether a launch that fits is to be ranked now: with what is for the rest the strange ones are.
static int is_due(const struct ranking *ranking, const struct tmg_listed *listed, float weight,
                  int tuned) {
    return listed->last ? listed->last <= ranking->last
                        : is_strange(ranking, listed, weight, tuned) == ranking->last;
}

// Adds what kernels may be split into by the table, all of them or [only] one; whether they are due
// is asked of those that come to be ranked.
static void add_listed(struct ranking *ranking, int only) {
    const struct tmg_table *table = ranking->question->table;
    const int entry = ranking->tuned ? ranking->tuned->kernel : -1, one = only < 0 ? entry : only;
    if (only < 0) tmg_queue_fill(&ranking->to_rank, table, ranking->least_us, table->launch_count);
    if (one < 0) return;
    for (unsigned i = table->kernels[one].first_launch; i < table->kernels[one + 1].first_launch;
         ++i)
        tmg_queue_put(&ranking->to_rank, i,
                      is_tuned(ranking, one, table->listed[i].splits) ? 0 : ranking->least_us[i]);
}

// Adds a tuned entry with splits that the table does not list.
static void add_entry(struct ranking *ranking) {
    const struct tmg_table *table = ranking->question->table;
    const struct tmg_tuned *tuned = ranking->tuned;
    const struct tmg_listed *listed = &table->listed[table->kernels[tuned->kernel].first_launch];
    if (tuned->splits && tmg_table_launch(table, tuned->kernel, tuned->splits) < 0 &&
        is_due(ranking, listed, 0, 1) && fits(ranking, listed))
        tmg_queue_put(&ranking->to_rank, table->launch_count, 0);
}

// Adds the kernel with the splits that the launch or a pin names, as its first launch. Of what they
// take at least nothing is known where the table does not list them.
static void add_fixed(struct ranking *ranking, int kernel, int splits) {
    const struct tmg_table *table = ranking->question->table;
    const struct tmg_row *row = &table->kernels[kernel];
    const struct tmg_listed *listed = table->listed;
    const int launch = tmg_table_launch(table, kernel, splits);
    const float weight = launch < 0 ? 0 : ranking->scene.weights[launch];
    if (splits > row->manifest->grid.max_splits ||
        !is_due(ranking, &listed[row->first_launch], weight, is_tuned(ranking, kernel, splits)) ||
        !fits(ranking, &listed[row->first_launch]))
        return;
    tmg_queue_put(&ranking->to_rank, row->first_launch,
                  launch >= 0 && listed[launch].splits == splits ? ranking->least_us[launch] : 0);
}

static void rank_launch(struct ranking *ranking, unsigned launch, int fixed) {
    const struct tmg_table *table = ranking->question->table;
    const struct tmg_tuned *tuned = ranking->tuned;
    if (launch == table->launch_count) {
        rank(ranking, tuned->kernel, tuned->splits, -1);
        return;
    }
    const struct tmg_listed *listed = &table->listed[launch];
    const int named = is_tuned(ranking, listed->kernel, listed->splits);
    if (fixed)
        rank(ranking, listed->kernel, fixed, tmg_table_launch(table, listed->kernel, fixed));
    else if (is_due(ranking, listed, ranking->scene.weights[launch], named) &&
             fits(ranking, listed))
        rank(ranking, listed->kernel, listed->splits, (int)launch);
}

// Ranks launches, those that take the least at least first, until all others take too long: nothing
// takes less than it takes at least.
static void rank_due(struct ranking *ranking, int fixed) {
    for (;;) {
        const int launch = tmg_queue_take(&ranking->to_rank, ranking->limit);
        if (launch < 0) return;
        rank_launch(ranking, (unsigned)launch, fixed);
    }
}

// Ranks what is for launches that nothing else runs, or the others, as far as they are wanted.
static void rank_kernels(struct ranking *ranking, int last) {
    const struct tmg_question *question = ranking->question;
    const struct tmg_table *table = question->table;
    const int only = question->kernel,
              fixed = question->launch->splits ? question->launch->splits : question->splits;
    const unsigned begin = only < 0 ? 0 : (unsigned)only,
                   end = only < 0 ? table->kernel_count : begin + 1;
    ranking->last = last;
    ranking->enough = enough_of(ranking);
    if (only >= 0 || fixed) tmg_queue_fill(&ranking->to_rank, table, ranking->least_us, 0);
    for (unsigned i = begin; fixed && i < end; ++i) add_fixed(ranking, (int)i, fixed);
    if (!fixed) add_listed(ranking, only);
    if (!fixed && ranking->tuned && (only < 0 || only == ranking->tuned->kernel))
        add_entry(ranking);
    rank_due(ranking, fixed);
}

// Those for the rest are behind all others, and are not looked at where these are enough.
static void rank_all(struct ranking *ranking) {
    const struct tmg_tuned *tuned = ranking->tuned;
    rank_kernels(ranking, 0);
    if (ranking->count < ranking->wanted ||
        (tuned && ranking->question->table->kernels[tuned->kernel].last))
        rank_kernels(ranking, 1);
}

// ---- The first few, by what the table has learnt

// How many choices from the [first] of the ranking on are to be told apart.
static unsigned count_model(const struct ranking *ranking, unsigned first) {
    unsigned count = 0;
    while (first + count < TMG_LEARNED_AMONG && first + count < ranking->count) {
        const struct tmg_choice *choice = &ranking->choices[ranking->order[first + count]];
        if (choice->why != TMAGEN_BY_MODEL || choice->last || !(choice->us < INFINITY) ||
            choice->us > us_at(ranking, first) * TMG_LEARNED_WITHIN)
            break;
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
    struct tmg_learned_units units;
    if (launch < 0 || scene->weights[launch] >= TMG_NEAR_ITSELF) return 0;
    scene->binding.manifest = scene->table->kernels[choice->kernel].manifest;
    scene->binding.splits = choice->splits;
    tmg_learned_look(scene, (unsigned)launch, &ranking->estimates[place], inputs);
    tmg_learned_scale(scene->table->learned, inputs);
    return tmg_learned_miss(scene->table->learned, inputs, &units);
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
    const unsigned first = first_of(ranking), end = first + count_model(ranking, first);
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

// Whether every kernel reaches as far as those sizes.
static int is_roomy(const struct tmg_table *table, const struct tmg_binding *binding) {
    for (unsigned i = 0; i < table->interface->dim_count; ++i)
        if (binding->dims[i] > table->reach[i]) return 0;
    return 1;
}

// Fewer than what is told apart would rank otherwise than many.
static unsigned most_of(const struct tmg_table *table, unsigned wanted) {
    return table->learned && wanted < TMG_LEARNED_AMONG ? TMG_LEARNED_AMONG : wanted;
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
    ranking.wanted = question->most ? question->most : TMG_CHOICES;
    ranking.most = most_of(table, ranking.wanted);
    ranking.count = *count = 0;
    ranking.limit = INFINITY;
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
    tmg_leasts_us(&table->leasts, &scene->ground, question->capacity.sms, scene->misses,
                  ranking.least_us);
    ranking.roomy = is_roomy(table, binding);
    ranking.needy = 0;
    rank_all(&ranking);
    if (!ranking.count) {
        ranking.needy = 1;
        rank_all(&ranking);
    }
    if (learns) tell_apart(&ranking);
    *count = ranking.count < ranking.wanted ? ranking.count : ranking.wanted;
    for (unsigned i = 0; i < *count; ++i) choices[i] = ranking.choices[ranking.order[i]];
    return ranking.count ? TMAGEN_OK : tmg_refuse(question);
}
