// tmagen diff A B: how the sources and resources of two specs differ; tmagen diff SPEC: how what
// the spec gives now differs from out/. For reviewing a changed knob or template by its effect.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/diag.h"
#include "gen/diff.h"
#include "gen/file.h"
#include "gen/alloc.h"
#include "gen/output.h"

enum { FILE_MAX = 64 << 20 };

static const char *find_resource(const struct gen_output *out, const char *name) {
    for (size_t i = 0; i < out->resource_count; i++)
        if (!strcmp(out->resources[i].name, name)) return out->resources[i].value;
    return "-";
}

// One line a resource that differs; heads the first with a title.
static void print_resource(const char *name, const char *old, const char *new, bool *any) {
    if (!strcmp(old, new)) return;
    if (!*any) puts("resources");
    *any = true;
    printf("  %-24s %-36s -> %s\n", name, old, new);
}

static void print_resources(const struct gen_output *a, const struct gen_output *b) {
    bool any = false;
    for (size_t i = 0; i < a->resource_count; i++)
        print_resource(a->resources[i].name, a->resources[i].value,
                       find_resource(b, a->resources[i].name), &any);
    for (size_t i = 0; i < b->resource_count; i++)
        if (!strcmp(find_resource(a, b->resources[i].name), "-"))
            print_resource(b->resources[i].name, "-", b->resources[i].value, &any);
    if (!any) puts("resources: the same");
}

static int diff_specs(const struct gen_result results[2], char **specs) {
    for (int i = 0; i < 2; i++) {
        if (results[i].output_count == 1) continue;
        diag_say("%s is a sweep of %zu kernels; diff compares one with one", specs[i],
                 results[i].output_count);
        return 1;
    }
    const struct gen_output *a = results[0].outputs, *b = results[1].outputs;
    const bool differs = diff_print(stdout, a->name, a->source, b->name, b->source);
    print_resources(a, b);
    return differs;
}

// Compares [text] with the file FOLDER/NAME.SUFFIX. Returns whether they differ.
static bool diff_file(const char *name, const char *folder, const char *suffix, const char *text) {
    const char *why;
    char *path = output_path(name, folder, suffix);
    char *new_name = mem_format("%s.%s, generated now", name, suffix);
    struct file_bytes old = file_read(path, FILE_MAX, &why);
    bool differs =
        diff_print(stdout, old.data ? path : "/dev/null", old.data ? old.data : "", new_name, text);
    free(old.data);
    free(new_name);
    free(path);
    return differs;
}

static int diff_out(const struct gen_result *result, const char *folder) {
    const struct gen_table *table = &result->table;
    int any = table->text && diff_file(table->name, folder, "json", table->text);
    for (size_t i = 0; i < result->output_count; i++) {
        const struct gen_output *out = &result->outputs[i];
        bool differs = diff_file(out->name, folder, "cu", out->source);
        differs |= diff_file(out->name, folder, "json", out->manifest);
        if (!differs) printf("%s/%s.cu and .json: the same\n", folder, out->name);
        any |= differs;
    }
    return any;
}

int cmd_diff(int argc, char **argv) {
    static const struct command_line command_line = {
        .usage = "SPEC [SPEC]",
        .doc = "Shows how the sources and resources of two specs differ, or how what one spec "
               "gives differs from the files in out/. Exit code 1 where anything differs."};
    struct spec_arguments a;
    spec_arguments_parse(&a, &command_line, NULL, argc, argv);
    if (a.spec_count > 2) {
        diag_say("diff takes one or two specs");
        spec_arguments_free(&a);
        return EXIT_USAGE;
    }
    struct gen_result *results = output_generate(a.specs, a.spec_count, &a.options);
    int failed = !results;
    if (results)
        failed =
            a.spec_count == 2 ? diff_specs(results, a.specs) : diff_out(results, a.options.out_dir);
    output_free(results, a.spec_count);
    spec_arguments_free(&a);
    return failed ? EXIT_USER : EXIT_FINE;
}
