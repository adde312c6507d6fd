// tmagen bundle: kernels, compiled, with their manifests and tables in one file, for programs that
// are deployed; and looking into such a file.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/cli/command.h"
#include "gen/cli/compiler_log.h"
#include "gen/diag.h"
#include "gen/file.h"
#include "gen/output.h"
#include "gen/pack.h"
#include "runtime/tmagen.h"

enum { KEY_FOR = 0x2000, KEY_PTX, KEY_OBJECT };

struct bundle_arguments {
    struct spec_arguments specs;  // or an action and a file
    const char *output;
    char **archs;  // as the knob is set: "arch=sm_90a"
    size_t arch_count, arch_capacity;
    bool ptx, object;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "the bundle; of extract the folder", 0},
    {"for", KEY_FOR, "ARCH", 0,
     "make the kernels for this architecture and not for the specs' own; may be given several "
     "times; a table's kernels are for its own GPU",
     0},
    {"ptx", KEY_PTX, NULL, 0,
     "put the PTX beside the cubins: for the emulator, and for later GPUs where it is not of an "
     "architecture that ends in 'a'",
     0},
    {"object", KEY_OBJECT, NULL, 0,
     "write an object file to link: with -o NAME.o its symbols are tmagen_bundle_NAME and "
     "tmagen_bundle_NAME_bytes",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct bundle_arguments *a = state->input;
    switch (key) {
    case 'o': a->output = argument; return 0;
    case KEY_FOR:
        MEM_PUSH(a->archs, a->arch_count, a->arch_capacity, mem_format("arch=%s", argument));
        return 0;
    case KEY_PTX: a->ptx = true; return 0;
    case KEY_OBJECT: a->object = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char DOC[] =
    "Compiles each SPEC and puts cubins, manifests and dispatch tables into one file, from which a "
    "program loads them without NVRTC, cache or out/ (tmagen_bundle_open)."
    "\vWith an action in the place of SPECs:\n"
    "  ls FILE            what is in it\n"
    "  verify FILE        checks every byte by its digest\n"
    "  extract FILE       writes its entries into the folder -o: NAME.ARCH.cubin,\n"
    "                     NAME.ARCH.json, NAME.ARCH.ptx, and tables as NAME.json";

// ---- Compiling

// All that goes into a bundle: results and codes live until it is written.
struct bundling {
    const struct bundle_arguments *a;
    struct pack pack;
    struct gen_result **results;
    size_t result_count, result_capacity;
    tmagen_code **codes;
    size_t code_count, code_capacity;
};

static int fail_compile(const struct gen_output *out, int error) {
    fputs("tmagen: error: ", stderr);
    compiler_log_print(out, tmagen_error_last());
    return error == TMAGEN_ERROR_COMPILE ? EXIT_USER : EXIT_ENVIRONMENT;
}

// Compiles [out] to [kind] and adds what came of it as [as].
static int add_code(struct bundling *work, const struct gen_output *out, tmagen_kind kind,
                    enum tmg_bundle_kind as) {
    tmagen_code *code = mem_zero(sizeof *code);
    char *file = mem_format("%s.cu", out->name);
    const tmagen_compile_options wanted = {.kind = kind, .arch = out->arch, .name = file};
    const int error = tmagen_compile(out->source, out->source_len, &wanted, code);
    free(file);
    MEM_PUSH(work->codes, work->code_count, work->code_capacity, code);
    if (error) return fail_compile(out, error);
    pack_add(&work->pack,
             (struct pack_entry){as, out->name, out->arch, code->data, code->bytes, code});
    return EXIT_FINE;
}

static int add_kernel(struct bundling *work, const struct gen_output *out) {
    const bool ptx = work->a->ptx;
    pack_add(&work->pack, (struct pack_entry){TMG_BUNDLE_MANIFEST, out->name, out->arch,
                                              out->manifest, strlen(out->manifest), NULL});
    int code = add_code(work, out, ptx ? TMAGEN_CUBIN_AND_PTX : TMAGEN_CUBIN, TMG_BUNDLE_CUBIN);
    if (!code && ptx) code = add_code(work, out, TMAGEN_PTX, TMG_BUNDLE_PTX);
    return code;
}

static int add_result(struct bundling *work, const struct gen_result *result) {
    const struct gen_table *table = &result->table;
    int code = EXIT_FINE;
    for (size_t i = 0; i < result->output_count && !code; i++)
        code = add_kernel(work, &result->outputs[i]);
    if (table->name && !code)
        pack_add(&work->pack, (struct pack_entry){TMG_BUNDLE_TABLE, table->name, "", table->text,
                                                  strlen(table->text), NULL});
    return code;
}

// Generates [spec] for [arch], as "arch=sm_90a", or, with NULL, for its own. NULL after errors.
static struct gen_result *generate(struct bundling *work, char *spec, char *arch) {
    const struct gen_options *common = &work->a->specs.options;
    struct gen_options with = *common;
    with.sets = mem_alloc((with.set_count + 1) * sizeof *with.sets);
    if (with.set_count) memcpy(with.sets, common->sets, with.set_count * sizeof *with.sets);
    if (arch) with.sets[with.set_count++] = arch;
    struct gen_result *result = output_generate(&spec, 1, &with);
    free(with.sets);
    if (result) MEM_PUSH(work->results, work->result_count, work->result_capacity, result);
    return result;
}

// Whether the spec itself says [arch], as "arch=sm_90a": then it is not set, which the source would
// tell.
static bool is_for(const struct gen_result *result, const char *arch) {
    for (size_t i = 0; i < result->output_count; i++)
        if (strcmp(result->outputs[i].arch, strchr(arch, '=') + 1) != 0) return false;
    return true;
}

// A table's kernels are for its own GPU.
static int add_spec(struct bundling *work, char *spec) {
    const struct bundle_arguments *a = work->a;
    const struct gen_result *own = generate(work, spec, NULL);
    int code = own ? EXIT_FINE : EXIT_USER;
    if (own && (!a->arch_count || own->table.name)) return add_result(work, own);
    for (size_t i = 0; i < a->arch_count && !code; i++) {
        const bool same = is_for(own, a->archs[i]);
        const struct gen_result *result = same ? own : generate(work, spec, a->archs[i]);
        code = result ? add_result(work, result) : EXIT_USER;
    }
    return code;
}

static void free_work(struct bundling *work) {
    for (size_t i = 0; i < work->result_count; i++) output_free(work->results[i], 1);
    for (size_t i = 0; i < work->code_count; i++) {
        tmagen_code_free(work->codes[i]);
        free(work->codes[i]);
    }
    free(work->codes);
    free(work->results);
    pack_free(&work->pack);
}

// ---- Writing

static int write_file(const char *path, const char *data, size_t len) {
    const char *why = file_replace(path, data, len);
    if (!why) return EXIT_FINE;
    diag_say("cannot write %s: %s", path, why);
    return EXIT_USER;
}

// The symbol of the object [path]: what its name holds before the first dot.
static char *symbol_of(const char *path) {
    const char *base = file_base(path);
    char *symbol = mem_format("tmagen_bundle_%.*s", (int)strcspn(base, "."), base);
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    for (char *at = symbol; *at; at++)
        if (!strchr(legal, *at)) *at = '_';
    return symbol;
}

static int write_object(const char *path, const char *data, size_t len) {
    size_t object_len;
    char *symbol = symbol_of(path);
    char *object = pack_object(symbol, data, len, &object_len);
    int code = EXIT_ENVIRONMENT;
    if (object)
        code = write_file(path, object, object_len);
    else
        diag_say("--object: is for x86-64 and aarch64, and not for this machine");
    if (!code) printf("symbols: %s, %s_bytes\n", symbol, symbol);
    free(object);
    free(symbol);
    return code;
}

static int write_bundle(struct bundling *work) {
    const struct pack_entry *other;
    const char *path = work->a->output;
    size_t len;
    char *data = pack_write(&work->pack, &len, &other);
    if (!data) {
        diag_say("two of the specs make a %s that is called %s, and not the same",
                 other->kind == TMG_BUNDLE_TABLE ? "table" : "kernel", other->name);
        return EXIT_USER;
    }
    const int code = work->a->object ? write_object(path, data, len) : write_file(path, data, len);
    if (!code) printf("%s: %zu entries, %zu bytes\n", path, work->pack.count, len);
    free(data);
    return code;
}

static int make(const struct bundle_arguments *a) {
    struct bundling work = {.a = a};
    int code = EXIT_FINE;
    for (size_t i = 0; i < a->specs.spec_count && !code; i++)
        code = add_spec(&work, a->specs.specs[i]);
    if (!code) code = write_bundle(&work);
    free_work(&work);
    return code;
}

// ---- Looking into one

static int fail(int status) {
    diag_say("%s", tmagen_error_last());
    return status == TMAGEN_ERROR_BUNDLE || status == TMAGEN_ERROR_FILE ? EXIT_USER
                                                                        : EXIT_ENVIRONMENT;
}

static int print_entry(const tmagen_bundle_entry *entry, void *context) {
    size_t *count = context;
    ++*count;
    printf("%-40s %-8s %-8s %9" PRIu64 "  %.16s", entry->name, entry->what, entry->arch,
           entry->bytes, entry->sha256);
    if (*entry->key) printf("  key %.16s  %s", entry->key, entry->compiler);
    puts("");
    return 0;
}

static int list(const struct bundle_arguments *a, tmagen_bundle *bundle) {
    size_t count = 0;
    (void)a;
    const int status = tmagen_bundle_list(bundle, print_entry, &count);
    if (status) return fail(status);
    printf("%zu entries\n", count);
    return EXIT_FINE;
}

static int verify(const struct bundle_arguments *a, tmagen_bundle *bundle) {
    const int status = tmagen_bundle_verify(bundle);
    if (status) return fail(status);
    printf("%s: intact\n", a->specs.specs[1]);
    return EXIT_FINE;
}

static int write_entry(const tmagen_bundle_entry *entry, void *context) {
    const char *folder = context;
    const char *suffix = *entry->key ? entry->what : "json";
    char *path = mem_format("%s/%s%s%s.%s", folder, entry->name, *entry->arch ? "." : "",
                            entry->arch, suffix);
    const int code = write_file(path, entry->data, entry->bytes);
    free(path);
    return code;
}

static int extract(const struct bundle_arguments *a, tmagen_bundle *bundle) {
    if (!a->output) {
        diag_say("bundle extract: -o DIR is missing");
        return EXIT_USAGE;
    }
    const int status = tmagen_bundle_verify(bundle);
    if (status) return fail(status);
    const char *why = file_make_folder(a->output);
    if (why) {
        diag_say("cannot make the folder %s: %s", a->output, why);
        return EXIT_USER;
    }
    const int code = tmagen_bundle_list(bundle, write_entry, (void *)a->output);
    if (!code) printf("%s: extracted\n", a->output);
    return code;
}

// ---- The command

static const struct bundle_action {
    const char *name;
    int (*act)(const struct bundle_arguments *, tmagen_bundle *);
} actions[] = {{"ls", list}, {"verify", verify}, {"extract", extract}};

static const struct bundle_action *find_action(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].name, name)) return &actions[i];
    return NULL;
}

static int look(const struct bundle_arguments *a, const struct bundle_action *action) {
    if (a->specs.spec_count != 2) {
        diag_say("bundle %s: takes one FILE", action->name);
        return EXIT_USAGE;
    }
    tmagen_bundle *bundle;
    const int status = tmagen_bundle_open(a->specs.specs[1], &bundle);
    if (status) return fail(status);
    const int code = action->act(a, bundle);
    tmagen_bundle_close(bundle);
    return code;
}

int cmd_bundle(int argc, char **argv) {
    static const struct command_line command_line = {.options = options,
                                                     .parse = parse,
                                                     .own_output = true,
                                                     .usage = "SPEC...\nls|verify|extract FILE",
                                                     .doc = DOC};
    struct bundle_arguments a = {0};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    const struct bundle_action *action = find_action(a.specs.specs[0]);
    int code = EXIT_USAGE;
    if (action)
        code = look(&a, action);
    else if (a.output)
        code = make(&a);
    else
        diag_say("bundle: -o FILE is missing");
    for (size_t i = 0; i < a.arch_count; i++) free(a.archs[i]);
    free(a.archs);
    spec_arguments_free(&a.specs);
    return code;
}
