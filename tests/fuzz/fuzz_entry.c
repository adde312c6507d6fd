// Fuzzes cache entries: any bytes are an entry, every text of which ends within the file, or a
// fault. The digest keeps most bytes out of the whole entry's reader; the head's reader takes what
// it gets.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tmg_entry entry;
    size_t head = size < TMG_ENTRY_HEAD_BYTES ? size : TMG_ENTRY_HEAD_BYTES;
    if (!tmg_entry_parse_head(data, head, size, &entry))
        if (strlen(entry.request.name) + strlen(entry.compiler) > size) abort();
    if (!tmg_entry_parse(data, size, &entry) && tmg_entry_size(&entry) != size) abort();
    return 0;
}
