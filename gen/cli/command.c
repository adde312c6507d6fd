// The command line SPEC... with the common options, which most commands have.
// A command with options of its own writes its parser itself and takes gen_options_argp as a child.
#include "gen/cli/command.h"

#include <argp.h>
#include <stdlib.h>

#include "gen/alloc.h"

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct spec_arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->options; return 0;
    case ARGP_KEY_ARG:
        a->specs = mem_resize(a->specs, (a->spec_count + 1) * sizeof *a->specs);
        a->specs[a->spec_count++] = argument;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{.argp = &gen_options_argp}, {0}};
const struct argp spec_arguments_argp = {.parser = parse, .children = children};

void spec_arguments_init(struct spec_arguments *arguments) {
    *arguments = (struct spec_arguments){0};
    gen_options_init(&arguments->options);
    argp_err_exit_status = EXIT_USAGE;
}

void spec_arguments_parse(struct spec_arguments *arguments, int argc, char **argv,
                          const char *usage, const char *doc) {
    struct argp argp = spec_arguments_argp;
    argp.args_doc = usage;
    argp.doc = doc;
    spec_arguments_init(arguments);
    argp_parse(&argp, argc, argv, 0, NULL, arguments);
}

void spec_arguments_free(struct spec_arguments *arguments) {
    gen_options_free(&arguments->options);
    free(arguments->specs);
}
