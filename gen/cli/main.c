// The command line: a table of subcommands, and bare specs as the short form of build.
// Each subcommand parses its own arguments; see command.h.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/cli/command.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *arguments, *doc;
};

static const struct command commands[] = {
    {"gen", cmd_gen, "SPEC...", "write CUDA source and manifest into out/"},
    {"check", cmd_check, "SPEC...", "run all legality checks; --out: is out/ fresh?"},
    {"diff", cmd_diff, "SPEC [SPEC]", "what two specs, or a spec and out/, differ in"},
    {"explain", cmd_explain, "SPEC | FAMILY", "a resolved spec, or a family's knobs and ladder"},
    {"verify", cmd_verify, "SPEC...", "run kernels and hold the results to a reference"},
    {"bench", cmd_bench, "SPEC", "measure a kernel beside its peers"},
    {"ladder", cmd_ladder, "FAMILY", "verify and measure rung by rung, and record the decisions"},
    {"tune", cmd_tune, "SPEC | FAMILY...", "find the best kernel for each of many shapes"},
    {"profile", cmd_profile, "SPEC...", "what kernels cost, by counts, without a GPU"},
    {"emulate", cmd_emulate, "LAUNCH.yaml | SPEC", "run a kernel on the CPU, and check it"},
    {"bundle", cmd_bundle, "SPEC... -o FILE", "compiled kernels in one file, for deployment"},
    {"new", cmd_new, "FAMILY", "make a family of kernels, to be changed from there on"},
    {"cache", cmd_cache, "ls|stat|why|gc|clear|verify", "look after compiled kernels"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out) {
    fputs("tmagen makes warp-specialised CUDA kernels from YAML specs.\n\n"
          "  tmagen SPEC...                          generate, compile, cache, and say what came "
          "out\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++) {
        int width = fprintf(out, "  tmagen %s %s", commands[i].name, commands[i].arguments);
        fprintf(out, "%*s%s\n", width < 42 ? 42 - width : 2, "", commands[i].doc);
    }
    fputs("\nA SPEC is a file, or X for specs/X.yaml, here or as it was installed. 'tmagen COMMAND "
          "--help' tells more.\n",
          out);
}

static const struct command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    return NULL;
}

// Runs a subcommand with argv[0] as its help shows it.
static int run(int (*function)(int, char **), const char *name, int argc, char **argv) {
    char title[64];
    snprintf(title, sizeof title, "tmagen%s%s", *name ? " " : "", name);
    argv[0] = title;
    return function(argc, argv);
}

// What is freed stays with the process: tensors and shadows of one launch are as large as those of
// the next, and fresh pages from the system would be a fifteenth of verify's time.
static void keep_memory(void) {
    const int most = 1 << 30;
    mallopt(M_MMAP_THRESHOLD, most);
    mallopt(M_TRIM_THRESHOLD, most);
}

// Where one of the three standard files is closed, the next file that is opened would be taken for
// it, and have in it what is said. What stands in for it can be used the wrong way round alone.
static void hold_standard_files(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file)
        if (fcntl(file, F_GETFD) < 0 &&
            open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

// Nothing is fine whose output is lost, on a full disk say. argp exits by itself behind its help.
static void close_output(int code, void *unused) {
    (void)unused;
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout)) return;
    fprintf(stderr, "tmagen: error: standard output: %s\n",
            errno ? strerror(errno) : "a part of it is lost");
    _exit(code ? code : EXIT_USER);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return EXIT_FINE;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("tmagen " TMAGEN_VERSION);
        return EXIT_FINE;
    }
    const struct command *command = find(argv[1]);
    if (command) return run(command->run, command->name, argc - 1, argv + 1);
    return run(cmd_build, "", argc, argv);
}

int main(int argc, char **argv) {
    keep_memory();
    hold_standard_files();
    if (on_exit(close_output, NULL)) return EXIT_ENVIRONMENT;
    return dispatch(argc, argv);
}
