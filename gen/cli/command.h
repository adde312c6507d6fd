// What main.c's table calls: one function a subcommand, in a file cmd_NAME.c of its own.
// Each gets its own argv, argv[0] being "tmagen NAME", and returns an exit code.
#pragma once
#include "gen/generate.h"

enum {
    EXIT_FINE = 0,
    EXIT_USER = 1,         // the input is wrong, or a check failed
    EXIT_USAGE = 2,        // the command line is wrong
    EXIT_ENVIRONMENT = 3,  // no NVRTC, driver or GPU
};

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
int cmd_new(int argc, char **argv);
int cmd_cache(int argc, char **argv);

// A command line of specs with the common options, for commands that need no more.
struct spec_arguments {
    struct gen_options options;
    char **specs;
    size_t spec_count;
};

// The parser of such a command line, to be a child of a command's own; its input is a struct
// spec_arguments that spec_arguments_init has set up.
extern const struct argp spec_arguments_argp;
void spec_arguments_init(struct spec_arguments *);

// Parses argv into [arguments]; [usage] and [doc] are for the command's help. Ends the program on
// a wrong command line with exit code 2. Free it with spec_arguments_free.
void spec_arguments_parse(struct spec_arguments *, int argc, char **argv, const char *usage,
                          const char *doc);
void spec_arguments_free(struct spec_arguments *);
