// The frame of every command line: the common options, and in most commands specs.
// A command adds its own options by a row, so that what is common is written once.
#include "gen/cli/command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gen/alloc.h"
#include "gen/diag.h"

static error_t take_spec(int key, char *argument, struct argp_state *state) {
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

static const struct argp_child spec_children[] = {{.argp = &gen_options_argp}, {0}};
static const struct argp spec_argp = {.parser = take_spec, .children = spec_children};
static const struct argp_child bare_children[] = {{.argp = &gen_options_bare_argp}, {0}};
static const struct argp bare_argp = {.parser = take_spec, .children = bare_children};

// A command line that is being read.
struct reading {
    const struct command_line *line;
    void *arguments, *common;
};

static error_t take(int key, char *argument, struct argp_state *state) {
    struct reading *reading = state->input;
    if (key == ARGP_KEY_INIT) state->child_inputs[0] = reading->common;
    if (key == ARGP_KEY_INIT) return 0;
    if (!reading->line->parse) return ARGP_ERR_UNKNOWN;
    state->input = reading->arguments;
    const error_t result = reading->line->parse(key, argument, state);
    state->input = reading;
    return result;
}

// [common] is the input of [child].
static void parse(const struct argp *child, void *common, const struct command_line *line,
                  void *arguments, int argc, char **argv) {
    const struct argp_child children[] = {{.argp = child}, {0}};
    const struct argp argp = {.options = line->options,
                              .parser = take,
                              .args_doc = line->usage,
                              .doc = line->doc,
                              .children = children};
    struct reading reading = {line, arguments, common};
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &reading);
}

// Ends the program where a folder of --templates is none: what is inside would be taken instead.
// [made]: the first of them need not be there, but has a name.
static void need_folders(const struct gen_options *options, bool made) {
    for (size_t at = 0; at < options->templates_given;) {
        const size_t length = strcspn(options->templates + at, ":");
        char *folder = mem_copy_n(options->templates + at, length);
        struct stat found;
        const bool there = !stat(folder, &found) && S_ISDIR(found.st_mode);
        if (!there && !(made && at == 0 && length)) {
            diag_say("--templates=%s: no such folder", folder);
            exit(EXIT_USAGE);
        }
        free(folder);
        at += length + 1;
    }
}

void spec_arguments_parse(struct spec_arguments *specs, const struct command_line *line,
                          void *arguments, int argc, char **argv) {
    *specs = (struct spec_arguments){0};
    gen_options_init(&specs->options);
    parse(line->own_output ? &bare_argp : &spec_argp, specs, line, arguments, argc, argv);
    need_folders(&specs->options, line->makes_templates);
}

void gen_options_parse(struct gen_options *options, const struct command_line *line,
                       void *arguments, int argc, char **argv) {
    gen_options_init(options);
    parse(line->own_output ? &gen_options_bare_argp : &gen_options_argp, options, line, arguments,
          argc, argv);
    need_folders(options, false);
}

void spec_arguments_free(struct spec_arguments *arguments) {
    gen_options_free(&arguments->options);
    free(arguments->specs);
}
