// tmagen SPEC...: generate, compile through the cache, and say what came out.
// The sources are written first, so that they are there to be read where compiling fails.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/cli/compiler_log.h"
#include "gen/diag.h"
#include "gen/alloc.h"
#include "gen/measured.h"
#include "gen/output.h"
#include "measure/jobs.h"
#include "measure/occupancy.h"
#include "runtime/tmagen.h"

enum { KEY_FOR = 0x2000 };

struct build_arguments {
    struct spec_arguments specs;
    tmagen_kind kind;
    char *set;  // of --for; NULL: none
    int processes;
};

static const struct argp_option options[] = {
    {"for", KEY_FOR, "emu|ARCH", 0,
     "what will run it: emu, the emulator too: the PTX, which the same compile gives, goes into "
     "the "
     "cache as well; ARCH, as sm_90a, a GPU that need not be here: --set arch=ARCH",
     0},
    {"jobs", 'j', "N", 0, "processes that compile (default: one for each core)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct build_arguments *a = state->input;
    if (key == 'j') return a->processes = (int)argument_number(state, argument, 1, JOBS_MAX), 0;
    if (key != KEY_FOR) return ARGP_ERR_UNKNOWN;
    if (!strcmp(argument, "emu")) return a->kind = TMAGEN_CUBIN_AND_PTX, 0;
    if (strncmp(argument, "sm_", 3) || a->set)
        argp_error(state, "--for is 'emu' or one GPU as 'sm_90a', not '%s'", argument);
    a->set = mem_format("arch=%s", argument);
    gen_options_set(&a->specs.options, a->set);
    return 0;
}

// Says which budgets of the spec the compiled kernel exceeds. Returns 1 where there is one.
static int check_budgets(const struct gen_output *out, const tmagen_resources *used) {
    int spills = used->spill_store_bytes > used->spill_load_bytes ? used->spill_store_bytes
                                                                  : used->spill_load_bytes;
    int failed = 0;
    if (out->budget_registers && used->registers > out->budget_registers) {
        diag_say("%s: uses %d registers a thread; budget.registers is %d", out->name,
                 used->registers, out->budget_registers);
        failed = 1;
    }
    if (out->budget_spill_bytes >= 0 && spills > out->budget_spill_bytes) {
        diag_say("%s: spills %d bytes a thread; budget.spill_bytes is %d", out->name, spills,
                 out->budget_spill_bytes);
        failed = 1;
    }
    return failed;
}

static void print_number(const char *title, int number, const char *unit) {
    if (number < 0)
        printf("  %-14s not said by the compiler\n", title);
    else
        printf("  %-14s %d %s\n", title, number, unit);
}

static void print_occupancy(const struct gen_output *out, const tmagen_resources *used) {
    int shared = out->shared_memory + (used->shared_bytes > 0 ? used->shared_bytes : 0);
    struct occupancy o = occupancy_of(out->arch, out->block_threads, used->registers, shared);
    if (o.blocks < 0) return;
    printf("  %-14s %d x %d threads an SM, limited by %s\n", "occupancy", o.blocks,
           out->block_threads, o.limit);
}

static void print_summary(const struct gen_output *out, const char *folder,
                          const tmagen_code *code) {
    const tmagen_resources *used = &code->resources;
    printf("%s\n  %-14s %s/%s.cu, %zu lines\n", out->name, "source", folder, out->name,
           out->line_count);
    printf("  %-14s %s\n", "key", code->key);
    if (code->hit)
        printf("  %-14s hit in %.1f ms\n", "cache", code->elapsed_ms);
    else
        printf("  %-14s miss; compiled in %.0f ms by %s\n", "cache", code->compile_ms,
               code->compiler);
    print_number("registers", used->registers, "a thread");
    if (used->stack_bytes > 0) print_number("stack", used->stack_bytes, "bytes a thread");
    print_number("spills", used->spill_store_bytes, "bytes a thread");
    printf("  %-14s %d bytes dynamic, %d static\n", "shared memory", out->shared_memory,
           used->shared_bytes > 0 ? used->shared_bytes : 0);
    print_occupancy(out, used);
    fflush(stdout);
}

static void say_source(const struct gen_output *out, const char *folder) {
    fprintf(stderr, "tmagen: note: the source is in %s/%s.cu\n", folder, out->name);
}

static int report_failure(const struct gen_output *out, const char *folder, int error) {
    fputs("tmagen: error: ", stderr);
    compiler_log_print(out, tmagen_error_last());
    say_source(out, folder);
    return error == TMAGEN_ERROR_COMPILE ? EXIT_USER : EXIT_ENVIRONMENT;
}

// What is compiled: each kernel once.
struct compiling {
    const struct gen_output **outputs;
    size_t count, capacity;
    const char *folder;
    tmagen_kind kind;
};

// Compiles one kernel and prints its summary. Returns an exit code.
static int compile(void *context, int number) {
    const struct compiling *work = context;
    const struct gen_output *out = work->outputs[number];
    char *file = mem_format("%s.cu", out->name);
    const tmagen_compile_options wanted = {.kind = work->kind, .arch = out->arch, .name = file};
    tmagen_code code;
    int error = tmagen_compile(out->source, out->source_len, &wanted, &code);
    free(file);
    if (error) return report_failure(out, work->folder, error);
    if (*tmagen_warning_last()) fprintf(stderr, "tmagen: warning: %s\n", tmagen_warning_last());
    compiler_log_print(out, code.log);
    print_summary(out, work->folder, &code);
    int failed = check_budgets(out, &code.resources);
    tmagen_code_free(&code);
    return failed ? EXIT_USER : EXIT_FINE;
}

// The compiler has died over a kernel.
static int report_loss(void *context, int number, const char *why) {
    const struct compiling *work = context;
    diag_say("%s: %s", work->outputs[number]->name, why);
    say_source(work->outputs[number], work->folder);
    return EXIT_USER;
}

static int compile_all(const struct gen_result *results, size_t count,
                       const struct build_arguments *a) {
    struct compiling work = {.folder = a->specs.options.out_dir, .kind = a->kind};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < results[i].output_count; j++)
            if (!output_repeats(results, count, i, j))
                MEM_PUSH(work.outputs, work.count, work.capacity, &results[i].outputs[j]);
    const int worst = jobs_run(&(struct jobs){.count = (int)work.count,
                                              .processes = a->processes,
                                              .work = compile,
                                              .lost = report_loss,
                                              .context = &work});
    free(work.outputs);
    return worst;
}

int cmd_build(int argc, char **argv) {
    static const struct command_line command_line = {
        .options = options,
        .parse = parse,
        .usage = "SPEC...",
        .doc = "Generates each SPEC, compiles it through the cache, and says what came out. "
               "'tmagen --help' lists the other commands."};
    struct build_arguments a = {.kind = TMAGEN_CUBIN};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    const size_t count = a.specs.spec_count;
    const char *folder = a.specs.options.out_dir;
    struct gen_result *results = output_generate(a.specs.specs, count, &a.specs.options);
    int code = EXIT_USER;
    if (results && !output_write(results, count, folder)) code = compile_all(results, count, &a);
    output_free(results, count);
    spec_arguments_free(&a.specs);
    free(a.set);
    return code;
}
