// What a dispatch table can learn of its own measured shapes: a network that tells apart the
// launches which rank first. Stochastic gradients with moments (Adam) of squared errors, relative
// to the mean of each shape, since launches of one shape are compared and no others. The same table
// gives the same numbers. How much it brings is found out at shapes that were left out.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/tune.h"
#include "runtime/choose.h"
#include "runtime/error.h"
#include "runtime/learned.h"
#include "runtime/set.h"

enum { FOLDS = 5, EPOCHS = 200, BATCH = 16, LEAST_SHAPES = 20, COLUMNS = 100 };
static const float near_best = .2F;  // logs: launches farther from a shape's best say nothing
static const double first_rate = 3e-3, decay = 1e-4;

// A launch of a measured shape.
struct example {
    float seen[TMG_LEARNED_INPUTS], inputs[TMG_LEARNED_INPUTS];  // as they are, and scaled
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
    // exact for sizes below 700,000 or so, as far as a float has their logs
    for (unsigned i = 0; i < table->dim_count; ++i)
        scene->shape[i] = llround(exp2((double)measured->at[i]));
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

// Scales all inputs as is fit for the [count] shapes of [order].
static void scale_inputs(struct lesson *lesson, const unsigned *order, unsigned count,
                         struct tmg_learned *learned) {
    for (unsigned input = 0; input < learned->inputs; ++input)
        find_scale(lesson, order, count, input, learned);
    for (size_t i = 0; i < lesson->first[shapes_of(lesson)]; ++i) {
        struct example *example = &lesson->examples[i];
        memcpy(example->inputs, example->seen, sizeof example->inputs);
        tmg_learned_scale(learned, example->inputs);
    }
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

// About normal, of variance 1.
static float next_normal(uint64_t *seed) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += (double)next_random(seed) / 2147483648.0;
    return (float)sum;
}

enum { NUMBERS = sizeof(struct tmg_network) / sizeof(float) };

struct learner {
    struct tmg_learned *learned;
    unsigned steps;
    struct tmg_network slopes;
    float moments[NUMBERS], squares[NUMBERS];  // of the slopes
};

static void begin_learned(struct tmg_learned *learned) {
    struct tmg_network *network = &learned->network;
    uint64_t seed = 1;
    memset(network, 0, sizeof *network);
    const float spread = sqrtf(2.0F / (float)learned->inputs),
                of_second = sqrtf(2.0F / TMG_LEARNED_UNITS);
    for (unsigned i = 0; i < learned->inputs; ++i)
        for (unsigned unit = 0; unit < TMG_LEARNED_UNITS; ++unit)
            network->weights[i][unit] = spread * next_normal(&seed);
    for (unsigned unit = 0; unit < TMG_LEARNED_SECOND; ++unit) {
        network->last[unit] = next_normal(&seed) / sqrtf(TMG_LEARNED_SECOND);
        for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i)
            network->second[i][unit] = of_second * next_normal(&seed);
    }
}

// Adds what the second layer should change; [units] are those of the first, and become what these
// should change by.
static void add_second(struct tmg_network *slopes, const struct tmg_network *network, float *units,
                       float error) {
    float second[TMG_LEARNED_SECOND], back[TMG_LEARNED_SECOND];
    memcpy(second, network->second_offsets, sizeof second);
    for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i)
        for (unsigned unit = 0; unit < TMG_LEARNED_SECOND; ++unit)
            second[unit] += network->second[i][unit] * units[i];
    for (unsigned unit = 0; unit < TMG_LEARNED_SECOND; ++unit) {
        back[unit] = second[unit] > 0 ? error * network->last[unit] : 0;
        slopes->last[unit] += second[unit] > 0 ? error * second[unit] : 0;
        slopes->second_offsets[unit] += back[unit];
    }
    for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i) {
        float sum = 0;
        for (unsigned unit = 0; unit < TMG_LEARNED_SECOND; ++unit) {
            slopes->second[i][unit] += back[unit] * units[i];
            sum += back[unit] * network->second[i][unit];
        }
        units[i] = units[i] > 0 ? sum : 0;
    }
}

// Adds what the network should change for an example of which it is off by [error].
static void add_slopes(struct learner *learner, const float *inputs, float error) {
    const struct tmg_learned *learned = learner->learned;
    const struct tmg_network *network = &learned->network;
    struct tmg_network *slopes = &learner->slopes;
    float units[TMG_LEARNED_UNITS];
    memcpy(units, network->offsets, sizeof units);
    for (unsigned i = 0; i < learned->inputs; ++i)
        for (unsigned unit = 0; unit < TMG_LEARNED_UNITS; ++unit)
            units[unit] += network->weights[i][unit] * inputs[i];
    for (unsigned unit = 0; unit < TMG_LEARNED_UNITS; ++unit)
        units[unit] = units[unit] > 0 ? units[unit] : 0;
    add_second(slopes, network, units, error);
    for (unsigned unit = 0; unit < TMG_LEARNED_UNITS; ++unit) slopes->offsets[unit] += units[unit];
    for (unsigned i = 0; i < learned->inputs; ++i)
        for (unsigned unit = 0; unit < TMG_LEARNED_UNITS; ++unit)
            slopes->weights[i][unit] += units[unit] * inputs[i];
}

// How far off the network is of a launch that ranks where it does.
static float error_of(const struct tmg_learned *learned, const struct example *example) {
    const float miss = example->taken - example->ranked;
    return tmg_learned_miss(learned, example->inputs) -
           fminf(fmaxf(miss, -TMG_LEARNED_MOST), TMG_LEARNED_MOST);
}

static void learn_shape(struct learner *learner, const struct lesson *lesson, unsigned shape) {
    const struct example *examples = lesson->examples + lesson->first[shape];
    const size_t count = lesson->first[shape + 1] - lesson->first[shape];
    float errors[TMG_MAX_LAUNCHES];
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; ++i) {
        if (!(examples[i].weight > 0)) continue;
        errors[i] = error_of(learner->learned, &examples[i]);
        sum += (double)(examples[i].weight * errors[i]);
        weights += (double)examples[i].weight;
    }
    for (size_t i = 0; i < count; ++i) {
        if (!(examples[i].weight > 0)) continue;
        const float error = errors[i] - (float)(sum / weights);
        add_slopes(learner, examples[i].inputs, examples[i].weight * error);
    }
}

// A step along the slopes of [examples], where [left] of all steps are to do.
static void take_step(struct learner *learner, double examples, double left) {
    float numbers[NUMBERS], slopes[NUMBERS];
    memcpy(numbers, &learner->learned->network, sizeof numbers);
    memcpy(slopes, &learner->slopes, sizeof slopes);
    const double fade = ++learner->steps;
    const float rate = (float)(first_rate * left), of_moments = (float)(1 - pow(.9, fade)),
                of_squares = (float)(1 - pow(.999, fade));
    for (unsigned i = 0; i < NUMBERS; ++i) {
        const float slope = slopes[i] / (float)examples + (float)decay * numbers[i];
        learner->moments[i] = .9F * learner->moments[i] + .1F * slope;
        learner->squares[i] = .999F * learner->squares[i] + .001F * slope * slope;
        numbers[i] -= rate * (learner->moments[i] / of_moments) /
                      (sqrtf(learner->squares[i] / of_squares) + 1e-8F);
    }
    memcpy(&learner->learned->network, numbers, sizeof numbers);
    memset(&learner->slopes, 0, sizeof learner->slopes);
}

static void shuffle(unsigned *order, unsigned count, uint64_t *seed) {
    for (unsigned i = count; i > 1; --i) {
        const unsigned at = (unsigned)(next_random(seed) % i), kept = order[i - 1];
        order[i - 1] = order[at];
        order[at] = kept;
    }
}

static void round_all(struct tmg_learned *learned) {
    float numbers[NUMBERS];
    memcpy(numbers, &learned->network, sizeof numbers);
    for (unsigned i = 0; i < NUMBERS; ++i) numbers[i] = in_thousandths(numbers[i]);
    memcpy(&learned->network, numbers, sizeof numbers);
}

// Learns from the [count] shapes of [order].
static void learn(struct lesson *lesson, unsigned *order, unsigned count,
                  struct tmg_learned *learned) {
    static struct learner learner;
    uint64_t seed = 2;
    learned->inputs = tmg_learned_inputs(lesson->table->dim_count);
    scale_inputs(lesson, order, count, learned);
    begin_learned(learned);
    memset(&learner, 0, sizeof learner);
    learner.learned = learned;
    const unsigned each = count < BATCH ? count : BATCH, batches = count ? count / each : 0;
    for (unsigned epoch = 0; epoch < EPOCHS; ++epoch) {
        shuffle(order, count, &seed);
        for (unsigned batch = 0; batch < batches; ++batch) {
            double weight = 0;
            for (unsigned i = 0; i < each; ++i) {
                learn_shape(&learner, lesson, order[batch * each + i]);
                weight += weight_of(lesson, order[batch * each + i]);
            }
            if (weight > 0)
                take_step(&learner, weight,
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
    double logs, logs_before, logs_gain, squares_gain;
    unsigned count, low, low_before;
};

static void judge(const struct lesson *lesson, unsigned shape, const struct tmg_learned *learned,
                  struct shares *shares) {
    const struct example *list[TMG_MAX_LAUNCHES], *taken = NULL;
    const float best = least_of(lesson, shape, 1);
    float least = INFINITY;
    unsigned count = 0;
    for (size_t i = lesson->first[shape]; i < lesson->first[shape + 1]; ++i)
        if (lesson->examples[i].chosen) list[count++] = &lesson->examples[i];
    if (!count) return;
    qsort(list, count, sizeof *list, by_rank);
    for (unsigned i = 0; i < count && i < TMG_LEARNED_AMONG; ++i) {
        const float us = list[i]->ranked + tmg_learned_miss(learned, list[i]->inputs);
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

// The shapes that are neither of the [fold] nor like one of it.
static unsigned leave_out(const struct lesson *lesson, unsigned fold, unsigned *order) {
    unsigned count = 0;
    for (unsigned i = 0; i < shapes_of(lesson); ++i) {
        int out = i % FOLDS == fold;
        for (unsigned j = fold; j < shapes_of(lesson) && !out; j += FOLDS)
            out = alike(lesson->table, i, j);
        if (!out) order[count++] = i;
    }
    return count;
}

static void judge_all(struct lesson *lesson, unsigned *order, struct tmg_learned *learned) {
    struct shares shares = {0};
    for (unsigned fold = 0; fold < FOLDS; ++fold) {
        const unsigned left = leave_out(lesson, fold, order);
        if (left < BATCH) continue;
        learn(lesson, order, left, learned);
        for (unsigned i = fold; i < shapes_of(lesson); i += FOLDS)
            judge(lesson, i, learned, &shares);
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
    const unsigned count = table->measured_count;
    static struct tmg_learned learned;
    unsigned *order = calloc(count, sizeof *order);
    lesson.first = calloc(count + 1, sizeof *lesson.first);
    if (!order || !lesson.first) abort();
    const unsigned telling = see_all(&lesson);
    if (telling >= LEAST_SHAPES) {
        judge_all(&lesson, order, &learned);
        for (unsigned i = 0; i < count; ++i) order[i] = i;
        learn(&lesson, order, count, &learned);
        print_learned(&learned, of, out);
    }
    free(order);
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
