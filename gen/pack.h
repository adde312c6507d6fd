// Writes bundles, which runtime/bundle.c reads, and relocatable objects that hold one.
// The same entries give the same bytes, in whatever order they come.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "runtime/bundle_format.h"

// An entry; all it points to must live until the bundle is written.
struct pack_entry {
    enum tmg_bundle_kind kind;
    const char *name, *arch;  // "" of tables
    const char *data;
    size_t len;
    const tmagen_code *code;  // what made it; NULL: nobody
};

struct pack {
    struct pack_entry *entries;
    size_t count, capacity;
};

void pack_add(struct pack *, struct pack_entry);
void pack_free(struct pack *);

// The bundle, to be freed, of *len bytes. Entries that are alike are written once; NULL where two
// have one name, kind and architecture, and are not alike: then *other is one of them.
char *pack_write(struct pack *, size_t *len, const struct pack_entry **other);

// An ELF object for this machine's linker, to be freed, of *object_len bytes: [len] bytes of [data]
// at the symbol [name], and their number, a size_t, at NAME_bytes. NULL where this machine's kind
// is not known.
char *pack_object(const char *name, const char *data, size_t len, size_t *object_len);
