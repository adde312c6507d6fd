// Writes and reads cache entries. The reader trusts nothing: files may be truncated, flipped or
// foreign.
#include "runtime/entry.h"

#include <string.h>

enum section { INFO, KIND, ARCH, NAME, OPTIONS, COMPILER, LOG, SOURCE, CODE, SECTIONS };
enum { ALIGNMENT = 16, LARGEST = 1 << 28 };

struct header {
    char magic[8];
    uint64_t bytes[SECTIONS];
    uint8_t digest[TMG_DIGEST_BYTES];
};

static const char magic[8] = "tmagen\n\1";

struct entry_part {
    const void *data;
    size_t bytes;
};

// A section's room in the file: its bytes, at least one zero, and zeros up to the alignment.
static uint64_t room(uint64_t bytes) { return (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT; }

static uint64_t first_offset(void) { return room(sizeof(struct header)); }

static void list_parts(const struct tmg_entry *entry, struct entry_part parts[SECTIONS]) {
    const struct tmg_request *request = &entry->request;
    parts[INFO] = (struct entry_part){&entry->info, sizeof entry->info};
    parts[KIND] = (struct entry_part){request->kind, strlen(request->kind)};
    parts[ARCH] = (struct entry_part){request->arch, strlen(request->arch)};
    parts[NAME] = (struct entry_part){request->name, strlen(request->name)};
    parts[OPTIONS] = (struct entry_part){request->options, strlen(request->options)};
    parts[COMPILER] = (struct entry_part){entry->compiler, strlen(entry->compiler)};
    parts[LOG] = (struct entry_part){entry->log, strlen(entry->log)};
    parts[SOURCE] = (struct entry_part){request->source, request->source_bytes};
    parts[CODE] = (struct entry_part){entry->code, entry->code_bytes};
}

// The digest over the sizes and every section but the source.
static void digest_parts(const struct entry_part parts[SECTIONS],
                         uint8_t digest[TMG_DIGEST_BYTES]) {
    struct tmg_key key;
    tmg_key_begin(&key);
    tmg_key_add(&key, &(uint64_t){parts[SOURCE].bytes}, sizeof(uint64_t));
    for (int i = 0; i < SECTIONS; ++i)
        if (i != SOURCE) tmg_key_add(&key, parts[i].data, parts[i].bytes);
    tmg_key_end(&key, digest);
}

size_t tmg_entry_size(const struct tmg_entry *entry) {
    struct entry_part parts[SECTIONS];
    list_parts(entry, parts);
    size_t size = first_offset();
    for (int i = 0; i < SECTIONS; ++i) size += room(parts[i].bytes);
    return size;
}

void tmg_entry_write(const struct tmg_entry *entry, uint8_t *data) {
    struct entry_part parts[SECTIONS];
    struct header header = {0};
    list_parts(entry, parts);
    memset(data, 0, tmg_entry_size(entry));
    memcpy(header.magic, magic, sizeof magic);
    digest_parts(parts, header.digest);
    uint8_t *to = data + first_offset();
    for (int i = 0; i < SECTIONS; ++i) {
        header.bytes[i] = parts[i].bytes;
        if (parts[i].bytes) memcpy(to, parts[i].data, parts[i].bytes);
        to += room(parts[i].bytes);
    }
    memcpy(data, &header, sizeof header);
}

// Places the sections by the header's sizes; [file_bytes] must be exactly what they need.
static const char *place_parts(const uint8_t *data, const struct header *header,
                               uint64_t file_bytes, struct entry_part parts[SECTIONS]) {
    uint64_t at = first_offset();
    for (int i = 0; i < SECTIONS; ++i) {
        if (header->bytes[i] > LARGEST) return "a section's size is impossible";
        parts[i] = (struct entry_part){data + at, header->bytes[i]};
        at += room(header->bytes[i]);
    }
    if (at > file_bytes) return "it is truncated";
    if (at < file_bytes) return "there are bytes after its end";
    if (header->bytes[INFO] != sizeof(struct tmg_entry_info)) return "it is of another version";
    return NULL;
}

static const char *read_header(const uint8_t *data, size_t bytes, struct header *header) {
    if (bytes < sizeof *header) return "it is truncated";
    memcpy(header, data, sizeof *header);
    return memcmp(header->magic, magic, sizeof magic) ? "it is no cache entry of this version"
                                                      : NULL;
}

// Whether the texts before [end] have no zero inside, and one behind.
static const char *check_texts(const struct entry_part parts[SECTIONS], int end) {
    for (int i = KIND; i < end; ++i) {
        const char *zero = memchr(parts[i].data, 0, parts[i].bytes + 1);
        if (zero != (const char *)parts[i].data + parts[i].bytes) return "a text is damaged";
    }
    return NULL;
}

static void view_short_parts(const struct entry_part parts[SECTIONS], struct tmg_entry *entry) {
    *entry = (struct tmg_entry){0};
    memcpy(&entry->info, parts[INFO].data, sizeof entry->info);
    entry->info.compiler[sizeof entry->info.compiler - 1] = 0;
    entry->request.kind = parts[KIND].data;
    entry->request.arch = parts[ARCH].data;
    entry->request.name = parts[NAME].data;
    entry->request.options = parts[OPTIONS].data;
    entry->compiler = parts[COMPILER].data;
    entry->request.source_bytes = parts[SOURCE].bytes;
    entry->code_bytes = parts[CODE].bytes;
}

const char *tmg_entry_parse(const uint8_t *data, size_t bytes, struct tmg_entry *entry) {
    struct header header;
    struct entry_part parts[SECTIONS];
    uint8_t digest[TMG_DIGEST_BYTES];
    const char *fault = read_header(data, bytes, &header);
    if (!fault) fault = place_parts(data, &header, bytes, parts);
    if (fault) return fault;
    digest_parts(parts, digest);
    if (memcmp(digest, header.digest, sizeof digest)) return "its digest is wrong";
    if ((fault = check_texts(parts, LOG + 1))) return fault;
    const char *end = (const char *)parts[CODE].data + parts[CODE].bytes;
    if (*end) return "its code has no end";
    view_short_parts(parts, entry);
    entry->log = parts[LOG].data;
    entry->request.source = parts[SOURCE].data;
    entry->code = parts[CODE].data;
    return NULL;
}

const char *tmg_entry_parse_head(const uint8_t *data, size_t bytes, uint64_t file_bytes,
                                 struct tmg_entry *entry) {
    struct header header;
    struct entry_part parts[SECTIONS];
    const char *fault = read_header(data, bytes, &header);
    if (!fault) fault = place_parts(data, &header, file_bytes, parts);
    if (fault) return fault;
    if ((size_t)((const uint8_t *)parts[LOG].data - data) > bytes) return "its head is too long";
    if ((fault = check_texts(parts, LOG))) return fault;
    view_short_parts(parts, entry);
    return NULL;
}

void tmg_entry_key(const struct tmg_entry *entry, char key[TMAGEN_KEY_CHARS]) {
    tmg_request_key(&entry->request, entry->compiler, key);
}

int tmg_entry_matches(const struct tmg_entry *entry, const struct tmg_request *request) {
    const struct tmg_request *own = &entry->request;
    return own->source_bytes == request->source_bytes && !strcmp(own->kind, request->kind) &&
           !strcmp(own->arch, request->arch) && !strcmp(own->name, request->name) &&
           !strcmp(own->options, request->options) &&
           !memcmp(own->source, request->source, request->source_bytes);
}
