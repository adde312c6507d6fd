// tmagen explain SPEC|FAMILY: what a spec resolves to and why, or what a family offers.
// All text comes from explain.lua, which reads the tables that validate and generate.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/diag.h"
#include "gen/measured.h"
#include "gen/alloc.h"
#include "gen/output.h"
#include "gen/store.h"
#include "gen/dispatch.h"
#include "measure/predict.h"

enum { KEY_SHAPE = 0x2000, KEY_SHAPES, KEY_RANDOM, KEY_GPU };

static const struct argp_option options[] = {
    {"shape", KEY_SHAPE, "MxNxK", 0,
     "predict what the kernels take at this shape, and what binds them; may be repeated", 0},
    {"shapes", KEY_SHAPES, "FILE", 0, "shapes, one a line as in: bf16 4096 4096 512", 0},
    RANDOM_SHAPES_OPTION(KEY_RANDOM),
    {"gpu", KEY_GPU, "NAME", 0, "predict for lib/gpus/NAME.json (default: nvidia_h200)", 0},
    {0},
};

struct explain_arguments {
    struct spec_arguments specs;
    struct shape_list shapes;
    const char *gpu;  // NULL: nobody said
    bool family;      // one is named, and stands for its tables
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct explain_arguments *a = state->input;
    switch (key) {
    case KEY_SHAPE: argument_shape(state, argument, &a->shapes); return 0;
    case KEY_RANDOM: argument_random(state, argument, &a->shapes); return 0;
    case KEY_SHAPES: argument_shapes(state, argument, &a->shapes); return 0;
    case KEY_GPU: a->gpu = argument_name(state, "--gpu", argument); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "SPEC|FAMILY...",
    .doc =
        "Explains a SPEC: every value and where it came from, the map of shared memory, barriers, "
        "registers, launch; or a FAMILY: its knobs, ladder and checks. With --shape it predicts "
        "instead what each kernel of the SPECs takes, the fastest first.",
};

static int explain_spec(const char *spec, const struct gen_options *gen) {
    struct gen_result result;
    int failed = gen_spec(spec, gen, &result);
    for (size_t i = 0; i < result.output_count; i++)
        printf("%s%s", i ? "\n\n" : "", result.outputs[i].explain);
    gen_result_free(&result);
    return failed;
}

// Says which shapes none of a family's tables takes. Returns an exit code: 1 where there are some,
// 2 where there are no others.
static int say_unanswered(const struct shape_list *shapes, const bool *answered) {
    size_t count = 0;
    for (size_t i = 0; i < shapes->count; ++i) {
        if (answered[i]) continue;
        ++count;
        fputs("tmagen: error: no table takes ", stderr);
        shape_print(&shapes->shapes[i], stderr);
        fputc('\n', stderr);
    }
    return !count ? EXIT_FINE : count < shapes->count ? EXIT_USER : EXIT_USAGE;
}

// What the tables among the results take; then, together, the kernels that are not in one.
static int predict_all_of(const struct explain_arguments *a, const struct predict_gpu *gpu,
                          const struct gen_result *results, size_t count) {
    size_t subjects, kernels = 0;
    int worst = EXIT_FINE;
    struct kernel_text *texts = subjects_of(results, count, &subjects);
    bool *answered = a->family ? mem_zero((a->shapes.count + 1) * sizeof *answered) : NULL;
    for (size_t i = 0; i < subjects; ++i) {
        if (!texts[i].table) continue;
        if (a->gpu)
            fprintf(stderr, "tmagen: note: %s is a table, of its own GPU whatever --gpu says\n",
                    texts[i].name);
        const int code = predict_pick(&texts[i], &a->shapes, answered, stdout);
        if (code > worst) worst = code;
    }
    if (answered) {
        const int code = say_unanswered(&a->shapes, answered);
        if (code > worst) worst = code;
        free(answered);
    }
    struct kernel_text *others = mem_alloc((subjects + 1) * sizeof *others);
    for (size_t i = 0; i < subjects; ++i)
        if (!texts[i].table) others[kernels++] = texts[i];
    const int code = kernels ? predict_all(others, kernels, &a->shapes, gpu, stdout) : EXIT_FINE;
    free(others);
    subjects_free(texts, subjects);
    return code > worst ? code : worst;
}

// The specs of the command line, where a family's name stands for its tables. The strings of *made
// are new.
static char **name_tables(struct explain_arguments *a, size_t *count, char ***made) {
    char **specs = NULL;
    size_t capacity = 0;
    *count = 0;
    *made = mem_zero(sizeof **made);
    for (size_t i = 0; i < a->specs.spec_count; i++) {
        char *name = a->specs.specs[i];
        if (gen_spec_exists(name) || !gen_family_exists(name, &a->specs.options)) {
            MEM_PUSH(specs, *count, capacity, name);
            continue;
        }
        char **tables = table_list(name);
        a->family = true;
        if (!*tables) diag_say("%s: no table in specs/ dispatches it, and none is installed", name);
        for (size_t j = 0; tables[j]; j++) MEM_PUSH(specs, *count, capacity, tables[j]);
        store_list_free(*made);
        *made = tables;
    }
    return specs;
}

static int predict(struct explain_arguments *a) {
    struct predict_gpu gpu;
    size_t count;
    char **made;
    if (read_rates(a->gpu ? a->gpu : "nvidia_h200", &a->specs.options, &gpu)) return EXIT_USER;
    char **specs = name_tables(a, &count, &made);
    struct gen_result *results = count ? output_generate(specs, count, &a->specs.options) : NULL;
    const int code = results ? predict_all_of(a, &gpu, results, count) : EXIT_USER;
    output_free(results, count);
    free(specs);
    store_list_free(made);
    return code;
}

static int explain(struct spec_arguments *a) {
    int failed = 0;
    a->options.explain = true;
    for (size_t i = 0; i < a->spec_count; i++) {
        if (i) puts("\n");
        if (gen_family_exists(a->specs[i], &a->options))
            failed |= gen_explain_family(a->specs[i], &a->options);
        else if (!gen_spec_exists(a->specs[i]) && !strpbrk(a->specs[i], "/."))
            failed |= gen_explain_family(a->specs[i], &a->options);  // which says what there is
        else
            failed |= explain_spec(a->specs[i], &a->options);
    }
    return failed ? EXIT_USER : EXIT_FINE;
}

int cmd_explain(int argc, char **argv) {
    struct explain_arguments a = {.gpu = NULL};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    const int code = a.shapes.count ? predict(&a) : explain(&a.specs);
    shapes_free(&a.shapes);
    spec_arguments_free(&a.specs);
    return code;
}
