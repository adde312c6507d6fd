// What main.c's table calls: one function a subcommand, in a file cmd_NAME.c of its own.
// Each gets its own argv, argv[0] being "tmagen NAME", and returns an exit code.
#pragma once
#include <argp.h>

#include "gen/generate.h"

enum {
    EXIT_FINE = 0,
    EXIT_USER = 1,         // the input is wrong, a check failed, or output cannot be written
    EXIT_USAGE = 2,        // the command line is wrong
    EXIT_ENVIRONMENT = 3,  // no NVRTC, driver or GPU
};

// Where ladder records, in the folder of the generated files.
#define LEDGER_NAME "EXPERIMENTS.md"

int cmd_build(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_ladder(int argc, char **argv);
int cmd_emulate(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_bundle(int argc, char **argv);
int cmd_new(int argc, char **argv);
int cmd_cache(int argc, char **argv);

// A command's part of its command line: its own options, and the parser that takes them, whose
// state->input are the command's arguments; the words behind the options go to spec_arguments, or,
// with gen_options_parse, to the parser. [usage] and [doc] are for the command's help.
struct command_line {
    const char *usage, *doc;
    const struct argp_option *options;  // NULL: none but the common ones
    error_t (*parse)(int key, char *argument, struct argp_state *state);
    bool own_output;       // -o is one of its own
    bool makes_templates;  // the first folder of --templates need not be there
};

// Specs and the common options.
struct spec_arguments {
    struct gen_options options;
    char **specs;
    size_t spec_count;
};

// Parses argv into [specs] and the command's own [arguments]. Ends the program on a wrong command
// line with exit code 2. Free it with spec_arguments_free.
void spec_arguments_parse(struct spec_arguments *specs, const struct command_line *line,
                          void *arguments, int argc, char **argv);
void spec_arguments_free(struct spec_arguments *);

// The same for a command that takes no specs; free it with gen_options_free.
void gen_options_parse(struct gen_options *, const struct command_line *line, void *arguments,
                       int argc, char **argv);
