// tmagen profile SPEC...: what the kernels cost, without a GPU. Only the arguments are here.
#include <stdlib.h>

#include "gen/cli/command.h"
#include "gen/measured.h"
#include "gen/output.h"
#include "measure/profile_specs.h"

enum { KEY_SHAPE = 0x2000, KEY_PTX };

static const struct argp_option options[] = {
    {"shape", KEY_SHAPE, "MxNxK", 0, "the shape to run, in place of one that the family names", 0},
    {"ptx", KEY_PTX, NULL, 0, "of the PTX alone: registers and spills are the assembler's", 0},
    {0},
};

struct profile_arguments {
    struct spec_arguments specs;
    struct shape_list shapes;
    bool only_ptx;
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct profile_arguments *a = state->input;
    switch (key) {
    case KEY_SHAPE: argument_shape(state, argument, &a->shapes); return 0;
    case KEY_PTX: return a->only_ptx = true, 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "SPEC...",
    .doc =
        "Says what the kernels of each SPEC cost, as far as compiler and emulator can: registers "
        "and spills, the grid on a whole GPU, and of one launch the instructions by kind, the "
        "wavefronts of shared memory and how few they could be, the sectors of global memory, "
        "the depths of waits and the order of the work. The same input gives the same text, so "
        "that a change of it shows as a diff. Exit code 1 where a result is not the reference's.",
};

int cmd_profile(int argc, char **argv) {
    struct profile_arguments a = {0};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    struct gen_result *results =
        output_generate(a.specs.specs, a.specs.spec_count, &a.specs.options);
    int code = EXIT_USER;
    if (results) {
        struct profile_plan plan = {.shapes = &a.shapes, .only_ptx = a.only_ptx};
        struct kernel_text *kernels = kernels_of(results, a.specs.spec_count, &plan.kernel_count);
        plan.kernels = kernels;
        code = profile_all(&plan, stdout);
        free(kernels);
        output_free(results, a.specs.spec_count);
    }
    shapes_free(&a.shapes);
    spec_arguments_free(&a.specs);
    return code;
}
