// tmagen check SPEC...: runs all that gen runs and writes nothing; --out: is out/ what gen would
// write? In continuous integration, so that committed sources cannot fall behind templates.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/cli/command.h"
#include "gen/diag.h"
#include "gen/file.h"
#include "gen/alloc.h"
#include "gen/output.h"

enum { FILE_MAX = 64 << 20, KEY_OUT = 0x2000 };

struct check_arguments {
    struct spec_arguments specs;
    bool out;
};

static const struct argp_option options[] = {
    {"out", KEY_OUT, NULL, 0, "fail also where out/ is stale: drifted, orphaned or missing files",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct check_arguments *a = state->input;
    (void)argument;
    if (key != KEY_OUT) return ARGP_ERR_UNKNOWN;
    a->out = true;
    return 0;
}

static const struct command_line command_line = {
    .options = options,
    .parse = parse,
    .usage = "SPEC...",
    .doc = "Runs all legality checks of each SPEC, and writes nothing."};

// Says where FOLDER/NAME.SUFFIX is not [text]. Returns 1 then.
static int check_file(const char *name, const char *folder, const char *suffix, const char *text,
                      size_t len) {
    const char *why;
    char *path = output_path(name, folder, suffix);
    struct file_bytes file = file_read(path, FILE_MAX, &why);
    bool fresh = file.data && file.len == len && !memcmp(file.data, text, len);
    if (!file.data)
        diag_say("%s: is missing: %s", path, why);
    else if (!fresh)
        diag_say("%s: is stale; 'tmagen gen' writes it anew, 'tmagen diff' shows how", path);
    free(file.data);
    free(path);
    return !fresh;
}

static bool is_name(const char *name, const char *stem, size_t len) {
    return name && strlen(name) == len && !memcmp(name, stem, len);
}

static bool makes(const struct gen_result *results, size_t count, const char *stem, size_t len) {
    for (size_t i = 0; i < count; i++) {
        if (is_name(results[i].table.name, stem, len)) return true;
        for (size_t j = 0; j < results[i].output_count; j++)
            if (is_name(results[i].outputs[j].name, stem, len)) return true;
    }
    return false;
}

// Of a folder of generated files, what a spec must account for: all but the ledger of the ladders,
// and what is hidden.
static int is_accounted(const struct dirent *entry) {
    return *entry->d_name != '.' && strcmp(entry->d_name, LEDGER_NAME) != 0;
}

static bool is_generated(const char *suffix) {
    return !strcmp(suffix, ".cu") || !strcmp(suffix, ".json");
}

// The spec that the source FOLDER/STEM.cu says it was made of, to be freed; NULL: it says none.
static char *spec_of(const char *folder, const char *stem, size_t len) {
    static const char MARK[] = "\n//   spec: ";
    const char *why;
    char *path = mem_format("%s/%.*s.cu", folder, (int)len, stem), *spec = NULL;
    struct file_bytes file = file_read(path, FILE_MAX, &why);
    const char *mark = file.data ? strstr(file.data, MARK) : NULL;
    if (mark) {
        mark += sizeof MARK - 1;
        spec = mem_copy_n(mark, strcspn(mark, ",\n"));
    }
    free(file.data);
    free(path);
    return spec;
}

// True where files of that stem belong to a spec or table that is there and was not asked about.
static bool is_others(const struct gen_result *results, size_t count, const char *folder,
                      const char *stem, size_t len) {
    char *spec = spec_of(folder, stem, len);
    if (!spec) spec = mem_format("specs/%.*s.yaml", (int)len, stem);  // as a table's is called
    bool others = file_exists(spec);
    for (size_t i = 0; others && i < count; i++)
        others = strcmp(file_base(results[i].spec), file_base(spec)) != 0;
    free(spec);
    return others;
}

// Says which files in [folder] no spec makes: neither one of [results] nor another that is there.
// Returns 1 where there is one.
static int check_orphans(const struct gen_result *results, size_t count, const char *folder) {
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, is_accounted, alphasort), orphaned = 0;
    for (int i = 0; i < found; i++) {
        const char *name = entries[i]->d_name;
        const char *dot = strrchr(name, '.');
        const size_t len = dot ? (size_t)(dot - name) : 0;
        const bool made =
            dot && is_generated(dot) &&
            (makes(results, count, name, len) || is_others(results, count, folder, name, len));
        if (!made) diag_say("%s/%s: is an orphan: no spec makes it", folder, name);
        orphaned |= !made;
        free(entries[i]);
    }
    free(entries);
    return orphaned;
}

static int check_out(const struct gen_result *results, size_t count, const char *folder) {
    int stale = check_orphans(results, count, folder);
    for (size_t i = 0; i < count; i++) {
        const struct gen_table *table = &results[i].table;
        if (table->text)
            stale |= check_file(table->name, folder, "json", table->text, strlen(table->text));
        for (size_t j = 0; j < results[i].output_count; j++) {
            const struct gen_output *out = &results[i].outputs[j];
            if (output_repeats(results, count, i, j)) continue;
            stale |= check_file(out->name, folder, "cu", out->source, out->source_len);
            stale |= check_file(out->name, folder, "json", out->manifest, strlen(out->manifest));
        }
    }
    return stale;
}

int cmd_check(int argc, char **argv) {
    struct check_arguments a = {0};
    spec_arguments_parse(&a.specs, &command_line, &a, argc, argv);
    size_t count = a.specs.spec_count, kernels = 0, tables = 0;
    struct gen_result *results = output_generate(a.specs.specs, count, &a.specs.options);
    int failed = !results || output_check_names(results, count);
    if (!failed && a.out) failed = check_out(results, count, a.specs.options.out_dir);
    for (size_t i = 0; results && i < count; i++) {
        tables += results[i].table.name != NULL;
        for (size_t j = 0; j < results[i].output_count; j++)
            kernels += !output_repeats(results, count, i, j);
    }
    if (!failed && tables)
        printf("specs: %zu, tables: %zu, kernels: %zu; all is well\n", count - tables, tables,
               kernels);
    else if (!failed)
        printf("specs: %zu, kernels: %zu; all is well\n", count, kernels);
    output_free(results, count);
    spec_arguments_free(&a.specs);
    return failed ? EXIT_USER : EXIT_FINE;
}
