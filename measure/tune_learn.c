// What a dispatch table can learn of its own measured shapes: a network that tells apart the
// launches which rank first. It is fitted to errors relative to the mean of each shape, since
// launches of one shape are compared and no others. The same table gives the same numbers. How much
// it brings is found out at shapes that were left out.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/network.h"
#include "measure/parallel.h"
#include "measure/random.h"
#include "measure/tune.h"
#include "runtime/choose.h"
#include "runtime/error.h"
#include "runtime/learned.h"
#include "runtime/set.h"
#include "runtime/table_measured.h"

enum { FOLDS = 5, EPOCHS = 100, BATCH = 16, LEAST_SHAPES = 20, COLUMNS = 100 };
static const float near_best = .2F;  // logs: launches farther from a shape's best say nothing

// A launch of a measured shape.
struct example {
    float seen[TMG_LEARNED_INPUTS];
    float ranked, taken;  // logs of us: as it ranks without what is learnt, as measured
    float weight;
    int chosen;  // it may be
};

struct lesson {
    const struct tmg_table *table;
    struct example *examples;
    size_t *first;  // of each shape, and their end
    size_t capacity;
};

static unsigned shapes_of(const struct lesson *lesson) { return lesson->table->measured_count; }

// ---- What there is to learn from

static struct example *next_example(struct lesson *lesson, size_t count) {
    if (count == lesson->capacity) {
        lesson->capacity = 2 * count + 4096;
        struct example *grown =
            realloc(lesson->examples, lesson->capacity * sizeof *lesson->examples);
        if (!grown) abort();
        lesson->examples = grown;
    }
    return &lesson->examples[count];
}

// A measured shape as it is chosen for if it, and what is like it, had not been measured.
static int ask_shape(const struct tmg_table *table, const struct tmg_measured *measured,
                     struct tmg_scene *scene) {
    struct tmg_asked asked;
    struct tmg_near near;
    scene->table = table;
    scene->capacity = (struct tmg_capacity){.sms = table->sms, .semaphore_bytes = TMG_SEMAPHORES};
    tmg_measured_shape(table, measured, scene->shape);
    tmg_ask_at(&asked, table->interface, table->dims, scene->shape, table->dim_count);
    const int status = tmg_bind(table->interface, &asked.launch, &scene->binding);
    if (status) return status;
    tmg_near_find_others(table, scene->shape, measured->alignment, &near);
    tmg_scene_fill(scene, &near, 1);
    return TMAGEN_OK;
}

// Whether the launch was measured and has an estimate; then [example] is it.
static int see(struct tmg_scene *scene, const struct tmg_measured *measured,
               const struct tmg_row *row, unsigned part, struct example *example) {
    const unsigned launch = row->first_launch + part;
    const int splits = scene->table->listed[launch].splits;
    int64_t counts[TMG_PER_COUNT];
    struct tmg_estimate estimate;
    const float miss = tmg_table_miss(scene->table, measured, launch);
    if (isnan(miss) || tmg_scene_estimate(scene, row, splits, INFINITY, counts, &estimate) ||
        isinf(estimate.us) || (splits > 1 && estimate.steps < 1))
        return 0;
    tmg_learned_look(scene, launch, &estimate, example->seen);
    example->ranked = logf((float)estimate.us) + scene->misses[launch];
    example->taken = logf((float)estimate.us) + miss;
    example->chosen = !row->nearby || scene->weights[launch] >= TMG_NEAR_ENOUGH;
    return 1;
}

static size_t see_shape(struct lesson *lesson, const struct tmg_measured *measured, size_t count) {
    const struct tmg_table *table = lesson->table;
    struct tmg_scene scene;
    if (ask_shape(table, measured, &scene)) return count;
    for (unsigned i = 0; i < table->kernel_count; ++i) {
        const struct tmg_row *row = &table->kernels[i];
        if (row->last || !tmg_rules_reach(row->rules, &scene.binding) ||
            !tmg_rules_lie(row->rules, &scene.binding))
            continue;
        for (unsigned part = 0; part < (row->split_count ? row->split_count : 1); ++part)
            count += (size_t)see(&scene, measured, row, part, next_example(lesson, count));
    }
    return count;
}

static float least_of(const struct lesson *lesson, unsigned shape, int taken) {
    float least = INFINITY;
    for (size_t i = lesson->first[shape]; i < lesson->first[shape + 1]; ++i) {
        const struct example *example = &lesson->examples[i];
        least = fminf(least, taken ? example->taken : example->ranked);
    }
    return least;
}

// A launch weighs by how near it is to the best, if it is or ranks near it.
static void weigh(struct lesson *lesson, unsigned shape) {
    const float best = least_of(lesson, shape, 1), ranked = least_of(lesson, shape, 0);
    for (size_t i = lesson->first[shape]; i < lesson->first[shape + 1]; ++i) {
        struct example *example = &lesson->examples[i];
        const int tells = example->taken < best + near_best || example->ranked < ranked + near_best;
        example->weight = tells ? expf(2 * (best - example->taken)) : 0;
    }
}

static double weight_of(const struct lesson *lesson, unsigned shape) {
    double sum = 0;
    for (size_t i = lesson->first[shape]; i < lesson->first[shape + 1]; ++i)
        sum += (double)lesson->examples[i].weight;
    return sum;
}

// How many shapes say anything.
static unsigned see_all(struct lesson *lesson) {
    size_t count = 0;
    unsigned telling = 0;
    for (unsigned i = 0; i < shapes_of(lesson); ++i) {
        lesson->first[i] = count;
        count = see_shape(lesson, &lesson->table->measured[i], count);
    }
    lesson->first[shapes_of(lesson)] = count;
    for (unsigned i = 0; i < shapes_of(lesson); ++i) {
        weigh(lesson, i);
        telling += weight_of(lesson, i) > 0;
    }
    return telling;
}

// ---- Learning

// What a table holds of a number: thousandths.
static float in_thousandths(float value) { return roundf(1000 * value) * .001F; }

// The mean and the spread of an input at the [count] shapes of [order].
static void find_scale(const struct lesson *lesson, const unsigned *order, unsigned count,
                       unsigned input, struct tmg_learned *learned) {
    double sum = 0, squares = 0, all = 0;
    for (unsigned shape = 0; shape < count; ++shape)
        for (size_t i = lesson->first[order[shape]]; i < lesson->first[order[shape] + 1]; ++i) {
            const double value = (double)lesson->examples[i].seen[input];
            if (!(lesson->examples[i].weight > 0)) continue;
            all += 1, sum += value, squares += value * value;
        }
    const double mean = sum / fmax(1, all),
                 spread = sqrt(fmax(0, squares / fmax(1, all) - mean * mean));
    learned->center[input] = in_thousandths((float)mean);
    learned->scale[input] = spread < .001 ? 1 : in_thousandths((float)spread);
}

typedef float inputs[TMG_LEARNED_INPUTS];

// Finds scales that fit the [count] shapes of [order], and the [scaled] inputs of all examples.
static void scale_inputs(const struct lesson *lesson, const unsigned *order, unsigned count,
                         struct tmg_learned *learned, inputs *scaled) {
    for (unsigned input = 0; input < learned->inputs; ++input)
        find_scale(lesson, order, count, input, learned);
    for (size_t i = 0; i < lesson->first[shapes_of(lesson)]; ++i) {
        memcpy(scaled[i], lesson->examples[i].seen, sizeof *scaled);
        tmg_learned_scale(learned, scaled[i]);
    }
}

// How far off [miss] is for a launch that ranks where it does.
static float error_of(float miss, const struct example *example) {
    const float due = example->taken - example->ranked;
    return miss - fminf(fmaxf(due, -TMG_LEARNED_MOST), TMG_LEARNED_MOST);
}

// Adds what the network should change for a shape, and returns what its launches weigh together.
static double learn_shape(struct network_fit *fit, const struct lesson *lesson,
                          const inputs *scaled, unsigned shape) {
    struct tmg_learned_units units[TMG_MAX_LAUNCHES];
    float errors[TMG_MAX_LAUNCHES];
    double sum = 0, weights = 0;
    const size_t first = lesson->first[shape], count = lesson->first[shape + 1] - first;
    const struct example *examples = lesson->examples + first;
    for (size_t i = 0; i < count; ++i) {
        if (!(examples[i].weight > 0)) continue;
        const float miss = tmg_learned_miss(fit->learned, scaled[first + i], &units[i]);
        errors[i] = error_of(miss, &examples[i]);
        sum += (double)(examples[i].weight * errors[i]);
        weights += (double)examples[i].weight;
    }
    for (size_t i = 0; i < count; ++i) {
        if (!(examples[i].weight > 0)) continue;
        const float error = errors[i] - (float)(sum / weights);
        network_add(fit, scaled[first + i], &units[i], examples[i].weight * error);
    }
    return weights;
}

static void shuffle(unsigned *order, unsigned count, uint64_t *position) {
    for (unsigned i = count; i > 1; --i) {
        const int64_t at = random_below(2, (*position)++, i);
        const unsigned kept = order[i - 1];
        order[i - 1] = order[at];
        order[at] = kept;
    }
}

static void round_all(struct tmg_learned *learned) {
    float numbers[NETWORK_NUMBERS];
    memcpy(numbers, &learned->network, sizeof numbers);
    for (unsigned i = 0; i < NETWORK_NUMBERS; ++i) numbers[i] = in_thousandths(numbers[i]);
    memcpy(&learned->network, numbers, sizeof numbers);
}

// Learns from the [count] shapes of [order]; leaves the [scaled] inputs of all examples.
static void learn(const struct lesson *lesson, unsigned *order, unsigned count,
                  struct tmg_learned *learned, inputs *scaled) {
    struct network_fit fit;
    uint64_t position = 0;
    learned->inputs = tmg_learned_inputs(lesson->table->dim_count);
    scale_inputs(lesson, order, count, learned, scaled);
    network_begin(&fit, learned);
    const unsigned each = count < BATCH ? count : BATCH, batches = count ? count / each : 0;
    for (unsigned epoch = 0; epoch < EPOCHS; ++epoch) {
        shuffle(order, count, &position);
        for (unsigned batch = 0; batch < batches; ++batch) {
            double weight = 0;
            for (unsigned i = 0; i < each; ++i)
                weight += learn_shape(&fit, lesson, scaled, order[batch * each + i]);
            if (weight > 0)
                network_step(&fit, weight,
                             1 - (epoch * batches + batch) / ((double)EPOCHS * batches));
        }
    }
    round_all(learned);
}

// ---- What it brings

static int by_rank(const void *left, const void *right) {
    const struct example *const *a = left, *const *b = right;
    return ((*a)->ranked > (*b)->ranked) - ((*a)->ranked < (*b)->ranked);
}

struct shares {
    double logs, logs_before, squares_gain;
    unsigned count, low, low_before;
};

static void judge(const struct lesson *lesson, unsigned shape, const struct tmg_learned *learned,
                  const inputs *scaled, struct shares *shares) {
    struct tmg_learned_units units;
    const struct example *list[TMG_MAX_LAUNCHES], *taken = NULL;
    const float best = least_of(lesson, shape, 1);
    float least = INFINITY;
    unsigned count = 0;
    for (size_t i = lesson->first[shape]; i < lesson->first[shape + 1]; ++i)
        if (lesson->examples[i].chosen) list[count++] = &lesson->examples[i];
    if (!count) return;
    qsort(list, count, sizeof *list, by_rank);
    const float near = list[0]->ranked + logf((float)TMG_LEARNED_WITHIN);
    for (unsigned i = 0; i < count && i < TMG_LEARNED_AMONG && list[i]->ranked <= near; ++i) {
        const float us =
            list[i]->ranked + tmg_learned_miss(learned, scaled[list[i] - lesson->examples], &units);
        if (us < least) least = us, taken = list[i];
    }
    const double share = (double)(best - taken->taken), before = (double)(best - list[0]->taken);
    shares->logs += share;
    shares->logs_before += before;
    shares->squares_gain += (share - before) * (share - before);
    shares->low += share < log(.85);
    shares->low_before += before < log(.85);
    ++shares->count;
}

static int alike(const struct tmg_table *table, unsigned a, unsigned b) {
    double far = 0;
    for (unsigned i = 0; i < table->dim_count; ++i) {
        const double along = (double)(table->measured[a].at[i] - table->measured[b].at[i]);
        far += along * along;
    }
    return far < (double)TMG_NEAR_ALIKE;
}

// The shapes that are neither every FOLDS-th from the [first] on nor like one of those.
static unsigned leave_out(const struct lesson *lesson, unsigned first, unsigned *order) {
    unsigned count = 0;
    for (unsigned i = 0; i < shapes_of(lesson); ++i) {
        int out = 0;
        for (unsigned j = first; j < shapes_of(lesson) && !out; j += FOLDS)
            out = alike(lesson->table, i, j);
        if (!out) order[count++] = i;
    }
    return count;
}

// What is learnt of all shapes but those of a fold, and its shares there; of the last, of all.
struct course {
    struct tmg_learned learned;
    struct shares shares;
};

struct courses {
    const struct lesson *lesson;
    struct course of[FOLDS + 1];
};

static void take_course(const struct lesson *lesson, unsigned fold, struct course *course) {
    const unsigned count = shapes_of(lesson);
    unsigned *order = calloc(count, sizeof *order);
    inputs *scaled = calloc(lesson->first[count], sizeof *scaled);
    if (!order || !scaled) abort();
    const unsigned first = fold < FOLDS ? fold : count, left = leave_out(lesson, first, order);
    if (fold == FOLDS || left >= BATCH) {
        learn(lesson, order, left, &course->learned, scaled);
        for (unsigned i = first; i < count; i += FOLDS)
            judge(lesson, i, &course->learned, scaled, &course->shares);
    }
    free(order);
    free(scaled);
}

static void take_courses(void *context, int64_t begin, int64_t end, int thread) {
    struct courses *courses = context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        take_course(courses->lesson, (unsigned)i, &courses->of[i]);
}

static void print_shares(const struct course *courses) {
    struct shares shares = {0};
    for (int i = 0; i < FOLDS; ++i) {
        const struct shares *more = &courses[i].shares;
        shares.logs += more->logs, shares.logs_before += more->logs_before;
        shares.squares_gain += more->squares_gain, shares.count += more->count;
        shares.low += more->low, shares.low_before += more->low_before;
    }
    if (!shares.count) {
        fputs("all shapes are alike: nothing says what this brings\n", stderr);
        return;
    }
    const double count = shares.count, gain = (shares.logs - shares.logs_before) / count;
    const double spread = 1.96 * sqrt(fmax(0, shares.squares_gain / count - gain * gain) / count);
    fprintf(stderr,
            "%u shapes, each left out with what is like it: %.4f of the best measured, and %.4f "
            "without what is learnt (%+.4f [%+.4f, %+.4f]); below .85: %u, and %u\n",
            shares.count, exp(shares.logs / count), exp(shares.logs_before / count), gain,
            gain - spread, gain + spread, shares.low, shares.low_before);
}

// ---- The rows of a table

// Thousandths, in lines that a person can look at.
static void print_row(const float *numbers, unsigned count, FILE *out) {
    int column = fprintf(out, "  -");
    for (unsigned i = 0; i < count; ++i) {
        if (column > COLUMNS) column = fprintf(out, "\n   ") - 1;
        column += fprintf(out, " %ld", lroundf(1000 * numbers[i]));
    }
    fputc('\n', out);
}

static void print_learned(const struct tmg_learned *learned, const char *of, FILE *out) {
    const struct tmg_network *network = &learned->network;
    fputs("learned:    # by tmagen tune learn, from what is measured: thousandths\n", out);
    fprintf(out, "  - of %s\n", of);
    print_row(learned->center, learned->inputs, out);
    print_row(learned->scale, learned->inputs, out);
    print_row(network->offsets, TMG_LEARNED_UNITS, out);
    print_row(network->second_offsets, TMG_LEARNED_SECOND, out);
    print_row(network->last, TMG_LEARNED_SECOND, out);
    for (unsigned i = 0; i < learned->inputs; ++i)
        print_row(network->weights[i], TMG_LEARNED_UNITS, out);
    for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i)
        print_row(network->second[i], TMG_LEARNED_SECOND, out);
}

static unsigned learn_table(const struct tmg_table *table, const char *of, FILE *out) {
    struct lesson lesson = {.table = table};
    static struct courses courses;
    lesson.first = calloc(table->measured_count + 1, sizeof *lesson.first);
    if (!lesson.first) abort();
    const unsigned telling = see_all(&lesson);
    if (telling >= LEAST_SHAPES) {
        courses = (struct courses){.lesson = &lesson};
        parallel_for(FOLDS + 1, 1, take_courses, &courses);
        print_shares(courses.of);
        print_learned(&courses.of[FOLDS].learned, of, out);
    }
    free(lesson.first);
    free(lesson.examples);
    return telling;
}

int tune_learn(const struct kernel_text *text, const char *of, FILE *out) {
    struct tmg_table *table = NULL;
    if (predict_open(text, &table)) return kernel_complain(text->name), 1;
    const unsigned telling = table->measured_count ? learn_table(table, of, out) : 0;
    if (telling < LEAST_SHAPES)
        fprintf(stderr,
                "tmagen: error: %s: it takes %d measured shapes to learn from, and it has %u\n",
                table->name, LEAST_SHAPES, telling);
    tmg_table_free(table);
    return telling < LEAST_SHAPES;
}
