// tmagen ladder FAMILY: every rung verified and measured against the one before, decided by the
// rule for keeping an optimisation, and recorded in the ledger. How stands in measure/ladder.h.
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/diag.h"
#include "gen/file.h"
#include "gen/measured.h"
#include "gen/alloc.h"
#include "gen/rungs.h"
#include "measure/ladder.h"
#include "measure/ledger.h"
#include "measure/random.h"

enum {
    KEY_DEVICE = 0x2000,
    KEY_SHAPES,
    KEY_SHAPE,
    KEY_SECONDS,
    KEY_TIMEOUT,
    KEY_FROM,
    KEY_TO,
    KEY_LEDGER
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME", 0, "cuda or cuda:N (default: cuda)", 0},
    {"shapes", KEY_SHAPES, "FILE", 0, "shapes, one a line as in: bf16 4096 4096 512", 0},
    {"shape", KEY_SHAPE, "MxNxK[/INPUTS]", 0,
     "one shape; may be repeated (default: verify many, measure the family's typical one)", 0},
    {"seconds", KEY_SECONDS, "S", 0, "time to measure two rungs at a shape for (default: 1.5)", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "seconds until a launch counts as hung (default: 60)", 0},
    {"from", KEY_FROM, "N", 0, "begin with rung N, which the next is measured against", 0},
    {"to", KEY_TO, "N", 0, "end with rung N", 0},
    {"ledger", KEY_LEDGER, "FILE", 0,
     "Markdown file whose section of the family is replaced (default: out/EXPERIMENTS.md)", 0},
    {0},
};

struct ladder_arguments {
    struct gen_options options;
    char *family;
    struct ladder_plan plan;
    struct shape_list shapes;
    const char *shapes_path;
    bool seconds_given;
    int from, to;
    char *ledger;  // as given, then the file itself
};

static void read_shapes(struct argp_state *state, struct ladder_arguments *a, const char *path) {
    if (a->shapes_path) argp_error(state, "--shapes can be given once");
    a->shapes_path = path;
    argument_shapes(state, path, &a->shapes);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct ladder_arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->family) argp_error(state, "one FAMILY at a time");
        a->family = argument;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    case KEY_DEVICE:
        if (strncmp(argument, "cuda", 4) != 0) argp_error(state, "only a GPU can be measured");
        a->plan.device = argument;
        return 0;
    case KEY_SHAPES: read_shapes(state, a, argument); return 0;
    case KEY_SHAPE: argument_shape(state, argument, &a->shapes); return 0;
    case KEY_SECONDS:
        a->plan.seconds = argument_number(state, argument, 0.01, 3600);
        a->seconds_given = true;
        return 0;
    case KEY_TIMEOUT: a->plan.timeout = (int)argument_number(state, argument, 1, 86400); return 0;
    case KEY_FROM: a->from = (int)argument_number(state, argument, 0, 1e6); return 0;
    case KEY_TO: a->to = (int)argument_number(state, argument, 0, 1e6); return 0;
    case KEY_LEDGER: a->ledger = argument; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "FAMILY",
    .doc = "Climbs the ladder of FAMILY: each rung is verified, then measured against the rung "
           "before, in alternation. Above 1.05 times as fast: keep; up to that: keep where the "
           "spread of the ratios is smaller than the gain, else leave it out; slower: revert. The "
           "table goes to the terminal and into the ledger.",
};

// ---- The ledger

// The ledger's text with [section] in its place; NULL after an error, which is printed.
static char *read_ledger(const char *path, const char *family, const char *section, size_t *len) {
    const char *why;
    char error[300];
    struct file_bytes old = file_read(path, LEDGER_BYTES_MAX, &why);
    if (!old.data) {
        diag_say("cannot read the ledger %s: %s", path, why);
        return NULL;
    }
    char *text = ledger_replace(old.data, old.len, family, section, len, error, sizeof error);
    if (!text) diag_say("the ledger %s is damaged, and left as it is: %s", path, error);
    free(old.data);
    return text;
}

// Writes the ledger anew in one step; with [commit] false only tries whether it could be.
static int write_ledger(const char *path, const char *family, const char *section, bool commit) {
    size_t len;
    struct file_pending file;
    char *text = read_ledger(path, family, section, &len);
    if (!text) return EXIT_USER;
    const char *why = file_prepare(path, text, len, &file);
    if (!why && commit) why = file_commit(&file);
    if (!why && !commit) file_abandon(&file);
    if (why) diag_say("cannot write the ledger %s: %s", path, why);
    free(text);
    return why ? EXIT_USER : EXIT_FINE;
}

// Finds the file behind links, which a rename would replace, and sees that it can be written,
// before anything is measured. The path is to be freed; NULL after an error.
static char *find_ledger(const struct ladder_arguments *a) {
    char *path =
        a->ledger ? mem_copy(a->ledger) : mem_format("%s/" LEDGER_NAME, a->options.out_dir);
    char *real = realpath(path, NULL);
    if (!real) diag_say("there is no ledger %s; an empty file will do to begin one", path);
    free(path);
    if (real && write_ledger(real, a->family, "", false) == EXIT_FINE) return real;
    free(real);
    return NULL;
}

// ---- The command that makes the ladder again, as the ledger shows it

static void add(char **text, const char *word, const char *value) {
    char *longer = mem_format("%s %s%s%s", *text, word, value ? " " : "", value ? value : "");
    free(*text);
    *text = longer;
}

static void add_shape(char **text, const struct shape *shape) {
    char *numbers = mem_copy("");
    for (int i = 0; i < shape->count; ++i) {
        char *longer = mem_format("%s%s%lld", numbers, i ? "x" : "", (long long)shape->numbers[i]);
        free(numbers);
        numbers = longer;
    }
    char *whole = mem_format("%s%s%s", numbers, *shape->inputs ? "/" : "", shape->inputs);
    add(text, "--shape", whole);
    free(whole);
    free(numbers);
}

static void add_number(char **text, const char *word, double value) {
    char *digits = mem_format("%g", value);
    add(text, word, digits);
    free(digits);
}

// What was asked for, without what is this machine's own: its device, folders and ledger.
static char *command_of(const struct ladder_arguments *a) {
    char *text = mem_format("tmagen ladder %s", a->family);
    for (size_t i = 0; i < a->shapes.count; ++i) {
        if (!a->shapes.shapes[i].line) add_shape(&text, &a->shapes.shapes[i]);
    }
    if (a->shapes_path) {
        const char *slash = strrchr(a->shapes_path, '/');
        add(&text, "--shapes",
            *a->shapes_path == '/' || strstr(a->shapes_path, "..") ? slash + 1 : a->shapes_path);
    }
    if (a->seconds_given) add_number(&text, "--seconds", a->plan.seconds);
    if (a->from >= 0) add_number(&text, "--from", a->from);
    if (a->to >= 0) add_number(&text, "--to", a->to);
    for (size_t i = 0; i < a->options.set_count; ++i) add(&text, "--set", a->options.sets[i]);
    return text;
}

// ---- The rungs

// What the ladder stands on; all of it lives until the ladder is recorded.
struct climb {
    struct gen_ladder texts;
    struct gen_result *kernels;
    struct ladder_rung *rungs;
    size_t count;
};

static int generate_rung(const struct ladder_arguments *a, const struct gen_rung *text,
                         struct climb *climb) {
    struct gen_result *result = &climb->kernels[climb->count];
    if (gen_rung_kernel(a->family, text->number, &a->options, result)) return EXIT_USER;
    const struct gen_output *out = result->outputs;
    climb->rungs[climb->count++] = (struct ladder_rung){.number = text->number,
                                                        .title = text->title,
                                                        .doc = text->doc,
                                                        .predict = text->predict,
                                                        .kernel = kernel_of(out)};
    return EXIT_FINE;
}

// Generates all rungs that were asked for; every error is printed.
static int generate_rungs(const struct ladder_arguments *a, struct climb *climb) {
    if (gen_ladder_read(a->family, &a->options, &climb->texts)) return EXIT_USER;
    const size_t most = climb->texts.count;
    int code = EXIT_FINE;
    climb->kernels = mem_zero(most * sizeof *climb->kernels);
    climb->rungs = mem_zero(most * sizeof *climb->rungs);
    for (size_t i = 0; i < most; ++i) {
        const struct gen_rung *text = &climb->texts.rungs[i];
        if (a->from >= 0 && text->number < a->from) continue;
        if (a->to >= 0 && text->number > a->to) continue;
        code |= generate_rung(a, text, climb);
    }
    if (code == EXIT_FINE && climb->count < 2) {
        diag_say("a rung is measured against the one before it: at least two must be asked for");
        code = EXIT_USER;
    }
    return code;
}

static void free_climb(struct climb *climb) {
    for (size_t i = 0; i < climb->count; ++i) gen_result_free(&climb->kernels[i]);
    free(climb->kernels);
    free(climb->rungs);
    gen_ladder_free(&climb->texts);
}

// ---- The whole

static int record(const char *path, const struct ladder *ladder) {
    char *section = ladder_markdown(ladder);
    const int code = section ? write_ledger(path, ladder->family, section, true) : EXIT_USER;
    if (code == EXIT_FINE) printf("\nrecorded in %s\n", path);
    free(section);
    return code;
}

// Runs, prints and records a ladder whose rungs are generated.
static int climb_and_record(const struct ladder_arguments *a, const struct climb *climb,
                            const char *path) {
    char *command = command_of(a);
    struct ladder ladder = {
        .family = a->family, .command = command, .rungs = climb->rungs, .rung_count = climb->count};
    int code = ladder_check(&ladder, &a->shapes);
    if (code == EXIT_FINE) {
        code = ladder_run(&ladder, &a->plan);
        if (code != EXIT_ENVIRONMENT) {
            ladder_print(&ladder, stdout);
            code |= record(path, &ladder);
        }
    }
    ladder_free(&ladder);
    free(command);
    return code;
}

int cmd_ladder(int argc, char **argv) {
    struct ladder_arguments a = {
        .from = -1,
        .to = -1,
        .plan = {.device = "cuda", .seconds = 1.5, .timeout = 60, .seed = random_fresh_seed()}};
    struct climb climb = {.count = 0};
    gen_options_parse(&a.options, &command_line, &a, argc, argv);
    a.plan.shapes = &a.shapes;
    int code = EXIT_USER;
    char *path = NULL;
    if (!ledger_takes(a.family) || !gen_family_exists(a.family, &a.options)) {
        diag_say("there is no family %s", a.family);
    } else {
        path = find_ledger(&a);
        if (path) code = generate_rungs(&a, &climb);
    }
    if (path && code == EXIT_FINE) code = climb_and_record(&a, &climb, path);
    free(path);
    free_climb(&climb);
    shapes_free(&a.shapes);
    gen_options_free(&a.options);
    return code;
}
