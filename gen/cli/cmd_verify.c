// tmagen verify SPEC...: runs kernels on random inputs and holds the results to a reference.
// Only the arguments are here; what is checked and how stands in measure/verify.h.
#include <stdlib.h>

#include "gen/cli/command.h"
#include "gen/measured.h"
#include "gen/alloc.h"
#include "gen/output.h"
#include "measure/verify_all.h"
#include "measure/random.h"

enum {
    KEY_DEVICE = 0x2000,
    KEY_SHAPES,
    KEY_SHAPE,
    KEY_SEED,
    KEY_RUNS,
    KEY_SMALL,
    KEY_NO_WAVES,
    KEY_ODD,
    KEY_UNGUARDED,
    KEY_RECORD,
    KEY_AGAINST,
    KEY_CHECK_ONLY,
    KEY_EQUAL_TO,
    KEY_ULPS,
    KEY_SCHEDULES,
    KEY_TIMEOUT,
    KEY_MAX_STEPS,
    KEY_JSON
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME", 0, "cuda, cuda:N, emu or emu:N (default: a GPU, else emu)", 0},
    {"shapes", KEY_SHAPES, "FILE", 0, "shapes, one a line as in: bf16 4096 4096 512", 0},
    {"shape", KEY_SHAPE, "MxNxK[/INPUTS]", 0, "one shape; may be repeated", 0},
    {"small", KEY_SMALL, NULL, 0, "the few small shapes of the emulator, on a GPU too", 0},
    {"no-waves", KEY_NO_WAVES, NULL, 0,
     "of those not the ones of several waves, the last of which `tmagen profile` runs and compares",
     0},
    {"odd", KEY_ODD, NULL, 0,
     "of those one alone, and not the usual draw of it, which a record may have, but what is odd: "
     "gaps between rows, odd addresses, special and exact inputs",
     0},
    {"unguarded", KEY_UNGUARDED, NULL, 0,
     "no bytes of ours around the tensors, for compute-sanitizer, which knows where memory ends",
     0},
    {"record", KEY_RECORD, "FILE", 0, "write what was computed: digests, and some elements", 0},
    {"against", KEY_AGAINST, "FILE", 0,
     "run the cases of such a file, or those of --shape, whose every bit must come again", 0},
    {"check-only", KEY_CHECK_ONLY, NULL, 0,
     "compare with no reference: only races, hangs, what is never written, and that runs agree", 0},
    {"equal-to", KEY_EQUAL_TO, "SPEC", 0,
     "compare with what the kernel of SPEC gives on the same inputs, bit by bit, not with the "
     "reference",
     0},
    {"ulps", KEY_ULPS, "N", 0, "with --equal-to: up to N units in the last place apart", 0},
    {"seed", KEY_SEED, "N", 0, "seed of the inputs (default: another one every time)", 0},
    {"runs", KEY_RUNS, "N", 0, "launches a shape, whose results must be equal (default: 4)", 0},
    {"schedules", KEY_SCHEDULES, "N", 0,
     "emu: as --runs; each run orders warps and copies by the next seed, from N of emu:N on", 0},
    {"timeout", KEY_TIMEOUT, "S", 0,
     "seconds until a launch counts as hung (default: 60; emu: 1200)", 0},
    {"max-steps", KEY_MAX_STEPS, "N", 0,
     "emu: instructions of warps that a launch may take (default: 10 billion)", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object a shape instead of the table", 0},
    {0},
};

struct verify_arguments {
    struct spec_arguments specs;
    struct verify_plan plan;
    struct shape_list shapes;
    bool seed_given;
    char *peer;  // of --equal-to
};

static long long number(struct argp_state *state, const char *text, long long least,
                        long long most) {
    char *end;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < least || value > most) {
        argp_error(state, "%s is not a number in %lld..%lld", text, least, most);
    }
    return value;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct verify_arguments *a = state->input;
    switch (key) {
    case KEY_DEVICE: a->plan.device = argument; return 0;
    case KEY_SHAPES: argument_shapes(state, argument, &a->shapes); return 0;
    case KEY_SHAPE: argument_shape(state, argument, &a->shapes); return 0;
    case KEY_SEED:
        a->plan.seed = (uint64_t)number(state, argument, 0, INT64_MAX);
        a->seed_given = true;
        return 0;
    case KEY_SMALL: a->plan.small = true; return 0;
    case KEY_NO_WAVES: a->plan.no_waves = true; return 0;
    case KEY_ODD: a->plan.odd = true; return 0;
    case KEY_UNGUARDED: a->plan.unguarded = true; return 0;
    case KEY_RECORD: a->plan.record = argument; return 0;
    case KEY_AGAINST: a->plan.against = argument; return 0;
    case KEY_CHECK_ONLY: a->plan.check_only = true; return 0;
    case KEY_EQUAL_TO: a->peer = argument; return 0;
    case KEY_ULPS: a->plan.ulps = (double)number(state, argument, 0, 1LL << 52); return 0;
    case ARGP_KEY_END:
        if (a->plan.against && (a->plan.record || a->plan.small || a->seed_given)) {
            argp_error(state, "--against takes data and seed from its file, and writes no record");
        }
        if ((a->peer || a->plan.check_only) && (a->plan.record || a->plan.against)) {
            argp_error(state, "a record holds what was compared with the reference");
        }
        if (a->peer && a->plan.check_only) argp_error(state, "--check-only compares with nothing");
        if (a->plan.ulps > 0 && !a->peer) argp_error(state, "--ulps needs --equal-to");
        return 0;
    case KEY_RUNS: a->plan.runs = (int)number(state, argument, 2, 1000); return 0;
    case KEY_SCHEDULES: a->plan.runs = (int)number(state, argument, 1, 1000000); return 0;
    case KEY_TIMEOUT: a->plan.timeout = (int)number(state, argument, 1, 86400); return 0;
    case KEY_MAX_STEPS: a->plan.max_steps = number(state, argument, 1, INT64_MAX); return 0;
    case KEY_JSON: a->plan.json = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "SPEC...",
    .doc =
        "Runs the kernels of each SPEC on random inputs, ragged and round shapes, and compares "
        "the results with a float64 reference: samples and edges element by element, the whole "
        "by Freivalds' check or on a GPU, repeated runs bit by bit. Exit code 1 where anything is "
        "wrong.",
};

// Verifies the kernels of [results] against their references or the first kernel of [peers].
static int run(struct verify_arguments *a, const struct gen_result *results,
               const struct gen_result *peers) {
    size_t peer_count = 0;
    struct kernel_text *others = peers ? kernels_of(peers, 1, &peer_count) : NULL;
    const bool recorded = a->plan.record || a->plan.against;  // of kernels, by their names
    a->plan.kernels =
        (recorded ? kernels_of : subjects_of)(results, a->specs.spec_count, &a->plan.kernel_count);
    a->plan.shapes = &a->shapes;
    a->plan.peer = others;
    const int code = verify_all(&a->plan);
    subjects_free((struct kernel_text *)a->plan.kernels, a->plan.kernel_count);
    free(others);
    return code;
}

int cmd_verify(int argc, char **argv) {
    struct verify_arguments a = {.plan = {.seed = random_fresh_seed(), .runs = 4}};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    struct gen_result *results =
        output_generate(a.specs.specs, a.specs.spec_count, &a.specs.options);
    struct gen_result *peers =
        results && a.peer ? output_generate(&a.peer, 1, &a.specs.options) : NULL;
    int code = EXIT_USER;
    if (results && (peers || !a.peer)) code = run(&a, results, peers);
    if (peers) output_free(peers, 1);
    if (results) output_free(results, a.specs.spec_count);
    shapes_free(&a.shapes);
    spec_arguments_free(&a.specs);
    return code;
}
