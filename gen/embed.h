// The files that travel inside the program: gen/lua/*.lua and everything under templates/.
// Embedded so that the one file build/tmagen can be copied to another machine and still generate.
#pragma once
#include <stddef.h>

// [path] is relative to the repository: "templates/gemm/family.lua", "gen/lua/schema.lua".
// The bytes are [begin, end), not terminated. Sorted by path (strcmp order).
struct embed_file {
    const char *path;
    const char *begin, *end;
};

extern const struct embed_file embed_files[];
extern const size_t embed_files_count;
