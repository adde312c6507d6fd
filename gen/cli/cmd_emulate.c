// tmagen emulate: runs anyone's PTX kernel, or a spec's, on the emulator and says what is wrong.
// The same launch runs once a seed, each time on fresh memory, so that every order can be repeated.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/diag.h"
#include "gen/cli/emulate.h"
#include "gen/file.h"
#include "gen/measured.h"
#include "gen/output.h"
#include "measure/emulate_kernel.h"
#include "runtime/emu/emu.h"
#include "runtime/seconds.h"

enum { PTX_BYTES_MAX = 256 << 20, KEY_SHAPE = 0x3000, KEY_SEED, KEY_SCHEDULES };

struct emulate_arguments {
    struct gen_options options;
    char *path;
    const char *out_dir;
    struct shape_list shapes;
    uint64_t seed;
    int schedules;  // 0: not given
};

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "where .npy files go (default: beside LAUNCH.yaml)", 0},
    {"shape", KEY_SHAPE, "MxNxK[/INPUTS]", 0, "run the kernel of SPEC at this shape", 0},
    {"seed", KEY_SEED, "N", 0, "with --shape: of the first order (default: 0)", 0},
    {"schedules", KEY_SCHEDULES, "N", 0, "with --shape: orders to run it in (default: 1)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct emulate_arguments *a = state->input;
    switch (key) {
    case 'o': a->out_dir = argument; return 0;
    case KEY_SHAPE: argument_shape(state, argument, &a->shapes); return 0;
    case KEY_SEED: a->seed = (uint64_t)argument_number(state, argument, 0, INT32_MAX); return 0;
    case KEY_SCHEDULES: a->schedules = (int)argument_number(state, argument, 1, 1e6); return 0;
    case ARGP_KEY_ARG:
        if (a->path) argp_error(state, "one launch file at a time");
        a->path = argument;
        return 0;
    case ARGP_KEY_END:
        if (a->shapes.count > 1) argp_error(state, "one shape at a time");
        if (a->shapes.count && a->out_dir) argp_error(state, "-o is for launch files");
        if (!a->shapes.count && (a->seed || a->schedules))
            argp_error(state, "a launch file says seed and schedules itself; --set changes them");
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .own_output = true,
    .usage = "LAUNCH.yaml\nSPEC --shape MxNxK",
    .doc =
        "Runs a PTX kernel on the emulator: grid, block, buffers, tensor maps and scalars are as "
        "LAUNCH.yaml says (see runtime/emu/README.md), or those of the one kernel of SPEC at a "
        "shape, with inputs that are drawn. Prints what the checker finds: races, missing "
        "fences, reads of what was never written, accesses out of bounds, hangs. Exit code 1 "
        "where it finds anything.",
};

// ---- The kernel

// Puts the parser's "name:12:3: error: message" into the diag's form.
static void report_ptx(struct diag *diag, const struct emulate_file *file, const char *text) {
    struct diag_place place = {.file = file->ptx};
    const size_t len = strlen(file->ptx);
    int used = 0;
    if (!strncmp(text, file->ptx, len) &&
        sscanf(text + len, ":%d:%d: error: %n", &place.line, &place.column, &used) == 2 && used)
        text += len + (size_t)used;
    else
        place = file->ptx_place;
    diag_error(diag, place, NULL, "%s", text);
}

// Parses the PTX file, whose bytes are *ptx until the diag has been printed. NULL after an error.
static struct emu_module *load(struct diag *diag, const struct emulate_file *file,
                               struct file_bytes *ptx) {
    const char *why;
    struct emu_module *module = NULL;
    struct emu_error error;
    *ptx = file_read(file->ptx, PTX_BYTES_MAX, &why);
    if (!ptx->data) {
        diag_error(diag, file->ptx_place, NULL, "ptx: %s: %s", file->ptx, why);
        return NULL;
    }
    diag_source(diag, file->ptx, ptx->data, ptx->len);
    if (emu_module_parse(file->ptx, ptx->data, ptx->len, &file->budget, &module, &error))
        report_ptx(diag, file, error.text);
    return module;
}

// What the entry is called in messages.
static const char *title(const struct emulate_file *file) {
    static char text[300];
    return emu_plain_name(file->entry, text, sizeof text);
}

// The one entry that people call [wanted]; NULL where there is none, or several.
static const char *entry_called(const struct emu_module *module, const char *wanted) {
    const char *found = NULL;
    char plain[300];
    size_t count = 0;
    for (const char *name; (name = emu_module_entry(module, count)); count++) {
        if (strcmp(emu_plain_name(name, plain, sizeof plain), wanted) != 0) continue;
        if (found) return NULL;
        found = name;
    }
    return found;
}

// Chooses the entry where the launch file has none, and reports one that is not there.
static void find_entry(struct diag *diag, struct emulate_file *file,
                       const struct emu_module *module) {
    char legal[512] = "";
    size_t count = 0, used = 0;
    for (const char *name; (name = emu_module_entry(module, count)); count++) {
        if (used < sizeof legal)
            used +=
                (size_t)snprintf(legal + used, sizeof legal - used, "%s%s", used ? ", " : "", name);
        if (file->entry && !strcmp(name, file->entry)) return;
    }
    const char *called = file->entry ? entry_called(module, file->entry) : NULL;
    if (called)
        file->entry = called;
    else if (!count)
        diag_error(diag, file->ptx_place, NULL, "ptx: %s has no entry", file->ptx);
    else if (file->entry)
        diag_error(diag, file->entry_place, legal, "entry: there is no %s in %s", file->entry,
                   file->ptx);
    else if (count > 1)
        diag_error(diag, file->top, legal, "entry: is missing, and %s has %zu", file->ptx, count);
    else
        file->entry = emu_module_entry(module, 0);
}

// Reports what the entry needs and the emulator does not have.
static void check_entry(struct diag *diag, const struct emulate_file *file,
                        struct emu_module *module) {
    struct emu_error error;
    if (emu_entry_check(module, file->entry, &file->budget, &error))
        report_ptx(diag, file, error.text);
}

// Compares the arguments with the entry's parameters: their number and the bytes of each.
static void check_arguments(struct diag *diag, const struct emulate_file *file,
                            const struct emu_module *module) {
    static const char *const what[] = {"the address of a buffer", "a tensor map", "a scalar",
                                       "a struct"};
    const int wanted = emu_entry_params(module, file->entry);
    if ((size_t)wanted != file->argument_count)
        diag_error(diag, file->args_place, NULL, "args: there are %zu, and %s takes %d",
                   file->argument_count, title(file), wanted);
    for (size_t i = 0; i < file->argument_count && i < (size_t)wanted; i++) {
        const struct emulate_argument *argument = &file->arguments[i];
        const size_t bytes = emu_entry_param_size(module, file->entry, (int)i);
        if (bytes != argument->bytes)
            diag_error(diag, argument->place, NULL,
                       "args[%zu]: %s has %zu bytes, and parameter %zu of %s %zu", i,
                       what[argument->kind], argument->bytes, i, title(file), bytes);
    }
}

// ---- Runs

struct emulate_session {
    struct emulate_file *file;
    const struct emu_module *module;
    struct emu_memory *memory;
    uint64_t instructions;
    double seconds, core_seconds;  // on the clock, and of all CPUs together
    bool ran, stopped;             // the last launch: it was not refused, it ended before its time
};

static int say(const char *why) {
    diag_say("%s", why);
    return EXIT_USER;
}

static int fill_memory(struct emulate_session *s) {
    for (size_t i = 0; i < s->file->buffer_count; i++) {
        struct emulate_buffer *buffer = &s->file->buffers[i];
        buffer->address = emu_memory_alloc(s->memory, buffer->bytes, buffer->name);
        if (!buffer->address) return say("out of memory");
        if (buffer->content == CONTENT_UNWRITTEN) continue;
        char *data = mem_alloc(buffer->bytes);
        emulate_buffer_fill(buffer, data);
        emu_memory_write(s->memory, buffer->address, data, buffer->bytes);
        free(data);
    }
    return EXIT_FINE;
}

// The parameters' values, one block each; the caller frees the blocks and the list.
static void **encode_arguments(const struct emulate_file *file) {
    void **params = mem_zero((file->argument_count + 1) * sizeof *params);
    for (size_t i = 0; i < file->argument_count; i++) {
        params[i] = mem_zero(file->arguments[i].bytes + 1);
        emulate_argument_write(file, &file->arguments[i], params[i]);
    }
    return params;
}

static void print_reports(const struct emu_result *result, uint64_t seed) {
    for (size_t i = 0; i < result->report_count + result->note_count; i++) {
        const struct emu_report *report = &result->reports[i];
        if (i >= result->report_count) fputs("no fault, but worth a look: ", stdout);
        fputs(report->text ? report->text : "out of memory\n", stdout);
        if (report->count > 1) printf("  %u times there\n", report->count);
        printf("  in the order of seed %" PRIu64 "\n\n", seed);
    }
}

// Ctrl-C ends the launch with the state of all its warps; a second one ends the program.
static volatile int interrupted;

static void interrupt(int number) {
    (void)number;
    interrupted = 1;
}

// One launch in the order of [seed]. Returns an exit code; [s] notes how it ended.
static int run_launch(struct emulate_session *s, uint64_t seed, const void *const *params) {
    const struct emulate_file *file = s->file;
    struct emu_launch launch = {.module = s->module,
                                .entry = file->entry,
                                .dynamic_smem = file->shared_memory,
                                .params = params,
                                .param_count = file->argument_count,
                                .seed = seed,
                                .budget = file->budget,
                                .cooperative = file->cooperative,
                                .non_portable = file->non_portable,
                                .unchecked = file->unchecked};
    struct emu_result result;
    struct emu_error error;
    memcpy(launch.grid, file->grid, sizeof launch.grid);
    memcpy(launch.block, file->block, sizeof launch.block);
    memcpy(launch.cluster, file->cluster, sizeof launch.cluster);
    const double start = tmg_seconds();
    if (emu_launch_run(s->memory, &launch, &result, &error)) return say(error.text);
    s->seconds += tmg_seconds() - start;
    s->ran = true;
    s->stopped = result.stopped;
    s->instructions += result.thread_instructions;
    s->core_seconds += result.core_seconds;
    print_reports(&result, seed);
    if (result.report_count) printf("%s: %s\n", title(file), result.end);
    const int code = result.report_count ? EXIT_USER : EXIT_FINE;
    emu_result_free(&result);
    return code;
}

// Reports elements of the outputs that nobody has written, after a launch that went to its end.
// Returns an exit code.
static int check_written(const struct emulate_session *s) {
    int code = EXIT_FINE;
    for (size_t i = 0; i < s->file->buffer_count && !s->stopped; i++) {
        const struct emulate_buffer *buffer = &s->file->buffers[i];
        const size_t size = tmg_dtype_bytes(buffer->dtype);
        size_t first = 0;
        if (!buffer->out) continue;
        const size_t count =
            emu_memory_unwritten(s->memory, buffer->address, buffer->bytes, size, &first);
        if (!count) continue;
        printf("unwritten output: %zu of the %zu elements of %s were never written, the first is "
               "number %zu\n",
               count, buffer->bytes / size, buffer->name, first);
        code = EXIT_USER;
    }
    return code;
}

// Writes the buffers that have an out. Returns an exit code.
static int write_buffers(struct emulate_session *s) {
    int code = EXIT_FINE;
    for (size_t i = 0; i < s->file->buffer_count; i++) {
        const struct emulate_buffer *buffer = &s->file->buffers[i];
        if (!buffer->out) continue;
        char *data = mem_alloc(buffer->bytes);
        emu_memory_read(s->memory, data, buffer->address, buffer->bytes);
        size_t len;
        char *text =
            npy_format(buffer->dtype, buffer->rank, buffer->shape, data, buffer->bytes, &len);
        struct file_pending pending;
        const char *why = file_prepare(buffer->out, text, len, &pending);
        if (!why) why = file_commit(&pending);
        if (why) diag_say("%s: %s", buffer->out, why);
        if (why) code = EXIT_USER;
        if (!why && s->stopped)
            printf("%s: what was in buffer %s when the launch stopped\n", buffer->out,
                   buffer->name);
        free(text);
        free(data);
    }
    return code;
}

// A run with memory of its own; outputs are written after the last one. Returns an exit code.
static int run_once(struct emulate_session *s, uint64_t seed, bool last) {
    s->memory = emu_memory_new();
    int code = s->memory ? fill_memory(s) : say("out of memory");
    if (!code) {
        void **params = encode_arguments(s->file);
        s->ran = false;
        code = run_launch(s, seed, (const void *const *)params);
        if (s->ran) code |= check_written(s);
        if (s->ran && (last || code)) code |= write_buffers(s);
        for (size_t i = 0; i < s->file->argument_count; i++) free(params[i]);
        free(params);
    }
    emu_memory_delete(s->memory);
    return code;
}

// Runs all schedules, up to the first that is reported. Returns an exit code.
static int run_all(struct emulate_session *s) {
    const struct emulate_file *file = s->file;
    int code = EXIT_FINE;
    for (uint64_t i = 0; i < file->schedules && !code; i++)
        code = run_once(s, file->seed + i, i + 1 == file->schedules);
    if (code) return code;
    const unsigned *g = file->grid, *b = file->block;
    const char *found = file->unchecked ? "done, unchecked" : "nothing found";
    printf("%s: %s, grid %ux%ux%u, block %ux%ux%u, %" PRIu64 " order%s\n", title(file), found, g[0],
           g[1], g[2], b[0], b[1], b[2], file->schedules, file->schedules == 1 ? "" : "s");
    printf("  %" PRIu64 " thread instructions in %.2f s; %.1f M a second and core\n",
           s->instructions, s->seconds,
           s->core_seconds > 0 ? (double)s->instructions * 1e-6 / s->core_seconds : 0.0);
    return code;
}

static int emulate(const struct emulate_arguments *a, struct emulate_file *file,
                   struct diag *diag) {
    struct file_bytes ptx = {0};
    emulate_file_read(file, diag, a->path, a->options.sets, a->options.set_count, a->out_dir);
    file->budget.cancel = &interrupted;
    struct emu_module *module = diag_errors(diag) ? NULL : load(diag, file, &ptx);
    if (module) find_entry(diag, file, module);
    if (module && file->entry && !diag_errors(diag)) check_entry(diag, file, module);
    if (module && file->entry && !diag_errors(diag)) check_arguments(diag, file, module);
    int code = diag_errors(diag) ? EXIT_USER : EXIT_FINE;
    diag_print(diag, stderr);
    struct emulate_session session = {.file = file, .module = module};
    if (!code) code = run_all(&session);
    emu_module_free(module);
    free(ptx.data);
    return code;
}

static int emulate_launch(const struct emulate_arguments *a) {
    struct emulate_file file;
    struct diag *diag = diag_new();
    sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt, .sa_flags = SA_RESETHAND}, NULL);
    const int code = emulate(a, &file, diag);
    diag_free(diag);
    emulate_file_free(&file);
    return code;
}

// Generates the kernel of a spec and runs it at the given shape.
static int emulate_spec(struct emulate_arguments *a) {
    struct gen_result *results = output_generate(&a->path, 1, &a->options);
    int code = EXIT_USER;
    if (results && results->output_count == 1) {
        const struct kernel_text kernel = kernel_of(results->outputs);
        const struct emulate_plan plan = {&kernel, a->shapes.shapes, a->seed,
                                          a->schedules ? a->schedules : 1};
        code = emulate_kernel(&plan, stdout);
    } else if (results) {
        diag_say("%s: is a sweep of %zu kernels; --set chooses one", results->spec,
                 results->output_count);
    }
    output_free(results, 1);
    return code;
}

int cmd_emulate(int argc, char **argv) {
    struct emulate_arguments a = {0};
    gen_options_parse(&a.options, &command_line, &a, argc, argv);
    const int code = a.shapes.count ? emulate_spec(&a) : emulate_launch(&a);
    shapes_free(&a.shapes);
    gen_options_free(&a.options);
    return code;
}
