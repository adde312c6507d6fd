// Fuzzes bundles: any bytes, with the digest of their index made right, are a bundle of which every
// entry lies within them, or are refused. A bundle that is taken is listed, verified and loaded
// from.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_range {
    const uint8_t *data;
    size_t size;
    tmagen_bundle *bundle;
};

static int look(const tmagen_bundle_entry *entry, void *context) {
    const struct fuzz_range *range = context;
    const uint8_t *at = entry->data;
    const char *text;
    size_t bytes;
    if (at < range->data || entry->bytes >= range->size ||
        at + entry->bytes >= range->data + range->size)
        abort();
    if (!tmg_bundle_is_name(entry->name) || strchr(entry->name, '/')) abort();
    if (!strcmp(entry->what, "table")) tmg_bundle_table(range->bundle, entry->name, &text, &bytes);
    return 0;
}

// Makes the digest of the index right, where there is one.
static void seal(uint8_t *data, size_t size) {
    struct tmg_bundle_header header;
    if (size < sizeof header) return;
    memcpy(&header, data, sizeof header);
    if (header.index_bytes > size - sizeof header) return;
    tmg_bundle_digest(&header, data + sizeof header, header.digest);
    memcpy(data, &header, sizeof header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, data, size);
    seal(copy, size);
    struct fuzz_range range = {copy, size, NULL};
    if (!tmagen_bundle_from_memory(copy, size, &range.bundle)) {
        tmagen_bundle_list(range.bundle, look, &range);
        tmagen_bundle_verify(range.bundle);
        tmagen_bundle_close(range.bundle);
    }
    free(copy);
    return 0;
}
