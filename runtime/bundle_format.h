// A bundle's bytes, as runtime/README.md describes them: a header, an index of rows and texts, and
// the payloads. Little-endian. Nothing in it says when or where it was made.
#pragma once

#include <stdint.h>

#include "runtime/key.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bundles are read and written as they lie in memory, which is little-endian"
#endif

#define TMG_BUNDLE_MAGIC "tmagen\nB"  // without its zero

enum { TMG_BUNDLE_VERSION = 1, TMG_BUNDLE_ALIGNMENT = 64, TMG_BUNDLE_NAME = 127 };

// In the order in which a name's rows stand.
enum tmg_bundle_kind {
    TMG_BUNDLE_CUBIN = 1,
    TMG_BUNDLE_MANIFEST = 2,
    TMG_BUNDLE_PTX = 3,
    TMG_BUNDLE_TABLE = 4
};

struct tmg_bundle_header {
    char magic[8];
    uint32_t version, row_count;
    uint64_t index_bytes;  // of the rows and the texts, which follow the header
    uint64_t file_bytes;
    uint32_t tool;  // a text: the version of the tmagen that wrote it
    uint32_t reserved[3];
    uint8_t digest[TMG_DIGEST_BYTES];  // SHA-256 of all above and of the index
};

// An entry. Rows are sorted by name, kind and architecture, no two alike; payloads lie in the order
// of their rows, each where the one before and at least one zero end, at the next multiple of the
// alignment. Texts are counted from the first, each ended by a zero.
struct tmg_bundle_row {
    uint64_t offset, bytes;         // of the payload, in the file
    uint32_t kind, name;            // the texts: name
    uint32_t arch, compiler;        // "sm_90a", "nvrtc 13.0 65be0db342ad"; "" where none has a say
    tmagen_resources resources;     // of code
    uint32_t reserved[2];           // 0
    uint8_t key[TMG_DIGEST_BYTES];  // of code: the cache's key; else zeros
    uint8_t digest[TMG_DIGEST_BYTES];  // SHA-256 of the payload
};

_Static_assert(sizeof(struct tmg_bundle_header) == 80, "a header has 80 bytes");
_Static_assert(sizeof(struct tmg_bundle_row) == 128, "a row has 128 bytes");

// Where a payload begins that follows [end] bytes, and where the first one does.
static inline uint64_t tmg_bundle_next(uint64_t end) {
    return (end + TMG_BUNDLE_ALIGNMENT) / TMG_BUNDLE_ALIGNMENT * TMG_BUNDLE_ALIGNMENT;
}
static inline uint64_t tmg_bundle_first(uint64_t index_bytes) {
    return tmg_bundle_next(sizeof(struct tmg_bundle_header) + index_bytes);
}

// The digest that belongs into the header, of it and of its [index].
void tmg_bundle_digest(const struct tmg_bundle_header *header, const void *index,
                       uint8_t digest[TMG_DIGEST_BYTES]);

// True where [text] may name an entry, and so a file: 1 to 127 letters, digits and any of _.-+, and
// neither a dot nor a dash first.
int tmg_bundle_is_name(const char *text);
