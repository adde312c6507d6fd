// The committed results: a text file a table, a line a form and a line a result.
// "form KEY TEXT", then for each result the first round's values in hex, then a hash of all others.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emu/vectors/vectors.h"

// Forms with many results are mostly kept as hashes, or the files would be too large.
enum { FULL_SLOTS = 8, KNOWN_LANES = 16 };

size_t recorded_in_full(const struct form *form) {
    size_t all = (size_t)form->table->threads * form->table->rounds;
    if (form->row->bound.kind != EXACT) return all < 64 ? all : 64;
    return form->out_count <= FULL_SLOTS ? KNOWN_LANES : 4;
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
    size_t all = (size_t)form->table->threads * form->table->rounds, known = recorded_in_full(form);
    text_add(text, "form %016llx %.72s\n", (unsigned long long)form->key, form->text);
    for (size_t slot = 0; slot < form->out_count; ++slot, results += all) {
        const struct class *class = class_of(form->out[slot]);
        int digits = class->kind == PREDICATE ? 1 : (int)(2 * class->bytes);
        for (size_t i = 0; i < known; ++i)
            text_add(text, "%0*llx", digits, (unsigned long long)results[i]);
        text_add(text, " %08x\n", (unsigned)hash_results(results + known, all - known));
    }
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

static bool read_result(const char *line, const struct form *form, size_t slot,
                        struct form_record *record) {
    const struct class *class = class_of(form->out[slot]);
    uint64_t hash;
    for (size_t i = 0; i < record->known; ++i)
        if (!read_hex(&line, class->kind == PREDICATE ? 1 : (int)(2 * class->bytes),
                      &record->results[slot * record->known + i]))
            return false;
    if (*line++ != ' ' || !read_hex(&line, 8, &hash)) return false;
    record->hashes[slot] = (uint32_t)hash;
    return *line == '\n' || !*line;
}

static struct form_record *add_record(struct records *records, const struct form *form) {
    struct form_record *grown = realloc(records->list, (records->count + 1) * sizeof *grown);
    if (!grown) abort();
    records->list = grown;
    struct form_record *record = &grown[records->count++];
    *record = (struct form_record){.key = form->key, .known = recorded_in_full(form)};
    record->results = calloc(form->out_count * record->known + 1, sizeof *record->results);
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
        } else if (form && (slot >= form->out_count || !read_result(line, form, slot++, record))) {
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
