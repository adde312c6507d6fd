// Ranks the kernels of a table for a launch, which is bound once: what they are called with is the
// same, so that for each kernel only its own rules are looked at.
#include "runtime/choose.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/near.h"
#include "runtime/refuse.h"

// What is ranked for, and the ranking so far.
struct ranking {
    const struct tmg_question *question;
    struct tmg_binding *binding;
    struct tmg_pitches pitches;
    struct tmg_work work;           // of the kernel that is bound
    int64_t tiles[3];               // that it has
    const struct tmg_tuned *tuned;  // NULL: none
    struct tmg_near near;
    struct tmg_choice choices[TMG_CHOICES];
    unsigned char order[TMG_CHOICES];  // of them, the first to be taken first
    unsigned count;
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
    return a->us < b->us;
}

static void insert(struct ranking *ranking, const struct tmg_choice *choice) {
    unsigned at = 0, end = ranking->count;
    while (at < end) {
        const unsigned middle = (at + end) / 2;
        if (goes_before(choice, &ranking->choices[ranking->order[middle]]))
            end = middle;
        else
            at = middle + 1;
    }
    if (at == TMG_CHOICES) return;
    const int full = ranking->count == TMG_CHOICES;
    const unsigned place = full ? ranking->order[TMG_CHOICES - 1] : ranking->count++;
    memmove(ranking->order + at + 1, ranking->order + at, ranking->count - at - 1);
    ranking->order[at] = (unsigned char)place;
    ranking->choices[place] = *choice;
}

// The bytes of workspace that a launch with those counts needs; -1 where it cannot run with what
// there is.
static int64_t workspace_of(const struct ranking *ranking, const int64_t counts[TMG_PER_COUNT]) {
    const struct tmg_question *question = ranking->question;
    struct tmg_layout layout;
    if (!ranking->binding->manifest->part_count) return 0;
    if (tmg_layout_of(ranking->binding, &question->capacity, counts, &layout)) return -1;
    return question->workspace >= 0 && layout.bytes > question->workspace ? -1 : layout.bytes;
}

static void add(struct ranking *ranking, int kernel, int splits) {
    const struct tmg_question *question = ranking->question;
    const struct tmg_tuned *tuned = ranking->tuned;
    int64_t counts[TMG_PER_COUNT];
    struct tmg_estimate estimate;
    struct tmg_choice choice = {.kernel = kernel,
                                .splits = splits,
                                .why = question->why,
                                .last = question->table->kernels[kernel].last};
    ranking->binding->splits = splits;
    if (tmg_counts_of(ranking->binding, &question->capacity, ranking->tiles, counts)) return;
    choice.workspace = workspace_of(ranking, counts);
    if (choice.workspace < 0) return;
    const int status = tmg_estimate_of(ranking->binding, &question->capacity, counts,
                                       &ranking->work, &question->table->rates, &estimate);
    choice.us = status ? INFINITY : estimate.us * tmg_near_times(&ranking->near, kernel, splits);
    choice.binds = status ? TMG_BOUNDS : estimate.binds;
    if (tuned && tuned->kernel == kernel && (!tuned->splits || tuned->splits == splits)) {
        choice.tuned_us = tuned->us;
        if (!choice.why) choice.why = TMAGEN_BY_TUNING;
    }
    if (!choice.why) choice.why = TMAGEN_BY_MODEL;
    insert(ranking, &choice);
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
    if (fixed > row->manifest->grid.max_splits) return;
    tmg_work_of(ranking->binding, &ranking->pitches, &ranking->work);
    tmg_count_tiles(ranking->binding, ranking->tiles);
    if (fixed || !row->split_count) {
        add(ranking, kernel, fixed ? fixed : (int)row->manifest->grid.splits);
        return;
    }
    for (unsigned i = 0; i < row->split_count; ++i) add(ranking, kernel, row->splits[i]);
    if (tuned && tuned->kernel == kernel && tuned->splits && !lists(row, tuned->splits))
        add(ranking, kernel, tuned->splits);
}

enum { AHEAD = 3 };  // kernels: the rules of the one so far on are brought while one is ranked

static void bring(const struct tmg_row *row) {
    tmg_bring(row->manifest, offsetof(struct tmg_manifest, grid.tiles[2]));
    tmg_bring(row->rules, TMG_RULES_USUAL);
}

int tmg_choose(const struct tmg_question *question, struct tmg_choice *choices, unsigned *count) {
    const struct tmg_table *table = question->table;
    struct tmg_binding binding;
    struct ranking ranking;
    int64_t shape[TMG_MAX_TABLE_DIMS];
    ranking.question = question;
    ranking.binding = &binding;
    ranking.count = *count = 0;
    if (tmg_bind(table->interface, question->launch, &binding)) return tmg_refuse(question);
    if (binding.empty) return TMAGEN_OK;
    for (unsigned i = 0; i < table->dim_count; ++i) shape[i] = binding.dims[table->shape_dims[i]];
    const int alignment = tmg_alignment_class(&binding);
    ranking.tuned = tmg_table_find(table, shape, alignment);
    tmg_near_find(table, shape, alignment, &ranking.near);
    tmg_pitches_of(&binding, &table->rates, &ranking.pitches);
    for (int i = 0; i < (int)table->kernel_count; ++i) {
        if (i + AHEAD < (int)table->kernel_count) bring(&table->kernels[i + AHEAD]);
        if (question->kernel >= 0 && question->kernel != i) continue;
        if (!tmg_rules_fit(table->kernels[i].rules, &binding)) continue;
        binding.manifest = table->kernels[i].manifest;
        add_kernel(&ranking, i);
    }
    *count = ranking.count;
    for (unsigned i = 0; i < ranking.count; ++i) choices[i] = ranking.choices[ranking.order[i]];
    return ranking.count ? TMAGEN_OK : tmg_refuse(question);
}
