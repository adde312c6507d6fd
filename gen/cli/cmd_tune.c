// tmagen tune SPEC|FAMILY...: the best kernel for each shape; and what is asked of its databases.
// Only the arguments are here, and which kernels they mean; the rest stands in measure/tune.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/cli/command.h"
#include "gen/cli/table_rows.h"
#include "gen/diag.h"
#include "gen/dispatch_learned.h"
#include "gen/measured.h"
#include "measure/random.h"
#include "measure/tune.h"

enum {
    KEY_CALIBRATE = 0x1fff,
    KEY_SHAPES = 0x2000,
    KEY_SHAPE,
    KEY_RANDOM,
    KEY_DB,
    KEY_SECONDS,
    KEY_GPUS,
    KEY_GPU,
    KEY_KEEP,
    KEY_QUICK,
    KEY_TIMEOUT,
    KEY_SEED,
    KEY_SHARD,
    KEY_WITHIN
};

static const struct argp_option options[] = {
    {"shape", KEY_SHAPE, "MxNxK[/INPUTS]", 0,
     "one shape; may be repeated (default: one that is typical of the family)", 0},
    {"shapes", KEY_SHAPES, "FILE", 0, "shapes, one a line as in: bf16 4096 4096 512", 0},
    RANDOM_SHAPES_OPTION(KEY_RANDOM),
    {"db", KEY_DB, "FILE", 0, "database of results, which a later run goes on with (tune.db)", 0},
    {"seconds", KEY_SECONDS, "S", 0, "time for all shapes (default: ten for each)", 0},
    {"gpus", KEY_GPUS, "LIST", 0, "GPUs to measure on, as 0,2 or all (default: 0)", 0},
    {"gpu", KEY_GPU, "NAME", 0, "choose candidates by lib/gpus/NAME.json (nvidia_h200)", 0},
    {"keep", KEY_KEEP, "N", 0,
     "launches of a shape that are looked at; 0: every legal one (default: 28)", 0},
    {"quick", KEY_QUICK, NULL, 0,
     "one short contest a shape, in 40% of the time: enough for a table's measured rows", 0},
    {"jobs", 'j', "N", 0, "processes that compile (default: one for each core)", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "seconds until a launch counts as hung (default: 60)", 0},
    {"seed", KEY_SEED, "N", 0, "draw the inputs from this seed", 0},
    {"calibrate", KEY_CALIBRATE, NULL, 0,
     "then print rates of the GPU for lib/gpus/NAME.json, fitted to all in the database", 0},
    {"within", KEY_WITHIN, "R", 0,
     "calibrate: fit to times of up to R of the best of their shape (default: all)", 0},
    {"shard", KEY_SHARD, "I/N", 0, "every N-th shape, from the I-th on, I in 0..N-1", 0},
    {0},
};

struct tune_arguments {
    struct spec_arguments specs;
    struct tune_plan plan;
    struct shape_list shapes;
    const char *gpu;
};

static void take_shard(struct argp_state *state, const char *text, struct tune_plan *plan) {
    int used = 0;
    if (sscanf(text, "%9d/%9d%n", &plan->shard, &plan->shards, &used) != 2 || text[used] ||
        plan->shard < 0 || plan->shard >= plan->shards)
        argp_error(state, "--shard: '%s' is not I/N with I in 0..N-1", text);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct tune_arguments *a = state->input;
    struct tune_plan *plan = &a->plan;
    switch (key) {
    case KEY_SHAPES: argument_shapes(state, argument, &a->shapes); return 0;
    case KEY_SHAPE: argument_shape(state, argument, &a->shapes); return 0;
    case KEY_RANDOM: argument_random(state, argument, &a->shapes); return 0;
    case KEY_DB: plan->database = argument; return 0;
    case KEY_SECONDS: plan->seconds = argument_number(state, argument, 0.01, 1e7); return 0;
    case KEY_GPUS: plan->gpus = argument; return 0;
    case KEY_GPU: a->gpu = argument_name(state, "--gpu", argument); return 0;
    case KEY_KEEP: plan->keep = (int)argument_number(state, argument, 0, 1e6); return 0;
    case KEY_QUICK: plan->quick = true; return 0;
    case 'j': plan->jobs = (int)argument_number(state, argument, 1, 64); return 0;
    case KEY_TIMEOUT: plan->timeout = (int)argument_number(state, argument, 1, 86400); return 0;
    case KEY_SEED: plan->seed = (uint64_t)argument_number(state, argument, 0, 1e15); return 0;
    case KEY_CALIBRATE: plan->calibrate = true; return 0;
    case KEY_WITHIN: plan->within = argument_number(state, argument, 1, 1e6); return 0;
    case KEY_SHARD: take_shard(state, argument, plan); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "SPEC|FAMILY...\nmerge OUT.db IN.db...\nshow DB\ntable DB\nerror DB\ncalibrate "
             "DB\nlearn TABLE\nthin TABLE\nlack TABLE SPEC|FAMILY...",
    .doc =
        "Finds the fastest kernel for each shape among all points of the SPECs, or of a FAMILY's "
        "own "
        "sweeps: the best predicted are compiled in parallel, verified, and measured in ever "
        "longer "
        "contests. A kernel that hangs or faults is survived. What the database has is not "
        "measured "
        "again.\v"
        "tmagen tune merge OUT.db IN.db... brings databases of shards into one; show prints the "
        "best "
        "kernel of each shape; table the rows of a dispatch table; error how far off the model is; "
        "calibrate a file of rates, lib/gpus/NAME.json, fitted to what was measured; learn "
        "the rows of a table that tell apart what ranks first, of what the table has measured; "
        "thin "
        "the file of a table without the measured shapes that its others foretell; lack the "
        "launches of SPECs that the model holds faster than all of a table's, at shapes of which "
        "nothing is measured (--random 200, if none are named; --keep of them at most).",
};

// ---- The candidates

// Generated results of specs and of families' sweeps.
struct results {
    struct gen_result *list;
    size_t count, capacity;
};

static void results_free(struct results *results) {
    for (size_t i = 0; i < results->count; i++) gen_result_free(&results->list[i]);
    free(results->list);
}

// The sweeps of [family], whose illegal points are no news. 0, or 1 after errors.
static int add_family(struct results *results, const char *family, struct gen_options *gen) {
    char *sweeps = gen_family_sweeps(family, gen);
    gen->quiet = true;
    int failed = !sweeps, number = 0;
    for (char *rest = sweeps, *line; !failed && (line = strtok_r(rest, "\n", &rest));) {
        struct gen_result result;
        char *name = mem_format("%s_t%d.yaml", family, ++number);
        failed = gen_text(name, line, gen, &result);
        if (!failed) MEM_PUSH(results->list, results->count, results->capacity, result);
        free(name);
    }
    free(sweeps);
    gen->quiet = false;
    return failed;
}

static int add_spec(struct results *results, const char *spec, struct gen_options *gen) {
    struct gen_result result;
    if (gen_family_exists(spec, gen)) return add_family(results, spec, gen);
    if (gen_spec(spec, gen, &result)) return 1;
    MEM_PUSH(results->list, results->count, results->capacity, result);
    return 0;
}

// A kernel and the knobs that give it.
struct known {
    const struct gen_output *output;
    bool of_table;
    size_t place;
};

static int by_knobs(const void *left, const void *right) {
    const struct known *a = left, *b = right;
    const int order = strcmp(a->output->knobs, b->output->knobs);
    if (order) return order;
    if (a->of_table != b->of_table) return b->of_table - a->of_table;
    return (a->place > b->place) - (a->place < b->place);
}

static int by_place(const void *left, const void *right) {
    const struct known *a = left, *b = right;
    return (a->place > b->place) - (a->place < b->place);
}

// All kernels, in the order in which they were given; of those with the same knobs the first that
// belongs to a table, which ranks it by its name, or the first.
static struct known *list_kernels(const struct results *results, size_t *count) {
    struct known *list = NULL;
    size_t all = 0, capacity = 0;
    for (size_t i = 0; i < results->count; i++)
        for (size_t j = 0; j < results->list[i].output_count; j++) {
            const struct known one = {&results->list[i].outputs[j],
                                      results->list[i].table.name != NULL, all};
            MEM_PUSH(list, all, capacity, one);
        }
    if (all) qsort(list, all, sizeof *list, by_knobs);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (!*count || strcmp(list[*count - 1].output->knobs, list[i].output->knobs) != 0)
            list[(*count)++] = list[i];
    if (*count) qsort(list, *count, sizeof *list, by_place);
    return list;
}

static int run(struct tune_arguments *a, const struct results *results) {
    struct predict_gpu model;
    size_t count, subject_count;
    if (read_rates(a->gpu, &a->specs.options, &model)) return EXIT_USER;
    struct known *known = list_kernels(results, &count);
    struct kernel_text *kernels = mem_zero((count + 1) * sizeof *kernels);
    const char **specs = mem_zero((count + 1) * sizeof *specs);
    for (size_t i = 0; i < count; i++) {
        kernels[i] = kernel_of(known[i].output);
        specs[i] = known[i].output->knobs;
    }
    struct kernel_text *subjects = subjects_of(results->list, results->count, &subject_count);
    a->plan.subjects = subjects;
    a->plan.subject_count = subject_count;
    a->plan.kernels = kernels;
    a->plan.specs = specs;
    a->plan.kernel_count = count;
    a->plan.shapes = &a->shapes;
    a->plan.model = &model;
    fprintf(stderr, "%zu candidates\n", count);
    const int code = tune_run(&a->plan);
    subjects_free(subjects, subject_count);
    free(specs);
    free(kernels);
    free(known);
    return code;
}

static int tune(struct tune_arguments *a) {
    struct results results = {0};
    int code = 0;
    for (size_t i = 0; i < a->specs.spec_count && !code; i++)
        code = add_spec(&results, a->specs.specs[i], &a->specs.options);
    if (!code) code = run(a, &results);
    results_free(&results);
    return code;
}

// ---- What databases are asked

// What is asked of the model, by the GPU whose rates are meant.
static int ask_model(const struct tune_arguments *a, const char *what, const char *path) {
    struct predict_gpu model;
    if (read_rates(a->gpu, &a->specs.options, &model)) return EXIT_USER;
    return !strcmp(what, "error") ? tune_error(path, &model, stdout)
                                  : tune_calibrate(path, &model, a->plan.within, stdout);
}

// The [table], which has this [text] as JSON.
static int learn(const struct kernel_text *table, const char *text) {
    char of[LEARNED_OF_CHARS];
    learned_of(text, of);
    return tune_learn(table, of, stdout);
}

// The [table], whose file is [path].
static int thin(const struct kernel_text *table, const char *path) {
    struct tune_thinned thinned;
    int code = tune_thin(table, &thinned);
    if (!code) code = table_rows_without(path, &thinned, stdout);
    if (!code)
        fprintf(stderr,
                "%u shapes less, which the others foretell; what is learnt is to be learnt "
                "anew: tmagen tune learn\n",
                thinned.count);
    free(thinned.shapes);
    return code;
}

static int ask_table(const struct tune_arguments *a, const char *what, const char *path) {
    struct gen_options gen = a->specs.options;
    struct gen_result result;
    size_t count;
    if (gen_spec(path, &gen, &result)) return EXIT_USER;
    struct kernel_text *subjects = subjects_of(&result, 1, &count);
    int code = EXIT_USAGE;
    if (count == 1 && subjects[0].table)
        code = !strcmp(what, "thin") ? thin(&subjects[0], path)
                                     : learn(&subjects[0], result.table.text);
    else
        diag_say("tune %s takes a dispatch table, and %s is none", what, path);
    subjects_free(subjects, count);
    gen_result_free(&result);
    return code;
}

// The table first, then what it may lack.
static int lack(struct tune_arguments *a) {
    struct results table = {0}, others = {0};
    struct predict_gpu model;
    size_t count = 0, subject_count = 0;
    int code = read_rates(a->gpu, &a->specs.options, &model) ? EXIT_USER : EXIT_FINE;
    if (!code && !a->shapes.count && shapes_draw(&a->shapes, 200, 1)) code = EXIT_USER;
    if (!code) code = add_spec(&table, a->specs.specs[1], &a->specs.options);
    for (size_t i = 2; i < a->specs.spec_count && !code; i++)
        code = add_spec(&others, a->specs.specs[i], &a->specs.options);
    struct kernel_text *subjects = subjects_of(table.list, table.count, &subject_count);
    struct kernel_text *kernels = kernels_of(others.list, others.count, &count);
    if (!code && (subject_count != 1 || !subjects[0].table)) {
        diag_say("tune lack takes a dispatch table first, and %s is none", a->specs.specs[1]);
        code = EXIT_USAGE;
    }
    if (!code)
        code = tune_lack(&subjects[0], kernels, count, &a->shapes, &model, a->plan.keep, stdout);
    free(kernels);
    subjects_free(subjects, subject_count);
    results_free(&others);
    results_free(&table);
    return code;
}

// Whether it is asked of a table, where all others are of a database.
static bool is_of_table(const char *what) {
    return !strcmp(what, "learn") || !strcmp(what, "thin");
}

static int one_database(const struct tune_arguments *a) {
    if (a->specs.spec_count == 2) return EXIT_FINE;
    diag_say("tune %s takes one %s", a->specs.specs[0],
             is_of_table(a->specs.specs[0]) ? "table" : "database");
    return EXIT_USAGE;
}

static int ask(struct tune_arguments *a) {
    const char *what = a->specs.specs[0], *path = a->specs.specs[1];
    if (!strcmp(what, "merge")) {
        if (a->specs.spec_count > 2)
            return tune_merge(path, a->specs.specs + 2, a->specs.spec_count - 2);
        diag_say("tune merge takes the database to make, and those to bring into it");
        return EXIT_USAGE;
    }
    if (!strcmp(what, "lack")) {
        if (a->specs.spec_count > 2) return lack(a);
        diag_say("tune lack takes a dispatch table, and the specs that it may lack");
        return EXIT_USAGE;
    }
    if (one_database(a)) return EXIT_USAGE;
    if (!strcmp(what, "show")) return tune_show(path, stdout);
    if (!strcmp(what, "table")) return tune_table(path, stdout);
    if (is_of_table(what)) return ask_table(a, what, path);
    return ask_model(a, what, path);
}

int cmd_tune(int argc, char **argv) {
    static const char *const questions[] = {"merge",     "show",  "table", "error",
                                            "calibrate", "learn", "thin",  "lack"};
    struct tune_arguments a = {
        .gpu = "nvidia_h200",
        .plan = {.database = "tune.db", .gpus = "0", .keep = 28, .timeout = 60, .shards = 1}};
    a.plan.seed = random_fresh_seed() >> 16;  // a number that --seed takes
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    bool asks = false;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        asks |= !strcmp(a.specs.specs[0], questions[i]);
    int code = EXIT_USAGE;
    if (a.plan.within > 0 && !(asks ? !strcmp(a.specs.specs[0], "calibrate") : a.plan.calibrate))
        diag_say("--within says which times rates are fitted to, and nothing is calibrated here");
    else
        code = asks ? ask(&a) : tune(&a);
    shapes_free(&a.shapes);
    spec_arguments_free(&a.specs);
    return code;
}
