// A bundle's bytes out of its entries.
#include "gen/pack.h"

#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"

void pack_add(struct pack *pack, struct pack_entry entry) {
    MEM_PUSH(pack->entries, pack->count, pack->capacity, entry);
}

void pack_free(struct pack *pack) {
    free(pack->entries);
    *pack = (struct pack){0};
}

// ---- Order

static int by_row(const void *left, const void *right) {
    const struct pack_entry *a = left, *b = right;
    const int names = strcmp(a->name, b->name);
    if (names) return names;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return strcmp(a->arch, b->arch);
}

static bool alike(const struct pack_entry *a, const struct pack_entry *b) {
    return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

// Sorts the entries and drops repeated ones. Returns one that repeats another and is not alike.
static const struct pack_entry *order(struct pack *pack) {
    size_t kept = 0;
    if (pack->count) qsort(pack->entries, pack->count, sizeof *pack->entries, by_row);
    for (size_t i = 0; i < pack->count; i++) {
        const struct pack_entry *last = kept ? &pack->entries[kept - 1] : NULL;
        const bool repeats = last && !by_row(last, &pack->entries[i]);
        if (repeats && !alike(last, &pack->entries[i])) return &pack->entries[i];
        if (!repeats) pack->entries[kept++] = pack->entries[i];
    }
    pack->count = kept;
    return NULL;
}

// ---- The index

// Texts, each once, with their zeros between.
struct pack_texts {
    char *data;
    size_t len;
};

static uint32_t add_text(struct pack_texts *texts, const char *text) {
    const size_t size = strlen(text) + 1;
    for (size_t at = 0; at < texts->len; at += strlen(texts->data + at) + 1)
        if (!strcmp(texts->data + at, text)) return (uint32_t)at;
    texts->data = mem_resize(texts->data, texts->len + size);
    memcpy(texts->data + texts->len, text, size);
    texts->len += size;
    return (uint32_t)(texts->len - size);
}

static void read_hex(const char *text, uint8_t *bytes, size_t count) {
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++)
        bytes[i] =
            (uint8_t)((strchr(hex, text[2 * i]) - hex) << 4 | (strchr(hex, text[2 * i + 1]) - hex));
}

static struct tmg_bundle_row make_row(const struct pack_entry *entry, struct pack_texts *texts) {
    struct tmg_bundle_row row = {.bytes = entry->len, .kind = entry->kind};
    row.name = add_text(texts, entry->name);
    row.arch = add_text(texts, entry->arch);
    row.compiler = add_text(texts, entry->code ? entry->code->compiler : "");
    if (entry->code) {
        row.resources = entry->code->resources;
        read_hex(entry->code->key, row.key, sizeof row.key);
    }
    tmg_digest(entry->data, entry->len, row.digest);
    return row;
}

// ---- The whole

// Places the payloads. Returns the size of the file.
static uint64_t place(struct tmg_bundle_row *rows, size_t count, uint64_t index_bytes) {
    uint64_t at = tmg_bundle_first(index_bytes);
    for (size_t i = 0; i < count; i++) {
        rows[i].offset = at;
        at = tmg_bundle_next(at + rows[i].bytes);
    }
    return at;
}

static char *assemble(const struct pack *pack, struct tmg_bundle_row *rows,
                      const struct pack_texts *texts, struct tmg_bundle_header *header) {
    const size_t row_bytes = pack->count * sizeof *rows;
    header->index_bytes = row_bytes + texts->len;
    header->file_bytes = place(rows, pack->count, header->index_bytes);
    char *file = mem_zero(header->file_bytes), *index = file + sizeof *header;
    if (row_bytes) memcpy(index, rows, row_bytes);
    memcpy(index + row_bytes, texts->data, texts->len);
    tmg_bundle_digest(header, index, header->digest);
    memcpy(file, header, sizeof *header);
    for (size_t i = 0; i < pack->count; i++)
        if (rows[i].bytes) memcpy(file + rows[i].offset, pack->entries[i].data, rows[i].bytes);
    return file;
}

char *pack_write(struct pack *pack, size_t *len, const struct pack_entry **other) {
    if ((*other = order(pack))) return NULL;
    struct pack_texts texts = {0};
    struct tmg_bundle_header header = {.version = TMG_BUNDLE_VERSION,
                                       .row_count = (uint32_t)pack->count};
    memcpy(header.magic, TMG_BUNDLE_MAGIC, sizeof header.magic);
    header.tool = add_text(&texts, TMAGEN_VERSION);
    struct tmg_bundle_row *rows = mem_zero((pack->count + 1) * sizeof *rows);
    for (size_t i = 0; i < pack->count; i++) rows[i] = make_row(&pack->entries[i], &texts);
    char *file = assemble(pack, rows, &texts, &header);
    *len = header.file_bytes;
    free(rows);
    free(texts.data);
    return file;
}
