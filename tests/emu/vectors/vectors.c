// Runs a few hundred small PTX programs on the emulator and compares with what a GPU gave.
// On a GPU it records that, or compares both at once with any seed. tests/emu_vectors.sh runs it.
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/emu/vectors/compare.h"

static const struct table *const tables[] = {
    &int_table,     &bits_table,   &compare_table, &float_table,  &half_table,
    &convert_table, &memory_table, &warp_table,    &matrix_table, &wgmma_table,
    &tma_table,     &im2col_table, &cluster_table,
};
enum { TABLES = sizeof tables / sizeof *tables };

struct options {
    const char *device, *folder, *only, *dump;
    uint64_t seed;
    size_t from, single;
    bool list, alone;
};

static struct options options = {.device = "emu", .folder = "tests/emu/vectors", .seed = 1};
static tmagen_device *gpu, *emulator;
static size_t verdicts[VERDICTS], programs;

// ---- A program

static size_t program_size(const struct forms *forms, size_t first) {
    size_t left = forms->count - first, most = forms->list[first].table->forms_per_program;
    if (options.alone) most = 1;
    return left < most ? left : most;
}

static const struct record *record_of(const struct records *records, uint64_t key) {
    for (size_t i = 0; i < records->count; ++i)
        if (records->list[i].key == key) return &records->list[i];
    return NULL;
}

static void count_verdict(enum verdict verdict, const struct form *form) {
    ++verdicts[verdict];
    if (verdict == MISSING) printf("not recorded: %s\n", form->text);
}

// Holds the results of a program's forms against the GPU's, [expected], or the records.
static void judge(const struct form *forms, size_t count, const uint64_t *got,
                  const uint64_t *expected, const struct records *records) {
    size_t all = (size_t)forms->table->threads * forms->table->rounds;
    for (size_t i = 0; i < count; ++i) {
        const struct record *record = expected ? NULL : record_of(records, forms[i].key);
        enum verdict verdict = MISSING;
        if (expected) verdict = compare_results(&forms[i], programs, options.seed, expected, got);
        if (record) verdict = compare_record(&forms[i], programs, options.seed, record, got);
        count_verdict(verdict, &forms[i]);
        got += forms[i].out_count * all;
        if (expected) expected += forms[i].out_count * all;
    }
}

static void record(const struct form *forms, size_t count, const uint64_t *results,
                   struct text *text) {
    size_t all = (size_t)forms->table->threads * forms->table->rounds;
    for (size_t i = 0; i < count; ++i) {
        record_write(text, &forms[i], results);
        results += forms[i].out_count * all;
    }
}

static int run_on(tmagen_device *device, const struct form *forms, size_t count,
                  uint64_t **results) {
    *results = NULL;
    if (!device || !execute(device, forms, count, options.seed, results)) return 0;
    printf("program %zu on %s, from %s: %s\n", programs, device->backend->name, forms->text,
           tmagen_error_last());
    return -1;
}

// Runs a program where it is to be run, compares, and adds to the record. A program that the
// GPU fails on ends it all, with -1: nothing more runs in that process.
static int run_program(const struct form *forms, size_t count, const struct records *records,
                       struct text *text) {
    uint64_t *expected = NULL, *got = NULL;
    if (run_on(gpu, forms, count, &expected)) {
        printf("stopped; go on with --from %zu\n", programs + 1);
        return -1;
    }
    if (expected) record(forms, count, expected, text);
    if (run_on(emulator, forms, count, &got)) verdicts[DIFFERENT] += count;
    if (got) judge(forms, count, got, expected, records);
    free(expected);
    free(got);
    return 0;
}

static void write_program(const struct form *forms, size_t count) {
    char name[512], *text = program_text(forms, count);
    snprintf(name, sizeof name, "%s/%04zu.ptx", options.dump, programs);
    FILE *file = fopen(name, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) {
        perror(name);
        exit(1);
    }
    free(text);
}

// ---- A table

static void save(const struct table *table, const struct text *text) {
    char name[512];
    snprintf(name, sizeof name, "%s/%s.txt", options.folder, table->name);
    FILE *file = fopen(name, options.from ? "a" : "w");
    if (file && !options.from)
        fprintf(file,
                "# What a GPU gave; made by vectors --device cuda. A form, then a line a result:"
                " hex, hash of the rest.\n");
    if (!file || fwrite(text->data, 1, text->length, file) != text->length || fclose(file)) {
        perror(name);
        exit(1);
    }
}

static int run_table(const struct table *table) {
    struct forms forms = forms_of(table);
    struct records records = {0};
    struct text text = {0};
    char name[512];
    snprintf(name, sizeof name, "%s/%s.txt", options.folder, table->name);
    bool from_file = !gpu && !options.list && !options.dump;
    int status = from_file ? records_read(name, &forms, &records) : 0;
    for (size_t at = 0; at < forms.count && !status; ++programs) {
        size_t count = program_size(&forms, at);
        bool wanted = programs >= options.from && (!options.single || programs == options.single);
        for (size_t i = 0; i < count && options.list; ++i)
            printf("%s %zu: %s\n", table->name, programs, forms.list[at + i].text);
        if (options.dump && wanted) write_program(&forms.list[at], count);
        if (!options.list && !options.dump && wanted)
            status = run_program(&forms.list[at], count, &records, &text);
        at += count;
    }
    if (text.length) save(table, &text);
    free(text.data);
    records_free(&records);
    forms_free(&forms);
    return status;
}

// ---- Arguments

static const struct argp_option argp_options[] = {
    {"list", 'l', 0, 0, "Only list the forms, with table and program", 0},
    {"device", 'd', "NAME", 0,
     "emu: compare with the record (default); cuda: record; both: compare", 0},
    {"folder", 'f', "DIR", 0, "Where the record is", 0},
    {"only", 'o', "TABLES", 0, "Only the tables with these names", 0},
    {"seed", 's', "N", 0, "Another seed than the record's 1", 0},
    {"from", 'n', "N", 0, "Begin with program N", 0},
    {"program", 'p', "N", 0, "Only program N", 0},
    {"alone", 'a', 0, 0, "One form a program", 0},
    {"write", 'w', "DIR", 0, "Only write the programs as DIR/NNNN.ptx", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
    (void)state;
    switch (key) {
    case 'l': options.list = true; return 0;
    case 'd': options.device = value; return 0;
    case 'f': options.folder = value; return 0;
    case 'o': options.only = value; return 0;
    case 's': options.seed = strtoull(value, NULL, 0); return 0;
    case 'n': options.from = strtoul(value, NULL, 0); return 0;
    case 'p': options.single = strtoul(value, NULL, 0); return 0;
    case 'a': options.alone = true; return 0;
    case 'w': options.dump = value; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int open_devices(void) {
    bool both = !strcmp(options.device, "both"), on_gpu = both || !strcmp(options.device, "cuda");
    if (options.list || options.dump) return 0;
    if (on_gpu && tmagen_device_open("cuda", &gpu)) return -1;
    return both || !on_gpu ? tmagen_device_open(tmg_emu_backend.name, &emulator) : 0;
}

int main(int argc, char **argv) {
    const struct argp argp = {argp_options, parse, NULL, "Compares the emulator with a GPU.",
                              NULL,         NULL,  NULL};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    if (open_devices()) {
        fprintf(stderr, "vectors: %s\n", tmagen_error_last());
        return 3;
    }
    int status = 0;
    for (int i = 0; i < TABLES; ++i)
        if (!status && (!options.only || strstr(options.only, tables[i]->name)))
            status = run_table(tables[i]);
    if (options.list || options.dump) return status ? 1 : 0;
    printf(
        "%zu programs; forms: %zu equal, %zu within their bound, %zu different, %zu not recorded\n",
        programs, verdicts[EQUAL], verdicts[CLOSE], verdicts[DIFFERENT], verdicts[MISSING]);
    if (status && gpu) return 3;
    return status || verdicts[DIFFERENT] || verdicts[MISSING] ? 1 : 0;
}
