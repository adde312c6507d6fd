// One cache entry as bytes: a header, the parts of its key in full, what the compiler said, the
// code. The parts are there so that a hit is compared and not believed, and so that a miss can be
// explained.
#pragma once

#include "runtime/key.h"

// What the compiler said, as stored.
struct tmg_entry_info {
    tmagen_resources resources;
    int64_t compile_us;
    char compiler[64];  // for people: "nvrtc 13.0 65be0db342ad"
};

struct tmg_entry {
    struct tmg_request request;
    const char *compiler;  // the identity that is in the key
    struct tmg_entry_info info;
    const char *log;
    const void *code;
    size_t code_bytes;
};

enum { TMG_ENTRY_HEAD_BYTES = 4096 };  // all but log, source and code lie in these

// The bytes that [entry] takes when stored, and storing it to [data] of that size.
size_t tmg_entry_size(const struct tmg_entry *entry);
void tmg_entry_write(const struct tmg_entry *entry, uint8_t *data);

// Reads the entry in [data]: [entry] then points into it. Texts are zero-terminated. Returns NULL,
// or why it is not an intact entry, a static text. The source alone is not covered by the digest:
// callers either compare it or recompute the key.
const char *tmg_entry_parse(const uint8_t *data, size_t bytes, struct tmg_entry *entry);

// Reads all but log, source and code from the first [bytes] of a file of [file_bytes]; checks no
// digest.
const char *tmg_entry_parse_head(const uint8_t *data, size_t bytes, uint64_t file_bytes,
                                 struct tmg_entry *entry);

// The key that the entry's own parts give.
void tmg_entry_key(const struct tmg_entry *entry, char key[TMAGEN_KEY_CHARS]);

// True where the entry was made for exactly [request].
int tmg_entry_matches(const struct tmg_entry *entry, const struct tmg_request *request);
