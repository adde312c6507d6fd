// From a table's YAML to its JSON: its kernels are generated, and every entry is held to what the
// kernel that it names takes, by the library's own rules.
#include "gen/dispatch.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/dispatch_learned.h"
#include "gen/dispatch_measured.h"
#include "gen/dispatch_words.h"
#include "gen/families.h"
#include "gen/fields.h"
#include "gen/file.h"
#include "gen/points.h"
#include "gen/store.h"
#include "gen/suggest.h"
#include "runtime/table.h"

enum { SPLITS_MOST = 1 << 20, US_TEXT = 64, DIMS_TEXT = 256 };

static const char *const table_keys[] = {"base",     "dispatch", "gpu",     "tmagen",
                                         "set",      "suffix",   "kernels", "tuned",
                                         "measured", "learned",  NULL};
static const char *const kernel_keys[] = {"kernel", "splits", "last", "measured", NULL};
static const char *const tuned_keys[] = {"shape", "alignment", "kernel", "us", NULL};

static const char *const flags[] = {"false", "true", NULL};
static const char *const measurings[] = {"false", "true", "nearby", NULL};

// A kernel of the table, with where the table names it.
struct row {
    const struct spec_node *node;
    size_t output;  // of the result
    struct tmg_manifest *manifest;
    int64_t splits[TMG_MAX_TABLE_SPLITS];
    int split_count;
    bool last;      // only where no other runs the launch
    bool measured;  // by every row of that list
    bool nearby;    // only where it was measured nearby
};

struct dispatch_entry {
    const struct spec_node *node;
    int64_t shape[TMG_MAX_TABLE_DIMS];
    int alignment, row, splits;
    double us;
};

struct dispatch {
    struct diag *diag;
    const struct spec_node *tree;
    const char *path;
    struct gen_options options;  // of the kernels
    struct diag_place *places;   // of each set among them, and of the suffix
    char *suffix;                // "" or "_fp16"
    struct gen_result *result;
    size_t output_capacity;
    struct row *rows;
    size_t row_count, row_capacity;
    struct dispatch_entry *entries;
    size_t entry_count, entry_capacity;
    json_t *gpu;  // the file of rates
    char dims[TMG_MAX_TABLE_DIMS][TMG_MAX_NAME];
    int dim_count;
};

// ---- What is laid over each kernel's spec

static void add_set(struct dispatch *table, char *set, struct diag_place place) {
    struct gen_options *options = &table->options;
    table->places = mem_resize(table->places, (options->set_count + 2) * sizeof *table->places);
    table->places[options->set_count] = table->places[options->set_count + 1] = place;
    options->sets = mem_resize(options->sets, (options->set_count + 1) * sizeof *options->sets);
    options->sets[options->set_count++] = set;
}

// Adds the leaves of [node] as "a.b=value".
static void add_sets(struct dispatch *table, const char *prefix, const struct spec_node *node) {
    for (size_t i = 0; i < node->count; i++) {
        const struct spec_node *value = node->values[i];
        char *path = mem_format("%s%s%s", prefix, *prefix ? "." : "", node->keys[i]->text);
        if (value->kind == SPEC_MAP)
            add_sets(table, path, value);
        else if (value->kind == SPEC_SCALAR)
            add_set(table, mem_format("%s=%s", path, value->text), value->place);
        else
            diag_error(table->diag, value->place, "a value, or a map of them",
                       "set.%s: is a list, of which a table would not know which to take", path);
        free(path);
    }
}

static void read_set(struct dispatch *table) {
    const struct spec_node *set = spec_get(table->tree, "set");
    const struct fields fields = {table->diag, table->tree, ""};
    const char *suffix = fields_text(&fields, "suffix");
    table->suffix = mem_format("%s%s", suffix ? "_" : "", suffix ? suffix : "");
    if (set && set->kind != SPEC_MAP) {
        diag_error(table->diag, set->place, "knobs as a spec has them", "set: must be a map");
        return;
    }
    if (set) add_sets(table, "", set);
    if (set && !suffix)
        diag_error(table->diag, set->place, "suffix: WORD, which is added to their names",
                   "set: makes other kernels, which need other names: suffix is missing");
    if (suffix && table->places)
        table->places[table->options.set_count] = spec_get(table->tree, "suffix")->place;
    if (suffix && !set)
        diag_error(table->diag, spec_get(table->tree, "suffix")->place, "set: {KNOB: VALUE}",
                   "suffix: is for kernels that set makes others");
}

// ---- Kernels

// The path of the spec [name] beside the file that names it.
static char *beside(const struct dispatch *table, const struct spec_node *node, const char *name) {
    const char *file = node->origin == SPEC_FROM_SET ? table->path : node->place.file;
    const char *slash = strrchr(file, '/');
    const int folder = slash ? (int)(slash - file + 1) : 0;
    return mem_format("%.*s%s.yaml", folder, file, name);
}

static bool is_stem(const char *name) {
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_")] == 0;
}

// Generates the kernels of the spec [name] under their names in this table. *why: the first error
// of what is laid over them.
static int generate_spec(struct dispatch *table, const struct spec_node *node, const char *name,
                         struct gen_result *result, char **why) {
    struct gen_over over = {.diag = table->diag, .places = table->places};
    struct gen_options options = table->options;
    char *path = beside(table, node, name), *named = NULL;
    if (options.set_count) {
        named = mem_format("name=%s%s", name, table->suffix);
        options.sets = mem_alloc((options.set_count + 1) * sizeof *options.sets);
        memcpy(options.sets, table->options.sets, options.set_count * sizeof *options.sets);
        options.sets[options.set_count++] = named;
        options.table = table->path;
        options.over = &over;
        over.count = options.set_count;
    }
    *result = (struct gen_result){.spec = path};
    const int failed = points_generate(NULL, &options, NULL, result);
    if (named) free(options.sets);
    free(named);
    *why = over.why;
    return failed;
}

static bool is_taken(const struct dispatch *table, const char *name) {
    for (size_t i = 0; i < table->result->output_count; i++)
        if (!strcmp(table->result->outputs[i].name, name)) return true;
    return false;
}

// Moves [output] into the table's result, with the splits of [model].
static void add_row(struct dispatch *table, struct gen_output *output, const struct row *model) {
    struct row row = *model;
    if (is_taken(table, output->name))
        diag_error(table->diag, row.node->place, NULL, "kernels: %s stands there twice",
                   output->name);
    output->borrowed = !table->options.set_count;
    row.output = table->result->output_count;
    MEM_PUSH(table->result->outputs, table->result->output_count, table->output_capacity, *output);
    MEM_PUSH(table->rows, table->row_count, table->row_capacity, row);
    *output = (struct gen_output){0};
}

static void read_kernel(struct dispatch *table, const struct spec_node *node) {
    const struct fields fields = {table->diag, node, "kernels."};
    const bool map = node->kind == SPEC_MAP;
    struct row row = {.node = node, .measured = true};
    struct gen_result result = {0};
    if (map) {
        fields_only(&fields, kernel_keys);
        fields_need(&fields, "kernel");
        row.split_count =
            fields_ints(&fields, "splits", 1, SPLITS_MOST, TMG_MAX_TABLE_SPLITS, row.splits);
        row.last = fields_word(&fields, "last", flags, 0) > 0;
        const int measured = fields_word(&fields, "measured", measurings, 1);
        row.measured = measured == 1;
        row.nearby = measured == 2;
    }
    const char *name = map ? fields_text(&fields, "kernel") : node->text;
    if (node->kind == SPEC_LIST || (!map && !is_stem(name)) || (map && name && !is_stem(name))) {
        diag_error(table->diag, node->place,
                   "NAME of a spec beside this file, or {kernel: NAME, splits: [2, 4]}",
                   "kernels: is no name of a spec");
        return;
    }
    if (!name) return;
    char *why = NULL;
    const int failed = generate_spec(table, node, name, &result, &why);
    if (failed)
        diag_error(table->diag, node->place, NULL, "kernels: %s cannot be generated%s%s", name,
                   why ? ", as it is set: " : "; see there", why ? why : "");
    free(why);
    if (failed) return;
    for (size_t i = 0; i < result.output_count; i++) add_row(table, &result.outputs[i], &row);
    gen_result_free(&result);
}

static void read_kernels(struct dispatch *table) {
    const struct spec_node *list = spec_get(table->tree, "kernels");
    if (!list || list->kind != SPEC_LIST || !list->count) {
        diag_error(table->diag, list ? list->place : table->tree->place,
                   "kernels: [NAME of a spec beside this file, ...]",
                   list ? "kernels: must be a list of specs" : "kernels: is missing");
        return;
    }
    for (size_t i = 0; i < list->count; i++) read_kernel(table, list->values[i]);
}

// ---- The GPU's rates

static void read_gpu(struct dispatch *table) {
    const struct fields fields = {table->diag, table->tree, ""};
    const struct spec_node *node = spec_get(table->tree, "gpu");
    const char *why = NULL, *name = fields_text(&fields, "gpu");
    fields_need(&fields, "gpu");
    if (!name) return;
    char *path = mem_format("templates/lib/gpus/%s.json", is_stem(name) ? name : "?");
    const struct store_file file = store_find(gen_store(&table->options), path, &why);
    json_error_t fault;
    if (file.text) table->gpu = json_loads(file.text, JSON_REJECT_DUPLICATES, &fault);
    if (!file.text)
        diag_error(table->diag, node->place,
                   "NAME of a file lib/gpus/NAME.json among the templates", "gpu: %s: %s", name,
                   why ? why : "there are no such rates");
    else if (!table->gpu)
        diag_error(table->diag, node->place, NULL, "gpu: %s:%d: %s", file.name, fault.line,
                   fault.text);
    free(path);
}

// ---- Tuned entries

// The names of the dims in which shapes are written: as the family's reference has them.
static void find_dims(struct dispatch *table) {
    const struct tmg_manifest *manifest = table->rows[0].manifest;
    const char *words = json_string_value(json_object_get(manifest->reference, "dims"));
    char text[DIMS_TEXT] = "", *save = NULL;
    for (unsigned i = 0; !words && i < manifest->dim_count; i++)
        if (!manifest->dims[i].derived && strlen(text) + TMG_MAX_NAME < sizeof text)
            strcat(strcat(text, manifest->dims[i].name), " ");
    if (words) snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &save); word && table->dim_count < TMG_MAX_TABLE_DIMS;
         word = strtok_r(NULL, " ", &save))
        snprintf(table->dims[table->dim_count++], TMG_MAX_NAME, "%s", word);
}

static void bad_shape(const struct dispatch *table, const struct spec_node *node,
                      const char *text) {
    char legal[TMG_MAX_TABLE_DIMS * TMG_MAX_NAME] = "";
    for (int i = 0; i < table->dim_count; i++) strcat(strcat(legal, i ? "x" : ""), table->dims[i]);
    diag_error(table->diag, node->place, legal, "tuned.shape: %s is no shape", text);
}

// The row of "NAME" or "NAME/SPLITS"; -1 after an error.
static int read_choice(const struct dispatch *table, const struct spec_node *node, int *splits) {
    const size_t length = strcspn(node->text, "/");
    struct suggest suggest = suggest_start(node->text);
    *splits = words_splits(node->text, length);
    for (size_t i = 0; i < table->row_count; i++) {
        const char *name = table->result->outputs[table->rows[i].output].name;
        suggest_offer(&suggest, name);
        if (!words_name(name, table->suffix, node->text, length)) continue;
        const int64_t most = table->rows[i].manifest->grid.max_splits;
        if (*splits >= 0 && *splits <= most) return (int)i;
        char *legal = mem_format("%s/1 to %s/%lld", name, name, (long long)most);
        diag_error(table->diag, node->place, legal, "tuned.kernel: %s cannot be split so",
                   node->text);
        free(legal);
        return -1;
    }
    diag_error(table->diag, node->place, suggest.best, "tuned.kernel: %s is none of the kernels",
               node->text);
    return -1;
}

// Holds an entry to what its kernel takes. Sets the class of tensors without gaps where none is
// given.
static void check_entry(const struct dispatch *table, struct dispatch_entry *entry) {
    const struct tmg_manifest *manifest = table->rows[entry->row].manifest;
    struct tmg_asked asked;
    struct tmg_binding binding;
    tmg_ask_at(&asked, manifest, table->dims, entry->shape, (unsigned)table->dim_count);
    if (tmg_bind(manifest, &asked.launch, &binding))
        diag_error(table->diag, entry->node->place, NULL, "tuned: %s", tmagen_error_last());
    else if (!entry->alignment)
        entry->alignment = tmg_alignment_class(&binding);
}

static void read_entry(struct dispatch *table, const struct spec_node *node) {
    const struct fields fields = {table->diag, node, "tuned."};
    struct dispatch_entry entry = {.node = node};
    if (node->kind != SPEC_MAP) {
        diag_error(table->diag, node->place, "{shape: 4096x4096x512, kernel: NAME, us: 38.2}",
                   "tuned: must be a map");
        return;
    }
    const size_t errors = diag_errors(table->diag);
    fields_only(&fields, tuned_keys);
    for (const char *const *key = tuned_keys; *key; key++)
        if (strcmp(*key, "alignment")) fields_need(&fields, *key);
    const struct spec_node *shape = spec_get(node, "shape"), *kernel = spec_get(node, "kernel");
    const char *text = fields_text(&fields, "shape");
    if (text && !words_shape(text, table->dim_count, entry.shape)) bad_shape(table, shape, text);
    entry.alignment = (int)fields_int(&fields, "alignment", 1, TMG_LARGEST_CLASS, 0);
    if (entry.alignment & (entry.alignment - 1))
        diag_error(table->diag, spec_get(node, "alignment")->place, "1, 2, 4, ... 128",
                   "tuned.alignment: must be a power of two");
    if (fields_text(&fields, "kernel")) entry.row = read_choice(table, kernel, &entry.splits);
    entry.us = words_us(table->diag, spec_get(node, "us"), "tuned.us");
    if (diag_errors(table->diag) == errors) check_entry(table, &entry);
    if (diag_errors(table->diag) == errors)
        MEM_PUSH(table->entries, table->entry_count, table->entry_capacity, entry);
}

static int by_shape(const void *left, const void *right) {
    const struct dispatch_entry *a = left, *b = right;
    for (int i = 0; i < TMG_MAX_TABLE_DIMS; i++)
        if (a->shape[i] != b->shape[i]) return a->shape[i] < b->shape[i] ? -1 : 1;
    if (a->alignment != b->alignment) return a->alignment < b->alignment ? -1 : 1;
    return (a->node->place.line > b->node->place.line) -
           (a->node->place.line < b->node->place.line);
}

static void check_repeats(struct dispatch *table) {
    if (table->entry_count)
        qsort(table->entries, table->entry_count, sizeof *table->entries, by_shape);
    for (size_t i = 1; i < table->entry_count; i++) {
        const struct dispatch_entry *a = &table->entries[i - 1], *b = &table->entries[i];
        if (memcmp(a->shape, b->shape, sizeof a->shape) || a->alignment != b->alignment) continue;
        diag_error(table->diag, b->node->place, NULL,
                   "tuned: the shape stands there twice; the other is on line %d",
                   a->node->place.line);
    }
}

static void read_entries(struct dispatch *table) {
    const struct spec_node *list = spec_get(table->tree, "tuned");
    long long unused;
    double real;
    if (!list || (list->kind == SPEC_SCALAR && spec_scalar(list, &unused, &real) == SPEC_NULL))
        return;
    if (list->kind != SPEC_LIST) {
        diag_error(table->diag, list->place,
                   "tuned: [{shape: 4096x4096x512, kernel: NAME, us: 38.2}]",
                   "tuned: must be a list");
        return;
    }
    for (size_t i = 0; i < list->count; i++) read_entry(table, list->values[i]);
    check_repeats(table);
}

// ---- The JSON

static void write_rates(const struct dispatch *table, FILE *out) {
    const char *key, *gap = "";
    json_t *value;
    fprintf(out, "  \"rates\": {");
    json_object_foreach(json_object_get(table->gpu, "rates"), key, value) {
        fprintf(out, "%s\"%s\": %.6g", gap, key, json_number_value(value));
        gap = ", ";
    }
    fprintf(out, "},\n");
}

static void write_kernel(const struct dispatch *table, const struct row *row, FILE *out) {
    const struct gen_output *output = &table->result->outputs[row->output];
    fprintf(out, "    {\"name\": \"%s\"", output->name);
    for (int i = 0; i < row->split_count; i++)
        fprintf(out, "%s%lld", i ? ", " : ", \"splits\": [", (long long)row->splits[i]);
    fprintf(out, "%s%s%s}", row->split_count > 0 ? "]" : "", row->last ? ", \"last\": true" : "",
            row->nearby ? ", \"nearby\": true" : "");
}

static void write_entry(const struct dispatch *table, const struct dispatch_entry *entry,
                        FILE *out) {
    fprintf(out, "    {\"shape\": [");
    for (int i = 0; i < table->dim_count; i++)
        fprintf(out, "%s%lld", i ? ", " : "", (long long)entry->shape[i]);
    fprintf(out, "], \"alignment\": %d, \"kernel\": \"%s\"", entry->alignment,
            table->result->outputs[table->rows[entry->row].output].name);
    if (entry->splits) fprintf(out, ", \"splits\": %d", entry->splits);
    fprintf(out, ", \"us\": %.6g}", entry->us);
}

static void write_head(const struct dispatch *table, FILE *out) {
    const struct fields fields = {table->diag, table->tree, ""};
    const char *version = fields_text(&fields, "tmagen");
    char *gpu = json_dumps(json_object_get(table->gpu, "gpu"), JSON_ENCODE_ANY);
    fprintf(out, "{\n  \"tmagen_table\": %d,\n  \"name\": \"%s\",\n  \"family\": \"%s\",\n",
            TMG_TABLE_VERSION, table->result->table.name, table->result->outputs[0].family);
    fprintf(out, "  \"version\": \"%s\",\n  \"gpu\": %s,\n  \"sms\": %lld,\n",
            version ? version : TMAGEN_VERSION, gpu ? gpu : "null",
            (long long)json_integer_value(json_object_get(table->gpu, "sms")));
    free(gpu);
}

// [measured]: the lines of what was measured; "": without what is learned of them, too.
static char *write_table(const struct dispatch *table, const char *measured) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return mem_copy("");
    write_head(table, out);
    write_rates(table, out);
    fprintf(out, "  \"dims\": [");
    for (int i = 0; i < table->dim_count; i++)
        fprintf(out, "%s\"%s\"", i ? ", " : "", table->dims[i]);
    fprintf(out, "],\n  \"kernels\": [");
    for (size_t i = 0; i < table->row_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_kernel(table, &table->rows[i], out);
    }
    fprintf(out, "\n  ],\n  \"tuned\": [");
    for (size_t i = 0; i < table->entry_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_entry(table, &table->entries[i], out);
    }
    fprintf(out, "%s]", table->entry_count ? "\n  " : "");
    if (*measured) fprintf(out, ",\n  \"measured\": [%s\n  ]", measured);
    if (*measured) learned_write(spec_get(table->tree, "learned"), out);
    fputs("\n}\n", out);
    fclose(out);
    return text;
}

// The table as the library reads it, all its kernels taken; NULL after errors.
static struct tmg_table *read_table(const struct dispatch *table, const char *text) {
    struct tmg_table *parsed = NULL;
    const size_t errors = diag_errors(table->diag);
    if (tmg_table_parse(text, strlen(text), table->result->table.name, &parsed)) {
        diag_error(table->diag, table->tree->place, NULL, "%s", tmagen_error_last());
        return NULL;
    }
    for (size_t i = 0; i < table->row_count; i++) {
        const struct gen_output *output = &table->result->outputs[table->rows[i].output];
        if (tmg_table_take(parsed, (unsigned)i, output->manifest, strlen(output->manifest)))
            diag_error(table->diag, table->rows[i].node->place, NULL, "kernels: %s",
                       tmagen_error_last());
    }
    if (diag_errors(table->diag) == errors && tmg_table_finish(parsed))
        diag_error(table->diag, table->tree->place, NULL, "%s", tmagen_error_last());
    if (diag_errors(table->diag) == errors) return parsed;
    tmg_table_free(parsed);
    return NULL;
}

// Writes the JSON, holding it to what the library says of it. What was measured is told by how far
// off the model is there, which is asked of the table without it.
static char *finish_table(const struct dispatch *table) {
    char *text = write_table(table, "");
    struct tmg_table *parsed = read_table(table, text);
    const struct spec_node *list = spec_get(table->tree, "measured");
    learned_check(table->diag, table->tree);
    if (!parsed || !list) return tmg_table_free(parsed), text;
    bool *all = mem_zero((table->row_count + 1) * sizeof *all);
    for (size_t i = 0; i < table->row_count; i++) all[i] = table->rows[i].measured;
    char *lines = measured_lines(table->diag, list, parsed, table->suffix, all);
    free(all);
    free(text);
    tmg_table_free(parsed);
    text = write_table(table, lines);
    free(lines);
    if (diag_errors(table->diag)) return text;
    if (tmg_table_parse(text, strlen(text), table->result->table.name, &parsed))
        diag_error(table->diag, table->tree->place, NULL, "%s", tmagen_error_last());
    else
        tmg_table_free(parsed);
    if (!diag_errors(table->diag)) learned_compare(table->tree, table->path, text);
    return text;
}

// ---- The whole

// Reads the manifests, which the generator has checked, and holds them to the first.
static void parse_manifests(struct dispatch *table) {
    for (size_t i = 0; i < table->row_count; i++) {
        struct row *row = &table->rows[i];
        const struct gen_output *output = &table->result->outputs[row->output];
        if (tmg_manifest_parse(output->manifest, strlen(output->manifest), output->name,
                               &row->manifest) ||
            tmg_table_alike(table->rows[0].manifest, row->manifest))
            diag_error(table->diag, row->node->place, NULL, "kernels: %s", tmagen_error_last());
    }
}

static void check_splits(const struct dispatch *table, const struct row *row) {
    const int64_t most = row->manifest->grid.max_splits;
    for (int i = 0; i < row->split_count; i++)
        if (row->splits[i] > most)
            diag_error(table->diag, spec_get(row->node, "splits")->place, NULL,
                       "splits: %lld is more than the %lld that %s can be split into",
                       (long long)row->splits[i], (long long)most, row->manifest->name);
    for (int i = 1; i < row->split_count; i++)
        for (int j = 0; j < i; j++)
            if (row->splits[i] == row->splits[j])
                diag_error(table->diag, spec_get(row->node, "splits")->place, NULL,
                           "splits: %lld stands there twice", (long long)row->splits[i]);
}

static void check_family(const struct dispatch *table) {
    const struct spec_node *family = spec_get(table->tree, "dispatch");
    const struct fields fields = {table->diag, table->tree, ""};
    const char *name = fields_text(&fields, "dispatch");
    if (!name) return;
    if (!gen_family_exists(name, &table->options)) {
        diag_error(table->diag, family->place, "a family's name", "dispatch: %s is no family",
                   name);
        return;
    }
    char *home = gen_family_home(name, &table->options);
    for (size_t i = 0; home && i < table->row_count; i++) {
        const struct gen_output *output = &table->result->outputs[table->rows[i].output];
        if (!strcmp(output->family, home)) continue;
        diag_error(table->diag, table->rows[i].node->place, NULL, "kernels: %s is of the family %s",
                   output->name, output->family);
    }
    free(home);
}

// Who measured with another version is warned (runtime/set.c): that takes a table which says so.
static void check_version(const struct dispatch *table) {
    const struct spec_node *tuned = spec_get(table->tree, "tuned");
    const bool rows = (tuned && tuned->count) || spec_get(table->tree, "measured");
    if (rows && !spec_get(table->tree, "tmagen"))
        fprintf(stderr,
                "%s: warning: tmagen: is missing; nothing says by which version it was measured "
                "(this is " TMAGEN_VERSION ")\n",
                table->path);
}

static void free_table(struct dispatch *table) {
    for (size_t i = 0; i < table->row_count; i++) tmg_manifest_free(table->rows[i].manifest);
    for (size_t i = 0; i < table->options.set_count; i++) free(table->options.sets[i]);
    free(table->options.sets);
    free(table->places);
    free(table->suffix);
    free(table->rows);
    free(table->entries);
    json_decref(table->gpu);
}

void table_generate(struct diag *diag, const struct spec_node *tree, const char *path,
                    const struct gen_options *options, struct gen_result *result) {
    struct dispatch table = {.diag = diag, .tree = tree, .path = path, .result = result};
    const struct fields fields = {diag, tree, ""};
    table.options =
        (struct gen_options){.out_dir = options->out_dir, .templates = options->templates};
    fields_only(&fields, table_keys);
    result->table.name = file_stem(path);
    read_set(&table);
    read_gpu(&table);
    read_kernels(&table);
    check_family(&table);
    if (table.row_count) {
        parse_manifests(&table);
        for (size_t i = 0; i < table.row_count; i++)
            if (table.rows[i].manifest) check_splits(&table, &table.rows[i]);
        find_dims(&table);
        read_entries(&table);
    }
    if (!diag_errors(diag)) {
        check_version(&table);
        result->table.text = finish_table(&table);
    }
    free_table(&table);
}
