// tmagen bench SPEC...: measures kernels, alone or beside cuBLASLt or the kernels of another spec.
// Only the arguments are here; how a figure is taken stands in measure/bench.h.
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/measured.h"
#include "gen/alloc.h"
#include "gen/output.h"
#include "measure/bench.h"
#include "measure/overhead.h"
#include "measure/random.h"

enum {
    KEY_DEVICE = 0x2000,
    KEY_SHAPES,
    KEY_SHAPE,
    KEY_RANDOM,
    KEY_VS,
    KEY_ROUNDS,
    KEY_SECONDS,
    KEY_ROOF,
    KEY_TIMEOUT,
    KEY_OVERHEAD,
    KEY_CHAIN,
    KEY_UNLIKE,
    KEY_JSON
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME", 0, "cuda or cuda:N (default: cuda)", 0},
    {"shapes", KEY_SHAPES, "FILE", 0, "shapes, one a line as in: bf16 4096 4096 512", 0},
    RANDOM_SHAPES_OPTION(KEY_RANDOM),
    {"shape", KEY_SHAPE, "MxNxK[/INPUTS]", 0,
     "one shape; may be repeated (default: one that is typical of the family)", 0},
    {"vs", KEY_VS, "PEER", 0,
     "cublaslt (its first heuristic and the best of all it offers), copy (of as many bytes), or "
     "another spec; may be repeated",
     0},
    {"rounds", KEY_ROUNDS, "N", 0, "rounds of the alternation (default: what fits)", 0},
    {"seconds", KEY_SECONDS, "S", 0, "time to measure a shape for (default: 1.5)", 0},
    {"roof", KEY_ROOF, "TFLOPS", 0, "matrix roof (default: cuBLASLt's best at 8192^3)", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "seconds until a launch counts as hung (default: 60)", 0},
    {"overhead", KEY_OVERHEAD, NULL, 0,
     "measure what a launch and a load cost the CPU instead of the kernel", 0},
    {"chain", KEY_CHAIN, NULL, 0,
     "layers: each launch reads what the one before it wrote, and overlaps it where the kernel has "
     "dependent_launch",
     0},
    {"unlike", KEY_UNLIKE, NULL, 0,
     "kernels may take other tensors, as with a bias and without: each has inputs of its own then, "
     "and their results are not compared",
     0},
    {"json", KEY_JSON, NULL, 0, "one JSON object a shape instead of tables", 0},
    {0},
};

struct bench_arguments {
    struct spec_arguments specs;
    struct bench_plan plan;
    struct shape_list shapes;
    char **peers;  // specs of --vs
    size_t peer_count;
    bool overhead;
};

static void add_peer(struct bench_arguments *a, char *peer) {
    if (!strcmp(peer, "cublaslt")) {
        a->plan.cublaslt = true;
        return;
    }
    if (!strcmp(peer, "copy")) {
        a->plan.copy = true;
        return;
    }
    a->peers = mem_resize(a->peers, (a->peer_count + 1) * sizeof *a->peers);
    a->peers[a->peer_count++] = peer;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct bench_arguments *a = state->input;
    switch (key) {
    case KEY_DEVICE: a->plan.device = argument; return 0;
    case KEY_SHAPES: argument_shapes(state, argument, &a->shapes); return 0;
    case KEY_SHAPE: argument_shape(state, argument, &a->shapes); return 0;
    case KEY_RANDOM: argument_random(state, argument, &a->shapes); return 0;
    case KEY_VS: add_peer(a, argument); return 0;
    case KEY_ROUNDS: a->plan.rounds = (int)argument_number(state, argument, 1, 100000); return 0;
    case KEY_SECONDS: a->plan.seconds = argument_number(state, argument, 0.01, 3600); return 0;
    case KEY_ROOF: a->plan.roof_tflops = argument_number(state, argument, 0.001, 1e6); return 0;
    case KEY_TIMEOUT: a->plan.timeout = (int)argument_number(state, argument, 1, 86400); return 0;
    case KEY_OVERHEAD: a->overhead = true; return 0;
    case KEY_CHAIN: a->plan.chain = true; return 0;
    case KEY_UNLIKE: a->plan.unlike = true; return 0;
    case KEY_JSON: a->plan.json = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "SPEC...",
    .doc = "Measures the kernels of each SPEC on random data: inputs rotated past twice the L2, "
           "CUDA graphs, all kernels and peers in alternation in one run, medians with half the "
           "distance of the quartiles, and ratios taken round by round (above 1: faster than the "
           "peer). '*' marks the best spec of a shape.",
};

// Runs what the arguments ask for on our kernels followed by the peers'.
static int run(struct bench_arguments *a, const struct gen_result *own,
               const struct gen_result *peers) {
    struct bench_plan *plan = &a->plan;
    size_t peer_count = 0;
    struct kernel_text *owns = subjects_of(own, a->specs.spec_count, &plan->own_count);
    struct kernel_text *others = subjects_of(peers, a->peer_count, &peer_count);
    plan->kernel_count = plan->own_count + peer_count;
    struct kernel_text *kernels = mem_alloc((plan->kernel_count + 1) * sizeof *kernels);
    if (plan->own_count) memcpy(kernels, owns, plan->own_count * sizeof *kernels);
    if (peer_count) memcpy(kernels + plan->own_count, others, peer_count * sizeof *kernels);
    plan->kernels = kernels;
    plan->shapes = &a->shapes;
    const int code = a->overhead ? overhead_all(plan) : bench_all(plan);
    subjects_free(others, peer_count);
    subjects_free(owns, plan->own_count);
    free(kernels);
    return code;
}

int cmd_bench(int argc, char **argv) {
    struct bench_arguments a = {
        .plan = {.device = "cuda", .seconds = 1.5, .timeout = 60, .seed = random_fresh_seed()}};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    struct gen_result *own = output_generate(a.specs.specs, a.specs.spec_count, &a.specs.options);
    struct gen_result *peers =
        own && a.peer_count ? output_generate(a.peers, a.peer_count, &a.specs.options) : NULL;
    int code = EXIT_USER;
    if (own && (peers || !a.peer_count)) code = run(&a, own, peers);
    if (own) output_free(own, a.specs.spec_count);
    if (peers) output_free(peers, a.peer_count);
    shapes_free(&a.shapes);
    free(a.peers);
    spec_arguments_free(&a.specs);
    return code;
}
