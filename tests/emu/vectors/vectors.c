// Runs a few hundred small PTX programs on the emulator and compares with what a GPU gave.
// On a GPU it records that, or compares both at once with any seed. The test is cli/emu_vectors.sh.
// A child does the work: a program that the GPU fails on takes the process with it, and only that.
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/vectors/compare.h"

static const struct vector_table *const tables[] = {
    &int_table,     &bits_table, &compare_table, &float_table, &half_table,    &convert_table,
    &memory_table,  &warp_table, &matrix_table,  &wgmma_table, &tma_table,     &im2col_table,
    &cluster_table, &wmma_table, &video_table,   &sync_table,  &special_table, &replace_table,
};
enum { TABLES = sizeof tables / sizeof *tables };
enum { GPU_SECONDS = 10, FAULTS_MOST = 20 };  // for one program; of one run
enum { CHILD_DONE, CHILD_WRONG, CHILD_FAULT, CHILD_NO_DEVICE };

struct options {
    const char *device, *folder, *only, *dump;
    uint64_t seed;
    size_t single;
    bool list, alone, one;
};

static struct options options = {.device = "emu", .folder = "tests/emu/vectors", .seed = 1};
static tmagen_device *gpu, *emulator;

// What a child leaves behind.
static struct progress {
    size_t next;         // the program that runs, or is to be run
    bool begun[TABLES];  // the record's files that are written
    size_t verdicts[VERDICTS];
} * progress;
static size_t programs;  // counts through all tables

// ---- A program

static size_t program_size(const struct forms *forms, size_t first) {
    size_t left = forms->count - first, most = forms->list[first].table->forms_per_program;
    if (options.alone) most = 1;
    return left < most ? left : most;
}

static const struct form_record *record_of(const struct records *records, uint64_t key) {
    for (size_t i = 0; i < records->count; ++i)
        if (records->list[i].key == key) return &records->list[i];
    return NULL;
}

static void count_verdict(enum verdict verdict, const struct form *form) {
    ++progress->verdicts[verdict];
    if (verdict == MISSING) printf("not recorded: %s\n", form->text);
}

// Holds the results of a program's forms against the GPU's, [expected], or the records.
static void judge(const struct form *forms, size_t count, const uint64_t *got,
                  const uint64_t *expected, const struct records *records) {
    size_t all = (size_t)forms->table->threads * forms->table->rounds;
    for (size_t i = 0; i < count; ++i) {
        const struct form_record *record = expected ? NULL : record_of(records, forms[i].key);
        enum verdict verdict = MISSING;
        if (expected) verdict = compare_results(&forms[i], programs, options.seed, expected, got);
        if (record) verdict = compare_record(&forms[i], programs, options.seed, record, got);
        count_verdict(verdict, &forms[i]);
        got += forms[i].out_count * all;
        if (expected) expected += forms[i].out_count * all;
    }
}

static void record(const struct form *forms, size_t count, const uint64_t *results,
                   struct program_lines *text) {
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

static void write_file(const char *name, const char *mode, const struct program_lines *text) {
    FILE *file = fopen(name, mode);
    if (!file || fwrite(text->data, 1, text->length, file) != text->length || fclose(file)) {
        perror(name);
        exit(CHILD_NO_DEVICE);
    }
}

// Appends to the record, or begins it.
static void save(size_t table, const struct form *forms, size_t count, const uint64_t *results) {
    struct program_lines text = {0};
    char name[512];
    snprintf(name, sizeof name, "%s/%s.txt", options.folder, tables[table]->name);
    if (!progress->begun[table])
        text_add(&text,
                 "# What a GPU gave; made by vectors --device cuda. A form, then a line a result:"
                 " hex, hash of the rest;\n# behind the eighth one line, a hash each.\n");
    record(forms, count, results, &text);
    write_file(name, progress->begun[table] ? "a" : "w", &text);
    progress->begun[table] = true;
    free(text.data);
}

// Runs a program where it is to be run, compares, and adds to the record. Where the GPU fails, -1:
// nothing more runs in this process.
static int run_program(size_t table, const struct form *forms, size_t count,
                       const struct records *records) {
    uint64_t *expected = NULL, *got = NULL;
    if (gpu) alarm(GPU_SECONDS);
    if (run_on(gpu, forms, count, &expected)) return -1;
    alarm(0);
    if (expected) save(table, forms, count, expected);
    if (run_on(emulator, forms, count, &got)) progress->verdicts[DIFFERENT] += count;
    if (got) judge(forms, count, got, expected, records);
    free(expected);
    free(got);
    return 0;
}

static void write_program(const struct form *forms, size_t count) {
    char name[512];
    struct program_lines text = {.data = program_text(forms, count)};
    text.length = strlen(text.data);
    snprintf(name, sizeof name, "%s/%04zu.ptx", options.dump, programs);
    write_file(name, "w", &text);
    free(text.data);
}

// ---- A table

static void list_program(const struct form *forms, size_t count) {
    for (size_t i = 0; i < count; ++i)
        printf("%s %zu: %s\n", forms->table->name, programs, forms[i].text);
}

// Lists, writes or runs the programs of a table that are wanted and not done. 0, or CHILD_FAULT
// after a failure of the GPU, CHILD_WRONG where the record cannot be read.
static int run_table(size_t table) {
    struct forms forms = forms_of(tables[table]);
    struct records records = {0};
    char name[512];
    snprintf(name, sizeof name, "%s/%s.txt", options.folder, tables[table]->name);
    bool run = !options.list && !options.dump;
    int status = run && !gpu && records_read(name, &forms, &records) ? CHILD_WRONG : 0;
    for (size_t at = 0; at < forms.count && !status; ++programs) {
        size_t count = program_size(&forms, at);
        const struct form *first = &forms.list[at];
        at += count;
        if (programs < progress->next || (options.one && programs != options.single)) continue;
        progress->next = programs;
        if (options.list) list_program(first, count);
        if (options.dump) write_program(first, count);
        if (run && run_program(table, first, count, &records)) status = CHILD_FAULT;
    }
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
    case 'p': options.single = strtoul(value, NULL, 0), options.one = true; return 0;
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

// The child: all tables from progress->next on.
static int work(void) {
    if (open_devices()) {
        fprintf(stderr, "vectors: %s\n", tmagen_error_last());
        return CHILD_NO_DEVICE;
    }
    int status = CHILD_DONE;
    for (size_t i = 0; i < TABLES; ++i)
        if (!status && (!options.only || strstr(options.only, tables[i]->name)))
            status = run_table(i);
    if (status != CHILD_FAULT) progress->next = programs;
    return status;
}

// Runs a child and waits for it. Returns what it ended with; a signal is a fault.
static int run_child(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int code = work();
        fflush(stdout);
        _exit(code);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("vectors");
        return CHILD_NO_DEVICE;
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    printf("program %zu: %s\n", progress->next, strsignal(WTERMSIG(status)));
    return CHILD_FAULT;
}

int main(int argc, char **argv) {
    const struct argp argp = {argp_options, parse, NULL, "Compares the emulator with a GPU.",
                              NULL,         NULL,  NULL};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) {
        perror("vectors");
        return 3;
    }
    size_t faults = 0;
    int code;
    while ((code = run_child()) == CHILD_FAULT && ++faults < FAULTS_MOST) ++progress->next;
    if (options.list || options.dump || code == CHILD_NO_DEVICE) return code;
    const size_t *verdicts = progress->verdicts;
    printf(
        "%zu programs; forms: %zu equal, %zu within their bound, %zu different, %zu not recorded\n",
        progress->next, verdicts[EQUAL], verdicts[CLOSE], verdicts[DIFFERENT], verdicts[MISSING]);
    if (faults) printf("%zu programs failed on the GPU\n", faults);
    return code || faults || verdicts[DIFFERENT] || verdicts[MISSING] ? 1 : 0;
}
