// tmagen gen SPEC...: writes the sources and manifests of specs, and compiles nothing; with --ptx
// to PTX. For machines without NVRTC, for what is committed, and for who reads PTX.
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/cli/compiler_log.h"
#include "gen/diag.h"
#include "gen/file.h"
#include "gen/alloc.h"
#include "gen/output.h"
#include "runtime/tmagen.h"

enum { KEY_PTX = 0x2000 };

struct gen_arguments {
    struct spec_arguments specs;
    bool ptx;
};

static const struct argp_option options[] = {
    {"ptx", KEY_PTX, NULL, 0, "write NAME.ptx too, by NVRTC", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gen_arguments *a = state->input;
    (void)argument;
    if (key != KEY_PTX) return ARGP_ERR_UNKNOWN;
    a->ptx = true;
    return 0;
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "SPEC...",
    .doc = "Writes the CUDA source and the manifest of each SPEC."};

// Writes FOLDER/NAME.ptx. Returns an exit code.
static int write_ptx(const struct gen_output *out, const char *folder) {
    char *ptx = compiler_ptx(out);
    if (!ptx) {
        compiler_log_print(out, tmagen_error_last());
        return EXIT_ENVIRONMENT;
    }
    char *path = output_path(out->name, folder, "ptx");
    struct file_pending file;
    const char *why = file_prepare(path, ptx, strlen(ptx), &file);
    if (!why) why = file_commit(&file);
    if (why) diag_say("cannot write %s: %s", path, why);
    free(path);
    free(ptx);
    return why ? EXIT_USER : EXIT_FINE;
}

static int write_all_ptx(const struct gen_result *results, size_t count, const char *folder) {
    int worst = EXIT_FINE;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < results[i].output_count; j++) {
            const int code = write_ptx(&results[i].outputs[j], folder);
            if (code > worst) worst = code;
        }
    }
    return worst;
}

int cmd_gen(int argc, char **argv) {
    struct gen_arguments a = {0};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    const size_t count = a.specs.spec_count;
    const char *folder = a.specs.options.out_dir;
    struct gen_result *results = output_generate(a.specs.specs, count, &a.specs.options);
    int code = !results || output_write(results, count, folder) ? EXIT_USER : EXIT_FINE;
    if (!code && a.ptx) code = write_all_ptx(results, count, folder);
    output_free(results, count);
    spec_arguments_free(&a.specs);
    return code;
}
