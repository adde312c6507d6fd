// The committed results: a text file a table, a line a form and a line a result.
// "form KEY TEXT", then for each result the first threads' values in hex and, where they are exact,
// a hash of all others. Of results behind the eighth one line has a hash each, of all threads. As
// committed those are of what the emulator gave where it equalled what the GPU's record had of the
// same results, four threads' values and a hash of the rest; a new record has the GPU's own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emu/vectors/vectors.h"

// What is exact is mostly kept as hashes, or the files would be too large.
enum { FULL_SLOTS = 8, KNOWN_LANES = 16 };

static size_t threads_of(const struct form *form) {
    return (size_t)form->table->threads * form->table->rounds;
}

bool is_hashed(const struct form *form) { return form->row->bound.kind == EXACT; }

size_t recorded_in_full(const struct form *form, size_t slot) {
    size_t all = threads_of(form);
    if (!is_hashed(form)) return all < 64 ? all : 64;
    if (form->out_count <= FULL_SLOTS) return KNOWN_LANES;
    return slot < FULL_SLOTS ? 4 : 0;
}

static int digits_of(const struct form *form, size_t slot) {
    const struct class *class = class_of(form->out[slot]);
    return class->kind == PREDICATE ? 1 : (int)(2 * class->bytes);
}

uint32_t hash_results(const uint64_t *results, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; ++i) {
        hash = (hash ^ results[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

void record_write(struct program_lines *text, const struct form *form, const uint64_t *results) {
    size_t all = threads_of(form);
    text_add(text, "form %016llx %.72s", (unsigned long long)form->key, form->text);
    for (size_t slot = 0; slot < form->out_count; ++slot, results += all) {
        size_t known = recorded_in_full(form, slot);
        if (slot <= FULL_SLOTS || known) text_add(text, "\n");
        for (size_t i = 0; i < known; ++i)
            text_add(text, "%0*llx", digits_of(form, slot), (unsigned long long)results[i]);
        if (is_hashed(form))
            text_add(text, " %08x", (unsigned)hash_results(results + known, all - known));
    }
    text_add(text, "\n");
}

// ---- Reading

static const struct form *form_with(const struct forms *forms, uint64_t key) {
    for (size_t i = 0; i < forms->count; ++i)
        if (forms->list[i].key == key) return &forms->list[i];
    return NULL;
}

static bool read_hex(const char **at, int digits, uint64_t *value) {
    *value = 0;
    for (int i = 0; i < digits; ++i, ++*at) {
        const char *digit = **at ? strchr("0123456789abcdef", **at) : NULL;
        if (!digit) return false;
        *value = *value << 4 | (uint64_t)(digit - "0123456789abcdef");
    }
    return true;
}

// Reads the result of [slot] and, where the line goes on, those behind it.
static bool read_results(const char *at, const struct form *form, size_t *slot,
                         struct form_record *record) {
    do {
        if (*slot == form->out_count) return false;
        uint64_t hash = 0, *results = record->results + *slot * record->stride;
        for (size_t i = 0; i < recorded_in_full(form, *slot); ++i)
            if (!read_hex(&at, digits_of(form, *slot), &results[i])) return false;
        if (is_hashed(form) && (*at++ != ' ' || !read_hex(&at, 8, &hash))) return false;
        record->hashes[(*slot)++] = (uint32_t)hash;
    } while (*at == ' ');
    return *at == '\n' || !*at;
}

static struct form_record *add_record(struct records *records, const struct form *form) {
    struct form_record *grown = realloc(records->list, (records->count + 1) * sizeof *grown);
    if (!grown) abort();
    records->list = grown;
    struct form_record *record = &grown[records->count++];
    *record = (struct form_record){.key = form->key, .stride = recorded_in_full(form, 0)};
    record->results = calloc(form->out_count * record->stride + 1, sizeof *record->results);
    record->hashes = calloc(form->out_count + 1, sizeof *record->hashes);
    if (!record->results || !record->hashes) abort();
    return record;
}

int records_read(const char *path, const struct forms *forms, struct records *records) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, slot = 0, number = 0;
    const struct form *form = NULL;
    struct form_record *record = NULL;
    const char *wrong = file ? NULL : "cannot be opened";
    *records = (struct records){0};
    while (!wrong && getline(&line, &capacity, file) > 0) {
        unsigned long long key;
        ++number;
        if (line[0] == '#') continue;
        if (sscanf(line, "form %llx", &key) == 1) {
            if (form && slot != form->out_count) wrong = "the form before this has too few results";
            form = form_with(forms, key);
            slot = 0;
            if (form) record = add_record(records, form);
        } else if (form && !read_results(line, form, &slot, record)) {
            wrong = "not a result of the form above";
        }
    }
    if (wrong) fprintf(stderr, "%s:%zu: %s\n", path, number, wrong);
    free(line);
    if (file) fclose(file);
    return wrong ? -1 : 0;
}

void records_free(struct records *records) {
    for (size_t i = 0; i < records->count; ++i) {
        free(records->list[i].results);
        free(records->list[i].hashes);
    }
    free(records->list);
    *records = (struct records){0};
}
